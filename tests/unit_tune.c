/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuner's cost model and statistics, its search space, its tables, and its file of measurements. */
#include "../coll_han_candidates.h"
#include "../coll_han_rules.h"
#include "../common/tool_version.h"
#include "../tune/tune.h"
#include "../tune/tune_likely.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tune_series series_of(const double *seconds, size_t count)
{
    struct tune_series series = { .samples = NULL };

    for (size_t i = 0; i < count; ++i) {
        assert_int_equal(0, tune_series_add(&series, seconds[i]));
    }
    return series;
}

#define SERIES(...) series_of((const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

static void near(double expected, double value)
{
    if (!(fabs(expected - value) <= 1e-9 * fabs(expected) + 1e-12)) {
        fail_msg("%.12g is not %.12g", value, expected);
    }
}

/* ---- statistics ---- */

static void the_median_does_not_care_for_outliers(void **state)
{
    struct tune_series odd = SERIES(3, 1, 100), even = SERIES(4, 1, 2, 90), none = { .samples = NULL };

    (void) state;
    near(3, tune_series_median(&odd));
    near(3, tune_series_median(&even));
    assert_true(isnan(tune_series_median(&none)));
    assert_int_equal(1, tune_series_outliers(&odd));
    assert_int_equal(1, tune_series_outliers(&even));
    tune_series_free(&odd);
    tune_series_free(&even);
}

static void the_spread_is_that_of_the_samples_until_there_are_many(void **state)
{
    struct tune_series one = SERIES(1), three = SERIES(9, 10, 12), many = { .samples = NULL };

    (void) state;
    assert_true(isinf(tune_series_spread(&one)));
    near(0.15, tune_series_spread(&three));
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(0, tune_series_add(&many, 0 == i % 10 ? 1000 : 100 + i % 3));
    }
    assert_true(0.02 > tune_series_spread(&many));
    tune_series_free(&one);
    tune_series_free(&three);
    tune_series_free(&many);
}

/* ---- the model ---- */

/* Two segments under way come out together: the second of a pair takes no time. */
static void the_settled_cost_is_that_of_whole_bunches(void **state)
{
    static const double pairs[] = { 1, 1, 9, 0, 4, 0, 4, 0, 4, 0 };
    static const double falls[] = { 1, 1, 9, 0, 8, 0, 4, 0, 0, 0 };
    bool settled;

    (void) state;
    near(2, tune_model_steady(pairs, 10, 2, 2, &settled));
    assert_true(settled);
    near(2, tune_model_steady(pairs, 9, 2, 2, &settled)); /* what is left of a bunch does not count */
    near(2, tune_model_steady(falls, 10, 2, 2, &settled));
    assert_false(settled);
    assert_true(0 > tune_model_steady(pairs, 5, 2, 2, &settled));
    assert_true(0 > tune_model_steady(pairs, 1, 2, 2, &settled));
    assert_true(settled);
}

/* An ideal pipeline: S stages that cost c each take (u + S - 1) c. */
static void an_ideal_pipeline_is_estimated_exactly(void **state)
{
    (void) state;
    for (int stages = 2; stages <= 4; ++stages) {
        for (size_t measured = 2; measured < 20; ++measured) {
            struct tune_series many = SERIES((double) (measured + (size_t) stages - 1) * 5);
            const double first = stages * 5.0, step = tune_model_step(first, &many, measured);

            for (size_t u = 1; u < 100; ++u) {
                near((double) (u + (size_t) stages - 1) * 5, tune_model_estimate(first, step, u, 4, NAN));
            }
            tune_series_free(&many);
        }
    }
}

static void what_was_not_measured_is_not_estimated(void **state)
{
    struct tune_series one = SERIES(1), none = { .samples = NULL };

    (void) state;
    near(1, tune_model_estimate(1, NAN, 1, 4, NAN));
    assert_true(isnan(tune_model_estimate(1, NAN, 2, 4, 1)));
    assert_true(isnan(tune_model_estimate(NAN, 1, 2, 4, 1)));
    assert_true(isnan(tune_model_step(1, &none, 2)));
    assert_true(isnan(tune_model_step(NAN, &one, 2)));
    tune_series_free(&one);
}

/* Three under way cost 5 each, those that follow 2: known from a run of two segments and a slope. */
static void a_slope_from_elsewhere_counts_for_a_full_pipeline(void **state)
{
    struct tune_series two = SERIES(11);

    (void) state;
    near(5, tune_model_step(6, &two, 2));
    near(6, tune_model_estimate(6, 5, 1, 3, 2));
    near(16, tune_model_estimate(6, 5, 3, 3, 2));
    near(18, tune_model_estimate(6, 5, 4, 3, 2));
    near(30, tune_model_estimate(6, 5, 10, 3, 2));
    near(51, tune_model_estimate(6, 5, 10, 3, NAN));
    tune_series_free(&two);
}

static void tasks_are_enough_for_two_bunches_in_a_full_pipeline(void **state)
{
    (void) state;
    for (size_t depth = 1; depth <= 12; ++depth) {
        for (size_t lag = 1; lag < 30; ++lag) {
            const size_t segments = tune_model_segments(lag, depth);

            assert_int_equal(0, segments % depth);
            assert_in_range(segments, lag + 2 * depth, lag + 3 * depth - 1);
        }
    }
}

/* ---- the search space ---- */

static const struct tune_space everything = {
    .least_bytes = 4 << 10,
    .most_bytes = 4 << 20,
    .least_segment = 16 << 10,
    .most_segment = 1 << 20,
    .inner = { 0, 16 << 10 },
    .inner_count = 2,
    .trees = { ADAPT_TREE_CHAIN, ADAPT_TREE_BINARY, ADAPT_TREE_LINEAR },
    .tree_count = 3,
    .ups = { HAN_LIBNBC, HAN_ADAPT },
    .up_count = 2,
    .lows = { HAN_TUNED, HAN_SM, HAN_BASIC },
    .low_count = 3,
    .nodes = 4,
    .ppn = 4,
};

static const mca_coll_han_collective_t tunable[] = { HAN_BCAST, HAN_REDUCE, HAN_ALLREDUCE, HAN_BARRIER };
enum { TUNABLE = sizeof(tunable) / sizeof(tunable[0]) };

typedef void (*look_fn_t)(const struct tune_space *space, const struct tune_config *configs, long count);

static void for_each_space(look_fn_t look)
{
    for (int i = 0; i < 2 * TUNABLE; ++i) {
        struct tune_space space = everything;
        struct tune_config *configs;
        long count;

        space.heuristics = 0 != i % 2;
        assert_true(tune_space_has(tunable[i / 2]));
        count = tune_space_make(&space, tunable[i / 2], &configs);
        assert_true(0 < count);
        look(&space, configs, count);
        free(configs);
    }
    assert_false(tune_space_has(HAN_ALLTOALL));
}

static void look_at_texts(const struct tune_space *space, const struct tune_config *configs, long count)
{
    (void) space;
    for (long i = 0; i < count; ++i) {
        char mine[TUNE_TEXT], other[TUNE_TEXT];

        tune_config_text(&configs[i], mine);
        for (long j = 0; j < i; ++j) {
            tune_config_text(&configs[j], other);
            assert_string_not_equal(mine, other);
        }
    }
}

static void no_configuration_is_there_twice(void **state)
{
    (void) state;
    for_each_space(look_at_texts);
}

/* A table with one rule; its parameters as text. */
static mca_coll_han_rules_t rule_of(mca_coll_han_collective_t collective, const char *parameters)
{
    char line[2 * TUNE_TEXT];
    mca_coll_han_rules_error_t error;
    mca_coll_han_rules_t rules;

    snprintf(line, sizeof(line), "han-rules 1\n%s nodes=4 ppn=4 bytes=* : %s\n",
             mca_coll_han_collective_names[collective], parameters);
    if (0 != mca_coll_han_rules_parse(&rules, "test", line, strlen(line), &error)) {
        fail_msg("%s: %s", parameters, error.what);
    }
    return rules;
}

