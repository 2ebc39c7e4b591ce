/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Gatherv and MPI_Scatterv through the leaders, where no rank but the root knows how long the blocks of others are.
 *
 * Short blocks go through the leader of their node, long ones straight between their rank and the root. For short ones
 * the root, which leads its own node, has n - 1 + p - 1 messages, of n nodes with p ranks each, and not n * p - 1.
 *
 * A message between a leader and a rank of its node has the length of the rank's block, and the block, where that is
 * short. The packet between the root and a leader has all lengths of the node, and behind them the short blocks, one
 * behind the other. So who receives takes the way, and the length, from who sends. MPI wants both to name the same
 * length; but where the one who receives names a greater one, that does no harm, as without HAN.
 */
#include "coll_han.h"

#include <string.h>

/* A length on its way. */
typedef uint64_t header_t;

enum { HEADER = sizeof(header_t) };

/* A length that has not come. */
static const size_t NOTHING = SIZE_MAX;

/* The blocks of a node, as a leader, or the root, finds them out. All but the memory is the same in each start. */
struct node {
    size_t limit; /* bytes of the longest block that is short */
    int size;     /* its ranks */
    char *packet; /* room for as many headers, and as many short blocks */
    size_t total; /* bytes of the packet */
    char *places; /* at a leader: of messages with its ranks, itself first: a header and room for a short block each */
    size_t *most; /* [size] at a root that gathers: bytes for which there is room */
    size_t *through;  /* [size] bytes of a message with a rank of the node; at the root: of the block, 0: it is long */
    size_t *straight; /* [size] not 0: the block is long */
};

struct ragged {
    mca_coll_han_leaders_t leaders;
    size_t limit;
    bool gathers;
};

static void put_length(char *header, size_t bytes)
{
    const header_t length = bytes;

    memcpy(header, &length, HEADER);
}

static size_t length_at(const char *header)
{
    header_t length;

    memcpy(&length, header, HEADER);
    return (size_t) length;
}

static char *place_of(const struct node *node, int member)
{
    return node->places + (size_t) member * (HEADER + node->limit);
}

/* Where the short block of a rank is, when those of a packet have been spread. */
static char *spread_to(const struct node *node, int member)
{
    return node->packet + (size_t) node->size * HEADER + (size_t) member * node->limit;
}

static struct node *make_node(struct ragged *ragged, int size, bool leads)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const size_t ranks = (size_t) size, room = ranks * (HEADER + ragged->limit);
    char *memory = mca_coll_adapt_schedule_memory(schedule, sizeof(struct node) + 3 * ranks * sizeof(size_t));
    char *packet = mca_coll_adapt_schedule_memory(schedule, room);
    char *places = leads ? mca_coll_adapt_schedule_memory(schedule, room) : packet;
    struct node *node = (void *) memory;

    if (NULL == memory || NULL == packet || NULL == places) {
        return NULL;
    }
    *node = (struct node){ .limit = ragged->limit, .size = size, .packet = packet, .places = places, .total = 1 };
    node->most = (size_t *) (node + 1);
    node->through = node->most + size;
    node->straight = node->through + size;
    memset(node->most, 0, 3 * ranks * sizeof(size_t));
    for (int i = 0; i < size; ++i) {
        put_length(packet + (size_t) i * HEADER, NOTHING);
    }
    return node;
}

/* A block that one rank has for the root, or gets from it: from there to here, or the other way. */
static void add_block(struct ragged *ragged, bool send, mca_coll_adapt_data_t block, int peer)
{
    mca_coll_adapt_schedule_message(&ragged->leaders.schedule, send ? ADAPT_SEND : ADAPT_RECV, block, peer, NULL);
}

/* ---- the root ---- */

static const mca_coll_han_side_t *side_of(const struct ragged *ragged)
{
    return ragged->gathers ? &ragged->leaders.args->recv : &ragged->leaders.args->send;
}

static mca_coll_adapt_data_t block_of(const struct ragged *ragged, int rank)
{
    return mca_coll_han_side_blocks(side_of(ragged), rank, 1);
}

static size_t block_bytes(const struct ragged *ragged, int rank)
{
    const mca_coll_adapt_data_t block = block_of(ragged, rank);

    return mca_coll_adapt_data_bytes(&block);
}

/* The node that comes so many behind the own one. */
static int group_at(const struct ragged *ragged, int distance)
{
    return (ragged->leaders.group + distance) % ragged->leaders.topology->group_count;
}

