#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of cluster/vcluster: what a user of it sees, and that nothing stays
# behind.  Exit code 0 pass, 1 fail, 77 the machine allows no virtual nodes.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

srcdir=${srcdir:-$(dirname -- "${BASH_SOURCE[0]}")}
VCLUSTER=$(realpath -- "${VCLUSTER:-$srcdir/../cluster/vcluster}")
PING_MB=4

# Two cluster names that nobody else uses; both are found in the command line
# of every process that belongs to them.
A=ta$$
B=tb$$
tmp=$(mktemp -d)
# Unprivileged users read the programs in there.
chmod 755 "$tmp"
# shellcheck source=tests/tap.sh
. "$srcdir/tap.sh"
t_notes=("$tmp/out" "$tmp/err")

# ---------------------------------------------------------------- helpers

# Runs vcluster under a time limit: standard output in $tmp/out, messages in $tmp/err.
vc() {
    timeout "$LIMIT" "$VCLUSTER" "$@" >"$tmp/out" 2>"$tmp/err"
}

# vcluster and what it reads, for everybody.
copy_vcluster() {                   # copy_vcluster FOLDER
    install -D -m 755 "$VCLUSTER" "$1/cluster/vcluster" &&
        install -D -m 644 "$(dirname -- "$VCLUSTER")/../tests/options.sh" "$1/tests/options.sh"
}

# Whether a process has WORD in its command line.  The word is in a file so
# that grep does not find itself; with -q, processes that end meanwhile are no
# error.
t_runs() {
    echo "$1" >"$tmp/word"
    grep -qsaFf "$tmp/word" /proc/[0-9]*/cmdline
}

t_step() {                          # t_step WHAT COMMAND...: says which step failed
    local what=$1
    shift
    "$@" || { echo "# failed: $what"; return 1; }
}

t_not() {
    ! "$@"
}

clean_up() {
    "$VCLUSTER" down --name "$A" >/dev/null 2>&1
    "$VCLUSTER" down --name "$B" >/dev/null 2>&1
    rm -rf -- "$tmp"
}
trap clean_up EXIT

# Where each rank runs, in the order of the ranks: "0 1 2 3 0 1" are node numbers.
placement() {                       # placement EXPECTED run-options...
    local expected=$1
    shift
    # shellcheck disable=SC2016
    vc run --name "$A" "$@" -- sh -c 'echo "$OMPI_COMM_WORLD_RANK $(hostname)"' || return 1
    [[ $(sort -n "$tmp/out" | sed "s/^[0-9]* $A-n//" | tr '\n' ' ') == "$expected " ]]
}

# Nothing of cluster NAME is left: no folder, no process.
nothing_left() {
    [[ ! -e $base/$1 ]] && ! t_runs "$1"
}

# Names of the interfaces and network namespaces of the machine.
host_network() {
    ip -o link | cut -d: -f2
    ip netns list
}

# Files of cluster NAME outside its folder: others may run MPI programs, too.
shared_files() {
    find /dev/shm "${TMPDIR:-/tmp}" -maxdepth 1 -name "*$1*" 2>/dev/null
}

# ---------------------------------------------------------------- tests

test_bad_input() {                  # test_bad_input WANTED-IN-MESSAGE arguments...
    local wanted=$1 status=0
    shift
    vc "$@" || status=$?
    ((status == 2)) && [[ $(wc -l <"$tmp/err") == 1 && $(<"$tmp/err") == "vcluster: "* ]] &&
        grep -q -- "$wanted" "$tmp/err" && [[ ! -e $base/$B ]]
}

