/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Reduce: over the topology-aware tree. */
#include "coll_han.h"

int mca_coll_han_perform_reduce(mca_coll_han_module_t *han, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    const mca_coll_han_side_t *side = &args->recv;
    const mca_coll_adapt_call_t call = mca_coll_adapt_reduce_call(
        ADAPT_REDUCE, args->send.buffer, side->buffer, side->count, side->type, args->op, args->root, han->comm);
    mca_coll_han_params_t params;
    const int rc = mca_coll_han_call_decide(han, args, &params);

    return OMPI_SUCCESS == rc ? mca_coll_han_call_tree(han, args->form, &call, &params, request) : rc;
}
