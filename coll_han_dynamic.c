/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han_dynamic.h"

#include <limits.h>
#include <stdint.h>

const char *const mca_coll_han_collective_names[HAN_COLLECTIVE_COUNT] = {
#define NAME(number, name, parameters, arguments, send, recv, op, root, performer) [HAN_##number] = #name,
    HAN_COLLECTIVES(NAME)
};

const char *const mca_coll_han_level_names[HAN_LEVEL_COUNT] = { [HAN_LOW] = "low", [HAN_UP] = "up" };

const char *const mca_coll_han_submodule_names[HAN_SUBMODULE_COUNT] = {
    [HAN_LIBNBC] = "libnbc", [HAN_ADAPT] = "adapt", [HAN_TUNED] = "tuned",
    [HAN_SM] = "sm",         [HAN_BASIC] = "basic", [HAN_SOLO] = "solo",
};

/* The first numbers of each level are those of Open MPI's HAN. */
const mca_coll_han_submodule_t mca_coll_han_choices[HAN_LEVEL_COUNT][HAN_CHOICE_COUNT] = {
    [HAN_LOW] = { HAN_TUNED, HAN_SM, HAN_BASIC, HAN_SOLO },
    [HAN_UP] = { HAN_LIBNBC, HAN_ADAPT, HAN_AUTO, HAN_AUTO },
};

/* Those of mca_coll_adapt_trees. */
const char *const mca_coll_han_tree_names[ADAPT_TREE_COUNT] = {
    [ADAPT_TREE_AUTO] = "auto",
    [ADAPT_TREE_BINOMIAL] = "binomial",
    [ADAPT_TREE_IN_ORDER_BINOMIAL] = "in_order_binomial",
    [ADAPT_TREE_BINARY] = "binary",
    [ADAPT_TREE_PIPELINE] = "pipeline",
    [ADAPT_TREE_CHAIN] = "chain",
    [ADAPT_TREE_LINEAR] = "linear",
    [ADAPT_TREE_KNOMIAL] = "knomial",
    [ADAPT_TREE_IN_ORDER_BINARY] = "in_order_binary",
    [ADAPT_TREE_TOPOLOGY] = "topology",
};

const mca_coll_han_algorithm_t mca_coll_han_algorithms[HAN_ALGORITHM_COUNT] = {
    [HAN_FALLBACK] = { "fallback", "the component that would do it without HAN" },
    [HAN_SIMPLE] = { "simple", "level by level, the whole message at once" },
    [HAN_PIPELINE] = { "pipeline", "level by level, segment by segment, the levels overlapped" },
    [HAN_TREE] = { "tree", "all levels at once: adapt over the topology-aware tree, without sub-communicators" },
    [HAN_RING] = { "ring", "tree, in one block for each node, which is rooted there" },
    [HAN_EXCHANGE] = { "exchange", "messages from rank to rank, in an order that spreads them over the nodes" },
    [HAN_LEADERS] = { "leaders", "through the node leaders, which have one message for each other node" },
    [HAN_UP_ALLREDUCE] = { "up_allreduce", "pipeline, where the leaders do an allreduce" },
    [HAN_GROUPS]
    = { "groups", "adapt over a tree in each of some groups of consecutive ranks, and one of their leaders" },
    [HAN_CHAIN] = { "chain", "from each rank to the next one, segment by segment" },
};

const mca_coll_han_settings_t mca_coll_han_unset
    = { .algorithm = HAN_AUTO, .up_module = HAN_AUTO, .low_module = HAN_AUTO };

#define BIT(algorithm) (1u << HAN_##algorithm)

