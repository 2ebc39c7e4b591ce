/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Temporary memory of calls: what is kept and what not. Needs -Wl,--wrap=malloc,--wrap=free, by which allocations are
 * counted and made to fail.
 */
#include "../coll_adapt/coll_adapt_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define KB ((size_t) 1 << 10)
#define MB ((size_t) 1 << 20)
#define THREADS 4
#define ROUNDS 2000

static atomic_long live;      /* bytes allocated and not freed */
static atomic_long allocated; /* calls of malloc */
static bool short_of_memory;

void *__real_malloc(size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void __wrap_free(void *block);

void *__wrap_malloc(size_t size)
{
    void *block = short_of_memory ? NULL : __real_malloc(size);

    live += NULL == block ? 0 : (long) malloc_usable_size(block);
    ++allocated;
    return block;
}

void __wrap_free(void *block)
{
    live -= NULL == block ? 0 : (long) malloc_usable_size(block);
    __real_free(block);
}

static int nothing_is_kept(void **state)
{
    (void) state;
    mca_coll_adapt_memory_end();
    live = allocated = 0;
    short_of_memory = false;
    return 0;
}

static void *take(size_t bytes)
{
    void *memory = mca_coll_adapt_memory.take(bytes);

    assert_non_null(memory);
    memset(memory, 0xa5, bytes);
    return memory;
}

static void give(void *memory)
{
    mca_coll_adapt_memory.give(memory);
}

static void what_is_given_is_taken_again(void **state)
{
    (void) state;
    for (size_t bytes = 32 * KB; bytes <= ADAPT_MEMORY_KEPT; bytes *= 2) {
        void *first = take(bytes), *second = take(bytes);

        assert_ptr_not_equal(first, second);
        give(first);
        assert_ptr_equal(first, take(bytes));
        give(second);
        give(first);
    }
}

static void nearly_as_long_is_taken_again(void **state)
{
    void *memory = take(100 * KB);

    (void) state;
    give(memory);
    assert_ptr_equal(memory, take(110 * KB));
    give(memory);
    assert_ptr_equal(memory, take(97 * KB));
    give(memory);
}

/* Callers have a few bytes of their own in front of blocks, which often are powers of two. */
static void little_more_than_a_power_of_two_takes_no_more_room(void **state)
{
    enum { PIECES = 4 };
    const size_t bytes = ADAPT_MEMORY_KEPT / PIECES + 48;
    void *pieces[PIECES];

    (void) state;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < PIECES; ++i) {
            pieces[i] = take(bytes);
        }
        for (int i = 0; i < PIECES; ++i) {
            give(pieces[i]);
        }
    }
    assert_int_equal(PIECES, allocated);
}

/* Memory may hold a quarter more than what was asked for, and no piece is given to who asks for more than it holds. */
static void every_length_has_its_room(void **state)
{
    (void) state;
    for (size_t bytes = 0; bytes < 300 * KB; bytes += bytes < 64 ? 1 : bytes / 50) {
        void *memory = take(bytes);

        assert_in_range(malloc_usable_size((char *) memory - sizeof(max_align_t)), bytes, bytes + bytes / 4 + KB);
        give(memory);
    }
}

static void short_and_very_long_ones_are_not_kept(void **state)
{
    (void) state;
    give(take(0));
    give(take(32 * KB - 1));
    give(take(ADAPT_MEMORY_KEPT + KB));
    give(NULL);
    assert_int_equal(0, live);
}

static void the_oldest_go_first(void **state)
{
    enum { PIECES = 20 };
    void *pieces[PIECES];
    long before;

    (void) state;
    for (int i = 0; i < PIECES; ++i) {
        pieces[i] = take(MB);
    }
    for (int i = 0; i < PIECES; ++i) {
        give(pieces[i]);
    }
    assert_in_range(live, ADAPT_MEMORY_KEPT, ADAPT_MEMORY_KEPT + MB / 2);
    before = allocated;
    for (int i = PIECES - 1; i >= PIECES - 16; --i) {
        assert_ptr_equal(pieces[i], take(MB));
    }
    assert_int_equal(before, allocated);
    for (int i = PIECES - 16; i < PIECES; ++i) {
        give(pieces[i]);
    }
    give(take(ADAPT_MEMORY_KEPT));
    assert_in_range(live, ADAPT_MEMORY_KEPT, ADAPT_MEMORY_KEPT + KB * 8);
}

static void the_end_frees_all(void **state)
{
    (void) state;
    give(take(MB));
    give(take(2 * MB));
    mca_coll_adapt_memory_end();
    assert_int_equal(0, live);
}

static void short_memory_is_told(void **state)
{
    (void) state;
    short_of_memory = true;
    assert_null(mca_coll_adapt_memory.take(MB));
    assert_null(mca_coll_adapt_memory.take(1));
    short_of_memory = false;
    assert_null(mca_coll_adapt_memory.take(SIZE_MAX));
    assert_null(mca_coll_adapt_memory.take(SIZE_MAX - sizeof(max_align_t) + 1));
}

/* Each thread fills what it gets, and finds it unchanged. */
static void *work(void *argument)
{
    const unsigned char own = (unsigned char) (intptr_t) argument;

    for (int round = 0; round < ROUNDS; ++round) {
        const size_t bytes = 32 * KB << round % 3;
        unsigned char *memory = mca_coll_adapt_memory.take(bytes);

        if (NULL == memory) {
            return "memory is short";
        }
        for (size_t i = 0; i < bytes; i += KB) {
            memory[i] = own;
        }
        for (size_t i = 0; i < bytes; i += KB) {
            if (own != memory[i]) {
                return "another thread has the same memory";
            }
        }
        mca_coll_adapt_memory.give(memory);
    }
    return NULL;
}

static void threads_have_their_own(void **state)
{
    pthread_t threads[THREADS];

    (void) state;
    for (intptr_t i = 0; i < THREADS; ++i) {
        assert_int_equal(0, pthread_create(&threads[i], NULL, work, (void *) (i + 1)));
    }
    for (int i = 0; i < THREADS; ++i) {
        void *fault;

        assert_int_equal(0, pthread_join(threads[i], &fault));
        assert_null(fault);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_given_is_taken_again, nothing_is_kept),
        cmocka_unit_test_setup(nearly_as_long_is_taken_again, nothing_is_kept),
        cmocka_unit_test_setup(little_more_than_a_power_of_two_takes_no_more_room, nothing_is_kept),
        cmocka_unit_test_setup(every_length_has_its_room, nothing_is_kept),
        cmocka_unit_test_setup(short_and_very_long_ones_are_not_kept, nothing_is_kept),
        cmocka_unit_test_setup(the_oldest_go_first, nothing_is_kept),
        cmocka_unit_test_setup(the_end_frees_all, nothing_is_kept),
        cmocka_unit_test_setup(short_memory_is_told, nothing_is_kept),
        cmocka_unit_test_setup(threads_have_their_own, nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
