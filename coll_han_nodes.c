/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/group/group.h"
#include "ompi/proc/proc.h"
#include "opal/class/opal_hash_table.h"
#include "opal/threads/mutex.h"

#include "common/coll_modex.h"

/*
 * What has been found, for the whole process: host name -> number, and process -> number. A host name is asked for
 * once, so that later communicators cost a hash look-up per rank. Numbers are stored plus one: NULL means none.
 */
static struct {
    opal_mutex_t lock;
    bool made;
    opal_hash_table_t hosts;
    opal_hash_table_t processes;
    int count;
} nodes = { .lock = OPAL_MUTEX_STATIC_INIT };

enum { FIRST_TABLE_SIZE = 256 };

static int nodes_init(void)
{
    if (nodes.made) {
        return OMPI_SUCCESS;
    }
    OBJ_CONSTRUCT(&nodes.hosts, opal_hash_table_t);
    OBJ_CONSTRUCT(&nodes.processes, opal_hash_table_t);
    if (OPAL_SUCCESS != opal_hash_table_init(&nodes.hosts, FIRST_TABLE_SIZE)
        || OPAL_SUCCESS != opal_hash_table_init(&nodes.processes, FIRST_TABLE_SIZE)) {
        OBJ_DESTRUCT(&nodes.hosts);
        OBJ_DESTRUCT(&nodes.processes);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    nodes.count = 0;
    nodes.made = true;
    return OMPI_SUCCESS;
}

void mca_coll_han_nodes_finalize(void)
{
    if (nodes.made) {
        OBJ_DESTRUCT(&nodes.hosts);
        OBJ_DESTRUCT(&nodes.processes);
        nodes.made = false;
    }
}

/* The number of a host, a new one where it has none yet; negative where memory is short. */
static int number_of_host(const char *host)
{
    void *number = NULL;
    const size_t length = strlen(host);

    if (OPAL_SUCCESS == opal_hash_table_get_value_ptr(&nodes.hosts, host, length, &number)) {
        return (int) (intptr_t) number - 1;
    }
    if (OPAL_SUCCESS
        != opal_hash_table_set_value_ptr(&nodes.hosts, host, length, (void *) (intptr_t) (nodes.count + 1))) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return nodes.count++;
}

/* The number of a process' host; OMPI_ERR_NOT_FOUND where the runtime does not tell its name. */
static int number_of_process(const opal_process_name_t *name)
{
    uint64_t key;
    void *number = NULL;
    char *host = NULL;
    int rc;

    memcpy(&key, name, sizeof(key));
    if (OPAL_SUCCESS == opal_hash_table_get_value_uint64(&nodes.processes, key, &number)) {
        return (int) (intptr_t) number - 1;
    }
    rc = coll_modex_text(name, OPAL_PMIX_HOSTNAME, OPAL_PMIX_OPTIONAL, &host);
    if (OMPI_SUCCESS != rc || NULL == host) {
        return OMPI_SUCCESS == rc ? OMPI_ERR_NOT_FOUND : rc;
    }
    rc = number_of_host(host);
    free(host);
    if (0 <= rc
        && OPAL_SUCCESS != opal_hash_table_set_value_uint64(&nodes.processes, key, (void *) (intptr_t) (rc + 1))) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return rc;
}

/* By the runtime's knowledge alone. */
static int find_local(ompi_communicator_t *comm, int *node_of)
{
    const opal_process_name_t first = ompi_group_get_proc_name(comm->c_local_group, 0);

    for (int rank = 0; rank < ompi_comm_size(comm); ++rank) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, rank);

        /* Of another job some ranks may know the hosts and some not, but all see that there are two jobs. */
        if (name.jobid != first.jobid) {
            return OMPI_ERR_NOT_FOUND;
        }
        node_of[rank] = number_of_process(&name);
        if (0 > node_of[rank]) {
            return node_of[rank];
        }
    }
    return OMPI_SUCCESS;
}

/* Every rank tells its host name. */
static int find_by_exchange(ompi_communicator_t *comm, const mca_coll_han_fallback_t *allgather, int *node_of,
                            int *node_count)
{
    enum { LENGTH = OPAL_MAXHOSTNAMELEN };
    const int size = ompi_comm_size(comm);
    char own[LENGTH] = "";
    char *all = calloc((size_t) size, LENGTH);
    int rc;

    if (NULL == all) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    strncpy(own, opal_process_info.nodename, LENGTH - 1);
    rc = allgather->fn.allgather(own, LENGTH, MPI_BYTE, all, LENGTH, MPI_BYTE, comm, allgather->module);
    opal_mutex_lock(&nodes.lock);
    for (int rank = 0; rank < size && OMPI_SUCCESS == rc; ++rank) {
        node_of[rank] = number_of_host(all + (size_t) rank * LENGTH);
        rc = 0 > node_of[rank] ? node_of[rank] : OMPI_SUCCESS;
    }
    *node_count = nodes.count;
    opal_mutex_unlock(&nodes.lock);
    free(all);
    return rc;
}

int mca_coll_han_nodes_find(ompi_communicator_t *comm, const mca_coll_han_fallback_t *allgather, int *node_of,
                            int *node_count)
{
    int rc;

    opal_mutex_lock(&nodes.lock);
    rc = nodes_init();
    if (OMPI_SUCCESS == rc) {
        rc = find_local(comm, node_of);
    }
    *node_count = nodes.count;
    opal_mutex_unlock(&nodes.lock);
    if (OMPI_ERR_NOT_FOUND == rc && NULL != allgather) {
        rc = find_by_exchange(comm, allgather, node_of, node_count);
    }
    return rc;
}
