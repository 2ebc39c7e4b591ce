/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model: machines as text, forms against costs that were added up by hand, what must hold on any machine, and
 * which candidate is picked. */
#include "../coll_adapt/coll_adapt_tree.h"
#include "../coll_han_candidates.h"
#include "../coll_han_model.h"

#include <stdlib.h>

#include "unit_machine.h"

static const char cluster[] = "han-machine 1\n"
                              "low latency 1us overhead 2us 3us copy 4GB/s eager 4K rendezvous 15us\n"
                              "up latency 10us overhead 8us 9us copy 2GB/s rate 25MB/s eager 64K rendezvous 40us\n"
                              "memory copy 2GB/s reduce 8GB/s near 128K far 4GB/s # caches\n"
                              "calls step 4us share 2us\n"
                              "cores node 2 wake 20us turn 25us shared\n";

/* ---- machines as text ---- */

static void test_values(void **state)
{
    const mca_coll_han_machine_t machine = unit_machine(cluster);

    (void) state;
    assert_int_equal(machine.levels[HAN_LOW].latency, 1000000);
    assert_int_equal(machine.levels[HAN_UP].send, 8000000);
    assert_int_equal(machine.levels[HAN_UP].recv, 9000000);
    assert_int_equal(machine.levels[HAN_UP].rate, 40960000); /* ps a KiB */
    assert_int_equal(machine.levels[HAN_LOW].rate, 0);
    assert_int_equal(machine.levels[HAN_UP].eager, 65536);
    assert_int_equal(machine.near, 131072);
    assert_int_equal(machine.cores, 2);
    assert_true(machine.shared);
}

static void test_defaults(void **state)
{
    const mca_coll_han_machine_t machine = unit_machine("han-machine 1\n"
                                                        "low latency 0.5us overhead 100ns 1.25ns copy 10GB/s\n"
                                                        "up latency 1ms overhead 2ps 1s copy 1TB/s\n"
                                                        "memory copy 5B/s reduce 7KB/s\ncores node 64\n");

    (void) state;
    assert_int_equal(machine.levels[HAN_LOW].recv, 1250);
    assert_true(UINT64_MAX == machine.levels[HAN_LOW].eager && UINT64_MAX == machine.near);
    assert_int_equal(machine.levels[HAN_UP].rendezvous, 0);
    assert_false(machine.shared);
}

static void test_written_and_read(void **state)
{
    mca_coll_han_machine_t machine = unit_machine(cluster), again;
    char text[HAN_MACHINE_TEXT], once_more[HAN_MACHINE_TEXT];

    (void) state;
    again = unit_machine(mca_coll_han_machine_format(&machine, text, sizeof(text)));
    again.hash = machine.hash; /* of a text that has other blanks, and a comment */
    assert_memory_equal(&machine, &again, sizeof(machine));
    assert_string_equal(text, mca_coll_han_machine_format(&again, once_more, sizeof(once_more)));
}

static void test_what_is_wrong(void **state)
{
    static const struct {
        const char *text;
        int line;
        const char *what;
    } rows[] = {
        { "", 0, "it is empty; accepted: a first line han-machine 1" },
        { "han-rules 1\n", 1, "the first line is \"han-rules 1\"; accepted: han-machine 1" },
        { "han-machine 1\n\nupper latency 1us\n", 3,
          "\"upper\" is no record; accepted: low, up, memory, calls, cores" },
        { "han-machine 1\nup speed 3", 2,
          "\"speed\" is no field of up; accepted: latency, overhead, copy, rate, inline, request, "
          "eager, buffer, rendezvous" },
        { "han-machine 1\ncores number 3", 2, "\"number\" is no field of cores; accepted: node, wake, turn, shared" },
        { "han-machine 1\nup latency 3", 2, "up latency 3; accepted: a time with its unit" },
        { "han-machine 1\nup latency -3us", 2, "up latency -3us; accepted: a time" },
        { "han-machine 1\nup latency 1.us", 2, "up latency 1.us; accepted: a time" },
        { "han-machine 1\nup latency 1.2345us", 2,
          "up latency 1.2345us; accepted: a time with its unit, as 600ns, 4.5us, 1ms; at most 3 digits behind the "
          "point" },
        { "han-machine 1\nup latency 99999999999999us", 2, "; accepted: a time" },
        { "han-machine 1\nup overhead 3us", 2, "up overhead has one value; accepted: two, of the sender and of the " },
        { "han-machine 1\nup overhead", 2, "up overhead has no value; accepted: two, of the sender and of the " },
        { "han-machine 1\nup overhead 3us copy 1GB/s", 2,
          "up overhead copy; accepted: two, of the sender and of the " },
        { "han-machine 1\nup rate 0B/s", 2, "up rate 0B/s; accepted: a rate with its unit" },
        { "han-machine 1\nup rate 3GB", 2, "up rate 3GB; accepted: a rate" },
        { "han-machine 1\nup eager 4KB", 2, "up eager 4KB; accepted: a number of bytes; K, M, G may follow" },
        { "han-machine 1\ncores node 0", 2, "cores node 0; accepted: a number from 1 to 65536" },
        { "han-machine 1\ncores node 2 node 3", 2, "cores node is there twice; accepted: each field once" },
        { "han-machine 1\nlow latency 1us overhead 1us 1us\n", 2, "low has no copy; accepted: a rate" },
        { "han-machine 1\nup \001", 2, "byte 4 is no printable character" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        mca_coll_han_machine_t machine;
        mca_coll_han_text_error_t error;

        assert_int_equal(-1, mca_coll_han_machine_parse(&machine, rows[i].text, strlen(rows[i].text), &error));
        if (rows[i].line != error.line || NULL == strstr(error.what, rows[i].what)) {
            fail_msg("row %zu: line %d: %s", i, error.line, error.what);
        }
    }
}

static void test_file(void **state)
{
    mca_coll_han_machine_t machine;
    mca_coll_han_text_error_t error;

    (void) state;
    assert_int_equal(-1, mca_coll_han_machine_read(&machine, "/nonexistent", &error));
    assert_non_null(strstr(error.what, "accepted: a readable file"));
    assert_int_equal(-1, mca_coll_han_machine_read(&machine, "/", &error));
    assert_non_null(strstr(error.what, "it is not a file but a folder"));
}

/* ---- the forms ---- */

static mca_coll_han_input_t input_of(mca_coll_han_collective_t collective, int nodes, int ppn, size_t bytes)
{
    mca_coll_han_input_t input = mca_coll_han_input_good(collective);

    input.nodes = nodes;
    input.ppn = ppn;
    input.bytes = bytes;
    return input;
}

static mca_coll_han_params_t tree(mca_coll_adapt_tree_kind_t kind, size_t segment)
{
    return (mca_coll_han_params_t){
        .algorithm = HAN_TREE, .ibalg = kind, .iralg = kind, .ibs = segment, .irs = segment, .lanes = 1
    };
}

static mca_coll_han_times_t times_of(const char *text, mca_coll_han_input_t input, mca_coll_han_params_t params)
{
    const mca_coll_han_machine_t machine = unit_machine(text);

    return mca_coll_han_predict(&machine, &input, &params);
}

/* One message: a rank has a core for itself, so nobody wakes it. */
#define ALONE                                                                                                          \
    "han-machine 1\nlow latency 1us overhead 2us 3us copy 1.024GB/s\n"                                                 \
    "up latency 10us overhead 8us 9us copy 1.024GB/s rate 10.24MB/s eager 64K rendezvous 40us\n"                       \
    "memory copy 1.024GB/s reduce 1.024GB/s\ncores node 8\n"

static void test_one_message(void **state)
{
    const mca_coll_han_times_t times = times_of(ALONE, input_of(HAN_BCAST, 2, 1, 1024), tree(ADAPT_TREE_LINEAR, 0));

    (void) state;
    /* latency 10, overheads 17, 1 KiB by the link 100 us, while processors move it in 1 */
    assert_int_equal(times.single, 127000000);
    assert_int_equal(times.row, 100000000); /* the link; processors 9 */
}

static void test_rendezvous(void **state)
{
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 2, 1, 128 << 10);

    (void) state;
    /* three latencies, 17, 40 to meet, 12800 by the link */
    assert_int_equal(times_of(ALONE, input, tree(ADAPT_TREE_LINEAR, 0)).single, UINT64_C(12887000000));
    /* the first segment, 10 + 17 + 6400, and the link for the second */
    assert_int_equal(times_of(ALONE, input, tree(ADAPT_TREE_LINEAR, 64 << 10)).single, UINT64_C(12827000000));
}

/* What comes without asking is copied once more. */
static void test_buffer(void **state)
{
    static const char text[] = ALONE "up buffer 1.024GB/s\n";
    const mca_coll_han_input_t shorter = input_of(HAN_BCAST, 2, 1, 64 << 10), longer = input_of(HAN_BCAST, 2, 1, 65537);
    const mca_coll_han_params_t whole = tree(ADAPT_TREE_LINEAR, 0);

    (void) state;
    assert_int_equal(times_of(text, shorter, whole).single, times_of(ALONE, shorter, whole).single + 64 * 1000000);
    assert_int_equal(times_of(text, longer, whole).single, times_of(ALONE, longer, whole).single);
}

/* A broadcast has 96 KB under way, in 3 to 12 segments, and a reduction in lanes; others have three segments. */
static void test_sends(void **state)
{
    static const struct {
        size_t segment;
        int sends;
    } broadcasts[]
        = { { 0, 3 }, { 1, 12 }, { 8 << 10, 12 }, { 10 << 10, 9 }, { 16 << 10, 6 }, { 32 << 10, 3 }, { 1 << 20, 3 } };
    mca_coll_han_params_t params = tree(ADAPT_TREE_PIPELINE, 8 << 10);

    (void) state;
    assert_int_equal(3, mca_coll_han_sends(HAN_REDUCE, &params));
    params.lanes = 2;
    assert_int_equal(12, mca_coll_han_sends(HAN_REDUCE, &params));
    assert_int_equal(3, mca_coll_han_sends(HAN_ALLGATHER, &params));
    for (size_t i = 0; i < sizeof(broadcasts) / sizeof(*broadcasts); ++i) {
        params.ibs = broadcasts[i].segment;
        assert_int_equal(broadcasts[i].sends, mca_coll_han_sends(HAN_BCAST, &params));
    }
    params = (mca_coll_han_params_t){ .algorithm = HAN_PIPELINE, .ibs = 8 << 10, .lanes = 1 };
    assert_int_equal(3, mca_coll_han_sends(HAN_BCAST, &params));
}

