/* SPDX-License-Identifier: BSD-3-Clause */
/* What the model chooses among. */
#include "../coll_han_candidates.h"

#include <stdlib.h>

#include "../coll_adapt/coll_adapt_tree.h"
#include "../coll_han_rules.h"
#include "unit.h"

static mca_coll_han_candidates_t candidates_for(mca_coll_han_collective_t collective, int nodes, int ppn, size_t bytes)
{
    mca_coll_han_candidates_t what
        = { .input = mca_coll_han_input_good(collective), .lows = { HAN_SOLO, HAN_TUNED }, .low_count = 2 };

    what.input.nodes = nodes;
    what.input.ppn = ppn;
    what.input.bytes = HAN_BARRIER == collective ? 0 : bytes;
    return what;
}

/* The same with all components. */
static mca_coll_han_candidates_t all_candidates_for(mca_coll_han_collective_t collective, int nodes, int ppn,
                                                    size_t bytes)
{
    mca_coll_han_candidates_t what = candidates_for(collective, nodes, ppn, bytes);

    what.lows[what.low_count++] = HAN_SM;
    what.lows[what.low_count++] = HAN_BASIC;
    what.libnbc = true;
    return what;
}

/* Does something with the candidates of all collectives, on some shapes, of some sizes. */
static void with_candidates(void (*look)(const mca_coll_han_candidates_t *what, const mca_coll_han_params_t *params,
                                         long count))
{
    static const int shapes[][2] = { { 2, 1 }, { 2, 3 }, { 4, 4 }, { 20, 4 }, { 100, 64 }, { 300, 2 } };
    static const size_t sizes[] = { 4, 4096, 65536, 1 << 20, 64 << 20 };

    for (int c = 0; c < HAN_COLLECTIVE_COUNT; ++c) {
        for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); ++s) {
            for (size_t b = 0; b < sizeof(sizes) / sizeof(sizes[0]); ++b) {
                const mca_coll_han_candidates_t what
                    = all_candidates_for((mca_coll_han_collective_t) c, shapes[s][0], shapes[s][1], sizes[b]);
                mca_coll_han_params_t *params;
                const long count = mca_coll_han_candidates_make(&what, &params);

                assert_true(1 <= count);
                look(&what, params, count);
                free(params);
            }
        }
    }
}

/* What goes in segments is there only where there are two. */
static void look_at_algorithms(const mca_coll_han_candidates_t *what, const mca_coll_han_params_t *params, long count)
{
    bool there[HAN_ALGORITHM_COUNT] = { false };
    const int ranks = what->input.nodes * what->input.ppn;

    assert_int_equal(HAN_FALLBACK, params[0].algorithm);
    for (long i = 0; i < count; ++i) {
        assert_true(mca_coll_han_fits(params[i].algorithm, &what->input));
        there[params[i].algorithm] = true;
    }
    for (int i = 0; i < HAN_ALGORITHM_COUNT; ++i) {
        const bool cut = HAN_PIPELINE == i || HAN_UP_ALLREDUCE == i, few = HAN_GROUPS == i && 16 >= ranks;
        /* Leaders of themselves who have no memory for a whole scan are a chain. */
        const bool alone = HAN_LEADERS == i && mca_coll_han_is_scan(what->input.collective) && 1 == what->input.ppn
                           && HAN_MOST_MEMORY / HAN_FEW_LEADERS < what->input.bytes;

        assert_int_equal(mca_coll_han_fits((mca_coll_han_algorithm_id_t) i, &what->input)
                             && (!cut || 65536 <= what->input.bytes) && !few && !alone,
                         there[i]);
    }
}

static void test_every_algorithm_that_serves_a_call_is_a_candidate(void **state)
{
    mca_coll_han_candidates_t in_place = candidates_for(HAN_ALLTOALL, 4, 4, 8);
    mca_coll_han_params_t *params;

    (void) state;
    with_candidates(look_at_algorithms);
    in_place.input.in_place = true;
    assert_int_equal(1, mca_coll_han_candidates_make(&in_place, &params));
    free(params);
}

