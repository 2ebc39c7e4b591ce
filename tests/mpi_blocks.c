/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives in which every rank has a block: gathers, scatters, all-to-alls and the reduce-scatters, blocking and
 * nonblocking. Passes with any correct MPI; sizes are ragged around --segment.
 */
#define T_LIMIT 300
#include "mpi_test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORD ((ptrdiff_t) sizeof(uint32_t))
#define MOST_WORDS 2 /* of an element that is reduced */

static long segment = 1024;
static long quick = 0;

/* ---- kinds of elements: all are made of ints, so that any two have the same signature ---- */

struct kind {
    size_t words;
    ptrdiff_t first;  /* where the first word is */
    ptrdiff_t stride; /* from each word to the next */
    ptrdiff_t low;    /* the lower bound */
    ptrdiff_t extent;
};

enum kind_name { INTS, PAIRS, GAPS, BELOW, WHOLE, BY_RANK };

/* A whole block is contiguous and has as many words as all blocks allow. */
static const struct kind kinds[] = {
    [INTS] = { 1, 0, 4, 0, 4 },       [PAIRS] = { 2, 0, 4, 0, 8 }, [GAPS] = { 2, 0, 12, 0, 24 },
    [BELOW] = { 2, 8, -20, -16, 36 }, [WHOLE] = { 0, 0, 4, 0, 0 },
};

static struct kind kind_find(enum kind_name name, int rank, size_t most_words)
{
    struct kind kind = kinds[BY_RANK == name ? (size_t) rank % COUNT(kinds) : (size_t) name];

    if (0 == kind.words) {
        kind.words = 0 < most_words ? most_words : 1;
        kind.extent = (ptrdiff_t) kind.words * WORD;
    }
    return kind;
}

static MPI_Datatype kind_type(const struct kind *kind)
{
    MPI_Datatype narrow = MPI_DATATYPE_NULL, type = MPI_DATATYPE_NULL;
    MPI_Aint places[MOST_WORDS];

    if (1 == kind->words) {
        return MPI_INT;
    }
    if (WORD == kind->stride) {
        T_MPI(MPI_Type_contiguous((int) kind->words, MPI_INT, &type));
    } else {
        for (size_t w = 0; w < kind->words; ++w) {
            places[w] = kind->first + (ptrdiff_t) w * kind->stride;
        }
        T_MPI(MPI_Type_create_hindexed_block((int) kind->words, 1, places, MPI_INT, &narrow));
        T_MPI(MPI_Type_create_resized(narrow, kind->low, kind->extent, &type));
        T_MPI(MPI_Type_free(&narrow));
    }
    T_MPI(MPI_Type_commit(&type));
    return type;
}

/* Word number i of elements one behind the other. */
static unsigned char *kind_word(const struct kind *kind, unsigned char *elements, size_t i)
{
    return elements + (ptrdiff_t) (i / kind->words) * kind->extent + kind->first
           + (ptrdiff_t) (i % kind->words) * kind->stride;
}

/* ---- operations: right = left op right ---- */

typedef void (*fold_t)(const uint32_t *left, uint32_t *right);

static void sum(const uint32_t *left, uint32_t *right)
{
    right[0] += left[0];
}

static void sum_and_most(const uint32_t *left, uint32_t *right)
{
    right[0] += left[0];
    right[1] = left[1] > right[1] ? left[1] : right[1];
}

/* Maps x -> a x + b modulo 2^32, one after the other: these do not commute. An even a would lose what is before it. */
static void compose(const uint32_t *left, uint32_t *right)
{
    right[1] = (left[0] | 1) * right[1] + left[1];
    right[0] = (left[0] | 1) * (right[0] | 1);
}

