/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of ranks that share a socket, a NUMA node or an L3 cache. A line that one rank writes and many read should
 * cross from group to group once: the leader of a group, its lowest rank, reads it, and the others of the group read
 * from the leader. What every rank writes for all others is shared out: each rank of a group passes on what some of the
 * other groups' ranks have. Rank 0 finds the groups and writes them into the shared memory, so that all have the same.
 */
#include "coll_solo.h"

#include <stdlib.h>
#include <string.h>

#include "common/coll_places.h"

static coll_places_t places = { .lock = OPAL_MUTEX_STATIC_INIT };

void mca_coll_solo_groups_close(void)
{
    coll_places_close(&places);
}

void mca_coll_solo_groups_find(mca_coll_solo_module_t *module)
{
    int *ranks = malloc(2 * (size_t) module->size * sizeof(int));
    int groups = 1;

    for (int i = 0; NULL != ranks && i < module->size; ++i) {
        ranks[i] = i;
    }
    if (NULL != ranks) {
        groups = coll_places_find(&places, module->comm, ranks, module->size, COLL_PLACES_KINDS, ranks + module->size);
    }
    for (int i = 0; i < module->size; ++i) {
        mca_coll_solo_area(&module->memory, i)->group = 1 < groups ? ranks[module->size + i] : 0;
    }
    free(ranks);
}

/* The ranks of other groups go round this one's members. */
static void make_relays(mca_coll_solo_module_t *module)
{
    int others = 0;

    for (int rank = 0; rank < module->size; ++rank) {
        const bool own = module->group_of[rank] == module->group_of[module->rank];

        module->relay_of[rank] = own ? -1 : module->members[others % module->member_count];
        module->relay_slot[rank] = own ? 0 : others / module->member_count;
        others += own ? 0 : 1;
    }
    for (int group = 0; group < module->groups; ++group) {
        int count = 0, slots;

        for (int rank = 0; rank < module->size; ++rank) {
            count += group == module->group_of[rank] ? 1 : 0;
        }
        slots = (module->size - count + count - 1) / count;
        module->relay_slots = module->relay_slots < slots ? slots : module->relay_slots;
    }
}

int mca_coll_solo_groups_make(mca_coll_solo_module_t *module)
{
    module->group_of = malloc((size_t) module->size * sizeof(int));
    module->leaders = malloc((size_t) module->size * sizeof(int));
    module->members = calloc((size_t) module->size, sizeof(int));
    module->relay_of = malloc((size_t) module->size * sizeof(int));
    module->relay_slot = malloc((size_t) module->size * sizeof(int));
    if (NULL == module->group_of || NULL == module->leaders || NULL == module->members || NULL == module->relay_of
        || NULL == module->relay_slot) {
        return SOLO_NO_MEMORY;
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
    make_relays(module);
    return OMPI_SUCCESS;
}

void mca_coll_solo_groups_free(mca_coll_solo_module_t *module)
{
    free(module->group_of);
    free(module->leaders);
    free(module->members);
    free(module->relay_of);
    free(module->relay_slot);
}

void mca_coll_solo_relay(mca_coll_solo_module_t *module, uint64_t said, uint64_t relayed, size_t stride)
{
    mca_coll_solo_box_t *own = mca_coll_solo_own_box(module, relayed);
    int status = OMPI_SUCCESS;

    for (int rank = 0; rank < module->size; ++rank) {
        if (module->rank == module->relay_of[rank]) {
            const mca_coll_solo_box_t *box = mca_coll_solo_wait_box(module, rank, said);

            status = OMPI_SUCCESS == status ? box->status : status;
            memcpy(own->data + (size_t) module->relay_slot[rank] * stride, box->data, stride);
            module->copied += stride;
        }
    }
    mca_coll_solo_publish(own, relayed, status);
}

int mca_coll_solo_hear_relayed(mca_coll_solo_module_t *module, int rank, uint64_t said, uint64_t relayed, size_t stride,
                               const unsigned char **data)
{
    const int relay = said == relayed ? -1 : module->relay_of[rank];
    const mca_coll_solo_box_t *box
        = 0 > relay ? mca_coll_solo_wait_box(module, rank, said) : mca_coll_solo_wait_box(module, relay, relayed);

    *data = box->data + (0 > relay ? 0 : (size_t) module->relay_slot[rank] * stride);
    return box->status;
}

int mca_coll_solo_read_relayed(mca_coll_solo_module_t *module, uint64_t ready, mca_coll_solo_read_fn_t read,
                               const void *call)
{
    const uint64_t relayed = 1 < module->groups ? ++module->seq : ready;
    int rc = OMPI_SUCCESS;

    for (int turn = relayed == ready ? 1 : 0; turn < 2; ++turn) {
        for (int i = 1; i < module->size; ++i) {
            const int rank = (module->rank + i) % module->size, relay = module->relay_of[rank];
            const bool passed_on = module->rank == relay;
            const int from = passed_on || 0 > relay ? rank : relay;

            if (passed_on == (0 == turn)) {
                const int status = mca_coll_solo_wait_box(module, from, from == rank ? ready : relayed)->status;

                rc = OMPI_SUCCESS == rc ? status : rc;
                rc = OMPI_SUCCESS == rc ? read(call, rank, from) : rc;
            }
        }
        if (0 == turn) {
            mca_coll_solo_publish(mca_coll_solo_own_box(module, relayed), relayed, rc);
        }
    }
    return rc;
}
