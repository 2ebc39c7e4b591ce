/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared memory of a communicator is a file without a name (memfd_create), which the others open through rank 0's
 * /proc entry: nothing is ever in a file system that a killed job could leave behind, and the size of /dev/shm, which
 * is small in containers, does not matter. Each rank reserves the pages of its own area, so that they are near to it,
 * and so that no space is an error here and no SIGBUS later.
 */
#include "coll_solo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ompi/runtime/params.h"

#include "coll_solo_limits.h"

/* As /proc shows it. */
#define MEMORY_NAME "coll_solo"

/* What rank 0 tells of the memory that it has made. */
struct offer {
    int made; /* 0: it has not */
    int fd;
    int64_t pid;
    uint64_t token;
    uint64_t segment_bytes;
};

/* Bytes that this process maps. */
static _Atomic size_t mapped;

/* -- one rank's part -- */

/*
 * Takes from what max_memory allows, and from what the system leaves to this process: half of that at most, for where
 * it is used up the system ends the job.
 */
static bool account(size_t bytes, char why[SOLO_FAILURE_TEXT])
{
    const int64_t left = mca_coll_solo_memory_left("");
    size_t before;

    if (bytes > (uint64_t) left / 2) {
        snprintf(why, SOLO_FAILURE_TEXT, "%zu bytes are wanted, the memory control group has %lld left", bytes,
                 (long long) left);
        return false;
    }
    before = atomic_fetch_add(&mapped, bytes);
    if (bytes + before <= (size_t) mca_coll_solo_component.max_memory) {
        return true;
    }
    atomic_fetch_sub(&mapped, bytes);
    snprintf(why, SOLO_FAILURE_TEXT, "%zu bytes are wanted, %zu of coll_solo_max_memory %d are in use", bytes, before,
             mca_coll_solo_component.max_memory);
    return false;
}

static void fail(char why[SOLO_FAILURE_TEXT], const char *what)
{
    snprintf(why, SOLO_FAILURE_TEXT, "%s: %s", what, strerror(errno));
}

/* A file past the limit would be a signal, which ends the process. */
static bool under_limit(size_t bytes, char why[SOLO_FAILURE_TEXT])
{
    struct rlimit limit;

    if (0 != getrlimit(RLIMIT_FSIZE, &limit) || RLIM_INFINITY == limit.rlim_cur || bytes <= limit.rlim_cur) {
        return true;
    }
    snprintf(why, SOLO_FAILURE_TEXT, "%zu bytes are wanted, a file may have %llu (ulimit -f)", bytes,
             (unsigned long long) limit.rlim_cur);
    return false;
}

uint64_t mca_coll_solo_token(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec + ((uint64_t) getpid() << 40);
}

/* Rank 0: a file of the right size, with a token that is not 0. */
static struct offer offer_make(const mca_coll_solo_memory_t *memory, char why[SOLO_FAILURE_TEXT])
{
    struct offer offer = { .pid = getpid(), .token = mca_coll_solo_token() | 1 };

    if (!under_limit(memory->bytes, why)) {
        return offer;
    }
    offer.fd = memfd_create(MEMORY_NAME, MFD_CLOEXEC);
    if (0 > offer.fd) {
        fail(why, "memfd_create");
        return offer;
    }
    if (0 != TEMP_FAILURE_RETRY(ftruncate(offer.fd, (off_t) memory->bytes))) {
        fail(why, "ftruncate");
    } else if ((ssize_t) sizeof(offer.token)
               != TEMP_FAILURE_RETRY(
                   pwrite(offer.fd, &offer.token, sizeof(offer.token), offsetof(mca_coll_solo_head_t, token)))) {
        fail(why, "write");
    } else {
        offer.made = 1;
        return offer;
    }
    close(offer.fd);
    return offer;
}

/*
 * Whether a file is rank 0's. Where processes have different numbers for one process, as in containers of their own, it
 * is another process's, and may be anything: it is not opened unless it has the name, and not written to unless it
 * has the token.
 */
