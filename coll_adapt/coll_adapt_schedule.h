/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A schedule: what one rank does in a collective, written down before it is done. Messages of one round start together;
 * when all are through, the round's local actions are done in their order; then the next round begins. Rounds may be
 * grouped into parts, which know nothing of each other: the segments of a long message.
 *
 * Whoever makes a schedule fills it with the functions below; errors are remembered, and come out when it is performed.
 */
#ifndef MCA_COLL_ADAPT_SCHEDULE_H
#define MCA_COLL_ADAPT_SCHEDULE_H

#include "ompi_config.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "coll_adapt_memory.h"

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/op/op.h"

/** So many elements of a type, from here on. */
typedef struct mca_coll_adapt_data_t {
    void *buffer;
    size_t count;
    ompi_datatype_t *datatype;
} mca_coll_adapt_data_t;

/** Packed bytes of it. */
static inline size_t mca_coll_adapt_data_bytes(const mca_coll_adapt_data_t *data)
{
    return data->count * data->datatype->super.size;
}

/** Packed bytes. */
static inline mca_coll_adapt_data_t mca_coll_adapt_packed(void *bytes, size_t count)
{
    return (mca_coll_adapt_data_t){ .buffer = bytes, .count = count, .datatype = MPI_PACKED };
}

/** What an action is. */
typedef enum {
    ADAPT_SEND,    /**< `from` goes to the peer */
    ADAPT_RECV,    /**< `to` comes from the peer, or less, but not nothing */
    ADAPT_COPY,    /**< `from` is copied to `to`; the types may differ, the signatures not */
    ADAPT_COMBINE, /**< to = from op to: `from` holds the lower ranks' part */
    ADAPT_CALL,    /**< a function of who made the schedule is called */
    ADAPT_ROUND,   /**< a round ends */
    ADAPT_PART     /**< a part ends, and with it its last round */
} mca_coll_adapt_action_kind_t;

typedef struct mca_coll_adapt_action_t {
    mca_coll_adapt_action_kind_t kind;
    int peer;
    mca_coll_adapt_data_t from, to;
    const size_t *bytes; /**< read at its turn, of packed data; 0: there is nothing to do. NULL: the data tell */
    int (*call)(void *context, int rc);
    void *context; /**< of `call` */
    void *flow;    /**< the engine's, while it is under way */
} mca_coll_adapt_action_t;

/** A piece of memory is behind it. */
typedef union mca_coll_adapt_chunk_t {
    union mca_coll_adapt_chunk_t *next;
    max_align_t alignment;
} mca_coll_adapt_chunk_t;

typedef struct mca_coll_adapt_schedule_t {
    ompi_communicator_t *comm;
    ompi_op_t *op;                    /**< of ADAPT_COMBINE; NULL: there is none */
    int windows[2];                   /**< most sends, receives of a part under way at once; 0: all of a round */
    size_t buffered;                  /**< bytes; with a window, longer ones are under way until they are received */
    int parts_at_once;                /**< the same on all ranks */
    mca_coll_adapt_action_t *actions; /**< ends with ADAPT_PART */
    int count, capacity;
    const mca_coll_adapt_memory_t *memory; /**< where it has its memory from */
    mca_coll_adapt_chunk_t *chunks;        /**< of it, given back with the schedule */
    int rc;                                /**< the first error while it was filled */
} mca_coll_adapt_schedule_t;

/** Begins a schedule; to be performed, which also frees it. */
static inline mca_coll_adapt_schedule_t mca_coll_adapt_schedule_begin(const mca_coll_adapt_memory_t *memory,
                                                                      ompi_communicator_t *comm, ompi_op_t *op)
{
    return (
        mca_coll_adapt_schedule_t){ .comm = comm, .op = op, .parts_at_once = 1, .memory = memory, .rc = OMPI_SUCCESS };
}

/** Memory that lives as long as the schedule. NULL where there is none: then the schedule will not be performed. */
static inline char *mca_coll_adapt_schedule_memory(mca_coll_adapt_schedule_t *schedule, size_t bytes)
{
    mca_coll_adapt_chunk_t *chunk
        = SIZE_MAX - sizeof(*chunk) < bytes ? NULL : schedule->memory->take(sizeof(*chunk) + bytes);

    if (NULL == chunk) {
        schedule->rc = OMPI_ERR_OUT_OF_RESOURCE;
        return NULL;
    }
    chunk->next = schedule->chunks;
    schedule->chunks = chunk;
    return (char *) (chunk + 1);
}

