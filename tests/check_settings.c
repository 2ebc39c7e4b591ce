/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"
#include "parameters.h"

#include <stdio.h>
#include <string.h>

enum { MOST_VARIABLES = 6, MOST_VALUES = 24, MOST_SETTINGS = 1024, NAME = 128 };

/* Variables that take numbers, and those that are wanted. */
static const struct {
    const char *component, *name;
    int count;
    int values[2];
} numbers[] = { { "han", "lanes", 2, { 0, 3 } }, { "han", "groups", 2, { 0, 3 } }, { "adapt", "groups", 2, { 1, 3 } } };

/* A variable that takes names, or one of the numbers. */
struct variable {
    char name[NAME]; /* what is behind coll_<component>_<collective>_ */
    MPI_T_cvar_handle handle;
    int count;
    int values[MOST_VALUES];
    char names[MOST_VALUES][NAME];
};

static struct found {
    size_t count;
    struct variable variables[MOST_VARIABLES];
    size_t distinct; /* combinations of values that differ in what is done, */
    size_t numbers[MOST_SETTINGS];
} found[COLLECTIVES];

static bool is_solo; /* the component leaves elements with padding to others, whatever the algorithm */

void settings_init(void)
{
    int provided;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
}

/* The collective whose variable it is, the longest name first: "reduce" is a part of "reduce_scatter". */
static int collective_of(const char *name, const char *component, const char **rest)
{
    int best = -1;
    size_t best_length = 0;
    char prefix[NAME];

    for (int i = 0; i < COLLECTIVES; ++i) {
        const size_t length = (size_t) snprintf(prefix, sizeof(prefix), "coll_%s_%s_", component, collectives[i].name);

        if (0 == strncmp(name, prefix, length) && length > best_length) {
            best = i;
            best_length = length;
        }
    }
    *rest = name + best_length;
    return best;
}

static void add_values(struct variable *variable, MPI_T_enum names)
{
    const int count = parameter_values(names);

    for (int i = 0; i < count && MOST_VALUES > variable->count; ++i) {
        if (parameter_value(names, i, &variable->values[variable->count], variable->names[variable->count], NAME)) {
            ++variable->count;
        }
    }
}

static void add_numbers(struct variable *variable, const char *component)
{
    for (size_t n = 0; n < CHECK_COUNT(numbers); ++n) {
        if (0 == strcmp(numbers[n].component, component) && 0 == strcmp(numbers[n].name, variable->name)) {
            variable->count = numbers[n].count;
            for (int i = 0; i < variable->count; ++i) {
                variable->values[i] = numbers[n].values[i];
                snprintf(variable->names[i], NAME, "%d", variable->values[i]);
            }
        }
    }
}

/* Takes a variable where it is one of ours; a handle stays open for each. */
static void add_variable(const char *name, const char *component, bool with_numbers)
{
    const char *rest;
    const int collective = collective_of(name, component, &rest);
    struct variable variable = { .count = 0 };
    MPI_T_enum names;

    if (0 > collective || MOST_VARIABLES == found[collective].count
        || !parameter_open(name, &names, &variable.handle)) {
        return;
    }
    snprintf(variable.name, sizeof(variable.name), "%s", rest);
    add_values(&variable, names);
    if (with_numbers) {
        add_numbers(&variable, component);
    }
    if (0 == variable.count) {
        MPI_T_cvar_handle_free(&variable.handle);
        return;
    }
    found[collective].variables[found[collective].count++] = variable;
}

static size_t combinations(const struct found *one)
{
    size_t count = 1;

    for (size_t i = 0; i < one->count; ++i) {
        count *= (size_t) one->variables[i].count;
    }
    return count;
}

/* Which value a variable has in a combination; the number becomes what is left for the next variable. */
static int value_in(const struct variable *variable, size_t *number)
{
    const int value = (int) (*number % (size_t) variable->count);

    *number /= (size_t) variable->count;
    return value;
}

static bool is_one_of(const char *value, const char *const *names)
{
    while (NULL != *names && 0 != strcmp(value, *names)) {
        ++names;
    }
    return NULL != *names;
}

static const char *const others[] = { "auto", "fallback", NULL };
static const char *const in_part[] = { "simple", "pipeline", "up_allreduce", NULL };

static bool has_value(const struct variable *variable, const char *name)
{
    for (int i = 0; i < variable->count; ++i) {
        if (0 == strcmp(name, variable->names[i])) {
            return true;
        }
    }
    return false;
}

/*
 * Whether it does what another combination does: only what goes level by level has submodules, and where groups are an
 * algorithm only that one has a number of them.
 */
