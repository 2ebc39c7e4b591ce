/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * han_tune: finds the best parameters of HAN on the allocation that it runs on. See --help and docs/tuning.md.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/tool_leave.h"
#include "common/tool_version.h"
#include "tune_best.h"
#include "tune_contest.h"
#include "tune_options.h"
#include "tune_quick.h"
#include "tune_race.h"
#include "tune_search.h"
#include "tune_validate.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct options {
    const char *output, *folder, *report, *validate;
    char *const *command; /* as it was typed */
    bool race, quick, prune, best, help;
    const char *of_task;   /* an option that only task and exhaustive have, and that was given; NULL: none */
    const char *of_search; /* the same, that --quick does not have */
    const char *of_race;   /* the same, that task and exhaustive do not have */
    int nodes[TUNE_MOST_CHOICES], ppns[TUNE_MOST_CHOICES];
    int nodes_count, ppn_count;
    double limit;    /* seconds; 0: none */
    long seed;
    uint64_t wanted; /* bits of functions, by their places; 0: all blocking ones, of --validate all */
    struct tune_space space;
    struct tune_way way;
};

static const char usage[]
    = "mpirun ... han_tune --output FILE [options]\n"
      "mpirun ... han_tune --validate FILE [--prune | --best] [options]\n"
      "mpirun ... han_tune --quick --output FILE [--report FOLDER] [--measurements FOLDER] [--quiet]\n"
      "\n"
      "Finds the best way to do collectives on the nodes that it runs on, and writes it as a table of rules: see\n"
      "docs/tuning.md.\n"
      "\n"
      "  --output FILE              the table\n"
      "  --mode MODE                race: all that HAN can do with any collective, and what would do it without HAN,\n"
      "                             start together, and who falls behind is out; task: of what goes level by level,\n"
      "                             measures tasks and estimates the rest; exhaustive: measures all of that (race)\n"
      "  --collectives LIST         bcast, ibcast, ..., of HAN's sixteen, or all that are blocking, nonblocking\n"
      "                             (blocking; --validate: both); task, exhaustive: of bcast, reduce, allreduce,\n"
      "                             barrier (all)\n"
      "  --bytes LOW-HIGH           sizes of messages and blocks, eight times as large as the one before, and those\n"
      "                             between which the winner changes (8-1M); task, exhaustive: message sizes, doubled\n"
      "                             from one to the next (4K-4M)\n"
      "  --clock CLOCK              by which is decided: single calls, calls in a row, or both, where the worse of\n"
      "                             the two counts: single, row, both (both); of a race and --validate\n"
      "  --all-submodules           of what goes level by level, libnbc beside adapt, and sm and basic beside solo and\n"
      "                             tuned, are raced, too; task and exhaustive have them always\n"
      "  --nodes LIST, --ppn LIST   parts of the allocation that are tuned too (all of it)\n"
      "  --repetitions LOW-HIGH     rounds (2-5; --best: 10); task, exhaustive: of each measurement (3-10)\n"
      "  --seed N                   of the lots by which candidates take turns, and ranks that share cores are moved (0)\n"
      "  --time-limit TIME          the best table possible within it; s, m, h may follow\n"
      "  --measurements FOLDER      where measurements are kept; one that was interrupted goes on from there\n"
      "                             (FILE.measured)\n"
      "  --report FOLDER            a page with pictures (needs gnuplot)\n"
      "  --validate FILE            measures what a table says against HAN's own choice and against what would do "
      "it\n"
      "                             without HAN\n"
      "  --prune                    rules that do not pay are left to HAN's own choice, in FILE\n"
      "  --best                     against the best of all candidates, too, at the sizes of a race: all of them are\n"
      "                             timed, which takes minutes\n"
      "  --quick                    no table, but the machine alone, in seconds: FILE is for coll_han_machine\n"
      "  --quiet                    no progress\n"
      "\n"
      "Of task and exhaustive alone:\n"
      "  --heuristics on|off        on: leaves out what is hardly ever good, see below (off)\n"
      "  --segments LOW-HIGH        segment sizes fs, doubled (16K-1M)\n"
      "  --inner LIST               segment sizes inside adapt, ibs and irs; 0: whole segments (0,16K)\n"
      "  --trees LIST               of adapt, ibalg and iralg (chain,pipeline,binary,binomial,linear)\n"
      "  --precision PERCENT        enough, before the highest number of repetitions: half of the median's confidence\n"
      "                             interval (5)\n"
      "\n"
      "Numbers of bytes may be followed by K, M or G. HAN's own choice, with which all is compared, is what it is\n"
      "without rules of a file and without parameters, wherever you have set some. --heuristics on:\n";

