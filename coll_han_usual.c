/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What calls cost without HAN: by the algorithms that Open MPI's components are known to take for so many ranks and
 * bytes. docs/model.md tells where from, and derives the forms.
 */
#include "coll_han_costs.h"

enum way {
    LINEAR,  /* from the root to each rank, or from each to all */
    IN_TURN, /* from each rank to the root, which receives from one after another */
    BINARY,
    BINOMIAL, /* who has a message sends it twice as far in each round */
    IN_ORDER, /* a binomial tree each branch of which has consecutive ranks */
    KNOMIAL,  /* the same with three children in each round */
    DOUBLING,
    FOLDED, /* the same, by as many ranks as the largest power of two that there are */
    HALVING,
    RING,
    NEIGHBORS,
    OF_TWO /* one collective after another */
};

/*
 * The algorithm of calls with fewer ranks and bytes than these: coll/tuned's fixed decisions, of Open MPI 4.1 and 5.0,
 * as far as they differ in what they cost.
 */
struct limit {
    uint64_t ranks, bytes;
    enum way way;
};

#define KB(n) (UINT64_C(1024) * (n))
#define ANY UINT64_MAX

static bool is_below(uint64_t number, uint64_t limit)
{
    return ANY == limit || number < limit;
}

/* The first limit above a call. */
static enum way way_of(const struct limit *limits, uint64_t ranks, uint64_t bytes)
{
    while (!is_below(ranks, limits->ranks) || !is_below(bytes, limits->bytes)) {
        ++limits;
    }
    return limits->way;
}

/* Above any call: each table ends with it. */
#define LAST(way)                                                                                                      \
    {                                                                                                                  \
        ANY, ANY, way                                                                                                  \
    }

static const struct limit of_barrier[] = {
    { 4, ANY, FOLDED },     { 8, ANY, LINEAR },      { 64, ANY, FOLDED },     { 256, ANY, DOUBLING },
    { 512, ANY, IN_ORDER }, { 1024, ANY, DOUBLING }, { 4096, ANY, IN_ORDER }, LAST(DOUBLING),
};

static const struct limit of_bcast[] = {
    { 8, KB(2), BINARY },       { 8, KB(8), BINOMIAL },   { 8, ANY, LINEAR },        { 16, KB(4), KNOMIAL },
    { 16, KB(16), BINARY },     { 16, KB(32), BINOMIAL }, { 16, ANY, LINEAR },       { 32, KB(4), KNOMIAL },
    { 32, KB(1024), BINOMIAL }, { 32, ANY, OF_TWO },      { 64, KB(2), BINOMIAL },   { 128, ANY, KNOMIAL },
    { 256, KB(64), BINARY },    { 1024, ANY, KNOMIAL },   { ANY, KB(256), KNOMIAL }, LAST(OF_TWO),
};

static const struct limit of_reduce[] = {
    { 4, ANY, IN_TURN }, { 8, KB(4), BINARY },  { 8, KB(64), IN_TURN }, { 8, KB(256), IN_ORDER },
    { 8, ANY, IN_TURN }, { 16, KB(8), BINARY }, { 32, KB(4), BINARY },  LAST(IN_ORDER),
};

static const struct limit of_allreduce[] = {
    { 4, KB(16), FOLDED },    { 4, KB(256), RING },    { 16, KB(8), FOLDED },
    { 32, KB(4), FOLDED },    { 64, 128, FOLDED },     { 64, ANY, HALVING },
    { 128, KB(256), FOLDED }, { 128, ANY, HALVING },   { 256, KB(128), OF_TWO },
    { 256, KB(256), FOLDED }, { 512, KB(4), OF_TWO },  { 512, ANY, HALVING },
    { ANY, KB(2), OF_TWO },   { ANY, KB(16), FOLDED }, LAST(HALVING),
};

static const struct limit of_allgather[] = {
    { 32, ANY, DOUBLING }, { 64, KB(1), DOUBLING },  { 512, 512, DOUBLING }, { 512, KB(64), NEIGHBORS },
    { 512, ANY, RING },    { ANY, KB(4), DOUBLING }, LAST(NEIGHBORS),
};

