/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_race.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coll_han_choice.h"
#include "tune_likely.h"
#include "tune_options.h"

/* Sizes that are raced in any case are so many times as long as the one before. */
enum { STRIDE = 8 };

/*
 * What the model takes to be so many times as slow as the best, by both clocks, does not start (docs/tuning.md tells
 * how often that leaves out the best one).
 */
enum { HOPELESS = 2 };

enum { BLOCKS = 16 << 20 /* bytes, of all ranks together */ };

/* What looking at results may take, the first round, and each of the others, where more than a few are there. */
#define CHECK_SECONDS 0.7
#define FIRST_SECONDS 0.6
#define ROUND_SECONDS 0.3
enum { CHECK_LEAST = 8, ROUND_LEAST = 3 };

/* Rounds that take less together tell too little: what disturbs a call may last as long as some of short ones. */
#define BRIEF_SECONDS 0.2

/*
 * When all races are over, of what beats HAN's own choice, or is near it. Those of a size end where they have taken
 * this together: what takes long is disturbed the less. Those of short calls go on, for where ranks share cores each
 * round is as they happen to sit in it.
 */
enum { LAST_ROUNDS = 6 };
#define LAST_SECONDS 1.0

/* A race that takes so long meets what disturbs the machine as last rounds do, and decides by itself. */
#define LONG_SECONDS 2.0

/* Who was no more behind than so many times as far as the best is its rival in the last rounds, where it is quick. */
#define RIVAL_WITHIN 1.2
#define RIVAL_SECONDS 0.04 /* a round: six take a quarter of those of a size, and there are four to be timed */

/* One after the other; each takes about this part of the time, on 4 nodes of 4 ranks and 8 of 2. */
enum stage { RACES, LAST_ROUNDS_OF_RACES, BETWEEN_SIZES, LAST_ROUNDS_BETWEEN, STAGE_COUNT };
static const struct {
    const char *name;
    double part;
} stages[STAGE_COUNT] = {
    [RACES] = { "races", 0.67 },
    [LAST_ROUNDS_OF_RACES] = { "last rounds", 0.17 },
    [BETWEEN_SIZES] = { "races between sizes", 0.12 },
    [LAST_ROUNDS_BETWEEN] = { "last rounds between sizes", 0.04 },
};

struct race {
    struct tune_engine *engine;
    const struct tune_space *space;
    const struct tune_way *way;
    struct tune_race_log *log;
    mca_coll_han_candidates_t machine;
    int ranks, sizes;            /* that are raced in any case */
    struct tune_choice *choices; /* [room] */
    long count, room;
    struct tune_fastest *fastest; /* [fastest_count] */
    long fastest_count;
    double begin, told, until; /* seconds; until: no race begins later */
    enum stage stage;
    double done, kept;              /* parts of the stage that are over, and of all that were kept from another run */
    bool late[TUNE_FUNCTION_COUNT]; /* there was no time for all sizes of it; by its place among all */
};

size_t tune_race_memory(const struct tune_space *space)
{
    return BLOCKS < space->most_bytes ? space->most_bytes : BLOCKS;
}

/* ---- sizes ---- */

static bool fits(const struct tune_space *space, mca_coll_han_collective_t collective, size_t bytes, int ranks)
{
    return tune_contest_held(collective, bytes, ranks) <= tune_race_memory(space);
}

/* Fewer, where memory does not allow them. */
static size_t within_memory(const struct tune_space *space, mca_coll_han_collective_t collective, size_t bytes,
                            int ranks)
{
    while (!fits(space, collective, bytes, ranks)) {
        bytes /= 2;
    }
    return bytes;
}

bool tune_race_size(const struct tune_space *space, mca_coll_han_collective_t collective, int ranks, int place,
                    size_t *bytes)
{
    size_t most;

    if (HAN_BARRIER == collective || !tune_knows_bytes(collective)) {
        *bytes = 0;
        return 0 == place;
    }
    if (!fits(space, collective, space->least_bytes, ranks)) {
        return false;
    }
    most = within_memory(space, collective, space->most_bytes, ranks);
    for (*bytes = space->least_bytes; 0 < place && *bytes < most; --place) {
        *bytes = *bytes * STRIDE < most ? *bytes * STRIDE : most;
    }
    return 0 == place;
}

