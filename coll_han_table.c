/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules in force. */
#include "coll_han.h"

#include <string.h>

static mca_coll_han_rules_t builtin;

int mca_coll_han_table_open(void)
{
    mca_coll_han_rules_error_t error;

    if (0
        != mca_coll_han_rules_parse(&builtin, "built-in rules", mca_coll_han_builtin, strlen(mca_coll_han_builtin),
                                    &error)) {
        opal_output(0, "coll:han: built-in rules:%d: %s", error.line, error.what);
        return OMPI_ERROR;
    }
    return OMPI_SUCCESS;
}

void mca_coll_han_table_close(void)
{
    mca_coll_han_rules_free(&builtin);
}

int mca_coll_han_table_find(mca_coll_han_module_t *module, const mca_coll_han_input_t *input,
                            const mca_coll_han_params_t **params)
{
    mca_coll_han_lookup_t *lookup = &module->lookups[input->collective];

    if (!lookup->made && 0 != mca_coll_han_lookup_make(lookup, &builtin, input)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *params = &mca_coll_han_lookup_find(lookup, input->bytes)->params;
    return OMPI_SUCCESS;
}