static const struct limit of_allgatherv[] = {
    { 8, 256, OF_TWO },       { 8, KB(16), NEIGHBORS }, { 8, KB(256), DOUBLING }, { 8, ANY, NEIGHBORS },
    { 16, KB(1), OF_TWO },    { 16, ANY, DOUBLING },    { 32, 128, OF_TWO },      { 32, KB(256), DOUBLING },
    { 32, ANY, RING },        { 128, 256, OF_TWO },     { 128, KB(4), DOUBLING }, { 128, ANY, RING },
    { 512, KB(1), DOUBLING }, { 512, ANY, RING },       { ANY, KB(4), DOUBLING }, LAST(NEIGHBORS),
};

/* By the bytes of all blocks together. */
static const struct limit of_reduce_scatter[] = {
    { 4, ANY, RING },         { 32, KB(256), HALVING }, { 32, ANY, RING }, { ANY, 256, OF_TWO },
    { 64, KB(512), HALVING }, { 64, ANY, RING },        LAST(HALVING),
};

/* On 32 ranks and more it takes OF_TWO for 64 to 256 KB. The model says less than half of what that takes, so long are
 * these reductions, and would choose it where it is slow. */
static const struct limit of_reduce_scatter_block[] = {
    { 4, KB(128), HALVING },  { 4, ANY, OF_TWO },  { 8, KB(1024), HALVING },
    { 8, ANY, OF_TWO },       { 32, 32, OF_TWO },  { 32, KB(512), HALVING },
    { 32, KB(2048), OF_TWO }, { ANY, 16, OF_TWO }, LAST(HALVING),
};

static const struct limit of_gather[] = {
    { 8, KB(1), IN_ORDER }, { 8, KB(8), IN_TURN },    { 8, KB(32), IN_ORDER }, { 8, ANY, IN_TURN },
    { 256, ANY, IN_ORDER }, { 512, KB(2), IN_ORDER }, { 512, KB(8), IN_TURN }, LAST(IN_ORDER),
};

static const struct limit of_scatter[] = {
    { 4, ANY, LINEAR },     { 8, KB(8), IN_ORDER }, { 8, ANY, LINEAR },       { 32, KB(16), IN_ORDER },
    { ANY, 512, IN_ORDER }, { 64, KB(8), LINEAR },  { 64, KB(16), IN_ORDER }, LAST(LINEAR),
};

static const struct limit of_alltoall[] = {
    { 16, ANY, LINEAR },
    { ANY, 512, DOUBLING },
    LAST(LINEAR),
};

/* Whether a rank so far away is on another node: nodes have consecutive ranks, or one after another. */
static bool leaves_node(const struct call *call, uint64_t distance)
{
    return call->input->in_order ? distance >= call->ppn : 0 != distance % call->nodes;
}

/* A round in which each rank sends to one so far away, and gets as much. */
static struct cost round_at(const struct call *call, uint64_t distance, uint64_t bytes, uint64_t then)
{
    const bool up = leaves_node(call, distance);

    return messages(call, up ? HAN_UP : HAN_LOW, bytes, then, call->ranks, 2, 1, up ? call->ppn : 0);
}

/* In each round each rank sends to one twice as far away: what it has, or (`grows`) all that it knows by then. */
static struct cost doubled(const struct call *call, uint64_t block, bool grows, uint64_t then)
{
    struct cost cost = { 0 };

    for (uint64_t distance = 1; distance < call->ranks; distance *= 2) {
        const uint64_t blocks = grows ? min(distance, call->ranks - distance) : 1;

        cost = both(cost, round_at(call, distance, times(blocks, block), then));
    }
    return cost;
}

/* Half of a message goes to the next rank, and of the rest each time half twice as far; or the other way round. */
static struct cost halved(const struct call *call, uint64_t bytes, bool to_next, uint64_t then)
{
    struct cost cost = { 0 };

    for (uint64_t distance = 1; distance < call->ranks; distance *= 2) {
        const uint64_t part = to_next ? divide(bytes, 2 * distance)
                                      : times(divide(bytes, call->ranks), min(distance, call->ranks - distance));

        cost = both(cost, round_at(call, distance, part, then));
    }
    return cost;
}

/* From rank to next rank, all around: of a node's ranks one sends to another node, or all do. */
static struct cost around_ranks(const struct call *call, uint64_t block, uint64_t then, uint64_t steps)
{
    if (!call->input->in_order) {
        return messages(call, HAN_UP, block, then, times(steps, call->ranks), 2 * steps, steps,
                        times(steps, call->ppn));
    }
    return both(messages(call, HAN_UP, block, then, times(steps, call->nodes), 2 * steps, steps, steps),
                messages(call, HAN_LOW, block, then, times(times(steps, call->nodes), call->ppn - 1), 0, 0, 0));
}

