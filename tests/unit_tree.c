/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of ADAPT's trees: every kind, every size, many roots, and machines of many shapes. Needs
 * -Wl,--wrap=malloc,--wrap=free, by which allocations are counted and made to fail.
 */
#include "../coll_adapt/coll_adapt_tree.h"

#include <stdlib.h>

#include "unit.h"

#define LARGEST 200  /* ranks */
#define ALL_ROOTS 64 /* up to this size every rank is tried as the root */
#define HIGHEST_DEGREE 5
#define MOST_LEVELS 3

/* ---- allocations ---- */

static long live;      /* blocks allocated and not freed */
static long allocated; /* blocks allocated, also refused ones */
static long refused;   /* number of the allocation that fails, from 1; 0: none */

void *__real_malloc(size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void __wrap_free(void *block);

void *__wrap_malloc(size_t size)
{
    void *block = ++allocated == refused ? NULL : __real_malloc(size);

    live += NULL != block ? 1 : 0;
    return block;
}

void __wrap_free(void *block)
{
    live -= NULL != block ? 1 : 0;
    __real_free(block);
}

/* ---- whole trees ---- */

/* What all ranks together made. */
struct forest {
    int size;
    int root;
    mca_coll_adapt_tree_t ranks[LARGEST];
    int depth[LARGEST]; /* edges from the root */
    int height;
};

static void forest_free(struct forest *forest)
{
    for (int rank = 0; rank < forest->size; ++rank) {
        mca_coll_adapt_tree_free(&forest->ranks[rank]);
    }
}

/* Both ends of each edge agree, and every rank but the root is the child of exactly one. */
static void check_edges(const struct forest *forest)
{
    int entered[LARGEST] = { 0 };

    for (int rank = 0; rank < forest->size; ++rank) {
        const mca_coll_adapt_tree_t *tree = &forest->ranks[rank];

        assert_int_equal(tree->root, forest->root);
        assert_true((NULL == tree->children) == (0 == tree->child_count));
        for (int i = 0; i < tree->child_count; ++i) {
            const int child = tree->children[i];

            assert_in_range(child, 0, forest->size - 1);
            assert_int_equal(forest->ranks[child].parent, rank);
            entered[child]++;
        }
    }
    for (int rank = 0; rank < forest->size; ++rank) {
        assert_int_equal(entered[rank], rank == forest->root ? 0 : 1);
    }
    assert_int_equal(forest->ranks[forest->root].parent, -1);
}

/* Each rank reaches the root, in fewer steps than there are ranks. */
static void measure_depths(struct forest *forest)
{
    forest->height = 0;
    for (int rank = 0; rank < forest->size; ++rank) {
        int depth = 0;

        for (int at = rank; at != forest->root; at = forest->ranks[at].parent) {
            if (++depth >= forest->size) {
                fail_msg("rank %d doesn't reach root %d", rank, forest->root);
            }
        }
        forest->depth[rank] = depth;
        forest->height = depth > forest->height ? depth : forest->height;
    }
}

static void forest_make(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree, int size, int root)
{
    forest->size = size;
    forest->root = root;
    for (int rank = 0; rank < size; ++rank) {
        assert_int_equal(0, mca_coll_adapt_tree_make(&forest->ranks[rank], kind, degree, size, root, rank));
    }
    check_edges(forest);
    measure_depths(forest);
}

/* What a reduction in the tree's order joins: runs of consecutive ranks. Returns the rank after the run. */
static int check_run(const struct forest *forest, int rank, int next)
{
    const mca_coll_adapt_tree_t *tree = &forest->ranks[rank];

    for (int i = 0; i <= tree->child_count; ++i) {
        if (i == tree->children_before) {
            assert_int_equal(next, rank);
            ++next;
        }
        if (i < tree->child_count) {
            next = check_run(forest, tree->children[i], next);
        }
    }
    return next;
}

static bool takes_degree(mca_coll_adapt_tree_kind_t kind)
{
    return 0 == mca_coll_adapt_trees[kind].degree;
}

static int next_root(int size, int root)
{
    const int stride = size <= ALL_ROOTS ? 1 : size / 5;

    return root == size - 1 || root + stride < size ? root + stride : size - 1;
}

static void check_order(const struct forest *forest, mca_coll_adapt_tree_kind_t kind)
{
    if (mca_coll_adapt_trees[kind].in_order) {
        assert_int_equal(forest->size, check_run(forest, forest->root, 0));
        return;
    }
    for (int rank = 0; rank < forest->size; ++rank) {
        assert_int_equal(0, forest->ranks[rank].children_before);
    }
}

typedef void (*check_fn_t)(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree);

/* Checks edges, cycles, the promised order and the shape. */
static void for_each_tree_of(mca_coll_adapt_tree_kind_t kind, check_fn_t check)
{
    static struct forest forest;

    for (int size = 1; size <= LARGEST; ++size) {
        for (int root = 0; root < size; root = next_root(size, root)) {
            for (int degree = 1; degree <= (takes_degree(kind) ? HIGHEST_DEGREE : 1); ++degree) {
                forest_make(&forest, kind, degree, size, root);
                check_order(&forest, kind);
                check(&forest, kind, degree);
                forest_free(&forest);
            }
        }
    }
}

static int floor_log2(int number)
{
    int result = 0;

    while (number >>= 1) {
        ++result;
    }
    return result;
}

static int ceil_log2(int number)
{
    return 1 == number ? 0 : floor_log2(number - 1) + 1;
}

/* ---- kinds ---- */

static void rows_have_names_and_sentences(void **state)
{
    static const char *const names[ADAPT_TREE_COUNT]
        = { "auto",  "binomial", "in_order_binomial", "binary",          "pipeline",
            "chain", "linear",   "knomial",           "in_order_binary", "topology" };
    (void) state;
    for (int kind = 0; kind < ADAPT_TREE_COUNT; ++kind) {
        const mca_coll_adapt_tree_row_t *row = &mca_coll_adapt_trees[kind];

        assert_string_equal(names[kind], row->name);
        assert_int_equal('.', row->help[strlen(row->help) - 1]);
    }
    assert_true(mca_coll_adapt_trees[ADAPT_TREE_IN_ORDER_BINOMIAL].in_order);
    assert_true(mca_coll_adapt_trees[ADAPT_TREE_IN_ORDER_BINARY].in_order);
    assert_true(mca_coll_adapt_trees[ADAPT_TREE_LINEAR].in_order);
}

static int descending(const void *one, const void *other)
{
    return *(const int *) other - *(const int *) one;
}

/* Rounds until all below a rank have the message, where a rank serves one child a round: in the order in which they are
 * listed, or in the best one, longest first. */
static int rounds(const struct forest *forest, int rank, bool best)
{
    const mca_coll_adapt_tree_t *tree = &forest->ranks[rank];
    int lengths[LARGEST];
    int last = 0;

    for (int i = 0; i < tree->child_count; ++i) {
        lengths[i] = rounds(forest, tree->children[i], best);
    }
    if (best) {
        qsort(lengths, (size_t) tree->child_count, sizeof(int), descending);
    }
    for (int i = 0; i < tree->child_count; ++i) {
        const int end = i + 1 + lengths[i];

        last = end > last ? end : last;
    }
    return last;
}

static void check_binomial(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree)
{
    (void) kind;
    (void) degree;
    assert_int_equal(floor_log2(forest->size), forest->height);
    assert_int_equal(ceil_log2(forest->size), rounds(forest, forest->root, false));
    for (int v = 1; v < forest->size; ++v) {
        const int rank = (v + forest->root) % forest->size;

        assert_int_equal(((v & (v - 1)) + forest->root) % forest->size, forest->ranks[rank].parent);
    }
}

static void binomial_clears_the_lowest_bit(void **state)
{
    (void) state;
    for_each_tree_of(ADAPT_TREE_BINOMIAL, check_binomial);
    for_each_tree_of(ADAPT_TREE_AUTO, check_binomial);
    for_each_tree_of(ADAPT_TREE_TOPOLOGY, check_binomial);
}

static void check_in_order_binomial(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree)
{
    (void) kind;
    (void) degree;
    assert_true(forest->height <= ceil_log2(forest->size));
    assert_true(0 != forest->root || floor_log2(forest->size) == forest->height);
    assert_int_equal(ceil_log2(forest->size), rounds(forest, forest->root, true));
}

static void in_order_binomial_is_as_fast_as_binomial_for_every_root(void **state)
{
    (void) state;
    for_each_tree_of(ADAPT_TREE_IN_ORDER_BINOMIAL, check_in_order_binomial);
}

static void check_binary(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree)
{
    (void) kind;
    (void) degree;
    assert_int_equal(floor_log2(forest->size), forest->height);
    for (int v = 0; v < forest->size; ++v) {
        const int rank = (v + forest->root) % forest->size;

        assert_int_equal(floor_log2(v + 1), forest->depth[rank]);
        assert_true(forest->ranks[rank].child_count <= 2);
    }
}

static void binary_is_complete(void **state)
{
    (void) state;
    for_each_tree_of(ADAPT_TREE_BINARY, check_binary);
}

static void check_in_order_binary(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree)
{
    const int below = forest->root;
    const int above = forest->size - 1 - forest->root;
    const int more = below > above ? below : above;

    (void) kind;
    (void) degree;
    assert_int_equal(0 == more ? 0 : 1 + floor_log2(more), forest->height);
    for (int rank = 0; rank < forest->size; ++rank) {
        assert_true(forest->ranks[rank].child_count <= 2);
    }
}

static void in_order_binary_halves_both_sides_of_the_root(void **state)
{
    (void) state;
    for_each_tree_of(ADAPT_TREE_IN_ORDER_BINARY, check_in_order_binary);
}

static void check_pipeline(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree)
{
    (void) kind;
    (void) degree;
    assert_int_equal(forest->size - 1, forest->height);
}

static void pipeline_is_one_chain(void **state)
{
    (void) state;
    for_each_tree_of(ADAPT_TREE_PIPELINE, check_pipeline);
}

static void check_chain(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree)
{
    const int others = forest->size - 1;
    int ends = 0;

    (void) kind;
    for (int rank = 0; rank < forest->size; ++rank) {
        if (rank != forest->root && 0 == forest->ranks[rank].child_count) {
            assert_in_range(forest->depth[rank], others / degree, (others + degree - 1) / degree);
            ++ends;
        }
        assert_true(rank == forest->root || forest->ranks[rank].child_count <= 1);
    }
    assert_int_equal(others < degree ? others : degree, ends);
    assert_int_equal((others + degree - 1) / degree, forest->height);
}

static void chains_are_of_about_equal_length(void **state)
{
    (void) state;
    for_each_tree_of(ADAPT_TREE_CHAIN, check_chain);
}

static void check_linear(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree)
{
    (void) kind;
    (void) degree;
    assert_int_equal(forest->size - 1, forest->ranks[forest->root].child_count);
    assert_int_equal(forest->root, forest->ranks[forest->root].children_before);
}

static void linear_serves_all_from_the_root(void **state)
{
    (void) state;
    for_each_tree_of(ADAPT_TREE_LINEAR, check_linear);
}

/* The depth of a rank is the number of its digits that aren't 0. */
static void check_knomial(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int degree)
{
    const int radix = degree < 2 ? 2 : degree;

    (void) kind;
    for (int v = 0; v < forest->size; ++v) {
        int digits = 0;

        for (int rest = v; 0 < rest; rest /= radix) {
            digits += 0 != rest % radix ? 1 : 0;
        }
        assert_int_equal(digits, forest->depth[(v + forest->root) % forest->size]);
    }
}

static void knomial_clears_the_lowest_digit(void **state)
{
    (void) state;
    for_each_tree_of(ADAPT_TREE_KNOMIAL, check_knomial);
}

static void odd_degrees_are_taken_as_the_least(void **state)
{
    static const int degrees[] = { -2147483647 - 1, -1, 0, 2147483647 };
    static const mca_coll_adapt_tree_kind_t kinds[] = { ADAPT_TREE_CHAIN, ADAPT_TREE_KNOMIAL };
    static const int heights[2][4] = { { 16, 16, 16, 1 }, { 4, 4, 4, 1 } };
    static struct forest forest;

    (void) state;
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) {
            forest_make(&forest, kinds[i], degrees[j], 17, 3);
            assert_int_equal(heights[i][j], forest.height);
            forest_free(&forest);
        }
    }
}

