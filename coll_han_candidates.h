/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * All ways of doing a collective: what the model chooses among, and what bench/candidates measures. Pure.
 */
#ifndef MCA_COLL_HAN_CANDIDATES_H
#define MCA_COLL_HAN_CANDIDATES_H

#include "coll_han_dynamic.h"
#include "coll_han_text.h"

/** What candidates are for. */
typedef struct mca_coll_han_candidates_t {
    mca_coll_han_input_t input;                      /**< a call; algorithms that do not serve it are no candidates */
    mca_coll_han_submodule_t lows[HAN_CHOICE_COUNT]; /**< that are there, to do a node's part level by level */
    int low_count;
    bool libnbc; /**< does the leaders' part of what goes level by level, too, beside adapt */
} mca_coll_han_candidates_t;

/**
 * All candidates for a call, of every algorithm, simple ones first; the first is the fallback.
 *
 * @param params gets memory, to be freed
 * @returns how many there are; -1 where memory is short
 */
long mca_coll_han_candidates_make(const mca_coll_han_candidates_t *what, mca_coll_han_params_t **params);

/** Enough for any candidate as text. */
enum { HAN_CANDIDATE_TEXT = 128 };

/** "tree ibalg=binomial ibs=32768": the algorithm, and the fields of a rule that it reads. Returns text. */
char *mca_coll_han_candidate_text(mca_coll_han_collective_t collective, const mca_coll_han_params_t *params,
                                  char text[HAN_CANDIDATE_TEXT]);

/** Whether two are the same candidate: alike in all that its algorithm reads. */
bool mca_coll_han_candidate_is(mca_coll_han_collective_t collective, const mca_coll_han_params_t *one,
                               const mca_coll_han_params_t *other);

/**
 * The parameters that such a text stands for: what a rule says behind "algorithm=".
 *
 * @returns 0, or -1 and what is wrong
 */
int mca_coll_han_candidate_read(mca_coll_han_collective_t collective, const char *text, mca_coll_han_params_t *params,
                                mca_coll_han_text_error_t *error);

#endif
