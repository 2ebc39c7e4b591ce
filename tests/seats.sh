# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What the tests of programs that move ranks which share cores need (bench/han_seats.h). To be sourced.

seats_library() {                   # seats_library FILE; preloaded, it tells where each rank is put
    printf '%s\n' '#define _GNU_SOURCE' '#include <dlfcn.h>' '#include <sched.h>' '#include <stdio.h>' '#include <stdlib.h>' \
        'int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *mask) {' \
        '    int (*next)(pid_t, size_t, const cpu_set_t *) = (int (*)(pid_t, size_t, const cpu_set_t *)) dlsym(RTLD_NEXT, __func__);' \
        '    if (512 == size) {  /* hwloc, at the start, has others */' \
        '        int core = 0; while (!CPU_ISSET(core, mask)) { ++core; }' \
        '        fprintf(stderr, "seat,%s,%d,%d\n", getenv("OMPI_COMM_WORLD_RANK"), CPU_COUNT(mask), core); }' \
        '    return next(pid, size, mask); }' >"$1.c"
    mpicc -shared -fPIC -o "$1" "$1.c" -ldl
}

seats_differ() {                    # seats_differ FILE OTHER: another seed was told; equal where nobody is moved
    local one other
    one=$(seats_of "$1") other=$(seats_of "$2")
    [[ -z $one$other || $one != "$other" ]]
}

seats_of() {                        # seats_of FILE: the cores of rank 0 in the order of time
    grep -o 'seat,0,.*' "$1" | awk -F, 'NR % 2 { print $4 }'
}

# Each rank is put on a core so many times, each time as many on each core, and let go; where each has one, nobody is moved.
seats_are_changed() {               # seats_are_changed RANKS LEAST MOST FILE
    local cores
    cores=$(nproc)
    grep -o 'seat,.*' "$4" | awk -F, -v ranks="$1" -v least="$2" -v most="$3" -v cores="$cores" '
        {
            if (++calls[$2] % 2) {
                on[(calls[$2] + 1) / 2, $4]++
                bad += $3 != 1
                where[$2] = where[$2] " " $4
            } else {
                bad += $3 != cores
            }
        }
        END {
            if (cores < 2 || cores >= ranks) { exit NR != 0 }
            for (rank = 0; rank < ranks; ++rank) { bad += calls[rank] != calls[0] }
            for (k in on) { bad += on[k] > int((ranks + cores - 1) / cores) }
            exit bad || calls[0] < 2 * least || calls[0] > 2 * most || where[0] == where[1] || where[0] == where[2]
        }'
}
