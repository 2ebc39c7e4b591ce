/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_validate.h"

#include <math.h>

#include "tune_contest.h"
#include "tune_race.h"

/* One message, three ways, in turn. */
static int measure(struct tune_engine *engine, const struct tune_way *way, const mca_coll_han_rule_t *rule,
                   mca_coll_han_collective_t collective, size_t bytes, double seconds[3])
{
    static const enum tune_kind kinds[] = { TUNE_WHOLE, TUNE_BUILTIN, TUNE_FALLBACK };
    struct tune_series series[3] = { { .count = 0 } };
    int rc = 0;

    for (int i = 0; i < 3 * way->most && 0 == rc; ++i) {
        struct tune_run run = { .kind = kinds[i % 3], .bytes = bytes };
        struct tune_result result;

        if (0 == i % 3 && i >= 3 * way->least && tune_series_spread(&series[0]) <= way->precision
            && tune_series_spread(&series[1]) <= way->precision) {
            break;
        }
        run.config = (struct tune_config){ .collective = collective, .params = rule->params };
        tune_points_run(engine, &run, &result);
        if (0 != result.rc) {
            fprintf(stderr, "han_tune: %s: error %d\n", rule->text, result.rc);
            rc = -1;
        } else {
            rc = tune_series_add(&series[i % 3], result.seconds);
        }
    }
    for (int i = 0; i < 3; ++i) {
        seconds[i] = tune_series_median(&series[i]);
        tune_series_free(&series[i]);
    }
    return rc;
}

static int validate_message(struct tune_engine *engine, const struct tune_space *space, const struct tune_way *way,
                            const mca_coll_han_rules_t *rules, mca_coll_han_collective_t collective, size_t bytes,
                            struct tune_gain *gains)
{
    const mca_coll_han_input_t input = { .collective = collective,
                                         .nodes = space->nodes,
                                         .ppn = space->ppn,
                                         .in_order = tune_engine_in_order(engine),
                                         .bytes = bytes };
    mca_coll_han_lookup_t lookup = { .made = false };
    const mca_coll_han_rule_t *rule;
    double seconds[3];
    int rc = mca_coll_han_lookup_make(&lookup, rules, &input);

    if (0 != rc) {
        return rc;
    }
    rule = mca_coll_han_lookup_find(&lookup, bytes);
    mca_coll_han_lookup_free(&lookup);
    if (NULL == rule || rule->leave) {
        return 0;
    }
    rc = measure(engine, way, rule, collective, bytes, seconds);
    if (0 == rc) {
        struct tune_gain *gain = &gains[rule - rules->rules];

        gain->rule = rule;
        gain->over_builtin += log(seconds[1] / seconds[0]);
        gain->over_fallback += log(seconds[2] / seconds[0]);
        ++gain->messages;
        printf("%6d %-10s %10zu %12.1f %12.1f %12.1f %8.2f %8.2f\n", rule->line,
               mca_coll_han_collective_names[collective], bytes, 1e6 * seconds[0], 1e6 * seconds[1], 1e6 * seconds[2],
               seconds[1] / seconds[0], seconds[2] / seconds[0]);
        fflush(stdout);
    }
    return rc;
}

int tune_validate(struct tune_engine *engine, struct tune_space *space, const struct tune_way *way,
                  const mca_coll_han_rules_t *rules, struct tune_gain *gains)
{
    int ranks, rc = 0;

    MPI_Comm_size(tune_engine_comm(engine), &ranks);
    if (NULL == gains) {
        tune_points_follow(engine);
        return 0;
    }
    printf("%6s %-10s %10s %12s %12s %12s %8s %8s\n", "line", "collective", "bytes", "rule, us", "built-in", "no HAN",
           "gain", "gain");
    for (int i = 0; i < space->collective_count && 0 == rc; ++i) {
        const mca_coll_han_collective_t collective = space->collectives[i];

        if (HAN_BARRIER == collective) {
            rc = validate_message(engine, space, way, rules, collective, 0, gains);
            continue;
        }
        for (size_t bytes = space->least_bytes;
             bytes <= space->most_bytes && 0 == rc
             && tune_contest_held(collective, bytes, ranks) <= tune_race_memory(space);
             bytes *= 2) {
            rc = validate_message(engine, space, way, rules, collective, bytes, gains);
        }
    }
    tune_points_end(engine);
    return rc;
}
