/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Who is likely to win a race: who was fast at the neighbouring sizes, or in blocking calls. Pure.
 */
#ifndef HAN_TUNE_LIKELY_H
#define HAN_TUNE_LIKELY_H

#include "tune.h"

/** A candidate that was timed. */
struct tune_racer {
    mca_coll_han_params_t params;
    double behind;    /**< how far it is behind the best, over how far the winner is */
    bool nonblocking; /**< it serves nonblocking calls, too */
};

/** How many are kept of a race. */
enum { TUNE_FASTEST = 16 };

/** What is known of a race that is over. */
struct tune_fastest {
    struct tune_function function;
    size_t bytes;
    long count;
    struct tune_racer racers[TUNE_FASTEST]; /**< [count] the fastest first */
};

/** Adds one that was timed, which counts if it is among the fastest. */
void tune_fastest_add(struct tune_fastest *race, const struct tune_racer *racer);

/** Of such calls the race whose size is nearest; NULL: there is none. */
const struct tune_fastest *tune_fastest_nearest(const struct tune_fastest *races, long count,
                                                struct tune_function function, size_t bytes);

/** Whether a candidate was near the best: between this size and the next it may win. */
bool tune_fastest_has(const struct tune_fastest *race, const mca_coll_han_params_t *params);

/** Whether it was one of the fastest of those that serve nonblocking calls: these do the same messages. */
bool tune_fastest_has_nonblocking(const struct tune_fastest *race, const mca_coll_han_params_t *params);

#endif
