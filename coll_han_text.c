/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int mca_coll_han_text_wrong(mca_coll_han_text_error_t *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->what, sizeof(error->what), format, arguments);
    va_end(arguments);
    return -1;
}

void mca_coll_han_text_more(mca_coll_han_text_error_t *error, const char *before, const char *text)
{
    const size_t used = strlen(error->what);

    snprintf(error->what + used, sizeof(error->what) - used, "%s%s", before, text);
}

bool mca_coll_han_text_number(const char **text, size_t *value)
{
    static const char units[] = "KMG";
    const char *start = *text, *unit;
    size_t number = 0;

    for (; '0' <= **text && '9' >= **text; ++*text) {
        const size_t digit = (size_t) (**text - '0');

        if (number > (SIZE_MAX - digit) / 10) {
            return false;
        }
        number = 10 * number + digit;
    }
    unit = '\0' == **text ? NULL : strchr(units, **text & ~0x20);
    if (NULL != unit && *text != start) {
        const int shift = 10 * (int) (unit - units + 1);

        if (number > SIZE_MAX >> shift) {
            return false;
        }
        number <<= shift;
        ++*text;
    }
    *value = number;
    return *text != start;
}

/* FNV-1a. */
uint64_t mca_coll_han_text_hash(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; ++i) {
        hash = (hash ^ (unsigned char) text[i]) * UINT64_C(0x100000001b3);
    }
    return 0 == hash ? 1 : hash;
}

char *mca_coll_han_text_trim(char *text)
{
    char *end;

    text += strspn(text, HAN_TEXT_BLANK);
    end = text + strlen(text);
    while (end > text && NULL != strchr(HAN_TEXT_BLANK, end[-1])) {
        --end;
    }
    *end = '\0';
    return text;
}

/* A line without its comment, and its tabs as blanks: messages are of one line without gaps. */
static int clean(const char *start, size_t length, char copy[HAN_TEXT_MOST_LINE + 1], mca_coll_han_text_error_t *error)
{
    bool comment = false;

    if (0 < length && '\r' == start[length - 1]) {
        --length;
    }
    if (HAN_TEXT_MOST_LINE < length) {
        return mca_coll_han_text_wrong(error, "the line is too long; accepted: %d bytes", HAN_TEXT_MOST_LINE);
    }
    for (size_t i = 0; i < length; ++i) {
        const unsigned char byte = (unsigned char) start[i];

        comment = comment || '#' == byte;
        if ('\t' != byte && (' ' > byte || 0x7f == byte || (0x7f < byte && !comment))) {
            return mca_coll_han_text_wrong(
                error, "byte %zu is no printable character (0x%02x); accepted: text, in comments UTF-8", i + 1, byte);
        }
        copy[i] = '\t' == start[i] ? ' ' : start[i];
    }
    copy[length] = '\0';
    copy[strcspn(copy, "#")] = '\0';
    return 0;
}

int mca_coll_han_text_lines(const char *name, int version, const char *text, size_t length,
                            mca_coll_han_text_error_t *error, int (*take)(void *context, int line, char *text),
                            void *context)
{
    char first[64];
    bool versioned = false;

    snprintf(first, sizeof(first), "%s %d", name, version);
    error->line = 0;
    for (size_t start = 0; start < length;) {
        const char *end = memchr(text + start, '\n', length - start);
        const size_t part = NULL == end ? length - start : (size_t) (end - text) - start;
        char copy[HAN_TEXT_MOST_LINE + 1], *line;

        ++error->line;
        if (0 != clean(text + start, part, copy, error)) {
            return -1;
        }
        line = mca_coll_han_text_trim(copy);
        if ('\0' != *line && !versioned) {
            versioned = 0 == strcmp(first, line);
            if (!versioned) {
                return mca_coll_han_text_wrong(error, "the first line is \"%.60s\"; accepted: %s", line, first);
            }
        } else if ('\0' != *line && 0 != take(context, error->line, line)) {
            return -1;
        }
        start += part + 1;
    }
    if (!versioned) {
        return mca_coll_han_text_wrong(error, "it is empty; accepted: a first line %s, and what it is about", first);
    }
    return 0;
}

/* All of a file; NULL where that cannot be. To be freed. */
static char *read_all(int file, size_t size, size_t *length)
{
    char *text = malloc(size + 1);
    ssize_t got = NULL == text ? -1 : 1;

    for (*length = 0; 0 < got && *length < size; *length += 0 < got ? (size_t) got : 0) {
        do {
            got = read(file, text + *length, size - *length);
        } while (-1 == got && EINTR == errno);
    }
    if (-1 == got) {
        free(text);
        return NULL;
    }
    return text;
}

/* It must not wait for a writer where the path is a pipe. */
static int open_file(const char *path)
{
    int file;

    do {
        file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    } while (-1 == file && EINTR == errno);
    return file;
}

char *mca_coll_han_text_read(const char *path, size_t most, size_t *length, mca_coll_han_text_error_t *error)
{
    const int file = open_file(path);
    struct stat about;
    char *text = NULL;

    memset(error, 0, sizeof(*error));
    if (-1 == file || -1 == fstat(file, &about)) {
        mca_coll_han_text_wrong(error, "it cannot be read (%s); accepted: a readable file", strerror(errno));
    } else if (!S_ISREG(about.st_mode)) {
        mca_coll_han_text_wrong(error, "it is not a file%s; accepted: a text file",
                                S_ISDIR(about.st_mode) ? " but a folder" : "");
    } else if (0 > about.st_size || most < (size_t) about.st_size) {
        mca_coll_han_text_wrong(error, "it is too long; accepted: %zu bytes", most);
    } else if (NULL == (text = read_all(file, (size_t) about.st_size, length))) {
        mca_coll_han_text_wrong(error, "it cannot be read (%s); accepted: a readable file", strerror(errno));
    }
    if (-1 != file) {
        close(file);
    }
    return text;
}
