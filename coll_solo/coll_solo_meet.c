/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of a communicator find out about each other when they have shared memory: whether each has a core,
 * whether they may copy from each other, and what that costs.
 */
#include "coll_solo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PTRACE_SCOPE "/proc/sys/kernel/yama/ptrace_scope"

/*
 * A kernel with Yama may allow copies between those only that have agreed to be traced. btl/vader and UCX agree in
 * MPI_Init, where they are in use; to agree once more would undo what they, or a debugger, have said.
 */
static int ptrace_scope(void)
{
    FILE *const file = fopen(PTRACE_SCOPE, "re");
    int scope = 0;

    if (NULL != file) {
        if (1 != fscanf(file, "%d", &scope)) {
            scope = 0;
        }
        fclose(file);
    }
    return scope;
}

static void say_refused(char why[SOLO_FAILURE_TEXT], const char *function, int error)
{
    const int scope = EPERM == error ? ptrace_scope() : 0;

    if (0 < scope) {
        snprintf(why, SOLO_FAILURE_TEXT, "%s: %s; " PTRACE_SCOPE " is %d, with 0 it is permitted", function,
                 strerror(error), scope);
    } else {
        snprintf(why, SOLO_FAILURE_TEXT, "%s: %s", function, 0 == error ? "another process" : strerror(error));
    }
}

/* The number that another rank shows, from there or back. */
static bool move_number(const mca_coll_solo_area_t *area, bool back, uint64_t *number)
{
    const struct iovec here = { number, sizeof(*number) },
                       there = { (void *) (uintptr_t) area->probe, sizeof(*number) };
    const pid_t pid = (pid_t) area->pid;

    return sizeof(*number)
           == (size_t) TEMP_FAILURE_RETRY(back ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                                               : process_vm_readv(pid, &here, 1, &there, 1, 0));
}

/* Whether this rank may copy from and to all others: it reads their numbers, and writes them back. */
static bool try_single_copy(const mca_coll_solo_module_t *module, char why[SOLO_FAILURE_TEXT])
{
    if (0 == mca_coll_solo_component.single_copy) {
        snprintf(why, SOLO_FAILURE_TEXT, "coll_solo_single_copy is off");
        return false;
    }
    for (int i = 1; i < module->size; ++i) {
        const mca_coll_solo_area_t *area = mca_coll_solo_area(&module->memory, (module->rank + i) % module->size);
        uint64_t found = 0;
        const bool read = move_number(area, false, &found);

        if (!read || found != area->token) {
            say_refused(why, "process_vm_readv", read ? 0 : errno);
            return false;
        }
        if (!move_number(area, true, &found)) {
            say_refused(why, "process_vm_writev", errno);
            return false;
        }
    }
    return true;
}

/* -- what a single copy costs -- */

static size_t sample_bytes(const mca_coll_solo_module_t *module)
{
    enum { MOST = 32768 };

    return MOST < module->memory.ring->segment_bytes ? MOST : module->memory.ring->segment_bytes;
}

/* What the others will copy is in this core's cache. */
static void write_samples(const mca_coll_solo_module_t *module)
{
    for (uint64_t seq = 0; seq < module->memory.ring->boxes; ++seq) {
        memset(mca_coll_solo_box(&module->memory, module->rank, seq)->data, 1, sample_bytes(module));
    }
}

enum { MEMCPY, SINGLE_COPY };

/* One copy of what the next rank has in a box. @returns nanoseconds, at least 1; INT_MAX: it cannot be done */
static int copy_sample(const mca_coll_solo_module_t *module, uint64_t seq, int way, void *to, size_t bytes)
{
    const int next = (module->rank + 1) % module->size;
    const mca_coll_solo_area_t *area = mca_coll_solo_area(&module->memory, next);
    const unsigned char *data = mca_coll_solo_box(&module->memory, next, seq)->data;
    const uint64_t there = area->start + (uint64_t) ((const char *) data - module->memory.start);
    struct iovec target = { to, bytes }, source = { (void *) (uintptr_t) there, bytes };
    const int64_t before = mca_coll_solo_now();
    int64_t took;

    if (MEMCPY == way) {
        memcpy(to, data, bytes);
        __asm__ volatile("" ::"r"(to) : "memory"); /* nobody looks at it */
    } else if ((ssize_t) bytes != process_vm_readv((pid_t) area->pid, &target, 1, &source, 1, 0)) {
        return INT_MAX;
    }
    took = mca_coll_solo_now() - before;
    return 0 >= took ? 1 : INT_MAX < took ? INT_MAX : (int) took;
}

