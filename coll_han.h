/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * HAN: hierarchical collectives (Luo et al., "HAN: a Hierarchical Autotuned Collective Communication Framework").
 * Words as in docs/design.md. Declarations in sections, one for each source file.
 */
#ifndef MCA_COLL_HAN_H
#define MCA_COLL_HAN_H

#include "coll_han_compat.h"

#include <limits.h>
#include <stdatomic.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "opal/threads/mutex.h"

#include "coll_adapt/coll_adapt.h"
#include "coll_han_collectives.h"
#include "coll_han_dynamic.h"
#include "coll_han_choice.h"
#include "coll_han_rules.h"
#include "coll_han_spans.h"
#include "coll_han_tasks.h"
#include "coll_han_topology.h"
#include "common/coll_packing.h"
#include "common/coll_room.h"

/** A buffer of one block, or of one for each rank. */
typedef struct mca_coll_han_side_t {
    void *buffer; /**< or MPI_IN_PLACE */
    int count;    /**< elements of a block */
    ompi_datatype_t *type;
    const int *counts; /**< where not NULL: elements of each block */
    const int *places; /**< where not NULL: where each block begins, in extents; otherwise one follows the other */
} mca_coll_han_side_t;

/** A call, in one piece. */
typedef struct mca_coll_han_args_t {
    mca_coll_han_collective_t collective;
    mca_coll_han_form_t form;
    mca_coll_han_side_t send, recv; /**< bcast has only recv */
    ompi_op_t *op;
    int root; /**< -1: none */
} mca_coll_han_args_t;

/* -- coll_han_component.c ------------------------------------------------------------------------------------------ */

typedef struct mca_coll_han_component_t {
    mca_coll_han_base_component_t super;
    int priority;
    int verbose;
    int reproducible;   /**< 1: results may not depend on where ranks are */
    int start;          /**< see han_module_t.levels_wanted */
    int output;         /**< stream of verbose and error messages */
    char *rules_file;   /**< name of the user's file of rules; NULL: none */
    char *machine_file; /**< name of the file with the user's machine, or COLL_VARIABLE_NONE; NULL: AUTO */
    int use_rules_file; /**< HAN_AUTO: where one is named */
    int rules_strict;   /**< end the job where the file cannot be used */
    mca_coll_han_settings_t settings[HAN_COLLECTIVE_COUNT];
} mca_coll_han_component_t;

OMPI_MODULE_DECLSPEC extern mca_coll_han_component_t mca_coll_han_component;

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

/** Forgets where processes are. */
void mca_coll_han_sockets_finalize(void);

/** The tables of rules, in the order in which they are asked; an index of arrays. */
typedef enum { HAN_TABLE_FILE, HAN_TABLE_BUILTIN, HAN_TABLE_COUNT } mca_coll_han_table_id_t;

/** Files that the user may name; an index of arrays. */
typedef enum { HAN_FILE_RULES, HAN_FILE_MACHINE, HAN_FILE_COUNT } mca_coll_han_file_id_t;

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

typedef struct mca_coll_han_tree_t {
    bool made;
    int lane;
    bool root_leads; /**< its node */
    mca_coll_adapt_tree_kind_t low, up;
    mca_coll_adapt_tree_t tree;
} mca_coll_han_tree_t;

/** Whether there are sub-communicators; refused where ids for communicators are few. */
typedef enum {
    HAN_LEVELS_UNMADE,
    HAN_LEVELS_MADE,
    HAN_LEVELS_REFUSED_TO_RULES, /**< too many ids are in use, for the time being */
    HAN_LEVELS_REFUSED           /**< the same, and for the user's wish, too */
} mca_coll_han_levels_state_t;

/** The last decision for a collective, and all that it depends on once topology and rules are settled. */
typedef struct mca_coll_han_decision_t {
    bool made;
    mca_coll_han_input_t input;
    mca_coll_han_settings_t settings; /**< which users may change while the job runs */
    bool own_choice;
    mca_coll_han_params_t params;
} mca_coll_han_decision_t;

/** What is kept from earlier calls. */
typedef struct mca_coll_han_kept_t {
    mca_coll_han_tree_t *trees;         /**< [HAN_TREES_KEPT] made with the first one */
    mca_coll_han_choices_t choices;     /**< of the model */
    mca_coll_han_decision_t *decisions; /**< [HAN_COLLECTIVE_COUNT] made with the first one */
    mca_coll_han_lookup_t lookups[HAN_TABLE_COUNT][HAN_COLLECTIVE_COUNT]; /**< made when first asked */
} mca_coll_han_kept_t;

