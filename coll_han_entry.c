/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry points: what Open MPI calls. Each puts its arguments into one piece and has the call performed; where HAN
 * does not do it, the saved fallback gets it as it came.
 */
#include "coll_han.h"

#include <string.h>

#include "common/coll_fallback.h"

#define EXPAND(...) __VA_ARGS__

#define ENTRY_POINTS(number, name, parameters, arguments, send_side, recv_side, op_, root_, performer)                 \
    static int name##_blocking(EXPAND parameters ompi_communicator_t *comm, mca_coll_base_module_t *module)            \
    {                                                                                                                  \
        han_module_t *han = (han_module_t *) module;                                                                   \
        const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_##number][HAN_BLOCKING];                         \
        const mca_coll_han_args_t args = { HAN_##number, HAN_BLOCKING, send_side, recv_side, op_, root_ };             \
        const int rc = mca_coll_han_call(han, &args, NULL);                                                            \
                                                                                                                       \
        return HAN_TO_FALLBACK != rc ? rc : fallback->fn.name(EXPAND arguments comm, fallback->module);                \
    }                                                                                                                  \
                                                                                                                       \
    static int name##_nonblocking(EXPAND parameters ompi_communicator_t *comm, ompi_request_t **request,               \
                                  mca_coll_base_module_t *module)                                                      \
    {                                                                                                                  \
        han_module_t *han = (han_module_t *) module;                                                                   \
        const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_##number][HAN_NONBLOCKING];                      \
        const mca_coll_han_args_t args = { HAN_##number, HAN_NONBLOCKING, send_side, recv_side, op_, root_ };          \
        const int rc = mca_coll_han_call(han, &args, request);                                                         \
                                                                                                                       \
        return HAN_TO_FALLBACK != rc ? rc : fallback->fn.i##name(EXPAND arguments comm, request, fallback->module);    \
    }                                                                                                                  \
                                                                                                                       \
    static int name##_persistent(EXPAND parameters ompi_communicator_t *comm, struct ompi_info_t *info,                \
                                 ompi_request_t **request, mca_coll_base_module_t *module)                             \
    {                                                                                                                  \
        han_module_t *han = (han_module_t *) module;                                                                   \
        const mca_coll_han_fallback_t *fallback = &han->fallbacks[HAN_##number][HAN_PERSISTENT];                       \
        const mca_coll_han_args_t args = { HAN_##number, HAN_PERSISTENT, send_side, recv_side, op_, root_ };           \
        const int rc = mca_coll_han_call(han, &args, request);                                                         \
                                                                                                                       \
        return HAN_TO_FALLBACK != rc                                                                                   \
                   ? rc                                                                                                \
                   : fallback->fn.name##_init(EXPAND arguments comm, info, request, fallback->module);                 \
    }

HAN_COLLECTIVES(ENTRY_POINTS)

void mca_coll_han_entry_install(han_module_t *module)
{
#define INSTALL(number, name, parameters, arguments, send, recv, op, root, performer)                                  \
    module->super.coll_##name = name##_blocking;                                                                       \
    module->super.coll_i##name = name##_nonblocking;                                                                   \
    module->super.coll_##name##_init = name##_persistent;
    HAN_COLLECTIVES(INSTALL)
}

/* -- fallbacks -- */

#define SLOTS(number, name, parameters, arguments, send, recv, op, root, performer)                                    \
    [HAN_##number] = { COLL_FALLBACK_SLOT(name), COLL_FALLBACK_SLOT(i##name), COLL_FALLBACK_SLOT(name##_init) },

static const coll_fallback_slot_t slots[HAN_COLLECTIVE_COUNT][HAN_FORM_COUNT] = { HAN_COLLECTIVES(SLOTS) };

bool mca_coll_han_entry_save(han_module_t *module, const ompi_communicator_t *comm)
{
    bool complete = true;

    for (int collective = 0; collective < HAN_COLLECTIVE_COUNT; ++collective) {
        for (int form = 0; form < HAN_FORM_COUNT; ++form) {
            mca_coll_han_fallback_t *fallback = &module->fallbacks[collective][form];

            complete = coll_fallback_save(&slots[collective][form], comm, &fallback->fn, &fallback->module) && complete;
        }
    }
    return complete;
}

bool mca_coll_han_entry_is_called(const han_module_t *module, mca_coll_han_collective_t collective)
{
    return &module->super == coll_fallback_module(&slots[collective][HAN_BLOCKING], module->comm);
}

void mca_coll_han_entry_forget(han_module_t *module)
{
    for (int collective = 0; collective < HAN_COLLECTIVE_COUNT; ++collective) {
        for (int form = 0; form < HAN_FORM_COUNT; ++form) {
            if (NULL != module->fallbacks[collective][form].module) {
                OBJ_RELEASE(module->fallbacks[collective][form].module);
            }
        }
    }
    memset(module->fallbacks, 0, sizeof(module->fallbacks));
}
