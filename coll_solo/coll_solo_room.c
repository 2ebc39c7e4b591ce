/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether each rank has a core. What counts is which processors the ranks of a communicator may use together (they may
 * be bound, or in a container), and how many other ranks there are on the node.
 */
#include "coll_solo.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ompi/proc/proc.h"
#include "opal/util/proc.h"

#include "coll_solo_limits.h"
#include "common/coll_places.h"
#include "common/coll_processors.h"

/* The processes of this node that this one knows of: those of its job, and of jobs that it has met. */
static int known_here(void)
{
    size_t count = 0;
    int here = 1;
    ompi_proc_t **all = ompi_proc_all(&count);

    for (size_t i = 0; NULL != all && i < count; ++i) {
        here += all[i] != ompi_proc_local() && OPAL_PROC_ON_LOCAL_NODE(all[i]->super.proc_flags);
        OBJ_RELEASE(all[i]);
    }
    free(all);
    return here > (int) opal_process_info.num_local_peers ? here : (int) opal_process_info.num_local_peers + 1;
}

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static mca_coll_solo_quota_t quota;

static void look_at_quota(void)
{
    quota = mca_coll_solo_quota("");
}

void mca_coll_solo_room_tell(mca_coll_solo_area_t *area)
{
    pthread_once(&looked, look_at_quota);
    coll_processors_allowed(area->processors);
    area->quota = quota.thousandths;
    area->quota_group = quota.group;
    area->known_here = known_here();
    area->node_processors
        = coll_places_bound() ? (int) sysconf(_SC_NPROCESSORS_ONLN) : coll_processors_count(area->processors);
}

/*
 * Processor time that the groups of all ranks may use together, in thousandths; INT64_MAX where one may use what it
 * likes. Of a group it counts once.
 */
static int64_t all_quotas(const mca_coll_solo_memory_t *memory, int size, int *groups)
{
    int64_t sum = 0;

    *groups = 0;
    for (int rank = 0; rank < size; ++rank) {
        const mca_coll_solo_area_t *area = mca_coll_solo_area(memory, rank);
        int first = 0;

        if (INT64_MAX == area->quota) {
            return INT64_MAX;
        }
        while (area->quota_group != mca_coll_solo_area(memory, first)->quota_group) {
            ++first;
        }
        if (first == rank) {
            sum += area->quota;
            ++*groups;
        }
    }
    return sum;
}

/* Whether all ranks may use the same processors. */
static bool are_alike(const mca_coll_solo_memory_t *memory, int size)
{
    const mca_coll_solo_area_t *first = mca_coll_solo_area(memory, 0);
    int rank = 1;

    while (rank < size
           && 0 == memcmp(first->processors, mca_coll_solo_area(memory, rank)->processors, sizeof(first->processors))) {
        ++rank;
    }
    return rank == size;
}

/*
 * Whether there are more processes on the node than processors for them. Where the runtime has not bound a rank, what
 * it may use is taken for the node's: but not where ranks differ, for then something else has bound each.
 */
static bool is_full(const mca_coll_solo_area_t *area, bool alike)
{
    return area->known_here > area->node_processors
           && (alike || area->node_processors != coll_processors_count(area->processors));
}

bool mca_coll_solo_crowded(const mca_coll_solo_memory_t *memory, int size)
{
    const bool alike = are_alike(memory, size);
    uint64_t together[COLL_PROCESSOR_WORDS] = { 0 };
    int groups, ranks = size;
    const int64_t time = all_quotas(memory, size, &groups);

    for (int rank = 0; rank < size; ++rank) {
        const mca_coll_solo_area_t *area = mca_coll_solo_area(memory, rank);

        if (is_full(area, alike)) {
            return true;
        }
        /* Others of the node are in the group that all of these are in. */
        ranks = 1 == groups && area->known_here > ranks ? area->known_here : ranks;
        for (int i = 0; i < COLL_PROCESSOR_WORDS; ++i) {
            together[i] |= area->processors[i];
        }
    }
    return size > coll_processors_count(together) || (INT64_MAX != time && 1000 * (int64_t) ranks > time);
}
