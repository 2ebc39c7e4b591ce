/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tuner (tune/) sees of the component: a call done by parameters of its choice, and what the steps have cost.
 */
#include "coll_han.h"

/* The collective as it was before HAN came. */
static int run_fallback(const mca_coll_han_module_t *module, mca_coll_han_collective_t collective,
                        const mca_coll_adapt_call_t *call)
{
    const mca_coll_han_fallback_t *fallback = &module->fallbacks[collective][HAN_BLOCKING];
    const int count = (int) call->count;

    switch (collective) {
    case HAN_BCAST:
        return fallback->fn.bcast(call->rbuf, count, call->datatype, call->root, module->comm, fallback->module);
    case HAN_REDUCE:
        return fallback->fn.reduce(call->sbuf, call->rbuf, count, call->datatype, call->op, call->root, module->comm,
                                   fallback->module);
    case HAN_ALLREDUCE:
        return fallback->fn.allreduce(call->sbuf, call->rbuf, count, call->datatype, call->op, module->comm,
                                      fallback->module);
    case HAN_BARRIER:
        return fallback->fn.barrier(module->comm, fallback->module);
    default:
        return OMPI_ERR_NOT_SUPPORTED;
    }
}

static mca_coll_han_args_t args_of(mca_coll_han_collective_t collective, const mca_coll_adapt_call_t *call)
{
    const bool rooted = HAN_BCAST == collective || HAN_REDUCE == collective;
    const int count = (int) call->count;

    return (mca_coll_han_args_t){
        .collective = collective,
        .form = HAN_BLOCKING,
        .send = HAN_SIDE(call->sbuf, count, call->datatype),
        .recv = HAN_SIDE(call->rbuf, count, call->datatype),
        .op = call->op,
        .root = rooted ? call->root : -1,
    };
}

static int tune_run(mca_coll_han_module_t *module, mca_coll_han_collective_t collective,
                    const mca_coll_adapt_call_t *call, const mca_coll_han_params_t *params, mca_coll_han_watch_t *watch)
{
    const mca_coll_han_args_t args = args_of(collective, call);
    int rc = mca_coll_han_module_topology(module, true);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    module->watch = watch;
    rc = mca_coll_han_call_perform(module, &args, params, NULL);
    module->watch = NULL;
    return HAN_TO_FALLBACK == rc ? run_fallback(module, collective, call) : rc;
}

static int tune_decide(mca_coll_han_module_t *module, mca_coll_han_collective_t collective,
                       const mca_coll_adapt_call_t *call, mca_coll_han_params_t *params)
{
    const mca_coll_han_args_t args = args_of(collective, call);

    return mca_coll_han_call_decide(module, &args, params);
}

static bool tune_has(mca_coll_han_module_t *module, mca_coll_han_level_id_t level, mca_coll_han_submodule_t submodule)
{
    return OMPI_SUCCESS == mca_coll_han_module_levels(module)
           && (NULL == module->levels[level].comm || NULL != module->levels[level].submodules[submodule]);
}

const mca_coll_han_tune_t mca_coll_han_tune = {
    .version = HAN_TUNE_VERSION,
    .run = tune_run,
    .decide = tune_decide,
    .has = tune_has,
    .stages = mca_coll_han_stages,
    .collectives = mca_coll_han_collective_names,
    .submodules = mca_coll_han_submodule_names,
    .algorithms = mca_coll_han_algorithms,
    .choices = mca_coll_han_choices,
};
