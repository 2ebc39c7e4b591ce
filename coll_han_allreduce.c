/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce (HAN paper, section III-B): each segment is combined in every node at its leader (sr), among leaders at
 * the first of them (ir), and goes back to the leaders (ib) and from them to their nodes (sb). Or the leaders do the
 * two stages in the middle as one allreduce (ia), which may move less over each link. Over the topology-aware tree in
 * all forms, or as a ring of such trees; short ones through the leaders, which tell each other what their nodes have.
 */
#include "coll_han.h"

static const mca_coll_han_stage_t stages[] = {
    { "sr", false, HAN_LOW, HAN_OPERATION_REDUCE },
    { "ir", true, HAN_UP, HAN_OPERATION_REDUCE },
    { "ib", true, HAN_UP, HAN_OPERATION_BCAST },
    { "sb", false, HAN_LOW, HAN_OPERATION_BCAST },
};
static const mca_coll_han_stage_t up_stages[] = {
    { "sr", false, HAN_LOW, HAN_OPERATION_REDUCE },
    { "ia", true, HAN_UP, HAN_OPERATION_ALLREDUCE },
    { "sb", false, HAN_LOW, HAN_OPERATION_BCAST },
};

const mca_coll_han_stages_t mca_coll_han_allreduce_stages = { stages, NULL, 4 };
const mca_coll_han_stages_t mca_coll_han_up_allreduce_stages = { up_stages, NULL, 3 };

/*
 * Each leader combines what the ranks of its node have, and sends it to all others; all combine the same operands in
 * the same order.
 */
int mca_coll_han_allreduce_leaders(han_module_t *han, const mca_coll_han_args_t *args, ompi_request_t **request)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(han, args);
    mca_coll_adapt_schedule_t *schedule = &leaders.schedule;
    const mca_coll_adapt_data_t result = mca_coll_han_side_whole(&args->recv),
                                own = mca_coll_han_leaders_operand(&leaders, result.count);
    mca_coll_adapt_data_t *to, combined;

    if (leaders.rank != leaders.leader) {
        mca_coll_han_leaders_ask(&leaders, leaders.leader, own, result);
        return mca_coll_han_leaders_perform(&leaders, han, request);
    }
    combined = mca_coll_han_leaders_reduce(&leaders, own);
    to = mca_coll_han_leaders_list(&leaders);
    for (int group = 0; NULL != to && group < leaders.topology->group_count; ++group) {
        to[group] = combined;
    }
    if (NULL != to) {
        combined = mca_coll_han_leaders_combine(&leaders, to);
    }
    for (int i = 1; i < leaders.size; ++i) {
        mca_coll_adapt_schedule_send(schedule, combined, leaders.members[i]);
    }
    mca_coll_adapt_schedule_copy(schedule, combined, result);
    return mca_coll_han_leaders_perform(&leaders, han, request);
}

int mca_coll_han_perform_allreduce(han_module_t *han, const mca_coll_han_args_t *args,
                                   const mca_coll_han_params_t *params, ompi_request_t **request)
{
    const mca_coll_han_side_t *side = &args->recv;
    const mca_coll_adapt_call_t call = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, args->send.buffer, side->buffer,
                                                                  side->count, side->type, args->op, 0, han->comm);

    switch (params->algorithm) {
    case HAN_LEADERS:
        return mca_coll_han_allreduce_leaders(han, args, request);
    case HAN_TREE:
    case HAN_RING:
    case HAN_GROUPS:
        return mca_coll_han_call_tree(han, args, &call, params, request);
    default:
        return mca_coll_han_levels(han, HAN_ALLREDUCE, &call, params);
    }
}
