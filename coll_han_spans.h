/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The tree of a gather or a scatter by leaders: one of nodes, and one of the ranks of each, linear or binomial. Pure:
 * made from numbers, without any communication; each rank finds its part in the logarithm of the ranks.
 *
 * All ranks have a place: the root the first one, then the others of its node, from the root on in the order of the
 * node's ranks, behind whose last comes its first; then those of the next node, and so on, behind the last node the
 * first one. So what is below a rank in the tree are some places that follow one another, and their blocks are one
 * message.
 */
#ifndef MCA_COLL_HAN_SPANS_H
#define MCA_COLL_HAN_SPANS_H

#include "coll_han_dynamic.h"
#include "coll_han_topology.h"

/** What the tree depends on, and whose part of it is asked for. */
typedef struct mca_coll_han_spans_t {
    const mca_coll_han_topology_t *topology;
    int root;
    int rank;
    bool linear[HAN_LEVEL_COUNT]; /**< a level's tree is linear; else it is binomial */
} mca_coll_han_spans_t;

/** Ranks whose blocks are one message. */
typedef struct mca_coll_han_span_t {
    int rank;  /**< the first of them: who sends the message, or receives it */
    int first; /**< its place */
    int size;  /**< how many they are */
    int block; /**< where they are consecutive ranks, the first: their blocks lie side by side at the root; else -1 */
} mca_coll_han_span_t;

/** The ranks that this one sends for, or receives for, itself first. Of the root: all. */
mca_coll_han_span_t mca_coll_han_spans_own(const mca_coll_han_spans_t *spans);

/** How many children this rank has in the tree. */
int mca_coll_han_spans_children(const mca_coll_han_spans_t *spans);

/** The ranks of a child's part, from 0 on: those that lead nodes first, the farthest ones before the others. */
mca_coll_han_span_t mca_coll_han_spans_child(const mca_coll_han_spans_t *spans, int child);

/** Who is above this rank in the tree, which is not the root. */
int mca_coll_han_spans_parent(const mca_coll_han_spans_t *spans);

/** The rank that has a place. */
int mca_coll_han_spans_rank(const mca_coll_han_spans_t *spans, int place);

#endif
