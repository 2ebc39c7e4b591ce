/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of Open MPI's own HAN as rules. Such a file is a sequence of words, '#' begins a comment:
 *
 *     number of collectives, and for each      its name (or its number)
 *       number of levels, and for each           0 inside a node, 1 between nodes, 2 the communicator itself
 *         number of sizes, and for each            from so many ranks of that level on
 *           number of messages, and for each         from so many bytes on: a component [segment sizes]
 *
 * What comes later counts, where a collective or a level is there twice. Segment sizes are read there, and not used.
 */
#include "han_rules.h"
#include "tune_options.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSIDE, BETWEEN, WHOLE, LEVELS };

/* From so many bytes on, a component. */
struct message {
    size_t bytes;
    char component[16];
};

/* From so many ranks on. */
struct size {
    size_t ranks;
    size_t count;
    struct message *messages;
};

struct level {
    int line; /* where it begins */
    size_t count;
    struct size *sizes;
};

/* In the order of the numbers that Open MPI gives to collectives. */
static const char *const collectives[] = { "allgather",
                                           "allgatherv",
                                           "allreduce",
                                           "alltoall",
                                           "alltoallv",
                                           "alltoallw",
                                           "barrier",
                                           "bcast",
                                           "exscan",
                                           "gather",
                                           "gatherv",
                                           "reduce",
                                           "reduce_scatter",
                                           "reduce_scatter_block",
                                           "scan",
                                           "scatter",
                                           "scatterv",
                                           "neighbor_allgather",
                                           "neighbor_allgatherv",
                                           "neighbor_alltoall",
                                           "neighbor_alltoallv",
                                           "neighbor_alltoallw" };
enum { COLLECTIVES = sizeof(collectives) / sizeof(collectives[0]) };

static const char *const components[] = { "self", "basic", "libnbc", "tuned", "sm", "adapt", "han" };
enum { COMPONENTS = sizeof(components) / sizeof(components[0]) };

/* -- reading -- */

/* No file that anybody wrote has more of anything. */
enum { MOST = 10000, MOST_WORD = 63 };

static struct {
    const char *path;
    FILE *file;
    int line;
    bool missed; /* something could not be told by rules */
    int printed; /* rules */
} input;

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s:%d: ", input.path, input.line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    exit(BAD_FILE);
}

static void warn(int line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void warn(int line, const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s:%d: ", input.path, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    if (NULL == memory) {
        fail("memory is short");
    }
    return memory;
}

/* The next character that is not part of a comment. */
static int get_character(void)
{
    int character = getc(input.file);

    if ('#' == character) {
        do {
            character = getc(input.file);
        } while (EOF != character && '\n' != character);
    }
    input.line += '\n' == character ? 1 : 0;
    return character;
}

static int skip_blanks(void)
{
    int character;

    do {
        character = get_character();
    } while (EOF != character && NULL != strchr(" \t\r\n", character));
    return character;
}

/* The next word, '[' and ']' being words; false at the end of the file. */
static bool get_word(char word[MOST_WORD + 1])
{
    int character = skip_blanks(), length = 0;

    if ('[' == character || ']' == character) {
        word[0] = (char) character;
        word[1] = '\0';
        return true;
    }
    while (EOF != character && NULL == strchr(" \t\r\n[]", character)) {
        if (MOST_WORD == length || ' ' >= character || 0x7f <= character) {
            fail("this is no text, or a word of more than %d letters", MOST_WORD);
        }
        word[length++] = (char) character;
        character = get_character();
    }
    word[length] = '\0';
    if (EOF != character) {
        input.line -= '\n' == character ? 1 : 0;
        ungetc(character, input.file);
    }
    return 0 < length;
}

static size_t get_number(const char *what, size_t least, size_t most)
{
    char word[MOST_WORD + 1] = "", *end = word;
    unsigned long long number = 0;

    if (get_word(word) && '-' != word[0]) {
        number = strtoull(word, &end, 0);
    }
    if (end == word || '\0' != *end || number < least || number > most) {
        fail("%s: \"%s\"; accepted: a number from %zu to %zu", what, word, least, most);
    }
    return (size_t) number;
}

/* A name of a list, or its number. */
static const char *get_name(const char *what, const char *const *names, int count, bool by_number)
{
    char word[MOST_WORD + 1] = "", *end;
    long number;

    if (!get_word(word)) {
        fail("the file ends where %s is wanted", what);
    }
    for (int i = 0; i < count; ++i) {
        if (0 == strcmp(names[i], word)) {
            return names[i];
        }
    }
    number = strtol(word, &end, 10);
    if (!by_number || '\0' != *end || 0 > number || count <= number) {
        fprintf(stderr, "%s:%d: \"%s\" is no %s; accepted:", input.path, input.line, word, what);
        for (int i = 0; i < count; ++i) {
            fprintf(stderr, "%s %s", 0 == i ? "" : ",", names[i]);
        }
        fprintf(stderr, "\n");
        exit(BAD_FILE);
    }
    return names[number];
}