static int world_rank;

/* ---- options ---- */

static bool get_range(const char *text, size_t *low, size_t *high)
{
    if (!tune_get_bytes(&text, INT_MAX, low)) {
        return false;
    }
    *high = *low;
    if ('-' == *text) {
        ++text;
        if (!tune_get_bytes(&text, INT_MAX, high)) {
            return false;
        }
    }
    return '\0' == *text && *low <= *high;
}

/* A function, or all of a form. */
static bool take_function(void *context, const char *word)
{
    static const char *const forms[] = { "blocking", "nonblocking" };
    const uint64_t all = (UINT64_C(1) << HAN_COLLECTIVE_COUNT) - 1;
    const int form = tune_find_word(word, forms, 2);
    struct options *options = context;
    struct tune_function found;

    if (0 <= form) {
        options->wanted |= all << form * HAN_COLLECTIVE_COUNT;
        return true;
    }
    if (!tune_function_find(word, &found)) {
        return false;
    }
    options->wanted |= UINT64_C(1) << tune_function_place(found);
    return true;
}

static bool take_tree(void *context, const char *word)
{
    struct options *options = context;
    for (int i = ADAPT_TREE_AUTO + 1; i < ADAPT_TREE_TOPOLOGY; ++i) {
        if (0 == strcmp(word, mca_coll_han_tree_names[i]) && TUNE_MOST_CHOICES > options->space.tree_count) {
            options->space.trees[options->space.tree_count++] = (mca_coll_adapt_tree_kind_t) i;
            return true;
        }
    }
    return false;
}

static bool take_inner(void *context, const char *word)
{
    struct options *options = context;
    size_t bytes;

    if (!tune_get_bytes(&word, INT_MAX, &bytes) || '\0' != *word || TUNE_MOST_CHOICES == options->space.inner_count) {
        return false;
    }
    options->space.inner[options->space.inner_count++] = bytes;
    return true;
}

/* Once, however often it is said. */
static bool take_number(const char *word, int *list, int *count)
{
    size_t number;
    int place = 0;

    if (!tune_get_bytes(&word, INT_MAX, &number) || '\0' != *word || 1 > number) {
        return false;
    }
    while (place < *count && (int) number != list[place]) {
        ++place;
    }
    if (place == *count && TUNE_MOST_CHOICES == (*count)++) {
        return false;
    }
    list[place] = (int) number;
    return true;
}

static bool take_nodes(void *context, const char *word)
{
    struct options *options = context;
    return take_number(word, options->nodes, &options->nodes_count);
}

static bool take_ppn(void *context, const char *word)
{
    struct options *options = context;
    return take_number(word, options->ppns, &options->ppn_count);
}

static bool get_time(const char *text, double *seconds)
{
    char *end;

    *seconds = strtod(text, &end);
    if ('m' == *end || 'h' == *end) {
        *seconds *= 'm' == *end ? 60 : 3600;
    }
    end += 's' == *end || 'm' == *end || 'h' == *end ? 1 : 0;
    return end != text && '\0' == *end && 0 < *seconds && isfinite(*seconds);
}

static const char *const clocks[] = { [TUNE_SINGLE] = "single", [TUNE_ROW] = "row", [TUNE_CLOCK_COUNT] = "both" };

static bool get_clock(const char *text, enum tune_clock *clock)
{
    const int found = tune_find_word(text, clocks, 1 + TUNE_CLOCK_COUNT);

    *clock = (enum tune_clock) found;
    return 0 <= found;
}

enum option_id {
    OUTPUT = TUNE_OPTION,
    MODE,
    HEURISTICS,
    COLLECTIVES,
    BYTES,
    CLOCK,
    ALL_SUBMODULES,
    SEGMENTS,
    INNER,
    TREES,
    NODES,
    PPN,
    REPETITIONS,
    PRECISION,
    SEED,
    TIME_LIMIT,
    MEASUREMENTS,
    REPORT,
    VALIDATE,
    PRUNE,
    BEST,
    QUICK,
    QUIET,
    HELP
};

