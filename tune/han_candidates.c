/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * han_candidates: times everything that HAN can do, side by side in one job, by two clocks. See --help.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/tool_leave.h"
#include "common/tool_version.h"
#include "tune_contest.h"
#include "tune_options.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum { MOST_SIZES = 64, MOST_ROUNDS = 1000, TELL_SECONDS = 2, MOST_ONLY = 256 };

/* What a round behind the first one takes of its time, about, where candidates are dropped. */
static const double LATER_ROUND = 0.4;

struct options {
    struct tune_function functions[TUNE_FUNCTION_COUNT];
    int function_count;
    size_t sizes[MOST_SIZES];
    int size_count;
    const char *only[MOST_ONLY]; /* of all candidates */
    int only_count;              /* 0: all */
    int rounds;
    long seed;
    bool all_rounds;  /* nothing is dropped */
    bool all_submodules;
    const char *rate; /* what the table says of the links */
    bool header, quiet, help;
};

static const char usage[]
    = "mpirun ... han_candidates [options]\n"
      "\n"
      "Times all ways that HAN has to do a collective (algorithms, trees, segment sizes, lanes, submodules), and what\n"
      "would do it without HAN, in one job: single calls, all ranks beginning at one time, and calls in a row. Prints\n"
      "a line for each as comma-separated values: the median of the rounds, of the slowest rank.\n"
      "\n"
      "  --collectives LIST   of HAN's sixteen: bcast, the nonblocking ibcast, ... (all, blocking)\n"
      "  --bytes LIST         of the message, or of a block; multiples of 4 (8,1K,8K,64K,256K,1M)\n"
      "  --only PARAMETERS    beside what would be done without HAN only this, as in the column \"algorithm\":\n"
      "                       'groups ibalg=linear groups=8'; may be repeated; all are timed in all rounds\n"
      "  --rounds N           (5); what takes by both clocks five times as long as the best after a round (and 1 ms\n"
      "                       more), 1.5 times after two, then 1.25 times, is not timed again\n"
      "  --seed N             of the lots by which candidates take turns, and ranks that share cores are moved (0)\n"
      "  --all-rounds         everything is timed in all rounds: an exhaustive search, for comparison\n"
      "  --all-submodules     of what goes level by level, libnbc beside adapt, and sm and basic beside solo and tuned\n"
      "  --rate TEXT          what the column \"rate\" is to say (none)\n"
      "  --no-header          no line with the names of the columns\n"
      "  --quiet              no progress\n"
      "\n"
      "Numbers of bytes may be followed by K, M or G. Root is rank 0. Each result is compared with that without HAN: "
      "the\n"
      "column \"wrong\" counts the ranks where it differs. Exit code 0; 1 where one did, or a call failed; 2 bad "
      "input.\n";

/* All of them, for the time that is left. */
struct progress {
    double begin, told; /* seconds */
    double done, all;   /* work, in bytes about */
};

/* What all contests share. */
struct job {
    const struct options *options;
    struct tune_engine *engine;
    mca_coll_han_candidates_t machine; /* nodes, ranks, and the components that are there; no call */
    mca_coll_han_params_t only[HAN_COLLECTIVE_COUNT][MOST_ONLY]; /* [only_count] as each collective takes them */
    struct progress progress;
    struct tune_table table;
};

static int world_rank, world_size;

/* ---- options ---- */

static bool take_bytes(void *context, const char *word)
{
    struct options *options = context;
    size_t bytes;

    if (!tune_get_bytes(&word, INT_MAX, &bytes) || '\0' != *word || 0 == bytes || 0 != bytes % 4
        || MOST_SIZES == options->size_count) {
        return false;
    }
    options->sizes[options->size_count++] = bytes;
    return true;
}

static bool take_function(void *context, const char *word)
{
    struct options *options = context;
    struct tune_function found;

    if (!tune_function_find(word, &found) || TUNE_FUNCTION_COUNT == options->function_count) {
        return false;
    }
    options->functions[options->function_count++] = found;
    return true;
}

enum option_id { COLLECTIVES = TUNE_OPTION, BYTES, ONLY, ROUNDS, SEED, ALL_ROUNDS, ALL_SUBMODULES, RATE, NO_HEADER, QUIET, HELP };

