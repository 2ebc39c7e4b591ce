/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <string.h>

/* ---- what operations do; unsigned, so that what overflows wraps round ---- */

static void sum(const int64_t *left, int64_t *right)
{
    right[0] = (int64_t) ((uint64_t) left[0] + (uint64_t) right[0]);
}

static void sum_both(const int64_t *left, int64_t *right)
{
    sum(left, right);
    sum(left + 1, right + 1);
}

static void product(const int64_t *left, int64_t *right)
{
    right[0] = (int64_t) ((uint64_t) left[0] * (uint64_t) right[0]);
}

static void most(const int64_t *left, int64_t *right)
{
    right[0] = left[0] > right[0] ? left[0] : right[0];
}

static void least(const int64_t *left, int64_t *right)
{
    right[0] = left[0] < right[0] ? left[0] : right[0];
}

static void logical_and(const int64_t *left, int64_t *right)
{
    right[0] = 0 != left[0] && 0 != right[0];
}

static void logical_or(const int64_t *left, int64_t *right)
{
    right[0] = 0 != left[0] || 0 != right[0];
}

static void logical_xor(const int64_t *left, int64_t *right)
{
    right[0] = (0 != left[0]) != (0 != right[0]);
}

static void bits_and(const int64_t *left, int64_t *right)
{
    right[0] &= left[0];
}

static void bits_or(const int64_t *left, int64_t *right)
{
    right[0] |= left[0];
}

static void bits_xor(const int64_t *left, int64_t *right)
{
    right[0] ^= left[0];
}

/* Where both are the same, the lower place counts. */
static void locate(const int64_t *left, int64_t *right, bool left_counts)
{
    if (left[0] == right[0]) {
        least(left + 1, right + 1);
    } else if (left_counts) {
        memcpy(right, left, 2 * sizeof(*right));
    }
}

static void most_located(const int64_t *left, int64_t *right)
{
    locate(left, right, left[0] > right[0]);
}

static void least_located(const int64_t *left, int64_t *right)
{
    locate(left, right, left[0] < right[0]);
}

static void sum_and_most(const int64_t *left, int64_t *right)
{
    sum(left, right);
    most(left + 1, right + 1);
}

/* Maps x -> a x + b modulo 2^32, one after the other: these do not commute. An even a would lose what is before it. */
static void compose(const int64_t *left, int64_t *right)
{
    const uint32_t a = (uint32_t) left[0] | 1, b = (uint32_t) left[1];

    right[1] = (int32_t) (a * (uint32_t) right[1] + b);
    right[0] = (int32_t) (a * ((uint32_t) right[0] | 1));
}

/* The same of doubles and ints, with a modulus that keeps every number below 2^31. */
static void compose_small(const int64_t *left, int64_t *right)
{
    right[1] = (left[0] * right[1] + left[1]) % 10007;
    right[0] = left[0] * right[0] % 10007;
}

/* ---- as functions that MPI calls ---- */

/* All bytes of an element are read and written, as where C copies a structure. None of what is written around the words
 * is 0: where it hits a number of another element, that one differs. */
static void write_whole(const struct layout *layout, const unsigned char *in, unsigned char *inout, size_t i)
{
    const ptrdiff_t place = layout_first(layout) + (ptrdiff_t) (i / layout_words(layout)) * layout->extent;

    for (ptrdiff_t b = place; b < place + layout->extent; ++b) {
        inout[b] = in[b] | 0xc3;
    }
}

static void fold_elements(unsigned char *in, unsigned char *inout, int count, enum layout_name name, bool whole,
                          fold_t fold)
{
    const struct layout layout = layout_find(name, 0, 1);

    for (size_t i = 0; i < (size_t) count * layout.period; i += layout.period) {
        int64_t left[MOST_WORDS], right[MOST_WORDS];

        for (size_t w = 0; w < layout.period; ++w) {
            const struct item item = layout_word(&layout, i + w);

            left[w] = atom_get(item.atom, in + item.place);
            right[w] = atom_get(item.atom, inout + item.place);
        }
        fold(left, right);
        if (whole) {
            write_whole(&layout, in, inout, i);
        }
        for (size_t w = 0; w < layout.period; ++w) {
            const struct item item = layout_word(&layout, i + w);

            atom_put(item.atom, inout + item.place, right[w]);
        }
    }
}

