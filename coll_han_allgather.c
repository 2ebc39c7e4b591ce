/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allgather, MPI_Allgatherv. Long blocks: as many broadcasts as there are ranks, each over the topology-aware tree
 * of its root, with one request; between the nodes these trees are chains that begin at different nodes: together they
 * are a ring. Short ones: through the leaders. Or level by level: gathers in the nodes, the leaders, and broadcasts in
 * the nodes, where all blocks lie in the order of nodes.
 */
#include "coll_han.h"

#include <stdlib.h>

/* -- tree -- */

static int by_tree(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params,
                   ompi_request_t **request)
{
    const int size = ompi_comm_size(han->comm), rank = ompi_comm_rank(han->comm);
    const mca_coll_han_side_t *send = &args->send;
    mca_coll_adapt_call_t *calls = malloc((size_t) size * sizeof(*calls));
    int rc;

    if (NULL == calls) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int root = 0; root < size; ++root) {
        const mca_coll_adapt_data_t block = mca_coll_han_side_blocks(&args->recv, root, 1);

        calls[root] = mca_coll_adapt_bcast_call(block.buffer, (int) block.count, block.datatype, root, han->comm);
        calls[root].next = root + 1 < size ? &calls[root + 1] : NULL;
    }
    if (MPI_IN_PLACE != send->buffer) {
        calls[rank].rc = ompi_datatype_sndrcv(send->buffer, send->count, send->type, calls[rank].rbuf,
                                              (int) calls[rank].count, args->recv.type);
    }
    rc = mca_coll_han_call_tree(han, args, calls, params, request);
    free(calls);
    return rc;
}

/* -- leaders -- */

/* All blocks, packed, group by group; in the receive buffer, where they lie there like that. */
struct blocks {
    char *memory;
    size_t *first; /* [size + 1] where each begins, in the order of members */
    size_t bytes;  /* of all */
};

/* Those from one place in the order of members to another one. */
static mca_coll_adapt_data_t range(const struct blocks *blocks, int from, int to)
{
    return mca_coll_adapt_packed(blocks->memory + blocks->first[from], blocks->first[to] - blocks->first[from]);
}

static mca_coll_adapt_data_t groups_range(const mca_coll_han_leaders_t *leaders, const struct blocks *blocks, int group,
                                          int count)
{
    return range(blocks, leaders->topology->first[group], leaders->topology->first[group + count]);
}

/* Where the blocks will be, once there is memory for them. Returns false where there is none for that. */
static bool place_blocks(mca_coll_han_leaders_t *leaders, struct blocks *blocks)
{
    const int size = leaders->topology->size;
    const mca_coll_han_side_t *side = &leaders->args->recv;

    *blocks = (struct blocks){ 0 };
    blocks->first
        = (void *) mca_coll_adapt_schedule_memory(&leaders->schedule, (size_t) (size + 1) * sizeof(*blocks->first));
    if (NULL == blocks->first) {
        return false;
    }
    blocks->first[0] = 0;
    for (int i = 0; i < size; ++i) {
        blocks->first[i + 1]
            = blocks->first[i]
              + side->type->super.size * (size_t) mca_coll_han_side_count(side, leaders->topology->members[i]);
    }
    blocks->bytes = blocks->first[size];
    return true;
}

/* Everything this rank has is in memory of its own. Returns false where there is none. */
static bool make_blocks(mca_coll_han_leaders_t *leaders, struct blocks *blocks)
{
    if (!place_blocks(leaders, blocks)) {
        return false;
    }
    blocks->memory = mca_coll_adapt_schedule_memory(&leaders->schedule, blocks->bytes);
    return NULL != blocks->memory;
}

static mca_coll_adapt_data_t own_block(const mca_coll_han_leaders_t *leaders)
{
    return MPI_IN_PLACE == leaders->args->send.buffer ? mca_coll_han_side_blocks(&leaders->args->recv, leaders->rank, 1)
                                                      : mca_coll_han_side_whole(&leaders->args->send);
}

/*
 * More than HAN_FEW_LEADERS are told in rounds; or, where all blocks together are so few bytes that messages count and
 * not what is in them, by one leader.
 */
enum { FEW_BYTES = 256 };

static void swap_directly(mca_coll_han_leaders_t *leaders, const struct blocks *blocks)
{
    mca_coll_adapt_data_t *to = mca_coll_han_leaders_list(leaders), *from = mca_coll_han_leaders_list(leaders);

    for (int group = 0; NULL != to && NULL != from && group < leaders->topology->group_count; ++group) {
        to[group] = groups_range(leaders, blocks, leaders->group, 1);
        from[group] = groups_range(leaders, blocks, group, 1);
    }
    if (NULL != to && NULL != from) {
        mca_coll_han_leaders_swap(leaders, to, from);
    }
    mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
}

