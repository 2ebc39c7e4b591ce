/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a tool knows of its job before MPI_Init: what mpirun or srun tell its processes.
 */
#ifndef TOOL_JOB_H
#define TOOL_JOB_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** This process's number in its job; 0 where nothing tells it. */
static inline int tool_rank(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
        if (NULL != getenv(names[i])) {
            return atoi(getenv(names[i]));
        }
    }
    return 0;
}

/** Whether it is the only one; false, too, where something has started it that does not tell. */
static inline bool tool_is_alone(void)
{
    const char *const size = getenv("OMPI_COMM_WORLD_SIZE");

    return NULL != size ? 0 == strcmp("1", size) : NULL == getenv("PMIX_RANK") && NULL == getenv("PMI_RANK");
}

#endif
