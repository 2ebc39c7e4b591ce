/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules: the parser, the nearest rule, and what a decision makes of it. Needs
 * -Wl,--wrap=malloc,--wrap=realloc,--wrap=strdup, by which allocations are made to fail.
 */
#include "../coll_han_choice.h"
#include "../coll_han_classes.h"
#include "../coll_han_rules.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

#define HEAD "han-rules 1\n"
#define LINE "bcast nodes=4 ppn=4 bytes=1K : algorithm=tree"
#define UP "up latency 10us overhead 8us 9us copy 2GB/s\n"
#define LOW "low latency 1us overhead 2us 3us copy 4GB/s\n"

/* ---- allocations ---- */

static long allocated; /* since the count began, also refused ones */
static long refused;   /* number of the allocation that fails, from 1; 0: none */

void *__real_malloc(size_t size);
void *__real_realloc(void *block, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return ++allocated == refused ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return ++allocated == refused ? NULL : __real_realloc(block, size);
}

char *__wrap_strdup(const char *text)
{
    return ++allocated == refused ? NULL : __real_strdup(text);
}

/* ---- helpers ---- */

static mca_coll_han_rules_t parse(const char *text)
{
    mca_coll_han_rules_t rules;
    mca_coll_han_rules_error_t error;

    if (0 != mca_coll_han_rules_parse(&rules, "f", text, strlen(text), &error)) {
        fail_msg("line %d: %s\n%s", error.line, error.what, text);
    }
    assert_true(0 == error.line && '\0' == error.what[0]);
    return rules;
}

/* A table of one line. */
static mca_coll_han_rules_t parse_rule(const char *line)
{
    char text[2048];

    snprintf(text, sizeof(text), HEAD "%s\n", line);
    return parse(text);
}

/* Fails where a text is accepted, or refused in another line or with other words. */
static void check_refused(const char *text, size_t length, int line, const char *what)
{
    mca_coll_han_rules_t rules;
    mca_coll_han_rules_error_t error;

    if (0 == mca_coll_han_rules_parse(&rules, "f", text, length, &error)) {
        fail_msg("accepted: %s", text);
    }
    if (line != error.line || NULL == strstr(error.what, what)) {
        fail_msg("line %d: %s\nwanted: line %d: %s\n%s", error.line, error.what, line, what, text);
    }
    assert_true(0 == rules.count && NULL == rules.rules && NULL == rules.machine);
}

static mca_coll_han_input_t input_of(int nodes, int ppn, size_t bytes)
{
    mca_coll_han_input_t input = mca_coll_han_input_good(HAN_BCAST);

    input.nodes = nodes;
    input.ppn = ppn;
    input.bytes = bytes;
    return input;
}

/* The rule of a table that decides, found without a lookup: the least distance, then the latest line. */
static const mca_coll_han_rule_t *search(const mca_coll_han_rules_t *rules, const mca_coll_han_input_t *input)
{
    const mca_coll_han_rule_t *best = NULL;
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < rules->count; ++i) {
        const uint64_t distance = mca_coll_han_rule_distance(&rules->rules[i], input);

        if (mca_coll_han_rule_serves(&rules->rules[i], input) && distance <= least) {
            least = distance;
            best = &rules->rules[i];
        }
    }
    return best;
}

/* The line that decides, by the lookup. */
static int line_for(const mca_coll_han_rules_t *rules, const mca_coll_han_input_t *input)
{
    mca_coll_han_lookup_t lookup;
    const mca_coll_han_rule_t *rule;

    assert_int_equal(0, mca_coll_han_lookup_make(&lookup, rules, input));
    rule = mca_coll_han_lookup_find(&lookup, input->bytes);
    assert_ptr_equal(search(rules, input), rule);
    mca_coll_han_lookup_free(&lookup);
    return NULL == rule ? 0 : rule->line;
}

static int bcast_line(const mca_coll_han_rules_t *rules, int nodes, int ppn, size_t bytes)
{
    const mca_coll_han_input_t input = input_of(nodes, ppn, bytes);

    return line_for(rules, &input);
}

/* ---- what is accepted ---- */

static void test_every_field_is_read(void **state)
{
    mca_coll_han_rules_t rules
        = parse_rule("allreduce nodes=2-8 ppn=3- bytes=24K-2M order=scattered : algorithm=ring fs=128K depth=7 "
                     "imod=libnbc smod=sm ibalg=pipeline iralg=chain ibs=16K irs=3 sbalg=binary lanes=4 groups=9");
    const mca_coll_han_rule_t *rule = rules.rules;

    (void) state;
    assert_int_equal(1, rules.count);
    assert_int_equal(1 << HAN_ALLREDUCE, rule->collectives);
    assert_true(2 == rule->nodes.low && 8 == rule->nodes.high);
    assert_true(3 == rule->ppn.low && INT_MAX == rule->ppn.high);
    assert_true(24576 == rule->bytes.low && 2097152 == rule->bytes.high);
    assert_int_equal(HAN_ORDER_SCATTERED, rule->order);
    assert_false(rule->leave);
    assert_int_equal(2, rule->line);
    assert_string_equal("f:2: allreduce nodes=2-8 ppn=3- bytes=24K-2M order=scattered", rule->text);
    assert_ptr_equal(rule->text, rule->params.why);
    assert_int_equal(HAN_RING, rule->params.algorithm);
    assert_int_equal(131072, rule->params.fs);
    assert_int_equal(7, rule->params.depth);
    assert_int_equal(HAN_LIBNBC, rule->params.imod);
    assert_int_equal(HAN_SM, rule->params.smod);
    assert_int_equal(ADAPT_TREE_PIPELINE, rule->params.ibalg);
    assert_int_equal(ADAPT_TREE_CHAIN, rule->params.iralg);
    assert_int_equal(16384, rule->params.ibs);
    assert_int_equal(3, rule->params.irs);
    assert_int_equal(ADAPT_TREE_BINARY, rule->params.sbalg);
    assert_int_equal(4, rule->params.lanes);
    assert_int_equal(9, rule->params.groups);
    mca_coll_han_rules_free(&rules);
}

static void test_what_is_missing_has_its_default(void **state)
{
    mca_coll_han_rules_t rules = parse_rule("bcast nodes=* ppn=* bytes=* : algorithm=simple");
    const mca_coll_han_rule_t *rule = rules.rules;

    (void) state;
    assert_true(1 == rule->nodes.low && INT_MAX == rule->nodes.high);
    assert_true(1 == rule->ppn.low && INT_MAX == rule->ppn.high);
    assert_true(0 == rule->bytes.low && SIZE_MAX == rule->bytes.high);
    assert_int_equal(HAN_ORDER_ANY, rule->order);
    assert_int_equal(HAN_EAGER_SEGMENT, rule->params.fs);
    assert_int_equal(4, rule->params.depth);
    assert_int_equal(HAN_ADAPT, rule->params.imod);
    assert_int_equal(HAN_TUNED, rule->params.smod);
    assert_int_equal(ADAPT_TREE_LINEAR, rule->params.ibalg);
    assert_int_equal(ADAPT_TREE_LINEAR, rule->params.iralg);
    assert_int_equal(0, rule->params.ibs);
    assert_int_equal(0, rule->params.irs);
    assert_int_equal(ADAPT_TREE_AUTO, rule->params.sbalg);
    assert_int_equal(1, rule->params.lanes);
    assert_int_equal(0, rule->params.groups);
    mca_coll_han_rules_free(&rules);
}

