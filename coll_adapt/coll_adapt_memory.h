/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Temporary memory of calls, which the process keeps for the next ones: pages that are new cost more than what a
 * collective does with them, and allocators give long pieces back to the system each time. Needs no Open MPI. May be
 * called by several threads at once.
 */
#ifndef MCA_COLL_ADAPT_MEMORY_H
#define MCA_COLL_ADAPT_MEMORY_H

#include <stddef.h>

/** Bytes kept in all by a process: HAN's model takes memory up to here for free. */
enum { ADAPT_MEMORY_KEPT = 16 << 20 };

/** Where calls have their memory from; HAN finds it in ADAPT's module. */
typedef struct mca_coll_adapt_memory_t {
    /**
     * @param bytes may be 0
     * @returns memory as malloc() gives it, with any contents; NULL where there is none
     */
    void *(*take)(size_t bytes);
    /** @param memory what take() has returned, or NULL */
    void (*give)(void *memory);
} mca_coll_adapt_memory_t;

extern const mca_coll_adapt_memory_t mca_coll_adapt_memory;

/** Frees what is kept; when the component closes. */
void mca_coll_adapt_memory_end(void);

#endif