static const struct option names[] = {
    { "collectives", required_argument, NULL, COLLECTIVES },
    { "bytes", required_argument, NULL, BYTES },
    { "only", required_argument, NULL, ONLY },
    { "rounds", required_argument, NULL, ROUNDS },
    { "seed", required_argument, NULL, SEED },
    { "all-rounds", no_argument, NULL, ALL_ROUNDS },
    { "all-submodules", no_argument, NULL, ALL_SUBMODULES },
    { "rate", required_argument, NULL, RATE },
    { "no-header", no_argument, NULL, NO_HEADER },
    { "quiet", no_argument, NULL, QUIET },
    { "help", no_argument, NULL, HELP },
    { NULL, 0, NULL, 0 },
};

/* What is accepted, for who writes something else. */
static const char *const accepted[] = {
    [COLLECTIVES] = "HAN's sixteen, bcast or ibcast and so on, with commas between them",
    [BYTES] = "multiples of 4 from 4 on, with commas between them; K, M or G may follow",
    [ONLY] = "parameters, 256 times at most",
    [ROUNDS] = "a number from 1 to 1000",
    [SEED] = TUNE_SEED_ACCEPTED,
    [RATE] = "a word without commas, such as 200mbit",
};

static bool take_option(void *context, int id, const char *text)
{
    struct options *options = context;
    long number;
    bool good;

    switch (id) {
    case COLLECTIVES:
        options->function_count = 0;
        return tune_get_list(text, options, take_function);
    case BYTES:
        options->size_count = 0;
        return tune_get_list(text, options, take_bytes);
    case ONLY:
        if (MOST_ONLY == options->only_count) {
            return false;
        }
        options->only[options->only_count++] = text;
        return true;
    case ROUNDS:
        good = tune_get_number(text, 1, MOST_ROUNDS, &number);
        options->rounds = (int) number;
        return good;
    case SEED:
        return tune_get_number(text, 0, TUNE_MOST_SEED, &options->seed);
    case ALL_ROUNDS:
        return options->all_rounds = true;
    case ALL_SUBMODULES:
        return options->all_submodules = true;
    case RATE:
        options->rate = text;
        return '\0' != *text && NULL == strpbrk(text, ", \t\n\"");
    case NO_HEADER:
        options->header = false;
        return true;
    case QUIET:
        return options->quiet = true;
    default:
        return options->help = true;
    }
}

static struct options defaults(void)
{
    struct options options = { .rounds = 5, .rate = "none", .header = true };

    for (int i = 0; i < HAN_COLLECTIVE_COUNT; ++i) {
        options.functions[options.function_count++] = tune_function_at(i);
    }
    tune_get_list("8,1K,8K,64K,256K,1M", &options, take_bytes);
    return options;
}

/* ---- all of them ---- */

/* What a round of a contest takes, about: bytes, and what a short message is worth. */
static double work_of(const struct tune_contest *contest)
{
    return (double) contest->count * (1 + contest->calls)
           * ((double) tune_contest_held(contest->function.collective, contest->bytes, world_size) + 20000.0);
}

static void tell(struct job *job, const struct tune_contest *contest, int round)
{
    struct progress *progress = &job->progress;
    const double now = MPI_Wtime();
    char name[TUNE_FUNCTION_NAME];

    if (0 != world_rank || job->options->quiet || 0.0 == progress->done || now < progress->told + TELL_SECONDS) {
        return;
    }
    progress->told = now;
    fprintf(stderr, "han_candidates: %s, %zu bytes, round %d of %d; about %.0f s left\n",
            tune_function_name(contest->function, name), contest->bytes, round + 1, job->options->rounds,
            (now - progress->begin) * (progress->all - progress->done) / progress->done);
}

static int add_work(struct tune_contest *contest, struct job *job)
{
    job->progress.all += work_of(contest);
    return 0;
}

/* 0, 1: a result differs, -1: a call failed. */
static int hold(struct tune_contest *contest, struct job *job)
{
    const int rounds = job->options->rounds;
    const int wrong = tune_contest_check(contest, &tune_check_wholly);
    const bool drops = !job->options->all_rounds && 0 == job->options->only_count;
    const double later = drops ? LATER_ROUND : 1;
    int rc = 0;

    for (int round = 0; round < rounds && 0 == rc; ++round) {
        struct tune_record *records;

        tell(job, contest, round);
        rc = tune_contest_round(contest, round);
        records = tune_contest_records(contest);
        if (drops) {
            tune_judge_drop(records, contest->count, true);
        }
        tune_contest_take(contest, records);
        job->progress.done += work_of(contest) * (0 == round ? 1 : later) / (1 + later * (rounds - 1));
    }
    if (0 == rc && 0 == world_rank) {
        tune_contest_print(contest, job->options->rate, &job->table);
    }
    return 0 == rc && 0 < wrong ? 1 : rc;
}