/* ---- topology-aware ---- */

struct machine {
    int size;
    int level_count;                    /* with the network, which is the last and has one group */
    int group_of[MOST_LEVELS][LARGEST]; /* lowest first */
    mca_coll_adapt_tree_level_t levels[MOST_LEVELS];
};

static unsigned int dice_state;

/* A number from 0 to sides - 1, the same in every run. */
static int dice(int sides)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (int) ((dice_state >> 8) % (unsigned int) sides);
}

static void machine_start(struct machine *machine, int size, int level_count)
{
    memset(machine, 0, sizeof(*machine));
    machine->size = size;
    machine->level_count = level_count;
    for (int i = 0; i < level_count - 1; ++i) {
        machine->levels[i].group_of = machine->group_of[i];
    }
}

static void forest_make_topology(struct forest *forest, const struct machine *machine, int root)
{
    forest->size = machine->size;
    forest->root = root;
    for (int rank = 0; rank < machine->size; ++rank) {
        assert_int_equal(0, mca_coll_adapt_tree_make_topology(&forest->ranks[rank], machine->levels,
                                                              machine->level_count, machine->size, root, rank));
        assert_int_equal(0, forest->ranks[rank].children_before);
    }
    check_edges(forest);
    measure_depths(forest);
}

/* Each group is entered once, at its leader; the root's never. */
static void check_crossings(const struct forest *forest, const int *group_of)
{
    int entered[LARGEST] = { 0 };
    int lowest[LARGEST];

    for (int rank = forest->size - 1; rank >= 0; --rank) {
        lowest[group_of[rank]] = rank;
    }
    for (int rank = 0; rank < forest->size; ++rank) {
        const int parent = forest->ranks[rank].parent;

        if (-1 != parent && group_of[parent] != group_of[rank]) {
            assert_int_equal(lowest[group_of[rank]], rank);
            entered[group_of[rank]]++;
        }
    }
    for (int rank = 0; rank < forest->size; ++rank) {
        assert_int_equal(entered[group_of[rank]], group_of[rank] == group_of[forest->root] ? 0 : 1);
    }
}

