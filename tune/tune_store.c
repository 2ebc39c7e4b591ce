/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements are kept as CSV, a line each, written at once: who is interrupted loses nothing. A text in front says
 * where they were made.
 *     # han_tune 3: MACHINE
 *     kind,nodes,ppn,collective,bytes,seconds,parameters,version
 *     task,4,4,bcast,655360,0.031,algorithm=pipeline fs=64K ...,0.1.0 (8c630abff)
 */
#include "tune.h"

#include "common/tool_version.h"
#include "tune_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define TITLE "# han_tune 3: "
#define COLUMNS "kind,nodes,ppn,collective,bytes,seconds,parameters,version\n"

static const char *const kinds[TUNE_KIND_COUNT]
    = { [TUNE_TASK] = "task", [TUNE_WHOLE] = "whole", [TUNE_BUILTIN] = "builtin", [TUNE_FALLBACK] = "fallback" };

enum { LINE = 1024 };

static bool same(const struct tune_entry *left, const struct tune_entry *right)
{
    return left->kind == right->kind && left->nodes == right->nodes && left->ppn == right->ppn
           && left->collective == right->collective && left->bytes == right->bytes
           && 0 == strcmp(left->parameters, right->parameters);
}

struct tune_entry *tune_store_entry(struct tune_store *store, const struct tune_entry *like)
{
    struct tune_entry **entries, *entry;

    for (size_t i = 0; i < store->count; ++i) {
        if (same(store->entries[i], like)) {
            return store->entries[i];
        }
    }
    entry = malloc(sizeof(*entry));
    entries = realloc(store->entries, (store->count + 1) * sizeof(*entries));
    if (NULL != entries) {
        store->entries = entries;
    }
    if (NULL == entry || NULL == entries) {
        free(entry);
        return NULL;
    }
    *entry = *like;
    memset(&entry->series, 0, sizeof(entry->series));
    store->entries[store->count++] = entry;
    return entry;
}

/* ---- reading ---- */

/* The next column; the text moves behind it. NULL where there is none. */
static char *column(char **text)
{
    char *start = *text;

    if (NULL == start) {
        return NULL;
    }
    *text = strchr(start, ',');
    if (NULL != *text) {
        *(*text)++ = '\0';
    }
    return start;
}

static bool read_number(const char *text, double least, double *value)
{
    char *end;

    if (NULL == text || '\0' == *text) {
        return false;
    }
    *value = strtod(text, &end);
    return '\0' == *end && isfinite(*value) && *value >= least;
}

/* Takes a line over; false where it is none of ours. */
static bool read_line(struct tune_store *store, char *line)
{
    struct tune_entry entry = { .nodes = 0 }, *kept;
    char *text = line, *parameters;
    double nodes = 0, ppn = 0, bytes = 0, seconds = 0;
    int kind, collective;
    bool good;

    line[strcspn(line, "\r\n")] = '\0';
    if (0 == strncmp("search,", line, 7)) {
        return true;
    }
    kind = tune_find_word(column(&text), kinds, TUNE_KIND_COUNT);
    good = read_number(column(&text), 1, &nodes) && read_number(column(&text), 1, &ppn);
    collective = tune_find_word(column(&text), mca_coll_han_collective_names, HAN_COLLECTIVE_COUNT);
    good = good && read_number(column(&text), 0, &bytes) && read_number(column(&text), 0, &seconds);
    parameters = column(&text);
    if (!good || 0 > kind || 0 > collective || NULL == parameters || TUNE_TEXT <= strlen(parameters)) {
        return false;
    }
    entry.kind = (enum tune_kind) kind;
    entry.nodes = (int) nodes;
    entry.ppn = (int) ppn;
    entry.collective = (mca_coll_han_collective_t) collective;
    entry.bytes = (size_t) bytes;
    strcpy(entry.parameters, parameters);
    ++store->resumed;
    kept = tune_store_entry(store, &entry);
    return NULL != kept && 0 == tune_series_add(&kept->series, seconds);
}

/* Takes a file over. A last line that was cut off when somebody pulled the plug is dropped: returns where the whole
 * ones end; 0 where those in front of the measurements are not all there; -1 where the file is none of ours. */
