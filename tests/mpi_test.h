/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Helpers of the MPI tests. A test is a table of behaviours; each is a function that says with t_expect() what must
 * hold on its rank. Rank 0 prints one line per behaviour ("ok 3 - behaviour") and the plan ("1..N") at the end.
 *
 * Verdicts travel by point-to-point messages on a communicator of their own, so a broken collective can't hide itself,
 * and ranks leave a behaviour as unsynchronised as they like.
 *
 * Included by one file per program.
 */
#ifndef HAN_TESTS_MPI_TEST_H
#define HAN_TESTS_MPI_TEST_H

#include <mpi.h>

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parameters.h"

#define T_UNUSED __attribute__((unused))
#ifndef T_TEXT
#define T_TEXT 256 /* of a line */
#endif
#define T_TAG 77
#ifndef T_LIMIT
#define T_LIMIT 300 /* seconds that a behaviour may take; of some that takes one, 90 were seen on a busy machine */
#endif
#define T_MOST_EACH 4 /* --each options */

/** One line of the output. */
struct t_behaviour {
    const char *name;
    void (*run)(void);
    unsigned limit; /**< seconds; 0 for T_LIMIT */
};

/** An option: a switch, or one with a number. */
struct t_option {
    const char *name;
    bool takes_number;
    long *value; /**< 1 where a switch is given */
};

/** What one rank has to say about one behaviour. */
struct t_verdict {
    int failed;
    int skipped;
    char why[T_TEXT]; /**< the first failure, or the reason for skipping */
};

static struct {
    MPI_Comm comm; /**< for verdicts only */
    int rank;
    int size;
    int lines;
    int failed_lines;
    bool keep_comm;           /**< t_finish() leaves the communicator to whoever wants it in MPI_Finalize */
    struct t_verdict verdict; /**< of the behaviour that runs now */
    char name[T_TEXT];        /**< its name, for the alarm */
    long seed;                /**< --seed: of all that is drawn */
    int each_count;
    int setting;                   /**< how many t_next_setting() has set */
    const char *each[T_MOST_EACH]; /**< the texts behind --each */
    char with[T_TEXT];             /**< the values that are set, in front of each name */
} t = { .seed = 1 };

/* ---- what must hold ---- */

/** Notes a failure of this rank where the condition doesn't hold; the first one of a behaviour is kept and printed. */
T_UNUSED __attribute__((format(printf, 2, 3))) static bool t_expect(bool condition, const char *format, ...)
{
    va_list arguments;

    if (!condition && !t.verdict.failed) {
        t.verdict.failed = 1;
        va_start(arguments, format);
        vsnprintf(t.verdict.why, sizeof(t.verdict.why), format, arguments);
        va_end(arguments);
    }
    return condition;
}

/** Expects that an MPI call succeeds. */
#define T_MPI(call) t_expect(MPI_SUCCESS == (call), "%s failed", #call)

/** Skips the behaviour that runs now; all ranks or none. */
T_UNUSED __attribute__((format(printf, 1, 2))) static void t_skip(const char *format, ...)
{
    va_list arguments;

    t.verdict.skipped = 1;
    va_start(arguments, format);
    vsnprintf(t.verdict.why, sizeof(t.verdict.why), format, arguments);
    va_end(arguments);
}

/** The lowest value of all ranks of the world, on all of them. */
T_UNUSED static long t_agree(long value)
{
    for (int rank = 1; rank < t.size && 0 == t.rank; ++rank) {
        long other;

        MPI_Recv(&other, 1, MPI_LONG, rank, T_TAG, t.comm, MPI_STATUS_IGNORE);
        value = other < value ? other : value;
    }
    for (int rank = 1; rank < t.size && 0 == t.rank; ++rank) {
        MPI_Send(&value, 1, MPI_LONG, rank, T_TAG, t.comm);
    }
    if (0 != t.rank) {
        MPI_Send(&value, 1, MPI_LONG, 0, T_TAG, t.comm);
        MPI_Recv(&value, 1, MPI_LONG, 0, T_TAG, t.comm, MPI_STATUS_IGNORE);
    }
    return value;
}

/* ---- lines ---- */

static void t_print_failure(int rank, const struct t_verdict *verdict)
{
    if (verdict->failed) {
        printf("# rank %d: %s\n", rank, verdict->why);
    }
}

static void t_print_line(const struct t_verdict *all)
{
    printf("%s %d - %s%s%s\n", all->failed ? "not ok" : "ok", ++t.lines, t.name,
           all->skipped && !all->failed ? " # SKIP " : "", all->skipped && !all->failed ? all->why : "");
    fflush(stdout);
    t.failed_lines += all->failed;
}

