/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_adapt.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/coll_end.h"
#include "common/coll_pml.h"
#include "common/coll_wait.h"
#include "ompi/mca/pml/pml.h"

static inline mca_coll_adapt_op_t *op_of(const mca_coll_adapt_core_t *core)
{
    return core->task.context;
}

static inline bool is_root(const mca_coll_adapt_op_t *op)
{
    return -1 == op->core.task.tree.parent;
}

static inline bool is_leaf(const mca_coll_adapt_op_t *op)
{
    return 0 == op->core.task.tree.child_count;
}

/* Units in a segment; the last may be shorter. */
static size_t units_of(const mca_coll_adapt_op_t *op, size_t segment)
{
    const size_t start = segment * op->segment_count, rest = op->count - start;

    return rest < op->segment_count ? rest : op->segment_count;
}

static void *at(const void *buffer, const mca_coll_adapt_op_t *op, size_t segment)
{
    return (char *) buffer + (ptrdiff_t) (segment * op->segment_count) * op->extent;
}

static void *slot(const mca_coll_adapt_op_t *op, size_t index)
{
    return op->slots + index * op->slot.bytes - op->slot.first;
}

/* -- the transport: Open MPI's point-to-point messages -- */

static int transfer_complete(ompi_request_t *request)
{
    mca_coll_adapt_transfer_t *transfer = request->req_complete_cb_data;
    const mca_coll_adapt_op_t *op = op_of(transfer->core);
    const size_t bytes = transfer->send ? 0 : units_of(op, transfer->segment) * op->unit->super.size;
    const int rc = mca_coll_adapt_message_result(request->req_status.MPI_ERROR, &request->req_status, bytes);

    ompi_request_free(&request);
    mca_coll_adapt_core_event(transfer, rc);
    return 1; /* the request is gone */
}

int mca_coll_adapt_message_begun(int rc, int peer, const ompi_communicator_t *comm)
{
    if (0 > rc) {
        coll_end_job(MPI_ERR_OTHER, "adapt", "a message to or from rank %d of %s (cid %d) cannot be started (error %d)",
                     peer, comm->c_name, comm->c_contextid, rc);
    }
    return rc;
}

int mca_coll_adapt_send_init(const mca_coll_adapt_data_t *message, mca_coll_adapt_direction_t direction, int peer,
                             int tag, ompi_communicator_t *comm, ompi_request_t **request)
{
    const opal_datatype_t *type = &message->datatype->super;
    mca_coll_adapt_data_t sent = *message;

    if (0 != type->true_lb && opal_datatype_is_contiguous_memory_layout(type, 1 < sent.count ? 2 : 1)) {
        sent = (mca_coll_adapt_data_t){ .buffer = (char *) message->buffer + type->true_lb,
                                        .count = message->count * type->size,
                                        .datatype = MPI_BYTE };
    }
    return MCA_PML_CALL(isend_init(
        sent.buffer, sent.count, sent.datatype, peer, tag,
        ADAPT_SEND_MATCHED == direction ? MCA_PML_BASE_SEND_SYNCHRONOUS : MCA_PML_BASE_SEND_STANDARD, comm, request));
}

int mca_coll_adapt_message_start(const mca_coll_adapt_data_t *message, mca_coll_adapt_direction_t direction, int peer,
                                 int tag, ompi_communicator_t *comm, ompi_request_complete_fn_t callback, void *data,
                                 bool *done)
{
    ompi_request_t *request;
    int rc = OMPI_SUCCESS;

    *done = ADAPT_SEND_BUFFERED == direction
            && mca_coll_adapt_send_copy(message, peer, tag, comm, ADAPT_SENDER_EVENT, &rc);
    if (*done) {
        return rc;
    }
    if (ADAPT_RECEIVE == direction) {
        rc = MCA_PML_CALL(irecv_init(message->buffer, message->count, message->datatype, peer, tag, comm, &request));
    } else {
        rc = mca_coll_adapt_send_init(message, direction, peer, tag, comm, &request);
    }
    if (OMPI_SUCCESS == rc) {
        request->req_complete_cb_data = data;
        request->req_complete_cb = callback;
        rc = MCA_PML_CALL(start(1, &request));
        if (OMPI_SUCCESS != rc) {
            ompi_request_free(&request);
        }
    }
    return mca_coll_adapt_message_begun(rc, peer, comm);
}