/* What there is for each collective beside the fallback. */
static const unsigned algorithms_of[HAN_COLLECTIVE_COUNT] = {
    [HAN_BCAST] = BIT(SIMPLE) | BIT(PIPELINE) | BIT(TREE) | BIT(GROUPS),
    [HAN_REDUCE] = BIT(SIMPLE) | BIT(PIPELINE) | BIT(TREE) | BIT(GROUPS),
    [HAN_ALLREDUCE]
    = BIT(SIMPLE) | BIT(PIPELINE) | BIT(UP_ALLREDUCE) | BIT(TREE) | BIT(RING) | BIT(LEADERS) | BIT(GROUPS),
    [HAN_BARRIER] = BIT(SIMPLE) | BIT(UP_ALLREDUCE) | BIT(TREE) | BIT(LEADERS),
    [HAN_ALLGATHER] = BIT(SIMPLE) | BIT(TREE) | BIT(LEADERS),
    [HAN_ALLGATHERV] = BIT(TREE) | BIT(LEADERS),
    [HAN_REDUCE_SCATTER_BLOCK] = BIT(SIMPLE) | BIT(TREE) | BIT(LEADERS),
    [HAN_REDUCE_SCATTER] = BIT(TREE) | BIT(LEADERS),
    [HAN_ALLTOALL] = BIT(SIMPLE) | BIT(EXCHANGE) | BIT(LEADERS),
    [HAN_ALLTOALLV] = BIT(EXCHANGE),
    [HAN_GATHER] = BIT(EXCHANGE) | BIT(LEADERS),
    [HAN_GATHERV] = BIT(EXCHANGE) | BIT(LEADERS),
    [HAN_SCATTER] = BIT(EXCHANGE) | BIT(LEADERS),
    [HAN_SCATTERV] = BIT(EXCHANGE) | BIT(LEADERS),
    [HAN_SCAN] = BIT(LEADERS) | BIT(CHAIN),
    [HAN_EXSCAN] = BIT(LEADERS) | BIT(CHAIN),
};

/* A leader of an alltoall sorts blocks of so many pairs of ranks at most: by then it is better to send them apart. */
enum { MOST_PAIRS = 16384 };

/*
 * Where each rank has a tree, all must be kept; own blocks must be in place before a persistent allgather starts. Of a
 * reduce_scatter nothing may depend on being in place: ranks that get nothing need not be where the others are.
 */
static bool tree_fits(const mca_coll_han_input_t *input)
{
    switch (input->collective) {
    case HAN_ALLGATHER:
    case HAN_ALLGATHERV:
        return HAN_TREES_KEPT / input->nodes >= input->ppn && (HAN_PERSISTENT != input->form || input->in_place);
    case HAN_REDUCE_SCATTER_BLOCK:
    case HAN_REDUCE_SCATTER:
        return HAN_TREES_KEPT / input->nodes >= input->ppn;
    default:
        return true;
    }
}

static size_t packed_of(const mca_coll_han_input_t *input)
{
    return 0 == input->packed ? 1 : input->packed;
}

/* Of an operand in memory, for a packed byte of it. In double, as all memory here: products may be beyond integers. */
static double room_of(const mca_coll_han_input_t *input)
{
    return 0 == input->room ? 1 : (double) input->room / (double) packed_of(input);
}

size_t mca_coll_han_scan_segment(size_t count, size_t packed, size_t wished)
{
    const size_t least = (count + HAN_SCAN_SEGMENTS - 1) / HAN_SCAN_SEGMENTS;
    const size_t segment = 0 == wished ? count : wished / packed;

    return segment < least ? least : segment > count ? count : segment;
}

/* Memory of a rank of a scan: for its own operand, or, where it leads consecutive ranks, for those of its node; and for
 * what comes from one other rank, or of a message that leaders do not cut from a few. */
static double scan_bytes(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input, size_t wished)
{
    const bool chain = HAN_CHAIN == algorithm;
    const size_t packed = packed_of(input), count = input->bytes / packed;
    const size_t segment = mca_coll_han_scan_segment(count, packed, wished);
    const double operand = (double) segment * (double) packed * room_of(input);
    const double own = input->in_order && !chain ? input->ppn : 1;

    return segment < count ? HAN_SCAN_AT_ONCE * (own + 1) * operand
                           : (own + (chain ? 1 : HAN_FEW_LEADERS - 1)) * operand;
}