/* What HAN reads is what was measured. */
static void look_at_rules(const struct tune_space *space, const struct tune_config *configs, long count)
{
    (void) space;
    for (long i = 0; i < count; ++i) {
        const mca_coll_han_params_t *mine = &configs[i].params, *read;
        const bool adapt = HAN_ADAPT == mine->imod, cut = HAN_BARRIER != configs[i].collective;
        mca_coll_han_rules_t rules;
        char text[TUNE_TEXT];

        tune_config_text(&configs[i], text);
        rules = rule_of(configs[i].collective, text);
        read = &rules.rules[0].params;
        assert_int_equal(mine->algorithm, read->algorithm);
        assert_int_equal(mine->imod, read->imod);
        assert_int_equal(mine->smod, read->smod);
        assert_int_equal(mine->depth, read->depth);
        assert_true(!cut || mine->fs == read->fs);
        assert_true(!adapt || (mine->ibalg == read->ibalg && mine->iralg == read->iralg));
        assert_true(!adapt || !cut || (mine->ibs == read->ibs && mine->irs == read->irs));
        mca_coll_han_rules_free(&rules);
    }
}

static void every_configuration_is_a_rule(void **state)
{
    (void) state;
    for_each_space(look_at_rules);
}

static void look_at_messages(const struct tune_space *space, const struct tune_config *configs, long count)
{
    for (size_t bytes = space->least_bytes; bytes <= space->most_bytes; bytes *= 2) {
        long serving = 0;

        for (long i = 0; i < count; ++i) {
            if (tune_space_serves(space, &configs[i], bytes)) {
                assert_true(configs[i].params.fs <= bytes);
                ++serving;
            }
        }
        assert_true(0 < serving);
    }
}

static void every_message_can_be_done(void **state)
{
    (void) state;
    for_each_space(look_at_messages);
}

static void heuristics_only_leave_out(void **state)
{
    (void) state;
    for (int i = 0; i < TUNABLE; ++i) {
        struct tune_space space = everything;
        struct tune_config *all, *some;
        const long count = tune_space_make(&space, tunable[i], &all);
        long fewer, found = 0;

        space.heuristics = true;
        fewer = tune_space_make(&space, tunable[i], &some);
        assert_true(fewer < count);
        for (long s = 0; s < fewer; ++s) {
            char mine[TUNE_TEXT], other[TUNE_TEXT];

            tune_config_text(&some[s], mine);
            for (long a = 0; a < count; ++a) {
                tune_config_text(&all[a], other);
                found += 0 == strcmp(mine, other) ? 1 : 0;
            }
        }
        assert_int_equal(fewer, found);
        free(all);
        free(some);
    }
}

static void bytes_are_written_as_people_do(void **state)
{
    static const struct {
        size_t bytes;
        const char *text;
    } rows[] = { { 0, "0" },
                 { 1, "1" },
                 { 1023, "1023" },
                 { 1024, "1K" },
                 { 65536, "64K" },
                 { 1 << 20, "1M" },
                 { (1 << 20) + 1024, "1025K" },
                 { (size_t) 4 << 30, "4G" } };
    char text[32];

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        tune_bytes_text(rows[i].bytes, text);
        assert_string_equal(rows[i].text, text);
    }
}

/* ---- two clocks ---- */

#define TIMES(single, row)                                                                                             \
    {                                                                                                                  \
        .seconds = { single, row }                                                                                     \
    }

static void both_clocks_judge(void **state)
{
    static const struct {
        struct tune_times times;
        bool beats;
    } cases[] = {
        { TIMES(90, 90), true },   { TIMES(98, 98), false }, /* hardly */
        { TIMES(50, 104), true },                            /* hardly slower in a row */
        { TIMES(96, 100), true },                            /* and no slower by the other clock */
        { TIMES(104, 96), false },                           /* each is behind by as much */
        { TIMES(50, 106), false }, { TIMES(106, 50), false }, { TIMES(100, 100), false },
    };
    const struct tune_times own = TIMES(100, 100), uneven = TIMES(50, 200);
    struct tune_times both = uneven, single = uneven, row = uneven;

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        assert_int_equal(cases[i].beats, tune_judge_beats(&cases[i].times, &own));
    }
    assert_true(fabs(tune_judge_mean(&uneven) - 100) < 1e-9);
    tune_judge_by(&both, TUNE_CLOCK_COUNT);
    tune_judge_by(&single, TUNE_SINGLE);
    tune_judge_by(&row, TUNE_ROW);
    assert_memory_equal(&uneven, &both, sizeof(both));
    assert_true(tune_judge_beats(&single, &own) && fabs(tune_judge_mean(&single) - 50) < 1e-9);
    assert_true(tune_judge_beats(&own, &row) && fabs(tune_judge_mean(&row) - 200) < 1e-9);
}

/* Timed so often, always the same. */
#define RECORD(often, single, row)                                                                                     \
    {                                                                                                                  \
        .median = TIMES(single, row), .least = TIMES(single, row), .most = TIMES(single, row), .rounds = often,        \
        .cost = (single) + (row)                                                                                       \
    }

/* As much as a tenth more, or less. */
#define NOISY(often, single, row)                                                                                      \
    {                                                                                                                  \
        .median = TIMES(single, row), .least = TIMES(0.9 * (single), 0.9 * (row)),                                     \
        .most = TIMES(1.1 * (single), 1.1 * (row)), .rounds = often, .cost = (single) + (row)                          \
    }

/* A rule may say more than a candidate's text. */
static void ways_are_the_same_where_all_parameters_are(void **state)
{
    static const struct {
        const char *one, *other;
        bool same;
    } rows[] = { { "pipeline fs=8192 smod=solo ibalg=linear", "pipeline fs=8K smod=solo ibalg=linear", true },
                 { "pipeline fs=8192 smod=solo", "pipeline fs=8192 smod=solo imod=libnbc", false },
                 { "pipeline fs=8192 smod=solo", "pipeline fs=8192 smod=solo depth=1", false },
                 { "tree ibalg=linear", "tree ibalg=linear sbalg=binomial", false } };
    mca_coll_han_input_t input = mca_coll_han_input_good(HAN_BCAST);

    (void) state;
    input.bytes = 64 << 10;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); ++row) {
        mca_coll_han_params_t one, other;
        mca_coll_han_text_error_t error;

        assert_int_equal(0, mca_coll_han_candidate_read(HAN_BCAST, rows[row].one, &one, &error));
        assert_int_equal(0, mca_coll_han_candidate_read(HAN_BCAST, rows[row].other, &other, &error));
        assert_int_equal(rows[row].same, tune_is_same(&input, &one, &other));
    }
}

/* The least behind of all is no rule where it is slower than HAN's own choice by a clock: then the next one may be. */
static void the_foremost_beats_the_own_choice_where_anybody_does(void **state)
{
    struct tune_record records[]
        = { RECORD(1, 110, 160), RECORD(1, 100, 150), RECORD(1, 106, 90), RECORD(1, 101, 106), RECORD(1, 200, 80) };
    enum { FALLBACK, OWN, SLOWER_BY_A_CLOCK, PAYS, COUNT = sizeof(records) / sizeof(records[0]) };

    (void) state;
    records[OWN].own = true;
    assert_int_equal(SLOWER_BY_A_CLOCK, tune_judge_winner(records, COUNT));
    assert_false(tune_judge_pays(records, COUNT, SLOWER_BY_A_CLOCK));
    assert_false(tune_judge_pays(records, COUNT, FALLBACK));
    assert_false(tune_judge_pays(records, COUNT, OWN));
    assert_true(tune_judge_pays(records, COUNT, PAYS));
    assert_int_equal(PAYS, tune_judge_foremost(records, COUNT, OWN));
    /* Nobody else pays: the least behind, and behind that the fallback, which may always win. */
    assert_int_equal(SLOWER_BY_A_CLOCK, tune_judge_foremost(records, COUNT, PAYS));
    records[PAYS].wrong = true;
    assert_int_equal(FALLBACK, tune_judge_foremost(records, COUNT, SLOWER_BY_A_CLOCK));
    /* Slower than the fallback by a clock, but HAN's own choice is slower still. */
    records[OWN].median = (struct tune_times){ { 120, 200 } };
    records[SLOWER_BY_A_CLOCK].median = (struct tune_times){ { 117, 90 } };
    assert_int_equal(SLOWER_BY_A_CLOCK, tune_judge_winner(records, COUNT));
    assert_true(tune_judge_pays(records, COUNT, SLOWER_BY_A_CLOCK));
    records[SLOWER_BY_A_CLOCK].median = (struct tune_times){ { 121, 90 } };
    assert_int_equal(FALLBACK, tune_judge_winner(records, COUNT));
    /* HAN's own choice is the fallback, and there is nothing else. */
    records[FALLBACK].own = true;
    records[OWN].own = false;
    assert_int_equal(FALLBACK, tune_judge_foremost(records, 1, FALLBACK));
}

