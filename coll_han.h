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
#include "coll_han_tasks.h"
#include "coll_han_topology.h"
#include "common/coll_packing.h"

/** The collectives that HAN has; an index of arrays. */
typedef enum {
    HAN_BCAST,
    HAN_REDUCE,
    HAN_ALLREDUCE,
    HAN_BARRIER,
    HAN_ALLGATHER,
    HAN_ALLGATHERV,
    HAN_REDUCE_SCATTER_BLOCK,
    HAN_REDUCE_SCATTER,
    HAN_ALLTOALL,
    HAN_ALLTOALLV,
    HAN_GATHER,
    HAN_SCATTER,
    HAN_COLLECTIVE_COUNT
} mca_coll_han_collective_t;

/** The forms of a collective; an index of arrays. */
typedef enum { HAN_BLOCKING, HAN_NONBLOCKING, HAN_PERSISTENT, HAN_FORM_COUNT } mca_coll_han_form_t;

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
    bool adapt; /**< the communicator has a module of adapt */
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
        mca_coll_base_module_bcast_fn_t bcast;
        mca_coll_base_module_ibcast_fn_t ibcast;
        mca_coll_base_module_bcast_init_fn_t bcast_init;
        mca_coll_base_module_reduce_fn_t reduce;
        mca_coll_base_module_ireduce_fn_t ireduce;
        mca_coll_base_module_reduce_init_fn_t reduce_init;
        mca_coll_base_module_allreduce_fn_t allreduce;
        mca_coll_base_module_iallreduce_fn_t iallreduce;
        mca_coll_base_module_allreduce_init_fn_t allreduce_init;
        mca_coll_base_module_barrier_fn_t barrier;
        mca_coll_base_module_ibarrier_fn_t ibarrier;
        mca_coll_base_module_barrier_init_fn_t barrier_init;
        mca_coll_base_module_allgather_fn_t allgather;
        mca_coll_base_module_iallgather_fn_t iallgather;
        mca_coll_base_module_allgatherv_fn_t allgatherv;
        mca_coll_base_module_iallgatherv_fn_t iallgatherv;
        mca_coll_base_module_reduce_scatter_block_fn_t reduce_scatter_block;
        mca_coll_base_module_ireduce_scatter_block_fn_t ireduce_scatter_block;
        mca_coll_base_module_reduce_scatter_fn_t reduce_scatter;
        mca_coll_base_module_ireduce_scatter_fn_t ireduce_scatter;
        mca_coll_base_module_alltoall_fn_t alltoall;
        mca_coll_base_module_ialltoall_fn_t ialltoall;
        mca_coll_base_module_alltoall_init_fn_t alltoall_init;
        mca_coll_base_module_alltoallv_fn_t alltoallv;
        mca_coll_base_module_ialltoallv_fn_t ialltoallv;
        mca_coll_base_module_alltoallv_init_fn_t alltoallv_init;
        mca_coll_base_module_gather_fn_t gather;
        mca_coll_base_module_igather_fn_t igather;
        mca_coll_base_module_gather_init_fn_t gather_init;
        mca_coll_base_module_scatter_fn_t scatter;
        mca_coll_base_module_iscatter_fn_t iscatter;
        mca_coll_base_module_scatter_init_fn_t scatter_init;
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

/* -- coll_han_call.c ----------------------------------------------------------------------------------------------- */

/**
 * Decides how a call is done, and says so to who wants to know.
 *
 * @param bytes of the message, packed; where each rank has a block: of one, on average
 */
int mca_coll_han_call_decide(mca_coll_han_module_t *module, mca_coll_han_collective_t collective,
                             mca_coll_han_form_t form, size_t bytes, mca_coll_han_params_t *params);

/** What mca_coll_han_call returns where the saved fallback is to do the call; no error code has this value. */
enum { HAN_TO_FALLBACK = 1 };

/**
 * Decides how a call is done, says so, and does it.
 *
 * @param call as adapt would do it
 * @param request of the nonblocking and persistent forms
 * @returns HAN_TO_FALLBACK where nothing has been done yet, and HAN will not; else OMPI_SUCCESS or an error
 */
