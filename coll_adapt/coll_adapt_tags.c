/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_adapt.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/op/op.h"

/* The tags of each form. */
static const struct {
    int first;
    int count;
} tags_of[] = {
    [ADAPT_BLOCKING] = { COLL_TAGS_BLOCKING, COLL_TAGS_BLOCKING_COUNT },
    [ADAPT_NONBLOCKING] = { COLL_TAGS_NONBLOCKING, COLL_TAGS_NONBLOCKING_COUNT },
    [ADAPT_PERSISTENT] = { COLL_TAGS_PERSISTENT, COLL_TAGS_PERSISTENT_COUNT },
};

/* Of the bits of persistent requests' tags; made with the first such request, for most communicators have none. */
enum { USED_WORDS = COLL_TAGS_PERSISTENT_COUNT / 64, USED_BYTES = USED_WORDS * sizeof(uint64_t) };

void mca_coll_adapt_tag_space_init(mca_coll_adapt_tag_space_t *space, ompi_communicator_t *comm)
{
    memset(space, 0, sizeof(*space));
    space->comm = comm;
    pthread_mutex_init(&space->lock, NULL);
    OBJ_CONSTRUCT(&space->nonblocking, opal_list_t);
    OBJ_CONSTRUCT(&space->persistent, opal_list_t);
}

void mca_coll_adapt_tag_space_fini(mca_coll_adapt_tag_space_t *space)
{
    free(space->used);
    OBJ_DESTRUCT(&space->persistent);
    OBJ_DESTRUCT(&space->nonblocking);
    pthread_mutex_destroy(&space->lock);
}

/* -- persistent requests -- */

static bool is_used(const mca_coll_adapt_tag_space_t *space, uint64_t place)
{
    return 0 != (space->used[place / 64] >> place % 64 & 1);
}

static void use(mca_coll_adapt_tag_space_t *space, uint64_t place, int count)
{
    for (; 0 < count; --count, ++place) {
        space->used[place / 64] |= (uint64_t) 1 << place % 64;
    }
}

/* So many in a row, from the next one on. */
static bool find(mca_coll_adapt_tag_space_t *space, int count, uint64_t *place)
{
    int found = 0;

    for (uint64_t i = space->next[ADAPT_PERSISTENT]; i < COLL_TAGS_PERSISTENT_COUNT; ++i) {
        found = is_used(space, i) ? 0 : found + 1;
        if (found == count) {
            *place = i + 1 - (uint64_t) count;
            space->next[ADAPT_PERSISTENT] = i + 1;
            use(space, *place, count);
            return true;
        }
    }
    return false;
}

/*
 * Requests are freed by each rank when it likes: which are in use has to be asked. All ranks come here in one call. Not
 * by the communicator's allreduce: who decides calls there may be in the middle of the one that wants tags.
 */
static int agree(mca_coll_adapt_tag_space_t *space)
{
    const mca_coll_adapt_call_t ask = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, MPI_IN_PLACE, space->used, USED_WORDS,
                                                                 MPI_UINT64_T, MPI_BOR, 0, space->comm);
    mca_coll_adapt_event_module_t *module = (void *) ((char *) space - offsetof(mca_coll_adapt_event_module_t, tags));
    mca_coll_adapt_tags_t *tags;

    memset(space->used, 0, USED_BYTES);
    pthread_mutex_lock(&space->lock);
    OPAL_LIST_FOREACH(tags, &space->persistent, mca_coll_adapt_tags_t)
    {
        use(space, tags->place, tags->count);
    }
    pthread_mutex_unlock(&space->lock);
    space->next[ADAPT_PERSISTENT] = 0;
    return mca_coll_adapt_doubling(module, &ask, ADAPT_BLOCKING, NULL);
}

