/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * han_training - data-parallel training of convolutional networks, as the pipelined allreduce paper (section 7) and the
 * HAN paper (figure 15) have it: see --help. It runs with any MPI and any component.
 *
 * The networks' tensors are those of the published layers, from the first layer to the last. A step goes forward
 * through the layers and back again. Each rank computes on an accelerator of its own, which needs no processor here:
 * the main thread sleeps until the accelerator is done with a layer. Backwards, each layer has its gradients ready
 * then. As in the frameworks, a communication thread takes those that are next to each other into a fusion buffer,
 * reduces them over all ranks while the accelerator goes on, and gives back the means.
 *
 * All exchange that serves the measurement is point-to-point, so that a faulty collective cannot hide itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>

#include "../common/tool_sort.h"
#include "../common/tool_leave.h"
#include "../common/tool_version.h"
#include "../tune/tune_options.h"
#include "han_memory.h"
#include "han_seats.h"
#include "han_start.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_START = 1, TAG_TIMES };
enum { MOST_TENSORS = 512, MOST_MODES = 16, MOST_FUSIONS = 16, MOST_STEPS = 1000, MOST_IN_FLIGHT = 4096 };

static int rank, ranks;

/* -- networks -- */

struct tensor {
    size_t elements;
    double flops; /* of its layer for one image, forward; only the layer's first tensor has them */
};

struct network {
    struct tensor tensors[MOST_TENSORS]; /* from the first layer to the last */
    int count;
};

static void add_tensor(struct network *network, size_t elements, double flops)
{
    network->tensors[network->count++] = (struct tensor){ elements, flops };
}

/* A convolution by squares of side pixels that gives images of size times size pixels. */
static void add_convolution(struct network *network, int side, int from, int to, int size)
{
    const size_t weights = (size_t) side * side * (size_t) from * (size_t) to;

    add_tensor(network, weights, 2.0 * (double) weights * size * size);
}

static void add_bias(struct network *network, int channels)
{
    add_tensor(network, (size_t) channels, 0.0);
}

static void add_convolution_with_bias(struct network *network, int side, int from, int to, int size)
{
    add_convolution(network, side, from, to, size);
    add_bias(network, to);
}

/* With a batch normalization: scale and shift of each channel. */
static void add_normalized(struct network *network, int side, int from, int to, int size)
{
    add_convolution(network, side, from, to, size);
    add_bias(network, to);
    add_bias(network, to);
}

static void add_dense(struct network *network, int from, int to)
{
    add_tensor(network, (size_t) from * (size_t) to, 2.0 * from * to);
    add_bias(network, to);
}

static void make_alexnet(struct network *network)
{
    add_convolution_with_bias(network, 11, 3, 96, 55);
    add_convolution_with_bias(network, 5, 96, 256, 27);
    add_convolution_with_bias(network, 3, 256, 384, 13);
    add_convolution_with_bias(network, 3, 384, 384, 13);
    add_convolution_with_bias(network, 3, 384, 256, 13);
    add_dense(network, 256 * 6 * 6, 4096);
    add_dense(network, 4096, 4096);
    add_dense(network, 4096, 1000);
}

static void make_vgg11(struct network *network)
{
    static const int layers[][3] = { { 3, 64, 224 },   { 64, 128, 112 }, { 128, 256, 56 }, { 256, 256, 56 },
                                     { 256, 512, 28 }, { 512, 512, 28 }, { 512, 512, 14 }, { 512, 512, 14 } };

    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); ++i) {
        add_convolution_with_bias(network, 3, layers[i][0], layers[i][1], layers[i][2]);
    }
    add_dense(network, 512 * 7 * 7, 4096);
    add_dense(network, 4096, 4096);
    add_dense(network, 4096, 1000);
}