static void look_at_candidates(const mca_coll_han_candidates_t *what, const mca_coll_han_params_t *params, long count)
{
    const mca_coll_han_collective_t collective = what->input.collective;

    for (long i = 0; i < count; ++i) {
        char text[HAN_CANDIDATE_TEXT], wanted[HAN_RULES_TEXT], found[HAN_RULES_TEXT];
        mca_coll_han_params_t read;
        mca_coll_han_text_error_t error;

        if (0
            != mca_coll_han_candidate_read(collective, mca_coll_han_candidate_text(collective, &params[i], text), &read,
                                           &error)) {
            fail_msg("%s: %s", text, error.what);
        }
        assert_string_equal(mca_coll_han_params_format(&params[i], wanted, sizeof(wanted)),
                            mca_coll_han_params_format(&read, found, sizeof(found)));
    }
}

static void test_a_candidate_is_what_its_text_says_as_a_rule(void **state)
{
    (void) state;
    with_candidates(look_at_candidates);
}

static void look_at_decisions(const mca_coll_han_candidates_t *what, const mca_coll_han_params_t *params, long count)
{
    for (long i = 0; i < count; ++i) {
        const mca_coll_han_params_t done = mca_coll_han_decide(&what->input, &params[i], &mca_coll_han_unset);
        char wanted[HAN_CANDIDATE_TEXT], found[HAN_CANDIDATE_TEXT];

        assert_string_equal(mca_coll_han_candidate_text(what->input.collective, &params[i], wanted),
                            mca_coll_han_candidate_text(what->input.collective, &done, found));
    }
}

/* Else the model would predict something else than what is done. */
static void test_a_candidate_is_done_as_it_says(void **state)
{
    (void) state;
    with_candidates(look_at_decisions);
}

static void look_for_twins(const mca_coll_han_candidates_t *what, const mca_coll_han_params_t *params, long count)
{
    char mine[HAN_CANDIDATE_TEXT], other[HAN_CANDIDATE_TEXT];

    for (long i = 0; i < count; ++i) {
        mca_coll_han_candidate_text(what->input.collective, &params[i], mine);
        for (long j = 0; j < i; ++j) {
            assert_string_not_equal(mine, mca_coll_han_candidate_text(what->input.collective, &params[j], other));
        }
    }
}

static void test_what_comes_to_the_same_is_one_candidate(void **state)
{
    /* Between two nodes all trees are the same. */
    const mca_coll_han_candidates_t two = candidates_for(HAN_BCAST, 2, 1, 8), four = candidates_for(HAN_BCAST, 4, 1, 8);
    mca_coll_han_params_t *params;

    (void) state;
    with_candidates(look_for_twins);
    assert_int_equal(4, mca_coll_han_candidates_make(&two, &params)); /* fallback, simple by two components, tree */
    free(params);
    assert_int_equal(8, mca_coll_han_candidates_make(&four, &params)); /* of five trees, three */
    free(params);
}

/* Once with each component inside a node, and with each segment; blocks are handed on by the leaders themselves. */
static void test_libnbc_is_asked_for(void **state)
{
    static const struct {
        mca_coll_han_collective_t collective;
        size_t bytes;
        int simple, pipelined;
    } calls[] = { { HAN_BCAST, 64 << 10, 4, 3 },
                  { HAN_ALLREDUCE, 64 << 10, 4, 6 },
                  { HAN_BARRIER, 0, 4, 0 },
                  { HAN_ALLGATHER, 64 << 10, 0, 0 } };

    (void) state;
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); ++c) {
        const mca_coll_han_candidates_t what = all_candidates_for(calls[c].collective, 4, 4, calls[c].bytes);
        mca_coll_han_params_t *params;
        const long count = mca_coll_han_candidates_make(&what, &params);
        int simple = 0, pipelined = 0;

        for (long i = 0; i < count; ++i) {
            simple += HAN_LIBNBC == params[i].imod && HAN_SIMPLE == params[i].algorithm;
            pipelined += HAN_LIBNBC == params[i].imod && HAN_SIMPLE != params[i].algorithm;
        }
        assert_int_equal(calls[c].simple, simple);
        assert_int_equal(calls[c].pipelined, pipelined);
        free(params);
    }
}

