/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules are performed: without events, where a call blocks and all messages of a round may be under way at once;
 * otherwise each completion starts what may start now. Parts wait for nothing but their own messages, and a message for
 * nothing but a place in its window.
 *
 * After an error all rounds go on, without local actions but calls, and what is sent is empty:
 * mca_coll_adapt_message_result().
 *
 * Events are recorded, as in coll_adapt_core.c: the thread that finds nobody in advance() goes in and stays until there
 * is no event that it has not seen.
 */
#include "coll_adapt.h"

#include <string.h>

#include "common/coll_wait.h"

enum { SENDS, RECVS };

typedef mca_coll_adapt_action_t *position;

/* Sends, or receives, of the round that a part is in. */
struct flow {
    struct performance *performance;
    position next; /* looked at next, in search of a message */
    int started;
    int done; /* guarded by the lock */
    int seen; /* done, as advance() has seen it */
};

/* A part under way. When it is over, the part that comes parts_at_once later takes its place, on all ranks alike. */
struct place {
    position round; /* first action of the round; NULL: no part is left */
    position next;  /* part */
    int tag;
    struct flow flows[2];
};

typedef struct performance {
    ompi_coll_base_nbc_request_t super;
    mca_coll_adapt_schedule_t schedule;
    mca_coll_adapt_tags_t tags; /* one for each of parts_at_once */
    struct place *places;
    pthread_mutex_t lock;
    bool advancing;
    bool news; /* something is done since advance() looked */
    int rc;    /* the first error */
} performance_t;

static void performance_construct(performance_t *self);
static void performance_destruct(performance_t *self);

static OBJ_CLASS_INSTANCE(performance_t, ompi_coll_base_nbc_request_t, performance_construct, performance_destruct);

/* -- actions -- */

static bool ends_round(position action)
{
    return ADAPT_ROUND == action->kind || ADAPT_PART == action->kind;
}

static position end_of_schedule(const mca_coll_adapt_schedule_t *schedule)
{
    return schedule->actions + schedule->count;
}

/* So many parts behind the one that begins here, or the end of the schedule. */
static position skip_parts(const mca_coll_adapt_schedule_t *schedule, position action, int parts)
{
    while (0 < parts && action < end_of_schedule(schedule)) {
        parts -= ADAPT_PART == action->kind ? 1 : 0;
        ++action;
    }
    return action;
}

/* Now it is its turn. */
static bool is_there(position action)
{
    return NULL == action->bytes || 0 < *action->bytes;
}

/* As long as they are then. */
static mca_coll_adapt_data_t data_of(position action, const mca_coll_adapt_data_t *data)
{
    mca_coll_adapt_data_t known = *data;

    if (NULL != action->bytes && MPI_PACKED == known.datatype) {
        known.count = *action->bytes;
    }
    return known;
}

/* Packed bytes may be more than an int counts. */
static int copy(position action)
{
    const mca_coll_adapt_data_t known = data_of(action, &action->from), *from = &known, *to = &action->to;
    const bool packs = MPI_PACKED == to->datatype, unpacks = MPI_PACKED == from->datatype;
    const mca_coll_adapt_data_t *typed = packs ? from : to;
    coll_packing_t packing;
    int rc;

    if (packs && unpacks) {
        memcpy(to->buffer, from->buffer, from->count);
        return OMPI_SUCCESS;
    }
    if (!packs && !unpacks) {
        return ompi_datatype_sndrcv(from->buffer, (int32_t) from->count, from->datatype, to->buffer,
                                    (int32_t) to->count, to->datatype);
    }
    if (0 == mca_coll_adapt_data_bytes(typed)) {
        return OMPI_SUCCESS;
    }
    rc = coll_packing_open(&packing, typed->datatype, typed->count, typed->buffer, packs);
    if (OMPI_SUCCESS == rc) {
        rc = packs ? coll_packing_pack(&packing, to->buffer, to->count)
                   : coll_packing_unpack(&packing, from->buffer, from->count);
        coll_packing_close(&packing);
    }
    return rc;
}

