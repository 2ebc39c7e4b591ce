/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "opal/runtime/opal_progress.h"

/*
 * One system call moves no more, so that MPI goes on during a long copy. Each call costs some 15 us more than its bytes:
 * in calls of 1 MB, a copy of 4 MB took a fifth longer.
 */
enum { SINGLE_COPY_BYTES = 16 << 20 };

/* Least bytes of a segment where a message is cut only to let ranks copy at once. */
enum { LEAST_SEGMENT = 4096 };

/*
 * As many as there are boxes, so that who fills them need not wait for anybody, or as long as a box. With more ranks
 * than cores they do not copy at once anyway, and a segment costs a turn of the core.
 */
size_t mca_coll_solo_segment_size(const mca_coll_solo_module_t *module, size_t bytes, size_t element)
{
    const mca_coll_solo_ring_t *ring = module->memory.ring;
    size_t segment = (bytes / ring->boxes + SOLO_LINE) / SOLO_LINE * SOLO_LINE;

    segment = segment < LEAST_SEGMENT ? LEAST_SEGMENT : segment;
    segment = module->crowded || segment > ring->segment_bytes ? ring->segment_bytes : segment;
    return segment < element ? element : segment / element * element;
}

/* Blocks begin where any basic type is aligned. */
size_t mca_coll_solo_piece(const mca_coll_solo_module_t *module, const mca_coll_solo_ring_t *ring, bool each)
{
    enum { ALIGNED = 16 };

    return each ? ring->segment_bytes / (size_t) module->size / ALIGNED * ALIGNED : ring->segment_bytes;
}

/* -- streams -- */

unsigned char *mca_coll_solo_contiguous(void *buffer, size_t count, ompi_datatype_t *datatype)
{
    ptrdiff_t true_lb, true_extent;

    if (!ompi_datatype_is_contiguous_memory_layout(datatype, 1 < count ? 2 : 1)) {
        return NULL;
    }
    ompi_datatype_get_true_extent(datatype, &true_lb, &true_extent);
    return (unsigned char *) buffer + true_lb;
}

int mca_coll_solo_data_open(mca_coll_solo_data_t *data, void *buffer, size_t count, ompi_datatype_t *datatype,
                            bool pack)
{
    int rc;

    data->next = mca_coll_solo_contiguous(buffer, count, datatype);
    if (NULL != data->next) {
        return OMPI_SUCCESS;
    }
    rc = coll_packing_open(&data->packing, datatype, count, buffer, pack);
    return OMPI_ERR_OUT_OF_RESOURCE == rc ? SOLO_NO_MEMORY : rc;
}

int mca_coll_solo_data_get(mca_coll_solo_module_t *module, mca_coll_solo_data_t *data, void *target, size_t bytes)
{
    module->copied += bytes;
    if (NULL == data->next) {
        return coll_packing_pack(&data->packing, target, bytes);
    }
    memcpy(target, data->next, bytes);
    data->next += bytes;
    return OMPI_SUCCESS;
}

int mca_coll_solo_data_put(mca_coll_solo_module_t *module, mca_coll_solo_data_t *data, const void *source, size_t bytes)
{
    module->copied += bytes;
    if (NULL == data->next) {
        return coll_packing_unpack(&data->packing, (char *) (uintptr_t) source, bytes);
    }
    memcpy(data->next, source, bytes);
    data->next += bytes;
    return OMPI_SUCCESS;
}

void mca_coll_solo_data_close(mca_coll_solo_data_t *data)
{
    if (NULL == data->next) {
        coll_packing_close(&data->packing);
    }
}

void *mca_coll_solo_scratch(mca_coll_solo_module_t *module, int which)
{
    if (NULL == module->scratch[which]) {
        module->scratch[which] = malloc(SOLO_PIECE);
    }
    return module->scratch[which];
}

/* -- single copies -- */

typedef ssize_t (*move_t)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long,
                          unsigned long);

