#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What bench/han_asp, han_training, han_learning, asp, training and learning promise. Runs in build/tests, or where BENCH names
# the folder of the programs to test, and COMPONENTS that of this project's components. Exit code 0 pass, 1 fail, 77 no MPI.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tests/seats.sh
. "$HERE/seats.sh"

tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
trap 'exit 130' INT TERM
t_notes=("$tmp/out" "$tmp/err")

programs=$(realpath -m -- "${BENCH:-../bench}")
components=$(realpath -m -- "${COMPONENTS:-../components}")
if ! command -v mpirun >/dev/null || [[ ! -x $programs/han_asp ]]; then
    echo "1..0 # SKIP no mpirun, or no $programs/han_asp"
    exit 77
fi

root_option=()
((EUID != 0)) || root_option=(--allow-run-as-root)

job() {                             # job PROGRAM RANKS [-x NAME=VALUE] -- OPTIONS
    local program=$1 ranks=$2 more=()
    shift 2
    while [[ $1 != -- ]]; do
        more+=("$1")
        shift
    done
    shift
    timeout -k 5 "$LIMIT" mpirun "${root_option[@]}" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        --mca odls_base_sigkill_timeout 0 -n "$ranks" "${more[@]}" "$programs/$program" "$@" </dev/null >"$tmp/out" 2>"$tmp/err"
}

refuses() {                         # refuses PROGRAM MESSAGE OPTIONS
    local program=$1 message=$2 status=0
    shift 2
    job "$program" 2 -- "$@" || status=$?
    ((status == 2)) && [[ $(grep "^$program: " "$tmp/err") == "$program: $message" ]]
}

# ---------------------------------------------------------------- han_asp

# Rows in turn, ragged; all of a small graph, so that the ways through each vertex are looked at.
asp_finds_the_shortest_paths() {
    job han_asp 3 -- --vertices 1000 --rows 10 --iterations 7 --repetitions 2 --csv &&
        awk -F, 'NR == 1 { exit $0 != "type,vertices,bytes,ranks,rows,iterations,communication_s,total_s,wrong,version" }' "$tmp/out" &&
        awk -F, 'NR > 1 { good += $1 == "int" && $2 == 1000 && $3 == 4000 && $4 == 3 && $5 == 10 && $6 == 7 && $7 > 0 && $8 >= $7 && $9 == 0 }
            END { exit NR != 3 || good != 2 }' "$tmp/out" &&
        job han_asp 3 -- --vertices 50 --rows 50 --type float &&
        grep -qx '50 rows of 50 float, 200 bytes each; 50 iterations on 3 ranks' "$tmp/out" &&
        grep -qE '^ +[0-9.]+ +[0-9.]+ +0$' "$tmp/out"
}

more_ranks_than_rows() {
    job han_asp 3 -- --vertices 1 && grep -qx '1 rows of 1 int, 4 bytes each; 1 iterations on 3 ranks' "$tmp/out" &&
        job han_asp 3 -- --vertices 100 --rows 2 --csv && [[ $(tail -n 1 "$tmp/out" | cut -d, -f9) == 0 ]]
}

# A broadcast that gives rank 1 one wrong element, in the fifth row; and one that writes behind its buffer.
make_wrong_broadcasts() {
    cat >"$tmp/wrong.c" <<'END'
#include <mpi.h>
#include <stdlib.h>
int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    static int calls;
    int rank, ranks, code = PMPI_Bcast(buffer, count, type, root, comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (1 == rank && root != rank && ++calls > ranks - 1) {  /* those before it connect */
        if (NULL != getenv("BEHIND")) {
            ((char *) buffer)[4 * (size_t) count] = 1;
        } else if (NULL == getenv("RIGHT")) {
            ((int *) buffer)[count - 1] = 0;
        }
    }
    return code;
}
END
    mpicc -shared -fPIC -o "$tmp/wrong.so" "$tmp/wrong.c" 2>"$tmp/err"
}

asp_tells_of_wrong_rows() {
    local status=0
    job han_asp 3 -x LD_PRELOAD="$tmp/wrong.so" -- --vertices 1000 --csv || status=$?
    ((status == 1)) && (($(sed -n 2p "$tmp/out" | cut -d, -f9) > 0)) &&
        job han_asp 3 -x LD_PRELOAD="$tmp/wrong.so" -x RIGHT=1 -- --vertices 1000
}

asp_tells_of_bytes_behind_a_row() {
    local status=0
    job han_asp 3 -x LD_PRELOAD="$tmp/wrong.so" -x BEHIND=1 -- --vertices 1000 --csv || status=$?
    ((status == 1)) && [[ $(sed -n 2p "$tmp/out" | cut -d, -f9) == 1 ]]
}

