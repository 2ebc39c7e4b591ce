/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What came of a search, in choices.csv, a line a choice:
 *
 *     nodes,ppn,function,bytes,estimate,measured,own choice,fallback,rule,winner,rival,version
 *
 * A race writes each when it is made, so that one that was interrupted goes on from there; until it is `settled`, with
 * who is to run beside it in the last rounds, or `-`.
 */
#include "tune.h"

#include "coll_han_candidates.h"
#include "common/tool_version.h"
#include "tune_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHOICES "choices.csv"
#define CANDIDATES "candidates.csv"
#define SETTLED "settled"
#define NOBODY "-"

static const char algorithm[] = "algorithm="; /* what a rule begins with */

/* ---- lines ---- */

static void print_choice(FILE *file, const struct tune_choice *choice, int nodes, int ppn)
{
    char name[TUNE_FUNCTION_NAME], rival[HAN_CANDIDATE_TEXT];
    const bool rivalled = choice->rivalled && !choice->settled;

    fprintf(file, "%d,%d,%s,%zu,%.9g,%.9g,%.9g,%.9g,%s,%s,%s%s," HAN_VERSION_TEXT "\n", nodes, ppn,
            tune_function_name(choice->function, name), choice->bytes, choice->estimate, choice->measured,
            choice->builtin, choice->fallback, choice->found ? choice->text : "algorithm=auto", choice->text,
            rivalled ? algorithm : "",
            rivalled          ? mca_coll_han_candidate_text(choice->function.collective, &choice->rival, rival)
            : choice->settled ? SETTLED
                              : NOBODY);
}

int tune_choices_add(const char *folder, const struct tune_choice *choices, long count, int nodes, int ppn)
{
    FILE *file = tune_file_open(folder, CHOICES, "a");

    if (NULL == file) {
        return -1;
    }
    for (long i = 0; i < count; ++i) {
        print_choice(file, &choices[i], nodes, ppn);
    }
    return 0 == fclose(file) ? 0 : -1;
}

/* What a rule says of a collective. False where it is none. */
static bool read_rule(mca_coll_han_collective_t collective, const char *text, mca_coll_han_params_t *params)
{
    const size_t length = strlen(algorithm);
    mca_coll_han_text_error_t error;

    return 0 == strncmp(text, algorithm, length)
           && 0 == mca_coll_han_candidate_read(collective, text + length, params, &error);
}

static bool read_rival(const char *text, struct tune_choice *choice)
{
    choice->settled = 0 == strcmp(SETTLED, text);
    choice->rivalled = !choice->settled && 0 != strcmp(NOBODY, text);
    return !choice->rivalled || read_rule(choice->function.collective, text, &choice->rival);
}

static bool read_choice(char *line, struct tune_kept *kept)
{
    enum { NODES, PPN, FUNCTION, BYTES, ESTIMATE, MEASURED, OWN, FALLBACK, RULE, WINNER, RIVAL, MADE_BY, COLUMNS };
    char *columns[COLUMNS] = { NULL };
    struct tune_choice *choice = &kept->choice;

    if (NULL == strchr(line, '\n')) {
        return false; /* cut off */
    }
    line[strcspn(line, "\n")] = '\0';
    for (int i = 0; i < COLUMNS && NULL != line; ++i) {
        columns[i] = strsep(&line, ",");
    }
    if (NULL != line || NULL == columns[MADE_BY] || 0 != strcmp(HAN_VERSION_TEXT, columns[MADE_BY])
        || TUNE_TEXT <= strlen(columns[WINNER])) {
        return false;
    }
    *kept = (struct tune_kept){ .nodes = atoi(columns[NODES]), .ppn = atoi(columns[PPN]) };
    choice->bytes = strtoull(columns[BYTES], NULL, 10);
    choice->estimate = strtod(columns[ESTIMATE], NULL);
    choice->measured = strtod(columns[MEASURED], NULL);
    choice->builtin = strtod(columns[OWN], NULL);
    choice->fallback = strtod(columns[FALLBACK], NULL);
    choice->found = 0 == strcmp(columns[RULE], columns[WINNER]);
    strcpy(choice->text, columns[WINNER]);
    if (!tune_function_find(columns[FUNCTION], &choice->function)) {
        return false;
    }
    choice->config.collective = choice->function.collective;
    return 0 < kept->nodes && 0 < kept->ppn
           && read_rule(choice->function.collective, columns[WINNER], &choice->config.params)
           && read_rival(columns[RIVAL], choice);
}

