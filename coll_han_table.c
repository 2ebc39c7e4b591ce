/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules in force: those of a file, and the built-in ones. A file may be missing on one node, or another one there;
 * so nobody obeys it before all ranks know that all have the same, by a hash of its text. Whether one is wanted is a
 * parameter, which all have alike (coll_settle.h).
 *
 * For the ranks of one job this is settled once, in MPI_Init, when HAN is enabled on MPI_COMM_WORLD: later each rank
 * may be somewhere else (threads, sub-communicators), and could not tell whether the others have settled it yet. What
 * is settled then holds for all communicators of the job, and costs them nothing. A communicator with ranks of several
 * jobs settles it again, at its first blocking call; so do the communicators of a job where HAN was not on
 * MPI_COMM_WORLD.
 */
#include "coll_han.h"

#include <string.h>

#include "ompi/runtime/mpiruntime.h"
#include "opal/threads/mutex.h"

#include "common/coll_end.h"
#include "common/coll_settle.h"

static struct {
    opal_mutex_t lock; /* of reading the file */
    bool read;
    mca_coll_han_rules_t rules[HAN_TABLE_COUNT];
    mca_coll_han_rules_error_t error; /* what is wrong with the file */
    bool settled;                     /* in MPI_Init, for the job */
    bool by_file;                     /* its outcome */
} tables = { .lock = OPAL_MUTEX_STATIC_INIT };

/* -- what there is -- */

void mca_coll_han_table_open(void)
{
    mca_coll_han_rules_error_t error;

    if (0
        != mca_coll_han_rules_parse(&tables.rules[HAN_TABLE_BUILTIN], "built-in rules", mca_coll_han_builtin,
                                    strlen(mca_coll_han_builtin), &error)) {
        /* Unit tests have them parsed: they have no other fault. */
        coll_end("han", "the built-in rules");
    }
}

void mca_coll_han_table_close(void)
{
    for (int table = 0; table < HAN_TABLE_COUNT; ++table) {
        mca_coll_han_rules_free(&tables.rules[table]);
    }
    tables.read = tables.settled = tables.by_file = false;
}

static const char *file_name(void)
{
    return NULL == mca_coll_han_component.rules_file ? "" : mca_coll_han_component.rules_file;
}

/* To name a file is enough. */
static bool file_wanted(void)
{
    return 0 != mca_coll_han_component.use_rules_file
           && ('\0' != *file_name() || HAN_AUTO != mca_coll_han_component.use_rules_file);
}

/* The hash of the file; 0 where there is none that can be obeyed. */
static uint64_t file_hash(void)
{
    opal_mutex_lock(&tables.lock);
    if (!tables.read && file_wanted()) {
        mca_coll_han_rules_read(&tables.rules[HAN_TABLE_FILE], file_name(), &tables.error);
    }
    tables.read = true;
    opal_mutex_unlock(&tables.lock);
    return tables.rules[HAN_TABLE_FILE].hash;
}

/* -- whether all have the same -- */

/* The one message about a file that is not obeyed, from one rank. */
static void tell(void)
{
    const char *instead = mca_coll_han_component.rules_strict ? "coll_han_rules_strict is set: the job ends here"
                                                              : "the built-in rules are used";

    if ('\0' == *file_name()) {
        opal_output(mca_coll_han_component.output,
                    "coll:han: coll_han_use_dynamic_file_rules is set, but coll_han_dynamic_rules_filename is not; "
                    "accepted: the name of a file of rules; %s",
                    instead);
    } else if (0 != tables.error.line) {
        opal_output(mca_coll_han_component.output, "coll:han: %s:%d: %s; %s", file_name(), tables.error.line,
                    tables.error.what, instead);
    } else if ('\0' != tables.error.what[0]) {
        opal_output(mca_coll_han_component.output, "coll:han: %s on %s: %s; %s", file_name(),
                    opal_process_info.nodename, tables.error.what, instead);
    } else {
        opal_output(mca_coll_han_component.output,
                    "coll:han: %s on %s: it is not what it is elsewhere; accepted: the same file on all nodes; %s",
                    file_name(), opal_process_info.nodename, instead);
    }
}

