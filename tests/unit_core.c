/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the event core promises, checked with all ranks of a job in one process. The transport only notes what is under
 * way; a scheduler completes it in many orders, from one thread or several. The work has real memory of exactly the
 * size that the task says; memory that was given back is poisoned, and what is used twice is seen.
 */
#include "../coll_adapt/coll_adapt_core.h"
#include "../common/tool_random.h"

#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MOST_RANKS 17
#define MOST_SEGMENTS 40
#define MOST_RECVS 8
#define MOST_ROUNDS 3
#define MOST_ITEMS 8192
#define THREADS 4
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- memory that fails ---- */

static bool malloc_fails;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return malloc_fails ? NULL : __real_malloc(bytes);
}

/* ---- a job ---- */

enum collective { BCAST, REDUCE, ALLREDUCE, BARRIER, COLLECTIVES };

static const struct {
    const char *name;
    bool up;
    bool down;
} collectives[COLLECTIVES] = { [BCAST] = { "bcast", false, true },
                               [REDUCE] = { "reduce", true, false },
                               [ALLREDUCE] = { "allreduce", true, true },
                               [BARRIER] = { "barrier", true, true } };

/* When the two sides of a message complete. */
enum protocol { EAGER, SEND_FIRST, RECV_FIRST, ANY_FIRST, MIXED, PROTOCOLS };

static const char *const protocols[PROTOCOLS] = { "eager", "send first", "receive first", "any first", "mixed" };

struct config {
    enum collective collective;
    int kind;   /* of the tree */
    int groups; /* with a tree each; 0: one */
    int size;
    int root;
    size_t segments;
    size_t window;
    int sends;
    int recvs;
    bool commutative; /* the own contribution is combined first */
    bool in_place;    /* down: neither pack nor deliver */
    int schedule;
    enum protocol protocol;
    uint64_t seed;
};

/* What ranks send: who has contributed to it. */
struct value {
    uint32_t ranks; /* a bit for each */
    uint32_t segment;
    uint32_t round;
};

/* Memory for one segment. */
struct slot {
    struct value value; /* first: a buffer's address is its slot's */
    atomic_int uses;    /* who still needs it; 0: it is free, and poisoned */
};

/* One direction of one peer, as the transport sees it. */
struct line {
    size_t started;
    size_t finished;
    size_t prefix; /* all before this one have finished */
    bool complete[MOST_SEGMENTS];
};

enum place_of_fault { AT_START, AT_SEND, AT_RECV, AT_PACK, AT_DELIVER, AT_COMBINE, PLACES_OF_FAULTS };

struct rank {
    struct job *job;
    int rank;
    mca_coll_adapt_tree_t tree;
    mca_coll_adapt_core_t *core;             /* NULL after the last round */
    struct line lines[2][2][MOST_RANKS + 1]; /* [half][send][child + 1] */
    struct slot places[MOST_SEGMENTS];       /* [window] */
    struct slot outlets[MOST_SEGMENTS];      /* [window] */
    struct slot inlets[MOST_RANKS][MOST_RECVS];
    struct value result[MOST_SEGMENTS];
    int turns[MOST_SEGMENTS]; /* combinations of each segment */
    size_t used[MOST_RANKS];  /* segments of each child that were combined */
    size_t combined;
    size_t through; /* segments packed, or delivered */
    size_t calls[PLACES_OF_FAULTS];
    atomic_int inside; /* callbacks that run now */
    atomic_int rounds; /* starts so far */
    atomic_int finishes;
    int error; /* the first one that the core was told */
};

struct message {
    mca_coll_adapt_transfer_t *send; /* NULL: not started, or through */
    mca_coll_adapt_transfer_t *recv;
    struct value data;
    enum protocol protocol;
    bool copied;
    bool empty; /* its sender has failed */
    bool has_send;
    bool has_recv;
};

/* Messages from a child to its parent or back, in the order of their starts. */
struct channel {
    size_t sends;
    size_t recvs;
    struct message messages[MOST_ROUNDS * MOST_SEGMENTS];
};

enum action { START, SEND, RECV };

/* What can be done next. */
struct item {
    enum action action;
    int rank; /* whose */
    struct message *message;
};

struct job {
    const struct config *config;
    struct rank ranks[MOST_RANKS];
    pthread_mutex_t lock; /* guards the rest, and lines */
    pthread_cond_t changed;
    struct channel channels[2][MOST_RANKS]; /* [half][child] */
    struct item items[MOST_ITEMS];
    size_t item_count;
    size_t delivering; /* threads that deliver an item now */
    uint64_t random;
    int rounds;   /* that each rank shall do */
    bool restart; /* as soon as it has finished */
    bool threaded;
    bool faulty; /* a fault is wanted */
    enum place_of_fault fault;
    int fault_rank;
    size_t fault_call;                     /* the number of the call that fails */
    bool (*held)(const struct item *item); /* not done at all; NULL: nothing */
    size_t early;                          /* segments that went down before the last one was complete */
    bool broken;
    char why[512];
};

enum { FAULT = -7, EMPTY = -8, UNANSWERED = -9 };

static struct job job;

/* Notes the first promise that is broken; the scheduler then stops. In any thread. */
#define PROMISE(rank, condition)                                                                                       \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            broken(rank, #condition);                                                                                  \
        }                                                                                                              \
    } while (0)

static void broken(const struct rank *rank, const char *promise)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&one);
    if (!__atomic_load_n(&job.broken, __ATOMIC_ACQUIRE)) {
        snprintf(job.why, sizeof(job.why), "%s, rank %d", promise, rank->rank);
        __atomic_store_n(&job.broken, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&one);
}

static bool is_broken(void)
{
    return __atomic_load_n(&job.broken, __ATOMIC_ACQUIRE);
}

static bool immediate(void);

/* ---- memory ---- */

static void slot_poison(struct slot *slot)
{
    memset(&slot->value, 0xdd, sizeof(slot->value));
}

static void slot_claim(const struct rank *rank, struct slot *slot, int uses)
{
    PROMISE(rank, 0 == atomic_load(&slot->uses));
    atomic_store(&slot->uses, uses);
}

static void slot_release(const struct rank *rank, struct slot *slot)
{
    const int uses = atomic_fetch_sub(&slot->uses, 1);

    PROMISE(rank, 0 < uses);
    if (1 == uses) {
        slot_poison(slot);
    }
}

static void slot_clear(struct slot *slot)
{
    atomic_init(&slot->uses, 0);
    slot_poison(slot);
}

static bool value_fits(const struct rank *rank, const struct value *value, size_t segment)
{
    return segment == value->segment && (uint32_t) rank->rounds == value->round;
}