/* All segments but the last twelve are answered by a message without data. */
static void test_answers(void **state)
{
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 2, 1, 14 << 10);
    const mca_coll_han_params_t params = tree(ADAPT_TREE_LINEAR, 1 << 10);

    (void) state;
    machine.levels[HAN_UP].rate = 0;
    /* the first is there after 10 + 18; thirteen more take a rank 9 each, two answers 17 / 2 */
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).single, 28000000 + 13 * 9000000 + 17000000);
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).row, 14 * 9000000 + 17000000);
}

/*
 * Up to 256 bytes a message leaves at once, others take a request, as those to the two ranks of the root's node; but
 * not where they go from copies.
 */
static void test_request(void **state)
{
    static const char text[] = ALONE "low inline 256 request 6us eager 4000\n", plain[] = ALONE "low eager 4000\n";
    const mca_coll_han_params_t params = tree(ADAPT_TREE_LINEAR, 0), fallback = { .algorithm = HAN_FALLBACK };
    mca_coll_han_input_t input = input_of(HAN_BCAST, 1, 3, 256), longer = input_of(HAN_BCAST, 1, 3, 1024);

    (void) state;
    for (int form = HAN_BLOCKING; form < HAN_FORM_COUNT; ++form) {
        longer.form = input.form = (mca_coll_han_form_t) form;
        assert_int_equal(times_of(text, longer, params).row, times_of(plain, longer, params).row);
        assert_int_equal(times_of(text, longer, params).single, times_of(plain, longer, params).single);
        assert_true(times_of(text, longer, fallback).row > times_of(plain, longer, fallback).row);
        assert_int_equal(times_of(text, input, fallback).row, times_of(plain, input, fallback).row);
    }
}

/* Long blocks wait for their turns, where ranks share a core; and not where none does. */
static void test_exchange(void **state)
{
    const mca_coll_han_input_t input = input_of(HAN_ALLTOALL, 2, 2, 32 << 10),
                               brief = input_of(HAN_ALLTOALL, 2, 2, 16 << 10);
    const mca_coll_han_params_t exchange = { .algorithm = HAN_EXCHANGE }, fallback = { .algorithm = HAN_FALLBACK };
    mca_coll_han_machine_t machine = unit_machine(ALONE);

    (void) state;
    machine.levels[HAN_UP].rate = 0; /* no link where messages of the fallback meet */
    assert_int_equal(mca_coll_han_predict(&machine, &input, &exchange).row,
                     mca_coll_han_predict(&machine, &input, &fallback).row);
    machine.cores = 1;
    machine.shared = true;
    machine.turn = 5000000;
    assert_int_equal(mca_coll_han_predict(&machine, &brief, &exchange).row,
                     mca_coll_han_predict(&machine, &brief, &fallback).row);
    assert_int_equal(mca_coll_han_predict(&machine, &input, &exchange).row,
                     mca_coll_han_predict(&machine, &input, &fallback).row + 4 * 4 * 3 * UINT64_C(5000000));
}

/* The leaders' ring has 16 blocks at most: of 64 leaders one of 1 MB is a block for four of them, 64 KB in four pieces.
 */
static void test_many_leaders_have_few_blocks(void **state)
{
    const mca_coll_han_params_t whole = { .algorithm = HAN_UP_ALLREDUCE, .fs = 1 << 20 },
                                cut = { .algorithm = HAN_UP_ALLREDUCE, .fs = 1 << 20, .ibs = 16 << 10 };
    const mca_coll_han_times_t slow = times_of(ALONE, input_of(HAN_ALLREDUCE, 64, 1, 1 << 20), whole),
                               fast = times_of(ALONE, input_of(HAN_ALLREDUCE, 64, 1, 1 << 20), cut);

    (void) state;
    assert_true(slow.single > 3 * fast.single && slow.single < 5 * fast.single);
    assert_int_equal(times_of(ALONE, input_of(HAN_ALLREDUCE, 64, 1, 256 << 10), whole).single,
                     times_of(ALONE, input_of(HAN_ALLREDUCE, 64, 1, 256 << 10), cut).single);
}

/* In pieces nothing lies behind what goes the other way; and each costs its overhead, and its answer's. */
static void test_exchange_in_pieces(void **state)
{
    const mca_coll_han_input_t input = input_of(HAN_ALLTOALL, 3, 1, 256 << 10);
    const mca_coll_han_params_t whole = { .algorithm = HAN_EXCHANGE },
                                cut = { .algorithm = HAN_EXCHANGE, .ibs = 64 << 10 };
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    mca_coll_han_level_id_t up = HAN_UP;
    uint64_t pieces;

    (void) state;
    machine.levels[up].eager = 64 << 10;
    machine.levels[up].rendezvous = 0;
    assert_int_equal(mca_coll_han_predict(&machine, &input, &cut).row, 2 * 256 * machine.levels[up].rate);
    assert_true(mca_coll_han_predict(&machine, &input, &whole).row > 2 * 256 * machine.levels[up].rate * 4 / 3 - 9);
    machine.levels[up].rate = 0; /* then the processor limits, and be it one */
    machine.cores = 1;
    machine.shared = true;
    /* Of eight pieces at once seven are half the work, beside their bytes; answers are not. */
    pieces = mca_coll_han_message_work(&machine, up, 64 << 10, 0) - 17000000 * 7 / 16
             + mca_coll_han_message_work(&machine, up, 0, 0);
    assert_in_range(mca_coll_han_predict(&machine, &input, &cut).row, 3 * 2 * 4 * (pieces - 1),
                    3 * 2 * 4 * (pieces + 1));
    machine.levels[up].rendezvous = 1000000000; /* an answer is half of it */
    pieces += machine.levels[up].rendezvous / 2 - mca_coll_han_message_work(&machine, up, 0, 0);
    assert_in_range(mca_coll_han_predict(&machine, &input, &cut).row, 3 * 2 * 4 * (pieces - 1),
                    3 * 2 * 4 * (pieces + 1));
    /* What is not longer goes whole. */
    assert_int_equal(times_of(ALONE, input_of(HAN_ALLTOALL, 3, 1, 64 << 10), cut).row,
                     times_of(ALONE, input_of(HAN_ALLTOALL, 3, 1, 64 << 10), whole).row);
}

/* Who shares a core finds what several have sent: of three messages at once two are half the work. */
static void test_messages_that_are_found_together(void **state)
{
    const mca_coll_han_input_t input = input_of(HAN_ALLTOALL, 4, 1, 8);
    const mca_coll_han_params_t exchange = { .algorithm = HAN_EXCHANGE };
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    uint64_t work;

    (void) state;
    machine.levels[HAN_UP].copy = 0;
    work = mca_coll_han_message_work(&machine, HAN_UP, 8, 0);
    machine.shared = true;
    machine.cores = 4;
    assert_int_equal(mca_coll_han_predict(&machine, &input, &exchange).row, 3 * work);
    machine.cores = 1;
    assert_int_equal(mca_coll_han_predict(&machine, &input, &exchange).row,
                     4 * 3 * (work - 5666667)); /* a third of 17 us */
}

static void test_root_sends_to_all_or_to_one(void **state)
{
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 5, 1, 32 << 10);
    const mca_coll_han_times_t linear = times_of(ALONE, input, tree(ADAPT_TREE_LINEAR, 0)),
                               chain = times_of(ALONE, input, tree(ADAPT_TREE_PIPELINE, 0));

    (void) state;
    assert_int_equal(linear.row, 4 * UINT64_C(3200000000)); /* four copies over the root's link */
    assert_int_equal(chain.row, UINT64_C(3200000000));
    assert_int_equal(chain.single, 4 * UINT64_C(3227000000)); /* one hop behind another */
    assert_int_equal(linear.single, UINT64_C(3227000000) + 3 * UINT64_C(3200000000));
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What is behind one another until a rank has a message: hops, each with what its sender serves before, or in all. */
struct way {
    uint64_t hops, turns, all;
    uint64_t children;
};

static struct way way_to(mca_coll_adapt_tree_kind_t kind, int size, int rank)
{
    struct way way = { 0 };
    mca_coll_adapt_tree_t tree, above;

    assert_int_equal(mca_coll_adapt_tree_make(&tree, kind, HAN_RADIX, size, 0, rank), 0);
    way.children = (uint64_t) tree.child_count;
    while (-1 != tree.parent) {
        const int parent = tree.parent;
        int before = 0;

        assert_int_equal(mca_coll_adapt_tree_make(&above, kind, HAN_RADIX, size, 0, parent), 0);
        while (rank != above.children[before]) {
            ++before;
        }
        ++way.hops;
        way.turns += (uint64_t) before;
        way.all += (uint64_t) above.child_count - 1;
        mca_coll_adapt_tree_free(&tree);
        tree = above;
        rank = parent;
    }
    mca_coll_adapt_tree_free(&tree);
    return way;
}

/* Of trees as they are: a message of 27, and who has another one for somebody first takes 8.5. Of 128 KiB, which are
 * asked for, 12887, and 12800 for each that goes at the same time; who passes it on answers behind that. */
