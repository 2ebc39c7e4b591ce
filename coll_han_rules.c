/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser: a text of rules becomes a table, wholly or not at all. A rule is
 *     COLLECTIVE[,COLLECTIVE...] INPUT=RANGE ... : PARAMETER=VALUE ...
 * and what the fields are is a table in coll_han_fields.c.
 */
#include "coll_han_fields.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLANKS " "

/* -- what is wrong -- */

/* A text being read. */
typedef struct {
    const char *name;
    mca_coll_han_rules_t *rules;
    mca_coll_han_rules_error_t *error;
    size_t room; /* rules that there is memory for */
    bool versioned;
} parser_t;

static int wrong(mca_coll_han_rules_error_t *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(mca_coll_han_rules_error_t *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->what, sizeof(error->what), format, arguments);
    va_end(arguments);
    return -1;
}

/* Appends to what has been said. */
static void more(mca_coll_han_rules_error_t *error, const char *before, const char *text)
{
    const size_t used = strlen(error->what);

    snprintf(error->what + used, sizeof(error->what) - used, "%s%s", before, text);
}

static int wrong_word(mca_coll_han_rules_error_t *error, mca_coll_han_words_t words)
{
    const char *word;
    int value;

    more(error, "; accepted: ", words(0, &value));
    for (int i = 1; NULL != (word = words(i, &value)); ++i) {
        more(error, ", ", word);
    }
    return -1;
}

static int wrong_field(mca_coll_han_rules_error_t *error, mca_coll_han_field_side_t side)
{
    const char *before = "; accepted: ";

    for (int i = 0; i < HAN_FIELD_COUNT; ++i) {
        if (side == mca_coll_han_fields[i].side) {
            more(error, before, mca_coll_han_fields[i].name);
            before = ", ";
        }
    }
    return -1;
}

static int wrong_number(mca_coll_han_rules_error_t *error, const mca_coll_han_field_t *field, const char *text)
{
    char most[32] = "the largest there is";

    if (SIZE_MAX != field->most) {
        snprintf(most, sizeof(most), "%zu", field->most);
    }
    return wrong(error, "%s=%.60s; accepted: %s from %zu to %s%s", field->name, text,
                 HAN_RANGE == field->type ? "*, N, N-, or N-M where N is at most M, N and M" : "a number", field->least,
                 most, HAN_NUMBER == field->type ? "" : "; K, M, G may follow a number");
}

/* -- values -- */

/* A number without sign, K, M or G behind it; the text moves behind it. */
static bool get_number(const char **text, size_t *value)
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

static bool get_range(const mca_coll_han_field_t *field, const char *text, mca_coll_han_range_t *range)
{
    if (0 == strcmp("*", text)) {
        *range = (mca_coll_han_range_t){ field->least, field->most };
        return true;
    }
    if (!get_number(&text, &range->low)) {
        return false;
    }
    range->high = range->low;
    if ('-' == *text) {
        ++text;
        range->high = field->most;
        if ('\0' != *text && !get_number(&text, &range->high)) {
            return false;
        }
    }
    return '\0' == *text && field->least <= range->low && range->low <= range->high && range->high <= field->most;
}

static bool get_word(mca_coll_han_words_t words, const char *text, int *value)
{
    const char *word;

    for (int i = 0; NULL != (word = words(i, value)); ++i) {
        if (0 == strcmp(word, text)) {
            return true;
        }
    }
    return false;
}

static int set_field(parser_t *parser, mca_coll_han_rule_t *rule, const mca_coll_han_field_t *field, const char *text)
{
    char *place = (char *) rule + field->offset;
    const char *rest = text;
    size_t number;
    int value;

    switch (field->type) {
    case HAN_RANGE:
        if (!get_range(field, text, (mca_coll_han_range_t *) place)) {
            return wrong_number(parser->error, field, text);
        }
        return 0;
    case HAN_WORD:
        if (!get_word(field->words, text, &value)) {
            wrong(parser->error, "%s=%.60s", field->name, text);
            return wrong_word(parser->error, field->words);
        }
        memcpy(place, &value, sizeof(value));
        return 0;
    default:
        if (!get_number(&rest, &number) || '\0' != *rest || number < field->least || number > field->most) {
            return wrong_number(parser->error, field, text);
        }
        value = (int) number;
        memcpy(place, HAN_BYTES == field->type ? (void *) &number : (void *) &value,
               HAN_BYTES == field->type ? sizeof(number) : sizeof(value));
        return 0;
    }
}

