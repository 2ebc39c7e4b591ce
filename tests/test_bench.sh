#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What bench/han_bench and bench/compare promise, on one machine.
# BENCH names the han_bench to test; without it, one is compiled here.

set -u

here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
compare=$here/../bench/compare
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

# shellcheck source=tests/tap.sh
. "$here/tap.sh"
# shellcheck source=tests/seats.sh
. "$here/seats.sh"
t_notes=("$work/out" "$work/err")

root_option=
((EUID != 0)) || root_option=--allow-run-as-root

t_run() {                           # t_run RANKS [-x NAME=VALUE] -- OPTIONS; sets code
    local ranks=$1 more=()
    shift
    while [[ $1 != -- ]]; do
        more+=("$1")
        shift
    done
    shift
    timeout "$LIMIT" mpirun $root_option --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        --mca odls_base_sigkill_timeout 0 \
        -n "$ranks" "${more[@]}" "$bench" "$@" >"$work/out" 2>"$work/err"
    code=$?
}

t_sizes() {                         # the sizes of a CSV table, in one line
    awk -F, 'NR > 1 && $2 != last { printf "%s%s", n++ ? " " : "", $2; last = $2 }' "$work/out"
}

t_preload() {                       # t_preload NAME BODY; makes a faulty MPI_Bcast
    printf '#include <mpi.h>\nint MPI_Bcast(void *buffer, int n, MPI_Datatype type, int root, MPI_Comm comm)\n{\n
        int code = PMPI_Bcast(buffer, n, type, root, comm), rank;\n
        MPI_Comm_rank(comm, &rank);\n    %s\n    return code;\n}\n' "$2" >"$work/$1.c"
    mpicc -shared -fPIC -o "$work/$1.so" "$work/$1.c" 2>"$work/err"
}

if ! command -v mpirun >/dev/null; then
    echo '1..0 # SKIP no mpirun'
    exit 77
fi
bench=${BENCH:-}
if [[ -z $bench && -x ../bench/han_bench ]]; then
    bench=../bench/han_bench
elif [[ -z $bench ]]; then
    bench=$work/han_bench
    if ! mpicc -O2 -o "$bench" "$here/../bench/han_bench.c" "$here/../tune/tune_options.c" 2>"$work/err"; then
        cat "$work/err" >&2
        echo '1..0 # SKIP han_bench cannot be compiled'
        exit 77
    fi
fi
bench=$(realpath -- "$bench")

# ---- options

t_run 2 -- --sizes 8,1K,3,64K -i 3 -x 1 --csv
[[ $code == 0 && $(t_sizes) == '8 1024 3 65536' ]]
t_result $? 'a list of sizes is measured in its order'

t_run 2 -- -m 4:32 -i 3 -x 1 --csv
[[ $code == 0 && $(t_sizes) == '4 8 16 32' ]]
t_result $? 'a range of sizes doubles'

t_run 2 -- --help
[[ $code == 0 ]] && grep -q reduce_scatter_block "$work/out"
t_result $? 'the help lists the collectives'

t_run 2 -- barrier,alltoall,bcast --sizes 8,64K -M 700K -i 3 -x 1 --calls 1 --csv --samples "$work/samples"
[[ $code == 0 && $(cut -d, -f1,2 "$work/out" | tr '\n' ' ') == 'collective,bytes barrier,0 alltoall,8 bcast,8 bcast,65536 ' ]] &&
    [[ $(grep -c '^collective,' "$work/samples") == 1 && $(grep -c '^alltoall,8,' "$work/samples") == 3 ]] &&
    grep -q 'alltoall, 65536 bytes left out' "$work/err"
t_result $? 'several collectives follow one another, each with its sizes'

# ---- numbers

t_run 3 -- bcast --sizes 8,64K -i 21 -x 2 --csv --samples "$work/samples"
[[ $code == 0 ]] && awk -F, 'NR > 1 { rows += $3 == 21 && $5 > 0 && $5 <= $4 && $8 == 0 }
    END { exit rows != 4 }' "$work/out"
t_result $? 'the minimum is positive and not above the median'