static const struct option names[] = {
    { "output", required_argument, NULL, OUTPUT },
    { "mode", required_argument, NULL, MODE },
    { "heuristics", required_argument, NULL, HEURISTICS },
    { "collectives", required_argument, NULL, COLLECTIVES },
    { "bytes", required_argument, NULL, BYTES },
    { "clock", required_argument, NULL, CLOCK },
    { "all-submodules", no_argument, NULL, ALL_SUBMODULES },
    { "segments", required_argument, NULL, SEGMENTS },
    { "inner", required_argument, NULL, INNER },
    { "trees", required_argument, NULL, TREES },
    { "nodes", required_argument, NULL, NODES },
    { "ppn", required_argument, NULL, PPN },
    { "repetitions", required_argument, NULL, REPETITIONS },
    { "precision", required_argument, NULL, PRECISION },
    { "seed", required_argument, NULL, SEED },
    { "time-limit", required_argument, NULL, TIME_LIMIT },
    { "measurements", required_argument, NULL, MEASUREMENTS },
    { "report", required_argument, NULL, REPORT },
    { "validate", required_argument, NULL, VALIDATE },
    { "prune", no_argument, NULL, PRUNE },
    { "best", no_argument, NULL, BEST },
    { "quick", no_argument, NULL, QUICK },
    { "quiet", no_argument, NULL, QUIET },
    { "help", no_argument, NULL, HELP },
    { NULL, 0, NULL, 0 },
};

#define NUMBERS_ACCEPTED "up to 16 numbers with commas between them"
_Static_assert(16 == TUNE_MOST_CHOICES, "as many as are accepted");

/* What is accepted, for who writes something else. */
static const char *const accepted[] = {
    [MODE] = "race, task, exhaustive",
    [HEURISTICS] = "on, off",
    [COLLECTIVES]
    = "HAN's sixteen, bcast or ibcast and so on, blocking, nonblocking; of --mode task and exhaustive bcast, "
      "reduce, allreduce, barrier; with commas",
    [BYTES] = "LOW-HIGH, numbers of at least 4 bytes, K, M or G may follow",
    [CLOCK] = "single, row, both",
    [SEGMENTS] = "LOW-HIGH, numbers of at least 4 bytes, K, M or G may follow",
    [INNER] = "numbers of bytes with commas between them, K, M or G may follow",
    [TREES] = "binomial, in_order_binomial, binary, pipeline, chain, linear, knomial, in_order_binary, with commas",
    [NODES] = NUMBERS_ACCEPTED,
    [PPN] = NUMBERS_ACCEPTED,
    [REPETITIONS] = "LOW-HIGH, at least 1",
    [PRECISION] = "a per cent above 0",
    [SEED] = TUNE_SEED_ACCEPTED,
    [TIME_LIMIT] = "a time such as 30s, 10m, 2h",
};

static bool is_one_of(const char *word, const char *yes, const char *no, bool *value)
{
    *value = 0 == strcmp(word, yes);
    return *value || 0 == strcmp(word, no);
}

/* What a race has no use for. */
static bool is_of_task(int id)
{
    return HEURISTICS == id || SEGMENTS == id || INNER == id || TREES == id || PRECISION == id;
}

static bool is_of_quick(int id)
{
    return OUTPUT == id || MEASUREMENTS == id || REPORT == id || QUICK == id || QUIET == id || HELP == id;
}

static const char *name_of(int id)
{
    const struct option *name = names;

    while (id != name->val) {
        ++name;
    }
    return name->name;
}

