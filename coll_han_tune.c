/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the tuner (tune/) sees of the component: calls go by parameters of its choice, and tell what their steps cost.
 */
#include "coll_han.h"

static void tune_force(han_module_t *module, const mca_coll_han_params_t *params, mca_coll_han_watch_t *watch)
{
    module->forced = params;
    module->watch = watch;
}

static int tune_prepare(han_module_t *module)
{
    module->own_choice = true;
    return mca_coll_han_module_levels(module);
}

static bool tune_has(han_module_t *module, mca_coll_han_level_id_t level, mca_coll_han_submodule_t submodule)
{
    return NULL == module->levels[level].comm || NULL != module->levels[level].submodules[submodule];
}

static int tune_choice(han_module_t *module, const mca_coll_han_input_t *input, mca_coll_han_params_t *params)
{
    mca_coll_han_input_t own = *input;
    const mca_coll_han_params_t *found;
    int rc;

    own.adapt = mca_coll_han_has_adapt(module);
    rc = mca_coll_han_table_find(module, &own, &found);
    if (OMPI_SUCCESS == rc) {
        *params = mca_coll_han_decide(&own, found, &mca_coll_han_unset);
    }
    return rc;
}

const mca_coll_han_tune_t mca_coll_han_tune = {
    .version = HAN_TUNE_VERSION,
    .force = tune_force,
    .prepare = tune_prepare,
    .has = tune_has,
    .stages = mca_coll_han_stages,
    .machine = mca_coll_han_table_machine,
    .choice = tune_choice,
};
