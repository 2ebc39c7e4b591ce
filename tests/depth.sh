# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# How much of the tests is done: quick is a part of usual, usual of all.  To be sourced.

# shellcheck disable=SC2034  # used by who sources this
readonly DEPTHS='quick, usual, all'

depth_known() {                     # depth_known WORD
    [[ $1 == quick || $1 == usual || $1 == all ]]
}

# Whether what has a depth in a table is done in that much.
depth_has() {                       # depth_has WANTED DEPTH
    case $1:$2 in
        all:* | usual:usual | *:quick) ;;
        *) return 1 ;;
    esac
}
