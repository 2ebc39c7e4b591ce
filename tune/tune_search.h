/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The search for the best parameters on one communicator, and what comes of it. Rank 0 decides; the others follow.
 */
#ifndef HAN_TUNE_SEARCH_H
#define HAN_TUNE_SEARCH_H

#include "tune.h"
#include "tune_points.h"

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

#endif
