/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allgather, MPI_Allgatherv: as many broadcasts as there are ranks, each over the topology-aware tree of its root,
 * with one request. Between the nodes these trees are chains that begin at different nodes: together they are a ring.
 */
#include "coll_han.h"

#include <stdlib.h>

/* The receive buffer. */
struct target {
    void *rbuf;
    ompi_datatype_t *type;
    const int *counts; /* NULL: count of each rank */
    const int *places; /* NULL: one behind the other; in extents */
    int count;
};

static int count_of(const struct target *target, int rank)
{
    return NULL == target->counts ? target->count : target->counts[rank];
}

static void *block_of(const struct target *target, int rank)
{
    const ptrdiff_t place = NULL == target->places ? (ptrdiff_t) rank * target->count : target->places[rank];
    ptrdiff_t lb, extent;

    ompi_datatype_get_extent(target->type, &lb, &extent);
    return (char *) target->rbuf + place * extent;
}

/* Of a block, on average. */
static size_t bytes_of(const struct target *target, int size)
{
    size_t units = 0;

    for (int rank = 0; rank < size; ++rank) {
        units += (size_t) count_of(target, rank);
    }
    return units * target->type->super.size / (size_t) size;
}

static int perform(mca_coll_han_module_t *han, mca_coll_han_collective_t collective, mca_coll_han_form_t form,
                   const void *sbuf, int scount, ompi_datatype_t *stype, const struct target *target,
                   ompi_request_t **request)
{
    const int size = ompi_comm_size(han->comm), rank = ompi_comm_rank(han->comm);
    mca_coll_adapt_call_t *calls;
    mca_coll_han_params_t params;
    int rc = mca_coll_han_call_decide(han, collective, form, bytes_of(target, size), &params);

    if (OMPI_SUCCESS != rc || HAN_FALLBACK == params.algorithm) {
        return OMPI_SUCCESS == rc ? HAN_TO_FALLBACK : rc;
    }
    calls = malloc((size_t) size * sizeof(*calls));
    if (NULL == calls) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int root = 0; root < size; ++root) {
        calls[root]
            = mca_coll_adapt_bcast_call(block_of(target, root), count_of(target, root), target->type, root, han->comm);
        calls[root].next = root + 1 < size ? &calls[root + 1] : NULL;
    }
    if (MPI_IN_PLACE != sbuf) {
        rc = ompi_datatype_sndrcv((void *) sbuf, scount, stype, block_of(target, rank), count_of(target, rank),
                                  target->type);
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_han_call_tree(han, form, calls, &params, request);
    }
    free(calls);
    return rc;
}

int mca_coll_han_allgather_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                                 ompi_datatype_t *rtype, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_ALLGATHER][HAN_BLOCKING];
    const struct target target = { .rbuf = rbuf, .type = rtype, .count = rcount };
    const int rc = perform(han, HAN_ALLGATHER, HAN_BLOCKING, sbuf, scount, stype, &target, NULL);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.allgather(sbuf, scount, stype, rbuf, rcount, rtype, comm, fallback->module);
}

int mca_coll_han_iallgather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                            ompi_datatype_t *rtype, ompi_communicator_t *comm, ompi_request_t **request,
                            mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_ALLGATHER][HAN_NONBLOCKING];
    const struct target target = { .rbuf = rbuf, .type = rtype, .count = rcount };
    const int rc = perform(han, HAN_ALLGATHER, HAN_NONBLOCKING, sbuf, scount, stype, &target, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.iallgather(sbuf, scount, stype, rbuf, rcount, rtype, comm, request, fallback->module);
}

int mca_coll_han_allgatherv_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                                  const int *places, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                                  mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_ALLGATHERV][HAN_BLOCKING];
    const struct target target = { .rbuf = rbuf, .type = rtype, .counts = rcounts, .places = places };
    const int rc = perform(han, HAN_ALLGATHERV, HAN_BLOCKING, sbuf, scount, stype, &target, NULL);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.allgatherv(sbuf, scount, stype, rbuf, rcounts, places, rtype, comm, fallback->module);
}

int mca_coll_han_iallgatherv(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                             const int *places, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                             ompi_request_t **request, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_ALLGATHERV][HAN_NONBLOCKING];
    const struct target target = { .rbuf = rbuf, .type = rtype, .counts = rcounts, .places = places };
    const int rc = perform(han, HAN_ALLGATHERV, HAN_NONBLOCKING, sbuf, scount, stype, &target, request);

    return HAN_TO_FALLBACK != rc ? rc
                                 : fallback->fn.iallgatherv(sbuf, scount, stype, rbuf, rcounts, places, rtype, comm,
                                                            request, fallback->module);
}
