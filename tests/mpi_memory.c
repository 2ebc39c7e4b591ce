/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens where one rank gets no memory: of the allocations that our components make there during a call, one
 * fails. Then either all ranks return, with an error or the right result, and the next call is right; or the job ends.
 * Which of the two, and whether it ends with a message and in time, test_memory.sh looks at.
 *
 *   mpi_memory --only 3 --victim 1 --fail 5    in the fourth kind of calls; the fifth allocation of rank 1 and, on new
 *                                              communicators, each one behind it
 *   mpi_memory ... --later                     not in a communicator's first call, but in its third
 *   mpi_memory ... --by-rank                   each rank has another type, some have gaps
 *   mpi_memory ... --init                      in MPI_Init, the fifth alone
 *   mpi_memory --wide ...                      SOLO's allocations, for elements that the convertor cannot cut
 *   mpi_memory --level 1 ...                   the communicator of HAN's level in a node gets no modules there; 2:
 *                                              of that between nodes
 *   mpi_memory --list                          the kinds of calls
 *
 * And how much all of them take:
 *
 *   mpi_memory --gaps                          in reductions whose elements have gaps
 */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <errno.h>

#define T_TEXT 1024
#include "mpi_test.h"

#include "check.h"

static long only = 0;
static long victim = 0;
static long first = 1;
static long later = 0;
static long init = 0;
static long size = 5;
static long list = 0;
static long gaps = 0;
static long by_rank = 0;
static long wide = 0;
static long level = 0;

/* ---- allocations ---- */

static struct {
    bool armed;
    long number; /* of the one that fails */
    long seen;
    size_t bytes; /* that all of them have asked for */
} fault;

static bool is_ours(const void *code)
{
    static const char *const components[] = { "mca_coll_solo", "mca_coll_han", "mca_coll_adapt" };
    const size_t looked_at = wide ? 1 : CHECK_COUNT(components);
    Dl_info info;

    for (size_t i = 0; i < looked_at && 0 != dladdr(code, &info) && NULL != info.dli_fname; ++i) {
        if (NULL != strstr(info.dli_fname, components[i])) {
            return true;
        }
    }
    return false;
}

static bool fails(size_t bytes, const void *caller)
{
    if (!fault.armed || !is_ours(caller)) {
        return false;
    }
    fault.bytes += bytes;
    if (++fault.seen != fault.number) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

#define IN_PLACE_OF_THE_LIBRARYS __attribute__((visibility("default")))

/* Of the C library, which has them under these names, too. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);

IN_PLACE_OF_THE_LIBRARYS void *malloc(size_t bytes)
{
    return fails(bytes, __builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

IN_PLACE_OF_THE_LIBRARYS void *calloc(size_t count, size_t bytes)
{
    return fails(count * bytes, __builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

IN_PLACE_OF_THE_LIBRARYS void *realloc(void *memory, size_t bytes)
{
    return fails(bytes, __builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}

/* Called when the communicator's other ranks have their modules, or will have them. A leader makes that of its node
 * first, then that of all leaders. */
#ifndef __SANITIZE_THREAD__ /* there Open MPI is in the program, see sanitize.sh */
IN_PLACE_OF_THE_LIBRARYS int mca_coll_base_comm_select(MPI_Comm comm)
{
    static long selected; /* communicators that got modules, or should have */
    int (*const theirs)(MPI_Comm) = (int (*)(MPI_Comm)) dlsym(RTLD_NEXT, "mca_coll_base_comm_select");

    return fault.armed && ++selected == level ? MPI_ERR_INTERN : theirs(comm);
}
#endif

/* ---- calls ---- */

static struct call make_call(MPI_Comm comm)
{
    struct call c = { .collective = &collectives[only / FORMS], .form = (enum form)(only % FORMS), .root = 0 };
    size_t v = 0;

    while (!collective_suits(c.collective, &variants[v]) || (0 != by_rank && LAYOUTS > (int) variants[v].layouts[0])) {
        ++v;
    }
    c.variant = &variants[v];
    c.units = 0 == strcmp("barrier", c.collective->name) ? 0 : (size_t) size;
    c.key = (uint64_t) t.seed;
    call_on(&c, comm);
    return c;
}

static void run_right(MPI_Comm comm, const char *what)
{
    struct call c = make_call(comm);

    call_run(&c);
    t_expect(!c.failed, "%s call: %s", what, c.why);
}

/* False where no rank has got so far. */
static bool one_fails(void)
{
    struct call c;
    MPI_Comm comm;
    bool reached;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 2 && later; ++i) {
        run_right(comm, "an earlier");
    }
    c = make_call(comm);
    fault.seen = 0;
    fault.armed = victim == t.rank;
    call_start(&c);
    call_wait(&c);
    fault.armed = false;
    c.failed = false;
    if (MPI_SUCCESS == c.code) {
        call_check(&c);
    } else {
        call_check_guards(&c);
    }
    t_expect(!c.failed, "allocation %ld: %s", fault.number, c.why);
    call_close(&c);
    reached = 0 > t_agree(fault.seen >= fault.number ? -1 : 0);
    if (reached) {
        run_right(comm, "the next");
    }
    T_MPI(MPI_Comm_free(&comm));
    return reached;
}