/* How many of so many ranks, each `step` after the one before, are on one node; a step is a power of two. */
static uint64_t on_one_node(const struct call *call, uint64_t from, uint64_t step)
{
    const uint64_t nodes = call->nodes;

    return call->input->in_order ? min(from, divide(call->ppn, step)) : divide(from, nodes / min(step, nodes & -nodes));
}

/* What goes so far along a tree, from so many ranks, each `step` after the one before; each waits, or sends on at once.
 */
static struct cost branches(const struct call *call, uint64_t distance, uint64_t bytes, uint64_t from, uint64_t step,
                            uint64_t waits, uint64_t then)
{
    const bool up = leaves_node(call, distance);

    return messages(call, up ? HAN_UP : HAN_LOW, bytes, then, from, 1, waits, up ? on_one_node(call, from, step) : 0);
}

/* Each of the ranks that are left over has one that speaks for it: a neighbor, or one of a rank far away. */
static struct cost folded(const struct call *call, uint64_t bytes, bool neighbors, uint64_t then)
{
    struct call doubling = *call;
    uint64_t left, apart;

    doubling.ranks = 1;
    while (doubling.ranks <= call->ranks / 2) {
        doubling.ranks *= 2;
    }
    left = call->ranks - doubling.ranks;
    apart = neighbors ? 1 : doubling.ranks;
    return both(doubled(&doubling, bytes, false, then),
                both(branches(call, apart, bytes, left, 1, 1, then), branches(call, apart, bytes, left, 1, 1, 0)));
}

/* Each rank that has the message sends it, twice as far in each round. */
static struct cost along_rounds(const struct call *call, uint64_t then)
{
    struct cost cost = { 0 };

    for (uint64_t known = 1; known < call->ranks; known *= 2) {
        cost = both(cost, branches(call, known, call->bytes, min(known, call->ranks - known), 1, 1, then));
    }
    return cost;
}

/* Ranks of the root's node on a level of a binary tree: so many are on it, and one less before it. */
static uint64_t of_roots_node(const struct call *call, uint64_t level)
{
    if (!call->input->in_order) {
        return 1 == level;
    }
    return level <= call->ppn ? min(level, call->ppn - level + 1) : 0;
}

/*
 * A binary tree: on each level, of twice as many ranks as the one before, each has a child as far away as there are
 * ranks on it, and one twice as far away. The root's node may have ranks of several levels, all of which use its link.
 */
static struct cost along_binary(const struct call *call, uint64_t then)
{
    struct cost cost = { 0 };
    uint64_t root = 0, link = 0;

    for (uint64_t level = 1, left = call->ranks - 1; 0 < left; level *= 2) {
        const uint64_t first = min(left, level), second = min(left - first, level);
        const uint64_t up_first = leaves_node(call, level) ? first : 0,
                       up_second = leaves_node(call, 2 * level) ? second : 0;
        const uint64_t up = up_first + up_second, low = first + second - up;
        const uint64_t each_up = divide(up, level), each_low = divide(low, level);
        const uint64_t of_node = min(up, times(each_up, on_one_node(call, level, 1)));
        const uint64_t of_root = of_roots_node(call, level);
        const struct cost one = both(messages(call, HAN_UP, call->bytes, then, up, each_up, 0 < up, of_node),
                                     messages(call, HAN_LOW, call->bytes, then, low, each_low, 0 == up, 0));

        cost = both(cost, one);
        root += min(up, times(each_up, of_root));
        link = max(link, 0 < of_root ? root : of_node);
        left -= first + second;
    }
    cost.link = times(link, of_bytes(call->bytes, call->machine->levels[HAN_UP].rate));
    return cost;
}

/* In each round who has the message has three children, four times as near as in the round before. */
static struct cost along_knomial(const struct call *call, uint64_t then)
{
    struct cost cost = { 0 };
    uint64_t farthest = 1;

    while (4 * farthest < call->ranks) {
        farthest *= 4;
    }
    for (uint64_t distance = farthest; 0 < distance; distance /= 4) {
        for (uint64_t child = distance; child < 4 * distance && child < call->ranks; child += distance) {
            const bool last = 3 * distance == child || call->ranks <= child + distance;

            const uint64_t from = divide(call->ranks - child, 4 * distance);

            cost = both(cost, branches(call, child, call->bytes, from, 4 * distance, last, then));
        }
    }
    return cost;
}

