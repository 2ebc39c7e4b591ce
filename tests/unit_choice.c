/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the model chooses, kept. Needs -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc, by which allocations are counted
 * and made to fail.
 */
#include "../coll_han_choice.h"

#include <stdlib.h>

#include "../coll_han_candidates.h"
#include "../coll_han_model.h"
#include "unit_machine.h"

static long allocated, refused; /* number of the allocation that fails, from 1; 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size)
{
    return ++allocated == refused ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return ++allocated == refused ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return ++allocated == refused ? NULL : __real_realloc(block, size);
}

static mca_coll_han_machine_t machine_of(const char *rate)
{
    char text[512];

    snprintf(text, sizeof(text),
             "han-machine 1\nlow latency 1us overhead 2us 3us copy 4GB/s\nup latency 10us overhead 8us 9us copy 2GB/s "
             "rate %s eager 64K rendezvous 40us\nmemory copy 2GB/s reduce 8GB/s\ncores node 8\n",
             rate);
    return unit_machine(text);
}

static mca_coll_han_input_t input_of(mca_coll_han_collective_t collective, size_t bytes)
{
    mca_coll_han_input_t input = mca_coll_han_input_good(collective);

    input.nodes = 8;
    input.ppn = 4;
    input.bytes = bytes;
    return input;
}

static void test_classes(void **state)
{
    static const size_t rows[][2] = { { 0, 0 },       { 1, 1 },         { 2, 2 },         { 3, 3 },
                                      { 4, 4 },       { 5, 6 },         { 6, 6 },         { 7, 8 },
                                      { 8, 8 },       { 9, 12 },        { 4095, 4096 },   { 4097, 6144 },
                                      { 6145, 8192 }, { 65536, 65536 }, { 65537, 98304 }, { SIZE_MAX, SIZE_MAX } };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        assert_int_equal(mca_coll_han_choice_bytes(rows[i][0]), rows[i][1]);
    }
}

/* Of all collectives and forms and sizes, what is chosen is what the pick among all candidates would be. */
static void test_is_the_pick(void **state)
{
    const mca_coll_han_machine_t machine = machine_of("25MB/s");
    mca_coll_han_choices_t choices = { 0 };

    (void) state;
    for (int round = 0; round < 2; ++round) { /* kept, or made again where there were too many */
        for (int c = 0; c < HAN_COLLECTIVE_COUNT; ++c) {
            for (size_t bytes = 1; bytes <= (size_t) 1 << 26; bytes *= 2) {
                mca_coll_han_candidates_t what
                    = { .input = input_of(c, HAN_ALLTOALLV == c ? HAN_CHOICE_UNKNOWN : bytes),
                        .lows = { HAN_SOLO, HAN_TUNED },
                        .low_count = 2 };
                mca_coll_han_params_t *params;
                const long count = mca_coll_han_candidates_make(&what, &params);
                mca_coll_han_times_t *times = malloc((size_t) count * sizeof(*times));
                const mca_coll_han_params_t *chosen = mca_coll_han_choose(&choices, &machine, &what.input), *pick;
                char mine[HAN_CANDIDATE_TEXT], wanted[HAN_CANDIDATE_TEXT];

                for (long i = 0; i < count; ++i) {
                    times[i] = mca_coll_han_predict(&machine, &what.input, &params[i]);
                }
                pick = &params[mca_coll_han_pick(times, count, times[0])];
                assert_non_null(chosen);
                assert_non_null(chosen->why);
                assert_string_equal(mca_coll_han_candidate_text(c, pick, wanted),
                                    mca_coll_han_candidate_text(c, chosen, mine));
                assert_true(mca_coll_han_fits(chosen->algorithm, &what.input));
                free(times);
                free(params);
            }
        }
    }
    mca_coll_han_choices_free(&choices);
}

