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

/* Adds a head with so many children, its own and those of whole levels below a child, where so many are above it. */
static void add_head(struct shape *shape, uint64_t above, uint64_t children, uint64_t of_child)
{
    if (0 == above) {
        shape->root = children;
        shape->inner = of_child;
    } else if (1 == above) {
        shape->inner = max(shape->inner, children);
    }
    shape->turns = max(shape->turns, above + children);
}

/*
 * A head keeps the first block of its ranks, as long as the largest power of the radix that leaves several, and has a
 * child for each other one, the last first, which may be shorter; then so on (coll_adapt_tree.c). So a whole block is
 * as late as the last rank that its head serves, and of others only the last ones, each in the one before, have to be
 * looked at.
 *
 * bits: of the radix, a power of two
 */
static struct shape shape_of_blocks(uint64_t size, unsigned bits)
{
    const uint64_t most = (UINT64_C(1) << bits) - 1; /* children of a level */
    struct shape shape = { 0 };
    uint64_t above = 0, of_all = 0, levels = levels_of(size, bits);

    for (; size != UINT64_C(1) << levels * bits; levels = levels_of(size, bits)) {
        const uint64_t blocks = (size - 1) >> levels * bits;
        const uint64_t whole = 1 < blocks ? levels : max(levels, 1) - 1; /* levels below a child with a whole block */

        add_head(&shape, above, blocks + levels * most, whole * most);
        of_all += blocks + levels * most;
        shape.depth = max(shape.depth, above + max(1, levels + (1 < blocks)));
        shape.all = max(shape.all, of_all + most * whole * (whole + 1) / 2);
        size -= blocks << levels * bits;
        ++above;
    }
    add_head(&shape, above, levels * most, (max(levels, 1) - 1) * most);
    shape.depth = max(shape.depth, above + levels);
    shape.all = max(shape.all, of_all + most * levels * (levels + 1) / 2) - shape.depth;
    shape.turns -= shape.depth;
    return shape;
}

/* A heap: the last of a level's ranks is reached last, or one of those of the next level, if there are some. */
static struct shape shape_of_heap(uint64_t size)
{
    const uint64_t depth = rounds_of(size + 1, 2) - 1, of_last = size + 1 - (UINT64_C(1) << depth);
    const uint64_t seconds
        = shape_of_blocks(of_last, BINOMIAL_BITS).depth; /* of its ranks, those that are a second child */

    return (struct shape){ .depth = depth,
                           .root = min(size - 1, 2),
                           .inner = min(size - min(size, 3), 2),
                           .turns = max(2 * depth - 2, depth + seconds) - depth,
                           .all = depth - (1 == of_last) };
}

/* From its first rank: it has one child, and each other one a child for half of the rest, and then one for the other.
 */
static struct shape shape_of_halves(uint64_t size)
{
    struct shape shape = { .depth = 1, .root = 1, .inner = min(size - 2, 2) };

    for (uint64_t below = size - 1; 1 < below; below /= 2) {
        ++shape.depth;
        shape.turns += 2 < below;
    }
    shape.all = shape.turns;
    return shape;
}

struct shape mca_coll_han_shape_of(mca_coll_adapt_tree_kind_t kind, uint64_t size)
{
    const uint64_t others = size - 1;

    if (2 > size) {
        return (struct shape){ 0 };
    }
    switch (kind) {
    case ADAPT_TREE_LINEAR:
        return (struct shape){ .depth = 1, .root = others, .turns = others - 1, .all = others - 1 };
    case ADAPT_TREE_PIPELINE:
        return (struct shape){ .depth = others, .root = 1, .inner = 1 < others };
    case ADAPT_TREE_CHAIN: /* four of them, of which those that are longer come first */
        return (struct shape){ .depth = divide(others, HAN_RADIX),
                               .root = min(others, HAN_RADIX),
                               .inner = HAN_RADIX < others,
                               .turns
                               = min(others, HAN_RADIX) - (HAN_RADIX < others && 0 != others % HAN_RADIX ? 2 : 1),
                               .all = min(others, HAN_RADIX) - 1 };
    case ADAPT_TREE_IN_ORDER_BINARY:
        return shape_of_halves(size);
    case ADAPT_TREE_BINARY:
        return shape_of_heap(size);
    case ADAPT_TREE_KNOMIAL:
        return shape_of_blocks(size, KNOMIAL_BITS);
    default:
        return shape_of_blocks(size, BINOMIAL_BITS);
    }
}
