/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * beside - what else MPI does for a rank that waits inside a collective, with one component for that and with another:
 * see --help. The time of each is taken on rank 0, which comes late, while all others wait in MPI_Barrier.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <mpi.h>

#include "../common/tool_leave.h"
#include "../common/tool_sort.h"
#include "../common/tool_version.h"
#include "../tune/tune_options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP = 300, MOST_REPETITIONS = 10000, FETCHES = 100 };

static int rank, size;
static long bytes = 128L << 20, late = 30, repetitions = 11;
static double most_slower;
static bool wanted_help;
static char *data;

static void help(void)
{
    printf("Usage: mpirun -n RANKS beside [options]\n\n"
           "All ranks but one wait in MPI_Barrier. Meanwhile rank 0\n"
           "  fetch   has %d MPI_Fetch_and_op at rank 1, each with MPI_Win_flush\n"
           "  send    receives a message that rank 1 has begun to send before it waits\n"
           "  ibcast  receives a broadcast that rank 1 has begun before it waits\n"
           "and then joins the barrier. The barrier is done by the first component, by the second, by the\n"
           "first, ...; the medians are printed, and their ratio.\n\n"
           "  --prefer ONE,OTHER  the components (default solo,tuned)\n"
           "  --bytes N           of the message and the broadcast (default 128 MiB)\n"
           "  --late MS           milliseconds that the others have waited when rank 0 begins (default 30)\n"
           "  --repetitions N     (default 11)\n"
           "  --max-slower R      exit code 1 where the first takes more than R times as long\n"
           "  --help              this text\n\n"
           "On one node: it is solo that waits there. The message needs the sender's help where it does not go by\n"
           "single copies: with --mca btl tcp,self, or --mca btl_vader_single_copy_mechanism none.\n",
           FETCHES);
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* -- what goes on meanwhile: each begins on all ranks, is timed on rank 0, and ends on all ranks after the barrier --
 */

static MPI_Win window;
static MPI_Comm own; /* for the broadcast */
static MPI_Request request = MPI_REQUEST_NULL;

static void nothing(void)
{
}

static void fetch(void)
{
    const long one = 1;
    long result;

    for (int i = 0; i < FETCHES; ++i) {
        MPI_Fetch_and_op(&one, &result, MPI_LONG, 1, 0, MPI_SUM, window);
        MPI_Win_flush(1, window);
    }
}

static void begin_send(void)
{
    if (1 == rank) {
        MPI_Isend(data, (int) bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    }
}

static void receive(void)
{
    MPI_Recv(data, (int) bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void begin_ibcast(void)
{
    if (0 != rank) {
        MPI_Ibcast(data, (int) bytes, MPI_BYTE, 1, own, &request);
    }
}

static void ibcast(void)
{
    MPI_Ibcast(data, (int) bytes, MPI_BYTE, 1, own, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static const struct {
    const char *name;
    void (*begin)(void);
    void (*work)(void);
} activities[] = { { "fetch", nothing, fetch }, { "send", begin_send, receive }, { "ibcast", begin_ibcast, ibcast } };

static double once(int activity, MPI_Comm comm)
{
    double start;

    MPI_Barrier(comm);
    activities[activity].begin();
    if (0 == rank) {
        wait_ms(late);
    }
    start = MPI_Wtime();
    if (0 == rank) {
        activities[activity].work();
    }
    start = MPI_Wtime() - start;
    MPI_Barrier(comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return start;
}

/* -- the measurement -- */

static double median(double *of)
{
    tool_sort(of, (size_t) repetitions);
    return of[repetitions / 2];
}

static bool measure(int activity, const MPI_Comm comms[2])
{
    static double times[2][MOST_REPETITIONS];
    double one, other;

    for (long i = 0; i < repetitions; ++i) {
        for (int which = 0; which < 2; ++which) {
            times[which][i] = once(activity, comms[which]);
        }
    }
    one = median(times[0]) * 1e6;
    other = median(times[1]) * 1e6;
    if (0 == rank) {
        printf("%-8s %12.1f %12.1f %8.2f\n", activities[activity].name, one, other, one / other);
        fflush(stdout);
    }
    return 0 >= most_slower || 0 != rank || one <= most_slower * other;
}

/* -- options -- */

enum { PREFER = TUNE_OPTION, BYTES, LATE, REPETITIONS, MAX_SLOWER, HELP };

static const struct option options[] = { { "prefer", required_argument, NULL, PREFER },
                                         { "bytes", required_argument, NULL, BYTES },
                                         { "late", required_argument, NULL, LATE },
                                         { "repetitions", required_argument, NULL, REPETITIONS },
                                         { "max-slower", required_argument, NULL, MAX_SLOWER },
                                         { "help", no_argument, NULL, HELP },
                                         { NULL, 0, NULL, 0 } };

static const char *const accepted[] = { [PREFER] = "ONE,OTHER: two components",
                                        [BYTES] = "a number from 1 to 1G; K, M or G may follow",
                                        [LATE] = "milliseconds, from 0 to 10000",
                                        [REPETITIONS] = "a number from 1 to 10000",
                                        [MAX_SLOWER] = "a factor such as 1.1" };

static bool take_option(void *context, int number, const char *text)
{
    static char copy[128];
    char **names = context, *rest = copy, *end;
    size_t amount;

    switch (number) {
    case PREFER:
        snprintf(copy, sizeof(copy), "%s", text);
        names[0] = strsep(&rest, ",");
        names[1] = rest;
        return strlen(text) < sizeof(copy) && NULL != rest && '\0' != *names[0] && '\0' != *rest
               && NULL == strchr(rest, ',');
    case BYTES:
        if (!tune_get_bytes(&text, INT_MAX, &amount) || '\0' != *text) {
            return false;
        }
        bytes = (long) amount;
        return 0 < bytes && bytes <= 1L << 30;
    case LATE:
        return tune_get_number(text, 0, 10000, &late);
    case REPETITIONS:
        return tune_get_number(text, 1, MOST_REPETITIONS, &repetitions);
    case MAX_SLOWER:
        most_slower = strtod(text, &end);
        return end != text && '\0' == *end && 0 < most_slower;
    default:
        return wanted_help = true;
    }
}

/* A communicator on which a component comes first, and has had enough calls for its memory. */
static MPI_Comm prefer(char *component)
{
    MPI_Comm comm;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "ompi_comm_coll_preference", component);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    for (int i = 0; i < WARM_UP; ++i) {
        MPI_Barrier(comm);
    }
    return comm;
}

static bool run(char *names[2])
{
    MPI_Comm comms[2] = { prefer(names[0]), prefer(names[1]) };
    bool quick = true, windows;
    long *counter;

    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Alloc_mem(sizeof(*counter), MPI_INFO_NULL, &counter);
    *counter = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    windows = MPI_SUCCESS
              == MPI_Win_create(counter, sizeof(*counter), sizeof(*counter), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (windows) {
        MPI_Win_lock_all(0, window);
    }
    if (0 == rank) {
        printf("%-8s %9s us %9s us %8s\n", "", names[0], names[1], "ratio");
    }
    for (size_t i = 0; i < sizeof(activities) / sizeof(activities[0]); ++i) {
        if (windows || fetch != activities[i].work) {
            quick = measure((int) i, comms) && quick;
        } else if (0 == rank) {
            printf("%-8s no windows over this network\n", activities[i].name);
        }
    }
    if (windows) {
        MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    }
    MPI_Free_mem(counter);
    MPI_Comm_free(&own);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    return quick;
}

int main(int argc, char **argv)
{
    char defaults[] = "solo,tuned", *names[2] = { strtok(defaults, ","), strtok(NULL, ",") };
    int code = 0;

    tool_version(argc, argv, "beside");
    tune_options_speaker("beside", tool_rank());
    if (0 != tune_read_options(argc, argv, options, accepted, names, take_option)) {
        return tool_leave(2);
    }
    if (wanted_help) {
        if (0 == tool_rank()) {
            help();
        }
        return tool_leave(tune_finish(0, 1));
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tune_options_speaker("beside", rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (2 > size || NULL == (data = calloc(1, (size_t) bytes))) {
        fprintf(stderr, "beside: %s\n", 2 > size ? "two ranks at least are wanted" : "no memory for the message");
        MPI_Abort(MPI_COMM_WORLD, 2);
    } else if (!run(names)) {
        code = 1;
    }
    free(data);
    code = tune_finish(code, 1);
    MPI_Finalize();
    return code;
}
