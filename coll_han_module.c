/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"
#include "opal/util/info.h"

#include "common/coll_end.h"
#include "common/coll_settle.h"
#include "common/coll_tags.h"
#include "common/coll_variables.h"

/* -- life of a module -- */

static void module_construct(han_module_t *module)
{
    memset((char *) module + sizeof(module->super), 0, sizeof(*module) - sizeof(module->super));
    OBJ_CONSTRUCT(&module->lock, opal_mutex_t);
    OBJ_CONSTRUCT(&module->alarms, opal_list_t);
}

/*
 * The second reference (make_subcomm) is given back here where MPI_Finalize has not taken it: ompi_comm_free() looks it
 * up by an id that another thread's communicator may have by then.
 */
static void free_subcomm(ompi_communicator_t *comm)
{
    if (1 < ((opal_object_t *) comm)->obj_reference_count) {
        comm->c_flags &= ~(uint32_t) OMPI_COMM_EXTRA_RETAIN;
        OBJ_RELEASE(comm);
    }
    ompi_comm_free(&comm);
}

static void drop_submodule(mca_coll_han_level_t *level, int which)
{
    if (level->owned[which]) {
        if (NULL != level->submodules[which]->coll_module_disable) {
            level->submodules[which]->coll_module_disable(level->submodules[which], level->comm);
        }
        OBJ_RELEASE(level->submodules[which]);
        level->owned[which] = false;
    }
    level->submodules[which] = NULL;
}

static void level_free(mca_coll_han_level_t *level)
{
    for (int i = 0; i < HAN_SUBMODULE_COUNT; ++i) {
        drop_submodule(level, i);
    }
    if (NULL != level->comm) {
        free_subcomm(level->comm);
    }
    memset(level, 0, sizeof(*level));
}

static void free_kept(const han_module_t *module, mca_coll_han_kept_t *kept)
{
    for (int i = 0; NULL != kept->trees && i < HAN_TREES_KEPT; ++i) {
        module->adapt->tree_free(&kept->trees[i].tree);
    }
    free(kept->trees);
    mca_coll_han_choices_free(&kept->choices);
    free(kept->decisions);
    for (int table = 0; table < HAN_TABLE_COUNT; ++table) {
        for (int collective = 0; collective < HAN_COLLECTIVE_COUNT; ++collective) {
            mca_coll_han_lookup_free(&kept->lookups[table][collective]);
        }
    }
}

static void module_destruct(han_module_t *module)
{
    for (int level = 0; level < HAN_LEVEL_COUNT; ++level) {
        level_free(&module->levels[level]);
    }
    mca_coll_han_entry_forget(module);
    for (int form = 0; form < HAN_FORM_COUNT; ++form) {
        free_kept(module, &module->kept[form]);
    }
    if (NULL != module->adapt) {
        OBJ_RELEASE(module->adapt);
    }
    mca_coll_han_topology_free(&module->topology);
    free(module->socket_of);
    OPAL_LIST_DESTRUCT(&module->alarms);
    OBJ_DESTRUCT(&module->lock);
}

OBJ_CLASS_INSTANCE(han_module_t, mca_coll_base_module_t, module_construct, module_destruct);

/* The communicator's own module of adapt, where it is the one that comes with HAN. */
static mca_coll_adapt_event_module_t *find_adapt(const ompi_communicator_t *comm)
{
    mca_coll_base_avail_coll_t *available;

    OPAL_LIST_FOREACH(available, comm->c_coll->module_list, mca_coll_base_avail_coll_t)
    {
        if (mca_coll_han_is_adapt(available->ac_module)) {
            return (mca_coll_adapt_event_module_t *) available->ac_module;
        }
    }
    return NULL;
}

/* Of MPI_COMM_WORLD, until MPI_Init has enabled all other modules, too. */
static const han_module_t *first_module;

static int module_enable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    han_module_t *module = (han_module_t *) base;
    const bool complete = mca_coll_han_entry_save(module, comm);

    module->adapt = find_adapt(comm);
    if (NULL != module->adapt) {
        OBJ_RETAIN(module->adapt);
    }
    if (!complete) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    if (MPI_COMM_WORLD == comm) {
        mca_coll_han_table_settle_job(module);
        first_module = module;
    }
    return OMPI_SUCCESS;
}

