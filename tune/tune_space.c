/* SPDX-License-Identifier: BSD-3-Clause */
/* What is tried: all combinations of what a rule can say of algorithms that go level by level, and what the heuristics
 * leave out (HAN paper, section III-C). */
#include "tune.h"

#include "common/tool_random.h"

#include <stdlib.h>
#include <string.h>

/* The algorithms of a collective, and which parameters of adapt they have. */
enum { DOWN = 1, UP = 2, NO_TREE = 4, NOT_CUT = 8 };

static const struct row {
    mca_coll_han_collective_t collective;
    mca_coll_han_algorithm_id_t algorithm;
    int has;
} rows[] = {
    { HAN_BCAST, HAN_PIPELINE, DOWN },
    { HAN_REDUCE, HAN_PIPELINE, UP },
    { HAN_ALLREDUCE, HAN_PIPELINE, DOWN | UP },
    { HAN_ALLREDUCE, HAN_UP_ALLREDUCE, UP | NO_TREE },
    { HAN_BARRIER, HAN_SIMPLE, NO_TREE | NOT_CUT },
};
enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static const struct row *row_of(const struct tune_config *config)
{
    static const struct row other = { .has = NO_TREE | NOT_CUT };

    for (int i = 0; i < ROW_COUNT; ++i) {
        if (rows[i].collective == config->collective && rows[i].algorithm == config->params.algorithm) {
            return &rows[i];
        }
    }
    return &other;
}

int tune_function_place(struct tune_function function)
{
    return (HAN_NONBLOCKING == function.form ? HAN_COLLECTIVE_COUNT : 0) + (int) function.collective;
}

struct tune_function tune_function_at(int place)
{
    return (struct tune_function){ .collective = (mca_coll_han_collective_t) (place % HAN_COLLECTIVE_COUNT),
                                   .form = place < HAN_COLLECTIVE_COUNT ? HAN_BLOCKING : HAN_NONBLOCKING };
}

void tune_order(struct tune_function function, size_t bytes, int round, long seed, long *order, long count)
{
    uint64_t lot = ((uint64_t) bytes << 16) + ((uint64_t) tune_function_place(function) << 10) + (uint64_t) round
                   + (uint64_t) seed * UINT64_C(0x9E3779B97F4A7C15);

    tool_shuffle(order, count, &lot);
}

bool tune_function_is(struct tune_function one, struct tune_function other)
{
    return one.collective == other.collective && one.form == other.form;
}

const char *tune_function_name(struct tune_function function, char name[TUNE_FUNCTION_NAME])
{
    snprintf(name, TUNE_FUNCTION_NAME, "%s%s", HAN_NONBLOCKING == function.form ? "i" : "",
             mca_coll_han_collective_names[function.collective]);
    return name;
}

bool tune_function_find(const char *name, struct tune_function *function)
{
    for (int place = 0; place < TUNE_FUNCTION_COUNT; ++place) {
        char own[TUNE_FUNCTION_NAME];

        *function = tune_function_at(place);
        if (0 == strcmp(name, tune_function_name(*function, own))) {
            return true;
        }
    }
    return false;
}

bool tune_is_same(const mca_coll_han_input_t *input, const mca_coll_han_params_t *one,
                  const mca_coll_han_params_t *other)
{
    const mca_coll_han_params_t *both[] = { one, other };
    char texts[2][HAN_RULES_TEXT];

    for (int i = 0; i < 2; ++i) {
        const mca_coll_han_params_t params = mca_coll_han_decide(input, both[i], &mca_coll_han_unset);

        mca_coll_han_params_format(&params, texts[i], sizeof(texts[i]));
    }
    return 0 == strcmp(texts[0], texts[1]);
}

int tune_nearest(const mca_coll_han_rules_t *rules, const mca_coll_han_input_t *input,
                 const mca_coll_han_rule_t **nearest)
{
    mca_coll_han_lookup_t lookup = { .made = false };

    if (0 != mca_coll_han_lookup_make(&lookup, rules, input)) {
        return -1;
    }
    *nearest = mca_coll_han_lookup_find(&lookup, input->bytes);
    mca_coll_han_lookup_free(&lookup);
    return 0;
}

bool tune_knows_bytes(mca_coll_han_collective_t collective)
{
    return HAN_ALLTOALLV != collective && !mca_coll_han_root_alone_knows(collective);
}

mca_coll_han_input_t tune_known(mca_coll_han_input_t input)
{
    input.bytes = tune_knows_bytes(input.collective) ? input.bytes : 0;
    return input;
}

bool tune_space_has(mca_coll_han_collective_t collective)
{
    for (int i = 0; i < ROW_COUNT; ++i) {
        if (collective == rows[i].collective) {
            return true;
        }
    }
    return false;
}

