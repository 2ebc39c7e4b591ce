/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must be kept in mind here:
 *
 * - An event may come inside the call that starts a transfer, and in another thread. Therefore an event is only
 *   recorded; the thread that finds nobody in advance() goes in and stays until no event is left. What runs in there
 *   needs no lock, and does not nest, however deep the transport nests its calls.
 * - A callback may not wait for memory: all transfers are allocated with the operation, and when none is free nothing
 *   is started until one is.
 * - After finish() the operation may be gone.
 */
#include "coll_adapt_core.h"

#include <stdlib.h>
#include <string.h>

/* Every transfer that can be under way at once. */
static size_t transfer_count(const mca_coll_adapt_task_t *task)
{
    const size_t children = (size_t) task->tree.child_count, sends = (size_t) task->sends, recvs = (size_t) task->recvs;

    return (task->up ? children * recvs + sends : 0) + (task->down ? children * sends + recvs : 0);
}

/* Hands out aligned pieces of one block. */
enum { PIECE = 16 };

static void *take(char **memory, size_t bytes)
{
    void *piece = *memory;

    *memory += (bytes + PIECE - 1) / PIECE * PIECE;
    return piece;
}

static void flow_init(mca_coll_adapt_flow_t *flow, int slots, char **memory)
{
    flow->slots = (size_t) slots;
    flow->ready = take(memory, flow->slots * sizeof(bool));
}

int mca_coll_adapt_core_init(mca_coll_adapt_core_t *core, const mca_coll_adapt_task_t *task)
{
    const size_t children = (size_t) task->tree.child_count, transfers = transfer_count(task);
    /* take() rounds each of the pieces up. */
    const size_t pieces = 3 * (children + 1) + 4;
    char *memory;

    memset(core, 0, sizeof(*core));
    core->task = *task;
    memory = malloc(transfers * sizeof(mca_coll_adapt_transfer_t) + 2 * children * sizeof(mca_coll_adapt_flow_t)
                    + (children + 1) * (size_t) (task->sends + task->recvs) * sizeof(bool) + task->window * sizeof(int)
                    + pieces * PIECE);
    if (NULL == memory) {
        return -1;
    }
    core->memory = memory;
    core->transfers = take(&memory, transfers * sizeof(mca_coll_adapt_transfer_t));
    core->up_in = take(&memory, children * sizeof(mca_coll_adapt_flow_t));
    core->down_out = take(&memory, children * sizeof(mca_coll_adapt_flow_t));
    core->turn = take(&memory, task->window * sizeof(int));
    flow_init(&core->down_in, task->recvs, &memory);
    flow_init(&core->up_out, task->sends, &memory);
    for (size_t child = 0; child < children; ++child) {
        flow_init(&core->up_in[child], task->recvs, &memory);
        flow_init(&core->down_out[child], task->sends, &memory);
    }
    pthread_mutex_init(&core->lock, NULL);
    return 0;
}

void mca_coll_adapt_core_free(mca_coll_adapt_core_t *core)
{
    if (NULL != core->memory) {
        pthread_mutex_destroy(&core->lock);
        free(core->memory);
        core->memory = NULL;
    }
}

static void fail(mca_coll_adapt_core_t *core, int rc)
{
    if (0 == core->rc) {
        core->rc = rc;
    }
}

/* -- starting transfers -- */

static int peer_of(const mca_coll_adapt_core_t *core, int child)
{
    return -1 == child ? core->task.tree.parent : core->task.tree.children[child];
}

static mca_coll_adapt_flow_t *flow_of(mca_coll_adapt_core_t *core, const mca_coll_adapt_transfer_t *transfer)
{
    if (ADAPT_UP == transfer->half) {
        return transfer->send ? &core->up_out : &core->up_in[transfer->child];
    }
    return transfer->send ? &core->down_out[transfer->child] : &core->down_in;
}

static void end_transfer(mca_coll_adapt_core_t *core, mca_coll_adapt_transfer_t *transfer, int rc)
{
    mca_coll_adapt_flow_t *flow = flow_of(core, transfer);

    flow->ready[transfer->segment % flow->slots] = true;
    fail(core, rc);
    --core->active;
    transfer->next = core->free_transfers;
    core->free_transfers = transfer;
}

/* Starts the next segment of a flow. */
static void start(mca_coll_adapt_core_t *core, mca_coll_adapt_flow_t *flow, mca_coll_adapt_half_t half, bool send,
                  int child, void *buffer)
{
    mca_coll_adapt_transfer_t *transfer = core->free_transfers;
    int rc;

    core->free_transfers = transfer->next;
    transfer->core = core;
    transfer->half = half;
    transfer->send = send;
    transfer->empty = send && 0 != core->rc;
    transfer->child = child;
    transfer->peer = peer_of(core, child);
    transfer->segment = flow->next++;
    transfer->buffer = buffer;
    ++core->active;
    rc = core->task.transport->start(transfer);
    if (0 != rc) {
        end_transfer(core, transfer, rc);
        core->moved = true;
    }
}

