/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Gatherv and MPI_Scatterv through the leaders, where no rank but the root knows how long the blocks of others are.
 *
 * A short block goes through its node's leader, a long one straight between its rank and the root: both know its
 * length, and so which way it goes. All others of a node tell their leader how long theirs are, so it knows whether it
 * has to do with the root, and with how many bytes. So of n nodes with p ranks each the root has n - 1 + p - 1 messages
 * for short blocks instead of n * p - 1, and for long ones those that it would have anyway. The root leads its node, to
 * which all blocks go straight.
 *
 * In gatherv a rank tells the length in the message that brings the block. A leader who fails to hear of a length takes
 * it that the root waits for what there would be, and that it will not hear from the root itself.
 */
#include "coll_han.h"

#include <string.h>

/* Before a block, or alone, its length. */
typedef uint64_t header_t;

/* What a leader finds out. */
struct found {
    size_t limit;
    int size;      /* ranks of the node */
    char *places;  /* of their blocks: a header and a short block each, the leader's the first */
    size_t own;    /* bytes of the leader's block; 0: it is long, or there is none */
    size_t total;  /* bytes of all short ones */
    size_t *bytes; /* [size] of each, where they are handed out */
};

struct ragged {
    mca_coll_han_leaders_t leaders;
    size_t limit; /* bytes of the longest block that is short */
    bool gathers;
};

static size_t bytes_of(mca_coll_adapt_data_t data)
{
    return data.count * data.datatype->super.size;
}

static char *place_of(const struct found *found, int member)
{
    return found->places + (size_t) member * (sizeof(header_t) + found->limit);
}

static size_t length_at(const char *place)
{
    header_t length;

    memcpy(&length, place, sizeof(length));
    return (size_t) length;
}

/* A block goes to the root, or comes from it; so does what a leader has. */
static void add_message(struct ragged *ragged, bool send, mca_coll_adapt_data_t data, int peer)
{
    if (send) {
        mca_coll_adapt_schedule_send(&ragged->leaders.schedule, data, peer);
    } else {
        mca_coll_adapt_schedule_recv(&ragged->leaders.schedule, data, peer);
    }
}

/* ---- the root ---- */

static mca_coll_adapt_data_t block_of(const struct ragged *ragged, int rank)
{
    const mca_coll_han_args_t *args = ragged->leaders.args;

    return mca_coll_han_side_blocks(ragged->gathers ? &args->recv : &args->send, rank, 1);
}

/* The node that so many come before; the own one is behind all. */
static int group_at(const struct ragged *ragged, int distance)
{
    return (ragged->leaders.group + distance) % ragged->leaders.topology->group_count;
}

/* Bytes of the short blocks of a node. */
static size_t short_bytes(const struct ragged *ragged, int group)
{
    const mca_coll_han_topology_t *topology = ragged->leaders.topology;
    const int *members = mca_coll_han_topology_group(topology, group);
    size_t total = 0;

    for (int i = 0; i < mca_coll_han_topology_group_size(topology, group); ++i) {
        const size_t bytes = bytes_of(block_of(ragged, members[i]));

        total += bytes <= ragged->limit ? bytes : 0;
    }
    return total;
}

/* The short blocks of a node, packed one behind the other: from there to where they belong, or the other way. */
static void copy_blocks(struct ragged *ragged, int group, char *packed)
{
    const mca_coll_han_topology_t *topology = ragged->leaders.topology;
    const int *members = mca_coll_han_topology_group(topology, group);

    for (int i = 0; i < mca_coll_han_topology_group_size(topology, group); ++i) {
        const mca_coll_adapt_data_t block = block_of(ragged, members[i]);
        const size_t bytes = bytes_of(block);
        const mca_coll_adapt_data_t there = mca_coll_adapt_packed(packed, bytes);

        if (0 < bytes && bytes <= ragged->limit) {
            mca_coll_adapt_schedule_copy(&ragged->leaders.schedule, ragged->gathers ? there : block,
                                         ragged->gathers ? block : there);
            packed += bytes;
        }
    }
}

