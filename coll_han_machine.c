/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine as text: lines of a record and its fields, "up latency 35us overhead 4us 6us rate 23.9MB/s". */
#include "coll_han_machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type { TIME, RATE, SIZE, CORES };

static const char *const accepted[] = {
    [TIME] = "a time with its unit, as 600ns, 4.5us, 1ms; at most 3 digits behind the point, 10 in all",
    [RATE] = "a rate with its unit, as 23.9MB/s, 6GB/s; at most 3 digits behind the point, 10 in all",
    [SIZE] = "a number of bytes; K, M, G may follow",
    [CORES] = "a number from 1 to 65536",
};

/* Records and their fields, in the order in which they are written. A field without a name is another value of the one
 * before it. */
struct field {
    const char *record, *name;
    enum type type;
    bool needed;
    uint64_t missing; /* its value then */
    size_t offset;
};

#define AT(member) offsetof(mca_coll_han_machine_t, member)
#define LEVEL(record, level)                                                                                           \
    { record, "latency", TIME, true, 0, AT(levels[level].latency) },                                                   \
        { record, "overhead", TIME, true, 0, AT(levels[level].send) },                                                 \
        { record, NULL, TIME, true, 0, AT(levels[level].recv) },                                                       \
        { record, "copy", RATE, true, 0, AT(levels[level].copy) },                                                     \
        { record, "rate", RATE, false, 0, AT(levels[level].rate) },                                                    \
        { record, "inline", SIZE, false, UINT64_MAX, AT(levels[level].at_once) },                                      \
        { record, "request", TIME, false, 0, AT(levels[level].request) },                                              \
        { record, "eager", SIZE, false, UINT64_MAX, AT(levels[level].eager) },                                         \
        { record, "buffer", RATE, false, 0, AT(levels[level].buffer) },                                                \
    {                                                                                                                  \
        record, "rendezvous", TIME, false, 0, AT(levels[level].rendezvous)                                             \
    }

static const struct field fields[] = {
    LEVEL("low", HAN_LOW),
    LEVEL("up", HAN_UP),
    { "memory", "copy", RATE, true, 0, AT(copy) },
    { "memory", "reduce", RATE, true, 0, AT(reduce) },
    { "memory", "near", SIZE, false, UINT64_MAX, AT(near) },
    { "memory", "far", RATE, false, 0, AT(far) },
    { "calls", "step", TIME, false, 0, AT(step) },
    { "calls", "share", TIME, false, 0, AT(share) },
    { "cores", "node", CORES, true, 0, AT(cores) },
    { "cores", "wake", TIME, false, 0, AT(wake) },
    { "cores", "turn", TIME, false, 0, AT(turn) },
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]), MOST_CORES = 1 << 16 };

/* ---- read ---- */

_Static_assert(64 >= FIELDS, "seen has a bit for each field");

/* A decimal number with at most three digits behind the point, in thousandths; the text moves behind it. */
static bool get_thousandths(const char **text, uint64_t *value)
{
    const char *start = *text;
    int behind = -1;

    *value = 0;
    for (; ('0' <= **text && '9' >= **text) || ('.' == **text && -1 == behind && *text != start); ++*text) {
        if ('.' == **text) {
            behind = 0;
        } else {
            if (UINT64_C(1000000000) <= *value || 3 == behind) {
                return false;
            }
            *value = 10 * *value + (uint64_t) (**text - '0');
            behind += -1 != behind;
        }
    }
    for (behind = -1 == behind ? 0 : behind; 3 > behind; ++behind) {
        *value *= 10;
    }
    return *text != start && '.' != (*text)[-1];
}

/* Units from small to large, each worth a thousand of the one before; times from picoseconds, rates from bytes. */
enum { UNITS = 5 };
static const char *const units[][UNITS] = {
    [TIME] = { "ps", "ns", "us", "ms", "s" },
    [RATE] = { "B/s", "KB/s", "MB/s", "GB/s", "TB/s" },
};

/* A number with its unit behind it, in thousandths of the smallest. */
static bool get_with_unit(enum type type, const char *text, uint64_t *value)
{
    int unit = 0;

    if (!get_thousandths(&text, value)) {
        return false;
    }
    while (UNITS > unit && 0 != strcmp(units[type][unit], text)) {
        ++unit;
    }
    for (int i = 0; i < unit && UNITS > unit; ++i) {
        if (__builtin_mul_overflow(*value, UINT64_C(1000), value)) {
            return false;
        }
    }
    return UNITS > unit;
}