static void test_shapes_of_trees(void **state)
{
    static const mca_coll_adapt_tree_kind_t kinds[]
        = { ADAPT_TREE_LINEAR, ADAPT_TREE_BINOMIAL, ADAPT_TREE_PIPELINE,       ADAPT_TREE_BINARY,
            ADAPT_TREE_CHAIN,  ADAPT_TREE_KNOMIAL,  ADAPT_TREE_IN_ORDER_BINARY };

    (void) state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
        for (int size = 2; size <= 140; ++size) {
            uint64_t small = 0, large = 0, busiest = 0, link = 0;
            mca_coll_han_times_t times;

            for (int rank = 0; rank < size; ++rank) {
                const struct way way = way_to(kinds[i], size, rank);

                small = most(small, way.hops * 27000000 + way.turns * 8500000);
                large = most(large, way.hops * UINT64_C(12887000000) + way.all * UINT64_C(12800000000));
                busiest = most(busiest, way.children + (0 < rank));
                link = most(link, way.children + (0 < rank && 0 < way.children));
            }
            times = times_of(ALONE, input_of(HAN_BCAST, size, 1, 0), tree(kinds[i], 0));
            assert_int_equal(times.single, small);
            assert_int_equal(times.row, busiest * 8500000);
            times = times_of(ALONE, input_of(HAN_BCAST, size, 1, 128 << 10), tree(kinds[i], 0));
            assert_int_equal(times.single, large);
            assert_int_equal(times.row, link * UINT64_C(12800000000));
        }
    }
}

/* Where a whole message is asked for, who passes it on answers behind what it sends. */
static void test_a_link_has_what_is_asked_for_behind_what_goes_on(void **state)
{
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 5, 1, 128 << 10), two = input_of(HAN_BCAST, 2, 1, 128 << 10);
    const uint64_t wire = 4 * UINT64_C(3200000000);

    (void) state;
    assert_int_equal(times_of(ALONE, input, tree(ADAPT_TREE_PIPELINE, 0)).row, 2 * wire);
    assert_int_equal(times_of(ALONE, input, tree(ADAPT_TREE_PIPELINE, 32 << 10)).row, wire);
    assert_int_equal(times_of(ALONE, input_of(HAN_BCAST, 5, 1, 1 << 20), tree(ADAPT_TREE_PIPELINE, 128 << 10)).row,
                     8 * wire);
    assert_int_equal(times_of(ALONE, input, tree(ADAPT_TREE_LINEAR, 0)).row, 4 * wire);
    assert_int_equal(times_of(ALONE, two, tree(ADAPT_TREE_PIPELINE, 0)).row, wire);
}

static void test_ranks_of_a_node(void **state)
{
    const mca_coll_han_times_t times = times_of(ALONE, input_of(HAN_BCAST, 1, 4, 1024), tree(ADAPT_TREE_LINEAR, 0));

    (void) state;
    /* 1 + 5 + 1, and two more messages of which the leader's processor has half: 3 each */
    assert_int_equal(times.single, 13000000);
    assert_int_equal(times.row, 9000000);
}

static void test_ranks_that_share_cores(void **state)
{
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 2, 1, 0), longer = input_of(HAN_BCAST, 2, 1, 5 << 10);
    const mca_coll_han_params_t params = tree(ADAPT_TREE_LINEAR, 0);

    (void) state;
    machine.cores = 1;
    machine.shared = true;
    machine.wake = 20000000;
    machine.turn = 5000000;
    /* One wakes, and the other one of its core has its turn. */
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).single, 27000000 + 20000000 + 5000000);
    /* One does the work of both; what is short comes several at a time. */
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).row, 17000000 - 17000000 / 3);
    machine.levels[HAN_UP].rate = 0;
    assert_int_equal(mca_coll_han_predict(&machine, &longer, &params).row, 17000000 + 5 * 1000000);
}

/* Nobody waits for less than what the core has to do: four messages, not one and half of each of three more. */
static void test_work_of_a_shared_core(void **state)
{
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 1, 5, 0);
    const mca_coll_han_params_t params = tree(ADAPT_TREE_LINEAR, 0);

    (void) state;
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).single, 6000000 + 3 * 2500000);
    machine.cores = 1;
    machine.wake = 20000000;
    machine.turn = 5000000;
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).single, 4 * 5000000 + 20000000 + 4 * 5000000);
}

/* Four segments: of each a leader has half of 19 us between nodes and of 7 in the node, and of one of them half of the
 * answers, 17 and 5; where both ranks of a node lead in turn, all four have the same to do. */
static void test_lanes(void **state)
{
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    const mca_coll_han_input_t input = input_of(HAN_REDUCE, 2, 2, 4 << 10);
    mca_coll_han_params_t params = tree(ADAPT_TREE_LINEAR, 1 << 10);

    (void) state;
    machine.levels[HAN_UP].rate = 0;
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).row, 4 * 13000000 + 11000000);
    params.lanes = 2;
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).row, (4 * 33000000 + 27000000) / 4);
    params.irs = 0; /* a message that is not cut has one leader */
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).row, 25000000 / 2 + 13000000 / 2);
}

/* Two ranks pass a chain's segments on, each of 10 us on the link: those of the second lane lie before the first. */
static void test_lanes_share_links(void **state)
{
    const mca_coll_han_machine_t machine = unit_machine(ALONE);
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 4, 2, 64 << 10);
    mca_coll_han_params_t params = tree(ADAPT_TREE_PIPELINE, 1 << 10);
    const uint64_t wire = machine.levels[HAN_UP].rate;
    mca_coll_han_times_t one, two;

    (void) state;
    one = mca_coll_han_predict(&machine, &input, &params);
    params.lanes = 2;
    two = mca_coll_han_predict(&machine, &input, &params);
    assert_int_equal(64 * wire, one.row);
    assert_int_equal(64 * wire, two.row);
    assert_int_equal(one.single + 2 * wire, two.single);
}

/*
 * In a call of a tenth of a second a link has nothing to carry for a sixteenth of the time, that of two lanes for half
 * of that; in a shorter one, and where a node has one rank, it always has.
 */
static void test_a_late_leader(void **state)
{
    enum { PIECES = 1000 };
    const mca_coll_han_machine_t machine = unit_machine(ALONE);
    const uint64_t wire = machine.levels[HAN_UP].rate;
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 4, 2, PIECES << 10),
                               shorter = input_of(HAN_BCAST, 4, 2, (PIECES - 1) << 10),
                               alone = input_of(HAN_BCAST, 4, 1, PIECES << 10);
    mca_coll_han_params_t params = tree(ADAPT_TREE_PIPELINE, 1 << 10);

    (void) state;
    assert_int_equal(UINT64_C(100000000000), PIECES * wire);
    assert_int_equal(PIECES * (wire + wire / 16), mca_coll_han_predict(&machine, &input, &params).row);
    assert_int_equal((PIECES - 1) * wire, mca_coll_han_predict(&machine, &shorter, &params).row);
    assert_int_equal(PIECES * wire, mca_coll_han_predict(&machine, &alone, &params).row);
    params.lanes = 2;
    assert_int_equal(PIECES * (wire + wire / 32), mca_coll_han_predict(&machine, &input, &params).row);
}

/* Of 17 segments five are answered: for each of these the four ranks of one core have a turn, else none. */
static void test_turns_for_segments(void **state)
{
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 2, 2, 17 << 10);
    const mca_coll_han_params_t params = tree(ADAPT_TREE_LINEAR, 1 << 10);
    uint64_t without;

    (void) state;
    machine.levels[HAN_UP].rate = 0;
    machine.shared = true;
    machine.cores = 1;
    without = mca_coll_han_predict(&machine, &input, &params).row;
    machine.turn = 5000000;
    assert_int_equal(without + 5 * 4 * 5000000, mca_coll_han_predict(&machine, &input, &params).row);
    machine.cores = 4;
    machine.turn = 0;
    without = mca_coll_han_predict(&machine, &input, &params).row;
    machine.turn = 5000000;
    assert_int_equal(without, mca_coll_han_predict(&machine, &input, &params).row);
}

/* Where eight ranks share a core, they take two turns a call of SOLO together, else none. */
static void test_turns_for_solo(void **state)
{
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 1, 8, 0);
    const mca_coll_han_params_t params = { .algorithm = HAN_SIMPLE, .smod = HAN_SOLO, .lanes = 1 };

    (void) state;
    machine.turn = 5000000;
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).row, 0);
    machine.cores = 1;
    assert_int_equal(mca_coll_han_predict(&machine, &input, &params).row, 2 * 5000000);
}

/* Two nodes of two ranks with a block of 1 KiB each, which a processor copies in 1 us. */
static void test_blocks_by_levels(void **state)
{
    const mca_coll_han_input_t gathered = input_of(HAN_ALLGATHER, 2, 2, 1024),
                               scattered = input_of(HAN_REDUCE_SCATTER_BLOCK, 2, 2, 1024),
                               swapped = input_of(HAN_ALLTOALL, 2, 2, 1024);
    const mca_coll_han_params_t params = { .algorithm = HAN_SIMPLE, .smod = HAN_SOLO, .lanes = 1 };
    /* The leaders have a message of 2 KiB each way, at once: 10 + 17 + 200 us, and half the work of the other one, 17 +
     * 2; or with 2 to combine. */
    const uint64_t leaders = 227000000 + 19000000 / 2, combining = 229000000 + 21000000 / 2;

    (void) state;
    /* Latency 1 us; a gather is copied twice by each of two ranks, and so are the 4 KiB of the broadcast, once. */
    assert_int_equal(times_of(ALONE, gathered, params).single, leaders + (1 + 2 * 2 + 1 + 2 * 4) * UINT64_C(1000000));
    /* The 4 KiB of the reduction are copied and combined, and a block of the scatter is copied twice. */
    assert_int_equal(times_of(ALONE, scattered, params).single,
                     combining + (1 + 2 * 8 + 1 + 2 * 2) * UINT64_C(1000000));
    /* Each of two ranks has a message of 2 KiB both ways, one behind the other on the link; before that 4 KiB are
     * copied four times. */
    assert_int_equal(times_of(ALONE, swapped, params).single, 427000000 + (1 + 4 * 4) * UINT64_C(1000000));
}

