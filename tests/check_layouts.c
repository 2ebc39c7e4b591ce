/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <math.h>
#include <string.h>

/* ---- items ---- */

static const struct {
    size_t bytes;
    MPI_Datatype type;
} atoms[] = {
    [BYTE] = { 1, MPI_BYTE },     [SCHAR] = { 1, MPI_SIGNED_CHAR }, [SHORT] = { 2, MPI_SHORT },
    [INT] = { 4, MPI_INT },       [LONG] = { 8, MPI_LONG },         [FLOAT] = { 4, MPI_FLOAT },
    [DOUBLE] = { 8, MPI_DOUBLE }, [FRACTION] = { 8, MPI_DOUBLE },
};

#define PUT(type, value)                                                                                               \
    do {                                                                                                               \
        const type item = (type) (value);                                                                              \
        memcpy(to, &item, sizeof(item));                                                                               \
    } while (0)

void atom_put(enum atom atom, unsigned char *to, int64_t number)
{
    switch (atom) {
    case BYTE:
    case SCHAR:
        PUT(uint8_t, number);
        break;
    case SHORT:
        PUT(int16_t, number);
        break;
    case INT:
        PUT(int32_t, number);
        break;
    case LONG:
        PUT(int64_t, number);
        break;
    case FLOAT:
        PUT(float, number);
        break;
    case DOUBLE:
        PUT(double, number);
        break;
    case FRACTION:
        PUT(double, (double) number / 3);
        break;
    }
}

#define GET(type, expression)                                                                                          \
    do {                                                                                                               \
        type item;                                                                                                     \
        memcpy(&item, from, sizeof(item));                                                                             \
        return (int64_t) (expression);                                                                                 \
    } while (0)

int64_t atom_get(enum atom atom, const unsigned char *from)
{
    switch (atom) {
    case BYTE:
        GET(uint8_t, item);
    case SCHAR:
        GET(int8_t, item);
    case SHORT:
        GET(int16_t, item);
    case INT:
        GET(int32_t, item);
    case LONG:
        GET(int64_t, item);
    case FLOAT:
        GET(float, item);
    case DOUBLE:
        GET(double, item);
    case FRACTION:
        GET(double, llround(item * 3));
    }
    return 0;
}

size_t atom_bytes(enum atom atom)
{
    return atoms[atom].bytes;
}

/* ---- layouts ---- */

enum family { FAMILY_BYTES, FAMILY_INTS, FAMILY_DOUBLE_INTS, FAMILY_NONE };

enum { EXTENT_OF_NOTHING = 8, ELEMENTS_OF_NOTHING = 5 };

#define ONE_ITEM(kind, bytes, mpi)                                                                                     \
    {                                                                                                                  \
        .family = FAMILY_NONE, .period = 1, .items = { { kind, 0 } }, .extent = (bytes), .ready = (mpi), .repeat = 1   \
    }

