/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes MPI_T variables while it runs, on all ranks, and broadcasts after each. For test_load.sh.
 *
 *   load_mpi_t [--more] [NAME=NUMBER ...]
 *
 * Rank 0 says on standard error "NAME=NUMBER is written" or "... is refused", and what the component says of the
 * broadcast follows there; at the end "all right" or "wrong values". With --more, an allreduce follows the broadcast,
 * and a broadcast on a communicator that is made then.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 100000

static int rank;

/* Index of a variable, or -1. */
static int find(const char *wanted)
{
    int count = 0;

    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count; ++i) {
        char name[256];
        int length = sizeof(name), verbosity, binding, scope;
        MPI_Datatype type;

        if (MPI_SUCCESS == MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, NULL, NULL, NULL, &binding, &scope)
            && 0 == strcmp(wanted, name)) {
            return i;
        }
    }
    return -1;
}

static const char *write_variable(const char *name, int value)
{
    const int index = find(name);
    MPI_T_cvar_handle handle;
    int count = 0, before = 0, after = 0, code;

    if (0 > index || MPI_SUCCESS != MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) || 1 != count) {
        return "unknown";
    }
    MPI_T_cvar_read(handle, &before);
    code = MPI_T_cvar_write(handle, &value);
    MPI_T_cvar_read(handle, &after);
    MPI_T_cvar_handle_free(&handle);
    if (MPI_SUCCESS == code) {
        return value == after ? "written" : "written but not there";
    }
    return before == after ? "refused" : "refused but changed";
}

static int broadcast_right(MPI_Comm comm)
{
    unsigned char *bytes = malloc(BYTES);
    int right = NULL != bytes;

    for (int i = 0; i < BYTES && right; ++i) {
        bytes[i] = (unsigned char) (0 == rank ? i * 7 : 1);
    }
    right = right && MPI_SUCCESS == MPI_Bcast(bytes, BYTES, MPI_BYTE, 0, comm);
    for (int i = 0; i < BYTES && right; ++i) {
        right = (unsigned char) (i * 7) == bytes[i];
    }
    free(bytes);
    return right;
}

static int more_right(void)
{
    static double in[BYTES / sizeof(double)], out[BYTES / sizeof(double)];
    const int count = BYTES / (int) sizeof(double);
    MPI_Comm made;
    int right, size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < count; ++i) {
        in[i] = i;
    }
    right = MPI_SUCCESS == MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count && right; ++i) {
        right = size * in[i] == out[i];
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_set_name(made, "made");
    right = broadcast_right(made) && right;
    MPI_Comm_free(&made);
    return right;
}

int main(int argc, char **argv)
{
    int right = 1, all = 0, provided;
    const int more = 1 < argc && 0 == strcmp("--more", argv[1]);

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1 + more; i < argc; ++i) {
        char *equals = strchr(argv[i], '=');
        const char *done;

        if (NULL == equals) {
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        *equals = '\0';
        done = write_variable(argv[i], atoi(equals + 1));
        /* No rank broadcasts before all have written: the values must agree. */
        MPI_Barrier(MPI_COMM_WORLD);
        if (0 == rank) {
            fprintf(stderr, "%s=%s is %s\n", argv[i], equals + 1, done);
        }
        right = broadcast_right(MPI_COMM_WORLD) && right;
        right = (!more || more_right()) && right;
    }
    if (1 == argc) {
        right = broadcast_right(MPI_COMM_WORLD);
    }
    MPI_Reduce(&right, &all, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    if (0 == rank) {
        fprintf(stderr, "%s\n", all ? "all right" : "wrong values");
    }
    /* In this order: Open MPI 4.1.4 crashes in an MPI_T_finalize that comes after MPI_Finalize, with any component. */
    MPI_T_finalize();
    MPI_Finalize();
    return right ? 0 : 1;
}
