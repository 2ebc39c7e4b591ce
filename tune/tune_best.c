/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_best.h"

#include <math.h>
#include <stdlib.h>

#include "coll_han_choice.h"
#include "tune_contest.h"
#include "tune_options.h"
#include "tune_race.h"

/* What a table says of a call. */
struct saying {
    int line;  /* of the rule; 0: the call is left to HAN's own choice */
    int known; /* what is done; else it is that choice, whatever it is */
    mca_coll_han_params_t params;
};

/* Places in the last contest, of which the fallback has the first one. What is the same candidate has the same place.
 */
struct finalists {
    long table, best, own;
};

/* What comes of all points. */
struct tally {
    int points, same, near; /* the table says what is the best; what is at most TUNE_WORTH behind it */
    int behind_own, behind_fallback;
    double sum, worst; /* of how far it is behind, over how far the best is */
};

struct job {
    struct tune_engine *engine;
    const struct tune_space *space;
    const struct tune_way *way;
    const mca_coll_han_rules_t *rules; /* NULL on other ranks than 0 */
    mca_coll_han_candidates_t machine;
    int ranks, sizes, done; /* that there are, and that have been compared */
    double begin, told;
    struct tally tally;
};

/* What the model chooses, where it does: for the machine of the table, as in jobs that take it, else for this one. */
static void ask_model(const struct job *job, const mca_coll_han_input_t *input, struct saying *saying)
{
    const mca_coll_han_machine_t *carried = &job->rules->numbers;
    const mca_coll_han_machine_t *machine = 0 != carried->hash ? carried : tune_engine_machine(job->engine);

    if (NULL != machine && mca_coll_han_choice_serves(input)) {
        mca_coll_han_choices_t choices = { .count = 0 };
        const mca_coll_han_params_t *params = mca_coll_han_choose(&choices, machine, input);

        tune_contest_need(NULL != params);
        saying->known = true;
        saying->params = *params;
        mca_coll_han_choices_free(&choices);
    }
}

/* Rank 0 looks it up, for all. */
static struct saying ask(const struct job *job, const struct tune_contest *contest, size_t bytes)
{
    mca_coll_han_input_t input = tune_contest_input(contest, &job->machine);
    struct saying saying = { .line = 0 };

    input.bytes = bytes;
    if (NULL != job->rules) {
        const mca_coll_han_rule_t *rule;

        tune_contest_need(0 == tune_nearest(job->rules, &input, &rule));
        if (mca_coll_han_rule_decides(rule, &input)) {
            saying.line = rule->line;
            saying.known = true;
            saying.params = mca_coll_han_decide(&input, &rule->params, &mca_coll_han_unset);
        } else {
            ask_model(job, &input, &saying);
        }
    }
    saying.params.why = NULL;
    MPI_Bcast(&saying, (int) sizeof(saying), MPI_BYTE, 0, tune_engine_comm(job->engine));
    return saying;
}

/* Rounds; where all candidates are there, without those that are far behind. */
static int hold(const struct job *job, struct tune_contest *contest, bool all)
{
    int rc = 0;

    tune_contest_check_told(contest, &(struct tune_check){ .whole = true, .seconds = INFINITY });
    tune_contest_shorten(contest);
    for (int round = 0; round < job->way->most && 0 == rc; ++round) {
        rc = tune_contest_round(contest, round);
        if (all) {
            struct tune_record *records = tune_contest_records(contest);

            tune_judge_drop(records, contest->count, false);
            tune_contest_take(contest, records);
        }
    }
    return rc;
}

/* The fastest of all: that one, what the table says, and HAN's own choice are the contest then. */
static struct finalists choose(const struct job *job, struct tune_contest *contest, const struct saying *saying)
{
    struct tune_record *records = tune_contest_records(contest);
    const long winner = tune_judge_winner(records, contest->count);
    const mca_coll_han_params_t won = contest->contestants[winner].params;
    const long best = 0 != winner;
    long said = 0;

    free(records);
    tune_contest_only(contest, &job->machine, &won, best);
    if (saying->known) {
        said = tune_contest_add(contest, &job->machine, &saying->params);
    }
    tune_contest_add_own(contest, &job->machine);
    return (struct finalists){ .best = best, .table = saying->known ? said : contest->own, .own = contest->own };
}

static void print(const struct tune_contest *contest, const struct finalists *finalists, const struct saying *saying,
                  size_t bytes, double behind)
{
    const mca_coll_han_collective_t collective = contest->function.collective;
    const long others[] = { finalists->best, finalists->own, 0 };
    char name[TUNE_FUNCTION_NAME], text[HAN_CANDIDATE_TEXT];

    printf("%6d %-21s %10zu %7.2f", saying->line, tune_function_name(contest->function, name), bytes, behind);
    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        const double seconds = tune_series_median(&contest->contestants[finalists->table].series[clock]);

        printf(" %12.1f", 1e6 * seconds);
        for (int i = 0; i < 3; ++i) {
            printf(" %7.2f", tune_series_median(&contest->contestants[others[i]].series[clock]) / seconds);
        }
    }
    printf("  %s", mca_coll_han_candidate_text(collective, &contest->contestants[finalists->best].params, text));
    if (finalists->table != finalists->best) {
        printf("; the table: %s",
               saying->known ? mca_coll_han_candidate_text(collective, &saying->params, text) : "HAN's own choice");
    }
    putchar('\n');
    fflush(stdout);
}

