#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The components as a user of mpirun meets them: found, selected, switched off,
# set by parameters, and what they tell.  COMPONENTS names the folder to test
# (default: components/ here or one above).  Exit code 0 pass, 1 fail, 77 the
# machine allows no virtual nodes.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
readonly RIGHT='[0-9]+ collectives are right'
readonly VERBOSE=(--mca coll_han_verbose 2 --mca coll_han_machine none)  # a line for each call, and none of a machine

# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tests/choices.sh
. "$HERE/choices.sh"
# shellcheck source=tests/nodes.sh
. "$HERE/nodes.sh"
t_notes=("$tmp/out" "$tmp/err")

said() {                            # said PATTERN: a line of the messages has it
    grep -qE -- "$1" "$tmp/err"
}

# ---------------------------------------------------------------- shown and selected

test_shown() {                      # test_shown COMPONENT
    ompi_info --param coll "$1" --level 9 >"$tmp/out" 2>"$tmp/err" &&
        grep -qE "MCA coll: $1 \(.*Component v0\.1\.0\)" "$tmp/out"
}

# Whether a program's bcast goes through HAN; all collectives are there in any case, and nobody else says anything.
test_takes_ours() {                 # test_takes_ours yes|no OPTIONS...
    local wanted=$1 ours=no
    shift
    run "$@" "${VERBOSE[@]}" -- "$tmp/load_collectives" || return 1
    ! said 'coll:han: .*bcast, 4 bytes' || ours=yes
    [[ $ours == "$wanted" ]] && grep -qE "^$RIGHT$" "$tmp/out" && ! grep -qv 'coll:han: ' "$tmp/err"
}

# ---------------------------------------------------------------- values

# Each line of a table is a test, with a parameter that the user sets.  Those that stand together are set in one job,
# `lines`, which ends with `job`; CHECK looks at what the job has said of one.
each_of_jobs() {                    # each_of_jobs PROGRAM BEHAVIOUR CHECK [mpirun option]... <NAME VALUE PATTERN
    local program=$1 behaviour=$2 check=$3 name value pattern line job
    local -a lines=() options=("${@:4}")
    while read -r name value pattern; do
        if [[ -n $name ]]; then
            lines+=("$name $value $pattern")
            options+=(--mca "$name" "$value")
            continue
        fi
        job=0
        run "${options[@]}" -- "$tmp/$program" || job=$?
        for line in "${lines[@]}"; do
            read -r name value pattern <<<"$line"
            t_check "$name $value$behaviour" "$check" "$name" "$value" "$pattern"
        done
        lines=() options=("${@:4}")
    done < <(cat; echo)
}

# The program runs as without, and one rank has said one line of each.
said_once_each() {
    ((job == 0)) && grep -qE "^$RIGHT$" "$tmp/out" && [[ $(wc -l <"$tmp/err") == "${#lines[@]}" ]]
}

test_bad_value() {                  # test_bad_value NAME VALUE ACCEPTED
    said_once_each && said "$1: \"?$2\"? .*accepted: .*$3"
}

# A tool, or a program, may look at parameters before MPI knows its rank.
test_bad_value_for_tools() {
    run --mca coll_han_bcast_segsize abc -- "$tmp/load_mpi_t" coll_han_verbose=0 &&
        grep -q '^coll_han_bcast_segsize: "abc" is not accepted; accepted: a number from ' <(sed 's/^\[[^]]*\] //' "$tmp/err") &&
        [[ $(grep -c 'accepted: ' "$tmp/err") == 1 ]]
}

