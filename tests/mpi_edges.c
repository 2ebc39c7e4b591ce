/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that the checker does not make, as nothing in them is to be drawn: a pointer that must not be used,
 * intercommunicators, buffers that change as soon as a call returns. Passes with any correct MPI.
 *
 *   mpi_edges --strict            with calls without data, which hang where a component is not careful
 *   mpi_edges --strict --adapt    where ADAPT is alone: of these its own ones only
 */
#include "../common/tool_random.h"
#include "mpi_test.h"

#include <stddef.h>

static long segment = 1024;
static long strict = 0;
static long adapt = 0;

/* ---- messages of bytes ---- */

static const struct {
    int segments;
    int more;
} sizes[] = { { 0, 0 }, { 0, 1 }, { 1, -1 }, { 1, 0 }, { 1, 1 }, { 3, 7 }, { 9, 1 } };
static const size_t size_count = sizeof(sizes) / sizeof(sizes[0]);

static size_t size_bytes(size_t s)
{
    return (size_t) (sizes[s].segments * segment + sizes[s].more);
}

static void fill(unsigned char *memory, uint64_t key, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        memory[i] = t_pattern(key, i);
    }
}

static void expect_filled(const unsigned char *memory, uint64_t key, size_t bytes, const char *what, int root)
{
    size_t i = 0;

    while (i < bytes && t_pattern(key, i) == memory[i]) {
        ++i;
    }
    t_expect(i == bytes, "%s, %zu bytes, root %d: byte %zu is wrong", what, bytes, root, i);
    t_expect(t_guarded(memory), "%s, %zu bytes, root %d: a guard was written", what, bytes, root);
}

/* ---- no bytes ---- */

