/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoall, MPI_Alltoallv. Long blocks, and those that differ: straight from rank to rank. Short ones: through the
 * leaders, so that from node to node there is one message for all pairs of their ranks. Or level by level: an alltoall
 * in each node gives each rank what its node has for the ranks of its own place elsewhere, and these swap it.
 */
#include "coll_han.h"

/* A leader's memory: rows of packed blocks. */
struct table {
    char *memory;
    size_t block; /* bytes */
};

static mca_coll_adapt_data_t blocks_at(const struct table *table, size_t first, int count)
{
    return mca_coll_adapt_packed(table->memory + first * table->block, (size_t) count * table->block);
}

static struct table make_table(mca_coll_han_leaders_t *leaders)
{
    const mca_coll_han_side_t *side = &leaders->args->recv;
    const size_t block = (size_t) side->count * side->type->super.size;
    const size_t blocks = (size_t) leaders->size * (size_t) leaders->topology->size;

    return (struct table){ .memory = mca_coll_adapt_schedule_memory(&leaders->schedule, blocks * block),
                           .block = block };
}

/*
 * Four tables of a node's ranks and all ranks:
 *   given:   [rank of this node][rank], as it comes from the ranks
 *   leaving: for each node [rank of this node][rank of that node]
 *   coming:  for each node [rank of that node][rank of this node]
 *   wanted:  [rank of this node][rank], as it goes to the ranks
 * In the second and third the part of a node begins where its ranks begin in the order of members.
 */
struct tables {
    struct table given, leaving, coming, wanted;
};

static void sort(mca_coll_han_leaders_t *leaders, const struct tables *tables, bool before)
{
    const mca_coll_han_topology_t *topology = leaders->topology;
    const size_t all = (size_t) topology->size, here = (size_t) leaders->size;

    for (int group = 0; group < topology->group_count; ++group) {
        const int *members = mca_coll_han_topology_group(topology, group);
        const size_t there = (size_t) mca_coll_han_topology_group_size(topology, group);
        const size_t first = (size_t) topology->first[group] * here;

        for (size_t i = 0; i < here; ++i) {
            for (size_t j = 0; j < there; ++j) {
                const size_t in_row = i * all + (size_t) members[j];

                mca_coll_adapt_schedule_copy(&leaders->schedule,
                                             before ? blocks_at(&tables->given, in_row, 1)
                                                    : blocks_at(&tables->coming, first + j * here + i, 1),
                                             before ? blocks_at(&tables->leaving, first + i * there + j, 1)
                                                    : blocks_at(&tables->wanted, in_row, 1));
            }
        }
    }
}

static void swap(mca_coll_han_leaders_t *leaders, const struct tables *tables)
{
    const mca_coll_han_topology_t *topology = leaders->topology;
    mca_coll_adapt_data_t *to = mca_coll_han_leaders_list(leaders), *from = mca_coll_han_leaders_list(leaders);

    if (NULL == to || NULL == from) {
        return;
    }
    for (int group = 0; group < topology->group_count; ++group) {
        const int pairs = mca_coll_han_topology_group_size(topology, group) * leaders->size;
        const size_t first = (size_t) topology->first[group] * (size_t) leaders->size;

        to[group] = blocks_at(&tables->leaving, first, pairs);
        from[group] = blocks_at(&tables->coming, first, pairs);
    }
    mca_coll_han_leaders_swap(leaders, to, from);
    mca_coll_adapt_schedule_copy(&leaders->schedule, to[leaders->group], from[leaders->group]);
}

static void fill_leader(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t given, mca_coll_adapt_data_t wanted)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const int all = leaders->topology->size;
    const struct tables tables = { make_table(leaders), make_table(leaders), make_table(leaders), make_table(leaders) };

    for (int i = 1; i < leaders->size; ++i) {
        mca_coll_adapt_schedule_recv(schedule, blocks_at(&tables.given, (size_t) i * (size_t) all, all),
                                     leaders->members[i]);
    }
    mca_coll_adapt_schedule_copy(schedule, given, blocks_at(&tables.given, 0, all));
    sort(leaders, &tables, true);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    swap(leaders, &tables);
    sort(leaders, &tables, false);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    for (int i = 1; i < leaders->size; ++i) {
        mca_coll_adapt_schedule_send(schedule, blocks_at(&tables.wanted, (size_t) i * (size_t) all, all),
                                     leaders->members[i]);
    }
    mca_coll_adapt_schedule_copy(schedule, blocks_at(&tables.wanted, 0, all), wanted);
}

static int by_leaders(han_module_t *han, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(han, args);
    const mca_coll_adapt_data_t given = mca_coll_han_side_blocks(&args->send, 0, leaders.topology->size),
                                wanted = mca_coll_han_side_blocks(&args->recv, 0, leaders.topology->size);

    if (leaders.rank == leaders.leader) {
        fill_leader(&leaders, given, wanted);
    } else {
        mca_coll_han_leaders_ask(&leaders, leaders.leader, given, wanted);
    }
    return mca_coll_han_leaders_perform(&leaders, han, request);
}

