/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Machines for unit tests.
 */
#ifndef HAN_TESTS_UNIT_MACHINE_H
#define HAN_TESTS_UNIT_MACHINE_H

#include "../coll_han_machine.h"

#include "unit.h"

/** The machine of a text, which must be right. */
static inline mca_coll_han_machine_t unit_machine(const char *text)
{
    mca_coll_han_machine_t machine;
    mca_coll_han_text_error_t error;

    if (0 != mca_coll_han_machine_parse(&machine, text, strlen(text), &error)) {
        fail_msg("line %d: %s", error.line, error.what);
    }
    return machine;
}

#endif