static void test_one_direction_stands_for_the_other(void **state)
{
    mca_coll_han_rules_t rules = parse(HEAD "reduce nodes=* ppn=* bytes=* : algorithm=tree iralg=chain irs=8K\n"
                                            "reduce nodes=* ppn=* bytes=* : algorithm=tree ibalg=binary ibs=4K\n");

    (void) state;
    assert_int_equal(ADAPT_TREE_CHAIN, rules.rules[0].params.ibalg);
    assert_int_equal(8192, rules.rules[0].params.ibs);
    assert_int_equal(ADAPT_TREE_BINARY, rules.rules[1].params.iralg);
    assert_int_equal(4096, rules.rules[1].params.irs);
    mca_coll_han_rules_free(&rules);
}

static void test_text_as_people_write_it(void **state)
{
    mca_coll_han_rules_t rules = parse("# f\xc3\xbcr uns\r\n"
                                       "\r\n"
                                       "  han-rules 1  # the version\r\n"
                                       "machine \t our cluster, 64 nodes # of 2020\r\n"
                                       "\t\r\n"
                                       "gather,scatter\tnodes=1 ppn=1 bytes=1g:algorithm=auto # the rest\r\n"
                                       "   * ppn=2 bytes=0-1k nodes=3 :   algorithm=fallback");

    (void) state;
    assert_string_equal("our cluster, 64 nodes", rules.machine);
    assert_int_equal(2, rules.count);
    assert_int_equal(6, rules.rules[0].line);
    assert_int_equal(1 << HAN_GATHER | 1 << HAN_SCATTER, rules.rules[0].collectives);
    assert_int_equal(1 << 30, rules.rules[0].bytes.low);
    assert_true(rules.rules[0].leave);
    assert_string_equal("f:6: gather,scatter nodes=1 ppn=1 bytes=1g", rules.rules[0].text);
    assert_int_equal((1 << HAN_COLLECTIVE_COUNT) - 1, rules.rules[1].collectives);
    assert_int_equal(7, rules.rules[1].line);
    mca_coll_han_rules_free(&rules);
}

/* Records of a machine, anywhere between the rules: of all of it, or none. */
static void test_rules_carry_a_machine(void **state)
{
    mca_coll_han_rules_t rules
        = parse(HEAD "machine m\n" UP LINE "\n" LOW "memory copy 2GB/s reduce 8GB/s\ncores node 2");
    mca_coll_han_rules_t without = parse(HEAD "machine m\n" LINE);

    (void) state;
    assert_int_equal(1, rules.count);
    assert_string_equal("m", rules.machine);
    assert_int_equal(rules.hash, rules.numbers.hash);
    assert_int_equal(10 * 1000 * 1000, rules.numbers.levels[HAN_UP].latency);
    assert_int_equal(2, rules.numbers.cores);
    assert_int_equal(0, without.numbers.hash);
    mca_coll_han_rules_free(&rules);
    mca_coll_han_rules_free(&without);
}

static void test_every_name_is_accepted(void **state)
{
    char line[256];

    (void) state;
    for (int i = 0; i < HAN_COLLECTIVE_COUNT; ++i) {
        mca_coll_han_rules_t rules;

        snprintf(line, sizeof(line), "%s nodes=2 ppn=2 bytes=* : algorithm=auto", mca_coll_han_collective_names[i]);
        rules = parse_rule(line);
        assert_int_equal(1 << i, rules.rules[0].collectives);
        mca_coll_han_rules_free(&rules);
    }
    for (int i = 0; i < HAN_ALGORITHM_COUNT; ++i) {
        const mca_coll_han_input_t input = input_of(2, 2, 1);
        int served = 0;

        for (int collective = 0; collective < HAN_COLLECTIVE_COUNT; ++collective) {
            mca_coll_han_input_t other = input;

            other.collective = (mca_coll_han_collective_t) collective;
            if (mca_coll_han_fits((mca_coll_han_algorithm_id_t) i, &other)) {
                mca_coll_han_rules_t rules;

                snprintf(line, sizeof(line), "%s nodes=2 ppn=2 bytes=* : algorithm=%s",
                         mca_coll_han_collective_names[collective], mca_coll_han_algorithms[i].name);
                rules = parse_rule(line);
                assert_int_equal(i, rules.rules[0].params.algorithm);
                mca_coll_han_rules_free(&rules);
                ++served;
            }
        }
        assert_int_not_equal(0, served);
    }
}

static void test_the_names_of_trees_are_those_of_adapt(void **state)
{
    (void) state;
    for (int i = 0; i < ADAPT_TREE_COUNT; ++i) {
        assert_string_equal(mca_coll_adapt_trees[i].name, mca_coll_han_tree_names[i]);
    }
}

/* Also the built-in rules, and the example of every field. */
static void test_a_rule_written_and_read_is_the_same_rule(void **state)
{
    static const char *const more[] = {
        ("allreduce nodes=2-8 ppn=3- bytes=24K-2M order=scattered : algorithm=ring fs=128K depth=7 imod=libnbc smod=sm "
         "ibalg=pipeline iralg=chain ibs=16K irs=3 sbalg=binary lanes=4 groups=9"),
        "* nodes=* ppn=1 bytes=0-1 order=consecutive : algorithm=auto",
        "bcast,scan nodes=3 ppn=1-2 bytes=0- : algorithm=fallback ibs=1G irs=0",
    };
    char text[HAN_RULES_TEXT];

    (void) state;
    for (size_t table = 0; table <= sizeof(more) / sizeof(more[0]); ++table) {
        mca_coll_han_rules_t rules = 0 == table ? parse(mca_coll_han_builtin) : parse_rule(more[table - 1]);

        for (size_t i = 0; i < rules.count; ++i) {
            mca_coll_han_rules_t again = parse_rule(mca_coll_han_rule_format(&rules.rules[i], text, sizeof(text)));
            mca_coll_han_rule_t *rule = again.rules, wanted = rules.rules[i];

            wanted.line = rule->line;
            wanted.text = rule->text;
            wanted.params.why = rule->params.why;
            assert_memory_equal(&wanted.params, &rule->params, sizeof(wanted.params));
            assert_true(wanted.collectives == rule->collectives && wanted.order == rule->order);
            assert_memory_equal(&wanted.nodes, &rule->nodes, sizeof(wanted.nodes));
            assert_memory_equal(&wanted.ppn, &rule->ppn, sizeof(wanted.ppn));
            assert_memory_equal(&wanted.bytes, &rule->bytes, sizeof(wanted.bytes));
            assert_true(wanted.leave == rule->leave);
            mca_coll_han_rules_free(&again);
        }
        mca_coll_han_rules_free(&rules);
    }
}

static void test_the_hash_tells_texts_apart(void **state)
{
    mca_coll_han_rules_t one = parse(HEAD LINE), same = parse(HEAD LINE), other = parse(HEAD LINE "\n");

    (void) state;
    assert_true(0 != one.hash && one.hash == same.hash && one.hash != other.hash);
    mca_coll_han_rules_free(&one);
    mca_coll_han_rules_free(&same);
    mca_coll_han_rules_free(&other);
}

/* ---- what is refused ---- */

