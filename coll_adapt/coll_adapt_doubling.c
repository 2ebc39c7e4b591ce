/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by recursive doubling: in each round a rank exchanges what it has with a partner at twice the distance, and
 * both combine; after log2(n) rounds all have all. It moves the whole message in each round, and so is for short ones.
 *
 * Of n ranks that are no power of two the first pairs (0 1) (2 3) ... become one participant each: the even rank hands
 * its part to the odd one, which takes part and in the end hands back the result. Partners hold neighbouring intervals
 * of ranks, so that rank order is kept; both combine the same two operands, so that all results are equal.
 */
#include "coll_adapt.h"

#include <stdlib.h>
#include <string.h>

/* What is done with what has been received. */
enum combine {
    NOTHING, /* only sent */
    TAKE,    /* it is the result */
    LEFT,    /* it comes from lower ranks */
    RIGHT    /* it comes from higher ranks */
};

/* To and from one peer. */
struct round {
    int peer;
    bool sends;
    enum combine combine;
};

/* Ranks are ints: 31 doublings, one round before and one after. */
enum { MOST_ROUNDS = 33 };

typedef struct doubling_t {
    ompi_coll_base_nbc_request_t super;
    mca_coll_adapt_call_t call;
    int tag;
    struct round rounds[MOST_ROUNDS];
    int round_count;
    int round;               /* the one under way */
    volatile int32_t active; /* its transfers under way, and one for who starts them */
    int rc;
    char *memory;
    void *in; /* in memory, where a lower bound wants it */
} doubling_t;

static void doubling_construct(doubling_t *self);
static void doubling_destruct(doubling_t *self);

static OBJ_CLASS_INSTANCE(doubling_t, ompi_coll_base_nbc_request_t, doubling_construct, doubling_destruct);

/* -- the rounds -- */

static void add(doubling_t *self, int peer, bool sends, enum combine combine)
{
    self->rounds[self->round_count++] = (struct round){ peer, sends, combine };
}

static void plan(doubling_t *self)
{
    const int size = ompi_comm_size(self->call.comm), rank = ompi_comm_rank(self->call.comm);
    int participants = 1, pairs, place;

    while (participants <= size / 2) {
        participants *= 2;
    }
    pairs = size - participants;
    if (rank < 2 * pairs && 0 == rank % 2) {
        add(self, rank + 1, true, NOTHING);
        add(self, rank + 1, false, TAKE);
        return;
    }
    if (rank < 2 * pairs) {
        add(self, rank - 1, false, LEFT);
    }
    place = rank < 2 * pairs ? rank / 2 : rank - pairs;
    for (int distance = 1; distance < participants; distance *= 2) {
        const int other = place ^ distance;

        add(self, other < pairs ? 2 * other + 1 : other + pairs, true, other < place ? LEFT : RIGHT);
    }
    if (rank < 2 * pairs) {
        add(self, rank - 1, true, NOTHING);
    }
}

static int copy(const doubling_t *self, void *target, const void *source)
{
    return 0 > ompi_datatype_copy_content_same_ddt(self->call.datatype, (int32_t) self->call.count, target,
                                                   (char *) source)
               ? OMPI_ERROR
               : OMPI_SUCCESS;
}

static int combine(doubling_t *self, enum combine how)
{
    void *result = self->call.rbuf;

    switch (how) {
    case LEFT:
        ompi_op_reduce(self->call.op, self->in, result, self->call.count, self->call.datatype);
        return OMPI_SUCCESS;
    case RIGHT:
        ompi_op_reduce(self->call.op, result, self->in, self->call.count, self->call.datatype);
        return copy(self, result, self->in);
    case TAKE:
        return copy(self, result, self->in);
    default:
        return OMPI_SUCCESS;
    }
}

/* -- events -- */

static void advance(doubling_t *self);

static void done(doubling_t *self)
{
    if (0 == OPAL_THREAD_ADD_FETCH32(&self->active, -1)) {
        advance(self);
    }
}