/* The one is ahead by one clock and the other by the other: what is slower than neither need not be there. */
static void each_may_be_slower_than_one_of_two(void **state)
{
    struct tune_record records[] = { RECORD(1, 100, 150), RECORD(1, 140, 100), RECORD(1, 104, 140), RECORD(1, 80, 80) };
    enum { OWN = 1, COUNT = sizeof(records) / sizeof(records[0]) };

    (void) state;
    records[OWN].own = true;
    assert_true(tune_judge_is_torn(records, 2));
    assert_true(tune_judge_is_torn(records, 3));
    assert_false(tune_judge_is_torn(records, COUNT));
    records[3].wrong = true;
    assert_true(tune_judge_is_torn(records, COUNT));
    /* HAN's own choice is the fallback. */
    records[OWN].own = false;
    records[0].own = true;
    assert_false(tune_judge_is_torn(records, 2));
}

static struct tune_racer racer_of(size_t segment, double behind, bool nonblocking)
{
    struct tune_racer racer = { .behind = behind, .nonblocking = nonblocking };

    racer.params.algorithm = HAN_TREE;
    racer.params.lanes = 1;
    racer.params.ibs = racer.params.irs = segment;
    return racer;
}

static bool has(const struct tune_fastest *race, size_t segment)
{
    const struct tune_racer racer = racer_of(segment, 1, true);

    return tune_fastest_has(race, &racer.params);
}

static bool has_nonblocking(const struct tune_fastest *race, size_t segment)
{
    const struct tune_racer racer = racer_of(segment, 1, true);

    return tune_fastest_has_nonblocking(race, &racer.params);
}

enum { IN_TURN = 5 };

/* How often each of five is timed just before the second one, in five rounds of so many sizes. */
static void count_before(struct tune_function function, size_t sizes, int before[IN_TURN])
{
    enum { ROUNDS = 5 };

    for (size_t size = 0; size < sizes; ++size) {
        for (int round = 0; round < ROUNDS; ++round) {
            long order[IN_TURN];

            tune_order(function, size * 1024, round, 0, order, IN_TURN);
            for (int k = 1; k < IN_TURN; ++k) {
                before[order[k - 1]] += 1 == order[k];
            }
        }
    }
}

/* In a fifth of all rounds the second one is the first in turn; else each other one is as often before it. */
static void are_as_often(const int before[IN_TURN], size_t calls)
{
    for (int i = 0; i < IN_TURN; ++i) {
        assert_in_range(before[i], 1 == i ? 0 : calls * 3 / 4, 1 == i ? 0 : calls * 5 / 4);
    }
}

static void neighbours_are_drawn_by_lot(void **state)
{
    enum { SIZES = 200, FEW_SIZES = 7 };
    int of_sizes[IN_TURN] = { 0 }, of_functions[IN_TURN] = { 0 };

    (void) state;
    count_before(tune_function_at(0), SIZES, of_sizes);
    are_as_often(of_sizes, SIZES);
    for (int place = 0; place < TUNE_FUNCTION_COUNT; ++place) {
        count_before(tune_function_at(place), FEW_SIZES, of_functions);
    }
    are_as_often(of_functions, FEW_SIZES * TUNE_FUNCTION_COUNT);
}

/* Of five there are 120 orders. */
static void another_seed_draws_other_orders(void **state)
{
    enum { SIZES = 200, SEEDS = 3 };

    (void) state;
    for (long seed = 1; seed <= SEEDS; ++seed) {
        int alike = 0;

        for (size_t bytes = 0; bytes < SIZES; ++bytes) {
            long one[IN_TURN], other[IN_TURN];

            tune_order(tune_function_at(0), bytes, 0, 0, one, IN_TURN);
            tune_order(tune_function_at(0), bytes, 0, seed, other, IN_TURN);
            alike += 0 == memcmp(one, other, sizeof(one));
        }
        assert_in_range(alike, 0, SIZES / 20);
    }
}

/* Whatever the order in which they come, and however many. */
static void the_fastest_of_a_race_are_kept(void **state)
{
    struct tune_fastest race = { .count = 0 };

    (void) state;
    for (size_t i = 0; i < 40; ++i) {
        const size_t segment = 7 * (i + 1) % 40; /* each from 0 to 39 once */
        const struct tune_racer racer = racer_of(segment, 1 + 0.01 * (double) segment, 0 == segment % 2);

        tune_fastest_add(&race, &racer);
    }
    assert_int_equal(TUNE_FASTEST, race.count);
    for (long i = 0; i < race.count; ++i) {
        assert_int_equal(i, race.racers[i].params.ibs);
    }
    assert_true(has(&race, 0) && has(&race, 7) && !has(&race, 8) && !has(&race, 100));
    assert_true(has_nonblocking(&race, 0) && has_nonblocking(&race, 6));
    assert_true(!has_nonblocking(&race, 1) && !has_nonblocking(&race, 8));
}

static void who_is_far_behind_is_not_likely(void **state)
{
    struct tune_fastest race = { .count = 0 };
    struct tune_racer racer = racer_of(1, 1.2, true);

    (void) state;
    tune_fastest_add(&race, &racer);
    racer = racer_of(2, 1.3, true);
    tune_fastest_add(&race, &racer);
    assert_true(has(&race, 1) && !has(&race, 2));
    assert_true(has_nonblocking(&race, 2)); /* of four, however far */
}

static void the_race_of_the_nearest_size_counts(void **state)
{
    const struct tune_function bcast = { HAN_BCAST, HAN_BLOCKING }, other = { HAN_BCAST, HAN_NONBLOCKING };
    const struct tune_fastest races[] = { { .function = bcast, .bytes = 8 },
                                          { .function = other, .bytes = 60 },
                                          { .function = bcast, .bytes = 512 } };

    (void) state;
    assert_ptr_equal(&races[0], tune_fastest_nearest(races, 3, bcast, 64));
    assert_ptr_equal(&races[2], tune_fastest_nearest(races, 3, bcast, 128));
    assert_ptr_equal(&races[1], tune_fastest_nearest(races, 3, other, 1 << 20));
    assert_null(tune_fastest_nearest(races, 3, (struct tune_function){ HAN_REDUCE, HAN_BLOCKING }, 8));
}

/* Who was dropped after one round is known too little. */
static void who_was_dropped_may_be_the_next_best(void **state)
{
    struct tune_record records[] = { RECORD(5, 100, 100), RECORD(5, 90, 90), RECORD(3, 60, 60), RECORD(1, 50, 50) };

    (void) state;
    records[1].own = true;
    records[2].out = records[3].out = true;
    assert_int_equal(0, tune_judge_foremost(records, 4, 1));
    tune_judge_take_back(records, 4);
    assert_int_equal(2, tune_judge_foremost(records, 4, 1));
}

static void the_winner_is_least_behind_and_not_slower_than_the_fallback(void **state)
{
    struct tune_record alone[] = { RECORD(1, 100, 100) };
    struct tune_record slower[] = { RECORD(1, 100, 100), RECORD(1, 10, 106), RECORD(1, 106, 10) };
    struct tune_record middle[]
        = { RECORD(1, 100, 100), RECORD(1, 20, 90), RECORD(1, 40, 40), RECORD(1, 90, 20), RECORD(1, 41, 40) };
    struct tune_record fallen[] = { RECORD(1, 100, 100), RECORD(1, 1, 1), RECORD(1, 80, 80) };
    struct tune_record best[] = { RECORD(1, 10, 10), RECORD(1, 20, 20) };

    (void) state;
    assert_int_equal(0, tune_judge_winner(alone, 1));
    assert_int_equal(0, tune_judge_winner(slower, 3));
    assert_int_equal(2, tune_judge_winner(middle, 5));
    assert_true(tune_judge_ties(middle, 5, 4, 2));
    assert_false(tune_judge_ties(middle, 5, 3, 2));
    fallen[1].wrong = true;
    assert_int_equal(2, tune_judge_winner(fallen, 3));
    fallen[1].wrong = false;
    fallen[1].out = true;
    assert_int_equal(2, tune_judge_winner(fallen, 3));
    assert_false(tune_judge_ties(fallen, 3, 1, 2));
    assert_int_equal(0, tune_judge_winner(best, 2));
    /* HAN's own choice wins like others, unless it is no candidate. */
    middle[2].own = true;
    assert_int_equal(2, tune_judge_winner(middle, 5));
    middle[2].guest = true;
    assert_int_equal(4, tune_judge_winner(middle, 5));
    middle[2].own = middle[2].guest = false;
    /* By the clock by which each is further behind the least of all: 90 of 20 and 20, and 40 of 20 and 20. */
    assert_true(fabs(tune_judge_over(middle, 5, 1, 2) - 90.0 / 40) < 1e-9);
    assert_true(fabs(tune_judge_over(middle, 5, 2, 1) - 40.0 / 90) < 1e-9);
    assert_true(fabs(tune_judge_over(middle, 5, 0, 0) - 1) < 1e-9);
}

