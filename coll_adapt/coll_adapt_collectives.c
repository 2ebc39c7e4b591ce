/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points: each collective blocking, nonblocking and persistent. All of them describe the call, decide how it
 * is done, and make an operation of it.
 */
#include "coll_adapt.h"

#include <stdio.h>

#include "common/coll_end.h"

#define UNUSED __opal_attribute_unused__

/* -- how -- */

/* Up to this many bytes a message is one segment and latency counts: a tree of low height, recursive doubling. */
enum { SHORT_MESSAGE = 16384, SHORTEST_MESSAGE = 2048 };

/* A ring of more ranks moves hardly less than a chain, which is one operation instead of many. */
enum { MOST_IN_RING = 16 };

static bool keeps_order(int algorithm)
{
    return ADAPT_RECURSIVE_DOUBLING == algorithm
           || (ADAPT_TREE_COUNT > algorithm && mca_coll_adapt_trees[algorithm].in_order);
}

/* An algorithm for who has not chosen one; in-order ones where the operation wants it. */
static int choose(const mca_coll_adapt_call_t *call, bool in_order)
{
    const size_t bytes = mca_coll_adapt_call_bytes(call);

    if (ADAPT_ALLREDUCE == call->collective && SHORTEST_MESSAGE >= bytes) {
        return ADAPT_RECURSIVE_DOUBLING;
    }
    if (in_order) {
        return SHORT_MESSAGE >= bytes ? ADAPT_TREE_IN_ORDER_BINOMIAL : ADAPT_TREE_IN_ORDER_BINARY;
    }
    if (SHORT_MESSAGE >= bytes) {
        return ADAPT_TREE_BINOMIAL;
    }
    return ADAPT_ALLREDUCE == call->collective ? ADAPT_RING : ADAPT_TREE_PIPELINE;
}

/* An algorithm that does not keep the order gives way where the order counts. */
static int settle(const mca_coll_adapt_call_t *call, int algorithm)
{
    const bool in_order = NULL != call->op && !ompi_op_is_commute(call->op);

    return ADAPT_TREE_AUTO == algorithm || (in_order && !keeps_order(algorithm)) ? choose(call, in_order) : algorithm;
}

static void decide(const mca_coll_adapt_call_t *call, mca_coll_adapt_how_t *how)
{
    const mca_coll_adapt_settings_t *settings = &mca_coll_adapt_component.settings[call->collective];
    const int algorithm = settle(call, settings->algorithm);

    *how = (mca_coll_adapt_how_t){
        .kind = (mca_coll_adapt_tree_kind_t) algorithm,
        .degree = 4,
        .groups = ADAPT_TREE_COUNT > algorithm ? settings->groups : 1,
        .segment_size = (size_t) settings->segment_size,
        .segments = (size_t) settings->segments,
        .sends = settings->max_send_requests,
        .recvs = settings->max_recv_requests,
    };
    if (2 <= mca_coll_adapt_component.verbose && 0 == ompi_comm_rank(call->comm)) {
        const bool counted = 0 != how->segments;
        char groups[32] = "";

        if (1 < how->groups) {
            snprintf(groups, sizeof(groups), " in %d groups", how->groups);
        }

        opal_output(mca_coll_adapt_component.output,
                    "coll:adapt: %s (cid %d): %s, %zu bytes: %s%s, %s%zu%s, %d sends, %d receives", call->comm->c_name,
                    call->comm->c_contextid, mca_coll_adapt_collective_names[call->collective],
                    mca_coll_adapt_call_bytes(call),
                    ADAPT_TREE_COUNT > algorithm ? mca_coll_adapt_trees[algorithm].name
                    : ADAPT_RING == algorithm    ? "ring"
                                                 : "recursive_doubling",
                    groups, counted ? "" : "segments of ", counted ? how->segments : how->segment_size,
                    counted ? " segments" : " bytes", how->sends, how->recvs);
    }
}

/* A block for each of several ranks, in a chain that ends there and begins there. */
static int do_ring(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call, mca_coll_adapt_how_t *how,
                   mca_coll_adapt_form_t form, ompi_request_t **request)
{
    const int size = ompi_comm_size(call->comm), blocks = size < MOST_IN_RING ? size : MOST_IN_RING;
    mca_coll_adapt_tree_t trees[MOST_IN_RING];
    const mca_coll_adapt_tree_t *pointers[MOST_IN_RING];
    int made = 0, rc = OMPI_SUCCESS;

    for (; made < blocks && OMPI_SUCCESS == rc; ++made) {
        const int root = (int) ((long long) made * size / blocks);

        if (0
            != mca_coll_adapt_tree_make(&trees[made], how->kind, how->degree, size, root, ompi_comm_rank(call->comm))) {
            rc = OMPI_ERR_OUT_OF_RESOURCE;
            break;
        }
        pointers[made] = &trees[made];
    }
    if (OMPI_SUCCESS == rc) {
        how->trees = pointers;
        how->tree_count = blocks;
        rc = mca_coll_adapt_op_call(module, call, how, form, request);
    }
    while (0 < made) {
        mca_coll_adapt_tree_free(&trees[--made]);
    }
    return rc;
}

