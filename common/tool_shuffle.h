/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * An order by lot: the same one wherever the state is. Pure.
 */
#ifndef TOOL_SHUFFLE_H
#define TOOL_SHUFFLE_H

#include <stdint.h>

/**
 * Puts the numbers from 0 on in another order.
 *
 * @param order [count] gets them
 * @param state of the generator, any number; the next call draws another order
 */
static inline void tool_shuffle(long *order, long count, uint64_t *state)
{
    for (long i = 0; i < count; ++i) {
        long j;

        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        j = (long) ((*state >> 33) % (uint64_t) (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
}

#endif