/* Whatever a rank knows of it: on slow links one message at a time, so that nothing is lost where they meet. */
static void test_alltoallv(void **state)
{
    const mca_coll_han_machine_t slow = machine_of("25MB/s"), fast = machine_of("50GB/s");
    mca_coll_han_choices_t on_slow = { 0 }, on_fast = { 0 };

    (void) state;
    for (size_t bytes = 0; bytes <= (size_t) 1 << 30; bytes = 0 == bytes ? 1 : 32 * bytes) {
        const mca_coll_han_input_t input = input_of(HAN_ALLTOALLV, bytes);

        assert_true(mca_coll_han_choice_serves(&input));
        assert_int_equal(mca_coll_han_choose(&on_slow, &slow, &input)->algorithm, HAN_EXCHANGE);
        assert_int_equal(mca_coll_han_choose(&on_fast, &fast, &input)->algorithm, HAN_FALLBACK);
    }
    mca_coll_han_choices_free(&on_slow);
    mca_coll_han_choices_free(&on_fast);
}

/* Without data there is nothing to choose by, but of a barrier all that takes time is known. */
static void test_barrier(void **state)
{
    const mca_coll_han_machine_t machine = machine_of("25MB/s");
    mca_coll_han_input_t input = input_of(HAN_BARRIER, 0);
    mca_coll_han_choices_t choices = { 0 };
    mca_coll_han_params_t *params;
    mca_coll_han_times_t *times;
    const long count = mca_coll_han_choice_candidates(&machine, input, &params, &times);

    (void) state;
    assert_true(mca_coll_han_choice_serves(&input));
    assert_true(mca_coll_han_candidate_is(HAN_BARRIER, &params[mca_coll_han_pick(times, count, times[0])],
                                          mca_coll_han_choose(&choices, &machine, &input)));
    for (long i = 1; i < count; ++i) {
        assert_true(HAN_SIMPLE != params[i].algorithm || HAN_SIMPLE != params[i - 1].algorithm
                    || params[i].smod != params[i - 1].smod);
    }
    input.nodes = 1;
    assert_false(mca_coll_han_choice_serves(&input));
    input = input_of(HAN_BCAST, 0);
    assert_false(mca_coll_han_choice_serves(&input));
    mca_coll_han_choices_free(&choices);
    free(params);
    free(times);
}

static void test_machines_differ(void **state)
{
    const mca_coll_han_machine_t slow = machine_of("2MB/s"), fast = machine_of("50GB/s");
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 16 << 10);
    mca_coll_han_choices_t on_slow = { 0 }, on_fast = { 0 };

    (void) state;
    assert_int_equal(mca_coll_han_choose(&on_slow, &slow, &input)->ibalg, ADAPT_TREE_PIPELINE);
    assert_int_not_equal(mca_coll_han_choose(&on_fast, &fast, &input)->ibalg, ADAPT_TREE_PIPELINE);
    mca_coll_han_choices_free(&on_slow);
    mca_coll_han_choices_free(&on_fast);
}

/* What differs in anything that a choice depends on is another one. */
static void test_calls_that_differ(void **state)
{
    const mca_coll_han_machine_t machine = machine_of("25MB/s");
    mca_coll_han_input_t input = input_of(HAN_ALLREDUCE, 1 << 20);
    mca_coll_han_choices_t choices = { 0 };
    const mca_coll_han_params_t *chosen = mca_coll_han_choose(&choices, &machine, &input);
    mca_coll_han_algorithm_id_t whole = chosen->algorithm;

    (void) state;
    assert_true(HAN_UP_ALLREDUCE == whole || HAN_PIPELINE == whole);
    input.flat = true; /* no sub-communicators */
    chosen = mca_coll_han_choose(&choices, &machine, &input);
    assert_true(mca_coll_han_fits(chosen->algorithm, &input));
    input.flat = false;
    input.form = HAN_NONBLOCKING;
    chosen = mca_coll_han_choose(&choices, &machine, &input);
    assert_true(mca_coll_han_fits(chosen->algorithm, &input));
    input.form = HAN_BLOCKING;
    assert_int_equal(whole, mca_coll_han_choose(&choices, &machine, &input)->algorithm);
    assert_int_equal(choices.count, 3);
    mca_coll_han_choices_free(&choices);
}

/*
 * What is kept serves all types. Else ranks that keep a choice for calls in place, and others that do not, as in a
 * reduce_scatter, would differ in what they have kept, by the type of some earlier call.
 */
