/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include <stdint.h>

void mca_coll_han_segments_cut(mca_coll_han_segments_t *segments, han_module_t *module,
                               const mca_coll_adapt_call_t *call, size_t fs)
{
    const bool moved = NULL == call->op;
    const size_t size = call->datatype->super.size, unit_size = moved ? 1 : size;

    *segments = (mca_coll_han_segments_t){
        .module = module,
        .unit = moved ? MPI_BYTE : call->datatype,
        .count = moved       ? size * call->count
                 : 0 == size ? 0
                             : call->count,
    };
    segments->length = 0 == fs || 0 == unit_size ? segments->count : fs / unit_size;
    if (0 == segments->length) {
        segments->length = 1;
    }
}

/* The user's buffer: each segment has its place. */
static mca_coll_han_memory_t in_place(const mca_coll_han_segments_t *segments, const void *buffer)
{
    ptrdiff_t lb, extent;

    ompi_datatype_get_extent(segments->unit, &lb, &extent);
    return (mca_coll_han_memory_t){ (char *) buffer, segments->length * (size_t) extent, SIZE_MAX };
}

/* Slots in temporary memory. */
static int in_slots(mca_coll_han_segments_t *segments, mca_coll_han_place_t place, size_t window, coll_room_t slot)
{
    char *memory = mca_coll_han_memory_take(segments->module, slot.bytes * window);

    if (NULL == memory) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    segments->scratch = memory;
    segments->memories[place] = (mca_coll_han_memory_t){ memory - slot.first, slot.bytes, window };
    return OMPI_SUCCESS;
}

static int open_moved(mca_coll_han_segments_t *segments, const mca_coll_adapt_call_t *call, size_t window)
{
    const bool at_root = call->root == ompi_comm_rank(call->comm);
    int rc;

    if (opal_datatype_is_contiguous_memory_layout(&call->datatype->super, (int32_t) call->count)) {
        segments->memories[HAN_OUTPUT] = in_place(segments, (char *) call->rbuf + call->datatype->super.true_lb);
        return OMPI_SUCCESS;
    }
    rc = in_slots(segments, HAN_OUTPUT, window, (coll_room_t){ segments->length, 0 });
    if (OMPI_SUCCESS == rc) {
        rc = coll_packing_open(&segments->packing, call->datatype, call->count, call->rbuf, at_root);
        segments->packed = OMPI_SUCCESS == rc;
    }
    return rc;
}

int mca_coll_han_segments_open(mca_coll_han_segments_t *segments, const mca_coll_adapt_call_t *call, size_t window,
                               bool slots)
{
    int rc = OMPI_SUCCESS;

    if (NULL == call->op) {
        rc = open_moved(segments, call, window);
    } else {
        segments->memories[HAN_INPUT] = in_place(segments, call->sbuf);
        segments->memories[HAN_OUTPUT] = in_place(segments, call->rbuf);
        if (slots) {
            rc = in_slots(segments, HAN_SLOTS, window, COLL_ROOM_OF(call->datatype, segments->length));
        }
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_han_segments_close(segments);
    }
    return rc;
}

void *mca_coll_han_segments_get(const mca_coll_han_segments_t *segments, mca_coll_han_place_t place, size_t segment)
{
    const mca_coll_han_memory_t *memory = &segments->memories[place];

    return HAN_NOWHERE == place ? NULL : memory->base + segment % memory->slots * memory->stride;
}

size_t mca_coll_han_segments_length(const mca_coll_han_segments_t *segments, size_t segment)
{
    const size_t rest = segments->count - segment * segments->length;

    return rest < segments->length ? rest : segments->length;
}

int mca_coll_han_segments_pack(mca_coll_han_segments_t *segments, size_t segment)
{
    return !segments->packed
               ? OMPI_SUCCESS
               : coll_packing_pack(&segments->packing, mca_coll_han_segments_get(segments, HAN_OUTPUT, segment),
                                   mca_coll_han_segments_length(segments, segment));
}

int mca_coll_han_segments_unpack(mca_coll_han_segments_t *segments, size_t segment)
{
    return !segments->packed
               ? OMPI_SUCCESS
               : coll_packing_unpack(&segments->packing, mca_coll_han_segments_get(segments, HAN_OUTPUT, segment),
                                     mca_coll_han_segments_length(segments, segment));
}

void mca_coll_han_segments_close(mca_coll_han_segments_t *segments)
{
    if (segments->packed) {
        coll_packing_close(&segments->packing);
    }
    mca_coll_han_memory_give(segments->module, segments->scratch);
}