/* An alltoall of 4 KiB of each rank: of the four that share a core 16 KiB are in use, more than is near. */
static void test_caches_that_ranks_share(void **state)
{
    const mca_coll_han_input_t input = input_of(HAN_ALLTOALL, 2, 2, 1024);
    const mca_coll_han_params_t solo = { .algorithm = HAN_SIMPLE, .smod = HAN_SOLO, .lanes = 1 },
                                leaders = { .algorithm = HAN_LEADERS, .lanes = 1 };
    mca_coll_han_machine_t far = unit_machine(ALONE), near;

    (void) state;
    far.cores = 1;
    far.shared = true;
    far.far = far.copy;
    far.levels[HAN_UP].rate = 0;
    near = far;
    far.near = (16 << 10) - 1;
    near.near = 16 << 10;
    /* Each of four copies 4 KiB four times; and each leader walks four times through 8 KiB. */
    assert_int_equal(mca_coll_han_predict(&far, &input, &solo).row,
                     mca_coll_han_predict(&near, &input, &solo).row + 4 * 4 * 4 * far.far);
    assert_int_equal(mca_coll_han_predict(&far, &input, &leaders).row,
                     mca_coll_han_predict(&near, &input, &leaders).row + 2 * 4 * 4 * far.far);
}

/*
 * What goes both ways at once takes its link once: in two rounds of an allgather by doubling, 1 and 2 KiB, which a link
 * carries in 100 us each; but what waits for answers takes it twice.
 */
static void test_both_ways(void **state)
{
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK, .lanes = 1 };
    const mca_coll_han_input_t exchanged = input_of(HAN_ALLTOALL, 2, 1, 64 << 10),
                               asked_for = input_of(HAN_ALLTOALL, 2, 1, 65 << 10);
    const uint64_t wire = 100000000;

    (void) state;
    assert_in_range(times_of(ALONE, input_of(HAN_ALLGATHER, 4, 1, 1024), fallback).single, 3 * wire, 4 * wire - 1);
    assert_in_range(times_of(ALONE, exchanged, fallback).single, 64 * wire, 66 * wire);
    assert_in_range(times_of(ALONE, asked_for, fallback).single, 130 * wire, 132 * wire);
}

/* Two ranks, each with a tree. */
static void test_many_trees(void **state)
{
    const mca_coll_han_input_t shorter = input_of(HAN_ALLGATHER, 2, 1, 1024);
    const mca_coll_han_input_t longer = input_of(HAN_ALLGATHER, 2, 1, 128 << 10);
    const mca_coll_han_params_t whole = tree(ADAPT_TREE_LINEAR, 0), cut = tree(ADAPT_TREE_LINEAR, 64 << 10);

    (void) state;
    /* A message takes 127 us; a link carries one in 100 us, besides the ranks' 18, half of which are on top; the second
     * tree has its turn in one half of all that. */
    assert_int_equal(times_of(ALONE, shorter, whole).single, 127000000 + 109000000 / 2);
    assert_int_equal(times_of(ALONE, shorter, whole).row, 121000000); /* two thirds, for nobody ends before all begin */
    /* The link carries 12800 us; that it is asked for first costs half of these. */
    assert_int_equal(times_of(ALONE, longer, whole).single, UINT64_C(12887000000) + UINT64_C(19292500000) / 2);
    assert_int_equal(times_of(ALONE, longer, cut).single, UINT64_C(12827000000) + UINT64_C(12881000000) / 2);
}

/*
 * What three nodes send to one meets there, but along pipelines, where each hears from one other: those keep their
 * links busy from the first piece to the last, so that a single call takes what the links need.
 */
static void test_what_meets_at_a_link(void **state)
{
    const mca_coll_han_params_t leaders = { .algorithm = HAN_LEADERS, .lanes = 1 };
    const mca_coll_han_input_t blocks = input_of(HAN_ALLGATHER, 4, 1, 32 << 10);
    const uint64_t wire = 3 * 32 * UINT64_C(100000000);
    const mca_coll_han_times_t pipeline = times_of(ALONE, blocks, tree(ADAPT_TREE_PIPELINE, 8 << 10)),
                               linear = times_of(ALONE, blocks, tree(ADAPT_TREE_LINEAR, 8 << 10));

    (void) state;
    assert_in_range(pipeline.row, wire, wire * 102 / 100);
    assert_in_range(pipeline.single, wire, wire * 102 / 100);
    assert_true(linear.row >= wire * 9 / 8);
    assert_true(linear.single > wire * 5 / 4);
    assert_int_equal(times_of(ALONE, blocks, leaders).row, wire * 9 / 8);
    assert_int_equal(times_of(ALONE, input_of(HAN_ALLGATHER, 2, 1, 32 << 10), leaders).row, wire / 3);
}

static void test_calls_that_synchronise_do_not_overlap(void **state)
{
    const mca_coll_han_params_t leaders = { .algorithm = HAN_LEADERS, .lanes = 1 };
    const mca_coll_han_times_t times = times_of(ALONE, input_of(HAN_ALLREDUCE, 4, 4, 8), leaders);

    (void) state;
    assert_true(times.row >= times.single - times.single / 3 - 1);
    assert_true(times.row < times.single);
}

/* What memory adds to a single call, in copies of a KiB: the difference to a machine that copies in no time. */
static uint64_t kib_of_memory(mca_coll_han_input_t input, mca_coll_han_params_t params)
{
    mca_coll_han_machine_t machine = unit_machine(ALONE), free = machine;

    free.copy = 0;
    return (mca_coll_han_predict(&machine, &input, &params).single
            - mca_coll_han_predict(&free, &input, &params).single)
           / machine.copy;
}

/* Four ranks, each with a core: above 16 MB new pages cost four copies. A rank receives six segments of each child, a
 * whole message of each, and has what it sends if it has a parent, too; or, of reductions to each of them, a message of
 * three children of each tree. */
static void test_memory_of_reductions(void **state)
{
    enum { MEGABYTE = 1 << 20, KIB = MEGABYTE / 1024 };
    const mca_coll_han_input_t reduced = input_of(HAN_REDUCE, 4, 1, 6 * MEGABYTE),
                               longer = input_of(HAN_REDUCE, 4, 1, 10 * MEGABYTE),
                               scattered = input_of(HAN_REDUCE_SCATTER, 4, 1, 6 * MEGABYTE),
                               everywhere = input_of(HAN_ALLREDUCE, 4, 1, 24 * MEGABYTE),
                               known = input_of(HAN_ALLGATHER, 4, 1, 6 * MEGABYTE);
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK, .lanes = 1 },
                                simple = { .algorithm = HAN_SIMPLE, .smod = HAN_TUNED, .iralg = ADAPT_TREE_LINEAR },
                                ring = { .algorithm = HAN_RING, .ibalg = ADAPT_TREE_LINEAR, .lanes = 1 };

    (void) state;
    assert_int_equal(kib_of_memory(reduced, tree(ADAPT_TREE_LINEAR, 0)), 4 * 18 * KIB);
    assert_int_equal(kib_of_memory(reduced, tree(ADAPT_TREE_LINEAR, MEGABYTE)), 4 * 18 * KIB);
    assert_int_equal(kib_of_memory(reduced, tree(ADAPT_TREE_LINEAR, MEGABYTE / 2)), 0);
    assert_int_equal(kib_of_memory(reduced, tree(ADAPT_TREE_BINOMIAL, 0)), 0);
    assert_int_equal(kib_of_memory(reduced, simple), 4 * 18 * KIB);
    assert_int_equal(kib_of_memory(longer, tree(ADAPT_TREE_PIPELINE, 0)), 4 * 20 * KIB);
    assert_int_equal(kib_of_memory(scattered, tree(ADAPT_TREE_BINOMIAL, 0)), 4 * 18 * KIB);
    assert_int_equal(kib_of_memory(scattered, fallback), 4 * 30 * KIB);
    assert_int_equal(kib_of_memory(everywhere, ring), 4 * 18 * KIB);
    assert_int_equal(kib_of_memory(known, tree(ADAPT_TREE_LINEAR, 0)), 0);
    assert_int_equal(kib_of_memory(known, fallback), 0);
}

/* ---- what holds on any machine ---- */

