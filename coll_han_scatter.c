/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Scatter, MPI_Scatterv. Long blocks, and those that differ: straight from the root. Short ones: through the
 * leaders.
 */
#include "coll_han.h"

/* A leader: the blocks of its node come packed, in one message; to a rank that is alone its own comes as it is. */
static void fill_leader(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_han_parts_t parts
        = mca_coll_han_leaders_packed(leaders, leaders->size, own.count * own.datatype->super.size);
    mca_coll_adapt_data_t all = mca_coll_han_leaders_part(&parts, 0);

    if (1 == leaders->size) {
        mca_coll_adapt_schedule_recv(schedule, own, leaders->args->root);
        return;
    }
    all.count *= (size_t) leaders->size;
    mca_coll_adapt_schedule_recv(schedule, all, leaders->args->root);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    for (int i = 1; i < leaders->size; ++i) {
        mca_coll_adapt_schedule_send(schedule, mca_coll_han_leaders_part(&parts, i), leaders->members[i]);
    }
    mca_coll_adapt_schedule_copy(schedule, mca_coll_han_leaders_part(&parts, 0), own);
}

/* The root: to each leader the blocks of its node, side by side. */
static void fill_root(mca_coll_han_leaders_t *leaders)
{
    const mca_coll_han_args_t *args = leaders->args;
    const mca_coll_han_topology_t *topology = leaders->topology;
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_han_parts_t parts
        = mca_coll_han_leaders_packed(leaders, topology->size, (size_t) args->send.count * args->send.type->super.size);

    if (!topology->in_order) {
        for (int i = 0; i < topology->size; ++i) {
            mca_coll_adapt_schedule_copy(schedule, mca_coll_han_side_blocks(&args->send, topology->members[i], 1),
                                         mca_coll_han_leaders_part(&parts, i));
        }
        mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    }
    for (int group = 0; group < topology->group_count; ++group) {
        const int leader = mca_coll_han_topology_leader(topology, group);
        const int size = mca_coll_han_topology_group_size(topology, group);
        mca_coll_adapt_data_t all = mca_coll_han_leaders_part(&parts, topology->first[group]);

        all.count *= (size_t) size;
        if (group != leaders->group) {
            mca_coll_adapt_schedule_send(
                schedule, topology->in_order ? mca_coll_han_side_blocks(&args->send, leader, size) : all, leader);
        }
    }
    for (int i = 0; i < leaders->size; ++i) {
        const mca_coll_adapt_data_t block = mca_coll_han_side_blocks(&args->send, leaders->members[i], 1);

        if (leaders->members[i] != leaders->rank) {
            mca_coll_adapt_schedule_send(schedule, block, leaders->members[i]);
        } else if (MPI_IN_PLACE != args->recv.buffer) {
            mca_coll_adapt_schedule_copy(schedule, block, mca_coll_han_side_whole(&args->recv));
        }
    }
}

int mca_coll_han_perform_scatter(han_module_t *han, const mca_coll_han_args_t *args,
                                 const mca_coll_han_params_t *params, ompi_request_t **request)
{
    return HAN_LEADERS == params->algorithm ? mca_coll_han_leaders_rooted(han, args, fill_root, fill_leader, request)
                                            : mca_coll_han_exchange(han, args, request);
}
