/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Time and check collectives, with any MPI and any component.
 *
 * A repetition: all ranks begin at one time (han_start.h), with a call or with
 * some in a row; the time of the slowest rank counts.  Both clocks are needed: a
 * single call tells how long its message travels, calls in a row how busy they
 * keep links and processors, and what is best for one may be slow for the other.
 * All exchange that serves the measurement is point-to-point too, so that a
 * faulty collective component can neither disturb nor hide anything.
 *
 * A collective is one row of a table: which side has how many blocks tells
 * what data to expect, so filling and checking are written once.
 *
 * Ranks that share cores are moved between repetitions (han_seats.h): what a call takes depends on who shares which.
 *
 * Clocks, noise levels and ways of segmenting are variants: a repetition measures
 * each of them, so that what the machine does meanwhile meets all alike.  A single
 * call comes behind one that is not timed: what was called before was another variant.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/tool_leave.h"
#include "../common/tool_random.h"
#include "../common/tool_sort.h"
#include "../common/tool_version.h"
#include "../tune/tune_options.h"
#include "han_noise.h"
#include "han_seats.h"
#include "han_start.h"

#define MAX_SIZES    256
#define MAX_VARIANTS 64
#define MAX_SEGMENTS 4096          /* outstanding at once */
#define ALIGNMENT    64
#define GUARD        (128 * 1024)  /* more than a segment that is sent whole by mistake */
#define GUARD_EDGE   64            /* looked at after every repetition */
#define GUARD_BYTE   0xA5
#define CLEAR_BYTE   0x5A
#define MIN_REPS     3
#define SHORT        (16 * 1024)   /* bytes up to which a repetition costs little */
#define CHECKS       10            /* repetitions checked per size, about */
#define EFFICIENCY   0.955         /* payload per byte on a link: TCP over Ethernet, 1500-byte frames */
#define MOST_REPS    10000000
#define MOST_CALLS   1000000
#define MOST_SECONDS 86400.0
#define MOST_MEMORY  ((size_t) 1 << 40)
#define SEATED       0.02          /* seconds for which ranks that share cores stay where they are */
#define ROUNDING     0.99          /* a time below this part of the least possible one is wrong */

enum { TAG_BARRIER = 1, TAG_CONTROL = 2, TAG_LEFT = 3 };
enum { EXIT_OK = 0, EXIT_WRONG = 1, EXIT_USAGE = 2 };

/* ---- what is measured ---- */

struct shape {
    int ranks;
    int nodes;
    int root;       /* -1: every rank in turn */
    int *node_of;   /* by rank */
    int *ppn;       /* by node */
};

struct call {
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    int count;
    int root;
    void *send;
    void *recv;
};

/* A part of a nonblocking call: buffers, and elements (of each block, where a side has many). */
struct segment {
    void *send;
    void *recv;
    int count;
};

enum who { NOBODY, ROOT, EVERYONE, NOT_FIRST };

struct side {
    enum who who;
    int many;       /* a block for each rank, or only one */
};

/* Whose operands are combined. */
enum reduces { NONE, ALL, UP_TO_OWN, BELOW_OWN };

struct collective {
    const char *name;
    const char *help;
    struct side send;
    struct side recv;
    enum reduces reduces;
    int in_place;   /* the root sends from its receive buffer */
    void (*run)(const struct call *c);
    int (*start)(const struct call *c, const struct segment *s, MPI_Request *request);  /* of nonblocking ones */
    double (*bound)(const struct shape *s);  /* blocks that must cross the busiest link, one way */
};

static void run_bcast(const struct call *c)
{
    MPI_Bcast(c->recv, c->count, c->type, c->root, c->comm);
}

static void run_reduce(const struct call *c)
{
    MPI_Reduce(c->send, c->recv, c->count, c->type, c->op, c->root, c->comm);
}

static void run_allreduce(const struct call *c)
{
    MPI_Allreduce(c->send, c->recv, c->count, c->type, c->op, c->comm);
}

static void run_reduce_scatter_block(const struct call *c)
{
    MPI_Reduce_scatter_block(c->send, c->recv, c->count, c->type, c->op, c->comm);
}

static void run_allgather(const struct call *c)
{
    MPI_Allgather(c->send, c->count, c->type, c->recv, c->count, c->type, c->comm);
}

static void run_alltoall(const struct call *c)
{
    MPI_Alltoall(c->send, c->count, c->type, c->recv, c->count, c->type, c->comm);
}

static void run_gather(const struct call *c)
{
    MPI_Gather(c->send, c->count, c->type, c->recv, c->count, c->type, c->root, c->comm);
}

static void run_scatter(const struct call *c)
{
    MPI_Scatter(c->send, c->count, c->type, c->recv, c->count, c->type, c->root, c->comm);
}

/* The v-forms, with blocks of one size: so that they compare with the others. */
struct vector {
    int *counts;
    int *places;
};

static const struct vector *vector_of(const struct call *c)
{
    static struct vector v;
    static int made_for = -1;
    int ranks;

    MPI_Comm_size(c->comm, &ranks);
    if (NULL == v.counts) {
        v.counts = malloc(sizeof(int) * (size_t) ranks);
        v.places = malloc(sizeof(int) * (size_t) ranks);
        if (NULL == v.counts || NULL == v.places) {
            MPI_Abort(c->comm, 2);
        }
    }
    for (int r = 0; made_for != c->count && r < ranks; ++r) {
        v.counts[r] = c->count;
        v.places[r] = r * c->count;
    }
    made_for = c->count;
    return &v;
}

static void run_allgatherv(const struct call *c)
{
    const struct vector *v = vector_of(c);

    MPI_Allgatherv(c->send, c->count, c->type, c->recv, v->counts, v->places, c->type, c->comm);
}

static void run_alltoallv(const struct call *c)
{
    const struct vector *v = vector_of(c);

    MPI_Alltoallv(c->send, v->counts, v->places, c->type, c->recv, v->counts, v->places, c->type, c->comm);
}

static void run_gatherv(const struct call *c)
{
    const struct vector *v = vector_of(c);

    MPI_Gatherv(c->send, c->count, c->type, c->recv, v->counts, v->places, c->type, c->root, c->comm);
}

static void run_scatterv(const struct call *c)
{
    const struct vector *v = vector_of(c);

    MPI_Scatterv(c->send, v->counts, v->places, c->type, c->recv, c->count, c->type, c->root, c->comm);
}

static void run_reduce_scatter(const struct call *c)
{
    MPI_Reduce_scatter(c->send, c->recv, vector_of(c)->counts, c->type, c->op, c->comm);
}

static void run_scan(const struct call *c)
{
    MPI_Scan(c->send, c->recv, c->count, c->type, c->op, c->comm);
}

static void run_exscan(const struct call *c)
{
    MPI_Exscan(c->send, c->recv, c->count, c->type, c->op, c->comm);
}

static void run_barrier(const struct call *c)
{
    MPI_Barrier(c->comm);
}

static int start_bcast(const struct call *c, const struct segment *s, MPI_Request *request)
{
    return MPI_Ibcast(s->recv, s->count, c->type, c->root, c->comm, request);
}

static int start_reduce(const struct call *c, const struct segment *s, MPI_Request *request)
{
    return MPI_Ireduce(s->send, s->recv, s->count, c->type, c->op, c->root, c->comm, request);
}

static int start_allreduce(const struct call *c, const struct segment *s, MPI_Request *request)
{
    return MPI_Iallreduce(s->send, s->recv, s->count, c->type, c->op, c->comm, request);
}

static int start_allgather(const struct call *c, const struct segment *s, MPI_Request *request)
{
    return MPI_Iallgather(s->send, s->count, c->type, s->recv, s->count, c->type, c->comm, request);
}

static int start_reduce_scatter_block(const struct call *c, const struct segment *s, MPI_Request *request)
{
    return MPI_Ireduce_scatter_block(s->send, s->recv, s->count, c->type, c->op, c->comm, request);
}

static double bound_one(const struct shape *s)
{
    (void) s;
    return 1.0;
}

static double bound_none(const struct shape *s)
{
    (void) s;
    return 0.0;
}

static double bound_allreduce(const struct shape *s)
{
    return 2.0 * (s->nodes - 1) / s->nodes;
}