/* How many levels lie between two ranks. */
static int distance(const struct machine *machine, int one, int other)
{
    int result = 0;

    for (int i = 0; i < machine->level_count - 1; ++i) {
        result += machine->group_of[i][one] != machine->group_of[i][other] ? 1 : 0;
    }
    return result;
}

static void check_far_children_come_first(const struct forest *forest, const struct machine *machine)
{
    for (int rank = 0; rank < forest->size; ++rank) {
        const mca_coll_adapt_tree_t *tree = &forest->ranks[rank];

        for (int i = 1; i < tree->child_count; ++i) {
            assert_true(distance(machine, rank, tree->children[i - 1]) >= distance(machine, rank, tree->children[i]));
        }
    }
}

static void check_machine(struct machine *machine, int root)
{
    static struct forest forest;

    forest_make_topology(&forest, machine, root);
    for (int i = 0; i < machine->level_count - 1; ++i) {
        check_crossings(&forest, machine->group_of[i]);
    }
    check_far_children_come_first(&forest, machine);
    forest_free(&forest);
}

/* All kinds at all levels, degrees 1 to 3. */
static void check_kinds(struct machine *machine, int root_stride)
{
    int ways = 1;

    for (int i = 0; i < machine->level_count; ++i) {
        ways *= ADAPT_TREE_COUNT;
    }
    for (int way = 0; way < ways; ++way) {
        int rest = way;

        for (int i = 0; i < machine->level_count; ++i) {
            machine->levels[i].kind = (mca_coll_adapt_tree_kind_t) (rest % ADAPT_TREE_COUNT);
            machine->levels[i].degree = 1 + (way + i) % 3;
            rest /= ADAPT_TREE_COUNT;
        }
        for (int root = way % root_stride; root < machine->size; root += root_stride) {
            check_machine(machine, root);
        }
    }
}

