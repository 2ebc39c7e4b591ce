/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Reduce_scatter_block, MPI_Reduce_scatter. Long blocks: as many reduces as there are ranks, each over the
 * topology-aware tree of its root, with one request; between the nodes these trees are chains that end at different
 * nodes: together a ring. Short ones: through the leaders. Or level by level, where blocks are equal and lie in the
 * order of nodes: reduces in the nodes, the leaders, and scatters in the nodes.
 */
#include "coll_han.h"

#include <stdlib.h>

/* -- tree -- */

static int by_tree(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params,
                   ompi_request_t **request)
{
    const mca_coll_han_side_t *side = &args->recv;
    const int size = ompi_comm_size(han->comm), rank = ompi_comm_rank(han->comm);
    const bool in_place = MPI_IN_PLACE == args->send.buffer;
    const char *operand = in_place ? side->buffer : args->send.buffer;
    mca_coll_adapt_call_t *calls = malloc((size_t) size * sizeof(*calls));
    ptrdiff_t lb, extent;
    int rc;

    if (NULL == calls) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    ompi_datatype_get_extent(side->type, &lb, &extent);
    for (int root = 0; root < size; ++root) {
        const int count = mca_coll_han_side_count(side, root);

        calls[root] = mca_coll_adapt_reduce_call(ADAPT_REDUCE, operand, root == rank ? side->buffer : NULL, count,
                                                 side->type, args->op, root, han->comm);
        calls[root].aside = in_place && root == rank;
        calls[root].next = root + 1 < size ? &calls[root + 1] : NULL;
        operand += count * extent;
    }
    rc = mca_coll_han_call_tree(han, args, calls, params, request);
    free(calls);
    return rc;
}

/* -- leaders -- */

/* The blocks lie in the order of ranks: they are put into that of the nodes. */
static mca_coll_adapt_data_t sort(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t blocks)
{
    const mca_coll_han_side_t *side = &leaders->args->recv;
    const mca_coll_han_parts_t parts = mca_coll_han_leaders_parts(leaders, 1, blocks.count, blocks.datatype);
    const mca_coll_adapt_data_t sorted = mca_coll_han_leaders_part(&parts, 0);
    size_t *firsts = (void *) mca_coll_adapt_schedule_memory(&leaders->schedule,
                                                             (size_t) leaders->topology->size * sizeof(*firsts));
    size_t first = 0;

    for (int rank = 0; NULL != firsts && rank < leaders->topology->size; ++rank) {
        firsts[rank] = first;
        first += (size_t) mca_coll_han_side_count(side, rank);
    }
    first = 0;
    for (int i = 0; NULL != firsts && i < leaders->topology->size; ++i) {
        const int rank = leaders->topology->members[i];
        const size_t count = (size_t) mca_coll_han_side_count(side, rank);

        mca_coll_adapt_schedule_copy(&leaders->schedule, mca_coll_han_slice(blocks, firsts[rank], count),
                                     mca_coll_han_slice(sorted, first, count));
        first += count;
    }
    mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
    return sorted;
}

/* Of the blocks in the order of nodes: those of each node. */
static void list_nodes(const mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t blocks, mca_coll_adapt_data_t *to)
{
    size_t first = 0;

    for (int group = 0; group < leaders->topology->group_count; ++group) {
        const int *members = mca_coll_han_topology_group(leaders->topology, group);
        size_t count = 0;

        for (int i = 0; i < mca_coll_han_topology_group_size(leaders->topology, group); ++i) {
            count += (size_t) mca_coll_han_side_count(&leaders->args->recv, members[i]);
        }
        to[group] = mca_coll_han_slice(blocks, first, count);
        first += count;
    }
}

static void fill_leader(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own)
{
    const mca_coll_han_side_t *side = &leaders->args->recv;
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    mca_coll_adapt_data_t *to = mca_coll_han_leaders_list(leaders);
    mca_coll_adapt_data_t blocks = mca_coll_han_leaders_reduce(leaders, own);
    size_t first = 0;

    if (NULL == to) {
        return;
    }
    list_nodes(leaders, leaders->topology->in_order ? blocks : sort(leaders, blocks), to);
    blocks = mca_coll_han_leaders_combine(leaders, to);
    for (int i = 0; i < leaders->size; ++i) {
        const size_t count = (size_t) mca_coll_han_side_count(side, leaders->members[i]);
        const mca_coll_adapt_data_t block = mca_coll_han_slice(blocks, first, count);

        if (leaders->members[i] == leaders->rank) {
            mca_coll_adapt_schedule_copy(schedule, block, (mca_coll_adapt_data_t){ side->buffer, count, side->type });
        } else {
            mca_coll_adapt_schedule_send(schedule, block, leaders->members[i]);
        }
        first += count;
    }
}

