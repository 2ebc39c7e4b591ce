/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Numbers in order, for the compiled tools: medians and quantiles are read from them.
 */
#ifndef TOOL_SORT_H
#define TOOL_SORT_H

#include <stddef.h>
#include <stdlib.h>

static inline int tool_by_value(const void *left, const void *right)
{
    const double a = *(const double *) left, b = *(const double *) right;

    return (a > b) - (a < b);
}

/** Puts values in ascending order. */
static inline void tool_sort(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), tool_by_value);
}

#endif
