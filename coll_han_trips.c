/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han_trips.h"

#include <stdbool.h>

/*
 * Of each length there are a few trips. Where these were long, and yet show no higher rate than the length before, the
 * link may be what limits, or ranks were busy: more trips tell. Of one byte there are more, too, where the two shortest
 * are not alike.
 *
 * The time counts that trips take where nothing else happens: a rank that did not run for a while must not be the end.
 *
 * Links may have room for some KB, which leave at once. So up to PAST_ROOM the rate is that of the longest messages,
 * and beyond the highest one, for there only what else happens makes a difference.
 */
enum { FEW = 3, MANY = 9, SHORTEST = 4 << 10, STEP = 4, PAST_ROOM = 256 << 10 };
enum { LONG_TRIP = 1000000, MOST_TIME = 20000000 }; /* ns */

/* A message takes as long as its trip, less its answer. */
static uint64_t rate_of(const mca_coll_han_trips_t *trips)
{
    const uint64_t answer = trips->trip / 2;

    return trips->bytes * UINT64_C(1000000000) / (trips->least > answer ? trips->least - answer : trips->least);
}

/* Whether longer messages may show a higher rate. */
static bool goes_on(const mca_coll_han_trips_t *trips)
{
    return LONG_TRIP > trips->least || (1 < trips->bytes && rate_of(trips) > trips->rate + trips->rate / 4);
}

/* ns that all trips ask for, up to now. */
static uint64_t asked(const mca_coll_han_trips_t *trips)
{
    return trips->spent + (uint64_t) trips->count * trips->least;
}

static bool is_over(const mca_coll_han_trips_t *trips)
{
    return MOST_TIME <= asked(trips);
}

static bool is_enough(const mca_coll_han_trips_t *trips)
{
    const bool doubtful = !goes_on(trips) || (1 == trips->bytes && trips->second > trips->least + trips->least / 4);

    return trips->count >= (doubtful && !is_over(trips) ? MANY : FEW);
}

static void conclude(mca_coll_han_trips_t *trips)
{
    const uint64_t rate = rate_of(trips);

    if (1 == trips->bytes) {
        trips->trip = LONG_TRIP > trips->least ? trips->least : 0;
    } else if (rate > trips->rate || PAST_ROOM >= trips->bytes) {
        trips->rate = rate;
    }
}

static size_t begin(mca_coll_han_trips_t *trips, size_t bytes)
{
    trips->bytes = bytes;
    trips->count = 0;
    trips->least = UINT64_MAX;
    trips->second = UINT64_MAX;
    return bytes;
}

size_t mca_coll_han_trips_next(mca_coll_han_trips_t *trips)
{
    bool last;

    if (0 == trips->bytes) {
        return begin(trips, 1);
    }
    if (!is_enough(trips)) {
        return trips->bytes;
    }
    last = !goes_on(trips) || HAN_TRIPS_LONGEST <= trips->bytes || is_over(trips);
    conclude(trips);
    if (last) {
        return 0;
    }
    trips->spent = asked(trips);
    return begin(trips, 1 == trips->bytes ? SHORTEST : trips->bytes * STEP);
}

void mca_coll_han_trips_took(mca_coll_han_trips_t *trips, uint64_t took)
{
    took = 0 == took ? 1 : took;
    trips->second = took < trips->least ? trips->least : took < trips->second ? took : trips->second;
    trips->least = took < trips->least ? took : trips->least;
    ++trips->count;
}
