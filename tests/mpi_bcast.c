/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast with every kind of layout and communicator. Passes with any correct MPI; sizes are ragged around --segment.
 */
#include "mpi_test.h"

static long segment = 1024;
static long quick = 0;
static long big = 0;
static long strict = 0;

/* ---- layouts: where the packed bytes of a message are in memory ---- */

struct layout {
    MPI_Datatype type;
    int count;
    size_t bytes;   /* packed */
    ptrdiff_t *map; /* [bytes] where each is, from the pointer that MPI gets */
    ptrdiff_t low;  /* the lowest of them */
    size_t span;    /* bytes from the lowest to the highest, gaps too */
};

/* Consecutive bytes of an element. */
struct piece {
    ptrdiff_t offset;
    size_t bytes;
};

/* A layout of at least so many packed bytes; what ranks choose may differ, the signature doesn't. */
typedef struct layout (*layout_fn_t)(size_t bytes);

/* The pieces are repeated so many times, an extent apart; the type and the count say the same to MPI. */
static struct layout layout_new(MPI_Datatype type, size_t count, size_t repeats, const struct piece *pieces,
                                size_t piece_count, ptrdiff_t extent)
{
    struct layout layout = { .type = type, .count = (int) count };
    ptrdiff_t high = 0;
    size_t i = 0;

    for (size_t p = 0; p < piece_count; ++p) {
        layout.bytes += repeats * pieces[p].bytes;
    }
    layout.map = malloc((layout.bytes + 1) * sizeof(layout.map[0]));
    for (size_t r = 0; r < repeats; ++r) {
        for (size_t p = 0; p < piece_count; ++p) {
            for (size_t b = 0; b < pieces[p].bytes; ++b) {
                layout.map[i++] = (ptrdiff_t) r * extent + pieces[p].offset + (ptrdiff_t) b;
            }
        }
    }
    layout.low = 0 < layout.bytes ? layout.map[0] : 0;
    for (i = 0; i < layout.bytes; ++i) {
        layout.low = layout.map[i] < layout.low ? layout.map[i] : layout.low;
        high = layout.map[i] >= high || 0 == i ? layout.map[i] + 1 : high;
    }
    layout.span = (size_t) (high - layout.low);
    T_MPI(MPI_Type_commit(&layout.type));
    return layout;
}

static void layout_free(struct layout *layout)
{
    if (MPI_BYTE != layout->type && MPI_INT != layout->type) {
        T_MPI(MPI_Type_free(&layout->type));
    }
    free(layout->map);
}

#define PIECES(pieces) pieces, sizeof(pieces) / sizeof(pieces[0])

static const struct piece one_byte[] = { { 0, 1 } };
static const struct piece one_int[] = { { 0, sizeof(int) } };

/* Elements of the given size that hold at least so many bytes. */
static size_t elements(size_t bytes, size_t size)
{
    return (bytes + size - 1) / size;
}

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint low, MPI_Aint extent)
{
    MPI_Datatype result;

    T_MPI(MPI_Type_create_resized(type, low, extent, &result));
    if (MPI_BYTE != type) {
        T_MPI(MPI_Type_free(&type));
    }
    return result;
}

static struct layout contiguous(size_t bytes)
{
    return layout_new(MPI_BYTE, bytes, bytes, PIECES(one_byte), 1);
}

static struct layout vector_with_gaps(size_t bytes)
{
    static const struct piece pieces[] = { { 0, 5 }, { 9, 5 }, { 18, 5 } };
    MPI_Datatype type;

    T_MPI(MPI_Type_vector(3, 5, 9, MPI_BYTE, &type));
    return layout_new(type, elements(bytes, 15), elements(bytes, 15), PIECES(pieces), 23);
}

static struct layout struct_with_gaps(size_t bytes)
{
    static const struct piece pieces[] = { { 0, 4 }, { 4, 3 }, { 16, 8 } };
    const int lengths[] = { 1, 3, 1 };
    const MPI_Aint offsets[] = { 0, 4, 16 };
    const MPI_Datatype types[] = { MPI_INT, MPI_CHAR, MPI_DOUBLE };
    MPI_Datatype type;

