/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

#include <string.h>

struct reduce_scatter {
    mca_coll_solo_module_t *module;
    const char *own; /* this rank's operands, a block for each rank; with MPI_IN_PLACE the receive buffer */
    char *rbuf;
    size_t count, element; /* of a block */
    ompi_datatype_t *datatype;
    ompi_op_t *op;
};

/*
 * All publish a piece of each block, and each rank reduces the pieces that are its own. With MPI_IN_PLACE the result
 * overwrites the same piece of block 0, which is published by then; rank 0, whose operand that is, takes it from its
 * box.
 */
static int copy(const struct reduce_scatter *call)
{
    mca_coll_solo_module_t *module = call->module;
    const size_t element = call->element, piece = module->memory.ring->segment_bytes / (size_t) module->size / element;
    const bool in_place = call->own == call->rbuf;

    for (size_t done = 0; done < call->count; done += piece) {
        const size_t count = call->count - done < piece ? call->count - done : piece;
        const uint64_t seq = ++module->seq;
        mca_coll_solo_box_t *box = mca_coll_solo_own_box(module, seq);

        for (int rank = 0; rank < module->size; ++rank) {
            if (in_place || rank != module->rank) {
                memcpy(box->data + (size_t) rank * piece * element,
                       call->own + ((size_t) rank * call->count + done) * element, count * element);
            }
        }
        module->copied += (size_t) module->size * count * element;
        mca_coll_solo_publish(box, seq, OMPI_SUCCESS);
        (void) mca_coll_solo_wait_boxes(module, seq);
        for (int rank = 0; rank < module->size; ++rank) {
            module->sources[rank]
                = mca_coll_solo_box(&module->memory, rank, seq)->data + (size_t) module->rank * piece * element;
        }
        if (!in_place) {
            module->sources[module->rank] = call->own + ((size_t) module->rank * call->count + done) * element;
        }
        mca_coll_solo_combine(call->op, call->datatype, count, module->sources, module->size,
                              call->rbuf + done * element);
        mca_coll_solo_finish(module, seq);
    }
    return OMPI_SUCCESS;
}

/* Each rank reads its block of all operands. */
static int single_copy(const struct reduce_scatter *call)
{
    mca_coll_solo_module_t *module = call->module;
    const uint64_t seq = ++module->seq;
    const size_t first = (size_t) module->rank * call->count;
    const mca_coll_solo_reduction_t reduction = {
        .module = module, .op = call->op, .datatype = call->datatype, .seq = seq, .own = call->own, .result = call->rbuf
    };
    int rc;

    mca_coll_solo_tell_where(module, seq, call->own, NULL, call->count * call->element);
    rc = mca_coll_solo_reduce_range(&reduction, (mca_coll_solo_range_t){ first, first + call->count });
    mca_coll_solo_finish(module, seq);
    mca_coll_solo_wait_done(module, seq);
    return rc;
}

int mca_coll_solo_reduce_scatter_block(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype,
                                       ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_REDUCE_SCATTER_BLOCK];
    mca_coll_solo_algorithm_t algorithm;
    struct reduce_scatter call = { .module = module,
                                   .own = MPI_IN_PLACE == sbuf ? rbuf : sbuf,
                                   .rbuf = rbuf,
                                   .count = (size_t) count,
                                   .element = datatype->super.size,
                                   .datatype = datatype,
                                   .op = op };
    int rc;

    if (0 == count) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_solo_decide_reduction(module, SOLO_REDUCE_SCATTER_BLOCK, call.count, datatype, &algorithm);
    if (OMPI_SUCCESS == rc && SOLO_FALLBACK == algorithm) {
        return fallback->fn.reduce_scatter_block(sbuf, rbuf, count, datatype, op, comm, fallback->module);
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    /* In place, results would overwrite what others have still to read. */
    return SOLO_COPY == algorithm || MPI_IN_PLACE == sbuf ? copy(&call) : single_copy(&call);
}
