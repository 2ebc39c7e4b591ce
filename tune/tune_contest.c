/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_contest.h"

#include "common/tool_version.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune_options.h"

void tune_contest_need(bool memory)
{
    if (!memory) {
        tune_complain_here("no memory is left");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

/* All zero; to be freed. */
static void *allocate(long count, size_t size)
{
    void *memory = calloc((size_t) count, size);

    tune_contest_need(NULL != memory);
    return memory;
}

size_t tune_contest_held(mca_coll_han_collective_t collective, size_t bytes, int ranks)
{
    switch (collective) {
    case HAN_BARRIER:
        return 0;
    case HAN_BCAST:
    case HAN_REDUCE:
    case HAN_ALLREDUCE:
    case HAN_SCAN:
    case HAN_EXSCAN:
        return bytes;
    default:
        return bytes * (size_t) ranks;
    }
}

/* What a rank holds of it. */
static size_t held_bytes(struct tune_engine *engine, mca_coll_han_collective_t collective, size_t bytes)
{
    int ranks;

    MPI_Comm_size(tune_engine_comm(engine), &ranks);
    return tune_contest_held(collective, bytes, ranks);
}

void tune_contest_machine(struct tune_engine *engine, bool all_submodules, mca_coll_han_candidates_t *machine)
{
    static const mca_coll_han_submodule_t lows[] = { HAN_SOLO, HAN_TUNED, HAN_SM, HAN_BASIC };
    enum { FEW_LOWS = 2, ALL_LOWS = sizeof(lows) / sizeof(lows[0]) };

    memset(machine, 0, sizeof(*machine));
    tune_engine_shape(engine, &machine->input.nodes, &machine->input.ppn);
    machine->input.in_order = tune_engine_in_order(engine);
    machine->input.uneven = !tune_engine_is_even(engine);
    for (int i = 0; i < (all_submodules ? ALL_LOWS : FEW_LOWS); ++i) {
        /* Alone on its node, a rank has nothing to do there, whoever does it. */
        if (tune_engine_has(engine, HAN_LOW, lows[i]) && (1 < machine->input.ppn || 0 == machine->low_count)) {
            machine->lows[machine->low_count++] = lows[i];
        }
    }
    machine->libnbc = all_submodules && tune_engine_has(engine, HAN_UP, HAN_LIBNBC);
}

/* NULL: as HAN chooses by itself. */
static const mca_coll_han_params_t *params_of(const struct tune_contestant *contestant)
{
    return contestant->guest ? NULL : &contestant->params;
}

mca_coll_han_input_t tune_contest_input(const struct tune_contest *contest, const mca_coll_han_candidates_t *machine)
{
    mca_coll_han_input_t input = mca_coll_han_input_good(contest->function.collective);

    input.nodes = machine->input.nodes;
    input.ppn = machine->input.ppn;
    input.in_order = machine->input.in_order;
    input.uneven = machine->input.uneven;
    input.bytes = contest->bytes;
    input.form = contest->function.form;
    return input;
}

long tune_contest_ask(const struct tune_contest *contest, const mca_coll_han_candidates_t *machine,
                      const mca_coll_han_rules_t *rules, mca_coll_han_params_t *params)
{
    struct {
        long rule;
        mca_coll_han_params_t params;
    } saying = { .rule = -1 };

    if (NULL != rules) {
        const mca_coll_han_input_t input = tune_known(tune_contest_input(contest, machine));
        const mca_coll_han_rule_t *rule;

        tune_contest_need(0 == tune_nearest(rules, &input, &rule));
        if (mca_coll_han_rule_decides(rule, &input)) {
            saying.rule = rule - rules->rules;
            saying.params = mca_coll_han_decide(&input, &rule->params, &mca_coll_han_unset);
            saying.params.why = NULL; /* it is rank 0's */
        }
    }
    MPI_Bcast(&saying, (int) sizeof(saying), MPI_BYTE, 0, tune_engine_comm(contest->engine));
    *params = saying.params;
    return saying.rule;
}

bool tune_contest_serves(const struct tune_contest *contest, const mca_coll_han_candidates_t *machine, long candidate,
                         mca_coll_han_form_t form)
{
    mca_coll_han_input_t input = tune_contest_input(contest, machine);

    input.form = form;
    return mca_coll_han_fits(contest->contestants[candidate].params.algorithm, &input);
}

static void set_contestants(struct tune_contest *contest, const mca_coll_han_input_t *input,
                            const mca_coll_han_params_t *params, long count)
{
    contest->count = count;
    contest->contestants = allocate(count, sizeof(*contest->contestants));
    for (long i = 0; i < count; ++i) {
        contest->contestants[i].params = params[i];
        (void) tune_engine_predict(contest->engine, input, &params[i], &contest->contestants[i].predicted);
    }
}

void tune_contest_open(struct tune_contest *contest, struct tune_engine *engine,
                       const mca_coll_han_candidates_t *machine, struct tune_function function, size_t bytes)
{
    mca_coll_han_candidates_t what = *machine;
    mca_coll_han_params_t *params;
    long count;

    *contest = (struct tune_contest){ .engine = engine,
                                      .function = function,
                                      .bytes = bytes,
                                      .clock = TUNE_CLOCK_COUNT,
                                      .calls = tune_engine_calls(held_bytes(engine, function.collective, bytes)),
                                      .warms_up = true,
                                      .own = -1 };
    what.input = tune_contest_input(contest, machine);
    count = mca_coll_han_candidates_make(&what, &params);
    tune_contest_need(0 <= count);
    set_contestants(contest, &what.input, params, count);
    free(params);
}

void tune_contest_only(struct tune_contest *contest, const mca_coll_han_candidates_t *machine,
                       const mca_coll_han_params_t *params, long count)
{
    const mca_coll_han_input_t input = tune_contest_input(contest, machine);
    mca_coll_han_params_t *all = allocate(count + 1, sizeof(*all));

    all[0] = contest->contestants[0].params;
    memcpy(all + 1, params, (size_t) count * sizeof(*all));
    tune_contest_close(contest);
    set_contestants(contest, &input, all, count + 1);
    contest->own = -1;
    free(all);
}

long tune_contest_add(struct tune_contest *contest, const mca_coll_han_candidates_t *machine,
                      const mca_coll_han_params_t *params)
{
    const mca_coll_han_input_t input = tune_contest_input(contest, machine);
    struct tune_contestant *grown;
    long place = 0;

    while (place < contest->count && !tune_is_same(&input, params, &contest->contestants[place].params)) {
        ++place;
    }
    if (place < contest->count) {
        return place;
    }
    grown = realloc(contest->contestants, (size_t) (contest->count + 1) * sizeof(*contest->contestants));
    tune_contest_need(NULL != grown);
    contest->contestants = grown;
    contest->contestants[place] = (struct tune_contestant){ .params = *params };
    (void) tune_engine_predict(contest->engine, &input, params, &contest->contestants[place].predicted);
    contest->count = place + 1;
    return place;
}

void tune_contest_add_own(struct tune_contest *contest, const mca_coll_han_candidates_t *machine)
{
    const long count = contest->count;
    mca_coll_han_params_t params;

    tune_contest_need(tune_engine_choice(contest->engine, tune_contest_input(contest, machine), &params));
    contest->own = tune_contest_add(contest, machine, &params);
    contest->contestants[contest->own].guest = count == contest->own;
}

void tune_contest_leave_out(struct tune_contest *contest, int times)
{
    mca_coll_han_times_t best = { UINT64_MAX, UINT64_MAX };

    for (long i = 0; i < contest->count; ++i) {
        const mca_coll_han_times_t *predicted = &contest->contestants[i].predicted;

        best.single = predicted->single < best.single ? predicted->single : best.single;
        best.row = predicted->row < best.row ? predicted->row : best.row;
    }
    for (long i = 1; i < contest->count; ++i) {
        const mca_coll_han_times_t *predicted = &contest->contestants[i].predicted;

        contest->contestants[i].out = i != contest->own && predicted->single / (uint64_t) times > best.single
                                      && predicted->row / (uint64_t) times > best.row;
    }
}

static void forget_series(struct tune_contestant *contestant)
{
    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        tune_series_free(&contestant->series[clock]);
    }
}

void tune_contest_keep(struct tune_contest *contest, long *places, int count)
{
    long *now = allocate(contest->count, sizeof(*now)), kept = 0;

    now[contest->own] = 1;
    for (int i = 0; i < count; ++i) {
        now[places[i]] = 1;
    }
    for (long i = 0; i < contest->count; ++i) {
        const struct tune_contestant was = contest->contestants[i];

        forget_series(&contest->contestants[i]);
        if (0 == i || 1 == now[i]) {
            now[i] = kept;
            contest->contestants[kept++]
                = (struct tune_contestant){ .params = was.params, .predicted = was.predicted, .guest = was.guest };
        }
    }
    contest->count = kept;
    contest->spent = 0;
    contest->own = now[contest->own];
    for (int i = 0; i < count; ++i) {
        places[i] = now[places[i]];
    }
    free(now);
}

void tune_contest_close(struct tune_contest *contest)
{
    for (long i = 0; i < contest->count; ++i) {
        forget_series(&contest->contestants[i]);
    }
    free(contest->contestants);
}

/* Who is predicted to take the least of those that have had no turn; the fallback and HAN's own choice first; -1: none.
 */
static long next_to_check(const struct tune_contest *contest, const bool *had)
{
    long next = -1;
    double least = INFINITY;

    for (long i = 0; i < contest->count; ++i) {
        const struct tune_contestant *const contestant = &contest->contestants[i];
        const bool first = 0 == i || i == contest->own;
        const double both = first ? -1 : (double) contestant->predicted.single * (double) contestant->predicted.row;

        if (!had[i] && !contestant->out && both < least) {
            next = i;
            least = both;
        }
    }
    return next;
}

const struct tune_check tune_check_wholly = { .whole = true, .seconds = INFINITY };

int tune_contest_check(struct tune_contest *contest, const struct tune_check *how)
{
    struct tune_engine *const engine = contest->engine;
    const size_t held = held_bytes(engine, contest->function.collective, contest->bytes);
    const bool expected = tune_engine_expect(engine, contest->function, contest->bytes, held);
    const double end = MPI_Wtime() + how->seconds;
    int *wrong = allocate(contest->count, sizeof(*wrong)), sum = 0;
    double *seconds = allocate(contest->count, sizeof(*seconds));
    bool *had = allocate(contest->count, sizeof(*had));
    long next = next_to_check(contest, had);

    for (long turns = 1; 0 <= next; ++turns) {
        struct tune_contestant *const contestant = &contest->contestants[next];

        wrong[next] = !tune_engine_right(engine, contest->function, params_of(contestant), contest->bytes, how->whole,
                                         &seconds[next])
                      || !expected;
        seconds[next] = 0 > seconds[next] ? INFINITY : seconds[next];
        had[next] = true;
        next = turns < how->least || !tune_engine_is_past(engine, end) ? next_to_check(contest, had) : -1;
    }
    MPI_Allreduce(MPI_IN_PLACE, wrong, (int) contest->count, MPI_INT, MPI_SUM, tune_engine_comm(engine));
    MPI_Allreduce(MPI_IN_PLACE, seconds, (int) contest->count, MPI_DOUBLE, MPI_MAX, tune_engine_comm(engine));
    for (long i = 0; i < contest->count; ++i) {
        contest->contestants[i].out = !had[i] || isinf(seconds[i]);
        contest->contestants[i].wrong = wrong[i];
        contest->contestants[i].checked = seconds[i];
        sum += wrong[i];
    }
    free(wrong);
    free(seconds);
    free(had);
    return sum;
}

/*
 * Where a call takes long, the first and the last of a row matter less, and few are enough; and the first behind those
 * of another candidate takes no longer than the next one.
 */
static void shorten(struct tune_contest *contest)
{
    enum { LEAST = 2 };
    const double most = 0.02, cold = 0.01; /* seconds */
    double least = INFINITY;

    for (long i = 0; i < contest->count; ++i) {
        least = contest->contestants[i].out ? least : fmin(least, contest->contestants[i].checked);
    }
    while (LEAST < contest->calls && most < contest->calls * least) {
        --contest->calls;
    }
    contest->warms_up = cold > least;
}

void tune_contest_begin(struct tune_contest *contest, const struct tune_check *how)
{
    char name[TUNE_FUNCTION_NAME];

    if (0 < tune_contest_check(contest, how)) {
        tune_complain("%s, %zu bytes: some candidates fail or give wrong results, and are left out",
                      tune_function_name(contest->function, name), contest->bytes);
    }
    shorten(contest);
}

/*
 * A round: calls in a row once, and single calls, of which the median counts. Short ones, which a disturbance changes
 * by as much as they take, are timed more than once: together they take no longer than the row. An odd number.
 */
static int turns_of(const struct tune_contest *contest, enum tune_clock clock)
{
    return TUNE_SINGLE == clock ? (contest->calls / 10) | 1 : 1;
}

enum { MOST_TURNS = 8 };

/* Seconds of the slowest rank. */
struct turns {
    double seconds[TUNE_CLOCK_COUNT][MOST_TURNS];
};

/*
 * Begins with the one clock or the other, after a call that does not count: the first short call behind those of
 * another candidate is longer than all that follow it in a program that has one way. INFINITY where a call fails on
 * this rank.
 */
static void take_turns(const struct tune_contest *contest, const struct tune_contestant *contestant, int first,
                       struct turns *turns)
{
    if (contest->warms_up) {
        (void) tune_engine_time(contest->engine, contest->function, params_of(contestant), contest->bytes, 1);
    }
    for (int k = 0; k < TUNE_CLOCK_COUNT; ++k) {
        const enum tune_clock clock = (enum tune_clock)((first + k) % TUNE_CLOCK_COUNT);
        const int calls = TUNE_SINGLE == clock ? 1 : contest->calls;

        for (int turn = 0; turn < turns_of(contest, clock); ++turn) {
            const double time
                = tune_engine_time(contest->engine, contest->function, params_of(contestant), contest->bytes, calls);

            turns->seconds[clock][turn] = 0 > time ? INFINITY : time / calls;
        }
    }
}

/* What a round has told of one. Whether all its calls went well. */
static bool add_turns(const struct tune_contest *contest, struct tune_contestant *contestant, struct turns *turns)
{
    double medians[TUNE_CLOCK_COUNT];
    bool good = true;

    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        const int count = turns_of(contest, (enum tune_clock) clock);

        for (int turn = 0; turn < count; ++turn) {
            good = good && !isinf(turns->seconds[clock][turn]);
        }
        medians[clock] = tune_median(turns->seconds[clock], (size_t) count);
    }
    for (int clock = 0; clock < TUNE_CLOCK_COUNT && good; ++clock) {
        tune_contest_need(0 == tune_series_add(&contestant->series[clock], medians[clock]));
    }
    return good;
}

