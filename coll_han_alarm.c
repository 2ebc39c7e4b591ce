/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alarms cost nothing where nothing fails, but a look at the messages that have come: no agreement at the end of each
 * call, which would make a broadcast wait for all. An alarm is sent before anything that is wrong, and to each rank
 * straight. Between two ranks messages keep their order, so that whoever gets something wrong from the failing rank has
 * its alarm, too; who gets it by way of others has had more time for it.
 */
#include "coll_han.h"

#include "ompi/mca/pml/pml.h"
#include "opal/runtime/opal_progress.h"
#include "opal/threads/thread_usage.h"

#include "common/coll_end.h"
#include "common/coll_tags.h"

struct message {
    uint32_t call;
    int code;
};

typedef struct alarm_t {
    opal_list_item_t super;
    struct message message;
} alarm_t;

static OBJ_CLASS_INSTANCE(alarm_t, opal_list_item_t, NULL, NULL);

/* A message that cannot be sent leaves nothing to be done: the first error is returned. */
static void raise_alarm(const han_module_t *module, int rc)
{
    const struct message message = { .call = module->levels_calls, .code = rc };
    const int rank = ompi_comm_rank(module->comm);

    for (int other = 0; other < ompi_comm_size(module->comm); ++other) {
        if (rank != other) {
            (void) MCA_PML_CALL(send(&message, sizeof(message), MPI_BYTE, other, coll_tag(COLL_TAGS_ALARM),
                                     MCA_PML_BASE_SEND_STANDARD, module->comm));
        }
    }
}

int mca_coll_han_alarm_note(han_module_t *module, int before, int rc)
{
    (void) coll_result(rc, "han", "a part of a collective", module->comm);
    if (OMPI_SUCCESS != before) {
        return before;
    }
    if (OMPI_SUCCESS != rc) {
        raise_alarm(module, rc);
    }
    return rc;
}

/* All that have come. Each look takes as long as there are ranks: ob1 looks at the messages of each. */
static void collect(han_module_t *module)
{
    const int tag = coll_tag(COLL_TAGS_ALARM);
    ompi_status_public_t status;
    int there = 0;

    opal_progress(); /* lets in what is on its way: alarms may be behind what went through shared memory */
    while (OMPI_SUCCESS == MCA_PML_CALL(iprobe(MPI_ANY_SOURCE, tag, module->comm, &there, &status)) && there) {
        struct message message;
        alarm_t *alarm;

        if (OMPI_SUCCESS
            != MCA_PML_CALL(
                recv(&message, sizeof(message), MPI_BYTE, status.MPI_SOURCE, tag, module->comm, MPI_STATUS_IGNORE))) {
            return;
        }
        alarm = OBJ_NEW(alarm_t);
        if (NULL == alarm) {
            coll_end("han", "the error of another rank");
        }
        alarm->message = message;
        opal_list_append(&module->alarms, &alarm->super);
    }
}

/*
 * A look that finds nothing would give the core away where ranks are more than cores: a turn of all the others, at the
 * end of each call. The setting is the process's, so with threads it is left as it is.
 */
static void collect_at_once(han_module_t *module)
{
    const bool alone = !opal_using_threads();
    const bool yields = alone && opal_progress_set_yield_when_idle(false);

    collect(module);
    if (alone) {
        (void) opal_progress_set_yield_when_idle(yields);
    }
}

/* Of later calls they are kept: other ranks may be ahead. Those of earlier ones came too late. */
int mca_coll_han_alarm_heed(han_module_t *module, int rc)
{
    alarm_t *alarm, *next;

    collect_at_once(module);
    OPAL_LIST_FOREACH_SAFE(alarm, next, &module->alarms, alarm_t)
    {
        const int32_t ahead = (int32_t) (alarm->message.call - module->levels_calls);

        if (0 == ahead && OMPI_SUCCESS == rc) {
            rc = alarm->message.code;
        }
        if (0 >= ahead) {
            opal_list_remove_item(&module->alarms, &alarm->super);
            OBJ_RELEASE(alarm);
        }
    }
    return rc;
}
