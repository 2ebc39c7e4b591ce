/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mca_coll_han_choice_t {
    uint32_t what; /* all that it depends on beside shape and bytes; 0: none is kept here */
    size_t bytes;  /* of the class */
    mca_coll_han_params_t params;
};

size_t mca_coll_han_choice_bytes(size_t bytes)
{
    size_t power = 1;

    if (0 == bytes || bytes > SIZE_MAX / 2) {
        return bytes;
    }
    while (power < bytes) {
        power *= 2;
    }
    return 4 <= power && power / 4 * 3 >= bytes ? power / 4 * 3 : power;
}

/* Of an alltoallv a rank knows its own blocks only; a barrier has none. */
static size_t bytes_of(const mca_coll_han_input_t *input)
{
    switch (input->collective) {
    case HAN_ALLTOALLV:
        return HAN_CHOICE_UNKNOWN;
    case HAN_BARRIER:
        return 0;
    default:
        return input->bytes;
    }
}

/* Never 0. */
static uint32_t what_of(const mca_coll_han_input_t *input)
{
    const bool flags[] = { input->in_order,   input->adapt,    input->in_place, input->commutes,
                           input->root_leads, input->anywhere, input->flat };
    uint32_t what = 1;

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); ++i) {
        what = 2 * what + flags[i];
    }
    what = what * HAN_COLLECTIVE_COUNT + (uint32_t) input->collective;
    return what * HAN_FORM_COUNT + (uint32_t) input->form;
}

long mca_coll_han_choice_candidates(const mca_coll_han_machine_t *machine, mca_coll_han_input_t input,
                                    mca_coll_han_params_t **params, mca_coll_han_times_t **times)
{
    mca_coll_han_candidates_t what = { .input = input, .lows = { HAN_SOLO, HAN_TUNED } };
    long count;

    /* Alone on its node, a rank has nothing to do there, whoever does it. */
    what.low_count = 1 < input.ppn ? 2 : 1;
    what.input.bytes = mca_coll_han_choice_bytes(bytes_of(&input));
    /* What is kept is for all types of element: for which there is no memory mca_coll_han_decide() finds out. */
    what.input.packed = what.input.room = 0;
    count = mca_coll_han_candidates_make(&what, params);
    if (0 > count) {
        return -1;
    }
    *times = malloc((size_t) count * sizeof(**times));
    if (NULL == *times) {
        free(*params);
        return -1;
    }
    for (long i = 0; i < count; ++i) {
        (*times)[i] = mca_coll_han_predict(machine, &what.input, &(*params)[i]);
    }
    return count;
}

/* Takes one away; the others keep their order. */
static void remove_from(mca_coll_han_params_t *params, mca_coll_han_times_t *times, long which, long count)
{
    memmove(times + which, times + which + 1, (size_t) (count - which - 1) * sizeof(*times));
    memmove(params + which, params + which + 1, (size_t) (count - which - 1) * sizeof(*params));
}

static double over(uint64_t time, uint64_t least)
{
    return 0 == least ? 1 : (double) time / (double) least;
}

char *mca_coll_han_choice_best(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                               char text[HAN_CHOICE_TEXT])
{
    mca_coll_han_times_t *times, least = { UINT64_MAX, UINT64_MAX };
    mca_coll_han_params_t *params;
    const long count = mca_coll_han_choice_candidates(machine, *input, &params, &times);
    mca_coll_han_times_t fallback;
    size_t used = 0;

    if (0 > count) {
        return NULL;
    }
    fallback = times[0];
    for (long i = 0; i < count; ++i) {
        least.single = times[i].single < least.single ? times[i].single : least.single;
        least.row = times[i].row < least.row ? times[i].row : least.row;
    }
    used += (size_t) snprintf(text, HAN_CHOICE_TEXT, "%-8s %12s %12s %10s\n", "model", "single, us", "in a row, us",
                              "over least");
    for (long place = 0; place < HAN_CHOICE_BEST && place < count; ++place) {
        const long pick = mca_coll_han_pick(times, count - place, fallback);
        const double single = over(times[pick].single, least.single), row = over(times[pick].row, least.row);
        char candidate[HAN_CANDIDATE_TEXT];

        used += (size_t) snprintf(text + used, HAN_CHOICE_TEXT - used, "%-8s %12.1f %12.1f %10.2f  %s\n",
                                  0 == place ? "picks" : "next", 1e-6 * (double) times[pick].single,
                                  1e-6 * (double) times[pick].row, single > row ? single : row,
                                  mca_coll_han_candidate_text(input->collective, &params[pick], candidate));
        remove_from(params, times, pick, count - place);
    }
    free(times);
    free(params);
    return text;
}

bool mca_coll_han_choice_serves(const mca_coll_han_input_t *input)
{
    return mca_coll_han_has_messages(input) && !mca_coll_han_root_alone_knows(input->collective) && 1 < input->nodes;
}

static bool make(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                 mca_coll_han_params_t *chosen)
{
    mca_coll_han_params_t *params;
    mca_coll_han_times_t *times;
    const long count = mca_coll_han_choice_candidates(machine, *input, &params, &times);

    if (0 > count) {
        return false;
    }
    *chosen = params[mca_coll_han_pick(times, count, times[0])];
    chosen->why = "the cost model";
    free(times);
    free(params);
    return true;
}

/* Where it is kept, or is to be kept: there is room. */
static struct mca_coll_han_choice_t *place_of(const mca_coll_han_choices_t *choices, uint32_t what, size_t bytes)
{
    size_t place = (size_t) (((what + (uint64_t) bytes) * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (choices->room - 1);

    while (0 != choices->kept[place].what
           && (what != choices->kept[place].what || bytes != choices->kept[place].bytes)) {
        place = (place + 1) & (choices->room - 1);
    }
    return &choices->kept[place];
}

/* Room for one more. So many that there is no more are rare: to begin anew is simple, and every rank may do it when it
 * likes. */
static bool make_room(mca_coll_han_choices_t *choices)
{
    mca_coll_han_choices_t more = { .room = HAN_CHOICES_FIRST };

    if (2 * choices->count < choices->room) {
        return true;
    }
    if (0 < choices->room) {
        more.room = HAN_CHOICES_MOST > choices->room ? 2 * choices->room : choices->room;
    }
    more.kept = calloc(more.room, sizeof(*more.kept));
    if (NULL == more.kept) {
        return false;
    }
    for (size_t i = 0; i < choices->room && more.room > choices->room; ++i) {
        if (0 != choices->kept[i].what) {
            *place_of(&more, choices->kept[i].what, choices->kept[i].bytes) = choices->kept[i];
            ++more.count;
        }
    }
    free(choices->kept);
    *choices = more;
    return true;
}

const mca_coll_han_params_t *mca_coll_han_choose(mca_coll_han_choices_t *choices, const mca_coll_han_machine_t *machine,
                                                 const mca_coll_han_input_t *input)
{
    const uint32_t what = what_of(input);
    const size_t bytes = mca_coll_han_choice_bytes(bytes_of(input));
    struct mca_coll_han_choice_t *choice = 0 < choices->room ? place_of(choices, what, bytes) : NULL;

    if (NULL == choice || 0 == choice->what) {
        if (!make_room(choices)) {
            return NULL;
        }
        choice = place_of(choices, what, bytes);
        if (!make(machine, input, &choice->params)) {
            return NULL;
        }
        choice->what = what;
        choice->bytes = bytes;
        ++choices->count;
    }
    return &choice->params;
}

void mca_coll_han_choices_free(mca_coll_han_choices_t *choices)
{
    free(choices->kept);
    memset(choices, 0, sizeof(*choices));
}
