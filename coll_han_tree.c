/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that adapt does on the communicator itself, over its topology-aware tree: without sub-communicators, so that
 * nothing is to be made at the first call, and any number of nonblocking ones may be under way.
 */
#include "coll_han.h"

#include <stdlib.h>

/* The rank of a group that talks to other nodes: in lane 0 the leader, in each lane another one. */
static int rank_of_lane(const mca_coll_han_topology_t *topology, int group, int lane)
{
    return mca_coll_han_topology_group(topology, group)[lane % mca_coll_han_topology_group_size(topology, group)];
}

/* Which tree is wanted. */
struct wanted {
    const mca_coll_han_params_t *params;
    int root;
    int lane;
    bool root_leads; /* its node, whoever does in this lane */
};

static int leader_of(const mca_coll_han_topology_t *topology, const struct wanted *wanted, int group)
{
    return wanted->root_leads && topology->group_of[wanted->root] == group
               ? wanted->root
               : rank_of_lane(topology, group, wanted->lane);
}

/* Children in both trees: those between the nodes first, for they are far away. */
static int glue_children(mca_coll_adapt_tree_t *tree, const mca_coll_han_topology_t *topology,
                         const struct wanted *wanted, const int *members, const mca_coll_adapt_tree_t *up,
                         const mca_coll_adapt_tree_t *low)
{
    tree->child_count = up->child_count + low->child_count;
    tree->children = 0 == tree->child_count ? NULL : malloc((size_t) tree->child_count * sizeof(int));
    if (NULL == tree->children) {
        return 0 == tree->child_count ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int i = 0; i < up->child_count; ++i) {
        tree->children[i] = leader_of(topology, wanted, up->children[i]);
    }
    for (int i = 0; i < low->child_count; ++i) {
        tree->children[up->child_count + i] = members[low->children[i]];
    }
    return OMPI_SUCCESS;
}

/* The tree inside a rank's node, of places: where it has several sockets, their leaders make one of their own. */
static int make_low(const han_module_t *module, mca_coll_adapt_tree_kind_t kind, int size, int root, int place,
                    mca_coll_adapt_tree_t *low)
{
    const mca_coll_adapt_tree_level_t levels[] = { { module->socket_of, kind, HAN_RADIX }, { NULL, kind, HAN_RADIX } };

    return NULL == module->socket_of ? module->adapt->tree_make(low, kind, HAN_RADIX, size, root, place)
                                     : module->adapt->tree_make_topology(low, levels, 2, size, root, place);
}

/*
 * A tree of the leaders, and one in each node, glued at the leaders (ADAPT paper, section 3.2.1). As with stages, a
 * root that does not lead its node sends to its node first, which reaches the leader. So only leaders talk to other
 * nodes, whatever the root: few connections, which matters where each costs something in every poll of the network. Of
 * a message that is not cut nothing is under way meanwhile: there the root leads its node itself, one hop less.
 */
