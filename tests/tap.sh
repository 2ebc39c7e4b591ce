# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034  # used by those that source this
#
# What the test scripts print: one line for each behaviour, and "1..$count" at their end.  To be sourced.  Where a
# behaviour fails, the first and last lines of the files in t_notes follow, as comments; with T_STOP set the script ends there.
# What has taken a second or more says so.

# Seconds for one command.  Most take one; where four other processes want two cores, ranks that wait for each other take a
# hundred times as long.  tests/mutants.sh, many of whose jobs hang, has less patience.
readonly LIMIT=${HAN_TEST_LIMIT:-600}

count=0 failed=0
t_notes=()
t_since=$SECONDS t_untimed=

# What the caller has set for his own jobs is not for the tests.
for t_name in "${!OMPI_MCA_coll@}" "${!OMPI_MCA_mca_base_component_path@}"; do
    unset "$t_name"
done

# What all tests of a script need.  Where that exits with 77 they are skipped, for the reason that it gives; where it
# fails, the script does.  Its output is a file's: what it leaves running would keep a pipe open.
t_needs() {                         # t_needs COMMAND...
    local said status=0
    said=$(mktemp)
    "$@" >"$said" 2>&1 || status=$?
    if ((status == 77)); then
        echo "1..0 # SKIP $(<"$said")"
    elif ((status != 0)); then
        cat -- "$said" >&2
    fi
    rm -f -- "$said"
    ((status == 0)) || exit $((status == 77 ? 77 : 1))
}

# The end of a pipe.  It reads all: grep -q ends at the first line that it finds, and whoever still writes is ended by a
# signal, which pipefail makes a failure, now and then.
t_finds() {                         # t_finds OPTIONS OF grep... PATTERN
    [[ $(grep -c "$@") -gt 0 ]]     # nothing, where grep does not know what is looked for
}

t_ends_of() {                       # t_ends_of FIRST LAST: so many lines of the input, and where some are left out, which
    awk -v first="$1" -v last="$2" '
        NR <= first { print; next }
        { lines[NR % last] = $0 }
        END {
            from = NR - last < first ? first : NR - last
            if (from > first)
                printf "(lines %d to %d are left out)\n", first + 1, from
            for (i = from + 1; i <= NR; i++)
                print lines[i % last]
        }'
}

t_took() {                          # t_took SECONDS WHAT
    (($1 == 0)) || echo "# took $1 s: $2"
}

t_result() {                        # t_result STATUS BEHAVIOUR [FILE with why]
    count=$((count + 1))
    [[ -n $t_untimed ]] || t_took $((SECONDS - t_since)) "$2"
    t_since=$SECONDS
    if (($1 == 0)); then
        echo "ok $count - $2"
        return
    fi
    echo "not ok $count - $2"
    failed=1
    shift 2
    (($# > 0)) || set -- "${t_notes[@]}"
    (($# == 0)) || { cat -- "$@" 2>/dev/null | t_ends_of 150 50 | sed 's/^/# /'; } || :
    [[ -z ${T_STOP:-} ]] || exit 1
}

t_check() {                         # t_check BEHAVIOUR COMMAND...
    local what=$1 status=0
    shift
    "$@" || status=1
    t_result "$status" "$what"
}

# Whether what takes long, and finds little that the rest does not, is done as well: in ./check.sh --all, and where a script is
# called by itself.
t_all() {
    [[ ${HAN_CHECK_DEPTH:-all} == all ]]
}

t_check_all() {                     # t_check_all BEHAVIOUR COMMAND...: where all is done
    ! t_all || t_check "$@"
}

t_eventually() {                    # t_eventually COMMAND...: true as soon as it is
    local end=$((SECONDS + LIMIT))
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

# How many of two rounds a script of bench/ has measured: a busy machine may have time for one.
t_rounds() {                        # t_rounds MESSAGES
    grep -q ': 1 of 2 rounds fit into ' "$1" && echo 1 || echo 2
}

# The numbers of the processors that may be used here, one a line.
t_processors() {
    taskset --cpu-list --pid $$ | sed 's/.*: //' | tr , '\n' |
        awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); ++i) { print i } }'
}

# Writes a program that runs another one on one of the first two processors, by its rank.
t_bind_each() {                     # t_bind_each FILE
    local -a processors
    mapfile -t processors < <(t_processors)
    printf '#!/bin/sh\n[ $((OMPI_COMM_WORLD_RANK %% 2)) = 0 ] && own=%s || own=%s\nexec taskset --cpu-list $own "$@"\n' \
        "${processors[@]:0:2}" >"$1"
    chmod 755 "$1"
}

t_skip() {                          # t_skip BEHAVIOUR REASON
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}
