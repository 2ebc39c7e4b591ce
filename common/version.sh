#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Prints what the tools say of themselves: the version, and the commit, where git or a released archive knows it ("+":
# with changes).

top=$(dirname -- "$0")/..
version=$(sed -n 's/^AC_INIT(\[.*\], *\[\(.*\)\])$/\1/p' "$top/configure.ac")
commit=$(cat "$top/common/commit" 2>/dev/null ||
    git --git-dir="$top/.git" --work-tree="$top" describe --always --dirty=+ --abbrev=9 2>/dev/null)
echo "$version${commit:+ ($commit)}"
