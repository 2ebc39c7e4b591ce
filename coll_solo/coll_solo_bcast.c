/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

#include <string.h>

/* One broadcast. */
struct bcast {
    mca_coll_solo_module_t *module;
    mca_coll_solo_data_t *data; /* not in it: to clear all of a convertor takes as long as a short message */
    size_t bytes;
    int root;
    int rc; /* of what has come before the first segment */
};

/* Whom this rank reads from: the root, or, in another group than the root's, the leader; that one reads from the root.
 */
static int source_of(const struct bcast *bcast)
{
    const mca_coll_solo_module_t *module = bcast->module;

    return module->group_of[module->rank] == module->group_of[bcast->root] || module->rank == module->leader
               ? bcast->root
               : module->leader;
}

/* Whether others read from this rank, which is not the root. */
static bool leads_another_group(const struct bcast *bcast)
{
    const mca_coll_solo_module_t *module = bcast->module;

    return module->rank == module->leader && module->group_of[module->rank] != module->group_of[bcast->root];
}

/* Puts a segment into this rank's box, for others: out of the message, or as it comes from the root. */
static int pass_on(struct bcast *bcast, uint64_t seq, const mca_coll_solo_box_t *from, size_t length, int status)
{
    mca_coll_solo_module_t *module = bcast->module;
    mca_coll_solo_box_t *box = mca_coll_solo_own_box(module, seq);

    if (OMPI_SUCCESS == status && NULL == from) {
        status = mca_coll_solo_data_get(module, bcast->data, box->data, length);
    } else if (OMPI_SUCCESS == status) {
        memcpy(box->data, from->data, length);
        module->copied += length;
    }
    mca_coll_solo_publish(box, seq, status);
    return status;
}

/* The root fills its boxes, the others empty them. A rank that fails goes on, so that the others need not wait. */
static int copy(struct bcast *bcast)
{
    mca_coll_solo_module_t *module = bcast->module;
    const size_t segment = mca_coll_solo_segment_size(module, bcast->bytes, 1);
    const int source = source_of(bcast);
    const bool leads = leads_another_group(bcast);
    int rc = bcast->rc;

    for (size_t done = 0; done < bcast->bytes; done += segment) {
        const size_t length = bcast->bytes - done < segment ? bcast->bytes - done : segment;
        const uint64_t seq = ++module->seq;

        if (module->rank == bcast->root) {
            rc = pass_on(bcast, seq, NULL, length, rc);
        } else {
            const mca_coll_solo_box_t *box = mca_coll_solo_wait_box(module, source, seq);

            rc = OMPI_SUCCESS == rc ? box->status : rc;
            if (leads) {
                (void) pass_on(bcast, seq, box, length, box->status);
                box = mca_coll_solo_box(&module->memory, module->rank, seq);
            }
            rc = OMPI_SUCCESS == rc ? mca_coll_solo_data_put(module, bcast->data, box->data, length) : rc;
        }
        mca_coll_solo_finish(module, seq);
    }
    return rc;
}

/* Nobody leaves before all have what they get from, or write to, this rank's buffer; and all hear of failures. */
static int conclude(struct bcast *bcast, bool with_all, int rc)
{
    mca_coll_solo_module_t *module = bcast->module;
    const uint64_t end = ++module->seq;
    int other;

    mca_coll_solo_publish(mca_coll_solo_own_box(module, end), end, rc);
    other = with_all ? mca_coll_solo_wait_boxes(module, end) : mca_coll_solo_wait_box(module, bcast->root, end)->status;
    mca_coll_solo_finish(module, end);
    return OMPI_SUCCESS == rc ? other : rc;
}

/* Bytes after which who leads a group lets it read. */
enum { PASSED_ON = 262144 };

/*
 * A rank that leads another group than the root's reads piece by piece, and its group reads each piece from it: one
 * number for a piece. Where its buffer has gaps, its group reads from the root.
 */