/* MPI tells such a function the type, but not which layout that is. */
#define FUNCTION(name, layout, whole, fold)                                                                            \
    static void name(void *in, void *inout, int *count, MPI_Datatype *type)                                            \
    {                                                                                                                  \
        (void) type;                                                                                                   \
        fold_elements(in, inout, *count, layout, whole, fold);                                                         \
    }

FUNCTION(gaps_sum_and_most, INT_GAPS, false, sum_and_most)
FUNCTION(pairs_compose, INT_PAIRS, false, compose)
FUNCTION(below_compose, INT_BELOW, false, compose)
FUNCTION(ints_sum, INTS, false, sum)
FUNCTION(reversed_compose, INT_BEFORE_DOUBLE, false, compose_small)
FUNCTION(tight_compose, DOUBLE_INT_TIGHT, false, compose_small)
FUNCTION(whole_late_sum, LATE_INTS, true, sum)
FUNCTION(whole_gaps_sum_and_most, INT_GAPS, true, sum_and_most)
FUNCTION(whole_below_compose, INT_BELOW, true, compose)
FUNCTION(whole_least, DOUBLE_INTS, true, least_located)
FUNCTION(whole_compose, DOUBLE_INTS, true, compose_small)
FUNCTION(whole_reversed_compose, INT_BEFORE_DOUBLE, true, compose_small)

/* ---- variants ---- */

