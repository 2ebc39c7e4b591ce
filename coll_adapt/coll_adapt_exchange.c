/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Independent messages, to and from any ranks: an alltoall, a gather, a scatter. They start in the order of their list,
 * a window of them at once; when any is through, the next one starts. Nothing waits for all.
 *
 * Events are recorded, as in coll_adapt_core.c: the thread that finds nobody in advance() goes in and stays until there
 * is no event that it has not seen.
 */
#include "coll_adapt.h"

#include <stdlib.h>
#include <string.h>

/* Sends, or receives. */
struct lane {
    mca_coll_adapt_message_t *messages;
    int count;
    int window;
    int started;
    int done; /* guarded by the lock */
};

typedef struct exchange_t {
    ompi_coll_base_nbc_request_t super;
    ompi_communicator_t *comm;
    int tag;
    struct lane lanes[2]; /* of sends, of receives */
    pthread_mutex_t lock;
    bool advancing;
    bool news; /* something is done since advance() looked */
    int rc;    /* the first error */
} exchange_t;

static void exchange_construct(exchange_t *self);
static void exchange_destruct(exchange_t *self);

static OBJ_CLASS_INSTANCE(exchange_t, ompi_coll_base_nbc_request_t, exchange_construct, exchange_destruct);

enum { SENDS, RECVS };

/* -- events -- */

static void advance(exchange_t *self);

static void event(exchange_t *self, int which, int rc)
{
    bool others;

    pthread_mutex_lock(&self->lock);
    ++self->lanes[which].done;
    if (OMPI_SUCCESS != rc && OMPI_SUCCESS == self->rc) {
        self->rc = rc;
    }
    self->news = true;
    others = self->advancing;
    self->advancing = true;
    pthread_mutex_unlock(&self->lock);
    if (!others) {
        advance(self);
    }
}

static int complete(ompi_request_t *request, int which)
{
    exchange_t *self = request->req_complete_cb_data;
    const int rc = request->req_status.MPI_ERROR;

    ompi_request_free(&request);
    event(self, which, rc);
    return 1; /* the request is gone */
}

static int send_complete(ompi_request_t *request)
{
    return complete(request, SENDS);
}

static int recv_complete(ompi_request_t *request)
{
    return complete(request, RECVS);
}

/* How many of a lane may have been started: none more after an error. */
static int limit(const exchange_t *self, const struct lane *lane, int done)
{
    if (OMPI_SUCCESS != self->rc) {
        return lane->started;
    }
    return done + lane->window < lane->count ? done + lane->window : lane->count;
}

static bool over(const exchange_t *self)
{
    for (int which = SENDS; which <= RECVS; ++which) {
        const struct lane *lane = &self->lanes[which];

        if (lane->done < lane->started || (OMPI_SUCCESS == self->rc && lane->done < lane->count)) {
            return false;
        }
    }
    return true;
}

/* Called by the one thread that has set advancing. */
static void advance(exchange_t *self)
{
    for (;;) {
        int limits[2];
        bool ends;

        pthread_mutex_lock(&self->lock);
        ends = over(self);
        self->advancing = self->news;
        for (int which = SENDS; which <= RECVS; ++which) {
            limits[which] = limit(self, &self->lanes[which], self->lanes[which].done);
        }
        if (!ends && !self->news) {
            pthread_mutex_unlock(&self->lock);
            return;
        }
        self->news = false;
        pthread_mutex_unlock(&self->lock);
        if (ends) {
            /* Nothing is under way: nobody else looks at it, and with this call it may be gone. */
            self->super.super.req_status.MPI_ERROR = self->rc;
            ompi_request_complete(&self->super.super, true);
            return;
        }
        /* Receives first: so that messages find them. */
        for (int which = RECVS; which >= SENDS; --which) {
            struct lane *lane = &self->lanes[which];

            while (lane->started < limits[which]) {
                const int rc
                    = mca_coll_adapt_message_start(&lane->messages[lane->started++], SENDS == which, self->tag,
                                                   self->comm, SENDS == which ? send_complete : recv_complete, self);

                if (OMPI_SUCCESS != rc) {
                    event(self, which, rc);
                    break;
                }
            }
        }
    }
}

/* -- the request -- */

static void exchange_start(exchange_t *self)
{
    self->super.super.req_complete = REQUEST_PENDING;
    self->super.super.req_state = OMPI_REQUEST_ACTIVE;
    self->rc = OMPI_SUCCESS;
    for (int which = SENDS; which <= RECVS; ++which) {
        self->lanes[which].started = self->lanes[which].done = 0;
    }
    self->advancing = self->news = true;
    advance(self);
}

static int request_start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        exchange_start((exchange_t *) requests[i]);
    }
    return OMPI_SUCCESS;
}

static void exchange_construct(exchange_t *self)
{
    memset((char *) self + sizeof(self->super), 0, sizeof(*self) - sizeof(self->super));
    mca_coll_adapt_request_construct(&self->super.super);
    self->super.super.req_start = request_start;
    pthread_mutex_init(&self->lock, NULL);
}

static void exchange_destruct(exchange_t *self)
{
    OMPI_REQUEST_FINI(&self->super.super);
    for (int which = SENDS; which <= RECVS; ++which) {
        for (int i = 0; NULL != self->lanes[which].messages && i < self->lanes[which].count; ++i) {
            OBJ_RELEASE(self->lanes[which].messages[i].datatype);
        }
        free(self->lanes[which].messages);
    }
    OBJ_RELEASE(self->comm);
    pthread_mutex_destroy(&self->lock);
}

static int fill(struct lane *lane, const mca_coll_adapt_message_t *messages, int count, int window)
{
    lane->window = window;
    lane->count = count;
    lane->messages = malloc((size_t) (0 == count ? 1 : count) * sizeof(*messages));
    if (NULL == lane->messages) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    memcpy(lane->messages, messages, (size_t) count * sizeof(*messages));
    for (int i = 0; i < count; ++i) {
        OBJ_RETAIN(messages[i].datatype);
    }
    return OMPI_SUCCESS;
}

int mca_coll_adapt_exchange(const mca_coll_adapt_exchange_t *what, bool persistent, ompi_request_t **request)
{
    exchange_t *self = OBJ_NEW(exchange_t);
    int rc;

    if (NULL == self) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    OMPI_REQUEST_INIT(&self->super.super, persistent);
    self->super.super.req_mpi_object.comm = self->comm = what->comm;
    OBJ_RETAIN(self->comm);
    self->tag = ompi_coll_base_nbc_reserve_tags(what->comm, 1);
    rc = fill(&self->lanes[SENDS], what->sends, what->send_count, what->send_window);
    if (OMPI_SUCCESS == rc) {
        rc = fill(&self->lanes[RECVS], what->recvs, what->recv_count, what->recv_window);
    }
    if (OMPI_SUCCESS != rc) {
        OBJ_RELEASE(self);
        return rc;
    }
    if (!persistent) {
        exchange_start(self);
    }
    *request = &self->super.super;
    return OMPI_SUCCESS;
}
