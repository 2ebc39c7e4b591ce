/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call costs is the sum of what its parts cost, and the parts of all algorithms are the same few: messages from
 * each of some ranks to one, a tree of leaders with the ranks of their nodes below, a collective by shared memory,
 * leaders that each tell all. docs/model.md derives them.
 */
#include "coll_han_costs.h"

/* Bytes of a segment of a message; whole where segments are 0. */
static uint64_t piece_of(uint64_t bytes, uint64_t segment)
{
    return 0 == segment || segment > bytes ? bytes : segment;
}

/* Segments of a message; one without data is one, too. */
static uint64_t pieces_of(uint64_t bytes, uint64_t segment)
{
    const uint64_t piece = piece_of(bytes, segment);

    return 0 == piece ? 1 : divide(bytes, piece);
}

/* Rounds in which what is known doubles, until all do. */
static unsigned rounds_of(uint64_t count)
{
    unsigned rounds = 0;

    for (uint64_t known = 1; known < count; known *= 2) {
        ++rounds;
    }
    return rounds;
}

/* ---- messages ---- */

/* All work for a message but moving its bytes. */
static uint64_t work_beside_copies(const mca_coll_han_machine_t *machine, const mca_coll_han_machine_level_t *level,
                                   uint64_t bytes, uint64_t then)
{
    uint64_t work = sum(level->send + level->recv, of_bytes(bytes, then));

    work = sum(work, bytes > level->at_once ? level->request : 0);
    work = sum(work, bytes > level->eager ? level->rendezvous : of_bytes(bytes, level->buffer));
    return sum(work, bytes > machine->near ? of_bytes(bytes - machine->near, machine->far) : 0);
}

uint64_t mca_coll_han_message_work(const mca_coll_han_machine_t *machine, mca_coll_han_level_id_t at, uint64_t bytes,
                                   uint64_t then)
{
    const mca_coll_han_machine_level_t *level = &machine->levels[at];

    return sum(work_beside_copies(machine, level, bytes, then), of_bytes(bytes, level->copy));
}

uint64_t mca_coll_han_message_flight(const mca_coll_han_machine_t *machine, mca_coll_han_level_id_t at, uint64_t bytes,
                                     uint64_t then)
{
    const mca_coll_han_machine_level_t *level = &machine->levels[at];
    const uint64_t trips = bytes > level->eager ? 3 : 1;
    /* The first bytes of a message are on the link, and have arrived, while the others are copied. */
    const uint64_t moving = max(of_bytes(bytes, level->rate), of_bytes(bytes, level->copy));

    return sum(sum(times(trips, level->latency), moving), work_beside_copies(machine, level, bytes, then));
}

static uint64_t cores_of(const mca_coll_han_machine_t *machine, uint64_t nodes)
{
    return times(machine->cores, machine->shared ? 1 : nodes);
}

uint64_t mca_coll_han_ranks_of_core(const mca_coll_han_machine_t *machine, uint64_t nodes, uint64_t ranks)
{
    return divide(ranks, cores_of(machine, nodes));
}

/* Until a rank has its turn, for each that it shares a core with; who has one for itself has no turns. */
static uint64_t turn_of(const struct call *call)
{
    return 1 < call->sharing ? call->machine->turn : 0;
}

/* From or to each rank of a node and its leader. */
static struct cost with_leader(const struct call *call, uint64_t bytes, uint64_t then)
{
    const uint64_t others = call->ppn - 1;

    return messages(call, HAN_LOW, bytes, then, times(call->nodes, others), others, 0 < others, 0);
}

/* What several nodes send to one meets at its link, while another's idles: an eighth more, it is assumed. */
static uint64_t meeting(const struct call *call, uint64_t link)
{
    return 2 < call->nodes ? sum(link, link / 8) : link;
}

/* From each leader to each other one. */
static struct cost among_leaders(const struct call *call, uint64_t bytes, uint64_t then)
{
    const uint64_t others = call->nodes - 1;
    struct cost cost = messages(call, HAN_UP, bytes, then, times(call->nodes, others), 2 * others, 1, others);

    cost.link = meeting(call, cost.link);
    return cost;
}

/* ---- trees ---- */

/* A tree of leaders, and one in the group of each, of which messages cross a level. */
struct trees {
    struct shape up, low;
    uint64_t groups, members; /* of all groups together, beside the leaders */
    uint64_t lanes;           /* ranks of a group that lead it in turn, each for a segment */
    mca_coll_han_level_id_t at;
};

/* What the busiest rank has to do for a segment, by what a message costs both processors among leaders and in groups.
 */
static uint64_t busiest_of(const struct trees *trees, uint64_t up, uint64_t low)
{
    const struct shape *leaders = &trees->up, *group = &trees->low;
    const uint64_t leader
        = sum(times(max(leaders->root, leaders->inner + (1 < trees->groups)), up / 2), times(group->root, low / 2));

    return max(leader, times(0 < group->inner ? group->inner + 1 : 0, low / 2));
}

/* The busiest rank's part of a segment, in the mean, where it leads for one of so many and is below a leader else. */
static uint64_t in_lanes(uint64_t leading, uint64_t low, uint64_t lanes)
{
    return sum(leading, times(lanes - 1, low / 2)) / lanes;
}