static void fold_all(void *in, void *inout, int count, const struct kind *kind, fold_t fold)
{
    for (size_t i = 0; i < (size_t) count * kind->words; i += kind->words) {
        uint32_t left[MOST_WORDS], right[MOST_WORDS];

        for (size_t w = 0; w < kind->words; ++w) {
            left[w] = t_get(kind_word(kind, in, i + w));
            right[w] = t_get(kind_word(kind, inout, i + w));
        }
        fold(left, right);
        for (size_t w = 0; w < kind->words; ++w) {
            t_put(kind_word(kind, inout, i + w), right[w]);
        }
    }
}

static void fold_gaps(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    fold_all(in, inout, *count, &kinds[GAPS], sum_and_most);
}

static void fold_pairs(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    fold_all(in, inout, *count, &kinds[PAIRS], compose);
}

static void fold_below(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void) type;
    fold_all(in, inout, *count, &kinds[BELOW], compose);
}

/* ---- what is sent: kinds on both sides, and an operation where there is one ---- */

enum { INPUT, OUTPUT, SIDES, NEITHER = SIDES };

static const char *const side_names[SIDES] = { "input", "output" };

struct variant {
    const char *name;
    enum kind_name kinds[SIDES];
    fold_t fold;
    MPI_User_function *function; /* NULL: MPI_SUM */
    bool commutes;
};

static const struct variant variants[] = {
    { "ints", { INTS, INTS }, NULL, NULL, false },
    { "gaps", { GAPS, GAPS }, NULL, NULL, false },
    { "a negative lower bound", { BELOW, BELOW }, NULL, NULL, false },
    { "one element to ints", { WHOLE, INTS }, NULL, NULL, false },
    { "ints to gaps", { INTS, GAPS }, NULL, NULL, false },
    { "a negative lower bound to one element", { BELOW, WHOLE }, NULL, NULL, false },
    { "kinds by rank", { BY_RANK, BY_RANK }, NULL, NULL, false },
    { "int, sum", { INTS, INTS }, sum, NULL, true },
    { "gaps, own op", { GAPS, GAPS }, sum_and_most, fold_gaps, true },
    { "affine, in order", { PAIRS, PAIRS }, compose, fold_pairs, false },
    { "a negative lower bound, in order", { BELOW, BELOW }, compose, fold_below, false },
};

/* Words of which all blocks have a multiple. */
static size_t variant_unit(const struct variant *variant)
{
    return INTS == variant->kinds[INPUT] && INTS == variant->kinds[OUTPUT] ? 1 : MOST_WORDS;
}

/* ---- a call ---- */

/* Where the blocks are: of one size behind each other, of any size behind each other, of any size anywhere. */
enum spread { EVEN, UNEVEN, SCATTERED };

/* What MPI gets of a side. */
struct argument {
    void *buffer;
    int count;
    const int *counts;
    const int *places;
    MPI_Datatype type;
};

struct call;

struct collective {
    const char *name;
    bool many[SIDES]; /* a block for each rank, or only one */
    int rooted;       /* the side that only the root has */
    enum spread spread;
    bool reduces;
    int (*start)(struct call *c, const struct argument *in, const struct argument *out);
};

struct side {
    struct kind kind;
    MPI_Datatype type;
    int blocks;
    int *counts;   /* [blocks] elements */
    int *places;   /* [blocks] extents */
    ptrdiff_t low; /* the lowest byte of the data, from the pointer that MPI gets */
    size_t span;   /* from there to the highest */
    unsigned char *memory;
    unsigned char *image; /* what it must hold in the end */
    struct argument argument;
};

struct call {
    const struct collective *collective;
    const struct variant *variant;
    size_t units; /* of a block; an uneven one has more or less */
    int root;     /* 0 where there is none */
    bool nonblocking;
    bool in_place;
    uint64_t key;
    MPI_Comm comm;
    int rank; /* in it */
    int size;
    struct side sides[SIDES];
    MPI_Op op;
    MPI_Request request;
};

/* The block from a rank for a rank. */
struct route {
    int from;
    int to;
};

/* The route of a block. */
static struct route route_of(const struct call *c, int side, int block)
{
    const bool *many = c->collective->many;

