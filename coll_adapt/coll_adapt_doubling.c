/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by recursive doubling: in each round a rank exchanges what it has with a partner at twice the distance, and
 * both combine; after log2(n) rounds all have all. It moves the whole message in each round, and so is for short ones.
 *
 * Of n ranks that are no power of two the first pairs (0 1) (2 3) ... become one participant each: the even rank hands
 * its part to the odd one, which takes part and in the end hands back the result. Partners hold neighbouring intervals
 * of ranks, so that rank order is kept; both combine the same two operands, so that all results are equal.
 */
#include "coll_adapt.h"

/* What of the message a rank has, and what it gets from others. */
struct parts {
    mca_coll_adapt_data_t result, in;
};

static void exchange(mca_coll_adapt_schedule_t *schedule, const struct parts *parts, int peer, bool peer_is_lower)
{
    mca_coll_adapt_schedule_send(schedule, parts->result, peer);
    mca_coll_adapt_schedule_recv(schedule, parts->in, peer);
    if (peer_is_lower) {
        mca_coll_adapt_schedule_combine(schedule, parts->in, parts->result);
    } else {
        mca_coll_adapt_schedule_combine(schedule, parts->result, parts->in);
        mca_coll_adapt_schedule_copy(schedule, parts->in, parts->result);
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
}

/* The rounds of one rank. Of the participants, place is its number; the first `pairs` of them stand for two ranks. */
static void fill(mca_coll_adapt_schedule_t *schedule, const struct parts *parts, int size, int rank)
{
    int participants = 1, pairs, place;

    while (participants <= size / 2) {
        participants *= 2;
    }
    pairs = size - participants;
    if (rank < 2 * pairs && 0 == rank % 2) {
        mca_coll_adapt_schedule_send(schedule, parts->result, rank + 1);
        mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
        mca_coll_adapt_schedule_recv(schedule, parts->result, rank + 1);
        return;
    }
    if (rank < 2 * pairs) {
        mca_coll_adapt_schedule_recv(schedule, parts->in, rank - 1);
        mca_coll_adapt_schedule_combine(schedule, parts->in, parts->result);
        mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    }
    place = rank < 2 * pairs ? rank / 2 : rank - pairs;
    for (int distance = 1; distance < participants; distance *= 2) {
        const int other = place ^ distance;

        exchange(schedule, parts, other < pairs ? 2 * other + 1 : other + pairs, other < place);
    }
    if (rank < 2 * pairs) {
        mca_coll_adapt_schedule_send(schedule, parts->result, rank - 1);
    }
}

int mca_coll_adapt_doubling(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call,
                            mca_coll_adapt_form_t form, ompi_request_t **request)
{
    mca_coll_adapt_schedule_t schedule = mca_coll_adapt_schedule_begin(&mca_coll_adapt_memory, call->comm, call->op);
    const mca_coll_adapt_data_t own
        = { .buffer = (void *) call->sbuf, .count = call->count, .datatype = call->datatype };
    struct parts parts = { .result = own, .in = own };
    const coll_room_t room = COLL_ROOM_OF(call->datatype, call->count);

    parts.result.buffer = call->rbuf;
    parts.in.buffer = mca_coll_adapt_schedule_memory(&schedule, room.bytes) - room.first;
    if (MPI_IN_PLACE != call->sbuf) {
        mca_coll_adapt_schedule_copy(&schedule, own, parts.result);
        mca_coll_adapt_schedule_end(&schedule, ADAPT_ROUND);
    }
    fill(&schedule, &parts, ompi_comm_size(call->comm), ompi_comm_rank(call->comm));
    mca_coll_adapt_schedule_end(&schedule, ADAPT_PART);
    return mca_coll_adapt_perform(module, &schedule, form, request);
}