/* Of records, which are out: as a number, the first one's bit the lowest. */
static unsigned outs(const struct tune_record *records, long count)
{
    unsigned bits = 0;

    for (long i = 0; i < count; ++i) {
        bits |= (unsigned) records[i].out << i;
    }
    return bits;
}

/* HAN's own choice is the last one, and no candidate. */
static void as_guest(struct tune_record *records, long count)
{
    records[count - 1].own = records[count - 1].guest = true;
}

/* Of five records, which are out after a round. */
static unsigned dropped(struct tune_record *records, bool by_both)
{
    if (!by_both) {
        as_guest(records, 5);
    }
    tune_judge_drop(records, 5, by_both);
    return outs(records, 5);
}

static void who_falls_behind_is_out(void **state)
{
    /* The fallback, three candidates, HAN's own choice. */
    struct tune_record brief[] = { RECORD(1, 1e-4, 1e-4), RECORD(1, 1e-4, 1e-4), RECORD(1, 9e-3, 1e-4),
                                   RECORD(1, 5e-4, 5e-4), RECORD(1, 1e-3, 1e-3) };
    struct tune_record lengthy[]
        = { RECORD(1, 0.9, 0.9), RECORD(1, 0.1, 0.1), RECORD(1, 0.25, 0.1), RECORD(1, 0.15, 0.1), RECORD(1, 0.9, 0.1) };
    struct tune_record twice[]
        = { RECORD(2, 3, 3), RECORD(2, 1, 1), RECORD(2, 1.04, 1), RECORD(2, 1.02, 1), RECORD(2, 1.4, 1.4) };
    struct tune_record again[]
        = { RECORD(3, 3, 3), RECORD(3, 1, 1), RECORD(3, 1.04, 1), RECORD(3, 1.02, 1), RECORD(3, 1.2, 1.2) };
    struct tune_record noisy[] = { NOISY(3, 3, 1), NOISY(3, 1, 1), NOISY(3, 1.2, 1), NOISY(3, 1.3, 1), NOISY(3, 3, 3) };
    struct tune_record later[] = { NOISY(3, 3, 1), NOISY(3, 1, 1), NOISY(3, 1.2, 1), NOISY(3, 1.3, 1), NOISY(3, 3, 3) };
    struct tune_record best[]
        = { RECORD(2, 1, 1), RECORD(2, 2, 2), RECORD(2, 1.01, 1), RECORD(2, 1, 3), RECORD(2, 1, 1) };
    struct tune_record both[]
        = { RECORD(2, 9, 9), RECORD(2, 2, 2), RECORD(2, 1.01, 1), RECORD(2, 1, 3), RECORD(2, 2, 2) };
    struct tune_record first[]
        = { RECORD(1, 9, 9), RECORD(1, 1, 1), RECORD(1, 4, 6), RECORD(1, 6, 6), RECORD(1, 6, 1) };

    (void) state;
    /* One round of short calls tells little: another process may have been there, but hardly twice. */
    assert_int_equal(1 << 4, dropped(brief, false));
    /* One of long calls does.  What is fast by one clock stays only if nobody may leave it out. */
    assert_int_equal(1 << 0 | 1 << 2, dropped(lengthy, false));
    /* Slower every time, by more than that it matters: two times may be by chance.  HAN's own choice is the measure,
     * and stays longer. */
    assert_int_equal(1 << 0, dropped(twice, false));
    assert_int_equal(1 << 0 | 1 << 2, dropped(again, false));
    /* Slower, not every time. */
    assert_int_equal(1 << 3 | 1 << 4, dropped(noisy, false));
    later[2].least.seconds[TUNE_SINGLE] = 1.3;
    later[3].least.seconds[TUNE_SINGLE] = 1.0;
    assert_int_equal(1 << 2 | 1 << 4, dropped(later, false));
    assert_int_equal(1 << 1 | 1 << 4, dropped(both, true));
    /* A disturbance of a whole round looks like that: what has been timed only once goes only where it is far behind.
     */
    assert_int_equal(1 << 3, dropped(first, true));
    assert_int_equal(1 << 1 | 1 << 3, dropped(best, false));
}

static void a_round_takes_no_longer_than_it_may(void **state)
{
    struct tune_record records[]
        = { RECORD(0, 9, 9), RECORD(0, 1, 2), RECORD(0, 3, 1), RECORD(0, 4, 4), RECORD(0, 1, 1), RECORD(0, 5, 5) };

    (void) state;
    as_guest(records, 6);
    tune_judge_fit(records, 6, 100, 1);
    assert_int_equal(0, outs(records, 6));
    tune_judge_fit(records, 6, 38, 1); /* of 45 */
    assert_int_equal(1 << 3, outs(records, 6));
    tune_judge_fit(records, 6, 1, 2);
    assert_int_equal(1 << 3 | 1 << 2, outs(records, 6));
    tune_judge_fit(records, 6, 1, 0);
    assert_int_equal(1 << 3 | 1 << 2 | 1 << 1 | 1 << 4, outs(records, 6));
    /* A candidate that is HAN's own choice stays, too. */
    for (int i = 0; i < 6; ++i) {
        records[i].out = false;
        records[i].own = 3 == i;
    }
    tune_judge_fit(records, 6, 1, 0);
    assert_int_equal(1 << 5 | 1 << 2 | 1 << 1 | 1 << 4, outs(records, 6));
}

static void a_race_is_over_when_more_rounds_tell_nothing(void **state)
{
    struct tune_record open[] = { RECORD(2, 9, 9), RECORD(2, 1, 1), RECORD(2, 1.2, 1), RECORD(2, 2, 2) };
    struct tune_record tie[] = { RECORD(2, 9, 9), RECORD(2, 1, 1), RECORD(2, 1.02, 1), RECORD(2, 2, 2) };
    struct tune_record hopeless[] = { RECORD(2, 9, 9), RECORD(2, 2, 2), RECORD(2, 1.9, 2.4), RECORD(2, 2, 2) };
    struct tune_record hope[] = { RECORD(2, 9, 9), NOISY(2, 2, 2), NOISY(2, 1.9, 2), RECORD(2, 2, 2) };
    struct tune_record close[] = { RECORD(2, 9, 9), RECORD(2, 1, 1), NOISY(2, 1.05, 1.05) };
    struct tune_record among[] = { RECORD(2, 9, 9), RECORD(2, 1, 1), RECORD(2, 1.9, 2), RECORD(2, 2, 2) };

    (void) state;
    as_guest(open, 4);
    as_guest(tie, 4);
    as_guest(hopeless, 4);
    as_guest(hope, 4);
    assert_false(tune_judge_is_over(open, 4));
    open[2].out = true;
    assert_true(tune_judge_is_over(open, 4));
    assert_true(tune_judge_is_over(tie, 4));
    assert_true(tune_judge_is_over(hopeless, 4));
    assert_false(tune_judge_is_over(hope, 4));
    /* HAN's own choice, a candidate, is no rival of itself. */
    among[1].own = true;
    assert_true(tune_judge_is_over(among, 4));
    among[1].own = false;
    among[2].own = true;
    assert_false(tune_judge_is_over(among, 4));
    /* The only one that is left besides may still beat it. */
    close[1].own = true;
    assert_false(tune_judge_is_over(close, 3));
}