/* What goes straight: long blocks, and those of the own node. Returns their bytes. */
static size_t add_straight(struct ragged *ragged)
{
    const mca_coll_han_topology_t *topology = ragged->leaders.topology;
    size_t total = 0;

    for (int distance = 1; distance <= topology->group_count; ++distance) {
        const int group = group_at(ragged, distance);
        const int *members = mca_coll_han_topology_group(topology, group);

        for (int i = 0; i < mca_coll_han_topology_group_size(topology, group); ++i) {
            const mca_coll_adapt_data_t block = block_of(ragged, members[i]);
            const size_t bytes = bytes_of(block);

            if (members[i] != ragged->leaders.rank && 0 < bytes
                && (group == ragged->leaders.group || ragged->limit < bytes)) {
                add_message(ragged, !ragged->gathers, block, members[i]);
                total += bytes;
            }
        }
    }
    return total;
}

/* One message with each leader whose node has short blocks; or what these are packed into, or unpacked from. */
static void add_packets(struct ragged *ragged, char *packed, bool copies)
{
    const mca_coll_han_topology_t *topology = ragged->leaders.topology;

    for (int distance = 1; distance < topology->group_count; ++distance) {
        const int group = group_at(ragged, distance);
        const size_t bytes = short_bytes(ragged, group);

        if (copies) {
            copy_blocks(ragged, group, packed);
        } else if (0 < bytes) {
            add_message(ragged, !ragged->gathers, mca_coll_adapt_packed(packed, bytes),
                        mca_coll_han_topology_leader(topology, group));
        }
        packed += bytes;
    }
}

static void fill_root(struct ragged *ragged)
{
    const mca_coll_han_args_t *args = ragged->leaders.args;
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const mca_coll_han_side_t *one = ragged->gathers ? &args->send : &args->recv;
    size_t total = 0, straight;
    char *packed;

    for (int distance = 1; distance < ragged->leaders.topology->group_count; ++distance) {
        total += short_bytes(ragged, group_at(ragged, distance));
    }
    packed = mca_coll_adapt_schedule_memory(schedule, total);
    if (NULL == packed) {
        return;
    }
    /* Between a leader and the root both may have a message: in one order on both sides. */
    if (ragged->gathers) {
        straight = add_straight(ragged);
        add_packets(ragged, packed, false);
        add_packets(ragged, packed, true);
    } else {
        if (0 < total) {
            add_packets(ragged, packed, true);
            mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
        }
        add_packets(ragged, packed, false);
        straight = add_straight(ragged);
    }
    mca_coll_han_exchange_limit_root(schedule, straight, ragged->leaders.topology->size);
    if (MPI_IN_PLACE != one->buffer) {
        const mca_coll_adapt_data_t own = mca_coll_han_side_whole(one), there = block_of(ragged, ragged->leaders.rank);

        mca_coll_adapt_schedule_copy(schedule, ragged->gathers ? own : there, ragged->gathers ? there : own);
    }
}

/* ---- the leader of another node ---- */

/* Makes one message of the blocks that have come. */
static void collect(void *context)
{
    struct found *found = context;

    found->total = found->own;
    for (int i = 1; i < found->size; ++i) {
        const char *place = place_of(found, i);
        const size_t bytes = length_at(place);

        if (bytes <= found->limit) {
            memmove(found->places + found->total, place + sizeof(header_t), bytes);
            found->total += bytes;
        }
    }
}

/* Finds out how long blocks are that are to be handed out. */
static void measure(void *context)
{
    struct found *found = context;

    found->total = found->own;
    for (int i = 1; i < found->size; ++i) {
        const size_t bytes = length_at(place_of(found, i));

        found->bytes[i] = bytes <= found->limit ? bytes : 0;
        found->total += found->bytes[i];
    }
}

/* The other way round than collect: from the last one on, each to its place, of which none lies before. */
static void spread(void *context)
{
    struct found *found = context;
    const char *end = found->places + found->total;

    for (int i = found->size - 1; i > 0; --i) {
        end -= found->bytes[i];
        memmove(place_of(found, i), end, found->bytes[i]);
    }
}

static void lead_gather(struct ragged *ragged, struct found *found, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const int root = ragged->leaders.args->root;

    for (int i = 1; i < found->size; ++i) {
        mca_coll_adapt_schedule_recv(schedule,
                                     mca_coll_adapt_packed(place_of(found, i), sizeof(header_t) + found->limit),
                                     ragged->leaders.members[i]);
    }
    if (0 < found->own) {
        mca_coll_adapt_schedule_copy(schedule, own, mca_coll_adapt_packed(found->places, found->own));
    } else if (0 < bytes_of(own)) {
        mca_coll_adapt_schedule_send(schedule, own, root);
    }
    mca_coll_adapt_schedule_call(schedule, collect, found);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    found->total = 1;
    mca_coll_adapt_schedule_found(schedule, ADAPT_SEND, mca_coll_adapt_packed(found->places, 0), root, &found->total);
}

