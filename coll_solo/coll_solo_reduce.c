/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce and allreduce: the same, but that one rank or all get the result. */
#include "coll_solo.h"

#include <string.h>

enum { EVERYBODY = -1 };

struct reduce {
    mca_coll_solo_module_t *module;
    const char *own; /* this rank's operand; with MPI_IN_PLACE the receive buffer */
    char *rbuf;      /* NULL on a rank that gets nothing */
    size_t count, element;
    ompi_datatype_t *datatype;
    ompi_op_t *op;
    int root; /* or EVERYBODY */
};

/*
 * The sources of a segment: the other ranks' boxes, and the own operand.
 *
 * Where a rank's result overwrites its operand, the operand is taken from the own box.
 */
static const void *const *collect(const struct reduce *reduce, uint64_t seq, size_t box_offset, const void *own)
{
    mca_coll_solo_module_t *module = reduce->module;

    for (int rank = 0; rank < module->size; ++rank) {
        module->sources[rank] = mca_coll_solo_box(&module->memory, rank, seq)->data + box_offset;
    }
    if (NULL != own) {
        module->sources[module->rank] = own;
    }
    return module->sources;
}

/* All publish their operands; who gets the result reduces all of it. One number for a segment. */
static int copy(const struct reduce *reduce)
{
    mca_coll_solo_module_t *module = reduce->module;
    const size_t segment
        = mca_coll_solo_segment_size(module, reduce->count * reduce->element, reduce->element) / reduce->element;
    const bool in_place = reduce->own == reduce->rbuf;

    for (size_t done = 0; done < reduce->count; done += segment) {
        const size_t count = reduce->count - done < segment ? reduce->count - done : segment;
        const size_t offset = done * reduce->element, bytes = count * reduce->element;
        const uint64_t seq = ++module->seq;

        if (in_place || reduce->root != module->rank) {
            mca_coll_solo_box_t *box = mca_coll_solo_own_box(module, seq);

            memcpy(box->data, reduce->own + offset, bytes);
            module->copied += bytes;
            mca_coll_solo_publish(box, seq, OMPI_SUCCESS);
        }
        if (NULL != reduce->rbuf) {
            for (int i = 1; i < module->size; ++i) {
                (void) mca_coll_solo_wait_box(module, (module->rank + i) % module->size, seq);
            }
            mca_coll_solo_combine(reduce->op, reduce->datatype, count,
                                  collect(reduce, seq, 0, in_place ? NULL : reduce->own + offset), module->size,
                                  reduce->rbuf + offset);
            module->copied += bytes;
        }
        mca_coll_solo_finish(module, seq);
    }
    return OMPI_SUCCESS;
}

/* Puts operands of some ranks, in their order, together. */
static void combine_of(const struct reduce *reduce, const int *ranks, int count, uint64_t seq, size_t elements,
                       void *target)
{
    mca_coll_solo_module_t *module = reduce->module;

    for (int i = 0; i < count; ++i) {
        module->sources[i] = mca_coll_solo_wait_box(module, ranks[i], seq)->data;
    }
    mca_coll_solo_combine(reduce->op, reduce->datatype, elements, module->sources, count, target);
}

/*
 * As copy, in groups: a leader reduces its group's operands, the leaders' results are reduced by each of them, or by
 * the root alone, and the others of a group get it from their leader. Three numbers for a segment.
 */
