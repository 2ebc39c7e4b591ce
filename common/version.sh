#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# version.sh [TOOL]: prints what a tool says of itself, its version, and the commit where git or a released archive knows
# it ("+": with changes); behind its name, where that is given.

top=$(dirname -- "$0")/..
version=$(sed -n 's/^AC_INIT(\[.*\], *\[\(.*\)\])$/\1/p' "$top/configure.ac")
commit=$(cat "$top/common/commit" 2>/dev/null ||
    git --git-dir="$top/.git" --work-tree="$top" describe --always --dirty=+ --abbrev=9 2>/dev/null)
echo "${1:+$1 (HAN) }$version${commit:+ ($commit)}"