static int take_persistent(mca_coll_adapt_tag_space_t *space, int count, uint64_t *place)
{
    int rc;

    if (NULL == space->used) {
        space->used = calloc(1, USED_BYTES);
        if (NULL == space->used) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    if (find(space, count, place)) {
        return OMPI_SUCCESS;
    }
    rc = agree(space);
    if (OMPI_SUCCESS == rc && !find(space, count, place)) {
        rc = OMPI_ERR_TEMP_OUT_OF_RESOURCE;
    }
    return rc;
}

/* -- the others -- */

/* The tags of a call do not go over the end. */
static uint64_t take_in_turn(mca_coll_adapt_tag_space_t *space, mca_coll_adapt_form_t form, int count)
{
    const uint64_t all = (uint64_t) tags_of[form].count;
    uint64_t place = space->next[form];

    if (place % all + (uint64_t) count > all) {
        place += all - place % all;
    }
    space->next[form] = place + (uint64_t) count;
    return place;
}

int mca_coll_adapt_tags_take(mca_coll_adapt_tag_space_t *space, mca_coll_adapt_form_t form, int count,
                             mca_coll_adapt_tags_t *tags)
{
    uint64_t place;

    if (count > tags_of[form].count) {
        return OMPI_ERR_TEMP_OUT_OF_RESOURCE;
    }
    if (ADAPT_PERSISTENT != form) {
        place = take_in_turn(space, form, count);
    } else {
        const int rc = take_persistent(space, count, &place);

        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    *tags = (mca_coll_adapt_tags_t){ .form = form, .place = place, .count = count };
    tags->first = coll_tag(tags_of[form].first + (int) (place % (uint64_t) tags_of[form].count));
    return OMPI_SUCCESS;
}

static opal_list_t *list_of(mca_coll_adapt_tag_space_t *space, mca_coll_adapt_form_t form)
{
    return ADAPT_PERSISTENT == form ? &space->persistent : &space->nonblocking;
}

/* Whether the oldest call that is not over is less than all tags behind; the lock is held. */
static bool free_for(mca_coll_adapt_tag_space_t *space, const mca_coll_adapt_tags_t *tags)
{
    const mca_coll_adapt_tags_t *oldest = (const mca_coll_adapt_tags_t *) opal_list_get_first(&space->nonblocking);

    return tags->place + (uint64_t) tags->count <= oldest->place + COLL_TAGS_NONBLOCKING_COUNT;
}

/* Of blocking calls there is one at a time. */
void mca_coll_adapt_tags_hold(mca_coll_adapt_tags_t *tags, mca_coll_adapt_tag_space_t *space,
                              void (*begin)(mca_coll_adapt_tags_t *tags))
{
    const mca_coll_adapt_form_t form = tags->form;
    bool waits = false;

    if (ADAPT_BLOCKING != form) {
        OBJ_CONSTRUCT(&tags->super, opal_list_item_t);
        tags->space = space;
        tags->begin = begin;
        pthread_mutex_lock(&space->lock);
        opal_list_append(list_of(space, form), &tags->super);
        if (ADAPT_NONBLOCKING == form) {
            waits = NULL != space->waiting || !free_for(space, tags);
            space->waiting = waits && NULL == space->waiting ? tags : space->waiting;
        }
        pthread_mutex_unlock(&space->lock);
    }
    if (ADAPT_PERSISTENT != form && !waits) {
        begin(tags);
    }
}

/* All behind one that waits do, too. */
static mca_coll_adapt_tags_t *next_waiting(mca_coll_adapt_tag_space_t *space, mca_coll_adapt_tags_t *tags)
{
    opal_list_item_t *next = opal_list_get_next(&tags->super);

    return opal_list_get_end(&space->nonblocking) == next ? NULL : (mca_coll_adapt_tags_t *) next;
}

/* Calls that begin may be over at once, and come here again: who is first goes on until none may begin. */
static void begin_waiting(mca_coll_adapt_tag_space_t *space)
{
    if (space->beginning) {
        return;
    }
    space->beginning = true;
    while (NULL != space->waiting && free_for(space, space->waiting)) {
        mca_coll_adapt_tags_t *tags = space->waiting;

        space->waiting = next_waiting(space, tags);
        pthread_mutex_unlock(&space->lock);
        tags->begin(tags);
        pthread_mutex_lock(&space->lock);
    }
    space->beginning = false;
}

void mca_coll_adapt_tags_return(mca_coll_adapt_tags_t *tags)
{
    mca_coll_adapt_tag_space_t *space = tags->space;

    if (NULL == space) {
        return;
    }
    pthread_mutex_lock(&space->lock);
    tags->space = NULL;
    opal_list_remove_item(list_of(space, tags->form), &tags->super);
    OBJ_DESTRUCT(&tags->super);
    begin_waiting(space);
    pthread_mutex_unlock(&space->lock);
}
