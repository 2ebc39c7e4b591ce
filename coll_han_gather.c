/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Gather, MPI_Gatherv. Long blocks: straight to the root. Short ones: through the leaders; those that differ as
 * coll_han_ragged.c has it.
 */
#include "coll_han.h"

/* The blocks of a rank's part of the tree, packed, in one message; who is alone there sends its own as it is. */
static void fill_other(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_han_span_t span = mca_coll_han_spans_own(&leaders->spans);
    const int parent = mca_coll_han_spans_parent(&leaders->spans),
              children = mca_coll_han_spans_children(&leaders->spans);
    mca_coll_han_parts_t parts;

    if (1 == span.size) {
        mca_coll_adapt_schedule_send(schedule, own, parent);
        return;
    }
    parts = mca_coll_han_leaders_packed(leaders, span.size, mca_coll_adapt_data_bytes(&own));
    for (int i = 0; i < children; ++i) {
        const mca_coll_han_span_t child = mca_coll_han_spans_child(&leaders->spans, i);

        mca_coll_adapt_schedule_recv(schedule, mca_coll_han_leaders_packs(&parts, child.first - span.first, child.size),
                                     child.rank);
    }
    mca_coll_adapt_schedule_copy(schedule, own, mca_coll_han_leaders_packs(&parts, 0, 1));
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    mca_coll_adapt_schedule_send(schedule, mca_coll_han_leaders_packs(&parts, 0, span.size), parent);
}

/*
 * The root: from each child the blocks of its part of the tree, which go where they belong at once where they lie side
 * by side.
 */
static void fill_root(mca_coll_han_leaders_t *leaders)
{
    const mca_coll_han_args_t *args = leaders->args;
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_han_parts_t parts = mca_coll_han_leaders_packed(
        leaders, leaders->topology->size, (size_t) args->recv.count * args->recv.type->super.size);
    const int children = mca_coll_han_spans_children(&leaders->spans);

    for (int i = 0; i < children; ++i) {
        const mca_coll_han_span_t child = mca_coll_han_spans_child(&leaders->spans, i);

        if (-1 != child.block) {
            mca_coll_adapt_schedule_recv(schedule, mca_coll_han_side_blocks(&args->recv, child.block, child.size),
                                         child.rank);
            continue;
        }
        mca_coll_adapt_schedule_recv(schedule, mca_coll_han_leaders_packs(&parts, child.first, child.size), child.rank);
        for (int place = child.first; place < child.first + child.size; ++place) {
            mca_coll_adapt_schedule_copy(
                schedule, mca_coll_han_leaders_packs(&parts, place, 1),
                mca_coll_han_side_blocks(&args->recv, mca_coll_han_spans_rank(&leaders->spans, place), 1));
        }
    }
    mca_coll_han_exchange_own(schedule, args, leaders->rank);
}

int mca_coll_han_perform_gather(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params,
                                ompi_request_t **request)
{
    if (HAN_LEADERS != params->algorithm) {
        return mca_coll_han_exchange(han, args, params->ibs, request);
    }
    return HAN_GATHERV == args->collective
               ? mca_coll_han_ragged(han, args, request)
               : mca_coll_han_leaders_rooted(han, args, params, fill_root, fill_other, request);
}