struct mca_coll_han_tune_t;

/** Name of the module's class; Open MPI's own HAN has another: the tuner knows by it that a module is this one's. */
#define MCA_COLL_HAN_CLASS "han_module_t"

typedef struct han_module_t {
    mca_coll_base_module_t super;
    const struct mca_coll_han_tune_t *tune;
    ompi_communicator_t *comm;
    mca_coll_han_fallback_t fallbacks[HAN_COLLECTIVE_COUNT][HAN_FORM_COUNT];
    bool asking; /**< a fallback works for HAN itself: blocking calls on the communicator are its own, and go there, too */
    atomic_bool asked; /**< a blocking call has begun to ask the other ranks for topology or rules */
    opal_mutex_t lock; /**< while topology and rules are found without that */
    atomic_bool topology_made;
    mca_coll_han_levels_state_t levels_state; /**< the same on all ranks */
    size_t levels_wanted; /**< calls so far that would go by them, and KiB of their messages; see coll_han_start */
    size_t levels_again;  /**< where they were refused: how many, when ids are looked for once more */
    mca_coll_adapt_event_module_t *adapt; /**< on the communicator itself; NULL where it is not there */
    mca_coll_han_topology_t topology;
    int *socket_of; /**< [ranks of this node] by place; NULL: all share one */
    atomic_bool rules_settled;
    bool uses[HAN_FILE_COUNT]; /**< what the user's files say comes first */
    /** Of each form by itself: Open MPI makes the nonblocking calls of MPI_Comm_idup in whatever thread goes on with
     * requests, while another one is in a blocking call. */
    mca_coll_han_kept_t kept[HAN_FORM_COUNT];
    mca_coll_han_level_t levels[HAN_LEVEL_COUNT];
    bool own_choice;                     /**< for the tuner: neither the user's rules nor his parameters decide */
    const mca_coll_han_params_t *forced; /**< by the tuner; NULL: the rules and the user decide */
    struct mca_coll_han_watch_t *watch;  /**< gets what the steps of calls cost; NULL: nobody wants to know */
    uint32_t levels_calls;               /**< that went level by level; alarms name them */
    opal_list_t alarms;                  /**< that have come early */
} han_module_t;

OMPI_MODULE_DECLSPEC OBJ_CLASS_DECLARATION(han_module_t);

int mca_coll_han_init_query(bool enable_progress_threads, bool enable_mpi_threads);
mca_coll_base_module_t *mca_coll_han_comm_query(ompi_communicator_t *comm, int *priority);

/**
 * Finds the topology, at the first call; without communication in nearly all cases (see mca_coll_han_nodes_find). Where
 * that fails on a rank the job ends: the others may have it, and go on.
 *
 * @param exchange communication is allowed: the call is blocking; else OMPI_ERR_NOT_FOUND where it is needed
 */
int mca_coll_han_module_topology(han_module_t *module, bool exchange);

/**
 * An allreduce for HAN itself, by what does it without HAN. coll/basic, and coll/tuned for short messages of 128 ranks
 * and more, do it as a reduce and a bcast of the communicator, which are HAN's: meanwhile these go to the fallbacks,
 * for HAN would ask again before it knows. Where it fails on a rank the job ends: the others may know, and go on.
 *
 * @param otherwise what cannot be done then; a sentence
 */
void mca_coll_han_ask(han_module_t *module, const void *own, void *all, int count, ompi_datatype_t *type, ompi_op_t *op,
                      const char *otherwise);

/**
 * Makes the sub-communicators, unless that is done; collective over the communicator.
 *
 * @returns the same on all ranks; OMPI_ERR_TEMP_OUT_OF_RESOURCE: they are not to be had. But OMPI_ERR_OUT_OF_RESOURCE:
 *          this rank has no memory
 */
int mca_coll_han_module_levels(han_module_t *module);

/**
 * Whether a call may go level by level; makes the sub-communicators when the communicator is used often enough for them
 * (coll_han_start), as long as ids are plenty. Collective over the communicator.
 *
 * @param at_once the user wants it
 * @param there the same on all ranks
 */
int mca_coll_han_module_levels_ready(han_module_t *module, size_t bytes, bool at_once, bool *there);

struct mca_coll_han_stages_t;

