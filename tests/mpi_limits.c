/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of sizes that the checker does not reach. Passes with any correct MPI.
 *
 *   mpi_limits --large 4194304    reduces of so many bytes, for many ranks
 *   mpi_limits --gaps 3000000     blocks of about so many bytes from all to all, of which one end or both have gaps
 *   mpi_limits --far              few elements, the last one more than 2 GiB behind the first
 *   mpi_limits --big              more than 2 GiB of data; where there is not enough memory, skipped
 */
#include "mpi_test.h"

static long large = 0;
static long gaps = 0;
static long far = 0;
static long big = 0;

/* ---- long messages on many ranks ---- */

/* Every rank sends before the ranks above it are ready for that: Open MPI's issue 11168 was a hang here. */
static void long_reduces(void)
{
    const int count = (int) (large / (long) sizeof(int));
    int *own = t_alloc((size_t) large), *sum = t_alloc((size_t) large);

    for (int round = 0; round < 4; ++round) {
        const int root = round * (t.size - 1) / 3;
        long wrong = 0;

        for (int i = 0; i < count; ++i) {
            own[i] = t.rank + i % 1000 + round;
            sum[i] = -1;
        }
        T_MPI(MPI_Reduce(own, sum, count, MPI_INT, MPI_SUM, root, t.comm));
        for (int i = 0; i < count; ++i) {
            wrong += sum[i] != (t.rank == root ? t.size * (t.size - 1) / 2 + t.size * (i % 1000 + round) : -1);
        }
        t_expect(0 == wrong, "root %d: %ld of %d elements are wrong", root, wrong, count);
        t_expect(t_guarded(own) && t_guarded(sum), "root %d: written outside of a buffer", root);
    }
    t_free(own);
    t_free(sum);
}

/* ---- long blocks that one end or both have with gaps ---- */

/* Elements from one rank to another; no two blocks of a rank are alike. */
static int block_count(int from, int to)
{
    return (int) (gaps / (long) sizeof(int)) + 1000 * (3 * from + to) + from;
}

static int block_element(int from, int to, int i)
{
    return 100000 * (10 * from + to) + i % 99991;
}

/* Of one end: its blocks lie one behind the other, each element so many ints behind the one before. */
struct blocks {
    int every;
    MPI_Datatype type;
    int *counts, *places;
    int *numbers;
    size_t length; /* of numbers */
};

static struct blocks blocks_make(int every, bool sent)
{
    struct blocks blocks = { .every = every,
                             .counts = t_alloc((size_t) t.size * sizeof(int)),
                             .places = t_alloc((size_t) t.size * sizeof(int)) };
    int place = 0;

    for (int rank = 0; rank < t.size; ++rank) {
        blocks.counts[rank] = sent ? block_count(t.rank, rank) : block_count(rank, t.rank);
        blocks.places[rank] = place;
        place += blocks.counts[rank];
    }
    blocks.length = (size_t) place * (size_t) every;
    blocks.numbers = t_alloc(blocks.length * sizeof(int));
    for (size_t i = 0; i < blocks.length; ++i) {
        blocks.numbers[i] = -1;
    }
    T_MPI(MPI_Type_create_resized(MPI_INT, 0, every * (int) sizeof(int), &blocks.type));
    T_MPI(MPI_Type_commit(&blocks.type));
    return blocks;
}

static void blocks_free(struct blocks *blocks)
{
    T_MPI(MPI_Type_free(&blocks->type));
    t_free(blocks->counts);
    t_free(blocks->places);
    t_free(blocks->numbers);
}

static int *block_place(const struct blocks *blocks, int rank, int i)
{
    return blocks->numbers + ((size_t) blocks->places[rank] + (size_t) i) * (size_t) blocks->every;
}

