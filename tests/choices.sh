# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034  # used by those that source this
#
# What check.sh and tests/run.sh let the caller choose.  To be sourced.

# shellcheck source=tests/options.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/options.sh"
readonly DEPTHS='quick, usual, all' SEEDS='a number from 1 to 999999999, or random' SEED='random|[1-9][0-9]{0,8}'

# Whether what has a depth in a table is done in that much: quick is a part of usual, usual of all.
depth_has() {                       # depth_has WANTED DEPTH
    case $1:$2 in
        all:* | usual:usual | *:quick) ;;
        *) return 1 ;;
    esac
}

# Whether the name of a row of a table, what is in front of its first bar, contains a text.
has_name() {                        # has_name TEXT <TABLE
    local name
    while IFS='|' read -r name _; do
        [[ -z $name || $name != *"$1"* ]] || return 0
    done
    return 1
}

take_seed() {                       # take_seed OPTION SEED
    seed=$2
    [[ $2 != random ]] || seed=$((1 + SRANDOM % 999999999))
}

# Sets build: the folder that the caller has chosen, the current one or the one above it.
find_build() {                      # find_build PROGRAM, which is there when the tests are compiled
    local folder
    for folder in "${build:-.}" ..; do
        if [[ -d $folder/components && -x $folder/tests/$1 ]]; then
            build=$(realpath -- "$folder")
            return
        fi
    done
    say "no folder with components/ and the compiled tests: 'make check-mpi' makes both, --build names another"
    exit 2
}

# Sets components: the folder that COMPONENTS names, or the one that this build has made.
find_components() {
    local folder
    for folder in ${COMPONENTS:+"$COMPONENTS"} components ../components "$HERE/../components"; do
        if [[ -e $folder/mca_coll_han.so ]]; then
            components=$(realpath -- "$folder")
            return
        fi
    done
    echo "no components/ with mca_coll_han.so: run make" >&2
    exit 2
}
