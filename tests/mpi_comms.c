/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of communicators: made, used by MPI_Bcast, freed or left to MPI_Finalize. Passes with any correct MPI whose
 * handles are reused (Open MPI's are). With --child it is what --spawn starts.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

#include "mpi_test.h"

#define BYTES 20000 /* of a message: many segments of a few KiB, a ragged one last */
#define MOST_LIVE 64

static long live = 7;
static long spawn = 0;
static long threads = 0;
static long child = 0;

static char *program;

/* ---- messages; these use nothing of t but memory, so that threads may call them ---- */

static bool bcast_right(MPI_Comm comm, int root, size_t bytes, uint64_t key)
{
    unsigned char *memory = t_alloc(bytes);
    bool right;
    int rank;

    MPI_Comm_rank(comm, &rank);
    for (size_t i = 0; i < bytes; ++i) {
        memory[i] = t_pattern(key, i) ^ (rank == root ? 0 : 0xff);
    }
    right = MPI_SUCCESS == MPI_Bcast(memory, (int) bytes, MPI_BYTE, root, comm);
    for (size_t i = 0; i < bytes && right; ++i) {
        right = t_pattern(key, i) == memory[i];
    }
    right = t_guarded(memory) && right;
    t_free(memory);
    return right;
}

static bool bcasts_right(MPI_Comm comm)
{
    bool right = true;
    int size;

    MPI_Comm_size(comm, &size);
    for (int root = 0; root < size; ++root) {
        right = bcast_right(comm, root, BYTES, (uint64_t) (t.seed + root)) && right;
        right = bcast_right(comm, root, 1, (uint64_t) (t.seed + root)) && right;
    }
    return right;
}

/* Sums of few integers, of which Open MPI's own calls are, too, and of many. */
static bool sums_right(MPI_Comm comm)
{
    enum { MANY = 3000 };
    int mine[MANY], sums[MANY], rank, size;
    bool right = true;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < MANY; ++i) {
        mine[i] = rank + i;
    }
    for (int count = 1; MANY >= count; count *= 7) {
        right = MPI_SUCCESS == MPI_Allreduce(mine, sums, count, MPI_INT, MPI_SUM, comm) && right;
        for (int i = 0; i < count; ++i) {
            right = right && size * i + size * (size - 1) / 2 == sums[i];
        }
    }
    return right;
}

/* Uses and frees a communicator. */
static void use(MPI_Comm comm)
{
    if (MPI_COMM_NULL != comm) {
        t_expect(bcasts_right(comm), "a message is wrong");
        T_MPI(MPI_Comm_free(&comm));
    }
}

static MPI_Comm duplicate(MPI_Comm comm)
{
    MPI_Comm result = MPI_COMM_NULL;

    T_MPI(MPI_Comm_dup(comm, &result));
    return result;
}

/* ---- rounds ---- */

/* Behind the first of them, in two halves: a list of free fragments, which has to grow once, grows in one of these. */
enum { ROUNDS = 200, WARM = 50, HALF = (ROUNDS - WARM) / 2, MOST_GROWTH = 100000 };

struct memory {
    long heap, pages;
};

static MPI_Comm split_interleaved(MPI_Comm comm)
{
    MPI_Comm result = MPI_COMM_NULL;

    T_MPI(MPI_Comm_split(comm, t.rank % 2, -t.rank, &result));
    return result;
}

static long resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (NULL != file) {
        if (1 != fscanf(file, "%*d %ld", &pages)) {
            pages = 0;
        }
        fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE);
}

static struct memory memory_now(void)
{
    return (struct memory){ .heap = (long) mallinfo2().uordblks, .pages = resident() };
}

static long lesser(long one, long other)
{
    return one < other ? one : other;
}

static int fresh_id(void)
{
    MPI_Comm comm = duplicate(MPI_COMM_WORLD);
    const int id = MPI_Comm_c2f(comm);

    T_MPI(MPI_Comm_free(&comm));
    return id;
}

