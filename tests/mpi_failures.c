/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens where something inside fails. HAN calls collectives of other components on the communicators that it has
 * made, and ADAPT has messages; both are replaced here, by functions that do the same, or fail at a chosen call. Then
 * the MPI call must return that error on each rank that has met it, and an error or the right result on all others;
 * none may hang, nothing is written outside of a buffer, and the next call must be right.
 *
 * With --lost one rank's message is not sent or received at all: the job has to end, and test_memory.sh looks at that.
 *
 * With --first N the first N inner calls of each call do not fail: receives, for instance, which come before the sends.
 *
 * With --every N only one of N settings has a turn, of those that otherwise would have one and go level by level.
 *
 * With --unpacked a rank cannot unpack what it has got. Nobody depends on that: all others have the message, and say
 * so.
 *
 * With --as-set it serves the HAN of Open MPI 4.1 as well, which drops such errors (issue 11794 of Open MPI).
 *
 * Compiled with Open MPI's internal headers, and so for one version of it.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "ompi_config.h"

#include <dlfcn.h>
#include <sys/uio.h>

#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/pml/pml.h"
#include "opal/datatype/opal_convertor.h"

#include "coll_adapt/coll_adapt.h"

#define T_TEXT 1024
#include "mpi_test.h"

#include "check.h"

static long segment = 256;
static long only = -1;
static long as_set = 0;
static long lost = 0;
static long first = 0;
static long every = 1;
static long unpacked = 0;

static long made_in_all = 0; /* failures, on any rank */

/* What an inner call returns; no component makes it up by itself. */
enum { CODE = MPI_ERR_NO_SPACE };

/* Where something fails: a collective of a level, one on the communicator itself, a message, or what HAN unpacks. */
enum place { LOW, UP, ITSELF, MESSAGE, UNPACKING };

/* Which ranks meet the failure: all, those of a node (its number is the end of its name), or one. */
enum who { EVERY_RANK, ONE_NODE, ONE_RANK };

static struct {
    bool armed;
    bool blocking; /* the call */
    enum place place;
    enum who who;
    long call; /* the number of the one that fails */
    int victim;
    long seen;
    bool hit;
    long made; /* failures, on any rank */
} fault;

/* Counts a call; true for the one that is to fail. */
static bool fails(enum place place)
{
    if (!fault.armed || place != fault.place || fault.seen++ != fault.call) {
        return false;
    }
    fault.hit = true;
    return true;
}

/* ---- unpacking ---- */

/* In place of Open MPI's; also what is not HAN's counts as done, for that is messages. */
__attribute__((visibility("default"))) int32_t opal_convertor_unpack(opal_convertor_t *convertor, struct iovec *iov,
                                                                     uint32_t *count, size_t *bytes)
{
    int32_t (*const theirs)(opal_convertor_t *, struct iovec *, uint32_t *, size_t *)
        = (int32_t(*)(opal_convertor_t *, struct iovec *, uint32_t *, size_t *)) dlsym(RTLD_NEXT,
                                                                                       "opal_convertor_unpack");
    Dl_info caller;

    if (fault.armed && 0 != dladdr(__builtin_return_address(0), &caller)
        && NULL != strstr(caller.dli_fname, fault.blocking ? "mca_coll_han" : "mca_coll_adapt") && fails(UNPACKING)) {
        return OPAL_ERROR;
    }
    return theirs(convertor, iov, count, bytes);
}

/* ---- collectives of modules on HAN's communicators ---- */

/* Ours names its communicators; those of Open MPI's HAN have the names that its ways of making them give. */
static enum place place_of(const ompi_communicator_t *comm)
{
    static const struct {
        const char *part;
        enum place place;
    } names[] = { { "HAN LOW", LOW }, { "HAN UP", UP }, { " SPLIT_TYPE FROM ", LOW }, { " SPLIT FROM ", UP } };

