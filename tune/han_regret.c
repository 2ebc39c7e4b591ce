/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * han_rules regret: how good the choice of the model or of a file of rules is, on a file of measured candidates
 * (bench/candidates). Nothing runs: the times of what is chosen are in the file.
 */
#include "han_rules.h"

#include "coll_han_choice.h"
#include "tune.h"
#include "tune_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tables of rules: the user's, and the built-in one. */
enum { OWN, BUILTIN, TABLES };

/* A line of the file. */
struct candidate {
    mca_coll_han_params_t params;
    char *text;
    double measured[TUNE_CLOCK_COUNT]; /* us */
};

/* Lines of one call. */
struct point {
    mca_coll_han_input_t input;
    char rate[32], call[256];
    struct candidate *candidates; /* [count], the first is the fallback */
    mca_coll_han_times_t *times;  /* [count] that are predicted */
    long count, room;
};

/* Ratios that are summed up. */
struct summary {
    int points;
    double own[TUNE_CLOCK_COUNT];  /* sum of what the pick for one clock takes, over the best by that clock */
    double pick[TUNE_CLOCK_COUNT]; /* the same of the one pick for both */
    double gain[TUNE_CLOCK_COUNT]; /* sum of logarithms of what the pick takes over the fallback */
    int far[TUNE_CLOCK_COUNT];     /* picks for one clock that take more than 1.25 of the best */
    int slower[TUNE_CLOCK_COUNT];  /* picks for both that take more than 1.05 of the fallback */
    double behind;                 /* sum of how far the pick is behind the candidate that is least behind */
    int missed;                    /* picks that are more than 1.05 behind it */
    int unknown;                   /* points that do not count: what is chosen was not measured, or not by the model */
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

/* What lines of one call have in common. */
static void call_of(const struct file *file, char *const fields[], char call[256])
{
    static const int common[] = { NODES, PPN, MAP, RATE, COLLECTIVE, BYTES };
    size_t length = 0;

    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]) && length < 256; ++i) {
        length += (size_t) snprintf(call + length, 256 - length, "%s,", fields[file->columns[common[i]]]);
    }
}

/* Lines of one call follow one another, the fallback's first, with which all are compared. */
static int check_call(const struct point *point, const struct file *file, char *const fields[])
{
    char call[256];

    call_of(file, fields, call);
    return 0 == strcmp("fallback", fields[file->columns[ALGORITHM]])
                   || (0 < point->count && 0 == strcmp(point->call, call))
               ? 0
               : wrong_line(file,
                            "the first line of a call is not that of the fallback: ", fields[file->columns[ALGORITHM]]);
}

static int add_candidate(struct point *point, const struct file *file, const mca_coll_han_machine_t *machine,
                         char *const fields[])
{
    const int *const at = file->columns;
    struct candidate candidate = { .text = NULL };
    struct tune_function function = { .collective = HAN_BCAST };
    mca_coll_han_input_t input;
    char *end;

    candidate.measured[TUNE_SINGLE] = strtod(fields[at[SINGLE_US]], NULL);
    candidate.measured[TUNE_ROW] = strtod(fields[at[ROW_US]], NULL);
    if (!(0 < candidate.measured[TUNE_SINGLE]) || !(0 < candidate.measured[TUNE_ROW])) {
        return wrong_line(file, "a time is not above 0", "");
    }
    if (0 != read_params(file, fields[at[COLLECTIVE]], fields[at[ALGORITHM]], &candidate, &function)
        || 0 != check_call(point, file, fields)) {
        return -1;
    }
    if (0 == point->count) {
        point->input = mca_coll_han_input_good(function.collective);
        point->input.form = function.form;
        point->input.nodes = atoi(fields[at[NODES]]);
        point->input.ppn = atoi(fields[at[PPN]]);
        point->input.in_order = 0 == strcmp("slot", fields[at[MAP]]);
        point->input.bytes = strtoull(fields[at[BYTES]], &end, 10);
        snprintf(point->rate, sizeof(point->rate), "%s", fields[at[RATE]]);
        call_of(file, fields, point->call);
        if (1 > point->input.nodes || 1 > point->input.ppn) {
            return wrong_line(file, "nodes or ppn is no number from 1", "");
        }
        if ('\0' != *end || end == fields[at[BYTES]]) {
            return wrong_line(file, "bytes is no number: ", fields[at[BYTES]]);
        }
    }
    if (point->count == point->room) {
        point->room = 0 == point->room ? 64 : 2 * point->room;
        point->candidates = need(realloc(point->candidates, (size_t) point->room * sizeof(*point->candidates)));
        point->times = need(realloc(point->times, (size_t) point->room * sizeof(*point->times)));
    }
    candidate.text = need(strdup(fields[at[ALGORITHM]]));
    input = point->input;
    input.bytes = HAN_ALLTOALLV == input.collective ? HAN_CHOICE_UNKNOWN : input.bytes; /* as the model chooses */
    point->times[point->count] = mca_coll_han_predict(machine, &input, &candidate.params);
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
    return TUNE_SINGLE == clock ? point->times[candidate].single : point->times[candidate].row;
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

/* How far a candidate is behind the best of each clock, by both clocks. */
static double behind_each(const struct point *point, long candidate)
{
    struct tune_times own, least;

    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        own.seconds[clock] = 1e-6 * point->candidates[candidate].measured[clock];
        least.seconds[clock] = 1e-6 * point->candidates[best_of(point, clock)].measured[clock];
    }
    return tune_judge_behind(&own, &least);
}

