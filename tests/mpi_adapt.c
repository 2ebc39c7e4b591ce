/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcasts, reductions and barriers: blocking, nonblocking and persistent, alone and many at once. Passes with any
 * correct MPI; sizes are ragged around --segment.
 */
#define T_LIMIT 300
#include "mpi_test.h"

#include <mpi-ext.h>
#include <pthread.h>

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define HAVE_PERSISTENT true
#else
#define HAVE_PERSISTENT false
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_BYTES 64 /* of an element in memory */
#define MIX_LIMIT 3600

static long segment = 1024;
static long quick = 0;
static long threads = 0;
static long mixes = -1;
static long strict = 0;
static long large = 0;
static long blocking = 0;
static long far = 0;
static long big = 0;

/* ---- kinds of elements: a type, an operation, and what it does ---- */

struct kind {
    const char *name;
    size_t bytes; /* packed */
    ptrdiff_t extent;
    ptrdiff_t low; /* the lowest byte of an element */
    size_t span;   /* from there to its highest */
    MPI_Datatype (*type)(void);
    MPI_Op (*op)(void);
    bool own_type; /* to be freed */
    bool own_op;
    void (*set)(unsigned char *element, uint64_t x);
    void (*fold)(const unsigned char *left, unsigned char *right); /* right = left op right */
};

static double get_double(const unsigned char *from)
{
    double value;

    memcpy(&value, from, sizeof(value));
    return value;
}

static void put_double(unsigned char *to, double value)
{
    memcpy(to, &value, sizeof(value));
}

static MPI_Datatype committed(MPI_Datatype type)
{
    T_MPI(MPI_Type_commit(&type));
    return type;
}

static void fold_all(const void *in, void *inout, int count, ptrdiff_t extent,
                     void (*fold)(const unsigned char *, unsigned char *))
{
    for (int i = 0; i < count; ++i) {
        fold((const unsigned char *) in + i * extent, (unsigned char *) inout + i * extent);
    }
}

static MPI_Op new_op(MPI_User_function *function, int commutes)
{
    MPI_Op op = MPI_OP_NULL;

    T_MPI(MPI_Op_create(function, commutes, &op));
    return op;
}

/* -- numbers -- */

static MPI_Datatype type_int(void)
{
    return MPI_INT;
}

static MPI_Datatype type_double(void)
{
    return MPI_DOUBLE;
}

static MPI_Op op_sum(void)
{
    return MPI_SUM;
}

static MPI_Op op_max(void)
{
    return MPI_MAX;
}

static void int_set(unsigned char *element, uint64_t x)
{
    t_put(element, (uint32_t) (x % 100003));
}

static void int_sum(const unsigned char *left, unsigned char *right)
{
    t_put(right, t_get(left) + t_get(right));
}

static void double_set(unsigned char *element, uint64_t x)
{
    put_double(element, (double) (x % 1000003));
}

static void double_sum(const unsigned char *left, unsigned char *right)
{
    put_double(right, get_double(left) + get_double(right));
}

static void double_max(const unsigned char *left, unsigned char *right)
{
    put_double(right, get_double(left) > get_double(right) ? get_double(left) : get_double(right));
}

/* Sums of these depend on the order of the additions. */
static void fraction_set(unsigned char *element, uint64_t x)
{
    put_double(element, (double) (x % 1000003) / (double) (1 + (x >> 40) % 997) * (0 == x % 2 ? 1 : -1e5));
}

/* -- a value and its place -- */

static MPI_Datatype type_2int(void)
{
    return MPI_2INT;
}

static MPI_Op op_minloc(void)
{
    return MPI_MINLOC;
}

static void minloc_set(unsigned char *element, uint64_t x)
{
    t_put(element, (uint32_t) (x % 5));
    t_put(element + 4, (uint32_t) (x >> 40) % 1009);
}

static void minloc_fold(const unsigned char *left, unsigned char *right)
{
    if (t_get(left) < t_get(right) || (t_get(left) == t_get(right) && t_get(left + 4) < t_get(right + 4))) {
        memcpy(right, left, 8);
    }
}

/* -- with gaps: a number that is summed, one whose maximum is wanted -- */

enum { GAPS_EXTENT = 40 };

static MPI_Datatype type_gaps(void)
{
    const int lengths[] = { 1, 1 };
    const MPI_Aint offsets[] = { 0, 16 };
    const MPI_Datatype types[] = { MPI_UNSIGNED, MPI_DOUBLE };
    MPI_Datatype narrow, type;

    T_MPI(MPI_Type_create_struct(2, lengths, offsets, types, &narrow));
    T_MPI(MPI_Type_create_resized(narrow, 0, GAPS_EXTENT, &type));
    T_MPI(MPI_Type_free(&narrow));
    return committed(type);
}