asp_moves_ranks() {                 # whenever each has had its turn
    seats_library "$tmp/seats.so" && job han_asp 4 -x LD_PRELOAD="$tmp/seats.so" -- --vertices 100 --rows 20 --repetitions 2 &&
        seats_are_changed 4 10 10 "$tmp/err" && mv "$tmp/err" "$tmp/first" &&
        job han_asp 4 -x LD_PRELOAD="$tmp/seats.so" -- --vertices 100 --rows 20 --repetitions 2 --seed 1 &&
        seats_are_changed 4 10 10 "$tmp/err" && seats_differ "$tmp/first" "$tmp/err"
}

t_check 'han_asp finds the shortest paths, of int and of float, in all rows and in some' asp_finds_the_shortest_paths
t_check 'han_asp has ranks without a row' more_ranks_than_rows
t_check 'han_asp puts ranks that share cores on other ones, by a lot with a seed' asp_moves_ranks
if make_wrong_broadcasts; then
    t_check 'han_asp tells of rows that a wrong broadcast has made wrong' asp_tells_of_wrong_rows
    t_check 'han_asp tells of a broadcast that writes behind its buffer' asp_tells_of_bytes_behind_a_row
else
    t_result 1 'the library of wrong broadcasts can be compiled' "$tmp/err"
fi
t_check 'han_asp refuses more rows than vertices' refuses han_asp '--rows 9; accepted: up to the number of vertices, 8' --vertices 8 --rows 9
t_check 'han_asp refuses more iterations than rows' refuses han_asp '--iterations 5; accepted: up to the number of rows, 4' --vertices 8 \
    --rows 4 --iterations 5

# ---------------------------------------------------------------- han_training

# By the layers as they are published; the paper counts more of resnet50 and resnet110 than has a gradient.
training_has_the_published_networks() {
    job han_training 1 -- --list &&
        awk 'NR > 1 { parameters[$1] = $3; paper[$1] = $4; flops[$1] = $5; paper_flops[$1] = $6 }
            END { exit !parameters["alexnet"] || !parameters["vgg11"] || parameters["alexnet"] != paper["alexnet"] || flops["alexnet"] != paper_flops["alexnet"] ||
                parameters["vgg11"] != paper["vgg11"] || flops["vgg11"] != paper_flops["vgg11"] ||
                parameters["resnet50"] != 25557032 || flops["resnet50"] != paper_flops["resnet50"] ||
                parameters["resnet110"] / paper["resnet110"] < 0.99 || parameters["resnet110"] > paper["resnet110"] }' "$tmp/out"
}

# A step takes no less than the accelerators compute: 3 times 0.507 Gflop for an image.
training_gives_means() {
    job han_training 3 -- --networks resnet110 --fusion 64M,300K,1 --modes blocking,nonblocking,segments=7,segment=100K --in-flight 3 \
        --steps 2 --batch 2 --flops 1e11 --csv &&
        [[ $(head -n 1 "$tmp/out") == network,parameters,tensors,fusion,reductions,ranks,batch,flops,mode,steps,step_s,images_per_s,efficiency,wrong,version ]] &&
        awk -F, '
            NR > 1 {
                good += NF == 15 && $1 == "resnet110" && $2 == 1731002 && $3 == 338 && $6 == 3 && $7 == 2 && $11 >= 0.0304 && $13 <= 1 && $14 == 0
                reductions[$4] = $5
            }
            END { exit good != 12 || reductions[67108864] != 1 || reductions[1] != 338 || reductions[307200] < 23 || reductions[307200] > 60 }' \
            "$tmp/out"
}

# Counts the calls, how many are under way at once, and what they reduce; with LEFT_OUT=N the Nth on rank 1 does nothing.
make_counted_reductions() {
    cat >"$tmp/left_out.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int blocking, nonblocking, under_way, most;
static long elements;
int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    ++blocking;
    elements += count;
    return PMPI_Allreduce(send, recv, count, type, op, comm);
}
int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    static float spare[1 << 20];
    const char *left_out = getenv("LEFT_OUT");
    int rank;
    MPI_Comm_rank(comm, &rank);
    ++nonblocking;
    elements += count;
    most = ++under_way > most ? under_way : most;
    if (1 == rank && NULL != left_out && atoi(left_out) == nonblocking) {
        return PMPI_Iallreduce(recv, spare, count, type, op, comm, request);
    }
    return PMPI_Iallreduce(send, recv, count, type, op, comm, request);
}
int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    under_way -= MPI_REQUEST_NULL != *request;
    return PMPI_Wait(request, status);
}
int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    under_way = 0;
    return PMPI_Waitall(count, requests, statuses);
}
int MPI_Finalize(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (0 == rank) {
        fprintf(stderr, "calls %d %d, at most %d at once, %ld elements\n", blocking, nonblocking, most, elements);
    }
    return PMPI_Finalize();
}
END
    mpicc -shared -fPIC -o "$tmp/left_out.so" "$tmp/left_out.c" 2>"$tmp/err"
}