/* The node with the fewest ranks misses (or has to give away) the most. */
static double bound_others(const struct shape *s)
{
    int fewest = s->ppn[0];

    for (int n = 1; n < s->nodes; ++n) {
        fewest = s->ppn[n] < fewest ? s->ppn[n] : fewest;
    }
    return s->ranks - fewest;
}

static double bound_alltoall(const struct shape *s)
{
    double most = 0.0;

    for (int n = 0; n < s->nodes; ++n) {
        double blocks = (double) s->ppn[n] * (s->ranks - s->ppn[n]);
        most = blocks > most ? blocks : most;
    }
    return most;
}

/* While the root rotates, the bound is that of the most favourable root. */
static double bound_rooted(const struct shape *s)
{
    int largest = 0;

    if (s->root >= 0) {
        return s->ranks - s->ppn[s->node_of[s->root]];
    }
    for (int n = 0; n < s->nodes; ++n) {
        largest = s->ppn[n] > largest ? s->ppn[n] : largest;
    }
    return s->ranks - largest;
}

static const struct collective collectives[] = {
    /* name, help,                                      send,           recv, reduces, in place, run, start, bound */
    { "bcast", "one rank's data to all",
      { NOBODY, 0 },   { EVERYONE, 0 }, NONE, 1, run_bcast, NULL, bound_one },
    { "reduce", "the sum over all ranks, at the root",
      { EVERYONE, 0 }, { ROOT, 0 },     ALL, 0, run_reduce, NULL, bound_one },
    { "allreduce", "the sum over all ranks, at every rank",
      { EVERYONE, 0 }, { EVERYONE, 0 }, ALL, 0, run_allreduce, NULL, bound_allreduce },
    { "allgather", "every rank's block to every rank",
      { EVERYONE, 0 }, { EVERYONE, 1 }, NONE, 0, run_allgather, NULL, bound_others },
    { "alltoall", "a block of its own from each rank to each rank",
      { EVERYONE, 1 }, { EVERYONE, 1 }, NONE, 0, run_alltoall, NULL, bound_alltoall },
    { "gather", "every rank's block to the root",
      { EVERYONE, 0 }, { ROOT, 1 },     NONE, 0, run_gather, NULL, bound_rooted },
    { "scatter", "a block from the root to each rank",
      { ROOT, 1 },     { EVERYONE, 0 }, NONE, 0, run_scatter, NULL, bound_rooted },
    { "reduce_scatter_block", "each rank gets its block of the sum",
      { EVERYONE, 1 }, { EVERYONE, 0 }, ALL, 0, run_reduce_scatter_block, NULL, bound_others },
    { "allgatherv", "as allgather",
      { EVERYONE, 0 }, { EVERYONE, 1 }, NONE, 0, run_allgatherv, NULL, bound_others },
    { "alltoallv", "as alltoall",
      { EVERYONE, 1 }, { EVERYONE, 1 }, NONE, 0, run_alltoallv, NULL, bound_alltoall },
    { "gatherv", "as gather",
      { EVERYONE, 0 }, { ROOT, 1 },     NONE, 0, run_gatherv, NULL, bound_rooted },
    { "scatterv", "as scatter",
      { ROOT, 1 },     { EVERYONE, 0 }, NONE, 0, run_scatterv, NULL, bound_rooted },
    { "reduce_scatter", "as reduce_scatter_block",
      { EVERYONE, 1 }, { EVERYONE, 0 }, ALL, 0, run_reduce_scatter, NULL, bound_others },
    { "scan", "the sum over the ranks up to the own one, at every rank",
      { EVERYONE, 0 }, { EVERYONE, 0 }, UP_TO_OWN, 0, run_scan, NULL, bound_one },
    { "exscan", "the sum over the ranks below the own one, at every rank but 0",
      { EVERYONE, 0 }, { NOT_FIRST, 0 }, BELOW_OWN, 0, run_exscan, NULL, bound_one },
    { "barrier", "wait for all ranks; the size does not matter",
      { NOBODY, 0 },   { NOBODY, 0 },   NONE, 0, run_barrier, NULL, bound_none },
    { "ibcast", "nonblocking bcast, waited for at once",
      { NOBODY, 0 },   { EVERYONE, 0 }, NONE, 1, run_bcast, start_bcast, bound_one },
    { "ireduce", "nonblocking reduce, waited for at once",
      { EVERYONE, 0 }, { ROOT, 0 },     ALL, 0, run_reduce, start_reduce, bound_one },
    { "iallreduce", "nonblocking allreduce, waited for at once",
      { EVERYONE, 0 }, { EVERYONE, 0 }, ALL, 0, run_allreduce, start_allreduce, bound_allreduce },
    { "iallgather", "nonblocking allgather, waited for at once",
      { EVERYONE, 0 }, { EVERYONE, 1 }, NONE, 0, run_allgather, start_allgather, bound_others },
    { "ireduce_scatter_block", "nonblocking reduce_scatter_block, waited for at once",
      { EVERYONE, 1 }, { EVERYONE, 0 }, ALL, 0, run_reduce_scatter_block, start_reduce_scatter_block,
      bound_others },
};
#define N_COLLECTIVES ((int) (sizeof(collectives) / sizeof(collectives[0])))

/* Repetitions and warm-up where the user names none; the time limit still cuts them. */
static const struct { size_t up_to; int reps; int warmup; } defaults[] = {
    { 8 * 1024,    1000, 40 },
    { 64 * 1024,    300, 20 },
    { 1024 * 1024,  100,  4 },
    { SIZE_MAX,      50,  2 },
};

enum form { WHOLE, BLOCKING, BY_SIZE, BY_NUMBER };

struct way {
    enum form form;
    size_t value;       /* bytes or number of segments */
};

struct variant {
    char name[96];      /* of this size: the number of calls may depend on it */
    int in_a_row;       /* calls, 0: by size */
    int calls;          /* of this size */
    double noise;       /* per cent */
    struct way way;
    const char *prefer; /* components of Open MPI, or NULL */
    MPI_Info info;
    MPI_Comm comm;
    int shares;         /* info and comm are an earlier variant's */
};

struct bench {
    /* options */
    const struct collective *colls[N_COLLECTIVES];
    int n_colls;
    size_t sizes[MAX_SIZES];
    int n_sizes;
    int reps;          /* 0: by size */
    int warmup;        /* -1: by size */
    int offset;
    int root;          /* -1: rotates */
    int check;
    int csv;
    int first;
    bool help;
    double rate;       /* payload bytes per microsecond, 0: unknown */
    double bucket;     /* bytes that a link lets pass at once after a pause */
    double max_time;   /* seconds, 0: none */
    size_t memory;
    const char *samples_name;
    int calls[MAX_VARIANTS];  /* in a row, 0: by size; a repetition is their mean */
    int n_calls;
    double noises[MAX_VARIANTS];
    int n_noises;      /* 0: no timer at all */
    struct way ways[MAX_VARIANTS];
    int n_ways;
    char prefers[MAX_VARIANTS][64];
    int n_prefers;
    struct variant variants[MAX_VARIANTS];
    int n_variants;
    int unwritten;     /* something could not be */
    int too_fast;      /* medians below what the wire allows */
    /* the run */
    const struct collective *coll;  /* one of them after the other */
    int rank;
    int ranks;
    struct shape shape;
    struct start start;
    struct seats seats;
    double seated;     /* by all ranks' clock, the last time */
    int connected;     /* ranks have met, with each root */
    unsigned char *send_area, *recv_area;
    MPI_Request *requests;
    FILE *out;
    FILE *samples;
};

/* One size of a run. */
struct point {
    size_t bytes;
    size_t unit;        /* width of a checked value, and of an element that is reduced */
    int reps;           /* of each variant */
    unsigned char *send, *recv;
    const struct variant *variant;
    int n_segments;     /* of the variant */
    long wrong[MAX_VARIANTS];
};

/* ---- point-to-point exchange ---- */

