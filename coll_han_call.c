/* SPDX-License-Identifier: BSD-3-Clause */
/* What all entry points have in common: a call is decided, told to who wants to know, and done. */
#include "coll_han.h"

#include <stdio.h>
#include <string.h>

/* Tells what has been decided for a call, to users who want to know (coll_han_verbose 2). */
static void say(const mca_coll_han_module_t *module, const mca_coll_han_input_t *input,
                const mca_coll_han_params_t *params)
{
    static const char *const forms[HAN_FORM_COUNT] = { "", "i", "persistent " };
    const bool by_level = HAN_SIMPLE == params->algorithm || HAN_PIPELINE == params->algorithm;
    const bool by_tree = HAN_TREE == params->algorithm || HAN_RING == params->algorithm;
    const size_t segment = by_level ? params->fs : 0 == params->ibs ? input->bytes : params->ibs;
    char how[160] = "";

    if (2 > mca_coll_han_component.verbose || 0 != ompi_comm_rank(module->comm)) {
        return;
    }
    if (by_level) {
        snprintf(how, sizeof(how), ", up %s, low %s", mca_coll_han_submodule_names[params->imod],
                 mca_coll_han_submodule_names[params->smod]);
    } else if (by_tree) {
        snprintf(how, sizeof(how), ", up adapt's %s, low adapt's %s, lanes: %d",
                 module->adapt->trees[params->ibalg].name, module->adapt->trees[params->sbalg].name, params->lanes);
    }
    if ((by_level || by_tree) && 0 < input->bytes) {
        const size_t used = strlen(how), fitting = segment < input->bytes ? segment : input->bytes;

        snprintf(how + used, sizeof(how) - used, ", segments: %zu of %zu bytes, %d under way",
                 mca_coll_han_segments_count(input->bytes, fitting), fitting, by_level ? params->depth : HAN_SENDS);
    }
    opal_output(mca_coll_han_component.output, "coll:han: %s (cid %d): %s%s, %zu bytes: %s%s (%s)",
                module->comm->c_name, module->comm->c_contextid, forms[input->form],
                mca_coll_han_collective_names[input->collective], input->bytes,
                mca_coll_han_algorithms[params->algorithm].name, how, params->why);
}

int mca_coll_han_call_decide(mca_coll_han_module_t *module, mca_coll_han_collective_t collective,
                             mca_coll_han_form_t form, size_t bytes, mca_coll_han_params_t *params)
{
    const int rc = mca_coll_han_module_topology(module, HAN_BLOCKING == form);
    const mca_coll_han_input_t input = {
        .collective = collective,
        .nodes = module->topology.group_count,
        .ppn = module->topology.largest,
        .bytes = bytes,
        .form = form,
        .adapt = NULL != module->adapt,
    };

    if (OMPI_ERR_NOT_FOUND == rc && HAN_BLOCKING != form) {
        *params = (mca_coll_han_params_t){ .algorithm = HAN_FALLBACK, .why = "the topology is not known yet" };
    } else if (OMPI_SUCCESS != rc) {
        return rc;
    } else {
        *params = mca_coll_han_decide(&input);
    }
    say(module, &input, params);
    return OMPI_SUCCESS;
}

int mca_coll_han_call(mca_coll_han_module_t *module, mca_coll_han_collective_t collective, mca_coll_han_form_t form,
                      const mca_coll_adapt_call_t *call, ompi_request_t **request)
{
    const size_t bytes = mca_coll_adapt_call_bytes(call);
    mca_coll_han_params_t params;
    const int rc = mca_coll_han_call_decide(module, collective, form, bytes, &params);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    switch (params.algorithm) {
    case HAN_FALLBACK:
        return HAN_TO_FALLBACK;
    case HAN_SIMPLE:
    case HAN_PIPELINE:
        return mca_coll_han_bcast_levels(module, call, &params);
    default:
        return mca_coll_han_call_tree(module, form, call, &params, request);
    }
}
