/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast (HAN paper, section III-A): each segment goes from the root to the node leaders (ib), and from each leader
 * to the ranks of its node (sb).
 */
#include "coll_han.h"

static const mca_coll_han_stage_t stages[] = {
    { "ib", true, HAN_UP, HAN_OPERATION_BCAST },
    { "sb", false, HAN_LOW, HAN_OPERATION_BCAST },
};
/* The root's node broadcasts first, which also reaches its leader. */
static const mca_coll_han_stage_t stages_at_root[] = {
    { "sb", false, HAN_LOW, HAN_OPERATION_BCAST },
    { "ib", true, HAN_UP, HAN_OPERATION_BCAST },
};

const mca_coll_han_stages_t mca_coll_han_bcast_stages = { stages, stages_at_root, 2 };

int mca_coll_han_perform_bcast(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params,
                               ompi_request_t **request)
{
    const mca_coll_han_side_t *side = &args->recv;
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_bcast_call(side->buffer, side->count, side->type, args->root, han->comm);

    if (HAN_BLOCKING == args->form && 0 == mca_coll_adapt_call_bytes(&call)) {
        return OMPI_SUCCESS;
    }
    return NULL == mca_coll_han_stages(HAN_BCAST, params->algorithm)
               ? mca_coll_han_call_tree(han, args, &call, params, request)
               : mca_coll_han_levels(han, HAN_BCAST, &call, params);
}
