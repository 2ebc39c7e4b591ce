/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Parameters that the user has set (by mpirun, or in the environment) and that a component does not have: of a name
 * that is a slip of the pen Open MPI says nothing, and the user measures something else than he thinks.
 *
 * A header and not a library for the reason given in coll_variables.h.
 */
#ifndef COLL_UNUSED_H
#define COLL_UNUSED_H

#include "ompi_config.h"

#include <stdio.h>
#include <string.h>

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

/* The one message about a name. */
static inline void coll_unused_say(const mca_base_component_t *component, const char *name, const char *nearest)
{
    const char *type = component->mca_type_name, *own = component->mca_component_name;

    opal_output(0,
                "coll:%s: %s is not used, for there is no such parameter; %s%s%saccepted: what ompi_info --param %s %s "
                "--level 9 shows",
                own, name, NULL == nearest ? "" : "is it ", NULL == nearest ? "" : nearest, NULL == nearest ? "" : "? ",
                type, own);
}

/** Tells of each of them, from rank 0. To be called when the component opens. */
static inline void coll_unused_tell(const mca_base_component_t *component)
{
    static const char start[] = "OMPI_MCA_";
    char mine[COLL_UNUSED_NAME + sizeof(start)];

    if (!coll_told_has_others() || 0 != OPAL_PROC_MY_NAME.vpid) {
        return;
    }
    snprintf(mine, sizeof(mine), "%s%s_%s_", start, component->mca_type_name, component->mca_component_name);
    for (char **variable = environ; NULL != *variable; ++variable) {
        char name[COLL_UNUSED_NAME];
        const char *nearest;
        int far;

        if (0 != strncmp(mine, *variable, strlen(mine))) {
            continue;
        }
        snprintf(name, sizeof(name), "%.*s", (int) (strcspn(*variable, "=") - strlen(start)),
                 *variable + strlen(start));
        nearest = coll_unused_nearest(component, name, &far);
        if (0 < far) {
            coll_unused_say(component, name, COLL_UNUSED_FEW >= far ? nearest : NULL);
        }
    }
}

#endif