# Of each mode a step that is not timed and two that are, all of the whole network.
training_reduces_in_segments() {
    local mode calls
    while read -r mode calls; do
        job han_training 2 -x LD_PRELOAD="$tmp/left_out.so" -- --networks resnet110 --modes "$mode" --in-flight 3 --steps 2 --batch 1 &&
            grep -qx "calls $calls, $((3 * 1731002)) elements" "$tmp/err" || return 1
    done <<'END'
blocking 3 0, at most 0 at once
nonblocking 0 3, at most 1 at once
segments=4 0 12, at most 3 at once
segments=2 0 6, at most 2 at once
segment=1M 0 21, at most 3 at once
END
}

# A quarter of them on rank 1, but for every thirteenth: its own 1 is 2 times the mean of 0 and 1.
training_tells_of_wrong_gradients() {
    local status=0
    job han_training 2 -x LD_PRELOAD="$tmp/left_out.so" -x LEFT_OUT=3 -- --networks resnet110 --modes blocking,segments=4 --steps 1 --csv ||
        status=$?
    ((status == 1)) && awk -F, '$9 == "blocking" { right = $14 == 0 } $9 == "segments=4" { wrong = $14 == 399462 }
        END { exit !(right && wrong) }' "$tmp/out"
}

training_moves_threads() {          # in each step of each mode, also in the one that is not timed
    seats_library "$tmp/seats.so" && job han_training 4 -x LD_PRELOAD="$tmp/seats.so" -- --networks resnet110 --batch 1 &&
        seats_are_changed 4 18 18 "$tmp/err" && mv "$tmp/err" "$tmp/first" &&
        job han_training 4 -x LD_PRELOAD="$tmp/seats.so" -- --networks resnet110 --batch 1 --seed 1 &&
        seats_are_changed 4 18 18 "$tmp/err" && seats_differ "$tmp/first" "$tmp/err"
}

t_check 'han_training has the networks as they are published' training_has_the_published_networks
t_check 'han_training gives all ranks the means of all gradients, fused or not, in each mode' training_gives_means
t_check 'han_training puts communication threads that share cores on other ones, by a lot with a seed' training_moves_threads
if make_counted_reductions; then
    t_check 'han_training reduces a buffer by as many calls, and as many at once, as it is told' training_reduces_in_segments
    t_check 'han_training tells of a segment that is left out' training_tells_of_wrong_gradients
else
    t_result 1 'the library of counted reductions can be compiled' "$tmp/err"
fi

# ---------------------------------------------------------------- han_learning

# Debian's packages are for Debian's Python.
export PATH=/usr/bin:$PATH

# han_learning is no compiled program.
of_sources() {                      # of_sources TEST
    local programs=$HERE/../bench
    "$@"
}

learns() {                          # learns RANKS [-x NAME=VALUE] -- OPTIONS
    of_sources job han_learning "$@"
}

learning_learns() {
    learns 3 -- --steps 41 --hidden 32 --csv && [[ $(head -n 1 "$tmp/out") == ranks,bytes,step,loss,digest,step_s,reduction_s,error ]] &&
        awk -F, '
            /^[0-9]/ { good += $1 == 3 && $2 == 5008 && $3 == good && $6 >= $7 && ($3 % 10 ? $8 == "-" : $8 != "-" && $8 < 1e-5); loss[$3] = $4 }
            END { exit good != 41 || loss[40] > loss[0] / 2 }' "$tmp/out" &&
        grep -qE '^# [0-9.]+ % of 3000 new points are told right; 0 ranks have other weights than rank 0$' "$tmp/out"
}

# The first one of them on rank 1 is half as large again; with FAILS, the call fails there.
make_wrong_sums() {
    cat >"$tmp/wrong_sum.c" <<'END'
#include <mpi.h>
#include <stdlib.h>
int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int rank, code = PMPI_Allreduce(send, recv, count, type, op, comm);
    MPI_Comm_rank(comm, &rank);
    if (1 == rank) {
        ((float *) recv)[0] = ((float *) recv)[0] * 1.5f;
    }
    return 1 == rank && getenv("FAILS") ? MPI_ERR_OTHER : code;
}
END
    mpicc -shared -fPIC -o "$tmp/wrong_sum.so" "$tmp/wrong_sum.c" 2>"$tmp/err"
}

