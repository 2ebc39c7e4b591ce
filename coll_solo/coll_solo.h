/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * SOLO: collectives of ranks that share a node, through shared memory and single copies (Luo et al., "HAN: a
 * Hierarchical Autotuned Collective Communication Framework", section III, where SOLO is the submodule of the low level
 * for large messages). Declarations in sections, one for each source file.
 */
#ifndef MCA_COLL_SOLO_H
#define MCA_COLL_SOLO_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/op/op.h"

#include "coll_solo_flags.h"
#include "common/coll_fallback.h"
#include "common/coll_packing.h"

/** The collectives that SOLO has; an index of arrays. */
typedef enum {
    SOLO_BCAST,
    SOLO_REDUCE,
    SOLO_ALLREDUCE,
    SOLO_BARRIER,
    SOLO_GATHER,
    SOLO_SCATTER,
    SOLO_ALLGATHER,
    SOLO_REDUCE_SCATTER_BLOCK,
    SOLO_ALLTOALL,
    SOLO_COLLECTIVE_COUNT
} mca_coll_solo_collective_t;

/** How a collective is done. */
typedef enum {
    SOLO_AUTO = -1, /**< the rules choose */
    SOLO_FALLBACK,
    SOLO_COPY,
    SOLO_SLICES,
    SOLO_SINGLE_COPY,
    SOLO_ALGORITHM_COUNT
} mca_coll_solo_algorithm_t;

/* -- coll_solo_component.c ----------------------------------------------------------------------------------------- */

typedef struct mca_coll_solo_component_t {
    mca_coll_base_component_2_0_0_t super;
    int priority;
    int verbose;
    int output;
    int single_copy;  /**< 0: not used */
    int segment_size; /**< bytes that a large box holds */
    int max_memory;   /**< bytes of shared memory that a process maps, at most */
    int start;        /**< see mca_coll_solo_module_t.calls */
    int algorithms[SOLO_COLLECTIVE_COUNT];
} mca_coll_solo_component_t;

OMPI_MODULE_DECLSPEC extern mca_coll_solo_component_t mca_coll_solo_component;

/**
 * A rank has no memory for its part of a call, but takes part, and all ranks hear of it. Not OMPI_ERR_OUT_OF_RESOURCE:
 * of whoever returns that the others hear nothing, and HAN ends the job (common/coll_end.h).
 */
enum { SOLO_NO_MEMORY = OMPI_ERR_TEMP_OUT_OF_RESOURCE };

/** The collectives' names, as in names of parameters. */
extern const char *const mca_coll_solo_collective_names[SOLO_COLLECTIVE_COUNT];

/** A name and one sentence of help for each algorithm. */
extern const char *const mca_coll_solo_algorithm_names[SOLO_ALGORITHM_COUNT][2];

#define SOLO_VERBOSE(level, ...)                                                                                       \
    do {                                                                                                               \
        if ((level) <= mca_coll_solo_component.verbose) {                                                              \
            opal_output(mca_coll_solo_component.output, __VA_ARGS__);                                                  \
        }                                                                                                              \
    } while (0)

/* -- coll_solo_module.c -------------------------------------------------------------------------------------------- */

/** What did a collective before, and its module. */
typedef struct mca_coll_solo_fallback_t {
    union {
        mca_coll_base_module_bcast_fn_t bcast;
        mca_coll_base_module_reduce_fn_t reduce;
        mca_coll_base_module_allreduce_fn_t allreduce;
        mca_coll_base_module_barrier_fn_t barrier;
        mca_coll_base_module_gather_fn_t gather;
        mca_coll_base_module_scatter_fn_t scatter;
        mca_coll_base_module_allgather_fn_t allgather;
        mca_coll_base_module_reduce_scatter_block_fn_t reduce_scatter_block;
        mca_coll_base_module_alltoall_fn_t alltoall;
    } fn;
    mca_coll_base_module_t *module;
} mca_coll_solo_fallback_t;

/** Whether there is shared memory; the same on all ranks of a communicator. */
typedef enum { SOLO_UNTRIED, SOLO_MAKING, SOLO_READY, SOLO_FAILED } mca_coll_solo_state_t;

