/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of rules: what a search has found is written, and what did not pay is left to HAN's own choice. */
#include "tune.h"

#include "common/tool_version.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void tune_text_add(struct tune_text *text, const char *format, ...)
{
    va_list arguments;
    char line[2048], *grown;
    int length;

    va_start(arguments, format);
    length = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    grown = realloc(text->text, text->length + (size_t) length + 1);
    text->text = NULL == grown ? text->text : grown;
    if (NULL == grown || (int) sizeof(line) <= length) {
        text->short_of_memory = true;
        return;
    }
    memcpy(text->text + text->length, line, (size_t) length + 1);
    text->length += (size_t) length;
}

void tune_output_begin(struct tune_text *text, const char *machine, const mca_coll_han_machine_t *numbers)
{
    char lines[HAN_MACHINE_TEXT];

    tune_text_add(text,
                  "# Made by han_tune (HAN) " HAN_VERSION_TEXT
                  ". The nearest rule decides; algorithm=auto: HAN chooses.\n"
                  "han-rules %d\nmachine %s\n",
                  HAN_RULES_VERSION, machine);
    if (NULL != numbers) {
        mca_coll_han_machine_format(numbers, lines, sizeof(lines));
        tune_text_add(text,
                      "\n# The machine for which HAN chooses: jobs that take this table do not measure it again.\n%s",
                      strchr(lines, '\n') + 1);
    }
}

static const char *what_of(const struct tune_choice *choice)
{
    return choice->found ? choice->text : "algorithm=auto";
}

/* How much faster, over the choices from first to last. */
static void add_gain(struct tune_text *text, const struct tune_choice *first, const struct tune_choice *last)
{
    double builtin = 0, fallback = 0;
    const double count = (double) (last - first + 1);

    for (const struct tune_choice *choice = first; choice <= last; ++choice) {
        const double mine = choice->found ? choice->measured : choice->builtin;

        builtin += log(choice->builtin / mine) / count;
        fallback += log(choice->fallback / mine) / count;
    }
    if (isfinite(builtin) && isfinite(fallback)) {
        tune_text_add(text, " # %.2f times as fast as HAN's own choice, %.2f without HAN", exp(builtin), exp(fallback));
    }
}

/* A segment that is the whole message: longer messages would be cut into unequal parts. */
static bool is_whole(const struct tune_choice *choice)
{
    const mca_coll_han_algorithm_id_t algorithm = choice->config.params.algorithm;

    return choice->found && 0 < choice->bytes && choice->bytes <= choice->config.params.fs
           && (HAN_PIPELINE == algorithm || HAN_UP_ALLREDUCE == algorithm);
}

/* What is found is for no longer message. */
static bool ends_here(const struct tune_choice *choice)
{
    return is_whole(choice) || (choice->found && choice->cut);
}

/* What stands before the bytes, and behind them. */
struct input {
    char shape[TUNE_TEXT], calls[TUNE_TEXT];
};

/* A line without its end; most of 0: for all bytes; of SIZE_MAX: for all from the least on. */
static void add_rule(struct tune_text *text, const struct input *input, size_t least, size_t most, const char *what)
{
    char low[32], high[32];

    tune_bytes_text(least, low);
    tune_bytes_text(most, high);
    tune_text_add(text,
                  0 == most          ? "%s bytes=*"
                  : least == most    ? "%s bytes=%s"
                  : SIZE_MAX == most ? "%s bytes=%s-"
                                     : "%s bytes=%s-%s",
                  input->shape, low, high);
    tune_text_add(text, "%s : %s", input->calls, what);
}

/* The rules of one function. */
static void add_rules(struct tune_text *text, const struct tune_choice *choices, const struct tune_choice *end,
                      const struct input *input)
{
    size_t from = 0; /* what is shorter has its rule */

    for (const struct tune_choice *first = choices, *last; first < end; first = last + 1) {
        /* What is shorter than all that was measured must not get what is best for the shortest of it; what is longer
         * than a message that is best whole must not get its segments. */
        if (first->found && from < first->bytes) {
            add_rule(text, input, from, first->bytes - 1, "algorithm=auto\n");
            from = first->bytes;
        }
        for (last = first; last + 1 < end && !ends_here(last) && 0 == strcmp(what_of(first), what_of(last + 1));
             ++last) {
        }
        add_rule(text, input, from, last + 1 < end || ends_here(last) || 0 == last->bytes ? last->bytes : SIZE_MAX,
                 what_of(first));
        add_gain(text, first, last);
        tune_text_add(text, "\n");
        from = ends_here(last) || last + 1 == end ? last->bytes + 1 : last[1].bytes;
    }
    if (ends_here(end - 1)) {
        add_rule(text, input, from, SIZE_MAX, "algorithm=auto\n");
    }
}

/* The nearest rule decides (docs/rules.md): these begin four times as far away, and so are nearer from twice on. */
void tune_output_elsewhere(struct tune_text *text, const struct tune_function *functions, int count,
                           struct tune_range nodes, struct tune_range ppn)
{
    enum { FAR = 4 };
    uint64_t told = 0; /* collectives, as bits: both forms have the same lines */

