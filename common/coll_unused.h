/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Parameters that the user has set (by mpirun, in the environment, in a file) and that a component does not have: of a
 * name that is a slip of the pen Open MPI says nothing, and the user measures something else than he thinks.
 *
 * A header and not a library for the reason given in coll_variables.h.
 */
#ifndef COLL_UNUSED_H
#define COLL_UNUSED_H

#include "ompi_config.h"

#include <stdio.h>
#include <string.h>

#include "opal/mca/base/mca_base_vari.h"

#include "common/coll_told.h"

enum { COLL_UNUSED_NAME = 96, COLL_UNUSED_FEW = 3 };

extern char **environ;

/* Letters to be changed, put in or left out until one name is the other one. */
static inline int coll_unused_distance(const char *one, const char *other)
{
    int row[COLL_UNUSED_NAME + 1];
    const int length = (int) strlen(other);

    for (int i = 0; i <= length; ++i) {
        row[i] = i;
    }
    for (int line = 1; '\0' != *one; ++one, ++line) {
        int corner = row[0];

        row[0] = line;
        for (int i = 1; i <= length; ++i) {
            const int changed = corner + (*one != other[i - 1]);
            const int shorter = row[i - 1] < row[i] ? row[i - 1] : row[i];

            corner = row[i];
            row[i] = changed < shorter + 1 ? changed : shorter + 1;
        }
    }
    return row[length];
}

/* The name of the component's parameter that is nearest to a name; how far is 0 where it is that name. */
static inline const char *coll_unused_nearest(const mca_base_component_t *component, const char *name, int *far)
{
    size_t count;
    const int *numbers = coll_told_parameters(component, &count);
    const char *nearest = NULL;

    *far = COLL_UNUSED_NAME;
    for (size_t i = 0; i < count; ++i) {
        const mca_base_var_t *parameter;

        if (OPAL_SUCCESS == mca_base_var_get(numbers[i], &parameter)
            && COLL_UNUSED_NAME >= strlen(parameter->mbv_full_name)) {
            const int distance = coll_unused_distance(name, parameter->mbv_full_name);

            nearest = distance < *far ? parameter->mbv_full_name : nearest;
            *far = distance < *far ? distance : *far;
        }
    }
    return nearest;
}

/* One message of a name that begins as the component's do and is none of them; place: "FILE:LINE: ", or "". */
static inline void coll_unused_look(const mca_base_component_t *component, const char *name, const char *place)
{
    const char *type = component->mca_type_name, *own = component->mca_component_name;
    char start[MCA_BASE_MAX_TYPE_NAME_LEN + MCA_BASE_MAX_COMPONENT_NAME_LEN + 3];
    const char *nearest;
    int far;

    snprintf(start, sizeof(start), "%s_%s_", type, own);
    if (0 != strncmp(start, name, strlen(start))) {
        return;
    }
    nearest = coll_unused_nearest(component, name, &far);
    if (0 == far) {
        return;
    }
    nearest = COLL_UNUSED_FEW >= far ? nearest : NULL;
    opal_output(0,
                "coll:%s: %s%s is not used, for there is no such parameter; %s%s%saccepted: what ompi_info --param %s "
                "%s --level 9 shows",
                own, place, name, NULL == nearest ? "" : "is it ", NULL == nearest ? "" : nearest,
                NULL == nearest ? "" : "? ", type, own);
}

static inline void coll_unused_in_environment(const mca_base_component_t *component)
{
    static const char start[] = "OMPI_MCA_";

    for (char **variable = environ; NULL != *variable; ++variable) {
        char name[COLL_UNUSED_NAME];

        if (0 == strncmp(start, *variable, strlen(start))) {
            snprintf(name, sizeof(name), "%.*s", (int) (strcspn(*variable, "=") - strlen(start)),
                     *variable + strlen(start));
            coll_unused_look(component, name, "");
        }
    }
}

static inline void coll_unused_in_file(const mca_base_component_t *component, const char *path)
{
    mca_base_var_file_value_t *value;
    opal_list_t values;

    OBJ_CONSTRUCT(&values, opal_list_t);
    if (OPAL_SUCCESS == mca_base_parse_paramfile(path, &values)) {
        OPAL_LIST_FOREACH(value, &values, mca_base_var_file_value_t)
        {
            char place[OPAL_PATH_MAX + 16];

            snprintf(place, sizeof(place), "%s:%d: ", path, value->mbvfv_lineno);
            coll_unused_look(component, value->mbvfv_var, place);
        }
    }
    OPAL_LIST_DESTRUCT(&values);
}

/* The files that Open MPI itself has read, named by a parameter of its own, with commas between them. */
static inline void coll_unused_in_files(const mca_base_component_t *component, const char *parameter)
{
    const mca_base_var_t *names;

    if (OPAL_SUCCESS != mca_base_var_get(mca_base_var_find("opal", "mca", "base", parameter), &names)
        || MCA_BASE_VAR_TYPE_STRING != names->mbv_type || NULL == names->mbv_storage->stringval) {
        return;
    }
    for (const char *rest = names->mbv_storage->stringval; '\0' != *rest;) {
        const size_t length = strcspn(rest, ",");
        char path[OPAL_PATH_MAX];

        snprintf(path, sizeof(path), "%.*s", (int) length, rest);
        coll_unused_in_file(component, path);
        rest += length + (',' == rest[length]);
    }
}

/** Tells of each of them, from rank 0. To be called when the component opens. */
static inline void coll_unused_tell(const mca_base_component_t *component)
{
    if (coll_told_has_others() && 0 == OPAL_PROC_MY_NAME.vpid) {
        coll_unused_in_environment(component);
        coll_unused_in_files(component, "param_files");
        coll_unused_in_files(component, "override_param_file");
    }
}

#endif
