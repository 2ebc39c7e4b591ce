# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# One command at a time that a signal can end, for a trap interrupts only `wait`.  To be sourced.

job=''

job_run() {                         # job_run COMMAND...: its exit code
    local status=0
    "$@" </dev/null &
    job=$!
    wait "$job" || status=$?
    job=''
    return "$status"
}

job_end() {                         # what runs, and all that it ends on SIGTERM
    [[ -z $job ]] || { kill -TERM "$job" && wait "$job"; } 2>/dev/null || :
}