/* The candidate that is least behind. */
static long best_of_both(const struct point *point)
{
    long best = 0;

    for (long i = 1; i < point->count; ++i) {
        best = behind_each(point, i) < behind_each(point, best) ? i : best;
    }
    return best;
}

/* What one of the candidates takes, by both clocks. Returns how far it is behind, over what the best of both is. */
static double judge_pick(const struct point *point, long pick, struct summary *summary)
{
    const double behind = behind_each(point, pick) / behind_each(point, best_of_both(point));

    ++summary->points;
    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        const double measured = point->candidates[pick].measured[clock];

        summary->pick[clock] += measured / point->candidates[best_of(point, clock)].measured[clock];
        summary->gain[clock] += log(measured / point->candidates[0].measured[clock]);
        summary->slower[clock] += 1.05 < measured / point->candidates[0].measured[clock];
    }
    summary->behind += behind;
    summary->missed += 1.05 < behind;
    return behind;
}

static long model_pick(const struct point *point)
{
    return mca_coll_han_pick(point->times, point->count, point->times[0]);
}

/* The candidate with these parameters; -1: none was measured. */
static long find(const struct point *point, const mca_coll_han_params_t *params)
{
    long found = 0;

    while (found < point->count
           && !mca_coll_han_candidate_is(point->input.collective, params, &point->candidates[found].params)) {
        ++found;
    }
    return found < point->count ? found : -1;
}

static const mca_coll_han_rule_t *nearest(const mca_coll_han_rules_t *rules, const mca_coll_han_input_t *input)
{
    const mca_coll_han_rule_t *rule;

    if (0 != tune_nearest(rules, input, &rule)) {
        need(NULL);
    }
    return rule;
}

/* What a job with these rules does: as they say; else as the model does; else as the built-in ones say. */
static long rules_pick(const struct point *point, const mca_coll_han_rules_t rules[TABLES],
                       mca_coll_han_params_t *params)
{
    const mca_coll_han_input_t input = tune_known(point->input);
    const mca_coll_han_rule_t *rule = nearest(&rules[OWN], &input);

    if (!mca_coll_han_rule_decides(rule, &input)) {
        if (mca_coll_han_choice_serves(&input)) {
            const long pick = model_pick(point);

            *params = point->candidates[pick].params;
            return pick;
        }
        rule = nearest(&rules[BUILTIN], &input);
    }
    *params = mca_coll_han_decide(&input, &rule->params, &mca_coll_han_unset);
    return find(point, params);
}

static void print_point(const struct point *point)
{
    char name[TUNE_FUNCTION_NAME];

    printf("  %dx%d %s %s, %zu bytes, ", point->input.nodes, point->input.ppn, point->rate,
           tune_function_name(function_of(&point->input), name), point->input.bytes);
}

