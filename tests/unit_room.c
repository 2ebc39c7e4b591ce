/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that an operation may write: common/coll_room.h. */
#include "common/coll_room.h"

#include "unit.h"

enum { COUNT = 7 };

/* Whether the room has every byte from `from` to before `end` of the operand. */
static void assert_holds(coll_room_t room, ptrdiff_t from, ptrdiff_t end)
{
    assert_true(room.first <= from);
    assert_true(end <= room.first + (ptrdiff_t) room.bytes);
    assert_int_equal(0, room.bytes % COLL_ROOM_ALIGNMENT);
    assert_int_equal(0, room.first % COLL_ROOM_ALIGNMENT);
}

/* No more than that, but for what the alignment adds at both ends. */
static void assert_is(coll_room_t room, ptrdiff_t from, ptrdiff_t end)
{
    assert_holds(room, from, end);
    assert_true(from - room.first < COLL_ROOM_ALIGNMENT);
    assert_true(room.first + (ptrdiff_t) room.bytes - end < COLL_ROOM_ALIGNMENT);
}

static void no_element_needs_no_memory(void **state)
{
    const coll_room_t room = coll_room((coll_element_t){ -8, 8, -4, 4 }, 0);

    (void) state;
    assert_int_equal(0, room.bytes);
    assert_int_equal(0, room.first);
}

static void elements_without_padding_need_their_bytes(void **state)
{
    (void) state;
    for (size_t count = 1; count < 100; ++count) {
        const coll_room_t room = coll_room((coll_element_t){ 0, 8, 0, 8 }, count);

        assert_is(room, 0, 8 * (ptrdiff_t) count);
        assert_int_equal(0, room.first);
    }
}

/* struct { double; int }: opal_datatype_span() ends 4 bytes before. */
static void padding_behind_the_last_element_is_there(void **state)
{
    const coll_room_t room = coll_room((coll_element_t){ 0, 16, 0, 12 }, COUNT);

    (void) state;
    assert_is(room, 0, 16 * COUNT);
    assert_int_equal(16 * COUNT, room.bytes);
}

static void padding_in_front_of_the_first_element_is_there(void **state)
{
    (void) state;
    assert_is(coll_room((coll_element_t){ 0, 8, 4, 8 }, COUNT), 0, 8 * COUNT);
    assert_is(coll_room((coll_element_t){ -8, 32, -4, 16 }, COUNT), -8, 40 * COUNT - 8);
}

/* The lower bound is that of the first member which the type has; the structure begins at its address. */
static void members_left_out_in_front_are_there(void **state)
{
    (void) state;
    assert_is(coll_room((coll_element_t){ 4, 20, 4, 16 }, COUNT), 0, 16 * COUNT + 4);
}

/* As with absolute addresses: far from the buffer's address is no memory of the structure. */
static void what_is_far_away_needs_no_more(void **state)
{
    const ptrdiff_t far = (ptrdiff_t) 1 << 40;

    (void) state;
    assert_is(coll_room((coll_element_t){ far, far + 16, far, far + 12 }, COUNT), far, far + 16 * COUNT);
    assert_is(coll_room((coll_element_t){ -far, -far + 16, -far, -far + 12 }, COUNT), -far, -far + 16 * COUNT);
}

static void elements_that_overlap_have_their_data(void **state)
{
    (void) state;
    assert_is(coll_room((coll_element_t){ 0, 4, 0, 20 }, COUNT), 0, 4 * (COUNT - 1) + 20);
    assert_is(coll_room((coll_element_t){ 0, 0, 0, 8 }, COUNT), 0, 8);
}

static void elements_may_go_downwards(void **state)
{
    (void) state;
    assert_is(coll_room((coll_element_t){ 8, 0, 0, 8 }, COUNT), -8 * (COUNT - 1), 8);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_element_needs_no_memory),
        cmocka_unit_test(elements_without_padding_need_their_bytes),
        cmocka_unit_test(padding_behind_the_last_element_is_there),
        cmocka_unit_test(padding_in_front_of_the_first_element_is_there),
        cmocka_unit_test(members_left_out_in_front_are_there),
        cmocka_unit_test(what_is_far_away_needs_no_more),
        cmocka_unit_test(elements_that_overlap_have_their_data),
        cmocka_unit_test(elements_may_go_downwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