/* Everybody learns rank 0's number. */
static int agree(const struct bench *b, int value)
{
    if (0 != b->rank) {
        MPI_Recv(&value, 1, MPI_INT, 0, TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return value;
    }
    for (int r = 1; r < b->ranks; ++r) {
        MPI_Send(&value, 1, MPI_INT, r, TAG_CONTROL, MPI_COMM_WORLD);
    }
    return value;
}

static void *allocate(size_t bytes)
{
    void *p = NULL;

    bytes = bytes > 0 ? bytes : 1;
    if (0 != posix_memalign(&p, ALIGNMENT, bytes)) {
        fprintf(stderr, "han_bench: no memory for %zu bytes; use smaller sizes or -M\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, EXIT_USAGE);
    }
    return p;
}

/* At rank 0, times[] becomes that of the slowest rank. */
static void slowest(const struct bench *b, double *times, int n)
{
    double *other;

    if (0 != b->rank) {
        MPI_Send(times, n, MPI_DOUBLE, 0, TAG_CONTROL, MPI_COMM_WORLD);
        return;
    }
    other = allocate((size_t) n * sizeof(*other));
    for (int r = 1; r < b->ranks; ++r) {
        MPI_Recv(other, n, MPI_DOUBLE, r, TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; ++i) {
            times[i] = other[i] > times[i] ? other[i] : times[i];
        }
    }
    free(other);
}

/* At rank 0, the sum over all ranks. */
static long total(const struct bench *b, long value)
{
    long other;

    if (0 != b->rank) {
        MPI_Send(&value, 1, MPI_LONG, 0, TAG_CONTROL, MPI_COMM_WORLD);
        return value;
    }
    for (int r = 1; r < b->ranks; ++r) {
        MPI_Recv(&other, 1, MPI_LONG, r, TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        value += other;
    }
    return value;
}

/* Rank 0 learns which ranks share a node, by host name. */
static void find_nodes(struct bench *b)
{
    struct shape *s = &b->shape;
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    char *names;
    int length, n;

    MPI_Get_processor_name(name, &length);
    if (0 != b->rank) {
        MPI_Send(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, TAG_CONTROL, MPI_COMM_WORLD);
        return;
    }
    s->ranks = b->ranks;
    s->root = b->root;
    s->node_of = allocate((size_t) b->ranks * sizeof(int));
    s->ppn = allocate((size_t) b->ranks * sizeof(int));
    names = allocate((size_t) b->ranks * MPI_MAX_PROCESSOR_NAME);
    for (int r = 0; r < b->ranks; ++r) {
        if (r > 0) {
            MPI_Recv(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, r, TAG_CONTROL, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
        for (n = 0; n < s->nodes; ++n) {
            if (0 == strcmp(name, names + (size_t) n * MPI_MAX_PROCESSOR_NAME)) {
                break;
            }
        }
        if (n == s->nodes) {
            strcpy(names + (size_t) n * MPI_MAX_PROCESSOR_NAME, name);
            s->ppn[n] = 0;
            ++s->nodes;
        }
        s->node_of[r] = n;
        ++s->ppn[n];
    }
    free(names);
}

/* ---- data: filled and checked in units of 8 bytes, or of 1 where the size is ragged ---- */

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* A stream of values. In a reduction rank r contributes its weight times the stream, modulo 2^64, so the result of
 * MPI_SUM is the sum of the weights times the stream, whatever the order. Bytes are reduced by MPI_BXOR, and rank r
 * contributes the stream and-ed with its mask: sums of bytes saturate in Open MPI's op/avx where they should wrap. */
struct pattern {
    uint64_t key;
    uint64_t weight;
    uint64_t mask;
};

static uint64_t value_at(struct pattern p, size_t i, size_t unit)
{
    if (sizeof(uint64_t) == unit) {
        return mix(p.key + i) * p.weight;
    }
    return (uint8_t) ((mix(p.key + i / 8) >> (8 * (i % 8))) & p.mask);
}

/* A stretch of a block, in units, and where it lies. */
struct stretch {
    unsigned char *at;
    size_t first;
    size_t count;
};

/* Segment k of n has the units from segment_begin(k) to segment_begin(k + 1). */
static size_t segment_begin(const struct point *pt, int k)
{
    size_t units = pt->bytes / pt->unit;
    size_t width = units;

    if (k >= pt->n_segments) {
        return units;
    }
    if (BY_SIZE == pt->variant->way.form) {
        width = pt->variant->way.value / pt->unit > 0 ? pt->variant->way.value / pt->unit : 1;
    } else if (BY_NUMBER == pt->variant->way.form) {
        width = units / (size_t) pt->n_segments;  /* the last one has the rest */
    }
    return (size_t) k * width;
}

static int count_segments(const struct point *pt)
{
    size_t units = pt->bytes / pt->unit;
    size_t value = pt->variant->way.value, width;

    switch (pt->variant->way.form) {
    case BY_NUMBER:
        return value <= units ? (int) value : 1;
    case BY_SIZE:
        width = value / pt->unit > 0 ? value / pt->unit : 1;
        return (int) ((units + width - 1) / width);
    default:
        return 1;
    }
}

/* A side with many blocks lies segment by segment: each segment has its part of all blocks. */
static struct stretch stretch_of(const struct point *pt, unsigned char *buffer, int many, int block, int k)
{
    size_t first = segment_begin(pt, k);
    struct stretch s = { buffer, first, segment_begin(pt, k + 1) - first };

    s.at += pt->unit * (many > 1 ? (size_t) many * first + (size_t) block * s.count : first);
    return s;
}

static void fill_stretch(struct stretch s, size_t unit, struct pattern p)
{
    for (size_t i = 0; i < s.count; ++i) {
        uint64_t value = value_at(p, s.first + i, unit);
        if (sizeof(value) == unit) {
            memcpy(s.at + i * sizeof(value), &value, sizeof(value));
        } else {
            s.at[i] = (unsigned char) value;
        }
    }
}

static long differing_stretch(struct stretch s, size_t unit, struct pattern p)
{
    long wrong = 0;

    for (size_t i = 0; i < s.count; ++i) {
        uint64_t found = s.at[i];
        if (sizeof(found) == unit) {
            memcpy(&found, s.at + i * sizeof(found), sizeof(found));
        }
        wrong += found != value_at(p, s.first + i, unit);
    }
    return wrong;
}

/* One of the buffer's `many` blocks. */
static void fill(unsigned char *buffer, int many, int block, const struct point *pt, struct pattern p)
{
    for (int k = 0; k < pt->n_segments; ++k) {
        fill_stretch(stretch_of(pt, buffer, many, block, k), pt->unit, p);
    }
}

static long differing(unsigned char *buffer, int many, int block, const struct point *pt, struct pattern p)
{
    long wrong = 0;

    for (int k = 0; k < pt->n_segments; ++k) {
        wrong += differing_stretch(stretch_of(pt, buffer, many, block, k), pt->unit, p);
    }
    return wrong;
}

static uint64_t seed_of(const struct point *pt, int rep, int root)
{
    return mix(mix(mix(pt->bytes) + (uint64_t) rep) + (uint64_t) root);
}

static uint64_t weight_of(uint64_t seed, int rank)
{
    return mix(seed ^ mix((uint64_t) rank)) | 1;
}

static struct pattern sent_block(const struct collective *coll, uint64_t seed, int rank, int block)
{
    struct pattern p = { mix(seed + (uint64_t) block), 1, UINT8_MAX };

    if (coll->reduces) {
        p.weight = p.mask = weight_of(seed, rank);
    } else {
        p.key = mix(p.key + (uint64_t) rank);
    }
    return p;
}

static struct pattern expected_block(const struct bench *b, uint64_t seed, int root, int block)
{
    const struct collective *coll = b->coll;
    int from = coll->recv.many ? block : root;
    struct pattern p = sent_block(coll, seed, from, coll->send.many ? b->rank : 0);

    if (coll->reduces) {
        const int ranks = UP_TO_OWN == coll->reduces ? b->rank + 1 : BELOW_OWN == coll->reduces ? b->rank : b->ranks;

        p.weight = p.mask = 0;
        for (int r = 0; r < ranks; ++r) {
            p.weight += weight_of(seed, r);
            p.mask ^= weight_of(seed, r);
        }
    }
    return p;
}

static int blocks(const struct bench *b, struct side side, int root)
{
    int here = EVERYONE == side.who || (ROOT == side.who && root == b->rank) || (NOT_FIRST == side.who && 0 < b->rank);

    return here ? (side.many ? b->ranks : 1) : 0;
}

/* The most that any root makes this rank hold. */
static size_t side_bytes(const struct bench *b, struct side side, size_t bytes)
{
    return NOBODY == side.who ? 0 : (side.many ? (size_t) b->ranks : 1) * bytes;
}

static void paint_guards(unsigned char *buffer, size_t bytes)
{
    memset(buffer - GUARD, GUARD_BYTE, GUARD);
    memset(buffer + bytes, GUARD_BYTE, GUARD);
}

static long differing_bytes(const unsigned char *at, size_t width)
{
    long wrong = 0;

    if (GUARD_BYTE == at[0] && 0 == memcmp(at, at + 1, width - 1)) {
        return 0;
    }
    for (size_t i = 0; i < width; ++i) {
        wrong += GUARD_BYTE != at[i];
    }
    return wrong;
}

static long broken_guards(const unsigned char *buffer, size_t bytes, size_t width)
{
    return differing_bytes(buffer - width, width) + differing_bytes(buffer + bytes, width);
}

static void prepare(const struct bench *b, const struct point *pt, int rep, int root)
{
    const struct collective *coll = b->coll;
    uint64_t seed = seed_of(pt, rep, root);
    size_t sent = side_bytes(b, coll->send, pt->bytes);
    size_t received = side_bytes(b, coll->recv, pt->bytes);

    paint_guards(pt->send, sent);
    paint_guards(pt->recv, received);
    memset(pt->recv, CLEAR_BYTE, received);
    for (int j = 0; j < blocks(b, coll->send, root); ++j) {
        fill(pt->send, blocks(b, coll->send, root), j, pt, sent_block(coll, seed, b->rank, j));
    }
    if (coll->in_place && root == b->rank) {
        fill(pt->recv, 1, 0, pt, sent_block(coll, seed, root, 0));
    }
}

/* A barrier that one rank enters late: nobody may have left it before. */
static long check_barrier(const struct bench *b, MPI_Comm comm, int rep)
{
    const double delay = 0.005;
    int late = rep % b->ranks;
    int early = 0;
    double begin;

    if (late != b->rank) {
        MPI_Barrier(comm);
        MPI_Send(NULL, 0, MPI_BYTE, late, TAG_LEFT, MPI_COMM_WORLD);
        return 0;
    }
    begin = MPI_Wtime();
    while (!early && MPI_Wtime() - begin < delay) {
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_LEFT, MPI_COMM_WORLD, &early, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(comm);
    for (int r = 1; r < b->ranks; ++r) {
        MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TAG_LEFT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return early;
}

/* Received values, guards, and that the send buffer is as it was. */
static long wrong_values(const struct bench *b, const struct point *pt, MPI_Comm comm, int rep,
                         int root)
{
    const struct collective *coll = b->coll;
    uint64_t seed = seed_of(pt, rep, root);
    int received = blocks(b, coll->recv, root);
    long wrong = 0;

    if (NOBODY == coll->recv.who) {
        return check_barrier(b, comm, rep);
    }
    for (int j = 0; j < received; ++j) {
        wrong += differing(pt->recv, received, j, pt, expected_block(b, seed, root, j));
    }
    for (size_t i = 0; 0 == received && i < pt->bytes; ++i) {  /* not significant here */
        wrong += CLEAR_BYTE != pt->recv[i];
    }
    for (int j = 0; j < blocks(b, coll->send, root); ++j) {
        wrong += differing(pt->send, blocks(b, coll->send, root), j, pt, sent_block(coll, seed, b->rank, j));
    }
    wrong += broken_guards(pt->recv, side_bytes(b, coll->recv, pt->bytes), GUARD);
    wrong += broken_guards(pt->send, side_bytes(b, coll->send, pt->bytes), GUARD);
    return wrong;
}

/* ---- measuring ---- */

static int coprime_stride(int n)
{
    int stride = (int) (0.618 * n);

    for (; stride > 1; --stride) {
        int x = n, y = stride;
        while (0 != y) {
            int rest = x % y;
            x = y;
            y = rest;
        }
        if (1 == x) {
            break;
        }
    }
    return stride > 1 ? stride : 1;
}

static int root_of(const struct bench *b, int rep)
{
    if (b->root >= 0) {
        return b->root;
    }
    return (int) ((long) rep * coprime_stride(b->ranks) % b->ranks);
}

static int is_checked(const struct bench *b, const struct point *pt, int i)
{
    int stride = pt->reps / CHECKS > 0 ? pt->reps / CHECKS : 1;

    return b->check && (0 == i % stride || i == pt->reps / 2 || i == pt->reps - 1);
}

/* The blocking call, or all segments outstanding, then one wait. */
static void run_call(const struct bench *b, const struct point *pt, const struct call *c)
{
    int many_sent = blocks(b, b->coll->send, c->root), many_received = blocks(b, b->coll->recv, c->root);
    size_t elements = b->coll->reduces ? 1 : pt->unit;  /* in a unit: bytes where nothing is reduced */

    if (NULL == b->coll->start || BLOCKING == pt->variant->way.form) {
        b->coll->run(c);
        return;
    }
    for (int k = 0; k < pt->n_segments; ++k) {
        struct stretch sent = stretch_of(pt, c->send, many_sent, 0, k);
        struct stretch received = stretch_of(pt, c->recv, many_received, 0, k);
        struct segment part = { sent.at, received.at, (int) (sent.count * elements) };

        b->coll->start(c, &part, &b->requests[k]);
    }
    MPI_Waitall(pt->n_segments, b->requests, MPI_STATUSES_IGNORE);
}

static void take_variant(const struct bench *b, struct point *pt, int v)
{
    pt->variant = &b->variants[v];
    pt->n_segments = count_segments(pt);
}

/* The first call behind those of another variant is longer than all that follow it in a program that has one way: a
 * single call comes behind one that is not timed. */
static bool is_after_others(const struct bench *b, const struct variant *variant)
{
    return 1 == variant->calls && 1 < b->n_variants && !b->first;
}

/* Microseconds of this rank. */
static double repetition(struct bench *b, struct point *pt, int v, int rep, int checked)
{
    int root = root_of(b, rep);
    struct call c = { .comm = b->variants[v].comm, .type = MPI_BYTE, .op = MPI_SUM, .count = (int) pt->bytes,
                      .root = root, .send = pt->send, .recv = pt->recv };
    double begin, end;

    take_variant(b, pt, v);
    if (b->coll->reduces) {
        c.type = 1 == pt->unit ? MPI_BYTE : MPI_UINT64_T;
        c.op = 1 == pt->unit ? MPI_BXOR : MPI_SUM;
        c.count = (int) (pt->bytes / pt->unit);
    }
    if (b->first) {
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, pt->variant->info, &c.comm);
    }
    noise_set(pt->variant->noise);  /* before the barrier: nobody begins under the level before */
    if (is_after_others(b, pt->variant)) {
        run_call(b, pt, &c);
    }
    if (checked) {
        prepare(b, pt, rep, root);  /* behind the call that is not timed, which has given the right result, too */
    }
    begin = start_together(&b->start);
    for (int i = 0; i < pt->variant->calls; ++i) {
        run_call(b, pt, &c);
    }
    end = start_clock();
    noise_set(0.0);
    if (checked) {
        /* Where cores are shared, who compared early would take the time of those who are still at it. */
        (void) start_greatest(&b->start, 0.0);
        pt->wrong[v] += wrong_values(b, pt, c.comm, rep, root);
    } else if (b->check) {
        pt->wrong[v] += broken_guards(pt->recv, side_bytes(b, b->coll->recv, pt->bytes), GUARD_EDGE);
    }
    if (b->first) {
        MPI_Comm_free(&c.comm);
    }
    return 1e6 * (end - begin) / pt->variant->calls;
}

static void default_counts(const struct bench *b, size_t bytes, int *reps, int *warmup)
{
    int i = 0;

    while (bytes > defaults[i].up_to) {
        ++i;
    }
    *reps = b->reps > 0 ? b->reps : defaults[i].reps;
    *warmup = b->warmup >= 0 ? b->warmup : defaults[i].warmup;
    if (b->first) {
        *reps = b->reps > 0 ? b->reps : 50;
        *warmup = b->warmup >= 0 ? b->warmup : 1;
    }
}

/* As many repetitions of so many microseconds as fit, with the wait for each, equal on all ranks. */
static int fitting(const struct bench *b, int wanted, double micros, double share, int at_least)
{
    double seconds = b->max_time * share;

    at_least = wanted < at_least ? wanted : at_least;
    micros += 1e6 * b->start.waited * b->n_variants;
    if (seconds > 0.0 && micros > 0.0 && wanted * micros > 1e6 * seconds) {
        wanted = (int) (1e6 * seconds / micros);
    }
    return agree(b, wanted < at_least ? at_least : wanted);
}

/* Each root once, with each choice of components, so that connections between ranks are made before anything is timed:
 * the first size of a run would pay for them, and take its own number of repetitions from that. So would each short
 * one, for which a component may send along other ways. Without warm-up (-x 0) there is none of this. */
static void connect_ranks(struct bench *b, struct point *pt)
{
    const int rounds = b->first || 0 == b->warmup || 2 > b->ranks ? 0 : b->ranks;

    if (b->connected && SHORT < pt->bytes) {
        return;
    }
    b->connected = 1;
    take_variant(b, pt, 0);
    prepare(b, pt, 0, root_of(b, 0));
    for (int v = 0; v < b->n_variants; ++v) {
        for (int i = 0; i < rounds && !b->variants[v].shares; ++i) {
            repetition(b, pt, v, i, 0);
        }
    }
}

/* Warm up; the last of these times says how many repetitions fit. */
static void warm_up(struct bench *b, struct point *pt, int warmup)
{
    double micros = 0.0;
    int rep = b->offset;

    take_variant(b, pt, 0);
    prepare(b, pt, rep, root_of(b, rep));
    for (int i = 0; i < warmup; ++i) {
        double mine[MAX_VARIANTS];
        for (int v = 0; v < b->n_variants; ++v) {
            mine[v] = repetition(b, pt, v, rep + i, 0);
        }
        if (0 == i || i == warmup - 1) {
            slowest(b, mine, b->n_variants);
            micros = 0.0;
            for (int v = 0; v < b->n_variants; ++v) {
                micros += mine[v] * (b->variants[v].calls + is_after_others(b, &b->variants[v]));
            }
        }
        if (0 == i) {
            warmup = fitting(b, warmup, micros, 0.2, 1);
        }
    }
    pt->reps = fitting(b, pt->reps, micros, 1.0, MIN_REPS);
    memset(pt->wrong, 0, sizeof(pt->wrong));  /* what warm-up found is found again */
}

static void print_header(const struct bench *b)
{
    const struct shape *s = &b->shape;
    int least = s->ppn[0], most = s->ppn[0];

    if (b->csv) {
        return;
    }
    for (int n = 1; n < s->nodes; ++n) {
        least = s->ppn[n] < least ? s->ppn[n] : least;
        most = s->ppn[n] > most ? s->ppn[n] : most;
    }
    fprintf(b->out, "# %s%s, %d rank%s on %d node%s", b->coll->name,
            b->first ? ", first call on a new communicator" : "", s->ranks,
            1 == s->ranks ? "" : "s", s->nodes, 1 == s->nodes ? "" : "s");
    if (s->nodes > 1 && least == most) {
        fprintf(b->out, " (%d each)", least);
    } else if (s->nodes > 1) {
        fprintf(b->out, " (%d to %d each)", least, most);
    }
    if (b->root >= 0) {
        fprintf(b->out, ", root %d", b->root);
    } else {
        fprintf(b->out, ", root rotates");
    }
    fprintf(b->out, "; %s, time of the slowest rank in microseconds\n",
            b->start.one_clock ? "all begin at one time" : "after a barrier");
    fprintf(b->out, "%10s %6s %12s %12s %12s %7s %7s  %s\n", "bytes", "reps", "median", "minimum",
            "wire bound", "ratio", "wrong", "variant");
}

/* Tells of the first time that is lost. */
static void flush(struct bench *b, FILE *file, const char *name)
{
    if (0 != fflush(file) && !b->unwritten) {
        b->unwritten = 1;
        tune_complain("%s cannot be written: %s", name, strerror(errno));
    }
}

static void print_row(struct bench *b, const struct point *pt, int v, double median, double minimum)
{
    const double moved = (b->shape.nodes > 1 ? b->coll->bound(&b->shape) : 0.0) * (double) pt->bytes;
    const double bound = b->rate > 0.0 ? moved / b->rate : 0.0;
    const double least = b->rate > 0.0 && moved > b->bucket ? (moved - b->bucket) / b->rate : 0.0;
    const int too_fast = median < ROUNDING * least;
    char bound_text[32] = "-", least_text[32] = "-", ratio_text[32] = "-", wrong_text[32] = "-";

    b->too_fast += too_fast;
    if (bound > 0.0) {
        snprintf(bound_text, sizeof(bound_text), "%.1f", bound);
        snprintf(least_text, sizeof(least_text), "%.1f", least);
        snprintf(ratio_text, sizeof(ratio_text), "%.2f%s", median / bound, too_fast ? "<" : "");
    }
    if (b->check) {
        snprintf(wrong_text, sizeof(wrong_text), "%ld", pt->wrong[v]);
    }
    if (b->csv) {
        fprintf(b->out, "%s,%zu,%d,%.2f,%.2f,%s,%s,%s,%s," HAN_VERSION_TEXT "\n", b->coll->name, pt->bytes, pt->reps, median,
                minimum, bound_text, least_text, wrong_text, b->variants[v].name);
    } else {
        fprintf(b->out, "%10zu %6d %12.2f %12.2f %12s %7s %7s  %s\n", pt->bytes, pt->reps, median, minimum,
                bound_text, ratio_text, wrong_text, b->variants[v].name);
    }
    flush(b, b->out, "the table");
}

static void report(struct bench *b, const struct point *pt, int v, double *times)
{
    int n = pt->reps;

    for (int i = 0; NULL != b->samples && i < n; ++i) {
        fprintf(b->samples, "%s,%zu,%d,%d,%.2f,%s," HAN_VERSION_TEXT "\n", b->coll->name, pt->bytes, b->offset + i,
                root_of(b, b->offset + i), times[i], b->variants[v].name);
    }
    if (NULL != b->samples) {
        flush(b, b->samples, b->samples_name);
    }
    tool_sort(times, (size_t) n);
    print_row(b, pt, v, 0.5 * (times[(n - 1) / 2] + times[n / 2]), times[0]);
}

static void name_variant(const struct bench *b, struct variant *v)
{
    char calls_text[24] = "", noise_text[24] = "", way_text[32] = "";
    const char *texts[] = { calls_text, NULL == v->prefer ? "" : v->prefer, noise_text, way_text };

    if (b->n_calls > 1 || 0 == v->in_a_row) {
        snprintf(calls_text, sizeof(calls_text), "calls=%d", v->calls);
    }
    if (b->n_noises > 0) {
        snprintf(noise_text, sizeof(noise_text), "noise=%g", v->noise);
    }
    switch (v->way.form) {
    case BLOCKING:  snprintf(way_text, sizeof(way_text), "blocking"); break;
    case BY_SIZE:   snprintf(way_text, sizeof(way_text), "segsize=%zu", v->way.value); break;
    case BY_NUMBER: snprintf(way_text, sizeof(way_text), "segments=%zu", v->way.value); break;
    default:        break;
    }
    v->name[0] = '\0';
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
        const size_t length = strlen(v->name);

        snprintf(v->name + length, sizeof(v->name) - length, "%s%s", 0 < length && '\0' != texts[i][0] ? " " : "",
                 texts[i]);
    }
    if ('\0' == v->name[0]) {
        strcpy(v->name, "-");
    }
}

/* Between two repetitions, where the ranks have sat for a while: all variants meet the same seats. */
static void change_seats(struct bench *b)
{
    const double now = start_greatest(&b->start, start_clock());  /* the same on all ranks */

    if (now - b->seated >= SEATED) {
        b->seated = now;
        seats_change(&b->seats);
    }
}

/* Wrong values of all ranks, known at rank 0. */
static long measure(struct bench *b, size_t bytes)
{
    struct point pt = { .bytes = bytes, .unit = 0 == bytes % 8 ? 8 : 1,
                        .send = b->send_area + GUARD, .recv = b->recv_area + GUARD };
    const size_t sent = side_bytes(b, b->coll->send, bytes), received = side_bytes(b, b->coll->recv, bytes);
    double *times;
    int warmup;
    long wrong = 0;

    default_counts(b, bytes, &pt.reps, &warmup);
    for (int v = 0; v < b->n_variants; ++v) {
        b->variants[v].calls = b->variants[v].in_a_row > 0 ? b->variants[v].in_a_row
                                                              : start_calls(sent > received ? sent : received);
        name_variant(b, &b->variants[v]);
    }
    connect_ranks(b, &pt);
    warm_up(b, &pt, warmup);
    times = allocate((size_t) pt.reps * (size_t) b->n_variants * sizeof(*times));
    for (int i = 0; i < pt.reps; ++i) {
        long order[MAX_VARIANTS];
        uint64_t state = mix((uint64_t) (b->offset + i));

        /* The same on all ranks: a call finds caches, and ranks more or less late, as the one before has left them. */
        tool_shuffle(order, b->n_variants, &state);
        change_seats(b);
        for (int k = 0; k < b->n_variants; ++k) {
            const int v = (int) order[k];
            times[v * pt.reps + i] = repetition(b, &pt, v, b->offset + i, is_checked(b, &pt, i));
        }
    }
    slowest(b, times, pt.reps * b->n_variants);
    for (int v = 0; v < b->n_variants; ++v) {
        pt.wrong[v] = total(b, pt.wrong[v]);
        wrong += pt.wrong[v];
        if (0 == b->rank) {
            report(b, &pt, v, times + v * pt.reps);
        }
    }
    free(times);
    return wrong;
}

/* ---- options ---- */

static bool add_size(struct bench *b, size_t bytes)
{
    if (MAX_SIZES == b->n_sizes) {
        return false;
    }
    b->sizes[b->n_sizes++] = bytes;
    return true;
}

/* A size, or a range MIN:MAX that doubles. */
static bool take_size(void *context, const char *word)
{
    struct bench *b = context;
    size_t from, to;

    if (!tune_get_bytes(&word, INT_MAX, &from)) {
        return false;
    }
    to = from;
    if (':' == *word) {
        ++word;
        if (!tune_get_bytes(&word, INT_MAX, &to)) {
            return false;
        }
    }
    if (0 == from || to < from || '\0' != *word) {
        return false;
    }
    for (; from <= to; from *= 2) {
        if (!add_size(b, from)) {
            return false;
        }
    }
    return true;
}

static bool take_sizes(struct bench *b, const char *text)
{
    b->n_sizes = 0;
    return tune_get_list(text, b, take_size);
}

/* MIN:MAX, or MAX alone. */
static bool take_range(struct bench *b, const char *text)
{
    char range[64];

    b->n_sizes = 0;
    return sizeof(range) > (size_t) snprintf(range, sizeof(range), "%s%s", NULL == strchr(text, ':') ? "1:" : "", text)
           && take_size(b, range);
}

static bool take_number(const char *text, long least, long most, int *number)
{
    long value;
    const bool good = tune_get_number(text, least, most, &value);

    *number = (int) value;
    return good;
}

/* All of a text. */
static bool take_bytes(const char *text, size_t least, size_t *bytes)
{
    return tune_get_bytes(&text, MOST_MEMORY, bytes) && '\0' == *text && least <= *bytes;
}

/* Payload bytes per microsecond. */
static bool take_rate(struct bench *b, const char *text)
{
    static const struct { const char *name; double bits; } units[] = {
        { "bit", 1 }, { "kbit", 1e3 }, { "mbit", 1e6 }, { "gbit", 1e9 },
    };
    char *end;
    double value = strtod(text, &end);

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); ++i) {
        if (end != text && value > 0.0 && 0 == strcasecmp(end, units[i].name)) {
            b->rate = value * units[i].bits / 8e6 * EFFICIENCY;
            return true;
        }
    }
    return false;
}

static bool take_seconds(struct bench *b, const char *text)
{
    char *end;

    b->max_time = strtod(text, &end);
    return end != text && '\0' == *end && b->max_time > 0.0 && b->max_time <= MOST_SECONDS;
}

static bool take_calls(void *context, const char *word)
{
    struct bench *b = context;

    return b->n_calls < MAX_VARIANTS && take_number(word, 0, MOST_CALLS, &b->calls[b->n_calls++]);
}

static bool take_noise(void *context, const char *word)
{
    struct bench *b = context;
    char *end;
    const double value = strtod(word, &end);

    if (end == word || '\0' != *end || !(value >= 0.0 && value <= NOISE_MOST) || MAX_VARIANTS == b->n_noises) {
        return false;
    }
    b->noises[b->n_noises++] = value;
    return true;
}

static bool add_way(struct bench *b, enum form form, size_t value)
{
    if (MAX_VARIANTS == b->n_ways) {
        return false;
    }
    b->ways[b->n_ways++] = (struct way) { form, value };
    return true;
}

static bool take_segment_size(void *context, const char *word)
{
    size_t bytes;

    return take_bytes(word, 1, &bytes) && bytes <= INT_MAX && add_way(context, BY_SIZE, bytes);
}

static bool take_segments(void *context, const char *word)
{
    int number;

    return take_number(word, 1, MAX_SEGMENTS, &number) && add_way(context, BY_NUMBER, (size_t) number);
}

/* A set of components, "sm+tuned". */
static bool take_prefer(void *context, const char *word)
{
    struct bench *b = context;

    if ('\0' == *word || MAX_VARIANTS == b->n_prefers || sizeof(b->prefers[0]) <= strlen(word)) {
        return false;
    }
    strcpy(b->prefers[b->n_prefers++], word);
    return true;
}

/* Open MPI reads from a communicator's info which components it takes first. Variants that want the same share one. */
static void make_communicators(struct bench *b)
{
    for (int i = 0; i < b->n_variants; ++i) {
        struct variant *v = &b->variants[i];

        v->info = MPI_INFO_NULL;
        v->comm = MPI_COMM_WORLD;
        v->shares = 0;
        for (int j = 0; j < i && !v->shares; ++j) {
            if (v->prefer == b->variants[j].prefer) {
                v->info = b->variants[j].info;
                v->comm = b->variants[j].comm;
                v->shares = 1;
            }
        }
        if (NULL != v->prefer && 0 != strcmp("default", v->prefer) && !v->shares) {
            char list[sizeof(v->name)];

            snprintf(list, sizeof(list), "%s", v->prefer);
            for (char *plus = list; NULL != (plus = strchr(plus, '+'));) {
                *plus = ',';
            }
            MPI_Info_create(&v->info);
            MPI_Info_set(v->info, "ompi_comm_coll_preference", list);
            MPI_Comm_dup_with_info(MPI_COMM_WORLD, v->info, &v->comm);
        }
    }
}

static void free_communicators(struct bench *b)
{
    for (int i = 0; i < b->n_variants; ++i) {
        if (MPI_INFO_NULL != b->variants[i].info && !b->variants[i].shares) {
            MPI_Info_free(&b->variants[i].info);
            MPI_Comm_free(&b->variants[i].comm);
        }
    }
}

/* Every number of calls with every set of components, every noise level and every way of segmenting. 0 or -1. */
static int make_variants(struct bench *b)
{
    int n_noises = b->n_noises > 0 ? b->n_noises : 1, n_ways = b->n_ways > 0 ? b->n_ways : 1;
    const int n_prefers = b->n_prefers > 0 ? b->n_prefers : 1, n_each = n_prefers * n_noises * n_ways;
    size_t segments, smallest;

    for (int i = 0; b->n_ways > 0 && i < b->n_colls; ++i) {
        if (NULL == b->colls[i]->start) {
            return tune_complain("%s is blocking: --blocking, --pipeline and --segments are for the nonblocking ones",
                                 b->colls[i]->name);
        }
    }
    if (b->n_calls * n_each > MAX_VARIANTS) {
        return tune_complain("%d numbers of calls times %d sets of components times %d noise levels times %d ways of"
                             " segmenting: at most %d", b->n_calls, n_prefers, n_noises, n_ways, MAX_VARIANTS);
    }
    for (int i = 0; i < b->n_calls * n_each; ++i) {
        struct variant *v = &b->variants[b->n_variants++];
        v->in_a_row = b->calls[i / n_each];
        v->prefer = b->n_prefers > 0 ? b->prefers[i / (n_noises * n_ways) % n_prefers] : NULL;
        v->noise = b->noises[i / n_ways % n_noises];
        v->way = b->ways[i % n_ways];
        smallest = v->way.value > 8 ? v->way.value / 8 * 8 : 8;
        for (int s = 0; BY_SIZE == v->way.form && s < b->n_sizes; ++s) {
            segments = (b->sizes[s] + smallest - 1) / smallest;
            if (segments > MAX_SEGMENTS) {
                return tune_complain("--pipeline %zu: %zu bytes would be %zu segments, at most %d are started at once",
                                     v->way.value, b->sizes[s], segments, MAX_SEGMENTS);
            }
        }
    }
    return 0;
}

/* Each once. */
static bool take_collective(void *context, const char *word)
{
    struct bench *b = context;
    int known = 0;

    while (known < N_COLLECTIVES && 0 != strcmp(word, collectives[known].name)) {
        ++known;
    }
    for (int k = 0; known < N_COLLECTIVES && k < b->n_colls; ++k) {
        if (&collectives[known] == b->colls[k]) {
            return false;
        }
    }
    if (known < N_COLLECTIVES) {
        b->colls[b->n_colls++] = &collectives[known];
    }
    return known < N_COLLECTIVES;
}

static bool take_collectives(struct bench *b, const char *text)
{
    b->n_colls = 0;
    return tune_get_list(text, b, take_collective);
}

enum { OPT_SIZES = TUNE_OPTION, OPT_COLLECTIVE, OPT_NO_CHECK, OPT_SAMPLES, OPT_CSV, OPT_RATE, OPT_MAX_TIME, OPT_BUCKET,
       OPT_FIRST, OPT_CALLS, OPT_OFFSET, OPT_NOISE, OPT_BLOCKING, OPT_PIPELINE, OPT_SEGMENTS, OPT_PREFER, OPT_COUNT = 128 };

static const struct option long_options[] = {
    { "sizes", required_argument, NULL, OPT_SIZES },
    { "range", required_argument, NULL, 'm' },
    { "iterations", required_argument, NULL, 'i' },
    { "warmup", required_argument, NULL, 'x' },
    { "root", required_argument, NULL, 'r' },
    { "check", no_argument, NULL, 'c' },
    { "no-check", no_argument, NULL, OPT_NO_CHECK },
    { "collective", required_argument, NULL, OPT_COLLECTIVE },
    { "samples", required_argument, NULL, OPT_SAMPLES },
    { "csv", no_argument, NULL, OPT_CSV },
    { "rate", required_argument, NULL, OPT_RATE },
    { "bucket", required_argument, NULL, OPT_BUCKET },
    { "max-time", required_argument, NULL, OPT_MAX_TIME },
    { "first", no_argument, NULL, OPT_FIRST },
    { "calls", required_argument, NULL, OPT_CALLS },
    { "offset", required_argument, NULL, OPT_OFFSET },
    { "memory", required_argument, NULL, 'M' },
    { "noise", required_argument, NULL, OPT_NOISE },
    { "blocking", no_argument, NULL, OPT_BLOCKING },
    { "pipeline", required_argument, NULL, OPT_PIPELINE },
    { "segments", required_argument, NULL, OPT_SEGMENTS },
    { "prefer", required_argument, NULL, OPT_PREFER },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

/* What is accepted, for who writes something else. */
static const char *accepted[OPT_COUNT] = {
    [OPT_SIZES] = "up to 256 sizes from 1 to 2147483647 with K, M or G, such as 8,1K,64K or 8:4M",
    ['m'] = "MIN:MAX or MAX, sizes from 1 to 2147483647 with K, M or G, such as 8:4M",
    ['i'] = "a number from 1 to 10000000",
    ['x'] = "a number from 0 to 10000000",
    ['r'] = "a rank of this job",
    ['M'] = "a size, such as 512M",
    [OPT_SAMPLES] = "a file",
    [OPT_RATE] = "a rate in bit, kbit, mbit or gbit per second, such as 200mbit",
    [OPT_MAX_TIME] = "seconds, more than 0 and at most 86400",
    [OPT_BUCKET] = "a size, such as 5K",
    [OPT_CALLS] = "up to 64 numbers from 0 to 1000000, such as 1,20",
    [OPT_OFFSET] = "a number from 0 to 10000000",
    [OPT_NOISE] = "per cents from 0 to 50, such as 0,5,10",
    [OPT_BLOCKING] = "once",
    [OPT_PIPELINE] = "sizes, such as 64K,256K",
    [OPT_SEGMENTS] = "numbers from 1 to 4096, such as 1,2,4",
    [OPT_PREFER] = "up to 64 sets of components of Open MPI, such as solo,sm+tuned",
};

static bool take_option(void *context, int number, const char *text)
{
    struct bench *b = context;
    size_t bytes;

    switch (number) {
    case TUNE_WORD:      return 0 == b->n_colls && take_collectives(b, text);
    case OPT_COLLECTIVE: return take_collectives(b, text);
    case OPT_SIZES:      return take_sizes(b, text);
    case 'm':            return take_range(b, text);
    case 'i':            return take_number(text, 1, MOST_REPS, &b->reps);
    case 'x':            return take_number(text, 0, MOST_REPS, &b->warmup);
    case 'r':            return take_number(text, 0, INT_MAX, &b->root);
    case 'M':            return take_bytes(text, 1, &b->memory);
    case OPT_OFFSET:     return take_number(text, 0, MOST_REPS, &b->offset);
    case OPT_RATE:       return take_rate(b, text);
    case OPT_MAX_TIME:   return take_seconds(b, text);
    case OPT_NOISE:      return tune_get_list(text, b, take_noise);
    case OPT_BLOCKING:   return add_way(b, BLOCKING, 0);
    case OPT_PIPELINE:   return tune_get_list(text, b, take_segment_size);
    case OPT_SEGMENTS:   return tune_get_list(text, b, take_segments);
    case OPT_PREFER:     return tune_get_list(text, b, take_prefer);
    case OPT_CALLS:
        b->n_calls = 0;
        return tune_get_list(text, b, take_calls);
    case OPT_BUCKET:
        b->bucket = take_bytes(text, 0, &bytes) ? (double) bytes : -1.0;
        return b->bucket >= 0.0;
    case OPT_SAMPLES:
        b->samples_name = text;
        return '\0' != *text;
    case OPT_NO_CHECK:   b->check = 0; return true;
    case OPT_CSV:        b->csv = 1; return true;
    case OPT_FIRST:      b->first = 1; return true;
    case 'c':            b->check = 1; return true;
    default:             return b->help = true;
    }
}

/* 0 or -1. */
static int read_options(struct bench *b, int argc, char **argv)
{
    static char known[1024] = "names of collectives, each once, with commas between them:";

    for (int i = 0; i < N_COLLECTIVES; ++i) {
        strcat(strcat(known, " "), collectives[i].name);
    }
    accepted[TUNE_WORD] = accepted[OPT_COLLECTIVE] = known;
    if (0 != tune_read_options(argc, argv, long_options, accepted, b, take_option)) {
        return -1;
    }
    if (0 == b->n_colls) {
        b->colls[b->n_colls++] = &collectives[0];
    }
    if (0 == b->n_sizes) {
        take_sizes(b, "8:1M");
    }
    if (0 == b->n_calls) {
        tune_get_list(b->first || b->n_noises > 0 || b->n_ways > 0 ? "1" : "1,0", b, take_calls);
    }
    if (b->max_time <= 0.0 && 0 == b->reps) {
        b->max_time = 3.0;
    }
    return b->help ? 0 : make_variants(b);
}

static void print_help(void)
{
    printf("han_bench [COLLECTIVE,...] [options]: time and check collectives of any MPI\n\n"
           "Run it with mpirun. Each repetition counts with the time of its slowest rank, from when\n"
           "all began: at a time agreed on where nodes share a clock (virtual ones do), else after a\n"
           "barrier, with the time in which the ranks leave that.\n\n"
           "  COLLECTIVE,..., --collective LIST  one after the other (default bcast)\n");
    for (int i = 0; i < N_COLLECTIVES; ++i) {
        printf("      %-22s%s\n", collectives[i].name, collectives[i].help);
    }
    printf("\n"
           "  -m, --range MIN:MAX  bytes of the count argument, doubling; MAX alone begins at 1\n"
           "  --sizes LIST    a list such as 8,1K,64K, or 8:4M (default 8:1M)\n"
           "  -i N            repetitions per size (default: by size, within --max-time)\n"
           "  -x N            warm-up repetitions per size (default: by size)\n"
           "  -r ROOT         the root (default: every rank in turn)\n"
           "  --offset N      number of the first repetition, to go on rotating the root; the seed of the lot\n"
           "                  by which ranks that share cores are put on other ones, again and again\n"
           "  --max-time S    seconds per size (default 3, none with -i); at least %d repetitions\n"
           "  --first         time the first call on a fresh duplicate of MPI_COMM_WORLD\n"
           "  --calls LIST    so many calls in a row, such as 1,20; a repetition is their mean, 0 stands\n"
           "                  for 50 of short ones to 4 of long ones (default 1,0; 1 with --first, noise\n"
           "                  or segments)\n"
           "  --noise LIST    per cents, such as 0,5,10: at 5 each rank sleeps for 0 to 10 ms, ten\n"
           "                  times a second, at 10 for 0 to 20 ms, while it measures\n"
           "  --segments LIST numbers: a nonblocking call for each segment, then one wait for all\n"
           "  --pipeline LIST the same by the size of a segment, such as 64K,1M\n"
           "  --blocking      also the blocking form of a nonblocking collective\n"
           "  --prefer LIST   components of Open MPI, as in solo,tuned,sm+tuned: each is first on a\n"
           "                  communicator of its own, by its info (\"ompi_comm_coll_preference\");\n"
           "                  ^han+adapt: one without these; default: MPI_COMM_WORLD\n"
           "                  (each repetition measures all of these in turn, a single call behind one\n"
           "                  that is not timed)\n"
           "  -c, --no-check  check values and guard bytes (default), or do not\n"
           "  --rate RATE     link of a node, such as 200mbit: prints the bound of the wire\n"
           "  --bucket SIZE   bytes that a link lets pass at once after a pause (default 0); a median\n"
           "                  below what the wire allows is a wrong measurement, and marked '<'\n"
           "  --samples FILE  write every repetition's time; '-' is the standard output,\n"
           "                  and the table then goes to the standard error\n"
           "  --csv           the table as comma-separated values\n"
           "  -M SIZE         leave out sizes that need more memory per rank (default 1G)\n"
           "  -h, --help      this text\n\n"
           "Exit code: 0, 1 if any value was wrong or a time could not be written, 2 if an option was.\n", MIN_REPS);
}

/* ---- the run ---- */

/* Only rank 0 writes; all learn whether it can. */
static int open_output(struct bench *b)
{
    int good = 1;

    b->out = stdout;
    if (0 == b->rank && NULL != b->samples_name) {
        if (0 == strcmp("-", b->samples_name)) {
            b->samples = stdout;
            b->out = stderr;
        } else if (NULL == (b->samples = fopen(b->samples_name, "w"))) {
            fprintf(stderr, "han_bench: --samples '%s': %s\n", b->samples_name, strerror(errno));
            good = 0;
        }
    }
    if (0 == b->rank && b->csv) {
        fprintf(b->out, "collective,bytes,repetitions,median_us,min_us,bound_us,least_us,wrong,variant,version\n");
    }
    if (NULL != b->samples) {
        fprintf(b->samples, "collective,bytes,repetition,root,us,variant,version\n");
    }
    return agree(b, good);
}

static size_t needed(const struct bench *b, size_t bytes)
{
    return side_bytes(b, b->coll->send, bytes) + side_bytes(b, b->coll->recv, bytes) + 4 * GUARD;
}

/* The sizes of the collective that runs now: those that memory allows. @returns how many */
static int sizes_now(const struct bench *b, size_t sizes[MAX_SIZES])
{
    int kept = 0;

    if (NOBODY == b->coll->recv.who && !b->coll->in_place) {
        sizes[0] = 0;
        return 1;
    }
    for (int i = 0; i < b->n_sizes; ++i) {
        if (needed(b, b->sizes[i]) <= b->memory) {
            sizes[kept++] = b->sizes[i];
        } else if (0 == b->rank) {
            fprintf(stderr, "han_bench: %s, %zu bytes left out: %zu bytes of memory per rank, -M allows"
                    " %zu\n", b->coll->name, b->sizes[i], needed(b, b->sizes[i]), b->memory);
        }
    }
    return kept;
}

static void allocate_areas(struct bench *b, const size_t *sizes, int n_sizes)
{
    size_t largest = 0, sent, received;

    for (int i = 0; i < n_sizes; ++i) {
        largest = sizes[i] > largest ? sizes[i] : largest;
    }
    sent = side_bytes(b, b->coll->send, largest) + 2 * GUARD;
    received = side_bytes(b, b->coll->recv, largest) + 2 * GUARD;
    b->send_area = memset(allocate(sent), 0, sent);  /* no page is new while the clock runs */
    b->recv_area = memset(allocate(received), 0, received);
}

/* Says what was wrong, on rank 0. @returns whether any value was, there */
static int run_one(struct bench *b, const size_t *sizes, int n_sizes)
{
    long wrong = 0;

    b->too_fast = 0;
    allocate_areas(b, sizes, n_sizes);
    if (0 == b->rank) {
        print_header(b);
    }
    for (int i = 0; i < n_sizes; ++i) {
        wrong += measure(b, sizes[i]);
    }
    free(b->send_area);
    free(b->recv_area);
    if (b->too_fast > 0) {
        fflush(b->out);
        fprintf(stderr, "han_bench: %d medians of %s are below what the wire allows: a wrong measurement, or a link that is"
                " faster than --rate\n", b->too_fast, b->coll->name);
    }
    if (0 == b->rank && wrong > 0) {
        fflush(b->out);
        fprintf(stderr, "han_bench: %s gave %ld wrong values\n", b->coll->name, wrong);
    }
    return wrong > 0;
}

static int run_all(struct bench *b)
{
    int wrong = 0, measured = 0;

    if (b->root >= b->ranks) {
        tune_complain("-r %d; accepted: %s", b->root, accepted['r']);
        return EXIT_USAGE;
    }
    if (!open_output(b)) {
        return EXIT_USAGE;
    }
    find_nodes(b);
    start_open(&b->start, MPI_COMM_WORLD, TAG_BARRIER);
    if (0 != seats_open(&b->seats, MPI_COMM_WORLD, TAG_BARRIER, mix((uint64_t) b->offset))) {
        fprintf(stderr, "han_bench: out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_USAGE);
    }
    b->requests = allocate(MAX_SEGMENTS * sizeof(*b->requests));
    if (b->n_noises > 0 && 0 != noise_start(mix(mix((uint64_t) b->rank) + (uint64_t) b->offset))) {
        fprintf(stderr, "han_bench: no timer for --noise: %s\n", strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, EXIT_USAGE);
    }
    make_communicators(b);
    for (int i = 0; i < b->n_colls; ++i) {
        size_t sizes[MAX_SIZES];
        int n_sizes;

        b->coll = b->colls[i];
        n_sizes = sizes_now(b, sizes);
        if (n_sizes > 0) {
            wrong |= run_one(b, sizes, n_sizes);
        }
        measured += n_sizes;
    }
    noise_stop();
    free_communicators(b);
    if (NULL != b->samples && stdout != b->samples) {
        fclose(b->samples);
    }
    free(b->shape.node_of);
    free(b->shape.ppn);
    free(b->requests);
    seats_close(&b->seats);
    return agree(b, 0 == measured ? EXIT_USAGE : wrong || b->unwritten ? EXIT_WRONG : EXIT_OK);
}

int main(int argc, char **argv)
{
    struct bench b = { .warmup = -1, .root = -1, .check = 1, .memory = (size_t) 1 << 30 };
    int code;

    tool_version(argc, argv, "han_bench");
    tune_options_speaker("han_bench", tool_rank());
    if (0 != read_options(&b, argc, argv)) {
        return tool_leave(EXIT_USAGE);
    }
    if (b.help) {
        if (0 == tool_rank()) {
            print_help();
        }
        return tool_leave(EXIT_OK);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    tune_options_speaker("han_bench", b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
    code = run_all(&b);
    MPI_Finalize();
    return code;
}