version=$("$bench" --version)
version=${version#*(HAN) }
for table in out samples; do
    awk -F, -v version="$version" 'NR == 1 { version_is_last = $NF == "version" } NR > 1 { good += $NF == version; ++lines }
        END { exit !(version_is_last && lines > 3 && good == lines) }' "$work/$table"
    t_result $? "each line of the ${table/out/table} has version and commit, as --version"
done

awk -F, 'NR > 1 && $6 == "calls=1" { ++n[$2]; ++root[$4] }
    END { exit n[8] != 21 || n[65536] != 21 || root[0] != 14 || root[1] != 14 || root[2] != 14 }' \
    "$work/samples"
t_result $? 'every repetition gives one sample, and every rank is the root equally often'

expected=$(awk -F, '$2 == 8 && $6 == "calls=50" { print $5 }' "$work/samples" | sort -g | sed -n 11p)
[[ -n $expected && $expected == "$(awk -F, '$2 == 8 && $9 == "calls=50" { print $4 }' "$work/out")" ]]
t_result $? 'the median is the middle sample'

t_run 2 -- --sizes 8 -i 5 -x 0 --calls 1 --samples -
[[ $code == 0 && $(grep -c '^bcast,8,' "$work/out") == 5 ]]
t_result $? "samples can go to the standard output"

t_run 2 -- --sizes 8,16 -i 3 -x 0 --samples /dev/full
[[ $code == 1 && $(grep -c '^han_bench:' "$work/err") == 1 ]] &&
    grep -qx 'han_bench: /dev/full cannot be written: No space left on device' "$work/err"
t_result $? 'samples that cannot be written are told of once, with the reason, and the exit code is 1'

t_run 2 -- --first --sizes 1K -i 4 --csv
[[ $code == 0 && $(t_sizes) == 1024 ]]
t_result $? 'the first call on a new communicator is measured'

t_run 2 -- --calls 1,7 --sizes 1K -i 4 --csv
[[ $code == 0 && $(cut -d, -f9 "$work/out" | tr '\n' ' ') == 'variant calls=1 calls=7 ' ]]
t_result $? 'single calls and calls in a row are measured'

t_run 2 -- --calls 50 --first --sizes 1K -i 4 --csv
[[ $code == 0 && $(cut -d, -f9 "$work/out" | tr '\n' ' ') == 'variant - ' ]]
t_result $? 'one number of calls needs no name'

t_run 2 -- --calls 0 --sizes 1K -i 4 --csv
[[ $code == 0 && $(cut -d, -f9 "$work/out" | tr '\n' ' ') == 'variant calls=50 ' ]]
t_result $? 'but where it depends on the size it is told'

t_run 2 -- alltoall --sizes 8,32K,1M -i 3 -x 0 --csv
[[ $code == 0 && $(cut -d, -f9 "$work/out" | tr '\n' ' ') == \
    'variant calls=1 calls=50 calls=1 calls=20 calls=1 calls=4 ' ]]
t_result $? 'by default both clocks, with fewer calls in a row where a rank holds much'

# A rank that leaves the barrier in front of a call late.  If that were in the times, none would be shorter.  A fifth of a
# second, so that a call of a busy machine is shorter, too; the benchmark must be willing to wait for so long, and is so
# after a dozen repetitions.
printf '#include <mpi.h>\n#include <unistd.h>\nint MPI_Sendrecv(const void *s, int n, MPI_Datatype t, int to, int tag,\n
    void *r, int m, MPI_Datatype u, int from, int other, MPI_Comm comm, MPI_Status *status)\n{\n
    int code = PMPI_Sendrecv(s, n, t, to, tag, r, m, u, from, other, comm, status), rank;\n
    MPI_Comm_rank(comm, &rank);\n    if (1 == rank) {\n        usleep(200000);\n    }\n    return code;\n}\n' \
    >"$work/late.c"
test_late() {
    mpicc -shared -fPIC -o "$work/late.so" "$work/late.c" 2>"$work/err" &&
        mpicc -O2 -DSTART_MOST=1.0 -o "$work/patient" "$here/../bench/han_bench.c" "$here/../tune/tune_options.c" 2>"$work/err" &&
        bench=$work/patient t_run 2 -x "LD_PRELOAD=$work/late.so" -- barrier --calls 1 -i 20 -x 0 --no-check \
            --samples "$work/samples"
    [[ $code == 0 ]] && grep -q 'all begin at one time' "$work/out" &&
        awk -F, '$5 > 0 && $5 < 150000 { short = 1 } END { exit !short }' "$work/samples"
}
t_check_all 'who leaves the barrier in front of a call late does not lengthen the call' test_late

