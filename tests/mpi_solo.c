/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking collectives one right after another, of any kind, size, root and layout, as a component has to stand them
 * that keeps ranks together by flags alone; and what such a component may leave behind. Passes with any correct MPI on
 * one node. What is done to a rank with --no-files, --no-space and --untraceable is for the tests of messages.
 */
#include "mpi_test.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static long mixes = 600;
static long communicators = 1000;
static long no_files = -1;
static long no_space = -1;
static long untraceable = -1;
static long forever = 0;
static long rests = 0;
static long big = 0;

/* ---- data: elements are pairs of numbers ---- */

typedef struct pair {
    uint32_t a, b;
} pair;

static MPI_Datatype pair_type, gap_type; /* gap_type: the same signature, every second pair */
static MPI_Op compose_op;

/* What rank contributes as element i to a call. */
static pair element(uint64_t key, int rank, size_t i)
{
    const uint64_t x
        = (key * 31 + (uint64_t) rank + 1) * UINT64_C(0x9e3779b97f4a7c15) + i * UINT64_C(0xd1b54a32d192ed03);

    return (pair){ (uint32_t) (x >> 32) | 1, (uint32_t) x ^ (uint32_t) (x >> 48) };
}

/* x -> a x + b, one after another: associative, and not commutative. */
static pair compose(pair left, pair right)
{
    return (pair){ left.a * right.a, left.a * right.b + left.b };
}

static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const pair *left = in;
    pair *right = inout;

    (void) type;
    for (int i = 0; i < *count; ++i) {
        right[i] = compose(left[i], right[i]);
    }
}

static pair reduced(uint64_t key, int size, size_t i)
{
    pair result = element(key, size - 1, i);

    for (int rank = size - 2; 0 <= rank; --rank) {
        result = compose(element(key, rank, i), result);
    }
    return result;
}

/* ---- one call ---- */

enum kind { BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, REDUCE_SCATTER_BLOCK, ALLTOALL, BARRIER, KINDS };

struct call {
    enum kind kind;
    size_t count; /* pairs of a block */
    int root;
    bool in_place;
    bool gaps; /* of this rank's receive buffer (bcast: of its buffer); never of a reduction's */
    uint64_t key;
    MPI_Comm comm;
    int rank, size;
};

static size_t index_of(const struct call *call, size_t i)
{
    return call->gaps ? 2 * i : i;
}

/* Of so many pairs only those that are checked are filled: memory that is touched first takes longer than the call. */
static bool is_huge(size_t count)
{
    return (size_t) 1 << 24 < count;
}

/* All of them where they are few, else both ends, and some between. */
static size_t next_checked(size_t i, size_t count)
{
    const size_t ends = 4096, next = i + (is_huge(count) ? 8191 : 61);

    return i < ends || i + ends >= count ? i + 1 : next < count - ends ? next : count - ends;
}

/* Fills count pairs from block first on, as rank `from` says them. */
static void fill(pair *to, const struct call *call, int from, size_t first, size_t count, bool receive)
{
    for (size_t i = 0; i < count; i = is_huge(count) ? next_checked(i, count) : i + 1) {
        to[receive ? index_of(call, i) : i] = element(call->key, from, first + i);
    }
}

static void check(const pair *found, const struct call *call, int from, size_t first, bool is_reduced)
{
    for (size_t i = 0; i < call->count; i = next_checked(i, call->count)) {
        const pair wanted
            = is_reduced ? reduced(call->key, call->size, first + i) : element(call->key, from, first + i);
        const pair value = found[index_of(call, i)];

        if (!t_expect(wanted.a == value.a && wanted.b == value.b,
                      "kind %d, %zu pairs, root %d of %d, in place %d, gaps %d: pair %zu of rank %d is wrong",
                      call->kind, call->count, call->root, call->size, call->in_place, call->gaps, i, from)) {
            return;
        }
    }
}

static bool has_many_sent(const struct call *call)
{
    return SCATTER == call->kind || REDUCE_SCATTER_BLOCK == call->kind || ALLTOALL == call->kind;
}

static bool has_many_received(const struct call *call)
{
    return GATHER == call->kind || ALLGATHER == call->kind || ALLTOALL == call->kind;
}

static bool gets_result(const struct call *call)
{
    return (REDUCE != call->kind && GATHER != call->kind) || call->rank == call->root;
}

static pair *allocate(const struct call *call, size_t bytes)
{
    return is_huge(call->count) ? t_alloc_huge(bytes) : t_alloc(bytes);
}