    tune_text_add(
        text, "\n# Where nodes or ranks per node are more than twice as many as were measured, or less than half, HAN "
              "chooses by itself.\n");
    for (int i = 0; i < count; ++i) {
        const char *name = mca_coll_han_collective_names[functions[i].collective];

        if (0 != (told >> functions[i].collective & 1)) {
            continue;
        }
        told |= UINT64_C(1) << functions[i].collective;
        tune_text_add(text, "%-9s nodes=%d- ppn=* bytes=* : algorithm=auto\n", name, FAR * nodes.most);
        tune_text_add(text, "%-9s nodes=* ppn=%d- bytes=* : algorithm=auto\n", name, FAR * ppn.most);
        if (FAR <= nodes.least) {
            tune_text_add(text, "%-9s nodes=1-%d ppn=* bytes=* : algorithm=auto\n", name, nodes.least / FAR);
        }
        if (FAR <= ppn.least) {
            tune_text_add(text, "%-9s nodes=* ppn=1-%d bytes=* : algorithm=auto\n", name, ppn.least / FAR);
        }
    }
}

void tune_output_rules(struct tune_text *text, const struct tune_choice *choices, long count,
                       const struct tune_shape *shape)
{
    struct input input;

    for (long first = 0, end; first < count; first = end) {
        const struct tune_function function = choices[first].function;

        for (end = first + 1; end < count && tune_function_is(choices[end].function, function); ++end) {
        }
        snprintf(input.shape, sizeof(input.shape), "%-9s nodes=%d ppn=%d",
                 mca_coll_han_collective_names[function.collective], shape->nodes, shape->ppn);
        snprintf(input.calls, sizeof(input.calls), " form=%s order=%s",
                 HAN_NONBLOCKING == function.form ? "nonblocking" : "blocking",
                 shape->in_order ? "consecutive" : "scattered");
        tune_text_add(text, "\n");
        add_rules(text, &choices[first], &choices[end], &input);
    }
}

int tune_output_write(const struct tune_text *text, const char *path)
{
    mca_coll_han_rules_error_t error;
    mca_coll_han_rules_t rules;

    if (text->short_of_memory) {
        fprintf(stderr, "han_tune: memory is short\n");
        return -1;
    }
    if (0 != mca_coll_han_rules_parse(&rules, path, text->text, text->length, &error)) {
        fprintf(stderr, "han_tune: what was to be written is no table: line %d: %s\n%s", error.line, error.what,
                text->text);
        return -1;
    }
    mca_coll_han_rules_free(&rules);
    if (0 != tune_file_write(path, text->text, text->length)) {
        fprintf(stderr, "han_tune: %s: %s\n", path, strerror(errno));
        return -1;
    }
    return 0;
}

/* As a shell takes it. */
static void print_word(FILE *file, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./,:=+-%@";

    if ('\0' != *word && strspn(word, plain) == strlen(word)) {
        fputs(word, file);
        return;
    }
    fputc('\'', file);
    for (; '\0' != *word; ++word) {
        fputs('\'' == *word ? "'\\''" : (char[2]){ *word }, file);
    }
    fputc('\'', file);
}

#define ABOUT "about.txt"
#define LEFT "left" /* begins the line of what there was no time for */

void tune_output_about(const char *folder, const char *output, char *const *command, double seconds, int left_out)
{
    char *absolute = realpath(output, NULL);
    FILE *file = tune_file_open(folder, ABOUT, "w");

    if (NULL != file) {
        fprintf(file, "table %s\nseconds %.0f\ncommand", NULL == absolute ? output : absolute, seconds);
        for (; NULL != *command; ++command) {
            fputc(' ', file);
            print_word(file, *command);
        }
        fputc('\n', file);
        if (0 < left_out) {
            fprintf(file, LEFT " %d\n", left_out);
        }
        fclose(file);
    }
    free(absolute);
}

bool tune_output_is_finished(const char *folder)
{
    FILE *file = tune_file_open(folder, ABOUT, "r");
    char word[8] = "";
    bool left = NULL == file;

    while (!left && 1 == fscanf(file, "%7s%*[^\n]", word)) {
        left = 0 == strcmp(word, LEFT);
    }
    if (NULL != file) {
        fclose(file);
    }
    return !left;
}

static bool pays(const mca_coll_han_rules_t *rules, const struct tune_gain *gains, int line)
{
    for (size_t i = 0; i < rules->count; ++i) {
        if (line == rules->rules[i].line && 0 < gains[i].messages) {
            return exp(gains[i].over_builtin / gains[i].messages) >= TUNE_GAIN;
        }
    }
    return true;
}

int tune_prune(const char *path, const mca_coll_han_rules_t *rules, const struct tune_gain *gains)
{
    struct tune_text text = { .text = NULL };
    char line[HAN_TEXT_MOST_LINE + 2];
    FILE *file = fopen(path, "r");
    int dropped = 0, rc;

    if (NULL == file) {
        fprintf(stderr, "han_tune: %s: %s\n", path, strerror(errno));
        return -1;
    }
    for (int number = 1; NULL != fgets(line, sizeof(line), file); ++number) {
        if (pays(rules, gains, number)) {
            tune_text_add(&text, "%s", line);
        } else {
            const size_t input = strcspn(line, ":");

            line[strcspn(line, "\n")] = '\0';
            tune_text_add(&text, "%.*s: algorithm=auto # did not pay%s\n", (int) input, line, line + input);
            ++dropped;
        }
    }
    fclose(file);
    rc = 0 == dropped ? 0 : tune_output_write(&text, path);
    printf("%d rules left to HAN's own choice\n", dropped);
    free(text.text);
    return rc;
}