/* The local actions of the round that begins here. Returns rc, or the first error. */
static int act(const mca_coll_adapt_schedule_t *schedule, position action, int rc)
{
    for (; !ends_round(action); ++action) {
        if (ADAPT_CALL == action->kind) {
            rc = action->call(action->context, rc);
        } else if (OMPI_SUCCESS == rc && ADAPT_COPY == action->kind && is_there(action)) {
            rc = copy(action);
        } else if (OMPI_SUCCESS == rc && ADAPT_COMBINE == action->kind) {
            ompi_op_reduce(schedule->op, action->from.buffer, action->to.buffer, action->to.count, action->to.datatype);
        }
    }
    return rc;
}

/* -- without events -- */

static bool may_be_message(position action)
{
    return ADAPT_SEND == action->kind || ADAPT_RECV == action->kind;
}

/* In the round that has begun. */
static bool is_message(position action, mca_coll_adapt_action_kind_t kind)
{
    return kind == action->kind && is_there(action);
}

/* The message, as it is sent or received. */
static mca_coll_adapt_data_t message_of(position action, bool failed)
{
    mca_coll_adapt_data_t data = data_of(action, ADAPT_SEND == action->kind ? &action->from : &action->to);

    if (failed && ADAPT_SEND == action->kind) {
        data.count = 0;
    }
    return data;
}

/* How it went. */
static int result_of(position action, int rc, const ompi_status_public_t *status)
{
    const mca_coll_adapt_data_t data = message_of(action, false);

    return mca_coll_adapt_message_result(rc, status, ADAPT_RECV == action->kind ? mca_coll_adapt_data_bytes(&data) : 0);
}

/*
 * Many sends are begun as persistent ones are, which leaves out the short cut of an isend: by itself a message is
 * through earlier with it, but an alltoallv of 16 ranks, with 15 at once, takes 5 % longer. Not where a rank only
 * sends: with the short cut short messages are gone at once. Else it has to wait for them, and where ranks share a core
 * it gives that away.
 */
enum { MANY = 8 };

static int start(position action, const mca_coll_adapt_data_t *data, bool many, int tag, ompi_communicator_t *comm,
                 ompi_request_t **request)
{
    int rc;

    if (ADAPT_RECV == action->kind) {
        rc = MCA_PML_CALL(irecv(data->buffer, data->count, data->datatype, action->peer, tag, comm, request));
    } else if (!many) {
        rc = MCA_PML_CALL(isend(data->buffer, data->count, data->datatype, action->peer, tag,
                                MCA_PML_BASE_SEND_STANDARD, comm, request));
    } else {
        rc = mca_coll_adapt_send_init(data, ADAPT_SEND_BUFFERED, action->peer, tag, comm, request);
        if (OMPI_SUCCESS == rc) {
            rc = MCA_PML_CALL(start(1, request));
            if (OMPI_SUCCESS != rc) {
                ompi_request_free(request);
            }
        }
    }
    return mca_coll_adapt_message_begun(rc, action->peer, comm);
}

/* Messages of a round, with the requests of those that have been started. Few of them need no memory of their own. */
enum { FEW = 8 };

struct messages {
    ompi_request_t **requests; /* one block of memory with the other array */
    position *actions;
    int count;
    ompi_request_t *few_requests[FEW];
    position few_actions[FEW];
};

static bool messages_make(struct messages *messages, int most)
{
    const size_t room = (size_t) most;

    if (FEW >= most) {
        messages->requests = messages->few_requests;
        messages->actions = messages->few_actions;
        return true;
    }
    messages->requests = malloc(room * (sizeof(*messages->requests) + sizeof(*messages->actions)));
    if (NULL == messages->requests) {
        return false;
    }
    messages->actions = (void *) (messages->requests + room);
    return true;
}

static void messages_free(struct messages *messages)
{
    if (messages->few_requests != messages->requests) {
        free(messages->requests);
    }
}

/*
 * Waits for each. Not for all at once: with threads ompi_request_wait_all() never returns where one has failed before
 * it is called (Open MPI 4.1.4). Returns the first error: rc, or that of a message.
 */
static int messages_wait(struct messages *messages, int rc)
{
    for (int i = 0; i < messages->count; ++i) {
        ompi_status_public_t status;
        const int own = coll_wait(&messages->requests[i], &status);

        rc = OMPI_SUCCESS == rc ? result_of(messages->actions[i], own, &status) : rc;
    }
    return rc;
}

static int count_of(position round, mca_coll_adapt_action_kind_t kind)
{
    int count = 0;

    for (; !ends_round(round); ++round) {
        count += is_message(round, kind) ? 1 : 0;
    }
    return count;
}

