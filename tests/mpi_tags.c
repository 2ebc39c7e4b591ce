/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the components and the user's: neither gets what is the other's, and of two calls neither gets what is
 * the other's, also where tags come round to those of a call that is not over.
 *
 *   mpi_tags              counters are put near their ends
 *   mpi_tags --calls N    besides, N broadcasts, so that counters come to their ends by themselves
 *
 * Compiled with Open MPI's internal headers, and so for one version of it.
 */
#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/pml/pml.h"

#include "coll_adapt/coll_adapt.h"
#include "common/coll_pml.h"

#include "mpi_test.h"

#include <mpi-ext.h>

static long calls = 0;
static long adapt = 0;

/* ADAPT's module on a communicator. */
static mca_coll_adapt_event_module_t *adapt_of(MPI_Comm comm)
{
    mca_coll_base_avail_coll_t *available;

    OPAL_LIST_FOREACH(available, comm->c_coll->module_list, mca_coll_base_avail_coll_t)
    {
        if (0 == strcmp(MCA_COLL_ADAPT_CLASS, available->ac_module->super.obj_class->cls_name)) {
            return (mca_coll_adapt_event_module_t *) available->ac_module;
        }
    }
    return NULL;
}

/* Some ranks look on for a while, others go ahead: what they do comes in another order on each. */
static void be_uneven(MPI_Request *request)
{
    int over;

    for (int i = 0; i < 40 * (t.rank % 3); ++i) {
        T_MPI(MPI_Test(request, &over, MPI_STATUS_IGNORE));
    }
}

/* ---- messages that overtake each other ---- */

/* Those of one call on a communicator that the components send. */
static struct {
    MPI_Comm comm;
    struct {
        int peer, tag;
    } sent[4096];
    int count, twice, unmatched;
    bool persistent;
    long all;
    mca_pml_base_module_t pml;
} seen;

static void see(int peer, int tag, const ompi_communicator_t *comm, mca_pml_base_send_mode_t mode)
{
    /* What makes levels waits for an answer before the next message. */
    if (comm != seen.comm || coll_tag(COLL_TAGS_BLOCKING) > tag || coll_tag(COLL_TAGS_MEASURE) <= tag) {
        return;
    }
    seen.unmatched += seen.persistent && MCA_PML_BASE_SEND_SYNCHRONOUS != mode;
    for (int i = 0; i < seen.count; ++i) {
        seen.twice += peer == seen.sent[i].peer && tag == seen.sent[i].tag;
    }
    if (seen.count < (int) (sizeof(seen.sent) / sizeof(seen.sent[0]))) {
        seen.sent[seen.count].peer = peer;
        seen.sent[seen.count++].tag = tag;
    }
}

static int see_isend_init(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                          mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request)
{
    see(peer, tag, comm, mode);
    return seen.pml.pml_isend_init(buffer, count, type, peer, tag, mode, comm, request);
}

static int see_isend(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                     mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request)
{
    see(peer, tag, comm, mode);
    return seen.pml.pml_isend(buffer, count, type, peer, tag, mode, comm, request);
}

static int see_send(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                    mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    see(peer, tag, comm, mode);
    return seen.pml.pml_send(buffer, count, type, peer, tag, mode, comm);
}

static void expect_once(const char *call)
{
    t_expect(0 == seen.twice, "%s: %d of %d messages have the tag of another one", call, seen.twice, seen.count);
    t_expect(0 == seen.unmatched, "%s: %d of %d messages may meet those of the next start", call, seen.unmatched,
             seen.count);
    seen.all += seen.count;
    seen.count = seen.twice = seen.unmatched = 0;
}

