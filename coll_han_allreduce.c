/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce: up and down the topology-aware tree, or as a ring of such trees; short messages through the leaders,
 * which tell each other what their nodes have.
 */
#include "coll_han.h"

/*
 * Each leader combines what the ranks of its node have, and sends it to all others; all combine the same operands in
 * the same order.
 */
int mca_coll_han_allreduce_leaders(mca_coll_han_module_t *han, const mca_coll_han_args_t *args,
                                   ompi_request_t **request)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(han, args);
    mca_coll_adapt_schedule_t *schedule = &leaders.schedule;
    const mca_coll_adapt_data_t result = mca_coll_han_side_whole(&args->recv),
                                own = mca_coll_han_leaders_operand(&leaders, result.count);
    mca_coll_adapt_data_t *to, combined;

    if (leaders.rank != leaders.leader) {
        mca_coll_adapt_schedule_send(schedule, own, leaders.leader);
        mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
        mca_coll_adapt_schedule_recv(schedule, result, leaders.leader);
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

int mca_coll_han_perform_allreduce(mca_coll_han_module_t *han, const mca_coll_han_args_t *args,
                                   ompi_request_t **request)
{
    const mca_coll_han_side_t *side = &args->recv;
    const mca_coll_adapt_call_t call = mca_coll_adapt_reduce_call(ADAPT_ALLREDUCE, args->send.buffer, side->buffer,
                                                                  side->count, side->type, args->op, 0, han->comm);
    mca_coll_han_params_t params;
    const int rc = mca_coll_han_call_decide(han, args, &params);

    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return HAN_LEADERS == params.algorithm ? mca_coll_han_allreduce_leaders(han, args, request)
                                           : mca_coll_han_call_tree(han, args->form, &call, &params, request);
}
