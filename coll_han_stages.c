/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include <string.h>
#include <time.h>

#include "common/coll_wait.h"

/* A stage of one segment, with what its operation needs. */
struct work {
    ompi_communicator_t *comm;
    mca_coll_base_module_t *submodule;
    int root;
    const mca_coll_adapt_how_t *how;
    const void *in; /* MPI_IN_PLACE: it is in out */
    void *out;
    int count; /* a segment has at most 1 GiB, or one element */
    ompi_datatype_t *unit;
    ompi_op_t *op;
};

/* How an operation is done by a submodule. */
struct operation {
    bool (*there)(const mca_coll_base_module_t *submodule, bool posted);
    int (*run)(const struct work *work);
    int (*post)(const struct work *work, ompi_request_t **request);
};

bool mca_coll_han_is_adapt(const mca_coll_base_module_t *submodule)
{
    return 0 == strcmp(MCA_COLL_ADAPT_CLASS, submodule->super.obj_class->cls_name);
}

static int post_adapt(const struct work *work, mca_coll_adapt_collective_t collective, ompi_request_t **request)
{
    const mca_coll_adapt_call_t call = { .collective = collective,
                                         .sbuf = work->in,
                                         .rbuf = work->out,
                                         .count = (size_t) work->count,
                                         .datatype = work->unit,
                                         .op = work->op,
                                         .root = work->root,
                                         .comm = work->comm };

    mca_coll_adapt_event_module_t *adapt = (mca_coll_adapt_event_module_t *) work->submodule;

    return adapt->call(adapt, &call, work->how, ADAPT_NONBLOCKING, request);
}

/* -- bcast -- */

static bool bcast_there(const mca_coll_base_module_t *submodule, bool posted)
{
    return posted ? NULL != submodule->coll_ibcast : NULL != submodule->coll_bcast;
}

static int run_bcast(const struct work *work)
{
    return work->submodule->coll_bcast(work->out, work->count, work->unit, work->root, work->comm, work->submodule);
}

static int post_bcast(const struct work *work, ompi_request_t **request)
{
    return mca_coll_han_is_adapt(work->submodule)
               ? post_adapt(work, ADAPT_BCAST, request)
               : work->submodule->coll_ibcast(work->out, work->count, work->unit, work->root, work->comm, request,
                                              work->submodule);
}

/* -- reduce -- */

static bool reduce_there(const mca_coll_base_module_t *submodule, bool posted)
{
    return posted ? NULL != submodule->coll_ireduce : NULL != submodule->coll_reduce;
}

static int run_reduce(const struct work *work)
{
    return work->submodule->coll_reduce(work->in, work->out, work->count, work->unit, work->op, work->root, work->comm,
                                        work->submodule);
}

static int post_reduce(const struct work *work, ompi_request_t **request)
{
    return mca_coll_han_is_adapt(work->submodule)
               ? post_adapt(work, ADAPT_REDUCE, request)
               : work->submodule->coll_ireduce(work->in, work->out, work->count, work->unit, work->op, work->root,
                                               work->comm, request, work->submodule);
}

/* -- allreduce -- */

static bool allreduce_there(const mca_coll_base_module_t *submodule, bool posted)
{
    return posted ? NULL != submodule->coll_iallreduce : NULL != submodule->coll_allreduce;
}

static int run_allreduce(const struct work *work)
{
    return work->submodule->coll_allreduce(work->in, work->out, work->count, work->unit, work->op, work->comm,
                                           work->submodule);
}

static int post_allreduce(const struct work *work, ompi_request_t **request)
{
    return mca_coll_han_is_adapt(work->submodule)
               ? post_adapt(work, ADAPT_ALLREDUCE, request)
               : work->submodule->coll_iallreduce(work->in, work->out, work->count, work->unit, work->op, work->comm,
                                                  request, work->submodule);
}

/* -- gather, scatter, alltoall: of blocks, which no engine runs -- */

static bool gather_there(const mca_coll_base_module_t *submodule, bool posted)
{
    return !posted && NULL != submodule->coll_gather;
}

static bool scatter_there(const mca_coll_base_module_t *submodule, bool posted)
{
    return !posted && NULL != submodule->coll_scatter;
}

static bool alltoall_there(const mca_coll_base_module_t *submodule, bool posted)
{
    return !posted && NULL != submodule->coll_alltoall;
}

