/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Scatter, MPI_Scatterv. Long blocks: straight from the root. Short ones: through the leaders; those that differ as
 * coll_han_ragged.c has it.
 */
#include "coll_han.h"

/* The blocks of a rank's part of the tree come packed, in one message; to who is alone there its own as it is. */
static void fill_other(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_han_span_t span = mca_coll_han_spans_own(&leaders->spans);
    const int parent = mca_coll_han_spans_parent(&leaders->spans),
              children = mca_coll_han_spans_children(&leaders->spans);
    mca_coll_han_parts_t parts;

    if (1 == span.size) {
        mca_coll_adapt_schedule_recv(schedule, own, parent);
        return;
    }
    parts = mca_coll_han_leaders_packed(leaders, span.size, mca_coll_adapt_data_bytes(&own));
    mca_coll_adapt_schedule_recv(schedule, mca_coll_han_leaders_packs(&parts, 0, span.size), parent);
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    for (int i = 0; i < children; ++i) {
        const mca_coll_han_span_t child = mca_coll_han_spans_child(&leaders->spans, i);

        mca_coll_adapt_schedule_send(schedule, mca_coll_han_leaders_packs(&parts, child.first - span.first, child.size),
                                     child.rank);
    }
    mca_coll_adapt_schedule_copy(schedule, mca_coll_han_leaders_packs(&parts, 0, 1), own);
}

/* The blocks of a child's part of the tree that do not lie side by side; whether there were any. */
static bool pack_for(mca_coll_han_leaders_t *leaders, mca_coll_han_span_t child, const mca_coll_han_parts_t *parts)
{
    if (-1 != child.block) {
        return false;
    }
    for (int place = child.first; place < child.first + child.size; ++place) {
        mca_coll_adapt_schedule_copy(
            &leaders->schedule,
            mca_coll_han_side_blocks(&leaders->args->send, mca_coll_han_spans_rank(&leaders->spans, place), 1),
            mca_coll_han_leaders_packs(parts, place, 1));
    }
    return true;
}

/* The root: to each child the blocks of its part of the tree. */
static void fill_root(mca_coll_han_leaders_t *leaders)
{
    const mca_coll_han_args_t *args = leaders->args;
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_han_parts_t parts = mca_coll_han_leaders_packed(
        leaders, leaders->topology->size, (size_t) args->send.count * args->send.type->super.size);
    const int children = mca_coll_han_spans_children(&leaders->spans);
    bool packed = false;

    for (int i = 0; i < children; ++i) {
        packed = pack_for(leaders, mca_coll_han_spans_child(&leaders->spans, i), &parts) || packed;
    }
    if (packed) {
        mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    }
    for (int i = 0; i < children; ++i) {
        const mca_coll_han_span_t child = mca_coll_han_spans_child(&leaders->spans, i);

        mca_coll_adapt_schedule_send(schedule,
                                     -1 != child.block ? mca_coll_han_side_blocks(&args->send, child.block, child.size)
                                                       : mca_coll_han_leaders_packs(&parts, child.first, child.size),
                                     child.rank);
    }
    mca_coll_han_exchange_own(schedule, args, leaders->rank);
}

int mca_coll_han_perform_scatter(han_module_t *han, const mca_coll_han_args_t *args,
                                 const mca_coll_han_params_t *params, ompi_request_t **request)
{
    if (HAN_LEADERS != params->algorithm) {
        return mca_coll_han_exchange(han, args, params->ibs, request);
    }
    return HAN_SCATTERV == args->collective
               ? mca_coll_han_ragged(han, args, request)
               : mca_coll_han_leaders_rooted(han, args, params, fill_root, fill_other, request);
}