/* ---- tables ---- */

/* What is best for sizes that were tuned; fs of 0: HAN's own choice is. */
struct best {
    mca_coll_han_collective_t collective;
    size_t bytes, fs;
};

static const struct tune_shape measured = { .nodes = 4, .ppn = 4, .in_order = true };

/* A table as HAN reads it; its text goes. */
static mca_coll_han_rules_t rules_of(struct tune_text *text)
{
    mca_coll_han_rules_error_t error;
    mca_coll_han_rules_t rules;

    assert_false(text->short_of_memory);
    if (0 != mca_coll_han_rules_parse(&rules, "test", text->text, text->length, &error)) {
        fail_msg("line %d: %s\n%s", error.line, error.what, text->text);
    }
    free(text->text);
    return rules;
}

/* The table of what is best, as HAN reads it; on a machine, or NULL. */
static mca_coll_han_rules_t table_on(const mca_coll_han_machine_t *numbers, const struct best *best, size_t count)
{
    struct tune_function functions[TUNABLE];
    struct tune_choice choices[16];
    struct tune_text text = { .text = NULL };

    for (int i = 0; i < TUNABLE; ++i) {
        functions[i] = (struct tune_function){ tunable[i], HAN_BLOCKING };
    }
    assert_in_range(count, 1, 16);
    for (size_t i = 0; i < count; ++i) {
        struct tune_config *configs;
        const long total = tune_space_make(&everything, best[i].collective, &configs);
        long c = 0;

        assert_true(0 < total);
        while (c + 1 < total && 0 < best[i].fs && configs[c].params.fs != best[i].fs) {
            ++c;
        }
        assert_true(0 == best[i].fs || configs[c].params.fs == best[i].fs);
        choices[i] = (struct tune_choice){ .function = { best[i].collective, HAN_BLOCKING },
                                           .bytes = best[i].bytes,
                                           .found = 0 < best[i].fs,
                                           .config = configs[c],
                                           .measured = 1,
                                           .builtin = 2,
                                           .fallback = 3 };
        tune_config_text(&choices[i].config, choices[i].text);
        free(configs);
    }
    tune_output_begin(&text, "here", numbers);
    tune_output_elsewhere(&text, functions, TUNABLE, (struct tune_range){ 4, 4 }, (struct tune_range){ 4, 4 });
    tune_output_rules(&text, choices, (long) count, &measured);
    return rules_of(&text);
}

static mca_coll_han_rules_t table_of(const struct best *best, size_t count)
{
    return table_on(NULL, best, count);
}

/* So what HAN chooses by itself, beside the rules, is the same as it was where they were made. */
static void a_table_has_its_machine(void **state)
{
    static const char text[]
        = "han-machine 1\nlow latency 1us overhead 2us 3us copy 4GB/s\nup latency 10us overhead 8us "
          "9us copy 2GB/s\nmemory copy 2GB/s reduce 8GB/s\ncores node 2 shared\n";
    static const struct best best[] = { { HAN_BCAST, 64 << 10, 16 << 10 } };
    mca_coll_han_text_error_t error;
    mca_coll_han_machine_t machine;
    mca_coll_han_rules_t rules;

    (void) state;
    assert_int_equal(0, mca_coll_han_machine_parse(&machine, text, sizeof(text) - 1, &error));
    rules = table_on(&machine, best, 1);
    assert_int_equal(rules.hash, rules.numbers.hash);
    rules.numbers.hash = machine.hash;
    assert_memory_equal(&machine, &rules.numbers, sizeof(machine));
    mca_coll_han_rules_free(&rules);
    rules = table_of(best, 1);
    assert_int_equal(0, rules.numbers.hash);
    mca_coll_han_rules_free(&rules);
}

/* The rule for a call; NULL: it is left to HAN. */
static const mca_coll_han_rule_t *rule_for(const mca_coll_han_rules_t *rules, const mca_coll_han_input_t *input)
{
    const mca_coll_han_rule_t *rule;
    mca_coll_han_lookup_t lookup;

    assert_int_equal(0, mca_coll_han_lookup_make(&lookup, rules, input));
    rule = mca_coll_han_lookup_find(&lookup, input->bytes);
    mca_coll_han_lookup_free(&lookup);
    return NULL == rule || rule->leave ? NULL : rule;
}

/* fs that the table has for so many bytes; 0: it leaves them to HAN. */
static size_t segment_at(const mca_coll_han_rules_t *rules, mca_coll_han_collective_t collective, size_t bytes,
                         int nodes, int ppn)
{
    const mca_coll_han_input_t input
        = { .collective = collective, .nodes = nodes, .ppn = ppn, .in_order = true, .bytes = bytes };
    const mca_coll_han_rule_t *rule = rule_for(rules, &input);

    return NULL == rule ? 0 : rule->params.fs;
}

static size_t segment_of(const mca_coll_han_rules_t *rules, mca_coll_han_collective_t collective, size_t bytes)
{
    return segment_at(rules, collective, bytes, 4, 4);
}

#define K (1UL << 10)

/* Measured: 4 nodes of 4. */
static void rules_are_for_what_was_measured_and_its_neighbours(void **state)
{
    static const struct best best[] = { { HAN_BCAST, 64 * K, 16 * K }, { HAN_BCAST, 128 * K, 32 * K } };
    static const struct {
        int nodes, ppn;
        bool near;
    } shapes[] = { { 4, 4, true },  { 7, 4, true },    { 3, 4, true },   { 4, 7, true },    { 4, 3, true },
                   { 9, 4, false }, { 64, 4, false },  { 4, 9, false },  { 4, 128, false }, { 1, 4, false },
                   { 4, 1, false }, { 64, 64, false }, { 512, 1, false } };
    mca_coll_han_rules_t rules = table_of(best, sizeof(best) / sizeof(best[0]));

    (void) state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
        for (size_t bytes = 64 * K; bytes <= 1024 * 1024 * K; bytes *= 4) {
            const size_t fs = segment_at(&rules, HAN_BCAST, bytes, shapes[i].nodes, shapes[i].ppn);

            if (shapes[i].near != (0 != fs)) {
                fail_msg("%d nodes of %d, %zu bytes: fs %zu", shapes[i].nodes, shapes[i].ppn, bytes, fs);
            }
        }
    }
    mca_coll_han_rules_free(&rules);
}

/* What was found for a whole message would cut the next longer ones into two unequal parts. */
static void segments_of_whole_messages_are_for_what_was_tuned(void **state)
{
    static const struct best best[]
        = { { HAN_BCAST, 16 * K, 0 },           { HAN_BCAST, 32 * K, 0 },           { HAN_BCAST, 64 * K, 16 * K },
            { HAN_BCAST, 128 * K, 32 * K },     { HAN_ALLREDUCE, 32 * K, 32 * K },  { HAN_ALLREDUCE, 64 * K, 64 * K },
            { HAN_ALLREDUCE, 128 * K, 64 * K }, { HAN_ALLREDUCE, 256 * K, 64 * K }, { HAN_ALLREDUCE, 512 * K, 0 },
            { HAN_REDUCE, 16 * K, 16 * K },     { HAN_REDUCE, 32 * K, 0 },          { HAN_REDUCE, 64 * K, 64 * K } };
    static const struct best rows[] = {
        { HAN_BCAST, 0, 0 },
        { HAN_BCAST, 40 * K, 0 },
        { HAN_BCAST, 60 * K, 16 * K },
        { HAN_BCAST, 80 * K, 16 * K },
        { HAN_BCAST, 120 * K, 32 * K },
        { HAN_BCAST, 999 * K, 32 * K }, /* beyond all that was tuned: as the longest of it */
        { HAN_ALLREDUCE, 32 * K - 1, 0 },
        { HAN_ALLREDUCE, 32 * K, 32 * K },
        { HAN_ALLREDUCE, 32 * K + 1, 0 },
        { HAN_ALLREDUCE, 64 * K - 1, 0 },
        { HAN_ALLREDUCE, 64 * K, 64 * K },
        { HAN_ALLREDUCE, 80 * K, 0 },
        { HAN_ALLREDUCE, 128 * K - 1, 0 },
        { HAN_ALLREDUCE, 128 * K, 64 * K },
        { HAN_ALLREDUCE, 192 * K, 64 * K },
        { HAN_ALLREDUCE, 256 * K, 64 * K },
        { HAN_ALLREDUCE, 512 * K, 0 },
        { HAN_ALLREDUCE, 999 * K, 0 },
        { HAN_REDUCE, 0, 0 },
        { HAN_REDUCE, 16 * K, 16 * K },
        { HAN_REDUCE, 16 * K + 1, 0 },
        { HAN_REDUCE, 32 * K, 0 },
        { HAN_REDUCE, 64 * K, 64 * K },
        { HAN_REDUCE, 64 * K + 1, 0 },
        { HAN_REDUCE, 999 * K, 0 },
    };
    mca_coll_han_rules_t rules = table_of(best, sizeof(best) / sizeof(best[0]));

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        const size_t fs = segment_of(&rules, rows[i].collective, rows[i].bytes);

        if (rows[i].fs != fs) {
            fail_msg("%s of %zu bytes: fs %zu, not %zu", mca_coll_han_collective_names[rows[i].collective],
                     rows[i].bytes, fs, rows[i].fs);
        }
    }
    mca_coll_han_rules_free(&rules);
}