static bool take_option(void *context, int id, const char *text)
{
    struct options *options = context;
    size_t low, high;
    char *end;

    options->of_task = is_of_task(id) ? name_of(id) : options->of_task;
    options->of_race = CLOCK == id || ALL_SUBMODULES == id ? name_of(id) : options->of_race;
    options->of_search = is_of_quick(id) ? options->of_search : name_of(id);
    switch (id) {
    case OUTPUT:
        options->output = text;
        return true;
    case MODE:
        options->race = 0 == strcmp(text, "race");
        return options->race || is_one_of(text, "exhaustive", "task", &options->way.exhaustive);
    case HEURISTICS:
        return is_one_of(text, "on", "off", &options->space.heuristics);
    case COLLECTIVES:
        options->wanted = 0;
        return tune_get_list(text, options, take_function);
    case BYTES:
        return get_range(text, &options->space.least_bytes, &options->space.most_bytes)
               && 4 <= options->space.least_bytes;
    case CLOCK:
        return get_clock(text, &options->way.clock);
    case ALL_SUBMODULES:
        return options->way.all_submodules = true;
    case SEGMENTS:
        return get_range(text, &options->space.least_segment, &options->space.most_segment)
               && 4 <= options->space.least_segment;
    case INNER:
        options->space.inner_count = 0;
        return tune_get_list(text, options, take_inner);
    case TREES:
        options->space.tree_count = 0;
        return tune_get_list(text, options, take_tree);
    case NODES:
        options->nodes_count = 0;
        return tune_get_list(text, options, take_nodes);
    case PPN:
        options->ppn_count = 0;
        return tune_get_list(text, options, take_ppn);
    case REPETITIONS:
        if (!get_range(text, &low, &high) || 1 > low || 1000000 < high) {
            return false;
        }
        options->way.least = (int) low;
        options->way.most = (int) high;
        return true;
    case PRECISION:
        options->way.precision = strtod(text, &end) / 100;
        return '\0' == *end && 0 < options->way.precision && isfinite(options->way.precision);
    case SEED:
        return tune_get_number(text, 0, TUNE_MOST_SEED, &options->seed);
    case TIME_LIMIT:
        return get_time(text, &options->limit);
    case MEASUREMENTS:
        options->folder = text;
        return true;
    case REPORT:
        options->report = text;
        return true;
    case VALIDATE:
        options->validate = text;
        return true;
    case PRUNE:
        return options->prune = true;
    case BEST:
        return options->best = true;
    case QUICK:
        return options->quick = true;
    case QUIET:
        return options->way.quiet = true;
    default:
        return options->help = true;
    }
}

/* What the user has not said depends on the mode. */
static int complete(struct options *options)
{
    struct tune_space *space = &options->space;
    char name[TUNE_FUNCTION_NAME];

    if (options->quick) {
        options->race = false;
        return NULL == options->of_search ? 0 : tune_complain("--%s is not for --quick", options->of_search);
    }
    if (options->race && NULL != options->of_task) {
        return tune_complain("--%s is for --mode task and exhaustive, not for race", options->of_task);
    }
    if (!options->race && NULL != options->of_race) {
        return tune_complain("--%s is for --mode race and --validate, not for task and exhaustive", options->of_race);
    }
    /* In the order of their places: an allreduce comes after those that it shares tasks with. */
    for (int place = 0; place < TUNE_FUNCTION_COUNT; ++place) {
        const struct tune_function function = tune_function_at(place);
        const bool wanted = 0 != (options->wanted >> place & 1);
        const bool blocking = HAN_BLOCKING == function.form, usual = blocking || NULL != options->validate;
        const bool can = options->race || (blocking && tune_space_has(function.collective));

        if (wanted && !can) {
            return tune_complain("--collectives %s; accepted: %s", tune_function_name(function, name),
                                 accepted[COLLECTIVES]);
        }
        if (wanted || (can && usual && 0 == options->wanted)) {
            space->functions[space->function_count++] = function;
        }
    }
    if (0 == space->most_bytes) {
        space->least_bytes = options->race ? 8 : 4 << 10;
        space->most_bytes = options->race ? 1 << 20 : 4 << 20;
    }
    if (0 == options->way.most) {
        options->way.least = options->race ? 2 : 3;
        options->way.most = options->race && !options->best ? 5 : 10;
    }
    return 0;
}

static int read_options(struct options *options, int argc, char **argv)
{
    if (0 != tune_read_options(argc, argv, names, accepted, options, take_option)) {
        return -1;
    }
    if (options->help) {
        return 0;
    }
    if ((NULL == options->output) == (NULL == options->validate)) {
        return tune_complain("either --output FILE or --validate FILE is needed; --help lists the options");
    }
    if ((options->prune || options->best) && NULL == options->validate) {
        return tune_complain("--%s needs --validate FILE", options->prune ? "prune" : "best");
    }
    if (options->best && (options->prune || !options->race)) {
        return tune_complain("--best is not for %s", options->prune ? "--prune" : "--mode task and exhaustive");
    }
    return complete(options);
}