/* A binomial tree the branches of which have consecutive ranks: of blocks a message has those of all that are below. */
static struct cost along_branches(const struct call *call, bool blocks, uint64_t then)
{
    struct cost cost = { 0 };

    for (uint64_t distance = 1; distance < call->ranks; distance *= 2) {
        const uint64_t left = call->ranks - distance, below = blocks ? min(distance, left) : 1;

        cost = both(cost, branches(call, distance, times(below, call->bytes), divide(left, 2 * distance), 2 * distance,
                                   1, then));
    }
    return cost;
}

static struct cost along_in_order(const struct call *call, uint64_t then)
{
    return along_branches(call, false, then);
}

static struct cost blocks_in_order(const struct call *call)
{
    return along_branches(call, true, call->machine->copy);
}

/* What does not come without asking is asked for when its turn has come; the root waits meanwhile, in each call. */
static struct cost in_turn(const struct call *call, uint64_t then)
{
    const uint64_t bytes = call->bytes;
    const uint64_t asked = sum(times(call->ranks - call->ppn, flight_of(call, HAN_UP, bytes, then)),
                               times(call->ppn - 1, flight_of(call, HAN_LOW, bytes, then)));
    struct cost cost = with_root(call, then);

    if (call->machine->levels[HAN_UP].eager < bytes) {
        cost.path = asked;
        cost.hops = call->ranks - 1;
        cost.rank = asked;
    }
    return cost;
}

static struct cost along_tree(const struct call *call, enum way way, uint64_t then)
{
    switch (way) {
    case LINEAR:
        return with_root(call, then);
    case IN_TURN:
        return in_turn(call, then);
    case BINARY:
        return along_binary(call, then);
    case BINOMIAL:
        return along_rounds(call, then);
    case KNOMIAL:
        return along_knomial(call, then);
    default:
        return along_in_order(call, then);
    }
}

/* Of each node one rank receives from another node, and one sends there; or all do, where no two of them follow one
 * another. */
static struct cost along_chain(const struct call *call, const mca_coll_han_machine_t *machine, uint64_t bytes,
                               uint64_t then)
{
    const uint64_t others = call->ppn - 1;
    struct call chain = *call;

    chain.machine = machine;
    if (!call->input->in_order) {
        return messages(&chain, HAN_UP, bytes, then, call->ranks - 1, 2, call->ranks - 1, call->ppn);
    }
    return both(messages(&chain, HAN_UP, bytes, then, call->nodes - 1, 0 < others ? 1 : min(call->nodes - 1, 2),
                         call->nodes - 1, 1),
                messages(&chain, HAN_LOW, bytes, then, times(call->nodes, others), min(others, 2),
                         times(call->nodes, others), 0));
}

/*
 * While a message goes from rank to rank nobody else has use for the caches, and who is asked for it waits for it; in a
 * row, only half of the time. Of several at once the first arrives as it would alone. What is copied is copied before.
 */
struct cost mca_coll_han_cost_of_chain(const struct call *call, uint64_t bytes, uint64_t at_once, bool copies)
{
    const uint64_t reduce = call->machine->reduce;
    mca_coll_han_machine_t first = *call->machine, others = *call->machine;
    struct cost cost;

    for (int level = HAN_LOW; level < HAN_LEVEL_COUNT && 1 < call->sharing; ++level) {
        first.levels[level].rendezvous = 0;
        find_together(&others.levels[level], at_once);
        others.levels[level].rendezvous /= 2;
    }
    first.far = 0;
    cost = along_chain(call, &others, bytes, sum(reduce, copies ? call->machine->copy : 0));
    cost.path = along_chain(call, &first, bytes, reduce).path;
    return cost;
}

/* A step for each message along the path; each rank has so many. */
static struct cost with_steps(const struct call *call, struct cost cost, uint64_t of_rank)
{
    const uint64_t step = call->machine->step, own = times(of_rank, step);

    return both(cost, (struct cost){ .path = times(cost.hops, step), .work = times(call->ranks, own), .rank = own });
}

/* What both components do alike. */
static struct cost usual_of_both(const struct call *call)
{
    switch (call->input->collective) {
    case HAN_SCAN:
    case HAN_EXSCAN:
        /* An operand is copied before it is combined. That it may be in place does not count: ranks need not agree. */
        return mca_coll_han_cost_of_chain(call, call->bytes, 1, true);
    default:
        return with_all(call);
    }
}

