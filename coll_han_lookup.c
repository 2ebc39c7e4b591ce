/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nearest rule. Over the numbers of bytes, the distance of a rule is flat inside its range and rises on both sides,
 * everywhere alike where bytes are counted in doublings. Between two neighbouring ends of ranges only three rules can
 * therefore be the nearest: the best of those that lie below, the best of those around, the best of those above; and in
 * this order, so that the number of bytes at which one takes over from the other is found by halving.
 */
#include "coll_han_rules.h"

#include <stdlib.h>
#include <string.h>

/* 1 + the binary logarithm, as a fixed-point number; 0 for 0. Never falls where x rises. */
static uint64_t logarithm(size_t x)
{
    uint64_t mantissa, result = 0;
    int exponent = 0;

    if (0 == x) {
        return 0;
    }
    while (0 != x >> exponent >> 1) {
        ++exponent;
    }
    /* From 1 to below 2, with 31 binary digits behind the point; its square has twice the logarithm. */
    mantissa = 31 < exponent ? (uint64_t) x >> (exponent - 31) : (uint64_t) x << (31 - exponent);
    for (int i = 0; i < HAN_DISTANCE_BITS - 1; ++i) {
        mantissa = mantissa * mantissa >> 31;
        result <<= 1;
        if (0 != mantissa >> 32) {
            mantissa >>= 1;
            result |= 1;
        }
    }
    return ((uint64_t) exponent + 1) << HAN_DISTANCE_BITS | result << 1;
}

static uint64_t away(const mca_coll_han_range_t *range, size_t x)
{
    return x < range->low    ? (logarithm(range->low) - logarithm(x)) | 1
           : x > range->high ? (logarithm(x) - logarithm(range->high)) | 1
                             : 0;
}

bool mca_coll_han_rule_serves(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input)
{
    return 0 != (rule->collectives >> input->collective & 1)
           && (HAN_FORM_COUNT == rule->form || input->form == rule->form)
           && (HAN_ORDER_ANY == rule->order || (HAN_ORDER_CONSECUTIVE == rule->order) == input->in_order);
}

bool mca_coll_han_rule_decides(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input)
{
    return NULL != rule && !rule->leave && mca_coll_han_fits(rule->params.algorithm, input);
}

/* All but bytes. */
static uint64_t away_in_shape(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input)
{
    return away(&rule->nodes, (size_t) input->nodes) + away(&rule->ppn, (size_t) input->ppn);
}

uint64_t mca_coll_han_rule_distance(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input)
{
    return away_in_shape(rule, input) + away(&rule->bytes, input->bytes);
}

/* -- the nearest rule for any number of bytes -- */

/* Where a rule's range of bytes lies. */
enum { BELOW, AROUND, ABOVE, PLACES };

/* A rule that may be the nearest; all but bytes being given, it is so far away. */
struct candidate {
    const mca_coll_han_rule_t *rule;
    uint64_t shape;
    int64_t order[PLACES]; /* of rules that all lie there, that with the least is the nearest */
};

/* What a lookup is made with. */
struct maker {
    mca_coll_han_lookup_t *lookup;
    size_t room;                  /* rows that there is memory for */
    struct candidate *candidates; /* [count] */
    size_t count;
};

static int by_number(const void *left, const void *right)
{
    const size_t a = *(const size_t *) left, b = *(const size_t *) right;

    return a < b ? -1 : a > b;
}

/* Those for the same bytes side by side, the best of them first. */
static int by_bytes(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int order = by_number(&a->rule->bytes.low, &b->rule->bytes.low);

    order = 0 == order ? by_number(&a->rule->bytes.high, &b->rule->bytes.high) : order;
    order = 0 == order ? (a->shape < b->shape ? -1 : a->shape > b->shape) : order;
    return 0 == order ? (a->rule > b->rule ? -1 : 1) : order;
}

/* Of rules for the same bytes only the best can be the nearest. */
static int find_candidates(struct maker *maker, const mca_coll_han_rules_t *rules, const mca_coll_han_input_t *input)
{
    size_t kept = 0;

    maker->candidates = malloc((rules->count + 1) * sizeof(*maker->candidates));
    if (NULL == maker->candidates) {
        return -1;
    }
    for (size_t i = 0; i < rules->count; ++i) {
        const mca_coll_han_rule_t *rule = &rules->rules[i];

        if (mca_coll_han_rule_serves(rule, input)) {
            const uint64_t shape = away_in_shape(rule, input);

            maker->candidates[maker->count++] = (struct candidate){
                .rule = rule,
                .shape = shape,
                .order = { [BELOW] = (int64_t) shape - (int64_t) logarithm(rule->bytes.high),
                           [AROUND] = (int64_t) shape,
                           [ABOVE] = (int64_t) shape + (int64_t) logarithm(rule->bytes.low) },
            };
        }
    }
    qsort(maker->candidates, maker->count, sizeof(*maker->candidates), by_bytes);
    for (size_t i = 0; i < maker->count; ++i) {
        const mca_coll_han_range_t *bytes = &maker->candidates[i].rule->bytes;
        const mca_coll_han_range_t *last = 0 == kept ? NULL : &maker->candidates[kept - 1].rule->bytes;

        if (NULL == last || bytes->low != last->low || bytes->high != last->high) {
            maker->candidates[kept++] = maker->candidates[i];
        }
    }
    maker->count = kept;
    return 0;
}

