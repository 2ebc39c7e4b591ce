/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Scan, MPI_Exscan. By leaders: they gather their node's operands and combine them from rank to rank; what is
 * before the node they learn from other leaders, and put it before all of it. Where a node's ranks are not consecutive,
 * each rank leads itself. Few leaders each tell all that come later. Of more, each learns in each round what lies twice
 * as far back. A long message goes in segments from leader to leader, so that each link carries it once. In a chain: in
 * segments from rank to rank. No rank has more to do than to combine what comes with its own, and to send it on.
 */
#include "coll_han.h"

enum { SENDS };

enum way { ALL_AT_ONCE, DOUBLING, NEXT_LEADER, CHAIN };

/* Memory of a rank for one segment. Of a leader: the operands of its node, and what comes from other leaders. */
struct memory {
    mca_coll_han_parts_t low, up;
};

static int leader_count(const mca_coll_han_topology_t *topology)
{
    return topology->in_order ? topology->group_count : topology->size;
}

static int leader_at(const mca_coll_han_leaders_t *leaders, int place)
{
    return leaders->topology->in_order ? mca_coll_han_topology_leader(leaders->topology, place) : place;
}

static mca_coll_adapt_data_t operand_at(const mca_coll_han_parts_t *parts, int index, size_t count)
{
    return mca_coll_han_slice(mca_coll_han_leaders_part(parts, index), 0, count);
}

/* What the leaders before this one have, from each of them. */
static mca_coll_adapt_data_t hear_all(mca_coll_han_leaders_t *leaders, const mca_coll_han_parts_t *parts,
                                      mca_coll_adapt_data_t own)
{
    const int place = leaders->group;
    mca_coll_adapt_data_t before = { NULL, 0, NULL };

    for (int i = 0; i < place; ++i) {
        before = operand_at(parts, i, own.count);
        mca_coll_adapt_schedule_recv(&leaders->schedule, before, leader_at(leaders, i));
    }
    for (int i = place + 1; i < leader_count(leaders->topology); ++i) {
        mca_coll_adapt_schedule_send(&leaders->schedule, own, leader_at(leaders, i));
    }
    for (int i = place - 2; i >= 0; --i) {
        mca_coll_adapt_schedule_combine(&leaders->schedule, operand_at(parts, i, own.count), before);
    }
    return before;
}

/* The same: in each round one has what as many leaders before it know as it knows of itself. It is put before own. */
static mca_coll_adapt_data_t hear_doubling(mca_coll_han_leaders_t *leaders, const mca_coll_han_parts_t *parts,
                                           mca_coll_adapt_data_t own)
{
    const int place = leaders->group, end = leader_count(leaders->topology);
    const mca_coll_adapt_data_t before = operand_at(parts, 0, own.count), farther = operand_at(parts, 1, own.count);

    for (int distance = 1; distance < end; distance *= 2) {
        const mca_coll_adapt_data_t heard = 1 == distance ? before : farther;

        if (1 < distance) {
            mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
        }
        if (distance < end - place) {
            mca_coll_adapt_schedule_send(&leaders->schedule, own, leader_at(leaders, place + distance));
        }
        if (distance <= place) {
            mca_coll_adapt_schedule_recv(&leaders->schedule, heard, leader_at(leaders, place - distance));
            mca_coll_adapt_schedule_combine(&leaders->schedule, heard, own);
            if (1 < distance) {
                mca_coll_adapt_schedule_combine(&leaders->schedule, heard, before);
            }
        }
    }
    return before;
}

/* The same, from the leader before. */
static mca_coll_adapt_data_t hear_last(mca_coll_han_leaders_t *leaders, const mca_coll_han_parts_t *parts, size_t count)
{
    const mca_coll_adapt_data_t before = operand_at(parts, 0, count);

    if (0 < leaders->group) {
        mca_coll_adapt_schedule_recv(&leaders->schedule, before, leader_at(leaders, leaders->group - 1));
    }
    return before;
}

