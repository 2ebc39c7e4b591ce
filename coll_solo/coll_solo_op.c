/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions combine in the order of the ranks, or, where the operation commutes, of groups and of the ranks in each:
 * those that do not commute are right, and a call's result does not depend on timing and is the same on all ranks.
 */
#include "coll_solo.h"

#include <string.h>

/* Whether target = a op b is there, without copying b first. */
static bool has_three_buffers(const ompi_op_t *op, const ompi_datatype_t *datatype)
{
    return ompi_op_is_intrinsic((ompi_op_t *) op) && ompi_datatype_is_predefined((ompi_datatype_t *) datatype)
           && 0 <= ompi_op_ddt_map[datatype->id] && NULL != op->o_3buff_intrinsic.fns[ompi_op_ddt_map[datatype->id]];
}

void mca_coll_solo_combine(ompi_op_t *op, ompi_datatype_t *datatype, size_t count, const void *const *sources,
                           int source_count, void *target)
{
    int left = source_count - 1; /* the leftmost one that target contains */

    if (0 == count) {
        return;
    }
    if (target != sources[left] && 0 < left && has_three_buffers(op, datatype)) {
        --left;
        ompi_3buff_op_reduce(op, (void *) (uintptr_t) sources[left], (void *) (uintptr_t) sources[left + 1], target,
                             count, datatype);
    } else if (target != sources[left]) {
        memcpy(target, sources[left], count * datatype->super.size);
    }
    for (int i = left - 1; 0 <= i; --i) {
        ompi_op_reduce(op, (void *) (uintptr_t) sources[i], target, count, datatype);
    }
}

/*
 * Shares of ranks before a rank, in the weights of mca_coll_solo_slice. A share costs a rank n - 1 copies and as many
 * operations, each about a third of a copy, and one copy more if the result is not its own.
 */
static size_t shares_before(int rank, int size, int root)
{
    return (size_t) rank * 4 * (size_t) (size - 1) + (0 <= root && root < rank ? 3 : 0);
}

/* Whole cache lines where elements divide them, so that neighbours do not write into one line. */
mca_coll_solo_range_t mca_coll_solo_slice(size_t count, size_t element, int rank, int size, int root)
{
    const size_t unit = 0 == SOLO_LINE % element ? SOLO_LINE / element : 1;
    const size_t units = (count + unit - 1) / unit;
    const size_t shares = shares_before(size, size, root);
    const size_t first = units * shares_before(rank, size, root) / shares * unit;
    const size_t end = units * shares_before(rank + 1, size, root) / shares * unit;

    return (mca_coll_solo_range_t){ first < count ? first : count, end < count ? end : count };
}

/* A rank's operand for a piece: the own one in place, another one through scratch memory. */
static int operand(const mca_coll_solo_reduction_t *reduction, int rank, size_t offset, size_t bytes, void *scratch,
                   const void **where)
{
    mca_coll_solo_module_t *module = reduction->module;

    if (rank == module->rank) {
        *where = reduction->own + offset;
        return OMPI_SUCCESS;
    }
    *where = scratch;
    return mca_coll_solo_read(module, rank, mca_coll_solo_ask_where(module, rank, reduction->seq).send + offset,
                              scratch, bytes);
}

/* To sum, by way of scratch memory for the next operand. */
static int reduce_piece(const mca_coll_solo_reduction_t *reduction, size_t offset, size_t count, void *sum, void *next)
{
    const size_t bytes = count * reduction->datatype->super.size;
    const void *pair[2];
    int rc = operand(reduction, reduction->module->size - 1, offset, bytes, sum, &pair[1]);

    for (int rank = reduction->module->size - 2; 0 <= rank && OMPI_SUCCESS == rc; --rank) {
        rc = operand(reduction, rank, offset, bytes, next, &pair[0]);
        if (OMPI_SUCCESS == rc) {
            mca_coll_solo_combine(reduction->op, reduction->datatype, count, pair, 2, sum);
            pair[1] = sum;
        }
    }
    return rc;
}

int mca_coll_solo_reduce_range(const mca_coll_solo_reduction_t *reduction, mca_coll_solo_range_t range)
{
    mca_coll_solo_module_t *module = reduction->module;
    const size_t element = reduction->datatype->super.size, step = SOLO_PIECE / element;
    void *scratch = mca_coll_solo_scratch(module, 0), *next = mca_coll_solo_scratch(module, 1);
    int rc = NULL == scratch || NULL == next ? SOLO_NO_MEMORY : OMPI_SUCCESS;

    for (size_t first = range.first; first < range.end && OMPI_SUCCESS == rc; first += step) {
        const size_t count = range.end - first < step ? range.end - first : step;
        const size_t written = (first - range.first) * element;
        char *result = NULL == reduction->result ? NULL : reduction->result + written;
        /* In place, the own operand is there until it has been read. */
        void *sum = NULL == result || result == reduction->own + first * element ? scratch : result;

        rc = reduce_piece(reduction, first * element, count, sum, next);
        if (OMPI_SUCCESS == rc && NULL == result) {
            rc = mca_coll_solo_write(module, reduction->result_rank, sum, reduction->remote + written, count * element);
        } else if (OMPI_SUCCESS == rc && sum != result) {
            memcpy(result, sum, count * element);
        }
    }
    return rc;
}
