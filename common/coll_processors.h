/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Which processors a process may use. Pure.
 *
 * A header and not a library for the reason given in coll_variables.h.
 */
#ifndef COLL_PROCESSORS_H
#define COLL_PROCESSORS_H

#include <sched.h>
#include <stdint.h>
#include <string.h>

/** Processors as bits: more than Linux has in one machine today. */
enum { COLL_PROCESSOR_WORDS = 64 };

/** Those that this process may use; all, where that is not known. */
static inline void coll_processors_allowed(uint64_t words[COLL_PROCESSOR_WORDS])
{
    cpu_set_t *set = (cpu_set_t *) (void *) words;

    CPU_ZERO_S(COLL_PROCESSOR_WORDS * sizeof(uint64_t), set);
    if (0 != sched_getaffinity(0, COLL_PROCESSOR_WORDS * sizeof(uint64_t), set)) {
        memset(words, 0xff, COLL_PROCESSOR_WORDS * sizeof(uint64_t));
    }
}

static inline int coll_processors_count(const uint64_t words[COLL_PROCESSOR_WORDS])
{
    int count = 0;

    for (int i = 0; i < COLL_PROCESSOR_WORDS; ++i) {
        count += __builtin_popcountll(words[i]);
    }
    return count;
}

#endif
