/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a rank does that gets no memory for its part of a collective. It cannot take part, and it cannot tell the
 * others, for that takes memory, too: they would wait for ever. So the job ends, with one message that says what for.
 */
#ifndef COLL_END_H
#define COLL_END_H

#include "ompi_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/util/proc.h"

/** Ends the job: there is no memory for what the format says. The message itself needs none. */
__attribute__((noreturn, format(printf, 2, 3))) static inline void coll_end(const char *component, const char *format,
                                                                            ...)
{
    char what[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO,
            "[%s:%d] coll:%s: rank %lu: no memory for %s; the job ends, for the other ranks would wait for ever\n",
            opal_process_info.nodename, (int) getpid(), component, (unsigned long) OPAL_PROC_MY_NAME.vpid, what);
    ompi_mpi_abort(&ompi_mpi_comm_world.comm, MPI_ERR_NO_MEM);
    _exit(1);
}

/** Passes on what a rank's part of a call on a communicator has come to; where it is that it has no memory, ends the
 * job. */
static inline int coll_result(int rc, const char *component, const char *call, const ompi_communicator_t *comm)
{
    if (OMPI_ERR_OUT_OF_RESOURCE == rc) {
        coll_end(component, "%s on %s (cid %d)", call, comm->c_name, comm->c_contextid);
    }
    return rc;
}

#endif
