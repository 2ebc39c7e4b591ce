/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include <limits.h>

#include "common/coll_told.h"
#include "common/coll_unused.h"
#include "common/coll_variables.h"

static int han_register(void);
static int han_open(void);
static int han_close(void);

mca_coll_han_component_t mca_coll_han_component = {
    .super = {
        .collm_version = {
            MCA_COLL_HAN_BASE_VERSION,
            .mca_component_name = MCA_COLL_HAN_NAME,
            MCA_COLL_HAN_VERSION,
            .mca_open_component = han_open,
            .mca_close_component = han_close,
            .mca_register_component_params = han_register,
        },
        .collm_data = { .param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT },
        .collm_init_query = mca_coll_han_init_query,
        .collm_comm_query = mca_coll_han_comm_query,
    },
    .priority = 35, /* above coll/tuned's 30 */
    .start = 128,
    .output = 0,
};

/* "auto" and the names of a level's submodules. */
static void list_choices(mca_coll_han_level_id_t level, mca_base_var_enum_value_t values[HAN_CHOICE_COUNT + 2])
{
    int used = 0;

    values[used++] = (mca_base_var_enum_value_t){ HAN_AUTO, "auto" };
    for (int i = 0; i < HAN_CHOICE_COUNT; ++i) {
        if (HAN_AUTO != mca_coll_han_choices[level][i]) {
            values[used++]
                = (mca_base_var_enum_value_t){ i, mca_coll_han_submodule_names[mca_coll_han_choices[level][i]] };
        }
    }
    values[used] = (mca_base_var_enum_value_t){ 0, NULL };
}

static int register_module(const char *collective, mca_coll_han_level_id_t level, int *storage)
{
    static const char *const where[HAN_LEVEL_COUNT] = { [HAN_LOW] = "inside a node", [HAN_UP] = "between nodes" };
    mca_base_var_enum_value_t values[HAN_CHOICE_COUNT + 2];
    char name[64], help[160];

    list_choices(level, values);
    snprintf(name, sizeof(name), "%s_%s_module", collective, mca_coll_han_level_names[level]);
    snprintf(help, sizeof(help), "Component that does %s's part %s; auto: HAN chooses", collective, where[level]);
    return coll_variable_choice(&mca_coll_han_component.super.collm_version, name, help, values, storage);
}

/* Those that the collective has. */
static int register_algorithm(mca_coll_han_collective_t id, int *storage)
{
    const char *collective = mca_coll_han_collective_names[id];
    const mca_coll_han_input_t good = mca_coll_han_input_good(id);
    mca_base_var_enum_value_t values[HAN_ALGORITHM_COUNT + 2] = { { HAN_AUTO, "auto" } };
    char name[64], help[1024];
    size_t used;
    int count = 1;

    used = (size_t) snprintf(help, sizeof(help), "How %s is done; auto: HAN chooses", collective);
    for (int i = 0; i < HAN_ALGORITHM_COUNT; ++i) {
        if (mca_coll_han_fits((mca_coll_han_algorithm_id_t) i, &good)) {
            values[count++] = (mca_base_var_enum_value_t){ i, mca_coll_han_algorithms[i].name };
            used += (size_t) snprintf(help + used, sizeof(help) - used, "; %s: %s", mca_coll_han_algorithms[i].name,
                                      mca_coll_han_algorithms[i].help);
        }
    }
    snprintf(name, sizeof(name), "%s_algorithm", collective);
    return coll_variable_choice(&mca_coll_han_component.super.collm_version, name, help, values, storage);
}

/* What of a collective can be set beside its algorithm: only what has stages has submodules. */
enum { SEGMENTS = 1, MODULES = 2, LANES = 4, GROUPS = 8 };

