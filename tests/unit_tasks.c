/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the engine promises, checked with a driver that only writes down its calls: every plan of up to four stages, all
 * patterns of posted and blocking ones, up to nine segments, and an error in every place.
 */
#include "../coll_han_tasks.h"

#include "unit.h"

#define MOST_SEGMENTS 64
#define MOST_EVENTS (2 * MCA_COLL_HAN_MAX_STAGES * MOST_SEGMENTS)
#define NEVER SIZE_MAX

static const int depths[] = { 1, 2, 3, 5, MCA_COLL_HAN_MAX_DEPTH };
static const size_t depth_count = sizeof(depths) / sizeof(depths[0]);

enum kind { RUN, POST, WAIT };

struct event {
    enum kind kind;
    int stage;
    size_t segment;
};

/* What a request points to. */
struct token {
    int stage;
    size_t segment;
    int posts;
    int waits;
};

/* The driver's context: what it shall do, and what it saw. */
struct log {
    size_t failing;                           /* number of the call that fails */
    bool failing_on;                          /* all later calls fail too, each with its own code */
    bool (*empty)(int stage, size_t segment); /* where post leaves NULL; NULL: nowhere */
    size_t steps; /* that have ended */
    size_t count;
    struct event events[MOST_EVENTS];
    struct token tokens[MCA_COLL_HAN_MAX_STAGES][MOST_SEGMENTS];
};

/* Says which plan broke the promise. */
#define PROMISE(plan, condition)                                                                                       \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            broken(plan, #condition);                                                                                  \
        }                                                                                                              \
    } while (0)

static void broken(const mca_coll_han_plan_t *plan, const char *promise)
{
    char pattern[MCA_COLL_HAN_MAX_STAGES + 1] = "";

    for (int s = 0; s < plan->stage_count; ++s) {
        pattern[s] = plan->stages[s].posted ? 'p' : 'b';
    }
    fail_msg("%s, with %zu segments, stages %s, depth %d", promise, plan->segment_count, pattern, plan->depth);
}

/* ---- the driver ---- */

static int code(size_t call)
{
    return -1000 - (int) call;
}

static int note(struct log *log, enum kind kind, int stage, size_t segment)
{
    const size_t call = log->count++;

    assert_true(call < MOST_EVENTS);
    log->events[call] = (struct event){ .kind = kind, .stage = stage, .segment = segment };
    return call == log->failing || (call > log->failing && log->failing_on) ? code(call) : 0;
}

static int fake_run(const mca_coll_han_plan_t *plan, int stage, size_t segment)
{
    return note(plan->context, RUN, stage, segment);
}

static int fake_post(const mca_coll_han_plan_t *plan, int stage, size_t segment, void **request)
{
    struct log *log = plan->context;
    struct token *token = &log->tokens[stage][segment];
    const int rc = note(log, POST, stage, segment);

    PROMISE(plan, NULL == *request);
    if (0 != rc || (NULL != log->empty && log->empty(stage, segment))) {
        return rc;
    }
    token->stage = stage;
    token->segment = segment;
    ++token->posts;
    *request = token;
    return 0;
}

static int fake_wait(const mca_coll_han_plan_t *plan, void **request)
{
    struct token *token = *request;

    PROMISE(plan, NULL != token);
    ++token->waits;
    return note(plan->context, WAIT, token->stage, token->segment);
}

static void fake_stepped(const mca_coll_han_plan_t *plan, size_t step)
{
    struct log *log = plan->context;

    PROMISE(plan, step == log->steps++);
    for (int s = 0; s < plan->stage_count && step + 1 == mca_coll_han_plan_steps(plan); ++s) {
        for (size_t k = 0; k < plan->segment_count; ++k) {
            PROMISE(plan, log->tokens[s][k].waits == log->tokens[s][k].posts);
        }
    }
}

static const mca_coll_han_driver_t driver
    = { .run = fake_run, .post = fake_post, .wait = fake_wait, .stepped = fake_stepped };

static int execute(const mca_coll_han_plan_t *plan, size_t failing, bool failing_on)
{
    struct log *log = plan->context;

    log->failing = failing;
    log->failing_on = failing_on;
    log->count = log->steps = 0;
    for (int s = 0; s < plan->stage_count; ++s) {
        memset(log->tokens[s], 0, plan->segment_count * sizeof(log->tokens[s][0]));
    }
    return mca_coll_han_plan_execute(plan);
}

/* ---- all plans ---- */

typedef void (*check_fn_t)(const mca_coll_han_plan_t *plan);

