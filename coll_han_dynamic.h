/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Decisions: what they depend on, what they say, and by which names a user knows it. Pure: shared by the component, the
 * parser of rules and the tools.
 */
#ifndef MCA_COLL_HAN_DYNAMIC_H
#define MCA_COLL_HAN_DYNAMIC_H

#include <stdbool.h>
#include <stddef.h>

#include "coll_adapt/coll_adapt_tree.h"
#include "coll_han_collectives.h"

/** "bcast", ... : as in names of parameters. */
extern const char *const mca_coll_han_collective_names[HAN_COLLECTIVE_COUNT];

/** The levels. Today two; the engine does not know how many there are. */
typedef enum {
    HAN_LOW, /**< ranks that share a node */
    HAN_UP,  /**< the node leaders */
    HAN_LEVEL_COUNT
} mca_coll_han_level_id_t;

/** "low", "up": as in names of parameters. */
extern const char *const mca_coll_han_level_names[HAN_LEVEL_COUNT];

/** The components that HAN takes submodules from; an index of arrays. */
typedef enum {
    HAN_AUTO = -1, /**< the rules choose */
    HAN_LIBNBC,
    HAN_ADAPT,
    HAN_TUNED,
    HAN_SM,
    HAN_BASIC,
    HAN_SOLO,
    HAN_SUBMODULE_COUNT
} mca_coll_han_submodule_t;

/** "libnbc", ... : the components' names. */
extern const char *const mca_coll_han_submodule_names[HAN_SUBMODULE_COUNT];

/** Most submodules that a level chooses from. */
enum { HAN_CHOICE_COUNT = 4 };

/** The submodule behind a number in ..._up_module and ..._low_module; HAN_AUTO where there is none. */
extern const mca_coll_han_submodule_t mca_coll_han_choices[HAN_LEVEL_COUNT][HAN_CHOICE_COUNT];

/** "binomial", ... : names of ADAPT's trees, which are in another component. */
extern const char *const mca_coll_han_tree_names[ADAPT_TREE_COUNT];

/** One way to do a collective; what a row of an algorithm table says. */
typedef struct mca_coll_han_algorithm_t {
    const char *name;
    const char *help; /**< one sentence */
} mca_coll_han_algorithm_t;

/** The algorithms; an index of mca_coll_han_algorithms. */
typedef enum {
    HAN_FALLBACK,
    HAN_SIMPLE,
    HAN_PIPELINE,
    HAN_TREE,
    HAN_RING,
    HAN_EXCHANGE,
    HAN_LEADERS,
    HAN_UP_ALLREDUCE,
    HAN_GROUPS,
    HAN_CHAIN,
    HAN_ALGORITHM_COUNT
} mca_coll_han_algorithm_id_t;

extern const mca_coll_han_algorithm_t mca_coll_han_algorithms[HAN_ALGORITHM_COUNT];

/** Topology-aware trees are kept, this many at most, and a call has no more: to make one takes a look at every rank. */
enum { HAN_TREES_KEPT = 256 };

/** Most lanes of a tree; a ring, which has a tree for each node in each lane, may have fewer. */
enum { HAN_MOST_LANES = 16 };

/** Most memory that a rank takes for a call beside the user's buffers. */
enum { HAN_MOST_MEMORY = 64 << 20 };

/** Most memory for a segment of elements with gaps. */
enum { HAN_SEGMENT_MEMORY = 256 << 10 };

/** Longest block that is short. */
enum { HAN_SHORT_BLOCK = 4096 };

/** Leaders up to which each tells all others at once; of more, each knows twice as much after each round. */
enum { HAN_FEW_LEADERS = 4 };

/** A scan's segments: their size in the built-in rules, most of a message, and those under way at once. */
enum { HAN_SCAN_SEGMENT = 16384, HAN_SCAN_SEGMENTS = 1024, HAN_SCAN_AT_ONCE = 4 };

/**
 * Messages of an exchange that count as sent at once: up to so many bytes. Of longer ones a root of more ranks has so
 * many under way: as many senders at a time a link's queue has room for, and MPI memory for as many short ones.
 */
enum { HAN_EXCHANGE_BUFFERED = 16384, HAN_EXCHANGE_ROOT_WINDOW = 32 };

/**
 * A segment that TCP sends without asking: its eager limit is 64 KB with a header. Where the limit is lower, past the
 * kernel, segments that fit would be so short that the processor is longer at them than the link.
 */
enum { HAN_EAGER_SEGMENT = 60 << 10 };

/** Largest segment: inner collectives count in int. */
enum { HAN_LARGEST_SEGMENT = 1 << 30 };

/** What a decision depends on: equal on all ranks (HAN paper, table I). */
typedef struct mca_coll_han_input_t {
    mca_coll_han_collective_t collective;
    int nodes;     /**< groups of the topology */
    int ppn;       /**< ranks of the largest group */
    bool in_order; /**< every group holds consecutive ranks */
    bool uneven;   /**< groups have different sizes */
    size_t bytes;  /**< packed */
    size_t packed; /**< bytes of an element of a reduction; 0: 1 */
    size_t room;   /**< memory for such an element, with its gaps; 0: as much as it has bytes */
    mca_coll_han_form_t form;
    bool adapt;      /**< the communicator has a module of adapt, and its messages keep their order */
    bool in_place;   /**< of collectives without a root */
    bool commutes;   /**< the operation does, or there is none */
    bool root_leads; /**< the root leads its node, or there is none */
    bool anywhere;   /**< results may not depend on where ranks are */
    bool flat;       /**< there are no sub-communicators for levels */
} mca_coll_han_input_t;

