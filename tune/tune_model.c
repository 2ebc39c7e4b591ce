/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model (HAN paper, sections III-A.2 and III-B.2), and the statistics of its measurements. */
#include "tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int tune_series_add(struct tune_series *series, const struct tune_sample *sample)
{
    if (series->count == series->room) {
        const size_t room = 0 == series->room ? 8 : 2 * series->room;
        struct tune_sample *samples = realloc(series->samples, room * sizeof(*samples));

        if (NULL == samples) {
            return -1;
        }
        series->samples = samples;
        series->room = room;
    }
    series->samples[series->count++] = *sample;
    return 0;
}

void tune_series_free(struct tune_series *series)
{
    free(series->samples);
    memset(series, 0, sizeof(*series));
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *) left, b = *(const double *) right;

    return (a > b) - (a < b);
}

double tune_median(double *values, size_t count)
{
    if (0 == count) {
        return NAN;
    }
    qsort(values, count, sizeof(*values), compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The samples' seconds in ascending order; to be freed. */
static double *sorted(const struct tune_series *series)
{
    double *values = malloc((series->count + 1) * sizeof(*values));

    for (size_t i = 0; NULL != values && i < series->count; ++i) {
        values[i] = series->samples[i].seconds;
    }
    if (NULL != values) {
        qsort(values, series->count, sizeof(*values), compare);
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
        outliers += series->samples[i].seconds > limit ? 1 : 0;
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

/* By what a segment costs; of equal ones the higher first. */
static int compare_lines(const void *left, const void *right)
{
    const struct tune_line *a = left, *b = right;

    return a->steady != b->steady ? (a->steady > b->steady) - (a->steady < b->steady)
                                  : (a->base < b->base) - (a->base > b->base);
}

/* Whether of three lines, ascending, the middle one is nowhere above both others. */
static bool hidden(const struct tune_line *a, const struct tune_line *b, const struct tune_line *c)
{
    return (a->base - c->base) * (b->steady - a->steady) <= (a->base - b->base) * (c->steady - a->steady);
}

int tune_model_envelope(struct tune_line *lines, size_t count, struct tune_line *kept)
{
    size_t used = 0;
    int first;

    qsort(lines, count, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < count; ++i) {
        if (0 < used && lines[used - 1].steady == lines[i].steady) {
            continue;
        }
        /* What is lower at the beginning and rises less is lower everywhere. */
        while (0 < used && lines[used - 1].base <= lines[i].base) {
            --used;
        }
        while (1 < used && hidden(&lines[used - 2], &lines[used - 1], &lines[i])) {
            --used;
        }
        lines[used++] = lines[i];
    }
    first = (int) used < TUNE_MOST_LINES ? (int) used : TUNE_MOST_LINES;
    memcpy(kept, lines, (size_t) first * sizeof(*kept));
    if (used > TUNE_MOST_LINES) {
        kept[TUNE_MOST_LINES - 1] = lines[used - 1];
    }
    return first;
}

/* Equation 3 or 4: head and tail are in the base, (u - measured) times the settled task follows. */
static double with_lines(const struct tune_sample *sample, double more)
{
    double result = sample->seconds;

    for (int i = 0; i < sample->line_count; ++i) {
        const double value = sample->lines[i].base + more * sample->lines[i].steady;

        result = value > result ? value : result;
    }
    return result;
}

static bool has_lines(const struct tune_sample *sample)
{
    return 0 < sample->line_count && 0 <= sample->lines[0].steady;
}

double tune_model_slope(const struct tune_series *many)
{
    double *values = malloc((many->count + 1) * sizeof(*values)), result;
    size_t count = 0;

    for (size_t i = 0; NULL != values && i < many->count; ++i) {
        double steepest = -1;

        for (int line = 0; line < many->samples[i].line_count; ++line) {
            steepest = fmax(steepest, many->samples[i].lines[line].steady);
        }
        if (0 <= steepest) {
            values[count++] = steepest;
        }
    }
    result = NULL == values ? NAN : tune_median(values, count);
    free(values);
    return result;
}

double tune_model_step(double first, const struct tune_series *many, size_t measured)
{
    return (tune_series_median(many) - first) / (double) (measured - 1);
}

double tune_model_few(double first, double step, size_t u, size_t depth, double slope)
{
    return u <= depth || isnan(slope) ? first + (double) (u - 1) * step
                                      : first + (double) (depth - 1) * step + (double) (u - depth) * slope;
}

double tune_model_estimate(double first, const struct tune_series *many, size_t measured, size_t u, size_t depth,
                           double slope)
{
    double *values, result;

    if (1 == u) {
        return first;
    }
    if (0 == many->count || isnan(first)) {
        return NAN;
    }
    if (u < measured || !has_lines(&many->samples[0])) {
        return tune_model_few(first, tune_model_step(first, many, measured), u, u < measured ? u : depth, slope);
    }
    values = malloc(many->count * sizeof(*values));
    if (NULL == values) {
        return NAN;
    }
    for (size_t i = 0; i < many->count; ++i) {
        values[i] = with_lines(&many->samples[i], (double) (u - measured));
    }
    result = tune_median(values, many->count);
    free(values);
    return result;
}

size_t tune_model_segments(size_t lag, size_t depth)
{
    return (lag + 3 * depth - 1) / depth * depth;
}