static bool get_value(enum type type, const char *text, uint64_t *value)
{
    size_t number;

    switch (type) {
    case TIME:
        if (!get_with_unit(type, text, value)) {
            return false;
        }
        *value /= 1000;
        return true;
    case RATE:
        /* Thousandths of a byte a second become picoseconds a KiB. */
        if (!get_with_unit(type, text, value) || 1000 > *value) { /* less than a byte */
            return false;
        }
        *value = UINT64_C(1024000000000000000) / *value;
        return true;
    default:
        if (!mca_coll_han_text_number(&text, &number) || '\0' != *text) {
            return false;
        }
        *value = number;
        return SIZE == type || (1 <= number && MOST_CORES >= number);
    }
}

static uint64_t *value_in(mca_coll_han_machine_t *machine, const struct field *field)
{
    return (uint64_t *) (void *) ((char *) machine + field->offset);
}

static bool is(const char *word, const char *name)
{
    return NULL != name && 0 == strcmp(word, name);
}

static int unknown(const mca_coll_han_machine_reader_t *reader, const char *record, const char *word)
{
    const char *before = "; accepted: ", *last = "";

    mca_coll_han_text_wrong(reader->error, "\"%.60s\" is no %s%s", word, NULL == record ? "record" : "field of ",
                            NULL == record ? "" : record);
    for (int i = 0; i < FIELDS; ++i) {
        const char *name = NULL == record ? fields[i].record : is(record, fields[i].record) ? fields[i].name : NULL;

        if (NULL != name && 0 != strcmp(last, name)) {
            mca_coll_han_text_more(reader->error, before, name);
            before = ", ";
            last = name;
        }
    }
    if (is("cores", record)) {
        mca_coll_han_text_more(reader->error, before, "shared");
    }
    return -1;
}

/* The place of a record's field, of its first one where no name is given; FIELDS where there is none. */
static int find(const char *record, const char *name)
{
    int field = 0;

    while (FIELDS > field && !(is(record, fields[field].record) && (NULL == name || is(name, fields[field].name)))) {
        ++field;
    }
    return field;
}

bool mca_coll_han_machine_is_record(const char *text)
{
    char record[16];

    snprintf(record, sizeof(record), "%.*s", (int) strcspn(text, HAN_TEXT_BLANK), text);
    return FIELDS != find(record, NULL);
}

int mca_coll_han_machine_take(void *context, int line, char *text)
{
    mca_coll_han_machine_reader_t *reader = context;
    char *rest;
    const char *record = strtok_r(text, HAN_TEXT_BLANK, &rest), *word;

    (void) line;
    if (FIELDS == find(record, NULL)) {
        return unknown(reader, NULL, record);
    }
    reader->begun = true;
    while (NULL != (word = strtok_r(NULL, HAN_TEXT_BLANK, &rest))) {
        int field = find(record, word);

        if (is(word, "shared") && is(record, "cores")) {
            reader->machine->shared = true;
            continue;
        }
        if (FIELDS == field) {
            return unknown(reader, record, word);
        }
        do {
            const char *value = strtok_r(NULL, HAN_TEXT_BLANK, &rest);
            uint64_t number;

            if (0 != (reader->seen >> field & 1)) {
                return mca_coll_han_text_wrong(reader->error, "%s %s is there twice; accepted: each field once", record,
                                               word);
            }
            if (NULL == value || !get_value(fields[field].type, value, &number)) {
                return mca_coll_han_text_wrong(reader->error, "%s %s %.60s; accepted: %s%s", record, word,
                                               NULL != value                ? value
                                               : NULL == fields[field].name ? "has one value"
                                                                            : "has no value",
                                               is(word, "overhead") ? "two, of the sender and of the receiver, each "
                                                                    : "",
                                               accepted[fields[field].type]);
            }
            *value_in(reader->machine, &fields[field]) = number;
            reader->seen |= UINT64_C(1) << field;
            ++field;
        } while (FIELDS > field && NULL == fields[field].name);
    }
    return 0;
}

