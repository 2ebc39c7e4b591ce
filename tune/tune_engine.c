/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "coll_han.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * On a machine that is busy with something else ranks are as late after 5 ms as after this: of eight that share a core
 * one in ten by 0.5 ms. On a quiet one the margin is 0.2 ms in either case.
 */
#define START_MOST 1e-3 /* seconds */
#include "bench/han_seats.h"
#include "bench/han_start.h"
#include "tune_engine.h"

/* Bytes behind a result that must not change. */
enum { TAG = 4711, GUARD = 64, ASLEEP = 10000 /* us */ };

struct tune_engine {
    MPI_Comm comm;
    int rank, size;
    han_module_t *han;
    long seed;
    struct start start;
    struct seats seats;
    char *send, *recv;
    char *expected;  /* what the fallback gives, ... */
    size_t compared; /* ... so many bytes of it */
    int *counts;     /* [2][size] elements of blocks, and where they are */
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

/* Small whole numbers: their sums are the same in any order. */
static void fill(struct tune_engine *engine, size_t bytes)
{
    float *send = (float *) engine->send;

    for (size_t i = 0; i < bytes / sizeof(float); ++i) {
        send[i] = (float) ((i + 7 * (size_t) engine->rank) % 31);
    }
}

int tune_engine_open(struct tune_engine **made, MPI_Comm comm, size_t most_bytes, long seed, char why[TUNE_TEXT])
{
    han_module_t *han = find_han(comm, why);
    struct tune_engine *engine = calloc(1, sizeof(*engine));
    bool good = NULL != engine;

    if (!all_agree(comm, NULL != han)) {
        if (NULL != han) {
            snprintf(why, TUNE_TEXT, "component han is not the same on all nodes");
        }
        free(engine);
        return -1;
    }
    if (good) {
        engine->comm = comm;
        engine->han = han;
        engine->seed = seed;
        MPI_Comm_rank(comm, &engine->rank);
        MPI_Comm_size(comm, &engine->size);
        engine->send = calloc(1, most_bytes + GUARD);
        engine->recv = calloc(1, most_bytes + GUARD);
        engine->expected = calloc(1, most_bytes + GUARD);
        engine->counts = calloc(2 * (size_t) engine->size, sizeof(int));
        engine->own = calloc(TUNE_MOST_STEPS, sizeof(double));
        good = NULL != engine->send && NULL != engine->recv && NULL != engine->expected && NULL != engine->counts
               && NULL != engine->own;
    }
    if (good && 0 == engine->rank) {
        engine->all = calloc((size_t) engine->size * TUNE_MOST_STEPS, sizeof(double));
        engine->reports = calloc((size_t) engine->size, sizeof(*engine->reports));
        good = NULL != engine->all && NULL != engine->reports;
    }
    if (good) {
        /* Calloc's pages are touched here, and not in the first run. */
        fill(engine, most_bytes);
        memset(engine->recv, 0, most_bytes);
        good = OMPI_SUCCESS == han->tune->prepare(han);
    }
    good = all_agree(comm, good) && 0 == seats_open(&engine->seats, comm, TAG, (uint64_t) seed);
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
    free(engine->expected);
    free(engine->counts);
    free(engine->own);
    free(engine->all);
    free(engine->reports);
    seats_close(&engine->seats);
    free(engine);
}

void tune_engine_change_seats(struct tune_engine *engine)
{
    seats_change(&engine->seats);
}

long tune_engine_seed(const struct tune_engine *engine)
{
    return engine->seed;
}

MPI_Comm tune_engine_comm(const struct tune_engine *engine)
{
    return engine->comm;
}

bool tune_engine_is_past(const struct tune_engine *engine, double time)
{
    int past = MPI_Wtime() > time;

    if (!isinf(time)) {
        MPI_Bcast(&past, 1, MPI_INT, 0, engine->comm);
    }
    return 0 != past;
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

bool tune_engine_is_even(const struct tune_engine *engine)
{
    return engine->han->topology.even;
}

void tune_engine_place(const struct tune_engine *engine, int rank, int *node, int *place)
{
    *node = engine->han->topology.group_of[rank];
    *place = engine->han->topology.place_of[rank];
}

int tune_engine_rank(const struct tune_engine *engine, int node, int place)
{
    const mca_coll_han_topology_t *const topology = &engine->han->topology;

    return place < mca_coll_han_topology_group_size(topology, node) ? mca_coll_han_topology_group(topology, node)[place]
                                                                    : -1;
}

void tune_engine_meet(const struct tune_engine *engine, bool asleep)
{
    MPI_Request request;
    int met = 0;

    MPI_Ibarrier(engine->comm, &request);
    while (asleep && !met) {
        usleep(ASLEEP);
        MPI_Test(&request, &met, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

bool tune_engine_has(struct tune_engine *engine, mca_coll_han_level_id_t level, mca_coll_han_submodule_t submodule)
{
    return all_agree(engine->comm, engine->han->tune->has(engine->han, level, submodule));
}

const mca_coll_han_machine_t *tune_engine_machine(const struct tune_engine *engine)
{
    return engine->han->tune->machine(engine->han);
}

bool tune_engine_predict(const struct tune_engine *engine, const mca_coll_han_input_t *input,
                         const mca_coll_han_params_t *params, mca_coll_han_times_t *times)
{
    const mca_coll_han_machine_t *machine = tune_engine_machine(engine);

    if (NULL != machine) {
        *times = mca_coll_han_predict(machine, input, params);
    }
    return NULL != machine;
}

bool tune_engine_choice(struct tune_engine *engine, mca_coll_han_input_t input, mca_coll_han_params_t *params)
{
    input.bytes = tune_knows_bytes(input.collective) ? input.bytes : 0;
    if (OMPI_SUCCESS != engine->han->tune->choice(engine->han, &input, params)) {
        return false;
    }
    params->why = NULL; /* it is the component's */
    return true;
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

/* Calls a function of MPI, or the nonblocking one; its request is the last argument. */
#define CALL(Name, Iname, ...)                                                                                         \
    (HAN_BLOCKING == function.form ? MPI_##Name(__VA_ARGS__) : MPI_##Iname(__VA_ARGS__, &request))

/* Floats, but for a broadcast's, of which there may be a few bytes. */
static int call(struct tune_engine *engine, struct tune_function function, size_t bytes)
{
    const int count = bytes < sizeof(float) ? 1 : (int) (bytes / sizeof(float));
    const int *counts = engine->counts, *places = engine->counts + engine->size;
    const MPI_Comm comm = engine->comm;
    void *send = engine->send, *recv = engine->recv;
    MPI_Request request = MPI_REQUEST_NULL;
    int rc;

    for (int rank = 0; count != engine->counts[0] && rank < engine->size; ++rank) {
        engine->counts[engine->size - 1 - rank] = count; /* the first one last */
        engine->counts[engine->size + rank] = rank * count;
    }
    switch (function.collective) {
    case HAN_BCAST:
        rc = CALL(Bcast, Ibcast, recv, (int) bytes, MPI_BYTE, 0, comm);
        break;
    case HAN_REDUCE:
        rc = CALL(Reduce, Ireduce, send, recv, count, MPI_FLOAT, MPI_SUM, 0, comm);
        break;
    case HAN_ALLREDUCE:
        rc = CALL(Allreduce, Iallreduce, send, recv, count, MPI_FLOAT, MPI_SUM, comm);
        break;
    case HAN_ALLGATHER:
        rc = CALL(Allgather, Iallgather, send, count, MPI_FLOAT, recv, count, MPI_FLOAT, comm);
        break;
    case HAN_ALLGATHERV:
        rc = CALL(Allgatherv, Iallgatherv, send, count, MPI_FLOAT, recv, counts, places, MPI_FLOAT, comm);
        break;
    case HAN_REDUCE_SCATTER_BLOCK:
        rc = CALL(Reduce_scatter_block, Ireduce_scatter_block, send, recv, count, MPI_FLOAT, MPI_SUM, comm);
        break;
    case HAN_REDUCE_SCATTER:
        rc = CALL(Reduce_scatter, Ireduce_scatter, send, recv, counts, MPI_FLOAT, MPI_SUM, comm);
        break;
    case HAN_ALLTOALL:
        rc = CALL(Alltoall, Ialltoall, send, count, MPI_FLOAT, recv, count, MPI_FLOAT, comm);
        break;
    case HAN_ALLTOALLV:
        rc = CALL(Alltoallv, Ialltoallv, send, counts, places, MPI_FLOAT, recv, counts, places, MPI_FLOAT, comm);
        break;
    case HAN_GATHER:
        rc = CALL(Gather, Igather, send, count, MPI_FLOAT, recv, count, MPI_FLOAT, 0, comm);
        break;
    case HAN_GATHERV:
        rc = CALL(Gatherv, Igatherv, send, count, MPI_FLOAT, recv, counts, places, MPI_FLOAT, 0, comm);
        break;
    case HAN_SCATTER:
        rc = CALL(Scatter, Iscatter, send, count, MPI_FLOAT, recv, count, MPI_FLOAT, 0, comm);
        break;
    case HAN_SCATTERV:
        rc = CALL(Scatterv, Iscatterv, send, counts, places, MPI_FLOAT, recv, count, MPI_FLOAT, 0, comm);
        break;
    case HAN_SCAN:
        rc = CALL(Scan, Iscan, send, recv, count, MPI_FLOAT, MPI_SUM, comm);
        break;
    case HAN_EXSCAN:
        rc = CALL(Exscan, Iexscan, send, recv, count, MPI_FLOAT, MPI_SUM, comm);
        break;
    default:
        rc = CALL(Barrier, Ibarrier, comm);
    }
    return MPI_SUCCESS == rc ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

int tune_engine_calls(size_t held)
{
    return start_calls(held);
}

/* Calls on the communicator go by these parameters, and one that fails says so and ends nothing, until hand_back(). */
static void take_over(struct tune_engine *engine, const mca_coll_han_params_t *params, mca_coll_han_watch_t *watch)
{
    engine->han->tune->force(engine->han, params, watch);
    MPI_Comm_set_errhandler(engine->comm, MPI_ERRORS_RETURN);
}

static void hand_back(struct tune_engine *engine)
{
    MPI_Comm_set_errhandler(engine->comm, MPI_ERRORS_ARE_FATAL);
    engine->han->tune->force(engine->han, NULL, NULL);
}

/* Calls in a row, which all ranks begin together; seconds of this rank. */
static double time_calls(struct tune_engine *engine, struct tune_function function, size_t bytes, int calls, int *rc)
{
    const double begin = start_together(&engine->start);

    *rc = MPI_SUCCESS;
    for (int i = 0; i < calls; ++i) {
        const int code = call(engine, function, bytes);

        *rc = MPI_SUCCESS == *rc ? code : *rc;
    }
    return start_clock() - begin;
}

double tune_engine_time(struct tune_engine *engine, struct tune_function function, const mca_coll_han_params_t *params,
                        size_t bytes, int calls)
{
    double seconds;
    int rc;

    take_over(engine, params, NULL);
    seconds = time_calls(engine, function, bytes, calls, &rc);
    hand_back(engine);
    return MPI_SUCCESS == rc ? seconds : -1;
}

/* Of long results some bytes of each KB tell: nothing that a component sends or combines by itself is shorter. */
enum { LOOK = 64, STRIDE = 1024, LONG_RESULT = 64 << 10 };

/* Where a result is looked at: the first bytes of each stretch. */
struct look {
    size_t bytes, stretch;
};

static struct look look_of(const struct tune_engine *engine, bool whole)
{
    return whole || LONG_RESULT >= engine->compared ? (struct look){ engine->compared, engine->compared }
                                                    : (struct look){ LOOK, STRIDE };
}

/* How many from the beginning of one on. */
static size_t look_at(const struct tune_engine *engine, struct look look, size_t begin)
{
    return engine->compared - begin < look.bytes ? engine->compared - begin : look.bytes;
}

/* One call, whose result goes into a buffer. Its seconds; negative where it fails. */
static double call_into(struct tune_engine *engine, char *result, struct tune_function function,
                        const mca_coll_han_params_t *params, size_t bytes, bool whole)
{
    const struct look look = look_of(engine, whole);
    char *const recv = engine->recv;
    double seconds;

    for (size_t i = 0; i < engine->compared; i += look.stretch) {
        memset(result + i, 0, look_at(engine, look, i));
    }
    memset(result + engine->compared - GUARD, 0, GUARD);
    if (HAN_BCAST == function.collective && 0 == engine->rank) {
        memcpy(result, engine->send, bytes);
    }
    engine->recv = result;
    seconds = tune_engine_time(engine, function, params, bytes, 1);
    engine->recv = recv;
    return seconds;
}

/* Also behind it, where nothing may be written. */
static bool is_as_expected(const struct tune_engine *engine, bool whole)
{
    const struct look look = look_of(engine, whole);
    const size_t end = engine->compared - GUARD;

    for (size_t i = 0; i < engine->compared; i += look.stretch) {
        if (0 != memcmp(engine->expected + i, engine->recv + i, look_at(engine, look, i))) {
            return false;
        }
    }
    return 0 == memcmp(engine->expected + end, engine->recv + end, GUARD);
}

bool tune_engine_expect(struct tune_engine *engine, struct tune_function function, size_t bytes, size_t held)
{
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK };

    engine->compared = held + GUARD;
    return 0 <= call_into(engine, engine->expected, function, &fallback, bytes, true);
}

bool tune_engine_right(struct tune_engine *engine, struct tune_function function, const mca_coll_han_params_t *params,
                       size_t bytes, bool whole, double *seconds)
{
    *seconds = call_into(engine, engine->recv, function, params, bytes, whole);
    return 0 <= *seconds && (is_as_expected(engine, whole) || (HAN_EXSCAN == function.collective && 0 == engine->rank));
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
    const struct tune_function function = { .collective = run->config.collective, .form = HAN_BLOCKING };
    mca_coll_han_params_t params = run->config.params;
    struct report report = { .steady = -1 };
    bool settled = true;
    int rc;

    memset(result, 0, sizeof(*result));
    if (TUNE_FALLBACK == run->kind) {
        params.algorithm = HAN_FALLBACK;
    }
    take_over(engine, TUNE_BUILTIN == run->kind ? NULL : &params, TUNE_TASK == run->kind ? &watch : NULL);
    report.seconds = time_calls(engine, function, run->bytes, 1, &rc);
    report.rc = rc;
    hand_back(engine);
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
