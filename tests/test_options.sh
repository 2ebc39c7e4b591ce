#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each option of each tool with a value that is none: one message, which names the
# tool, the option and the value, exit code 2, and nothing has been started or
# installed.  Options that --help shows and that the table has not are found.
# BUILD names the folder with the programs (default: here or one above).  Exit code
# 0 pass, 1 fail.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
TOP=$(realpath -- "$HERE/..")
readonly HERE TOP
build=${BUILD:-.}
[[ -d $build/components ]] || build=..
build=$(realpath -- "$build")

# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
t_notes=("$tmp/out" "$tmp/err" "$tmp/started")

# TOOL | what is wanted beside | options with values that are none
readonly TABLE="
bench/asp        |  | --shapes 4;--rates ,;--sets tund;--set tuned;--ours hann;--rounds 0;--time 0;--vertices 0;--rows 0;--iterations x;--type double;--repetitions 0;--max-slower x;--components /none;--program /none;--output /dev/null/x
bench/board      |  | --shapes 4y4;--shapes 1x4;--shapes 4x4:core;--rates fast!;--rates 0mbit;--rounds 0;--time 0;--time x;--collectives Bcast;--collectives bcst;--sizes 8:x;--from /none;--against /none;--candidates /none;--components /none;--bench /none;--output /dev/null/x
bench/candidates |  | --shapes 4;--rates ,;--rounds 0;--collectives bcst;--bytes 8:x;--only tree=x;--seed x;--components /none;--program /none;--output /dev/null/x
bench/compare    |  | --nodes 0;--nodes x;--ppn 0;--ppn 4,;--map core;--rate fast;--cluster a/b;--sets tund;--set tuned;--ours hann;--rounds 0;--time 0;--collective bcst;--sizes x;--sizes 0;--calls x;--prefer hann;--max-slower x;--min-speedup x;--components /none;--bench /none;--output /dev/null/x
bench/inside     |  | --ranks 0;--ranks 1;--ranks x;--collectives bcst;--sizes x;--time 0;--max-slower x;--output /dev/null
bench/noise      |  | --nodes 0;--ppn x;--map core;--rate fast;--cluster a/b;--sets tund;--set tuned;--ours hann;--rounds 0;--time 0;--collective alltoal;--bytes x;--noise x;--noise 5,10;--noise 0,5,5;--max-slowdown x;--max-slowdown gather=3;--rounds;--components /none;--bench /none;--output /dev/null/x
bench/groups     |  | --shapes 4;--rates ,;--rounds 0;--collective alltoall;--bytes 8:x;--segment x;--trees ,;--groups 0;--model /none;--components /none;--program /none;--output /dev/null/x
bench/learning   |  | --shapes 4;--rates ,;--sets tund;--set tuned;--ours hann;--rounds 0;--time 0;--hidden x;--points 0;--steps 0;--components /none;--program /none;--output /dev/null/x
bench/pipelining |  | --nodes 0;--ppn x;--map core;--rate fast;--cluster a/b;--sets tund;--set tuned;--rounds 0;--time 0;--collective alltoall;--collective bcast;--sizes x;--segments 0;--pipeline x;--components /none;--bench /none;--output /dev/null/x
bench/training   |  | --shapes 4;--rates ,;--sets tund;--set tuned;--ours hann;--rounds 0;--time 0;--networks lenet;--fusion x;--modes fast;--modes segments=0;--in-flight 0;--batch x;--flops fast;--steps 0;--max-slower x;--components /none;--program /none;--output /dev/null/x
cluster/vcluster | up | --nodes 0;--nodes 201;--nodes x;--name a/b;--rate fast;--rate 0;--owner 0;--owner x;--fast
cluster/vcluster | run --ppn 2 -- true | --name none;--name a/b;--ppn 0;--ppn 1025;--ppn 1,,2;--map core;--np 0;--np x;-np x;-n 0;--n x
cluster/vcluster |  | check --name a/b;check --fast;status --name a/b;status --fast;down --name a/b;down --fast
demo.sh          |  | --time 0;--time x
check.sh         |  | --only no-such-step;--seed x;--seed 0
tests/run.sh     |  | --build /none;--depth some;--only no-such-run;--seed x
tests/steady.sh  |  | 0;x;--fast
tests/sanitize.sh |  | memory;--fast
tests/mutants.sh |  | --only no-such-mutant
tests/in-tree.sh |  | --work /dev/null/x;--source /none
tests/test_memory.sh |  | --build /none;--depth some
tests/test_tune.sh |  | --build /none
tests/fuzz.sh    |  | --seconds 0;--seconds x
"