static struct value own_value(const struct rank *rank, size_t segment)
{
    return (struct value){ .ranks = 1u << rank->rank, .segment = (uint32_t) segment, .round = (uint32_t) rank->rounds };
}

static bool is_root(const struct rank *rank)
{
    return -1 == rank->tree.parent;
}

/* ---- callbacks: the work ---- */

static struct rank *rank_of(const mca_coll_adapt_core_t *core)
{
    return core->task.context;
}

/* Callbacks of one operation never overlap. */
static struct rank *enter_any(const mca_coll_adapt_core_t *core, size_t segment)
{
    struct rank *rank = rank_of(core);

    PROMISE(rank, 0 == atomic_fetch_add(&rank->inside, 1));
    PROMISE(rank, segment < job.config->segments);
    if (job.threaded && 0 == segment % 4) {
        sched_yield();
    }
    return rank;
}

/* The work has nothing to do after an error. */
static struct rank *enter(const mca_coll_adapt_core_t *core, size_t segment)
{
    struct rank *rank = enter_any(core, segment);

    PROMISE(rank, 0 == rank->error || immediate());
    return rank;
}

/* The result of a callback, or of a transfer. */
static int outcome(struct rank *rank, enum place_of_fault place)
{
    const size_t call = rank->calls[place]++;
    const int rc
        = job.faulty && place == job.fault && rank->rank == job.fault_rank && call == job.fault_call ? FAULT : 0;

    if (0 != rc && 0 == rank->error) {
        rank->error = rc;
    }
    return rc;
}

static int leave(struct rank *rank, enum place_of_fault place)
{
    const int rc = outcome(rank, place);

    atomic_fetch_sub(&rank->inside, 1);
    return rc;
}

static void *place(mca_coll_adapt_core_t *core, size_t segment)
{
    struct rank *rank = rank_of(core);

    PROMISE(rank, segment < job.config->segments);
    return &rank->places[segment % job.config->window];
}

static int pack(mca_coll_adapt_core_t *core, size_t segment)
{
    struct rank *rank = enter(core, segment);
    struct slot *slot = place(core, segment);

    PROMISE(rank, is_root(rank));
    PROMISE(rank, segment == rank->through);
    ++rank->through;
    slot_claim(rank, slot, rank->tree.child_count + 1);
    slot->value = collectives[job.config->collective].up ? rank->result[segment] : own_value(rank, segment);
    rank->result[segment] = slot->value;
    slot_release(rank, slot);
    return leave(rank, AT_PACK);
}

static int deliver(mca_coll_adapt_core_t *core, size_t segment)
{
    struct rank *rank = enter(core, segment);
    struct slot *slot = place(core, segment);

    PROMISE(rank, !is_root(rank));
    PROMISE(rank, segment == rank->through);
    ++rank->through;
    PROMISE(rank, value_fits(rank, &slot->value, segment));
    rank->result[segment] = slot->value;
    slot_release(rank, slot);
    return leave(rank, AT_DELIVER);
}

static void *inlet(mca_coll_adapt_core_t *core, int child, int slot)
{
    struct rank *rank = rank_of(core);

    PROMISE(rank, 0 <= child && child < rank->tree.child_count && 0 <= slot && slot < job.config->recvs);
    return &rank->inlets[child][slot];
}

static void *outlet(mca_coll_adapt_core_t *core, size_t segment)
{
    struct rank *rank = rank_of(core);

    PROMISE(rank, segment < job.config->segments);
    return &rank->outlets[segment % job.config->window];
}

/* Whose contribution comes in a turn; -1: the own. Rank order, from the last rank to the first. */
static int child_of_turn(const struct rank *rank, int turn)
{
    int order[MOST_RANKS + 1];
    int count = 0;

    for (int child = rank->tree.child_count - 1; child >= rank->tree.children_before; --child) {
        order[count++] = child;
    }
    order[count++] = -1;
    for (int child = rank->tree.children_before - 1; child >= 0; --child) {
        order[count++] = child;
    }
    return order[turn];
}

static bool keeps_order(const struct config *config)
{
    return !config->commutative && mca_coll_adapt_trees[config->kind].in_order;
}

/* Bits without gaps. */
static bool consecutive(uint32_t bits)
{
    const uint32_t lowest = bits & -bits;

    return 0 == (bits & (bits + lowest));
}

static void merge(const struct rank *rank, struct value *result, const struct value *left)
{
    PROMISE(rank, 0 == (result->ranks & left->ranks));
    if (keeps_order(job.config)) {
        PROMISE(rank, left->ranks < result->ranks);
        PROMISE(rank, consecutive(left->ranks | result->ranks));
    }
    result->ranks |= left->ranks;
}

static void take_turn(struct rank *rank, size_t segment, int turn, struct slot *in)
{
    struct slot *result = &rank->outlets[segment % job.config->window];
    const int child = child_of_turn(rank, turn);
    const struct value own = own_value(rank, segment);

    PROMISE(rank, (-1 == child) == (NULL == in));
    PROMISE(rank, NULL == in || in == &rank->inlets[child][segment % (size_t) job.config->recvs]);
    PROMISE(rank, NULL == in || value_fits(rank, &in->value, segment));
    if (0 == turn) {
        slot_claim(rank, result, 1);
        result->value = NULL == in ? own : in->value;
    } else {
        PROMISE(rank, value_fits(rank, &result->value, segment));
        merge(rank, &result->value, NULL == in ? &own : &in->value);
    }
    if (NULL != in) {
        slot_release(rank, in);
    }
}

/* At the root the result is taken as soon as it is complete, and its memory is free. */
static int combine(mca_coll_adapt_core_t *core, size_t segment, void *in, bool first)
{
    struct rank *rank = enter(core, segment);
    struct slot *result = &rank->outlets[segment % job.config->window];
    const int turn = rank->turns[segment]++;
    const int child = child_of_turn(rank, turn);

    PROMISE(rank, first == (0 == turn));
    PROMISE(rank, turn <= rank->tree.child_count);
    if (-1 != child) {
        PROMISE(rank, segment == rank->used[child]);
        ++rank->used[child];
    }
    if (BARRIER != job.config->collective) {
        take_turn(rank, segment, turn, in);
    }
    if (rank->tree.child_count == turn) {
        PROMISE(rank, segment == rank->combined);
        ++rank->combined;
        if (is_root(rank) && BARRIER != job.config->collective) {
            rank->result[segment] = result->value;
            slot_release(rank, result);
        }
    }
    return leave(rank, AT_COMBINE);
}

