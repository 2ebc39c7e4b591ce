/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws ADAPT's trees with 16 ranks, by the builders that ADAPT itself uses: trees KIND-NAME writes SVG to the standard
 * output, trees alone lists the kinds.
 */
#include "../coll_adapt/coll_adapt_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 16
#define PER_NODE 4
#define COLUMN 44.0 /* from leaf to leaf */
#define RADIUS 15.0
#define MARGIN 30.0
#define LEAST_WIDTH 680.0

static const double usual_line = 62.0; /* from level to level */
static const double heading_height = 60.0;
static const double text_line = 18.0;
static const double panel_heading = 30.0;
static const double box_border = 10.0;

/* What differs between pictures; kinds that aren't listed have one tree with root 0. */
struct picture {
    int degree;
    int other_root; /* a second tree with this root; 0: none */
    bool by_rank;   /* a rank's column is its number */
    double line;    /* from level to level; 0: as usual */
};

static const struct picture pictures[ADAPT_TREE_COUNT] = {
    [ADAPT_TREE_IN_ORDER_BINOMIAL] = { .other_root = 6, .by_rank = true },
    [ADAPT_TREE_CHAIN] = { .degree = 4 },
    [ADAPT_TREE_PIPELINE] = { .line = 46.0 },
    [ADAPT_TREE_LINEAR] = { .line = 150.0 },
    [ADAPT_TREE_KNOMIAL] = { .degree = 4, .line = 110.0 },
    [ADAPT_TREE_IN_ORDER_BINARY] = { .other_root = 6, .by_rank = true },
};

struct drawing {
    mca_coll_adapt_tree_t ranks[RANKS];
    const int *node_of; /* NULL: no nodes */
    bool by_rank;
    double x[RANKS];
    double y[RANKS];
    double columns; /* used so far */
    double top;
    double bottom;
    double line;
};

/* ---- places ---- */

static void place(struct drawing *drawing, int rank, int depth);

/* Children inside the rank's node, or those of other nodes. Returns how many. */
static int place_children(struct drawing *drawing, int rank, int depth, bool inside, double *first, double *last)
{
    const mca_coll_adapt_tree_t *tree = &drawing->ranks[rank];
    int count = 0;

    for (int i = 0; i < tree->child_count; ++i) {
        const int child = tree->children[i];

        if (inside == (NULL == drawing->node_of || drawing->node_of[child] == drawing->node_of[rank])) {
            place(drawing, child, depth + 1);
            *first = 0 == count ? drawing->x[child] : *first;
            *last = drawing->x[child];
            ++count;
        }
    }
    return count;
}

/* Leaves side by side, parents in the middle above their children; other nodes come to the right of all that. */
static void place(struct drawing *drawing, int rank, int depth)
{
    double first = 0.0;
    double last = 0.0;

    drawing->y[rank] = drawing->top + drawing->line * depth;
    drawing->bottom = drawing->y[rank] > drawing->bottom ? drawing->y[rank] : drawing->bottom;
    drawing->x[rank] = 0 < place_children(drawing, rank, depth, true, &first, &last) ? (first + last) / 2
                                                                                     : COLUMN * drawing->columns++;
    if (drawing->by_rank) {
        drawing->x[rank] = COLUMN * rank;
        drawing->columns = RANKS;
    }
    if (NULL != drawing->node_of) {
        drawing->columns += 0 == rank % PER_NODE ? 0.8 : 0.0;
        place_children(drawing, rank, depth, false, &first, &last);
    }
}

static void shift_right(struct drawing *drawing, double by)
{
    for (int rank = 0; rank < RANKS; ++rank) {
        drawing->x[rank] += by;
    }
}

/* ---- SVG ---- */

