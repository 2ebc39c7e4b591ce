/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * --version, for each of the compiled tools. han_version.h is made with them; who compiles one by hand has none.
 */
#ifndef TOOL_VERSION_H
#define TOOL_VERSION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool_job.h"

#if __has_include("han_version.h")
#include "han_version.h"
#else
#define HAN_VERSION_TEXT "of unknown version"
#endif

/** Where --version is all that is wanted: prints it, of a job's processes one, and ends. Before MPI_Init. */
static inline void tool_version(int argc, char *const *argv, const char *program)
{
    if (2 == argc && 0 == strcmp("--version", argv[1])) {
        if (0 == tool_rank()) {
            printf("%s (HAN) %s\n", program, HAN_VERSION_TEXT);
        }
        exit(EXIT_SUCCESS);
    }
}

#endif
