/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Topologies of made-up machines. Needs -Wl,--wrap=malloc,--wrap=calloc,--wrap=free, by which allocations are counted
 * and made to fail.
 */
#include "../coll_han_topology.h"

#include <stdlib.h>
#include <time.h>

#include "unit.h"

/* ---- allocations ---- */

static long live;      /* blocks allocated and not freed */
static long allocated; /* blocks allocated, also refused ones */
static long refused;   /* number of the allocation that fails, from 1; 0: none */

void *__real_malloc(size_t size);
void __real_free(void *block);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *block);

void *__wrap_malloc(size_t size)
{
    void *block = ++allocated == refused ? NULL : __real_malloc(size);

    live += NULL != block ? 1 : 0;
    return block;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *block = ++allocated == refused ? NULL : __real_calloc(count, size);

    if (NULL != block) {
        ++live;
    }
    return block;
}

void __wrap_free(void *block)
{
    live -= NULL != block ? 1 : 0;
    __real_free(block);
}

/* ---- machines ---- */

/* A machine is the list of its ranks' nodes. */
struct machine {
    int node_count;
    int size;
    int *node_of;
};

static struct machine machine_new(int node_count, int size)
{
    const struct machine machine
        = { .node_count = node_count, .size = size, .node_of = malloc((size_t) size * sizeof(int)) };

    assert_non_null(machine.node_of);
    return machine;
}

/* Groups of the given sizes, one after the other; nodes are numbered from the end where reversed. */
static struct machine by_slot(const int *sizes, int node_count, bool reversed)
{
    struct machine machine;
    int size = 0;

    for (int node = 0; node < node_count; ++node) {
        size += sizes[node];
    }
    machine = machine_new(node_count, size);
    for (int node = 0, rank = 0; node < node_count; ++node) {
        for (int i = 0; i < sizes[node]; ++i) {
            machine.node_of[rank++] = reversed ? node_count - 1 - node : node;
        }
    }
    return machine;
}

static struct machine even_machine(int node_count, int per_node, bool interleaved)
{
    struct machine machine = machine_new(node_count, node_count * per_node);

    for (int rank = 0; rank < machine.size; ++rank) {
        machine.node_of[rank] = interleaved ? rank % node_count : rank / per_node;
    }
    return machine;
}

static int random_below(unsigned *state, int limit)
{
    *state = *state * 1103515245u + 12345u;
    return (int) ((*state >> 8) % (unsigned) limit);
}

static struct machine random_machine(unsigned *state)
{
    struct machine machine = machine_new(1 + random_below(state, 20), 1 + random_below(state, 60));

    for (int rank = 0; rank < machine.size; ++rank) {
        machine.node_of[rank] = random_below(state, machine.node_count);
    }
    return machine;
}

/* ---- properties ---- */

static void check_groups(const mca_coll_han_topology_t *topology, const struct machine *machine)
{
    int total = 0;
    int largest = 0;
    bool even = true;

    assert_int_equal(0, topology->first[0]);
    assert_int_equal(topology->size, topology->first[topology->group_count]);
    for (int group = 0; group < topology->group_count; ++group) {
        const int *ranks = mca_coll_han_topology_group(topology, group);
        const int count = mca_coll_han_topology_group_size(topology, group);

        assert_in_range(count, 1, topology->size);
        assert_int_equal(ranks[0], mca_coll_han_topology_leader(topology, group));
        /* Groups in the order of their leaders. */
        assert_true(0 == group || mca_coll_han_topology_leader(topology, group - 1) < ranks[0]);
        for (int place = 0; place < count; ++place) {
            assert_in_range(ranks[place], 0, topology->size - 1);
            assert_true(0 == place || ranks[place - 1] < ranks[place]);
            assert_int_equal(machine->node_of[ranks[0]], machine->node_of[ranks[place]]);
            assert_int_equal(group, topology->group_of[ranks[place]]);
            assert_int_equal(place, topology->place_of[ranks[place]]);
        }
        total += count;
        largest = count > largest ? count : largest;
        even = even && count == mca_coll_han_topology_group_size(topology, 0);
    }
    assert_int_equal(topology->size, total);
    assert_int_equal(topology->largest, largest);
    assert_int_equal(topology->even, even);
}

/* In order: no group comes back once another one began. And one node is one group. */
static void check_ranks(const mca_coll_han_topology_t *topology, const struct machine *machine)
{
    int changes = 1;

    for (int rank = 0; rank < topology->size; ++rank) {
        const int leader = mca_coll_han_topology_leader(topology, topology->group_of[rank]);

        assert_int_equal(machine->node_of[leader], machine->node_of[rank]);
        for (int other = 0; other < rank && topology->size <= 64; ++other) {
            assert_int_equal(machine->node_of[other] == machine->node_of[rank],
                             topology->group_of[other] == topology->group_of[rank]);
        }
        changes += 0 < rank && machine->node_of[rank] != machine->node_of[rank - 1] ? 1 : 0;
    }
    assert_int_equal(topology->in_order, changes == topology->group_count);
}

