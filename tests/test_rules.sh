#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Files of rules, and of a machine, as a user of mpirun meets them: obeyed, refused
# with one message, different from node to node, and met by a second job.  COMPONENTS
# names the folder to test (default: components/ here or one above).  Exit code
# 0 pass, 1 fail, 77 the machine allows no virtual nodes.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
file_variable=coll_han_dynamic_rules_filename

# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tests/choices.sh
. "$HERE/choices.sh"
# shellcheck source=tests/nodes.sh
. "$HERE/nodes.sh"
t_notes=("$tmp/err")

# On two nodes; each rank starts in the folder of its node.  What follows -- are arguments of load_rules.
wrapper=("$tmp/in_own_folder" "$tmp/load_rules")

said() {                            # said PATTERN: a line of the messages has it
    grep -qE -- "$1" "$tmp/err"
}

# What is said of a call after a line of the program, until its next one.
after() {                           # after LINE CALL
    awk -v line="$1" '$0 == line { here = 1; next } !/coll:han/ { here = 0 } here' "$tmp/err" |
        grep -E "\): $2, 4000 bytes"
}

rules() {                           # rules FILE LINE...: writes a file of rules
    local file=$1
    shift
    printf '%s\n' "$@" >"$file"
}

readonly GOOD=('han-rules 1' 'machine two nodes of the test'
    'bcast nodes=2 ppn=* bytes=1K-64K : algorithm=tree ibalg=chain ibs=500')
readonly UNKNOWN=(--mca coll_han_machine none --mca coll_han_start 0) MODEL='(the cost model)'
readonly OTHER=("${GOOD[@]}" 'bcast nodes=9 ppn=* bytes=1G : algorithm=simple')

# ---------------------------------------------------------------- obeyed

test_obeyed() {
    local line call
    run --mca "$file_variable" "$tmp/good" --mca coll_han_verbose 2 -- && said '^all right$' || return 1
    for line in part world; do
        for call in bcast ibcast; do
            after "$line" "$call" | t_finds -F "tree, up adapt's chain" || return 1
            after "$line" "$call" | t_finds -F "segments: 8 of 500 bytes" || return 1
            after "$line" "$call" | t_finds -F "($tmp/good:3: bcast nodes=2 ppn=* bytes=1K-64K)" || return 1
        done
    done
}

test_told() {                       # test_told OPTIONS...
    run "$@" --mca "$file_variable" "$tmp/good" --mca coll_han_verbose 1 -- &&
        [[ $(grep -c "the 1 rules\? of $tmp/good are used (made on: two nodes of the test)" "$tmp/err") == 1 ]]
}

test_interrupted() {
    gcc -shared -fPIC -o "$tmp/interrupted.so" "$HERE/interrupted.c" -ldl 2>"$tmp/err" &&
        test_told -x LD_PRELOAD="$tmp/interrupted.so" && said '^interrupted: '
}

test_silent() {                     # test_silent OPTIONS...
    run "$@" -- && ! said 'coll:han'
}

test_not_used() {                   # test_not_used OPTIONS...
    run "$@" --mca coll_han_verbose 2 "${UNKNOWN[@]}" -- && said '^all right$' &&
        after world bcast | t_finds -F "$MODEL" && ! said 'are used'
}

test_user_wins() {
    run --mca "$file_variable" "$tmp/good" --mca coll_han_bcast_segsize 1000 --mca coll_han_verbose 2 -- &&
        after world bcast | t_finds 'segments: 4 of 1000 bytes.*(segment size set by the user)'
}

test_others_by_builtin() {
    run --mca "$file_variable" "$tmp/good" --mca coll_han_verbose 2 "${UNKNOWN[@]}" -- &&
        said 'gatherv, .*\(built-in rules:' && said 'barrier, .*\(the cost model\)'
}

test_left_to_model() {            # test_left_to_model CALL RULES
    rules "$tmp/left" 'han-rules 1' "$2"
    run --mca "$file_variable" "$tmp/left" --mca coll_han_verbose 2 "${UNKNOWN[@]}" -- && said '^all right$' &&
        after world "$1" | t_finds -F "$MODEL"
}