static int make_tree(const han_module_t *module, const struct wanted *wanted, mca_coll_adapt_tree_t *tree)
{
    const mca_coll_han_topology_t *topology = &module->topology;
    const mca_coll_han_params_t *params = wanted->params;
    const int root = wanted->root, rank = ompi_comm_rank(module->comm), group = topology->group_of[rank];
    const int *members = mca_coll_han_topology_group(topology, group);
    const int size = mca_coll_han_topology_group_size(topology, group), root_group = topology->group_of[root];
    const int place = topology->place_of[rank], leader = topology->place_of[leader_of(topology, wanted, group)];
    mca_coll_adapt_tree_t up = { .parent = -1 }, low = { .parent = -1 };
    int rc
        = make_low(module, params->sbalg, size, root_group == group ? topology->place_of[root] : leader, place, &low);

    *tree = (mca_coll_adapt_tree_t){ .root = root, .parent = -1 };
    if (0 == rc && leader == place) {
        rc = module->adapt->tree_make(&up, params->ibalg, HAN_RADIX, topology->group_count, root_group, group);
    }
    if (0 == rc) {
        if (-1 != low.parent) {
            tree->parent = members[low.parent];
        } else if (-1 != up.parent) {
            tree->parent = leader_of(topology, wanted, up.parent);
        }
        rc = glue_children(tree, topology, wanted, members, &up, &low);
    }
    module->adapt->tree_free(&up);
    module->adapt->tree_free(&low);
    return 0 == rc ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

/* The tree that is wanted: kept from an earlier call, or made. NULL: no memory. */
static const mca_coll_adapt_tree_t *find_tree(const han_module_t *module, const struct wanted *wanted,
                                              mca_coll_han_tree_t *kept)
{
    if (kept->made && kept->tree.root == wanted->root && kept->lane == wanted->lane
        && kept->root_leads == wanted->root_leads && kept->low == wanted->params->sbalg
        && kept->up == wanted->params->ibalg) {
        return &kept->tree;
    }
    module->adapt->tree_free(&kept->tree);
    kept->made = OMPI_SUCCESS == make_tree(module, wanted, &kept->tree);
    kept->lane = wanted->lane;
    kept->root_leads = wanted->root_leads;
    kept->low = wanted->params->sbalg;
    kept->up = wanted->params->ibalg;
    return kept->made ? &kept->tree : NULL;
}

/*
 * The trees of a call, each kept in another place. Of several calls that are one: one for each, in the lane of its
 * root, so that all ranks of a node have a part in it. Of a ring: one for each node in each lane, rooted there.
 * Otherwise one for each lane.
 */
static int find_trees(const han_module_t *module, mca_coll_han_kept_t *kept, const mca_coll_han_params_t *params,
                      const mca_coll_adapt_call_t *call, const mca_coll_adapt_tree_t *trees[HAN_TREES_KEPT], int *count)
{
    const mca_coll_han_topology_t *topology = &module->topology;
    const int nodes = topology->group_count;
    const bool ring = HAN_RING == params->algorithm, chained = NULL != call->next;
    const bool whole = 0 == params->ibs && 1 == params->lanes && !ring && !chained;

    if (NULL == kept->trees) {
        kept->trees = calloc(HAN_TREES_KEPT, sizeof(*kept->trees));
        if (NULL == kept->trees) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    *count = 0;
    for (const mca_coll_adapt_call_t *part = call; NULL != part; part = part->next) {
        for (int i = 0; i < (chained ? 1 : params->lanes); ++i) {
            for (int group = 0; group < (ring ? nodes : 1); ++group) {
                const int root = ring ? rank_of_lane(topology, group, i) : part->root;
                const struct wanted wanted = { .params = params,
                                               .root = root,
                                               .lane = chained ? topology->place_of[root] % params->lanes : i,
                                               .root_leads = whole };
                const int place
                    = ring ? i * nodes + group : topology->place_of[root] * nodes + topology->group_of[root] + i;

                trees[*count] = find_tree(module, &wanted, &kept->trees[place % HAN_TREES_KEPT]);
                if (NULL == trees[*count]) {
                    return OMPI_ERR_OUT_OF_RESOURCE;
                }
                ++*count;
            }
        }
    }
    return OMPI_SUCCESS;
}

int mca_coll_han_call_tree(han_module_t *module, const mca_coll_han_args_t *args, const mca_coll_adapt_call_t *call,
                           const mca_coll_han_params_t *params, ompi_request_t **request)
{
    const mca_coll_adapt_tree_t *trees[HAN_TREES_KEPT];
    const bool groups = HAN_GROUPS == params->algorithm;
    mca_coll_adapt_how_t how = mca_coll_han_how(mca_coll_han_sends(args->collective, params));
    int rc = OMPI_SUCCESS;

    how.kind = params->ibalg;
    how.groups = groups ? params->groups : 1;
    how.segment_size = params->ibs;
    if (NULL != call->op && !ompi_op_is_commute(call->op)) {
        if (!groups || !module->adapt->trees[how.kind].in_order) {
            how.kind = 0 == params->ibs ? ADAPT_TREE_IN_ORDER_BINOMIAL : ADAPT_TREE_IN_ORDER_BINARY;
        }
    } else if (!groups) {
        how.trees = trees;
        rc = find_trees(module, &module->kept[args->form], params, call, trees, &how.tree_count);
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return module->adapt->call(module->adapt, call, &how, (mca_coll_adapt_form_t) args->form, request);
}
