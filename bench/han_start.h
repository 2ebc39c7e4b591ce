/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * All ranks begin at one time.
 *
 * Ranks leave a barrier one after another, where they share cores sixteen of them within half a millisecond.  A short
 * call behind it would mostly be the wait for the last one, whatever component does it.  So the barrier agrees on a
 * time a little ahead, when all begin (Hunold and Carpen-Amarie, "Reproducible MPI Benchmarking Is Still Not As Easy
 * As You Think", IEEE TPDS 27 (12), 2016, section 3).  That needs one clock: ranks on one machine have it, also where
 * its nodes are virtual.  Elsewhere the barrier alone has to do.
 *
 * Included by one source file of a program: bench/han_bench.c, tune/tune_engine.c.
 */
#ifndef HAN_START_H
#define HAN_START_H

#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define START_LEAST 100e-6 /* seconds from the last rank's arrival on; a rank that was late doubles them, ... */
#ifndef START_MOST
#define START_MOST  5e-3   /* ... up to this, ... */
#endif
#define START_DECAY 0.99   /* ... and in time they shrink: one rank may be late in a hundred repetitions */

struct start {
    MPI_Comm comm;
    int rank, ranks;
    int tag;       /* of its messages, in comm */
    int one_clock;
    double margin; /* of this rank; the greatest counts */
    double waited; /* seconds, the last time */
};

/* Calls in a row where the user names no number: so many that the first and the last one count little, few where they
 * move much.  It follows from the bytes of a rank's larger buffer alone, so that all are compared by the same number. */
static inline int start_calls(size_t held)
{
    static const struct { size_t up_to; int calls; } rows[] = {
        { 8 * 1024, 50 }, { 64 * 1024, 20 }, { 256 * 1024, 10 }, { SIZE_MAX, 4 },
    };
    int i = 0;

    while (held > rows[i].up_to) {
        ++i;
    }
    return rows[i].calls;
}

/* Seconds of the machine's clock, which is never set. */
static double start_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* The greatest value of all ranks: a dissemination barrier that carries it along. */
static double start_greatest(const struct start *s, double value)
{
    for (int distance = 1; distance < s->ranks; distance *= 2) {
        double other;

        MPI_Sendrecv(&value, 1, MPI_DOUBLE, (s->rank + distance) % s->ranks, s->tag,
                     &other, 1, MPI_DOUBLE, (s->rank - distance + s->ranks) % s->ranks, s->tag,
                     s->comm, MPI_STATUS_IGNORE);
        value = other > value ? other : value;
    }
    return value;
}

/* Linux gives a number to each start of a machine. */
static void start_boot_id(char id[64])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

    memset(id, 0, 64);
    if (NULL == file) {
        return;
    }
    if (NULL == fgets(id, 64, file)) {
        id[0] = '\0';
    }
    fclose(file);
}

/* Collective. Whether all ranks have one clock: each compares with the rank before it. */
static void start_open(struct start *s, MPI_Comm comm, int tag)
{
    char mine[64], other[64];

    *s = (struct start){ .comm = comm, .tag = tag, .margin = START_LEAST };
    MPI_Comm_rank(comm, &s->rank);
    MPI_Comm_size(comm, &s->ranks);
    start_boot_id(mine);
    MPI_Sendrecv(mine, sizeof(mine), MPI_CHAR, (s->rank + 1) % s->ranks, tag,
                 other, sizeof(other), MPI_CHAR, (s->rank - 1 + s->ranks) % s->ranks, tag, comm, MPI_STATUS_IGNORE);
    s->one_clock = 0.0 == start_greatest(s, '\0' == mine[0] || 0 != memcmp(mine, other, sizeof(mine)) ? 1.0 : 0.0);
}

/* Waits for all ranks. @returns when they began, by start_clock() */
static double start_together(struct start *s)
{
    const double arrived = start_clock(), begin = start_greatest(s, arrived + s->margin);

    if (!s->one_clock) {
        return start_clock();
    }
    s->margin *= start_clock() > begin ? 2.0 : START_DECAY;
    s->margin = s->margin < START_LEAST ? START_LEAST : s->margin > START_MOST ? START_MOST : s->margin;
    while (start_clock() < begin) {
        sched_yield();  /* a rank that is still in the barrier may be waiting for this core */
    }
    s->waited = begin - arrived;
    return begin;
}

#endif