    T_MPI(MPI_Type_create_struct(3, lengths, offsets, types, &type));
    return layout_new(resized(type, 0, 40), elements(bytes, 15), elements(bytes, 15), PIECES(pieces), 40);
}

static struct layout negative_lower_bound(size_t bytes)
{
    static const struct piece pieces[] = { { -8, 5 }, { 2, 3 } };
    const int lengths[] = { 5, 3 };
    const MPI_Aint offsets[] = { -8, 2 };
    MPI_Datatype type;

    T_MPI(MPI_Type_create_hindexed(2, lengths, offsets, MPI_BYTE, &type));
    return layout_new(resized(type, -12, 24), elements(bytes, 8), elements(bytes, 8), PIECES(pieces), 24);
}

static struct layout negative_stride(size_t bytes)
{
    static const struct piece pieces[] = { { 0, 3 }, { -7, 3 }, { -14, 3 }, { -21, 3 } };
    MPI_Datatype type;

    T_MPI(MPI_Type_create_hvector(4, 3, -7, MPI_BYTE, &type));
    return layout_new(type, elements(bytes, 12), elements(bytes, 12), PIECES(pieces), 24);
}

static struct layout one_large_element(size_t bytes)
{
    MPI_Datatype type;

    T_MPI(MPI_Type_vector((int) bytes, 1, 2, MPI_BYTE, &type));
    return layout_new(type, 1, bytes, PIECES(one_byte), 2);
}

static struct layout one_large_element_downwards(size_t bytes)
{
    MPI_Datatype type;

    T_MPI(MPI_Type_create_hvector((int) bytes, 1, -3, MPI_BYTE, &type));
    return layout_new(type, 1, bytes, PIECES(one_byte), -3);
}

static struct layout bytes_with_gaps(size_t bytes)
{
    return layout_new(resized(MPI_BYTE, -2, 5), bytes, bytes, PIECES(one_byte), 5);
}

static struct layout ints(size_t bytes)
{
    const size_t count = elements(bytes, sizeof(int));

    return layout_new(MPI_INT, count, count, PIECES(one_int), sizeof(int));
}

static struct layout ints_as_one(size_t bytes)
{
    const size_t count = elements(bytes, sizeof(int));
    MPI_Datatype type;

    T_MPI(MPI_Type_contiguous((int) count, MPI_INT, &type));
    return layout_new(type, 1, count, PIECES(one_int), sizeof(int));
}

static struct layout ints_with_gaps(size_t bytes)
{
    const size_t count = elements(bytes, sizeof(int));
    MPI_Datatype type;

    T_MPI(MPI_Type_vector((int) count, 1, 2, MPI_INT, &type));
    return layout_new(type, 1, count, PIECES(one_int), 2 * sizeof(int));
}

static struct layout ints_by_rank(size_t bytes)
{
    static const layout_fn_t layouts[] = { ints_as_one, ints, ints_with_gaps };

    return layouts[0 == bytes ? 1 : t.rank % 3](bytes);
}

static struct layout bytes_by_rank(size_t bytes)
{
    static const layout_fn_t layouts[]
        = { contiguous, one_large_element, bytes_with_gaps, one_large_element_downwards };

    return layouts[0 == bytes ? 0 : t.rank % 4](bytes);
}

static struct layout nothing(size_t bytes)
{
    MPI_Datatype type;

    (void) bytes;
    T_MPI(MPI_Type_contiguous(0, MPI_INT, &type));
    return layout_new(type, 5, 0, NULL, 0, 0);
}

/*
 * On every second rank a count of 0, for which MPI_Bcast of Open MPI returns without asking a component; a component
 * that communicates for the others leaves them waiting.
 */
static struct layout nothing_by_rank(size_t bytes)
{
    return 0 == t.rank % 2 ? nothing(bytes) : contiguous(0);
}

/* ---- one message ---- */

/* A rank's buffer, and what it must hold after the broadcast. */
struct message {
    struct layout layout;
    unsigned char *memory;
    unsigned char *image;
};

