/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the pml in use does, where that differs from others; what the components share. */
#ifndef COLL_PML_H
#define COLL_PML_H

#include "ompi_config.h"

#include <stdbool.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/base/base.h"
#include "ompi/runtime/mpiruntime.h"

static inline bool coll_pml_is(const char *name)
{
    return 0 == strcmp(name, mca_pml_base_selected_component.pmlm_version.mca_component_name);
}

/** Whether ob1 sends the messages, over btls. */
static inline bool coll_pml_is_ob1(void)
{
    return coll_pml_is("ob1");
}

/**
 * Whether nobody may be told that a message is through. With MPI_THREAD_MULTIPLE the ucx of Open MPI 4.1 looks whether
 * a persistent request that it starts is complete, and then writes to whom it belongs, while another thread completes
 * it, and reads that: without a lock.
 *
 * @returns the same on all ranks if all have the same thread level
 */
static inline bool coll_pml_may_lose_completions(void)
{
    return ompi_mpi_thread_multiple && coll_pml_is("ucx");
}

/**
 * Whether a message between two ranks may come before one that was sent earlier with the same tag, because the user has
 * set mpi_assert_allow_overtaking. Only ob1 does so; with another pml Open MPI 4.1 never writes the assertions of a
 * communicator, and each rank has what was in its memory.
 *
 * @returns the same on all ranks, which must set it alike
 */
static inline bool coll_pml_may_reorder(const ompi_communicator_t *comm)
{
    return OMPI_COMM_CHECK_ASSERT_ALLOW_OVERTAKE(comm) && coll_pml_is_ob1();
}

#endif