/* Each collective at each size; a barrier has one. Returns the worst that visit does. */
static int for_all(struct job *job, int (*visit)(struct tune_contest *, struct job *))
{
    const struct options *options = job->options;
    int worst = 0;

    for (int c = 0; c < options->function_count; ++c) {
        const struct tune_function function = options->functions[c];
        const bool sized = HAN_BARRIER != function.collective;

        for (int s = 0; s < (sized ? options->size_count : 1); ++s) {
            struct tune_contest contest;
            int rc;

            tune_contest_open(&contest, job->engine, &job->machine, function, sized ? options->sizes[s] : 0);
            if (0 < options->only_count) {
                tune_contest_only(&contest, &job->machine, job->only[function.collective], options->only_count);
            }
            rc = visit(&contest, job);
            tune_contest_close(&contest);
            if (0 > rc) {
                return -1;
            }
            worst = rc > worst ? rc : worst;
        }
    }
    return worst;
}

/* What is to be timed only, for each collective that is. Returns 0 or -1. */
static int read_only(struct job *job)
{
    const struct options *options = job->options;

    for (int c = 0; c < options->function_count; ++c) {
        const mca_coll_han_collective_t collective = options->functions[c].collective;

        for (int i = 0; i < options->only_count; ++i) {
            mca_coll_han_text_error_t error;

            if (0 != mca_coll_han_candidate_read(collective, options->only[i], &job->only[collective][i], &error)) {
                return tune_complain("--only '%s': %s", options->only[i], error.what);
            }
        }
    }
    return 0;
}

static int run_job(const struct options *options)
{
    static struct job job;
    char why[TUNE_TEXT] = "";
    size_t most = 0;
    int rc;

    job.options = options;
    job.table.file = stdout;
    if (0 != read_only(&job)) {
        return EXIT_USAGE;
    }
    for (int c = 0; c < options->function_count; ++c) {
        for (int s = 0; s < options->size_count; ++s) {
            const size_t held = tune_contest_held(options->functions[c].collective, options->sizes[s], world_size);

            most = held > most ? held : most;
        }
    }
    if ((size_t) INT_MAX < most) {
        tune_complain("--bytes: the blocks of all ranks together are longer than 2 GiB; accepted: shorter ones");
        return EXIT_USAGE;
    }
    if (0 != tune_engine_open(&job.engine, MPI_COMM_WORLD, most, options->seed, why)) {
        tune_complain("%s", why);
        return EXIT_USAGE;
    }
    if (0 == world_rank && options->header) {
        tune_contest_print_head(&job.table);
    }
    tune_contest_machine(job.engine, options->all_submodules, &job.machine);
    for_all(&job, add_work);
    job.progress.begin = MPI_Wtime();
    job.progress.told = job.progress.begin - TELL_SECONDS;
    rc = for_all(&job, hold);
    tune_engine_close(job.engine);
    if (0 < rc) {
        tune_complain("results differ from those without HAN: see the column \"wrong\"");
    } else if (0 > rc) {
        tune_complain("a call failed");
    }
    return 0 == rc ? EXIT_OK : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    struct options options = defaults();
    int rc;

    tool_version(argc, argv, "han_candidates");
    tune_options_speaker("han_candidates", tool_rank());
    if (0 != tune_read_options(argc, argv, names, accepted, &options, take_option)) {
        return tool_leave(EXIT_USAGE);
    }
    if (options.help) {
        if (0 == tool_rank()) {
            fputs(usage, stdout);
        }
        return tool_leave(tune_finish(EXIT_OK, EXIT_FAILED));
    }
    /* What is timed is SOLO with its memory, as after many calls. */
    setenv("OMPI_MCA_coll_solo_start", "0", 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    tune_options_speaker("han_candidates", world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    rc = tune_finish(run_job(&options), EXIT_FAILED);
    MPI_Finalize();
    return rc;
}
