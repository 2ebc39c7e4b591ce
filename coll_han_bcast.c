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

static mca_coll_han_input_t make_input(const mca_coll_han_module_t *han, size_t bytes)
{
    return (mca_coll_han_input_t){
        .collective = HAN_BCAST,
        .nodes = han->topology.group_count,
        .ppn = han->topology.largest,
        .bytes = bytes,
    };
}

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

static int call_fallback(mca_coll_han_module_t *han, void *buffer, int count, ompi_datatype_t *datatype, int root)
{
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_BCAST];

    return fallback->fn.bcast(buffer, count, datatype, root, han->comm, fallback->module);
}

int mca_coll_han_bcast_intra(void *buffer, int count, ompi_datatype_t *datatype, int root,
                             ompi_communicator_t *comm __opal_attribute_unused__, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const size_t bytes = datatype->super.size * (size_t) count;
    mca_coll_han_call_t call = { .module = han };
    mca_coll_han_params_t params;
    mca_coll_han_input_t input;
    mca_coll_han_plan_t plan;
    int rc = mca_coll_han_module_topology(han);

    if (OMPI_SUCCESS != rc || 0 == bytes) {
        return rc;
    }
    input = make_input(han, bytes);
    params = mca_coll_han_decide(&input);
    mca_coll_han_say(han, &input, &params);
    if (HAN_FALLBACK == params.algorithm) {
        return call_fallback(han, buffer, count, datatype, root);
    }
    rc = mca_coll_han_call_open(&call, &params);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    make_plan(&plan, &call, &params, bytes, root);
    rc = mca_coll_han_segments_open(&call.segments, han, buffer, (size_t) count, datatype, params.fs,
                                    mca_coll_han_plan_window(&plan), -1 != call.pack_before);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    rc = mca_coll_han_plan_execute(&plan);
    mca_coll_han_segments_close(&call.segments);
    return rc;
}
