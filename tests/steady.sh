#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Whether check.sh says the same each time, also on a busy machine: see --help.

set -euo pipefail

TOP=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")/..
readonly TOP BUSY_LOOPS=3 WALKED_MIB=2048
# shellcheck source=tests/job.sh
. "$TOP/tests/job.sh"
# shellcheck source=tests/options.sh
. "$TOP/tests/options.sh"

usage() {
    cat <<'END'
tests/steady.sh N [OPTIONS OF check.sh]

Runs ./check.sh N times, with the options given (--quick, --only TEXT, ...).  In
every second run the machine is busy: three loops, and a program that walks
through 2 GiB of memory (half of what is free, where that is less).  Then prints
what has failed at least once, and how often.  Exit code 1 when anything has; 2
where a run did not come to its end.
END
}

# ---------------------------------------------------------------- load

load=()

loop() {
    while :; do :; done
}

walked_mib() {
    awk -v most="$WALKED_MIB" '/^MemAvailable:/ { half = int($2 / 2048); print half < most ? half : most }' /proc/meminfo
}

make_walker() {
    cat >"$tmp/walker.c" <<'END'
#include <stdlib.h>

int main(int argc, char **argv)
{
    const size_t bytes = (size_t) (argc > 1 ? atol(argv[1]) : 1) << 20;
    volatile char *memory = malloc(bytes);

    while (NULL != memory) {
        for (size_t i = 0; i < bytes; i += 64) {
            ++memory[i];
        }
    }
    return 1;
}
END
    gcc -O1 -o "$tmp/walker" "$tmp/walker.c"
}

load_on() {
    local i
    for ((i = 0; i < BUSY_LOOPS; i++)); do
        loop &
        load+=("$!")
    done
    "$tmp/walker" "$(walked_mib)" &
    load+=("$!")
}

load_off() {
    ((${#load[@]} == 0)) || { kill "${load[@]}" && wait "${load[@]}"; } 2>/dev/null || :
    load=()
}

# ---------------------------------------------------------------- runs

# The names of what has failed, without the numbers, which depend on what came before.
failures() {                        # failures FILE
    sed -n '/^failed:$/,/^$/ s/^  //p' "$1" | sed -E 's/^([^:]*): [0-9]+ - /\1: /'
}

# Whether it came to its end, and says what has failed, where its exit code says that something has.
has_counts() {                      # has_counts FILE STATUS
    [[ $(tail -n 1 "$1") =~ ^[1-9][0-9]*\ passed,\ [0-9]+\ failed,\ [0-9]+\ skipped$ ]] &&
        { (($2 == 0)) || [[ -n $(failures "$1") ]]; }
}

check() {                           # check NUMBER OF OPTIONS...
    local number=$1 of=$2 start=$SECONDS status=0 how=
    shift 2
    if ((number % 2 == 0)); then
        how=', busy'
        load_on
    fi
    job_run "$TOP/check.sh" "$@" >"$tmp/out" 2>&1 || status=$?
    load_off
    if ((status > 1)) || ! has_counts "$tmp/out" "$status"; then
        cat "$tmp/out" >&2
        exit 2
    fi
    failures "$tmp/out" >>"$tmp/failures"
    printf 'run %d of %d%s: %s, %d s' "$number" "$of" "$how" "$(tail -n 1 "$tmp/out")" $((SECONDS - start))
    ((number == of)) || printf ', about %d min left' $((SECONDS * (of - number) / number / 60 + 1))
    printf '\n'
    if ((status != 0)); then
        cp -- "$tmp/out" "$TOP/build/check/steady-$number.log"
        echo "   (all of it: build/check/steady-$number.log)"
    fi
}

# Not in a loop that is ended before it has let go of what is trapped here.
clean_up() {
    [[ $BASHPID == "$$" ]] || return
    trap '' INT TERM
    job_end
    load_off
    [[ -z $tmp ]] || rm -rf -- "$tmp"
}

tmp=''
runs=
take_options "* | runs | the number of runs, a whole number from 1 | $NUMBER" "${1:-}"
shift
trap clean_up EXIT
trap 'exit 130' INT TERM
tmp=$(mktemp -d)
make_walker
: >"$tmp/failures"
for ((run = 1; run <= runs; run++)); do
    check "$run" "$runs" "$@"
done
if [[ -s $tmp/failures ]]; then
    printf '\nfailed at least once:\n'
    sort "$tmp/failures" | uniq -c | sort -rn
    exit 1
fi
printf '\nno test failed in %d runs\n' "$runs"