static void each_fails(void)
{
    bool reached = true;

    for (fault.number = first; reached && t_agree(!t.verdict.failed); ++fault.number) {
        if (0 == t.rank) {
            printf("# allocation %ld\n", fault.number);
            fflush(stdout);
        }
        alarm(T_LIMIT);
        reached = one_fails();
    }
}

/* ---- elements that are put aside where they are cut ---- */

enum { WIDE_COUNT = 5000 }; /* several pieces of shared memory */

struct wide {
    int number;
    long double _Complex value;
};

static void wide_call(MPI_Comm comm, MPI_Datatype type, struct wide *data, bool may_fail)
{
    const int blocks = 2 < t.size ? t.size : 1, block = WIDE_COUNT / blocks;
    int wrong = 0, rc;

    for (int i = 0; i < WIDE_COUNT; ++i) {
        const bool own = i / block == t.rank;

        data[i] = (struct wide){ own ? i : -1, own ? 3 * i : -1 };
    }
    fault.armed = may_fail && victim == t.rank;
    rc = 1 < blocks ? MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, block, type, comm)
                    : MPI_Bcast(data, WIDE_COUNT, type, 0, comm);
    fault.armed = false;
    for (int i = 0; i < WIDE_COUNT && MPI_SUCCESS == rc; ++i) {
        wrong += i != data[i].number || 3 * i != data[i].value;
    }
    t_expect(may_fail || MPI_SUCCESS == rc, "allocation %ld: the next call returns %d", fault.number, rc);
    t_expect(0 == wrong && t_guarded(data), "allocation %ld: %d elements are wrong", fault.number, wrong);
}

/* Each allocation fails once; the first one that is not reached is the last one that is tried. */
static void each_wide_fails(void)
{
    const int lengths[] = { 1, 1 };
    const MPI_Aint places[] = { 0, offsetof(struct wide, value) };
    const MPI_Datatype types[] = { MPI_INT, MPI_C_LONG_DOUBLE_COMPLEX };
    struct wide *data = t_alloc(WIDE_COUNT * sizeof(*data));
    MPI_Datatype type;
    bool reached = true;

    T_MPI(MPI_Type_create_struct(2, lengths, places, types, &type));
    T_MPI(MPI_Type_commit(&type));
    T_MPI(MPI_Comm_set_errhandler(t.comm, MPI_ERRORS_RETURN));
    wide_call(t.comm, type, data, false);
    for (fault.number = 1; reached && t_agree(!t.verdict.failed); ++fault.number) {
        alarm(T_LIMIT);
        fault.seen = 0;
        wide_call(t.comm, type, data, true);
        reached = 0 > t_agree(fault.seen >= fault.number ? -1 : 0);
        wide_call(t.comm, type, data, false);
    }
    t_expect(2 < fault.number, "nothing is allocated");
    T_MPI(MPI_Type_free(&type));
    t_free(data);
}

/* ---- levels ---- */

static void level_fails(void)
{
    fault.number = 0;
    fault.armed = victim == t.rank;
    run_right(MPI_COMM_WORLD, "the first");
    fault.armed = false;
}

/* ---- elements with gaps ---- */

/* A buffer of 100 MB has less than 13 KB of data, most of its memory is not touched. */
enum { GAP = 1 << 15, GAP_COUNT = 3200, MOST_MEMORY = 64 << 20 };

/* Element i is `factor` times i, plus `more`. */
static void gaps_expect(const char *what, const unsigned char *result, int count, uint32_t factor, uint32_t more)
{
    const int right = t_apart_right(result, GAP, count, more, factor);

    t_expect(right == count, "%s: element %d is wrong", what, right);
    t_expect(fault.bytes <= MOST_MEMORY, "%s: %zu bytes are taken", what, fault.bytes);
    fault.bytes = 0;
}

