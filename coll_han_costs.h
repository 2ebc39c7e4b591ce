/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the parts cost of which the forms of the cost model are made (docs/model.md): of HAN's algorithms in
 * coll_han_model.c, of those that are there without HAN in coll_han_usual.c.
 */
#ifndef MCA_COLL_HAN_COSTS_H
#define MCA_COLL_HAN_COSTS_H

#include "coll_han_model.h"

#include "coll_adapt/coll_adapt_memory.h"

/* Numbers that grow with ranks times bytes: more than fits is as much as fits. */
static inline uint64_t sum(uint64_t a, uint64_t b)
{
    uint64_t result;

    return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

static inline uint64_t times(uint64_t count, uint64_t cost)
{
    uint64_t result;

    return __builtin_mul_overflow(count, cost, &result) ? UINT64_MAX : result;
}

static inline uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Bytes at so many picoseconds per KiB. */
static inline uint64_t of_bytes(uint64_t bytes, uint64_t cost)
{
    uint64_t result;

    return __builtin_mul_overflow(bytes, cost, &result) ? times(bytes >> 10, cost) : result >> 10;
}

static inline uint64_t divide(uint64_t a, uint64_t b)
{
    return a / b + (0 != a % b);
}

/* What a part of a call, or all of it, costs. */
struct cost {
    uint64_t path; /* ps along its critical path, and ... */
    uint64_t hops; /* ... the messages along it, one after another */
    uint64_t work; /* ps of the processors of all ranks together */
    uint64_t rank; /* ps of the busiest rank's processor */
    uint64_t link; /* ps of the busiest link, one way */
};

struct call {
    const mca_coll_han_machine_t *machine;
    const mca_coll_han_input_t *input;
    const mca_coll_han_params_t *params;
    uint64_t nodes, ppn, ranks, bytes;
    uint64_t sharing; /* ranks of a core */
    mca_coll_adapt_tree_kind_t tree;
    uint64_t segment; /* between the nodes; 0: whole */
    bool copies;      /* short messages inside nodes go from copies */
};

/* ---- messages ---- */

/* Of a message that goes from a copy (coll_adapt_copies.c): nobody waits until it has been read. */
static inline uint64_t spared(const struct call *call, mca_coll_han_level_id_t at, uint64_t bytes)
{
    const mca_coll_han_machine_level_t *level = &call->machine->levels[at];

    return call->copies && HAN_LOW == at && level->at_once < bytes && bytes <= level->eager ? level->request : 0;
}

static inline uint64_t work_of(const struct call *call, mca_coll_han_level_id_t at, uint64_t bytes, uint64_t then)
{
    return mca_coll_han_message_work(call->machine, at, bytes, then) - spared(call, at, bytes);
}

static inline uint64_t flight_of(const struct call *call, mca_coll_han_level_id_t at, uint64_t bytes, uint64_t then)
{
    return mca_coll_han_message_flight(call->machine, at, bytes, then) - spared(call, at, bytes);
}

static inline struct cost both(struct cost first, struct cost second)
{
    return (struct cost){
        .path = sum(first.path, second.path),
        .hops = sum(first.hops, second.hops),
        .work = sum(first.work, second.work),
        .rank = sum(first.rank, second.rank),
        .link = sum(first.link, second.link),
    };
}

/*
 * Messages of one length at one level.
 *
 * count: of all ranks; busiest: those of the busiest rank, sent and received; in_turn: those along the path, one behind
 * another; link: those that cross the busiest link one way
 *
 * The path ends with the last message of the busiest rank, and of the busiest link. A link carries both ways at once;
 * but messages above the eager limit are asked for, and what asks lies behind what goes the other way.
 */
static inline struct cost messages(const struct call *call, mca_coll_han_level_id_t at, uint64_t bytes, uint64_t then,
                                   uint64_t count, uint64_t busiest, uint64_t in_turn, uint64_t link)
{
    const mca_coll_han_machine_level_t *level = &call->machine->levels[at];
    const uint64_t work = work_of(call, at, bytes, then), wire = of_bytes(bytes, level->rate);
    const uint64_t waiting = busiest > in_turn ? busiest - in_turn : 0;
    const uint64_t behind = level->eager < bytes ? waiting : link > in_turn ? link - in_turn : 0;

    if (0 == count) {
        return (struct cost){ 0 };
    }
    return (struct cost){
        .path
        = sum(times(in_turn, flight_of(call, at, bytes, then)), max(times(waiting, work / 2), times(behind, wire))),
        .hops = in_turn,
        .work = times(count, work),
        .rank = times(busiest, work / 2),
        .link = times(link, wire),
    };
}

/* Messages of so many bytes between all nodes: what asks for a long one lies behind others that go the other way. */
static inline struct cost both_ways(const struct call *call, uint64_t bytes, struct cost cost)
{
    if (call->machine->levels[HAN_UP].eager < bytes) {
        cost.link = sum(cost.link, cost.link / 3);
    }
    return cost;
}

/* The mean of a cost that one of so many has, and each other one half of. */
static inline uint64_t half_but_one(uint64_t cost, uint64_t count)
{
    return cost / 2 + cost / 2 / count;
}

/*
 * Who shares a core with others finds what several have sent when its turn comes: of so many messages at once each but
 * the first is half the work, beside its bytes. The overheads:
 */
static inline void find_together(mca_coll_han_machine_level_t *level, uint64_t at_once)
{
    level->send = half_but_one(level->send, at_once);
    level->recv = half_but_one(level->recv, at_once);
}

/* And to ask, of messages between nodes. */
static inline mca_coll_han_machine_t found_together(const struct call *call, uint64_t at_once)
{
    mca_coll_han_machine_t machine = *call->machine;
    mca_coll_han_machine_level_t *up = &machine.levels[HAN_UP];

    if (1 < call->sharing && 0 < at_once) {
        find_together(up, at_once);
        up->rendezvous = half_but_one(up->rendezvous, at_once);
    }
    return machine;
}

/* To other nodes in so many pieces. */
static inline struct cost among_all(const struct call *call, uint64_t pieces)
{
    const uint64_t others = call->ppn - 1, ranks = call->ranks, away = times(ranks - call->ppn, pieces);
    const mca_coll_han_machine_t machine = found_together(call, away);
    struct call together = *call;

    together.machine = &machine;
    return both(messages(&together, HAN_UP, divide(call->bytes, pieces), 0, times(ranks, away), times(2, away), 1,
                         times(call->ppn, away)),
                messages(&together, HAN_LOW, call->bytes, 0, times(ranks, others), 2 * others, 0 < others, 0));
}

/* From the root to each rank, or the other way round. */
static inline struct cost with_root(const struct call *call, uint64_t then)
{
    const uint64_t others = call->ppn - 1, away = call->ranks - call->ppn;

    struct cost cost = both(messages(call, HAN_UP, call->bytes, then, away, away, 1, away),
                            messages(call, HAN_LOW, call->bytes, then, others, others, 0 < others, 0));

    cost.hops = 0 < away + others; /* when the root has its turn, it finds those of both levels */
    return cost;
}

/* From rank to rank. */
static inline struct cost with_all(const struct call *call)
{
    return mca_coll_han_is_alltoall(call->input->collective) ? among_all(call, 1) : with_root(call, 0);
}

/*
 * Memory for a call, of each of some ranks: above what ADAPT keeps between calls its pages are new, and cost about
 * PAGES copies. What Open MPI's own components have from malloc() goes back to the system from about as many bytes on.
 */
static inline struct cost with_memory(const struct call *call, struct cost cost, uint64_t bytes, uint64_t ranks)
{
    enum { PAGES = 4 };
    const uint64_t pages = ADAPT_MEMORY_KEPT < bytes ? of_bytes(bytes, PAGES * call->machine->copy) : 0;

    cost.path = sum(cost.path, pages);
    cost.work = sum(cost.work, times(ranks, pages));
    cost.rank = sum(cost.rank, pages);
    return cost;
}

/* ---- trees ---- */

/* Of a rank that is reached late. */
struct end {
    uint64_t hops;
    uint64_t turns; /* messages that senders have for others first, on all its way, ... */
    uint64_t all;   /* ... and those that they have for any others */
};

struct shape {
    uint64_t root, inner;       /* children of the root, and the most of another one, if it has so many */
    struct end deepest, latest; /* most hops; most hops and turns together */
};

/** Of a tree of so many ranks, of radix HAN_RADIX where its kind has one, rooted at its first rank. */
struct shape mca_coll_han_shape_of(mca_coll_adapt_tree_kind_t kind, uint64_t size);

/* ---- without HAN ---- */

/**
 * A message from each rank to the next one.
 *
 * @param bytes   of the message
 * @param at_once messages between two ranks that are under way at once
 * @param copies  whether each rank copies its operand
 */
struct cost mca_coll_han_cost_of_chain(const struct call *call, uint64_t bytes, uint64_t at_once, bool copies);

/**
 * What a call takes of the component that was there before, by what is known of Open MPI's: coll/tuned for blocking
 * calls, coll/libnbc for the others.
 */
struct cost mca_coll_han_cost_without(const struct call *call);

#endif
