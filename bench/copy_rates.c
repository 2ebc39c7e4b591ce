/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast this machine copies: memcpy out of memory that another process has written, and single copies out of another
 * process (process_vm_readv). Prints a line for each size: bytes, microseconds of each; "-" where the system refuses.
 *
 * copy_rates BYTES...
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 0.2 /* for each size and way */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static int by_memcpy(char *to, const char *shared, char *from, pid_t pid, size_t bytes)
{
    (void) from;
    (void) pid;
    memcpy(to, shared, bytes);
    return 1;
}

static int by_single_copy(char *to, const char *shared, char *from, pid_t pid, size_t bytes)
{
    (void) shared;
    for (size_t done = 0; done < bytes;) {
        struct iovec here = { to + done, bytes - done }, there = { from + done, bytes - done };
        const ssize_t moved = process_vm_readv(pid, &here, 1, &there, 1, 0);

        if (0 >= moved) {
            return 0;
        }
        done += (size_t) moved;
    }
    return 1;
}

/* The median, as that of what it is compared with; -1 where it cannot be done. */
static int by_value(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

static double time_of(int (*copy)(char *, const char *, char *, pid_t, size_t), char *to, const char *shared,
                      char *from, pid_t pid, size_t bytes)
{
    enum { MOST = 1000 };
    static double times[MOST];
    const double start = now();
    size_t count = 0;

    while (count < MOST && (count < 3 || now() - start < SECONDS * 1e6)) {
        const double before = now();

        if (!copy(to, shared, from, pid, bytes)) {
            return -1;
        }
        times[count++] = now() - before;
    }
    qsort(times, count, sizeof(times[0]), by_value);
    return times[count / 2];
}

int main(int argc, char **argv)
{
    size_t most = 0;
    char *to, *from, *shared;
    pid_t pid;

    for (int i = 1; i < argc; ++i) {
        const size_t bytes = strtoull(argv[i], NULL, 10);

        most = bytes > most ? bytes : most;
    }
    if (0 == most) {
        fprintf(stderr, "usage: copy_rates BYTES...\n");
        return 2;
    }
    to = malloc(most);
    from = malloc(most);
    shared = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (NULL == to || NULL == from || MAP_FAILED == shared) {
        fprintf(stderr, "copy_rates: no memory\n");
        return 2;
    }
    memset(to, 1, most);
    pid = fork();
    if (0 == pid) {
        memset(from, 2, most);
        memset(shared, 3, most);
        raise(SIGSTOP); /* ready; the parent ends it */
        _exit(0);
    }
    if (0 > pid || pid != waitpid(pid, NULL, WUNTRACED)) {
        perror("copy_rates: fork");
        return 2;
    }
    for (int i = 1; i < argc; ++i) {
        const size_t bytes = strtoull(argv[i], NULL, 10);
        const double copy = time_of(by_memcpy, to, shared, from, pid, bytes);
        const double single = time_of(by_single_copy, to, shared, from, pid, bytes);

        printf("%zu %.2f ", bytes, copy);
        printf(0 > single ? "-\n" : "%.2f\n", single);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return 0;
}
