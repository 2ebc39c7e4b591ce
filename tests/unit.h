/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the unit tests share: cmocka with the headers that it wants, and text buffers with guard bytes.
 */
#ifndef HAN_TESTS_UNIT_H
#define HAN_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define UNIT_GUARD 64
#define UNIT_TEXT 1024
#define UNIT_FILL ((char) 0x5a)

/** A text buffer whose length is known only at run time, between guard bytes. */
struct unit_text {
    char bytes[UNIT_GUARD + UNIT_TEXT + UNIT_GUARD];
};

/** The buffer itself; every byte, guards too, is filled. */
static inline char *unit_text_start(struct unit_text *text)
{
    memset(text->bytes, UNIT_FILL, sizeof(text->bytes));
    return text->bytes + UNIT_GUARD;
}

/** Fails where a text isn't terminated inside length, or a byte before or past the buffer was written. */
static inline void unit_text_check(const struct unit_text *text, size_t length)
{
    const char *start = text->bytes + UNIT_GUARD;

    assert_true(length <= UNIT_TEXT);
    assert_non_null(memchr(start, '\0', length));
    for (const char *byte = text->bytes; byte < text->bytes + sizeof(text->bytes); ++byte) {
        if ((byte < start || byte >= start + length) && UNIT_FILL != *byte) {
            fail_msg("byte %td of a buffer of %zu was written", byte - start, length);
        }
    }
}

#endif