/* Makes, checks and frees; the text is expected unless NULL. Takes the machine. */
static void check_machine(struct machine machine, const char *expected)
{
    mca_coll_han_topology_t topology;
    const long before = live;

    memset(&topology, 0xff, sizeof(topology));
    assert_int_equal(0, mca_coll_han_topology_make(&topology, machine.node_of, machine.size, machine.node_count));
    assert_int_equal(machine.size, topology.size);
    check_groups(&topology, &machine);
    check_ranks(&topology, &machine);
    if (NULL != expected) {
        char text[UNIT_TEXT];

        assert_ptr_equal(text, mca_coll_han_topology_describe(&topology, text, sizeof(text)));
        assert_string_equal(expected, text);
    }
    mca_coll_han_topology_free(&topology);
    assert_int_equal(before, live);
    mca_coll_han_topology_free(&topology);
    assert_int_equal(before, live);
    free(machine.node_of);
}

static void even_by_slot(void **state)
{
    (void) state;
    check_machine(even_machine(4, 4, false), "4 groups of 4 (even, consecutive ranks): {0-3} {4-7} {8-11} {12-15}");
    check_machine(even_machine(3, 2, false), "3 groups of 2 (even, consecutive ranks): {0-1} {2-3} {4-5}");
}

static void even_by_node(void **state)
{
    (void) state;
    check_machine(even_machine(2, 3, true), "2 groups of 3 (even, interleaved ranks): {0,2,4} {1,3,5}");
    check_machine(even_machine(4, 4, true),
                  "4 groups of 4 (even, interleaved ranks): {0,4,8,12} {1,5,9,13} {2,6,10,14} {3,7,11,15}");
}

static void uneven(void **state)
{
    static const int sizes[] = { 5, 3, 4, 1 };

    (void) state;
    check_machine(by_slot(sizes, 4, false), "4 groups of up to 5 (uneven, consecutive ranks): {0-4} {5-7} {8-11} {12}");
}

static void groups_follow_leaders_not_node_numbers(void **state)
{
    static const int sizes[] = { 2, 1, 3 };

    (void) state;
    check_machine(by_slot(sizes, 3, true), "3 groups of up to 3 (uneven, consecutive ranks): {0-1} {2} {3-5}");
}

static void one_rank_a_node(void **state)
{
    (void) state;
    check_machine(even_machine(4, 1, false), "4 groups of 1 (even, consecutive ranks): {0} {1} {2} {3}");
}

static void one_node(void **state)
{
    (void) state;
    check_machine(even_machine(1, 4, false), "1 groups of 4 (even, consecutive ranks): {0-3}");
}

static void one_rank(void **state)
{
    (void) state;
    check_machine(even_machine(1, 1, false), "1 groups of 1 (even, consecutive ranks): {0}");
}

static void nodes_without_ranks(void **state)
{
    static const int sizes[] = { 0, 2, 0, 0, 3, 0, 1, 0 };

    (void) state;
    check_machine(by_slot(sizes, 8, false), "3 groups of up to 3 (uneven, consecutive ranks): {0-1} {2-4} {5}");
    check_machine(by_slot(sizes, 8, true), "3 groups of up to 3 (uneven, consecutive ranks): {0-1} {2-4} {5}");
}

static void ranks_partly_in_order(void **state)
{
    static const int nodes[] = { 0, 0, 1, 0, 1, 1, 1, 2, 0 };
    struct machine machine = machine_new(3, 9);

    (void) state;
    memcpy(machine.node_of, nodes, sizeof(nodes));
    check_machine(machine, "3 groups of up to 4 (uneven, interleaved ranks): {0-1,3,8} {2,4-6} {7}");
}

static void random_machines(void **state)
{
    unsigned seed = 20200914;

    (void) state;
    for (int i = 0; i < 2000; ++i) {
        check_machine(random_machine(&seed), NULL);
    }
}

/* ---- scale ---- */

/* Of this process alone: what else the machine does is not in it. */
static double core_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double) time.tv_sec + (double) time.tv_nsec * 1e-9;
}

static void check_scale(bool interleaved)
{
    struct machine machine = even_machine(1000, 64, interleaved);
    mca_coll_han_topology_t topology;
    const double start = core_seconds();
    double seconds;

    assert_int_equal(0, mca_coll_han_topology_make(&topology, machine.node_of, machine.size, machine.node_count));
    seconds = core_seconds() - start;
    print_message("1000 nodes of 64 ranks, %s: %zu bytes, %.2f ms\n", interleaved ? "interleaved" : "by slot",
                  mca_coll_han_topology_bytes(&topology), seconds * 1e3);
    assert_true(mca_coll_han_topology_bytes(&topology) <= 2 * 1024 * 1024);
    assert_true(mca_coll_han_topology_bytes(&topology) >= 3 * 64000 * sizeof(int));
    assert_true(seconds <= 0.5);
    mca_coll_han_topology_free(&topology);
    check_machine(machine, NULL);
}

