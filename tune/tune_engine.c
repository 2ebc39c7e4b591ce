/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include <stdlib.h>
#include <string.h>

#include "bench/han_start.h"
#include "tune_engine.h"

enum { TAG = 4711 };

struct tune_engine {
    MPI_Comm comm;
    int rank, size;
    han_module_t *han;
    struct start start;
    char *send, *recv;
    mca_coll_han_step_t steps[TUNE_MOST_STEPS];
    double *own;            /* [TUNE_MOST_STEPS] seconds of this rank's steps */
    double *all;            /* rank 0: [size][TUNE_MOST_STEPS] */
    struct report *reports; /* rank 0: [size] */
};

/* What each rank tells rank 0 of a run. */
struct report {
    double rc;
    double seconds;
    double steady;
    double settled;
};
enum { REPORT = sizeof(struct report) / sizeof(double) };

/* HAN's module is known by its class, and understood by its version. */
static han_module_t *find_han(MPI_Comm comm, char why[TUNE_TEXT])
{
    mca_coll_base_module_t *module = comm->c_coll->coll_bcast_module;
    han_module_t *han = (han_module_t *) module;

    if (NULL == module || 0 != strcmp(MCA_COLL_HAN_CLASS, module->super.obj_class->cls_name)) {
        snprintf(why, TUNE_TEXT,
                 "component han does not do MPI_Bcast here: OMPI_MCA_mca_base_component_path must name the folder with "
                 "mca_coll_han.so, and coll_han_priority must not be 0");
        return NULL;
    }
    if (HAN_TUNE_VERSION != han->tune->version) {
        snprintf(why, TUNE_TEXT, "component han is of another version than this program (%d, not %d)",
                 han->tune->version, HAN_TUNE_VERSION);
        return NULL;
    }
    return han;
}

static bool all_agree(MPI_Comm comm, bool good)
{
    int mine = good, all = 0;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);
    return 0 != all;
}

int tune_engine_open(struct tune_engine **made, MPI_Comm comm, size_t most_bytes, char why[TUNE_TEXT])
{
    han_module_t *han = find_han(comm, why);
    struct tune_engine *engine = calloc(1, sizeof(*engine));
    bool good = NULL != engine;

    if (!all_agree(comm, NULL != han)) {
        free(engine);
        return -1;
    }
    if (good) {
        engine->comm = comm;
        engine->han = han;
        MPI_Comm_rank(comm, &engine->rank);
        MPI_Comm_size(comm, &engine->size);
        engine->send = calloc(1, most_bytes + sizeof(double));
        engine->recv = calloc(1, most_bytes + sizeof(double));
        engine->own = calloc(TUNE_MOST_STEPS, sizeof(double));
        good = NULL != engine->send && NULL != engine->recv && NULL != engine->own;
    }
    if (good && 0 == engine->rank) {
        engine->all = calloc((size_t) engine->size * TUNE_MOST_STEPS, sizeof(double));
        engine->reports = calloc((size_t) engine->size, sizeof(*engine->reports));
        good = NULL != engine->all && NULL != engine->reports;
    }
    if (good) {
        /* Calloc's pages are touched here, and not in the first run. */
        memset(engine->send, 0, most_bytes);
        memset(engine->recv, 0, most_bytes);
        good = OMPI_SUCCESS == han->tune->prepare(han);
    }
    if (!all_agree(comm, good)) {
        snprintf(why, TUNE_TEXT, "memory is short, or sub-communicators cannot be made");
        if (NULL != engine) {
            tune_engine_close(engine);
        }
        return -1;
    }
    start_open(&engine->start, comm, TAG);
    *made = engine;
    return 0;
}

void tune_engine_close(struct tune_engine *engine)
{
    free(engine->send);
    free(engine->recv);
    free(engine->own);
    free(engine->all);
    free(engine->reports);
    free(engine);
}

MPI_Comm tune_engine_comm(const struct tune_engine *engine)
{
    return engine->comm;
}

void tune_engine_shape(const struct tune_engine *engine, int *nodes, int *ppn)
{
    *nodes = engine->han->topology.group_count;
    *ppn = engine->han->topology.largest;
}

bool tune_engine_in_order(const struct tune_engine *engine)
{
    return engine->han->topology.in_order;
}

void tune_engine_place(const struct tune_engine *engine, int rank, int *node, int *place)
{
    *node = engine->han->topology.group_of[rank];
    *place = engine->han->topology.place_of[rank];
}

bool tune_engine_has(struct tune_engine *engine, mca_coll_han_level_id_t level, mca_coll_han_submodule_t submodule)
{
    return all_agree(engine->comm, engine->han->tune->has(engine->han, level, submodule));
}