test_all_bad_values() {
    each_of_jobs load_collectives ': one line lists what is accepted, the default is used' test_bad_value <<'END'
coll_han_bcast_algorithm ring auto \(-1\), fallback \(0\), simple \(1\), pipeline \(2\), tree \(3\), groups \(8\); the default
coll_han_alltoallv_algorithm 6 auto \(-1\), fallback \(0\), exchange \(5\); the default
coll_han_bcast_up_module foo libnbc \(0\), adapt \(1\)
coll_han_bcast_low_module foo tuned \(0\), sm \(1\), basic \(2\), solo \(3\)
coll_han_bcast_segsize 64X a number from 0 to 1073741824; K, M, G may follow; the default
coll_han_reduce_groups -1 a number from 0 to
coll_han_priority abc a number from
coll_han_verbose -1 a number from 0 to 100; the default
coll_adapt_bcast_algorithm nonsense binomial
coll_adapt_reduce_groups 0 a number from 1 to
coll_solo_priority high a number from
coll_solo_allreduce_algorithm nonsense auto \(-1\), fallback \(0\), copy \(1\), slices \(2\), single_copy \(3\)
coll_solo_bcast_algorithm slices auto \(-1\), fallback \(0\), copy \(1\), single_copy \(3\)
coll_solo_single_copy maybe off \(0\), on \(1\)
coll_solo_segment_size 100 a number from 256 to
coll_solo_max_memory -1 a number from 0 to

coll_han_bcast_up_module 7 libnbc \(0\), adapt \(1\)
coll_han_bcast_low_module 9 tuned \(0\), sm \(1\), basic \(2\)
coll_han_bcast_segsize -5 a number from 0 to

coll_han_bcast_segsize 99999999999 a number from 0 to
END
}

# A name that is none: one line, with the name that is like it, if one is.
test_unused() {                     # test_unused NAME VALUE HINT
    said_once_each && said "coll:[a-z]*: $1 is not used, for there is no such parameter; ${3:+$3 }accepted: what ompi_info "
}

test_all_unused() {
    each_of_jobs load_collectives ', a name that is none: one line, with the name that is meant' test_unused <<'END'
coll_han_bcast_algoritm 1 is it coll_han_bcast_algorithm\?
coll_adapt_priorty 1 is it coll_adapt_priority\?
coll_solo_start_at 1 is it coll_solo_start\?
coll_han_go_faster 1
END
}

# With the lines of a file that Open MPI reads for the user.
run_with_file() {                   # run_with_file <LINES
    mkdir -p "$tmp/home/.openmpi" && cat >"$tmp/home/.openmpi/mca-params.conf" && HOME=$tmp/home run -- "$tmp/load_collectives"
}

# The same in such a file; what the file has right is obeyed.
test_unused_in_file() {
    printf '%s\n' '# mine' 'coll_han_verbose = 2' 'coll_han_bcast_algoritm = tree' 'coll_tuned_no_such = 1' | run_with_file &&
        grep -qE "^$RIGHT$" "$tmp/out" && said 'coll:han: .*bcast, 4 bytes' &&
        [[ $(grep -c 'is not used, for' "$tmp/err") == 1 ]] &&
        said "coll:han: $tmp/home/.openmpi/mca-params.conf:3: coll_han_bcast_algoritm is not used, .*; is it coll_han_bcast_algorithm\? "
}

test_obeyed() {                     # test_obeyed NAME VALUE PATTERN
    ((job == 0)) && said "bcast, 100000 bytes: .*$3"
}

test_all_good_values() {
    each_of_jobs load_mpi_t ' is obeyed' test_obeyed --mca coll_han_verbose 2 <<'END'
coll_han_bcast_up_module libnbc up libnbc
coll_han_bcast_low_module tuned low tuned
coll_han_bcast_segsize 4096 25 of 4096 bytes

coll_han_bcast_up_module 0 up libnbc
coll_han_bcast_low_module 0 low tuned
coll_han_bcast_segsize 4k 25 of 4096 bytes

coll_han_bcast_up_module adapt up adapt
coll_han_bcast_low_module sm low sm

coll_han_bcast_up_module 1 up adapt
coll_han_bcast_low_module 1 low sm

coll_han_bcast_low_module basic low basic

coll_han_bcast_low_module solo low solo

coll_han_bcast_algorithm groups groups, adapt's linear, groups: 2

coll_han_bcast_groups 3 groups, adapt's linear, groups: 3
coll_han_bcast_algorithm groups groups, adapt's linear, groups: 3
END
}