static void exchange_blocks(int sent_every, int received_every)
{
    struct blocks sent = blocks_make(sent_every, true), received = blocks_make(received_every, false);
    long wrong = 0;

    for (int rank = 0; rank < t.size; ++rank) {
        for (int i = 0; i < sent.counts[rank]; ++i) {
            *block_place(&sent, rank, i) = block_element(t.rank, rank, i);
        }
    }
    T_MPI(MPI_Alltoallv(sent.numbers, sent.counts, sent.places, sent.type, received.numbers, received.counts,
                        received.places, received.type, t.comm));
    for (int rank = 0; rank < t.size; ++rank) {
        for (int i = 0; i < received.counts[rank]; ++i) {
            int *place = block_place(&received, rank, i);

            wrong += *place != block_element(rank, t.rank, i);
            *place = -1;
        }
    }
    for (size_t i = 0; i < received.length; ++i) {
        wrong += -1 != received.numbers[i];
    }
    t_expect(0 == wrong, "every %d to every %d: %ld numbers are wrong", sent_every, received_every, wrong);
    t_expect(t_guarded(sent.numbers) && t_guarded(received.numbers),
             "every %d to every %d: written outside of a buffer", sent_every, received_every);
    blocks_free(&sent);
    blocks_free(&received);
}

static void blocks_with_gaps(void)
{
    exchange_blocks(2, 2);
    exchange_blocks(2, 1);
    exchange_blocks(1, 2);
    /* An end of a pair has gaps, the other one has none; and so the other way round. */
    exchange_blocks(1 + t.rank % 2, 2 - t.rank % 2);
}

/* ---- elements far apart ---- */

enum { FAR = 1 << 20, FAR_COUNT = 2300 };

/* The first is summed up: of all ranks, or of one. */
static void far_expect(const char *what, const unsigned char *buffer, uint32_t value, uint32_t factor)
{
    const int right = t_apart_right(buffer, FAR, FAR_COUNT, value, factor);

    t_expect(right == FAR_COUNT, "%s: element %d is wrong", what, right);
    t_expect(t_guarded(buffer), "%s: written outside of the buffer", what);
}

/* A few bytes each; most memory between them is not touched. */
static void elements_far_apart(void)
{
    const size_t bytes = (size_t) (FAR_COUNT - 1) * FAR + sizeof(uint32_t);
    const uint32_t size = (uint32_t) t.size, sum = 1000 * size * (size - 1) / 2;
    unsigned char *own = t_alloc(bytes), *result = t_alloc(bytes);
    MPI_Datatype type;
    MPI_Op op;

    T_MPI(MPI_Op_create(t_apart_sum, 1, &op));
    T_MPI(MPI_Type_create_resized(MPI_UNSIGNED, 0, FAR, &type));
    T_MPI(MPI_Type_commit(&type));
    t_apart_fill(own, FAR, FAR_COUNT, 1000 * (uint32_t) t.rank);
    for (int root = 0; root < t.size; ++root) {
        t_apart_fill(result, FAR, FAR_COUNT, 7);
        T_MPI(MPI_Reduce(own, result, FAR_COUNT, type, op, root, MPI_COMM_WORLD));
        far_expect("reduce", result, root == t.rank ? sum : 7, root == t.rank ? size : 1);
        t_apart_fill(result, FAR, FAR_COUNT, 1000 * (uint32_t) t.rank);
        T_MPI(MPI_Bcast(result, FAR_COUNT, type, root, MPI_COMM_WORLD));
        far_expect("bcast", result, 1000 * (uint32_t) root, 1);
    }
    T_MPI(MPI_Allreduce(own, result, FAR_COUNT, type, op, MPI_COMM_WORLD));
    far_expect("allreduce", result, sum, size);
    far_expect("input", own, 1000 * (uint32_t) t.rank, 1);
    T_MPI(MPI_Allreduce(MPI_IN_PLACE, own, FAR_COUNT, type, op, MPI_COMM_WORLD));
    far_expect("allreduce in place", own, sum, size);
    T_MPI(MPI_Type_free(&type));
    T_MPI(MPI_Op_free(&op));
    t_free(own);
    t_free(result);
}

/* ---- past 2 GiB: only some of the data is looked at, for touching new memory takes most of the time ---- */

#define MIB ((size_t) 1 << 20)
#define PAST (((size_t) 1 << 31) + 12345)

/* Bytes free on this node, or 0 where that is not known. */
static size_t memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[T_TEXT];
    size_t kib = 0;

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (1 == sscanf(line, "MemAvailable: %zu", &kib)) {
            break;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return kib << 10;
}