static void even_by_slot(void **state)
{
    static struct machine machine;

    (void) state;
    machine_start(&machine, 20, 2);
    for (int rank = 0; rank < machine.size; ++rank) {
        machine.group_of[0][rank] = rank / 4;
    }
    check_kinds(&machine, 1);
}

static void even_by_node(void **state)
{
    static struct machine machine;

    (void) state;
    machine_start(&machine, 20, 2);
    for (int rank = 0; rank < machine.size; ++rank) {
        machine.group_of[0][rank] = 4 - rank % 5;
    }
    check_kinds(&machine, 1);
}

static void uneven_with_numbers_that_are_not_dense(void **state)
{
    static const int nodes[] = { 21, 3, 3, 3, 3, 3, 3, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 11, 0, 21, 3 };
    static struct machine machine;

    (void) state;
    machine_start(&machine, (int) (sizeof(nodes) / sizeof(nodes[0])), 2);
    memcpy(machine.group_of[0], nodes, sizeof(nodes));
    check_kinds(&machine, 1);
}

static void one_rank_a_node(void **state)
{
    static struct machine machine;

    (void) state;
    machine_start(&machine, 13, 2);
    for (int rank = 0; rank < machine.size; ++rank) {
        machine.group_of[0][rank] = rank;
    }
    check_kinds(&machine, 1);
}

