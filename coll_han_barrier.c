/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Barrier: up and down the topology-aware tree, with nothing in the messages; or an allreduce of
 * nothing: level by level (sr ia sb), or through the leaders. */
#include "coll_han.h"

int mca_coll_han_perform_barrier(han_module_t *han, const mca_coll_han_args_t *args,
                                 const mca_coll_han_params_t *params, ompi_request_t **request)
{
    const mca_coll_adapt_call_t call = mca_coll_adapt_barrier_call(han->comm);
    mca_coll_han_args_t nothing = *args;

    switch (params->algorithm) {
    case HAN_LEADERS:
        nothing.send.type = nothing.recv.type = MPI_INT;
        nothing.op = MPI_SUM;
        return mca_coll_han_allreduce_leaders(han, &nothing, request);
    case HAN_TREE:
        return mca_coll_han_call_tree(han, args, &call, params, request);
    default:
        return mca_coll_han_levels(han, HAN_BARRIER, &call, params);
    }
}