static void fill_leader(mca_coll_han_leaders_t *leaders, const struct memory *memory, mca_coll_adapt_data_t own,
                        mca_coll_adapt_data_t result, enum way way)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const bool inclusive = HAN_SCAN == leaders->args->collective, first = 0 == leaders->group;
    const int size = leaders->size;
    mca_coll_adapt_data_t *part = (void *) mca_coll_adapt_schedule_memory(schedule, (size_t) size * sizeof(*part)),
                          before;

    if (NULL == part) {
        return;
    }
    for (int i = 0; i < size; ++i) {
        part[i] = operand_at(&memory->low, i, own.count);
    }
    for (int i = 1; i < size; ++i) {
        mca_coll_adapt_schedule_recv(schedule, part[i], leaders->members[i]);
    }
    mca_coll_adapt_schedule_copy(schedule, own, part[0]);
    for (int i = 1; i < size; ++i) {
        mca_coll_adapt_schedule_combine(schedule, part[i - 1], part[i]);
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    before = NEXT_LEADER == way ? hear_last(leaders, &memory->up, own.count)
             : DOUBLING == way  ? hear_doubling(leaders, &memory->up, part[size - 1])
                                : hear_all(leaders, &memory->up, part[size - 1]);
    for (int i = 0; i < (DOUBLING == way ? size - 1 : size) && !first; ++i) {
        mca_coll_adapt_schedule_combine(schedule, before, part[i]);
    }
    mca_coll_adapt_schedule_end(schedule, ADAPT_ROUND);
    if (NEXT_LEADER == way && leaders->group + 1 < leader_count(leaders->topology)) {
        mca_coll_adapt_schedule_send(schedule, part[size - 1], leader_at(leaders, leaders->group + 1));
    }
    for (int i = 1; i < size; ++i) {
        mca_coll_adapt_schedule_send(schedule, part[inclusive ? i : i - 1], leaders->members[i]);
    }
    if (inclusive || !first) {
        mca_coll_adapt_schedule_copy(schedule, inclusive ? part[0] : before, result);
    }
}

/* An operand that is combined where it is not is copied there first, while the rank waits for what comes. */
static void put_first(mca_coll_han_leaders_t *leaders, mca_coll_adapt_data_t own, mca_coll_adapt_data_t there)
{
    mca_coll_adapt_schedule_copy(&leaders->schedule, own, there);
    mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
}

/* Whether what comes may go into the result, behind which own is put as well as before it. */
static bool comes_straight(const mca_coll_han_leaders_t *leaders)
{
    return MPI_IN_PLACE != leaders->args->send.buffer && ompi_op_is_commute(leaders->args->op);
}

/* Of a scan: own is put behind what comes from the rank before; where that is alike, it comes straight into the result.
 * Returns what goes on. */
static mca_coll_adapt_data_t fill_scan(mca_coll_han_leaders_t *leaders, const mca_coll_han_parts_t *memory,
                                       mca_coll_adapt_data_t own, mca_coll_adapt_data_t result)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const bool first = 0 == leaders->rank, in_place = MPI_IN_PLACE == leaders->args->send.buffer;
    const bool straight = !first && comes_straight(leaders);
    const mca_coll_adapt_data_t before = straight ? result : operand_at(memory, 0, own.count);

    if (!in_place && !straight) {
        put_first(leaders, own, result);
    }
    if (!first) {
        mca_coll_adapt_schedule_recv(schedule, before, leaders->rank - 1);
        mca_coll_adapt_schedule_combine(schedule, straight ? own : before, result);
    }
    return result;
}

/* The same of an exscan, whose result is what comes: own is put behind it elsewhere. */
static mca_coll_adapt_data_t fill_exscan(mca_coll_han_leaders_t *leaders, const mca_coll_han_parts_t *memory,
                                         mca_coll_adapt_data_t own, mca_coll_adapt_data_t result)
{
    mca_coll_adapt_schedule_t *schedule = &leaders->schedule;
    const mca_coll_adapt_data_t sum = operand_at(memory, 0, own.count);
    const bool last = leaders->topology->size == leaders->rank + 1;

    if (0 == leaders->rank) {
        return own;
    }
    if (!last) {
        put_first(leaders, own, sum);
    }
    mca_coll_adapt_schedule_recv(schedule, result, leaders->rank - 1);
    if (!last) {
        mca_coll_adapt_schedule_combine(schedule, result, sum);
    }
    return sum;
}

/* A segment in the chain. */
static void fill_link(mca_coll_han_leaders_t *leaders, const mca_coll_han_parts_t *memory, mca_coll_adapt_data_t own,
                      mca_coll_adapt_data_t result)
{
    const mca_coll_adapt_data_t next = HAN_SCAN == leaders->args->collective
                                           ? fill_scan(leaders, memory, own, result)
                                           : fill_exscan(leaders, memory, own, result);

    mca_coll_adapt_schedule_end(&leaders->schedule, ADAPT_ROUND);
    if (leaders->rank + 1 < leaders->topology->size) {
        mca_coll_adapt_schedule_send(&leaders->schedule, next, leaders->rank + 1);
    }
}