static void test_bad_texts_are_refused_with_line_and_reason(void **state)
{
    static const struct {
        const char *text;
        int line;
        const char *what;
    } cases[] = {
        { "", 0, "it is empty; accepted: a first line han-rules 1" },
        { "# nothing\n\n", 2, "it is empty" },
        { HEAD, 1, "there is no rule; accepted: at least one" },
        { HEAD "machine m\n", 2, "there is no rule" },
        { LINE, 1, "the first line is \"bcast nodes=4" },
        { "\n\nhan-rules 2\n" LINE, 3, "the first line is \"han-rules 2\"; accepted: han-rules 1" },
        { "han-rules\n", 1, "accepted: han-rules 1" },
        { "# rules\n\n 1 # collectives\n7\n", 3, "of a file of Open MPI's own HAN, han_rules convert makes one" },
        { HEAD "machine a\nmachine b\n" LINE, 3, "machine is there twice; accepted: one line" },
        { HEAD UP LINE "\n" LOW, 4, "memory has no copy; accepted: " },
        { HEAD UP UP LINE, 3, "up latency is there twice; accepted: each field once" },
        { HEAD "low\n" LINE, 3, "low has no latency; accepted: " },
        { HEAD "up latency=10us\n" LINE, 2, "\"latency=10us\" is no field of up; accepted: latency, " },
        { HEAD "han-machine 1\n" UP LINE, 2, "there is no colon;" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K\n", 2, "there is no colon; accepted: COLLECTIVE nodes=N" },
        { HEAD LINE "\nnonsense\n", 3, "there is no colon" },
        { HEAD "bcats nodes=4 ppn=4 bytes=1K : algorithm=tree", 2,
          "\"bcats\" is no collective; accepted: bcast, reduce, allreduce, barrier, allgather, allgatherv, "
          "reduce_scatter_block, reduce_scatter, alltoall, alltoallv, gather, gatherv, scatter, scatterv, scan, "
          "exscan, * for all of them" },
        { HEAD ": algorithm=tree", 2, "\"\" is no collective" },
        { HEAD "bcast, nodes=4 ppn=4 bytes=1K : algorithm=tree", 2, "\"\" is no collective" },
        { HEAD "Bcast nodes=4 ppn=4 bytes=1K : algorithm=tree", 2, "\"Bcast\" is no collective" },
        { HEAD "bcast ppn=4 bytes=1K : algorithm=tree", 2, "nodes= is missing; accepted: COLLECTIVE nodes=N" },
        { HEAD "bcast nodes=4 bytes=1K : algorithm=tree", 2, "ppn= is missing" },
        { HEAD "bcast nodes=4 ppn=4 : algorithm=tree", 2, "bytes= is missing" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K :", 2, "algorithm= is missing" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K nodes=4 : algorithm=tree", 2, "nodes is there twice; accepted: each" },
        { HEAD LINE " ibs=1K ibs=1K", 2, "ibs is there twice" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K fs=1K : algorithm=tree", 2,
          "\"fs\" is no field before the colon; accepted: nodes, ppn, bytes, order" },
        { HEAD LINE " nodes=4", 2,
          "\"nodes\" is no field behind the colon; accepted: algorithm, fs, depth, imod, smod, ibalg, iralg, ibs, irs, "
          "sbalg, lanes, groups" },
        { HEAD LINE " ibs 4K", 2, "\"ibs\" is not NAME=VALUE; names; accepted: algorithm, fs" },
        { HEAD LINE " =4", 2, "\"\" is no field behind the colon" },
        { HEAD LINE " ibs=", 2, "ibs=; accepted: a number from 0 to 1073741824; K, M, G may follow a number" },
        { HEAD LINE " ibs=K", 2, "ibs=K; accepted" },
        { HEAD LINE " ibs=-1", 2, "ibs=-1; accepted" },
        { HEAD LINE " ibs=4KB", 2, "ibs=4KB; accepted" },
        { HEAD LINE " ibs=4T", 2, "ibs=4T; accepted" },
        { HEAD LINE " ibs=0x10", 2, "ibs=0x10; accepted" },
        { HEAD LINE " ibs=1.5K", 2, "ibs=1.5K; accepted" },
        { HEAD LINE " ibs=1073741825", 2, "ibs=1073741825; accepted" },
        { HEAD LINE " ibs=99999999999999999999999", 2, "ibs=9999" },
        { HEAD LINE " ibs=99999999999999999G", 2, "ibs=9999" },
        { HEAD LINE " fs=0", 2, "fs=0; accepted: a number from 1 to 1073741824" },
        { HEAD LINE " depth=0", 2, "depth=0; accepted: a number from 1 to 64" },
        { HEAD LINE " depth=65", 2, "depth=65; accepted" },
        { HEAD LINE " lanes=0", 2, "lanes=0; accepted: a number from 1 to 16" },
        { HEAD LINE " lanes=17", 2, "lanes=17" },
        { HEAD LINE " imod=tuned", 2, "imod=tuned; accepted: libnbc, adapt" },
        { HEAD LINE " smod=adapt", 2, "smod=adapt; accepted: tuned, sm, basic, solo" },
        { HEAD LINE " ibalg=auto", 2, "ibalg=auto; accepted: binomial, in_order_binomial, binary, pipeline, chain" },
        { HEAD LINE " iralg=topology", 2, "iralg=topology; accepted: binomial" },
        { HEAD LINE " sbalg=", 2, "sbalg=; accepted: auto, binomial" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K order=random : algorithm=tree", 2,
          "order=random; accepted: *, consecutive, scattered" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K form=i : algorithm=tree", 2,
          "form=i; accepted: *, blocking, nonblocking, persistent" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K : algorithm=teee", 2, "algorithm=teee; accepted: auto, fallback, simple" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K : algorithm=ring", 2,
          "algorithm=ring does not do bcast; accepted: auto, fallback, simple, pipeline, tree, groups" },
        { HEAD "allreduce,bcast nodes=4 ppn=4 bytes=1K : algorithm=ring", 2, "algorithm=ring does not do bcast" },
        { HEAD "bcast nodes=0 ppn=4 bytes=1K : algorithm=tree", 2,
          "nodes=0; accepted: *, N, N-, or N-M where N is at most M, N and M from 1 to 2147483647" },
        { HEAD "bcast nodes=2147483648 ppn=4 bytes=1K : algorithm=tree", 2, "nodes=2147483648; accepted" },
        { HEAD "bcast nodes=8-2 ppn=4 bytes=1K : algorithm=tree", 2, "nodes=8-2; accepted" },
        { HEAD "bcast nodes=-8 ppn=4 bytes=1K : algorithm=tree", 2, "nodes=-8; accepted" },
        { HEAD "bcast nodes=4 ppn=1-2-3 bytes=1K : algorithm=tree", 2, "ppn=1-2-3; accepted" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K- 8K : algorithm=tree", 2,
          "\"8K\" is not NAME=VALUE; names; accepted: nodes" },
        { HEAD "bcast nodes=4 ppn=4 bytes=** : algorithm=tree", 2, "bytes=**; accepted" },
        { HEAD "bcast nodes=4 ppn=4 bytes=1K : algorithm=tree : fs=1K", 2, "\":\" is not NAME=VALUE" },
        { HEAD LINE "\x01", 2, "byte 46 is no printable character (0x01)" },
        { HEAD "\x7f" LINE, 2, "byte 1 is no printable character (0x7f)" },
        { HEAD LINE " fs=\xc2\xbd", 2, "is no printable character (0xc2); accepted: text, in comments UTF-8" },
        { HEAD LINE " # \x1b[31m", 2, "is no printable character (0x1b)" },
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        check_refused(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].what);
    }
}

