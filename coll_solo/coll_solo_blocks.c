/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives in which each rank has a block: gather, scatter, allgather, alltoall. They move packed bytes; of a block
 * all ranks know the same number, whatever types they pass.
 */
#include "coll_solo.h"

#include <stdlib.h>
#include <string.h>

/* One side of a call: blocks one after another. */
struct side {
    char *buffer; /* of block 0 */
    size_t count; /* elements of a block */
    ompi_datatype_t *datatype;
};

struct blocks {
    mca_coll_solo_module_t *module;
    struct side send, receive;
    size_t bytes; /* packed, of a block */
    int root;
};

static char *block_at(const struct side *side, int block)
{
    ptrdiff_t lb, extent;

    ompi_datatype_get_extent(side->datatype, &lb, &extent);
    return side->buffer + (ptrdiff_t) side->count * extent * block;
}

/* Where all blocks of a side are one after another without gaps: the first byte. */
static unsigned char *all_contiguous(const struct side *side, int blocks)
{
    return mca_coll_solo_contiguous(side->buffer, side->count * (size_t) blocks, side->datatype);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* -- blocks that pass through boxes -- */

/* The streams of all ranks' blocks on one side; where one cannot be opened, none is. */
static mca_coll_solo_data_t *streams_open(const struct side *side, int size, bool pack)
{
    mca_coll_solo_data_t *streams = malloc((size_t) size * sizeof(*streams));
    int opened = 0;

    while (NULL != streams && opened < size
           && OMPI_SUCCESS
                  == mca_coll_solo_data_open(&streams[opened], block_at(side, opened), side->count, side->datatype,
                                             pack)) {
        ++opened;
    }
    if (NULL != streams && opened < size) {
        while (0 < opened) {
            mca_coll_solo_data_close(&streams[--opened]);
        }
        free(streams);
        streams = NULL;
    }
    return streams;
}

static void streams_close(mca_coll_solo_data_t *streams, int size)
{
    for (int i = 0; NULL != streams && i < size; ++i) {
        mca_coll_solo_data_close(&streams[i]);
    }
    free(streams);
}

/* What a rank says in a number: one segment for all, or pieces of one length, one for each rank. */
enum says { NOTHING, ONE, ONE_EACH };

/*
 * All four as one: each rank fills its box with what it says, and reads what it is to hear. Who says and hears nothing
 * is done with all numbers at once.
 *
 * send: one stream (ONE) or one for each rank (ONE_EACH). receive: one for each rank that is heard, by its number. A
 * rank copies its own block directly.
 */
struct talk {
    enum says says; /* this rank */
    bool hears_all; /* this rank hears all others */
    int hears;      /* if not: this one; -1: none */
    bool each;      /* who is heard says ONE_EACH */
    mca_coll_solo_data_t *send, *receive;
};

static int fill(const struct blocks *blocks, const struct talk *talk, mca_coll_solo_box_t *box, size_t piece,
                size_t length)
{
    mca_coll_solo_module_t *module = blocks->module;
    int rc = OMPI_SUCCESS;

    if (ONE == talk->says) {
        return mca_coll_solo_data_get(module, talk->send, box->data, length);
    }
    for (int rank = 0; rank < module->size && OMPI_SUCCESS == rc; ++rank) {
        if (rank != module->rank) {
            rc = mca_coll_solo_data_get(module, &talk->send[rank], box->data + (size_t) rank * piece, length);
        }
    }
    return rc;
}

static int hear(const struct blocks *blocks, const struct talk *talk, int rank, uint64_t seq, size_t piece,
                size_t length)
{
    mca_coll_solo_module_t *module = blocks->module;
    const mca_coll_solo_box_t *box = mca_coll_solo_wait_box(module, rank, seq);
    const size_t offset = talk->each ? (size_t) module->rank * piece : 0;

    return OMPI_SUCCESS != box->status
               ? box->status
               : mca_coll_solo_data_put(module, &talk->receive[talk->hears_all ? rank : 0], box->data + offset, length);
}

/* Publishes what this rank says in a number; a rank that fails says so, and goes on. */
static int say(const struct blocks *blocks, const struct talk *talk, uint64_t seq, size_t piece, size_t length,
               int status)
{
    mca_coll_solo_box_t *box = mca_coll_solo_own_box(blocks->module, seq);
    const int rc = OMPI_SUCCESS == status ? fill(blocks, talk, box, piece, length) : status;

    mca_coll_solo_publish(box, seq, rc);
    return rc;
}

/* Hears those that this rank is to hear; the first error stays. */
static int hear_all(const struct blocks *blocks, const struct talk *talk, uint64_t seq, size_t piece, size_t length,
                    int status)
{
    mca_coll_solo_module_t *module = blocks->module;
    const int first = talk->hears_all ? 1 : 0, end = talk->hears_all ? module->size : 0 <= talk->hears ? 1 : 0;

    for (int i = first; i < end; ++i) {
        const int rank = talk->hears_all ? (module->rank + i) % module->size : talk->hears;
        const int heard = OMPI_SUCCESS == status ? hear(blocks, talk, rank, seq, piece, length)
                                                 : mca_coll_solo_wait_box(module, rank, seq)->status;

        status = OMPI_SUCCESS == status ? heard : status;
    }
    return status;
}

/*
 * A rank says as much as there are boxes before it hears: so a late one holds up nobody at once, and where ranks take
 * turns on a core they need fewer of them.
 */
static int talk_all(const struct blocks *blocks, const struct talk *talk, bool each, int status)
{
    mca_coll_solo_module_t *module = blocks->module;
    const size_t piece = mca_coll_solo_piece(module, module->memory.ring, each);
    const uint64_t numbers = (blocks->bytes + piece - 1) / piece, first = module->seq + 1;
    uint64_t said = 0;

    module->seq += numbers;
    for (uint64_t heard = 0; heard < numbers; ++heard) {
        for (; said < numbers && said < heard + module->memory.ring->boxes && NOTHING != talk->says; ++said) {
            status
                = say(blocks, talk, first + said, piece, least(piece, blocks->bytes - (size_t) said * piece), status);
        }
        status = hear_all(blocks, talk, first + heard, piece, least(piece, blocks->bytes - (size_t) heard * piece),
                          status);
        mca_coll_solo_finish(module, first + heard);
    }
    return status;
}

/* The own block, but in place. Types of one base may be of different bytes there. */
static int copy_own(const struct blocks *blocks, const struct side *send, const char *from, char *to)
{
    return from == to && send->datatype == blocks->receive.datatype
               ? OMPI_SUCCESS
               : ompi_datatype_sndrcv(from, (int) send->count, send->datatype, to, (int) blocks->receive.count,
                                      blocks->receive.datatype);
}

/* -- gather -- */

static int gather_copy(const struct blocks *blocks)
{
    mca_coll_solo_module_t *module = blocks->module;
    struct talk talk = { .hears = -1 };
    mca_coll_solo_data_t one;
    int rc = OMPI_SUCCESS;

    if (module->rank == blocks->root) {
        talk.hears_all = true;
        talk.receive = streams_open(&blocks->receive, module->size, false);
        rc = NULL == talk.receive ? SOLO_NO_MEMORY : OMPI_SUCCESS;
    } else {
        talk.says = ONE;
        talk.send = &one;
        rc = mca_coll_solo_data_open(&one, blocks->send.buffer, blocks->send.count, blocks->send.datatype, true);
    }
    const int opened = rc;

    rc = talk_all(blocks, &talk, false, rc);
    streams_close(talk.receive, module->size);
    if (NULL != talk.send && OMPI_SUCCESS == opened) {
        mca_coll_solo_data_close(&one);
    }
    return rc;
}

/* Each rank writes its block to the root; where the root's buffer has gaps, it goes through shared memory. */
static int gather_single_copy(const struct blocks *blocks)
{
    mca_coll_solo_module_t *module = blocks->module;
    const bool is_root = module->rank == blocks->root;
    const uint64_t seq = ++module->seq, end = seq + 1;
    mca_coll_solo_where_t where;
    mca_coll_solo_data_t data;
    int rc = OMPI_SUCCESS;

    if (is_root) {
        mca_coll_solo_tell_where(module, seq, NULL, all_contiguous(&blocks->receive, module->size), blocks->bytes);
    }
    where = mca_coll_solo_ask_where(module, blocks->root, seq);
    if (0 == where.receive) {
        mca_coll_solo_finish(module, seq);
        return gather_copy(blocks);
    }
    module->seq = end;
    if (where.bytes < blocks->bytes) {
        rc = MPI_ERR_TRUNCATE;
    } else if (!is_root) {
        rc = mca_coll_solo_data_open(&data, blocks->send.buffer, blocks->send.count, blocks->send.datatype, true);
        if (OMPI_SUCCESS == rc) {
            rc = mca_coll_solo_write_data(module, blocks->root, &data,
                                          where.receive + (uint64_t) module->rank * where.bytes, blocks->bytes);
            mca_coll_solo_data_close(&data);
        }
    }
    mca_coll_solo_publish(mca_coll_solo_own_box(module, end), end, rc);
    if (is_root) {
        rc = mca_coll_solo_wait_boxes(module, end);
    }
    mca_coll_solo_finish(module, end);
    return rc;
}

int mca_coll_solo_gather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                         ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_GATHER];
    const bool is_root = module->rank == root;
    struct blocks blocks = { .module = module, .root = root };
    mca_coll_solo_algorithm_t algorithm;
    int rc;

    if (is_root) {
        blocks.receive = (struct side){ rbuf, (size_t) rcount, rtype };
    }
    blocks.send = is_root && MPI_IN_PLACE == sbuf
                      ? (struct side){ block_at(&blocks.receive, root), (size_t) rcount, rtype }
                      : (struct side){ (char *) (uintptr_t) sbuf, (size_t) scount, stype };
    blocks.bytes = is_root ? rtype->super.size * (size_t) rcount : stype->super.size * (size_t) scount;
    if (0 == blocks.bytes) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_solo_decide(module, SOLO_GATHER, blocks.bytes, 1, &algorithm);
    if (OMPI_SUCCESS == rc && SOLO_FALLBACK == algorithm) {
        return fallback->fn.gather(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, fallback->module);
    }
    if (OMPI_SUCCESS == rc) {
        rc = SOLO_COPY == algorithm ? gather_copy(&blocks) : gather_single_copy(&blocks);
    }
    if (OMPI_SUCCESS == rc && is_root) {
        rc = copy_own(&blocks, &blocks.send, blocks.send.buffer, block_at(&blocks.receive, root));
    }
    return rc;
}