/*
 * As many segments at the end of a message are sent without an answer as ADAPT sends to a child at a time. Each other
 * one is under way until its receiver has answered, by a message without data. A reduction in lanes sends more at a
 * time; but it has so many segments that the last ones do not count.
 */
static uint64_t answered_of(const struct call *call, uint64_t pieces)
{
    const uint64_t others
        = HAN_BCAST == call->input->collective ? (uint64_t) mca_coll_han_sends(HAN_BCAST, call->params) : HAN_SENDS;

    return others < pieces ? pieces - others : 0;
}

/* Not by many at once, where a rank that waits for one has work for others; nor a scan, which has no lanes. */
static bool has_one_tree(const struct call *call)
{
    return HAN_RING != call->params->algorithm && HAN_UP_ALLREDUCE != call->params->algorithm
           && !mca_coll_han_is_of_blocks(call->input->collective) && !mca_coll_han_is_scan(call->input->collective);
}

/*
 * What a link does not carry in so long a time. While a leader is late, for the system lets something else run, there
 * is nothing for it: for so small a part of a call's time, it is assumed, where that is a tenth of a second; in shorter
 * ones that happens seldom. A link of several lanes has the others'; where a node has one rank, so it is by all
 * algorithms.
 */
static uint64_t idle(const struct call *call, uint64_t lanes, uint64_t time)
{
    enum { LATE = 16 };
    const uint64_t tenth = UINT64_C(100000000000);

    return tenth <= time && 1 < call->ppn && has_one_tree(call) ? time / LATE / lanes : 0;
}

/*
 * Until the last rank is reached, by what a hop takes, and a turn. What is asked for of other nodes ends together with
 * all that its sender has to send: each takes what the others leave.
 */
static uint64_t way_to(const struct end *end, bool asked, uint64_t hop, uint64_t turn)
{
    return sum(times(end->hops, hop), times(asked ? end->all : end->turns, turn));
}

static uint64_t to_last(const struct call *call, const struct shape *shape, mca_coll_han_level_id_t at, uint64_t piece,
                        uint64_t hop, uint64_t turn)
{
    const bool asked = HAN_UP == at && call->machine->levels[at].eager < piece;

    return max(way_to(&shape->deepest, asked, hop, turn), way_to(&shape->latest, asked, hop, turn));
}

/*
 * A message along a tree of leaders, in segments, and from each leader to its group, or the other way round; `then` is
 * what a receiver does with each KiB. Once the first segment is through, each of the others costs what the busiest rank
 * or link has to do for it, the answers to all but the last ones included.
 */
static struct cost along_trees(const struct call *call, const struct trees *trees, uint64_t bytes, uint64_t segment,
                               uint64_t then)
{
    const struct shape *leaders = &trees->up, *group = &trees->low;
    const uint64_t piece = piece_of(bytes, segment), pieces = pieces_of(bytes, segment);
    const uint64_t wire = of_bytes(piece, call->machine->levels[HAN_UP].rate),
                   low_wire = HAN_UP == trees->at ? wire : 0;
    const uint64_t up = work_of(call, HAN_UP, piece, then), low = work_of(call, trees->at, piece, then);
    const uint64_t answer_up = work_of(call, HAN_UP, 0, 0), answer_low = work_of(call, trees->at, 0, 0);
    const uint64_t answered = answered_of(call, pieces);
    /* Where ranks share cores, each finds the next of these when its turn comes. */
    const uint64_t turns = 0 < answered && has_one_tree(call) ? times(call->ranks, turn_of(call)) : 0;
    const uint64_t lanes = min(trees->lanes, pieces);
    const uint64_t rank = in_lanes(busiest_of(trees, up, low), low, lanes);
    const uint64_t answers = times(answered, in_lanes(busiest_of(trees, answer_up, answer_low), answer_low, lanes));
    /* Who passes on what is asked for answers behind what goes on: where that is all, its link carries one after the
     * other. */
    const uint64_t asked = 1 == pieces && call->machine->levels[HAN_UP].eager < piece && 0 < leaders->inner;
    const uint64_t link = sum(times(max(leaders->root, leaders->inner + asked), wire), times(group->root, low_wire));
    const uint64_t idling = idle(call, lanes, times(pieces, link));
    /* Those of all lanes begin at once: they share the links of those who pass them on. */
    const uint64_t depth = leaders->deepest.hops;
    const uint64_t shared = 0 < depth ? times(times(depth - 1, lanes - 1), wire) : 0;
    const uint64_t first
        = sum(to_last(call, leaders, HAN_UP, piece, flight_of(call, HAN_UP, piece, then), max(up / 2, wire)), shared);
    const uint64_t last
        = to_last(call, group, trees->at, piece, flight_of(call, trees->at, piece, then), max(low / 2, low_wire));

    return (struct cost){
        .path = sum(sum(first, last), max(sum(times(pieces - 1, rank), answers), sum(times(pieces - 1, link), idling))),
        .hops = depth + group->deepest.hops,
        .work
        = sum(times(pieces, sum(times(trees->groups - 1, up), times(trees->members, low))),
              times(answered, sum(sum(times(trees->groups - 1, answer_up), times(trees->members, answer_low)), turns))),
        .rank = sum(times(pieces, rank), answers),
        .link = sum(times(pieces, link), idling),
    };
}

