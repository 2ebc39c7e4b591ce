/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Gather, MPI_Gatherv. Long blocks, and those that differ: straight to the root. Short ones: through the leaders.
 */
#include "coll_han.h"

/* A leader: the blocks of its node, packed, in one message; a rank that is alone sends its own as it is. */
static void fill_leader(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_han_parts_t parts
        = mca_coll_han_leaders_packed(leaders, leaders->size, own.count * own.datatype->super.size);
    mca_coll_adapt_data_t all = mca_coll_han_leaders_part(&parts, 0);

    if (1 == leaders->size) {
        mca_coll_adapt_schedule_send(schedule, own, leaders->args->root);
        return;
    }
    for (int i = 1; i < leaders->size; ++i) {
        mca_coll_adapt_schedule_recv(schedule, mca_coll_han_leaders_part(&parts, i), leaders->members[i]);
    }
    mca_coll_adapt_schedule_copy(schedule, own, all);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    all.count *= (size_t) leaders->size;
    mca_coll_adapt_schedule_send(schedule, all, leaders->args->root);
}

/* The root: from each leader the blocks of its node, which go where they belong at once where they lie side by side. */
static void fill_root(mca_coll_han_leaders_t *leaders)
{
    const mca_coll_han_args_t *args = leaders->args;
    const mca_coll_han_topology_t *topology = leaders->topology;
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_han_parts_t parts
        = mca_coll_han_leaders_packed(leaders, topology->size, (size_t) args->recv.count * args->recv.type->super.size);

    for (int group = 0; group < topology->group_count; ++group) {
        const int *members = mca_coll_han_topology_group(topology, group);
        const int size = mca_coll_han_topology_group_size(topology, group);
        mca_coll_adapt_data_t all = mca_coll_han_leaders_part(&parts, topology->first[group]);

        if (group == leaders->group) {
            continue;
        }
        if (topology->in_order) {
            mca_coll_adapt_schedule_recv(schedule, mca_coll_han_side_blocks(&args->recv, members[0], size), members[0]);
            continue;
        }
        all.count *= (size_t) size;
        mca_coll_adapt_schedule_recv(schedule, all, members[0]);
        for (int i = 0; i < size; ++i) {
            mca_coll_adapt_schedule_copy(schedule, mca_coll_han_leaders_part(&parts, topology->first[group] + i),
                                         mca_coll_han_side_blocks(&args->recv, members[i], 1));
        }
    }
    for (int i = 0; i < leaders->size; ++i) {
        if (leaders->members[i] != leaders->rank) {
            mca_coll_adapt_schedule_recv(schedule, mca_coll_han_side_blocks(&args->recv, leaders->members[i], 1),
                                         leaders->members[i]);
        } else if (MPI_IN_PLACE != args->send.buffer) {
            mca_coll_adapt_schedule_copy(schedule, mca_coll_han_side_whole(&args->send),
                                         mca_coll_han_side_blocks(&args->recv, leaders->rank, 1));
        }
    }
}

int mca_coll_han_perform_gather(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params,
                                ompi_request_t **request)
{
    return HAN_LEADERS == params->algorithm ? mca_coll_han_leaders_rooted(han, args, fill_root, fill_leader, request)
                                            : mca_coll_han_exchange(han, args, request);
}
