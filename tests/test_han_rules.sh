#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tune/han_rules as a user meets it; no MPI is started.  HAN_RULES names the
# program (default: tune/han_rules here, one above, or in the source folder).
# Exit code 0 pass, 1 fail.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
readonly DOCUMENT=$HERE/../docs/rules.md

tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
t_notes=("$tmp/out" "$tmp/err")

# Exit code, output and messages of the tool.
run() {                             # run CODE ARGUMENTS...
    local wanted=$1 status=0
    shift
    timeout "$LIMIT" "$tool" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
    ((status == wanted))
}

printed() {                         # printed TEXT: it is in the output
    grep -qF -- "$1" "$tmp/out"
}

told() {                            # told TEXT: it is in the messages
    grep -qF -- "$1" "$tmp/err"
}

write() {                           # write FILE LINE...
    local file=$tmp/$1
    shift
    printf '%s\n' "$@" >"$file"
}

# ---------------------------------------------------------------- check

test_good() {
    run 0 check "$tmp/good" && printed "$tmp/good: 3 rules for bcast allreduce; machine: two nodes" && [[ ! -s $tmp/err ]]
}

test_bad() {                        # test_bad MESSAGE LINE...
    local message=$1
    shift
    write bad 'han-rules 1' "$@"
    run 1 check "$tmp/bad" && told "$tmp/bad:$message" && [[ $(wc -l <"$tmp/err") == 1 && ! -s $tmp/out ]]
}

test_unreadable() {                 # test_unreadable FILE MESSAGE
    run 1 check "$1" && told "$1: $2"
}

test_each_file() {
    write bad 'han-rules 1' rubbish
    run 1 check "$tmp/good" "$tmp/bad" "$tmp/none" && printed "$tmp/good: 3 rules" && told "$tmp/bad:2:" &&
        told "$tmp/none: it cannot be read"
}

# ---------------------------------------------------------------- explain

test_explained() {                  # test_explained TEXT OPTIONS...
    local text=$1
    shift
    run 0 explain "$@" && printed "$text"
}

test_runners_up() {
    run 0 explain "$tmp/good" --collective allreduce --nodes 64 --ppn 48 --bytes 1M || return 1
    printed 'allreduce of 1048576 bytes on 64 nodes, 48 ranks per node, consecutive' &&
        printed "nearest  $tmp/good:4: allreduce nodes=2-8 ppn=* bytes=64K- (3.00 doublings away)" &&
        printed 'algorithm=ring ibalg=pipeline ibs=16K' &&
        printed "next     $tmp/good:3: allreduce nodes=2-8 ppn=* bytes=0-16K (9.00 doublings away)" &&
        printed "decides  $tmp/good:4:"
}

# ---------------------------------------------------------------- the model

readonly CLUSTER=('han-machine 1' 'low latency 1us overhead 2us 2us copy 5GB/s' 'up latency 9us overhead 8us 9us copy 2GB/s rate 25MB/s'
    'memory copy 2GB/s reduce 7GB/s' 'cores node 16')

test_model_explained() {
    write cluster "${CLUSTER[@]}"
    run 0 explain --collective bcast --nodes 8 --ppn 1 --bytes 1M --machine "$tmp/cluster" || return 1
    # Each link carries each byte once: 42 ms at 25 MB/s, and no call takes less.
    grep -qE '^picks +4[0-9]{4}\.[0-9] +41943\.0 +1\.[0-9]{2}  .*=pipeline' "$tmp/out" || return 1
    [[ $(grep -cE '^(picks|next) +[0-9.]+ +[0-9.]+ +[0-9.]+  [a-z]' "$tmp/out") == 5 ]] &&
        printed "decides  the model, for $tmp/cluster" && ! printed 'built-in rules'
}

# The file, then the model, then, where there is no time to tell, the built-in rules.
test_model_in_turn() {
    write cluster "${CLUSTER[@]}"
    write some 'han-rules 1' 'bcast nodes=* ppn=* bytes=0-1K : algorithm=simple' 'bcast nodes=* ppn=* bytes=1M- : algorithm=auto'
    local -a call=(explain "$tmp/some" --collective bcast --ppn 1 --machine "$tmp/cluster")
    run 0 "${call[@]}" --nodes 8 --bytes 8 && printed "decides  $tmp/some:2:" && printed 'picks ' || return 1
    run 0 "${call[@]}" --nodes 8 --bytes 1M && printed 'left     to the model: algorithm=auto' &&
        printed "decides  the model, for $tmp/cluster" || return 1
    run 0 "${call[@]}" --nodes 1 --bytes 1M && printed 'left     to the built-in rules: algorithm=auto' &&
        printed 'decides  built-in rules:' && ! printed 'picks '
}