/* Whether a flow may start its next segment; those before limit are available. */
static bool may_start(const mca_coll_adapt_flow_t *flow, size_t limit)
{
    return flow->next < limit && flow->next < flow->done + flow->slots;
}

/* Takes the oldest segment of a flow once its transfer is complete; false where it is not yet. */
static bool use(mca_coll_adapt_core_t *core, mca_coll_adapt_flow_t *flow)
{
    bool *ready = &flow->ready[flow->done % flow->slots];

    if (flow->done == flow->next || !*ready) {
        return false;
    }
    *ready = false;
    ++flow->done;
    core->moved = true;
    return true;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Up: segments for which there is memory, counted from what has left. */
static size_t up_limit(const mca_coll_adapt_core_t *core)
{
    return least(core->task.segments, core->up_out.done + core->task.window);
}

/* Down: segments before this one have gone to all children. */
static size_t down_done(const mca_coll_adapt_core_t *core)
{
    size_t done = core->down_in.done;

    for (int child = 0; child < core->task.tree.child_count; ++child) {
        done = least(done, core->down_out[child].done);
    }
    return done;
}

/* -- the up half: receive, combine, send -- */

static void up_receive(mca_coll_adapt_core_t *core)
{
    const size_t limit = up_limit(core);

    for (int child = 0; child < core->task.tree.child_count; ++child) {
        mca_coll_adapt_flow_t *flow = &core->up_in[child];

        while (may_start(flow, limit)) {
            start(core, flow, ADAPT_UP, false, child,
                  core->task.work->inlet(core, child, (int) (flow->next % flow->slots)));
        }
    }
}

/* From the last rank to the first: the right operand comes first. */
int mca_coll_adapt_core_child_of_turn(const mca_coll_adapt_core_t *core, int turn)
{
    const int behind = core->task.tree.child_count - core->task.tree.children_before;

    if (turn == behind) {
        return -1;
    }
    return core->task.tree.child_count - 1 - (turn < behind ? turn : turn - 1);
}

/* Combines into a segment all that is there and whose turn it is; true when the segment is complete. */
static bool combine_segment(mca_coll_adapt_core_t *core, size_t segment)
{
    const int turns = core->task.tree.child_count + 1;
    int *turn = &core->turn[segment % core->task.window];

    while (*turn < turns) {
        const int child = mca_coll_adapt_core_child_of_turn(core, *turn);
        mca_coll_adapt_flow_t *flow = -1 == child ? NULL : &core->up_in[child];
        void *in = NULL;

        if (NULL != flow) {
            if (flow->done != segment || !use(core, flow)) {
                return false;
            }
            in = core->task.work->inlet(core, child, (int) (segment % flow->slots));
        }
        if (0 == core->rc) {
            fail(core, core->task.work->combine(core, segment, in, 0 == *turn));
        }
        ++*turn;
    }
    return *turn == turns;
}

static void up_combine(mca_coll_adapt_core_t *core)
{
    const size_t limit = up_limit(core);
    /* Turns that need no child. */
    const int alone = -1 == mca_coll_adapt_core_child_of_turn(core, 0) ? 1 : 0;

    for (size_t segment = core->combined; segment < limit; ++segment) {
        const bool complete = combine_segment(core, segment);

        if (complete && segment == core->combined) {
            ++core->combined;
            core->moved = true;
            core->turn[segment % core->task.window] = 0;
        } else if (alone >= core->turn[segment % core->task.window]) {
            break; /* nothing has come for this one, and so not for later ones either */
        }
    }
}

static void up_send(mca_coll_adapt_core_t *core)
{
    mca_coll_adapt_flow_t *flow = &core->up_out;

    if (-1 == core->task.tree.parent) {
        flow->done = core->combined;
        return;
    }
    while (may_start(flow, core->combined)) {
        start(core, flow, ADAPT_UP, true, -1, core->task.work->outlet(core, flow->next));
    }
}

/* -- the down half: receive or pack, send -- */

static void down_receive(mca_coll_adapt_core_t *core)
{
    mca_coll_adapt_flow_t *flow = &core->down_in;
    size_t limit;

    while (use(core, flow)) {
        if (NULL != core->task.work->deliver && 0 == core->rc) {
            fail(core, core->task.work->deliver(core, flow->done - 1));
        }
    }
    limit = least(core->task.segments, down_done(core) + core->task.window);
    while (may_start(flow, limit)) {
        start(core, flow, ADAPT_DOWN, false, -1, core->task.work->place(core, flow->next));
    }
}

/* At the root segments do not come: they are there, or packed, or complete at the end of the up half. */
static void down_root(mca_coll_adapt_core_t *core)
{
    mca_coll_adapt_flow_t *flow = &core->down_in;
    const size_t there = core->task.up ? core->combined : core->task.segments;
    const size_t limit = least(there, down_done(core) + core->task.window);

    while (flow->done < limit) {
        if (NULL != core->task.work->pack && 0 == core->rc) {
            fail(core, core->task.work->pack(core, flow->done));
        }
        ++flow->done;
        core->moved = true;
    }
    flow->next = flow->done;
}

static void down_send(mca_coll_adapt_core_t *core)
{
    for (int child = 0; child < core->task.tree.child_count; ++child) {
        mca_coll_adapt_flow_t *flow = &core->down_out[child];

        while (may_start(flow, core->down_in.done)) {
            start(core, flow, ADAPT_DOWN, true, child, core->task.work->place(core, flow->next));
        }
    }
}

/* -- events -- */

/* What has been sent frees its memory, first of all: the rest of the pass counts on it. */
static void retire(mca_coll_adapt_core_t *core)
{
    while (use(core, &core->up_out)) {
    }
    for (int child = 0; child < core->task.tree.child_count; ++child) {
        while (use(core, &core->down_out[child])) {
        }
    }
}

/* Starts what can be started now. What moves on frees memory for more: called until nothing moves. */
static void progress(mca_coll_adapt_core_t *core)
{
    retire(core);
    if (core->task.up) {
        up_receive(core);
        up_combine(core);
        up_send(core);
    }
    if (core->task.down) {
        if (-1 == core->task.tree.parent) {
            down_root(core);
        } else {
            down_receive(core);
        }
        down_send(core);
    }
}

static bool over(const mca_coll_adapt_core_t *core)
{
    const size_t segments = core->task.segments;

    return 0 == core->active && (!core->task.up || core->up_out.done == segments)
           && (!core->task.down || down_done(core) == segments);
}

/* The events since the last time, oldest first; where there are none, advancing ends. */
static mca_coll_adapt_transfer_t *take_events(mca_coll_adapt_core_t *core)
{
    mca_coll_adapt_transfer_t *newest, *oldest = NULL;

    pthread_mutex_lock(&core->lock);
    newest = core->events;
    core->events = NULL;
    core->advancing = NULL != newest;
    pthread_mutex_unlock(&core->lock);
    while (NULL != newest) {
        mca_coll_adapt_transfer_t *next = newest->next;

        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

/* Called by the one thread that has set advancing. */
static void advance(mca_coll_adapt_core_t *core)
{
    for (;;) {
        mca_coll_adapt_transfer_t *event;

        do {
            core->moved = false;
            progress(core);
        } while (core->moved);
        if (over(core)) {
            /* Nothing is under way, so that no event comes and nobody else looks at the operation. */
            core->task.transport->finish(core, core->rc);
            return;
        }
        event = take_events(core);
        if (NULL == event) {
            return;
        }
        while (NULL != event) {
            mca_coll_adapt_transfer_t *next = event->next;

            end_transfer(core, event, event->rc);
            event = next;
        }
    }
}

void mca_coll_adapt_core_event(mca_coll_adapt_transfer_t *transfer, int rc)
{
    mca_coll_adapt_core_t *core = transfer->core;
    bool others;

    transfer->rc = rc;
    pthread_mutex_lock(&core->lock);
    transfer->next = core->events;
    core->events = transfer;
    others = core->advancing;
    core->advancing = true;
    pthread_mutex_unlock(&core->lock);
    if (!others) {
        advance(core);
    }
}

static void flow_reset(mca_coll_adapt_flow_t *flow)
{
    flow->next = flow->done = 0;
    memset(flow->ready, 0, flow->slots * sizeof(bool));
}

void mca_coll_adapt_core_start(mca_coll_adapt_core_t *core)
{
    const size_t transfers = transfer_count(&core->task);

    core->rc = core->task.rc;
    core->active = core->combined = 0;
    core->events = core->free_transfers = NULL;
    core->advancing = true;
    memset(core->turn, 0, core->task.window * sizeof(int));
    flow_reset(&core->down_in);
    flow_reset(&core->up_out);
    for (int child = 0; child < core->task.tree.child_count; ++child) {
        flow_reset(&core->up_in[child]);
        flow_reset(&core->down_out[child]);
    }
    for (size_t i = 0; i < transfers; ++i) {
        core->transfers[i].next = core->free_transfers;
        core->free_transfers = &core->transfers[i];
    }
    advance(core);
}