    if (INPUT == side) {
        return (struct route){ c->rank, many[INPUT] ? block : c->root };
    }
    return (struct route){ many[OUTPUT] ? block : c->root, many[INPUT] ? c->rank : c->root };
}

/* In place, what is exchanged by two ranks must be as long in both directions. All know the length of a result. */
static size_t route_words(const struct call *c, struct route route)
{
    static const size_t quarters[] = { 4, 0, 1, 7, 3 };
    const int which = (c->collective->reduces ? 0 : route.from) + (c->in_place ? 1 : 2) * route.to;
    const size_t part = EVEN == c->collective->spread ? 4 : quarters[(size_t) which % COUNT(quarters)];

    return c->units * part / 4 * variant_unit(c->variant);
}

static uint64_t mixed(uint64_t key, int from, int to, size_t i)
{
    uint64_t x = key * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t) from * UINT64_C(0xd1b54a32d192ed03)
                 + (uint64_t) to * UINT64_C(0xaef17502108ef2d9) + i * UINT64_C(0x8cb92ba72f3d8dd7);

    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 29;
}

/* Sums of these are ints on up to 2147 ranks. */
static uint32_t route_value(const struct call *c, struct route route, size_t i)
{
    return (uint32_t) (mixed(c->key, route.from, route.to, i) % 1000003);
}

/* What ranks have for this one, combined in rank order. */
static void reduced_values(const struct call *c, size_t i, size_t words, uint32_t *values)
{
    for (int from = c->size - 1; from >= 0; --from) {
        uint32_t own[MOST_WORDS];

        for (size_t w = 0; w < words; ++w) {
            own[w] = route_value(c, (struct route){ from, c->rank }, i + w);
        }
        if (c->size - 1 == from) {
            memcpy(values, own, sizeof(own));
        } else {
            c->variant->fold(own, values);
        }
    }
}

/* ---- its buffers ---- */

/* Of a reduction in place the output has the blocks of the input. */
static int layout_of(const struct call *c, int side)
{
    return c->collective->reduces && c->in_place ? INPUT : side;
}

static size_t common_divisor(size_t a, size_t b)
{
    return 0 == b ? a : common_divisor(b, a % b);
}

/* Blocks that are scattered have holes between them, and may be in descending order, below the pointer. */
static void side_place(struct call *c, int s)
{
    struct side *side = &c->sides[s];
    const bool scattered = SCATTERED == c->collective->spread && c->collective->many[s];
    const bool downwards = scattered && 0 == mixed(c->key, c->rank, s, 0) % 2;
    int next = 0;

    for (int b = 0; b < side->blocks; ++b) {
        const int hole = scattered ? 1 + b % 3 : 0;

        side->places[b] = downwards ? -next - side->counts[b] : next;
        next += side->counts[b] + hole;
    }
}

static void side_measure(struct side *side)
{
    const struct kind *kind = &side->kind;
    const ptrdiff_t across = (ptrdiff_t) (kind->words - 1) * kind->stride;
    ptrdiff_t high = 0;
    bool first = true;

    side->low = 0;
    for (int b = 0; b < side->blocks; ++b) {
        const ptrdiff_t begin = side->places[b] * kind->extent + kind->first + (0 < across ? 0 : across);
        const ptrdiff_t end = begin + (side->counts[b] - 1) * kind->extent + WORD + (0 < across ? across : -across);

        if (0 < side->counts[b]) {
            side->low = first || begin < side->low ? begin : side->low;
            high = first || end > high ? end : high;
            first = false;
        }
    }
    side->span = (size_t) (high - side->low);
}

static void *side_pointer(const struct side *side)
{
    return side->memory - side->low;
}

/* Word number i of a block, or past it, in the memory or the image of a side. */
static unsigned char *side_word(const struct side *side, unsigned char *bytes, int block, size_t i)
{
    return kind_word(&side->kind, bytes - side->low + side->places[block] * side->kind.extent, i);
}

