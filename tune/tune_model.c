/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model (HAN paper, sections III-A.2 and III-B.2), and the statistics of its measurements. */
#include "tune.h"

#include "../common/tool_sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int tune_series_add(struct tune_series *series, double seconds)
{
    if (series->count == series->room) {
        const size_t room = 0 == series->room ? 8 : 2 * series->room;
        double *samples = realloc(series->samples, room * sizeof(*samples));

        if (NULL == samples) {
            return -1;
        }
        series->samples = samples;
        series->room = room;
    }
    series->samples[series->count++] = seconds;
    return 0;
}

void tune_series_free(struct tune_series *series)
{
    free(series->samples);
    memset(series, 0, sizeof(*series));
}

double tune_median(double *values, size_t count)
{
    if (0 == count) {
        return NAN;
    }
    tool_sort(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The samples in ascending order; to be freed. */
static double *sorted(const struct tune_series *series)
{
    double *values = malloc((series->count + 1) * sizeof(*values));

    for (size_t i = 0; NULL != values && i < series->count; ++i) {
        values[i] = series->samples[i];
    }
    if (NULL != values) {
        tool_sort(values, series->count);
    }
    return values;
}

double tune_series_median(const struct tune_series *series)
{
    double *values = sorted(series);
    const double result = NULL == values ? NAN : tune_median(values, series->count);

    free(values);
    return result;
}

double tune_series_spread(const struct tune_series *series)
{
    double *values, middle, result;
    long reach;

    if (2 > series->count) {
        return INFINITY;
    }
    values = sorted(series);
    if (NULL == values) {
        return INFINITY;
    }
    /* Ranks of the order statistics that hold the median with 95 %, by the normal approximation of the binomial. */
    reach = (long) floor(((double) series->count - 1.96 * sqrt((double) series->count)) / 2);
    reach = 0 > reach || 6 > series->count ? 0 : reach;
    middle = tune_median(values, series->count);
    result = (values[series->count - 1 - (size_t) reach] - values[reach]) / 2 / middle;
    free(values);
    return result;
}

size_t tune_series_outliers(const struct tune_series *series)
{
    const double limit = 2 * tune_series_median(series);
    size_t outliers = 0;

    for (size_t i = 0; i < series->count; ++i) {
        outliers += series->samples[i] > limit ? 1 : 0;
    }
    return outliers;
}

double tune_model_steady(const double *seconds, size_t count, size_t lag, size_t depth, bool *settled)
{
    const size_t bunches = count < lag ? 0 : (count - lag) / depth, middle = (bunches + 1) / 2;
    double time = 0, first = 0, half = 0, early, late;

    *settled = true;
    if (2 > bunches) {
        return -1;
    }
    for (size_t step = 0; step < lag + bunches * depth; ++step) {
        time += seconds[step];
        first = lag + depth - 1 == step ? time : first;
        half = lag + middle * depth - 1 == step ? time : half;
    }
    early = (half - first) / (double) (middle - 1);
    late = (time - half) / (double) (bunches - middle);
    *settled = 1 == middle || fabs(early - late) <= late / 4;
    return (time - first) / (double) ((bunches - 1) * depth);
}

double tune_model_step(double first, const struct tune_series *many, size_t measured)
{
    return (tune_series_median(many) - first) / (double) (measured - 1);
}

double tune_model_estimate(double first, double step, size_t u, size_t depth, double slope)
{
    const size_t together = u <= depth || isnan(slope) ? u : depth;

    return 1 == u ? first
                  : first + (double) (together - 1) * step + (u > together ? (double) (u - together) * slope : 0);
}

size_t tune_model_segments(size_t lag, size_t depth)
{
    return (lag + 3 * depth - 1) / depth * depth;
}