static void test_zero_bytes_are_refused(void **state)
{
    static const char text[] = HEAD LINE "\0" LINE;

    (void) state;
    check_refused(text, sizeof(text) - 1, 2, "is no printable character (0x00)");
}

static void test_the_last_bad_line_spoils_all(void **state)
{
    static const char text[] = HEAD "machine m\n" LINE "\n" LINE "\n" LINE " fs=x";

    (void) state;
    check_refused(text, sizeof(text) - 1, 5, "fs=x");
}

static void test_limits(void **state)
{
    const size_t most = HAN_RULES_MOST_BYTES, head = sizeof(HEAD) - 1, rule = sizeof(LINE);
    char *text = malloc(most + 2);
    mca_coll_han_rules_t rules;

    (void) state;
    assert_non_null(text);

    /* A line. */
    memset(text, ' ', most + 2);
    memcpy(text, HEAD LINE, head + rule - 1);
    text[head + HAN_TEXT_MOST_LINE] = '\0';
    rules = parse(text);
    mca_coll_han_rules_free(&rules);
    text[head + HAN_TEXT_MOST_LINE] = ' ';
    text[head + HAN_TEXT_MOST_LINE + 1] = '\0';
    check_refused(text, strlen(text), 2, "the line is too long; accepted: 1000 bytes");

    /* The text. */
    memset(text, '\n', most + 1);
    memcpy(text, HEAD LINE, head + rule - 1);
    text[most] = '\0';
    rules = parse(text);
    mca_coll_han_rules_free(&rules);
    text[most] = '\n';
    check_refused(text, most + 1, 0, "it is too long; accepted: 1048576 bytes");

    /* Rules. */
    for (int i = 0; i <= HAN_RULES_MOST; ++i) {
        memcpy(text + head + (size_t) i * rule, LINE "\n", rule);
    }
    text[head + HAN_RULES_MOST * rule] = '\0';
    rules = parse(text);
    assert_int_equal(HAN_RULES_MOST, rules.count);
    mca_coll_han_rules_free(&rules);
    text[head + HAN_RULES_MOST * rule] = 'b';
    check_refused(text, head + (HAN_RULES_MOST + 1) * rule, HAN_RULES_MOST + 2, "too many rules; accepted: 4096");
    free(text);
}