# All begin a tenth of a millisecond after the last one's arrival: 600 repetitions take six times 20 ms at least.
test_seats() {
    seats_library "$work/seats.so" 2>"$work/err" || return
    t_run 4 -x "LD_PRELOAD=$work/seats.so" -- barrier --calls 1,2 -i 600 -x 0
    [[ $code == 0 ]] && seats_are_changed 4 6 601 "$work/err" && mv "$work/err" "$work/first" &&
        t_run 4 -x "LD_PRELOAD=$work/seats.so" -- barrier --calls 1,2 -i 600 -x 0 --offset 5
    [[ $code == 0 ]] && seats_are_changed 4 6 601 "$work/err" && seats_differ "$work/first" "$work/err"
}
t_check 'ranks that share cores are put on other ones, again and again, by a lot with a seed' test_seats

t_run 2 -- --sizes 8 -M 1K
[[ $code == 2 ]] && grep -q 'left out' "$work/err"
t_result $? 'a size that needs too much memory is left out with a message'

names=reduce,allreduce,allgather,alltoall,gather,scatter,reduce_scatter_block,allgatherv,alltoallv,gatherv,scatterv,reduce_scatter,scan,exscan
t_run 3 -- "$names,barrier,ibcast,ireduce,iallreduce" --sizes 3,8,1000 -i 6 -x 1
((code == 0))
t_result $? 'every collective of the distribution is found correct, ragged sizes included'

# ---- the wire: each rank seems to have a node of its own

printf '#include <mpi.h>\n#include <stdio.h>\nint MPI_Get_processor_name(char *name, int *length)\n{\n    int rank;\n
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    *length = sprintf(name, "node%%d", rank);\n    return MPI_SUCCESS;\n}\n' \
    >"$work/nodes.c"
# At 1 kbit/s the bound is a minute: no machine is so busy that it takes as long.
mpicc -shared -fPIC -o "$work/nodes.so" "$work/nodes.c" 2>"$work/err" &&
    t_run 2 -x "LD_PRELOAD=$work/nodes.so" -- --sizes 8K --rate 1kbit --csv -i 3
[[ $code == 0 ]] && grep -q 'han_bench: 2 medians of bcast are below what the wire allows' "$work/err" &&
    awk -F, 'NR > 1 && $6 > 68e6 && $6 < 69e6 && $7 == $6 { ++rows } END { exit rows != 2 }' "$work/out"
t_result $? 'times below what the wire allows are told, with the bound'

t_run 2 -x "LD_PRELOAD=$work/nodes.so" -- --sizes 8K --rate 1kbit -i 3
[[ $code == 0 && $(grep -c '0[.]00< ' "$work/out") == 2 ]]
t_result $? 'in the table they are marked'

t_run 2 -x "LD_PRELOAD=$work/nodes.so" -- --sizes 8K --rate 1kbit --bucket 8K -i 3
[[ $code == 0 ]] && ! grep -q '<' "$work/out" && ! grep -q 'wire allows' "$work/err"
t_result $? 'what a link lets pass at once may be faster'

# ---- wrong results