/* Bytes of as many segments, at most. */
static uint64_t at_a_time(uint64_t segments, uint64_t bytes, uint64_t segment)
{
    return times(min(segments, pieces_of(bytes, segment)), piece_of(bytes, segment));
}

/* Segments that a reduction receives from a child at a time, into memory of their own (mca_coll_han_how()). */
enum { FROM_CHILD = 2 * HAN_SENDS };

/* A rank that passes on what it has from so many children also has what it sends in memory of its own. */
static uint64_t passed_on(uint64_t children, uint64_t bytes, uint64_t segment)
{
    return 0 < children
               ? sum(times(children, at_a_time(FROM_CHILD, bytes, segment)), at_a_time(2 * FROM_CHILD, bytes, segment))
               : 0;
}

/* A reduction up the trees. */
static struct cost up_trees(const struct call *call, const struct trees *trees, uint64_t bytes, uint64_t segment)
{
    const struct shape *leaders = &trees->up, *group = &trees->low;
    const uint64_t root = leaders->root + group->root,
                   inner = 1 < trees->groups ? max(leaders->inner + group->root, group->inner) : group->inner;
    const uint64_t memory = max(times(root, at_a_time(FROM_CHILD, bytes, segment)), passed_on(inner, bytes, segment));
    const struct cost cost = along_trees(call, trees, bytes, segment, call->machine->reduce);

    return 0 == root ? cost : with_memory(call, cost, memory, divide(trees->groups - 1 + trees->members, root));
}

static mca_coll_adapt_tree_kind_t low_tree(const struct call *call)
{
    return mca_coll_han_low_tree(call->params, call->input->ppn);
}

/* Leaders of nodes, and from each to the ranks of its node (`below`). */
static struct trees trees_of_nodes(const struct call *call, bool below)
{
    return (struct trees){ .up = mca_coll_han_shape_of(call->tree, call->nodes),
                           .low = mca_coll_han_shape_of(low_tree(call), below ? call->ppn : 1),
                           .groups = call->nodes,
                           .members = below ? call->ranks - call->nodes : 0,
                           .lanes = 1,
                           .at = HAN_LOW };
}

/* A whole call by one tree, or by one in each lane, in turn. */
static struct trees trees_of_lanes(const struct call *call)
{
    struct trees trees = trees_of_nodes(call, true);

    trees.lanes = min((uint64_t) call->params->lanes, call->ppn);
    return trees;
}

static struct cost along_tree(const struct call *call, uint64_t bytes, uint64_t segment, uint64_t then)
{
    const struct trees trees = trees_of_nodes(call, true);

    return along_trees(call, &trees, bytes, segment, then);
}

/* A whole call: down the trees, up, or up and down. */
static struct cost over_trees(const struct call *call, struct trees trees)
{
    switch (call->input->collective) {
    case HAN_BCAST:
        return along_trees(call, &trees, call->bytes, call->segment, 0);
    case HAN_REDUCE:
        return up_trees(call, &trees, call->bytes, call->segment);
    default:
        return both(up_trees(call, &trees, call->bytes, call->segment),
                    along_trees(call, &trees, call->bytes, call->segment, 0));
    }
}

/*
 * A tree for each rank or node at once, one rooted at each: what a single one does is done so many times, by all ranks
 * of the leaders' node in turn where there are lanes, else by the leaders; and each link carries what it must, but
 * waits where pieces go only when they have been asked for. Ranks and links have half of their work at the same time.
 * While the first tree is through, the others have their turn; of pipelines, in which all nodes send from the beginning
 * to the end, all are through at once, but not those of a ring, which reduces before it tells. Who reduces has memory
 * for what children of all trees send.
 *
 * bytes: of the message of each tree; wire: ps of the busiest link
 */
static struct cost along_many(const struct call *call, struct cost one, uint64_t bytes, uint64_t count, uint64_t wire)
{
    const uint64_t work = times(count, one.work);
    const uint64_t sharing
        = times(call->nodes, 1 < call->params->lanes || 1 == call->ppn ? call->ppn : divide(call->ppn, 2));
    const uint64_t piece = piece_of(bytes, call->segment);
    const bool pipelines = ADAPT_TREE_PIPELINE == call->tree; /* each node hears from one other only */
    const bool asked = piece > call->machine->levels[HAN_UP].eager;
    const uint64_t link = asked ? sum(wire, wire / 2) : pipelines ? wire : meeting(call, wire);
    const uint64_t rank = work / sharing, busiest = sum(max(rank, link), min(rank, link) / 2);

    const struct cost cost = {
        .path = pipelines && HAN_RING != call->params->algorithm ? max(one.path, busiest)
                                                                 : sum(one.path, busiest - busiest / call->nodes),
        .hops = one.hops,
        .work = work,
        .rank = rank,
        .link = busiest,
    };
    const uint64_t received = times(times(count, call->ranks - 1), at_a_time(FROM_CHILD, bytes, call->segment));
    const bool moves
        = mca_coll_han_is_of_blocks(call->input->collective) && !mca_coll_han_goes_up(call->input->collective);

