#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Everything that must hold before a change is good: see --help.

set -euo pipefail

TOP=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly TOP
# shellcheck source=tests/packages.sh
. "$TOP/tests/packages.sh"
# shellcheck source=tests/choices.sh
. "$TOP/tests/choices.sh"
readonly CFLAGS_GCC='-g -O2 -Werror'

# name | depth | limit in seconds | command; in this order, each in the build folder.
# The depth is the least with which the step is done (tests/choices.sh).
# A command prints a line for each behaviour ("ok 1 - ...", "not ok 2 - ...",
# "ok 3 - ... # SKIP why"), or none: then its exit code is one.  With "&" in
# front it runs beside the steps that follow, until the next of its kind: no test
# needs a quiet machine, and each of two takes turns where the other one waits.  The
# MPI tests have the machine for themselves: ranks that wait for messages look for
# them all the time, and two such jobs take longer together than one after the other.
# A limit is for what hangs where no command's own limit ends it: on two cores that
# had two checks, three loops and a walk through memory, steps took 1340 s.
readonly STEPS='
clang -Wall -Wextra -Werror | quick | 7200 | & build_clang
gcc -Wall -Wextra -Werror   | quick | 7200 | build_gcc
unit tests                  | quick | 7200 | unit_tests
MPI tests                   | quick | 7200 | mpi_tests
build and install           | usual | 7200 | & tests/test_build.sh
han_rules                   | quick | 7200 | tests/test_han_rules.sh
rules                       | quick | 7200 | tests/test_rules.sh
options                     | quick | 7200 | & tests/test_options.sh
load                        | quick | 7200 | tests/test_load.sh
virtual cluster             | usual | 7200 | & tests/test_vcluster.sh
settle                      | quick | 7200 | tests/test_settle.sh
check.sh                    | usual | 7200 | & tests/test_check.sh
same bits                   | usual | 7200 | tests/test_bits.sh
solo                        | usual | 7200 | tests/test_solo.sh
tuner                       | usual | 7200 | & tests/test_tune.sh
memory                      | usual | 7200 | memory_tests
bench                       | usual | 7200 | tests/test_bench.sh
noise                       | usual | 7200 | & tests/test_noise.sh
applications                | usual | 7200 | tests/test_applications.sh
fuzz                        | all   | 7200 | & tests/fuzz.sh --seconds 180
distcheck                   | all   | 7200 | distcheck
sanitizers                  | all   | 7200 | tests/sanitize.sh address undefined thread
in Open MPI                 | all   | 7200 | tests/in-tree.sh
mutants                     | all   | 7200 | tests/mutants.sh
'

usage() {
    cat <<'END'
./check.sh [--quick | --all] [--only TEXT] [--seed SEED] [--list]

On a Debian 12: installs what is missing (as root or with sudo), builds HAN in
build/ (or here, where this folder is configured) and tests it.  The last line
is "N passed, N failed, N skipped"; what has failed and what was skipped is
listed above it.  Exit code 1 when anything failed, 2 bad input.

              on two cores      for whom
  --quick     2 to 4 minutes    after a change, before a commit
              4 to 11 minutes   before a change is proposed; what the CI runs
                                (2 more where packages have to be installed)
  --all       1 to 2 hours      now and then: all shapes, valgrind, sanitizers,
                                many calls, past 2 GiB, no memory, fuzzing,
                                distcheck, inside Open MPI's source tree, and
                                whether faults put in on purpose are caught

  --only TEXT   only steps whose name contains TEXT (and the build), of any depth
  --seed SEED   of what tests draw: a number from 1, or random (default: 1, so
                that the same run is the same)
  --list        prints the names of the steps, each with the least depth that has it

What the steps print is kept in build/check/.  As root the steps run in process
and mount namespaces of their own, where the machine has them: however check.sh
ends, also by kill -9, nothing that it has started stays.  Two checks in two
folders do not disturb each other.
END
}

# ---------------------------------------------------------------- steps

# Here, where somebody has run configure here; else in build/.
choose_build() {
    build=$TOP/build
    [[ ! -e $TOP/config.status ]] || build=$TOP
}

