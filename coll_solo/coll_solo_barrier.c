/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

static void say(mca_coll_solo_module_t *module, uint64_t seq)
{
    mca_coll_solo_publish(mca_coll_solo_own_box(module, seq), seq, OMPI_SUCCESS);
}

/* Every rank publishes an empty box, and looks at all others'. */
static void flat(mca_coll_solo_module_t *module)
{
    const uint64_t seq = ++module->seq;

    say(module, seq);
    (void) mca_coll_solo_wait_boxes(module, seq);
    mca_coll_solo_conclude(module, seq);
    mca_coll_solo_finish(module, seq);
}

/* A leader hears its group, then the other leaders, and then tells its group. */
static void in_groups(mca_coll_solo_module_t *module)
{
    const uint64_t seq = module->seq + 1, between = seq + 1, after = seq + 2;

    module->seq = after;
    if (module->rank != module->leader) {
        say(module, seq);
        (void) mca_coll_solo_wait_box(module, module->leader, after);
    } else {
        for (int i = 1; i < module->member_count; ++i) {
            (void) mca_coll_solo_wait_box(module, module->members[i], seq);
        }
        say(module, between);
        for (int group = 0; group < module->groups; ++group) {
            (void) mca_coll_solo_wait_box(module, module->leaders[group], between);
        }
        say(module, after);
    }
    mca_coll_solo_finish(module, after);
}

int mca_coll_solo_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_solo_module_t *module = (mca_coll_solo_module_t *) base;
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_BARRIER];
    mca_coll_solo_algorithm_t algorithm;
    const int rc = mca_coll_solo_decide(module, SOLO_BARRIER, 0, 1, &algorithm);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (SOLO_FALLBACK == algorithm) {
        return fallback->fn.barrier(comm, fallback->module);
    }
    if (1 == module->groups) {
        flat(module);
    } else {
        in_groups(module);
    }
    return OMPI_SUCCESS;
}
