/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a process tells others of a component when it opens, through the exchange that the runtime makes in MPI_Init
 * anyway (modex): its version, and the parameters that do not have their defaults.
 *
 * A header and not a library for the reason given in coll_variables.h.
 */
#ifndef COLL_TOLD_H
#define COLL_TOLD_H

#include "ompi_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/mca_base_var_group.h"

#include "common/coll_end.h"
#include "common/coll_modex.h"
#include "common/coll_variables.h"

enum { COLL_TOLD_KEY = 80 };

/** Processes, and what each has told of a component. */
typedef struct coll_told_t {
    const mca_base_component_t *component;
    opal_process_name_t *names;
    char **texts; /**< lines NAME=VALUE: the version, and parameters without their defaults; NULL: it is not there */
    int count;
} coll_told_t;

__attribute__((noreturn)) static inline void coll_told_no_memory(const mca_base_component_t *component)
{
    coll_end(component->mca_component_name, "what other processes have of it");
}

/* -- what this process has -- */

/* The parameters of a component, by their numbers. */
static inline const int *coll_told_parameters(const mca_base_component_t *component, size_t *count)
{
    const mca_base_var_group_t *group;
    const int number
        = mca_base_var_group_find(component->mca_project_name, component->mca_type_name, component->mca_component_name);

    *count = 0;
    if (0 > number || OPAL_SUCCESS != mca_base_var_group_get(number, &group)) {
        return NULL;
    }
    *count = opal_value_array_get_size((opal_value_array_t *) &group->group_vars);
    return OPAL_VALUE_ARRAY_GET_BASE(&group->group_vars, int);
}

/* NULL where decisions do not depend on it. Those that Open MPI itself has made, such as the version, are no texts and
 * have no enumerator. */
static inline const mca_base_var_t *coll_told_parameter(int number)
{
    const mca_base_var_t *parameter;

    if (OPAL_SUCCESS != mca_base_var_get(number, &parameter) || 0 == strcmp("verbose", parameter->mbv_variable_name)) {
        return NULL;
    }
    return MCA_BASE_VAR_TYPE_STRING == parameter->mbv_type || NULL != parameter->mbv_enumerator ? parameter : NULL;
}

/*
 * The default, or what is there, as the user writes it; to be freed. Texts name files, which may be called differently
 * on each node: what counts is whether they are given, or COLL_VARIABLE_NONE stands for them.
 */
static inline char *coll_told_value(const mca_base_var_t *parameter, bool fallback)
{
    mca_base_var_enum_t *kind = parameter->mbv_enumerator;
    const char *given
        = MCA_BASE_VAR_TYPE_STRING == parameter->mbv_type && !fallback ? parameter->mbv_storage->stringval : NULL;
    char *text = NULL;

    if (MCA_BASE_VAR_TYPE_STRING == parameter->mbv_type) {
        if (NULL == given || '\0' == *given || 0 == strcmp(COLL_VARIABLE_AUTO, given)) {
            return strdup("not given");
        }
        return strdup(0 == strcmp(COLL_VARIABLE_NONE, given) ? COLL_VARIABLE_NONE : "given");
    }
    (void) kind->string_from_value(
        kind, fallback ? ((coll_variable_enum_t *) kind)->fallback : *coll_variable_int(parameter), &text);
    return text;
}

static inline void coll_told_reset(const mca_base_var_t *parameter)
{
    if (MCA_BASE_VAR_TYPE_STRING == parameter->mbv_type) {
        free(parameter->mbv_storage->stringval);
        parameter->mbv_storage->stringval = NULL;
    } else {
        *coll_variable_int(parameter) = ((coll_variable_enum_t *) parameter->mbv_enumerator)->fallback;
    }
}

static inline void coll_told_write(FILE *stream, const mca_base_var_t *parameter)
{
    char *value = coll_told_value(parameter, false), *fallback = coll_told_value(parameter, true);

    if (NULL == value || NULL == fallback || 0 != strcmp(value, fallback)) {
        fprintf(stream, "%s=%s\n", parameter->mbv_full_name, NULL == value ? "?" : value);
    }
    free(value);
    free(fallback);
}