/* ---- heuristics ---- */

static bool is_chain(const mca_coll_han_params_t *params)
{
    return ADAPT_TREE_CHAIN == params->ibalg || ADAPT_TREE_PIPELINE == params->ibalg;
}

/* Pieces of the longest message that follow one another along a tree. */
static size_t pieces(const struct tune_space *space, const mca_coll_han_params_t *params)
{
    const size_t piece = 0 < params->ibs && params->ibs < params->fs ? params->ibs : params->fs;

    return space->most_bytes / (0 == piece ? 1 : piece);
}

static bool few_for_chain(const struct tune_space *space, const struct tune_config *config)
{
    return HAN_ADAPT == config->params.imod && is_chain(&config->params)
           && pieces(space, &config->params) < 2 * (size_t) space->nodes;
}

static bool long_for_linear(const struct tune_space *space, const struct tune_config *config)
{
    return HAN_ADAPT == config->params.imod && ADAPT_TREE_LINEAR == config->params.ibalg && 2 < space->nodes
           && 0 == (NO_TREE & row_of(config)->has) && 16384 < config->params.fs;
}

static bool long_for_libnbc(const struct tune_space *space, const struct tune_config *config)
{
    (void) space;
    return HAN_LIBNBC == config->params.imod && 65536 < config->params.fs;
}

static bool has_low(const struct tune_space *space, mca_coll_han_submodule_t low)
{
    for (int i = 0; i < space->low_count; ++i) {
        if (low == space->lows[i]) {
            return true;
        }
    }
    return false;
}

static bool other_than_solo(const struct tune_space *space, const struct tune_config *config)
{
    return HAN_SOLO != config->params.smod && has_low(space, HAN_SOLO);
}

static bool basic_beside_tuned(const struct tune_space *space, const struct tune_config *config)
{
    return HAN_BASIC == config->params.smod && has_low(space, HAN_TUNED);
}

static bool long_for_sm(const struct tune_space *space, const struct tune_config *config)
{
    return HAN_SM == config->params.smod && has_low(space, HAN_TUNED) && 512 << 10 <= config->params.fs;
}

static bool cut_twice(const struct tune_space *space, const struct tune_config *config)
{
    (void) space;
    return 0 < config->params.ibs && 4 * config->params.ibs > config->params.fs;
}

static const struct {
    const char *sentence;
    bool (*excludes)(const struct tune_space *space, const struct tune_config *config);
} heuristics[] = {
    { "inside a node solo alone, where it is there: the others are slower, or no faster, for any segment",
      other_than_solo },
    { "sm only for segments below 512K, where there is tuned (HAN paper)", long_for_sm },
    { "basic not where there is tuned, which has basic's algorithms and more", basic_beside_tuned },
    { "chain and pipeline not where the longest message has fewer pieces than two for each node (HAN paper)",
      few_for_chain },
    { "linear not for segments above 16K, with more than two nodes: the root sends all", long_for_linear },
    { "libnbc not for segments above 64K: it does not cut them", long_for_libnbc },
    { "inner segments not where a segment has fewer than four", cut_twice },
};
enum { HEURISTIC_COUNT = sizeof(heuristics) / sizeof(heuristics[0]) };

void tune_heuristics_print(FILE *file)
{
    for (int i = 0; i < HEURISTIC_COUNT; ++i) {
        fprintf(file, "  %s\n", heuristics[i].sentence);
    }
}

static bool excluded(const struct tune_space *space, const struct tune_config *config)
{
    for (int i = 0; space->heuristics && i < HEURISTIC_COUNT; ++i) {
        if (heuristics[i].excludes(space, config)) {
            return true;
        }
    }
    return false;
}

/* ---- combinations ---- */

struct list {
    const struct tune_space *space;
    struct tune_config *configs;
    long count, room;
};

static int add(struct list *list, const struct tune_config *config)
{
    if (excluded(list->space, config)) {
        return 0;
    }
    if (list->count == list->room) {
        const long room = 0 == list->room ? 256 : 2 * list->room;
        struct tune_config *configs = realloc(list->configs, (size_t) room * sizeof(*configs));

        if (NULL == configs) {
            return -1;
        }
        list->configs = configs;
        list->room = room;
    }
    list->configs[list->count++] = *config;
    return 0;
}

static int add_inner(struct list *list, const struct row *row, struct tune_config config)
{
    for (int i = 0; i < list->space->inner_count; ++i) {
        const size_t inner = list->space->inner[i];

        if (0 != inner && (inner >= config.params.fs || 0 != (NOT_CUT & row->has))) {
            continue;
        }
        config.params.ibs = config.params.irs = inner;
        if (0 != add(list, &config)) {
            return -1;
        }
    }
    return 0;
}