/* ---- an interrupted race ---- */

static bool is_of(const struct tune_kept *kept, int nodes, int ppn, struct tune_function function, size_t bytes)
{
    return kept->nodes == nodes && kept->ppn == ppn && kept->choice.bytes == bytes
           && tune_function_is(function, kept->choice.function);
}

const struct tune_choice *tune_choices_find(const struct tune_kept *kept, long count, int nodes, int ppn,
                                            struct tune_function function, size_t bytes)
{
    for (long i = 0; i < count; ++i) {
        if (is_of(&kept[i], nodes, ppn, function, bytes)) {
            return &kept[i].choice;
        }
    }
    return NULL;
}

long tune_choices_read(const char *folder, struct tune_kept **kept)
{
    enum { LINE = 4096 };
    FILE *file = tune_file_open(folder, CHOICES, "r");
    char line[LINE];
    long count = 0;

    *kept = NULL;
    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        struct tune_kept *grown = realloc(*kept, (size_t) (count + 1) * sizeof(**kept));

        if (NULL == grown) {
            break; /* the others are made anew */
        }
        *kept = grown;
        count += read_choice(line, &grown[count]);
    }
    if (NULL != file) {
        fclose(file);
    }
    return count;
}

/* Of a line of candidates.csv: whether it has a choice. Those of all bytes have 0. */
static bool is_kept(const char *line, const struct tune_kept *kept, long count)
{
    struct tune_function function;
    char name[TUNE_FUNCTION_NAME];
    int nodes, ppn;
    size_t bytes;

    if (NULL == strchr(line, '\n') || 4 != sscanf(line, "%d,%d,%*[^,],%*[^,],%31[^,],%zu,", &nodes, &ppn, name, &bytes)
        || !tune_function_find(name, &function)) {
        return false;
    }
    return NULL != tune_choices_find(kept, count, nodes, ppn, function, bytes)
           || NULL != tune_choices_find(kept, count, nodes, ppn, function, 0);
}

/* Wholly or not at all. */
static int write_choices(const char *folder, const struct tune_kept *kept, long count)
{
    char path[TUNE_PATH], *text = NULL;
    size_t length;
    FILE *lines = open_memstream(&text, &length);
    int rc = -1;

    for (long i = 0; NULL != lines && i < count; ++i) {
        print_choice(lines, &kept[i].choice, kept[i].nodes, kept[i].ppn);
    }
    if (NULL != lines && 0 == fclose(lines)) {
        rc = tune_file_write(tune_file_path(folder, CHOICES, path), text, length);
    }
    free(text);
    return rc;
}

int tune_choices_resume(const char *folder, const struct tune_kept *kept, long count)
{
    enum { LINE = 4096 };
    FILE *file = tune_file_open(folder, CANDIDATES, "r");
    struct tune_text text = { 0 };
    char path[TUNE_PATH], line[LINE];
    int rc = NULL == file ? -1 : 0;

    while (0 == rc && NULL != fgets(line, sizeof(line), file)) {
        if (0 == text.length || is_kept(line, kept, count)) {
            tune_text_add(&text, "%s", line); /* the first one has the names of the columns */
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    rc = 0 == rc && !text.short_of_memory
             ? tune_file_write(tune_file_path(folder, CANDIDATES, path), text.text, text.length)
             : -1;
    free(text.text);
    return 0 == rc ? write_choices(folder, kept, count) : -1;
}

int tune_choices_settle(const char *folder, const struct tune_choice *choices, long count, int nodes, int ppn)
{
    struct tune_kept *kept;
    const long all = tune_choices_read(folder, &kept);
    int rc;

    for (long i = 0; i < all; ++i) {
        for (long k = 0; k < count; ++k) {
            if (is_of(&kept[i], nodes, ppn, choices[k].function, choices[k].bytes)) {
                kept[i].choice = choices[k];
            }
        }
    }
    rc = write_choices(folder, kept, all);
    free(kept);
    return rc;
}
