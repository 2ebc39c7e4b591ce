/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How a tool ends that needs no MPI for what it has been asked: a bad option is told of at once.
 */
#ifndef TOOL_LEAVE_H
#define TOOL_LEAVE_H

#include <mpi.h>

#include "tool_job.h"

/**
 * Ends a tool that has said all that there is to say. Several processes meet before: as soon as one returns an error,
 * mpirun ends the others, also one that has not spoken yet.
 *
 * @returns code
 */
static inline int tool_leave(int code)
{
    if (!tool_is_alone()) {
        MPI_Init(NULL, NULL);
        MPI_Finalize();
    }
    return code;
}

#endif
