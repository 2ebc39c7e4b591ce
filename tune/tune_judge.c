/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune.h"

#include <math.h>

/* How many times as long, by the clock by which that is more. */
static double behind(const struct tune_times *times, const struct tune_times *other)
{
    double most = 0;

    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        most = fmax(most, times->seconds[clock] / other->seconds[clock]);
    }
    return most;
}

double tune_judge_mean(const struct tune_times *times)
{
    return sqrt(times->seconds[TUNE_SINGLE] * times->seconds[TUNE_ROW]);
}

bool tune_judge_beats(const struct tune_times *times, const struct tune_times *other)
{
    return tune_judge_mean(other) >= TUNE_WORTH * tune_judge_mean(times) && behind(times, other) <= TUNE_WORTH;
}

long tune_judge_winner(const struct tune_times *times, long count)
{
    struct tune_times best = times[0];
    long winner = 0;

    for (long i = 1; i < count; ++i) {
        for (int clock = 0; clock < TUNE_CLOCK_COUNT && !times[i].out; ++clock) {
            best.seconds[clock] = fmin(best.seconds[clock], times[i].seconds[clock]);
        }
    }
    for (long i = 1; i < count; ++i) {
        if (!times[i].out && TUNE_WORTH >= behind(&times[i], &times[0])
            && behind(&times[i], &best) < behind(&times[winner], &best)) {
            winner = i;
        }
    }
    return winner;
}