static const char *const machines[] = {
    cluster,
    "han-machine 1\nlow latency 300ns overhead 150ns 150ns copy 9GB/s eager 4K rendezvous 1us\n"
    "up latency 1.2us overhead 200ns 300ns copy 50GB/s rate 24GB/s eager 12K rendezvous 500ns\n"
    "memory copy 12GB/s reduce 12GB/s\ncalls step 300ns share 500ns\ncores node 64\n",
    "han-machine 1\nlow latency 1s overhead 1s 1s copy 1B/s\nup latency 1s overhead 1s 1s copy 1B/s rate 1B/s\n"
    "memory copy 1B/s reduce 1B/s\ncores node 1 wake 1s turn 1s shared\n",
};
static const struct {
    int nodes, ppn;
} shapes[] = { { 2, 1 }, { 2, 2 }, { 4, 4 }, { 5, 3 }, { 8, 2 }, { 16, 2 }, { 512, 64 }, { 65536, 128 } };
enum { MACHINES = sizeof(machines) / sizeof(machines[0]), SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

typedef void visit_t(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                     const mca_coll_han_params_t *candidates, long count);

static void visit_call(const mca_coll_han_machine_t *machine, int collective, int nodes, int ppn, size_t bytes,
                       int form, visit_t *visit)
{
    mca_coll_han_candidates_t what
        = { .input = input_of(collective, nodes, ppn, bytes), .lows = { HAN_SOLO, HAN_TUNED }, .low_count = 2 };
    mca_coll_han_params_t *candidates;
    long count;

    what.input.form = (mca_coll_han_form_t) form;
    count = mca_coll_han_candidates_make(&what, &candidates);
    assert_true(0 < count);
    visit(machine, &what.input, candidates, count);
    free(candidates);
}

/* All candidates of all calls on all machines. */
static void for_all(visit_t *visit)
{
    for (int m = 0; m < MACHINES; ++m) {
        const mca_coll_han_machine_t machine = unit_machine(machines[m]);

        for (int s = 0; s < SHAPES; ++s) {
            for (int c = 0; c < HAN_COLLECTIVE_COUNT; ++c) {
                for (size_t bytes = 0; bytes <= (size_t) 1 << 36; bytes = 0 == bytes ? 1 : 16 * bytes) {
                    for (int form = HAN_BLOCKING; form <= HAN_NONBLOCKING; ++form) {
                        visit_call(&machine, c, shapes[s].nodes, shapes[s].ppn, bytes, form, visit);
                    }
                }
            }
        }
    }
}

static void check_growth(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                         const mca_coll_han_params_t *candidates, long count)
{
    for (long i = 0; i < count; ++i) {
        mca_coll_han_input_t more = *input;
        char text[HAN_CANDIDATE_TEXT];
        mca_coll_han_times_t times = mca_coll_han_predict(machine, input, &candidates[i]), longer;

        more.bytes = 2 * input->bytes + 1;
        longer = mca_coll_han_predict(machine, &more, &candidates[i]);
        if (0 == times.single || 0 == times.row || longer.single < times.single || longer.row < times.row) {
            /* Only what is not known of the fallback may change its algorithm between the two. */
            if (HAN_FALLBACK != candidates[i].algorithm || 0 == times.single || 0 == times.row) {
                fail_msg("%s, %d x %d, %zu bytes, %s: %ju and %ju ps, of twice as many %ju and %ju",
                         mca_coll_han_collective_names[input->collective], input->nodes, input->ppn, input->bytes,
                         mca_coll_han_candidate_text(input->collective, &candidates[i], text), (uintmax_t) times.single,
                         (uintmax_t) times.row, (uintmax_t) longer.single, (uintmax_t) longer.row);
            }
        }
    }
}

static void check_something(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                            const mca_coll_han_params_t *candidates, long count)
{
    for (long i = 0; i < count; ++i) {
        const mca_coll_han_times_t times = mca_coll_han_predict(machine, input, &candidates[i]);

        assert_true(UINT64_C(1) << 50 < times.single && UINT64_C(1) << 50 < times.row);
    }
}

/* As many bytes as a number holds: more than fits is as much as fits, not little, and nothing is divided by none. */
static void test_most_bytes(void **state)
{
    const mca_coll_han_machine_t machine = unit_machine(ALONE);

    (void) state;
    for (int c = 0; c < HAN_COLLECTIVE_COUNT; ++c) {
        for (int s = 0; HAN_BARRIER != c && s < SHAPES; ++s) {
            visit_call(&machine, c, shapes[s].nodes, shapes[s].ppn, SIZE_MAX, HAN_BLOCKING, check_something);
        }
    }
}

static void test_more_bytes_take_no_less(void **state)
{
    (void) state;
    for_all(check_growth);
}

/* ---- the pick ---- */

/* Where the fallback is far slower than all. */
static long pick(const mca_coll_han_times_t *times, long count)
{
    return mca_coll_han_pick(times, count, (mca_coll_han_times_t){ UINT64_MAX, UINT64_MAX });
}

static void test_pick(void **state)
{
    const mca_coll_han_times_t alike[] = { { 1010, 1000 }, { 1000, 1010 }, { 1000, 1000 } };
    const mca_coll_han_times_t both[] = { { 100, 1000 }, { 150, 150 }, { 1000, 100 } };
    const mca_coll_han_times_t other[] = { { 500, 800 }, { 200, 800 }, { 100, 1000 }, { 1000, 100 } };
    const mca_coll_han_times_t endless[] = { { UINT64_MAX, UINT64_MAX }, { 5, UINT64_MAX }, { 0, 7 } };
    const uint64_t second = UINT64_C(1000000000000);
    const mca_coll_han_times_t minutes[]
        = { { 650 * second, 360 * second }, { 480 * second, 360 * second }, { 360 * second, 36000 * second } };

    (void) state;
    assert_int_equal(pick(NULL, 0), -1);
    assert_int_equal(pick(both, 1), 0);
    assert_int_equal(pick(alike, 3), 0);
    assert_int_equal(pick(both, 3), 1);
    assert_int_equal(pick(other, 4), 1);
    assert_int_equal(pick(endless, 3), 2);
    assert_int_equal(pick(minutes, 3), 1);
}

/* Who loses to the fallback by one clock must win by far by the other one. */
static void test_pick_beside_the_fallback(void **state)
{
    const mca_coll_han_times_t first[] = { { 1000, 1000 }, { 500, 1250 }, { 300, 1260 } };
    const mca_coll_han_times_t far[] = { { 1000, 1000 }, { 120, 2000 } };
    const mca_coll_han_times_t others[] = { { 300, 1260 }, { 200, 1300 } };

    (void) state;
    assert_int_equal(mca_coll_han_pick(first, 1, first[0]), 0);
    assert_int_equal(pick(first, 3), 2);
    assert_int_equal(mca_coll_han_pick(first, 3, first[0]), 1);
    assert_int_equal(mca_coll_han_pick(far, 2, far[0]), 1);
    assert_int_equal(mca_coll_han_pick(others, 2, first[0]), 1);
}

/* The fallback's chain: of two ranks of a node each has one message between nodes at most; alone on a node, two. */
static void test_chain(void **state)
{
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK };
    const mca_coll_han_times_t pairs = times_of(ALONE, input_of(HAN_SCAN, 2, 2, 0), fallback),
                               alone = times_of(ALONE, input_of(HAN_SCAN, 4, 1, 0), fallback);

    (void) state;
    assert_int_equal(pairs.single, 27000000 + 2 * 6000000);
    assert_int_equal(pairs.row, 8500000 + 2500000);
    assert_int_equal(alone.single, 3 * 27000000);
    assert_int_equal(alone.row, 17000000);
}

/* Links limit: one has a KiB in a millisecond. */
#define LINKS                                                                                                          \
    "han-machine 1\nlow latency 1ns overhead 1ns 1ns copy 1TB/s\n"                                                     \
    "up latency 1ns overhead 1ns 1ns copy 1TB/s rate 1.024MB/s\n"                                                      \
    "memory copy 1TB/s reduce 1TB/s\ncores node 8\n"

/* A call of the fallback, and what it takes. */
struct over_a_link {
    mca_coll_han_collective_t collective;
    int nodes, ppn;
    size_t bytes;
    uint64_t kib; /* over the busiest link, one way */
};

static void assert_over_a_link(const struct over_a_link *wanted, bool in_order)
{
    const uint64_t wire = wanted->kib * UINT64_C(1000000000);
    mca_coll_han_input_t call = input_of(wanted->collective, wanted->nodes, wanted->ppn, wanted->bytes);

    call.in_order = in_order;
    assert_in_range(times_of(LINKS, call, (mca_coll_han_params_t){ .algorithm = HAN_FALLBACK }).row, wire,
                    wire * 101 / 100);
}

/* What goes over the busiest link tells which algorithm the fallback is taken for. */
static void test_algorithms_of_the_fallback(void **state)
{
    static const struct over_a_link rows[] = {
        { HAN_BCAST, 4, 1, 1024, 2 },     /* a binary tree */
        { HAN_BCAST, 8, 2, 1024, 3 + 2 }, /* of three children in a round: four ranks, and two beside the root's node */
        { HAN_BCAST, 8, 2, 8192, 2 * 3 * 8 },    /* of one: both ranks of the root's node send in three rounds */
        { HAN_BCAST, 8, 1, 128 << 10, 7 * 128 }, /* from the root to all */
        { HAN_BCAST, 8, 2, 1 << 20, 7 * 128 + 2 * (2 + 4 + 8) * 64 }, /* blocks to all, and all to each */
        { HAN_REDUCE, 8, 2, 1024, 2 * 2 },        /* a binary tree: both ranks of a node have two children */
        { HAN_REDUCE, 8, 2, 8192, 3 * 8 },        /* one of nodes */
        { HAN_ALLREDUCE, 8, 2, 2048, 2 * 3 * 2 }, /* doubling */
        { HAN_ALLREDUCE, 8, 2, 8192, 2 * 2 * (4 + 2 + 1) / 2 }, /* halving: first in the nodes, and back */
        { HAN_ALLGATHER, 9, 1, 1024, 1 + 2 + 4 + 1 },           /* all but eight are known before the last round */
        { HAN_ALLGATHER, 8, 2, 1024, 2 * (2 + 4 + 8) },
        { HAN_ALLGATHER, 16, 2, 2048, 16 * 2 * 2 },  /* between neighbours, two blocks in a round */
        { HAN_ALLGATHER, 16, 2, 64 << 10, 31 * 64 }, /* a ring */
        { HAN_ALLGATHERV, 8, 2, 1024, 2 * (2 + 4 + 8) },
        { HAN_ALLGATHERV, 16, 2, 8 << 10, 31 * 8 },
        { HAN_REDUCE_SCATTER, 8, 2, 1024, 2 * (8 + 4 + 2) }, /* halving, first between the nodes */
        { HAN_REDUCE_SCATTER, 8, 2, 32 << 10, 15 * 32 },
        { HAN_REDUCE_SCATTER, 16, 2, 15 << 10, 2 * (16 + 8 + 4 + 2) * 15 },
        { HAN_REDUCE_SCATTER, 16, 2, 16 << 10, 31 * 16 },
        { HAN_REDUCE_SCATTER_BLOCK, 8, 2, 1024, 2 * (8 + 4 + 2) },
        { HAN_REDUCE_SCATTER_BLOCK, 8, 2, 1 << 20, 3 * 16384 + 14 * 1024 }, /* a reduce of all, then a scatter */
        { HAN_ALLTOALL, 8, 2, 256, 2 * 3 * 2 },                             /* half of all blocks in a round */
        { HAN_ALLTOALL, 8, 2, 1024, 2 * 14 },
        { HAN_GATHER, 8, 2, 1024, 14 },
        { HAN_SCATTER, 8, 2, 1024, 14 },
        { HAN_SCATTER, 32, 1, 1024, 31 },
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        assert_over_a_link(&rows[i], true);
    }
}

