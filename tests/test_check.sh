#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# check.sh itself: what it prints when something fails, two of them at a time,
# and what stays when one is killed.  It works on copies of this folder, built
# as it is, in a mount namespace where /tmp, /var/tmp and /dev/shm are empty: this
# folder may be in one of them, and is not looked at after that.
# Exit code 0 pass, 1 fail, 77 the machine allows no such namespace.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

TOP=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/..")
readonly TOP
# shellcheck source=tests/tap.sh
. "$TOP/tests/tap.sh"
# shellcheck source=tests/sources.sh
. "$TOP/tests/sources.sh"

# ---------------------------------------------------------------- copies

# A folder that every Debian has, that is not in use here.
choose_room() {
    for room in /mnt /media /srv; do
        [[ $TOP/ == "$room"/* || ! -d $room ]] || return 0
    done
    return 1
}

# Two of the jobs, short ones, are enough to have clusters, files and processes; what is built need not be looked at again.
copy_to() {                         # copy_to FOLDER
    mkdir "$1"
    built_copy "$TOP" "$1" || return
    if built_can_move "$1"; then
        sed -i 's/^    make -C "\$build.*/    :/' "$1/check.sh"
    else
        rm -rf -- "$1/build"
    fi
    sed -i -E '/^check, defaults, by MAP/!{/^[^#]*\| *(quick|usual|all)/d}; s/--calls [0-9]+ --rounds [0-9]+/--calls 2 --rounds 5/' \
        "$1/tests/run.sh"
}

set_up() {
    local folder
    copy_to "$room/one" && { ! t_all || copy_to "$room/two"; } || return
    cd "$room" || return
    for folder in /tmp /var/tmp /dev/shm; do
        mount -t tmpfs -o mode=1777 tmpfs "$folder" || return
    done
    unset TMPDIR HAN_VCLUSTER_DIR
    t_notes=("$room/one.out" "$room/two.out")
}

start() {                           # start NAME: sets job, whose child is check.sh
    timeout "$LIMIT" "$room/$1/check.sh" --quick --only 'MPI tests' >"$room/$1.out" 2>&1 </dev/null &
    job=$!
}

# ---------------------------------------------------------------- what stays

# Processes of a copy, by their folder or their command line; not this one, which works in the folder above.
processes_of() {                    # processes_of NAME
    local process
    {
        grep -lsaF "$room/$1/" /proc/[0-9]*/cmdline
        for process in /proc/[0-9]*; do
            [[ ! $process/cwd -ef $room/$1/build/tests ]] || echo "$process/cwd"
        done
    } | cut -d/ -f3 | sort -u
}

no_processes_of() {                 # no_processes_of NAME
    [[ -z $(processes_of "$1") ]]
}

ranks_run() {                       # ranks_run NAME
    pgrep -f "^$room/$1/build/tests/mpi_|^$room/$1/tests/mpi_" >/dev/null
}

networks_of() {                     # networks_of PROCESS...
    local process
    for process; do
        readlink "/proc/$process/ns/net"
    done | sort -u
}

# What is in use now, of networks that were there before.
networks_left() {                   # networks_left NETWORKS
    comm -12 <(echo "$1") <(readlink /proc/[0-9]*/ns/net | sort -u) | grep -vxF "$(readlink /proc/$$/ns/net)"
}

no_networks_left() {
    [[ -z $(networks_left "$1") ]]
}

files_outside() {                   # but for what is in the copies' build/
    find /tmp /var/tmp /dev/shm -mindepth 1
    find "$room" -path '*/build' -prune -o -type f -print | grep -v '\.out$' | sort
}

# ---------------------------------------------------------------- tests

test_two_at_once() {
    local first status=0
    start one
    first=$job
    start two
    wait "$first" || status=1
    wait "$job" || status=1
    [[ $(tail -n 1 "$room/one.out") == "$(tail -n 1 "$room/two.out")" ]] &&
        [[ $(tail -n 1 "$room/one.out") =~ ^[0-9]{2,}\ passed,\ 0\ failed,\ 0\ skipped$ ]] || status=1
    return "$status"
}

# With jobs that would take hours: what stays would be seen.
make_long() {                       # make_long NAME
    sed -i 's/--rounds [0-9]*/--rounds 100000000/' "$room/$1/tests/run.sh"
    grep -q -- '--rounds 100000000' "$room/$1/tests/run.sh"
}

test_killed() {                     # test_killed SIGNAL
    local before networks
    before=$(files_outside)
    start one
    t_eventually ranks_run one || return
    # shellcheck disable=SC2046  # numbers
    networks=$(networks_of $(processes_of one))
    [[ $(wc -l <<<"$networks") -gt 3 ]] || { echo 'no networks of nodes' >>"$room/one.out"; return 1; }
    kill -s "$1" "$(pgrep -P "$job")"
    { wait "$job"; } 2>/dev/null
    t_eventually no_processes_of one || { processes_of one >>"$room/one.out"; return 1; }
    t_eventually no_networks_left "$networks" || { networks_left "$networks" >>"$room/one.out"; return 1; }
    diff <(echo "$before") <(files_outside) >>"$room/one.out"
}

# One at a time in a folder: they would build in one another's way.
test_same_folder() {
    local status=0
    start one
    t_eventually ranks_run one
    "$room/one/check.sh" --only han_rules >"$room/two.out" 2>&1 || status=$?
    kill "$job"
    { wait "$job"; } 2>/dev/null
    ((status == 2)) && [[ $(<"$room/two.out") == 'check.sh: another check is at work in this folder '* ]]
}

# A test that fails: it and its reason are listed, and the command that repeats it does.
test_failure() {
    local again
    sed -i 's/mpi_check /mpi_check --nonsense /' "$room/one/tests/run.sh"
    start one
    ! wait "$job" || return
    again=$(sed -n '/^again:$/,/^$/ s/^  //p' "$room/one.out" | head -n 1)
    grep -q "^failed:$" "$room/one.out" && [[ $again == tests/run.sh\ --build\ build\ --only\ * ]] || return
    (cd "$room/one" && bash -c "$again") >"$room/two.out" 2>&1
    (($? == 1)) && grep -q "nonsense isn't known" "$room/two.out"
}

# steady.sh with a check.sh that does this.
steady() {                          # steady RUNS COMMANDS: sets status
    mkdir -p "$room/steady/tests" "$room/steady/build/check"
    cp "$room"/one/tests/{steady,job,options}.sh "$room/steady/tests"
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$room/steady/check.sh"
    chmod +x "$room/steady/check.sh"
    status=0
    "$room/steady/tests/steady.sh" "$1" >"$room/one.out" 2>&1 || status=$?
}

test_steady() {
    local status runs=$room/steady/runs
    steady 1 'echo 3 passed, 0 failed, 0 skipped' && ((status == 0)) &&
        [[ $(tail -n 1 "$room/one.out") == 'no test failed in 1 runs' ]] || return
    steady 3 "echo >>'$runs'; [[ \$(wc -l <'$runs') == 3 ]] || { echo 3 passed, 0 failed, 0 skipped; exit 0; }
        printf 'failed:\n  solo: 7 - it ends\n\n2 passed, 1 failed, 0 skipped\n'; exit 1" && ((status == 1)) &&
        [[ $(tail -n 1 "$room/one.out") =~ ^\ *1\ solo:\ it\ ends$ ]] || return
    steady 2 "echo check.sh: line 1: what: unbound variable; exit 1" && ((status == 2)) || return
    steady 2 "echo 0 passed, 0 failed, 0 skipped" && ((status == 2)) || return
    steady 2 "echo 3 passed, 0 failed, 0 skipped; exit 1" && ((status == 2))
}

# Where the first command still writes when grep ends, it fails: see t_finds in tap.sh.
test_pipes() {
    grep -nE '(^|[^|])\| *grep -[a-zA-Z]*q' "$room"/one/tests/*.sh
    (($? == 1))
}

# ---------------------------------------------------------------- main

if [[ ${1:-} != --inside ]]; then
    if ((EUID != 0)) || ! unshare --mount true 2>/dev/null; then
        echo '1..0 # SKIP no mount namespaces here (not root)'
        exit 77
    fi
    exec unshare --mount "$TOP/tests/test_check.sh" --inside
fi
choose_room && mount -t tmpfs tmpfs "$room" || { echo '1..0 # SKIP no place for copies here'; exit 77; }
set_up || { echo 'test_check.sh: the copies cannot be made' >&2; exit 1; }
t_check 'no pipe of a test ends with grep -q' test_pipes
t_check 'steady.sh tells what has failed, and whether each run came to its end' test_steady
t_check_all 'two checks at a time, in two folders, pass' test_two_at_once
t_check 'there are jobs that take hours' make_long one
t_check 'a check killed by KILL leaves no process, no network and no file' test_killed KILL
t_check_all 'a check ended by TERM leaves no process, no network and no file' test_killed TERM
t_check 'a second check in the same folder is refused' test_same_folder
t_check 'what has failed is listed, with the command that repeats it' test_failure
echo "1..$count"
exit "$failed"