if t_preload flip 'if (1 == rank) { ((char *) buffer)[n / 2] ^= 1; }'; then
    t_run 3 -x LD_PRELOAD="$work/flip.so" -- --sizes 5,1K -i 9 -x 1 --csv
    [[ $code == 1 ]] && awk -F, 'NR > 1 { rows += $8 >= 1 } END { exit rows != 4 }' "$work/out"
    t_result $? 'one wrong byte on one rank is counted, and the exit code is 1'

    t_run 3 -x LD_PRELOAD="$work/flip.so" -- --sizes 1K -i 3 -x 1 --csv --no-check
    [[ $code == 0 ]] && awk -F, 'NR > 1 { good += $8 == "-" } END { exit NR < 2 || good != NR - 1 }' "$work/out"
    t_result $? 'without checks nothing is claimed'

    t_preload past 'if (2 == rank) { ((char *) buffer)[n] = 7; }'
    t_run 3 -x LD_PRELOAD="$work/past.so" -- --sizes 1K -i 9 -x 1
    ((code == 1))
    t_result $? 'one byte past the receive buffer is found'

    t_preload before 'if (0 == rank) { ((char *) buffer)[-1] = 7; }'
    t_run 3 -x LD_PRELOAD="$work/before.so" -- --sizes 1K -i 9 -x 1
    ((code == 1))
    t_result $? 'one byte before the receive buffer is found'

    t_preload nothing 'if (1 == rank) { return code; }'
    sed -i 's/int code = .*, rank;/int code = MPI_SUCCESS, rank;/' "$work/nothing.c"
    mpicc -shared -fPIC -o "$work/nothing.so" "$work/nothing.c"
    t_run 2 -x LD_PRELOAD="$work/nothing.so" -- --sizes 1K -i 9 -x 1
    ((code == 1))
    t_result $? 'a collective that does nothing is not saved by data of the repetition before'
else
    t_result 1 'the library of wrong results can be compiled' "$work/err"
fi

# ---- compare

t_compare() {
    timeout $((3 * LIMIT)) "$compare" --bench "$bench" --nodes 1 --ppn 2 --sizes 8,1K,64K --rounds 2 --time 8 \
        "$@" >"$work/out" 2>"$work/err"
    code=$?
}

t_compare --sets tuned --set 'basic=--mca coll basic,self,libnbc' --ours basic --output "$work/cmp"
[[ $code == 0 && $(grep -cE '^ +(8 B|1 KB|64 KB) .*(faster|SLOWER) than tuned' "$work/out") == 6 ]] &&
    grep -q '^bcast, single calls, ' "$work/out" && grep -q '^bcast, 50 to 20 calls in a row, ' "$work/out"
t_result $? 'compare prints a row for each size and both clocks, with the speed-up'

head -1 "$work/cmp.csv" 2>/dev/null | t_finds -x \
    'collective,nodes,ppn,map,rate,bytes,set,samples,median_us,min_us,q1_us,q3_us,bound_us,wrong,calls,least_us,version' &&
    awk -F, -v rounds="$(t_rounds "$work/err")" -v version="$("$here/../common/version.sh")" 'NR > 1 { good += NF == 17 && $17 == version && $8 >= 3 * rounds && $10 <= $11 && $11 <= $9 && $9 <= $12 && $14 == 0; single += $15 == 1 }
        END { exit NR != 13 || good != 12 || single != 6 }' "$work/cmp.csv"
t_result $? 'compare writes the quartiles of both sets as CSV'

if ! command -v gnuplot >/dev/null; then
    t_skip 'compare draws both sets' 'no gnuplot'
else
    bad=
    for name in cmp cmp-in-a-row; do
        grep -q '</svg>' "$work/$name.svg" 2>/dev/null && grep -q '>basic' "$work/$name.svg" &&
            grep -q '>tuned' "$work/$name.svg" &&
            { ! command -v xmllint >/dev/null || xmllint --noout "$work/$name.svg" 2>"$work/err"; } || bad+=" $name"
    done
    [[ -z $bad ]]
    t_result $? 'compare draws both sets, for both clocks'
fi

t_compare --rounds 1 --sizes 1K --sets tuned --set 'gone=--mca coll nosuch' --ours tuned
[[ $code == 0 ]] && grep -q "set 'gone' cannot be run" "$work/err"
t_result $? 'compare leaves out a set that cannot be run, and says so'

t_compare --rounds 1 --sizes 1K --sets tuned --set 'gone=--mca coll nosuch' --ours gone
[[ $code == 2 ]] && grep -q "set 'gone' cannot be run" "$work/err" && grep -q '^compare: not measured: gone' "$work/err" && grep -q ' 1 KB ' "$work/out"
t_result $? 'compare fails where ours cannot be run, and shows the others'

printf '#!/bin/sh\ncase "$*" in *--samples*) echo "han_bench: it is out of order" >&2; exit 3 ;; esac\nexec "%s" "$@"\n' "$bench" >"$work/broken"
chmod 755 "$work/broken"
bench=$work/broken t_compare --rounds 1 --sizes 1K --sets tuned --ours tuned
[[ $code == 2 ]] && grep -q "set 'tuned' failed in round 1 (exit code 3: han_bench: it is out of order) and is left out" "$work/err"
t_result $? 'compare tells why a job has failed'

