/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Whether all processes have a component alike: it is there, of one version, and what decisions depend on has one
 * value. Where that is not so, ranks go different ways, and wait for each other for ever.
 *
 * Before a component is used, each process looks at what others have told (coll_told.h). No message is sent, and all
 * come to the same result. A process looks at one process of each node and at all of its own node; at all of the job
 * where mpirun was given several programs, each of which may have parameters of its own.
 *
 * A header and not a library for the reason given in coll_variables.h.
 */
#ifndef COLL_SETTLE_H
#define COLL_SETTLE_H

#include "ompi_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/group/group.h"
#include "ompi/runtime/mpiruntime.h"

#include "common/coll_told.h"

enum { COLL_SETTLE_PLACE = 128 };

/* What has come of it for the job. */
typedef enum { COLL_SETTLE_UNKNOWN, COLL_SETTLE_ALIKE, COLL_SETTLE_BY_DEFAULT, COLL_SETTLE_WITHOUT } coll_settle_job_t;

/* -- where they differ -- */

static inline bool coll_settle_equal(const coll_told_t *all)
{
    for (int i = 1; i < all->count; ++i) {
        const char *one = all->texts[0], *other = all->texts[i];

        if ((NULL == one) != (NULL == other) || (NULL != one && 0 != strcmp(one, other))) {
            return false;
        }
    }
    return true;
}

/* The first process that has something else than the first one; 0 where there is none. */
static inline int coll_settle_other(const coll_told_t *all, const char *name, const char *absent)
{
    for (int i = 1; i < all->count; ++i) {
        int length, other_length;
        const char *value = coll_told_find(all->texts[0], name, absent, &length);
        const char *other = coll_told_find(all->texts[i], name, absent, &other_length);

        if (length != other_length || 0 != strncmp(value, other, (size_t) length)) {
            return i;
        }
    }
    return 0;
}

/* "n0 (rank 0)", or "n0 (rank 0 of job 2)" where jobs meet. */
static inline void coll_settle_place(const opal_process_name_t *name, bool jobs, char place[COLL_SETTLE_PLACE])
{
    char *host = NULL, job[32] = "";

    (void) coll_modex_text(name, OPAL_PMIX_HOSTNAME, OPAL_PMIX_OPTIONAL, &host);
    if (jobs) {
        snprintf(job, sizeof(job), " of job %u", (unsigned) (name->jobid & 0xffff));
    }
    snprintf(place, COLL_SETTLE_PLACE, "%s (rank %u%s)", NULL == host ? "another node" : host, (unsigned) name->vpid,
             job);
    free(host);
}

/* Whether this process is the first one that has the component: the one that tells what is wrong. */
static inline bool coll_settle_tells(const coll_told_t *all)
{
    const opal_process_name_t *first = NULL;

    for (int i = 0; i < all->count; ++i) {
        if (NULL != all->texts[i]
            && (NULL == first || all->names[i].jobid < first->jobid
                || (all->names[i].jobid == first->jobid && all->names[i].vpid < first->vpid))) {
            first = &all->names[i];
        }
    }
    return NULL != first && first->jobid == OPAL_PROC_MY_NAME.jobid && first->vpid == OPAL_PROC_MY_NAME.vpid;
}

/* Where HAN is missing too, one message is enough: HAN's. */
static inline bool coll_settle_is_for_han(const coll_told_t *all, int other)
{
    bool there[2];

    if (0 == strcmp("han", all->component->mca_component_name)) {
        return false;
    }
    for (int i = 0; i < 2; ++i) {
        char *text = coll_told_get(all->component, "han", &all->names[0 == i ? 0 : other]);

        there[i] = NULL != text;
        free(text);
    }
    return there[0] != there[1];
}