# A message of 4 KB takes a link of 25 MB/s longer than all else: of 16 ranks the root of a flat tree gets 15, in four groups 6.
test_predicted() {
    local -a call=(--machine "$tmp/cluster" --collective reduce --nodes 16 --ppn 1 --bytes 1M)
    write cluster "${CLUSTER[@]}"
    run 0 predict 'groups iralg=linear groups=1' 'groups iralg=linear groups=4' tree "${call[@]}" || return 1
    awk 'NR == 1 { bad += !/^ +single, us in a row, us$/; next }
        { time[NR] = $1; row[NR] = $2 }
        END { exit bad || NR != 4 || time[2] != time[4] || !(2.2 < time[2] / time[3] && time[2] / time[3] < 2.6) || row[2] < 2 * row[3] }' "$tmp/out" ||
        return 1
    run 2 predict ring "${call[@]}" && told "'ring': algorithm=ring does not do reduce" &&
        run 2 predict "${call[@]}" && told 'predict wants parameters' && run 2 predict tree --bytes 8 && told 'predict wants --collective' &&
        run 1 predict tree "${call[@]}" --machine "$tmp/none" && told "$tmp/none: "
}

# The same by bench/groups.
test_groups_predicted() {
    write cluster "${CLUSTER[@]}"
    "$HERE/../bench/groups" --model "$tmp/cluster" --program "$tool" --shapes 16x1,4x4:node --bytes 1M --trees linear,binomial \
        --output "$tmp/groups" >"$tmp/out" 2>"$tmp/err" || return 1
    printed 'reduce of 1 MB, 16x1 by slot, segments of 32K; by the model' && printed 'reduce of 1 MB, 4x4 by node, segments' &&
        grep -qE '^linear .* 2\.[0-9]+ times as fast in 4 groups$' "$tmp/out" && [[ $(wc -l <"$tmp/groups.csv") == 17 ]]
}

# Of two candidates the model takes the better one by single calls, and the worse one in a row.
readonly MEASURED=("nodes,ppn,map,rate,collective,bytes,algorithm,single_us,row_us,wrong,calls,rounds")
readonly BCASTS=(4,1,slot,25,bcast,1048576,fallback,200000,130000,0,4,5
    '4,1,slot,25,bcast,1048576,tree ibalg=linear ibs=0,150000,120000,0,4,5'
    '4,1,slot,25,bcast,1048576,tree ibalg=pipeline ibs=16384,100000,90000,0,4,5'
    '4,1,slot,25,bcast,1048576,tree ibalg=pipeline ibs=0,170000,60000,0,4,5')

test_regret() {
    write cluster "${CLUSTER[@]}"
    write table "${MEASURED[@]}" "${BCASTS[@]}" \
        4,1,slot,none,bcast,1048576,fallback,1,1,0,4,5
    run 0 regret "$tmp/table" --machine "$tmp/cluster" --rate 25 || return 1
    # columns: points; a pick for each clock; over 1.25; for both; over the fallback; of these over 1.05
    grep -qE '^bcast +1 +1\.000 +[0-9.]+ +0 +[01] +1\.000 +1\.500 +0\.50 +0\.69 +0 +0$' "$tmp/out" || return 1
    grep -qE '^all +1 ' "$tmp/out" || return 1
    run 0 regret "$tmp/table" --machine "$tmp/cluster" --show all || return 1
    [[ $(grep -c '  4x1 .*: .* predicted .*, best ' "$tmp/out") == 4 ]]
}

