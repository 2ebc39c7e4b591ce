/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine (HAN paper, section III, figures 1 and 5).
 *
 * In step t stage s works on segment t - lag(s). With depth 1 each stage lags the one before by one step, which is
 * the papers' triangle. Four stages (allreduce: sr, ir, ib, sb), u = 5:
 *
 *   step        0    1    2    3    4    5    6    7
 *   segment 0   sr   ir   ib   sb
 *           1        sr   ir   ib   sb
 *           2             sr   ir   ib   sb
 *           3                  sr   ir   ib   sb
 *           4                       sr   ir   ib   sb
 *   task        sr  irsr  ibirsr
 *                            sbibirsr  (twice)
 *                                      sbibir  sbib  sb
 *
 * A column is a task. A posted (nonblocking) stage with depth d is waited for d steps later, by the stage that consumes
 * its segment, so that d of its segments are under way and the network does not wait for one late rank:
 *
 *   step        0    1    2    3    4    5          bcast (ib, sb), d = 2, u = 4
 *   segment 0   ib        sb
 *           1        ib        sb
 *           2             ib        sb
 *           3                  ib        sb
 *
 * In a step the order is: wait for what the step consumes, post the posted stages, run the blocking ones. On all ranks
 * of a level the same stages come in the same order, as operations on one communicator must.
 */
#include "coll_han_tasks.h"

#include <string.h>

/* What changes while a plan runs. */
struct run {
    const mca_coll_han_plan_t *plan;
    int error; /* the first one */
    /* Outstanding requests: segment k of a posted stage is in slot k % depth. */
    void *requests[MCA_COLL_HAN_MAX_STAGES][MCA_COLL_HAN_MAX_DEPTH];
};

size_t mca_coll_han_plan_lag(const mca_coll_han_plan_t *plan, int stage)
{
    size_t lag = 0;

    for (int s = 0; s < stage; ++s) {
        lag += plan->stages[s].posted ? (size_t) plan->depth : 1;
    }
    return lag;
}

size_t mca_coll_han_plan_steps(const mca_coll_han_plan_t *plan)
{
    if (0 == plan->segment_count) {
        return 0;
    }
    return plan->segment_count + mca_coll_han_plan_lag(plan, plan->stage_count - 1);
}

size_t mca_coll_han_plan_window(const mca_coll_han_plan_t *plan)
{
    const size_t window
        = mca_coll_han_plan_lag(plan, plan->stage_count) + (plan->stages[plan->stage_count - 1].posted ? 1 : 0);

    return window < plan->segment_count ? window : plan->segment_count;
}

/* Whether the stage is active in the step, and on which segment. */
static bool active(const mca_coll_han_plan_t *plan, int stage, size_t step, size_t *segment)
{
    const size_t lag = mca_coll_han_plan_lag(plan, stage);

    if (step < lag || step - lag >= plan->segment_count) {
        return false;
    }
    *segment = step - lag;
    return true;
}

unsigned mca_coll_han_plan_task(const mca_coll_han_plan_t *plan, size_t step)
{
    unsigned task = 0;
    size_t segment;

    for (int s = 0; s < plan->stage_count; ++s) {
        if (active(plan, s, step, &segment)) {
            task |= 1u << s;
        }
    }
    return task;
}

void mca_coll_han_task_name(const mca_coll_han_plan_t *plan, unsigned task, char *name, size_t length)
{
    size_t used = 0;

    for (int s = plan->stage_count - 1; s >= 0; --s) {
        const size_t more = strlen(plan->stages[s].name);

        if (0 == (task & (1u << s))) {
            continue;
        }
        if (used + more >= length) {
            break;
        }
        memcpy(name + used, plan->stages[s].name, more);
        used += more;
    }
    name[used] = '\0';
}

static void record(struct run *run, int rc)
{
    if (0 == run->error) {
        run->error = rc;
    }
}

static void finish(struct run *run, int stage, size_t segment)
{
    void **request = &run->requests[stage][segment % (size_t) run->plan->depth];

    if (NULL != *request) {
        record(run, run->plan->driver->wait(run->plan, request));
        *request = NULL;
    }
}

static void step_wait(struct run *run, size_t step)
{
    size_t segment;

    for (int s = 0; s < run->plan->stage_count; ++s) {
        if (!active(run->plan, s, step, &segment)) {
            continue;
        }
        if (0 < s && run->plan->stages[s - 1].posted) {
            finish(run, s - 1, segment);
        }
        /* The last stage has no consumer: its slot falls free when it is wanted again. */
        if (run->plan->stages[s].posted) {
            finish(run, s, segment);
        }
    }
}

static void step_do(struct run *run, size_t step, bool posted)
{
    const mca_coll_han_plan_t *plan = run->plan;
    size_t segment;

    for (int s = 0; s < plan->stage_count; ++s) {
        if (posted != plan->stages[s].posted || !active(plan, s, step, &segment)) {
            continue;
        }
        if (posted) {
            record(run, plan->driver->post(plan, s, segment, &run->requests[s][segment % (size_t) plan->depth]));
        } else {
            record(run, plan->driver->run(plan, s, segment));
        }
    }
}

/* Waits for all that is outstanding at the end, the oldest segments of each stage first. */
static void drain(struct run *run)
{
    const size_t count = run->plan->segment_count;

    for (size_t age = (size_t) run->plan->depth; age > 0; --age) {
        for (int s = 0; s < run->plan->stage_count && age <= count; ++s) {
            finish(run, s, count - age);
        }
    }
}

int mca_coll_han_plan_execute(const mca_coll_han_plan_t *plan)
{
    struct run run = { .plan = plan, .error = 0 };
    const size_t steps = mca_coll_han_plan_steps(plan);

    for (size_t step = 0; step < steps; ++step) {
        step_wait(&run, step);
        step_do(&run, step, true);
        step_do(&run, step, false);
        if (step + 1 == steps) {
            drain(&run);
        }
        if (NULL != plan->driver->stepped) {
            plan->driver->stepped(plan, step);
        }
    }
    return run.error;
}
