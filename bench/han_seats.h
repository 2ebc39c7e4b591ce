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

#include "common/coll_processors.h"
#include "common/tool_shuffle.h"
#include "han_start.h"

#include <stdlib.h>

struct seats {
    int ranks;      /* that share the processors with this one; 0: there are enough */
    int place;      /* of this one among them */
    long *order;    /* [ranks] */
    uint64_t draws; /* the same on all ranks */
    uint64_t all[COLL_PROCESSOR_WORDS];
};

/* Of a rank: ranks that are alike share processors.  Virtual nodes have the boot id of their machine. */
struct seats_place {
    char boot[64];
    uint64_t processors[COLL_PROCESSOR_WORDS];
};

/* Collective. @returns 0; -1, on all ranks, where memory is short on one */
static int seats_open(struct seats *seats, MPI_Comm comm)
{
    int rank, size, good, count;
    struct seats_place mine, *places;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    *seats = (struct seats){ .order = calloc((size_t) size, sizeof(*seats->order)) };
    places = calloc((size_t) size, sizeof(*places));
    good = NULL != places && NULL != seats->order;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm);
    if (!good) {
        free(places);
        return -1;
    }
    start_boot_id(mine.boot);
    coll_processors_allowed(mine.processors);
    memcpy(seats->all, mine.processors, sizeof(seats->all));
    MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, places, sizeof(mine), MPI_BYTE, comm);
    for (int i = 0; i < size && '\0' != mine.boot[0]; ++i) {
        const int alike = 0 == memcmp(&mine, &places[i], sizeof(mine));

        seats->place += i < rank && alike;
        seats->ranks += alike;
    }
    free(places);
    count = coll_processors_count(seats->all);
    seats->ranks = 2 > count || count >= seats->ranks ? 0 : seats->ranks;
    return 0;
}

static void seats_close(struct seats *seats)
{
    free(seats->order);
}

/* The processor behind so many others of the set. */
static int seats_processor(const uint64_t all[COLL_PROCESSOR_WORDS], long others)
{
    int processor = 0;

    for (;; ++processor) {
        if (0 != (all[processor / 64] >> processor % 64 & 1) && 0 == others--) {
            return processor;
        }
    }
}

/* All ranks call it as often as each other. */
static void seats_change(struct seats *seats)
{
    uint64_t one[COLL_PROCESSOR_WORDS] = { 0 };
    int processor;

    if (0 == seats->ranks) {
        return;
    }
    tool_shuffle(seats->order, seats->ranks, &seats->draws);
    processor = seats_processor(seats->all, seats->order[seats->place] % coll_processors_count(seats->all));
    one[processor / 64] = UINT64_C(1) << processor % 64;
    if (0 == sched_setaffinity(0, sizeof(one), (const cpu_set_t *) (const void *) one)) {
        sched_setaffinity(0, sizeof(seats->all), (const cpu_set_t *) (const void *) seats->all);
    }
}

#endif