/* The sub-communicators go before the communicator does, while everything that they use is still there. */
static int module_disable(mca_coll_base_module_t *base, ompi_communicator_t *comm __opal_attribute_unused__)
{
    han_module_t *module = (han_module_t *) base;

    for (int level = 0; level < HAN_LEVEL_COUNT; ++level) {
        level_free(&module->levels[level]);
    }
    module->levels_state = HAN_LEVELS_UNMADE;
    module->levels_again = 0;
    return OMPI_SUCCESS;
}

int mca_coll_han_init_query(bool enable_progress_threads __opal_attribute_unused__,
                            bool enable_mpi_threads __opal_attribute_unused__)
{
    return OMPI_SUCCESS;
}

/* Packed bytes are cut without looking at types, which only like machines may do. */
static bool same_architecture(const ompi_communicator_t *comm __opal_attribute_unused__)
{
#if OPAL_ENABLE_HETEROGENEOUS_SUPPORT
    for (int rank = 0; rank < ompi_comm_size(comm); ++rank) {
        if (ompi_comm_peer_lookup(comm, rank)->super.proc_arch != opal_proc_local_get()->proc_arch) {
            return false;
        }
    }
#endif
    return true;
}

/* Who is alone has nobody to settle anything with. */
static bool has_settled(ompi_communicator_t *comm)
{
    return 2 > ompi_comm_size(comm) || coll_settle(&mca_coll_han_component.super.collm_version, comm);
}

/* Tells why HAN has no part in a communicator, to users who want to know. Of those with one rank nobody wants to. */
static mca_coll_base_module_t *decline(ompi_communicator_t *comm, const char *why)
{
    if (1 < ompi_comm_size(comm) && 0 == ompi_comm_rank(comm)) {
        HAN_VERBOSE(1, "coll:han: %s (cid %d): %d ranks; not used: %s", comm->c_name, comm->c_contextid,
                    ompi_comm_size(comm), why);
    }
    return NULL;
}

/* Adds a word to a list; what does not fit is left out. */
static void list(char *words, size_t room, const char *word)
{
    const size_t used = strlen(words);

    snprintf(words + used, room - used, "%s%s", 0 == used ? "" : ", ", word);
}

/* Components that may be enabled after HAN. */
static void list_above(char *words, size_t room)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &ompi_coll_base_framework.framework_components, mca_base_component_list_item_t)
    {
        const char *name = item->cli_component->mca_component_name;
        const int *const priority = coll_variable_of(name, "priority");
        char word[MCA_BASE_MAX_COMPONENT_NAME_LEN + 16];

        if (NULL != priority && mca_coll_han_component.priority < *priority) {
            snprintf(word, sizeof(word), "%s %d", name, *priority);
            list(words, room, word);
        }
    }
}

/* Tells users who want to know that HAN's functions are not the ones that are called. */
static void say_called_before(const han_module_t *module)
{
    char collectives[512] = "", above[512] = "";

    for (int i = 0; i < HAN_COLLECTIVE_COUNT; ++i) {
        if (!mca_coll_han_entry_is_called(module, (mca_coll_han_collective_t) i)) {
            list(collectives, sizeof(collectives), mca_coll_han_collective_names[i]);
        }
    }
    if ('\0' != collectives[0] && 0 == ompi_comm_rank(module->comm)) {
        list_above(above, sizeof(above));
        HAN_VERBOSE(
            1,
            "coll:han: %s: another component is called before HAN for %s; priorities above %d (coll_han_priority): %s",
            module->comm->c_name, collectives, mca_coll_han_component.priority, above);
    }
}

mca_coll_base_module_t *mca_coll_han_comm_query(ompi_communicator_t *comm, int *priority)
{
    han_module_t *module;

    if (MPI_COMM_SELF == comm && NULL != first_module) {
        say_called_before(first_module);
        first_module = NULL;
    }
    if (OMPI_COMM_IS_INTER(comm)) {
        return decline(comm, "it is an intercommunicator");
    }
    if (!has_settled(comm)) {
        return NULL; /* that has been told */
    }
    *priority = mca_coll_han_component.priority;
    if (0 >= *priority) {
        return decline(comm, "coll_han_priority is not above 0");
    }
    if (!ompi_group_have_remote_peers(comm->c_local_group)) {
        if (MPI_COMM_WORLD == comm) {
            mca_coll_han_table_check(comm);
        }
        return decline(comm, "all of them are on one node");
    }
    if (!same_architecture(comm)) {
        return decline(comm, "their processors are not of one kind");
    }
    if (!coll_tags_fit()) {
        return decline(comm, "the pml has too few tags");
    }
    module = OBJ_NEW(han_module_t);
    if (NULL == module) {
        coll_end("han", "a module on %s", comm->c_name);
    }
    module->comm = comm;
    module->tune = &mca_coll_han_tune;
    module->super.coll_module_enable = module_enable;
    module->super.coll_module_disable = module_disable;
    mca_coll_han_entry_install(module);
    return &module->super;
}

