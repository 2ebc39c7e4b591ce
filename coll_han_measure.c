/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine, as MPI_Init finds it: every rank looks at its node, a few pairs of leaders send messages to each other,
 * and an allreduce after each makes known to all what has been found. So all communicators of a job decide by one
 * machine from their first call on, and no later call pays for it.
 */
#include "coll_han.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ompi/mca/pml/pml.h"
#include "opal/runtime/opal_progress.h"

#include "coll_han_classes.h"
#include "coll_han_trips.h"
#include "common/coll_eager.h"
#include "common/coll_end.h"
#include "common/coll_places.h"
#include "common/coll_processors.h"
#include "common/coll_tags.h"

/*
 * Pairs that measure at once: one good link is enough, and many would fill a network that is not the leaders' own.
 * Where nodes are one machine, pairs would only keep each other's processors busy. CONNECT messages come first: a
 * connection is made with the first, and the next ones may still wait for it.
 */
enum { PAIRS = 4, CONNECT = 3 };

/* One of two ranks that measure. */
struct end {
    const han_module_t *module;
    int peer;
    char *buffer; /* [HAN_TRIPS_LONGEST] */
};

static uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * 1000000000 + (uint64_t) time.tv_nsec;
}

/* ---- messages ---- */

static int put(const struct end *end, size_t bytes)
{
    return MCA_PML_CALL(send(end->buffer, bytes, MPI_BYTE, end->peer, coll_tag(COLL_TAGS_MEASURE),
                             MCA_PML_BASE_SEND_STANDARD, end->module->comm));
}

static int get(const struct end *end, size_t *bytes)
{
    ompi_status_public_t status;
    const int rc = MCA_PML_CALL(recv(end->buffer, HAN_TRIPS_LONGEST, MPI_BYTE, end->peer, coll_tag(COLL_TAGS_MEASURE),
                                     end->module->comm, &status));

    *bytes = OMPI_SUCCESS == rc ? status._ucount : 0;
    return rc;
}

/* A message, which a byte answers; the time, in ns. */
static int go(const struct end *end, size_t bytes, uint64_t *took)
{
    const uint64_t start = now();
    size_t reply;
    int rc = put(end, bytes);

    rc = OMPI_SUCCESS == rc ? get(end, &reply) : rc;
    *took = now() - start;
    return rc;
}

static int ask(const struct end *end, mca_coll_han_facts_t *facts)
{
    mca_coll_han_trips_t trips = { 0 };
    uint64_t took;
    size_t bytes;
    int rc = OMPI_SUCCESS;

    for (int i = 0; i < CONNECT && OMPI_SUCCESS == rc; ++i) {
        rc = go(end, 1, &took);
    }
    while (OMPI_SUCCESS == rc && 0 < (bytes = mca_coll_han_trips_next(&trips))) {
        rc = go(end, bytes, &took);
        mca_coll_han_trips_took(&trips, took);
    }
    facts->trip = trips.trip * 1000 / 2;
    facts->rate = trips.rate;
    return OMPI_SUCCESS == rc ? put(end, 0) : rc;
}

static int answer(const struct end *end)
{
    size_t bytes;
    int rc;

    do {
        rc = get(end, &bytes);
        if (0 < bytes && OMPI_SUCCESS == rc) {
            rc = put(end, 1);
        }
    } while (0 < bytes && OMPI_SUCCESS == rc);
    return rc;
}

/* The part of this rank: leaders of one half of the nodes ask those of the other half. */
static int measure_network(const han_module_t *module, mca_coll_han_facts_t *facts)
{
    const mca_coll_han_topology_t *topology = &module->topology;
    const int rank = ompi_comm_rank(module->comm), group = topology->group_of[rank];
    const int half = topology->group_count / 2, most = facts->shared ? 1 : PAIRS, pairs = half < most ? half : most;
    const bool asks = group < pairs, answers = half <= group && group < half + pairs;
    struct end end = { .module = module };
    int rc;

    if (0 != topology->place_of[rank] || (!asks && !answers)) {
        return OMPI_SUCCESS;
    }
    end.peer = mca_coll_han_topology_leader(topology, asks ? group + half : group - half);
    end.buffer = calloc(1, HAN_TRIPS_LONGEST);
    if (NULL == end.buffer) {
        coll_end("han", "messages that measure the machine");
    }
    rc = asks ? ask(&end, facts) : answer(&end);
    free(end.buffer);
    return rc;
}

/* ---- the node ---- */

/* A number that nodes have in common where they are one machine: its system was started once. */
static uint64_t started(void)
{
    char id[64];
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length;

    do {
        length = read(file, id, sizeof(id));
    } while (-1 == length && EINTR == errno);
    if (-1 != file) {
        close(file);
    }
    return 0 < length ? mca_coll_han_text_hash(id, (size_t) length)
                      : mca_coll_han_text_hash(opal_process_info.nodename, strlen(opal_process_info.nodename));
}

