# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034  # used by those that source this
#
# The options of all scripts: each has a table of them, and what is wrong gets one message before anything begins.
# To be sourced.  A line of a table:
#
#   --NAME | VARIABLE   | what is expected | PATTERN
#   --NAME | FUNCTION() | what is expected | PATTERN
#   --NAME | VARIABLE
#   *      | either     | what is expected | PATTERN
#
# The value must match PATTERN, an extended regular expression, or be what PATTERN stands for: @file can be read,
# @folder is there, @new_folder too or can be made, @program can be run, @new can be written.  VARIABLE becomes the value; FUNCTION gets the option and
# the value.  An option without a pattern has no value: VARIABLE becomes yes.  A line with * is for every word
# that the table has not; without a pattern, whatever it is.  What is behind -- is in options_rest.

readonly NUMBER='[1-9][0-9]*' REAL='[0-9]+([.][0-9]+)?' SIZE='[1-9][0-9]*[KMG]?'
readonly SIZES="$SIZE([,:]$SIZE)*"
readonly LINK_RATE='none|([1-9][0-9]*|[0-9]*[.][0-9]+)[a-zA-Z]*'
readonly COLLECTIVE='i?(bcast|reduce|allreduce|allgatherv?|alltoallv?|gatherv?|scatterv?|reduce_scatter(_block)?|scan|exscan|barrier)'

options_rest=()                     # what is behind --

bad_option() {                      # bad_option MESSAGE
    printf '%s: %s; --help lists the options\n' "${0##*/}" "$*" >&2
    exit 2
}

# Whether a file is there that can be written, or a folder in which it, and folders on the way, can be made.
can_be_made() {                     # can_be_made PATH
    local path=$1
    [[ ! -d $path ]] || return 1
    until [[ -e $path || $path != */* ]]; do
        path=${path%/*}
    done
    [[ -e $path ]] || path=${path:+.}
    path=${path:-/}
    [[ -w $path && (-d $path || $path == "$1") ]]
}

option_fits() {                     # option_fits VALUE PATTERN
    case $2 in
        @file) [[ -f $1 && -r $1 ]] ;;
        @folder) [[ -d $1 ]] ;;
        @program) [[ -f $1 && -x $1 ]] ;;
        @new) [[ -n $1 ]] && can_be_made "$1" ;;
        @new_folder) [[ -d $1 ]] || can_be_made "$1/x" ;;
        *) [[ $1 =~ ^($2)$ ]] ;;
    esac
}

# Finds the option's line; sets target, expected and pattern.
option_line() {                     # option_line TABLE OPTION
    local name
    while IFS='|' read -r name target expected pattern; do
        read -r name <<<"$name"
        if [[ -n $name && $name == "$2" ]]; then
            read -r target <<<"$target"
            read -r expected <<<"$expected"
            read -r pattern <<<"$pattern"
            return
        fi
    done <<<"$1"
    return 1
}

say_version() {
    sh "$(dirname -- "${BASH_SOURCE[0]}")/../common/version.sh" "${0##*/}"
}

# The script has a function usage.
take_options() {                    # take_options TABLE ARGUMENT...
    local table=$1 option value target expected pattern
    shift
    while (($#)); do
        option=$1 value=yes
        shift
        case $option in
            --help | -h) usage; exit 0 ;;
            --version) say_version; exit 0 ;;
            --) options_rest=("$@"); return ;;
        esac
        if ! option_line "$table" "$option"; then
            option_line "$table" '*' || bad_option "option '$option' is unknown"
            [[ -z $pattern ]] || option_fits "$option" "$pattern" || bad_option "'$option': expected $expected"
            value=$option
        elif [[ -n $pattern ]]; then
            (($#)) || bad_option "option '$option' needs a value: $expected"
            value=$1
            shift
            option_fits "$value" "$pattern" || bad_option "$option '$value': expected $expected"
        fi
        if [[ $target == *'()' ]]; then
            "${target%()}" "$option" "$value"
        else
            printf -v "$target" '%s' "$value"
        fi
    done
}
