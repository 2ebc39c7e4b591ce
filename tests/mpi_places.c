/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of fractions on the same ranks in other places: on communicators whose ranks lie in another order over the
 * nodes, with the same operand at the same rank. Where results may not depend on the placement, all bits are equal.
 */
#include "mpi_test.h"

enum { ORDERS = 3, MOST = 3000 };

static long by_placement;
static const int counts[] = { 1, 7, 500, MOST };

/* A communicator of all ranks: as they are, backwards, and dealt out in another stride. */
static MPI_Comm make_order(int order)
{
    const int stride = 0 == t.size % 5 ? 3 : 5;
    const int keys[ORDERS] = { t.rank, t.size - t.rank, t.rank * stride % t.size };
    MPI_Comm comm;

    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, keys[order], &comm));
    return comm;
}

static void fill(double *values, int count, int rank)
{
    for (int i = 0; i < count; ++i) {
        values[i] = 1.0 / (1 + rank * 7 + i % 13) * (0 == (rank + i) % 3 ? -1e3 : 1e-3);
    }
}

typedef void (*reduction_t)(const double *in, double *out, int count, MPI_Comm comm);

static void do_reduce(const double *in, double *out, int count, MPI_Comm comm)
{
    T_MPI(MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, t.size - 1, comm));
}

static void do_allreduce(const double *in, double *out, int count, MPI_Comm comm)
{
    T_MPI(MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm));
}

static void do_reduce_scatter(const double *in, double *out, int count, MPI_Comm comm)
{
    T_MPI(MPI_Reduce_scatter_block(in, out, count / t.size, MPI_DOUBLE, MPI_SUM, comm));
}

static void do_scan(const double *in, double *out, int count, MPI_Comm comm)
{
    T_MPI(MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, comm));
}

/* What the rank of this number has in the end, on all orders; it tells rank 0 of the world, where bits are compared. */
static void compare(reduction_t reduction)
{
    static double in[MOST], out[MOST], heard[MOST], first[MOST];
    long different = 0;

    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); ++c) {
        for (int order = 0; order < ORDERS; ++order) {
            MPI_Comm comm = make_order(order);
            MPI_Request request = MPI_REQUEST_NULL;
            int rank;

            MPI_Comm_rank(comm, &rank);
            fill(in, counts[c], rank);
            memset(out, 0, sizeof(out));
            reduction(in, out, counts[c], comm);
            if (t.size - 1 == rank) {
                T_MPI(MPI_Isend(out, counts[c], MPI_DOUBLE, 0, T_TAG, MPI_COMM_WORLD, &request));
            }
            if (0 == t.rank) {
                T_MPI(MPI_Recv(heard, counts[c], MPI_DOUBLE, MPI_ANY_SOURCE, T_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
                if (0 == order) {
                    memcpy(first, heard, sizeof(heard));
                }
                different += 0 != memcmp(first, heard, (size_t) counts[c] * sizeof(double)) ? 1 : 0;
            }
            T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
            MPI_Comm_free(&comm);
        }
    }
    if (0 == t.rank) {
        t_expect(by_placement ? 0 < different : 0 == different, "%ld of %zu results differ by placement", different,
                 sizeof(counts) / sizeof(counts[0]) * (ORDERS - 1));
    }
}

static void reduce(void)
{
    compare(do_reduce);
}

static void allreduce(void)
{
    compare(do_allreduce);
}

static void reduce_scatter(void)
{
    compare(do_reduce_scatter);
}

static void scan(void)
{
    compare(do_scan);
}

int main(int argc, char **argv)
{
    static const struct t_behaviour behaviours[] = {
        { "reduce: the same bits wherever ranks are", reduce, 0 },
        { "allreduce: the same bits wherever ranks are", allreduce, 0 },
        { "reduce_scatter_block: the same bits wherever ranks are", reduce_scatter, 0 },
        { "scan: the same bits wherever ranks are", scan, 0 },
    };
    /* That the check can fail: without the parameter, results do depend on the placement. */
    static const struct t_behaviour sceptic[] = {
        { "allreduce: results depend on the placement where they may", allreduce, 0 },
    };
    const struct t_option options[] = { { "--by-placement", false, &by_placement } };

    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
    MPI_Init(&argc, &argv);
    t_begin();
    if (by_placement) {
        t_run(sceptic, sizeof(sceptic) / sizeof(sceptic[0]));
    } else {
        t_run(behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
    }
    return t_finish("MPI_Finalize returns");
}