static void rounds(MPI_Comm (*make)(MPI_Comm comm))
{
    const int id = fresh_id();
    struct memory begin = { 0 }, middle = { 0 }, end;
    long heap, pages;
    int id_after;

    for (int i = 0; i < ROUNDS; ++i) {
        MPI_Comm comm;
        int size;

        if (WARM == i) {
            begin = memory_now();
        } else if (WARM + HALF == i) {
            middle = memory_now();
        }
        comm = make(MPI_COMM_WORLD);
        MPI_Comm_size(comm, &size);
        t_expect(bcast_right(comm, i % size, BYTES, (uint64_t) i), "the message of round %d is wrong", i);
        T_MPI(MPI_Comm_free(&comm));
    }
    end = memory_now();
    heap = lesser(middle.heap - begin.heap, end.heap - middle.heap);
    pages = lesser(middle.pages - begin.pages, end.pages - middle.pages);
    t_expect(heap < MOST_GROWTH, "%ld bytes of the heap were lost in %d rounds", heap, HALF);
    /* ThreadSanitizer takes memory of its own as it goes. */
    t_expect(pages < MOST_GROWTH || NULL != getenv("TSAN_OPTIONS"), "the process grew by %ld bytes in %d rounds", pages,
             HALF);
    id_after = fresh_id();
    t_expect(id == id_after, "a new communicator had the id %d before, and %d after", id, id_after);
}

static void rounds_of_dup(void)
{
    rounds(duplicate);
}

static void rounds_of_split(void)
{
    rounds(split_interleaved);
}

/* ---- MPI_Comm_idup ---- */

enum { DUPLICATES = 30 };

/* Whether another thread may wait for a request. */
static bool has_threads(void)
{
    int provided;

    MPI_Query_thread(&provided);
    return threads && MPI_THREAD_MULTIPLE == provided;
}

static void skip_threads(void)
{
    t_skip("%s", threads ? "MPI has no MPI_THREAD_MULTIPLE" : "wants --threads");
}

