/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Scan, MPI_Exscan, where every node holds consecutive ranks: leaders gather their node's operands and combine them
 * from rank to rank; what the nodes before have comes from their leaders, and is put before all of it. Of a short
 * message each leader tells all that come later; a long one goes in segments from leader to leader, so that each link
 * carries it once.
 */
#include "coll_han.h"

/* Memory of a leader for one segment: the operands of its node, and what comes from other leaders. */
struct memory {
    mca_coll_han_parts_t low, up;
};

/* What the nodes before this one have, from each of them. */
static mca_coll_adapt_data_t hear_all(mca_coll_han_leaders_t *leaders, const mca_coll_han_parts_t *parts, size_t count,
                                      mca_coll_adapt_data_t of_node)
{
    const mca_coll_han_topology_t *topology = leaders->topology;
    const int group = leaders->group;
    mca_coll_adapt_data_t before = { NULL, 0, NULL };

    for (int i = 0; i < group; ++i) {
        before = mca_coll_han_slice(mca_coll_han_leaders_part(parts, i), 0, count);
        mca_coll_adapt_schedule_recv(&leaders->schedule, before, mca_coll_han_topology_leader(topology, i));
    }
    for (int i = group + 1; i < topology->group_count; ++i) {
        mca_coll_adapt_schedule_send(&leaders->schedule, of_node, mca_coll_han_topology_leader(topology, i));
    }
    for (int i = group - 2; i >= 0; --i) {
        mca_coll_adapt_schedule_combine(&leaders->schedule,
                                        mca_coll_han_slice(mca_coll_han_leaders_part(parts, i), 0, count), before);
    }
    return before;
}

/* The same, from the leader before. */
static mca_coll_adapt_data_t hear_last(mca_coll_han_leaders_t *leaders, const mca_coll_han_parts_t *parts, size_t count)
{
    const mca_coll_adapt_data_t before = mca_coll_han_slice(mca_coll_han_leaders_part(parts, 0), 0, count);

    if (0 < leaders->group) {
        mca_coll_adapt_schedule_recv(&leaders->schedule, before,
                                     mca_coll_han_topology_leader(leaders->topology, leaders->group - 1));
    }
    return before;
}

static void fill_leader(mca_coll_han_leaders_t *leaders, const struct memory *memory, mca_coll_adapt_data_t own,
                        mca_coll_adapt_data_t result, bool chain)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const bool inclusive = HAN_SCAN == leaders->args->collective, first_node = 0 == leaders->group;
    const int size = leaders->size;
    mca_coll_adapt_data_t *part = (void *) mca_coll_adapt_schedule_memory(schedule, (size_t) size * sizeof(*part)),
                          before;

    if (NULL == part) {
        return;
    }
    for (int i = 0; i < size; ++i) {
        part[i] = mca_coll_han_slice(mca_coll_han_leaders_part(&memory->low, i), 0, own.count);
    }
    for (int i = 1; i < size; ++i) {
        mca_coll_adapt_schedule_recv(schedule, part[i], leaders->members[i]);
    }
    mca_coll_adapt_schedule_copy(schedule, own, part[0]);
    for (int i = 1; i < size; ++i) {
        mca_coll_adapt_schedule_combine(schedule, part[i - 1], part[i]);
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    before = chain ? hear_last(leaders, &memory->up, own.count)
                   : hear_all(leaders, &memory->up, own.count, part[size - 1]);
    for (int i = 0; i < size && !first_node; ++i) {
        mca_coll_adapt_schedule_combine(schedule, before, part[i]);
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    if (chain && leaders->group + 1 < leaders->topology->group_count) {
        mca_coll_adapt_schedule_send(schedule, part[size - 1],
                                     mca_coll_han_topology_leader(leaders->topology, leaders->group + 1));
    }
    for (int i = 1; i < size; ++i) {
        mca_coll_adapt_schedule_send(schedule, part[inclusive ? i : i - 1], leaders->members[i]);
    }
    if (inclusive || !first_node) {
        mca_coll_adapt_schedule_copy(schedule, inclusive ? part[0] : before, result);
    }
}

static int by_leaders(han_module_t *han, const mca_coll_han_args_t *args, size_t segment_bytes,
                      ompi_request_t **request)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(han, args);
    const mca_coll_adapt_data_t result = mca_coll_han_side_whole(&args->recv),
                                own = mca_coll_han_leaders_operand(&leaders, result.count);
    const size_t bytes = result.datatype->super.size;
    const size_t segment = mca_coll_han_scan_segment(result.count, 0 == bytes ? 1 : bytes, segment_bytes);
    const bool chain = segment < result.count;
    struct memory memory[HAN_SCAN_AT_ONCE];

    leaders.schedule.parts_at_once = chain ? HAN_SCAN_AT_ONCE : 1;
    for (int i = 0; i < leaders.schedule.parts_at_once && leaders.rank == leaders.leader; ++i) {
        memory[i].low = mca_coll_han_leaders_parts(&leaders, leaders.size, segment, result.datatype);
        memory[i].up = mca_coll_han_leaders_parts(&leaders, chain ? 1 : leaders.group, segment, result.datatype);
    }
    for (size_t first = 0, i = 0; first < result.count || 0 == i; first += segment, ++i) {
        const size_t count = segment < result.count - first ? segment : result.count - first;

        if (0 < i) {
            mca_coll_adapt_schedule_end(&leaders.schedule, ADAPT_PART);
        }
        if (leaders.rank == leaders.leader) {
            fill_leader(&leaders, &memory[i % HAN_SCAN_AT_ONCE], mca_coll_han_slice(own, first, count),
                        mca_coll_han_slice(result, first, count), chain);
        } else {
            mca_coll_han_leaders_ask(&leaders, leaders.leader, mca_coll_han_slice(own, first, count),
                                     mca_coll_han_slice(result, first, count));
        }
    }
    return mca_coll_han_leaders_perform(&leaders, han, request);
}

int mca_coll_han_perform_scan(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params,
                              ompi_request_t **request)
{
    return by_leaders(han, args, params->ibs, request);
}
