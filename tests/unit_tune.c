/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuner's cost model and statistics, its search space, and its file of measurements. */
#include "../tune/tune.h"

#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static struct tune_series series_of(const double *seconds, size_t count)
{
    struct tune_series series = { .samples = NULL };

    for (size_t i = 0; i < count; ++i) {
        const struct tune_sample sample = { .seconds = seconds[i] };

        assert_int_equal(0, tune_series_add(&series, &sample));
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
        const struct tune_sample sample = { .seconds = 0 == i % 10 ? 1000 : 100 + i % 3 };

        assert_int_equal(0, tune_series_add(&many, &sample));
    }
    assert_true(0.02 > tune_series_spread(&many));
    tune_series_free(&one);
    tune_series_free(&three);
    tune_series_free(&many);
}

/* ---- the model ---- */

static void the_settled_cost_is_that_of_the_later_full_steps(void **state)
{
    static const unsigned tasks[] = { 1, 1, 3, 3, 3, 3, 3, 3, 2 };
    static const double seconds[] = { 9, 9, 7, 5, 4, 2, 2, 2, 9 };
    static const double calm[] = { 9, 9, 2, 2, 2, 2, 2, 2, 9 };
    bool settled;

    (void) state;
    near(2, tune_model_steady(seconds, tasks, 9, 3, &settled));
    assert_false(settled);
    near(2, tune_model_steady(calm, tasks, 9, 3, &settled));
    assert_true(settled);
    assert_true(0 > tune_model_steady(calm, tasks, 5, 3, &settled));
}

/* Against all lines, for any number of segments. */
static void the_envelope_is_the_maximum_over_the_ranks(void **state)
{
    uint64_t random = 4711;

    (void) state;
    for (int round = 0; round < 2000; ++round) {
        struct tune_line lines[8], all[8], kept[TUNE_MOST_LINES];
        const size_t count = 1 + (size_t) round % 8;
        int used;

        for (size_t i = 0; i < count; ++i) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            lines[i] = (struct tune_line){ (double) (random >> 60), (double) (random >> 40 & 7) };
        }
        memcpy(all, lines, sizeof(all));
        used = tune_model_envelope(lines, count, kept);
        assert_in_range(used, 1, TUNE_MOST_LINES);
        for (int more = 0; more < 40; ++more) {
            double highest = 0, value = 0;

            for (size_t i = 0; i < count; ++i) {
                highest = fmax(highest, all[i].base + more * all[i].steady);
            }
            for (int i = 0; i < used; ++i) {
                value = fmax(value, kept[i].base + more * kept[i].steady);
            }
            if (used < TUNE_MOST_LINES || 39 == more) {
                near(highest, value);
            }
        }
    }
}

/* An ideal pipeline: S stages that cost c each take (u + S - 1) c. */
static void an_ideal_pipeline_is_estimated_exactly(void **state)
{
    (void) state;
    for (int stages = 2; stages <= 4; ++stages) {
        for (size_t measured = 2; measured < 20; ++measured) {
            struct tune_series one = SERIES(stages * 5.0), many = { .samples = NULL };
            const double whole = (double) (measured + (size_t) stages - 1) * 5;
            const struct tune_sample sample = { .seconds = whole, .line_count = 1, .lines = { { whole, 5 } } };

            assert_int_equal(0, tune_series_add(&many, &sample));
            for (size_t u = 1; u < 100; ++u) {
                near((double) (u + (size_t) stages - 1) * 5, tune_model_estimate(&one, &many, measured, u));
            }
            many.samples[0].lines[0].steady = -1;
            for (size_t u = 1; u < 100; ++u) {
                near((double) (u + (size_t) stages - 1) * 5, tune_model_estimate(&one, &many, measured, u));
            }
            tune_series_free(&one);
            tune_series_free(&many);
        }
    }
}

static void what_was_not_measured_is_not_estimated(void **state)
{
    struct tune_series one = SERIES(1), none = { .samples = NULL };

    (void) state;
    near(1, tune_model_estimate(&one, &none, 0, 1));
    assert_true(isnan(tune_model_estimate(&one, &none, 4, 2)));
    assert_true(isnan(tune_model_estimate(&none, &one, 4, 2)));
    tune_series_free(&one);
}

static void tasks_take_fewer_segments_than_messages(void **state)
{
    (void) state;
    for (int stages = 2; stages <= 4; ++stages) {
        for (size_t lag = 1; lag < 20; ++lag) {
            for (size_t most = 1; most <= 1000; ++most) {
                const size_t segments = tune_model_segments(stages, lag, most);

                assert_in_range(segments, 1, most);
                assert_true(segments <= lag + 6);
                assert_true(most < 12 || segments <= most / 3);
            }
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_does_not_care_for_outliers),
        cmocka_unit_test(the_spread_is_that_of_the_samples_until_there_are_many),
        cmocka_unit_test(the_settled_cost_is_that_of_the_later_full_steps),
        cmocka_unit_test(the_envelope_is_the_maximum_over_the_ranks),
        cmocka_unit_test(an_ideal_pipeline_is_estimated_exactly),
        cmocka_unit_test(what_was_not_measured_is_not_estimated),
        cmocka_unit_test(tasks_take_fewer_segments_than_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
