/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

const mca_coll_han_algorithm_t mca_coll_han_algorithms[HAN_ALGORITHM_COUNT] = {
    [HAN_FALLBACK] = { "fallback", "the component that would do it without HAN" },
    [HAN_SIMPLE] = { "simple", "level by level, the whole message at once" },
    [HAN_PIPELINE] = { "pipeline", "level by level, segment by segment, the levels overlapped" },
    [HAN_TREE] = { "tree", "all levels at once: adapt over the topology-aware tree, without sub-communicators" },
    [HAN_RING] = { "ring", "tree, in one block for each node, which is rooted there" },
    [HAN_EXCHANGE] = { "exchange", "messages from rank to rank, in an order that spreads them over the nodes" },
    [HAN_LEADERS] = { "leaders", "through the node leaders, which have one message for each other node" },
};

#define BIT(algorithm) (1u << HAN_##algorithm)

/* What there is for each collective beside the fallback. */
static const unsigned algorithms_of[HAN_COLLECTIVE_COUNT] = {
    [HAN_BCAST] = BIT(SIMPLE) | BIT(PIPELINE) | BIT(TREE),
    [HAN_REDUCE] = BIT(TREE),
    [HAN_ALLREDUCE] = BIT(TREE) | BIT(RING) | BIT(LEADERS),
    [HAN_BARRIER] = BIT(TREE) | BIT(LEADERS),
    [HAN_ALLGATHER] = BIT(TREE) | BIT(LEADERS),
    [HAN_ALLGATHERV] = BIT(TREE) | BIT(LEADERS),
    [HAN_REDUCE_SCATTER_BLOCK] = BIT(TREE) | BIT(LEADERS),
    [HAN_REDUCE_SCATTER] = BIT(TREE) | BIT(LEADERS),
    [HAN_ALLTOALL] = BIT(EXCHANGE) | BIT(LEADERS),
    [HAN_ALLTOALLV] = BIT(EXCHANGE),
    [HAN_GATHER] = BIT(EXCHANGE) | BIT(LEADERS),
    [HAN_GATHERV] = BIT(EXCHANGE),
    [HAN_SCATTER] = BIT(EXCHANGE) | BIT(LEADERS),
    [HAN_SCATTERV] = BIT(EXCHANGE),
    [HAN_SCAN] = BIT(LEADERS),
    [HAN_EXSCAN] = BIT(LEADERS),
};

/* A leader of an alltoall sorts blocks of so many pairs of ranks at most: by then it is better to send them apart. */
enum { MOST_PAIRS = 16384 };

/*
 * Where each rank has a tree, all must be kept; own blocks must be in place before a persistent allgather starts, and
 * results in place of a reduce_scatter wait until it ends.
 */
static bool tree_fits(const mca_coll_han_input_t *input)
{
    switch (input->collective) {
    case HAN_ALLGATHER:
    case HAN_ALLGATHERV:
        return HAN_TREES_KEPT / input->nodes >= input->ppn && (HAN_PERSISTENT != input->form || input->in_place);
    case HAN_REDUCE_SCATTER_BLOCK:
    case HAN_REDUCE_SCATTER:
        return HAN_TREES_KEPT / input->nodes >= input->ppn && (HAN_BLOCKING == input->form || !input->in_place);
    default:
        return true;
    }
}

/* Nodes combine what their ranks have, in the order of ranks only where each holds consecutive ones. */
static bool leaders_fit(const mca_coll_han_input_t *input)
{
    switch (input->collective) {
    case HAN_SCAN:
    case HAN_EXSCAN:
        return input->in_order;
    case HAN_ALLTOALL:
        return !input->in_place && MOST_PAIRS / input->ppn / input->ppn >= input->nodes;
    default:
        return input->in_order || !input->keeps_order;
    }
}

/* Whether an algorithm serves a call. */
static bool fits(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input)
{
    if (0 == (algorithms_of[input->collective] & (1u << algorithm))) {
        return false;
    }
    switch (algorithm) {
    case HAN_SIMPLE:
    case HAN_PIPELINE:
        return HAN_BLOCKING == input->form;
    case HAN_TREE:
        return input->adapt && tree_fits(input);
    case HAN_LEADERS:
        return input->adapt && leaders_fit(input);
    case HAN_EXCHANGE:
        return input->adapt && !input->in_place;
    default:
        return input->adapt;
    }
}

/* What does a call that the chosen algorithm does not serve. */
static mca_coll_han_algorithm_id_t substitute(const mca_coll_han_input_t *input)
{
    static const mca_coll_han_algorithm_id_t order[]
        = { HAN_PIPELINE, HAN_TREE, HAN_LEADERS, HAN_EXCHANGE, HAN_FALLBACK };
    size_t i = 0;

    while (HAN_FALLBACK != order[i] && !fits(order[i], input)) {
        ++i;
    }
    return order[i];
}