size_t mca_coll_han_limit_scan_segment(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input,
                                       size_t wished)
{
    while (HAN_MOST_MEMORY < scan_bytes(algorithm, input, wished) && 1 != wished) {
        wished = 0 == wished ? input->bytes : wished;
        wished -= wished / 2;
    }
    return wished;
}

/* With segments as short as they may have to be. */
static double least_scan_bytes(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input)
{
    return scan_bytes(algorithm, input, mca_coll_han_limit_scan_segment(algorithm, input, HAN_SCAN_SEGMENT));
}

/* Memory that a leader, or the rank that needs most, has beside the user's buffers. */
static double leaders_bytes(const mca_coll_han_input_t *input)
{
    const double bytes = (double) input->bytes, nodes = input->nodes, ppn = input->ppn, all = nodes * ppn * bytes;

    switch (input->collective) {
    case HAN_ALLGATHER:
    case HAN_ALLGATHERV:
    case HAN_GATHER:
    case HAN_SCATTER:
        return all;
    case HAN_GATHERV:
    case HAN_SCATTERV:
        return nodes * ppn * (double) mca_coll_han_ragged_block((size_t) input->nodes * (size_t) input->ppn);
    case HAN_REDUCE_SCATTER_BLOCK:
    case HAN_REDUCE_SCATTER:
        /* What each rank has, what is sorted, and what comes from the nodes. */
        return (ppn + 2) * all * room_of(input);
    case HAN_ALLTOALL:
        return 4 * ppn * all;
    case HAN_SCAN:
    case HAN_EXSCAN:
        return least_scan_bytes(HAN_LEADERS, input);
    default:
        return (ppn + nodes) * bytes * room_of(input);
    }
}

/*
 * Level by level, operands are combined in rank order where nodes hold consecutive ranks and the root of a reduce leads
 * its node; else the root's node combines last. Where each rank has a block, a node's blocks lie side by side, and all
 * are one message inside nodes; leaders, which do all where they are alone, have room for two of them.
 */
static bool levels_fit(const mca_coll_han_input_t *input)
{
    const double all = (double) input->nodes * (double) input->ppn * (double) input->bytes;
    const bool blocks = input->in_order && 1 < input->ppn && input->adapt;

    switch (input->collective) {
    case HAN_ALLGATHER:
        return blocks && HAN_MOST_MEMORY >= all;
    case HAN_REDUCE_SCATTER_BLOCK:
        return blocks && HAN_MOST_MEMORY >= 2 * all * room_of(input);
    case HAN_ALLTOALL:
        return blocks && !input->uneven && !input->in_place && HAN_MOST_MEMORY >= 2 * all * input->ppn;
    default:
        return input->commutes || (input->in_order && input->root_leads);
    }
}

/*
 * Nodes combine what their ranks have, in the order of ranks only where each holds consecutive ones; of a scan each
 * rank leads itself elsewhere.
 */
static bool leaders_fit(const mca_coll_han_input_t *input)
{
    if (HAN_MOST_MEMORY < leaders_bytes(input)) {
        return false;
    }
    switch (input->collective) {
    case HAN_SCAN:
    case HAN_EXSCAN:
        return true;
    case HAN_ALLTOALL:
        return !input->in_place && MOST_PAIRS / input->ppn / input->ppn >= input->nodes;
    default:
        return input->in_order || input->commutes;
    }
}

mca_coll_han_input_t mca_coll_han_input_good(mca_coll_han_collective_t collective)
{
    return (mca_coll_han_input_t){ .collective = collective,
                                   .nodes = 2,
                                   .ppn = 2,
                                   .in_order = true,
                                   .bytes = 1,
                                   .adapt = true,
                                   .commutes = true,
                                   .root_leads = true };
}

static bool has(mca_coll_han_collective_t collective, mca_coll_han_algorithm_id_t algorithm)
{
    return 0 != (algorithms_of[collective] & (1u << algorithm));
}

