/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tune_options.h"

#include <ctype.h>
#include <errno.h>
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

int tune_finish(int code, int failed)
{
    if (0 == fflush(stdout) && 0 == ferror(stdout)) {
        return code;
    }
    tune_complain("the output cannot be written");
    return failed;
}

bool tune_get_bytes(const char **text, size_t most, size_t *bytes)
{
    static const char suffixes[] = "KMG";
    char *end;
    const char *suffix;
    unsigned long long value;
    int shift = 0;

    if (!isdigit((unsigned char) **text)) {
        return false;
    }
    errno = 0;
    value = strtoull(*text, &end, 10);
    suffix = '\0' == *end ? NULL : strchr(suffixes, toupper((unsigned char) *end));
    if (NULL != suffix) {
        shift = 10 * (int) (suffix - suffixes + 1);
        ++end;
    }
    end += 'B' == *end || 'b' == *end;
    *text = end;
    *bytes = (size_t) value << shift;
    return 0 == errno && value <= most >> shift;
}

bool tune_get_number(const char *text, long least, long most, long *number)
{
    char *end;

    *number = strtol(text, &end, 10);
    return end != text && '\0' == *end && least <= *number && *number <= most;
}

int tune_find_word(const char *word, const char *const *words, int count)
{
    for (int i = 0; NULL != word && i < count; ++i) {
        if (0 == strcmp(word, words[i])) {
            return i;
        }
    }
    return -1;
}

bool tune_get_list(const char *text, void *options, bool (*take)(void *options, const char *word))
{
    char copy[4096], *rest = copy, *word;

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

/* For getopt: options whose number is a letter; words are told of where they stand, and a value that is not there. */
static void short_options(const struct option *names, char letters[64])
{
    int count = snprintf(letters, 64, "-:");

    for (; NULL != names->name && 64 > count + 3; ++names) {
        if (isalpha(names->val)) {
            count += snprintf(letters + count, 4, "%c%s", names->val, required_argument == names->has_arg ? ":" : "");
        }
    }
}

int tune_read_options(int argc, char **argv, const struct option *names, const char *const *accepted, void *options,
                      bool (*take)(void *options, int number, const char *text))
{
    char letters[64], name[64];
    int number, which = -1;

    opterr = 0;
    short_options(names, letters);
    while (-1 != (number = getopt_long(argc, argv, letters, names, &which))) {
        if ('?' == number || ':' == number) {
            return tune_complain("option %s %s; --help lists the options", argv[optind - 1],
                                 '?' == number ? "is unknown" : "wants a value");
        }
        if (TUNE_WORD == number && NULL == accepted[TUNE_WORD]) {
            return tune_complain("\"%s\" is no option; --help lists the options", optarg);
        }
        if (TUNE_WORD == number) {
            strcpy(name, "");
        } else if (0 <= which) {
            snprintf(name, sizeof(name), "--%s ", names[which].name);
        } else {
            snprintf(name, sizeof(name), "-%c ", number);
        }
        if (!take(options, number, optarg)) {
            return tune_complain("%s%s; accepted: %s", name, optarg, accepted[number]);
        }
        which = -1;
    }
    return 0;
}