int tune_race_sizes(const struct tune_space *space, int ranks)
{
    int all = 0;

    for (int i = 0; i < space->function_count; ++i) {
        const struct tune_function function = space->functions[i];
        char name[TUNE_FUNCTION_NAME];
        size_t bytes;
        int sizes = 0;

        while (tune_race_size(space, function.collective, ranks, sizes, &bytes)) {
            ++sizes;
        }
        if (0 == sizes) {
            tune_complain("%s: %zu bytes for each of %d ranks want more memory than %zu bytes: it is left out",
                          tune_function_name(function, name), space->least_bytes, ranks, tune_race_memory(space));
        }
        all += sizes;
    }
    return all;
}

size_t tune_race_timed(const struct tune_space *space, mca_coll_han_collective_t collective, int ranks, size_t bytes)
{
    return tune_knows_bytes(collective) ? bytes : within_memory(space, collective, HAN_CHOICE_UNKNOWN, ranks);
}

/* ---- one race ---- */

static bool is_late(const struct race *race)
{
    return tune_engine_is_past(race->engine, race->until);
}

static void tell(struct race *race, const struct tune_contest *contest)
{
    enum { TELL_SECONDS = 2 };
    const double now = MPI_Wtime(), passed = now - race->begin;
    double over = stages[race->stage].part * race->done;
    char bytes[32], time[32], left[32], name[TUNE_FUNCTION_NAME];

    for (int i = 0; i < (int) race->stage; ++i) {
        over += stages[i].part;
    }
    if (NULL == race->log || race->way->quiet || now < race->told + TELL_SECONDS || over <= race->kept) {
        return;
    }
    race->told = now;
    tune_bytes_text(contest->bytes, bytes);
    tune_time_text(passed, time);
    tune_time_text(fmax(0, fmin(passed * (1 - over) / (over - race->kept), race->way->deadline - now)), left);
    fprintf(stderr, "han_tune: %s, %s, %s: %s, about %s left\n", stages[race->stage].name,
            tune_function_name(contest->function, name), bytes, time, left);
}

static void begin_stage(struct race *race, enum stage stage)
{
    race->stage = stage;
    race->done = 0;
}

/* Rounds, until more of them tell nothing. */
static int hold(struct race *race, struct tune_contest *contest)
{
    bool over = false;
    int rc = 0;

    for (int round = 0; round < race->way->most && 0 == rc && !over; ++round) {
        struct tune_record *records;

        tell(race, contest);
        records = tune_contest_records(contest);
        tune_judge_fit(records, contest->count, 0 == round ? FIRST_SECONDS : ROUND_SECONDS, ROUND_LEAST);
        tune_contest_take(contest, records);
        rc = tune_contest_round(contest, round);
        records = tune_contest_records(contest);
        tune_judge_drop(records, contest->count, false);
        over = round + 1 >= race->way->least
               && ((BRIEF_SECONDS <= contest->spent && tune_judge_is_over(records, contest->count)) || is_late(race));
        tune_contest_take(contest, records);
    }
    return rc;
}

/* ---- who starts ---- */

static void keep_fastest(struct race *race, const struct tune_contest *contest)
{
    struct tune_fastest fastest = { .function = contest->function, .bytes = contest->bytes };
    struct tune_record *records = tune_contest_records(contest);
    const long winner = tune_judge_winner(records, contest->count);

    for (long i = 1; i < contest->count; ++i) {
        if (0 < records[i].rounds && !records[i].wrong && !records[i].guest) {
            const struct tune_racer racer
                = { .params = contest->contestants[i].params,
                    .behind = tune_judge_over(records, contest->count, i, winner),
                    .nonblocking = tune_contest_serves(contest, &race->machine, i, HAN_NONBLOCKING) };

            tune_fastest_add(&fastest, &racer);
        }
    }
    free(records);
    race->fastest = realloc(race->fastest, (size_t) (race->fastest_count + 1) * sizeof(fastest));
    tune_contest_need(NULL != race->fastest);
    race->fastest[race->fastest_count++] = fastest;
}

static const struct tune_fastest *fastest_at(const struct race *race, struct tune_function function, size_t bytes)
{
    return tune_fastest_nearest(race->fastest, race->fastest_count, function, bytes);
}

