/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nearly all trees are made by cutting: a part is a run of consecutive ranks with a head; as long as it holds more than
 * its head, it is split into the part of a child and what is left to the head. A kind of tree is where the cuts are.
 * Since parts are runs, such a tree is in order by construction, for any head. Kinds without that promise count ranks
 * from the root on, cyclically, and the head is always the lowest of its part.
 */
#include "coll_adapt_tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct mca_coll_adapt_tree_part_t {
    int low;
    int high; /* the last one, inclusive */
    int head;
    int degree;
} part_t;

/* What is found on the way down from the root to one rank. */
typedef struct mca_coll_adapt_tree_walk_t {
    int rank;
    int parent;
    int *children; /* NULL: only count */
    int count;
    int before;
    int total; /* the count, known when children are written */
} walk_t;

/* ---- where the cuts are ---- */

/* Blocks of the largest power of the radix that leaves more than one block; the head keeps the block that it is in.
 * With the head in front the last block goes first: the child is the head plus the block's distance, as usual. */
static void split_radix(part_t *own, part_t *child)
{
    const int others = own->high - own->low;
    int block = 1;
    int last;

    while (block <= others / own->degree) {
        block *= own->degree;
    }
    last = own->low + others / block * block;
    if (own->head < last) {
        child->low = last;
        own->high = last - 1;
    } else {
        own->low += block;
        child->high = own->low - 1;
    }
    child->head = child->low;
}

/* As many pieces, about equal, as the head may have children; a piece is a single chain. */
static void split_chains(part_t *own, part_t *child)
{
    const int others = own->high - own->low;
    const int length = others / own->degree + (0 != others % own->degree ? 1 : 0);

    own->high -= length;
    --own->degree;
    child->low = own->high + 1;
    child->head = child->low;
    child->degree = 1;
}

/* All below the head, then all above it. */
static void split_sides(part_t *own, part_t *child)
{
    if (own->low < own->head) {
        own->low = own->head;
        child->high = own->head - 1;
    } else {
        own->high = own->head;
        child->low = own->head + 1;
    }
    child->head = child->low + (child->high - child->low) / 2;
}

/* ---- builders ---- */

/* Cuts go from the outside in: children below the rank come in ascending order, those above it in descending order. */
static void add_child(walk_t *walk, int child, bool in_order)
{
    const bool before = in_order && child < walk->rank;

    if (NULL != walk->children) {
        const int after = walk->count - walk->before;

        walk->children[before ? walk->before : in_order ? walk->total - 1 - after : walk->count] = child;
    }
    walk->count++;
    walk->before += before ? 1 : 0;
}

/* Invariant: the rank is in the own part. */
static void build_by_parts(walk_t *walk, const part_t *all, const mca_coll_adapt_tree_row_t *row)
{
    part_t own = *all;

    while (own.low < own.high) {
        part_t child = own;

        row->split(&own, &child);
        if (child.low <= walk->rank && walk->rank <= child.high) {
            walk->parent = own.head;
            own = child;
        } else if (own.head == walk->rank) {
            add_child(walk, child.head, row->in_order);
        }
    }
}

/* Breadth-first numbers, as in a heap. */
static void build_heap(walk_t *walk, const part_t *all, const mca_coll_adapt_tree_row_t *row)
{
    const long first = 2L * walk->rank + 1;

    if (0 < walk->rank) {
        walk->parent = (walk->rank - 1) / 2;
    }
    for (long child = first; child <= first + 1 && child <= all->high; ++child) {
        add_child(walk, (int) child, row->in_order);
    }
}

#define BINOMIAL_ROW .degree = 2, .build = build_by_parts, .split = split_radix