static void test_elements_that_differ(void **state)
{
    const mca_coll_han_machine_t machine = machine_of("125MB/s");
    mca_coll_han_choices_t choices = { 0 }, others = { 0 };
    mca_coll_han_input_t dense = input_of(HAN_REDUCE_SCATTER, 240), wide;

    (void) state;
    dense.nodes = 4;
    wide = dense;
    wide.packed = 8;
    wide.room = 32 << 10;
    assert_false(mca_coll_han_fits(HAN_LEADERS, &wide));
    mca_coll_han_choose(&choices, &machine, &wide);
    assert_int_equal(HAN_LEADERS, mca_coll_han_choose(&others, &machine, &dense)->algorithm);
    assert_int_equal(HAN_LEADERS, mca_coll_han_choose(&choices, &machine, &dense)->algorithm);
    mca_coll_han_choices_free(&choices);
    mca_coll_han_choices_free(&others);
}

static void test_kept(void **state)
{
    const mca_coll_han_machine_t machine = machine_of("25MB/s");
    const mca_coll_han_input_t input = input_of(HAN_REDUCE, 3000), same_class = input_of(HAN_REDUCE, 2500);
    mca_coll_han_choices_t choices = { 0 };
    const mca_coll_han_params_t *chosen = mca_coll_han_choose(&choices, &machine, &input);
    const long before = allocated;

    (void) state;
    assert_ptr_equal(chosen, mca_coll_han_choose(&choices, &machine, &same_class));
    assert_int_equal(before, allocated);
    mca_coll_han_choices_free(&choices);
}

/* A program of many different calls finds them all again, however many it had room for at first. */
static void test_many_are_kept(void **state)
{
    enum { SIZES = 40, COLLECTIVES = 4 };
    static const mca_coll_han_collective_t used[COLLECTIVES] = { HAN_BCAST, HAN_REDUCE, HAN_ALLREDUCE, HAN_GATHER };
    const mca_coll_han_machine_t machine = machine_of("25MB/s");
    mca_coll_han_choices_t choices = { 0 };
    mca_coll_han_params_t first[SIZES * COLLECTIVES];

    (void) state;
    for (int turn = 0; turn < 2; ++turn) {
        for (int i = 0; i < SIZES * COLLECTIVES; ++i) {
            const mca_coll_han_input_t input = input_of(used[i % COLLECTIVES], (size_t) 1 << (i / COLLECTIVES));
            const mca_coll_han_params_t *chosen = mca_coll_han_choose(&choices, &machine, &input);

            if (0 == turn) {
                first[i] = *chosen;
            }
            assert_memory_equal(&first[i], chosen, sizeof(*chosen));
        }
        assert_int_equal(SIZES * COLLECTIVES, choices.count);
    }
    mca_coll_han_choices_free(&choices);
}

/* More than there is room for at most: still right, and no more memory. */
static void test_too_many_are_not_kept(void **state)
{
    const mca_coll_han_machine_t machine = machine_of("25MB/s");
    mca_coll_han_choices_t choices = { 0 };

    (void) state;
    for (int i = 0; i < 2 * HAN_CHOICES_MOST; ++i) {
        mca_coll_han_input_t input = input_of((mca_coll_han_collective_t) (i % 4), (size_t) 1 << (i / 4 % 60));

        input.in_order = i / 240 % 2;
        input.root_leads = i / 480 % 2;
        input.anywhere = i / 960 % 2;
        input.flat = i / 1920 % 2;
        assert_true(mca_coll_han_fits(mca_coll_han_choose(&choices, &machine, &input)->algorithm, &input));
    }
    assert_true(HAN_CHOICES_MOST == choices.room && choices.room / 2 >= choices.count);
    mca_coll_han_choices_free(&choices);
}

static void test_no_memory(void **state)
{
    const mca_coll_han_machine_t machine = machine_of("25MB/s");
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 1 << 20);
    mca_coll_han_choices_t choices = { 0 };

    (void) state;
    for (long number = 1;; ++number) {
        const mca_coll_han_params_t *chosen;

        allocated = 0;
        refused = number;
        chosen = mca_coll_han_choose(&choices, &machine, &input);
        refused = 0;
        if (NULL != chosen) {
            assert_true(2 < number);
            break;
        }
        mca_coll_han_choices_free(&choices);
    }
    mca_coll_han_choices_free(&choices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_is_the_pick),
        cmocka_unit_test(test_alltoallv),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_machines_differ),
        cmocka_unit_test(test_calls_that_differ),
        cmocka_unit_test(test_elements_that_differ),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_many_are_kept),
        cmocka_unit_test(test_too_many_are_not_kept),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