static void gaps_set(unsigned char *element, uint64_t x)
{
    t_put(element, (uint32_t) (x >> 20));
    double_set(element + 16, x);
}

static void gaps_fold(const unsigned char *left, unsigned char *right)
{
    int_sum(left, right);
    double_max(left + 16, right + 16);
}

static void gaps_function(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    fold_all(in, inout, *count, GAPS_EXTENT, gaps_fold);
}

static MPI_Op op_gaps(void)
{
    return new_op(gaps_function, 1);
}

/* -- affine maps x -> m x + c modulo a prime: their composition keeps rank order, or it is wrong -- */

enum { PRIME = 65521, LOW_EXTENT = 24, LOW_M = -8, LOW_C = 4 };

static MPI_Datatype type_affine(void)
{
    MPI_Datatype type;

    T_MPI(MPI_Type_contiguous(2, MPI_UNSIGNED, &type));
    return committed(type);
}

static void compose(const unsigned char *left, unsigned char *right, ptrdiff_t m, ptrdiff_t c)
{
    const uint64_t ml = t_get(left + m), cl = t_get(left + c), mr = t_get(right + m), cr = t_get(right + c);

    t_put(right + m, (uint32_t) (ml * mr % PRIME));
    t_put(right + c, (uint32_t) ((ml * cr + cl) % PRIME));
}

static void affine_set(unsigned char *element, uint64_t x)
{
    t_put(element, (uint32_t) (1 + x % (PRIME - 1)));
    t_put(element + 4, (uint32_t) ((x >> 32) % PRIME));
}

static void affine_fold(const unsigned char *left, unsigned char *right)
{
    compose(left, right, 0, 4);
}

static void affine_function(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    fold_all(in, inout, *count, 8, affine_fold);
}

static MPI_Op op_affine(void)
{
    return new_op(affine_function, 0);
}

/* The same with a negative lower bound. */
static MPI_Datatype type_low(void)
{
    const int lengths[] = { 1, 1 };
    const MPI_Aint offsets[] = { LOW_M, LOW_C };
    MPI_Datatype narrow, type;

    T_MPI(MPI_Type_create_hindexed(2, lengths, offsets, MPI_UNSIGNED, &narrow));
    T_MPI(MPI_Type_create_resized(narrow, -12, LOW_EXTENT, &type));
    T_MPI(MPI_Type_free(&narrow));
    return committed(type);
}

static void low_set(unsigned char *element, uint64_t x)
{
    t_put(element + LOW_M, (uint32_t) (1 + x % (PRIME - 1)));
    t_put(element + LOW_C, (uint32_t) ((x >> 32) % PRIME));
}

static void low_fold(const unsigned char *left, unsigned char *right)
{
    compose(left, right, LOW_M, LOW_C);
}

static void low_function(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    fold_all(in, inout, *count, LOW_EXTENT, low_fold);
}

static MPI_Op op_low(void)
{
    return new_op(low_function, 0);
}

/* -- matrices of 2 x 2 -- */

static MPI_Datatype type_matrix(void)
{
    MPI_Datatype type;

    T_MPI(MPI_Type_contiguous(4, MPI_UNSIGNED, &type));
    return committed(type);
}

static void matrix_set(unsigned char *element, uint64_t x)
{
    for (int i = 0; i < 4; ++i) {
        t_put(element + 4 * i, (uint32_t) (x >> 9 * i));
    }
}

static void matrix_fold(const unsigned char *left, unsigned char *right)
{
    uint32_t l[4], r[4];

    memcpy(l, left, sizeof(l));
    memcpy(r, right, sizeof(r));
    for (int i = 0; i < 4; ++i) {
        t_put(right + 4 * i, l[i / 2 * 2] * r[i % 2] + l[i / 2 * 2 + 1] * r[2 + i % 2]);
    }
}

static void matrix_function(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    fold_all(in, inout, *count, 16, matrix_fold);
}

static MPI_Op op_matrix(void)
{
    return new_op(matrix_function, 0);
}

