/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

const mca_coll_han_algorithm_t mca_coll_han_algorithms[HAN_ALGORITHM_COUNT] = {
    [HAN_FALLBACK] = { "fallback", "the component that would do it without HAN" },
    [HAN_SIMPLE] = { "simple", "level by level, the whole message at once" },
    [HAN_PIPELINE] = { "pipeline", "level by level, segment by segment, the levels overlapped" },
    [HAN_TREE] = { "tree", "all levels at once: adapt over the topology-aware tree, without sub-communicators" },
    [HAN_RING] = { "ring", "tree, in one block for each node, rooted there: 2(n-1)/n of the message on each link" },
};

/* Preconditions. Only blocking bcast goes level by level; adapt must be there for a tree; a ring is an allreduce. */
static bool fits(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input)
{
    switch (algorithm) {
    case HAN_SIMPLE:
    case HAN_PIPELINE:
        return HAN_BCAST == input->collective && HAN_BLOCKING == input->form;
    case HAN_TREE:
        return input->adapt;
    case HAN_RING:
        return input->adapt && HAN_ALLREDUCE == input->collective;
    default:
        return true;
    }
}

/* Largest segment: inner collectives count in int. */
static const size_t largest_fs = (size_t) 1 << 30;

/* From this many nodes, ranks per node and bytes on: what. The last row that fits decides. */
struct rule {
    mca_coll_han_collective_t collective;
    int nodes;
    int ppn;
    size_t bytes;
    mca_coll_han_params_t params;
};

#define TREE(nodes_kind, node_kind, segment, reason)                                                                   \
    {                                                                                                                  \
        .algorithm = HAN_TREE, .fs = 65536, .depth = 4, .imod = HAN_ADAPT, .smod = HAN_TUNED, .ibalg = nodes_kind,     \
        .sbalg = node_kind, .ibs = segment, .why = reason                                                              \
    }

#define OTHERS(reason)                                                                                                 \
    {                                                                                                                  \
        .algorithm = HAN_FALLBACK, .fs = 65536, .depth = 4, .imod = HAN_ADAPT, .smod = HAN_TUNED,                      \
        .ibalg = ADAPT_TREE_BINOMIAL, .sbalg = ADAPT_TREE_BINOMIAL, .why = reason                                      \
    }

/*
 * Up to 2 KB all is a matter of scheduling, and nothing measured better than what is there. From 8 KB on a chain
 * between the nodes: each sends the message once. The segments are as short as they can be without their number
 * counting.
 */
static const struct rule rules[] = {
    { HAN_BCAST, 2, 1, 0, OTHERS("built-in rule: bcast up to 2 KB") },
    { HAN_BCAST, 2, 1, 2049, TREE(ADAPT_TREE_BINOMIAL, ADAPT_TREE_BINOMIAL, 0, "built-in rule: bcast, short") },
    { HAN_BCAST, 2, 1, 8193, TREE(ADAPT_TREE_PIPELINE, ADAPT_TREE_BINOMIAL, 4096, "built-in rule: bcast, middle") },
    { HAN_BCAST, 2, 1, 65537, TREE(ADAPT_TREE_PIPELINE, ADAPT_TREE_BINOMIAL, 16384, "built-in rule: bcast, long") },
    { HAN_REDUCE, 2, 1, 0, OTHERS("built-in rule: reduce up to 2 KB") },
    { HAN_REDUCE, 2, 1, 2049, TREE(ADAPT_TREE_BINOMIAL, ADAPT_TREE_BINOMIAL, 0, "built-in rule: reduce, short") },
    { HAN_REDUCE, 2, 1, 8193, TREE(ADAPT_TREE_PIPELINE, ADAPT_TREE_BINOMIAL, 4096, "built-in rule: reduce, middle") },
    { HAN_REDUCE, 2, 1, 65537, TREE(ADAPT_TREE_PIPELINE, ADAPT_TREE_BINOMIAL, 16384, "built-in rule: reduce, long") },
    { HAN_ALLREDUCE, 2, 1, 0, OTHERS("built-in rule: allreduce up to 2 KB") },
    { HAN_ALLREDUCE, 2, 1, 2049, TREE(ADAPT_TREE_BINOMIAL, ADAPT_TREE_BINOMIAL, 0, "built-in rule: allreduce, short") },
    { HAN_ALLREDUCE,
      2,
      1,
      16385,
      { .algorithm = HAN_RING,
        .fs = 65536,
        .depth = 4,
        .imod = HAN_ADAPT,
        .smod = HAN_TUNED,
        .ibalg = ADAPT_TREE_PIPELINE,
        .sbalg = ADAPT_TREE_BINOMIAL,
        .ibs = 16384,
        .why = "built-in rule: allreduce, long" } },
};

static mca_coll_han_params_t by_rules(const mca_coll_han_input_t *input)
{
    mca_coll_han_params_t params = { .algorithm = HAN_FALLBACK, .why = "no rule fits" };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i) {
        if (rules[i].collective == input->collective && rules[i].nodes <= input->nodes && rules[i].ppn <= input->ppn
            && rules[i].bytes <= input->bytes) {
            params = rules[i].params;
        }
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

mca_coll_han_params_t mca_coll_han_decide(const mca_coll_han_input_t *input)
{
    mca_coll_han_params_t params = by_rules(input);

    if (HAN_ADAPT == params.imod && !input->adapt) {
        params.imod = HAN_LIBNBC;
    }
    by_user(&params, &mca_coll_han_component.settings[input->collective]);
    if (HAN_FALLBACK != params.algorithm && !fits(params.algorithm, input)) {
        params.algorithm = fits(HAN_PIPELINE, input) ? HAN_PIPELINE : fits(HAN_TREE, input) ? HAN_TREE : HAN_FALLBACK;
        params.why = "the algorithm does not serve this call";
    }
    if (HAN_SIMPLE == params.algorithm || 0 == params.fs || params.fs > input->bytes) {
        params.fs = input->bytes;
    }
    if (params.fs > largest_fs) {
        params.fs = largest_fs;
    }
    return params;
}
