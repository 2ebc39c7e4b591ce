/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han_classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * By the rate of long messages. That is no exact measure of a link, and need not be: what is best with ten times the
 * rate is hardly worse. No message is faster than its link; so the ends of the classes lie just above what is made: 2.5
 * and 25 Gbit/s.
 */
static const struct {
    uint64_t most; /* MB/s */
    const char *rate;
} rates[] = { { 3, "1.25MB/s" }, { 32, "12.5MB/s" }, { 320, "125MB/s" }, { 3200, "1.25GB/s" } };

/*
 * By how soon a byte is there: messages that go past the kernel (InfiniBand, Slingshot, Omni-Path), and by TCP. By TCP
 * processors are what limits above 2.5 Gbit/s, and what they do depends on what else they have to do: all that is
 * faster is one class, of 40 Gbit/s. Where one machine is all nodes, and links have a rate, its processors make the
 * links, too: each packet waits for a timer at both ends.
 */
enum { FAST, TCP };
static const struct {
    uint64_t trip; /* ps, at most */
    uint64_t eager;
    int rates;           /* of those above that it has, and ... */
    const char *fastest; /* ... the rate of what is faster */
    const char *up;
    const char *copy, *made; /* bytes; where the machine makes the links */
} networks[] = {
    [FAST] = { 4000000, 8000, 4, "12.5GB/s", "latency 1us overhead 300ns 300ns buffer 10GB/s rendezvous 1us", "10GB/s",
               "10GB/s" },
    [TCP] = { UINT64_MAX, 63 << 10, 3, "5GB/s", "latency 5us overhead 5us 5us buffer 10GB/s rendezvous 50us", "6GB/s",
              "700MB/s" },
};

enum { LOW_EAGER = 4000, MOST_CORES = 1 << 16 };

/* Processors differ less than networks do. */
static const char form[]
    = "han-machine 1\n"
      "low latency 500ns overhead 1us 1us copy 10GB/s inline 256 request 4us eager %" PRIu64 " rendezvous 5us\n"
      "up %s copy %s rate %s eager %" PRIu64 "\n"
      "memory copy 10GB/s reduce 10GB/s near 128K far 12GB/s\n"
      "calls step 500ns share 500ns\n"
      "cores node %" PRIu64 " wake 15us turn 7us%s\n";

static uint64_t known(uint64_t fact, uint64_t otherwise)
{
    return 0 == fact ? otherwise : fact;
}

void mca_coll_han_classes_machine(mca_coll_han_machine_t *machine, const mca_coll_han_facts_t *facts)
{
    const uint64_t trip = known(facts->trip, UINT64_MAX);
    const uint64_t rate = known(facts->rate, UINT64_MAX) / 1000000;
    const uint64_t cores = known(facts->cores, MOST_CORES);
    mca_coll_han_text_error_t error;
    char text[HAN_MACHINE_TEXT];
    int network = 0, link = 0;
    bool has_rate;

    while (networks[network].trip < trip) {
        ++network;
    }
    while (link < networks[network].rates && rates[link].most < rate) {
        ++link;
    }
    has_rate = link < networks[network].rates;
    snprintf(text, sizeof(text), form, known(facts->eager[HAN_LOW], LOW_EAGER), networks[network].up,
             facts->shared && has_rate ? networks[network].made : networks[network].copy,
             has_rate ? rates[link].rate : networks[network].fastest,
             TCP == network ? known(facts->eager[HAN_UP], networks[TCP].eager) : networks[network].eager,
             cores < MOST_CORES ? cores : MOST_CORES, facts->shared ? " shared" : "");
    (void) mca_coll_han_machine_parse(machine, text, strlen(text), &error);
}