static const struct kind kinds[] = {
    { "int, sum", 4, 4, 0, 4, type_int, op_sum, false, false, int_set, int_sum },
    { "double, sum", 8, 8, 0, 8, type_double, op_sum, false, false, double_set, double_sum },
    { "double, max", 8, 8, 0, 8, type_double, op_max, false, false, double_set, double_max },
    { "2int, minloc", 8, 8, 0, 8, type_2int, op_minloc, false, false, minloc_set, minloc_fold },
    { "gaps, own op", 12, GAPS_EXTENT, 0, 24, type_gaps, op_gaps, true, true, gaps_set, gaps_fold },
    { "affine, in order", 8, 8, 0, 8, type_affine, op_affine, true, true, affine_set, affine_fold },
    { "negative lower bound, in order", 8, LOW_EXTENT, LOW_M, 16, type_low, op_low, true, true, low_set, low_fold },
    { "matrix, in order", 16, 16, 0, 16, type_matrix, op_matrix, true, true, matrix_set, matrix_fold },
};

static const struct kind fractions
    = { "fractions, sum", 8, 8, 0, 8, type_double, op_sum, false, false, fraction_set, double_sum };

/* ---- a call ---- */

enum collective { BCAST, REDUCE, ALLREDUCE, BARRIER, COLLECTIVES };
enum way { BLOCKING, NONBLOCKING, PERSISTENT, WAYS };

static const char *const collectives[COLLECTIVES] = { "bcast", "reduce", "allreduce", "barrier" };
static const char *const ways[WAYS] = { "blocking", "nonblocking", "persistent" };

struct call {
    enum collective collective;
    enum way way;
    const struct kind *kind;
    int count;
    int root;
    bool in_place;
    MPI_Comm comm;
    int rank; /* in it */
    int size;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request;
    size_t bytes;         /* of a buffer */
    unsigned char *input; /* NULL: there is none, or it is in place */
    unsigned char *output;
    unsigned char *input_image; /* what they must hold in the end */
    unsigned char *output_image;
};

static bool has_input(const struct call *c)
{
    return (REDUCE == c->collective && !(c->in_place && c->root == c->rank))
           || (ALLREDUCE == c->collective && !c->in_place);
}

static bool has_output(const struct call *c)
{
    return BCAST == c->collective || ALLREDUCE == c->collective || (REDUCE == c->collective && c->root == c->rank);
}

static void *pointer(const struct call *c, unsigned char *buffer)
{
    return NULL == buffer ? NULL : buffer - c->kind->low;
}

static void *input_pointer(const struct call *c)
{
    return NULL == c->input ? MPI_IN_PLACE : pointer(c, c->input);
}

/* Types and operations are there for the call only. */
static void call_open(struct call *c)
{
    MPI_Comm_rank(c->comm, &c->rank);
    MPI_Comm_size(c->comm, &c->size);
    c->request = MPI_REQUEST_NULL;
    c->type = c->kind->type();
    c->op = c->kind->op();
    c->bytes = 0 == c->count ? 0 : (size_t) (c->count - 1) * (size_t) c->kind->extent + c->kind->span;
    c->input = has_input(c) ? t_alloc(c->bytes) : NULL;
    c->output = has_output(c) ? t_alloc(c->bytes) : NULL;
    c->input_image = malloc(c->bytes + 1);
    c->output_image = malloc(c->bytes + 1);
}

static void call_free_types(struct call *c)
{
    if (c->kind->own_type && MPI_DATATYPE_NULL != c->type) {
        T_MPI(MPI_Type_free(&c->type));
    }
    if (c->kind->own_op && MPI_OP_NULL != c->op) {
        T_MPI(MPI_Op_free(&c->op));
    }
}

static void call_close(struct call *c)
{
    if (MPI_REQUEST_NULL != c->request) {
        T_MPI(MPI_Request_free(&c->request));
    }
    call_free_types(c);
    t_free(c->input);
    t_free(c->output);
    free(c->input_image);
    free(c->output_image);
}

static uint64_t mixed(uint64_t key, int rank, int i)
{
    uint64_t x = key * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t) rank * UINT64_C(0xd1b54a32d192ed03)
                 + (uint64_t) i * UINT64_C(0x8cb92ba72f3d8dd7);

    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 29;
}

/* What all ranks have, combined in rank order; of a broadcast, what the root has. */
static void result_put(const struct call *c, unsigned char *element, uint64_t key, int i)
{
    unsigned char left[MOST_BYTES];

    if (BCAST == c->collective) {
        c->kind->set(element, mixed(key, c->root, i));
        return;
    }
    c->kind->set(element, mixed(key, c->size - 1, i));
    for (int rank = c->size - 2; rank >= 0; --rank) {
        c->kind->set(left - c->kind->low, mixed(key, rank, i));
        c->kind->fold(left - c->kind->low, element);
    }
}

