/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short messages to ranks of the same node, sent from copies. Open MPI's pml ob1 copies such a message into shared
 * memory, but is done with all that has more than 256 bytes, and with any that is a persistent request, as events need
 * it, only when the receiver has read it and the sender has seen that. Who waits for it waits for the receiver, and
 * where ranks share cores gives its core away each time. So the rank sends from memory of its own, and no call waits
 * for any of it: not even where many are under way, for their receivers may have no part in the call that would wait.
 * The end of a communicator does.
 */
#include "coll_adapt.h"

#include <stdlib.h>

#include "common/coll_eager.h"
#include "common/coll_pml.h"
#include "common/coll_wait.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/proc/proc.h"

/*
 * Bytes that ob1 takes at once. Bytes of a copy: no message has more that goes without asking, for who asks has to be
 * there for the answer. Copies under way at once: so few that the transport, which has room for 512 messages, takes
 * them at once, and that 63 ranks which run ahead of their leader fill 8 MB of its memory; so many that a rank which
 * runs ahead of its receivers seldom waits. While all are under way messages go as if there were no copies.
 */
enum { TAKEN_AT_ONCE = 256, MOST_BYTES = 4096, MOST_UNDER_WAY = 32 };

struct copy {
    struct copy *next;
    ompi_communicator_t *comm;
    ompi_request_t *request;
    char bytes[MOST_BYTES];
};

/* Of the process; several threads may send. */
static struct {
    opal_mutex_t lock;
    struct copy *oldest, **end; /* those under way, the oldest first */
    int under_way;
    struct copy *idle;
    size_t longest; /* message; 0: none is sent from a copy */
    int rc;         /* the first error of those that are through, until somebody hears of it */
} copies = { .lock = OPAL_MUTEX_STATIC_INIT, .end = &copies.oldest };

void mca_coll_adapt_copies_begin(void)
{
    const size_t eager = coll_eager_limit("vader");

    copies.longest = !coll_pml_is_ob1() ? 0 : eager < MOST_BYTES ? eager : MOST_BYTES;
}

void mca_coll_adapt_copies_end(void)
{
    while (NULL != copies.idle) {
        struct copy *copy = copies.idle;

        copies.idle = copy->next;
        free(copy);
    }
}

/* The lock is held from here to the next line like this one. */

/* One of those under way, which a pointer to a pointer to it names. */
static struct copy *take(struct copy **link)
{
    struct copy *copy = *link;

    *link = copy->next;
    copies.end = NULL == *link ? link : copies.end;
    --copies.under_way;
    return copy;
}

static void put_idle(struct copy *copy)
{
    copy->next = copies.idle;
    copies.idle = copy;
}

/* Those that are through: up to the first that is not, or of all, where there is no room for more. */
static struct copy *take_done(void)
{
    const bool all = MOST_UNDER_WAY <= copies.under_way;
    struct copy **link = &copies.oldest, *done = NULL;

    while (NULL != *link && (all || REQUEST_COMPLETE((*link)->request))) {
        if (!REQUEST_COMPLETE((*link)->request)) {
            link = &(*link)->next;
        } else {
            struct copy *copy = take(link);

            copy->next = done;
            done = copy;
        }
    }
    return done;
}

/* ---- */

static void put(struct copy *copy, bool under_way)
{
    OPAL_THREAD_LOCK(&copies.lock);
    if (under_way) {
        copy->next = NULL;
        *copies.end = copy;
        copies.end = &copy->next;
        ++copies.under_way;
    } else {
        put_idle(copy);
    }
    OPAL_THREAD_UNLOCK(&copies.lock);
}

/*
 * A request may be the last one that holds its communicator, which then ends, and waits for its copies: so it is not
 * freed with the lock, nor by an event.
 */