static void test_a_long_word_does_not_break_the_message(void **state)
{
    char text[900] = HEAD;

    (void) state;
    memset(text + strlen(text), 'x', sizeof(text) - strlen(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text + sizeof(HEAD) + 700, " : ", 3);
    check_refused(text, strlen(text), 2, "xxx\" is no collective; accepted: bcast, reduce");
}

static void test_short_memory_is_an_error(void **state)
{
    static const char text[] = HEAD "machine m\n" LINE "\n" LINE "\n";
    const mca_coll_han_input_t input = input_of(4, 4, 1);
    mca_coll_han_rules_t rules;
    mca_coll_han_rules_error_t error;
    mca_coll_han_lookup_t lookup;
    int rc = -1;

    (void) state;
    for (refused = 1; 0 != rc; ++refused) {
        allocated = 0;
        rc = mca_coll_han_rules_parse(&rules, "f", text, sizeof(text) - 1, &error);
        assert_true(0 == rc || 0 == strcmp("memory is short", error.what));
        assert_true(0 == rc || NULL == rules.rules);
    }
    assert_true(refused > 4);
    rc = -1;
    for (refused = 1; 0 != rc; ++refused) {
        allocated = 0;
        rc = mca_coll_han_lookup_make(&lookup, &rules, &input);
        assert_true(0 == rc || NULL == lookup.rows);
    }
    assert_true(refused > 3);
    refused = 0;
    mca_coll_han_lookup_free(&lookup);
    mca_coll_han_rules_free(&rules);
}

/* ---- files ---- */

static void check_unreadable(const char *path, const char *what)
{
    mca_coll_han_rules_t rules;
    mca_coll_han_rules_error_t error;

    assert_int_equal(-1, mca_coll_han_rules_read(&rules, path, &error));
    assert_int_equal(0, error.line);
    assert_non_null(strstr(error.what, what));
}

static void test_a_file_is_read_and_what_is_none_is_refused(void **state)
{
    char folder[] = "/tmp/unit_rules.XXXXXX", path[64];
    mca_coll_han_rules_t rules;
    mca_coll_han_rules_error_t error;
    FILE *file;

    (void) state;
    assert_non_null(mkdtemp(folder));
    check_unreadable(folder, "it is not a file but a folder; accepted: a text file");
    snprintf(path, sizeof(path), "%s/rules", folder);
    check_unreadable(path, "it cannot be read (No such file or directory); accepted: a readable file");
    check_unreadable("", "it cannot be read");

    assert_int_equal(0, mkfifo(path, 0600));
    check_unreadable(path, "it is not a file; accepted: a text file");
    assert_int_equal(0, unlink(path));

    file = fopen(path, "w");
    assert_non_null(file);
    check_unreadable(path, "it is empty");
    assert_true(EOF != fputs(HEAD LINE "\n", file) && 0 == fflush(file));
    assert_int_equal(0, mca_coll_han_rules_read(&rules, path, &error));
    assert_int_equal(1, rules.count);
    assert_non_null(strstr(rules.rules[0].text, "/rules:2: bcast"));
    mca_coll_han_rules_free(&rules);
    if (0 != geteuid()) {
        assert_int_equal(0, chmod(path, 0));
        check_unreadable(path, "it cannot be read (Permission denied)");
    }
    assert_int_equal(0, ftruncate(fileno(file), HAN_RULES_MOST_BYTES + 1));
    fclose(file);
    check_unreadable(path, 0 == geteuid() ? "it is too long" : "it cannot be read");
    assert_int_equal(0, unlink(path));
    assert_int_equal(0, rmdir(folder));
}

/* ---- the nearest rule ---- */

static void test_inside_a_range_to_its_last_byte(void **state)
{
    mca_coll_han_rules_t rules = parse(HEAD "bcast nodes=2-4 ppn=* bytes=0-8K     : algorithm=tree\n"
                                            "bcast nodes=2-4 ppn=* bytes=8193-64K : algorithm=simple\n"
                                            "bcast nodes=5-  ppn=* bytes=65537-   : algorithm=pipeline\n");

    (void) state;
    assert_int_equal(2, bcast_line(&rules, 4, 1, 0));
    assert_int_equal(2, bcast_line(&rules, 4, 1, 8192));
    assert_int_equal(3, bcast_line(&rules, 4, 1, 8193));
    assert_int_equal(3, bcast_line(&rules, 2, 1000000, 65536));
    assert_int_equal(4, bcast_line(&rules, 5, 1, 65537));
    assert_int_equal(4, bcast_line(&rules, INT_MAX, INT_MAX, SIZE_MAX));
    mca_coll_han_rules_free(&rules);
}

static void test_between_samples_the_nearer_by_ratio_decides(void **state)
{
    mca_coll_han_rules_t rules = parse(HEAD "bcast nodes=4 ppn=4 bytes=48K : algorithm=tree\n"
                                            "bcast nodes=4 ppn=4 bytes=768K : algorithm=simple\n"
                                            "bcast nodes=32 ppn=4 bytes=48K : algorithm=pipeline\n"
                                            "bcast nodes=4 ppn=64 bytes=48K : algorithm=fallback\n");

    (void) state;
    /* 48 K * 4 = 192 K is in the middle of the first two; there the later line wins. */
    assert_int_equal(2, bcast_line(&rules, 4, 4, 192 * 1024 - 1));
    assert_int_equal(3, bcast_line(&rules, 4, 4, 192 * 1024));
    assert_int_equal(2, bcast_line(&rules, 4, 4, 0));
    assert_int_equal(3, bcast_line(&rules, 4, 4, SIZE_MAX));
    /* The middle of 4 and 32 is 11.3, that of 4 and 64 is 16. */
    assert_int_equal(2, bcast_line(&rules, 11, 4, 49152));
    assert_int_equal(4, bcast_line(&rules, 12, 4, 49152));
    assert_int_equal(2, bcast_line(&rules, 4, 15, 49152));
    assert_int_equal(5, bcast_line(&rules, 4, 16, 49152));
    /* What is away in two directions is as far as the sum: 2 + 2 doublings against 4 - 2 + 2. */
    assert_int_equal(3, bcast_line(&rules, 4, 4, 768 * 1024));
    assert_int_equal(2, bcast_line(&rules, 8, 8, 49152));
    mca_coll_han_rules_free(&rules);
}

/* Where samples are k times as large, so is the number of bytes from which on the second one decides. */
static void test_no_number_of_bytes_is_special(void **state)
{
    (void) state;
    for (size_t k = 1000; k < 1000000; k += k / 7) {
        char text[256];
        mca_coll_han_rules_t rules;
        mca_coll_han_lookup_t lookup;
        const mca_coll_han_input_t input = input_of(4, 4, 0);
        size_t wanted;

        snprintf(text, sizeof(text),
                 HEAD
                 "bcast nodes=4 ppn=4 bytes=%zu : algorithm=tree\nbcast nodes=4 ppn=4 bytes=%zu : algorithm=simple\n",
                 k, 9 * k);
        rules = parse(text);
        assert_int_equal(0, mca_coll_han_lookup_make(&lookup, &rules, &input));
        assert_int_equal(2, lookup.count);
        wanted = 3 * k;
        assert_true(lookup.rows[1].from >= wanted - 1 && lookup.rows[1].from <= wanted + 1);
        mca_coll_han_lookup_free(&lookup);
        mca_coll_han_rules_free(&rules);
    }
}

static void test_a_range_beats_what_is_just_outside_it(void **state)
{
    /* Past 2^33 neighbouring numbers have the same logarithm. */
    mca_coll_han_rules_t rules = parse(HEAD "bcast nodes=4 ppn=4 bytes=0-64G : algorithm=tree\n"
                                            "bcast nodes=4 ppn=4 bytes=68719476737- : algorithm=simple\n");
    const size_t edge = (size_t) 64 << 30;

    (void) state;
    assert_int_equal(2, bcast_line(&rules, 4, 4, edge));
    assert_int_equal(3, bcast_line(&rules, 4, 4, edge + 1));
    mca_coll_han_rules_free(&rules);
}

static void test_the_later_line_wins_a_tie(void **state)
{
    mca_coll_han_rules_t rules = parse(HEAD "bcast nodes=* ppn=* bytes=* : algorithm=tree\n"
                                            "bcast nodes=* ppn=* bytes=1K-2K : algorithm=simple\n"
                                            "bcast nodes=8- ppn=* bytes=2K : algorithm=pipeline\n");

    (void) state;
    assert_int_equal(2, bcast_line(&rules, 4, 4, 1023));
    assert_int_equal(3, bcast_line(&rules, 4, 4, 1024));
    assert_int_equal(3, bcast_line(&rules, 4, 4, 2048));
    assert_int_equal(4, bcast_line(&rules, 8, 4, 2048));
    assert_int_equal(2, bcast_line(&rules, 8, 4, 2049));
    mca_coll_han_rules_free(&rules);
}

/* Calls of 2 nodes of 2 ranks, 8 bytes, and the line of a table that decides; 0: there is none. */
struct asked {
    mca_coll_han_collective_t collective;
    bool in_order;
    mca_coll_han_form_t form;
    int line;
};

static void lines_are(const char *text, const struct asked *asked, size_t count)
{
    mca_coll_han_rules_t rules = parse(text);

    for (size_t i = 0; i < count; ++i) {
        mca_coll_han_input_t input = input_of(2, 2, 8);

        input.collective = asked[i].collective;
        input.in_order = asked[i].in_order;
        input.form = asked[i].form;
        assert_int_equal(asked[i].line, line_for(&rules, &input));
    }
    mca_coll_han_rules_free(&rules);
}

static void test_only_rules_for_collective_and_order_count(void **state)
{
    static const struct asked asked[]
        = { { HAN_BCAST, true, HAN_BLOCKING, 2 },   { HAN_BCAST, false, HAN_BLOCKING, 3 },
            { HAN_REDUCE, false, HAN_BLOCKING, 5 }, { HAN_REDUCE, true, HAN_BLOCKING, 4 },
            { HAN_GATHER, true, HAN_BLOCKING, 0 },  { HAN_BARRIER, true, HAN_BLOCKING, 0 } };

    (void) state;
    lines_are(HEAD "bcast nodes=64 ppn=64 bytes=1G order=consecutive : algorithm=tree\n"
                   "bcast nodes=64 ppn=64 bytes=2G order=scattered : algorithm=tree\n"
                   "reduce nodes=2 ppn=2 bytes=8 : algorithm=tree\n"
                   "reduce nodes=2 ppn=2 bytes=8 order=scattered : algorithm=tree\n"
                   "gather nodes=2 ppn=2 bytes=8 order=scattered : algorithm=exchange\n",
              asked, sizeof(asked) / sizeof(asked[0]));
}

static void test_only_rules_for_the_form_count(void **state)
{
    static const struct asked asked[] = { { HAN_BCAST, true, HAN_BLOCKING, 3 },
                                          { HAN_BCAST, true, HAN_NONBLOCKING, 2 },
                                          { HAN_BCAST, true, HAN_PERSISTENT, 4 },
                                          { HAN_REDUCE, true, HAN_PERSISTENT, 5 },
                                          { HAN_REDUCE, true, HAN_BLOCKING, 0 } };

    (void) state;
    lines_are(HEAD "bcast nodes=2 ppn=2 bytes=8 form=nonblocking : algorithm=tree\n"
                   "bcast nodes=2 ppn=2 bytes=8 form=blocking : algorithm=simple\n"
                   "bcast nodes=2 ppn=2 bytes=16 : algorithm=tree\n"
                   "reduce nodes=2 ppn=2 bytes=8 form=persistent : algorithm=tree\n",
              asked, sizeof(asked) / sizeof(asked[0]));
}

static unsigned random_below(unsigned *state, unsigned limit)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % limit;
}