/* Buffers before the call, and their images after it; gaps keep what they hold. */
static void call_fill(struct call *c, uint64_t key)
{
    const bool gives_output = BCAST == c->collective ? c->root == c->rank : !has_input(c);

    memset(c->input_image, 0xa5, c->bytes);
    memset(c->output_image, 0x5a ^ c->rank, c->bytes);
    for (int i = 0; i < c->count; ++i) {
        c->kind->set((unsigned char *) pointer(c, c->input_image) + i * c->kind->extent, mixed(key, c->rank, i));
    }
    if (NULL != c->input) {
        memcpy(c->input, c->input_image, c->bytes);
    }
    if (NULL != c->output) {
        memcpy(c->output, c->output_image, c->bytes);
        for (int i = 0; i < c->count; ++i) {
            if (gives_output) {
                c->kind->set((unsigned char *) pointer(c, c->output) + i * c->kind->extent, mixed(key, c->rank, i));
            }
            result_put(c, (unsigned char *) pointer(c, c->output_image) + i * c->kind->extent, key, i);
        }
    }
}

static void expect_image(const struct call *c, const char *which, const unsigned char *memory,
                         const unsigned char *image)
{
    size_t i = 0;

    if (NULL == memory) {
        return;
    }
    if (0 != memcmp(memory, image, c->bytes)) {
        while (memory[i] == image[i]) {
            ++i;
        }
        t_expect(false, "%s, %s, %s, %d elements, root %d of %d%s: byte %zu of the %s is %#x, not %#x",
                 collectives[c->collective], ways[c->way], c->kind->name, c->count, c->root, c->size,
                 c->in_place ? ", in place" : "", i, which, memory[i], image[i]);
    }
    t_expect(t_guarded(memory), "%s, %s, %s, %d elements: bytes before or past the %s were written",
             collectives[c->collective], ways[c->way], c->kind->name, c->count, which);
}

static void call_check(const struct call *c)
{
    expect_image(c, "input", c->input, c->input_image);
    expect_image(c, "output", c->output, c->output_image);
}

static int call_blocking(struct call *c)
{
    switch (c->collective) {
    case BCAST:
        return MPI_Bcast(pointer(c, c->output), c->count, c->type, c->root, c->comm);
    case REDUCE:
        return MPI_Reduce(input_pointer(c), pointer(c, c->output), c->count, c->type, c->op, c->root, c->comm);
    case ALLREDUCE:
        return MPI_Allreduce(input_pointer(c), pointer(c, c->output), c->count, c->type, c->op, c->comm);
    default:
        return MPI_Barrier(c->comm);
    }
}

static int call_nonblocking(struct call *c)
{
    switch (c->collective) {
    case BCAST:
        return MPI_Ibcast(pointer(c, c->output), c->count, c->type, c->root, c->comm, &c->request);
    case REDUCE:
        return MPI_Ireduce(input_pointer(c), pointer(c, c->output), c->count, c->type, c->op, c->root, c->comm,
                           &c->request);
    case ALLREDUCE:
        return MPI_Iallreduce(input_pointer(c), pointer(c, c->output), c->count, c->type, c->op, c->comm, &c->request);
    default:
        return MPI_Ibarrier(c->comm, &c->request);
    }
}

/* Makes the request; it is not started. */
static int call_init(struct call *c)
{
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
    switch (c->collective) {
    case BCAST:
        return MPIX_Bcast_init(pointer(c, c->output), c->count, c->type, c->root, c->comm, MPI_INFO_NULL, &c->request);
    case REDUCE:
        return MPIX_Reduce_init(input_pointer(c), pointer(c, c->output), c->count, c->type, c->op, c->root, c->comm,
                                MPI_INFO_NULL, &c->request);
    case ALLREDUCE:
        return MPIX_Allreduce_init(input_pointer(c), pointer(c, c->output), c->count, c->type, c->op, c->comm,
                                   MPI_INFO_NULL, &c->request);
    default:
        return MPIX_Barrier_init(c->comm, MPI_INFO_NULL, &c->request);
    }
#else
    (void) c;
    return MPI_ERR_REQUEST;
#endif
}

/*
 * Posts a nonblocking call, or makes a persistent one; types and operations are freed at once. Open MPI's own
 * components need those of persistent requests as long as the request: --strict is for others.
 */
static void call_post(struct call *c)
{
    T_MPI((NONBLOCKING == c->way ? call_nonblocking : call_init)(c));
    if (NONBLOCKING == c->way || strict) {
        call_free_types(c);
    }
}

