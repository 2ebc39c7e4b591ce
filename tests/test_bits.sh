#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Whether a job gives the same bits each time that it runs: sums of doubles, which
# depend on the order of the operands, and so on what HAN chooses.  RUNS (default:
# 10) is how often it runs, COMPONENTS names the folder to test (default:
# components/ here or one above).  Exit code 0 pass, 1 fail, 77 the machine allows
# no virtual nodes.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE

# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tests/choices.sh
. "$HERE/choices.sh"
# shellcheck source=tests/nodes.sh
. "$HERE/nodes.sh"
t_notes=("$tmp/err" "$tmp/seen")
most=10
t_all || most=4
readonly RUNS=${RUNS:-$most}

# One line for each run: its bits, and the machine that it has chosen for.
runs() {                            # runs COUNT OPTIONS...
    local run count=$1
    shift
    : >"$tmp/seen"
    for ((run = 0; run < count; ++run)); do
        run --mca coll_han_verbose 1 "$@" -- "$tmp/load_bits" || return 1
        printf '%s %s\n' "$(grep '^bits ' "$tmp/out")" \
            "$(sed -n '/^han-machine 1$/,/^cores /p' "$tmp/err" | tr '\n' ';')" >>"$tmp/seen"
    done
    ! grep -v '^bits [0-9a-f]\{16\} ' "$tmp/seen"
}

distinct() {                        # distinct FIELDS, as cut wants them
    cut -d ' ' -f "$1" "$tmp/seen" | sort -u | wc -l
}

# A job that finds its cores busy may find another machine.
test_measured() {
    runs "$RUNS" && printf '# %d runs, %d machines\n' "$RUNS" "$(distinct 3-)" &&
        ! grep -v 'han-machine 1;low .*;cores ' "$tmp/seen" && [[ $(distinct 1-) == "$(distinct 3-)" ]]
}

test_file() {
    cut -d ' ' -f 3- "$tmp/seen" | head -n 1 | tr ';' '\n' >"$tmp/machine"
    runs "$RUNS" --mca coll_han_machine "$tmp/machine" && [[ $(distinct 1-) == 1 ]] &&
        grep -qF "the machine of $tmp/machine is used:" "$tmp/err"
}

# Else the program does not see what it is to see.
test_seen() {
    local bits
    bits=$(cut -d ' ' -f 2 "$tmp/seen" | head -n 1)
    runs 1 --mca coll_han_machine none --mca coll_han_allreduce_algorithm ring && ! grep -q "^bits $bits " "$tmp/seen"
}

command -v mpirun >/dev/null || { echo "1..0 # SKIP no mpirun"; exit 77; }
find_components
mpicc -o "$tmp/load_bits" "$HERE/load_bits.c" || exit 2
chmod 755 "$tmp"
t_needs cluster_up 4
export OMPI_MCA_mca_base_component_path=$components:SYS_DEFAULT

t_check "a machine that is measured: of those that are found alike, the same bits" test_measured
t_check "a machine from a file: always the same bits" test_file
t_check "another algorithm has other bits" test_seen

echo "1..$count"
exit "$failed"