static void one_node(void **state)
{
    static struct machine machine;

    (void) state;
    machine_start(&machine, 13, 2);
    check_kinds(&machine, 1);
}

static void one_rank(void **state)
{
    static struct machine machine;

    (void) state;
    machine_start(&machine, 1, 3);
    check_kinds(&machine, 1);
}

static void sockets_nodes_and_network(void **state)
{
    static struct machine machine;

    (void) state;
    machine_start(&machine, 24, 3);
    for (int rank = 0; rank < machine.size; ++rank) {
        machine.group_of[0][rank] = rank / 3;
        machine.group_of[1][rank] = rank / 6;
    }
    check_kinds(&machine, 7);
}

static void random_machines(void **state)
{
    static struct machine machine;

    (void) state;
    dice_state = 42;
    for (int i = 0; i < 1500; ++i) {
        const int size = 1 + dice(LARGEST);
        const int sockets = 1 + dice(size);
        const int nodes = 1 + dice(sockets);
        int node_of[LARGEST];

        machine_start(&machine, size, MOST_LEVELS);
        for (int socket = 0; socket < sockets; ++socket) {
            node_of[socket] = dice(nodes);
        }
        for (int rank = 0; rank < size; ++rank) {
            machine.group_of[0][rank] = dice(sockets);
            machine.group_of[1][rank] = node_of[machine.group_of[0][rank]];
        }
        for (int level = 0; level < MOST_LEVELS; ++level) {
            machine.levels[level].kind = (mca_coll_adapt_tree_kind_t) dice(ADAPT_TREE_COUNT);
            machine.levels[level].degree = dice(6);
        }
        check_machine(&machine, dice(size));
    }
}

/* Not what the levels are for, but still a tree. */
static void levels_that_are_not_nested_still_span(void **state)
{
    static struct machine machine;
    static struct forest forest;

    (void) state;
    dice_state = 7;
    for (int i = 0; i < 300; ++i) {
        machine_start(&machine, 1 + dice(60), MOST_LEVELS);
        for (int rank = 0; rank < machine.size; ++rank) {
            machine.group_of[0][rank] = dice(machine.size);
            machine.group_of[1][rank] = dice(machine.size);
        }
        for (int level = 0; level < MOST_LEVELS; ++level) {
            machine.levels[level].kind = (mca_coll_adapt_tree_kind_t) dice(ADAPT_TREE_COUNT);
        }
        forest_make_topology(&forest, &machine, dice(machine.size));
        forest_free(&forest);
    }
}