static void *nowhere(mca_coll_adapt_core_t *core, size_t segment)
{
    PROMISE(rank_of(core), segment < job.config->segments);
    return NULL;
}

static void *no_inlet(mca_coll_adapt_core_t *core, int child, int slot)
{
    (void) core;
    (void) child;
    (void) slot;
    return NULL;
}

static const mca_coll_adapt_work_t work = { place, pack, deliver, inlet, outlet, combine };
static const mca_coll_adapt_work_t in_place_work = { .place = place };
static const mca_coll_adapt_work_t barrier_work
    = { .place = nowhere, .inlet = no_inlet, .outlet = nowhere, .combine = combine };

static const mca_coll_adapt_work_t *work_of(const struct config *config)
{
    return BARRIER == config->collective ? &barrier_work : config->in_place ? &in_place_work : &work;
}

/* Whether there is data, and it has to be packed and delivered. */
static bool moves_data(void)
{
    return BARRIER != job.config->collective && !job.config->in_place;
}

/* ---- the transport ---- */

static void item_add(enum action action, int rank, struct message *message)
{
    if (MOST_ITEMS == job.item_count) {
        broken(&job.ranks[rank], "there is room for another item");
        return;
    }
    job.items[job.item_count++] = (struct item){ .action = action, .rank = rank, .message = message };
    pthread_cond_signal(&job.changed);
}

static struct line *line_of(const mca_coll_adapt_transfer_t *transfer)
{
    return &rank_of(transfer->core)->lines[transfer->half][transfer->send][transfer->child + 1];
}

static void line_start(const mca_coll_adapt_transfer_t *transfer)
{
    const struct rank *rank = rank_of(transfer->core);
    struct line *line = line_of(transfer);

    PROMISE(rank, transfer->segment == line->started);
    ++line->started;
    PROMISE(rank, line->started - line->finished <= (size_t) (transfer->send ? job.config->sends : job.config->recvs));
    PROMISE(rank, transfer->peer == (-1 == transfer->child ? rank->tree.parent : rank->tree.children[transfer->child]));
}

static void line_finish(const mca_coll_adapt_transfer_t *transfer)
{
    struct line *line = line_of(transfer);

    ++line->finished;
    line->complete[transfer->segment] = true;
    while (line->prefix < line->started && line->complete[line->prefix]) {
        ++line->prefix;
    }
}

/* The memory of a transfer, as its rank sees it. */
static void buffer_check(const mca_coll_adapt_transfer_t *transfer)
{
    const struct rank *rank = rank_of(transfer->core);
    struct slot *slot = transfer->buffer;

    if (BARRIER == job.config->collective) {
        PROMISE(rank, NULL == slot);
    } else if (transfer->send) {
        PROMISE(rank, value_fits(rank, &slot->value, transfer->segment));
    } else if (moves_data()) {
        slot_claim(rank, slot, ADAPT_UP == transfer->half ? 1 : rank->tree.child_count + 1);
    }
}

static void message_copy(struct message *message)
{
    if (!message->copied && NULL != message->send->buffer) {
        message->data = ((struct slot *) message->send->buffer)->value;
    }
    message->copied = true;
}

/* Both sides have started. */
static void message_match(struct message *message)
{
    if (EAGER != message->protocol && RECV_FIRST != message->protocol) {
        item_add(SEND, rank_of(message->send->core)->rank, message);
    }
    if (SEND_FIRST != message->protocol) {
        item_add(RECV, rank_of(message->recv->core)->rank, message);
    }
}

static void message_start(mca_coll_adapt_transfer_t *transfer)
{
    const struct rank *rank = rank_of(transfer->core);
    const int child = (ADAPT_UP == transfer->half) == transfer->send ? rank->rank : transfer->peer;
    struct channel *channel = &job.channels[transfer->half][child];
    struct message *message = &channel->messages[transfer->send ? channel->sends++ : channel->recvs++];

    if (!message->has_send && !message->has_recv) {
        message->protocol
            = MIXED == job.config->protocol ? tool_random_below(&job.random, MIXED) : job.config->protocol;
    }
    if (transfer->send) {
        message->send = transfer;
        message->empty = transfer->empty;
        message->has_send = true;
        if (EAGER == message->protocol) {
            message_copy(message);
            item_add(SEND, rank->rank, message);
        }
    } else {
        message->recv = transfer;
        message->has_recv = true;
    }
    if (!message->has_send || !message->has_recv) {
        return;
    }
    if (transfer->send && NULL == message->recv) {
        /* It is too late: see fail_unanswered(). */
        if (EAGER != message->protocol) {
            item_add(SEND, rank->rank, message);
        }
    } else if (!transfer->send && NULL == message->send && !message->copied) {
        message->empty = true;
        item_add(RECV, rank->rank, message);
    } else {
        message_match(message);
    }
}

static void deliver_inside(void);

static int start(mca_coll_adapt_transfer_t *transfer)
{
    struct rank *rank = enter_any(transfer->core, transfer->segment);
    const bool failed = 0 != rank->error;
    const int rc = outcome(rank, AT_START);

    PROMISE(rank, immediate() ? !transfer->empty || (transfer->send && failed)
                              : transfer->empty == (transfer->send && failed));
    pthread_mutex_lock(&job.lock);
    line_start(transfer);
    if (0 != rc) {
        line_finish(transfer);
    }
    pthread_mutex_unlock(&job.lock);
    if (0 == rc) {
        pthread_mutex_lock(&job.lock);
        if (ADAPT_DOWN == transfer->half && transfer->send && is_root(rank) && rank->combined < job.config->segments) {
            ++job.early;
        }
        if (!failed) {
            buffer_check(transfer);
        }
        message_start(transfer);
        pthread_mutex_unlock(&job.lock);
        if (immediate()) {
            deliver_inside();
        }
    }
    atomic_fetch_sub(&rank->inside, 1);
    return rc;
}

static bool is_quiet(const struct rank *rank);
static void check_finished(const struct rank *rank);
static void start_rank(struct rank *rank);

static void finish(mca_coll_adapt_core_t *core, int rc)
{
    struct rank *rank = rank_of(core);
    const bool last = rank->rounds == job.rounds;

    PROMISE(rank, 0 == rank->inside);
    PROMISE(rank, is_quiet(rank));
    PROMISE(rank, immediate() ? (0 == rc) == (0 == rank->error) : rc == rank->error);
    PROMISE(rank, rank->finishes < rank->rounds);
    if (0 == rc) {
        check_finished(rank);
    }
    if (last) {
        mca_coll_adapt_core_free(core);
        free(core);
        rank->core = NULL;
    }
    atomic_fetch_add(&rank->finishes, 1);
    if (last || !job.restart) {
        pthread_mutex_lock(&job.lock);
        pthread_cond_broadcast(&job.changed);
        pthread_mutex_unlock(&job.lock);
    } else if (immediate()) {
        start_rank(rank);
    } else {
        pthread_mutex_lock(&job.lock);
        item_add(START, rank->rank, NULL);
        pthread_mutex_unlock(&job.lock);
    }
}

