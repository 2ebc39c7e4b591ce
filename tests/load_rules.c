/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcasts by which it can be seen, with coll_han_verbose 2, which rules decide: nonblocking before blocking ones, on
 * MPI_COMM_WORLD and on a part of it; with --spawn also on a communicator with the ranks of a second job. For
 * test_rules.sh.
 *
 *   load_rules [--spawn | --spawn-one | --spawn-from-part [FOLDER [NAME=VALUE]]]
 *
 * The part has all ranks but rank 1. --spawn-one starts one rank, and so on one node. FOLDER is where the second job
 * starts, NAME=VALUE is in its environment. Rank 0 of the first job says on standard error what comes next, and at the
 * end "all right" or "wrong values". The second job does not: its lines would come between those of the first in any
 * order.
 */
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000, CHILDREN = 2 };

static int rank; /* in its job */
static int wrong;
static MPI_Comm parent;

static void say(const char *what)
{
    if (0 == rank && MPI_COMM_NULL == parent) {
        fprintf(stderr, "%s\n", what);
        fflush(stderr);
    }
}

/* One nonblocking, then one blocking. */
static void broadcast(MPI_Comm comm, int salt)
{
    int own, data[COUNT];
    MPI_Request request;

    MPI_Comm_rank(comm, &own);
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < COUNT; ++i) {
            data[i] = 0 == own ? i * 3 + salt + round : -1;
        }
        if (0 == round) {
            MPI_Ibcast(data, COUNT, MPI_INT, 0, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Bcast(data, COUNT, MPI_INT, 0, comm);
        }
        for (int i = 0; i < COUNT; ++i) {
            wrong += data[i] != i * 3 + salt + round;
        }
    }
}

/* From each rank a block of numbers. */
static void gather(MPI_Comm comm)
{
    int own, size, *numbers;
    MPI_Request request;

    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &size);
    numbers = malloc((size_t) size * COUNT * sizeof(int));
    for (int i = 0; i < size * COUNT; ++i) {
        numbers[i] = own == i / COUNT ? 3 * i : -1;
    }
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, numbers, COUNT, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < size * COUNT; ++i) {
        wrong += numbers[i] != 3 * i;
    }
    free(numbers);
}

/* Twice: what is settled by the first blocking call is obeyed by nonblocking ones behind it, but for those that
 * MPI_Comm_idup makes, too. */
static void merge(MPI_Comm inter, int high)
{
    MPI_Comm merged;

    MPI_Intercomm_merge(inter, high, &merged);
    say("merged");
    broadcast(merged, 50);
    say("merged again");
    broadcast(merged, 60);
    gather(merged);
    /* The first job says what was wrong in the second too. */
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&inter);
}

/* On rank 0. The root alone knows how long the blocks of this gather are: no model, nor a file of broadcasts, decides.
 */
static int sum_of_wrong(void)
{
    int size, sum = 0, *numbers;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    numbers = malloc(3 * (size_t) size * sizeof(int));
    for (int i = 0; i < size; ++i) {
        numbers[i] = 1;
        numbers[size + i] = i;
    }
    MPI_Gatherv(&wrong, 1, MPI_INT, numbers + 2 * size, numbers, numbers + size, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; 0 == rank && i < size; ++i) {
        sum += numbers[2 * size + i];
    }
    free(numbers);
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Comm part, inter;
    bool from_part;
    int all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (MPI_COMM_NULL != parent) {
        merge(parent, 1);
    } else {
        MPI_Comm_split(MPI_COMM_WORLD, 1 == rank, 0, &part);
        say("part");
        broadcast(part, 10);
        MPI_Barrier(MPI_COMM_WORLD);
        say("world");
        broadcast(MPI_COMM_WORLD, 20);
        from_part = 1 < argc && 0 == strcmp("--spawn-from-part", argv[1]);
        if (1 < argc && (!from_part || 1 != rank)) {
            MPI_Info info = MPI_INFO_NULL;

            if (2 < argc) {
                MPI_Info_create(&info);
                MPI_Info_set(info, "wdir", argv[2]);
            }
            if (3 < argc) {
                MPI_Info_set(info, "ompi_param", argv[3]);
            }
            MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 0 == strcmp("--spawn-one", argv[1]) ? 1 : CHILDREN, info, 0,
                           from_part ? part : MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
            if (MPI_INFO_NULL != info) {
                MPI_Info_free(&info);
            }
            merge(inter, 0);
        }
        MPI_Comm_free(&part);
    }
    all = sum_of_wrong();
    say(0 == all ? "all right" : "wrong values");
    MPI_Finalize();
    return 0 != all;
}