#define ONCE(call, ...)                                                                                                \
    T_MPI(MPI_##call(__VA_ARGS__));                                                                                    \
    expect_once(#call)
#define ONCE_I(call, ...)                                                                                              \
    T_MPI(MPI_##call(__VA_ARGS__, &request));                                                                          \
    T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));                                                                      \
    expect_once(#call)

/* All starts have one tag. */
#define ONCE_EACH(call, ...)                                                                                           \
    T_MPI(MPIX_##call##_init(__VA_ARGS__, MPI_INFO_NULL, &request));                                                   \
    seen.persistent = true;                                                                                            \
    for (int start = 0; start < 2; ++start) {                                                                          \
        T_MPI(MPI_Start(&request));                                                                                    \
        T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));                                                                  \
        expect_once(#call "_init");                                                                                    \
    }                                                                                                                  \
    seen.persistent = false;                                                                                           \
    T_MPI(MPI_Request_free(&request))

static void call_each(MPI_Comm comm)
{
    enum { COUNT = 100000, BLOCK = 5000 };
    const size_t blocks = (size_t) t.size * BLOCK * sizeof(int);
    int *in = t_alloc(COUNT * sizeof(int)), *out = t_alloc(COUNT * sizeof(int));
    int *some = t_alloc(blocks), *all = t_alloc(blocks);
    MPI_Request request;

    ONCE(Bcast, out, COUNT, MPI_INT, 0, comm);
    ONCE(Reduce, in, out, COUNT, MPI_INT, MPI_SUM, 0, comm);
    ONCE(Allreduce, in, out, COUNT, MPI_INT, MPI_SUM, comm);
    ONCE(Allreduce, in, out, 2, MPI_INT, MPI_SUM, comm);
    ONCE(Allgather, in, BLOCK, MPI_INT, all, BLOCK, MPI_INT, comm);
    ONCE(Alltoall, some, 4, MPI_INT, all, 4, MPI_INT, comm);
    ONCE(Scan, in, out, COUNT, MPI_INT, MPI_SUM, comm);
    ONCE(Barrier, comm);
    ONCE_I(Ibcast, out, COUNT, MPI_INT, 0, comm);
    ONCE_I(Iallreduce, in, out, COUNT, MPI_INT, MPI_SUM, comm);
    ONCE_I(Iallgather, in, BLOCK, MPI_INT, all, BLOCK, MPI_INT, comm);
    ONCE_I(Iscan, in, out, COUNT, MPI_INT, MPI_SUM, comm);
    ONCE_EACH(Bcast, out, 2, MPI_INT, 0, comm);
    ONCE_EACH(Reduce, in, out, COUNT, MPI_INT, MPI_SUM, 0, comm);
    ONCE_EACH(Allreduce, in, out, 2, MPI_INT, MPI_SUM, comm);
    ONCE_EACH(Allreduce, in, out, COUNT, MPI_INT, MPI_SUM, comm);
    t_free(in);
    t_free(out);
    t_free(some);
    t_free(all);
}

/* Then nothing but a tag tells which of a call's messages one is. Not every pml lets them. */
static void messages_overtake(void)
{
    const char *pml = getenv("OMPI_MCA_pml");
    MPI_Info info;

    T_MPI(MPI_Info_create(&info));
    T_MPI(MPI_Info_set(info, "mpi_assert_allow_overtaking", "true"));
    T_MPI(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &seen.comm));
    T_MPI(MPI_Info_free(&info));
    t_expect(coll_pml_may_reorder(seen.comm) || NULL == pml || 0 != strcmp("ob1", pml),
             "it is not known that ob1 may reorder messages");
    if (coll_pml_may_reorder(seen.comm)) {
        seen.pml = mca_pml;
        mca_pml.pml_isend_init = see_isend_init;
        mca_pml.pml_isend = see_isend;
        mca_pml.pml_send = see_send;
        call_each(seen.comm);
        /* HAN leaves such calls to others, and to its levels. */
        t_expect(!adapt || 0 > t_agree(-seen.all), "no message was seen");
        mca_pml.pml_isend_init = seen.pml.pml_isend_init;
        mca_pml.pml_isend = seen.pml.pml_isend;
        mca_pml.pml_send = seen.pml.pml_send;
    }
    T_MPI(MPI_Comm_free(&seen.comm));
}

/* ---- the user's messages ---- */

enum { WORDS = 3000, SIZES = 4 };
static const int sizes[SIZES] = { 1, 300, 2000, WORDS };

/* All that has messages of its own: of HAN its alarms, of ADAPT trees and schedules, each form. */
static void do_collectives(MPI_Comm comm)
{
    static int in[WORDS], out[WORDS], all[64 * 64];
    MPI_Request request;

    for (int i = 0; i < SIZES; ++i) {
        T_MPI(MPI_Bcast(out, sizes[i], MPI_INT, i % t.size, comm));
        T_MPI(MPI_Allreduce(in, out, sizes[i], MPI_INT, MPI_SUM, comm));
        T_MPI(MPI_Reduce(in, out, sizes[i], MPI_INT, MPI_SUM, i % t.size, comm));
        T_MPI(MPI_Ibcast(out, sizes[i], MPI_INT, i % t.size, comm, &request));
        T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        T_MPI(MPIX_Bcast_init(out, sizes[i], MPI_INT, i % t.size, comm, MPI_INFO_NULL, &request));
        T_MPI(MPI_Start(&request));
        T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        T_MPI(MPI_Request_free(&request));
    }
    T_MPI(MPI_Allgather(in, 4, MPI_INT, all, 4, MPI_INT, comm));
    T_MPI(MPI_Alltoall(all, 4, MPI_INT, all + 32 * 64, 4, MPI_INT, comm));
    T_MPI(MPI_Barrier(comm));
}

/* They wait in the queue of what nobody has asked for, while collectives look into it. */
static void messages_that_wait(void)
{
    MPI_Comm comm;
    const int next = (t.rank + 1) % t.size, before = (t.rank + t.size - 1) % t.size;
    int *most = NULL, flag = 0;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    T_MPI(MPI_Comm_get_attr(comm, MPI_TAG_UB, &most, &flag));
    if (t_expect(flag && NULL != most, "there is no MPI_TAG_UB")) {
        const int tags[] = { 0, 1, 2, 26, 1024, 65536, *most - 65536, *most - 1, *most };
        enum { TAGS = sizeof(tags) / sizeof(tags[0]) };
        int sent[TAGS], got;

        for (int i = 0; i < TAGS; ++i) {
            sent[i] = 1000 * t.rank + i;
            T_MPI(MPI_Send(&sent[i], 1, MPI_INT, next, tags[i], comm));
        }
        do_collectives(comm);
        for (int i = TAGS - 1; i >= 0; --i) {
            got = -1;
            T_MPI(MPI_Recv(&got, 1, MPI_INT, before, tags[i], comm, MPI_STATUS_IGNORE));
            t_expect(1000 * before + i == got, "tag %d: %d instead of %d", tags[i], got, 1000 * before + i);
        }
    }
    T_MPI(MPI_Comm_free(&comm));
}

/* A receive of anything gets a message of the user's, and nothing else: not before, and not another one. */
static void expect_only_own(MPI_Comm comm, void (*work)(MPI_Comm comm))
{
    const int next = (t.rank + 1) % t.size, before = (t.rank + t.size - 1) % t.size, tag = 9;
    const int sent = 7000 + t.rank;
    MPI_Status status = { 0 };
    MPI_Request request;
    int got = -1, over = 0;

    T_MPI(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request));
    work(comm);
    T_MPI(MPI_Test(&request, &over, &status));
    t_expect(!over, "a message of tag %d and %d bytes came that no user has sent", status.MPI_TAG,
             (int) status._ucount);
    T_MPI(MPI_Barrier(t.comm));
    T_MPI(MPI_Send(&sent, 1, MPI_INT, next, tag, comm));
    if (!over) {
        T_MPI(MPI_Wait(&request, &status));
        t_expect(7000 + before == got && before == status.MPI_SOURCE && tag == status.MPI_TAG,
                 "got %d with tag %d from %d", got, status.MPI_TAG, status.MPI_SOURCE);
    }
}