/* Nodes may be virtual ones of one machine: then all ranks share its memory. */
static bool has_memory(size_t bytes_of_rank)
{
    const size_t needed = (size_t) t.size * bytes_of_rank + ((size_t) 1 << 30);

    if (!t_agree(memory_available() >= needed)) {
        t_skip("there is less memory than %d ranks need (%zu MiB)", t.size, needed / MIB);
        return false;
    }
    return true;
}

/* All at the ends and around 2 GiB, few between. */
static size_t next_place(size_t i, size_t count, size_t size)
{
    const size_t edges[] = { 64, ((size_t) 1 << 31) / size, count - 64 };
    size_t step = 65521;

    for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); ++e) {
        const size_t start = edges[e] - 64;

        if (i >= start && i < edges[e] + 64) {
            return i + 1;
        }
        if (start > i && start - i < step) {
            step = start - i;
        }
    }
    return i + step;
}

/* -- broadcasts -- */

static void bcast_past(MPI_Datatype type, int count, size_t bytes, int root)
{
    const unsigned char flip = root == t.rank ? 0 : 0xff;
    unsigned char *memory = t_alloc_huge(bytes);
    size_t wrong = 0;

    for (size_t i = 0; i < bytes; i = next_place(i, bytes, 1)) {
        memory[i] = t_pattern((uint64_t) t.seed, i) ^ flip;
    }
    T_MPI(MPI_Bcast(memory, count, type, root, MPI_COMM_WORLD));
    for (size_t i = 0; i < bytes; i = next_place(i, bytes, 1)) {
        if (memory[i] != t_pattern((uint64_t) t.seed, i)) {
            t_expect(false, "byte %zu is the first wrong one", i);
            ++wrong;
        }
    }
    t_expect(0 == wrong, "%zu bytes are wrong", wrong);
    t_free(memory);
}

static void bcast_of_one_element(void)
{
    const int lengths[] = { (int) (PAST / MIB), (int) (PAST % MIB) };
    const MPI_Aint offsets[] = { 0, (MPI_Aint) (PAST - PAST % MIB) };
    MPI_Datatype types[] = { MPI_DATATYPE_NULL, MPI_BYTE };
    MPI_Datatype type;

    if (!has_memory(PAST)) {
        return;
    }
    T_MPI(MPI_Type_contiguous((int) MIB, MPI_BYTE, &types[0]));
    T_MPI(MPI_Type_create_struct(2, lengths, offsets, types, &type));
    T_MPI(MPI_Type_commit(&type));
    bcast_past(type, 1, PAST, t.size - 1);
    T_MPI(MPI_Type_free(&type));
    T_MPI(MPI_Type_free(&types[0]));
}

static void bcast_of_doubles(void)
{
    const size_t count = PAST / sizeof(double) + 1;

    if (has_memory(count * sizeof(double))) {
        bcast_past(MPI_DOUBLE, (int) count, count * sizeof(double), 0);
    }
}

/* -- reductions -- */

typedef uint64_t (*fold_t)(uint64_t left, uint64_t right);

static uint64_t add(uint64_t left, uint64_t right)
{
    return left + right;
}

/* Maps x -> a x + b modulo 2^32, with a in the upper half, one after another: these do not commute. */
static uint64_t compose(uint64_t left, uint64_t right)
{
    const uint32_t a = (uint32_t) (left >> 32), b = (uint32_t) left;

    return (uint64_t) (uint32_t) (a * (right >> 32)) << 32 | (uint32_t) (a * (uint32_t) right + b);
}

static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const uint64_t *left = in;
    uint64_t *right = inout;

    (void) type;
    for (int i = 0; i < *count; ++i) {
        right[i] = compose(left[i], right[i]);
    }
}

static uint64_t number_of(int rank, size_t i)
{
    const uint64_t x = ((uint64_t) rank + 1) * UINT64_C(0x9e3779b97f4a7c15) + i * UINT64_C(0xd1b54a32d192ed03);

    return (x ^ x >> 31) | (uint64_t) 1 << 32;
}

static void numbers_fill(uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i = next_place(i, count, sizeof(numbers[0]))) {
        numbers[i] = number_of(t.rank, i);
    }
}