/* -- scatter -- */

static int scatter_copy(const struct blocks *blocks)
{
    mca_coll_solo_module_t *module = blocks->module;
    struct talk talk = { .hears = -1, .each = true };
    mca_coll_solo_data_t one;
    int rc = OMPI_SUCCESS;

    if (module->rank == blocks->root) {
        talk.says = ONE_EACH;
        talk.send = streams_open(&blocks->send, module->size, true);
        rc = NULL == talk.send ? SOLO_NO_MEMORY : OMPI_SUCCESS;
    } else {
        talk.hears = blocks->root;
        talk.receive = &one;
        rc = mca_coll_solo_data_open(&one, blocks->receive.buffer, blocks->receive.count, blocks->receive.datatype,
                                     false);
    }
    const int opened = rc;

    rc = talk_all(blocks, &talk, true, rc);
    streams_close(talk.send, module->size);
    if (NULL != talk.receive && OMPI_SUCCESS == opened) {
        mca_coll_solo_data_close(&one);
    }
    return rc;
}

/* Each rank reads its block from the root. */
static int scatter_single_copy(const struct blocks *blocks)
{
    mca_coll_solo_module_t *module = blocks->module;
    const bool is_root = module->rank == blocks->root;
    const uint64_t seq = ++module->seq;
    mca_coll_solo_where_t where;
    mca_coll_solo_data_t data;
    int rc = OMPI_SUCCESS;

    if (is_root) {
        mca_coll_solo_tell_where(module, seq, all_contiguous(&blocks->send, module->size), NULL, blocks->bytes);
    }
    where = mca_coll_solo_ask_where(module, blocks->root, seq);
    if (0 == where.send) {
        mca_coll_solo_finish(module, seq);
        return scatter_copy(blocks);
    }
    if (where.bytes > blocks->bytes) {
        rc = MPI_ERR_TRUNCATE;
    } else if (!is_root) {
        rc = mca_coll_solo_data_open(&data, blocks->receive.buffer, blocks->receive.count, blocks->receive.datatype,
                                     false);
        if (OMPI_SUCCESS == rc) {
            rc = mca_coll_solo_read_data(module, blocks->root, where.send + (uint64_t) module->rank * where.bytes,
                                         &data, where.bytes);
            mca_coll_solo_data_close(&data);
        }
    }
    mca_coll_solo_finish(module, seq);
    if (is_root) {
        mca_coll_solo_wait_done(module, seq);
    }
    return rc;
}