# A file of parameters that was written on Windows.
test_carriage_returns() {
    printf 'han-rules 1\r\nreduce nodes=* ppn=* bytes=* : algorithm=tree\r\n' >"$tmp/dos.rules"
    printf '%s\r\n' 'coll_han_bcast_algorithm = simple' 'coll_han_bcast_segsize = 8K' 'coll_han_verbose = 2' \
        "coll_han_dynamic_rules_filename = $tmp/dos.rules" | run_with_file && ! said 'accepted' && said 'dos.rules' &&
        said 'bcast, 4 bytes: .*algorithm set by the user'
}

# ---------------------------------------------------------------- MPI_T

# What is said after a variable was written, until the next one.
after() {                           # after NAME=NUMBER RESULT
    awk -v line="$1 is $2" '$0 == line { here = 1; next } / is (written|refused|unknown)/ { here = 0 }
        here' "$tmp/err"
}

test_said_after() {                 # test_said_after NAME=NUMBER PATTERN
    after "$1" written | t_finds -E -- "$2"
}

test_written() {                    # test_written NAME=NUMBER PATTERN
    test_said_after "$1" "bcast, 100000 bytes: .*$2"
}

test_refused() {                    # test_refused NAME=NUMBER PATTERN: still as before
    after "$1" refused | t_finds -E -- "bcast, 100000 bytes: .*$2"
}

test_mpi_t() {
    local status=0
    run -- "$tmp/load_mpi_t" coll_han_verbose=2 coll_han_bcast_segsize=4096 coll_han_bcast_up_module=0 \
        coll_han_bcast_up_module=1 coll_han_bcast_low_module=3 coll_han_bcast_low_module=2 coll_han_bcast_segsize=-5 coll_han_bcast_up_module=7 \
        coll_han_bcast_low_module=9 coll_han_verbose=-1 coll_han_verbose=0 || status=1
    said '^all right$' || status=1
    t_result "$status" "MPI_T: a program that writes variables gets right values"
    t_check "MPI_T: coll_han_verbose is obeyed by the next call" test_written coll_han_verbose=2 ''
    t_check "MPI_T: coll_han_bcast_segsize is obeyed by the next call" \
        test_written coll_han_bcast_segsize=4096 '25 of 4096 bytes'
    t_check "MPI_T: coll_han_bcast_up_module 0 is obeyed by the next call" \
        test_written coll_han_bcast_up_module=0 'up libnbc'
    t_check "MPI_T: coll_han_bcast_up_module 1 is obeyed by the next call" \
        test_written coll_han_bcast_up_module=1 'up adapt'
    t_check "MPI_T: coll_han_bcast_low_module 3 is obeyed by the next call" \
        test_written coll_han_bcast_low_module=3 'up adapt.*, low solo'
    t_check "MPI_T: coll_han_bcast_low_module 2 is obeyed by the next call" \
        test_written coll_han_bcast_low_module=2 'up adapt.*, low basic'
    t_check "MPI_T: a bad coll_han_bcast_segsize is refused" test_refused coll_han_bcast_segsize=-5 '25 of 4096 bytes'
    t_check "MPI_T: a bad coll_han_bcast_up_module is refused" test_refused coll_han_bcast_up_module=7 'up adapt'
    t_check "MPI_T: a bad coll_han_bcast_low_module is refused" test_refused coll_han_bcast_low_module=9 'low basic'
    t_check "MPI_T: a bad coll_han_verbose is refused" test_refused coll_han_verbose=-1 'low basic'
    after coll_han_verbose=0 written >"$tmp/quiet"
    [[ $(<"$tmp/quiet") == 'all right' ]]
    t_result $? "MPI_T: coll_han_verbose 0 makes it silent"
}

# One job, which writes one after another: NAME=NUMBER, and what is said then of calls that follow.
test_all_written() {                # test_all_written [mpirun option]... <TABLE
    local name pattern status=0
    local -a names=() patterns=()
    while read -r name pattern; do
        names+=("$name")
        patterns+=("$pattern")
    done
    run "$@" -- "$tmp/load_mpi_t" --more "${names[@]}" && said '^all right$' || status=1
    t_result "$status" "MPI_T: with ${names[-1]} and ${#names[@]} more, values are right"
    for name in "${!names[@]}"; do
        [[ -z ${patterns[name]} ]] || t_check "MPI_T: ${names[name]} is obeyed" test_said_after "${names[name]}" "${patterns[name]}"
    done
}