static bool is_twin(const struct found *one, size_t number)
{
    bool levels = true, modules = false, in_groups = true, groups = false;

    for (size_t i = 0; i < one->count; ++i) {
        const struct variable *variable = &one->variables[i];
        const char *value = variable->names[value_in(variable, &number)];

        if (0 == strcmp("algorithm", variable->name)) {
            levels = 0 == strcmp("auto", value) || is_one_of(value, in_part);
            in_groups = 0 == strcmp("auto", value) || 0 == strcmp("groups", value) || !has_value(variable, "groups");
        } else if (0 == strcmp("groups", variable->name)) {
            groups = value != variable->names[0];
        } else if (NULL != strstr(variable->name, "_module")) {
            modules = modules || 0 != strcmp("auto", value);
        }
    }
    return (modules && !levels) || (groups && !in_groups);
}

static void keep_distinct(struct found *one)
{
    const size_t all = combinations(one);

    for (size_t number = 0; number < all && MOST_SETTINGS > one->distinct; ++number) {
        if (!is_twin(one, number)) {
            one->numbers[one->distinct++] = number;
        }
    }
}

void settings_open(const char *component, bool with_numbers)
{
    int count = 0;

    is_solo = 0 == strcmp("solo", component);
    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count; ++i) {
        char name[NAME * 2] = "";
        int length = sizeof(name), verbosity, binding, scope;

        if (MPI_SUCCESS
            == MPI_T_cvar_get_info(i, name, &length, &verbosity, NULL, NULL, NULL, NULL, &binding, &scope)) {
            add_variable(name, component, with_numbers);
        }
    }
    for (size_t which = 0; which < COLLECTIVES; ++which) {
        keep_distinct(&found[which]);
    }
}

/* The name of a parameter is not the same in all components. */
static void write_segment(const char *component, const struct collective *collective, const char *parameter, int bytes)
{
    char name[NAME];
    MPI_T_enum names;
    MPI_T_cvar_handle handle;

    snprintf(name, sizeof(name), "coll_%s_%s_%s", component, collective->name, parameter);
    if (parameter_open(name, &names, &handle)) {
        MPI_T_cvar_write(handle, &bytes);
        MPI_T_cvar_handle_free(&handle);
    }
}

void settings_segment(const char *component, int bytes)
{
    for (size_t i = 0; i < COLLECTIVES; ++i) {
        write_segment(component, &collectives[i], "segsize", bytes);
        write_segment(component, &collectives[i], "segment_size", bytes);
    }
}

size_t settings_count(const struct collective *collective)
{
    const struct found *one = &found[collective - collectives];

    return 0 == one->distinct ? 1 : one->distinct;
}

/* The combination of a setting. */
static size_t number_of(const struct found *one, size_t setting)
{
    return 0 == one->distinct ? 0 : one->numbers[setting];
}

void settings_write(const struct collective *collective, size_t setting)
{
    const struct found *one = &found[collective - collectives];
    size_t number = number_of(one, setting);

    for (size_t i = 0; i < one->count; ++i) {
        const struct variable *variable = &one->variables[i];

        MPI_T_cvar_write(variable->handle, &variable->values[value_in(variable, &number)]);
    }
}

const char *settings_text(const struct collective *collective, size_t setting, char *text, size_t size)
{
    const struct found *one = &found[collective - collectives];
    size_t used = 0, number = number_of(one, setting);

    text[0] = '\0';
    for (size_t i = 0; i < one->count && used < size; ++i) {
        const struct variable *variable = &one->variables[i];

        used += (size_t) snprintf(text + used, size - used, "%s%s=%s", 0 == i ? "" : " ", variable->name,
                                  variable->names[value_in(variable, &number)]);
    }
    return text;
}

/* HAN sends by ADAPT, which takes no part where pml ucx may lose what it waits for. */
static bool adapt_is_there(void)
{
    int provided;

    MPI_Query_thread(&provided);
    return MPI_THREAD_MULTIPLE != provided || !is_over_pml("ucx");
}

enum mover settings_mover(const struct collective *collective, size_t setting)
{
    const struct found *one = &found[collective - collectives];
    size_t number = number_of(one, setting);

    for (size_t i = 0; i < one->count; ++i) {
        const struct variable *variable = &one->variables[i];
        const char *value = variable->names[value_in(variable, &number)];

        if (0 == strcmp("algorithm", variable->name)) {
            return is_one_of(value, others) || !adapt_is_there() ? OTHERS
                   : is_solo || is_one_of(value, in_part)        ? IN_PART_OTHERS
                                                                 : COMPONENT;
        }
    }
    return OTHERS;
}

void settings_finalize(void)
{
    for (size_t which = 0; which < COLLECTIVES; ++which) {
        for (size_t i = 0; i < found[which].count; ++i) {
            MPI_T_cvar_handle_free(&found[which].variables[i].handle);
        }
        found[which].count = found[which].distinct = 0;
    }
    MPI_T_finalize();
}
