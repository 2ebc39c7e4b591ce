/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The machine alone: messages between a few pairs of ranks, in seconds, and its numbers as a file for coll_han_machine.
 */
#ifndef HAN_TUNE_QUICK_H
#define HAN_TUNE_QUICK_H

#include "tune_engine.h"

/**
 * Times the machine, writes it, and notes what was timed in probes.csv. Collective over the engine's communicator.
 *
 * @param output the file; only rank 0 needs it, folder, and signature
 * @param folder of probes.csv
 * @param signature who has measured where, one line
 * @param quiet  no progress
 * @returns 0; -1 on rank 0 after a message
 */
int tune_quick(struct tune_engine *engine, const char *output, const char *folder, const char *signature, bool quiet);

#endif
