#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Shows on one machine what HAN does: see --help.

set -euo pipefail

TOP=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly TOP
readonly MEASURE_SECONDS=150
# shellcheck source=tests/packages.sh
. "$TOP/tests/packages.sh"
# shellcheck source=tests/options.sh
. "$TOP/tests/options.sh"

usage() {
    cat <<END
./demo.sh [--time SECONDS]

On a Debian 12: installs what is missing (as root or with sudo), builds HAN,
brings up a virtual cluster of 4 nodes with 4 ranks each and links of 200 Mbit/s
on this machine, and compares MPI_Bcast from 8 bytes to 1 MB through
  tuned      Open MPI as it comes
  ompi-han   Open MPI with the HAN that it brings switched on
  han        this project
by single calls and by calls in a row.  Prints the tables, writes results/demo.csv
and the pictures results/demo.svg and results/demo-in-a-row.svg, and removes the
cluster.  Takes less than four minutes after the packages are there.

  --time SECONDS   for the comparison (default $MEASURE_SECONDS)

What is built is in build/ (or here, where this folder is configured).
END
}

say() {
    printf '\n== %s\n' "$*"
}

# Here, where somebody has run configure here; else in build/.
choose_build() {
    build=$TOP/build
    [[ ! -e $TOP/config.status ]] || build=$TOP
}

build_all() {
    mkdir -p "$build"
    [[ -x $TOP/configure ]] || (cd "$TOP" && autoreconf -fi)
    [[ -e $build/config.status ]] || (cd "$build" && "$TOP/configure")
    make -C "$build" -j2
}

quietly_build() {
    local log=$TOP/results/build.log
    if ! build_all >"$log" 2>&1 </dev/null; then
        tail -n 20 "$log" >&2
        echo "demo.sh: the build failed; all of its output is in $log" >&2
        exit 1
    fi
}

job=''
sudo=()

# The comparison removes its cluster itself when it is told to end, by who may tell it.
clean_up() {
    trap '' INT TERM
    [[ -z $job ]] || { "${sudo[@]}" kill -TERM "$job" && wait "$job"; } 2>/dev/null || :
    if ((${#sudo[@]} > 0)); then
        sudo chown -R "$(id -u):$(id -g)" "$TOP/results" || :
    fi
}

# In the background, for a trap interrupts only `wait`.  The network of the
# cluster wants root; without it there are nodes, but links without a rate.
compare() {
    local status=0
    if ((EUID != 0)); then
        if command -v sudo >/dev/null; then
            sudo=(sudo)
        else
            echo "neither root nor sudo: the links of the cluster have no rate, so the times say little"
        fi
    fi
    "${sudo[@]}" "$TOP/bench/compare" --collective bcast --sizes 8:1M --nodes 4 --ppn 4 --rate 200mbit \
        --sets tuned,ompi-han,han --components "$build/components" --bench "$build/bench/han_bench" \
        --time "$seconds" --output "$TOP/results/demo" </dev/null &
    job=$!
    wait "$job" || status=$?
    job=''
    return "$status"
}

seconds=$MEASURE_SECONDS
take_options "--time | seconds | whole seconds from 1 | $NUMBER" "$@"
trap clean_up EXIT
trap 'exit 130' INT TERM
mkdir -p "$TOP/results"
rm -f "$TOP/results/demo.csv" "$TOP"/results/demo*.svg
choose_build
packages_install "${PACKAGES_TO_RUN[@]}"
say "building (what it says: results/build.log)"
quietly_build
say "MPI_Bcast on 4 virtual nodes with 4 ranks each, links of 200 Mbit/s; about $seconds seconds"
status=0
compare || status=$?
if ((status != 0)); then
    echo "demo.sh: the comparison ended with exit code $status" >&2
    exit "$status"
fi
say "numbers: $TOP/results/demo.csv"
[[ ! -e $TOP/results/demo.svg ]] || say "pictures: $TOP/results/demo.svg, $TOP/results/demo-in-a-row.svg"
say "In your own job, in front of mpirun or srun:"
echo "  export OMPI_MCA_mca_base_component_path=$build/components:SYS_DEFAULT"
echo "  mpirun ./your_program"