/* A table of so many rules, points and ranges, some of them open. */
static mca_coll_han_rules_t random_rules(unsigned *state, unsigned count)
{
    char *text = malloc(64 + count * 100ul), *end = text + sprintf(text, HEAD);
    mca_coll_han_rules_t rules;

    for (unsigned i = 0; i < count; ++i) {
        const unsigned kind = random_below(state, 5), shift = random_below(state, 36);
        const size_t low = ((size_t) 1 << shift) + random_below(state, 1u << (shift < 20 ? shift : 20));
        const size_t high = low + (low * random_below(state, 40)) / 10;

        end += sprintf(end, "bcast nodes=%u ppn=%u-%u bytes=", 1 + random_below(state, 9), 1 + random_below(state, 4),
                       4 + random_below(state, 4));
        end += 0 == kind   ? sprintf(end, "%zu-", low)
               : 1 == kind ? sprintf(end, "0-%zu", high)
               : 2 == kind ? sprintf(end, "%zu-%zu", low, high)
                           : sprintf(end, "%zu", low);
        end += sprintf(end, " : algorithm=simple\n");
    }
    rules = parse(text);
    free(text);
    return rules;
}

static void test_the_lookup_finds_what_a_search_finds(void **state)
{
    unsigned seed = 42;

    (void) state;
    for (int table = 0; table < 300; ++table) {
        mca_coll_han_rules_t rules = random_rules(&seed, 1 + random_below(&seed, 30));
        mca_coll_han_input_t input = input_of(1 + (int) random_below(&seed, 12), 1 + (int) random_below(&seed, 12), 0);
        mca_coll_han_lookup_t lookup;

        assert_int_equal(0, mca_coll_han_lookup_make(&lookup, &rules, &input));
        assert_int_equal(0, lookup.rows[0].from);
        for (size_t row = 0; row < lookup.count; ++row) {
            for (size_t bytes = 0 == row ? 0 : lookup.rows[row].from - 1; bytes < lookup.rows[row].from + 2; ++bytes) {
                input.bytes = bytes;
                assert_ptr_equal(search(&rules, &input), mca_coll_han_lookup_find(&lookup, bytes));
            }
            assert_true(0 == row || lookup.rows[row - 1].from < lookup.rows[row].from);
            assert_true(0 == row || lookup.rows[row - 1].rule != lookup.rows[row].rule);
        }
        for (int i = 0; i < 200; ++i) {
            input.bytes
                = ((size_t) random_below(&seed, 1u << 23) << random_below(&seed, 20)) >> random_below(&seed, 30);
            assert_ptr_equal(search(&rules, &input), mca_coll_han_lookup_find(&lookup, input.bytes));
        }
        mca_coll_han_lookup_free(&lookup);
        mca_coll_han_rules_free(&rules);
    }
}

/* Far above what it takes, in CPU time: it would not be reached if every call looked at every rule. */
static void test_a_large_table_is_quick(void **state)
{
    unsigned seed = 7;
    mca_coll_han_rules_t rules = random_rules(&seed, HAN_RULES_MOST);
    const mca_coll_han_input_t input = input_of(5, 5, 0);
    mca_coll_han_lookup_t lookup;
    const clock_t start = clock();
    clock_t made;
    size_t lines = 0;

    (void) state;
    assert_int_equal(0, mca_coll_han_lookup_make(&lookup, &rules, &input));
    made = clock();
    for (size_t i = 0; i < 1000000; ++i) {
        lines += (size_t) mca_coll_han_lookup_find(&lookup, i * 4099)->line;
    }
    assert_true(lines > 0);
    print_message("%d rules: lookup made in %.1f ms (%zu rows), found in %.0f ns\n", HAN_RULES_MOST,
                  (double) (made - start) * 1e3 / CLOCKS_PER_SEC, lookup.count,
                  (double) (clock() - made) * 1e3 / CLOCKS_PER_SEC);
    assert_true(clock() - made < CLOCKS_PER_SEC);
    assert_true(made - start < 2 * CLOCKS_PER_SEC);
    mca_coll_han_lookup_free(&lookup);
    mca_coll_han_rules_free(&rules);
}

/* ---- the built-in rules ---- */

/* Which the model does not choose for, and without data nobody waits for others. */
static void test_the_built_in_rules_serve_every_call(void **state)
{
    mca_coll_han_rules_t rules = parse(mca_coll_han_builtin);

    (void) state;
    for (size_t i = 0; i < rules.count; ++i) {
        assert_false(rules.rules[i].leave);
    }
    for (int collective = 0; collective < HAN_COLLECTIVE_COUNT; ++collective) {
        for (int order = 0; order < 2; ++order) {
            for (int nodes = 1; nodes < 100; ++nodes) {
                mca_coll_han_input_t input = input_of(nodes, 4, 0);
                const mca_coll_han_rule_t *rule;

                input.collective = (mca_coll_han_collective_t) collective;
                input.in_order = 1 == order;
                rule = search(&rules, &input);
                assert_non_null(rule);
                if (!mca_coll_han_choice_serves(&input)) {
                    assert_true((1 == nodes) == (HAN_FALLBACK == rule->params.algorithm));
                    assert_true(1 == nodes || mca_coll_han_fits(rule->params.algorithm, &input));
                }
            }
        }
    }
    mca_coll_han_rules_free(&rules);
}

/* ---- decisions ---- */

static mca_coll_han_params_t decide(const char *line, const mca_coll_han_input_t *input,
                                    const mca_coll_han_settings_t *settings)
{
    mca_coll_han_rules_t rules = parse_rule(line);
    mca_coll_han_params_t params = mca_coll_han_decide(input, &rules.rules[0].params, settings);

    if (params.why == rules.rules[0].text) {
        params.why = "rule";
    }
    mca_coll_han_rules_free(&rules);
    return params;
}

/* What an algorithm takes of memory on the rank that takes most; a scan has at most 1024 segments, and four at once,
 * and each rank leads itself where a node's are not consecutive. */
static double memory_of(const mca_coll_han_params_t *params, const mca_coll_han_input_t *input)
{
    const size_t packed = 0 == input->packed ? 1 : input->packed, room = 0 == input->room ? 1 : input->room;
    const size_t count = input->bytes / packed, least = (count + 1023) / 1024, wished = params->ibs / packed;
    const double ranks = (double) input->nodes * input->ppn, operand = (double) count * (double) room;
    const double segment = (double) room * (double) (wished < least ? least : wished);
    const double own = input->in_order ? input->ppn : 1;

    if (HAN_CHAIN == params->algorithm) {
        return 0 == params->ibs || segment >= operand ? 2 * operand : 4 * 2 * segment;
    }
    if (HAN_LEADERS != params->algorithm) {
        return 0; /* windows of segments: see the unit tests of tasks */
    }
    switch (input->collective) {
    case HAN_BARRIER:
        return 0;
    case HAN_ALLREDUCE:
        return (input->ppn + input->nodes) * operand;
    case HAN_ALLTOALL:
        return 4 * input->ppn * ranks * (double) input->bytes;
    case HAN_REDUCE_SCATTER:
    case HAN_REDUCE_SCATTER_BLOCK:
        return (input->ppn + 2) * ranks * operand;
    case HAN_GATHERV:
    case HAN_SCATTERV:
        return ranks * (double) mca_coll_han_ragged_block((size_t) ranks);
    case HAN_SCAN:
    case HAN_EXSCAN:
        return 0 == params->ibs || segment >= operand ? (own + 3) * operand : 4 * (own + 1) * segment;
    default:
        return ranks * (double) input->bytes;
    }
}

