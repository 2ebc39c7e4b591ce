/* SPDX-License-Identifier: BSD-3-Clause */
/* Trips over links that are only numbers: what is found has to be the link's class, also where ranks are busy. */
#include "../coll_han_classes.h"
#include "../coll_han_trips.h"
#include "../common/tool_random.h"

#include "unit.h"

/* ns; that much the link may take before the last messages leave, at most LAST of them */
enum { MS = 1000000, MOST_TIME = 20 * MS, LAST = 3 };

struct link {
    uint64_t latency; /* ns of one byte and its answer */
    uint64_t rate;    /* MB/s */
    uint64_t room;    /* bytes that leave at once */
};

/* ns that a trip takes longer than its link asks for */
typedef uint64_t (*delay_fn)(size_t bytes, int trip);

static uint64_t time_of(const struct link *link, size_t bytes)
{
    return link->latency + (bytes > link->room ? (bytes - link->room) * 1000 / link->rate : 0);
}

static mca_coll_han_trips_t found(const struct link *link, delay_fn delay)
{
    mca_coll_han_trips_t trips = { 0 };
    size_t bytes, before = 0;
    uint64_t time = 0;
    int trip = 0;

    while (0 < (bytes = mca_coll_han_trips_next(&trips))) {
        trip = bytes == before ? trip + 1 : 0;
        assert_true(MOST_TIME > time || (0 < trip && LAST > trip));
        assert_true(HAN_TRIPS_LONGEST >= bytes && before <= bytes);
        mca_coll_han_trips_took(&trips, time_of(link, bytes) + delay(bytes, trip));
        before = bytes;
        time += time_of(link, bytes);
    }
    return trips;
}

/* In units of 10 KB a second. */
static uint64_t class_of(const struct link *link, delay_fn delay)
{
    const mca_coll_han_trips_t trips = found(link, delay);
    mca_coll_han_machine_t machine;

    mca_coll_han_classes_machine(&machine,
                                 &(mca_coll_han_facts_t){ .trip = trips.trip * 1000 / 2, .rate = trips.rate });
    return UINT64_C(102400000000) / machine.levels[HAN_UP].rate;
}

static const struct {
    struct link link;
    uint64_t class; /* 10 KB/s */
} links[] = { { { 300000, 1, 0 }, 125 },         { { 200000, 12, 0 }, 1250 },      { { 120000, 24, 5000 }, 1250 },
              { { 70000, 24, 14000 }, 1250 },    { { 60000, 117, 16000 }, 12500 }, { { 40000, 290, 16000 }, 12500 },
              { { 250000, 1200, 0 }, 500000 },   { { 40000, 1170, 0 }, 500000 },   { { 3000, 1240, 0 }, 125000 },
              { { 2000, 12300, 8000 }, 1250000 } };
enum { LINKS = sizeof(links) / sizeof(links[0]) };

static uint64_t never(size_t bytes, int trip)
{
    (void) bytes;
    (void) trip;
    return 0;
}

static void test_quiet(void **state)
{
    (void) state;
    for (int i = 0; i < LINKS; ++i) {
        const mca_coll_han_trips_t trips = found(&links[i].link, never);

        assert_int_equal(trips.trip, time_of(&links[i].link, 1));
        assert_int_equal(class_of(&links[i].link, never), links[i].class);
    }
}

/* All of the first trips of one length, of which there would be no more if they had been short. */
static size_t disturbed;

static uint64_t of_one_length(size_t bytes, int trip)
{
    return bytes == disturbed && 3 > trip ? 1500000 : 0;
}

static void test_one_length(void **state)
{
    (void) state;
    for (disturbed = 1; HAN_TRIPS_LONGEST >= disturbed; disturbed *= 2) {
        for (int i = 0; i < LINKS; ++i) {
            assert_int_equal(class_of(&links[i].link, of_one_length), links[i].class);
        }
    }
}

/* Half of all trips, at random, by up to 2 ms, and never the same ones. */
static uint64_t random_state;

static uint64_t half(size_t bytes, int trip)
{
    (void) bytes;
    (void) trip;
    (void) tool_random(&random_state);
    return random_state >> 63 ? (random_state >> 40) % 2000000 : 0;
}

enum { RUNS = 1000 };

static int wrong_of(int link, delay_fn delay)
{
    int wrong = 0;

    for (int run = 0; run < RUNS; ++run) {
        wrong += class_of(&links[link].link, delay) != links[link].class;
    }
    return wrong;
}

/* Of each link at most so many runs are wrong. */
static void few_are_wrong(delay_fn delay, int most)
{
    random_state = 1;
    for (int i = 0; i < LINKS; ++i) {
        assert_in_range(wrong_of(i, delay), 0, most);
    }
}

static void test_busy(void **state)
{
    (void) state;
    few_are_wrong(half, RUNS / 20);
}

/* Now and then a rank does not run for longer than all trips together may take. */
static uint64_t rarely(size_t bytes, int trip)
{
    return 0 == half(bytes, trip) && 0 == random_state >> 61 ? 30 * MS : 0;
}

static void test_stalled(void **state)
{
    (void) state;
    few_are_wrong(rarely, RUNS / 50);
}

static uint64_t always(size_t bytes, int trip)
{
    (void) bytes;
    (void) trip;
    return 3 * MS;
}

/* Then nothing is known, rather than that links are slow. */
static void test_too_busy(void **state)
{
    (void) state;
    for (int i = 0; i < LINKS; ++i) {
        const mca_coll_han_trips_t trips = found(&links[i].link, always);

        assert_int_equal(trips.trip, 0);
        assert_int_equal(trips.rate, 0);
    }
}

/* A clock that does not move. */
static void test_no_time(void **state)
{
    mca_coll_han_trips_t trips = { 0 };

    (void) state;
    for (int i = 0; 0 < mca_coll_han_trips_next(&trips); ++i) {
        assert_in_range(i, 0, 100);
        mca_coll_han_trips_took(&trips, 0);
    }
    assert_int_equal(trips.trip, 1);
    assert_int_equal(trips.rate, HAN_TRIPS_LONGEST * UINT64_C(1000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet),   cmocka_unit_test(test_one_length), cmocka_unit_test(test_busy),
        cmocka_unit_test(test_stalled), cmocka_unit_test(test_too_busy),   cmocka_unit_test(test_no_time),
    };

    return cmocka_run_group_tests_name("trips", tests, NULL, NULL);
}
