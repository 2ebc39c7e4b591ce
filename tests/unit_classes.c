/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of machines: what becomes of facts, and that a little more or less of them changes nothing. */
#include "../coll_han_classes.h"

#include "unit.h"

static mca_coll_han_machine_t machine_of(mca_coll_han_facts_t facts)
{
    mca_coll_han_machine_t machine;

    mca_coll_han_classes_machine(&machine, &facts);
    assert_true(0 != machine.hash);
    return machine;
}

/* Of a kind of link, in bytes a second. */
static uint64_t rate_of(uint64_t rate)
{
    const mca_coll_han_machine_t machine = machine_of((mca_coll_han_facts_t){ .rate = rate });

    return UINT64_C(1024000000000000) / machine.levels[HAN_UP].rate;
}

/* Of links as they are made, long messages have nearly all. */
static void test_links(void **state)
{
    static const struct {
        double made; /* Gbit/s */
        double rate; /* MB/s of its class */
    } rows[] = { { 0.01, 1.25 }, { 0.1, 12.5 }, { 0.2, 12.5 },  { 1, 125 },    { 2.5, 125 },
                 { 10, 1250 },   { 25, 1250 },  { 100, 12500 }, { 400, 12500 } };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        const double most = rows[i].made * 125e6;

        assert_int_equal(rate_of((uint64_t) most) / 10000, (uint64_t) (rows[i].rate * 100));
        assert_int_equal(rate_of((uint64_t) (most * 0.9)) / 10000, (uint64_t) (rows[i].rate * 100));
    }
    assert_int_equal(rate_of(1) / 10000, 125);
    assert_int_equal(rate_of(UINT64_MAX) / 10000, 1250000);
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
    assert_int_equal(machine.levels[HAN_UP].latency, 10000000);
}

static void test_fast_network(void **state)
{
    const mca_coll_han_machine_t fast = machine_of((mca_coll_han_facts_t){ .trip = 1500000, .rate = 11000000000 });
    const mca_coll_han_machine_t tcp = machine_of((mca_coll_han_facts_t){ .trip = 12000000, .rate = 11000000000 });

    (void) state;
    assert_true(fast.levels[HAN_UP].send < tcp.levels[HAN_UP].send);
    assert_true(fast.levels[HAN_UP].latency < tcp.levels[HAN_UP].latency);
    assert_true(fast.levels[HAN_UP].eager < tcp.levels[HAN_UP].eager);
    assert_int_equal(fast.levels[HAN_UP].rate, tcp.levels[HAN_UP].rate);
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
    assert_int_equal(machine.levels[HAN_UP].latency, 10000000);
    assert_int_equal(UINT64_C(1024000000000000) / machine.levels[HAN_UP].rate / 10000000, 125);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links), cmocka_unit_test(test_facts),         cmocka_unit_test(test_fast_network),
        cmocka_unit_test(test_alike), cmocka_unit_test(test_nothing_known), cmocka_unit_test(test_pasted),
    };

    return cmocka_run_group_tests_name("classes", tests, NULL, NULL);
}