# ---------------------------------------------------------------- a machine

readonly MACHINE=('han-machine 1' 'low latency 1us overhead 2us 3us copy 4GB/s'
    'up latency 10us overhead 8us 9us copy 2GB/s rate 25MB/s eager 64K rendezvous 40us' 'memory copy 2GB/s reduce 8GB/s'
    'cores node 2 shared wake 20us turn 20us')

test_model_decides() {              # test_model_decides OPTIONS...
    local line call
    run "$@" --mca coll_han_start 0 --mca coll_han_verbose 2 -- && said '^all right$' || return 1
    for line in part world; do
        for call in bcast ibcast; do
            after "$line" "$call" | t_finds -F "$MODEL" || return 1
        done
    done
    [[ $(grep -cE 'coll:han: .*: bcast of 4000 bytes: picks +[0-9.]+ +[0-9.]+ +[0-9.]+  [a-z]' "$tmp/err") == 4 ]]
}

test_machine_obeyed() {             # test_machine_obeyed FILE
    test_model_decides --mca coll_han_machine "$1" && [[ $(grep -c "coll:han: .*: the machine of $1 is used:" "$tmp/err") == 1 ]] &&
        said '^up latency 10us overhead 8us 9us copy 2GB/s '
}

# The machine of the last run, as it was told.
told_machine() {
    sed -n '/^han-machine 1$/,/^cores /p' "$tmp/err"
}

# Virtual nodes are one machine.  What is told is a file that is obeyed.
test_machine_measured() {           # test_machine_measured OPTIONS...
    test_model_decides "$@" && [[ $(grep -c 'coll:han: .*: measured in [0-9.]* ms: ' "$tmp/err") == 1 ]] &&
        [[ $(grep -c "coll:han: .*: the machine that was measured is used:" "$tmp/err") == 1 ]] &&
        said "processors are all nodes'$" && said '^cores node [1-9][0-9]* .* shared$' || return 1
    told_machine >"$tmp/measured"
    [[ -s $tmp/measured ]] && test_model_decides --mca coll_han_machine "$tmp/measured" &&
        said "the machine of $tmp/measured is used:" && told_machine | cmp -s - "$tmp/measured"
}

# Each rank has a processor of its own, by something else than the runtime: together they have both.
test_bound_by_others() {
    local -a wrapper=("$tmp/its_own" "${wrapper[@]}")
    t_bind_each "$tmp/its_own"
    run --mca coll_han_verbose 1 -- && said '^cores node 2 '
}

test_eager_limits() {
    run --mca coll_han_verbose 1 --mca btl_tcp_eager_limit 30000 --mca btl_vader_eager_limit 5000 -- &&
        said '^low .* eager 4904 ' && said '^up .* eager 29904 '
}

# Messages on a link of 20 Mbit/s are not those of a fast one, or the machine is too busy to tell.
test_slow_link() {
    run --mca coll_han_verbose 1 -- && said '^all right$' &&
        if said 'too busy to measure'; then said '^up .* rate 5GB/s '; else said '^up .* rate (1.25|12.5)MB/s '; fi
}

# Each has measured for itself: where both meet they may not have the same, which is no fault.
test_measured_spawn() {
    run -- --spawn "$tmp/with_none" && said '^all right$' && ! said 'coll:han'
}

# A file of rules has the last word, and may leave a call to the model.
test_rules_before_machine() {
    run --mca "$file_variable" "$tmp/good" --mca coll_han_machine "$tmp/machine" --mca coll_han_verbose 2 -- &&
        after world bcast | t_finds -F "($tmp/good:3:" || return 1
    rules "$tmp/left" 'han-rules 1' 'bcast nodes=2 ppn=2 bytes=* : algorithm=auto'
    run --mca "$file_variable" "$tmp/left" --mca coll_han_machine "$tmp/machine" --mca coll_han_verbose 2 -- &&
        after world bcast | t_finds -F "$MODEL"
}