static int by_leaders(han_module_t *han, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(han, args);
    const mca_coll_han_side_t *side = &args->recv;
    const mca_coll_adapt_data_t own
        = mca_coll_han_leaders_operand(&leaders, mca_coll_han_side_total(side, leaders.topology->size));

    if (leaders.rank == leaders.leader) {
        fill_leader(&leaders, own);
    } else {
        const mca_coll_adapt_data_t block
            = { side->buffer, (size_t) mca_coll_han_side_count(side, leaders.rank), side->type };

        mca_coll_han_leaders_ask(&leaders, leaders.leader, own, block);
    }
    return mca_coll_han_leaders_perform(&leaders, han, request);
}

/* -- level by level -- */

static const mca_coll_han_stage_t stages[] = {
    { "sr", false, HAN_LOW, HAN_OPERATION_REDUCE },
    { "ss", false, HAN_LOW, HAN_OPERATION_SCATTER },
};

/* Between the two the leaders combine what their nodes have. */
const mca_coll_han_stages_t mca_coll_han_reduce_scatter_stages = { stages, NULL, 2 };

/* At a leader: what the leaders' nodes have is combined, and its node's part of it is where this leader's was. */
static void combine_between_nodes(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t sum)
{
    mca_coll_adapt_data_t *to = mca_coll_han_leaders_list(leaders), result;

    if (NULL == to) {
        return;
    }
    list_nodes(leaders, sum, to);
    result = mca_coll_han_leaders_combine(leaders, to);
    if (result.buffer != to[leaders->group].buffer) {
        mca_coll_adapt_schedule_copy(&leaders->schedule, result, to[leaders->group]);
    }
}

/* Through the leader's memory, which has room for the blocks of all. */
static int by_levels_through(han_module_t *han, mca_coll_han_leaders_t *leaders, const mca_coll_han_node_t *node,
                             mca_coll_adapt_data_t own, mca_coll_adapt_data_t sum)
{
    const mca_coll_han_side_t *side = &leaders->args->recv;
    const mca_coll_adapt_data_t result = mca_coll_han_side_whole(side);
    const bool leads = leaders->rank == leaders->leader;
    /* What the scatter takes at its root. */
    const mca_coll_adapt_data_t blocks
        = leads ? mca_coll_han_slice(sum, (size_t) leaders->members[0] * result.count, result.count) : sum;
    int rc = OMPI_SUCCESS;

    if (NULL != node->comm) {
        rc = mca_coll_han_alarm_note(han, rc,
                                     node->submodule->coll_reduce(own.buffer, sum.buffer, (int) own.count, own.datatype,
                                                                  leaders->args->op, 0, node->comm, node->submodule));
    } else {
        mca_coll_adapt_schedule_copy(&leaders->schedule, own, sum);
        mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
    }
    if (leads) {
        combine_between_nodes(leaders, sum);
    }
    if (NULL == node->comm) {
        mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
        mca_coll_adapt_schedule_copy(&leaders->schedule, blocks, result);
    }
    rc = mca_coll_han_alarm_note(han, rc, mca_coll_han_leaders_perform(leaders, han, NULL));
    if (NULL != node->comm) {
        rc = mca_coll_han_alarm_note(han, rc,
                                     node->submodule->coll_scatter(blocks.buffer, side->count, side->type, side->buffer,
                                                                   side->count, side->type, 0, node->comm,
                                                                   node->submodule));
    }
    return mca_coll_han_alarm_heed(han, rc);
}

static int by_levels(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(han, args);
    const mca_coll_adapt_data_t own
        = mca_coll_han_leaders_operand(&leaders, mca_coll_han_side_total(&args->recv, leaders.topology->size));
    const coll_room_t room = COLL_ROOM_OF(own.datatype, own.count);
    const bool leads = leaders.rank == leaders.leader;
    mca_coll_adapt_data_t sum = own;
    mca_coll_han_node_t node;
    char *memory;
    int rc;

    if (0 == mca_coll_adapt_data_bytes(&own)) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_han_node_begin(han, args->collective, params, &node);
    memory = leads ? mca_coll_han_memory_take(han, room.bytes) : NULL;
    if (leads && NULL == memory) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    }
    sum.buffer = leads ? memory - room.first : NULL;
    if (OMPI_SUCCESS == rc) {
        rc = by_levels_through(han, &leaders, &node, own, sum);
    }
    mca_coll_han_memory_give(han, memory);
    return rc;
}

int mca_coll_han_perform_reduce_scatter(han_module_t *han, const mca_coll_han_args_t *args,
                                        const mca_coll_han_params_t *params, ompi_request_t **request)
{
    switch (params->algorithm) {
    case HAN_TREE:
        return by_tree(han, args, params, request);
    case HAN_SIMPLE:
        return by_levels(han, args, params);
    default:
        return by_leaders(han, args, request);
    }
}