static void wild_pointer(void)
{
    void *wild = (void *) (uintptr_t) 8;

    for (int root = 0; root < t.size; ++root) {
        T_MPI(MPI_Bcast(wild, 0, MPI_DOUBLE, root, MPI_COMM_WORLD));
        T_MPI(MPI_Reduce(wild, (char *) wild + 8, 0, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD));
    }
    T_MPI(MPI_Allreduce(wild, (char *) wild + 8, 0, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}

/*
 * Every second rank has a count of 0, for which Open MPI's blocking functions return without asking a component; a
 * component that communicates for the others leaves them waiting.
 */
static void nothing_by_rank(void)
{
    const int count = 0 == t.rank % 2 ? 5 : 0;
    int *counts, *places, word = 7;
    MPI_Datatype nothing, type;

    if (!strict) {
        t_skip("wants --strict: the standard demands it, but Open MPI's own components may hang");
        return;
    }
    T_MPI(MPI_Type_contiguous(0, MPI_INT, &nothing));
    T_MPI(MPI_Type_commit(&nothing));
    counts = t_alloc((size_t) t.size * sizeof(*counts));
    places = t_alloc((size_t) t.size * sizeof(*places));
    type = 0 == t.rank % 2 ? nothing : MPI_BYTE;
    for (int i = 0; i < t.size; ++i) {
        counts[i] = count;
        places[i] = 0;
    }
    for (int root = 0; root < t.size; ++root) {
        T_MPI(MPI_Bcast(NULL, count, type, root, MPI_COMM_WORLD));
    }
    for (int root = 0; root < t.size && !adapt; ++root) {
        T_MPI(MPI_Gather(NULL, count, type, &word, count, type, root, MPI_COMM_WORLD));
        T_MPI(MPI_Scatter(NULL, count, type, &word, count, type, root, MPI_COMM_WORLD));
    }
    if (!adapt) {
        T_MPI(MPI_Allgather(NULL, count, type, &word, count, type, MPI_COMM_WORLD));
        T_MPI(MPI_Allgatherv(NULL, count, type, &word, counts, places, type, MPI_COMM_WORLD));
        T_MPI(MPI_Alltoall(NULL, count, type, &word, count, type, MPI_COMM_WORLD));
    }
    t_expect(7 == word, "something came: %d", word);
    t_free(places);
    t_free(counts);
    T_MPI(MPI_Type_free(&nothing));
}

/* ---- the largest basic element ---- */

struct wide {
    int number;
    long double _Complex value;
};

/* The rank's structures; what they have nothing in stays as it is. */
static struct wide *make_wide(int rank, int count)
{
    struct wide *all = t_alloc((size_t) count * sizeof(*all));

    memset(all, 0xee, (size_t) count * sizeof(*all));
    for (int i = 0; i < count && 0 <= rank; ++i) {
        all[i].number = 1000 * rank + i;
        all[i].value = 3 * i + rank;
    }
    return all;
}

static void expect_wide(const struct wide *all, int rank, int count, const char *what)
{
    unsigned char gap[sizeof(long double _Complex) - sizeof(int)];
    int i = 0;

    memset(gap, 0xee, sizeof(gap));
    while (i < count && 1000 * rank + i == all[i].number && 3 * i + rank == all[i].value
           && 0 == memcmp((const char *) &all[i] + sizeof(int), gap, offsetof(struct wide, value) - sizeof(int))) {
        ++i;
    }
    t_expect(i == count, "%s, from rank %d: structure %d of %d is wrong", what, rank, i, count);
}

/* Segments and pieces of memory end inside an element of 32 bytes. */
static void wide_elements(void)
{
    const int count = (int) (3 * segment / 36) + 5, lengths[] = { 1, 1 };
    const MPI_Aint places[] = { 0, offsetof(struct wide, value) };
    const MPI_Datatype types[] = { MPI_INT, MPI_C_LONG_DOUBLE_COMPLEX };
    struct wide *own = make_wide(t.rank, count), *all = make_wide(-1, count * t.size), *got;
    MPI_Datatype type;

    T_MPI(MPI_Type_create_struct(2, lengths, places, types, &type));
    T_MPI(MPI_Type_commit(&type));
    for (int root = 0; root < t.size; ++root) {
        got = make_wide(root == t.rank ? root : -1, count);
        T_MPI(MPI_Bcast(got, count, type, root, MPI_COMM_WORLD));
        expect_wide(got, root, count, "bcast");
        t_expect(t_guarded(got), "bcast, root %d: a guard was written", root);
        t_free(got);
    }
    T_MPI(MPI_Allgather(own, count, type, all, count, type, MPI_COMM_WORLD));
    for (int rank = 0; rank < t.size; ++rank) {
        expect_wide(all + (ptrdiff_t) rank * count, rank, count, "allgather");
    }
    t_expect(t_guarded(all), "allgather: a guard was written");
    T_MPI(MPI_Type_free(&type));
    t_free(all);
    t_free(own);
}

/* ---- two types of one base ---- */

struct pair {
    double out, in;
};

/* Of one array the one member is sent, and the other one received; by count, where all is one buffer or in segments. */
static void members_of_one_array(void)
{
    static const int counts[] = { 1, 3000 };
    const MPI_Aint place = offsetof(struct pair, in);
    const int one = 1;
    const MPI_Datatype real = MPI_DOUBLE;
    MPI_Datatype member, out, in;

    T_MPI(MPI_Type_create_resized(MPI_DOUBLE, 0, sizeof(struct pair), &out));
    T_MPI(MPI_Type_create_struct(1, &one, &place, &real, &member));
    T_MPI(MPI_Type_create_resized(member, 0, sizeof(struct pair), &in));
    T_MPI(MPI_Type_commit(&out));
    T_MPI(MPI_Type_commit(&in));
    for (int kind = 0; kind < 4 * 2; ++kind) {
        enum { ALLTOALL, ALLGATHER, GATHER, SCATTER };
        static const char *const names[] = { "alltoall", "allgather", "gather", "scatter" };
        const int which = kind / 2, count = counts[kind % 2], root = 0;
        const bool gets_all = ALLTOALL == which || ALLGATHER == which || (GATHER == which && root == t.rank);
        const int got = gets_all ? count * t.size : SCATTER == which ? count : 0;
        struct pair *pairs = t_alloc((size_t) count * (size_t) t.size * sizeof(*pairs));
        long wrong = 0;

        for (int i = 0; i < count * t.size; ++i) {
            pairs[i] = (struct pair){ 1e6 * t.rank + i, -1 };
        }
        if (ALLTOALL == which) {
            T_MPI(MPI_Alltoall(pairs, count, out, pairs, count, in, MPI_COMM_WORLD));
        } else if (ALLGATHER == which) {
            T_MPI(MPI_Allgather(pairs, count, out, pairs, count, in, MPI_COMM_WORLD));
        } else if (GATHER == which) {
            T_MPI(MPI_Gather(pairs, count, out, pairs, count, in, root, MPI_COMM_WORLD));
        } else {
            T_MPI(MPI_Scatter(pairs, count, out, pairs, count, in, root, MPI_COMM_WORLD));
        }
        for (int i = 0; i < count * t.size; ++i) {
            const int from = SCATTER == which ? root : i / count;
            const int of = (ALLTOALL == which || SCATTER == which ? t.rank * count : 0) + i % count;

            wrong += pairs[i].out != 1e6 * t.rank + i || pairs[i].in != (i < got ? 1e6 * from + of : -1);
        }
        t_expect(0 == wrong && t_guarded(pairs), "%s of %d: %ld are wrong", names[which], count, wrong);
        t_free(pairs);
    }
    T_MPI(MPI_Type_free(&in));
    T_MPI(MPI_Type_free(&out));
    T_MPI(MPI_Type_free(&member));
}

/* ---- intercommunicators ---- */

/* A message from a rank of one group to all of the other. */
static void bcast_across(MPI_Comm comm, bool sends, int root, size_t bytes)
{
    const uint64_t key = 17 * (uint64_t) t.seed + bytes + (uint64_t) root;
    unsigned char *memory = t_alloc(bytes);
    bool is_root;
    int rank;

    MPI_Comm_rank(comm, &rank);
    is_root = sends && root == rank;
    fill(memory, is_root ? key : key + 1, bytes);
    T_MPI(MPI_Bcast(memory, (int) bytes, MPI_BYTE, is_root ? MPI_ROOT : sends ? MPI_PROC_NULL : root, comm));
    expect_filled(memory, is_root || !sends ? key : key + 1, bytes, "bcast", root);
    t_free(memory);
}

static void bcasts_across(MPI_Comm comm, bool sends)
{
    int senders;

    if (sends) {
        MPI_Comm_size(comm, &senders);
    } else {
        MPI_Comm_remote_size(comm, &senders);
    }
    for (size_t s = 0; s < size_count; ++s) {
        for (int root = 0; root < senders; ++root) {
            bcast_across(comm, sends, root, size_bytes(s));
        }
    }
}

/* Each group has the sum of the other one. */
static void allreduce_across(MPI_Comm comm)
{
    int remote, sum = -1;

    MPI_Comm_remote_size(comm, &remote);
    T_MPI(MPI_Allreduce(&remote, &sum, 1, MPI_INT, MPI_SUM, comm));
    t_expect(remote * (t.size - remote) == sum, "allreduce: %d of %d ranks", sum, remote);
    T_MPI(MPI_Barrier(comm));
}

static void on_intercommunicator(void)
{
    MPI_Comm local, inter;
    bool low;

    inter = t_intercomm(&local, &low);
    if (MPI_COMM_NULL == inter) {
        return;
    }
    bcasts_across(inter, low);
    bcasts_across(inter, !low);
    allreduce_across(inter);
    T_MPI(MPI_Comm_free(&inter));
    T_MPI(MPI_Comm_free(&local));
}

/* ---- sequences ---- */

enum { IN_A_ROW = 50 };

/* Ranks may be many calls apart. */
static void many_in_a_row(void)
{
    uint64_t state = (uint64_t) t.seed;
    unsigned char *memory[IN_A_ROW];
    size_t bytes[IN_A_ROW];
    int roots[IN_A_ROW];

    for (int i = 0; i < IN_A_ROW; ++i) {
        roots[i] = (int) tool_random_below(&state, (size_t) t.size);
        bytes[i] = tool_random_below(&state, 4 * (size_t) segment);
        memory[i] = t_alloc(bytes[i]);
        fill(memory[i], (uint64_t) (i + (roots[i] == t.rank ? 0 : IN_A_ROW)), bytes[i]);
    }
    for (int i = 0; i < IN_A_ROW; ++i) {
        T_MPI(MPI_Bcast(memory[i], (int) bytes[i], MPI_BYTE, roots[i], MPI_COMM_WORLD));
    }
    for (int i = 0; i < IN_A_ROW; ++i) {
        expect_filled(memory[i], (uint64_t) i, bytes[i], "bcast", roots[i]);
        t_free(memory[i]);
    }
}

static void buffers_change(void)
{
    const size_t most = size_bytes(5);
    uint64_t state = (uint64_t) t.seed + 1;
    unsigned char *memory = t_alloc(most);

    for (int i = 0; i < 50; ++i) {
        const int root = (int) tool_random_below(&state, (size_t) t.size);
        const size_t bytes = tool_random_below(&state, most + 1);

        if (root == t.rank) {
            fill(memory, (uint64_t) i, bytes);
        }
        T_MPI(MPI_Bcast(memory, (int) bytes, MPI_BYTE, root, MPI_COMM_WORLD));
        expect_filled(memory, (uint64_t) i, bytes, "bcast", root);
        memset(memory, 0xee, most);
    }
    t_free(memory);
}

int main(int argc, char **argv)
{
    static const struct t_option options[]
        = { { "--segment", true, &segment }, { "--strict", false, &strict }, { "--adapt", false, &adapt } };
    static const struct t_behaviour behaviours[] = {
        { "a count of 0 with a wild pointer", wild_pointer, 0 },
        { "one signature without data, by rank a count of 0 or a type of size 0", nothing_by_rank, 0 },
        { "segments end inside the largest basic element", wide_elements, 0 },
        { "two members of one array are sent and received", members_of_one_array, 0 },
        { "an intercommunicator, both ways", on_intercommunicator, 0 },
        { "many in a row, any root and size", many_in_a_row, 0 },
        { "buffers change as soon as a call returns", buffers_change, 0 },
    };

    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
    if (segment < 2 || segment > 1 << 24) {
        fprintf(stderr, "%s: a segment has 2 bytes to 16 MiB\n", argv[0]);
        return 1;
    }
    MPI_Init(&argc, &argv);
    t_begin();
    while (t_next_setting()) {
        t_run(behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
    }
    return t_finish("MPI_Finalize returns");
}