# What a job with a table does: its rule where it serves, else what the model, or a built-in rule, says.
test_regret_rules() {
    write cluster "${CLUSTER[@]}"
    write table "${MEASURED[@]}" "${BCASTS[@]}" \
        4,1,slot,25,reduce,8,fallback,10,10,0,4,5 \
        4,1,slot,25,ibcast,8,fallback,10,10,0,4,5 \
        4,1,slot,25,barrier,0,fallback,10,10,0,4,5 \
        4,1,slot,25,barrier,0,leaders,5,5,0,4,5
    write rules 'han-rules 1' "${CLUSTER[@]:1}" \
        'bcast nodes=* ppn=* bytes=* form=blocking : algorithm=tree ibalg=pipeline ibs=0' \
        'reduce nodes=* ppn=* bytes=* : algorithm=tree iralg=binary irs=4096' 'barrier nodes=* ppn=* bytes=* : algorithm=auto'
    run 0 regret "$tmp/table" --rules "$tmp/rules" --show all || return 1
    # columns: points; over the best; by both over the least, and how often by more than 1.05; over the fallback; slower
    grep -qE '^bcast +1 +1\.700 +1\.000 +1\.133 +1 +0\.85 +0\.46 +0 +0 +0$' "$tmp/out" || return 1
    printed '4x1 25 bcast, 1048576 bytes, 1.13: tree ibalg=pipeline ibs=0 (170000.0 us, 60000.0 us), best tree ibalg=pipeline ibs=16384 (' &&
        printed 'reduce, 8 bytes, tree iralg=binary irs=4096 was not measured' && grep -qE '^reduce +0 +1$' "$tmp/out" &&
        grep -qE '^barrier +1 +1\.000 +1\.000 +1\.000 +0 +0\.50 ' "$tmp/out" && grep -qE '^ibcast +1 ' "$tmp/out" &&
        grep -qE '^all +3 .* 1$' "$tmp/out" || return 1
    # The model's machine: the file's, or another one; there is none, or no file.
    run 0 regret "$tmp/table" --rules "$tmp/rules" --machine "$tmp/cluster" && run 1 regret "$tmp/table" --rules "$tmp/none" &&
        told "$tmp/none: " && run 2 regret "$tmp/table" --rules "$tmp/good" && told '--rules with a machine in its file'
}

# On what was measured on virtual clusters: no pick takes much more than the best. The means by each clock are at most
# MOST; SINGLE and ROW of the fallback's time. Of so many times picks for both are above 1.05 of the fallback's: SLOWER.
test_regret_measured() {            # test_regret_measured TABLE SHAPE RATE MOST SINGLE ROW SLOWER
    local table=$HERE/$1.csv rate=$3 shape=() points=48
    [[ $2 == any ]] || shape=(--shape "$2")
    case $1-$rate in
        candidates-* | *_nonblocking-*) cp "$HERE/class.machine" "$tmp/cluster" ;;
        *-none) sed 's/ rate [^ ]*//' "$HERE/cluster.machine" >"$tmp/cluster" ;;
        *-1gbit) sed 's/ rate [^ ]*/ rate 120MB\/s/' "$HERE/cluster.machine" >"$tmp/cluster" ;;
        *) cp "$HERE/cluster.machine" "$tmp/cluster" ;;
    esac
    case $1 in
        *_rates) points=32 ;;
        *_barrier) points=16 ;;
    esac
    run 0 regret "$table" --machine "$tmp/cluster" "${shape[@]}" --rate "$rate" || return 1
    awk -v points="$points" -v most="$4" -v single="$5" -v row="$6" -v slower="$7" '
        $1 == "all" { good = $2 >= points && $3 <= most && $4 <= most && $9 < single && $10 < row && $11 + $12 <= slower }
        END { exit !good }' "$tmp/out" ||
        { cat "$tmp/out" >>"$tmp/err"; return 1; }
}

test_regret_nowhere() {             # test_regret_nowhere OPTION VALUE MESSAGE
    run 1 regret "$HERE/candidates.csv" --machine "$HERE/cluster.machine" "$1" "$2" && told "candidates.csv: $3"
}

test_regret_refused() {             # test_regret_refused MESSAGE LINE...: of a table
    local message=$1
    shift
    write cluster "${CLUSTER[@]}"
    write table "$@"
    run 1 regret "$tmp/table" --machine "$tmp/cluster" && told "$message"
}

test_machine_refused() {
    write cluster "${CLUSTER[0]}" 'up speed 3'
    write table "${MEASURED[@]}"
    run 1 regret "$tmp/table" --machine "$tmp/cluster" && told "$tmp/cluster:2: \"speed\" is no field of up; accepted: "
}

# ---------------------------------------------------------------- convert

