/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * han_rules regret: how good the model's choice is, on a file of measured candidates (bench/candidates). Nothing runs:
 * the times of what it picks are in the file.
 */
#include "han_rules.h"

#include "coll_han_candidates.h"
#include "coll_han_model.h"
#include "tune.h"
#include "tune_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum clock { SINGLE, ROW, CLOCKS };

/* A line of the file. */
struct candidate {
    mca_coll_han_params_t params;
    char *text;
    double measured[CLOCKS]; /* us */
};

/* Lines of one call. */
struct point {
    mca_coll_han_input_t input;
    char rate[32];
    struct candidate *candidates; /* [count], the first is the fallback */
    mca_coll_han_times_t *times;  /* [count] that are predicted */
    long count, room;
};

/* Ratios that are summed up. */
struct summary {
    int points;
    double own[CLOCKS];  /* sum of what the pick for one clock takes, over the best by that clock */
    double pick[CLOCKS]; /* the same of the one pick for both */
    double gain[CLOCKS]; /* sum of logarithms of what the pick takes over the fallback */
    int far[CLOCKS];     /* picks for one clock that take more than 1.25 of the best */
    int slower[CLOCKS];  /* picks for both that take more than 1.05 of the fallback */
};

struct file {
    const char *path;
    FILE *stream;
    int line;
    int columns[9]; /* places of the columns below */
};

static const char *const columns[]
    = { "nodes", "ppn", "map", "rate", "collective", "bytes", "algorithm", "single_us", "row_us" };
enum { NODES, PPN, MAP, RATE, COLLECTIVE, BYTES, ALGORITHM, SINGLE_US, ROW_US, COLUMNS, MOST_FIELDS = 64 };

static int wrong_line(const struct file *file, const char *what, const char *which)
{
    fprintf(stderr, "%s:%d: %s%s; accepted: lines that bench/candidates prints\n", file->path, file->line, what, which);
    return -1;
}

/* ---- reading ---- */

/* How many fields the next line has; 0 at the end. */
static int next_line(struct file *file, char *line, int length, char *fields[MOST_FIELDS])
{
    int count = 0;

    if (NULL == fgets(line, length, file->stream)) {
        return 0;
    }
    ++file->line;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *rest = line; NULL != rest && MOST_FIELDS > count;) {
        fields[count++] = strsep(&rest, ",");
    }
    return count;
}

static int read_header(struct file *file)
{
    char line[4096], *fields[MOST_FIELDS];
    const int count = next_line(file, line, sizeof(line), fields);

    for (int column = 0; column < COLUMNS; ++column) {
        int place = 0;

        while (place < count && 0 != strcmp(columns[column], fields[place])) {
            ++place;
        }
        if (place == count) {
            return wrong_line(file, "there is no column ", columns[column]);
        }
        file->columns[column] = place;
    }
    return 0;
}

static int read_params(const struct file *file, const char *name, const char *text, struct candidate *candidate,
                       struct tune_function *function)
{
    mca_coll_han_text_error_t error;

    if (!tune_function_find(name, function)) {
        return wrong_line(file, "no single collective: ", name);
    }
    return 0 == mca_coll_han_candidate_read(function->collective, text, &candidate->params, &error)
               ? 0
               : wrong_line(file, "", error.what);
}

