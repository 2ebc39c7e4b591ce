/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To be preloaded: what a profiler's timer does to system calls. Of those that our components make, every second one is
 * interrupted by a signal, and of the others those that move more than a few bytes move half of them. What takes long,
 * and begins anew each time, is interrupted always: to reserve more than a MB. At the end each process tells how many
 * it has interrupted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FEW = 64, LONG = 1 << 20 };

static int interrupted;

static int is_ours(const void *code)
{
    Dl_info info;

    return 0 != dladdr(code, &info) && NULL != info.dli_fname
           && (NULL != strstr(info.dli_fname, "mca_coll_solo") || NULL != strstr(info.dli_fname, "mca_coll_han"));
}

__attribute__((destructor)) static void tell(void)
{
    if (0 < interrupted) {
        fprintf(stderr, "interrupted: %d system calls\n", interrupted);
    }
}

static size_t shortened(const void *caller, size_t bytes)
{
    return FEW < bytes && is_ours(caller) ? bytes / 2 : bytes;
}

/* The first, the third, ... from here return. */
#define INTERRUPT()                                                                                                    \
    do {                                                                                                               \
        static int calls;                                                                                              \
                                                                                                                       \
        if (is_ours(__builtin_return_address(0)) && 0 == calls++ % 2) {                                                \
            ++interrupted;                                                                                             \
            errno = EINTR;                                                                                             \
            return -1;                                                                                                 \
        }                                                                                                              \
    } while (0)

#define NEXT(type, name, ...) ((type(*)(__VA_ARGS__)) dlsym(RTLD_NEXT, name))
#define SHORTENED(bytes) shortened(__builtin_return_address(0), bytes)

int open(const char *path, int flags, ...)
{
    va_list arguments;
    int mode;

    INTERRUPT();
    va_start(arguments, flags);
    mode = 0 != (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, int) : 0;
    va_end(arguments);
    return NEXT(int, "open", const char *, int, ...)(path, flags, mode);
}

int fallocate(int fd, int mode, off_t from, off_t bytes)
{
    INTERRUPT();
    if (is_ours(__builtin_return_address(0)) && LONG < bytes) {
        errno = EINTR;
        return -1;
    }
    return NEXT(int, "fallocate", int, int, off_t, off_t)(fd, mode, from, bytes);
}

int ftruncate(int fd, off_t bytes)
{
    INTERRUPT();
    return NEXT(int, "ftruncate", int, off_t)(fd, bytes);
}

ssize_t read(int fd, void *to, size_t bytes)
{
    INTERRUPT();
    return NEXT(ssize_t, "read", int, void *, size_t)(fd, to, SHORTENED(bytes));
}

ssize_t pread(int fd, void *to, size_t bytes, off_t from)
{
    INTERRUPT();
    return NEXT(ssize_t, "pread", int, void *, size_t, off_t)(fd, to, SHORTENED(bytes), from);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t to)
{
    INTERRUPT();
    return NEXT(ssize_t, "pwrite", int, const void *, size_t, off_t)(fd, from, SHORTENED(bytes), to);
}

#define SINGLE_COPY(name)                                                                                              \
    ssize_t name(pid_t pid, const struct iovec *here, unsigned long heres, const struct iovec *there,                  \
                 unsigned long theres, unsigned long flags)                                                            \
    {                                                                                                                  \
        struct iovec less = here[0];                                                                                   \
                                                                                                                       \
        INTERRUPT();                                                                                                   \
        less.iov_len = SHORTENED(less.iov_len);                                                                        \
        return NEXT(ssize_t, #name, pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,   \
                    unsigned long)(pid, 1 == heres ? &less : here, heres, there, theres, flags);                       \
    }

SINGLE_COPY(process_vm_readv)
SINGLE_COPY(process_vm_writev)