/*
 * MPI is done at once with a message that it buffers, however many of them wait for the link. So a segment is under way
 * until the other side receives it; but for the last ones: no segment waits for them, and this rank need not either.
 */
static mca_coll_adapt_direction_t direction_of(const mca_coll_adapt_transfer_t *transfer)
{
    const mca_coll_adapt_task_t *task = &transfer->core->task;
    const mca_coll_adapt_op_t *op = op_of(transfer->core);

    if (!transfer->send) {
        return ADAPT_RECEIVE;
    }
    return transfer->segment + (size_t) task->sends < task->segments
                   || mca_coll_adapt_starts_may_meet(&op->first->tags, op->comm)
               ? ADAPT_SEND_MATCHED
               : ADAPT_SEND_BUFFERED;
}

static int transfer_start(mca_coll_adapt_transfer_t *transfer)
{
    const mca_coll_adapt_op_t *op = op_of(transfer->core);
    const mca_coll_adapt_data_t message = { .buffer = transfer->buffer,
                                            .count = transfer->empty ? 0 : units_of(op, transfer->segment),
                                            .datatype = op->unit };
    bool done;
    const int rc = mca_coll_adapt_message_start(&message, direction_of(transfer), transfer->peer, op->tag, op->comm,
                                                transfer_complete, transfer, &done);

    if (done) {
        mca_coll_adapt_core_event(transfer, rc);
    }
    return done ? OMPI_SUCCESS : rc;
}

static bool copy_units(const mca_coll_adapt_op_t *op, size_t units, void *target, const void *source)
{
    return 0 <= ompi_datatype_copy_content_same_ddt(op->datatype, (int32_t) units, target, (char *) source);
}

/* Of a reduction all operands have been used: its result may go where these were. Of a broadcast all blocks are here.
 */
static int put_result(mca_coll_adapt_op_t *op)
{
    if (op->packed) {
        return is_root(op) ? OMPI_SUCCESS : coll_packing_unpack(&op->packing, op->aside, op->aside_bytes);
    }
    return copy_units(op, op->count, op->result, op->rbuf) ? OMPI_SUCCESS : OMPI_ERROR;
}

static void put_results(mca_coll_adapt_op_t *first)
{
    for (mca_coll_adapt_op_t *op = first; NULL != op && OMPI_SUCCESS == first->rc; op = op->next) {
        if (NULL != op->aside) {
            first->rc = put_result(op);
        }
    }
}

static void op_finish(mca_coll_adapt_core_t *core, int rc)
{
    mca_coll_adapt_op_t *first = op_of(core)->first;
    int none = OMPI_SUCCESS;

    if (OMPI_SUCCESS != rc) {
        atomic_compare_exchange_strong(&first->rc, &none, rc);
    }
    /* Several threads may come here. The last one must have seen all that the others did: with the request, their
     * operations and the user's buffers are let go. OPAL_THREAD_ADD_FETCH32 is relaxed, and does not say so. */
    if (1 == atomic_fetch_sub(&first->pending, 1)) {
        put_results(first);
        mca_coll_adapt_request_complete(&first->super.super, &first->tags, first->rc);
    }
}

static const mca_coll_adapt_transport_t transport = { transfer_start, op_finish };

/* -- data of a broadcast: packed bytes -- */

static void *bcast_place(mca_coll_adapt_core_t *core, size_t segment)
{
    const mca_coll_adapt_op_t *op = op_of(core);

    return NULL == op->slots ? at(op->rbuf, op, segment) : slot(op, segment % core->task.window);
}