# Where the rules carry a machine none is measured; another one that the user names comes before it.
test_rules_carry_machine() {
    local file="$tmp/carry"
    rules "$file" 'han-rules 1' 'bcast nodes=2 ppn=2 bytes=* : algorithm=auto' "${MACHINE[@]:1}"
    test_model_decides --mca "$file_variable" "$file" && ! said 'measured in' &&
        [[ $(grep -c "coll:han: .*: the machine of $file is used:" "$tmp/err") == 1 ]] &&
        said '^up latency 10us overhead 8us 9us copy 2GB/s ' || return 1
    run --mca "$file_variable" "$file" --mca coll_han_machine "$tmp/machine" --mca coll_han_verbose 1 -- &&
        said "the machine of $tmp/machine is used:" && ! said "the machine of $file" || return 1
    run --mca "$file_variable" "$file" "${UNKNOWN[@]}" --mca coll_han_verbose 2 -- && ! said 'the machine of' &&
        after world bcast | t_finds -F "$MODEL" || return 1
    run --mca "$file_variable" "$file" --mca coll_han_use_dynamic_file_rules 0 --mca coll_han_verbose 1 -- &&
        said 'the machine that was measured is used:'
}

# Of rules that are others on the second node nothing is used.
test_carried_machines_differ() {
    local node
    for node in 0 1; do
        rules "$tmp/$cluster-n$node/other_carried" "${GOOD[@]}" "${MACHINE[@]:1}" "calls step ${node}us"
    done
    test_bad "rules that carry another machine on the second node" other_carried \
        "other_carried on $cluster-n[01]: it is not what it is elsewhere; accepted: the same file on all nodes"
}

# It is taken to be TCP at 40 Gbit/s, as by han_rules.
test_unknown_machine() {
    local picks
    run "${UNKNOWN[@]}" --mca coll_han_verbose 2 -- && said '^all right$' && ! said 'measured' &&
        after world bcast | t_finds -F "$MODEL" && after part ibcast | t_finds -F "$MODEL" || return 1
    picks=$("$components/../tune/han_rules" explain --machine none --collective bcast --nodes 2 --ppn 2 --bytes 4000 |
        grep '^picks ') && grep -qF -- "(cid 0): bcast of 4000 bytes: $picks" "$tmp/err"
}

test_user_before_machine() {
    run --mca coll_han_machine "$tmp/machine" --mca coll_han_bcast_algorithm fallback --mca coll_han_verbose 2 -- &&
        after world bcast | t_finds 'fallback.*(algorithm set by the user)'
}

# One file is as it should be, the other one is not: that one alone is told of, and not used.
test_one_of_two() {
    run --mca "$file_variable" "$tmp/good" --mca coll_han_machine "$tmp/none" -- && said '^all right$' &&
        [[ $(grep -c 'coll:han' "$tmp/err") == 1 ]] && said "coll:han: $tmp/none on .*: it cannot be read" || return 1
    run --mca "$file_variable" "$tmp/none" --mca coll_han_machine "$tmp/machine" --mca coll_han_verbose 2 -- &&
        after world bcast | t_finds -F "$MODEL"
}

test_bad_machines() {
    local file_variable=coll_han_machine node
    test_bad "a missing machine" "$tmp/none" "$tmp/none on $cluster-n0: it cannot be read \(No such.*accepted: a readable file"
    rules "$tmp/bad" "${MACHINE[@]}" 'up speed 3'
    test_bad "a bad line of a machine" "$tmp/bad" "$tmp/bad:6: \"speed\" is no field of up; accepted: latency, .*"
    rules "$tmp/short" "${MACHINE[@]:0:4}"
    ! t_all || test_bad "a machine without cores" "$tmp/short" "$tmp/short:4: cores has no node; accepted: a number from 1 to 65536"
    for node in 0 1; do
        rules "$tmp/$cluster-n$node/same_machine" "${MACHINE[@]}"
        rules "$tmp/$cluster-n$node/other_machine" "${MACHINE[@]}" "calls step ${node}us"
    done
    t_check "machines that are the same on all nodes are used" test_machine_obeyed same_machine
    test_bad "a machine that is another one on the second node" other_machine \
        "other_machine on $cluster-n[01]: it is not what it is elsewhere; accepted: the same file on all nodes" strict
}