static void t_collect(void)
{
    struct t_verdict all = t.verdict;

    if (0 != t.rank) {
        MPI_Send(&t.verdict, (int) sizeof(t.verdict), MPI_BYTE, 0, T_TAG, t.comm);
        ++t.lines;
        t.failed_lines += t.verdict.failed;
        return;
    }
    t_print_failure(0, &t.verdict);
    for (int rank = 1; rank < t.size; ++rank) {
        struct t_verdict other;

        MPI_Recv(&other, (int) sizeof(other), MPI_BYTE, rank, T_TAG, t.comm, MPI_STATUS_IGNORE);
        t_print_failure(rank, &other);
        all.failed |= other.failed;
    }
    t_print_line(&all);
}

/* Only what is allowed in a signal handler; one write, so that the lines of many ranks don't mix. */
static void t_hung(int signal_number)
{
    static const char text[] = "Bail out! Time limit, hung in: ";
    char line[sizeof(text) + T_TEXT];
    size_t length = sizeof(text) - 1;

    (void) signal_number;
    memcpy(line, text, length);
    for (size_t i = 0; '\0' != t.name[i]; ++i) {
        line[length++] = t.name[i];
    }
    line[length++] = '\n';
    _exit((ssize_t) length == write(STDOUT_FILENO, line, length) ? 1 : 2);
}

/** Begins a behaviour: what is written until its t_end() is its verdict, and it must end within the limit. */
T_UNUSED __attribute__((format(printf, 2, 3))) static void t_start(unsigned limit, const char *format, ...)
{
    va_list arguments;

    const int length = snprintf(t.name, sizeof(t.name), "%s", t.with);

    va_start(arguments, format);
    vsnprintf(t.name + length, sizeof(t.name) - (size_t) length, format, arguments);
    va_end(arguments);
    memset(&t.verdict, 0, sizeof(t.verdict));
    alarm(0 != limit ? limit : T_LIMIT);
}

/** Ends a behaviour: rank 0 hears all verdicts and prints the line. */
T_UNUSED static void t_end(void)
{
    t_collect();
    alarm(0);
}

/** A whole behaviour that is one condition. */
T_UNUSED __attribute__((format(printf, 2, 3))) static void t_ok(bool condition, const char *format, ...)
{
    char name[T_TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    t_start(0, "%s", name);
    t_expect(condition, "it doesn't");
    t_end();
}

/** Runs a table of behaviours, in order. */
T_UNUSED static void t_run(const struct t_behaviour *behaviours, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        t_start(behaviours[i].limit, "%s", behaviours[i].name);
        behaviours[i].run();
        t_end();
    }
}

/* ---- parameters that a program sets for itself ---- */

/*
 * --each NAME[+NAME...]=VALUE[,VALUE...]: everything is run with each value of the parameters, which change through
 * MPI's tools interface; where it is given more than once, with all combinations. One job does the work of many, each
 * of which would take longer to start than to run.
 */

/* Part number of a text that has parts between separators, ended by stop or the text's end; false: it has fewer. */
static bool t_part(const char *text, char separator, char stop, int number, char *part, size_t size)
{
    const char ends[] = { separator, stop, '\0' };

    while (0 < number) {
        text += strcspn(text, ends);
        if (separator != *text) {
            return false;
        }
        ++text;
        --number;
    }
    snprintf(part, size, "%.*s", (int) strcspn(text, ends), text);
    return true;
}

/* The number of a value's name; where the parameter takes any number, the number. */
static bool t_value(MPI_T_enum names, const char *text, int *value)
{
    const int count = parameter_values(names);
    char name[T_TEXT], *end;

    for (int i = 0; i < count; ++i) {
        if (parameter_value(names, i, value, name, sizeof(name)) && 0 == strcmp(name, text)) {
            return true;
        }
    }
    *value = (int) strtol(text, &end, 0);
    return MPI_T_ENUM_NULL == names && '\0' == *end && '\0' != *text;
}