static void many_broadcasts(MPI_Comm comm)
{
    int word = 0;

    for (long i = 0; i < calls; ++i) {
        if (0 == i % 100000) {
            alarm(T_LIMIT);
        }
        T_MPI(MPI_Bcast(&word, 1, MPI_INT, 0, comm));
    }
}

static void receive_of_anything(void)
{
    MPI_Comm comm;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    expect_only_own(comm, 0 < calls ? many_broadcasts : do_collectives);
    T_MPI(MPI_Comm_free(&comm));
}

static void some_rounds(MPI_Comm comm)
{
    for (int i = 0; i < 20; ++i) {
        do_collectives(comm);
    }
}

/* Open MPI's own counter is a few calls before the last of the 24 bits that pml ucx carries, and ADAPT's are at theirs.
 */
static void counters_at_their_ends(void)
{
    mca_coll_adapt_event_module_t *adapt;
    MPI_Comm comm;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    adapt = adapt_of(comm);
    comm->c_nbc_tag = -(1 << 23) + 50;
    if (t_expect(NULL != adapt, "ADAPT has no module")) {
        adapt->tags.next[ADAPT_BLOCKING] = COLL_TAGS_BLOCKING_COUNT - 20;
        adapt->tags.next[ADAPT_NONBLOCKING] = COLL_TAGS_NONBLOCKING_COUNT - 20;
        adapt->tags.next[ADAPT_PERSISTENT] = COLL_TAGS_PERSISTENT_COUNT - 20;
        expect_only_own(comm, some_rounds);
    }
    T_MPI(MPI_Comm_free(&comm));
}