# ---------------------------------------------------------------- refused

# One line of one rank, and the program runs as without the file: the machine is measured, and the model chooses.  (That
# nothing else is said where nobody asks is a test of its own.)
test_refused() {                    # test_refused FILE PATTERN [OPTIONS...]
    local file=$1 pattern=$2
    shift 2
    run --mca "$file_variable" "$file" "$@" --mca coll_han_start 0 --mca coll_han_verbose 2 -- && said '^all right$' &&
        [[ $(grep -c 'coll:han: .*; HAN goes on without it$' "$tmp/err") == 1 ]] && said "coll:han: $pattern; HAN goes on without it$" &&
        after world bcast | t_finds -F "$MODEL" && after part ibcast | t_finds -F "$MODEL" && said 'the machine that was measured is used:'
}

# Where nobody has asked for more.
test_refused_in_a_line() {          # test_refused_in_a_line FILE
    run --mca "$file_variable" "$1" -- && said '^all right$' && [[ $(grep -c 'coll:han' "$tmp/err") == 1 ]] &&
        said 'coll:han: .*; HAN goes on without it$'
}

# One line of one rank, and the program does not run.
test_strict() {                     # test_strict FILE PATTERN [OPTIONS...]
    local file=$1 pattern=$2 status=0
    shift 2
    run --mca "$file_variable" "$file" --mca coll_han_rules_strict 1 "$@" -- || status=$?
    ((status != 0 && status != 124 && status != 137)) && [[ $(grep -c 'coll:han' "$tmp/err") == 1 ]] &&
        said "coll:han: $pattern; coll_han_rules_strict is set: the job ends here$" && ! said '^part$'
}

# What a job does that is strict does not depend on what is wrong: one of each kind, with "strict", is enough.
test_bad() {                        # test_bad NAME FILE PATTERN [strict]
    local check=t_check_all
    [[ -z ${4:-} ]] || check=t_check
    t_check "$1: one message, and the job goes on without" test_refused "$2" "$3"
    "$check" "$1, strict: one message, and the job ends" test_strict "$2" "$3"
}

# On one node HAN has nothing to do, and a file that cannot be used is told of all the same.
test_told_on_one_node() {           # test_told_on_one_node RANKS
    run --np "$1" --mca "$file_variable" "$tmp/none" -- && said '^all right$' && [[ $(grep -c 'coll:han' "$tmp/err") == 1 ]] &&
        said "coll:han: $tmp/none on .*: it cannot be read .*; HAN has nothing to do in this job$"
}

