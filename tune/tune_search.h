/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The search for the best parameters on one communicator, and what comes of it. Rank 0 decides; the others follow.
 */
#ifndef HAN_TUNE_SEARCH_H
#define HAN_TUNE_SEARCH_H

#include "tune.h"
#include "tune_engine.h"

/** How it is measured. */
struct tune_way {
    bool exhaustive;  /**< every message size by itself; else by tasks */
    int least, most;  /**< repetitions */
    double precision; /**< of the median: half its confidence interval, as a part of it */
    double deadline;  /**< MPI_Wtime; nothing is begun after it */
    bool quiet;       /**< no progress */
};

/** What a message of a size gets. */
struct tune_choice {
    mca_coll_han_collective_t collective;
    size_t bytes;
    bool found;                /**< a configuration beats the built-in rules; else they are to decide */
    struct tune_config config; /**< the best one, also where it does not */
    double estimate;           /**< by the model, or as the search has measured it; seconds */
    double measured;           /**< side by side with the next two; NAN: not measured */
    double builtin, fallback;
};

struct tune_search;

/**
 * Searches.
 *
 * @param space.ups, lows are filled in
 * @param folder for the steps and the estimates, as CSV; NULL on other ranks than 0
 * @param choices rank 0: gets memory, to be freed
 * @returns how many choices there are; -1 after an error, which has been told
 */
long tune_search_run(struct tune_engine *engine, struct tune_store *store, struct tune_space *space,
                     const struct tune_way *way, const char *folder, struct tune_choice **choices);

/** One run, on the word of rank 0; all other ranks are in tune_search_follow. */
void tune_search_do(struct tune_engine *engine, MPI_Comm comm, const struct tune_run *run, struct tune_result *result);

/** Ranks other than 0: runs what rank 0 says, until it has had enough. */
void tune_search_follow(struct tune_engine *engine, MPI_Comm comm);

/** Rank 0 has had enough. */
void tune_search_end(MPI_Comm comm);

/** "1 h 20 min", "35 s" */
void tune_time_text(double seconds, char text[32]);

#endif