/* By the model, and by a user who wants leaders, or what is not there. */
static void test_no_rank_takes_more_than_64_mb(void **state)
{
    static const int shapes[][2] = { { 2, 1 }, { 4, 4 }, { 16, 16 }, { 17, 16 }, { 64, 1 }, { 128, 48 }, { 512, 64 } };
    static const int wishes[] = { HAN_AUTO, HAN_LEADERS, HAN_RING, HAN_CHAIN };
    enum { WISHES = sizeof(wishes) / sizeof(wishes[0]) };
    static const int segments[] = { 0, 1, 256 << 20 };
    static const size_t elements[][2] = { { 1, 1 }, { 8, 8 }, { 12, 16 }, { 4, 4096 }, { 1 << 20, 1 << 20 } };
    const mca_coll_han_params_t whole = { .algorithm = HAN_LEADERS, .why = "a rule" };
    mca_coll_han_rules_t rules = parse(mca_coll_han_builtin);
    mca_coll_han_machine_t machine;

    (void) state;
    mca_coll_han_classes_machine(&machine, &(mca_coll_han_facts_t){ 0 });
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]) * HAN_COLLECTIVE_COUNT * HAN_FORM_COUNT * 8 * WISHES;
         ++i) {
        size_t rest = i;
        mca_coll_han_input_t input = mca_coll_han_input_good((mca_coll_han_collective_t) (rest % HAN_COLLECTIVE_COUNT));
        mca_coll_han_settings_t settings = mca_coll_han_unset;
        mca_coll_han_choices_t choices = { 0 };
        mca_coll_han_params_t params;

        rest /= HAN_COLLECTIVE_COUNT;
        input.form = (mca_coll_han_form_t) (rest % HAN_FORM_COUNT);
        rest /= HAN_FORM_COUNT;
        input.in_order = 0 != (rest & 1);
        input.in_place = 0 != (rest & 2);
        input.commutes = 0 != (rest & 4);
        rest /= 8;
        settings.algorithm = wishes[rest % WISHES];
        input.nodes = shapes[rest / WISHES][0];
        input.ppn = shapes[rest / WISHES][1];
        for (size_t bytes = 1; bytes <= (size_t) 1 << 30; bytes *= 4) {
            const mca_coll_han_params_t *chosen;

            input.bytes = bytes;
            input.packed = input.room = 0;
            chosen = mca_coll_han_choice_serves(&input) ? mca_coll_han_choose(&choices, &machine, &input)
                                                        : &search(&rules, &input)->params;
            for (size_t j = 0; j < sizeof(elements) / sizeof(elements[0]) * 3 * 2; ++j) {
                input.packed = elements[j / 6][0];
                input.room = elements[j / 6][1];
                input.bytes = (bytes + input.packed - 1) / input.packed * input.packed;
                settings.segsize = segments[j / 2 % 3];
                params = mca_coll_han_decide(&input, 0 == j % 2 ? chosen : &whole, &settings);
                assert_true(memory_of(&params, &input) <= 64 << 20);
            }
        }
        mca_coll_han_choices_free(&choices);
    }
    mca_coll_han_rules_free(&rules);
}

static void test_a_rule_decides_where_the_user_has_set_nothing(void **state)
{
    const mca_coll_han_input_t input = input_of(4, 4, 1 << 20);
    const mca_coll_han_params_t params = decide(LINE " ibalg=chain ibs=2K sbalg=binary", &input, &mca_coll_han_unset);

    (void) state;
    assert_int_equal(HAN_TREE, params.algorithm);
    assert_int_equal(ADAPT_TREE_CHAIN, params.ibalg);
    assert_int_equal(ADAPT_TREE_BINARY, params.sbalg);
    assert_int_equal(2048, params.ibs);
    assert_string_equal("rule", params.why);
}

static void test_what_the_user_has_set_wins(void **state)
{
    mca_coll_han_input_t input = input_of(4, 4, 1 << 20);
    mca_coll_han_settings_t settings = mca_coll_han_unset;
    mca_coll_han_params_t params;

    (void) state;
    settings.segsize = 4096;
    params = decide(LINE " ibs=2K fs=8K", &input, &settings);
    assert_true(HAN_TREE == params.algorithm && 4096 == params.ibs && 4096 == params.irs && 4096 == params.fs);
    assert_string_equal("segment size set by the user", params.why);

    settings = mca_coll_han_unset;
    settings.algorithm = HAN_FALLBACK;
    params = decide(LINE, &input, &settings);
    assert_int_equal(HAN_FALLBACK, params.algorithm);
    assert_string_equal("algorithm set by the user", params.why);

    settings = mca_coll_han_unset;
    settings.up_module = 0;
    settings.low_module = 2;
    params = decide(LINE, &input, &settings);
    assert_true(HAN_PIPELINE == params.algorithm && HAN_LIBNBC == params.imod && HAN_BASIC == params.smod);

    settings = mca_coll_han_unset;
    settings.segsize = 4096;
    input.collective = HAN_SCAN;
    params = decide("scan nodes=4 ppn=4 bytes=* : algorithm=fallback", &input, &settings);
    assert_true(HAN_CHAIN == params.algorithm && 4096 == params.ibs);
    params = decide("scan nodes=4 ppn=4 bytes=* : algorithm=leaders", &input, &settings);
    assert_true(HAN_LEADERS == params.algorithm && 4096 == params.ibs);
    input.collective = HAN_ALLTOALL;
    params = decide("alltoall nodes=4 ppn=4 bytes=* : algorithm=fallback", &input, &settings);
    assert_true(HAN_EXCHANGE == params.algorithm && 4096 == params.ibs);
    params = decide("alltoall nodes=4 ppn=4 bytes=* : algorithm=simple", &input, &settings);
    assert_true(HAN_EXCHANGE == params.algorithm && 4096 == params.ibs);
    input.collective = HAN_ALLREDUCE;
    params = decide("allreduce nodes=4 ppn=4 bytes=* : algorithm=leaders", &input, &settings);
    assert_true(HAN_TREE == params.algorithm && 4096 == params.ibs);

    settings = mca_coll_han_unset;
    settings.lanes = 2;
    input.collective = HAN_ALLREDUCE;
    params = decide("allreduce nodes=4 ppn=4 bytes=* : algorithm=ring lanes=4", &input, &settings);
    assert_true(HAN_RING == params.algorithm && 2 == params.lanes);

    settings = mca_coll_han_unset;
    settings.up_module = 0;
    settings.low_module = 2;
    input.collective = HAN_BARRIER;
    input.bytes = 0;
    params = decide("barrier nodes=4 ppn=4 bytes=* : algorithm=leaders", &input, &settings);
    assert_true(HAN_SIMPLE == params.algorithm && HAN_LIBNBC == params.imod && HAN_BASIC == params.smod);
}

/* The square root of the ranks, rounded up; a wish for a number is one for the algorithm. */
static void test_groups_are_as_many_as_each_has_ranks(void **state)
{
    static const struct {
        int nodes, ppn, groups;
    } rows[] = { { 2, 1, 2 }, { 4, 1, 2 }, { 4, 4, 4 }, { 17, 1, 5 }, { 512, 64, 182 } };
    mca_coll_han_settings_t settings = mca_coll_han_unset;
    mca_coll_han_params_t params;
    mca_coll_han_input_t input;

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        input = input_of(rows[i].nodes, rows[i].ppn, 1 << 20);
        params = decide("bcast nodes=* ppn=* bytes=* : algorithm=groups", &input, &mca_coll_han_unset);
        assert_true(HAN_GROUPS == params.algorithm && rows[i].groups == params.groups);
        params = decide("bcast nodes=* ppn=* bytes=* : algorithm=groups groups=7", &input, &mca_coll_han_unset);
        assert_int_equal(7, params.groups);
    }
    settings.groups = 3;
    params = decide("bcast nodes=* ppn=* bytes=* : algorithm=tree groups=7", &input, &settings);
    assert_true(HAN_GROUPS == params.algorithm && 3 == params.groups);
    input.collective = HAN_REDUCE;
    params = decide("reduce nodes=* ppn=* bytes=* : algorithm=groups ibalg=binary iralg=chain", &input,
                    &mca_coll_han_unset);
    assert_int_equal(ADAPT_TREE_CHAIN, params.ibalg);
    input.adapt = false;
    assert_int_equal(HAN_PIPELINE,
                     decide("reduce nodes=* ppn=* bytes=* : algorithm=groups", &input, &mca_coll_han_unset).algorithm);
}

