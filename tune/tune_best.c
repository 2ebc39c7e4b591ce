/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_best.h"

#include <math.h>
#include <stdlib.h>

#include "coll_han_choice.h"
#include "tune_contest.h"
#include "tune_options.h"
#include "tune_race.h"

/* What all candidates take of the time, about; the rest is for those that are compared. */
#define ALL_PART 0.7

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
    int torn;          /* all are so far behind one of these: what is best by one clock is bad by the other */
    double sum, worst; /* of how far it is behind, over how far the best is */
};

/* A size of a function, and those that are left there. */
struct point {
    struct tune_contest contest;
    struct finalists finalists;
    struct saying saying;
    size_t bytes;
};

struct job {
    struct tune_engine *engine;
    const struct tune_space *space;
    const struct tune_way *way;
    const mca_coll_han_rules_t *rules; /* NULL on other ranks than 0 */
    mca_coll_han_candidates_t machine;
    int ranks;
    struct point *points; /* [sizes] */
    int sizes, done;      /* that there are, and that all candidates have been timed at */
    double part;          /* of all that is over */
    double begin, told;
    struct tally tally;
};

/* What the model chooses, where it does: for the machine of the table, as in jobs that take it, else for this one. */
static void ask_model(const struct job *job, const struct tune_contest *contest, struct saying *saying)
{
    const mca_coll_han_input_t input = tune_known(tune_contest_input(contest, &job->machine));
    const mca_coll_han_machine_t *carried = &job->rules->numbers;
    const mca_coll_han_machine_t *machine = 0 != carried->hash ? carried : tune_engine_machine(job->engine);

    if (NULL != machine && mca_coll_han_choice_serves(&input)) {
        mca_coll_han_choices_t choices = { .count = 0 };
        const mca_coll_han_params_t *params = mca_coll_han_choose(&choices, machine, &input);

        tune_contest_need(NULL != params);
        saying->known = true;
        saying->params = *params;
        saying->params.why = NULL; /* it is rank 0's */
        mca_coll_han_choices_free(&choices);
    }
}

/* Rank 0 asks the model, for all. */
static struct saying ask(const struct job *job, const struct tune_contest *contest)
{
    struct saying saying = { .line = 0 };
    const long rule = tune_contest_ask(contest, &job->machine, job->rules, &saying.params);

    saying.known = 0 <= rule;
    if (NULL != job->rules && saying.known) {
        saying.line = job->rules->rules[rule].line;
    } else if (NULL != job->rules) {
        ask_model(job, contest, &saying);
    }
    MPI_Bcast(&saying, (int) sizeof(saying), MPI_BYTE, 0, tune_engine_comm(job->engine));
    return saying;
}

/* Rounds of all candidates, without those that are far behind. */
static int hold_all(const struct job *job, struct tune_contest *contest)
{
    int rc = 0;

    tune_contest_begin(contest, &tune_check_wholly);
    for (int round = 0; round < job->way->most && 0 == rc; ++round) {
        struct tune_record *records;

        rc = tune_contest_round(contest, round);
        records = tune_contest_records(contest);
        tune_judge_drop(records, contest->count, false);
        tune_contest_take(contest, records);
    }
    return rc;
}

/* The fastest of all: that one, what the table says, and HAN's own choice are the contest then. */
static struct finalists choose(const struct job *job, struct tune_contest *contest, const struct saying *saying)
{
    enum { BEST, TABLE, PLACES };
    struct tune_record *records = tune_contest_records(contest);
    long places[PLACES];

    places[BEST] = tune_judge_winner(records, contest->count);
    free(records);
    places[TABLE] = saying->known ? tune_contest_add(contest, &job->machine, &saying->params) : contest->own;
    tune_contest_keep(contest, places, PLACES);
    return (struct finalists){ .best = places[BEST], .table = places[TABLE], .own = contest->own };
}

