/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of ranks that share a socket, a NUMA node or an L3 cache. A line that one rank writes and many read should
 * cross from group to group once: the leader of a group, its lowest rank, reads it, and the others of the group read
 * from the leader. Rank 0 finds the groups and writes them into the shared memory, so that all have the same.
 */
#include "coll_solo.h"

#include <stdlib.h>

#include "common/coll_places.h"

void mca_coll_solo_groups_find(mca_coll_solo_module_t *module)
{
    static const opal_hwloc_locality_t kinds[] = { OPAL_PROC_ON_SOCKET, OPAL_PROC_ON_NUMA, OPAL_PROC_ON_L3CACHE };
    int *ranks = malloc(2 * (size_t) module->size * sizeof(int));
    int groups = 1;

    for (int i = 0; NULL != ranks && i < module->size; ++i) {
        ranks[i] = i;
    }
    if (NULL != ranks) {
        groups = coll_places_find(module->comm, ranks, module->size, kinds, sizeof(kinds) / sizeof(kinds[0]),
                                  ranks + module->size);
    }
    for (int i = 0; i < module->size; ++i) {
        mca_coll_solo_area(&module->memory, i)->group = 1 < groups ? ranks[module->size + i] : 0;
    }
    free(ranks);
}

int mca_coll_solo_groups_make(mca_coll_solo_module_t *module)
{
    module->group_of = malloc((size_t) module->size * sizeof(int));
    module->leaders = malloc((size_t) module->size * sizeof(int));
    module->members = malloc((size_t) module->size * sizeof(int));
    if (NULL == module->group_of || NULL == module->leaders || NULL == module->members) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    module->groups = 0;
    module->in_order = true;
    for (int rank = 0; rank < module->size; ++rank) {
        const int group = mca_coll_solo_area(&module->memory, rank)->group;

        module->group_of[rank] = group;
        if (group == module->groups) {
            module->leaders[module->groups++] = rank; /* groups are numbered as ranks meet them */
        } else if (group != module->group_of[rank - 1]) {
            module->in_order = false;
        }
    }
    for (int rank = 0; rank < module->size; ++rank) {
        if (module->group_of[rank] == module->group_of[module->rank]) {
            module->members[module->member_count++] = rank;
        }
    }
    module->leader = module->members[0];
    return OMPI_SUCCESS;
}
