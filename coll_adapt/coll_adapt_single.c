/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A blocking operation of one segment. There is nothing to overlap, so that events would be overhead: each rank does
 * its steps one after the other, on the same tree, with the same data functions and in the same order of operands.
 */
#include "coll_adapt.h"

#include "ompi/mca/pml/pml.h"

/* Receives from or sends to all children at once; more children than this get their turn in portions. */
enum { PORTION = 16 };

static int send_to(const mca_coll_adapt_op_t *op, void *buffer, int peer, mca_coll_adapt_half_t half)
{
    return MCA_PML_CALL(send(buffer, op->count, op->unit, peer, op->tags[half], MCA_PML_BASE_SEND_STANDARD, op->comm));
}

/* The first error; a request that could not be waited for is freed by who waits. */
static int wait_all(ompi_request_t **requests, size_t count, int rc)
{
    for (size_t i = 0; i < count; ++i) {
        const int waited = ompi_request_wait(&requests[i], MPI_STATUS_IGNORE);

        rc = OMPI_SUCCESS == rc ? waited : rc;
    }
    return rc;
}

/* Combines in order, from the inlets which are filled in whatever order. */
static int receive_up(mca_coll_adapt_op_t *op)
{
    mca_coll_adapt_core_t *core = &op->core;
    const mca_coll_adapt_tree_t *tree = &core->task.tree;
    ompi_request_t *requests[PORTION];
    int rc = OMPI_SUCCESS;

    for (int turn = 0; turn <= tree->child_count && OMPI_SUCCESS == rc; turn += PORTION) {
        const int end = turn + PORTION < tree->child_count + 1 ? turn + PORTION : tree->child_count + 1;
        size_t posted = 0;

        for (int t = turn; t < end && OMPI_SUCCESS == rc; ++t) {
            const int child = mca_coll_adapt_core_child_of_turn(core, t);

            if (-1 == child) {
                requests[posted++] = MPI_REQUEST_NULL;
                continue;
            }
            rc = MCA_PML_CALL(irecv(core->task.work->inlet(core, child, 0), op->count, op->unit, tree->children[child],
                                    op->tags[ADAPT_UP], op->comm, &requests[posted]));
            posted += OMPI_SUCCESS == rc ? 1 : 0;
        }
        for (size_t i = 0; i < posted; ++i) {
            const int child = mca_coll_adapt_core_child_of_turn(core, turn + (int) i);

            rc = -1 == child ? rc : wait_all(&requests[i], 1, rc);
            if (OMPI_SUCCESS == rc) {
                rc = core->task.work->combine(core, 0, -1 == child ? NULL : core->task.work->inlet(core, child, 0),
                                              0 == turn + (int) i);
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

    return OMPI_SUCCESS == rc && -1 != parent ? send_to(op, core->task.work->outlet(core, 0), parent, ADAPT_UP) : rc;
}

static int receive_down(mca_coll_adapt_op_t *op)
{
    mca_coll_adapt_core_t *core = &op->core;
    const mca_coll_adapt_work_t *work = core->task.work;
    int rc;

    if (-1 == core->task.tree.parent) {
        return NULL == work->pack ? OMPI_SUCCESS : work->pack(core, 0);
    }
    rc = MCA_PML_CALL(recv(work->place(core, 0), op->count, op->unit, core->task.tree.parent, op->tags[ADAPT_DOWN],
                           op->comm, MPI_STATUS_IGNORE));
    return OMPI_SUCCESS == rc && NULL != work->deliver ? work->deliver(core, 0) : rc;
}

static int send_down(mca_coll_adapt_op_t *op)
{
    mca_coll_adapt_core_t *core = &op->core;
    const mca_coll_adapt_tree_t *tree = &core->task.tree;
    ompi_request_t *requests[PORTION];
    size_t posted = 0;
    int rc = OMPI_SUCCESS;

    if (1 == tree->child_count) {
        return send_to(op, core->task.work->place(core, 0), tree->children[0], ADAPT_DOWN);
    }
    for (int child = 0; child < tree->child_count && OMPI_SUCCESS == rc; ++child) {
        if (PORTION == posted) {
            rc = wait_all(requests, posted, rc);
            posted = 0;
        }
        if (OMPI_SUCCESS == rc) {
            rc = MCA_PML_CALL(isend(core->task.work->place(core, 0), op->count, op->unit, tree->children[child],
                                    op->tags[ADAPT_DOWN], MCA_PML_BASE_SEND_STANDARD, op->comm, &requests[posted]));
            posted += OMPI_SUCCESS == rc ? 1 : 0;
        }
    }
    return wait_all(requests, posted, rc);
}

int mca_coll_adapt_single_run(mca_coll_adapt_op_t *op)
{
    int rc = OMPI_SUCCESS;

    if (op->core.task.up) {
        rc = run_up(op);
    }
    if (OMPI_SUCCESS == rc && op->core.task.down) {
        rc = receive_down(op);
    }
    return OMPI_SUCCESS == rc && op->core.task.down ? send_down(op) : rc;
}
