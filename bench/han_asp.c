/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * han_asp - all-pairs shortest paths by the algorithm of Floyd and Warshall, the application of the HAN paper
 * (table III) and of the ADAPT paper (table 1): see --help. It runs with any MPI and any component.
 *
 * Rows of the matrix of distances are dealt to the ranks in turn. In iteration k the owner of row k broadcasts it, and
 * all ranks look whether their rows have shorter ways through k. The paper's matrix has a million rows, of which it
 * runs the first ones, so that each process is the root at least once. Here the other rows are left out altogether:
 * they cost memory and computation, and no communication. What is left needs nothing of them, so it can be checked.
 *
 * All exchange that serves the measurement is point-to-point, so that a faulty collective cannot hide itself.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <math.h>
#include <mpi.h>

#include "../common/tool_leave.h"
#include "../common/tool_version.h"
#include "../tune/tune_options.h"
#include "han_memory.h"
#include "han_seats.h"
#include "han_start.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_START = 1, TAG_ANSWER, TAG_ROWS };
enum { ROWS_OF_RANK = 4, GUARD = 64, GUARD_BYTE = 0xA5, ELEMENT = 4 };
enum { MOST_VERTICES = 1 << 28, MOST_ROWS = 1 << 20, MOST_REPETITIONS = 1000 };

static struct {
    long vertices, rows, iterations, repetitions, seed; /* rows and iterations 0: not said */
    int type;
    bool check, csv, help;
} given = { .vertices = 16384, .repetitions = 1, .check = true };

static int rank, ranks;

/* -- distances, of either type: no edge is infinitely long -- */

/* The same on every rank. A quarter of the edges is missing. 0: there is none. */
static unsigned length_of_edge(uint64_t from, uint64_t to)
{
    uint64_t x = from << 32 ^ to ^ UINT64_C(0x9e3779b97f4a7c15);

    for (int i = 0; i < 2; ++i) {
        x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    }
    x ^= x >> 33;
    return 0 == x % 4 ? 0 : 1 + (unsigned) (x >> 8) % 1000;
}

#define NO_WAY_int (INT_MAX / 2) /* two of them are a number still */
#define NO_WAY_float INFINITY

