/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GUARD = 4096, TAG = 76 };

bool call_expect(struct call *c, bool condition, const char *format, ...)
{
    va_list arguments;

    if (!condition && !c->failed) {
        c->failed = true;
        va_start(arguments, format);
        vsnprintf(c->why, sizeof(c->why), format, arguments);
        va_end(arguments);
    }
    return condition;
}

static bool is_reduction(const struct call *c)
{
    return NULL != c->variant->fold;
}

const char *call_text(const struct call *c, char *text, size_t size)
{
    snprintf(text, size, "%s %s, %s, %zu bytes%s, root %d of %d%s", form_names[c->form], c->collective->name,
             c->variant->name, c->units * variant_unit_bytes(c->variant),
             EVEN == c->collective->spread ? "" : " a block more or less", c->root, c->size,
             c->in_place ? ", in place" : "");
    return text;
}

void call_on(struct call *c, MPI_Comm comm)
{
    c->comm = comm;
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->size);
}

/* ---- which message a block is, and its values ---- */

/* The message from a rank for a rank. What is for all has 0 for a receiver. */
struct route {
    int from;
    int to;
};

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
    const int which = (is_reduction(c) ? 0 : route.from) + (c->in_place ? 1 : 2) * route.to;
    const size_t part = EVEN == c->collective->spread ? 4 : quarters[(size_t) which % CHECK_COUNT(quarters)];

    return c->units * part / 4 * variant_unit(c->variant);
}

uint64_t check_mixed(uint64_t key, uint64_t a, uint64_t b, uint64_t i)
{
    uint64_t x = key * UINT64_C(0x9e3779b97f4a7c15) + a * UINT64_C(0xd1b54a32d192ed03)
                 + b * UINT64_C(0xaef17502108ef2d9) + i * UINT64_C(0x8cb92ba72f3d8dd7);

    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 29;
}

static int64_t route_value(const struct call *c, struct route route, size_t i)
{
    const size_t period = layout_unit(c->variant->layouts[INPUT]);
    const int64_t limit = c->variant->limits[i % period];
    const uint64_t number = check_mixed(c->key, (uint64_t) route.from, (uint64_t) route.to, i);

    return 0 == limit ? (int64_t) number : (int64_t) (number % (uint64_t) limit);
}

/* As it is when it has been in memory. */
static int64_t stored(enum atom atom, int64_t number)
{
    unsigned char memory[16];

    if (FRACTION == atom) {
        return number;
    }
    atom_put(atom, memory, number);
    return atom_get(atom, memory);
}

/* Ranks whose messages a result is made of: none below first, none from end on. */
static int reach_end(const struct call *c)
{
    return UP_TO == c->collective->reach ? c->rank + 1 : BEFORE == c->collective->reach ? c->rank : c->size;
}

/* An element of the result: what ranks have for this one, combined in rank order. */
static void reduced_values(const struct call *c, const struct layout *layout, size_t i, int64_t *values)
{
    const int to = c->collective->many[INPUT] ? c->rank : c->root;

    for (int from = reach_end(c) - 1; from >= 0; --from) {
        int64_t own[MOST_WORDS];

        for (size_t w = 0; w < layout->period; ++w) {
            own[w] = stored(layout->items[w].atom, route_value(c, (struct route){ from, to }, i + w));
        }
        if (reach_end(c) - 1 == from) {
            memcpy(values, own, layout->period * sizeof(own[0]));
        } else {
            c->variant->fold(own, values);
        }
    }
}

/* ---- buffers ---- */