/* Only these stay, the fallback, and HAN's own choice; if any of these are there. */
static void leave_to(struct tune_contest *contest, const struct tune_fastest *one, const struct tune_fastest *other,
                     bool (*has)(const struct tune_fastest *, const mca_coll_han_params_t *))
{
    long *others = calloc((size_t) contest->count, sizeof(*others)), count = 0;
    bool any = false;

    tune_contest_need(NULL != others);
    for (long i = 1; i < contest->count; ++i) {
        const mca_coll_han_params_t *params = &contest->contestants[i].params;

        if (has(one, params) || has(other, params)) {
            any = any || !contest->contestants[i].guest;
        } else if (i != contest->own) {
            others[count++] = i;
        }
    }
    for (long i = 0; i < count && any; ++i) {
        contest->contestants[others[i]].out = true;
    }
    free(others);
}

/* A run that goes on knows what was fast in its own races alone. */
static bool is_close(size_t one, size_t other)
{
    return one == other || (one < STRIDE * other && other < STRIDE * one);
}

/* Who was fast in blocking calls, or at one of two sizes; where that is not known, all that may win. */
static void leave_out(const struct race *race, struct tune_contest *contest, long place)
{
    const struct tune_function function = contest->function;

    tune_contest_leave_out(contest, HOPELESS);
    if (HAN_BLOCKING != function.form) {
        const struct tune_fastest *blocking
            = fastest_at(race, (struct tune_function){ function.collective, HAN_BLOCKING }, contest->bytes);

        if (NULL != blocking && is_close(blocking->bytes, contest->bytes)) {
            leave_to(contest, blocking, blocking, tune_fastest_has_nonblocking);
        }
    } else if (BETWEEN_SIZES == race->stage) {
        const size_t low = race->choices[place - 1].bytes, high = race->choices[place].bytes;
        const struct tune_fastest *one = fastest_at(race, function, low), *other = fastest_at(race, function, high);

        if (NULL != one && NULL != other && low == one->bytes && high == other->bytes) {
            leave_to(contest, one, other, tune_fastest_has);
        }
    }
}

/* ---- what comes of a race ---- */

static void add_choice(struct race *race, const struct tune_choice *choice, long place)
{
    if (race->count == race->room) {
        race->room = 2 * (race->room + 8);
        race->choices = realloc(race->choices, (size_t) race->room * sizeof(*race->choices));
        tune_contest_need(NULL != race->choices);
    }
    memmove(race->choices + place + 1, race->choices + place, (size_t) (race->count - place) * sizeof(*choice));
    race->choices[place] = *choice;
    ++race->count;
}

static const char *text_of(const struct tune_contest *contest, long one, char text[TUNE_TEXT])
{
    char candidate[HAN_CANDIDATE_TEXT];

    snprintf(text, TUNE_TEXT, "algorithm=%s",
             mca_coll_han_candidate_text(contest->function.collective, &contest->contestants[one].params, candidate));
    return text;
}

/* The winner; where what a neighbouring size has chosen could as well be it, that: there are fewer rules. */
static long winner_of(const struct race *race, const struct tune_contest *contest, const struct tune_record *records,
                      long place)
{
    const long winner = tune_judge_winner(records, contest->count);
    char text[TUNE_TEXT];

    for (long next = place - 1; next <= place; ++next) {
        const bool there = 0 <= next && next < race->count && race->choices[next].found
                           && tune_function_is(race->choices[next].function, contest->function);

        for (long i = 1; i < contest->count && there; ++i) {
            if (tune_judge_ties(records, contest->count, i, winner)
                && 0 == strcmp(race->choices[next].text, text_of(contest, i, text))) {
                return i;
            }
        }
    }
    return winner;
}

/* In seconds, as tune_judge_mean(); NAN: by no model. */
static double predicted(const mca_coll_han_times_t *times)
{
    return 0 == times->single ? NAN : 1e-12 * sqrt((double) times->single * (double) times->row);
}

/* One of a contest is what a size gets, or the best of those that do not beat HAN's own choice. */
static void set_choice(const struct tune_contest *contest, const struct tune_record *records, long one,
                       struct tune_choice *choice)
{
    choice->found = tune_judge_pays(records, contest->count, one);
    choice->estimate = predicted(&contest->contestants[one].predicted);
    choice->measured = tune_judge_mean(&records[one].median);
    choice->builtin = tune_judge_mean(&records[contest->own].median);
    choice->fallback = tune_judge_mean(&records[0].median);
    choice->config = (struct tune_config){ .collective = contest->function.collective,
                                           .params = contest->contestants[one].params };
    text_of(contest, one, choice->text);
}

/*
 * What comes of a race, before last rounds: its winner, where it beats HAN's own choice; else the best of the
 * others. The next best is its rival where it is near: it may be the one that no clock is against.
 */