build_gcc() {
    [[ -x $TOP/configure ]] || (cd "$TOP" && autoreconf -fi)
    # By a relative path: the folder can be moved, and copied, as it is.
    # By sh, with which libtool, a script as well, takes two thirds of the time where sh is dash.
    [[ -e $build/config.status ]] || (cd "$build" && CONFIG_SHELL=/bin/sh ../configure CONFIG_SHELL=/bin/sh)
    # Configured before cmocka was there (by demo.sh): once more, or there would be no unit tests.
    if grep -q 'HAVE_CMOCKA_TRUE.*"#"' "$build/config.status"; then
        (cd "$build" && ./config.status --recheck && ./config.status)
    fi
    make -C "$build" -j2 CFLAGS="$CFLAGS_GCC"
    # The programs of the tests too.
    make -C "$build/tests" -j2 CFLAGS="$CFLAGS_GCC" mpi-programs
}

# Its front end is enough, and quick.  Of the components; for --all, of tools and tests too.
build_clang() {
    local folder
    local -a files flags=(-O2 -Wall -Wextra -Werror -fsyntax-only "-I$TOP" "-I$TOP/coll_adapt")
    for folder in $(mpicc --showme:incdirs) $(pkg-config --variable=includedir pmix); do
        flags+=(-isystem "$folder" -isystem "$folder/openmpi")
    done
    flags+=(-isystem "$TOP/compat")
    files=("$TOP"/*.c "$TOP"/coll_*/*.c)
    [[ $HAN_CHECK_DEPTH != all ]] || files+=("$TOP"/bench/*.c "$TOP"/tune/*.c "$TOP"/tests/*.c)
    printf '%s\0' "${files[@]}" | xargs -0 -P 2 -n 1 -t clang "${flags[@]}"
}

unit_tests() {
    local status=0
    rm -f "$build"/tests/unit_*.log
    CMOCKA_MESSAGE_OUTPUT=TAP make -C "$build" -j2 check CFLAGS="$CFLAGS_GCC" || status=$?
    cat "$build"/tests/unit_*.log
    return "$status"
}

mpi_tests() {
    "$TOP/tests/run.sh" --build "$build" --depth "$HAN_CHECK_DEPTH" --seed "$HAN_CHECK_SEED"
}

memory_tests() {
    "$TOP/tests/test_memory.sh" --build "$build" --depth "$HAN_CHECK_DEPTH"
}

# Without our CFLAGS: configure runs in it.
distcheck() {
    make -C "$build" distcheck
}

# ---------------------------------------------------------------- alone

can_be_alone() {
    ((EUID == 0)) && command -v setpriv >/dev/null &&
        unshare --mount --pid --fork --kill-child --mount-proc mount -t tmpfs tmpfs /dev/shm 2>/dev/null
}

# All over again, as the first process of a namespace, which the kernel ends with it.  It is killed when we die.
alone() {                           # alone OPTION...
    local status=0
    setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc "$TOP/check.sh" --alone "$@" </dev/null &
    jobs[alone]=$!
    wait "${jobs[alone]}" || status=$?
    unset 'jobs[alone]'
    return "$status"
}

# Files go where the next check finds and removes them, clusters where other checks do not see them.
set_apart() {
    rm -rf -- "$logs/tmp"
    mkdir -p "$logs/tmp"
    export TMPDIR=$logs/tmp
    if [[ -n $is_alone ]]; then
        chmod 1777 "$logs/tmp"
        # This folder stays where it is, also where it is in /tmp.
        if [[ $TOP == /tmp/* ]]; then
            mkdir -p "$logs$TOP"
            mount --bind "$TOP" "$logs$TOP"
        fi
        mount --rbind "$logs/tmp" /tmp
        mount -t tmpfs tmpfs /dev/shm
        TMPDIR=/tmp
    fi
    [[ $TMPDIR == *[[:space:]]* ]] || export HAN_VCLUSTER_DIR=$TMPDIR/clusters
}

# As on the virtual cluster: no rank looks for networks and devices that a test has no use for, which is up to half of
# the time that a short job takes.  PMIx keeps what ranks know of each other in each of them: its other store, in shared
# memory, takes a tenth of a short job to be made; as much takes mpirun where a process may have many open files, for it
# closes so many for each daemon that it starts; and it waits a second for ranks that it ends because another one has
# failed.  What a test asks for by options of mpirun wins.
start_quickly() {
    ulimit -Sn 1024 2>/dev/null || :    # or it is less
    export OMPI_MCA_pml=${OMPI_MCA_pml-ob1} HWLOC_PLUGINS_PATH=${HWLOC_PLUGINS_PATH-$logs/tmp}
    export HWLOC_COMPONENTS=${HWLOC_COMPONENTS--linux:pci,-linux:io} PMIX_MCA_gds=${PMIX_MCA_gds-hash}
    export OMPI_MCA_odls_base_sigkill_timeout=${OMPI_MCA_odls_base_sigkill_timeout-0}
}

# ---------------------------------------------------------------- lines

passed=0
failed=()
skipped=()
took=()                                 # "SECONDS STEP: TEST"
again=()                                # commands that repeat what has failed

# Counts the behaviours in what a step has printed.
count_lines() {                     # count_lines NAME FILE STATUS
    local name=$1 line ok=0 bad=0 omitted=0
    while IFS= read -r line; do
        if [[ $line =~ ^ok\ [0-9]+.*\#\ SKIP ]]; then
            omitted=$((omitted + 1))
            skipped+=("$name: ${line#ok }")
        elif [[ $line =~ ^1\.\.0\ \#\ SKIP\ (.*) ]]; then
            omitted=$((omitted + 1))
            skipped+=("$name: ${BASH_REMATCH[1]}")
        elif [[ $line =~ ^ok\ [0-9]+ ]]; then
            ok=$((ok + 1))
        elif [[ $line =~ ^not\ ok\ ([0-9]+.*) ]]; then
            bad=$((bad + 1))
            failed+=("$name: ${BASH_REMATCH[1]}")
        fi
    done < <(grep -aE '^((not )?ok [0-9]+|1\.\.0 # SKIP)' "$2")
    if (($3 == 124 || $3 == 137)); then
        bad=$((bad + 1))
        failed+=("$name: it did not end in time")
    elif (($3 == 77 && ok + bad > 0)); then
        bad=$((bad + 1))
        failed+=("$name: it says in the middle that it cannot run here")
    elif (($3 == 77 && omitted == 0)); then
        omitted=$((omitted + 1))
        skipped+=("$name: it says that it cannot run here")
    elif (($3 != 0 && $3 != 77 && bad == 0)); then
        bad=$((bad + 1))
        failed+=("$name: exit code $3")
    elif (($3 == 0 && ok + omitted + bad == 0)); then
        ok=1
    fi
    passed=$((passed + ok))
    printf '   %d passed, %d failed, %d skipped' "$ok" "$bad" "$omitted"
    ((bad == 0))
}

# A step is a process of its own, so that its limit ends all of it.  In the
# background, for a trap interrupts only `wait`.  With a folder of its own for
# files, too: an mpirun that begins fails where another one, that ends, removes
# the empty folder of all of them (ompi.HOST.USER) meanwhile.
declare -A jobs=() started=()

log_of() {                          # log_of NAME
    echo "$logs/${1//[^A-Za-z0-9]/-}.log"
}

# Of a step whose tests say no times, its own.
note_times() {                      # note_times NAME LOG
    local -a times
    mapfile -t times < <(sed -nE "s|^# took ([0-9]+) s: |\\1 $1: |p" "$2")
    ((${#times[@]} > 0)) || times=("$((SECONDS - started[$1])) $1")
    took+=("${times[@]}")
}

# A step may say by itself what repeats less than all of it.
note_again() {                      # note_again NAME LOG
    local -a commands
    mapfile -t commands < <(sed -n 's/^# again: //p' "$2")
    ((${#commands[@]} > 0)) || commands=("./check.sh --only '$1' --seed $seed")
    again+=("${commands[@]}")
}

start_step() {                      # start_step NAME LIMIT COMMAND
    local -a command
    local own=$TMPDIR/${#started[@]}
    read -ra command <<<"$3"
    mkdir -p "$own"
    [[ -z $is_alone ]] || chmod 1777 "$own"
    case ${command[0]} in
        */*) command[0]=$TOP/${command[0]} ;;
        *) command=("$TOP/check.sh" --step "${command[@]}") ;;
    esac
    started[$1]=$SECONDS
    (cd "$build/tests" 2>/dev/null || cd "$build" && TMPDIR=$own exec timeout -k 10 "$2" "${command[@]}") \
        >"$(log_of "$1")" 2>&1 </dev/null &
    jobs[$1]=$!
}

