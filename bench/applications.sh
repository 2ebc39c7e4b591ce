# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
#
# What asp, learning and training share: an application, several cases of it on each machine, one
# table and one picture of all. Sourced by them behind common.sh. They have pool, which
# prints a line of $columns for each case and set, beginning with the machine; report,
# which prints the tables and fails where a requirement is not met; plot_script.

# The machine of a line, for awk programs.
AWK_MACHINE='function machine_text() {
    return $1 " nodes x " $2 " ranks by " $3 ($4 == "none" ? ", links without a rate" : ", links of " $4)
}'
readonly AWK_MACHINE

# One case tells whether a set can be used.
probe_once() {
    local collectives=("${collectives[0]}")
    probe_sets
}

measure_machine() {
    rm -f "$work"/table.*
    probe_once
    measure
    pool >>"$work/pooled.csv"
    write_table
}

# What all panels of a picture have alike.
plot_head() {                       # plot_head SVG TITLE UNIT PANELS ACROSS
    local down=$((($4 + $5 - 1) / $5))
    cat <<END
set terminal svg size $((60 + 430 * $5)),$((70 + 300 * down)) font "DejaVu Sans,Helvetica,sans-serif,14" background "white"
set encoding utf8
set output "$1"
set multiplot layout $down,$5 title "{/:Bold=18 $2, $(date +%Y-%m-%d)}"
set style data histograms
set style fill solid border -1
set border 3
set xtics nomirror scale 0 noenhanced font ",12"
set ytics nomirror
set grid ytics lc rgb "#DDDDDD" lw 1 dt 1
set ylabel "$3"
set datafile separator ","
END
}

machine_title() {                   # machine_title NODES PPN MAP RATE
    local map=" by $3" links=$4
    [[ $3 != slot ]] || map=
    [[ $4 != none ]] || links='no rate'
    printf '%s nodes of %s%s, %s' "$1" "$2" "$map" "$links"
}

# Of all machines so far: what is known is kept, whatever becomes of the next one.
write_table() {
    [[ -n $output ]] || return 0
    mkdir -p -- "$(dirname -- "$output")"
    { echo "$columns"; cat "$work/pooled.csv"; } | add_version head >"$output.csv"
}

run_application() {                 # run_application PROGRAM OPTIONS OF THE SCRIPT
    local result=0 name=$1
    shift
    take_options "$OPTIONS" "$@"
    bench=$(find_program "$name" --program "$bench" "$HERE/$name" "./bench/$name" "./$name")
    define_sets
    make_work
    : >"$work/pooled.csv"
    on_each_machine measure_machine
    report || result=1
    [[ -z $output ]] || draw_plot "$output.svg"
    end_measuring "$result"
}
