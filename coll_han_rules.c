/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser: a text of rules becomes a table, wholly or not at all. A rule is
 *     COLLECTIVE[,COLLECTIVE...] INPUT=RANGE ... : PARAMETER=VALUE ...
 * and what the fields are is a table in coll_han_fields.c.
 */
#include "coll_han_fields.h"
#include "coll_han_text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS HAN_TEXT_BLANK

/* -- what is wrong -- */

/* A text being read. */
typedef struct {
    const char *name;
    mca_coll_han_rules_t *rules;
    mca_coll_han_rules_error_t *error;
    size_t room; /* rules that there is memory for */
    mca_coll_han_machine_reader_t numbers;
} parser_t;

static int wrong_word(mca_coll_han_rules_error_t *error, mca_coll_han_words_t words)
{
    const char *word;
    int value;

    mca_coll_han_text_more(error, "; accepted: ", words(0, &value));
    for (int i = 1; NULL != (word = words(i, &value)); ++i) {
        mca_coll_han_text_more(error, ", ", word);
    }
    return -1;
}

static int wrong_field(mca_coll_han_rules_error_t *error, mca_coll_han_field_side_t side)
{
    const char *before = "; accepted: ";

    for (int i = 0; i < HAN_FIELD_COUNT; ++i) {
        if (side == mca_coll_han_fields[i].side) {
            mca_coll_han_text_more(error, before, mca_coll_han_fields[i].name);
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
    return mca_coll_han_text_wrong(
        error, "%s=%.60s; accepted: %s from %zu to %s%s", field->name, text,
        HAN_RANGE == field->type ? "*, N, N-, or N-M where N is at most M, N and M" : "a number", field->least, most,
        HAN_NUMBER == field->type ? "" : "; K, M, G may follow a number");
}

/* -- values -- */

static bool get_range(const mca_coll_han_field_t *field, const char *text, mca_coll_han_range_t *range)
{
    if (0 == strcmp("*", text)) {
        *range = (mca_coll_han_range_t){ field->least, field->most };
        return true;
    }
    if (!mca_coll_han_text_number(&text, &range->low)) {
        return false;
    }
    range->high = range->low;
    if ('-' == *text) {
        ++text;
        range->high = field->most;
        if ('\0' != *text && !mca_coll_han_text_number(&text, &range->high)) {
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
            mca_coll_han_text_wrong(parser->error, "%s=%.60s", field->name, text);
            return wrong_word(parser->error, field->words);
        }
        memcpy(place, &value, sizeof(value));
        return 0;
    default:
        if (!mca_coll_han_text_number(&rest, &number) || '\0' != *rest || number < field->least
            || number > field->most) {
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
            mca_coll_han_text_wrong(parser->error, "\"%.60s\" is not NAME=VALUE; names", token);
            return wrong_field(parser->error, side);
        }
        *value++ = '\0';
        field = mca_coll_han_field_find(side, token);
        if (HAN_FIELD_COUNT == field) {
            mca_coll_han_text_wrong(parser->error, "\"%.60s\" is no field %s", token, sides[side]);
            return wrong_field(parser->error, side);
        }
        if (seen[field]) {
            return mca_coll_han_text_wrong(parser->error, "%s is there twice; accepted: each field once", token);
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
            mca_coll_han_text_wrong(parser->error, "\"%.60s\" is no collective", name);
            wrong_word(parser->error, mca_coll_han_word_of_collective);
            mca_coll_han_text_more(parser->error, ", ", "* for all of them");
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
        mca_coll_han_text_wrong(parser->error, "algorithm=%s does not do %s",
                                mca_coll_han_algorithms[rule->params.algorithm].name,
                                mca_coll_han_collective_names[collective]);
        for (int i = 0; i < HAN_ALGORITHM_COUNT; ++i) {
            if (mca_coll_han_fits((mca_coll_han_algorithm_id_t) i, &input)) {
                mca_coll_han_text_more(parser->error, before, mca_coll_han_algorithms[i].name);
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
            return mca_coll_han_text_wrong(
                parser->error, "%s= is missing; accepted: COLLECTIVE nodes=N ppn=N bytes=N : algorithm=NAME ...",
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
        return mca_coll_han_text_wrong(parser->error, "there are too many rules; accepted: %d", HAN_RULES_MOST);
    }
    if (rules->count == parser->room) {
        const size_t room = 0 == parser->room ? 64 : 2 * parser->room;
        mca_coll_han_rule_t *grown = realloc(rules->rules, room * sizeof(*grown));

        if (NULL == grown) {
            return mca_coll_han_text_wrong(parser->error, "memory is short");
        }
        rules->rules = grown;
        parser->room = room;
    }
    rule->text = malloc(length);
    if (NULL == rule->text) {
        return mca_coll_han_text_wrong(parser->error, "memory is short");
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

static int parse_rule(parser_t *parser, int line, char *text)
{
    mca_coll_han_rule_t rule = mca_coll_han_rule_default();
    bool seen[HAN_FIELD_COUNT] = { false };
    char input[HAN_TEXT_MOST_LINE + 1];
    char *parameters = strchr(text, ':'), *rest;

    if (NULL == parameters) {
        return mca_coll_han_text_wrong(
            parser->error, "there is no colon; accepted: COLLECTIVE nodes=N ppn=N bytes=N : algorithm=NAME ...");
    }
    *parameters++ = '\0';
    rule.line = line;
    strcpy(input, mca_coll_han_text_trim(text));
    rest = text = mca_coll_han_text_trim(text);
    strsep(&rest, BLANKS);
    if (0 != parse_collectives(parser, &rule, text)
        || (NULL != rest && 0 != parse_side(parser, &rule, HAN_INPUT, rest, seen))
        || 0 != parse_side(parser, &rule, HAN_PARAMETER, parameters, seen) || 0 != complete(parser, &rule, seen)) {
        return -1;
    }
    return append(parser, &rule, input);
}

/* "machine TEXT" */
static int parse_machine(parser_t *parser, const char *text)
{
    if (NULL != parser->rules->machine) {
        return mca_coll_han_text_wrong(parser->error, "machine is there twice; accepted: one line \"machine TEXT\"");
    }
    text += strspn(text, BLANKS);
    parser->rules->machine = strdup(text);
    return NULL == parser->rules->machine ? mca_coll_han_text_wrong(parser->error, "memory is short") : 0;
}

static int parse_line(void *context, int line, char *text)
{
    static const char machine[] = "machine";
    const size_t word = sizeof(machine) - 1;
    parser_t *parser = context;

    if (0 == strncmp(machine, text, word) && NULL != strchr(BLANKS, text[word])) {
        return parse_machine(parser, text + word);
    }
    if (mca_coll_han_machine_is_record(text)) {
        return mca_coll_han_machine_take(&parser->numbers, line, text);
    }
    return parse_rule(parser, line, text);
}

/* Files of Open MPI's own HAN begin with a number: of how many collectives there are rules. */
static bool is_of_the_other_han(const char *text, size_t length)
{
    bool comment = false;
    size_t at = 0;

    for (; at < length && (comment || '#' == text[at] || isspace((unsigned char) text[at])); ++at) {
        comment = '\n' != text[at] && (comment || '#' == text[at]);
    }
    return at < length && isdigit((unsigned char) text[at]);
}

int mca_coll_han_rules_parse(mca_coll_han_rules_t *rules, const char *name, const char *text, size_t length,
                             mca_coll_han_rules_error_t *error)
{
    parser_t parser = { .name = name, .rules = rules, .error = error };
    int rc;

    memset(rules, 0, sizeof(*rules));
    memset(error, 0, sizeof(*error));
    rules->hash = mca_coll_han_text_hash(text, length);
    mca_coll_han_machine_begin(&parser.numbers, &rules->numbers, error);
    if (HAN_RULES_MOST_BYTES < length) {
        return mca_coll_han_text_wrong(error, "it is too long; accepted: %d bytes", HAN_RULES_MOST_BYTES);
    }
    rc = mca_coll_han_text_lines("han-rules", HAN_RULES_VERSION, text, length, error, parse_line, &parser);
    if (0 != rc && is_of_the_other_han(text, length)) {
        rc = mca_coll_han_text_wrong(error,
                                     "it is no file of rules; accepted: a first line han-rules %d; of a file of "
                                     "Open MPI's own HAN, han_rules convert makes one",
                                     HAN_RULES_VERSION);
    }
    if (0 == rc && 0 == rules->count) {
        rc = mca_coll_han_text_wrong(error, "there is no rule; accepted: at least one");
    }
    if (0 == rc && parser.numbers.begun) {
        rc = mca_coll_han_machine_end(&parser.numbers, rules->hash);
    }
    if (0 != rc) {
        mca_coll_han_rules_free(rules);
    } else {
        error->line = 0;
    }
    return rc;
}

int mca_coll_han_rules_read(mca_coll_han_rules_t *rules, const char *path, mca_coll_han_rules_error_t *error)
{
    size_t length;
    char *text = mca_coll_han_text_read(path, HAN_RULES_MOST_BYTES, &length, error);
    int rc = -1;

    memset(rules, 0, sizeof(*rules));
    if (NULL != text) {
        rc = mca_coll_han_rules_parse(rules, path, text, length, error);
        free(text);
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