void mca_coll_adapt_copies_collect(void)
{
    int rc = OMPI_SUCCESS;
    struct copy *done;

    OPAL_THREAD_LOCK(&copies.lock);
    done = take_done();
    OPAL_THREAD_UNLOCK(&copies.lock);
    while (NULL != done) {
        struct copy *copy = done;
        const int own = copy->request->req_status.MPI_ERROR;

        done = copy->next;
        rc = OMPI_SUCCESS == rc ? own : rc;
        ompi_request_free(&copy->request);
        put(copy, false);
    }
    if (OMPI_SUCCESS != rc) {
        OPAL_THREAD_LOCK(&copies.lock);
        copies.rc = OMPI_SUCCESS == copies.rc ? rc : copies.rc;
        OPAL_THREAD_UNLOCK(&copies.lock);
    }
}

/* A copy that nobody else knows any more; NULL where there is no memory, or where many are under way. */
static struct copy *get(int *rc)
{
    struct copy *copy = NULL;

    OPAL_THREAD_LOCK(&copies.lock);
    if (MOST_UNDER_WAY > copies.under_way) {
        copy = copies.idle;
        copies.idle = NULL == copy ? NULL : copy->next;
        copy = NULL == copy ? malloc(sizeof(*copy)) : copy;
    }
    if (NULL != copy) {
        *rc = OMPI_SUCCESS == *rc ? copies.rc : *rc;
        copies.rc = OMPI_SUCCESS;
    }
    OPAL_THREAD_UNLOCK(&copies.lock);
    return copy;
}

void mca_coll_adapt_copies_wait(const ompi_communicator_t *comm)
{
    for (;;) {
        struct copy **link = &copies.oldest, *copy;

        OPAL_THREAD_LOCK(&copies.lock);
        while (NULL != *link && comm != (*link)->comm) {
            link = &(*link)->next;
        }
        copy = *link;
        if (NULL != copy) {
            take(link);
        }
        OPAL_THREAD_UNLOCK(&copies.lock);
        if (NULL == copy) {
            return;
        }
        (void) coll_wait(&copy->request, MPI_STATUS_IGNORE);
        put(copy, false);
    }
}

/* Whether messages to a rank go through shared memory: those to another job's do not, even on this node. */
static bool is_here(ompi_communicator_t *comm, int rank)
{
    const opal_proc_t *proc = &ompi_comm_peer_lookup(comm, rank)->super;

    return OPAL_PROC_ON_LOCAL_NODE(proc->proc_flags) && OPAL_PROC_MY_NAME.jobid == proc->proc_name.jobid;
}

bool mca_coll_adapt_send_copy(const mca_coll_adapt_data_t *message, int peer, int tag, ompi_communicator_t *comm,
                              mca_coll_adapt_sender_t sender, int *rc)
{
    const opal_datatype_t *type = &message->datatype->super;
    const size_t bytes = message->count * type->size;
    struct copy *copy;
    int sent;

    /* Open MPI counts communicators over several jobs in MPI_Finalize: no message may keep one that has been freed. */
    if ((ADAPT_SENDER_CALL == sender && TAKEN_AT_ONCE >= bytes) || copies.longest < bytes || 0 == copies.longest
        || OMPI_COMM_IS_DYNAMIC(comm) || !is_here(comm, peer)
        || !opal_datatype_is_contiguous_memory_layout(type, (int32_t) message->count)) {
        return false;
    }
    if (ADAPT_SENDER_EVENT != sender) {
        mca_coll_adapt_copies_collect();
    }
    copy = get(rc);
    if (NULL == copy) {
        return false;
    }
    if (0 < bytes) {
        memcpy(copy->bytes, (const char *) message->buffer + type->true_lb, bytes);
    }
    sent = MCA_PML_CALL(
        isend(copy->bytes, bytes, MPI_BYTE, peer, tag, MCA_PML_BASE_SEND_STANDARD, comm, &copy->request));
    (void) mca_coll_adapt_message_begun(sent, peer, comm);
    if (OMPI_SUCCESS == sent && !REQUEST_COMPLETE(copy->request)) {
        copy->comm = comm;
        put(copy, true);
    } else {
        if (OMPI_SUCCESS == sent) {
            sent = coll_wait(&copy->request, MPI_STATUS_IGNORE);
        }
        put(copy, false);
    }
    *rc = OMPI_SUCCESS == *rc ? sent : *rc;
    return true;
}