static void print(const struct point *point, double behind, bool torn)
{
    const struct tune_contest *contest = &point->contest;
    const struct finalists *finalists = &point->finalists;
    const mca_coll_han_collective_t collective = contest->function.collective;
    const long others[] = { finalists->best, finalists->own, 0 };
    char name[TUNE_FUNCTION_NAME], text[HAN_CANDIDATE_TEXT];

    printf("%6d %-21s %10zu %7.2f", point->saying.line, tune_function_name(contest->function, name), point->bytes,
           behind);
    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        const double seconds = tune_series_median(&contest->contestants[finalists->table].series[clock]);

        printf(" %12.1f", 1e6 * seconds);
        for (int i = 0; i < 3; ++i) {
            printf(" %7.2f", tune_series_median(&contest->contestants[others[i]].series[clock]) / seconds);
        }
    }
    printf("  %s", mca_coll_han_candidate_text(collective, &contest->contestants[finalists->best].params, text));
    if (finalists->table != finalists->best) {
        printf("; the table: %s", point->saying.known
                                      ? mca_coll_han_candidate_text(collective, &point->saying.params, text)
                                      : "HAN's own choice");
    }
    if (torn) {
        printf("; each is slower by a clock");
    }
    putchar('\n');
}

static void tell(struct job *job, const char *what)
{
    enum { TELL_SECONDS = 10 };
    const double now = MPI_Wtime(), passed = now - job->begin;
    char time[32], left[32];

    if (NULL == job->rules || job->way->quiet || now < job->told + TELL_SECONDS) {
        return;
    }
    job->told = now;
    tune_time_text(passed, time);
    tune_time_text(passed * (1 - job->part) / job->part, left);
    fprintf(stderr, "han_tune: %s: %s, about %s left\n", what, time, left);
}