/* Bytes that go straight, as far as the root knows. */
static size_t straight_bytes(const struct ragged *ragged)
{
    const mca_coll_han_topology_t *topology = ragged->leaders.topology;
    size_t total = 0;

    for (int rank = 0; rank < topology->size; ++rank) {
        const size_t bytes = block_bytes(ragged, rank);

        total += ragged->limit < bytes || ragged->leaders.group == topology->group_of[rank] ? bytes : 0;
    }
    return total;
}

/* Blocks of the own node go straight. */
static void add_near(struct ragged *ragged)
{
    const mca_coll_han_leaders_t *leaders = &ragged->leaders;

    for (int i = 0; i < leaders->size; ++i) {
        const mca_coll_adapt_data_t block = block_of(ragged, leaders->members[i]);

        if (leaders->members[i] != leaders->rank && 0 < mca_coll_adapt_data_bytes(&block)) {
            add_block(ragged, !ragged->gathers, block, leaders->members[i]);
        }
    }
}

/*
 * A packet has come, or failed to: which blocks are long, for which ranks wait, and where the short ones are; the last
 * one first, for each moves away from the headers. A rank whose length has not come has sent a long block all the same,
 * or an empty message where something failed on it, too: what this one has named tells, for both name the same.
 */
static int open_packet(void *context, int rc)
{
    struct node *node = context;
    const char *end;

    end = node->packet + (size_t) node->size * HEADER;
    for (int i = 0; i < node->size; ++i) {
        const size_t bytes = length_at(node->packet + (size_t) i * HEADER);

        node->through[i] = bytes <= node->limit ? bytes : 0;
        node->straight[i] = (NOTHING == bytes ? node->most[i] : bytes) > node->limit;
        end += node->through[i];
        rc = OMPI_SUCCESS == rc && bytes > node->most[i] ? MPI_ERR_TRUNCATE : rc;
    }
    for (int i = node->size - 1; i >= 0; --i) {
        end -= node->through[i];
        memmove(spread_to(node, i), end, node->through[i]);
    }
    return rc;
}

static void expect_packet(struct ragged *ragged, int group, struct node *node)
{
    const int *members = mca_coll_han_topology_group(ragged->leaders.topology, group);
    const size_t room = (size_t) node->size * (HEADER + node->limit);

    for (int i = 0; i < node->size; ++i) {
        node->most[i] = block_bytes(ragged, members[i]);
    }
    mca_coll_adapt_schedule_recv(&ragged->leaders.schedule, mca_coll_adapt_packed(node->packet, room), members[0]);
    mca_coll_adapt_schedule_call(&ragged->leaders.schedule, open_packet, node);
}

/* What the packet has told of. */
static void expect_blocks(struct ragged *ragged, int group, struct node *node)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const int *members = mca_coll_han_topology_group(ragged->leaders.topology, group);

    for (int i = 0; i < node->size; ++i) {
        const mca_coll_adapt_data_t block = block_of(ragged, members[i]);

        mca_coll_adapt_schedule_message(schedule, ADAPT_RECV, block, members[i], &node->straight[i]);
        mca_coll_adapt_schedule_copy_found(schedule, mca_coll_adapt_packed(spread_to(node, i), 0), block,
                                           &node->through[i]);
    }
}

static void gather_to_root(struct ragged *ragged)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const int groups = ragged->leaders.topology->group_count;
    struct node **nodes = (void *) mca_coll_adapt_schedule_memory(schedule, (size_t) groups * sizeof(*nodes));

    for (int distance = 1; distance < groups && OMPI_SUCCESS == schedule->rc; ++distance) {
        const int group = group_at(ragged, distance);

        nodes[group] = make_node(ragged, mca_coll_han_topology_group_size(ragged->leaders.topology, group), false);
        if (NULL != nodes[group]) {
            expect_packet(ragged, group, nodes[group]);
        }
    }
    add_near(ragged);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    for (int distance = 1; distance < groups && OMPI_SUCCESS == schedule->rc; ++distance) {
        expect_blocks(ragged, group_at(ragged, distance), nodes[group_at(ragged, distance)]);
    }
    /* Behind all others: where it does not fit, theirs have gone. */
    mca_coll_han_exchange_own(schedule, ragged->leaders.args, ragged->leaders.rank);
}