const mca_coll_adapt_tree_row_t mca_coll_adapt_trees[ADAPT_TREE_COUNT] = {
    [ADAPT_TREE_AUTO] = { .name = "auto", .help = "The component chooses by message and communicator.", BINOMIAL_ROW },
    [ADAPT_TREE_BINOMIAL]
    = { .name = "binomial", .help = "Ranks that have the data double in every round.", BINOMIAL_ROW },
    [ADAPT_TREE_IN_ORDER_BINOMIAL] = { .name = "in_order_binomial",
                                       .help = "Binomial over runs of ranks, so that reductions keep rank order.",
                                       .in_order = true,
                                       BINOMIAL_ROW },
    [ADAPT_TREE_BINARY]
    = { .name = "binary", .help = "Complete binary tree, numbered row by row.", .degree = 2, .build = build_heap },
    [ADAPT_TREE_PIPELINE] = { .name = "pipeline",
                              .help = "One chain through all ranks: each rank sends only once.",
                              .degree = 1,
                              .build = build_by_parts,
                              .split = split_chains },
    [ADAPT_TREE_CHAIN] = { .name = "chain",
                           .help = "As many chains of about equal length as the degree says, all fed by the root.",
                           .build = build_by_parts,
                           .split = split_chains },
    [ADAPT_TREE_LINEAR] = { .name = "linear", /* with such a radix each block is one rank */
                            .help = "The root serves every rank itself.",
                            .in_order = true,
                            .degree = INT_MAX,
                            .build = build_by_parts,
                            .split = split_radix },
    [ADAPT_TREE_KNOMIAL] = { .name = "knomial",
                             .help = "Like binomial, but ranks that have the data multiply by the degree.",
                             .build = build_by_parts,
                             .split = split_radix },
    [ADAPT_TREE_IN_ORDER_BINARY] = { .name = "in_order_binary",
                                     .help = "A child for the ranks below, one for those above: reductions keep rank "
                                             "order.",
                                     .in_order = true,
                                     .degree = 2,
                                     .build = build_by_parts,
                                     .split = split_sides },
    [ADAPT_TREE_TOPOLOGY] = { .name = "topology",
                              .help = "A tree of its own inside each group of each level, glued at the leaders.",
                              BINOMIAL_ROW },
};

/* A radix of 1 would never get smaller. */
static int degree_of(const mca_coll_adapt_tree_row_t *row, int wanted)
{
    const int least = split_radix == row->split ? 2 : 1;

    if (0 != row->degree) {
        return row->degree;
    }
    return wanted < least ? least : wanted;
}

/* The rank that is so many ranks further on, cyclically; by is from -size to size. */
static int turn(int rank, int by, int size)
{
    return (int) (((long) rank + by + size) % size);
}

int mca_coll_adapt_tree_make(mca_coll_adapt_tree_t *tree, mca_coll_adapt_tree_kind_t kind, int degree, int size,
                             int root, int rank)
{
    const mca_coll_adapt_tree_row_t *row = &mca_coll_adapt_trees[kind];
    const int shift = row->in_order ? 0 : root;
    const part_t all = { .low = 0, .high = size - 1, .head = root - shift, .degree = degree_of(row, degree) };
    const walk_t start = { .rank = turn(rank, -shift, size), .parent = -1 };
    walk_t walk = start;

    memset(tree, 0, sizeof(*tree));
    row->build(&walk, &all, row);
    if (0 < walk.count) {
        const int total = walk.count;

        tree->children = malloc((size_t) total * sizeof(int));
        if (NULL == tree->children) {
            return -1;
        }
        walk = start;
        walk.total = total;
        walk.children = tree->children;
        row->build(&walk, &all, row);
    }
    tree->root = root;
    tree->parent = -1 == walk.parent ? -1 : turn(walk.parent, shift, size);
    tree->child_count = walk.count;
    tree->children_before = walk.before;
    for (int i = 0; i < tree->child_count; ++i) {
        tree->children[i] = turn(tree->children[i], shift, size);
    }
    return 0;
}

