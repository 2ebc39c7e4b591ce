#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What han_bench's noise and segments, bench/noise and bench/pipelining promise, on one machine.
# BENCH names the han_bench to test; without it, one is compiled here.

set -u

here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

# shellcheck source=tests/tap.sh
. "$here/tap.sh"
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

t_svg() {                           # t_svg FILE WORD...: a whole picture that has these words
    local file=$1 word
    shift
    grep -q '</svg>' "$file" 2>/dev/null || return 1
    for word; do
        grep -qF -- ">$word" "$file" || return 1
    done
    ! command -v xmllint >/dev/null || xmllint --noout "$file" 2>"$work/err"
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

# ---- noise

# A barrier that computes for 0.5 s and tells its rank, how often it was put to sleep meanwhile, for how many
# milliseconds, and for how many it did not compute.  What it was asked for does not depend on what else the machine does.
cat >"$work/work.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int sleeps;
static double asked;
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    ++sleeps;
    asked += 1e3 * wanted->tv_sec + 1e-6 * wanted->tv_nsec;
    return (int) syscall(SYS_nanosleep, wanted, left);
}
static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static double idle(void)
{
    return 1e3 * (seconds(CLOCK_MONOTONIC) - seconds(CLOCK_THREAD_CPUTIME_ID));
}
int MPI_Barrier(MPI_Comm comm)
{
    const double end = seconds(CLOCK_MONOTONIC) + 0.5, before = idle(), asked_before = asked;
    const int sleeps_before = sleeps;
    volatile double x = 0.0;
    int rank;
    MPI_Comm_rank(comm, &rank);
    while (seconds(CLOCK_MONOTONIC) < end) {
        for (int i = 0; i < 1000; ++i) { x += i; }
    }
    fprintf(stderr, "slept %d %d %.2f %.2f\n", rank, sleeps - sleeps_before, asked - asked_before, idle() - before);
    return MPI_SUCCESS;
}
END
if ! mpicc -shared -fPIC -o "$work/work.so" "$work/work.c" 2>"$work/err"; then
    t_result 1 'the library of computations can be compiled' "$work/err"
else
    # A delay each tenth of a second, of 5 or 10 ms on average; a few fewer where the machine is busy.
    codes='' told=''
    for level in 0 5 10; do
        t_run 2 -x LD_PRELOAD="$work/work.so" -- barrier --noise "$level" -i 4 -x 0 --no-check
        codes+=$code
        told+=$(awk -v level="$level" '$1 == "slept" { print level, $2, $3, $4, $5 }' "$work/err")$'\n'
    done
    awk 'NF == 5 { ++calls[$1]; times[$1] += $3; asked[$1] += $4; short += $5 + 0.1 < $4 }
        END {
            for (l = 5; l <= 10; l += 5) { mean[l] = times[l] > 0 ? asked[l] / times[l] : -1 }
            printf "sleeps: %d, %d, %d; milliseconds each: %.1f, %.1f; shorter than asked for: %d\n",
                times[0], times[5], times[10], mean[5], mean[10], short
            exit !(calls[0] == 8 && calls[5] == 8 && calls[10] == 8 && times[0] == 0 && short == 0 && times[5] >= 8 &&
                times[10] >= 8 && mean[5] > 2.5 && mean[5] < 7.5 && mean[10] > 5 && mean[10] < 15)
        }' <<<"$told" >>"$work/out" && [[ $codes == 000 ]]
    t_result $? 'noise of 5 and 10 % delays a computation by its share, and 0 % does not'

    # What is told of 10 % differs if the ranks draw independently.
    awk '$1 == 10 { list[$2] = list[$2] " " $4 }
        END { exit list[0] == "" || list[0] == list[1] }' <<<"$told"
    t_result $? 'the ranks draw delays of their own'
fi

