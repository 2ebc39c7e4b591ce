/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a text of rules. For clang's libFuzzer (tests/fuzz.sh), which looks for texts that break it; and for
 * replay (make check), where the files of the corpus are the arguments.
 */
#include "../coll_han_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the text is; abort is what libFuzzer wants. */
static void must(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

/* The lookup finds what a look at every rule finds, at the ends of its rows and of all ranges. */
static void check_lookup(const mca_coll_han_rules_t *rules, mca_coll_han_input_t input)
{
    mca_coll_han_lookup_t lookup;

    must(0 == mca_coll_han_lookup_make(&lookup, rules, &input), "there is memory for a lookup");
    for (size_t i = 0; i < 2 * (lookup.count + rules->count); ++i) {
        const mca_coll_han_rule_t *best = NULL;
        uint64_t least = UINT64_MAX;
        const size_t row = i / 2;

        input.bytes = row < lookup.count ? lookup.rows[row].from - i % 2
                      : 0 == i % 2       ? rules->rules[row - lookup.count].bytes.low
                                         : rules->rules[row - lookup.count].bytes.high;
        for (size_t j = 0; j < rules->count; ++j) {
            const uint64_t distance = mca_coll_han_rule_distance(&rules->rules[j], &input);

            if (mca_coll_han_rule_serves(&rules->rules[j], &input) && distance <= least) {
                best = &rules->rules[j];
                least = distance;
            }
        }
        must(best == mca_coll_han_lookup_find(&lookup, input.bytes), "the lookup finds the nearest rule");
    }
    mca_coll_han_lookup_free(&lookup);
}

/* Written and read again, a rule is the same. */
static void check_format(const mca_coll_han_rule_t *rule)
{
    char text[HAN_RULES_TEXT + 16], again[HAN_RULES_TEXT];
    mca_coll_han_rules_t rules;
    mca_coll_han_rules_error_t error;

    strcpy(text, "han-rules 1\n");
    mca_coll_han_rule_format(rule, text + strlen(text), HAN_RULES_TEXT);
    must(0 == mca_coll_han_rules_parse(&rules, "", text, strlen(text), &error), "what is written is accepted");
    must(0 == strcmp(strchr(text, '\n') + 1, mca_coll_han_rule_format(rules.rules, again, sizeof(again))),
         "what is written is the same rule");
    mca_coll_han_rules_free(&rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int sizes[] = { 1, 3, 100 };
    mca_coll_han_rules_t rules;
    mca_coll_han_rules_error_t error;

    if (0 != mca_coll_han_rules_parse(&rules, "fuzz", (const char *) data, size, &error)) {
        must('\0' != error.what[0] && sizeof(error.what) > strnlen(error.what, sizeof(error.what)), "it is told why");
        for (const char *byte = error.what; '\0' != *byte; ++byte) {
            must(' ' <= *byte && 0x7f > *byte, "what is told can be printed");
        }
        must(NULL == rules.rules && 0 == rules.count, "a bad text leaves nothing");
        return 0;
    }
    must(0 < rules.count && 0 != rules.hash, "a good text has rules");
    for (size_t i = 0; i < rules.count; ++i) {
        check_format(&rules.rules[i]);
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        for (int collective = 0; collective < HAN_COLLECTIVE_COUNT; ++collective) {
            mca_coll_han_input_t input = mca_coll_han_input_good((mca_coll_han_collective_t) collective);
            mca_coll_han_params_t params;

            input.nodes = sizes[i];
            input.ppn = sizes[(i + (size_t) collective) % 3];
            input.bytes = (size_t) 1 << (11 * i);
            input.in_order = 0 == i;
            input.form = (mca_coll_han_form_t) i;
            params = mca_coll_han_decide(&input, &rules.rules[size % rules.count].params, &mca_coll_han_unset);

            must(mca_coll_han_fits(params.algorithm, &input) && 1 <= params.lanes, "a decision can be done");
            check_lookup(&rules, input);
        }
    }
    mca_coll_han_rules_free(&rules);
    return 0;
}

#ifndef HAN_FUZZING
/* Replays files. */
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        static uint8_t data[HAN_RULES_MOST_BYTES + 2];
        FILE *file = fopen(argv[i], "rb");
        size_t size;

        must(NULL != file, argv[i]);
        size = fread(data, 1, sizeof(data), file);
        fclose(file);
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("%d texts replayed\n", argc - 1);
    return 1 < argc ? 0 : 1;
}
#endif
