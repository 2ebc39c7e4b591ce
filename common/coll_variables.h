/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * MCA variables that check their values, for each of the components.
 *
 * Open MPI's own enumerators refuse a bad value with a message from every process, and a number out of range or with
 * rubbish behind it is taken as it comes. Here a bad value gets one message, from rank 0, that lists what is accepted,
 * and the default stays. What is written through MPI_T is checked too, and refused there.
 *
 * A header and not a library, because components share no code at run time, and one static build must hold them all.
 */
#ifndef COLL_VARIABLES_H
#define COLL_VARIABLES_H

#include "ompi_config.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/base/mca_base_var_enum.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"

#include "common/coll_end.h"

/** For a parameter that names a file: without one, what it is about is found out; it is done without. */
#define COLL_VARIABLE_AUTO "auto"
#define COLL_VARIABLE_NONE "none"

/* An enumerator that knows its variable's name, default and range. */
typedef struct coll_variable_enum_t {
    mca_base_var_enum_t super;
    char *variable;
    int fallback;
    int minimum;
    int maximum;
} coll_variable_enum_t;

static void coll_variable_enum_destruct(coll_variable_enum_t *self)
{
    free(self->variable);
}

static OBJ_CLASS_INSTANCE(coll_variable_enum_t, mca_base_var_enum_t, NULL, coll_variable_enum_destruct);

/* From where on a number may well be one of bytes. */
enum { COLL_VARIABLE_LARGE = 1 << 20 };

/** Where a parameter of type int has its value. That is not as aligned as the union of all types, which is not to be
 * read. */
static inline int *coll_variable_int(const mca_base_var_t *variable)
{
    return (int *) (void *) variable->mbv_storage;
}

/* An int of a component of framework coll, this one or another; NULL where there is none. */
static inline const int *coll_variable_of(const char *component, const char *name)
{
    const mca_base_var_t *variable;

    return OPAL_SUCCESS == mca_base_var_get(mca_base_var_find("ompi", "coll", component, name), &variable)
                   && MCA_BASE_VAR_TYPE_INT == variable->mbv_type
               ? coll_variable_int(variable)
               : NULL;
}

/* "libnbc (0), adapt (1)", or "a number from 0 to 100". */
static inline int coll_variable_dump(mca_base_var_enum_t *base, char **out)
{
    const coll_variable_enum_t *self = (const coll_variable_enum_t *) base;
    size_t length = 64, used = 0;

    for (int i = 0; i < base->enum_value_count; ++i) {
        length += strlen(base->enum_values[i].string) + 32;
    }
    *out = calloc(1, length);
    if (NULL == *out) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (0 == base->enum_value_count) {
        snprintf(*out, length, "a number from %d to %d%s", self->minimum, self->maximum,
                 0 <= self->minimum && COLL_VARIABLE_LARGE <= self->maximum ? "; K, M, G may follow" : "");
    }
    for (int i = 0; i < base->enum_value_count; ++i) {
        used += (size_t) snprintf(*out + used, length - used, "%s%s (%d)", 0 == i ? "" : ", ",
                                  base->enum_values[i].string, base->enum_values[i].value);
    }
    return OPAL_SUCCESS;
}

/* A number with an optional K, M or G; false where anything else is there or the number does not fit. */
static inline bool coll_variable_parse(const char *text, long long *value)
{
    static const struct {
        char letter;
        int shift;
    } units[] = { { 'k', 10 }, { 'm', 20 }, { 'g', 30 } };
    char *end;

    *value = strtoll(text, &end, 0);
    if (end == text || *value > INT_MAX || *value < INT_MIN) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); ++i) {
        if (units[i].letter == (*end | 0x20)) {
            *value *= 1LL << units[i].shift;
            ++end;
            break;
        }
    }
    return '\0' == *end && *value <= INT_MAX && *value >= INT_MIN;
}

/* What a string means; false where it means nothing. */
static inline bool coll_variable_lookup(const coll_variable_enum_t *self, const char *text, int *value)
{
    const mca_base_var_enum_t *base = &self->super;
    long long number;
    const bool is_number = coll_variable_parse(text, &number);

    for (int i = 0; i < base->enum_value_count; ++i) {
        if ((is_number && number == base->enum_values[i].value) || 0 == strcasecmp(text, base->enum_values[i].string)) {
            *value = base->enum_values[i].value;
            return true;
        }
    }
    if (0 == base->enum_value_count && is_number && number >= self->minimum && number <= self->maximum) {
        *value = (int) number;
        return true;
    }
    return false;
}

