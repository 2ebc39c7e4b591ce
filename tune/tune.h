/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The autotuner (HAN paper, sections III-A.2, III-B.2, III-C). docs/tuning.md says what it does. Declarations in
 * sections, one for each source file; none of them needs MPI. What does is in tune_engine.h.
 */
#ifndef HAN_TUNE_H
#define HAN_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "coll_han_dynamic.h"
#include "coll_han_rules.h"
#include "coll_han_tasks.h"

/* -- tune_model.c: samples, and what they tell --------------------------------------------------------------------- */

/** Runs of the same. */
struct tune_series {
    double *samples; /**< [count] seconds of the slowest rank */
    size_t count;
    size_t room;
};

/** Adds a sample; returns 0, or -1 where memory is short. */
int tune_series_add(struct tune_series *series, double seconds);

void tune_series_free(struct tune_series *series);

/** The median of some values, which are put in order; NAN where there are none. */
double tune_median(double *values, size_t count);

/** Median of the samples; NAN where there are none. */
double tune_series_median(const struct tune_series *series);

/**
 * Half the width of the median's confidence interval (95 %, by order statistics), as a part of the median. Up to five
 * samples: from the smallest to the largest, which is less than 95 %. INFINITY with fewer than two.
 */
double tune_series_spread(const struct tune_series *series);

/** Samples that took more than twice the median: they count like the others, and are shown. */
size_t tune_series_outliers(const struct tune_series *series);

/**
 * What a segment costs once the pipeline is full (HAN paper, figure 3). As many segments as are under way together come
 * out in a bunch where the network serves all of them alike: so it is the mean over whole bunches, from the end of the
 * first one to the end of the last. Negative where there are fewer than two.
 *
 * @param seconds [count] of the steps
 * @param lag of the last stage: steps until the pipeline is full
 * @param depth segments that are under way together
 * @param settled false where the halves differ by more than a quarter: more segments are to be run
 */
double tune_model_steady(const double *seconds, size_t count, size_t lag, size_t depth, bool *settled);

/**
 * What each segment costs that follows the first (HAN paper, equations 3 and 4): a run of one segment has all tasks of
 * the pipeline's head and tail, and what more a longer run takes are its full ones. NAN: not known.
 *
 * @param first the time of one segment
 * @param many runs of several
 * @param measured segments in many
 */
double tune_model_step(double first, const struct tune_series *many, size_t measured);

/**
 * The time of u segments.
 *
 * @param first of one segment
 * @param step what each of the others costs, as far as they are under way together
 * @param depth segments that are under way together
 * @param slope what each segment costs after these; NAN: a step
 */
double tune_model_estimate(double first, double step, size_t u, size_t depth, double slope);

/** Segments to be run for the settled cost to be seen: until the pipeline is full, and at least two bunches more. */
size_t tune_model_segments(size_t lag, size_t depth);

/* -- tune_judge.c: who has won by two clocks ----------------------------------------------------------------------- */

/** Single calls that all ranks begin at one time; calls in a row. */
enum tune_clock { TUNE_SINGLE, TUNE_ROW, TUNE_CLOCK_COUNT };

/** What a way to do a call takes. */
struct tune_times {
    double seconds[TUNE_CLOCK_COUNT];
};

/** Makes one clock decide: the other one says the same. TUNE_CLOCK_COUNT: both decide. */
void tune_judge_by(struct tune_times *times, enum tune_clock clock);

/** How many times as long as another one, by the clock by which that is more. */
double tune_judge_behind(const struct tune_times *times, const struct tune_times *other);

/** The geometric mean over both clocks. */
double tune_judge_mean(const struct tune_times *times);

/** Clearly less (TUNE_WORTH) behind the faster of both, by the clock by which that is more, and clearly slower by none.
 */
bool tune_judge_beats(const struct tune_times *times, const struct tune_times *other);

/** What a way to do a call has taken in some rounds. Of an array of them the first is the fallback's. */
struct tune_record {
    struct tune_times median, least, most;
    int rounds;  /**< 0: the times are a guess */
    double cost; /**< seconds of a round, about */
    bool wrong;  /**< its result is */
    bool out;    /**< it is not timed any more, and cannot win; the fallback can */
    bool own;    /**< it is HAN's own choice: others are compared with it */
    bool guest;  /**< it is so, and none of the candidates: it cannot win */
};

/**
 * The one that is least behind the best, by the clock by which it is more; of those that are not clearly slower than
 * the fallback by either clock, or are faster than HAN's own choice by both.
 */
