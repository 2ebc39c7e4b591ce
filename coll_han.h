/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * HAN: hierarchical collectives (Luo et al., "HAN: a Hierarchical Autotuned Collective Communication Framework").
 * Words as in docs/design.md. Declarations in sections, one for each source file.
 */
#ifndef MCA_COLL_HAN_H
#define MCA_COLL_HAN_H

#include "coll_han_compat.h"

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"

#include "coll_adapt/coll_adapt.h"
#include "coll_han_collectives.h"
#include "coll_han_tasks.h"
#include "coll_han_topology.h"
#include "common/coll_packing.h"

/** The levels. Today two; the engine does not know how many there are. */
typedef enum {
    HAN_LOW, /**< ranks that share a node */
    HAN_UP,  /**< the node leaders */
    HAN_LEVEL_COUNT
} mca_coll_han_level_id_t;

/** The components that HAN takes submodules from; an index of arrays. */
typedef enum {
    HAN_AUTO = -1, /**< the rules choose */
    HAN_LIBNBC,
    HAN_ADAPT,
    HAN_TUNED,
    HAN_SM,
    HAN_BASIC,
    HAN_SUBMODULE_COUNT
} mca_coll_han_submodule_t;

/* -- coll_han_dynamic.c -------------------------------------------------------------------------------------------- */

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
    HAN_ALGORITHM_COUNT
} mca_coll_han_algorithm_id_t;

extern const mca_coll_han_algorithm_t mca_coll_han_algorithms[HAN_ALGORITHM_COUNT];

/** What a decision depends on: equal on all ranks (HAN paper, table I). */
typedef struct mca_coll_han_input_t {
    mca_coll_han_collective_t collective;
    int nodes;    /**< groups of the topology */
    int ppn;      /**< ranks of the largest group */
    size_t bytes; /**< packed */
    mca_coll_han_form_t form;
    bool adapt;       /**< the communicator has a module of adapt */
    bool in_order;    /**< every node holds consecutive ranks */
    bool in_place;    /**< of collectives without a root */
    bool keeps_order; /**< the operation does not commute */
} mca_coll_han_input_t;

/** The outcome of a decision (HAN paper, table II). */
typedef struct mca_coll_han_params_t {
    mca_coll_han_algorithm_id_t algorithm;
    size_t fs;                        /**< segment size, packed bytes */
    int depth;                        /**< segments under way at the up level */
    mca_coll_han_submodule_t imod;    /**< up */
    mca_coll_han_submodule_t smod;    /**< low */
    mca_coll_adapt_tree_kind_t ibalg; /**< tree of ib, where imod is adapt */
    size_t ibs;                       /**< segment size inside ib, where imod is adapt; 0: whole segments */
    mca_coll_adapt_tree_kind_t sbalg; /**< tree inside a node, of algorithm tree */
    int lanes;                        /**< of trees and rings of a reduction: ranks of a node that share its links */
    const char *why;                  /**< the rule, as text */
} mca_coll_han_params_t;

/** Decides by what the user has set, then by the built-in rules. Every rank comes to the same result. */
mca_coll_han_params_t mca_coll_han_decide(const mca_coll_han_input_t *input);

/* -- coll_han_component.c ------------------------------------------------------------------------------------------ */

/** Most submodules that a level chooses from. */
enum { HAN_CHOICE_COUNT = 3 };

/** The submodule behind a number in ..._up_module and ..._low_module; HAN_AUTO where there is none. */
extern const mca_coll_han_submodule_t mca_coll_han_choices[HAN_LEVEL_COUNT][HAN_CHOICE_COUNT];

/** What the user can set for each collective. All are read anew in each call. */
typedef struct mca_coll_han_settings_t {
    int algorithm;  /**< mca_coll_han_algorithm_id_t, or HAN_AUTO */
    int segsize;    /**< bytes, 0: the rules choose */
    int up_module;  /**< a number of mca_coll_han_choices, or HAN_AUTO */
    int low_module; /**< a number of mca_coll_han_choices, or HAN_AUTO */
    int lanes;      /**< 0: the rules choose */
} mca_coll_han_settings_t;

typedef struct mca_coll_han_component_t {
    mca_coll_han_base_component_t super;
    int priority;
    int verbose;
    int output; /**< stream of verbose and error messages */
    mca_coll_han_settings_t settings[HAN_COLLECTIVE_COUNT];
} mca_coll_han_component_t;