readonly NATIVE=('2           # collectives' 'bcast' '3'
    '2 1  1  2  0 han  1048576 tuned      # the communicator'
    '1 2  1 1 0 libnbc  8 2  0 libnbc  65536 adapt [1024 2048]'
    '0 1  1  2  0 tuned  4096 sm'
    '0 # allgather, by its number' '1' '2 1 1 2' '0 tuned 1024 han')

test_converted() {
    write native "${NATIVE[@]}"
    run 0 convert "$tmp/native" && [[ ! -s $tmp/err ]] || return 1
    grep -v '^#' "$tmp/out" >"$tmp/lines"
    diff - "$tmp/lines" >>"$tmp/err" <<'LINES'
han-rules 1
bcast nodes=1-7 ppn=* bytes=0-4095 : algorithm=pipeline imod=libnbc
bcast nodes=1-7 ppn=* bytes=4K-1048575 : algorithm=pipeline imod=libnbc smod=sm
bcast nodes=1-7 ppn=* bytes=1M- : algorithm=fallback
bcast nodes=8- ppn=* bytes=0-4095 : algorithm=pipeline imod=libnbc
bcast nodes=8- ppn=* bytes=4K-65535 : algorithm=pipeline imod=libnbc smod=sm
bcast nodes=8- ppn=* bytes=64K-1048575 : algorithm=pipeline smod=sm
bcast nodes=8- ppn=* bytes=1M- : algorithm=fallback
allgather nodes=* ppn=* bytes=0-1023 : algorithm=fallback
allgather nodes=* ppn=* bytes=1K- : algorithm=auto
LINES
    local status=$?
    cp "$tmp/out" "$tmp/converted"
    ((status == 0)) && run 0 check "$tmp/converted"
}

test_last_level_counts() {
    write native 1 bcast 2 '2 1 1 1 0 han' '2 1 1 1 0 tuned'
    run 0 convert "$tmp/native" && [[ $(grep -c '^bcast' "$tmp/out") == 1 ]] && printed 'algorithm=fallback'
}

test_left_out() {                   # test_left_out MESSAGE LINE...
    local message=$1
    shift
    write native "$@"
    run 0 convert "$tmp/native" && told "$tmp/native:$message"
}

test_not_converted() {              # test_not_converted MESSAGE LINE...
    local message=$1
    shift
    write native "$@"
    run 1 convert "$tmp/native" && told "$tmp/native:$message" && [[ $(wc -l <"$tmp/err") == 1 ]]
}

# ---------------------------------------------------------------- use

test_help() {
    local command

    for command in '' check explain builtin convert predict regret 'regret none.csv --rate none' 'check none'; do
        # shellcheck disable=SC2086  # none is no argument
        run 0 $command --help && printed 'han_rules explain' && printed 'Exit codes: 0' && [[ ! -s $tmp/err ]] || return 1
    done
}

test_use() {                        # test_use MESSAGE ARGUMENTS...
    local message=$1
    shift
    run 2 "$@" && told "$message" && [[ ! -s $tmp/out ]]
}

test_builtin() {
    run 0 builtin && cp "$tmp/out" "$tmp/builtin" && cmp -s "$HERE/../coll_han_builtin.rules" "$tmp/builtin" &&
        run 0 check "$tmp/builtin"
}

test_full_disk() {
    local status=0
    "$tool" builtin >/dev/full 2>"$tmp/err" || status=$?
    ((status == 1)) && told 'the output cannot be written'
}

# ---------------------------------------------------------------- docs/rules.md

test_example() {
    awk '/^han-rules 1 / { inside = 1 } /^```/ { inside = 0 } inside' "$DOCUMENT" >"$tmp/example"
    run 0 check "$tmp/example" && printed 'allreduce'
}

# Every name that the tool accepts stands there.
test_names() {
    local field name
    for field in order form algorithm smod imod ibalg sbalg; do
        case $field in
            order | form) write bad 'han-rules 1' "bcast $field=x : x" ;;
            *) write bad 'han-rules 1' "bcast : $field=x" ;;
        esac
        run 1 check "$tmp/bad" || return 1
        while read -r name; do
            grep -qwF -- "$name" "$DOCUMENT" || { echo "$name is not in it" >>"$tmp/err"; return 1; }
        done < <(sed 's/.*accepted: //; s/, /\n/g' "$tmp/err")
    done
}