/* The first so many candidates of an algorithm have these segments. */
static void check_segments(mca_coll_han_collective_t collective, mca_coll_han_algorithm_id_t algorithm, int nodes,
                           const size_t *segments, int count)
{
    const mca_coll_han_candidates_t what = candidates_for(collective, nodes, 1, 1 << 20);
    size_t last = SIZE_MAX;
    mca_coll_han_params_t *params;
    const long all = mca_coll_han_candidates_make(&what, &params);
    int seen = 0;

    for (long i = 0; i < all && seen < count; ++i) {
        const size_t segment = HAN_TREE == algorithm ? params[i].ibs : params[i].fs;

        if (algorithm == params[i].algorithm && segment != last) {
            assert_int_equal(segments[seen], segment);
            last = segment;
            ++seen;
        }
    }
    assert_int_equal(count, seen);
    free(params);
}

/* What is alike is decided by the order: a message goes whole, or in many pieces, but where each is cut into a block
 * for each node, first in those of which a block has 8 KB.
 */
static void test_the_order_of_segments(void **state)
{
    static const size_t along_trees[] = { 0, 16 << 10, 32 << 10, HAN_EAGER_SEGMENT, 128 << 10, 256 << 10, 512 << 10 };
    static const size_t pipelined[] = { 16 << 10, 32 << 10, HAN_EAGER_SEGMENT, 128 << 10, 256 << 10, 512 << 10 };
    static const size_t in_blocks[] = { 64 << 10, 128 << 10, 256 << 10, 512 << 10, 32 << 10, 16 << 10 };

    (void) state;
    check_segments(HAN_BCAST, HAN_TREE, 8, along_trees, 7);
    check_segments(HAN_BCAST, HAN_PIPELINE, 8, pipelined, 6);
    check_segments(HAN_ALLREDUCE, HAN_UP_ALLREDUCE, 8, in_blocks, 6);
}

/* However long a message is, one of its segments is sent without asking, and none is shorter. */
static void test_segments_of_long_messages(void **state)
{
    const mca_coll_han_candidates_t what = candidates_for(HAN_BCAST, 8, 1, 1 << 30);
    mca_coll_han_params_t *params;
    const long count = mca_coll_han_candidates_make(&what, &params);
    bool there = false;

    (void) state;
    for (long i = 0; i < count; ++i) {
        if (HAN_TREE == params[i].algorithm) {
            there = there || HAN_EAGER_SEGMENT == params[i].ibs;
            assert_true(0 == params[i].ibs || HAN_EAGER_SEGMENT <= params[i].ibs);
        }
    }
    assert_true(there);
    free(params);
}

enum { MOST_NODES = 9, SHAPE = 2 * MOST_NODES + 1 };

/* A pair of brackets for each rank, around those below it in the order in which they are served. */
static void add_shape(char *shape, mca_coll_adapt_tree_kind_t kind, int size, int root, int rank)
{
    mca_coll_adapt_tree_t tree;

    assert_int_equal(0, mca_coll_adapt_tree_make(&tree, kind, HAN_RADIX, size, root, rank));
    strcat(shape, "(");
    for (int i = 0; i < tree.child_count; ++i) {
        add_shape(shape, kind, size, root, tree.children[i]);
    }
    strcat(shape, ")");
    mca_coll_adapt_tree_free(&tree);
}

/* Which of the trees of some candidates have the shape of one of this kind. */
static int count_alike(const mca_coll_han_params_t *params, long count, mca_coll_adapt_tree_kind_t kind, int nodes,
                       int root)
{
    char wanted[SHAPE] = "";
    int alike = 0;

    add_shape(wanted, kind, nodes, root, root);
    for (long i = 0; i < count; ++i) {
        if (HAN_TREE == params[i].algorithm) {
            char shape[SHAPE] = "";

            add_shape(shape, params[i].ibalg, nodes, root, root);
            alike += 0 == strcmp(wanted, shape);
        }
    }
    return alike;
}

/* Whatever the number of nodes: each shape that any kind of tree has there is a candidate, once. */
static void test_each_shape_of_a_tree_is_a_candidate_once(void **state)
{
    static const mca_coll_adapt_tree_kind_t kinds[]
        = { ADAPT_TREE_LINEAR, ADAPT_TREE_BINOMIAL, ADAPT_TREE_PIPELINE, ADAPT_TREE_BINARY, ADAPT_TREE_KNOMIAL };

    (void) state;
    for (int nodes = 2; nodes <= MOST_NODES; ++nodes) {
        const mca_coll_han_candidates_t what = candidates_for(HAN_BCAST, nodes, 4, 8);
        mca_coll_han_params_t *params;
        const long count = mca_coll_han_candidates_make(&what, &params);

        for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); ++kind) {
            for (int root = 0; root < nodes; ++root) {
                assert_int_equal(1, count_alike(params, count, kinds[kind], nodes, root));
            }
        }
        free(params);
    }
}