static int copy_in_groups(const struct reduce *reduce)
{
    mca_coll_solo_module_t *module = reduce->module;
    const size_t segment
        = mca_coll_solo_segment_size(module, reduce->count * reduce->element, reduce->element) / reduce->element;
    const int *own_group = module->members;

    for (size_t done = 0; done < reduce->count; done += segment) {
        const size_t count = reduce->count - done < segment ? reduce->count - done : segment;
        const size_t offset = done * reduce->element, bytes = count * reduce->element;
        const uint64_t operands = module->seq + 1, partial = operands + 1, results = operands + 2;
        mca_coll_solo_box_t *box = mca_coll_solo_own_box(module, operands);

        module->seq = results;
        memcpy(box->data, reduce->own + offset, bytes);
        module->copied += bytes;
        mca_coll_solo_publish(box, operands, OMPI_SUCCESS);
        if (module->rank == module->leader) {
            box = mca_coll_solo_own_box(module, partial);
            combine_of(reduce, own_group, module->member_count, operands, count, box->data);
            mca_coll_solo_publish(box, partial, OMPI_SUCCESS);
        }
        if (EVERYBODY == reduce->root && module->rank == module->leader) {
            box = mca_coll_solo_own_box(module, results);
            combine_of(reduce, module->leaders, module->groups, partial, count, box->data);
            mca_coll_solo_publish(box, results, OMPI_SUCCESS);
        }
        if (EVERYBODY == reduce->root) {
            memcpy(reduce->rbuf + offset, mca_coll_solo_wait_box(module, module->leader, results)->data, bytes);
            module->copied += bytes;
        } else if (module->rank == reduce->root) {
            combine_of(reduce, module->leaders, module->groups, partial, count, reduce->rbuf + offset);
            module->copied += bytes;
        }
        mca_coll_solo_finish(module, results);
    }
    return OMPI_SUCCESS;
}

/* One segment of a reduction in slices; its numbers. */
struct segment {
    size_t first, count; /* elements */
    uint64_t operands, results;
    uint64_t relayed; /* or the same as results */
};

/* @param numbers of a segment: 2, or 3 where results are passed on */
static struct segment segment_at(const struct reduce *reduce, uint64_t seq, size_t number, unsigned numbers)
{
    const size_t most = reduce->module->memory.ring->segment_bytes / reduce->element, first = number * most;
    const uint64_t before = seq + numbers * number;

    return (struct segment){ first, reduce->count - first < most ? reduce->count - first : most, before + 1, before + 2,
                             before + numbers };
}

/* Publishes the operand but for what this rank reduces itself. */
static void say_operand(const struct reduce *reduce, const struct segment *segment)
{
    mca_coll_solo_module_t *module = reduce->module;
    const size_t element = reduce->element, count = segment->count;
    const mca_coll_solo_range_t mine = mca_coll_solo_slice(count, element, module->rank, module->size, EVERYBODY);
    const char *own = reduce->own + segment->first * element;
    mca_coll_solo_box_t *box = mca_coll_solo_own_box(module, segment->operands);

    memcpy(box->data, own, mine.first * element);
    memcpy(box->data + mine.end * element, own + mine.end * element, (count - mine.end) * element);
    module->copied += (count - mine.end + mine.first) * element;
    mca_coll_solo_publish(box, segment->operands, OMPI_SUCCESS);
}

static void say_result(const struct reduce *reduce, const struct segment *segment)
{
    mca_coll_solo_module_t *module = reduce->module;
    const size_t element = reduce->element;
    const mca_coll_solo_range_t mine
        = mca_coll_solo_slice(segment->count, element, module->rank, module->size, EVERYBODY);
    mca_coll_solo_box_t *box = mca_coll_solo_own_box(module, segment->results);

    (void) mca_coll_solo_wait_boxes(module, segment->operands);
    mca_coll_solo_combine(
        reduce->op, reduce->datatype, mine.end - mine.first,
        collect(reduce, segment->operands, mine.first * element, reduce->own + (segment->first + mine.first) * element),
        module->size, box->data);
    mca_coll_solo_publish(box, segment->results, OMPI_SUCCESS);
}

/* Bytes that hold any rank's slice. */
static size_t largest_slice(const struct reduce *reduce, size_t count)
{
    size_t largest = 0;

    for (int rank = 0; rank < reduce->module->size; ++rank) {
        const mca_coll_solo_range_t slice
            = mca_coll_solo_slice(count, reduce->element, rank, reduce->module->size, EVERYBODY);

        largest = largest < slice.end - slice.first ? slice.end - slice.first : largest;
    }
    return largest * reduce->element;
}