# ---------------------------------------------------------------- main

tool=''
for tool in ${HAN_RULES:+"$HAN_RULES"} tune/han_rules ../tune/han_rules "$HERE/../tune/han_rules"; do
    [[ ! -x $tool ]] || break
done
[[ -x $tool ]] || { echo "test_han_rules.sh: no tune/han_rules: run make" >&2; exit 2; }
write good 'han-rules 1' 'machine two nodes' \
    'allreduce nodes=2-8 ppn=* bytes=0-16K : algorithm=tree ibalg=binomial' \
    'allreduce nodes=2-8 ppn=* bytes=64K-  : algorithm=ring ibalg=pipeline ibs=16K' \
    'bcast     nodes=*   ppn=* bytes=*     : algorithm=auto'
write nothing 1 'alltoallw 1 2 1 1 1 0 han'
readonly CALL=(--nodes 4 --ppn 4)

t_check "check tells what a good file has" test_good
t_check "check tells file, line, and what is accepted" \
    test_bad '3: ibs=x; accepted: a number from 0 to 1073741824' 'bcast nodes=2 ppn=2 bytes=1 : algorithm=tree' \
    'bcast nodes=2 ppn=2 bytes=1 : algorithm=tree ibs=x'
t_check "check tells of a line without a colon" test_bad '2: there is no colon' 'bcast nodes=2'
t_check "check tells that a file is missing" test_unreadable "$tmp/none" 'it cannot be read (No such file or directory)'
t_check "check tells that a folder is no file" test_unreadable "$tmp" 'it is not a file but a folder'
t_check "check looks at each file" test_each_file
t_check "explain tells the nearest rule, the next ones, and what is decided" test_runners_up
t_check "explain: between samples the nearer one by ratio" test_explained "decides  $tmp/good:3:" \
    "$tmp/good" --collective allreduce "${CALL[@]}" --bytes 31K
t_check "explain: past the middle of two samples the other one" test_explained "decides  $tmp/good:4:" \
    "$tmp/good" --collective allreduce "${CALL[@]}" --bytes 33K
t_check "explain: algorithm=auto leaves it to the model" test_explained \
    'left     to the model: algorithm=auto' "$tmp/good" --collective bcast "${CALL[@]}" --bytes 1K
t_check "explain: what the file has no rule for, the built-in rules decide" test_explained 'decides  built-in rules:' \
    "$tmp/good" --collective scan "${CALL[@]}" --bytes 0
t_check "explain: of a barrier, without data, the model tells" test_explained 'decides  the model, for ' \
    --collective barrier "${CALL[@]}" --bytes 0
t_check "explain tells the built-in rule where the root alone knows how long blocks are" test_explained 'decides  built-in rules:' \
    --collective gatherv "${CALL[@]}" --bytes 1K
write unsized 'han-rules 1' 'alltoallv nodes=* ppn=* bytes=0-1K : algorithm=fallback' 'alltoallv nodes=* ppn=* bytes=2K- : algorithm=exchange'
t_check "explain: of an alltoallv HAN knows no bytes, so the rule for 0 decides" test_explained "decides  $tmp/unsized:2:" \
    "$tmp/unsized" --collective alltoallv "${CALL[@]}" --bytes 64K
for machine in auto none; do
    t_check "explain --machine $machine without a file tells the model of the usual machine" test_explained \
        'decides  the model, for TCP at 40 Gbit/s' --collective allreduce "${CALL[@]}" --bytes 1G --order scattered --machine "$machine"
done
write swaps 'han-rules 1' 'alltoall nodes=* ppn=* bytes=* : algorithm=simple'
t_check "explain tells where the rule's algorithm does not serve the call" test_explained \
    'left     to the model: the algorithm does not serve this call' "$tmp/swaps" --collective alltoall "${CALL[@]}" --bytes 1K \
    --order scattered
t_check "explain wants all of the input" test_use 'explain wants --bytes' explain "$tmp/good" --collective bcast "${CALL[@]}"
t_check "explain has an answer for as many bytes as a number holds" run 0 \
    explain "$tmp/good" --collective bcast "${CALL[@]}" --bytes 18446744073709551615
t_check "explain has an answer for more ranks than an int counts" run 0 \
    explain --collective gatherv --form blocking --nodes 65536 --ppn 65536 --bytes 0
