#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# SOLO as a user of one node meets it: when it is used, what it tells, how much
# it copies, what it does without shared memory and without single copies, and
# what is left when a job is killed.  BUILD names the build folder (default: the
# current one or the one above).  Exit code 0 pass, 1 fail, 77 no mpirun.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE

tmp=$(mktemp -d)
job=''
# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
t_notes=("$tmp/out" "$tmp/err")

clean_up() {
    [[ -z $job ]] || { kill "$job" && wait "$job"; } 2>/dev/null || :    # timeout passes it on to mpirun
    rm -rf -- "$tmp"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

run() {                             # run RANKS [mpirun options] PROGRAM ...
    local ranks=$1
    shift
    timeout -k 5 "$LIMIT" "${prefix[@]}" mpirun "${root[@]}" --oversubscribe "${binding[@]}" -n "$ranks" "$@" \
        </dev/null >"$tmp/out" 2>"$tmp/err"
}

all_right() {                       # the program's lines are there, and all ok
    local lines
    lines=$(grep -c '^ok ' "$tmp/out")
    ! grep -q '^not ok' "$tmp/out" && grep -qx "1\.\.$lines" "$tmp/out"
}

said() {                            # said TIMES PATTERN
    [[ $(grep -cE -- "$2" "$tmp/err") == "$1" ]]
}

# Shared memory from the first call on.
readonly SOLO=(--mca coll_solo_start 0)
readonly SHORT=(--communicators 30)
readonly SINGLE=(--mca coll_solo_bcast_algorithm single_copy --mca coll_solo_gather_algorithm single_copy
    --mca coll_solo_scatter_algorithm single_copy --mca coll_solo_reduce_algorithm single_copy)

# ---------------------------------------------------------------- used or not

test_unused() {
    run 2 "${SOLO[@]}" --mca coll_solo_verbose 2 "$@" "$build/tests/mpi_check" --solo --calls 5 && all_right &&
        said 0 coll:solo
}

test_used() {
    run 2 "${SOLO[@]}" --mca coll_solo_verbose 2 "$build/tests/mpi_check" --solo && all_right || return 1
    local name
    for name in bcast reduce allreduce barrier gather scatter allgather reduce_scatter_block alltoall; do
        grep -qE "coll:solo: MPI_COMM_WORLD .*: $name, [0-9]+ bytes: (copy|slices|single_copy)" "$tmp/err" || return 1
    done
}

test_begins() {                     # test_begins YES|NO SIZE: by default, in ten calls of a size
    run 2 --mca coll_solo_verbose 1 "$build/bench/han_bench" allreduce --calls 1 --sizes "$2" -i 10 -x 0 &&
        said "$([[ $1 == yes ]] && echo 1 || echo 0)" 'bytes of shared memory'
}

test_silent() {
    run 4 "${SOLO[@]}" "$build/tests/mpi_check" --solo && all_right && [[ ! -s $tmp/err ]]
}

# The machine description is one that hwloc made ("pack:2 [numa] core:1 pu:1").
test_groups() {                     # test_groups MAP
    run 4 "${SOLO[@]}" --mca coll_solo_verbose 1 --mca hwloc_base_topo_file "$HERE/two_sockets.xml" --map-by "$1" \
        "$build/tests/mpi_check" --solo && all_right && said 1 'MPI_COMM_WORLD .*: 4 ranks in 2 groups'
}

# ---------------------------------------------------------------- copies

# han_bench uses the world for nothing but what it measures.
bytes_moved() {                     # bytes_moved WORD: of all ranks, by that way
    sed -nE "s/.*MPI_COMM_WORLD .* ([0-9]+) bytes moved by single copy, .* ([0-9]+) through.*/single \1\nshared \2/p" \
        "$tmp/err" | awk -v way="$1" '$1 == way { sum += $2; ++n } END { print n ? sum : "none" }'
}

test_moves() {                      # test_moves RANKS SINGLE SHARED COLLECTIVE OPTIONS...: bytes of three calls of 4 MB
    local ranks=$1 single=$2 shared=$3 collective=$4
    shift 4
    run "$ranks" "${SOLO[@]}" --mca coll_solo_verbose 1 "$@" "$build/bench/han_bench" "$collective" --calls 1 --sizes 4M -i 3 \
        -x 0 || return 1
    echo "wanted: $single and $shared; moved: $(bytes_moved single) and $(bytes_moved shared)" >>"$tmp/out"
    [[ $(bytes_moved single) == "$single" && $(bytes_moved shared) == "$shared" ]]
}

# Of three calls of 4 MB on two groups of two, what passes between them by single copies.
test_crosses() {                    # test_crosses BYTES COLLECTIVE SIZE
    run 4 "${SOLO[@]}" --mca coll_solo_verbose 1 --mca "coll_solo_${2}_algorithm" single_copy \
        --mca hwloc_base_topo_file "$HERE/two_sockets.xml" --map-by socket "$build/bench/han_bench" "$2" --calls 1 --sizes "$3" \
        -i 3 -x 0 || return 1
    local crossed
    crossed=$(sed -nE 's/.*MPI_COMM_WORLD .* ([0-9]+) of them between groups.*/\1/p' "$tmp/err" |
        awk '{ sum += $1; ++n } END { print n ? sum : "none" }')
    echo "wanted: $1 between groups; moved: $crossed" >>"$tmp/out"
    [[ $crossed == "$1" ]]
}

test_unequal() {                    # test_unequal RANK OPTION...: that names another length than the others
    run 4 "${SOLO[@]}" --mca coll_solo_verbose 1 "${SINGLE[@]}" "${@:2}" "$build/tests/mpi_solo" --unequal "$1" && all_right &&
        [[ $(bytes_moved single) == [1-9]* ]]
}

# With a core each, broadcasts of 1 MB go by single copy where that is cheap, else through shared memory.
test_price() {
    run 2 "${SOLO[@]}" --mca coll_solo_verbose 1 "$build/bench/han_bench" bcast --calls 1 --sizes 1M -i 3 -x 0 || return 1
    local price bytes=$((3 << 20))
    price=$(sed -nE 's/.*single copy, which takes ([0-9.]+) times as long as memcpy$/\1/p' "$tmp/err")
    echo "price: $price; moved: $(bytes_moved single) and $(bytes_moved shared)" >>"$tmp/out"
    if awk "BEGIN { exit !(0 < 0$price && 0$price <= 1) }"; then
        [[ $(bytes_moved single) == "$bytes" && $(bytes_moved shared) == 0 ]]
    else
        [[ -n $price && $(bytes_moved single) == 0 && $(bytes_moved shared) == $((2 * bytes)) ]]
    fi
}

# Two ranks with a core each would reduce slices where single copies are cheap.
test_dear() {
    run 2 "${SOLO[@]}" --mca coll_solo_single_copy off --mca coll_solo_verbose 2 "$build/bench/han_bench" allreduce --calls 1 \
        --sizes 64K -i 3 -x 0 && grep -q 'allreduce, 65536 bytes: copy$' "$tmp/err" && said 0 'allreduce, 65536 bytes: slices$'
}

# ---------------------------------------------------------------- without memory

test_without_memory() {             # test_without_memory REASON OPTION...
    local reason=$1
    shift
    run 4 "${SOLO[@]}" --mca coll_solo_verbose 1 "$build/tests/mpi_solo" "${SHORT[@]}" "$@" && all_right &&
        said 1 "coll:solo: .* no shared memory \(.*$reason.*\); other components do" && said 0 'MPI_COMM_WORLD .* bytes (of|moved)'
}

# Those that come first have theirs, and the others do without.
test_too_many() {
    run 4 "${SOLO[@]}" --mca coll_solo_max_memory 5M --mca coll_solo_verbose 1 "$build/tests/mpi_solo" "${SHORT[@]}" &&
        all_right && grep -q 'bytes of shared memory' "$tmp/err" && [[ $(grep -c 'no shared memory' "$tmp/err") -ge 1 ]] &&
        [[ $(sort -u -t: -k1,1 <(grep 'no shared memory' "$tmp/err") | wc -l) == \
            $(grep -c 'no shared memory' "$tmp/err") ]]
}

# ---------------------------------------------------------------- without single copies

test_single_copy_off() {
    run 4 "${SOLO[@]}" --mca coll_solo_single_copy off --mca coll_solo_verbose 1 "$build/bench/han_bench" bcast \
        --calls 1 --sizes 4M -i 2 -x 0 && said 1 'rank 0: no single copy \(coll_solo_single_copy is off\)' &&
        [[ $(bytes_moved single) == 0 ]]
}

# One rank that does not let itself be traced: all copy through shared memory.
test_refused() {                    # test_refused WHY OPTION...
    local status=0
    local -a prefix=(setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace)
    run 4 "${SOLO[@]}" --mca coll_solo_verbose 1 --mca btl_vader_single_copy_mechanism none "${@:2}" \
        "$build/tests/mpi_solo" "${SHORT[@]}" --untraceable 2 || status=1
    ((status == 0)) && all_right && grep -qE "no single copy \(process_vm_readv: $1\); " "$tmp/err" &&
        ! grep -qE '[1-9][0-9]* bytes moved by single copy' "$tmp/err"
}

# A kernel with Yama, as its file tells.
test_refused_by_yama() {
    printf '%s\n' '#define _GNU_SOURCE' '#include <dlfcn.h>' '#include <stdio.h>' '#include <string.h>' \
        'FILE *fopen(const char *path, const char *mode) {' \
        '    FILE *(*next)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");' \
        '    return NULL == strstr(path, "ptrace_scope") ? next(path, mode) : fmemopen("1\n", 2, "r"); }' >"$tmp/yama.c"
    gcc -shared -fPIC -o "$tmp/yama.so" "$tmp/yama.c" -ldl 2>"$tmp/err" || return 1
    test_refused '.*; /proc/sys/kernel/yama/ptrace_scope is 1, with 0 it is permitted' -x LD_PRELOAD="$tmp/yama.so"
}

# ---------------------------------------------------------------- other processes

# Ranks in a PID namespace each, as in containers: /proc/1/fd of one is another one's.  vader does not bear that.
test_strangers() {
    run 3 "${SOLO[@]}" --mca coll_solo_verbose "$1" --mca btl tcp,self \
        unshare --pid --fork --kill-child --mount-proc "$build/tests/mpi_solo" --strangers && all_right &&
        said "$1" 'coll:solo: MPI_COMM_WORLD .*no shared memory \(process 1 is not rank 0 here' && said "$1" coll:solo:
}

# ---------------------------------------------------------------- signals

test_interrupted() {
    gcc -shared -fPIC -o "$tmp/interrupted.so" "$HERE/interrupted.c" -ldl 2>"$tmp/err" || return 1
    run 3 "${SOLO[@]}" --mca coll_solo_verbose 1 --mca coll_solo_segment_size 256K -x LD_PRELOAD="$tmp/interrupted.so" "$build/tests/mpi_solo" \
        "${SHORT[@]}" && all_right && said 0 'no shared memory' && said 0 'no single copy' &&
        [[ $(bytes_moved single) -gt 0 ]] && said 3 '^interrupted: '
}

# ---------------------------------------------------------------- limits

# A control group of its own, as the files say that the components look at.
limited() {                         # limited LINE-OF-FILE... run ...
    local folder=$tmp/limits line
    rm -rf -- "$folder"
    mkdir -p "$folder/proc/self" "$folder/sys/fs/cgroup"
    echo '0::/' >"$folder/proc/self/cgroup"
    for line in "$@"; do
        [[ $line == *=* ]] || break
        echo "${line#*=}" >"$folder/sys/fs/cgroup/${line%%=*}"
        shift
    done
    LIMITS_ROOT=$folder "$@"
}

preload_limits() {
    [[ -e $tmp/fake_limits.so ]] || gcc -shared -fPIC -o "$tmp/fake_limits.so" "$HERE/fake_limits.c" -ldl 2>"$tmp/err"
}

left_in_group() {                   # left_in_group BYTES: in a memory control group, which four ranks are in
    preload_limits && limited memory.max=$((100000 + $1)) memory.current=100000 run 4 "${SOLO[@]}" --mca coll_solo_verbose 1 \
        -x LIMITS_ROOT -x LD_PRELOAD="$tmp/fake_limits.so" "$build/tests/mpi_solo" "${SHORT[@]}" && all_right
}

test_room() {
    left_in_group 100000000 && said 0 'no shared memory' &&
        bytes=$(sed -nE 's/.*MPI_COMM_WORLD .* ([0-9]+) bytes of shared memory.*/\1/p' "$tmp/err") && [[ -n $bytes ]]
}

# It would fit, and take more than half of what is left.
test_no_room() {
    left_in_group $((bytes * 3 / 2)) && said 0 'MPI_COMM_WORLD .* bytes (of|moved)' &&
        grep -q "no shared memory ($bytes bytes are wanted, the memory control group has $((bytes * 3 / 2)) left)" "$tmp/err"
}

crowded() {                         # crowded YES|NO COMMUNICATOR: as it was found there
    local price='which takes'
    [[ $1 == no ]] || price='more ranks than cores'
    grep -qE "coll:solo: $2 .*single copy, $price" "$tmp/err"
}

test_quota() {                      # test_quota QUOTA YES|NO
    preload_limits && limited cpu.max="$1" run 2 "${SOLO[@]}" --mca coll_solo_verbose 1 -x LIMITS_ROOT \
        -x LD_PRELOAD="$tmp/fake_limits.so" "$build/tests/mpi_check" --solo --calls 5 && all_right &&
        crowded "$2" MPI_COMM_WORLD
}

test_processors() {                 # test_processors LIST YES|NO: for two ranks
    local -a prefix=(taskset --cpu-list "$1")
    run 2 "${SOLO[@]}" --mca coll_solo_verbose 1 "$build/tests/mpi_check" --solo --calls 5 && all_right &&
        crowded "$2" MPI_COMM_WORLD
}

# The runtime binds each rank, so what one may use does not tell of the others.
test_bound() {                      # test_bound YES|NO OPTION...: for two ranks
    local -a binding=("${@:2}")
    run 2 "${SOLO[@]}" --mca coll_solo_verbose 1 "$build/tests/mpi_check" --solo --calls 5 && all_right &&
        crowded "$1" MPI_COMM_WORLD
}

# By something else than the runtime, as by Slurm or numactl: nobody tells that what a rank may use is its own.
test_bound_by_others() {
    local -a binding=(--bind-to none)
    t_bind_each "$tmp/its_own"
    run 2 "${SOLO[@]}" --mca coll_solo_verbose 1 "$tmp/its_own" "$build/tests/mpi_check" --solo --calls 5 && all_right &&
        crowded no MPI_COMM_WORLD
}

# Two ranks have a core each, until two more come: then communicators of both jobs are crowded, and of the second alone.
test_two_jobs() {
    local -a prefix=(taskset --cpu-list "$1")
    run 2 "${SOLO[@]}" --mca coll_solo_verbose 1 "$build/tests/mpi_comms" --spawn && all_right &&
        crowded no MPI_COMM_WORLD && crowded yes '.*: 4 ranks in' && ! crowded no '.*: 4 ranks in' &&
        crowded yes '.*DUP FROM 0 .*: 2 ranks in'
}

# ---------------------------------------------------------------- late

# It has no call for it.
test_never_sleeps() {
    nm --dynamic --undefined-only "$build/components/mca_coll_solo.so" >"$tmp/out" && grep -q opal_progress "$tmp/out" &&
        ! grep -iE 'sleep|poll|select|wait|pause' "$tmp/out"
}

# ---------------------------------------------------------------- killed

start_forever() {
    : >"$tmp/out"                   # here: the job may begin later than we look
    timeout -s KILL "$LIMIT" mpirun "${root[@]}" --oversubscribe --bind-to none -n 4 "${SOLO[@]}" \
        "$build/tests/mpi_solo" --forever </dev/null >"$tmp/out" 2>"$tmp/err" &
    job=$!
    t_eventually grep -q running "$tmp/out" || return
    mapfile -t ranks < <(pgrep -xf -- "$build/tests/mpi_solo --forever")
    ((${#ranks[@]} == 4))
}

gone() {                            # all ranks
    local rank
    for rank in "${ranks[@]}"; do
        [[ ! -e /proc/$rank ]] || return
    done
}

# Nothing has a name while it runs, so nothing can be left.
test_nameless() {
    start_forever && [[ $(grep -c 'rw-s.*memfd:coll_solo (deleted)' "/proc/${ranks[1]}/maps") -ge 1 ]] &&
        [[ -z $(find /dev/shm "${TMPDIR:-/tmp}"/ompi.* -name '*coll_solo*' -newer "$tmp" 2>/dev/null) ]]
}

test_one_killed() {
    kill -KILL "${ranks[2]}" && t_eventually gone && wait "$job"
    job=''
    ((${#ranks[@]} == 4)) && t_eventually gone
}

test_all_killed() {
    start_forever && kill -KILL "${ranks[@]}" && t_eventually gone || return 1
    wait "$job"
    job=''
    [[ -z $(find /dev/shm "${TMPDIR:-/tmp}"/ompi.* -name '*coll_solo*' -newer "$tmp" 2>/dev/null) ]]
}

# ---------------------------------------------------------------- main

command -v mpirun >/dev/null || { echo "1..0 # SKIP no mpirun"; exit 77; }
for folder in ${BUILD:+"$BUILD"} . .. "$HERE/.."; do
    if [[ -e $folder/components/mca_coll_solo.so && -x $folder/tests/mpi_solo && -x $folder/tests/mpi_check &&
        -x $folder/bench/han_bench ]]; then
        build=$(realpath -- "$folder")
        break
    fi
done
[[ -n ${build:-} ]] || { echo "test_solo.sh: no build with components/ and tests/mpi_{check,solo}: run make check-mpi" >&2; exit 2; }
prefix=() root=() binding=(--bind-to none)
((EUID != 0)) || root=(--allow-run-as-root)
export OMPI_MCA_mca_base_component_path=$build/components:SYS_DEFAULT

t_check "a communicator of few short calls has no shared memory" test_begins no 8
t_check "one of long calls has some" test_begins yes 64K
t_check "--mca coll_solo_priority -1 switches it off" test_unused --mca coll_solo_priority -1
t_check_all "below coll/tuned it does nothing" test_unused --mca coll_solo_priority 20
t_check "--mca coll_solo_start 0: all its collectives go through it" test_used
t_check "it says nothing unless asked" test_silent
binding=(--bind-to socket:overload-allowed)
t_check "ranks on two sockets, one after another, are two groups" test_groups socket
t_check "ranks on two sockets, filled one by one, are two groups" test_groups slot
t_check "4 MB bcast, two groups: each byte crosses once" test_crosses $((3 << 22)) bcast 4M
t_check "4 MB allreduce, two groups: operands and results cross once" test_crosses $((3 * 12 << 20)) allreduce 4M
t_check "1 MB allgather, two groups: each block crosses once" test_crosses $((3 * 4 << 20)) allgather 1M
binding=(--bind-to none)
t_check "4 MB bcast, 2 ranks: each byte moves once" test_moves 2 $((3 << 22)) 0 bcast
t_check "4 MB bcast, 4 ranks: each byte moves once for each receiver" test_moves 4 $((9 << 22)) 0 bcast
t_check "4 MB allreduce, 4 ranks: each rank reads 3/4 of its slice's operands and 3/4 of the result" \
    test_moves 4 $((3 * 4 * (3 + 3) * (1 << 20))) 0 allreduce --mca coll_solo_allreduce_algorithm single_copy
t_check "4 MB bcast, 4 ranks, without single copy: into shared memory, and out of it for each receiver" \
    test_moves 4 0 $((12 << 22)) bcast --mca coll_solo_single_copy off
t_check "where a rank names another length, single copies write nothing behind a buffer" test_unequal 3
binding=(--bind-to socket:overload-allowed)
for odd in 0 2 3; do                # who leads the group that the root is not in, who follows there, and who is in the root's
    t_check "the same with two groups, rank $odd" test_unequal $odd --mca hwloc_base_topo_file "$HERE/two_sockets.xml" \
        --map-by socket
done
binding=(--bind-to none)
if (($(nproc) > 1)); then
    t_check "what single copies cost is measured, and decides" test_price
    t_check "where there are none, they are dear" test_dear
else
    t_skip "what single copies cost is measured, and decides" "one core"
fi
t_check "a rank without free file descriptors: one message, all fall back" test_without_memory '/proc/' --no-files 2
t_check "rank 0 without free file descriptors: one message, all fall back" \
    test_without_memory 'memfd_create' --no-files 0
t_check "a rank that may write no large files: one message, all fall back" test_without_memory 'ulimit' --no-space 3
t_check_all "rank 0 that may write no large files: one message, all fall back" test_without_memory 'ulimit' --no-space 0
t_check "more communicators than coll_solo_max_memory has room for: each process says so at most once" test_too_many
t_check "coll_solo_single_copy off is obeyed, and said at verbose level 1" test_single_copy_off
if ((EUID == 0)) && command -v setpriv >/dev/null; then
    t_check "where the system refuses single copies, it is said at verbose level 1, and all is copied" test_refused ".*"
    t_check "where a kernel with Yama refuses them, its file is named" test_refused_by_yama
else
    t_skip "where the system refuses single copies, it is said at verbose level 1, and all is copied" "not root, or no setpriv"
    t_skip "where a kernel with Yama refuses them, its file is named" "not root, or no setpriv"
fi
if ((EUID == 0)); then
    t_check_all "ranks that do not see each other: nothing is written to the files of other processes" test_strangers 0
    t_check "ranks that do not see each other: at verbose level 1 it is said" test_strangers 1
else
    t_skip "ranks that do not see each other" "not root"
fi
t_check "system calls that signals interrupt or cut short are gone on with" test_interrupted
bytes=''
t_check "a memory control group with room for it" test_room
t_check "a memory control group without room for it: one message, and the fallbacks" test_no_room
mapfile -t processors < <(t_processors)
t_check "two ranks with the time of one processor are crowded" test_quota '100000 100000' yes
t_check "two ranks on one processor are crowded" test_processors "${processors[0]}" yes
t_check "two ranks bound to one core are crowded" \
    test_bound yes --cpu-set "${processors[0]}" --bind-to core:overload-allowed
if ((${#processors[@]} > 1)); then
    t_check_all "two ranks with the time of two processors are not" test_quota '200000 100000' no
    t_check_all "two ranks on two processors are not" test_processors "${processors[0]},${processors[1]}" no
    t_check "two ranks bound to a core each are not" test_bound no --bind-to core
    t_check "two ranks that something else has bound to a processor each are not" test_bound_by_others
    t_check "two jobs with two ranks each on two processors are" test_two_jobs "${processors[0]},${processors[1]}"
else
    t_skip "ranks with a processor each" "one processor"
fi
t_check "who waits does not sleep: what others want of him goes on" test_never_sleeps
t_check "its memory has no name in any file system" test_nameless
t_check "a rank is killed: the others end" test_one_killed
t_check "all are killed: nothing is left" test_all_killed

echo "1..$count"
exit "$failed"
