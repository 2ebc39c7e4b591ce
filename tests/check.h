/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The checker of collectives: tables of layouts, operations and collectives, and the life of one call. Declarations in
 * sections, one for each source file. Nothing here needs HAN: it serves any MPI.
 *
 * What a call must give is known element by element: an element is a function of (key, sender, receiver, place), so
 * every rank computes what it expects by itself. No collective is trusted.
 */
#ifndef HAN_TESTS_CHECK_H
#define HAN_TESTS_CHECK_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#ifndef T_LIMIT
#define T_LIMIT 300 /* as in mpi_test.h */
#endif

/* -- check_layouts.c ----------------------------------------------------------------------------------------------- */

/** A basic item in memory. Its value is a number; what does not fit is cut as C does it. */
enum atom { BYTE, SCHAR, SHORT, INT, LONG, FLOAT, DOUBLE, FRACTION /* a double: a third of the number */ };

enum { MOST_WORDS = 3 }; /* of an element, in the table */

struct item {
    enum atom atom;
    ptrdiff_t place;
};

/**
 * How an element lies in memory: words, each with its place, and all of them again `repeat` times, `stride` bytes
 * apart. All layouts of a family give messages of one signature.
 */
struct layout {
    const char *name;
    int family;
    size_t period; /* words in items */
    struct item items[MOST_WORDS];
    ptrdiff_t low; /* the lower bound */
    ptrdiff_t extent;
    MPI_Datatype ready; /* MPI_DATATYPE_NULL: to be made */
    bool whole;         /* one element is all that is there */
    size_t repeat;
    ptrdiff_t stride;
};

enum layout_name {
    BYTES,
    BYTE_GAPS,
    WHOLE_BYTES,
    WHOLE_BYTES_DOWN,
    INTS,
    INT_PAIRS,
    INT_GAPS,
    INT_BELOW,
    INTS_DOWN,
    WHOLE_INTS,
    WHOLE_ROW,
    DOUBLE_INTS,
    DOUBLE_INT_TIGHT,
    INT_BEFORE_DOUBLE,
    WHOLE_DOUBLE_INTS,
    NOTHING,
    LATE_INTS,
    SCHARS,
    SHORTS,
    LONGS,
    FLOATS,
    DOUBLES,
    COMPLEXES,
    FRACTIONS,
    BOOLS,
    SHORT_INTS,
    LONG_INTS,
    FLOAT_INTS,
    LAYOUTS,
    INTS_BY_RANK = LAYOUTS, /* each rank has another one of the family */
    DOUBLE_INTS_BY_RANK,
    BYTES_BY_RANK
};

/**
 * The layout with a name, on a rank.
 *
 * @param most_words whole messages have so many words (or a divisor of it)
 */
struct layout layout_find(enum layout_name name, int rank, size_t most_words);

/** Words that each message in this layout has a multiple of, on any rank. */
size_t layout_unit(enum layout_name name);

/** Bytes of that many words. */
size_t layout_unit_bytes(enum layout_name name);

/** Makes the type, to be freed by layout_type_free. */
MPI_Datatype layout_type(const struct layout *layout);

void layout_type_free(const struct layout *layout, MPI_Datatype *type);

/** Words of an element. */
size_t layout_words(const struct layout *layout);

/** Elements of a message of that many words; where they have no data, a few. */
size_t layout_elements(const struct layout *layout, size_t words);

/** Where word number i of elements one behind the other is, and what it is. */
struct item layout_word(const struct layout *layout, size_t i);

/**
 * First and last byte of count elements, relative to the buffer's address; 0 and 0 where there are none.
 *
 * @param whole with what is in front of the first word and behind the last one
 */
void layout_span(const struct layout *layout, size_t count, bool whole, ptrdiff_t *first, ptrdiff_t *last);

/** Where an element begins, relative to its address: an array of them is an array of structures in C. */
ptrdiff_t layout_first(const struct layout *layout);

void atom_put(enum atom atom, unsigned char *to, int64_t number);
int64_t atom_get(enum atom atom, const unsigned char *from);
size_t atom_bytes(enum atom atom);

/* -- check_operations.c -------------------------------------------------------------------------------------------- */

/** right = left op right, all words of an element. */
typedef void (*fold_t)(const int64_t *left, int64_t *right);

