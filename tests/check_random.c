/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is called is the same on all ranks of a communicator, in the same order: it comes from one sequence of numbers
 * that all ranks know. What may differ from rank to rank does: in which order calls on different communicators start,
 * and how they are waited for.
 */
#include "check.h"

#include "../common/tool_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_COMMS = 8, MOST_CALLS = 10, TAG = 75 };

/* A communicator, and which ranks of the universe are in it: all ranks know that of all communicators. */
struct member_comm {
    MPI_Comm comm; /* MPI_COMM_NULL on ranks that are not in it */
    int count;
    int *ranks; /* [count] of the universe, by rank in the communicator */
};

struct player {
    const struct random_run *run;
    MPI_Comm control; /* for verdicts */
    int rank;
    int size;
    uint64_t shared;
    uint64_t own;
    struct member_comm comms[MOST_COMMS];
    int comm_count;
    struct call calls[MOST_CALLS];
    int call_comms[MOST_CALLS];
    size_t settings[MOST_CALLS];
    MPI_Comm freed[MOST_CALLS]; /* the call's own communicator, which goes while the call is under way */
    bool frees[MOST_CALLS];
    int call_count;
    long round;
    char why[2 * CALL_TEXT];
};

size_t check_draw(uint64_t *state, size_t limit)
{
    return (size_t) (check_mixed(tool_random(state), 0, 0, 0) % limit);
}

size_t check_units(size_t number, const struct variant *variant, long segment)
{
    const size_t bytes = variant_unit_bytes(variant);
    size_t units;

    if (0 == bytes) {
        return 0;
    }
    units = (size_t) segment < bytes ? 1 : (size_t) segment / bytes;
    switch (number) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return units - 1;
    case 3:
        return units;
    case 4:
        return units + 1;
    default:
        return 9 * units + 1;
    }
}

/* ---- communicators ---- */

static struct member_comm comm_with(struct player *player, int count)
{
    struct member_comm made = { .comm = MPI_COMM_NULL, .count = count };

    made.ranks = malloc((size_t) count * sizeof(int));
    if (NULL == made.ranks) {
        fprintf(stderr, "no memory\n");
        MPI_Abort(player->control, 1);
    }
    return made;
}

static struct member_comm comm_dup(struct player *player, const struct member_comm *parent)
{
    struct member_comm made = comm_with(player, parent->count);

    memcpy(made.ranks, parent->ranks, (size_t) parent->count * sizeof(int));
    if (MPI_COMM_NULL != parent->comm) {
        MPI_Comm_dup(parent->comm, &made.comm);
    }
    return made;
}

/* Any of its ranks, at least one, in any order. */
static struct member_comm draw_members(struct player *player, const struct member_comm *parent)
{
    struct member_comm made = comm_with(player, parent->count);
    const size_t wanted = 1 + check_draw(&player->shared, (size_t) parent->count);

    memcpy(made.ranks, parent->ranks, (size_t) parent->count * sizeof(int));
    for (size_t i = 0; i < wanted; ++i) {
        const size_t other = i + check_draw(&player->shared, (size_t) parent->count - i);
        const int rank = made.ranks[i];

        made.ranks[i] = made.ranks[other];
        made.ranks[other] = rank;
    }
    made.count = (int) wanted;
    return made;
}

static int place_in(const struct member_comm *comm, int rank)
{
    for (int i = 0; i < comm->count; ++i) {
        if (rank == comm->ranks[i]) {
            return i;
        }
    }
    return -1;
}

/* By MPI_Comm_split, which the whole parent calls, or by MPI_Comm_create_group, which only the members call. */
static struct member_comm comm_part(struct player *player, const struct member_comm *parent, bool split)
{
    struct member_comm made = draw_members(player, parent);
    const int place = place_in(&made, player->rank);
    MPI_Group all, part;

