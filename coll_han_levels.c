/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that go level by level: a collective's table of stages becomes a plan of this rank, and the engine runs it.
 */
#include "coll_han.h"

#include <stdint.h>

static const mca_coll_han_stages_t *const tables[HAN_COLLECTIVE_COUNT][HAN_ALGORITHM_COUNT] = {
    [HAN_BCAST] = { [HAN_SIMPLE] = &mca_coll_han_bcast_stages, [HAN_PIPELINE] = &mca_coll_han_bcast_stages },
    [HAN_REDUCE] = { [HAN_SIMPLE] = &mca_coll_han_reduce_stages, [HAN_PIPELINE] = &mca_coll_han_reduce_stages },
    [HAN_ALLREDUCE] = { [HAN_SIMPLE] = &mca_coll_han_allreduce_stages,
                        [HAN_PIPELINE] = &mca_coll_han_allreduce_stages,
                        [HAN_UP_ALLREDUCE] = &mca_coll_han_up_allreduce_stages },
    [HAN_ALLGATHER] = { [HAN_SIMPLE] = &mca_coll_han_allgather_stages },
    [HAN_REDUCE_SCATTER_BLOCK] = { [HAN_SIMPLE] = &mca_coll_han_reduce_scatter_stages },
    [HAN_ALLTOALL] = { [HAN_SIMPLE] = &mca_coll_han_alltoall_stages },
    [HAN_BARRIER]
    = { [HAN_SIMPLE] = &mca_coll_han_up_allreduce_stages, [HAN_UP_ALLREDUCE] = &mca_coll_han_up_allreduce_stages },
};

const mca_coll_han_stages_t *mca_coll_han_stages(mca_coll_han_collective_t collective,
                                                 mca_coll_han_algorithm_id_t algorithm)
{
    return tables[collective][algorithm];
}

/* Takes the submodules that the parameters name. */
static int choose_submodules(mca_coll_han_call_t *call, const mca_coll_han_stages_t *table,
                             const mca_coll_han_params_t *params)
{
    const mca_coll_han_submodule_t wanted[HAN_LEVEL_COUNT] = { [HAN_LOW] = params->smod, [HAN_UP] = params->imod };

    for (int level = 0; level < HAN_LEVEL_COUNT; ++level) {
        call->submodules[level] = mca_coll_han_module_submodule(call->module, level, wanted[level], table);
        if (NULL == call->submodules[level] && NULL != call->module->levels[level].comm) {
            return OMPI_ERR_NOT_AVAILABLE;
        }
    }
    return OMPI_SUCCESS;
}

static void choose_hows(mca_coll_han_call_t *call, const mca_coll_han_params_t *params)
{
    const mca_coll_adapt_how_t how = mca_coll_han_how(HAN_SENDS);

    for (int operation = 0; operation < HAN_OPERATION_COUNT; ++operation) {
        const bool down = HAN_OPERATION_BCAST == operation;

        call->hows[operation] = how;
        call->hows[operation].kind = down ? params->ibalg : params->iralg;
        call->hows[operation].segment_size = down ? params->ibs : params->irs;
    }
    call->hows[HAN_OPERATION_ALLREDUCE].kind = ADAPT_TREE_AUTO;
}

/* Where each stage finds this rank's segments and where its result goes: what a rank has got goes into the next stage,
 * from where it is. Only who has no receive buffer needs slots for it. Returns whether this rank does. */
static bool find_routes(mca_coll_han_call_t *call, const mca_coll_han_plan_t *plan, const mca_coll_adapt_call_t *todo)
{
    const mca_coll_han_topology_t *topology = &call->module->topology;
    const int rank = ompi_comm_rank(call->module->comm);
    const int own[HAN_LEVEL_COUNT] = { [HAN_LOW] = topology->place_of[rank], [HAN_UP] = topology->group_of[rank] };
    const bool has_output = ADAPT_REDUCE != todo->collective || rank == todo->root;
    const mca_coll_han_place_t result = has_output ? HAN_OUTPUT : HAN_SLOTS;
    mca_coll_han_place_t here = ADAPT_BCAST == todo->collective || MPI_IN_PLACE == todo->sbuf ? HAN_OUTPUT : HAN_INPUT;
    bool slots = false;

    for (int s = 0; s < plan->stage_count; ++s) {
        const int level = plan->stages[s].level;
        const bool gets = HAN_OPERATION_REDUCE != plan->stages[s].operation || own[level] == call->roots[level];

        if (NULL == call->submodules[level]) {
            continue;
        }
        call->routes[s].in = here;
        call->routes[s].out = gets ? result : HAN_NOWHERE;
        here = gets ? result : here;
        slots = slots || HAN_SLOTS == call->routes[s].out;
    }
    return slots;
}

