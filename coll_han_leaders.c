/* SPDX-License-Identifier: BSD-3-Clause */
/* What the collectives that go through the leaders have in common. */
#include "coll_han.h"

#include <string.h>

mca_coll_han_leaders_t mca_coll_han_leaders_begin(const han_module_t *module, const mca_coll_han_args_t *args)
{
    const mca_coll_han_topology_t *topology = &module->topology;
    const int rank = ompi_comm_rank(module->comm), group = topology->group_of[rank];

    return (mca_coll_han_leaders_t){
        .schedule = mca_coll_adapt_schedule_begin(module->comm, args->op),
        .args = args,
        .topology = topology,
        .rank = rank,
        .group = group,
        .members = mca_coll_han_topology_group(topology, group),
        .size = mca_coll_han_topology_group_size(topology, group),
        .leader = -1 != args->root && topology->group_of[args->root] == group
                      ? args->root
                      : mca_coll_han_topology_leader(topology, group),
    };
}

int mca_coll_han_leaders_perform(mca_coll_han_leaders_t *leaders, const han_module_t *module, ompi_request_t **request)
{
    mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_PART);
    return module->adapt->perform(module->adapt, &leaders->schedule, (mca_coll_adapt_form_t) leaders->args->form,
                                  request);
}

mca_coll_adapt_data_t mca_coll_han_slice(mca_coll_adapt_data_t data, size_t first, size_t count)
{
    ptrdiff_t lb, extent;

    ompi_datatype_get_extent(data.datatype, &lb, &extent);
    data.buffer = (char *) data.buffer + (ptrdiff_t) first * extent;
    data.count = count;
    return data;
}

mca_coll_han_parts_t mca_coll_han_leaders_parts(mca_coll_han_leaders_t *leaders, int parts, size_t count,
                                                ompi_datatype_t *type)
{
    const coll_room_t room = COLL_ROOM_OF(type, count);
    char *memory = mca_coll_adapt_schedule_memory(&leaders->schedule, (size_t) parts * room.bytes);

    return (mca_coll_han_parts_t){
        .first = { .buffer = NULL == memory ? NULL : memory - room.first, .count = count, .datatype = type },
        .stride = (ptrdiff_t) room.bytes,
    };
}

mca_coll_han_parts_t mca_coll_han_leaders_packed(mca_coll_han_leaders_t *leaders, int parts, size_t bytes)
{
    return (mca_coll_han_parts_t){
        .first = { .buffer = mca_coll_adapt_schedule_memory(&leaders->schedule, (size_t) parts * bytes),
                   .count = bytes,
                   .datatype = MPI_PACKED },
        .stride = (ptrdiff_t) bytes,
    };
}

/* ---- the tree of a gather or a scatter: places of nodes count from the root's ---- */

static int group_at(const mca_coll_han_leaders_t *leaders, int place)
{
    return (leaders->topology->group_of[leaders->args->root] + place) % leaders->topology->group_count;
}

static int place_of(const mca_coll_han_leaders_t *leaders)
{
    const mca_coll_han_topology_t *topology = leaders->topology;

    return (leaders->group - topology->group_of[leaders->args->root] + topology->group_count) % topology->group_count;
}

/* Ranks of the root's node and of those behind it, up to this one. */
static int ranks_before(const mca_coll_han_leaders_t *leaders, int place)
{
    const mca_coll_han_topology_t *topology = leaders->topology;
    const int from = topology->first[group_at(leaders, 0)], to = topology->first[group_at(leaders, place)];

    return place == topology->group_count ? topology->size : (to - from + topology->size) % topology->size;
}

/* How many nodes a part of the tree has, if there are so many. */
static int reach_of(const mca_coll_han_leaders_t *leaders, int place)
{
    return 0 == place ? leaders->topology->group_count : leaders->linear ? 1 : place & -place;
}

/* The part of the tree that begins with a node. */
static mca_coll_han_span_t span_at(const mca_coll_han_leaders_t *leaders, int place)
{
    const mca_coll_han_topology_t *topology = leaders->topology;
    const int left = topology->group_count - place, reach = reach_of(leaders, place);
    const int first = ranks_before(leaders, place);
    const int size = ranks_before(leaders, place + (reach < left ? reach : left)) - first;
    const int block = topology->first[group_at(leaders, place)];

    return (mca_coll_han_span_t){
        .leader = 0 == place ? leaders->args->root : topology->members[block],
        .first = first,
        .size = size,
        .block = topology->in_order && size <= topology->size - block ? block : -1,
    };
}

mca_coll_han_span_t mca_coll_han_leaders_span(const mca_coll_han_leaders_t *leaders)
{
    return span_at(leaders, place_of(leaders));
}

int mca_coll_han_leaders_children(const mca_coll_han_leaders_t *leaders)
{
    const int place = place_of(leaders), reach = reach_of(leaders, place);
    int count = 0;

    if (leaders->linear) {
        return reach - 1;
    }
    while (1 << count < reach && place + (1 << count) < leaders->topology->group_count) {
        ++count;
    }
    return count;
}

mca_coll_han_span_t mca_coll_han_leaders_child(const mca_coll_han_leaders_t *leaders, int child)
{
    const int behind = mca_coll_han_leaders_children(leaders) - child;

    return span_at(leaders, place_of(leaders) + (leaders->linear ? behind : 1 << (behind - 1)));
}

