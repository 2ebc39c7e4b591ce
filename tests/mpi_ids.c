/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicator ids: there are so many, and HAN's levels take some. A program gets as many communicators as without HAN;
 * where ids run out, old communicators go on. So that they run out soon, Open MPI is told that there are few.
 *
 *   mpi_ids              where HAN has the choice: --mca coll_han_machine none, or it depends on what MPI_Init measures
 *   mpi_ids --at-once    where the user wants levels, from the first call on
 *
 * Compiled with Open MPI's internal headers, and so for one version of it. Wants nodes with several ranks.
 */
#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/pml/pml.h"

#include "mpi_test.h"

enum { IDS = 200, SHORT = 8 << 10, LONG = 128 << 10, ENOUGH = 40 };

static long at_once = 0;
static MPI_Comm taken[IDS];

static void broadcast(MPI_Comm comm, int root)
{
    static unsigned char data[SHORT];
    bool right = true;

    for (size_t i = 0; i < SHORT; ++i) {
        data[i] = root == t.rank ? t_pattern((uint64_t) root, i) : 0;
    }
    T_MPI(MPI_Bcast(data, SHORT, MPI_BYTE, root, comm));
    for (size_t i = 0; i < SHORT; ++i) {
        right = right && t_pattern((uint64_t) root, i) == data[i];
    }
    t_expect(right, "a broadcast from %d is wrong", root);
}

static void allreduce(MPI_Comm comm)
{
    static int in[LONG / sizeof(int)], out[LONG / sizeof(int)];
    const int count = (int) (LONG / sizeof(int));
    bool right = true;

    for (int i = 0; i < count; ++i) {
        in[i] = i + t.rank;
    }
    T_MPI(MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < count; ++i) {
        right = right && t.size * i + t.size * (t.size - 1) / 2 == out[i];
    }
    t_expect(right, "an allreduce is wrong");
}

static MPI_Comm duplicate(void)
{
    MPI_Comm comm;

    T_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    return comm;
}

/*
 * Duplicates until there is no id left; each is used once, if at all. One more is not asked for: where ids have run
 * out, ompi_comm_nextcid() of Open MPI 4.1.4 returns while a reduction still writes into memory that it has freed.
 *
 * @returns how many
 */
static int take_all(bool use)
{
    int count = 0, last = 0;

    while (last < IDS - 1) {
        taken[count] = duplicate();
        last = (int) taken[count]->c_contextid;
        if (use) {
            broadcast(taken[count], count % t.size);
        }
        ++count;
    }
    return count;
}

static void give_back(int from, int to)
{
    for (int i = from; i < to; ++i) {
        T_MPI(MPI_Comm_free(&taken[i]));
    }
}

/* The id that the next communicator gets. */
static int next_id(void)
{
    MPI_Comm comm = duplicate();
    const int id = (int) comm->c_contextid;

    T_MPI(MPI_Comm_free(&comm));
    return id;
}

/* ---- behaviours ---- */

static void as_many_as_without(void)
{
    int unused, used;

    if (at_once) {
        t_skip("--at-once");
        return;
    }
    unused = take_all(false);
    give_back(0, unused);
    used = take_all(true);
    give_back(0, used);
    t_expect(0 < unused && unused == used, "%d communicators, where %d are possible", used, unused);
}

static void levels_when_used_often(void)
{
    const int before = next_id();
    MPI_Comm comm = duplicate();

    broadcast(comm, 0);
    t_expect(at_once || before + 1 == next_id(), "one broadcast takes ids");
    for (int i = 0; i < ENOUGH; ++i) {
        broadcast(comm, i % t.size);
    }
    t_expect(before + 1 < next_id(), "%d broadcasts take no ids", ENOUGH + 1);
    T_MPI(MPI_Comm_free(&comm));
    t_expect(before == next_id(), "an id is not given back");
}

/* With one id, a node has its level, but the leaders have none. */
static void with_few_left(int left)
{
    MPI_Comm old = duplicate();
    const int count = take_all(false);

    if (!t_expect(left < count, "only %d communicators", count)) {
        left = 0;
    }
    give_back(count - left, count);
    for (int i = 0; i < 2 * ENOUGH; ++i) {
        broadcast(old, i % t.size);
        if (0 == i % 10) {
            allreduce(old);
        }
    }
    give_back(0, count - left);
    T_MPI(MPI_Comm_free(&old));
}

static void without_ids(void)
{
    const int before = next_id();

    for (int left = 0; left <= 3; ++left) {
        with_few_left(left);
    }
    t_expect(before == next_id(), "an id is not given back");
}

/* The same communicator has levels when there are ids again. */
static void with_ids_again(void)
{
    MPI_Comm old = duplicate();
    const int count = take_all(false);
    int before;

    for (int i = 0; i < ENOUGH; ++i) {
        broadcast(old, i % t.size);
    }
    give_back(0, count);
    before = next_id();
    for (int i = 0; i < 8 * ENOUGH; ++i) {
        broadcast(old, i % t.size);
    }
    t_expect(before < next_id(), "%d broadcasts take no ids though there are some again", 8 * ENOUGH);
    T_MPI(MPI_Comm_free(&old));
}

/* Where so many ids are in use that rules get none of those that are left, the user does; rules do later. */
static void wished_after_all(void)
{
    MPI_Comm comm, other;
    int count, before;

    if (at_once) {
        t_skip("--at-once");
        return;
    }
    comm = duplicate();
    other = duplicate();
    count = take_all(false);
    give_back(count - IDS / 2, count);
    before = next_id();
    for (int i = 0; i <= ENOUGH; ++i) {
        broadcast(comm, i % t.size);
        broadcast(other, i % t.size);
    }
    t_expect(before == next_id(), "rules take ids where few are left");
    t_write_parameter("coll_han_bcast_algorithm", "simple");
    broadcast(comm, 0);
    t_expect(before < next_id(), "a wish takes no ids");
    t_write_parameter("coll_han_bcast_algorithm", "auto");
    T_MPI(MPI_Comm_free(&comm));
    give_back(0, count - IDS / 2);
    before = next_id();
    for (int i = 0; i <= ENOUGH; ++i) {
        broadcast(other, i % t.size);
    }
    t_expect(before < next_id(), "rules take no ids where there are enough again");
    T_MPI(MPI_Comm_free(&other));
}

int main(int argc, char **argv)
{
    static const struct t_option options[] = { { "--at-once", false, &at_once } };
    static const struct t_behaviour behaviours[] = {
        { "as many communicators with a broadcast as without one", as_many_as_without, 0 },
        { "a communicator that is used often has levels", levels_when_used_often, 0 },
        { "without ids, or with few, old communicators go on", without_ids, 0 },
        { "where there are ids again, a communicator that was refused levels has them", with_ids_again, 0 },
        { "levels that rules were refused the user may have later, and rules when there are ids", wished_after_all, 0 },
    };
    int provided;

    t_options(argc, argv, options, sizeof(options) / sizeof(options[0]));
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    t_begin();
    mca_pml.pml_max_contextid = IDS;
    t_run(behaviours, sizeof(behaviours) / sizeof(behaviours[0]));
    return t_finish("MPI_Finalize returns");
}