# The same of compiled programs, in the build folder.  Those that use MPI end before MPI_Init, which would fail here.  What
# is wrong with files of han_tune is in test_tune.sh: it wants several nodes.
readonly PROGRAMS="
tune/han_tune       | --output none/x | --mode fast;--heuristics maybe;--collectives bcst;--collectives iibcast;--mode task --collectives scan;--mode task --collectives ibcast;--clock none;--bytes 4M-64K;--bytes 1;--bytes x-1M;--segments x;--segments 1M-16K;--inner x;--trees oak;--nodes x;--nodes 2,;--ppn 0;--repetitions 0-1;--precision 0;--precision x;--seed -1;--seed x;--time-limit 0;--time-limit 5d
tune/han_candidates |  | --collectives bcst;--bytes 7;--bytes 8,,16;--bytes x;--rounds 0;--rounds x;--seed 1048577;--seed x;--rate a,b
bench/han_bench     |  | --collective bcst;bcst;bcast,bcst;reduce,bcast,bcast
bench/han_bench     | ibcast | --segments 0;--pipeline x;--sizes 4M --pipeline 8
bench/han_bench     | bcast | --sizes x;--sizes 8,x;--sizes 0;--sizes 8:;--offset x;--offset -1;--max-time x;--max-time 0;--calls -1;--calls x;--calls 1,;--noise x;--noise 0,51;--noise 5x;--segments x;--segments 0;--pipeline x;--prefer ,;--rate fast;--bucket 5x;-i 0;-i x;-x y;-m x;--range 8:;-M x;-r x;reduce;-q
bench/han_asp       |  | --vertices 0;--vertices x;--vertices 512M;--rows 0;--rows x;--iterations 0;--type double;--repetitions 0;--repetitions 1001;--seed -1;--seed x;--fast
bench/han_training  |  | --networks lenet;--networks ,;--fusion 0;--fusion x;--fusion 2G;--modes fast;--modes segments=0;--modes segment=3;--in-flight 0;--in-flight 4097;--batch 0;--flops fast;--flops 0;--steps 0;--steps 1001;--seed -1;--seed x;--fast
bench/beside        |  | --prefer solo;--prefer a,b,c;--bytes 0;--bytes x;--bytes 2000M;--late -1;--late x;--repetitions 0;--repetitions x;--max-slower x;--max-slower 0;--fast
bench/han_choices   |  | --machine;--fast;x
bench/copy_rates    |  | 0;x;64X;--fast
tune/han_rules      | explain --collective bcast --nodes 2 --ppn 2 --bytes 8 | --collective bcst;--nodes 0;--nodes x;--ppn 0;--bytes x;--order sideways;--form fast;--fast
tune/han_rules      | regret ../tests/candidates.csv --machine ../tests/cluster.machine | --show most;--shape 4y4;--shape 4x;--shape 0x4;--fast
tune/han_rules      | predict tree --collective bcast --nodes 2 --ppn 2 --bytes 8 --machine ../tests/cluster.machine | --collective bcst;--nodes x;best
tune/han_rules      |  | guess;check
tune/han_report     |  | --fast;none
"

# What they find out in MPI only.
readonly LATER="
tune/han_candidates |  | --only best
bench/han_bench     | bcast | -r 99;--samples none/x
"

# Whatever would begin something leaves a word of it.
make_stubs() {
    local name
    mkdir "$tmp/stubs"
    printf '#!/bin/sh\necho "$0 $*" >>"%s"\nexit 99\n' "$tmp/started" >"$tmp/stubs/mpirun"
    chmod 755 "$tmp/stubs/mpirun"
    for name in apt-get ip unshare make gcc mpicc gnuplot; do
        ln -s mpirun "$tmp/stubs/$name"
    done
}

test_refused() {                    # test_refused TOOL VALUE ARGUMENTS..., the tool with its folder
    local tool=$1 value=$2 status=0 before="(^|[ '\"=])" behind="($|[ '\";:,])"
    local -a lines
    shift 2
    : >"$tmp/started"
    (cd -- "$build" && PATH=$tmp/stubs:$PATH exec timeout -k 5 "$LIMIT" "$tool" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null) ||
        status=$?
    mapfile -t lines <"$tmp/err"
    [[ $status == 2 && ${#lines[@]} == 1 && ! -s $tmp/started && ${lines[0]} == "${tool##*/}: "* ]] &&
        [[ ${lines[0]} =~ $before"$value"$behind ]]
}

# The options of a script's table that have a value.
options_of() {                      # options_of SCRIPT
    sed -nE -e 's/^ *(--[a-z-]+) *\|[^|]*\|[^|]*\| *[^ ].*/\1/p' -e 's/.*take_options "(--[a-z-]+) *\|.*\|.*\|.*/\1/p' \
        -e '/^\$\(common_options /{s/[^-]*(--[a-z-]+)[^-]*/\1\n/g;p}' "$1" | grep -E '^--[a-z-]+$'
}

# The options that a program's --help shows, at the beginning of a line or behind a comma, and that want a value.
program_options_of() {              # program_options_of PROGRAM
    local option
    for option in $("$build/$1" --help 2>/dev/null | grep -oE '(^  |, )--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
        "$build/$1" "$option" >/dev/null 2>"$tmp/err" </dev/null
        ! grep -qE 'option .* (wants|needs) a value' "$tmp/err" || echo "$option"
    done
}

test_all_options() {                # test_all_options TOOL OPTION...: each is in a table above
    local tool=$1 option found=0
    shift
    for option; do
        case "$tool $option" in
            *' --step') continue ;;     # between check.sh and itself
            'tests/test_memory.sh --only') continue ;;  # names that are known to a program
            'tune/han_tune --output' | 'tune/han_tune --measurements') continue ;;  # in test_tune.sh, as the next two
            'tune/han_tune --report' | 'tune/han_tune --validate') continue ;;
        esac
        found=$((found + 1))
        grep -q "^$tool .*[|;] *$option " <<<"$TABLE$PROGRAMS$LATER" || { echo "$option is not in the table" >"$tmp/out"; return 1; }
    done
    ((found > 0))
}

