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

int mca_coll_han_bcast_levels(mca_coll_han_module_t *han, const mca_coll_adapt_call_t *todo,
                              const mca_coll_han_params_t *params)
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

int mca_coll_han_bcast_intra(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                             mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_BCAST][HAN_BLOCKING];
    const mca_coll_adapt_call_t call = mca_coll_adapt_bcast_call(buffer, count, datatype, root, comm);
    int rc;

    if (0 == datatype->super.size * (size_t) count) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_han_call(han, HAN_BCAST, HAN_BLOCKING, &call, NULL);
    return HAN_TO_FALLBACK != rc ? rc : fallback->fn.bcast(buffer, count, datatype, root, comm, fallback->module);
}

int mca_coll_han_ibcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                        ompi_request_t **request, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_BCAST][HAN_NONBLOCKING];
    const mca_coll_adapt_call_t call = mca_coll_adapt_bcast_call(buffer, count, datatype, root, comm);
    const int rc = mca_coll_han_call(han, HAN_BCAST, HAN_NONBLOCKING, &call, request);

    return HAN_TO_FALLBACK != rc ? rc
                                 : fallback->fn.ibcast(buffer, count, datatype, root, comm, request, fallback->module);
}

int mca_coll_han_bcast_init(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                            struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_BCAST][HAN_PERSISTENT];
    const mca_coll_adapt_call_t call = mca_coll_adapt_bcast_call(buffer, count, datatype, root, comm);
    const int rc = mca_coll_han_call(han, HAN_BCAST, HAN_PERSISTENT, &call, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.bcast_init(buffer, count, datatype, root, comm, info, request, fallback->module);
}