    return moves ? cost : with_memory(call, cost, received / sharing, sharing);
}

/* ---- level by level ---- */

/*
 * Ranks that share a core do as many calls of SOLO in a turn, in the mean. There are boxes for more, but one of them
 * has its message from another node first, and the others then wait for it.
 */
enum { CALLS_OF_A_TURN = 4 };

/* Of a broadcast, or with `then` of a reduction, inside all nodes at once, by another component. */
static struct cost inside_nodes(const struct call *call, uint64_t bytes, uint64_t then)
{
    const mca_coll_han_machine_t *machine = call->machine;
    const uint64_t steps = times(call->ranks, machine->step), others = call->ppn - 1;
    struct cost cost = { .path = machine->step, .hops = 1 };

    if (0 == others) {
        return (struct cost){ 0 };
    }
    if (HAN_SOLO == call->params->smod) {
        const uint64_t part = sum(machine->share, of_bytes(bytes, machine->copy + then));
        cost.path = sum(cost.path, sum(machine->levels[HAN_LOW].latency, times(2, part)));
        cost.work = sum(times(call->ranks, part), times(call->ranks, turn_of(call)) / CALLS_OF_A_TURN);
        cost.rank = times(0 == then ? 1 : call->ppn, part);
        cost.hops = 0 == then ? 1 : 2; /* all are there; the reader is done */
    } else {
        const uint64_t work = mca_coll_han_message_work(machine, HAN_LOW, bytes, then);

        cost.hops = rounds_of(call->ppn);
        cost.work = times(times(call->nodes, others), work);
        cost.rank = times(cost.hops, work / 2);
        cost.path = sum(cost.path, times(cost.hops, mca_coll_han_message_flight(machine, HAN_LOW, bytes, then)));
    }
    cost.work = sum(cost.work, steps);
    return cost;
}

/* Between the leaders, by a component of its own. */
static struct cost between_nodes(const struct call *call, uint64_t bytes, uint64_t then)
{
    const struct trees trees = trees_of_nodes(call, false);
    struct cost cost = 0 < then ? up_trees(call, &trees, bytes, 0) : along_trees(call, &trees, bytes, 0, 0);

    cost.path = sum(cost.path, call->machine->step);
    cost.work = sum(cost.work, times(call->nodes, call->machine->step));
    return cost;
}

/* Up to so many bytes the leaders' allreduce goes up and down a binomial tree; a ring has so many blocks at most. */
enum { SHORT_SEGMENT = 16384, MOST_IN_RING = 16 }; /* coll_adapt_collectives.c */

/* The leaders' ring of a segment: each block goes from leader to leader in pieces, twice around. */
static struct cost around_ring(const struct call *call, uint64_t bytes, uint64_t then)
{
    const uint64_t steps = 2 * (call->nodes - 1), blocks = min(call->nodes, MOST_IN_RING);
    const uint64_t block = divide(bytes, blocks), piece = piece_of(block, call->segment);
    const uint64_t all = times(times(pieces_of(block, call->segment), blocks), steps);
    struct cost cost = messages(call, HAN_UP, piece, then / 2, all, divide(times(2, all), call->nodes), steps, 0);

    cost.work = sum(cost.work, times(call->nodes, call->machine->step));
    cost.link = times(steps, of_bytes(divide(bytes, call->nodes), call->machine->levels[HAN_UP].rate));
    /* Pieces follow one another: either they wait for the one before to arrive, or for the link. */
    cost.path = sum(max(times(steps, flight_of(call, HAN_UP, piece, then / 2)), max(cost.rank, cost.link)),
                    call->machine->step);
    return cost;
}

static struct cost among_all_leaders(const struct call *call, uint64_t bytes, uint64_t then)
{
    struct call tree = *call;

    tree.tree = ADAPT_TREE_BINOMIAL;
    return SHORT_SEGMENT < bytes ? around_ring(call, bytes, then)
                                 : both(between_nodes(&tree, bytes, then), between_nodes(&tree, bytes, 0));
}

/* Levels overlap, from segment to segment: for each one more, who is done with the one before waits for it. */
static struct cost overlapped(const struct call *call, struct cost up, struct cost low, uint64_t segments)
{
    const struct cost once = both(up, low);
    const uint64_t others = segments - 1, link = times(segments, once.link), idling = idle(call, 1, link);

    return (struct cost){
        .path = sum(once.path, max(times(others, once.rank), sum(times(others, once.link), idling))),
        .hops = once.hops + others,
        .work = times(segments, once.work),
        .rank = times(segments, once.rank),
        .link = sum(link, idling),
    };
}

/* Leaders tell each other what they know: all at once where they are few, else twice as much in each round. */
static struct cost known_to_leaders(const struct call *call, uint64_t bytes)
{
    struct cost cost = { 0 };

    if (HAN_FEW_LEADERS >= call->nodes) {
        return among_leaders(call, bytes, 0);
    }
    for (uint64_t known = 1; known < call->nodes; known *= 2) {
        const uint64_t more = known < call->nodes - known ? known : call->nodes - known;

        cost = both(cost, messages(call, HAN_UP, times(more, bytes), 0, call->nodes, 2, 1, 1));
    }
    return cost;
}