/* -- lines -- */

/* "NAME=VALUE NAME=VALUE ...": one side of a rule. */
static int parse_side(parser_t *parser, mca_coll_han_rule_t *rule, mca_coll_han_field_side_t side, char *text,
                      bool seen[HAN_FIELD_COUNT])
{
    static const char *const sides[HAN_FIELD_SIDE_COUNT]
        = { [HAN_INPUT] = "before the colon", [HAN_PARAMETER] = "behind the colon" };
    char *rest;

    for (char *token = strtok_r(text, BLANKS, &rest); NULL != token; token = strtok_r(NULL, BLANKS, &rest)) {
        char *value = strchr(token, '=');
        int field;

        if (NULL == value) {
            wrong(parser->error, "\"%.60s\" is not NAME=VALUE; names", token);
            return wrong_field(parser->error, side);
        }
        *value++ = '\0';
        field = mca_coll_han_field_find(side, token);
        if (HAN_FIELD_COUNT == field) {
            wrong(parser->error, "\"%.60s\" is no field %s", token, sides[side]);
            return wrong_field(parser->error, side);
        }
        if (seen[field]) {
            return wrong(parser->error, "%s is there twice; accepted: each field once", token);
        }
        seen[field] = true;
        if (0 != set_field(parser, rule, &mca_coll_han_fields[field], value)) {
            return -1;
        }
    }
    return 0;
}

/* "COLLECTIVE,COLLECTIVE,..." */
static int parse_collectives(parser_t *parser, mca_coll_han_rule_t *rule, char *text)
{
    char *next = text, *name;
    int collective;

    if (0 == strcmp("*", text)) {
        rule->collectives = (UINT64_C(1) << HAN_COLLECTIVE_COUNT) - 1;
        return 0;
    }
    while (NULL != (name = strsep(&next, ","))) {
        if (!get_word(mca_coll_han_word_of_collective, name, &collective)) {
            wrong(parser->error, "\"%.60s\" is no collective", name);
            wrong_word(parser->error, mca_coll_han_word_of_collective);
            more(parser->error, ", ", "* for all of them");
            return -1;
        }
        rule->collectives |= UINT64_C(1) << collective;
    }
    return 0;
}

/* Whether the algorithm may serve what the rule is for at all: not on this communicator or that, but on a good one. */
static int check_algorithm(parser_t *parser, const mca_coll_han_rule_t *rule)
{
    const char *before = "; accepted: auto, ";

    for (int collective = 0; collective < HAN_COLLECTIVE_COUNT; ++collective) {
        const mca_coll_han_input_t input = mca_coll_han_input_good((mca_coll_han_collective_t) collective);

        if (0 == (rule->collectives >> collective & 1) || rule->leave
            || mca_coll_han_fits(rule->params.algorithm, &input)) {
            continue;
        }
        wrong(parser->error, "algorithm=%s does not do %s", mca_coll_han_algorithms[rule->params.algorithm].name,
              mca_coll_han_collective_names[collective]);
        for (int i = 0; i < HAN_ALGORITHM_COUNT; ++i) {
            if (mca_coll_han_fits((mca_coll_han_algorithm_id_t) i, &input)) {
                more(parser->error, before, mca_coll_han_algorithms[i].name);
                before = ", ";
            }
        }
        return -1;
    }
    return 0;
}

/* What is missing is an error, or gets its value from elsewhere. */
static int complete(parser_t *parser, mca_coll_han_rule_t *rule, const bool seen[HAN_FIELD_COUNT])
{
    for (int i = 0; i < HAN_FIELD_COUNT; ++i) {
        const mca_coll_han_field_t *field = &mca_coll_han_fields[i];

        if (field->needed && !seen[i]) {
            return wrong(parser->error,
                         "%s= is missing; accepted: COLLECTIVE nodes=N ppn=N bytes=N : algorithm=NAME ...",
                         field->name);
        }
        if (NULL != field->instead && !seen[i]) {
            const int other = mca_coll_han_field_find(field->side, field->instead);

            if (seen[other]) {
                memcpy((char *) rule + field->offset, (const char *) rule + mca_coll_han_fields[other].offset,
                       mca_coll_han_field_size(field->type));
            }
        }
    }
    rule->leave = HAN_AUTO == (int) rule->params.algorithm;
    rule->params.algorithm = rule->leave ? HAN_FALLBACK : rule->params.algorithm;
    return check_algorithm(parser, rule);
}

