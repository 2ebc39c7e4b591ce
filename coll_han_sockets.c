/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include "common/coll_places.h"

static coll_places_t places = { .lock = OPAL_MUTEX_STATIC_INIT };

int mca_coll_han_sockets_find(ompi_communicator_t *comm, const int *members, int count, int *socket_of)
{
    return coll_places_find(&places, comm, members, count, COLL_PLACES_UP_TO_NUMA, socket_of);
}

void mca_coll_han_sockets_finalize(void)
{
    coll_places_close(&places);
}