static bool has_name(const char *link, ssize_t length)
{
    static const char name[] = "/memfd:" MEMORY_NAME;

    return (ssize_t) sizeof(name) - 1 <= length && 0 == memcmp(link, name, sizeof(name) - 1);
}

static bool has_token(int fd, const struct offer *offer)
{
    uint64_t token;

    return (ssize_t) sizeof(token)
               == TEMP_FAILURE_RETRY(pread(fd, &token, sizeof(token), offsetof(mca_coll_solo_head_t, token)))
           && token == offer->token;
}

/* Returns -1 where it cannot be had, or is a stranger's. */
static int offer_open(const struct offer *offer, int rank, bool *stranger, char why[SOLO_FAILURE_TEXT])
{
    char path[64], link[64];
    ssize_t length;
    int fd;

    if (0 == rank) {
        return offer->fd;
    }
    snprintf(path, sizeof(path), "/proc/%lld/fd/%d", (long long) offer->pid, offer->fd);
    length = readlink(path, link, sizeof(link));
    if (0 > length && ENOENT != errno) {
        fail(why, path);
        return -1;
    }
    if (has_name(link, length)) {
        fd = TEMP_FAILURE_RETRY(open(path, O_RDWR | O_CLOEXEC));
        if (0 > fd) {
            fail(why, path);
            return fd;
        }
        if (has_token(fd, offer)) {
            return fd;
        }
        close(fd);
    }
    *stranger = true;
    snprintf(why, SOLO_FAILURE_TEXT, "process %lld is not rank 0 here: another PID namespace?", (long long) offer->pid);
    return -1;
}

/*
 * A call that a signal interrupts gives back all that it has reserved: one for a long area would begin anew for ever,
 * where a timer ticks more often than it takes.
 */
static bool reserve(int fd, size_t offset, size_t bytes)
{
    enum { PIECE = 256 << 10 };

    for (size_t done = 0; done < bytes; done += PIECE) {
        const size_t left = bytes - done;

        if (0 != TEMP_FAILURE_RETRY(fallocate(fd, 0, (off_t) (offset + done), (off_t) (left < PIECE ? left : PIECE)))) {
            return false;
        }
    }
    return true;
}

/* Maps the file, with room for the own area. */
static bool attach(mca_coll_solo_module_t *module, const struct offer *offer, bool *stranger,
                   char why[SOLO_FAILURE_TEXT])
{
    mca_coll_solo_memory_t *memory = &module->memory;
    void *start = MAP_FAILED;
    int fd;

    if (!under_limit(memory->bytes, why) || !account(memory->bytes, why)) {
        return false;
    }
    fd = offer_open(offer, module->rank, stranger, why);
    if (0 > fd) {
        goto out;
    }
    if (!reserve(fd, mca_coll_solo_area_offset(memory, module->rank), memory->area_bytes)) {
        fail(why, "fallocate");
        goto out;
    }
    start = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (MAP_FAILED == start) {
        fail(why, "mmap");
        goto out;
    }
    memory->start = start;
out:
    if (0 <= fd && 0 != module->rank) {
        close(fd);
    }
    if (MAP_FAILED == start) {
        atomic_fetch_sub(&mapped, memory->bytes);
    }
    return NULL != memory->start;
}

/* -- all ranks' part -- */

int mca_coll_solo_lowest(mca_coll_solo_module_t *module, bool yes, int more[2])
{
    mca_coll_solo_fallback_t *fallback = &module->fallbacks[SOLO_ALLREDUCE];
    int mine[3] = { yes ? module->size : module->rank, more[0], more[1] }, all[3];
    const int rc
        = fallback->fn.allreduce(mine, all, 3, &ompi_mpi_int.dt, &ompi_mpi_op_min.op, module->comm, fallback->module);

    memcpy(more, all + 1, 2 * sizeof(*more));
    /* Of other components errors may be above 0, as ranks are. */
    return OMPI_SUCCESS == rc ? all[0] : 0 > rc ? rc : OMPI_ERROR;
}