static const struct options defaults = {
    .space
    = { .least_segment = 16 << 10,
        .most_segment = 1 << 20,
        .inner = { 0, 16 << 10 },
        .inner_count = 2,
        .trees = { ADAPT_TREE_CHAIN, ADAPT_TREE_PIPELINE, ADAPT_TREE_BINARY, ADAPT_TREE_BINOMIAL, ADAPT_TREE_LINEAR },
        .tree_count = 5 },
    .way = { .precision = 0.05, .clock = TUNE_CLOCK_COUNT },
    .race = true,
};

/* ---- files ---- */

/* A folder that is there will do, if files can be made in it. */
static int make_folder(const char *option, const char *path)
{
    struct stat there;
    bool good = 0 == mkdir(path, 0777) || EEXIST == errno;

    if (good && 0 == stat(path, &there) && !S_ISDIR(there.st_mode)) {
        errno = ENOTDIR;
        good = false;
    }
    return good && 0 == access(path, W_OK | X_OK) ? 0 : tune_complain("%s %s: %s", option, path, strerror(errno));
}

/* Found out before anything is measured. */
static int check_files(struct options *options)
{
    static char folder[4096];

    if (NULL != options->output) {
        if (0 != tune_file_try(options->output)) {
            return tune_complain("--output %s: %s", options->output, strerror(errno));
        }
        if (NULL == options->folder && !tune_file_is_regular(options->output)) {
            return tune_complain("--output %s is no regular file: --measurements FOLDER is needed with it",
                                 options->output);
        }
        if (NULL == options->folder) {
            snprintf(folder, sizeof(folder), "%s.measured", options->output);
            options->folder = folder;
        }
        if (0 != make_folder("--measurements", options->folder)) {
            return -1;
        }
    }
    return NULL == options->report ? 0 : make_folder("--report", options->report);
}

/* What rank 0 finds is for all. */
static int agree(int rc)
{
    MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return rc;
}

/* ---- interruptions ---- */

static char farewell[512];

static void interrupted(int number)
{
    const ssize_t written = write(STDERR_FILENO, farewell, strlen(farewell));

    _exit(0 > written ? EXIT_FAILED : 128 + number);
}

static void catch_signals(const struct options *options)
{
    struct sigaction action = { .sa_handler = interrupted };

    snprintf(farewell, sizeof(farewell),
             "\nhan_tune: interrupted; what was measured is in %s: the same command goes on from there\n",
             options->folder);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

/* ---- parts of the allocation ---- */

/* What is done on one part of the allocation; rank 0 has the text, the store, ... */
struct job {
    struct options *options;
    struct tune_store store;
    struct tune_race_log race;
    struct tune_text text;
    mca_coll_han_rules_t rules;
    struct tune_gain *gains;
};

static size_t memory_of(const struct options *options)
{
    return options->quick ? 0 : options->race ? tune_race_memory(&options->space) : options->space.most_bytes;
}

static int do_part(struct job *job, struct tune_engine *engine)
{
    struct tune_space *space = &job->options->space;
    struct tune_choice *choices = NULL;
    long count;

    if (job->options->best) {
        return tune_best(engine, space, &job->options->way, 0 == world_rank ? &job->rules : NULL);
    }
    if (NULL != job->options->validate) {
        return tune_validate(engine, space, &job->options->way, 0 == world_rank ? &job->rules : NULL, job->gains);
    }
    count = job->options->race
                ? tune_race_run(engine, space, &job->options->way, 0 == world_rank ? &job->race : NULL, &choices)
                : tune_search_run(engine, &job->store, space, &job->options->way,
                                  0 == world_rank ? job->options->folder : NULL, &choices);
    if (0 == world_rank && 0 <= count) {
        tune_output_rules(
            &job->text, choices, count,
            &(struct tune_shape){ .nodes = space->nodes, .ppn = space->ppn, .in_order = tune_engine_in_order(engine) });
        if (!job->options->race) {
            tune_choices_add(job->options->folder, choices, count, space->nodes, space->ppn);
        }
        /* After each part, so that there is something whatever comes then. */
        count = tune_output_write(&job->text, job->options->output);
    }
    free(choices);
    return 0 > count ? -1 : 0;
}

static int with_part(struct job *job, const struct tune_engine *world, int nodes, int ppn)
{
    struct tune_engine *engine = NULL;
    char why[TUNE_TEXT];
    int node, place, rc = 0;
    bool takes_part;
    MPI_Comm comm;

    tune_engine_place(world, world_rank, &node, &place);
    takes_part = node < nodes && place < ppn;
    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, world_rank, &comm);
    if (takes_part) {
        rc = tune_engine_open(&engine, comm, memory_of(job->options), job->options->seed, why);
        if (0 != rc) {
            tune_complain("%s", why);
        } else {
            tune_engine_shape(engine, &job->options->space.nodes, &job->options->space.ppn);
            rc = do_part(job, engine);
            tune_engine_close(engine);
        }
        MPI_Comm_free(&comm);
    }
    tune_engine_meet(world, !takes_part);
    return agree(rc);
}

