/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune.h"

#include <math.h>

/* Who is no more behind the best than that could as well be the winner. */
#define TIE 1.03

/* A disturbance takes no longer: what a system gives another process, a few times; and what meets both clocks. */
#define DISTURBANCE 20e-3 /* seconds */
#define DISTURBANCE_BOTH 1e-3

/* How far behind the winner its fastest call may be, and it stays: after a round, the next, all others. */
static const double stay_within[] = { 2.0, 1.5, 1.25 };
enum { LAST_STAY = sizeof(stay_within) / sizeof(stay_within[0]) - 1 };

/* After a round, where all are to be timed well: a machine may be disturbed for as long as that round takes. */
static const double stay_to_be_timed = 5.0;

double tune_judge_behind(const struct tune_times *times, const struct tune_times *other)
{
    double most = 0;

    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        most = fmax(most, times->seconds[clock] / other->seconds[clock]);
    }
    return most;
}

/* By the clock by which that is less. */
static double behind_by_both(const struct tune_times *times, const struct tune_times *other)
{
    double least = INFINITY;

    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        least = fmin(least, times->seconds[clock] / other->seconds[clock]);
    }
    return least;
}

void tune_judge_by(struct tune_times *times, enum tune_clock clock)
{
    for (int other = 0; other < TUNE_CLOCK_COUNT && TUNE_CLOCK_COUNT != clock; ++other) {
        times->seconds[other] = times->seconds[clock];
    }
}

double tune_judge_mean(const struct tune_times *times)
{
    return sqrt(times->seconds[TUNE_SINGLE] * times->seconds[TUNE_ROW]);
}

bool tune_judge_beats(const struct tune_times *times, const struct tune_times *other)
{
    struct tune_times best;

    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        best.seconds[clock] = fmin(times->seconds[clock], other->seconds[clock]);
    }
    return tune_judge_behind(other, &best) >= TUNE_GAIN * tune_judge_behind(times, &best)
           && tune_judge_behind(times, other) <= TUNE_WORTH;
}

/* By each clock the least median of those that were timed; before the first round, of all that are in. */
static struct tune_times best_of(const struct tune_record *records, long count)
{
    struct tune_times best = records[0].median;

    for (long i = 1; i < count; ++i) {
        const struct tune_record *const record = &records[i];

        for (int clock = 0; clock < TUNE_CLOCK_COUNT && !record->wrong && !(record->out && 0 == record->rounds);
             ++clock) {
            best.seconds[clock] = fmin(best.seconds[clock], record->median.seconds[clock]);
        }
    }
    return best;
}

/* Each contest has it. */
static const struct tune_record *own_of(const struct tune_record *records, long count)
{
    long i = 0;

    while (i < count - 1 && !records[i].own) {
        ++i;
    }
    return &records[i];
}

/*
 * Whether it is right, and not clearly slower than the fallback by either clock. Or faster than HAN's own choice by
 * both, which is what decides where no one wins.
 */
static bool may_win(const struct tune_record *records, long count, long one)
{
    const struct tune_record *const record = &records[one];

    return !record->wrong && !record->out && !record->guest
           && (TUNE_WORTH >= tune_judge_behind(&record->median, &records[0].median)
               || 1 > tune_judge_behind(&record->median, &own_of(records, count)->median));
}

long tune_judge_winner(const struct tune_record *records, long count)
{
    const struct tune_times best = best_of(records, count);
    long winner = 0;

    for (long i = 1; i < count; ++i) {
        if (may_win(records, count, i)
            && tune_judge_behind(&records[i].median, &best) < tune_judge_behind(&records[winner].median, &best)) {
            winner = i;
        }
    }
    return winner;
}

bool tune_judge_ties(const struct tune_record *records, long count, long one, long winner)
{
    const struct tune_times best = best_of(records, count);

    return may_win(records, count, one)
           && tune_judge_behind(&records[one].median, &best) <= TIE * tune_judge_behind(&records[winner].median, &best);
}

double tune_judge_over(const struct tune_record *records, long count, long one, long other)
{
    const struct tune_times best = best_of(records, count);

    return tune_judge_behind(&records[one].median, &best) / tune_judge_behind(&records[other].median, &best);
}

void tune_judge_take_back(struct tune_record *records, long count)
{
    for (long i = 0; i < count; ++i) {
        records[i].out = records[i].out && 2 > records[i].rounds;
    }
}