static void *no_memory(void)
{
    fprintf(stderr, "no memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return NULL;
}

/* Differs from rank to rank: where a message is too long, what it brings are the guards of another. */
static unsigned char guard_byte(int rank)
{
    return (unsigned char) (0xe7 + 29 * rank);
}

static void *guarded_alloc(size_t bytes, int rank)
{
    unsigned char *guard = malloc(bytes + 2 * GUARD);

    if (NULL == guard) {
        return no_memory();
    }
    memset(guard, guard_byte(rank), GUARD);
    memset(guard + GUARD + bytes, guard_byte(rank), GUARD);
    return guard + GUARD;
}

static bool guards_untouched(const unsigned char *memory, size_t bytes, int rank)
{
    const unsigned char guard = guard_byte(rank);

    for (size_t i = 0; i < GUARD; ++i) {
        if (guard != memory[(ptrdiff_t) i - GUARD] || guard != memory[bytes + i]) {
            return false;
        }
    }
    return true;
}

/* Of a reduction in place the output has the blocks of the input. */
static int layout_of(const struct call *c, int side)
{
    return is_reduction(c) && c->in_place ? INPUT : side;
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
    const bool downwards = scattered && 0 == check_mixed(c->key, (uint64_t) c->rank, (uint64_t) s, 0) % 2;
    int next = 0;

    for (int b = 0; b < side->blocks; ++b) {
        const int hole = scattered ? 1 + b % 3 : 0;

        side->places[b] = downwards ? -next - side->counts[b] : next;
        next += side->counts[b] + hole;
    }
}

static void side_measure(struct side *side, bool whole)
{
    ptrdiff_t low = 0, high = 0;
    bool found = false;

    for (int b = 0; b < side->blocks; ++b) {
        ptrdiff_t first, last;

        layout_span(&side->layout, (size_t) side->counts[b], whole, &first, &last);
        if (0 < side->counts[b]) {
            first += side->places[b] * side->layout.extent;
            last += side->places[b] * side->layout.extent;
            low = !found || first < low ? first : low;
            high = !found || last > high ? last : high;
            found = true;
        }
    }
    side->first = low;
    side->span = (size_t) (high - low);
}

static void *side_pointer(const struct side *side)
{
    return side->memory - side->first;
}

/* Word number i of a block, or past it, in the memory or the image of a side. */
static unsigned char *side_word(const struct side *side, unsigned char *bytes, int block, size_t i, enum atom *atom)
{
    const struct item item = layout_word(&side->layout, i);

    *atom = item.atom;
    return bytes - side->first + side->places[block] * side->layout.extent + item.place;
}

/*
 * One side in eight is given by MPI_BOTTOM and a type with the buffer's address in it, on some ranks. Not for an
 * operation, which is given elements and their type.
 */
static bool side_is_absolute(const struct call *c, int s)
{
    return !is_reduction(c) && !known_fault_of_addresses(c)
           && 0 == check_mixed(c->key, (uint64_t) c->rank, (uint64_t) s, 1) % 8;
}

static void side_make_absolute(struct side *side)
{
    const MPI_Aint address = (MPI_Aint) side_pointer(side);

    MPI_Type_create_hindexed_block(1, 1, &address, side->type, &side->absolute);
    MPI_Type_commit(&side->absolute);
}

static void side_open(struct call *c, int s)
{
    struct side *side = &c->sides[s];
    const int layout = layout_of(c, s);
    size_t divisor = 0;

    side->blocks = c->collective->many[layout] ? c->size : 1;
    side->counts = malloc((size_t) side->blocks * sizeof(side->counts[0]));
    side->places = malloc((size_t) side->blocks * sizeof(side->places[0]));
    if (NULL == side->counts || NULL == side->places) {
        no_memory();
        return;
    }
    for (int b = 0; b < side->blocks; ++b) {
        divisor = common_divisor(divisor, route_words(c, route_of(c, layout, b)));
    }
    /* A reduction has one type, the same everywhere. */
    side->layout = layout_find(c->variant->layouts[s], is_reduction(c) ? 0 : c->rank + s, divisor);
    side->type = layout_type(&side->layout);
    for (int b = 0; b < side->blocks; ++b) {
        side->counts[b] = (int) layout_elements(&side->layout, route_words(c, route_of(c, layout, b)));
    }
    side_place(c, s);
    side_measure(side, c->variant->whole);
    side->memory = guarded_alloc(side->span, c->rank);
    side->absolute = MPI_DATATYPE_NULL;
    if (side_is_absolute(c, s)) {
        side_make_absolute(side);
    }
    side->image = malloc(side->span + 1);
    if (NULL == side->image) {
        no_memory();
    }
}

/* The memory is this rank's again: what others still read of it would be wrong. */
static void side_close(struct side *side)
{
    memset(side->memory, 0xdd, side->span);
    free(side->memory - GUARD);
    free(side->image);
    free(side->counts);
    free(side->places);
}

/* This rank has nothing on that side. */
static bool side_ignored(const struct call *c, int s)
{
    const bool is_root = c->root == c->rank;

    return BOTH == c->collective->rooted ? is_root == (OUTPUT == s) : s == c->collective->rooted && !is_root;
}

/* This rank gives MPI_IN_PLACE for that side. */
static bool side_replaced(const struct call *c, int s)
{
    const int replaced = INPUT == c->collective->rooted ? OUTPUT : INPUT;

    return c->in_place && s == replaced && (NEITHER == c->collective->rooted || c->root == c->rank);
}

/* What is not significant says so, with a pointer to guarded memory or with none. */
static struct argument side_argument(const struct call *c, int s)
{
    const struct side *side = &c->sides[s];

    if (side_replaced(c, s)) {
        return (struct argument){ MPI_IN_PLACE, -1, NULL, NULL, MPI_DATATYPE_NULL };
    }
    if (side_ignored(c, s)) {
        return (struct argument){ 0 == c->key % 2 ? NULL : side_pointer(side), -1, NULL, NULL, MPI_DATATYPE_NULL };
    }
    return MPI_DATATYPE_NULL == side->absolute
               ? (struct argument){ side_pointer(side), side->counts[0], side->counts, side->places, side->type }
               : (struct argument){ MPI_BOTTOM, side->counts[0], side->counts, side->places, side->absolute };
}

/* ---- what is in them before and after ---- */

static void fill_block(const struct call *c, const struct side *side, unsigned char *bytes, int block,
                       struct route route)
{
    const size_t words = route_words(c, route);

    for (size_t i = 0; i < words; ++i) {
        enum atom atom;
        unsigned char *word = side_word(side, bytes, block, i, &atom);

        atom_put(atom, word, route_value(c, route, i));
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
    return route_words(c, (struct route){ 0, c->collective->many[INPUT] ? c->rank : c->root });
}

/* Nobody is before the first rank: what it has then is not said. */
static bool result_undefined(const struct call *c)
{
    return is_reduction(c) && 0 == reach_end(c);
}

static void fill_output(const struct call *c, const struct side *side, unsigned char *bytes)
{
    if (!is_reduction(c)) {
        for (int b = 0; b < side->blocks; ++b) {
            fill_block(c, side, bytes, b, route_of(c, OUTPUT, b));
        }
        return;
    }
    for (size_t i = 0; i < result_words(c) && !result_undefined(c); i += side->layout.period) {
        int64_t values[MOST_WORDS];

        reduced_values(c, &side->layout, i, values);
        for (size_t w = 0; w < side->layout.period; ++w) {
            enum atom atom;
            unsigned char *word = side_word(side, bytes, 0, i + w, &atom);

            atom_put(atom, word, values[w]);
        }
    }
}

/* Buffers before the call, and their images after it; what is not received keeps what it holds. */
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

/* Takes words of the output from the memory to its image: nothing is said about them. */
static void accept_words(const struct call *c, size_t from, size_t end)
{
    const struct side *side = &c->sides[OUTPUT];

    for (size_t i = from; i < end; ++i) {
        enum atom atom;
        const unsigned char *word = side_word(side, side->memory, 0, i, &atom);

        memcpy(side_word(side, side->image, 0, i, &atom), word, atom_bytes(atom));
    }
}

/* Nothing is said about the operands past the result of a reduction in place. */
static void accept_operands(const struct call *c)
{
    const struct side *input = &c->sides[INPUT];
    size_t words = 0;

    for (int b = 0; b < input->blocks; ++b) {
        words += (size_t) input->counts[b] * layout_words(&input->layout);
    }
    accept_words(c, result_undefined(c) ? 0 : result_words(c), words);
}

/* What an operation that writes whole elements leaves around the words of the output is anything. */
static void accept_padding(const struct call *c)
{
    const struct side *side = &c->sides[OUTPUT];
    unsigned char *image = malloc(side->span + 1);

    if (NULL == image) {
        no_memory();
        return;
    }
    memcpy(image, side->memory, side->span);
    for (int b = 0; b < side->blocks; ++b) {
        for (size_t i = 0; i < (size_t) side->counts[b] * layout_words(&side->layout); ++i) {
            enum atom atom;
            const unsigned char *word = side_word(side, side->image, b, i, &atom);

            memcpy(image + (word - side->image), word, atom_bytes(atom));
        }
    }
    memcpy(side->image, image, side->span);
    free(image);
}

/* Sums of fractions are good where they are near. */
static void accept_rounded(const struct call *c)
{
    const struct side *side = &c->sides[OUTPUT];

    for (size_t i = 0; i < result_words(c); ++i) {
        enum atom atom;
        const int64_t is = atom_get(FRACTION, side_word(side, side->memory, 0, i, &atom));

        if (is == atom_get(FRACTION, side_word(side, side->image, 0, i, &atom))) {
            accept_words(c, i, i + 1);
        }
    }
}

static bool is_rounded(const struct call *c)
{
    return is_reduction(c) && FRACTION == c->sides[OUTPUT].layout.items[0].atom;
}

static void expect_image(struct call *c, int s)
{
    const struct side *side = &c->sides[s];
    size_t i = 0;

    if (0 != memcmp(side->memory, side->image, side->span)) {
        while (side->memory[i] == side->image[i]) {
            ++i;
        }
        call_expect(c, false, "byte %zu of %zu of the %s is %#x, not %#x", i, side->span, side_names[s],
                    side->memory[i], side->image[i]);
    }
}

void call_check_guards(struct call *c)
{
    for (int s = 0; s < SIDES; ++s) {
        call_expect(c, guards_untouched(c->sides[s].memory, c->sides[s].span, c->rank),
                    "bytes before or past the %s were written", side_names[s]);
    }
}

void call_check(struct call *c)
{
    if (is_reduction(c) && (c->in_place || result_undefined(c)) && !side_ignored(c, OUTPUT)) {
        accept_operands(c);
    }
    if (c->variant->whole && !side_ignored(c, OUTPUT)) {
        accept_padding(c);
    }
    if (is_rounded(c) && !side_ignored(c, OUTPUT) && !result_undefined(c)) {
        accept_rounded(c);
    }
    for (int s = 0; s < SIDES; ++s) {
        expect_image(c, s);
    }
    call_check_guards(c);
}

/* ---- its life ---- */

static void call_expect_code(struct call *c, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (MPI_SUCCESS != code) {
        c->code = MPI_SUCCESS == c->code ? code : c->code;
        MPI_Error_string(code, text, &length);
        call_expect(c, false, "%s failed: %s", what, text);
    }
}

static void free_types(struct call *c)
{
    for (int s = 0; s < SIDES; ++s) {
        layout_type_free(&c->sides[s].layout, &c->sides[s].type);
        if (MPI_DATATYPE_NULL != c->sides[s].absolute) {
            MPI_Type_free(&c->sides[s].absolute);
        }
    }
    variant_op_free(c->variant, &c->op);
}

static bool types_go_early;

void call_free_types_early(void)
{
    types_go_early = true;
}

/* MPI lets the caller free them while the call is under way; libnbc crashes over persistent calls. */
static bool may_free_types(const struct call *c)
{
    return PERSISTENT != c->form || (types_go_early && 1 < c->size && collective_is_adapts(c->collective));
}

void call_start(struct call *c)
{
    c->request = MPI_REQUEST_NULL;
    c->op = is_reduction(c) ? variant_op(c->variant) : MPI_OP_NULL;
    for (int s = 0; s < SIDES; ++s) {
        side_open(c, s);
    }
    for (int s = 0; s < SIDES; ++s) {
        c->sides[s].argument = side_argument(c, s);
    }
    call_fill(c);
    call_expect_code(c, "the call", c->collective->start(c, &c->sides[INPUT].argument, &c->sides[OUTPUT].argument));
    if (may_free_types(c)) {
        free_types(c);
    }
    if (PERSISTENT == c->form && MPI_REQUEST_NULL != c->request) {
        call_expect_code(c, "MPI_Start", MPI_Start(&c->request));
    }
}

void call_wait(struct call *c)
{
    call_expect_code(c, "MPI_Wait", MPI_Wait(&c->request, MPI_STATUS_IGNORE));
}

void call_again(struct call *c)
{
    call_fill(c);
    if (MPI_REQUEST_NULL != c->request) {
        call_expect_code(c, "MPI_Start", MPI_Start(&c->request));
    }
}

void call_close(struct call *c)
{
    if (PERSISTENT == c->form && MPI_REQUEST_NULL != c->request) {
        call_expect_code(c, "MPI_Request_free", MPI_Request_free(&c->request));
    }
    free_types(c);
    for (int s = 0; s < SIDES; ++s) {
        side_close(&c->sides[s]);
    }
}

/* Of the bits of a result; 0 where this rank has none. */
static uint64_t hash_result(const struct call *c)
{
    const struct side *side = &c->sides[OUTPUT];
    uint64_t sum = 5381;

    if (side_ignored(c, OUTPUT) || result_undefined(c)) {
        return 0;
    }
    for (size_t i = 0; i < result_words(c) * sizeof(double); ++i) {
        sum = sum * 33 + side->memory[i];
    }
    return sum;
}

/* Rank 0 compares what all have. */
static void expect_same_everywhere(struct call *c, uint64_t hash)
{
    if (0 != c->rank) {
        MPI_Send(&hash, 1, MPI_UINT64_T, 0, TAG, c->comm);
    }
    for (int rank = 1; rank < c->size && 0 == c->rank; ++rank) {
        uint64_t other;

        MPI_Recv(&other, 1, MPI_UINT64_T, rank, TAG, c->comm, MPI_STATUS_IGNORE);
        call_expect(c, hash == other, "the result's bits differ between ranks 0 and %d", rank);
    }
}

/* Whether it is so on any rank. */
static bool anywhere(const struct call *c, bool here)
{
    int any = here;

    if (0 != c->rank) {
        MPI_Send(&any, 1, MPI_INT, 0, TAG, c->comm);
        MPI_Recv(&any, 1, MPI_INT, 0, TAG, c->comm, MPI_STATUS_IGNORE);
        return 0 != any;
    }
    for (int rank = 1; rank < c->size; ++rank) {
        int other;

        MPI_Recv(&other, 1, MPI_INT, rank, TAG, c->comm, MPI_STATUS_IGNORE);
        any = any || other;
    }
    for (int rank = 1; rank < c->size; ++rank) {
        MPI_Send(&any, 1, MPI_INT, rank, TAG, c->comm);
    }
    return 0 != any;
}

static uint64_t hash_of_next(struct call *c)
{
    call_close(c);
    call_start(c);
    call_wait(c);
    return hash_result(c);
}

/*
 * The call has ended; makes it once more. Of a communicator that has had enough blocking calls HAN or SOLO may take
 * part from the second one on (coll_han_start, coll_solo_start): then the third one has the bits of the second.
 */
static void expect_same_again(struct call *c)
{
    uint64_t hash = hash_result(c), next;

    if (0 == strcmp("allreduce", c->collective->name)) {
        expect_same_everywhere(c, hash);
    }
    next = hash_of_next(c);
    if (BLOCKING == c->form && anywhere(c, hash != next)) {
        hash = next;
        next = hash_of_next(c);
    }
    call_expect(c, hash == next, "the result's bits differ from one run to the next");
}

void call_run(struct call *c)
{
    c->failed = false;
    call_start(c);
    call_wait(c);
    call_check(c);
    if (is_rounded(c)) {
        expect_same_again(c);
    } else if (PERSISTENT == c->form) {
        c->key += 2;
        call_again(c);
        call_wait(c);
        call_check(c);
    }
    call_close(c);
}

static void meet(struct call *c, void (*start)(struct call *c))
{
    MPI_Request request = MPI_REQUEST_NULL;
    int word = c->root, there = 1;

    if (c->rank != c->root) {
        MPI_Irecv(&word, 1, MPI_INT, c->root, TAG, c->comm, &request);
    } else {
        usleep(500);
    }
    for (int rank = 0; rank < c->size && c->rank == c->root; ++rank) {
        if (rank != c->root) {
            MPI_Ssend(&word, 1, MPI_INT, rank, TAG, c->comm);
        }
    }
    start(c);
    call_wait(c);
    MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    call_expect(c, there, "it was left before rank %d came", c->root);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void call_run_barrier(struct call *c)
{
    c->failed = false;
    meet(c, call_start);
    if (PERSISTENT == c->form) {
        meet(c, call_again);
    }
    call_close(c);
}