/* ---- coll/tuned ---- */

static struct call with_bytes(const struct call *call, uint64_t bytes)
{
    struct call other = *call;

    other.bytes = bytes;
    return other;
}

/* Without data: in rounds, or to a root and back. */
static struct cost usual_barrier(const struct call *call)
{
    const enum way way = way_of(of_barrier, call->ranks, 0);

    switch (way) {
    case FOLDED:
        return folded(call, 0, false, 0);
    case DOUBLING:
        return doubled(call, 0, false, 0);
    default:
        return both(along_tree(call, way, 0), along_tree(call, way, 0));
    }
}

static struct cost usual_bcast(const struct call *call)
{
    const enum way way = way_of(of_bcast, call->ranks, call->bytes);
    const uint64_t part = divide(call->bytes, call->ranks);

    if (OF_TWO == way) {
        const struct call parts = with_bytes(call, part);

        return both(blocks_in_order(&parts), doubled(call, part, true, 0));
    }
    return along_tree(call, way, 0);
}

static struct cost usual_reduce(const struct call *call)
{
    const enum way way = call->input->commutes ? way_of(of_reduce, call->ranks, call->bytes) : IN_ORDER;

    return along_tree(call, way, call->machine->reduce);
}

static struct cost usual_allreduce(const struct call *call)
{
    const uint64_t reduce = call->machine->reduce, bytes = call->bytes;

    switch (call->input->commutes ? way_of(of_allreduce, call->ranks, bytes) : FOLDED) {
    case FOLDED:
        return folded(call, bytes, true, reduce);
    case HALVING:
        return both(halved(call, bytes, true, reduce), halved(call, bytes, true, 0));
    case RING:
        return around_ranks(call, divide(bytes, call->ranks), reduce / 2, 2 * (call->ranks - 1));
    default:
        return both(usual_reduce(call), usual_bcast(call));
    }
}

/* Blocks of all to all. */
static struct cost usual_allgather(const struct call *call)
{
    const bool equal = HAN_ALLGATHER == call->input->collective;
    const struct call total = with_bytes(call, times(call->ranks, call->bytes));

    switch (way_of(equal ? of_allgather : of_allgatherv, call->ranks, call->bytes)) {
    case DOUBLING:
        return doubled(call, call->bytes, true, 0);
    case NEIGHBORS: /* two blocks in each round */
        return around_ranks(call, times(2, call->bytes), 0, divide(call->ranks, 2));
    case RING:
        return around_ranks(call, call->bytes, 0, call->ranks - 1);
    default:
        return both(with_root(call, 0), usual_bcast(&total));
    }
}

static struct cost usual_scatter(const struct call *call)
{
    return IN_ORDER == way_of(of_scatter, call->ranks, call->bytes) ? blocks_in_order(call) : with_root(call, 0);
}

static struct cost usual_reduce_scatter(const struct call *call)
{
    const bool equal = HAN_REDUCE_SCATTER_BLOCK == call->input->collective;
    const struct call total = with_bytes(call, times(call->ranks, call->bytes));
    const enum way way = equal ? way_of(of_reduce_scatter_block, call->ranks, call->bytes)
                               : way_of(of_reduce_scatter, call->ranks, total.bytes);

    switch (call->input->commutes ? way : OF_TWO) {
    case HALVING:
        return halved(call, total.bytes, false, call->machine->reduce);
    case RING:
        return around_ranks(call, call->bytes, call->machine->reduce, call->ranks - 1);
    default:
        return both(usual_reduce(&total), usual_scatter(call));
    }
}

/* Half of all blocks in each round, which each rank puts together, and describes by a datatype. */
static struct cost half_of_all(const struct call *call)
{
    const uint64_t half = times(divide(call->ranks, 2), call->bytes);
    const struct cost cost = doubled(call, half, false, 2 * call->machine->copy);

    return with_steps(call, cost, cost.hops);
}