static void call_wait(struct call *c)
{
    T_MPI(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
}

static uint64_t new_key(void)
{
    static uint64_t calls = 0;

    return (uint64_t) t.seed * 1000003 + calls++;
}

/* The whole life of a call; a persistent one is started three times. */
static void call_run(struct call *c)
{
    call_open(c);
    if (PERSISTENT == c->way) {
        call_post(c);
    }
    for (int i = 0; i < (PERSISTENT == c->way ? 3 : 1); ++i) {
        call_fill(c, new_key());
        if (BLOCKING == c->way) {
            T_MPI(call_blocking(c));
        } else {
            if (NONBLOCKING == c->way) {
                call_post(c);
            } else {
                T_MPI(MPI_Start(&c->request));
            }
            call_wait(c);
        }
        call_check(c);
    }
    call_close(c);
}

/* ---- all kinds, sizes and roots ---- */

/* All roots, or where time is short the first two, the middle and the last. */
static bool root_wanted(int root)
{
    return !quick || root < 2 || root == t.size / 2 || root == t.size - 1;
}

static void with_roots(struct call *c)
{
    const int roots = ALLREDUCE == c->collective ? 1 : t.size;

    for (c->root = 0; c->root < roots; ++c->root) {
        if (root_wanted(c->root)) {
            c->in_place = false;
            call_run(c);
            if (BCAST != c->collective) {
                c->in_place = true;
                call_run(c);
            }
        }
    }
}

static void with_kinds(enum collective collective, enum way way)
{
    struct call c = { .collective = collective, .way = way, .comm = MPI_COMM_WORLD };

    for (size_t k = 0; k < COUNT(kinds); ++k) {
        const int n = (int) ((size_t) segment / kinds[k].bytes);
        const int counts[] = { 0, 1, n - 1, n, n + 1, 9 * n + 1 };

        c.kind = &kinds[k];
        for (size_t i = 0; i < COUNT(counts); ++i) {
            c.count = counts[i];
            with_roots(&c);
        }
    }
}

/* Nobody leaves before all have come: what the last one has sent before, and knows to be received, is there. */
static void barrier_waits(enum way way, int late)
{
    struct call c = { .collective = BARRIER, .way = way, .kind = &kinds[0], .comm = MPI_COMM_WORLD };
    MPI_Request request = MPI_REQUEST_NULL;
    int word = late;
    int there = 1;

    if (t.rank != late) {
        T_MPI(MPI_Irecv(&word, 1, MPI_INT, late, 5, t.comm, &request));
    } else {
        usleep(2000);
    }
    for (int rank = 0; rank < t.size && t.rank == late; ++rank) {
        if (rank != late) {
            T_MPI(MPI_Ssend(&word, 1, MPI_INT, rank, 5, t.comm));
        }
    }
    call_run(&c);
    T_MPI(MPI_Test(&request, &there, MPI_STATUS_IGNORE));
    t_expect(there, "the barrier was left before rank %d came", late);
    T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void one_way(enum collective collective, enum way way)
{
    if (PERSISTENT == way && !HAVE_PERSISTENT) {
        t_skip("this MPI has no persistent collectives");
        return;
    }
    if (BARRIER != collective) {
        with_kinds(collective, way);
        return;
    }
    for (int round = 0; round < (quick ? 1 : 5); ++round) {
        for (int late = 0; late < t.size; ++late) {
            barrier_waits(way, late);
        }
    }
}

/* ---- bits ---- */

/* Microseconds, different on each rank. */
static void doze(uint64_t *state, size_t most)
{
    usleep((useconds_t) t_random(state, most));
}

static uint64_t hash(const unsigned char *memory, size_t bytes)
{
    uint64_t sum = 5381;

    for (size_t i = 0; i < bytes; ++i) {
        sum = sum * 33 + memory[i];
    }
    return sum >> 2;
}

static void run_dozing(struct call *c, uint64_t *state)
{
    doze(state, 3000);
    if (BLOCKING == c->way) {
        T_MPI(call_blocking(c));
        return;
    }
    if (NONBLOCKING == c->way) {
        call_post(c);
    } else {
        T_MPI(MPI_Start(&c->request));
    }
    doze(state, 1000);
    call_wait(c);
}

static void same_bits(enum collective collective, enum way way, int count)
{
    struct call c = { .collective = collective,
                      .way = way,
                      .kind = &fractions,
                      .count = count,
                      .root = t.size / 2,
                      .comm = MPI_COMM_WORLD };
    uint64_t state = (uint64_t) t.seed + 7919 * (uint64_t) t.rank;
    unsigned char *first;

    call_open(&c);
    first = malloc(c.bytes + 1);
    if (PERSISTENT == way) {
        call_post(&c);
    }
    for (int i = 0; i < 5; ++i) {
        call_fill(&c, 4711);
        run_dozing(&c, &state);
        if (NULL != c.output && 0 == i) {
            memcpy(first, c.output, c.bytes);
        }
        t_expect(NULL == c.output || 0 == memcmp(first, c.output, c.bytes),
                 "%s, %s, %d elements: run %d differs from the first", collectives[collective], ways[way], count, i);
    }
    if (ALLREDUCE == collective) {
        t_expect((long) hash(first, c.bytes) == t_agree((long) hash(first, c.bytes)),
                 "%s, %s, %d elements: the ranks' results differ", collectives[collective], ways[way], count);
    }
    free(first);
    call_close(&c);
}

static void same_bits_in_every_run(void)
{
    for (int way = 0; way < (blocking ? NONBLOCKING : HAVE_PERSISTENT ? WAYS : PERSISTENT); ++way) {
        for (int count = 1; count <= 10 * (int) segment / 8; count = 3 * count + 1) {
            same_bits(REDUCE, (enum way) way, count);
            same_bits(ALLREDUCE, (enum way) way, count);
        }
    }
}

/* ---- many at once ---- */

enum { MOST_OUTSTANDING = 8, MIX_COMMS = 4 };

/* A sequence of mixes: what is called is the same on all ranks, its order of starting and waiting is not. */
struct mixer {
    uint64_t shared;
    uint64_t own;
    bool frees_comms;
    MPI_Comm comms[MIX_COMMS];
    struct call calls[MOST_OUTSTANDING];
    int count;
};

static void mixer_open(struct mixer *mixer, int number)
{
    mixer->shared = (uint64_t) t.seed * 31 + (uint64_t) number;
    mixer->own = mixer->shared * 1009 + (uint64_t) t.rank;
    mixer->frees_comms = false;
    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &mixer->comms[0]));
    T_MPI(MPI_Comm_dup(mixer->comms[0], &mixer->comms[1]));
    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, t.rank % 2, t.rank, &mixer->comms[2]));
    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, 0, -t.rank, &mixer->comms[3]));
}

