/* SPDX-License-Identifier: BSD-3-Clause */
/* What control groups leave to a process: coll_solo/coll_solo_limits.h. */
#define _GNU_SOURCE /* mkdtemp, nftw */
#include "coll_solo/coll_solo_limits.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char root[64];

/* Writes a file, with the folders that lead to it. */
static void file(const char *name, const char *text)
{
    char path[PATH_MAX];
    FILE *stream;

    snprintf(path, sizeof(path), "%s%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); NULL != slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(0 == mkdir(path, 0700) || EEXIST == errno);
        *slash = '/';
    }
    stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(0 <= fputs(text, stream));
    assert_int_equal(0, fclose(stream));
}

static int remove_one(const char *path, const struct stat *found, int type, struct FTW *ftw)
{
    (void) found;
    (void) type;
    (void) ftw;
    return remove(path);
}

static int make_root(void **state)
{
    (void) state;
    strcpy(root, "/tmp/unit_limits.XXXXXX");
    return NULL == mkdtemp(root) ? 1 : 0;
}

static int remove_root(void **state)
{
    (void) state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void without_groups_there_is_no_limit(void **state)
{
    (void) state;
    assert_int_equal(INT64_MAX, mca_coll_solo_memory_left(root));
    assert_int_equal(INT64_MAX, mca_coll_solo_quota(root).thousandths);
    assert_int_equal(0, mca_coll_solo_quota(root).group);
}

/* Files that nobody has read lately count as free. */
static void version_2(void **state)
{
    (void) state;
    file("/proc/self/cgroup", "0::/jobs/own\n");
    file("/sys/fs/cgroup/jobs/own/memory.max", "1000\n");
    file("/sys/fs/cgroup/jobs/own/memory.current", "700\n");
    assert_int_equal(300, mca_coll_solo_memory_left(root));
    file("/sys/fs/cgroup/jobs/own/memory.stat", "anon 600\ninactive_file 50\nactive_file 50\n");
    assert_int_equal(350, mca_coll_solo_memory_left(root));
    file("/sys/fs/cgroup/jobs/own/cpu.max", "150000 100000\n");
    assert_int_equal(1500, mca_coll_solo_quota(root).thousandths);
    assert_int_not_equal(0, mca_coll_solo_quota(root).group);
}

static void version_1(void **state)
{
    (void) state;
    file("/proc/self/cgroup", "5:memory:/m\n4:cpuset:/set\n3:cpuacct,cpu:/c\n2:cpuset:/c\n0::/\n");
    file("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "5000\n");
    file("/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "4000\n");
    file("/sys/fs/cgroup/memory/m/memory.stat", "inactive_file 1\ntotal_inactive_file 10\n");
    file("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "50000\n");
    file("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
    assert_int_equal(1010, mca_coll_solo_memory_left(root));
    assert_int_equal(500, mca_coll_solo_quota(root).thousandths);
}

static void both_versions_at_once(void **state)
{
    (void) state;
    file("/proc/self/cgroup", "5:memory:/m\n0::/u\n");
    file("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "5000\n");
    file("/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "4000\n");
    file("/sys/fs/cgroup/unified/u/cpu.max", "25000 100000\n");
    assert_int_equal(1000, mca_coll_solo_memory_left(root));
    assert_int_equal(250, mca_coll_solo_quota(root).thousandths);
}

static void no_limit_is_none(void **state)
{
    (void) state;
    file("/proc/self/cgroup", "3:cpu:/c\n0::/own\n");
    file("/sys/fs/cgroup/own/memory.max", "max\n");
    file("/sys/fs/cgroup/own/memory.current", "700\n");
    file("/sys/fs/cgroup/own/cpu.max", "max 100000\n");
    file("/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
    file("/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
    without_groups_there_is_no_limit(state);
}

/* What holds for a group holds for those within; the one that leaves least counts. */
static void the_tightest_limit_of_all_around_counts(void **state)
{
    (void) state;
    file("/proc/self/cgroup", "0::/a/b/c\n");
    file("/sys/fs/cgroup/a/b/c/memory.max", "1000\n");
    file("/sys/fs/cgroup/a/b/c/memory.current", "100\n");
    file("/sys/fs/cgroup/a/memory.max", "2000\n");
    file("/sys/fs/cgroup/a/memory.current", "1800\n");
    file("/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
    file("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(200, mca_coll_solo_memory_left(root));
    assert_int_equal(1000, mca_coll_solo_quota(root).thousandths);
}

/* In a container, the name is one of the machine's, but what is mounted is the container's own group. */
static void a_group_that_is_not_seen_is_the_one_mounted(void **state)
{
    (void) state;
    file("/proc/self/cgroup", "0::/machine/container/7\n");
    file("/sys/fs/cgroup/memory.max", "1000\n");
    file("/sys/fs/cgroup/memory.current", "999\n");
    assert_int_equal(1, mca_coll_solo_memory_left(root));
}

static void more_than_the_limit_leaves_nothing(void **state)
{
    (void) state;
    file("/proc/self/cgroup", "0::/\n");
    file("/sys/fs/cgroup/memory.max", "1000\n");
    file("/sys/fs/cgroup/memory.current", "1200\n");
    assert_int_equal(0, mca_coll_solo_memory_left(root));
}

static void groups_with_limits_are_told_apart(void **state)
{
    mca_coll_solo_quota_t one, other;

    (void) state;
    file("/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
    file("/sys/fs/cgroup/b/cpu.max", "100000 100000\n");
    file("/proc/self/cgroup", "0::/a\n");
    one = mca_coll_solo_quota(root);
    file("/proc/self/cgroup", "0::/b\n");
    other = mca_coll_solo_quota(root);
    assert_int_equal(one.thousandths, other.thousandths);
    assert_int_not_equal(one.group, other.group);
}

static void rubbish_is_no_limit(void **state)
{
    (void) state;
    file("/proc/self/cgroup", "\n:\n::\n0::\nrubbish\n3:memory\n0::/own\n");
    file("/sys/fs/cgroup/own/memory.max", "much\n");
    file("/sys/fs/cgroup/own/memory.current", "");
    file("/sys/fs/cgroup/own/cpu.max", "100000\n");
    without_groups_there_is_no_limit(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_groups_there_is_no_limit),
        TEST(version_2),
        TEST(version_1),
        TEST(both_versions_at_once),
        TEST(no_limit_is_none),
        TEST(the_tightest_limit_of_all_around_counts),
        TEST(a_group_that_is_not_seen_is_the_one_mounted),
        TEST(more_than_the_limit_leaves_nothing),
        TEST(groups_with_limits_are_told_apart),
        TEST(rubbish_is_no_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
