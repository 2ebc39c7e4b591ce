/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune_quick.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/tool_version.h"
#include "tune_fit.h"
#include "tune_options.h"

enum {
    TAG = 4713,
    MOST_BYTES = 4 << 20,
    MOST_CROWDED = 256 << 10,
    MOST_WINDOW = 32,      /* messages that are under way together, ... */
    HELD = 2 * MOST_BYTES, /* ... of so many bytes */
    MOST_PROBES = 1024,
    PARTNERS = 3, /* of a level */
    FEW = 3,      /* times each is timed at least, */
    MANY = 50     /* and at most, */
};
#define ENOUGH 60e-3    /* ... until it has taken so long */
#define LONG_TRIP 20e-3 /* longer messages are not tried when one takes that */
#define WARM 100e-3     /* before all else: each of both finds a core for itself */
#define WINDOW 100e-3   /* seconds that messages in a row may take */
#define FOR_SURE 100e-6 /* seconds after which a short message has come */

/* One of two ranks between which something is timed. */
struct end {
    MPI_Comm comm;
    int peer;
    char *send, *recv;
    size_t bytes;
    int window;
    double trip; /* of these bytes, as far as is known */
};

static void put(const struct end *end, size_t bytes)
{
    MPI_Send(end->send, (int) bytes, MPI_BYTE, end->peer, TAG, end->comm);
}

static void get(const struct end *end, size_t bytes)
{
    MPI_Recv(end->recv, (int) bytes, MPI_BYTE, end->peer, TAG, end->comm, MPI_STATUS_IGNORE);
}

/* ---- kinds: what who asks times, and what the other one does ---- */

static double ask_trip(const struct end *end)
{
    const double begin = MPI_Wtime();

    put(end, end->bytes);
    get(end, end->bytes);
    return (MPI_Wtime() - begin) / 2;
}

static void answer_trip(const struct end *end)
{
    get(end, end->bytes);
    put(end, end->bytes);
}

/* The call alone: where a request is still open behind it, nothing is done but waiting. */
static double ask_send(const struct end *end)
{
    const double begin = MPI_Wtime();
    MPI_Request request;
    double took;

    MPI_Isend(end->send, (int) end->bytes, MPI_BYTE, end->peer, TAG, end->comm, &request);
    took = MPI_Wtime() - begin;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    get(end, 0);
    return took;
}

static void answer_send(const struct end *end)
{
    get(end, end->bytes);
    put(end, 0);
}

/* The message is there when it is asked for. */
static double ask_recv(const struct end *end)
{
    double begin = MPI_Wtime();
    const double later = begin + FOR_SURE + 3 * end->trip;

    put(end, 0);
    do {
        begin = MPI_Wtime();
    } while (begin < later);
    get(end, end->bytes);
    return MPI_Wtime() - begin;
}

static void answer_recv(const struct end *end)
{
    get(end, 0);
    put(end, end->bytes);
}

