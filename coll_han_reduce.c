/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Reduce (HAN paper, section III): each segment is combined in every node at its leader (sr), and then among the
 * leaders (ir). Over the topology-aware tree in all forms.
 */
#include "coll_han.h"

static const mca_coll_han_stage_t stages[] = {
    { "sr", false, HAN_LOW, HAN_OPERATION_REDUCE },
    { "ir", true, HAN_UP, HAN_OPERATION_REDUCE },
};
/*
 * The mirror image of a broadcast: to what the other nodes have the leader adds its own part, and the root's node
 * combines last, at the root. That is not rank order: see fits().
 */
static const mca_coll_han_stage_t stages_at_root[] = {
    { "ir", true, HAN_UP, HAN_OPERATION_REDUCE },
    { "sr", false, HAN_LOW, HAN_OPERATION_REDUCE },
};

const mca_coll_han_stages_t mca_coll_han_reduce_stages = { stages, stages_at_root, 2 };

int mca_coll_han_perform_reduce(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params,
                                ompi_request_t **request)
{
    const mca_coll_han_side_t *side = &args->recv;
    const mca_coll_adapt_call_t call = mca_coll_adapt_reduce_call(
        ADAPT_REDUCE, args->send.buffer, side->buffer, side->count, side->type, args->op, args->root, han->comm);

    return NULL == mca_coll_han_stages(HAN_REDUCE, params->algorithm)
               ? mca_coll_han_call_tree(han, args, &call, params, request)
               : mca_coll_han_levels(han, HAN_REDUCE, &call, params);
}
