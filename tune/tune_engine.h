/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The tuner's hands: runs of calls on one communicator, by HAN's own engine and the submodules that it has there. All
 * is collective over that communicator.
 */
#ifndef HAN_TUNE_ENGINE_H
#define HAN_TUNE_ENGINE_H

#include <mpi.h>

#include "coll_han_model.h"
#include "tune.h"

struct tune_engine;

/** Steps that are looked at. */
enum { TUNE_MOST_STEPS = 256 };

/** What is to be run. */
struct tune_run {
    enum tune_kind kind;
    struct tune_config config; /**< of TUNE_BUILTIN and TUNE_FALLBACK the collective */
    size_t bytes;
    bool steps; /**< the steps of all leaders are wanted */
};

/** What it told; complete on rank 0. */
struct tune_result {
    int rc;         /**< the first error of any rank; 0: there was none */
    double seconds; /**< of the slowest rank, for a call */
    bool settled;   /**< the cost of the full steps was */
    size_t step_count;
    unsigned tasks[TUNE_MOST_STEPS];
    const double *steps; /**< [leaders][step_count] seconds, where they are wanted; until the next run */
};

/**
 * Finds HAN on a communicator.
 *
 * @param most_bytes of a message, or of all blocks together
 * @param seed all ranks' own: of the lots by which candidates take turns and ranks change seats
 * @param why gets a sentence, where there is none
 * @returns 0, or -1 on all ranks
 */
int tune_engine_open(struct tune_engine **engine, MPI_Comm comm, size_t most_bytes, long seed, char why[TUNE_TEXT]);

void tune_engine_close(struct tune_engine *engine);

/** Where ranks share cores, moves all of them, by lot: what a call takes depends on who shares one with whom. Each rank
 * must call it. */
void tune_engine_change_seats(struct tune_engine *engine);

/** As given. */
long tune_engine_seed(const struct tune_engine *engine);

/** The communicator. */
MPI_Comm tune_engine_comm(const struct tune_engine *engine);

/** Whether it is later than that time of MPI_Wtime; what rank 0 says is for all. Collective, but for INFINITY. */
bool tune_engine_is_past(const struct tune_engine *engine, double time);

/** Nodes of the communicator, and ranks of its largest. */
void tune_engine_shape(const struct tune_engine *engine, int *nodes, int *ppn);

/** Whether nodes hold consecutive ranks. */
bool tune_engine_in_order(const struct tune_engine *engine);

/** Whether all nodes have the same number of ranks. */
bool tune_engine_is_even(const struct tune_engine *engine);

/** The node of a rank and its place there. */
void tune_engine_place(const struct tune_engine *engine, int rank, int *node, int *place);

/** The rank at a place of a node; -1: there is none. */
int tune_engine_rank(const struct tune_engine *engine, int node, int place);

/** Returns when all ranks have come. Who is asleep meanwhile is not in the way of those that measure. */
void tune_engine_meet(const struct tune_engine *engine, bool asleep);

/** Whether a component can be used at a level, on all ranks. */
bool tune_engine_has(struct tune_engine *engine, mca_coll_han_level_id_t level, mca_coll_han_submodule_t submodule);

/** How many steps a configuration's last stage lags. */
size_t tune_engine_lag(const struct tune_engine *engine, const struct tune_config *config);

/** The paper's name of a task. */
void tune_engine_task_name(const struct tune_engine *engine, const struct tune_config *config, unsigned task,
                           char *name, size_t length);

/** Calls in a row that are timed where a rank's larger buffer holds so many bytes. */
int tune_engine_calls(size_t held);

/**
 * Runs calls in a row, each until it is complete; all ranks start together.
 *
 * @param params NULL: by HAN's own choice
 * @param bytes of the message, or of a block; a multiple of 4
 * @returns seconds of this rank; negative where a call fails
 */
double tune_engine_time(struct tune_engine *engine, struct tune_function function, const mca_coll_han_params_t *params,
                        size_t bytes, int calls);

/**
 * Runs the fallback's call: its result is what tune_engine_right() expects.
 *
 * @param held bytes of the larger of a rank's buffers
 * @returns whether the call did not fail
 */
bool tune_engine_expect(struct tune_engine *engine, struct tune_function function, size_t bytes, size_t held);

/**
 * Runs the call that tune_engine_expect() ran, by other parameters.
 *
 * @param whole the whole result is compared, and not only some bytes of each KB of a long one
 * @param seconds gets those of this rank
 * @returns whether this rank has the same from both, and nothing behind it
 */
bool tune_engine_right(struct tune_engine *engine, struct tune_function function, const mca_coll_han_params_t *params,
                       size_t bytes, bool whole, double *seconds);

/** What HAN's cost model takes a call to last; false where there is no model of this machine. */
bool tune_engine_predict(const struct tune_engine *engine, const mca_coll_han_input_t *input,
                         const mca_coll_han_params_t *params, mca_coll_han_times_t *times);

/** How HAN does a call by itself; false where memory is short. */
bool tune_engine_choice(struct tune_engine *engine, mca_coll_han_input_t input, mca_coll_han_params_t *params);

/** The machine for which it does; NULL where there is no model. */
const mca_coll_han_machine_t *tune_engine_machine(const struct tune_engine *engine);

/** Runs a call once; all ranks start together. */
void tune_engine_run(struct tune_engine *engine, const struct tune_run *run, struct tune_result *result);

#endif