test_all_bad() {
    local node
    test_bad "a missing file" "$tmp/none" "$tmp/none on $cluster-n0: it cannot be read \(No such.*accepted: a readable file"
    t_check_all "a missing file: nothing else is said" test_refused_in_a_line "$tmp/none"
    ! t_all || test_bad "a folder" "$tmp" "$tmp on $cluster-n0: it is not a file but a folder; accepted: a text file"
    rules "$tmp/bad" "${GOOD[@]}" 'reduce nodes=2 ppn=2 bytes=8 : algorithm=treee'
    test_bad "a bad line" "$tmp/bad" "$tmp/bad:4: algorithm=treee; accepted: auto, fallback, simple, .*" strict
    head -c 3000 /bin/sh >"$tmp/binary"
    ! t_all || test_bad "a program" "$tmp/binary" "$tmp/binary:1: .*; accepted: .*"

    # In the folder of each node.
    for node in 0 1; do
        rules "$tmp/$cluster-n$node/same" "${GOOD[@]}"
    done
    t_check "files that are the same on all nodes are obeyed" test_obeyed_by same
    rules "$tmp/$cluster-n0/differs" "${GOOD[@]}"
    rules "$tmp/$cluster-n1/differs" "${OTHER[@]}"
    test_bad "a file that is another one on the second node" differs \
        "differs on $cluster-n[01]: it is not what it is elsewhere; accepted: the same file on all nodes"
    t_check "a file that is another one on the second node: nothing else is said" test_refused_in_a_line differs
    rules "$tmp/$cluster-n0/half" "${GOOD[@]}"
    test_bad "a file that is missing on the second node" half \
        "half on $cluster-n1: it cannot be read \(No such.*accepted: a readable file"
    rules "$tmp/$cluster-n1/second" "${GOOD[@]}"
    ! t_all || test_bad "a file that is missing on the first node" second \
        "second on $cluster-n0: it cannot be read \(No such.*accepted: a readable file"
    rules "$tmp/$cluster-n0/spoilt" "${GOOD[@]}"
    rules "$tmp/$cluster-n1/spoilt" "${GOOD[@]}" 'rubbish'
    test_bad "a file with a bad line on the second node only" spoilt \
        "spoilt:4: there is no colon; accepted: .*"
}

test_obeyed_by() {                  # test_obeyed_by FILE
    run --mca "$file_variable" "$1" --mca coll_han_verbose 2 -- && said '^all right$' &&
        after part ibcast | t_finds -F "($1:3:" && after world bcast | t_finds -F "($1:3:"
}

test_no_name() {
    run --mca coll_han_use_dynamic_file_rules 1 -- && said '^all right$' &&
        [[ $(grep -c 'coll:han' "$tmp/err") == 1 ]] &&
        said 'coll_han_use_dynamic_file_rules is set, but coll_han_dynamic_rules_filename is not; accepted: .*'
}

# ---------------------------------------------------------------- a second job

# The second job starts in a folder where its file is the same, or another.
test_spawn() {                      # test_spawn FOLDER PATTERN-FOR-MERGED-BCAST
    run --mca "$file_variable" rules "${UNKNOWN[@]}" --mca coll_han_verbose 2 -- --spawn "$tmp/$1" && said '^all right$' &&
        after merged bcast | t_finds -E "$2" && after 'merged again' bcast | t_finds -E "$2" &&
        after 'merged again' ibcast | t_finds -F 'fallback (topology or rules are not known without asking)' &&
        after 'merged again' iallgather | t_finds -F "$MODEL"
}

# Each job is told of it in MPI_Init, also that on one node, where HAN settles nothing.
test_bad_spawn() {
    run --mca "$file_variable" "$tmp/none" -- --spawn-one "$tmp" && said '^all right$' &&
        [[ $(grep -c 'coll:han' "$tmp/err") == 2 ]]
}

test_spawn_message() {
    run --mca "$file_variable" rules -- --spawn "$tmp/with_other" && said '^all right$' &&
        [[ $(grep -c 'coll:han' "$tmp/err") == 1 ]] && said 'rules on .*: it is not what it is elsewhere; accepted: '
}

# ---------------------------------------------------------------- main

command -v mpirun >/dev/null || { echo "1..0 # SKIP no mpirun"; exit 77; }
find_components
mpicc -o "$tmp/load_rules" "$HERE/load_rules.c" || exit 2
mkdir "$tmp/$cluster-n0" "$tmp/$cluster-n1" "$tmp/with_same" "$tmp/with_other" "$tmp/with_none"
cat >"$tmp/in_own_folder" <<'SCRIPT'
#!/bin/sh
cd "$(dirname "$0")/$(hostname)" && exec "$@"
SCRIPT
chmod 755 "$tmp" "$tmp/in_own_folder"
rules "$tmp/good" "${GOOD[@]}"
rules "$tmp/machine" "${MACHINE[@]}"
for folder in "$cluster-n0" "$cluster-n1" with_same; do
    rules "$tmp/$folder/rules" "${GOOD[@]}"
