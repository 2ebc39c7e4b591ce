/* SPDX-License-Identifier: BSD-3-Clause */
/* What all entry points have in common: a call is decided, told to who wants to know, and done. */
#include "coll_han.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/coll_end.h"
#include "common/coll_pml.h"

/* What serves at a level where that one is wanted; where this rank has no part in the level, that one. */
static mca_coll_han_submodule_t serving(han_module_t *module, mca_coll_han_level_id_t level,
                                        mca_coll_han_submodule_t wanted, const mca_coll_han_stages_t *table)
{
    const mca_coll_base_module_t *found = mca_coll_han_module_submodule(module, level, wanted, table);
    int submodule = 0;

    while (HAN_SUBMODULE_COUNT > submodule && module->levels[level].submodules[submodule] != found) {
        ++submodule;
    }
    return NULL == found || HAN_SUBMODULE_COUNT == submodule ? wanted : (mca_coll_han_submodule_t) submodule;
}

/* " sr ir ib sb, up adapt ir binary/16384 ib binary/16384, low tuned" */
static void say_levels(han_module_t *module, const mca_coll_han_stages_t *table, const mca_coll_han_params_t *params,
                       char *text, size_t length)
{
    const mca_coll_han_submodule_t up = serving(module, HAN_UP, params->imod, table);
    const bool adapt = HAN_ADAPT == up && NULL != module->adapt;
    size_t used = 0;

    for (int s = 0; s < table->count; ++s) {
        used += (size_t) snprintf(text + used, length - used, " %s", table->stages[s].name);
    }
    used += (size_t) snprintf(text + used, length - used, ", up %s", mca_coll_han_submodule_names[up]);
    for (int s = 0; s < table->count && adapt; ++s) {
        const mca_coll_han_stage_t *stage = &table->stages[s];
        const bool down = HAN_OPERATION_BCAST == stage->operation;
        const mca_coll_adapt_tree_kind_t kind = HAN_OPERATION_ALLREDUCE == stage->operation ? ADAPT_TREE_AUTO
                                                : down                                      ? params->ibalg
                                                                                            : params->iralg;

        if (HAN_UP == stage->level) {
            used += (size_t) snprintf(text + used, length - used, " %s %s/%zu", stage->name,
                                      module->adapt->trees[kind].name, down ? params->ibs : params->irs);
        }
    }
    snprintf(text + used, length - used, ", low %s",
             mca_coll_han_submodule_names[serving(module, HAN_LOW, params->smod, table)]);
}

/* Tells what has been decided for a call, to users who want to know (coll_han_verbose 2). */
static void say(han_module_t *module, const mca_coll_han_input_t *input, const mca_coll_han_params_t *params)
{
    static const char *const forms[HAN_FORM_COUNT] = { "", "i", "persistent " };
    const mca_coll_han_stages_t *table = mca_coll_han_stages(input->collective, params->algorithm);
    const bool groups = HAN_GROUPS == params->algorithm;
    const bool by_tree = groups || HAN_TREE == params->algorithm || HAN_RING == params->algorithm;
    const bool scan = mca_coll_han_is_scan(input->collective) && HAN_FALLBACK != params->algorithm;
    const size_t segment = NULL != table ? params->fs : 0 == params->ibs ? input->bytes : params->ibs;
    char how[240] = "";

    if (NULL != table) {
        say_levels(module, table, params, how, sizeof(how));
    } else if (groups) {
        snprintf(how, sizeof(how), ", adapt's %s, groups: %d", module->adapt->trees[params->ibalg].name,
                 params->groups);
    } else if (by_tree) {
        snprintf(how, sizeof(how), ", up adapt's %s, low adapt's %s, lanes: %d",
                 module->adapt->trees[params->ibalg].name, module->adapt->trees[params->sbalg].name, params->lanes);
    }
    if ((HAN_EXCHANGE == params->algorithm || scan) && 0 < params->ibs) {
        snprintf(how, sizeof(how), ", segments of %zu bytes", params->ibs);
    } else if ((NULL != table || by_tree) && 0 < input->bytes) {
        const size_t used = strlen(how), fitting = segment < input->bytes ? segment : input->bytes;

        snprintf(how + used, sizeof(how) - used, ", segments: %zu of %zu bytes, %d under way",
                 mca_coll_han_segments_count(input->bytes, fitting), fitting,
                 NULL != table ? params->depth : mca_coll_han_sends(input->collective, params));
    }
    opal_output(mca_coll_han_component.output, "coll:han: %s (cid %d): %s%s, %zu bytes: %s%s (%s)",
                module->comm->c_name, module->comm->c_contextid, forms[input->form],
                mca_coll_han_collective_names[input->collective], input->bytes,
                mca_coll_han_algorithms[params->algorithm].name, how, params->why);
}