bool mca_coll_han_fits(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input)
{
    if (HAN_FALLBACK == algorithm) {
        return true;
    }
    if (!has(input->collective, algorithm)) {
        return false;
    }
    switch (algorithm) {
    case HAN_SIMPLE:
    case HAN_PIPELINE:
    case HAN_UP_ALLREDUCE:
        return HAN_BLOCKING == input->form && !input->flat && levels_fit(input);
    case HAN_TREE:
        return input->adapt && tree_fits(input);
    case HAN_RING:
        return input->adapt && HAN_TREES_KEPT >= input->nodes;
    case HAN_LEADERS:
        return input->adapt && leaders_fit(input);
    case HAN_CHAIN:
        return input->adapt && HAN_MOST_MEMORY >= least_scan_bytes(algorithm, input);
    case HAN_EXCHANGE:
        return input->adapt && !input->in_place;
    default:
        return input->adapt;
    }
}

/*
 * What does a call that the chosen algorithm does not serve; a ring where the leaders were to make one. Leaders are for
 * short blocks: long ones, which have no other algorithm, go to the fallback; a scan that leaders have no memory for is
 * a chain.
 */
static mca_coll_han_algorithm_id_t substitute(const mca_coll_han_input_t *input, mca_coll_han_algorithm_id_t chosen)
{
    static const mca_coll_han_algorithm_id_t order[]
        = { HAN_RING, HAN_TREE, HAN_PIPELINE, HAN_LEADERS, HAN_EXCHANGE, HAN_FALLBACK };
    size_t i = HAN_UP_ALLREDUCE == chosen ? 0 : 1;

    if (HAN_LEADERS == chosen && mca_coll_han_fits(HAN_CHAIN, input)) {
        return HAN_CHAIN;
    }
    while (!mca_coll_han_fits(order[i], input) || (HAN_LEADERS == order[i] && HAN_SHORT_BLOCK < input->bytes)) {
        ++i;
    }
    return order[i];
}

/* What cuts a message, or blocks, into segments. */
static mca_coll_han_algorithm_id_t cutting(mca_coll_han_collective_t collective)
{
    return has(collective, HAN_TREE) ? HAN_TREE : has(collective, HAN_EXCHANGE) ? HAN_EXCHANGE : HAN_CHAIN;
}

/* Who chooses a number of groups asks for them, and who chooses submodules for levels. The segment size serves whatever
 * the algorithm cuts, so that one must: leaders cut scans alone. */
static void by_user(mca_coll_han_params_t *params, const mca_coll_han_settings_t *settings,
                    mca_coll_han_collective_t collective)
{
    if (0 < settings->segsize) {
        params->fs = params->ibs = params->irs = (size_t) settings->segsize;
        params->why = "segment size set by the user";
        if (HAN_FALLBACK == params->algorithm
            || (HAN_LEADERS == params->algorithm && !mca_coll_han_is_scan(collective))) {
            params->algorithm = cutting(collective);
        } else if (HAN_SIMPLE == params->algorithm) {
            params->algorithm = has(collective, HAN_PIPELINE) ? HAN_PIPELINE : cutting(collective);
        }
    }
    if (0 < settings->lanes) {
        params->lanes = settings->lanes;
        params->why = "lanes set by the user";
    }
    if (0 < settings->groups) {
        params->algorithm = HAN_GROUPS;
        params->groups = settings->groups;
        params->why = "groups set by the user";
    }
    if (HAN_AUTO != settings->up_module || HAN_AUTO != settings->low_module) {
        params->algorithm = has(collective, HAN_PIPELINE) ? HAN_PIPELINE : HAN_SIMPLE;
        params->why = "submodules set by the user";
    }
    if (HAN_AUTO != settings->up_module) {
        params->imod = mca_coll_han_choices[HAN_UP][settings->up_module];
    }
    if (HAN_AUTO != settings->low_module) {
        params->smod = mca_coll_han_choices[HAN_LOW][settings->low_module];
    }
    if (HAN_AUTO != settings->algorithm) {
        params->algorithm = (mca_coll_han_algorithm_id_t) settings->algorithm;
        params->why = "algorithm set by the user";
    }
}