static int move(mca_coll_solo_module_t *module, bool write, int rank, char *here, uint64_t there, size_t bytes)
{
    const move_t function = write ? process_vm_writev : process_vm_readv;
    const pid_t pid = (pid_t) mca_coll_solo_area(&module->memory, rank)->pid;

    module->single_copied += bytes;
    module->crossed += module->group_of[rank] == module->group_of[module->rank] ? 0 : bytes;
    while (0 < bytes) {
        struct iovec local = { here, bytes < SINGLE_COPY_BYTES ? bytes : SINGLE_COPY_BYTES };
        struct iovec remote = { (void *) (uintptr_t) there, local.iov_len };
        const ssize_t moved = TEMP_FAILURE_RETRY(function(pid, &local, 1, &remote, 1, 0));

        if (0 >= moved) {
            opal_output(0, "coll:solo: %s (cid %d), rank %d: a single copy %s rank %d failed: %s", module->comm->c_name,
                        module->comm->c_contextid, module->rank, write ? "to" : "from", rank,
                        0 == moved ? "nothing moved" : strerror(errno));
            return OMPI_ERROR;
        }
        here += moved;
        there += (uint64_t) moved;
        bytes -= (size_t) moved;
        if (0 < bytes) {
            opal_progress();
        }
    }
    return OMPI_SUCCESS;
}

int mca_coll_solo_read(mca_coll_solo_module_t *module, int rank, uint64_t from, void *to, size_t bytes)
{
    return move(module, false, rank, to, from, bytes);
}

int mca_coll_solo_write(mca_coll_solo_module_t *module, int rank, const void *from, uint64_t to, size_t bytes)
{
    return move(module, true, rank, (char *) (uintptr_t) from, to, bytes);
}

/* What has gaps passes through scratch memory, piece by piece. */
static int move_data(mca_coll_solo_module_t *module, bool write, int rank, mca_coll_solo_data_t *data, uint64_t there,
                     size_t bytes)
{
    void *piece = mca_coll_solo_scratch(module, 0);
    int rc = NULL == piece ? SOLO_NO_MEMORY : OMPI_SUCCESS;

    for (size_t done = 0; done < bytes && OMPI_SUCCESS == rc; done += SOLO_PIECE) {
        const size_t length = bytes - done < SOLO_PIECE ? bytes - done : SOLO_PIECE;

        if (write) {
            rc = mca_coll_solo_data_get(module, data, piece, length);
        }
        if (OMPI_SUCCESS == rc) {
            rc = move(module, write, rank, piece, there + done, length);
        }
        if (!write && OMPI_SUCCESS == rc) {
            rc = mca_coll_solo_data_put(module, data, piece, length);
        }
    }
    return rc;
}

int mca_coll_solo_read_data(mca_coll_solo_module_t *module, int rank, uint64_t from, mca_coll_solo_data_t *to,
                            size_t bytes)
{
    if (NULL == to->next) {
        return move_data(module, false, rank, to, from, bytes);
    }
    to->next += bytes;
    return mca_coll_solo_read(module, rank, from, to->next - bytes, bytes);
}

int mca_coll_solo_write_data(mca_coll_solo_module_t *module, int rank, mca_coll_solo_data_t *from, uint64_t to,
                             size_t bytes)
{
    if (NULL == from->next) {
        return move_data(module, true, rank, from, to, bytes);
    }
    from->next += bytes;
    return mca_coll_solo_write(module, rank, from->next - bytes, to, bytes);
}

void mca_coll_solo_tell_where(mca_coll_solo_module_t *module, uint64_t seq, const void *send, const void *receive,
                              size_t bytes)
{
    mca_coll_solo_box_t *box = mca_coll_solo_own_box(module, seq);
    const mca_coll_solo_where_t where = { (uint64_t) (uintptr_t) send, (uint64_t) (uintptr_t) receive, bytes };

    memcpy(box->data, &where, sizeof(where));
    mca_coll_solo_publish(box, seq, OMPI_SUCCESS);
}

mca_coll_solo_where_t mca_coll_solo_ask_where(mca_coll_solo_module_t *module, int rank, uint64_t seq)
{
    mca_coll_solo_where_t where;

    memcpy(&where, mca_coll_solo_wait_box(module, rank, seq)->data, sizeof(where));
    return where;
}