/*
 * The side of which all ranks know how many packed bytes it has: of rooted collectives a rank that is not the root
 * knows one only. NULL: blocks differ, and not all ranks know all of them; or there are no data.
 */
static const mca_coll_han_side_t *known_side(const mca_coll_han_args_t *args, int rank)
{
    switch (args->collective) {
    case HAN_BARRIER:
    case HAN_ALLTOALLV:
    case HAN_GATHERV:
    case HAN_SCATTERV:
        return NULL;
    case HAN_GATHER:
        return rank == args->root ? &args->recv : &args->send;
    case HAN_SCATTER:
        return rank == args->root ? &args->send : &args->recv;
    default:
        return &args->recv;
    }
}

/* What the user has set, where that counts. */
static const mca_coll_han_settings_t *settings_of(const han_module_t *module, mca_coll_han_collective_t collective)
{
    return NULL != module->forced || module->own_choice ? &mca_coll_han_unset
                                                        : &mca_coll_han_component.settings[collective];
}

/* By the tuner, else by what the user has set, else by the rule that is found. */
static int choose(han_module_t *module, const mca_coll_han_input_t *input, const mca_coll_han_settings_t *settings,
                  mca_coll_han_params_t *params)
{
    const mca_coll_han_params_t *rule;
    int rc;

    if (NULL != module->forced) {
        *params = mca_coll_han_decide(input, module->forced, settings);
        params->why = NULL == params->why ? "the tuner" : params->why;
        return OMPI_SUCCESS;
    }
    rc = mca_coll_han_table_find(module, input, &rule);
    if (OMPI_SUCCESS == rc) {
        *params = mca_coll_han_decide(input, rule, settings);
    }
    return rc;
}

/* Whether levels, where they are chosen, are the tuner's or the user's wish, and not a rule's. */
static bool is_wish(const han_module_t *module, const mca_coll_han_settings_t *settings)
{
    return NULL != module->forced || HAN_AUTO != settings->algorithm || HAN_AUTO != settings->up_module
           || HAN_AUTO != settings->low_module;
}

/*
 * Chooses, and once more, without levels, where what is chosen takes sub-communicators that are not there. Where there
 * are no data, no rank may talk to others: those whose count is 0 are not here.
 */
static int choose_there(han_module_t *module, mca_coll_han_input_t *input, const mca_coll_han_settings_t *settings,
                        mca_coll_han_params_t *params)
{
    bool there;
    int rc = choose(module, input, settings, params);

    if (OMPI_SUCCESS != rc || !mca_coll_han_has_messages(input)
        || NULL == mca_coll_han_stages(input->collective, params->algorithm)) {
        return rc;
    }
    rc = mca_coll_han_module_levels_ready(module, input->bytes, is_wish(module, settings), &there);
    if (OMPI_SUCCESS != rc || there) {
        return rc;
    }
    input->flat = true;
    rc = choose(module, input, settings, params);
    if (OMPI_SUCCESS == rc) {
        params->why = HAN_LEVELS_UNMADE == module->levels_state ? "it is not used often enough for levels"
                                                                : "there are no communicator ids for levels";
    }
    return rc;
}