/* Blocking calls were, by ranks in this order. */
static void rules_are_for_the_calls_that_were_measured(void **state)
{
    static const struct best best[] = { { HAN_BCAST, 64 * K, 16 * K } };
    mca_coll_han_rules_t rules = table_of(best, 1);
    mca_coll_han_input_t input
        = { .collective = HAN_BCAST, .nodes = 4, .ppn = 4, .in_order = true, .bytes = 64 * K, .form = HAN_BLOCKING };

    (void) state;
    assert_non_null(rule_for(&rules, &input));
    input.form = HAN_NONBLOCKING;
    assert_null(rule_for(&rules, &input));
    input.form = HAN_BLOCKING;
    input.in_order = false;
    assert_null(rule_for(&rules, &input));
    mca_coll_han_rules_free(&rules);
}

/* A table says of each form what was best in it, and of both how far that holds. */
static void rules_of_both_forms_are_in_one_table(void **state)
{
    const struct tune_choice choices[]
        = { { .function = { HAN_BCAST, HAN_BLOCKING }, .bytes = 8, .found = true, .text = "algorithm=simple" },
            { .function = { HAN_BCAST, HAN_NONBLOCKING }, .bytes = 8, .found = true, .text = "algorithm=tree" } };
    const struct tune_function functions[] = { choices[0].function, choices[1].function };
    mca_coll_han_input_t input = { .collective = HAN_BCAST, .nodes = 4, .ppn = 4, .in_order = true, .bytes = 8 };
    struct tune_text text = { .text = NULL };
    mca_coll_han_rules_t rules;

    (void) state;
    tune_output_begin(&text, "here", NULL);
    tune_output_elsewhere(&text, functions, 2, (struct tune_range){ 4, 4 }, (struct tune_range){ 4, 4 });
    tune_output_rules(&text, choices, 2, &measured);
    rules = rules_of(&text);
    for (int nodes = 4; nodes <= 64; nodes *= 16) {
        for (int i = 0; i < 2; ++i) {
            const mca_coll_han_rule_t *rule;

            input.nodes = nodes;
            input.form = functions[i].form;
            rule = rule_for(&rules, &input);
            assert_true((4 == nodes) == (NULL != rule));
            assert_true(NULL == rule || (0 == i ? HAN_SIMPLE : HAN_TREE) == rule->params.algorithm);
        }
    }
    input.nodes = 4;
    input.form = HAN_PERSISTENT;
    assert_null(rule_for(&rules, &input));
    mca_coll_han_rules_free(&rules);
}

static void functions_have_names(void **state)
{
    struct tune_function function;
    char name[TUNE_FUNCTION_NAME];

    (void) state;
    for (int place = 0; place < TUNE_FUNCTION_COUNT; ++place) {
        assert_true(tune_function_find(tune_function_name(tune_function_at(place), name), &function));
        assert_int_equal(place, tune_function_place(function));
    }
    assert_true(tune_function_find("iallreduce", &function));
    assert_int_equal(HAN_ALLREDUCE, function.collective);
    assert_int_equal(HAN_NONBLOCKING, function.form);
    assert_false(tune_function_find("iibcast", &function));
    assert_false(tune_function_find("i", &function));
    assert_false(tune_function_find("", &function));
}

#define WON(size, rule)                                                                                                \
    {                                                                                                                  \
        .function = { HAN_BCAST, HAN_BLOCKING }, .bytes = (size), .found = true, .text = rule, .measured = 1,          \
        .builtin = 2, .fallback = 2                                                                                    \
    }
static const struct tune_choice raced[] = {
    WON(8, "algorithm=tree ibalg=chain"),
    WON(64, "algorithm=tree ibalg=chain"),
    WON(512, "algorithm=simple"),
};
enum { RACED = sizeof(raced) / sizeof(raced[0]) };

/* What was best for the longest one that there was time for says nothing of a thousand times as long ones. */
static void sizes_without_time_have_no_rules(void **state)
{
    struct tune_choice choices[RACED];
    mca_coll_han_input_t input = { .collective = HAN_BCAST, .nodes = 4, .ppn = 4, .in_order = true };

    (void) state;
    memcpy(choices, raced, sizeof(choices));
    for (int cut = 0; cut < 2; ++cut) {
        struct tune_text text = { .text = NULL };
        mca_coll_han_rules_t rules;

        choices[RACED - 1].cut = 1 == cut;
        tune_output_begin(&text, "here", NULL);
        tune_output_rules(&text, choices, RACED, &measured);
        rules = rules_of(&text);
        input.bytes = 512;
        assert_non_null(rule_for(&rules, &input));
        input.bytes = 513;
        assert_true((1 == cut) == (NULL == rule_for(&rules, &input)));
        input.bytes = 1024 * K;
        assert_true((1 == cut) == (NULL == rule_for(&rules, &input)));
        mca_coll_han_rules_free(&rules);
    }
}

/* ---- the file of measurements ---- */

static char path[] = "unit_tune.csv";

static void append(const char *text)
{
    FILE *file = fopen(path, "a");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct tune_entry entry_of(int number)
{
    struct tune_entry entry = { .kind = (enum tune_kind)(number % TUNE_KIND_COUNT),
                                .nodes = 2 + number % 3,
                                .ppn = 1 + number % 2,
                                .collective = tunable[number % TUNABLE],
                                .bytes = (size_t) number << 10 };

    if (TUNE_TASK == entry.kind || TUNE_WHOLE == entry.kind) {
        snprintf(entry.parameters, sizeof(entry.parameters), "algorithm=pipeline fs=%dK", number);
    }
    return entry;
}

static void fill(struct tune_store *store)
{
    for (int i = 0; i < 60; ++i) {
        const struct tune_entry like = entry_of(i % 30);

        assert_int_equal(0, tune_store_add(store, tune_store_entry(store, &like), 0.001 * (i + 1)));
    }
}

static void measurements_are_there_again(void **state)
{
    struct tune_store store;
    char why[2 * TUNE_TEXT];

    (void) state;
    unlink(path);
    assert_int_equal(0, tune_store_open(&store, path, "here", why));
    assert_int_equal(0, store.resumed);
    fill(&store);
    assert_int_equal(0, tune_store_searched(&store, "task", true, 1.5));
    tune_store_close(&store);
    append("whole,2,1,bca"); /* cut off */
    for (int round = 0; round < 2; ++round) {
        assert_int_equal(0, tune_store_open(&store, path, "here", why));
        assert_int_equal(60, store.resumed);
        assert_int_equal(30, store.count);
        for (int i = 0; i < 30; ++i) {
            const struct tune_entry like = entry_of(i), *entry = tune_store_entry(&store, &like);

            assert_int_equal(2, entry->series.count);
            near(0.001 * (i + 31), entry->series.samples[1]);
        }
        assert_int_equal(30, store.count);
        tune_store_close(&store);
    }
    unlink(path);
}

static void what_is_no_measurement_of_this_machine_is_refused(void **state)
{
    static const char *const bad[] = { "nothing\n",
                                       "whole,2,1,bcast,1024,fast,x\n",
                                       "whole,2,1,bcast,1024,nan,x\n",
                                       "whole,2,1,bcast,1024,-1,x\n",
                                       "whole,0,1,bcast,1024,1,x\n",
                                       "whole,2,1,cast,1024,1,x\n",
                                       "part,2,1,bcast,1024,1,x\n",
                                       "task,2,1,bcast,1024,1\n" };
    struct tune_store store;
    char why[2 * TUNE_TEXT];

    (void) state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
        unlink(path);
        assert_int_equal(0, tune_store_open(&store, path, "here", why));
        fill(&store);
        tune_store_close(&store);
        append(bad[i]);
        assert_int_equal(-1, tune_store_open(&store, path, "here", why));
        if (NULL == strstr(why, "unit_tune.csv:63: no measurement")) {
            fail_msg("%s: %s", bad[i], why);
        }
    }
    assert_int_equal(-1, tune_store_open(&store, path, "elsewhere", why));
    assert_non_null(strstr(why, "elsewhere"));
    assert_int_equal(-1, tune_store_open(&store, "no/such/folder", "here", why));
    unlink(path);
}

