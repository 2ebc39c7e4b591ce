/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A round: each thread gets a new duplicate of a communicator, and on it makes every collective in every form, in an
 * order of its own that is the same on all ranks. What is written through MPI_T is for all threads of a process, so it
 * is written before they start.
 */
#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
    pthread_t id;
    MPI_Comm comm;
    int count;
    struct call calls[COLLECTIVES * FORMS];
};

static void draw_settings(size_t *settings, uint64_t *state)
{
    for (size_t i = 0; i < COLLECTIVES; ++i) {
        settings[i] = check_draw(state, settings_count(&collectives[i]));
        settings_write(&collectives[i], settings[i]);
    }
}

/* Before the threads start: what is left out because of a fault of Open MPI is counted. */
static void draw_calls(struct member *member, const size_t *settings, uint64_t state, long segment)
{
    int size;

    MPI_Comm_size(member->comm, &size);
    for (int i = 0; i < COLLECTIVES * FORMS; ++i) {
        const struct collective *collective = &collectives[i / FORMS];
        const enum mover mover = settings_mover(collective, settings[i / FORMS]);
        struct call *c = &member->calls[member->count], *other;
        struct call swapped;

        if (!form_there((enum form)(i % FORMS))) {
            continue;
        }
        /* HAN leaves what does not block to others as long as it does not know the nodes of a communicator. */
        do {
            memset(c, 0, sizeof(*c));
            c->collective = collective;
            c->form = (enum form)(i % FORMS);
            check_draw_call(c, &state, size, segment);
        } while (known_fault_concerns(c, BLOCKING == c->form ? mover : OTHERS));
        call_on(c, member->comm);
        ++member->count;
        other = &member->calls[check_draw(&state, (size_t) member->count)];
        swapped = *other;
        *other = *c;
        *c = swapped;
    }
}

/* After a failure too: the other ranks go on. */
static void *member_main(void *argument)
{
    struct member *member = argument;

    for (int i = 0; i < member->count; ++i) {
        struct call *c = &member->calls[i];

        if (0 == strcmp("barrier", c->collective->name)) {
            call_run_barrier(c);
        } else {
            call_run(c);
        }
    }
    return NULL;
}

static void note(const struct member *member, int thread, const size_t *settings, char *why, size_t size)
{
    for (int i = 0; i < member->count && '\0' == why[0]; ++i) {
        const struct call *c = &member->calls[i];
        char what[CALL_TEXT / 2], setting[CALL_TEXT / 4];

        if (c->failed) {
            snprintf(why, size, "thread %d, call %d of the last round: %s; %s: %.256s", thread, i,
                     call_text(c, what, sizeof(what)),
                     settings_text(c->collective, settings[c->collective - collectives], setting, sizeof(setting)),
                     c->why);
        }
    }
}

void check_threads(const struct threads_run *run, long round, char *why, size_t size)
{
    struct member *members = calloc((size_t) run->threads, sizeof(*members));
    uint64_t state = check_mixed(run->seed, (uint64_t) round, 0, 2);
    size_t settings[COLLECTIVES];

    why[0] = '\0';
    if (NULL == members) {
        fprintf(stderr, "no memory\n");
        MPI_Abort(run->comm, 1);
        return;
    }
    draw_settings(settings, &state);
    for (int i = 0; i < run->threads; ++i) {
        MPI_Comm_dup(run->comm, &members[i].comm);
        draw_calls(&members[i], settings, check_mixed(state, (uint64_t) i, 0, 3), run->segment);
    }
    for (int i = 0; i < run->threads; ++i) {
        if (0 != pthread_create(&members[i].id, NULL, member_main, &members[i])) {
            fprintf(stderr, "no thread\n");
            MPI_Abort(run->comm, 1);
        }
    }
    for (int i = 0; i < run->threads; ++i) {
        pthread_join(members[i].id, NULL);
        note(&members[i], i, settings, why, size);
        MPI_Comm_free(&members[i].comm);
    }
    free(members);
}