OMPI_MODULE_DECLSPEC extern mca_coll_han_component_t mca_coll_han_component;

/** "bcast", ... : as in names of parameters. */
extern const char *const mca_coll_han_collective_names[HAN_COLLECTIVE_COUNT];

/** "libnbc", ... : the components' names. */
extern const char *const mca_coll_han_submodule_names[HAN_SUBMODULE_COUNT];

/** Says something at a verbosity of at least level. */
#define HAN_VERBOSE(level, ...)                                                                                        \
    do {                                                                                                               \
        if (mca_coll_han_component.verbose >= (level)) {                                                               \
            opal_output(mca_coll_han_component.output, __VA_ARGS__);                                                   \
        }                                                                                                              \
    } while (0)

/* -- coll_han_selection.c ------------------------------------------------------------------------------------------ */

/**
 * Makes "--mca coll han" a complete choice: where the user's list of components names han but not the components
 * without which no communicator works, or those that HAN takes submodules from, they are loaded and join the list.
 *
 * To be called while components register, before Open MPI applies the list a second time.
 */
int mca_coll_han_selection_widen(void);

/* -- coll_han_nodes.c ---------------------------------------------------------------------------------------------- */

struct mca_coll_han_fallback_t;

/**
 * The node of each rank of a communicator, as a number.
 *
 * Without communication where the runtime has told the host names of all ranks (it tells them for all ranks of a job or
 * for none); otherwise, and for communicators over several jobs, by one allgather.
 *
 * @param allgather the collective as it was before HAN came; NULL: no communication, OMPI_ERR_NOT_FOUND instead
 * @param node_of [size of comm]
 * @param node_count one more than the largest number in node_of
 */
int mca_coll_han_nodes_find(ompi_communicator_t *comm, const struct mca_coll_han_fallback_t *allgather, int *node_of,
                            int *node_count);

/** Forgets all names. */
void mca_coll_han_nodes_finalize(void);

/* -- coll_han_sockets.c -------------------------------------------------------------------------------------------- */

/**
 * Which ranks of a node share a socket (or, where there is one socket, a NUMA node). Without communication: by where
 * the runtime has bound them, which it knows through hwloc. All ranks of the node come to the same result.
 *
 * @param members [count] ranks of one node
 * @param socket_of [count] a number for each of them
 * @returns how many sockets there are; 1 where that is so, where ranks are not bound, and where each has its own
 */
int mca_coll_han_sockets_find(ompi_communicator_t *comm, const int *members, int count, int *socket_of);

/* -- coll_han_module.c --------------------------------------------------------------------------------------------- */

/** A sub-communicator, and the modules on it. */
typedef struct mca_coll_han_level_t {
    ompi_communicator_t *comm; /**< NULL where this rank has no part in the level, or is alone in it */
    mca_coll_base_module_t *submodules[HAN_SUBMODULE_COUNT]; /**< NULL where the component offers none here */
    bool owned[HAN_SUBMODULE_COUNT];                         /**< HAN asked for it; else it is the communicator's */
} mca_coll_han_level_t;

/** The module that did a collective before HAN came. */
typedef struct mca_coll_han_fallback_t {
    union {
#define HAN_FUNCTIONS(number, name, parameters, arguments, send, recv, op, root, performer)                            \
    mca_coll_base_module_##name##_fn_t name;                                                                           \
    mca_coll_base_module_i##name##_fn_t i##name;                                                                       \
    mca_coll_base_module_##name##_init_fn_t name##_init;
        HAN_COLLECTIVES(HAN_FUNCTIONS)
#undef HAN_FUNCTIONS
    } fn;
    mca_coll_base_module_t *module;
} mca_coll_han_fallback_t;

/** Segments that adapt has under way to and from each peer: N and M of the ADAPT paper, section 2.2.1. */
enum { HAN_SENDS = 3, HAN_RECVS = 6 };

/** Radix of k-nomial trees: low trees, for what counts with short messages is the number of hops. */
enum { HAN_RADIX = 4 };

/** Topology-aware trees are kept, this many at most: to make one takes a look at every rank. */
enum { HAN_TREES_KEPT = 256 };