    for (size_t i = 0; i < CHECK_COUNT(names); ++i) {
        if (NULL != strstr(comm->c_name, names[i].part)) {
            return names[i].place;
        }
    }
    return ITSELF;
}

/* A module whose functions are replaced, and what they were. */
struct replaced {
    mca_coll_base_module_t *module;
    mca_coll_base_module_t before;
};

enum { MOST_REPLACED = 256 };

static struct replaced replaced[MOST_REPLACED];
static int replaced_count;

static const struct replaced *find_replaced(const void *module)
{
    for (int i = 0; i < replaced_count; ++i) {
        if (module == replaced[i].module) {
            return &replaced[i];
        }
    }
    return NULL;
}

/* One that fails, or does as before. */
#define REPLACEMENT(name, parameters, ...)                                                                             \
    static int fail_##name parameters                                                                                  \
    {                                                                                                                  \
        return fails(place_of(comm)) ? CODE : find_replaced(module)->before.coll_##name(__VA_ARGS__);                  \
    }

REPLACEMENT(bcast,
            (void *buffer, int count, ompi_datatype_t *type, int root, ompi_communicator_t *comm,
             mca_coll_base_module_t *module),
            buffer, count, type, root, comm, module)
REPLACEMENT(ibcast,
            (void *buffer, int count, ompi_datatype_t *type, int root, ompi_communicator_t *comm,
             ompi_request_t **request, mca_coll_base_module_t *module),
            buffer, count, type, root, comm, request, module)
REPLACEMENT(reduce,
            (const void *in, void *out, int count, ompi_datatype_t *type, ompi_op_t *op, int root,
             ompi_communicator_t *comm, mca_coll_base_module_t *module),
            in, out, count, type, op, root, comm, module)
REPLACEMENT(ireduce,
            (const void *in, void *out, int count, ompi_datatype_t *type, ompi_op_t *op, int root,
             ompi_communicator_t *comm, ompi_request_t **request, mca_coll_base_module_t *module),
            in, out, count, type, op, root, comm, request, module)
REPLACEMENT(allreduce,
            (const void *in, void *out, int count, ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
             mca_coll_base_module_t *module),
            in, out, count, type, op, comm, module)
REPLACEMENT(iallreduce,
            (const void *in, void *out, int count, ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
             ompi_request_t **request, mca_coll_base_module_t *module),
            in, out, count, type, op, comm, request, module)
REPLACEMENT(gather,
            (const void *in, int count, ompi_datatype_t *type, void *out, int out_count, ompi_datatype_t *out_type,
             int root, ompi_communicator_t *comm, mca_coll_base_module_t *module),
            in, count, type, out, out_count, out_type, root, comm, module)
REPLACEMENT(scatter,
            (const void *in, int count, ompi_datatype_t *type, void *out, int out_count, ompi_datatype_t *out_type,
             int root, ompi_communicator_t *comm, mca_coll_base_module_t *module),
            in, count, type, out, out_count, out_type, root, comm, module)
REPLACEMENT(alltoall,
            (const void *in, int count, ompi_datatype_t *type, void *out, int out_count, ompi_datatype_t *out_type,
             ompi_communicator_t *comm, mca_coll_base_module_t *module),
            in, count, type, out, out_count, out_type, comm, module)

typedef int (*adapt_call_t)(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call,
                            const mca_coll_adapt_how_t *how, mca_coll_adapt_form_t form, ompi_request_t **request);

/* The same in all modules of ADAPT. */
static adapt_call_t adapt_call_before;

static int fail_adapt_call(mca_coll_adapt_event_module_t *module, const mca_coll_adapt_call_t *call,
                           const mca_coll_adapt_how_t *how, mca_coll_adapt_form_t form, ompi_request_t **request)
{
    return fails(place_of(call->comm)) ? CODE : adapt_call_before(module, call, how, form, request);
}

