/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_points.h"

#include "common/tool_version.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one run on all ranks ---- */

struct command {
    bool run;
    struct tune_run what;
};

static void run_on_all(struct tune_engine *engine, const struct tune_run *run, struct tune_result *result)
{
    struct command command = { .run = true, .what = *run };

    MPI_Bcast(&command, sizeof(command), MPI_BYTE, 0, tune_engine_comm(engine));
    tune_engine_run(engine, run, result);
}

void tune_points_follow(struct tune_engine *engine)
{
    struct command command;
    struct tune_result result;

    for (;;) {
        MPI_Bcast(&command, sizeof(command), MPI_BYTE, 0, tune_engine_comm(engine));
        if (!command.run) {
            return;
        }
        tune_engine_run(engine, &command.what, &result);
    }
}

void tune_points_end(struct tune_engine *engine)
{
    struct command command = { .run = false };

    MPI_Bcast(&command, sizeof(command), MPI_BYTE, 0, tune_engine_comm(engine));
}

/* ---- progress ---- */

void tune_time_text(double seconds, char text[32])
{
    if (120 > seconds) {
        snprintf(text, 32, "%.0f s", seconds);
    } else if (7200 > seconds) {
        snprintf(text, 32, "%.0f min", seconds / 60);
    } else {
        snprintf(text, 32, "%.0f h %02.0f min", floor(seconds / 3600), fmod(seconds / 60, 60));
    }
}

static bool settled(const struct tune_points *points, const struct tune_point *point)
{
    const struct tune_series *series = &point->entry->series;

    /* What a call takes without HAN is told, and decides nothing; it may take longer than all tasks together. */
    return point->given_up
           || (series->count >= (size_t) points->way->least
               && (TUNE_FALLBACK == point->run.kind || series->count >= (size_t) points->way->most
                   || tune_series_spread(series) <= points->way->precision));
}

/* What a message takes by HAN's own choice; where it has not been measured, in proportion to one that has. */
static double builtin_seconds(const struct tune_points *points, mca_coll_han_collective_t collective, size_t bytes)
{
    double result = 1e-4;

    for (long i = 0; i < points->count; ++i) {
        const struct tune_point *point = &points->list[i];
        const double median = tune_series_median(&point->entry->series);

        if (TUNE_BUILTIN == point->run.kind && collective == point->run.config.collective && !isnan(median)) {
            result = point->run.bytes >= bytes || 0 == point->run.bytes
                         ? median
                         : median * (double) bytes / (double) point->run.bytes;
            if (point->run.bytes >= bytes) {
                break;
            }
        }
    }
    return result;
}

double tune_points_left(const struct tune_points *points, long first)
{
    double seconds = 0;

    for (long i = first; i < points->count; ++i) {
        const struct tune_point *point = &points->list[i];
        const struct tune_series *series = &point->entry->series;
        const size_t least = (size_t) points->way->least;

        if (!settled(points, point)) {
            const double one = 0 < series->count
                                   ? tune_series_median(series)
                                   : 2 * builtin_seconds(points, point->run.config.collective, point->run.bytes);

            /* Commands and starting together cost too. */
            seconds += (one + 1e-3) * (double) (series->count < least ? least - series->count : 1);
        }
    }
    return seconds;
}

static void progress(struct tune_points *points, long first, const char *what, bool now)
{
    const double time = MPI_Wtime(), past = time - points->started;
    const bool terminal = 0 != isatty(STDERR_FILENO);
    double rest;
    char past_text[32], rest_text[32];

    if (points->way->quiet || (!now && time - points->said < (terminal ? 0.5 : 10))) {
        return;
    }
    points->said = time;
    rest = tune_points_left(points, first);
    tune_time_text(past, past_text);
    tune_time_text(rest, rest_text);
    fprintf(stderr, "%shan_tune: %s: %.0f %%, %s, about %s left%s", terminal ? "\r" : "", what,
            100 * past / (past + rest + 1e-9), past_text, rest_text, terminal ? "   " : "\n");
    if (terminal && now) {
        fputc('\n', stderr);
    }
}

/* ---- what is measured ---- */

static struct tune_entry *entry_of(struct tune_points *points, const struct tune_run *run)
{
    struct tune_entry like = { .kind = run->kind,
                               .nodes = points->nodes,
                               .ppn = points->ppn,
                               .collective = run->config.collective,
                               .bytes = run->bytes };

    if (TUNE_TASK == run->kind || TUNE_WHOLE == run->kind) {
        tune_config_text(&run->config, like.parameters);
    }
    return tune_store_entry(points->store, &like);
}

/* -1 where memory is short. */
static long add(struct tune_points *points, const struct tune_point *like)
{
    struct tune_point *list = points->list;

    if (points->count == points->room) {
        points->room = 0 == points->room ? 256 : 2 * points->room;
        list = realloc(list, (size_t) points->room * sizeof(*list));
        if (NULL == list) {
            return -1;
        }
        points->list = list;
    }
    list[points->count] = *like;
    list[points->count].entry = entry_of(points, &like->run);
    return NULL == list[points->count].entry ? -1 : points->count++;
}