/* Rounds of messages of 27 both ways, or to a root and back; who has one more at once takes 8.5. */
static void test_barrier_of_the_fallback(void **state)
{
    static const struct {
        int ranks;
        uint64_t time;
    } rows[] = {
        { 3, 2 * 27000000 + 27000000 + 8500000 },
        /* two of them; the third tells one, and hears from it */ { 4, 2 * (27000000 + 2 * 8500000) },
        { 7, 2 * (27000000 + 5 * 8500000) },
        { 8, 3 * (27000000 + 8500000) },
        { 63, 2 * 27000000 + 5 * (27000000 + 8500000) },
        { 64, 6 * (27000000 + 8500000) },
        { 255, 8 * (27000000 + 8500000) },
        { 256, 2 * 8 * 27000000 },
        { 512, 9 * (27000000 + 8500000) },
        { 1024, 2 * 10 * 27000000 },
        { 4096, 12 * (27000000 + 8500000) },
    };
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        assert_int_equal(times_of(ALONE, input_of(HAN_BARRIER, rows[i].ranks, 1, 0), fallback).single, rows[i].time);
    }
}

/* Its scatters go along a tree, whose ranks pass blocks on, or straight from the root: seen of Open MPI 4.1.4. */
static void test_scatters_of_the_fallback(void **state)
{
    static const struct {
        int ranks;
        size_t bytes;
        bool passed_on;
    } rows[] = { { 16, 8191, true },   { 24, 8192, true },  { 24, 16384, false }, { 32, 511, true },
                 { 32, 512, false },   { 32, 8191, false }, { 32, 8192, true },   { 40, 16383, true },
                 { 40, 16384, false }, { 64, 511, true },   { 64, 8192, false } };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
        const mca_coll_han_input_t input = input_of(HAN_SCATTER, rows[i].ranks, 1, rows[i].bytes);
        const uint64_t direct = times_of(ALONE, input, (mca_coll_han_params_t){ .algorithm = HAN_EXCHANGE }).single;
        const uint64_t usual = times_of(ALONE, input, (mca_coll_han_params_t){ .algorithm = HAN_FALLBACK }).single;

        assert_true(rows[i].passed_on ? direct < usual : direct == usual);
    }
}

/* The same where nodes have one rank after another: what goes to a near rank leaves the node. */
static void test_scattered_ranks_of_the_fallback(void **state)
{
    static const struct over_a_link rows[] = {
        { HAN_BCAST, 4, 4, 1024, 4 * 3 },      /* four ranks of the root's node have the three next ones below them */
        { HAN_BCAST, 4, 4, 8192, 2 * 8 },      /* one rank of each node has sent when all nodes have it */
        { HAN_REDUCE, 4, 4, 8192, 4 * 2 * 8 }, /* in each node four ranks have branches of two and of one rank */
        { HAN_REDUCE, 3, 16, 8192, (8 + 4 + 2 + 1 + 1 + 1) * 8 },
        { HAN_ALLREDUCE, 4, 4, 8192, 2 * 4 * (4 + 2) }, /* the halves and quarters leave the node */
        { HAN_ALLGATHER, 4, 4, 1024, 4 * (1 + 2) },
        { HAN_REDUCE_SCATTER, 4, 4, 1024, 4 * (1 + 2) },
        { HAN_REDUCE_SCATTER, 4, 4, 32 << 10, 4 * 15 * 32 },
        { HAN_GATHER, 4, 4, 1024, 4 * (1 + 2) },
        { HAN_SCATTER, 4, 4, 1024, 4 * (1 + 2) },
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        assert_over_a_link(&rows[i], false);
    }
}

/* What is short counts as it is, what is longer than the eager limit a third more, unless blocks only come and go, or
 * go on as they are. */
static void test_what_is_known_of_the_fallback(void **state)
{
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK };
    const uint64_t kib = 100000000, asked = 67000000 + 20000000 + 65 * kib;
    mca_coll_han_input_t gather = input_of(HAN_GATHER, 4, 1, 128), ordered = input_of(HAN_ALLREDUCE, 8, 1, 64 << 10);

    (void) state;
    /* Each of two sends, and receives. */
    assert_int_equal(times_of(ALONE, input_of(HAN_ALLREDUCE, 2, 1, 0), fallback).single, 27000000 + 17000000 / 2);
    assert_int_equal(times_of(ALONE, input_of(HAN_ALLGATHER, 2, 1, 0), fallback).single, 27000000 + 17000000 / 2);
    assert_int_equal(times_of(ALONE, input_of(HAN_BCAST, 2, 1, 0), fallback).single, 27000000);
    assert_int_equal(times_of(ALONE, input_of(HAN_BCAST, 2, 1, 1024), fallback).single, 127000000);
    assert_int_equal(times_of(ALONE, input_of(HAN_BCAST, 2, 1, 65 << 10), fallback).single, asked + asked / 3);
    assert_int_equal(times_of(ALONE, input_of(HAN_SCATTER, 2, 1, 65 << 10), fallback).single, asked);
    assert_int_equal(times_of(ALONE, input_of(HAN_ALLGATHERV, 2, 1, 65 << 10), fallback).single,
                     times_of(ALONE, input_of(HAN_ALLGATHER, 2, 1, 65 << 10), fallback).single * 4 / 3);
    /* Who has three children serves the last one 17 us after the first one, in each of two rounds. */
    assert_int_equal(times_of(ALONE, input_of(HAN_BCAST, 16, 1, 0), fallback).single, 2 * (27000000 + 17000000));
    assert_int_equal(times_of(ALONE, input_of(HAN_SCAN, 2, 1, 0), fallback).row, 8500000);
    /* Many ranks reduce what is short, and broadcast it. */
    assert_int_equal(times_of(ALONE, input_of(HAN_ALLREDUCE, 128, 1, 64 << 10), fallback).single,
                     times_of(ALONE, input_of(HAN_REDUCE, 128, 1, 64 << 10), fallback).single
                         + times_of(ALONE, input_of(HAN_BCAST, 128, 1, 64 << 10), fallback).single);
    /* An operation that does not commute leaves it doubling, or a reduction of all blocks and a scatter. */
    ordered.commutes = false;
    assert_int_equal(times_of(ALONE, ordered, fallback).row, 3 * 64 * kib);
    ordered.collective = HAN_REDUCE_SCATTER;
    ordered.bytes = 1024;
    assert_int_equal(times_of(ALONE, ordered, fallback).row, (3 * 8 + 7) * kib);
    /* Few ranks gather short blocks, and broadcast them; so, all at once, does a schedule gather them. */
    gather.form = HAN_NONBLOCKING;
    assert_int_equal(times_of(ALONE, input_of(HAN_ALLGATHERV, 4, 1, 128), fallback).single,
                     times_of(ALONE, gather, fallback).single
                         + times_of(ALONE, input_of(HAN_BCAST, 4, 1, 512), fallback).single);
    /* The root of a gather asks one rank after another. */
    assert_int_equal(times_of(ALONE, input_of(HAN_GATHER, 4, 1, 65 << 10), fallback).single, 3 * asked);
    assert_int_equal(times_of(ALONE, input_of(HAN_GATHER, 4, 1, 65 << 10), fallback).row, 3 * asked);
}

/* Three messages, of 1, 2 and 4 blocks: of nothing they take less of a root than seven, of something longer. */
static void test_blocks_along_a_tree(void **state)
{
    const mca_coll_han_params_t linear = { .algorithm = HAN_LEADERS, .ibalg = ADAPT_TREE_LINEAR },
                                binomial = { .algorithm = HAN_LEADERS, .ibalg = ADAPT_TREE_BINOMIAL };
    const mca_coll_han_input_t empty = input_of(HAN_GATHER, 8, 1, 0), blocks = input_of(HAN_SCATTER, 8, 1, 1024);

    (void) state;
    assert_int_equal(times_of(ALONE, empty, linear).single, 27000000 + 6 * 8500000);
    assert_int_equal(times_of(ALONE, empty, linear).row, 7 * 8500000);
    assert_int_equal(times_of(ALONE, empty, binomial).single, 3 * 27000000);
    assert_int_equal(times_of(ALONE, empty, binomial).row, 3 * 8500000);
    /* 27 and, of each block, 100 by the link and 1 for a copy */
    assert_int_equal(times_of(ALONE, blocks, linear).single, 128000000 + 6 * 100000000);
    assert_int_equal(times_of(ALONE, blocks, binomial).single, 3 * 27000000 + 7 * 101000000);
    assert_int_equal(times_of(ALONE, blocks, binomial).row, 7 * 100000000);
}

/* Where the blocks of a node do not lie side by side, the root copies what is for other nodes once more. */
static void test_blocks_in_pieces(void **state)
{
    const mca_coll_adapt_tree_kind_t trees[] = { ADAPT_TREE_LINEAR, ADAPT_TREE_BINOMIAL };
    const mca_coll_han_collective_t collectives[] = { HAN_GATHER, HAN_SCATTER };

    (void) state;
    for (int i = 0; i < 4; ++i) {
        const mca_coll_han_params_t leaders = { .algorithm = HAN_LEADERS, .ibalg = trees[i % 2] };
        mca_coll_han_input_t blocks = input_of(collectives[i / 2], 4, 2, 1024);
        const uint64_t consecutive = times_of(ALONE, blocks, leaders).single;

        blocks.in_order = false;
        assert_int_equal(times_of(ALONE, blocks, leaders).single, consecutive + 3 * 2 * 1000000);
    }
}