/* As many as the window has, out, in, or both. */
static void pass(const struct end *end, bool out, bool in)
{
    MPI_Request requests[2 * MOST_WINDOW];
    int count = 0;

    for (int i = 0; in && i < end->window; ++i) {
        MPI_Irecv(end->recv + (size_t) i * end->bytes, (int) end->bytes, MPI_BYTE, end->peer, TAG, end->comm,
                  &requests[count++]);
    }
    for (int i = 0; out && i < end->window; ++i) {
        MPI_Isend(end->send, (int) end->bytes, MPI_BYTE, end->peer, TAG, end->comm, &requests[count++]);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static double ask_stream(const struct end *end)
{
    const double begin = MPI_Wtime();

    pass(end, true, false);
    get(end, 0);
    return (MPI_Wtime() - begin) / end->window;
}

static void answer_stream(const struct end *end)
{
    pass(end, false, true);
    put(end, 0);
}

static double ask_exchange(const struct end *end)
{
    const double begin = MPI_Wtime();

    pass(end, true, true);
    return (MPI_Wtime() - begin) / end->window;
}

static void answer_exchange(const struct end *end)
{
    pass(end, true, true);
}

/* Lengths of a kind; a most of 0: up to what goes without asking. */
static const struct kind {
    double (*ask)(const struct end *end);
    void (*answer)(const struct end *end);
    size_t least, most;
    bool window;
} kinds[TUNE_PROBE_COUNT] = {
    [TUNE_TRIP] = { ask_trip, answer_trip, 1, MOST_BYTES, false },
    [TUNE_CROWDED] = { ask_trip, answer_trip, 1, MOST_CROWDED, false },
    [TUNE_SEND] = { ask_send, answer_send, 1, 0, false },
    [TUNE_RECV] = { ask_recv, answer_recv, 1, 0, false },
    [TUNE_STREAM] = { ask_stream, answer_stream, 1 << 10, MOST_BYTES, true },
    [TUNE_EXCHANGE] = { ask_exchange, answer_exchange, 1 << 10, MOST_BYTES, true },
};

/* ---- one rank asks, and another one answers ---- */

/* What is asked for; times of 0: no more. */
struct question {
    int kind, window, times;
    unsigned long bytes;
};

static void answer_all(struct end *end)
{
    struct question question;

    do {
        MPI_Recv(&question, sizeof(question), MPI_BYTE, end->peer, TAG, end->comm, MPI_STATUS_IGNORE);
        end->bytes = question.bytes;
        end->window = question.window;
        for (int i = 0; i < question.times; ++i) {
            kinds[question.kind].answer(end);
        }
    } while (0 < question.times);
}

/* Some times; the shortest, or of a crowd the mean. */
static double ask_times(const struct end *end, int kind, int times)
{
    const struct question question = { kind, end->window, times, end->bytes };
    double least = INFINITY, sum = 0;

    MPI_Send(&question, sizeof(question), MPI_BYTE, end->peer, TAG, end->comm);
    for (int i = 0; i < times; ++i) {
        const double took = kinds[kind].ask(end);

        least = fmin(least, took);
        sum += took;
    }
    return TUNE_CROWDED == kind ? sum / times : least;
}

static void warm(struct end *end)
{
    const double begin = MPI_Wtime();

    end->bytes = 1;
    while (MPI_Wtime() < begin + WARM) {
        (void) ask_times(end, TUNE_TRIP, MANY);
    }
}

static int within(double low, double value, double high)
{
    return (int) fmax(low, fmin(value, high));
}

/* The shortest time counts: what else happens makes times longer only. In a crowd it is what is wanted. */
static double ask(struct end *end, int kind)
{
    double first, more;

    end->window = kinds[kind].window
                      ? within(2, WINDOW / end->trip, fmin(MOST_WINDOW, (double) HELD / (double) end->bytes))
                      : 1;
    first = ask_times(end, kind, FEW);
    more = ask_times(end, kind, within(1, ENOUGH / fmax(end->window * first, 1e-9), MANY));
    return TUNE_CROWDED == kind ? more : fmin(first, more);
}

/* 1, 8, 64, and all powers of two from 512 on. */
static size_t next_length(size_t bytes)
{
    enum { DOUBLED = 512 };

    return bytes < DOUBLED ? 8 * bytes : 2 * bytes;
}

/* Rank 0 and another one, while all others sleep, or, in a crowd, wait as in a collective. */
struct pair {
    mca_coll_han_level_id_t level;
    int peer;
    int others; /* 0: no crowd; else so many more ranks share a core with each */
};
enum { MOST_PAIRS = 2 * HAN_LEVEL_COUNT * PARTNERS };

struct found {
    struct tune_probe probes[MOST_PROBES];
    int count;
};

/* What one pair tells. */
static void ask_all(struct end *end, const struct pair *pair, size_t eager, struct found *found)
{
    end->trip = 0;
    warm(end);
    for (size_t bytes = 1; bytes <= MOST_BYTES && LONG_TRIP > end->trip; bytes = next_length(bytes)) {
        end->bytes = bytes;
        for (int kind = 0; kind < TUNE_PROBE_COUNT; ++kind) {
            const size_t most = 0 == kinds[kind].most ? eager : kinds[kind].most;

            if ((0 < pair->others) == (TUNE_CROWDED == kind) && kinds[kind].least <= bytes && bytes <= most
                && MOST_PROBES > found->count) {
                const double seconds = ask(end, kind);

                end->trip = TUNE_TRIP == kind || TUNE_CROWDED == kind ? seconds : end->trip;
                found->probes[found->count++]
                    = (struct tune_probe){ (enum tune_probe_kind) kind, pair->level, bytes, seconds, pair->others };
            }
        }
    }
}

/* ---- who with whom ---- */

/* Ranks that share a core with each. */
static int others_on_core(const struct tune_engine *engine)
{
    int size, nodes, ppn;

    MPI_Comm_size(tune_engine_comm(engine), &size);
    tune_engine_shape(engine, &nodes, &ppn);
    return (int) mca_coll_han_ranks_of_core(tune_engine_machine(engine), (uint64_t) nodes, (uint64_t) size) - 1;
}

/* At each level the next one, the farthest by the order of ranks, and one in the middle, each once; in a crowd again.
 */
static int pairs_of(const struct tune_engine *engine, struct pair pairs[MOST_PAIRS])
{
    const int others = others_on_core(engine);
    int nodes, ppn, node, place, count = 0, alone;

    tune_engine_shape(engine, &nodes, &ppn);
    tune_engine_place(engine, 0, &node, &place);
    for (int level = 0; level < HAN_LEVEL_COUNT; ++level) {
        const int most = HAN_UP == level ? nodes : ppn, steps[PARTNERS] = { 1, most / 2, most - 1 };

        for (int i = 0; i < PARTNERS; ++i) {
            const bool up = HAN_UP == level;
            const int peer = tune_engine_rank(engine, up ? (node + steps[i]) % nodes : node, up ? 0 : steps[i]);

            if (0 < peer && (0 == count || peer != pairs[count - 1].peer)) {
                pairs[count++] = (struct pair){ (mca_coll_han_level_id_t) level, peer, 0 };
            }
        }
    }
    alone = count;
    for (int i = 0; i < alone && 0 < others; ++i) {
        pairs[count++] = (struct pair){ pairs[i].level, pairs[i].peer, others };
    }
    return count;
}

/* Of ranks that take part; its pages are there before the first message. False where it is short. */
static bool get_memory(struct end *end, const struct pair *pairs, int count)
{
    int rank;
    bool takes_part;

    MPI_Comm_rank(end->comm, &rank);
    takes_part = 0 == rank;
    for (int i = 0; i < count; ++i) {
        takes_part = takes_part || rank == pairs[i].peer;
    }
    if (takes_part) {
        end->send = malloc(HELD);
        end->recv = malloc(HELD);
    }
    if (NULL != end->send && NULL != end->recv) {
        memset(end->send, 1, HELD); /* zeros would be one page, never touched */
        memset(end->recv, 1, HELD);
    }
    return !takes_part || (NULL != end->send && NULL != end->recv);
}

static void say(const struct pair *pair, int node)
{
    fprintf(stderr, "han_tune: messages of rank 0 and rank %d, %s node %d%s\n", pair->peer,
            HAN_UP == pair->level ? "which is on" : "both on", node, 0 < pair->others ? ", while all others wait" : "");
}

static void time_pair(struct tune_engine *engine, struct end *end, const struct pair *pair, bool quiet,
                      struct found *found)
{
    const struct question no_more = { .times = 0 };
    const size_t eager = tune_engine_machine(engine)->levels[pair->level].eager;
    int rank, node, place;

    MPI_Comm_rank(end->comm, &rank);
    tune_engine_place(engine, pair->peer, &node, &place);
    if (0 == rank) {
        if (!quiet) {
            say(pair, node);
        }
        end->peer = pair->peer;
        ask_all(end, pair, eager, found);
        MPI_Send(&no_more, sizeof(no_more), MPI_BYTE, pair->peer, TAG, end->comm);
    } else if (rank == pair->peer) {
        end->peer = 0;
        answer_all(end);
    }
    /* In a crowd who takes no part waits as in a collective. */
    tune_engine_meet(engine, 0 == pair->others);
}

static bool is_like(const struct tune_probe *left, const struct tune_probe *right)
{
    return left->kind == right->kind && left->level == right->level && left->bytes == right->bytes;
}

/* Of pairs that have timed the same, the median. */
static void join(struct found *found)
{
    int kept = 0;

    for (int i = 0; i < found->count; ++i) {
        struct tune_probe probe = found->probes[i];
        double seconds[PARTNERS];
        size_t times = 0;
        int known = 0;

        while (known < kept && !is_like(&found->probes[known], &probe)) {
            ++known;
        }
        for (int k = i; k < found->count && known == kept; ++k) {
            if (is_like(&found->probes[k], &probe)) {
                seconds[times++] = found->probes[k].seconds;
            }
        }
        if (known == kept) {
            probe.seconds = tune_median(seconds, times);
            found->probes[kept++] = probe;
        }
    }
    found->count = kept;
}

/* ---- what comes of it ---- */

static int note(const char *folder, const char *signature, const mca_coll_han_machine_t *machine,
                const struct found *found)
{
    FILE *file = tune_file_open(folder, "probes.csv", "w");
    bool good = NULL != file;

    if (good) {
        fprintf(file, "# %s\nlevel,kind,bytes,measured_us,predicted_us,version\n", signature);
        for (int i = 0; i < found->count; ++i) {
            const struct tune_probe *probe = &found->probes[i];

            fprintf(file, "%s,%s,%zu,%.4g,%.4g," HAN_VERSION_TEXT "\n", mca_coll_han_level_names[probe->level],
                    tune_probe_names[probe->kind], probe->bytes, 1e6 * probe->seconds,
                    1e6 * tune_fit_predict(machine, probe));
        }
        good = 0 == ferror(file);
        good = 0 == fclose(file) && good;
    }
    return good ? 0 : tune_complain("what was measured cannot be written to %s: %s", folder, strerror(errno));
}

/* For the user, and beside what was measured. */
static int write_machine(const char *output, const char *folder, const char *signature,
                         const mca_coll_han_machine_t *machine)
{
    struct tune_text text = { .text = NULL };
    char lines[HAN_MACHINE_TEXT], path[TUNE_PATH];
    const char *const outputs[] = { output, tune_file_path(folder, "found.machine", path) };
    int rc = 0;

    tune_text_add(&text, "# Made by han_tune --quick (HAN) " HAN_VERSION_TEXT ": %s\n%s", signature,
                  mca_coll_han_machine_format(machine, lines, sizeof(lines)));
    if (text.short_of_memory) {
        rc = tune_complain("memory is short");
    }
    for (int i = 0; i < 2 && 0 == rc; ++i) {
        if (0 != tune_file_write(outputs[i], text.text, text.length)) {
            rc = tune_complain("%s: %s", outputs[i], strerror(errno));
        }
    }
    if (0 == rc) {
        printf("%s\nTo use it, on every node: mpirun --mca coll_han_machine %s ...; measured and predicted: %s\n",
               strchr(lines, '\n') + 1, output, folder);
    }
    free(text.text);
    return rc;
}

int tune_quick(struct tune_engine *engine, const char *output, const char *folder, const char *signature, bool quiet)
{
    const mca_coll_han_machine_t *known = tune_engine_machine(engine);
    struct end end = { .comm = tune_engine_comm(engine) };
    struct found *found = calloc(1, sizeof(*found));
    struct pair pairs[MOST_PAIRS];
    mca_coll_han_machine_t machine;
    int rank, count, rc;

    MPI_Comm_rank(end.comm, &rank);
    if (NULL == known) {
        free(found);
        return tune_complain("HAN looks at no machine here; coll_han_machine must not be none");
    }
    count = pairs_of(engine, pairs);
    rc = NULL == found || !get_memory(&end, pairs, count);
    MPI_Allreduce(MPI_IN_PLACE, &rc, 1, MPI_INT, MPI_MAX, end.comm);
    if (0 != rc) {
        rc = tune_complain("memory is short");
    } else {
        for (int i = 0; i < count; ++i) {
            time_pair(engine, &end, &pairs[i], quiet, found);
        }
        if (0 == rank) {
            machine = *known;
            join(found);
            tune_fit(&machine, found->probes, found->count);
            if (0 < others_on_core(engine)) {
                tune_complain("ranks share cores here: HAN chooses better without this file, by the machine's class");
            }
            rc = 0 != note(folder, signature, &machine, found) ? -1
                                                               : write_machine(output, folder, signature, &machine);
        }
    }
    free(end.send);
    free(end.recv);
    free(found);
    return rc;
}