bool tune_judge_is_torn(const struct tune_record *records, long count)
{
    const struct tune_record *const own = own_of(records, count);
    bool torn = true;

    for (long i = 0; i < count && torn; ++i) {
        torn = records[i].wrong || TUNE_WORTH < tune_judge_behind(&records[i].median, &records[0].median)
               || TUNE_WORTH < tune_judge_behind(&records[i].median, &own->median);
    }
    return torn;
}

bool tune_judge_pays(const struct tune_record *records, long count, long one)
{
    const struct tune_record *const record = &records[one];

    return may_win(records, count, one) && tune_judge_beats(&record->median, &own_of(records, count)->median)
           && tune_judge_mean(&record->median) <= tune_judge_mean(&records[0].median);
}

static bool is_ahead(const struct tune_record *records, long count, long one, long other)
{
    const int more = tune_judge_pays(records, count, one) - tune_judge_pays(records, count, other);

    return 0 < more || (0 == more && 1 > tune_judge_over(records, count, one, other));
}

long tune_judge_foremost(const struct tune_record *records, long count, long but)
{
    long first = but;

    for (long i = 0; i < count; ++i) {
        if (!records[i].own && i != but && may_win(records, count, i)
            && (first == but || is_ahead(records, count, i, first))) {
            first = i;
        }
    }
    return first;
}

/* ---- round by round ---- */

/* Of two that are alike, one is slower in each of three rounds once in twenty times, in each of two once in six. */
enum { ALL_THE_TIME = 3 };

/* Whether it has been slower all the time, by a clock by which that counts. */
static bool is_apart(const struct tune_record *record, const struct tune_record *leader)
{
    bool apart = false;

    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        apart = apart || record->least.seconds[clock] > TIE * leader->most.seconds[clock];
    }
    return apart && ALL_THE_TIME <= record->rounds && ALL_THE_TIME <= leader->rounds;
}

void tune_judge_drop(struct tune_record *records, long count, bool by_both)
{
    const struct tune_times best = best_of(records, count);
    const struct tune_record *const leader = &records[tune_judge_winner(records, count)];
    const double lead = tune_judge_behind(&leader->median, &best);

    for (long i = 0; i < count; ++i) {
        struct tune_record *const record = &records[i];
        const bool always = by_both || 0 == i || record->own;
        const double least = (always ? behind_by_both : tune_judge_behind)(&record->least, &best);

        if (record == leader || record->out || 1 > record->rounds || (by_both && 0 == i)) {
            continue;
        }
        if (1 == record->rounds) {
            const double within = by_both ? stay_to_be_timed : stay_within[0];
            const bool twice = within * lead < behind_by_both(&record->least, &best);

            record->out
                = within * lead < least && (twice ? DISTURBANCE_BOTH : DISTURBANCE) < record->cost - leader->cost;
        } else {
            record->out = stay_within[record->rounds <= LAST_STAY ? record->rounds - 1 : LAST_STAY] * lead < least
                          || (!always && TIE * lead < least && is_apart(record, leader));
        }
    }
}

double tune_judge_cost(const struct tune_record *records, long count)
{
    double sum = 0;

    for (long i = 0; i < count; ++i) {
        sum += records[i].out ? 0 : records[i].cost;
    }
    return sum;
}

void tune_judge_fit(struct tune_record *records, long count, double seconds, long least)
{
    double sum = tune_judge_cost(records, count);
    long in = 0;

    for (long i = 0; i < count; ++i) {
        in += !records[i].out && 0 != i && !records[i].own;
    }
    while (sum > seconds && in > least) {
        const struct tune_times best = best_of(records, count);
        struct tune_record *last = NULL;

        for (long i = 1; i < count; ++i) {
            if (!records[i].out && !records[i].own
                && (NULL == last
                    || tune_judge_behind(&records[i].median, &best) > tune_judge_behind(&last->median, &best))) {
                last = &records[i];
            }
        }
        last->out = true;
        sum -= last->cost;
        --in;
    }
}

bool tune_judge_is_over(const struct tune_record *records, long count)
{
    const struct tune_record *const own = own_of(records, count);
    const long winner = tune_judge_winner(records, count);
    bool tie = true, hope = false;
    long in = 0;

    for (long i = 1; i < count; ++i) {
        if (!records[i].out && !records[i].own) {
            ++in;
            tie = tie && tune_judge_ties(records, count, i, winner);
            hope = hope || tune_judge_beats(&records[i].least, &own->median);
        }
    }
    /* Whom HAN's own choice is ahead of may still beat it. */
    return (1 >= in && !records[winner].own) || tie || !hope;
}