/* The only message of a round, which needs no request of its own. */
static int lone_message(const mca_coll_adapt_schedule_t *schedule, position round, int tag, int rc)
{
    mca_coll_adapt_data_t data;

    while (!is_message(round, ADAPT_SEND) && !is_message(round, ADAPT_RECV)) {
        ++round;
    }
    data = message_of(round, OMPI_SUCCESS != rc);
    return (ADAPT_SEND == round->kind ? mca_coll_adapt_send : mca_coll_adapt_recv)(&data, round->peer, tag,
                                                                                   schedule->comm, rc);
}

/* The messages of a round: all are started, receives first, and then waited for. */
static int communicate(const mca_coll_adapt_schedule_t *schedule, position round, int tag, struct messages *messages,
                       int rc)
{
    const int sends = count_of(round, ADAPT_SEND), recvs = count_of(round, ADAPT_RECV);
    const bool failed = OMPI_SUCCESS != rc, many = MANY <= sends && 0 < recvs;

    if (1 == sends + recvs) {
        return lone_message(schedule, round, tag, rc);
    }
    messages->count = 0;
    for (int which = RECVS; which >= SENDS; --which) {
        for (position action = round; !ends_round(action); ++action) {
            if (is_message(action, SENDS == which ? ADAPT_SEND : ADAPT_RECV)) {
                const mca_coll_adapt_data_t data = message_of(action, failed);

                if (RECVS == which
                    || !mca_coll_adapt_send_copy(&data, action->peer, tag, schedule->comm,
                                                 many ? ADAPT_SENDER_PERSISTENT : ADAPT_SENDER_CALL, &rc)) {
                    const int started
                        = start(action, &data, many, tag, schedule->comm, &messages->requests[messages->count]);

                    messages->actions[messages->count] = action;
                    messages->count += OMPI_SUCCESS == started ? 1 : 0;
                    rc = OMPI_SUCCESS == rc ? started : rc;
                }
            }
        }
    }
    return messages_wait(messages, rc);
}

static int most_messages(const mca_coll_adapt_schedule_t *schedule)
{
    int most = 0, count = 0;

    for (position action = schedule->actions; action < end_of_schedule(schedule); ++action) {
        count = ends_round(action) ? 0 : count + (may_be_message(action) ? 1 : 0);
        most = count > most ? count : most;
    }
    return most;
}

static int run(const mca_coll_adapt_schedule_t *schedule, int tag)
{
    struct messages messages;
    int rc = OMPI_SUCCESS;

    if (!messages_make(&messages, most_messages(schedule))) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (position action = schedule->actions; action < end_of_schedule(schedule); ++action) {
        rc = communicate(schedule, action, tag, &messages, rc);
        rc = act(schedule, action, rc);
        while (!ends_round(action)) {
            ++action;
        }
    }
    messages_free(&messages);
    return rc;
}

/* -- events -- */

static void advance(performance_t *self);

