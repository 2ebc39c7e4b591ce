/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_adapt_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Shorter pieces are the allocator's: it keeps them by itself. Callers ask for blocks, which often are a power of two,
 * and for a little more: that fits into the spare bytes of each piece that is kept. Others are as long as asked for, so
 * that an allocator that watches its memory sees what is written behind them.
 */
enum { SHORTEST = 32 << 10, SPARE = 64 };

/* The memory is behind it. */
typedef union piece {
    struct {
        size_t bytes; /* of the memory, without the spare ones */
        union piece *next;
    };
    max_align_t alignment;
} piece_t;

static struct {
    pthread_mutex_t lock;
    piece_t *newest; /* the one that was given last; behind it older ones */
    size_t bytes;    /* of all of them */
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_kept(size_t bytes)
{
    return SHORTEST <= bytes && ADAPT_MEMORY_KEPT >= bytes;
}

/* What is kept has one of four lengths to each power of two: so that it fits calls that are nearly alike. */
static size_t room_for(size_t bytes)
{
    size_t step = SHORTEST / 4;

    if (SHORTEST > bytes || ADAPT_MEMORY_KEPT + SPARE < bytes) {
        return bytes;
    }
    while (8 * step + SPARE < bytes) {
        step *= 2;
    }
    return (bytes - SPARE + step - 1) / step * step;
}

static piece_t *unlink_piece(piece_t **link)
{
    piece_t *piece = *link;

    *link = piece->next;
    kept.bytes -= piece->bytes;
    return piece;
}

static piece_t *find_kept(size_t bytes)
{
    piece_t **link = &kept.newest, *piece;

    pthread_mutex_lock(&kept.lock);
    while (NULL != *link && bytes != (*link)->bytes) {
        link = &(*link)->next;
    }
    piece = NULL == *link ? NULL : unlink_piece(link);
    pthread_mutex_unlock(&kept.lock);
    return piece;
}

static void *take(size_t bytes)
{
    const size_t room = room_for(bytes), more = sizeof(piece_t) + (is_kept(room) ? SPARE : 0);
    piece_t *piece = is_kept(room) ? find_kept(room) : NULL;

    if (NULL == piece) {
        piece = SIZE_MAX - more < room ? NULL : malloc(more + room);
        if (NULL == piece) {
            return NULL;
        }
        piece->bytes = room;
    }
    return piece + 1;
}

static void keep(piece_t *piece)
{
    pthread_mutex_lock(&kept.lock);
    piece->next = kept.newest;
    kept.newest = piece;
    kept.bytes += piece->bytes;
    while (ADAPT_MEMORY_KEPT < kept.bytes) {
        piece_t **oldest = &kept.newest;

        while (NULL != (*oldest)->next) {
            oldest = &(*oldest)->next;
        }
        free(unlink_piece(oldest));
    }
    pthread_mutex_unlock(&kept.lock);
}

static void give(void *memory)
{
    piece_t *piece = NULL == memory ? NULL : (piece_t *) memory - 1;

    if (NULL != piece && is_kept(piece->bytes)) {
        keep(piece);
    } else {
        free(piece);
    }
}

const mca_coll_adapt_memory_t mca_coll_adapt_memory = { take, give };

void mca_coll_adapt_memory_end(void)
{
    while (NULL != kept.newest) {
        free(unlink_piece(&kept.newest));
    }
}