void mca_coll_han_machine_begin(mca_coll_han_machine_reader_t *reader, mca_coll_han_machine_t *machine,
                                mca_coll_han_text_error_t *error)
{
    *reader = (mca_coll_han_machine_reader_t){ .machine = machine, .error = error };
    memset(machine, 0, sizeof(*machine));
    for (int i = 0; i < FIELDS; ++i) {
        *value_in(machine, &fields[i]) = fields[i].missing;
    }
}

int mca_coll_han_machine_end(mca_coll_han_machine_reader_t *reader, uint64_t hash)
{
    for (int i = 0; i < FIELDS; ++i) {
        if (fields[i].needed && 0 == (reader->seen >> i & 1)) {
            return mca_coll_han_text_wrong(reader->error, "%s has no %s; accepted: %s", fields[i].record,
                                           fields[i].name, accepted[fields[i].type]);
        }
    }
    reader->machine->hash = hash;
    return 0;
}

int mca_coll_han_machine_parse(mca_coll_han_machine_t *machine, const char *text, size_t length,
                               mca_coll_han_text_error_t *error)
{
    mca_coll_han_machine_reader_t reader;

    memset(error, 0, sizeof(*error));
    mca_coll_han_machine_begin(&reader, machine, error);
    if (0
            != mca_coll_han_text_lines("han-machine", HAN_MACHINE_VERSION, text, length, error,
                                       mca_coll_han_machine_take, &reader)
        || 0 != mca_coll_han_machine_end(&reader, mca_coll_han_text_hash(text, length))) {
        return -1;
    }
    error->line = 0;
    return 0;
}

int mca_coll_han_machine_read(mca_coll_han_machine_t *machine, const char *path, mca_coll_han_text_error_t *error)
{
    size_t length;
    char *text = mca_coll_han_text_read(path, HAN_MACHINE_MOST_BYTES, &length, error);
    int rc = -1;

    memset(machine, 0, sizeof(*machine));
    if (NULL != text) {
        rc = mca_coll_han_machine_parse(machine, text, length, error);
        free(text);
    }
    return rc;
}

/* ---- write ---- */

/* So many thousandths of the unit, as a decimal number without idle zeros. */
static void print_thousandths(char text[64], uint64_t value, const char *unit)
{
    char digits[16];

    snprintf(digits, sizeof(digits), ".%03" PRIu64, value % 1000);
    for (size_t last = 3; 0 < last && ('0' == digits[last]); --last) {
        digits[last] = '\0';
    }
    snprintf(text, 64, "%" PRIu64 "%s%s", value / 1000, '\0' == digits[1] ? "" : digits, unit);
}

/* A number of the smallest unit, in the largest one of which there is at least one. */
static void print_with_unit(char text[64], enum type type, uint64_t value)
{
    uint64_t worth = 1;
    int unit = 0;

    while (unit + 1 < UNITS && value / 1000 >= worth) {
        worth *= 1000;
        ++unit;
    }
    print_thousandths(text, 0 == unit ? 1000 * value : value / (worth / 1000), units[type][unit]);
}

static void print_value(char text[64], enum type type, uint64_t value)
{
    switch (type) {
    case TIME:
        print_with_unit(text, type, value);
        break;
    case RATE:
        print_with_unit(text, type, UINT64_C(1024000000000000) / (0 == value ? 1 : value));
        break;
    default:
        snprintf(text, 64, "%" PRIu64, value);
    }
}

char *mca_coll_han_machine_format(const mca_coll_han_machine_t *machine, char *text, size_t length)
{
    mca_coll_han_machine_t copy = *machine; /* fields are found for reading and for writing alike */
    size_t used = (size_t) snprintf(text, length, "han-machine %d", HAN_MACHINE_VERSION);
    const char *record = "";

    for (int i = 0; i < FIELDS; ++i) {
        const uint64_t value = *value_in(&copy, &fields[i]);
        const char *const name = fields[i].name;
        char number[64];

        if (!is(record, fields[i].record)) {
            record = fields[i].record;
            used += (size_t) snprintf(text + used, length - used, "\n%s", record);
        }
        if (fields[i].needed || fields[i].missing != value) {
            print_value(number, fields[i].type, value);
            used += (size_t) snprintf(text + used, length - used, "%s%s %s", NULL == name ? "" : " ",
                                      NULL == name ? "" : name, number);
        }
    }
    snprintf(text + used, length - used, "%s\n", machine->shared ? " shared" : "");
    return text;
}
