/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Allreduce: up and down the topology-aware tree; long ones as a ring of the nodes. */
#include "coll_han.h"

int mca_coll_han_allreduce_intra(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                                 ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_ALLREDUCE][HAN_BLOCKING];
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, sbuf, rbuf, count, datatype, op, 0, comm);
    const int rc = mca_coll_han_call(han, HAN_ALLREDUCE, HAN_BLOCKING, &call, NULL);

    return HAN_TO_FALLBACK != rc ? rc : fallback->fn.allreduce(sbuf, rbuf, count, datatype, op, comm, fallback->module);
}

int mca_coll_han_iallreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                            ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_ALLREDUCE][HAN_NONBLOCKING];
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, sbuf, rbuf, count, datatype, op, 0, comm);
    const int rc = mca_coll_han_call(han, HAN_ALLREDUCE, HAN_NONBLOCKING, &call, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.iallreduce(sbuf, rbuf, count, datatype, op, comm, request, fallback->module);
}

int mca_coll_han_allreduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                                ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_ALLREDUCE][HAN_PERSISTENT];
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, sbuf, rbuf, count, datatype, op, 0, comm);
    const int rc = mca_coll_han_call(han, HAN_ALLREDUCE, HAN_PERSISTENT, &call, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.allreduce_init(sbuf, rbuf, count, datatype, op, comm, info, request, fallback->module);
}