static void choose(const struct race *race, const struct tune_contest *contest, struct tune_choice *choice, long place)
{
    struct tune_record *records = tune_contest_records(contest);
    long used = winner_of(race, contest, records, place), rival;

    if (!tune_judge_pays(records, contest->count, used)) {
        used = tune_judge_foremost(records, contest->count, contest->own);
    }
    set_choice(contest, records, used, choice);
    choice->settled = LONG_SECONDS <= contest->spent;
    tune_judge_take_back(records, contest->count);
    rival = tune_judge_foremost(records, contest->count, used);
    choice->rivalled = rival != used && 0 != rival && RIVAL_SECONDS >= records[rival].cost
                       && RIVAL_WITHIN >= tune_judge_over(records, contest->count, rival, used);
    choice->rival = contest->contestants[rival].params;
    free(records);
}

/* What rank 0 has kept of the same race is for all. */
static bool is_kept(const struct race *race, struct tune_choice *choice)
{
    const struct tune_choice *kept = NULL;
    int there;

    if (NULL != race->log) {
        kept = tune_choices_find(race->log->kept, race->log->kept_count, race->space->nodes, race->space->ppn,
                                 choice->function, choice->bytes);
    }
    there = NULL != kept;
    MPI_Bcast(&there, 1, MPI_INT, 0, tune_engine_comm(race->engine));
    if (there) {
        *choice = NULL != kept ? *kept : *choice;
        MPI_Bcast(choice, (int) sizeof(*choice), MPI_BYTE, 0, tune_engine_comm(race->engine));
    }
    return there;
}

/* What could not be written is told when all is over. */
static void written(struct tune_race_log *log, int rc)
{
    if (0 != rc && 0 == log->table.error) {
        log->table.error = errno;
    }
}

static void note(struct race *race, const struct tune_choice *choice)
{
    struct tune_race_log *log = race->log;

    if (NULL != log) {
        written(log, tune_choices_add(log->folder, choice, 1, race->space->nodes, race->space->ppn));
    }
}

/* What the last rounds have decided. */
static void settle(struct race *race)
{
    const struct tune_space *space = race->space;
    struct tune_race_log *log = race->log;

    if (NULL != log) {
        written(log, tune_choices_settle(log->folder, race->choices, race->count, space->nodes, space->ppn));
    }
}

/*
 * Races at a size; the choice comes to this place. What was kept is taken also where the time is over.
 *
 * @returns 0; 1 where there is no time; -1 after an error, which has been told
 */
static int race_at(struct race *race, struct tune_function function, size_t bytes, long place)
{
    struct tune_choice choice = { .function = function, .bytes = bytes };
    struct tune_contest contest;
    char name[TUNE_FUNCTION_NAME];
    int rc;

    if (is_kept(race, &choice)) {
        race->kept += RACES == race->stage ? stages[RACES].part / race->sizes : 0;
        add_choice(race, &choice, place);
        return 0;
    }
    if (is_late(race)) {
        race->late[tune_function_place(function)] = true;
        return 1;
    }
    tune_contest_open(&contest, race->engine, &race->machine, function,
                      tune_race_timed(race->space, function.collective, race->ranks, bytes));
    contest.clock = race->way->clock;
    tune_contest_add_own(&contest, &race->machine);
    leave_out(race, &contest, place);
    tune_contest_begin(&contest, &(struct tune_check){ .seconds = CHECK_SECONDS, .least = CHECK_LEAST });
    rc = hold(race, &contest);
    if (0 == rc && NULL != race->log) {
        tune_contest_print(&contest, "-", &race->log->table);
    }
    if (0 == rc) {
        keep_fastest(race, &contest);
        choose(race, &contest, &choice, place);
        note(race, &choice);
        add_choice(race, &choice, place);
    } else {
        tune_complain("%s, %zu bytes: a call failed", tune_function_name(function, name), bytes);
    }
    tune_contest_close(&contest);
    return rc;
}

/* ---- all races ---- */

/* Where a rule gains less, it is not worth a race to know where it ends. */
static bool gains(const struct tune_choice *choice)
{
    return choice->found && TUNE_WORTH * choice->measured <= choice->builtin;
}

static bool alike(const struct tune_choice *one, const struct tune_choice *other)
{
    return (!gains(one) && !gains(other))
           || (one->found == other->found && (!one->found || 0 == strcmp(one->text, other->text)));
}