int mca_coll_han_leaders_parent(const mca_coll_han_leaders_t *leaders)
{
    const int place = place_of(leaders), parent = leaders->linear ? 0 : place & (place - 1);

    return 0 == parent ? leaders->args->root
                       : mca_coll_han_topology_leader(leaders->topology, group_at(leaders, parent));
}

int mca_coll_han_leaders_rank(const mca_coll_han_leaders_t *leaders, int place)
{
    const mca_coll_han_topology_t *topology = leaders->topology;

    return topology->members[(topology->first[group_at(leaders, 0)] + place) % topology->size];
}

int mca_coll_han_leaders_rooted(han_module_t *module, const mca_coll_han_args_t *args,
                                const mca_coll_han_params_t *params, void (*fill_root)(mca_coll_han_leaders_t *leaders),
                                void (*fill_leader)(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own),
                                ompi_request_t **request)
{
    const bool gathers = HAN_GATHER == args->collective;
    const mca_coll_adapt_data_t own = mca_coll_han_side_whole(gathers ? &args->send : &args->recv);
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(module, args);

    leaders.linear = ADAPT_TREE_LINEAR == params->ibalg;
    if (leaders.rank == args->root) {
        fill_root(&leaders);
    } else if (leaders.rank == leaders.leader) {
        fill_leader(&leaders, own);
    } else if (gathers) {
        mca_coll_adapt_schedule_send(&leaders.schedule, own, leaders.leader);
    } else {
        mca_coll_adapt_schedule_recv(&leaders.schedule, own, leaders.leader);
    }
    return mca_coll_han_leaders_perform(&leaders, module, request);
}

mca_coll_adapt_data_t mca_coll_han_leaders_operand(const mca_coll_han_leaders_t *leaders, size_t count)
{
    const mca_coll_han_args_t *args = leaders->args;

    return (mca_coll_adapt_data_t){
        .buffer = MPI_IN_PLACE == args->send.buffer ? args->recv.buffer : args->send.buffer,
        .count = count,
        .datatype = args->recv.type,
    };
}

void mca_coll_han_leaders_ask(mca_coll_han_leaders_t *leaders, int whom, mca_coll_adapt_data_t given,
                              mca_coll_adapt_data_t wanted)
{
    mca_coll_adapt_schedule_send(&leaders->schedule, given, whom);
    mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
    mca_coll_adapt_schedule_recv(&leaders->schedule, wanted, whom);
}

mca_coll_adapt_data_t mca_coll_han_leaders_reduce(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_han_parts_t parts = mca_coll_han_leaders_parts(leaders, leaders->size, own.count, own.datatype);
    const mca_coll_adapt_data_t result = mca_coll_han_leaders_part(&parts, leaders->size - 1);

    for (int i = 1; i < leaders->size; ++i) {
        mca_coll_adapt_schedule_recv(schedule, mca_coll_han_leaders_part(&parts, i), leaders->members[i]);
    }
    for (int i = leaders->size - 2; i > 0; --i) {
        mca_coll_adapt_schedule_combine(schedule, mca_coll_han_leaders_part(&parts, i), result);
    }
    if (1 == leaders->size) {
        mca_coll_adapt_schedule_copy(schedule, own, result);
    } else {
        mca_coll_adapt_schedule_combine(schedule, own, result);
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    return result;
}

mca_coll_adapt_data_t *mca_coll_han_leaders_list(mca_coll_han_leaders_t *leaders)
{
    const size_t bytes = (size_t) leaders->topology->group_count * sizeof(mca_coll_adapt_data_t);
    void *list = mca_coll_adapt_schedule_memory(&leaders->schedule, bytes);

    return NULL == list ? NULL : memset(list, 0, bytes);
}

/* Each begins with the next one, so that not all send to the same. */
void mca_coll_han_leaders_swap(mca_coll_han_leaders_t *leaders, const mca_coll_adapt_data_t *to,
                               const mca_coll_adapt_data_t *from)
{
    const int groups = leaders->topology->group_count;

    for (int i = 1; i < groups; ++i) {
        const int next = (leaders->group + i) % groups, last = (leaders->group + groups - i) % groups;

        mca_coll_adapt_schedule_recv(&leaders->schedule, from[last],
                                     mca_coll_han_topology_leader(leaders->topology, last));
        mca_coll_adapt_schedule_send(&leaders->schedule, to[next],
                                     mca_coll_han_topology_leader(leaders->topology, next));
    }
}

mca_coll_adapt_data_t mca_coll_han_leaders_combine(mca_coll_han_leaders_t *leaders, const mca_coll_adapt_data_t *to)
{
    const int groups = leaders->topology->group_count;
    const mca_coll_adapt_data_t own = to[leaders->group];
    const mca_coll_han_parts_t parts = mca_coll_han_leaders_parts(leaders, groups, own.count, own.datatype);
    mca_coll_adapt_data_t *from = mca_coll_han_leaders_list(leaders);

    if (NULL == from) {
        return own;
    }
    for (int group = 0; group < groups; ++group) {
        from[group] = group == leaders->group ? own : mca_coll_han_leaders_part(&parts, group);
    }
    mca_coll_han_leaders_swap(leaders, to, from);
    for (int group = groups - 2; group >= 0; --group) {
        mca_coll_adapt_schedule_combine(&leaders->schedule, from[group], from[groups - 1]);
    }
    mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
    return from[groups - 1];
}
