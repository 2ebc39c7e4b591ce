/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the HAN of Open MPI 4.1 gets wrong, one behaviour for each; numbers are those of Open MPI's issues. Passes with
 * any correct MPI whose collectives know of nodes. `tests/run.sh --theirs` shows that the HAN of Open MPI fails. What
 * has no number is a fault that this project had.
 */
#include "mpi_test.h"

#include <mpi-ext.h>
#include <sys/syscall.h>
#include <unistd.h>

static long gather = 0;
static long ragged = 0;
static long module = 0;
static long signature = 0;
static long first = 0;
static long truncated = 0;
static long unfit = 0;
static long wire = 0;
static long flood = 0;
static long yields = 0;
static long late = 0;
static long unequal = 0;
static long packed = 0;
static long padding = 0;
static long freed = 0;
static long alone = 0;
static long partly = 0;

/* 11664: with ranks laid out by node, every value was wrong. */
static void gather_is_in_rank_order(void)
{
    enum { COUNT = 500 };
    int *own = t_alloc(COUNT * sizeof(int)), *all = t_alloc((size_t) t.size * COUNT * sizeof(int));

    for (int root = 0; root < t.size; root += t.size - 1) {
        long wrong = 0;

        for (int i = 0; i < COUNT; ++i) {
            own[i] = t.rank * 100003 + i;
        }
        memset(all, 0, (size_t) t.size * COUNT * sizeof(int));
        T_MPI(MPI_Gather(own, COUNT, MPI_INT, all, COUNT, MPI_INT, root, MPI_COMM_WORLD));
        for (int i = 0; i < t.size * COUNT && t.rank == root; ++i) {
            wrong += all[i] != i / COUNT * 100003 + i % COUNT;
        }
        t_expect(0 == wrong, "root %d: %ld of %d values are wrong", root, wrong, t.size * COUNT);
    }
    t_free(own);
    t_free(all);
}

/* 11441: the last, shorter segment was sent whole. */
static void ragged_segment_stays_inside(void)
{
    static const int counts[] = { 8193, 8191, 16385, 65537 };

    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); ++c) {
        const size_t bytes = (size_t) counts[c] * sizeof(double);
        double *own = t_alloc(bytes), *sum = malloc(bytes + (1 << 20));
        long wrong = 0;

        for (int i = 0; i < counts[c]; ++i) {
            own[i] = t.rank + i % 1000;
        }
        memset(sum, t_guard_byte(), bytes + (1 << 20));
        T_MPI(MPI_Allreduce(own, sum, counts[c], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        for (int i = 0; i < counts[c]; ++i) {
            wrong += sum[i] != (double) t.size * (t.size - 1) / 2 + (double) t.size * (i % 1000);
        }
        t_expect(0 == wrong, "%d doubles: %ld are wrong", counts[c], wrong);
        wrong = 0;
        for (size_t i = bytes; i < bytes + (1 << 20); ++i) {
            wrong += t_guard_byte() != ((const unsigned char *) sum)[i];
        }
        t_expect(0 == wrong, "%d doubles: %ld bytes past the buffer are written", counts[c], wrong);
        t_free(own);
        free(sum);
    }
}

static void bcast_is_right(int count, MPI_Datatype type, int bytes)
{
    unsigned char *memory = t_alloc((size_t) bytes);
    long wrong = 0;

    for (int i = 0; i < bytes; ++i) {
        memory[i] = 0 == t.rank ? t_pattern(5, (size_t) i) : 0;
    }
    T_MPI(MPI_Bcast(memory, count, type, 0, MPI_COMM_WORLD));
    for (int i = 0; i < bytes; ++i) {
        wrong += t_pattern(5, (size_t) i) != memory[i];
    }
    t_expect(0 == wrong, "%ld of %d bytes are wrong", wrong, bytes);
    t_free(memory);
}

/* 10514, 10964: a number that is no module's crashed. */
static void bad_module_is_survived(void)
{
    bcast_is_right(100000, MPI_BYTE, 100000);
}

/* 1763, 10523: ranks cut different (count, type) of one signature differently. */
enum { SIGNATURE_INTS = 300000, SIGNATURE_BLOCK = 30000, SIGNATURE_BLOCKS = SIGNATURE_INTS / SIGNATURE_BLOCK };

/* Where an int of the message is in memory, of blocks in which only every second one is of the message. */
static size_t place_with_gaps(int i)
{
    return (size_t) (i / SIGNATURE_BLOCK) * (2 * SIGNATURE_BLOCK - 1) + 2 * (size_t) (i % SIGNATURE_BLOCK);
}

/* Memory for so many blocks, with gaps or without, and what is in it where nobody writes. */
enum { UNWRITTEN = -1 };

static int *unwritten(int blocks, size_t *ints)
{
    int *memory;

    *ints = (size_t) blocks * (2 * SIGNATURE_BLOCK - 1);
    memory = t_alloc(*ints * sizeof(int));
    for (size_t i = 0; i < *ints; ++i) {
        memory[i] = UNWRITTEN;
    }
    return memory;
}

static int *place_of(int *memory, int i, bool gaps)
{
    return &memory[gaps ? place_with_gaps(i) : (size_t) i];
}

/* All blocks are there, counted from a number on, and nothing else. */
static void expect_blocks(int *memory, int blocks, size_t ints, int first, bool gaps)
{
    const int count = blocks * SIGNATURE_BLOCK;
    size_t others = 0;
    long wrong = 0;

    for (int i = 0; i < count; ++i) {
        wrong += *place_of(memory, i, gaps) != first + i;
    }
    for (size_t i = 0; i < ints; ++i) {
        others += UNWRITTEN == memory[i];
    }
    t_expect(0 == wrong && ints - (size_t) count == others,
             "counted from %d, %ld of %d ints are wrong, %zu others written", first, wrong, count,
             ints - (size_t) count - others);
}

static void bcast_of_one_signature(int root, int count, MPI_Datatype type, bool gaps)
{
    size_t ints;
    int *memory = unwritten(SIGNATURE_BLOCKS, &ints);

    for (int i = 0; i < SIGNATURE_INTS && root == t.rank; ++i) {
        *place_of(memory, i, gaps) = i + root;
    }
    T_MPI(MPI_Bcast(memory, count, type, root, MPI_COMM_WORLD));
    expect_blocks(memory, SIGNATURE_BLOCKS, ints, root, gaps);
    t_free(memory);
}

/* A block of each rank. */
static void allgather_of_one_signature(int in_place, int count, MPI_Datatype type, bool gaps)
{
    const int own = t.rank * SIGNATURE_BLOCK;
    size_t ints;
    int *memory = unwritten(t.size, &ints), *block = t_alloc(SIGNATURE_BLOCK * sizeof(int));

    for (int i = 0; i < SIGNATURE_BLOCK; ++i) {
        block[i] = own + i;
        if (in_place) {
            *place_of(memory, own + i, gaps) = own + i;
        }
    }
    T_MPI(
        MPI_Allgather(in_place ? MPI_IN_PLACE : block, SIGNATURE_BLOCK, MPI_INT, memory, count, type, MPI_COMM_WORLD));
    expect_blocks(memory, t.size, ints, 0, gaps);
    t_free(block);
    t_free(memory);
}

/* Makes calls whose ranks name so many blocks by three types. */
static void with_types_of_one_signature(int calls, int blocks,
                                        void (*make)(int call, int count, MPI_Datatype type, bool gaps))
{
    MPI_Datatype block, apart;

    T_MPI(MPI_Type_contiguous(SIGNATURE_BLOCK, MPI_INT, &block));
    T_MPI(MPI_Type_commit(&block));
    T_MPI(MPI_Type_vector(SIGNATURE_BLOCK, 1, 2, MPI_INT, &apart));
    T_MPI(MPI_Type_commit(&apart));
    for (int call = 0; call < calls; ++call) {
        switch (t.rank % 3) {
        case 0:
            make(call, blocks * SIGNATURE_BLOCK, MPI_INT, false);
            break;
        case 1:
            make(call, blocks, block, false);
            break;
        default:
            make(call, blocks, apart, true);
        }
    }
    T_MPI(MPI_Type_free(&apart));
    T_MPI(MPI_Type_free(&block));
}

static void types_of_one_signature_fit(void)
{
    with_types_of_one_signature(3, SIGNATURE_BLOCKS, bcast_of_one_signature);
}

static void blocks_of_one_signature_fit(void)
{
    with_types_of_one_signature(2, 1, allgather_of_one_signature);
}

/* Ids are handed out in their order: how many have gone is how many communicators there are. */
static void first_call_makes_no_communicator(void)
{
    MPI_Comm user, before, after;
    int value = 1, sum = 0;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &before));
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &user));
    T_MPI(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, user));
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &after));
    t_expect(t.size == sum, "the sum is %d", sum);
    t_expect(2 == MPI_Comm_c2f(after) - MPI_Comm_c2f(before), "it makes %d communicators",
             MPI_Comm_c2f(after) - MPI_Comm_c2f(before) - 2);
    T_MPI(MPI_Comm_free(&after));
    T_MPI(MPI_Comm_free(&user));
    T_MPI(MPI_Comm_free(&before));
}

