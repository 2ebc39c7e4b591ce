/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What Open MPI sends at once and what it asks for; what the components share. */
#ifndef COLL_EAGER_H
#define COLL_EAGER_H

#include "ompi_config.h"

#include "opal/mca/base/mca_base_var.h"

/**
 * The longest message that a component of framework btl sends without asking.
 *
 * @param transport the component: "tcp", "vader"
 * @returns bytes of the message, without the headers that Open MPI counts too; 0 where the component is not in use
 */
static inline size_t coll_eager_limit(const char *transport)
{
    enum { HEADERS = 96 };
    const mca_base_var_t *limit;

    if (OPAL_SUCCESS != mca_base_var_get(mca_base_var_find("opal", "btl", transport, "eager_limit"), &limit)
        || MCA_BASE_VAR_TYPE_SIZE_T != limit->mbv_type || HEADERS >= limit->mbv_storage->sizetval) {
        return 0;
    }
    return limit->mbv_storage->sizetval - HEADERS;
}

#endif
