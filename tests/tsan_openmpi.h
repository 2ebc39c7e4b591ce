/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What orders the accesses of threads inside Open MPI, for ThreadSanitizer. Open MPI is not compiled with it, so that
 * what it does between a call of ours and a callback is unseen; tests/sanitize.sh has the compiler include this file
 * first in every file of the components, and nothing else knows it.
 *
 * Each edge is for one object, and is there in truth:
 * - Open MPI's atomic operations are written as relaxed ones and separate fences, which ThreadSanitizer does not model.
 *   They are compiled as what they mean together.
 * - A request of the PML is started by one thread, and its callback is called by any. The PML's locks are between them.
 * - A request of the PML comes from a free list, to which any thread has returned it, by atomic operations.
 * - REQUEST_COMPLETE reads plainly what other threads write atomically.
 * - Who waits has a record of it on its stack, which it gives away and takes back by atomic operations. It is not
 * looked at: nothing of ours is in it.
 * - The modules of a new communicator are made by any thread that finds that all ranks have come. ompi_comm_activate()
 *   waits for it; tests/tsan_mpi.c has the other end.
 * - A communicator ends, and its modules, in the thread that is the last to let go of it, by atomic operations:
 *   tests/tsan_mpi.c has both ends.
 */
#ifndef HAN_TESTS_TSAN_OPENMPI_H
#define HAN_TESTS_TSAN_OPENMPI_H

#if defined(__has_include)
#if __has_include("ompi/request/request.h")

#include "ompi_config.h"

#pragma push_macro("__ATOMIC_RELAXED")
#pragma push_macro("__ATOMIC_ACQUIRE")
#pragma push_macro("__ATOMIC_RELEASE")
#undef __ATOMIC_RELAXED
#undef __ATOMIC_ACQUIRE
#undef __ATOMIC_RELEASE
#define __ATOMIC_RELAXED __ATOMIC_SEQ_CST
#define __ATOMIC_ACQUIRE __ATOMIC_SEQ_CST
#define __ATOMIC_RELEASE __ATOMIC_SEQ_CST
#include "opal/sys/atomic.h"
#pragma pop_macro("__ATOMIC_RELAXED")
#pragma pop_macro("__ATOMIC_ACQUIRE")
#pragma pop_macro("__ATOMIC_RELEASE")

#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"

#include <sanitizer/tsan_interface.h>
#include <stdlib.h>

#undef REQUEST_COMPLETE
#define REQUEST_COMPLETE(request) (REQUEST_COMPLETED == __atomic_load_n(&(request)->req_complete, __ATOMIC_ACQUIRE))

/* Kept beside a request from its start to its callback. */
struct tsan_callback {
    ompi_request_complete_fn_t function;
    void *data;
};

/* The request's own fields are Open MPI's, and not looked at. */
#define TSAN_UNSEEN __attribute__((unused, no_sanitize("thread")))

TSAN_UNSEEN static int tsan_callback_run(ompi_request_t *request)
{
    struct tsan_callback *boxed = request->req_complete_cb_data, callback;

    __tsan_acquire(boxed);
    callback = *boxed;
    free(boxed);
    request->req_complete_cb_data = callback.data;
    return callback.function(request);
}

TSAN_UNSEEN static int tsan_pml_start(size_t count, ompi_request_t **requests)
{
    for (size_t i = 0; i < count; ++i) {
        struct tsan_callback *boxed = NULL == requests[i]->req_complete_cb ? NULL : malloc(sizeof(*boxed));

        if (NULL != boxed) {
            *boxed = (struct tsan_callback){ requests[i]->req_complete_cb, requests[i]->req_complete_cb_data };
            requests[i]->req_complete_cb_data = boxed;
            requests[i]->req_complete_cb = tsan_callback_run;
            __tsan_release(boxed);
        }
    }
    return mca_pml.pml_start(count, requests);
}

TSAN_UNSEEN static int tsan_pml_isend_init(const void *buffer, size_t count, struct ompi_datatype_t *type, int peer,
                                           int tag, mca_pml_base_send_mode_t mode, struct ompi_communicator_t *comm,
                                           ompi_request_t **request)
{
    const int rc = mca_pml.pml_isend_init(buffer, count, type, peer, tag, mode, comm, request);

    if (OMPI_SUCCESS == rc) {
        __tsan_acquire(*request);
    }
    return rc;
}

TSAN_UNSEEN static int tsan_pml_irecv_init(void *buffer, size_t count, struct ompi_datatype_t *type, int peer, int tag,
                                           struct ompi_communicator_t *comm, ompi_request_t **request)
{
    const int rc = mca_pml.pml_irecv_init(buffer, count, type, peer, tag, comm, request);

    if (OMPI_SUCCESS == rc) {
        __tsan_acquire(*request);
    }
    return rc;
}

TSAN_UNSEEN static int tsan_request_free(ompi_request_t **request)
{
    __tsan_release(*request);
    return (*request)->req_free(request);
}

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

TSAN_UNSEEN static void tsan_wait_sync_update(ompi_wait_sync_t *waiter, int updates, int status)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__); /* and writes */
    wait_sync_update(waiter, updates, status);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

TSAN_UNSEEN static int tsan_comm_activate(ompi_communicator_t **made, ompi_communicator_t *comm,
                                          ompi_communicator_t *bridge, const void *arg0, const void *arg1,
                                          bool send_first, int mode)
{
    const ompi_communicator_t *const key = *made;
    int rc;

    __tsan_release((void *) key);
    rc = ompi_comm_activate(made, comm, bridge, arg0, arg1, send_first, mode);
    __tsan_acquire((void *) key);
    return rc;
}

#define wait_sync_update tsan_wait_sync_update
#define ompi_comm_activate tsan_comm_activate
#define ompi_request_free tsan_request_free
#define tsan_pml_isend mca_pml.pml_isend
#define tsan_pml_irecv mca_pml.pml_irecv
#define tsan_pml_send mca_pml.pml_send
#define tsan_pml_recv mca_pml.pml_recv
#define tsan_pml_iprobe mca_pml.pml_iprobe
#undef MCA_PML_CALL
#define MCA_PML_CALL(call) tsan_pml_##call

#endif
#endif

#endif