/* -- topology and levels -- */

static void say_topology(const han_module_t *module)
{
    char text[1024];

    if (0 == ompi_comm_rank(module->comm)) {
        HAN_VERBOSE(1, "coll:han: %s (cid %d): %d ranks; up: the leaders, 1 group of %d; low: %s", module->comm->c_name,
                    module->comm->c_contextid, module->topology.size, module->topology.group_count,
                    mca_coll_han_topology_describe(&module->topology, text, sizeof(text)));
    }
}

/* The sockets of this rank's node. */
static int find_sockets(han_module_t *module)
{
    const mca_coll_han_topology_t *topology = &module->topology;
    const int group = topology->group_of[ompi_comm_rank(module->comm)];
    const int count = mca_coll_han_topology_group_size(topology, group);
    int sockets;

    module->socket_of = malloc((size_t) count * sizeof(int));
    if (NULL == module->socket_of) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    sockets = mca_coll_han_sockets_find(module->comm, mca_coll_han_topology_group(topology, group), count,
                                        module->socket_of);
    if (1 >= sockets) {
        free(module->socket_of);
        module->socket_of = NULL;
        return 1 == sockets ? OMPI_SUCCESS : sockets;
    }
    if (0 == ompi_comm_rank(module->comm)) {
        HAN_VERBOSE(1, "coll:han: %s (cid %d): the %d ranks of this node are on %d sockets", module->comm->c_name,
                    module->comm->c_contextid, count, sockets);
    }
    return OMPI_SUCCESS;
}

/* allgather: by which the ranks tell each other; NULL: only what the runtime knows counts */
static int find_topology(han_module_t *module, const mca_coll_han_fallback_t *allgather)
{
    const int size = ompi_comm_size(module->comm);
    int *node_of, node_count, rc;

    node_of = malloc((size_t) size * sizeof(int));
    if (NULL == node_of) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = mca_coll_han_nodes_find(module->comm, allgather, node_of, &node_count);
    if (OMPI_SUCCESS == rc && 0 != mca_coll_han_topology_make(&module->topology, node_of, size, node_count)) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    }
    free(node_of);
    if (OMPI_SUCCESS == rc) {
        say_topology(module);
        rc = find_sockets(module);
    }
    if (OMPI_SUCCESS == rc) {
        module->topology_made = true;
    }
    return rc;
}

/* Without the lock, which must not be held while other ranks are waited for: of blocking calls there is one. */
static int ask_for_topology(han_module_t *module)
{
    int rc;

    module->asked = true;
    module->asking = true;
    rc = find_topology(module, &module->fallbacks[HAN_ALLGATHER][HAN_BLOCKING]);
    module->asking = false;
    return rc;
}

int mca_coll_han_module_topology(han_module_t *module, bool exchange)
{
    int rc;

    if (module->topology_made) {
        return OMPI_SUCCESS;
    }
    OPAL_THREAD_LOCK(&module->lock);
    rc = module->topology_made ? OMPI_SUCCESS : find_topology(module, NULL);
    OPAL_THREAD_UNLOCK(&module->lock);
    if (OMPI_ERR_NOT_FOUND == rc && exchange) {
        rc = ask_for_topology(module);
    }
    if (OMPI_SUCCESS != rc && (OMPI_ERR_NOT_FOUND != rc || exchange)) {
        (void) coll_result(rc, "han", "the topology", module->comm);
        coll_end_job(MPI_ERR_OTHER, "han", "the topology of %s (cid %d) cannot be found (error %d)",
                     module->comm->c_name, module->comm->c_contextid, rc);
    }
    return rc;
}

