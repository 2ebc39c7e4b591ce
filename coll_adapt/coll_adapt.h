/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ADAPT: event-driven collectives (Luo et al., "ADAPT: An Event-Based Adaptive Collective Communication Framework").
 * Declarations in sections by source file. Other components use the types, and call functions through a module.
 */
#ifndef MCA_COLL_ADAPT_H
#define MCA_COLL_ADAPT_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"
#include "ompi/request/request.h"

#include "coll_adapt_core.h"
#include "coll_adapt_schedule.h"
#include "coll_adapt_tags.h"
#include "coll_adapt_tree.h"
#include "common/coll_packing.h"
#include "common/coll_pml.h"
#include "common/coll_room.h"

/* -- coll_adapt_op.c: how a collective is done --------------------------------------------------------------------- */

/** Algorithms of allreduce beside the trees; their numbers come after those of the trees. */
enum { ADAPT_RING = ADAPT_TREE_COUNT, ADAPT_RECURSIVE_DOUBLING, ADAPT_ALGORITHM_COUNT };

/** The tree and the segments of one call. */
typedef struct mca_coll_adapt_how_t {
    /** A tree. Also one of the algorithms above, and ADAPT_TREE_AUTO: by message and communicator. */
    mca_coll_adapt_tree_kind_t kind;
    int degree;          /**< of chain and knomial */
    int groups;          /**< of consecutive ranks, each with a tree of its own; 1 and less: all are one */
    size_t segment_size; /**< bytes; 0: the message whole */
    size_t segments;     /**< where not 0: at most this many segments instead */
    int sends;           /**< outstanding to each peer, N in the paper */
    int recvs;           /**< outstanding from each peer, M in the paper */
    /**
     * Where not NULL: these trees, made before, whatever tree kind says; they are copied. More than one: the message is
     * cut into as many blocks, and each takes its tree. With chains rooted at the ranks of a ring this is the ring
     * allreduce, which moves only 2(n-1)/n of the message over each link.
     */
    const mca_coll_adapt_tree_t *const *trees;
    int tree_count;
} mca_coll_adapt_how_t;

/** The collectives that ADAPT has; an index of arrays. */
typedef enum {
    ADAPT_BCAST,
    ADAPT_REDUCE,
    ADAPT_ALLREDUCE,
    ADAPT_BARRIER,
    ADAPT_COLLECTIVE_COUNT
} mca_coll_adapt_collective_t;

/** Arguments of a collective, in one piece. */
typedef struct mca_coll_adapt_call_t {
    mca_coll_adapt_collective_t collective;
    const void *sbuf;
    void *rbuf; /**< the buffer of bcast */
    size_t count;
    ompi_datatype_t *datatype;
    ompi_op_t *op;
    int root;
    ompi_communicator_t *comm;
    /** Several calls as one, with one request: the next one; NULL: none. Each takes the tree of its place, if trees are
     * passed. So an allgather is as many broadcasts as there are ranks. */
    const struct mca_coll_adapt_call_t *next;
    /** Of several reduces: the result is put into rbuf when all are over, as operands are there until then. */
    bool aside;
    /** Of one of several: where not OMPI_SUCCESS, how this rank has failed before; it takes part, without data. */
    int rc;
} mca_coll_adapt_call_t;

/** The arguments of a broadcast. */
static inline mca_coll_adapt_call_t mca_coll_adapt_bcast_call(void *buffer, int count, ompi_datatype_t *datatype,
                                                              int root, ompi_communicator_t *comm)
{
    return (mca_coll_adapt_call_t){ .collective = ADAPT_BCAST,
                                    .rbuf = buffer,
                                    .count = (size_t) count,
                                    .datatype = datatype,
                                    .root = root,
                                    .comm = comm };
}

/** The arguments of a reduce or an allreduce (root 0: any rank serves). */
static inline mca_coll_adapt_call_t mca_coll_adapt_reduce_call(mca_coll_adapt_collective_t collective, const void *sbuf,
                                                               void *rbuf, int count, ompi_datatype_t *datatype,
                                                               ompi_op_t *op, int root, ompi_communicator_t *comm)
{
    return (mca_coll_adapt_call_t){ .collective = collective,
                                    .sbuf = sbuf,
                                    .rbuf = rbuf,
                                    .count = (size_t) count,
                                    .datatype = datatype,
                                    .op = op,
                                    .root = root,
                                    .comm = comm };
}

/** The arguments of a barrier. */
static inline mca_coll_adapt_call_t mca_coll_adapt_barrier_call(ompi_communicator_t *comm)
{
    return (mca_coll_adapt_call_t){ .collective = ADAPT_BARRIER, .comm = comm };
}