printf '#!/bin/sh\necho "[here:1] coll:han: coll_han_x is not used; accepted: others" >&2\nexec "%s" "$@"\n' "$bench" >"$work/odd"
chmod 755 "$work/odd"
bench=$work/odd t_compare --rounds 1 --sizes 1K --sets tuned --set 'odd=@tuned' --ours tuned
[[ $code == 0 && $(grep -c "set 'odd': coll:han: coll_han_x is not used; accepted: others" "$work/err") == 1 ]]
t_result $? 'compare tells once what a component says of the options of a set'

if [[ -e $work/flip.so ]]; then
    t_compare --rounds 1 --sizes 64K --sets tuned --set "bad=@tuned -x LD_PRELOAD=$work/flip.so" --ours tuned \
        --min-speedup 100@64K
    [[ $code == 1 ]] && grep -q '! bad' "$work/out" && ! grep -q 'than bad' "$work/out" &&
        grep -q '^compare: nothing correct to compare at 64 KB, so the requirement is not met' "$work/err"
    t_result $? 'compare does not take a set with wrong values as a peer, and a requirement wants one'

    t_compare --rounds 1 --sizes 1K --sets tuned --set "bad=@tuned -x LD_PRELOAD=$work/flip.so" --ours bad
    [[ $code == 1 ]] && grep -q '^compare: bad gave wrong values' "$work/err"
    t_result $? 'compare fails when ours gives wrong values'
fi

test_speed_up() {
    t_compare --rounds 1 --sizes 8,64K --sets tuned --set 'same=@tuned' --ours same --min-speedup 100@64K
    [[ $code == 1 && $(grep -c 'wanted is 100' "$work/err") == 2 ]]
}
t_check_all 'compare fails when a speed-up from a size on is not reached' test_speed_up

test_speed_up_of_nothing() {
    t_compare --rounds 1 --sizes 8 --sets tuned --set 'same=@tuned' --ours same --min-speedup 0.01@64K
    [[ $code == 1 ]] && grep -qx 'compare: no size of --min-speedup 0.01@65536 was compared' "$work/err"
}
t_check 'compare fails when no size is there of which a speed-up is wanted' test_speed_up_of_nothing

t_compare --rounds 1 --sizes 8 --sets tuned --prefer sm+tuned,sm+basic
[[ $code == 2 ]] && grep -q '^compare: --prefer .*two begin with sm' "$work/err"
t_result $? 'compare refuses two preferences of one name'

printf '#!/bin/sh\nexec "%s" "$@" --rate 1kbit\n' "$bench" >"$work/fast"
chmod 755 "$work/fast"
bench=$work/fast t_compare --rounds 1 --sets tuned --set "fast=@tuned -x LD_PRELOAD=$work/nodes.so" --calls 3 --ours fast
[[ $code == 1 && $(grep -cE '^ +(1 KB|64 KB) .*< ' "$work/out") == 2 ]] && ! grep -q 'in a row.*in a row' "$work/out" &&
    grep -q '^bcast, 3 calls in a row, ' "$work/out" && grep -q '^compare: fast takes less time than the wire allows' "$work/err"
t_result $? 'compare marks times below what the wire allows, and fails where they are ours'

test_too_fast_peer() {
    bench=$work/fast t_compare --rounds 1 --sets tuned --set "fast=@tuned -x LD_PRELOAD=$work/nodes.so" --calls 1 --ours tuned
    [[ $code == 0 ]] && ! grep -q 'than fast' "$work/out"
}
t_check_all 'compare does not take a set below what the wire allows as a peer' test_too_fast_peer

t_compare --sets tuned --prefer basic,tuned --ours basic
[[ $code == 0 && $(grep -cE '^ +(8 B|1 KB|64 KB) +[0-9.]+ +[0-9.]+ .*than tuned' "$work/out") == 6 ]]
t_result $? 'compare --prefer: components in one process, each on a communicator of its own'

