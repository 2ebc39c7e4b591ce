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
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/group/group.h"
#include "opal/mca/hwloc/base/base.h"
#include "opal/threads/mutex.h"

#include "common/coll_modex.h"

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

/** Kinds of parts that a node has, from the largest on: sockets, NUMA nodes, what shares an L3 cache. */
enum { COLL_PLACES_UP_TO_NUMA = 2, COLL_PLACES_KINDS };

/** A process of this job on this node. */
typedef struct coll_place_t {
    opal_vpid_t vpid;
    bool known; /**< it is bound, and the runtime tells where */
    int parts[COLL_PLACES_KINDS];
} coll_place_t;

/**
 * Where processes of this job on this node are. A component looks once, for the runtime takes some 10 us to tell of
 * each. One for each component, of static duration, to be closed with it.
 */
typedef struct coll_places_t {
    opal_mutex_t lock;
    coll_place_t *all; /**< [count]; NULL: nobody has looked yet */
    int count;
} coll_places_t;

static inline void coll_places_close(coll_places_t *places)
{
    free(places->all);
    places->all = NULL;
    places->count = 0;
}

/* Numbers the parts that the last process is in; those before it have theirs. To compare two takes a microsecond: it is
 * compared with the first one of each part. */
static inline void coll_places_number(coll_place_t *all, char *const *texts, int last)
{
    static const opal_hwloc_locality_t kinds[COLL_PLACES_KINDS]
        = { OPAL_PROC_ON_SOCKET, OPAL_PROC_ON_NUMA, OPAL_PROC_ON_L3CACHE };

    for (int kind = 0; kind < COLL_PLACES_KINDS; ++kind) {
        int parts = 0;

        for (int mate = 0; mate < last; ++mate) {
            if (!all[mate].known || parts != all[mate].parts[kind]) {
                continue;
            }
            if (0 != (opal_hwloc_compute_relative_locality(texts[mate], texts[last]) & kinds[kind])) {
                break;
            }
            ++parts;
        }
        all[last].parts[kind] = parts;
    }
}

/* Asks the runtime of each process in a list such as "0,1,2", which is cut. */
static inline int coll_places_ask(coll_places_t *places, char *peers)
{
    const size_t most = strlen(peers) / 2 + 1;
    coll_place_t *all = calloc(most, sizeof(*all));
    char **texts = calloc(most, sizeof(*texts)), *rest = NULL;
    int count = 0, rc = NULL == all || NULL == texts ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;

    for (char *word = strtok_r(peers, ",", &rest); NULL != word && OMPI_SUCCESS == rc;
         word = strtok_r(NULL, ",", &rest)) {
        const opal_process_name_t name = { OPAL_PROC_MY_NAME.jobid, (opal_vpid_t) strtoul(word, NULL, 10) };

        rc = coll_modex_text(&name, OPAL_PMIX_LOCALITY_STRING, OPAL_PMIX_OPTIONAL, &texts[count]);
        all[count].vpid = name.vpid;
        all[count].known = NULL != texts[count];
        if (all[count].known) {
            coll_places_number(all, texts, count);
        }
        ++count;
    }
    for (int i = 0; i < count; ++i) {
        free(texts[i]);
    }
    free(texts);
    if (OMPI_SUCCESS != rc) {
        free(all);
        return rc;
    }
    places->all = all;
    places->count = count;
    return OMPI_SUCCESS;
}

/* Where this process is not bound nothing is known. */
static inline int coll_places_look(coll_places_t *places)
{
    const opal_process_name_t job = { OPAL_PROC_MY_NAME.jobid, OPAL_VPID_WILDCARD };
    char *peers = NULL;
    int rc = OMPI_SUCCESS;

    opal_mutex_lock(&places->lock);
    if (NULL == places->all) {
        if (coll_places_bound()) {
            rc = coll_modex_text(&job, OPAL_PMIX_LOCAL_PEERS, OPAL_PMIX_OPTIONAL, &peers);
        }
        if (OMPI_SUCCESS == rc) {
            rc = coll_places_ask(places, NULL == peers ? (char[]){ "" } : peers);
        }
        free(peers);
    }
    opal_mutex_unlock(&places->lock);
    return rc;
}

/* Finds the members, who come in the order of the processes, or nearly; false where one is not known. */
static inline bool coll_places_members(const coll_places_t *places, ompi_communicator_t *comm, const int *members,
                                       int count, const coll_place_t **found)
{
    int at = 0;

    for (int i = 0; i < count; ++i) {
        const opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, members[i]);
        int tries = 0;

        while (tries < places->count && places->all[at].vpid != name.vpid) {
            at = at + 1 < places->count ? at + 1 : 0;
            ++tries;
        }
        if (name.jobid != OPAL_PROC_MY_NAME.jobid || tries == places->count || !places->all[at].known) {
            return false;
        }
        found[i] = &places->all[at];
    }
    return true;
}

/* Numbers the members by what they share; returns how many numbers there are. */
static inline int coll_places_divide(const coll_place_t *const *found, int count, int kind, int *first_of, int *part_of)
{
    int parts = 0;

    for (int i = 0; i < count; ++i) {
        int part = 0;

        while (part < parts && found[first_of[part]]->parts[kind] != found[i]->parts[kind]) {
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
 * ranks. Ranks of other jobs have no part: some ranks of the node may know theirs and some not.
 *
 * @param members [count] ranks of comm on this node, this process among them
 * @param kinds how many are looked at; the first one that divides the ranks is taken
 * @param part_of [count] the number of each rank's part, in the order in which they meet them
 * @returns the number of parts; 1 where there is but one, or it is not known (then part_of is not set); an error where
 *          there is no memory
 */
static inline int coll_places_find(coll_places_t *places, ompi_communicator_t *comm, const int *members, int count,
                                   int kinds, int *part_of)
{
    const coll_place_t **found = malloc((size_t) count * sizeof(*found));
    int *first_of = malloc((size_t) count * sizeof(*first_of));
    int parts = 1, rc = NULL == found || NULL == first_of ? OMPI_ERR_OUT_OF_RESOURCE : coll_places_look(places);

    if (OMPI_SUCCESS == rc && coll_places_members(places, comm, members, count, found)) {
        for (int kind = 0; kind < kinds && 1 == parts; ++kind) {
            parts = coll_places_divide(found, count, kind, first_of, part_of);
            if (parts == count) {
                parts = 1; /* a group of one is none */
            }
        }
    }
    free(found);
    free(first_of);
    return OMPI_SUCCESS == rc ? parts : rc;
}

#endif
