/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

int mca_coll_han_segments_open(mca_coll_han_segments_t *segments, mca_coll_han_module_t *module, void *buffer,
                               size_t count, ompi_datatype_t *datatype, size_t fs, size_t window, bool packing)
{
    int rc;

    segments->bytes = datatype->super.size * count;
    segments->fs = fs;
    segments->slots = 0;
    if (opal_datatype_is_contiguous_memory_layout(&datatype->super, (int32_t) count)) {
        segments->base = (char *) buffer + datatype->super.true_lb;
        return OMPI_SUCCESS;
    }
    segments->base = mca_coll_han_module_scratch(module, fs * window);
    if (NULL == segments->base) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    segments->slots = window;
    rc = coll_packing_open(&segments->packing, datatype, count, buffer, packing);
    if (OMPI_SUCCESS != rc) {
        mca_coll_han_segments_close(segments);
    }
    return rc;
}

void *mca_coll_han_segments_get(const mca_coll_han_segments_t *segments, size_t segment, size_t *length)
{
    const size_t start = segment * segments->fs;

    *length = segments->bytes - start < segments->fs ? segments->bytes - start : segments->fs;
    return segments->base + (0 == segments->slots ? start : segment % segments->slots * segments->fs);
}

int mca_coll_han_segments_pack(mca_coll_han_segments_t *segments, size_t segment)
{
    size_t length;
    char *slot = mca_coll_han_segments_get(segments, segment, &length);

    return 0 == segments->slots ? OMPI_SUCCESS : coll_packing_pack(&segments->packing, slot, length);
}

int mca_coll_han_segments_unpack(mca_coll_han_segments_t *segments, size_t segment)
{
    size_t length;
    char *slot = mca_coll_han_segments_get(segments, segment, &length);

    return 0 == segments->slots ? OMPI_SUCCESS : coll_packing_unpack(&segments->packing, slot, length);
}

void mca_coll_han_segments_close(mca_coll_han_segments_t *segments)
{
    if (0 != segments->slots) {
        coll_packing_close(&segments->packing);
    }
}
