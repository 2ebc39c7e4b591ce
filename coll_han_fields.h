/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a rule consists of: its fields by name, and the names that their values have. The parser of rules and what
 * writes them as text share it. Pure.
 */
#ifndef MCA_COLL_HAN_FIELDS_H
#define MCA_COLL_HAN_FIELDS_H

#include "coll_han_rules.h"

/** A list of names: number i of it and the name's value; NULL past the last. */
typedef const char *(*mca_coll_han_words_t)(int i, int *value);

/** Before the colon, and behind it. */
typedef enum { HAN_INPUT, HAN_PARAMETER, HAN_FIELD_SIDE_COUNT } mca_coll_han_field_side_t;

typedef enum {
    HAN_RANGE, /**< mca_coll_han_range_t */
    HAN_WORD,  /**< a word for an enumeration's value, as large as an int */
    HAN_BYTES, /**< size_t */
    HAN_NUMBER /**< int */
} mca_coll_han_field_type_t;

typedef struct mca_coll_han_field_t {
    const char *name;
    mca_coll_han_field_side_t side;
    bool needed;
    mca_coll_han_field_type_t type;
    size_t offset;              /**< in a rule */
    size_t least, most;         /**< of numbers */
    mca_coll_han_words_t words; /**< of names */
    const char *instead;        /**< the field whose value it gets where it is missing, but that one is there */
} mca_coll_han_field_t;

enum { HAN_FIELD_COUNT = 17 };

extern const mca_coll_han_field_t mca_coll_han_fields[HAN_FIELD_COUNT];

const char *mca_coll_han_word_of_collective(int i, int *value);

/** The number of a field; HAN_FIELD_COUNT where there is none of this name on this side. */
int mca_coll_han_field_find(mca_coll_han_field_side_t side, const char *name);

/** Bytes of a field of this type in a rule. */
size_t mca_coll_han_field_size(mca_coll_han_field_type_t type);

#endif
