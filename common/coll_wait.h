/* SPDX-License-Identifier: BSD-3-Clause */
/** @file To wait for requests that no user sees; what the components share. */
#ifndef COLL_WAIT_H
#define COLL_WAIT_H

#include "ompi_config.h"

#include "ompi/request/request.h"

/**
 * Waits for a request that is not started again, and lets go of it, also where it failed: then Open MPI leaves it to
 * the error handler of the MPI call, which knows the user's requests alone.
 */
static inline int coll_wait(ompi_request_t **request, ompi_status_public_t *status)
{
    const int rc = ompi_request_wait(request, status);

    if (MPI_REQUEST_NULL != *request) {
        (void) ompi_request_free(request);
    }
    return rc;
}

#endif
