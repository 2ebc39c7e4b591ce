/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han_fields.h"

#include "coll_han_tasks.h"

#include <limits.h>
#include <string.h>

const char *mca_coll_han_word_of_collective(int i, int *value)
{
    *value = i;
    return HAN_COLLECTIVE_COUNT > i ? mca_coll_han_collective_names[i] : NULL;
}

static const char *word_of_algorithm(int i, int *value)
{
    *value = 0 == i ? HAN_AUTO : i - 1;
    return 0 == i ? "auto" : HAN_ALGORITHM_COUNT >= i ? mca_coll_han_algorithms[i - 1].name : NULL;
}

static const char *word_of_level(mca_coll_han_level_id_t level, int i, int *value)
{
    *value = HAN_CHOICE_COUNT > i ? (int) mca_coll_han_choices[level][i] : HAN_AUTO;
    return HAN_AUTO != *value ? mca_coll_han_submodule_names[*value] : NULL;
}

static const char *word_of_up(int i, int *value)
{
    return word_of_level(HAN_UP, i, value);
}

static const char *word_of_low(int i, int *value)
{
    return word_of_level(HAN_LOW, i, value);
}

/* Those that need no levels of their own. */
static const char *word_of_tree(int i, int *value)
{
    *value = i + 1;
    return ADAPT_TREE_TOPOLOGY > i + 1 ? mca_coll_han_tree_names[i + 1] : NULL;
}

static const char *word_of_low_tree(int i, int *value)
{
    *value = ADAPT_TREE_AUTO;
    return 0 == i ? mca_coll_han_tree_names[ADAPT_TREE_AUTO] : word_of_tree(i - 1, value);
}

static const char *word_of_order(int i, int *value)
{
    static const char *const names[]
        = { [HAN_ORDER_ANY] = "*", [HAN_ORDER_CONSECUTIVE] = "consecutive", [HAN_ORDER_SCATTERED] = "scattered", NULL };

    *value = i;
    return names[i];
}

static const char *word_of_form(int i, int *value)
{
    static const char *const names[] = { "*", [1 + HAN_BLOCKING] = "blocking", [1 + HAN_NONBLOCKING] = "nonblocking",
                                         [1 + HAN_PERSISTENT] = "persistent" };

    *value = 0 == i ? HAN_FORM_COUNT : i - 1;
    return HAN_FORM_COUNT >= i ? names[i] : NULL;
}

#define IN(name) offsetof(mca_coll_han_rule_t, name)

const mca_coll_han_field_t mca_coll_han_fields[] = {
    { .name = "nodes", HAN_INPUT, true, HAN_RANGE, IN(nodes), 1, INT_MAX },
    { .name = "ppn", HAN_INPUT, true, HAN_RANGE, IN(ppn), 1, INT_MAX },
    { .name = "bytes", HAN_INPUT, true, HAN_RANGE, IN(bytes), 0, SIZE_MAX },
    { .name = "order", HAN_INPUT, false, HAN_WORD, IN(order), .words = word_of_order },
    { .name = "form", HAN_INPUT, false, HAN_WORD, IN(form), .words = word_of_form },
    { .name = "algorithm", HAN_PARAMETER, true, HAN_WORD, IN(params.algorithm), .words = word_of_algorithm },
    { .name = "fs", HAN_PARAMETER, false, HAN_BYTES, IN(params.fs), 1, HAN_LARGEST_SEGMENT },
    { .name = "depth", HAN_PARAMETER, false, HAN_NUMBER, IN(params.depth), 1, MCA_COLL_HAN_MAX_DEPTH },
    { .name = "imod", HAN_PARAMETER, false, HAN_WORD, IN(params.imod), .words = word_of_up },
    { .name = "smod", HAN_PARAMETER, false, HAN_WORD, IN(params.smod), .words = word_of_low },
    { .name = "ibalg", HAN_PARAMETER, false, HAN_WORD, IN(params.ibalg), .words = word_of_tree, .instead = "iralg" },
    { .name = "iralg", HAN_PARAMETER, false, HAN_WORD, IN(params.iralg), .words = word_of_tree, .instead = "ibalg" },
    { .name = "ibs", HAN_PARAMETER, false, HAN_BYTES, IN(params.ibs), 0, HAN_LARGEST_SEGMENT, .instead = "irs" },
    { .name = "irs", HAN_PARAMETER, false, HAN_BYTES, IN(params.irs), 0, HAN_LARGEST_SEGMENT, .instead = "ibs" },
    { .name = "sbalg", HAN_PARAMETER, false, HAN_WORD, IN(params.sbalg), .words = word_of_low_tree },
    { .name = "lanes", HAN_PARAMETER, false, HAN_NUMBER, IN(params.lanes), 1, HAN_MOST_LANES },
    { .name = "groups", HAN_PARAMETER, false, HAN_NUMBER, IN(params.groups), 0, INT_MAX },
};

size_t mca_coll_han_field_size(mca_coll_han_field_type_t type)
{
    return HAN_RANGE == type ? sizeof(mca_coll_han_range_t) : HAN_BYTES == type ? sizeof(size_t) : sizeof(int);
}

mca_coll_han_rule_t mca_coll_han_rule_default(void)
{
    return (mca_coll_han_rule_t){
        .form = HAN_FORM_COUNT,
        .params = {
            .algorithm = HAN_FALLBACK,
            .fs = HAN_EAGER_SEGMENT,
            .depth = 4,
            .imod = HAN_ADAPT,
            .smod = HAN_TUNED,
            .ibalg = ADAPT_TREE_LINEAR,
            .iralg = ADAPT_TREE_LINEAR,
            .sbalg = ADAPT_TREE_AUTO,
            .lanes = 1,
        },
    };
}

int mca_coll_han_field_find(mca_coll_han_field_side_t side, const char *name)
{
    for (int i = 0; i < HAN_FIELD_COUNT; ++i) {
        if (side == mca_coll_han_fields[i].side && 0 == strcmp(name, mca_coll_han_fields[i].name)) {
            return i;
        }
    }
    return HAN_FIELD_COUNT;
}