long tune_judge_winner(const struct tune_record *records, long count);

/** Whether each is clearly slower, by a clock, than the fallback or than HAN's own choice: these two, too. */
bool tune_judge_is_torn(const struct tune_record *records, long count);

/** Those that are out behind two rounds or more are in again: they were not the best, but may be the next best. */
void tune_judge_take_back(struct tune_record *records, long count);

/** Whether one could as well be the winner: it is not 3 % more behind the best. */
bool tune_judge_ties(const struct tune_record *records, long count, long one, long winner);

/** How far one is behind the best of each clock, over how far another one is. */
double tune_judge_over(const struct tune_record *records, long count, long one, long other);

/** Whether it may win, beats HAN's own choice, and is not slower than the fallback in the mean of both clocks. */
bool tune_judge_pays(const struct tune_record *records, long count, long one);

/**
 * Of all that may win, without HAN's own choice and another one: the least behind of those that pay, or, where none
 * does, the least behind; that other one again where there is nothing else.
 */
long tune_judge_foremost(const struct tune_record *records, long count, long but);

/**
 * After a round: who cannot be the winner any more is out. What is out after a single round has taken so much longer
 * that no short disturbance can be the cause.
 *
 * @param by_both for a table: the fallback stays, and who is near by one clock; else one clock is enough only for the
 *                fallback and HAN's own choice
 */
void tune_judge_drop(struct tune_record *records, long count, bool by_both);

/** Side by side, where all rounds have taken less than this, there are more, up to so many times as many. */
#define TUNE_QUICK_SECONDS 0.25
enum { TUNE_QUICK_TIMES = 8 };

/** Seconds that a round of those takes that are not out. */
double tune_judge_cost(const struct tune_record *records, long count);

/**
 * Before a round that would take too long: who is most behind is out.
 *
 * @param seconds that the round may take
 * @param least so many stay in any case, beside the fallback and HAN's own choice
 */
void tune_judge_fit(struct tune_record *records, long count, double seconds, long least);

/**
 * Whether more rounds tell nothing: one is left, or all that are tie, or none of them can beat HAN's own choice.
 *
 * @param records [count], one of HAN's own choice
 */
bool tune_judge_is_over(const struct tune_record *records, long count);

/* -- tune_space.c: what is tried ----------------------------------------------------------------------------------- */

enum { TUNE_MOST_CHOICES = 16 };

/** A function of MPI, as far as it matters here: MPI_Bcast, MPI_Ibcast. */
struct tune_function {
    mca_coll_han_collective_t collective;
    mca_coll_han_form_t form; /**< blocking or nonblocking */
};

enum { TUNE_FUNCTION_COUNT = 2 * HAN_COLLECTIVE_COUNT, TUNE_FUNCTION_NAME = 32 };

/** Its place among all, from 0 on: the blocking ones come first. */
int tune_function_place(struct tune_function function);

struct tune_function tune_function_at(int place);

bool tune_function_is(struct tune_function one, struct tune_function other);

/** "bcast", "ibcast". Returns name. */
const char *tune_function_name(struct tune_function function, char name[TUNE_FUNCTION_NAME]);

/**
 * Whose turn it is in a round: on all ranks the same, and for each function, size and round another order by lot, so
 * that none has the same neighbours everywhere.
 *
 * @param seed of the lot
 * @param order [count] gets the numbers from 0 on
 */
void tune_order(struct tune_function function, size_t bytes, int round, long seed, long *order, long count);

/** The function of that name; false where there is none. */
bool tune_function_find(const char *name, struct tune_function *function);

/** Whether two ways to do a call come to the same, in all that parameters say. */
bool tune_is_same(const mca_coll_han_input_t *input, const mca_coll_han_params_t *one,
                  const mca_coll_han_params_t *other);

/** The rule of a table that is the nearest to a call; NULL: it has none. Returns 0, or -1 where memory is short. */
int tune_nearest(const mca_coll_han_rules_t *rules, const mca_coll_han_input_t *input,
                 const mca_coll_han_rule_t **nearest);

/** Whether rules can depend on bytes: all ranks know how many there are (coll_han_call.c). */
bool tune_knows_bytes(mca_coll_han_collective_t collective);

/** A call as HAN knows it, and looks for rules: with 0 bytes where not all ranks know how many there are. */
mca_coll_han_input_t tune_known(mca_coll_han_input_t input);

