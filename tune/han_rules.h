/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the files of han_rules share.
 */
#ifndef HAN_TUNE_RULES_H
#define HAN_TUNE_RULES_H

#include "coll_han_machine.h"
#include "coll_han_rules.h"

/** Exit codes. */
enum { GOOD = 0, BAD_FILE = 1, BAD_USE = 2 };

/** Ends the program where memory is short. Returns it. */
void *need(void *memory);

/** The one collective of a rule; HAN_COLLECTIVE_COUNT where there are several. */
mca_coll_han_collective_t collective_of(const mca_coll_han_rule_t *rule);

/** Prints a file of Open MPI's own HAN as rules; what cannot be told by them goes to standard error. */
int convert(const char *path);

/**
 * Prints how good the model's choice is on a table of measured candidates.
 *
 * @param path of the table (bench/candidates)
 * @param shape of the lines that count, as 4x4: nodes, and ranks of each; NULL: all
 * @param rate of the lines that count; NULL: all
 * @param all each pick is shown, not only those that are far from the best
 * @returns an exit code
 */
int regret(const char *path, const mca_coll_han_machine_t *machine, const char *shape, const char *rate, bool all);

/**
 * Prints what the model says that a call takes by each of some parameters.
 *
 * @param texts [count] as mca_coll_han_candidate_text() writes them
 * @returns an exit code
 */
int predict(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input, const char *const *texts,
            int count);

#endif
