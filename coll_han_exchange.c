/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages straight from rank to rank, a window of them at once. */
#include "coll_han.h"

/*
 * Messages under way: from a node, whatever the number of its ranks, but one from each; from the root of a scatter; to
 * a rank. More than fill the link wait in queues before it, where they come to be lost; TCP then waits for 0.2 s. Those
 * of up to HAN_EXCHANGE_BUFFERED bytes are too few bytes for that.
 */
enum { NODE_WINDOW = 2, RECV_WINDOW = 16 };

/* Of gather the sending side, of scatter the receiving one, is one block, and its only peer is the root. */
static bool is_one_block(const mca_coll_han_args_t *args, bool send)
{
    return send ? HAN_GATHER == args->collective || HAN_GATHERV == args->collective
                : HAN_SCATTER == args->collective || HAN_SCATTERV == args->collective;
}

/* The rank's block of a side. */
static mca_coll_adapt_data_t block_of(const mca_coll_han_args_t *args, bool send, int rank)
{
    const mca_coll_han_side_t *side = send ? &args->send : &args->recv;

    return is_one_block(args, send) ? mca_coll_han_side_whole(side) : mca_coll_han_side_blocks(side, rank, 1);
}

/*
 * Writes the messages of a side and adds up their bytes: with all other ranks or only with the root, in the order in
 * which a rank sends (step 1) or receives (step -1), its own node's last. Empty ones are left out, on both ends.
 */
static size_t add_side(const han_module_t *han, const mca_coll_han_args_t *args, bool send,
                       mca_coll_adapt_schedule_t *schedule)
{
    const mca_coll_han_topology_t *topology = &han->topology;
    const int rank = ompi_comm_rank(han->comm), step = send ? 1 : -1;
    const int groups = topology->group_count, group = topology->group_of[rank], place = topology->place_of[rank];
    const bool one_block = is_one_block(args, send);
    size_t bytes = 0;

    if (!one_block && -1 != args->root && rank != args->root) {
        return 0;
    }
    for (int i = 1; i <= groups; ++i) {
        const int other = (group + (step * i % groups) + groups) % groups;
        const int size = mca_coll_han_topology_group_size(topology, other);

        for (int j = 0; j < size; ++j) {
            const int peer = mca_coll_han_topology_group(topology, other)[((place + step * j) % size + size) % size];
            const mca_coll_adapt_data_t data = block_of(args, send, peer);

            if ((one_block && peer != args->root) || peer == rank || 0 == data.count * data.datatype->super.size) {
                continue;
            }
            bytes += data.count * data.datatype->super.size;
            if (send) {
                mca_coll_adapt_schedule_send(schedule, data, peer);
            } else {
                mca_coll_adapt_schedule_recv(schedule, data, peer);
            }
        }
    }
    return bytes;
}

/* Copies the own block, which in place is where it belongs. */
static void add_own_block(const han_module_t *han, const mca_coll_han_args_t *args, mca_coll_adapt_schedule_t *schedule)
{
    const int rank = ompi_comm_rank(han->comm);

    if ((-1 == args->root || rank == args->root) && MPI_IN_PLACE != args->send.buffer
        && MPI_IN_PLACE != args->recv.buffer) {
        mca_coll_adapt_schedule_copy(schedule, block_of(args, true, rank), block_of(args, false, rank));
    }
}

int mca_coll_han_exchange(han_module_t *han, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    const mca_coll_han_topology_t *topology = &han->topology;
    const int senders = mca_coll_han_topology_group_size(topology, topology->group_of[ompi_comm_rank(han->comm)]);
    mca_coll_adapt_schedule_t schedule = mca_coll_adapt_schedule_begin(han->adapt->memory, han->comm, NULL);
    const size_t sent = add_side(han, args, true, &schedule), received = add_side(han, args, false, &schedule);

    schedule.buffered = HAN_EXCHANGE_BUFFERED;
    /* What is little in all is under way at once: then nothing has to be started when something else completes. */
    if (HAN_EXCHANGE_BUFFERED < sent || HAN_EXCHANGE_BUFFERED < received) {
        schedule.windows[0] = -1 != args->root        ? HAN_EXCHANGE_ROOT_WINDOW
                              : NODE_WINDOW < senders ? 1
                                                      : NODE_WINDOW / senders;
        schedule.windows[1] = RECV_WINDOW;
    }
    add_own_block(han, args, &schedule);
    mca_coll_adapt_schedule_end(&schedule, ADAPT_PART);
    return han->adapt->perform(han->adapt, &schedule, (mca_coll_adapt_form_t) args->form, request);
}