static const mca_coll_adapt_transport_t transport = { start, finish };

/* ---- deliveries ---- */

/* One side of a message is through; the lock is held. */
static mca_coll_adapt_transfer_t *message_finish(struct message *message, bool send)
{
    mca_coll_adapt_transfer_t *transfer = send ? message->send : message->recv;

    if (send) {
        message_copy(message);
        message->send = NULL;
        if (SEND_FIRST == message->protocol && NULL != message->recv) {
            item_add(RECV, rank_of(message->recv->core)->rank, message);
        }
    } else {
        if (NULL != message->send) {
            message_copy(message);
        }
        message->recv = NULL;
        if (RECV_FIRST == message->protocol && NULL != message->send) {
            item_add(SEND, rank_of(message->send->core)->rank, message);
        }
    }
    line_finish(transfer);
    return transfer;
}

static void complete(struct message *message, bool send, int rc)
{
    mca_coll_adapt_transfer_t *transfer;
    struct rank *rank;
    struct slot *slot;

    pthread_mutex_lock(&job.lock);
    transfer = message_finish(message, send);
    pthread_mutex_unlock(&job.lock);
    rank = rank_of(transfer->core);
    slot = transfer->buffer;
    if (!send && message->empty) {
        rc = 0 == rc ? EMPTY : rc;
    }
    if (NULL != slot && send && 0 == rank->error && (moves_data() || ADAPT_UP == transfer->half)) {
        slot_release(rank, slot);
    } else if (NULL != slot && !send) {
        slot->value = message->data;
    }
    if (0 != rc && 0 == rank->error) {
        rank->error = rc;
    } else if (0 == rc && job.faulty) {
        rc = outcome(rank, send ? AT_SEND : AT_RECV);
    }
    mca_coll_adapt_core_event(transfer, rc);
}

static void reset(struct rank *rank)
{
    memset(rank->lines, 0, sizeof(rank->lines));
    memset(rank->turns, 0, sizeof(rank->turns));
    memset(rank->used, 0, sizeof(rank->used));
    memset(rank->result, 0xdd, sizeof(rank->result));
    memset(rank->calls, 0, sizeof(rank->calls));
    rank->combined = rank->through = 0;
    if (0 != rank->error || 0 == rank->rounds) {
        for (size_t i = 0; i < MOST_SEGMENTS; ++i) {
            slot_clear(&rank->places[i]);
            slot_clear(&rank->outlets[i]);
        }
        for (size_t i = 0; i < MOST_RANKS * MOST_RECVS; ++i) {
            slot_clear(&rank->inlets[i / MOST_RECVS][i % MOST_RECVS]);
        }
    }
    rank->error = 0;
}

static void start_rank(struct rank *rank)
{
    reset(rank);
    ++rank->rounds;
    if (job.config->in_place) {
        for (size_t segment = 0; segment < job.config->segments; ++segment) {
            rank->places[segment].value = own_value(rank, segment);
            rank->places[segment].value.round -= is_root(rank) ? 0 : 1;
        }
    }
    mca_coll_adapt_core_start(rank->core);
}

static void perform(const struct item *item)
{
    if (START == item->action) {
        start_rank(&job.ranks[item->rank]);
    } else {
        complete(item->message, SEND == item->action, 0);
    }
}

/* ---- schedules ---- */

static bool late_sends(const struct item *item)
{
    return SEND == item->action;
}

static bool late_receives(const struct item *item)
{
    return RECV == item->action;
}

static bool late_starts(const struct item *item)
{
    return START == item->action;
}

static bool late_rank(const struct item *item)
{
    return item->rank == (int) (job.config->seed % (uint64_t) job.config->size);
}

enum choice { OLDEST, NEWEST, RANDOM };

static const struct schedule {
    const char *name;
    enum choice choice;
    bool immediate;                        /* inside the call that starts the transfer */
    bool (*late)(const struct item *item); /* after all others */
} schedules[] = {
    { "in order", OLDEST, false, NULL },
    { "newest first", NEWEST, false, NULL },
    { "random", RANDOM, false, NULL },
    { "sends late", RANDOM, false, late_sends },
    { "receives late", RANDOM, false, late_receives },
    { "starts late", RANDOM, false, late_starts },
    { "one rank late", RANDOM, false, late_rank },
    { "inside start", OLDEST, true, NULL },
    { "inside start, newest first", NEWEST, true, NULL },
};
enum { SCHEDULE_RANDOM = 2 };

static bool immediate(void)
{
    return schedules[job.config->schedule].immediate;
}

/* Removes an item; the lock is held. False where all are held back, or none is there. */
static bool item_take(struct item *item, bool starts)
{
    const struct schedule *schedule = &schedules[job.config->schedule];
    size_t found = SIZE_MAX, offset;

    if (0 == job.item_count) {
        return false;
    }
    offset = RANDOM == schedule->choice   ? tool_random_below(&job.random, job.item_count)
             : NEWEST == schedule->choice ? job.item_count - 1
                                          : 0;
    for (size_t i = 0; i < job.item_count; ++i) {
        const size_t place_of_item = NEWEST == schedule->choice ? offset - i : (offset + i) % job.item_count;
        const struct item *candidate = &job.items[place_of_item];

        if ((NULL != job.held && job.held(candidate)) || (!starts && START == candidate->action)) {
            continue;
        }
        if (NULL == schedule->late || !schedule->late(candidate)) {
            found = place_of_item;
            break;
        }
        found = SIZE_MAX == found ? place_of_item : found;
    }
    if (SIZE_MAX == found) {
        return false;
    }
    *item = job.items[found];
    memmove(&job.items[found], &job.items[found + 1], (--job.item_count - found) * sizeof(*item));
    return true;
}

static void deliver_inside(void)
{
    struct item item;

    for (;;) {
        bool taken;

        pthread_mutex_lock(&job.lock);
        taken = item_take(&item, false);
        pthread_mutex_unlock(&job.lock);
        if (!taken || is_broken()) {
            return;
        }
        perform(&item);
    }
}

/* ---- what must hold ---- */