/* ---- calls on one communicator ---- */

enum { LONG = 200000, CHAIN = 12 };

static int word_of(int call, int i)
{
    return 31 * call + i;
}

static void expect_words(const char *what, int call, const int *words, int count)
{
    int i = 0;

    while (i < count && word_of(call, i) == words[i]) {
        ++i;
    }
    t_expect(i == count, "%s %d: word %d of %d is wrong", what, call, i, count);
}

static void fill(int call, int root, int *words, int count)
{
    for (int i = 0; i < count; ++i) {
        words[i] = t.rank == root ? word_of(call, i) : -1;
    }
}

/* Broadcasts of which each comes to the tag of the one before, which is long and under way on some ranks. */
static void nonblocking_come_round(void)
{
    static int words[CHAIN][LONG];
    mca_coll_adapt_event_module_t *adapt;
    MPI_Request requests[CHAIN];
    MPI_Comm comm;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    adapt = adapt_of(comm);
    if (t_expect(NULL != adapt, "ADAPT has no module")) {
        for (int call = 0; call < CHAIN; ++call) {
            const int count = 0 == call % 2 ? LONG : 5000;

            fill(call, 0, words[call], count);
            T_MPI(MPI_Ibcast(words[call], count, MPI_INT, 0, comm, &requests[call]));
            adapt->tags.next[ADAPT_NONBLOCKING] += COLL_TAGS_NONBLOCKING_COUNT - 1;
            be_uneven(&requests[call]);
        }
        T_MPI(MPI_Waitall(CHAIN, requests, MPI_STATUSES_IGNORE));
        for (int call = 0; call < CHAIN; ++call) {
            expect_words("broadcast", call, words[call], 0 == call % 2 ? LONG : 5000);
        }
    }
    T_MPI(MPI_Comm_free(&comm));
}

/* Requests that live on while all tags are given out: one begins with each new one, in another order on each rank. */
static void persistent_come_round(void)
{
    static int words[2][LONG];
    mca_coll_adapt_event_module_t *adapt;
    MPI_Request old, new;
    MPI_Comm comm;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    adapt = adapt_of(comm);
    if (t_expect(NULL != adapt, "ADAPT has no module")) {
        T_MPI(MPIX_Bcast_init(words[0], LONG, MPI_INT, 0, comm, MPI_INFO_NULL, &old));
        for (int call = 0; call < 8; ++call) {
            const int root = (call + 2) % t.size;

            /* Before the end: the tags that are given out next are those of the old one, if nothing stops it. */
            adapt->tags.next[ADAPT_PERSISTENT] = COLL_TAGS_PERSISTENT_COUNT;
            T_MPI(MPIX_Bcast_init(words[1], LONG, MPI_INT, root, comm, MPI_INFO_NULL, &new));
            fill(call, 0, words[0], LONG);
            fill(call + 1, root, words[1], LONG);
            T_MPI(MPI_Start(0 == t.rank % 2 ? &old : &new));
            be_uneven(0 == t.rank % 2 ? &old : &new);
            T_MPI(MPI_Start(0 == t.rank % 2 ? &new : &old));
            T_MPI(MPI_Wait(&new, MPI_STATUS_IGNORE));
            T_MPI(MPI_Wait(&old, MPI_STATUS_IGNORE));
            expect_words("old one", call, words[0], LONG);
            expect_words("new one", call + 1, words[1], LONG);
            T_MPI(MPI_Request_free(&new));
        }
        T_MPI(MPI_Request_free(&old));
    }
    T_MPI(MPI_Comm_free(&comm));
}