/* The last decision for a collective, which may be none yet; NULL where there is no memory to keep it. */
static mca_coll_han_decision_t *last_decision(mca_coll_han_kept_t *kept, mca_coll_han_collective_t collective)
{
    if (NULL == kept->decisions) {
        kept->decisions = calloc(HAN_COLLECTIVE_COUNT, sizeof(*kept->decisions));
    }
    return NULL == kept->decisions ? NULL : &kept->decisions[collective];
}

/*
 * As most calls are like the one before, they are done like it. What goes level by level is chosen each time: that
 * counts how often it is wanted, and may be refused. Where the comparison is misled by bytes between fields, a call is
 * chosen once more than it has to be. Another thread may write settings meanwhile: they are read once.
 */
static int choose_again(han_module_t *module, mca_coll_han_input_t *input, mca_coll_han_params_t *params)
{
    const mca_coll_han_settings_t settings = *settings_of(module, input->collective);
    mca_coll_han_decision_t *last
        = NULL != module->forced ? NULL : last_decision(&module->kept[input->form], input->collective);
    int rc;

    if (NULL == last) {
        return choose_there(module, input, &settings, params);
    }
    if (last->made && last->own_choice == module->own_choice && 0 == memcmp(&last->input, input, sizeof(*input))
        && 0 == memcmp(&last->settings, &settings, sizeof(settings))) {
        *params = last->params;
        return OMPI_SUCCESS;
    }
    rc = choose_there(module, input, &settings, params);
    if (OMPI_SUCCESS == rc && !input->flat && NULL == mca_coll_han_stages(input->collective, params->algorithm)) {
        *last = (mca_coll_han_decision_t){
            .made = true, .input = *input, .settings = settings, .own_choice = module->own_choice, .params = *params
        };
    }
    return rc;
}

bool mca_coll_han_has_adapt(const han_module_t *module)
{
    /* In its schedules several messages of a call go from one rank to another, all with one tag: in order. */
    return NULL != module->adapt && !coll_pml_may_reorder(module->comm);
}

/*
 * Whether Open MPI may make the call by itself, as MPI_Comm_idup does while MPI waits; of an intercommunicator, on the
 * communicator of each group. Not all ranks make it between the same two blocking calls, and nothing may depend on what
 * these have found out.
 */
static bool may_be_anywhere(const mca_coll_han_args_t *args)
{
    return HAN_NONBLOCKING == args->form
           && (HAN_ALLREDUCE == args->collective || HAN_REDUCE == args->collective || HAN_BCAST == args->collective);
}

/*
 * Decides how a call is done, and says so to who wants to know.
 *
 * @param bytes packed, of the message, or of a block, on average; 0 where not all ranks know them
 */