#define DEFINE_DISTANCES(type_name, edge)                                                                              \
    static void make_##type_name(void *row, long from, long vertices)                                                  \
    {                                                                                                                  \
        type_name *way = row;                                                                                          \
                                                                                                                       \
        for (long to = 0; to < vertices; ++to) {                                                                       \
            const unsigned length = length_of_edge((uint64_t) from, (uint64_t) to);                                    \
            way[to] = from == to ? 0 : 0 == length ? NO_WAY_##type_name : (type_name) (edge);                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void shorten_##type_name(void *row, const void *row_of_middle, long middle, long vertices)                  \
    {                                                                                                                  \
        type_name *way = row;                                                                                          \
        const type_name *on = row_of_middle, there = way[middle];                                                      \
                                                                                                                       \
        for (long to = 0; to < vertices; ++to) {                                                                       \
            const type_name through = there + on[to];                                                                  \
            way[to] = through < way[to] ? through : way[to];                                                           \
        }                                                                                                              \
    }

DEFINE_DISTANCES(int, length)
DEFINE_DISTANCES(float, (float) length / 7.0F) /* sums are rounded, in the same order on every rank */

static const char *const type_names[] = { "int", "float" };
static const struct {
    MPI_Datatype type;
    void (*make)(void *row, long from, long vertices);
    void (*shorten)(void *row, const void *row_of_middle, long middle, long vertices);
} types[] = { { MPI_INT, make_int, shorten_int }, { MPI_FLOAT, make_float, shorten_float } };

/* -- rows -- */

/* Those of one rank, or all of them. */
struct rows {
    unsigned char *first;
    long begin, step; /* row i here is row begin + i step of the matrix */
    long count;
};

static size_t row_bytes(void)
{
    return (size_t) given.vertices * ELEMENT;
}

static void *row_at(const struct rows *rows, long i)
{
    return rows->first + (size_t) i * row_bytes();
}

static void rows_open(struct rows *rows, long begin, long step)
{
    *rows = (struct rows){ .begin = begin, .step = step };
    rows->count = (given.rows - begin + step - 1) / step;
    rows->count = 0 > rows->count ? 0 : rows->count;
    rows->first = memory_for("rows", (size_t) rows->count * row_bytes());
}

static void rows_fill(const struct rows *rows)
{
    for (long i = 0; i < rows->count; ++i) {
        types[given.type].make(row_at(rows, i), rows->begin + i * rows->step, given.vertices);
    }
}

static void rows_shorten(const struct rows *rows, const void *row_of_middle, long middle)
{
    for (long i = 0; i < rows->count; ++i) {
        if (rows->begin + i * rows->step != middle) { /* it cannot become shorter through itself */
            types[given.type].shorten(row_at(rows, i), row_of_middle, middle, given.vertices);
        }
    }
}

/* A number for each row that tells one from another (Fowler, Noll and Vo's, over words). */
static void rows_digest(const struct rows *rows, uint64_t *digests)
{
    for (long i = 0; i < rows->count; ++i) {
        const unsigned char *row = row_at(rows, i);
        uint64_t digest = UINT64_C(0xcbf29ce484222325);

        for (size_t at = 0; at < row_bytes(); at += ELEMENT) {
            uint32_t word;

            memcpy(&word, row + at, ELEMENT);
            digest = (digest ^ word) * UINT64_C(0x100000001b3);
            digest ^= digest >> 32;
        }
        digests[i] = digest;
    }
}

/* What the rows must be in the end, by one rank alone. */
static void expect(uint64_t *digests)
{
    struct rows all;

    rows_open(&all, 0, 1);
    rows_fill(&all);
    for (long k = 0; k < given.iterations; ++k) {
        rows_shorten(&all, row_at(&all, k), k);
    }
    rows_digest(&all, digests);
    free(all.first);
}

/* -- the run -- */

/* What a rank tells of a repetition. */
struct answer {
    double communication; /* seconds in MPI_Bcast */
    double total;
    double guards_hurt;
};
enum { ANSWER_DOUBLES = sizeof(struct answer) / sizeof(double) };

static struct answer solve(const struct rows *own, unsigned char *row_received, struct start *start,
                           struct seats *seats)
{
    struct answer answer = { 0.0, 0.0, 0.0 };
    double begin, before;

    rows_fill(own);
    memset(row_received + row_bytes(), GUARD_BYTE, GUARD);
    begin = start_together(start);
    for (long k = 0; k < given.iterations; ++k) {
        const int root = (int) (k % ranks);
        void *row = root == rank ? row_at(own, k / ranks) : row_received;

        if (0 == root) {
            seats_change(seats);
        }
        before = start_clock();
        MPI_Bcast(row, (int) given.vertices, types[given.type].type, root, MPI_COMM_WORLD);
        answer.communication += start_clock() - before;
        rows_shorten(own, row, k);
    }
    answer.total = start_clock() - begin;
    for (int i = 0; i < GUARD; ++i) {
        answer.guards_hurt += GUARD_BYTE != row_received[row_bytes() + (size_t) i];
    }
    return answer;
}

/* On rank 0: the mean time of communication, the slowest rank's total, and the rows that are wrong. */
struct result {
    double communication, total;
    long wrong;
};

static void add_answer(struct result *result, const struct answer *answer, int from, const uint64_t *digests,
                       const uint64_t *expected)
{
    result->communication += answer->communication / ranks;
    result->total = answer->total > result->total ? answer->total : result->total;
    result->wrong += 0.0 < answer->guards_hurt;
    for (long row = from; NULL != expected && row < given.rows; row += ranks) {
        result->wrong += digests[row / ranks] != expected[row];
    }
}

/* Each rank's answer and digests go to rank 0. */
static struct result collect(const struct rows *own, struct answer answer, uint64_t *digests, const uint64_t *expected)
{
    struct result result = { 0.0, 0.0, 0 };

    if (given.check) {
        rows_digest(own, digests);
    }
    if (0 != rank) {
        MPI_Send(&answer, ANSWER_DOUBLES, MPI_DOUBLE, 0, TAG_ANSWER, MPI_COMM_WORLD);
        MPI_Send(digests, given.check ? (int) own->count : 0, MPI_UINT64_T, 0, TAG_ROWS, MPI_COMM_WORLD);
        return result;
    }
    add_answer(&result, &answer, 0, digests, expected);
    for (int from = 1; from < ranks; ++from) {
        MPI_Recv(&answer, ANSWER_DOUBLES, MPI_DOUBLE, from, TAG_ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(digests, (int) own->count, MPI_UINT64_T, from, TAG_ROWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        add_answer(&result, &answer, from, digests, expected);
    }
    return result;
}

static void print_head(void)
{
    if (given.csv) {
        printf("type,vertices,bytes,ranks,rows,iterations,communication_s,total_s,wrong,version\n");
    } else {
        printf("%ld rows of %ld %s, %zu bytes each; %ld iterations on %d ranks\n%16s %16s %8s\n", given.rows,
               given.vertices, type_names[given.type], row_bytes(), given.iterations, ranks, "communication s",
               "total s", "wrong");
    }
}

static void print_result(const struct result *result)
{
    if (given.csv) {
        printf("%s,%ld,%zu,%d,%ld,%ld,%.6f,%.6f,%ld,%s\n", type_names[given.type], given.vertices, row_bytes(), ranks,
               given.rows, given.iterations, result->communication, result->total, result->wrong, HAN_VERSION_TEXT);
    } else {
        printf("%16.6f %16.6f %8ld\n", result->communication, result->total, result->wrong);
    }
    fflush(stdout);
}

/* Returns whether all is right; what rank 0 knows. */
static bool run(void)
{
    struct rows own;
    struct start start;
    struct seats seats;
    unsigned char *row_received = memory_for("rows", row_bytes() + GUARD);
    uint64_t *digests, *expected = NULL;
    bool right = true;

    rows_open(&own, rank, ranks);
    digests = memory_for("rows", ((size_t) given.rows / (size_t) ranks + 1) * sizeof(*digests));
    if (0 == rank && given.check) {
        expected = memory_for("rows", (size_t) given.rows * sizeof(*expected));
        expect(expected);
    }
    if (0 == rank) {
        print_head();
    }
    /* In a run of thousands of iterations, what connections take counts for nothing. */
    memset(row_received, 0, row_bytes());
    for (int root = 0; root < ranks; ++root) {
        MPI_Bcast(row_received, (int) given.vertices, types[given.type].type, root, MPI_COMM_WORLD);
    }
    start_open(&start, MPI_COMM_WORLD, TAG_START);
    if (0 != seats_open(&seats, MPI_COMM_WORLD, TAG_START, (uint64_t) given.seed)) {
        tune_complain("no memory for %d ranks", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (long i = 0; i < given.repetitions; ++i) {
        const struct answer answer = solve(&own, row_received, &start, &seats);
        const struct result result = collect(&own, answer, digests, expected);

        if (0 == rank) {
            print_result(&result);
            right = right && 0 == result.wrong;
        }
    }
    seats_close(&seats);
    free(expected);
    free(digests);
    free(own.first);
    free(row_received);
    return right;
}

/* -- options -- */

enum { VERTICES = TUNE_OPTION, ROWS, ITERATIONS, TYPE, REPETITIONS, SEED, NO_CHECK, CSV, HELP };

static const struct option options[] = { { "vertices", required_argument, NULL, VERTICES },
                                         { "rows", required_argument, NULL, ROWS },
                                         { "iterations", required_argument, NULL, ITERATIONS },
                                         { "type", required_argument, NULL, TYPE },
                                         { "repetitions", required_argument, NULL, REPETITIONS },
                                         { "seed", required_argument, NULL, SEED },
                                         { "no-check", no_argument, NULL, NO_CHECK },
                                         { "csv", no_argument, NULL, CSV },
                                         { "help", no_argument, NULL, HELP },
                                         { NULL, 0, NULL, 0 } };

static const char *const accepted[] = { [VERTICES] = "a number from 1 to 256M; K or M may follow",
                                        [ROWS] = "a number from 1 to 1048576",
                                        [ITERATIONS] = "a number from 1 to 1048576",
                                        [TYPE] = "int or float",
                                        [REPETITIONS] = "a number from 1 to 1000",
                                        [SEED] = TUNE_SEED_ACCEPTED };

static bool take_option(void *context, int number, const char *text)
{
    size_t amount;

    (void) context;
    switch (number) {
    case VERTICES:
        if (!tune_get_bytes(&text, MOST_VERTICES, &amount) || '\0' != *text) {
            return false;
        }
        given.vertices = (long) amount;
        return 0 < amount;
    case ROWS:
        return tune_get_number(text, 1, MOST_ROWS, &given.rows);
    case ITERATIONS:
        return tune_get_number(text, 1, MOST_ROWS, &given.iterations);
    case TYPE:
        given.type = tune_find_word(text, type_names, sizeof(type_names) / sizeof(type_names[0]));
        return 0 <= given.type;
    case REPETITIONS:
        return tune_get_number(text, 1, MOST_REPETITIONS, &given.repetitions);
    case SEED:
        return tune_get_number(text, 0, TUNE_MOST_SEED, &given.seed);
    case NO_CHECK:
        given.check = false;
        return true;
    case CSV:
        return given.csv = true;
    default:
        return given.help = true;
    }
}

/* What one option says of another. */
static int settle_options(void)
{
    if (0 == given.rows) {
        given.rows = (long) ROWS_OF_RANK * ranks;
        given.rows = given.rows > given.vertices ? given.vertices : given.rows;
    }
    if (0 == given.iterations) {
        given.iterations = given.rows;
    }
    if (given.rows > given.vertices) {
        return tune_complain("--rows %ld; accepted: up to the number of vertices, %ld", given.rows, given.vertices);
    }
    if (given.iterations > given.rows) {
        return tune_complain("--iterations %ld; accepted: up to the number of rows, %ld", given.iterations, given.rows);
    }
    return 0;
}

static void help(void)
{
    printf(
        "Usage: mpirun [options of mpirun] han_asp [options]\n\n"
        "All-pairs shortest paths by the algorithm of Floyd and Warshall: ranks take turns to broadcast a row of the\n"
        "matrix of distances, and look for shorter ways through its vertex.\n\n"
        "  --vertices N      of the graph, so many elements of 4 bytes make a row (default 16K)\n"
        "  --rows N          of the matrix, the first ones; the others are left out (default %d a rank)\n"
        "  --iterations N    each broadcasts a row, the first ones (default: all rows)\n"
        "  --type int|float  of an element (default int)\n"
        "  --repetitions N   (default 1)\n"
        "  --seed N          of the lot by which ranks that share cores are put on other ones, whenever each has had "
        "its\n"
        "                    turn (default 0)\n"
        "  --no-check        without the sequential run that tells what must come out; rank 0 needs memory for all\n"
        "                    rows for it\n"
        "  --csv             comma-separated\n"
        "  --help            this text\n"
        "  --version         alone: the version of this program\n\n"
        "Times are seconds: of communication what a rank spends in MPI_Bcast, the mean over the ranks; in total\n"
        "the slowest rank's. Before, each rank broadcasts one row, so that all are connected.\n"
        "Exit code: 0, 1 wrong rows, 2 bad input or no memory.\n",
        ROWS_OF_RANK);
}

int main(int argc, char **argv)
{
    int code;

    tool_version(argc, argv, "han_asp");
    tune_options_speaker("han_asp", tool_rank());
    if (0 != tune_read_options(argc, argv, options, accepted, NULL, take_option)) {
        return tool_leave(2);
    }
    if (given.help) {
        if (0 == tool_rank()) {
            help();
        }
        return tool_leave(tune_finish(0, 1));
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tune_options_speaker("han_asp", rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    code = 0 != settle_options() ? 2 : !run();
    code = tune_finish(code, 1);
    MPI_Finalize();
    return code;
}