/* Largest segment: inner collectives count in int. */
static const size_t largest_fs = (size_t) 1 << 30;

/* From this many nodes and bytes on: what. The last row that fits decides, so a number of nodes begins with 0 bytes. */
struct rule {
    mca_coll_han_collective_t collective;
    int nodes;
    size_t bytes;
    mca_coll_han_params_t params;
};

#define RULE(collective, from_nodes, from_bytes, how, nodes_kind, segment, share)                                            \
    {                                                                                                                  \
        HAN_##collective, from_nodes, from_bytes,                                                                      \
        {                                                                                                              \
            .algorithm = HAN_##how, .fs = 65536, .depth = 4, .imod = HAN_ADAPT, .smod = HAN_TUNED,                     \
            .ibalg = ADAPT_TREE_##nodes_kind, .sbalg = ADAPT_TREE_LINEAR, .ibs = segment, .lanes = share,              \
            .why = "built-in rule from " #from_nodes " nodes and " #from_bytes " bytes on"                             \
        }                                                                                                              \
    }

/*
 * Short messages: what counts is how many must be waited for one after another. With few nodes the root sends to each
 * leader itself, and every leader to each rank of its node. Middle ones: sent to many, a message costs its bytes as
 * often. Long ones: a chain between the nodes, in which each sends the message once, in segments as short as they can
 * be without their number counting; an allreduce as a ring. Of long reductions several ranks of a node, each in a lane
 * of its own, have a part: where one of them is late, the others use the link.
 */
static const struct rule rules[] = {
    RULE(BCAST, 2, 0, TREE, LINEAR, 0, 1),
    RULE(BCAST, 2, 8193, TREE, BINOMIAL, 0, 1),
    RULE(BCAST, 2, 12289, TREE, PIPELINE, 8192, 1),
    RULE(BCAST, 2, 65537, TREE, PIPELINE, 16384, 1),
    RULE(BCAST, 5, 0, TREE, LINEAR, 0, 1),
    RULE(BCAST, 5, 4097, TREE, BINOMIAL, 0, 1),
    RULE(BCAST, 5, 12289, TREE, PIPELINE, 8192, 1),
    RULE(BCAST, 5, 65537, TREE, PIPELINE, 16384, 1),
    RULE(BCAST, 9, 0, TREE, KNOMIAL, 0, 1),
    RULE(BCAST, 9, 8193, TREE, BINOMIAL, 0, 1),
    RULE(BCAST, 9, 16385, TREE, PIPELINE, 8192, 1),
    RULE(BCAST, 9, 65537, TREE, PIPELINE, 16384, 1),
    RULE(REDUCE, 2, 0, TREE, LINEAR, 0, 1),
    RULE(REDUCE, 2, 8193, TREE, PIPELINE, 8192, 1),
    RULE(REDUCE, 2, 65537, TREE, PIPELINE, 16384, 1),
    RULE(REDUCE, 2, 1048577, TREE, PIPELINE, 16384, 4),
    RULE(REDUCE, 5, 0, TREE, LINEAR, 0, 1),
    RULE(REDUCE, 5, 4097, TREE, BINOMIAL, 0, 1),
    RULE(REDUCE, 5, 12289, TREE, PIPELINE, 8192, 1),
    RULE(REDUCE, 5, 65537, TREE, PIPELINE, 16384, 1),
    RULE(REDUCE, 5, 1048577, TREE, PIPELINE, 16384, 4),
    RULE(REDUCE, 9, 0, TREE, KNOMIAL, 0, 1),
    RULE(REDUCE, 9, 2049, TREE, BINOMIAL, 0, 1),
    RULE(REDUCE, 9, 16385, TREE, PIPELINE, 8192, 1),
    RULE(REDUCE, 9, 65537, TREE, PIPELINE, 16384, 1),
    RULE(REDUCE, 9, 1048577, TREE, PIPELINE, 16384, 4),
    RULE(ALLREDUCE, 2, 0, TREE, LINEAR, 0, 1),
    RULE(ALLREDUCE, 2, 4097, TREE, BINOMIAL, 0, 1),
    RULE(ALLREDUCE, 2, 8193, RING, LINEAR, 8192, 1),
    RULE(ALLREDUCE, 2, 24577, RING, PIPELINE, 16384, 1),
    RULE(ALLREDUCE, 2, 131073, RING, PIPELINE, 16384, 4),
    RULE(ALLREDUCE, 9, 0, TREE, KNOMIAL, 0, 1),
    RULE(ALLREDUCE, 9, 8193, TREE, BINOMIAL, 0, 1),
    RULE(ALLREDUCE, 9, 16385, RING, PIPELINE, 16384, 1),
    RULE(ALLREDUCE, 9, 131073, RING, PIPELINE, 16384, 4),
    RULE(BARRIER, 2, 0, TREE, LINEAR, 0, 1),
    RULE(BARRIER, 9, 0, TREE, KNOMIAL, 0, 1),
    RULE(ALLGATHER, 2, 0, FALLBACK, LINEAR, 0, 1),
    RULE(ALLGATHER, 2, 4096, TREE, PIPELINE, 16384, 1),
    RULE(ALLGATHERV, 2, 0, FALLBACK, LINEAR, 0, 1),
    RULE(ALLGATHERV, 2, 4096, TREE, PIPELINE, 16384, 1),
    RULE(REDUCE_SCATTER_BLOCK, 2, 0, FALLBACK, LINEAR, 0, 1),
    RULE(REDUCE_SCATTER_BLOCK, 2, 4096, TREE, PIPELINE, 16384, 1),
    RULE(REDUCE_SCATTER, 2, 0, FALLBACK, LINEAR, 0, 1),
    RULE(REDUCE_SCATTER, 2, 4096, TREE, PIPELINE, 16384, 1),
    RULE(ALLTOALL, 2, 0, FALLBACK, LINEAR, 0, 1),
    RULE(ALLTOALL, 2, 4096, EXCHANGE, LINEAR, 0, 1),
    RULE(ALLTOALLV, 2, 0, EXCHANGE, LINEAR, 0, 1),
    RULE(GATHERV, 2, 0, FALLBACK, LINEAR, 0, 1),
    RULE(SCATTERV, 2, 0, FALLBACK, LINEAR, 0, 1),
    RULE(SCAN, 2, 0, LEADERS, LINEAR, 16384, 1),
    RULE(EXSCAN, 2, 0, LEADERS, LINEAR, 16384, 1),
    RULE(GATHER, 2, 0, FALLBACK, LINEAR, 0, 1),
    RULE(GATHER, 2, 4096, EXCHANGE, LINEAR, 0, 1),
    RULE(SCATTER, 2, 0, FALLBACK, LINEAR, 0, 1),
    RULE(SCATTER, 2, 4096, EXCHANGE, LINEAR, 0, 1),
};

