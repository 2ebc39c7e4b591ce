/* SPDX-License-Identifier: BSD-3-Clause */
/* What the collectives that go through the leaders have in common. */
#include "coll_han.h"

#include <string.h>

mca_coll_han_leaders_t mca_coll_han_leaders_begin(const han_module_t *module, const mca_coll_han_args_t *args)
{
    const mca_coll_han_topology_t *topology = &module->topology;
    const int rank = ompi_comm_rank(module->comm), group = topology->group_of[rank];

    return (mca_coll_han_leaders_t){
        .schedule = mca_coll_adapt_schedule_begin(module->adapt->memory, module->comm, args->op),
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
        .first
        = mca_coll_adapt_packed(mca_coll_adapt_schedule_memory(&leaders->schedule, (size_t) parts * bytes), bytes),
        .stride = (ptrdiff_t) bytes,
    };
}

int mca_coll_han_leaders_rooted(han_module_t *module, const mca_coll_han_args_t *args,
                                const mca_coll_han_params_t *params, void (*fill_root)(mca_coll_han_leaders_t *leaders),
                                void (*fill_other)(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own),
                                ompi_request_t **request)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(module, args);

    leaders.spans = (mca_coll_han_spans_t){
        .topology = leaders.topology,
        .root = args->root,
        .rank = leaders.rank,
        .linear = { [HAN_LOW] = ADAPT_TREE_LINEAR == params->sbalg, [HAN_UP] = ADAPT_TREE_LINEAR == params->ibalg }
    };
    if (leaders.rank == args->root) {
        fill_root(&leaders);
    } else {
        fill_other(&leaders, mca_coll_han_side_whole(HAN_GATHER == args->collective ? &args->send : &args->recv));
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
