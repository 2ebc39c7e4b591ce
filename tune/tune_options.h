/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Options of all compiled tools, and their messages: one, of a job from rank 0.
 */
#ifndef HAN_TUNE_OPTIONS_H
#define HAN_TUNE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/** Who speaks: the name before each message, and this process's rank. */
void tune_options_speaker(const char *program, int rank);

/** Says what is wrong. Returns -1. */
int tune_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** The same from any rank, which tells its number. */
void tune_complain_here(const char *what);

/** At a program's end: writes what is left of the standard output. Returns code; failed where not all of it could be
 * written, which is told. */
int tune_finish(int code, int failed);

/** Reads a number of bytes; K, M or G may follow, and B. Text is moved behind it. False where there is none, or more.
 */
bool tune_get_bytes(const char **text, size_t most, size_t *bytes);

/** Reads a whole number, and nothing behind it; false where it is none, or not from least to most. */
bool tune_get_number(const char *text, long least, long most, long *number);

/** What --seed accepts, from 0 on, and how that is told. */
enum { TUNE_MOST_SEED = 1 << 20 };
#define TUNE_SEED_ACCEPTED "a number from 0 to 1048576"

/** The place of a word among some; -1: it is none of them, or NULL. */
int tune_find_word(const char *word, const char *const *words, int count);

/** Gives each of some words with commas between them to take, which says whether it is accepted. */
bool tune_get_list(const char *text, void *options, bool (*take)(void *options, const char *word));

/** What tune_read_options() calls a word that is no option; those of options begin behind it. */
enum { TUNE_WORD = 1, TUNE_OPTION };

/**
 * Reads the command line; complains about the first thing that is wrong with it.
 *
 * @param names each with a number of its own; one that is a letter is a short option, too
 * @param accepted [number] what an option accepts, for who writes something else; of TUNE_WORD NULL: there are no words
 * @param take  takes an option, or a word, by its number; false where its value is not accepted
 * @returns 0 or -1
 */
int tune_read_options(int argc, char **argv, const struct option *names, const char *const *accepted, void *options,
                      bool (*take)(void *options, int number, const char *text));

#endif