test_each_written() {
    printf '%s\n' 'han-rules 1' 'bcast nodes=* ppn=* bytes=64K- : algorithm=pipeline smod=solo' >"$tmp/levels.rules"
    test_all_written --mca coll_han_machine none --mca coll_han_start 1000000 \
        --mca coll_han_dynamic_rules_filename "$tmp/levels.rules" <<'END'
coll_han_verbose=2 MPI_COMM_WORLD .*: bcast, 100000 bytes: tree.*\(it is not used often enough for levels\)
coll_han_start=0 MPI_COMM_WORLD .*: bcast, 100000 bytes: pipeline.*levels.rules:2: bcast
coll_han_bcast_algorithm=0 MPI_COMM_WORLD .*: bcast, 100000 bytes: fallback \(algorithm set by the user\)
coll_han_reproducible=1 allreduce, 100000 bytes: fallback \(results are to be reproducible\)
coll_han_reproducible=0 allreduce, 100000 bytes: tree.*\(the cost model\)
coll_han_allreduce_algorithm=4 allreduce, 100000 bytes: ring.*lanes: 2,.*\(algorithm set by the user\)
coll_han_allreduce_lanes=1 allreduce, 100000 bytes: ring.*lanes: 1,
coll_han_bcast_algorithm=3
coll_han_bcast_segsize=4096 MPI_COMM_WORLD .*: bcast, 100000 bytes: tree.* of 4096 bytes, 12 under way
coll_han_bcast_segsize=16384 MPI_COMM_WORLD .*: bcast, 100000 bytes: tree.* of 16384 bytes, 6 under way
coll_han_bcast_segsize=65536 MPI_COMM_WORLD .*: bcast, 100000 bytes: tree.* of 65536 bytes, 3 under way
coll_han_allreduce_segsize=8192 allreduce, 100000 bytes: .* of 8192 bytes, 3 under way
coll_han_priority=0 DUP FROM 0 .*; not used: coll_han_priority is not above 0
END
    test_all_written --mca coll ^han <<'END'
coll_adapt_verbose=2
coll_adapt_priority=100 coll:adapt: made .*: bcast, 100000 bytes
END
    test_all_written --mca coll ^han --mca coll_adapt_priority 100 <<'END'
coll_adapt_verbose=2 MPI_COMM_WORLD .*: bcast, 100000 bytes: pipeline, segments of 32768 bytes, 3 sends, 6 receives
coll_adapt_bcast_algorithm=6 bcast, 100000 bytes: linear, segments of 32768 bytes
coll_adapt_bcast_segment_size=1000 bcast, 100000 bytes: linear, segments of 1000 bytes, 3 sends
coll_adapt_bcast_segments=7 bcast, 100000 bytes: linear, 7 segments, 3 sends
coll_adapt_bcast_max_send_requests=2 bcast, 100000 bytes: linear, 7 segments, 2 sends, 6 receives
coll_adapt_bcast_max_recv_requests=5 bcast, 100000 bytes: linear, 7 segments, 2 sends, 5 receives
coll_adapt_bcast_groups=2 bcast, 100000 bytes: linear in 2 groups, 7 segments, 2 sends, 5 receives
END
    test_all_written --ppn 4 --np 4 --mca coll_solo_start 1000000 <<'END'
coll_solo_verbose=2 MPI_COMM_WORLD .*: bcast, 100000 bytes: fallback
coll_solo_bcast_algorithm=3 MPI_COMM_WORLD .*: bcast, 100000 bytes: fallback
coll_solo_start=0 MPI_COMM_WORLD .*: bcast, 100000 bytes: single_copy
coll_solo_single_copy=0 MPI_COMM_WORLD .*: bcast, 100000 bytes: copy
coll_solo_single_copy=1 MPI_COMM_WORLD .*: bcast, 100000 bytes: single_copy
coll_solo_segment_size=1024 made .*: 4 ranks in 1 group, [0-9]{5} bytes of shared memory
coll_solo_bcast_algorithm=1 MPI_COMM_WORLD .*: bcast, 100000 bytes: copy
coll_solo_max_memory=0 made .*: no shared memory
coll_solo_priority=-1 MPI_COMM_WORLD .*: bcast, 100000 bytes: copy
END
    after coll_solo_priority=-1 written >"$tmp/out"
    t_check "MPI_T: with coll_solo_priority=-1 a new communicator is without SOLO" test_not_made
}