typedef struct mca_coll_solo_module_t {
    mca_coll_base_module_t super;
    ompi_communicator_t *comm;
    int rank, size;
    mca_coll_solo_fallback_t fallbacks[SOLO_COLLECTIVE_COUNT];
    mca_coll_solo_state_t state;
    size_t calls; /**< so far, and KiB of their messages; from coll_solo_start on there is shared memory */
    mca_coll_solo_memory_t memory;
    bool single_copy;            /**< all ranks may copy from and to all others */
    int64_t single_copy_percent; /**< measured, of a memcpy's time; where it is crowded it is not known */
    bool crowded;                /**< there are more ranks than processors for them */
    const int *reproducible;     /**< HAN's parameter, for on one node HAN has no part; NULL: none, or several jobs */
    int looks;                   /**< at a flag before others get their turn, see coll_solo_wait.c */
    int groups;                  /**< 1: all ranks are in one, and the layout is flat */
    int *group_of;               /**< [size] numbered as ranks meet them */
    int *leaders;                /**< [groups] the lowest rank of each */
    int leader;                  /**< of this rank's group */
    int *members;                /**< [member_count] the ranks of this rank's group */
    int member_count;
    int *relay_of;                  /**< [size] who of this group passes on what a rank of another has; -1: own group */
    int *relay_slot;                /**< [size] its place among those that this one passes on */
    int relay_slots;                /**< most that a rank of any group passes on */
    bool in_order;                  /**< every group holds consecutive ranks */
    uint64_t seq;                   /**< the last number in use */
    uint64_t all_done;              /**< all ranks are known to be done with this number */
    void *scratch[2];               /**< SOLO_PIECE bytes each, made at first use */
    const void **sources;           /**< [size] for reductions */
    uint64_t copied, single_copied; /**< bytes that this rank has moved */
    uint64_t crossed;               /**< of the latter, from or to other groups */
} mca_coll_solo_module_t;

OMPI_MODULE_DECLSPEC OBJ_CLASS_DECLARATION(mca_coll_solo_module_t);

int mca_coll_solo_init_query(bool enable_progress_threads, bool enable_mpi_threads);
mca_coll_base_module_t *mca_coll_solo_comm_query(ompi_communicator_t *comm, int *priority);

/* -- coll_solo_memory.c -------------------------------------------------------------------------------------------- */

/**
 * Makes the shared memory of a communicator, and lets its ranks meet. Collective over the communicator; by the
 * fallbacks. What comes out, module->state, is the same on all ranks.
 *
 * @returns OMPI_SUCCESS also where there is no memory; an error only where a fallback fails
 */
int mca_coll_solo_memory_make(mca_coll_solo_module_t *module);

/** Lets go of it. */
void mca_coll_solo_memory_free(mca_coll_solo_module_t *module);

/** A number that is hardly ever the same twice. */
uint64_t mca_coll_solo_token(void);

/** The lowest rank that says no, or size; and the lowest of two more numbers. Or an error of the fallback, below 0. */
int mca_coll_solo_lowest(mca_coll_solo_module_t *module, bool yes, int more[2]);

/* -- coll_solo_meet.c ---------------------------------------------------------------------------------------------- */

enum { SOLO_FAILURE_TEXT = 160 };

/**
 * When all have the memory: finds out about cores, groups and single copy. Collective over the communicator; what comes
 * out is the same on all ranks.
 *
 * @returns on all ranks SOLO_NO_MEMORY where one has no memory, or an error of a fallback
 */
int mca_coll_solo_meet(mca_coll_solo_module_t *module);

/* -- coll_solo_room.c ---------------------------------------------------------------------------------------------- */

/** Writes into this rank's area what processors it may use, and who else is on the node. */
void mca_coll_solo_room_tell(mca_coll_solo_area_t *area);

/** When all have: whether there are more ranks than processors for them. The same on all ranks. */
bool mca_coll_solo_crowded(const mca_coll_solo_memory_t *memory, int size);

/* -- coll_solo_groups.c -------------------------------------------------------------------------------------------- */

/** On rank 0: finds the groups, and writes them into the shared memory. */
void mca_coll_solo_groups_find(mca_coll_solo_module_t *module);

/** Forgets where processes are. */
void mca_coll_solo_groups_close(void);

/** On every rank, when they are there: the module's maps. @returns OMPI_SUCCESS or SOLO_NO_MEMORY */
int mca_coll_solo_groups_make(mca_coll_solo_module_t *module);

/** Lets go of the maps. */
void mca_coll_solo_groups_free(mca_coll_solo_module_t *module);

/**
 * Puts what ranks of other groups have said in a number, as far as this rank passes it on, into its box of another.
 *
 * @param stride bytes of each; relay_slots of them must fit into a box
 */
void mca_coll_solo_relay(mca_coll_solo_module_t *module, uint64_t said, uint64_t relayed, size_t stride);

/**
 * What a rank has said: from its own box, or from who passes it on.
 *
 * @param relayed the same as said: nobody does
 * @returns its status, or an error of that one
 */
