/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which call has which tags. Two calls on one communicator never take each other's messages; the proof is in
 * docs/adapt.md. All ranks give the same tags to the same call, for its place in the order of calls alone decides.
 *
 * Each form has tags of its own (common/coll_tags.h):
 *   blocking     in turn: when a call begins, those before it are over on this rank;
 *   nonblocking  in turn, too: a call that comes to the tags of one that is not over begins when that one is;
 *   persistent   in turn; when they are through, the ranks agree on those which no request has any more.
 */
#ifndef MCA_COLL_ADAPT_TAGS_H
#define MCA_COLL_ADAPT_TAGS_H

#include "ompi_config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ompi/communicator/communicator.h"
#include "opal/class/opal_list.h"

#include "common/coll_tags.h"

/** The forms of a collective. */
typedef enum { ADAPT_BLOCKING, ADAPT_NONBLOCKING, ADAPT_PERSISTENT } mca_coll_adapt_form_t;

/** The tags of a communicator. */
typedef struct mca_coll_adapt_tag_space_t {
    ompi_communicator_t *comm;
    pthread_mutex_t lock;
    /** Of the form, the place of the next call's first tag. The first two go on for ever, and are taken modulo. */
    uint64_t next[ADAPT_PERSISTENT + 1];
    opal_list_t nonblocking;               /**< calls that are not over, in their order */
    struct mca_coll_adapt_tags_t *waiting; /**< of them, the first that has not begun; so have none behind it */
    bool beginning;                        /**< a thread is at it */
    opal_list_t persistent;                /**< requests that are not freed */
    uint64_t *used; /**< a bit for each tag of persistent requests: set where any rank may have it */
} mca_coll_adapt_tag_space_t;

/** The tags of a call, one after another. All zero: none. */
typedef struct mca_coll_adapt_tags_t {
    opal_list_item_t super;
    mca_coll_adapt_tag_space_t *space; /**< while they are held */
    mca_coll_adapt_form_t form;
    uint64_t place;
    int first; /**< tag */
    int count;
    void (*begin)(struct mca_coll_adapt_tags_t *tags);
} mca_coll_adapt_tags_t;

void mca_coll_adapt_tag_space_init(mca_coll_adapt_tag_space_t *space, ompi_communicator_t *comm);
void mca_coll_adapt_tag_space_fini(mca_coll_adapt_tag_space_t *space);

/**
 * Takes tags for a call. Collective over the communicator. Must come before anything that may fail on one rank alone: a
 * rank that does not take them gives wrong ones to all later calls.
 *
 * @param tags what is taken; to be copied to where the call keeps it
 * @return on all ranks alike, an error where the communicator has not so many
 */
int mca_coll_adapt_tags_take(mca_coll_adapt_tag_space_t *space, mca_coll_adapt_form_t form, int count,
                             mca_coll_adapt_tags_t *tags);

/**
 * What has been taken is in use from here to the return, and stays where it is. Begins the call, but for a persistent
 * request, which its user starts: at once, or, where a nonblocking one must wait for its tags, when they are free.
 *
 * @param begin may be called later and in another thread
 */
void mca_coll_adapt_tags_hold(mca_coll_adapt_tags_t *tags, mca_coll_adapt_tag_space_t *space,
                              void (*begin)(mca_coll_adapt_tags_t *tags));

/** They are free: a call is over, a persistent request is freed. May begin other calls. Twice does nothing. */
void mca_coll_adapt_tags_return(mca_coll_adapt_tags_t *tags);

#endif
