/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_validate.h"

#include <math.h>

#include "tune_contest.h"
#include "tune_options.h"
#include "tune_race.h"

/* What is compared: a rule, HAN's own choice, and without HAN. */
enum way { RULE, OWN, FALLBACK, WAYS };

/* One message, in turn by each way and clock; of a clock the medians. */
static int measure(struct tune_engine *engine, const struct tune_way *way, const mca_coll_han_rule_t *rule,
                   struct tune_function function, size_t bytes, int calls, struct tune_times times[WAYS])
{
    enum { ALL = WAYS * TUNE_CLOCK_COUNT };
    static const enum tune_kind kinds[WAYS] = { TUNE_WHOLE, TUNE_BUILTIN, TUNE_FALLBACK };
    struct tune_series series[ALL] = { { .count = 0 } };
    bool known = false;
    int rc = 0;

    for (int i = 0; i < ALL * way->most && 0 == rc && !known; ++i) {
        struct tune_run run
            = { .kind = kinds[i % WAYS], .form = function.form, .bytes = bytes, .calls = i % ALL < WAYS ? 1 : calls };
        struct tune_result result;

        run.config = (struct tune_config){ .collective = function.collective, .params = rule->params };
        if (1 == run.calls) {
            tune_points_run(engine, &run, &result); /* does not count: see take_turns() of a race */
        }
        tune_points_run(engine, &run, &result);
        if (0 != result.rc) {
            fprintf(stderr, "han_tune: %s: error %d\n", rule->text, result.rc);
            rc = -1;
        } else {
            rc = tune_series_add(&series[i % ALL], result.seconds);
        }
        known = ALL - 1 == i % ALL && i + 1 >= ALL * way->least;
        for (int k = 0; k < ALL && known; ++k) {
            known = FALLBACK == k % WAYS || tune_series_spread(&series[k]) <= way->precision;
        }
    }
    for (int k = 0; k < ALL; ++k) {
        times[k % WAYS].seconds[k < WAYS ? TUNE_SINGLE : TUNE_ROW] = tune_series_median(&series[k]);
        tune_series_free(&series[k]);
    }
    return rc;
}

static int validate_message(struct tune_engine *engine, const struct tune_space *space, const struct tune_way *way,
                            const mca_coll_han_rules_t *rules, struct tune_function function, size_t bytes, int calls,
                            struct tune_gain *gains)
{
    const mca_coll_han_input_t input = { .collective = function.collective,
                                         .form = function.form,
                                         .nodes = space->nodes,
                                         .ppn = space->ppn,
                                         .in_order = tune_engine_in_order(engine),
                                         .bytes = bytes };
    const mca_coll_han_rule_t *rule;
    struct tune_times times[WAYS];
    char name[TUNE_FUNCTION_NAME];
    int rc = tune_nearest(rules, &input, &rule);

    if (0 != rc || NULL == rule || rule->leave) {
        return rc;
    }
    rc = measure(engine, way, rule, function, bytes, calls, times);
    if (0 == rc) {
        struct tune_gain *gain = &gains[rule - rules->rules];

        printf("%6d %-21s %10zu", rule->line, tune_function_name(function, name), bytes);
        for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
            const double seconds = times[RULE].seconds[clock];

            printf(" %12.1f %8.2f %9.2f", 1e6 * seconds, times[OWN].seconds[clock] / seconds,
                   times[FALLBACK].seconds[clock] / seconds);
        }
        putchar('\n');
        fflush(stdout);
        for (int i = 0; i < WAYS; ++i) {
            tune_judge_by(&times[i], way->clock);
        }
        gain->rule = rule;
        gain->over_builtin += log(tune_judge_mean(&times[OWN]) / tune_judge_mean(&times[RULE]));
        gain->over_fallback += log(tune_judge_mean(&times[FALLBACK]) / tune_judge_mean(&times[RULE]));
        ++gain->messages;
    }
    return rc;
}

int tune_validate(struct tune_engine *engine, struct tune_space *space, const struct tune_way *way,
                  const mca_coll_han_rules_t *rules, struct tune_gain *gains)
{
    bool late = false;
    int ranks, rc = 0;

    MPI_Comm_size(tune_engine_comm(engine), &ranks);
    if (NULL == gains) {
        tune_points_follow(engine);
        return 0;
    }
    printf("%39s %31s %31s\n%6s %-21s %10s %12s %8s %9s %12s %8s %9s\n", "", "single calls", "calls in a row", "line",
           "function", "bytes", "rule, us", "own, x", "no HAN, x", "rule, us", "own, x", "no HAN, x");
    for (int i = 0; i < space->function_count && 0 == rc && !late; ++i) {
        const struct tune_function function = space->functions[i];
        size_t bytes = HAN_BARRIER == function.collective ? 0 : space->least_bytes;

        do {
            const size_t held = tune_contest_held(function.collective, bytes, ranks);

            late = MPI_Wtime() > way->deadline;
            if (late || held > tune_race_memory(space)) {
                break;
            }
            rc = validate_message(engine, space, way, rules, function, bytes, tune_engine_calls(held), gains);
            bytes *= 2;
        } while (0 == rc && 0 < bytes && bytes <= space->most_bytes);
    }
    if (late) {
        tune_complain("there was no time for all sizes");
    }
    tune_points_end(engine);
    return rc;
}