static inline int coll_variable_to_string(mca_base_var_enum_t *base, const int value, char **text)
{
    const coll_variable_enum_t *self = (const coll_variable_enum_t *) base;
    char digits[16];
    int known;

    snprintf(digits, sizeof(digits), "%d", value);
    if (!coll_variable_lookup(self, digits, &known)) {
        return OPAL_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (NULL == text) {
        return OPAL_SUCCESS;
    }
    *text = strdup(digits);
    for (int i = 0; i < base->enum_value_count; ++i) {
        if (value == base->enum_values[i].value) {
            free(*text);
            *text = strdup(base->enum_values[i].string);
        }
    }
    return NULL == *text ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_SUCCESS;
}

/** Drops blanks at the end: of a line that ends as in Windows, Open MPI's parameter files leave the carriage return. */
static inline void coll_variable_trim(char *text)
{
    size_t length = strlen(text);

    while (0 < length && isspace((unsigned char) text[length - 1])) {
        text[--length] = '\0';
    }
}

/*
 * Whether this is the first process of the job. Where MPI_T is initialized before MPI a process does not know its rank
 * yet, but mpirun has told it; to ompi_info nobody has.
 */
static inline bool coll_variable_first(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    return 0 == OPAL_PROC_MY_NAME.vpid
           || (OPAL_VPID_INVALID == OPAL_PROC_MY_NAME.vpid && NULL != rank && 0 == strcmp("0", rank));
}

static inline int coll_variable_from_string(mca_base_var_enum_t *base, const char *given, int *value)
{
    const coll_variable_enum_t *self = (const coll_variable_enum_t *) base;
    char *accepted = NULL, *used = NULL, *text = strdup(given);

    if (NULL == text) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    coll_variable_trim(text);
    if (coll_variable_lookup(self, text, value)) {
        free(text);
        return OPAL_SUCCESS;
    }
    *value = self->fallback;
    if (coll_variable_first() && OPAL_SUCCESS == coll_variable_dump(base, &accepted)
        && OPAL_SUCCESS == coll_variable_to_string(base, self->fallback, &used)) {
        opal_output(0, "%s: \"%s\" is not accepted; accepted: %s; the default, %s, is used", self->variable, text,
                    accepted, used);
    }
    free(accepted);
    free(used);
    free(text);
    return OPAL_SUCCESS;
}

/*
 * Registers an int; values: NULL-terminated names, or NULL for any number from minimum to maximum; settable: through
 * MPI_T, at any time.
 */
static inline int coll_variable_register(const mca_base_component_t *component, const char *name, const char *help,
                                         const mca_base_var_enum_value_t *values, int minimum, int maximum,
                                         bool settable, int *storage)
{
    coll_variable_enum_t *self = OBJ_NEW(coll_variable_enum_t);
    int count = 0, rc;

    while (NULL != values && NULL != values[count].string) {
        ++count;
    }
    if (NULL == self) {
        coll_end(component->mca_component_name, "parameter %s", name);
    }
    self->super.enum_name = strdup(name);
    self->super.enum_values = calloc((size_t) count + 1, sizeof(self->super.enum_values[0]));
    self->variable
        = malloc(strlen(component->mca_type_name) + strlen(component->mca_component_name) + strlen(name) + 3);
    if (NULL == self->super.enum_name || NULL == self->super.enum_values || NULL == self->variable) {
        coll_end(component->mca_component_name, "parameter %s", name);
    }
    sprintf(self->variable, "%s_%s_%s", component->mca_type_name, component->mca_component_name, name);
    for (; self->super.enum_value_count < count; ++self->super.enum_value_count) {
        self->super.enum_values[self->super.enum_value_count] = values[self->super.enum_value_count];
        self->super.enum_values[self->super.enum_value_count].string
            = strdup(values[self->super.enum_value_count].string);
        if (NULL == self->super.enum_values[self->super.enum_value_count].string) {
            coll_end(component->mca_component_name, "parameter %s", name);
        }
    }
    self->fallback = *storage;
    self->minimum = minimum;
    self->maximum = maximum;
    self->super.value_from_string = coll_variable_from_string;
    self->super.string_from_value = coll_variable_to_string;
    self->super.dump = coll_variable_dump;
    rc = mca_base_component_var_register(component, name, help, MCA_BASE_VAR_TYPE_INT, &self->super, 0,
                                         settable ? MCA_BASE_VAR_FLAG_SETTABLE : 0, OPAL_INFO_LVL_5,
                                         settable ? MCA_BASE_VAR_SCOPE_ALL_EQ : MCA_BASE_VAR_SCOPE_READONLY, storage);
    rc = rc < 0 ? rc : OPAL_SUCCESS;
    OBJ_RELEASE(self); /* the variable holds its own reference */
    return rc;
}

/** Registers a variable that takes a name, or the name's number. */
static inline int coll_variable_choice(const mca_base_component_t *component, const char *name, const char *help,
                                       const mca_base_var_enum_value_t *values, int *storage)
{
    return coll_variable_register(component, name, help, values, 0, 0, true, storage);
}

/** Registers one that is looked at only once, when the component opens. */
static inline int coll_variable_fixed_choice(const mca_base_component_t *component, const char *name, const char *help,
                                             const mca_base_var_enum_value_t *values, int *storage)
{
    return coll_variable_register(component, name, help, values, 0, 0, false, storage);
}

/** Registers a variable that takes a number from minimum to maximum; K, M or G may follow it. */
static inline int coll_variable_number(const mca_base_component_t *component, const char *name, const char *help,
                                       int minimum, int maximum, int *storage)
{
    return coll_variable_register(component, name, help, NULL, minimum, maximum, true, storage);
}

#endif