static int dispatch(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call, mca_coll_adapt_how_t *how,
                    mca_coll_adapt_form_t form, ompi_request_t **request)
{
    int rc;

    switch ((int) how->kind) {
    case ADAPT_RING:
        how->kind = ADAPT_TREE_PIPELINE;
        rc = do_ring(module, call, how, form, request);
        break;
    case ADAPT_RECURSIVE_DOUBLING:
        rc = mca_coll_adapt_doubling(module, call, form, request);
        break;
    default:
        rc = mca_coll_adapt_op_call(module, call, how, form, request);
        break;
    }
    return coll_result(rc, "adapt", mca_coll_adapt_collective_names[call->collective], call->comm);
}

static int perform(mca_coll_base_module_t *module, const mca_coll_adapt_call_t *call, mca_coll_adapt_form_t form,
                   ompi_request_t **request)
{
    mca_coll_adapt_how_t how;

    /* Without data some ranks may not be here: those with a count of 0 MPI has let go. Nobody may take tags. */
    if (ADAPT_PERSISTENT != form && ADAPT_BARRIER != call->collective && 0 == mca_coll_adapt_call_bytes(call)) {
        if (NULL != request) {
            *request = &ompi_request_empty;
        }
        return OMPI_SUCCESS;
    }
    decide(call, &how);
    return dispatch((mca_coll_adapt_event_module_t *) module, call, &how, form, request);
}

int mca_coll_adapt_call(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call,
                        const mca_coll_adapt_how_t *wanted, mca_coll_adapt_form_t form, ompi_request_t **request)
{
    mca_coll_adapt_how_t how = *wanted;

    if (NULL == how.trees) {
        how.kind = (mca_coll_adapt_tree_kind_t) settle(call, how.kind);
    }
    return dispatch(module, call, &how, form, request);
}

/* -- bcast -- */

int mca_coll_adapt_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                         mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call = mca_coll_adapt_bcast_call(buffer, count, datatype, root, comm);

    return perform(module, &call, ADAPT_BLOCKING, NULL);
}

int mca_coll_adapt_ibcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                          ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call = mca_coll_adapt_bcast_call(buffer, count, datatype, root, comm);

    return perform(module, &call, ADAPT_NONBLOCKING, request);
}

int mca_coll_adapt_bcast_init(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                              struct ompi_info_t *info UNUSED, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call = mca_coll_adapt_bcast_call(buffer, count, datatype, root, comm);

    return perform(module, &call, ADAPT_PERSISTENT, request);
}

/* -- reduce -- */

int mca_coll_adapt_reduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                          ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_REDUCE, sbuf, rbuf, count, datatype, op, root, comm);

    return perform(module, &call, ADAPT_BLOCKING, NULL);
}

int mca_coll_adapt_ireduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                           ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_REDUCE, sbuf, rbuf, count, datatype, op, root, comm);

    return perform(module, &call, ADAPT_NONBLOCKING, request);
}

int mca_coll_adapt_reduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                               int root, ompi_communicator_t *comm, struct ompi_info_t *info UNUSED,
                               ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_REDUCE, sbuf, rbuf, count, datatype, op, root, comm);

    return perform(module, &call, ADAPT_PERSISTENT, request);
}

/* -- allreduce: over a tree a reduce to rank 0 and a broadcast from there, fused segment by segment -- */

int mca_coll_adapt_allreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                             ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, sbuf, rbuf, count, datatype, op, 0, comm);

    return perform(module, &call, ADAPT_BLOCKING, NULL);
}

int mca_coll_adapt_iallreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                              ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, sbuf, rbuf, count, datatype, op, 0, comm);

    return perform(module, &call, ADAPT_NONBLOCKING, request);
}

int mca_coll_adapt_allreduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                                  ompi_communicator_t *comm, struct ompi_info_t *info UNUSED, ompi_request_t **request,
                                  mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, sbuf, rbuf, count, datatype, op, 0, comm);

    return perform(module, &call, ADAPT_PERSISTENT, request);
}

/* -- barrier: an allreduce of nothing -- */

int mca_coll_adapt_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call = mca_coll_adapt_barrier_call(comm);

    return perform(module, &call, ADAPT_BLOCKING, NULL);
}

int mca_coll_adapt_ibarrier(ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call = mca_coll_adapt_barrier_call(comm);

    return perform(module, &call, ADAPT_NONBLOCKING, request);
}

int mca_coll_adapt_barrier_init(ompi_communicator_t *comm, struct ompi_info_t *info UNUSED, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    const mca_coll_adapt_call_t call = mca_coll_adapt_barrier_call(comm);

    return perform(module, &call, ADAPT_PERSISTENT, request);
}