static int decide(han_module_t *module, const mca_coll_han_args_t *args, size_t bytes, mca_coll_han_params_t *params)
{
    int rc = mca_coll_han_module_topology(module, HAN_BLOCKING == args->form);
    const mca_coll_han_topology_t *topology = &module->topology;
    mca_coll_han_input_t input = {
        .collective = args->collective,
        .bytes = bytes,
        .form = args->form,
        .adapt = mca_coll_han_has_adapt(module),
        .in_place = -1 == args->root && MPI_IN_PLACE == args->send.buffer,
        .commutes = NULL == args->op || ompi_op_is_commute(args->op),
        .anywhere = mca_coll_han_component.reproducible && !module->own_choice,
    };

    if (OMPI_SUCCESS == rc) {
        input.nodes = topology->group_count;
        input.ppn = topology->largest;
        input.in_order = topology->in_order;
        input.uneven = !topology->even;
        input.root_leads = -1 == args->root || 0 == topology->place_of[args->root];
    }
    if (NULL != args->op) {
        ptrdiff_t lb, extent;

        ompi_datatype_get_extent(args->recv.type, &lb, &extent);
        input.packed = args->recv.type->super.size;
        input.room = (size_t) (0 > extent ? -extent : extent);
    }
    rc = OMPI_SUCCESS == rc ? mca_coll_han_table_settle(module, HAN_BLOCKING == args->form) : rc;
    if (may_be_anywhere(args) && module->asked) {
        rc = OMPI_ERR_NOT_FOUND;
    }
    if (OMPI_ERR_NOT_FOUND == rc && HAN_BLOCKING != args->form) {
        *params = (mca_coll_han_params_t){ .algorithm = HAN_FALLBACK,
                                           .why = "topology or rules are not known without asking" };
    } else {
        rc = OMPI_SUCCESS == rc ? choose_again(module, &input, params) : rc;
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    if (2 <= mca_coll_han_component.verbose && 0 == ompi_comm_rank(module->comm)) {
        say(module, &input, params);
    }
    return OMPI_SUCCESS;
}

int mca_coll_han_call(han_module_t *module, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    static mca_coll_han_performer_t *const performers[HAN_COLLECTIVE_COUNT] = {
#define PERFORMER(number, name, parameters, arguments, send, recv, op, root, performer)                                \
    [HAN_##number] = mca_coll_han_perform_##performer,
        HAN_COLLECTIVES(PERFORMER)
    };
    const int size = ompi_comm_size(module->comm);
    const mca_coll_han_side_t *side = known_side(args, ompi_comm_rank(module->comm));
    /* Of all blocks; of a message, as often as there are ranks. */
    const size_t bytes = NULL == side ? 0 : mca_coll_han_side_total(side, size) * side->type->super.size;
    mca_coll_han_params_t params;
    int rc;

    /*
     * Before anything that ranks do together: where there is nothing to move MPI may have let some of them go. Who
     * makes a persistent request is there.
     */
    if (HAN_PERSISTENT != args->form && NULL != side && 0 == bytes) {
        if (NULL != request) {
            *request = &ompi_request_empty;
        }
        return OMPI_SUCCESS;
    }
    /* What does not block is MPI_Comm_idup's, which goes on while MPI waits, on each rank in another call. */
    if (HAN_BLOCKING == args->form && module->asking) {
        return HAN_TO_FALLBACK;
    }
    rc = decide(module, args, bytes / (size_t) size, &params);
    if (OMPI_SUCCESS == rc && HAN_FALLBACK == params.algorithm) {
        return HAN_TO_FALLBACK;
    }
    if (OMPI_SUCCESS == rc) {
        rc = performers[args->collective](module, args, &params, request);
    }
    return coll_result(rc, "han", mca_coll_han_collective_names[args->collective], module->comm);
}

size_t mca_coll_han_side_total(const mca_coll_han_side_t *side, int size)
{
    size_t total = 0;

    if (NULL == side->counts) {
        return (size_t) side->count * (size_t) size;
    }
    for (int rank = 0; rank < size; ++rank) {
        total += (size_t) side->counts[rank];
    }
    return total;
}

mca_coll_adapt_data_t mca_coll_han_side_blocks(const mca_coll_han_side_t *side, int rank, int count)
{
    const ptrdiff_t place = NULL == side->places ? (ptrdiff_t) rank * side->count : side->places[rank];
    ptrdiff_t lb, extent;

    ompi_datatype_get_extent(side->type, &lb, &extent);
    /* Of numbers: MPI_BOTTOM is NULL, and blocks may be below it. */
    return (mca_coll_adapt_data_t){ .buffer = (void *) ((uintptr_t) side->buffer + (uintptr_t) (place * extent)),
                                    .count = (size_t) mca_coll_han_side_count(side, rank) * (size_t) count,
                                    .datatype = mca_coll_han_side_type(side) };
}
