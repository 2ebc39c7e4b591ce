/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions of fractions on the same ranks in other places: on communicators whose ranks lie in another order over the
 * nodes, or on one node and on as many, with the same operand at the same rank. Where results may not depend on the
 * placement, all bits are equal.
 */
#include "mpi_test.h"

enum { ORDERS = 3, SPREADS = 2, MOST = 3000 };

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

static int size_of(MPI_Comm comm)
{
    int size;

    MPI_Comm_size(comm, &size);
    return size;
}

static void do_reduce(const double *in, double *out, int count, MPI_Comm comm)
{
    T_MPI(MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, size_of(comm) - 1, comm));
}

static void do_allreduce(const double *in, double *out, int count, MPI_Comm comm)
{
    T_MPI(MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm));
}

static void do_reduce_scatter(const double *in, double *out, int count, MPI_Comm comm)
{
    const int block = count / size_of(comm);

    T_MPI(MPI_Reduce_scatter_block(in, out, 0 == block ? 1 : block, MPI_DOUBLE, MPI_SUM, comm));
}

static void do_scan(const double *in, double *out, int count, MPI_Comm comm)
{
    T_MPI(MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, comm));
}

/*
 * As many ranks, three or more: of the node that has the most, and then one of each node.
 *
 * @returns MPI_COMM_NULL where this rank is not one of them; *count is how many there are
 */
static MPI_Comm make_spread(int spread, int *count)
{
    MPI_Comm node, leaders, comm;
    int place, leader = t.rank, index = -1, nodes, key[2], most[2];
    bool in;

    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t.rank, MPI_INFO_NULL, &node));
    MPI_Comm_rank(node, &place);
    T_MPI(MPI_Bcast(&leader, 1, MPI_INT, 0, node));
    key[0] = size_of(node);
    key[1] = leader;
    T_MPI(MPI_Allreduce(key, most, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD));
    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0 == place ? 0 : MPI_UNDEFINED, t.rank, &leaders));
    nodes = 0;
    if (MPI_COMM_NULL != leaders) {
        MPI_Comm_rank(leaders, &index);
        nodes = size_of(leaders);
        MPI_Comm_free(&leaders);
    }
    T_MPI(MPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    *count = nodes < most[0] ? nodes : most[0];
    in = 0 == spread ? leader == most[1] && place < *count : 0 <= index && index < *count;
    MPI_Comm_free(&node);
    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, t.rank, &comm));
    return comm;
}

/* Whether rank 0 of the world hears from the last rank of a communicator what it heard before; the first one is kept.
 */
static bool tells_the_same(MPI_Comm comm, reduction_t reduction, int count, bool first)
{
    static double in[MOST], out[MOST], heard[MOST], kept[MOST];
    MPI_Request request = MPI_REQUEST_NULL;
    bool same = true;

    if (MPI_COMM_NULL != comm) {
        int rank;

        MPI_Comm_rank(comm, &rank);
        fill(in, MOST, rank);
        memset(out, 0, sizeof(out));
        reduction(in, out, count, comm);
        if (size_of(comm) - 1 == rank) {
            T_MPI(MPI_Isend(out, count, MPI_DOUBLE, 0, T_TAG, MPI_COMM_WORLD, &request));
        }
        MPI_Comm_free(&comm);
    }
    if (0 == t.rank) {
        T_MPI(MPI_Recv(heard, count, MPI_DOUBLE, MPI_ANY_SOURCE, T_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        if (first) {
            memcpy(kept, heard, sizeof(heard));
        }
        same = 0 == memcmp(kept, heard, (size_t) count * sizeof(double));
    }
    T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return same;
}

static void compare_in(reduction_t reduction, bool spread)
{
    const int places = spread ? SPREADS : ORDERS;
    int ranks = t.size;
    long different = 0;

    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); ++c) {
        for (int place = 0; place < places; ++place) {
            MPI_Comm comm = spread ? make_spread(place, &ranks) : make_order(place);

            if (3 > ranks) {
                t_skip("no three nodes, and none of three ranks");
                T_MPI(MPI_COMM_NULL == comm ? MPI_SUCCESS : MPI_Comm_free(&comm));
                return;
            }
            different += !tells_the_same(comm, reduction, counts[c], 0 == place);
        }
    }
    if (0 == t.rank) {
        t_expect(by_placement ? 0 < different : 0 == different, "%ld of %zu results differ by placement", different,
                 sizeof(counts) / sizeof(counts[0]) * (size_t) (places - 1));
    }
}

static void compare(reduction_t reduction)
{
    compare_in(reduction, false);
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

static void reduce_in_a_node(void)
{
    compare_in(do_reduce, true);
}

static void allreduce_in_a_node(void)
{
    compare_in(do_allreduce, true);
}

static void reduce_scatter_in_a_node(void)
{
    compare_in(do_reduce_scatter, true);
}

int main(int argc, char **argv)
{
    static const struct t_behaviour behaviours[] = {
        { "reduce: the same bits wherever ranks are", reduce, 0 },
        { "allreduce: the same bits wherever ranks are", allreduce, 0 },
        { "reduce_scatter_block: the same bits wherever ranks are", reduce_scatter, 0 },
        { "scan: the same bits wherever ranks are", scan, 0 },
        { "reduce: the same bits on one node and on several", reduce_in_a_node, 0 },
        { "allreduce: the same bits on one node and on several", allreduce_in_a_node, 0 },
        { "reduce_scatter_block: the same bits on one node and on several", reduce_scatter_in_a_node, 0 },
    };
    /* That the check can fail: without the parameter, results do depend on the placement. */
    static const struct t_behaviour sceptic[] = {
        { "allreduce: results depend on the placement where they may", allreduce, 0 },
        { "allreduce: they depend on whether it is one node", allreduce_in_a_node, 0 },
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