static void count_in(struct tally *tally, const struct tune_record *records, const struct finalists *finalists,
                     double behind, bool torn)
{
    const struct tune_times *table = &records[finalists->table].median;

    ++tally->points;
    tally->same += finalists->table == finalists->best;
    tally->near += TUNE_WORTH >= behind;
    tally->behind_own += TUNE_WORTH < tune_judge_behind(table, &records[finalists->own].median);
    tally->behind_fallback += TUNE_WORTH < tune_judge_behind(table, &records[0].median);
    tally->torn += torn;
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

/* A call without HAN, or by its own choice, failed: -1. */
static int failed_at(const struct point *point)
{
    char name[TUNE_FUNCTION_NAME];

    tune_complain("%s, %zu bytes: a call failed", tune_function_name(point->contest.function, name), point->bytes);
    return -1;
}

/* All candidates of one size, of which the best one stays, what the table says, and HAN's own choice. */
static int find_best(struct job *job, struct tune_function function, size_t bytes)
{
    struct point *point = &job->points[job->done++];
    struct tune_contest *contest = &point->contest;
    char what[TUNE_TEXT];

    point->bytes = bytes;
    tune_contest_open(contest, job->engine, &job->machine, function,
                      tune_race_timed(job->space, function.collective, job->ranks, bytes));
    contest->clock = job->way->clock;
    tune_contest_add_own(contest, &job->machine);
    point->saying = ask(job, contest);
    if (0 != hold_all(job, contest)) {
        return failed_at(point);
    }
    point->finalists = choose(job, contest, &point->saying);
    tune_contest_begin(contest, &tune_check_wholly);
    job->part = ALL_PART * job->done / job->sizes;
    snprintf(what, sizeof(what), "%d of %d sizes", job->done, job->sizes);
    tell(job, what);
    return 0;
}

/* Each size of each function, as long as there is time. */
static int find_all_best(struct job *job)
{
    const struct tune_space *space = job->space;
    const double until = job->begin + ALL_PART * (job->way->deadline - job->begin);
    int rc = 0;

    for (int i = 0; i < space->function_count && 0 == rc; ++i) {
        const struct tune_function function = space->functions[i];
        size_t bytes;

        for (int size = 0; 0 == rc && tune_race_size(space, function.collective, job->ranks, size, &bytes); ++size) {
            if (tune_engine_is_past(job->engine, until)) {
                tune_complain("there was no time for all sizes");
                return 0;
            }
            rc = find_best(job, function, bytes);
        }
    }
    return rc;
}

/* A round of a size; of short calls more, as in last rounds. */
static int compare_once(const struct job *job, struct point *point, int round)
{
    if (round >= job->way->most && TUNE_QUICK_SECONDS <= point->contest.spent) {
        return 0;
    }
    return 0 == tune_contest_round(&point->contest, round) ? 0 : failed_at(point);
}

/* What disturbs a machine for some seconds meets all alike: each size has its second round when all have had their
 * first. */
static int compare(struct job *job)
{
    const int most = job->way->most;
    bool over = false;
    int rc = 0;

    for (int round = 0; round < TUNE_QUICK_TIMES * most && 0 == rc && !over; ++round) {
        for (int i = 0; i < job->done && 0 == rc; ++i) {
            rc = compare_once(job, &job->points[i], round);
            job->part = ALL_PART + (1 - ALL_PART) * fmin(1, (double) (round * job->done + i + 1) / (most * job->done));
            tell(job, "side by side");
        }
        over = round + 1 >= job->way->least && tune_engine_is_past(job->engine, job->way->deadline);
    }
    return rc;
}

static void tell_result(struct job *job, const struct point *point)
{
    const struct tune_contest *contest = &point->contest;
    const struct finalists *finalists = &point->finalists;
    char name[TUNE_FUNCTION_NAME];

    if (!all_are_right(contest)) {
        tune_complain("%s, %zu bytes: a call fails or gives wrong results, and nothing is compared",
                      tune_function_name(contest->function, name), point->bytes);
    } else {
        struct tune_record *records = tune_contest_records(contest);
        const double behind = tune_judge_over(records, contest->count, finalists->table, finalists->best);
        const bool torn = tune_judge_is_torn(records, contest->count);

        count_in(&job->tally, records, finalists, behind, torn);
        if (NULL != job->rules) {
            print(point, behind, torn);
        }
        free(records);
    }
}

static void sum_up(const struct tally *tally)
{
    if (0 == tally->points) {
        return;
    }
    printf("sizes: %d; the table says what is the best: %d, or at most %.2f behind it: %d; in the mean %.3f behind, at "
           "worst %.2f\n"
           "more than %.2f behind HAN's own choice: %d, behind what is done without HAN: %d; sizes where each of all "
           "that is compared is so behind one of these: %d\n",
           tally->points, tally->same, TUNE_WORTH, tally->near - tally->same, tally->sum / tally->points, tally->worst,
           TUNE_WORTH, tally->behind_own, tally->behind_fallback, tally->torn);
}

int tune_best(struct tune_engine *engine, const struct tune_space *space, const struct tune_way *way,
              const mca_coll_han_rules_t *rules)
{
    struct job job = { .engine = engine, .space = space, .way = way, .rules = rules, .begin = MPI_Wtime() };
    int rc;

    job.told = job.begin;
    MPI_Comm_size(tune_engine_comm(engine), &job.ranks);
    tune_contest_machine(engine, way->all_submodules, &job.machine);
    job.sizes = tune_race_sizes(space, job.ranks);
    if (NULL != rules) {
        printf("%d nodes of %d ranks\n%48s%37s%37s\n%6s %-21s %10s %7s %12s %7s %7s %7s %12s %7s %7s %7s  %s\n",
               space->nodes, space->ppn, "", "single calls", "calls in a row", "line", "function", "bytes", "behind",
               "table, us", "best, x", "own, x", "none, x", "table, us", "best, x", "own, x", "none, x", "best");
        fflush(stdout);
    }
    job.points = calloc((size_t) job.sizes + 1, sizeof(*job.points));
    tune_contest_need(NULL != job.points);
    rc = find_all_best(&job);
    rc = 0 == rc ? compare(&job) : rc;
    for (int i = 0; i < job.done; ++i) {
        if (0 == rc) {
            tell_result(&job, &job.points[i]);
        }
        tune_contest_close(&job.points[i].contest);
    }
    free(job.points);
    if (NULL != rules && 0 == rc) {
        sum_up(&job.tally);
    }
    return rc;
}