/* The one message about what the first process and another one have for a name. */
static inline void coll_settle_say(const coll_told_t *all, int other, const char *name, const char *absent,
                                   const char *outcome)
{
    const char *component = all->component->mca_component_name;
    const bool whole = 0 == strcmp("version", name);
    const bool jobs = all->names[0].jobid != all->names[other].jobid;
    const char *values[2];
    char places[2][COLL_SETTLE_PLACE];
    int lengths[2];

    if (!coll_settle_tells(all) || (whole && coll_settle_is_for_han(all, other))) {
        return;
    }
    for (int i = 0; i < 2; ++i) {
        const int which = 0 == i ? 0 : other;

        values[i] = coll_told_find(all->texts[which], name, absent, &lengths[i]);
        coll_settle_place(&all->names[which], jobs, places[i]);
    }
    opal_output(0, "coll:%s: %s is %.*s on %s, but %.*s on %s; accepted: the same everywhere; %s", component,
                whole ? "the component" : name, lengths[0], values[0], places[0], lengths[1], values[1], places[1],
                outcome);
}

/* -- a job, and several -- */

/*
 * One process of each node, and all of this one's. False where the runtime does not tell all of them. Of a spawned job
 * it is not asked: with its store in shared memory, PMIx 4.2 would wait for ever for the processes of another node.
 */
static inline bool coll_settle_leaders(coll_told_t *leaders, coll_told_t *mates)
{
    const mca_base_component_t *component = leaders->component;
    const opal_jobid_t job = OPAL_PROC_MY_NAME.jobid;
    char *nodes = NULL, *rest = NULL;
    opal_namelist_t *peer;
    int found = 0;

    if (NULL != getenv("OMPI_PARENT_PORT") || NULL == opal_pmix.resolve_nodes || NULL == opal_pmix.resolve_peers
        || OPAL_SUCCESS != opal_pmix.resolve_nodes(job, &nodes) || NULL == nodes) {
        return false;
    }
    *leaders = coll_told_room(component, strlen(nodes) + 1);
    for (char *node = strtok_r(nodes, ",", &rest); NULL != node; node = strtok_r(NULL, ",", &rest)) {
        coll_told_t here;
        opal_list_t peers;
        bool own = false;

        OBJ_CONSTRUCT(&peers, opal_list_t);
        (void) opal_pmix.resolve_peers(node, job, &peers);
        here = coll_told_room(component, opal_list_get_size(&peers) + 1);
        OPAL_LIST_FOREACH(peer, &peers, opal_namelist_t)
        {
            own = own || peer->name.vpid == OPAL_PROC_MY_NAME.vpid;
            here.names[here.count++] = peer->name;
        }
        OPAL_LIST_DESTRUCT(&peers);
        found += here.count;
        if (0 < here.count) {
            leaders->names[leaders->count++] = here.names[0];
        }
        if (own) {
            *mates = here;
        } else {
            coll_told_free(&here);
        }
    }
    free(nodes);
    if (0 < mates->count && ompi_comm_size(&ompi_mpi_comm_world.comm) == found) {
        return true;
    }
    coll_told_free(leaders);
    coll_told_free(mates);
    *mates = (coll_told_t){ .component = component };
    return false;
}

/* A number that the runtime has of a job; 0 where it does not tell. */
static inline uint32_t coll_settle_number(const mca_base_component_t *component, opal_jobid_t job, const char *key)
{
    const opal_process_name_t all = { job, OPAL_VPID_WILDCARD };
    opal_value_t *found;
    uint32_t number = 0;

    if (OMPI_SUCCESS != coll_modex_get(&all, key, OPAL_PMIX_OPTIONAL, &found)) {
        coll_told_no_memory(component);
    }
    if (NULL != found) {
        number = OPAL_UINT32 == found->type ? found->data.uint32 : 0;
        OBJ_RELEASE(found);
    }
    return number;
}

/*
 * Whether mpirun was given one program, whose processes on a node have been started alike. Slurm does not tell; there
 * all have one environment, and to look at every process of a large job would take a second of each component.
 */
static inline bool coll_settle_one_program(const mca_base_component_t *component)
{
    return 1 >= coll_settle_number(component, OPAL_PROC_MY_NAME.jobid, OPAL_PMIX_JOB_NUM_APPS);
}

/* All processes of a job that has so many. */
static inline coll_told_t coll_settle_processes(const mca_base_component_t *component, opal_jobid_t job, uint32_t size)
{
    coll_told_t all = coll_told_room(component, (size_t) size + 1);

    for (; all.count < (int) size; ++all.count) {
        all.names[all.count] = (opal_process_name_t){ job, (opal_vpid_t) all.count };
    }
    return all;
}

