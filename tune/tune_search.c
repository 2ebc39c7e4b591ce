/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_search.h"

#include "common/tool_version.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RELATIVES = 3 };

/* A configuration, and where its measurements are; -1: nowhere. */
struct candidate {
    struct tune_config config;
    long one, many; /* task mode: one segment, several */
    long half;      /* instead of several: the candidate that tells of segments of half the size */
    long shared[2]; /* instead of one: the reduce and the bcast that have the tasks of an allreduce's segment */
    /* Candidates that tell what one of its segments costs in a full pipeline. */
    long relatives[RELATIVES];
    int relative_count;
    long first; /* exhaustive: the first of the sizes that it serves, the others follow */
    long begin; /* of all its points, which follow one another */
};

struct search {
    const struct tune_space *space;
    struct tune_points points;
    struct candidate *candidates;
    long candidate_count;
    int unjudged; /* messages for which the time was over before configurations were compared */
};

/* ---- estimates ---- */

/* Messages are numbered by size; a barrier is one without bytes. */
static size_t message(const struct search *search, mca_coll_han_collective_t collective, int number)
{
    return HAN_BARRIER == collective ? 0 : search->space->least_bytes << number;
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

static const struct tune_series *series_of(const struct search *search, long point)
{
    return tune_points_series(&search->points, point);
}

/* Of one segment. */
static double first_of(const struct search *search, const struct candidate *candidate)
{
    double sum = 0;

    if (-1 != candidate->one) {
        return tune_series_median(series_of(search, candidate->one));
    }
    for (int i = 0; i < 2; ++i) {
        sum += tune_series_median(series_of(search, search->candidates[candidate->shared[i]].one));
    }
    return sum;
}

/* Of a segment that follows the first: by its own runs, or in proportion to segments of half the size. */
static double step_of(const struct search *search, const struct candidate *candidate)
{
    const struct candidate *teller = -1 == candidate->half ? candidate : &search->candidates[candidate->half];
    double step;

    if (-1 == teller->many) {
        return NAN;
    }
    step = tune_model_step(first_of(search, teller), series_of(search, teller->many),
                           search->points.list[teller->many].segments);
    return step * (double) candidate->config.params.fs / (double) teller->config.params.fs;
}

/* What a segment costs in a full pipeline, by candidates with other segments: the median. NAN where there are none. */
static double slope(const struct search *search, const struct candidate *candidate)
{
    double slopes[RELATIVES];
    int count = 0;

    for (int i = 0; i < candidate->relative_count; ++i) {
        const struct candidate *relative = &search->candidates[candidate->relatives[i]];
        const double value = step_of(search, relative);

        if (!isnan(value)) {
            slopes[count++] = value * (double) candidate->config.params.fs / (double) relative->config.params.fs;
        }
    }
    return tune_median(slopes, (size_t) count);
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
        return tune_model_estimate(first_of(search, candidate), step_of(search, candidate), (bytes + fs - 1) / fs,
                                   (size_t) candidate->config.params.depth, slope(search, candidate));
    }
    for (int i = 0; i < number; ++i) {
        point += tune_space_serves(search->space, &candidate->config, message(search, collective, i)) ? 1 : 0;
    }
    return tune_series_median(series_of(search, point));
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
        for (long p = candidate->begin; p < search->points.count && i == search->points.list[p].candidate; ++p) {
            search->points.list[p].given_up = true;
        }
    }
}

static void after_round(void *context)
{
    struct search *search = context;

    for (int i = 0; search->space->heuristics && i < search->space->function_count; ++i) {
        give_up(search, search->space->functions[i].collective);
    }
}

/* ---- the search ---- */

static int add_references(struct search *search)
{
    for (int i = 0; i < search->space->function_count; ++i) {
        const struct tune_config config = { .collective = search->space->functions[i].collective };

        for (int number = 0; number < message_count(search, config.collective); ++number) {
            const size_t bytes = message(search, config.collective, number);

            if (-1 == tune_points_message(&search->points, TUNE_BUILTIN, &config, bytes)
                || -1 == tune_points_message(&search->points, TUNE_FALLBACK, &config, bytes)) {
                return -1;
            }
        }
    }
    return 0;
}

static int add_messages(struct search *search, struct candidate *candidate)
{
    const struct tune_config *config = &candidate->config;

    for (int number = 0; number < message_count(search, config->collective); ++number) {
        const size_t bytes = message(search, config->collective, number);
        long point;

        if (!tune_space_serves(search->space, config, bytes)) {
            continue;
        }
        point = tune_points_message(&search->points, TUNE_WHOLE, config, bytes);
        if (-1 == point) {
            return -1;
        }
        candidate->first = -1 == candidate->first ? point : candidate->first;
    }
    return 0;
}

