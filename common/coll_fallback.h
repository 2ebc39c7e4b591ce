/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What did a collective on a communicator before a component came: kept when the component's module is enabled.
 *
 * A header and not a library for the reason given in coll_variables.h.
 */
#ifndef COLL_FALLBACK_H
#define COLL_FALLBACK_H

#include "ompi_config.h"

#include <stddef.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"

/** Where Open MPI keeps the function of a collective and its module in a communicator. */
typedef struct coll_fallback_slot_t {
    size_t function;
    size_t module;
} coll_fallback_slot_t;

#define COLL_FALLBACK_SLOT(name)                                                                                       \
    {                                                                                                                  \
        offsetof(mca_coll_base_comm_coll_t, coll_##name), offsetof(mca_coll_base_comm_coll_t, coll_##name##_module)    \
    }

/** The module that does a collective on a communicator now; NULL: none. */
static inline mca_coll_base_module_t *coll_fallback_module(const coll_fallback_slot_t *slot,
                                                           const ompi_communicator_t *comm)
{
    mca_coll_base_module_t *module;

    memcpy(&module, (const char *) comm->c_coll + slot->module, sizeof(module));
    return module;
}

/**
 * Keeps a function and its module, which is retained.
 *
 * @param function a pointer to a pointer to a function of the collective's type
 * @returns false where nothing did the collective; then both are NULL
 */
static inline bool coll_fallback_save(const coll_fallback_slot_t *slot, const ompi_communicator_t *comm, void *function,
                                      mca_coll_base_module_t **module)
{
    void (*found)(void);

    memcpy(&found, (const char *) comm->c_coll + slot->function, sizeof(found));
    *module = coll_fallback_module(slot, comm);
    if (NULL == found || NULL == *module) {
        found = NULL;
        *module = NULL;
    } else {
        OBJ_RETAIN(*module);
    }
    memcpy(function, &found, sizeof(found));
    return NULL != found;
}

#endif