/* Ends the job: what the processes of one node have is not seen by the others. */
static inline void coll_settle_end(const coll_told_t *mates, int other, const char *name, const char *absent)
{
    if (coll_settle_tells(mates)) {
        coll_settle_say(mates, other, name, absent, "the job ends, for its ranks would wait for ever");
        ompi_mpi_abort(&ompi_mpi_comm_world.comm, 1);
    }
}

/*
 * Parameters that differ get their defaults, if it is not the component itself that differs.
 *
 * @param all equal on all processes of the job
 * @param mates the processes of this node, where all has but one of them
 */
static inline coll_settle_job_t coll_settle_all(const coll_told_t *all, const coll_told_t *mates)
{
    coll_settle_job_t result = COLL_SETTLE_ALIKE;
    size_t count;
    const int *numbers = coll_told_parameters(all->component, &count);
    int other = coll_settle_other(all, "version", "missing");

    if (0 < other) {
        coll_settle_say(all, other, "version", "missing", "the job goes without it");
        return COLL_SETTLE_WITHOUT;
    }
    other = coll_settle_other(mates, "version", "missing");
    if (0 < other) {
        coll_settle_end(mates, other, "version", "missing");
    }
    for (size_t i = 0; i < count; ++i) {
        const mca_base_var_t *parameter = coll_told_parameter(numbers[i]);
        char *fallback, outcome[256];

        if (NULL == parameter) {
            continue;
        }
        fallback = coll_told_value(parameter, true);
        if (NULL == fallback) {
            coll_told_no_memory(all->component);
        }
        other = coll_settle_other(all, parameter->mbv_full_name, fallback);
        if (0 < other) {
            snprintf(outcome, sizeof(outcome), "the default, %s, is used", fallback);
            coll_settle_say(all, other, parameter->mbv_full_name, fallback, outcome);
            coll_told_reset(parameter);
            result = COLL_SETTLE_BY_DEFAULT;
        } else if (0 < (other = coll_settle_other(mates, parameter->mbv_full_name, fallback))) {
            coll_settle_end(mates, other, parameter->mbv_full_name, fallback);
        }
        free(fallback);
    }
    return result;
}

static inline coll_settle_job_t coll_settle_job(const mca_base_component_t *component)
{
    coll_told_t all = { .component = component }, mates = { .component = component };
    coll_settle_job_t result = COLL_SETTLE_ALIKE;

    if (!coll_settle_one_program(component) || !coll_settle_leaders(&all, &mates)) {
        all = coll_settle_processes(component, OPAL_PROC_MY_NAME.jobid,
                                    (uint32_t) ompi_comm_size(&ompi_mpi_comm_world.comm));
    }
    coll_told_look(&all);
    coll_told_look(&mates);
    if (!coll_settle_equal(&all) || !coll_settle_equal(&mates)) {
        result = coll_settle_all(&all, &mates);
    }
    coll_told_free(&all);
    coll_told_free(&mates);
    return result;
}

/* Whether all processes of a communicator are of this one's job. Open MPI's mark of those over several jobs does not
 * tell: HAN takes it off its levels. */
static inline bool coll_settle_one_job(ompi_communicator_t *comm)
{
    for (int rank = 0; rank < ompi_comm_size(comm); ++rank) {
        if (OPAL_PROC_MY_NAME.jobid != ompi_group_get_proc_name(comm->c_local_group, rank).jobid) {
            return false;
        }
    }
    return true;
}

/* The one message about jobs that have it differently: they meet again in each level of their communicator. */
static inline void coll_settle_say_jobs(const coll_told_t *all)
{
    static opal_jobid_t told = OPAL_JOBID_INVALID;

    for (int i = 0; i < all->count; ++i) {
        for (const char *line = all->texts[i]; NULL != line && '\0' != *line; line = strchr(line, '\n') + 1) {
            char name[128];
            const char *absent;
            int other;

            snprintf(name, sizeof(name), "%.*s", (int) strcspn(line, "="), line);
            absent = 0 == strcmp("version", name) ? "missing" : "its default";
            other = coll_settle_other(all, name, absent);
            if (0 < other && told != all->names[other].jobid) {
                told = all->names[other].jobid;
                coll_settle_say(all, other, name, absent, "communicators with both go without the component");
            }
            if (0 < other) {
                return;
            }
        }
    }
}