/* Whether configurations differ in nothing but the segments. */
static bool alike(const struct tune_config *one, const struct tune_config *other)
{
    struct tune_config like = *one;
    char wanted[TUNE_TEXT], text[TUNE_TEXT];

    like.params.fs = other->params.fs;
    tune_config_text(&like, wanted);
    tune_config_text(other, text);
    return like.collective == other->collective && 0 == strcmp(wanted, text);
}

/*
 * Those that are alike and fill the pipeline; with many of them those with the longest segments, which come last. And
 * the one with segments of half the size.
 */
static void find_relatives(const struct search *search, struct candidate *candidate)
{
    int found = 0;

    for (long i = 0; &search->candidates[i] != candidate; ++i) {
        const struct candidate *other = &search->candidates[i];

        if (-1 == other->many || !alike(&candidate->config, &other->config)) {
            continue;
        }
        if (0 == other->relative_count) {
            candidate->relatives[found++ % RELATIVES] = i;
        }
        if (2 * other->config.params.fs == candidate->config.params.fs) {
            candidate->half = i;
        }
    }
    candidate->relative_count = found < RELATIVES ? found : RELATIVES;
}

/*
 * The first segment of an allreduce (sr ir ib sb) costs what a reduce (sr ir) and a broadcast (ib sb) of one segment
 * cost, where these are tuned, too (HAN paper, section III-B.2: their tasks are the same).
 */
static bool find_shared(const struct search *search, struct candidate *candidate)
{
    static const mca_coll_han_collective_t collectives[2] = { HAN_REDUCE, HAN_BCAST };
    const mca_coll_han_params_t *own = &candidate->config.params;

    for (int which = 0; which < 2; ++which) {
        candidate->shared[which] = -1;
        for (long i = 0; &search->candidates[i] != candidate && HAN_ALLREDUCE == candidate->config.collective; ++i) {
            const struct candidate *other = &search->candidates[i];
            const mca_coll_han_params_t *others = &other->config.params;

            if (collectives[which] == other->config.collective && own->algorithm == others->algorithm
                && own->fs == others->fs && own->imod == others->imod && own->smod == others->smod
                && own->ibalg == others->ibalg && own->ibs == others->ibs) {
                candidate->shared[which] = i;
            }
        }
    }
    return -1 != candidate->shared[0] && -1 != candidate->shared[1];
}

/*
 * Runs of one segment, and of several. For the pipeline to fill it takes many; with long segments half of the longest
 * message has fewer than three bunches of those under way together. There two segments show how these go, and shorter
 * ones what comes then: full, a pipeline carries so many bytes a second, however they are cut. The longest segments go
 * together as those of half the size do: two of them would take more time than all other runs of the configuration.
 */
static int add_tasks(struct search *search, struct candidate *candidate)
{
    const struct tune_config *config = &candidate->config;
    const size_t fs = config->params.fs, most = search->space->most_bytes / fs;
    const size_t depth = (size_t) config->params.depth;
    const size_t enough = tune_model_segments(tune_engine_lag(search->points.engine, config), depth);
    size_t limit = most / 2, several = enough < limit ? enough : limit;

    if (!find_shared(search, candidate)) {
        candidate->one = tune_points_task(&search->points, config, 1, 1);
        if (-1 == candidate->one) {
            return -1;
        }
    }
    /* Below the shortest segment a message is one. */
    if (fs < search->space->least_segment || 2 > most) {
        return 0;
    }
    if (several < 3 * depth) {
        find_relatives(search, candidate);
        if (fs == search->space->most_segment && -1 != candidate->half) {
            return 0;
        }
        candidate->half = -1;
        several = 0 < candidate->relative_count ? 2 : enough < most ? enough : most;
        limit = several;
    }
    candidate->many = tune_points_task(&search->points, config, several, limit);
    return -1 == candidate->many ? -1 : 0;
}

static int add_points(struct search *search, struct candidate *candidate)
{
    candidate->one = candidate->many = candidate->half = candidate->first = -1;
    return search->points.way->exhaustive || HAN_BARRIER == candidate->config.collective
               ? add_messages(search, candidate)
               : add_tasks(search, candidate);
}