int mca_coll_solo_hear_relayed(mca_coll_solo_module_t *module, int rank, uint64_t said, uint64_t relayed, size_t stride,
                               const unsigned char **data);

/** Reads what a rank has, out of that rank's memory or of another's, into its place here. */
typedef int (*mca_coll_solo_read_fn_t)(const void *call, int rank, int from);

/**
 * Reads what each of the other ranks has. What those of other groups have comes through one of the own, which reads its
 * share of it first: one more number. With one group all is read from whose it is.
 *
 * @param ready the number in which a rank says that what it has is there
 * @returns the first error, of this rank or of one that it reads from
 */
int mca_coll_solo_read_relayed(mca_coll_solo_module_t *module, uint64_t ready, mca_coll_solo_read_fn_t read,
                               const void *call);

/* -- coll_solo_wait.c ---------------------------------------------------------------------------------------------- */

/** Looks at a flag before others get their turn, at least. */
enum { SOLO_LEAST_LOOKS = 4 };

/** Nanoseconds of a clock that is never set. */
int64_t mca_coll_solo_now(void);

/** Waits for a flag; MPI goes on meanwhile, and other processes get the core. */
void mca_coll_solo_wait(mca_coll_solo_module_t *module, const _Atomic uint64_t *flag, uint64_t seq);

/** Waits until all ranks are done with a number. */
void mca_coll_solo_wait_done(mca_coll_solo_module_t *module, uint64_t seq);

/** This rank's box for a number, ready to be filled. */
mca_coll_solo_box_t *mca_coll_solo_own_box(mca_coll_solo_module_t *module, uint64_t seq);

/** A rank's box, when it is published. */
static inline const mca_coll_solo_box_t *mca_coll_solo_wait_box(mca_coll_solo_module_t *module, int rank, uint64_t seq)
{
    const mca_coll_solo_box_t *box = mca_coll_solo_box(&module->memory, rank, seq);

    if (!mca_coll_solo_reached(&box->seq, seq)) {
        mca_coll_solo_wait(module, &box->seq, seq);
    }
    return box;
}

/** Waits for the boxes of all ranks; returns the first error that one of them tells of. */
int mca_coll_solo_wait_boxes(mca_coll_solo_module_t *module, uint64_t seq);

/** After all boxes of a number that every rank publishes when it is done with all before: all are. */
static inline void mca_coll_solo_conclude(mca_coll_solo_module_t *module, uint64_t seq)
{
    module->all_done = module->all_done < seq - 1 ? seq - 1 : module->all_done;
}

/** This rank is done with a number and all before. */
static inline void mca_coll_solo_finish(mca_coll_solo_module_t *module, uint64_t seq)
{
    mca_coll_solo_done(mca_coll_solo_area(&module->memory, module->rank), seq);
}

/* -- coll_solo_data.c ---------------------------------------------------------------------------------------------- */

/** A piece of a message that passes through scratch memory; fits into a core's own cache. */
enum { SOLO_PIECE = 131072 };

/** Bytes of the segments in which a message passes through the boxes. @param element bytes of what is not cut */
size_t mca_coll_solo_segment_size(const mca_coll_solo_module_t *module, size_t bytes, size_t element);

/** Bytes of a message that go through a box at a time; with `each`, of the block that it has for each rank. */
size_t mca_coll_solo_piece(const mca_coll_solo_module_t *module, const mca_coll_solo_ring_t *ring, bool each);

/** A message in a user's buffer, as a stream of packed bytes. */
typedef struct mca_coll_solo_data_t {
    unsigned char *next; /**< contiguous: the next byte; else NULL */
    coll_packing_t packing;
} mca_coll_solo_data_t;

/** Where a message is without gaps: its first byte; else NULL. */
unsigned char *mca_coll_solo_contiguous(void *buffer, size_t count, ompi_datatype_t *datatype);

/** Opens a message to be read (pack) or written. */
int mca_coll_solo_data_open(mca_coll_solo_data_t *data, void *buffer, size_t count, ompi_datatype_t *datatype,
                            bool pack);

/** The next bytes out of a message, or into it. */
int mca_coll_solo_data_get(mca_coll_solo_module_t *module, mca_coll_solo_data_t *data, void *target, size_t bytes);
int mca_coll_solo_data_put(mca_coll_solo_module_t *module, mca_coll_solo_data_t *data, const void *source,
                           size_t bytes);

void mca_coll_solo_data_close(mca_coll_solo_data_t *data);

