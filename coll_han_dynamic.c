/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

const mca_coll_han_algorithm_t mca_coll_han_algorithms[HAN_ALGORITHM_COUNT] = {
    [HAN_FALLBACK] = { "fallback", "the component that would do it without HAN" },
    [HAN_SIMPLE] = { "simple", "level by level, the whole message at once" },
    [HAN_PIPELINE] = { "pipeline", "level by level, segment by segment, the levels overlapped" },
};

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

static const struct rule rules[] = {
    { HAN_BCAST, 2, 1, 0, { HAN_SIMPLE, 0, 1, HAN_ADAPT, HAN_TUNED, ADAPT_TREE_BINOMIAL, 0, "built-in rule: bcast, short" } },
    { HAN_BCAST, 2, 1, 65537, { HAN_PIPELINE, 65536, 4, HAN_ADAPT, HAN_TUNED, ADAPT_TREE_PIPELINE, 16384, "built-in rule: bcast, long" } },
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

static void by_user(mca_coll_han_params_t *params, const mca_coll_han_settings_t *settings)
{
    if (0 < settings->segsize) {
        params->algorithm = HAN_PIPELINE;
        params->fs = (size_t) settings->segsize;
        params->why = "segsize set by the user";
    }
    if (HAN_AUTO != settings->up_module) {
        params->imod = mca_coll_han_choices[HAN_UP][settings->up_module];
    }
    if (HAN_AUTO != settings->low_module) {
        params->smod = mca_coll_han_choices[HAN_LOW][settings->low_module];
    }
}

mca_coll_han_params_t mca_coll_han_decide(const mca_coll_han_input_t *input)
{
    mca_coll_han_params_t params = by_rules(input);

    if (HAN_FALLBACK == params.algorithm) {
        return params;
    }
    by_user(&params, &mca_coll_han_component.settings[input->collective]);
    if (HAN_SIMPLE == params.algorithm || params.fs > input->bytes) {
        params.fs = input->bytes;
    }
    if (params.fs > largest_fs) {
        params.fs = largest_fs;
    }
    return params;
}