static void lead_scatter(struct ragged *ragged, struct found *found, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const int root = ragged->leaders.args->root;

    for (int i = 1; i < found->size; ++i) {
        mca_coll_adapt_schedule_recv(schedule, mca_coll_adapt_packed(place_of(found, i), sizeof(header_t)),
                                     ragged->leaders.members[i]);
    }
    mca_coll_adapt_schedule_call(schedule, measure, found);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    found->total = 0;
    mca_coll_adapt_schedule_found(schedule, ADAPT_RECV, mca_coll_adapt_packed(found->places, 0), root, &found->total);
    if (0 == found->own && 0 < bytes_of(own)) {
        mca_coll_adapt_schedule_recv(schedule, own, root);
    }
    mca_coll_adapt_schedule_call(schedule, spread, found);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    for (int i = 1; i < found->size; ++i) {
        found->bytes[i] = 1;
        mca_coll_adapt_schedule_found(schedule, ADAPT_SEND, mca_coll_adapt_packed(place_of(found, i), 0),
                                      ragged->leaders.members[i], &found->bytes[i]);
    }
    if (0 < found->own) {
        mca_coll_adapt_schedule_copy(schedule, mca_coll_adapt_packed(found->places, found->own), own);
    }
}

static void fill_leader(struct ragged *ragged, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const size_t size = (size_t) ragged->leaders.size;
    struct found *found = (void *) mca_coll_adapt_schedule_memory(schedule, sizeof(*found));
    void *bytes = mca_coll_adapt_schedule_memory(schedule, size * sizeof(size_t));
    char *places = mca_coll_adapt_schedule_memory(schedule, size * (sizeof(header_t) + ragged->limit));

    if (NULL == found || NULL == bytes || NULL == places) {
        return;
    }
    *found = (struct found){ .limit = ragged->limit,
                             .size = ragged->leaders.size,
                             .places = places,
                             .own = bytes_of(own) <= ragged->limit ? bytes_of(own) : 0,
                             .bytes = bytes };
    (ragged->gathers ? lead_gather : lead_scatter)(ragged, found, own);
}

/* ---- who leads nothing ---- */

/* In the root's node. */
static void fill_near(struct ragged *ragged, mca_coll_adapt_data_t own)
{
    if (0 < bytes_of(own)) {
        add_message(ragged, ragged->gathers, own, ragged->leaders.args->root);
    }
}

static void fill_far(struct ragged *ragged, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const header_t length = bytes_of(own);
    const bool through = 0 < length && length <= ragged->limit, told_with_it = through && ragged->gathers;
    const size_t told = sizeof(length) + (told_with_it ? (size_t) length : 0);
    char *message = mca_coll_adapt_schedule_memory(schedule, told);

    if (NULL == message) {
        return;
    }
    memcpy(message, &length, sizeof(length));
    if (told_with_it) {
        mca_coll_adapt_schedule_copy(schedule, own, mca_coll_adapt_packed(message + sizeof(length), (size_t) length));
        mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    }
    mca_coll_adapt_schedule_send(schedule, mca_coll_adapt_packed(message, told), ragged->leaders.leader);
    if (!told_with_it && 0 < length) {
        add_message(ragged, ragged->gathers, own, through ? ragged->leaders.leader : ragged->leaders.args->root);
    }
}

int mca_coll_han_ragged(han_module_t *module, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    const int root_group = module->topology.group_of[args->root];
    struct ragged ragged = { .leaders = mca_coll_han_leaders_begin(module, args),
                             .limit = mca_coll_han_ragged_block(module->topology.size),
                             .gathers = HAN_GATHERV == args->collective };
    const mca_coll_adapt_data_t own = mca_coll_han_side_whole(ragged.gathers ? &args->send : &args->recv);

    if (ragged.leaders.rank == args->root) {
        fill_root(&ragged);
    } else if (ragged.leaders.group == root_group) {
        fill_near(&ragged, own);
    } else if (ragged.leaders.rank == ragged.leaders.leader) {
        fill_leader(&ragged, own);
    } else {
        fill_far(&ragged, own);
    }
    return mca_coll_han_leaders_perform(&ragged.leaders, module, request);
}