/* Either may be NULL. */
static const struct candidate *nearer(const struct candidate *a, const struct candidate *b, size_t bytes)
{
    uint64_t a_away, b_away;

    if (NULL == a || NULL == b) {
        return NULL == a ? b : a;
    }
    a_away = a->shape + away(&a->rule->bytes, bytes);
    b_away = b->shape + away(&b->rule->bytes, bytes);
    return a_away < b_away || (a_away == b_away && a->rule > b->rule) ? a : b;
}

static int add_row(struct maker *maker, size_t from, const struct candidate *nearest)
{
    mca_coll_han_lookup_t *lookup = maker->lookup;

    if (0 < lookup->count && nearest->rule == lookup->rows[lookup->count - 1].rule) {
        return 0;
    }
    if (lookup->count == maker->room) {
        const size_t room = 0 == maker->room ? 16 : 2 * maker->room;
        void *grown = realloc(lookup->rows, room * sizeof(*lookup->rows));

        if (NULL == grown) {
            return -1;
        }
        lookup->rows = grown;
        maker->room = room;
    }
    lookup->rows[lookup->count++] = (struct mca_coll_han_lookup_row_t){ from, nearest->rule };
    return 0;
}

/* Adds rows for bytes from low to high, between which no range begins or ends. */
static int add_rows(struct maker *maker, size_t low, size_t high)
{
    const struct candidate *best[PLACES] = { NULL }, *at;

    for (size_t i = 0; i < maker->count; ++i) {
        const struct candidate *candidate = &maker->candidates[i];
        const mca_coll_han_range_t *bytes = &candidate->rule->bytes;
        const int place = low > bytes->high ? BELOW : low < bytes->low ? ABOVE : AROUND;
        const struct candidate *other = best[place];

        if (NULL == other || candidate->order[place] < other->order[place]
            || (candidate->order[place] == other->order[place] && candidate->rule > other->rule)) {
            best[place] = candidate;
        }
    }
    for (;;) {
        size_t known = low, next = high;

        at = nearer(nearer(best[BELOW], best[AROUND], low), best[ABOVE], low);
        if (0 != add_row(maker, low, at)) {
            return -1;
        }
        if (at == nearer(nearer(best[BELOW], best[AROUND], high), best[ABOVE], high)) {
            return 0;
        }
        /* It is the nearest at known and no longer at next. */
        while (1 < next - known) {
            const size_t middle = known + (next - known) / 2;
            const bool still = at == nearer(nearer(best[BELOW], best[AROUND], middle), best[ABOVE], middle);

            known = still ? middle : known;
            next = still ? next : middle;
        }
        low = next;
    }
}

int mca_coll_han_lookup_make(mca_coll_han_lookup_t *lookup, const mca_coll_han_rules_t *rules,
                             const mca_coll_han_input_t *input)
{
    struct maker maker = { .lookup = lookup };
    size_t *edges = NULL, edge_count = 0;
    int rc;

    *lookup = (mca_coll_han_lookup_t){ .made = true };
    rc = find_candidates(&maker, rules, input);
    if (0 == rc && 0 < maker.count) {
        edges = malloc((2 * maker.count + 1) * sizeof(*edges));
        rc = NULL == edges ? -1 : 0;
    }
    if (NULL != edges) {
        edges[edge_count++] = 0;
        for (size_t i = 0; i < maker.count; ++i) {
            const mca_coll_han_range_t *bytes = &maker.candidates[i].rule->bytes;

            edges[edge_count++] = bytes->low;
            edges[edge_count] = bytes->high + 1;
            edge_count += SIZE_MAX == bytes->high ? 0 : 1;
        }
        qsort(edges, edge_count, sizeof(*edges), by_number);
    }
    for (size_t i = 0; i < edge_count && 0 == rc; ++i) {
        const size_t high = i + 1 == edge_count ? SIZE_MAX : edges[i + 1] - 1;

        if (i + 1 == edge_count || edges[i] != edges[i + 1]) {
            rc = add_rows(&maker, edges[i], high);
        }
    }
    free(edges);
    free(maker.candidates);
    if (0 != rc) {
        mca_coll_han_lookup_free(lookup);
    }
    return rc;
}

const mca_coll_han_rule_t *mca_coll_han_lookup_find(const mca_coll_han_lookup_t *lookup, size_t bytes)
{
    size_t low = 0, high = lookup->count;

    if (0 == high) {
        return NULL;
    }
    while (1 < high - low) {
        const size_t middle = low + (high - low) / 2;

        low = lookup->rows[middle].from <= bytes ? middle : low;
        high = lookup->rows[middle].from <= bytes ? high : middle;
    }
    return lookup->rows[low].rule;
}

void mca_coll_han_lookup_free(mca_coll_han_lookup_t *lookup)
{
    free(lookup->rows);
    memset(lookup, 0, sizeof(*lookup));
}
