/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The engine: runs a plan, which is a table of stages over a number of segments. It knows no collective, no
 * communicator and not how many levels there are; what a stage does is the driver's business.
 */
#ifndef MCA_COLL_HAN_TASKS_H
#define MCA_COLL_HAN_TASKS_H

#include <stdbool.h>
#include <stddef.h>

/** Most stages that an algorithm may have. */
#define MCA_COLL_HAN_MAX_STAGES 8
/** Largest depth: posted segments outstanding per stage. */
#define MCA_COLL_HAN_MAX_DEPTH 64

/** One operation at one level, done on every segment in turn (HAN paper, section III-A.1). */
typedef struct mca_coll_han_stage_t {
    const char *name; /**< the paper's: sr, ir, ib, sb, ... */
    bool posted;      /**< nonblocking: posted, and waited for in the step that consumes its segment */
    int level;        /**< the driver's: an mca_coll_han_level_id_t */
    int operation;    /**< the driver's: an mca_coll_han_operation_t */
} mca_coll_han_stage_t;

struct mca_coll_han_plan_t;

/** What stages do. Each function returns 0 (OMPI_SUCCESS) or an error; then, too, all that is left is done. */
typedef struct mca_coll_han_driver_t {
    /** Does a blocking stage. */
    int (*run)(const struct mca_coll_han_plan_t *plan, int stage, size_t segment);
    /** Starts a posted stage; leaves NULL in *request where nothing is to be waited for. */
    int (*post)(const struct mca_coll_han_plan_t *plan, int stage, size_t segment, void **request);
    /** Waits for and frees a request; it is gone also where the operation failed. */
    int (*wait)(const struct mca_coll_han_plan_t *plan, void **request);
    /** Hears of the end of each step; of the last when all is waited for. NULL: does not want to. */
    void (*stepped)(const struct mca_coll_han_plan_t *plan, size_t step);
} mca_coll_han_driver_t;

/** What is to be done; nothing in it changes while it runs. */
typedef struct mca_coll_han_plan_t {
    const mca_coll_han_stage_t *stages;
    int stage_count;        /**< S, 1 to MCA_COLL_HAN_MAX_STAGES */
    size_t segment_count;   /**< u */
    int depth;              /**< outstanding segments of a posted stage, 1 to MCA_COLL_HAN_MAX_DEPTH */
    const mca_coll_han_driver_t *driver;
    void *context;          /**< the driver's */
} mca_coll_han_plan_t;

/** Steps between the first stage's work on a segment and this stage's. */
size_t mca_coll_han_plan_lag(const mca_coll_han_plan_t *plan, int stage);

/** Number of steps: u + S - 1 with depth 1, 0 without segments. */
size_t mca_coll_han_plan_steps(const mca_coll_han_plan_t *plan);

/** Segments in flight at most: a buffer slot may be used again after as many segments. */
size_t mca_coll_han_plan_window(const mca_coll_han_plan_t *plan);

/** The task of a step: bit s is set where stage s is active. */
unsigned mca_coll_han_plan_task(const mca_coll_han_plan_t *plan, size_t step);

/** The paper's name of a task, last stage first ("sbibirsr"); cut to fit length, always terminated. */
void mca_coll_han_task_name(const mca_coll_han_plan_t *plan, unsigned task, char *name, size_t length);

/**
 * Runs a plan to its end.
 *
 * After an error too: the other ranks do their part of all stages, and would wait for this one.
 *
 * @returns 0, or the first error
 */
int mca_coll_han_plan_execute(const mca_coll_han_plan_t *plan);

#endif
