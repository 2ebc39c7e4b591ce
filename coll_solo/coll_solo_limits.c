/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_solo_limits.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* -- files -- */

/* Number `which` after a word at the beginning of a line; false where there is none, as in "max 100000". */
static bool read_number(const char *folder, const char *name, const char *word, int which, int64_t *number)
{
    char path[PATH_MAX], line[256], *end, *start;
    const size_t length = strlen(word);
    bool found = false;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "r");
    while (NULL != file && !found && NULL != fgets(line, sizeof(line), file)) {
        if (0 == strncmp(line, word, length)) {
            end = line + length;
            do {
                start = end;
                *number = strtoll(start, &end, 10);
            } while (end != start && 0 < which--);
            found = end != start;
        }
    }
    if (NULL != file) {
        fclose(file);
    }
    return found;
}

/* Whether a list with commas has a name. */
static bool lists(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (; '\0' != *list; list += strcspn(list, ",") + strspn(list + strcspn(list, ","), ",")) {
        if (length == strcspn(list, ",") && 0 == strncmp(list, name, length)) {
            return true;
        }
    }
    return false;
}

/* -- groups -- */

typedef void (*visit_fn_t)(const char *folder, bool second, void *result);

/*
 * Visits a group and those around it. Where it is not seen, as in a container, whose own group is all that is mounted
 * there, the visit begins with that.
 */
static void visit_up(char *folder, size_t mount, bool second, visit_fn_t visit, void *result)
{
    struct stat found;

    for (;;) {
        char *slash = strrchr(folder + mount, '/');

        if (0 == stat(folder, &found) && S_ISDIR(found.st_mode)) {
            visit(folder, second, result);
        }
        if (NULL == slash) {
            return;
        }
        *slash = '\0';
    }
}

/*
 * Visits all groups that this process is in, for a controller. Version 1 has a tree for each controller, version 2 one
 * for all, which lies beside the others where both are used.
 */
static void visit_all(const char *root, const char *controller, visit_fn_t visit, void *result)
{
    char path[PATH_MAX], line[PATH_MAX], mount[PATH_MAX], folder[2 * PATH_MAX];
    FILE *file;

    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    file = fopen(path, "r");
    while (NULL != file && NULL != fgets(line, sizeof(line), file)) {
        /* NUMBER:CONTROLLERS:GROUP; of version 2: 0::GROUP */
        char *rest = line, *controllers, *group;
        bool second;

        (void) strsep(&rest, ":");
        controllers = strsep(&rest, ":");
        group = strsep(&rest, "\n");
        second = NULL != controllers && '\0' == *controllers;
        if (NULL == group || (!second && !lists(controllers, controller))) {
            continue;
        }
        for (int i = 0; i < (second ? 2 : 1); ++i) {
            const char *const mounts[] = { second ? "." : controller, "unified" };

            snprintf(mount, sizeof(mount), "%s/sys/fs/cgroup/%s", root, mounts[i]);
            snprintf(folder, sizeof(folder), "%s%s", mount, 0 == strcmp("/", group) ? "" : group);
            visit_up(folder, strlen(mount), second, visit, result);
        }
    }
    if (NULL != file) {
        fclose(file);
    }
}

/* -- what they limit -- */

/* What version 1 says where there is no limit: pages in as many bytes as fit. */
enum { NO_LIMIT_SHIFT = 62 };

/* Of what is used, files that nobody has read lately are given up first. What is used takes the system long to tell. */
static void look_at_memory(const char *folder, bool second, void *result)
{
    int64_t limit, used, files = 0, *least = result;

    if (!read_number(folder, second ? "memory.max" : "memory.limit_in_bytes", "", 0, &limit)
        || INT64_C(1) << NO_LIMIT_SHIFT <= limit
        || !read_number(folder, second ? "memory.current" : "memory.usage_in_bytes", "", 0, &used)) {
        return;
    }
    (void) read_number(folder, "memory.stat", second ? "inactive_file " : "total_inactive_file ", 0, &files);
    limit -= used - files;
    limit = 0 > limit ? 0 : limit;
    *least = limit < *least ? limit : *least;
}

/* Microseconds of processor time in each period. */
static void look_at_quota(const char *folder, bool second, void *result)
{
    mca_coll_solo_quota_t *least = result;
    int64_t quota = -1, period = 0;
    struct stat group;

    if (second) {
        (void) (read_number(folder, "cpu.max", "", 0, &quota) && read_number(folder, "cpu.max", "", 1, &period));
    } else {
        (void) read_number(folder, "cpu.cfs_quota_us", "", 0, &quota);
        (void) read_number(folder, "cpu.cfs_period_us", "", 0, &period);
    }
    if (0 < quota && 0 < period && 0 == stat(folder, &group) && quota * 1000 / period < least->thousandths) {
        least->thousandths = quota * 1000 / period;
        least->group = (uint64_t) group.st_ino ^ (uint64_t) group.st_dev << 48;
    }
}

/* -- the result -- */

int64_t mca_coll_solo_memory_left(const char *root)
{
    int64_t left = INT64_MAX;

    visit_all(root, "memory", look_at_memory, &left);
    return left;
}

mca_coll_solo_quota_t mca_coll_solo_quota(const char *root)
{
    mca_coll_solo_quota_t quota = { .thousandths = INT64_MAX };

    visit_all(root, "cpu", look_at_quota, &quota);
    return quota;
}