/* "[1024 2048]", where it is there. */
static void skip_segments(void)
{
    char word[MOST_WORD + 1];
    const int character = skip_blanks();

    if ('[' != character) {
        if (EOF != character) {
            ungetc(character, input.file);
        }
        return;
    }
    do {
        if (!get_word(word)) {
            fail("the file ends inside [ ]");
        }
    } while (0 != strcmp("]", word));
}

static void read_messages(struct size *size)
{
    size->count = get_number("number of messages", 0, MOST);
    size->messages = allocate(size->count, sizeof(*size->messages));
    for (size_t i = 0; i < size->count; ++i) {
        size->messages[i].bytes = get_number("bytes of a message", 0, 0 == i ? 1 : SIZE_MAX);
        if (0 < i && size->messages[i].bytes <= size->messages[i - 1].bytes) {
            fail("bytes do not ascend; accepted: more than %zu", size->messages[i - 1].bytes);
        }
        strcpy(size->messages[i].component, get_name("component", components, COMPONENTS, false));
        skip_segments();
    }
}

static void read_level(struct level *level)
{
    level->line = input.line;
    level->count = get_number("number of sizes", 0, MOST);
    level->sizes = allocate(level->count, sizeof(*level->sizes));
    for (size_t i = 0; i < level->count; ++i) {
        level->sizes[i].ranks = get_number("ranks of a level", 1, 0 == i ? 1 : INT_MAX);
        if (0 < i && level->sizes[i].ranks <= level->sizes[i - 1].ranks) {
            fail("ranks do not ascend; accepted: more than %zu", level->sizes[i - 1].ranks);
        }
        read_messages(&level->sizes[i]);
    }
}

static void free_level(struct level *level)
{
    for (size_t i = 0; i < level->count; ++i) {
        free(level->sizes[i].messages);
    }
    free(level->sizes);
    memset(level, 0, sizeof(*level));
}

/* -- writing -- */

/* The component of a level for a message of so many bytes; NULL where the level says nothing. */
static const char *component_of(const struct size *size, size_t bytes)
{
    const char *component = NULL;

    for (size_t i = 0; NULL != size && i < size->count && size->messages[i].bytes <= bytes; ++i) {
        component = size->messages[i].component;
    }
    /* The first message may be said to have 1 byte. */
    return NULL == component && NULL != size && 0 < size->count ? size->messages[0].component : component;
}

/* The submodule by a component's name; HAN_AUTO where the level has no such choice. */
static mca_coll_han_submodule_t submodule_of(mca_coll_han_level_id_t level, const char *component)
{
    for (int i = 0; NULL != component && i < HAN_CHOICE_COUNT; ++i) {
        const mca_coll_han_submodule_t choice = mca_coll_han_choices[level][i];

        if (HAN_AUTO != choice && 0 == strcmp(component, mca_coll_han_submodule_names[choice])) {
            return choice;
        }
    }
    return HAN_AUTO;
}

/* What is done for a message of so many bytes. */
static void decide(mca_coll_han_rule_t *rule, mca_coll_han_collective_t collective, const struct size *sizes[LEVELS],
                   size_t bytes)
{
    const mca_coll_han_input_t good = mca_coll_han_input_good(collective);
    const char *whole = component_of(sizes[WHOLE], bytes);
    const mca_coll_han_submodule_t up = submodule_of(HAN_UP, component_of(sizes[BETWEEN], bytes));
    const mca_coll_han_submodule_t low = submodule_of(HAN_LOW, component_of(sizes[INSIDE], bytes));

    rule->params = mca_coll_han_rule_default().params;
    rule->leave = false;
    if (NULL != whole && 0 != strcmp("han", whole)) {
        return;
    }
    if (!mca_coll_han_fits(HAN_PIPELINE, &good)) {
        rule->leave = true;
        return;
    }
    rule->params.algorithm = HAN_PIPELINE;
    rule->params.imod = HAN_AUTO == up ? HAN_ADAPT : up;
    rule->params.smod = HAN_AUTO == low ? HAN_TUNED : low;
    input.missed = input.missed || (HAN_AUTO == up && NULL != component_of(sizes[BETWEEN], bytes))
                   || (HAN_AUTO == low && NULL != component_of(sizes[INSIDE], bytes));
}

/* The next number of bytes from which on a level says something else; SIZE_MAX: there is none. */
static size_t next_bytes(const struct size *sizes[LEVELS], size_t bytes)
{
    size_t next = SIZE_MAX;

    for (int level = 0; level < LEVELS; ++level) {
        for (size_t i = 1; NULL != sizes[level] && i < sizes[level]->count; ++i) {
            if (sizes[level]->messages[i].bytes > bytes && sizes[level]->messages[i].bytes < next) {
                next = sizes[level]->messages[i].bytes;
            }
        }
    }
    return next;
}

