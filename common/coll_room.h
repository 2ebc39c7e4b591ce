/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Temporary memory that a reduction operation may write.
 *
 * A user's operation copies whole C structures: also the padding in front of the first member and behind the last one,
 * which belongs to no message. So an operand's memory is a whole number of extents; from the first byte of data to the
 * last (opal_datatype_span()) is too little. Plain arithmetic, without Open MPI, so that unit tests have it too.
 */
#ifndef COLL_ROOM_H
#define COLL_ROOM_H

#include <stddef.h>

/** An alignment that suits every type, as malloc() gives it. */
enum { COLL_ROOM_ALIGNMENT = _Alignof(max_align_t) };

/** Of an element of a datatype, in bytes relative to its address, as MPI defines them. */
typedef struct coll_element_t {
    ptrdiff_t lb, ub, true_lb, true_ub;
} coll_element_t;

/** Memory for an operand. With its first byte at an aligned `memory`, the operand's address is `memory - first`. */
typedef struct coll_room_t {
    size_t bytes;    /**< a multiple of the alignment, so that the next operand may follow; 0 for no elements */
    ptrdiff_t first; /**< of the first byte, relative to the operand's address; a multiple of the alignment */
} coll_room_t;

static inline ptrdiff_t coll_room_lower(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static inline ptrdiff_t coll_room_upper(ptrdiff_t a, ptrdiff_t b)
{
    return a > b ? a : b;
}

/** Memory for `count` elements, each of which the operation may write as a whole. */
static inline coll_room_t coll_room(coll_element_t element, size_t count)
{
    const ptrdiff_t alignment = COLL_ROOM_ALIGNMENT, extent = element.ub - element.lb;
    ptrdiff_t low = coll_room_lower(coll_room_lower(element.lb, element.ub), element.true_lb);
    ptrdiff_t high = coll_room_upper(coll_room_upper(element.lb, element.ub), element.true_ub);
    ptrdiff_t step;

    if (0 == count) {
        return (coll_room_t){ 0, 0 };
    }
    /* The first member is not part of the type, and the lower bound is behind it: the structure begins before. */
    if (0 < low && low < extent) {
        low = 0;
    }
    step = (ptrdiff_t) (count - 1) * extent;
    low += coll_room_lower(step, 0);
    high += coll_room_upper(step, 0);
    low -= (low % alignment + alignment) % alignment;
    return (coll_room_t){ (size_t) ((high - low + alignment - 1) / alignment * alignment), low };
}

/** The same, of an ompi_datatype_t. */
#define COLL_ROOM_OF(datatype, count)                                                                                  \
    coll_room((coll_element_t){ (datatype)->super.lb, (datatype)->super.ub, (datatype)->super.true_lb,                 \
                                (datatype)->super.true_ub },                                                           \
              count)

#endif