/**
 * The submodule to use at a level: the wanted one, or where it is not there, or has not all operations of a table, the
 * first that has (which one process of the level says, once). NULL where this rank has no part in the level, and where
 * none serves.
 */
mca_coll_base_module_t *mca_coll_han_module_submodule(han_module_t *module, mca_coll_han_level_id_t level,
                                                      mca_coll_han_submodule_t wanted,
                                                      const struct mca_coll_han_stages_t *table);

/** Temporary memory for a call, from ADAPT where it is there (coll_adapt_memory.h); NULL where memory is short. */
void *mca_coll_han_memory_take(const han_module_t *module, size_t bytes);

/** @param memory what mca_coll_han_memory_take() has returned, or NULL */
void mca_coll_han_memory_give(const han_module_t *module, void *memory);

/* -- coll_han_measure.c -------------------------------------------------------------------------------------------- */

/**
 * Finds out what machine this is. Collective over the module's communicator; makes its topology. It takes some 20 ms,
 * whatever the network, and the time to connect some leaders.
 *
 * @param machine the same on all ranks
 */
void mca_coll_han_measure(han_module_t *module, mca_coll_han_machine_t *machine);

/* -- coll_han_table.c ---------------------------------------------------------------------------------------------- */

/** Reads the built-in rules; when the component opens. */
void mca_coll_han_table_open(void);

/** Forgets all rules; when the component closes. */
void mca_coll_han_table_close(void);

/**
 * Settles whether the user's files are used, for all ranks of the job, and measures the machine where none is named: in
 * MPI_Init, collective over MPI_COMM_WORLD. Which of it is done, all ranks of a job must agree on as on all parameters.
 *
 * A bad file is told, once, and is not used. Where communication fails on a rank the job ends.
 */
void mca_coll_han_table_settle_job(han_module_t *module);

/**
 * Of a job in which HAN has nothing to do, on one node: rank 0 looks at the user's files all the same, and tells what
 * is wrong with them; the job ends where the user wants that.
 */
void mca_coll_han_table_check(ompi_communicator_t *comm);

/**
 * Settles the same for a communicator, at the first call; without communication where all ranks are of one job.
 *
 * @param exchange communication is allowed: the call is blocking; else OMPI_ERR_NOT_FOUND where it is needed
 */
int mca_coll_han_table_settle(han_module_t *module, bool exchange);

/** The machine that is known on the module's communicator; NULL: the model takes it to be TCP at 40 Gbit/s. */
const mca_coll_han_machine_t *mca_coll_han_table_machine(const han_module_t *module);

/**
 * What is chosen for a call on a module's communicator, whose topology and rules are known: by a rule of the file,
 * unless its algorithm does not serve the call; else by the model, and where there is no time to tell, by the built-in
 * rules.
 */
int mca_coll_han_table_find(han_module_t *module, const mca_coll_han_input_t *input,
                            const mca_coll_han_params_t **params);

/* -- coll_han_segments.c ------------------------------------------------------------------------------------------- */

/** Where segments of a message are on this rank; an index of arrays. */
typedef enum {
    HAN_NOWHERE,
    HAN_INPUT,  /**< what the rank gives: the user's send buffer */
    HAN_OUTPUT, /**< what it gets, and all of a broadcast: the user's receive buffer */
    HAN_SLOTS,  /**< temporary memory, for as many segments as are in flight */
    HAN_PLACE_COUNT
} mca_coll_han_place_t;

/** Memory of segments: number k is at base + k % slots * stride. */
typedef struct mca_coll_han_memory_t {
    char *base;
    size_t stride; /**< bytes */
    size_t slots;
} mca_coll_han_memory_t;

/**
 * A message cut into segments: of packed bytes where it is only moved, for ranks may describe it by different types;
 * of elements where it is reduced.
 *
 * What lies in the user's buffers is used there. A message that is moved and not contiguous passes through slots, in
 * which segments are packed and from which they are unpacked in their order.
 */
typedef struct mca_coll_han_segments_t {
    han_module_t *module;
    ompi_datatype_t *unit; /**< MPI_BYTE, or the type of the elements */
    size_t count;          /**< units of the message */
    size_t length;         /**< units of a segment; the last may be shorter */
    mca_coll_han_memory_t memories[HAN_PLACE_COUNT];
    void *scratch; /**< temporary memory, or NULL */
    bool packed;   /**< the output is in slots, and packing is open */
    coll_packing_t packing;
} mca_coll_han_segments_t;