static void side_open(struct call *c, int s)
{
    struct side *side = &c->sides[s];
    const int layout = layout_of(c, s);
    size_t divisor = 0;

    side->blocks = c->collective->many[layout] ? c->size : 1;
    side->counts = malloc((size_t) side->blocks * sizeof(side->counts[0]));
    side->places = malloc((size_t) side->blocks * sizeof(side->places[0]));
    for (int b = 0; b < side->blocks; ++b) {
        divisor = common_divisor(divisor, route_words(c, route_of(c, layout, b)));
    }
    side->kind = kind_find(c->variant->kinds[s], c->rank + s, divisor);
    side->type = kind_type(&side->kind);
    for (int b = 0; b < side->blocks; ++b) {
        side->counts[b] = (int) (route_words(c, route_of(c, layout, b)) / side->kind.words);
    }
    side_place(c, s);
    side_measure(side);
    side->memory = t_alloc(side->span);
    side->image = malloc(side->span + 1);
}

static void side_free_type(struct side *side)
{
    if (MPI_INT != side->type && MPI_DATATYPE_NULL != side->type) {
        T_MPI(MPI_Type_free(&side->type));
    }
}

static void side_close(struct side *side)
{
    side_free_type(side);
    t_free(side->memory);
    free(side->image);
    free(side->counts);
    free(side->places);
}

static bool side_ignored(const struct call *c, int s)
{
    return s == c->collective->rooted && c->root != c->rank;
}

static bool side_replaced(const struct call *c, int s)
{
    const int replaced = INPUT == c->collective->rooted ? OUTPUT : INPUT;

    return c->in_place && s == replaced && (NEITHER == c->collective->rooted || c->root == c->rank);
}

/* What isn't significant says so. */
static struct argument side_argument(const struct call *c, int s)
{
    const struct side *side = &c->sides[s];
    const struct argument nothing
        = { side_replaced(c, s) ? MPI_IN_PLACE : side_pointer(side), -1, NULL, NULL, MPI_DATATYPE_NULL };

    if (side_replaced(c, s) || side_ignored(c, s)) {
        return nothing;
    }
    return (struct argument){ side_pointer(side), side->counts[0], side->counts, side->places, side->type };
}

/* ---- its life ---- */

static void call_open(struct call *c)
{
    c->request = MPI_REQUEST_NULL;
    c->op = MPI_SUM;
    if (NULL != c->variant->function) {
        T_MPI(MPI_Op_create(c->variant->function, c->variant->commutes, &c->op));
    }
    for (int s = 0; s < SIDES; ++s) {
        side_open(c, s);
        c->sides[s].argument = side_argument(c, s);
    }
}

static void call_free_types(struct call *c)
{
    for (int s = 0; s < SIDES; ++s) {
        side_free_type(&c->sides[s]);
    }
    if (NULL != c->variant->function && MPI_OP_NULL != c->op) {
        T_MPI(MPI_Op_free(&c->op));
    }
}

static void call_close(struct call *c)
{
    call_free_types(c);
    for (int s = 0; s < SIDES; ++s) {
        side_close(&c->sides[s]);
    }
}

static void fill_block(const struct call *c, const struct side *side, unsigned char *bytes, int block,
                       struct route route)
{
    for (size_t i = 0; i < route_words(c, route); ++i) {
        t_put(side_word(side, bytes, block, i), route_value(c, route, i));
    }
}

/* In place, the input is where its block of the output is. */
static void fill_input(const struct call *c, const struct side *side, unsigned char *bytes)
{
    const bool many = c->collective->many[INPUT];

    for (int b = 0; b < side->blocks; ++b) {
        if (many || 1 == side->blocks || c->rank == b) {
            fill_block(c, side, bytes, b, route_of(c, INPUT, b));
        }
    }
}

static size_t result_words(const struct call *c)
{
    return route_words(c, (struct route){ 0, c->rank });
}