/* Of blocks that differ leaders have linear trees, and the root sorts all. */
static void test_leaders_where_the_root_alone_knows(void **state)
{
    const mca_coll_han_params_t linear
        = { .algorithm = HAN_LEADERS, .ibalg = ADAPT_TREE_LINEAR, .sbalg = ADAPT_TREE_LINEAR },
        binomial = { .algorithm = HAN_LEADERS, .ibalg = ADAPT_TREE_BINOMIAL, .sbalg = ADAPT_TREE_BINOMIAL };
    mca_coll_han_input_t gather = input_of(HAN_GATHER, 8, 16, 512), scatter = input_of(HAN_SCATTER, 8, 16, 512);
    const mca_coll_han_input_t gatherv = input_of(HAN_GATHERV, 8, 16, 512),
                               scatterv = input_of(HAN_SCATTERV, 8, 16, 512);
    uint64_t gathered, scattered;

    (void) state;
    gather.in_order = scatter.in_order = false;
    gathered = times_of(ALONE, gather, linear).single;
    scattered = times_of(ALONE, scatter, linear).single;
    assert_int_equal(times_of(ALONE, gatherv, linear).single, gathered);
    assert_int_equal(times_of(ALONE, gatherv, binomial).single, gathered);
    assert_int_equal(times_of(ALONE, scatterv, linear).single, scattered);
}

/* Four ranks share a core. A root's messages in nodes and between them have one turn; behind a leader each has its own.
 */
static void test_turns_for_both_levels(void **state)
{
    enum { TURN = 5000000, OTHERS = 3 };
    const mca_coll_han_params_t exchange = { .algorithm = HAN_EXCHANGE },
                                leaders = { .algorithm = HAN_LEADERS, .ibalg = ADAPT_TREE_LINEAR };
    mca_coll_han_machine_t idle = unit_machine(ALONE), machine;

    (void) state;
    idle.cores = 4;
    idle.shared = true;
    machine = idle;
    machine.turn = TURN;
    for (int i = 0; i < 2; ++i) {
        const mca_coll_han_input_t blocks = input_of(0 == i ? HAN_GATHER : HAN_SCATTER, 4, 4, 8);
        const uint64_t direct = mca_coll_han_predict(&idle, &blocks, &exchange).single,
                       by_leaders = mca_coll_han_predict(&idle, &blocks, &leaders).single;

        assert_int_equal(mca_coll_han_predict(&machine, &blocks, &exchange).single, direct + OTHERS * TURN);
        assert_int_equal(mca_coll_han_predict(&machine, &blocks, &leaders).single, by_leaders + 2 * OTHERS * TURN);
    }
}

/* Sixteen ranks: two rounds of three children each, or four messages one behind another; linear where that is asked
 * for. */
static void test_tree_of_a_large_node(void **state)
{
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    const mca_coll_han_input_t bcast = input_of(HAN_BCAST, 1, 16, 0), gather = input_of(HAN_GATHER, 1, 16, 0);
    mca_coll_han_params_t params = tree(ADAPT_TREE_LINEAR, 0), leaders = { .algorithm = HAN_LEADERS };

    (void) state;
    machine.cores = 16;
    assert_int_equal(mca_coll_han_predict(&machine, &bcast, &params).single, 2 * 6000000 + 4 * 2500000);
    assert_int_equal(mca_coll_han_predict(&machine, &gather, &leaders).single, 4 * 6000000);
    params.sbalg = leaders.sbalg = ADAPT_TREE_LINEAR;
    assert_int_equal(mca_coll_han_predict(&machine, &bcast, &params).single, 6000000 + 14 * 2500000);
    assert_int_equal(mca_coll_han_predict(&machine, &gather, &leaders).single, 6000000 + 14 * 2500000);
}

/* The fallback's, or direct messages: where the form is another, and of long blocks of many ranks. */
static void test_tree_of_the_fallback(void **state)
{
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK }, exchange = { .algorithm = HAN_EXCHANGE };
    mca_coll_han_input_t gather = input_of(HAN_GATHER, 8, 1, 0), scatter = input_of(HAN_SCATTER, 16, 1, 512);
    uint64_t direct;

    (void) state;
    assert_int_equal(times_of(ALONE, gather, fallback).single, 3 * 27000000);
    gather.form = HAN_NONBLOCKING;
    direct = times_of(ALONE, gather, exchange).single;
    assert_int_equal(times_of(ALONE, gather, fallback).single, direct);
    direct = times_of(ALONE, scatter, exchange).single;
    assert_int_not_equal(times_of(ALONE, scatter, fallback).single, direct);
    scatter.nodes = 32;
    direct = times_of(ALONE, scatter, exchange).single;
    assert_int_equal(times_of(ALONE, scatter, fallback).single, direct);
    scatter.bytes = 256;
    direct = times_of(ALONE, scatter, exchange).single;
    assert_int_not_equal(times_of(ALONE, scatter, fallback).single, direct);
}

/* A node's ranks and its leader wait for each other in each scan, here for a turn; a chain of ranks waits for nobody.
 */
static void test_scans_by_leaders_wait_in_nodes(void **state)
{
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK }, leaders = { .algorithm = HAN_LEADERS };
    const mca_coll_han_input_t whole = input_of(HAN_SCAN, 4, 4, 8), flat = input_of(HAN_SCAN, 4, 1, 8);
    mca_coll_han_machine_t machine = unit_machine(ALONE);
    mca_coll_han_times_t times;

    (void) state;
    machine.cores = 1;
    machine.shared = true;
    machine.turn = 1000000000;
    times = mca_coll_han_predict(&machine, &whole, &leaders);
    assert_int_equal(times.row, times.single / 2);
    times = mca_coll_han_predict(&machine, &flat, &leaders);
    assert_true(times.row < times.single / 10);
    times = mca_coll_han_predict(&machine, &whole, &fallback);
    assert_true(times.row < times.single / 10);
}

/* Of nonblocking calls: rounds of messages of 27, of 1 KiB 127; who has more at once takes 8.5, or 100. */
static void test_schedule_of_the_fallback(void **state)
{
    static const struct {
        mca_coll_han_collective_t collective;
        int nodes;
        size_t bytes;
        uint64_t path, unknown; /* of which a third is added */
    } rows[] = {
        { HAN_BCAST, 4, 1024, 127000000 + 2 * 100000000, 127000000 + 2 * 100000000 }, /* on the link of the root */
        { HAN_BCAST, 8, 1024, 3 * 127000000, 3 * 127000000 },
        { HAN_REDUCE, 8, 0, 3 * 27000000, 3 * 27000000 },
        { HAN_ALLREDUCE, 8, 0, 2 * 3 * 27000000, 2 * 3 * 27000000 },
        { HAN_BARRIER, 8, 0, 3 * (27000000 + 8500000), 3 * (27000000 + 8500000) },
        { HAN_ALLGATHER, 8, 0, 27000000 + 13 * 8500000, 27000000 + 13 * 8500000 },
        { HAN_REDUCE_SCATTER_BLOCK, 8, 0, 4 * 27000000 + 6 * 8500000, 4 * 27000000 + 6 * 8500000 },
        { HAN_GATHER, 8, 0, 27000000 + 6 * 8500000, 0 },
    };
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK };
    mca_coll_han_machine_t machine = unit_machine(ALONE);

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        mca_coll_han_input_t call = input_of(rows[i].collective, rows[i].nodes, 1, rows[i].bytes);

        call.form = HAN_NONBLOCKING;
        assert_int_equal(times_of(ALONE, call, fallback).single, rows[i].path + rows[i].unknown / 3);
    }
    /* and for each of three rounds a step of who begins it, and a third of that */
    machine.step = 1000000;
    for (size_t i = 1; i < 3; ++i) {
        mca_coll_han_input_t call = input_of(rows[i].collective, rows[i].nodes, 1, rows[i].bytes);

        call.form = HAN_PERSISTENT;
        assert_int_equal(mca_coll_han_predict(&machine, &call, &fallback).single,
                         rows[i].path + rows[i].unknown / 3 + 4000000);
    }
}

/* Halves to ranks ever farther away, and back: of what is long, and has an element for each rank. */
static void test_halves_of_the_fallback(void **state)
{
    const mca_coll_han_params_t fallback = { .algorithm = HAN_FALLBACK };
    mca_coll_han_input_t reduce = input_of(HAN_REDUCE, 8, 1, 64), allreduce = input_of(HAN_ALLREDUCE, 8, 1, 64 << 10);
    mca_coll_han_input_t in_place = allreduce, shorter = allreduce, ordered = allreduce;

    (void) state;
    reduce.form = allreduce.form = in_place.form = shorter.form = ordered.form = HAN_NONBLOCKING;
    in_place.in_place = true;
    ordered.commutes = false;
    --shorter.bytes;
    /* six rounds instead of three */
    assert_true(times_of(ALONE, reduce, fallback).single > 2 * 3 * 27000000);
    reduce.commutes = false;
    assert_true(times_of(ALONE, reduce, fallback).single < 2 * 3 * 27000000);
    reduce.commutes = true;
    reduce.bytes = 63;
    assert_true(times_of(ALONE, reduce, fallback).single < 2 * 3 * 27000000);
    /* the same rounds, together of the bytes of two */
    assert_true(3 * times_of(ALONE, allreduce, fallback).single < 2 * times_of(ALONE, in_place, fallback).single);
    assert_true(3 * times_of(ALONE, allreduce, fallback).single < 2 * times_of(ALONE, shorter, fallback).single);
    assert_true(3 * times_of(ALONE, allreduce, fallback).single < 2 * times_of(ALONE, ordered, fallback).single);
}

static mca_coll_han_params_t in_groups(mca_coll_adapt_tree_kind_t kind, size_t segment, int groups)
{
    mca_coll_han_params_t params = tree(kind, segment);

    params.algorithm = HAN_GROUPS;
    params.groups = groups;
    return params;
}