learning_tells_of_other_weights() {
    local status=0
    learns 3 -x LD_PRELOAD="$tmp/wrong_sum.so" -- --steps 5 --hidden 8 || status=$?
    ((status == 1)) && grep -qE '; 1 ranks have other weights than rank 0$' "$tmp/out"
}

learning_refuses() {
    local option
    for option in --steps --seed; do
        refuses han_learning "$option: 0; accepted: a number from 1 to 999999; --help lists the options" "$option" 0 || return
    done
    refuses han_learning 'unrecognized arguments: --fast; --help lists the options' --fast
}

learning_ends_where_a_rank_fails() {
    ! learns 3 -x LD_PRELOAD="$tmp/wrong_sum.so" -x FAILS=yes -- --steps 5 --hidden 8 && grep -q 'MPI_ERR_OTHER' "$tmp/err" &&
        ! grep -q 'are told right' "$tmp/out"
}

readonly LEARNS='han_learning learns, by sums that are right, the same on all ranks'
can_learn=yes
if ! python3 -c 'import numpy, mpi4py.MPI' 2>"$tmp/err"; then
    can_learn=
    t_skip "$LEARNS" 'no NumPy, or no mpi4py'
else
    t_check "$LEARNS" learning_learns
    t_check 'han_learning refuses what is no number of steps, points, neurons' of_sources learning_refuses
    if make_wrong_sums; then
        t_check 'han_learning tells of a rank that has another sum' learning_tells_of_other_weights
        t_check 'han_learning ends where a rank fails' learning_ends_where_a_rank_fails
    else
        t_result 1 'the library of wrong sums can be compiled' "$tmp/err"
    fi
fi

# ---------------------------------------------------------------- asp, training, learning

script() {                          # script NAME OPTIONS; sets code
    local name=$1
    shift
    code=0
    timeout -k 5 $((3 * LIMIT)) "$HERE/../bench/$name" --program "$programs/han_$name" --components "$components" --rates none \
        --rounds 1 --time 5 "$@" >"$tmp/out" 2>"$tmp/err" || code=$?
}

basic_and_tuned=(--sets tuned --set 'basic=--mca coll basic,self,libnbc' --ours basic)

asp_compares_sets() {
    script asp --shapes 2x2,3x1:node --sets han,tuned --vertices 1K --repetitions 2 --output "$tmp/asp"
    ((code == 0)) &&
        grep -qx '16 rows of 4 KB (int), 16 iterations, 2 nodes x 2 ranks by slot, links without a rate' "$tmp/out" &&
        grep -qx '12 rows of 4 KB (int), 12 iterations, 3 nodes x 1 ranks by node, links without a rate' "$tmp/out" &&
        (($(grep -cE '^(han|tuned) +[0-9.]+ +[0-9.]+ +[0-9]+ %$' "$tmp/out") == 4)) &&
        (($(grep -cE '^communication of han takes [0-9.]+ of what tuned needs, all [0-9.]+$' "$tmp/out") == 2)) &&
        awk -F, -v version="$("$HERE/../common/version.sh")" '
            NR > 1 { good += NF == 15 && $10 == 2 && $11 > 0 && $12 >= $11 && $13 == "-" && $14 == 0 && $15 == version }
            END { exit NR != 5 || good != 4 }' "$tmp/asp.csv" &&
        { ! command -v gnuplot >/dev/null || grep -q '3 nodes of 1 by node, no rate: rows of 4 KB' "$tmp/asp.svg"; }
}

asp_judges() {
    script asp --shapes 2x1 "${basic_and_tuned[@]}" --vertices 1K --max-slower 0.0001
    ((code == 1)) && grep -qE '^asp: communication of basic takes [0-9.]+ of what tuned needs, allowed is 0.0001: 8 rows of 4 KB' "$tmp/err"
}

asp_has_no_wrong_peer() {
    script asp --shapes 2x1 --sets tuned --set "bad=--mca coll ^han,adapt -x LD_PRELOAD=$tmp/wrong.so" --ours bad --vertices 1K
    ((code == 1)) && grep -qE '^bad! ' "$tmp/out" && grep -qE '^asp: bad gave [0-9]+ wrong rows: 8 rows of 4 KB' "$tmp/err"
}