static char *contents(const char *name, char *text, size_t size)
{
    FILE *file = fopen(name, "r");
    size_t length;

    assert_non_null(file);
    length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

/* Also what has no newline, or none for long. */
static void a_file_that_is_something_else_stays_as_it_is(void **state)
{
    char longer[3000], is[4000], why[2 * TUNE_TEXT];
    const char *const others[]
        = { "mine", "mine\n", "mine\nand yours", "# han_tune 3: here\nmine", longer, "# han_tune" };
    struct tune_store store;

    (void) state;
    memset(longer, 'm', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
        const bool cut_off = 0 == strcmp("# han_tune", others[i]);

        unlink(path);
        append(others[i]);
        assert_int_equal(cut_off ? 0 : -1, tune_store_open(&store, path, "here", why));
        if (!cut_off) {
            assert_string_equal(others[i], contents(path, is, sizeof(is)));
            assert_non_null(strstr(why, "no measurement"));
        } else {
            tune_store_close(&store);
        }
    }
    unlink(path);
}

static void a_file_has_one_writer(void **state)
{
    struct tune_store store, other;
    char why[2 * TUNE_TEXT];

    (void) state;
    unlink(path);
    assert_int_equal(0, tune_store_open(&store, path, "here", why));
    assert_int_equal(-1, tune_store_open(&other, path, "here", why));
    assert_non_null(strstr(why, "another han_tune writes it"));
    tune_store_close(&store);
    assert_int_equal(0, tune_store_open(&other, path, "here", why));
    tune_store_close(&other);
    unlink(path);
}

/* ---- files that are written ---- */

static void write_text(const char *name, const char *text)
{
    assert_int_equal(0, tune_file_try(name));
    assert_int_equal(0, tune_file_write(name, text, strlen(text)));
}

static mode_t mode_of(const char *name)
{
    struct stat is;

    assert_int_equal(0, lstat(name, &is));
    return is.st_mode;
}

static void a_regular_file_is_replaced_and_keeps_its_mode(void **state)
{
    char text[64];

    (void) state;
    unlink(path);
    assert_int_equal(0, tune_file_try(path));
    assert_int_equal(-1, access(path, F_OK));
    write_text(path, "first and long");
    assert_int_equal(0, chmod(path, 0640));
    assert_true(tune_file_is_regular(path));
    write_text(path, "second");
    assert_string_equal("second", contents(path, text, sizeof(text)));
    assert_int_equal(S_IFREG | 0640, mode_of(path));
    unlink(path);
}

static void a_link_stays_one_and_its_target_is_written(void **state)
{
    static const char target[] = "unit_tune.target";
    char text[64];

    (void) state;
    unlink(path);
    unlink(target);
    assert_int_equal(0, symlink(target, path));
    for (int round = 0; round < 2; ++round) { /* without a target, and with one */
        write_text(path, 0 == round ? "first" : "second");
        assert_true(S_ISLNK(mode_of(path)));
        assert_string_equal(0 == round ? "first" : "second", contents(target, text, sizeof(text)));
    }
    unlink(path);
    unlink(target);
}

static void what_is_no_file_is_written_and_stays(void **state)
{
    char text[64] = "";
    int reader;

    (void) state;
    unlink(path);
    assert_int_equal(0, mkfifo(path, 0600));
    assert_false(tune_file_is_regular(path));
    reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(0 <= reader);
    write_text(path, "through");
    assert_int_equal(7, read(reader, text, sizeof(text)));
    assert_string_equal("through", text);
    assert_true(S_ISFIFO(mode_of(path)));
    close(reader);
    unlink(path);
}

static void what_cannot_be_written_says_why(void **state)
{
    (void) state;
    assert_int_equal(-1, tune_file_try("."));
    assert_int_equal(EISDIR, errno);
    assert_int_equal(-1, tune_file_write(".", "x", 1));
    assert_int_equal(EISDIR, errno);
    assert_int_equal(-1, tune_file_try("no/such/file"));
    assert_int_equal(ENOENT, errno);
    assert_int_equal(-1, tune_file_write("/dev/full", "x", 1));
    assert_int_equal(ENOSPC, errno);
    assert_true(S_ISCHR(mode_of("/dev/full")));
}

/* ---- choices of an interrupted race ---- */

static const char folder[] = "unit_tune.d";

static void write_lines(const char *name, const char *lines)
{
    char file_path[64];
    FILE *file;

    snprintf(file_path, sizeof(file_path), "%s/%s", folder, name);
    file = fopen(file_path, "a");
    assert_non_null(file);
    fputs(lines, file);
    fclose(file);
}

static void forget_folder(void)
{
    unlink("unit_tune.d/choices.csv");
    unlink("unit_tune.d/candidates.csv");
    rmdir(folder);
    errno = 0;
}

static void choices_are_there_again(void **state)
{
    const struct tune_choice written[]
        = { { .function = { HAN_BCAST, HAN_NONBLOCKING },
              .bytes = 8,
              .found = true,
              .text = "algorithm=tree ibalg=chain ibs=500",
              .rivalled = true,
              .rival = { .algorithm = HAN_GROUPS, .ibalg = ADAPT_TREE_LINEAR, .groups = 3 },
              .estimate = 0.25,
              .measured = 0.5,
              .builtin = 1,
              .fallback = 2 },
            { .function = { HAN_ALLTOALL, HAN_BLOCKING },
              .bytes = 4096,
              .text = "algorithm=fallback",
              .builtin = 3,
              .rivalled = true, /* it has been, and is not any more */
              .settled = true } };
    struct tune_kept *kept;
    const struct tune_choice *found;

    (void) state;
    forget_folder();
    assert_int_equal(-1, tune_choices_add(folder, written, 2, 4, 2));
    assert_int_equal(ENOENT, errno);
    assert_int_equal(0, tune_choices_read(folder, &kept));
    assert_int_equal(0, mkdir(folder, 0700));
    assert_int_equal(0, tune_choices_add(folder, written, 2, 4, 2));
    assert_int_equal(0, tune_choices_add(folder, &written[1], 1, 8, 2));
    /* A good one; of another version, no rule, no rival, no collective, too few columns, cut off. */
    write_lines("choices.csv", "4,2,reduce,64,1,1,1,1,algorithm=auto,algorithm=fallback,-," HAN_VERSION_TEXT "\n"
                               "4,2,reduce,8,1,1,1,1,algorithm=auto,algorithm=fallback,-,0.0.0 (none)\n"
                               "4,2,reduce,8,1,1,1,1,algorithm=auto,algorithm=oak,-," HAN_VERSION_TEXT "\n"
                               "4,2,reduce,8,1,1,1,1,algorithm=auto,algorithm=fallback,oak," HAN_VERSION_TEXT "\n"
                               "4,2,reduc,8,1,1,1,1,algorithm=auto,algorithm=fallback,-," HAN_VERSION_TEXT "\n"
                               "4,2,reduce,8,1,1,1,algorithm=auto,algorithm=fallback,-," HAN_VERSION_TEXT "\n"
                               "4,2,reduce,8,1,1,1,1,algorithm=auto,algorithm=fallback,-," HAN_VERSION_TEXT);
    assert_int_equal(4, tune_choices_read(folder, &kept));
    found = tune_choices_find(kept, 4, 4, 2, written[0].function, 8);
    assert_non_null(found);
    assert_true(found->found);
    assert_string_equal(written[0].text, found->text);
    assert_int_equal(HAN_TREE, found->config.params.algorithm);
    assert_int_equal(ADAPT_TREE_CHAIN, found->config.params.ibalg);
    near(0.25, found->estimate);
    near(0.5, found->measured);
    near(1, found->builtin);
    near(2, found->fallback);
    assert_true(found->rivalled && !found->settled);
    assert_true(HAN_GROUPS == found->rival.algorithm && 3 == found->rival.groups);
    found = tune_choices_find(kept, 4, 8, 2, written[1].function, 4096);
    assert_non_null(found);
    assert_false(found->found);
    assert_true(found->settled && !found->rivalled);
    assert_non_null(tune_choices_find(kept, 4, 4, 2, (struct tune_function){ HAN_REDUCE, HAN_BLOCKING }, 64));
    assert_null(tune_choices_find(kept, 4, 4, 2, (struct tune_function){ HAN_BCAST, HAN_BLOCKING }, 8));
    assert_null(tune_choices_find(kept, 4, 4, 2, written[0].function, 16));
    assert_null(tune_choices_find(kept, 4, 4, 4, written[0].function, 8));
    free(kept);
    forget_folder();
}

static void what_is_decided_again_replaces_the_same(void **state)
{
    struct tune_choice choices[]
        = { { .function = { HAN_BCAST, HAN_BLOCKING }, .bytes = 8, .text = "algorithm=fallback", .found = true },
            { .function = { HAN_BCAST, HAN_BLOCKING }, .bytes = 64, .text = "algorithm=fallback" } };
    struct tune_kept *kept;

    (void) state;
    forget_folder();
    assert_int_equal(-1, tune_choices_settle(folder, choices, 2, 4, 2));
    assert_int_equal(0, mkdir(folder, 0700));
    assert_int_equal(0, tune_choices_add(folder, choices, 2, 4, 2));
    assert_int_equal(0, tune_choices_add(folder, choices, 1, 8, 2));
    choices[0].found = false;
    assert_int_equal(0, tune_choices_settle(folder, choices, 1, 4, 2));
    assert_int_equal(3, tune_choices_read(folder, &kept));
    assert_true(tune_choices_find(kept, 3, 8, 2, choices[0].function, 8)->found);
    assert_false(tune_choices_find(kept, 3, 4, 2, choices[0].function, 8)->found);
    assert_non_null(tune_choices_find(kept, 3, 4, 2, choices[1].function, 64));
    free(kept);
    forget_folder();
}

/* The table of a race that goes on is that of one that was not interrupted. */
static void kept_choices_make_the_same_rules(void **state)
{
    struct tune_text text = { .text = NULL }, again = { .text = NULL };
    struct tune_choice choices[RACED];
    struct tune_kept *kept;

    (void) state;
    forget_folder();
    assert_int_equal(0, mkdir(folder, 0700));
    assert_int_equal(0, tune_choices_add(folder, raced, RACED, 4, 4));
    assert_int_equal(RACED, tune_choices_read(folder, &kept));
    for (int i = 0; i < RACED; ++i) {
        choices[i] = kept[i].choice;
    }
    tune_output_rules(&text, raced, RACED, &measured);
    tune_output_rules(&again, choices, RACED, &measured);
    assert_string_equal(text.text, again.text);
    free(text.text);
    free(again.text);
    free(kept);
    forget_folder();
}

static void a_race_goes_on_with_whole_contests(void **state)
{
    static const char whole[] = "nodes,ppn,map,rate,collective,bytes,algorithm\n"
                                "4,2,slot,-,bcast,8,fallback\n"
                                "4,2,slot,-,bcast,8,tree\n"
                                "4,2,slot,-,iscatterv,65536,fallback\n";
    const struct tune_choice written[]
        = { { .function = { HAN_BCAST, HAN_BLOCKING }, .bytes = 8, .text = "algorithm=fallback" },
            { .function = { HAN_SCATTERV, HAN_NONBLOCKING }, .bytes = 0, .text = "algorithm=fallback" } };
    struct tune_kept *kept;
    char text[512] = "";
    FILE *file;

    (void) state;
    forget_folder();
    assert_int_equal(0, mkdir(folder, 0700));
    assert_int_equal(0, tune_choices_add(folder, written, 2, 4, 2));
    write_lines("choices.csv", "4,2,allredu");
    write_lines("candidates.csv", whole);
    /* Not decided on, of another part, of another form, cut off. */
    write_lines("candidates.csv", "4,2,slot,-,bcast,16,fallback\n4,4,slot,-,bcast,8,fallback\n"
                                  "4,2,slot,-,ibcast,8,fallback\n4,2,slot,-,bcast,8,fal");
    assert_int_equal(2, tune_choices_read(folder, &kept));
    assert_int_equal(0, tune_choices_resume(folder, kept, 2));
    free(kept);
    assert_int_equal(2, tune_choices_read(folder, &kept));
    free(kept);
    file = fopen("unit_tune.d/candidates.csv", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(whole, text);
    forget_folder();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_does_not_care_for_outliers),
        cmocka_unit_test(the_spread_is_that_of_the_samples_until_there_are_many),
        cmocka_unit_test(the_settled_cost_is_that_of_whole_bunches),
        cmocka_unit_test(an_ideal_pipeline_is_estimated_exactly),
        cmocka_unit_test(what_was_not_measured_is_not_estimated),
        cmocka_unit_test(a_slope_from_elsewhere_counts_for_a_full_pipeline),
        cmocka_unit_test(tasks_are_enough_for_two_bunches_in_a_full_pipeline),
        cmocka_unit_test(no_configuration_is_there_twice),
        cmocka_unit_test(every_configuration_is_a_rule),
        cmocka_unit_test(every_message_can_be_done),
        cmocka_unit_test(heuristics_only_leave_out),
        cmocka_unit_test(bytes_are_written_as_people_do),
        cmocka_unit_test(segments_of_whole_messages_are_for_what_was_tuned),
        cmocka_unit_test(both_clocks_judge),
        cmocka_unit_test(ways_are_the_same_where_all_parameters_are),
        cmocka_unit_test(the_foremost_beats_the_own_choice_where_anybody_does),
        cmocka_unit_test(each_may_be_slower_than_one_of_two),
        cmocka_unit_test(neighbours_are_drawn_by_lot),
        cmocka_unit_test(another_seed_draws_other_orders),
        cmocka_unit_test(the_fastest_of_a_race_are_kept),
        cmocka_unit_test(who_is_far_behind_is_not_likely),
        cmocka_unit_test(the_race_of_the_nearest_size_counts),
        cmocka_unit_test(who_was_dropped_may_be_the_next_best),
        cmocka_unit_test(the_winner_is_least_behind_and_not_slower_than_the_fallback),
        cmocka_unit_test(who_falls_behind_is_out),
        cmocka_unit_test(a_round_takes_no_longer_than_it_may),
        cmocka_unit_test(a_race_is_over_when_more_rounds_tell_nothing),
        cmocka_unit_test(what_is_decided_again_replaces_the_same),
        cmocka_unit_test(a_table_has_its_machine),
        cmocka_unit_test(rules_are_for_what_was_measured_and_its_neighbours),
        cmocka_unit_test(measurements_are_there_again),
        cmocka_unit_test(what_is_no_measurement_of_this_machine_is_refused),
        cmocka_unit_test(a_file_that_is_something_else_stays_as_it_is),
        cmocka_unit_test(a_file_has_one_writer),
        cmocka_unit_test(a_regular_file_is_replaced_and_keeps_its_mode),
        cmocka_unit_test(a_link_stays_one_and_its_target_is_written),
        cmocka_unit_test(what_is_no_file_is_written_and_stays),
        cmocka_unit_test(what_cannot_be_written_says_why),
        cmocka_unit_test(choices_are_there_again),
        cmocka_unit_test(kept_choices_make_the_same_rules),
        cmocka_unit_test(rules_are_for_the_calls_that_were_measured),
        cmocka_unit_test(rules_of_both_forms_are_in_one_table),
        cmocka_unit_test(functions_have_names),
        cmocka_unit_test(sizes_without_time_have_no_rules),
        cmocka_unit_test(a_race_goes_on_with_whole_contests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
