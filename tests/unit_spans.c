/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of gathers and scatters: on topologies that are drawn, each rank's part of it must fit to those of all others.
 */
#include "../coll_han_spans.h"

#include <stdlib.h>

#include "unit.h"

enum { MOST_RANKS = 40, MOST_NODES = 9, DRAWS = 300 };

/* Draws a topology: ranks in the order of nodes, or anywhere. */
static mca_coll_han_topology_t draw(unsigned *seed)
{
    const int size = 1 + rand_r(seed) % MOST_RANKS, nodes = 1 + rand_r(seed) % MOST_NODES;
    const bool scattered = 0 == rand_r(seed) % 2;
    int node_of[MOST_RANKS];
    mca_coll_han_topology_t topology;

    for (int rank = 0; rank < size; ++rank) {
        node_of[rank] = scattered ? rand_r(seed) % nodes : rank * nodes / size;
    }
    assert_int_equal(0, mca_coll_han_topology_make(&topology, node_of, size, nodes));
    return topology;
}

static void assert_equal_spans(mca_coll_han_span_t one, mca_coll_han_span_t other)
{
    assert_int_equal(one.rank, other.rank);
    assert_int_equal(one.first, other.first);
    assert_int_equal(one.size, other.size);
    assert_int_equal(one.block, other.block);
}

/* Blocks lie side by side where a span says so, and it says so where they do and nodes hold consecutive ranks. */
static void assert_right_block(const mca_coll_han_spans_t *spans, mca_coll_han_span_t span)
{
    bool consecutive = spans->topology->in_order;

    assert_int_equal(span.rank, mca_coll_han_spans_rank(spans, span.first));
    for (int i = 1; i < span.size; ++i) {
        consecutive = consecutive && span.rank + i == mca_coll_han_spans_rank(spans, span.first + i);
    }
    assert_int_equal(consecutive ? span.rank : -1, span.block);
}

/* A rank, and what is below each of its children, are all that is below it; each child says the same. */
static void assert_right_part(const mca_coll_han_spans_t *spans)
{
    const mca_coll_han_span_t own = mca_coll_han_spans_own(spans);
    const int children = mca_coll_han_spans_children(spans);
    bool below[MOST_RANKS] = { false };
    int count = 1;

    assert_int_equal(spans->rank, own.rank);
    for (int i = 0; i < children; ++i) {
        const mca_coll_han_span_t child = mca_coll_han_spans_child(spans, i);
        mca_coll_han_spans_t others = *spans;

        others.rank = child.rank;
        assert_equal_spans(child, mca_coll_han_spans_own(&others));
        assert_int_equal(spans->rank, mca_coll_han_spans_parent(&others));
        assert_right_block(spans, child);
        for (int place = child.first; place < child.first + child.size; ++place) {
            assert_in_range(place, own.first + 1, own.first + own.size - 1);
            assert_false(below[place]);
            below[place] = true;
            ++count;
        }
    }
    assert_int_equal(own.size, count);
}

/* Only leaders have children on other nodes, and each node but the root's is one time a child's. */
static void assert_one_message_a_node(mca_coll_han_spans_t spans)
{
    int crossing = 0;

    for (spans.rank = 0; spans.rank < spans.topology->size; ++spans.rank) {
        for (int i = 0; i < mca_coll_han_spans_children(&spans); ++i) {
            const int child = mca_coll_han_spans_child(&spans, i).rank;

            crossing += spans.topology->group_of[child] != spans.topology->group_of[spans.rank];
        }
    }
    assert_int_equal(spans.topology->group_count - 1, crossing);
}

static void test_parts_of_a_tree_fit_together(void **state)
{
    unsigned seed = 1;

    (void) state;
    for (int i = 0; i < DRAWS; ++i) {
        mca_coll_han_topology_t topology = draw(&seed);
        mca_coll_han_spans_t spans = { .topology = &topology,
                                       .root = rand_r(&seed) % topology.size,
                                       .linear = { 0 == rand_r(&seed) % 2, 0 == rand_r(&seed) % 2 } };

        for (spans.rank = 0; spans.rank < topology.size; ++spans.rank) {
            assert_right_part(&spans);
        }
        spans.rank = spans.root;
        assert_int_equal(0, mca_coll_han_spans_own(&spans).first);
        assert_int_equal(topology.size, mca_coll_han_spans_own(&spans).size);
        assert_one_message_a_node(spans);
        mca_coll_han_topology_free(&topology);
    }
}

/* Eight nodes of two ranks: a root in the middle has three nodes and its neighbour below it, or all. */
static void test_children_of_the_root(void **state)
{
    static const int node_of[] = { 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7 };
    static const int binomial[] = { 0, 12, 10, 8 }, linear[] = { 6, 4, 2, 0, 14, 12, 10, 8 };
    mca_coll_han_topology_t topology;
    mca_coll_han_spans_t spans = { .topology = &topology, .root = 9, .rank = 9 };

    (void) state;
    assert_int_equal(0, mca_coll_han_topology_make(&topology, node_of, 16, 8));
    assert_int_equal(4, mca_coll_han_spans_children(&spans));
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(binomial[i], mca_coll_han_spans_child(&spans, i).rank);
    }
    assert_int_equal(8, mca_coll_han_spans_child(&spans, 0).size);
    assert_int_equal(0, mca_coll_han_spans_child(&spans, 0).block);
    spans.linear[HAN_UP] = spans.linear[HAN_LOW] = true;
    assert_int_equal(8, mca_coll_han_spans_children(&spans));
    for (int i = 0; i < 8; ++i) {
        assert_int_equal(linear[i], mca_coll_han_spans_child(&spans, i).rank);
        assert_int_equal(i < 7 ? 2 : 1, mca_coll_han_spans_child(&spans, i).size);
    }
    mca_coll_han_topology_free(&topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_of_a_tree_fit_together),
        cmocka_unit_test(test_children_of_the_root),
    };

    return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
