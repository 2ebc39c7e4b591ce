/* SPDX-License-Identifier: BSD-3-Clause */
/* All ways of doing a collective that are worth a measurement: for each algorithm the product of what it depends on. */
#include "coll_han_candidates.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_han_rules.h"

/* Trees of the leaders: an algorithm has the first so many of them. Among few nodes some have the same shape. */
static const struct {
    mca_coll_adapt_tree_kind_t kind;
    int alike; /* up to so many nodes one that stands above has the same shape */
} trees[] = {
    { ADAPT_TREE_LINEAR, 0 }, { ADAPT_TREE_BINOMIAL, 3 }, { ADAPT_TREE_PIPELINE, 2 },
    { ADAPT_TREE_BINARY, 4 }, { ADAPT_TREE_KNOMIAL, 5 }, /* of radix 4: HAN_RADIX */
};
enum { TREES_OF_SIMPLE = 2, TREES_OF_LEADERS = 2, TREES_OF_PIPELINE = 3, TREES_OF_RING = 3, TREES_OF_TREE = 5 };

static bool is_alike(const mca_coll_han_candidates_t *what, int i)
{
    return trees[i].alike >= what->input.nodes;
}

/* With fewer groups there are eight ranks or less: a binomial tree has as few messages behind one another. */
enum { FEW_GROUPS = 3 };

/* Segments: none shorter, as each costs its overhead, but of long messages some however many pieces they make. */
enum { LEAST_SEGMENT = 8 << 10, LONG_SEGMENT = 64 << 10, MOST_SEGMENT = 1 << 20, MANY_PIECES = 64, MOST_SEGMENTS = 8 };

/* A message of which each lane has many of the shortest segments. */
enum { LONG_MESSAGE = 2 << 20 };

/* Simple ones first: of what is alike the first is chosen. Those that go level by level need sub-communicators. */
static const mca_coll_han_algorithm_id_t order[]
    = { HAN_FALLBACK, HAN_TREE,    HAN_RING,   HAN_GROUPS,   HAN_EXCHANGE,
        HAN_CHAIN,    HAN_LEADERS, HAN_SIMPLE, HAN_PIPELINE, HAN_UP_ALLREDUCE };

struct list {
    const mca_coll_han_candidates_t *what;
    mca_coll_han_params_t *params;
    long count, room;
    bool short_of_memory;
};