/* One group is the tree as it was, and so is one for each rank. */
static void assert_one_group_changes_nothing(mca_coll_han_collective_t collective, mca_coll_adapt_tree_kind_t kind)
{
    const mca_coll_han_input_t input = input_of(collective, 16, 1, 64 << 10);
    const mca_coll_han_times_t plain = times_of(ALONE, input, tree(kind, 8 << 10)),
                               one = times_of(ALONE, input, in_groups(kind, 8 << 10, 1)),
                               each = times_of(ALONE, input, in_groups(kind, 8 << 10, 16));

    assert_memory_equal(&plain, &one, sizeof(plain));
    assert_memory_equal(&plain, &each, sizeof(plain));
}

static void test_groups(void **state)
{
    const mca_coll_han_input_t input = input_of(HAN_BCAST, 16, 1, 1024), node = input_of(HAN_BCAST, 4, 4, 1024);
    const uint64_t message = 127000000, wire = 100000000;

    (void) state;
    /* The last leader waits for two others, and the last one of its group for two: formula 8 of the paper, 4 + 4 - 2.
     */
    assert_int_equal(times_of(ALONE, input, in_groups(ADAPT_TREE_LINEAR, 0, 4)).single, 2 * message + 4 * wire);
    assert_int_equal(times_of(ALONE, input, in_groups(ADAPT_TREE_LINEAR, 0, 4)).row, 6 * wire);
    /* Formula 10, with a leader's link busy twice for each segment. */
    assert_int_equal(times_of(ALONE, input, in_groups(ADAPT_TREE_PIPELINE, 0, 4)).single, 6 * message);
    assert_int_equal(times_of(ALONE, input, in_groups(ADAPT_TREE_PIPELINE, 512, 4)).single,
                     6 * (message - wire / 2) + wire);
    for (int kind = ADAPT_TREE_BINOMIAL; kind <= ADAPT_TREE_KNOMIAL; ++kind) {
        assert_one_group_changes_nothing(HAN_BCAST, (mca_coll_adapt_tree_kind_t) kind);
        assert_one_group_changes_nothing(HAN_REDUCE, (mca_coll_adapt_tree_kind_t) kind);
        assert_one_group_changes_nothing(HAN_ALLREDUCE, (mca_coll_adapt_tree_kind_t) kind);
    }
    /* Groups that are nodes. */
    assert_int_equal(times_of(ALONE, node, in_groups(ADAPT_TREE_LINEAR, 0, 0)).single,
                     times_of(ALONE, node, tree(ADAPT_TREE_LINEAR, 0)).single);
}

static mca_coll_han_algorithm_id_t scans_by(int nodes, int ppn)
{
    const mca_coll_han_input_t input = input_of(HAN_SCAN, nodes, ppn, 8);
    const mca_coll_han_algorithm_id_t algorithms[] = { HAN_FALLBACK, HAN_LEADERS };
    mca_coll_han_times_t times[2];

    for (int i = 0; i < 2; ++i) {
        times[i] = times_of(cluster, input, (mca_coll_han_params_t){ .algorithm = algorithms[i], .lanes = 1 });
    }
    return algorithms[mca_coll_han_pick(times, 2, times[0])];
}

/* Without HAN a scan is a chain of all ranks: the least work in a row, but who makes a single one waits for them all.
 */
static void test_scans(void **state)
{
    (void) state;
    assert_int_equal(scans_by(4, 4), HAN_FALLBACK);
    assert_int_equal(scans_by(512, 64), HAN_LEADERS);
}

/* Few leaders each tell all; of eight, each hears three times, for which it has half of two messages to do. Where ranks
 * are not consecutive, all of them lead, and all links of a chain cross the network. */
static void test_scans_by_leaders(void **state)
{
    const mca_coll_han_params_t leaders = { .algorithm = HAN_LEADERS, .lanes = 1 },
                                cut = { .algorithm = HAN_LEADERS, .ibs = 1 << 10, .lanes = 1 },
                                fallback = { .algorithm = HAN_FALLBACK, .lanes = 1 };
    mca_coll_han_input_t input = input_of(HAN_SCAN, 2, 4, 0), longer = input_of(HAN_SCAN, 2, 4, 8 << 10);
    const uint64_t hop = 27000000, half = 8500000, doubling = 3 * (hop + half);

    (void) state;
    assert_int_equal(times_of(ALONE, input_of(HAN_SCAN, 4, 1, 0), leaders).single, hop + 2 * half);
    assert_int_equal(times_of(ALONE, input_of(HAN_SCAN, 8, 1, 0), leaders).single, doubling);
    input.in_order = longer.in_order = false;
    assert_int_equal(times_of(ALONE, input, leaders).single, doubling);
    assert_int_equal(times_of(ALONE, input, fallback).single, 7 * hop);
    /* Of 1 KiB each link takes 100 us, and has those of four ranks; alone, also 2 for copy and combining. */
    assert_int_equal(times_of(ALONE, longer, cut).row, 8 * 4 * UINT64_C(100000000));
    assert_int_equal(times_of(ALONE, longer, fallback).row, 8 * 4 * UINT64_C(100000000));
    assert_true(times_of(ALONE, longer, cut).single < times_of(ALONE, longer, fallback).single);
}

/* Of a message that is cut the pieces follow one another: each hop once, and the link for all others. What an exscan
 * copies is copied before it comes. Short messages that nobody waits for gather before the link. */
static void test_scans_in_a_chain(void **state)
{
    const mca_coll_han_params_t whole = { .algorithm = HAN_CHAIN, .lanes = 1 },
                                cut = { .algorithm = HAN_CHAIN, .ibs = 1 << 10, .lanes = 1 },
                                cut_by_leaders = { .algorithm = HAN_LEADERS, .ibs = 1 << 10, .lanes = 1 },
                                fallback = { .algorithm = HAN_FALLBACK, .lanes = 1 };
    const mca_coll_han_params_t *const all[] = { &whole, &cut, &cut_by_leaders, &fallback };
    const mca_coll_han_input_t scan = input_of(HAN_SCAN, 4, 1, 8 << 10);
    mca_coll_han_input_t in_place = scan;
    const uint64_t hop = 27000000, kib = 1000000, wire = 100 * kib;

    (void) state;
    assert_int_equal(times_of(ALONE, input_of(HAN_SCAN, 4, 1, 0), whole).single, 3 * hop);
    assert_int_equal(times_of(ALONE, scan, whole).single, 3 * (hop + 8 * wire + 8 * kib));
    assert_int_equal(times_of(ALONE, scan, cut).single, 3 * (hop + wire + kib) + 7 * wire);
    assert_int_equal(times_of(ALONE, input_of(HAN_EXSCAN, 4, 1, 8 << 10), cut).single,
                     times_of(ALONE, scan, cut).single);
    assert_int_equal(times_of(ALONE, scan, cut).row, 8 * wire);
    assert_int_equal(times_of(ALONE, scan, whole).row, 8 * wire + 8 * wire / 3);
    /* Each rank may have its operand in place or not: all predict the same. */
    in_place.in_place = true;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        assert_int_equal(times_of(ALONE, in_place, *all[i]).single, times_of(ALONE, scan, *all[i]).single);
        assert_int_equal(times_of(ALONE, in_place, *all[i]).row, times_of(ALONE, scan, *all[i]).row);
    }
    /* Who has no ranks to lead is a link of the chain. */
    assert_int_equal(times_of(ALONE, scan, cut_by_leaders).single, times_of(ALONE, scan, cut).single);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_written_and_read),
        cmocka_unit_test(test_what_is_wrong),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_one_message),
        cmocka_unit_test(test_rendezvous),
        cmocka_unit_test(test_buffer),
        cmocka_unit_test(test_sends),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_exchange_in_pieces),
        cmocka_unit_test(test_many_leaders_have_few_blocks),
        cmocka_unit_test(test_messages_that_are_found_together),
        cmocka_unit_test(test_root_sends_to_all_or_to_one),
        cmocka_unit_test(test_shapes_of_trees),
        cmocka_unit_test(test_a_link_has_what_is_asked_for_behind_what_goes_on),
        cmocka_unit_test(test_ranks_of_a_node),
        cmocka_unit_test(test_ranks_that_share_cores),
        cmocka_unit_test(test_work_of_a_shared_core),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_lanes_share_links),
        cmocka_unit_test(test_a_late_leader),
        cmocka_unit_test(test_turns_for_segments),
        cmocka_unit_test(test_turns_for_solo),
        cmocka_unit_test(test_blocks_by_levels),
        cmocka_unit_test(test_caches_that_ranks_share),
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_many_trees),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_algorithms_of_the_fallback),
        cmocka_unit_test(test_barrier_of_the_fallback),
        cmocka_unit_test(test_scatters_of_the_fallback),
        cmocka_unit_test(test_scattered_ranks_of_the_fallback),
        cmocka_unit_test(test_what_is_known_of_the_fallback),
        cmocka_unit_test(test_blocks_along_a_tree),
        cmocka_unit_test(test_blocks_in_pieces),
        cmocka_unit_test(test_leaders_where_the_root_alone_knows),
        cmocka_unit_test(test_turns_for_both_levels),
        cmocka_unit_test(test_tree_of_a_large_node),
        cmocka_unit_test(test_tree_of_the_fallback),
        cmocka_unit_test(test_scans_by_leaders_wait_in_nodes),
        cmocka_unit_test(test_schedule_of_the_fallback),
        cmocka_unit_test(test_halves_of_the_fallback),
        cmocka_unit_test(test_pick_beside_the_fallback),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_scans_by_leaders),
        cmocka_unit_test(test_scans_in_a_chain),
        cmocka_unit_test(test_what_meets_at_a_link),
        cmocka_unit_test(test_calls_that_synchronise_do_not_overlap),
        cmocka_unit_test(test_memory_of_reductions),
        cmocka_unit_test(test_more_bytes_take_no_less),
        cmocka_unit_test(test_most_bytes),
        cmocka_unit_test(test_pick),
    };

    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