long tune_points_message(struct tune_points *points, enum tune_kind kind, const struct tune_config *config,
                         size_t bytes)
{
    const struct tune_point point = { .run = { .kind = kind, .config = *config, .bytes = bytes }, .candidate = -1 };

    return add(points, &point);
}

long tune_points_task(struct tune_points *points, const struct tune_config *config, size_t segments, size_t most)
{
    struct tune_point point = { .run = { .kind = TUNE_TASK, .config = *config }, .most = most, .candidate = -1 };

    /* What an earlier run has found to be too short is not measured again. */
    for (size_t more = 2 * segments; more <= most; more *= 2) {
        const struct tune_run run = { .kind = TUNE_TASK, .config = *config, .bytes = more * config->params.fs };
        const struct tune_entry *entry = entry_of(points, &run);

        if (NULL != entry && 0 < entry->series.count) {
            segments = more;
        }
    }
    point.segments = segments;
    point.run.bytes = segments * config->params.fs;
    return add(points, &point);
}

const struct tune_series *tune_points_series(const struct tune_points *points, long point)
{
    static const struct tune_series none;

    return 0 > point ? &none : &points->list[point].entry->series;
}

/* The leaders' steps go into a file of their own. */
static void write_steps(struct tune_points *points, const struct tune_point *point, const struct tune_result *result)
{
    char text[TUNE_TEXT], name[32];

    tune_config_text(&point->run.config, text);
    for (int leader = 0; leader < points->nodes; ++leader) {
        for (size_t step = 0; step < result->step_count; ++step) {
            tune_engine_task_name(points->engine, &point->run.config, result->tasks[step], name, sizeof(name));
            fprintf(points->steps, "%d,%d,%s,%zu,%d,%zu,%s,%.9g,%s," HAN_VERSION_TEXT "\n", points->nodes, points->ppn,
                    mca_coll_han_collective_names[point->run.config.collective], point->segments, leader, step, name,
                    result->steps[(size_t) leader * result->step_count + step], text);
        }
    }
    fflush(points->steps);
}

/* More segments, where the cost of the full steps has not settled and the longest message has many more. */
static int grow(struct tune_points *points, struct tune_point *point)
{
    if (2 * point->segments > point->most || TUNE_MOST_STEPS / 2 < 2 * point->segments) {
        return 0;
    }
    point->segments *= 2;
    point->run.bytes *= 2;
    point->entry = entry_of(points, &point->run);
    return NULL == point->entry ? -1 : 0;
}

int tune_points_measure(struct tune_points *points, long number)
{
    struct tune_point *point = &points->list[number];
    const bool first = 0 == point->entry->series.count;
    struct tune_result result;
    char text[TUNE_TEXT];

    point->run.steps = TUNE_TASK == point->run.kind && 1 < point->segments;
    run_on_all(points->engine, &point->run, &result);
    if (0 != result.rc) {
        tune_config_text(&point->run.config, text);
        fprintf(stderr, "han_tune: %s, %zu bytes, %s: error %d; it is left out\n",
                mca_coll_han_collective_names[point->run.config.collective], point->run.bytes, text, result.rc);
        point->given_up = true;
        return 0;
    }
    if (0 != tune_store_add(points->store, point->entry, result.seconds)) {
        fprintf(stderr, "han_tune: %s: %s\n", points->store->path, strerror(errno));
        return -1;
    }
    if (point->run.steps) {
        write_steps(points, point, &result);
    }
    return !result.settled && first ? grow(points, point) : 0;
}

/* ---- all of them ---- */

static long greatest_divisor(long a, long b)
{
    return 0 == b ? a : greatest_divisor(b, a % b);
}

/* A step with which all of so many are reached, neighbours far from each other in time: where the time is over before
 * all have had their turn, those that have are spread over the space. */
static long stride_of(long count)
{
    long stride = (long) (0.618 * (double) count) + 1;

    while (1 != greatest_divisor(stride, count)) {
        ++stride;
    }
    return stride;
}

/* Round by round each point that is not settled gets a sample, so that what else happens on the machine meets all. */
int tune_points_measure_all(struct tune_points *points, long first, const char *what, double deadline,
                            void (*after_round)(void *context), void *context)
{
    const long count = points->count - first, stride = 0 < count ? stride_of(count) : 1;
    bool more = true;

    while (more) {
        more = false;
        for (long turn = 0; turn < count; ++turn) {
            const long point = first + turn * stride % count;

            if (settled(points, &points->list[point])) {
                continue;
            }
            if (MPI_Wtime() > deadline) {
                progress(points, first, what, true);
                fprintf(stderr, "han_tune: the time is over; the best so far is taken\n");
                return 0;
            }
            if (0 != tune_points_measure(points, point)) {
                return -1;
            }
            more = true;
            progress(points, first, what, false);
        }
        after_round(context);
    }
    progress(points, first, what, true);
    return 0;
}