int mca_coll_han_call(mca_coll_han_module_t *module, mca_coll_han_collective_t collective, mca_coll_han_form_t form,
                      const mca_coll_adapt_call_t *call, ompi_request_t **request);

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

/* -- coll_han_barrier.c -------------------------------------------------------------------------------------------- */

int mca_coll_han_barrier_intra(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_han_ibarrier(ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_han_barrier_init(ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                              mca_coll_base_module_t *module);

/* -- coll_han_bcast.c ---------------------------------------------------------------------------------------------- */

/** A broadcast level by level: algorithms simple and pipeline. */
int mca_coll_han_bcast_levels(mca_coll_han_module_t *module, const mca_coll_adapt_call_t *call,
                              const mca_coll_han_params_t *params);

int mca_coll_han_bcast_intra(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                             mca_coll_base_module_t *module);
int mca_coll_han_ibcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                        ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_han_bcast_init(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                            struct ompi_info_t *info, ompi_request_t **request, mca_coll_base_module_t *module);

/* -- coll_han_reduce.c --------------------------------------------------------------------------------------------- */

int mca_coll_han_reduce_intra(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                              int root, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_han_ireduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                         ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_han_reduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                             int root, ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                             mca_coll_base_module_t *module);

/* -- coll_han_allreduce.c ------------------------------------------------------------------------------------------ */

int mca_coll_han_allreduce_intra(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                                 ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_han_iallreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                            ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_han_allreduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                                ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module);

/* -- coll_han_allgather.c ------------------------------------------------------------------------------------------ */

int mca_coll_han_allgather_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                                 ompi_datatype_t *rtype, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_han_iallgather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                            ompi_datatype_t *rtype, ompi_communicator_t *comm, ompi_request_t **request,
                            mca_coll_base_module_t *module);
int mca_coll_han_allgatherv_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                                  const int *places, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                                  mca_coll_base_module_t *module);
int mca_coll_han_iallgatherv(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                             const int *places, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                             ompi_request_t **request, mca_coll_base_module_t *module);

/* -- coll_han_reduce_scatter.c ------------------------------------------------------------------------------------- */

int mca_coll_han_reduce_scatter_block_intra(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *datatype,
                                            ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_han_ireduce_scatter_block(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *datatype,
                                       ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request,
                                       mca_coll_base_module_t *module);
int mca_coll_han_reduce_scatter_intra(const void *sbuf, void *rbuf, const int *rcounts, ompi_datatype_t *datatype,
                                      ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_han_ireduce_scatter(const void *sbuf, void *rbuf, const int *rcounts, ompi_datatype_t *datatype,
                                 ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request,
                                 mca_coll_base_module_t *module);

/* -- coll_han_exchange.c ------------------------------------------------------------------------------------------- */

int mca_coll_han_alltoall_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                                ompi_datatype_t *rtype, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_han_ialltoall(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                           ompi_datatype_t *rtype, ompi_communicator_t *comm, ompi_request_t **request,
                           mca_coll_base_module_t *module);
int mca_coll_han_alltoall_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                               ompi_datatype_t *rtype, ompi_communicator_t *comm, struct ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_han_alltoallv_intra(const void *sbuf, const int *scounts, const int *splaces, ompi_datatype_t *stype,
                                 void *rbuf, const int *rcounts, const int *rplaces, ompi_datatype_t *rtype,
                                 ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_han_ialltoallv(const void *sbuf, const int *scounts, const int *splaces, ompi_datatype_t *stype,
                            void *rbuf, const int *rcounts, const int *rplaces, ompi_datatype_t *rtype,
                            ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_han_alltoallv_init(const void *sbuf, const int *scounts, const int *splaces, ompi_datatype_t *stype,
                                void *rbuf, const int *rcounts, const int *rplaces, ompi_datatype_t *rtype,
                                ompi_communicator_t *comm, struct ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module);
int mca_coll_han_gather_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                              ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                              mca_coll_base_module_t *module);
int mca_coll_han_igather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                         ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, ompi_request_t **request,
                         mca_coll_base_module_t *module);
int mca_coll_han_gather_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                             ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, struct ompi_info_t *info,
                             ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_han_scatter_intra(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                               ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                               mca_coll_base_module_t *module);
int mca_coll_han_iscatter(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                          ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module);
int mca_coll_han_scatter_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                              ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, struct ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module);

#endif