/* The packet for a node is made in the round that comes first. */
static mca_coll_adapt_data_t make_packet(struct ragged *ragged, int group)
{
    const mca_coll_han_topology_t *topology = ragged->leaders.topology;
    const int *members = mca_coll_han_topology_group(topology, group);
    const int size = mca_coll_han_topology_group_size(topology, group);
    size_t total = (size_t) size * HEADER, at = total;
    char *packet;

    for (int i = 0; i < size; ++i) {
        const size_t bytes = block_bytes(ragged, members[i]);

        total += bytes <= ragged->limit ? bytes : 0;
    }
    packet = mca_coll_adapt_schedule_memory(&ragged->leaders.schedule, total);
    for (int i = 0; i < size && NULL != packet; ++i) {
        const size_t bytes = block_bytes(ragged, members[i]);

        put_length(packet + (size_t) i * HEADER, bytes);
        if (bytes <= ragged->limit) {
            mca_coll_adapt_schedule_copy(&ragged->leaders.schedule, block_of(ragged, members[i]),
                                         mca_coll_adapt_packed(packet + at, bytes));
            at += bytes;
        }
    }
    return mca_coll_adapt_packed(packet, total);
}

static void scatter_from_root(struct ragged *ragged)
{
    const mca_coll_han_topology_t *topology = ragged->leaders.topology;
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    mca_coll_adapt_data_t *packets = mca_coll_han_leaders_list(&ragged->leaders);

    if (NULL == packets) {
        return;
    }
    for (int distance = 1; distance < topology->group_count; ++distance) {
        packets[group_at(ragged, distance)] = make_packet(ragged, group_at(ragged, distance));
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    for (int distance = 1; distance < topology->group_count; ++distance) {
        const int group = group_at(ragged, distance);

        mca_coll_adapt_schedule_send(schedule, packets[group], mca_coll_han_topology_leader(topology, group));
    }
    add_near(ragged);
    for (int distance = 1; distance < topology->group_count; ++distance) {
        const int group = group_at(ragged, distance), *members = mca_coll_han_topology_group(topology, group);

        for (int i = 0; i < mca_coll_han_topology_group_size(topology, group); ++i) {
            if (ragged->limit < block_bytes(ragged, members[i])) {
                mca_coll_adapt_schedule_send(schedule, block_of(ragged, members[i]), members[i]);
            }
        }
    }
    /* Behind all others: where it does not fit, theirs have gone. */
    mca_coll_han_exchange_own(schedule, ragged->leaders.args, ragged->leaders.rank);
}

/* ---- the leader of another node ---- */

/* Makes a packet of what the ranks of the node have told. */
static int collect(void *context, int rc)
{
    struct node *node = context;

    node->total = (size_t) node->size * HEADER;
    for (int i = 0; i < node->size && OMPI_SUCCESS == rc; ++i) {
        const size_t bytes = length_at(place_of(node, i));

        put_length(node->packet + (size_t) i * HEADER, bytes);
        if (bytes <= node->limit) {
            memcpy(node->packet + node->total, place_of(node, i) + HEADER, bytes);
            node->total += bytes;
        }
    }
    return rc;
}

/* Makes a message for each rank of the node of what the packet has for it. */
static int deal(void *context, int rc)
{
    struct node *node = context;
    const char *from = node->packet + (size_t) node->size * HEADER;

    for (int i = 0; i < node->size && OMPI_SUCCESS == rc; ++i) {
        const size_t bytes = length_at(node->packet + (size_t) i * HEADER), through = bytes <= node->limit ? bytes : 0;

        put_length(place_of(node, i), bytes);
        memcpy(place_of(node, i) + HEADER, from, through);
        from += through;
        node->through[i] = HEADER + through;
    }
    return rc;
}

/* At who gets a block: whether it has come with its length. If that has not come, it is the one that this rank names.
 */
static int look(void *context, int rc)
{
    struct node *node = context;
    const size_t bytes = OMPI_SUCCESS == rc ? length_at(node->places) : node->most[0];

    node->straight[0] = bytes > node->limit;
    node->through[0] = bytes <= node->limit ? bytes : 0;
    return OMPI_SUCCESS == rc && bytes > node->most[0] ? MPI_ERR_TRUNCATE : rc;
}

/* What a rank tells its leader: the length of its block, and a short one. Before the round ends. */
static size_t tell(struct ragged *ragged, char *place, mca_coll_adapt_data_t own)
{
    const size_t bytes = mca_coll_adapt_data_bytes(&own), through = bytes <= ragged->limit ? bytes : 0;

    put_length(place, bytes);
    if (0 < through) {
        mca_coll_adapt_schedule_copy(&ragged->leaders.schedule, own, mca_coll_adapt_packed(place + HEADER, through));
    }
    return HEADER + through;
}

/* Takes what a place has: before the round ends; and what comes straight, in the next one. */
static void take(struct ragged *ragged, struct node *node, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;

    node->most[0] = mca_coll_adapt_data_bytes(&own);
    mca_coll_adapt_schedule_call(schedule, look, node);
    mca_coll_adapt_schedule_copy_found(schedule, mca_coll_adapt_packed(node->places + HEADER, 0), own,
                                       &node->through[0]);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    mca_coll_adapt_schedule_message(schedule, ADAPT_RECV, own, ragged->leaders.args->root, &node->straight[0]);
}

static void lead_gather(struct ragged *ragged, struct node *node, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const int root = ragged->leaders.args->root;

    for (int i = 1; i < node->size; ++i) {
        mca_coll_adapt_schedule_recv(schedule, mca_coll_adapt_packed(place_of(node, i), HEADER + node->limit),
                                     ragged->leaders.members[i]);
    }
    (void) tell(ragged, node->places, own);
    mca_coll_adapt_schedule_call(schedule, collect, node);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    mca_coll_adapt_schedule_message(schedule, ADAPT_SEND, mca_coll_adapt_packed(node->packet, 0), root, &node->total);
    if (ragged->limit < mca_coll_adapt_data_bytes(&own)) {
        mca_coll_adapt_schedule_send(schedule, own, root);
    }
}

static void lead_scatter(struct ragged *ragged, struct node *node, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;
    const size_t room = (size_t) node->size * (HEADER + node->limit);

    mca_coll_adapt_schedule_recv(schedule, mca_coll_adapt_packed(node->packet, room), ragged->leaders.args->root);
    mca_coll_adapt_schedule_call(schedule, deal, node);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    for (int i = 1; i < node->size; ++i) {
        node->through[i] = 1; /* also where the packet does not come: nobody is to wait for it */
        mca_coll_adapt_schedule_message(schedule, ADAPT_SEND, mca_coll_adapt_packed(place_of(node, i), 0),
                                        ragged->leaders.members[i], &node->through[i]);
    }
    take(ragged, node, own);
}

/* ---- who leads nothing ---- */

/* In the root's node. */
static void fill_near(struct ragged *ragged, mca_coll_adapt_data_t own)
{
    if (0 < mca_coll_adapt_data_bytes(&own)) {
        add_block(ragged, ragged->gathers, own, ragged->leaders.args->root);
    }
}

static void fill_far(struct ragged *ragged, struct node *node, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &ragged->leaders.schedule;

    if (ragged->gathers) {
        const size_t told = tell(ragged, node->places, own);

        mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
        mca_coll_adapt_schedule_send(schedule, mca_coll_adapt_packed(node->places, told), ragged->leaders.leader);
        if (ragged->limit < mca_coll_adapt_data_bytes(&own)) {
            mca_coll_adapt_schedule_send(schedule, own, ragged->leaders.args->root);
        }
    } else {
        mca_coll_adapt_schedule_recv(schedule, mca_coll_adapt_packed(node->places, HEADER + node->limit),
                                     ragged->leaders.leader);
        take(ragged, node, own);
    }
}

int mca_coll_han_ragged(han_module_t *module, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    struct ragged ragged = { .leaders = mca_coll_han_leaders_begin(module, args),
                             .limit = mca_coll_han_ragged_block((size_t) module->topology.size),
                             .gathers = HAN_GATHERV == args->collective };
    const mca_coll_adapt_data_t own = mca_coll_han_side_whole(ragged.gathers ? &args->send : &args->recv);
    const bool leads = ragged.leaders.rank == ragged.leaders.leader;

    if (ragged.leaders.rank == args->root) {
        (ragged.gathers ? gather_to_root : scatter_from_root)(&ragged);
        mca_coll_han_exchange_limit_root(&ragged.leaders.schedule, straight_bytes(&ragged), module->topology.size);
    } else if (ragged.leaders.group == module->topology.group_of[args->root]) {
        fill_near(&ragged, own);
    } else {
        struct node *node = make_node(&ragged, leads ? ragged.leaders.size : 1, leads);

        if (NULL != node) {
            (!leads ? fill_far : ragged.gathers ? lead_gather : lead_scatter)(&ragged, node, own);
        }
    }
    return mca_coll_han_leaders_perform(&ragged.leaders, module, request);
}
