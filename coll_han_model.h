/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The cost model (HAN paper, section III-A.2, taken from tasks to all algorithms): what a way to do a collective takes
 * on a machine, by closed forms, none of which walks over ranks. Pure, and in whole numbers only, so that ranks on
 * different kinds of processors find the same. The forms are derived in docs/model.md.
 */
#ifndef MCA_COLL_HAN_MODEL_H
#define MCA_COLL_HAN_MODEL_H

#include "coll_han_machine.h"

/** Times in picoseconds; UINT64_MAX: that or more. */
typedef struct mca_coll_han_times_t {
    uint64_t single; /**< of one call that all ranks begin together: its critical path */
    uint64_t row;    /**< of each of many calls without a barrier: the busiest link or processor */
} mca_coll_han_times_t;

/**
 * The work of both processors together for a message, in picoseconds.
 *
 * @param at   the level that it crosses
 * @param then what its receiver does with each KiB
 */
uint64_t mca_coll_han_message_work(const mca_coll_han_machine_t *machine, mca_coll_han_level_id_t at, uint64_t bytes,
                                   uint64_t then);

/** From where the sender of a message begins to where its receiver has done its work; as mca_coll_han_message_work. */
uint64_t mca_coll_han_message_flight(const mca_coll_han_machine_t *machine, mca_coll_han_level_id_t at, uint64_t bytes,
                                     uint64_t then);

/** Ranks that share a core, rounded up, where so many run on some nodes. */
uint64_t mca_coll_han_ranks_of_core(const mca_coll_han_machine_t *machine, uint64_t nodes, uint64_t ranks);

/**
 * Predicts the times of a call.
 *
 * @param input collective, nodes, ppn, in_order, bytes (of the message, or of a block), commutes, in_place, form
 * @param params a way that serves it (mca_coll_han_fits); the fallback is one
 */
mca_coll_han_times_t mca_coll_han_predict(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                                          const mca_coll_han_params_t *params);

/**
 * The candidate whose worse regret of both times is the smallest; of those that are alike in that, the one whose other
 * regret is the smaller. What differs by less than a HAN_MODEL_TIE-th part is alike, and of candidates that are alike
 * the first wins: so simpler ones, and the fallback before all, are to be first. Those of which one time is clearly
 * longer than the fallback's, and the other one not far shorter, win only where there are no others.
 *
 * @param times    [count] of the candidates
 * @param fallback what the call takes without HAN
 * @returns its index; -1 where there is none
 */
long mca_coll_han_pick(const mca_coll_han_times_t *times, long count, mca_coll_han_times_t fallback);

enum { HAN_MODEL_TIE = 50 };

#endif