/* ---- all together ---- */

/* What nodes have, as numbers of which the least counts; NOT_: of which the most does. */
enum { CORES, STARTED, NOT_STARTED, EAGER_LOW, EAGER_UP, NODE_FACTS };

/* And what the pairs that measure have found. */
enum { TRIP, NOT_RATE, NETWORK_FACTS };

static const char NOT_MEASURED[] = "the machine cannot be measured";

/* All ranks' numbers, each combined. */
static void combine(han_module_t *module, const uint64_t *own, uint64_t *all, int count, ompi_op_t *op)
{
    mca_coll_han_ask(module, own, all, count, &ompi_mpi_uint64_t.dt, op, NOT_MEASURED);
}

/*
 * Those that the ranks may use together: in a container they are fewer than the machine has, and each rank may have its
 * own (Slurm, taskset). Nodes are taken to give the same ones. Whom the runtime has bound may have all, for other jobs
 * that decide by this machine may have more ranks.
 */
static uint64_t look_at_processors(han_module_t *module)
{
    uint64_t own[COLL_PROCESSOR_WORDS], all[COLL_PROCESSOR_WORDS];

    coll_processors_allowed(own);
    if (coll_places_bound()) {
        memset(own, 0xff, sizeof(own));
    }
    combine(module, own, all, COLL_PROCESSOR_WORDS, &ompi_mpi_op_bor.op);
    return (uint64_t) coll_processors_count(all);
}

static void look_at_nodes(han_module_t *module, mca_coll_han_facts_t *facts)
{
    const uint64_t id = started();
    const uint64_t own[NODE_FACTS] = { [CORES] = (uint64_t) sysconf(_SC_NPROCESSORS_ONLN),
                                       [STARTED] = id,
                                       [NOT_STARTED] = ~id,
                                       [EAGER_LOW] = coll_eager_limit("vader"),
                                       [EAGER_UP] = coll_eager_limit("tcp") };
    uint64_t all[NODE_FACTS], allowed;

    combine(module, own, all, NODE_FACTS, &ompi_mpi_op_min.op);
    allowed = look_at_processors(module);
    facts->cores = allowed < all[CORES] ? allowed : all[CORES];
    facts->shared = ~all[NOT_STARTED] == all[STARTED];
    facts->eager[HAN_LOW] = all[EAGER_LOW];
    facts->eager[HAN_UP] = all[EAGER_UP];
}

static void look_at_network(han_module_t *module, mca_coll_han_facts_t *facts)
{
    uint64_t own[NETWORK_FACTS], all[NETWORK_FACTS];
    const int rc = measure_network(module, facts);

    if (OMPI_SUCCESS != rc) {
        coll_end_job(MPI_ERR_OTHER, "han", "%s (error %d)", NOT_MEASURED, rc);
    }
    own[TRIP] = 0 == facts->trip ? UINT64_MAX : facts->trip;
    own[NOT_RATE] = ~facts->rate;
    combine(module, own, all, NETWORK_FACTS, &ompi_mpi_op_min.op);
    facts->trip = UINT64_MAX == all[TRIP] ? 0 : all[TRIP];
    facts->rate = ~all[NOT_RATE];
}

static void say_facts(const han_module_t *module, const mca_coll_han_facts_t *facts, uint64_t took)
{
    char network[128] = "ranks are too busy to measure the network";

    if (0 != facts->rate) {
        snprintf(network, sizeof(network), "a byte reaches another node in %.1f us, long messages have %.1f MB/s",
                 (double) facts->trip / 1e6, (double) facts->rate / 1e6);
    }
    HAN_VERBOSE(1, "coll:han: %s: measured in %.1f ms: %s, %d processors are %s", module->comm->c_name,
                (double) took / 1e6, network, (int) facts->cores, facts->shared ? "all nodes'" : "each node's");
}

static void measure(han_module_t *module, mca_coll_han_machine_t *machine)
{
    const uint64_t start = now();
    mca_coll_han_facts_t facts = { 0 };

    (void) mca_coll_han_module_topology(module, true);
    look_at_nodes(module, &facts);
    look_at_network(module, &facts);
    mca_coll_han_classes_machine(machine, &facts);
    if (0 == ompi_comm_rank(module->comm)) {
        say_facts(module, &facts, now() - start);
    }
}

/* In MPI_Init ranks do not yet give their core away while they wait, as mpirun has them do where they share cores. */
void mca_coll_han_measure(han_module_t *module, mca_coll_han_machine_t *machine)
{
    const bool yields = opal_progress_set_yield_when_idle(true);

    measure(module, machine);
    (void) opal_progress_set_yield_when_idle(yields);
}