static void print_start(double width, double height, const char *title)
{
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\">\n"
           "  <!-- SPDX-License-Identifier: BSD-3-Clause. Written by docs/trees.c. -->\n"
           "  <title>%s</title>\n"
           "  <style>\n"
           "    text { font-family: sans-serif; fill: #1c2733; }\n"
           "    .title { font-size: 20px; font-weight: bold; }\n"
           "    .help { font-size: 13px; fill: #4a5866; }\n"
           "    .rank { font-size: 13px; text-anchor: middle; }\n"
           "    .first { font-size: 13px; text-anchor: middle; font-weight: bold; fill: #ffffff; }\n"
           "    .node { font-size: 12px; fill: #4a5866; }\n"
           "    circle { fill: #ffffff; stroke: #1c2733; stroke-width: 1.4; }\n"
           "    circle.root { fill: #1c2733; }\n"
           "    line { stroke: #5b6b7b; stroke-width: 1.4; marker-end: url(#head); }\n"
           "    line.far { stroke-width: 2.6; }\n"
           "    rect.box { fill: #f1f5f9; stroke: #93a3b3; stroke-width: 1.2; stroke-dasharray: 5 3; }\n"
           "  </style>\n"
           "  <defs>\n"
           "    <marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" "
           "markerUnits=\"userSpaceOnUse\" orient=\"auto\">\n"
           "      <path d=\"M0,1 L10,5 L0,9 Z\" fill=\"#5b6b7b\"/>\n"
           "    </marker>\n"
           "  </defs>\n"
           "  <rect width=\"%g\" height=\"%g\" fill=\"#ffffff\"/>\n"
           "  <text x=\"%g\" y=\"36\" class=\"title\">%s</text>\n",
           width, height, width, height, title, width, height, MARGIN, title);
}

/* From rim to rim. */
static void print_edge(const struct drawing *drawing, int from, int to)
{
    const double right = drawing->x[to] - drawing->x[from];
    const double down = drawing->y[to] - drawing->y[from];
    const double gap = 2.0;
    double length = 1.0;

    for (int i = 0; i < 40; ++i) { /* Newton's square root, so that no library but libc is needed */
        length = (length + (right * right + down * down) / length) / 2;
    }
    printf("  <line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"%s/>\n", drawing->x[from] + right / length * RADIUS,
           drawing->y[from] + down / length * RADIUS, drawing->x[to] - right / length * (RADIUS + gap),
           drawing->y[to] - down / length * (RADIUS + gap),
           NULL != drawing->node_of && drawing->node_of[from] != drawing->node_of[to] ? " class=\"far\"" : "");
}

static void print_box(const struct drawing *drawing, int node)
{
    double left = drawing->x[node * PER_NODE];
    double right = left;
    double top = drawing->y[node * PER_NODE];
    double bottom = top;

    for (int rank = node * PER_NODE; rank < (node + 1) * PER_NODE; ++rank) {
        left = drawing->x[rank] < left ? drawing->x[rank] : left;
        right = drawing->x[rank] > right ? drawing->x[rank] : right;
        bottom = drawing->y[rank] > bottom ? drawing->y[rank] : bottom;
    }
    left -= RADIUS + box_border;
    top -= RADIUS + box_border;
    right += RADIUS + box_border;
    bottom += RADIUS + 2 * box_border;
    printf("  <rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\"/>\n", left, top,
           right - left, bottom - top);
    printf("  <text class=\"node\" x=\"%.1f\" y=\"%.1f\">node %d</text>\n", left + 7, bottom - 7, node);
}

static void print_tree(const struct drawing *drawing)
{
    for (int node = 0; NULL != drawing->node_of && node < RANKS / PER_NODE; ++node) {
        print_box(drawing, node);
    }
    for (int rank = 0; rank < RANKS; ++rank) {
        for (int i = 0; i < drawing->ranks[rank].child_count; ++i) {
            print_edge(drawing, rank, drawing->ranks[rank].children[i]);
        }
    }
    for (int rank = 0; rank < RANKS; ++rank) {
        const bool root = -1 == drawing->ranks[rank].parent;

        printf("  <circle%s cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"/>\n", root ? " class=\"root\"" : "", drawing->x[rank],
               drawing->y[rank], RADIUS);
        printf("  <text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%d</text>\n", root ? "first" : "rank", drawing->x[rank],
               drawing->y[rank] + 4.6, rank);
    }
}

/* ---- pictures ---- */