/* The table of this rank's node, and the stages around which this rank packs or unpacks. */
static void make_plan(mca_coll_han_plan_t *plan, mca_coll_han_call_t *call, const mca_coll_han_stages_t *table,
                      const mca_coll_han_params_t *params, int root)
{
    const mca_coll_han_topology_t *topology = &call->module->topology;
    const int rank = ompi_comm_rank(call->module->comm);
    const bool in_root_group = topology->group_of[rank] == topology->group_of[root];
    const bool at_root = in_root_group && 0 != topology->place_of[root];

    *plan = (mca_coll_han_plan_t){
        .stages = at_root ? table->stages_at_root : table->stages,
        .stage_count = table->count,
        .segment_count = mca_coll_han_segments_count(call->segments.count, call->segments.length),
        .depth = params->depth,
        .driver = &mca_coll_han_driver,
        .context = call,
    };
    call->roots[HAN_UP] = topology->group_of[root];
    call->roots[HAN_LOW] = in_root_group ? topology->place_of[root] : 0;
    /* The low level is the last that a rank takes part in, or it is the first, where the root's node has the data. */
    call->pack_before = rank == root ? 0 : -1;
    call->unpack_after = rank == root ? -1 : at_root ? 0 : table->count - 1;
}

/*
 * The allreduce of coll/libnbc depends on whether a rank is in place: all leaders must be, or none. Where some have
 * combined what their nodes have, which is in their receive buffer then, who is alone puts its message there, too.
 */
static bool must_be_in_place(const mca_coll_han_call_t *call, const mca_coll_han_stages_t *table,
                             const mca_coll_adapt_call_t *todo)
{
    const mca_coll_base_module_t *up = call->submodules[HAN_UP];

    return &mca_coll_han_up_allreduce_stages == table && MPI_IN_PLACE != todo->sbuf && NULL != up
           && !mca_coll_han_is_adapt(up) && NULL == call->submodules[HAN_LOW] && 1 < call->module->topology.largest;
}

static void put_in_place(mca_coll_han_call_t *call, mca_coll_adapt_call_t *todo)
{
    const int rc = ompi_datatype_copy_content_same_ddt(todo->datatype, (int32_t) todo->count, todo->rbuf,
                                                       (char *) (uintptr_t) todo->sbuf);

    call->rc = mca_coll_han_alarm_note(call->module, call->rc, 0 > rc ? OMPI_ERROR : OMPI_SUCCESS);
    todo->sbuf = MPI_IN_PLACE;
}

static int run_levels(han_module_t *module, const mca_coll_han_stages_t *table, const mca_coll_adapt_call_t *asked,
                      const mca_coll_han_params_t *params)
{
    mca_coll_han_call_t call = { .module = module, .op = asked->op };
    mca_coll_adapt_call_t todo = *asked;
    mca_coll_han_plan_t plan;
    bool slots;
    int rc;

    ++module->levels_calls;
    mca_coll_han_segments_cut(&call.segments, module, &todo, params->fs);
    if (0 == call.segments.count) {
        return OMPI_SUCCESS;
    }
    rc = choose_submodules(&call, table, params);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (must_be_in_place(&call, table, &todo)) {
        put_in_place(&call, &todo);
    }
    choose_hows(&call, params);
    make_plan(&plan, &call, table, params, todo.root);
    slots = find_routes(&call, &plan, &todo);
    rc = mca_coll_han_segments_open(&call.segments, &todo, mca_coll_han_plan_window(&plan), slots);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    mca_coll_han_watch_start(module->watch);
    rc = mca_coll_han_alarm_heed(module, mca_coll_han_plan_execute(&plan));
    mca_coll_han_segments_close(&call.segments);
    return rc;
}

int mca_coll_han_levels(han_module_t *module, mca_coll_han_collective_t collective, const mca_coll_adapt_call_t *call,
                        const mca_coll_han_params_t *params)
{
    const mca_coll_han_stages_t *table = mca_coll_han_stages(collective, params->algorithm);
    char token = 0;
    /* A barrier is an allreduce of a byte, for without data not every submodule waits. */
    const mca_coll_adapt_call_t barrier
        = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, MPI_IN_PLACE, &token, 1, MPI_BYTE, MPI_BOR, 0, module->comm);

    return run_levels(module, table, HAN_BARRIER == collective ? &barrier : call, params);
}

/* -- collectives in which each rank has a block: they have no segments, and no engine -- */

int mca_coll_han_node_begin(han_module_t *module, mca_coll_han_collective_t collective,
                            const mca_coll_han_params_t *params, mca_coll_han_node_t *node)
{
    const mca_coll_han_stages_t *table = mca_coll_han_stages(collective, params->algorithm);

    *node = (mca_coll_han_node_t){
        .comm = module->levels[HAN_LOW].comm,
        .submodule = mca_coll_han_module_submodule(module, HAN_LOW, params->smod, table),
    };
    ++module->levels_calls;
    return NULL == node->comm || NULL != node->submodule ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}