#define MOVED(name, input, output)                                                                                     \
    {                                                                                                                  \
        name, { input, output }, NULL, MPI_OP_NULL, NULL, false, false,                                                \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
#define BUILT_IN(name, layout, fold, op, ...)                                                                          \
    {                                                                                                                  \
        name, { layout, layout }, fold, op, NULL, true, false,                                                         \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define OWN(name, layout, fold, function, commutes, whole, ...)                                                        \
    {                                                                                                                  \
        name, { layout, layout }, fold, MPI_OP_NULL, function, commutes, whole,                                        \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

const struct variant variants[] = {
    MOVED("ints", INTS, INTS),
    MOVED("bytes", BYTES, BYTES),
    MOVED("gaps", INT_GAPS, INT_GAPS),
    MOVED("a negative lower bound", INT_BELOW, INT_BELOW),
    MOVED("a negative stride", INTS_DOWN, INTS_DOWN),
    MOVED("rows of a matrix", WHOLE_ROW, WHOLE_ROW),
    MOVED("a row of a matrix to ints", WHOLE_ROW, INTS),
    MOVED("elements without data", NOTHING, NOTHING),
    MOVED("one element to ints", WHOLE_INTS, INTS),
    MOVED("ints to gaps", INTS, INT_GAPS),
    MOVED("a negative lower bound to one element", INT_BELOW, WHOLE_INTS),
    MOVED("ints by rank", INTS_BY_RANK, INTS_BY_RANK),
    MOVED("bytes with gaps to one element", BYTE_GAPS, WHOLE_BYTES),
    MOVED("bytes to one element downwards", BYTES, WHOLE_BYTES_DOWN),
    MOVED("bytes by rank", BYTES_BY_RANK, BYTES_BY_RANK),
    MOVED("(double, int)", DOUBLE_INTS, DOUBLE_INTS),
    MOVED("(double, int) unaligned to reversed", DOUBLE_INT_TIGHT, INT_BEFORE_DOUBLE),
    MOVED("(double, int) by rank", DOUBLE_INTS_BY_RANK, DOUBLE_INTS_BY_RANK),
    BUILT_IN("int, sum", INTS, sum, MPI_SUM, 1000003),
    BUILT_IN("int, product", INTS, product, MPI_PROD, 1000003),
    BUILT_IN("int, bxor", INTS, bits_xor, MPI_BXOR, 0),
    BUILT_IN("double, sum", DOUBLES, sum, MPI_SUM, 1000003),
    BUILT_IN("double, max", DOUBLES, most, MPI_MAX, 1000003),
    BUILT_IN("double, sum of fractions", FRACTIONS, sum, MPI_SUM, 1000003),
    BUILT_IN("float, min", FLOATS, least, MPI_MIN, 1 << 20),
    BUILT_IN("float, sum", FLOATS, sum, MPI_SUM, 1 << 10),
    BUILT_IN("complex, sum", COMPLEXES, sum_both, MPI_SUM, 1000003, 1000003),
    BUILT_IN("short, product", SHORTS, product, MPI_PROD, 3),
    BUILT_IN("long, bor", LONGS, bits_or, MPI_BOR, 0),
    BUILT_IN("long, sum", LONGS, sum, MPI_SUM, 0),
    BUILT_IN("byte, band", BYTES, bits_and, MPI_BAND, 0),
    BUILT_IN("signed char, sum", SCHARS, sum, MPI_SUM, 2),
    BUILT_IN("signed char, sum that overflows", SCHARS, sum, MPI_SUM, 128),
    BUILT_IN("signed char, max", SCHARS, most, MPI_MAX, 128),
    BUILT_IN("bool, lor", BOOLS, logical_or, MPI_LOR, 2),
    BUILT_IN("int, land", INTS, logical_and, MPI_LAND, 9),
    BUILT_IN("long, lxor", LONGS, logical_xor, MPI_LXOR, 3),
    BUILT_IN("(int, int), minloc", INT_PAIRS, least_located, MPI_MINLOC, 7, 1000),
    BUILT_IN("(double, int), maxloc", DOUBLE_INTS, most_located, MPI_MAXLOC, 7, 1000),
    BUILT_IN("(short, int), maxloc", SHORT_INTS, most_located, MPI_MAXLOC, 7, 1000),
    BUILT_IN("(long, int), minloc", LONG_INTS, least_located, MPI_MINLOC, 7, 1000),
    BUILT_IN("(float, int), minloc", FLOAT_INTS, least_located, MPI_MINLOC, 7, 1000),
    OWN("ints, own op", INTS, sum, ints_sum, true, false, 1000003),
    OWN("gaps, own op", INT_GAPS, sum_and_most, gaps_sum_and_most, true, false, 1000003, 1000003),
    OWN("(int, int), in order", INT_PAIRS, compose, pairs_compose, false, false, 0),
    OWN("a negative lower bound, in order", INT_BELOW, compose, below_compose, false, false, 0),
    OWN("(double, int) reversed, in order", INT_BEFORE_DOUBLE, compose_small, reversed_compose, false, false, 10007,
        10007),
    OWN("(double, int) unaligned, in order", DOUBLE_INT_TIGHT, compose_small, tight_compose, false, false, 10007,
        10007),
    OWN("whole structures with padding in front", LATE_INTS, sum, whole_late_sum, true, true, 1000003),
    OWN("whole structures with padding behind", DOUBLE_INTS, least_located, whole_least, true, true, 7, 1000),
    OWN("whole structures with padding behind, in order", DOUBLE_INTS, compose_small, whole_compose, false, true, 10007,
        10007),
    OWN("whole structures with padding between and behind", INT_GAPS, sum_and_most, whole_gaps_sum_and_most, true, true,
        1000003, 1000003),
    OWN("whole structures from below their address, in order", INT_BELOW, compose, whole_below_compose, false, true, 0),
    OWN("whole structures with padding all around, in order", INT_BEFORE_DOUBLE, compose_small, whole_reversed_compose,
        false, true, 10007, 10007),
};

const size_t variant_count = CHECK_COUNT(variants);

MPI_Op variant_op(const struct variant *variant)
{
    MPI_Op op = variant->op;

    if (NULL != variant->function) {
        MPI_Op_create(variant->function, variant->commutes, &op);
    }
    return op;
}

void variant_op_free(const struct variant *variant, MPI_Op *op)
{
    if (NULL != variant->function && MPI_OP_NULL != *op) {
        MPI_Op_free(op);
    }
}

size_t variant_unit(const struct variant *variant)
{
    const size_t input = layout_unit(variant->layouts[INPUT]), output = layout_unit(variant->layouts[OUTPUT]);

    return input > output ? input : output;
}

size_t variant_unit_bytes(const struct variant *variant)
{
    const enum layout_name name = variant->layouts[INPUT];
    const size_t unit = layout_unit(name);

    return 0 == unit ? 0 : layout_unit_bytes(name) * (variant_unit(variant) / unit);
}