static void figure_machine(struct machine *machine)
{
    machine_start(machine, 16, 3);
    for (int rank = 0; rank < machine->size; ++rank) {
        machine->group_of[0][rank] = rank / 4;
        machine->group_of[1][rank] = rank / 8;
    }
    for (int i = 0; i < machine->level_count; ++i) {
        machine->levels[i].kind = ADAPT_TREE_PIPELINE;
    }
}

/* Two nodes of two sockets of four cores, chains everywhere: P0 sends to P8 (node), P4 (socket) and P1 (core). */
static void the_figure_of_the_paper(void **state)
{
    static const int parents[16] = { -1, 0, 1, 2, 0, 4, 5, 6, 0, 8, 9, 10, 8, 12, 13, 14 };
    static struct machine machine;
    static struct forest forest;

    (void) state;
    figure_machine(&machine);
    forest_make_topology(&forest, &machine, 0);
    for (int rank = 0; rank < 16; ++rank) {
        assert_int_equal(parents[rank], forest.ranks[rank].parent);
    }
    assert_int_equal(3, forest.ranks[0].child_count);
    assert_int_equal(8, forest.ranks[0].children[0]);
    assert_int_equal(4, forest.ranks[0].children[1]);
    assert_int_equal(1, forest.ranks[0].children[2]);
    forest_free(&forest);
}

/* ---- groups that know no topology ---- */

static void forest_make_groups(struct forest *forest, mca_coll_adapt_tree_kind_t kind, int groups, bool in_order,
                               int size, int root)
{
    forest->size = size;
    forest->root = root;
    for (int rank = 0; rank < size; ++rank) {
        assert_int_equal(
            0, mca_coll_adapt_tree_make_groups(&forest->ranks[rank], kind, 3, groups, in_order, size, root, rank));
    }
    check_edges(forest);
    measure_depths(forest);
}

/* Runs of ranks whose lengths differ by one at most, the longer ones first. */
static void number_groups(int *group_of, int size, int groups)
{
    int rank = 0;

    for (int group = 0; group < groups; ++group) {
        for (int left = size / groups + (group < size % groups ? 1 : 0); left > 0; --left) {
            group_of[rank++] = group;
        }
    }
    assert_int_equal(size, rank);
}

static void check_far_groups_come_first(const struct forest *forest, const int *group_of)
{
    for (int rank = 0; rank < forest->size; ++rank) {
        const mca_coll_adapt_tree_t *tree = &forest->ranks[rank];

        assert_int_equal(0, tree->children_before);
        for (int i = 1; i < tree->child_count; ++i) {
            assert_true(group_of[rank] != group_of[tree->children[i - 1]]
                        || group_of[rank] == group_of[tree->children[i]]);
        }
    }
}

/* Of every kind, size and number of groups, from roots everywhere: a tree, entered once in each group. */
static void each_group_has_a_tree_and_so_have_their_leaders(void **state)
{
    static struct forest forest;
    int group_of[LARGEST];

    (void) state;
    for (int kind = 0; kind < ADAPT_TREE_COUNT; ++kind) {
        for (int size = 1; size <= 40; ++size) {
            for (int groups = 1; groups <= size; ++groups) {
                number_groups(group_of, size, groups);
                for (int root = 0; root < size; root += 1 + size / 7) {
                    forest_make_groups(&forest, (mca_coll_adapt_tree_kind_t) kind, groups, false, size, root);
                    check_crossings(&forest, group_of);
                    if (1 < groups) {
                        check_far_groups_come_first(&forest, group_of);
                    }
                    forest_free(&forest);
                    if (mca_coll_adapt_trees[kind].in_order) {
                        forest_make_groups(&forest, (mca_coll_adapt_tree_kind_t) kind, groups, true, size, root);
                        check_crossings(&forest, group_of);
                        assert_int_equal(size, check_run(&forest, root, 0));
                        forest_free(&forest);
                    }
                }
            }
        }
    }
}

static void assert_same_trees(const struct forest *one, const struct forest *other)
{
    for (int rank = 0; rank < one->size; ++rank) {
        const mca_coll_adapt_tree_t *tree = &one->ranks[rank];

        assert_int_equal(other->ranks[rank].parent, tree->parent);
        assert_int_equal(other->ranks[rank].child_count, tree->child_count);
        for (int i = 0; i < tree->child_count; ++i) {
            assert_int_equal(other->ranks[rank].children[i], tree->children[i]);
        }
    }
}