static void fill_output(const struct call *c, const struct side *side, unsigned char *bytes)
{
    if (!c->collective->reduces) {
        for (int b = 0; b < side->blocks; ++b) {
            fill_block(c, side, bytes, b, route_of(c, OUTPUT, b));
        }
        return;
    }
    for (size_t i = 0; i < result_words(c); i += side->kind.words) {
        uint32_t values[MOST_WORDS];

        reduced_values(c, i, side->kind.words, values);
        for (size_t w = 0; w < side->kind.words; ++w) {
            t_put(side_word(side, bytes, 0, i + w), values[w]);
        }
    }
}

/* Buffers before the call, and their images after it; what isn't received keeps what it holds. */
static void call_fill(struct call *c)
{
    for (int s = 0; s < SIDES; ++s) {
        memset(c->sides[s].image, (INPUT == s ? 0xa5 : 0x5a) ^ c->rank, c->sides[s].span);
    }
    fill_input(c, &c->sides[INPUT], c->sides[INPUT].image);
    for (int s = 0; s < SIDES; ++s) {
        memcpy(c->sides[s].memory, c->sides[s].image, c->sides[s].span);
    }
    if (side_replaced(c, INPUT)) {
        fill_input(c, &c->sides[OUTPUT], c->sides[OUTPUT].memory);
    }
    if (!side_ignored(c, OUTPUT) && !side_replaced(c, OUTPUT)) {
        fill_output(c, &c->sides[OUTPUT], c->sides[OUTPUT].image);
    }
}

/* Nothing is said about the operands past the result of a reduction in place. */
static void forget_operands(const struct call *c)
{
    const struct side *side = &c->sides[OUTPUT];
    const struct side *input = &c->sides[INPUT];
    size_t words = 0;

    for (int b = 0; b < input->blocks; ++b) {
        words += (size_t) input->counts[b] * input->kind.words;
    }
    for (size_t i = result_words(c); i < words; ++i) {
        t_put(side_word(side, side->image, 0, i), t_get(side_word(side, side->memory, 0, i)));
    }
}

/* What is called, for messages. */
static const char *call_text(const struct call *c)
{
    static char text[T_TEXT];

    snprintf(text, sizeof(text), "%s%s, %s, %zu units, root %d of %d%s", c->nonblocking ? "i" : "", c->collective->name,
             c->variant->name, c->units, c->root, c->size, c->in_place ? ", in place" : "");
    return text;
}

static void expect_image(const struct call *c, int s)
{
    const struct side *side = &c->sides[s];
    size_t i = 0;

    if (0 != memcmp(side->memory, side->image, side->span)) {
        while (side->memory[i] == side->image[i]) {
            ++i;
        }
        t_expect(false, "%s: byte %zu of %zu of the %s is %#x, not %#x", call_text(c), i, side->span, side_names[s],
                 side->memory[i], side->image[i]);
    }
    t_expect(t_guarded(side->memory), "%s: bytes before or past the %s were written", call_text(c), side_names[s]);
}

static void call_check(const struct call *c)
{
    if (c->collective->reduces && c->in_place) {
        forget_operands(c);
    }
    for (int s = 0; s < SIDES; ++s) {
        expect_image(c, s);
    }
}

/* Starts it, and ends it where it blocks; types and operations are freed at once. */
static void call_start(struct call *c)
{
    call_open(c);
    call_fill(c);
    t_expect(MPI_SUCCESS == c->collective->start(c, &c->sides[INPUT].argument, &c->sides[OUTPUT].argument), "%s failed",
             call_text(c));
    call_free_types(c);
}

static void call_run(struct call *c)
{
    ++c->key;
    call_start(c);
    T_MPI(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
    call_check(c);
    call_close(c);
}

/* ---- the collectives ---- */

#define EITHER(blocking, nonblocking_one, ...)                                                                         \
    (c->nonblocking ? nonblocking_one(__VA_ARGS__, &c->request) : blocking(__VA_ARGS__))

static int allgather(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Allgather, MPI_Iallgather, in->buffer, in->count, in->type, out->buffer, out->count, out->type,
                  c->comm);
}