/*
 * Only the ranks of the group talk (as in MPI_Comm_create_group), so that a node makes its own while others make
 * theirs. The messages go over the parent, with a tag that differs from communicator to communicator, because Open MPI
 * puts those that several threads make at once in order by it.
 */
static int make_subcomm(ompi_communicator_t *comm, const int *ranks, int count, const char *level,
                        ompi_communicator_t **result)
{
    ompi_communicator_t *made = NULL;
    int tag = coll_tag(COLL_TAGS_LEVELS + (int) comm->c_contextid % COLL_TAGS_LEVELS_COUNT);
    int *own_ranks = malloc((size_t) count * sizeof(int));
    int rc;

    if (NULL == own_ranks) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    memcpy(own_ranks, ranks, (size_t) count * sizeof(int));
    rc = ompi_comm_set(&made, comm, count, own_ranks, 0, NULL, NULL, comm->error_handler, false, NULL, NULL);
    free(own_ranks);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    /* MPI_Finalize disconnects communicators over several jobs, for which it counts them; of these their parent is. */
    if (OMPI_COMM_IS_DYNAMIC(made)) {
        made->c_flags &= ~(uint32_t) OMPI_COMM_DYNAMIC;
        --ompi_comm_num_dyncomm;
    }
    /* HAN is never to see it: it must not build on what it has built. */
    made->super.s_info = OBJ_NEW(opal_info_t);
    if (NULL == made->super.s_info) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    } else {
        rc = opal_info_set(made->super.s_info, "ompi_comm_coll_preference", "^" MCA_COLL_HAN_NAME);
    }
    if (OMPI_SUCCESS == rc) {
        rc = ompi_comm_nextcid(made, comm, NULL, &tag, NULL, false, OMPI_COMM_CID_GROUP);
    }
    if (OMPI_SUCCESS != rc) {
        ompi_comm_free(&made);
        return rc;
    }
    snprintf(made->c_name, MPI_MAX_OBJECT_NAME, "HAN %s OF %d", level, comm->c_contextid);
    rc = ompi_comm_activate(&made, comm, NULL, &tag, NULL, false, OMPI_COMM_CID_GROUP);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    OBJ_RELEASE(made->super.s_info);
    /*
     * MPI_Finalize releases communicators which the user has left in the order of their ids, where ours may come before
     * its parent. The mark and the second reference are Open MPI's way to keep it until its parent lets it go.
     */
    OMPI_COMM_SET_EXTRA_RETAIN(made);
    OBJ_RETAIN(made);
    *result = made;
    return OMPI_SUCCESS;
}

/* A module of a component that the framework has not taken (coll/sm has the lowest priority, but needs a reduce that is
 * there before it). NULL where the component declines, too, or is not loaded. */
static mca_coll_base_module_t *query_submodule(ompi_communicator_t *comm, const char *name)
{
    mca_base_component_list_item_t *item;
    mca_coll_base_module_t *submodule = NULL;
    int priority;

    OPAL_LIST_FOREACH(item, &ompi_coll_base_framework.framework_components, mca_base_component_list_item_t)
    {
        const mca_coll_han_base_component_t *component = (const mca_coll_han_base_component_t *) item->cli_component;

        if (0 == strcmp(name, item->cli_component->mca_component_name)) {
            submodule = component->collm_comm_query(comm, &priority);
            break;
        }
    }
    if (NULL != submodule && OMPI_SUCCESS != submodule->coll_module_enable(submodule, comm)) {
        OBJ_RELEASE(submodule);
        submodule = NULL;
    }
    return submodule;
}

/* One of each component, so that changing between them from call to call costs nothing. */
static void find_submodules(mca_coll_han_level_t *level)
{
    mca_coll_base_avail_coll_t *available;

    for (int i = 0; i < HAN_SUBMODULE_COUNT; ++i) {
        OPAL_LIST_FOREACH(available, level->comm->c_coll->module_list, mca_coll_base_avail_coll_t)
        {
            if (0 == strcmp(mca_coll_han_submodule_names[i], available->ac_component_name)) {
                level->submodules[i] = available->ac_module;
            }
        }
        if (NULL == level->submodules[i]) {
            level->submodules[i] = query_submodule(level->comm, mca_coll_han_submodule_names[i]);
            level->owned[i] = NULL != level->submodules[i];
        }
    }
}

