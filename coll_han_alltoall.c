/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoall, MPI_Alltoallv. Long blocks, and those that differ: straight from rank to rank. Short ones: through the
 * leaders, so that from node to node there is one message for all pairs of their ranks.
 */
#include "coll_han.h"

/* A leader's memory: rows of packed blocks. */
struct table {
    char *memory;
    size_t block; /* bytes */
};

static mca_coll_adapt_data_t blocks_at(const struct table *table, size_t first, int count)
{
    return (mca_coll_adapt_data_t){ .buffer = table->memory + first * table->block,
                                    .count = (size_t) count * table->block,
                                    .datatype = MPI_PACKED };
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

int mca_coll_han_perform_alltoall(han_module_t *han, const mca_coll_han_args_t *args,
                                  const mca_coll_han_params_t *params, ompi_request_t **request)
{
    return HAN_LEADERS == params->algorithm ? by_leaders(han, args, request)
                                            : mca_coll_han_exchange(han, args, request);
}
