/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages straight from rank to rank, a window of them at once.
 *
 * Long blocks may go to other nodes in pieces: up to the eager limit a message is sent without asking. Longer ones ask,
 * and who is asked answers behind what it sends itself, so that a link that could carry both ways at once carries one
 * after the other. Both ends cut a block after the same packed bytes; who has it in another shape packs it.
 */
#include "coll_han.h"

/* Messages that are expected at once. */
enum { RECV_WINDOW = 16 };

/* Packed blocks under way at once, of a side; a longer block is alone. */
enum { PACKED = HAN_MOST_MEMORY / 8 };

enum { SEND, RECV, SIDES };

/* What is to be exchanged, as all steps see it. */
struct exchange {
    const mca_coll_han_topology_t *topology;
    const mca_coll_han_args_t *args;
    int rank;
    size_t segment; /* bytes of a piece; 0: blocks go whole */
    mca_coll_adapt_schedule_t schedule;
    size_t bytes[SIDES]; /* of all messages */
    size_t room[SIDES];  /* bytes of memory for packed blocks, and it */
    char *memory[SIDES];
};

/*
 * The rank sends to one peer and receives from another; -1: there is none. Ranks take their steps in one order, by
 * which a message is in the same step on both ends. So whatever the windows, the first of the messages that are not
 * through can go.
 */
struct step {
    int distance; /* nodes from here to who gets it: from 1 on, the own node last */
    int turn;     /* places from here to who gets it */
    int peers[SIDES];
};

/* From -size to less than 2 * size, wherever it goes round. No division: a step would have eight of them. */
static int wrapped(int number, int size)
{
    return 0 > number ? number + size : size <= number ? number - size : number;
}

/* The next step; false: there is none. */
static bool next_step(const struct exchange *exchange, struct step *step)
{
    const mca_coll_han_topology_t *topology = exchange->topology;
    const int groups = topology->group_count, group = topology->group_of[exchange->rank];
    const int place = topology->place_of[exchange->rank], here = mca_coll_han_topology_group_size(topology, group);

    ++step->turn;
    while (step->distance <= groups) {
        bool any = false;

        for (int which = SEND; which < SIDES; ++which) {
            const int way = SEND == which ? 1 : -1, other = wrapped(group + way * step->distance, groups);
            const int there = mca_coll_han_topology_group_size(topology, other);
            const int places = here > there ? here : there;
            const int at = step->turn < places ? wrapped(place + way * step->turn, places) : there;

            any = any || step->turn < places;
            step->peers[which] = at < there ? mca_coll_han_topology_group(topology, other)[at] : -1;
        }
        if (any) {
            return true;
        }
        ++step->distance;
        step->turn = 0;
    }
    return false;
}

/* The first step; false: there is none. Who has messages with the root alone has one step. */
static bool first_step(const struct exchange *exchange, struct step *step)
{
    const int root = exchange->args->root;

    if (-1 != root && exchange->rank != root) {
        *step = (struct step){ .distance = exchange->topology->group_count + 1, .peers = { root, root } };
        return true;
    }
    *step = (struct step){ .distance = 1, .turn = -1 };
    return next_step(exchange, step);
}

/* Of gather the sending side, of scatter the receiving one, is one block, and its only peer is the root. */
static bool is_one_block(const mca_coll_han_args_t *args, int which)
{
    return SEND == which ? HAN_GATHER == args->collective || HAN_GATHERV == args->collective
                         : HAN_SCATTER == args->collective || HAN_SCATTERV == args->collective;
}

/* The rank's block of a side. */
static mca_coll_adapt_data_t block_of(const mca_coll_han_args_t *args, int which, int rank)
{
    const mca_coll_han_side_t *side = SEND == which ? &args->send : &args->recv;

    return is_one_block(args, which) ? mca_coll_han_side_whole(side) : mca_coll_han_side_blocks(side, rank, 1);
}

/* A message of a step. */
struct message {
    mca_coll_adapt_data_t data;
    int peer;
    size_t bytes;   /* 0: there is none; empty ones are left out, on both ends */
    bool in_pieces; /* it is long, and goes to another node or comes from there */
    size_t packed;  /* bytes of ours that pieces are cut from; 0: they are cut from the user's buffer */
};

