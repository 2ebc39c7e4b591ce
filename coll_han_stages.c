/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include <string.h>

#include "ompi/request/request.h"

/* A stage of one segment, with what its operation needs. */
struct work {
    ompi_communicator_t *comm;
    mca_coll_base_module_t *submodule;
    int root;
    const mca_coll_adapt_how_t *how;
    void *buffer;
    int bytes; /* a segment is at most 1 GiB */
};

/* How an operation is done by a submodule. */
struct operation {
    int (*run)(const struct work *work);
    int (*post)(const struct work *work, ompi_request_t **request);
};

static int run_bcast(const struct work *work)
{
    return work->submodule->coll_bcast(work->buffer, work->bytes, MPI_BYTE, work->root, work->comm, work->submodule);
}

bool mca_coll_han_is_adapt(const mca_coll_base_module_t *submodule)
{
    return 0 == strcmp(MCA_COLL_ADAPT_CLASS, submodule->super.obj_class->cls_name);
}

static int post_bcast(const struct work *work, ompi_request_t **request)
{
    if (mca_coll_han_is_adapt(work->submodule)) {
        const mca_coll_adapt_call_t call = { .collective = ADAPT_BCAST,
                                             .rbuf = work->buffer,
                                             .count = (size_t) work->bytes,
                                             .datatype = MPI_BYTE,
                                             .root = work->root,
                                             .comm = work->comm };

        return ((mca_coll_adapt_event_module_t *) work->submodule)->call(&call, work->how, ADAPT_NONBLOCKING, request);
    }
    return work->submodule->coll_ibcast(work->buffer, work->bytes, MPI_BYTE, work->root, work->comm, request,
                                        work->submodule);
}

static const struct operation operations[HAN_OPERATION_COUNT] = {
    [HAN_OPERATION_BCAST] = { run_bcast, post_bcast },
};

/* False where this rank has no part in the stage. */
static bool work_get(const mca_coll_han_plan_t *plan, int stage, size_t segment, struct work *work)
{
    const mca_coll_han_call_t *call = plan->context;
    const int level = plan->stages[stage].level;
    size_t length;

    work->submodule = call->submodules[level];
    if (NULL == work->submodule) {
        return false;
    }
    work->comm = call->module->levels[level].comm;
    work->root = call->roots[level];
    work->how = &call->how;
    work->buffer = mca_coll_han_segments_get(&call->segments, segment, &length);
    work->bytes = (int) length;
    return true;
}

static int pack(const mca_coll_han_plan_t *plan, int stage, size_t segment)
{
    mca_coll_han_call_t *call = plan->context;

    return stage == call->pack_before ? mca_coll_han_segments_pack(&call->segments, segment) : OMPI_SUCCESS;
}

static int unpack(const mca_coll_han_plan_t *plan, int stage, size_t segment)
{
    mca_coll_han_call_t *call = plan->context;

    return stage == call->unpack_after ? mca_coll_han_segments_unpack(&call->segments, segment) : OMPI_SUCCESS;
}

static int stage_run(const mca_coll_han_plan_t *plan, int stage, size_t segment)
{
    struct work work;
    int rc = pack(plan, stage, segment);

    if (OMPI_SUCCESS == rc && work_get(plan, stage, segment, &work)) {
        rc = operations[plan->stages[stage].operation].run(&work);
    }
    return OMPI_SUCCESS == rc ? unpack(plan, stage, segment) : rc;
}

static int stage_post(const mca_coll_han_plan_t *plan, int stage, size_t segment, void **request)
{
    ompi_request_t *posted = NULL;
    struct work work;
    int rc = pack(plan, stage, segment);

    if (OMPI_SUCCESS == rc && work_get(plan, stage, segment, &work)) {
        rc = operations[plan->stages[stage].operation].post(&work, &posted);
        *request = OMPI_SUCCESS == rc ? posted : NULL;
    }
    return rc;
}

static int stage_wait(const mca_coll_han_plan_t *plan __opal_attribute_unused__, void **request)
{
    ompi_request_t *posted = *request;

    return ompi_request_wait(&posted, MPI_STATUS_IGNORE);
}

const mca_coll_han_driver_t mca_coll_han_driver = { stage_run, stage_post, stage_wait };

int mca_coll_han_call_open(mca_coll_han_call_t *call, const mca_coll_han_params_t *params)
{
    const mca_coll_han_submodule_t wanted[HAN_LEVEL_COUNT] = { [HAN_LOW] = params->smod, [HAN_UP] = params->imod };
    const int rc = mca_coll_han_module_levels(call->module);

    call->how = (mca_coll_adapt_how_t){
        .kind = params->ibalg, .segment_size = params->ibs, .sends = HAN_SENDS, .recvs = HAN_RECVS
    };
    for (int level = 0; level < HAN_LEVEL_COUNT && OMPI_SUCCESS == rc; ++level) {
        call->submodules[level] = mca_coll_han_module_submodule(call->module, level, wanted[level]);
        if (NULL == call->submodules[level] && NULL != call->module->levels[level].comm) {
            return OMPI_ERR_NOT_AVAILABLE;
        }
    }
    return rc;
}