/* Puts the children of a level above around those of the lower levels: so many of them before, the others behind. */
static int glue(mca_coll_adapt_tree_t *tree, const mca_coll_adapt_tree_t *upper, int before)
{
    const size_t above = (size_t) upper->child_count, below = (size_t) tree->child_count, first = (size_t) before;
    int *children;

    if (0 == above) {
        return 0;
    }
    children = malloc((above + below) * sizeof(int));
    if (NULL == children) {
        return -1;
    }
    memcpy(children, upper->children, first * sizeof(int));
    if (0 < below) {
        memcpy(children + first, tree->children, below * sizeof(int));
    }
    memcpy(children + first + below, upper->children + first, (above - first) * sizeof(int));
    free(tree->children);
    tree->children = children;
    tree->child_count = (int) (above + below);
    return 0;
}

/* ---- groups that know no topology ---- */

/* Ranks that are about equally shared out among groups, consecutive ones to each: the first groups have one more. */
struct shares {
    int size, groups;
    int root;
};

static int first_of(const struct shares *shares, int group)
{
    const int longer = shares->size % shares->groups;

    return group * (shares->size / shares->groups) + (group < longer ? group : longer);
}

static int group_with(const struct shares *shares, int rank)
{
    const int length = shares->size / shares->groups, longer = shares->size % shares->groups;
    const int in_longer = longer * (length + 1);

    return rank < in_longer ? rank / (length + 1) : longer + (rank - in_longer) / length;
}

static int leader_in(const struct shares *shares, int group)
{
    return group == group_with(shares, shares->root) ? shares->root : first_of(shares, group);
}

/* Adds the tree of the leaders. */
static int join_leaders(mca_coll_adapt_tree_t *tree, const struct shares *shares, mca_coll_adapt_tree_kind_t kind,
                        int degree, bool in_order, int group)
{
    mca_coll_adapt_tree_t leaders;
    int result;

    if (0
        != mca_coll_adapt_tree_make(&leaders, kind, degree, shares->groups, group_with(shares, shares->root), group)) {
        return -1;
    }
    for (int i = 0; i < leaders.child_count; ++i) {
        leaders.children[i] = leader_in(shares, leaders.children[i]);
    }
    tree->parent = -1 == leaders.parent ? -1 : leader_in(shares, leaders.parent);
    tree->children_before += leaders.children_before;
    result = glue(tree, &leaders, in_order ? leaders.children_before : leaders.child_count);
    mca_coll_adapt_tree_free(&leaders);
    return result;
}

int mca_coll_adapt_tree_make_groups(mca_coll_adapt_tree_t *tree, mca_coll_adapt_tree_kind_t kind, int degree,
                                    int groups, bool in_order, int size, int root, int rank)
{
    const struct shares shares = { .size = size,
                                   .groups = groups < 1      ? 1
                                             : groups < size ? groups
                                                             : size,
                                   .root = root };
    const int group = group_with(&shares, rank), first = first_of(&shares, group), leader = leader_in(&shares, group);
    int result = mca_coll_adapt_tree_make(tree, kind, degree, first_of(&shares, group + 1) - first, leader - first,
                                          rank - first);

    tree->root = root;
    tree->parent = -1 == tree->parent ? -1 : first + tree->parent;
    for (int i = 0; i < tree->child_count; ++i) {
        tree->children[i] += first;
    }
    if (0 == result && leader == rank) {
        result = join_leaders(tree, &shares, kind, degree, in_order, group);
    }
    if (0 != result) {
        mca_coll_adapt_tree_free(tree);
    } else if (!in_order && 1 < shares.groups) {
        tree->children_before = 0;
    }
    return result;
}

/* ---- topology-aware ---- */

/* Leaders so far, ascending. The scratch arrays have one entry for each rank. */
struct climb {
    int root;
    int rank;
    int count;
    int *leaders;
    int *members;   /* leaders in the own group */
    int *leader_of; /* group -> its leader at this level, -1: none */
};

static int group_at(const mca_coll_adapt_tree_level_t *level, int rank)
{
    return NULL == level->group_of ? 0 : level->group_of[rank];
}