t_check "explain tells what a number may be" test_use 'nodes=x; accepted:' \
    explain "$tmp/good" --collective bcast --nodes x --ppn 4 --bytes 1
t_check "explain wants one number, not a range" test_use 'one number each' \
    explain "$tmp/good" --collective bcast --nodes 2-4 --ppn 4 --bytes 1
t_check "explain tells which collectives there are" test_use '"bcats" is no collective; accepted: bcast' \
    explain "$tmp/good" --collective bcats "${CALL[@]}" --bytes 1
t_check "explain tells of an unknown form" test_use 'form=async; accepted: *, blocking' \
    explain "$tmp/good" --collective bcast "${CALL[@]}" --bytes 1 --form async
t_check "explain tells of an unknown option" test_use 'option --size is unknown' explain "$tmp/good" --size 1
t_check "explain tells of an option without value" test_use '--bytes wants a value' explain "$tmp/good" --bytes
t_check "explain tells of a bad file" run 1 explain "$tmp/none" --collective bcast "${CALL[@]}" --bytes 1
t_check "explain shows the model's best candidates" test_model_explained
t_check "explain: the file decides, then the model, then the built-in rules" test_model_in_turn
t_check "a machine that is wrong is told of, with its line" test_machine_refused
t_check "predict tells what parameters take by the model" test_predicted
t_check "bench/groups tells what groups do by the model" test_groups_predicted
t_check "regret: what the model's picks take over the best" test_regret
t_check "regret: what a table takes over the best" test_regret_rules
while read -r table shape rate most single row slower; do
    t_check "regret: $table, $shape, $rate: the picks take at most $most of the best, in the mean" \
        test_regret_measured "$table" "$shape" "$rate" "$most" "$single" "$row" "$slower"
done <<'END'
candidates 4x4 none 1.04 0.76 0.68 5
candidates 8x2 none 1.06 0.82 0.78 5
candidates 4x1 none 1.04 0.92 0.93 4
candidates 2x2 none 1.09 0.91 0.87 14
candidates_nonblocking 4x4 none 1.06 0.7 0.48 3
candidates_nonblocking 8x2 none 1.05 0.7 0.55 4
candidates_nonblocking 4x1 none 1.05 0.85 0.72 0
candidates_nonblocking 2x2 none 1.09 0.85 0.67 3
candidates_nonblocking 3x3 none 1.09 0.74 0.51 8
candidates_nonblocking 16x1 none 1.05 0.7 0.63 0
candidates_barrier any none 1.04 0.64 0.56 1
candidates_rates 4x1 200mbit 1.02 0.87 0.81 7
candidates_rates 2x2 200mbit 1.04 0.83 0.76 0
candidates_rates 8x2 200mbit 1.09 0.74 0.7 5
candidates_rates 4x4 200mbit 1.05 0.59 0.52 2
candidates_rates 4x1 1gbit 1.04 0.85 0.83 5
candidates_rates 4x4 1gbit 1.12 0.61 0.56 2
candidates_rates 8x2 1gbit 1.16 0.77 0.78 7
END
t_check "regret tells of a shape that is not there" test_regret_nowhere --shape 4x5 'no line is of shape 4x5 and rate any'
t_check "regret tells of a rate that is not there" test_regret_nowhere --rate 100mbit 'no line is of shape any and rate 100mbit'
t_check "regret tells of a missing column" test_regret_refused 'table:1: there is no column row_us; accepted: ' nodes,ppn,map,rate,collective,bytes,algorithm,single_us
t_check "regret tells of an empty table" test_regret_refused 'table:1: there is no column nodes' ''
t_check "regret tells of an unknown algorithm" test_regret_refused 'table:2: algorithm=best' "${MEASURED[@]}" 4,1,slot,1,bcast,8,best,1,1,0,1,1
t_check "regret tells of a call without the fallback" test_regret_refused 'table:2: the first line of a call is not that of the fallback: tree' \
    "${MEASURED[@]}" 4,1,slot,1,bcast,8,tree,1,1,0,1,1
t_check "regret tells of a second call without it" test_regret_refused 'table:3: the first line of a call is not that of the fallback: tree' \
    "${MEASURED[@]}" 4,1,slot,1,bcast,8,fallback,1,1,0,1,1 4,1,slot,1,bcast,64,tree,1,1,0,1,1