static const struct layout layouts[LAYOUTS] = {
    [BYTES]
    = { .family = FAMILY_BYTES, .period = 1, .items = { { BYTE, 0 } }, .extent = 1, .ready = MPI_BYTE, .repeat = 1 },
    [BYTE_GAPS] = { .family = FAMILY_BYTES,
                    .period = 1,
                    .items = { { BYTE, 1 } },
                    .extent = 3,
                    .ready = MPI_DATATYPE_NULL,
                    .repeat = 1 },
    [WHOLE_BYTES] = { .family = FAMILY_BYTES,
                      .period = 1,
                      .items = { { BYTE, 0 } },
                      .stride = 1,
                      .whole = true,
                      .ready = MPI_DATATYPE_NULL },
    [WHOLE_BYTES_DOWN] = { .family = FAMILY_BYTES,
                           .period = 1,
                           .items = { { BYTE, 0 } },
                           .stride = -3,
                           .whole = true,
                           .ready = MPI_DATATYPE_NULL },
    [INTS]
    = { .family = FAMILY_INTS, .period = 1, .items = { { INT, 0 } }, .extent = 4, .ready = MPI_INT, .repeat = 1 },
    [INT_PAIRS] = { .family = FAMILY_INTS,
                    .period = 2,
                    .items = { { INT, 0 }, { INT, 4 } },
                    .extent = 8,
                    .ready = MPI_2INT,
                    .repeat = 1 },
    [INT_GAPS] = { .family = FAMILY_INTS,
                   .period = 2,
                   .items = { { INT, 0 }, { INT, 12 } },
                   .extent = 24,
                   .ready = MPI_DATATYPE_NULL,
                   .repeat = 1 },
    [INT_BELOW] = { .family = FAMILY_INTS,
                    .period = 2,
                    /* So far below its address that who forgets that writes into what malloc() keeps in front of
                       memory, and we behind. */
                    .items = { { INT, 8 }, { INT, -72 } },
                    .low = -80,
                    .extent = 100,
                    .ready = MPI_DATATYPE_NULL,
                    .repeat = 1 },
    [INTS_DOWN] = { .family = FAMILY_INTS,
                    .period = 1,
                    .items = { { INT, 0 } },
                    .low = -12,
                    .extent = 24,
                    .ready = MPI_DATATYPE_NULL,
                    .repeat = 2,
                    .stride = -12 },
    [WHOLE_INTS] = { .family = FAMILY_INTS,
                     .period = 1,
                     .items = { { INT, 0 } },
                     .stride = 4,
                     .whole = true,
                     .ready = MPI_DATATYPE_NULL },
    /* Without gaps, but not at the address, as MPI_Type_create_subarray() makes it: who takes it for something that
     * begins there moves what is in front. */
    [WHOLE_ROW] = { .family = FAMILY_INTS,
                    .period = 1,
                    .items = { { INT, 64 } },
                    .stride = 4,
                    .whole = true,
                    .ready = MPI_DATATYPE_NULL },
    [DOUBLE_INTS] = { .family = FAMILY_DOUBLE_INTS,
                      .period = 2,
                      .items = { { DOUBLE, 0 }, { INT, 8 } },
                      .extent = 16,
                      .ready = MPI_DOUBLE_INT,
                      .repeat = 1 },
    [DOUBLE_INT_TIGHT] = { .family = FAMILY_DOUBLE_INTS,
                           .period = 2,
                           .items = { { DOUBLE, 0 }, { INT, 8 } },
                           .extent = 12,
                           .ready = MPI_DATATYPE_NULL,
                           .repeat = 1 },
    [INT_BEFORE_DOUBLE] = { .family = FAMILY_DOUBLE_INTS,
                            .period = 2,
                            .items = { { DOUBLE, 8 }, { INT, -4 } },
                            .low = -8,
                            .extent = 40,
                            .ready = MPI_DATATYPE_NULL,
                            .repeat = 1 },
    [WHOLE_DOUBLE_INTS] = { .family = FAMILY_DOUBLE_INTS,
                            .period = 2,
                            .items = { { DOUBLE, 0 }, { INT, 8 } },
                            .stride = 20,
                            .whole = true,
                            .ready = MPI_DATATYPE_NULL },
    [NOTHING] = { .family = FAMILY_NONE, .extent = EXTENT_OF_NOTHING, .ready = MPI_DATATYPE_NULL, .repeat = 1 },
    [LATE_INTS] = { .family = FAMILY_NONE,
                    .period = 1,
                    .items = { { INT, 4 } },
                    .low = 4,
                    .extent = 8,
                    .ready = MPI_DATATYPE_NULL,
                    .repeat = 1 },
    [SCHARS] = ONE_ITEM(SCHAR, 1, MPI_SIGNED_CHAR),
    [SHORTS] = ONE_ITEM(SHORT, 2, MPI_SHORT),
    [LONGS] = ONE_ITEM(LONG, 8, MPI_LONG),
    [FLOATS] = ONE_ITEM(FLOAT, 4, MPI_FLOAT),
    [DOUBLES] = ONE_ITEM(DOUBLE, 8, MPI_DOUBLE),
    [COMPLEXES] = { .family = FAMILY_NONE,
                    .period = 2,
                    .items = { { DOUBLE, 0 }, { DOUBLE, 8 } },
                    .extent = 16,
                    .ready = MPI_C_DOUBLE_COMPLEX,
                    .repeat = 1 },
    [FRACTIONS] = ONE_ITEM(FRACTION, 8, MPI_DOUBLE),
    [BOOLS] = ONE_ITEM(BYTE, 1, MPI_C_BOOL),
    [SHORT_INTS] = { .family = FAMILY_NONE,
                     .period = 2,
                     .items = { { SHORT, 0 }, { INT, 4 } },
                     .extent = 8,
                     .ready = MPI_SHORT_INT,
                     .repeat = 1 },
    [LONG_INTS] = { .family = FAMILY_NONE,
                    .period = 2,
                    .items = { { LONG, 0 }, { INT, 8 } },
                    .extent = 16,
                    .ready = MPI_LONG_INT,
                    .repeat = 1 },
    [FLOAT_INTS] = { .family = FAMILY_NONE,
                     .period = 2,
                     .items = { { FLOAT, 0 }, { INT, 4 } },
                     .extent = 8,
                     .ready = MPI_FLOAT_INT,
                     .repeat = 1 },
};

static const enum family families_by_rank[] = {
    [INTS_BY_RANK - LAYOUTS] = FAMILY_INTS,
    [DOUBLE_INTS_BY_RANK - LAYOUTS] = FAMILY_DOUBLE_INTS,
    [BYTES_BY_RANK - LAYOUTS] = FAMILY_BYTES,
};