/** The outcome of a decision (HAN paper, table II). */
typedef struct mca_coll_han_params_t {
    mca_coll_han_algorithm_id_t algorithm;
    size_t fs;                        /**< segment size, packed bytes */
    int depth;                        /**< segments under way at the up level */
    mca_coll_han_submodule_t imod;    /**< up */
    mca_coll_han_submodule_t smod;    /**< low */
    mca_coll_adapt_tree_kind_t ibalg; /**< tree between nodes, of what comes down it, where adapt does it */
    mca_coll_adapt_tree_kind_t iralg; /**< the same of what goes up it only: reduce, reduce_scatter(_block) */
    size_t ibs;                       /**< segment size along ibalg; 0: whole segments */
    size_t irs;                       /**< segment size along iralg; 0: whole segments */
    mca_coll_adapt_tree_kind_t sbalg; /**< tree inside a node, of algorithm tree; ADAPT_TREE_AUTO: by ranks of a node */
    int lanes;                        /**< of trees and rings: ranks of a node that share its links, each with a part of the message */
    int groups;                       /**< of algorithm groups; 0: about as many as each has ranks */
    const char *why;                  /**< the rule, as text */
} mca_coll_han_params_t;

/** What the user can set for each collective. All are read anew in each call. */
typedef struct mca_coll_han_settings_t {
    int algorithm;  /**< mca_coll_han_algorithm_id_t, or HAN_AUTO */
    int segsize;    /**< bytes, 0: the rules choose */
    int up_module;  /**< a number of mca_coll_han_choices, or HAN_AUTO */
    int low_module; /**< a number of mca_coll_han_choices, or HAN_AUTO */
    int lanes;      /**< 0: the rules choose */
    int groups;     /**< 0: the rules choose */
} mca_coll_han_settings_t;

/** Of a user who has set nothing. */
extern const mca_coll_han_settings_t mca_coll_han_unset;

/** An input that no algorithm for the collective declines. */
mca_coll_han_input_t mca_coll_han_input_good(mca_coll_han_collective_t collective);

/**
 * Long messages, or pieces, that a rank has under way in an exchange from all to all.
 *
 * @param ppn ranks of its node
 */
int mca_coll_han_exchange_window(int ppn, bool in_pieces);

/** Whether each rank has a block for each other rank. */
bool mca_coll_han_is_alltoall(mca_coll_han_collective_t collective);

/** Whether a collective goes up trees only: then its tree and segments are iralg and irs, else ibalg and ibs. */
bool mca_coll_han_goes_up(mca_coll_han_collective_t collective);

/**
 * Radix of knomial trees, and chains that the root of such a tree feeds: low trees, for what counts with short messages
 * is the number of hops.
 */
enum { HAN_RADIX = 4 };

/** Segments that adapt has under way to each peer, at least: N of the ADAPT paper, section 2.2.1. */
enum { HAN_SENDS = 3 };

/** As many of a call. */
int mca_coll_han_sends(mca_coll_han_collective_t collective, const mca_coll_han_params_t *params);

/** The tree inside a node that sbalg stands for: auto depends on how many ranks there are. */
mca_coll_adapt_tree_kind_t mca_coll_han_low_tree(const mca_coll_han_params_t *params, int ppn);

/**
 * Elements of a scan's segment.
 *
 * @param count  elements of the message
 * @param packed bytes of one, not 0
 * @param wished bytes of a segment; 0: the whole message
 */
size_t mca_coll_han_scan_segment(size_t count, size_t packed, size_t wished);

/** About the longest segments that a rank of a scan has memory for: as wished (0: whole), or shorter ones. */
size_t mca_coll_han_limit_scan_segment(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input,
                                       size_t wished);

/** Whether it is a scan or an exscan. */
bool mca_coll_han_is_scan(mca_coll_han_collective_t collective);

/**
 * Whether ranks tell each other something, as far as all of them know: data, or that they are there. Of an alltoallv a
 * rank knows its own blocks only.
 */
bool mca_coll_han_has_messages(const mca_coll_han_input_t *input);

/** Whether no rank but the root knows how long all blocks are. */
bool mca_coll_han_root_alone_knows(mca_coll_han_collective_t collective);

/**
 * Of a gatherv or a scatterv by leaders, bytes of the longest block that goes through them: of longer ones the two
 * copies cost as much as a message, and the root has memory for one of each rank, with its length.
 */
size_t mca_coll_han_ragged_block(size_t ranks);

/** Whether each rank has a block, for all others or of what all have: then algorithm tree is a tree for each rank. */
bool mca_coll_han_is_of_blocks(mca_coll_han_collective_t collective);

/**
 * Most lanes of its trees: as many as a node has ranks, and as the trees of a ring can be kept; at least 1. Of a bcast
 * the part of a lane is bytes, for which a rank whose data have gaps packs all of them: that is done with up to
 * HAN_MOST_MEMORY.
 */
int mca_coll_han_most_lanes(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input);

/** Whether the leaders of its algorithm leaders make a tree, that of ibalg: linear, or else binomial. */
bool mca_coll_han_leaders_have_tree(mca_coll_han_collective_t collective);

/**
 * About as many groups as each has ranks: with these flat trees and chains are shortest (hierarchical reduce paper,
 * formulas 9 and 11).
 */
int mca_coll_han_groups_for(const mca_coll_han_input_t *input);

/** Whether an algorithm serves a call: its preconditions. */
bool mca_coll_han_fits(mca_coll_han_algorithm_id_t algorithm, const mca_coll_han_input_t *input);

/**
 * Decides by what the user has set, else by the rule, as far as the algorithm serves the call. Every rank comes to the
 * same result.
 *
 * @param rule what the rule says that was found for this input
 */
mca_coll_han_params_t mca_coll_han_decide(const mca_coll_han_input_t *input, const mca_coll_han_params_t *rule,
                                          const mca_coll_han_settings_t *settings);

#endif
