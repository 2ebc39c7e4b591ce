#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What bench/han_asp and bench/asp promise. Runs in build/tests, or where ASP names the han_asp to test, and COMPONENTS
# the folder with this project's components. Exit code 0 pass, 1 fail, 77 no MPI.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE LIMIT=200
# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"

tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
trap 'exit 130' INT TERM
t_notes=("$tmp/out" "$tmp/err")

asp=$(realpath -m -- "${ASP:-../bench/han_asp}")
components=$(realpath -m -- "${COMPONENTS:-../components}")
if ! command -v mpirun >/dev/null || [[ ! -x $asp ]]; then
    echo "1..0 # SKIP no mpirun, or no $asp"
    exit 77
fi

root_option=()
((EUID != 0)) || root_option=(--allow-run-as-root)

asp() {                             # asp RANKS [-x NAME=VALUE] -- OPTIONS
    local ranks=$1 more=()
    shift
    while [[ $1 != -- ]]; do
        more+=("$1")
        shift
    done
    shift
    timeout -k 5 "$LIMIT" mpirun "${root_option[@]}" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        --mca odls_base_sigkill_timeout 0 -n "$ranks" "${more[@]}" "$asp" "$@" >"$tmp/out" 2>"$tmp/err"
}

# ---------------------------------------------------------------- han_asp

# Rows in turn, ragged; all of a small graph, so that the ways through each vertex are looked at.
asp_finds_the_shortest_paths() {
    asp 3 -- --vertices 1000 --rows 10 --iterations 7 --repetitions 2 --csv &&
        awk -F, 'NR == 1 { exit $0 != "type,vertices,bytes,ranks,rows,iterations,communication_s,total_s,wrong,version" }' "$tmp/out" &&
        awk -F, 'NR > 1 { good += $1 == "int" && $2 == 1000 && $3 == 4000 && $4 == 3 && $5 == 10 && $6 == 7 && $7 > 0 && $8 >= $7 && $9 == 0 }
            END { exit NR != 3 || good != 2 }' "$tmp/out" &&
        asp 3 -- --vertices 50 --rows 50 --type float &&
        grep -qx '50 rows of 50 float, 200 bytes each; 50 iterations on 3 ranks' "$tmp/out" &&
        grep -qE '^ +[0-9.]+ +[0-9.]+ +0$' "$tmp/out"
}

more_ranks_than_rows() {
    asp 3 -- --vertices 1 && grep -qx '1 rows of 1 int, 4 bytes each; 1 iterations on 3 ranks' "$tmp/out" &&
        asp 3 -- --vertices 100 --rows 2 --csv && [[ $(tail -n 1 "$tmp/out" | cut -d, -f9) == 0 ]]
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
    asp 3 -x LD_PRELOAD="$tmp/wrong.so" -- --vertices 1000 --csv || status=$?
    ((status == 1)) && (($(sed -n 2p "$tmp/out" | cut -d, -f9) > 0)) &&
        asp 3 -x LD_PRELOAD="$tmp/wrong.so" -x RIGHT=1 -- --vertices 1000
}

asp_tells_of_bytes_behind_a_row() {
    local status=0
    asp 3 -x LD_PRELOAD="$tmp/wrong.so" -x BEHIND=1 -- --vertices 1000 --csv || status=$?
    ((status == 1)) && [[ $(sed -n 2p "$tmp/out" | cut -d, -f9) == 1 ]]
}

asp_refuses() {                     # asp_refuses MESSAGE OPTIONS
    local message=$1 status=0
    shift
    asp 2 -- "$@" || status=$?
    ((status == 2)) && [[ $(grep '^han_asp: ' "$tmp/err") == "han_asp: $message" ]]
}

t_check 'han_asp finds the shortest paths, of int and of float, in all rows and in some' asp_finds_the_shortest_paths
t_check 'han_asp has ranks without a row' more_ranks_than_rows
if make_wrong_broadcasts; then
    t_check 'han_asp tells of rows that a wrong broadcast has made wrong' asp_tells_of_wrong_rows
    t_check 'han_asp tells of a broadcast that writes behind its buffer' asp_tells_of_bytes_behind_a_row
else
    t_skip 'han_asp tells of wrong broadcasts' 'no mpicc'
fi
t_check 'han_asp refuses more rows than vertices' asp_refuses '--rows 9; accepted: up to the number of vertices, 8' --vertices 8 --rows 9
t_check 'han_asp refuses more iterations than rows' asp_refuses '--iterations 5; accepted: up to the number of rows, 4' --vertices 8 \
    --rows 4 --iterations 5

# ---------------------------------------------------------------- asp

script() {                          # script OPTIONS; sets code
    code=0
    timeout -k 5 $((3 * LIMIT)) "$HERE/../bench/asp" --program "$asp" --components "$components" --rates none --vertices 1K,4K \
        --rounds 1 --repetitions 2 --time 5 "$@" >"$tmp/out" 2>"$tmp/err" || code=$?
}

asp_compares_sets() {
    script --shapes 2x2,3x1:node --sets han,tuned --output "$tmp/asp"
    ((code == 0)) &&
        grep -qx '16 rows of 4 KB (int), 16 iterations, 2 nodes x 2 ranks by slot, links without a rate' "$tmp/out" &&
        grep -qx '12 rows of 16 KB (int), 12 iterations, 3 nodes x 1 ranks by node, links without a rate' "$tmp/out" &&
        (($(grep -cE '^(han|tuned) +[0-9.]+ +[0-9.]+ +[0-9]+ %$' "$tmp/out") == 8)) &&
        (($(grep -cE '^communication of han takes [0-9.]+ of what tuned needs, all [0-9.]+$' "$tmp/out") == 4)) &&
        awk -F, -v version="$("$HERE/../common/version.sh")" '
            NR > 1 { good += NF == 15 && $10 == 2 && $11 > 0 && $12 >= $11 && $13 == "-" && $14 == 0 && $15 == version }
            END { exit NR != 9 || good != 8 }' "$tmp/asp.csv" &&
        { ! command -v gnuplot >/dev/null || grep -q '3 nodes of 1 by node, no rate: rows of 16 KB' "$tmp/asp.svg"; }
}

asp_judges() {
    script --shapes 2x1 --sets tuned --set 'basic=--mca coll basic,self,libnbc' --ours basic --vertices 1K --max-slower 0.0001
    ((code == 1)) && grep -qE '^asp: communication of basic takes [0-9.]+ of what tuned needs, allowed is 0.0001: 8 rows of 4 KB' "$tmp/err"
}

asp_has_no_wrong_peer() {
    script --shapes 2x1 --sets tuned --set "bad=--mca coll ^han,adapt -x LD_PRELOAD=$tmp/wrong.so" --ours bad --vertices 1K
    ((code == 1)) && grep -qE '^bad! ' "$tmp/out" && grep -qE '^asp: bad gave [0-9]+ wrong rows: 8 rows of 4 KB' "$tmp/err"
}

readonly EARLY='asp puts sets side by side, in tables, as CSV, and as a picture'
script --shapes 2x1 --sets tuned --vertices 1
if ((code == 77)); then
    t_skip "$EARLY" 'no virtual cluster'
else
    t_check "$EARLY" asp_compares_sets
    t_check 'asp fails where ours takes longer than allowed' asp_judges
    [[ ! -e $tmp/wrong.so ]] || t_check 'asp marks a set with wrong rows, and fails where it is ours' asp_has_no_wrong_peer
fi

echo "1..$count"
exit "$failed"