static const int settable[HAN_COLLECTIVE_COUNT] = {
    [HAN_BCAST] = SEGMENTS | MODULES | LANES | GROUPS,
    [HAN_REDUCE] = SEGMENTS | MODULES | LANES | GROUPS,
    [HAN_ALLREDUCE] = SEGMENTS | MODULES | LANES | GROUPS,
    [HAN_BARRIER] = MODULES,
    [HAN_ALLGATHER] = SEGMENTS | LANES,
    [HAN_ALLGATHERV] = SEGMENTS | LANES,
    [HAN_REDUCE_SCATTER_BLOCK] = SEGMENTS | LANES,
    [HAN_REDUCE_SCATTER] = SEGMENTS | LANES,
    [HAN_ALLTOALL] = SEGMENTS,
    [HAN_ALLTOALLV] = SEGMENTS,
    [HAN_SCAN] = SEGMENTS,
    [HAN_EXSCAN] = SEGMENTS,
};

/* What of a collective is a number; 0: HAN chooses. */
static const struct {
    int which;
    const char *name;
    const char *help; /* "%s" is the collective */
    int most;
    size_t place; /* in the settings */
} numbers[] = {
    { SEGMENTS, "segsize", "Segment size of %s in packed bytes; 0: HAN chooses", 1 << 30,
      offsetof(mca_coll_han_settings_t, segsize) },
    { LANES, "lanes",
      "Ranks of a node that talk to other nodes in %s by tree or ring, each for a part of what is moved; 0: HAN "
      "chooses",
      HAN_MOST_LANES, offsetof(mca_coll_han_settings_t, lanes) },
    { GROUPS, "groups", "Groups of consecutive ranks in %s; asks for algorithm groups; 0: HAN chooses", INT_MAX,
      offsetof(mca_coll_han_settings_t, groups) },
};

static int register_collective(mca_coll_han_collective_t id, mca_coll_han_settings_t *settings)
{
    const char *collective = mca_coll_han_collective_names[id];
    char name[64], help[160];
    int rc;

    *settings = mca_coll_han_unset;
    rc = register_algorithm(id, &settings->algorithm);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && OMPI_SUCCESS == rc; ++i) {
        if (0 != (numbers[i].which & settable[id])) {
            snprintf(name, sizeof(name), "%s_%s", collective, numbers[i].name);
            snprintf(help, sizeof(help), numbers[i].help, collective);
            rc = coll_variable_number(&mca_coll_han_component.super.collm_version, name, help, 0, numbers[i].most,
                                      (int *) ((char *) settings + numbers[i].place));
        }
    }
    for (int level = HAN_LOW; level < HAN_LEVEL_COUNT && 0 != (MODULES & settable[id]) && OMPI_SUCCESS == rc; ++level) {
        rc = register_module(collective, (mca_coll_han_level_id_t) level,
                             HAN_LOW == level ? &settings->low_module : &settings->up_module);
    }
    return rc;
}

/* The name of a file. */
static int register_file(const char *name, const char *help, char **file)
{
    int rc;

    *file = NULL;
    rc = mca_base_component_var_register(&mca_coll_han_component.super.collm_version, name, help,
                                         MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0, OPAL_INFO_LVL_5,
                                         MCA_BASE_VAR_SCOPE_READONLY, file);
    if (NULL != *file) {
        coll_variable_trim(*file);
    }
    return 0 > rc ? rc : OMPI_SUCCESS;
}

