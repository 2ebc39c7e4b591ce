/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Barrier: up and down the topology-aware tree, with nothing in the messages. */
#include "coll_han.h"

int mca_coll_han_barrier_intra(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_BARRIER][HAN_BLOCKING];
    const mca_coll_adapt_call_t call = mca_coll_adapt_barrier_call(comm);
    const int rc = mca_coll_han_call(han, HAN_BARRIER, HAN_BLOCKING, &call, NULL);

    return HAN_TO_FALLBACK != rc ? rc : fallback->fn.barrier(comm, fallback->module);
}

int mca_coll_han_ibarrier(ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_BARRIER][HAN_NONBLOCKING];
    const mca_coll_adapt_call_t call = mca_coll_adapt_barrier_call(comm);
    const int rc = mca_coll_han_call(han, HAN_BARRIER, HAN_NONBLOCKING, &call, request);

    return HAN_TO_FALLBACK != rc ? rc : fallback->fn.ibarrier(comm, request, fallback->module);
}

int mca_coll_han_barrier_init(ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                              mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_BARRIER][HAN_PERSISTENT];
    const mca_coll_adapt_call_t call = mca_coll_adapt_barrier_call(comm);
    const int rc = mca_coll_han_call(han, HAN_BARRIER, HAN_PERSISTENT, &call, request);

    return HAN_TO_FALLBACK != rc ? rc : fallback->fn.barrier_init(comm, info, request, fallback->module);
}
