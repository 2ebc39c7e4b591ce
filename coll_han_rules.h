/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The lookup table (HAN paper, section III-A.2): rules as text, by input (collective, nodes, ranks per node, bytes),
 * and the nearest of them. Pure: serves the built-in rules, files of rules, and the tools. docs/rules.md is for users.
 */
#ifndef MCA_COLL_HAN_RULES_H
#define MCA_COLL_HAN_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll_han_dynamic.h"
#include "coll_han_machine.h"
#include "coll_han_text.h"

/** The version of the format. */
enum { HAN_RULES_VERSION = 1 };

/** Limits of a text of rules. */
enum { HAN_RULES_MOST_BYTES = 1 << 20, HAN_RULES_MOST = 4096 };

/** Numbers from low to high, both among them. */
typedef struct mca_coll_han_range_t {
    size_t low, high;
} mca_coll_han_range_t;

/** How the ranks of a communicator lie on its nodes. */
typedef enum {
    HAN_ORDER_ANY,
    HAN_ORDER_CONSECUTIVE, /**< every node holds consecutive ranks: mapped by slot */
    HAN_ORDER_SCATTERED    /**< not so: mapped by node */
} mca_coll_han_order_t;

/** A line of a table. */
typedef struct mca_coll_han_rule_t {
    uint64_t collectives;            /**< a bit for each mca_coll_han_collective_t */
    mca_coll_han_range_t nodes, ppn; /**< from 1 on */
    mca_coll_han_range_t bytes;      /**< packed */
    mca_coll_han_order_t order;
    mca_coll_han_form_t form;     /**< HAN_FORM_COUNT: any */
    bool leave;                   /**< algorithm=auto: the file does not decide */
    int line;                     /**< from 1 on */
    char *text;                   /**< "FILE:LINE: " and the line's input */
    mca_coll_han_params_t params; /**< why is text */
} mca_coll_han_rule_t;

/** A table. */
typedef struct mca_coll_han_rules_t {
    mca_coll_han_rule_t *rules; /**< [count] in the order of their lines */
    size_t count;
    char *machine;                  /**< what the table says that it was tuned on; NULL: nothing */
    mca_coll_han_machine_t numbers; /**< the machine, for what the rules leave to the model; hash 0: it is not there */
    uint64_t hash;                  /**< of the text; never 0 */
} mca_coll_han_rules_t;

/** What is wrong with a text of rules. */
typedef mca_coll_han_text_error_t mca_coll_han_rules_error_t;

/**
 * Makes a table of a text: of all of it, or none.
 *
 * @param name what rules->text begins with, before ":LINE"
 * @param text [length] need not end with a zero
 * @param error  all zero where nothing is wrong
 * @returns 0, or -1 and what is wrong (then there is nothing to free)
 */
int mca_coll_han_rules_parse(mca_coll_han_rules_t *rules, const char *name, const char *text, size_t length,
                             mca_coll_han_rules_error_t *error);

/** Makes a table of a file: as mca_coll_han_rules_parse. */
int mca_coll_han_rules_read(mca_coll_han_rules_t *rules, const char *path, mca_coll_han_rules_error_t *error);

/** Frees what parse and read made; a zeroed table is fine too. */
void mca_coll_han_rules_free(mca_coll_han_rules_t *rules);

/** Enough for any rule as text. */
enum { HAN_RULES_TEXT = 1024 };

/** Writes a rule as a line that parse reads as the same rule; what has its default is left out. Returns text. */
char *mca_coll_han_rule_format(const mca_coll_han_rule_t *rule, char *text, size_t length);

/** Writes all parameters: "algorithm=ring fs=64K ...". Returns text. */
char *mca_coll_han_params_format(const mca_coll_han_params_t *params, char *text, size_t length);

/** A rule without input, all parameters of which have their defaults. */
mca_coll_han_rule_t mca_coll_han_rule_default(void);

/** The text of the built-in rules: coll_han_builtin.rules. */
extern const char mca_coll_han_builtin[];

/* -- coll_han_lookup.c --------------------------------------------------------------------------------------------- */

/** Whether a rule is for a call's collective, form and order of ranks: only then is it considered, however near it is.
 */
bool mca_coll_han_rule_serves(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input);

/**
 * How far a rule is from an input: the sum of what nodes, ppn and bytes are away from the rule's ranges, each counted
 * in doublings (a binary logarithm with HAN_DISTANCE_BITS binary digits; 0 bytes count as half a byte). 0: inside all.
 *
 * In whole numbers only, so that ranks on different kinds of processors find the same.
 */
uint64_t mca_coll_han_rule_distance(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input);

/** Digits of a distance behind the point: the last bit tells that the input is outside, however little. */
enum { HAN_DISTANCE_BITS = 32 };

/** The nearest rule for any number of bytes, all else being given. */
typedef struct mca_coll_han_lookup_t {
    bool made;
    size_t count;
    struct mca_coll_han_lookup_row_t {
        size_t from; /**< bytes from which on the rule is the nearest, up to the next row; ascends, the first is 0 */
        const mca_coll_han_rule_t *rule;
    } * rows; /**< [count] */
} mca_coll_han_lookup_t;

/**
 * Finds the nearest rules. Of rules equally near, the one in the later line wins.
 *
 * @param input collective, form, nodes, ppn, in_order
 * @returns 0, or -1 where memory is short (then there is nothing to free)
 */
int mca_coll_han_lookup_make(mca_coll_han_lookup_t *lookup, const mca_coll_han_rules_t *rules,
                             const mca_coll_han_input_t *input);

/** The nearest rule for so many bytes, in logarithmic time; NULL where the table has none that serves. */
const mca_coll_han_rule_t *mca_coll_han_lookup_find(const mca_coll_han_lookup_t *lookup, size_t bytes);

/** Whether the nearest rule, which may be NULL, decides a call: it does not leave it, and its algorithm serves it. */
bool mca_coll_han_rule_decides(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input);

/** Frees what make made; a zeroed lookup is fine too. */
void mca_coll_han_lookup_free(mca_coll_han_lookup_t *lookup);

#endif