static struct tune_range range_of(const int *numbers, int count)
{
    struct tune_range range = { .least = numbers[0], .most = numbers[0] };

    for (int i = 1; i < count; ++i) {
        range.least = numbers[i] < range.least ? numbers[i] : range.least;
        range.most = numbers[i] > range.most ? numbers[i] : range.most;
    }
    return range;
}

/* The parts are those that the user has named, or the whole. */
static int check_parts(struct options *options, const struct tune_engine *world)
{
    int nodes, ppn;

    tune_engine_shape(world, &nodes, &ppn);
    if (0 == options->nodes_count) {
        options->nodes[options->nodes_count++] = nodes;
    }
    if (0 == options->ppn_count) {
        options->ppns[options->ppn_count++] = ppn;
    }
    for (int n = 0; n < options->nodes_count; ++n) {
        if (2 > options->nodes[n] || nodes < options->nodes[n]) {
            return tune_complain("--nodes %d; accepted: 2 to %d, as many as this job has", options->nodes[n], nodes);
        }
    }
    for (int p = 0; p < options->ppn_count; ++p) {
        if (ppn < options->ppns[p]) {
            return tune_complain("--ppn %d; accepted: 1 to %d, as many ranks as a node of this job has",
                                 options->ppns[p], ppn);
        }
    }
    return 0;
}

static int with_parts(struct job *job, const struct tune_engine *world)
{
    struct options *options = job->options;
    const double end = 0 < options->limit ? MPI_Wtime() + options->limit : INFINITY;

    if (0 == world_rank && NULL != options->output) {
        tune_output_elsewhere(&job->text, options->space.functions, options->space.function_count,
                              range_of(options->nodes, options->nodes_count),
                              range_of(options->ppns, options->ppn_count));
    }
    /* Each part has its part of the time, and what those before it have left. */
    for (int n = 0; n < options->nodes_count; ++n) {
        for (int p = 0; p < options->ppn_count; ++p) {
            const int parts = (options->nodes_count - n) * options->ppn_count - p;

            options->way.deadline = MPI_Wtime() + (end - MPI_Wtime()) / parts;
            if (0 != with_part(job, world, options->nodes[n], options->ppns[p])) {
                return -1;
            }
        }
    }
    return 0;
}

/* ---- the program ---- */

/* Who measured what where. */
static void make_machine(const struct tune_engine *world, char machine[TUNE_TEXT])
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int nodes, ppn, length;

    MPI_Get_processor_name(name, &length);
    tune_engine_shape(world, &nodes, &ppn);
    snprintf(machine, TUNE_TEXT, "%d nodes of %d ranks from %.64s on, mapped %s, Open MPI %d.%d.%d", nodes, ppn, name,
             tune_engine_in_order(world) ? "by slot" : "by node", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
             OMPI_RELEASE_VERSION);
}

static int open_store(struct job *job, const char *machine)
{
    char why[2 * TUNE_TEXT], path[TUNE_PATH];

    if (0
        != tune_store_open(&job->store, tune_file_path(job->options->folder, "measurements.csv", path), machine, why)) {
        return tune_complain("%s", why);
    }
    if (0 < job->store.resumed) {
        fprintf(stderr, "han_tune: %zu measurements of an earlier run are in %s\n", job->store.resumed,
                job->options->folder);
    }
    return 0;
}

#define RACE_FILE "race.txt"

