/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that tools write: only a regular file is replaced. What else has the name keeps it, and gets the text. */
#define _GNU_SOURCE
#include "tune.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NEW_MODE = 0666 };

const char *tune_file_path(const char *folder, const char *name, char path[TUNE_PATH])
{
    snprintf(path, TUNE_PATH, "%s/%s", folder, name);
    return path;
}

FILE *tune_file_open(const char *folder, const char *name, const char *mode)
{
    char path[TUNE_PATH];

    return fopen(tune_file_path(folder, name, path), mode);
}

/* Where a link leads to, in memory of its own; the path itself where nothing is there yet. */
static char *target_of(const char *path)
{
    char *target = realpath(path, NULL);

    return NULL == target && ENOENT == errno ? strdup(path) : target;
}

/* Whether another file may take its place. A link to nothing stays one: what is written makes its target. */
static bool can_be_replaced(const char *target)
{
    struct stat there;

    return 0 == lstat(target, &there) ? S_ISREG(there.st_mode) : ENOENT == errno;
}

static mode_t mode_for(const char *target)
{
    struct stat there;
    const mode_t mask = umask(0);

    umask(mask);
    return 0 == stat(target, &there) ? there.st_mode & 07777 : NEW_MODE & ~mask;
}

/* A file beside the target, which is to take its place; its name goes into part. -1 where there is none. */
static int part_open(const char *target, char **part)
{
    int descriptor;

    if (0 > asprintf(part, "%s.XXXXXX", target)) {
        *part = NULL;
        errno = ENOMEM;
        return -1;
    }
    descriptor = mkstemp(*part);
    if (0 <= descriptor && 0 != fchmod(descriptor, mode_for(target))) {
        close(descriptor);
        unlink(*part);
        descriptor = -1;
    }
    return descriptor;
}

static bool write_all(int descriptor, const char *text, size_t length)
{
    while (0 < length) {
        const ssize_t written = write(descriptor, text, length);

        if (0 > written && EINTR != errno) {
            return false;
        }
        text += 0 < written ? written : 0;
        length -= 0 < written ? (size_t) written : 0;
    }
    return true;
}

/* Closes it in any case; errno is that of the first fault. */
static bool close_after(int descriptor, bool good)
{
    const int fault = errno;

    if (0 != close(descriptor) && good) {
        return false;
    }
    errno = fault;
    return good;
}

static bool replace(const char *target, const char *text, size_t length)
{
    char *part;
    const int descriptor = part_open(target, &part);
    bool good = 0 <= descriptor;
    int fault;

    if (good) {
        good = close_after(descriptor, write_all(descriptor, text, length)) && 0 == rename(part, target);
        fault = errno;
        if (!good) {
            unlink(part);
        }
        errno = fault;
    }
    free(part);
    return good;
}

static bool write_into(const char *target, const char *text, size_t length)
{
    const int descriptor = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY, NEW_MODE);

    return 0 <= descriptor && close_after(descriptor, write_all(descriptor, text, length));
}

bool tune_file_is_regular(const char *path)
{
    struct stat there;

    return 0 != stat(path, &there) || S_ISREG(there.st_mode);
}

int tune_file_write(const char *path, const char *text, size_t length)
{
    char *target = target_of(path);
    bool good = NULL != target;

    if (good) {
        good = can_be_replaced(target) ? replace(target, text, length) : write_into(target, text, length);
    }
    free(target);
    return good ? 0 : -1;
}

int tune_file_try(const char *path)
{
    char *target = target_of(path), *part = NULL;
    bool good = NULL != target;
    int descriptor;

    if (good && 0 == access(target, F_OK)) {
        good = 0 == access(target, W_OK);
    }
    if (good && can_be_replaced(target)) {
        descriptor = part_open(target, &part);
        good = 0 <= descriptor;
        if (good) {
            close(descriptor);
            unlink(part);
        }
        free(part);
    } else if (good) {
        /* A pipe nobody reads yet is one that can be written; it would not open. */
        struct stat there;

        good = 0 != stat(target, &there) || !S_ISDIR(there.st_mode);
        errno = good ? 0 : EISDIR;
    }
    free(target);
    return good ? 0 : -1;
}