static int allgatherv(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Allgatherv, MPI_Iallgatherv, in->buffer, in->count, in->type, out->buffer, out->counts,
                  out->places, out->type, c->comm);
}

static int gather(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Gather, MPI_Igather, in->buffer, in->count, in->type, out->buffer, out->count, out->type, c->root,
                  c->comm);
}

static int gatherv(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Gatherv, MPI_Igatherv, in->buffer, in->count, in->type, out->buffer, out->counts, out->places,
                  out->type, c->root, c->comm);
}

static int scatter(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Scatter, MPI_Iscatter, in->buffer, in->count, in->type, out->buffer, out->count, out->type,
                  c->root, c->comm);
}

static int scatterv(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Scatterv, MPI_Iscatterv, in->buffer, in->counts, in->places, in->type, out->buffer, out->count,
                  out->type, c->root, c->comm);
}

static int alltoall(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Alltoall, MPI_Ialltoall, in->buffer, in->count, in->type, out->buffer, out->count, out->type,
                  c->comm);
}

static int alltoallv(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Alltoallv, MPI_Ialltoallv, in->buffer, in->counts, in->places, in->type, out->buffer, out->counts,
                  out->places, out->type, c->comm);
}

static int reduce_scatter_block(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in->buffer, out->buffer, out->count, out->type,
                  c->op, c->comm);
}

static int reduce_scatter(struct call *c, const struct argument *in, const struct argument *out)
{
    return EITHER(MPI_Reduce_scatter, MPI_Ireduce_scatter, in->buffer, out->buffer, c->sides[INPUT].counts, out->type,
                  c->op, c->comm);
}

static const struct collective collectives[] = {
    { "allgather", { false, true }, NEITHER, EVEN, false, allgather },
    { "allgatherv", { false, true }, NEITHER, SCATTERED, false, allgatherv },
    { "gather", { false, true }, OUTPUT, EVEN, false, gather },
    { "gatherv", { false, true }, OUTPUT, SCATTERED, false, gatherv },
    { "scatter", { true, false }, INPUT, EVEN, false, scatter },
    { "scatterv", { true, false }, INPUT, SCATTERED, false, scatterv },
    { "alltoall", { true, true }, NEITHER, EVEN, false, alltoall },
    { "alltoallv", { true, true }, NEITHER, SCATTERED, false, alltoallv },
    { "reduce_scatter_block", { true, false }, NEITHER, EVEN, true, reduce_scatter_block },
    { "reduce_scatter", { true, false }, NEITHER, UNEVEN, true, reduce_scatter },
};

/*
 * What Open MPI 4.1.4 itself gets wrong:
 *
 * - MPI_Allgatherv, where the send types of ranks differ in size (coll_tuned_decision_fixed.c multiplies the receive
 *   counts by it): ranks choose different algorithms, and hang.
 * - MPI_Alltoall of short blocks on 16 ranks or more, where a receive type has another layout than the send type
 *   (Bruck's algorithm in coll_base_alltoall.c receives with the send type): wrong, and memory is overwritten.
 * - MPI_Ialltoallv in place, with long blocks and empty ones (a2av_sched_inplace() in nbc_ialltoallv.c): where nothing
 *   is for the peer on the one side, the block for the other one is received while it is still being sent.
 */
static bool left_out(const struct call *c)
{
    const enum kind_name *in_out = c->variant->kinds;

    if (allgatherv == c->collective->start) {
        return !c->nonblocking && (BY_RANK == in_out[INPUT] || (WHOLE == in_out[INPUT] && !c->in_place));
    }
    if (alltoall == c->collective->start) {
        return !c->nonblocking && !c->in_place && 16 <= c->size
               && (BY_RANK == in_out[INPUT] || in_out[INPUT] != in_out[OUTPUT]);
    }
    return alltoallv == c->collective->start && c->nonblocking && c->in_place;
}

