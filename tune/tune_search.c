/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is measured until its median is known well enough: tasks, or a message. */
struct point {
    struct tune_entry *entry;
    struct tune_run run;
    size_t segments; /* of a task */
    size_t most;     /* segments of the longest message */
    long candidate;  /* whose it is; of references nobody's */
    bool given_up;
};

/* A configuration, and where its measurements are; -1: nowhere. */
struct candidate {
    struct tune_config config;
    long one, many; /* task mode: one segment, several */
    long first;     /* exhaustive: the first of the sizes that it serves, the others follow */
};

struct search {
    struct tune_engine *engine;
    struct tune_store *store;
    const struct tune_space *space;
    const struct tune_way *way;
    MPI_Comm comm;
    FILE *steps;
    struct candidate *candidates;
    long candidate_count;
    struct point *points;
    long point_count, point_room;
    double started, said;
    size_t runs;
};

/* ---- one run on all ranks ---- */

struct command {
    bool run;
    struct tune_run what;
};

void tune_search_do(struct tune_engine *engine, MPI_Comm comm, const struct tune_run *run, struct tune_result *result)
{
    struct command command = { .run = true, .what = *run };

    MPI_Bcast(&command, sizeof(command), MPI_BYTE, 0, comm);
    tune_engine_run(engine, run, result);
}

void tune_search_follow(struct tune_engine *engine, MPI_Comm comm)
{
    struct command command;
    struct tune_result result;

    for (;;) {
        MPI_Bcast(&command, sizeof(command), MPI_BYTE, 0, comm);
        if (!command.run) {
            return;
        }
        tune_engine_run(engine, &command.what, &result);
    }
}

