/* SPDX-License-Identifier: BSD-3-Clause */
/* All ways of doing a collective that are worth a measurement: for each algorithm the product of what it depends on. */
#include "tune.h"

#include <stdarg.h>
#include <stdlib.h>

/* An algorithm has the first so many of them. With two nodes all are the same. */
static const mca_coll_adapt_tree_kind_t trees[]
    = { ADAPT_TREE_LINEAR, ADAPT_TREE_BINOMIAL, ADAPT_TREE_PIPELINE, ADAPT_TREE_BINARY, ADAPT_TREE_KNOMIAL };
enum { TREES_OF_SIMPLE = 2, TREES_OF_PIPELINE = 3, TREES_OF_RING = 3, TREES_OF_TREE = 5 };

static int tree_count(const struct tune_candidates *what, int count)
{
    return 2 < what->input.nodes ? count : 1;
}

/* Segments: none shorter, as each costs its overhead, but of long messages some however many pieces they make. */
enum { LEAST_SEGMENT = 8 << 10, LONG_SEGMENT = 256 << 10, MOST_SEGMENT = 1 << 20, MANY_PIECES = 64 };

struct list {
    const struct tune_candidates *what;
    struct tune_candidate *candidates;
    long count, room;
    bool short_of_memory;
};

/* The fields that an algorithm reads are in the text, as a file of rules has them. */
static void add(struct list *list, mca_coll_han_params_t params, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(struct list *list, mca_coll_han_params_t params, const char *format, ...)
{
    struct tune_candidate *candidate;
    va_list arguments;
    size_t used;

    if (list->count == list->room) {
        const long room = 0 == list->room ? 64 : 2 * list->room;
        struct tune_candidate *candidates = realloc(list->candidates, (size_t) room * sizeof(*candidates));

        if (NULL == candidates) {
            list->short_of_memory = true;
            return;
        }
        list->candidates = candidates;
        list->room = room;
    }
    candidate = &list->candidates[list->count++];
    candidate->params = params;
    used = (size_t) snprintf(candidate->text, TUNE_TEXT, "%s", mca_coll_han_algorithms[params.algorithm].name);
    va_start(arguments, format);
    vsnprintf(candidate->text + used, TUNE_TEXT - used, format, arguments);
    va_end(arguments);
}

/* Goes up a tree only: its tree and segments are called otherwise. */
static bool goes_up(const struct list *list)
{
    const mca_coll_han_collective_t collective = list->what->input.collective;

    return HAN_REDUCE == collective || HAN_REDUCE_SCATTER == collective || HAN_REDUCE_SCATTER_BLOCK == collective;
}

/* The size that comes after this one, of segments of so many bytes; 0 before the first, and behind the last. */
static size_t next_segment(size_t segment, size_t bytes)
{
    segment = 0 == segment ? LEAST_SEGMENT : 2 * segment;
    while (bytes / segment > MANY_PIECES && LONG_SEGMENT > segment) {
        segment *= 2;
    }
    return segment <= MOST_SEGMENT && 2 * segment <= bytes ? segment : 0;
}

/* As many lanes as a node has ranks, up to four; of what is not cut there is one. */
static int most_lanes(const struct list *list, size_t segment)
{
    const mca_coll_han_input_t *input = &list->what->input;

    if (HAN_BCAST == input->collective || HAN_BARRIER == input->collective
        || (0 == segment && (HAN_REDUCE == input->collective || HAN_ALLREDUCE == input->collective))) {
        return 1;
    }
    return input->ppn < 4 ? input->ppn : 4;
}

static void add_trees(struct list *list, mca_coll_han_params_t params, int count, size_t bytes)
{
    const char *up = goes_up(list) ? "ir" : "ib";

    for (int i = 0; i < tree_count(list->what, count); ++i) {
        size_t segment = 0;

        params.ibalg = params.iralg = trees[i];
        do {
            const char *tree = mca_coll_han_tree_names[trees[i]];

            params.ibs = params.irs = segment;
            params.lanes = 1;
            add(list, params, " %salg=%s %ss=%zu", up, tree, up, segment);
            params.lanes = most_lanes(list, segment);
            if (1 < params.lanes) {
                add(list, params, " %salg=%s %ss=%zu lanes=%d", up, tree, up, segment, params.lanes);
            }
            segment = next_segment(segment, bytes);
        } while (0 != segment);
    }
}

static void add_up_allreduce(struct list *list, mca_coll_han_params_t params)
{
    for (size_t inner = 16 << 10; inner <= 64 << 10; inner *= 4) {
        params.ibs = params.irs = inner;
        params.ibalg = params.iralg = ADAPT_TREE_PIPELINE;
        params.lanes = most_lanes(list, inner);
        add(list, params, " fs=%zu smod=%s ibalg=pipeline ibs=%zu lanes=%d", params.fs,
            mca_coll_han_submodule_names[params.smod], inner, params.lanes);
    }
}

/* Level by level, whole (fs 0) or in segments: these with the first of the components only. */
static void add_levels(struct list *list, mca_coll_han_params_t params, int count)
{
    const size_t bytes = list->what->input.bytes;
    size_t fs = HAN_SIMPLE == params.algorithm ? 0 : next_segment(0, bytes);
    char cut[32] = "";

    if (0 == fs && HAN_SIMPLE != params.algorithm) {
        return;
    }
    do {
        if (0 < fs) {
            params.fs = fs;
            snprintf(cut, sizeof(cut), " fs=%zu", fs);
        }
        for (int low = 0; low < (0 == fs ? list->what->low_count : 1); ++low) {
            params.smod = list->what->lows[low];
            if (HAN_UP_ALLREDUCE == params.algorithm) {
                add_up_allreduce(list, params);
                continue;
            }
            for (int i = 0; i < tree_count(list->what, count); ++i) {
                params.ibalg = params.iralg = trees[i];
                add(list, params, "%s smod=%s %s=%s", cut, mca_coll_han_submodule_names[params.smod],
                    goes_up(list) ? "iralg" : "ibalg", mca_coll_han_tree_names[trees[i]]);
            }
        }
        fs = HAN_SIMPLE == params.algorithm ? 0 : next_segment(fs, bytes);
    } while (0 != fs);
}

static void add_leaders(struct list *list, mca_coll_han_params_t params)
{
    const mca_coll_han_collective_t collective = list->what->input.collective;
    size_t segment = 0;

    if (HAN_SCAN != collective && HAN_EXSCAN != collective) {
        add(list, params, "%s", "");
        return;
    }
    do {
        params.ibs = params.irs = segment;
        add(list, params, " ibs=%zu", segment);
        segment = next_segment(segment, list->what->input.bytes);
    } while (0 != segment);
}

long tune_candidates_make(const struct tune_candidates *what, struct tune_candidate **candidates)
{
    struct list list = { .what = what };
    const mca_coll_han_rule_t defaults = mca_coll_han_rule_default();

    for (int i = 0; i < HAN_ALGORITHM_COUNT; ++i) {
        mca_coll_han_params_t params = defaults.params;

        params.algorithm = (mca_coll_han_algorithm_id_t) i;
        if (!mca_coll_han_fits(params.algorithm, &what->input)) {
            continue;
        }
        switch (params.algorithm) {
        case HAN_TREE:
            add_trees(&list, params, TREES_OF_TREE, what->input.bytes);
            break;
        case HAN_RING:
            add_trees(&list, params, TREES_OF_RING, what->input.bytes / (size_t) what->input.nodes);
            break;
        case HAN_SIMPLE:
            add_levels(&list, params, TREES_OF_SIMPLE);
            break;
        case HAN_PIPELINE:
        case HAN_UP_ALLREDUCE:
            add_levels(&list, params, TREES_OF_PIPELINE);
            break;
        case HAN_LEADERS:
            add_leaders(&list, params);
            break;
        default:
            add(&list, params, "%s", "");
        }
    }
    if (list.short_of_memory) {
        free(list.candidates);
        return -1;
    }
    *candidates = list.candidates;
    return list.count;
}