/* To be freed. */
static inline char *coll_told_own(const mca_base_component_t *component)
{
    char *text = NULL;
    size_t length, count;
    const int *numbers = coll_told_parameters(component, &count);
    FILE *stream = open_memstream(&text, &length);

    if (NULL == stream) {
        coll_told_no_memory(component);
    }
    fprintf(stream, "version=%d.%d.%d\n", component->mca_component_major_version,
            component->mca_component_minor_version, component->mca_component_release_version);
    for (size_t i = 0; i < count; ++i) {
        const mca_base_var_t *parameter = coll_told_parameter(numbers[i]);

        if (NULL != parameter) {
            coll_told_write(stream, parameter);
        }
    }
    if (0 != fclose(stream)) {
        coll_told_no_memory(component);
    }
    return text;
}

static inline const char *coll_told_key(const char *component, char key[COLL_TOLD_KEY])
{
    snprintf(key, COLL_TOLD_KEY, "coll_%s", component);
    return key;
}

/* Whether this is a process of a job; not so in ompi_info. */
static inline bool coll_told_has_others(void)
{
    return NULL != opal_pmix.initialized && opal_pmix.initialized();
}

/** Tells what this process has. To be called when the component opens. */
static inline void coll_told_tell(const mca_base_component_t *component)
{
    char *text, key[COLL_TOLD_KEY];

    if (!coll_told_has_others()) {
        return;
    }
    text = coll_told_own(component);
    if (OPAL_SUCCESS != coll_modex_tell(coll_told_key(component->mca_component_name, key), text)) {
        coll_told_no_memory(component);
    }
    free(text);
}

/* -- what others have -- */

/* Room for so many processes, of whom none is there yet. */
static inline coll_told_t coll_told_room(const mca_base_component_t *component, size_t most)
{
    coll_told_t all = { .component = component,
                        .names = calloc(most, sizeof(*all.names)),
                        .texts = calloc(most, sizeof(*all.texts)) };

    if (NULL == all.names || NULL == all.texts) {
        coll_told_no_memory(component);
    }
    return all;
}

static inline void coll_told_free(coll_told_t *all)
{
    for (int i = 0; i < all->count; ++i) {
        free(all->texts[i]);
    }
    free(all->names);
    free(all->texts);
}

/*
 * What a process has told of a component, this one or another; to be freed. Where this process does not know it the
 * runtime is asked, or the other process where MPI_Init exchanges nothing, or goes on before that is done
 * (pmix_base_collect_data, pmix_base_async_modex).
 */
static inline char *coll_told_get(const mca_base_component_t *component, const char *name_of_component,
                                  const opal_process_name_t *process)
{
    const char *how = opal_pmix_collect_all_data && !opal_pmix_base_async_modex ? OPAL_PMIX_IMMEDIATE : NULL;
    char *text, key[COLL_TOLD_KEY];

    coll_told_key(name_of_component, key);
    if (OMPI_SUCCESS != coll_modex_text(process, key, OPAL_PMIX_OPTIONAL, &text)
        || (NULL == text && OMPI_SUCCESS != coll_modex_text(process, key, how, &text))) {
        coll_told_no_memory(component);
    }
    return text;
}

static inline void coll_told_look(coll_told_t *all)
{
    for (int i = 0; i < all->count; ++i) {
        all->texts[i] = coll_told_get(all->component, all->component->mca_component_name, &all->names[i]);
    }
}

/* What a process has for a name. */
static inline const char *coll_told_find(const char *text, const char *name, const char *absent, int *length)
{
    const size_t start = strlen(name);

    for (const char *line = text; NULL != line && '\0' != *line; line = strchr(line, '\n') + 1) {
        if (0 == strncmp(line, name, start) && '=' == line[start]) {
            *length = (int) strcspn(line + start + 1, "\n");
            return line + start + 1;
        }
    }
    *length = (int) strlen(absent);
    return absent;
}

#endif
