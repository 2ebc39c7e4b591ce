/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

/* Every rank publishes an empty box, and looks at all others'. */
int mca_coll_solo_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_BARRIER];
    mca_coll_solo_algorithm_t algorithm;
    int rc = mca_coll_solo_decide(module, SOLO_BARRIER, 0, 1, &algorithm);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (SOLO_FALLBACK == algorithm) {
        return fallback->fn.barrier(comm, fallback->module);
    }
    const uint64_t seq = ++module->seq;

    mca_coll_solo_publish(mca_coll_solo_own_box(module, seq), seq, OMPI_SUCCESS);
    rc = mca_coll_solo_wait_boxes(module, seq);
    mca_coll_solo_conclude(module, seq);
    mca_coll_solo_finish(module, seq);
    return rc;
}
