/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How fast this machine copies: memcpy out of memory that another process has written, and single copies out of another
 * process (process_vm_readv). Prints a line for each size: bytes, microseconds of each; "-" where the system refuses.
 *
 * See --help.
 */
#define _GNU_SOURCE
#include "../common/tool_sort.h"
#include "../common/tool_version.h"
#include "../tune/tune_options.h"

#include <limits.h>
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
    tool_sort(times, count);
    return times[count / 2];
}

static const char usage[]
    = "copy_rates BYTES...\n"
      "  How fast this machine copies. For each number of bytes (K, M or G may follow) a line: bytes, microseconds of "
      "a\n"
      "  memcpy out of memory that another process has written, and of a single copy out of another process; - where\n"
      "  the system refuses that.\n";

enum { HELP = TUNE_OPTION };

static const struct option names[] = { { "help", no_argument, NULL, HELP }, { NULL, 0, NULL, 0 } };

static const char *const accepted[] = { [TUNE_WORD] = "numbers of bytes from 1 on, as 65536 1M" };

static struct {
    size_t *sizes, count, most;
    bool help;
} wanted;

static bool take_option(void *context, int number, const char *text)
{
    size_t bytes;

    (void) context;
    if (HELP == number) {
        return wanted.help = true;
    }
    if (!tune_get_bytes(&text, INT_MAX, &bytes) || '\0' != *text || 0 == bytes) {
        return false;
    }
    wanted.most = bytes > wanted.most ? bytes : wanted.most;
    wanted.sizes[wanted.count++] = bytes;
    return true;
}

int main(int argc, char **argv)
{
    size_t most;
    char *to, *from, *shared;
    pid_t pid;

    tool_version(argc, argv, "copy_rates");
    tune_options_speaker("copy_rates", 0);
    wanted.sizes = calloc((size_t) argc, sizeof(*wanted.sizes));
    if (NULL == wanted.sizes) {
        tune_complain("no memory");
        return 2;
    }
    if (0 != tune_read_options(argc, argv, names, accepted, NULL, take_option)) {
        return 2;
    }
    if (wanted.help) {
        fputs(usage, stdout);
        return 0;
    }
    if (0 == wanted.count) {
        tune_complain("no bytes are given; --help tells more");
        return 2;
    }
    most = wanted.most;
    to = malloc(most);
    from = malloc(most);
    shared = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (NULL == to || NULL == from || MAP_FAILED == shared) {
        tune_complain("no memory");
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
    for (size_t i = 0; i < wanted.count; ++i) {
        const double copy = time_of(by_memcpy, to, shared, from, pid, wanted.sizes[i]);
        const double single = time_of(by_single_copy, to, shared, from, pid, wanted.sizes[i]);

        printf("%zu %.2f ", wanted.sizes[i], copy);
        printf(0 > single ? "-\n" : "%.2f\n", single);
    }
    free(wanted.sizes);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return tune_finish(0, 1);
}