/** Packed bytes of a call's message. */
static inline size_t mca_coll_adapt_call_bytes(const mca_coll_adapt_call_t *call)
{
    return NULL == call->datatype ? 0 : call->datatype->super.size * call->count;
}

/**
 * Passes on what the pml says of a message: that it is started, or how it went. A negative code is one of Open MPI's
 * own, not a class of MPI's errors: the message has not gone. The peer waits for it, or the peer's next message would
 * take its place; so the job ends.
 */
int mca_coll_adapt_message_begun(int rc, int peer, const ompi_communicator_t *comm);

/** What a message is started for. */
typedef enum {
    ADAPT_RECEIVE,
    ADAPT_SEND_BUFFERED, /**< done when MPI needs the sender's memory no more; it may have buffered the message */
    ADAPT_SEND_MATCHED   /**< done when, besides, the other side receives it */
} mca_coll_adapt_direction_t;

/**
 * Whether what a start sends may meet what the next one sends: a persistent request has one tag for all its starts, and
 * messages may overtake each other. Then none goes before that of the start before is received.
 */
static inline bool mca_coll_adapt_starts_may_meet(const mca_coll_adapt_tags_t *tags, const ompi_communicator_t *comm)
{
    return ADAPT_PERSISTENT == tags->form && coll_pml_may_reorder(comm);
}

/**
 * Makes a send, to be started. Data without gaps that do not begin at their address, such as a row of a matrix, go as
 * bytes: of such data a persistent send of Open MPI's pml cm takes what begins at the address (open-mpi/ompi 11751).
 *
 * @param direction one of the two of sends
 */
int mca_coll_adapt_send_init(const mca_coll_adapt_data_t *message, mca_coll_adapt_direction_t direction, int peer,
                             int tag, ompi_communicator_t *comm, ompi_request_t **request);

/**
 * Starts a message with a callback.
 *
 * A callback that is set on a request under way may be lost, where another thread completes the request at that moment.
 * Therefore the request is made first, then given its callback, then started; the callback may run before this returns.
 *
 * A short one that nobody wants to be matched goes from a copy, where that is possible.
 *
 * @param callback frees the request, and returns 1; not called where an error is returned, or the message is done
 * @param done whether it is: sent from a copy
 * @returns as mca_coll_adapt_message_begun
 */
int mca_coll_adapt_message_start(const mca_coll_adapt_data_t *message, mca_coll_adapt_direction_t direction, int peer,
                                 int tag, ompi_communicator_t *comm, ompi_request_complete_fn_t callback, void *data,
                                 bool *done);

/**
 * How a message went. A rank on which one fails goes on, so that nobody waits for it in vain, but what it sends from
 * then on is empty: who gets it in place of data fails, too, and nobody takes wrong data for right ones.
 *
 * @param rc what the message's own functions say
 * @param bytes that were to come; 0: none, or a message that was sent
 */
static inline int mca_coll_adapt_message_result(int rc, const ompi_status_public_t *status, size_t bytes)
{
    return OMPI_SUCCESS == rc && 0 < bytes && 0 == status->_ucount ? OMPI_ERROR : rc;
}

/* -- coll_adapt_copies.c ------------------------------------------------------------------------------------------- */

/** Finds out which messages are sent from copies: in MPI_Init, when the pml is known. */
void mca_coll_adapt_copies_begin(void);

/** How a message would be sent if not from a copy. */
typedef enum {
    ADAPT_SENDER_CALL,       /**< by a call that blocks: MPI takes the shortest ones at once, and a copy is of no use */
    ADAPT_SENDER_PERSISTENT, /**< by such a call, as a persistent request: that MPI never takes at once */
    ADAPT_SENDER_EVENT       /**< by an event, likewise; the copies of messages that are through are not taken back */
} mca_coll_adapt_sender_t;

/**
 * Sends a short message to a rank of the same node from a copy: nobody has to wait for its receiver, and the message's
 * memory may be written to when this returns. Where many copies are under way it is not sent so.
 *
 * @param rc the first error so far, which stays; or becomes that of an earlier message that is found to be through, or
 * of this one
 * @returns whether it was sent so, even if that failed; if not, the message is to be sent in another way
 */
bool mca_coll_adapt_send_copy(const mca_coll_adapt_data_t *message, int peer, int tag, ompi_communicator_t *comm,
                              mca_coll_adapt_sender_t sender, int *rc);

/** Takes back the copies of messages that are through, which events cannot do. */
void mca_coll_adapt_copies_collect(void);

/** Waits for those that are under way on a communicator, which is about to end. */
void mca_coll_adapt_copies_wait(const ompi_communicator_t *comm);

/** Frees all memory of copies; when the component closes. None is under way. */
void mca_coll_adapt_copies_end(void);

