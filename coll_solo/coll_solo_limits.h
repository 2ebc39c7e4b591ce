/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the system leaves to this process: memory and processors of its control groups, versions 1 and 2, as they are
 * mounted in /sys/fs/cgroup. A limit of a group holds for all groups within. Pure.
 */
#ifndef MCA_COLL_SOLO_LIMITS_H
#define MCA_COLL_SOLO_LIMITS_H

#include <stdint.h>

/** Processor time that a group may use. */
typedef struct mca_coll_solo_quota_t {
    int64_t thousandths; /**< of a processor; INT64_MAX: as much as there is */
    uint64_t group;      /**< whose limit it is: not the same for two groups of a machine; 0: there is none */
} mca_coll_solo_quota_t;

/**
 * Bytes that may be used until the system ends processes of a group.
 *
 * @param root in front of /proc and /sys: "" but in tests
 * @returns INT64_MAX: there is no limit, or it is not known
 */
int64_t mca_coll_solo_memory_left(const char *root);

/** The tightest limit. @param root as above */
mca_coll_solo_quota_t mca_coll_solo_quota(const char *root);

#endif