t_run 3 -- allreduce --sizes 8,1000,64K -i 40 -x 2 --noise 0,20 --csv --samples "$work/samples"
[[ $code == 0 ]] && awk -F, 'NR > 1 { good += $3 == 40 && $8 == 0; ++n[$9] }
    END { exit good != 6 || n["noise=0"] != 3 || n["noise=20"] != 3 }' "$work/out" &&
    awk -F, 'NR > 1 { ++n[$6, $4] } END { exit !n["noise=0", 0] || n["noise=0", 0] != n["noise=20", 0] || NR != 241 }' "$work/samples"
t_result $? 'levels of noise alternate, with the same roots, and values stay right'

t_run 1 -- bcast --segments 2
[[ $code == 2 && $(grep -c '^han_bench:' "$work/err") == 1 ]]
t_result $? "'bcast --segments 2' ends with exit code 2 and one message"

# ---- segments

bad=
for name in ibcast ireduce iallreduce iallgather ireduce_scatter_block; do
    t_run 3 -- "$name" --sizes 3,8,1000,10003 -i 4 -x 1 --blocking --segments 1,2,3,7 --pipeline 8,100,999 --csv
    awk -F, 'NR > 1 { good += $8 == 0 } END { exit good != 32 }' "$work/out" && ((code == 0)) || bad+=" $name"
done
echo "failed:$bad" >"$work/out"
[[ -z $bad ]]
t_result $? 'segmented collectives give right values, ragged sizes and last segments included'

# The calls are counted, with their elements, each behind one that is not timed, and one wrong value in the last segment is put in.
cat >"$work/count.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    if (NULL != getenv("WRONG") && 3 == count) { return PMPI_Ibarrier(comm, request); }
    fprintf(stderr, "elements %d\n", count);
    return PMPI_Iallreduce(send, recv, count, type, op, comm, request);
}
END
if mpicc -shared -fPIC -o "$work/count.so" "$work/count.c" 2>"$work/err"; then
    t_run 1 -x LD_PRELOAD="$work/count.so" -- iallreduce --sizes 104 -i 1 -x 0 --segments 4 --pipeline 40
    [[ $code == 0 && $(awk '$1 == "elements" { printf " %s", $2 }' "$work/err") == ' 3 3 3 4 3 3 3 4 5 5 3 5 5 3' ]]
    t_result $? 'a number of segments is met, a size of segments too; the last one has the rest'

    t_run 2 -x WRONG=1 -x LD_PRELOAD="$work/count.so" -- iallreduce --sizes 104 -i 1 -x 0 --segments 1,4 --csv
    [[ $code == 1 ]] && awk -F, '$9 == "segments=1" { one = $8 == 0 } $9 == "segments=4" { four = $8 == 18 }
        END { exit !(one && four) }' "$work/out"
    t_result $? 'segments that are missing are found, and only where they are'
else
    t_result 1 'the library of counted segments can be compiled' "$work/err"
fi

# ---- bench/noise

t_script() {                        # t_script NAME OPTIONS; sets code
    local name=$1
    shift
    timeout $((3 * LIMIT)) "$here/../bench/$name" --bench "$bench" --nodes 1 --ppn 2 "$@" >"$work/out" 2>"$work/err"
    code=$?
}

t_script noise --sets tuned --set 'basic=--mca coll basic,self,libnbc' --ours basic --bytes 64K --rounds 2 --time 6 \
    --noise 0,5,20 --output "$work/noise"
[[ $code == 0 && $(grep -cE '^(tuned|basic) +[0-9.]+ +[0-9.]+ +[+-][0-9.]+ % +[0-9.]+ +[+-][0-9.]+ %$' "$work/out") == 4 ]]
t_result $? 'noise prints time and slowdown of each set, for both collectives'

