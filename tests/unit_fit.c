/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine from probes: what a machine predicts for them makes this machine again. */
#include "../tune/tune_fit.h"

#include <math.h>

#include "unit_machine.h"

/* A slow link, processors that limit, and a network without a kernel. */
static const char *const machines[] = {
    "han-machine 1\n"
    "low latency 1us overhead 2us 3us copy 6GB/s eager 4000 rendezvous 6us\n"
    "up latency 9us overhead 4us 5us copy 1GB/s rate 25MB/s eager 63K buffer 4GB/s rendezvous 90us\n"
    "memory copy 11GB/s reduce 9GB/s near 128K far 6GB/s\n"
    "cores node 2 turn 5us shared\n",
    "han-machine 1\n"
    "low latency 300ns overhead 1us 1us copy 8GB/s inline 256 request 2us eager 4000 rendezvous 5us\n"
    "up latency 12us overhead 3us 6us copy 2GB/s eager 63K rendezvous 40us\n"
    "memory copy 8GB/s reduce 12GB/s near 128K far 5GB/s\n"
    "cores node 16\n",
    "han-machine 1\n"
    "low latency 200ns overhead 400ns 300ns copy 9GB/s eager 4000 rendezvous 2us\n"
    "up latency 1.1us overhead 200ns 300ns copy 60GB/s rate 12.5GB/s eager 8000 rendezvous 1us\n"
    "memory copy 12GB/s reduce 10GB/s\n"
    "cores node 64\n",
};
enum { MACHINES = sizeof(machines) / sizeof(machines[0]), MOST = 512 };

/* Other numbers than all of them, but for those that are known before. */
static const char form[]
    = "han-machine 1\n"
      "low latency 7us overhead 7us 7us copy 77GB/s inline %s request 7us eager 4000 rendezvous 7us\n"
      "up latency 77us overhead 77us 77us copy 77GB/s rate 77GB/s eager %s rendezvous 77us\n"
      "memory copy 77GB/s reduce 77GB/s\n"
      "cores node 2 turn 7us\n";

static mca_coll_han_machine_t other_than(const mca_coll_han_machine_t *machine)
{
    char text[HAN_MACHINE_TEXT];
    mca_coll_han_machine_t other;

    snprintf(text, sizeof(text), form, UINT64_MAX == machine->levels[HAN_LOW].at_once ? "1G" : "256",
             8000 == machine->levels[HAN_UP].eager ? "8000" : "63K");
    other = unit_machine(text);
    other.levels[HAN_UP].buffer = machine->levels[HAN_UP].buffer;
    other.near = machine->near;
    other.far = machine->far;
    return other;
}

/* What a machine's ranks would time, some of it a little longer or shorter. */
static int probes_of(const mca_coll_han_machine_t *machine, double wobble, size_t most, struct tune_probe list[MOST])
{
    int count = 0;

    for (int level = 0; level < HAN_LEVEL_COUNT; ++level) {
        for (size_t bytes = 1; bytes <= most; bytes *= 512 > bytes ? 8 : 2) {
            for (int kind = 0; kind < TUNE_PROBE_COUNT; ++kind) {
                const bool call = TUNE_SEND == kind || TUNE_RECV == kind;

                if (call && bytes > machine->levels[level].eager) {
                    continue;
                }
                assert_true(MOST > count);
                list[count]
                    = (struct tune_probe){ (enum tune_probe_kind) kind, (mca_coll_han_level_id_t) level, bytes, 0, 7 };
                list[count].seconds = tune_fit_predict(machine, &list[count]) * (1 + wobble * ((7 * count % 5) - 2));
                ++count;
            }
        }
    }
    return count;
}

/* What kinds of a level took becomes another time. */
static void change(struct tune_probe *probes, int count, unsigned kinds, unsigned levels, double factor)
{
    for (int i = 0; i < count; ++i) {
        if (0 != (kinds >> probes[i].kind & 1) && 0 != (levels >> probes[i].level & 1)) {
            probes[i].seconds *= factor;
        }
    }
}

static void near(const char *what, uint64_t expected, uint64_t value, double most)
{
    if (fabs((double) expected - (double) value) > most * (double) expected) {
        fail_msg("%s is %.0f, and should be %.0f", what, (double) value, (double) expected);
    }
}

static void levels_near(const mca_coll_han_machine_level_t *expected, const mca_coll_han_machine_level_t *level,
                        double most)
{
    near("latency", expected->latency, level->latency, most);
    near("send", expected->send, level->send, most);
    near("recv", expected->recv, level->recv, most);
    near("copy", expected->copy, level->copy, most);
    near("rate", expected->rate, level->rate, most);
    near("rendezvous", expected->rendezvous, level->rendezvous, most);
}

