/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A message as a stream of packed bytes that may be cut anywhere: Open MPI's convertor, which by itself packs whole
 * basic elements only, so that a cut inside a double would leave a segment short, and of an element that is cut unpacks
 * at most COLL_PACKING_ASIDE bytes.
 *
 * A header and not a library for the reason given in coll_variables.h.
 */
#ifndef COLL_PACKING_H
#define COLL_PACKING_H

#include "ompi_config.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "opal/datatype/opal_convertor.h"

enum {
    COLL_PACKING_CARRY = 64, /* more than the largest basic element */
    COLL_PACKING_ASIDE = 16, /* the convertor's memory for the first part of an element: complex long doubles have 32 */
};

typedef struct coll_packing_t {
    opal_convertor_t convertor;
    size_t first; /**< packed bytes carry[first] to carry[last - 1] belong to the next segment */
    size_t last;
    char carry[COLL_PACKING_CARRY];
    char *element; /**< of the datatype, packed: where parts of one wait for the rest; NULL: the convertor keeps them */
    size_t size;   /**< packed bytes of such an element */
    size_t held;   /**< those that have come */
} coll_packing_t;

/* Whether it has a basic element that the convertor could not keep. */
static inline bool coll_packing_is_wide(const ompi_datatype_t *datatype)
{
    for (int id = 0; id < OPAL_DATATYPE_MAX_PREDEFINED; ++id) {
        if (0 != (datatype->super.bdt_used >> id & 1) && COLL_PACKING_ASIDE < opal_datatype_local_sizes[id]) {
            return true;
        }
    }
    return false;
}

/** Starts at the beginning of a message, which is packed or unpacked. After an error there is nothing to close. */
static inline int coll_packing_open(coll_packing_t *packing, ompi_datatype_t *datatype, size_t count, void *buffer,
                                    bool pack)
{
    OBJ_CONSTRUCT(&packing->convertor, opal_convertor_t);
    packing->first = packing->last = packing->held = 0;
    packing->size = datatype->super.size;
    packing->element = NULL;
    if (!pack && coll_packing_is_wide(datatype)) {
        packing->element = malloc(packing->size);
        if (NULL == packing->element) {
            OBJ_DESTRUCT(&packing->convertor);
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    return pack ? opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &datatype->super, count, buffer, 0,
                                                           &packing->convertor)
                : opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &datatype->super, count, buffer, 0,
                                                           &packing->convertor);
}

/** Goes back to the beginning. */
static inline void coll_packing_rewind(coll_packing_t *packing)
{
    size_t start = 0;

    packing->first = packing->last = packing->held = 0;
    opal_convertor_set_position(&packing->convertor, &start);
}

static inline void coll_packing_close(coll_packing_t *packing)
{
    free(packing->element);
    OBJ_DESTRUCT(&packing->convertor);
}

/* Packs as many bytes as come out whole. */
static inline size_t coll_packing_whole(coll_packing_t *packing, char *target, size_t bytes)
{
    struct iovec iov = { .iov_base = target, .iov_len = bytes };
    uint32_t iov_count = 1;
    size_t done = bytes;

    return 0 > opal_convertor_pack(&packing->convertor, &iov, &iov_count, &done) ? 0 : done;
}

/* Hands out what the last cut has left over. */
static inline size_t coll_packing_carried(coll_packing_t *packing, char *target, size_t bytes)
{
    const size_t there = packing->last - packing->first, taken = there < bytes ? there : bytes;

    memcpy(target, packing->carry + packing->first, taken);
    packing->first += taken;
    return taken;
}

/** Packs the next bytes of the message. */
static inline int coll_packing_pack(coll_packing_t *packing, char *target, size_t bytes)
{
    size_t done = coll_packing_carried(packing, target, bytes);

    if (done < bytes) {
        done += coll_packing_whole(packing, target + done, bytes - done);
    }
    if (done < bytes) {
        /* The cut is inside an element: it is packed aside, and its second part waits for the next segment. */
        packing->first = 0;
        packing->last = coll_packing_whole(packing, packing->carry, sizeof(packing->carry));
        done += coll_packing_carried(packing, target + done, bytes - done);
    }
    return done == bytes ? OMPI_SUCCESS : OMPI_ERROR;
}

/* Unpacks bytes of which the convertor keeps what is left over. */
static inline int coll_packing_unpack_all(coll_packing_t *packing, char *source, size_t bytes)
{
    struct iovec iov = { .iov_base = source, .iov_len = bytes };
    uint32_t iov_count = 1;
    size_t done = bytes;

    return 0 > opal_convertor_unpack(&packing->convertor, &iov, &iov_count, &done) || done != bytes ? OMPI_ERROR
                                                                                                     : OMPI_SUCCESS;
}

/* Takes a part of an element of the datatype, which is unpacked when it is whole. Returns the bytes that it took. */
static inline size_t coll_packing_hold(coll_packing_t *packing, const char *source, size_t bytes, int *rc)
{
    const size_t missing = packing->size - packing->held, taken = missing < bytes ? missing : bytes;

    memcpy(packing->element + packing->held, source, taken);
    packing->held += taken;
    if (packing->held == packing->size) {
        packing->held = 0;
        *rc = coll_packing_unpack_all(packing, packing->element, packing->size);
    }
    return taken;
}

/** Unpacks the next bytes of the message. */
static inline int coll_packing_unpack(coll_packing_t *packing, char *source, size_t bytes)
{
    int rc = OMPI_SUCCESS;

    if (NULL == packing->element) {
        return coll_packing_unpack_all(packing, source, bytes);
    }
    while (0 < bytes && OMPI_SUCCESS == rc) {
        size_t taken = bytes / packing->size * packing->size;

        if (0 < packing->held || 0 == taken) {
            taken = coll_packing_hold(packing, source, bytes, &rc);
        } else {
            rc = coll_packing_unpack_all(packing, source, taken);
        }
        source += taken;
        bytes -= taken;
    }
    return rc;
}

#endif