/** How many parts of a length something has, the last of which may be shorter. */
static inline size_t mca_coll_han_segments_count(size_t count, size_t length)
{
    return count / length + (0 != count % length ? 1 : 0);
}

/** Cuts the message of a call into segments of about fs packed bytes; 0: it stays whole. No memory is needed yet. */
void mca_coll_han_segments_cut(mca_coll_han_segments_t *segments, han_module_t *module,
                               const mca_coll_adapt_call_t *call, size_t fs);

/**
 * Finds the memory of the segments.
 *
 * @param window segments in flight
 * @param slots HAN_SLOTS is wanted
 */
int mca_coll_han_segments_open(mca_coll_han_segments_t *segments, const mca_coll_adapt_call_t *call, size_t window,
                               bool slots);

/** Where a segment is; NULL in HAN_NOWHERE. */
void *mca_coll_han_segments_get(const mca_coll_han_segments_t *segments, mca_coll_han_place_t place, size_t segment);

/** Units of a segment. */
size_t mca_coll_han_segments_length(const mca_coll_han_segments_t *segments, size_t segment);

/** Packs a segment into its slot; nothing to do where it is not packed. Each segment once, in order. */
int mca_coll_han_segments_pack(mca_coll_han_segments_t *segments, size_t segment);

/** Unpacks a segment from its slot; nothing to do where it is not packed. Each segment once, in order. */
int mca_coll_han_segments_unpack(mca_coll_han_segments_t *segments, size_t segment);

void mca_coll_han_segments_close(mca_coll_han_segments_t *segments);

/* -- coll_han_stages.c --------------------------------------------------------------------------------------------- */

/** What a stage does; an index of the table of operations. */
typedef enum {
    HAN_OPERATION_BCAST,
    HAN_OPERATION_REDUCE,
    HAN_OPERATION_ALLREDUCE,
    HAN_OPERATION_GATHER, /**< these only where blocks go level by level, without segments */
    HAN_OPERATION_SCATTER,
    HAN_OPERATION_ALLTOALL,
    HAN_OPERATION_COUNT
} mca_coll_han_operation_t;

/** A step, as it was. */
typedef struct mca_coll_han_step_t {
    unsigned task;  /**< the stages that were active: a bit for each row of the table */
    double seconds; /**< on this rank; that of the last step includes what was still to be waited for */
} mca_coll_han_step_t;

/** Notes of a run's steps. */
typedef struct mca_coll_han_watch_t {
    mca_coll_han_step_t *steps; /**< [room] */
    size_t room;
    size_t count; /**< steps of the run, also where there is not room for all */
    double last;  /**< private */
} mca_coll_han_watch_t;

/** What the stages of one call share: the context of a plan. */
typedef struct mca_coll_han_call_t {
    han_module_t *module;
    ompi_op_t *op;
    mca_coll_base_module_t *submodules[HAN_LEVEL_COUNT]; /**< NULL: no part in the level */
    int roots[HAN_LEVEL_COUNT];                          /**< ranks in the levels' communicators */
    mca_coll_adapt_how_t hows[HAN_OPERATION_COUNT];      /**< for submodules of adapt */
    mca_coll_han_segments_t segments;
    struct {
        mca_coll_han_place_t in, out; /**< the same: in place; of a broadcast out counts */
    } routes[MCA_COLL_HAN_MAX_STAGES];
    int rc;           /**< the first error on this rank that others depend on */
    int unpack_rc;    /**< the first error of unpacking, on which no other rank depends */
    int pack_before;  /**< stage before which a segment is packed, -1 for none */
    int unpack_after; /**< stage after which a segment is unpacked, -1 for none */
} mca_coll_han_call_t;

/** Whether a module is of the adapt that comes with HAN, which takes tree and segment size as arguments. */
bool mca_coll_han_is_adapt(const mca_coll_base_module_t *submodule);

/** Whether a module can do a stage. */
bool mca_coll_han_serves(const mca_coll_base_module_t *submodule, const mca_coll_han_stage_t *stage);

/** Before a run: notes begin. NULL is fine. */
void mca_coll_han_watch_start(mca_coll_han_watch_t *watch);

/** The driver of all plans that HAN makes. */
extern const mca_coll_han_driver_t mca_coll_han_driver;

/* -- coll_han_alarm.c ---------------------------------------------------------------------------------------------- */