/** Scratch memory of at least SOLO_PIECE bytes, or NULL. @param which 0 or 1 */
void *mca_coll_solo_scratch(mca_coll_solo_module_t *module, int which);

/** Single copy from or to another rank's memory. @returns OMPI_SUCCESS or OMPI_ERROR, with a message */
int mca_coll_solo_read(mca_coll_solo_module_t *module, int rank, uint64_t from, void *to, size_t bytes);
int mca_coll_solo_write(mca_coll_solo_module_t *module, int rank, const void *from, uint64_t to, size_t bytes);

/** The same for a message that may have gaps. */
int mca_coll_solo_read_data(mca_coll_solo_module_t *module, int rank, uint64_t from, mca_coll_solo_data_t *to,
                            size_t bytes);
int mca_coll_solo_write_data(mca_coll_solo_module_t *module, int rank, mca_coll_solo_data_t *from, uint64_t to,
                             size_t bytes);

/** What ranks tell of their buffers before a single copy. Nobody writes more into one than its rank has named. */
typedef struct mca_coll_solo_where_t {
    uint64_t send, receive; /**< addresses; 0: there is none, or it has gaps */
    uint64_t bytes;         /**< of the message, or of a block */
} mca_coll_solo_where_t;

/** Publishes where this rank's buffers are. */
void mca_coll_solo_tell_where(mca_coll_solo_module_t *module, uint64_t seq, const void *send, const void *receive,
                              size_t bytes);

/** Waits for what another rank has told. */
mca_coll_solo_where_t mca_coll_solo_ask_where(mca_coll_solo_module_t *module, int rank, uint64_t seq);

/* -- coll_solo_decide.c -------------------------------------------------------------------------------------------- */

/**
 * How a call is done. Depends on what is the same on all ranks, and makes the shared memory when it pays.
 *
 * @param bytes packed, of the message or of one block
 * @param element bytes of what must not be cut; 1: bytes
 */
int mca_coll_solo_decide(mca_coll_solo_module_t *module, mca_coll_solo_collective_t collective, size_t bytes,
                         size_t element, mca_coll_solo_algorithm_t *algorithm);

/** The same for a reduction; where elements do not lie one after another without gaps, it is the fallback's. */
int mca_coll_solo_decide_reduction(mca_coll_solo_module_t *module, mca_coll_solo_collective_t collective, size_t count,
                                   const ompi_datatype_t *datatype, mca_coll_solo_algorithm_t *algorithm);

/* -- coll_solo_op.c ------------------------------------------------------------------------------------------------ */

/** sources[0] op sources[1] op ... to target, which may be the last source and no other. */
void mca_coll_solo_combine(ompi_op_t *op, ompi_datatype_t *datatype, size_t count, const void *const *sources,
                           int source_count, void *target);

/** Elements from first to end of a message. */
typedef struct mca_coll_solo_range_t {
    size_t first, end;
} mca_coll_solo_range_t;

/** The part of count elements that is a rank's to reduce. @param root who gets a larger one; -1: nobody */
mca_coll_solo_range_t mca_coll_solo_slice(size_t count, size_t element, int rank, int size, int root);

/** A reduction by single copies: where the operands are, and what comes of them. */
typedef struct mca_coll_solo_reduction_t {
    mca_coll_solo_module_t *module;
    ompi_op_t *op;
    ompi_datatype_t *datatype;
    uint64_t seq;    /**< each rank has told where its operand is */
    const char *own; /**< this rank's operand */
    char *result;    /**< in this process, for the range's first element; NULL: see remote */
    int result_rank; /**< where result is NULL: to that rank ... */
    uint64_t remote; /**< ... for the range's first element */
} mca_coll_solo_reduction_t;

/** Reduces a range of all ranks' operands, in rank order. */
int mca_coll_solo_reduce_range(const mca_coll_solo_reduction_t *reduction, mca_coll_solo_range_t range);

/* -- one file for each group of collectives ------------------------------------------------------------------------ */

int mca_coll_solo_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_solo_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root, ompi_communicator_t *comm,
                        mca_coll_base_module_t *module);
int mca_coll_solo_reduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op, int root,
                         ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_solo_allreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype, ompi_op_t *op,
                            ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_solo_reduce_scatter_block(const void *sbuf, void *rbuf, int count, ompi_datatype_t *datatype,
                                       ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_solo_gather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                         ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_solo_scatter(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                          ompi_datatype_t *rtype, int root, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_solo_allgather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                            ompi_datatype_t *rtype, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_solo_alltoall(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                           ompi_datatype_t *rtype, ompi_communicator_t *comm, mca_coll_base_module_t *module);

#endif