/* What a rank receives must not have been there before. */
static pair *receive_buffer(const struct call *call)
{
    const size_t blocks = has_many_received(call) || (call->in_place && has_many_sent(call)) ? (size_t) call->size : 1;
    const size_t bytes = blocks * call->count * (call->gaps ? 2 : 1) * sizeof(pair);
    pair *buffer = allocate(call, bytes);

    if (!is_huge(call->count)) {
        memset(buffer, 0xee, bytes);
    }
    return buffer;
}

static pair *send_buffer(const struct call *call)
{
    const size_t blocks = has_many_sent(call) ? (size_t) call->size : 1;
    const size_t bytes = blocks * call->count * sizeof(pair);
    pair *buffer = allocate(call, bytes);

    fill(buffer, call, call->rank, 0, blocks * call->count, false);
    return buffer;
}

/* With MPI_IN_PLACE the contribution is where the result will be. */
static void fill_in_place(const struct call *call, pair *to)
{
    switch (call->kind) {
    case REDUCE:
    case ALLREDUCE:
        fill(to, call, call->rank, 0, call->count, true);
        break;
    case REDUCE_SCATTER_BLOCK:
        fill(to, call, call->rank, 0, call->count * (size_t) call->size, true);
        break;
    case GATHER:
    case ALLGATHER:
        fill(to + index_of(call, (size_t) call->rank * call->count), call, call->rank, 0, call->count, true);
        break;
    default:
        break;
    }
}

static int run(const struct call *call, void *send, void *receive)
{
    const int count = (int) call->count;
    const MPI_Datatype type = call->gaps ? gap_type : pair_type;

    switch (call->kind) {
    case BCAST:
        return MPI_Bcast(receive, count, type, call->root, call->comm);
    case REDUCE:
        return MPI_Reduce(send, receive, count, pair_type, compose_op, call->root, call->comm);
    case ALLREDUCE:
        return MPI_Allreduce(send, receive, count, pair_type, compose_op, call->comm);
    case GATHER:
        return MPI_Gather(send, count, pair_type, receive, count, type, call->root, call->comm);
    case SCATTER:
        return MPI_Scatter(send, count, pair_type, receive, count, type, call->root, call->comm);
    case ALLGATHER:
        return MPI_Allgather(send, count, pair_type, receive, count, type, call->comm);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(send, receive, count, pair_type, compose_op, call->comm);
    case ALLTOALL:
        return MPI_Alltoall(send, count, pair_type, receive, count, type, call->comm);
    default:
        return MPI_Barrier(call->comm);
    }
}

static void check_all(const struct call *call, const pair *receive)
{
    const size_t own = (size_t) call->rank * call->count;

    switch (call->kind) {
    case BCAST:
        check(receive, call, call->root, 0, false);
        break;
    case REDUCE:
    case ALLREDUCE:
        check(receive, call, 0, 0, true);
        break;
    case SCATTER:
        check(receive, call, call->root, own, false);
        break;
    case REDUCE_SCATTER_BLOCK:
        check(receive, call, 0, own, true);
        break;
    case GATHER:
    case ALLGATHER:
    case ALLTOALL:
        for (int from = 0; from < call->size; ++from) {
            check(receive + index_of(call, (size_t) from * call->count), call, from, ALLTOALL == call->kind ? own : 0,
                  false);
        }
        break;
    default:
        break;
    }
}

/* Makes it right what cannot be: not all kinds have all forms. */
static void settle(struct call *call)
{
    const bool is_root = call->rank == call->root;

    MPI_Comm_rank(call->comm, &call->rank);
    MPI_Comm_size(call->comm, &call->size);
    if (BCAST == call->kind || SCATTER == call->kind || ALLTOALL == call->kind || BARRIER == call->kind
        || ((REDUCE == call->kind || GATHER == call->kind) && !is_root)) {
        call->in_place = false;
    }
    if (REDUCE == call->kind || ALLREDUCE == call->kind || REDUCE_SCATTER_BLOCK == call->kind) {
        call->gaps = false;
    }
}

static void do_call(struct call call)
{
    pair *send = NULL, *receive = NULL;

    MPI_Comm_rank(call.comm, &call.rank);
    settle(&call);
    receive = receive_buffer(&call);
    if (call.in_place) {
        fill_in_place(&call, receive);
    } else {
        send = send_buffer(&call);
    }
    if (BCAST == call.kind && call.rank == call.root) {
        fill(receive, &call, call.rank, 0, call.count, true);
    }
    t_expect(MPI_SUCCESS == run(&call, call.in_place ? MPI_IN_PLACE : send, receive), "kind %d failed", call.kind);
    if (gets_result(&call)) {
        check_all(&call, receive);
    }
    /* It is this rank's again: nobody may be reading it still. */
    if (NULL != send && !is_huge(call.count)) {
        memset(send, 0xdd, (has_many_sent(&call) ? (size_t) call.size : 1) * call.count * sizeof(pair));
    }
    t_free(send);
    t_free(receive);
}

