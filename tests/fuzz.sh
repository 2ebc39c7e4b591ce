#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Looks for texts that break the parser of rules, with clang's libFuzzer and
# sanitizers, beginning with the corpus of tests/fuzz_corpus.  Exit code 0 none
# was found, 1 one was (it is kept in fuzz-findings/), 77 clang has no libFuzzer.

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
readonly TOP=$HERE/..

# shellcheck source=tests/options.sh
. "$HERE/options.sh"

usage() {
    echo "tests/fuzz.sh [--seconds N]   (default: 60)"
}

seconds=60
take_options "--seconds | seconds | whole seconds from 1 | $NUMBER" "$@"

tmp=$(mktemp -d)
trap 'rm -rf -- "$tmp"' EXIT
trap 'exit 130' INT TERM

skip() {
    echo "1..0 # SKIP $1"
    exit 77
}

command -v clang >/dev/null || skip "clang is missing"
echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' >"$tmp/none.c"
clang -fsanitize=fuzzer,address,undefined -o "$tmp/none" "$tmp/none.c" 2>/dev/null ||
    skip "this clang has no libFuzzer or no sanitizers"

# All of libhan_core, so that this list cannot fall behind that of the build.
mapfile -t core < <(sed -n '/^libhan_core_la_SOURCES/,/[^\\]$/s/.*\(coll_han_[a-z]*\.c\).*/\1/p' "$TOP/Makefile.am")
((${#core[@]})) || { echo "fuzz.sh: Makefile.am lists no source of libhan_core" >&2; exit 1; }
clang -g -O1 -Wall -Wextra -Werror -DHAN_FUZZING "-I$TOP" -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=undefined -o "$tmp/fuzz" "$HERE/fuzz_rules.c" \
    "${core[@]/#/$TOP/}" || exit 1
words=("han-rules 1" machine nodes= ppn= bytes= order= algorithm= fs= depth= imod= smod= ibalg= iralg= ibs= irs= sbalg=
    lanes= auto tree ring pipeline fallback bcast allreduce scan consecutive scattered 64K- 2-8 18446744073709551615)
for word in "${words[@]}"; do
    printf '"%s"\n' "$word"
done >"$tmp/words"
mkdir "$tmp/corpus"
cp -- "$HERE"/fuzz_corpus/* "$TOP/coll_han_builtin.rules" "$tmp/corpus"
status=0
"$tmp/fuzz" -max_total_time="$seconds" -timeout=10 -max_len=4096 -dict="$tmp/words" -print_final_stats=1 \
    -artifact_prefix="$tmp/found-" "$tmp/corpus" 2>"$tmp/log" || status=$?
tail -n 8 "$tmp/log" | sed 's/^/# /'
if ((status == 0)); then
    echo "ok 1 - no text was found in $seconds s that breaks the parser of rules"
else
    mkdir -p fuzz-findings
    cp -- "$tmp"/found-* fuzz-findings 2>/dev/null
    grep -E 'ERROR|SUMMARY|does not hold|runtime error' "$tmp/log" | sed 's/^/# /'
    echo "not ok 1 - a text was found that breaks the parser of rules: $PWD/fuzz-findings"
fi
echo "1..1"
((status == 0))
