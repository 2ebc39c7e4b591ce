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

/** The built-in rules. They are good; where memory is short the program ends. */
void read_builtin(mca_coll_han_rules_t *rules);

/** Of a table of measured candidates (bench/candidates): which lines count, who chooses, and what is shown. */
struct regret_wish {
    const char *path;
    const char *shape;                     /**< as 4x4: nodes, and ranks of each; NULL: all */
    const char *rate;                      /**< NULL: all */
    const mca_coll_han_machine_t *machine; /**< of the model */
    const mca_coll_han_rules_t *rules; /**< choose first, and the model for what they leave; NULL: the model alone */
    bool all;                          /**< each pick is shown, not only those that are far from the best */
};

/** Prints how good the choice is on such a table. Returns an exit code. */
int regret(const struct regret_wish *wish);

/**
 * Prints what the model says that a call takes by each of some parameters.
 *
 * @param texts [count] as mca_coll_han_candidate_text() writes them
 * @returns an exit code
 */
int predict(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input, const char *const *texts,
            int count);

#endif
