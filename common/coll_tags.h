/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The tags of the messages that the components send by themselves, on whatever communicator. All of them are here.
 *
 * A pml carries a tag in so many bits: ob1 in 32, ucx and mtl portals4 in 24, mtl psm2 in 32, mtl ofi in 32, or in 20
 * where the provider leaves no more (ofi_tag_2). What is cut off makes another tag of it, which may be a user's. Of
 * what a pml carries, MPI_ANY_TAG and the user have the tags from 0 to its pml_max_tag, and the collectives the
 * negative ones down to -pml_max_tag. Open MPI's own begin at -10 and count down: one or more for each nonblocking
 * collective. Ours lie at the other end, so that theirs come to ours last of all.
 */
#ifndef COLL_TAGS_H
#define COLL_TAGS_H

#include "ompi_config.h"

#include "ompi/mca/pml/pml.h"

/** The first tag of each purpose, and how many it has; counted from the lowest tag of the pml. */
enum {
    /** HAN: a rank tells all others that it has failed. */
    COLL_TAGS_ALARM = 0,
    COLL_TAGS_ALARM_COUNT = 1,
    /** HAN: to make the communicators of the levels; one for each context id that ob1 has, then they repeat. */
    COLL_TAGS_LEVELS = COLL_TAGS_ALARM + COLL_TAGS_ALARM_COUNT,
    COLL_TAGS_LEVELS_COUNT = 1 << 16,
    /** ADAPT, by the form of a call: see coll_adapt_tags.h. */
    COLL_TAGS_BLOCKING = COLL_TAGS_LEVELS + COLL_TAGS_LEVELS_COUNT,
    COLL_TAGS_BLOCKING_COUNT = 1 << 12,
    COLL_TAGS_NONBLOCKING = COLL_TAGS_BLOCKING + COLL_TAGS_BLOCKING_COUNT,
    COLL_TAGS_NONBLOCKING_COUNT = 1 << 14,
    COLL_TAGS_PERSISTENT = COLL_TAGS_NONBLOCKING + COLL_TAGS_NONBLOCKING_COUNT,
    COLL_TAGS_PERSISTENT_COUNT = 1 << 15,
    /** HAN: messages that measure the machine. */
    COLL_TAGS_MEASURE = COLL_TAGS_PERSISTENT + COLL_TAGS_PERSISTENT_COUNT,
    COLL_TAGS_MEASURE_COUNT = 1,

    /** The least pml_max_tag of any pml: 20 bits, one of which is the sign. */
    COLL_TAGS_LEAST_MAX = (1 << 19) - 1
};

/* Half of the tags of the pml with the fewest are left to Open MPI's own. */
#define COLL_TAGS_ASSERT(purpose)                                                                                      \
    _Static_assert(0 <= (purpose) && 0 < purpose##_COUNT                                                               \
                       && (purpose) + purpose##_COUNT <= (COLL_TAGS_LEAST_MAX + 1) / 2,                                \
                   "tags outside of what each pml keeps apart")

COLL_TAGS_ASSERT(COLL_TAGS_ALARM);
COLL_TAGS_ASSERT(COLL_TAGS_LEVELS);
COLL_TAGS_ASSERT(COLL_TAGS_BLOCKING);
COLL_TAGS_ASSERT(COLL_TAGS_NONBLOCKING);
COLL_TAGS_ASSERT(COLL_TAGS_PERSISTENT);
COLL_TAGS_ASSERT(COLL_TAGS_MEASURE);

/** Whether the pml has room for these tags; all that Open MPI has do. */
static inline bool coll_tags_fit(void)
{
    return COLL_TAGS_LEAST_MAX <= mca_pml.pml_max_tag;
}

/** The tag, from its place in the enumeration above. */
static inline int coll_tag(int place)
{
    return place - mca_pml.pml_max_tag;
}

#endif