/**
 * Takes note of how a part of a call went that goes level by level. A rank on which one fails goes on with its part of
 * all that follow, so that nobody waits for it in vain. What it passes on is wrong then, and components inside the
 * levels do not tell: therefore it tells all other ranks of its first error, before that. A component that has no
 * memory for its part does not take part, and its other ranks wait: then the job ends.
 *
 * @param before the first error of the parts that came before
 * @returns the first error of all of them
 */
int mca_coll_han_alarm_note(han_module_t *module, int before, int rc);

/** At the end of each such call. @returns rc, or the error of a rank that has told of this call */
int mca_coll_han_alarm_heed(han_module_t *module, int rc);

/* -- coll_han_levels.c --------------------------------------------------------------------------------------------- */

/** How a collective goes level by level. */
typedef struct mca_coll_han_stages_t {
    const mca_coll_han_stage_t *stages;
    /** The same stages in the order of the root's node, where the root does not lead it; NULL: there is no root. */
    const mca_coll_han_stage_t *stages_at_root;
    int count;
} mca_coll_han_stages_t;

/** The stages of an algorithm; NULL where it does not go level by level. */
const mca_coll_han_stages_t *mca_coll_han_stages(mca_coll_han_collective_t collective,
                                                 mca_coll_han_algorithm_id_t algorithm);

/**
 * Does a blocking call level by level (HAN paper, section III): segment by segment, the stages overlapped.
 *
 * @param call of a barrier too, where nothing in it counts
 */
int mca_coll_han_levels(han_module_t *module, mca_coll_han_collective_t collective, const mca_coll_adapt_call_t *call,
                        const mca_coll_han_params_t *params);

/** Of a call in which each rank has a block: who does the part inside this rank's node. */
typedef struct mca_coll_han_node_t {
    ompi_communicator_t *comm;         /**< of the node's ranks, by their places; NULL: this rank is alone */
    mca_coll_base_module_t *submodule; /**< NULL: the same */
} mca_coll_han_node_t;

/** Begins a blocking call in which each rank has a block, and which goes level by level. */
int mca_coll_han_node_begin(han_module_t *module, mca_coll_han_collective_t collective,
                            const mca_coll_han_params_t *params, mca_coll_han_node_t *node);

/* -- coll_han_tune.c ----------------------------------------------------------------------------------------------- */

/** Changes whenever what a tuner sees of the component does. */
enum { HAN_TUNE_VERSION = 7 };

/** For the tuner, which does not link the component but finds its module on a communicator: what is tuned is what runs.
 */
typedef struct mca_coll_han_tune_t {
    int version; /**< HAN_TUNE_VERSION of the component */
    /**
     * From now on calls on the module's communicator are done by these parameters, as far as they serve a call,
     * whatever the rules and the user say; HAN_FALLBACK: by what would do it without HAN. On all ranks alike.
     *
     * @param params kept by the caller; NULL: as HAN chooses by itself
     * @param watch of calls that go level by level: gets what the steps have cost; NULL: nobody wants to know
     */
    void (*force)(han_module_t *module, const mca_coll_han_params_t *params, mca_coll_han_watch_t *watch);
    /**
     * Makes the topology and the levels, as the first call would. From now on neither rules of a file nor parameters
     * decide on this communicator, wherever the user has set them: they would be taken for HAN's own choice.
     * Collective over the module's communicator.
     */
    int (*prepare)(han_module_t *module);
    /** Whether a component can be used at a level, on this rank. */
    bool (*has)(han_module_t *module, mca_coll_han_level_id_t level, mca_coll_han_submodule_t submodule);
    const mca_coll_han_stages_t *(*stages)(mca_coll_han_collective_t collective, mca_coll_han_algorithm_id_t algorithm);
    /** The machine for which the model chooses on the communicator; NULL: one of which nothing is known. */
    const mca_coll_han_machine_t *(*machine)(const han_module_t *module);
    /**
     * After prepare: how HAN does a call by itself.
     *
     * @param input bytes of 0 where not all ranks know them
     * @returns OMPI_SUCCESS or OMPI_ERR_OUT_OF_RESOURCE
     */
    int (*choice)(han_module_t *module, const mca_coll_han_input_t *input, mca_coll_han_params_t *params);
} mca_coll_han_tune_t;

extern const mca_coll_han_tune_t mca_coll_han_tune;

/* -- coll_han_entry.c ---------------------------------------------------------------------------------------------- */