static const struct line *line(const struct rank *rank, mca_coll_adapt_half_t half, bool send, int child)
{
    return &rank->lines[half][send][child + 1];
}

static bool line_full(const struct rank *rank, mca_coll_adapt_half_t half, bool send, int child)
{
    const struct line *l = line(rank, half, send, child);

    return l->finished == job.config->segments && l->started == l->finished;
}

static bool lines_full(const struct rank *rank, mca_coll_adapt_half_t half)
{
    bool full = is_root(rank) || line_full(rank, half, ADAPT_UP == half, -1);

    for (int child = 0; child < rank->tree.child_count; ++child) {
        full = full && line_full(rank, half, ADAPT_DOWN == half, child);
    }
    return full;
}

/* Nothing is under way. */
static bool is_quiet(const struct rank *rank)
{
    bool quiet = true;

    for (int i = 0; i < 4 * (rank->tree.child_count + 1); ++i) {
        const struct line *l = &rank->lines[i % 2][i / 2 % 2][i / 4];

        quiet = quiet && l->started == l->finished;
    }
    return quiet;
}

static bool memory_free(struct rank *rank)
{
    bool all = true;

    for (size_t i = 0; i < job.config->window; ++i) {
        all = all && 0 == rank->places[i].uses && 0 == rank->outlets[i].uses;
    }
    for (size_t i = 0; i < MOST_RANKS * MOST_RECVS; ++i) {
        all = all && 0 == rank->inlets[i / MOST_RECVS][i % MOST_RECVS].uses;
    }
    return all;
}

static void check_result(const struct rank *rank)
{
    const bool up = collectives[job.config->collective].up;
    const uint32_t wanted = up ? (1u << job.config->size) - 1 : 1u << job.config->root;

    if (BARRIER == job.config->collective || (REDUCE == job.config->collective && !is_root(rank))) {
        return;
    }
    for (size_t s = 0; s < job.config->segments; ++s) {
        const struct value *value = job.config->in_place ? &rank->places[s].value : &rank->result[s];

        PROMISE(rank, value_fits(rank, value, s));
        PROMISE(rank, wanted == value->ranks);
    }
}

/* Nobody leaves before those have come whose contribution is needed. */
static void check_others_came(const struct rank *rank)
{
    const bool up = collectives[job.config->collective].up, down = collectives[job.config->collective].down;

    for (int other = 0; other < job.config->size && 0 < job.config->segments; ++other) {
        if (up ? down || is_root(rank) : is_root(&job.ranks[other])) {
            PROMISE(rank, job.ranks[other].rounds >= rank->rounds);
        }
    }
}

static void check_finished(const struct rank *rank)
{
    const bool up = collectives[job.config->collective].up, down = collectives[job.config->collective].down;

    PROMISE(rank, !up || lines_full(rank, ADAPT_UP));
    PROMISE(rank, !down || lines_full(rank, ADAPT_DOWN));
    PROMISE(rank, !up || job.config->segments == rank->combined);
    PROMISE(rank, !down || !moves_data() || job.config->segments == rank->through);
    PROMISE(rank, !moves_data() || memory_free((struct rank *) rank));
    check_result(rank);
    check_others_came(rank);
}

/* Between events everything that may be under way is, and everything that has come has been used. */
static void check_up_busy(const struct rank *rank)
{
    const struct config *c = job.config;
    const struct line *out = line(rank, ADAPT_UP, true, -1);
    const size_t limit = least(c->segments, c->window + (is_root(rank) ? rank->combined : out->prefix));

    for (int child = 0; child < rank->tree.child_count; ++child) {
        PROMISE(rank,
                least(limit, rank->used[child] + (size_t) c->recvs) == line(rank, ADAPT_UP, false, child)->started);
    }
    if (!is_root(rank)) {
        PROMISE(rank, least(rank->combined, out->prefix + (size_t) c->sends) == out->started);
    }
    if (rank->combined < limit) {
        const int child = child_of_turn(rank, rank->turns[rank->combined]);

        PROMISE(rank, -1 != child);
        PROMISE(rank, -1 == child || !line(rank, ADAPT_UP, false, child)->complete[rank->combined]);
    }
}

static void check_down_busy(const struct rank *rank)
{
    const struct config *c = job.config;
    const struct line *in = line(rank, ADAPT_DOWN, false, -1);
    const size_t there = collectives[c->collective].up ? rank->combined : c->segments;
    const size_t through = moves_data() ? rank->through : is_root(rank) ? there : in->prefix;
    size_t done = through;

    for (int child = 0; child < rank->tree.child_count; ++child) {
        done = least(done, line(rank, ADAPT_DOWN, true, child)->prefix);
    }
    if (is_root(rank)) {
        PROMISE(rank, least(there, done + c->window) == through);
    } else {
        PROMISE(rank, least(least(c->segments, through + (size_t) c->recvs), done + c->window) == in->started);
        PROMISE(rank, through == in->prefix);
    }
    for (int child = 0; child < rank->tree.child_count; ++child) {
        const struct line *out = line(rank, ADAPT_DOWN, true, child);

        PROMISE(rank, least(through, out->prefix + (size_t) c->sends) == out->started);
    }
}

static void check_busy(const struct rank *rank)
{
    if (rank->rounds == rank->finishes || 0 != rank->error) {
        return;
    }
    if (collectives[job.config->collective].up) {
        check_up_busy(rank);
    }
    if (collectives[job.config->collective].down) {
        check_down_busy(rank);
    }
}

/* ---- the scheduler ---- */

static bool all_finished(int rounds)
{
    for (int r = 0; r < job.config->size; ++r) {
        if (job.ranks[r].finishes < rounds) {
            return false;
        }
    }
    return true;
}

/* Where a transfer was not even started the one at the other end waits for it: fails such a one, or false. All others
 * are answered. */
static bool fail_unanswered(void)
{
    if (!job.faulty || AT_START != job.fault) {
        return false;
    }
    for (int i = 0; i < 2 * job.config->size; ++i) {
        struct channel *channel = &job.channels[i % 2][i / 2];

        for (size_t k = 0; k < COUNT(channel->messages); ++k) {
            struct message *message = &channel->messages[k];

            if (NULL != message->send || NULL != message->recv) {
                complete(message, NULL != message->send, UNANSWERED);
                return true;
            }
        }
    }
    return false;
}