static inline void mca_coll_adapt_schedule_add(mca_coll_adapt_schedule_t *schedule,
                                               const mca_coll_adapt_action_t *action)
{
    if (schedule->count == schedule->capacity) {
        /* So few at first that short schedules have memory which an allocator keeps for each thread. */
        const int capacity = 0 == schedule->capacity ? 8 : 2 * schedule->capacity;
        mca_coll_adapt_action_t *grown = realloc(schedule->actions, (size_t) capacity * sizeof(*grown));

        if (NULL == grown) {
            schedule->rc = OMPI_ERR_OUT_OF_RESOURCE;
            return;
        }
        schedule->actions = grown;
        schedule->capacity = capacity;
    }
    schedule->actions[schedule->count++] = *action;
}

/**
 * A message that goes to the peer (ADAPT_SEND), or comes from it (ADAPT_RECV).
 *
 * @param bytes NULL, or read when its round begins, for an earlier one tells whether there is a message, and how long a
 *              packed one is, whose `count` does not count; 0: there is none
 */
static inline void mca_coll_adapt_schedule_message(mca_coll_adapt_schedule_t *schedule,
                                                   mca_coll_adapt_action_kind_t kind, mca_coll_adapt_data_t data,
                                                   int peer, const size_t *bytes)
{
    mca_coll_adapt_action_t action = { .kind = kind, .peer = peer, .bytes = bytes };

    *(ADAPT_SEND == kind ? &action.from : &action.to) = data;
    mca_coll_adapt_schedule_add(schedule, &action);
}

static inline void mca_coll_adapt_schedule_send(mca_coll_adapt_schedule_t *schedule, mca_coll_adapt_data_t from,
                                                int peer)
{
    mca_coll_adapt_schedule_message(schedule, ADAPT_SEND, from, peer, NULL);
}

static inline void mca_coll_adapt_schedule_recv(mca_coll_adapt_schedule_t *schedule, mca_coll_adapt_data_t to, int peer)
{
    mca_coll_adapt_schedule_message(schedule, ADAPT_RECV, to, peer, NULL);
}

/**
 * A function that is called among the local actions of a round: also after an error, for what it finds out others may
 * wait for. It gets the first error, or OMPI_SUCCESS, and returns that, or the first one.
 */
static inline void mca_coll_adapt_schedule_call(mca_coll_adapt_schedule_t *schedule, int (*call)(void *context, int rc),
                                                void *context)
{
    mca_coll_adapt_schedule_add(schedule,
                                &(mca_coll_adapt_action_t){ .kind = ADAPT_CALL, .call = call, .context = context });
}

static inline void mca_coll_adapt_schedule_copy(mca_coll_adapt_schedule_t *schedule, mca_coll_adapt_data_t from,
                                                mca_coll_adapt_data_t to)
{
    mca_coll_adapt_schedule_add(schedule, &(mca_coll_adapt_action_t){ .kind = ADAPT_COPY, .from = from, .to = to });
}

/** The same of as many packed bytes as are known when it is its turn; `count` of `from` does not count. */
static inline void mca_coll_adapt_schedule_copy_found(mca_coll_adapt_schedule_t *schedule, mca_coll_adapt_data_t from,
                                                      mca_coll_adapt_data_t to, const size_t *bytes)
{
    mca_coll_adapt_schedule_add(
        schedule, &(mca_coll_adapt_action_t){ .kind = ADAPT_COPY, .from = from, .to = to, .bytes = bytes });
}

static inline void mca_coll_adapt_schedule_combine(mca_coll_adapt_schedule_t *schedule, mca_coll_adapt_data_t from,
                                                   mca_coll_adapt_data_t to)
{
    mca_coll_adapt_schedule_add(schedule, &(mca_coll_adapt_action_t){ .kind = ADAPT_COMBINE, .from = from, .to = to });
}

/** Ends a round (ADAPT_ROUND), or a part with its last round (ADAPT_PART). */
static inline void mca_coll_adapt_schedule_end(mca_coll_adapt_schedule_t *schedule, mca_coll_adapt_action_kind_t what)
{
    mca_coll_adapt_schedule_add(schedule, &(mca_coll_adapt_action_t){ .kind = what });
}

#endif
