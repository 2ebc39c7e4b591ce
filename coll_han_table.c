/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What decides: the rules of a file; a machine, for which the model chooses: of a file of its own, of the rules' file,
 * measured, or one of which nothing is known; and the built-in rules, of what has no time that a model could tell. A
 * file may be missing on one node, or another one there; so nobody obeys it before all ranks know that all have the
 * same, by a hash of its text. Whether one is wanted is a parameter, which all have alike (coll_settle.h).
 *
 * For the ranks of one job this is settled once, in MPI_Init, when HAN is enabled on MPI_COMM_WORLD: later each rank
 * may be somewhere else (threads, sub-communicators), and could not tell whether the others have settled it yet. What
 * is settled then holds for all communicators of the job, and costs them nothing. A communicator with ranks of several
 * jobs settles it again, at its first blocking call; so do the communicators of a job where HAN was not on
 * MPI_COMM_WORLD.
 */
#include "coll_han.h"

#include <stdatomic.h>
#include <string.h>

#include "ompi/runtime/mpiruntime.h"
#include "opal/threads/mutex.h"

#include "coll_han_classes.h"
#include "common/coll_end.h"
#include "common/coll_settle.h"

/* A file that the user names. */
struct file {
    uint64_t hash;                   /* of its text; 0: there is nothing that can be obeyed */
    mca_coll_han_text_error_t error; /* what is wrong with it */
    bool used;                       /* by the job: settled in MPI_Init */
};

static struct {
    opal_mutex_t lock; /* of reading the files */
    bool read;
    struct file files[HAN_FILE_COUNT];
    mca_coll_han_rules_t rules[HAN_TABLE_COUNT];
    mca_coll_han_machine_t machine, unknown; /* unknown: the one of which nothing is known */
    bool measured;                           /* the machine */
    bool settled;                            /* in MPI_Init, for the job */
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
    mca_coll_han_classes_machine(&tables.unknown, &(mca_coll_han_facts_t){ 0 });
}

void mca_coll_han_table_close(void)
{
    for (int table = 0; table < HAN_TABLE_COUNT; ++table) {
        mca_coll_han_rules_free(&tables.rules[table]);
    }
    memset(tables.files, 0, sizeof(tables.files));
    tables.read = tables.measured = tables.settled = false;
}

/* "" where none is given. */
static const char *name_of(mca_coll_han_file_id_t id)
{
    const char *name = HAN_FILE_RULES == id ? mca_coll_han_component.rules_file : mca_coll_han_component.machine_file;

    return NULL == name || 0 == strcmp(COLL_VARIABLE_AUTO, name) ? "" : name;
}

/* Whether the model is to know the machine. Which one it is, MPI_Init finds out, unless a file says it: of a machine,
 * or the rules. */
static bool knows_machine(void)
{
    return 0 != strcmp(COLL_VARIABLE_NONE, name_of(HAN_FILE_MACHINE));
}

/* Whether the user wants a file to be read. To name one is enough. */
static bool wanted(mca_coll_han_file_id_t id)
{
    if (HAN_FILE_MACHINE == id) {
        return knows_machine() && '\0' != *name_of(id);
    }
    return 0 != mca_coll_han_component.use_rules_file
           && ('\0' != *name_of(id) || HAN_AUTO != mca_coll_han_component.use_rules_file);
}

/* Whether the machine comes with the rules. */
static bool carried(void)
{
    return knows_machine() && !wanted(HAN_FILE_MACHINE) && 0 != tables.rules[HAN_TABLE_FILE].numbers.hash;
}

static bool any_wanted(void)
{
    return wanted(HAN_FILE_RULES) || wanted(HAN_FILE_MACHINE);
}

/* Whether anything decides that must first be known to be the same on all ranks. */
static bool to_settle(void)
{
    return wanted(HAN_FILE_RULES) || knows_machine();
}

/* Reads the files that are wanted, once. */
static void read_files(void)
{
    opal_mutex_lock(&tables.lock);
    if (!tables.read && wanted(HAN_FILE_RULES)) {
        mca_coll_han_rules_read(&tables.rules[HAN_TABLE_FILE], name_of(HAN_FILE_RULES),
                                &tables.files[HAN_FILE_RULES].error);
        tables.files[HAN_FILE_RULES].hash = tables.rules[HAN_TABLE_FILE].hash;
    }
    if (!tables.read && carried()) {
        tables.machine = tables.rules[HAN_TABLE_FILE].numbers;
        tables.files[HAN_FILE_MACHINE].hash = tables.machine.hash;
    }
    if (!tables.read && wanted(HAN_FILE_MACHINE)) {
        mca_coll_han_machine_read(&tables.machine, name_of(HAN_FILE_MACHINE), &tables.files[HAN_FILE_MACHINE].error);
        tables.files[HAN_FILE_MACHINE].hash = tables.machine.hash;
    }
    tables.read = true;
    opal_mutex_unlock(&tables.lock);
}

/* -- whether all have the same -- */

/* The one message about a file that is not obeyed, from one rank; on each communicator over jobs that differ it is
 * found out anew, but told once by each job. */