/* Between the choices at two neighbouring places, while they differ. Returns how many came between; -1: an error. */
static long bisect(struct race *race, long place)
{
    const struct tune_choice *low = &race->choices[place], *high = low + 1;
    size_t between = low->bytes;
    long first, second;
    int rc;

    while (between * between < low->bytes * high->bytes) {
        between *= 2;
    }
    if (alike(low, high) || between >= high->bytes) {
        return 0;
    }
    rc = race_at(race, low->function, between, place + 1);
    if (0 != rc) {
        return 0 > rc ? -1 : 0;
    }
    first = bisect(race, place);
    second = 0 > first ? -1 : bisect(race, place + first + 1);
    return 0 > second ? -1 : first + 1 + second;
}

/* The sizes of a function that are raced in any case. Returns 0; -1: an error. */
static int race_function(struct race *race, struct tune_function function)
{
    const long begin = race->count;
    size_t bytes;
    int size = 0, rc = 0;

    while (0 == rc && tune_race_size(race->space, function.collective, race->ranks, size, &bytes)) {
        race->done = (double) race->count / race->sizes;
        rc = race_at(race, function, bytes, race->count);
        ++size;
    }
    if (0 < rc && begin < race->count) {
        race->choices[race->count - 1].cut = true;
    }
    return 0 > rc ? -1 : 0;
}

/* Where neighbours differ, the sizes between them. Returns 0; -1: an error. */
static int race_between(struct race *race)
{
    begin_stage(race, BETWEEN_SIZES);
    for (long place = 0; place + 1 < race->count; ++place) {
        const bool same = tune_function_is(race->choices[place].function, race->choices[place + 1].function);
        const long came = same ? bisect(race, place) : 0;

        if (0 > came) {
            return -1;
        }
        place += came;
        race->done = (double) place / (double) race->count;
    }
    return 0;
}

/* ---- the last rounds ---- */

/* Where what is best beside HAN's own choice was ahead of it: in the mean, be it by little. */
static bool is_near(const struct tune_choice *choice)
{
    return !choice->settled && choice->measured < choice->builtin;
}

/* Of the time that is left, for looking at results once more: the first two rounds, which all have, take the rest. */
#define OPENING 0.125

/* Of a size: the best beside HAN's own choice, its rival, that choice, and the fallback. */
struct last {
    struct tune_contest contest;
    struct tune_choice *choice;
    long best; /* its place */
};

static void open_last(const struct race *race, struct tune_choice *choice, struct last *last)
{
    struct tune_contest *contest = &last->contest;
    long places[2];
    int count = 0;

    *last = (struct last){ .choice = choice };
    tune_contest_open(contest, race->engine, &race->machine, choice->function,
                      tune_race_timed(race->space, choice->function.collective, race->ranks, choice->bytes));
    contest->clock = race->way->clock;
    places[count++] = tune_contest_add(contest, &race->machine, &choice->config.params);
    if (choice->rivalled) {
        places[count++] = tune_contest_add(contest, &race->machine, &choice->rival);
    }
    tune_contest_add_own(contest, &race->machine);
    tune_contest_keep(contest, places, count);
    last->best = places[0];
    tune_contest_begin(contest, &tune_check_wholly);
}

static int hold_round(struct race *race, struct last *last, int round)
{
    struct tune_contest *contest = &last->contest;

    if ((round >= race->way->least && LAST_SECONDS <= contest->spent)
        || (round >= LAST_ROUNDS && TUNE_QUICK_SECONDS <= contest->spent)) {
        return 0;
    }
    tell(race, contest);
    return tune_contest_round(contest, round);
}

static void decide_last(const struct last *last)
{
    const struct tune_contest *contest = &last->contest;
    struct tune_choice *choice = last->choice;
    struct tune_record *records = tune_contest_records(contest);
    long used = tune_judge_foremost(records, contest->count, contest->own);

    /* A neighbouring size may have chosen it. */
    if (tune_judge_pays(records, contest->count, last->best)
        && tune_judge_ties(records, contest->count, last->best, used)) {
        used = last->best;
    }
    set_choice(contest, records, used, choice);
    choice->settled = true;
    free(records);
}

/*
 * The fastest of many in a few rounds may have been lucky, and what a race has decided in less than a second may have
 * been due to what disturbed the machine in that second. So the winner, its rival, HAN's own choice and the fallback
 * run once more when all races are over; these rounds decide, and they go round: each size has its second one when all
 * have had their first. Sizes for which there is no time have theirs when the same command goes on.
 *
 * @returns 0; -1 after an error, which has been told
 */