/** Most trees of a ring: with so many nodes a chain moves about as much. */
enum { HAN_TREES_IN_RING = 16 };

/** Most lanes; those of a ring are kept all at once. */
enum { HAN_MOST_LANES = HAN_TREES_KEPT / HAN_TREES_IN_RING };

typedef struct mca_coll_han_tree_t {
    bool made;
    int lane;
    mca_coll_adapt_tree_kind_t low, up;
    mca_coll_adapt_tree_t tree;
} mca_coll_han_tree_t;

typedef struct mca_coll_han_module_t {
    mca_coll_base_module_t super;
    ompi_communicator_t *comm;
    mca_coll_han_fallback_t fallbacks[HAN_COLLECTIVE_COUNT][HAN_FORM_COUNT];
    bool topology_made;
    bool levels_made;
    mca_coll_adapt_event_module_t *adapt; /**< on the communicator itself; NULL where it is not there */
    mca_coll_han_tree_t *trees;           /**< [HAN_TREES_KEPT] made with the first one */
    mca_coll_han_topology_t topology;
    int *socket_of; /**< [ranks of this node] by place; NULL: all share one */
    mca_coll_han_level_t levels[HAN_LEVEL_COUNT];
    void *scratch; /**< temporary memory kept between calls */
    size_t scratch_bytes;
} mca_coll_han_module_t;

OMPI_MODULE_DECLSPEC OBJ_CLASS_DECLARATION(mca_coll_han_module_t);

int mca_coll_han_init_query(bool enable_progress_threads, bool enable_mpi_threads);
mca_coll_base_module_t *mca_coll_han_comm_query(ompi_communicator_t *comm, int *priority);

/**
 * Finds the topology, at the first call; without communication in nearly all cases (see mca_coll_han_nodes_find).
 *
 * @param exchange communication is allowed: the call is blocking; else OMPI_ERR_NOT_FOUND where it is needed
 */
int mca_coll_han_module_topology(mca_coll_han_module_t *module, bool exchange);

/** Makes the sub-communicators, at the first call; collective over the communicator. */
int mca_coll_han_module_levels(mca_coll_han_module_t *module);

/**
 * The submodule to use at a level: the wanted one, or where it is not there the first that is (which is said, once, if
 * the user wanted it). NULL where this rank has no part in the level.
 */
mca_coll_base_module_t *mca_coll_han_module_submodule(mca_coll_han_module_t *module, mca_coll_han_level_id_t level,
                                                      mca_coll_han_submodule_t wanted);

/** Temporary memory of the module, good until the next call of this function; NULL where memory is short. */
void *mca_coll_han_module_scratch(mca_coll_han_module_t *module, size_t bytes);

/* -- coll_han_segments.c ------------------------------------------------------------------------------------------- */

/**
 * A message cut into segments of packed bytes.
 *
 * A contiguous one is used in place. Another one passes through slots, one for each segment in flight; segments are
 * packed and unpacked in their order.
 */
typedef struct mca_coll_han_segments_t {
    size_t bytes; /**< of the message */
    size_t fs;    /**< of a segment; the last may be shorter */
    char *base;   /**< start of the contiguous message, or of the slots */
    size_t slots; /**< 0: contiguous */
    coll_packing_t packing;
} mca_coll_han_segments_t;

/** Number of segments of a message. */
static inline size_t mca_coll_han_segments_count(size_t bytes, size_t fs)
{
    return bytes / fs + (0 != bytes % fs ? 1 : 0);
}

/**
 * Cuts a message.
 *
 * @param packing this rank's buffer is the source (and is packed), else the destination (and is unpacked)
 * @param window segments in flight
 */
int mca_coll_han_segments_open(mca_coll_han_segments_t *segments, mca_coll_han_module_t *module, void *buffer,
                               size_t count, ompi_datatype_t *datatype, size_t fs, size_t window, bool packing);

/** Where a segment is, and its length in bytes. */
void *mca_coll_han_segments_get(const mca_coll_han_segments_t *segments, size_t segment, size_t *length);

/** Packs a segment into its slot; nothing to do where the message is contiguous. Each segment once, in order. */
int mca_coll_han_segments_pack(mca_coll_han_segments_t *segments, size_t segment);

/** Unpacks a segment from its slot. Each segment once, in order. */
int mca_coll_han_segments_unpack(mca_coll_han_segments_t *segments, size_t segment);