static void a_machine_is_found_again(void **state)
{
    (void) state;
    for (int i = 0; i < MACHINES; ++i) {
        const mca_coll_han_machine_t machine = unit_machine(machines[i]);
        mca_coll_han_machine_t found = other_than(&machine);
        struct tune_probe probes[MOST];

        tune_fit(&found, probes, probes_of(&machine, 0, 4 << 20, probes));
        for (int level = 0; level < HAN_LEVEL_COUNT; ++level) {
            levels_near(&machine.levels[level], &found.levels[level], 0.05);
        }
        if (UINT64_MAX != machine.levels[HAN_LOW].at_once) {
            near("request", machine.levels[HAN_LOW].request, found.levels[HAN_LOW].request, 0.1);
        }
        near("turn", machine.turn, found.turn, 0.01);
    }
}

/* What was timed is predicted, though no two times are quite right. */
static void what_was_timed_is_predicted(void **state)
{
    (void) state;
    for (int i = 0; i < MACHINES; ++i) {
        const mca_coll_han_machine_t machine = unit_machine(machines[i]);
        mca_coll_han_machine_t found = other_than(&machine);
        struct tune_probe probes[MOST];
        const int count = probes_of(&machine, 0.02, 4 << 20, probes);

        tune_fit(&found, probes, count);
        for (int k = 0; k < count; ++k) {
            const double ratio = tune_fit_predict(&found, &probes[k]) / probes[k].seconds;

            if (0.7 > ratio || 1.4 < ratio) {
                fail_msg("machine %d: %s of %zu bytes, level %d: %.2f times what it took", i,
                         tune_probe_names[probes[k].kind], probes[k].bytes, probes[k].level, ratio);
            }
        }
    }
}

/* On a link so slow that long messages are not tried. */
static void short_messages_tell_a_slow_link(void **state)
{
    const mca_coll_han_machine_t machine
        = unit_machine("han-machine 1\n"
                       "low latency 1us overhead 2us 3us copy 6GB/s eager 4000 rendezvous 6us\n"
                       "up latency 9us overhead 4us 5us copy 1GB/s rate 1MB/s eager 63K rendezvous 90us\n"
                       "memory copy 11GB/s reduce 9GB/s near 128K far 6GB/s\ncores node 2\n");
    mca_coll_han_machine_t found = other_than(&machine);
    struct tune_probe probes[MOST];

    (void) state;
    tune_fit(&found, probes, probes_of(&machine, 0, 32 << 10, probes));
    near("rate", machine.levels[HAN_UP].rate, found.levels[HAN_UP].rate, 0.05);
    assert_int_equal(other_than(&machine).levels[HAN_UP].rendezvous, found.levels[HAN_UP].rendezvous);
}

/* One rank copies for both: then a stream takes as long as an exchange, and that is no link. */
static void a_copy_by_one_rank_is_no_link(void **state)
{
    const mca_coll_han_machine_t machine = unit_machine(machines[0]);
    mca_coll_han_machine_t found = other_than(&machine);
    struct tune_probe probes[MOST];
    const int count = probes_of(&machine, 0, 4 << 20, probes);

    (void) state;
    change(probes, count, 1U << TUNE_STREAM, 1U << HAN_LOW, 2);
    tune_fit(&found, probes, count);
    levels_near(&machine.levels[HAN_LOW], &found.levels[HAN_LOW], 0.05);
}

/* With one rank on each node, or where nothing could be timed. */
static void what_was_not_timed_stays(void **state)
{
    const mca_coll_han_machine_t machine = unit_machine(machines[1]), before = other_than(&machine);
    mca_coll_han_machine_t found = before;
    struct tune_probe probes[MOST];
    const int count = probes_of(&machine, 0, 4 << 20, probes);

    (void) state;
    tune_fit(&found, probes, 0);
    assert_memory_equal(&before, &found, sizeof(found));
    change(probes, count, ~0U, 1U << HAN_LOW, NAN);
    tune_fit(&found, probes, count);
    assert_memory_equal(&before.levels[HAN_LOW], &found.levels[HAN_LOW], sizeof(found.levels[HAN_LOW]));
    near("latency", machine.levels[HAN_UP].latency, found.levels[HAN_UP].latency, 0.05);
}

/* The receiver looks for what comes while the sender is not done: a trip is shorter than both calls. */
static void calls_that_overlap_are_no_longer_than_a_trip(void **state)
{
    const mca_coll_han_machine_t machine = unit_machine(machines[1]);
    mca_coll_han_machine_t found = other_than(&machine);
    struct tune_probe probes[MOST];
    const int count = probes_of(&machine, 0, 4 << 20, probes);

    (void) state;
    change(probes, count, 1U << TUNE_SEND | 1U << TUNE_RECV, 1U << HAN_LOW | 1U << HAN_UP, 10);
    tune_fit(&found, probes, count);
    assert_int_equal(0, found.levels[HAN_UP].latency);
    near("calls", 21000000, found.levels[HAN_UP].send + found.levels[HAN_UP].recv, 0.01); /* 12 us + 3 us + 6 us */
    near("send", 7000000, found.levels[HAN_UP].send, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_found_again),
        cmocka_unit_test(what_was_timed_is_predicted),
        cmocka_unit_test(short_messages_tell_a_slow_link),
        cmocka_unit_test(a_copy_by_one_rank_is_no_link),
        cmocka_unit_test(what_was_not_timed_stays),
        cmocka_unit_test(calls_that_overlap_are_no_longer_than_a_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