/* ---- behaviours ---- */

static struct call random_call(uint64_t *state, MPI_Comm comm)
{
    static const size_t limits[] = { 8, 600, 9000, 70000 };
    struct call call = { .comm = comm };
    uint64_t own;

    MPI_Comm_size(comm, &call.size);
    call.kind = (enum kind) t_random(state, KINDS);
    call.count = 1 + t_random(state, limits[t_random(state, 10) * 4 / 10]);
    call.root = (int) t_random(state, (size_t) call.size);
    call.in_place = 0 == t_random(state, 3);
    call.key = t_random(state, 1 << 30);
    own = call.key * 7 + (uint64_t) t.rank;
    call.gaps = 0 == call.key % 3 && 0 != t_random(&own, 2); /* not the same on all ranks */
    return call;
}

static void mix(long calls, bool late)
{
    uint64_t state = (uint64_t) t.seed * 77 + (late ? 1 : 0);

    for (long i = 0; i < calls && !t.verdict.failed; ++i) {
        do_call(random_call(&state, MPI_COMM_WORLD));
        if (late && 0 == (i + t.rank) % 7) {
            usleep(2000);
        }
    }
}

static void in_a_row(void)
{
    mix(mixes, false);
}

static void with_late_ranks(void)
{
    mix(mixes / 4, true);
}

static void every_kind_large(void)
{
    for (int kind = 0; kind < BARRIER; ++kind) {
        for (int in_place = 0; in_place < 2; ++in_place) {
            do_call((struct call){
                .kind = (enum kind) kind,
                .count
                = (3u << 20) / sizeof(pair) / (has_many_sent(&(struct call){ .kind = (enum kind) kind }) ? 3 : 1) + 7,
                .root = kind % t.size,
                .in_place = 0 != in_place,
                .key = (uint64_t) (t.seed + kind),
                .comm = MPI_COMM_WORLD });
        }
    }
}

/* Every second rank's buffer has gaps, the root's or not. */
static void every_kind_large_with_gaps(void)
{
    for (int kind = 0; kind < BARRIER; ++kind) {
        for (int root = 0; root < 2; ++root) {
            do_call((struct call){ .kind = (enum kind) kind,
                                   .count = 50001,
                                   .root = root,
                                   .gaps = 0 == t.rank % 2,
                                   .key = (uint64_t) (t.seed + kind),
                                   .comm = MPI_COMM_WORLD });
        }
    }
}

/* The sender of a message that is not buffered waits for one that is already in the barrier. */
static void progress_while_waiting(void)
{
    enum { BYTES = 1 << 20 };
    char *memory = t_alloc(BYTES);
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 0; i < 20; ++i) {
        if (0 == t.rank) {
            T_MPI(MPI_Irecv(memory, BYTES, MPI_BYTE, t.size - 1, 5, MPI_COMM_WORLD, &request));
        } else if (t.rank == t.size - 1) {
            usleep(1000);
            T_MPI(MPI_Ssend(memory, BYTES, MPI_BYTE, 0, 5, MPI_COMM_WORLD));
        }
        T_MPI(MPI_Barrier(MPI_COMM_WORLD));
        T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    t_free(memory);
}

static double core_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + 1e-6 * (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/*
 * Asked only of a component that promises it. On a busy machine a rank may come so late that it hardly waits: it takes
 * no more of a core than one that waits for as long as the late rank sleeps.
 */
static void rest_while_waiting(void)
{
    enum { LATE = 300000 };

    if (!rests) {
        t_skip("wants --rests");
        return;
    }
    for (int late = 0; late < t.size; ++late) {
        double waited, used;

        T_MPI(MPI_Barrier(MPI_COMM_WORLD));
        if (late == t.rank) {
            usleep(LATE);
        }
        waited = MPI_Wtime();
        used = core_seconds();
        T_MPI(MPI_Barrier(MPI_COMM_WORLD));
        waited = MPI_Wtime() - waited;
        used = core_seconds() - used;
        t_expect(late == t.rank || used < 0.3 * (waited > 1e-6 * LATE ? waited : 1e-6 * LATE),
                 "rank %d takes %.0f ms of a core in %.0f ms", t.rank, 1e3 * used, 1e3 * waited);
    }
}

static int count_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    while (NULL != folder && NULL != readdir(folder)) {
        ++count;
    }
    if (NULL != folder) {
        closedir(folder);
    }
    return count;
}

/* Of this process: mappings of shared memory. */
static int count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;

    while (NULL != maps && NULL != fgets(line, sizeof(line), maps)) {
        count += NULL != strstr(line, "rw-s");
    }
    if (NULL != maps) {
        fclose(maps);
    }
    return count;
}

