/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which ranks of a node share a part of it, as the runtime has found through hwloc where they are bound.
 *
 * A header and not a library for the reason given in coll_variables.h.
 */
#ifndef COLL_PLACES_H
#define COLL_PLACES_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stdlib.h>

#include "ompi/communicator/communicator.h"
#include "ompi/group/group.h"
#include "opal/mca/hwloc/base/base.h"

#include "common/coll_modex.h"

/*
 * Where a process is bound; NULL where it is not bound, or of another job: of those some ranks of the node may know it
 * and some not. To be freed.
 */
static inline int coll_places_get(ompi_communicator_t *comm, int rank, char **place)
{
    const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, rank);

    *place = NULL;
    return name.jobid == OMPI_PROC_MY_NAME->jobid
               ? coll_modex_text(&name, OPAL_PMIX_LOCALITY_STRING, OPAL_PMIX_OPTIONAL, place)
               : OMPI_SUCCESS;
}

/* Numbers the ranks by what they share; returns how many numbers there are. */
static inline int coll_places_number(char *const *places, int count, opal_hwloc_locality_t what, int *first_of,
                                     int *part_of)
{
    int parts = 0;

    for (int i = 0; i < count; ++i) {
        int part = 0;

        while (part < parts && 0 == (opal_hwloc_compute_relative_locality(places[first_of[part]], places[i]) & what)) {
            ++part;
        }
        if (part == parts) {
            first_of[parts++] = i;
        }
        part_of[i] = part;
    }
    return parts;
}

/**
 * Numbers the parts of a node that ranks are in, by the first kind of part of which there are several with several
 * ranks.
 *
 * @param members [count] ranks of comm on this node
 * @param kinds what makes a part, such as OPAL_PROC_ON_SOCKET; the first one that divides the ranks is taken
 * @param part_of [count] the number of each rank's part, in the order in which they meet them
 * @returns the number of parts; 1 where there is but one, or it is not known (then part_of is not set); an error where
 *          there is no memory
 */
static inline int coll_places_find(ompi_communicator_t *comm, const int *members, int count,
                                   const opal_hwloc_locality_t *kinds, int kind_count, int *part_of)
{
    char **places = calloc((size_t) count, sizeof(*places));
    int *first_of = malloc((size_t) count * sizeof(int));
    int known = 0, parts = 1, rc = NULL == places || NULL == first_of ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;

    while (OMPI_SUCCESS == rc && known < count) {
        rc = coll_places_get(comm, members[known], &places[known]);
        if (NULL == places[known]) {
            break;
        }
        ++known;
    }
    for (int i = 0; i < kind_count && known == count && 1 == parts; ++i) {
        parts = coll_places_number(places, count, kinds[i], first_of, part_of);
        if (parts == count) {
            parts = 1; /* a group of one is none */
        }
    }
    for (int i = 0; i < known; ++i) {
        free(places[i]);
    }
    free(places);
    free(first_of);
    return OMPI_SUCCESS == rc ? parts : rc;
}

/**
 * Whether the runtime has bound this process, so that what it may use says nothing of what all processes of the node
 * may. By Slurm, numactl or taskset it may be bound as well, which nobody tells. Without memory it is not known.
 */
static inline bool coll_places_bound(void)
{
    char *bound = NULL;

    (void) coll_modex_text(&OPAL_PROC_MY_NAME, OPAL_PMIX_LOCALITY_STRING, OPAL_PMIX_OPTIONAL, &bound);
    free(bound);
    return NULL != bound;
}

#endif
