/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the runtime knows of a process; what the components share. */
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
 * Looks up a text, without asking anybody. In place of OPAL_MODEX_RECV_VALUE_OPTIONAL, which crashes without memory.
 *
 * @param value to be freed; NULL where it is not known
 * @returns OMPI_SUCCESS, also where it is not known, or OMPI_ERR_OUT_OF_RESOURCE
 */
static inline int coll_modex_text(const opal_process_name_t *name, const char *key, char **value)
{
    opal_value_t optional, *found = NULL;
    opal_list_t wishes;
    int rc = OMPI_SUCCESS;

    *value = NULL;
    OBJ_CONSTRUCT(&wishes, opal_list_t);
    OBJ_CONSTRUCT(&optional, opal_value_t);
    optional.key = strdup(OPAL_PMIX_OPTIONAL);
    optional.type = OPAL_BOOL;
    optional.data.flag = true;
    if (NULL == optional.key) {
        rc = OMPI_ERR_OUT_OF_RESOURCE;
        goto out;
    }
    opal_list_append(&wishes, &optional.super);
    if (OPAL_SUCCESS == opal_pmix.get(name, key, &wishes, &found) && NULL != found) {
        if (OPAL_STRING == found->type && NULL != found->data.string) {
            *value = strdup(found->data.string);
            rc = NULL == *value ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
        }
        OBJ_RELEASE(found);
    }
    opal_list_remove_item(&wishes, &optional.super);
out:
    OBJ_DESTRUCT(&optional); /* frees the key */
    OBJ_DESTRUCT(&wishes);
    return rc;
}

#endif