/* What was found is found anew; what a race has timed it writes anew itself. */
static void forget_found(const struct job *job)
{
    static const char *const found[]
        = { "estimates.csv", "choices.csv", "about.txt", "probes.csv", "found.machine", RACE_FILE, "candidates.csv" };
    char path[TUNE_PATH];

    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]) - job->options->race; ++i) {
        unlink(tune_file_path(job->options->folder, found[i], path));
    }
}

/* A race that was interrupted, or for which the time was short. */
static bool is_unfinished(const struct job *job)
{
    char path[TUNE_PATH];

    return !tune_output_is_finished(job->options->folder)
           && 0 == access(tune_file_path(job->options->folder, "candidates.csv", path), F_OK)
           && tune_file_is_regular(path);
}

/* All but a race that goes on would forget it. */
static int check_unfinished(const struct job *job)
{
    return !is_unfinished(job)
               ? 0
               : tune_complain("%s has what a race that was interrupted has measured; accepted: another --measurements "
                               "FOLDER",
                               job->options->folder);
}

/* What decides in a race, as options. */
static const char *way_text(const struct options *options, char text[TUNE_TEXT])
{
    snprintf(text, TUNE_TEXT, "--clock %s%s", clocks[options->way.clock],
             options->way.all_submodules ? " --all-submodules" : "");
    return text;
}

static int write_way(const struct options *options)
{
    char text[TUNE_TEXT], path[TUNE_PATH];

    way_text(options, text);
    if (0 != tune_file_write(tune_file_path(options->folder, RACE_FILE, path), text, strlen(text))) {
        return tune_complain("%s: %s", path, strerror(errno));
    }
    return 0;
}

/* A race that goes on is held in the same way. */
static int check_way(const struct options *options)
{
    char own[TUNE_TEXT], kept[TUNE_TEXT] = "";
    FILE *file = tune_file_open(options->folder, RACE_FILE, "r");

    if (NULL != file) {
        kept[fread(kept, 1, sizeof(kept) - 1, file)] = '\0';
        fclose(file);
    }
    return '\0' == *kept || 0 == strcmp(kept, way_text(options, own))
               ? 0
               : tune_complain("%s has races of an earlier run with %s; accepted: the same, or another --measurements "
                               "FOLDER",
                               options->folder, kept);
}

static int open_race(struct job *job)
{
    struct tune_race_log *race = &job->race;
    char path[TUNE_PATH];

    race->folder = job->options->folder;
    if (is_unfinished(job)) {
        race->kept_count = tune_choices_read(race->folder, &race->kept);
    }
    if (0 < race->kept_count) {
        if (0 != check_way(job->options)) {
            return -1;
        }
        fprintf(stderr, "han_tune: %ld races of an earlier run are in %s\n", race->kept_count, race->folder);
        if (0 != tune_choices_resume(race->folder, race->kept, race->kept_count)) {
            return tune_complain("%s: %s", race->folder, strerror(errno));
        }
    } else {
        forget_found(job);
        if (0 != write_way(job->options)) {
            return -1;
        }
    }
    race->table.file
        = fopen(tune_file_path(job->options->folder, "candidates.csv", path), 0 < race->kept_count ? "a" : "w");
    if (NULL == race->table.file) {
        return tune_complain("%s: %s", path, strerror(errno));
    }
    if (0 == race->kept_count) {
        tune_contest_print_head(&race->table);
    }
    return 0;
}

/* 0; -1 where not all of it could be written. */
static int close_race(struct job *job)
{
    struct tune_race_log *race = &job->race;

    free(race->kept);
    if (NULL != race->table.file) {
        fclose(race->table.file); /* each line has been flushed */
    }
    return 0 == race->table.error ? 0
                                  : tune_complain("what was measured cannot be written to %s: %s", race->folder,
                                                  strerror(race->table.error));
}

static int prepare(struct job *job, const struct tune_engine *world)
{
    char machine[TUNE_TEXT];
    mca_coll_han_rules_error_t error;

    make_machine(world, machine);
    if (NULL != job->options->validate) {
        if (0 != mca_coll_han_rules_read(&job->rules, job->options->validate, &error)) {
            return tune_complain("%s:%d: %s", job->options->validate, error.line, error.what);
        }
        job->gains = calloc(job->rules.count + 1, sizeof(*job->gains));
        return NULL == job->gains ? tune_complain("memory is short") : 0;
    }
    if ((!job->options->race && 0 != check_unfinished(job)) || 0 != open_store(job, machine)) {
        return -1;
    }
    if (!job->options->race) {
        forget_found(job);
    } else if (0 != open_race(job)) {
        return -1;
    }
    catch_signals(job->options);
    tune_output_begin(&job->text, machine, tune_engine_machine(world));
    return 0;
}