static int least_of(int one, int other)
{
    return one < other ? one : other;
}

int mca_coll_han_most_lanes(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input)
{
    const int most = HAN_RING == algorithm ? HAN_TREES_KEPT / input->nodes : HAN_MOST_LANES;

    if (HAN_BARRIER == input->collective || (HAN_BCAST == input->collective && HAN_MOST_MEMORY < input->bytes)) {
        return 1;
    }
    return least_of(most, least_of(HAN_MOST_LANES, input->ppn));
}

int mca_coll_han_groups_for(const mca_coll_han_input_t *input)
{
    const long long ranks = (long long) input->nodes * input->ppn;
    long long root = 0, step = 1; /* root * root < ranks */

    while (step * step < ranks) {
        step *= 2;
    }
    for (; 0 < step; step /= 2) {
        root += (root + step) * (root + step) < ranks ? step : 0;
    }
    return (int) root + 1;
}

mca_coll_adapt_tree_kind_t mca_coll_han_low_tree(const mca_coll_han_params_t *params, int ppn)
{
    enum { FEW_RANKS = 8 }; /* that a leader serves one after another */

    if (ADAPT_TREE_AUTO != params->sbalg) {
        return params->sbalg;
    }
    return FEW_RANKS < ppn ? ADAPT_TREE_KNOMIAL : ADAPT_TREE_LINEAR;
}

bool mca_coll_han_goes_up(mca_coll_han_collective_t collective)
{
    return HAN_REDUCE == collective || HAN_REDUCE_SCATTER == collective || HAN_REDUCE_SCATTER_BLOCK == collective;
}

bool mca_coll_han_is_scan(mca_coll_han_collective_t collective)
{
    return HAN_SCAN == collective || HAN_EXSCAN == collective;
}

/*
 * Where ranks share cores, one is away for some milliseconds at a time. The one before it must have as much under way
 * as the link carries meanwhile: else the link waits, and so do all ranks behind it. 96 KB take 4 ms at 200 Mbit/s;
 * where the link is faster segments are longer, and HAN_SENDS of them are as much. A broadcast's segments lie in the
 * message itself. A reduction has memory for each one that is under way: more of it leaves the cache, which costs 3 %.
 * That is less than what waiting costs where it takes so long that it goes in lanes.
 */
int mca_coll_han_sends(mca_coll_han_collective_t collective, const mca_coll_han_params_t *params)
{
    enum { UNDER_WAY = 96 << 10, MOST = 12 };
    const bool by_tree = HAN_TREE == params->algorithm || HAN_GROUPS == params->algorithm;
    const bool more = HAN_BCAST == collective || (HAN_REDUCE == collective && 1 < params->lanes);

    if (!by_tree || !more || 0 == params->ibs || UNDER_WAY / HAN_SENDS <= params->ibs) {
        return HAN_SENDS;
    }
    return UNDER_WAY / MOST >= params->ibs ? MOST : (int) (UNDER_WAY / params->ibs);
}

/*
 * From a node, whatever the number of its ranks, but one from each. More than fill the link wait in queues before it,
 * where they come to be lost; TCP then waits for 0.2 s. Of pieces there are more: while the last ones have their
 * answers, the link is to be full.
 */
int mca_coll_han_exchange_window(int ppn, bool in_pieces)
{
    const int window = in_pieces ? 6 : 2;

    return 1 + (window - 1) / ppn;
}

bool mca_coll_han_is_alltoall(mca_coll_han_collective_t collective)
{
    return HAN_ALLTOALL == collective || HAN_ALLTOALLV == collective;
}

bool mca_coll_han_has_messages(const mca_coll_han_input_t *input)
{
    return 0 < input->bytes || HAN_BARRIER == input->collective || HAN_ALLTOALLV == input->collective;
}

bool mca_coll_han_root_alone_knows(mca_coll_han_collective_t collective)
{
    return HAN_GATHERV == collective || HAN_SCATTERV == collective;
}

