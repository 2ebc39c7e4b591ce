#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Whether the check catches faults in the components: see --help.

set -euo pipefail

TOP=$(dirname -- "$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")")
readonly TOP
# shellcheck source=tests/job.sh
. "$TOP/tests/job.sh"
# shellcheck source=tests/sources.sh
. "$TOP/tests/sources.sh"
# shellcheck source=tests/options.sh
. "$TOP/tests/options.sh"
readonly LIST=$TOP/tests/mutants.list WORK=$TOP/build/mutants
readonly TREE=$WORK/tree TABLE=$WORK/table.md
readonly CFLAGS_GCC='-g -O2 -Werror' STEPS=(unit mpi solo load rules settle memory)
export HAN_CHECK_DEPTH=usual         # what ./check.sh has, and no more
export HAN_TEST_LIMIT=120            # a test that hangs is no more caught by waiting

# Seconds that a step may take: many times what any takes.  What hangs ends before, by a limit of the tests.
readonly LIMIT=3600

usage() {
    cat <<'END'
tests/mutants.sh [--only TEXT] [--list]

Shows that ./check.sh catches faults.  A mutant is HAN with one fault, put there on
purpose: tests/mutants.list says where, and how to add one.  For each of them, in a
copy in build/mutants/tree, builds HAN and runs unit tests, MPI tests, and those of
solo, of loading, of rules, of what nodes have in common and without memory, as in
./check.sh, until the first failure; what the list names is tried first.  Takes 20 to 60 minutes on two cores.

  --only TEXT   only mutants whose name contains TEXT
  --list        prints the names of the mutants, each with its file

Prints a line for each mutant, and leaves a table in build/mutants/table.md and what
the tests have said in build/mutants/NUMBER.log.  Exit code 1 when a mutant is not
caught, does not compile, or is not to be made, because the text that it replaces is
not there; 77 where the machine allows no virtual nodes.

A test that fails without a fault, too, catches nothing: ./check.sh comes first.
END
}

say() {
    printf 'mutants.sh: %s\n' "$*" >&2
}

# ---------------------------------------------------------------- the list

names=() files=() olds=() news=() hints=()

read_list() {                       # read_list TEXT: mutants whose name contains TEXT
    local line text wanted='' last
    while IFS= read -r line; do
        text=${line:2}
        if [[ $line == '= '* ]]; then
            wanted=''
            [[ $text == *"$1"* ]] || continue
            wanted=yes
            names+=("$text") files+=('') olds+=('') news+=('') hints+=('')
        elif [[ -n $wanted ]]; then
            last=$((${#names[@]} - 1))
            case $line in
                '- '*) olds[last]=${text#"${text%%[![:space:]]*}"} ;;
                '+ '*) news[last]=${text#"${text%%[![:space:]]*}"} ;;
                '? '*) hints[last]=$text ;;
                '' | '#'*) ;;
                *) files[last]=$line ;;
            esac
        fi
    done <"$LIST"
}

# ---------------------------------------------------------------- the copy

under_limit() {                     # under_limit LOG COMMAND...
    local log=$1
    shift
    job_run timeout -k 60 "$LIMIT" "$@" >>"$log" 2>&1
}

clean_up() {
    trap '' INT TERM
    job_end
}

build() {                           # build LOG
    under_limit "$1" make -j2 CFLAGS="$CFLAGS_GCC"
}

build_all() {
    local log=$WORK/build.log
    rm -rf -- "$WORK"
    sources_copy "$TOP" "$TREE"
    cd "$TREE"
    if ! { under_limit "$log" autoreconf -fi && under_limit "$log" ./configure && build "$log" &&
        under_limit "$log" make -j2 -C tests CFLAGS="$CFLAGS_GCC -DT_LIMIT=60" mpi-programs; }; then
        tail -n 20 "$log" >&2
        exit 1
    fi
}

# ---------------------------------------------------------------- mutants

