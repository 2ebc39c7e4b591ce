/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A machine from a few messages: what was timed between two ranks becomes the numbers of the cost model
 * (docs/model.md). Pure; tune_quick.h has what times it.
 */
#ifndef HAN_TUNE_FIT_H
#define HAN_TUNE_FIT_H

#include "coll_han_machine.h"

/** What is timed. */
enum tune_probe_kind {
    TUNE_TRIP,     /**< half of a message and one of the same length back */
    TUNE_CROWDED,  /**< the same in the mean, while all ranks of the job wait for a message of their own */
    TUNE_SEND,     /**< the sender's call for a message that goes without asking */
    TUNE_RECV,     /**< the receiver's call for such a message, which has come before */
    TUNE_STREAM,   /**< each of many messages one way */
    TUNE_EXCHANGE, /**< each of many messages both ways at a time */
    TUNE_PROBE_COUNT
};

/** "trip" */
extern const char *const tune_probe_names[TUNE_PROBE_COUNT];

/** What one kind took for one length. */
struct tune_probe {
    enum tune_probe_kind kind;
    mca_coll_han_level_id_t level;
    size_t bytes;
    double seconds; /**< NAN: could not be timed */
    int others;     /**< of CROWDED: other ranks that share a core with each */
};

/**
 * Puts what was timed into a machine. A number of which the probes tell nothing stays as it is.
 *
 * @param machine memory, eager limits, and cores must be right
 * @param probes  [count] in any order
 */
void tune_fit(mca_coll_han_machine_t *machine, const struct tune_probe *probes, int count);

/** What a machine predicts for a probe, in seconds. */
double tune_fit_predict(const mca_coll_han_machine_t *machine, const struct tune_probe *probe);

#endif
