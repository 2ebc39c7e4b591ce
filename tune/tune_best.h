/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How near the best of all candidates a table of rules is.
 */
#ifndef HAN_TUNE_BEST_H
#define HAN_TUNE_BEST_H

#include "tune_points.h"

/**
 * Of each function and size: times all candidates, and then, side by side, what the table says, the fastest candidate,
 * HAN's own choice and what would be done without HAN. Prints a line for each, and what comes of all. Collective.
 *
 * @param way   most: rounds, of all, and once more of the four; clock; deadline; quiet
 * @param rules the table; NULL on other ranks than 0
 * @returns 0, or -1 after a message
 */
int tune_best(struct tune_engine *engine, const struct tune_space *space, const struct tune_way *way,
              const mca_coll_han_rules_t *rules);

#endif