/* A copy of what each rank has: the ranks of a core share what is near, and what does not fit is in no cache. */
static uint64_t walk_through(const struct call *call, uint64_t bytes)
{
    const mca_coll_han_machine_t *machine = call->machine;

    return machine->copy + (times(bytes, call->sharing) > machine->near ? machine->far : 0);
}

/*
 * An alltoall: each rank puts what it has in order, copies it for its node, and that from there, in order too, and has
 * a message to the rank of its place in each other node.
 */
static struct cost rows_by_levels(const struct call *call)
{
    const uint64_t all = times(call->ranks, call->bytes), row = times(call->ppn, call->bytes);
    const uint64_t others = call->nodes - 1;
    const uint64_t inside
        = sum(call->machine->step, sum(call->machine->share, of_bytes(all, 4 * walk_through(call, all))));
    const struct cost node = { .path = sum(inside, call->machine->levels[HAN_LOW].latency),
                               .hops = 1,
                               .work = times(call->ranks, inside),
                               .rank = inside };
    const struct cost rows
        = messages(call, HAN_UP, row, 0, times(call->ranks, others), 2 * others, 1, times(call->ppn, others));

    return with_memory(call, both(node, both_ways(call, row, rows)), times(2, all), call->ranks);
}

/* What is done with each rank's block, in the nodes and among the leaders. */
static struct cost blocks_by_levels(const struct call *call)
{
    const uint64_t copy = call->machine->copy, reduce = call->machine->reduce, bytes = call->bytes;
    const uint64_t all = times(call->ranks, bytes), node = times(call->ppn, bytes);
    struct cost own; /* a gather is a reduction in which the leader copies; the other way round, so is a scatter */

    if (HAN_ALLTOALL == call->input->collective) {
        return rows_by_levels(call);
    }
    own = inside_nodes(call, bytes, copy);
    own.hops = 1; /* nobody waits until the leader is done */
    if (mca_coll_han_goes_up(call->input->collective)) {
        return both(own, with_memory(call, both(inside_nodes(call, all, reduce), among_leaders(call, node, reduce)),
                                     times(2, all), call->nodes));
    }
    return both(own, both(known_to_leaders(call, node), inside_nodes(call, all, 0)));
}

static struct cost by_levels(const struct call *call)
{
    const mca_coll_han_algorithm_id_t algorithm = call->params->algorithm;
    const bool up_allreduce = HAN_UP_ALLREDUCE == algorithm || HAN_BARRIER == call->input->collective;
    const uint64_t reduce = call->machine->reduce, cut = HAN_SIMPLE == algorithm ? 0 : call->params->fs;
    const uint64_t segment = piece_of(call->bytes, cut), segments = pieces_of(call->bytes, cut);
    struct cost up, low;

    if (HAN_BCAST == call->input->collective) {
        return overlapped(call, between_nodes(call, segment, 0), inside_nodes(call, segment, 0), segments);
    }
    if (HAN_REDUCE == call->input->collective) {
        return overlapped(call, between_nodes(call, segment, reduce), inside_nodes(call, segment, reduce), segments);
    }
    low = both(inside_nodes(call, segment, reduce), inside_nodes(call, segment, 0));
    up = up_allreduce ? among_all_leaders(call, segment, reduce)
                      : both(between_nodes(call, segment, reduce), between_nodes(call, segment, 0));
    return overlapped(call, up, low, segments);
}

/* ---- the collectives ---- */

static struct cost with_tree(const struct call *call)
{
    const uint64_t reduce = call->machine->reduce, bytes = call->bytes;
    const uint64_t away = call->ranks - call->ppn, wire = of_bytes(bytes, call->machine->levels[HAN_UP].rate);

    switch (call->input->collective) {
    case HAN_BCAST:
    case HAN_REDUCE:
    case HAN_ALLREDUCE:
    case HAN_BARRIER:
        return over_trees(call, trees_of_lanes(call));
    case HAN_REDUCE_SCATTER:
    case HAN_REDUCE_SCATTER_BLOCK:
        return along_many(call, along_tree(call, bytes, call->segment, reduce), bytes, call->ranks, times(away, wire));
    default:
        return along_many(call, along_tree(call, bytes, call->segment, 0), bytes, call->ranks, times(away, wire));
    }
}

/* Of groups that know no topology: what goes on inside one counts as between nodes, unless they fit into a node. */
static struct cost with_groups(const struct call *call)
{
    const uint64_t wanted
        = (uint64_t) (0 == call->params->groups ? mca_coll_han_groups_for(call->input) : call->params->groups);
    const uint64_t groups = min(wanted, call->ranks), members = divide(call->ranks, groups);

    return over_trees(call, (struct trees){ .up = mca_coll_han_shape_of(call->tree, groups),
                                            .low = mca_coll_han_shape_of(call->tree, members),
                                            .groups = groups,
                                            .members = call->ranks - groups,
                                            .lanes = 1,
                                            .at = call->input->in_order && members <= call->ppn ? HAN_LOW : HAN_UP });
}