static void tell(mca_coll_han_file_id_t id, const char *otherwise)
{
    static atomic_bool told[HAN_FILE_COUNT];
    const char *instead
        = mca_coll_han_component.rules_strict ? "coll_han_rules_strict is set: the job ends here" : otherwise;
    const mca_coll_han_text_error_t *error = &tables.files[id].error;

    if (atomic_exchange(&told[id], true)) {
        return;
    }
    if ('\0' == *name_of(id)) {
        opal_output(mca_coll_han_component.output,
                    "coll:han: coll_han_use_dynamic_file_rules is set, but coll_han_dynamic_rules_filename is not; "
                    "accepted: the name of a file of rules; %s",
                    instead);
    } else if (0 != error->line) {
        opal_output(mca_coll_han_component.output, "coll:han: %s:%d: %s; %s", name_of(id), error->line, error->what,
                    instead);
    } else if ('\0' != error->what[0]) {
        opal_output(mca_coll_han_component.output, "coll:han: %s on %s: %s; %s", name_of(id),
                    opal_process_info.nodename, error->what, instead);
    } else {
        opal_output(mca_coll_han_component.output,
                    "coll:han: %s on %s: it is not what it is elsewhere; accepted: the same file on all nodes; %s",
                    name_of(id), opal_process_info.nodename, instead);
    }
}

static void least(han_module_t *module, const void *own, void *result, int count, ompi_datatype_t *type)
{
    mca_coll_han_ask(module, own, result, count, type, &ompi_mpi_op_min.op, "the files that decide cannot be settled");
}

/* One rank tells what is wrong; where the user wants that, the job ends, but not before it has been told. */
static void complain(han_module_t *module, mca_coll_han_file_id_t id, bool odd)
{
    const int rank = ompi_comm_rank(module->comm);
    int own = odd ? rank : ompi_comm_size(module->comm), teller;

    least(module, &own, &teller, 1, &ompi_mpi_int.dt);
    if (rank == teller) {
        tell(id, "HAN goes on without it");
    }
    if (mca_coll_han_component.rules_strict) {
        least(module, &own, &teller, 1, &ompi_mpi_int.dt);
        ompi_mpi_abort(module->comm, 1);
    }
}

/* What is used from now on, to who wants to know, from one rank. */
static void say_used(const han_module_t *module, mca_coll_han_file_id_t id)
{
    char text[HAN_MACHINE_TEXT];

    if (0 != ompi_comm_rank(module->comm)) {
        return;
    }
    if (HAN_FILE_MACHINE == id) {
        HAN_VERBOSE(1, "coll:han: %s: the machine %s%s is used:\n%s", module->comm->c_name,
                    tables.measured ? "that was measured" : "of ",
                    tables.measured ? "" : name_of(carried() ? HAN_FILE_RULES : id),
                    mca_coll_han_machine_format(&tables.machine, text, sizeof(text)));
    } else {
        const mca_coll_han_rules_t *rules = &tables.rules[HAN_TABLE_FILE];

        HAN_VERBOSE(1, "coll:han: %s: the %zu rules of %s are used (made on: %s)", module->comm->c_name, rules->count,
                    name_of(id), NULL == rules->machine ? "not said" : rules->machine);
    }
}

/*
 * Whether the files are those of this communicator; one allreduce, and a second one for each that is not. That a
 * machine was measured, which each job does for itself, and they have not found the same, is no fault of the user.
 */
static void settle(han_module_t *module, bool used[HAN_FILE_COUNT])
{
    enum { BY_FILE = 2 * HAN_FILE_COUNT, NUMBERS };
    uint64_t own[NUMBERS], result[NUMBERS];

    read_files();
    for (int id = 0; id < HAN_FILE_COUNT; ++id) {
        own[2 * id] = !tables.settled || tables.files[id].used ? tables.files[id].hash : 0;
        own[2 * id + 1] = ~own[2 * id];
        used[id] = false;
    }
    own[BY_FILE] = wanted(HAN_FILE_MACHINE) && !tables.measured;
    least(module, own, result, NUMBERS, &ompi_mpi_uint64_t.dt);
    for (int i = 0; i < HAN_FILE_COUNT; ++i) {
        const mca_coll_han_file_id_t id = (mca_coll_han_file_id_t) i;
        const uint64_t least_hash = result[2 * i], most_hash = ~result[2 * i + 1];

        used[i] = least_hash == most_hash && 0 != least_hash;
        if (HAN_FILE_MACHINE == id && 0 == result[BY_FILE]) {
            if (used[i] && carried() && !tables.measured) {
                say_used(module, id);
            }
            continue;
        }
        if (least_hash != most_hash) {
            complain(module, id, own[2 * i] != most_hash);
        } else if (!used[i] && wanted(id) && !tables.settled && coll_settle_one_job(module->comm)) {
            complain(module, id, true);
        } else if (used[i]) {
            say_used(module, id);
        }
    }
}

