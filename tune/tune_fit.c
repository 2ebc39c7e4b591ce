/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each number of a machine has probes that tell it: overheads the calls of a short message, the latency its trip less
 * these, what bytes take the slopes of long ones. Between nodes a link may limit, or the processors; the machine is the
 * one that predicts long messages better. What tells them apart: a link carries both ways at a time, where processors
 * have twice the work of a stream; and no message is faster than its link, also alone.
 */
#include "tune_fit.h"

#include <math.h>

#include "coll_han_model.h"

#define PS 1e12    /* picoseconds of a second, */
#define KIB 1024.0 /* for which bytes are counted */

enum { FEW_BYTES = 64 };

const char *const tune_probe_names[TUNE_PROBE_COUNT]
    = { [TUNE_TRIP] = "trip", [TUNE_CROWDED] = "crowded", [TUNE_SEND] = "send",
        [TUNE_RECV] = "recv", [TUNE_STREAM] = "stream",   [TUNE_EXCHANGE] = "exchange" };

/* Lengths that are looked at: longer than the one, up to the other. */
struct range {
    size_t above, up_to;
};

struct probes {
    const struct tune_probe *list; /* [count] */
    int count;
    mca_coll_han_level_id_t level;
    double near, far; /* what bytes beyond near take more that is known, seconds each */
};

static bool is_in(const struct probes *probes, int i, enum tune_probe_kind kind, struct range range)
{
    const struct tune_probe *probe = &probes->list[i];

    return kind == probe->kind && probes->level == probe->level && range.above < probe->bytes
           && probe->bytes <= range.up_to && isfinite(probe->seconds);
}

/* What a message of a few bytes takes; NAN: unknown. Other work makes times longer only. */
static double of_few_bytes(const struct probes *probes, enum tune_probe_kind kind)
{
    double least = NAN;

    for (int i = 0; i < probes->count; ++i) {
        if (is_in(probes, i, kind, (struct range){ 0, FEW_BYTES })) {
            least = fmin(least, probes->list[i].seconds);
        }
    }
    return least;
}

/* Ranks that share a core with each one of a crowd; 0: there was none. */
static int others_of(const struct probes *probes)
{
    int others = 0;

    for (int i = 0; i < probes->count; ++i) {
        others = TUNE_CROWDED == probes->list[i].kind ? probes->list[i].others : others;
    }
    return others;
}

/* Seconds that each byte more takes, without those of far memory, by the line from which all are equally far away for
 * their length; NAN: unknown. */
static double slope(const struct probes *probes, enum tune_probe_kind kind, struct range range)
{
    double weights = 0, bytes = 0, seconds = 0, squares = 0, products = 0, under;
    int count = 0;

    for (int i = 0; i < probes->count; ++i) {
        if (is_in(probes, i, kind, range)) {
            const double x = (double) probes->list[i].bytes, all = probes->list[i].seconds;
            const double y = all - fmin(probes->far * fmax(0, x - probes->near), all / 2), weight = 1 / (y * y);

            weights += weight;
            bytes += weight * x;
            seconds += weight * y;
            squares += weight * x * x;
            products += weight * x * y;
            ++count;
        }
    }
    under = weights * squares - bytes * bytes;
    return 2 > count || 0 >= under ? NAN : (weights * products - bytes * seconds) / under;
}

/* The geometric mean; NAN where one of them is no time, as of probes that were disturbed. */
static double between(double one, double other)
{
    return 0 < one && 0 < other ? sqrt(one * other) : NAN;
}

/*
 * What processors take for a byte, as far from the one as from the other that tells it. A stream does not: it takes
 * half of that where both have to copy, and all of it where one copies for both. NAN: unknown.
 */
static double work_of_byte(const struct probes *probes, struct range range)
{
    return between(slope(probes, TUNE_TRIP, range), slope(probes, TUNE_EXCHANGE, range));
}

static void put_time(uint64_t *number, double seconds)
{
    if (isfinite(seconds)) {
        *number = 0 < seconds ? (uint64_t) llround(PS * seconds) : 0;
    }
}

/* Nothing is for nothing: a rate that was not found is none. */
static void put_byte(uint64_t *number, double seconds)
{
    if (isfinite(seconds) && 1 <= PS * KIB * seconds) {
        *number = (uint64_t) llround(PS * KIB * seconds);
    }
}

/* What trips of some lengths take more, in the mean, than is predicted; NAN: there are none. */
static double excess(const mca_coll_han_machine_t *machine, const struct probes *probes, struct range range)
{
    double sum = 0;
    int count = 0;

    for (int i = 0; i < probes->count; ++i) {
        if (is_in(probes, i, TUNE_TRIP, range)) {
            sum += probes->list[i].seconds - tune_fit_predict(machine, &probes->list[i]);
            ++count;
        }
    }
    return 0 == count ? NAN : sum / count;
}

/* A number that messages of some lengths cost, and those of a few bytes do not. */
static void put_excess(mca_coll_han_machine_t *machine, const struct probes *probes, uint64_t *number,
                       struct range range)
{
    const uint64_t before = *number;
    double more;

    *number = 0;
    more = excess(machine, probes, range) - excess(machine, probes, (struct range){ 0, FEW_BYTES });
    *number = before;
    put_time(number, more);
}

/* Long messages of a level; where too few could be timed, all that are not short. */
static struct range long_ones(const struct probes *probes, size_t eager)
{
    enum { SHORT = 512 };
    const struct range range = { eager, SIZE_MAX };