static void add(struct list *list, mca_coll_han_params_t params)
{
    if (list->count == list->room) {
        const long room = 0 == list->room ? 64 : 2 * list->room;
        mca_coll_han_params_t *longer = realloc(list->params, (size_t) room * sizeof(*longer));

        if (NULL == longer) {
            list->short_of_memory = true;
            return;
        }
        list->params = longer;
        list->room = room;
    }
    list->params[list->count++] = params;
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

/* A segment that is a message: of 64 KB TCP would ask. */
static size_t as_message(size_t segment)
{
    return LONG_SEGMENT == segment ? HAN_EAGER_SEGMENT : segment;
}

/* All of them: first those of so many bytes or more, then the others, the longest first. Returns their number. */
static int segments_from(size_t least, size_t bytes, size_t segments[MOST_SEGMENTS])
{
    size_t shorter[MOST_SEGMENTS];
    int count = 0, others = 0;

    for (size_t one = next_segment(0, bytes); 0 != one; one = next_segment(one, bytes)) {
        if (least <= one) {
            segments[count++] = one;
        } else {
            shorter[others++] = one;
        }
    }
    while (0 < others) {
        segments[count++] = shorter[--others];
    }
    return count;
}

/* As many lanes as a node has ranks, up to four; of what is not cut there is one. */
static int most_lanes(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input, size_t segment)
{
    enum { MOST = 4 };
    const int most = mca_coll_han_most_lanes(algorithm, input);

    if (0 == segment
        && (HAN_BCAST == input->collective || HAN_REDUCE == input->collective || HAN_ALLREDUCE == input->collective)) {
        return 1;
    }
    return most < MOST ? most : MOST;
}

/* A tree in one lane, and in several. Where each rank has a tree, these cut nothing, and come first. */
static void add_lanes(struct list *list, mca_coll_han_params_t params, int lanes, bool many)
{
    params.lanes = many ? lanes : 1;
    add(list, params);
    if (1 < lanes) {
        params.lanes = many ? 1 : lanes;
        add(list, params);
    }
}

/* What a lane has of a long message may be cut as a message of its own, for so many pieces go along its tree. */
static void add_short_lanes(struct list *list, mca_coll_han_params_t params, size_t bytes)
{
    const size_t least = next_segment(0, bytes);

    params.lanes = most_lanes(params.algorithm, &list->what->input, bytes);
    for (size_t segment = next_segment(0, bytes / (size_t) params.lanes); segment < least; segment *= 2) {
        params.ibs = params.irs = segment;
        add(list, params);
    }
}

static void add_trees(struct list *list, mca_coll_han_params_t params, int count, size_t bytes)
{
    const mca_coll_han_input_t *input = &list->what->input;
    const bool many = 1 < most_lanes(params.algorithm, input, 0);

    for (int i = 0; i < count; ++i) {
        size_t segment = 0;

        if (is_alike(list->what, i)) {
            continue;
        }
        params.ibalg = params.iralg = trees[i].kind;
        do {
            params.ibs = params.irs = as_message(segment);
            add_lanes(list, params, most_lanes(params.algorithm, input, segment), many);
            segment = next_segment(segment, bytes);
        } while (0 != segment);
        if (HAN_TREE == params.algorithm && !many && LONG_MESSAGE <= bytes) {
            add_short_lanes(list, params, bytes);
        }
    }
}

/*
 * Of the trees that groups shorten; about as many groups as each has ranks. Where these are nodes, and where there are
 * few ranks, it is a tree that is there already.
 */
static void add_groups(struct list *list, mca_coll_han_params_t params)
{
    static const mca_coll_adapt_tree_kind_t flat[] = { ADAPT_TREE_LINEAR, ADAPT_TREE_PIPELINE };
    const mca_coll_han_input_t *input = &list->what->input;

    params.groups = mca_coll_han_groups_for(input);
    if (FEW_GROUPS > params.groups || input->nodes == params.groups || input->ppn == params.groups) {
        return;
    }
    for (size_t i = 0; i < sizeof(flat) / sizeof(flat[0]); ++i) {
        size_t segment = 0;

        params.ibalg = params.iralg = flat[i];
        do {
            params.ibs = params.irs = as_message(segment);
            add(list, params);
            segment = next_segment(segment, input->bytes);
        } while (0 != segment);
    }
}

/* Level by level, leaders who hand on blocks do so themselves. */
static bool has_submodule_up(mca_coll_han_collective_t collective)
{
    return !mca_coll_han_is_of_blocks(collective);
}

/* Level by level, leaders who tell all others have no tree to choose: of blocks, and in a barrier. */
static bool has_tree_of_levels(mca_coll_han_collective_t collective)
{
    return HAN_BARRIER != collective && has_submodule_up(collective);
}

/* It has no tree to choose. */
static void add_libnbc(struct list *list, mca_coll_han_params_t params)
{
    if (list->what->libnbc && has_submodule_up(list->what->input.collective)) {
        params.imod = HAN_LIBNBC;
        add(list, params);
    }
}

static void add_up_allreduce(struct list *list, mca_coll_han_params_t params)
{
    static const size_t inner[] = { 16 << 10, HAN_EAGER_SEGMENT };

    add_libnbc(list, params);
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); ++i) {
        params.ibs = params.irs = inner[i];
        params.ibalg = params.iralg = ADAPT_TREE_PIPELINE;
        params.lanes = most_lanes(params.algorithm, &list->what->input, inner[i]);
        add(list, params);
    }
}

