/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A machine, as far as the choice of an algorithm depends on it, and as text: docs/model.md is for users. Pure.
 */
#ifndef MCA_COLL_HAN_MACHINE_H
#define MCA_COLL_HAN_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_han_dynamic.h"
#include "coll_han_text.h"

/** The version of the format, and the most bytes of a text. */
enum { HAN_MACHINE_VERSION = 1, HAN_MACHINE_MOST_BYTES = 1 << 16 };

/**
 * What messages cost at a level, and what is done with their bytes. Times are picoseconds; what bytes take is
 * picoseconds per KiB.
 */
typedef struct mca_coll_han_machine_level_t {
    uint64_t latency;    /**< from the end of the sender's work to the beginning of the receiver's */
    uint64_t send, recv; /**< work of the sender's and of the receiver's processor, whatever the length */
    uint64_t copy;       /**< work of both together for the bytes */
    uint64_t rate;       /**< on the link that all ranks of a node share; 0: processors are what limits */
    uint64_t at_once;    /**< bytes up to which a message has left when its sender's call ends, */
    uint64_t request;    /**< and the work of both together, where it takes a request */
    uint64_t eager;      /**< bytes up to which a message goes without asking, */
    uint64_t buffer;     /**< and of such a message the copy out of the buffer that it was received into; 0: none, */
    uint64_t rendezvous; /**< and the work of both together, where it asks */
} mca_coll_han_machine_level_t;

/** A machine, as far as a choice depends on it. */
typedef struct mca_coll_han_machine_t {
    mca_coll_han_machine_level_t levels[HAN_LEVEL_COUNT];
    uint64_t near;   /**< bytes of a message that stay in a cache, */
    uint64_t far;    /**< and what those beyond take more, of both processors together */
    uint64_t copy;   /**< a copy through the memory that ranks of a node share */
    uint64_t reduce; /**< an operation on two operands */
    uint64_t step;   /**< work of a rank for a call of another component */
    uint64_t share;  /**< work of a rank to take part in a collective by shared memory */
    uint64_t wake;   /**< where ranks share cores: until a rank runs that something has come for, */
    uint64_t turn;   /**< and more for each rank that its core has */
    uint64_t cores;  /**< of a node, */
    bool shared;     /**< or of all nodes together: they are virtual */
    uint64_t hash;   /**< of the text; never 0 */
} mca_coll_han_machine_t;

/** What reads a machine line by line. */
typedef struct mca_coll_han_machine_reader_t {
    mca_coll_han_machine_t *machine;
    mca_coll_han_text_error_t *error;
    uint64_t seen; /**< a bit for each field that has been there */
    bool begun;    /**< a record has been there */
} mca_coll_han_machine_reader_t;

/** Begins with a machine of which all has its default. */
void mca_coll_han_machine_begin(mca_coll_han_machine_reader_t *reader, mca_coll_han_machine_t *machine,
                                mca_coll_han_text_error_t *error);

/** Whether a line begins with the name of a record. */
bool mca_coll_han_machine_is_record(const char *text);

/**
 * Reads a line: a record, and fields with their values.
 *
 * @param reader a mca_coll_han_machine_reader_t
 * @param text without comment; it is cut into words
 * @returns 0, or -1 and what is wrong
 */
int mca_coll_han_machine_take(void *reader, int line, char *text);

/**
 * Ends with all that must be there.
 *
 * @param hash of the text that the lines are from
 * @returns 0, or -1 and what is wrong
 */
int mca_coll_han_machine_end(mca_coll_han_machine_reader_t *reader, uint64_t hash);

/**
 * Reads a machine from a text. What is not said has its default.
 *
 * @returns 0, or -1 and what is wrong
 */
int mca_coll_han_machine_parse(mca_coll_han_machine_t *machine, const char *text, size_t length,
                               mca_coll_han_text_error_t *error);

/** Reads a machine from a file: as mca_coll_han_machine_parse. */
int mca_coll_han_machine_read(mca_coll_han_machine_t *machine, const char *path, mca_coll_han_text_error_t *error);

/** Enough for any machine as text. */
enum { HAN_MACHINE_TEXT = 2048 };

/** Writes a machine as lines that parse reads as the same, times and rates to four digits. Returns text. */
char *mca_coll_han_machine_format(const mca_coll_han_machine_t *machine, char *text, size_t length);

#endif
