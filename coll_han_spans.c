/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han_spans.h"

/* ---- a tree of places, from 0 on ---- */

/* How many places a part of a tree has that begins with this one, of so many. */
static int reach_of(int place, int size, bool linear)
{
    const int left = size - place, reach = linear ? 1 : place & -place;

    return 0 == place || left < reach ? left : reach;
}

static int children_of(int place, int size, bool linear)
{
    const int reach = reach_of(place, size, linear);
    int count = 0;

    if (linear) {
        return reach - 1;
    }
    while (1 << count < reach) {
        ++count;
    }
    return count;
}

/* From a place to its child; the farthest one is the first. */
static int distance_of(int child, int count, bool linear)
{
    return linear ? count - child : 1 << (count - child - 1);
}

static int parent_of(int place, bool linear)
{
    return linear ? 0 : place & (place - 1);
}

/* ---- nodes, and ranks of a node, as such places ---- */

static int own_group(const mca_coll_han_spans_t *spans)
{
    return spans->topology->group_of[spans->rank];
}

static int own_size(const mca_coll_han_spans_t *spans)
{
    return mca_coll_han_topology_group_size(spans->topology, own_group(spans));
}

/* Nodes count from the root's on. */
static int group_at(const mca_coll_han_spans_t *spans, int node)
{
    return (spans->topology->group_of[spans->root] + node) % spans->topology->group_count;
}

static int node_of(const mca_coll_han_spans_t *spans)
{
    const mca_coll_han_topology_t *topology = spans->topology;

    return (own_group(spans) - topology->group_of[spans->root] + topology->group_count) % topology->group_count;
}

/* The place of a node's leader; behind the last node, how many ranks there are. */
static int place_of_node(const mca_coll_han_spans_t *spans, int node)
{
    const mca_coll_han_topology_t *topology = spans->topology;
    const int from = topology->first[group_at(spans, 0)], to = topology->first[group_at(spans, node)];

    return node == topology->group_count ? topology->size : (to - from + topology->size) % topology->size;
}

/* Ranks of a node count from its leader on: which one of the members that is. */
static int leader_of(const mca_coll_han_spans_t *spans, int group)
{
    const int root = spans->root;

    return group == spans->topology->group_of[root] ? spans->topology->place_of[root] : 0;
}

static int member_of(const mca_coll_han_spans_t *spans)
{
    return (spans->topology->place_of[spans->rank] - leader_of(spans, own_group(spans)) + own_size(spans))
           % own_size(spans);
}

/* Where in the topology's members the ranks of a node from this one on begin, up to the last of them. */
static int in_members(const mca_coll_han_spans_t *spans, int group, int member)
{
    const mca_coll_han_topology_t *topology = spans->topology;
    const int size = mca_coll_han_topology_group_size(topology, group);

    return topology->first[group] + (leader_of(spans, group) + member) % size;
}

/* ---- spans ---- */

/* The first one lies at `begin`; up to `end` ranks lie behind it. */
static mca_coll_han_span_t span_from(const mca_coll_han_spans_t *spans, int first, int size, int begin, int end)
{
    return (mca_coll_han_span_t){
        .rank = spans->topology->members[begin],
        .first = first,
        .size = size,
        .block = spans->topology->in_order && size <= end - begin ? begin : -1,
    };
}

/* The part of the nodes' tree that begins with one. */
static mca_coll_han_span_t span_of_nodes(const mca_coll_han_spans_t *spans, int node)
{
    const int reach = reach_of(node, spans->topology->group_count, spans->linear[HAN_UP]);
    const int first = place_of_node(spans, node), group = group_at(spans, node);

    return span_from(spans, first, place_of_node(spans, node + reach) - first, in_members(spans, group, 0),
                     spans->topology->size);
}

/* The part of the own node's tree that begins with one of its ranks. */
static mca_coll_han_span_t span_of_members(const mca_coll_han_spans_t *spans, int member)
{
    return span_from(spans, place_of_node(spans, node_of(spans)) + member,
                     reach_of(member, own_size(spans), spans->linear[HAN_LOW]),
                     in_members(spans, own_group(spans), member), spans->topology->first[own_group(spans) + 1]);
}

mca_coll_han_span_t mca_coll_han_spans_own(const mca_coll_han_spans_t *spans)
{
    const int member = member_of(spans);

    return 0 == member ? span_of_nodes(spans, node_of(spans)) : span_of_members(spans, member);
}

/* Of a leader, those that lead nodes. */
static int children_up(const mca_coll_han_spans_t *spans)
{
    return 0 == member_of(spans) ? children_of(node_of(spans), spans->topology->group_count, spans->linear[HAN_UP]) : 0;
}

static int children_low(const mca_coll_han_spans_t *spans)
{
    return children_of(member_of(spans), own_size(spans), spans->linear[HAN_LOW]);
}

int mca_coll_han_spans_children(const mca_coll_han_spans_t *spans)
{
    return children_up(spans) + children_low(spans);
}

mca_coll_han_span_t mca_coll_han_spans_child(const mca_coll_han_spans_t *spans, int child)
{
    const int up = children_up(spans);

    return child < up
               ? span_of_nodes(spans, node_of(spans) + distance_of(child, up, spans->linear[HAN_UP]))
               : span_of_members(spans, member_of(spans)
                                            + distance_of(child - up, children_low(spans), spans->linear[HAN_LOW]));
}

int mca_coll_han_spans_parent(const mca_coll_han_spans_t *spans)
{
    const int member = member_of(spans);
    const bool leads = 0 == member;
    const int group = leads ? group_at(spans, parent_of(node_of(spans), spans->linear[HAN_UP])) : own_group(spans);

    return spans->topology->members[in_members(spans, group, leads ? 0 : parent_of(member, spans->linear[HAN_LOW]))];
}

int mca_coll_han_spans_rank(const mca_coll_han_spans_t *spans, int place)
{
    const mca_coll_han_topology_t *topology = spans->topology;
    const int group = group_at(spans, 0);

    return topology->members[place < mca_coll_han_topology_group_size(topology, group)
                                 ? in_members(spans, group, place)
                                 : (topology->first[group] + place) % topology->size];
}
