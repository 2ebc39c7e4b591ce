#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One rank cannot take its part in a collective: see --help.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -euo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
readonly VCLUSTER=$HERE/../cluster/vcluster
# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tests/job.sh
. "$HERE/job.sh"
# shellcheck source=tests/choices.sh
. "$HERE/choices.sh"

readonly RANKS=4 LEADER=0 OTHER=3   # two on each of two nodes
readonly SHORT=300 LONG=50000       # units of 4 bytes or more
readonly NO_MEMORY=(39 'no memory for .*')

usage() {
    cat <<'END'
tests/test_memory.sh [--build DIR] [--depth DEPTH] [--only TEXT]

In a call of a collective, one allocation of our components fails on one rank:
the first, the second, and so on until none is left.  Each time, either all
ranks return, with an error or the right result, and the next call is right; or
the job ends, with one message that says what there is no memory for.  So it does
where the network takes no message of one rank.  And how much all allocations of a
reduction take together, where elements have gaps.

  --build DIR   build folder (default: the current one, or the one above it)
  --depth DEPTH quick, usual: some collectives, some allocations; all: all, in the
                first call of a communicator and in its third, short and long ones
  --only TEXT   only lines that contain TEXT

Exit code 0 pass, 1 fail, 77 the machine allows no virtual nodes.
END
}

build='' depth=all only='' cluster=tm$$ tmp=''

say() {
    printf 'test_memory.sh: %s\n' "$*" >&2
}

# ---------------------------------------------------------------- jobs

run() {                             # run OPTIONS...: sets status
    status=0
    job_run timeout -k 10 "$LIMIT" "$VCLUSTER" run --name "$cluster" --ppn "${ppn:-$((RANKS / 2))}" --np "${ranks:-$RANKS}" \
        --mca coll_solo_start 0 -- "$build/tests/${program:-mpi_memory}" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
}

# The job has gone on, or has ended as it should: mpirun's exit code is an error class of MPI, and one line says why.
went_on() {
    ((status == 0)) && grep -q '^1\.\.' "$tmp/out" && ! grep -q '^not ok' "$tmp/out"
}

was_ended() {                       # was_ended CLASS WHY
    ((status == $1)) && [[ $(grep -c "coll:[a-z]*: rank [0-9]*: $2; the job ends" "$tmp/err") == 1 ]]
}

# Each job makes one allocation after the other fail until it is ended; the next one goes on behind that.
each_fails() {                      # each_fails STEP OPTIONS...
    local step=$1 number=1 status
    shift
    while :; do
        run "$@" --fail "$number"
        if went_on; then            # a first call allocates something, so that its first number is reached
            [[ " $* " == *" --later "* || $(sed -n 's/^# allocation //p' "$tmp/out" | tail -n 1) -gt 1 ]]
            return
        fi
        was_ended "${NO_MEMORY[@]}" || return 1
        number=$(($(sed -n 's/^# allocation //p' "$tmp/out" | tail -n 1) + step))
    done
}

# A message of ours on one rank is not started: which one, and of which kind, is the collective's.
lost() {                            # lost COLLECTIVE-FORM...
    local kind number status
    for kind; do
        number=$(sed -n "s/ ${kind/-/ }\$//p" "$tmp/kinds")
        program=mpi_failures run --lost --only "$number"
        was_ended 16 'a message to or from rank .* cannot be started (error -3)' || return 1
    done
}

# On one node, where SOLO does a broadcast of two ranks and an allgather of four, by copies and by single copies.
wide() {
    local status way count
    for way in off on; do
        for count in 2 $RANKS; do
            OMPI_MCA_coll_solo_single_copy=$way ppn=$count ranks=$count run --wide --victim 1
            went_on || return 1
        done
    done
}

# A broadcast in lanes, for which the other rank packs its data with gaps as a whole.
in_lanes() {
    local number status
    number=$(sed -n 's/ bcast blocking$//p' "$tmp/kinds")
    (
        export OMPI_MCA_coll_han_bcast_{algorithm=tree,lanes=2,segsize=1000}
        each_fails 1 --only "$number" --victim $OTHER --units $SHORT --later --by-rank
    )
}

# By HAN's own choice, where leaders are asked for, who would take whole blocks, and where scans are chains.
gaps() {
    local status
    run --gaps
    went_on || return 1
    (
        export OMPI_MCA_coll_han_{allreduce,scan,exscan,reduce_scatter_block}_algorithm=leaders
        run --gaps
        went_on
    ) && (
        export OMPI_MCA_coll_han_{scan,exscan}_algorithm=chain
        run --gaps
        went_on
    )
}

