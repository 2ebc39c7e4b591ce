/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include <stdlib.h>

#include "ompi/group/group.h"
#include "opal/mca/hwloc/base/base.h"
#include "opal/mca/pmix/pmix.h"

/* Where a process is bound, as the runtime has found it through hwloc; NULL where it is not bound, or of another job:
 * of those some ranks of the node may know it and some not. To be freed. */
static char *place_of(ompi_communicator_t *comm, int rank)
{
    const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, rank);
    char *place = NULL;
    int rc;

    if (name.jobid != OMPI_PROC_MY_NAME->jobid) {
        return NULL;
    }
    OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, OPAL_PMIX_LOCALITY_STRING, &name, &place, OPAL_STRING);
    return OPAL_SUCCESS == rc ? place : NULL;
}

/* Numbers the ranks by what they share; returns how many numbers there are. */
static int number(char *const *places, int count, opal_hwloc_locality_t what, int *first_of, int *socket_of)
{
    int sockets = 0;

    for (int i = 0; i < count; ++i) {
        int socket = 0;

        while (socket < sockets
               && 0 == (opal_hwloc_compute_relative_locality(places[first_of[socket]], places[i]) & what)) {
            ++socket;
        }
        if (socket == sockets) {
            first_of[sockets++] = i;
        }
        socket_of[i] = socket;
    }
    return sockets;
}

int mca_coll_han_sockets_find(ompi_communicator_t *comm, const int *members, int count, int *socket_of)
{
    static const opal_hwloc_locality_t shared[] = { OPAL_PROC_ON_SOCKET, OPAL_PROC_ON_NUMA };
    char **places = calloc((size_t) count, sizeof(*places));
    int *first_of = malloc((size_t) count * sizeof(int));
    int known = 0, sockets = 1;

    if (NULL != places && NULL != first_of) {
        while (known < count && NULL != (places[known] = place_of(comm, members[known]))) {
            ++known;
        }
        for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]) && known == count && 1 == sockets; ++i) {
            sockets = number(places, count, shared[i], first_of, socket_of);
            if (sockets == count) {
                sockets = 1; /* a group of one is none */
            }
        }
    }
    for (int i = 0; i < known; ++i) {
        free(places[i]);
    }
    free(places);
    free(first_of);
    return sockets;
}