static void message_new(struct message *message, layout_fn_t make, size_t bytes)
{
    message->layout = make(bytes);
    message->memory = t_alloc(message->layout.span);
    message->image = malloc(message->layout.span + 1);
}

static void message_free(struct message *message)
{
    t_free(message->memory);
    free(message->image);
    layout_free(&message->layout);
}

/* What MPI gets. */
static void *message_pointer(const struct message *message)
{
    return message->memory - message->layout.low;
}

/* The root has the message before; all who receive, or are the root, have it after. Gaps keep what they hold. */
static void message_fill(struct message *message, uint64_t key, bool root, bool receives)
{
    const struct layout *layout = &message->layout;

    memset(message->image, 0xa5 ^ t.rank, layout->span);
    memcpy(message->memory, message->image, layout->span);
    for (size_t i = 0; i < layout->bytes && (root || receives); ++i) {
        message->image[layout->map[i] - layout->low] = t_pattern(key, i);
    }
    if (root) {
        memcpy(message->memory, message->image, layout->span);
    }
}

static void message_check(const struct message *message, int root)
{
    size_t i = 0;

    if (0 != memcmp(message->memory, message->image, message->layout.span)) {
        while (message->memory[i] == message->image[i]) {
            ++i;
        }
        t_expect(false, "%zu bytes from %d: byte %zu of the memory is %#x, not %#x", message->layout.bytes, root, i,
                 message->memory[i], message->image[i]);
    }
    t_expect(t_guarded(message->memory), "%zu bytes from %d: a guard was written", message->layout.bytes, root);
}

/* ---- all sizes from all roots ---- */

static const struct {
    int segments;
    int more;
} sizes[] = { { 0, 0 }, { 0, 1 }, { 1, -1 }, { 1, 0 }, { 1, 1 }, { 3, 7 }, { 9, 1 } };
static const size_t size_count = sizeof(sizes) / sizeof(sizes[0]);

static size_t size_bytes(size_t s)
{
    return (size_t) (sizes[s].segments * segment + sizes[s].more);
}

static uint64_t new_key(void)
{
    static uint64_t calls = 0;

    return (uint64_t) t.seed * 1000003 + calls++;
}

/* All roots, or where time is short the first two, the middle and the last. */
static bool root_wanted(int root, int size)
{
    return !quick || root < 2 || root == size / 2 || root == size - 1;
}

static void from_all_roots(MPI_Comm comm, layout_fn_t make, size_t bytes)
{
    struct message message;
    int rank;
    int size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    message_new(&message, make, bytes);
    for (int root = 0; root < size; ++root) {
        if (root_wanted(root, size)) {
            message_fill(&message, 31 * (uint64_t) t.seed + bytes + (uint64_t) root, root == rank, true);
            T_MPI(MPI_Bcast(message_pointer(&message), message.layout.count, message.layout.type, root, comm));
            message_check(&message, root);
        }
    }
    message_free(&message);
}

static void all_sizes(MPI_Comm comm, layout_fn_t make)
{
    for (size_t s = 0; s < size_count; ++s) {
        from_all_roots(comm, make, size_bytes(s));
    }
}

/* ---- behaviours: layouts ---- */

static void with_contiguous(void)
{
    all_sizes(MPI_COMM_WORLD, contiguous);
}

static void with_vector(void)
{
    all_sizes(MPI_COMM_WORLD, vector_with_gaps);
}

static void with_struct(void)
{
    all_sizes(MPI_COMM_WORLD, struct_with_gaps);
}

static void with_negative_lower_bound(void)
{
    all_sizes(MPI_COMM_WORLD, negative_lower_bound);
}

static void with_negative_stride(void)
{
    all_sizes(MPI_COMM_WORLD, negative_stride);
}

static void with_one_large_element(void)
{
    all_sizes(MPI_COMM_WORLD, one_large_element);
}

static void with_ints_by_rank(void)
{
    all_sizes(MPI_COMM_WORLD, ints_by_rank);
}