/* What the choices by rules take; more about those that are far behind, or of all. */
static void judge_rules(const struct point *point, const mca_coll_han_rules_t rules[TABLES], struct summary *summary,
                        bool all)
{
    mca_coll_han_params_t params;
    const long pick = rules_pick(point, rules, &params);
    double behind;

    if (-1 == pick) {
        char text[HAN_CANDIDATE_TEXT];

        ++summary->unknown;
        print_point(point);
        printf("%s was not measured\n", mca_coll_han_candidate_text(point->input.collective, &params, text));
        return;
    }
    behind = judge_pick(point, pick, summary);
    if (all || 1.25 < behind) {
        const struct candidate *const own = &point->candidates[pick];
        const struct candidate *const best = &point->candidates[best_of_both(point)];

        print_point(point);
        printf("%.2f: %s (%.1f us, %.1f us), best %s (%.1f us, %.1f us)\n", behind, own->text,
               own->measured[TUNE_SINGLE], own->measured[TUNE_ROW], best->text, best->measured[TUNE_SINGLE],
               best->measured[TUNE_ROW]);
    }
}

/* What the picks of the model take, over the best; more about those that are far off, or of all. */
static void judge_model(const struct point *point, struct summary *summary, bool all)
{
    static const char *const clock_names[] = { "single", "row" };

    if (!mca_coll_han_choice_serves(&point->input)) {
        ++summary->unknown;
        return;
    }
    (void) judge_pick(point, model_pick(point), summary);
    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        const long own = fastest(point, clock), best = best_of(point, clock);
        const double measured = point->candidates[own].measured[clock], least = point->candidates[best].measured[clock];
        const double regret = measured / least;

        summary->own[clock] += regret;
        summary->far[clock] += 1.25 < regret;
        if (all || 1.25 < regret) {
            print_point(point);
            printf("%-6s %.2f: %s (%.1f us, predicted %.1f), best %s (%.1f us, predicted %.1f)\n", clock_names[clock],
                   regret, point->candidates[own].text, measured, 1e-6 * (double) predicted(point, own, clock),
                   point->candidates[best].text, least, 1e-6 * (double) predicted(point, best, clock));
        }
    }
}

static void print_of_rules(const char *name, const struct summary *summary)
{
    const double points = summary->points;

    if (0 == summary->points) {
        printf("%-22s%6d%75d\n", name, 0, summary->unknown);
        return;
    }
    printf("%-22s%6d%9.3f%8.3f%10.3f%8d%11.2f%8.2f%6d%5d%10d\n", name, summary->points,
           summary->pick[TUNE_SINGLE] / points, summary->pick[TUNE_ROW] / points, summary->behind / points,
           summary->missed, exp(summary->gain[TUNE_SINGLE] / points), exp(summary->gain[TUNE_ROW] / points),
           summary->slower[TUNE_SINGLE], summary->slower[TUNE_ROW], summary->unknown);
}

static void print_of_model(const char *name, const struct summary *summary)
{
    const double points = summary->points;

    if (0 == summary->points) {
        printf("%-22s%6d  the model does not choose\n", name, 0);
        return;
    }
    printf("%-22s%6d%9.3f%8.3f%6d%5d%11.3f%8.3f%11.2f%8.2f%6d%5d\n", name, summary->points,
           summary->own[TUNE_SINGLE] / points, summary->own[TUNE_ROW] / points, summary->far[TUNE_SINGLE],
           summary->far[TUNE_ROW], summary->pick[TUNE_SINGLE] / points, summary->pick[TUNE_ROW] / points,
           exp(summary->gain[TUNE_SINGLE] / points), exp(summary->gain[TUNE_ROW] / points),
           summary->slower[TUNE_SINGLE], summary->slower[TUNE_ROW]);
}

static void add_up(struct summary *sum, const struct summary *part)
{
    sum->points += part->points;
    for (int clock = 0; clock < TUNE_CLOCK_COUNT; ++clock) {
        sum->own[clock] += part->own[clock];
        sum->pick[clock] += part->pick[clock];
        sum->gain[clock] += part->gain[clock];
        sum->far[clock] += part->far[clock];
        sum->slower[clock] += part->slower[clock];
    }
    sum->behind += part->behind;
    sum->missed += part->missed;
    sum->unknown += part->unknown;
}

