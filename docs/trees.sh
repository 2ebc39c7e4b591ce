#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# trees.sh - draws docs/trees/*.svg anew, with the builders of coll_adapt/.

set -euo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
WORK=$(mktemp -d)
readonly WORK
trap 'rm -rf -- "$WORK"' EXIT

"${CC:-cc}" -std=c99 -O1 -Wall -Wextra -o "$WORK/trees" "$HERE/trees.c" "$HERE/../coll_adapt/coll_adapt_tree.c"
mkdir -p "$HERE/trees"
"$WORK/trees" >"$WORK/kinds"
while read -r kind; do
    "$WORK/trees" "$kind" >"$WORK/$kind.svg"
    mv -- "$WORK/$kind.svg" "$HERE/trees/$kind.svg"
done <"$WORK/kinds"