t_compare --sets tuned --prefer 'default,^tuned+sm' --ours default
[[ $code == 0 && $(grep -cE '^ +(8 B|1 KB|64 KB) +[0-9.]+ +[0-9.]+ .*than \^tuned' "$work/out") == 6 ]]
t_result $? 'compare --prefer: MPI_COMM_WORLD as it is, beside a communicator without some components'

t_compare --sets han,tuned --prefer basic,tuned
[[ $code == 2 ]] && grep -q "'han,tuned'" "$work/err"
t_result $? 'compare --prefer wants one set'

t_compare --sets nosuch
[[ $code == 2 ]] && grep -q 'known are' "$work/err"
t_result $? 'compare names the sets that it knows'

# ---- board

board=$here/../bench/board
t_board() {                         # t_board LINE... -- OPTIONS: of a board with these lines
    echo nodes,ppn,map,rate,collective,bytes,calls,ours_us,tuned_us,ompi_han_us,best_us,best,noise,bound_us,version >"$work/board.csv"
    while [[ $1 != -- ]]; do
        echo "4,4,slot,none,$1,0.1.0" >>"$work/board.csv"
        shift
    done
    shift
    "$board" --from "$work/board.csv" "$@" >"$work/out" 2>"$work/err"
    code=$?
}

t_board bcast,8,1,50,100,120,40,tree,1.1,- bcast,1024,1,90,-,100,-,-,1.1,- reduce,8,1,120,110,100,90,simple,1.1,- \
    bcast,8,50,10,20,-,5,tree,1.1,- barrier,0,1,30,60,60,-,-,1.1,- -- --output "$work/picture"
[[ $code == 0 ]] && grep -qE '^bcast +0\.50 \(0\.40\) +0\.90 *$' "$work/out" &&
    grep -qE '^reduce +1\.20!\(0\.90\) +$' "$work/out" && grep -qE '^bcast +0\.50 \(0\.25\)' "$work/out" &&
    grep -qE '^barrier +0\.50 *$' "$work/out" &&
    grep -qx 'geometric mean        0.72 (0.60); 1 of 4 points above 1.05, 1 of them beyond the noise; the worst 1.20 (reduce, 8 B)' "$work/out" &&
    grep -q '^all, geometric mean   0.67 (0.45); 1 of 5 points' "$work/out" && cmp -s "$work/board.csv" "$work/picture.csv"
t_result $? 'board compares with the better peer, by both clocks, and shows the best candidate'

if ! command -v gnuplot >/dev/null; then
    t_skip 'board draws all points' 'no gnuplot'
else
    [[ $(grep -c '<polygon.*points' "$work/picture.svg") -ge 5 ]] && grep -q 'in a row' "$work/picture.svg" &&
        grep -q '>barrier' "$work/picture.svg"
    t_result $? 'board draws all points'
fi

t_board bcast,8,1,55,100,120,40,tree,1.1,- bcast,4,1,7,8,9,-,-,1.1,- -- --output "$work/picture"
[[ $code == 0 && $(wc -l <"$work/picture.csv") == 7 ]] && grep -qx '4,4,slot,none,reduce,8,1,120,.*' "$work/picture.csv" &&
    grep -qx '4,4,slot,none,bcast,8,1,55,.*' "$work/picture.csv" && ! grep -q ',bcast,8,1,50,' "$work/picture.csv"
t_result $? 'board keeps what it has of other points'

t_board bcast,8,1,50,100,120,40,tree,1.1,- bcast,1024,1,90,-,100,-,-,1.1,- reduce,8,1,120,110,100,90,simple,1.1,- \
    bcast,8,50,10,20,-,5,tree,1.1,- barrier,0,1,30,60,60,-,-,1.1,- --
cp "$work/board.csv" "$work/before.csv"
t_board bcast,8,1,60,100,120,40,tree,1.1,- bcast,1024,1,90,-,100,-,-,1.1,- reduce,8,1,120,110,100,90,simple,1.1,- \
    bcast,8,50,10,20,-,5,tree,1.1,- barrier,0,1,40,60,60,-,-,1.05,- -- --against "$work/before.csv"
[[ $code == 1 && $(grep -c '^slower: ' "$work/out") == 1 ]] && grep -q '^1 of 5 points slower' "$work/out" &&
    grep -q '^slower: barrier, single calls, .*: 0.67 of the better peer, was 0.50 (noise 1.16)' "$work/out"