static void with_stages(int stage_count, unsigned posted, size_t segment_count, int depth, check_fn_t check)
{
    static const char *const names[MCA_COLL_HAN_MAX_STAGES] = { "aa", "bb", "cc", "dd", "ee", "ff", "gg", "hh" };
    static struct log log;
    mca_coll_han_stage_t stages[MCA_COLL_HAN_MAX_STAGES];
    const mca_coll_han_plan_t plan = { .stages = stages,
                                       .stage_count = stage_count,
                                       .segment_count = segment_count,
                                       .depth = depth,
                                       .driver = &driver,
                                       .context = &log };

    log.empty = NULL;
    for (int s = 0; s < stage_count; ++s) {
        stages[s] = (mca_coll_han_stage_t){ .name = names[s], .posted = 0 != (posted & (1u << s)) };
    }
    check(&plan);
}

static void for_each_plan(check_fn_t check)
{
    for (size_t segments = 0; segments <= 9; ++segments) {
        for (int stages = 1; stages <= 4; ++stages) {
            for (unsigned posted = 0; posted < 1u << stages; ++posted) {
                for (size_t d = 0; d < depth_count; ++d) {
                    with_stages(stages, posted, segments, depths[d], check);
                }
            }
        }
    }
}

/* ---- order ---- */

/* What is known of every stage's work on every segment while the events are read in order. */
struct replay {
    bool started[MCA_COLL_HAN_MAX_STAGES][MOST_SEGMENTS];
    bool complete[MCA_COLL_HAN_MAX_STAGES][MOST_SEGMENTS];
    int outstanding[MCA_COLL_HAN_MAX_STAGES];
};

typedef void (*look_fn_t)(const mca_coll_han_plan_t *plan, const struct replay *seen, const struct event *event);

/* Shows each event to look, with what was known before it. */
static void replay(const mca_coll_han_plan_t *plan, look_fn_t look)
{
    const struct log *log = plan->context;
    struct replay seen;

    memset(&seen, 0, sizeof(seen));
    for (const struct event *event = log->events; event < log->events + log->count; ++event) {
        const int s = event->stage;
        const bool empty = POST == event->kind && NULL != log->empty && log->empty(s, event->segment);

        look(plan, &seen, event);
        seen.started[s][event->segment] = true;
        seen.complete[s][event->segment] = POST != event->kind || empty;
        seen.outstanding[s] += POST == event->kind && !empty ? 1 : WAIT == event->kind ? -1 : 0;
    }
    for (int s = 0; s < plan->stage_count; ++s) {
        PROMISE(plan, 0 == seen.outstanding[s]);
        for (size_t k = 0; k < plan->segment_count; ++k) {
            PROMISE(plan, seen.complete[s][k]);
        }
    }
}

static void look_at_order(const mca_coll_han_plan_t *plan, const struct replay *seen, const struct event *event)
{
    const int s = event->stage;
    const size_t k = event->segment;

    PROMISE(plan, k < plan->segment_count);
    if (WAIT == event->kind) {
        PROMISE(plan, seen->started[s][k] && !seen->complete[s][k]);
        return;
    }
    PROMISE(plan, plan->stages[s].posted == (POST == event->kind));
    PROMISE(plan, !seen->started[s][k]);
    PROMISE(plan, 0 == s || seen->complete[s - 1][k]);
    PROMISE(plan, 0 == k || seen->started[s][k - 1]);
    PROMISE(plan, RUN == event->kind || seen->outstanding[s] < plan->depth);
}

static void check_order(const mca_coll_han_plan_t *plan)
{
    PROMISE(plan, 0 == execute(plan, NEVER, false));
    replay(plan, look_at_order);
}

static void check_ends_of_steps(const mca_coll_han_plan_t *plan)
{
    PROMISE(plan, 0 == execute(plan, NEVER, false));
    PROMISE(plan, mca_coll_han_plan_steps(plan) == ((const struct log *) plan->context)->steps);
}

static void the_driver_hears_of_the_end_of_each_step(void **state)
{
    (void) state;
    for_each_plan(check_ends_of_steps);
}

static void each_stage_does_each_segment_once_and_in_order(void **state)
{
    (void) state;
    for_each_plan(check_order);
}

static void the_largest_plan_works(void **state)
{
    (void) state;
    for (unsigned posted = 0; posted < 1u << MCA_COLL_HAN_MAX_STAGES; posted += 17) {
        with_stages(MCA_COLL_HAN_MAX_STAGES, posted, MOST_SEGMENTS, MCA_COLL_HAN_MAX_DEPTH, check_order);
    }
}