head -1 "$work/noise.csv" 2>/dev/null | t_finds -x \
    'collective,nodes,ppn,map,rate,bytes,set,noise_percent,samples,mean_us,median_us,min_us,slowdown_percent,bound_us,wrong,version' &&
    awk -F, -v rounds="$(t_rounds "$work/err")" -v version="$("$here/../common/version.sh")" 'NR > 1 { good += NF == 16 && $16 == version && $6 == 65536 && $9 >= 3 * rounds && $12 <= $11 && $12 <= $10 && $15 == 0
                      good -= $8 == 0 && $13 != 0; if ($8 == 0) { base = $10 }
                      d = 100 * ($10 / base - 1) - $13; off = 0.1 + 0.5 * (1 + $10 / base) / base  # both rounded
                      good -= d > off || d < -off }
        END { exit NR != 13 || good != 12 }' "$work/noise.csv"
t_result $? 'noise writes means and slowdowns as CSV'

if command -v gnuplot >/dev/null; then
    t_svg "$work/noise.svg" bcast reduce basic tuned 'no noise' '5 % noise' '20 % noise'
    t_result $? 'noise draws bars of both collectives'
else
    t_skip 'noise draws bars of both collectives' 'no gnuplot'
fi

# Long calls, for the delays to fall into them and not between them; chance may spare a short run, but not four of them.
for _ in 1 2 3 4; do
    t_script noise --sets tuned --collective bcast --ours tuned --bytes 8M --rounds 1 --time 4 --noise 0,50 \
        --max-slowdown bcast=0.01
    [[ $code != 1 ]] || break
done
[[ $code == 1 ]] && grep -q 'bcast of tuned slows down by .* allowed is 0.01 %' "$work/err"
t_result $? 'a slowdown above the limit fails'

t_script noise --sets tuned --set 'gone=--mca coll nosuch' --collective barrier --ours gone \
    --rounds 1 --time 2 --max-slowdown barrier=1000
[[ $code == 2 ]] && grep -q "set gone was not measured, so no requirement" "$work/err" && grep -qx "noise: not measured: gone, .*" "$work/err"
t_result $? 'a requirement is not met where ours is not measured'

t_script noise --sets tuned --collective barrier --ours tuned --rounds 1 --time 2 --max-slowdown barrier=100000
[[ $code == 1 ]] && grep -q 'nothing correct to compare with in barrier at no noise, so the requirement is not met' "$work/err"
t_result $? 'a requirement is not met where there is nothing to compare with'

# ---- bench/pipelining

t_script pipelining --sets tuned --collective ibcast,ireduce_scatter_block --sizes 8K,64K --segments 1,3 --pipeline 16K \
    --rounds 2 --time 4 --output "$work/pipe"
[[ $code == 0 && $(grep -cE '^ +(8|64) KB( +[0-9.]+){4} +[a-z0-9]' "$work/out") == 4 ]]
t_result $? 'pipelining prints a row for each size, with each way of segmenting'

head -1 "$work/pipe.csv" 2>/dev/null | t_finds -x \
    'collective,nodes,ppn,map,rate,bytes,set,way,samples,median_us,min_us,MB_per_s,speedup,bound_us,wrong,version' &&
    awk -F, -v rounds="$(t_rounds "$work/err")" -v version="$("$here/../common/version.sh")" 'NR > 1 { good += NF == 16 && $16 == version && ($6 == 8192 || $6 == 65536) && $9 >= 3 * rounds && $11 <= $10 && $15 == 0
                      ways[$8] }
        END { exit NR != 17 || good != 16 || !("blocking" in ways) || !("16 KB each" in ways) }' "$work/pipe.csv"
t_result $? 'pipelining writes all ways as CSV, by the size of the whole message'

if command -v gnuplot >/dev/null; then
    t_svg "$work/pipe-ibcast.svg" blocking nonblocking '3 segments' '16 KB each' &&
        t_svg "$work/pipe-ireduce_scatter_block.svg" blocking nonblocking '3 segments' '16 KB each'
    t_result $? 'pipelining draws each collective'
else
    t_skip 'pipelining draws each collective' 'no gnuplot'
fi

t_script pipelining --sets tuned --sizes 64K:8K
[[ $code == 2 ]] && grep -q '^pipelining:' "$work/err"
t_result $? "pipelining '--sizes 64K:8K' ends with exit code 2 and a message"

echo "1..$count"
exit $failed
