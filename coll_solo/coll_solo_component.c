/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

#include "common/coll_told.h"
#include "common/coll_unused.h"
#include "common/coll_variables.h"

static int solo_register(void);
static int solo_open(void);
static int solo_close(void);

mca_coll_solo_component_t mca_coll_solo_component = {
    .super = {
        .collm_version = {
            MCA_COLL_BASE_VERSION_2_0_0,
            .mca_component_name = "solo",
            MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
            .mca_open_component = solo_open,
            .mca_close_component = solo_close,
            .mca_register_component_params = solo_register,
        },
        .collm_data = { .param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT },
        .collm_init_query = mca_coll_solo_init_query,
        .collm_comm_query = mca_coll_solo_comm_query,
    },
    /* Above coll/tuned: what that does better is left to it, call by call. */
    .priority = 40,
    .single_copy = 1,
    .segment_size = 32768,
    .max_memory = 512 << 20,
    .start = 128,
};

const char *const mca_coll_solo_collective_names[SOLO_COLLECTIVE_COUNT] = {
    [SOLO_BCAST] = "bcast",         [SOLO_REDUCE] = "reduce",
    [SOLO_ALLREDUCE] = "allreduce", [SOLO_BARRIER] = "barrier",
    [SOLO_GATHER] = "gather",       [SOLO_SCATTER] = "scatter",
    [SOLO_ALLGATHER] = "allgather", [SOLO_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [SOLO_ALLTOALL] = "alltoall",
};

const char *const mca_coll_solo_algorithm_names[SOLO_ALGORITHM_COUNT][2] = {
    [SOLO_FALLBACK] = { "fallback", "the component that would do it without SOLO" },
    [SOLO_COPY] = { "copy", "through shared memory, segment by segment" },
    [SOLO_SLICES] = { "slices", "as copy, but every rank reduces a slice (reduce and allreduce)" },
    [SOLO_SINGLE_COPY] = { "single_copy", "from memory to memory of the processes" },
};

/* A barrier has one algorithm, and there is the fallback; only reductions have slices. */
static bool has(mca_coll_solo_collective_t collective, int algorithm)
{
    switch (algorithm) {
    case SOLO_SLICES:
        return SOLO_REDUCE == collective || SOLO_ALLREDUCE == collective;
    case SOLO_SINGLE_COPY:
        return SOLO_BARRIER != collective;
    default:
        return true;
    }
}

static int register_algorithm(mca_coll_solo_collective_t collective, int *storage)
{
    mca_base_var_enum_value_t values[SOLO_ALGORITHM_COUNT + 2] = { { SOLO_AUTO, "auto" } };
    char name[64], help[512];
    int used = 1;
    size_t length;

    length = (size_t) snprintf(help, sizeof(help), "How %s is done; auto: by size",
                               mca_coll_solo_collective_names[collective]);
    for (int i = 0; i < SOLO_ALGORITHM_COUNT; ++i) {
        if (has(collective, i)) {
            values[used++] = (mca_base_var_enum_value_t){ i, mca_coll_solo_algorithm_names[i][0] };
            length += (size_t) snprintf(help + length, sizeof(help) - length, "; %s: %s",
                                        mca_coll_solo_algorithm_names[i][0], mca_coll_solo_algorithm_names[i][1]);
        }
    }
    values[used] = (mca_base_var_enum_value_t){ 0, NULL };
    *storage = SOLO_AUTO;
    snprintf(name, sizeof(name), "%s_algorithm", mca_coll_solo_collective_names[collective]);
    return coll_variable_choice(&mca_coll_solo_component.super.collm_version, name, help, values, storage);
}

static int solo_register(void)
{
    static const mca_base_var_enum_value_t off_on[] = { { 0, "off" }, { 1, "on" }, { 0, NULL } };
    static const struct {
        const char *name, *help;
        int minimum, maximum;
        int *storage;
    } numbers[] = {
        { "priority", "Priority of the component; above coll/tuned's 30: used; less than 0: not used at all", INT_MIN,
          INT_MAX, &mca_coll_solo_component.priority },
        { "verbose",
          "0: silent; 1: the shared memory of each communicator, and what it moved; 2: also each call (told by rank 0 "
          "of the communicator)",
          0, 100, &mca_coll_solo_component.verbose },
        { "segment_size",
          "Bytes of a segment in shared memory. A communicator of n ranks takes n times 8 of them, and a few lines",
          256, 16 << 20, &mca_coll_solo_component.segment_size },
        { "max_memory",
          "Bytes of shared memory that a process maps, at most; communicators that come later do without SOLO", 0,
          INT_MAX, &mca_coll_solo_component.max_memory },
        { "start",
          "A communicator gets its shared memory when it has had so many calls, each KiB of their messages counting as "
          "one more; the fallback does those before; 0: at its first call",
          0, INT_MAX, &mca_coll_solo_component.start },
    };
    const mca_base_component_t *self = &mca_coll_solo_component.super.collm_version;
    int rc;

    rc = coll_variable_choice(self, "single_copy",
                              "Whether large messages go from memory to memory of the processes, where the system "
                              "allows it",
                              off_on, &mca_coll_solo_component.single_copy);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && OMPI_SUCCESS == rc; ++i) {
        rc = coll_variable_number(self, numbers[i].name, numbers[i].help, numbers[i].minimum, numbers[i].maximum,
                                  numbers[i].storage);
    }
    for (int i = 0; i < SOLO_COLLECTIVE_COUNT && OMPI_SUCCESS == rc; ++i) {
        rc = register_algorithm((mca_coll_solo_collective_t) i, &mca_coll_solo_component.algorithms[i]);
    }
    return rc;
}

static int solo_open(void)
{
    mca_coll_solo_component.output = opal_output_open(NULL);
    coll_told_tell(&mca_coll_solo_component.super.collm_version);
    coll_unused_tell(&mca_coll_solo_component.super.collm_version);
    return OMPI_SUCCESS;
}

static int solo_close(void)
{
    opal_output_close(mca_coll_solo_component.output);
    mca_coll_solo_component.output = 0;
    mca_coll_solo_groups_close();
    return OMPI_SUCCESS;
}
