# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Copies of the sources, and of what is built of them.  To be sourced.

# What git knows or would take, and is there; outside git, what is not made by a build.
sources_copy() (                    # sources_copy FROM TO
    set -o pipefail
    mkdir -p "$2" && cd "$1" || return
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z -co --exclude-standard
    else
        find . -type f ! -name '*.o' ! -name '*.lo' ! -name '*.la' ! -path '*/.libs/*' ! -path './build/*' \
            ! -path './components/*' ! -name Makefile ! -name config.status ! -name libtool -print0
    fi | while IFS= read -r -d '' file; do
        [[ ! -e $file ]] || printf '%s\0' "$file"
    done | tar --null -T - -cf - | tar -C "$2" -xf -
)

# All that is there, but for what checks leave behind; with the times of files, so that nothing need be built anew.
built_copy() {                      # built_copy FROM TO
    tar -C "$1" --exclude=./.git --exclude=./build/check --exclude='./build/sanitize*' --exclude=./build/mutants \
        -cf - . | tar -C "$2" -xf -
}

# Whether it is configured in build/, by a relative path: a copy knows nothing of the folder that it is from.
built_can_move() {                  # built_can_move FOLDER
    grep -q '^srcdir = \.\./*$' "$1/build/Makefile" 2>/dev/null
}