/* Four stages of blocks of three convolutions, the second of which halves the images in a stage's first block. */
static void make_resnet50(struct network *network)
{
    static const int blocks[] = { 3, 4, 6, 3 };
    int from = 64, narrow = 64, size = 56;

    add_normalized(network, 7, 3, 64, 112);
    for (int stage = 0; stage < 4; ++stage, narrow *= 2) {
        for (int block = 0; block < blocks[stage]; ++block, from = 4 * narrow) {
            const int before = size;

            size = 0 < stage && 0 == block ? size / 2 : size;
            add_normalized(network, 1, from, narrow, before);
            add_normalized(network, 3, narrow, narrow, size);
            add_normalized(network, 1, narrow, 4 * narrow, size);
            if (0 == block) {
                add_normalized(network, 1, from, 4 * narrow, size);
            }
        }
    }
    add_dense(network, 2048, 1000);
}

/* For images of 32 x 32: three stages of blocks of two convolutions. */
static void make_resnet110(struct network *network)
{
    enum { BLOCKS = 18 };
    int from = 16, size = 32;

    add_normalized(network, 3, 3, 16, 32);
    for (int to = 16; to <= 64; to *= 2, size /= 2) {
        for (int block = 0; block < BLOCKS; ++block, from = to) {
            add_normalized(network, 3, from, to, size);
            add_normalized(network, 3, to, to, size);
            if (0 == block) {
                add_normalized(network, 1, from, to, size);
            }
        }
    }
    add_dense(network, 64, 10);
}

static const char *const network_names[] = { "alexnet", "resnet50", "vgg11", "resnet110" };
static const struct {
    void (*make)(struct network *network);
    double paper_parameters, paper_flops; /* of the pipelined allreduce paper's table 2 */
} networks[] = { { make_alexnet, 62378344, 2270512192 },
                 { make_resnet50, 25636712, 8178368512 },
                 { make_vgg11, 132863336, 15218180096 },
                 { make_resnet110, 1747898, 506832128 } };
enum { NETWORKS = sizeof(networks) / sizeof(networks[0]) };

static size_t elements_of(const struct network *network)
{
    size_t sum = 0;

    for (int i = 0; i < network->count; ++i) {
        sum += network->tensors[i].elements;
    }
    return sum;
}

static double flops_of(const struct network *network)
{
    double sum = 0.0;

    for (int i = 0; i < network->count; ++i) {
        sum += network->tensors[i].flops;
    }
    return sum;
}

static void list_networks(void)
{
    printf("%-10s %8s %12s %14s %16s %16s\n", "network", "tensors", "parameters", "in the paper", "flops an image",
           "in the paper");
    for (int i = 0; i < NETWORKS; ++i) {
        struct network network = { .count = 0 };

        networks[i].make(&network);
        printf("%-10s %8d %12zu %14.0f %16.0f %16.0f\n", network_names[i], network.count, elements_of(&network),
               networks[i].paper_parameters, flops_of(&network), networks[i].paper_flops);
    }
}

/* -- options -- */

enum form { BLOCKING, BY_NUMBER, BY_SIZE };

struct mode {
    char name[32];
    enum form form;
    long segments; /* by number */
    size_t bytes;  /* by size */
};

static struct {
    int networks[NETWORKS];
    int network_count;
    size_t fusions[MOST_FUSIONS];
    int fusion_count;
    struct mode modes[MOST_MODES];
    int mode_count;
    long in_flight, batch, steps, seed;
    double flops; /* of a rank's accelerator, a second */
    bool csv, list, help;
} given = { .in_flight = 4, .batch = 32, .steps = 5, .flops = 1e12 };

/* -- a step -- */

/* Gradients that are reduced together: tensors from first down to last, in the order in which they become ready. */
struct bucket {
    int first, last;
    size_t elements;
};

struct training {
    struct network network;
    float *gradients[MOST_TENSORS];
    struct bucket buckets[MOST_TENSORS];
    int bucket_count;
    float *fused;
    MPI_Request *requests;
    struct seats *seats;
    /* between the threads */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const struct mode *mode; /* NULL: the thread ends */
    int ready;               /* tensors from here on, or MOST_TENSORS: no step has begun */
    int reduced;             /* buckets */
};