/* Of the root's own block one element more is given than there is room for; those of others fit. */
static void with_long_block(MPI_Datatype type, int room)
{
    enum { GATHER, GATHERV, SCATTERV, KINDS };
    static const char *const names[KINDS] = { "gather", "gatherv", "scatterv" };
    const int root = 1, given = t.rank == root ? room + 1 : room;
    int *rooms = t_alloc((size_t) t.size * sizeof(*rooms)), *counts = t_alloc((size_t) t.size * sizeof(*counts)),
        *places = t_alloc((size_t) t.size * sizeof(*places)), size;
    unsigned char *own, *all;

    MPI_Type_size(type, &size);
    own = t_alloc((size_t) (room + 1) * (size_t) size);
    all = t_alloc((size_t) t.size * (size_t) (room + 1) * (size_t) size);
    memset(own, 0, (size_t) (room + 1) * (size_t) size);
    memset(all, 0, (size_t) t.size * (size_t) (room + 1) * (size_t) size);
    for (int rank = 0; rank < t.size; ++rank) {
        rooms[rank] = room;
        counts[rank] = rank == root ? room + 1 : room;
        places[rank] = rank * (room + 1);
    }
    for (int kind = 0; kind < KINDS; ++kind) {
        unsigned char *block = SCATTERV == kind ? t_alloc((size_t) room * (size_t) size) : own;
        const int rc = GATHER == kind ? MPI_Gather(own, given, type, all, room, type, root, MPI_COMM_WORLD)
                       : GATHERV == kind
                           ? MPI_Gatherv(own, given, type, all, rooms, places, type, root, MPI_COMM_WORLD)
                           : MPI_Scatterv(all, counts, places, type, block, room, type, root, MPI_COMM_WORLD);

        t_expect((t.rank == root ? MPI_ERR_TRUNCATE : MPI_SUCCESS) == rc, "%s of %d elements of %d bytes gives %d",
                 names[kind], room, size, rc);
        if (block != own) {
            t_free(block);
        }
    }
    t_free(all);
    t_free(own);
    t_free(places);
    t_free(counts);
    t_free(rooms);
}