int mca_coll_solo_scatter(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                          ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_SCATTER];
    const bool is_root = module->rank == root;
    struct blocks blocks = { .module = module, .root = root };
    mca_coll_solo_algorithm_t algorithm;
    char *own = NULL;
    int rc;

    if (is_root) {
        blocks.send = (struct side){ (char *) (uintptr_t) sbuf, (size_t) scount, stype };
        own = block_at(&blocks.send, root);
    }
    blocks.receive = is_root && MPI_IN_PLACE == rbuf ? (struct side){ own, (size_t) scount, stype }
                                                     : (struct side){ rbuf, (size_t) rcount, rtype };
    blocks.bytes = is_root ? stype->super.size * (size_t) scount : rtype->super.size * (size_t) rcount;
    if (0 == blocks.bytes) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_solo_decide(module, SOLO_SCATTER, blocks.bytes, 1, &algorithm);
    if (OMPI_SUCCESS == rc && SOLO_FALLBACK == algorithm) {
        return fallback->fn.scatter(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, fallback->module);
    }
    if (OMPI_SUCCESS == rc) {
        rc = SOLO_COPY == algorithm ? scatter_copy(&blocks) : scatter_single_copy(&blocks);
    }
    if (OMPI_SUCCESS == rc && is_root) {
        rc = copy_own(&blocks, &blocks.send, own, blocks.receive.buffer);
    }
    return rc;
}

