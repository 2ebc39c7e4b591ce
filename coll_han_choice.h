/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the model chooses, kept: to predict all candidates takes microseconds, to find a choice nanoseconds. Pure.
 */
#ifndef MCA_COLL_HAN_CHOICE_H
#define MCA_COLL_HAN_CHOICE_H

#include "coll_han_candidates.h"
#include "coll_han_model.h"

/** Choices of a communicator, by all that they depend on but its shape; all zero at first. */
typedef struct mca_coll_han_choices_t {
    struct mca_coll_han_choice_t *kept; /**< [room] */
    size_t room, count;
} mca_coll_han_choices_t;

/** Choices that a communicator has room for at first, and at most; half of that is used. A program with as many
 * different calls has 100 KB of them. */
enum { HAN_CHOICES_FIRST = 64, HAN_CHOICES_MOST = 1024 };

/** What a call is taken for where not all ranks know how long blocks are: long ones, of which the wrong choice costs
 * the most. */
enum { HAN_CHOICE_UNKNOWN = 128 << 10 };

/** Bytes that count for all of a class: up to a power of two, and up to one and a half of it. */
size_t mca_coll_han_choice_bytes(size_t bytes);

/**
 * All candidates for a call, and what the model of a machine predicts of each: what it chooses is their pick.
 *
 * @param input its bytes become those of its class
 * @param params gets memory, to be freed
 * @param times the same
 * @returns how many there are; -1 where memory is short (then there is nothing to free)
 */
long mca_coll_han_choice_candidates(const mca_coll_han_machine_t *machine, mca_coll_han_input_t input,
                                    mca_coll_han_params_t **params, mca_coll_han_times_t **times);

/** Candidates that are told, and enough for them as text. */
enum { HAN_CHOICE_BEST = 5, HAN_CHOICE_TEXT = (HAN_CHOICE_BEST + 1) * (HAN_CANDIDATE_TEXT + 64) };

/**
 * The best candidates for a call, that which is picked first: a table with their times, of a single call and of calls
 * in a row, and the worse of both over the least that any candidate has.
 *
 * @returns text; NULL where memory is short
 */
char *mca_coll_han_choice_best(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                               char text[HAN_CHOICE_TEXT]);

/**
 * Whether a model can choose: there is something to do, not the root alone knows how much, and there are several nodes.
 */
bool mca_coll_han_choice_serves(const mca_coll_han_input_t *input);

/**
 * What the model of a machine chooses for a call that it serves. The same on all ranks.
 *
 * @param input of a shape that never changes; a choice is made for the bytes of its class
 * @returns good until the next call; NULL where memory is short
 */
const mca_coll_han_params_t *mca_coll_han_choose(mca_coll_han_choices_t *choices, const mca_coll_han_machine_t *machine,
                                                 const mca_coll_han_input_t *input);

/** Frees what choose made; zeroed ones are fine too. */
void mca_coll_han_choices_free(mca_coll_han_choices_t *choices);

#endif