test_not_made() {
    ! grep -q made "$tmp/out"
}

# ---------------------------------------------------------------- what it tells

test_tells_levels() {               # test_tells_levels PPN EVENNESS GROUPS
    run --ppn "$1" --map node --mca coll_han_verbose 1 -- "$tmp/load_mpi_t" coll_han_bcast_segsize=0 &&
        [[ $(grep -c 'coll:han: MPI_COMM_WORLD ' "$tmp/err") == 1 ]] &&
        said "up: .*leaders.* low: .*$2.*$3"
}

# The machine description is one that hwloc made ("pack:2 [numa] core:1 pu:1").
test_tells_sockets() {
    run --ppn 4 --mca hwloc_base_topo_file "$HERE/two_sockets.xml" --bind-to socket:overload-allowed \
        --mca coll_han_verbose 1 -- "$tmp/load_mpi_t" coll_han_bcast_segsize=0 &&
        said 'coll:han: MPI_COMM_WORLD .*: the 4 ranks of this node are on 2 sockets'
}

# Whoever is at the level; rank 0 may be alone on its node. What is told of each call is what is used.
test_tells_missing() {              # test_tells_missing PPN LOW
    run --ppn "$1" --mca coll ^sm --mca coll_han_start 0 --mca coll_han_bcast_algorithm simple --mca coll_han_bcast_low_module sm \
        --mca coll_han_verbose 2 -- "$tmp/load_mpi_t" coll_han_bcast_segsize=0 &&
        [[ $(grep -c 'coll:han: component sm is not available at the low level; tuned is used$' "$tmp/err") == 1 ]] &&
        said "MPI_COMM_WORLD .*bcast, .*, up adapt.*, low $2,"
}

# Of every communicator once: the world and the ring of load_collectives.
test_tells_once() {
    grep -qE "^$RIGHT$" "$tmp/out" || return 1
    grep -o 'coll:han: .* ranks;' "$tmp/err" | sort | uniq -d >"$tmp/twice"
    grep -q 'coll:han: .* ranks;' "$tmp/err" && [[ ! -s $tmp/twice ]] && said 'coll:han: MPI_COMM_WORLD ' && ! said 'bcast, [0-9]* bytes'
}

# Whose component it is, once.
test_tells_version() {
    [[ $(grep -c 'coll:han: this is HAN 0\.1\.0, not the component of that name that Open MPI brings$' "$tmp/err") == 1 ]]
}

test_tells_none_before() {
    said 'coll:han: MPI_COMM_WORLD: measured in ' && ! said 'called before HAN'
}

test_verbose_1() {
    t_check "verbose 1: the job ends as without" run --mca coll_han_verbose 1 -- "$tmp/load_collectives"
    t_check "verbose 1 tells of each communicator once, and of no call" test_tells_once
    t_check "verbose 1 tells whose component it is" test_tells_version
    t_check "verbose 1 tells of no other component where HAN is called" test_tells_none_before
}

test_tells_call() {                 # test_tells_call PATTERN OPTIONS...
    local pattern=$1
    shift
    run "$@" --mca coll_han_verbose 2 -- "$tmp/load_mpi_t" coll_han_bcast_segsize=0 &&
        [[ $(grep -c 'bcast, 100000 bytes' "$tmp/err") == 1 ]] && said "$pattern"
}

test_tells_declined() {             # test_tells_declined WHY OPTIONS...
    run "${@:2}" --mca coll_han_verbose 1 -- "$tmp/load_collectives" &&
        [[ $(grep -c "coll:han: MPI_COMM_WORLD (cid 0): 4 ranks; not used: $1$" "$tmp/err") == 1 ]] && ! said 'up: '
}