static int make(struct drawing *drawing, mca_coll_adapt_tree_kind_t kind, int root)
{
    const mca_coll_adapt_tree_level_t levels[] = { { .group_of = drawing->node_of, .kind = ADAPT_TREE_BINOMIAL },
                                                   { .group_of = NULL, .kind = ADAPT_TREE_PIPELINE } };
    int result = 0;

    for (int rank = 0; rank < RANKS && 0 == result; ++rank) {
        mca_coll_adapt_tree_t *tree = &drawing->ranks[rank];

        result = NULL != drawing->node_of
                     ? mca_coll_adapt_tree_make_topology(tree, levels, 2, RANKS, root, rank)
                     : mca_coll_adapt_tree_make(tree, kind, pictures[kind].degree, RANKS, root, rank);
    }
    return result;
}

/* Returns where the text ends; measures only where not asked to print. */
static double caption(mca_coll_adapt_tree_kind_t kind, bool print)
{
    const mca_coll_adapt_tree_row_t *row = &mca_coll_adapt_trees[kind];
    const char *lines[] = { row->help, "Arrows show a broadcast; a reduction goes against them.",
                            "Children are served from left to right." };
    double y = heading_height;

    if (ADAPT_TREE_TOPOLOGY == kind) {
        lines[2] = "Here: binomial inside the nodes, a pipeline of their leaders; the next node is served first.";
    } else if (pictures[kind].by_rank) {
        lines[2] = "A rank and all below it are consecutive ranks, whichever rank is the root.";
    }
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i, y += text_line) {
        if (print) {
            printf("  <text x=\"%g\" y=\"%g\" class=\"help\">%s</text>\n", MARGIN, y, lines[i]);
        }
    }
    return y;
}

static int draw(mca_coll_adapt_tree_kind_t kind)
{
    static const int nodes[RANKS] = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3 };
    static struct drawing drawings[2];
    const int count = 0 != pictures[kind].other_root ? 2 : 1;
    double width = LEAST_WIDTH;
    double bottom = caption(kind, false);
    char title[64];
    int result = 0;

    for (int i = 0; i < count && 0 == result; ++i) {
        struct drawing *drawing = &drawings[i];
        const int root = 0 == i ? 0 : pictures[kind].other_root;

        drawing->node_of = ADAPT_TREE_TOPOLOGY == kind ? nodes : NULL;
        drawing->by_rank = pictures[kind].by_rank;
        drawing->line = 0.0 < pictures[kind].line ? pictures[kind].line : usual_line;
        drawing->top = bottom + RADIUS + panel_heading;
        result = make(drawing, kind, root);
        if (0 == result) {
            double used;

            place(drawing, root, 0);
            bottom = drawing->bottom + RADIUS + box_border;
            used = COLUMN * (drawing->columns - 1) + 2 * (MARGIN + RADIUS);
            width = used > width ? used : width;
        }
    }
    if (0 == result) {
        snprintf(title, sizeof(title), 0 != pictures[kind].degree ? "%s, degree %d" : "%s",
                 mca_coll_adapt_trees[kind].name, pictures[kind].degree);
        print_start(width, bottom + MARGIN, title);
        caption(kind, true);
        for (int i = 0; i < count; ++i) {
            shift_right(&drawings[i], (width - COLUMN * (drawings[i].columns - 1)) / 2);
            if (1 < count) {
                printf("  <text x=\"%g\" y=\"%g\" class=\"help\">root %d</text>\n", MARGIN,
                       drawings[i].top - RADIUS - 8, drawings[i].ranks[0].root);
            }
            print_tree(&drawings[i]);
        }
        printf("</svg>\n");
    }
    for (int i = 0; i < count; ++i) {
        for (int rank = 0; rank < RANKS; ++rank) {
            mca_coll_adapt_tree_free(&drawings[i].ranks[rank]);
        }
    }
    return result;
}

int main(int argc, char **argv)
{
    for (int kind = ADAPT_TREE_AUTO + 1; kind < ADAPT_TREE_COUNT; ++kind) {
        const char *name = mca_coll_adapt_trees[kind].name;

        if (argc < 2) {
            puts(name);
        } else if (0 == strcmp(name, argv[1])) {
            return 0 == draw((mca_coll_adapt_tree_kind_t) kind) ? EXIT_SUCCESS : EXIT_FAILURE;
        }
    }
    return argc < 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
