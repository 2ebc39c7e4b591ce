/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast (HAN paper, section III-A): each segment goes from the root to the node leaders (ib), and from each leader
 * to the ranks of its node (sb).
 */
#include "coll_han.h"

/* The stages; where the root does not lead its node, its node broadcasts first, which also reaches the leader. */
static const mca_coll_han_stage_t stages[] = {
    { "ib", true, HAN_UP, HAN_OPERATION_BCAST },
    { "sb", false, HAN_LOW, HAN_OPERATION_BCAST },
};
static const mca_coll_han_stage_t stages_at_root[] = {
    { "sb", false, HAN_LOW, HAN_OPERATION_BCAST },
    { "ib", true, HAN_UP, HAN_OPERATION_BCAST },
};
enum { STAGE_COUNT = 2 };

/* The table of this rank's node, and the stages around which this rank packs or unpacks. */
static void make_plan(mca_coll_han_plan_t *plan, mca_coll_han_call_t *call, const mca_coll_han_params_t *params,
                      size_t bytes, int root)
{
    const mca_coll_han_topology_t *topology = &call->module->topology;
    const int rank = ompi_comm_rank(call->module->comm);
    const int group = topology->group_of[root];
    const bool at_root = topology->group_of[rank] == group && 0 != topology->place_of[root];

    *plan = (mca_coll_han_plan_t){
        .stages = at_root ? stages_at_root : stages,
        .stage_count = STAGE_COUNT,
        .segment_count = mca_coll_han_segments_count(bytes, params->fs),
        .depth = params->depth,
        .driver = &mca_coll_han_driver,
        .context = call,
    };
    call->roots[HAN_UP] = group;
    call->roots[HAN_LOW] = topology->group_of[rank] == group ? topology->place_of[root] : 0;
    /* Data that came by ib are seen by sb, so that after sb all ranks have them. */
    call->pack_before = rank == root ? 0 : -1;
    call->unpack_after = rank == root ? -1 : at_root ? 0 : 1;
}

static int by_levels(mca_coll_han_module_t *han, const mca_coll_adapt_call_t *todo, const mca_coll_han_params_t *params)
{
    mca_coll_han_call_t call = { .module = han };
    mca_coll_han_plan_t plan;
    int rc = mca_coll_han_call_open(&call, params);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    make_plan(&plan, &call, params, todo->datatype->super.size * todo->count, todo->root);
    rc = mca_coll_han_segments_open(&call.segments, han, todo->rbuf, todo->count, todo->datatype, params->fs,
                                    mca_coll_han_plan_window(&plan), -1 != call.pack_before);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    rc = mca_coll_han_plan_execute(&plan);
    mca_coll_han_segments_close(&call.segments);
    return rc;
}

int mca_coll_han_perform_bcast(mca_coll_han_module_t *han, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    const mca_coll_han_side_t *side = &args->recv;
    const mca_coll_adapt_call_t call
        = mca_coll_adapt_bcast_call(side->buffer, side->count, side->type, args->root, han->comm);
    mca_coll_han_params_t params;
    int rc;

    if (HAN_BLOCKING == args->form && 0 == mca_coll_adapt_call_bytes(&call)) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_han_call_decide(han, args, &params);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return HAN_TREE == params.algorithm ? mca_coll_han_call_tree(han, args->form, &call, &params, request)
                                        : by_levels(han, &call, &params);
}