static struct cost usual(const struct call *call)
{
    switch (call->input->collective) {
    case HAN_BARRIER:
        return usual_barrier(call);
    case HAN_BCAST:
        return usual_bcast(call);
    case HAN_REDUCE:
        return usual_reduce(call);
    case HAN_ALLREDUCE:
        return usual_allreduce(call);
    case HAN_ALLGATHER:
    case HAN_ALLGATHERV:
        return usual_allgather(call);
    case HAN_REDUCE_SCATTER:
    case HAN_REDUCE_SCATTER_BLOCK:
        return usual_reduce_scatter(call);
    case HAN_GATHER:
        return IN_ORDER == way_of(of_gather, call->ranks, call->bytes) ? blocks_in_order(call) : in_turn(call, 0);
    case HAN_SCATTER:
        return usual_scatter(call);
    case HAN_ALLTOALL:
        return DOUBLING == way_of(of_alltoall, call->ranks, call->bytes) ? half_of_all(call) : usual_of_both(call);
    default:
        return usual_of_both(call);
    }
}

/* ---- coll/libnbc ---- */

/* Each rank makes a schedule, which goes round by round, each begun by who finds the one before complete. */
static struct cost usual_schedule(const struct call *call)
{
    enum { FEW_RANKS = 4, ELEMENT = 8, SHORT_ALLREDUCE = 65536 };
    const bool commutes = call->input->commutes;
    const uint64_t reduce = call->machine->reduce, bytes = call->bytes;
    const struct call total = with_bytes(call, times(call->ranks, bytes)),
                      part = with_bytes(call, divide(bytes, call->ranks));

    switch (call->input->collective) {
    case HAN_BARRIER:
        return doubled(call, 0, false, 0);
    case HAN_BCAST:
        return FEW_RANKS < call->ranks ? along_rounds(call, 0) : with_root(call, 0);
    case HAN_REDUCE:
        return commutes && 2 < call->ranks && times(ELEMENT, call->ranks) <= bytes
                   ? both(halved(call, bytes, true, reduce), blocks_in_order(&part))
                   : along_in_order(call, reduce);
    case HAN_ALLREDUCE:
        return FEW_RANKS > call->ranks || SHORT_ALLREDUCE > bytes || call->input->in_place || !commutes
                   ? both(along_in_order(call, reduce), along_rounds(call, 0))
                   : both(halved(call, bytes, true, reduce), halved(call, bytes, true, 0));
    case HAN_ALLGATHER:
    case HAN_ALLGATHERV:
        return among_all(call, 1);
    case HAN_REDUCE_SCATTER:
    case HAN_REDUCE_SCATTER_BLOCK:
        return both(along_in_order(&total, reduce), with_root(call, 0));
    default:
        return usual_of_both(call);
    }
}

/* Whether there is little to choose. Each block of a gather or scatter comes to the root or leaves it once, whoever
 * sends it on; a scan is a chain; what is short has the algorithms that are known; and blocks of one length go on as
 * they are, where an allgatherv, but by the ring, describes them by a datatype in each round. */
static bool is_known(const struct call *call)
{
    const mca_coll_han_collective_t collective = call->input->collective;
    const bool is_short = call->bytes <= call->machine->levels[HAN_UP].eager;

    return HAN_GATHER == collective || HAN_SCATTER == collective || mca_coll_han_is_scan(collective)
           || (HAN_BLOCKING == call->input->form && (is_short || HAN_ALLGATHER == collective));
}

/* Of each rank, as far as it counts: to reduce what all blocks are, a whole message, and a block that comes. */
static uint64_t memory_of(const struct call *call)
{
    const mca_coll_han_collective_t collective = call->input->collective;

    return mca_coll_han_goes_up(collective) && mca_coll_han_is_of_blocks(collective)
               ? times(call->ranks + 1, call->bytes)
               : 0;
}

/*
 * Long messages go whole, and what was received is out of the caches when it goes on: that counts with a third more, as
 * messages that are asked for do where they meet at a link. So do schedules, the segments of which are not known.
 */
struct cost mca_coll_han_cost_without(const struct call *call)
{
    /* A scan comes, is combined, and goes. */
    const uint64_t steps = mca_coll_han_is_scan(call->input->collective) ? 3 : 1;
    const struct cost cost
        = HAN_BLOCKING == call->input->form ? usual(call) : with_steps(call, usual_schedule(call), steps);
    const struct cost third
        = { .path = cost.path / 3, .work = cost.work / 3, .rank = cost.rank / 3, .link = cost.link / 3 };

    if (mca_coll_han_is_alltoall(call->input->collective)) {
        return both_ways(call, call->bytes, cost);
    }
    return with_memory(call, is_known(call) ? cost : both(cost, third), memory_of(call), call->ranks);
}
