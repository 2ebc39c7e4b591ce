/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

/* Whether there is a core for each rank of the node; and if so, whether single copies are cheap there, or dear. */
enum { CROWDED = 1, CHEAP = 2, DEAR = 4, ROOMY = CHEAP | DEAR, ANYWHERE = CROWDED | ROOMY };

/* Two memcpys at the same time, into shared memory and out of it, are better than what takes longer than one. */
enum { DEAR_PERCENT = 100 };

/* Where, with how many ranks at least, from how many bytes on: how. */
struct rule {
    int where; /* 0: behind the last one */
    int ranks;
    size_t bytes;
    mca_coll_solo_algorithm_t algorithm;
};

enum { MOST_RULES = 8 };

#define KIB *1024
#define MIB *1048576

/*
 * Measured with bench/inside on two cores: CHEAP and DEAR with 2 ranks, each on a machine of its kind, CROWDED with 4
 * and 8. A single copy takes its time for each page. Where that is more than a memcpy takes, one into shared memory and
 * one out of it are better, as two cores do them at the same time; but in a broadcast from 4 MiB on, where half the
 * memory traffic is worth more than the last bit of speed. Of a collective's rows the last that fits decides; where the
 * fallback was better, it is in the table. Rows for 3 ranks in ROOMY are reasoned: one root would reduce for all, and
 * all would read the same pages of one root at once.
 *
 * Which of CHEAP and DEAR it is may differ from run to run. No result does, but for which of 0 and -0, and of a NaN and
 * a number, is the least or the greatest: for 2 ranks all ways give the same bits, and for more those do that stand for
 * each other here.
 */
static const struct rule rules[SOLO_COLLECTIVE_COUNT][MOST_RULES] = {
    [SOLO_BARRIER] = {
        { ANYWHERE, 2, 0, SOLO_COPY },
    },
    [SOLO_BCAST] = {
        { ANYWHERE, 2, 0, SOLO_COPY },
        { CHEAP, 2, 128 KIB, SOLO_SINGLE_COPY },
        { ROOMY, 3, 128 KIB, SOLO_COPY },
        { ROOMY, 3, 2 MIB, SOLO_SINGLE_COPY },
        { DEAR | CROWDED, 2, 4 MIB, SOLO_SINGLE_COPY },
    },
    [SOLO_REDUCE] = {
        { ANYWHERE, 2, 0, SOLO_COPY },
        { CHEAP, 2, 64 KIB, SOLO_SINGLE_COPY },
        { ROOMY, 3, 64 KIB, SOLO_SLICES },
        { ROOMY, 3, 4 MIB, SOLO_SINGLE_COPY },
    },
    [SOLO_ALLREDUCE] = {
        { ANYWHERE, 2, 0, SOLO_COPY },
        { CHEAP | CROWDED, 2, 16 KIB, SOLO_SLICES },
        { DEAR, 3, 16 KIB, SOLO_SLICES },
        { CHEAP, 2, 128 KIB, SOLO_SINGLE_COPY },
        { CROWDED, 2, 512 KIB, SOLO_SINGLE_COPY },
    },
    [SOLO_GATHER] = {
        { ANYWHERE, 2, 0, SOLO_COPY },
        { CHEAP, 2, 64 KIB, SOLO_SINGLE_COPY },
        { CROWDED, 2, 512 KIB, SOLO_SINGLE_COPY },
        { CHEAP, 2, 1 MIB, SOLO_FALLBACK },
    },
    [SOLO_SCATTER] = {
        { ANYWHERE, 2, 0, SOLO_COPY },
        { CROWDED, 2, 64 KIB, SOLO_FALLBACK },
        { CROWDED, 2, 1 MIB, SOLO_SINGLE_COPY },
        { CHEAP, 2, 64 KIB, SOLO_SINGLE_COPY },
        { CHEAP, 2, 1 MIB, SOLO_FALLBACK },
    },
    [SOLO_ALLGATHER] = {
        { ANYWHERE, 2, 0, SOLO_COPY },
        { CHEAP, 2, 32 KIB, SOLO_SINGLE_COPY },
        { CHEAP, 2, 2 MIB, SOLO_FALLBACK },
        { DEAR, 2, 128 KIB, SOLO_SINGLE_COPY },
    },
    [SOLO_REDUCE_SCATTER_BLOCK] = {
        { ANYWHERE, 2, 0, SOLO_COPY },
        { CHEAP, 2, 64 KIB, SOLO_SINGLE_COPY },
        { CROWDED, 2, 1 MIB, SOLO_SINGLE_COPY },
    },
    [SOLO_ALLTOALL] = {
        { ANYWHERE, 2, 0, SOLO_COPY },
        { CHEAP, 2, 32 KIB, SOLO_SINGLE_COPY },
        { CROWDED, 2, 64 KIB, SOLO_FALLBACK },
        { CHEAP, 2, 2 MIB, SOLO_FALLBACK },
        { DEAR, 2, 128 KIB, SOLO_SINGLE_COPY },
    },
};