/** What the user wants to be searched. */
struct tune_space {
    struct tune_function functions[TUNE_FUNCTION_COUNT];
    int function_count;
    size_t least_bytes, most_bytes;     /**< of a message; doubled from one to the next */
    size_t least_segment, most_segment; /**< fs, the same */
    size_t inner[TUNE_MOST_CHOICES];    /**< ibs and irs; 0: segments whole */
    int inner_count;
    mca_coll_adapt_tree_kind_t trees[TUNE_MOST_CHOICES]; /**< ibalg and iralg */
    int tree_count;
    mca_coll_han_submodule_t ups[HAN_CHOICE_COUNT], lows[HAN_CHOICE_COUNT]; /**< that are there */
    int up_count, low_count;
    int nodes, ppn;
    bool heuristics;
};

/** A way to do a collective. */
struct tune_config {
    mca_coll_han_collective_t collective;
    mca_coll_han_params_t params;
};

enum { TUNE_TEXT = 256 };

/** The collectives that can be tuned: those that go level by level. */
bool tune_space_has(mca_coll_han_collective_t collective);

/**
 * All configurations of a collective, for all message sizes, by ascending fs.
 *
 * @param configs gets memory, to be freed
 * @returns how many there are; -1 where memory is short
 */
long tune_space_make(const struct tune_space *space, mca_coll_han_collective_t collective,
                     struct tune_config **configs);

/** Whether a configuration is one for a message of so many bytes: a segment is not longer than the message. */
bool tune_space_serves(const struct tune_space *space, const struct tune_config *config, size_t bytes);

/** The parameters as a rule has them: "algorithm=pipeline fs=64K imod=adapt ...". */
void tune_config_text(const struct tune_config *config, char text[TUNE_TEXT]);

/** "64K" */
void tune_bytes_text(size_t bytes, char text[32]);

/** Prints what the heuristics leave out, one a line. */
void tune_heuristics_print(FILE *file);

/* -- tune_store.c: measurements, kept as CSV ----------------------------------------------------------------------- */

/** What was run. */
enum tune_kind {
    TUNE_TASK,     /**< some segments, steps looked at */
    TUNE_WHOLE,    /**< a message */
    TUNE_BUILTIN,  /**< a message, as HAN does it by its own choice */
    TUNE_FALLBACK, /**< a message, as it would go without HAN */
    TUNE_KIND_COUNT
};

/** What was measured how often. */
struct tune_entry {
    enum tune_kind kind;
    int nodes, ppn;
    mca_coll_han_collective_t collective;
    size_t bytes;
    char parameters[TUNE_TEXT]; /**< empty: of TUNE_BUILTIN and TUNE_FALLBACK */
    struct tune_series series;
};

struct tune_store {
    struct tune_entry **entries; /**< [count] */
    size_t count;
    FILE *file;
    char *path;
    size_t resumed; /**< samples that were there already */
};

/**
 * Opens a file of measurements, for this process alone; what is in it is taken over, if it was measured on the same
 * machine. A file that is something else stays as it is.
 *
 * @param machine signature of the allocation, one line
 * @param why gets a sentence on what is wrong
 * @returns 0, or -1
 */
int tune_store_open(struct tune_store *store, const char *path, const char *machine, char why[TUNE_TEXT * 2]);

/** The entry of what is to be measured; made where it is not there yet. NULL where memory is short. */
struct tune_entry *tune_store_entry(struct tune_store *store, const struct tune_entry *like);

/** Notes a sample, in memory and in the file. 0, or -1 where it cannot be written. */
int tune_store_add(struct tune_store *store, struct tune_entry *entry, double seconds);

/** Notes how long a search has taken. */
int tune_store_searched(struct tune_store *store, const char *mode, bool heuristics, double seconds);

void tune_store_close(struct tune_store *store);

/* -- tune_file.c: files that tools write --------------------------------------------------------------------------- */

/** Whether there is a regular file, also through a link, or nothing: what can have files of its name beside it. */
bool tune_file_is_regular(const char *path);

/** Whether tune_file_write() could: what is there is not touched. 0, or -1 and errno. */
int tune_file_try(const char *path);

enum { TUNE_PATH = 4096 };

/** The path of a file in a folder. Returns path. */
const char *tune_file_path(const char *folder, const char *name, char path[TUNE_PATH]);

/** As fopen(), of a file in a folder. */
FILE *tune_file_open(const char *folder, const char *name, const char *mode);

/**
 * Writes a text. A regular file is replaced wholly or not at all, through a link its target, and keeps its mode. What
 * is neither (a device, a pipe) is opened and written.
 *
 * @returns 0, or -1 and errno
 */