static int bcast_pack(mca_coll_adapt_core_t *core, size_t segment)
{
    mca_coll_adapt_op_t *op = op_of(core);

    return coll_packing_pack(&op->packing, bcast_place(core, segment), units_of(op, segment));
}

static int bcast_deliver(mca_coll_adapt_core_t *core, size_t segment)
{
    mca_coll_adapt_op_t *op = op_of(core);

    return coll_packing_unpack(&op->packing, bcast_place(core, segment), units_of(op, segment));
}

static const mca_coll_adapt_work_t bcast_in_place = { .place = bcast_place };
static const mca_coll_adapt_work_t bcast_packed
    = { .place = bcast_place, .pack = bcast_pack, .deliver = bcast_deliver };

/* -- data of reductions: elements, in place in the user's buffers where they serve -- */

static const void *own(const mca_coll_adapt_op_t *op, size_t segment)
{
    if (0 != op->stash) {
        return slot(op, op->stash + segment % op->core.task.window);
    }
    return at(MPI_IN_PLACE == op->sbuf ? op->rbuf : op->sbuf, op, segment);
}

static void *reduce_place(mca_coll_adapt_core_t *core, size_t segment)
{
    return at(op_of(core)->rbuf, op_of(core), segment);
}

static void *reduce_inlet(mca_coll_adapt_core_t *core, int child, int index)
{
    const size_t outlets = core->task.down || is_root(op_of(core)) ? 0 : core->task.window;

    return slot(op_of(core), outlets + (size_t) (child * core->task.recvs + index));
}

/* A leaf sends what it has; elsewhere the result grows in the user's receive buffer, where there is one. */
static void *reduce_outlet(mca_coll_adapt_core_t *core, size_t segment)
{
    const mca_coll_adapt_op_t *op = op_of(core);

    if (is_leaf(op) && !is_root(op)) {
        return (void *) own(op, segment);
    }
    return core->task.down || is_root(op) ? at(op->rbuf, op, segment) : slot(op, segment % core->task.window);
}

/* Operands come from the right to the left: the result so far is always the right one. */
static int reduce_combine(mca_coll_adapt_core_t *core, size_t segment, void *in, bool first)
{
    const mca_coll_adapt_op_t *op = op_of(core);
    void *outlet = reduce_outlet(core, segment);
    const void *left = NULL == in ? own(op, segment) : in;
    const size_t units = units_of(op, segment);

    if (left == outlet && first) {
        return OMPI_SUCCESS;
    }
    if (first && 0 != op->stash && !copy_units(op, units, (void *) own(op, segment), outlet)) {
        return OMPI_ERROR;
    }
    if (first) {
        return copy_units(op, units, outlet, left) ? OMPI_SUCCESS : OMPI_ERROR;
    }
    ompi_op_reduce(op->op, (void *) left, outlet, units, op->datatype);
    return OMPI_SUCCESS;
}

static const mca_coll_adapt_work_t reduce_work
    = { .place = reduce_place, .inlet = reduce_inlet, .outlet = reduce_outlet, .combine = reduce_combine };

/* -- data of a barrier: none -- */

static void *barrier_place(mca_coll_adapt_core_t *core __opal_attribute_unused__,
                           size_t segment __opal_attribute_unused__)
{
    return NULL;
}

static void *barrier_inlet(mca_coll_adapt_core_t *core __opal_attribute_unused__, int child __opal_attribute_unused__,
                           int index __opal_attribute_unused__)
{
    return NULL;
}

static int barrier_combine(mca_coll_adapt_core_t *core __opal_attribute_unused__,
                           size_t segment __opal_attribute_unused__, void *in __opal_attribute_unused__,
                           bool first __opal_attribute_unused__)
{
    return OMPI_SUCCESS;
}

static const mca_coll_adapt_work_t barrier_work
    = { .place = barrier_place, .inlet = barrier_inlet, .outlet = barrier_place, .combine = barrier_combine };