static int search(struct job *job, const struct tune_engine *world)
{
    const int rc = agree(0 == world_rank ? prepare(job, world) : 0);

    return 0 == rc ? with_parts(job, world) : -1;
}

static int quick(const struct job *job, struct tune_engine *world)
{
    const struct options *options = job->options;
    char machine[TUNE_TEXT];
    int rc = 0;

    if (0 == world_rank) {
        rc = check_unfinished(job);
    }
    if (0 == world_rank && 0 == rc) {
        make_machine(world, machine);
        forget_found(job);
    }
    return 0 != agree(rc) ? -1
                          : agree(tune_quick(world, options->output, options->folder, machine, options->way.quiet));
}

static int run_job(struct options *options)
{
    struct job job = { .options = options };
    const double begin = MPI_Wtime();
    struct tune_engine *world;
    char why[TUNE_TEXT];
    int rc;

    if (0 != agree(0 == world_rank ? check_files(options) : 0)) {
        return EXIT_USAGE;
    }
    rc = tune_engine_open(&world, MPI_COMM_WORLD, memory_of(options), options->seed, why);
    if (0 != rc) {
        tune_complain("%s", why);
        return EXIT_USAGE;
    }
    if (0 != check_parts(options, world)) {
        tune_engine_close(world);
        return EXIT_USAGE;
    }
    rc = options->quick ? quick(&job, world) : search(&job, world);
    if (0 == rc && 0 == world_rank && NULL != options->output) {
        tune_output_about(options->folder, options->output, options->command, MPI_Wtime() - begin, job.race.left_out);
    }
    if (0 == rc && 0 == world_rank && options->prune) {
        rc = tune_prune(options->validate, &job.rules, job.gains);
    }
    tune_engine_close(world);
    if (0 == world_rank) {
        rc = 0 != close_race(&job) ? -1 : rc;
        tune_store_close(&job.store);
        mca_coll_han_rules_free(&job.rules);
        free(job.gains);
        free(job.text.text);
    }
    return 0 == agree(rc) ? EXIT_OK : EXIT_FAILED;
}

/* One node is none of HAN's business. */
static int check_nodes(void)
{
    MPI_Comm node;
    int here, all;

    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    return here == all ? tune_complain("this job has one node; at least two are needed") : 0;
}

/* Not under MPI any more: gnuplot is a process of its own. */
static int report(const char *program, const struct options *options)
{
    char path[4096];
    const char *slash = strrchr(program, '/');

    snprintf(path, sizeof(path), "%.*shan_report", NULL == slash ? 0 : (int) (slash - program + 1), program);
    execlp(path, path, options->report, options->folder, (char *) NULL);
    fprintf(stderr, "han_tune: %s: %s; run it by hand: han_report %s %s\n", path, strerror(errno), options->report,
            options->folder);
    return EXIT_FAILED;
}

int main(int argc, char **argv)
{
    struct options options = defaults;
    int rc;

    tool_version(argc, argv, "han_tune");
    tune_options_speaker("han_tune", tool_rank());
    options.command = argv;
    if (0 != read_options(&options, argc, argv)) {
        return tool_leave(EXIT_USAGE);
    }
    if (options.help) {
        if (0 == tool_rank()) {
            fputs(usage, stdout);
            tune_heuristics_print(stdout);
            puts("  what is 1.5 times as slow as the best for all message sizes is not measured again");
        }
        return tool_leave(EXIT_OK);
    }
    /* What is timed is SOLO with its memory, as after many calls. */
    setenv("OMPI_MCA_coll_solo_start", "0", 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    tune_options_speaker("han_tune", world_rank);
    rc = 0 == check_nodes() ? run_job(&options) : EXIT_USAGE;
    MPI_Finalize();
    return EXIT_OK == rc && 0 == world_rank && NULL != options.report && NULL != options.output
               ? report(argv[0], &options)
               : rc;
}