static void print_state(void)
{
    for (int r = 0; r < job.config->size; ++r) {
        const struct rank *rank = &job.ranks[r];

        print_error("rank %d: parent %d, children %d, started %d, finished %d, combined %zu, through %zu, error %d\n",
                    r, rank->tree.parent, rank->tree.child_count, rank->rounds, rank->finishes, rank->combined,
                    rank->through, rank->error);
        for (int i = 0; i < 4 * (rank->tree.child_count + 1); ++i) {
            const struct line *l = &rank->lines[i % 2][i / 2 % 2][i / 4];

            if (0 < l->started) {
                print_error("    %s %s, child %d: %zu started, %zu finished\n", 0 == i % 2 ? "up" : "down",
                            0 == i / 2 % 2 ? "receives" : "sends", i / 4 - 1, l->started, l->finished);
            }
        }
    }
}

static void report(const struct config *c)
{
    if (!is_broken()) {
        return;
    }
    print_state();
    fail_msg("%s, in %s, tree %s, %d groups, size %d, root %d, %zu segments, window %zu, %d sends, %d receives, %s, "
             "%s, %s, %s, "
             "seed %llu",
             job.why, collectives[c->collective].name, mca_coll_adapt_trees[c->kind].name, c->groups, c->size, c->root,
             c->segments, c->window, c->sends, c->recvs, c->commutative ? "commutative" : "not commutative",
             c->in_place ? "in place" : "packed", schedules[c->schedule].name, protocols[c->protocol],
             (unsigned long long) c->seed);
}

/* Runs until nothing more can be done. */
static void run_on(void)
{
    struct item item;

    while (!is_broken()) {
        if (item_take(&item, true)) {
            perform(&item);
            if (!immediate()) {
                check_busy(&job.ranks[item.rank]);
            }
        } else if (!fail_unanswered()) {
            return;
        }
    }
}

static void run_round(int rounds)
{
    run_on();
    if (!is_broken() && !all_finished(rounds)) {
        broken(&job.ranks[0], "something is under way until all have finished");
    }
}

static int make_tree(struct rank *rank, const struct config *config)
{
    static int groups[MOST_RANKS];
    const mca_coll_adapt_tree_level_t levels[] = { { groups, ADAPT_TREE_CHAIN, 2 }, { NULL, ADAPT_TREE_BINARY, 0 } };

    for (int r = 0; r < config->size; ++r) {
        groups[r] = r / 4;
    }
    if (ADAPT_TREE_TOPOLOGY == config->kind) {
        return mca_coll_adapt_tree_make_topology(&rank->tree, levels, 2, config->size, config->root, rank->rank);
    }
    return mca_coll_adapt_tree_make_groups(&rank->tree, config->kind, 3, config->groups, keeps_order(config),
                                           config->size, config->root, rank->rank);
}

static mca_coll_adapt_task_t task_of(struct rank *rank)
{
    const struct config *c = job.config;

    return (mca_coll_adapt_task_t){ .up = collectives[c->collective].up,
                                    .down = collectives[c->collective].down,
                                    .tree = rank->tree,
                                    .segments = c->segments,
                                    .window = c->window,
                                    .sends = c->sends,
                                    .recvs = c->recvs,
                                    .transport = &transport,
                                    .work = work_of(c),
                                    .context = rank };
}

static void clear_channels(void)
{
    for (int r = 0; r < MOST_RANKS; ++r) {
        for (int half = 0; half < 2; ++half) {
            struct channel *channel = &job.channels[half][r];
            const size_t used = channel->sends > channel->recvs ? channel->sends : channel->recvs;

            memset(channel->messages, 0, used * sizeof(channel->messages[0]));
            channel->sends = channel->recvs = 0;
        }
    }
    job.item_count = 0;
}

static void add_starts(void)
{
    for (int r = 0; r < job.config->size; ++r) {
        item_add(START, r, NULL);
    }
}

static void job_open(const struct config *config, int rounds)
{
    clear_channels();
    job.config = config;
    job.random = config->seed;
    job.rounds = rounds;
    job.restart = true;
    job.threaded = job.faulty = job.broken = false;
    job.held = NULL;
    job.item_count = job.delivering = job.early = 0;
    pthread_mutex_init(&job.lock, NULL);
    pthread_cond_init(&job.changed, NULL);
    for (int r = 0; r < config->size; ++r) {
        struct rank *rank = &job.ranks[r];
        mca_coll_adapt_task_t task;

        memset(rank, 0, sizeof(*rank));
        rank->rank = r;
        assert_int_equal(0, make_tree(rank, config));
        if (config->commutative) {
            rank->tree.children_before = rank->tree.child_count;
        }
        task = task_of(rank);
        rank->core = malloc(sizeof(*rank->core));
        assert_non_null(rank->core);
        memset(rank->core, 0xdd, sizeof(*rank->core));
        assert_int_equal(0, mca_coll_adapt_core_init(rank->core, &task));
    }
    add_starts();
}

static void job_close(void)
{
    report(job.config);
    for (int r = 0; r < job.config->size; ++r) {
        struct rank *rank = &job.ranks[r];

        assert_null(rank->core);
        mca_coll_adapt_tree_free(&rank->tree);
    }
    pthread_mutex_destroy(&job.lock);
    pthread_cond_destroy(&job.changed);
}

static void run(const struct config *config, int rounds)
{
    job_open(config, rounds);
    run_round(rounds);
    job_close();
}

/* ---- all configurations ---- */

typedef void (*run_fn_t)(const struct config *config);

static const size_t segment_counts[] = { 0, 1, 2, 7, 40 };

/* Chooses what the loops leave open. */
static void with_rest(struct config *c, uint64_t *state)
{
    c->segments = BARRIER == c->collective ? 1 : c->segments;
    c->window = c->segments;
    if (0 < c->segments && 0 != tool_random_below(state, 3)) {
        c->window
            = 1 + tool_random_below(state, 0 == tool_random_below(state, 2) ? c->segments : least(3, c->segments));
    }
    c->sends = 1 + (int) tool_random_below(state, 4);
    c->recvs = 1 + (int) tool_random_below(state, MOST_RECVS);
    c->commutative = collectives[c->collective].up && 0 == tool_random_below(state, 2);
    c->in_place = BCAST == c->collective && c->window == c->segments && 0 == tool_random_below(state, 2);
    c->protocol = (enum protocol) tool_random_below(state, PROTOCOLS);
    c->seed = tool_random_below(state, 1u << 30);
}

static void with_segments(struct config *c, uint64_t *state, run_fn_t function)
{
    for (size_t s = 0; s < COUNT(segment_counts); ++s) {
        for (int collective = 0; collective < COLLECTIVES; ++collective) {
            c->collective = (enum collective) collective;
            c->segments = segment_counts[s];
            with_rest(c, state);
            function(c);
        }
    }
}