# Puts the fault into the text of a file; false where its place is not there, or there twice.
mutate() {                          # mutate FILE OLD NEW
    local text rest
    text=$(cat -- "$1" && echo x) || return
    rest=${text#*"$2"}
    [[ -n $2 && $rest != "$text" && $rest != *"$2"* ]] || return
    text=${text%"$2$rest"}$3$rest
    printf '%s' "${text%x}" >"$1"
}

# Sets caught to what fails in a step, if anything does.
try_step() {                        # try_step LOG STEP [RUN]
    local log=$1 step=$2 status=0
    : >"$log"
    caught=''
    case $step in
        unit)
            rm -f tests/unit_*.log
            CMOCKA_MESSAGE_OUTPUT=TAP under_limit "$log" make check CFLAGS="$CFLAGS_GCC" || status=$?
            cat tests/unit_*.log >>"$log" || : ;;
        mpi)
            under_limit "$log" tests/run.sh --build . --depth usual --stop ${3:+--only "$3"} || status=$? ;;
        memory)
            T_STOP=1 under_limit "$log" tests/test_memory.sh --build . --depth usual || status=$? ;;
        *)
            T_STOP=1 BUILD=$TREE COMPONENTS=$TREE/components under_limit "$log" "tests/test_$step.sh" || status=$? ;;
    esac
    if ((status == 77)); then
        say "$step: $(grep -am 1 '^1\.\.0 # SKIP' "$log" || :)"
        exit 77
    elif ((status == 2)) && [[ $step != unit ]] && ! grep -aq '^not ok ' "$log"; then
        say "$step${3:+, $3}: exit code 2: $(tail -n 1 "$log")"
        exit 2
    elif ((status != 0)); then
        caught=$(grep -aEm 1 '^not ok [0-9]+ - ' "$log" || grep -aEm 1 '^FAIL' "$log" || echo "exit code $status")
        [[ $caught =~ ^not\ ok\ [0-9]+\ -\ (.*) ]] && caught=${BASH_REMATCH[1]}
        [[ $step == mpi ]] || caught="$step: $caught"
    fi
}

# Sets caught.
try_steps() {                       # try_steps LOG HINT
    local step first='' run=''
    read -r first run <<<"$2"
    [[ -z $first ]] || try_step "$1" "$first" "$run"
    for step in "${STEPS[@]}"; do
        [[ -z $caught ]] || return 0
        try_step "$1" "$step"
    done
}

# Sets caught, or wrong.
try_mutant() {                      # try_mutant INDEX LOG
    local file=${files[$1]}
    caught='' wrong=''
    rm -f -- "$2"
    if [[ -z $file ]] || ! cp -- "$file" "$WORK/original" 2>/dev/null; then
        wrong="there is no file '$file'"
    elif ! mutate "$file" "${olds[$1]}" "${news[$1]}"; then
        wrong="its line is not there exactly once in $file: the list has gone stale"
    else
        if build "$2"; then
            try_steps "$2" "${hints[$1]}"
        else
            wrong='does not compile'
        fi
        cat -- "$WORK/original" >"$file"
    fi
}

main() {
    local only='' list='' i start seconds total right=0 caught wrong
    take_options "
    --only | only | a text | .+
    --list | list" "$@"
    read_list "$only"
    total=${#names[@]}
    ((total > 0)) || { say "no mutant is called '$only'; --list prints their names"; exit 2; }
    if [[ -n $list ]]; then
        for i in "${!names[@]}"; do
            printf '%-60s %s\n' "${names[i]}" "${files[i]}"
        done
        exit 0
    fi
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    build_all
    caught=''
    try_steps "$WORK/0.log" ''
    [[ -z $caught ]] || { say "without a fault, too: $caught ($WORK/0.log)"; exit 1; }
    printf '| mutant | file | caught by | s |\n|---|---|---|---|\n' >"$TABLE"
    SECONDS=0
    for i in "${!names[@]}"; do
        start=$SECONDS
        try_mutant "$i" "$WORK/$((i + 1)).log"
        seconds=$((SECONDS - start))
        if [[ -n $caught ]]; then
            right=$((right + 1))
            echo "ok $((i + 1)) - ${names[i]}: caught by $caught, $seconds s"
        else
            echo "not ok $((i + 1)) - ${names[i]}: ${wrong:-not caught}"
        fi
        caught=${caught:-**${wrong:-nothing}**}
        echo "| ${names[i]} | ${files[i]} | ${caught//|/\\|} | $seconds |" >>"$TABLE"
        ((i + 1 == total)) || echo "# about $((SECONDS * (total - i - 1) / (i + 1) / 60 + 1)) min left"
    done
    echo "1..$total"
    echo "$total mutants, $right caught"
    ((right == total))
}

main "$@"