static void numbers_expect(const char *what, const uint64_t *numbers, size_t count, fold_t fold)
{
    for (size_t i = 0; i < count; i = next_place(i, count, sizeof(numbers[0]))) {
        uint64_t wanted = number_of(t.size - 1, i);

        for (int rank = t.size - 2; 0 <= rank; --rank) {
            wanted = fold(number_of(rank, i), wanted);
        }
        if (!t_expect(wanted == numbers[i], "%s: element %zu is wrong", what, i)) {
            return;
        }
    }
}

static void reductions_in_place(void)
{
    const size_t count = PAST / sizeof(uint64_t) + 1;
    uint64_t *data;

    if (!has_memory(count * sizeof(data[0]))) {
        return;
    }
    data = t_alloc_huge(count * sizeof(data[0]));
    numbers_fill(data, count);
    T_MPI(MPI_Allreduce(MPI_IN_PLACE, data, (int) count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    numbers_expect("allreduce", data, count, add);
    numbers_fill(data, count);
    T_MPI(MPI_Reduce(0 == t.rank ? MPI_IN_PLACE : data, 0 == t.rank ? data : NULL, (int) count, MPI_UINT64_T, MPI_SUM,
                     0, MPI_COMM_WORLD));
    if (0 == t.rank) {
        numbers_expect("reduce", data, count, add);
    }
    t_free(data);
}

static void reductions_in_order(void)
{
    const size_t count = PAST / sizeof(uint64_t) + 1;
    uint64_t *data, *result;
    MPI_Op op;

    if (!has_memory(2 * count * sizeof(data[0]))) {
        return;
    }
    T_MPI(MPI_Op_create(compose_all, 0, &op));
    data = t_alloc_huge(count * sizeof(data[0]));
    result = t_alloc_huge(count * sizeof(data[0]));
    numbers_fill(data, count);
    T_MPI(MPI_Allreduce(data, result, (int) count, MPI_UINT64_T, op, MPI_COMM_WORLD));
    numbers_expect("allreduce", result, count, compose);
    T_MPI(MPI_Reduce(data, result, (int) count, MPI_UINT64_T, op, t.size - 1, MPI_COMM_WORLD));
    if (t.rank == t.size - 1) {
        numbers_expect("reduce", result, count, compose);
    }
    t_free(data);
    t_free(result);
    T_MPI(MPI_Op_free(&op));
}

/* ---- the program ---- */

#define RUN(behaviours) t_run(behaviours, sizeof(behaviours) / sizeof(behaviours[0]))

int main(int argc, char **argv)
{
    static const struct t_option options[] = {
        { "--large", true, &large }, { "--gaps", true, &gaps }, { "--far", false, &far }, { "--big", false, &big }
    };
    static const struct t_behaviour large_ones[] = { { "reduces of long messages", long_reduces, 0 } };
    static const struct t_behaviour gaps_ones[]
        = { { "long blocks from all to all, with gaps and without", blocks_with_gaps, 0 } };
    static const struct t_behaviour far_ones[]
        = { { "elements far apart, the last more than 2 GiB behind the first", elements_far_apart, 0 } };
    static const struct t_behaviour big_ones[] = {
        { "a broadcast of more than 2 GiB in one element", bcast_of_one_element, 0 },
        { "a broadcast of more than 2 GiB of doubles", bcast_of_doubles, 0 },
        { "reductions of more than 2 GiB, in place", reductions_in_place, 0 },
        { "reductions of more than 2 GiB, in order, to another buffer", reductions_in_order, 0 },
    };

    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
    if (0 == large && 0 == gaps && !far && !big) {
        fprintf(stderr, "%s: one of --large BYTES, --gaps BYTES, --far and --big is wanted\n", argv[0]);
        return 1;
    }
    MPI_Init(&argc, &argv);
    t_begin();
    while (t_next_setting()) {
        if (0 < large) {
            RUN(large_ones);
        }
        if (0 < gaps) {
            RUN(gaps_ones);
        }
        if (far) {
            RUN(far_ones);
        }
        if (big) {
            RUN(big_ones);
        }
    }
    return t_finish("MPI_Finalize returns");
}