/* -- coll_adapt_schedule.c ----------------------------------------------------------------------------------------- */

struct mca_coll_adapt_event_module_t;

/**
 * Performs a schedule, and frees it then; also where it returns an error. Collective over the communicator. Of any two
 * ranks, the messages between them in one part are in one order on both.
 *
 * @param module of the schedule's communicator
 * @param request of the forms that do not block
 */
int mca_coll_adapt_perform(struct mca_coll_adapt_event_module_t *module, mca_coll_adapt_schedule_t *schedule,
                           mca_coll_adapt_form_t form, ompi_request_t **request);

/* -- coll_adapt_module.c ------------------------------------------------------------------------------------------- */

/** Name of the module's class: whoever has a module of a component "adapt" knows by it that it is this one. */
#define MCA_COLL_ADAPT_CLASS "mca_coll_adapt_event_module_t"

/** A module; beside the MPI functions it has those that take tree and segment size as arguments. */
typedef struct mca_coll_adapt_event_module_t {
    mca_coll_base_module_t super;
    mca_coll_adapt_tag_space_t tags; /**< of its communicator */
    /** mca_coll_adapt_call. */
    int (*call)(struct mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call,
                const mca_coll_adapt_how_t *how, mca_coll_adapt_form_t form, ompi_request_t **request);
    /** mca_coll_adapt_perform. */
    int (*perform)(struct mca_coll_adapt_event_module_t *module, mca_coll_adapt_schedule_t *schedule,
                   mca_coll_adapt_form_t form, ompi_request_t **request);
    /** Temporary memory of calls: mca_coll_adapt_memory. */
    const mca_coll_adapt_memory_t *memory;
    /** The trees, for who passes some of its own making: mca_coll_adapt_trees, mca_coll_adapt_tree_make, ... */
    const mca_coll_adapt_tree_row_t *trees;
    int (*tree_make)(mca_coll_adapt_tree_t *tree, mca_coll_adapt_tree_kind_t kind, int degree, int size, int root,
                     int rank);
    int (*tree_make_topology)(mca_coll_adapt_tree_t *tree, const mca_coll_adapt_tree_level_t *levels, int level_count,
                              int size, int root, int rank);
    void (*tree_free)(mca_coll_adapt_tree_t *tree);
} mca_coll_adapt_event_module_t;

OMPI_MODULE_DECLSPEC OBJ_CLASS_DECLARATION(mca_coll_adapt_event_module_t);

int mca_coll_adapt_init_query(bool enable_progress_threads, bool enable_mpi_threads);
mca_coll_base_module_t *mca_coll_adapt_comm_query(ompi_communicator_t *comm, int *priority);

/* -- coll_adapt_component.c ---------------------------------------------------------------------------------------- */

/** What the user can set for each collective; read anew in each call. */
typedef struct mca_coll_adapt_settings_t {
    int algorithm;
    int groups;
    int segment_size;
    int segments;
    int max_send_requests;
    int max_recv_requests;
} mca_coll_adapt_settings_t;

typedef struct mca_coll_adapt_component_t {
    mca_coll_base_component_2_0_0_t super;
    int priority;
    int verbose;
    int output;
    mca_coll_adapt_settings_t settings[ADAPT_COLLECTIVE_COUNT];
} mca_coll_adapt_component_t;

OMPI_MODULE_DECLSPEC extern mca_coll_adapt_component_t mca_coll_adapt_component;

/** The collectives' names, as in names of parameters. */
extern const char *const mca_coll_adapt_collective_names[ADAPT_COLLECTIVE_COUNT];

/* -- coll_adapt_op.c: the operation -------------------------------------------------------------------------------- */

/** One collective operation: the user's request, the core, and the data. */
typedef struct mca_coll_adapt_op_t {
    ompi_coll_base_nbc_request_t super;
    struct mca_coll_adapt_op_t *first; /**< of several that make one collective: the one with the user's request */
    struct mca_coll_adapt_op_t *next;  /**< of several: the next one */
    mca_coll_adapt_tags_t tags;        /**< in the first one: one for each */
    _Atomic int pending;               /**< in the first one: how many are not over */
    _Atomic int rc;                    /**< in the first one: the first error of any */
    mca_coll_adapt_core_t core;
    bool core_made;
    bool packed; /**< the message passes through packing, segment by segment, or as a whole where it is aside */
    ompi_communicator_t *comm;
    int tag; /**< of both halves: in a tree, what one rank sends to another is of one half */
    /* The message: packed bytes (bcast) or elements (reductions). */
    const void *sbuf;
    void *rbuf;
    size_t count;          /**< units of the message */
    size_t segment_count;  /**< units of a segment */
    ptrdiff_t extent;      /**< from one unit to the next, 1 for bytes */
    ompi_datatype_t *unit; /**< what is sent: MPI_BYTE or the user's type */
    ompi_datatype_t *datatype;
    ompi_op_t *op;
    /* Memory of segments under way, where the user's buffers do not serve. */
    char *slots;
    coll_room_t slot;
    size_t stash; /**< first of a window of slots for own contributions; 0: there is none */
    /* A result that waits until the whole collective is over; of a broadcast in blocks, in the first one, the message. */
    char *aside;        /**< its memory, to which rbuf leads; NULL: it is where it belongs */
    size_t aside_bytes; /**< of a message that is packed there */
    void *result;       /**< where it belongs */
    coll_packing_t packing;
} mca_coll_adapt_op_t;