/* Once a process; but where that is how the ranks are set up, for who wants to know. */
static void say_failure(const mca_coll_solo_module_t *module, const char *why, bool as_set_up)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (as_set_up ? 1 <= mca_coll_solo_component.verbose : !atomic_flag_test_and_set(&said)) {
        opal_output(mca_coll_solo_component.output,
                    "coll:solo: %s (cid %d), rank %d: no shared memory (%s); other components do the collectives of "
                    "this communicator",
                    module->comm->c_name, module->comm->c_contextid, module->rank, why);
    }
}

int mca_coll_solo_memory_make(mca_coll_solo_module_t *module)
{
    mca_coll_solo_fallback_t *bcast = &module->fallbacks[SOLO_BCAST];
    mca_coll_solo_memory_t *memory = &module->memory;
    char why[SOLO_FAILURE_TEXT] = "";
    struct offer offer = { .made = 0 };
    bool attached, stranger = false;
    int rc, refused, unused[2] = { 0, 0 };

    /* Fallbacks may do an allreduce as a reduce and a bcast of the communicator, which are SOLO's. */
    module->state = SOLO_MAKING;
    if (0 == module->rank) {
        mca_coll_solo_layout(memory, module->size, (size_t) mca_coll_solo_component.segment_size);
        offer = offer_make(memory, why);
        offer.segment_bytes = memory->large.segment_bytes;
    }
    rc = bcast->fn.bcast(&offer, (int) sizeof(offer), &ompi_mpi_byte.dt, 0, module->comm, bcast->module);
    if (OMPI_SUCCESS != rc) {
        module->state = SOLO_UNTRIED;
        goto out;
    }
    if (!offer.made) {
        module->state = SOLO_FAILED;
        if (0 == module->rank) {
            say_failure(module, why, false);
        }
        return OMPI_SUCCESS;
    }
    mca_coll_solo_layout(memory, module->size, (size_t) offer.segment_bytes);
    module->sources = malloc((size_t) module->size * sizeof(*module->sources));
    if (NULL == module->sources) {
        fail(why, "malloc");
    }
    attached = NULL != module->sources && attach(module, &offer, &stranger, why);
    refused = mca_coll_solo_lowest(module, attached, unused);
    if (module->size != refused) {
        if (module->rank == refused) {
            say_failure(module, why, stranger);
        }
        rc = 0 > refused ? refused : OMPI_SUCCESS;
        mca_coll_solo_memory_free(module);
        module->state = SOLO_FAILED;
        goto out;
    }
    rc = mca_coll_solo_meet(module);
    module->state = OMPI_SUCCESS == rc ? SOLO_READY : SOLO_FAILED;
    if (SOLO_NO_MEMORY == rc) {
        /* All ranks know: to the caller it is as if there were no shared memory. */
        if (0 == module->rank) {
            say_failure(module, "no memory for the groups of ranks", false);
        }
        mca_coll_solo_memory_free(module);
        rc = OMPI_SUCCESS;
    }
out:
    if (0 == module->rank && offer.made) {
        close(offer.fd); /* all others have it */
    }
    return rc;
}

void mca_coll_solo_memory_free(mca_coll_solo_module_t *module)
{
    if (NULL == module->memory.start) {
        return;
    }
    if (SOLO_READY == module->state) {
        SOLO_VERBOSE(1,
                     "coll:solo: %s (cid %d), rank %d: %llu bytes moved by single copy, %llu of them between "
                     "groups, %llu through shared memory",
                     module->comm->c_name, module->comm->c_contextid, module->rank,
                     (unsigned long long) module->single_copied, (unsigned long long) module->crossed,
                     (unsigned long long) module->copied);
    }
    munmap(module->memory.start, module->memory.bytes);
    atomic_fetch_sub(&mapped, module->memory.bytes);
    module->memory.start = NULL;
    module->state = SOLO_FAILED;
}
