/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Reduce_scatter_block, MPI_Reduce_scatter: as many reduces as there are ranks, each over the topology-aware tree
 * of its root, with one request. Between the nodes these trees are chains that end at different nodes: together a ring.
 */
#include "coll_han.h"

#include <stdlib.h>

/* The arguments. */
struct work {
    const void *sbuf;
    void *rbuf;
    const int *counts; /* NULL: count of each rank */
    int count;
    ompi_datatype_t *type;
    ompi_op_t *op;
};

static int count_of(const struct work *work, int rank)
{
    return NULL == work->counts ? work->count : work->counts[rank];
}

/* Of a block, on average. */
static size_t bytes_of(const struct work *work, int size)
{
    size_t units = 0;

    for (int rank = 0; rank < size; ++rank) {
        units += (size_t) count_of(work, rank);
    }
    return units * work->type->super.size / (size_t) size;
}

static void make_calls(const mca_coll_han_module_t *han, const struct work *work, void *result,
                       mca_coll_adapt_call_t *calls)
{
    const int size = ompi_comm_size(han->comm), rank = ompi_comm_rank(han->comm);
    const char *operand = MPI_IN_PLACE == work->sbuf ? work->rbuf : work->sbuf;
    ptrdiff_t lb, extent;

    ompi_datatype_get_extent(work->type, &lb, &extent);
    for (int root = 0; root < size; ++root) {
        const int count = count_of(work, root);

        calls[root] = mca_coll_adapt_reduce_call(ADAPT_REDUCE, operand, root == rank ? result : NULL, count, work->type,
                                                 work->op, root, han->comm);
        calls[root].next = root + 1 < size ? &calls[root + 1] : NULL;
        operand += count * extent;
    }
}

/* In place, the result may not be where operands still are: it is put aside until all are through. */
static int perform_in_place(mca_coll_han_module_t *han, const struct work *work, const mca_coll_han_params_t *params,
                            mca_coll_adapt_call_t *calls)
{
    const int count = count_of(work, ompi_comm_rank(han->comm));
    ptrdiff_t gap;
    const ptrdiff_t span = opal_datatype_span(&work->type->super, (size_t) count, &gap);
    char *aside = malloc(0 == span ? 1 : (size_t) span);
    int rc;

    if (NULL == aside) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    make_calls(han, work, aside - gap, calls);
    rc = mca_coll_han_call_tree(han, HAN_BLOCKING, calls, params, NULL);
    if (OMPI_SUCCESS == rc && 0 > ompi_datatype_copy_content_same_ddt(work->type, count, work->rbuf, aside - gap)) {
        rc = OMPI_ERROR;
    }
    free(aside);
    return rc;
}

static int perform(mca_coll_han_module_t *han, mca_coll_han_collective_t collective, mca_coll_han_form_t form,
                   const struct work *work, ompi_request_t **request)
{
    const int size = ompi_comm_size(han->comm);
    const bool in_place = MPI_IN_PLACE == work->sbuf;
    mca_coll_adapt_call_t *calls;
    mca_coll_han_params_t params;
    int rc = mca_coll_han_call_decide(han, collective, form, bytes_of(work, size), &params);

    /* MPI_IN_PLACE is given by all ranks or by none. */
    if (OMPI_SUCCESS == rc && (HAN_FALLBACK == params.algorithm || (in_place && HAN_BLOCKING != form))) {
        return HAN_TO_FALLBACK;
    }
    calls = OMPI_SUCCESS == rc ? malloc((size_t) size * sizeof(*calls)) : NULL;
    if (NULL == calls) {
        return OMPI_SUCCESS == rc ? OMPI_ERR_OUT_OF_RESOURCE : rc;
    }
    if (in_place) {
        rc = perform_in_place(han, work, &params, calls);
    } else {
        make_calls(han, work, work->rbuf, calls);
        rc = mca_coll_han_call_tree(han, form, calls, &params, request);
    }
    free(calls);
    return rc;
}

int mca_coll_han_reduce_scatter_block_intra(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *datatype,
                                            ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_REDUCE_SCATTER_BLOCK][HAN_BLOCKING];
    const struct work work = { .sbuf = sbuf, .rbuf = rbuf, .count = rcount, .type = datatype, .op = op };
    const int rc = perform(han, HAN_REDUCE_SCATTER_BLOCK, HAN_BLOCKING, &work, NULL);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.reduce_scatter_block(sbuf, rbuf, rcount, datatype, op, comm, fallback->module);
}

int mca_coll_han_ireduce_scatter_block(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *datatype,
                                       ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request,
                                       mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_REDUCE_SCATTER_BLOCK][HAN_NONBLOCKING];
    const struct work work = { .sbuf = sbuf, .rbuf = rbuf, .count = rcount, .type = datatype, .op = op };
    const int rc = perform(han, HAN_REDUCE_SCATTER_BLOCK, HAN_NONBLOCKING, &work, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.ireduce_scatter_block(sbuf, rbuf, rcount, datatype, op, comm, request, fallback->module);
}

int mca_coll_han_reduce_scatter_intra(const void *sbuf, void *rbuf, const int *rcounts, ompi_datatype_t *datatype,
                                      ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_REDUCE_SCATTER][HAN_BLOCKING];
    const struct work work = { .sbuf = sbuf, .rbuf = rbuf, .counts = rcounts, .type = datatype, .op = op };
    const int rc = perform(han, HAN_REDUCE_SCATTER, HAN_BLOCKING, &work, NULL);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.reduce_scatter(sbuf, rbuf, rcounts, datatype, op, comm, fallback->module);
}

int mca_coll_han_ireduce_scatter(const void *sbuf, void *rbuf, const int *rcounts, ompi_datatype_t *datatype,
                                 ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request,
                                 mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_REDUCE_SCATTER][HAN_NONBLOCKING];
    const struct work work = { .sbuf = sbuf, .rbuf = rbuf, .counts = rcounts, .type = datatype, .op = op };
    const int rc = perform(han, HAN_REDUCE_SCATTER, HAN_NONBLOCKING, &work, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.ireduce_scatter(sbuf, rbuf, rcounts, datatype, op, comm, request, fallback->module);
}