/** Gives the module its functions. */
void mca_coll_han_entry_install(han_module_t *module);

/** Keeps what did the collectives until now; false where one of them had nobody. */
bool mca_coll_han_entry_save(han_module_t *module, const ompi_communicator_t *comm);

/** Whether blocking calls come to the module: components with a higher priority are enabled later, and called before.
 */
bool mca_coll_han_entry_is_called(const han_module_t *module, mca_coll_han_collective_t collective);

/** Lets go of what save has kept. */
void mca_coll_han_entry_forget(han_module_t *module);

/* -- coll_han_call.c ----------------------------------------------------------------------------------------------- */

/** Returned where nothing has been done, and the fallback is to do the call; no error has this value. */
enum { HAN_TO_FALLBACK = INT_MAX };

/**
 * Decides how a call is done, and does it.
 *
 * @param request of the nonblocking and persistent forms
 * @returns HAN_TO_FALLBACK where nothing has been done, and the fallback is to do the call; OMPI_SUCCESS; or an error
 */
int mca_coll_han_call(han_module_t *module, const mca_coll_han_args_t *args, ompi_request_t **request);

/** Whether ADAPT does trees and schedules on the module's communicator. */
bool mca_coll_han_has_adapt(const han_module_t *module);

/** Of a rank's block: elements. */
static inline int mca_coll_han_side_count(const mca_coll_han_side_t *side, int rank)
{
    return NULL == side->counts ? side->count : side->counts[rank];
}

/** Elements of the blocks of all ranks. */
size_t mca_coll_han_side_total(const mca_coll_han_side_t *side, int size);

/** What its elements are. To the engine MPI_PACKED is its own memory; of the user's, which are bytes like any, it is
 * not. */
static inline ompi_datatype_t *mca_coll_han_side_type(const mca_coll_han_side_t *side)
{
    return MPI_PACKED == side->type ? MPI_BYTE : side->type;
}

/** Of a buffer of blocks, those of so many ranks from this one on. All lie one behind the other, or count is 1. */
mca_coll_adapt_data_t mca_coll_han_side_blocks(const mca_coll_han_side_t *side, int rank, int count);

/** A buffer of one block. */
static inline mca_coll_adapt_data_t mca_coll_han_side_whole(const mca_coll_han_side_t *side)
{
    return (mca_coll_adapt_data_t){ side->buffer, (size_t) side->count, mca_coll_han_side_type(side) };
}

/* -- coll_han_{bcast,reduce,allreduce,barrier,allgather,reduce_scatter,alltoall,gather,scatter,scan}.c ------------- */

/** Performs a call by an algorithm that fits it; as mca_coll_han_call, but never the fallback. */
typedef int mca_coll_han_performer_t(han_module_t *module, const mca_coll_han_args_t *args,
                                     const mca_coll_han_params_t *params, ompi_request_t **request);

mca_coll_han_performer_t mca_coll_han_perform_bcast, mca_coll_han_perform_reduce, mca_coll_han_perform_allreduce,
    mca_coll_han_perform_barrier, mca_coll_han_perform_allgather, mca_coll_han_perform_reduce_scatter,
    mca_coll_han_perform_alltoall, mca_coll_han_perform_gather, mca_coll_han_perform_scatter, mca_coll_han_perform_scan;

/** An allreduce through the leaders. */
int mca_coll_han_allreduce_leaders(han_module_t *module, const mca_coll_han_args_t *args, ompi_request_t **request);

/* -- coll_han_tree.c ----------------------------------------------------------------------------------------------- */

/** How adapt performs what HAN asks for, with so many sends under way to each peer: M of the paper is twice as many. */
static inline mca_coll_adapt_how_t mca_coll_han_how(int sends)
{
    return (mca_coll_adapt_how_t){ .degree = HAN_RADIX, .sends = sends, .recvs = 2 * sends };
}

/**
 * Has adapt do a call on the communicator itself: over the topology-aware tree (ADAPT paper, section 3.2) with the
 * parameters ibalg between the nodes, sbalg inside them, and segments of ibs; an operation that does not commute over
 * a tree in rank order.
 *
 * @param args    say the form, and how many segments are under way; the data are those of call
 * @param request of the nonblocking and persistent forms
 */
int mca_coll_han_call_tree(han_module_t *module, const mca_coll_han_args_t *args, const mca_coll_adapt_call_t *call,
                           const mca_coll_han_params_t *params, ompi_request_t **request);