static void event(struct flow *flow, int rc)
{
    performance_t *self = flow->performance;
    bool others;

    pthread_mutex_lock(&self->lock);
    ++flow->done;
    if (OMPI_SUCCESS == self->rc) {
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

static int message_complete(ompi_request_t *request)
{
    const position action = request->req_complete_cb_data;
    const int rc = result_of(action, request->req_status.MPI_ERROR, &request->req_status);

    ompi_request_free(&request);
    event(action->flow, rc);
    return 1; /* the request is gone */
}

/* What MPI has buffered is not under way for it any more, but fills queues: a window of such messages limits nothing.
 */
static mca_coll_adapt_direction_t direction_of(const performance_t *self, int which, const mca_coll_adapt_data_t *data)
{
    const mca_coll_adapt_schedule_t *schedule = &self->schedule;

    if (RECVS == which) {
        return ADAPT_RECEIVE;
    }
    return (0 < schedule->windows[SENDS] && schedule->buffered < mca_coll_adapt_data_bytes(data))
                   || mca_coll_adapt_starts_may_meet(&self->tags, schedule->comm)
               ? ADAPT_SEND_MATCHED
               : ADAPT_SEND_BUFFERED;
}

/* Starts messages as long as the window has room. */
static void fill_window(performance_t *self, struct place *place, int which, bool failed)
{
    const mca_coll_adapt_action_kind_t kind = SENDS == which ? ADAPT_SEND : ADAPT_RECV;
    const int window = self->schedule.windows[which];
    struct flow *flow = &place->flows[which];

    for (; !ends_round(flow->next) && (0 == window || flow->started - flow->seen < window); ++flow->next) {
        if (is_message(flow->next, kind)) {
            const mca_coll_adapt_data_t data = message_of(flow->next, failed);
            bool done;
            int rc;

            flow->next->flow = flow;
            ++flow->started;
            rc = mca_coll_adapt_message_start(&data, direction_of(self, which, &data), flow->next->peer, place->tag,
                                              self->schedule.comm, message_complete, flow->next, &done);
            if (done || OMPI_SUCCESS != rc) {
                event(flow, rc);
            }
        }
    }
}

static bool round_is_over(const struct place *place)
{
    for (int which = SENDS; which <= RECVS; ++which) {
        const struct flow *flow = &place->flows[which];

        if (!ends_round(flow->next) || flow->seen < flow->started) {
            return false;
        }
    }
    return true;
}

/* A round begins here. */
static void enter(struct place *place, position round)
{
    place->round = place->flows[SENDS].next = place->flows[RECVS].next = round;
}

/* The next part moves in, if there is one. */
static void begin_part(performance_t *self, struct place *place)
{
    if (place->next == end_of_schedule(&self->schedule)) {
        place->round = NULL;
        return;
    }
    enter(place, place->next);
    place->next = skip_parts(&self->schedule, place->next, self->schedule.parts_at_once);
}

/* Behind the round that is over. */
static void leave_round(performance_t *self, struct place *place)
{
    position end = place->flows[SENDS].next;

    if (ADAPT_PART == end->kind) {
        begin_part(self, place);
    } else {
        enter(place, end + 1);
    }
}

/* Goes as far as it can with a part. Returns rc, or the first error of a local action. */
static int go_on(performance_t *self, struct place *place, int rc)
{
    while (NULL != place->round) {
        /* Receives first: so that messages find them. */
        fill_window(self, place, RECVS, OMPI_SUCCESS != rc);
        fill_window(self, place, SENDS, OMPI_SUCCESS != rc);
        if (!round_is_over(place)) {
            break;
        }
        rc = act(&self->schedule, place->round, rc);
        leave_round(self, place);
    }
    return rc;
}

/* Takes note of what is done; the lock is held. Returns whether nothing is under way and nothing is left to do. */
static bool look(performance_t *self)
{
    bool over = true;

    for (int i = 0; i < self->schedule.parts_at_once; ++i) {
        struct place *place = &self->places[i];

        for (int which = SENDS; which <= RECVS; ++which) {
            place->flows[which].seen = place->flows[which].done;
            over = over && place->flows[which].seen == place->flows[which].started;
        }
        over = over && NULL == place->round;
    }
    return over;
}

/* Called by the one thread that has set advancing. */
static void advance(performance_t *self)
{
    for (;;) {
        bool over, news;
        int rc;

        pthread_mutex_lock(&self->lock);
        over = look(self);
        news = self->news;
        rc = self->rc;
        self->news = false;
        self->advancing = over || news;
        pthread_mutex_unlock(&self->lock);
        if (over) {
            /* Nothing is under way: nobody else looks at it, and with this call it may be gone. */
            mca_coll_adapt_request_complete(&self->super.super, &self->tags, rc);
            return;
        }
        if (!news) {
            return;
        }
        for (int i = 0; i < self->schedule.parts_at_once; ++i) {
            rc = go_on(self, &self->places[i], rc);
        }
        if (OMPI_SUCCESS != rc) {
            pthread_mutex_lock(&self->lock);
            self->rc = OMPI_SUCCESS == self->rc ? rc : self->rc;
            pthread_mutex_unlock(&self->lock);
        }
    }
}

/* -- the request -- */

static void performance_start(performance_t *self)
{
    self->rc = OMPI_SUCCESS;
    for (int i = 0; i < self->schedule.parts_at_once; ++i) {
        struct place *place = &self->places[i];

        place->tag = self->tags.first + i;
        for (int which = SENDS; which <= RECVS; ++which) {
            place->flows[which] = (struct flow){ .performance = self };
        }
        place->next = skip_parts(&self->schedule, self->schedule.actions, i);
        begin_part(self, place);
    }
    self->advancing = self->news = true;
    advance(self);
}

static int request_start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        if (!mca_coll_adapt_request_activate(requests[i])) {
            return MPI_ERR_REQUEST;
        }
        performance_start((performance_t *) requests[i]);
    }
    return OMPI_SUCCESS;
}