t_result $? 'board names what has become slower by more than the noise of both boards'

t_board bcast,8,1,50,100,120,40,tree,1.1,- -- --against "$work/before.csv"
((code == 0))
t_result $? 'board finds nothing slower where nothing has changed'

t_board bcast,8,1,90,100,120,40,tree,-,- bcast,1024,1,90,-,100,-,-,1.1,- -- --against "$work/before.csv"
[[ $code == 0 ]] && grep -qx '1 points were measured in one round only, and are not compared' "$work/out" &&
    grep -q '^1 points were measured in one round only: ' "$work/out" &&
    grep -q '^0 of 1 points slower' "$work/out"
t_result $? 'board does not compare a point whose noise it has not measured'

t_board bcast,8,1,90,100,120,40,tree,-,- -- --against "$work/before.csv"
[[ $code == 1 ]] && grep -qx 'no point can be compared' "$work/out"
t_result $? 'board fails where there is nothing to compare'

"$board" --from "$here/../bench/board.csv" >"$work/out" 2>"$work/err" && [[ $(grep -c '; single calls$' "$work/out") == 18 ]]
t_result $? 'the board that is kept has 18 clusters'

t_board bcast,8,1,50,100,120,-,-,1.1,- reduce,8,1,-,110,100,-,-,-,- --
[[ $code == 1 ]] && grep -q '^ours gave wrong values.*: reduce, 8 B, single calls' "$work/out"
t_result $? 'board fails where ours gave wrong values'

echo 'a,b' >"$work/none.csv"
for bad in "--from $work/none.csv" "--against $work/none.csv" "--from $work/gone.csv" '--shapes 4' '--nonsense'; do
    # shellcheck disable=SC2086  # several words
    "$board" $bad >"$work/out" 2>"$work/err"
    [[ $? == 2 && $(grep -c '^board: ' "$work/err") == 1 ]] && grep -qF -- "${bad##* }" "$work/err"
    t_result $? "board refuses ${bad/$work\//}"
done

# ---- beside

beside=$work/beside
t_beside() {                        # t_beside OPTIONS...: on three ranks
    timeout "$LIMIT" mpirun $root_option --oversubscribe -n 3 --mca mpi_yield_when_idle 1 "$beside" --bytes 100000 --late 1 \
        --repetitions 3 "$@" >"$work/out" 2>"$work/err"
    code=$?
}

mpicc -O2 -o "$beside" "$here/../bench/beside.c" "$here/../tune/tune_options.c" 2>"$work/err"
t_result $? 'beside can be compiled' "$work/err"

t_beside --prefer basic,tuned
[[ $code == 0 && $(grep -cE '^(fetch|send|ibcast) +[0-9.]+ +[0-9.]+ +[0-9.]+$' "$work/out") == 3 ]]
t_result $? 'beside has a row for one-sided operations, a message and a broadcast'

t_beside --prefer tuned,basic --max-slower 0.000001
((code == 1))
t_result $? 'beside fails where more is taken than allowed'

# ---- han_choices

choices=${bench%/*}/han_choices
if [[ ! -x $choices ]]; then
    t_skip 'han_choices has a row for each shape' 'it is not built'
else
    "$choices" >"$work/out" 2>"$work/err" &&
        [[ $(grep -cE '^ *[0-9]+ x [0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$' "$work/out") == 5 && ! -s $work/err ]] &&
        "$choices" --machine "$here/cluster.machine" >"$work/slow" 2>"$work/err" && grep -q '^    4 x 4 ' "$work/slow"
    t_result $? 'han_choices has a row for each shape'

    "$choices" --machine "$work/none" >"$work/out" 2>"$work/err"
    [[ $? == 1 && $(wc -l <"$work/err") == 1 ]] && grep -q "none: it cannot be read .*; accepted: a readable file" "$work/err"
    t_result $? 'han_choices refuses a machine that cannot be read'

    "$choices" --speed >"$work/out" 2>"$work/err"
    [[ $? == 2 && $(wc -l <"$work/err") == 1 ]]
    t_result $? 'han_choices refuses --speed'
fi

echo "1..$count"
exit $failed
