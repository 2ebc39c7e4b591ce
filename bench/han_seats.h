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
 * All exchange is point-to-point: the collectives are what is measured.
 *
 * Included by one source file of a program: bench/han_asp.c, bench/han_bench.c, bench/han_training.c, tune/tune_engine.c.
 */
#ifndef HAN_SEATS_H
#define HAN_SEATS_H

#include "../common/coll_processors.h"
#include "../common/tool_random.h"
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

/*
 * Collective; with messages of a tag. Another seed, all ranks' own, draws other seats.
 *
 * @returns 0; -1, on all ranks, where memory is short on one
 */
static int seats_open(struct seats *seats, MPI_Comm comm, int tag, uint64_t seed)
{
    int rank, size, count, good = 1;
    struct seats_place mine;
    struct { struct seats_place place; int good; } met;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    *seats = (struct seats){ .order = calloc((size_t) size, sizeof(*seats->order)), .draws = seed };
    start_boot_id(mine.boot);
    coll_processors_allowed(mine.processors);
    memcpy(seats->all, mine.processors, sizeof(seats->all));
    memset(&met, 0, sizeof(met));
    met.place = mine;
    met.good = NULL != seats->order;
    /* Each rank's place goes round. */
    for (int behind = 0; behind < size; ++behind) {
        const int alike = '\0' != mine.boot[0] && 0 == memcmp(&mine, &met.place, sizeof(mine));

        good &= met.good;
        seats->ranks += alike;
        seats->place += alike && 0 < behind && behind <= rank;
        MPI_Sendrecv_replace(&met, sizeof(met), MPI_BYTE, (rank + 1) % size, tag, (rank - 1 + size) % size, tag, comm,
                             MPI_STATUS_IGNORE);
    }
    count = coll_processors_count(seats->all);
    seats->ranks = 2 > count || count >= seats->ranks ? 0 : seats->ranks;
    return good ? 0 : -1;
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

/* All ranks call it as often as each other. Who has moved finds cold caches: it is for a round of calls, not for each. */
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
