/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Points: what is measured until its median is known well enough. On rank 0; the other ranks follow.
 */
#ifndef HAN_TUNE_POINTS_H
#define HAN_TUNE_POINTS_H

#include "tune.h"
#include "tune_engine.h"

/** How it is measured. */
struct tune_way {
    bool exhaustive;       /**< every message size by itself; else by tasks */
    int least, most;       /**< repetitions */
    double precision;      /**< of the median: half its confidence interval, as a part of it */
    enum tune_clock clock; /**< of a race and a validation: that decides; TUNE_CLOCK_COUNT: both */
    bool all_submodules;   /**< of a race and --best: those that are hardly ever good, too */
    double deadline;       /**< MPI_Wtime; nothing is begun after it */
    bool quiet;            /**< no progress */
};

/** Tasks, or a message. */
struct tune_point {
    struct tune_entry *entry;
    struct tune_run run;
    size_t segments; /**< of a task */
    size_t most;     /**< segments of the longest message */
    long candidate;  /**< whose it is; -1: nobody's */
    bool given_up;
};

struct tune_points {
    struct tune_engine *engine;
    struct tune_store *store;
    const struct tune_way *way;
    int nodes, ppn;
    FILE *steps;             /**< CSV of the steps of tasks */
    struct tune_point *list; /**< [count] */
    long count, room;
    double started; /**< MPI_Wtime */
    double said;    /**< private */
};

/** Ranks other than 0: runs what rank 0 says, until it has had enough. */
void tune_points_follow(struct tune_engine *engine);

/** Rank 0 has had enough. */
void tune_points_end(struct tune_engine *engine);

/** Adds a message; its number, or -1 where memory is short. */
long tune_points_message(struct tune_points *points, enum tune_kind kind, const struct tune_config *config,
                         size_t bytes);

/**
 * Adds tasks: segments with their steps; their number, or -1 where memory is short.
 *
 * @param most segments that it may become, where the cost does not settle
 */
long tune_points_task(struct tune_points *points, const struct tune_config *config, size_t segments, size_t most);

/** What is known of a point; of -1 nothing. */
const struct tune_series *tune_points_series(const struct tune_points *points, long point);

/** One more sample. 0, or -1 where it could not be kept. */
int tune_points_measure(struct tune_points *points, long point);

/**
 * Measures all points from first on until each is settled.
 *
 * @param what for progress
 * @param after_round may give points up
 */
int tune_points_measure_all(struct tune_points *points, long first, const char *what, double deadline,
                            void (*after_round)(void *context), void *context);

/** Seconds that the points from first on will take. */
double tune_points_left(const struct tune_points *points, long first);

/** "1 h 20 min", "35 s" */
void tune_time_text(double seconds, char text[32]);

#endif
