/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Latency and rate of a link, by a message and its answer again and again: which length comes next, and what the times
 * tell. A machine on which ranks are busy only makes trips longer, so the shortest ones count (docs/model.md). Pure.
 */
#ifndef MCA_COLL_HAN_TRIPS_H
#define MCA_COLL_HAN_TRIPS_H

#include <stddef.h>
#include <stdint.h>

/** The longest message, in bytes. */
enum { HAN_TRIPS_LONGEST = 1 << 20 };

/** All zero: nothing is known yet. */
typedef struct mca_coll_han_trips_t {
    uint64_t trip;   /**< what is known: ns that a byte and its answer take; 0: ranks are too busy to tell */
    uint64_t rate;   /**< bytes a second of long messages; 0: not known */
    uint64_t spent;  /**< ns that the trips of shorter lengths ask for */
    size_t bytes;    /**< of this length: bytes, 0 before the first one, ... */
    int count;       /**< ... trips, ... */
    uint64_t least;  /**< ... ns of the shortest one ... */
    uint64_t second; /**< ... and of the next one */
} mca_coll_han_trips_t;

/** Bytes of the next message, at most HAN_TRIPS_LONGEST; 0: trip and rate are what the link has. */
size_t mca_coll_han_trips_next(mca_coll_han_trips_t *trips);

/** The message of which mca_coll_han_trips_next told was answered after this time, in ns. */
void mca_coll_han_trips_took(mca_coll_han_trips_t *trips, uint64_t took);

#endif