/* What of a message, or of each rank's block, the copy of a collective puts into a box. */
static size_t piece_in(const mca_coll_solo_module_t *module, const mca_coll_solo_ring_t *ring,
                       mca_coll_solo_collective_t collective)
{
    return mca_coll_solo_piece(module, ring,
                               SOLO_SCATTER == collective || SOLO_ALLTOALL == collective
                                   || SOLO_REDUCE_SCATTER_BLOCK == collective);
}

/* Whether a box holds at least one element. */
static bool fits(const mca_coll_solo_module_t *module, mca_coll_solo_collective_t collective, size_t element)
{
    const size_t piece = piece_in(module, &module->memory.large, collective);

    return element <= SOLO_PIECE && element <= piece && 16 <= piece;
}

/* Short: one small box holds it, and where blocks are passed on between groups, all that a rank passes on. */
static void choose_ring(mca_coll_solo_module_t *module, mca_coll_solo_collective_t collective, size_t bytes,
                        mca_coll_solo_algorithm_t algorithm)
{
    mca_coll_solo_memory_t *memory = &module->memory;
    const size_t passed_on = SOLO_ALLGATHER == collective && 1 < module->groups ? (size_t) module->relay_slots : 1;
    const bool is_short = SOLO_COPY == algorithm && bytes <= piece_in(module, &memory->small, collective) / passed_on;

    memory->ring = is_short ? &memory->small : &memory->large;
}

static bool has_single_copies(const mca_coll_solo_module_t *module)
{
    return module->single_copy && 0 != mca_coll_solo_component.single_copy;
}

/* What cannot be had is dear. */
static mca_coll_solo_algorithm_t by_rules(const mca_coll_solo_module_t *module, mca_coll_solo_collective_t collective,
                                          size_t bytes)
{
    const bool dear = !has_single_copies(module) || DEAR_PERCENT < module->single_copy_percent;
    const int where = module->crowded ? CROWDED : dear ? DEAR : CHEAP;
    mca_coll_solo_algorithm_t algorithm = SOLO_FALLBACK;

    for (const struct rule *rule = rules[collective]; 0 != rule->where; ++rule) {
        if (0 != (rule->where & where) && rule->ranks <= module->size && rule->bytes <= bytes) {
            algorithm = rule->algorithm;
        }
    }
    return algorithm;
}

/*
 * To make shared memory takes as long as a hundred short calls, or a few long ones. A communicator that lives for less
 * does without.
 */
static bool pays(mca_coll_solo_module_t *module, size_t bytes)
{
    module->calls += 1 + bytes / 1024;
    return module->calls > (size_t) mca_coll_solo_component.start;
}

int mca_coll_solo_decide(mca_coll_solo_module_t *module, mca_coll_solo_collective_t collective, size_t bytes,
                         size_t element, mca_coll_solo_algorithm_t *algorithm)
{
    const int wanted = mca_coll_solo_component.algorithms[collective];
    int rc = OMPI_SUCCESS;

    /* Whether it is crowded is known when there is memory, on all ranks alike. */
    if (SOLO_UNTRIED == module->state && SOLO_FALLBACK != wanted && pays(module, bytes)) {
        rc = mca_coll_solo_memory_make(module);
    }
    *algorithm = SOLO_AUTO == wanted ? by_rules(module, collective, bytes) : (mca_coll_solo_algorithm_t) wanted;
    if (SOLO_READY != module->state || !fits(module, collective, element)) {
        *algorithm = SOLO_FALLBACK;
    } else if (SOLO_SINGLE_COPY == *algorithm && !has_single_copies(module)) {
        *algorithm = SOLO_REDUCE == collective || SOLO_ALLREDUCE == collective ? SOLO_SLICES : SOLO_COPY;
    }
    choose_ring(module, collective, bytes, *algorithm);
    if (0 == module->rank) {
        SOLO_VERBOSE(2, "coll:solo: %s (cid %d): %s, %zu bytes: %s", module->comm->c_name, module->comm->c_contextid,
                     mca_coll_solo_collective_names[collective], bytes, mca_coll_solo_algorithm_names[*algorithm][0]);
    }
    return rc;
}

static bool dense(const ompi_datatype_t *datatype)
{
    return 0 < datatype->super.size && ompi_datatype_is_contiguous_memory_layout(datatype, 2)
           && (ptrdiff_t) datatype->super.size == datatype->super.ub - datatype->super.lb && 0 == datatype->super.lb
           && 0 == datatype->super.true_lb;
}

int mca_coll_solo_decide_reduction(mca_coll_solo_module_t *module, mca_coll_solo_collective_t collective, size_t count,
                                   const ompi_datatype_t *datatype, mca_coll_solo_algorithm_t *algorithm)
{
    const size_t element = datatype->super.size;

    /* Results that do not depend on where ranks are, are those of the component that reduces on several nodes. */
    if (!dense(datatype) || (NULL != module->reproducible && 0 != *module->reproducible)) {
        *algorithm = SOLO_FALLBACK;
        return OMPI_SUCCESS;
    }
    return mca_coll_solo_decide(module, collective, count * element, element, algorithm);
}
