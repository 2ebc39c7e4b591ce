/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

/* From this many bytes on: how. The last row that fits decides; rows of a collective begin with 0 bytes. */
struct rule {
    mca_coll_solo_collective_t collective;
    size_t bytes;
    mca_coll_solo_algorithm_t algorithm;
};

static const struct rule rules[] = {
    { SOLO_BARRIER, 0, SOLO_COPY },
    { SOLO_BCAST, 0, SOLO_COPY },
    { SOLO_BCAST, 1 << 20, SOLO_SINGLE_COPY },
    { SOLO_REDUCE, 0, SOLO_COPY },
    { SOLO_REDUCE, 16384, SOLO_SLICES },
    { SOLO_REDUCE, 1 << 20, SOLO_SINGLE_COPY },
    { SOLO_ALLREDUCE, 0, SOLO_COPY },
    { SOLO_ALLREDUCE, 16384, SOLO_SLICES },
    { SOLO_ALLREDUCE, 1 << 20, SOLO_SINGLE_COPY },
    { SOLO_GATHER, 0, SOLO_COPY },
    { SOLO_GATHER, 65536, SOLO_SINGLE_COPY },
    { SOLO_SCATTER, 0, SOLO_COPY },
    { SOLO_SCATTER, 65536, SOLO_SINGLE_COPY },
    { SOLO_ALLGATHER, 0, SOLO_COPY },
    { SOLO_ALLGATHER, 65536, SOLO_SINGLE_COPY },
    { SOLO_REDUCE_SCATTER_BLOCK, 0, SOLO_COPY },
    { SOLO_REDUCE_SCATTER_BLOCK, 65536, SOLO_SINGLE_COPY },
    { SOLO_ALLTOALL, 0, SOLO_COPY },
    { SOLO_ALLTOALL, 65536, SOLO_SINGLE_COPY },
};

/* Whether a box holds what the copy of a collective puts into it: at least one element, or one for each rank. */
static bool fits(const mca_coll_solo_module_t *module, mca_coll_solo_collective_t collective, size_t element)
{
    const bool each
        = SOLO_SCATTER == collective || SOLO_ALLTOALL == collective || SOLO_REDUCE_SCATTER_BLOCK == collective;
    const size_t piece = module->segment_bytes / (each ? (size_t) module->size : 1);

    return element <= SOLO_PIECE && element <= piece && 16 <= piece;
}

static mca_coll_solo_algorithm_t by_rules(mca_coll_solo_collective_t collective, size_t bytes)
{
    mca_coll_solo_algorithm_t algorithm = SOLO_FALLBACK;

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); ++i) {
        if (rules[i].collective == collective && rules[i].bytes <= bytes) {
            algorithm = rules[i].algorithm;
        }
    }
    return algorithm;
}

int mca_coll_solo_decide(mca_coll_solo_module_t *module, mca_coll_solo_collective_t collective, size_t bytes,
                         size_t element, mca_coll_solo_algorithm_t *algorithm)
{
    const int wanted = mca_coll_solo_component.algorithms[collective];
    int rc = OMPI_SUCCESS;

    *algorithm = SOLO_AUTO == wanted ? by_rules(collective, bytes) : (mca_coll_solo_algorithm_t) wanted;
    if (SOLO_FALLBACK != *algorithm && SOLO_UNTRIED == module->state) {
        rc = mca_coll_solo_memory_make(module);
    }
    if (SOLO_READY != module->state || !fits(module, collective, element)) {
        *algorithm = SOLO_FALLBACK;
    } else if (SOLO_SINGLE_COPY == *algorithm && !module->single_copy) {
        *algorithm = SOLO_REDUCE == collective || SOLO_ALLREDUCE == collective ? SOLO_SLICES : SOLO_COPY;
    }
    if (0 == module->rank) {
        SOLO_VERBOSE(2, "coll:solo: %s (cid %d): %s, %zu bytes: %s", module->comm->c_name, module->comm->c_contextid,
                     mca_coll_solo_collective_names[collective], bytes, mca_coll_solo_algorithm_names[*algorithm][0]);
    }
    return rc;
}