/* ---- all kinds, sizes and roots ---- */

enum level { BRIEF, QUICK, FULL };

static const struct {
    int segments;
    int more; /* units */
    enum level level;
} sizes[] = { { 0, 0, QUICK }, { 0, 1, FULL },  { 0, 7, BRIEF }, { 1, -1, FULL },
              { 1, 0, FULL },  { 1, 1, BRIEF }, { 9, 1, QUICK } };

static size_t size_units(size_t s, const struct variant *variant)
{
    const size_t units = (size_t) segment / (variant_unit(variant) * sizeof(uint32_t));

    return (size_t) (sizes[s].segments * (int) units + sizes[s].more);
}

/* Values differ from behaviour to behaviour and from call to call. */
static uint64_t first_key(void)
{
    return ((uint64_t) t.seed * 1009 + (uint64_t) t.lines) << 32;
}

static void call_on(struct call *c, MPI_Comm comm)
{
    c->comm = comm;
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->size);
}

static bool suits(const struct collective *collective, const struct variant *variant)
{
    return collective->reduces == (NULL != variant->fold);
}

/* All roots, or where time is short the first, the middle and the last. */
static bool root_wanted(const struct call *c, enum level level)
{
    if (NEITHER == c->collective->rooted) {
        return 0 == c->root;
    }
    return FULL == level || 0 == c->root || c->root == c->size / 2 || c->root == c->size - 1;
}

static void with_roots(struct call *c, enum level level)
{
    for (c->root = 0; c->root < c->size; ++c->root) {
        for (int in_place = 0; in_place < 2 && root_wanted(c, level); ++in_place) {
            c->in_place = 0 != in_place;
            if (!left_out(c)) {
                call_run(c);
            }
        }
    }
}

static void with_variants(struct call *c, enum level level)
{
    for (size_t v = 0; v < COUNT(variants); ++v) {
        c->variant = &variants[v];
        for (size_t s = 0; s < COUNT(sizes) && suits(c->collective, c->variant); ++s) {
            if (sizes[s].level <= level) {
                c->units = size_units(s, c->variant);
                with_roots(c, level);
            }
        }
    }
}

static void on_world(const struct collective *collective, bool nonblocking)
{
    struct call c = { .collective = collective, .nonblocking = nonblocking, .key = first_key() };

    call_on(&c, MPI_COMM_WORLD);
    with_variants(&c, quick ? QUICK : FULL);
}

/* ---- communicators ---- */

/* Takes the communicator. */
static void on_comm(MPI_Comm comm)
{
    struct call c = { .key = first_key() };

    call_on(&c, comm);
    for (size_t i = 0; i < 2 * COUNT(collectives); ++i) {
        c.collective = &collectives[i / 2];
        c.nonblocking = 0 != i % 2;
        with_variants(&c, BRIEF);
    }
    T_MPI(MPI_Comm_free(&comm));
}

static MPI_Comm duplicate(void)
{
    MPI_Comm comm = MPI_COMM_NULL;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    return comm;
}

static void on_odd_and_even(void)
{
    on_comm(t_split(t.rank % 2, t.rank));
}

static void on_reversed(void)
{
    on_comm(t_split(0, -t.rank));
}

static void on_duplicate(void)
{
    on_comm(duplicate());
}

/* ---- many at once ---- */

enum { COMMS = 2, OUTSTANDING = 12 /* on each of them */ };

static struct call pick_call(uint64_t *state, MPI_Comm comm, uint64_t key)
{
    struct call c
        = { .collective = &collectives[t_random(state, COUNT(collectives))], .nonblocking = true, .key = key };

    call_on(&c, comm);
    do {
        c.variant = &variants[t_random(state, COUNT(variants))];
        c.in_place = 0 == t_random(state, 3);
    } while (!suits(c.collective, c.variant) || left_out(&c));
    c.units = size_units(t_random(state, COUNT(sizes)), c.variant);
    c.root = NEITHER == c.collective->rooted ? 0 : (int) t_random(state, (size_t) c.size);
    return c;
}