static void with_bytes_by_rank(void)
{
    all_sizes(MPI_COMM_WORLD, bytes_by_rank);
}

static void with_nothing(void)
{
    from_all_roots(MPI_COMM_WORLD, nothing, 0);
}

static void with_nothing_by_rank(void)
{
    if (!strict) {
        t_skip("wants --strict: the standard demands it, but Open MPI's own components may hang");
        return;
    }
    from_all_roots(MPI_COMM_WORLD, nothing_by_rank, 0);
}

static void with_no_pointer(void)
{
    for (int root = 0; root < t.size; ++root) {
        T_MPI(MPI_Bcast((void *) (uintptr_t) 8, 0, MPI_DOUBLE, root, MPI_COMM_WORLD));
    }
}

/* ---- behaviours: communicators ---- */

/* Takes the communicator. */
static void on_comm(MPI_Comm comm)
{
    if (MPI_COMM_NULL != comm) {
        all_sizes(comm, contiguous);
        if (!quick) {
            all_sizes(comm, bytes_by_rank);
        }
        T_MPI(MPI_Comm_free(&comm));
    }
}

static MPI_Comm split_nodes(void)
{
    MPI_Comm comm = MPI_COMM_NULL;

    T_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t.rank, MPI_INFO_NULL, &comm));
    return comm;
}

static void on_dup(void)
{
    MPI_Comm comm = MPI_COMM_NULL;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    on_comm(comm);
}

static void on_odd_and_even(void)
{
    on_comm(t_split(t.rank % 2, t.rank));
}

static void on_unequal_parts(void)
{
    on_comm(t_split(t.rank < (t.size + 2) / 3, t.rank));
}

static void on_reversed(void)
{
    on_comm(t_split(0, -t.rank));
}

static void on_single_ranks(void)
{
    MPI_Comm comm = MPI_COMM_NULL;

    on_comm(t_split(t.rank, 0));
    T_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    on_comm(comm);
}

static void on_nodes(void)
{
    on_comm(split_nodes());
}

static void on_leaders(void)
{
    MPI_Comm node = split_nodes();
    int place;

    MPI_Comm_rank(node, &place);
    T_MPI(MPI_Comm_free(&node));
    on_comm(t_split(0 == place ? 0 : MPI_UNDEFINED, t.rank));
}

/* A message from a rank of one group to all of the other. */
static void across(MPI_Comm comm, bool sending, int root, size_t bytes, layout_fn_t make)
{
    struct message message;
    bool is_root;
    int rank;

    MPI_Comm_rank(comm, &rank);
    is_root = sending && root == rank;
    message_new(&message, make, bytes);
    message_fill(&message, 17 * (uint64_t) t.seed + bytes + (uint64_t) root, is_root, !sending);
    T_MPI(MPI_Bcast(message_pointer(&message), message.layout.count, message.layout.type,
                    is_root   ? MPI_ROOT
                    : sending ? MPI_PROC_NULL
                              : root,
                    comm));
    message_check(&message, root);
    message_free(&message);
}

static void across_groups(MPI_Comm comm, bool sending)
{
    int senders;

    if (sending) {
        MPI_Comm_size(comm, &senders);
    } else {
        MPI_Comm_remote_size(comm, &senders);
    }
    for (size_t s = 0; s < size_count; ++s) {
        for (int root = 0; root < senders; ++root) {
            if (root_wanted(root, senders)) {
                across(comm, sending, root, size_bytes(s), bytes_by_rank);
            }
        }
    }
}

static void on_intercommunicator(void)
{
    const int first = (t.size + 2) / 3;
    const bool low = t.rank < first;
    MPI_Comm local;
    MPI_Comm inter = MPI_COMM_NULL;

    if (1 == t.size) {
        t_skip("needs two ranks");
        return;
    }
    local = t_split(low, t.rank);
    T_MPI(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? first : 0, 5, &inter));
    across_groups(inter, low);
    across_groups(inter, !low);
    T_MPI(MPI_Comm_free(&inter));
    T_MPI(MPI_Comm_free(&local));
}

