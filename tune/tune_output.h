/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Tables of rules: what a search has found is written, and what a table says is measured.
 */
#ifndef HAN_TUNE_OUTPUT_H
#define HAN_TUNE_OUTPUT_H

#include "coll_han_rules.h"
#include "tune_search.h"

/** A text that grows. */
struct tune_text {
    char *text;
    size_t length;
    bool short_of_memory;
};

void tune_text_add(struct tune_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The first lines of a table. */
void tune_output_begin(struct tune_text *text, const char *machine);

/** The rules of one shape; neighbours that say the same are one. */
void tune_output_rules(struct tune_text *text, const struct tune_choice *choices, long count, int nodes, int ppn);

/** Writes a table, wholly or not at all; it is read before, as HAN would. 0, or -1 and a message. */
int tune_output_write(const struct tune_text *text, const char *path);

/** Appends the choices to FOLDER/choices.csv, for the report. */
void tune_output_choices(const char *folder, const struct tune_choice *choices, long count, int nodes, int ppn);

/** What a line of a table has gained: of all messages that it decides, the geometric mean. */
struct tune_gain {
    const mca_coll_han_rule_t *rule;
    double over_builtin, over_fallback; /**< time of the other one, as a multiple of the rule's */
    int messages;
};

/**
 * Measures what a table says, side by side with the built-in rules and with what would do it without HAN, and prints a
 * line for each rule.
 *
 * @param gains rank 0: [rules->count] added to
 * @returns 0, or -1 after a message
 */
int tune_validate(struct tune_engine *engine, struct tune_space *space, const struct tune_way *way,
                  const mca_coll_han_rules_t *rules, struct tune_gain *gains);

/** Writes a table anew: rules that are not TUNE_WORTH times as fast as the built-in ones are left to these. */
int tune_prune(const char *path, const mca_coll_han_rules_t *rules, const struct tune_gain *gains);

#endif
