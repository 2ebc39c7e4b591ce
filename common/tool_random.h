/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Numbers, and an order, by lot: the same ones wherever the state is. Pure.
 */
#ifndef TOOL_RANDOM_H
#define TOOL_RANDOM_H

#include <stdint.h>

/**
 * The next number of a sequence, of which the upper bits are as good as random.
 *
 * @param state of the sequence, any number; becomes what is returned
 */
static inline uint64_t tool_random(uint64_t *state)
{
    return *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

/** The next number, from 0 up to but not limit, which is at most 2^31. */
static inline uint64_t tool_random_below(uint64_t *state, uint64_t limit)
{
    return (tool_random(state) >> 33) % limit;
}

/**
 * Puts the numbers from 0 on in another order.
 *
 * @param order [count] gets them
 * @param state of the sequence; the next call draws another order
 */
static inline void tool_shuffle(long *order, long count, uint64_t *state)
{
    for (long i = 0; i < count; ++i) {
        const long j = (long) tool_random_below(state, (uint64_t) i + 1);

        order[i] = order[j];
        order[j] = i;
    }
}

#endif