/* ---- behaviours: sequences ---- */

#define IN_A_ROW 50

static void row(uint64_t *state)
{
    static const layout_fn_t layouts[] = { contiguous,      vector_with_gaps, struct_with_gaps, negative_lower_bound,
                                           negative_stride, ints_by_rank,     bytes_by_rank };
    struct message messages[IN_A_ROW];
    int roots[IN_A_ROW];

    for (int i = 0; i < IN_A_ROW; ++i) {
        const layout_fn_t make = layouts[t_random(state, sizeof(layouts) / sizeof(layouts[0]))];

        roots[i] = (int) t_random(state, (size_t) t.size);
        message_new(&messages[i], make, t_random(state, 4 * (size_t) segment));
        message_fill(&messages[i], new_key(), roots[i] == t.rank, true);
    }
    for (int i = 0; i < IN_A_ROW; ++i) {
        T_MPI(MPI_Bcast(message_pointer(&messages[i]), messages[i].layout.count, messages[i].layout.type, roots[i],
                        MPI_COMM_WORLD));
    }
    for (int i = 0; i < IN_A_ROW; ++i) {
        message_check(&messages[i], roots[i]);
        message_free(&messages[i]);
    }
}

static void in_a_row(void)
{
    uint64_t state = (uint64_t) t.seed;

    for (int i = 0; i < (quick ? 1 : 5); ++i) {
        row(&state);
    }
}

static void buffer_changes_after_return(void)
{
    uint64_t state = (uint64_t) t.seed + 1;
    struct message message;

    message_new(&message, contiguous, size_bytes(5));
    for (int i = 0; i < (quick ? 30 : 150); ++i) {
        const int root = (int) t_random(&state, (size_t) t.size);
        const int bytes = (int) t_random(&state, message.layout.bytes + 1);

        message_fill(&message, (uint64_t) i, root == t.rank, true);
        T_MPI(MPI_Bcast(message.memory, bytes, MPI_BYTE, root, MPI_COMM_WORLD));
        t_expect(0 == memcmp(message.memory, message.image, (size_t) bytes), "message %d from %d is wrong", i, root);
        t_expect(t_guarded(message.memory), "message %d from %d: a guard was written", i, root);
        memset(message.memory, 0xee, message.layout.bytes);
    }
    message_free(&message);
}

/* ---- behaviours: past 2 GiB ---- */

#define MIB ((size_t) 1 << 20)
#define PAST (((size_t) 1 << 31) + 12345)
#define BIG_LIMIT 600

/* Bytes free on this node, or 0 where that isn't known. */
static size_t memory_available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[T_TEXT];
    size_t kib = 0;

    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        if (1 == sscanf(line, "MemAvailable: %zu", &kib)) {
            break;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return kib << 10;
}

static bool big_possible(size_t bytes)
{
    MPI_Comm node;
    int ranks;
    size_t needed;

    if (!big) {
        t_skip("wants --big");
        return false;
    }
    node = split_nodes();
    MPI_Comm_size(node, &ranks);
    T_MPI(MPI_Comm_free(&node));
    needed = (size_t) ranks * bytes + ((size_t) 1 << 30);
    if (!t_agree(memory_available() >= needed)) {
        t_skip("a node has less memory than its ranks need (%zu MiB for %d ranks)", needed / MIB, ranks);
        return false;
    }
    return true;
}

/* Every byte at the ends and around 2 GiB, few between. */
static size_t next_place(size_t i, size_t bytes)
{
    const size_t edges[] = { 64, (size_t) 1 << 31, bytes - 64 };
    size_t step = 65521;

    for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); ++e) {
        const size_t start = edges[e] - 64;

        if (i >= start && i < edges[e] + 64) {
            return i + 1;
        }
        if (start > i && start - i < step) {
            step = start - i;
        }
    }
    return i + step;
}