static void add_trees_of_levels(struct list *list, mca_coll_han_params_t params, int count)
{
    const int trees_of_call = has_tree_of_levels(list->what->input.collective) ? count : 1;

    add_libnbc(list, params);
    for (int i = 0; i < trees_of_call; ++i) {
        if (!is_alike(list->what, i)) {
            params.ibalg = params.iralg = trees[i].kind;
            add(list, params);
        }
    }
}

static void add_simple(struct list *list, mca_coll_han_params_t params)
{
    for (int low = 0; low < list->what->low_count; ++low) {
        params.smod = list->what->lows[low];
        add_trees_of_levels(list, params, TREES_OF_SIMPLE);
    }
}

/*
 * Level by level in segments, with the first of the components. The leaders' allreduce cuts each in as many blocks as
 * there are nodes, and those are messages.
 */
static void add_pipelined(struct list *list, mca_coll_han_params_t params)
{
    const mca_coll_han_input_t *input = &list->what->input;
    const bool in_blocks = HAN_UP_ALLREDUCE == params.algorithm;
    const size_t least = in_blocks ? (size_t) input->nodes * LEAST_SEGMENT : LEAST_SEGMENT;
    size_t segments[MOST_SEGMENTS];
    const int count = 0 < list->what->low_count ? segments_from(least, input->bytes, segments) : 0;

    for (int i = 0; i < count; ++i) {
        params.smod = list->what->lows[0];
        if (in_blocks) {
            params.fs = segments[i];
            add_up_allreduce(list, params);
        } else {
            params.fs = as_message(segments[i]);
            add_trees_of_levels(list, params, TREES_OF_PIPELINE);
        }
    }
}

/* In segments that there is memory for; `cut`: not only whole. */
static void add_scans(struct list *list, mca_coll_han_params_t params, bool cut)
{
    const mca_coll_han_input_t *input = &list->what->input;
    size_t segment = 0;

    do {
        params.ibs = params.irs = as_message(segment);
        if (params.ibs == mca_coll_han_limit_scan_segment(params.algorithm, input, params.ibs)) {
            add(list, params);
        }
        segment = cut ? next_segment(segment, input->bytes) : 0;
    } while (0 != segment);
}

/* Of a scan whose ranks lead but themselves, leaders that cut it are a chain. */
static void add_leaders(struct list *list, mca_coll_han_params_t params)
{
    const mca_coll_han_input_t *input = &list->what->input;
    const int count = mca_coll_han_leaders_have_tree(input->collective) ? TREES_OF_LEADERS : 1;

    if (mca_coll_han_is_scan(input->collective)) {
        add_scans(list, params, input->in_order && 1 < input->ppn);
        return;
    }
    for (int i = 0; i < count; ++i) {
        if (!is_alike(list->what, i)) {
            params.ibalg = params.iralg = trees[i].kind;
            add(list, params);
        }
    }
}

static void add_exchange(struct list *list, mca_coll_han_params_t params)
{
    const mca_coll_han_input_t *input = &list->what->input;

    add(list, params);
    if (mca_coll_han_is_alltoall(input->collective) && HAN_EAGER_SEGMENT < input->bytes) {
        params.ibs = params.irs = HAN_EAGER_SEGMENT;
        add(list, params);
    }
}

long mca_coll_han_candidates_make(const mca_coll_han_candidates_t *what, mca_coll_han_params_t **params)
{
    struct list list = { .what = what };

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); ++i) {
        mca_coll_han_params_t one = mca_coll_han_rule_default().params;

        one.algorithm = order[i];
        if (!mca_coll_han_fits(one.algorithm, &what->input)) {
            continue;
        }
        switch (one.algorithm) {
        case HAN_TREE:
            add_trees(&list, one, TREES_OF_TREE, what->input.bytes);
            break;
        case HAN_RING:
            add_trees(&list, one, TREES_OF_RING, what->input.bytes / (size_t) what->input.nodes);
            break;
        case HAN_GROUPS:
            add_groups(&list, one);
            break;
        case HAN_SIMPLE:
            add_simple(&list, one);
            break;
        case HAN_PIPELINE:
        case HAN_UP_ALLREDUCE:
            add_pipelined(&list, one);
            break;
        case HAN_CHAIN:
            add_scans(&list, one, true);
            break;
        case HAN_LEADERS:
            add_leaders(&list, one);
            break;
        case HAN_EXCHANGE:
            add_exchange(&list, one);
            break;
        default:
            add(&list, one);
        }
    }
    if (list.short_of_memory) {
        free(list.params);
        return -1;
    }
    *params = list.params;
    return list.count;
}