static int add_candidate(struct point *point, const struct file *file, const mca_coll_han_machine_t *machine,
                         char *const fields[])
{
    const int *const at = file->columns;
    struct candidate candidate = { .text = NULL };
    struct tune_function function = { .collective = HAN_BCAST };

    candidate.measured[SINGLE] = strtod(fields[at[SINGLE_US]], NULL);
    candidate.measured[ROW] = strtod(fields[at[ROW_US]], NULL);
    if (!(0 < candidate.measured[SINGLE]) || !(0 < candidate.measured[ROW])) {
        return wrong_line(file, "a time is not above 0", "");
    }
    if (0 != read_params(file, fields[at[COLLECTIVE]], fields[at[ALGORITHM]], &candidate, &function)) {
        return -1;
    }
    if (0 == point->count) {
        point->input = mca_coll_han_input_good(function.collective);
        point->input.form = function.form;
        point->input.nodes = atoi(fields[at[NODES]]);
        point->input.ppn = atoi(fields[at[PPN]]);
        point->input.in_order = 0 == strcmp("slot", fields[at[MAP]]);
        point->input.bytes = strtoull(fields[at[BYTES]], NULL, 10);
        snprintf(point->rate, sizeof(point->rate), "%s", fields[at[RATE]]);
        if (1 > point->input.nodes || 1 > point->input.ppn) {
            return wrong_line(file, "nodes or ppn is no number from 1", "");
        }
    }
    if (point->count == point->room) {
        point->room = 0 == point->room ? 64 : 2 * point->room;
        point->candidates = need(realloc(point->candidates, (size_t) point->room * sizeof(*point->candidates)));
        point->times = need(realloc(point->times, (size_t) point->room * sizeof(*point->times)));
    }
    candidate.text = need(strdup(fields[at[ALGORITHM]]));
    point->times[point->count] = mca_coll_han_predict(machine, &point->input, &candidate.params);
    point->candidates[point->count++] = candidate;
    return 0;
}

static void clear(struct point *point)
{
    for (long i = 0; i < point->count; ++i) {
        free(point->candidates[i].text);
    }
    point->count = 0;
}

/* ---- judging ---- */

static uint64_t predicted(const struct point *point, long candidate, int clock)
{
    return SINGLE == clock ? point->times[candidate].single : point->times[candidate].row;
}

/* By one clock alone: the first of the fastest. */
static long fastest(const struct point *point, int clock)
{
    long best = 0;

    for (long i = 1; i < point->count; ++i) {
        best = predicted(point, i, clock) < predicted(point, best, clock) ? i : best;
    }
    return best;
}

/* The one that was measured to be. */
static long best_of(const struct point *point, int clock)
{
    long best = 0;

    for (long i = 1; i < point->count; ++i) {
        best = point->candidates[i].measured[clock] < point->candidates[best].measured[clock] ? i : best;
    }
    return best;
}

static struct tune_function function_of(const mca_coll_han_input_t *input)
{
    return (struct tune_function){ .collective = input->collective, .form = input->form };
}

/* What the picks take, over the best; more about those that are far off, or of all. */
static void judge(const struct point *point, struct summary *summary, bool all)
{
    static const char *const clock_names[] = { "single", "row" };
    const struct candidate *const both
        = &point->candidates[mca_coll_han_pick(point->times, point->count, point->times[0])];
    char name[TUNE_FUNCTION_NAME];

    ++summary->points;
    for (int clock = 0; clock < CLOCKS; ++clock) {
        const long own = fastest(point, clock), best = best_of(point, clock);
        const double measured = point->candidates[own].measured[clock], least = point->candidates[best].measured[clock];
        const double regret = measured / least;

        summary->own[clock] += regret;
        summary->pick[clock] += both->measured[clock] / least;
        summary->gain[clock] += log(both->measured[clock] / point->candidates[0].measured[clock]);
        summary->slower[clock] += 1.05 < both->measured[clock] / point->candidates[0].measured[clock];
        summary->far[clock] += 1.25 < regret;
        if (all || 1.25 < regret) {
            printf("  %dx%d %s %s, %zu bytes, %-6s %.2f: %s (%.1f us, predicted %.1f), best %s (%.1f us, predicted "
                   "%.1f)\n",
                   point->input.nodes, point->input.ppn, point->rate,
                   tune_function_name(function_of(&point->input), name), point->input.bytes, clock_names[clock], regret,
                   point->candidates[own].text, measured, 1e-6 * (double) predicted(point, own, clock),
                   point->candidates[best].text, least, 1e-6 * (double) predicted(point, best, clock));
        }
    }
}