/* -- allgather and alltoall: every rank hears all others -- */

/* As talk_all, for an allgather in groups: what ranks of other groups say is heard from one of the own. */
static int talk_relayed(const struct blocks *blocks, const struct talk *talk, int status)
{
    mca_coll_solo_module_t *module = blocks->module;
    const size_t piece = module->memory.ring->segment_bytes / (size_t) module->relay_slots;

    for (size_t done = 0; done < blocks->bytes; done += piece) {
        const size_t length = least(piece, blocks->bytes - done);
        const uint64_t said = module->seq + 1, relayed = said + 1;

        module->seq = relayed;
        status = say(blocks, talk, said, 0, length, status);
        mca_coll_solo_relay(module, said, relayed, length);
        for (int i = 1; i < module->size; ++i) {
            const int rank = (module->rank + i) % module->size;
            const unsigned char *data;
            const int heard = mca_coll_solo_hear_relayed(module, rank, said, relayed, length, &data);

            status = OMPI_SUCCESS == status ? heard : status;
            if (OMPI_SUCCESS == status) {
                status = mca_coll_solo_data_put(module, &talk->receive[rank], data, length);
            }
        }
        mca_coll_solo_finish(module, relayed);
    }
    return status;
}

static int all_copy(const struct blocks *blocks, bool each)
{
    mca_coll_solo_module_t *module = blocks->module;
    struct talk talk = { .says = each ? ONE_EACH : ONE, .hears_all = true, .each = each };
    mca_coll_solo_data_t one;
    int opened = OMPI_SUCCESS, rc;

    talk.receive = streams_open(&blocks->receive, module->size, false);
    if (each) {
        talk.send = streams_open(&blocks->send, module->size, true);
    } else {
        opened = mca_coll_solo_data_open(&one, blocks->send.buffer, blocks->send.count, blocks->send.datatype, true);
        talk.send = OMPI_SUCCESS == opened ? &one : NULL;
    }
    rc = OMPI_SUCCESS != opened ? opened : NULL == talk.receive || NULL == talk.send ? SOLO_NO_MEMORY : OMPI_SUCCESS;
    rc = !each && 1 < module->groups && (size_t) module->relay_slots <= module->memory.ring->segment_bytes
             ? talk_relayed(blocks, &talk, rc)
             : talk_all(blocks, &talk, each, rc);
    streams_close(talk.receive, module->size);
    if (each) {
        streams_close(talk.send, module->size);
    } else if (NULL != talk.send) {
        mca_coll_solo_data_close(&one);
    }
    return rc;
}

/* Reads a rank's block into its place, out of the memory of that rank, or of another. */
static int read_block(const struct blocks *blocks, int rank, int from, uint64_t there)
{
    mca_coll_solo_data_t data;
    int rc = mca_coll_solo_data_open(&data, block_at(&blocks->receive, rank), blocks->receive.count,
                                     blocks->receive.datatype, false);

    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_solo_read_data(blocks->module, from, there, &data, blocks->bytes);
        mca_coll_solo_data_close(&data);
    }
    return rc;
}

/* Reads the other ranks' blocks for this one. */
static int read_all(const struct blocks *blocks, uint64_t seq, bool each)
{
    mca_coll_solo_module_t *module = blocks->module;
    const uint64_t offset = each ? (uint64_t) module->rank * blocks->bytes : 0;
    int rc = OMPI_SUCCESS;

    for (int i = 1; i < module->size && OMPI_SUCCESS == rc; ++i) {
        const int rank = (module->rank + i) % module->size;

        rc = read_block(blocks, rank, rank, mca_coll_solo_ask_where(module, rank, seq).send + offset);
    }
    return rc;
}