static void tell(struct job *job)
{
    enum { TELL_SECONDS = 10 };
    const double now = MPI_Wtime(), passed = now - job->begin;
    char time[32], left[32];

    if (NULL == job->rules || job->way->quiet || now < job->told + TELL_SECONDS) {
        return;
    }
    job->told = now;
    tune_time_text(passed, time);
    tune_time_text(passed * (job->sizes - job->done) / job->done, left);
    fprintf(stderr, "han_tune: %d of %d sizes: %s, about %s left\n", job->done, job->sizes, time, left);
}

static void count_in(struct tally *tally, const struct tune_record *records, const struct finalists *finalists,
                     double behind)
{
    const struct tune_times *table = &records[finalists->table].median;

    ++tally->points;
    tally->same += finalists->table == finalists->best;
    tally->near += TUNE_WORTH >= behind;
    tally->behind_own += TUNE_WORTH < tune_judge_behind(table, &records[finalists->own].median);
    tally->behind_fallback += TUNE_WORTH < tune_judge_behind(table, &records[0].median);
    tally->sum += behind;
    tally->worst = fmax(tally->worst, behind);
}

static bool all_are_right(const struct tune_contest *contest)
{
    long i = 0;

    while (i < contest->count && !contest->contestants[i].out && 0 == contest->contestants[i].wrong) {
        ++i;
    }
    return i == contest->count;
}

/* One size of a function. Returns 0, or -1 where a call without HAN, or by its own choice, failed. */
static int with_size(struct job *job, struct tune_function function, size_t bytes)
{
    char name[TUNE_FUNCTION_NAME];
    struct tune_contest contest;
    struct saying saying;
    int rc;

    tune_contest_open(&contest, job->engine, &job->machine, function,
                      tune_race_timed(job->space, function.collective, job->ranks, bytes));
    contest.clock = job->way->clock;
    tune_contest_add_own(&contest, &job->machine);
    saying = ask(job, &contest, bytes);
    rc = hold(job, &contest, true);
    if (0 == rc) {
        const struct finalists finalists = choose(job, &contest, &saying);

        rc = hold(job, &contest, false);
        if (0 == rc && !all_are_right(&contest)) {
            tune_complain("%s, %zu bytes: a call fails or gives wrong results, and nothing is compared",
                          tune_function_name(function, name), bytes);
        } else if (0 == rc) {
            struct tune_record *records = tune_contest_records(&contest);
            const double behind = tune_judge_over(records, contest.count, finalists.table, finalists.best);

            count_in(&job->tally, records, &finalists, behind);
            if (NULL != job->rules) {
                print(&contest, &finalists, &saying, bytes, behind);
            }
            free(records);
        }
    }
    if (0 != rc) {
        tune_complain("%s, %zu bytes: a call failed", tune_function_name(function, name), bytes);
    }
    tune_contest_close(&contest);
    ++job->done;
    tell(job);
    return rc;
}

/* Each size of each function, as long as there is time. Returns 0, or -1 where a call failed. */
static int with_all(struct job *job)
{
    const struct tune_space *space = job->space;
    int rc = 0;

    for (int i = 0; i < space->function_count && 0 == rc; ++i) {
        const struct tune_function function = space->functions[i];
        size_t bytes;

        for (int size = 0; 0 == rc && tune_race_size(space, function.collective, job->ranks, size, &bytes); ++size) {
            if (tune_engine_is_past(job->engine, job->way->deadline)) {
                tune_complain("there was no time for all sizes");
                return 0;
            }
            rc = with_size(job, function, bytes);
        }
    }
    return rc;
}

static void sum_up(const struct tally *tally)
{
    if (0 == tally->points) {
        return;
    }
    printf("sizes: %d; the table says what is the best: %d, or at most %.2f behind it: %d; in the mean %.3f behind, at "
           "worst %.2f\n"
           "more than %.2f behind HAN's own choice: %d, behind what is done without HAN: %d\n",
           tally->points, tally->same, TUNE_WORTH, tally->near - tally->same, tally->sum / tally->points, tally->worst,
           TUNE_WORTH, tally->behind_own, tally->behind_fallback);
}

int tune_best(struct tune_engine *engine, const struct tune_space *space, const struct tune_way *way,
              const mca_coll_han_rules_t *rules)
{
    struct job job = { .engine = engine, .space = space, .way = way, .rules = rules, .begin = MPI_Wtime() };
    size_t bytes;
    int rc;

    job.told = job.begin;
    MPI_Comm_size(tune_engine_comm(engine), &job.ranks);
    tune_contest_machine(engine, &job.machine);
    for (int i = 0; i < space->function_count; ++i) {
        int size = 0;

        while (tune_race_size(space, space->functions[i].collective, job.ranks, size, &bytes)) {
            ++size;
        }
        if (0 == size) {
            tune_race_left_out(space, space->functions[i], job.ranks);
        }
        job.sizes += size;
    }
    if (NULL != rules) {
        printf("%d nodes of %d ranks\n%48s%37s%37s\n%6s %-21s %10s %7s %12s %7s %7s %7s %12s %7s %7s %7s  %s\n",
               space->nodes, space->ppn, "", "single calls", "calls in a row", "line", "function", "bytes", "behind",
               "table, us", "best, x", "own, x", "none, x", "table, us", "best, x", "own, x", "none, x", "best");
        fflush(stdout);
    }
    rc = with_all(&job);
    if (NULL != rules) {
        sum_up(&job.tally);
    }
    return rc;
}