static void find_leaders(struct climb *climb, const mca_coll_adapt_tree_level_t *level, int size)
{
    for (int group = 0; group < size; ++group) {
        climb->leader_of[group] = -1;
    }
    for (int i = 0; i < climb->count; ++i) {
        int *leader = &climb->leader_of[group_at(level, climb->leaders[i])];

        if (-1 == *leader || climb->leaders[i] == climb->root) {
            *leader = climb->leaders[i];
        }
    }
}

/* Adds the tree inside the rank's group at one level. */
static int join_level(mca_coll_adapt_tree_t *tree, struct climb *climb, const mca_coll_adapt_tree_level_t *level)
{
    const int group = group_at(level, climb->rank);
    mca_coll_adapt_tree_t inside;
    int place = 0;
    int head = 0;
    int size = 0;
    int result;

    for (int i = 0; i < climb->count; ++i) {
        const int leader = climb->leaders[i];

        if (group_at(level, leader) == group) {
            place = leader == climb->rank ? size : place;
            head = leader == climb->leader_of[group] ? size : head;
            climb->members[size++] = leader;
        }
    }
    if (0 != mca_coll_adapt_tree_make(&inside, level->kind, level->degree, size, head, place)) {
        return -1;
    }
    for (int i = 0; i < inside.child_count; ++i) {
        inside.children[i] = climb->members[inside.children[i]];
    }
    result = glue(tree, &inside, inside.child_count);
    if (-1 != inside.parent) {
        tree->parent = climb->members[inside.parent];
    }
    mca_coll_adapt_tree_free(&inside);
    return result;
}

static void keep_leaders(struct climb *climb, const mca_coll_adapt_tree_level_t *level)
{
    int count = 0;

    for (int i = 0; i < climb->count; ++i) {
        const int rank = climb->leaders[i];

        if (climb->leader_of[group_at(level, rank)] == rank) {
            climb->leaders[count++] = rank;
        }
    }
    climb->count = count;
}

int mca_coll_adapt_tree_make_topology(mca_coll_adapt_tree_t *tree, const mca_coll_adapt_tree_level_t *levels,
                                      int level_count, int size, int root, int rank)
{
    int *scratch = malloc(3 * (size_t) size * sizeof(int));
    struct climb climb = { .root = root, .rank = rank, .count = size };
    int result = 0;

    memset(tree, 0, sizeof(*tree));
    if (NULL == scratch) {
        return -1;
    }
    climb.leaders = scratch;
    climb.members = scratch + size;
    climb.leader_of = climb.members + size;
    for (int i = 0; i < size; ++i) {
        climb.leaders[i] = i;
    }
    tree->root = root;
    tree->parent = -1;
    /* A rank with a parent leads nothing, so it has no part in the levels above. */
    for (int i = 0; i < level_count && 0 == result && -1 == tree->parent; ++i) {
        find_leaders(&climb, &levels[i], size);
        result = join_level(tree, &climb, &levels[i]);
        keep_leaders(&climb, &levels[i]);
    }
    free(scratch);
    if (0 != result) {
        mca_coll_adapt_tree_free(tree);
    }
    return result;
}

int mca_coll_adapt_tree_copy(mca_coll_adapt_tree_t *copy, const mca_coll_adapt_tree_t *tree)
{
    *copy = *tree;
    if (0 == tree->child_count) {
        copy->children = NULL;
        return 0;
    }
    copy->children = malloc((size_t) tree->child_count * sizeof(int));
    if (NULL == copy->children) {
        memset(copy, 0, sizeof(*copy));
        return -1;
    }
    memcpy(copy->children, tree->children, (size_t) tree->child_count * sizeof(int));
    return 0;
}

void mca_coll_adapt_tree_free(mca_coll_adapt_tree_t *tree)
{
    free(tree->children);
    memset(tree, 0, sizeof(*tree));
}