int tune_file_write(const char *path, const char *text, size_t length);

/* -- tune_output.c: tables of rules are written -------------------------------------------------------------------- */

/** So many times as slow is clearly slower. */
#define TUNE_WORTH 1.05

/** So many times as fast as HAN's own choice is worth a line: by the last rounds of a race, and with --prune. */
#define TUNE_GAIN 1.03

/** What a message of a size gets. */
struct tune_choice {
    struct tune_function function;
    size_t bytes;
    bool found;                /**< a configuration beats HAN's own choice; else that is to decide */
    bool cut;                  /**< there was no time for the next longer one */
    bool settled;              /**< by last rounds, or by a race that took as long */
    struct tune_config config; /**< the best one, also where it does not */
    bool rivalled;
    mca_coll_han_params_t rival; /**< where rivalled: the next best, which runs in the last rounds, too */
    char text[TUNE_TEXT];        /**< the same, as a rule has it */
    double estimate;             /**< by the model of the race or of the search; NAN: none; seconds */
    double measured;             /**< side by side with HAN's own choice; NAN: not measured */
    double builtin;
    double fallback; /**< without HAN, measured before */
};

/** A text that grows. */
struct tune_text {
    char *text;
    size_t length;
    bool short_of_memory;
};

void tune_text_add(struct tune_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * The first lines of a table.
 *
 * @param machine who has measured where
 * @param numbers for which HAN chooses there; NULL: there is no model
 */
void tune_output_begin(struct tune_text *text, const char *machine, const mca_coll_han_machine_t *numbers);

struct tune_range {
    int least, most;
};

/** For shapes far from all that are measured: HAN chooses by itself there. In front of the rules of the shapes. */
void tune_output_elsewhere(struct tune_text *text, const struct tune_function *functions, int count,
                           struct tune_range nodes, struct tune_range ppn);

/** Where choices were measured. */
struct tune_shape {
    int nodes, ppn;
    bool in_order; /**< each node has consecutive ranks */
};

/**
 * The rules of one shape, for the functions' form and its order of ranks; neighbours that say the same are one. Shorter
 * messages than were tuned, those between a message that is best whole and the next size, and those for which there was
 * no time, are left to HAN's own choice.
 */
void tune_output_rules(struct tune_text *text, const struct tune_choice *choices, long count,
                       const struct tune_shape *shape);

/** Writes a table, wholly or not at all; it is read before, as HAN would. 0, or -1 and a message. */
int tune_output_write(const struct tune_text *text, const char *path);

/**
 * Notes in the folder which table was made, by which command (up to NULL), how long that took, and for how many
 * collectives there was no time. For the report, and for the same command, which goes on where something is left.
 */
void tune_output_about(const char *folder, const char *output, char *const *command, double seconds, int left_out);

/** Whether that has been noted, and there was time for all. */
bool tune_output_is_finished(const char *folder);

/** What a line of a table has gained: of all messages that it decides, the geometric mean. */
struct tune_gain {
    double over_builtin; /**< logarithms of how many times as long HAN's own choice takes: their sum */
    int messages;
};

/** Writes a table anew: rules that are not TUNE_GAIN times as fast as HAN's own choice are left to it. */
int tune_prune(const char *path, const mca_coll_han_rules_t *rules, const struct tune_gain *gains);

/* -- tune_choices.c: what came of a search ------------------------------------------------------------------------- */

/** A choice of a search before, and the part of the allocation that it is for. */
struct tune_kept {
    int nodes, ppn;
    struct tune_choice choice;
};

/** Adds lines to choices.csv in the folder. 0; -1 and errno. */
int tune_choices_add(const char *folder, const struct tune_choice *choices, long count, int nodes, int ppn);

/**
 * Reads choices.csv, lines of this version. What is no whole line is left out.
 *
 * @param kept gets memory, to be freed
 * @returns how many there are
 */
long tune_choices_read(const char *folder, struct tune_kept **kept);

/** NULL where it is not among them. */
const struct tune_choice *tune_choices_find(const struct tune_kept *kept, long count, int nodes, int ppn,
                                            struct tune_function function, size_t bytes);

/** Writes choices.csv anew, with these instead of those of the same sizes of this part. 0; -1 and errno. */
int tune_choices_settle(const char *folder, const struct tune_choice *choices, long count, int nodes, int ppn);

/** Writes choices.csv and candidates.csv with what was kept alone, so that a race can go on. 0; -1 and errno. */
int tune_choices_resume(const char *folder, const struct tune_kept *kept, long count);

#endif