/* The layouts of a family stand together in the table. */
static const struct layout *by_rank(enum family family, int rank)
{
    int first = 0, count = 0;

    while ((int) family != layouts[first].family) {
        ++first;
    }
    while ((int) family == layouts[first + count].family) {
        ++count;
    }
    return &layouts[first + rank % count];
}

struct layout layout_find(enum layout_name name, int rank, size_t most_words)
{
    struct layout layout = LAYOUTS <= name ? *by_rank(families_by_rank[name - LAYOUTS], rank) : layouts[name];

    if (layout.whole) {
        layout.repeat = most_words < layout.period ? 1 : most_words / layout.period;
        layout.extent
            = layout.items[0].place + (ptrdiff_t) layout.repeat * (0 > layout.stride ? -layout.stride : layout.stride);
        layout.low = 0 > layout.stride ? (ptrdiff_t) (layout.repeat - 1) * layout.stride : 0;
    }
    return layout;
}

size_t layout_unit(enum layout_name name)
{
    if (LAYOUTS <= name) {
        return BYTES_BY_RANK == name ? 1 : 2;
    }
    return layouts[name].whole ? layouts[name].period : layout_words(&layouts[name]);
}

size_t layout_unit_bytes(enum layout_name name)
{
    const struct layout layout = layout_find(name, 0, 1);
    size_t bytes = 0;

    for (size_t w = 0; w < layout_unit(name); ++w) {
        bytes += atom_bytes(layout.items[w % layout.period].atom);
    }
    return bytes;
}

size_t layout_words(const struct layout *layout)
{
    return layout->period * layout->repeat;
}

size_t layout_elements(const struct layout *layout, size_t words)
{
    return 0 == layout->period ? ELEMENTS_OF_NOTHING : words / layout_words(layout);
}

struct item layout_word(const struct layout *layout, size_t i)
{
    const size_t words = layout_words(layout);
    struct item item = layout->items[0];
    size_t inside;

    /* Most elements are one word, and dividing takes longer than all else that is done with it. */
    if (1 == words) {
        item.place += (ptrdiff_t) i * layout->extent;
        return item;
    }
    inside = i % words;
    item = layout->items[inside % layout->period];
    item.place += (ptrdiff_t) (i / words) * layout->extent + (ptrdiff_t) (inside / layout->period) * layout->stride;
    return item;
}

ptrdiff_t layout_first(const struct layout *layout)
{
    return 0 < layout->low ? 0 : layout->low;
}

void layout_span(const struct layout *layout, size_t count, bool whole, ptrdiff_t *first, ptrdiff_t *last)
{
    const size_t words = layout_words(layout);

    *first = *last = 0;
    if (whole && 0 < count) {
        *first = layout_first(layout);
        *last = *first + (ptrdiff_t) count * layout->extent;
        return;
    }
    for (size_t w = 0; w < 2 * words && 0 < count; ++w) {
        const struct item item = layout_word(layout, w < words ? w : (count - 2) * words + w);
        const ptrdiff_t end = item.place + (ptrdiff_t) atom_bytes(item.atom);

        *first = 0 == w || item.place < *first ? item.place : *first;
        *last = 0 == w || end > *last ? end : *last;
    }
}

/* ---- types ---- */

/* As if its first word were at the address. */
static MPI_Datatype make_period(const struct layout *layout)
{
    MPI_Datatype types[MOST_WORDS], type;
    MPI_Aint places[MOST_WORDS];
    int lengths[MOST_WORDS];

    for (size_t w = 0; w < layout->period; ++w) {
        places[w] = layout->items[w].place - layout->items[0].place;
        types[w] = atoms[layout->items[w].atom].type;
        lengths[w] = 1;
    }
    MPI_Type_create_struct((int) layout->period, lengths, places, types, &type);
    return type;
}

MPI_Datatype layout_type(const struct layout *layout)
{
    MPI_Datatype type = layout->ready, period, repeated, moved;
    const MPI_Aint first = layout->items[0].place;
    const int one = 1;

    if (MPI_DATATYPE_NULL != type) {
        return type;
    }
    period = make_period(layout);
    MPI_Type_create_hvector((int) layout->repeat, 1, layout->stride, period, &repeated);
    /* Moved as a whole, so that Open MPI knows data without gaps as such, wherever they begin. */
    MPI_Type_create_hindexed(1, &one, &first, repeated, &moved);
    MPI_Type_create_resized(moved, layout->low, layout->extent, &type);
    MPI_Type_free(&period);
    MPI_Type_free(&repeated);
    MPI_Type_free(&moved);
    MPI_Type_commit(&type);
    return type;
}

void layout_type_free(const struct layout *layout, MPI_Datatype *type)
{
    if (MPI_DATATYPE_NULL == layout->ready && MPI_DATATYPE_NULL != *type) {
        MPI_Type_free(type);
    }
}
