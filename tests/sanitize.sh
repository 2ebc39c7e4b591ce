#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Components, unit tests and MPI tests under the compilers' sanitizers: see --help.

set -euo pipefail

TOP=$(dirname -- "$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")")
readonly TOP
# shellcheck source=tests/sources.sh
. "$TOP/tests/sources.sh"
# shellcheck source=tests/options.sh
. "$TOP/tests/options.sh"

# name | compiler's flags | runs of tests/run.sh (texts of --only)
# Of all runs those with the most in them; each takes three to ten times as long as without.
readonly KINDS='
address   | -fsanitize=address   | one signature; check 5,3,4,1 by node; check 2,1,2,1 by node; something inside; check solo 3; check solo 5,0,0,0, two sockets by node; check, one rank; edges by node
undefined | -fsanitize=undefined | check 5,3,4,1 by node; check 2,1,2,1 by node; something inside; check solo 3; check solo 5,0,0,0, two sockets by node; check, one rank; edges by node
thread    | -fsanitize=thread    | all collectives, threads; communicators, threads; communicators, levels
'

usage() {
    cat <<'END'
tests/sanitize.sh [address|undefined|thread]...

Builds HAN with gcc's sanitizers in build/sanitize-KIND/ (a copy of the files
that git knows) and runs the unit tests and a choice of the MPI tests with it.
Without an argument: address and undefined.  Exit code 1 when anything is reported
that has a place of ours in its stack, or when a test fails.

Open MPI itself is not instrumented.  What orders our threads inside it is told to
ThreadSanitizer by tests/tsan_openmpi.h and tests/tsan_mpi.c: a request that one
thread starts and another completes, memory from its free lists, modules that
another thread makes.  Its own data are left out by tests/tsan.supp, which says
why.  What two threads do in our code is never left out.
Leaks are looked for under "address"; those without a place of ours are left out.
END
}

say() {
    printf 'sanitize.sh: %s\n' "$*" >&2
}

# What takes a second without them takes a minute where ThreadSanitizer reports each byte that libnbc hands over.
# Components stay mapped when Open MPI unloads them: reports come later, and want names.
build() {                           # build NAME DIR FLAGS
    local flags="-g -O1 -fno-omit-frame-pointer $3" in_components='' in_tests=''
    rm -rf -- "$2"
    sources_copy "$TOP" "$2"
    if [[ $1 == thread ]]; then
        in_components="-include $2/tests/tsan_openmpi.h"
        in_tests=tsan_mpi.o
    fi
    (cd "$2" &&
        autoreconf -fi &&
        ./configure CFLAGS="$flags" LDFLAGS='-Wl,-z,nodelete' &&
        make -j2 CFLAGS="$flags $in_components" &&
        { [[ -z $in_tests ]] || make -C tests "$in_tests"; } &&
        make -C tests mpi-programs CFLAGS="$flags -DT_LIMIT=1200 $in_tests") >"$2.log" 2>&1 || { tail -n 20 "$2.log" >&2; return 1; }
}

# Starts a program with the sanitizers' options.  Each process has a report of its own: nodes may give equal process ids.
# Hooks for memory, Open MPI's and UCX's, and the sanitizers' replace the same functions: a thread that ends gives
# its stack back by UCX's, after ThreadSanitizer has forgotten the thread.
make_wrapper() {                    # make_wrapper FILE REPORTS
    cat >"$1" <<END
#!/usr/bin/env bash
common=log_path=$2/report.\$RANDOM.\$RANDOM.\${OMPI_COMM_WORLD_RANK:-0}
export ASAN_OPTIONS=\$common:detect_leaks=1:exitcode=0 UBSAN_OPTIONS=\$common:print_stacktrace=1
export TSAN_OPTIONS=\$common:exitcode=0:detect_deadlocks=0:history_size=7:suppressions=$TOP/tests/tsan.supp
export OMPI_MCA_memory='^patcher' UCX_MEM_EVENTS=n
exec "\$@"
END
    chmod +x "$1"
}

# Blocks of reports that have a place of ours.  A program of the tests calls MPI: its own files do not count.
ours_in_reports() {                 # ours_in_reports DIR
    local file
    for file in "$1"/report.*; do
        [[ -e $file ]] || continue
        awk '
            function flush() {
                if (block ~ /#[0-9]+ .*(coll_(han|adapt|solo)[a-z_]*|\/(tune|common)\/[a-z_]+)\.[ch]:[0-9]|runtime error/) {
                    printf "%s\n", block
                }
                block = ""
            }
            /^=+$/ || $0 == "" { flush(); next }
            { block = block $0 "\n" }
            END { flush() }' "$file"
    done
}

check_kind() {                      # check_kind NAME FLAGS RUNS
    local name=$1 dir=$TOP/build/sanitize-$1 run reports status=0
    local -a runs
    trap 'exit 130' INT             # a run that has been interrupted is no failed one
    trap 'exit 143' TERM
    say "$name: building in ${dir#"$TOP/"}"
    ASAN_OPTIONS=detect_leaks=0 build "$name" "$dir" "$2" || return
    reports=$dir/reports
    rm -rf -- "$reports"
    mkdir -p "$reports"
    make_wrapper "$dir/wrapper" "$reports"
    say "$name: unit tests"
    "$dir/wrapper" make -C "$dir" check >"$dir.check.log" 2>&1 || { status=1; tail -n 20 "$dir.check.log"; }
    IFS=';' read -ra runs <<<"$3"
    for run in "${runs[@]}"; do
        run=${run#"${run%%[![:space:]]*}"}
        run=${run%"${run##*[![:space:]]}"}
        say "$name: $run"
        HAN_TEST_WRAPPER=$dir/wrapper "$TOP/tests/run.sh" --build "$dir" --only "$run" >"$dir.run.log" 2>&1 || status=1
        grep -aE -A 12 '^not ok' "$dir.run.log" || :
    done
    ours_in_reports "$reports" >"$reports/ours"
    if [[ -s $reports/ours ]]; then
        head -n 100 "$reports/ours"
        status=1
    fi
    if ((status == 0)); then
        echo "ok - $name: nothing of ours is reported"
    else
        echo "not ok - $name"
    fi
    return "$status"
}

want() {                            # want WORD KIND
    wanted+=("$2")
}

main() {
    local name flags runs failed=0
    local -a wanted=()
    trap 'exit 130' INT
    trap 'exit 143' TERM
    take_options '* | want() | address, undefined or thread | address|undefined|thread' "$@"
    ((${#wanted[@]} > 0)) || wanted=(address undefined)
    while IFS='|' read -r name flags runs; do
        read -r name <<<"$name"
        [[ " ${wanted[*]} " == *" $name "* && -n $name ]] || continue
        (check_kind "$name" "$flags" "$runs") </dev/null || failed=1
    done <<<"$KINDS"
    exit "$failed"
}

main "$@"