static void performance_construct(performance_t *self)
{
    memset((char *) self + sizeof(self->super), 0, sizeof(*self) - sizeof(self->super));
    mca_coll_adapt_request_construct(&self->super.super);
    self->super.super.req_start = request_start;
    pthread_mutex_init(&self->lock, NULL);
}

/* The types, which the user may free while the request lives: holds them, or lets them go. */
static void hold_types(const mca_coll_adapt_schedule_t *schedule, bool yes)
{
    for (position action = schedule->actions; action < end_of_schedule(schedule); ++action) {
        ompi_datatype_t *types[] = { action->from.datatype, action->to.datatype };

        for (int i = 0; i < 2; ++i) {
            if (NULL != types[i] && yes) {
                OBJ_RETAIN(types[i]);
            } else if (NULL != types[i]) {
                OBJ_RELEASE(types[i]);
            }
        }
    }
}

static void free_schedule(mca_coll_adapt_schedule_t *schedule)
{
    while (NULL != schedule->chunks) {
        mca_coll_adapt_chunk_t *next = schedule->chunks->next;

        schedule->memory->give(schedule->chunks);
        schedule->chunks = next;
    }
    free(schedule->actions);
}

static void performance_destruct(performance_t *self)
{
    mca_coll_adapt_schedule_t *schedule = &self->schedule;

    OMPI_REQUEST_FINI(&self->super.super);
    mca_coll_adapt_tags_return(&self->tags);
    hold_types(schedule, false);
    if (NULL != schedule->op) {
        OBJ_RELEASE(schedule->op);
    }
    if (NULL != schedule->comm) {
        OBJ_RELEASE(schedule->comm);
    }
    free_schedule(schedule);
    free(self->places);
    pthread_mutex_destroy(&self->lock);
}

/* Makes the request, which takes over the schedule. */
static int make(const mca_coll_adapt_schedule_t *schedule, const mca_coll_adapt_tags_t *tags, performance_t **made)
{
    performance_t *self = OBJ_NEW(performance_t);

    if (NULL == self) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    self->places = calloc((size_t) schedule->parts_at_once, sizeof(*self->places));
    OMPI_REQUEST_INIT(&self->super.super, ADAPT_PERSISTENT == tags->form);
    if (NULL == self->places) {
        OBJ_RELEASE(self);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    self->super.super.req_mpi_object.comm = schedule->comm;
    self->schedule = *schedule;
    hold_types(schedule, true);
    OBJ_RETAIN(schedule->comm);
    if (NULL != schedule->op) {
        OBJ_RETAIN(schedule->op);
    }
    self->tags = *tags;
    *made = self;
    return OMPI_SUCCESS;
}

static void begin(mca_coll_adapt_tags_t *tags)
{
    performance_start((performance_t *) ((char *) tags - offsetof(performance_t, tags)));
}

int mca_coll_adapt_perform(mca_coll_adapt_event_module_t *module, mca_coll_adapt_schedule_t *schedule,
                           mca_coll_adapt_form_t form, ompi_request_t **request)
{
    const bool events = 1 < schedule->parts_at_once || 0 < schedule->windows[SENDS] || 0 < schedule->windows[RECVS];
    mca_coll_adapt_tags_t tags;
    performance_t *self;
    int rc = mca_coll_adapt_tags_take(&module->tags, form, schedule->parts_at_once, &tags);

    rc = OMPI_SUCCESS == rc ? schedule->rc : rc;
    if (OMPI_SUCCESS == rc && ADAPT_BLOCKING == form && !events) {
        rc = run(schedule, tags.first);
        free_schedule(schedule);
        return rc;
    }
    if (OMPI_SUCCESS == rc) {
        rc = make(schedule, &tags, &self);
    }
    if (OMPI_SUCCESS != rc) {
        free_schedule(schedule);
        return rc;
    }
    return mca_coll_adapt_request_run(&self->super.super, &self->tags, &module->tags, begin, request);
}