static void with_roots(struct config *c, uint64_t *state, run_fn_t function)
{
    const int roots[] = { 0, c->size / 2, c->size - 1 };

    for (int i = 0; i < (c->size < 3 ? c->size : 3); ++i) {
        c->root = roots[2 == c->size ? i : 2 - i];
        with_segments(c, state, function);
    }
}

/* All trees, sizes, roots, collectives and numbers of segments; the rest differs from one to the next. */
static void for_each_config(int schedule, uint64_t seed, int step, run_fn_t function)
{
    struct config config = { .schedule = schedule };
    uint64_t state = seed;

    for (int kind = 0; kind < ADAPT_TREE_COUNT; ++kind) {
        for (int size = 1; size <= MOST_RANKS; size += step) {
            config.kind = kind;
            config.size = size;
            with_roots(&config, &state, function);
        }
    }
}

static void run_once(const struct config *config)
{
    run(config, 1);
}

static void any_order_of_completions_gives_the_right_result(void **state)
{
    (void) state;
    for (int schedule = 0; schedule < (int) COUNT(schedules); ++schedule) {
        for_each_config(schedule, 100 + (uint64_t) schedule, SCHEDULE_RANDOM == schedule ? 1 : 3, run_once);
    }
}

static void run_thrice(const struct config *config)
{
    run(config, MOST_ROUNDS);
}

static void an_operation_can_be_started_again(void **state)
{
    static const int wanted[] = { 0, SCHEDULE_RANDOM, 6, 7 };

    (void) state;
    for (size_t i = 0; i < COUNT(wanted); ++i) {
        for_each_config(wanted[i], 200 + i, 5, run_thrice);
    }
}

/* Every window, number of sends and of receives on one shape. */
static void with_every_limit(enum collective collective, int kind, int schedule)
{
    struct config c
        = { .collective = collective, .kind = kind, .size = 6, .root = 2, .segments = 7, .schedule = schedule };

    for (c.window = 1; c.window <= c.segments; ++c.window) {
        for (c.sends = 1; c.sends <= 4; ++c.sends) {
            for (c.recvs = 1; c.recvs <= MOST_RECVS; ++c.recvs) {
                c.protocol = (enum protocol)(++c.seed % PROTOCOLS);
                run(&c, 1);
            }
        }
    }
}

static void every_window_and_number_of_transfers_works(void **state)
{
    static const int kinds[]
        = { ADAPT_TREE_BINOMIAL, ADAPT_TREE_IN_ORDER_BINARY, ADAPT_TREE_PIPELINE, ADAPT_TREE_LINEAR };

    (void) state;
    for (size_t k = 0; k < COUNT(kinds); ++k) {
        for (int collective = 0; collective < BARRIER; ++collective) {
            with_every_limit((enum collective) collective, kinds[k], SCHEDULE_RANDOM);
            with_every_limit((enum collective) collective, kinds[k], 7);
        }
    }
}

static void many_random_orders_give_the_right_result(void **state)
{
    struct config c = { .schedule = SCHEDULE_RANDOM };
    uint64_t random = 300;

    (void) state;
    for (int i = 0; i < 3000; ++i) {
        c.collective = (enum collective) tool_random_below(&random, COLLECTIVES);
        c.kind = (int) tool_random_below(&random, ADAPT_TREE_COUNT);
        c.size = 1 + (int) tool_random_below(&random, MOST_RANKS);
        c.root = (int) tool_random_below(&random, (size_t) c.size);
        c.groups = (int) tool_random_below(&random, (size_t) c.size + 1);
        c.segments = tool_random_below(&random, MOST_SEGMENTS + 1);
        with_rest(&c, &random);
        run(&c, 1 + (int) tool_random_below(&random, MOST_ROUNDS));
    }
}

/* Where memory is there at once, one rank goes through more segments than there is memory for. */
static void a_single_rank_needs_nobody(void **state)
{
    struct config c = { .kind = ADAPT_TREE_BINARY, .size = 1, .segments = 7, .sends = 1, .recvs = 2 };

    (void) state;
    for (int collective = 0; collective < COLLECTIVES; ++collective) {
        c.collective = (enum collective) collective;
        for (c.window = 1; c.window <= c.segments; ++c.window) {
            run(&c, 2);
        }
    }
}

/* ---- threads ---- */

static void *deliver_in_thread(void *unused)
{
    struct item item;

    pthread_mutex_lock(&job.lock);
    while (!is_broken() && !all_finished(job.rounds)) {
        if (item_take(&item, true)) {
            ++job.delivering;
            pthread_mutex_unlock(&job.lock);
            perform(&item);
            pthread_mutex_lock(&job.lock);
            --job.delivering;
        } else if (0 == job.delivering) {
            broken(&job.ranks[0], "something is under way until all have finished");
        } else {
            pthread_cond_wait(&job.changed, &job.lock);
        }
        if (0 == job.delivering) {
            pthread_cond_broadcast(&job.changed);
        }
    }
    pthread_mutex_unlock(&job.lock);
    return unused;
}

static void run_threads(const struct config *config)
{
    pthread_t threads[THREADS];

    if (0 != config->seed % 4) {
        return; /* it is slow: a sample */
    }
    job_open(config, MOST_ROUNDS);
    job.threaded = true;
    for (int i = 0; i < THREADS; ++i) {
        assert_int_equal(0, pthread_create(&threads[i], NULL, deliver_in_thread, NULL));
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(threads[i], NULL);
    }
    job_close();
}

static void completions_may_come_from_several_threads_at_once(void **state)
{
    (void) state;
    for_each_config(SCHEDULE_RANDOM, 400, 8, run_threads);
}

/* ---- errors ---- */

/* A fault in one round; the next one is as if nothing had been. */
static bool run_fault(const struct config *config, enum place_of_fault fault, int rank, size_t call)
{
    bool hit;

    job_open(config, 2);
    job.restart = false;
    job.faulty = true;
    job.fault = fault;
    job.fault_rank = rank;
    job.fault_call = call;
    run_round(1);
    hit = job.ranks[rank].calls[fault] > call;
    if (!is_broken()) {
        PROMISE(&job.ranks[rank], hit == (FAULT == job.ranks[rank].error) || immediate());
        job.faulty = false;
        clear_channels();
        add_starts();
        run_round(2);
    }
    job_close();
    return hit;
}

static void with_faults(const struct config *config)
{
    for (int fault = 0; fault < PLACES_OF_FAULTS; ++fault) {
        for (int rank = 0; rank < config->size; ++rank) {
            size_t call = 0;

            while (run_fault(config, (enum place_of_fault) fault, rank, call)) {
                ++call;
            }
        }
    }
}