void mca_coll_han_segments_close(mca_coll_han_segments_t *segments);

/* -- coll_han_stages.c --------------------------------------------------------------------------------------------- */

/** What a stage does; an index of the table of operations. */
typedef enum { HAN_OPERATION_BCAST, HAN_OPERATION_COUNT } mca_coll_han_operation_t;

/** What the stages of one call share: the context of a plan. */
typedef struct mca_coll_han_call_t {
    mca_coll_han_module_t *module;
    mca_coll_base_module_t *submodules[HAN_LEVEL_COUNT]; /**< NULL: no part in the level */
    int roots[HAN_LEVEL_COUNT];                          /**< ranks in the levels' communicators */
    mca_coll_adapt_how_t how;                            /**< for submodules of adapt */
    mca_coll_han_segments_t segments;
    int pack_before;  /**< stage before which a segment is packed, -1 for none */
    int unpack_after; /**< stage after which a segment is unpacked, -1 for none */
} mca_coll_han_call_t;

/** Makes the levels if they are not there yet, and takes the submodules that the parameters name. */
int mca_coll_han_call_open(mca_coll_han_call_t *call, const mca_coll_han_params_t *params);

/** Whether a module is of the adapt that comes with HAN, which takes tree and segment size as arguments. */
bool mca_coll_han_is_adapt(const mca_coll_base_module_t *submodule);

/** The driver of all plans that HAN makes. */
extern const mca_coll_han_driver_t mca_coll_han_driver;

/* -- coll_han_entry.c ---------------------------------------------------------------------------------------------- */

/** Gives the module its functions. */
void mca_coll_han_entry_install(mca_coll_han_module_t *module);

/** Keeps what did the collectives until now; false where one of them had nobody. */
bool mca_coll_han_entry_save(mca_coll_han_module_t *module, const ompi_communicator_t *comm);

/** Lets go of what save has kept. */
void mca_coll_han_entry_forget(mca_coll_han_module_t *module);

/* -- coll_han_call.c ----------------------------------------------------------------------------------------------- */

/** What performers return where nothing has been done yet, and the fallback is to do the call; no error is this. */
enum { HAN_TO_FALLBACK = 1 };

/**
 * Decides how a call is done, and says so to who wants to know.
 *
 * @returns HAN_TO_FALLBACK, OMPI_SUCCESS, or an error
 */
int mca_coll_han_call_decide(mca_coll_han_module_t *module, const mca_coll_han_args_t *args,
                             mca_coll_han_params_t *params);

/** Of a rank's block: elements. */
static inline int mca_coll_han_side_count(const mca_coll_han_side_t *side, int rank)
{
    return NULL == side->counts ? side->count : side->counts[rank];
}

/** Of a buffer of blocks, those of so many ranks from this one on. All lie one behind the other, or count is 1. */
mca_coll_adapt_data_t mca_coll_han_side_blocks(const mca_coll_han_side_t *side, int rank, int count);

/** A buffer of one block. */
static inline mca_coll_adapt_data_t mca_coll_han_side_whole(const mca_coll_han_side_t *side)
{
    return (mca_coll_adapt_data_t){ side->buffer, (size_t) side->count, side->type };
}

/* -- coll_han_{bcast,reduce,allreduce,barrier,allgather,reduce_scatter,alltoall,gather,scatter,scan}.c ------------- */

/**
 * Performs a call.
 *
 * @param request of the nonblocking and persistent forms
 * @returns HAN_TO_FALLBACK where nothing has been done yet, and HAN will not; else OMPI_SUCCESS or an error
 */
typedef int mca_coll_han_performer_t(mca_coll_han_module_t *module, const mca_coll_han_args_t *args,
                                     ompi_request_t **request);

mca_coll_han_performer_t mca_coll_han_perform_bcast, mca_coll_han_perform_reduce, mca_coll_han_perform_allreduce,
    mca_coll_han_perform_barrier, mca_coll_han_perform_allgather, mca_coll_han_perform_reduce_scatter,
    mca_coll_han_perform_alltoall, mca_coll_han_perform_gather, mca_coll_han_perform_scatter,
    mca_coll_han_perform_scan;

/** An allreduce through the leaders. */
int mca_coll_han_allreduce_leaders(mca_coll_han_module_t *module, const mca_coll_han_args_t *args,
                                   ompi_request_t **request);