/** What a message is made of on both sides, and an operation where there is one. */
struct variant {
    const char *name;
    enum layout_name layouts[2]; /* of input and output */
    fold_t fold;                 /* NULL: no operation */
    MPI_Op op;                   /* MPI_OP_NULL: made of function */
    MPI_User_function *function;
    bool commutes;
    bool whole;                 /* the function writes all of an element, what is around its words too */
    int64_t limits[MOST_WORDS]; /* numbers are below these; 0: as below that of the first word, or any */
};

extern const struct variant variants[];
extern const size_t variant_count;

MPI_Op variant_op(const struct variant *variant);
void variant_op_free(const struct variant *variant, MPI_Op *op);

/** Words that all messages have a multiple of; bytes of these. */
size_t variant_unit(const struct variant *variant);
size_t variant_unit_bytes(const struct variant *variant);

/* -- check_collectives.c ------------------------------------------------------------------------------------------- */

enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

extern const char *const form_names[FORMS];

enum { INPUT, OUTPUT, SIDES, NEITHER = SIDES, BOTH };

extern const char *const side_names[SIDES];

/** Where the blocks are: of one size behind each other, of any size behind each other, of any size anywhere. */
enum spread { EVEN, UNEVEN, SCATTERED };

/** What a result is made of: one message, or those of all ranks, of those up to this one, of those before it. */
enum reach { ONE, ALL, UP_TO, BEFORE };

/** What MPI gets of a side. */
struct argument {
    void *buffer;
    int count;
    const int *counts;
    const int *places;
    MPI_Datatype type;
};

struct call;

struct collective {
    const char *name;
    bool many[SIDES]; /* a block for each rank, or only one */
    int rooted;       /* the side that only the root has; BOTH: the root has only the input, others only the output */
    bool in_place;    /* it may be */
    enum spread spread;
    enum reach reach;
    int (*start)(struct call *c, const struct argument *in, const struct argument *out);
};

enum { COLLECTIVES = 16 };

extern const struct collective collectives[COLLECTIVES];

/** Whether this MPI has the form. */
bool form_there(enum form form);

/** Whether component adapt has it in all forms. */
bool collective_is_adapts(const struct collective *collective);

/** Whether a collective can have a variant: one with an operation goes with an operation. */
bool collective_suits(const struct collective *collective, const struct variant *variant);

/* -- check_call.c -------------------------------------------------------------------------------------------------- */

enum { CALL_TEXT = 512 };

struct side {
    struct layout layout;
    MPI_Datatype type;
    MPI_Datatype absolute; /* the same at the memory's address; MPI_DATATYPE_NULL: not used */
    int blocks;
    int *counts;     /* [blocks] elements */
    int *places;     /* [blocks] extents */
    ptrdiff_t first; /* the first byte of the data, from the pointer that MPI gets */
    size_t span;     /* from there to behind the last */
    unsigned char *memory;
    unsigned char *image; /* what it must hold in the end */
    struct argument argument;
};

/** One call. The first part says what is called; the rest is its state. */
struct call {
    const struct collective *collective;
    const struct variant *variant;
    enum form form;
    size_t units; /* of a block; an uneven one has more or less */
    int root;     /* 0 where there is none */
    bool in_place;
    uint64_t key;
    MPI_Comm comm;
    int rank; /* in it */
    int size;

    struct side sides[SIDES];
    MPI_Op op;
    MPI_Request request;
    int code; /* the first error that MPI has returned */
    bool failed;
    char why[CALL_TEXT]; /* the first failure */
};

/** Takes the rank and size of a communicator. */
void call_on(struct call *c, MPI_Comm comm);

/** Makes types, operation and guarded buffers, fills them, and starts the call; it ends here where it blocks. */
void call_start(struct call *c);

/** From now on types and operations are freed before a persistent call that is ADAPT's starts. */
void call_free_types_early(void);

/** Waits for it. */
void call_wait(struct call *c);

/** Fills the buffers with other values, and starts a persistent call once more. */
void call_again(struct call *c);

/** Looks at all that is in the buffers, between the data and around them. The call must have ended. */
void call_check(struct call *c);

/** Looks only around the buffers: where a call has failed, what is in them is anything. */
void call_check_guards(struct call *c);

/** Frees all of it. */
void call_close(struct call *c);

/**
 * All of it, persistent calls twice; what is summed with rounding errors must have the same bits each time and, where
 * all ranks have the result, on all of them.
 */
