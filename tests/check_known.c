/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>
#include <string.h>

static bool is(const struct call *c, const char *name)
{
    return 0 == strcmp(name, c->collective->name);
}

static bool by_rank(enum layout_name name)
{
    return LAYOUTS <= name;
}

/* coll_tuned_decision_fixed.c multiplies the receive counts by the size of the send type. */
static bool allgatherv_by_send_type(const struct call *c)
{
    const enum layout_name input = c->variant->layouts[INPUT];

    return is(c, "allgatherv") && BLOCKING == c->form
           && (by_rank(input)
               || (!c->in_place && (WHOLE_INTS == input || WHOLE_ROW == input || WHOLE_DOUBLE_INTS == input)));
}

/* coll_base_alltoall.c, Bruck's algorithm: it receives with the send type. */
static bool alltoall_by_send_type(const struct call *c)
{
    const enum layout_name *names = c->variant->layouts;

    return is(c, "alltoall") && BLOCKING == c->form && !c->in_place && 12 <= c->size
           && (by_rank(names[INPUT]) || names[INPUT] != names[OUTPUT]);
}

/* nbc_ialltoallv.c, a2av_sched_inplace(): where nothing is for the peer on the one side, the block for the other one is
 * received while it is still being sent. */
static bool ialltoallv_in_place(const struct call *c)
{
    return is(c, "alltoallv") && BLOCKING != c->form && c->in_place;
}

bool is_over_pml(const char *name)
{
    const char *pml = getenv("OMPI_MCA_pml");

    return NULL != pml && 0 == strcmp(name, pml);
}

/* mtl_ofi and its siblings send what has no gaps from the address of a persistent request, which is not where the data
 * of such a type begins. coll_base_alltoallv.c makes such requests. */
static bool alltoallv_begins_at_address(const struct call *c)
{
    const enum layout_name input = c->variant->layouts[INPUT];

    return is(c, "alltoallv") && BLOCKING == c->form && !c->in_place && is_over_pml("cm")
           && (by_rank(input) || BYTE_GAPS == input || WHOLE_ROW == input);
}

/* The last two, where an address is in the type. */
bool known_fault_of_addresses(const struct call *c)
{
    return BLOCKING == c->form && ((is(c, "alltoall") && 12 <= c->size) || (is(c, "alltoallv") && is_over_pml("cm")));
}

/* op_avx_functions.c adds with saturation. */
static bool sum_of_chars_overflows(const struct call *c)
{
    return SCHARS == c->variant->layouts[INPUT] && MPI_SUM == c->variant->op && 2 < c->variant->limits[0];
}

/* Under a tool that knows how much was asked of malloc(), be it one byte. */
static bool memory_is_watched(void)
{
#ifdef __SANITIZE_ADDRESS__
    return true;
#else
    const char *preloaded = getenv("LD_PRELOAD");

    return NULL != preloaded && (NULL != strstr(preloaded, "vgpreload") || NULL != strstr(preloaded, "malloc_debug"));
#endif
}

/* coll/base and libnbc allocate from the first byte of data to the last (opal_datatype_span()). Four bytes more at the
 * end are there, as malloc() rounds up. */
static bool writes_padding(const struct call *c)
{
    return c->variant->whole && (DOUBLE_INTS != c->variant->layouts[INPUT] || memory_is_watched());
}

/* The same, where HAN leaves the call to them, whatever the algorithm: what wants the order of ranks, on nodes whose
 * ranks are not consecutive. */
static bool writes_padding_anyway(const struct call *c)
{
    const bool scatters = is(c, "reduce_scatter_block") || is(c, "reduce_scatter");

    return writes_padding(c) && (is(c, "scan") || is(c, "exscan") || (scatters && !c->variant->commutes));
}

struct known_fault known_faults[] = {
    { "blocking allgatherv of coll/tuned hangs where send types of ranks differ in size", OTHERS,
      allgatherv_by_send_type, 0 },
    { "blocking alltoall of coll/tuned overwrites memory where layouts of the two sides differ and blocks are short",
      OTHERS, alltoall_by_send_type, 0 },
    { "nonblocking alltoallv in place of coll/libnbc receives into what it still sends", COMPONENT, ialltoallv_in_place,
      0 },
    { "blocking alltoallv of coll/base over pml cm sends from the address of a type and not from its first byte",
      OTHERS, alltoallv_begins_at_address, 0 },
    { "op/avx saturates sums of 8-bit integers", COMPONENT, sum_of_chars_overflows, 0 },
    { "coll/base and coll/libnbc give an operation memory without the padding around the elements", IN_PART_OTHERS,
      writes_padding, 0 },
    { "the same, where HAN leaves calls to them for their order", COMPONENT, writes_padding_anyway, 0 },
};

const size_t known_fault_count = CHECK_COUNT(known_faults);

bool known_fault_concerns(const struct call *c, enum mover mover)
{
    for (size_t i = 0; i < known_fault_count; ++i) {
        if (known_faults[i].least <= mover && known_faults[i].concerns(c)) {
            ++known_faults[i].left_out;
            return true;
        }
    }
    return false;
}