    if (MPI_COMM_NULL == parent->comm) {
        return made;
    }
    if (split) {
        MPI_Comm_split(parent->comm, 0 > place ? MPI_UNDEFINED : 0, place, &made.comm);
    } else if (0 <= place) {
        int *places = malloc((size_t) made.count * sizeof(int));

        for (int i = 0; i < made.count && NULL != places; ++i) {
            places[i] = place_in(parent, made.ranks[i]);
        }
        MPI_Comm_group(parent->comm, &all);
        MPI_Group_incl(all, made.count, places, &part);
        MPI_Comm_create_group(parent->comm, part, TAG, &made.comm);
        MPI_Group_free(&part);
        MPI_Group_free(&all);
        free(places);
    }
    return made;
}

static void comm_drop(struct member_comm *comm)
{
    if (MPI_COMM_NULL != comm->comm) {
        MPI_Comm_free(&comm->comm);
    }
    free(comm->ranks);
}

/*
 * Settings must be the same on all ranks, for collectives also call each other (an allgatherv may be a gatherv and a
 * broadcast), and MPI makes communicators with them. So every rank writes what any call wants, in the order of the
 * calls; after calls in any order they are written anew.
 */
static void agree_on_settings(struct player *player)
{
    for (size_t i = 0; i < COLLECTIVES; ++i) {
        settings_write(&collectives[i], check_draw(&player->shared, settings_count(&collectives[i])));
    }
}

/* One more, or one in the place of another; the first one stays. */
static void change_comms(struct player *player)
{
    const struct member_comm *parent = &player->comms[check_draw(&player->shared, (size_t) player->comm_count)];
    struct member_comm made;
    size_t place = (size_t) player->comm_count;

    switch (check_draw(&player->shared, 3)) {
    case 0:
        made = comm_dup(player, parent);
        break;
    case 1:
        made = comm_part(player, parent, true);
        break;
    default:
        made = comm_part(player, parent, false);
    }
    if (MOST_COMMS == player->comm_count) {
        place = 1 + check_draw(&player->shared, MOST_COMMS - 1);
        comm_drop(&player->comms[place]);
    } else {
        ++player->comm_count;
    }
    player->comms[place] = made;
}

/* ---- calls ---- */

void check_draw_call(struct call *c, uint64_t *state, int size, long segment)
{
    do {
        c->variant = &variants[check_draw(state, variant_count)];
    } while (!collective_suits(c->collective, c->variant));
    c->units
        = 0 == strcmp("barrier", c->collective->name) ? 0 : check_units(check_draw(state, SIZES), c->variant, segment);
    c->in_place = c->collective->in_place && 0 == check_draw(state, 3);
    c->root = NEITHER == c->collective->rooted ? 0 : (int) check_draw(state, (size_t) size);
    c->key = check_mixed(*state, 0, 0, 1);
    c->size = size;
}

/*
 * A call that goes on without its communicator, which coll/libnbc crashes over: one that HAN and adapt leave to nobody,
 * on ranks of more than one node.
 */
static bool may_be_freed(const struct player *player, int comm, const struct call *c)
{
    return collective_is_adapts(c->collective) && NONBLOCKING == c->form && player->comms[comm].count == player->size;
}

/* The same on all ranks, also on those that have no part in it. */
static void draw_call(struct player *player, int place, bool may_block)
{
    uint64_t *state = &player->shared;
    const int comm = (int) check_draw(state, (size_t) player->comm_count);
    struct call *c = &player->calls[place];
    bool left_out;

    do {
        memset(c, 0, sizeof(*c));
        c->collective = &collectives[check_draw(state, COLLECTIVES)];
        do {
            c->form = (enum form) check_draw(state, FORMS);
        } while (!form_there(c->form) || (!may_block && BLOCKING == c->form));
        check_draw_call(c, state, player->comms[comm].count, player->run->segment);
        player->settings[place] = check_draw(state, settings_count(c->collective));
        /* Some of the ranks may share a node, and what does not block may not look for the nodes: there HAN is not,
         * whatever is set. */
        left_out = known_fault_concerns(c, player->comms[comm].count < player->size || BLOCKING != c->form
                                               ? OTHERS
                                               : settings_mover(c->collective, player->settings[place]));
    } while (left_out);
    player->frees[place] = player->run->free_early && may_be_freed(player, comm, c) && 0 == check_draw(state, 2);
    c->comm = player->comms[comm].comm;
    c->rank = place_in(&player->comms[comm], player->rank);
    player->call_comms[place] = comm;
}