/* The root's own block is longer than the place for it: said, as for a block from elsewhere, and to nobody else. */
static void own_block_does_not_fit(void)
{
    static const int rooms[] = { 3, 50000 };

    T_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (size_t r = 0; r < sizeof(rooms) / sizeof(rooms[0]); ++r) {
        with_long_block(MPI_INT, rooms[r]);
        with_long_block(MPI_PACKED, rooms[r]);
    }
    T_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

/* The same of an allgather, whose other ranks wait for that block; and what comes then is right. */
static void own_block_does_not_fit_others_wait(void)
{
    enum { ROOM = 3000 };
    int *own = t_alloc((ROOM + 1) * sizeof(int)), *all = t_alloc((size_t) t.size * ROOM * sizeof(int));
    const int count = 1 == t.rank ? ROOM + 1 : ROOM;

    for (int form = 0; form < 2; ++form) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm comm;
        int rc;

        T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        T_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        for (int round = 0; round < 2; ++round) {
            const int given = 0 == round ? count : ROOM;
            long wrong = 0;

            for (int i = 0; i <= ROOM; ++i) {
                own[i] = t.rank * 10007 + round + i;
            }
            rc = 0 == form ? MPI_Allgather(own, given, MPI_INT, all, ROOM, MPI_INT, comm)
                           : MPI_Iallgather(own, given, MPI_INT, all, ROOM, MPI_INT, comm, &request);
            rc = 0 == form || MPI_SUCCESS != rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
            if (0 == round) {
                t_expect(1 != t.rank || MPI_ERR_TRUNCATE == rc, "allgather gives %d", rc);
                continue;
            }
            for (int i = 0; i < t.size * ROOM; ++i) {
                wrong += all[i] != i / ROOM * 10007 + round + i % ROOM;
            }
            t_expect(MPI_SUCCESS == rc && 0 == wrong, "the next one gives %d, %ld are wrong", rc, wrong);
        }
        T_MPI(MPI_Comm_free(&comm));
    }
    t_free(own);
    t_free(all);
}

/* Bytes that this node has sent, or received; -1 where it does not say. */
static long wire_bytes(bool received)
{
    FILE *file = fopen("/proc/net/dev", "r");
    char line[512], name[64];
    long sum = -1, in, out;

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (3 == sscanf(line, " %63[^:]: %ld %*s %*s %*s %*s %*s %*s %*s %ld", name, &in, &out)
            && 0 != strcmp("lo", name)) {
            sum = (0 > sum ? 0 : sum) + (received ? in : out);
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return sum;
}

/*
 * With an uneven number of ranks on the nodes it stepped aside for a component that knows of no nodes. Told of links
 * that are slow: on fast ones several copies may be faster.
 */
static void long_message_leaves_a_node_once(void)
{
    enum { BYTES = 8 << 20 };
    long before, moved;

    bcast_is_right(BYTES, MPI_BYTE, BYTES);
    t_agree(0);
    before = wire_bytes(false);
    if (0 > t_agree(before)) {
        t_skip("/proc/net/dev is missing");
        return;
    }
    bcast_is_right(BYTES, MPI_BYTE, BYTES);
    t_agree(0);
    moved = wire_bytes(false) - before;
    t_expect(moved < BYTES + BYTES / 2, "%ld bytes leave the node of rank %d for a message of %d", moved, t.rank,
             BYTES);
}

/* The ranks of a node, of which those of rank 0's come late. */
struct node {
    MPI_Comm comm;
    int size;
    bool late;
};

static struct node find_node(void)
{
    struct node node;
    int first;

    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t.rank, MPI_INFO_NULL, &node.comm));
    MPI_Comm_size(node.comm, &node.size);
    T_MPI(MPI_Allreduce(&t.rank, &first, 1, MPI_INT, MPI_MIN, node.comm));
    node.late = 0 == first;
    return node;
}

/*
 * Half a second after the others have begun: bytes that have come to this node. None of its ranks goes on before all
 * have counted, or one would count what another one has asked for.
 */
static long bytes_before(const struct node *node)
{
    enum { HALF_A_SECOND = 500000 };
    const long before = wire_bytes(true);
    long received;

    if (node->late) {
        usleep(HALF_A_SECOND);
    }
    received = wire_bytes(true) - before;
    T_MPI(MPI_Barrier(node->comm));
    return received;
}

static bool bytes_are_known(void)
{
    const bool known = 0 <= t_agree(wire_bytes(true));

    if (!known) {
        t_skip("/proc/net/dev is missing");
    }
    return known;
}

/*
 * Messages that MPI buffers are sent at once, however many they are, unless one waits for them to be received. Then a
 * node's link, and the queues before it, get more than they hold, and TCP waits for 0.2 s when it has lost something.
 */
static void late_node_is_not_flooded(void)
{
    enum { BLOCK = 32768 };
    unsigned char *own = t_alloc((size_t) t.size * BLOCK), *all = t_alloc((size_t) t.size * BLOCK);
    struct node node = find_node();

    for (size_t i = 0; i < (size_t) t.size * BLOCK; ++i) {
        own[i] = t_pattern((uint64_t) t.rank * (uint64_t) t.size + i / BLOCK, i % BLOCK);
    }
    T_MPI(MPI_Alltoall(own, BLOCK, MPI_BYTE, all, BLOCK, MPI_BYTE, MPI_COMM_WORLD));
    if (bytes_are_known()) {
        const long received = bytes_before(&node);
        long wrong = 0;

        memset(all, 0, (size_t) t.size * BLOCK);
        T_MPI(MPI_Alltoall(own, BLOCK, MPI_BYTE, all, BLOCK, MPI_BYTE, MPI_COMM_WORLD));
        /* From each rank elsewhere one block; without a limit it would be one for each rank here. */
        t_expect(!node.late || received < 2L * (t.size - node.size) * BLOCK,
                 "%ld bytes have come before the first receive", received);
        for (size_t i = 0; i < (size_t) t.size * BLOCK; ++i) {
            wrong += t_pattern(i / BLOCK * (uint64_t) t.size + (uint64_t) t.rank, i % BLOCK) != all[i];
        }
        t_expect(0 == wrong, "%ld bytes are wrong", wrong);
    }
    T_MPI(MPI_Comm_free(&node.comm));
    t_free(own);
    t_free(all);
}