/* A ring has a tree for each node in each lane, of which so many are kept. */
static void test_a_ring_has_no_more_trees_than_are_kept(void **state)
{
    static const struct {
        int nodes, lanes; /* 0: it is no ring */
    } rows[] = { { 2, 16 }, { 16, 16 }, { 17, 15 }, { 100, 2 }, { 129, 1 }, { 256, 1 }, { 257, 0 } };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        mca_coll_han_input_t input = input_of(rows[i].nodes, 64, 1 << 20);
        mca_coll_han_params_t params;

        input.collective = HAN_ALLREDUCE;
        params = decide("allreduce nodes=* ppn=* bytes=* : algorithm=ring lanes=16", &input, &mca_coll_han_unset);
        if (0 < rows[i].lanes) {
            assert_true(HAN_RING == params.algorithm && rows[i].lanes == params.lanes);
        } else {
            assert_true(HAN_TREE == params.algorithm && 16 == params.lanes);
        }
    }
}

static void test_a_rule_that_does_not_serve_a_call_is_not_obeyed(void **state)
{
    mca_coll_han_input_t input = input_of(4, 4, 1 << 20);
    mca_coll_han_params_t params;

    (void) state;
    input.form = HAN_NONBLOCKING;
    params = decide("bcast nodes=* ppn=* bytes=* : algorithm=pipeline", &input, &mca_coll_han_unset);
    assert_int_equal(HAN_TREE, params.algorithm);
    assert_string_equal("the algorithm does not serve this call", params.why);
    input.adapt = false;
    params = decide("bcast nodes=* ppn=* bytes=* : algorithm=pipeline", &input, &mca_coll_han_unset);
    assert_int_equal(HAN_FALLBACK, params.algorithm);
    assert_int_equal(HAN_LIBNBC, params.imod);
}

static void test_the_tree_inside_a_node_is_low_where_there_are_many_ranks(void **state)
{
    mca_coll_han_input_t input = input_of(4, 8, 1);

    (void) state;
    assert_int_equal(ADAPT_TREE_LINEAR, decide(LINE, &input, &mca_coll_han_unset).sbalg);
    input.ppn = 9;
    assert_int_equal(ADAPT_TREE_KNOMIAL, decide(LINE, &input, &mca_coll_han_unset).sbalg);
}

static void test_a_reduction_takes_the_tree_of_ir(void **state)
{
    mca_coll_han_input_t input = input_of(4, 4, 1 << 20);
    mca_coll_han_params_t params;

    (void) state;
    input.collective = HAN_REDUCE;
    params = decide("reduce nodes=4 ppn=4 bytes=* : algorithm=tree ibalg=binary ibs=1K iralg=chain irs=2K", &input,
                    &mca_coll_han_unset);
    assert_true(ADAPT_TREE_CHAIN == params.ibalg && 2048 == params.ibs);
    input.collective = HAN_ALLREDUCE;
    params = decide("allreduce nodes=4 ppn=4 bytes=* : algorithm=tree ibalg=binary ibs=1K iralg=chain irs=2K", &input,
                    &mca_coll_han_unset);
    assert_true(ADAPT_TREE_BINARY == params.ibalg && 1024 == params.ibs);
}

static void test_lanes_are_limited_by_what_is_there(void **state)
{
    mca_coll_han_input_t input = input_of(4, 3, 1 << 20);

    (void) state;
    assert_int_equal(3, decide(LINE " lanes=8", &input, &mca_coll_han_unset).lanes);
    input.bytes = HAN_MOST_MEMORY;
    assert_int_equal(3, decide(LINE " lanes=8", &input, &mca_coll_han_unset).lanes);
    input.bytes = HAN_MOST_MEMORY + 1;
    assert_int_equal(1, decide(LINE " lanes=8", &input, &mca_coll_han_unset).lanes);
    input.collective = HAN_REDUCE;
    assert_int_equal(
        3, decide("reduce nodes=4 ppn=4 bytes=* : algorithm=tree lanes=8", &input, &mca_coll_han_unset).lanes);
    input.collective = HAN_BARRIER;
    assert_int_equal(
        1, decide("barrier nodes=4 ppn=4 bytes=* : algorithm=tree lanes=8", &input, &mca_coll_han_unset).lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_is_read),
        cmocka_unit_test(test_what_is_missing_has_its_default),
        cmocka_unit_test(test_one_direction_stands_for_the_other),
        cmocka_unit_test(test_text_as_people_write_it),
        cmocka_unit_test(test_rules_carry_a_machine),
        cmocka_unit_test(test_every_name_is_accepted),
        cmocka_unit_test(test_the_names_of_trees_are_those_of_adapt),
        cmocka_unit_test(test_a_rule_written_and_read_is_the_same_rule),
        cmocka_unit_test(test_the_hash_tells_texts_apart),
        cmocka_unit_test(test_bad_texts_are_refused_with_line_and_reason),
        cmocka_unit_test(test_zero_bytes_are_refused),
        cmocka_unit_test(test_the_last_bad_line_spoils_all),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_a_long_word_does_not_break_the_message),
        cmocka_unit_test(test_short_memory_is_an_error),
        cmocka_unit_test(test_a_file_is_read_and_what_is_none_is_refused),
        cmocka_unit_test(test_inside_a_range_to_its_last_byte),
        cmocka_unit_test(test_between_samples_the_nearer_by_ratio_decides),
        cmocka_unit_test(test_no_number_of_bytes_is_special),
        cmocka_unit_test(test_a_range_beats_what_is_just_outside_it),
        cmocka_unit_test(test_the_later_line_wins_a_tie),
        cmocka_unit_test(test_only_rules_for_collective_and_order_count),
        cmocka_unit_test(test_only_rules_for_the_form_count),
        cmocka_unit_test(test_the_lookup_finds_what_a_search_finds),
        cmocka_unit_test(test_a_large_table_is_quick),
        cmocka_unit_test(test_the_built_in_rules_serve_every_call),
        cmocka_unit_test(test_no_rank_takes_more_than_64_mb),
        cmocka_unit_test(test_a_rule_decides_where_the_user_has_set_nothing),
        cmocka_unit_test(test_what_the_user_has_set_wins),
        cmocka_unit_test(test_a_ring_has_no_more_trees_than_are_kept),
        cmocka_unit_test(test_a_rule_that_does_not_serve_a_call_is_not_obeyed),
        cmocka_unit_test(test_the_tree_inside_a_node_is_low_where_there_are_many_ranks),
        cmocka_unit_test(test_a_reduction_takes_the_tree_of_ir),
        cmocka_unit_test(test_lanes_are_limited_by_what_is_there),
        cmocka_unit_test(test_groups_are_as_many_as_each_has_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