static void replace_adapt_call(mca_coll_base_module_t *module)
{
    mca_coll_adapt_event_module_t *adapt = (mca_coll_adapt_event_module_t *) module;

    if (0 == strcmp(MCA_COLL_ADAPT_CLASS, module->super.obj_class->cls_name) && fail_adapt_call != adapt->call) {
        adapt_call_before = adapt->call;
        adapt->call = fail_adapt_call;
    }
}

#define EACH_REPLACED(DO)                                                                                              \
    DO(bcast) DO(ibcast) DO(reduce) DO(ireduce) DO(allreduce) DO(iallreduce) DO(gather) DO(scatter) DO(alltoall)

#define REPLACE_IN_MODULE(name) module->coll_##name = NULL == module->coll_##name ? NULL : fail_##name;

static void replace(mca_coll_base_module_t *module)
{
    if (NULL != find_replaced(module) || MOST_REPLACED == replaced_count) {
        return;
    }
    replaced[replaced_count++] = (struct replaced){ .module = module, .before = *module };
    EACH_REPLACED(REPLACE_IN_MODULE)
}

#define REPLACE_IN_TABLE(name)                                                                                         \
    if (NULL != find_replaced(table->coll_##name##_module)) {                                                          \
        table->coll_##name = fail_##name;                                                                              \
    }

/* Open MPI's HAN calls what a communicator has, which is a copy of what the modules had. */
static void replace_copies(mca_coll_base_comm_coll_t *table)
{
    EACH_REPLACED(REPLACE_IN_TABLE)
}

/* Those that are there now: on the communicators that HAN has made all, on others ADAPT alone. */
static void replace_modules(void)
{
    for (int i = 0; i < opal_pointer_array_get_size(&ompi_mpi_communicators); ++i) {
        ompi_communicator_t *comm = opal_pointer_array_get_item(&ompi_mpi_communicators, i);
        mca_coll_base_avail_coll_t *available;

        if (NULL == comm || NULL == comm->c_coll || NULL == comm->c_coll->module_list) {
            continue;
        }
        OPAL_LIST_FOREACH(available, comm->c_coll->module_list, mca_coll_base_avail_coll_t)
        {
            replace_adapt_call(available->ac_module);
            if (ITSELF != place_of(comm)) {
                replace(available->ac_module);
            }
        }
        if (ITSELF != place_of(comm)) {
            replace_copies(comm->c_coll);
        }
    }
}

/* ---- messages ---- */

/* What the pml returns that has no room for a message. */
enum { NO_ROOM = OMPI_ERR_TEMP_OUT_OF_RESOURCE };

static mca_pml_base_module_t pml_before;
static ompi_request_complete_fn_t callback_before;

/* The message has been moved, but its request says that something was wrong. */
static int complete_with_error(ompi_request_t *request)
{
    request->req_status.MPI_ERROR = CODE;
    return NULL == callback_before ? 0 : callback_before(request);
}

/* Of ADAPT, and not of a component that it knows nothing of. */
static bool is_ours(int tag)
{
    return MCA_COLL_BASE_TAG_NONBLOCKING_BASE >= tag;
}

/* Without a callback they are ADAPT's in blocking calls, of components that are here. */
static int fail_start(size_t count, ompi_request_t **requests)
{
    if (1 == count && (NULL != requests[0]->req_complete_cb || fault.blocking) && fails(MESSAGE)) {
        if (lost) {
            return NO_ROOM;
        }
        callback_before = requests[0]->req_complete_cb;
        requests[0]->req_complete_cb = complete_with_error;
    }
    return pml_before.pml_start(count, requests);
}

static int fail_recv(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                     ompi_status_public_t *status)
{
    const bool failed = is_ours(tag) && fails(MESSAGE);
    const int rc = failed && lost ? NO_ROOM : pml_before.pml_recv(buffer, count, type, peer, tag, comm, status);

    return failed && !lost ? CODE : rc;
}

/* Other forms, and those inside the levels, may be libnbc's. */
static bool fails_by_itself(int tag, const ompi_communicator_t *comm)
{
    return is_ours(tag) && fault.blocking && ITSELF == place_of(comm) && fails(MESSAGE);
}

static int fail_irecv(void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag, ompi_communicator_t *comm,
                      ompi_request_t **request)
{
    const bool failed = fails_by_itself(tag, comm);
    const int rc = failed && lost ? NO_ROOM : pml_before.pml_irecv(buffer, count, type, peer, tag, comm, request);

    if (OMPI_SUCCESS == rc && failed) {
        if (REQUEST_COMPLETE(*request)) {
            (*request)->req_status.MPI_ERROR = CODE;
        } else {
            callback_before = NULL;
            (*request)->req_complete_cb = complete_with_error;
        }
    }
    return rc;
}

static int fail_send(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                     mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    const bool failed = is_ours(tag) && fails(MESSAGE);
    const int rc = failed && lost ? NO_ROOM : pml_before.pml_send(buffer, count, type, peer, tag, mode, comm);

    return failed && !lost ? CODE : rc;
}

/* Which is through at once, and so can be lost, but not fail later. */
static int fail_isend(const void *buffer, size_t count, ompi_datatype_t *type, int peer, int tag,
                      mca_pml_base_send_mode_t mode, ompi_communicator_t *comm, ompi_request_t **request)
{
    if (lost && fails_by_itself(tag, comm)) {
        return NO_ROOM;
    }
    return pml_before.pml_isend(buffer, count, type, peer, tag, mode, comm, request);
}

static void replace_messages(void)
{
    pml_before = mca_pml;
    mca_pml.pml_start = fail_start;
    mca_pml.pml_recv = fail_recv;
    mca_pml.pml_irecv = fail_irecv;
    mca_pml.pml_send = fail_send;
    mca_pml.pml_isend = fail_isend;
}

/* ---- a call in which something fails ---- */

static bool meets(enum who who, int victim)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length;

    MPI_Get_processor_name(name, &length);
    return EVERY_RANK == who || victim == (ONE_NODE == who ? name[length - 1] - '0' : t.rank);
}