/*
 * Of what is alike the first is chosen: lanes, where each rank has a tree, and one lane, where a message would be cut.
 * Of a long message lanes have shorter segments, too.
 */
static void test_lanes_come_first_where_they_cut_nothing(void **state)
{
    static const struct {
        mca_coll_han_collective_t collective;
        size_t bytes;
        const char *first, *second;
    } rows[] = {
        { HAN_ALLGATHER, 128 << 10, "tree ibalg=linear ibs=32768 lanes=4", "tree ibalg=linear ibs=32768" },
        { HAN_REDUCE_SCATTER, 128 << 10, "tree iralg=linear irs=32768 lanes=4", "tree iralg=linear irs=32768" },
        { HAN_BCAST, 128 << 10, "tree ibalg=linear ibs=32768", "tree ibalg=linear ibs=32768 lanes=4" },
        { HAN_REDUCE, 128 << 10, "tree iralg=linear irs=32768", "tree iralg=linear irs=32768 lanes=4" },
        { HAN_ALLREDUCE, 128 << 10, "ring ibalg=linear ibs=16384", "ring ibalg=linear ibs=16384 lanes=4" },
        { HAN_BCAST, 4 << 20, "tree ibalg=linear ibs=16384 lanes=4", "tree ibalg=linear ibs=32768 lanes=4" },
        { HAN_BCAST, 4 << 20, "tree ibalg=linear ibs=61440", "tree ibalg=linear ibs=61440 lanes=4" },
        { HAN_REDUCE, 4 << 20, "tree iralg=linear irs=16384 lanes=4", "tree iralg=linear irs=32768 lanes=4" },
        { HAN_ALLREDUCE, 4 << 20, "tree ibalg=linear ibs=16384 lanes=4", "tree ibalg=linear ibs=32768 lanes=4" },
        { HAN_ALLGATHER, 4 << 20, "tree ibalg=linear ibs=61440 lanes=4", "tree ibalg=linear ibs=61440" },
    };

    (void) state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); ++row) {
        const mca_coll_han_candidates_t what = candidates_for(rows[row].collective, 4, 4, rows[row].bytes);
        mca_coll_han_params_t *params;
        const long count = mca_coll_han_candidates_make(&what, &params);
        char text[HAN_CANDIDATE_TEXT] = "";
        long i = 0;

        while (i < count
               && 0 != strcmp(rows[row].first, mca_coll_han_candidate_text(rows[row].collective, &params[i], text))) {
            ++i;
        }
        assert_true(i + 1 < count);
        assert_string_equal(rows[row].second, mca_coll_han_candidate_text(rows[row].collective, &params[i + 1], text));
        free(params);
    }
}

static void test_a_text_that_is_no_candidate(void **state)
{
    mca_coll_han_params_t params;
    mca_coll_han_text_error_t error;

    (void) state;
    assert_int_equal(-1, mca_coll_han_candidate_read(HAN_BCAST, "ring", &params, &error));
    assert_non_null(strstr(error.what, "does not do bcast"));
    assert_int_equal(-1, mca_coll_han_candidate_read(HAN_BCAST, "tree ibs=x", &params, &error));
    assert_non_null(strstr(error.what, "accepted: a number"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_algorithm_that_serves_a_call_is_a_candidate),
        cmocka_unit_test(test_a_candidate_is_what_its_text_says_as_a_rule),
        cmocka_unit_test(test_a_candidate_is_done_as_it_says),
        cmocka_unit_test(test_a_text_that_is_no_candidate),
        cmocka_unit_test(test_what_comes_to_the_same_is_one_candidate),
        cmocka_unit_test(test_libnbc_is_asked_for),
        cmocka_unit_test(test_the_order_of_segments),
        cmocka_unit_test(test_segments_of_long_messages),
        cmocka_unit_test(test_each_shape_of_a_tree_is_a_candidate_once),
        cmocka_unit_test(test_lanes_come_first_where_they_cut_nothing),
    };

    return cmocka_run_group_tests_name("candidates", tests, NULL, NULL);
}