static void mixer_close(struct mixer *mixer)
{
    for (int i = 0; i < MIX_COMMS; ++i) {
        T_MPI(MPI_Comm_free(&mixer->comms[i]));
    }
}

static size_t pick(struct mixer *mixer, size_t limit)
{
    return t_random(&mixer->shared, limit);
}

/* The smallest communicator has fewer ranks than the world: roots are below that. */
static struct call pick_call(struct mixer *mixer)
{
    struct call c = { .collective = (enum collective) pick(mixer, COLLECTIVES),
                      .way = HAVE_PERSISTENT && 0 == pick(mixer, 3) ? PERSISTENT : NONBLOCKING,
                      .kind = &kinds[pick(mixer, COUNT(kinds))],
                      .comm = mixer->comms[pick(mixer, MIX_COMMS)],
                      .root = (int) pick(mixer, (size_t) (1 < t.size ? t.size / 2 : 1)) };

    c.count = BARRIER == c.collective ? 0 : (int) pick(mixer, 3 * (size_t) segment / c.kind->bytes);
    c.in_place = BARRIER != c.collective && BCAST != c.collective && 0 == pick(mixer, 3);
    return c;
}

/* Completes none, one or some. */
static void wait_for_some(struct mixer *mixer, MPI_Request *requests)
{
    const int count = mixer->count;
    int indices[MOST_OUTSTANDING], done;

    switch (t_random(&mixer->own, 5)) {
    case 0:
        T_MPI(MPI_Waitany(count, requests, indices, MPI_STATUS_IGNORE));
        break;
    case 1:
        T_MPI(MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE));
        break;
    case 2:
        T_MPI(MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE));
        break;
    case 3:
        T_MPI(MPI_Testany(count, requests, indices, &done, MPI_STATUS_IGNORE));
        break;
    default:
        T_MPI(MPI_Wait(&requests[t_random(&mixer->own, (size_t) count)], MPI_STATUS_IGNORE));
    }
}