# For each failure its line and the ten that follow, without what only says that a job has ended; of those that print no
# lines, the last ten.
what_matters() {                    # what_matters LOG
    awk '
        /^not ok / { if (++failures > 6) { exit } print; left = 10; next }
        /^(ok |1\.\.)/ { left = 0 }
        left > 0 && /^# / && !/^# *($|#|-+ *$|ok |not ok |1\.\.|took |again: |mpirun |Primary job|a non-zero exit code|the job to be|Process name:|Exit code:)/ {
            print substr($0, 1, 400)
            --left
        }
        END { exit failures == 0 }' "$1" || tail -n 10 "$1"
}

end_step() {                        # end_step NAME LIMIT
    local log status=0 good=0
    log=$(log_of "$1")
    printf '== %-28s' "$1"
    wait "${jobs[$1]}" || status=$?
    unset "jobs[$1]"
    count_lines "$1" "$log" "$status" || good=1
    printf ', %d s of %d\n' $((SECONDS - started[$1])) "$2"
    note_times "$1" "$log"
    if ((good != 0)); then
        what_matters "$log"
        echo "   (all of it: ${log#"$TOP/"})"
        note_again "$1" "$log"
    fi
}

clean_up() {
    local job
    trap '' INT TERM
    for job in "${jobs[@]}"; do
        { kill -"$end_by" "$job" && wait "$job"; } 2>/dev/null || :
    done
    rm -rf -- "$logs/tmp" 2>/dev/null || :
}