/* With any other rank, or only with the root. */
static struct message message_of(const struct exchange *exchange, const struct step *step, int which)
{
    const mca_coll_han_args_t *args = exchange->args;
    const int *group_of = exchange->topology->group_of;
    const int rank = exchange->rank, root = args->root, peer = step->peers[which];
    struct message message = { .peer = peer };

    if (-1 == peer || rank == peer || (-1 != root && root != (is_one_block(args, which) ? peer : rank))) {
        return message;
    }
    message.data = block_of(args, which, peer);
    message.bytes = mca_coll_adapt_data_bytes(&message.data);
    message.in_pieces = 0 < exchange->segment && exchange->segment < message.bytes && group_of[rank] != group_of[peer];
    if (message.in_pieces
        && !opal_datatype_is_contiguous_memory_layout(&message.data.datatype->super, (int32_t) message.data.count)) {
        message.packed = message.bytes;
    }
    return message;
}

static void add_message(struct exchange *exchange, int which, mca_coll_adapt_data_t data, int peer)
{
    mca_coll_adapt_schedule_message(&exchange->schedule, SEND == which ? ADAPT_SEND : ADAPT_RECV, data, peer, NULL);
}

/* In pieces of bytes that lie one behind the other. */
static void add_pieces(struct exchange *exchange, int which, const struct message *message, char *bytes)
{
    for (size_t at = 0; at < message->bytes; at += exchange->segment) {
        const size_t left = message->bytes - at;

        add_message(exchange, which,
                    mca_coll_adapt_packed(bytes + at, left < exchange->segment ? left : exchange->segment),
                    message->peer);
    }
}

/* Whether the rank has messages of a side: a root that gathers sends none. */
static bool has_side(const struct exchange *exchange, int which)
{
    const mca_coll_han_args_t *args = exchange->args;

    return -1 == args->root || is_one_block(args, which) == (exchange->rank != args->root);
}

/* The messages of a side in so many steps. What has come packed is unpacked when the round's messages are through. */
static void add_messages(struct exchange *exchange, int which, struct step step, int steps)
{
    char *packed = exchange->memory[which];

    for (bool more = has_side(exchange, which); more && 0 < steps; --steps, more = next_step(exchange, &step)) {
        const struct message message = message_of(exchange, &step, which);

        exchange->bytes[which] += message.bytes;
        if (0 < message.packed) {
            add_pieces(exchange, which, &message, packed);
            if (RECV == which) {
                mca_coll_adapt_schedule_copy(&exchange->schedule, mca_coll_adapt_packed(packed, message.packed),
                                             message.data);
            }
            packed += message.packed;
        } else if (message.in_pieces) {
            add_pieces(exchange, which, &message, (char *) message.data.buffer + message.data.datatype->super.true_lb);
        } else if (0 < message.bytes) {
            add_message(exchange, which, message.data, message.peer);
        }
    }
}

/* Packs what is sent in so many steps. */
static void add_packing(struct exchange *exchange, struct step step, int steps)
{
    char *packed = exchange->memory[SEND];

    for (; 0 < steps && 0 < exchange->room[SEND]; --steps, next_step(exchange, &step)) {
        const struct message message = message_of(exchange, &step, SEND);

        if (0 < message.packed) {
            mca_coll_adapt_schedule_copy(&exchange->schedule, message.data,
                                         mca_coll_adapt_packed(packed, message.packed));
            packed += message.packed;
        }
    }
}

/* Takes memory for packed blocks of each side: for all, or for PACKED bytes, or a longer block. */
static void make_room(struct exchange *exchange)
{
    size_t longest[SIDES] = { 0 };
    struct step step;

    for (bool more = 0 < exchange->segment && first_step(exchange, &step); more; more = next_step(exchange, &step)) {
        for (int which = SEND; which < SIDES; ++which) {
            const size_t packed = message_of(exchange, &step, which).packed;

            exchange->room[which] += packed;
            longest[which] = packed > longest[which] ? packed : longest[which];
        }
    }
    for (int which = SEND; which < SIDES; ++which) {
        const size_t enough = longest[which] > PACKED ? longest[which] : PACKED;

        if (exchange->room[which] > enough) {
            exchange->room[which] = enough;
        }
        if (0 < exchange->room[which]) {
            exchange->memory[which] = mca_coll_adapt_schedule_memory(&exchange->schedule, exchange->room[which]);
        }
    }
}