/* A parameter that isn't there, or doesn't take the value, ends the program: what follows would be for nothing. */
static void t_write_parameter(const char *name, const char *text)
{
    MPI_T_enum names;
    MPI_T_cvar_handle handle;
    int value;

    if (!parameter_open(name, &names, &handle)) {
        fprintf(stderr, "--each %s=%s: there is no such parameter\n", name, text);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    if (!t_value(names, text, &value) || MPI_SUCCESS != MPI_T_cvar_write(handle, &value)) {
        fprintf(stderr, "--each %s=%s: the parameter does not take that\n", name, text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_T_cvar_handle_free(&handle);
}

/* Sets one value of an option; number becomes what is left for the next option. */
static void t_write_each(const char *each, int *number)
{
    const char *values = strchr(each, '=');
    char name[T_TEXT], value[T_TEXT] = "";
    int count = 0;

    if (NULL == values) {
        fprintf(stderr, "--each %s: wanted NAME=VALUE,VALUE\n", each);
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    while (t_part(values + 1, ',', '\0', count, value, sizeof(value))) {
        ++count;
    }
    t_part(values + 1, ',', '\0', *number % count, value, sizeof(value));
    *number /= count;
    for (int i = 0; t_part(each, '+', '=', i, name, sizeof(name)); ++i) {
        t_write_parameter(name, value);
    }
    snprintf(t.with + strlen(t.with), sizeof(t.with) - strlen(t.with), "%s%s", 0 == t.with[0] ? "" : ", ", value);
}

/** The next setting of the parameters of --each; true once where there are none. @returns false: that were all */
T_UNUSED static bool t_next_setting(void)
{
    int number = t.setting++;

    t.with[0] = '\0';
    if (0 == t.each_count) {
        return 0 == number;
    }
    for (int i = 0; i < t.each_count; ++i) {
        t_write_each(t.each[i], &number);
    }
    if (0 < number) {
        t.with[0] = '\0';
        return false;
    }
    snprintf(t.with + strlen(t.with), sizeof(t.with) - strlen(t.with), ": ");
    return true;
}

/* ---- a program ---- */

/* NULL where there is none. */
T_UNUSED static const struct t_option *t_option_called(const char *name, const struct t_option *options, size_t count)
{
    static const struct t_option seed = { "--seed", true, &t.seed };

    for (size_t o = 0; o < count; ++o) {
        if (0 == strcmp(name, options[o].name)) {
            return &options[o];
        }
    }
    return 0 == strcmp(name, seed.name) ? &seed : NULL;
}

/** Reads the options, and --each and --seed, which every program has; ends the program at one that isn't known. */
T_UNUSED static void t_options(int argc, char **argv, const struct t_option *options, size_t count)
{
    for (int i = 1; i < argc; ++i) {
        const struct t_option *option = t_option_called(argv[i], options, count);
        char *end = NULL;

        if (0 == strcmp("--each", argv[i]) && i + 1 < argc && T_MOST_EACH > t.each_count) {
            t.each[t.each_count++] = argv[++i];
            continue;
        }
        if (NULL == option || (option->takes_number && i + 1 == argc)) {
            fprintf(stderr, "%s: option %s isn't known or wants a number\n", argv[0], argv[i]);
            exit(1);
        }
        if (!option->takes_number) {
            *option->value = 1;
            continue;
        }
        *option->value = strtol(argv[++i], &end, 0);
        if ('\0' != *end || '\0' == *argv[i]) {
            fprintf(stderr, "%s: %s isn't a number\n", argv[0], argv[i]);
            exit(1);
        }
    }
}

/** After MPI_Init: errors are returned, and verdicts get their communicator. */
T_UNUSED static void t_begin(void)
{
    struct sigaction action;
    int level, provided;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &t.comm);
    MPI_Comm_rank(t.comm, &t.rank);
    MPI_Comm_size(t.comm, &t.size);
    memset(&action, 0, sizeof(action));
    action.sa_handler = t_hung;
    sigaction(SIGALRM, &action, NULL);
    if (0 < t.each_count) {
        MPI_Query_thread(&level);
        MPI_T_init_thread(level, &provided);
    }
}

/**
 * Prints the plan after MPI_Finalize, which is a behaviour itself.
 *
 * @returns the program's exit code
 */
T_UNUSED static int t_finish(const char *finalize_name)
{
    int rc;

    t_start(0, "%s", finalize_name);
    if (!t.keep_comm) {
        MPI_Comm_free(&t.comm);
    }
    if (0 < t.each_count) {
        MPI_T_finalize();
    }
    rc = MPI_Finalize();
    /* Behaviours may have run in it. */
    t_start(0, "%s", finalize_name);
    t_expect(MPI_SUCCESS == rc, "MPI_Finalize failed");
    alarm(0);
    if (0 == t.rank) {
        t_print_failure(0, &t.verdict);
        t_print_line(&t.verdict);
        printf("1..%d\n", t.lines);
        fflush(stdout);
    }
    /* Rank 0 knows of all failures but this one, and must have printed them before mpirun ends the job for it. */
    return (0 == t.rank && 0 != t.failed_lines) || t.verdict.failed ? 1 : 0;
}

/* ---- memory with guards ---- */

#define T_GUARD 4096

/* Differs from rank to rank: where a message is too long, what it brings are the guards of another. */
static inline unsigned char t_guard_byte(void)
{
    return (unsigned char) (0xe7 + 29 * t.rank);
}

/* In front of the first guard. */
struct t_block {
    size_t bytes;
    size_t unused; /* keeps what follows aligned to 16 */
};

/** Memory between two guards; its content isn't set. */
T_UNUSED static void *t_alloc(size_t bytes)
{
    struct t_block *block = malloc(sizeof(*block) + bytes + 2 * T_GUARD);
    unsigned char *guard = (unsigned char *) (block + 1);

    if (NULL == block) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    block->bytes = bytes;
    memset(guard, t_guard_byte(), T_GUARD);
    memset(guard + T_GUARD + bytes, t_guard_byte(), T_GUARD);
    return guard + T_GUARD;
}

/**
 * Memory of GiBs, all of which a test will touch, in pages of 2 MiB: on a virtual machine the first touch of each page
 * takes so long that small ones would be most of the test's time.
 */
T_UNUSED static void *t_alloc_huge(size_t bytes)
{
    const uintptr_t page = 2 << 20;
    unsigned char *memory = t_alloc(bytes);
    const uintptr_t first = ((uintptr_t) memory + page - 1) / page * page;

    /* Where there are no such pages, it takes longer. */
    madvise((void *) first, (uintptr_t) memory + bytes - first, MADV_HUGEPAGE);
    return memory;
}

/** Whether nothing was written before or past the memory. */
T_UNUSED static bool t_guarded(const void *memory)
{
    const unsigned char *guard = (const unsigned char *) memory - T_GUARD;
    const size_t bytes = ((const struct t_block *) (const void *) guard - 1)->bytes;

    for (size_t i = 0; i < T_GUARD; ++i) {
        if (t_guard_byte() != guard[i] || t_guard_byte() != guard[T_GUARD + bytes + i]) {
            return false;
        }
    }
    return true;
}

/** Frees, and expects that the guards are as they were. */
T_UNUSED static void t_free(void *memory)
{
    if (NULL != memory) {
        t_expect(t_guarded(memory), "bytes before or past a buffer were written");
        free((unsigned char *) memory - T_GUARD - sizeof(struct t_block));
    }
}

/* ---- numbers ---- */

/** Byte number i of the message with a key: neighbours, segments and messages differ. */
static inline unsigned char t_pattern(uint64_t key, size_t i)
{
    uint64_t x = (key + 1) * UINT64_C(0x9e3779b97f4a7c15) + i * UINT64_C(0xd1b54a32d192ed03);

    return (unsigned char) (x >> 56 ^ x >> 24);
}

/** A number in memory that need not be aligned. */
T_UNUSED static uint32_t t_get(const unsigned char *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof(value));
    return value;
}

T_UNUSED static void t_put(unsigned char *to, uint32_t value)
{
    memcpy(to, &value, sizeof(value));
}

/* ---- numbers far apart: one every `stride` bytes; what is between them is not touched ---- */

/** Makes them from `value` on, ascending. */
T_UNUSED static void t_apart_fill(unsigned char *buffer, size_t stride, int count, uint32_t value)
{
    for (int i = 0; i < count; ++i) {
        t_put(buffer + (size_t) i * stride, value + (uint32_t) i);
    }
}

/** How many are right, up to the first that is not `value` and its place times `factor`. */
T_UNUSED static int t_apart_right(const unsigned char *buffer, size_t stride, int count, uint32_t value,
                                  uint32_t factor)
{
    int i = 0;

    while (i < count && value + factor * (uint32_t) i == t_get(buffer + (size_t) i * stride)) {
        ++i;
    }
    return i;
}

/** Their sum, as a function for MPI_Op_create; the stride is the type's extent. */
T_UNUSED static void t_apart_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint low, stride;

    MPI_Type_get_extent(*type, &low, &stride);
    for (int i = 0; i < *count; ++i) {
        unsigned char *right = (unsigned char *) inout + i * stride;

        t_put(right, t_get((unsigned char *) in + i * stride) + t_get(right));
    }
}

/* ---- communicators ---- */

/** A part of the world; MPI_COMM_NULL where color is MPI_UNDEFINED. */
T_UNUSED static MPI_Comm t_split(int color, int key)
{
    MPI_Comm comm = MPI_COMM_NULL;

    T_MPI(MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm));
    return comm;
}

/**
 * An intercommunicator between the first third of the world, at least one rank, and the rest. With one rank there is
 * none: the behaviour is skipped.
 *
 * @param local this rank's group; to be freed, as is what is returned, where there is one
 * @param low   whether that is the first third
 * @returns     MPI_COMM_NULL where there is none
 */
T_UNUSED static MPI_Comm t_intercomm(MPI_Comm *local, bool *low)
{
    const int first = (t.size + 2) / 3;
    MPI_Comm inter = MPI_COMM_NULL;

    *low = t.rank < first;
    *local = MPI_COMM_NULL;
    if (1 == t.size) {
        t_skip("needs two ranks");
        return inter;
    }
    *local = t_split(*low, t.rank);
    T_MPI(MPI_Intercomm_create(*local, 0, MPI_COMM_WORLD, *low ? first : 0, 5, &inter));
    return inter;
}

#endif
