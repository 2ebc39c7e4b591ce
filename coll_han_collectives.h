/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The collectives of HAN: one row each. From the rows are made the numbers, the names, the places of the fallbacks, and
 * the entry points of all forms; so to add a collective is to add a row here, and the function that performs it.
 */
#ifndef MCA_COLL_HAN_COLLECTIVES_H
#define MCA_COLL_HAN_COLLECTIVES_H

/** The forms of a collective; an index of arrays. */
typedef enum { HAN_BLOCKING, HAN_NONBLOCKING, HAN_PERSISTENT, HAN_FORM_COUNT } mca_coll_han_form_t;

/* mca_coll_han_side_t. */
#define HAN_SIDE(buffer, count, type)                                                                                  \
    {                                                                                                                  \
        (void *) (buffer), count, type, NULL, NULL                                                                     \
    }
#define HAN_SIDE_V(buffer, counts, places, type)                                                                       \
    {                                                                                                                  \
        (void *) (buffer), 0, type, counts, places                                                                     \
    }
#define HAN_NO_SIDE HAN_SIDE(NULL, 0, NULL)

/*
 * X(number, name, (parameters up to the communicator), (the same as arguments), send, recv, operation, root, performer)
 * A root of -1: there is none.
 */
/* clang-format off */
#define HAN_COLLECTIVES(X)                                                                                             \
    X(BCAST, bcast, (void *rbuf, int rcount, ompi_datatype_t *rtype, int root, ), (rbuf, rcount, rtype, root, ),       \
      HAN_NO_SIDE, HAN_SIDE(rbuf, rcount, rtype), NULL, root, bcast)                                                   \
    X(REDUCE, reduce,                                                                                                  \
      (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op, int root, ),                     \
      (sbuf, rbuf, count, type, op, root, ),                                                                           \
      HAN_SIDE(sbuf, count, type), HAN_SIDE(rbuf, count, type), op, root, reduce)                                      \
    X(ALLREDUCE, allreduce, (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op, ),         \
      (sbuf, rbuf, count, type, op, ),                                                                                 \
      HAN_SIDE(sbuf, count, type), HAN_SIDE(rbuf, count, type), op, -1, allreduce)                                     \
    X(BARRIER, barrier, (), (), HAN_NO_SIDE, HAN_NO_SIDE, NULL, -1, barrier)                                           \
    X(ALLGATHER, allgather,                                                                                            \
      (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount, ompi_datatype_t *rtype, ),        \
      (sbuf, scount, stype, rbuf, rcount, rtype, ),                                                                    \
      HAN_SIDE(sbuf, scount, stype), HAN_SIDE(rbuf, rcount, rtype), NULL, -1, allgather)                               \
    X(ALLGATHERV, allgatherv,                                                                                          \
      (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts, const int *rplaces,       \
       ompi_datatype_t *rtype, ),                                                                                      \
      (sbuf, scount, stype, rbuf, rcounts, rplaces, rtype, ),                                                          \
      HAN_SIDE(sbuf, scount, stype), HAN_SIDE_V(rbuf, rcounts, rplaces, rtype), NULL, -1, allgather)                   \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block,                                                                      \
      (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op, ),                               \
      (sbuf, rbuf, count, type, op, ),                                                                                 \
      HAN_SIDE(sbuf, count, type), HAN_SIDE(rbuf, count, type), op, -1, reduce_scatter)                                \
    X(REDUCE_SCATTER, reduce_scatter,                                                                                  \
      (const void *sbuf, void *rbuf, const int *counts, ompi_datatype_t *type, ompi_op_t *op, ),                       \
      (sbuf, rbuf, counts, type, op, ),                                                                                \
      HAN_SIDE_V(sbuf, counts, NULL, type), HAN_SIDE_V(rbuf, counts, NULL, type), op, -1, reduce_scatter)              \
    X(ALLTOALL, alltoall,                                                                                              \
      (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount, ompi_datatype_t *rtype, ),        \
      (sbuf, scount, stype, rbuf, rcount, rtype, ),                                                                    \
      HAN_SIDE(sbuf, scount, stype), HAN_SIDE(rbuf, rcount, rtype), NULL, -1, alltoall)                                \
    X(ALLTOALLV, alltoallv,                                                                                            \
      (const void *sbuf, const int *scounts, const int *splaces, ompi_datatype_t *stype, void *rbuf,                   \
       const int *rcounts, const int *rplaces, ompi_datatype_t *rtype, ),                                              \
      (sbuf, scounts, splaces, stype, rbuf, rcounts, rplaces, rtype, ),                                                \
      HAN_SIDE_V(sbuf, scounts, splaces, stype), HAN_SIDE_V(rbuf, rcounts, rplaces, rtype), NULL, -1, alltoall)        \
    X(GATHER, gather,                                                                                                  \
      (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount, ompi_datatype_t *rtype,           \
       int root, ),                                                                                                    \
      (sbuf, scount, stype, rbuf, rcount, rtype, root, ),                                                              \
      HAN_SIDE(sbuf, scount, stype), HAN_SIDE(rbuf, rcount, rtype), NULL, root, gather)                                \
    X(GATHERV, gatherv,                                                                                                \
      (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts, const int *rplaces,       \
       ompi_datatype_t *rtype, int root, ),                                                                            \
      (sbuf, scount, stype, rbuf, rcounts, rplaces, rtype, root, ),                                                    \
      HAN_SIDE(sbuf, scount, stype), HAN_SIDE_V(rbuf, rcounts, rplaces, rtype), NULL, root, gather)                    \
    X(SCATTER, scatter,                                                                                                \
      (const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount, ompi_datatype_t *rtype,           \
       int root, ),                                                                                                    \
      (sbuf, scount, stype, rbuf, rcount, rtype, root, ),                                                              \
      HAN_SIDE(sbuf, scount, stype), HAN_SIDE(rbuf, rcount, rtype), NULL, root, scatter)                               \
    X(SCATTERV, scatterv,                                                                                              \
      (const void *sbuf, const int *scounts, const int *splaces, ompi_datatype_t *stype, void *rbuf, int rcount,       \
       ompi_datatype_t *rtype, int root, ),                                                                            \
      (sbuf, scounts, splaces, stype, rbuf, rcount, rtype, root, ),                                                    \
      HAN_SIDE_V(sbuf, scounts, splaces, stype), HAN_SIDE(rbuf, rcount, rtype), NULL, root, scatter)                   \
    X(SCAN, scan, (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op, ),                   \
      (sbuf, rbuf, count, type, op, ),                                                                                 \
      HAN_SIDE(sbuf, count, type), HAN_SIDE(rbuf, count, type), op, -1, scan)                                          \
    X(EXSCAN, exscan, (const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op, ),               \
      (sbuf, rbuf, count, type, op, ),                                                                                 \
      HAN_SIDE(sbuf, count, type), HAN_SIDE(rbuf, count, type), op, -1, scan)
/* clang-format on */

/** The collectives that HAN has; an index of arrays. */
typedef enum {
#define HAN_NUMBER(number, name, parameters, arguments, send, recv, op, root, performer) HAN_##number,
    HAN_COLLECTIVES(HAN_NUMBER)
#undef HAN_NUMBER
        HAN_COLLECTIVE_COUNT
} mca_coll_han_collective_t;

#endif
