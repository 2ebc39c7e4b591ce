/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bits of reductions whose result depends on the order of operands, as one number: rank 0 prints it. For
 * test_bits.sh.
 */
#include "../common/tool_random.h"

#include <mpi.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;
static uint64_t seen = 14695981039346656037u; /* FNV-1a */

static void see(const double *result, int count)
{
    const unsigned char *bytes = (const unsigned char *) result;

    for (size_t i = 0; i < (size_t) count * sizeof(*result); ++i) {
        seen = (seen ^ bytes[i]) * 1099511628211u;
    }
}

/* Of very different sizes, so that each other order gives another sum. */
static void draw(double *values, int count)
{
    uint64_t state = (uint64_t) rank * 2654435761u + (uint64_t) count;

    for (int i = 0; i < count; ++i) {
        (void) tool_random(&state);
        values[i] = (double) (state >> 11) / (double) (UINT64_C(1) << (state >> 59));
    }
}

static void reduce_all(int count)
{
    double *own = malloc((size_t) (count * size) * sizeof(*own));
    double *result = calloc((size_t) count, sizeof(*result));
    MPI_Request request;

    if (NULL == own || NULL == result) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    draw(own, count * size);
    MPI_Allreduce(own, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    see(result, count);
    MPI_Iallreduce(own, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    see(result, count);
    MPI_Reduce(own, result, count, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
    see(result, count);
    MPI_Reduce_scatter_block(own, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    see(result, count);
    MPI_Scan(own, result, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    see(result, count);
    free(own);
    free(result);
}

int main(int argc, char **argv)
{
    uint64_t all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int count = 1; count <= 32768; count *= 8) {
        reduce_all(count);
    }
    MPI_Reduce(&seen, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (0 == rank) {
        printf("bits %016" PRIx64 "\n", all);
    }
    MPI_Finalize();
    return 0;
}
