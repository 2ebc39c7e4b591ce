/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a decision of the cost model costs (docs/model.md): the first one for a communicator, a collective and a class
 * of sizes, for which all candidates are predicted, and each later one, which finds what is kept. No MPI is needed.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll_han_choice.h"
#include "coll_han_classes.h"
#include "common/tool_version.h"
#include "tune/tune_options.h"

enum { MOST_POWER = 23, ROUNDS = 7, LATER = 200000 };

static void usage(FILE *out)
{
    fputs(
        "han_choices - what a decision of the cost model costs\n"
        "\n"
        "  han_choices [--machine FILE]\n"
        "      For some shapes: what the first decision takes for a collective and a class of sizes, 1 B to 8 MB, the\n"
        "      mean and the longest (each the shortest of 7 times), and what a later one takes, in the mean.\n"
        "      FILE: the machine (docs/model.md); without it, one with TCP at 40 Gbit/s.\n"
        "\n"
        "Exit codes: 0, 1 the file is none, or memory is short, 2 bad arguments.\n",
        out);
}

static double now(void) /* us */
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec * 1e6 + (double) time.tv_nsec / 1e3;
}

static void decide(mca_coll_han_choices_t *choices, const mca_coll_han_machine_t *machine,
                   const mca_coll_han_input_t *input)
{
    if (NULL == mca_coll_han_choose(choices, machine, input)) {
        fprintf(stderr, "han_choices: memory is short\n");
        exit(1);
    }
}

/* The first decision, for a communicator that has made others. */
static double time_first(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input)
{
    double least = 0;

    for (int round = 0; round < ROUNDS; ++round) {
        mca_coll_han_choices_t choices = { 0 };
        mca_coll_han_input_t other = *input;
        double start, took;

        other.form = HAN_BLOCKING == input->form ? HAN_NONBLOCKING : HAN_BLOCKING;
        decide(&choices, machine, &other);
        start = now();
        decide(&choices, machine, input);
        took = now() - start;
        least = 0 == round || took < least ? took : least;
        mca_coll_han_choices_free(&choices);
    }
    return least;
}

/* Later ones, of as many classes as a program has that uses four collectives with four sizes each. */
static double time_later(const mca_coll_han_machine_t *machine, mca_coll_han_input_t input)
{
    static const mca_coll_han_collective_t used[] = { HAN_BCAST, HAN_ALLREDUCE, HAN_ALLGATHER, HAN_ALLTOALL };
    mca_coll_han_choices_t choices = { 0 };
    double start = 0;

    for (int i = 0; i < 2 * LATER; ++i) {
        if (LATER == i) {
            start = now();
        }
        input.collective = used[i % 4];
        input.bytes = (size_t) 8 << (i / 4 % 4 * 5);
        decide(&choices, machine, &input);
    }
    start = now() - start;
    mca_coll_han_choices_free(&choices);
    return start / LATER;
}

static void time_shape(const mca_coll_han_machine_t *machine, int nodes, int ppn)
{
    mca_coll_han_input_t input = mca_coll_han_input_good(HAN_BCAST);
    double sum = 0, most = 0;
    int count = 0;

    input.nodes = nodes;
    input.ppn = ppn;

    for (int collective = 0; collective < HAN_COLLECTIVE_COUNT; ++collective) {
        input.collective = (mca_coll_han_collective_t) collective;
        for (int power = 0; power <= MOST_POWER; ++power) {
            double took;

            input.bytes = (size_t) 1 << power;
            took = time_first(machine, &input);
            sum += took;
            most = took > most ? took : most;
            ++count;
        }
    }
    printf("%5d x %-5d %10.2f %10.2f %10.1f\n", nodes, ppn, sum / count, most, 1e3 * time_later(machine, input));
}

enum { MACHINE = TUNE_OPTION, HELP };

static const struct option names[]
    = { { "machine", required_argument, NULL, MACHINE }, { "help", no_argument, NULL, HELP }, { NULL, 0, NULL, 0 } };

static const char *const accepted[] = { [TUNE_WORD] = NULL, [MACHINE] = "a file" };

static bool wanted_help;

static bool take_option(void *context, int number, const char *text)
{
    const char **path = context;

    if (HELP == number) {
        return wanted_help = true;
    }
    *path = text;
    return true;
}

int main(int argc, char **argv)
{
    static const int shapes[][2] = { { 2, 1 }, { 4, 4 }, { 64, 16 }, { 512, 64 }, { 65536, 128 } };
    const char *path = NULL;
    mca_coll_han_machine_t machine;
    mca_coll_han_text_error_t error;

    tool_version(argc, argv, "han_choices");
    tune_options_speaker("han_choices", 0);
    if (0 != tune_read_options(argc, argv, names, accepted, &path, take_option)) {
        return 2;
    }
    if (wanted_help) {
        usage(stdout);
        return 0;
    }
    if (NULL == path) {
        mca_coll_han_classes_machine(&machine, &(mca_coll_han_facts_t){ 0 });
    } else if (0 != mca_coll_han_machine_read(&machine, path, &error)) {
        if (0 == error.line) {
            tune_complain("%s: %s", path, error.what);
        } else {
            tune_complain("%s:%d: %s", path, error.line, error.what);
        }
        return 1;
    }
    printf("%-13s %10s %10s %10s\n", "nodes x ranks", "first, us", "longest", "later, ns");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
        time_shape(&machine, shapes[i][0], shapes[i][1]);
    }
    return tune_finish(0, 1);
}
