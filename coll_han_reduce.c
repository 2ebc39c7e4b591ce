/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Reduce: over the topology-aware tree, in all forms. */
#include "coll_han.h"

int mca_coll_han_reduce_intra(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                              int root, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_REDUCE][HAN_BLOCKING];
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_REDUCE, sbuf, rbuf, count, datatype, op, root, comm);
    const int rc = mca_coll_han_call(han, HAN_REDUCE, HAN_BLOCKING, &call, NULL);

    return HAN_TO_FALLBACK != rc ? rc
                                 : fallback->fn.reduce(sbuf, rbuf, count, datatype, op, root, comm, fallback->module);
}

int mca_coll_han_ireduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                         ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_REDUCE][HAN_NONBLOCKING];
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_REDUCE, sbuf, rbuf, count, datatype, op, root, comm);
    const int rc = mca_coll_han_call(han, HAN_REDUCE, HAN_NONBLOCKING, &call, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.ireduce(sbuf, rbuf, count, datatype, op, root, comm, request, fallback->module);
}

int mca_coll_han_reduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                             int root, ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                             mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_REDUCE][HAN_PERSISTENT];
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_REDUCE, sbuf, rbuf, count, datatype, op, root, comm);
    const int rc = mca_coll_han_call(han, HAN_REDUCE, HAN_PERSISTENT, &call, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.reduce_init(sbuf, rbuf, count, datatype, op, root, comm, info, request, fallback->module);
}
