/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a component may do to a node that keeps its ranks together by flags in shared memory: hold up messages, leave
 * files and mappings behind. Passes with any correct MPI on one node; mpi_check --solo asks for right
 * results of all kinds. What is done to a rank with --no-files, --no-space and --untraceable is for the tests of
 * messages; --unequal is for single copies.
 */
#define _GNU_SOURCE /* memfd_create */
#include "mpi_test.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static long communicators = 1000;
static long no_files = -1;
static long no_space = -1;
static long strangers = 0;
static long untraceable = -1;
static long unequal = -1;
static long forever = 0;

/* ---- a few calls on a communicator ---- */

struct calls {
    MPI_Comm comm;
    int rank, size;
    int count; /* ints of a block */
    int *data, *result;
};

static int number_of(int rank, int i)
{
    return 1000 * rank + i % 997;
}

static void expect_block(const struct calls *c, const char *what, const int *block, int from, bool summed)
{
    const int factor = summed ? c->size : 1, base = summed ? 1000 * c->size * (c->size - 1) / 2 : 1000 * from;
    int i = 0;

    while (i < c->count && base + factor * (i % 997) == block[i]) {
        ++i;
    }
    t_expect(i == c->count, "%s of %d ints, %d ranks: int %d is wrong", what, c->count, c->size, i);
}

/* The buffers are this rank's again after each call: what others still read would be wrong. */
static void fill(const struct calls *c)
{
    for (int i = 0; i < c->count; ++i) {
        c->data[i] = number_of(c->rank, i);
    }
    memset(c->result, 0xee, (size_t) c->size * (size_t) c->count * sizeof(int));
}

static void bcast(const struct calls *c, int root)
{
    fill(c);
    T_MPI(MPI_Bcast(c->data, c->count, MPI_INT, root, c->comm));
    expect_block(c, "bcast", c->data, root, false);
}

static void reduce(const struct calls *c, int root)
{
    fill(c);
    T_MPI(MPI_Reduce(c->data, c->result, c->count, MPI_INT, MPI_SUM, root, c->comm));
    if (root == c->rank) {
        expect_block(c, "reduce", c->result, 0, true);
    }
}

static void allreduce(const struct calls *c)
{
    fill(c);
    T_MPI(MPI_Allreduce(c->data, c->result, c->count, MPI_INT, MPI_SUM, c->comm));
    expect_block(c, "allreduce", c->result, 0, true);
}

static void allgather(const struct calls *c)
{
    fill(c);
    T_MPI(MPI_Allgather(c->data, c->count, MPI_INT, c->result, c->count, MPI_INT, c->comm));
    for (int from = 0; from < c->size; ++from) {
        expect_block(c, "allgather", c->result + (ptrdiff_t) from * c->count, from, false);
    }
}

static void use(MPI_Comm comm, int count)
{
    struct calls c = { .comm = comm, .count = count };

    MPI_Comm_rank(comm, &c.rank);
    MPI_Comm_size(comm, &c.size);
    c.data = t_alloc((size_t) count * sizeof(int));
    c.result = t_alloc((size_t) c.size * (size_t) count * sizeof(int));
    bcast(&c, c.size - 1);
    reduce(&c, 0);
    allreduce(&c);
    allgather(&c);
    t_free(c.data);
    t_free(c.result);
}

/* ---- behaviours ---- */