/* A stage keeps its last depth segments under way: what a step doesn't consume isn't waited for in it. */
static void look_at_depth(const mca_coll_han_plan_t *plan, const struct replay *seen, const struct event *event)
{
    const size_t newest = event->segment + (size_t) plan->depth - 1;

    if (WAIT == event->kind && newest < plan->segment_count) {
        PROMISE(plan, seen->started[event->stage][newest]);
    }
}

static void check_depth(const mca_coll_han_plan_t *plan)
{
    PROMISE(plan, 0 == execute(plan, NEVER, false));
    replay(plan, look_at_depth);
}

static void depth_segments_of_a_posted_stage_are_under_way_before_the_first_wait(void **state)
{
    (void) state;
    for_each_plan(check_depth);
}

static void look_at_window(const mca_coll_han_plan_t *plan, const struct replay *seen, const struct event *event)
{
    const size_t window = mca_coll_han_plan_window(plan);

    PROMISE(plan, 0 < window && window <= plan->segment_count);
    if (0 == event->stage && WAIT != event->kind && event->segment >= window) {
        PROMISE(plan, seen->complete[plan->stage_count - 1][event->segment - window]);
    }
}

static void check_window(const mca_coll_han_plan_t *plan)
{
    PROMISE(plan, 0 == execute(plan, NEVER, false));
    replay(plan, look_at_window);
}

static void segments_a_window_apart_are_never_in_flight_together(void **state)
{
    (void) state;
    for_each_plan(check_window);
}

static void look_at_waits(const mca_coll_han_plan_t *plan, const struct replay *seen, const struct event *event)
{
    if (WAIT == event->kind && 0 < event->segment) {
        PROMISE(plan, seen->complete[event->stage][event->segment - 1]);
    }
}

static void check_waits(const mca_coll_han_plan_t *plan)
{
    PROMISE(plan, 0 == execute(plan, NEVER, false));
    replay(plan, look_at_waits);
}

static void a_stage_is_waited_for_in_the_order_of_its_posts(void **state)
{
    (void) state;
    for_each_plan(check_waits);
}

/* ---- steps and tasks ---- */

static void check_steps(const mca_coll_han_plan_t *plan)
{
    size_t lag = 0;

    for (int s = 0; s < plan->stage_count; ++s) {
        PROMISE(plan, lag == mca_coll_han_plan_lag(plan, s));
        lag += plan->stages[s].posted ? (size_t) plan->depth : 1;
    }
    if (0 == plan->segment_count) {
        PROMISE(plan, 0 == mca_coll_han_plan_steps(plan));
    } else if (1 == plan->depth) {
        PROMISE(plan, plan->segment_count + (size_t) plan->stage_count - 1 == mca_coll_han_plan_steps(plan));
    } else {
        PROMISE(plan, plan->segment_count + mca_coll_han_plan_lag(plan, plan->stage_count - 1)
                          == mca_coll_han_plan_steps(plan));
    }
    PROMISE(plan, 0 == mca_coll_han_plan_task(plan, mca_coll_han_plan_steps(plan)));
}

static void segments_and_stages_say_how_many_steps(void **state)
{
    (void) state;
    for_each_plan(check_steps);
}

/* A step ends where the next one begins: steps never go back, and in a step all posts come before all runs. */
static void check_tasks(const mca_coll_han_plan_t *plan)
{
    const struct log *log = plan->context;
    const size_t steps = mca_coll_han_plan_steps(plan);
    const struct event *event = log->events;

    PROMISE(plan, 0 == execute(plan, NEVER, false));
    for (size_t step = 0; step < steps; ++step) {
        enum kind latest = POST;
        unsigned saw = 0;

        for (; event < log->events + log->count; ++event) {
            if (WAIT == event->kind) {
                continue;
            }
            if (event->segment + mca_coll_han_plan_lag(plan, event->stage) != step) {
                break;
            }
            PROMISE(plan, !(RUN == latest && POST == event->kind));
            latest = event->kind;
            saw |= 1u << event->stage;
        }
        PROMISE(plan, saw == mca_coll_han_plan_task(plan, step));
    }
    PROMISE(plan, log->events + log->count == event);
}

static void the_task_of_a_step_is_what_the_driver_sees_in_it(void **state)
{
    (void) state;
    for_each_plan(check_tasks);
}