/* -- as text -- */

static void append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char *text, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + used, HAN_CANDIDATE_TEXT - used, format, arguments);
    va_end(arguments);
}

char *mca_coll_han_candidate_text(mca_coll_han_collective_t collective, const mca_coll_han_params_t *params,
                                  char text[HAN_CANDIDATE_TEXT])
{
    const mca_coll_han_algorithm_id_t algorithm = params->algorithm;
    const bool levels = HAN_SIMPLE == algorithm || HAN_PIPELINE == algorithm || HAN_UP_ALLREDUCE == algorithm;
    const bool groups = HAN_GROUPS == algorithm;
    const bool tree_of_leaders = HAN_LEADERS == algorithm && mca_coll_han_leaders_have_tree(collective);
    const bool inner = groups || HAN_TREE == algorithm || HAN_RING == algorithm || HAN_UP_ALLREDUCE == algorithm;
    const char *up = mca_coll_han_goes_up(collective) ? "ir" : "ib";

    text[0] = '\0';
    append(text, "%s", mca_coll_han_algorithms[algorithm].name);
    if (levels && HAN_SIMPLE != algorithm) {
        append(text, " fs=%zu", params->fs);
    }
    if (levels) {
        append(text, " smod=%s", mca_coll_han_submodule_names[params->smod]);
    }
    if (levels && HAN_LIBNBC == params->imod && has_submodule_up(collective)) {
        append(text, " imod=%s", mca_coll_han_submodule_names[params->imod]);
        return text;
    }
    if ((levels && has_tree_of_levels(collective)) || inner || tree_of_leaders) {
        append(text, " %salg=%s", up, mca_coll_han_tree_names[params->ibalg]);
    }
    if (inner || HAN_CHAIN == algorithm || (HAN_LEADERS == algorithm && mca_coll_han_is_scan(collective))
        || (HAN_EXCHANGE == algorithm && 0 < params->ibs)) {
        append(text, " %ss=%zu", up, params->ibs);
    }
    if (HAN_UP_ALLREDUCE == algorithm || (inner && 1 < params->lanes)) {
        append(text, " lanes=%d", params->lanes);
    }
    if (groups) {
        append(text, " groups=%d", params->groups);
    }
    return text;
}

bool mca_coll_han_candidate_is(mca_coll_han_collective_t collective, const mca_coll_han_params_t *one,
                               const mca_coll_han_params_t *other)
{
    char text[HAN_CANDIDATE_TEXT], other_text[HAN_CANDIDATE_TEXT];

    return 0
           == strcmp(mca_coll_han_candidate_text(collective, one, text),
                     mca_coll_han_candidate_text(collective, other, other_text));
}

int mca_coll_han_candidate_read(mca_coll_han_collective_t collective, const char *text, mca_coll_han_params_t *params,
                                mca_coll_han_text_error_t *error)
{
    mca_coll_han_rules_t rules;
    char line[512];

    snprintf(line, sizeof(line), "han-rules %d\n%s nodes=* ppn=* bytes=* : algorithm=%.400s", HAN_RULES_VERSION,
             mca_coll_han_collective_names[collective], text);
    if (0 != mca_coll_han_rules_parse(&rules, "", line, strlen(line), error)) {
        return -1;
    }
    *params = rules.rules[0].params;
    params->why = NULL;
    mca_coll_han_rules_free(&rules);
    return 0;
}