static void print_summary(const char *name, const struct summary *summary)
{
    const double points = summary->points;

    if (0 == summary->points) {
        return;
    }
    printf("%-22s%6d%9.3f%8.3f%6d%5d%11.3f%8.3f%11.2f%8.2f%6d%5d\n", name, summary->points,
           summary->own[SINGLE] / points, summary->own[ROW] / points, summary->far[SINGLE], summary->far[ROW],
           summary->pick[SINGLE] / points, summary->pick[ROW] / points, exp(summary->gain[SINGLE] / points),
           exp(summary->gain[ROW] / points), summary->slower[SINGLE], summary->slower[ROW]);
}

static void add_up(struct summary *sum, const struct summary *part)
{
    sum->points += part->points;
    for (int clock = 0; clock < CLOCKS; ++clock) {
        sum->own[clock] += part->own[clock];
        sum->pick[clock] += part->pick[clock];
        sum->gain[clock] += part->gain[clock];
        sum->far[clock] += part->far[clock];
        sum->slower[clock] += part->slower[clock];
    }
}

/* Whether a line is of a shape and a rate; NULL: of any. */
static bool counts(const struct file *file, char *const fields[], const char *shape, const char *rate)
{
    char own[64];

    snprintf(own, sizeof(own), "%sx%s", fields[file->columns[NODES]], fields[file->columns[PPN]]);
    return (NULL == shape || 0 == strcmp(shape, own))
           && (NULL == rate || 0 == strcmp(rate, fields[file->columns[RATE]]));
}

int regret(const char *path, const mca_coll_han_machine_t *machine, const char *shape, const char *rate, bool all)
{
    struct summary summaries[TUNE_FUNCTION_COUNT] = { { 0 } }, total = { 0 };
    struct file file = { .path = path, .stream = fopen(path, "r") };
    struct point point = { .count = 0 };
    char line[4096], *fields[MOST_FIELDS];
    int rc, count;

    if (NULL == file.stream) {
        fprintf(stderr, "%s: it cannot be read; accepted: a table of bench/candidates\n", path);
        return BAD_FILE;
    }
    rc = read_header(&file);
    while (0 == rc) {
        count = next_line(&file, line, sizeof(line), fields);
        for (int column = 0; column < COLUMNS && 0 < count && 0 == rc; ++column) {
            rc = file.columns[column] < count ? 0 : wrong_line(&file, "there is no field ", columns[column]);
        }
        if (0 != rc) {
            break;
        }
        /* Lines of one call follow one another, the fallback's first. */
        if (0 < point.count && (0 == count || 0 == strcmp("fallback", fields[file.columns[ALGORITHM]]))) {
            judge(&point, &summaries[tune_function_place(function_of(&point.input))], all);
            clear(&point);
        }
        if (0 == count) {
            break;
        }
        if (counts(&file, fields, shape, rate)) {
            rc = add_candidate(&point, &file, machine, fields);
        }
    }
    fclose(file.stream);
    clear(&point);
    free(point.candidates);
    free(point.times);
    if (0 != rc) {
        return BAD_FILE;
    }
    for (int i = 0; i < TUNE_FUNCTION_COUNT; ++i) {
        add_up(&total, &summaries[i]);
    }
    if (0 == total.points) {
        fprintf(stderr, "%s: no line is of shape %s and rate %s; accepted: those of its columns nodes, ppn, rate\n",
                path, NULL == shape ? "any" : shape, NULL == rate ? "any" : rate);
        return BAD_FILE;
    }
    printf("%-22s%6s%17s%11s%19s%19s%11s\n%-22s%6s%9s%8s%6s%5s%11s%8s%11s%8s%6s%5s\n", "", "", "pick for a clock",
           "over 1.25", "pick for both", "over the fallback", "over 1.05", "collective", "points", "single", "row",
           "sgl.", "row", "single", "row", "single", "row", "sgl.", "row");
    for (int i = 0; i < TUNE_FUNCTION_COUNT; ++i) {
        char name[TUNE_FUNCTION_NAME];

        print_summary(tune_function_name(tune_function_at(i), name), &summaries[i]);
    }
    print_summary("all", &total);
    return GOOD;
}