static void start_thread(pthread_t *id, void *(*start)(void *argument), void *argument)
{
    if (0 != pthread_create(id, NULL, start, argument)) {
        fprintf(stderr, "no thread\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void *wait_for_it(void *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return NULL;
}

/* So many steps, or until it is over. */
static void go_on(MPI_Request *request, int steps)
{
    int over = 0;

    for (; 0 < steps && !over; --steps) {
        MPI_Test(request, &over, MPI_STATUS_IGNORE);
    }
}

/*
 * Open MPI makes the duplicate while it waits in whatever call, by nonblocking collectives of the communicator: here in
 * blocking ones on the same communicator, and in another thread's wait.
 */
static void duplicate_meanwhile(MPI_Comm parent, bool (*calls_right)(MPI_Comm comm), bool in_thread)
{
    for (int i = 0; i < DUPLICATES; ++i) {
        MPI_Comm comm = duplicate(parent), made = MPI_COMM_NULL;
        MPI_Request request;
        pthread_t waiting;

        T_MPI(MPI_Comm_idup(comm, &made, &request));
        if (in_thread) {
            start_thread(&waiting, wait_for_it, &request);
        } else {
            go_on(&request, (i + 3 * t.rank) % DUPLICATES);
        }
        t_expect(calls_right(comm), "a result is wrong");
        if (in_thread) {
            pthread_join(waiting, NULL);
        } else {
            T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        t_expect(calls_right(made), "a result on the duplicate is wrong");
        T_MPI(MPI_Comm_free(&made));
        T_MPI(MPI_Comm_free(&comm));
    }
}

static bool messages_and_sums_right(MPI_Comm comm)
{
    return bcasts_right(comm) && sums_right(comm);
}

static void duplicated_meanwhile(void)
{
    duplicate_meanwhile(MPI_COMM_WORLD, messages_and_sums_right, false);
}

static void duplicated_by_another_thread(void)
{
    if (!has_threads()) {
        skip_threads();
        return;
    }
    duplicate_meanwhile(MPI_COMM_WORLD, messages_and_sums_right, true);
}

/* Of each group, the number of ranks of the other one. */
static bool remote_sums_right(MPI_Comm inter)
{
    int one = 1, sum = 0, remote;

    MPI_Comm_remote_size(inter, &remote);
    return MPI_SUCCESS == MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter) && remote == sum;
}

/* An intercommunicator of the even and the odd ranks, for which MPI_Comm_idup calls on the communicator of each group.
 */
static void duplicate_inter_meanwhile(MPI_Comm comm)
{
    MPI_Comm local = MPI_COMM_NULL, inter = MPI_COMM_NULL;
    int rank;

    MPI_Comm_rank(comm, &rank);
    T_MPI(MPI_Comm_split(comm, rank % 2, rank, &local));
    T_MPI(MPI_Intercomm_create(local, 0, comm, 1 - rank % 2, T_TAG, &inter));
    duplicate_meanwhile(inter, remote_sums_right, false);
    T_MPI(MPI_Comm_free(&inter));
    T_MPI(MPI_Comm_free(&local));
}

/* Communicators that are made but never used. */
static void unused(void)
{
    const int id = fresh_id();
    MPI_Comm comms[8];

    for (int i = 0; i < 8; ++i) {
        comms[i] = duplicate(MPI_COMM_WORLD);
    }
    for (int i = 0; i < 8; ++i) {
        T_MPI(MPI_Comm_free(&comms[i]));
    }
    t_expect(id == fresh_id(), "a new communicator has another id than before");
}

/* Freed in another order than made, and while others are in use. */
static void freed_in_any_order(void)
{
    static const int order[] = { 3, 0, 5, 1, 4, 2 };
    const int id = fresh_id();
    MPI_Comm comms[6];

    for (int i = 0; i < 6; ++i) {
        comms[i] = duplicate(0 == i ? MPI_COMM_WORLD : comms[i - 1]);
        t_expect(bcasts_right(comms[i]), "a message on a duplicate of a duplicate is wrong");
    }
    for (int i = 0; i < 6; ++i) {
        T_MPI(MPI_Comm_free(&comms[order[i]]));
        for (int other = i + 1; other < 6; ++other) {
            t_expect(bcast_right(comms[order[other]], 0, BYTES, 3), "a message is wrong after a free");
        }
    }
    t_expect(id == fresh_id(), "a new communicator has another id than before");
}

/* ---- other ways to make a communicator ---- */

static void create_group(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int range[1][3] = { { 0, t.size - 1, 2 } };
    MPI_Group world;
    MPI_Group even;

    T_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    T_MPI(MPI_Group_range_incl(world, 1, range, &even));
    if (0 == t.rank % 2) {
        T_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, even, 9, &comm));
    }
    use(comm);
    T_MPI(MPI_Group_free(&even));
    T_MPI(MPI_Group_free(&world));
}

static void intercomm_merge(void)
{
    MPI_Comm local, inter;
    bool low;

    inter = t_intercomm(&local, &low);
    if (MPI_COMM_NULL == inter) {
        return;
    }
    for (int turned = 0; turned < 2; ++turned) {
        MPI_Comm merged = MPI_COMM_NULL;

        T_MPI(MPI_Intercomm_merge(inter, low == (1 == turned), &merged));
        use(merged);
    }
    T_MPI(MPI_Comm_free(&inter));
    use(local);
}

static void cartesian(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int dims[2] = { 0, 0 };
    const int periods[2] = { 1, 0 };

    T_MPI(MPI_Dims_create(t.size, 2, dims));
    T_MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm));
    use(comm);
}

/* ---- spawned ---- */

#define CHILDREN 2

/* Open MPI's count of communicators over several jobs; MPI_Finalize has memory for so many. -1: another MPI. */
static int communicators_of_jobs(void)
{
    const int *number = dlsym(RTLD_DEFAULT, "ompi_comm_num_dyncomm");

    return NULL == number ? -1 : *number;
}