int tune_contest_round(struct tune_contest *contest, int round)
{
    const long count = contest->count;
    struct turns *turns = allocate(count, sizeof(*turns));
    long *order = allocate(count, sizeof(*order));
    struct tune_record *records;
    char name[TUNE_FUNCTION_NAME];
    int rc = 0;

    tune_engine_change_seats(contest->engine);
    /* A call finds caches and ranks as the one before has left them. */
    tune_order(contest->function, contest->bytes, round, tune_engine_seed(contest->engine), order, count);
    for (long k = 0; k < count; ++k) {
        const long i = order[k];

        if (!contest->contestants[i].out) {
            take_turns(contest, &contest->contestants[i], (int) ((k + round) % TUNE_CLOCK_COUNT), &turns[i]);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, turns, (int) (count * TUNE_CLOCK_COUNT * MOST_TURNS), MPI_DOUBLE, MPI_MAX,
                  tune_engine_comm(contest->engine));
    for (long i = 0; i < count; ++i) {
        struct tune_contestant *const contestant = &contest->contestants[i];

        if (contestant->out || add_turns(contest, contestant, &turns[i])) {
            continue;
        }
        contestant->out = true;
        contestant->wrong = 1;
        if (0 == i || i == contest->own) {
            rc = -1; /* with these all others are compared */
        } else {
            tune_complain("%s, %zu bytes: a candidate fails, and is left out",
                          tune_function_name(contest->function, name), contest->bytes);
        }
    }
    free(turns);
    free(order);
    records = tune_contest_records(contest);
    contest->spent += tune_judge_cost(records, count);
    free(records);
    return rc;
}

static struct tune_record record_of(const struct tune_contest *contest, long one)
{
    const struct tune_contestant *const contestant = &contest->contestants[one];
    struct tune_record record = { .rounds = (int) contestant->series[TUNE_SINGLE].count,
                                  .wrong = 0 < contestant->wrong,
                                  .out = contestant->out,
                                  .own = one == contest->own,
                                  .guest = contestant->guest };

    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        const struct tune_series *const series = &contestant->series[clock];

        record.median.seconds[clock] = 0 < series->count ? tune_series_median(series) : contestant->checked;
        record.least.seconds[clock] = record.most.seconds[clock] = record.median.seconds[clock];
        for (size_t i = 0; i < series->count; ++i) {
            record.least.seconds[clock] = fmin(record.least.seconds[clock], series->samples[i]);
            record.most.seconds[clock] = fmax(record.most.seconds[clock], series->samples[i]);
        }
    }
    record.cost = (contest->warms_up + turns_of(contest, TUNE_SINGLE)) * record.median.seconds[TUNE_SINGLE]
                  + contest->calls * record.median.seconds[TUNE_ROW];
    tune_judge_by(&record.median, contest->clock);
    tune_judge_by(&record.least, contest->clock);
    tune_judge_by(&record.most, contest->clock);
    return record;
}