extern const mca_coll_han_stages_t mca_coll_han_bcast_stages, mca_coll_han_reduce_stages, mca_coll_han_allreduce_stages,
    mca_coll_han_up_allreduce_stages, mca_coll_han_allgather_stages, mca_coll_han_reduce_scatter_stages,
    mca_coll_han_alltoall_stages;

/* -- coll_han_exchange.c ------------------------------------------------------------------------------------------- */

/**
 * Messages straight from rank to rank: alltoall, gather, scatter and their v-forms. In the order in which a rank sends,
 * all ranks of a node send to one other node at a time, and no two of them to one rank, unless that node has fewer
 * ranks; so every node receives from one other node, and no link is asked for more than it carries.
 *
 * @param segment bytes of the pieces that longer blocks go to other nodes in; 0: whole
 */
int mca_coll_han_exchange(han_module_t *module, const mca_coll_han_args_t *args, size_t segment,
                          ompi_request_t **request);

/** Copies the block that a rank has for itself, if it has one: one that is in place is where it belongs. */
void mca_coll_han_exchange_own(mca_coll_adapt_schedule_t *schedule, const mca_coll_han_args_t *args, int rank);

/**
 * Limits the messages of a root that are under way at once, where they are many.
 *
 * @param bytes of all of them
 * @param ranks of the communicator
 */
void mca_coll_han_exchange_limit_root(mca_coll_adapt_schedule_t *schedule, size_t bytes, int ranks);

/* -- coll_han_ragged.c --------------------------------------------------------------------------------------------- */

/** A gatherv or a scatterv in which short blocks go through the leaders, and long ones straight. */
int mca_coll_han_ragged(han_module_t *module, const mca_coll_han_args_t *args, ompi_request_t **request);

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
    int leader;                 /**< of its group */
    mca_coll_han_spans_t spans; /**< of a gather or a scatter */
} mca_coll_han_leaders_t;

/** Temporary memory in equal parts, each for one operand. */
typedef struct mca_coll_han_parts_t {
    mca_coll_adapt_data_t first;
    ptrdiff_t stride;
} mca_coll_han_parts_t;

mca_coll_han_leaders_t mca_coll_han_leaders_begin(const han_module_t *module, const mca_coll_han_args_t *args);

/** Memory for so many operands of this many elements. */
mca_coll_han_parts_t mca_coll_han_leaders_parts(mca_coll_han_leaders_t *leaders, int parts, size_t count,
                                                ompi_datatype_t *type);

/** Memory for so many packed blocks of this many bytes. */
mca_coll_han_parts_t mca_coll_han_leaders_packed(mca_coll_han_leaders_t *leaders, int parts, size_t bytes);

static inline mca_coll_adapt_data_t mca_coll_han_leaders_part(const mca_coll_han_parts_t *parts, int i)
{
    mca_coll_adapt_data_t part = parts->first;

    part.buffer = (char *) part.buffer + i * parts->stride;
    return part;
}

/** Of packed blocks this many, from this one on. */
static inline mca_coll_adapt_data_t mca_coll_han_leaders_packs(const mca_coll_han_parts_t *parts, int first, int count)
{
    mca_coll_adapt_data_t packs = mca_coll_han_leaders_part(parts, first);

    packs.count *= (size_t) count;
    return packs;
}

/** What a rank puts into a reduction. */
mca_coll_adapt_data_t mca_coll_han_leaders_operand(const mca_coll_han_leaders_t *leaders, size_t count);

/** Gives another rank one thing, and gets another one; as who leads nothing does with the leader of its node. */
void mca_coll_han_leaders_ask(mca_coll_han_leaders_t *leaders, int whom, mca_coll_adapt_data_t given,
                              mca_coll_adapt_data_t wanted);

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

/**
 * A gather or a scatter: the root writes its schedule, and so does each other rank, with the block that is its own. The
 * tree of leaders is that of ibalg, those inside the nodes that of sbalg: linear, or else binomial.
 */
int mca_coll_han_leaders_rooted(han_module_t *module, const mca_coll_han_args_t *args,
                                const mca_coll_han_params_t *params, void (*fill_root)(mca_coll_han_leaders_t *leaders),
                                void (*fill_other)(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own),
                                ompi_request_t **request);

/** Ends the schedule, and performs it. */
int mca_coll_han_leaders_perform(mca_coll_han_leaders_t *leaders, const han_module_t *module, ompi_request_t **request);

#endif
