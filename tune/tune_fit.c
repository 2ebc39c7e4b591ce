/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each number of a machine has probes that tell it: overheads the calls of a short message, the latency its trip less
 * these, what bytes take the slopes of long ones. A link that is slower than the processors shows in an exchange: it
 * carries both ways at a time, where processors have twice the work.
 */
#include "tune_fit.h"

#include <math.h>

#include "coll_han_model.h"

#define PS 1e12    /* picoseconds of a second, */
#define KIB 1024.0 /* for which bytes are counted */
#define LINK 1.5   /* an exchange takes less than so many streams where the link limits */
#define TELLS 0.1  /* less than this part of what was timed tells nothing: it is the difference of two times */

const char *const tune_probe_names[TUNE_PROBE_COUNT]
    = { [TUNE_TRIP] = "trip",         [TUNE_SEND] = "send", [TUNE_RECV] = "recv",    [TUNE_STREAM] = "stream",
        [TUNE_EXCHANGE] = "exchange", [TUNE_COPY] = "copy", [TUNE_REDUCE] = "reduce" };

bool tune_probe_is_of_memory(enum tune_probe_kind kind)
{
    return TUNE_COPY == kind || TUNE_REDUCE == kind;
}

/* Lengths that are looked at: longer than the one, up to the other. */
struct range {
    size_t above, up_to;
};

struct probes {
    const struct tune_probe *list; /* [count] */
    int count;
    mca_coll_han_level_id_t level;
};

static bool is_in(const struct probes *probes, int i, enum tune_probe_kind kind, struct range range)
{
    const struct tune_probe *probe = &probes->list[i];

    return kind == probe->kind && (tune_probe_is_of_memory(kind) || probes->level == probe->level)
           && range.above < probe->bytes && probe->bytes <= range.up_to && isfinite(probe->seconds);
}

/* Of the shortest message; NAN: there is none. */
static double shortest(const struct probes *probes, enum tune_probe_kind kind)
{
    size_t bytes = SIZE_MAX;
    double seconds = NAN;

    for (int i = 0; i < probes->count; ++i) {
        if (is_in(probes, i, kind, (struct range){ 0, bytes - 1 })) {
            bytes = probes->list[i].bytes;
            seconds = probes->list[i].seconds;
        }
    }
    return seconds;
}