/* Some calls get a communicator of their own. All of them are made before any call starts, for that may be in any
 * order. */
static void make_freed_comms(struct player *player)
{
    for (int i = 0; i < player->call_count; ++i) {
        player->freed[i] = MPI_COMM_NULL;
        if (player->frees[i] && MPI_COMM_NULL != player->calls[i].comm) {
            MPI_Comm_dup(player->calls[i].comm, &player->freed[i]);
            player->calls[i].comm = player->freed[i];
        }
    }
}

/* MPI keeps a communicator as long as a call on it is under way. */
static void free_comms_early(struct player *player)
{
    for (int i = 0; i < player->call_count; ++i) {
        if (MPI_COMM_NULL != player->freed[i]) {
            MPI_Comm_free(&player->freed[i]);
        }
    }
}

static void note(struct player *player, int place)
{
    struct call *c = &player->calls[place];
    char what[CALL_TEXT / 2], settings[CALL_TEXT / 4];

    if (c->failed && '\0' == player->why[0]) {
        snprintf(player->why, sizeof(player->why),
                 "--rounds %ld (rank %d of all, %d of %d; call %d of the last round: %s; %s): %.256s",
                 player->round + 1, player->rank, c->rank, c->size, place, call_text(c, what, sizeof(what)),
                 settings_text(c->collective, player->settings[place], settings, sizeof(settings)), c->why);
    }
}

static void start(struct player *player, int place)
{
    settings_write(player->calls[place].collective, player->settings[place]);
    if (MPI_COMM_NULL != player->calls[place].comm) {
        call_start(&player->calls[place]);
    }
}

/* The order on each communicator is the same on all ranks; which communicator is next is not, where none blocks. */
static void start_all(struct player *player, bool any_order)
{
    bool started[MOST_CALLS] = { false };

    for (int i = 0; i < player->call_count; ++i) {
        int place = i;

        if (any_order) {
            const int comm = player->call_comms[check_draw(&player->own, (size_t) player->call_count)];

            place = 0;
            while (place < player->call_count && (started[place] || comm != player->call_comms[place])) {
                ++place;
            }
            if (place == player->call_count) {
                place = 0;
                while (started[place]) {
                    ++place;
                }
            }
        }
        started[place] = true;
        start(player, place);
    }
}

/* In an order of this rank: one that it wants, the first that completes, or whatever has. */
static void wait_for_all(struct player *player)
{
    MPI_Request requests[MOST_CALLS];
    int indices[MOST_CALLS], done;

    for (int i = 0; i < player->call_count; ++i) {
        requests[i] = MPI_COMM_NULL == player->calls[i].comm ? MPI_REQUEST_NULL : player->calls[i].request;
    }
    for (int i = 0; i < player->call_count; ++i) {
        switch (check_draw(&player->own, 6)) {
        case 0:
            MPI_Wait(&requests[check_draw(&player->own, (size_t) player->call_count)], MPI_STATUS_IGNORE);
            break;
        case 1:
            MPI_Waitany(player->call_count, requests, indices, MPI_STATUS_IGNORE);
            break;
        case 2:
            MPI_Testsome(player->call_count, requests, &done, indices, MPI_STATUSES_IGNORE);
            break;
        case 3:
            MPI_Waitsome(player->call_count, requests, &done, indices, MPI_STATUSES_IGNORE);
            break;
        case 4:
            MPI_Testany(player->call_count, requests, indices, &done, MPI_STATUS_IGNORE);
            break;
        default:
            usleep((useconds_t) check_draw(&player->own, 100));
        }
    }
    done = MPI_Waitall(player->call_count, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < player->call_count; ++i) {
        if (MPI_COMM_NULL != player->calls[i].comm) {
            player->calls[i].request = requests[i];
            call_expect(&player->calls[i], MPI_SUCCESS == done, "MPI_Waitall failed");
        }
    }
}