test_all_bad_input() {
    local -a cases=(
        "wanted up, run, check, status, down|"
        "unknown command 'fly'|fly"
        "option '--colour' is unknown|up --name $B --colour"
        "option '--nodes' needs a value|up --name $B --nodes"
        "expected a number from 1 to 200|up --name $B --nodes 0"
        "expected a number from 1 to 200|up --name $B --nodes 201"
        "expected a number from 1 to 200|up --name $B --nodes four"
        "expected a letter|up --name ../x"
        "expected the number of a process|up --name $B --owner x"
        "expected the number of a process|up --name $B --owner 0"
        "expected a letter|down --name ../x"
        "has 4: wanted one number, or 4|run --name $A --ppn 1,2,3 -- true"
        "--ppn '0'|run --name $A --ppn 0 -- true"
        "--ppn '1,,2,3'|run --name $A --ppn 1,,2,3 -- true"
        "--ppn '1,2,3,'|run --name $A --ppn 1,2,3, -- true"
        "expected slot or node|run --name $A --map core -- true"
        "--np '0'|run --name $A --np 0 -- true"
        "no program|run --name $A --np 1"
        "no program|run --name $A --"
        "no cluster '$B' is up|run --name $B -- true"
        "no cluster '$B' is up|check --name $B"
        "option '--fast' is unknown|check --fast"
        "option '--name' needs a value|check --name"
    )
    local line
    [[ -z $net ]] || cases+=("tc rejects the rate '5fast'|up --name $B --rate 5fast"
        "expected none, or a rate|up --name $B --rate 0")
    for line in "${cases[@]}"; do
        # shellcheck disable=SC2086
        t_check "bad input is refused: vcluster ${line#*|}" \
            test_bad_input "${line%%|*}" ${line#*|}
    done
}

test_missing_tool() {               # test_missing_tool TOOL: all others are there
    local tool status=0
    rm -rf "${tmp:?}/bin"
    mkdir "$tmp/bin"
    for tool in bash sh realpath unshare nsenter setsid flock mount hostname mkdir ip tc mpirun; do
        [[ $tool == "$1" ]] || ln -s "$(type -P "$tool")" "$tmp/bin/$tool"
    done
    PATH=$tmp/bin "$(type -P bash)" "$VCLUSTER" up --name "$B" >"$tmp/out" 2>"$tmp/err" || status=$?
    ((status == 2)) && grep -q "'$1' is missing" "$tmp/err" && [[ ! -e $base/$B ]]
}

test_other_folder() {               # the same name a second time, and --all
    local -x HAN_VCLUSTER_DIR=$tmp/other
    vc up --name "$A" --nodes 1 && vc down --all && [[ ! -e $tmp/other ]] || return 1
    unset HAN_VCLUSTER_DIR
    vc status --name "$A"
}

test_folder_with_blanks() {
    local status=0
    HAN_VCLUSTER_DIR="$tmp/a b" vc up --name "$B" || status=$?
    ((status == 2)) && [[ $(<"$tmp/err") == "vcluster: HAN_VCLUSTER_DIR: "*" has blanks: wanted a folder without" ]]
}

test_nothing_possible() {
    local status=0
    rm -rf "${tmp:?}/bin"
    mkdir "$tmp/bin"
    ln -s "$(type -P false)" "$tmp/bin/unshare"
    PATH=$tmp/bin:$PATH vc up --name "$B" || status=$?
    ((status == 77)) && [[ $(wc -l <"$tmp/err") == 1 && ! -e $base/$B ]]
}

test_status() {
    vc status --name "$A" && grep -q "^rate  *$1$" "$tmp/out" &&
        [[ $(grep -c "^$A-n[0-3] .* none$" "$tmp/out") == 4 ]]
}

test_status_shows_processes() {
    local pid status=1
    "$VCLUSTER" run --name "$A" --np 4 --map node -- sleep "77$$" >/dev/null 2>&1 &
    pid=$!
    if t_eventually t_four_nodes_busy; then
        status=0
    fi
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    return "$status"
}

t_four_nodes_busy() {
    vc status --name "$A" && [[ $(grep -c "^$A-n[0-3] .* [0-9][0-9 ]*$" "$tmp/out") == 4 ]]
}

test_no_cluster() {
    local status=0
    vc status --name "$B" || status=$?
    ((status == 1)) || return 1
    status=0
    vc down --name "$B" || status=$?
    ((status == 1))
}

test_up_twice() {
    local status=0
    vc up --name "$A" || status=$?
    ((status == 2)) && [[ $(wc -l <"$tmp/err") == 1 ]] && grep -q 'is up already' "$tmp/err" &&
        placement "0" --np 1
}

test_two_ups_at_once() {
    local i wins=0 pids=()
    for i in 1 2 3; do
        timeout "$LIMIT" "$VCLUSTER" up --name "$B" --nodes 2 >"$tmp/up$i" 2>&1 &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        ! wait "$i" || wins=$((wins + 1))
    done
    cat "$tmp"/up? >"$tmp/out"
    ((wins == 1)) && [[ $(grep -c 'is up already' "$tmp/out") == 2 ]]
}

test_side_by_side() {
    timeout "$LIMIT" "$VCLUSTER" run --name "$B" --ppn 2 -- hostname >"$tmp/b" 2>"$tmp/b.err" &
    local pid=$!
    placement "0 0 1 1 2 2 3 3" --ppn 2 && wait "$pid" &&
        [[ $(sort "$tmp/b" | tr '\n' ' ') == "$B-n0 $B-n0 $B-n1 $B-n1 " ]]
}

test_exit_code() {
    local status=0
    vc run --name "$A" --np 2 -- sh -c 'exit 7' || status=$?
    ((status == 7))
}

test_environment() {
    local OMPI_MCA_han_test=reached
    export OMPI_MCA_han_test
    # shellcheck disable=SC2016
    vc run --name "$A" --ppn 1 -- sh -c 'echo "$OMPI_MCA_han_test $PWD"' &&
        [[ $(grep -c "^reached $PWD$" "$tmp/out") == 4 ]]
}

test_option_wins() {
    # shellcheck disable=SC2016
    vc run --name "$A" --np 2 --mca btl self,tcp --map-by node -- sh -c 'echo "$OMPI_MCA_btl $(hostname)"' &&
        [[ $(sort "$tmp/out" | tr '\n' ' ') == "self,tcp $A-n0 self,tcp $A-n1 " ]]
}

# mpirun itself now and then warns that an agent was quicker than its parent.
test_streams() {
    # shellcheck disable=SC2016
    echo in | vc run --name "$A" --np 1 -- sh -c 'read -r x; echo "$x"; echo bad >&2' &&
        [[ $(<"$tmp/out") == in && $(grep -v 'setpgid.* failed in parent' "$tmp/err") == bad ]]
}

test_spaces() {
    local script="$tmp/a b/cluster/vcluster" status=0
    copy_vcluster "$tmp/a b" && cd "$tmp/a b" || return 1
    # shellcheck disable=SC2016
    VCLUSTER=$script vc up --name "$B" --nodes 2 &&
        VCLUSTER=$script vc run --name "$B" --ppn 1 -- sh -c 'echo "$PWD"' &&
        [[ $(grep -c "a b$" "$tmp/out") == 2 ]] &&
        VCLUSTER=$script vc down --name "$B" || status=1
    cd /
    return "$status"
}

build_ping() {
    cat >"$tmp/ping.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the best of three rates, in kB/s, from rank 0 to 1, then from 1 to 0. */
int main(int argc, char **argv)
{
    int rank, bytes = atoi(argv[1]) << 20;
    char *data = calloc(1, bytes);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int from = 0; from < 2; from++) {
        double best = 0;
        for (int i = 0; i < 3; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            if (rank == from) {
                MPI_Send(data, bytes, MPI_CHAR, 1 - from, 0, MPI_COMM_WORLD);
                MPI_Recv(data, 1, MPI_CHAR, 1 - from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(data, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(data, 1, MPI_CHAR, from, 1, MPI_COMM_WORLD);
            }
            double rate = bytes / (MPI_Wtime() - start) / 1000;
            if (rate > best) {
                best = rate;
            }
        }
        if (0 == rank) {
            printf("%d %.0f\n", from, best);
        }
    }
    MPI_Finalize();
    return 0;
}
END
    mpicc -o "$tmp/ping" "$tmp/ping.c" >"$tmp/out" 2>"$tmp/err"
}

test_rate() {                       # 200 Mbit/s are 23.9 MB/s of data in frames of 1514 bytes
    local from rate status=0
    vc run --name "$A" --np 2 --map node -- "$tmp/ping" "$PING_MB" || return 1
    [[ $(wc -l <"$tmp/out") == 2 ]] || return 1
    while read -r from rate; do
        echo "# link rate from node $from: $rate kB/s"
        ((rate > 0 && rate < 23900 * 103 / 100)) || status=1
    done <"$tmp/out"
    return "$status"
}

# On a busy machine links are slower than given; never faster.
test_check() {
    local status=0
    vc check --name "$A" || status=$?
    sed 's/^/# /' "$tmp/out"
    ((status < 2)) && ! grep -q 'give credit' "$tmp/err" &&
        awk -v name="$A" '$2 == "to" { seen[$1 $2 $3] = 1; if ($5 < 0.95 || $7 < 0.95) { fast = 1 } }
            /^all at once, the slowest / { together = $7 >= 0.95 }
            END {
                for (i = 0; i < 4; ++i) { links += (name "-n" i "to" name "-n" (i + 1) % 4) in seen }
                exit links != 4 || fast || !together
            }' "$tmp/out"
}

# A link that lets 256 KB pass at once carries messages of 64 KB a hundred times as fast as its 20 Mbit/s allow.
test_check_finds_credit() {
    local script=$tmp/credit/cluster/vcluster status=0
    copy_vcluster "$tmp/credit" && sed -i 's/^    echo $((FRAME_BYTES.*/    echo 262144/' "$script" || return 1
    VCLUSTER=$script vc up --name "$B" --nodes 2 --rate 20mbit &&
        VCLUSTER=$script vc status --name "$B" && grep -q '^bucket  *262144$' "$tmp/out" || return 1
    VCLUSTER=$script vc check --name "$B" || status=$?
    ((status == 1)) && grep -q '^vcluster: a message takes less than 0.95 of the bound on 2 of 2 links' "$tmp/err"
    status=$?
    vc down --name "$B" && return "$status"
}

# A node has the system's at first, which may be any.
test_congestion_control() {
    vc run --name "$A" --ppn 1 -- cat /proc/sys/net/ipv4/tcp_congestion_control &&
        [[ $(sort -u "$tmp/out") =~ ^(cubic|reno)$ && $(wc -l <"$tmp/out") == 4 ]]
}

# A link of 200 Mbit/s has a bucket of 4014 bytes: packets of two frames pass uncut.
test_packets() {
    vc run --name "$A" --ppn 1 -- ip -details link show dev eth0 &&
        [[ $(grep -c ' gso_max_segs 2 ' "$tmp/out") == 4 ]] &&
        vc status --name "$A" && grep -q '^bucket  *4014$' "$tmp/out"
}

test_check_without_links() {
    local status=0
    vc up --name "$B" --nodes 1 || return 1
    vc check --name "$B" || status=$?
    ((status == 2)) && grep -q 'has one node: no link to check' "$tmp/err"
    status=$?
    vc down --name "$B" && return "$status"
}

test_check_without_rate() {
    vc up --name "$B" --nodes 2 --rate none && vc check --name "$B" || return 1
    [[ $(grep -c " to $B-n[01] .* - .* -\$" "$tmp/out") == 2 ]] && grep -q '^no rate: nothing to compare with' "$tmp/out"
    local status=$?
    vc down --name "$B" && return "$status"
}

test_start_time() {
    local start=${EPOCHREALTIME/[.,]/}
    vc run --name "$A" -- "$1" || return 1
    echo "# 16 ranks of '$(basename "$1")' on 4 nodes took $(((${EPOCHREALTIME/[.,]/} - start) / 1000)) ms"
}

test_host_untouched() {
    host_network >"$tmp/out"
    cmp -s "$tmp/net.before" "$tmp/out"
}

# A killed run: its processes go, a second run of the same cluster stays.
test_killed_run() {                 # test_killed_run SIGNAL
    local pid other
    "$VCLUSTER" run --name "$A" --ppn 1 -- sleep "88$$" >/dev/null 2>&1 &
    other=$!
    # What a script starts with & ignores SIGINT, unless told otherwise.
    env --default-signal=INT "$VCLUSTER" run --name "$A" --ppn 2 -- \
        sh -c "touch /dev/shm/$A '$tmp/seen'; sleep 99$$" >/dev/null 2>&1 &
    pid=$!
    disown "$pid" "$other"          # the shell need not say that they were killed
    t_step "both run" t_eventually test -e "$tmp/seen" &&
        t_step "both run" t_eventually t_runs "88$$" &&
        kill -s "$1" "$pid" &&
        t_step "its processes end" t_eventually t_not t_runs "99$$" &&
        t_step "the other one stays" t_runs "88$$" &&
        t_step "no files stay" test -z "$(shared_files "$A")"
    local status=$?
    kill -KILL "$pid" "$other" 2>/dev/null
    rm -f "$tmp/seen"
    ((status == 0)) && t_step "the other one ends" t_eventually t_not t_runs "88$$" &&
        placement "0 1 2 3" --ppn 1
}

# What is only for process 1 of a namespace would end all processes, of root those of the machine: so it is tried where
# there are no others.
test_not_alone() {                  # test_not_alone COMMAND ARGUMENT...
    local status=0
    local -a user=()
    ((EUID == 0)) || user=(--user --map-root-user)
    # shellcheck disable=SC2016
    unshare "${user[@]}" --pid --fork --kill-child sh -c '"$@" 8</dev/null 9>&2; echo "exit code $?"' sh \
        "$VCLUSTER" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
    ((status == 0)) && [[ $(<"$tmp/out") == 'exit code 2' && $(wc -l <"$tmp/err") == 1 ]] &&
        grep -q "^vcluster: '$1' is what vcluster starts by itself" "$tmp/err"
}

test_owner() {
    local owner other=o$$
    sleep 600 &
    owner=$!
    vc up --name "$B" --nodes 1 --owner "$owner" && vc up --name "$other" --nodes 1 --owner $$ || return 1
    vc status --name "$B" && vc down --name "$other" || return 1
    { kill "$owner" && wait "$owner"; } 2>/dev/null
    vc up --name "$other" --nodes 1 --owner $$ || return 1
    grep -q "removed cluster '$B': the process that it was for is gone" "$tmp/err" && nothing_left "$B" &&
        vc down --name "$other"
}

test_killed_up() {
    local delay pid hits=0
    local -a delays=(0.02 0.06)
    ! t_all || delays=(0.01 0.02 0.03 0.04 0.05 0.06 0.08)
    for delay in "${delays[@]}"; do
        "$VCLUSTER" up --name "$B" --nodes 6 >/dev/null 2>&1 &
        pid=$!
        sleep "$delay"
        if kill -KILL "$pid" 2>/dev/null; then
            hits=$((hits + 1))
        fi
        wait "$pid" 2>/dev/null
        "$VCLUSTER" down --name "$B" >/dev/null 2>&1
        t_eventually nothing_left "$B" || return 1
    done
    # An `up` of many nodes is certainly killed in the middle.
    "$VCLUSTER" up --name "$B" --nodes 100 >/dev/null 2>&1 &
    pid=$!
    t_eventually test -e "$base/$B" || return 1
    kill -KILL "$pid" || return 1
    wait "$pid" 2>/dev/null
    echo "# $((hits + 1)) killed"
    t_eventually nothing_left "$B"
}

test_broken_leftover() {
    local holder status=0
    vc up --name "$B" --nodes 2 || return 1
    vc status --name "$B"
    holder=$(awk '/^holder/ { print $2 }' "$tmp/out")
    kill -KILL "$holder"
    t_eventually test ! -d "/proc/$holder/fd" || return 1
    vc status --name "$B" || status=$?
    ((status == 1)) && vc up --name "$B" --nodes 2 && grep -q 'broken' "$tmp/err" &&
        vc down --name "$B" && nothing_left "$B"
}

test_down_ends_runs() {
    local pid
    # In a subshell, which keeps its shell's word about the kill to itself.
    ("$VCLUSTER" run --name "$A" --ppn 2 -- sleep "99$$" || exit 1) >/dev/null 2>&1 &
    pid=$!
    t_eventually t_runs "99$$" || return 1
    vc down --name "$A" || return 1
    ! wait "$pid" || return 1
    t_eventually nothing_left "$A" && t_not t_runs "99$$" || return 1
    [[ -z $(shared_files "$A") ]]
}

# As an unprivileged user; the paths above ours may be closed to others, so
# the script is copied.
as_nobody() {
    timeout "$LIMIT" setpriv --reuid=65534 --regid=65534 --clear-groups \
        env -u XDG_RUNTIME_DIR -u HAN_VCLUSTER_DIR -u HAN_VCLUSTER_MODE -u TMPDIR HOME=/ "$tmp/copy/cluster/vcluster" "$@" >"$tmp/out" 2>"$tmp/err"
}

test_names_mode() {
    local status=0
    as_nobody up --name "$B" --nodes 3
    status=$?
    ((status != 77)) || return 77
    ((status == 0)) && [[ $(wc -l <"$tmp/err") == 1 ]] &&
        grep -q 'no network namespaces here (not root)' "$tmp/err" &&
        as_nobody status --name "$B" && grep -q '^mode  *names$' "$tmp/out" &&
        as_nobody run --name "$B" --ppn 2,1,1 --map node -- hostname &&
        [[ $(sort "$tmp/out" | tr '\n' ' ') == "$B-n0 $B-n0 $B-n1 $B-n2 " ]] || status=1
    if ((status == 0)) && [[ -x $tmp/ping ]]; then
        as_nobody run --name "$B" --ppn 1 --np 2 -- "$tmp/ping" 1 || status=1
    fi
    as_nobody down --name "$B" || status=1
    t_eventually t_not t_runs "$B" && [[ ! -e /tmp/han-vcluster-65534/$B ]] || status=1
    return "$status"
}

# ---------------------------------------------------------------- main

command -v mpirun >/dev/null || { echo "1..0 # SKIP no mpirun"; exit 77; }
: >"$tmp/net.before"
net=''
cd / || exit 1

vc --help && vc up --help && vc run --help && vc check --help && vc status --help && vc down --help
t_result $? "every command explains itself"
[[ ! -x $(type -P ip) ]] || host_network >"$tmp/net.before"
status=0
vc up --name "$A" || status=$?
if ((status == 77)); then
    echo "1..0 # SKIP $(<"$tmp/err")"
    exit 77
fi
t_result "$status" "up makes a cluster"
vc status --name "$A"
base=$(dirname -- "$(awk '/^state/ { print $2 }' "$tmp/out")")
rate=none
if grep -q '^mode  *net$' "$tmp/out"; then
    net=yes
    rate=200mbit
fi
t_check "status shows nodes and rate" test_status "$rate"
t_check "status shows what runs on each node" test_status_shows_processes
t_check "status and down of an unknown cluster say so" test_no_cluster
t_check "--map slot fills node after node" placement "0 0 0 1 1 1 2 2 2 3 3 3" --ppn 3 --map slot
t_check "--map node deals in turn" placement "0 1 2 3 0 1 2 3" --ppn 2 --map node
t_check "uneven list, --map slot" placement "0 0 0 0 0 1 1 1 2 2 2 2 3" --ppn 5,3,4,1
t_check "uneven list, --map node" placement "0 1 2 3 0 1 2 0 1 2 0 2 0" --ppn 5,3,4,1 --map node
t_check_all "--np stops earlier" placement "0 0 1" --ppn 2 --np 3
t_check_all "--np above the sum starts again" placement "0 1 2 3 0 1" --ppn 1 --np 6 --map node
t_check "the exit code of the program passes" test_exit_code
t_check "OMPI_MCA_ variables and the folder reach the ranks" test_environment
t_check "an option of mpirun wins over the defaults" test_option_wins
t_check "standard streams pass through" test_streams
t_check_all "16 ranks start" test_start_time "$(type -P true)"
if ! build_ping; then
    t_result 1 "the program that times links can be compiled"
elif [[ -z $net ]]; then
    t_skip "links are no faster than the given rate, in both directions" "no networks here"
else
    t_check "links are no faster than the given rate, in both directions" test_rate
fi
if [[ -n $net ]]; then
    t_check "check measures each link and all at once, and finds none faster than given" test_check
    t_check_all "check finds credit after a pause" test_check_finds_credit
    t_check_all "check without a rate compares with nothing" test_check_without_rate
    t_check "nodes send by cubic or reno" test_congestion_control
    t_check "nodes send packets that their links need not cut" test_packets
    t_check "the machine's own network is not touched" test_host_untouched
else
    t_skip "check measures each link and all at once, and finds none faster than given" "no networks here"
    t_skip "check finds credit after a pause" "no networks here"
    t_skip "check without a rate compares with nothing" "no networks here"
    t_skip "nodes send by cubic or reno" "no networks here"
    t_skip "nodes send packets that their links need not cut" "no networks here"
    t_skip "the machine's own network is not touched" "no networks here"
fi
t_check "check of a single node says that there is no link" test_check_without_links
t_check "up of a cluster that is up fails and leaves it alone" test_up_twice
test_all_bad_input
t_check "of several ups at once, one wins" test_two_ups_at_once
t_check "two clusters work side by side" test_side_by_side
t_check "down removes one cluster" vc down --name "$B"
t_check "nothing of it is left" nothing_left "$B"
t_check "a path with spaces works" test_spaces
t_check "clusters known in another folder are apart" test_other_folder
t_check "a folder with blanks is refused" test_folder_with_blanks
t_check "a missing mpirun is named" test_missing_tool mpirun
if [[ -n $net ]]; then
    t_check "a missing ip is named" test_missing_tool ip
    t_check "a missing tc is named" test_missing_tool tc
fi
t_check "where nothing is possible, up says so with exit code 77" test_nothing_possible
t_check "kill -9 of a run ends that run, and only that" test_killed_run KILL
t_check_all "SIGINT of a run ends that run, and only that" test_killed_run INT
t_check "kill -9 of an up leaves nothing" test_killed_up
t_check "a cluster whose owner is gone is removed by the next up, and no other" test_owner
t_check "hold ends nobody who has called it" test_not_alone hold "$tmp/none" "$B" 1 names 1 none 0
t_check "init ends nobody who has called it" test_not_alone init "$tmp/none" "$B" names slot 1 1 /
t_check "a broken leftover is replaced, and up says so" test_broken_leftover
if ((EUID == 0)) && command -v setpriv >/dev/null; then
    copy_vcluster "$tmp/copy"
    status=0
    test_names_mode || status=$?
    if ((status == 77)); then
        t_skip "without root, nodes have names" "not allowed on this machine"
    else
        t_result "$status" "without root, nodes have names"
    fi
else
    t_skip "without root, nodes have names" "the whole test ran without root"
fi
t_check "down ends what runs and leaves nothing" test_down_ends_runs
[[ -z $net ]] || t_check "the machine's network is as before" t_eventually test_host_untouched

echo "1..$count"
exit "$failed"