/* As many persistent requests as there are tags, and one more: all ranks hear the same; when one is freed, one fits. */
static void persistent_run_out(void)
{
    static MPI_Request requests[COLL_TAGS_PERSISTENT_COUNT + 1];
    int word = 0, made = 0, rc = MPI_SUCCESS;
    MPI_Comm comm;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    T_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    while (made <= COLL_TAGS_PERSISTENT_COUNT && MPI_SUCCESS == rc) {
        rc = MPIX_Bcast_init(&word, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[made]);
        made += MPI_SUCCESS == rc ? 1 : 0;
    }
    t_expect(t_agree(made) == -t_agree(-made), "%d were made, on other ranks others", made);
    t_expect(COLL_TAGS_PERSISTENT_COUNT == made, "%d were made of %d", made, COLL_TAGS_PERSISTENT_COUNT);
    T_MPI(MPI_Request_free(&requests[made / 2]));
    T_MPI(MPIX_Bcast_init(&word, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[made / 2]));
    word = 0 == t.rank ? 55 : -1;
    T_MPI(MPI_Start(&requests[made / 2]));
    T_MPI(MPI_Wait(&requests[made / 2], MPI_STATUS_IGNORE));
    t_expect(55 == word, "the one that fits is wrong: %d", word);
    for (int i = 0; i < made; ++i) {
        T_MPI(MPI_Request_free(&requests[i]));
    }
    T_MPI(MPI_Comm_free(&comm));
}

/* The root is not through with it before the others come: that it starts it twice is an error, and nothing else. */
static void start_twice(int (*make)(const int *in, int *out, MPI_Request *request), const int *in, int *out,
                        const char *what)
{
    MPI_Request request;
    int word = 0;

    T_MPI(make(in, out, &request));
    if (0 != t.rank) {
        T_MPI(MPI_Recv(&word, 1, MPI_INT, 0, T_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        T_MPI(MPI_Start(&request));
    } else {
        T_MPI(MPI_Start(&request));
        t_expect(MPI_ERR_REQUEST == MPI_Start(&request), "%s: a request that is under way is started", what);
        for (int rank = 1; rank < t.size; ++rank) {
            T_MPI(MPI_Send(&word, 1, MPI_INT, rank, T_TAG, MPI_COMM_WORLD));
        }
    }
    T_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    T_MPI(MPI_Request_free(&request));
}

static int make_reduce(const int *in, int *out, MPI_Request *request)
{
    return MPIX_Reduce_init(in, out, LONG, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request);
}

static int make_gather(const int *in, int *out, MPI_Request *request)
{
    return MPIX_Gather_init(in, LONG, MPI_INT, out, LONG, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request);
}

static void started_twice(void)
{
    int *in = t_alloc(LONG * sizeof(int)), *out = t_alloc((size_t) t.size * LONG * sizeof(int));
    bool right = true;

    for (int i = 0; i < LONG; ++i) {
        in[i] = 100 * t.rank + i;
    }
    if (!adapt) {
        t_write_parameter("coll_han_reduce_algorithm", "tree");
        t_write_parameter("coll_han_gather_algorithm", "exchange");
    }
    start_twice(make_reduce, in, out, "reduce");
    for (int i = 0; i < LONG && 0 == t.rank; ++i) {
        right = right && 100 * (t.size * (t.size - 1) / 2) + t.size * i == out[i];
    }
    t_expect(right, "a reduce is wrong");
    if (!adapt) {
        start_twice(make_gather, in, out, "gather");
        for (int i = 0; i < t.size * LONG && 0 == t.rank; ++i) {
            right = right && 100 * (i / LONG) + i % LONG == out[i];
        }
        t_expect(right, "a gather is wrong");
        t_write_parameter("coll_han_reduce_algorithm", "auto");
        t_write_parameter("coll_han_gather_algorithm", "auto");
    }
    t_free(in);
    t_free(out);
}

int main(int argc, char **argv)
{
    static const struct t_option options[] = { { "--calls", true, &calls }, { "--adapt", false, &adapt } };
    int provided;

    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));

    const struct t_behaviour behaviours[] = {
        { "collectives leave the user's messages alone", messages_that_wait, 0 },
        { "where messages may overtake each other, none of a call has another one's tag", messages_overtake, 0 },
        { "a receive of anything gets no message of a collective", receive_of_anything, 0 },
        { "nor when the counters of tags come to their ends", counters_at_their_ends, 0 },
        { "nonblocking calls come round to tags that are in use", nonblocking_come_round, 0 },
        { "persistent requests come round to tags that are in use", persistent_come_round, 0 },
        { "persistent requests that have no tags are refused on all ranks", persistent_run_out, 0 },
        { "a request that is under way is not started once more", started_twice, 0 },
    };

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    t_begin();
    t_run(behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
    return t_finish("MPI_Finalize returns");
}