static const mca_coll_han_stage_t sr = { .name = "sr", .posted = false };
static const mca_coll_han_stage_t ir = { .name = "ir", .posted = true };
static const mca_coll_han_stage_t ia = { .name = "ia", .posted = true };
static const mca_coll_han_stage_t ib = { .name = "ib", .posted = true };
static const mca_coll_han_stage_t sb = { .name = "sb", .posted = false };

static void tasks_have_the_papers_names(void **state)
{
    static const struct {
        const mca_coll_han_stage_t *stages[5];
        size_t segments;
        int depth;
        const char *names[16];
    } rows[] = {
        { { &sr, &ir, &ib, &sb }, 5, 1, { "sr", "irsr", "ibirsr", "sbibirsr", "sbibirsr", "sbibir", "sbib", "sb" } },
        { { &sr, &ir, &ib, &sb }, 2, 1, { "sr", "irsr", "ibir", "sbib", "sb" } },
        { { &sr, &ir, &ib, &sb }, 1, 1, { "sr", "ir", "ib", "sb" } },
        { { &ib, &sb }, 5, 1, { "ib", "sbib", "sbib", "sbib", "sbib", "sb" } },
        { { &ib, &sb }, 1, 1, { "ib", "sb" } },
        { { &sr, &ir }, 3, 1, { "sr", "irsr", "irsr", "ir" } },
        { { &sb }, 2, 1, { "sb", "sb" } },
        { { &ir, &sr }, 2, 1, { "ir", "srir", "sr" } },
        { { &sr, &ia, &sb }, 4, 1, { "sr", "iasr", "sbiasr", "sbiasr", "sbia", "sb" } },
        { { &sr, &ir }, 3, 2, { "sr", "irsr", "irsr", "ir" } },
        { { &ir, &sr }, 3, 2, { "ir", "ir", "srir", "sr", "sr" } },
        { { &sr, &ir, &ib, &sb }, 2, 2, { "sr", "irsr", "ir", "ib", "ib", "sb", "sb" } },
    };

    (void) state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); ++row) {
        mca_coll_han_stage_t stages[MCA_COLL_HAN_MAX_STAGES];
        mca_coll_han_plan_t plan = { .stages = stages, .segment_count = rows[row].segments, .depth = rows[row].depth };
        size_t step;

        for (; NULL != rows[row].stages[plan.stage_count]; ++plan.stage_count) {
            stages[plan.stage_count] = *rows[row].stages[plan.stage_count];
        }
        for (step = 0; NULL != rows[row].names[step]; ++step) {
            char name[32];

            mca_coll_han_task_name(&plan, mca_coll_han_plan_task(&plan, step), name, sizeof(name));
            assert_string_equal(rows[row].names[step], name);
        }
        assert_int_equal(step, mca_coll_han_plan_steps(&plan));
    }
}

/* Cuts the name of every task at every length: what remains is the front of the name, in whole stages. */
static void cut_names(const char *const *names, int stage_count)
{
    mca_coll_han_stage_t stages[MCA_COLL_HAN_MAX_STAGES];
    const mca_coll_han_plan_t plan = { .stages = stages, .stage_count = stage_count, .segment_count = 1, .depth = 1 };

    for (int s = 0; s < stage_count; ++s) {
        stages[s] = (mca_coll_han_stage_t){ .name = names[s] };
    }
    for (unsigned task = 0; task < 1u << stage_count; ++task) {
        char full[UNIT_TEXT] = "";

        for (int s = stage_count - 1; s >= 0; --s) {
            strcat(full, 0 != (task & (1u << s)) ? names[s] : "");
        }
        for (size_t length = 1; length <= strlen(full) + 8; ++length) {
            struct unit_text text;
            char *name = unit_text_start(&text);

            mca_coll_han_task_name(&plan, task, name, length);
            unit_text_check(&text, length);
            assert_memory_equal(full, name, strlen(name));
            assert_true(length <= strlen(full) || 0 == strcmp(full, name));
        }
    }
}

static void names_of_tasks_are_cut_to_fit(void **state)
{
    static const char *const names[] = { "sr", "ir", "ib", "sb" };

    (void) state;
    cut_names(names, 4);
}

static void names_of_tasks_are_cut_at_the_end_only(void **state)
{
    static const char *const names[] = { "a", "bcd", "ef", "ghijkl", "m" };

    (void) state;
    cut_names(names, 5);
}

/* ---- errors ---- */