/* As many trees as nodes, each with its block up and down. */
static struct cost with_ring(const struct call *call)
{
    const uint64_t block = divide(call->bytes, call->nodes);
    const struct cost one = both(along_tree(call, block, call->segment, call->machine->reduce),
                                 along_tree(call, block, call->segment, 0));

    return along_many(call, one, block, call->nodes,
                      times(2 * (call->nodes - 1), of_bytes(block, call->machine->levels[HAN_UP].rate)));
}

/*
 * Blocks along a binomial tree: of nodes between them, or of ranks in each node. A message has those of all that are
 * below in the tree.
 */
static struct cost along_binomial(const struct call *call, mca_coll_han_level_id_t at, uint64_t bytes, uint64_t then)
{
    const bool up = HAN_UP == at;
    const uint64_t size = up ? call->nodes : call->ppn;
    struct cost cost = { 0 };

    for (uint64_t distance = 1; distance < size; distance *= 2) {
        const uint64_t left = size - distance, count = divide(left, 2 * distance);

        cost = both(cost, messages(call, at, times(min(distance, left), bytes), then,
                                   up ? count : times(call->nodes, count), 1, 1, up));
    }
    return cost;
}

/*
 * A scan in the chain of all ranks. While a piece goes to the end, those behind it follow; who has its turn finds as
 * many as are under way at once. An operand that may not stay where it is is copied. In a row the first ranks are
 * ahead: pieces that they send without asking come before they are expected, and are copied once more; short messages
 * gather before a link, which then carries a quarter less.
 */
static struct cost in_chain(const struct call *call)
{
    const mca_coll_han_machine_t *machine = call->machine;
    const uint64_t piece = piece_of(call->bytes, call->segment), pieces = pieces_of(call->bytes, call->segment);
    const bool copies = HAN_EXSCAN == call->input->collective || !call->input->commutes;
    const uint64_t crossing = call->input->in_order ? call->nodes - 1 : call->ranks - 1;
    struct cost once = mca_coll_han_cost_of_chain(call, piece, 1 < pieces ? HAN_SCAN_AT_ONCE : 1, copies);
    struct cost cost;

    once = both(once, (struct cost){ .path = times(once.hops, machine->step),
                                     .work = times(2 * call->ranks, machine->step),
                                     .rank = 2 * machine->step });
    cost = overlapped(call, once, (struct cost){ 0 }, pieces);
    cost.hops = once.hops;
    if (piece <= machine->levels[HAN_UP].eager) {
        cost.work = sum(cost.work, 1 < pieces ? times(crossing, of_bytes(call->bytes, machine->copy)) : 0);
        cost.link = sum(cost.link, 1 < pieces ? 0 : cost.link / 3);
    }
    return cost;
}

/* Leaders who cut a scan tell the next one. */
static struct cost from_leader_to_leader(const struct call *call)
{
    const uint64_t piece = piece_of(call->bytes, call->segment), reduce = call->machine->reduce;
    const struct cost inside = with_leader(call, piece, reduce);
    const struct cost between = messages(call, HAN_UP, piece, reduce, call->nodes - 1, 2, call->nodes - 1, 1);

    return overlapped(call, both(inside, inside), between, pieces_of(call->bytes, call->segment));
}

/*
 * Between leaders, which are all ranks where a node's are not consecutive: all at once, or by doubling. Who leads
 * itself alone copies its operand, and the result.
 */
static struct cost scanned(const struct call *call)
{
    const mca_coll_han_machine_t *machine = call->machine;
    const uint64_t of_node = call->input->in_order ? 1 : call->ppn; /* leaders that share a link */
    const uint64_t leaders = times(call->nodes, of_node), others = leaders - 1, bytes = call->bytes;
    const uint64_t then = sum(machine->reduce, leaders == call->ranks ? 2 * machine->copy : 0);
    struct cost cost = { 0 };

    if (1 < pieces_of(bytes, call->segment)) {
        return leaders < call->ranks ? from_leader_to_leader(call) : in_chain(call);
    }
    if (leaders < call->ranks) {
        cost = both(with_leader(call, bytes, machine->reduce), with_leader(call, bytes, machine->reduce));
    }
    if (HAN_FEW_LEADERS >= leaders) {
        return both(cost, messages(call, HAN_UP, bytes, then, times(leaders, others) / 2, others, 1, others));
    }
    for (uint64_t distance = 1; distance < leaders; distance *= 2) {
        cost = both(cost, messages(call, HAN_UP, bytes, sum(then, machine->reduce), leaders - distance, 2, 1, of_node));
    }
    return cost;
}

/*
 * Blocks that pass through a leader. A root for which those of a node do not lie side by side walks through all of them
 * once more. Of those that differ (coll_han_ragged.c) trees are linear.
 */
static struct cost through_leaders(const struct call *call)
{
    const uint64_t node = times(call->ppn, call->bytes), others = call->nodes - 1, away = times(others, node);
    const uint64_t copy = call->machine->copy;
    const bool differ = mca_coll_han_root_alone_knows(call->input->collective);
    const uint64_t walk = call->input->in_order && !differ ? 0 : of_bytes(away, walk_through(call, away));
    const struct cost inside = differ || ADAPT_TREE_LINEAR == low_tree(call)
                                   ? with_leader(call, call->bytes, 0)
                                   : along_binomial(call, HAN_LOW, call->bytes, 0);
    const struct cost between = differ || ADAPT_TREE_LINEAR == call->tree
                                    ? messages(call, HAN_UP, node, copy, others, others, 1, others)
                                    : along_binomial(call, HAN_UP, node, copy);