static int add_up(struct list *list, const struct row *row, struct tune_config config)
{
    if (HAN_ADAPT != config.params.imod) {
        return add(list, &config);
    }
    if (0 != (NO_TREE & row->has)) {
        return add_inner(list, row, config);
    }
    /* Reduce and broadcast of an allreduce along the same tree, from opposite ends (HAN paper, section III-B). */
    for (int i = 0; i < list->space->tree_count; ++i) {
        config.params.ibalg = config.params.iralg = list->space->trees[i];
        if (0 != add_inner(list, row, config)) {
            return -1;
        }
    }
    return 0;
}

static int add_segment(struct list *list, const struct row *row, size_t fs)
{
    const struct tune_space *space = list->space;
    struct tune_config config = {
        .collective = row->collective,
        .params = { .algorithm = row->algorithm,
                    .fs = fs,
                    .depth = 4,
                    .ibalg = ADAPT_TREE_LINEAR,
                    .iralg = ADAPT_TREE_LINEAR,
                    .lanes = 1 },
    };

    for (int up = 0; up < space->up_count; ++up) {
        for (int low = 0; low < (1 < space->ppn ? space->low_count : 1); ++low) {
            config.params.imod = space->ups[up];
            config.params.smod = space->lows[low];
            if (0 != add_up(list, row, config)) {
                return -1;
            }
        }
    }
    return 0;
}

static int add_segments(struct list *list, const struct row *row)
{
    const struct tune_space *space = list->space;
    int rc = 0;

    if (0 != (NOT_CUT & row->has)) {
        return add_segment(list, row, 0);
    }
    for (size_t bytes = space->least_bytes; bytes < space->least_segment && bytes <= space->most_bytes && 0 == rc;
         bytes *= 2) {
        rc = add_segment(list, row, bytes);
    }
    for (size_t fs = space->least_segment; fs <= space->most_segment && fs <= space->most_bytes && 0 == rc; fs *= 2) {
        rc = add_segment(list, row, fs);
    }
    return rc;
}

long tune_space_make(const struct tune_space *space, mca_coll_han_collective_t collective, struct tune_config **configs)
{
    struct list list = { .space = space };

    for (int i = 0; i < ROW_COUNT; ++i) {
        if (collective == rows[i].collective && 0 != add_segments(&list, &rows[i])) {
            free(list.configs);
            return -1;
        }
    }
    *configs = list.configs;
    return list.count;
}

bool tune_space_serves(const struct tune_space *space, const struct tune_config *config, size_t bytes)
{
    if (0 != (NOT_CUT & row_of(config)->has)) {
        return true;
    }
    return bytes < space->least_segment ? config->params.fs == bytes
                                        : config->params.fs <= bytes && config->params.fs >= space->least_segment;
}

/* ---- texts ---- */

void tune_bytes_text(size_t bytes, char text[32])
{
    static const char units[] = "KMG";
    int unit = -1;

    while (0 != bytes && 0 == bytes % 1024 && 2 > unit) {
        bytes /= 1024;
        ++unit;
    }
    snprintf(text, 32, -1 == unit ? "%zu" : "%zu%c", bytes, units[-1 == unit ? 0 : unit]);
}

void tune_config_text(const struct tune_config *config, char text[TUNE_TEXT])
{
    const mca_coll_han_params_t *params = &config->params;
    const int has = row_of(config)->has;
    char number[32];
    size_t used;

    used = (size_t) snprintf(text, TUNE_TEXT, "algorithm=%s", mca_coll_han_algorithms[params->algorithm].name);
    if (0 == (NOT_CUT & has)) {
        tune_bytes_text(params->fs, number);
        used += (size_t) snprintf(text + used, TUNE_TEXT - used, " fs=%s", number);
    }
    used += (size_t) snprintf(text + used, TUNE_TEXT - used, " imod=%s smod=%s",
                              mca_coll_han_submodule_names[params->imod], mca_coll_han_submodule_names[params->smod]);
    if (HAN_ADAPT != params->imod || 0 != (NOT_CUT & has)) {
        return;
    }
    /* Who has both has the same. */
    if (0 == (NO_TREE & has)) {
        used += (size_t) snprintf(text + used, TUNE_TEXT - used, " %s=%s", 0 != (DOWN & has) ? "ibalg" : "iralg",
                                  mca_coll_han_tree_names[params->ibalg]);
    }
    tune_bytes_text(params->ibs, number);
    snprintf(text + used, TUNE_TEXT - used, " %s=%s", 0 != (DOWN & has) ? "ibs" : "irs", number);
}