/* To or from a leader: the blocks of so many groups up to this one; before group 0 comes the last one. */
static void pass(mca_coll_han_leaders_t *leaders, const struct blocks *blocks, int group, int count, bool send,
                 int peer)
{
    const int groups = leaders->topology->group_count, here = count <= group + 1 ? count : group + 1;
    const mca_coll_adapt_data_t pieces[] = { groups_range(leaders, blocks, group + 1 - here, here),
                                             groups_range(leaders, blocks, groups - (count - here), count - here) };

    for (int i = 0; i < (count == here ? 1 : 2); ++i) {
        if (send) {
            mca_coll_adapt_schedule_send(&leaders->schedule, pieces[i], peer);
        } else {
            mca_coll_adapt_schedule_recv(&leaders->schedule, pieces[i], peer);
        }
    }
}

/* After a round with this distance each leader has the blocks of twice as many groups, up to its own. */
static void swap_in_rounds(mca_coll_han_leaders_t *leaders, const struct blocks *blocks)
{
    const int groups = leaders->topology->group_count, group = leaders->group;

    for (int distance = 1; distance < groups; distance *= 2) {
        const int count = distance < groups - distance ? distance : groups - distance;
        const int next = (group + distance) % groups, last = (group + groups - distance) % groups;

        pass(leaders, blocks, last, count, false, mca_coll_han_topology_leader(leaders->topology, last));
        pass(leaders, blocks, group, count, true, mca_coll_han_topology_leader(leaders->topology, next));
        mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
    }
}

