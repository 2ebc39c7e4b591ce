/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_adapt.h"

#include "common/coll_told.h"
#include "common/coll_unused.h"
#include "common/coll_variables.h"

static int adapt_register(void);
static int adapt_open(void);
static int adapt_close(void);

mca_coll_adapt_component_t mca_coll_adapt_component = {
    .super = {
        .collm_version = {
            MCA_COLL_BASE_VERSION_2_0_0,
            .mca_component_name = "adapt",
            MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
            .mca_open_component = adapt_open,
            .mca_close_component = adapt_close,
            .mca_register_component_params = adapt_register,
        },
        .collm_data = { .param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT },
        .collm_init_query = mca_coll_adapt_init_query,
        .collm_comm_query = mca_coll_adapt_comm_query,
    },
    /* Below all others: there for who asks for it (HAN, the user), and in nobody's way. */
    .priority = 0,
};

const char *const mca_coll_adapt_collective_names[ADAPT_COLLECTIVE_COUNT] = {
    [ADAPT_BCAST] = "bcast",
    [ADAPT_REDUCE] = "reduce",
    [ADAPT_ALLREDUCE] = "allreduce",
    [ADAPT_BARRIER] = "barrier",
};

static const mca_coll_adapt_settings_t defaults[ADAPT_COLLECTIVE_COUNT] = {
    [ADAPT_BCAST] = { ADAPT_TREE_AUTO, 1, 32768, 0, 3, 6 },
    [ADAPT_REDUCE] = { ADAPT_TREE_AUTO, 1, 32768, 0, 3, 6 },
    [ADAPT_ALLREDUCE] = { ADAPT_TREE_AUTO, 1, 32768, 0, 3, 6 },
    [ADAPT_BARRIER] = { ADAPT_TREE_AUTO, 1, 0, 0, 1, 2 },
};

/* The trees; a user cannot give the topology-aware one its groups. */
static int register_algorithm(mca_coll_adapt_collective_t collective, int *storage)
{
    mca_base_var_enum_value_t values[ADAPT_ALGORITHM_COUNT + 1];
    char name[64];
    int used = 0;

    for (int kind = 0; kind < ADAPT_TREE_COUNT; ++kind) {
        if (ADAPT_TREE_TOPOLOGY != kind) {
            values[used++] = (mca_base_var_enum_value_t){ kind, mca_coll_adapt_trees[kind].name };
        }
    }
    if (ADAPT_ALLREDUCE == collective) {
        values[used++] = (mca_base_var_enum_value_t){ ADAPT_RING, "ring" };
        values[used++] = (mca_base_var_enum_value_t){ ADAPT_RECURSIVE_DOUBLING, "recursive_doubling" };
    }
    values[used] = (mca_base_var_enum_value_t){ 0, NULL };
    snprintf(name, sizeof(name), "%s_algorithm", mca_coll_adapt_collective_names[collective]);
    return coll_variable_choice(&mca_coll_adapt_component.super.collm_version, name,
                                "The algorithm; auto: by size and operation", values, storage);
}

/* What of a collective is a number. */
static const struct {
    const char *name, *help;
    int least, most;
    size_t place; /* in the settings */
} numbers[] = {
    { "groups", "Groups of consecutive ranks, each with a tree of its own, and one of their leaders", 1, INT_MAX,
      offsetof(mca_coll_adapt_settings_t, groups) },
    { "segment_size", "Segment size in bytes; 0: the message whole", 0, 1 << 30,
      offsetof(mca_coll_adapt_settings_t, segment_size) },
    { "segments", "Where not 0: that many segments, whatever the message's size", 0, 1 << 20,
      offsetof(mca_coll_adapt_settings_t, segments) },
    { "max_send_requests", "Sends under way to each peer", 1, 1024,
      offsetof(mca_coll_adapt_settings_t, max_send_requests) },
    { "max_recv_requests", "Receives posted for each peer; more than sends, so that no message comes unexpected", 1,
      2048, offsetof(mca_coll_adapt_settings_t, max_recv_requests) },
};

static int register_collective(mca_coll_adapt_collective_t collective, mca_coll_adapt_settings_t *settings)
{
    int rc = register_algorithm(collective, &settings->algorithm);

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && OMPI_SUCCESS == rc; ++i) {
        char name[64];

        snprintf(name, sizeof(name), "%s_%s", mca_coll_adapt_collective_names[collective], numbers[i].name);
        rc = coll_variable_number(&mca_coll_adapt_component.super.collm_version, name, numbers[i].help,
                                  numbers[i].least, numbers[i].most, (int *) ((char *) settings + numbers[i].place));
    }
    return rc;
}

static int adapt_register(void)
{
    const mca_base_component_t *self = &mca_coll_adapt_component.super.collm_version;
    int rc;

    rc = coll_variable_number(self, "priority", "Priority of the component; less than 0: it is not used at all",
                              INT_MIN, INT_MAX, &mca_coll_adapt_component.priority);
    if (OMPI_SUCCESS == rc) {
        rc = coll_variable_number(self, "verbose", "0: silent; 2: each call (told by rank 0 of the communicator)", 0,
                                  100, &mca_coll_adapt_component.verbose);
    }
    for (int i = 0; i < ADAPT_COLLECTIVE_COUNT && OMPI_SUCCESS == rc; ++i) {
        mca_coll_adapt_component.settings[i] = defaults[i];
        rc = register_collective((mca_coll_adapt_collective_t) i, &mca_coll_adapt_component.settings[i]);
    }
    return rc;
}

static int adapt_open(void)
{
    mca_coll_adapt_component.output = opal_output_open(NULL);
    coll_told_tell(&mca_coll_adapt_component.super.collm_version);
    coll_unused_tell(&mca_coll_adapt_component.super.collm_version);
    return OMPI_SUCCESS;
}

static int adapt_close(void)
{
    mca_coll_adapt_copies_end();
    mca_coll_adapt_memory_end();
    opal_output_close(mca_coll_adapt_component.output);
    mca_coll_adapt_component.output = 0;
    return OMPI_SUCCESS;
}
