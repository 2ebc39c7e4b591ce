/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of machines: what becomes of facts, and that a little more or less of them changes nothing. */
#include "../coll_han_classes.h"

#include "unit.h"

#include <stdlib.h>

static mca_coll_han_machine_t machine_of(mca_coll_han_facts_t facts)
{
    mca_coll_han_machine_t machine;

    mca_coll_han_classes_machine(&machine, &facts);
    assert_true(0 != machine.hash);
    return machine;
}

enum { PAST_THE_KERNEL = 1500000, BY_TCP = 12000000 }; /* ps */

/* Of its class, in units of 10 KB a second, of a link with so many bytes a second. */
static uint64_t rate_of(uint64_t rate, uint64_t trip)
{
    const mca_coll_han_machine_t machine = machine_of((mca_coll_han_facts_t){ .rate = rate, .trip = trip });

    return UINT64_C(102400000000) / machine.levels[HAN_UP].rate;
}

/* Of links as they are made, long messages have nearly all. */
static void test_links(void **state)
{
    static const struct {
        double made;   /* Gbit/s */
        uint64_t rate; /* 10 KB/s */
    } rows[] = { { 0.01, 125 },  { 0.1, 1250 },  { 0.2, 1250 },    { 1, 12500 },    { 2.5, 12500 },
                 { 10, 125000 }, { 25, 125000 }, { 100, 1250000 }, { 400, 1250000 } };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        const double most = rows[i].made * 125e6;
        const uint64_t by_tcp = rows[i].rate < 125000 ? rows[i].rate : 500000;

        assert_int_equal(rate_of((uint64_t) most, PAST_THE_KERNEL), rows[i].rate);
        assert_int_equal(rate_of((uint64_t) (most * 0.9), PAST_THE_KERNEL), rows[i].rate);
        assert_int_equal(rate_of((uint64_t) (most * 0.9), BY_TCP), by_tcp);
    }
    assert_int_equal(rate_of(1, BY_TCP), 125);
    assert_int_equal(rate_of(UINT64_MAX, PAST_THE_KERNEL), 1250000);
}

static uint64_t copy_of(uint64_t trip, uint64_t rate, bool shared)
{
    const mca_coll_han_machine_t machine
        = machine_of((mca_coll_han_facts_t){ .trip = trip, .rate = rate, .shared = shared });

    return UINT64_C(1024000000000000) / machine.levels[HAN_UP].copy / 1000000;
}

/* Of one machine that is all nodes, links with a rate are the work of its processors; but not what goes past the
 * kernel. */
static void test_links_that_processors_make(void **state)
{
    const uint64_t slow[] = { 1000000, 24000000, 119000000 }, fast = 4000000000;

    (void) state;
    for (int i = 0; i < 3; ++i) {
        assert_in_range(copy_of(BY_TCP, slow[i], true), 699, 700);
        assert_in_range(copy_of(BY_TCP, slow[i], false), 5990, 6010);
        assert_int_equal(copy_of(PAST_THE_KERNEL, slow[i], true), copy_of(PAST_THE_KERNEL, slow[i], false));
    }
    assert_int_equal(copy_of(BY_TCP, fast, true), copy_of(BY_TCP, fast, false));
}

static void test_facts(void **state)
{
    const mca_coll_han_machine_t machine = machine_of((mca_coll_han_facts_t){
        .trip = 31000000, .rate = 23900000, .eager = { 5000, 70000 }, .cores = 48, .shared = true });

    (void) state;
    assert_int_equal(machine.levels[HAN_LOW].eager, 5000);
    assert_int_equal(machine.levels[HAN_UP].eager, 70000);
    assert_int_equal(machine.cores, 48);
    assert_true(machine.shared);
    assert_int_equal(machine.levels[HAN_UP].latency, 5000000);
}