training_compares_sets() {
    script training --shapes 3x1 --sets han,tuned --networks resnet110 --fusion 64M,1M --steps 2 --output "$tmp/training"
    ((code == 0)) &&
        grep -qx 'resnet110, fusion buffers of 1 MB, 7 reductions, batches of 32; 3 nodes x 1 ranks by slot, links without a rate' \
            "$tmp/out" &&
        (($(grep -cE '^(han|tuned) ( +[0-9.]+ \([0-9]+ %\)){3}$' "$tmp/out") == 4)) &&
        (($(grep -cE '^han, [a-z=4]+: [0-9.]+ times as fast as tuned' "$tmp/out") == 6)) &&
        awk -F, -v version="$("$HERE/../common/version.sh")" '
            NR > 1 { good += NF == 19 && $5 == "resnet110" && $9 == 3 && $14 == 1 && $15 > 0 && $16 > 0 && $17 <= 1 && $18 == 0 && $19 == version }
            END { exit NR != 13 || good != 12 }' "$tmp/training.csv" &&
        { ! command -v gnuplot >/dev/null || grep -q 'resnet110, 1 MB: 3 nodes of 1, no rate' "$tmp/training.svg"; }
}

training_judges() {
    script training --shapes 2x1 "${basic_and_tuned[@]}" --networks resnet110 --fusion 64M --modes blocking --steps 1 --max-slower 0.01
    ((code == 1)) && grep -qE '^training: blocking of basic takes [0-9.]+ of what tuned needs, allowed is 0.01: resnet110, ' "$tmp/err"
}

training_has_no_wrong_peer() {
    script training --shapes 2x1 --sets tuned --set "bad=--mca coll ^han,adapt -x LD_PRELOAD=$tmp/left_out.so -x LEFT_OUT=2" --ours bad \
        --networks resnet110 --fusion 64M --modes segments=4 --steps 1
    ((code == 1)) && grep -qE '^bad! ' "$tmp/out" && grep -qE '^training: bad gave [0-9]+ wrong gradients: resnet110, ' "$tmp/err"
}

learning_compares_sets() {
    script learning --shapes 2x2,2x2:node --sets han,reproducible,tuned --steps 12 --hidden 16 --output "$tmp/learning"
    ((code == 0)) && grep -qx 'gradients of 1488 bytes, 12 steps, 2 nodes x 2 ranks by node, links without a rate' "$tmp/out" &&
        (($(grep -cE '^(han|reproducible|tuned) +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ % +[0-9.e-]+ +[0-9.e-]+$' "$tmp/out") == 6)) &&
        grep -qx 'reproducible: the same bits in all 2 tables' "$tmp/out" &&
        awk -F, -v version="$("$HERE/../common/version.sh")" '
            NR > 1 { good += NF == 18 && $5 == 16 && $8 == 1 && $10 >= $11 && $14 != "-" && $14 < 0.01 && $15 > 0 && $15 < 1e-5 && $16 == 0 && $18 == version }
            END { exit NR != 7 || good != 6 }' "$tmp/learning.csv" &&
        { ! command -v gnuplot >/dev/null || grep -q '2 nodes of 2 by node, no rate, width 16' "$tmp/learning.svg"; }
}

learning_judges() {
    script learning --shapes 3x1 --sets tuned --set "bad=--mca coll ^han,adapt -x LD_PRELOAD=$tmp/wrong_sum.so" --ours bad --steps 3 --hidden 8
    ((code == 1)) && grep -qE '^learning: bad left 1 ranks with other weights than rank 0: gradients of ' "$tmp/err"
}

readonly EARLY='asp puts sets side by side, in tables, as CSV, and as a picture'
script asp --shapes 2x1 --sets tuned --vertices 1
if ((code == 77)); then
    t_skip "$EARLY" 'no virtual cluster'
else
    t_check "$EARLY" asp_compares_sets
    t_check_all 'asp fails where ours takes longer than allowed' asp_judges
    [[ ! -e $tmp/wrong.so ]] || t_check 'asp marks a set with wrong rows, and fails where it is ours' asp_has_no_wrong_peer
    t_check_all 'training puts sets side by side, in tables, as CSV, and as a picture' training_compares_sets
    t_check_all 'training fails where ours takes longer than allowed' training_judges
    [[ ! -e $tmp/left_out.so ]] ||
        t_check_all 'training marks a set with wrong gradients, and fails where it is ours' training_has_no_wrong_peer
    if [[ -n $can_learn ]]; then
        t_check_all 'learning puts sets side by side, in tables, as CSV, and as a picture' of_sources learning_compares_sets
        [[ ! -e $tmp/wrong_sum.so ]] || t_check_all 'learning fails where ours left ranks with other weights' of_sources learning_judges
    fi
fi

echo "1..$count"
exit "$failed"
