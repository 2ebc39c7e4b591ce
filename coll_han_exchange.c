/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Alltoall, MPI_Alltoallv, MPI_Gather, MPI_Scatter: messages from rank to rank, a window of them at once. In the
 * order in which a rank sends, all ranks of a node send to one other node at a time, and no two of them to one rank; so
 * every node receives from one other node, and no link is asked for more than it carries.
 */
#include "coll_han.h"

#include <stdlib.h>

/* Messages under way from and to a rank. */
enum { SEND_WINDOW = 4, RECV_WINDOW = 16 };

/* A buffer of blocks, one for each rank, or of one block. */
struct side {
    void *buffer;
    ompi_datatype_t *type;
    const int *counts; /* NULL: count */
    const int *places; /* NULL: one behind the other; in extents */
    int count;
    bool blocks; /* one for each rank */
};

struct exchange {
    mca_coll_han_collective_t collective;
    struct side send, recv;
    int root; /* -1: all */
};

/* The ranks in the order in which one of them sends (step 1) or receives (step -1), the own node's last. */
static void order(const mca_coll_han_topology_t *topology, int rank, int step, int *ranks)
{
    const int groups = topology->group_count, group = topology->group_of[rank], place = topology->place_of[rank];
    int count = 0;

    for (int i = 1; i <= groups; ++i) {
        const int other = (group + (step * i % groups) + groups) % groups;
        const int *members = mca_coll_han_topology_group(topology, other);
        const int size = mca_coll_han_topology_group_size(topology, other);

        for (int j = 0; j < size; ++j) {
            ranks[count++] = members[((place + step * j) % size + size) % size];
        }
    }
}

/* The message of a side that goes to, or comes from, a rank. */
static mca_coll_adapt_message_t message(const struct side *side, int peer)
{
    const int block = side->blocks ? peer : 0;
    const ptrdiff_t place = NULL == side->places ? (ptrdiff_t) block * side->count : side->places[block];
    ptrdiff_t lb, extent;

    ompi_datatype_get_extent(side->type, &lb, &extent);
    return (mca_coll_adapt_message_t){ .buffer = (char *) side->buffer + place * extent,
                                       .count = (size_t) (NULL == side->counts ? side->count : side->counts[block]),
                                       .datatype = side->type,
                                       .peer = peer };
}

/* The messages of a side: with all ranks or only with the root. Empty ones are left out, on both ends. In place, a
 * root's own block is where it belongs. */
static int list(const struct exchange *exchange, const struct side *side, const int *ranks, int size, int rank,
                mca_coll_adapt_message_t *messages)
{
    /* Of a rooted collective, the side of blocks is the root's business, and the other side has the root for a peer. */
    const bool all = side->blocks && (-1 == exchange->root || rank == exchange->root);
    const bool in_place = MPI_IN_PLACE == exchange->send.buffer || MPI_IN_PLACE == exchange->recv.buffer;
    int count = 0;

    for (int i = 0; i < size; ++i) {
        if ((all || (!side->blocks && ranks[i] == exchange->root)) && !(in_place && ranks[i] == rank)) {
            messages[count] = message(side, ranks[i]);
            count += 0 < messages[count].count * messages[count].datatype->super.size ? 1 : 0;
        }
    }
    return count;
}

/* Of a block. In rooted collectives only one side counts at a rank that is not the root, and not always both at the
 * root. */
static size_t bytes_of(const struct exchange *exchange, int rank)
{
    const struct side *side = exchange->recv.blocks && rank == exchange->root ? &exchange->recv : &exchange->send;

    if (NULL != exchange->send.counts) {
        return 0; /* each rank has others: they are not what a decision can depend on */
    }
    if (HAN_SCATTER == exchange->collective && rank != exchange->root) {
        side = &exchange->recv;
    }
    return (size_t) side->count * side->type->super.size;
}

static int run(mca_coll_han_module_t *han, const struct exchange *exchange, mca_coll_han_form_t form, int *ranks,
               mca_coll_adapt_message_t *messages, ompi_request_t **request)
{
    const int size = ompi_comm_size(han->comm), rank = ompi_comm_rank(han->comm);
    mca_coll_adapt_exchange_t what = { .comm = han->comm,
                                       .sends = messages,
                                       .recvs = messages + size,
                                       .send_window = SEND_WINDOW,
                                       .recv_window = RECV_WINDOW };
    ompi_request_t *own;
    int rc;

    order(&han->topology, rank, 1, ranks);
    what.send_count = list(exchange, &exchange->send, ranks, size, rank, messages);
    order(&han->topology, rank, -1, ranks);
    what.recv_count = list(exchange, &exchange->recv, ranks, size, rank, messages + size);
    rc = han->adapt->exchange(&what, HAN_PERSISTENT == form, HAN_BLOCKING == form ? &own : request);
    return OMPI_SUCCESS == rc && HAN_BLOCKING == form ? ompi_request_wait(&own, MPI_STATUS_IGNORE) : rc;
}

