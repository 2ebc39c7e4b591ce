/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include "ompi/proc/proc.h"

int mca_coll_han_segments_open(mca_coll_han_segments_t *segments, mca_coll_han_module_t *module, void *buffer,
                               size_t count, ompi_datatype_t *datatype, size_t fs, size_t window, bool packing)
{
    const opal_convertor_t *like = ompi_mpi_local_convertor;
    int rc;

    segments->bytes = datatype->super.size * count;
    segments->fs = fs;
    segments->slots = 0;
    OBJ_CONSTRUCT(&segments->convertor, opal_convertor_t);
    if (opal_datatype_is_contiguous_memory_layout(&datatype->super, (int32_t) count)) {
        segments->base = (char *) buffer + datatype->super.true_lb;
        return OMPI_SUCCESS;
    }
    segments->slots = window;
    segments->base = mca_coll_han_module_scratch(module, fs * window);
    if (NULL == segments->base) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
    } else if (packing) {
        rc = opal_convertor_copy_and_prepare_for_send(like, &datatype->super, count, buffer, 0, &segments->convertor);
    } else {
        rc = opal_convertor_copy_and_prepare_for_recv(like, &datatype->super, count, buffer, 0, &segments->convertor);
    }
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

typedef int32_t (*convert_t)(opal_convertor_t *convertor, struct iovec *iov, uint32_t *iov_count, size_t *bytes);

static int convert(mca_coll_han_segments_t *segments, size_t segment, convert_t function)
{
    struct iovec iov;
    uint32_t iov_count = 1;
    size_t length, done;

    if (0 == segments->slots) {
        return OMPI_SUCCESS;
    }
    iov.iov_base = mca_coll_han_segments_get(segments, segment, &length);
    iov.iov_len = done = length;
    if (0 > function(&segments->convertor, &iov, &iov_count, &done) || done != length) {
        return OMPI_ERROR;
    }
    return OMPI_SUCCESS;
}

int mca_coll_han_segments_pack(mca_coll_han_segments_t *segments, size_t segment)
{
    return convert(segments, segment, opal_convertor_pack);
}

int mca_coll_han_segments_unpack(mca_coll_han_segments_t *segments, size_t segment)
{
    return convert(segments, segment, opal_convertor_unpack);
}

void mca_coll_han_segments_close(mca_coll_han_segments_t *segments)
{
    OBJ_DESTRUCT(&segments->convertor);
}
