/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls every collective, blocking, nonblocking and (where Open MPI has them) persistent, with few bytes: is there a
 * component for it? Prints "N collectives are right", or the name of each that isn't. For test_load.sh; any MPI passes.
 */
#include <mpi.h>

#include <stdio.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#define MOST 64

static int rank;
static int size;
static int in[MOST];
static int out[MOST];
static int calls;
static int wrong;

/* Number i that a rank sends. */
static int sent(int from, int i)
{
    return from * 100 + i + 1;
}

/* The sum of number i of so many ranks. */
static int sum(int ranks, int i)
{
    return 100 * (ranks * (ranks - 1) / 2) + ranks * (i + 1);
}

static void prepare(void)
{
    for (int i = 0; i < MOST; ++i) {
        in[i] = sent(rank, i);
        out[i] = 0 == rank ? 4711 : -1;
    }
}

static void check(const char *name, int code, int right)
{
    ++calls;
    if (MPI_SUCCESS != code || right != out[0]) {
        ++wrong;
        fprintf(stderr, "%s is wrong on rank %d: code %d, %d where %d is right\n", name, rank, code, out[0], right);
    }
}

static int finish(int code, MPI_Request *request)
{
    return MPI_SUCCESS == code ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

/* Starts a persistent one twice. */
static void check_persistent(const char *name, int code, MPI_Request *request, int right)
{
    for (int i = 0; i < 2 && MPI_SUCCESS == code; ++i) {
        prepare();
        code = MPI_Start(request);
        code = finish(code, request);
        check(name, code, 0 == right ? out[0] : right);
    }
    if (MPI_SUCCESS != code || MPI_SUCCESS != MPI_Request_free(request)) {
        check(name, MPI_ERR_OTHER, out[0]);
    }
}

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT(Name, right, ...) \
    check_persistent("MPIX_" #Name "_init", MPIX_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request), &request, right)
#else
#define PERSISTENT(Name, right, ...) (void) check_persistent
#endif

/* All forms of a collective; right: what out[0] is then, 0 where nothing is said about it. */
#define CALL(Name, name, right, ...)                                                \
    do {                                                                            \
        MPI_Request request = MPI_REQUEST_NULL;                                     \
        int code;                                                                   \
                                                                                    \
        prepare();                                                                  \
        code = MPI_##Name(__VA_ARGS__);                                             \
        check("MPI_" #Name, code, 0 == (right) ? out[0] : (right));                 \
        prepare();                                                                  \
        code = finish(MPI_I##name(__VA_ARGS__, &request), &request);                \
        check("MPI_I" #name, code, 0 == (right) ? out[0] : (right));                \
        PERSISTENT(Name, right, __VA_ARGS__);                                       \
    } while (0)

int main(int argc, char **argv)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const int periodic[] = { 1 };
    int ones[MOST], places[MOST], byte_places[MOST], left, all = 0;
    MPI_Aint addresses[MOST];
    MPI_Datatype types[MOST];
    MPI_Comm ring;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    if (3 > size || MOST < size) {
        fprintf(stderr, "wants 3 to %d ranks\n", MOST);
        MPI_Abort(world, 2);
    }
    for (int i = 0; i < MOST; ++i) {
        ones[i] = 1;
        places[i] = i;
        byte_places[i] = i * (int) sizeof(int);
        addresses[i] = byte_places[i];
        types[i] = MPI_INT;
    }
    left = (rank + size - 1) % size;
    MPI_Cart_create(world, 1, &size, periodic, 0, &ring);

    CALL(Barrier, barrier, 0, world);
    CALL(Bcast, bcast, 4711, out, 1, MPI_INT, 0, world);
    CALL(Gather, gather, 0 == rank ? sent(0, 0) : 0, in, 1, MPI_INT, out, 1, MPI_INT, 0, world);
    CALL(Gatherv, gatherv, 0 == rank ? sent(0, 0) : 0, in, 1, MPI_INT, out, ones, places, MPI_INT, 0, world);
    CALL(Scatter, scatter, sent(0, rank), in, 1, MPI_INT, out, 1, MPI_INT, 0, world);
    CALL(Scatterv, scatterv, sent(0, rank), in, ones, places, MPI_INT, out, 1, MPI_INT, 0, world);
    CALL(Allgather, allgather, sent(0, 0), in, 1, MPI_INT, out, 1, MPI_INT, world);
    CALL(Allgatherv, allgatherv, sent(0, 0), in, 1, MPI_INT, out, ones, places, MPI_INT, world);
    CALL(Alltoall, alltoall, sent(0, rank), in, 1, MPI_INT, out, 1, MPI_INT, world);
    CALL(Alltoallv, alltoallv, sent(0, rank), in, ones, places, MPI_INT, out, ones, places, MPI_INT, world);
    CALL(Alltoallw, alltoallw, sent(0, rank), in, ones, byte_places, types, out, ones, byte_places, types, world);
    CALL(Reduce, reduce, 0 == rank ? sum(size, 0) : 0, in, out, 1, MPI_INT, MPI_SUM, 0, world);
    CALL(Allreduce, allreduce, sum(size, 0), in, out, 1, MPI_INT, MPI_SUM, world);
    CALL(Reduce_scatter, reduce_scatter, sum(size, rank), in, out, ones, MPI_INT, MPI_SUM, world);
    CALL(Reduce_scatter_block, reduce_scatter_block, sum(size, rank), in, out, 1, MPI_INT, MPI_SUM, world);
    CALL(Scan, scan, sum(rank + 1, 0), in, out, 1, MPI_INT, MPI_SUM, world);
    CALL(Exscan, exscan, 0 == rank ? 0 : sum(rank, 0), in, out, 1, MPI_INT, MPI_SUM, world);
    CALL(Neighbor_allgather, neighbor_allgather, sent(left, 0), in, 1, MPI_INT, out, 1, MPI_INT, ring);
    CALL(Neighbor_allgatherv, neighbor_allgatherv, sent(left, 0), in, 1, MPI_INT, out, ones, places, MPI_INT, ring);
    CALL(Neighbor_alltoall, neighbor_alltoall, sent(left, 1), in, 1, MPI_INT, out, 1, MPI_INT, ring);
    CALL(Neighbor_alltoallv, neighbor_alltoallv, sent(left, 1), in, ones, places, MPI_INT, out, ones, places, MPI_INT,
         ring);
    CALL(Neighbor_alltoallw, neighbor_alltoallw, sent(left, 1), in, ones, addresses, types, out, ones, addresses, types,
         ring);
    prepare();
    check("MPI_Reduce_local", MPI_Reduce_local(in, out, 1, MPI_INT, MPI_SUM),
          sent(rank, 0) + (0 == rank ? 4711 : -1));

    MPI_Comm_free(&ring);
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, world);
    if (0 == rank && 0 == all) {
        printf("%d collectives are right\n", calls);
    }
    MPI_Finalize();
    return 0 != wrong;
}
