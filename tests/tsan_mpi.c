/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For ThreadSanitizer, linked into the MPI tests by tests/sanitize.sh: edges that are inside Open MPI and end outside
 * of the components. See tests/tsan_openmpi.h.
 */
#define _GNU_SOURCE
#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/request/request.h"

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#define SEEN_BY_LIBRARIES __attribute__((visibility("default")))

/* -- who finds a persistent request complete comes behind the thread that has completed it -- */

/* Others are freed by a function of the component, where the order is seen. */

__attribute__((no_sanitize("thread"))) static void acquire(int count, ompi_request_t *const *requests)
{
    for (int i = 0; i < count; ++i) {
        if (MPI_REQUEST_NULL != requests[i] && requests[i]->req_persistent
            && OMPI_REQUEST_INACTIVE == requests[i]->req_state) {
            __tsan_acquire((void *) &requests[i]->req_complete);
        }
    }
}

#define ORDERED(name, parameters, arguments, count, requests)                                                          \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        const int rc = PMPI_##name arguments;                                                                          \
                                                                                                                       \
        acquire(count, requests);                                                                                      \
        return rc;                                                                                                     \
    }

/* clang-format off */
ORDERED(Wait, (MPI_Request *request, MPI_Status *status), (request, status), 1, request)
ORDERED(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status),
        (count, requests, index, status), count, requests)
ORDERED(Waitsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
        (count, requests, done, indices, statuses), count, requests)
ORDERED(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses), count,
        requests)
ORDERED(Test, (MPI_Request *request, int *flag, MPI_Status *status), (request, flag, status), 1, request)
ORDERED(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
        (count, requests, index, flag, status), count, requests)
ORDERED(Testsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
        (count, requests, done, indices, statuses), count, requests)
ORDERED(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
        (count, requests, flag, statuses), count, requests)
/* clang-format on */

/* -- who uses the modules of a communicator comes behind the thread that has made them -- */

/* Called inside Open MPI, by any thread. */
SEEN_BY_LIBRARIES int mca_coll_base_comm_select(ompi_communicator_t *comm)
{
    int (*const select)(ompi_communicator_t *) = dlsym(RTLD_NEXT, "mca_coll_base_comm_select");
    int rc;

    __tsan_acquire(comm);
    rc = select(comm);
    __tsan_release(comm);
    return rc;
}

/* -- who ends a communicator comes behind the thread that has freed it -- */

/* A count of holders, changed by atomic operations, is between them; the last one is any thread. */
SEEN_BY_LIBRARIES int mca_coll_base_comm_unselect(ompi_communicator_t *comm)
{
    int (*const unselect)(ompi_communicator_t *) = dlsym(RTLD_NEXT, "mca_coll_base_comm_unselect");

    __tsan_acquire(comm);
    return unselect(comm);
}

int MPI_Comm_free(MPI_Comm *comm)
{
    __tsan_release(*comm);
    return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm *comm)
{
    __tsan_release(*comm);
    return PMPI_Comm_disconnect(comm);
}

/* -- libraries -- */

/* Libraries that tests/tsan.supp names must stay, says ThreadSanitizer; and reports that come later want names. */
SEEN_BY_LIBRARIES int dlclose(void *handle)
{
    (void) handle;
    return 0;
}