static int least(const han_module_t *module, const void *own, void *result, int count, ompi_datatype_t *type)
{
    const mca_coll_han_fallback_t *fallback = &module->fallbacks[HAN_ALLREDUCE][HAN_BLOCKING];

    return fallback->fn.allreduce(own, result, count, type, &ompi_mpi_op_min.op, module->comm, fallback->module);
}

/* One rank tells what is wrong; where the user wants that, the job ends, but not before it has been told. */
static int complain(const han_module_t *module, bool odd)
{
    const int rank = ompi_comm_rank(module->comm);
    int own = odd ? rank : ompi_comm_size(module->comm), teller, rc;

    rc = least(module, &own, &teller, 1, &ompi_mpi_int.dt);
    if (OMPI_SUCCESS == rc && rank == teller) {
        tell();
    }
    if (OMPI_SUCCESS == rc && mca_coll_han_component.rules_strict) {
        rc = least(module, &own, &teller, 1, &ompi_mpi_int.dt);
        ompi_mpi_abort(module->comm, 1);
    }
    return rc;
}

/* Whether the rules of the file are those of this communicator; one allreduce, and a second one where they are not. */
static int settle(const han_module_t *module, bool *by_file)
{
    const uint64_t hash = !tables.settled || tables.by_file ? file_hash() : 0, own[] = { hash, ~hash };
    uint64_t result[2];
    int rc = least(module, own, result, 2, &ompi_mpi_uint64_t.dt);

    *by_file = false;
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (result[0] != ~result[1]) {
        return complain(module, hash != ~result[1]);
    }
    *by_file = 0 != hash;
    if (!*by_file && !tables.settled && file_wanted()) {
        return complain(module, true);
    }
    if (*by_file && 0 == ompi_comm_rank(module->comm)) {
        const mca_coll_han_rules_t *rules = &tables.rules[HAN_TABLE_FILE];

        HAN_VERBOSE(1, "coll:han: %s: the %zu rules of %s are used (made on: %s)", module->comm->c_name, rules->count,
                    file_name(), NULL == rules->machine ? "not said" : rules->machine);
    }
    return OMPI_SUCCESS;
}

int mca_coll_han_table_settle_job(const han_module_t *module)
{
    int rc;

    if (!file_wanted()) {
        return OMPI_SUCCESS;
    }
    rc = settle(module, &tables.by_file);
    tables.settled = OMPI_SUCCESS == rc;
    return rc;
}

int mca_coll_han_table_settle(han_module_t *module, bool exchange)
{
    int rc = OMPI_SUCCESS;

    if (module->rules_settled) {
        return OMPI_SUCCESS;
    }
    if (!file_wanted() || (tables.settled && coll_settle_one_job(module->comm))) {
        module->by_file = tables.by_file;
    } else {
        rc = exchange ? settle(module, &module->by_file) : OMPI_ERR_NOT_FOUND;
    }
    module->rules_settled = OMPI_SUCCESS == rc;
    return rc;
}

/* -- what they say -- */

int mca_coll_han_table_find(han_module_t *module, const mca_coll_han_input_t *input,
                            const mca_coll_han_params_t **params)
{
    for (int table = module->by_file ? HAN_TABLE_FILE : HAN_TABLE_BUILTIN; table < HAN_TABLE_COUNT; ++table) {
        mca_coll_han_lookup_t *lookup = &module->lookups[table][input->collective][input->form];
        const mca_coll_han_rule_t *rule;

        if (!lookup->made && 0 != mca_coll_han_lookup_make(lookup, &tables.rules[table], input)) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        rule = mca_coll_han_lookup_find(lookup, input->bytes);
        if (NULL != rule
            && (HAN_TABLE_BUILTIN == table || (!rule->leave && mca_coll_han_fits(rule->params.algorithm, input)))) {
            *params = &rule->params;
            return OMPI_SUCCESS;
        }
    }
    return OMPI_ERR_NOT_FOUND;
}