static int perform(mca_coll_base_module_t *module, const struct exchange *exchange, mca_coll_han_form_t form,
                   ompi_request_t **request)
{
    mca_coll_han_module_t *han = (mca_coll_han_module_t *) module;
    const int size = ompi_comm_size(han->comm), rank = ompi_comm_rank(han->comm);
    mca_coll_adapt_message_t *messages;
    mca_coll_han_params_t params;
    int *ranks;
    int rc = mca_coll_han_call_decide(han, exchange->collective, form, bytes_of(exchange, rank), &params);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    /* Without a root, MPI_IN_PLACE is given by all ranks or by none. */
    if (HAN_FALLBACK == params.algorithm || (-1 == exchange->root && MPI_IN_PLACE == exchange->send.buffer)) {
        return HAN_TO_FALLBACK;
    }
    ranks = malloc((size_t) size * sizeof(*ranks));
    messages = malloc(2 * (size_t) size * sizeof(*messages));
    rc = NULL == ranks || NULL == messages ? OMPI_ERR_OUT_OF_RESOURCE
                                           : run(han, exchange, form, ranks, messages, request);
    free(messages);
    free(ranks);
    return rc;
}

/* Of blocks of one size: which of the buffers holds one for each rank. */
static struct exchange uniform(mca_coll_han_collective_t collective, const void *sbuf, int scount,
                               ompi_datatype_t *stype, void *rbuf, int rcount, ompi_datatype_t *rtype, int root)
{
    return (struct exchange){
        .collective = collective,
        .send = { .buffer = (void *) sbuf, .type = stype, .count = scount, .blocks = HAN_GATHER != collective },
        .recv = { .buffer = rbuf, .type = rtype, .count = rcount, .blocks = HAN_SCATTER != collective },
        .root = root,
    };
}

static struct exchange varying(const void *sbuf, const int *scounts, const int *splaces, ompi_datatype_t *stype,
                               void *rbuf, const int *rcounts, const int *rplaces, ompi_datatype_t *rtype)
{
    return (struct exchange){
        .collective = HAN_ALLTOALLV,
        .send = { .buffer = (void *) sbuf, .type = stype, .counts = scounts, .places = splaces, .blocks = true },
        .recv = { .buffer = rbuf, .type = rtype, .counts = rcounts, .places = rplaces, .blocks = true },
        .root = -1,
    };
}

int mca_coll_han_alltoall_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                                ompi_datatype_t *rtype, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_ALLTOALL][HAN_BLOCKING];
    const struct exchange exchange = uniform(HAN_ALLTOALL, sbuf, scount, stype, rbuf, rcount, rtype, -1);
    const int rc = perform(module, &exchange, HAN_BLOCKING, NULL);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.alltoall(sbuf, scount, stype, rbuf, rcount, rtype, comm, fallback->module);
}

int mca_coll_han_ialltoall(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                           ompi_datatype_t *rtype, ompi_communicator_t *comm, ompi_request_t **request,
                           mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_ALLTOALL][HAN_NONBLOCKING];
    const struct exchange exchange = uniform(HAN_ALLTOALL, sbuf, scount, stype, rbuf, rcount, rtype, -1);
    const int rc = perform(module, &exchange, HAN_NONBLOCKING, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.ialltoall(sbuf, scount, stype, rbuf, rcount, rtype, comm, request, fallback->module);
}

int mca_coll_han_alltoall_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                               ompi_datatype_t *rtype, ompi_communicator_t *comm, struct ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_ALLTOALL][HAN_PERSISTENT];
    const struct exchange exchange = uniform(HAN_ALLTOALL, sbuf, scount, stype, rbuf, rcount, rtype, -1);
    const int rc = perform(module, &exchange, HAN_PERSISTENT, request);

    return HAN_TO_FALLBACK != rc ? rc
                                 : fallback->fn.alltoall_init(sbuf, scount, stype, rbuf, rcount, rtype, comm, info,
                                                              request, fallback->module);
}