static float *memory_of_floats(size_t count)
{
    return memory_for("gradients", count * sizeof(float));
}

static void reduce_in_segments(struct training *t, float *buffer, size_t elements)
{
    const size_t by_number = (elements + (size_t) t->mode->segments - 1) / (size_t) t->mode->segments,
                 width = BY_SIZE == t->mode->form ? t->mode->bytes / sizeof(float) : by_number;
    int started = 0;

    for (size_t at = 0; at < elements; at += width, ++started) {
        const size_t count = elements - at < width ? elements - at : width;
        MPI_Request *request = &t->requests[started % given.in_flight];

        MPI_Wait(request, MPI_STATUS_IGNORE);
        MPI_Iallreduce(MPI_IN_PLACE, buffer + at, (int) count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, request);
    }
    MPI_Waitall((int) given.in_flight, t->requests, MPI_STATUSES_IGNORE);
}

static void reduce(struct training *t, float *buffer, size_t elements)
{
    if (BLOCKING == t->mode->form) {
        MPI_Allreduce(MPI_IN_PLACE, buffer, (int) elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else {
        reduce_in_segments(t, buffer, elements);
    }
}

static void take_means(float *to, const float *sums, size_t elements)
{
    for (size_t i = 0; i < elements; ++i) {
        to[i] = sums[i] / (float) ranks;
    }
}

/* A tensor that is alone needs no fusion buffer. */
static void reduce_bucket(struct training *t, const struct bucket *bucket)
{
    size_t at = 0;

    if (bucket->first == bucket->last) {
        reduce(t, t->gradients[bucket->first], bucket->elements);
        take_means(t->gradients[bucket->first], t->gradients[bucket->first], bucket->elements);
        return;
    }
    for (int i = bucket->first; i >= bucket->last; at += t->network.tensors[i--].elements) {
        memcpy(t->fused + at, t->gradients[i], t->network.tensors[i].elements * sizeof(float));
    }
    reduce(t, t->fused, bucket->elements);
    at = 0;
    for (int i = bucket->first; i >= bucket->last; at += t->network.tensors[i--].elements) {
        take_means(t->gradients[i], t->fused + at, t->network.tensors[i].elements);
    }
}

static void *communicate(void *context)
{
    struct training *t = context;

    pthread_mutex_lock(&t->mutex);
    for (;;) {
        while (NULL != t->mode && (t->reduced == t->bucket_count || t->ready > t->buckets[t->reduced].last)) {
            pthread_cond_wait(&t->changed, &t->mutex);
        }
        if (NULL == t->mode) {
            break;
        }
        pthread_mutex_unlock(&t->mutex);
        if (0 == t->reduced) {
            seats_change(t->seats); /* of this thread: the main one sleeps */
        }
        reduce_bucket(t, &t->buckets[t->reduced]);
        pthread_mutex_lock(&t->mutex);
        ++t->reduced;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

/* What the accelerator has then, by start_clock(). */
static void wait_until(double when)
{
    const struct timespec time = { (time_t) when, (long) ((when - (double) (time_t) when) * 1e9) };

    while (EINTR == clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL)) {
    }
}

static double seconds_of(double flops)
{
    return flops * (double) given.batch / given.flops;
}

/* Returns the seconds that it takes. Backwards, a layer costs twice what it costs forwards. */
static double step(struct training *t, struct start *start)
{
    const double begin = start_together(start);
    double done = begin + seconds_of(flops_of(&t->network));

    wait_until(done);
    for (int i = t->network.count - 1; i >= 0; --i) {
        if (0.0 == t->network.tensors[i].flops) {
            continue; /* ready with the layer's first tensor */
        }
        done += 2.0 * seconds_of(t->network.tensors[i].flops);
        wait_until(done);
        pthread_mutex_lock(&t->mutex);
        t->ready = i;
        pthread_cond_broadcast(&t->changed);
        pthread_mutex_unlock(&t->mutex);
    }
    pthread_mutex_lock(&t->mutex);
    while (t->reduced < t->bucket_count) {
        pthread_cond_wait(&t->changed, &t->mutex);
    }
    pthread_mutex_unlock(&t->mutex);
    return start_clock() - begin;
}

/* NULL: there is none any more. */
static void begin_step(struct training *t, const struct mode *mode)
{
    pthread_mutex_lock(&t->mutex);
    t->mode = mode;
    t->ready = MOST_TENSORS;
    t->reduced = 0;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->mutex);
}

/* -- what must come out -- */

/* Whole numbers, so small that the sums over some 100,000 ranks are exact. */
enum { TENSOR_VALUES = 13, STEP_VALUES = 16, RANK_VALUES = 64 };

static int value_of(int tensor, size_t element, int step)
{
    return (int) ((element * 7 + (size_t) tensor) % TENSOR_VALUES) + step % STEP_VALUES;
}

static int value_of_rank(int of)
{
    return of % RANK_VALUES;
}

static float mean_of(int value)
{
    const double whole = ranks / RANK_VALUES, rest = ranks % RANK_VALUES;
    const double of_ranks = whole * RANK_VALUES * (RANK_VALUES - 1) / 2 + rest * (rest - 1) / 2;

    return (float) ((double) value * ranks + of_ranks) / (float) ranks;
}

/* All elements of each tensor, or the first one, the middle one and the last one: elements at begin, begin + by, ... */
static size_t distance_of(const struct tensor *tensor, bool all)
{
    return all || 3 > tensor->elements ? 1 : (tensor->elements - 1) / 2;
}

static void fill(const struct training *t, int step_number, bool all)
{
    for (int i = 0; i < t->network.count; ++i) {
        const size_t by = distance_of(&t->network.tensors[i], all);

        for (size_t k = 0; k < t->network.tensors[i].elements; k += by) {
            t->gradients[i][k] = (float) (value_of(i, k, step_number) + value_of_rank(rank));
        }
    }
}

static long count_wrong(const struct training *t, int step_number, bool all)
{
    long wrong = 0;

    for (int i = 0; i < t->network.count; ++i) {
        const size_t by = distance_of(&t->network.tensors[i], all);

        for (size_t k = 0; k < t->network.tensors[i].elements; k += by) {
            wrong += mean_of(value_of(i, k, step_number)) != t->gradients[i][k];
        }
    }
    return wrong;
}

/* -- a training -- */

/* From the last tensor down, as many as the fusion buffer holds; one that is larger is alone. */
static void make_buckets(struct training *t, size_t fusion)
{
    size_t most = 0;

    t->bucket_count = 0;
    for (int i = t->network.count - 1; i >= 0; --i) {
        const size_t elements = t->network.tensors[i].elements;
        struct bucket *last = 0 < t->bucket_count ? &t->buckets[t->bucket_count - 1] : NULL;

        if (NULL != last && (last->elements + elements) * sizeof(float) <= fusion) {
            last->last = i;
            last->elements += elements;
            most = last->elements > most ? last->elements : most;
        } else {
            t->buckets[t->bucket_count++] = (struct bucket){ i, i, elements };
        }
    }
    t->fused = memory_of_floats(most);
}

struct result {
    double seconds; /* of the slowest rank, the median over the steps */
    double wrong;   /* elements, on all ranks */
};

/* The greatest times of all ranks, of each step, and the sum of the wrong elements, on rank 0. */
static struct result collect(double *times, double wrong)
{
    static double of_other[MOST_STEPS + 1];
    const int steps = (int) given.steps;

    times[steps] = wrong;
    if (0 != rank) {
        MPI_Send(times, steps + 1, MPI_DOUBLE, 0, TAG_TIMES, MPI_COMM_WORLD);
        return (struct result){ 0.0, 0.0 };
    }
    for (int from = 1; from < ranks; ++from) {
        MPI_Recv(of_other, steps + 1, MPI_DOUBLE, from, TAG_TIMES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < steps; ++i) {
            times[i] = of_other[i] > times[i] ? of_other[i] : times[i];
        }
        times[steps] += of_other[steps];
    }
    tool_sort(times, (size_t) steps);
    return (struct result){ times[steps / 2], times[steps] };
}

static void print_head(const struct training *t, int which, size_t fusion)
{
    static bool printed;

    if (!given.csv) {
        printf(
            "%s%s: %zu parameters in %d tensors, fusion buffers of %zu bytes: %d reductions; %d ranks, batches of %ld\n"
            "%-16s %12s %12s %12s %8s\n",
            printed ? "\n" : "", network_names[which], elements_of(&t->network), t->network.count, fusion,
            t->bucket_count, ranks, given.batch, "mode", "step ms", "images/s", "efficiency", "wrong");
    } else if (!printed) {
        printf(
            "network,parameters,tensors,fusion,reductions,ranks,batch,flops,mode,steps,step_s,images_per_s,efficiency,"
            "wrong,version\n");
    }
    printed = true;
}

static void print_result(const struct training *t, int which, size_t fusion, const struct mode *mode,
                         const struct result *result)
{
    const double images = (double) given.batch * ranks / result->seconds,
                 efficiency = 3.0 * seconds_of(flops_of(&t->network)) / result->seconds;

    if (given.csv) {
        printf("%s,%zu,%d,%zu,%d,%d,%ld,%g,%s,%ld,%.6f,%.4f,%.4f,%.0f,%s\n", network_names[which],
               elements_of(&t->network), t->network.count, fusion, t->bucket_count, ranks, given.batch, given.flops,
               mode->name, given.steps, result->seconds, images, efficiency, result->wrong, HAN_VERSION_TEXT);
    } else {
        printf("%-16s %12.1f %12.1f %10.1f %% %8.0f\n", mode->name, 1e3 * result->seconds, images, 100.0 * efficiency,
               result->wrong);
    }
    fflush(stdout);
}

/* All modes, in turn: a step of each, which is not timed and wholly checked, then those that are timed. Returns whether
 * all is right; what rank 0 knows. */
static bool train(int which, size_t fusion, struct start *start, struct seats *seats)
{
    static double times[MOST_MODES][MOST_STEPS + 1];
    static struct training t;
    double wrong[MOST_MODES] = { 0.0 };
    pthread_t thread;
    bool right = true;

    t = (struct training){ .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .seats = seats };
    networks[which].make(&t.network);
    for (int i = 0; i < t.network.count; ++i) {
        t.gradients[i] = memory_of_floats(t.network.tensors[i].elements);
    }
    make_buckets(&t, fusion);
    t.requests = memory_for("gradients", (size_t) given.in_flight * sizeof(*t.requests));
    for (long i = 0; i < given.in_flight; ++i) {
        t.requests[i] = MPI_REQUEST_NULL;
    }
    t.mode = &given.modes[0];
    t.reduced = t.bucket_count; /* nothing to do yet */
    if (0 != pthread_create(&thread, NULL, communicate, &t)) {
        tune_complain_here("no thread for the communication");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = -1; i < (int) given.steps; ++i) {
        for (int mode = 0; mode < given.mode_count; ++mode) {
            double seconds;

            fill(&t, 1 + i, 0 > i);
            begin_step(&t, &given.modes[mode]);
            seconds = step(&t, start);
            if (0 <= i) {
                times[mode][i] = seconds;
            }
            wrong[mode] += (double) count_wrong(&t, 1 + i, 0 > i);
        }
    }
    begin_step(&t, NULL);
    pthread_join(thread, NULL);
    if (0 == rank) {
        print_head(&t, which, fusion);
    }
    for (int mode = 0; mode < given.mode_count; ++mode) {
        const struct result result = collect(times[mode], wrong[mode]);

        if (0 == rank) {
            print_result(&t, which, fusion, &given.modes[mode], &result);
            right = right && 0.0 == result.wrong;
        }
    }
    for (int i = 0; i < t.network.count; ++i) {
        free(t.gradients[i]);
    }
    free(t.fused);
    free(t.requests);
    return right;
}

static bool run(void)
{
    struct start start;
    struct seats seats;
    bool right = true;

    start_open(&start, MPI_COMM_WORLD, TAG_START);
    if (0 != seats_open(&seats, MPI_COMM_WORLD, TAG_START, (uint64_t) given.seed)) {
        tune_complain("no memory for %d ranks", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < given.network_count; ++i) {
        for (int k = 0; k < given.fusion_count; ++k) {
            right = train(given.networks[i], given.fusions[k], &start, &seats) && right;
        }
    }
    seats_close(&seats);
    return right;
}

/* -- reading the options -- */

enum { NETWORK = TUNE_OPTION, FUSION, MODES, IN_FLIGHT, BATCH, FLOPS, STEPS, SEED, CSV, LIST, HELP };

static const struct option options[] = { { "networks", required_argument, NULL, NETWORK },
                                         { "fusion", required_argument, NULL, FUSION },
                                         { "modes", required_argument, NULL, MODES },
                                         { "in-flight", required_argument, NULL, IN_FLIGHT },
                                         { "batch", required_argument, NULL, BATCH },
                                         { "flops", required_argument, NULL, FLOPS },
                                         { "steps", required_argument, NULL, STEPS },
                                         { "seed", required_argument, NULL, SEED },
                                         { "csv", no_argument, NULL, CSV },
                                         { "list", no_argument, NULL, LIST },
                                         { "help", no_argument, NULL, HELP },
                                         { NULL, 0, NULL, 0 } };

static const char *const accepted[]
    = { [NETWORK] = "alexnet, resnet50, vgg11, resnet110, and commas between them",
        [FUSION] = "sizes from 1 to 1G such as 64M,25M",
        [MODES] = "blocking, nonblocking, segments=NUMBER, segment=SIZE of 4 bytes and more, and commas between them",
        [IN_FLIGHT] = "a number from 1 to 4096",
        [BATCH] = "a number from 1 to 1048576",
        [FLOPS] = "operations a second, such as 1e12",
        [STEPS] = "a number from 1 to 1000",
        [SEED] = TUNE_SEED_ACCEPTED };

static bool take_network(void *context, const char *word)
{
    const int which = tune_find_word(word, network_names, NETWORKS);

    (void) context;
    if (0 > which || NETWORKS == given.network_count) {
        return false;
    }
    given.networks[given.network_count++] = which;
    return true;
}

static bool take_fusion(void *context, const char *word)
{
    size_t bytes;

    (void) context;
    if (MOST_FUSIONS == given.fusion_count || !tune_get_bytes(&word, (size_t) 1 << 30, &bytes) || '\0' != *word
        || 0 == bytes) {
        return false;
    }
    given.fusions[given.fusion_count++] = bytes;
    return true;
}

static bool take_mode(void *context, const char *word)
{
    struct mode *mode = &given.modes[given.mode_count];
    const char *value = strchr(word, '=');

    (void) context;
    if (MOST_MODES == given.mode_count || sizeof(mode->name) <= strlen(word)) {
        return false;
    }
    ++given.mode_count;
    *mode = (struct mode){ .form = BY_NUMBER, .segments = 1 };
    strcpy(mode->name, word);
    if (0 == strcmp("blocking", word)) {
        mode->form = BLOCKING;
        return true;
    }
    if (0 == strcmp("nonblocking", word)) {
        return true;
    }
    if (0 == strncmp("segments=", word, strlen("segments="))) {
        return tune_get_number(value + 1, 1, INT_MAX, &mode->segments);
    }
    if (0 != strncmp("segment=", word, strlen("segment="))) {
        return false;
    }
    mode->form = BY_SIZE;
    ++value;
    return tune_get_bytes(&value, (size_t) 1 << 30, &mode->bytes) && '\0' == *value && sizeof(float) <= mode->bytes;
}

static bool take_option(void *context, int number, const char *text)
{
    char *end;

    switch (number) {
    case NETWORK:
        given.network_count = 0;
        return tune_get_list(text, context, take_network);
    case FUSION:
        given.fusion_count = 0;
        return tune_get_list(text, context, take_fusion);
    case MODES:
        given.mode_count = 0;
        return tune_get_list(text, context, take_mode);
    case IN_FLIGHT:
        return tune_get_number(text, 1, MOST_IN_FLIGHT, &given.in_flight);
    case BATCH:
        return tune_get_number(text, 1, 1 << 20, &given.batch);
    case FLOPS:
        given.flops = strtod(text, &end);
        return end != text && '\0' == *end && 1.0 <= given.flops && 1e30 >= given.flops;
    case STEPS:
        return tune_get_number(text, 1, MOST_STEPS, &given.steps);
    case SEED:
        return tune_get_number(text, 0, TUNE_MOST_SEED, &given.seed);
    case CSV:
        return given.csv = true;
    case LIST:
        return given.list = true;
    default:
        return given.help = true;
    }
}

static void help(void)
{
    printf(
        "Usage: mpirun [options of mpirun] han_training [options]\n\n"
        "Data-parallel training: each step computes the gradients of a network, layer by layer from the last one, and\n"
        "reduces them over all ranks meanwhile. Computation takes time and no processor, as on an accelerator.\n\n"
        "  --networks LIST   alexnet, resnet50, vgg11, resnet110 (default resnet50)\n"
        "  --fusion LIST     bytes of the buffer that takes gradients which are reduced together (default 64M); a "
        "larger\n"
        "                    gradient is reduced alone\n"
        "  --modes LIST      default blocking,nonblocking,segments=4:\n"
        "      blocking      MPI_Allreduce\n"
        "      nonblocking   MPI_Iallreduce, waited for at once\n"
        "      segments=N    N of MPI_Iallreduce, each for its part\n"
        "      segment=SIZE  as many as it takes, each for SIZE bytes\n"
        "  --in-flight N     so many of them are under way at once (default 4)\n"
        "  --batch N         images of a rank in a step (default 32)\n"
        "  --flops RATE      of a rank's accelerator, operations a second (default 1e12)\n"
        "  --steps N         that are timed, of each mode in turn (default 5); one before is not timed, and all of "
        "its\n"
        "                    gradients are checked\n"
        "  --seed N          of the lot by which the communication threads of ranks that share cores are put on other\n"
        "                    ones in each step (default 0)\n"
        "  --csv             comma-separated\n"
        "  --list            the networks, beside what the paper says of them\n"
        "  --help            this text\n"
        "  --version         alone: the version of this program\n\n"
        "A step's time is the slowest rank's; the median is printed, and the images that all ranks process a second.\n"
        "Efficiency is the part of it that the accelerators compute.\n"
        "Exit code: 0, 1 wrong gradients, 2 bad input or no memory.\n");
}

static void settle_options(void)
{
    if (0 == given.network_count) {
        take_network(NULL, "resnet50");
    }
    if (0 == given.fusion_count) {
        take_fusion(NULL, "64M");
    }
    if (0 == given.mode_count) {
        tune_get_list("blocking,nonblocking,segments=4", NULL, take_mode);
    }
}

int main(int argc, char **argv)
{
    int code, provided;

    tool_version(argc, argv, "han_training");
    tune_options_speaker("han_training", tool_rank());
    if (0 != tune_read_options(argc, argv, options, accepted, NULL, take_option)) {
        return tool_leave(2);
    }
    settle_options();
    if (given.help || given.list) {
        if (0 == tool_rank()) {
            (given.help ? help : list_networks)();
        }
        return tool_leave(tune_finish(0, 1));
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tune_options_speaker("han_training", rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (MPI_THREAD_SERIALIZED > provided) {
        tune_complain("this MPI allows no communication thread: MPI_THREAD_SERIALIZED is missing");
        code = 2;
    } else {
        code = !run();
    }
    code = tune_finish(code, 1);
    MPI_Finalize();
    return code;
}