static int append(parser_t *parser, mca_coll_han_rule_t *rule, const char *input)
{
    mca_coll_han_rules_t *rules = parser->rules;
    const size_t length = strlen(parser->name) + strlen(input) + 32;
    size_t used;

    if (HAN_RULES_MOST == rules->count) {
        return wrong(parser->error, "there are too many rules; accepted: %d", HAN_RULES_MOST);
    }
    if (rules->count == parser->room) {
        const size_t room = 0 == parser->room ? 64 : 2 * parser->room;
        mca_coll_han_rule_t *grown = realloc(rules->rules, room * sizeof(*grown));

        if (NULL == grown) {
            return wrong(parser->error, "memory is short");
        }
        rules->rules = grown;
        parser->room = room;
    }
    rule->text = malloc(length);
    if (NULL == rule->text) {
        return wrong(parser->error, "memory is short");
    }
    used = (size_t) snprintf(rule->text, length, "%s:%d: ", parser->name, rule->line);
    /* One blank where there are several. */
    for (; '\0' != *input; input += 0 == strspn(input, BLANKS) ? 1 : strspn(input, BLANKS)) {
        rule->text[used++] = 0 == strspn(input, BLANKS) ? *input : ' ';
    }
    rule->text[used] = '\0';
    rule->params.why = rule->text;
    rules->rules[rules->count++] = *rule;
    return 0;
}

/* Cuts the blanks off both ends. */
static char *trim(char *text)
{
    char *end;

    text += strspn(text, BLANKS);
    end = text + strlen(text);
    while (end > text && NULL != strchr(BLANKS, end[-1])) {
        --end;
    }
    *end = '\0';
    return text;
}

static int parse_rule(parser_t *parser, int line, char *text)
{
    mca_coll_han_rule_t rule = mca_coll_han_rule_default();
    bool seen[HAN_FIELD_COUNT] = { false };
    char input[HAN_RULES_MOST_LINE + 1];
    char *parameters = strchr(text, ':'), *rest;

    if (NULL == parameters) {
        return wrong(parser->error,
                     "there is no colon; accepted: COLLECTIVE nodes=N ppn=N bytes=N : algorithm=NAME ...");
    }
    *parameters++ = '\0';
    rule.line = line;
    strcpy(input, trim(text));
    rest = text = trim(text);
    strsep(&rest, BLANKS);
    if (0 != parse_collectives(parser, &rule, text)
        || (NULL != rest && 0 != parse_side(parser, &rule, HAN_INPUT, rest, seen))
        || 0 != parse_side(parser, &rule, HAN_PARAMETER, parameters, seen) || 0 != complete(parser, &rule, seen)) {
        return -1;
    }
    return append(parser, &rule, input);
}

/* "han-rules 1", before anything else. */
static int parse_version(parser_t *parser, const char *text)
{
    char wanted[32];

    snprintf(wanted, sizeof(wanted), "han-rules %d", HAN_RULES_VERSION);
    parser->versioned = 0 == strcmp(wanted, text);
    return parser->versioned ? 0 : wrong(parser->error, "the first line is \"%.60s\"; accepted: %s", text, wanted);
}

/* "machine TEXT" */
static int parse_machine(parser_t *parser, const char *text)
{
    if (NULL != parser->rules->machine) {
        return wrong(parser->error, "machine is there twice; accepted: one line \"machine TEXT\"");
    }
    text += strspn(text, BLANKS);
    parser->rules->machine = strdup(text);
    return NULL == parser->rules->machine ? wrong(parser->error, "memory is short") : 0;
}