static const struct operation operations[HAN_OPERATION_COUNT] = {
    [HAN_OPERATION_BCAST] = { bcast_there, run_bcast, post_bcast },
    [HAN_OPERATION_REDUCE] = { reduce_there, run_reduce, post_reduce },
    [HAN_OPERATION_ALLREDUCE] = { allreduce_there, run_allreduce, post_allreduce },
    [HAN_OPERATION_GATHER] = { .there = gather_there },
    [HAN_OPERATION_SCATTER] = { .there = scatter_there },
    [HAN_OPERATION_ALLTOALL] = { .there = alltoall_there },
};

bool mca_coll_han_serves(const mca_coll_base_module_t *submodule, const mca_coll_han_stage_t *stage)
{
    return operations[stage->operation].there(submodule, stage->posted);
}

/* -- the driver -- */

/* False where this rank has no part in the stage. */
static bool work_get(const mca_coll_han_plan_t *plan, int stage, size_t segment, struct work *work)
{
    const mca_coll_han_call_t *call = plan->context;
    const int level = plan->stages[stage].level;
    const mca_coll_han_place_t in = call->routes[stage].in, out = call->routes[stage].out;

    if (NULL == call->submodules[level]) {
        return false;
    }
    *work = (struct work){
        .comm = call->module->levels[level].comm,
        .submodule = call->submodules[level],
        .root = call->roots[level],
        .how = &call->hows[plan->stages[stage].operation],
        .in = in == out ? MPI_IN_PLACE : mca_coll_han_segments_get(&call->segments, in, segment),
        .out = mca_coll_han_segments_get(&call->segments, out, segment),
        .count = (int) mca_coll_han_segments_length(&call->segments, segment),
        .unit = call->segments.unit,
        .op = call->op,
    };
    return true;
}

/* What stages return: the first error of the call so far. */
static int note(mca_coll_han_call_t *call, int rc)
{
    call->rc = mca_coll_han_alarm_note(call->module, call->rc, rc);
    return call->rc;
}

static void pack(mca_coll_han_call_t *call, int stage, size_t segment)
{
    if (stage == call->pack_before && OMPI_SUCCESS == call->rc) {
        note(call, mca_coll_han_segments_pack(&call->segments, segment));
    }
}

/* What a rank unpacks nobody gets from it. So others are not told: the alarm might find their communicator gone, and
 * reach the next one of its id. */
static void unpack(mca_coll_han_call_t *call, int stage, size_t segment)
{
    if (stage == call->unpack_after && OMPI_SUCCESS == call->rc && OMPI_SUCCESS == call->unpack_rc) {
        call->unpack_rc = mca_coll_han_segments_unpack(&call->segments, segment);
    }
}

static int stage_run(const mca_coll_han_plan_t *plan, int stage, size_t segment)
{
    mca_coll_han_call_t *call = plan->context;
    struct work work;

    pack(call, stage, segment);
    if (work_get(plan, stage, segment, &work)) {
        note(call, operations[plan->stages[stage].operation].run(&work));
    }
    unpack(call, stage, segment);
    return OMPI_SUCCESS != call->rc ? call->rc : call->unpack_rc;
}

static int stage_post(const mca_coll_han_plan_t *plan, int stage, size_t segment, void **request)
{
    mca_coll_han_call_t *call = plan->context;
    ompi_request_t *posted = NULL;
    struct work work;

    pack(call, stage, segment);
    if (work_get(plan, stage, segment, &work)) {
        const int rc = operations[plan->stages[stage].operation].post(&work, &posted);

        *request = OMPI_SUCCESS == rc ? posted : NULL;
        note(call, rc);
    }
    return call->rc;
}

static int stage_wait(const mca_coll_han_plan_t *plan, void **request)
{
    ompi_request_t *posted = *request;

    return note(plan->context, coll_wait(&posted, MPI_STATUS_IGNORE));
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

void mca_coll_han_watch_start(mca_coll_han_watch_t *watch)
{
    if (NULL != watch) {
        watch->count = 0;
        watch->last = now();
    }
}

static void stage_stepped(const mca_coll_han_plan_t *plan, size_t step)
{
    mca_coll_han_watch_t *watch = ((const mca_coll_han_call_t *) plan->context)->module->watch;
    double time;

    if (NULL == watch) {
        return;
    }
    time = now();
    if (step < watch->room) {
        watch->steps[step]
            = (mca_coll_han_step_t){ .task = mca_coll_han_plan_task(plan, step), .seconds = time - watch->last };
    }
    watch->count = step + 1;
    watch->last = time;
}

const mca_coll_han_driver_t mca_coll_han_driver = { stage_run, stage_post, stage_wait, stage_stepped };
