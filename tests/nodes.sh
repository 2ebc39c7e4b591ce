# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034  # used by those that source this
#
# Jobs on a virtual cluster of a test script's own, which goes when the script ends.  To be sourced, behind tap.sh.

readonly VCLUSTER=$HERE/../cluster/vcluster

cluster=t$$
tmp=$(mktemp -d)
wrapper=()                          # in front of each program

clean_up() {
    trap '' INT TERM
    "$VCLUSTER" down --name "$cluster" >/dev/null 2>&1 || :  # there may be none
    rm -rf -- "$tmp"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# Should this script be killed, the next cluster's up removes it.
cluster_up() {                      # cluster_up NODES [RATE]
    "$VCLUSTER" up --name "$cluster" --nodes "$1" --rate "${2:-none}" --owner $$
}

# With two ranks on each node.  $tmp/err is without a warning of mpirun itself, that an agent was quicker than its parent.
run() {                             # run [mpirun options] -- PROGRAM...
    local status=0
    local -a options=()
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    timeout -k 5 "$LIMIT" "$VCLUSTER" run --name "$cluster" --ppn 2 "${options[@]}" -- "${wrapper[@]}" "$@" \
        </dev/null >"$tmp/out" 2>"$tmp/err" || status=$?
    sed -i '/setpgid.* failed in parent/d' "$tmp/err"
    return "$status"
}