static int parse_line(parser_t *parser, int line, const char *start, size_t length)
{
    static const char machine[] = "machine";
    const size_t word = sizeof(machine) - 1;
    char copy[HAN_RULES_MOST_LINE + 1], *text;
    bool comment = false;

    parser->error->line = line;
    if (0 < length && '\r' == start[length - 1]) {
        --length;
    }
    if (HAN_RULES_MOST_LINE < length) {
        return wrong(parser->error, "the line is too long; accepted: %d bytes", HAN_RULES_MOST_LINE);
    }
    for (size_t i = 0; i < length; ++i) {
        const unsigned char byte = (unsigned char) start[i];

        comment = comment || '#' == byte;
        if ('\t' != byte && (' ' > byte || 0x7f == byte || (0x7f < byte && !comment))) {
            return wrong(parser->error,
                         "byte %zu is no printable character (0x%02x); accepted: text, in comments UTF-8", i + 1, byte);
        }
    }
    for (size_t i = 0; i < length; ++i) {
        copy[i] = '\t' == start[i] ? ' ' : start[i]; /* messages are of one line without gaps */
    }
    copy[length] = '\0';
    copy[strcspn(copy, "#")] = '\0';
    text = trim(copy);
    if ('\0' == *text) {
        return 0;
    }
    if (!parser->versioned) {
        return parse_version(parser, text);
    }
    if (0 == strncmp(machine, text, word) && NULL != strchr(BLANKS, text[word])) {
        return parse_machine(parser, text + word);
    }
    return parse_rule(parser, line, text);
}

/* FNV-1a. */
static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; ++i) {
        hash = (hash ^ (unsigned char) text[i]) * UINT64_C(0x100000001b3);
    }
    return 0 == hash ? 1 : hash;
}

int mca_coll_han_rules_parse(mca_coll_han_rules_t *rules, const char *name, const char *text, size_t length,
                             mca_coll_han_rules_error_t *error)
{
    parser_t parser = { .name = name, .rules = rules, .error = error };
    int line = 0, rc = 0;

    memset(rules, 0, sizeof(*rules));
    memset(error, 0, sizeof(*error));
    rules->hash = hash_of(text, length);
    if (HAN_RULES_MOST_BYTES < length) {
        return wrong(error, "it is too long; accepted: %d bytes", HAN_RULES_MOST_BYTES);
    }
    for (size_t start = 0; start < length && 0 == rc;) {
        const char *end = memchr(text + start, '\n', length - start);
        const size_t part = NULL == end ? length - start : (size_t) (end - text) - start;

        rc = parse_line(&parser, ++line, text + start, part);
        start += part + 1;
    }
    if (0 == rc && 0 == rules->count) {
        rc = wrong(error,
                   parser.versioned ? "there is no rule; accepted: at least one"
                                    : "it is empty; accepted: a first line han-rules %d, and rules",
                   HAN_RULES_VERSION);
    }
    if (0 != rc) {
        mca_coll_han_rules_free(rules);
    } else {
        error->line = 0;
    }
    return rc;
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

int mca_coll_han_rules_read(mca_coll_han_rules_t *rules, const char *path, mca_coll_han_rules_error_t *error)
{
    const int file = open_file(path);
    struct stat about;
    size_t length;
    char *text;
    int rc;

    memset(rules, 0, sizeof(*rules));
    memset(error, 0, sizeof(*error));
    if (-1 == file || -1 == fstat(file, &about)) {
        rc = wrong(error, "it cannot be read (%s); accepted: a readable file", strerror(errno));
    } else if (!S_ISREG(about.st_mode)) {
        rc = wrong(error, "it is not a file%s; accepted: a text file", S_ISDIR(about.st_mode) ? " but a folder" : "");
    } else if (HAN_RULES_MOST_BYTES < about.st_size) {
        rc = wrong(error, "it is too long; accepted: %d bytes", HAN_RULES_MOST_BYTES);
    } else if (NULL == (text = read_all(file, (size_t) about.st_size, &length))) {
        rc = wrong(error, "it cannot be read (%s); accepted: a readable file", strerror(errno));
    } else {
        rc = mca_coll_han_rules_parse(rules, path, text, length, error);
        free(text);
    }
    if (-1 != file) {
        close(file);
    }
    return rc;
}

void mca_coll_han_rules_free(mca_coll_han_rules_t *rules)
{
    for (size_t i = 0; i < rules->count; ++i) {
        free(rules->rules[i].text);
    }
    free(rules->rules);
    free(rules->machine);
    memset(rules, 0, sizeof(*rules));
}