/* Completes all, in an order of this rank; the requests are kept where they are persistent. */
static void mixer_wait(struct mixer *mixer)
{
    MPI_Request requests[MOST_OUTSTANDING];

    for (int i = 0; i < mixer->count; ++i) {
        requests[i] = mixer->calls[i].request;
    }
    for (int i = 0; i < mixer->count; ++i) {
        wait_for_some(mixer, requests);
        if (0 == t_random(&mixer->own, 16)) {
            doze(&mixer->own, 200);
        }
    }
    T_MPI(MPI_Waitall(mixer->count, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < mixer->count; ++i) {
        mixer->calls[i].request = requests[i];
    }
}

static void mixer_check(struct mixer *mixer, bool persistent_only)
{
    for (int i = 0; i < mixer->count; ++i) {
        if (!persistent_only || PERSISTENT == mixer->calls[i].way) {
            call_check(&mixer->calls[i]);
        }
    }
}

/* Persistent ones start in an order of this rank. */
static void mixer_start(struct mixer *mixer)
{
    const size_t first = t_random(&mixer->own, (size_t) mixer->count);
    const bool downwards = 0 == t_random(&mixer->own, 2);

    for (size_t i = 0; i < (size_t) mixer->count; ++i) {
        const size_t place = (first + (downwards ? (size_t) mixer->count - i : i)) % (size_t) mixer->count;

        if (PERSISTENT == mixer->calls[place].way) {
            T_MPI(MPI_Start(&mixer->calls[place].request));
        }
    }
}

/* A communicator that is freed while a call on it is under way. */
static void mixer_post(struct mixer *mixer, struct call *c)
{
    MPI_Comm comm = MPI_COMM_NULL;
    const bool frees = mixer->frees_comms && NONBLOCKING == c->way && 0 == pick(mixer, 16);

    if (frees) {
        T_MPI(MPI_Comm_dup(c->comm, &comm));
        c->comm = comm;
    }
    call_open(c);
    call_fill(c, mixer->shared >> 20);
    call_post(c);
    if (frees) {
        T_MPI(MPI_Comm_free(&comm));
    }
}

static void mix(struct mixer *mixer)
{
    const size_t again = pick(mixer, 2);

    mixer->count = 1 + (int) pick(mixer, MOST_OUTSTANDING);
    for (int i = 0; i < mixer->count; ++i) {
        mixer->calls[i] = pick_call(mixer);
        mixer_post(mixer, &mixer->calls[i]);
    }
    mixer_start(mixer);
    mixer_wait(mixer);
    mixer_check(mixer, false);
    if (0 != again) {
        for (int i = 0; i < mixer->count; ++i) {
            if (PERSISTENT == mixer->calls[i].way) {
                call_fill(&mixer->calls[i], (mixer->shared >> 20) + 1);
            }
        }
        mixer_start(mixer);
        mixer_wait(mixer);
        mixer_check(mixer, true);
    }
    for (int i = 0; i < mixer->count; ++i) {
        call_close(&mixer->calls[i]);
    }
}

static void many_mixes(bool frees_comms, int number)
{
    static struct mixer mixer;

    mixer_open(&mixer, number);
    mixer.frees_comms = frees_comms;
    for (long i = 0; i < mixes && !t.verdict.failed; ++i) {
        mix(&mixer);
    }
    mixer_close(&mixer);
}

static void many_at_once(void)
{
    many_mixes(false, 0);
}

static void communicators_freed_early(void)
{
    if (!strict) {
        t_skip("wants --strict: the standard allows it, but Open MPI's own components may crash");
        return;
    }
    many_mixes(true, 1);
}

/* ---- threads ---- */

enum { THREADS = 3 };

static void *mix_in_thread(void *argument)
{
    struct mixer *mixer = argument;

    for (long i = 0; i < mixes / THREADS; ++i) {
        mix(mixer);
    }
    return NULL;
}

static void many_at_once_in_threads(void)
{
    static struct mixer mixers[THREADS];
    pthread_t running[THREADS];
    int provided;

    MPI_Query_thread(&provided);
    if (!threads || MPI_THREAD_MULTIPLE != provided) {
        t_skip(threads ? "this MPI has no MPI_THREAD_MULTIPLE" : "wants --threads");
        return;
    }
    for (int i = 0; i < THREADS; ++i) {
        mixer_open(&mixers[i], 10 + i);
    }
    for (int i = 0; i < THREADS; ++i) {
        t_expect(0 == pthread_create(&running[i], NULL, mix_in_thread, &mixers[i]), "there is no thread");
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(running[i], NULL);
        mixer_close(&mixers[i]);
    }
}

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

/* ---- past 2 GiB ---- */

enum { FAR = 1 << 20, FAR_COUNT = 2300 };

static void far_function(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    fold_all(in, inout, *count, FAR, int_sum);
}

static void far_fill(unsigned char *buffer, uint32_t value)
{
    for (size_t i = 0; i < FAR_COUNT; ++i) {
        t_put(buffer + i * FAR, value + (uint32_t) i);
    }
}

/* The first is summed up: of all ranks, or of one. */
static void far_expect(const char *what, const unsigned char *buffer, uint32_t value, uint32_t factor)
{
    size_t i = 0;

    while (i < FAR_COUNT && value + factor * (uint32_t) i == t_get(buffer + i * FAR)) {
        ++i;
    }
    t_expect(i == FAR_COUNT, "%s: element %zu is wrong", what, i);
    t_expect(t_guarded(buffer), "%s: written outside of the buffer", what);
}

/* A few bytes each, so far apart that the last one is more than 2 GiB behind the first; most memory is not touched. */
static void elements_far_apart(void)
{
    const size_t bytes = (size_t) (FAR_COUNT - 1) * FAR + sizeof(uint32_t);
    const uint32_t size = (uint32_t) t.size, sum = 1000 * size * (size - 1) / 2;
    unsigned char *own = t_alloc(bytes), *result = t_alloc(bytes);
    MPI_Op op = new_op(far_function, 1);
    MPI_Datatype type;

    T_MPI(MPI_Type_create_resized(MPI_UNSIGNED, 0, FAR, &type));
    type = committed(type);
    far_fill(own, 1000 * (uint32_t) t.rank);
    for (int root = 0; root < t.size; ++root) {
        far_fill(result, 7);
        T_MPI(MPI_Reduce(own, result, FAR_COUNT, type, op, root, MPI_COMM_WORLD));
        far_expect("reduce", result, root == t.rank ? sum : 7, root == t.rank ? size : 1);
        far_fill(result, 1000 * (uint32_t) t.rank);
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

/* In place, for there is not memory for more. */
static void more_than_2_gib(void)
{
    const int count = 300 << 20; /* doubles: 2.3 GiB */
    double *data = t_alloc_huge((size_t) count * sizeof(double));
    long wrong = 0;

    for (int i = 0; i < count; ++i) {
        data[i] = t.rank + i % 1000;
    }
    T_MPI(MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (int i = 0; i < count; ++i) {
        wrong += data[i] != t.size * (t.size - 1) / 2 + t.size * (i % 1000);
    }
    t_expect(0 == wrong, "allreduce: %ld of %d elements are wrong", wrong, count);
    T_MPI(MPI_Reduce(0 == t.rank ? MPI_IN_PLACE : data, data, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD));
    t_free(data);
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    static const struct t_option options[]
        = { { "--segment", true, &segment }, { "--quick", false, &quick },   { "--threads", false, &threads },
            { "--mixes", true, &mixes },     { "--strict", false, &strict }, { "--large", true, &large },
            { "--far", false, &far },        { "--big", false, &big },       { "--blocking", false, &blocking } };
    static const struct t_behaviour long_ones[] = { { "reduces of long messages", long_reduces, 0 } };
    static const struct t_behaviour far_ones[]
        = { { "elements far apart, the last more than 2 GiB behind the first", elements_far_apart, 0 } };
    static const struct t_behaviour big_ones[] = { { "reductions of more than 2 GiB", more_than_2_gib, 0 } };
    static const struct t_behaviour behaviours[] = {
        { "sums of fractions have the same bits in every run and on every rank", same_bits_in_every_run, 0 },
        { "many at once, any order of starting and waiting", many_at_once, MIX_LIMIT },
        { "many at once, communicators freed early", communicators_freed_early, MIX_LIMIT },
        { "many at once, in several threads", many_at_once_in_threads, MIX_LIMIT },
    };
    int provided;

    t_options(argc, argv, options, COUNT(options));
    if (segment < 64 || segment > 1 << 24) {
        fprintf(stderr, "%s: a segment has 64 bytes to 16 MiB\n", argv[0]);
        return 1;
    }
    mixes = 0 <= mixes ? mixes : quick ? 300 : 10000;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    t_begin();
    while (t_next_setting()) {
        if (0 < large || far || big) {
            t_run(0 < large ? long_ones : far ? far_ones : big_ones, 1);
            continue;
        }
        for (int i = 0; i < COLLECTIVES * WAYS; i += blocking ? WAYS : 1) {
            t_start(0, "%s, %s: all kinds, sizes and roots", collectives[i / WAYS], ways[i % WAYS]);
            one_way((enum collective)(i / WAYS), (enum way)(i % WAYS));
            t_end();
        }
        t_run(behaviours, blocking ? 1 : COUNT(behaviours));
    }
    return t_finish("MPI_Finalize returns");
}
