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
    mca_coll_han_params_t params;
    const int rc = mca_coll_han_call_decide(han, HAN_ALLREDUCE, HAN_BLOCKING, &call, &params);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (HAN_FALLBACK == params.algorithm) {
        return fallback->fn.allreduce(sbuf, rbuf, count, datatype, op, comm, fallback->module);
    }
    return mca_coll_han_call_tree(han, HAN_BLOCKING, &call, &params, NULL);
}

int mca_coll_han_iallreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                            ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_ALLREDUCE][HAN_NONBLOCKING];
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, sbuf, rbuf, count, datatype, op, 0, comm);
    mca_coll_han_params_t params;
    const int rc = mca_coll_han_call_decide(han, HAN_ALLREDUCE, HAN_NONBLOCKING, &call, &params);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (HAN_FALLBACK == params.algorithm) {
        return fallback->fn.iallreduce(sbuf, rbuf, count, datatype, op, comm, request, fallback->module);
    }
    return mca_coll_han_call_tree(han, HAN_NONBLOCKING, &call, &params, request);
}

int mca_coll_han_allreduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                                ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_ALLREDUCE][HAN_PERSISTENT];
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, sbuf, rbuf, count, datatype, op, 0, comm);
    mca_coll_han_params_t params;
    const int rc = mca_coll_han_call_decide(han, HAN_ALLREDUCE, HAN_PERSISTENT, &call, &params);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (HAN_FALLBACK == params.algorithm) {
        return fallback->fn.allreduce_init(sbuf, rbuf, count, datatype, op, comm, info, request, fallback->module);
    }
    return mca_coll_han_call_tree(han, HAN_PERSISTENT, &call, &params, request);
}