/* Its group is the rank's place among the leaders, which are all ranks where a node's are not consecutive. */
static mca_coll_han_leaders_t begin(han_module_t *han, const mca_coll_han_args_t *args)
{
    mca_coll_han_leaders_t leaders = mca_coll_han_leaders_begin(han, args);

    if (!leaders.topology->in_order) {
        leaders.group = leaders.leader = leaders.rank;
        leaders.size = 1;
    }
    return leaders;
}

/* Leaders who cut what they tell, and have no ranks to lead, are a chain. */
static enum way way_of(const mca_coll_han_topology_t *topology, mca_coll_han_algorithm_id_t algorithm, bool cut)
{
    if (HAN_CHAIN == algorithm || (cut && (!topology->in_order || 1 == topology->largest))) {
        return CHAIN;
    }
    return cut ? NEXT_LEADER : HAN_FEW_LEADERS < leader_count(topology) ? DOUBLING : ALL_AT_ONCE;
}

/* Whether a rank in the chain has something that may be neither in the user's operand nor in the result. */
static bool has_own_memory(const mca_coll_han_leaders_t *leaders)
{
    const mca_coll_han_args_t *args = leaders->args;
    const bool last = leaders->topology->size == leaders->rank + 1;

    return 0 < leaders->rank && (HAN_SCAN == args->collective ? !comes_straight(leaders) : !last);
}

/* Memory for a segment. Who asks a leader needs none. */
static struct memory memory_of(mca_coll_han_leaders_t *leaders, enum way way, size_t segment, ompi_datatype_t *type)
{
    const int others = NEXT_LEADER == way ? 1 : DOUBLING == way ? 2 : leaders->group;
    struct memory memory = { 0 };

    if (CHAIN == way) {
        memory.low = mca_coll_han_leaders_parts(leaders, has_own_memory(leaders) ? 1 : 0, segment, type);
    } else if (leaders->rank == leaders->leader) {
        memory.low = mca_coll_han_leaders_parts(leaders, leaders->size, segment, type);
        memory.up = mca_coll_han_leaders_parts(leaders, others, segment, type);
    }
    return memory;
}

int mca_coll_han_perform_scan(han_module_t *han, const mca_coll_han_args_t *args, const mca_coll_han_params_t *params,
                              ompi_request_t **request)
{
    mca_coll_han_leaders_t leaders = begin(han, args);
    const mca_coll_adapt_data_t result = mca_coll_han_side_whole(&args->recv),
                                own = mca_coll_han_leaders_operand(&leaders, result.count);
    const size_t bytes = result.datatype->super.size;
    const size_t segment = mca_coll_han_scan_segment(result.count, 0 == bytes ? 1 : bytes, params->ibs);
    const enum way way = way_of(leaders.topology, params->algorithm, segment < result.count);
    struct memory memory[HAN_SCAN_AT_ONCE];

    leaders.schedule.parts_at_once = segment < result.count ? HAN_SCAN_AT_ONCE : 1;
    /* Of more segments than that: nothing comes back that would hold up a rank which is ahead, so it waits until they
     * are received. */
    if (segment < (result.count + HAN_SCAN_AT_ONCE - 1) / HAN_SCAN_AT_ONCE) {
        leaders.schedule.windows[SENDS] = leaders.topology->size;
    }
    for (int i = 0; i < leaders.schedule.parts_at_once; ++i) {
        memory[i] = memory_of(&leaders, way, segment, result.datatype);
    }
    for (size_t first = 0, i = 0; first < result.count || 0 == i; first += segment, ++i) {
        const size_t count = segment < result.count - first ? segment : result.count - first;
        const mca_coll_adapt_data_t given = mca_coll_han_slice(own, first, count),
                                    wanted = mca_coll_han_slice(result, first, count);

        if (0 < i) {
            mca_coll_adapt_schedule_end(&leaders.schedule, ADAPT_PART);
        }
        if (CHAIN == way) {
            fill_link(&leaders, &memory[i % HAN_SCAN_AT_ONCE].low, given, wanted);
        } else if (leaders.rank == leaders.leader) {
            fill_leader(&leaders, &memory[i % HAN_SCAN_AT_ONCE], given, wanted, way);
        } else {
            mca_coll_han_leaders_ask(&leaders, leaders.leader, given, wanted);
        }
    }
    return mca_coll_han_leaders_perform(&leaders, han, request);
}
