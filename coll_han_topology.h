/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The topology of one communicator: which ranks share a node (the groups of the low level), and who leads each group
 * (the leaders together are the up level). Pure: made from numbers, without any communication.
 */
#ifndef MCA_COLL_HAN_TOPOLOGY_H
#define MCA_COLL_HAN_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

/** Groups are numbered in the order of their leaders; a leader is the lowest rank of its group. */
typedef struct mca_coll_han_topology_t {
    int size;        /**< ranks */
    int group_count; /**< groups, which is the size of the up level */
    int *group_of;   /**< [size] group of a rank */
    int *place_of;   /**< [size] place of a rank in its group, which is its rank in the low level; the leader's is 0 */
    int *members;    /**< [size] ranks, group by group, ascending inside a group */
    int *first;      /**< [group_count + 1] where a group starts in members */
    int largest;     /**< ranks in the largest group */
    bool even;       /**< all groups have the same size */
    bool in_order;   /**< every group holds consecutive ranks */
} mca_coll_han_topology_t;

/**
 * Makes a topology.
 *
 * @param node_of [size] the node of each rank, as a number from 0 to node_count - 1; a node may be without ranks
 * @returns 0, or -1 where memory is short (then there is nothing to free)
 */
int mca_coll_han_topology_make(mca_coll_han_topology_t *topology, const int *node_of, int size, int node_count);

/** Frees what make made; a zeroed topology is fine too. */
void mca_coll_han_topology_free(mca_coll_han_topology_t *topology);

/** The ranks of a group, its leader first. */
static inline const int *mca_coll_han_topology_group(const mca_coll_han_topology_t *topology, int group)
{
    return topology->members + topology->first[group];
}

/** The number of ranks in a group. */
static inline int mca_coll_han_topology_group_size(const mca_coll_han_topology_t *topology, int group)
{
    return topology->first[group + 1] - topology->first[group];
}

/** The leader of a group. */
static inline int mca_coll_han_topology_leader(const mca_coll_han_topology_t *topology, int group)
{
    return topology->members[topology->first[group]];
}

/** Bytes that a topology takes. */
size_t mca_coll_han_topology_bytes(const mca_coll_han_topology_t *topology);

/**
 * Writes "4 groups of 4 (even, consecutive ranks): {0-3} {4-7} ..."; long lists are cut with "...".
 *
 * @returns text
 */
char *mca_coll_han_topology_describe(const mca_coll_han_topology_t *topology, char *text, size_t length);

#endif