test_table() {                      # test_table FOLDER <TABLE
    local folder=$1 tool beside rows option
    local -a before options words arguments
    while IFS='|' read -r tool beside rows; do
        read -r tool <<<"$tool"
        [[ -n $tool ]] || continue
        read -ra before <<<"$beside"
        IFS=';' read -ra options <<<"$rows"
        for option in "${options[@]}"; do
            read -ra words <<<"$option"
            case ${before[0]:-} in
                run) arguments=(run "${words[@]}" "${before[@]:1}") ;;
                *) arguments=("${before[@]}" "${words[@]}") ;;
            esac
            t_check "$tool ${arguments[*]}" test_refused "$folder/$tool" "${words[-1]}" "${arguments[@]}"
        done
    done
}

# Nothing is started for it either.
test_version() {                    # test_version PATH
    : >"$tmp/started"
    (cd -- "$build" && PATH=$tmp/stubs:$PATH timeout -k 5 "$LIMIT" "$1" --version >"$tmp/out" 2>"$tmp/err" </dev/null) &&
        [[ $(<"$tmp/out") =~ ^"${1##*/} (HAN) "[0-9]+(\.[0-9]+)+(" ("[0-9a-z.+-]+")")?$ && ! -s $tmp/err && ! -s $tmp/started ]]
}

# One of the ranks speaks, and none is ended before.
test_refused_by_job() {             # test_refused_by_job PROGRAM ARGUMENTS...
    local program=$1 status=0
    shift
    (cd -- "$build" && exec timeout -k 5 "$LIMIT" mpirun --oversubscribe -n 4 "$program" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null) ||
        status=$?
    ((status == 2)) && [[ $(grep -c "^${program##*/}: " "$tmp/err") == 1 ]]
}

# What is printed is lost where a disk is full.
test_full_disk() {                  # test_full_disk PROGRAM ARGUMENTS...
    local program=$1 status=0
    shift
    (cd -- "$build" && exec timeout -k 5 "$LIMIT" "$program" "$@" >/dev/full 2>"$tmp/err" </dev/null) || status=$?
    ((status == 1)) && [[ $(<"$tmp/err") == "${program##*/}: the "*" cannot be written"* ]]
}

make_stubs
for tool in bench/{asp,board,candidates,compare,groups,inside,learning,noise,pipelining,training} cluster/vcluster demo.sh check.sh tests/{run,mutants,in-tree,test_memory,test_tune,fuzz}.sh; do
    # shellcheck disable=SC2046  # words
    t_check "$tool: the table has all options" test_all_options "$tool" $(options_of "$TOP/$tool")
done
for tool in "$TOP"/bench/{asp,board,candidates,compare,groups,inside,learning,noise,pipelining,training} "$TOP"/{cluster/vcluster,demo.sh,check.sh} \
    "$build"/tune/{han_tune,han_candidates,han_rules,han_report} "$build"/bench/{han_asp,han_bench,han_training,beside,han_choices,copy_rates}; do
    t_check "${tool##*/} tells its version" test_version "$tool"
done
test_table "$TOP" <<<"$TABLE"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
pml=${OMPI_MCA_pml-}
export OMPI_MCA_pml=none
for tool in tune/han_tune tune/han_candidates bench/han_asp bench/han_bench bench/han_training bench/beside; do
    # shellcheck disable=SC2046  # words
    t_check "$tool: the table has all options" test_all_options "$tool" $(program_options_of "$tool")
done
test_table "$build" <<<"$PROGRAMS"
export OMPI_MCA_pml=${pml:-ob1}
test_table "$build" <<<"$LATER"
for tool in tune/han_tune tune/han_candidates bench/han_asp bench/han_bench bench/han_training bench/beside; do
    t_check "$tool --none: four ranks tell of it once" test_refused_by_job "$tool" --none
done
t_check "han_bench tells of a full disk" test_full_disk bench/han_bench bcast --sizes 8,16 -i 3 -x 0
t_check "han_choices tells of a full disk" test_full_disk bench/han_choices
t_check "copy_rates tells of a full disk" test_full_disk bench/copy_rates 8
t_check "han_rules tells of a full disk" test_full_disk tune/han_rules builtin

echo "1..$count"
exit "$failed"