static int add_candidates(struct search *search)
{
    for (int i = 0; i < search->space->function_count; ++i) {
        struct tune_config *configs = NULL;
        const long count = tune_space_make(search->space, search->space->functions[i].collective, &configs);
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
            candidate->begin = first = search->points.count;
            if (0 != add_points(search, candidate)) {
                free(configs);
                return -1;
            }
            for (; first < search->points.count; ++first) {
                search->points.list[first].candidate = search->candidate_count - 1;
            }
        }
        free(configs);
    }
    return 0;
}

/* ---- what comes of it ---- */

static void write_estimates(const struct search *search, const char *folder)
{
    FILE *file = tune_file_open(folder, "estimates.csv", "a");
    char text[TUNE_TEXT];

    for (long i = 0; NULL != file && i < search->candidate_count; ++i) {
        const struct tune_config *config = &search->candidates[i].config;

        for (int number = 0; number < message_count(search, config->collective); ++number) {
            const double value = estimate(search, &search->candidates[i], number);

            if (!isnan(value)) {
                tune_config_text(config, text);
                fprintf(file, "%s,%d,%d,%s,%zu,%.9g,%s," HAN_VERSION_TEXT "\n",
                        search->points.way->exhaustive ? "whole" : "task", search->space->nodes, search->space->ppn,
                        mca_coll_han_collective_names[config->collective], message(search, config->collective, number),
                        value, text);
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

/* The best of the estimates are run side by side with HAN's own choice, turn by turn: what is not worth it
 * (TUNE_WORTH), or not better in three turns of four, is not written down. */
enum { FINALISTS = 4, TURNS = 5 };

/* Each turn in the other direction: who comes after a run, and meets what it leaves behind, is not always the same.
 * Where the time is over before all have had their turns, all is false: older samples are no turns. */
static int take_turns(struct tune_points *points, const long *ways, int count, bool *all)
{
    *all = true;
    for (int i = 0; i < TURNS * count; ++i) {
        const int place = i % count;

        if (MPI_Wtime() >= points->way->deadline) {
            *all = false;
            return 0;
        }
        if (0 != tune_points_measure(points, ways[0 == i / count % 2 ? place : count - 1 - place])) {
            return -1;
        }
    }
    return 0;
}

/* Turns in which a configuration was faster, of the last ones. */
static bool wins(const struct tune_series *mine, const struct tune_series *other)
{
    int won = 0;

    if (TURNS > mine->count || TURNS > other->count) {
        return false;
    }
    for (size_t i = 1; i <= TURNS; ++i) {
        won += mine->samples[mine->count - i] < other->samples[other->count - i] ? 1 : 0;
    }
    return 4 * won >= 3 * TURNS;
}

/* By the last turns. */
static void judge(const struct tune_points *points, struct tune_choice *choice, long mine, long builtin)
{
    const struct tune_series *series = tune_points_series(points, mine);
    const struct tune_series *reference = tune_points_series(points, builtin);

    choice->measured = latest(series, TURNS);
    choice->builtin = latest(reference, TURNS);
    choice->found = TUNE_WORTH * choice->measured <= choice->builtin && wins(series, reference);
}

static int contest(struct search *search, struct tune_choice *choice, int number)
{
    struct tune_points *points = &search->points;
    const struct tune_config reference = { .collective = choice->function.collective };
    /* What goes without HAN decides nothing: it was measured at the beginning. */
    const long fallback = tune_points_message(points, TUNE_FALLBACK, &reference, choice->bytes);
    long ways[1 + FINALISTS] = { tune_points_message(points, TUNE_BUILTIN, &reference, choice->bytes) };
    long finalists[FINALISTS];
    int count = 0, chosen = 0;
    double above = 0, fastest = NAN;
    bool all;

    while (count < FINALISTS) {
        double seconds;
        const long found = best(search, choice->function.collective, number, above, &seconds);

        if (-1 == found) {
            break;
        }
        choice->estimate = 0 == count ? seconds : choice->estimate;
        above = seconds;
        finalists[count++] = found;
        ways[count] = tune_points_message(points, TUNE_WHOLE, &search->candidates[found].config, choice->bytes);
    }
    for (int i = 0; i <= count; ++i) {
        if (-1 == ways[i] || -1 == fallback) {
            return -1;
        }
    }
    if (0 != take_turns(points, ways, 1 + count, &all)) {
        return -1;
    }
    search->unjudged += all ? 0 : 1;
    for (int i = 1; i <= count && all; ++i) {
        const double seconds = latest(tune_points_series(points, ways[i]), TURNS);

        if (isnan(fastest) || seconds < fastest) {
            fastest = seconds;
            chosen = i;
        }
    }
    choice->fallback = tune_series_median(tune_points_series(points, fallback));
    choice->builtin = latest(tune_points_series(points, ways[0]), TURNS);
    choice->measured = NAN;
    if (0 != chosen) {
        choice->config = search->candidates[finalists[chosen - 1]].config;
        judge(points, choice, ways[chosen], ways[0]);
    }
    return 0;
}

/* The fastest of several in a few turns may have been lucky, or HAN's own choice not. So who has won runs against
 * them once more, later and without the others, and these turns decide. */
static int confirm(struct search *search, struct tune_choice *choice)
{
    struct tune_points *points = &search->points;
    const struct tune_config reference = { .collective = choice->function.collective };
    const long ways[2] = { tune_points_message(points, TUNE_BUILTIN, &reference, choice->bytes),
                           tune_points_message(points, TUNE_WHOLE, &choice->config, choice->bytes) };
    bool all;

    if (-1 == ways[0] || -1 == ways[1] || 0 != take_turns(points, ways, 2, &all)) {
        return -1;
    }
    /* Without the time for it, the contest's turns decide. */
    if (all) {
        judge(points, choice, ways[1], ways[0]);
    }
    return 0;
}

static long choose(struct search *search, struct tune_choice **choices)
{
    const size_t room = (size_t) search->space->function_count * MOST_MESSAGES;
    struct tune_choice *made = calloc(room, sizeof(*made));
    long count = 0;

    *choices = made;
    for (int i = 0; NULL != made && i < search->space->function_count; ++i) {
        for (int number = 0; number < message_count(search, search->space->functions[i].collective); ++number) {
            struct tune_choice *choice = &made[count++];

            choice->function = search->space->functions[i];
            choice->bytes = message(search, choice->function.collective, number);
            if (0 != contest(search, choice, number)) {
                return -1;
            }
        }
    }
    for (long i = 0; i < count; ++i) {
        if (made[i].found && 0 != confirm(search, &made[i])) {
            return -1;
        }
    }
    for (long i = 0; i < count; ++i) {
        tune_config_text(&made[i].config, made[i].text);
    }
    if (0 < search->unjudged) {
        fprintf(stderr, "han_tune: for %d of %ld messages there was no time to compare: HAN's own choice stays\n",
                search->unjudged, count);
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

    tune_time_text(tune_points_left(&search->points, first), time);
    fprintf(stderr,
            "han_tune: %d nodes of %d ranks: %ld configurations, %ld to be measured %d to %d times: about %s, more "
            "where the machine is not quiet\n",
            search->space->nodes, search->space->ppn, search->candidate_count, search->points.count - first,
            search->points.way->least, search->points.way->most, time);
}

static long search_all(struct search *search, const char *folder, struct tune_choice **choices)
{
    const char *mode = search->points.way->exhaustive ? "exhaustive" : "task";
    const double limit = search->points.way->deadline - search->points.started;
    const double deadline = isinf(limit) ? limit : search->points.way->deadline - 0.15 * limit;
    long first, count;

    if (0 != add_references(search)
        || 0
               != tune_points_measure_all(&search->points, 0, "HAN's own choice", search->points.way->deadline,
                                          after_round, search)) {
        return -1;
    }
    first = search->points.count;
    search->points.started = MPI_Wtime();
    if (0 != add_candidates(search)) {
        return -1;
    }
    announce(search, first);
    /* Some time is kept for the choice. */
    if (0 != tune_points_measure_all(&search->points, first, mode, deadline, after_round, search)) {
        return -1;
    }
    write_estimates(search, folder);
    count = choose(search, choices);
    tune_store_searched(search->points.store, mode, search->space->heuristics, MPI_Wtime() - search->points.started);
    return count;
}

long tune_search_run(struct tune_engine *engine, struct tune_store *store, struct tune_space *space,
                     const struct tune_way *way, const char *folder, struct tune_choice **choices)
{
    struct search search = { .space = space,
                             .points = { .engine = engine,
                                         .store = store,
                                         .way = way,
                                         .nodes = space->nodes,
                                         .ppn = space->ppn,
                                         .started = MPI_Wtime() } };
    char path[TUNE_PATH];
    long count = -1;

    find_submodules(engine, space);
    *choices = NULL;
    if (NULL == folder) {
        tune_points_follow(engine);
        return 0;
    }
    search.points.steps = fopen(tune_file_path(folder, "steps.csv", path), "a");
    if (NULL == search.points.steps) {
        fprintf(stderr, "han_tune: %s: %s\n", path, strerror(errno));
    } else {
        count = search_all(&search, folder, choices);
        fclose(search.points.steps);
    }
    tune_points_end(engine);
    free(search.candidates);
    free(search.points.list);
    return count;
}