OBJ_CLASS_DECLARATION(mca_coll_adapt_op_t);

/** Makes an operation of a call, and does it in any form. */
int mca_coll_adapt_op_call(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call,
                           const mca_coll_adapt_how_t *how, mca_coll_adapt_form_t form, ompi_request_t **request);

/**
 * What the constructors of requests have in common. All are of Open MPI's class of nonblocking collectives: MPI_Ibcast
 * and the others write into such a request that they hold the types and the operation.
 */
void mca_coll_adapt_request_construct(ompi_request_t *request);

/**
 * A request that begins, or begins anew: from here on the user may wait for it.
 *
 * @returns false where it is under way, and nothing has been done: MPI_Start does not look
 */
static inline bool mca_coll_adapt_request_activate(ompi_request_t *request)
{
    if (OMPI_REQUEST_ACTIVE == request->req_state) {
        return false;
    }
    mca_coll_adapt_copies_collect();
    request->req_complete = REQUEST_PENDING;
    request->req_state = OMPI_REQUEST_ACTIVE;
    request->req_status.MPI_ERROR = OMPI_SUCCESS;
    return true;
}

/**
 * Does a call that has been made, in the form for which its tags were taken.
 *
 * @param own its request; waited for where the call blocks
 * @param request where the user has it, of the forms that do not block
 */
int mca_coll_adapt_request_run(ompi_request_t *own, mca_coll_adapt_tags_t *tags, mca_coll_adapt_tag_space_t *space,
                               void (*begin)(mca_coll_adapt_tags_t *tags), ompi_request_t **request);

/**
 * Completes a request of ADAPT's, gives the tags of a nonblocking call back, and wakes who waits for it.
 *
 * ompi_request_complete() looks at the request's status once more when it is complete already. A thread that waits for
 * several requests may have been woken by another one by then, and have freed this one. Open MPI's own requests go to a
 * free list and stay readable; ADAPT's do not.
 */
void mca_coll_adapt_request_complete(ompi_request_t *request, mca_coll_adapt_tags_t *tags, int rc);

/* -- coll_adapt_doubling.c ----------------------------------------------------------------------------------------- */

/** An allreduce by recursive doubling. */
int mca_coll_adapt_doubling(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call,
                            mca_coll_adapt_form_t form, ompi_request_t **request);

/* -- coll_adapt_single.c ------------------------------------------------------------------------------------------- */

/** Runs an operation of one segment that is not started, without events. */
int mca_coll_adapt_single_run(mca_coll_adapt_op_t *op);

/**
 * A message, sent or received while the caller waits.
 *
 * @param rc how the call has gone so far
 * @returns rc, or the first error
 */
int mca_coll_adapt_send(const mca_coll_adapt_data_t *message, int peer, int tag, ompi_communicator_t *comm, int rc);
int mca_coll_adapt_recv(const mca_coll_adapt_data_t *message, int peer, int tag, ompi_communicator_t *comm, int rc);

/* -- coll_adapt_collectives.c: the MPI functions ------------------------------------------------------------------- */

/**
 * Does a collective as the caller says, in any form; but in rank order where the operation wants it: trees that the
 * caller has made are taken as they are.
 */
int mca_coll_adapt_call(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call,
                        const mca_coll_adapt_how_t *how, mca_coll_adapt_form_t form, ompi_request_t **request);

int mca_coll_adapt_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                         mca_coll_base_module_t *module);
int mca_coll_adapt_ibcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                          ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_adapt_bcast_init(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                              struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_adapt_reduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                          ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_adapt_ireduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                           ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_adapt_reduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                               int root, ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                               mca_coll_base_module_t *module);
int mca_coll_adapt_allreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                             ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_adapt_iallreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                              ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_adapt_allreduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                                  ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                  mca_coll_base_module_t *module);
int mca_coll_adapt_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_adapt_ibarrier(ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_adapt_barrier_init(ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module);

#endif