/* Up to this many ranks of a node are served by its leader, one after another. */
enum { FEW_RANKS = 8 };

static mca_coll_han_params_t by_rules(const mca_coll_han_input_t *input)
{
    mca_coll_han_params_t params = { .algorithm = HAN_FALLBACK, .lanes = 1, .why = "no rule fits" };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i) {
        if (rules[i].collective == input->collective && rules[i].nodes <= input->nodes
            && rules[i].bytes <= input->bytes) {
            params = rules[i].params;
        }
    }
    if (FEW_RANKS < input->ppn) {
        params.sbalg = ADAPT_TREE_KNOMIAL;
    }
    return params;
}

/* Who chooses submodules asks for levels. The segment size serves whatever the algorithm cuts. */
static void by_user(mca_coll_han_params_t *params, const mca_coll_han_settings_t *settings)
{
    if (0 < settings->segsize) {
        params->fs = params->ibs = (size_t) settings->segsize;
        params->why = "segment size set by the user";
        if (HAN_FALLBACK == params->algorithm) {
            params->algorithm = HAN_TREE;
        }
    }
    if (0 < settings->lanes) {
        params->lanes = settings->lanes;
        params->why = "lanes set by the user";
    }
    if (HAN_AUTO != settings->up_module || HAN_AUTO != settings->low_module) {
        params->algorithm = HAN_PIPELINE;
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

/* As many lanes as a node has ranks, and as trees can be kept. Only a reduction can be cut into blocks for them. */
static int limit_lanes(int lanes, const mca_coll_han_input_t *input)
{
    if (HAN_REDUCE != input->collective && HAN_ALLREDUCE != input->collective) {
        return 1;
    }
    lanes = lanes < input->ppn ? lanes : input->ppn;
    return lanes < HAN_MOST_LANES ? lanes : HAN_MOST_LANES;
}

mca_coll_han_params_t mca_coll_han_decide(const mca_coll_han_input_t *input)
{
    mca_coll_han_params_t params = by_rules(input);

    if (HAN_ADAPT == params.imod && !input->adapt) {
        params.imod = HAN_LIBNBC;
    }
    by_user(&params, &mca_coll_han_component.settings[input->collective]);
    if (HAN_FALLBACK != params.algorithm && !fits(params.algorithm, input)) {
        params.algorithm = substitute(input);
        params.why = "the algorithm does not serve this call";
    }
    params.lanes = limit_lanes(params.lanes, input);
    if (HAN_SIMPLE == params.algorithm || 0 == params.fs || params.fs > input->bytes) {
        params.fs = input->bytes;
    }
    if (params.fs > largest_fs) {
        params.fs = largest_fs;
    }
    return params;
}
