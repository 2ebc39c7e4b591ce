/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tune_options.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *program;
    int rank;
} speaker = { "", 0 };

void tune_options_speaker(const char *program, int rank)
{
    speaker.program = program;
    speaker.rank = rank;
}

int tune_complain(const char *format, ...)
{
    va_list arguments;

    if (0 == speaker.rank) {
        va_start(arguments, format);
        fprintf(stderr, "%s: ", speaker.program);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
        va_end(arguments);
    }
    return -1;
}

void tune_complain_here(const char *what)
{
    fprintf(stderr, "%s: rank %d: %s\n", speaker.program, speaker.rank, what);
}

bool tune_get_bytes(const char **text, size_t *bytes)
{
    char *end;
    unsigned long long value;

    if ('0' > **text || '9' < **text) {
        return false;
    }
    errno = 0;
    value = strtoull(*text, &end, 10);
    if (0 != errno || (unsigned long long) INT_MAX < value) {
        return false;
    }
    if ('K' == *end || 'M' == *end) {
        value <<= 'K' == *end ? 10 : 20;
        ++end;
    }
    *text = end;
    *bytes = (size_t) value;
    return (size_t) INT_MAX >= *bytes;
}

bool tune_get_number(const char *text, long least, long most, long *number)
{
    char *end;

    *number = strtol(text, &end, 10);
    return end != text && '\0' == *end && least <= *number && *number <= most;
}

bool tune_get_list(const char *text, void *options, bool (*take)(void *options, const char *word))
{
    char copy[512], *rest = copy, *word;

    if (sizeof(copy) <= strlen(text)) {
        return false;
    }
    strcpy(copy, text);
    while (NULL != (word = strsep(&rest, ","))) {
        if (!take(options, word)) {
            return false;
        }
    }
    return true;
}

int tune_read_options(int argc, char **argv, const struct option *names, const char *const *accepted, void *options,
                      bool (*take)(void *options, int number, const char *text))
{
    int number, which = 0;

    opterr = 0;
    while (-1 != (number = getopt_long(argc, argv, "", names, &which))) {
        if ('?' == number) {
            return tune_complain("option %s is unknown or wants a value; --help lists the options", argv[optind - 1]);
        }
        if (!take(options, number, optarg)) {
            return tune_complain("--%s %s; accepted: %s", names[which].name, optarg, accepted[number]);
        }
    }
    return optind < argc ? tune_complain("\"%s\" is no option; --help lists the options", argv[optind]) : 0;
}
