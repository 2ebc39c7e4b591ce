/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han_choice.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coll_han_candidates.h"
#include "coll_han_model.h"

struct mca_coll_han_choice_t {
    uint64_t key; /* 0: none */
    mca_coll_han_params_t params;
};

size_t mca_coll_han_choice_bytes(size_t bytes)
{
    size_t power = 1;

    if (bytes > SIZE_MAX / 2) {
        return bytes;
    }
    while (power < bytes) {
        power *= 2;
    }
    return 4 <= power && power / 4 * 3 >= bytes ? power / 4 * 3 : power;
}

/* All that a choice depends on, beside the shape; never 0. */
static uint64_t key_of(const mca_coll_han_input_t *input, size_t bytes)
{
    const bool flags[] = { input->in_order,   input->adapt,    input->in_place, input->commutes,
                           input->root_leads, input->anywhere, input->flat };
    uint64_t key = 1;

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); ++i) {
        key = 2 * key + flags[i];
    }
    key = key * HAN_COLLECTIVE_COUNT + (uint64_t) input->collective;
    key = key * HAN_FORM_COUNT + (uint64_t) input->form;
    for (; 1 < bytes; bytes /= 2) {
        key += UINT64_C(1) << 32;
    }
    return key;
}

/* The class: its bytes are a power of two, or not. */
static uint64_t class_key(const mca_coll_han_input_t *input)
{
    const size_t bytes = mca_coll_han_choice_bytes(input->bytes);

    return 2 * key_of(input, bytes) + (0 != (bytes & (bytes - 1)));
}

static bool make(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                 mca_coll_han_params_t *chosen)
{
    mca_coll_han_candidates_t what = { .input = *input, .lows = { HAN_SOLO, HAN_TUNED }, .low_count = 2 };
    mca_coll_han_params_t *params;
    mca_coll_han_times_t *times;
    long count;

    what.input.bytes = mca_coll_han_choice_bytes(input->bytes);
    count = mca_coll_han_candidates_make(&what, &params);
    times = 0 > count ? NULL : malloc((size_t) count * sizeof(*times));
    if (NULL == times) {
        if (0 <= count) {
            free(params);
        }
        return false;
    }
    for (long i = 0; i < count; ++i) {
        times[i] = mca_coll_han_predict(machine, &what.input, &params[i]);
    }
    *chosen = params[mca_coll_han_pick(times, count)];
    chosen->why = "the model, coll_han_machine";
    free(times);
    free(params);
    return true;
}

const mca_coll_han_params_t *mca_coll_han_choose(mca_coll_han_choices_t *choices, const mca_coll_han_machine_t *machine,
                                                 const mca_coll_han_input_t *input)
{
    const uint64_t key = class_key(input);
    const size_t home = (size_t) ((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % HAN_CHOICES_KEPT;
    size_t place = home;

    if (NULL == choices->kept) {
        choices->kept = calloc(HAN_CHOICES_KEPT, sizeof(*choices->kept));
        if (NULL == choices->kept) {
            return NULL;
        }
    }
    while (0 != choices->kept[place].key && key != choices->kept[place].key) {
        place = (place + 1) % HAN_CHOICES_KEPT;
    }
    if (0 == choices->kept[place].key) {
        /* So many are rare: to begin anew is simple, and every rank may do it when it likes. */
        if (HAN_CHOICES_KEPT / 2 == choices->count) {
            memset(choices->kept, 0, HAN_CHOICES_KEPT * sizeof(*choices->kept));
            choices->count = 0;
            place = home;
        }
        if (!make(machine, input, &choices->kept[place].params)) {
            return NULL;
        }
        choices->kept[place].key = key;
        ++choices->count;
    }
    return &choices->kept[place].params;
}

void mca_coll_han_choices_free(mca_coll_han_choices_t *choices)
{
    free(choices->kept);
    memset(choices, 0, sizeof(*choices));
}
