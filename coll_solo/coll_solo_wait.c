/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

#include <sched.h>
#include <time.h>

#include "opal/runtime/opal_progress.h"

/* At a flag before MPI and other processes get their turn: a few microseconds. */
enum { MOST_LOOKS = 128 };

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

int64_t mca_coll_solo_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

/*
 * How long it pays to look depends on whether the other one has a core at this moment, and what it was like the last
 * time is the best guess: success doubles the looks, also where a look longer would have had it; a wait that looks in
 * vain once more halves them.
 *
 * opal_progress() yields by itself where mpi_yield_when_idle is set and there was nothing to do. Where ranks are more
 * than cores it is done here whatever is set: the one that is waited for may be waiting for this core. Nobody sleeps,
 * however long it takes: others' one-sided operations, and messages under way, depend on this rank's progress.
 */
void mca_coll_solo_wait(mca_coll_solo_module_t *module, const _Atomic uint64_t *flag, uint64_t seq)
{
    for (int turns = 0;; turns += 2 > turns) {
        /* Who waits longer is there for others, as often as there is no flag. */
        for (int i = 0; i < (2 > turns ? module->looks : 1); ++i) {
            if (mca_coll_solo_reached(flag, seq)) {
                if (1 >= turns && MOST_LOOKS > module->looks && !module->crowded) {
                    module->looks *= 2;
                }
                return;
            }
            relax();
        }
        if (1 == turns && SOLO_LEAST_LOOKS < module->looks) {
            module->looks /= 2;
        }
        opal_progress();
        if (module->crowded && !opal_progress_yield_when_idle) {
            sched_yield();
        }
    }
}

void mca_coll_solo_wait_done(mca_coll_solo_module_t *module, uint64_t seq)
{
    uint64_t least = UINT64_MAX;

    if (seq <= module->all_done) {
        return;
    }
    for (int i = 1; i < module->size; ++i) {
        const mca_coll_solo_area_t *area = mca_coll_solo_area(&module->memory, (module->rank + i) % module->size);
        uint64_t done = mca_coll_solo_seen(&area->done);

        if (done < seq) {
            mca_coll_solo_wait(module, &area->done, seq);
            done = seq;
        }
        least = least < done ? least : done;
    }
    /* Who was found further on is not looked at again before that: each look takes the line from its writer. */
    module->all_done = least;
}

mca_coll_solo_box_t *mca_coll_solo_own_box(mca_coll_solo_module_t *module, uint64_t seq)
{
    if (module->memory.ring->boxes < seq) {
        mca_coll_solo_wait_done(module, seq - module->memory.ring->boxes);
    }
    return mca_coll_solo_box(&module->memory, module->rank, seq);
}

int mca_coll_solo_wait_boxes(mca_coll_solo_module_t *module, uint64_t seq)
{
    int rc = OMPI_SUCCESS;

    for (int i = 1; i <= module->size; ++i) {
        const int status = mca_coll_solo_wait_box(module, (module->rank + i) % module->size, seq)->status;

        rc = OMPI_SUCCESS == rc ? status : rc;
    }
    return rc;
}
