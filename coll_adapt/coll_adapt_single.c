/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A blocking operation of one segment. There is nothing to overlap, so that events would be overhead: each rank does
 * its steps one after the other, on the same tree, with the same data functions and in the same order of operands.
 * After an error too: what is sent then is empty, see mca_coll_adapt_message_result().
 */
#include "coll_adapt.h"

#include "common/coll_wait.h"
#include "ompi/mca/pml/pml.h"

/* Receives from or sends to all children at once; more children than this get their turn in portions. */
enum { PORTION = 16 };

/* What the rank says in a state: nothing after an error. */
static size_t count_of(const mca_coll_adapt_op_t *op, int rc)
{
    return OMPI_SUCCESS == rc ? op->count : 0;
}

static mca_coll_adapt_data_t message_of(const mca_coll_adapt_op_t *op, void *buffer, int rc)
{
    return (mca_coll_adapt_data_t){ .buffer = buffer, .count = count_of(op, rc), .datatype = op->unit };
}

int mca_coll_adapt_send(const mca_coll_adapt_data_t *message, int peer, int tag, ompi_communicator_t *comm, int rc)
{
    if (!mca_coll_adapt_send_copy(message, peer, tag, comm, ADAPT_SENDER_CALL, &rc)) {
        const int sent = MCA_PML_CALL(
            send(message->buffer, message->count, message->datatype, peer, tag, MCA_PML_BASE_SEND_STANDARD, comm));

        (void) mca_coll_adapt_message_begun(sent, peer, comm);
        rc = OMPI_SUCCESS == rc ? sent : rc;
    }
    return rc;
}

int mca_coll_adapt_recv(const mca_coll_adapt_data_t *message, int peer, int tag, ompi_communicator_t *comm, int rc)
{
    ompi_status_public_t status;
    int received = MCA_PML_CALL(recv(message->buffer, message->count, message->datatype, peer, tag, comm, &status));

    (void) mca_coll_adapt_message_begun(received, peer, comm);
    received = mca_coll_adapt_message_result(received, &status, mca_coll_adapt_data_bytes(message));
    return OMPI_SUCCESS == rc ? received : rc;
}

static int send_to(const mca_coll_adapt_op_t *op, void *buffer, int peer, int rc)
{
    const mca_coll_adapt_data_t message = message_of(op, buffer, rc);

    return mca_coll_adapt_send(&message, peer, op->tag, op->comm, rc);
}

/* Returns rc, or the first error. */
static int wait_sent(ompi_request_t **requests, size_t count, int rc)
{
    for (size_t i = 0; i < count; ++i) {
        const int waited = coll_wait(&requests[i], MPI_STATUS_IGNORE);

        rc = OMPI_SUCCESS == rc ? waited : rc;
    }
    return rc;
}

static size_t bytes_of(const mca_coll_adapt_op_t *op)
{
    return op->count * op->unit->super.size;
}

static int wait_received(const mca_coll_adapt_op_t *op, ompi_request_t **request)
{
    ompi_status_public_t status;
    const int rc = coll_wait(request, &status);

    return mca_coll_adapt_message_result(rc, &status, bytes_of(op));
}

/* Combines in order, from the inlets which are filled in whatever order. */
static int receive_up(mca_coll_adapt_op_t *op)
{
    mca_coll_adapt_core_t *core = &op->core;
    const mca_coll_adapt_tree_t *tree = &core->task.tree;
    ompi_request_t *requests[PORTION];
    int rc = OMPI_SUCCESS;

    for (int turn = 0; turn <= tree->child_count; turn += PORTION) {
        const int end = turn + PORTION < tree->child_count + 1 ? turn + PORTION : tree->child_count + 1;

        for (int t = turn; t < end; ++t) {
            const int child = mca_coll_adapt_core_child_of_turn(core, t);
            int posted = OMPI_SUCCESS;

            requests[t - turn] = MPI_REQUEST_NULL;
            if (-1 != child) {
                posted = MCA_PML_CALL(irecv(core->task.work->inlet(core, child, 0), op->count, op->unit,
                                            tree->children[child], op->tag, op->comm, &requests[t - turn]));
                (void) mca_coll_adapt_message_begun(posted, tree->children[child], op->comm);
            }
            rc = OMPI_SUCCESS == rc ? posted : rc;
        }
        for (int t = turn; t < end; ++t) {
            const int child = mca_coll_adapt_core_child_of_turn(core, t);

            if (MPI_REQUEST_NULL != requests[t - turn]) {
                const int waited = wait_received(op, &requests[t - turn]);

                rc = OMPI_SUCCESS == rc ? waited : rc;
            }
            if (OMPI_SUCCESS == rc) {
                rc = core->task.work->combine(core, 0, -1 == child ? NULL : core->task.work->inlet(core, child, 0),
                                              0 == t);
            }
        }
    }
    return rc;
}

static int run_up(mca_coll_adapt_op_t *op)
{
    mca_coll_adapt_core_t *core = &op->core;
    const int parent = core->task.tree.parent;
    const int rc = receive_up(op);

    return -1 == parent ? rc : send_to(op, core->task.work->outlet(core, 0), parent, rc);
}

static int receive_down(mca_coll_adapt_op_t *op, int rc)
{
    mca_coll_adapt_core_t *core = &op->core;
    const mca_coll_adapt_work_t *work = core->task.work;

    if (-1 == core->task.tree.parent) {
        return NULL == work->pack || OMPI_SUCCESS != rc ? rc : work->pack(core, 0);
    }
    const mca_coll_adapt_data_t message = message_of(op, work->place(core, 0), OMPI_SUCCESS);

    rc = mca_coll_adapt_recv(&message, core->task.tree.parent, op->tag, op->comm, rc);
    return OMPI_SUCCESS == rc && NULL != work->deliver ? work->deliver(core, 0) : rc;
}

static int send_down(mca_coll_adapt_op_t *op, int rc)
{
    mca_coll_adapt_core_t *core = &op->core;
    const mca_coll_adapt_tree_t *tree = &core->task.tree;
    const mca_coll_adapt_data_t message = message_of(op, core->task.work->place(core, 0), rc);
    ompi_request_t *requests[PORTION];
    size_t posted = 0;

    if (1 == tree->child_count) {
        return send_to(op, message.buffer, tree->children[0], rc);
    }
    for (int child = 0; child < tree->child_count; ++child) {
        if (PORTION == posted) {
            rc = wait_sent(requests, posted, rc);
            posted = 0;
        }
        if (!mca_coll_adapt_send_copy(&message, tree->children[child], op->tag, op->comm, ADAPT_SENDER_CALL, &rc)) {
            const int started = MCA_PML_CALL(isend(message.buffer, message.count, op->unit, tree->children[child],
                                                   op->tag, MCA_PML_BASE_SEND_STANDARD, op->comm, &requests[posted]));

            (void) mca_coll_adapt_message_begun(started, tree->children[child], op->comm);
            posted += OMPI_SUCCESS == started ? 1 : 0;
            rc = OMPI_SUCCESS == rc ? started : rc;
        }
    }
    return wait_sent(requests, posted, rc);
}

int mca_coll_adapt_single_run(mca_coll_adapt_op_t *op)
{
    int rc = OMPI_SUCCESS;

    if (op->core.task.up) {
        rc = run_up(op);
    }
    return op->core.task.down ? send_down(op, receive_down(op, rc)) : rc;
}