/* Other groups' results through one of the own, if its box holds them. */
static bool relays(const struct reduce *reduce)
{
    const mca_coll_solo_module_t *module = reduce->module;
    const size_t most = module->memory.ring->segment_bytes / reduce->element;

    return EVERYBODY == reduce->root && 1 < module->groups
           && largest_slice(reduce, most) * (size_t) module->relay_slots <= module->memory.ring->segment_bytes;
}

static void hear_results(const struct reduce *reduce, const struct segment *segment)
{
    mca_coll_solo_module_t *module = reduce->module;
    const bool passed_on = segment->relayed != segment->results;
    const size_t stride = passed_on ? largest_slice(reduce, segment->count) : 0;

    if (passed_on) {
        mca_coll_solo_relay(module, segment->results, segment->relayed, stride);
    }
    for (int i = 0; i < module->size; ++i) {
        const int rank = (module->rank + i) % module->size;
        const mca_coll_solo_range_t slice
            = mca_coll_solo_slice(segment->count, reduce->element, rank, module->size, EVERYBODY);
        const size_t bytes = (slice.end - slice.first) * reduce->element;
        const unsigned char *data;

        (void) mca_coll_solo_hear_relayed(module, rank, segment->results, segment->relayed, stride, &data);
        memcpy(reduce->rbuf + (segment->first + slice.first) * reduce->element, data, bytes);
        module->copied += bytes;
    }
}

/*
 * All publish their operands, each rank reduces a slice and publishes what comes out, and who gets the result collects
 * the slices. The operand of the next segment is published before the results of this one are waited for. With
 * MPI_IN_PLACE results overwrite operands of their own segment only.
 */
static int slices(const struct reduce *reduce)
{
    mca_coll_solo_module_t *module = reduce->module;
    const size_t most = module->memory.ring->segment_bytes / reduce->element;
    const size_t segments = (reduce->count + most - 1) / most;
    const uint64_t seq = module->seq;
    const unsigned numbers = relays(reduce) ? 3 : 2;

    module->seq += numbers * segments;
    for (size_t i = 0; i <= segments; ++i) {
        const struct segment next = segment_at(reduce, seq, i, numbers);
        const struct segment segment = segment_at(reduce, seq, 0 == i ? 0 : i - 1, numbers);

        if (i < segments) {
            say_operand(reduce, &next);
        }
        if (0 < i) {
            say_result(reduce, &segment);
            if (NULL != reduce->rbuf) {
                hear_results(reduce, &segment);
            }
            mca_coll_solo_finish(module, segment.relayed);
        }
    }
    return OMPI_SUCCESS;
}

struct reading {
    const struct reduce *reduce;
    uint64_t where; /* each rank has told where its buffers are */
};

/* A rank's slice of an allreduce. */
static int read_slice(const void *call, int rank, int from)
{
    const struct reading *reading = call;
    const struct reduce *reduce = reading->reduce;
    mca_coll_solo_module_t *module = reduce->module;
    const mca_coll_solo_range_t slice
        = mca_coll_solo_slice(reduce->count, reduce->element, rank, module->size, reduce->root);
    const size_t offset = slice.first * reduce->element, bytes = (slice.end - slice.first) * reduce->element;

    return mca_coll_solo_read(module, from, mca_coll_solo_ask_where(module, from, reading->where).receive + offset,
                              reduce->rbuf + offset, bytes);
}

/*
 * Each rank reads its slice of all operands and reduces it. In a reduce it writes the result to the root; in an
 * allreduce to its own buffer, where the others read it. With MPI_IN_PLACE this is right too: nobody but this rank
 * reads its own slice of its operand, and another's slice is overwritten when that one has said that it has its result.
 */
