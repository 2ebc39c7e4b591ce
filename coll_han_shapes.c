/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the cost model has to know of a tree, by the number of its ranks, without walking through them: the trees are
 * those of coll_adapt_tree.c, served in that order.
 */
#include "coll_han_costs.h"

enum { BINOMIAL_BITS = 1, KNOMIAL_BITS = 2 };

_Static_assert(1 << KNOMIAL_BITS == HAN_RADIX, "the radix of knomial trees");

/* The exponent of the largest power of a radix of so many bits that is at most the size. */
static unsigned levels_of(uint64_t size, unsigned bits)
{
    return (63 - (unsigned) __builtin_clzll(size)) / bits;
}

/* Adds a rank that may be the last one to be reached. */
static void add_end(struct shape *shape, uint64_t hops, uint64_t turns, uint64_t all)
{
    const struct end end = { hops, turns, all };
    struct end *deepest = &shape->deepest, *latest = &shape->latest;

    if (deepest->hops < hops) {
        *deepest = end;
    } else if (deepest->hops == hops) {
        deepest->turns = max(deepest->turns, turns);
        deepest->all = max(deepest->all, all);
    }
    if (latest->hops + latest->turns < hops + turns
        || (latest->hops + latest->turns == hops + turns && latest->hops < hops)) {
        *latest = end;
    }
}

/*
 * A head keeps the first block of its ranks, as long as the largest power of the radix that leaves several, and has a
 * child for each other one, the last first, which may be shorter; then so on. In whole blocks the ranks that are below
 * most others are reached last. Of the others only the last ones have to be looked at, each in the one before. No rank
 * has as many children as the root, so the most of another one are left out.
 *
 * bits: of the radix, a power of two
 */
static struct shape shape_of_blocks(uint64_t size, unsigned bits)
{
    const uint64_t most = (UINT64_C(1) << bits) - 1; /* children of a level */
    struct shape shape = { 0 };
    uint64_t above = 0, all = 0, levels = levels_of(size, bits);

    for (; size != UINT64_C(1) << levels * bits; levels = levels_of(size, bits)) {
        const uint64_t blocks = (size - 1) >> levels * bits, children = blocks + levels * most;
        const uint64_t whole = 1 < blocks ? levels : max(levels, 1) - 1; /* levels below a child with a whole block */
        const uint64_t hops = above + 1 + whole;

        shape.root = max(shape.root, children);
        all += children;
        add_end(&shape, hops, above + children - hops, all + most * whole * (whole + 1) / 2 - hops);
        size -= blocks << levels * bits;
        ++above;
    }
    shape.root = max(shape.root, levels * most);
    add_end(&shape, above + levels, levels * (most - 1), all + most * levels * (levels + 1) / 2 - above - levels);
    return shape;
}

/* A heap: the last of a level's ranks is reached last, or one of those of the next level, if there are some. */
static struct shape shape_of_heap(uint64_t size)
{
    const uint64_t depth = levels_of(size, BINOMIAL_BITS), of_last = size + 1 - (UINT64_C(1) << depth);
    /* Of its ranks, those that are a second child. */
    const uint64_t seconds = shape_of_blocks(of_last, BINOMIAL_BITS).deepest.hops;
    struct shape shape = { .root = min(size - 1, 2), .inner = min(size - min(size, 3), 2) };

    add_end(&shape, depth - 1, depth - 1, depth - 1);
    add_end(&shape, depth, seconds, depth - (1 == of_last));
    return shape;
}

/* From its first rank: it has one child, and each other one a child for half of the rest, and then one for the other.
 */
static struct shape shape_of_halves(uint64_t size)
{
    struct end end = { .hops = 1 };

    for (uint64_t below = size - 1; 1 < below; below /= 2) {
        ++end.hops;
        end.turns += 2 < below;
    }
    end.all = end.turns;
    return (struct shape){ .root = 1, .inner = min(size - 2, 2), .deepest = end, .latest = end };
}

/* As many chains as the radix is, of which those that are longer come first. */
static struct shape shape_of_chains(uint64_t size)
{
    const uint64_t others = size - 1, chains = min(others, HAN_RADIX), longer = others % HAN_RADIX;
    const uint64_t depth = divide(others, HAN_RADIX);
    struct shape shape = { .root = chains, .inner = HAN_RADIX < others };

    add_end(&shape, depth, (0 == longer ? chains : longer) - 1, chains - 1);
    if (HAN_RADIX < others && 0 != longer) {
        add_end(&shape, depth - 1, chains - 1, chains - 1);
    }
    return shape;
}

struct shape mca_coll_han_shape_of(mca_coll_adapt_tree_kind_t kind, uint64_t size)
{
    const uint64_t others = size - 1;
    struct shape shape = { 0 };

    if (2 > size) {
        return shape;
    }
    switch (kind) {
    case ADAPT_TREE_LINEAR:
        shape.root = others;
        add_end(&shape, 1, others - 1, others - 1);
        return shape;
    case ADAPT_TREE_PIPELINE:
        shape.root = 1;
        shape.inner = 1 < others;
        add_end(&shape, others, 0, 0);
        return shape;
    case ADAPT_TREE_CHAIN:
        return shape_of_chains(size);
    case ADAPT_TREE_IN_ORDER_BINARY:
        return shape_of_halves(size);
    case ADAPT_TREE_BINARY:
        return shape_of_heap(size);
    case ADAPT_TREE_KNOMIAL:
        return shape_of_blocks(size, KNOMIAL_BITS);
    case ADAPT_TREE_IN_ORDER_BINOMIAL: /* ranks with fewer below them come first, so the last ones wait for all */
        shape = shape_of_blocks(size, BINOMIAL_BITS);
        shape.deepest.turns = shape.deepest.all;
        shape.latest = shape.deepest;
        return shape;
    default:
        return shape_of_blocks(size, BINOMIAL_BITS);
    }
}
