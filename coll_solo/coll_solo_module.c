/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/group/group.h"
#include "ompi/proc/proc.h"

#include "common/coll_end.h"
#include "common/coll_settle.h"
#include "common/coll_variables.h"

static const coll_fallback_slot_t slots[SOLO_COLLECTIVE_COUNT] = {
    [SOLO_BCAST] = COLL_FALLBACK_SLOT(bcast),
    [SOLO_REDUCE] = COLL_FALLBACK_SLOT(reduce),
    [SOLO_ALLREDUCE] = COLL_FALLBACK_SLOT(allreduce),
    [SOLO_BARRIER] = COLL_FALLBACK_SLOT(barrier),
    [SOLO_GATHER] = COLL_FALLBACK_SLOT(gather),
    [SOLO_SCATTER] = COLL_FALLBACK_SLOT(scatter),
    [SOLO_ALLGATHER] = COLL_FALLBACK_SLOT(allgather),
    [SOLO_REDUCE_SCATTER_BLOCK] = COLL_FALLBACK_SLOT(reduce_scatter_block),
    [SOLO_ALLTOALL] = COLL_FALLBACK_SLOT(alltoall),
};

static void module_construct(mca_coll_solo_module_t *module)
{
    memset((char *) module + sizeof(module->super), 0, sizeof(*module) - sizeof(module->super));
}

static void module_destruct(mca_coll_solo_module_t *module)
{
    mca_coll_solo_memory_free(module);
    for (int i = 0; i < SOLO_COLLECTIVE_COUNT; ++i) {
        if (NULL != module->fallbacks[i].module) {
            OBJ_RELEASE(module->fallbacks[i].module);
        }
    }
    free(module->scratch[0]);
    free(module->scratch[1]);
    free(module->sources);
    mca_coll_solo_groups_free(module);
}

OBJ_CLASS_INSTANCE(mca_coll_solo_module_t, mca_coll_base_module_t, module_construct, module_destruct);

/* Without fallbacks, for it is the first one on the communicator, it cannot be. */
static int module_enable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    bool complete = true;

    for (int i = 0; i < SOLO_COLLECTIVE_COUNT; ++i) {
        mca_coll_solo_fallback_t *fallback = &module->fallbacks[i];

        complete = coll_fallback_save(&slots[i], comm, &fallback->fn, &fallback->module) && complete;
    }
    return complete ? OMPI_SUCCESS : OMPI_ERR_NOT_AVAILABLE;
}

/* The memory goes before the communicator does, while there is one to speak of in messages. */
static int module_disable(mca_coll_base_module_t *base, ompi_communicator_t *comm __opal_attribute_unused__)
{
    mca_coll_solo_memory_free((mca_coll_solo_module_t *) base);
    return OMPI_SUCCESS;
}

int mca_coll_solo_init_query(bool enable_progress_threads __opal_attribute_unused__,
                             bool enable_mpi_threads __opal_attribute_unused__)
{
    return OMPI_SUCCESS;
}

mca_coll_base_module_t *mca_coll_solo_comm_query(ompi_communicator_t *comm, int *priority)
{
    mca_coll_solo_module_t *module;

    if (OMPI_COMM_IS_INTER(comm) || 2 > ompi_comm_size(comm)
        || !coll_settle(&mca_coll_solo_component.super.collm_version, comm)) {
        return NULL;
    }
    *priority = mca_coll_solo_component.priority;
    if (0 > *priority || ompi_group_have_remote_peers(comm->c_local_group)) {
        return NULL;
    }
    module = OBJ_NEW(mca_coll_solo_module_t);
    if (NULL == module) {
        coll_end("solo", "a module on %s", comm->c_name);
    }
    module->comm = comm;
    module->rank = ompi_comm_rank(comm);
    module->size = ompi_comm_size(comm);
    module->looks = SOLO_LEAST_LOOKS;
    /* Other jobs may have another value, which only HAN would notice. */
    module->reproducible = coll_settle_one_job(comm) ? coll_variable_of("han", "reproducible") : NULL;
    module->super.coll_module_enable = module_enable;
    module->super.coll_module_disable = module_disable;
    module->super.coll_bcast = mca_coll_solo_bcast;
    module->super.coll_reduce = mca_coll_solo_reduce;
    module->super.coll_allreduce = mca_coll_solo_allreduce;
    module->super.coll_barrier = mca_coll_solo_barrier;
    module->super.coll_gather = mca_coll_solo_gather;
    module->super.coll_scatter = mca_coll_solo_scatter;
    module->super.coll_allgather = mca_coll_solo_allgather;
    module->super.coll_reduce_scatter_block = mca_coll_solo_reduce_scatter_block;
    module->super.coll_alltoall = mca_coll_solo_alltoall;
    return &module->super;
}