    return both(both(inside, between), (struct cost){ .path = walk, .work = walk, .rank = walk });
}

static struct cost with_leaders(const struct call *call)
{
    const uint64_t copy = call->machine->copy, reduce = call->machine->reduce, bytes = call->bytes;
    const uint64_t all = times(call->ranks, bytes), node = times(call->ppn, bytes);
    struct cost cost;

    switch (call->input->collective) {
    case HAN_ALLREDUCE:
    case HAN_BARRIER:
        cost = both(with_leader(call, bytes, reduce), among_leaders(call, bytes, reduce));
        cost = both(cost, with_leader(call, bytes, 0));
        return with_memory(call, cost, times(call->ppn + call->nodes, bytes), call->nodes);
    case HAN_SCAN:
    case HAN_EXSCAN:
        return scanned(call);
    case HAN_ALLGATHER:
    case HAN_ALLGATHERV:
        cost = both(with_leader(call, bytes, 0), known_to_leaders(call, node));
        cost = both(cost, with_leader(call, all, copy));
        cost.work = sum(cost.work, times(call->nodes, of_bytes(all, copy)));
        return with_memory(call, cost, all, call->ranks);
    case HAN_REDUCE_SCATTER:
    case HAN_REDUCE_SCATTER_BLOCK:
        cost = both(with_leader(call, all, reduce), among_leaders(call, node, reduce));
        cost = both(cost, with_leader(call, bytes, 0));
        return with_memory(call, cost, times(call->ppn + 1, all), call->nodes);
    case HAN_ALLTOALL: {
        /* A leader walks four times through what its node has. */
        const uint64_t walk = walk_through(call, all), pairs = times(call->ppn, node);

        cost = both_ways(call, pairs, among_leaders(call, pairs, 2 * walk));
        cost = both(with_leader(call, all, walk), cost);
        cost = both(cost, with_leader(call, all, walk));
        return with_memory(call, cost, times(4 * call->ppn, all), call->nodes);
    }
    default: /* gather, scatter */
        return through_leaders(call);
    }
}

/* Each piece has an answer, which is half of what asking costs. */
static struct cost in_pieces(const struct call *call, uint64_t pieces)
{
    const uint64_t answer = max(work_of(call, HAN_UP, 0, 0), call->machine->levels[HAN_UP].rendezvous / 2);
    const uint64_t answers = times(times(call->ranks - call->ppn, pieces), answer);

    return both(among_all(call, pieces),
                (struct cost){ .path = answers, .work = times(call->ranks, answers), .rank = answers });
}

/*
 * A window of long messages at once (coll_han_exchange.c): who waits for each window has a turn for it, and so have on
 * both ends those that asking, sending and answering wakes.
 */
static struct cost exchanged(const struct call *call)
{
    enum { TURNS = 4 };
    const bool all = mca_coll_han_is_alltoall(call->input->collective);
    const uint64_t pieces = all ? pieces_of(call->bytes, call->segment) : 1;
    const uint64_t sent = times(call->ranks - 1, pieces);
    const uint64_t window
        = all ? (uint64_t) mca_coll_han_exchange_window(call->input->ppn, 1 < pieces) : HAN_EXCHANGE_ROOT_WINDOW;
    struct cost cost = 1 < pieces ? in_pieces(call, pieces)
                       : all      ? both_ways(call, call->bytes, with_all(call))
                                  : with_all(call);

    if (HAN_EXCHANGE_BUFFERED < call->bytes && (all || HAN_EXCHANGE_ROOT_WINDOW < call->ranks)) {
        const uint64_t turns = times(TURNS, times(sent, turn_of(call))) / window;

        cost.hops = sum(cost.hops, sent / window);
        cost.rank = sum(cost.rank, turns);
        cost.work = sum(cost.work, times(all ? call->ranks : 1, turns));
    }
    return cost;
}

static struct cost cost_of(const struct call *call)
{
    switch (call->params->algorithm) {
    case HAN_TREE:
        return with_tree(call);
    case HAN_RING:
        return with_ring(call);
    case HAN_GROUPS:
        return with_groups(call);
    case HAN_LEADERS:
        return with_leaders(call);
    case HAN_CHAIN:
        return in_chain(call);
    case HAN_EXCHANGE:
        return exchanged(call);
    case HAN_SIMPLE:
        return mca_coll_han_is_of_blocks(call->input->collective) ? blocks_by_levels(call) : by_levels(call);
    case HAN_PIPELINE:
    case HAN_UP_ALLREDUCE:
        return by_levels(call);
    default:
        return mca_coll_han_cost_without(call);
    }
}

/*
 * For how much of its path a call overlaps with no other one in a row. Where no rank can be done before all have begun,
 * who is done early begins the next one: a third of a path is no wait. Of scans by leaders that is so inside the nodes;
 * of pieces that follow one another each has its wait while others are under way.
 */