static void print_rules(const mca_coll_han_rule_t *where, mca_coll_han_collective_t collective,
                        const struct size *sizes[LEVELS])
{
    mca_coll_han_rule_t rule = *where;
    char text[HAN_RULES_TEXT];

    rule.bytes.low = 0;
    decide(&rule, collective, sizes, 0);
    for (bool more = true; more;) {
        mca_coll_han_rule_t next = rule;

        do {
            next.bytes.low = next_bytes(sizes, next.bytes.low);
            more = SIZE_MAX != next.bytes.low;
            decide(&next, collective, sizes, next.bytes.low);
        } while (more && next.leave == rule.leave && next.params.algorithm == rule.params.algorithm
                 && next.params.imod == rule.params.imod && next.params.smod == rule.params.smod);
        rule.bytes.high = more ? next.bytes.low - 1 : SIZE_MAX;
        printf("%s\n", mca_coll_han_rule_format(&rule, text, sizeof(text)));
        rule = next;
        ++input.printed;
    }
}

static mca_coll_han_range_t range_of(const struct level *level, size_t i)
{
    return (mca_coll_han_range_t){ i < level->count ? level->sizes[i].ranks : 1,
                                   i + 1 < level->count ? level->sizes[i + 1].ranks - 1 : INT_MAX };
}

/* Each size of one level with each of the other: nodes, and ranks per node. */
static void print_collective(mca_coll_han_collective_t collective, const struct level levels[LEVELS])
{
    const struct level *inside = &levels[INSIDE], *between = &levels[BETWEEN], *whole = &levels[WHOLE];
    const struct size *sizes[LEVELS] = { [WHOLE] = 0 == whole->count ? NULL : &whole->sizes[whole->count - 1] };
    mca_coll_han_rule_t rule = mca_coll_han_rule_default();

    if (1 < whole->count) {
        warn(whole->line, "%s: rules cannot tell communicators by their size; that from %zu ranks on stands for all",
             mca_coll_han_collective_names[collective], sizes[WHOLE]->ranks);
    }
    rule.collectives = UINT64_C(1) << collective;
    input.missed = false;
    for (size_t i = 0; i < (0 == between->count ? 1 : between->count); ++i) {
        for (size_t j = 0; j < (0 == inside->count ? 1 : inside->count); ++j) {
            rule.nodes = range_of(between, i);
            rule.ppn = range_of(inside, j);
            sizes[BETWEEN] = 0 == between->count ? NULL : &between->sizes[i];
            sizes[INSIDE] = 0 == inside->count ? NULL : &inside->sizes[j];
            print_rules(&rule, collective, sizes);
        }
    }
    if (input.missed) {
        warn(0 == between->count ? inside->line : between->line,
             "%s: not every component can be a submodule; adapt stands for those between nodes, tuned inside",
             mca_coll_han_collective_names[collective]);
    }
}

/* A collective, all levels of it. */
static void convert_collective(void)
{
    const char *name = get_name("collective", collectives, COLLECTIVES, true);
    const int line = input.line;
    struct level levels[LEVELS] = { { .line = 0 } };
    const size_t count = get_number("number of levels", 0, MOST);
    const int collective = tune_find_word(name, mca_coll_han_collective_names, HAN_COLLECTIVE_COUNT);

    for (size_t i = 0; i < count; ++i) {
        struct level *level = &levels[get_number("level", 0, LEVELS - 1)];

        free_level(level);
        read_level(level);
    }
    if (0 > collective) {
        warn(line, "%s is left out: HAN does not do it", name);
    } else if (0 < count) {
        print_collective((mca_coll_han_collective_t) collective, levels);
    }
    for (int level = 0; level < LEVELS; ++level) {
        free_level(&levels[level]);
    }
}

int convert(const char *path)
{
    char word[MOST_WORD + 1];
    size_t count;

    input.path = path;
    input.line = 1;
    input.file = fopen(path, "r");
    if (NULL == input.file) {
        perror(path);
        return BAD_FILE;
    }
    count = get_number("number of collectives", 1, MOST);
    printf("han-rules %d\n# From %s, a file of Open MPI's own HAN.\n", HAN_RULES_VERSION, path);
    for (size_t i = 0; i < count; ++i) {
        convert_collective();
    }
    if (get_word(word)) {
        warn(input.line, "\"%s\" and what is behind it is left out: the numbers before it say that the file is over",
             word);
    }
    fclose(input.file);
    if (0 == input.printed) {
        warn(input.line, "there is nothing that rules can tell");
        return BAD_FILE;
    }
    return GOOD;
}