/* Where a rank has none, the others of the level wait for it: here, or in their first call. They cannot be told. */
static void make_level(han_module_t *module, mca_coll_han_level_id_t id, const int *ranks, int count, const char *name)
{
    int rc;

    if (2 > count) {
        return;
    }
    rc = coll_result(make_subcomm(module->comm, ranks, count, name, &module->levels[id].comm), "han", "a level",
                     module->comm);
    if (OMPI_SUCCESS != rc) {
        coll_end_job(MPI_ERR_OTHER, "han", "level %s of %s (cid %d) cannot be made (error %d)", name,
                     module->comm->c_name, module->comm->c_contextid, rc);
    }
    find_submodules(&module->levels[id]);
}

static int make_levels(han_module_t *module)
{
    const mca_coll_han_topology_t *topology = &module->topology;
    const int rank = ompi_comm_rank(module->comm), group = topology->group_of[rank];
    int *leaders;

    make_level(module, HAN_LOW, mca_coll_han_topology_group(topology, group),
               mca_coll_han_topology_group_size(topology, group), "LOW");
    if (0 != topology->place_of[rank]) {
        return OMPI_SUCCESS;
    }
    leaders = malloc((size_t) topology->group_count * sizeof(int));
    if (NULL == leaders) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int g = 0; g < topology->group_count; ++g) {
        leaders[g] = mca_coll_han_topology_leader(topology, g);
    }
    make_level(module, HAN_UP, leaders, topology->group_count, "UP");
    free(leaders);
    return OMPI_SUCCESS;
}

void mca_coll_han_ask(han_module_t *module, const void *own, void *all, int count, ompi_datatype_t *type, ompi_op_t *op,
                      const char *otherwise)
{
    const mca_coll_han_fallback_t *fallback = &module->fallbacks[HAN_ALLREDUCE][HAN_BLOCKING];
    int rc;

    module->asking = true;
    rc = fallback->fn.allreduce(own, all, count, type, op, module->comm, fallback->module);
    module->asking = false;
    if (OMPI_SUCCESS != rc) {
        coll_end_job(MPI_ERR_OTHER, "han", "%s (error %d)", otherwise, rc);
    }
}

/* What all ranks have of some bits. */
static int agree(han_module_t *module, int own)
{
    int all;

    mca_coll_han_ask(module, &own, &all, 1, &ompi_mpi_int.dt, &ompi_mpi_op_band.op, "levels cannot be agreed on");
    return all;
}

/* Where a rank has no such submodule at one of its levels, because the component is missing there or declines, the
 * others must not use theirs: they would wait for it. */
static void agree_on_submodules(han_module_t *module)
{
    int own = 0, all;

    for (int bit = 0; bit < HAN_LEVEL_COUNT * HAN_SUBMODULE_COUNT; ++bit) {
        const mca_coll_han_level_t *level = &module->levels[bit / HAN_SUBMODULE_COUNT];

        own |= (NULL == level->comm || NULL != level->submodules[bit % HAN_SUBMODULE_COUNT]) << bit;
    }
    all = agree(module, own);
    for (int bit = 0; bit < HAN_LEVEL_COUNT * HAN_SUBMODULE_COUNT; ++bit) {
        if (0 == (all >> bit & 1)) {
            drop_submodule(&module->levels[bit / HAN_SUBMODULE_COUNT], bit % HAN_SUBMODULE_COUNT);
        }
    }
}

/*
 * Whether all ranks have so many ids for communicators above those in use. Where one rank has none that another one
 * has, Open MPI's search for a common id does not end: so nobody searches where they are few.
 */
static bool agree_on_ids(han_module_t *module, uint32_t wanted)
{
    int used = opal_pointer_array_get_size(&ompi_mpi_communicators);

    while (0 < used && NULL == opal_pointer_array_get_item(&ompi_mpi_communicators, used - 1)) {
        --used;
    }
    return 1
           == agree(module,
                    mca_pml.pml_max_contextid >= wanted && (uint32_t) used <= mca_pml.pml_max_contextid - wanted);
}

/* Most ids are for the user's communicators, unless the user wants levels. */
static int levels(han_module_t *module, bool at_once)
{
    const uint32_t few = mca_pml.pml_max_contextid / 16;
    int rc = mca_coll_han_module_topology(module, true);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (!agree_on_ids(module, at_once ? few : mca_pml.pml_max_contextid - few)) {
        module->levels_state = at_once ? HAN_LEVELS_REFUSED : HAN_LEVELS_REFUSED_TO_RULES;
        module->levels_again = 2 * module->levels_wanted;
        return OMPI_SUCCESS;
    }
    rc = make_levels(module);
    if (OMPI_SUCCESS == rc) {
        agree_on_submodules(module);
        module->levels_state = HAN_LEVELS_MADE;
    }
    return rc;
}