static void large_messages(void)
{
    use(MPI_COMM_WORLD, 800007);
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
        use(comm, 200);
        T_MPI(MPI_Comm_free(&comm));
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
            use(comms[i], 1000);
        }
    }
    for (int i = 19; i >= 0; --i) {
        T_MPI(MPI_Comm_free(&comms[i]));
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

/*
 * Ranks that do not see each other: in a PID namespace each, where all are process 1. Whatever number rank 0's memory
 * has among its files, with the others that is a file of their own; with rank 2 one of the same name.
 */
static void leave_strangers_alone(void)
{
    enum { FILES = 200, BYTES = 4096 };
    FILE *file = 2 == t.rank ? fdopen(memfd_create("coll_solo", 0), "r+") : tmpfile();
    struct stat status = { .st_size = -1 };
    int copies[FILES];

    if (!t_expect(NULL != file && 0 == ftruncate(fileno(file), BYTES), "there is no file to look at")) {
        return;
    }
    for (int i = 0; i < FILES; ++i) {
        copies[i] = 0 == t.rank ? -1 : dup(fileno(file));
    }
    use(MPI_COMM_WORLD, 4000);
    fstat(fileno(file), &status);
    t_expect(BYTES == status.st_size && 0 == status.st_blocks,
             "a file of another process has grown to %lld bytes, %lld blocks", (long long) status.st_size,
             (long long) status.st_blocks);
    for (int i = 0; i < FILES; ++i) {
        close(copies[i]);
    }
    fclose(file);
}

/* Collectives with a root; all ranks name INTS for a block, but one, which names more or less. */
enum { BCAST, GATHER, SCATTER, REDUCE };
enum { ROOT = 1, INTS = 300000, MORE = INTS + 50000, LESS = INTS - 50000, UNTOUCHED = 0x5a5a5a5a };

static const struct unequal {
    const char *name;
    int collective, odd; /* what the one rank names */
    bool fits;
} unequal_calls[] = {
    { "a bcast that one rank has no room for", BCAST, LESS, false },
    { "a bcast that one rank has more room for", BCAST, MORE, true },
    { "a gather of more than the root has room for", GATHER, MORE, false },
    { "a gather of less than the root has room for", GATHER, LESS, true },
    { "a scatter that one rank has no room for", SCATTER, LESS, false },
    { "a scatter that one rank has more room for", SCATTER, MORE, true },
    { "a reduce of more than the root has room for", REDUCE, MORE, false },
    { "a reduce of less than the root has room for", REDUCE, LESS, false },
};

static int call_unequal(const struct unequal *call, int count, const int *data, int *result)
{
    switch (call->collective) {
    case BCAST:
        return MPI_Bcast(result, count, MPI_INT, ROOT, MPI_COMM_WORLD);
    case GATHER:
        return MPI_Gather(data, count, MPI_INT, result, INTS, MPI_INT, ROOT, MPI_COMM_WORLD);
    case SCATTER:
        return MPI_Scatter(data, INTS, MPI_INT, result, count, MPI_INT, ROOT, MPI_COMM_WORLD);
    default:
        return MPI_Reduce(data, result, count, MPI_INT, MPI_SUM, ROOT, MPI_COMM_WORLD);
    }
}

/* Int i of the result of a call that fits. */
static int expected_of(const struct unequal *call, int i)
{
    const int sent = GATHER == call->collective && unequal == i / INTS ? call->odd : INTS;

    if (GATHER == call->collective) {
        return ROOT == t.rank && i < t.size * INTS && i % INTS < sent ? number_of(i / INTS, i % INTS) : UNTOUCHED;
    }
    return i >= INTS ? UNTOUCHED : number_of(ROOT, i + (SCATTER == call->collective ? t.rank * INTS : 0));
}

/*
 * Where it does not fit, there is an error, and nothing is written behind what a rank has named. Where there is more
 * room than is sent, which MPI does not allow, but programs have, all that was sent is there, and nothing else.
 */
static void lengths_differ(void)
{
    const int room = t.size * MORE;
    int *data = t_alloc((size_t) room * sizeof(int)), *result = t_alloc((size_t) room * sizeof(int));

    for (size_t k = 0; k < sizeof(unequal_calls) / sizeof(unequal_calls[0]); ++k) {
        const struct unequal *call = &unequal_calls[k];
        const bool gathers = GATHER == call->collective;
        const int count = unequal == t.rank ? call->odd : INTS,
                  named = !gathers         ? count
                          : ROOT == t.rank ? t.size * INTS
                                           : 0,
                  hears = gathers || REDUCE == call->collective ? ROOT : (int) unequal;
        int rc, i = 0;

        for (int j = 0; j < room; ++j) {
            data[j] = number_of(t.rank, j);
            result[j] = BCAST == call->collective && ROOT == t.rank && j < INTS ? data[j] : UNTOUCHED;
        }
        rc = call_unequal(call, count, data, result);
        if (call->fits) {
            t_expect(MPI_SUCCESS == rc, "%s gives %d", call->name, rc);
        } else {
            t_expect(hears != t.rank || MPI_ERR_TRUNCATE == rc, "%s gives %d", call->name, rc);
            i = named;
        }
        while (i < room && (call->fits ? expected_of(call, i) : UNTOUCHED) == result[i]) {
            ++i;
        }
        t_expect(i == room, "%s: int %d is wrong", call->name, i);
    }
    t_free(data);
    t_free(result);
    use(MPI_COMM_WORLD, INTS);
}

/* For who wants to kill it: as soon as all ranks have used their shared memory, it says so. */
static void run_forever(void)
{
    use(MPI_COMM_WORLD, 4000);
    if (0 == t_agree(0) && 0 == t.rank) {
        printf("running\n");
        fflush(stdout);
    }
    alarm(0);
    for (;;) {
        use(MPI_COMM_WORLD, 4000);
    }
}

int main(int argc, char **argv)
{
    static const struct t_option options[] = { { "--communicators", true, &communicators },
                                               { "--no-files", true, &no_files },
                                               { "--no-space", true, &no_space },
                                               { "--untraceable", true, &untraceable },
                                               { "--strangers", false, &strangers },
                                               { "--unequal", true, &unequal },
                                               { "--forever", false, &forever } };
    static const struct t_behaviour behaviours[] = {
        { "messages of 3 MB and a bit", large_messages, 0 },
        { "a rank in a barrier takes part in messages", progress_while_waiting, 0 },
        { "twenty communicators at once", many_at_once, 0 },
        { "many communicators, used and freed, leave no file open and nothing mapped", many_communicators, 900 },
    };

    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
    MPI_Init(&argc, &argv);
    t_begin();
    do_to_rank();
    if (forever) {
        run_forever();
    }
    if (strangers) {
        t_run(&(const struct t_behaviour){ "files of other processes are left alone", leave_strangers_alone, 0 }, 1);
        return t_finish("MPI_Finalize returns");
    }
    if (0 <= unequal) {
        t_run(&(const struct t_behaviour){ "nothing is written behind what a rank has named", lengths_differ, 0 }, 1);
        return t_finish("MPI_Finalize returns");
    }
    t_run(behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
    return t_finish("MPI_Finalize returns");
}
