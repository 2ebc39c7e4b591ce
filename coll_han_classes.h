/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A machine of which a few facts are known: the rest is that of its class (docs/model.md). Which algorithm is the best
 * depends on the rate of the links more than on all else, and on that by powers of ten. Pure.
 */
#ifndef MCA_COLL_HAN_CLASSES_H
#define MCA_COLL_HAN_CLASSES_H

#include "coll_han_machine.h"

/** What a job sees of its machine. All zero: nothing is known. */
typedef struct mca_coll_han_facts_t {
    uint64_t trip;                   /**< ps from when a byte is sent to another node until it is there */
    uint64_t rate;                   /**< bytes a second of one stream from node to node */
    uint64_t eager[HAN_LEVEL_COUNT]; /**< as coll_han_machine.h */
    uint64_t cores;                  /**< of a node, */
    bool shared;                     /**< or of all nodes together */
} mca_coll_han_facts_t;

/**
 * The machine of these facts. Facts that are nearly alike make the same one, so that two runs of a job decide alike.
 *
 * @param facts what is not known is taken to be as with TCP at 40 Gbit/s
 */
void mca_coll_han_classes_machine(mca_coll_han_machine_t *machine, const mca_coll_han_facts_t *facts);

#endif