static void past_2_gib(MPI_Datatype type, int count, size_t bytes, int root)
{
    const unsigned char flip = root == t.rank ? 0 : 0xff;
    unsigned char *memory = t_alloc_huge(bytes);
    size_t wrong = 0;

    for (size_t i = 0; i < bytes; i = next_place(i, bytes)) {
        memory[i] = t_pattern((uint64_t) t.seed, i) ^ flip;
    }
    T_MPI(MPI_Bcast(memory, count, type, root, MPI_COMM_WORLD));
    for (size_t i = 0; i < bytes; i = next_place(i, bytes)) {
        if (memory[i] != t_pattern((uint64_t) t.seed, i)) {
            t_expect(false, "byte %zu is the first wrong one", i);
            ++wrong;
        }
    }
    t_expect(0 == wrong, "%zu bytes are wrong", wrong);
    t_free(memory);
}

static void past_2_gib_in_one_element(void)
{
    const int lengths[] = { (int) (PAST / MIB), (int) (PAST % MIB) };
    const MPI_Aint offsets[] = { 0, (MPI_Aint) (PAST - PAST % MIB) };
    MPI_Datatype types[] = { MPI_DATATYPE_NULL, MPI_BYTE };
    MPI_Datatype type;

    if (!big_possible(PAST)) {
        return;
    }
    T_MPI(MPI_Type_contiguous((int) MIB, MPI_BYTE, &types[0]));
    T_MPI(MPI_Type_create_struct(2, lengths, offsets, types, &type));
    T_MPI(MPI_Type_commit(&type));
    past_2_gib(type, 1, PAST, t.size - 1);
    T_MPI(MPI_Type_free(&type));
    T_MPI(MPI_Type_free(&types[0]));
}

static void past_2_gib_in_doubles(void)
{
    const size_t count = elements(PAST, sizeof(double));

    if (big_possible(count * sizeof(double))) {
        past_2_gib(MPI_DOUBLE, (int) count, count * sizeof(double), 0);
    }
}

int main(int argc, char **argv)
{
    static const struct t_option options[] = { { "--segment", true, &segment },
                                               { "--quick", false, &quick },
                                               { "--big", false, &big },
                                               { "--strict", false, &strict } };
    static const struct t_behaviour behaviours[] = {
        { "contiguous bytes", with_contiguous, 0 },
        { "a vector with gaps", with_vector, 0 },
        { "a struct with gaps and a resized extent", with_struct, 0 },
        { "a negative lower bound", with_negative_lower_bound, 0 },
        { "a vector with a negative stride", with_negative_stride, 0 },
        { "one element larger than many segments", with_one_large_element, 0 },
        { "one signature, by rank n ints, one of n ints, one with gaps", with_ints_by_rank, 0 },
        { "one signature, by rank bytes with gaps, upwards and downwards", with_bytes_by_rank, 0 },
        { "a type of size 0", with_nothing, 0 },
        { "one signature without bytes, by rank a count of 0 or a type of size 0", with_nothing_by_rank, 10 },
        { "a count of 0 with a wild pointer", with_no_pointer, 0 },
        { "a duplicate of the world", on_dup, 0 },
        { "odd and even ranks", on_odd_and_even, 0 },
        { "two parts of unequal size", on_unequal_parts, 0 },
        { "ranks in reversed order", on_reversed, 0 },
        { "each rank alone", on_single_ranks, 0 },
        { "each node alone", on_nodes, 0 },
        { "the first rank of each node", on_leaders, 0 },
        { "an intercommunicator, both ways", on_intercommunicator, 0 },
        { "many in a row, any root, size and layout", in_a_row, 0 },
        { "buffers change as soon as a call returns", buffer_changes_after_return, 0 },
        { "more than 2 GiB in one element", past_2_gib_in_one_element, BIG_LIMIT },
        { "more than 2 GiB of doubles", past_2_gib_in_doubles, BIG_LIMIT },
    };

    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
    if (segment < 2 || segment > 1 << 24) {
        fprintf(stderr, "%s: a segment has 2 bytes to 16 MiB\n", argv[0]);
        return 1;
    }
    MPI_Init(&argc, &argv);
    t_begin();
    while (t_next_setting()) {
        t_run(behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
    }
    return t_finish("MPI_Finalize returns");
}
