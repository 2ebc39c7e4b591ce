/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Races: of each collective and size, all that HAN can do, and what would be done without HAN, start together, and who
 * falls behind is out. What the cost model takes to be far behind does not start. Between two sizes with different
 * winners others are raced, until the boundary is known by a factor of two. Who is near HAN's own choice runs once
 * more, with that and the fallback, when all races are over: these last rounds decide.
 */
#ifndef HAN_TUNE_RACE_H
#define HAN_TUNE_RACE_H

#include "tune.h"
#include "tune_contest.h"
#include "tune_points.h"

/** The longest message, or blocks of all ranks together, that a race needs memory for. */
size_t tune_race_memory(const struct tune_space *space);

/**
 * The sizes that are raced in any case, of a message or of a block.
 *
 * @param place from 0 on
 * @param bytes of the rule; 0 where rules cannot depend on them
 * @returns false behind the last one; also at the first, where there is no memory for it
 */
bool tune_race_size(const struct tune_space *space, mca_coll_han_collective_t collective, int ranks, int place,
                    size_t *bytes);

/** How many these are of all functions; where there is no memory for any of a function, it says so. */
int tune_race_sizes(const struct tune_space *space, int ranks);

/** The bytes that are timed for such a rule: where it cannot depend on them, those of long blocks. */
size_t tune_race_timed(const struct tune_space *space, mca_coll_han_collective_t collective, int ranks, size_t bytes);

/** What rank 0 has of a race: where it is noted, and what was kept of one that was interrupted. */
struct tune_race_log {
    struct tune_table table; /**< a line for each candidate that was timed, as han_candidates prints it */
    const char *folder;      /**< of choices.csv */
    struct tune_kept *kept;  /**< [kept_count] */
    long kept_count;
    int left_out; /**< functions for which there was no time, or not for all their sizes */
};

/**
 * Races. Collective; every rank decides alike.
 *
 * @param space its functions, nodes, ppn, and sizes; of blocks, those of all ranks together are at most
 *              tune_race_memory()
 * @param way   most: rounds; deadline; quiet
 * @param log   NULL on other ranks than 0
 * @param choices gets memory, to be freed: of each function by ascending sizes
 * @returns how many choices there are; -1 after an error, which has been told
 */
long tune_race_run(struct tune_engine *engine, const struct tune_space *space, const struct tune_way *way,
                   struct tune_race_log *log, struct tune_choice **choices);

#endif
