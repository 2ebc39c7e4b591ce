/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a table of rules says is measured.
 */
#ifndef HAN_TUNE_VALIDATE_H
#define HAN_TUNE_VALIDATE_H

#include "tune_points.h"

/**
 * Measures what a table says, side by side with HAN's own choice and with what would do it without HAN, and prints a
 * line for each size that a rule decides. Collective.
 *
 * @param way   rounds, from least on until their spread is no more than precision, most at most; clock; deadline
 * @param rules the table; NULL on other ranks than 0
 * @param gains [rules->count] added to; NULL on other ranks
 * @returns 0, or -1 after a message
 */
int tune_validate(struct tune_engine *engine, const struct tune_space *space, const struct tune_way *way,
                  const mca_coll_han_rules_t *rules, struct tune_gain *gains);

#endif