/* Whether a line is of a shape and a rate; NULL: of any. */
static bool counts(const struct file *file, char *const fields[], const char *shape, const char *rate)
{
    char own[64];

    snprintf(own, sizeof(own), "%sx%s", fields[file->columns[NODES]], fields[file->columns[PPN]]);
    return (NULL == shape || 0 == strcmp(shape, own))
           && (NULL == rate || 0 == strcmp(rate, fields[file->columns[RATE]]));
}

/* Judges each call of the table. Returns 0 or -1. */
static int judge_all(struct file *file, const struct regret_wish *wish, const mca_coll_han_rules_t rules[TABLES],
                     struct summary summaries[TUNE_FUNCTION_COUNT])
{
    struct point point = { .count = 0 };
    char line[4096], *fields[MOST_FIELDS];
    int rc = read_header(file), count;

    while (0 == rc) {
        count = next_line(file, line, sizeof(line), fields);
        for (int column = 0; column < COLUMNS && 0 < count && 0 == rc; ++column) {
            rc = file->columns[column] < count ? 0 : wrong_line(file, "there is no field ", columns[column]);
        }
        if (0 != rc) {
            break;
        }
        if (0 < point.count && (0 == count || 0 == strcmp("fallback", fields[file->columns[ALGORITHM]]))) {
            struct summary *summary = &summaries[tune_function_place(function_of(&point.input))];

            if (NULL == wish->rules) {
                judge_model(&point, summary, wish->all);
            } else {
                judge_rules(&point, rules, summary, wish->all);
            }
            clear(&point);
        }
        if (0 == count) {
            break;
        }
        if (counts(file, fields, wish->shape, wish->rate)) {
            rc = add_candidate(&point, file, wish->machine, fields);
        }
    }
    clear(&point);
    free(point.candidates);
    free(point.times);
    return rc;
}

int regret(const struct regret_wish *wish)
{
    void (*const print)(const char *, const struct summary *) = NULL == wish->rules ? print_of_model : print_of_rules;
    struct summary summaries[TUNE_FUNCTION_COUNT] = { { 0 } }, total = { 0 };
    struct file file = { .path = wish->path, .stream = fopen(wish->path, "r") };
    mca_coll_han_rules_t rules[TABLES] = { { .count = 0 } };
    int rc;

    if (NULL == file.stream) {
        fprintf(stderr, "%s: it cannot be read; accepted: a table of bench/candidates\n", wish->path);
        return BAD_FILE;
    }
    if (NULL != wish->rules) {
        rules[OWN] = *wish->rules;
        read_builtin(&rules[BUILTIN]);
    }
    rc = judge_all(&file, wish, rules, summaries);
    mca_coll_han_rules_free(&rules[BUILTIN]);
    fclose(file.stream);
    if (0 != rc) {
        return BAD_FILE;
    }
    for (int i = 0; i < TUNE_FUNCTION_COUNT; ++i) {
        add_up(&total, &summaries[i]);
    }
    if (0 == total.points + total.unknown) {
        fprintf(stderr, "%s: no line is of shape %s and rate %s; accepted: those of its columns nodes, ppn, rate\n",
                wish->path, NULL == wish->shape ? "any" : wish->shape, NULL == wish->rate ? "any" : wish->rate);
        return BAD_FILE;
    }
    if (NULL == wish->rules) {
        printf("%-22s%6s%17s%11s%19s%19s%11s\n%-22s%6s%9s%8s%6s%5s%11s%8s%11s%8s%6s%5s\n", "", "", "pick for a clock",
               "over 1.25", "pick for both", "over the fallback", "over 1.05", "collective", "points", "single", "row",
               "sgl.", "row", "single", "row", "single", "row", "sgl.", "row");
    } else {
        printf("%-22s%6s%17s%18s%19s%11s%10s\n%-22s%6s%9s%8s%10s%8s%11s%8s%6s%5s%10s\n", "", "", "over the best",
               "by both, > 1.05", "over the fallback", "over 1.05", "not", "collective", "points", "single", "row",
               "mean", "points", "single", "row", "sgl.", "row", "measured");
    }
    for (int i = 0; i < TUNE_FUNCTION_COUNT; ++i) {
        char name[TUNE_FUNCTION_NAME];

        if (0 < summaries[i].points + summaries[i].unknown) {
            print(tune_function_name(tune_function_at(i), name), &summaries[i]);
        }
    }
    print("all", &total);
    return GOOD;
}