size_t mca_coll_han_ragged_block(size_t ranks)
{
    enum { LONGEST = 1024, LENGTH = 8 };
    const size_t room = HAN_MOST_MEMORY / ranks;

    return LONGEST < room ? LONGEST - LENGTH : LENGTH < room ? room - LENGTH : 0;
}

bool mca_coll_han_is_of_blocks(mca_coll_han_collective_t collective)
{
    switch (collective) {
    case HAN_ALLTOALL:
    case HAN_ALLGATHER:
    case HAN_ALLGATHERV:
    case HAN_REDUCE_SCATTER:
    case HAN_REDUCE_SCATTER_BLOCK:
        return true;
    default:
        return false;
    }
}

bool mca_coll_han_leaders_have_tree(mca_coll_han_collective_t collective)
{
    return HAN_GATHER == collective || HAN_SCATTER == collective;
}

static bool reduces(mca_coll_han_collective_t collective)
{
    return HAN_ALLREDUCE == collective || mca_coll_han_goes_up(collective) || mca_coll_han_is_scan(collective);
}

static size_t limit_segment(size_t segment, size_t longest)
{
    return 0 == segment || segment > longest ? longest : segment;
}

/*
 * A rank has memory for several segments of each of its children. They are cut by packed bytes; where elements have
 * gaps, by memory too. Never by 0, which would be the whole message.
 */
static void limit_gaps(mca_coll_han_params_t *params, const mca_coll_han_input_t *input)
{
    const double room = room_of(input);
    const size_t longest = 1 + (size_t) (HAN_SEGMENT_MEMORY / room);

    if (1 < room && longest < input->bytes) {
        params->fs = limit_segment(params->fs, longest);
        params->ibs = limit_segment(params->ibs, longest);
        params->irs = limit_segment(params->irs, longest);
    }
}

mca_coll_han_params_t mca_coll_han_decide(const mca_coll_han_input_t *input, const mca_coll_han_params_t *rule,
                                          const mca_coll_han_settings_t *settings)
{
    mca_coll_han_params_t params = *rule;

    params.sbalg = mca_coll_han_low_tree(rule, input->ppn);
    if (HAN_ADAPT == params.imod && !input->adapt) {
        params.imod = HAN_LIBNBC;
    }
    by_user(&params, settings, input->collective);
    if (input->anywhere && reduces(input->collective)) {
        /* Its order depends on nothing but ranks; HAN's own would be another one where all ranks share a node. */
        params.algorithm = HAN_FALLBACK;
        params.why = "results are to be reproducible";
    }
    if (!mca_coll_han_fits(params.algorithm, input)) {
        params.algorithm = substitute(input, params.algorithm);
        params.why = "the algorithm does not serve this call";
    }
    if (HAN_GROUPS == params.algorithm && 0 == params.groups) {
        params.groups = mca_coll_han_groups_for(input);
    }
    if ((HAN_TREE == params.algorithm || HAN_GROUPS == params.algorithm) && mca_coll_han_goes_up(input->collective)) {
        /* A tree is one tree, whichever way. */
        params.ibalg = params.iralg;
        params.ibs = params.irs;
    }
    if (HAN_EXCHANGE == params.algorithm && !mca_coll_han_is_alltoall(input->collective)) {
        params.ibs = 0; /* ends that name unequal lengths would wait for pieces in vain */
    }
    limit_gaps(&params, input);
    if (mca_coll_han_is_scan(input->collective)) {
        params.ibs = mca_coll_han_limit_scan_segment(params.algorithm, input, params.ibs);
    }
    params.lanes = least_of(params.lanes, mca_coll_han_most_lanes(params.algorithm, input));
    if (HAN_SIMPLE == params.algorithm || 0 == params.fs || params.fs > input->bytes) {
        params.fs = input->bytes;
    }
    if (params.fs > HAN_LARGEST_SEGMENT) {
        params.fs = HAN_LARGEST_SEGMENT;
    }
    return params;
}
