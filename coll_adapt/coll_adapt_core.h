/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The event core: broadcasts and reductions over a tree, driven by the completions of nonblocking transfers
 * (Luo et al., "ADAPT: An Event-Based Adaptive Collective Communication Framework", sections 2 and 3.1).
 *
 * One struct is the whole state of one operation. It has up to two halves: up (reduce: segments from the children are
 * combined and go to the parent) and down (broadcast: segments from the parent go to the children). With both halves
 * it is an allreduce, in which a segment starts down the tree as soon as it is complete at the root.
 *
 * Segments are independent, and so are children: up to `sends` segments are under way to each child (or to the parent)
 * and up to `recvs` receives are posted for each peer; when any transfer completes, the next one of that peer starts.
 * Nothing waits for all. After an error all goes on, so that nobody waits in vain, but what is sent is empty: who gets it
 * fails, too. The core knows neither MPI nor memory: transfers are the transport's, data the work's.
 */
#ifndef MCA_COLL_ADAPT_CORE_H
#define MCA_COLL_ADAPT_CORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "coll_adapt_tree.h"

struct mca_coll_adapt_core_t;

/** The two halves of an operation. */
typedef enum {
    ADAPT_UP,
    ADAPT_DOWN
} mca_coll_adapt_half_t;

/** One message under way. */
typedef struct mca_coll_adapt_transfer_t {
    struct mca_coll_adapt_core_t *core;
    struct mca_coll_adapt_transfer_t *next; /**< in the list of events, or of free transfers */
    mca_coll_adapt_half_t half;
    bool send;
    bool empty;     /**< to be sent without data: this rank has failed */
    int child;      /**< index of the child at the other end, -1: the parent */
    int peer;       /**< rank at the other end */
    size_t segment;
    void *buffer;
    int rc;         /**< 0, or how it failed */
} mca_coll_adapt_transfer_t;

/** Moves messages. */
typedef struct mca_coll_adapt_transport_t {
    /**
     * Starts a transfer; mca_coll_adapt_core_event is called once when it completes, in whatever thread, perhaps before
     * start returns. Messages between two ranks in one half arrive in the order of their starts.
     *
     * @returns 0, or an error (then there will be no event)
     */
    int (*start)(mca_coll_adapt_transfer_t *transfer);
    /** The operation is over, with rc; called once, as the last thing that the core does: it may free the core. */
    void (*finish)(struct mca_coll_adapt_core_t *core, int rc);
} mca_coll_adapt_transport_t;

/** Knows the data. Functions return 0 or an error. Segments are packed and delivered in order. */
typedef struct mca_coll_adapt_work_t {
    /** Down: where a segment is sent from and received into. */
    void *(*place)(struct mca_coll_adapt_core_t *core, size_t segment);
    /** Down, at the root: makes a segment ready to be sent; NULL: they are. */
    int (*pack)(struct mca_coll_adapt_core_t *core, size_t segment);
    /** Down, elsewhere: takes a segment that has come; NULL: nothing to do. */
    int (*deliver)(struct mca_coll_adapt_core_t *core, size_t segment);
    /** Up: where a segment from a child is received into; slot counts from 0 to recvs - 1. */
    void *(*inlet)(struct mca_coll_adapt_core_t *core, int child, int slot);
    /** Up: where the combined segment is; at the root it may be used again as soon as the last combine has returned. */
    void *(*outlet)(struct mca_coll_adapt_core_t *core, size_t segment);
    /**
     * Up: combines, in a fixed order (from the last rank to the first), so that results do not depend on timing.
     *
     * @param in what came from a child; NULL: the own contribution
     * @param first nothing has been combined into this segment yet
     */
    int (*combine)(struct mca_coll_adapt_core_t *core, size_t segment, void *in, bool first);
} mca_coll_adapt_work_t;

/** What is to be done; the caller fills it in, the core does not change it. */
typedef struct mca_coll_adapt_task_t {
    bool up;
    bool down;
    mca_coll_adapt_tree_t tree;
    size_t segments;
    size_t window;      /**< segments in flight for which there is memory (outlets up, places down) */
    int sends;          /**< outstanding sends to each peer, N in the paper */
    int recvs;          /**< outstanding receives from each peer, M in the paper; more than sends */
    int rc;             /**< what the rank begins with: not 0 where it has failed before */
    const mca_coll_adapt_transport_t *transport;
    const mca_coll_adapt_work_t *work;
    void *context;      /**< the work's and the transport's */
} mca_coll_adapt_task_t;

/**
 * One direction of one peer: segments before `done` are through (sent, or received and used), those from there to
 * before `next` are under way or wait to be used, at most `slots` of them.
 */
typedef struct mca_coll_adapt_flow_t {
    size_t next;
    size_t done;
    size_t slots;
    bool *ready; /**< [slots] the transfer has completed */
} mca_coll_adapt_flow_t;

typedef struct mca_coll_adapt_core_t {
    mca_coll_adapt_task_t task;
    pthread_mutex_t lock;              /**< guards events and advancing, nothing else */
    mca_coll_adapt_transfer_t *events; /**< completions not yet looked at, newest first */
    bool advancing;                    /**< a thread is in advance; it will see new events */
    /* The rest belongs to the thread that is in advance. */
    int rc;                            /**< the first error */
    size_t active;                     /**< transfers under way */
    bool moved;                        /**< something has gone on, and so perhaps more can */
    mca_coll_adapt_transfer_t *free_transfers;
    mca_coll_adapt_transfer_t *transfers; /**< all of them, one block */
    /* Up. */
    mca_coll_adapt_flow_t *up_in;  /**< [children] */
    mca_coll_adapt_flow_t up_out;  /**< to the parent; done counts at the root too */
    int *turn;                     /**< [window] combinations done for a segment */
    size_t combined;               /**< segments before this one are complete */
    /* Down. */
    mca_coll_adapt_flow_t down_in;   /**< from the parent; at the root: packed */
    mca_coll_adapt_flow_t *down_out; /**< [children] */
    void *memory;                    /**< of all the arrays */
} mca_coll_adapt_core_t;

/**
 * Makes an operation ready.
 *
 * @param task is copied; the tree in it stays the caller's and must outlive the core
 * @returns 0, or -1 where memory is short
 */
int mca_coll_adapt_core_init(mca_coll_adapt_core_t *core, const mca_coll_adapt_task_t *task);

/** Starts the operation, from the beginning: also again after it has finished. finish may be called inside. */
void mca_coll_adapt_core_start(mca_coll_adapt_core_t *core);

/** A transfer has completed, with rc. For transports; safe in any thread, and inside start. */
void mca_coll_adapt_core_event(mca_coll_adapt_transfer_t *transfer, int rc);

/** The child whose segment is combined in a turn, counted from 0; -1: the own contribution. */
int mca_coll_adapt_core_child_of_turn(const mca_coll_adapt_core_t *core, int turn);

/** Frees what init made. */
void mca_coll_adapt_core_free(mca_coll_adapt_core_t *core);

#endif