test_tells_called_before() {
    run --mca coll_tuned_priority 100 --mca coll_han_verbose 1 -- "$tmp/load_collectives" && grep -qE "^$RIGHT$" "$tmp/out" &&
        [[ $(grep -c 'called before HAN' "$tmp/err") == 1 ]] &&
        said 'coll:han: MPI_COMM_WORLD: another component is called before HAN for bcast, .*; priorities above [0-9]+ \(coll_han_priority\): .*tuned 100'
}

test_silent() {
    run -- "$tmp/load_collectives" && [[ ! -s $tmp/err ]]
}

# ---------------------------------------------------------------- main

command -v mpirun >/dev/null || { echo "1..0 # SKIP no mpirun"; exit 77; }
find_components
for program in load_collectives load_mpi_t; do
    mpicc -o "$tmp/$program" "$HERE/$program.c" || exit 2
done
chmod 755 "$tmp"
t_needs cluster_up 2

t_check "without the path, a program runs as ever, without ours" test_takes_ours no
export OMPI_MCA_mca_base_component_path=$components:SYS_DEFAULT
t_check "ompi_info shows our han" test_shown han
t_check "ompi_info shows our adapt" test_shown adapt
t_check "ompi_info shows our solo" test_shown solo
t_check "by default nothing is said" test_silent
t_check "by default ours is taken" test_takes_ours yes
t_check "--mca coll ^han switches it off, and all collectives are there" test_takes_ours no --mca coll ^han
t_check "--mca coll_han_priority 0 switches it off, and all collectives are there" test_takes_ours no --mca coll_han_priority 0
t_check "with --mca coll han ours is taken, and all collectives are there" test_takes_ours yes --mca coll han
for list in han,tuned han,libnbc han,self,basic,libnbc,tuned,inter,sm,adapt; do
    t_check_all "with --mca coll $list ours is taken, and all collectives are there" test_takes_ours yes --mca coll "$list"
done
test_all_bad_values
test_all_unused
t_check "a bad value where MPI_T is initialized before MPI: one line" test_bad_value_for_tools
t_check "a name with a letter missing in mca-params.conf: one line, with file and line" test_unused_in_file
test_all_good_values
t_check "values that end with a carriage return are taken without it" test_carriage_returns
test_mpi_t
test_each_written
t_check_all "verbose 1 tells levels, groups and leaders of an even communicator" \
    test_tells_levels 2 even '\{0,2\} \{1,3\}'
t_check "verbose 1 tells levels, groups and leaders of an uneven communicator" \
    test_tells_levels 3,1 uneven '\{0,2-3\} \{1\}'
t_check "verbose 1 tells of sockets" test_tells_sockets
t_check "a component that is not there at a level: one line, and what is used" test_tells_missing 2 tuned
t_check "the same where rank 0 is alone on its node" test_tells_missing 1,3 sm
test_verbose_1
t_check "verbose 1 tells why HAN has no part in one node" test_tells_declined 'all of them are on one node' --ppn 4 --np 4
t_check "verbose 1 tells what another component does instead" test_tells_called_before
t_check "verbose 1 tells that HAN is switched off" test_tells_declined 'coll_han_priority is not above 0' --mca coll_han_priority 0
t_check "verbose 2 tells of a call, and why" test_tells_call \
    'MPI_COMM_WORLD .*bcast, 100000 bytes: [a-z ]+, up .*, low .*, segments: [0-9]+ of [0-9]+ bytes.*\(the cost model\)' --mca coll_han_start 0
t_check "verbose 2 tells of a call as the user wants it" test_tells_call \
    'bcast, 100000 bytes: pipeline ib sb, up libnbc, low basic, segments: .*\(.* set by the user' \
    --mca coll_han_bcast_up_module libnbc --mca coll_han_bcast_low_module basic
t_check "verbose 2 tells of a call that HAN leaves to others" test_tells_call \
    'bcast, 100000 bytes: fallback \(' --mca coll_han_bcast_algorithm fallback

echo "1..$count"
exit "$failed"