# On one rank a level's communicator gets no modules; its other ranks have theirs.
level_fails() {
    local number status which level victim
    number=$(sed -n 's/ bcast blocking$//p' "$tmp/kinds")
    for which in "1 $LEADER" "1 $OTHER" "2 $LEADER"; do
        read -r level victim <<<"$which"
        OMPI_MCA_coll_han_bcast_algorithm=simple run --only "$number" --victim "$victim" --level "$level"
        was_ended 16 'level .* of .* cannot be made (error [0-9]*)' || return 1
    done
}

# In MPI_Init, by itself each.
each_fails_in_init() {              # each_fails_in_init STEP OPTIONS...
    local step=$1 number=1 status
    shift
    while :; do
        run "$@" --init --fail "$number"
        if went_on && grep -q 'was not reached' "$tmp/out"; then
            ((number > 1))
            return
        fi
        went_on || was_ended "${NO_MEMORY[@]}" || return 1
        number=$((number + step))
    done
}

# ---------------------------------------------------------------- main

line() {                            # line TEXT COMMAND...
    local text=$1
    shift
    [[ $text != *"$only"* ]] || t_check "$text" "$@"
}

# Some of all, in half a minute.
some_lines() {
    local number name form step=9
    while read -r number name form; do
        case $name-$form in
            bcast-blocking | allreduce-blocking | alltoall-blocking | gather-nonblocking | allgather-persistent)
                line "$name, $form, the first call, on a leader" each_fails $step --only "$number" --victim $LEADER \
                    --units $LONG
                [[ $name != bcast ]] || line "$name, $form, a later call, on another rank" each_fails 2 --only "$number" \
                    --victim $OTHER --units $SHORT --later ;;
        esac
    done <"$tmp/kinds"
    line "MPI_Init" each_fails_in_init 150 --victim $OTHER
    line "a message that is not started" lost bcast-blocking bcast-nonblocking alltoall-blocking
    line "a level that one rank does not get" level_fails
    line "elements with gaps" gaps
    line "elements that are cut" wide
    line "bcast in lanes" in_lanes
}

all_lines() {
    local number name form
    while read -r number name form; do
        line "$name, $form, the first call, long, on a leader" each_fails 1 --only "$number" --victim $LEADER --units $LONG
        line "$name, $form, the first call, short, on another rank" each_fails 1 --only "$number" --victim $OTHER \
            --units $SHORT
        line "$name, $form, a later call, short, on a leader" each_fails 1 --only "$number" --victim $LEADER \
            --units $SHORT --later
        line "$name, $form, a later call, long, on another rank" each_fails 1 --only "$number" --victim $OTHER \
            --units $LONG --later
    done <"$tmp/kinds"
    line "MPI_Init" each_fails_in_init 1 --victim $LEADER
    # shellcheck disable=SC2046      # words
    line "a message that is not started" lost $(sed 's/^[0-9]* //; s/ /-/; /barrier/d' "$tmp/kinds")
    line "a level that one rank does not get" level_fails
    line "elements with gaps" gaps
    line "elements that are cut" wide
    line "bcast in lanes" in_lanes
}

clean_up() {
    trap '' INT TERM
    job_end
    "$VCLUSTER" down --name "$cluster" >/dev/null 2>&1 || :
    [[ -z $tmp ]] || rm -rf -- "$tmp"
}

main() {
    take_options "
    --build | build | a folder | @folder
    --depth | depth | $DEPTHS  | ${DEPTHS//, /|}
    --only  | only  | a text   | .+" "$@"
    command -v mpirun >/dev/null || { echo "1..0 # SKIP no mpirun"; exit 77; }
    find_build mpi_memory
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    tmp=$(mktemp -d)
    t_notes=("$tmp/out" "$tmp/err")
    t_needs "$VCLUSTER" up --name "$cluster" --nodes 2 --rate none --owner $$
    export OMPI_MCA_mca_base_component_path=$build/components:SYS_DEFAULT
    "$build/tests/mpi_memory" --list >"$tmp/kinds"
    if [[ $depth == all ]]; then all_lines; else some_lines; fi
    ((count > 0)) || bad_option "--only '$only': no line is called so"
    echo "1..$count"
    exit "$failed"
}

main "$@"
