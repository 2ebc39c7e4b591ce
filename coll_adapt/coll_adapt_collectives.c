/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points: each collective blocking, nonblocking and persistent. All of them describe the call, decide how it
 * is done, and make an operation of it.
 */
#include "coll_adapt.h"

#define UNUSED __opal_attribute_unused__

/* -- how -- */

/* Below this many bytes a message is one segment and latency counts: a tree of low height. */
enum { SHORT_MESSAGE = 16384 };

static size_t bytes_of(const mca_coll_adapt_call_t *call)
{
    return NULL == call->datatype ? 0 : call->datatype->super.size * call->count;
}

/* A tree for who has not chosen one; in-order ones where the operation wants it. */
static mca_coll_adapt_tree_kind_t choose_tree(const mca_coll_adapt_call_t *call)
{
    const bool in_order = NULL != call->op && !ompi_op_is_commute(call->op);

    if (in_order) {
        return bytes_of(call) < SHORT_MESSAGE ? ADAPT_TREE_IN_ORDER_BINOMIAL : ADAPT_TREE_IN_ORDER_BINARY;
    }
    return bytes_of(call) < SHORT_MESSAGE ? ADAPT_TREE_BINOMIAL : ADAPT_TREE_PIPELINE;
}

static mca_coll_adapt_how_t decide(const mca_coll_adapt_call_t *call)
{
    const mca_coll_adapt_settings_t *settings = &mca_coll_adapt_component.settings[call->collective];
    mca_coll_adapt_how_t how = {
        .kind = settings->algorithm,
        .degree = 4,
        .segment_size = (size_t) settings->segment_size,
        .segments = (size_t) settings->segments,
        .sends = settings->max_send_requests,
        .recvs = settings->max_recv_requests,
    };

    /* A user's tree that does not keep the order gives way where the order counts. */
    if (ADAPT_TREE_AUTO == how.kind
        || (NULL != call->op && !ompi_op_is_commute(call->op) && !mca_coll_adapt_trees[how.kind].in_order)) {
        how.kind = choose_tree(call);
    }
    if (2 <= mca_coll_adapt_component.verbose && 0 == ompi_comm_rank(call->comm)) {
        opal_output(mca_coll_adapt_component.output,
                    "coll:adapt: %s (cid %d): %s, %zu bytes: tree %s, segments of %zu bytes, %d sends, %d receives",
                    call->comm->c_name, call->comm->c_contextid, mca_coll_adapt_collective_names[call->collective],
                    bytes_of(call), mca_coll_adapt_trees[how.kind].name, how.segment_size, how.sends, how.recvs);
    }
    return how;
}

/* -- the three ways of a call -- */

static int run(const mca_coll_adapt_call_t *call)
{
    const mca_coll_adapt_how_t how = decide(call);

    return mca_coll_adapt_op_run(call, &how);
}

static int post(const mca_coll_adapt_call_t *call, ompi_request_t **request)
{
    const mca_coll_adapt_how_t how = decide(call);

    return mca_coll_adapt_op_post(call, &how, request);
}

static int init(const mca_coll_adapt_call_t *call, ompi_request_t **request)
{
    const mca_coll_adapt_how_t how = decide(call);

    return mca_coll_adapt_op_init(call, &how, request);
}

/* -- bcast -- */

static mca_coll_adapt_call_t bcast_call(void *buffer, int count, ompi_datatype_t *datatype, int root,
                                        ompi_communicator_t *comm)
{
    return (mca_coll_adapt_call_t){ .collective = ADAPT_BCAST,
                                    .rbuf = buffer,
                                    .count = (size_t) count,
                                    .datatype = datatype,
                                    .root = root,
                                    .comm = comm };
}

int mca_coll_adapt_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                         mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = bcast_call(buffer, count, datatype, root, comm);

    return run(&call);
}

int mca_coll_adapt_ibcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                          ompi_request_t **request, mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = bcast_call(buffer, count, datatype, root, comm);

    return post(&call, request);
}

int mca_coll_adapt_bcast_init(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                              struct ompi_info_t *info UNUSED, ompi_request_t **request,
                              mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = bcast_call(buffer, count, datatype, root, comm);

    return init(&call, request);
}

/* -- reduce -- */

static mca_coll_adapt_call_t reduce_call(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype,
                                         ompi_op_t *op, int root, ompi_communicator_t *comm)
{
    return (mca_coll_adapt_call_t){ .collective = ADAPT_REDUCE,
                                    .sbuf = sbuf,
                                    .rbuf = rbuf,
                                    .count = (size_t) count,
                                    .datatype = datatype,
                                    .op = op,
                                    .root = root,
                                    .comm = comm };
}

int mca_coll_adapt_reduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                          ompi_communicator_t *comm, mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = reduce_call(sbuf, rbuf, count, datatype, op, root, comm);

    return run(&call);
}

int mca_coll_adapt_ireduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                           ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = reduce_call(sbuf, rbuf, count, datatype, op, root, comm);

    return post(&call, request);
}

int mca_coll_adapt_reduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                               int root, ompi_communicator_t *comm, struct ompi_info_t *info UNUSED,
                               ompi_request_t **request, mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = reduce_call(sbuf, rbuf, count, datatype, op, root, comm);

    return init(&call, request);
}

/* -- allreduce: a reduce to rank 0 and a broadcast from there, fused segment by segment -- */

static mca_coll_adapt_call_t allreduce_call(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype,
                                            ompi_op_t *op, ompi_communicator_t *comm)
{
    mca_coll_adapt_call_t call = reduce_call(sbuf, rbuf, count, datatype, op, 0, comm);

    call.collective = ADAPT_ALLREDUCE;
    return call;
}

int mca_coll_adapt_allreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                             ompi_communicator_t *comm, mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = allreduce_call(sbuf, rbuf, count, datatype, op, comm);

    return run(&call);
}

int mca_coll_adapt_iallreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                              ompi_communicator_t *comm, ompi_request_t **request,
                              mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = allreduce_call(sbuf, rbuf, count, datatype, op, comm);

    return post(&call, request);
}

int mca_coll_adapt_allreduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                                  ompi_communicator_t *comm, struct ompi_info_t *info UNUSED,
                                  ompi_request_t **request, mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = allreduce_call(sbuf, rbuf, count, datatype, op, comm);

    return init(&call, request);
}

/* -- barrier: an allreduce of nothing -- */

static mca_coll_adapt_call_t barrier_call(ompi_communicator_t *comm)
{
    return (mca_coll_adapt_call_t){ .collective = ADAPT_BARRIER, .comm = comm };
}

int mca_coll_adapt_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = barrier_call(comm);

    return run(&call);
}

int mca_coll_adapt_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                            mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = barrier_call(comm);

    return post(&call, request);
}

int mca_coll_adapt_barrier_init(ompi_communicator_t *comm, struct ompi_info_t *info UNUSED, ompi_request_t **request,
                                mca_coll_base_module_t *module UNUSED)
{
    const mca_coll_adapt_call_t call = barrier_call(comm);

    return init(&call, request);
}