/* Another one for each setting, turn and seed; what has several turns begins with the root, or its node. */
static int victim_of(const struct collective *collective, size_t setting, size_t turn)
{
    enum { NODES = 4, APART = 3 };
    const size_t victims = ONE_NODE == fault.who ? NODES : (size_t) t.size;
    const bool is_root = 0 == turn && COMPONENT == settings_mover(collective, setting);

    return is_root ? 0 : (int) ((setting + turn * APART + (size_t) t.seed) % victims);
}

static struct call any_call(const struct collective *collective, enum form form, size_t size)
{
    struct call c = { .collective = collective, .form = form, .root = 0 };
    size_t v = 0;

    while (!collective_suits(collective, &variants[v])) {
        ++v;
    }
    c.variant = &variants[v];
    c.units = 0 == strcmp("barrier", collective->name) ? 0 : check_units(size, c.variant, segment);
    c.key = (uint64_t) t.seed;
    call_on(&c, MPI_COMM_WORLD);
    return c;
}

static const char *text_of(const struct call *c, size_t setting, char *text, size_t size)
{
    char what[CALL_TEXT / 2], settings[CALL_TEXT / 2];

    snprintf(text, size, "%s; %s; inner call %ld, victim %d", call_text(c, what, sizeof(what)),
             settings_text(c->collective, setting, settings, sizeof(settings)), fault.call, fault.victim);
    return text;
}