/* A plan that is only asked about its steps. */
static mca_coll_han_plan_t plan_of(const struct tune_engine *engine, const struct tune_config *config)
{
    const mca_coll_han_stages_t *stages = engine->han->tune->stages(config->collective, config->params.algorithm);

    return (mca_coll_han_plan_t){ .stages = stages->stages,
                                  .stage_count = stages->count,
                                  .segment_count = TUNE_MOST_STEPS,
                                  .depth = config->params.depth };
}

size_t tune_engine_lag(const struct tune_engine *engine, const struct tune_config *config)
{
    const mca_coll_han_plan_t plan = plan_of(engine, config);

    return mca_coll_han_plan_lag(&plan, plan.stage_count - 1);
}

void tune_engine_task_name(const struct tune_engine *engine, const struct tune_config *config, unsigned task,
                           char *name, size_t length)
{
    const mca_coll_han_plan_t plan = plan_of(engine, config);

    mca_coll_han_task_name(&plan, task, name, length);
}

/* ---- a run ---- */

static int call(const struct tune_engine *engine, const struct tune_run *run)
{
    const int elements = run->bytes < sizeof(float) ? 1 : (int) (run->bytes / sizeof(float));

    switch (run->config.collective) {
    case HAN_BCAST:
        return MPI_Bcast(engine->recv, (int) run->bytes, MPI_BYTE, 0, engine->comm);
    case HAN_REDUCE:
        return MPI_Reduce(engine->send, engine->recv, elements, MPI_FLOAT, MPI_SUM, 0, engine->comm);
    case HAN_ALLREDUCE:
        return MPI_Allreduce(engine->send, engine->recv, elements, MPI_FLOAT, MPI_SUM, engine->comm);
    default:
        return MPI_Barrier(engine->comm);
    }
}

/* The leaders' steps, one behind the other. */
static void gather_steps(struct tune_engine *engine, struct tune_result *result)
{
    int leaders = 0;

    MPI_Gather(engine->own, (int) result->step_count, MPI_DOUBLE, engine->all, (int) result->step_count, MPI_DOUBLE, 0,
               engine->comm);
    for (int rank = 0; rank < engine->size && 0 == engine->rank; ++rank) {
        if (0 == engine->han->topology.place_of[rank]) {
            memmove(engine->all + (size_t) leaders++ * result->step_count,
                    engine->all + (size_t) rank * result->step_count, result->step_count * sizeof(double));
        }
    }
    result->steps = engine->all;
}

static void sum_up(const struct tune_engine *engine, struct tune_result *result)
{
    double steepest = -1;

    result->settled = true;
    for (int rank = 0; rank < engine->size; ++rank) {
        const struct report *report = &engine->reports[rank];

        result->rc = 0 == result->rc ? (int) report->rc : result->rc;
        result->seconds = report->seconds > result->seconds ? report->seconds : result->seconds;
        /* What others wait for counts; the root's first segments go into buffers, and it sees the link later. */
        if (report->steady > steepest) {
            steepest = report->steady;
            result->settled = 0 != report->settled;
        }
    }
}

void tune_engine_run(struct tune_engine *engine, const struct tune_run *run, struct tune_result *result)
{
    mca_coll_han_watch_t watch = { .steps = engine->steps, .room = TUNE_MOST_STEPS };
    mca_coll_han_params_t params = run->config.params;
    struct report report = { .steady = -1 };
    bool settled = true;
    double begin;

    memset(result, 0, sizeof(*result));
    if (TUNE_FALLBACK == run->kind) {
        params.algorithm = HAN_FALLBACK;
    }
    engine->han->tune->force(engine->han, TUNE_BUILTIN == run->kind ? NULL : &params,
                             TUNE_TASK == run->kind ? &watch : NULL);
    begin = start_together(&engine->start);
    report.rc = call(engine, run);
    report.seconds = start_clock() - begin;
    engine->han->tune->force(engine->han, NULL, NULL);
    if (TUNE_TASK == run->kind) {
        result->step_count = watch.count < TUNE_MOST_STEPS ? watch.count : TUNE_MOST_STEPS;
        for (size_t i = 0; i < result->step_count; ++i) {
            result->tasks[i] = engine->steps[i].task;
            engine->own[i] = engine->steps[i].seconds;
        }
        report.steady = tune_model_steady(engine->own, result->step_count, tune_engine_lag(engine, &run->config),
                                          (size_t) run->config.params.depth, &settled);
    }
    report.settled = settled;
    MPI_Gather(&report, REPORT, MPI_DOUBLE, engine->reports, REPORT, MPI_DOUBLE, 0, engine->comm);
    if (0 == engine->rank) {
        sum_up(engine, result);
    }
    if (run->steps) {
        gather_steps(engine, result);
    }
}