void tune_search_end(MPI_Comm comm)
{
    struct command command = { .run = false };

    MPI_Bcast(&command, sizeof(command), MPI_BYTE, 0, comm);
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

static bool settled(const struct search *search, const struct point *point)
{
    const struct tune_series *series = &point->entry->series;

    return point->given_up
           || (series->count >= (size_t) search->way->least
               && (series->count >= (size_t) search->way->most
                   || tune_series_spread(series) <= search->way->precision));
}

/* What a message takes by the built-in rules; where it has not been measured, in proportion to one that has. */
static double builtin_seconds(const struct search *search, mca_coll_han_collective_t collective, size_t bytes)
{
    double result = 1e-4;

    for (long i = 0; i < search->point_count; ++i) {
        const struct point *point = &search->points[i];
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

/* What is left of the points from first on. */
static double left(const struct search *search, long first)
{
    double seconds = 0;

    for (long i = first; i < search->point_count; ++i) {
        const struct point *point = &search->points[i];
        const struct tune_series *series = &point->entry->series;
        const size_t least = (size_t) search->way->least;

        if (!settled(search, point)) {
            const double one = 0 < series->count
                                   ? tune_series_median(series)
                                   : 2 * builtin_seconds(search, point->run.config.collective, point->run.bytes);

            /* Commands and starting together cost too. */
            seconds += (one + 1e-3) * (double) (series->count < least ? least - series->count : 1);
        }
    }
    return seconds;
}

static void progress(struct search *search, long first, const char *what, bool now)
{
    const double time = MPI_Wtime(), past = time - search->started;
    const bool terminal = 0 != isatty(STDERR_FILENO);
    double rest;
    char past_text[32], rest_text[32];

    if (search->way->quiet || (!now && time - search->said < (terminal ? 0.5 : 10))) {
        return;
    }
    search->said = time;
    rest = left(search, first);
    tune_time_text(past, past_text);
    tune_time_text(rest, rest_text);
    fprintf(stderr, "%shan_tune: %s: %.0f %%, %s, about %s left%s", terminal ? "\r" : "", what,
            100 * past / (past + rest + 1e-9), past_text, rest_text, terminal ? "   " : "\n");
    if (terminal && now) {
        fputc('\n', stderr);
    }
}

/* ---- points ---- */

static struct tune_entry *entry_of(struct search *search, const struct tune_run *run)
{
    struct tune_entry like = { .kind = run->kind,
                               .nodes = search->space->nodes,
                               .ppn = search->space->ppn,
                               .collective = run->config.collective,
                               .bytes = run->bytes };

    if (TUNE_TASK == run->kind || TUNE_WHOLE == run->kind) {
        tune_config_text(&run->config, like.parameters);
    }
    return tune_store_entry(search->store, &like);
}

/* -1 where memory is short. */
static long add_point(struct search *search, const struct point *like)
{
    struct point *points = search->points;

    if (search->point_count == search->point_room) {
        search->point_room = 0 == search->point_room ? 256 : 2 * search->point_room;
        points = realloc(points, (size_t) search->point_room * sizeof(*points));
        if (NULL == points) {
            return -1;
        }
        search->points = points;
    }
    points[search->point_count] = *like;
    points[search->point_count].entry = entry_of(search, &like->run);
    return NULL == points[search->point_count].entry ? -1 : search->point_count++;
}

static long add_message(struct search *search, enum tune_kind kind, const struct tune_config *config, size_t bytes)
{
    const struct point point = { .run = { .kind = kind, .config = *config, .bytes = bytes }, .candidate = -1 };

    return add_point(search, &point);
}

static long add_task(struct search *search, const struct tune_config *config, size_t segments, size_t most)
{
    struct point point = { .run = { .kind = TUNE_TASK, .config = *config, .bytes = segments * config->params.fs },
                           .segments = segments,
                           .most = most };

    return add_point(search, &point);
}

/* What an earlier run has found to be too short is not measured again. */
static size_t segments_of(struct search *search, const struct tune_config *config, size_t most)
{
    size_t lag;
    const int stages = tune_engine_stages(search->engine, config, &lag);
    size_t segments = tune_model_segments(stages, lag, most);

    for (size_t more = 2 * segments; more <= most / 2; more *= 2) {
        const struct tune_run run = { .kind = TUNE_TASK, .config = *config, .bytes = more * config->params.fs };
        const struct tune_entry *entry = entry_of(search, &run);

        if (NULL != entry && 0 < entry->series.count) {
            segments = more;
        }
    }
    return segments;
}

/* The leaders' steps go into a file of their own. */
static void write_steps(struct search *search, const struct point *point, const struct tune_result *result)
{
    char text[TUNE_TEXT], name[32];

    tune_config_text(&point->run.config, text);
    for (int leader = 0; leader < search->space->nodes; ++leader) {
        for (size_t step = 0; step < result->step_count; ++step) {
            tune_engine_task_name(search->engine, &point->run.config, result->tasks[step], name, sizeof(name));
            fprintf(search->steps, "%d,%d,%s,%zu,%d,%zu,%s,%.9g,%s\n", search->space->nodes, search->space->ppn,
                    mca_coll_han_collective_names[point->run.config.collective], point->segments, leader, step, name,
                    result->steps[(size_t) leader * result->step_count + step], text);
        }
    }
    fflush(search->steps);
}

/* More segments, where the cost of the full steps has not settled and the longest message has many more. */
static int grow(struct search *search, struct point *point)
{
    if (2 * point->segments > point->most / 2 || TUNE_MOST_STEPS / 2 < 2 * point->segments) {
        return 0;
    }
    point->segments *= 2;
    point->run.bytes *= 2;
    point->entry = entry_of(search, &point->run);
    return NULL == point->entry ? -1 : 0;
}

static int measure(struct search *search, struct point *point)
{
    const bool first = 0 == point->entry->series.count;
    struct tune_result result;
    char text[TUNE_TEXT];

    point->run.steps = TUNE_TASK == point->run.kind && 1 < point->segments;
    tune_search_do(search->engine, search->comm, &point->run, &result);
    ++search->runs;
    if (0 != result.rc) {
        tune_config_text(&point->run.config, text);
        fprintf(stderr, "han_tune: %s, %zu bytes, %s: error %d; it is left out\n",
                mca_coll_han_collective_names[point->run.config.collective], point->run.bytes, text, result.rc);
        point->given_up = true;
        return 0;
    }
    if (0 != tune_store_add(search->store, point->entry, &result.sample)) {
        fprintf(stderr, "han_tune: a measurement could not be written\n");
        return -1;
    }
    if (point->run.steps) {
        write_steps(search, point, &result);
    }
    return !result.settled && first ? grow(search, point) : 0;
}

/* ---- estimates ---- */

/* Messages are numbered by size; a barrier is one without bytes. */
static size_t message(const struct search *search, mca_coll_han_collective_t collective, int number)
{
    const size_t bytes = search->space->least_bytes << number;

    if (HAN_BARRIER == collective) {
        return 0;
    }
    return bytes;
}

static int message_count(const struct search *search, mca_coll_han_collective_t collective)
{
    int count = 0;

    if (HAN_BARRIER == collective) {
        return 1;
    }
    for (size_t bytes = search->space->least_bytes; bytes <= search->space->most_bytes; bytes *= 2) {
        ++count;
    }
    return count;
}

static const struct tune_series *series_at(const struct search *search, long point)
{
    static const struct tune_series none;

    return 0 > point ? &none : &search->points[point].entry->series;
}

/* NAN where it is not known, or the configuration is none for this message. */
static double estimate(const struct search *search, const struct candidate *candidate, int number)
{
    const mca_coll_han_collective_t collective = candidate->config.collective;
    const size_t bytes = message(search, collective, number), fs = candidate->config.params.fs;
    long point = candidate->first;

    if (!tune_space_serves(search->space, &candidate->config, bytes)) {
        return NAN;
    }
    if (-1 == candidate->first) {
        return tune_model_estimate(series_at(search, candidate->one), series_at(search, candidate->many),
                                   -1 == candidate->many ? 1 : search->points[candidate->many].segments,
                                   (bytes + fs - 1) / fs);
    }
    for (int i = 0; i < number; ++i) {
        point += tune_space_serves(search->space, &candidate->config, message(search, collective, i)) ? 1 : 0;
    }
    return tune_series_median(series_at(search, point));
}

/* The best of a collective for a message; -1: there is none. */
static long best(const struct search *search, mca_coll_han_collective_t collective, int number, double above,
                 double *seconds)
{
    long found = -1;

    *seconds = INFINITY;
    for (long i = 0; i < search->candidate_count; ++i) {
        const double value = collective == search->candidates[i].config.collective
                                 ? estimate(search, &search->candidates[i], number)
                                 : NAN;

        if (value > above && value < *seconds) {
            found = i;
            *seconds = value;
        }
    }
    return found;
}

/* What is far behind for all messages is not worth more repetitions. A heuristic: one sample may be an outlier. */
enum { MOST_MESSAGES = 64 };
static const double FAR_BEHIND = 1.5;

static void give_up(struct search *search, mca_coll_han_collective_t collective)
{
    double leader[MOST_MESSAGES];
    const int count = message_count(search, collective);

    for (int number = 0; number < count; ++number) {
        best(search, collective, number, 0, &leader[number]);
    }
    for (long i = 0; i < search->candidate_count; ++i) {
        const struct candidate *candidate = &search->candidates[i];
        bool far = collective == candidate->config.collective, known = false;

        for (int number = 0; number < count && far; ++number) {
            const double value = estimate(search, candidate, number);

            known = known || !isnan(value);
            far = isnan(value) || value > FAR_BEHIND * leader[number];
        }
        if (!far || !known) {
            continue;
        }
        if (-1 != candidate->first) {
            for (long p = candidate->first; p < search->point_count && i == search->points[p].candidate; ++p) {
                search->points[p].given_up = true;
            }
            continue;
        }
        search->points[candidate->one].given_up = true;
        if (-1 != candidate->many) {
            search->points[candidate->many].given_up = true;
        }
    }
}

/* ---- the search ---- */

/* Round by round each point that is not settled gets a sample, so that what else happens on the machine meets all. */
static int measure_all(struct search *search, long first, const char *what, double deadline)
{
    bool more = true;

    for (int round = 0; more; ++round) {
        more = false;
        for (long i = first; i < search->point_count; ++i) {
            if (settled(search, &search->points[i])) {
                continue;
            }
            if (MPI_Wtime() > deadline) {
                progress(search, first, what, true);
                fprintf(stderr, "han_tune: the time is over; the best so far is taken\n");
                return 0;
            }
            if (0 != measure(search, &search->points[i])) {
                return -1;
            }
            more = true;
            progress(search, first, what, false);
        }
        for (int i = 0; i < search->space->collective_count && search->space->heuristics && TUNE_MOST_CHOICES > round;
             ++i) {
            give_up(search, search->space->collectives[i]);
        }
    }
    progress(search, first, what, true);
    return 0;
}

static int add_references(struct search *search)
{
    for (int i = 0; i < search->space->collective_count; ++i) {
        const struct tune_config config = { .collective = search->space->collectives[i] };

        for (int number = 0; number < message_count(search, config.collective); ++number) {
            const size_t bytes = message(search, config.collective, number);

            if (-1 == add_message(search, TUNE_BUILTIN, &config, bytes)
                || -1 == add_message(search, TUNE_FALLBACK, &config, bytes)) {
                return -1;
            }
        }
    }
    return 0;
}

static int add_points(struct search *search, struct candidate *candidate)
{
    const struct tune_config *config = &candidate->config;
    const size_t fs = config->params.fs;

    candidate->one = candidate->many = candidate->first = -1;
    if (search->way->exhaustive || HAN_BARRIER == config->collective) {
        for (int number = 0; number < message_count(search, config->collective); ++number) {
            const size_t bytes = message(search, config->collective, number);
            long point;

            if (!tune_space_serves(search->space, config, bytes)) {
                continue;
            }
            point = add_message(search, TUNE_WHOLE, config, bytes);
            if (-1 == point) {
                return -1;
            }
            candidate->first = -1 == candidate->first ? point : candidate->first;
        }
        return 0;
    }
    candidate->one = add_task(search, config, 1, 1);
    /* Below the shortest segment a message is one. */
    if (-1 != candidate->one && fs >= search->space->least_segment && 1 < search->space->most_bytes / fs) {
        const size_t most = search->space->most_bytes / fs;

        candidate->many = add_task(search, config, segments_of(search, config, most), most);
        return -1 == candidate->many ? -1 : 0;
    }
    return -1 == candidate->one ? -1 : 0;
}

static int add_candidates(struct search *search)
{
    for (int i = 0; i < search->space->collective_count; ++i) {
        struct tune_config *configs = NULL;
        const long count = tune_space_make(search->space, search->space->collectives[i], &configs);
        struct candidate *candidates
            = realloc(search->candidates, (size_t) (search->candidate_count + count + 1) * sizeof(*candidates));
        long first;

        if (0 > count || NULL == candidates) {
            free(configs);
            return -1;
        }
        search->candidates = candidates;
        for (long c = 0; c < count; ++c) {
            struct candidate *candidate = &candidates[search->candidate_count++];

            memset(candidate, 0, sizeof(*candidate));
            candidate->config = configs[c];
            first = search->point_count;
            if (0 != add_points(search, candidate)) {
                free(configs);
                return -1;
            }
            for (; first < search->point_count; ++first) {
                search->points[first].candidate = search->candidate_count - 1;
            }
        }
        free(configs);
    }
    return 0;
}

/* ---- what comes of it ---- */

static void write_estimates(const struct search *search, const char *folder)
{
    char path[4096], text[TUNE_TEXT];
    FILE *file;

    snprintf(path, sizeof(path), "%s/estimates.csv", folder);
    file = fopen(path, "a");
    for (long i = 0; NULL != file && i < search->candidate_count; ++i) {
        const struct tune_config *config = &search->candidates[i].config;

        for (int number = 0; number < message_count(search, config->collective); ++number) {
            const double value = estimate(search, &search->candidates[i], number);

            if (!isnan(value)) {
                tune_config_text(config, text);
                fprintf(file, "%s,%d,%d,%s,%zu,%.9g,%s\n", search->way->exhaustive ? "whole" : "task",
                        search->space->nodes, search->space->ppn, mca_coll_han_collective_names[config->collective],
                        message(search, config->collective, number), value, text);
            }
        }
    }
    if (NULL != file) {
        fclose(file);
    }
}

/* Medians of as many samples as have just been taken. */
static double latest(const struct tune_series *series, size_t count)
{
    const struct tune_series part = { .samples = series->samples + (series->count < count ? 0 : series->count - count),
                                      .count = series->count < count ? series->count : count };

    return tune_series_median(&part);
}

/* The best of the estimates are run side by side with the built-in rules, turn by turn: what is not better by 3 % and
 * in three turns of four is not written down. */
enum { FINALISTS = 2, TURNS = 5 };
static const double WORTH = 0.97;

/* Turns in which a configuration was faster, of the last ones. */
static bool wins(const struct tune_series *mine, const struct tune_series *other)
{
    int won = 0;

    if (TURNS > mine->count || TURNS > other->count) {
        return false;
    }
    for (size_t i = 1; i <= TURNS; ++i) {
        won += mine->samples[mine->count - i].seconds < other->samples[other->count - i].seconds ? 1 : 0;
    }
    return 4 * won >= 3 * TURNS;
}

static int confirm(struct search *search, struct tune_choice *choice, int number)
{
    const struct tune_config reference = { .collective = choice->collective };
    long points[2 + FINALISTS] = { add_message(search, TUNE_BUILTIN, &reference, choice->bytes),
                                   add_message(search, TUNE_FALLBACK, &reference, choice->bytes) };
    long finalists[FINALISTS];
    int count = 0, chosen = 0;
    double above = 0;

    while (count < (search->space->heuristics ? 1 : FINALISTS)) {
        double seconds;
        const long found = best(search, choice->collective, number, above, &seconds);

        if (-1 == found) {
            break;
        }
        choice->estimate = 0 == count ? seconds : choice->estimate;
        above = seconds;
        points[2 + count] = add_message(search, TUNE_WHOLE, &search->candidates[found].config, choice->bytes);
        finalists[count++] = found;
    }
    for (int i = 0; i < 2 + count; ++i) {
        if (-1 == points[i]) {
            return -1;
        }
    }
    for (int i = 0; i < TURNS * (2 + count) && MPI_Wtime() < search->way->deadline; ++i) {
        if (0 != measure(search, &search->points[points[i % (2 + count)]])) {
            return -1;
        }
    }
    choice->builtin = latest(series_at(search, points[0]), TURNS);
    choice->fallback = latest(series_at(search, points[1]), TURNS);
    choice->measured = NAN;
    for (int i = 0; i < count; ++i) {
        const double seconds = latest(series_at(search, points[2 + i]), TURNS);

        if (isnan(choice->measured) || seconds < choice->measured) {
            choice->measured = seconds;
            chosen = i;
            choice->config = search->candidates[finalists[i]].config;
        }
    }
    choice->found = choice->measured < WORTH * choice->builtin
                    && wins(series_at(search, points[2 + chosen]), series_at(search, points[0]));
    return 0;
}

static long choose(struct search *search, struct tune_choice **choices)
{
    const size_t room = (size_t) search->space->collective_count * MOST_MESSAGES;
    struct tune_choice *made = calloc(room, sizeof(*made));
    long count = 0;

    *choices = made;
    for (int i = 0; NULL != made && i < search->space->collective_count; ++i) {
        for (int number = 0; number < message_count(search, search->space->collectives[i]); ++number) {
            struct tune_choice *choice = &made[count++];

            choice->collective = search->space->collectives[i];
            choice->bytes = message(search, choice->collective, number);
            if (0 != confirm(search, choice, number)) {
                return -1;
            }
        }
    }
    return NULL == made ? -1 : count;
}

/* What can be used here. */
static void find_submodules(struct tune_engine *engine, struct tune_space *space)
{
    space->up_count = space->low_count = 0;
    for (int i = 0; i < HAN_CHOICE_COUNT; ++i) {
        const mca_coll_han_submodule_t up = mca_coll_han_choices[HAN_UP][i], low = mca_coll_han_choices[HAN_LOW][i];

        if (HAN_AUTO != up && tune_engine_has(engine, HAN_UP, up)) {
            space->ups[space->up_count++] = up;
        }
        if (HAN_AUTO != low && tune_engine_has(engine, HAN_LOW, low)) {
            space->lows[space->low_count++] = low;
        }
    }
}

static void announce(const struct search *search, long first)
{
    char time[32];

    tune_time_text(left(search, first), time);
    fprintf(stderr,
            "han_tune: %d nodes of %d ranks: %ld configurations, %ld to be measured %d to %d times: about %s, more "
            "where the machine is not quiet\n",
            search->space->nodes, search->space->ppn, search->candidate_count, search->point_count - first,
            search->way->least, search->way->most, time);
}

static long search_all(struct search *search, const char *folder, struct tune_choice **choices)
{
    const char *mode = search->way->exhaustive ? "exhaustive" : "task";
    const double limit = search->way->deadline - search->started;
    long first, count;

    if (0 != add_references(search) || 0 != measure_all(search, 0, "built-in rules", search->way->deadline)) {
        return -1;
    }
    first = search->point_count;
    search->started = MPI_Wtime();
    if (0 != add_candidates(search)) {
        return -1;
    }
    announce(search, first);
    /* Some time is kept for the choice. */
    if (0 != measure_all(search, first, mode, search->way->deadline - 0.15 * limit)) {
        return -1;
    }
    write_estimates(search, folder);
    count = choose(search, choices);
    tune_store_searched(search->store, mode, search->space->heuristics, MPI_Wtime() - search->started);
    return count;
}

long tune_search_run(struct tune_engine *engine, struct tune_store *store, struct tune_space *space,
                     const struct tune_way *way, const char *folder, struct tune_choice **choices)
{
    struct search search = { .engine = engine, .store = store, .space = space, .way = way };
    char path[4096];
    long count = -1;

    search.comm = tune_engine_comm(engine);
    search.started = MPI_Wtime();
    find_submodules(engine, space);
    *choices = NULL;
    if (NULL == folder) {
        tune_search_follow(engine, search.comm);
        return 0;
    }
    snprintf(path, sizeof(path), "%s/steps.csv", folder);
    search.steps = fopen(path, "a");
    if (NULL == search.steps) {
        fprintf(stderr, "han_tune: %s cannot be written\n", path);
    } else {
        count = search_all(&search, folder, choices);
        fclose(search.steps);
    }
    tune_search_end(search.comm);
    free(search.candidates);
    free(search.points);
    return count;
}