t_check "regret tells of bytes that are no number" test_regret_refused 'table:2: bytes is no number: 8K' "${MEASURED[@]}" 4,1,slot,1,bcast,8K,fallback,1,1,0,1,1
t_check "regret tells of a time that is none" test_regret_refused 'table:2: a time is not above 0' "${MEASURED[@]}" 4,1,slot,1,bcast,8,tree,x,1,0,1,1
t_check "regret tells of a short line behind a good one" test_regret_refused 'table:3: there is no field map' "${MEASURED[@]}" 4,1,slot,1,bcast,8,fallback,1,1,0,1,1 4,1
t_check "regret tells of a line for all collectives" test_regret_refused 'table:2: no single collective: *' "${MEASURED[@]}" '4,1,slot,1,*,8,fallback,1,1,0,1,1'
t_check "regret tells of a short line" test_regret_refused 'table:2: there is no field algorithm' "${MEASURED[@]}" 4,1,slot,1,bcast,8
t_check "regret without a machine: exit code 2" test_use 'regret wants --machine' regret "$tmp/good"
t_check "regret without a table: exit code 2" test_use 'regret wants a table of candidates' regret --machine "$tmp/good"
t_check "regret with a wrong word: exit code 2" test_use '--show some; accepted: far, all' regret "$tmp/good" --machine "$tmp/good" --show some
t_check "convert: levels, sizes and messages become ranges" test_converted
t_check "convert: of a level that is there twice the last counts" test_last_level_counts
t_check "convert tells of a collective that HAN has not" \
    test_left_out '2: alltoallw is left out' 2 'alltoallw 1 2 1 1 1 0 han' 'bcast 1 2 1 1 1 0 han'
t_check "convert tells that rules have no size of a communicator" \
    test_left_out '2: bcast: rules cannot tell communicators by their size; that from 64 ranks on stands for all' \
    1 'bcast 1 2 2 1 1 0 han 64 1 0 tuned'
t_check "convert tells of a component that can be no submodule" \
    test_left_out '2: bcast: not every component can be a submodule' 1 'bcast 1 1 1 1 1 0 tuned'
t_check "convert tells of what is left in the file" test_left_out '3: "bcast" and what is behind it is left out' \
    1 'reduce 1 2 1 1 1 0 han' 'bcast 1'
t_check "convert tells of an unknown component" \
    test_not_converted '2: "ucc" is no component; accepted: self, basic, libnbc, tuned, sm, adapt, han' \
    1 'bcast 1 2 1 1 1 0 ucc'
t_check "convert tells of an unknown collective" test_not_converted '2: "bcats" is no collective' 1 'bcats 1'
t_check "convert tells of a bad level" test_not_converted '2: level: "3"; accepted: a number from 0 to 2' 1 'bcast 1 3'
t_check "convert tells of a first size that is not 1" test_not_converted '2: ranks of a level: "4"' 1 'bcast 1 2 1 4'
t_check "convert tells of bytes that do not ascend" test_not_converted '3: bytes do not ascend; accepted: more than 8' \
    1 'bcast 1 2 1 1 3 0 han 8 han' '8 han'
t_check "convert tells of a number that is none" test_not_converted '1: number of collectives: "x"' x
t_check "convert tells of a file that ends too early" test_not_converted '3: bytes of a message: ""' 1 'bcast 1 2 1 1 1'
t_check "convert tells that nothing is left" run 1 convert "$tmp/nothing"
t_check "convert tells of an empty file" test_not_converted '2: number of collectives: ""' ''
t_check "convert tells of a binary file" run 1 convert "$tool"
t_check "convert tells of a missing file" run 1 convert "$tmp/none"
t_check "builtin prints the built-in rules, which are a good file" test_builtin
t_check "the example of docs/rules.md is a good file" test_example
t_check "docs/rules.md has every name of a value" test_names
t_check "--help tells all commands, behind each of them too" test_help
t_check "no command: usage, exit code 2" test_use 'han_rules check FILE' 
t_check "an unknown command: exit code 2" test_use 'there is no command chekc' chekc
t_check "an unknown command, with --help too" test_use 'there is no command chekc' chekc --help
t_check "check without a file: exit code 2" test_use 'check wants a file' check
t_check "output that cannot be written is an error" test_full_disk

echo "1..$count"
exit "$failed"