/* The same for a message in segments: some of them are under way to a rank that does not receive them yet, not all. */
static void late_node_gets_some_segments(void)
{
    enum { BYTES = 1 << 20 };
    unsigned char *buffer = t_alloc(BYTES);
    const int root = t.size - 1;
    struct node node = find_node();

    memset(buffer, root == t.rank, BYTES);
    T_MPI(MPI_Bcast(buffer, BYTES, MPI_BYTE, root, MPI_COMM_WORLD));
    if (bytes_are_known()) {
        const long received = bytes_before(&node);

        memset(buffer, root == t.rank ? 5 : 0, BYTES);
        T_MPI(MPI_Bcast(buffer, BYTES, MPI_BYTE, root, MPI_COMM_WORLD));
        t_expect(!node.late || received < BYTES / 4, "%ld bytes have come before the first receive", received);
        t_expect(5 == buffer[0] && 0 == memcmp(buffer, buffer + 1, BYTES - 1), "the message is wrong");
    }
    T_MPI(MPI_Comm_free(&node.comm));
    t_free(buffer);
}

/* The same for a scan, on ranks in reverse: those that are late are the last ones. */
static void late_node_gets_some_of_a_scan(void)
{
    enum { COUNT = 1 << 18 };
    int *own = t_alloc(COUNT * sizeof(int)), *sums = t_alloc(COUNT * sizeof(int)), place;
    struct node node = find_node();
    MPI_Comm reverse;

    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -t.rank, &reverse));
    MPI_Comm_rank(reverse, &place);
    for (int i = 0; i < COUNT; ++i) {
        own[i] = i + place;
    }
    T_MPI(MPI_Scan(own, sums, COUNT, MPI_INT, MPI_SUM, reverse));
    if (bytes_are_known()) {
        const long received = bytes_before(&node);
        long wrong = 0;

        memset(sums, 0, COUNT * sizeof(int));
        T_MPI(MPI_Scan(own, sums, COUNT, MPI_INT, MPI_SUM, reverse));
        t_expect(!node.late || received < (long) (COUNT * sizeof(int) / 4),
                 "%ld bytes have come before the first receive", received);
        for (int i = 0; i < COUNT; ++i) {
            wrong += sums[i] != (place + 1) * i + place * (place + 1) / 2;
        }
        t_expect(0 == wrong, "%ld of %d sums are wrong", wrong, COUNT);
    }
    T_MPI(MPI_Comm_free(&reverse));
    T_MPI(MPI_Comm_free(&node.comm));
    t_free(own);
    t_free(sums);
}

/* In place of the library's: how often this process has given its core away. */
static long given_away = 0;

__attribute__((visibility("default"))) int sched_yield(void)
{
    ++given_away;
    return (int) syscall(SYS_sched_yield);
}

