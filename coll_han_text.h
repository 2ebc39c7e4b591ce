/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What the parsers of text files share: a file read, numbers, and what is said of one that is wrong. Pure.
 */
#ifndef MCA_COLL_HAN_TEXT_H
#define MCA_COLL_HAN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Longest line of a text. */
enum { HAN_TEXT_MOST_LINE = 1000 };

/** What is between words: tabs have become blanks. */
#define HAN_TEXT_BLANK " "

/** What is wrong with a text, or a file. */
typedef struct mca_coll_han_text_error_t {
    int line;       /**< 0: not with a line */
    char what[512]; /**< one sentence, what is accepted too */
} mca_coll_han_text_error_t;

/** Says what is wrong. Returns -1. */
int mca_coll_han_text_wrong(mca_coll_han_text_error_t *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Appends to what has been said. */
void mca_coll_han_text_more(mca_coll_han_text_error_t *error, const char *before, const char *text);

/** Reads a whole number without sign, K, M or G behind it; the text moves behind it. */
bool mca_coll_han_text_number(const char **text, size_t *value);

/** A number that differs where a text does, nearly always; never 0. */
uint64_t mca_coll_han_text_hash(const char *text, size_t length);

/** Cuts the blanks off both ends. */
char *mca_coll_han_text_trim(char *text);

/**
 * Goes through the lines of a text, the first of which is "NAME VERSION": those that are not empty, without comments
 * ("#" up to the end), tabs and blanks around them. Stops at the first that is wrong, or that is not taken.
 *
 * @param take gets the line's number and its text, which it may change; 0, or -1 and what is wrong
 * @returns 0, or -1 and what is wrong; error->line is that of the line in either case, or of the last
 */
int mca_coll_han_text_lines(const char *name, int version, const char *text, size_t length,
                            mca_coll_han_text_error_t *error, int (*take)(void *context, int line, char *text),
                            void *context);

/**
 * Reads a file.
 *
 * @param most bytes that are accepted
 * @param error all zero where nothing is wrong
 * @returns its text, [length] without a zero behind it, to be freed; NULL and what is wrong
 */
char *mca_coll_han_text_read(const char *path, size_t most, size_t *length, mca_coll_han_text_error_t *error);

#endif