static int single_copy_in_groups(struct bcast *bcast, uint64_t seq)
{
    mca_coll_solo_module_t *module = bcast->module;
    const bool leads = leads_another_group(bcast);
    int source = source_of(bcast), rc = bcast->rc;
    uint64_t from = mca_coll_solo_ask_where(module, source, seq).receive;
    bool follows = source != bcast->root;

    if (0 == from) {
        source = bcast->root;
        from = mca_coll_solo_ask_where(module, source, seq).receive;
        follows = false;
    }
    for (size_t done = 0; done < bcast->bytes; done += PASSED_ON) {
        const size_t length = bcast->bytes - done < PASSED_ON ? bcast->bytes - done : PASSED_ON;
        const uint64_t piece = ++module->seq;

        if (follows) {
            const int status = mca_coll_solo_wait_box(module, source, piece)->status;

            rc = OMPI_SUCCESS == rc ? status : rc;
        }
        if (module->rank != bcast->root && OMPI_SUCCESS == rc) {
            rc = mca_coll_solo_read_data(module, source, from + done, bcast->data, length);
        }
        if (leads) {
            mca_coll_solo_publish(mca_coll_solo_own_box(module, piece), piece, rc);
        }
        mca_coll_solo_finish(module, piece);
    }
    return conclude(bcast, true, rc);
}

/*
 * Each rank tells where its buffer is. The message, which is as long as the root says, is cut into as many parts as
 * there are ranks: a rank reads all but the last from the root, and the root writes the last one to each, so that it
 * does its share too. A rank whose buffer has gaps reads all of it; where the root's has, everybody copies.
 */
static int single_copy(struct bcast *bcast)
{
    mca_coll_solo_module_t *module = bcast->module;
    const uint64_t seq = ++module->seq;
    mca_coll_solo_where_t where;
    size_t share, rest;
    int rc;

    mca_coll_solo_tell_where(module, seq, bcast->data->next, bcast->data->next, bcast->bytes);
    where = mca_coll_solo_ask_where(module, bcast->root, seq);
    if (where.bytes > bcast->bytes && OMPI_SUCCESS == bcast->rc) {
        bcast->rc = MPI_ERR_TRUNCATE;
    }
    bcast->bytes = where.bytes;
    share = bcast->bytes / (size_t) module->size / 4096 * 4096;
    rest = bcast->bytes - share;
    rc = bcast->rc;
    if (0 == where.send) {
        mca_coll_solo_finish(module, seq);
        return copy(bcast);
    }
    if (1 < module->groups) {
        return single_copy_in_groups(bcast, seq);
    }
    if (module->rank == bcast->root) {
        for (int i = 1; i < module->size && OMPI_SUCCESS == rc; ++i) {
            const int rank = (module->rank + i) % module->size;
            const mca_coll_solo_where_t other = mca_coll_solo_ask_where(module, rank, seq);

            if (0 != other.receive && bcast->bytes <= other.bytes) {
                rc = mca_coll_solo_write(module, rank, bcast->data->next + rest, other.receive + rest, share);
            }
        }
    } else if (OMPI_SUCCESS == rc) {
        rc = mca_coll_solo_read_data(module, bcast->root, where.send, bcast->data,
                                     NULL == bcast->data->next ? bcast->bytes : rest);
    }
    return conclude(bcast, module->rank == bcast->root, rc);
}

int mca_coll_solo_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                        mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_BCAST];
    mca_coll_solo_data_t data;
    struct bcast bcast
        = { .module = module, .data = &data, .bytes = datatype->super.size * (size_t) count, .root = root };
    mca_coll_solo_algorithm_t algorithm;
    int rc, opened;

    if (0 == bcast.bytes) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_solo_decide(module, SOLO_BCAST, bcast.bytes, 1, &algorithm);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (SOLO_FALLBACK == algorithm) {
        return fallback->fn.bcast(buffer, count, datatype, root, comm, fallback->module);
    }
    opened = bcast.rc = mca_coll_solo_data_open(&data, buffer, (size_t) count, datatype, module->rank == root);
    rc = SOLO_COPY == algorithm ? copy(&bcast) : single_copy(&bcast);
    if (OMPI_SUCCESS == opened) {
        mca_coll_solo_data_close(&data);
    }
    return rc;
}
