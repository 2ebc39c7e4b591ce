/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that share cores sit elsewhere, again and again.
 *
 * Where a machine has more ranks than cores, a busy system leaves them for seconds on the cores where they happen to be,
 * and what a call takes depends on who shares a core with whom: of two binomial trees of four ranks on two cores, one
 * took 0.6 of the other's time in one job, and 1.7 of it in the next.  So a measurement that goes round moves all of
 * them in between: each to a core drawn by lot, as many to each core.  They are not bound there: the system may move
 * them, as in any job.  Nothing is done where there is a core for each rank.
 *
 * Included by one source file of a program: tune/tune_engine.c.
 */
#ifndef HAN_SEATS_H
#define HAN_SEATS_H

#include "han_start.h"

#include <stdlib.h>

struct seats {
    int ranks;      /* that share the cores with this one; 0: there are enough */
    int place;      /* of this one among them */
    int *order;     /* [ranks] */
    uint64_t draw;  /* the same on all ranks */
    cpu_set_t mask; /* the cores */
};

/* FNV-1a. */
static uint64_t seats_hash(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        hash = (hash ^ ((const unsigned char *) bytes)[i]) * 1099511628211u;
    }
    return hash;
}

/* Of the start of a machine and of a set of its cores; 0: not known.  Virtual nodes have those of their machine. */
static uint64_t seats_number(const cpu_set_t *mask)
{
    char boot[64];

    start_boot_id(boot);
    return '\0' == boot[0] ? 0 : seats_hash(seats_hash(14695981039346656037u, boot, sizeof(boot)), mask, sizeof(*mask));
}

/* Collective. @returns 0; -1, on all ranks, where memory is short on one */
static int seats_open(struct seats *seats, MPI_Comm comm)
{
    int rank, size, cores, good;
    uint64_t mine = 0, *all;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    *seats = (struct seats){ .draw = 1, .order = calloc((size_t) size, sizeof(*seats->order)) };
    all = calloc((size_t) size, sizeof(*all));
    good = NULL != all && NULL != seats->order;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm);
    if (!good) {
        free(all);
        return -1;
    }
    if (0 == sched_getaffinity(0, sizeof(seats->mask), &seats->mask)) {
        mine = seats_number(&seats->mask);
    }
    MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, comm);
    for (int i = 0; i < size && 0 != mine; ++i) {
        seats->place += i < rank && all[i] == mine;
        seats->ranks += all[i] == mine;
    }
    free(all);
    cores = CPU_COUNT(&seats->mask);
    seats->ranks = 2 > cores || cores >= seats->ranks ? 0 : seats->ranks;
    return 0;
}

static void seats_close(struct seats *seats)
{
    free(seats->order);
}

/* The core behind so many others of the set. */
static int seats_core(const cpu_set_t *mask, int others)
{
    int core = 0;

    while (!CPU_ISSET(core, mask) || 0 < others) {
        others -= 0 != CPU_ISSET(core, mask);
        ++core;
    }
    return core;
}

/* All ranks call it as often as each other. */
static void seats_change(struct seats *seats)
{
    cpu_set_t one;

    for (int i = 0; i < seats->ranks; ++i) {
        int j;

        seats->draw = seats->draw * 6364136223846793005u + 1442695040888963407u;
        j = (int) ((seats->draw >> 33) % (uint64_t) (i + 1));
        seats->order[i] = seats->order[j];
        seats->order[j] = i;
    }
    if (0 < seats->ranks) {
        CPU_ZERO(&one);
        CPU_SET(seats_core(&seats->mask, seats->order[seats->place] % CPU_COUNT(&seats->mask)), &one);
        if (0 == sched_setaffinity(0, sizeof(one), &one)) {
            sched_setaffinity(0, sizeof(seats->mask), &seats->mask);
        }
    }
}

#endif