static int single_copy(const struct reduce *reduce)
{
    mca_coll_solo_module_t *module = reduce->module;
    const mca_coll_solo_range_t mine
        = mca_coll_solo_slice(reduce->count, reduce->element, module->rank, module->size, reduce->root);
    const size_t offset = mine.first * reduce->element;
    const uint64_t where = ++module->seq, ready = ++module->seq;
    mca_coll_solo_reduction_t reduction = { .module = module,
                                            .op = reduce->op,
                                            .datatype = reduce->datatype,
                                            .seq = where,
                                            .own = reduce->own,
                                            .result_rank = reduce->root };
    const size_t bytes = reduce->count * reduce->element;
    int rc = OMPI_SUCCESS;

    mca_coll_solo_tell_where(module, where, reduce->own, reduce->rbuf, bytes);
    (void) mca_coll_solo_wait_boxes(module, where);
    if (NULL != reduce->rbuf) {
        reduction.result = reduce->rbuf + offset;
    } else {
        reduction.remote = mca_coll_solo_ask_where(module, reduce->root, where).receive + offset;
    }
    /* A slice of each has another place where lengths differ. */
    for (int rank = 0; rank < module->size; ++rank) {
        rc = bytes == mca_coll_solo_ask_where(module, rank, where).bytes ? rc : MPI_ERR_TRUNCATE;
    }
    rc = OMPI_SUCCESS == rc ? mca_coll_solo_reduce_range(&reduction, mine) : rc;
    mca_coll_solo_publish(mca_coll_solo_own_box(module, ready), ready, rc);
    if (EVERYBODY == reduce->root) {
        const int other = mca_coll_solo_read_relayed(module, ready, read_slice, &(struct reading){ reduce, where });

        rc = OMPI_SUCCESS == rc ? other : rc;
        mca_coll_solo_finish(module, module->seq);
        mca_coll_solo_wait_done(module, module->seq);
    } else {
        const int other = mca_coll_solo_wait_boxes(module, ready);

        rc = OMPI_SUCCESS == rc ? other : rc;
        mca_coll_solo_finish(module, ready);
    }
    return rc;
}

static int run(struct reduce *reduce, mca_coll_solo_algorithm_t algorithm)
{
    switch (algorithm) {
    case SOLO_COPY:
        /* Ranks that alternate between groups would be combined in another order. */
        return 1 < reduce->module->groups && (reduce->module->in_order || ompi_op_is_commute(reduce->op))
                   ? copy_in_groups(reduce)
                   : copy(reduce);
    case SOLO_SLICES:
        return slices(reduce);
    default:
        return single_copy(reduce);
    }
}

int mca_coll_solo_reduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                         ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_REDUCE];
    mca_coll_solo_algorithm_t algorithm;
    struct reduce reduce = { .module = module,
                             .own = MPI_IN_PLACE == sbuf ? rbuf : sbuf,
                             .rbuf = module->rank == root ? rbuf : NULL,
                             .count = (size_t) count,
                             .element = datatype->super.size,
                             .datatype = datatype,
                             .op = op,
                             .root = root };
    int rc;

    if (0 == count) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_solo_decide_reduction(module, SOLO_REDUCE, reduce.count, datatype, &algorithm);
    if (OMPI_SUCCESS == rc && SOLO_FALLBACK == algorithm) {
        return fallback->fn.reduce(sbuf, rbuf, count, datatype, op, root, comm, fallback->module);
    }
    return OMPI_SUCCESS == rc ? run(&reduce, algorithm) : rc;
}

int mca_coll_solo_allreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                            ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_ALLREDUCE];
    mca_coll_solo_algorithm_t algorithm;
    struct reduce reduce = { .module = module,
                             .own = MPI_IN_PLACE == sbuf ? rbuf : sbuf,
                             .rbuf = rbuf,
                             .count = (size_t) count,
                             .element = datatype->super.size,
                             .datatype = datatype,
                             .op = op,
                             .root = EVERYBODY };
    int rc;

    if (0 == count) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_solo_decide_reduction(module, SOLO_ALLREDUCE, reduce.count, datatype, &algorithm);
    if (OMPI_SUCCESS == rc && SOLO_FALLBACK == algorithm) {
        return fallback->fn.allreduce(sbuf, rbuf, count, datatype, op, comm, fallback->module);
    }
    return OMPI_SUCCESS == rc ? run(&reduce, algorithm) : rc;
}