static void a_thousand_nodes_by_slot(void **state)
{
    (void) state;
    check_scale(false);
}

static void a_thousand_nodes_interleaved(void **state)
{
    (void) state;
    check_scale(true);
}

/* ---- texts ---- */

/* Every length: whole where it fits, else the front of the text and "..." as far as there is room for that. */
static void check_cuts(struct machine machine)
{
    static char full[UNIT_TEXT];
    mca_coll_han_topology_t topology;

    assert_int_equal(0, mca_coll_han_topology_make(&topology, machine.node_of, machine.size, machine.node_count));
    mca_coll_han_topology_describe(&topology, full, sizeof(full));
    for (size_t length = 1; length <= strlen(full) + 8; ++length) {
        struct unit_text text;
        char *cut = unit_text_start(&text);
        size_t kept;

        mca_coll_han_topology_describe(&topology, cut, length);
        unit_text_check(&text, length);
        kept = strlen(cut);
        if (0 == strcmp(full, cut)) {
            continue;
        }
        assert_true(length < strlen(full) + sizeof("..."));
        if (length >= sizeof("...")) {
            assert_in_range(kept, strlen("..."), length - 1);
            kept -= strlen("...");
            assert_string_equal("...", cut + kept);
        }
        assert_memory_equal(full, cut, kept);
    }
    mca_coll_han_topology_free(&topology);
    free(machine.node_of);
}

static void texts_are_cut_to_fit(void **state)
{
    static const int sizes[] = { 5, 3, 4, 1 };

    (void) state;
    check_cuts(even_machine(4, 4, false));
    check_cuts(even_machine(4, 4, true));
    check_cuts(even_machine(1, 1, false));
    check_cuts(by_slot(sizes, 4, false));
    check_cuts(even_machine(40, 5, true));
}

static void a_text_that_fits_is_not_cut(void **state)
{
    struct machine machine = even_machine(2, 2, false);
    mca_coll_han_topology_t topology;
    char full[UNIT_TEXT];
    char text[UNIT_TEXT];

    (void) state;
    assert_int_equal(0, mca_coll_han_topology_make(&topology, machine.node_of, machine.size, machine.node_count));
    mca_coll_han_topology_describe(&topology, full, sizeof(full));
    for (size_t length = strlen(full) + 1; length < strlen(full) + 8; ++length) {
        assert_string_equal(full, mca_coll_han_topology_describe(&topology, text, length));
    }
    mca_coll_han_topology_free(&topology);
    free(machine.node_of);
}

/* ---- short of memory ---- */

static void each_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    struct machine machine = even_machine(3, 4, true);
    mca_coll_han_topology_t topology;
    long wanted;
    const long before = live;

    (void) state;
    allocated = 0;
    assert_int_equal(0, mca_coll_han_topology_make(&topology, machine.node_of, machine.size, machine.node_count));
    mca_coll_han_topology_free(&topology);
    wanted = allocated;
    assert_true(0 < wanted);
    for (long number = 1; number <= wanted; ++number) {
        int rc;

        memset(&topology, 0xff, sizeof(topology));
        allocated = 0;
        refused = number;
        rc = mca_coll_han_topology_make(&topology, machine.node_of, machine.size, machine.node_count);
        refused = 0;
        assert_int_equal(-1, rc);
        assert_int_equal(before, live);
    }
    free(machine.node_of);
}

static void a_zeroed_topology_can_be_freed(void **state)
{
    mca_coll_han_topology_t topology;

    (void) state;
    memset(&topology, 0, sizeof(topology));
    mca_coll_han_topology_free(&topology);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_by_slot),
        cmocka_unit_test(even_by_node),
        cmocka_unit_test(uneven),
        cmocka_unit_test(groups_follow_leaders_not_node_numbers),
        cmocka_unit_test(one_rank_a_node),
        cmocka_unit_test(one_node),
        cmocka_unit_test(one_rank),
        cmocka_unit_test(nodes_without_ranks),
        cmocka_unit_test(ranks_partly_in_order),
        cmocka_unit_test(random_machines),
        cmocka_unit_test(a_thousand_nodes_by_slot),
        cmocka_unit_test(a_thousand_nodes_interleaved),
        cmocka_unit_test(texts_are_cut_to_fit),
        cmocka_unit_test(a_text_that_fits_is_not_cut),
        cmocka_unit_test(each_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_zeroed_topology_can_be_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