/* Whether levels were refused, and not wanted often enough since; where rules were, the user may have them at once. */
static bool is_too_early(const han_module_t *module, bool at_once)
{
    const bool refused = HAN_LEVELS_REFUSED == module->levels_state
                         || (HAN_LEVELS_REFUSED_TO_RULES == module->levels_state && !at_once);

    return refused && module->levels_wanted < module->levels_again;
}

int mca_coll_han_module_levels(han_module_t *module)
{
    const int rc = HAN_LEVELS_MADE == module->levels_state ? OMPI_SUCCESS : levels(module, true);

    return OMPI_SUCCESS == rc && HAN_LEVELS_MADE != module->levels_state ? OMPI_ERR_TEMP_OUT_OF_RESOURCE : rc;
}

int mca_coll_han_module_levels_ready(han_module_t *module, size_t bytes, bool at_once, bool *there)
{
    int rc = OMPI_SUCCESS;

    if (HAN_LEVELS_MADE != module->levels_state) {
        module->levels_wanted += 1 + bytes / 1024;
        if ((at_once || module->levels_wanted > (size_t) mca_coll_han_component.start)
            && !is_too_early(module, at_once)) {
            rc = levels(module, at_once);
        }
    }
    *there = HAN_LEVELS_MADE == module->levels_state;
    return rc;
}

/* Whether a submodule, which may be NULL, does all that a table wants at a level. */
static bool serves(const mca_coll_base_module_t *submodule, const mca_coll_han_stages_t *table, int level)
{
    for (int s = 0; NULL != submodule && s < table->count; ++s) {
        if (level == table->stages[s].level && !mca_coll_han_serves(submodule, &table->stages[s])) {
            return false;
        }
    }
    return NULL != submodule;
}

/* Whether this rank, which is at the level, is the first one there: it tells what all of them find. */
static bool tells(const han_module_t *module, mca_coll_han_level_id_t level)
{
    const mca_coll_han_topology_t *topology = &module->topology;
    int group = 0;

    while (HAN_LOW == level && 2 > mca_coll_han_topology_group_size(topology, group)) {
        ++group;
    }
    return mca_coll_han_topology_leader(topology, group) == ompi_comm_rank(module->comm);
}

mca_coll_base_module_t *mca_coll_han_module_submodule(han_module_t *module, mca_coll_han_level_id_t level,
                                                      mca_coll_han_submodule_t wanted,
                                                      const mca_coll_han_stages_t *table)
{
    static const mca_coll_han_submodule_t next[HAN_LEVEL_COUNT][3] = {
        [HAN_LOW] = { HAN_TUNED, HAN_BASIC, HAN_SM },
        [HAN_UP] = { HAN_ADAPT, HAN_LIBNBC, HAN_LIBNBC },
    };
    static atomic_bool said[HAN_SUBMODULE_COUNT];
    mca_coll_base_module_t *const *submodules = module->levels[level].submodules;

    if (NULL == module->levels[level].comm || serves(submodules[wanted], table, level)) {
        return submodules[wanted];
    }
    for (int i = 0; i < 3; ++i) {
        if (serves(submodules[next[level][i]], table, level)) {
            if (tells(module, level) && !atomic_exchange(&said[wanted], true)) {
                opal_output(mca_coll_han_component.output,
                            "coll:han: component %s is not available at the %s level; %s is used",
                            mca_coll_han_submodule_names[wanted], mca_coll_han_level_names[level],
                            mca_coll_han_submodule_names[next[level][i]]);
            }
            return submodules[next[level][i]];
        }
    }
    return NULL;
}

void *mca_coll_han_memory_take(const han_module_t *module, size_t bytes)
{
    return NULL == module->adapt ? malloc(bytes) : module->adapt->memory->take(bytes);
}

void mca_coll_han_memory_give(const han_module_t *module, void *memory)
{
    if (NULL == module->adapt) {
        free(memory);
    } else {
        module->adapt->memory->give(memory);
    }
}