/* To the first leader and back. */
static void swap_by_one(mca_coll_han_leaders_t *leaders, const struct blocks *blocks)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_adapt_data_t all = range(blocks, 0, leaders->topology->size);
    const int groups = leaders->topology->group_count, one = mca_coll_han_topology_leader(leaders->topology, 0);

    if (0 != leaders->group) {
        mca_coll_han_leaders_ask(leaders, one, groups_range(leaders, blocks, leaders->group, 1), all);
        mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
        return;
    }
    for (int group = 1; group < groups; ++group) {
        mca_coll_adapt_schedule_recv(schedule, groups_range(leaders, blocks, group, 1),
                                     mca_coll_han_topology_leader(leaders->topology, group));
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    for (int group = 1; group < groups; ++group) {
        mca_coll_adapt_schedule_send(schedule, all, mca_coll_han_topology_leader(leaders->topology, group));
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
}

static void swap(mca_coll_han_leaders_t *leaders, const struct blocks *blocks)
{
    if (HAN_FEW_LEADERS >= leaders->topology->group_count) {
        swap_directly(leaders, blocks);
    } else if (FEW_BYTES >= blocks->bytes) {
        swap_by_one(leaders, blocks);
    } else {
        swap_in_rounds(leaders, blocks);
    }
}

/* What a rank has, in the receive buffer or in memory of its own, goes where it belongs. */
static void unpack(mca_coll_han_leaders_t *leaders, const struct blocks *blocks)
{
    const mca_coll_han_side_t *side = &leaders->args->recv;

    if (NULL == side->counts && leaders->topology->in_order) {
        mca_coll_adapt_schedule_copy(&leaders->schedule, range(blocks, 0, leaders->topology->size),
                                     mca_coll_han_side_blocks(side, 0, leaders->topology->size));
        return;
    }
    for (int i = 0; i < leaders->topology->size; ++i) {
        mca_coll_adapt_schedule_copy(&leaders->schedule, range(blocks, i, i + 1),
                                     mca_coll_han_side_blocks(side, leaders->topology->members[i], 1));
    }
}

static void fill_leader(mca_coll_han_leaders_t *leaders, const struct blocks *blocks, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const int first = leaders->topology->first[leaders->group];

    for (int i = 1; i < leaders->size; ++i) {
        mca_coll_adapt_schedule_recv(schedule, range(blocks, first + i, first + i + 1), leaders->members[i]);
    }
    mca_coll_adapt_schedule_copy(schedule, own, range(blocks, first, first + 1));
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    swap(leaders, blocks);
    for (int i = 1; i < leaders->size; ++i) {
        mca_coll_adapt_schedule_send(schedule, range(blocks, 0, leaders->topology->size), leaders->members[i]);
    }
    unpack(leaders, blocks);
}

static void fill_member(mca_coll_han_leaders_t *leaders, const struct blocks *blocks, mca_coll_adapt_data_t own)
{
    mca_coll_han_leaders_ask(leaders, leaders->leader, own, range(blocks, 0, leaders->topology->size));
    unpack(leaders, blocks);
}

static int by_leaders(han_module_t *han, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(han, args);
    struct blocks blocks;

    if (make_blocks(&leaders, &blocks)) {
        (leaders.rank == leaders.leader ? fill_leader : fill_member)(&leaders, &blocks, own_block(&leaders));
    }
    return mca_coll_han_leaders_perform(&leaders, han, request);
}

/* -- level by level -- */

static const mca_coll_han_stage_t stages[] = {
    { "sg", false, HAN_LOW, HAN_OPERATION_GATHER },
    { "sb", false, HAN_LOW, HAN_OPERATION_BCAST },
};

/* Between the two the leaders tell each other what their nodes have. */
const mca_coll_han_stages_t mca_coll_han_allgather_stages = { stages, NULL, 2 };

/*
 * Submodules get bytes: they may cut a message by elements of the datatype, which ranks may have of different sizes.
 * What lies in one piece is given from where it is.
 */
static mca_coll_adapt_data_t bytes_of(mca_coll_adapt_data_t data)
{
    const opal_datatype_t *type = &data.datatype->super;

    if (!opal_datatype_is_contiguous_memory_layout(type, (int32_t) data.count)) {
        return mca_coll_adapt_packed(NULL, 0);
    }
    return mca_coll_adapt_packed((char *) data.buffer + type->true_lb, mca_coll_adapt_data_bytes(&data));
}

/* To bytes, or from there. */
static int copy(mca_coll_adapt_data_t from, mca_coll_adapt_data_t to)
{
    return ompi_datatype_sndrcv(from.buffer, (int32_t) from.count, from.datatype, to.buffer, (int32_t) to.count,
                                to.datatype);
}

/* A block to its place; of packed bytes Open MPI does not say that they are too many. */
static int put(mca_coll_adapt_data_t block, mca_coll_adapt_data_t place)
{
    const size_t bytes = mca_coll_adapt_data_bytes(&block);

    return bytes > place.count ? MPI_ERR_TRUNCATE : copy(block, mca_coll_adapt_packed(place.buffer, bytes));
}

/*
 * What is not as long as the place for it goes there by itself, for in a gather it might be lost, or waited for; and so
 * does the block of a rank that is alone on its node. Others hear that it is wrong before they get it.
 */
static int gather_in_node(han_module_t *han, const mca_coll_han_leaders_t *leaders, const mca_coll_han_node_t *node,
                          const struct blocks *blocks)
{
    const int first = leaders->topology->first[leaders->group];
    const mca_coll_adapt_data_t own = own_block(leaders), place = range(blocks, leaders->rank, leaders->rank + 1);
    mca_coll_adapt_data_t given = bytes_of(own);
    const void *from;
    int rc = OMPI_SUCCESS;

    if (given.buffer != place.buffer && (given.count != place.count || NULL == node->comm)) {
        rc = mca_coll_han_alarm_note(han, rc, put(own, place));
        given = place;
    }
    if (NULL == node->comm) {
        return rc;
    }
    from = leaders->rank == leaders->leader && given.buffer == place.buffer ? MPI_IN_PLACE : given.buffer;
    return mca_coll_han_alarm_note(
        han, rc,
        node->submodule->coll_gather(from, (int) given.count, given.datatype, range(blocks, first, first + 1).buffer,
                                     (int) place.count, place.datatype, 0, node->comm, node->submodule));
}

static int swap_between_nodes(han_module_t *han, mca_coll_han_leaders_t *leaders, const struct blocks *blocks)
{
    if (leaders->rank == leaders->leader) {
        swap(leaders, blocks);
    }
    return mca_coll_han_leaders_perform(leaders, han, NULL);
}

static int by_levels_through(han_module_t *han, mca_coll_han_leaders_t *leaders, const mca_coll_han_node_t *node,
                             const struct blocks *blocks)
{
    const mca_coll_adapt_data_t all = range(blocks, 0, leaders->topology->size);
    int rc = gather_in_node(han, leaders, node, blocks);

    rc = mca_coll_han_alarm_note(han, rc, swap_between_nodes(han, leaders, blocks));
    if (NULL != node->comm) {
        rc = mca_coll_han_alarm_note(
            han, rc,
            node->submodule->coll_bcast(all.buffer, (int) all.count, all.datatype, 0, node->comm, node->submodule));
    }
    return mca_coll_han_alarm_heed(han, rc);
}

static int by_levels(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(han, args);
    const mca_coll_adapt_data_t all = mca_coll_han_side_blocks(&args->recv, 0, leaders.topology->size);
    const mca_coll_adapt_data_t here = bytes_of(all);
    struct blocks blocks = { 0 };
    mca_coll_han_node_t node;
    char *memory = NULL;
    int rc;

    if (0 == mca_coll_adapt_data_bytes(&all)) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_han_node_begin(han, args->collective, params, &node);
    if (OMPI_SUCCESS == rc && place_blocks(&leaders, &blocks)) {
        memory = NULL == here.buffer ? mca_coll_han_memory_take(han, blocks.bytes) : NULL;
        blocks.memory = NULL == here.buffer ? memory : here.buffer;
    }
    if (OMPI_SUCCESS == rc && NULL == blocks.memory) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (OMPI_SUCCESS == rc) {
        rc = by_levels_through(han, &leaders, &node, &blocks);
    }
    if (OMPI_SUCCESS == rc && NULL != memory) {
        rc = copy(mca_coll_adapt_packed(memory, blocks.bytes), all); /* where blocks begin, went with the schedule */
    }
    mca_coll_han_memory_give(han, memory);
    return rc;
}

int mca_coll_han_perform_allgather(han_module_t *han, const mca_coll_han_args_t *args,
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