void call_run(struct call *c);

/** A barrier, which nobody may leave before the last rank has come. */
void call_run_barrier(struct call *c);

/** What is called, for messages. */
const char *call_text(const struct call *c, char *text, size_t size);

/** Notes a failure of a call; the first one is kept. */
__attribute__((format(printf, 3, 4))) bool call_expect(struct call *c, bool condition, const char *format, ...);

/** Any number, from others. */
uint64_t check_mixed(uint64_t key, uint64_t a, uint64_t b, uint64_t i);

/* -- check_settings.c ---------------------------------------------------------------------------------------------- */

/** Opens MPI_T; before MPI_Init. */
void settings_init(void);

/**
 * Looks for the variables coll_<component>_<collective>_... that take names: each combination of accepted values is a
 * setting, if no other one does the same. Where there are none, there is one setting, which is nothing.
 *
 * @param with_numbers some that take numbers, too: of each a few values
 */
void settings_open(const char *component, bool with_numbers);

/** Sets the segment size of all collectives that have one. */
void settings_segment(const char *component, int bytes);

/** Number of settings of a collective, at least 1. */
size_t settings_count(const struct collective *collective);

/** Writes a setting, on this rank; the others must do the same. */
void settings_write(const struct collective *collective, size_t setting);

/** "algorithm=tree up_module=auto", or "". */
const char *settings_text(const struct collective *collective, size_t setting, char *text, size_t size);

/** Who moves the data of a call: the component alone; in part Open MPI's own modules; these, or nobody knows who. */
enum mover { COMPONENT, IN_PART_OTHERS, OTHERS };

/** Who does it in a setting. */
enum mover settings_mover(const struct collective *collective, size_t setting);

void settings_finalize(void);

/* -- check_known.c ------------------------------------------------------------------------------------------------- */

/** A known fault of Open MPI 4.1.4 itself, which no test of HAN is to trip over. */
struct known_fault {
    const char *what; /* with its reason */
    enum mover least; /* it concerns calls of these movers and those behind; COMPONENT: HAN leaves all to others */
    bool (*concerns)(const struct call *c);
    unsigned long left_out; /* calls */
};

extern struct known_fault known_faults[];
extern const size_t known_fault_count;

/** Whether the user has asked for that pml. */
bool is_over_pml(const char *name);

/** Whether a call is not for MPI_BOTTOM: all ranks say the same. */
bool known_fault_of_addresses(const struct call *c);

/** Whether a call is to be left out; counts it. */
bool known_fault_concerns(const struct call *c, enum mover mover);

/* -- check_random.c ------------------------------------------------------------------------------------------------ */

struct random_run {
    MPI_Comm universe; /* all ranks that take part */
    uint64_t seed;
    long segment;
    long rounds;
    bool free_early; /* communicators go while calls on them are under way */
    char *doing;     /* set to what is done, for who hears of a hang */
    size_t doing_size;
};

/**
 * Random sequences of collectives on random communicators, several outstanding; ends at the first failure.
 *
 * @param why what has failed, and the round; on rank 0 of the universe that of any rank
 * @returns rounds, or -1 where something failed
 */
long check_random(const struct random_run *run, char *why, size_t size);

/** A number below limit, the next of a sequence. */
size_t check_draw(uint64_t *state, size_t limit);

/** Units of a message, by the number of a size: 0, 1, a segment and one more or less, nine and a bit. */
enum { SIZES = 6 };
size_t check_units(size_t number, const struct variant *variant, long segment);

/** Draws what a collective in a form, both set, is called with on a communicator of that size. */
void check_draw_call(struct call *c, uint64_t *state, int size, long segment);

/* -- check_threads.c ----------------------------------------------------------------------------------------------- */

enum { MOST_THREADS = 16 };

struct threads_run {
    MPI_Comm comm; /* each thread gets a duplicate of it */
    int threads;
    uint64_t seed;
    long segment;
};

/**
 * A round: threads make all collectives in all forms, each on its own communicator. Collective; wants
 * MPI_THREAD_MULTIPLE.
 *
 * @param round the number of the round, which with the seed says what is drawn
 * @param why   what has failed on this rank, and where; "" where nothing has
 */
void check_threads(const struct threads_run *run, long round, char *why, size_t size);

#endif