static void test_fast_network(void **state)
{
    const mca_coll_han_machine_t fast
        = machine_of((mca_coll_han_facts_t){ .trip = PAST_THE_KERNEL, .rate = 11000000000 });
    const mca_coll_han_machine_t tcp = machine_of((mca_coll_han_facts_t){ .trip = BY_TCP, .rate = 11000000000 });

    (void) state;
    assert_true(fast.levels[HAN_UP].send < tcp.levels[HAN_UP].send);
    assert_true(fast.levels[HAN_UP].latency < tcp.levels[HAN_UP].latency);
    assert_true(fast.levels[HAN_UP].eager < tcp.levels[HAN_UP].eager);
    assert_true(fast.levels[HAN_UP].rate < tcp.levels[HAN_UP].rate);
}

/* TCP's parameter is there whatever messages go by. */
static void test_eager_of_tcp_is_for_tcp(void **state)
{
    const mca_coll_han_machine_t known
        = machine_of((mca_coll_han_facts_t){ .trip = PAST_THE_KERNEL, .eager = { 5000, 70000 } });
    const mca_coll_han_machine_t unknown = machine_of((mca_coll_han_facts_t){ .trip = PAST_THE_KERNEL });

    (void) state;
    assert_int_equal(unknown.levels[HAN_UP].eager, known.levels[HAN_UP].eager);
}

/* Two runs of a job never see quite the same. */
static void test_alike(void **state)
{
    const mca_coll_han_machine_t one
        = machine_of((mca_coll_han_facts_t){ .trip = 9000000, .rate = 900000000, .cores = 8 });
    const mca_coll_han_machine_t other
        = machine_of((mca_coll_han_facts_t){ .trip = 45000000, .rate = 1170000000, .cores = 8 });

    (void) state;
    assert_memory_equal(&one, &other, sizeof(one));
}

static void test_nothing_known(void **state)
{
    const mca_coll_han_machine_t machine = machine_of((mca_coll_han_facts_t){ 0 });

    (void) state;
    assert_int_equal(machine.levels[HAN_UP].latency, 5000000);
    assert_int_equal(UINT64_C(1024000000000000) / machine.levels[HAN_UP].rate / 10000000, 500);
    assert_int_equal(machine.cores, 65536);
    assert_false(machine.shared);
    assert_int_equal(machine.levels[HAN_UP].eager, 64512);
}

/* Written for the user, and read again, it is the same machine. */
static void test_pasted(void **state)
{
    const mca_coll_han_facts_t all[] = { { 0 }, { .trip = 1000000, .rate = 12000000000, .cores = 64 } };

    (void) state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        const mca_coll_han_machine_t machine = machine_of(all[i]);
        mca_coll_han_machine_t again;
        mca_coll_han_text_error_t error;
        char text[HAN_MACHINE_TEXT];

        mca_coll_han_machine_format(&machine, text, sizeof(text));
        assert_int_equal(0, mca_coll_han_machine_parse(&again, text, strlen(text), &error));
        again.hash = machine.hash;
        assert_memory_equal(&machine, &again, sizeof(machine));
    }
}

/* The one that tables of candidates in this folder are compared with. */
static void test_virtual_cluster(void **state)
{
    const char *folder = getenv("srcdir");
    const mca_coll_han_machine_t machine = machine_of((mca_coll_han_facts_t){
        .trip = 28000000, .rate = 4467000000, .eager = { 4000, 65440 }, .cores = 2, .shared = true });
    mca_coll_han_machine_t read;
    mca_coll_han_text_error_t error;
    char path[4096];

    (void) state;
    snprintf(path, sizeof(path), "%s/class.machine", NULL == folder ? "." : folder);
    assert_int_equal(0, mca_coll_han_machine_read(&read, path, &error));
    read.hash = machine.hash;
    assert_memory_equal(&machine, &read, sizeof(machine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_links_that_processors_make),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_fast_network),
        cmocka_unit_test(test_eager_of_tcp_is_for_tcp),
        cmocka_unit_test(test_alike),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_pasted),
        cmocka_unit_test(test_virtual_cluster),
    };

    return cmocka_run_group_tests_name("classes", tests, NULL, NULL);
}
