/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include "common/coll_places.h"

int mca_coll_han_sockets_find(ompi_communicator_t *comm, const int *members, int count, int *socket_of)
{
    static const opal_hwloc_locality_t shared[] = { OPAL_PROC_ON_SOCKET, OPAL_PROC_ON_NUMA };

    return coll_places_find(comm, members, count, shared, sizeof(shared) / sizeof(shared[0]), socket_of);
}
