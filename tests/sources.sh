# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Copies of the sources.  To be sourced.

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
