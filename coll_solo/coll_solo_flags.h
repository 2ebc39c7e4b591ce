/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The control flags, and where they are in the shared memory. docs/solo.md draws it, and argues the memory order.
 *
 * Every rank has an area: a line with its counter `done`, and two rings of boxes. A box is a flag, `seq`, and the data
 * of one segment behind it, so that a small message comes with its flag in one cache line. Each flag has one writer,
 * the rank of the area, and only grows. Short calls use the ring of many small boxes, so that who has the data may be
 * as many calls ahead; where ranks share cores, each then does many in its turn. Long ones use that of few large boxes.
 *
 * The use of all boxes is numbered: all ranks do the same collectives on a communicator, cut them alike, and so count
 * alike. Number seq uses box seq % boxes of the call's ring in each area. The rules:
 *
 *  1. A rank that has something to say in seq fills its box and then publishes it: box->seq = seq.
 *  2. Who wants it waits until box->seq >= seq, and reads.
 *  3. A rank that wants nothing more of seq, nor of any number before it, says so: done = seq.
 *  4. A box is filled anew, for seq, when all ranks are done with seq - boxes: what was in it had such a number, or a
 *     lower one where the calls between used the other ring.
 */
#ifndef MCA_COLL_SOLO_FLAGS_H
#define MCA_COLL_SOLO_FLAGS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/coll_processors.h"

enum {
    SOLO_LINE = 64, /**< bytes of a cache line */
    SOLO_LARGE_BOXES = 4, /**< of each rank; both are powers of two, to find a box by a mask */
    SOLO_SMALL_BOXES = 16
};

/** One segment on its way. */
typedef struct mca_coll_solo_box_t {
    _Atomic uint64_t seq;
    int32_t status; /**< OMPI_SUCCESS, or the error that left the data undefined */
    int32_t unused; /**< the data are aligned to 16 bytes, as any basic type wants */
    unsigned char data[];
} mca_coll_solo_box_t;

/** The beginning of a rank's area. */
typedef struct mca_coll_solo_area_t {
    _Alignas(SOLO_LINE) _Atomic uint64_t done;
    /* Written once, when the ranks meet, between two of their agreements. */
    _Alignas(SOLO_LINE) int64_t pid;
    uint64_t probe; /**< address of a number in that process, for the test of single copy */
    uint64_t token; /**< what is there */
    uint64_t start; /**< address of the memory in that process */
    int32_t group;  /**< of the rank; written by rank 0 */
    /* See coll_solo_room.c. */
    int32_t known_here;      /**< processes of this node that the rank knows of */
    int32_t node_processors; /**< that they may use */
    int64_t quota;           /**< thousandths of a processor; INT64_MAX: no limit */
    uint64_t quota_group;    /**< whose limit that is */
    uint64_t processors[COLL_PROCESSOR_WORDS]; /**< that the rank may use, as bits */
} mca_coll_solo_area_t;

/** The beginning of the memory. */
typedef struct mca_coll_solo_head_t {
    _Alignas(SOLO_LINE) uint64_t token; /**< tells that it is the right one */
} mca_coll_solo_head_t;

/** The boxes of an area that take turns. */
typedef struct mca_coll_solo_ring_t {
    unsigned boxes;
    size_t segment_bytes; /**< what a box holds */
    size_t box_bytes;     /**< from box to box */
    size_t offset;        /**< of the first box, in an area */
} mca_coll_solo_ring_t;

/** The memory of a communicator, as one rank sees it. */
typedef struct mca_coll_solo_memory_t {
    char *start;
    size_t bytes;
    size_t area_bytes; /**< from area to area */
    mca_coll_solo_ring_t large, small;
    const mca_coll_solo_ring_t *ring; /**< that of the call under way */
} mca_coll_solo_memory_t;

/* Odd numbers of lines, so that flags of different ranks and boxes do not meet in the same set of a cache. */
static inline size_t mca_coll_solo_odd_lines(size_t bytes)
{
    return ((bytes + SOLO_LINE - 1) / SOLO_LINE | 1) * SOLO_LINE;
}

static inline mca_coll_solo_ring_t mca_coll_solo_ring(unsigned boxes, size_t segment_bytes, size_t offset)
{
    return (mca_coll_solo_ring_t){ .boxes = boxes,
                                   .segment_bytes = segment_bytes,
                                   .box_bytes = mca_coll_solo_odd_lines(sizeof(mca_coll_solo_box_t) + segment_bytes),
                                   .offset = offset };
}

static inline size_t mca_coll_solo_ring_end(const mca_coll_solo_ring_t *ring)
{
    return ring->offset + ring->boxes * ring->box_bytes;
}

/** Lays it out, both rings about as long. @param segment_bytes what a large box holds */
static inline void mca_coll_solo_layout(mca_coll_solo_memory_t *memory, int size, size_t segment_bytes)
{
    memory->large = mca_coll_solo_ring(SOLO_LARGE_BOXES, segment_bytes, sizeof(mca_coll_solo_area_t));
    memory->small = mca_coll_solo_ring(SOLO_SMALL_BOXES, segment_bytes / (SOLO_SMALL_BOXES / SOLO_LARGE_BOXES),
                                       mca_coll_solo_ring_end(&memory->large));
    memory->ring = &memory->large;
    memory->area_bytes = mca_coll_solo_odd_lines(mca_coll_solo_ring_end(&memory->small));
    memory->bytes = sizeof(mca_coll_solo_head_t) + (size_t) size * memory->area_bytes;
}

static inline size_t mca_coll_solo_area_offset(const mca_coll_solo_memory_t *memory, int rank)
{
    return sizeof(mca_coll_solo_head_t) + (size_t) rank * memory->area_bytes;
}

static inline mca_coll_solo_area_t *mca_coll_solo_area(const mca_coll_solo_memory_t *memory, int rank)
{
    return (mca_coll_solo_area_t *) (void *) (memory->start + mca_coll_solo_area_offset(memory, rank));
}

static inline mca_coll_solo_box_t *mca_coll_solo_box(const mca_coll_solo_memory_t *memory, int rank, uint64_t seq)
{
    const mca_coll_solo_ring_t *ring = memory->ring;

    return (mca_coll_solo_box_t *) (void *) (memory->start + mca_coll_solo_area_offset(memory, rank) + ring->offset
                                             + (size_t) (seq & (ring->boxes - 1)) * ring->box_bytes);
}

/** Rule 1. Release: who sees the flag sees the data. */
static inline void mca_coll_solo_publish(mca_coll_solo_box_t *box, uint64_t seq, int status)
{
    box->status = status;
    atomic_store_explicit(&box->seq, seq, memory_order_release);
}

/** Rule 3. Release: the reads before it are over when it is seen, so that the box may be written again. */
static inline void mca_coll_solo_done(mca_coll_solo_area_t *area, uint64_t seq)
{
    atomic_store_explicit(&area->done, seq, memory_order_release);
}

/** Rules 2 and 4. Acquire: what is read or written after it comes after what the flag's writer did before. */
static inline uint64_t mca_coll_solo_seen(const _Atomic uint64_t *flag)
{
    return atomic_load_explicit(flag, memory_order_acquire);
}

static inline bool mca_coll_solo_reached(const _Atomic uint64_t *flag, uint64_t seq)
{
    return mca_coll_solo_seen(flag) >= seq;
}

#endif