static void after_an_error_all_goes_on_without_data(void **state)
{
    static const int kinds[] = { ADAPT_TREE_IN_ORDER_BINOMIAL, ADAPT_TREE_LINEAR, ADAPT_TREE_PIPELINE };
    static const int wanted[] = { 0, 1, SCHEDULE_RANDOM, 3, 7 };
    struct config c = { .size = 5, .root = 1, .segments = 5, .window = 3, .sends = 2, .recvs = 3 };

    (void) state;
    for (size_t i = 0; i < COUNT(kinds) * COUNT(wanted) * BARRIER; ++i) {
        c.kind = kinds[i % COUNT(kinds)];
        c.schedule = wanted[i / COUNT(kinds) % COUNT(wanted)];
        c.collective = (enum collective)(i / COUNT(kinds) / COUNT(wanted));
        c.protocol = (enum protocol)(i % PROTOCOLS);
        c.seed = i;
        with_faults(&c);
    }
}

static void init_says_when_memory_is_short(void **state)
{
    const struct config c = { .collective = ALLREDUCE,
                              .kind = ADAPT_TREE_BINARY,
                              .size = 3,
                              .segments = 2,
                              .window = 2,
                              .sends = 1,
                              .recvs = 2 };
    struct rank rank = { .rank = 0 };
    mca_coll_adapt_core_t core;
    mca_coll_adapt_task_t task;
    int rc;

    (void) state;
    job.config = &c;
    assert_int_equal(0, make_tree(&rank, &c));
    task = task_of(&rank);
    malloc_fails = true;
    rc = mca_coll_adapt_core_init(&core, &task);
    malloc_fails = false;
    assert_int_equal(-1, rc);
    mca_coll_adapt_core_free(&core);
    mca_coll_adapt_tree_free(&rank.tree);
}

/* ---- what does not wait for what ---- */

static void a_segment_goes_down_before_the_last_one_is_up(void **state)
{
    struct config c = { .collective = ALLREDUCE, .size = 7, .segments = 40, .sends = 2, .recvs = 3 };

    (void) state;
    for (c.kind = 0; c.kind < ADAPT_TREE_COUNT; ++c.kind) {
        for (int protocol = 0; protocol < PROTOCOLS; ++protocol) {
            for (c.window = 4; c.window <= c.segments; c.window *= 10) {
                c.protocol = (enum protocol) protocol;
                job_open(&c, 1);
                run_round(1);
                /* At least half of all that the root sends. */
                PROMISE(&job.ranks[0], job.early >= c.segments / 2 * (size_t) job.ranks[0].tree.child_count);
                job_close();
            }
        }
    }
}

/* A rank that does not start before the others cannot do any more. */
static int slow;

static bool slow_start(const struct item *item)
{
    return START == item->action && slow == item->rank;
}

static bool below_slow(int rank)
{
    while (-1 != rank && slow != rank) {
        rank = job.ranks[rank].tree.parent;
    }
    return -1 != rank;
}

/* Everyone who does not depend on the slow rank gets as many segments as there is memory for at the root. */
static void check_others_received(void)
{
    const struct config *c = job.config;

    for (int r = 0; r < c->size; ++r) {
        if (!below_slow(r)) {
            PROMISE(&job.ranks[r], least(c->segments, c->window) == job.ranks[r].through);
        }
    }
}

/*
 * The children of the root whose turn is before the slow one's bring as many segments as there is memory for results;
 * those behind it as many as are received ahead.
 */
static void check_others_sent(void)
{
    const struct config *c = job.config;
    const struct rank *root = &job.ranks[c->root];
    bool before = true;

    for (int turn = 0; turn <= root->tree.child_count; ++turn) {
        const int child = child_of_turn(root, turn);
        const size_t memory = least(c->segments, before ? c->window : least(c->window, (size_t) c->recvs));

        if (-1 == child) {
            continue;
        }
        if (slow == root->tree.children[child]) {
            before = false;
        } else {
            PROMISE(root, memory == line(root, ADAPT_UP, false, child)->finished);
        }
    }
}

static void with_slow_rank(const struct config *config, void (*check)(void))
{
    job_open(config, 1);
    job.held = slow_start;
    slow = job.ranks[config->root].tree.children[config->seed % (uint64_t) job.ranks[config->root].tree.child_count];
    run_on();
    if (!is_broken()) {
        check();
    }
    job.held = NULL;
    run_round(1);
    job_close();
}

static void with_slow_ranks(enum collective collective, void (*check)(void))
{
    static const int kinds[] = { ADAPT_TREE_BINOMIAL, ADAPT_TREE_IN_ORDER_BINARY, ADAPT_TREE_LINEAR, ADAPT_TREE_CHAIN };
    /* Those in which a send waits for its receive. */
    static const enum protocol waiting[] = { SEND_FIRST, RECV_FIRST, ANY_FIRST };
    struct config c = { .collective = collective, .size = 9, .root = 4, .segments = 12, .sends = 2 };

    for (size_t i = 0; i < COUNT(kinds) * COUNT(schedules) * COUNT(waiting); ++i) {
        c.kind = kinds[i % COUNT(kinds)];
        c.schedule = (int) (i / COUNT(kinds) % COUNT(schedules));
        c.protocol = waiting[i / COUNT(kinds) / COUNT(schedules)];
        for (c.window = 1; c.window <= c.segments; ++c.window) {
            c.recvs = 1 + (int) (++c.seed % MOST_RECVS);
            with_slow_rank(&c, check);
        }
    }
}

static void a_slow_child_does_not_hold_up_a_broadcast_to_others(void **state)
{
    (void) state;
    with_slow_ranks(BCAST, check_others_received);
}

static void a_slow_child_does_not_hold_up_what_others_bring(void **state)
{
    (void) state;
    with_slow_ranks(REDUCE, check_others_sent);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_rank_needs_nobody),
        cmocka_unit_test(any_order_of_completions_gives_the_right_result),
        cmocka_unit_test(many_random_orders_give_the_right_result),
        cmocka_unit_test(an_operation_can_be_started_again),
        cmocka_unit_test(every_window_and_number_of_transfers_works),
        cmocka_unit_test(completions_may_come_from_several_threads_at_once),
        cmocka_unit_test(after_an_error_all_goes_on_without_data),
        cmocka_unit_test(init_says_when_memory_is_short),
        cmocka_unit_test(a_segment_goes_down_before_the_last_one_is_up),
        cmocka_unit_test(a_slow_child_does_not_hold_up_a_broadcast_to_others),
        cmocka_unit_test(a_slow_child_does_not_hold_up_what_others_bring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