int mca_coll_han_alltoallv_intra(const void *sbuf, const int *scounts, const int *splaces, ompi_datatype_t *stype,
                                 void *rbuf, const int *rcounts, const int *rplaces, ompi_datatype_t *rtype,
                                 ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_ALLTOALLV][HAN_BLOCKING];
    const struct exchange exchange = varying(sbuf, scounts, splaces, stype, rbuf, rcounts, rplaces, rtype);
    const int rc = perform(module, &exchange, HAN_BLOCKING, NULL);

    return HAN_TO_FALLBACK != rc ? rc
                                 : fallback->fn.alltoallv(sbuf, scounts, splaces, stype, rbuf, rcounts, rplaces, rtype,
                                                          comm, fallback->module);
}

int mca_coll_han_ialltoallv(const void *sbuf, const int *scounts, const int *splaces, ompi_datatype_t *stype,
                            void *rbuf, const int *rcounts, const int *rplaces, ompi_datatype_t *rtype,
                            ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_ALLTOALLV][HAN_NONBLOCKING];
    const struct exchange exchange = varying(sbuf, scounts, splaces, stype, rbuf, rcounts, rplaces, rtype);
    const int rc = perform(module, &exchange, HAN_NONBLOCKING, request);

    return HAN_TO_FALLBACK != rc ? rc
                                 : fallback->fn.ialltoallv(sbuf, scounts, splaces, stype, rbuf, rcounts, rplaces, rtype,
                                                           comm, request, fallback->module);
}

int mca_coll_han_alltoallv_init(const void *sbuf, const int *scounts, const int *splaces, ompi_datatype_t *stype,
                                void *rbuf, const int *rcounts, const int *rplaces, ompi_datatype_t *rtype,
                                ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_ALLTOALLV][HAN_PERSISTENT];
    const struct exchange exchange = varying(sbuf, scounts, splaces, stype, rbuf, rcounts, rplaces, rtype);
    const int rc = perform(module, &exchange, HAN_PERSISTENT, request);

    return HAN_TO_FALLBACK != rc ? rc
                                 : fallback->fn.alltoallv_init(sbuf, scounts, splaces, stype, rbuf, rcounts, rplaces,
                                                               rtype, comm, info, request, fallback->module);
}

int mca_coll_han_gather_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                              ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                              mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback = &((mca_coll_han_module_t *) module)->fallbacks[HAN_GATHER][HAN_BLOCKING];
    const struct exchange exchange = uniform(HAN_GATHER, sbuf, scount, stype, rbuf, rcount, rtype, root);
    const int rc = perform(module, &exchange, HAN_BLOCKING, NULL);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.gather(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, fallback->module);
}

int mca_coll_han_igather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                         ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, ompi_request_t **request,
                         mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_GATHER][HAN_NONBLOCKING];
    const struct exchange exchange = uniform(HAN_GATHER, sbuf, scount, stype, rbuf, rcount, rtype, root);
    const int rc = perform(module, &exchange, HAN_NONBLOCKING, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.igather(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, request, fallback->module);
}

int mca_coll_han_gather_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                             ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, struct ompi_info_t *info,
                             ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_GATHER][HAN_PERSISTENT];
    const struct exchange exchange = uniform(HAN_GATHER, sbuf, scount, stype, rbuf, rcount, rtype, root);
    const int rc = perform(module, &exchange, HAN_PERSISTENT, request);

    return HAN_TO_FALLBACK != rc ? rc
                                 : fallback->fn.gather_init(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, info,
                                                            request, fallback->module);
}

int mca_coll_han_scatter_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                               ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                               mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback = &((mca_coll_han_module_t *) module)->fallbacks[HAN_SCATTER][HAN_BLOCKING];
    const struct exchange exchange = uniform(HAN_SCATTER, sbuf, scount, stype, rbuf, rcount, rtype, root);
    const int rc = perform(module, &exchange, HAN_BLOCKING, NULL);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.scatter(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, fallback->module);
}

int mca_coll_han_iscatter(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                          ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_SCATTER][HAN_NONBLOCKING];
    const struct exchange exchange = uniform(HAN_SCATTER, sbuf, scount, stype, rbuf, rcount, rtype, root);
    const int rc = perform(module, &exchange, HAN_NONBLOCKING, request);

    return HAN_TO_FALLBACK != rc
               ? rc
               : fallback->fn.iscatter(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, request, fallback->module);
}

int mca_coll_han_scatter_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                              ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, struct ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module)
{
    const mca_coll_han_fallback_t *fallback
        = &((mca_coll_han_module_t *) module)->fallbacks[HAN_SCATTER][HAN_PERSISTENT];
    const struct exchange exchange = uniform(HAN_SCATTER, sbuf, scount, stype, rbuf, rcount, rtype, root);
    const int rc = perform(module, &exchange, HAN_PERSISTENT, request);

    return HAN_TO_FALLBACK != rc ? rc
                                 : fallback->fn.scatter_init(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, info,
                                                             request, fallback->module);
}