/* -- coll_han_tree.c ----------------------------------------------------------------------------------------------- */

/**
 * Has adapt do a call on the communicator itself: over the topology-aware tree (ADAPT paper, section 3.2) with the
 * parameters ibalg between the nodes, sbalg inside them, and segments of ibs; an operation that does not commute over
 * a tree in rank order.
 *
 * @param request of the nonblocking and persistent forms
 */
int mca_coll_han_call_tree(mca_coll_han_module_t *module, mca_coll_han_form_t form, const mca_coll_adapt_call_t *call,
                           const mca_coll_han_params_t *params, ompi_request_t **request);

/* -- coll_han_exchange.c ------------------------------------------------------------------------------------------- */

/**
 * Messages straight from rank to rank: alltoall, gather, scatter and their v-forms. In the order in which a rank sends,
 * all ranks of a node send to one other node at a time, and no two of them to one rank; so every node receives from one
 * other node, and no link is asked for more than it carries.
 */
int mca_coll_han_exchange(mca_coll_han_module_t *module, const mca_coll_han_args_t *args, ompi_request_t **request);

/* -- coll_han_leaders.c -------------------------------------------------------------------------------------------- */

/**
 * Collectives of short blocks: the ranks of a node send to their leader, leaders tell each other what their nodes have,
 * in one message for each other node, and pass on to their ranks what these want. What is written here is the part of
 * one rank. In a rooted collective the root leads its node.
 */
typedef struct mca_coll_han_leaders_t {
    mca_coll_adapt_schedule_t schedule;
    const mca_coll_han_args_t *args;
    const mca_coll_han_topology_t *topology;
    int rank, group;
    const int *members; /**< [size] ranks of its group */
    int size;
    int leader; /**< of its group */
} mca_coll_han_leaders_t;

/** Temporary memory in equal parts, each for one operand. */
typedef struct mca_coll_han_parts_t {
    mca_coll_adapt_data_t first;
    ptrdiff_t stride;
} mca_coll_han_parts_t;

mca_coll_han_leaders_t mca_coll_han_leaders_begin(const mca_coll_han_module_t *module, const mca_coll_han_args_t *args);

/** Memory for so many operands of this many elements. */
mca_coll_han_parts_t mca_coll_han_leaders_parts(mca_coll_han_leaders_t *leaders, int parts, size_t count,
                                                ompi_datatype_t *type);

static inline mca_coll_adapt_data_t mca_coll_han_leaders_part(const mca_coll_han_parts_t *parts, int i)
{
    mca_coll_adapt_data_t part = parts->first;

    part.buffer = (char *) part.buffer + i * parts->stride;
    return part;
}

/** What a rank puts into a reduction. */
mca_coll_adapt_data_t mca_coll_han_leaders_operand(const mca_coll_han_leaders_t *leaders, size_t count);

/** At a leader: combines the operands of its node, in the order of ranks. Returns where; may be written to. */
mca_coll_adapt_data_t mca_coll_han_leaders_reduce(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own);

/** What goes to each leader, or comes from it: [groups of the topology], all zero. NULL where memory is short. */
mca_coll_adapt_data_t *mca_coll_han_leaders_list(mca_coll_han_leaders_t *leaders);

/** At a leader: sends to[g] to each other leader, and receives from[g]. A round, not ended yet. */
void mca_coll_han_leaders_swap(mca_coll_han_leaders_t *leaders, const mca_coll_adapt_data_t *to,
                               const mca_coll_adapt_data_t *from);

/**
 * At a leader: sends to[g] to each other leader, and combines what they send with its own, in the order of groups, so
 * that equal operands give equal results. Its own is to[own group], and may be written to. Returns where the result is.
 */
mca_coll_adapt_data_t mca_coll_han_leaders_combine(mca_coll_han_leaders_t *leaders, const mca_coll_adapt_data_t *to);

/** So many elements of a buffer, from this one on. */
mca_coll_adapt_data_t mca_coll_han_slice(mca_coll_adapt_data_t data, size_t first, size_t count);

/** Ends the schedule, and performs it. */
int mca_coll_han_leaders_perform(mca_coll_han_leaders_t *leaders, const mca_coll_han_module_t *module,
                                 ompi_request_t **request);

#endif