/* False where on no rank anything was left to fail. */
static bool one_failure(struct call *c, size_t setting)
{
    char text[CALL_TEXT];
    struct call next = *c;

    snprintf(t.name, sizeof(t.name), "%s", text_of(c, setting, text, sizeof(text)));
    fault.seen = 0;
    fault.hit = false;
    fault.blocking = BLOCKING == c->form;
    fault.armed = meets(fault.who, fault.victim);
    call_start(c);
    call_wait(c);
    fault.armed = false;
    t_expect(!fault.hit || CODE == c->code, "%s: the call returns %d, not %d", text, c->code, CODE);
    c->failed = false;
    if (MPI_SUCCESS == c->code) {
        call_check(c);
    } else {
        call_check_guards(c);
    }
    t_expect(!c->failed, "%s: %s", text, c->why);
    call_close(c);
    /* All have ended it before the next one begins. */
    if (0 == -t_agree(-(long) fault.hit)) {
        return false;
    }
    ++fault.made;
    call_run(&next);
    t_expect(!next.failed, "%s: the next call: %s", text, next.why);
    return true;
}

/* In each call, so many inner ones, one after the other. */
enum { MOST_FAILURES = 4 };

/*
 * How often a setting has its turn, each time with another victim. Settings that go level by level are many: of
 * blocking calls every second one has a turn, of others, which never go so, every eighth; another seed takes others. As
 * set there is but one setting, whoever does it.
 */
static size_t turns_of(const struct collective *collective, enum form form, size_t setting)
{
    const uint64_t of = (BLOCKING == form ? 2 : 8) * (uint64_t) every;

    if (as_set) {
        return 1;
    }
    switch (settings_mover(collective, setting)) {
    case OTHERS:
        return 0;
    case COMPONENT:
        return 3;
    default:
        return 0 == (check_mixed(0, setting, 0, 0) + (uint64_t) t.seed) % of;
    }
}

static void failures_in(const struct collective *collective, enum form form, size_t setting)
{
    struct call c = any_call(collective, form, 5);

    settings_write(collective, setting);
    call_run(&c);
    replace_modules();
    for (fault.call = first; fault.call < first + MOST_FAILURES && 0 != t_agree(!t.verdict.failed); ++fault.call) {
        c = any_call(collective, form, 5);
        alarm(T_LIMIT);
        if (!one_failure(&c, setting)) {
            break;
        }
    }
}

static void failures_of(const struct collective *collective, enum form form)
{
    for (size_t setting = 0; setting < settings_count(collective); ++setting) {
        for (size_t turn = 0; turn < turns_of(collective, form, setting); ++turn) {
            fault.victim = victim_of(collective, setting, turn);
            failures_in(collective, form, setting);
        }
    }
}

/* What fails. */
struct scene {
    const char *name;
    enum place place;
    enum who who;
};

/* Barrier, bcast, reduce and allreduce: enough for what --as-set is to show, and any HAN has these. */
enum { FEW = 4 };

static void run_scene(const struct scene *scene)
{
    long made = 0;

    fault.place = scene->place;
    fault.who = scene->who;
    for (int i = 0; i < (as_set ? FEW : COLLECTIVES) * FORMS; ++i) {
        const struct collective *collective = &collectives[i / FORMS];
        const enum form form = (enum form)(i % FORMS);

        if (!form_there(form) || (-1 != only && i != only)) {
            continue;
        }
        t_start(0, "%s", scene->name);
        fault.made = 0;
        failures_of(collective, form);
        made += fault.made;
        made_in_all += fault.made;
        snprintf(t.name, sizeof(t.name), "%s: %s, %s: %ld failures", scene->name, collective->name, form_names[form],
                 fault.made);
        /* Many collectives have nothing of this kind in them. */
        if (0 != t_agree(0 < fault.made || t.verdict.failed)) {
            t_end();
        }
    }
    if (-1 == only) {
        t_start(0, "%s: that happens somewhere", scene->name);
        t_expect(0 < made, "nothing was made to fail");
        t_end();
    }
}