/*
 * Nanoseconds of both, for every second box: of a memcpy that takes the lines from the next rank's core, as in a
 * collective, and of a single copy when it is not the first one, which takes many times as long. The fastest counts.
 */
static void measure_copies(const mca_coll_solo_module_t *module, int best[2])
{
    enum { SINGLE_COPIES = 3, PAGE = 4096 };
    const size_t bytes = sample_bytes(module);
    char *to = malloc(bytes);

    if (NULL == to) {
        return;
    }
    memset(to, 0, bytes);
    for (uint64_t seq = 0; seq < module->memory.ring->boxes; ++seq) {
        const int way = 0 == seq % 2 ? MEMCPY : SINGLE_COPY;
        const volatile unsigned char *data
            = mca_coll_solo_box(&module->memory, (module->rank + 1) % module->size, seq)->data;

        /* The pages' first touch is not part of it. */
        for (size_t i = 0; i < bytes; i += PAGE) {
            (void) data[i];
        }
        (void) data[bytes - 1];
        for (int i = 0; i < (SINGLE_COPY == way ? SINGLE_COPIES : 1); ++i) {
            const int took = copy_sample(module, seq, way, to, bytes);

            best[way] = took < best[way] ? took : best[way];
        }
    }
    free(to);
}

/* -- all ranks' part -- */

int mca_coll_solo_meet(mca_coll_solo_module_t *module)
{
    mca_coll_solo_area_t *area = mca_coll_solo_area(&module->memory, module->rank);
    char why[SOLO_FAILURE_TEXT] = "";
    volatile uint64_t probe = mca_coll_solo_token() ^ (uint64_t) module->rank;
    int unused[2] = { 0, 0 }, copies[2] = { INT_MAX, INT_MAX }, refused;
    bool can;

    area->pid = getpid();
    area->probe = (uint64_t) (uintptr_t) &probe;
    area->token = probe;
    area->start = (uint64_t) (uintptr_t) module->memory.start;
    mca_coll_solo_room_tell(area);
    if (0 == module->rank) {
        mca_coll_solo_groups_find(module);
    }
    if (0 != mca_coll_solo_component.single_copy) {
        write_samples(module);
    }
    refused = mca_coll_solo_lowest(module, true, unused);
    if (0 > refused) {
        return refused;
    }
    module->crowded = mca_coll_solo_crowded(&module->memory, module->size);
    can = try_single_copy(module, why);
    if (can && !module->crowded) {
        measure_copies(module, copies);
    }
    if (OMPI_SUCCESS != mca_coll_solo_groups_make(module)) {
        copies[0] = -1;
    }
    refused = mca_coll_solo_lowest(module, can, copies);
    if (0 > refused || 0 > copies[0]) {
        return 0 > refused ? refused : SOLO_NO_MEMORY;
    }
    /* Rounded here, so that what is told is what decides. */
    module->single_copy_percent = ((int64_t) copies[SINGLE_COPY] * 100 + copies[MEMCPY] / 2) / copies[MEMCPY];
    module->single_copy = module->size == refused;
    if (module->rank == refused) {
        SOLO_VERBOSE(1, "coll:solo: %s (cid %d), rank %d: no single copy (%s); large messages go through shared memory",
                     module->comm->c_name, module->comm->c_contextid, module->rank, why);
    } else if (module->single_copy && 0 == module->rank) {
        char price[64] = "more ranks than cores";

        if (!module->crowded) {
            snprintf(price, sizeof(price), "which takes %.2f times as long as memcpy",
                     (double) module->single_copy_percent / 100);
        }
        SOLO_VERBOSE(1, "coll:solo: %s (cid %d): %d ranks in %d group%s, %zu bytes of shared memory, single copy, %s",
                     module->comm->c_name, module->comm->c_contextid, module->size, module->groups,
                     1 == module->groups ? "" : "s", module->memory.bytes, price);
    }
    return OMPI_SUCCESS;
}