/* Seconds that each byte more takes, by the line from which all are equally far away for their length; NAN: unknown. */
static double slope(const struct probes *probes, enum tune_probe_kind kind, struct range range)
{
    double weights = 0, bytes = 0, seconds = 0, squares = 0, products = 0, under;
    int count = 0;

    for (int i = 0; i < probes->count; ++i) {
        if (is_in(probes, i, kind, range)) {
            const double x = (double) probes->list[i].bytes, y = probes->list[i].seconds, weight = 1 / (y * y);

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

/*
 * What processors take for a byte, as far from the one as from the other that tells it. A stream does not: it takes
 * half of that where both have to copy, and all of it where one copies for both. NAN: unknown.
 */
static double work_of_byte(const struct probes *probes, struct range range)
{
    return sqrt(slope(probes, TUNE_TRIP, range) * slope(probes, TUNE_EXCHANGE, range));
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

/* A number that is what trips of some lengths take more, in the mean, than is predicted without it. */
static void put_excess(mca_coll_han_machine_t *machine, const struct probes *probes, uint64_t *number,
                       struct range range)
{
    const uint64_t before = *number;
    double sum = 0;
    int count = 0;

    *number = 0;
    for (int i = 0; i < probes->count; ++i) {
        if (is_in(probes, i, TUNE_TRIP, range)) {
            sum += probes->list[i].seconds - tune_fit_predict(machine, &probes->list[i]);
            ++count;
        }
    }
    *number = before;
    put_time(number, 0 == count ? NAN : sum / count);
}

/* Long messages of a level; where too few could be timed, all that are not short. */
static struct range long_ones(const struct probes *probes, size_t eager)
{
    enum { SHORT = 512 };
    const struct range range = { eager, SIZE_MAX };

    return isnan(slope(probes, TUNE_TRIP, range)) ? (struct range){ SHORT, SIZE_MAX } : range;
}

static void fit_bytes(mca_coll_han_machine_t *machine, const struct probes *probes)
{
    mca_coll_han_machine_level_t *level = &machine->levels[probes->level];
    const struct range all = long_ones(probes, level->eager), near = { all.above, machine->near },
                       far = { machine->near, SIZE_MAX };
    const double stream = slope(probes, TUNE_STREAM, all), exchange = slope(probes, TUNE_EXCHANGE, all);
    double work = work_of_byte(probes, near);

    if (HAN_UP == probes->level && exchange < LINK * stream) {
        const struct range eager = { 0, level->eager };

        /* Of what a long message takes, that is too small a part. */
        put_byte(&level->rate, sqrt(stream * exchange));
        put_byte(&level->copy, slope(probes, TUNE_SEND, eager) + slope(probes, TUNE_RECV, eager));
        return;
    }
    work = isnan(work) ? work_of_byte(probes, all) : work;
    put_byte(&level->copy, work);
    level->rate = isnan(work) ? level->rate : 0;
    if (HAN_LOW == probes->level) {
        const double more = work_of_byte(probes, far) - work;

        machine->far = isnan(more) ? machine->far : 0;
        put_byte(&machine->far, more > TELLS * work ? more : NAN);
    }
}

static void fit_level(mca_coll_han_machine_t *machine, const struct probes *probes)
{
    mca_coll_han_machine_level_t *level = &machine->levels[probes->level];
    const double send = shortest(probes, TUNE_SEND), recv = shortest(probes, TUNE_RECV);
    const double trip = shortest(probes, TUNE_TRIP), part = fmin(1, trip / (send + recv));

    fit_bytes(machine, probes);
    /* Both calls can overlap, as where the sender's wakes the receiver; together they are no longer than a trip. */
    put_time(&level->send, part * send);
    put_time(&level->recv, part * recv);
    put_time(&level->latency, trip - part * (send + recv));
    put_excess(machine, probes, &level->request, (struct range){ level->at_once, level->eager });
    put_excess(machine, probes, &level->rendezvous, (struct range){ level->eager, 4 * level->eager });
}

/* The mean of what each byte takes, of all lengths alike. */
static double mean_of_byte(const struct probes *probes, enum tune_probe_kind kind)
{
    double sum = 0;
    int count = 0;

    for (int i = 0; i < probes->count; ++i) {
        if (is_in(probes, i, kind, (struct range){ 0, SIZE_MAX })) {
            sum += log(probes->list[i].seconds / (double) probes->list[i].bytes);
            ++count;
        }
    }
    return 0 == count ? NAN : exp(sum / count);
}

void tune_fit(mca_coll_han_machine_t *machine, const struct tune_probe *list, int count)
{
    struct probes probes = { .list = list, .count = count };

    for (int level = 0; level < HAN_LEVEL_COUNT; ++level) {
        probes.level = (mca_coll_han_level_id_t) level;
        if (!isnan(shortest(&probes, TUNE_TRIP))) {
            fit_level(machine, &probes);
        }
    }
    put_byte(&machine->copy, mean_of_byte(&probes, TUNE_COPY));
    put_byte(&machine->reduce, mean_of_byte(&probes, TUNE_REDUCE));
}

double tune_fit_predict(const mca_coll_han_machine_t *machine, const struct tune_probe *probe)
{
    const bool of_memory = tune_probe_is_of_memory(probe->kind);
    const mca_coll_han_machine_level_t *level = &machine->levels[of_memory ? HAN_LOW : probe->level];
    const double bytes = (double) probe->bytes / KIB;
    const double work = of_memory ? 0 : (double) mca_coll_han_message_work(machine, probe->level, probe->bytes, 0);
    /* What is not an overhead is half the sender's and half the receiver's. */
    const double half = (work - (double) level->send - (double) level->recv) / 2;

    switch (probe->kind) {
    case TUNE_TRIP:
        return (double) mca_coll_han_message_flight(machine, probe->level, probe->bytes, 0) / PS;
    case TUNE_SEND:
        return ((double) level->send + half) / PS;
    case TUNE_RECV:
        return ((double) level->recv + half) / PS;
    case TUNE_STREAM:
        return fmax(work / 2, bytes * (double) level->rate) / PS;
    case TUNE_EXCHANGE:
        return fmax(work, bytes * (double) level->rate) / PS;
    case TUNE_COPY:
        return bytes * (double) machine->copy / PS;
    default:
        return bytes * (double) machine->reduce / PS;
    }
}