/* Returns what the call, or the request, says. */
static int broadcast(void *data, MPI_Datatype type, MPI_Comm comm, bool blocking)
{
    MPI_Request request;
    MPI_Status status;

    if (blocking) {
        return MPI_Bcast(data, 1, type, 0, comm);
    }
    T_MPI(MPI_Ibcast(data, 1, type, 0, comm, &request));
    return MPI_SUCCESS == MPI_Waitall(1, &request, &status) ? MPI_SUCCESS : status.MPI_ERROR;
}

/* Of a broadcast in segments, on communicators that are gone when it is over: no alarm may come to the next one. */
static void run_unpacked(void)
{
    enum { COUNT = 20000, CALLS = 6 }; /* blocking ones, and as many that are not */
    int *data = t_alloc(2 * COUNT * sizeof(int));
    MPI_Datatype every_second;

    fault.place = UNPACKING;
    T_MPI(MPI_Type_vector(COUNT, 1, 2, MPI_INT, &every_second));
    T_MPI(MPI_Type_commit(&every_second));
    t_start(0, "a rank that cannot unpack says so, the others have the message");
    for (int call = 0; call < 2 * CALLS; ++call) {
        MPI_Comm comm;
        int rc;

        fault.blocking = call < CALLS;
        T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        T_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        for (int i = 0; i < 2 * COUNT; ++i) {
            data[i] = 0 == t.rank ? i + call : -1;
        }
        fault.call = fault.blocking ? call : 0;
        fault.seen = 0;
        fault.hit = false;
        fault.armed = t.size - 1 == t.rank && 1 == call % 2;
        rc = broadcast(data, every_second, comm, fault.blocking);
        t_expect(fault.armed == fault.hit, "call %d: no unpacking fails", call);
        t_expect(fault.hit == (MPI_SUCCESS != rc) && 0 <= rc && MPI_ERR_LASTCODE >= rc, "call %d returns %d", call, rc);
        fault.armed = false;
        for (int i = 0; i < 2 * COUNT - 1 && MPI_SUCCESS == rc; i += 2) {
            t_expect(i + call == data[i], "call %d: word %d is %d", call, i, data[i]);
        }
        T_MPI(MPI_Comm_free(&comm));
    }
    t_end();
    T_MPI(MPI_Type_free(&every_second));
    t_free(data);
}

int main(int argc, char **argv)
{
    static const struct t_option options[]
        = { { "--segment", true, &segment },   { "--only", true, &only },   { "--as-set", false, &as_set },
            { "--lost", false, &lost },        { "--first", true, &first }, { "--every", true, &every },
            { "--unpacked", false, &unpacked } };
    static const struct scene scenes[] = {
        { "each node's collective of the low level fails", LOW, EVERY_RANK },
        { "all ranks' collective on the communicator itself fails", ITSELF, EVERY_RANK },
        { "the collective of the up level fails", UP, EVERY_RANK },
        { "one node's collective of the low level fails", LOW, ONE_NODE },
        { "one rank's message fails", MESSAGE, ONE_RANK },
    };

    t_options(argc, argv, options, CHECK_COUNT(options));
    settings_init();
    MPI_Init(&argc, &argv);
    t_begin();
    if (unpacked) {
        run_unpacked();
        settings_finalize();
        return t_finish("MPI_Finalize returns");
    }
    replace_messages();
    /* As set: only the first scene, which any HAN has, and no settings but the parameters of the command line. */
    if (!as_set) {
        settings_open("han", false);
    }
    settings_segment("han", (int) segment);
    for (size_t i = 0; i < (as_set ? 1 : CHECK_COUNT(scenes)); ++i) {
        if (!lost || MESSAGE == scenes[i].place) {
            run_scene(&scenes[i]);
        }
    }
    if (-1 != only) {
        t_start(0, "something was made to fail");
        t_expect(0 < made_in_all, "nothing was made to fail");
        t_end();
    }
    settings_finalize();
    return t_finish("MPI_Finalize returns");
}
