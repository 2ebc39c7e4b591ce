/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_adapt.h"

#include "common/coll_end.h"
#include "common/coll_pml.h"
#include "common/coll_settle.h"

/* mca_coll_adapt_comm_query() has made all of it. */
static void destruct(mca_coll_adapt_event_module_t *module)
{
    mca_coll_adapt_tag_space_fini(&module->tags);
}

OBJ_CLASS_INSTANCE(mca_coll_adapt_event_module_t, mca_coll_base_module_t, NULL, destruct);

int mca_coll_adapt_init_query(bool enable_progress_threads __opal_attribute_unused__,
                              bool enable_mpi_threads __opal_attribute_unused__)
{
    mca_coll_adapt_copies_begin();
    return OMPI_SUCCESS;
}

/* Nothing is to be made ready: operations bring what they need. */
static int module_enable(mca_coll_base_module_t *module __opal_attribute_unused__,
                         ompi_communicator_t *comm __opal_attribute_unused__)
{
    return OMPI_SUCCESS;
}

static int module_disable(mca_coll_base_module_t *module __opal_attribute_unused__, ompi_communicator_t *comm)
{
    mca_coll_adapt_copies_wait(comm);
    return OMPI_SUCCESS;
}

mca_coll_base_module_t *mca_coll_adapt_comm_query(ompi_communicator_t *comm, int *priority)
{
    mca_coll_adapt_event_module_t *module;

    if (OMPI_COMM_IS_INTER(comm) || 2 > ompi_comm_size(comm)
        || !coll_settle(&mca_coll_adapt_component.super.collm_version, comm)) {
        return NULL;
    }
    *priority = mca_coll_adapt_component.priority;
    if (0 > *priority || !coll_tags_fit() || coll_pml_may_lose_completions()) {
        return NULL;
    }
    module = OBJ_NEW(mca_coll_adapt_event_module_t);
    if (NULL == module) {
        coll_end("adapt", "a module on %s", comm->c_name);
    }
    mca_coll_adapt_tag_space_init(&module->tags, comm);
    module->super.coll_module_enable = module_enable;
    module->super.coll_module_disable = module_disable;
    module->super.coll_bcast = mca_coll_adapt_bcast;
    module->super.coll_ibcast = mca_coll_adapt_ibcast;
    module->super.coll_bcast_init = mca_coll_adapt_bcast_init;
    module->super.coll_reduce = mca_coll_adapt_reduce;
    module->super.coll_ireduce = mca_coll_adapt_ireduce;
    module->super.coll_reduce_init = mca_coll_adapt_reduce_init;
    module->super.coll_allreduce = mca_coll_adapt_allreduce;
    module->super.coll_iallreduce = mca_coll_adapt_iallreduce;
    module->super.coll_allreduce_init = mca_coll_adapt_allreduce_init;
    module->super.coll_barrier = mca_coll_adapt_barrier;
    module->super.coll_ibarrier = mca_coll_adapt_ibarrier;
    module->super.coll_barrier_init = mca_coll_adapt_barrier_init;
    module->memory = &mca_coll_adapt_memory;
    module->trees = mca_coll_adapt_trees;
    module->tree_make = mca_coll_adapt_tree_make;
    module->tree_make_topology = mca_coll_adapt_tree_make_topology;
    module->tree_free = mca_coll_adapt_tree_free;
    module->call = mca_coll_adapt_call;
    module->perform = mca_coll_adapt_perform;
    return &module->super;
}