static int hold_last(struct race *race, enum stage stage)
{
    struct last *all = calloc((size_t) race->count + 1, sizeof(*all));
    const double now = MPI_Wtime(), until = now + OPENING * (race->way->deadline - now);
    bool over = false;
    long count = 0;
    int rc = 0;

    begin_stage(race, stage);
    tune_contest_need(NULL != all);
    for (long place = 0; place < race->count; ++place) {
        if (!is_near(&race->choices[place])) {
            continue;
        }
        over = over || tune_engine_is_past(race->engine, until);
        if (over) {
            race->late[tune_function_place(race->choices[place].function)] = true;
        } else {
            open_last(race, &race->choices[place], &all[count++]);
        }
    }
    over = false;
    for (int round = 0; round < TUNE_QUICK_TIMES * LAST_ROUNDS && 0 == rc && !over; ++round) {
        for (long i = 0; i < count && 0 == rc; ++i) {
            race->done = fmin(1, (double) (round * count + i) / (double) (LAST_ROUNDS * count));
            rc = hold_round(race, &all[i], round);
        }
        over = round + 1 >= race->way->least && tune_engine_is_past(race->engine, race->way->deadline);
    }
    for (long i = 0; i < count; ++i) {
        if (0 == rc) {
            decide_last(&all[i]);
        }
        tune_contest_close(&all[i].contest);
    }
    free(all);
    if (0 != rc) {
        tune_complain("a call failed in the last rounds");
    }
    settle(race);
    return rc;
}

static void end(struct race *race)
{
    int left_out = 0;
    long found = 0;
    char time[32];

    for (long i = 0; i < race->count; ++i) {
        found += race->choices[i].found;
    }
    for (int i = 0; i < TUNE_FUNCTION_COUNT; ++i) {
        left_out += race->late[i];
    }
    if (NULL != race->log) {
        race->log->left_out += left_out;
        tune_time_text(MPI_Wtime() - race->begin, time);
        fprintf(stderr, "han_tune: %ld races in %s: at %ld sizes HAN's own choice is beaten\n", race->count, time,
                found);
    }
    if (0 < left_out) {
        tune_complain("there was no time for all sizes of %d collectives; the same command goes on", left_out);
    }
}

/* What there was no time for has a rule that leaves it to HAN, or that of other nodes or ranks would decide. */
static void leave_late(struct race *race)
{
    for (int i = 0; i < race->space->function_count; ++i) {
        const struct tune_choice choice = { .function = race->space->functions[i] };
        long place = 0;

        while (place < race->count && !tune_function_is(race->choices[place].function, choice.function)) {
            ++place;
        }
        if (place == race->count && race->late[tune_function_place(choice.function)]) {
            add_choice(race, &choice, place);
        }
    }
}

/* No race begins when most of the time is over: the last rounds have the rest. */
static void limit(struct race *race)
{
    const double part = 0.8, now = MPI_Wtime();

    race->until = now + part * (race->way->deadline - now);
}

/* All sizes that are raced in any case, and those between them where that tells more. Returns 0; -1: an error. */
static int run(struct race *race)
{
    int rc = 0;

    limit(race);
    for (int i = 0; i < race->space->function_count && 0 == rc; ++i) {
        rc = race_function(race, race->space->functions[i]);
    }
    rc = 0 == rc ? hold_last(race, LAST_ROUNDS_OF_RACES) : rc;
    limit(race);
    rc = 0 == rc ? race_between(race) : rc;
    return 0 == rc ? hold_last(race, LAST_ROUNDS_BETWEEN) : rc;
}

long tune_race_run(struct tune_engine *engine, const struct tune_space *space, const struct tune_way *way,
                   struct tune_race_log *log, struct tune_choice **choices)
{
    struct race race = { .engine = engine, .space = space, .way = way, .log = log, .begin = MPI_Wtime() };
    int rc;

    race.told = race.begin;
    MPI_Comm_size(tune_engine_comm(engine), &race.ranks);
    race.sizes = tune_race_sizes(space, race.ranks);
    tune_contest_machine(engine, way->all_submodules, &race.machine);
    rc = run(&race);
    free(race.fastest);
    if (0 != rc) {
        free(race.choices);
        return -1;
    }
    end(&race);
    leave_late(&race);
    *choices = race.choices;
    return race.count;
}