static uint64_t alone(const mca_coll_han_input_t *input, const mca_coll_han_params_t *params, uint64_t path)
{
    switch (input->collective) {
    case HAN_BCAST:
    case HAN_REDUCE:
    case HAN_GATHER:
    case HAN_GATHERV:
    case HAN_SCATTER:
    case HAN_SCATTERV:
        return 0;
    case HAN_SCAN:
    case HAN_EXSCAN:
        if (HAN_LEADERS != params->algorithm || 1 == input->ppn || !input->in_order) {
            return 0;
        }
        return 1 < pieces_of(input->bytes, params->ibs) ? path / 6 : path / 2;
    default:
        return path - path / 3;
    }
}

/*
 * Of the processors' work, what calls in a row cost. Down a tree nobody waits for an answer, so a rank finds several
 * short messages, and has them from the system at once.
 */
static uint64_t in_row(const mca_coll_han_input_t *input, mca_coll_han_algorithm_id_t algorithm, uint64_t busy)
{
    enum { SEVERAL_AT_ONCE = 4096 };
    const bool down = HAN_BCAST == input->collective || HAN_SCATTER == input->collective;
    const bool level_by_level = HAN_SIMPLE == algorithm || HAN_PIPELINE == algorithm;

    return down && !level_by_level && SEVERAL_AT_ONCE >= input->bytes ? busy - busy / 3 : busy;
}

mca_coll_han_times_t mca_coll_han_predict(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                                          const mca_coll_han_params_t *params)
{
    const bool up = mca_coll_han_goes_up(input->collective);
    const uint64_t nodes = (uint64_t) input->nodes, ppn = (uint64_t) input->ppn, ranks = nodes * ppn;
    const struct call call = { .machine = machine,
                               .input = input,
                               .params = params,
                               .nodes = nodes,
                               .ppn = ppn,
                               .ranks = ranks,
                               .bytes = input->bytes,
                               .sharing = mca_coll_han_ranks_of_core(machine, nodes, ranks),
                               .tree = up ? params->iralg : params->ibalg,
                               .segment = up ? params->irs : params->ibs,
                               .copies = HAN_FALLBACK != params->algorithm };
    const struct cost cost = cost_of(&call);
    const uint64_t cores = cores_of(machine, nodes);
    /* Who has a core for itself waits and sees; else one wakes for the call, and the others of a core have their turns.
     */
    const uint64_t wake = 1 < call.sharing ? machine->wake : 0, hop = times(call.sharing - 1, machine->turn);
    const uint64_t busy = cost.work / min(cores, ranks);
    const uint64_t busiest = max(cost.rank, cost.link);
    const uint64_t path = sum(sum(max(cost.path, busy), times(cost.hops, hop)), wake);

    return (mca_coll_han_times_t){ .single = max(path, busiest),
                                   .row = max(max(busiest, in_row(input, params->algorithm, busy)),
                                              alone(input, params, path)) };
}

/* How many times as long as the best, in 2^-16 parts. */
static uint64_t regret(uint64_t time, uint64_t best)
{
    enum { MOST = 1 << 16 };

    /* Of minutes the last digits do not count; with them the remainder would not fit. */
    while (0 != best >> 47) {
        best >>= 1;
        time >>= 1;
    }
    return 0 == best || time / best >= MOST ? (uint64_t) MOST << 16
                                            : (time / best << 16) + ((time % best) << 16) / best;
}

/* Whether a is less than b by more than what a form can tell. */
static bool clearly_less(uint64_t a, uint64_t b)
{
    return a < b - b / HAN_MODEL_TIE;
}

/* Longer than this time without HAN by more than what a form is wrong by, for what is not made up for by the other. */
static bool loses_by(uint64_t time, uint64_t fallback, uint64_t other, uint64_t fallback_other)
{
    enum { WRONG = 4, MUCH = 8 };

    return time > sum(fallback, fallback / WRONG) && times(MUCH, other) > fallback_other;
}

static bool loses(mca_coll_han_times_t times, mca_coll_han_times_t fallback)
{
    return loses_by(times.single, fallback.single, times.row, fallback.row)
           || loses_by(times.row, fallback.row, times.single, fallback.single);
}

long mca_coll_han_pick(const mca_coll_han_times_t *candidates, long count, mca_coll_han_times_t fallback)
{
    mca_coll_han_times_t best = { UINT64_MAX, UINT64_MAX };
    uint64_t least = UINT64_MAX, rest = UINT64_MAX;
    bool lost = true;
    long pick = -1;

    for (long i = 0; i < count; ++i) {
        best.single = best.single < candidates[i].single ? best.single : candidates[i].single;
        best.row = best.row < candidates[i].row ? best.row : candidates[i].row;
    }
    for (long i = 0; i < count; ++i) {
        const uint64_t single = regret(candidates[i].single, best.single), row = regret(candidates[i].row, best.row);
        const uint64_t worse = max(single, row), other = single < row ? single : row;
        const bool losing = loses(candidates[i], fallback);
        const bool better = clearly_less(worse, least) || (!clearly_less(least, worse) && clearly_less(other, rest));

        if (-1 == pick || (lost && !losing) || (lost == losing && better)) {
            least = worse;
            rest = other;
            lost = losing;
            pick = i;
        }
    }
    return pick;
}
