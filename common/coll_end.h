/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a rank does that cannot take its part in a collective, nor tell the others: it has no memory for it, or a
 * message cannot be started. The others would wait for ever. So the job ends, with one message that says why.
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

/**
 * Ends the job, for the reason that the format gives. The message itself needs no memory.
 *
 * @param code an error class of MPI, which the job ends with
 */
__attribute__((noreturn, format(printf, 3, 4))) static inline void coll_end_job(int code, const char *component,
                                                                                const char *format, ...)
{
    char why[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof(why), format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "[%s:%d] coll:%s: rank %lu: %s; the job ends, for the other ranks would wait for ever\n",
            opal_process_info.nodename, (int) getpid(), component, (unsigned long) OPAL_PROC_MY_NAME.vpid, why);
    ompi_mpi_abort(&ompi_mpi_comm_world.comm, code);
    _exit(1);
}

/** Ends the job: there is no memory for what the format, a literal, says. */
#define coll_end(component, ...) coll_end_job(MPI_ERR_NO_MEM, component, "no memory for " __VA_ARGS__)

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