    return isnan(slope(probes, TUNE_TRIP, range)) ? (struct range){ SHORT, SIZE_MAX } : range;
}

/* Where a link limits. What processors do is too small a part of what a long message takes. */
static void fit_link(mca_coll_han_machine_t *machine, const struct probes *probes)
{
    mca_coll_han_machine_level_t *level = &machine->levels[probes->level];
    const struct range all = long_ones(probes, level->eager), eager = { 0, level->eager };

    put_byte(&level->rate, between(slope(probes, TUNE_STREAM, all), slope(probes, TUNE_EXCHANGE, all)));
    /* What comes without asking is copied out of a buffer, too. */
    put_byte(&level->copy,
             slope(probes, TUNE_SEND, eager) + slope(probes, TUNE_RECV, eager) - (double) level->buffer / PS / KIB);
}

/* Where processors do. Inside a node short ones tell more: what is sent again and again stays in caches. */
static void fit_work(mca_coll_han_machine_t *machine, const struct probes *probes)
{
    mca_coll_han_machine_level_t *level = &machine->levels[probes->level];
    struct range range = long_ones(probes, level->eager);
    struct probes without_far = *probes;
    double work;

    range.up_to = HAN_LOW == probes->level ? machine->near : SIZE_MAX;
    without_far.near = (double) machine->near;
    without_far.far = (double) machine->far / PS / KIB;
    work = work_of_byte(&without_far, range);
    put_byte(&level->copy, work);
    level->rate = isnan(work) ? level->rate : 0;
}

static void fit_level(mca_coll_han_machine_t *machine, const struct probes *probes,
                      void (*fit_bytes)(mca_coll_han_machine_t *machine, const struct probes *probes))
{
    mca_coll_han_machine_level_t *level = &machine->levels[probes->level];
    const double send = of_few_bytes(probes, TUNE_SEND), recv = of_few_bytes(probes, TUNE_RECV);
    const double trip = of_few_bytes(probes, TUNE_TRIP);
    const double part = fmin(1, trip / (send + recv));

    fit_bytes(machine, probes);
    /* Both calls can overlap, as where the sender's wakes the receiver; together they are no longer than a trip. */
    put_time(&level->send, part * send);
    put_time(&level->recv, part * recv);
    put_time(&level->latency, trip - part * (send + recv));
    put_excess(machine, probes, &level->request, (struct range){ level->at_once, level->eager });
    put_excess(machine, probes, &level->rendezvous, (struct range){ level->eager, 4 * level->eager });
}

/* How far what is predicted for long messages is from what was timed: squares of factors. */
static double error_of(const mca_coll_han_machine_t *machine, const struct probes *probes)
{
    static const enum tune_probe_kind kinds[] = { TUNE_TRIP, TUNE_STREAM, TUNE_EXCHANGE };
    const struct range all = long_ones(probes, machine->levels[probes->level].eager);
    double sum = 0;

    for (int i = 0; i < probes->count; ++i) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) {
            if (is_in(probes, i, kinds[k], all)) {
                const double factor = log(tune_fit_predict(machine, &probes->list[i]) / probes->list[i].seconds);

                sum += factor * factor;
            }
        }
    }
    return sum;
}

/* What each other rank of a core does before it gives it away: at the level where that is less, nothing else happens.
 */
static double turn_of(struct probes probes)
{
    double least = NAN;

    for (int level = 0; level < HAN_LEVEL_COUNT; ++level) {
        probes.level = (mca_coll_han_level_id_t) level;
        least = fmin(least,
                     (of_few_bytes(&probes, TUNE_CROWDED) - of_few_bytes(&probes, TUNE_TRIP)) / others_of(&probes));
    }
    return least;
}

void tune_fit(mca_coll_han_machine_t *machine, const struct tune_probe *list, int count)
{
    struct probes probes = { .list = list, .count = count };

    put_time(&machine->turn, turn_of(probes));
    for (int level = 0; level < HAN_LEVEL_COUNT; ++level) {
        probes.level = (mca_coll_han_level_id_t) level;
        if (!isnan(of_few_bytes(&probes, TUNE_TRIP))) {
            mca_coll_han_machine_t link = *machine;

            fit_level(machine, &probes, fit_work);
            fit_level(&link, &probes, fit_link);
            /* Ranks of a node share no link. */
            if (HAN_UP == level && error_of(&link, &probes) < error_of(machine, &probes)) {
                *machine = link;
            }
        }
    }
}

double tune_fit_predict(const mca_coll_han_machine_t *machine, const struct tune_probe *probe)
{
    const mca_coll_han_machine_level_t *level = &machine->levels[probe->level];
    const uint64_t flight = mca_coll_han_message_flight(machine, probe->level, probe->bytes, 0);
    const double work = (double) mca_coll_han_message_work(machine, probe->level, probe->bytes, 0);
    const double wire = (double) probe->bytes / KIB * (double) level->rate;
    /* What is not an overhead is half the sender's and half the receiver's. */
    const double half = (work - (double) level->send - (double) level->recv) / 2;

    switch (probe->kind) {
    case TUNE_TRIP:
        return (double) flight / PS;
    case TUNE_CROWDED:
        return ((double) flight + probe->others * (double) machine->turn) / PS;
    case TUNE_SEND:
        return ((double) level->send + half) / PS;
    case TUNE_RECV:
        return ((double) level->recv + half) / PS;
    case TUNE_STREAM:
        return fmax(work / 2, wire) / PS;
    default:
        return fmax(work, wire) / PS;
    }
}
