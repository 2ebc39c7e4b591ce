/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mpi-ext.h>
#include <string.h>

const char *const form_names[FORMS] = { "blocking", "nonblocking", "persistent" };

const char *const side_names[SIDES] = { "input", "output" };

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define INIT(name, ...) MPIX_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &c->request)

bool form_there(enum form form)
{
    return FORMS > form;
}
#else
#define INIT(name, ...) MPI_ERR_UNSUPPORTED_OPERATION

bool form_there(enum form form)
{
    return PERSISTENT != form;
}
#endif

/* Calls MPI_Name, MPI_Iname or MPIX_Name_init. */
#define START(name, lower_name, ...)                                                                                   \
    (BLOCKING == c->form      ? MPI_##name(__VA_ARGS__)                                                                \
     : NONBLOCKING == c->form ? MPI_I##lower_name(__VA_ARGS__, &c->request)                                            \
                              : INIT(name, __VA_ARGS__))

static int barrier(struct call *c, const struct argument *in, const struct argument *out)
{
    (void) in;
    (void) out;
    return START(Barrier, barrier, c->comm);
}

static int bcast(struct call *c, const struct argument *in, const struct argument *out)
{
    const struct argument *mine = c->rank == c->root ? in : out;

    return START(Bcast, bcast, mine->buffer, mine->count, mine->type, c->root, c->comm);
}

static int allgather(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Allgather, allgather, in->buffer, in->count, in->type, out->buffer, out->count, out->type, c->comm);
}

static int allgatherv(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Allgatherv, allgatherv, in->buffer, in->count, in->type, out->buffer, out->counts, out->places,
                 out->type, c->comm);
}

static int gather(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Gather, gather, in->buffer, in->count, in->type, out->buffer, out->count, out->type, c->root, c->comm);
}

static int gatherv(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Gatherv, gatherv, in->buffer, in->count, in->type, out->buffer, out->counts, out->places, out->type,
                 c->root, c->comm);
}

static int scatter(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Scatter, scatter, in->buffer, in->count, in->type, out->buffer, out->count, out->type, c->root,
                 c->comm);
}

static int scatterv(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Scatterv, scatterv, in->buffer, in->counts, in->places, in->type, out->buffer, out->count, out->type,
                 c->root, c->comm);
}

static int alltoall(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Alltoall, alltoall, in->buffer, in->count, in->type, out->buffer, out->count, out->type, c->comm);
}

static int alltoallv(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Alltoallv, alltoallv, in->buffer, in->counts, in->places, in->type, out->buffer, out->counts,
                 out->places, out->type, c->comm);
}

/* Reductions have one count and one type, which is there on both sides whatever is significant. */

static int reduce(struct call *c, const struct argument *in, const struct argument *out)
{
    const struct side *side = &c->sides[OUTPUT];

    return START(Reduce, reduce, in->buffer, out->buffer, side->counts[0], side->type, c->op, c->root, c->comm);
}

static int allreduce(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Allreduce, allreduce, in->buffer, out->buffer, out->count, out->type, c->op, c->comm);
}

static int reduce_scatter_block(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Reduce_scatter_block, reduce_scatter_block, in->buffer, out->buffer, out->count, out->type, c->op,
                 c->comm);
}

static int reduce_scatter(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Reduce_scatter, reduce_scatter, in->buffer, out->buffer, c->sides[INPUT].counts, out->type, c->op,
                 c->comm);
}

static int scan(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Scan, scan, in->buffer, out->buffer, out->count, out->type, c->op, c->comm);
}

static int exscan(struct call *c, const struct argument *in, const struct argument *out)
{
    return START(Exscan, exscan, in->buffer, out->buffer, out->count, out->type, c->op, c->comm);
}

const struct collective collectives[COLLECTIVES] = {
    { "barrier", { false, false }, BOTH, false, EVEN, ONE, barrier },
    { "bcast", { false, false }, BOTH, false, EVEN, ONE, bcast },
    { "reduce", { false, false }, OUTPUT, true, EVEN, ALL, reduce },
    { "allreduce", { false, false }, NEITHER, true, EVEN, ALL, allreduce },
    { "allgather", { false, true }, NEITHER, true, EVEN, ONE, allgather },
    { "allgatherv", { false, true }, NEITHER, true, SCATTERED, ONE, allgatherv },
    { "gather", { false, true }, OUTPUT, true, EVEN, ONE, gather },
    { "gatherv", { false, true }, OUTPUT, true, SCATTERED, ONE, gatherv },
    { "scatter", { true, false }, INPUT, true, EVEN, ONE, scatter },
    { "scatterv", { true, false }, INPUT, true, SCATTERED, ONE, scatterv },
    { "alltoall", { true, true }, NEITHER, true, EVEN, ONE, alltoall },
    { "alltoallv", { true, true }, NEITHER, true, SCATTERED, ONE, alltoallv },
    { "reduce_scatter_block", { true, false }, NEITHER, true, EVEN, ALL, reduce_scatter_block },
    { "reduce_scatter", { true, false }, NEITHER, true, UNEVEN, ALL, reduce_scatter },
    { "scan", { false, false }, NEITHER, true, EVEN, UP_TO, scan },
    { "exscan", { false, false }, NEITHER, true, EVEN, BEFORE, exscan },
};

bool collective_is_adapts(const struct collective *collective)
{
    static const char *const names[] = { "barrier", "bcast", "reduce", "allreduce" };
    size_t i = 0;

    while (i < CHECK_COUNT(names) && 0 != strcmp(names[i], collective->name)) {
        ++i;
    }
    return i < CHECK_COUNT(names);
}

bool collective_suits(const struct collective *collective, const struct variant *variant)
{
    return (ONE != collective->reach) == (NULL != variant->fold);
}