static void takes_little(void)
{
    const size_t bytes = (size_t) GAP_COUNT * GAP;
    const uint32_t rank = (uint32_t) t.rank, size = (uint32_t) t.size, sum = size * (size - 1) / 2;
    const int block = GAP_COUNT / t.size;
    unsigned char *own = t_alloc(bytes), *result = t_alloc(bytes);
    MPI_Datatype type;
    MPI_Op op;

    T_MPI(MPI_Op_create(t_apart_sum, 1, &op));
    T_MPI(MPI_Type_create_resized(MPI_UNSIGNED, 0, GAP, &type));
    T_MPI(MPI_Type_commit(&type));
    t_apart_fill(own, GAP, GAP_COUNT, rank);
    fault.number = 0;
    fault.armed = true;
    T_MPI(MPI_Allreduce(own, result, GAP_COUNT, type, op, t.comm));
    gaps_expect("allreduce", result, GAP_COUNT, size, sum);
    T_MPI(MPI_Scan(own, result, GAP_COUNT, type, op, t.comm));
    gaps_expect("scan", result, GAP_COUNT, rank + 1, rank * (rank + 1) / 2);
    T_MPI(MPI_Exscan(own, result, GAP_COUNT, type, op, t.comm));
    if (0 < t.rank) {
        gaps_expect("exscan", result, GAP_COUNT, rank, rank * (rank - 1) / 2);
    }
    T_MPI(MPI_Reduce_scatter_block(own, result, block, type, op, t.comm));
    gaps_expect("reduce_scatter_block", result, block, size, size * rank * (uint32_t) block + sum);
    fault.armed = false;
    T_MPI(MPI_Type_free(&type));
    T_MPI(MPI_Op_free(&op));
    t_free(own);
    t_free(result);
}

static void list_kinds(void)
{
    for (int i = 0; i < COLLECTIVES * FORMS; ++i) {
        printf("%d %s %s\n", i, collectives[i / FORMS].name, form_names[i % FORMS]);
    }
}

int main(int argc, char **argv)
{
    static const struct t_option options[]
        = { { "--only", true, &only },    { "--victim", true, &victim },   { "--fail", true, &first },
            { "--later", false, &later }, { "--init", false, &init },      { "--units", true, &size },
            { "--list", false, &list },   { "--gaps", false, &gaps },      { "--wide", false, &wide },
            { "--level", true, &level },  { "--by-rank", false, &by_rank } };
    static const struct t_behaviour behaviours[]
        = { { "where a rank gets no memory, all return and go on", each_fails, 0 } };
    static const struct t_behaviour of_wide[]
        = { { "where a rank has no memory for an element that is cut, all return and go on", each_wide_fails, 0 } };
    static const struct t_behaviour of_gaps[]
        = { { "elements with gaps: no rank takes more than 64 MB", takes_little, 0 } };
    static const struct t_behaviour of_level[]
        = { { "where a rank has no communicator for a level, nobody waits", level_fails, 0 } };
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    t_options(argc, argv, options, CHECK_COUNT(options));
    if (list || 0 > only || COLLECTIVES * FORMS <= only || 0 > level || 2 < level) {
        list_kinds();
        return list ? 0 : 1;
    }
    fault.number = first;
    fault.armed = init && NULL != rank && victim == strtol(rank, NULL, 10);
    MPI_Init(&argc, &argv);
    fault.armed = false;
    t_begin();
    if (init) {
        long reached = fault.seen >= fault.number ? -1 : 0;

        t_start(0, "where a rank gets no memory in MPI_Init, the job goes on");
        run_right(MPI_COMM_WORLD, "the first");
        reached = t_agree(reached);
        if (0 == t.rank) {
            printf("# allocation %ld %s\n", fault.number, 0 > reached ? "failed" : "was not reached");
        }
        t_end();
    } else if (wide) {
        t_run(of_wide, CHECK_COUNT(of_wide));
    } else if (0 < level) {
        t_run(of_level, CHECK_COUNT(of_level));
    } else if (gaps) {
        t_run(of_gaps, CHECK_COUNT(of_gaps));
    } else {
        t_run(behaviours, CHECK_COUNT(behaviours));
    }
    return t_finish("MPI_Finalize returns");
}