/* Whether this process is the first one of its job. */
static inline bool coll_settle_first_here(const coll_told_t *all)
{
    int i = 0;

    while (all->names[i].jobid != OPAL_PROC_MY_NAME.jobid) {
        ++i;
    }
    return all->names[i].vpid == OPAL_PROC_MY_NAME.vpid;
}

/* Whether defaults that were put in place have changed what this process has told. */
static inline bool coll_settle_changed(const mca_base_component_t *component)
{
    char *told = coll_told_get(component, component->mca_component_name, &OPAL_PROC_MY_NAME);
    char *own = coll_told_own(component);
    const bool changed = NULL != told && 0 != strcmp(own, told);

    free(told);
    free(own);
    return changed;
}

/* Whether a job, another one, goes without the component: not all of its processes have it, of one version. */
static inline bool coll_settle_goes_without(const mca_base_component_t *component, opal_jobid_t job)
{
    coll_told_t all = coll_settle_processes(component, job, coll_settle_number(component, job, OPAL_PMIX_JOB_SIZE));
    bool without;

    coll_told_look(&all);
    without = 0 < coll_settle_other(&all, "version", "missing");
    coll_told_free(&all);
    return without;
}

/* Whether another job whose processes are in a communicator has the component. */
static inline bool coll_settle_met(const coll_told_t *all)
{
    bool met = false;

    for (int i = 0; i < all->count && !met; ++i) {
        const opal_jobid_t job = all->names[i].jobid;

        met = job != OPAL_PROC_MY_NAME.jobid && (0 == i || job != all->names[i - 1].jobid)
              && !coll_settle_goes_without(all->component, job);
    }
    return met;
}

/*
 * Whether the jobs whose processes are in a communicator have it alike. The other jobs do not see what has come of it
 * for this one: where that is not what was told, this job ends.
 */
static inline bool coll_settle_jobs(const mca_base_component_t *component, ompi_communicator_t *comm,
                                    coll_settle_job_t job)
{
    const bool without = COLL_SETTLE_WITHOUT == job, by_default = COLL_SETTLE_BY_DEFAULT == job;
    coll_told_t all = coll_told_room(component, (size_t) ompi_comm_size(comm));
    bool alike;

    for (; all.count < ompi_comm_size(comm); ++all.count) {
        all.names[all.count] = ompi_group_get_proc_name(comm->c_local_group, all.count);
    }
    coll_told_look(&all);
    alike = coll_settle_equal(&all);
    if (!alike) {
        coll_settle_say_jobs(&all);
    } else if (coll_settle_first_here(&all)
               && (without ? coll_settle_met(&all) : by_default && coll_settle_changed(component))) {
        opal_output(0,
                    "coll:%s: another job is met, which does not know that %s; accepted: the same %s everywhere; the "
                    "job ends",
                    component->mca_component_name,
                    without ? "this one goes without the component" : "defaults are used here",
                    without ? "component" : "parameters");
        ompi_mpi_abort(&ompi_mpi_comm_world.comm, 1);
    }
    coll_told_free(&all);
    return alike && !without;
}

/**
 * Whether a component may be used on a communicator. All its processes come to the same result. Where parameters differ
 * within the job, one process tells which, and the first call for the job puts their defaults in place. To be called
 * before any parameter is looked at.
 */
static inline bool coll_settle(const mca_base_component_t *component, ompi_communicator_t *comm)
{
    static coll_settle_job_t job = COLL_SETTLE_UNKNOWN;

    if (COLL_SETTLE_UNKNOWN == job) {
        job = coll_settle_job(component);
    }
    return coll_settle_one_job(comm) ? COLL_SETTLE_WITHOUT != job : coll_settle_jobs(component, comm, job);
}

#endif