/* -- life of an operation -- */

static void op_start(mca_coll_adapt_op_t *first);

static int request_start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        if (!mca_coll_adapt_request_activate(requests[i])) {
            return MPI_ERR_REQUEST;
        }
        op_start((mca_coll_adapt_op_t *) requests[i]);
    }
    return OMPI_SUCCESS;
}

/* -- of all of ADAPT's requests -- */

static int request_free(ompi_request_t **request)
{
    if (!REQUEST_COMPLETE(*request)) {
        return MPI_ERR_REQUEST;
    }
    OBJ_RELEASE(*request);
    *request = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static int request_cancel(ompi_request_t *request __opal_attribute_unused__, int flag __opal_attribute_unused__)
{
    return MPI_ERR_REQUEST;
}

void mca_coll_adapt_request_construct(ompi_request_t *request)
{
    request->req_type = OMPI_REQUEST_COLL;
    request->req_free = request_free;
    request->req_cancel = request_cancel;
    request->req_status = ompi_status_empty;
}

int mca_coll_adapt_request_run(ompi_request_t *own, mca_coll_adapt_tags_t *tags, mca_coll_adapt_tag_space_t *space,
                               void (*begin)(mca_coll_adapt_tags_t *tags), ompi_request_t **request)
{
    const mca_coll_adapt_form_t form = tags->form;

    if (ADAPT_BLOCKING != form) {
        *request = own;
    }
    if (ADAPT_PERSISTENT != form) {
        (void) mca_coll_adapt_request_activate(own);
    }
    mca_coll_adapt_tags_hold(tags, space, begin);
    return ADAPT_BLOCKING == form ? coll_wait(&own, MPI_STATUS_IGNORE) : OMPI_SUCCESS;
}

void mca_coll_adapt_request_complete(ompi_request_t *request, mca_coll_adapt_tags_t *tags, int rc)
{
    ompi_request_complete_fn_t callback;
    void *waiter;

    if (ADAPT_NONBLOCKING == tags->form) {
        mca_coll_adapt_tags_return(tags);
    }
    /* MPI_Waitall hands it to the user; of a blocking call it is an internal code, which says more. */
    request->req_status.MPI_ERROR = ADAPT_BLOCKING == tags->form ? rc : ompi_errcode_get_mpi_code(rc);
    /* No earlier: a thread that is still in the MPI call may set it while calls that waited for tags begin. */
    callback = request->req_complete_cb;
    if (NULL != callback) {
        request->req_complete_cb = NULL;
        if (0 != callback(request)) {
            return;
        }
    }
    /* Who finds it complete has to find all that was done before, too. */
    opal_atomic_wmb();
    waiter = OPAL_ATOMIC_SWAP_PTR(&request->req_complete, REQUEST_COMPLETED);
    /* From here on it may be gone. */
    if (REQUEST_PENDING != waiter) {
        wait_sync_update(waiter, 1, rc);
    }
}

/* All but the request. */
static void clear(mca_coll_adapt_op_t *op)
{
    memset((char *) op + sizeof(op->super), 0, sizeof(*op) - sizeof(op->super));
}

/* What an operation has of its own, whether it is a request or not. */
static void let_go(mca_coll_adapt_op_t *op)
{
    mca_coll_adapt_tree_free(&op->core.task.tree);
    mca_coll_adapt_memory.give(op->slots);
    mca_coll_adapt_memory.give(op->aside);
    if (op->packed) {
        coll_packing_close(&op->packing);
    }
}

static void op_construct(mca_coll_adapt_op_t *op)
{
    clear(op);
    mca_coll_adapt_request_construct(&op->super.super);
    op->super.super.req_start = request_start;
}

static void op_destruct(mca_coll_adapt_op_t *op)
{
    OMPI_REQUEST_FINI(&op->super.super);
    mca_coll_adapt_tags_return(&op->tags);
    if (NULL != op->next) {
        OBJ_RELEASE(op->next);
    }
    if (op->core_made) {
        mca_coll_adapt_core_free(&op->core);
    }
    let_go(op);
    if (NULL != op->datatype) {
        OBJ_RELEASE(op->datatype);
    }
    if (NULL != op->op) {
        OBJ_RELEASE(op->op);
    }
    if (NULL != op->comm) {
        OBJ_RELEASE(op->comm);
    }
}

OBJ_CLASS_INSTANCE(mca_coll_adapt_op_t, ompi_coll_base_nbc_request_t, op_construct, op_destruct);

/* What the user may free while the operation is under way. */
static void retain(const mca_coll_adapt_call_t *call)
{
    OBJ_RETAIN(call->comm);
    if (NULL != call->datatype) {
        OBJ_RETAIN(call->datatype);
    }
    if (NULL != call->op) {
        OBJ_RETAIN(call->op);
    }
}

static int make_tree(mca_coll_adapt_tree_t *tree, const mca_coll_adapt_call_t *call, const mca_coll_adapt_how_t *how,
                     int block)
{
    const bool in_order = NULL != call->op && !ompi_op_is_commute(call->op);
    int rc;

    if (NULL != how->trees) {
        rc = mca_coll_adapt_tree_copy(tree, how->trees[block]);
    } else {
        rc = mca_coll_adapt_tree_make_groups(tree, how->kind, how->degree, how->groups, in_order,
                                             ompi_comm_size(call->comm), call->root, ompi_comm_rank(call->comm));
    }
    /* Where the order is free the own contribution, which is there already, comes first. */
    if (0 == rc && NULL != call->op && !in_order) {
        tree->children_before = tree->child_count;
    }
    return 0 == rc ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (0 != a % b ? 1 : 0);
}

/*
 * Units of the message, of its segments, and how many segments there are. All of a call have one tag, and the order in
 * which they come tells which one it is: where the user lets messages overtake each other, there is one segment.
 */
static size_t cut(mca_coll_adapt_op_t *op, const mca_coll_adapt_call_t *call, const mca_coll_adapt_how_t *how)
{
    size_t unit_size = 1;

    op->unit = MPI_BYTE;
    op->extent = 1;
    if (ADAPT_BARRIER == call->collective) {
        op->segment_count = 1;
        return 1;
    }
    if (ADAPT_BCAST == call->collective) {
        op->count = call->datatype->super.size * call->count;
    } else {
        ptrdiff_t lb;

        op->count = 0 == call->datatype->super.size ? 0 : call->count;
        op->unit = call->datatype;
        unit_size = call->datatype->super.size;
        ompi_datatype_get_extent(call->datatype, &lb, &op->extent);
    }
    if (0 == op->count) {
        op->segment_count = 1;
        return 0;
    }
    op->segment_count = 0 == how->segment_size ? op->count : how->segment_size / unit_size;
    if (0 != how->segments) {
        op->segment_count = divide_up(op->count, how->segments);
    }
    if (0 == op->segment_count) {
        op->segment_count = 1;
    }
    if (coll_pml_may_reorder(call->comm) || op->segment_count > op->count) {
        op->segment_count = op->count;
    }
    return divide_up(op->count, op->segment_count);
}

/* Whether the bytes of a message do not lie one behind the other. */
static bool has_gaps(const mca_coll_adapt_call_t *call)
{
    return 0 < mca_coll_adapt_call_bytes(call)
           && !opal_datatype_is_contiguous_memory_layout(&call->datatype->super, 1 < call->count ? 2 : 1);
}

static int make_slots(mca_coll_adapt_op_t *op, size_t count, coll_room_t room)
{
    op->slot = room;
    if (0 == count * room.bytes) {
        return OMPI_SUCCESS;
    }
    op->slots = mca_coll_adapt_memory.take(count * room.bytes);
    return NULL == op->slots ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}

static int make_bcast_data(mca_coll_adapt_op_t *op, const mca_coll_adapt_call_t *call, mca_coll_adapt_task_t *task)
{
    int rc;

    task->work = &bcast_in_place;
    if (!has_gaps(call)) {
        op->rbuf = (char *) call->rbuf + op->datatype->super.true_lb;
        return OMPI_SUCCESS;
    }
    task->work = &bcast_packed;
    task->window = (size_t) (2 * task->recvs) < task->segments ? (size_t) (2 * task->recvs) : task->segments;
    rc = make_slots(op, task->window, (coll_room_t){ op->segment_count, 0 });
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    rc = coll_packing_open(&op->packing, op->datatype, call->count, call->rbuf, -1 == task->tree.parent);
    op->packed = OMPI_SUCCESS == rc;
    return rc;
}

static int put_aside(mca_coll_adapt_op_t *op)
{
    const coll_room_t room = COLL_ROOM_OF(op->datatype, op->count);

    op->aside = mca_coll_adapt_memory.take(room.bytes);
    if (NULL == op->aside) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    op->result = op->rbuf;
    op->rbuf = op->aside - room.first;
    return OMPI_SUCCESS;
}

static int make_reduce_data(mca_coll_adapt_op_t *op, const mca_coll_adapt_call_t *call, mca_coll_adapt_task_t *task)
{
    const bool outlets = !task->down && -1 != task->tree.parent && 0 != task->tree.child_count;
    /* In place, and a child's segment comes before the own one: it is put aside until its turn. */
    const bool stash = MPI_IN_PLACE == call->sbuf && task->tree.children_before != task->tree.child_count;
    const size_t bound = (size_t) (2 * task->recvs), inlets = (size_t) (task->tree.child_count * task->recvs);
    const coll_room_t room = COLL_ROOM_OF(op->datatype, op->segment_count);

    op->sbuf = call->sbuf;
    op->rbuf = call->rbuf;
    if (call->aside && 0 < task->segments) {
        const int rc = put_aside(op);

        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    task->work = &reduce_work;
    if ((outlets || stash) && bound < task->segments) {
        task->window = bound;
    }
    /* Outlets and a stash exclude each other: who has a parent in a reduce has no receive buffer. */
    op->stash = stash ? inlets : 0;
    return make_slots(op, (outlets || stash ? task->window : 0) + inlets, room);
}

static int make_data(mca_coll_adapt_op_t *op, const mca_coll_adapt_call_t *call, mca_coll_adapt_task_t *task)
{
    task->window = task->segments;
    switch (call->collective) {
    case ADAPT_BCAST:
        return make_bcast_data(op, call, task);
    case ADAPT_BARRIER:
        task->work = &barrier_work;
        return OMPI_SUCCESS;
    default:
        return make_reduce_data(op, call, task);
    }
}

/*
 * What an operation does in so many segments, as they have been cut, and the memory for it. It owns all of that, after
 * an error too.
 */
static int plan(mca_coll_adapt_op_t *op, const mca_coll_adapt_call_t *call, const mca_coll_adapt_how_t *how, int block,
                size_t segments)
{
    mca_coll_adapt_task_t *task = &op->core.task;
    int rc;

    op->comm = call->comm;
    op->datatype = call->datatype;
    op->op = call->op;
    *task = (mca_coll_adapt_task_t){
        .up = ADAPT_BCAST != call->collective,
        .down = ADAPT_REDUCE != call->collective,
        .sends = how->sends,
        .recvs = how->recvs,
        .segments = segments,
        .rc = call->rc,
        .transport = &transport,
        .context = op,
    };
    if ((size_t) task->recvs > segments && 0 < segments) {
        task->recvs = (int) segments; /* each has its memory */
    }
    rc = make_tree(&task->tree, call, how, block);
    return OMPI_SUCCESS == rc ? make_data(op, call, task) : rc;
}

/* One of the operations that make a collective: all of it, or a block of it over a tree of its own. */
static int make_one(const mca_coll_adapt_call_t *call, const mca_coll_adapt_how_t *how, int block, bool persistent,
                    mca_coll_adapt_op_t **made)
{
    mca_coll_adapt_op_t *op = OBJ_NEW(mca_coll_adapt_op_t);
    int rc;

    if (NULL == op) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    OMPI_REQUEST_INIT(&op->super.super, persistent);
    op->super.super.req_mpi_object.comm = call->comm;
    op->first = op;
    retain(call);
    rc = plan(op, call, how, block, cut(op, call, how));
    if (OMPI_SUCCESS == rc) {
        const mca_coll_adapt_task_t task = op->core.task; /* core_init clears that one */

        rc = 0 == mca_coll_adapt_core_init(&op->core, &task) ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
        op->core_made = OMPI_SUCCESS == rc;
    }
    if (OMPI_SUCCESS != rc) {
        OBJ_RELEASE(op);
        return rc;
    }
    *made = op;
    return OMPI_SUCCESS;
}

/* The part of a call that is a block: whole elements. */
static mca_coll_adapt_call_t block_call(const mca_coll_adapt_call_t *call, int block, int blocks)
{
    const size_t first
        = call->count / (size_t) blocks * (size_t) block
          + (call->count % (size_t) blocks < (size_t) block ? call->count % (size_t) blocks : (size_t) block);
    const size_t count = call->count / (size_t) blocks + ((size_t) block < call->count % (size_t) blocks ? 1 : 0);
    mca_coll_adapt_call_t part = *call;
    ptrdiff_t lb, extent;

    ompi_datatype_get_extent(call->datatype, &lb, &extent);
    part.count = count;
    part.rbuf = (char *) call->rbuf + (ptrdiff_t) first * extent;
    if (MPI_IN_PLACE != call->sbuf) {
        part.sbuf = (const char *) call->sbuf + (ptrdiff_t) first * extent;
    }
    return part;
}

/*
 * A broadcast that is cut into blocks, as bytes: ranks may describe its message by other types, but have one number of
 * packed bytes. What has gaps is packed aside as a whole, for of one message no two blocks are unpacked at a time.
 *
 * aside: that memory, in which it is then; NULL: data have no gaps
 */
static int make_bytes(mca_coll_adapt_call_t *call, char **aside)
{
    const size_t bytes = mca_coll_adapt_call_bytes(call);

    if (has_gaps(call)) {
        call->rbuf = *aside = mca_coll_adapt_memory.take(bytes);
        if (NULL == *aside) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    } else {
        call->rbuf = (char *) call->rbuf + call->datatype->super.true_lb;
    }
    call->count = bytes;
    call->datatype = MPI_BYTE;
    return OMPI_SUCCESS;
}

/* From here on the first of the blocks packs or unpacks the message aside, in that memory. */
static int hold_aside(mca_coll_adapt_op_t *first, const mca_coll_adapt_call_t *call, char *aside)
{
    int rc;

    OBJ_RELEASE(first->datatype);
    first->datatype = call->datatype;
    OBJ_RETAIN(first->datatype);
    first->aside = aside;
    first->aside_bytes = mca_coll_adapt_call_bytes(call);
    rc = coll_packing_open(&first->packing, first->datatype, call->count, call->rbuf, is_root(first));
    first->packed = OMPI_SUCCESS == rc;
    return rc;
}

/* How many operations a call takes: one for each of several calls, or for each of several trees. */
static int parts_of(const mca_coll_adapt_call_t *call, const mca_coll_adapt_how_t *how)
{
    int parts = 1;

    if (NULL == call->next) {
        return NULL != how->trees ? how->tree_count : 1;
    }
    while (NULL != (call = call->next)) {
        ++parts;
    }
    return parts;
}

static int op_make(const mca_coll_adapt_call_t *call, const mca_coll_adapt_how_t *how,
                   const mca_coll_adapt_tags_t *tags, mca_coll_adapt_op_t **made)
{
    const int parts = tags->count;
    const bool blocks = NULL == call->next && 1 < parts;
    mca_coll_adapt_op_t *first = NULL, **last = &first;
    mca_coll_adapt_call_t whole = *call;
    const mca_coll_adapt_call_t *one = call;
    char *aside = NULL;
    int rc = blocks && ADAPT_BCAST == call->collective ? make_bytes(&whole, &aside) : OMPI_SUCCESS;

    for (int i = 0; i < parts && OMPI_SUCCESS == rc; ++i) {
        const mca_coll_adapt_call_t part = blocks ? block_call(&whole, i, parts) : *one;

        rc = make_one(&part, how, i, ADAPT_PERSISTENT == tags->form, last);
        if (OMPI_SUCCESS == rc) {
            (*last)->first = first;
            (*last)->tag = tags->first + i;
            last = &(*last)->next;
            one = blocks ? one : one->next;
        }
    }
    if (OMPI_SUCCESS == rc && NULL != aside) {
        rc = hold_aside(first, call, aside);
        aside = NULL;
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_adapt_memory.give(aside);
        if (NULL != first) {
            OBJ_RELEASE(first);
        }
        return rc;
    }
    first->tags = *tags;
    *made = first;
    return OMPI_SUCCESS;
}

/* A root that cannot pack takes part without data. */
static void pack_aside(mca_coll_adapt_op_t *first)
{
    const int rc = coll_packing_pack(&first->packing, first->aside, first->aside_bytes);

    for (mca_coll_adapt_op_t *op = first; NULL != op; op = op->next) {
        op->core.task.rc = rc;
    }
}

static void op_start(mca_coll_adapt_op_t *first)
{
    mca_coll_adapt_op_t *op, *next;

    first->rc = OMPI_SUCCESS;
    first->pending = 0;
    for (op = first; NULL != op; op = op->next) {
        ++first->pending;
        if (op->packed) {
            coll_packing_rewind(&op->packing);
        }
    }
    if (first->packed && NULL != first->aside && is_root(first)) {
        pack_aside(first);
    }
    /* With the last one started all may be over, and gone. */
    for (op = first; NULL != op; op = next) {
        next = op->next;
        mca_coll_adapt_core_start(&op->core);
    }
}

static void begin(mca_coll_adapt_tags_t *tags)
{
    op_start((mca_coll_adapt_op_t *) ((char *) tags - offsetof(mca_coll_adapt_op_t, tags)));
}

/*
 * A blocking call of one segment, which is over with this function: what requests and events need is not made, for a
 * short message costs less than that. False where it has several, and where this rank has failed before, or its result
 * has to wait for other calls.
 */
static bool call_single(const mca_coll_adapt_call_t *call, const mca_coll_adapt_how_t *how,
                        const mca_coll_adapt_tags_t *tags, int *rc)
{
    mca_coll_adapt_op_t op;
    size_t segments;

    clear(&op);
    segments = cut(&op, call, how);
    if (1 < segments || OMPI_SUCCESS != call->rc || call->aside) {
        return false;
    }
    op.tag = tags->first;
    *rc = plan(&op, call, how, 0, segments);
    if (OMPI_SUCCESS == *rc && 0 < segments) {
        *rc = mca_coll_adapt_single_run(&op);
    }
    let_go(&op);
    return true;
}

int mca_coll_adapt_op_call(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call,
                           const mca_coll_adapt_how_t *how, mca_coll_adapt_form_t form, ompi_request_t **request)
{
    mca_coll_adapt_tags_t tags;
    mca_coll_adapt_op_t *op;
    int rc = mca_coll_adapt_tags_take(&module->tags, form, parts_of(call, how), &tags);

    if (OMPI_SUCCESS != rc || (ADAPT_BLOCKING == form && 1 == tags.count && call_single(call, how, &tags, &rc))) {
        return rc;
    }
    rc = op_make(call, how, &tags, &op);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return mca_coll_adapt_request_run(&op->super.super, &op->tags, &module->tags, begin, request);
}