/* Both sides: broadcasts on the merged communicator, and rank 0 hears whether all were right. */
static void use_merged(MPI_Comm inter, bool high)
{
    const int before = communicators_of_jobs();
    MPI_Comm merged = MPI_COMM_NULL;
    int right;
    int rank;
    int size;

    T_MPI(MPI_Intercomm_merge(inter, high, &merged));
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &size);
    right = bcasts_right(merged);
    t_expect(right, "a message on the merged communicator is wrong");
    if (0 != rank) {
        T_MPI(MPI_Send(&right, 1, MPI_INT, 0, T_TAG, merged));
    }
    for (int other = 1; other < size && 0 == rank; ++other) {
        T_MPI(MPI_Recv(&right, 1, MPI_INT, other, T_TAG, merged, MPI_STATUS_IGNORE));
        t_expect(right, "a message on the merged communicator is wrong at its rank %d", other);
    }
    duplicate_meanwhile(merged, messages_and_sums_right, has_threads());
    duplicate_inter_meanwhile(merged);
    T_MPI(MPI_Comm_free(&merged));
    t_expect(before == communicators_of_jobs(), "of %d communicators over several jobs %d are left", before,
             communicators_of_jobs());
}

static void spawned_and_merged(void)
{
    char child_option[] = "--child", seed_option[] = "--seed", number[24], threads_option[] = "--threads";
    char *arguments[] = { program, child_option, seed_option, number, threads ? threads_option : NULL, NULL };
    /* What starts this process starts the others, too: sanitizers have their options from it. */
    const char *wrapper = getenv("HAN_TEST_WRAPPER");
    MPI_Comm inter = MPI_COMM_NULL;

    if (!spawn) {
        t_skip("wants --spawn");
        return;
    }
    snprintf(number, sizeof(number), "%ld", t.seed);
    T_MPI(MPI_Comm_spawn(NULL == wrapper ? program : wrapper, arguments + (NULL == wrapper), CHILDREN, MPI_INFO_NULL, 0,
                         MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    if (MPI_COMM_NULL != inter) {
        use_merged(inter, false);
        T_MPI(MPI_Comm_disconnect(&inter));
    }
}

static int run_child(void)
{
    MPI_Comm parent;

    t_start(0, "a spawned process");
    MPI_Comm_get_parent(&parent);
    if (!t_expect(MPI_COMM_NULL != parent, "--child is for spawned processes")) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    use(duplicate(MPI_COMM_WORLD));
    use_merged(parent, true);
    T_MPI(MPI_Comm_disconnect(&parent));
    T_MPI(MPI_Comm_free(&t.comm));
    MPI_Finalize();
    return t.verdict.failed;
}

/* ---- threads ---- */

#define THREADS 4
#define THREAD_ROUNDS 50

struct thread {
    pthread_t id;
    int number;
    MPI_Comm comm;
    bool right;
};

static void *thread_main(void *argument)
{
    struct thread *thread = argument;
    int size;

    MPI_Comm_size(thread->comm, &size);
    thread->right = true;
    for (int i = 0; i < THREAD_ROUNDS; ++i) {
        const size_t bytes = 0 == i % 3 ? BYTES : (size_t) (i + 1);

        thread->right
            = bcast_right(thread->comm, (i + thread->number) % size, bytes, (uint64_t) (i * THREADS)) && thread->right;
    }
    return NULL;
}

/* One communicator per thread. */
static void from_threads(void)
{
    struct thread team[THREADS];

    if (!has_threads()) {
        skip_threads();
        return;
    }
    for (int i = 0; i < THREADS; ++i) {
        team[i] = (struct thread){ .number = i, .comm = duplicate(MPI_COMM_WORLD) };
    }
    for (int i = 0; i < THREADS; ++i) {
        start_thread(&team[i].id, thread_main, &team[i]);
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(team[i].id, NULL);
        t_expect(team[i].right, "a message of thread %d is wrong", i);
        T_MPI(MPI_Comm_free(&team[i].comm));
    }
}

/* ---- left to MPI_Finalize ---- */

#define HOLES 3

static MPI_Comm left[MOST_LIVE];
static MPI_Comm left_part = MPI_COMM_NULL;

/*
 * Duplicates with holes between them, before the first is used: what is made for a duplicate at its first use then has
 * a lower id than the duplicate itself, so in the order of ids the parts come before the whole.
 */
static void leave_live(void)
{
    MPI_Comm holes[MOST_LIVE][HOLES];

    if (0 == live) {
        t_skip("--live 0");
        return;
    }
    for (long i = 0; i < live; ++i) {
        for (int hole = 0; hole < HOLES; ++hole) {
            holes[i][hole] = duplicate(MPI_COMM_WORLD);
        }
        left[i] = duplicate(MPI_COMM_WORLD);
    }
    for (long i = 0; i < live; ++i) {
        for (int hole = 0; hole < HOLES; ++hole) {
            T_MPI(MPI_Comm_free(&holes[i][hole]));
        }
    }
    for (long i = live - 1; i >= 0; --i) {
        t_expect(bcasts_right(left[i]), "a message on duplicate %ld is wrong", i);
    }
    left_part = split_interleaved(left[live - 1]);
    t_expect(bcasts_right(left_part), "a message on a part of the last duplicate is wrong");
}

/* Deletes an attribute of MPI_COMM_SELF, which is the first thing that MPI_Finalize does: MPI still works. */
static int last_messages(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void) comm;
    (void) keyval;
    (void) value;
    (void) extra;
    t_start(0, "messages on live duplicates while MPI_Finalize deletes attributes");
    for (long i = 0; i < live; ++i) {
        t_expect(bcasts_right(left[i]), "a message on duplicate %ld is wrong", i);
    }
    t_expect(bcasts_right(MPI_COMM_WORLD), "a message on the world is wrong");
    /* A communicator that is used for the first time now. */
    use(duplicate(MPI_COMM_WORLD));
    t_end();
    MPI_Comm_free(&t.comm);
    return MPI_SUCCESS;
}

static void set_attribute(void)
{
    int keyval;

    t.keep_comm = true;
    T_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_messages, &keyval, NULL));
    T_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL));
    T_MPI(MPI_Comm_free_keyval(&keyval));
}