# Whether it was asked for.  Who names steps wants them whatever their depth.
wanted() {                          # wanted NAME DEPTH COMMAND
    if [[ -n $only ]]; then
        [[ $3 == build_gcc || $1 == *"$only"* ]]
    else
        depth_has "$depth" "$2"
    fi
}

# The step that runs beside the others; it says so once it is done, or `now`.
end_beside() {                      # end_beside [now]
    if [[ -n $beside ]] && { [[ -n ${1:-} ]] || ! kill -0 "${jobs[$beside]}" 2>/dev/null; }; then
        end_step "$beside" "$beside_limit"
        beside=''
    fi
}

run_steps() {
    local name least limit command beside='' beside_limit=''
    while IFS='|' read -r name least limit command; do
        read -r name <<<"$name"
        [[ -n $name ]] || continue
        read -r least limit command <<<"$least $limit $command"
        if [[ -n $list ]]; then
            printf '%-28s %s\n' "$name" "$least"
        elif wanted "$name" "$least" "$command"; then
            [[ $command != '& '* ]] || end_beside now
            start_step "$name" "$limit" "${command#& }"
            if [[ $command == '& '* ]]; then
                beside=$name beside_limit=$limit
            else
                end_step "$name" "$limit"
            fi
            end_beside
        fi
    done <<<"$STEPS"
    end_beside now
}

# Those of three seconds and more.
slowest() {
    printf '%s\n' "${took[@]}" | sort -rn | awk '$1 >= 3 && NR <= 10 { if (NR == 1) { print "\nslowest:" } printf "%5d s  %s\n", $1, substr($0, length($1) + 2) }'
}

report() {
    slowest
    if ((${#skipped[@]} > 0)); then
        printf '\nskipped:\n'
        printf '  %s\n' "${skipped[@]}"
    fi
    if ((${#failed[@]} > 0)); then
        printf '\nfailed:\n'
        printf '  %s\n' "${failed[@]}"
        printf '\nagain:\n'
        printf '  %s\n' "${again[@]}"
    fi
    printf '\n%d passed, %d failed, %d skipped\n' "$passed" "${#failed[@]}" "${#skipped[@]}"
}

bad_input() {
    printf 'check.sh: %s\n' "$*" >&2
    exit 2
}

take_depth() {                      # take_depth --quick|--all
    [[ -z $depth || $depth == "${1#--}" ]] || bad_option "--quick and --all exclude each other"
    depth=${1#--}
}

# For start_step.
take_step() {                       # take_step OPTION COMMAND
    "$2"
    exit 0
}

only='' list='' depth='' seed=1 is_alone='' end_by=TERM
options=("$@")
choose_build
take_options "
--quick | take_depth()
--all   | take_depth()
--only  | only         | a text; --list prints the names of the steps | .+
--seed  | take_seed()  | $SEEDS | $SEED
--list  | list
--step  | take_step()  | the command of a step | .+
--alone | is_alone" "$@"
[[ -z $only ]] || has_name "$only" <<<"$STEPS" || bad_input "--only '$only': no step is called so; --list prints their names"
depth=${depth:-usual}
export HAN_CHECK_DEPTH=$depth HAN_CHECK_SEED=$seed      # for --step
if [[ -n $list ]]; then
    run_steps
    exit 0
fi
logs=$TOP/build/check
if [[ -z $is_alone ]]; then
    packages_install "${PACKAGES_TO_CHECK[@]}"
    mkdir -p "$build" "$logs"
    exec {lock}>"$logs/lock"
    flock -n "$lock" || bad_input "another check is at work in this folder ($build)"
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    if can_be_alone; then
        end_by=KILL
        status=0
        alone "${options[@]}" || status=$?
        exit "$status"
    fi
fi
set_apart
start_quickly
echo "seed $seed"
run_steps
report
((${#failed[@]} == 0))
