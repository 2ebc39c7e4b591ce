/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han_topology.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers the groups in the order in which ranks meet them, so that each group's first rank, its leader, is lowest. */
static int number_groups(mca_coll_han_topology_t *topology, const int *node_of, int node_count)
{
    int *group_of_node = malloc((size_t) node_count * sizeof(int));

    if (NULL == group_of_node) {
        return -1;
    }
    for (int node = 0; node < node_count; ++node) {
        group_of_node[node] = -1;
    }
    for (int rank = 0; rank < topology->size; ++rank) {
        int *group = &group_of_node[node_of[rank]];

        if (-1 == *group) {
            *group = topology->group_count++;
        }
        topology->group_of[rank] = *group;
    }
    free(group_of_node);
    return 0;
}

/* Counting sort of the ranks by group. */
static void sort_members(mca_coll_han_topology_t *topology)
{
    int *first = topology->first;

    for (int rank = 0; rank < topology->size; ++rank) {
        topology->place_of[rank] = first[topology->group_of[rank] + 1]++;
    }
    for (int group = 0; group < topology->group_count; ++group) {
        first[group + 1] += first[group];
    }
    for (int rank = 0; rank < topology->size; ++rank) {
        topology->members[first[topology->group_of[rank]] + topology->place_of[rank]] = rank;
    }
}

static void classify(mca_coll_han_topology_t *topology)
{
    int smallest = topology->size;

    topology->in_order = true;
    for (int group = 0; group < topology->group_count; ++group) {
        const int *ranks = mca_coll_han_topology_group(topology, group);
        const int count = mca_coll_han_topology_group_size(topology, group);

        smallest = count < smallest ? count : smallest;
        topology->largest = count > topology->largest ? count : topology->largest;
        topology->in_order = topology->in_order && ranks[count - 1] - ranks[0] == count - 1;
    }
    topology->even = smallest == topology->largest;
}

int mca_coll_han_topology_make(mca_coll_han_topology_t *topology, const int *node_of, int size, int node_count)
{
    const size_t ranks = (size_t) size;

    memset(topology, 0, sizeof(*topology));
    topology->size = size;
    topology->group_of = malloc(ranks * sizeof(int));
    topology->place_of = malloc(ranks * sizeof(int));
    topology->members = malloc(ranks * sizeof(int));
    if (NULL == topology->group_of || NULL == topology->place_of || NULL == topology->members
        || 0 != number_groups(topology, node_of, node_count)) {
        mca_coll_han_topology_free(topology);
        return -1;
    }
    topology->first = calloc((size_t) topology->group_count + 1, sizeof(int));
    if (NULL == topology->first) {
        mca_coll_han_topology_free(topology);
        return -1;
    }
    sort_members(topology);
    classify(topology);
    return 0;
}

void mca_coll_han_topology_free(mca_coll_han_topology_t *topology)
{
    free(topology->group_of);
    free(topology->place_of);
    free(topology->members);
    free(topology->first);
    memset(topology, 0, sizeof(*topology));
}

size_t mca_coll_han_topology_bytes(const mca_coll_han_topology_t *topology)
{
    return (3 * (size_t) topology->size + (size_t) topology->group_count + 1) * sizeof(int);
}

/* Text that grows until it is full; full is not an error, it ends in "...". */
struct text {
    char *start;
    size_t length;
    size_t used;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    static const char more[] = "...";
    va_list arguments;
    int wanted;

    if (text->full) {
        return;
    }
    va_start(arguments, format);
    wanted = vsnprintf(text->start + text->used, text->length - text->used, format, arguments);
    va_end(arguments);
    if (wanted < 0 || text->used + (size_t) wanted >= text->length) {
        text->full = true;
        if (text->length >= sizeof(more)) {
            memcpy(text->start + text->length - sizeof(more), more, sizeof(more));
        }
        return;
    }
    text->used += (size_t) wanted;
}

/* {0-3,7}: runs of consecutive ranks as ranges. */
static void add_group(struct text *text, const int *ranks, int count)
{
    add(text, " {");
    for (int start = 0; start < count && !text->full;) {
        int end = start;

        while (end + 1 < count && ranks[end + 1] == ranks[end] + 1) {
            ++end;
        }
        add(text, end == start ? "%s%d" : "%s%d-%d", 0 == start ? "" : ",", ranks[start], ranks[end]);
        start = end + 1;
    }
    add(text, "}");
}

char *mca_coll_han_topology_describe(const mca_coll_han_topology_t *topology, char *buffer, size_t length)
{
    struct text text = { .start = buffer, .length = length };

    if (topology->even) {
        add(&text, "%d groups of %d (even", topology->group_count, topology->largest);
    } else {
        add(&text, "%d groups of up to %d (uneven", topology->group_count, topology->largest);
    }
    add(&text, ", %s ranks):", topology->in_order ? "consecutive" : "interleaved");
    for (int group = 0; group < topology->group_count && !text.full; ++group) {
        add_group(&text, mca_coll_han_topology_group(topology, group),
                  mca_coll_han_topology_group_size(topology, group));
    }
    return buffer;
}