/* The files that decide. */
static int register_rules(void)
{
    static const mca_base_var_enum_value_t use[] = { { HAN_AUTO, "auto" }, { 0, "false" }, { 1, "true" }, { 0, NULL } };
    static const mca_base_var_enum_value_t strict[] = { { 0, "false" }, { 1, "true" }, { 0, NULL } };
    const mca_base_component_t *self = &mca_coll_han_component.super.collm_version;
    int rc;

    mca_coll_han_component.use_rules_file = HAN_AUTO;
    mca_coll_han_component.rules_strict = 0;
    rc = register_file(
        "dynamic_rules_filename",
        "File of rules, the same on all nodes: by which algorithm and parameters a collective is done, by "
        "nodes, ranks per node and bytes; they come before the cost model (docs/rules.md)",
        &mca_coll_han_component.rules_file);
    if (OMPI_SUCCESS == rc) {
        rc = register_file(
            "machine",
            "File with the numbers of the machine, the same on all nodes: where no rule of a file decides, the cost "
            "model does, for this machine (docs/model.md); " COLL_VARIABLE_AUTO
            ", also where nothing is given: the one in the file of rules, else it is measured in "
            "MPI_Init; " COLL_VARIABLE_NONE ": nothing is measured, and it is taken to be TCP at 40 Gbit/s",
            &mca_coll_han_component.machine_file);
    }
    if (OMPI_SUCCESS == rc) {
        rc = coll_variable_fixed_choice(self, "use_dynamic_file_rules",
                                        "Whether coll_han_dynamic_rules_filename is used; auto: where it is given", use,
                                        &mca_coll_han_component.use_rules_file);
    }
    if (OMPI_SUCCESS == rc) {
        rc = coll_variable_fixed_choice(
            self, "rules_strict",
            "Whether the job ends where a file, of rules or with a machine, cannot be used; false: one rank "
            "tells why, and HAN goes on without it",
            strict, &mca_coll_han_component.rules_strict);
    }
    return rc;
}

static int han_register(void)
{
    const mca_base_component_t *self = &mca_coll_han_component.super.collm_version;
    int rc;

    rc = coll_variable_number(self, "priority", "Priority of the component; 0 or less: HAN is not used", INT_MIN,
                              INT_MAX, &mca_coll_han_component.priority);
    if (OMPI_SUCCESS == rc) {
        rc = coll_variable_number(self, "verbose",
                                  "0: silent; 1: the levels of each communicator, or why HAN has no part in it; 2: "
                                  "also each call, and why it goes "
                                  "the way it goes (told by rank 0 of the communicator)",
                                  0, 100, &mca_coll_han_component.verbose);
    }
    if (OMPI_SUCCESS == rc) {
        rc = coll_variable_number(self, "reproducible",
                                  "1: reductions are combined in an order that depends on ranks only, not on the nodes "
                                  "where these are: by the component that would do it without HAN and SOLO",
                                  0, 1, &mca_coll_han_component.reproducible);
    }
    if (OMPI_SUCCESS == rc) {
        rc = coll_variable_number(self, "start",
                                  "A communicator gets sub-communicators when it has had so many calls that are to go "
                                  "level by level, each KiB of their messages counting as one more; before, they go "
                                  "another way; 0: at the first one",
                                  0, INT_MAX, &mca_coll_han_component.start);
    }
    rc = OMPI_SUCCESS == rc ? register_rules() : rc;
    for (int i = 0; i < HAN_COLLECTIVE_COUNT && OMPI_SUCCESS == rc; ++i) {
        rc = register_collective((mca_coll_han_collective_t) i, &mca_coll_han_component.settings[i]);
    }
    return OMPI_SUCCESS == rc ? mca_coll_han_selection_widen() : rc;
}

static int han_open(void)
{
    mca_coll_han_component.output = opal_output_open(NULL);
    coll_told_tell(&mca_coll_han_component.super.collm_version);
    coll_unused_tell(&mca_coll_han_component.super.collm_version);
    if (coll_told_has_others() && 0 == OPAL_PROC_MY_NAME.vpid) {
        const mca_base_component_t *self = &mca_coll_han_component.super.collm_version;

        HAN_VERBOSE(1, "coll:han: this is HAN %d.%d.%d, not the component of that name that Open MPI brings",
                    self->mca_component_major_version, self->mca_component_minor_version,
                    self->mca_component_release_version);
    }
    mca_coll_han_table_open();
    return OMPI_SUCCESS;
}

static int han_close(void)
{
    opal_output_close(mca_coll_han_component.output);
    mca_coll_han_component.output = 0;
    mca_coll_han_nodes_finalize();
    mca_coll_han_sockets_finalize();
    mca_coll_han_table_close();
    return OMPI_SUCCESS;
}
