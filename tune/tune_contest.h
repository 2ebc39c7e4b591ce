/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A contest: everything that HAN can do with one call, and what would be done without HAN, side by side, by two clocks.
 *
 * A round times each candidate once by each clock, in an order of its own, so that what the machine does meanwhile
 * meets all alike. From round to round only those stay that may still be the best: who is far behind need not be known
 * as exactly. All is collective over the engine's communicator, and every rank knows the same of it.
 */
#ifndef HAN_TUNE_CONTEST_H
#define HAN_TUNE_CONTEST_H

#include "coll_han_candidates.h"
#include "tune.h"
#include "tune_engine.h"

/** A candidate that is timed. */
struct tune_contestant {
    mca_coll_han_params_t params;
    mca_coll_han_times_t predicted;              /**< by the cost model; 0: there is none of this machine */
    struct tune_series series[TUNE_CLOCK_COUNT]; /**< seconds of a call, of the slowest rank */
    double checked; /**< seconds of the call whose result was looked at; 0: none was; INFINITY: it failed */
    int wrong;      /**< ranks whose result was not the fallback's */
    bool guest;     /**< no candidate, but what HAN chooses by itself */
    bool out;       /**< not timed any more */
};

struct tune_contest {
    struct tune_engine *engine;
    struct tune_function function;
    size_t bytes;
    int calls;                           /**< in a row */
    bool warms_up;                       /**< a call that does not count comes before those that are timed */
    enum tune_clock clock;               /**< that decides; TUNE_CLOCK_COUNT: both */
    struct tune_contestant *contestants; /**< [count]; the first is the fallback */
    long count;
    long own;     /**< which of them is what HAN chooses by itself; -1: that is not there */
    double spent; /**< seconds that the rounds have taken, about */
};

/** Ends the job where memory is not there on a rank, for the others would wait for it. */
void tune_contest_need(bool memory);

/** Bytes of the larger of a rank's buffers. */
size_t tune_contest_held(mca_coll_han_collective_t collective, size_t bytes, int ranks);

/**
 * Nodes, ranks, and the components that are there: all but the call.
 *
 * @param all_submodules libnbc, sm and basic are candidates, too: they are hardly ever the best, and a sixth of all
 */
void tune_contest_machine(struct tune_engine *engine, bool all_submodules, mca_coll_han_candidates_t *machine);

void tune_contest_open(struct tune_contest *contest, struct tune_engine *engine,
                       const mca_coll_han_candidates_t *machine, struct tune_function function, size_t bytes);

/** The call that is timed. */
mca_coll_han_input_t tune_contest_input(const struct tune_contest *contest, const mca_coll_han_candidates_t *machine);

/**
 * What a table says of the call. Collective.
 *
 * @param rules  of rank 0; NULL on others, or where there is no table
 * @param params gets how it is done
 * @returns the place of the rule in the table, on all ranks; -1: none decides
 */
long tune_contest_ask(const struct tune_contest *contest, const mca_coll_han_candidates_t *machine,
                      const mca_coll_han_rules_t *rules, mca_coll_han_params_t *params);

/** Instead of all candidates beside the fallback, these; predicted, too. */
void tune_contest_only(struct tune_contest *contest, const mca_coll_han_candidates_t *machine,
                       const mca_coll_han_params_t *params, long count);

/** Finds a way to do the call among the contestants, or adds it behind them; its place. */
long tune_contest_add(struct tune_contest *contest, const mca_coll_han_candidates_t *machine,
                      const mca_coll_han_params_t *params);

/** The same with HAN's own choice, which cannot win where it was none of them. */
void tune_contest_add_own(struct tune_contest *contest, const mca_coll_han_candidates_t *machine);

/** What the cost model takes to be so many times as slow as the best, by both clocks, is out; never the fallback. */
void tune_contest_leave_out(struct tune_contest *contest, int times);

/**
 * Begins anew with these alone, the fallback, and HAN's own choice as it is: what was timed is forgotten.
 *
 * @param places [count] of contestants; gets where they are now
 */
void tune_contest_keep(struct tune_contest *contest, long *places, int count);

void tune_contest_close(struct tune_contest *contest);

/** How results are looked at. */
struct tune_check {
    bool whole;     /**< all of them, and not only some bytes of each KB of long ones */
    double seconds; /**< that it may take: who has had no turn is out, but for ... */
    long least;     /**< ... so many, by the prediction the fastest, the fallback and HAN's own choice among them */
};

/** All results, wholly. */
extern const struct tune_check tune_check_wholly;

/**
 * Looks at the results of those that are not out; that warms up, too. Whose call fails is out.
 *
 * @returns how many are wrong, on all ranks
 */
int tune_contest_check(struct tune_contest *contest, const struct tune_check *how);

/**
 * Before the first round: the same, rank 0 says where some are wrong, and calls in a row are fewer where they take
 * long.
 */
void tune_contest_begin(struct tune_contest *contest, const struct tune_check *how);

/**
 * Times those that are not out. Whose call fails is out.
 *
 * @returns 0; -1 where a call of the fallback or of HAN's own choice failed, on all ranks
 */
int tune_contest_round(struct tune_contest *contest, int round);

/** Whether a candidate does such a call in another form, too. */
bool tune_contest_serves(const struct tune_contest *contest, const mca_coll_han_candidates_t *machine, long candidate,
                         mca_coll_han_form_t form);

/** What is known of each, by the clock that decides: what its rounds have told; before them, what its first call took.
 * [count], to be freed. */
struct tune_record *tune_contest_records(const struct tune_contest *contest);

/** Who is out there is out; they are freed. */
void tune_contest_take(struct tune_contest *contest, struct tune_record *records);

/** Where lines are written. */
struct tune_table {
    FILE *file;
    int error; /**< errno of the first that could not be; else 0 */
};

/** The names of the columns of tune_contest_print(). */
void tune_contest_print_head(struct tune_table *table);

/** A line for each candidate that was timed. */
void tune_contest_print(const struct tune_contest *contest, const char *rate, struct tune_table *table);

#endif