done
rules "$tmp/with_other/rules" "${OTHER[@]}"
t_needs cluster_up 2
export OMPI_MCA_mca_base_component_path=$components:SYS_DEFAULT

t_check "a named file is obeyed, by nonblocking calls and parts of a communicator too" test_obeyed
t_check "verbose 1 tells once which file is used, and what it was made on" test_told
t_check "a file is read though signals interrupt that" test_interrupted
t_check "a good file says nothing" test_silent --mca "$file_variable" "$tmp/good"
t_check "coll_han_use_dynamic_file_rules 0 switches a file off" \
    test_not_used --mca "$file_variable" "$tmp/good" --mca coll_han_use_dynamic_file_rules 0
t_check "coll_han_use_dynamic_file_rules 0 switches a bad file off, silently" \
    test_silent --mca "$file_variable" "$tmp/none" --mca coll_han_use_dynamic_file_rules 0
t_check "coll_han_use_dynamic_file_rules 1 without a name: one message" test_no_name
t_check "what the user sets wins over the file" test_user_wins
t_check "what the file has no rule for, and the model no time, is done by the built-in rules" test_others_by_builtin
t_check "algorithm=auto leaves a call to the model" \
    test_left_to_model bcast 'bcast nodes=2 ppn=2 bytes=* : algorithm=auto'
t_check "an algorithm that cannot do a nonblocking call leaves it to the model" \
    test_left_to_model ibcast 'bcast nodes=2 ppn=2 bytes=* : algorithm=pipeline'
test_all_bad
t_check "a named machine: the model chooses, for nonblocking calls and parts of a communicator too" test_machine_obeyed "$tmp/machine"
t_check "a file of rules decides before the model, or leaves it to it" test_rules_before_machine
t_check "what the user sets wins over the model" test_user_before_machine
t_check "rules carry a machine, and none is measured" test_rules_carry_machine
test_carried_machines_differ
t_check "of two files only the one that cannot be used is not" test_one_of_two
test_bad_machines
for ranks in 1 2; do
    t_check "a missing file, $ranks ranks on one node: one message" test_told_on_one_node "$ranks"
    t_check_all "a missing file, $ranks ranks on one node, strict: one message, and the job ends" \
        test_strict "$tmp/none" "$tmp/none on .*: it cannot be read .*" --np "$ranks"
done
t_check "a good file on one node says nothing" test_silent --np 2 --mca "$file_variable" "$tmp/good"
t_check "with nothing set: the machine is measured, the model chooses, and what is told is a file" test_machine_measured
t_check_all "the same with coll_han_machine auto" test_machine_measured --mca coll_han_machine auto
t_check "coll_han_machine none: no measurement, and the model chooses for a usual machine" test_unknown_machine
if (($(t_processors | wc -l) > 1)); then
    t_check "a measured machine has the processors of all ranks" test_bound_by_others
else
    t_skip "a measured machine has the processors of all ranks" "one processor"
fi
t_check "a measured machine has the eager limits that the user has set" test_eager_limits
t_check "a second job with the same file: it is obeyed where both meet" test_spawn with_same '\(rules:3:'
t_check "a second job with another file: the model where both meet" test_spawn with_other '\(the cost model\)'
t_check_all "a second job without the file: the model where both meet" test_spawn with_none '\(the cost model\)'
t_check "a second job with another file: one message" test_spawn_message
t_check "a second job, and each has measured: no message" test_measured_spawn
t_check "a second job, and the file is missing: nobody waits where both meet" test_bad_spawn
"$VCLUSTER" down --name "$cluster" >/dev/null
status=0
cluster_up 2 20mbit >"$tmp/up" 2>&1 || status=$?
if ((status == 77)); then
    t_skip "a measured machine has slow links where they are" "no virtual cluster with a rate: $(head -n 1 "$tmp/up")"
elif ((status != 0)); then
    t_result 1 "a virtual cluster with a rate can be made" "$tmp/up"
else
    t_check "a measured machine has slow links where they are" test_slow_link
fi

echo "1..$count"
exit "$failed"
