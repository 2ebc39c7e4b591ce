/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules as text. */
#include "coll_han_fields.h"

#include <stdio.h>
#include <string.h>

/* K, M or G where nothing is lost by it. */
static void print_number(char *text, size_t length, size_t number)
{
    static const char units[] = " KMG";
    int unit = 0;

    while (0 != number && 0 == number % 1024 && '\0' != units[unit + 1]) {
        number /= 1024;
        ++unit;
    }
    snprintf(text, length, 0 == unit ? "%zu" : "%zu%c", number, units[unit]);
}

static void print_range(char *text, size_t length, const mca_coll_han_field_t *field, const mca_coll_han_range_t *range)
{
    char low[32], high[32];

    print_number(low, sizeof(low), range->low);
    print_number(high, sizeof(high), range->high);
    if (range->low == field->least && range->high == field->most) {
        snprintf(text, length, "*");
    } else if (range->low == range->high) {
        snprintf(text, length, "%s", low);
    } else {
        snprintf(text, length, "%s-%s", low, range->high == field->most ? "" : high);
    }
}

static void print_word(char *text, size_t length, mca_coll_han_words_t words, int wanted)
{
    const char *word;
    int value;

    for (int i = 0; NULL != (word = words(i, &value)); ++i) {
        if (value == wanted) {
            snprintf(text, length, "%s", word);
            return;
        }
    }
}

/* Whether a rule means the same without a field: it has its default, or the value of what stands for it. */
static bool is_spare(const mca_coll_han_rule_t *rule, int i)
{
    const mca_coll_han_rule_t defaults = mca_coll_han_rule_default();
    const mca_coll_han_field_t *field = &mca_coll_han_fields[i];
    const int other = NULL == field->instead ? i : mca_coll_han_field_find(field->side, field->instead);
    const char *own = (const char *) rule + field->offset,
               *others = (const char *) rule + mca_coll_han_fields[other].offset;
    const size_t size = mca_coll_han_field_size(field->type);

    if (other < i && 0 == memcmp(own, others, size)) {
        return true;
    }
    return !field->needed && 0 == memcmp(own, (const char *) &defaults + field->offset, size)
           && 0 == memcmp(own, others, size);
}

/* Appends the fields of one side. */
static void print_side(char *text, size_t length, const mca_coll_han_rule_t *rule, mca_coll_han_field_side_t side,
                       bool all)
{
    for (int i = 0; i < HAN_FIELD_COUNT; ++i) {
        const mca_coll_han_field_t *field = &mca_coll_han_fields[i];
        const char *place = (const char *) rule + field->offset;
        size_t number = 0;
        int value = 0;
        char printed[80] = "";

        if (side != field->side || (!all && is_spare(rule, i))) {
            continue;
        }
        switch (field->type) {
        case HAN_RANGE:
            print_range(printed, sizeof(printed), field, (const mca_coll_han_range_t *) place);
            break;
        case HAN_BYTES:
            memcpy(&number, place, sizeof(number));
            print_number(printed, sizeof(printed), number);
            break;
        default:
            memcpy(&value, place, sizeof(value));
            if (HAN_WORD == field->type) {
                print_word(printed, sizeof(printed), field->words, value);
            } else {
                snprintf(printed, sizeof(printed), "%d", value);
            }
        }
        snprintf(text + strlen(text), length - strlen(text), "%s%s=%s", '\0' == *text ? "" : " ", field->name, printed);
    }
}

char *mca_coll_han_params_format(const mca_coll_han_params_t *params, char *text, size_t length)
{
    const mca_coll_han_rule_t rule = { .params = *params };

    *text = '\0';
    print_side(text, length, &rule, HAN_PARAMETER, true);
    return text;
}

char *mca_coll_han_rule_format(const mca_coll_han_rule_t *rule, char *text, size_t length)
{
    mca_coll_han_rule_t copy = *rule;
    const uint64_t all = (UINT64_C(1) << HAN_COLLECTIVE_COUNT) - 1;
    const char *before = "";

    snprintf(text, length, "%s", all == rule->collectives ? "*" : "");
    for (int i = 0; i < HAN_COLLECTIVE_COUNT && all != rule->collectives; ++i) {
        if (0 != (rule->collectives >> i & 1)) {
            snprintf(text + strlen(text), length - strlen(text), "%s%s", before, mca_coll_han_collective_names[i]);
            before = ",";
        }
    }
    if (rule->leave) {
        copy.params.algorithm = (mca_coll_han_algorithm_id_t) HAN_AUTO;
    }
    print_side(text, length, &copy, HAN_INPUT, false);
    snprintf(text + strlen(text), length - strlen(text), " :");
    print_side(text, length, &copy, HAN_PARAMETER, false);
    return text;
}