int main(int argc, char **argv)
{
    static const struct t_option options[] = { { "--live", true, &live },
                                               { "--spawn", false, &spawn },
                                               { "--threads", false, &threads },
                                               { "--child", false, &child } };
    static const struct t_behaviour behaviours[] = {
        { "200 rounds of dup, use and free lose no memory and no id", rounds_of_dup, 0 },
        { "200 rounds of split, use and free lose no memory and no id", rounds_of_split, 0 },
        { "30 communicators that are used while a duplicate is made", duplicated_meanwhile, 0 },
        { "communicators that are never used", unused, 0 },
        { "communicators freed in any order", freed_in_any_order, 0 },
        { "a communicator made by a part of the ranks", create_group, 0 },
        { "an intercommunicator merged in both orders", intercomm_merge, 0 },
        { "a cartesian communicator", cartesian, 0 },
        { "spawned and merged", spawned_and_merged, 0 },
        { "four threads, each with its communicator", from_threads, 0 },
        { "duplicates that one thread makes while another one calls", duplicated_by_another_thread, 0 },
        { "duplicates left to MPI_Finalize, with free ids below them for their parts", leave_live, 0 },
        { "an attribute on MPI_COMM_SELF whose deletion will communicate", set_attribute, 0 },
    };
    int provided;

    program = argv[0];
    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
    if (live < 0 || live > MOST_LIVE) {
        fprintf(stderr, "%s: 0 to %d live duplicates\n", argv[0], MOST_LIVE);
        return 1;
    }
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    t_begin();
    if (child) {
        return run_child();
    }
    t_run(behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
    return t_finish("MPI_Finalize returns with duplicates alive");
}
