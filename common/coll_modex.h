/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the runtime knows of a process, and what processes tell each other through it; for all components. */
#ifndef COLL_MODEX_H
#define COLL_MODEX_H

#include "ompi_config.h"

#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"
#include "opal/class/opal_list.h"
#include "opal/dss/dss.h"
#include "opal/mca/pmix/pmix.h"

/**
 * Looks up a value. In place of OPAL_MODEX_RECV_VALUE_OPTIONAL and others, which crash without memory.
 *
 * @param how OPAL_PMIX_OPTIONAL: what this process has; OPAL_PMIX_IMMEDIATE: what the runtime on this node has; NULL:
 *            the process is asked, and waited for until it has told or a few seconds are over
 * @param found to be released; NULL where it is not known
 * @returns OMPI_SUCCESS, also where it is not known, or OMPI_ERR_OUT_OF_RESOURCE
 */
static inline int coll_modex_get(const opal_process_name_t *name, const char *key, const char *how,
                                 opal_value_t **found)
{
    opal_value_t wish;
    opal_list_t wishes;
    int rc = OMPI_SUCCESS;

    *found = NULL;
    if (NULL == how) {
        if (OPAL_SUCCESS != opal_pmix.get(name, key, NULL, found)) {
            *found = NULL;
        }
        return OMPI_SUCCESS;
    }
    OBJ_CONSTRUCT(&wishes, opal_list_t);
    OBJ_CONSTRUCT(&wish, opal_value_t);
    wish.key = strdup(how);
    wish.type = OPAL_BOOL;
    wish.data.flag = true;
    if (NULL == wish.key) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
        goto out;
    }
    opal_list_append(&wishes, &wish.super);
    if (OPAL_SUCCESS != opal_pmix.get(name, key, &wishes, found)) {
        *found = NULL;
    }
    opal_list_remove_item(&wishes, &wish.super);
out:
    OBJ_DESTRUCT(&wish); /* frees the key */
    OBJ_DESTRUCT(&wishes);
    return rc;
}

/**
 * Looks up a text; the parameters and the result are those of coll_modex_get().
 *
 * @param value to be freed
 */
static inline int coll_modex_text(const opal_process_name_t *name, const char *key, const char *how, char **value)
{
    opal_value_t *found;
    int rc = coll_modex_get(name, key, how, &found);

    *value = NULL;
    if (NULL != found) {
        if (OPAL_STRING == found->type && NULL != found->data.string) {
            *value = strdup(found->data.string);
            rc = NULL == *value ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
        }
        OBJ_RELEASE(found);
    }
    return rc;
}

/**
 * Tells a text to all processes that look for it: those of this job, where it is told before MPI_Init exchanges such
 * texts (when components are opened), and those of other jobs.
 */
static inline int coll_modex_tell(const char *key, const char *text)
{
    opal_value_t value;
    int rc = OMPI_ERR_OUT_OF_RESOURCE;

    OBJ_CONSTRUCT(&value, opal_value_t);
    value.key = strdup(key);
    value.type = OPAL_STRING;
    value.data.string = strdup(text);
    if (NULL != value.key && NULL != value.data.string) {
        rc = opal_pmix.put(OPAL_PMIX_GLOBAL, &value);
    }
    OBJ_DESTRUCT(&value); /* frees both */
    return rc;
}

#endif