/* A block of an allgather in groups. */
struct reading {
    const struct blocks *blocks;
    uint64_t where; /* each rank has told where its buffers are */
};

static int read_from(const void *call, int rank, int from)
{
    const struct reading *reading = call;
    const mca_coll_solo_where_t where = mca_coll_solo_ask_where(reading->blocks->module, from, reading->where);

    return read_block(reading->blocks, rank, from,
                      from == rank ? where.send : where.receive + (uint64_t) rank * reading->blocks->bytes);
}

/* All tell where they send from; where one of them has gaps, all copy. Who passes blocks on has none where they come.
 */
static int all_single_copy(const struct blocks *blocks, bool each)
{
    mca_coll_solo_module_t *module = blocks->module;
    const uint64_t seq = ++module->seq;
    bool direct = true, relayed = !each && 1 < module->groups;
    int rc;

    mca_coll_solo_tell_where(module, seq, all_contiguous(&blocks->send, each ? module->size : 1),
                             relayed ? all_contiguous(&blocks->receive, module->size) : NULL, blocks->bytes);
    (void) mca_coll_solo_wait_boxes(module, seq);
    for (int rank = 0; rank < module->size; ++rank) {
        direct = direct && 0 != mca_coll_solo_ask_where(module, rank, seq).send;
        relayed = relayed && 0 != mca_coll_solo_ask_where(module, rank, seq).receive;
    }
    if (!direct) {
        mca_coll_solo_finish(module, seq);
        return all_copy(blocks, each);
    }
    rc = relayed ? mca_coll_solo_read_relayed(module, seq, read_from, &(struct reading){ blocks, seq })
                 : read_all(blocks, seq, each);
    mca_coll_solo_finish(module, module->seq);
    mca_coll_solo_wait_done(module, module->seq);
    return rc;
}

int mca_coll_solo_allgather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                            ompi_datatype_t *rtype, ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_ALLGATHER];
    struct blocks blocks = { .module = module,
                             .receive = { rbuf, (size_t) rcount, rtype },
                             .bytes = rtype->super.size * (size_t) rcount };
    mca_coll_solo_algorithm_t algorithm;
    char *own = block_at(&blocks.receive, module->rank);
    int rc;

    blocks.send = MPI_IN_PLACE == sbuf ? (struct side){ own, (size_t) rcount, rtype }
                                       : (struct side){ (char *) (uintptr_t) sbuf, (size_t) scount, stype };
    if (0 == blocks.bytes) {
        return OMPI_SUCCESS;
    }
    rc = mca_coll_solo_decide(module, SOLO_ALLGATHER, blocks.bytes, 1, &algorithm);
    if (OMPI_SUCCESS == rc && SOLO_FALLBACK == algorithm) {
        return fallback->fn.allgather(sbuf, scount, stype, rbuf, rcount, rtype, comm, fallback->module);
    }
    if (OMPI_SUCCESS == rc) {
        rc = SOLO_COPY == algorithm ? all_copy(&blocks, false) : all_single_copy(&blocks, false);
    }
    return OMPI_SUCCESS == rc ? copy_own(&blocks, &blocks.send, blocks.send.buffer, own) : rc;
}

/* In place it goes to the fallback: a block would be overwritten before it is read. */
int mca_coll_solo_alltoall(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                           ompi_datatype_t *rtype, ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_ALLTOALL];
    struct blocks blocks = { .module = module,
                             .send = { (char *) (uintptr_t) sbuf, (size_t) scount, stype },
                             .receive = { rbuf, (size_t) rcount, rtype },
                             .bytes = rtype->super.size * (size_t) rcount };
    mca_coll_solo_algorithm_t algorithm = SOLO_FALLBACK;
    int rc = OMPI_SUCCESS;

    if (0 == blocks.bytes) {
        return OMPI_SUCCESS;
    }
    if (MPI_IN_PLACE != sbuf) {
        rc = mca_coll_solo_decide(module, SOLO_ALLTOALL, blocks.bytes, 1, &algorithm);
    }
    if (OMPI_SUCCESS == rc && SOLO_FALLBACK == algorithm) {
        return fallback->fn.alltoall(sbuf, scount, stype, rbuf, rcount, rtype, comm, fallback->module);
    }
    if (OMPI_SUCCESS == rc) {
        rc = SOLO_COPY == algorithm ? all_copy(&blocks, true) : all_single_copy(&blocks, true);
    }
    return OMPI_SUCCESS == rc ? copy_own(&blocks, &blocks.send, block_at(&blocks.send, module->rank),
                                         block_at(&blocks.receive, module->rank))
                              : rc;
}