/* -- level by level -- */

static const mca_coll_han_stage_t stages[] = { { "sa", false, HAN_LOW, HAN_OPERATION_ALLTOALL } };

/* Behind it ranks of one place swap. */
const mca_coll_han_stages_t mca_coll_han_alltoall_stages = { stages, NULL, 1 };

/*
 * Two tables of packed blocks, in which each row is one message inside the node:
 *   given: [place of who gets it][node], as it goes to the ranks of this node
 *   come:  [place of who gives it][node], for the ranks of this place
 * When given has gone, it is leaving: [node][place of who gives it].
 */
struct rows {
    struct table given, come;
};

static void sort_given(mca_coll_han_leaders_t *leaders, const struct rows *rows)
{
    const int nodes = leaders->topology->group_count, size = leaders->size;

    for (int place = 0; place < size; ++place) {
        for (int node = 0; node < nodes; ++node) {
            mca_coll_adapt_schedule_copy(&leaders->schedule,
                                         mca_coll_han_side_blocks(&leaders->args->send, node * size + place, 1),
                                         blocks_at(&rows->given, (size_t) (place * nodes + node), 1));
        }
    }
    mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
}

static void swap_places(mca_coll_han_leaders_t *leaders, const struct rows *rows)
{
    const mca_coll_han_side_t *recv = &leaders->args->recv;
    const int nodes = leaders->topology->group_count, size = leaders->size;
    const int place = leaders->topology->place_of[leaders->rank];
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;

    for (int node = 0; node < nodes; ++node) {
        for (int giver = 0; giver < size; ++giver) {
            mca_coll_adapt_schedule_copy(schedule, blocks_at(&rows->come, (size_t) (giver * nodes + node), 1),
                                         blocks_at(&rows->given, (size_t) (node * size + giver), 1));
        }
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    for (int i = 1; i < nodes; ++i) {
        const int next = (leaders->group + i) % nodes, last = (leaders->group + nodes - i) % nodes;

        mca_coll_adapt_schedule_recv(schedule, mca_coll_han_side_blocks(recv, last * size, size), last * size + place);
        mca_coll_adapt_schedule_send(schedule, blocks_at(&rows->given, (size_t) (next * size), size),
                                     next * size + place);
    }
    mca_coll_adapt_schedule_copy(schedule, blocks_at(&rows->given, (size_t) (leaders->group * size), size),
                                 mca_coll_han_side_blocks(recv, leaders->group * size, size));
}

static int by_levels_through(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_node_t *node,
                             const struct rows *rows)
{
    mca_coll_han_leaders_t before = mca_coll_han_leaders_begin(han, args);
    mca_coll_han_leaders_t after = mca_coll_han_leaders_begin(han, args);
    const int row = after.topology->group_count * (int) rows->given.block;
    int rc, last;

    sort_given(&before, rows);
    rc = mca_coll_han_alarm_note(han, OMPI_SUCCESS, mca_coll_han_leaders_perform(&before, han, NULL));
    rc = mca_coll_han_alarm_note(han, rc,
                                 node->submodule->coll_alltoall(rows->given.memory, row, MPI_BYTE, rows->come.memory,
                                                                row, MPI_BYTE, node->comm, node->submodule));
    swap_places(&after, rows);
    /* Who depends on it has a message without data: others need no alarm, which might find their communicator gone. */
    last = mca_coll_han_leaders_perform(&after, han, NULL);
    return mca_coll_han_alarm_heed(han, OMPI_SUCCESS == rc ? last : rc);
}

static int by_levels(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params)
{
    const size_t block = (size_t) args->recv.count * args->recv.type->super.size;
    const size_t all = (size_t) han->topology.size * block;
    struct rows rows = { .given.block = block, .come.block = block };
    mca_coll_han_node_t node;
    int rc;

    if (0 == block) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_han_node_begin(han, args->collective, params, &node);
    rows.given.memory = mca_coll_han_memory_take(han, 2 * all);
    if (NULL == rows.given.memory) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    }
    if (OMPI_SUCCESS == rc) {
        rows.come.memory = rows.given.memory + all;
        rc = by_levels_through(han, args, &node, &rows);
    }
    mca_coll_han_memory_give(han, rows.given.memory);
    return rc;
}

int mca_coll_han_perform_alltoall(han_module_t *han, const mca_coll_han_args_t *args,
                                  const mca_coll_han_params_t *params, ompi_request_t **request)
{
    switch (params->algorithm) {
    case HAN_SIMPLE:
        return by_levels(han, args, params);
    case HAN_LEADERS:
        return by_leaders(han, args, request);
    default:
        return mca_coll_han_exchange(han, args, params->ibs, request);
    }
}