static int transfer_complete(ompi_request_t *request)
{
    doubling_t *self = request->req_complete_cb_data;

    if (OMPI_SUCCESS != request->req_status.MPI_ERROR) {
        self->rc = request->req_status.MPI_ERROR;
    }
    ompi_request_free(&request);
    done(self);
    return 1; /* the request is gone */
}

static void start(doubling_t *self, bool send, int peer)
{
    const mca_coll_adapt_call_t *call = &self->call;
    const mca_coll_adapt_message_t message
        = { .buffer = send ? call->rbuf : self->in, .count = call->count, .datatype = call->datatype, .peer = peer };
    int rc;

    OPAL_THREAD_ADD_FETCH32(&self->active, 1);
    rc = mca_coll_adapt_message_start(&message, send, self->tag, call->comm, transfer_complete, self);
    if (OMPI_SUCCESS != rc) {
        OPAL_THREAD_ADD_FETCH32(&self->active, -1);
        self->rc = rc;
    }
}

/*
 * One round after the other. The one that takes the last of `active` goes on; while transfers are being started that is
 * nobody else, so that a transfer which completes at once does not nest.
 */
static void advance(doubling_t *self)
{
    do {
        const struct round *round = &self->rounds[self->round];

        if (-1 != self->round && OMPI_SUCCESS == self->rc) {
            self->rc = combine(self, round->combine);
        }
        ++self->round;
        if (OMPI_SUCCESS != self->rc || self->round == self->round_count) {
            self->super.super.req_status.MPI_ERROR = self->rc;
            ompi_request_complete(&self->super.super, true);
            return;
        }
        round = &self->rounds[self->round];
        self->active = 1;
        if (NOTHING != round->combine) {
            start(self, false, round->peer);
        }
        if (round->sends) {
            start(self, true, round->peer);
        }
    } while (0 == OPAL_THREAD_ADD_FETCH32(&self->active, -1));
}

/* -- the request -- */

static void doubling_start(doubling_t *self)
{
    self->super.super.req_complete = REQUEST_PENDING;
    self->super.super.req_state = OMPI_REQUEST_ACTIVE;
    self->round = -1;
    self->rc = MPI_IN_PLACE == self->call.sbuf ? OMPI_SUCCESS : copy(self, self->call.rbuf, self->call.sbuf);
    advance(self);
}

static int request_start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        doubling_start((doubling_t *) requests[i]);
    }
    return OMPI_SUCCESS;
}

static void doubling_construct(doubling_t *self)
{
    memset((char *) self + sizeof(self->super), 0, sizeof(*self) - sizeof(self->super));
    mca_coll_adapt_request_construct(&self->super.super);
    self->super.super.req_start = request_start;
}

static void doubling_destruct(doubling_t *self)
{
    OMPI_REQUEST_FINI(&self->super.super);
    free(self->memory);
    OBJ_RELEASE(self->call.datatype);
    OBJ_RELEASE(self->call.op);
    OBJ_RELEASE(self->call.comm);
}

int mca_coll_adapt_doubling_make(const mca_coll_adapt_call_t *call, bool persistent, ompi_request_t **request)
{
    doubling_t *self = OBJ_NEW(doubling_t);
    ptrdiff_t gap, span;

    if (NULL == self) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    OMPI_REQUEST_INIT(&self->super.super, persistent);
    self->super.super.req_mpi_object.comm = call->comm;
    self->call = *call;
    self->tag = ompi_coll_base_nbc_reserve_tags(call->comm, 1);
    OBJ_RETAIN(call->datatype);
    OBJ_RETAIN(call->op);
    OBJ_RETAIN(call->comm);
    plan(self);
    span = opal_datatype_span(&call->datatype->super, call->count, &gap);
    self->memory = malloc(0 == span ? 1 : (size_t) span);
    if (NULL == self->memory) {
        OBJ_RELEASE(self);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    self->in = self->memory - gap;
    if (!persistent) {
        doubling_start(self);
    }
    *request = &self->super.super;
    return OMPI_SUCCESS;
}