/* The order on each communicator is the same on all ranks; which of them is next is not. */
static void start_all(struct call calls[COMMS][OUTSTANDING], MPI_Request *requests, uint64_t *own)
{
    int started[COMMS] = { 0 };

    for (int i = 0; i < COMMS * OUTSTANDING; ++i) {
        size_t comm = t_random(own, COMMS);

        while (OUTSTANDING == started[comm]) {
            comm = (comm + 1) % COMMS;
        }
        call_start(&calls[comm][started[comm]]);
        requests[comm * OUTSTANDING + (size_t) started[comm]] = calls[comm][started[comm]].request;
        ++started[comm];
    }
}

/* In an order of this rank: one that it wants, or the first that completes. */
static void wait_for_all(MPI_Request *requests, uint64_t *own)
{
    for (int i = 0; i < COMMS * OUTSTANDING; ++i) {
        int index = (int) t_random(own, COMMS * OUTSTANDING);

        if (0 == t_random(own, 2)) {
            T_MPI(MPI_Wait(&requests[index], MPI_STATUS_IGNORE));
        } else {
            T_MPI(MPI_Waitany(COMMS * OUTSTANDING, requests, &index, MPI_STATUS_IGNORE));
        }
    }
    T_MPI(MPI_Waitall(COMMS * OUTSTANDING, requests, MPI_STATUSES_IGNORE));
}

static void many_at_once(void)
{
    static struct call calls[COMMS][OUTSTANDING];
    MPI_Comm comms[COMMS] = { duplicate(), t_split(0, -t.rank) };
    MPI_Request requests[COMMS * OUTSTANDING];
    uint64_t shared = (uint64_t) t.seed, own = (uint64_t) t.seed * 1009 + (uint64_t) t.rank, key = first_key();

    for (int round = 0; round < (quick ? 3 : 20); ++round) {
        for (int i = 0; i < COMMS * OUTSTANDING; ++i) {
            calls[i / OUTSTANDING][i % OUTSTANDING] = pick_call(&shared, comms[i / OUTSTANDING], ++key);
        }
        start_all(calls, requests, &own);
        wait_for_all(requests, &own);
        for (int i = 0; i < COMMS * OUTSTANDING; ++i) {
            call_check(&calls[i / OUTSTANDING][i % OUTSTANDING]);
            call_close(&calls[i / OUTSTANDING][i % OUTSTANDING]);
        }
    }
    for (int i = 0; i < COMMS; ++i) {
        T_MPI(MPI_Comm_free(&comms[i]));
    }
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    static const struct t_option options[] = { { "--segment", true, &segment }, { "--quick", false, &quick } };
    static const struct t_behaviour behaviours[] = {
        { "odd and even ranks", on_odd_and_even, 0 },
        { "ranks in reversed order", on_reversed, 0 },
        { "a duplicate of the world", on_duplicate, 0 },
        { "many at once on two communicators, waited for in any order", many_at_once, 0 },
    };

    t_options(argc, argv, options, COUNT(options));
    if (segment < 16 || segment > 1 << 20) {
        fprintf(stderr, "%s: a segment has 16 bytes to 1 MiB\n", argv[0]);
        return 1;
    }
    MPI_Init(&argc, &argv);
    t_begin();
    while (t_next_setting()) {
        for (size_t i = 0; i < 2 * COUNT(collectives); ++i) {
            t_start(0, "%s, %s: all kinds, sizes and roots", collectives[i / 2].name,
                    0 == i % 2 ? "blocking" : "nonblocking");
            on_world(&collectives[i / 2], 0 != i % 2);
            t_end();
        }
        t_run(behaviours, COUNT(behaviours));
    }
    return t_finish("MPI_Finalize returns");
}