struct tune_record *tune_contest_records(const struct tune_contest *contest)
{
    struct tune_record *records = allocate(contest->count, sizeof(*records));

    for (long i = 0; i < contest->count; ++i) {
        records[i] = record_of(contest, i);
    }
    return records;
}

void tune_contest_take(struct tune_contest *contest, struct tune_record *records)
{
    for (long i = 0; i < contest->count; ++i) {
        contest->contestants[i].out = records[i].out;
    }
    free(records);
}

static void flush(struct tune_table *table)
{
    if (0 != fflush(table->file) && 0 == table->error) {
        table->error = errno;
    }
}

void tune_contest_print_head(struct tune_table *table)
{
    fputs("nodes,ppn,map,rate,collective,bytes,algorithm,single_us,row_us,wrong,calls,rounds,"
          "predicted_single_us,predicted_row_us,version\n",
          table->file);
    flush(table);
}

void tune_contest_print(const struct tune_contest *contest, const char *rate, struct tune_table *table)
{
    int nodes, ppn;

    tune_engine_shape(contest->engine, &nodes, &ppn);
    for (long i = 0; i < contest->count; ++i) {
        const struct tune_contestant *contestant = &contest->contestants[i];
        char text[HAN_CANDIDATE_TEXT], name[TUNE_FUNCTION_NAME];

        if (contestant->guest || 0 == contestant->series[TUNE_SINGLE].count) {
            continue;
        }
        fprintf(table->file, "%d,%d,%s,%s,%s,%zu,%s,%.1f,%.2f,%d,%d,%zu,%.1f,%.2f," HAN_VERSION_TEXT "\n", nodes, ppn,
                tune_engine_in_order(contest->engine) ? "slot" : "node", rate,
                tune_function_name(contest->function, name), contest->bytes,
                mca_coll_han_candidate_text(contest->function.collective, &contestant->params, text),
                1e6 * tune_series_median(&contestant->series[TUNE_SINGLE]),
                1e6 * tune_series_median(&contestant->series[TUNE_ROW]), contestant->wrong, contest->calls,
                contestant->series[TUNE_SINGLE].count, 1e-6 * (double) contestant->predicted.single,
                1e-6 * (double) contestant->predicted.row);
    }
    flush(table);
}