/* Persistent ones run twice. */
static void finish(struct player *player)
{
    wait_for_all(player);
    for (int i = 0; i < player->call_count; ++i) {
        if (MPI_COMM_NULL != player->calls[i].comm) {
            call_check(&player->calls[i]);
        }
    }
    for (int i = 0; i < player->call_count; ++i) {
        if (MPI_COMM_NULL != player->calls[i].comm && PERSISTENT == player->calls[i].form) {
            player->calls[i].key += 2;
            call_again(&player->calls[i]);
        }
    }
    wait_for_all(player);
    for (int i = 0; i < player->call_count; ++i) {
        if (MPI_COMM_NULL != player->calls[i].comm) {
            if (PERSISTENT == player->calls[i].form) {
                call_check(&player->calls[i]);
            }
            call_close(&player->calls[i]);
            note(player, i);
        }
    }
}

static void play_round(struct player *player)
{
    const bool may_block = 0 == check_draw(&player->shared, 2);

    agree_on_settings(player);
    if (0 == check_draw(&player->shared, 2)) {
        change_comms(player);
    }
    player->call_count = 1 + (int) check_draw(&player->shared, MOST_CALLS);
    for (int i = 0; i < player->call_count; ++i) {
        draw_call(player, i, may_block);
    }
    make_freed_comms(player);
    start_all(player, !may_block);
    free_comms_early(player);
    finish(player);
}

/* ---- the run ---- */

/* Rank 0 hears of failures; all stop after the same round. */
static bool goes_on(struct player *player)
{
    int go = 1;

    for (int rank = 1; rank < player->size && 0 == player->rank; ++rank) {
        char why[sizeof(player->why)];

        MPI_Recv(why, sizeof(why), MPI_CHAR, rank, TAG, player->control, MPI_STATUS_IGNORE);
        if ('\0' == player->why[0]) {
            memcpy(player->why, why, sizeof(why));
        }
    }
    if (0 == player->rank) {
        go = '\0' == player->why[0] && player->round < player->run->rounds;
    } else {
        MPI_Send(player->why, sizeof(player->why), MPI_CHAR, 0, TAG, player->control);
    }
    for (int rank = 1; rank < player->size && 0 == player->rank; ++rank) {
        MPI_Send(&go, 1, MPI_INT, rank, TAG, player->control);
    }
    if (0 != player->rank) {
        MPI_Recv(&go, 1, MPI_INT, 0, TAG, player->control, MPI_STATUS_IGNORE);
    }
    return go;
}

long check_random(const struct random_run *run, char *why, size_t size)
{
    static struct player player;

    memset(&player, 0, sizeof(player));
    player.run = run;
    MPI_Comm_dup(run->universe, &player.control);
    MPI_Comm_rank(player.control, &player.rank);
    MPI_Comm_size(player.control, &player.size);
    player.shared = run->seed;
    player.own = check_mixed(run->seed, (uint64_t) player.rank, 0, 1);
    player.comms[0] = comm_with(&player, player.size);
    for (int rank = 0; rank < player.size; ++rank) {
        player.comms[0].ranks[rank] = rank;
    }
    MPI_Comm_dup(run->universe, &player.comms[0].comm);
    player.comm_count = 1;
    while (goes_on(&player)) {
        alarm(T_LIMIT);
        snprintf(run->doing, run->doing_size, "random sequences: --segment %ld --seed %llu --rounds %ld", run->segment,
                 (unsigned long long) run->seed, player.round + 1);
        play_round(&player);
        ++player.round;
    }
    for (int i = 0; i < player.comm_count; ++i) {
        comm_drop(&player.comms[i]);
    }
    MPI_Comm_free(&player.control);
    snprintf(why, size, "%s", player.why);
    return '\0' == player.why[0] ? player.round : -1;
}