static long read_all(struct tune_store *store, const char *path, const char *machine, char *why)
{
    char line[LINE], title[LINE];
    long end = 0, number = 0;

    snprintf(title, sizeof(title), TITLE "%s\n", machine);
    while (NULL != fgets(line, sizeof(line), store->file)) {
        const char *head = 1 == ++number ? title : COLUMNS;
        const bool cut = NULL == strchr(line, '\n') && feof(store->file);
        const bool good = 2 < number ? cut || read_line(store, line)
                          : cut      ? 0 == strncmp(head, line, strlen(line))
                                     : 0 == strcmp(head, line);

        line[strcspn(line, "\r\n")] = '\0';
        if (!good && 1 == number && 0 == strncmp(TITLE, line, strlen(TITLE))) {
            snprintf(why, TUNE_TEXT * 2, "%s:1: \"%.120s\"; this machine: \"%.120s\"; name another file", path, line,
                     machine);
            return -1;
        }
        if (!good) {
            snprintf(why, TUNE_TEXT * 2, "%s:%ld: no measurement; name another file, or repair it", path, number);
            return -1;
        }
        end = cut ? end : ftell(store->file);
        number -= cut ? 1 : 0;
    }
    return 2 > number ? 0 : end;
}

/* Nobody else writes it. A file system without locks is no reason not to measure. */
static bool lock(FILE *file)
{
    return 0 == flock(fileno(file), LOCK_EX | LOCK_NB) || EWOULDBLOCK != errno;
}

int tune_store_open(struct tune_store *store, const char *path, const char *machine, char why[TUNE_TEXT * 2])
{
    long end;

    memset(store, 0, sizeof(*store));
    store->file = fopen(path, "a+");
    store->path = strdup(path);
    if (NULL == store->file || NULL == store->path) {
        snprintf(why, TUNE_TEXT * 2, "%s: %s", path, strerror(errno));
        tune_store_close(store);
        return -1;
    }
    if (!lock(store->file)) {
        snprintf(why, TUNE_TEXT * 2, "%s: another han_tune writes it; wait for it, or name another folder", path);
        tune_store_close(store);
        return -1;
    }
    rewind(store->file);
    end = read_all(store, path, machine, why);
    if (0 <= end && 0 != ftruncate(fileno(store->file), end)) {
        snprintf(why, TUNE_TEXT * 2, "%s: %s", path, strerror(errno));
        end = -1;
    }
    if (0 > end) {
        tune_store_close(store);
        return -1;
    }
    fseek(store->file, 0, SEEK_END);
    if (0 == end) {
        fprintf(store->file, TITLE "%s\n" COLUMNS, machine);
        fflush(store->file);
    }
    return 0;
}

/* ---- writing ---- */

int tune_store_add(struct tune_store *store, struct tune_entry *entry, double seconds)
{
    if (0 != tune_series_add(&entry->series, seconds)) {
        return -1;
    }
    fprintf(store->file, "%s,%d,%d,%s,%zu,%.9g,%s," HAN_VERSION_TEXT "\n", kinds[entry->kind], entry->nodes, entry->ppn,
            mca_coll_han_collective_names[entry->collective], entry->bytes, seconds, entry->parameters);
    return 0 == fflush(store->file) ? 0 : -1;
}

int tune_store_searched(struct tune_store *store, const char *mode, bool heuristics, double seconds)
{
    fprintf(store->file, "search,%s,%s,%.3f,%s," HAN_VERSION_TEXT "\n", mode, heuristics ? "on" : "off", seconds,
            0 == store->resumed ? "from the beginning" : "resumed");
    return 0 == fflush(store->file) ? 0 : -1;
}

void tune_store_close(struct tune_store *store)
{
    if (NULL != store->file) {
        fclose(store->file);
    }
    free(store->path);
    for (size_t i = 0; i < store->count; ++i) {
        tune_series_free(&store->entries[i]->series);
        free(store->entries[i]);
    }
    free(store->entries);
    memset(store, 0, sizeof(*store));
}