/* One group is none, and neither is one for each rank: the paper's worst case is the algorithm as it was. */
static void one_group_or_one_a_rank_is_the_tree_as_it_was(void **state)
{
    static const int counts[] = { -1, 0, 1, 23, 24, 2147483647 };
    static struct forest plain, grouped;

    (void) state;
    for (int kind = 0; kind < ADAPT_TREE_COUNT; ++kind) {
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
            forest_make(&plain, (mca_coll_adapt_tree_kind_t) kind, 3, 23, 5);
            forest_make_groups(&grouped, (mca_coll_adapt_tree_kind_t) kind, counts[i], false, 23, 5);
            assert_same_trees(&plain, &grouped);
            forest_free(&plain);
            forest_free(&grouped);
        }
    }
}

/* Figure 2: eight ranks in two groups of four. The root serves the other leader first, or in the order of ranks. */
static void the_figure_of_the_groups(void **state)
{
    static const int leaders_first[] = { 4, 1, 2, 3 }, by_rank[] = { 1, 2, 3, 4 };
    static struct forest forest;

    (void) state;
    forest_make_groups(&forest, ADAPT_TREE_LINEAR, 2, false, 8, 0);
    assert_int_equal(4, forest.ranks[0].child_count);
    assert_memory_equal(leaders_first, forest.ranks[0].children, sizeof(leaders_first));
    assert_int_equal(3, forest.ranks[4].child_count);
    forest_free(&forest);
    forest_make_groups(&forest, ADAPT_TREE_LINEAR, 2, true, 8, 0);
    assert_memory_equal(by_rank, forest.ranks[0].children, sizeof(by_rank));
    forest_free(&forest);
}

/* Formulas 8 and 10 of the paper: of G groups of S the root of a flat tree has G + S - 2 to serve, and so long is a
 * chain of chains. */
static void flat_trees_and_chains_become_as_short_as_the_paper_says(void **state)
{
    static struct forest forest;

    (void) state;
    for (int groups = 1; groups <= 64; groups *= 2) {
        const int expected = groups + 64 / groups - 2;

        forest_make_groups(&forest, ADAPT_TREE_LINEAR, groups, false, 64, 0);
        assert_int_equal(expected, forest.ranks[0].child_count);
        forest_free(&forest);
        forest_make_groups(&forest, ADAPT_TREE_PIPELINE, groups, false, 64, 0);
        assert_int_equal(expected, forest.height);
        forest_free(&forest);
    }
}

/* ---- memory ---- */

static void each_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    static struct machine machine;
    const long live_before = live;
    mca_coll_adapt_tree_t tree;
    int failures = 0;

    (void) state;
    for (int kind = 0; kind < ADAPT_TREE_COUNT; ++kind) {
        refused = allocated + 1;
        assert_int_equal(-1, mca_coll_adapt_tree_make(&tree, (mca_coll_adapt_tree_kind_t) kind, 2, 9, 1, 1));
        assert_int_equal(live_before, live);
        assert_null(tree.children);
    }
    figure_machine(&machine);
    for (long nth = 1;; ++nth) {
        refused = allocated + nth;
        if (0 == mca_coll_adapt_tree_make_topology(&tree, machine.levels, machine.level_count, machine.size, 0, 0)) {
            break;
        }
        ++failures;
        assert_int_equal(live_before, live);
        assert_null(tree.children);
    }
    assert_int_equal(7, failures); /* scratch, and two for each level */
    mca_coll_adapt_tree_free(&tree);
    for (long nth = 1;; ++nth) {
        refused = allocated + nth;
        if (0 == mca_coll_adapt_tree_make_groups(&tree, ADAPT_TREE_LINEAR, 1, 3, false, 9, 1, 1)) {
            break;
        }
        ++failures;
        assert_int_equal(live_before, live);
        assert_null(tree.children);
    }
    refused = 0;
    assert_int_equal(10, failures); /* inside, among leaders, and both */
    mca_coll_adapt_tree_free(&tree);
    assert_int_equal(live_before, live);
}