static int bcast_of(int bytes, char *all, char *own)
{
    (void) all;
    return MPI_Bcast(own, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static int scatter_of(int bytes, char *all, char *own)
{
    return MPI_Scatter(all, bytes, MPI_CHAR, own, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* Where ranks are more than cores, each time costs a turn of all the others. */
static void keeps_its_core(const char *name, int (*call)(int bytes, char *all, char *own), int bytes)
{
    enum { CALLS = 50 };
    char *all = t_alloc((size_t) t.size * (size_t) bytes), *own = t_alloc((size_t) bytes);
    int gave = 0;

    for (int i = 0; i < CALLS; ++i) {
        long before;

        memset(own, 0 == t.rank ? i : -1, (size_t) bytes);
        memset(all, i, (size_t) t.size * (size_t) bytes);
        T_MPI(MPI_Barrier(MPI_COMM_WORLD));
        before = given_away;
        T_MPI(call(bytes, all, own));
        gave += before < given_away;
        t_expect(i == own[0] && 0 == memcmp(own, own + 1, (size_t) bytes - 1), "%s %d gave %d", name, i, own[0]);
    }
    /* The first call may make something, and now and then a buffer is full. */
    t_expect(0 != t.rank || gave < CALLS / 2, "%s of %d bytes: the root gave its core away in %d of %d calls", name,
             bytes, gave, CALLS);
    t_free(own);
    t_free(all);
}

/* Of a message of more than 256 bytes to a rank of its node, Open MPI is not done when it has left. */
static void ready_call_keeps_its_core(void)
{
    static const int sizes[] = { 1, 300, 1000 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        keeps_its_core("bcast", bcast_of, sizes[i]);
        keeps_its_core("scatter", scatter_of, sizes[i]);
    }
}

/* Outside of MPI, until a rank of this node says that it is done with so many calls. Returns whether it has. */
static bool wait_outside(const volatile int *done, int calls)
{
    enum { MILLISECOND = 1000, MOST = 1000 * T_LIMIT / 4 };
    int waited = 0;

    while (calls > *done && waited < MOST) {
        usleep(MILLISECOND);
        ++waited;
    }
    return calls <= *done;
}

enum { LATE_BYTES = 700 };

/*
 * Ranks 0 to 2 are on the first node. Of two communicators the root of both has sent something to a rank of the first
 * one that is not in MPI before a rank of the second one has had many messages: in none of these may the root wait for
 * the other one.
 */
static void waits_for_no_other(volatile int *done)
{
    enum { CALLS = 100, OUTSIDE = 1, SERVED = 2 };
    const int other = t.size - 1;
    char *buffer = t_alloc(LATE_BYTES);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comms[2];

    for (int i = 0; i < 2; ++i) {
        const bool member = 0 == t.rank || 1 + i == t.rank || other == t.rank;

        T_MPI(MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, t.rank, &comms[i]));
        if (member) {
            T_MPI(MPI_Bcast(buffer, LATE_BYTES, MPI_CHAR, 0, comms[i]));
        }
    }
    *done = 0;
    T_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (1 == t.rank) {
        *done = OUTSIDE;
        t_expect(wait_outside(done, SERVED), "the root waits for this rank in calls of another communicator");
    }
    if (0 == t.rank) {
        (void) wait_outside(done, OUTSIDE);
    }
    if (MPI_COMM_NULL != comms[0]) {
        T_MPI(MPI_Ibcast(buffer, LATE_BYTES, MPI_CHAR, 0, comms[0], &request));
        T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    for (int i = 0; MPI_COMM_NULL != comms[1] && i < CALLS; ++i) {
        T_MPI(MPI_Bcast(buffer, LATE_BYTES, MPI_CHAR, 0, comms[1]));
    }
    if (2 == t.rank) {
        *done = SERVED;
    }
    for (int i = 0; i < 2; ++i) {
        if (MPI_COMM_NULL != comms[i]) {
            T_MPI(MPI_Comm_free(&comms[i]));
        }
    }
    t_free(buffer);
}

static int bcast_late(char *all, char *own, MPI_Comm comm, MPI_Request *request)
{
    (void) all;
    (void) request;
    return MPI_Bcast(own, LATE_BYTES, MPI_CHAR, 0, comm);
}

static int ibcast_late(char *all, char *own, MPI_Comm comm, MPI_Request *request)
{
    (void) all;
    return MPI_Ibcast(own, LATE_BYTES, MPI_CHAR, 0, comm, request);
}

static int iscatter_late(char *all, char *own, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Iscatter(all, LATE_BYTES, MPI_CHAR, own, LATE_BYTES, MPI_CHAR, 0, comm, request);
}

/* Calls of one kind on a communicator, which ends with messages under way. Returns how many are wrong. */
static int calls_of_late(const char *name, int (*call)(char *, char *, MPI_Comm, MPI_Request *), bool late,
                         volatile int *done)
{
    enum { EARLY = 10, CALLS = 100 };
    char *all = t_alloc((size_t) t.size * LATE_BYTES), *own = t_alloc(LATE_BYTES);
    int wrong = 0;
    MPI_Comm comm;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    T_MPI(MPI_Bcast(own, LATE_BYTES, MPI_CHAR, 0, comm));
    if (0 == t.rank) {
        *done = 0;
    }
    T_MPI(MPI_Barrier(comm));
    if (0 != t.rank && late) {
        t_expect(wait_outside(done, EARLY), "the root waits for this rank in %s %d", name, *done);
    }
    for (int i = 0; i < CALLS; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;

        memset(all, i, (size_t) t.size * LATE_BYTES);
        memset(own, 0 == t.rank ? i : -1, LATE_BYTES);
        T_MPI(call(all, own, comm, &request));
        T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (0 == t.rank) {
            *done = i + 1;
        }
        wrong += i != own[0] || 0 != memcmp(own, own + 1, LATE_BYTES - 1);
    }
    T_MPI(MPI_Comm_free(&comm));
    t_free(all);
    t_free(own);
    return wrong;
}

/*
 * The other ranks of the root's node are not even in MPI until the root is done with some calls; the others that follow
 * are more than may be under way.
 */
static void late_rank_gets_all(void)
{
    enum { COMMUNICATORS = 3 };
    static const struct {
        const char *name;
        int (*call)(char *all, char *own, MPI_Comm comm, MPI_Request *request);
    } kinds[] = { { "bcast", bcast_late }, { "ibcast", ibcast_late }, { "iscatter", iscatter_late } };
    struct node node = find_node();
    volatile int *done;
    MPI_Aint bytes;
    MPI_Win window;
    int unit;

    T_MPI(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node.comm, (void *) &done, &window));
    T_MPI(MPI_Win_shared_query(window, 0, &bytes, &unit, (void *) &done));
    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); ++kind) {
        for (int c = 0; c < COMMUNICATORS; ++c) {
            const int wrong = calls_of_late(kinds[kind].name, kinds[kind].call, node.late, done);

            t_expect(0 == wrong, "%s: %d calls are wrong", kinds[kind].name, wrong);
        }
    }
    if (2 < t.size) {
        waits_for_no_other(done);
    }
    MPI_Win_free(&window);
    T_MPI(MPI_Comm_free(&node.comm));
}

/* Rank 1 is there when the last rank is done, which a root that receives or sends one long block after another is not.
 */
static void late_rank_holds_up_nobody(void)
{
    enum { BLOCK = 256 << 10, LATE = 1 };
    const int last = t.size - 1;
    unsigned char *own = t_alloc(BLOCK), *all = t_alloc((size_t) t.size * BLOCK);
    int *counts = t_alloc((size_t) t.size * sizeof(*counts)), *places = t_alloc((size_t) t.size * sizeof(*places));

    for (int rank = 0; rank < t.size; ++rank) {
        counts[rank] = BLOCK;
        places[rank] = rank * BLOCK;
    }
    for (int gathers = 1; gathers >= 0; --gathers) {
        long wrong = 0;

        for (size_t i = 0; i < (size_t) t.size * BLOCK; ++i) {
            all[i] = gathers ? 0 : t_pattern(i / BLOCK, i % BLOCK);
        }
        for (size_t i = 0; i < BLOCK; ++i) {
            own[i] = gathers ? t_pattern((uint64_t) t.rank, i) : 0;
        }
        if (LATE == t.rank) {
            T_MPI(MPI_Recv(NULL, 0, MPI_BYTE, last, gathers, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        if (gathers) {
            T_MPI(MPI_Gatherv(own, BLOCK, MPI_BYTE, all, counts, places, MPI_BYTE, 0, MPI_COMM_WORLD));
        } else {
            T_MPI(MPI_Scatterv(all, counts, places, MPI_BYTE, own, BLOCK, MPI_BYTE, 0, MPI_COMM_WORLD));
        }
        if (last == t.rank) {
            T_MPI(MPI_Send(NULL, 0, MPI_BYTE, LATE, gathers, MPI_COMM_WORLD));
        }
        for (size_t i = 0; i < BLOCK; ++i) {
            wrong += t_pattern((uint64_t) t.rank, i) != own[i];
        }
        for (size_t i = 0; 0 == t.rank && i < (size_t) t.size * BLOCK; ++i) {
            wrong += t_pattern(i / BLOCK, i % BLOCK) != all[i];
        }
        t_expect(0 == wrong, "%s: %ld bytes are wrong", gathers ? "gatherv" : "scatterv", wrong);
    }
    t_free(places);
    t_free(counts);
    t_free(all);
    t_free(own);
}

/*
 * One end of a gatherv, or a scatterv, names other lengths than the other: who receives has more room, which MPI does
 * not allow, but programs have; or the last rank's block is longer, an error that nobody waits for, and what comes then
 * is right.
 */
static void ends_name_unequal_lengths(void)
{
    enum { ROOM = 5000, KINDS = 3, UNTOUCHED = 0xab };
    static const int lengths[KINDS] = { 500, 3000, 2 };
    unsigned char *own = t_alloc(2 * ROOM), *all = t_alloc((size_t) t.size * 2 * ROOM);
    int *sent = t_alloc((size_t) t.size * sizeof(*sent)), *room = t_alloc((size_t) t.size * sizeof(*room)),
        *places = t_alloc((size_t) t.size * sizeof(*places));
    const int last = t.size - 1;

    T_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int round = 0; round < 2 * 2 * KINDS; ++round) {
        const bool gathers = 0 == round % 2, too_long = 0 == round / 2 % 2;
        const int at = gathers ? 0 : last; /* who learns of the error */
        long wrong = 0;
        int rc;

        for (int rank = 0; rank < t.size; ++rank) {
            sent[rank] = lengths[(rank + round) % KINDS];
            room[rank] = too_long && last == rank ? sent[rank] - 1 : ROOM;
            places[rank] = rank * 2 * ROOM;
        }
        memset(own, UNTOUCHED, 2 * ROOM);
        memset(all, UNTOUCHED, (size_t) t.size * 2 * ROOM);
        for (int rank = 0; rank < t.size; ++rank) {
            for (int i = 0; i < sent[rank]; ++i) {
                if (!gathers) {
                    all[places[rank] + i] = t_pattern((uint64_t) rank, (size_t) i);
                } else if (rank == t.rank) {
                    own[i] = t_pattern((uint64_t) rank, (size_t) i);
                }
            }
        }
        rc = gathers ? MPI_Gatherv(own, sent[t.rank], MPI_BYTE, all, room, places, MPI_BYTE, 0, MPI_COMM_WORLD)
                     : MPI_Scatterv(all, sent, places, MPI_BYTE, own, room[t.rank], MPI_BYTE, 0, MPI_COMM_WORLD);
        if (too_long) {
            t_expect(at != t.rank || MPI_ERR_TRUNCATE == rc, "round %d gives %d", round, rc);
            continue;
        }
        for (int rank = 0; rank < t.size; ++rank) {
            const unsigned char *block = gathers ? all + places[rank] : own;

            for (int i = 0; (gathers ? 0 : rank) == t.rank && i < ROOM; ++i) {
                wrong += block[i] != (i < sent[rank] ? t_pattern((uint64_t) rank, (size_t) i) : UNTOUCHED);
            }
        }
        t_expect(MPI_SUCCESS == rc && 0 == wrong, "round %d gives %d, %ld bytes are wrong", round, rc, wrong);
    }
    T_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    t_free(places);
    t_free(room);
    t_free(sent);
    t_free(all);
    t_free(own);
}

/* Calls of which each rank gives a block to each other, or some of these; counts and places are those of all ranks. */
struct packed_call {
    const unsigned char *given;
    unsigned char *got;
    int *counts, *places, bytes;
    MPI_Datatype sent, received;
};

enum { PACKED_ROOT = 1 };

static int gather_packed(const struct packed_call *c)
{
    return MPI_Gather(c->given, c->bytes, c->sent, c->got, c->bytes, c->received, PACKED_ROOT, MPI_COMM_WORLD);
}

static int gatherv_packed(const struct packed_call *c)
{
    return MPI_Gatherv(c->given, c->bytes, c->sent, c->got, c->counts, c->places, c->received, PACKED_ROOT,
                       MPI_COMM_WORLD);
}

static int scatter_packed(const struct packed_call *c)
{
    return MPI_Scatter(c->given, c->bytes, c->sent, c->got, c->bytes, c->received, PACKED_ROOT, MPI_COMM_WORLD);
}

static int scatterv_packed(const struct packed_call *c)
{
    return MPI_Scatterv(c->given, c->counts, c->places, c->sent, c->got, c->bytes, c->received, PACKED_ROOT,
                        MPI_COMM_WORLD);
}

static int allgather_packed(const struct packed_call *c)
{
    return MPI_Allgather(c->given, c->bytes, c->sent, c->got, c->bytes, c->received, MPI_COMM_WORLD);
}

static int alltoall_packed(const struct packed_call *c)
{
    return MPI_Alltoall(c->given, c->bytes, c->sent, c->got, c->bytes, c->received, MPI_COMM_WORLD);
}

static int alltoallv_packed(const struct packed_call *c)
{
    return MPI_Alltoallv(c->given, c->counts, c->places, c->sent, c->got, c->counts, c->places, c->received,
                         MPI_COMM_WORLD);
}

/* Bytes of a rank's block for another one are the same whichever of the two types they are sent and received as. */
static void packed_is_a_type_like_any(void)
{
    static const struct {
        const char *name;
        int (*call)(const struct packed_call *c);
        bool from_root, to_root, one; /* from or to the root alone; the same block for all ranks */
    } kinds[]
        = { { "gather", gather_packed, false, true, true },        { "gatherv", gatherv_packed, false, true, true },
            { "scatter", scatter_packed, true, false, false },     { "scatterv", scatterv_packed, true, false, false },
            { "allgather", allgather_packed, false, false, true }, { "alltoall", alltoall_packed, false, false, false },
            { "alltoallv", alltoallv_packed, false, false, false } };
    static const int sizes[] = { 8, 3000 };
    const MPI_Datatype types[][2] = { { MPI_PACKED, MPI_BYTE }, { MPI_BYTE, MPI_PACKED }, { MPI_PACKED, MPI_PACKED } };
    const size_t ranks = (size_t) t.size, most = (size_t) sizes[1];
    unsigned char *given = t_alloc(ranks * most);
    int *counts = t_alloc(ranks * sizeof(*counts)), *places = t_alloc(ranks * sizeof(*places));

    for (size_t round = 0; round < 2 * 3 * sizeof(kinds) / sizeof(kinds[0]); ++round) {
        const size_t kind = round / 6, bytes = (size_t) sizes[round % 2];
        const MPI_Datatype *pair = types[round / 2 % 3];
        const bool gets = !kinds[kind].to_root || PACKED_ROOT == t.rank;
        const size_t blocks = !gets ? 0 : kinds[kind].from_root ? 1 : ranks;
        struct packed_call c = { .given = given,
                                 .got = t_alloc((gets ? blocks : 1) * bytes),
                                 .counts = counts,
                                 .places = places,
                                 .bytes = (int) bytes,
                                 .sent = pair[0],
                                 .received = pair[1] };
        long wrong = 0;

        for (size_t i = 0; i < ranks * bytes; ++i) {
            given[i] = t_pattern((uint64_t) t.rank * ranks + i / bytes, i % bytes);
        }
        for (int rank = 0; rank < t.size; ++rank) {
            counts[rank] = (int) bytes;
            places[rank] = rank * (int) bytes;
        }
        T_MPI(kinds[kind].call(&c));
        for (size_t i = 0; i < blocks * bytes; ++i) {
            const size_t from = kinds[kind].from_root ? PACKED_ROOT : i / bytes;
            const size_t block = kinds[kind].one ? 0 : (size_t) t.rank;

            wrong += t_pattern(from * ranks + block, i % bytes) != c.got[i];
        }
        t_expect(0 == wrong, "%s of %zu bytes, types %zu: %ld are wrong", kinds[kind].name, bytes, round / 2 % 3,
                 wrong);
        t_free(c.got);
    }
    t_free(places);
    t_free(counts);
    t_free(given);
}

/* A structure with padding behind its last member. */
struct located {
    double value;
    int rank;
};

/* Copies structures, padding included. */
static void least_located(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct located *left = in;
    struct located *right = inout;

    (void) type;
    for (int i = 0; i < *count; ++i) {
        const struct located own = right[i];

        right[i] = left[i].value < own.value ? left[i] : own;
    }
}

static void padding_is_inside_the_memory(void)
{
    static const int counts[] = { 1, 3, 683, 10000 };
    MPI_Datatype members[] = { MPI_DOUBLE, MPI_INT }, narrow, type;
    const MPI_Aint displacements[] = { offsetof(struct located, value), offsetof(struct located, rank) };
    const int lengths[] = { 1, 1 };
    MPI_Op op;

    MPI_Type_create_struct(2, lengths, displacements, members, &narrow);
    MPI_Type_create_resized(narrow, 0, sizeof(struct located), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(least_located, 1, &op);
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); ++c) {
        const size_t bytes = (size_t) counts[c] * sizeof(struct located);
        struct located *own = t_alloc(bytes), *least = t_alloc(bytes);

        for (int root = 0; root < t.size; ++root) {
            long wrong = 0;

            for (int i = 0; i < counts[c]; ++i) {
                own[i] = (struct located){ ((t.rank + i) % t.size) / 3.0, t.rank };
            }
            T_MPI(MPI_Reduce(own, least, counts[c], type, op, root, MPI_COMM_WORLD));
            for (int i = 0; i < counts[c] && t.rank == root; ++i) {
                wrong += 0 != least[i].value || (t.size - i % t.size) % t.size != least[i].rank;
            }
            t_expect(0 == wrong, "root %d: %ld of %d structures are wrong", root, wrong, counts[c]);
        }
        t_free(own);
        t_free(least);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&narrow);
}

/*
 * MPI lets ranks that get nothing of a reduce_scatter be the only ones that are not in place. A nonblocking call, and
 * persistent ones.
 */
static void some_ranks_are_in_place(void)
{
    enum { COUNT = 3000, CALLS = 3 };
    const bool gets = t.size - 1 != t.rank;
    const int count = COUNT * (t.size - 1);
    int *own = t_alloc((size_t) count * sizeof(int)), *counts = t_alloc((size_t) t.size * sizeof(int));
    void *const from = gets ? MPI_IN_PLACE : (void *) own, *const to = gets ? own : NULL;
    MPI_Request request, kept;

    for (int rank = 0; rank < t.size; ++rank) {
        counts[rank] = t.size - 1 == rank ? 0 : COUNT;
    }
    T_MPI(MPIX_Reduce_scatter_init(from, to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &kept));
    for (int call = 0; call < CALLS; ++call) {
        long wrong = 0;

        for (int i = 0; i < count; ++i) {
            own[i] = t.rank + i + call;
        }
        if (0 == call) {
            T_MPI(MPI_Ireduce_scatter(from, to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
            T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            T_MPI(MPI_Start(&kept));
            T_MPI(MPI_Wait(&kept, MPI_STATUS_IGNORE));
        }
        for (int i = 0; i < COUNT && gets; ++i) {
            wrong += own[i] != t.size * (t.rank * COUNT + i + call) + t.size * (t.size - 1) / 2;
        }
        t_expect(0 == wrong, "call %d: %ld of %d values are wrong", call, wrong, COUNT);
    }
    T_MPI(MPI_Request_free(&kept));
    t_free(own);
    t_free(counts);
}

/* MPI lets each rank of a scan choose whether it is in place; here every other one is, of short and long messages. */
static void some_ranks_scan_in_place(void)
{
    static const int counts[] = { 1, 3000, 100000 };
    enum { MOST = 100000 };
    const bool in_place = 0 != t.rank % 2;
    int *own = t_alloc(MOST * sizeof(int)), *result = t_alloc(MOST * sizeof(int));
    MPI_Request request;

    for (size_t i = 0; i < 4 * sizeof(counts) / sizeof(counts[0]); ++i) {
        const int count = counts[i / 4], before = t.rank * (t.rank - 1) / 2;
        const bool inclusive = 0 == i % 2, blocking = 0 == i / 2 % 2;
        const int terms = t.rank + (inclusive ? 1 : 0), sum = before + (inclusive ? t.rank : 0);
        const void *from = in_place ? MPI_IN_PLACE : own;
        long wrong = 0;

        for (int j = 0; j < count; ++j) {
            own[j] = t.rank + j;
            result[j] = in_place ? own[j] : -1;
        }
        if (blocking) {
            T_MPI((inclusive ? MPI_Scan : MPI_Exscan)(from, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        } else {
            T_MPI(
                (inclusive ? MPI_Iscan : MPI_Iexscan)(from, result, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
            T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        for (int j = 0; j < count && 0 < terms; ++j) {
            wrong += result[j] != terms * j + sum;
        }
        t_expect(0 == wrong, "%s%s of %d: %ld values are wrong", blocking ? "" : "i", inclusive ? "scan" : "exscan",
                 count, wrong);
    }
    t_free(own);
    t_free(result);
}

/*
 * A leader that is alone on its node has its operand in the send buffer, the others theirs in the receive buffer. Long
 * enough for the ring of coll/libnbc, and a segment more.
 */
static void leaders_alone_and_not(void)
{
    enum { COUNT = 50000 };
    int *own = t_alloc(COUNT * sizeof(int)), *sum = t_alloc(COUNT * sizeof(int));
    long wrong = 0;

    for (int i = 0; i < COUNT; ++i) {
        own[i] = t.rank + i;
    }
    T_MPI(MPI_Allreduce(own, sum, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < COUNT; ++i) {
        wrong += sum[i] != t.size * i + t.size * (t.size - 1) / 2 || own[i] != t.rank + i;
    }
    t_expect(0 == wrong, "%ld of %d values are wrong", wrong, COUNT);
    t_free(own);
    t_free(sum);
}

/* The last message under way on a communicator that the user has freed ends it: the sender must not wait for itself. */
static void left_communicators_end(void)
{
    enum { BYTES = 1000, CALLS = 50 };
    char *buffer = t_alloc(BYTES);
    long wrong = 0;

    for (int i = 0; i < CALLS; ++i) {
        MPI_Comm comm;

        T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        memset(buffer, 0 == t.rank ? i : -1, BYTES);
        T_MPI(MPI_Bcast(buffer, BYTES, MPI_CHAR, 0, comm));
        wrong += i != buffer[0] || 0 != memcmp(buffer, buffer + 1, BYTES - 1);
        T_MPI(MPI_Comm_free(&comm));
        T_MPI(MPI_Bcast(buffer, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD));
        T_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
    t_expect(0 == wrong, "%ld calls are wrong", wrong);
    t_free(buffer);
}

int main(int argc, char **argv)
{
    static const struct t_option options[]
        = { { "--gather", false, &gather },       { "--ragged", false, &ragged },   { "--module", false, &module },
            { "--signature", false, &signature }, { "--first", false, &first },     { "--wire", false, &wire },
            { "--truncated", false, &truncated }, { "--flood", false, &flood },     { "--yields", false, &yields },
            { "--late", false, &late },           { "--padding", false, &padding }, { "--freed", false, &freed },
            { "--alone", false, &alone },         { "--partly", false, &partly },   { "--unfit", false, &unfit },
            { "--unequal", false, &unequal },     { "--packed", false, &packed } };
    const struct {
        const long *wanted;
        const char *name;
        void (*run)(void);
    } behaviours[] = {
        { &gather, "a gather is in rank order", gather_is_in_rank_order },
        { &ragged, "an allreduce with a short last segment stays inside its buffer", ragged_segment_stays_inside },
        { &module, "a module's number out of range is survived", bad_module_is_survived },
        { &signature, "a broadcast with different types of one signature is right", types_of_one_signature_fit },
        { &signature, "an allgather with different types of one signature is right", blocks_of_one_signature_fit },
        { &first, "a first allreduce makes no communicator", first_call_makes_no_communicator },
        { &truncated, "an own block that does not fit is an error", own_block_does_not_fit },
        { &unfit, "an own block that does not fit is an error, and nobody waits for it",
          own_block_does_not_fit_others_wait },
        { &wire, "a long broadcast leaves a node once", long_message_leaves_a_node_once },
        { &flood, "an alltoall does not flood a node that is late", late_node_is_not_flooded },
        { &flood, "a bcast does not flood a node that is late", late_node_gets_some_segments },
        { &flood, "a scan does not flood a node that is late", late_node_gets_some_of_a_scan },
        { &yields, "a root that waits for nobody keeps its core", ready_call_keeps_its_core },
        { &late, "a root is done with short messages before others come, and they get them all", late_rank_gets_all },
        { &late, "a rank that is late for a gatherv or a scatterv holds up nobody but the root",
          late_rank_holds_up_nobody },
        { &unequal, "a gatherv or a scatterv whose ends name unequal lengths is right, or an error",
          ends_name_unequal_lengths },
        { &packed, "what is sent or received as MPI_PACKED is right", packed_is_a_type_like_any },
        { &partly, "a reduce_scatter is right where only ranks that get nothing are not in place",
          some_ranks_are_in_place },
        { &partly, "a scan is right where every other rank is in place", some_ranks_scan_in_place },
        { &alone, "leaders reduce by libnbc, some alone on their nodes, some not", leaders_alone_and_not },
        { &freed, "communicators that are left with messages under way end", left_communicators_end },
        { &padding, "an operation that copies whole structures stays inside the memory", padding_is_inside_the_memory },
    };

    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
    if (1 == argc) {
        fprintf(stderr, "%s: which fault?\n", argv[0]);
        return 1;
    }
    MPI_Init(&argc, &argv);
    t_begin();
    for (size_t i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); ++i) {
        if (*behaviours[i].wanted) {
            t_start(0, "%s", behaviours[i].name);
            behaviours[i].run();
            t_end();
        }
    }
    return t_finish("MPI_Finalize returns");
}
