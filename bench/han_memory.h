/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that a job cannot go on without: a rank that has none must not leave the others waiting.
 *
 * Included by one source file of a program.
 */
#ifndef HAN_MEMORY_H
#define HAN_MEMORY_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "../tune/tune_options.h"

/* Ends the job where there is none, and tells what it was for. */
static void *memory_for(const char *what, size_t bytes)
{
    void *memory = malloc(0 < bytes ? bytes : 1);

    if (NULL == memory) {
        char text[64];

        snprintf(text, sizeof(text), "no memory for the %s", what);
        tune_complain_here(text);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}

#endif
