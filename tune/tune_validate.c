/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_validate.h"

#include <math.h>
#include <stdlib.h>

#include "tune_contest.h"
#include "tune_options.h"
#include "tune_race.h"

/* What is compared: a rule, HAN's own choice, and without HAN. What is the same has the same place in the contest. */
enum way { RULE, OWN, FALLBACK, WAYS };

/* On all ranks. */
struct job {
    struct tune_engine *engine;
    const struct tune_space *space;
    const struct tune_way *way;
    const mca_coll_han_rules_t *rules; /* NULL on other ranks than 0 */
    struct tune_gain *gains;           /* the same */
    mca_coll_han_candidates_t machine;
    int ranks;
};

static bool is_known(const struct tune_contest *contest, long place, double precision)
{
    bool known = true;

    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        known = known && tune_series_spread(&contest->contestants[place].series[clock]) <= precision;
    }
    return known;
}

/* Round by round, until the rule and HAN's own choice are known. */
static int hold(const struct job *job, struct tune_contest *contest, const long places[WAYS])
{
    bool known = false;
    int rc = 0;

    tune_contest_begin(contest, &tune_check_wholly);
    for (int round = 0; round < job->way->most && 0 == rc && !known; ++round) {
        rc = tune_contest_round(contest, round);
        known = round + 1 >= job->way->least && is_known(contest, places[RULE], job->way->precision)
                && is_known(contest, places[OWN], job->way->precision);
    }
    return rc;
}

static void print(const struct job *job, const struct tune_contest *contest, long rule, const long places[WAYS])
{
    char name[TUNE_FUNCTION_NAME];

    printf("%6d %-21s %10zu", job->rules->rules[rule].line, tune_function_name(contest->function, name),
           tune_known(tune_contest_input(contest, &job->machine)).bytes);
    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        double seconds[WAYS];

        for (int way = 0; way < WAYS; ++way) {
            seconds[way] = tune_series_median(&contest->contestants[places[way]].series[clock]);
        }
        printf(" %12.1f %8.2f %9.2f", 1e6 * seconds[RULE], seconds[OWN] / seconds[RULE],
               seconds[FALLBACK] / seconds[RULE]);
    }
    putchar('\n');
    fflush(stdout);
}

static void count_in(const struct job *job, const struct tune_contest *contest, long rule, const long places[WAYS])
{
    struct tune_gain *const gain = &job->gains[rule];
    struct tune_record *const records = tune_contest_records(contest);

    gain->over_builtin
        += log(tune_judge_mean(&records[places[OWN]].median) / tune_judge_mean(&records[places[RULE]].median));
    ++gain->messages;
    free(records);
}

/* One size, where a rule decides it. */
static int validate_size(const struct job *job, struct tune_function function, size_t bytes)
{
    long places[WAYS] = { 0 };
    struct tune_contest contest;
    mca_coll_han_params_t params;
    int rc = 0;
    long rule;

    tune_contest_open(&contest, job->engine, &job->machine, function,
                      tune_race_timed(job->space, function.collective, job->ranks, bytes));
    contest.clock = job->way->clock;
    rule = tune_contest_ask(&contest, &job->machine, job->rules, &params);
    if (0 <= rule) {
        places[RULE] = tune_contest_add(&contest, &job->machine, &params);
        tune_contest_add_own(&contest, &job->machine);
        tune_contest_keep(&contest, &places[RULE], 1);
        places[OWN] = contest.own;
        rc = hold(job, &contest, places);
        if (0 == rc && NULL != job->rules && !contest.contestants[places[RULE]].out) {
            print(job, &contest, rule, places);
            count_in(job, &contest, rule, places);
        }
    }
    tune_contest_close(&contest);
    return rc;
}

/* All sizes of a function: each twice as long as the one before. Returns 0; 1: there is no time; -1: an error. */
static int validate_function(const struct job *job, struct tune_function function)
{
    const struct tune_space *const space = job->space;
    const bool sized = HAN_BARRIER != function.collective && tune_knows_bytes(function.collective);
    size_t bytes = sized ? space->least_bytes : 0;
    int rc = 0;

    do {
        if (tune_contest_held(function.collective, bytes, job->ranks) > tune_race_memory(space)) {
            break;
        }
        rc = tune_engine_is_past(job->engine, job->way->deadline) ? 1 : validate_size(job, function, bytes);
        bytes *= 2;
    } while (0 == rc && 0 < bytes && bytes <= space->most_bytes);
    return rc;
}

int tune_validate(struct tune_engine *engine, const struct tune_space *space, const struct tune_way *way,
                  const mca_coll_han_rules_t *rules, struct tune_gain *gains)
{
    struct job job = { .engine = engine, .space = space, .way = way, .rules = rules, .gains = gains };
    int rc = 0;

    MPI_Comm_size(tune_engine_comm(engine), &job.ranks);
    tune_contest_machine(engine, way->all_submodules, &job.machine);
    if (NULL != rules) {
        printf("%39s %31s %31s\n%6s %-21s %10s %12s %8s %9s %12s %8s %9s\n", "", "single calls", "calls in a row",
               "line", "function", "bytes", "rule, us", "own, x", "no HAN, x", "rule, us", "own, x", "no HAN, x");
    }
    for (int i = 0; i < space->function_count && 0 == rc; ++i) {
        rc = validate_function(&job, space->functions[i]);
    }
    if (0 < rc) {
        tune_complain("there was no time for all sizes");
    } else if (0 > rc) {
        tune_complain("a call failed");
    }
    return 0 > rc ? -1 : 0;
}