void mca_coll_han_table_settle_job(han_module_t *module)
{
    bool used[HAN_FILE_COUNT] = { false };

    if (any_wanted()) {
        settle(module, used);
    }
    if (knows_machine() && !used[HAN_FILE_MACHINE]) {
        mca_coll_han_measure(module, &tables.machine);
        tables.files[HAN_FILE_MACHINE].hash = tables.machine.hash;
        tables.measured = used[HAN_FILE_MACHINE] = true;
        say_used(module, HAN_FILE_MACHINE);
    }
    for (int id = 0; id < HAN_FILE_COUNT; ++id) {
        tables.files[id].used = used[id];
    }
    tables.settled = to_settle();
}

int mca_coll_han_table_settle(han_module_t *module, bool exchange)
{
    if (module->rules_settled) {
        return OMPI_SUCCESS;
    }
    if (!to_settle() || (tables.settled && coll_settle_one_job(module->comm))) {
        OPAL_THREAD_LOCK(&module->lock);
        for (int id = 0; id < HAN_FILE_COUNT && !module->rules_settled; ++id) {
            module->uses[id] = tables.files[id].used;
        }
        module->rules_settled = true;
        OPAL_THREAD_UNLOCK(&module->lock);
    } else if (exchange) {
        module->asked = true;
        settle(module, module->uses);
        module->rules_settled = true;
    } else {
        return OMPI_ERR_NOT_FOUND;
    }
    return OMPI_SUCCESS;
}

void mca_coll_han_table_check(ompi_communicator_t *comm)
{
    bool bad = false;

    if (0 != ompi_comm_rank(comm) || !any_wanted()) {
        return;
    }
    read_files();
    for (int i = 0; i < HAN_FILE_COUNT; ++i) {
        const mca_coll_han_file_id_t id = (mca_coll_han_file_id_t) i;

        if (wanted(id) && 0 == tables.files[id].hash) {
            tell(id, "HAN has nothing to do in this job");
            bad = true;
        }
    }
    if (bad && mca_coll_han_component.rules_strict) {
        ompi_mpi_abort(comm, 1);
    }
}

/* -- what they say -- */

const mca_coll_han_machine_t *mca_coll_han_table_machine(const han_module_t *module)
{
    return module->uses[HAN_FILE_MACHINE] ? &tables.machine : NULL;
}

/* The one for which the model chooses. */
static const mca_coll_han_machine_t *machine_of(const han_module_t *module)
{
    const mca_coll_han_machine_t *known = mca_coll_han_table_machine(module);

    return NULL != known ? known : &tables.unknown;
}

/* Why the model chooses as it does, to users who want to know (coll_han_verbose 2). */
static void say_choice(const han_module_t *module, const mca_coll_han_input_t *input)
{
    char text[HAN_CHOICE_TEXT], *rest;

    if (NULL == mca_coll_han_choice_best(machine_of(module), input, text)) {
        return;
    }
    for (const char *line = strtok_r(text, "\n", &rest); NULL != line; line = strtok_r(NULL, "\n", &rest)) {
        opal_output(mca_coll_han_component.output, "coll:han: %s (cid %d): %s of %zu bytes: %s", module->comm->c_name,
                    module->comm->c_contextid, mca_coll_han_collective_names[input->collective], input->bytes, line);
    }
}

/* By the model, which tells when it chooses, and not when it finds what it has chosen before. */
static const mca_coll_han_params_t *choose(han_module_t *module, const mca_coll_han_input_t *input)
{
    mca_coll_han_choices_t *choices = &module->kept[input->form].choices;
    const size_t before = choices->count;
    const mca_coll_han_params_t *params = mca_coll_han_choose(choices, machine_of(module), input);

    if (2 <= mca_coll_han_component.verbose && 0 == ompi_comm_rank(module->comm) && before != choices->count) {
        say_choice(module, input);
    }
    return params;
}

/* The nearest rule of a table; NULL where it has none for the collective, form and order. */
static int find_nearest(han_module_t *module, mca_coll_han_table_id_t table, const mca_coll_han_input_t *input,
                        const mca_coll_han_rule_t **rule)
{
    mca_coll_han_lookup_t *lookup = &module->kept[input->form].lookups[table][input->collective];

    if (!lookup->made && 0 != mca_coll_han_lookup_make(lookup, &tables.rules[table], input)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *rule = mca_coll_han_lookup_find(lookup, input->bytes);
    return OMPI_SUCCESS;
}

int mca_coll_han_table_find(han_module_t *module, const mca_coll_han_input_t *input,
                            const mca_coll_han_params_t **params)
{
    const bool by_file = module->uses[HAN_FILE_RULES] && !module->own_choice;
    const mca_coll_han_rule_t *rule = NULL;
    int rc = by_file ? find_nearest(module, HAN_TABLE_FILE, input, &rule) : OMPI_SUCCESS;
    const bool left = !mca_coll_han_rule_decides(rule, input);

    if (OMPI_SUCCESS == rc && left && mca_coll_han_choice_serves(input)) {
        *params = choose(module, input);
        return NULL == *params ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
    }
    if (OMPI_SUCCESS == rc && left) {
        rc = find_nearest(module, HAN_TABLE_BUILTIN, input, &rule);
    }
    if (OMPI_SUCCESS == rc) {
        *params = &rule->params; /* the built-in rules have one for each call (unit_rules) */
    }
    return rc;
}