/*
 * Goes behind the steps for whose packed blocks there is room at once, and counts them; `more`: there is a step. Where
 * nothing is packed: behind all.
 */
static int pass_steps(const struct exchange *exchange, struct step *step, bool *more)
{
    size_t packed[SIDES] = { 0 };
    int steps = 0;

    if (0 == exchange->room[SEND] && 0 == exchange->room[RECV]) {
        *more = false;
        return INT_MAX;
    }
    for (; *more; *more = next_step(exchange, step), ++steps) {
        for (int which = SEND; which < SIDES; ++which) {
            packed[which] += message_of(exchange, step, which).packed;
            if (packed[which] > exchange->room[which]) {
                return steps;
            }
        }
    }
    return steps;
}

/* All steps, a round for as many as there is room for: while their messages are under way what is packed stays. */
static void add_steps(struct exchange *exchange)
{
    struct step step;
    bool more = first_step(exchange, &step);

    make_room(exchange);
    while (more) {
        const struct step first = step;
        const int steps = pass_steps(exchange, &step, &more);

        add_packing(exchange, first, steps);
        if (0 < exchange->schedule.count) {
            mca_coll_adapt_schedule_end(&exchange->schedule, ADAPT_ROUND);
        }
        add_messages(exchange, SEND, first, steps);
        add_messages(exchange, RECV, first, steps);
    }
}

void mca_coll_han_exchange_own(mca_coll_adapt_schedule_t *schedule, const mca_coll_han_args_t *args, int rank)
{
    if ((-1 == args->root || rank == args->root) && MPI_IN_PLACE != args->send.buffer
        && MPI_IN_PLACE != args->recv.buffer) {
        mca_coll_adapt_schedule_copy(schedule, block_of(args, SEND, rank), block_of(args, RECV, rank));
    }
}

void mca_coll_han_exchange_limit_root(mca_coll_adapt_schedule_t *schedule, size_t bytes, int ranks)
{
    schedule->buffered = HAN_EXCHANGE_BUFFERED;
    if (HAN_EXCHANGE_BUFFERED < bytes && HAN_EXCHANGE_ROOT_WINDOW < ranks) {
        schedule->windows[SEND] = schedule->windows[RECV] = HAN_EXCHANGE_ROOT_WINDOW;
    }
}

/*
 * What is little in all is under way at once: then nothing has to be started when something else completes, and no send
 * waits until it has been received. So are the blocks of a root, where they are few; these go whole.
 */
static void limit(struct exchange *exchange)
{
    const mca_coll_han_topology_t *topology = exchange->topology;
    const size_t *bytes = exchange->bytes, most = bytes[SEND] > bytes[RECV] ? bytes[SEND] : bytes[RECV];
    const size_t segment = exchange->segment;
    mca_coll_adapt_schedule_t *schedule = &exchange->schedule;

    if (-1 != exchange->args->root) {
        if (exchange->rank == exchange->args->root) {
            mca_coll_han_exchange_limit_root(schedule, most, topology->size);
        }
        return;
    }
    schedule->buffered = 0 < segment && segment <= HAN_EXCHANGE_BUFFERED ? segment - 1 : HAN_EXCHANGE_BUFFERED;
    if (HAN_EXCHANGE_BUFFERED < most) {
        const int here = mca_coll_han_topology_group_size(topology, topology->group_of[exchange->rank]);

        schedule->windows[SEND] = mca_coll_han_exchange_window(here, 0 < segment);
        schedule->windows[RECV] = RECV_WINDOW;
    }
}

int mca_coll_han_exchange(han_module_t *han, const mca_coll_han_args_t *args, size_t segment, ompi_request_t **request)
{
    struct exchange exchange = { .topology = &han->topology,
                                 .args = args,
                                 .rank = ompi_comm_rank(han->comm),
                                 .segment = segment,
                                 .schedule = mca_coll_adapt_schedule_begin(han->adapt->memory, han->comm, NULL) };

    add_steps(&exchange);
    limit(&exchange);
    mca_coll_han_exchange_own(&exchange.schedule, args, exchange.rank);
    mca_coll_adapt_schedule_end(&exchange.schedule, ADAPT_PART);
    return han->adapt->perform(han->adapt, &exchange.schedule, (mca_coll_adapt_form_t) args->form, request);
}
