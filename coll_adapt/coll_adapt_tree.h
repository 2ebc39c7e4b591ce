/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The trees along which ADAPT sends. All kinds are rows of one table; a rank computes its own parent and children from
 * numbers, without any communication and without building the whole tree.
 */
#ifndef MCA_COLL_ADAPT_TREE_H
#define MCA_COLL_ADAPT_TREE_H

#include <stdbool.h>

/** The kinds; 1 to 6 have the numbers that they have in Open MPI's adapt. A number is an index of the table. */
typedef enum {
    ADAPT_TREE_AUTO = 0, /**< the caller chooses; made as it is, it is a binomial tree */
    ADAPT_TREE_BINOMIAL = 1,
    ADAPT_TREE_IN_ORDER_BINOMIAL = 2,
    ADAPT_TREE_BINARY = 3,
    ADAPT_TREE_PIPELINE = 4,
    ADAPT_TREE_CHAIN = 5,
    ADAPT_TREE_LINEAR = 6,
    ADAPT_TREE_KNOMIAL = 7,
    ADAPT_TREE_IN_ORDER_BINARY = 8,
    ADAPT_TREE_TOPOLOGY = 9, /**< needs levels; made without them, it is a binomial tree */
    ADAPT_TREE_COUNT
} mca_coll_adapt_tree_kind_t;

/**
 * One rank's place in a tree.
 *
 * In a tree that is in order, a rank and everything below it are consecutive ranks, and so is every child's part. The
 * children then ascend, and the rank itself stands between two of them: a reduction keeps rank order as
 *     children[0] ... children[children_before - 1], own, children[children_before] ... children[child_count - 1]
 * On either side of the rank, the outermost children have most ranks below them (in a full tree).
 *
 * In all other trees children_before is 0, and the children with most ranks below them (in a full tree) come first.
 */
typedef struct mca_coll_adapt_tree_t {
    int root;            /**< rank */
    int parent;          /**< rank, -1 at the root */
    int child_count;     /**< entries in children */
    int *children;       /**< ranks, in the order in which they are served; NULL where there are none */
    int children_before; /**< in order: children whose ranks, and all ranks below them, are lower than the own rank */
} mca_coll_adapt_tree_t;

/* Private to coll_adapt_tree.c. */
struct mca_coll_adapt_tree_part_t;
struct mca_coll_adapt_tree_walk_t;

/** A kind of tree. */
typedef struct mca_coll_adapt_tree_row_t {
    const char *name;
    const char *help; /**< one sentence */
    bool in_order;    /**< for every root, a reduction can keep rank order */
    int degree;       /**< the kind's own degree; 0: the caller's counts */
    /** Finds a rank's parent and children. */
    void (*build)(struct mca_coll_adapt_tree_walk_t *walk, const struct mca_coll_adapt_tree_part_t *all,
                  const struct mca_coll_adapt_tree_row_t *row);
    /** Cuts the part of one child off a part; NULL where the parts of the children aren't consecutive. */
    void (*split)(struct mca_coll_adapt_tree_part_t *own, struct mca_coll_adapt_tree_part_t *child);
} mca_coll_adapt_tree_row_t;

/** All kinds, by number. */
extern const mca_coll_adapt_tree_row_t mca_coll_adapt_trees[ADAPT_TREE_COUNT];

/**
 * Makes one rank's place in a tree.
 *
 * @param degree chain: number of chains, at least 1; knomial: radix, at least 2; less counts as that; others ignore it
 * @param size   ranks, at least 1
 * @returns 0, or -1 where memory is short (then there is nothing to free)
 */
int mca_coll_adapt_tree_make(mca_coll_adapt_tree_t *tree, mca_coll_adapt_tree_kind_t kind, int degree, int size,
                             int root, int rank);

/**
 * Makes one rank's place in a tree of groups that know no topology (hierarchical reduce paper, section 3): each of some
 * groups of consecutive ranks, about equal, has a tree of a kind, and so have the leaders of the groups. A group is led
 * by the root where the root is in it, else by its lowest rank. What comes from inside a group need not be complete
 * before it goes on, so the two phases of the paper are one, and there are no communicators to make.
 *
 * @param degree   as of make
 * @param groups   1 and less: the tree as make makes it; more than ranks: a group for each
 * @param in_order children stand in rank order, as a reduction of which the order counts wants it: that takes a kind
 *                 which is in order. Else those in other groups come first, for they have most ranks below them
 * @returns 0, or -1 where memory is short (then there is nothing to free)
 */
int mca_coll_adapt_tree_make_groups(mca_coll_adapt_tree_t *tree, mca_coll_adapt_tree_kind_t kind, int degree,
                                    int groups, bool in_order, int size, int root, int rank);

/** A level of the topology-aware tree: who belongs together, and the kind of tree inside each group. */
typedef struct mca_coll_adapt_tree_level_t {
    const int *group_of; /**< [size] group of each rank, 0 <= group < size, in any numbering; NULL: all in one group */
    mca_coll_adapt_tree_kind_t kind;
    int degree;
} mca_coll_adapt_tree_level_t;

/**
 * Makes one rank's place in the topology-aware tree (ADAPT paper, section 3.2.1): at each level the leaders of the
 * groups of the level below (at the lowest level: all ranks) form one tree in each group, and the leaders glue them
 * together. A group is led by the root where the root is in it, else by its lowest rank. A rank serves its children of
 * the highest level, which is the slowest, first. Such a tree doesn't promise to be in order.
 *
 * @param levels      lowest first (for example socket, node, network), each made of whole groups of the one below; the
 *                    last must hold all ranks in one group
 * @param level_count at least 1
 * @returns 0, or -1 where memory is short (then there is nothing to free)
 */
int mca_coll_adapt_tree_make_topology(mca_coll_adapt_tree_t *tree, const mca_coll_adapt_tree_level_t *levels,
                                      int level_count, int size, int root, int rank);

/** Copies a place in a tree; returns 0, or -1 where memory is short. */
int mca_coll_adapt_tree_copy(mca_coll_adapt_tree_t *copy, const mca_coll_adapt_tree_t *tree);

/** Frees what make and make_topology made; a zeroed tree is fine too. */
void mca_coll_adapt_tree_free(mca_coll_adapt_tree_t *tree);

#endif