static void check_drained(const mca_coll_han_plan_t *plan)
{
    const struct log *log = plan->context;

    for (int s = 0; s < plan->stage_count; ++s) {
        for (size_t k = 0; k < plan->segment_count; ++k) {
            PROMISE(plan, 1 >= log->tokens[s][k].posts);
            PROMISE(plan, log->tokens[s][k].waits == log->tokens[s][k].posts);
        }
    }
}

static bool same(const struct event *a, const struct event *b)
{
    return a->kind == b->kind && a->stage == b->stage && a->segment == b->segment;
}

/* Whether a wait is for what has been posted. */
static bool is_posted(const struct log *log, const struct event *event)
{
    return WAIT != event->kind || 1 == log->tokens[event->stage][event->segment].posts;
}

/* All is done as without an error; what could not be posted is not waited for. */
static void check_error_at(const mca_coll_han_plan_t *plan, const struct log *good, size_t call, bool failing_on)
{
    const struct log *log = plan->context;
    size_t next = 0;

    PROMISE(plan, code(call) == execute(plan, call, failing_on));
    for (size_t i = 0; i < good->count; ++i) {
        if (is_posted(log, &good->events[i])) {
            PROMISE(plan, next < log->count && same(&good->events[i], &log->events[next]));
            ++next;
        }
    }
    PROMISE(plan, next == log->count);
    check_drained(plan);
}

static void check_errors(const mca_coll_han_plan_t *plan, bool failing_on)
{
    static struct log good;
    struct log *log = plan->context;

    PROMISE(plan, 0 == execute(plan, NEVER, false));
    check_drained(plan);
    good.count = log->count;
    memcpy(good.events, log->events, log->count * sizeof(log->events[0]));
    for (size_t call = 0; call < good.count; ++call) {
        check_error_at(plan, &good, call, failing_on);
    }
}

static void check_one_error(const mca_coll_han_plan_t *plan)
{
    check_errors(plan, false);
}

static void check_many_errors(const mca_coll_han_plan_t *plan)
{
    check_errors(plan, true);
}

static void after_an_error_anywhere_all_goes_on(void **state)
{
    (void) state;
    for_each_plan(check_one_error);
}

static void of_many_errors_the_first_wins(void **state)
{
    (void) state;
    for_each_plan(check_many_errors);
}

/* ---- requests ---- */

static bool all(int stage, size_t segment)
{
    (void) stage;
    (void) segment;
    return true;
}

static bool odd_segments(int stage, size_t segment)
{
    (void) stage;
    return 1 == segment % 2;
}

static bool even_stages(int stage, size_t segment)
{
    (void) segment;
    return 0 == stage % 2;
}

static void look_at_empty(const mca_coll_han_plan_t *plan, const struct replay *seen, const struct event *event)
{
    const struct log *log = plan->context;

    look_at_order(plan, seen, event);
    PROMISE(plan, WAIT != event->kind || !log->empty(event->stage, event->segment));
}

static void check_empty(const mca_coll_han_plan_t *plan)
{
    static bool (*const empties[])(int, size_t) = { all, odd_segments, even_stages };
    struct log *log = plan->context;

    for (size_t i = 0; i < sizeof(empties) / sizeof(empties[0]); ++i) {
        log->empty = empties[i];
        PROMISE(plan, 0 == execute(plan, NEVER, false));
        replay(plan, look_at_empty);
        check_errors(plan, false);
    }
}

static void posts_without_a_request_are_not_waited_for(void **state)
{
    (void) state;
    for_each_plan(check_empty);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_stage_does_each_segment_once_and_in_order),
        cmocka_unit_test(the_largest_plan_works),
        cmocka_unit_test(the_driver_hears_of_the_end_of_each_step),
        cmocka_unit_test(depth_segments_of_a_posted_stage_are_under_way_before_the_first_wait),
        cmocka_unit_test(segments_a_window_apart_are_never_in_flight_together),
        cmocka_unit_test(a_stage_is_waited_for_in_the_order_of_its_posts),
        cmocka_unit_test(segments_and_stages_say_how_many_steps),
        cmocka_unit_test(the_task_of_a_step_is_what_the_driver_sees_in_it),
        cmocka_unit_test(tasks_have_the_papers_names),
        cmocka_unit_test(names_of_tasks_are_cut_to_fit),
        cmocka_unit_test(names_of_tasks_are_cut_at_the_end_only),
        cmocka_unit_test(after_an_error_anywhere_all_goes_on),
        cmocka_unit_test(of_many_errors_the_first_wins),
        cmocka_unit_test(posts_without_a_request_are_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