static void use_and_free(MPI_Comm comm, uint64_t key)
{
    if (MPI_COMM_NULL != comm) {
        for (int kind = 0; kind < 3; ++kind) {
            do_call((struct call){ .kind = (enum kind) kind, .count = 100, .key = key, .comm = comm });
        }
        T_MPI(MPI_Comm_free(&comm));
    }
}

static void many_communicators(void)
{
    MPI_Comm comm;
    int files = 0, mappings = 0;

    for (long i = 0; i < communicators && !t.verdict.failed; ++i) {
        if (10 == i) {
            files = count_files();
            mappings = count_mappings();
        }
        if (0 == i % 2) {
            T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        } else {
            comm = t_split(t.rank % 2, -t.rank);
        }
        use_and_free(comm, (uint64_t) i);
    }
    if (10 < communicators) {
        t_expect(count_files() <= files, "%d open files became %d", files, count_files());
        t_expect(count_mappings() <= mappings, "%d shared mappings became %d", mappings, count_mappings());
    }
}

static void many_at_once(void)
{
    MPI_Comm comms[20];

    for (int i = 0; i < 20; ++i) {
        T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    }
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 20; ++i) {
            do_call((struct call){ .kind = ALLREDUCE, .count = 500, .key = (uint64_t) i, .comm = comms[i] });
        }
    }
    for (int i = 19; i >= 0; --i) {
        T_MPI(MPI_Comm_free(&comms[i]));
    }
}

static void past_2_gib(void)
{
    const size_t count = ((size_t) 1 << 31) / sizeof(pair) + 4099;

    if (!big) {
        t_skip("wants --big");
        return;
    }
    for (int kind = BCAST; kind <= ALLREDUCE; ++kind) {
        do_call((struct call){ .kind = (enum kind) kind, .count = count, .key = 3, .comm = MPI_COMM_WORLD });
    }
}

/* ---- what is done to a rank ---- */

static void limit(int what, rlim_t value)
{
    struct rlimit both;

    getrlimit(what, &both);
    both.rlim_cur = value;
    setrlimit(what, &both);
}

static void do_to_rank(void)
{
    if (t.rank == no_files) {
        limit(RLIMIT_NOFILE, 3);
    }
    if (t.rank == no_space) {
        limit(RLIMIT_FSIZE, 4096);
    }
    if (t.rank == untraceable) {
        prctl(PR_SET_DUMPABLE, 0);
    }
}

/* For who wants to kill it. */
static void run_forever(void)
{
    if (0 == t.rank) {
        printf("running\n");
        fflush(stdout);
    }
    alarm(0);
    for (uint64_t i = 0;; ++i) {
        do_call((struct call){ .kind = ALLREDUCE, .count = 2000, .key = i, .comm = MPI_COMM_WORLD });
    }
}

int main(int argc, char **argv)
{
    static const struct t_option options[] = { { "--mixes", true, &mixes },
                                               { "--communicators", true, &communicators },
                                               { "--no-files", true, &no_files },
                                               { "--no-space", true, &no_space },
                                               { "--untraceable", true, &untraceable },
                                               { "--forever", false, &forever },
                                               { "--rests", false, &rests },
                                               { "--big", false, &big } };
    static const struct t_behaviour behaviours[] = {
        { "many in a row, of any kind, size, root and layout", in_a_row, 120 },
        { "many in a row, with late ranks", with_late_ranks, 120 },
        { "3 MB and a bit, every kind, also in place", every_kind_large, 0 },
        { "400 KB, every second rank with gaps", every_kind_large_with_gaps, 0 },
        { "a rank in a barrier takes part in messages", progress_while_waiting, 0 },
        { "a rank in a barrier leaves the core to others", rest_while_waiting, 0 },
        { "twenty communicators at once", many_at_once, 0 },
        { "1,000 communicators, used and freed, leave no file open and nothing mapped", many_communicators, 240 },
        { "more than 2 GiB", past_2_gib, 240 },
    };

    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
    MPI_Init(&argc, &argv);
    t_begin();
    do_to_rank();
    T_MPI(MPI_Type_contiguous(2, MPI_UINT32_T, &pair_type));
    T_MPI(MPI_Type_commit(&pair_type));
    T_MPI(MPI_Type_create_resized(pair_type, 0, 2 * sizeof(pair), &gap_type));
    T_MPI(MPI_Type_commit(&gap_type));
    T_MPI(MPI_Op_create(compose_all, 0, &compose_op));
    if (forever) {
        run_forever();
    }
    while (t_next_setting()) {
        t_run(behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
    }
    T_MPI(MPI_Op_free(&compose_op));
    T_MPI(MPI_Type_free(&gap_type));
    T_MPI(MPI_Type_free(&pair_type));
    return t_finish("MPI_Finalize returns");
}