static void a_leaf_takes_no_memory(void **state)
{
    const long before = allocated;
    mca_coll_adapt_tree_t tree;

    (void) state;
    for (int kind = 0; kind < ADAPT_TREE_COUNT; ++kind) {
        assert_int_equal(0, mca_coll_adapt_tree_make(&tree, (mca_coll_adapt_tree_kind_t) kind, 2, 1, 0, 0));
        assert_int_equal(0, tree.child_count);
    }
    assert_int_equal(before, allocated);
}

static void a_zeroed_tree_can_be_freed_and_so_can_a_freed_one(void **state)
{
    mca_coll_adapt_tree_t tree;

    (void) state;
    memset(&tree, 0, sizeof(tree));
    mca_coll_adapt_tree_free(&tree);
    assert_int_equal(0, mca_coll_adapt_tree_make(&tree, ADAPT_TREE_LINEAR, 0, 5, 0, 0));
    mca_coll_adapt_tree_free(&tree);
    mca_coll_adapt_tree_free(&tree);
}

static void nothing_is_left(void **state)
{
    (void) state;
    assert_int_equal(0, live);
}

/* As many ranks as an int can count: a leaf of a logarithmic tree is found at once, and nothing overflows. */
static void a_great_many_ranks(void **state)
{
    static const mca_coll_adapt_tree_kind_t kinds[]
        = { ADAPT_TREE_BINOMIAL, ADAPT_TREE_IN_ORDER_BINOMIAL, ADAPT_TREE_BINARY, ADAPT_TREE_KNOMIAL,
            ADAPT_TREE_IN_ORDER_BINARY };
    const int size = 2147483647;

    (void) state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
        mca_coll_adapt_tree_t tree;

        assert_int_equal(0, mca_coll_adapt_tree_make(&tree, kinds[i], 3, size, size - 2, size / 2));
        assert_in_range(tree.parent, 0, size - 1);
        mca_coll_adapt_tree_free(&tree);
        assert_int_equal(0,
                         mca_coll_adapt_tree_make_groups(&tree, kinds[i], 3, 46341, false, size, size - 2, size - 1));
        assert_in_range(tree.parent, size - 46341, size - 2);
        mca_coll_adapt_tree_free(&tree);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_names_and_sentences),
        cmocka_unit_test(binomial_clears_the_lowest_bit),
        cmocka_unit_test(in_order_binomial_is_as_fast_as_binomial_for_every_root),
        cmocka_unit_test(binary_is_complete),
        cmocka_unit_test(in_order_binary_halves_both_sides_of_the_root),
        cmocka_unit_test(pipeline_is_one_chain),
        cmocka_unit_test(chains_are_of_about_equal_length),
        cmocka_unit_test(linear_serves_all_from_the_root),
        cmocka_unit_test(knomial_clears_the_lowest_digit),
        cmocka_unit_test(odd_degrees_are_taken_as_the_least),
        cmocka_unit_test(a_great_many_ranks),
        cmocka_unit_test(even_by_slot),
        cmocka_unit_test(even_by_node),
        cmocka_unit_test(uneven_with_numbers_that_are_not_dense),
        cmocka_unit_test(one_rank_a_node),
        cmocka_unit_test(one_node),
        cmocka_unit_test(one_rank),
        cmocka_unit_test(sockets_nodes_and_network),
        cmocka_unit_test(random_machines),
        cmocka_unit_test(levels_that_are_not_nested_still_span),
        cmocka_unit_test(the_figure_of_the_paper),
        cmocka_unit_test(each_group_has_a_tree_and_so_have_their_leaders),
        cmocka_unit_test(one_group_or_one_a_rank_is_the_tree_as_it_was),
        cmocka_unit_test(the_figure_of_the_groups),
        cmocka_unit_test(flat_trees_and_chains_become_as_short_as_the_paper_says),
        cmocka_unit_test(each_failing_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_leaf_takes_no_memory),
        cmocka_unit_test(a_zeroed_tree_can_be_freed_and_so_can_a_freed_one),
        cmocka_unit_test(nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
