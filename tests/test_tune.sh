#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The autotuner as a user meets it, on a virtual cluster: tables, interruptions,
# parts of the allocation, validation, the report, and bad input.

set -euo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tests/nodes.sh
. "$HERE/nodes.sh"
# shellcheck source=tests/options.sh
. "$HERE/options.sh"
# shellcheck source=tests/seats.sh
. "$HERE/seats.sh"

usage() {
    cat <<'END'
tests/test_tune.sh [--build DIR]

  --build DIR   build folder with components/ and tune/han_tune (default: the
                current folder, or the one above it)
END
}

# A behaviour is a function; what it prints explains its failure.
check() {                           # check BEHAVIOUR FUNCTION
    # Not as a condition, as t_check has it: errexit would be off in it.
    set +e
    (set -e; "$2") >"$tmp/said" 2>&1
    t_result $? "$1" <(tail -n 40 -- "$tmp/said")
    set -e
}

check_all() {                       # check_all BEHAVIOUR FUNCTION: where all is done
    ! t_all || check "$@"
}

fail() {
    echo "$*"
    exit 1
}

# A job of 2 nodes with 2 ranks each; what it says is in $tmp/out, its exit code in status.
tune() {                            # tune OPTION...
    status=0
    run -- "$build/tune/han_tune" "$@" || status=$?
    cat "$tmp/err" >>"$tmp/out"
    cat "$tmp/out"
}

# A search that takes a moment.
small=(--mode task --collectives bcast,allreduce,barrier --bytes 4K-64K --segments 16K-32K --trees chain,binary --repetitions 2-2)

says() {
    grep -q -- "$1" "$tmp/out" || fail "it does not say: $1"
}

says_once() {
    local times
    times=$(grep -c -- "$1" "$tmp/out" || :)
    ((times == 1)) || fail "it says $times times: $1"
}

version() {                         # that of all compiled tools
    local text
    text=$("$build/tune/han_tune" --version)
    echo "${text#*(HAN) }"
}

samples() {
    grep -cE '^(task|whole|builtin|fallback),' "$1/measurements.csv"
}

# ---------------------------------------------------------------- behaviours

a_search_writes_a_table() {
    tune --output "$tmp/a.rules" "${small[@]}"
    ((status == 0)) || fail "exit code $status"
    grep -q '^han-rules 1$' "$tmp/a.rules"
    grep -q '^# Made by han_tune (HAN) [0-9]' "$tmp/a.rules"
    for collective in bcast allreduce barrier; do
        grep -q "^$collective  *nodes=2 ppn=2 bytes=.* : algorithm=" "$tmp/a.rules" || fail "no rule of $collective"
    done
    says 'about .*more where the machine is not quiet'
    for table in measurements steps estimates choices; do
        awk -F, -v version="$(version)" '/^#/ || $1 == "kind" { next } { ++lines; good += $NF == version }
            END { exit !(lines > 0 && good == lines) }' "$tmp/a.rules.measured/$table.csv" || fail "$table.csv has lines without version"
    done
    (($(grep -c '^task,2,2,allreduce' "$tmp/a.rules.measured/measurements.csv") > 20))
}

# Of any collective, in any form.  Each rule says what was timed at its size, and not what was far behind; where nothing beats HAN's own
# choice it is left to that.
a_race_knows_all_collectives() {
    local rules=$tmp/race.rules
    tune --output "$rules" --collectives bcast,allreduce,barrier,alltoall,gatherv,scan,ibcast,igatherv --bytes 8-64K
    ((status == 0)) || fail "exit code $status"
    grep -qx "table $rules" "$rules.measured/about.txt"
    grep -q "^command .*/han_tune --output $rules --collectives " "$rules.measured/about.txt"
    "$build/tune/han_rules" check "$rules"
    grep -q '^gatherv  *nodes=2 ppn=2 bytes=\* form=blocking order=consecutive : algorithm=' "$rules" || fail 'no rule of gatherv for all bytes'
    grep -q '^gatherv  *nodes=2 ppn=2 bytes=\* form=nonblocking order=consecutive : algorithm=' "$rules" || fail 'no rule of igatherv for all bytes'
    for collective in bcast allreduce barrier alltoall scan; do
        grep -q "^$collective  *nodes=2 ppn=2 bytes=.* form=blocking .* : algorithm=" "$rules" || fail "no rule of $collective"
    done
    grep -q '^bcast  *nodes=2 ppn=2 bytes=.* form=nonblocking .* : algorithm=' "$rules" || fail 'no rule of ibcast'
    (($(grep -c '^bcast  *nodes=8- ' "$rules") == 1)) || fail 'far shapes are not told once'
    awk -F, -v version="$(version)" 'NR > 1 { good += NF == 15 && $15 == version && $8 > 0 && $9 > 0 && $10 == 0 && $13 > 0 && $14 > 0; ++seen[$5, $7 == "fallback"] }
        END {
            n = split("bcast allreduce barrier alltoall gatherv scan ibcast igatherv", name, " ")
            for (i = 1; i <= n; ++i) { both += (name[i], 0) in seen && (name[i], 1) in seen }
            exit !(good == NR - 1 && both == n)
        }' "$rules.measured/candidates.csv" || fail 'candidates.csv is not as it should be'
    awk -F, '$5 ~ /^i/ && ++n[$5, $6] > 6 { exit 1 }' "$rules.measured/candidates.csv" ||
        fail 'of a nonblocking one more start than the fallback, four others and HAN.s own choice'
    # nodes,ppn,collective,bytes,estimate,measured,own choice,fallback,rule,winner,rival,version.  Own choice is
    # 1.03 as far behind as a rule: then the product of what it takes over the rule, by each clock, is 1.03 or more.
    awk -F, 'FNR == NR { timed[$5, $6, "algorithm=" $7]; next }
        { if (!(($3, $3 ~ /gatherv/ ? 131072 : $4, $10) in timed)) { print "not timed:", $0; bad = 1 }
          if ($9 != "algorithm=auto" && ($9 != $10 || sqrt(1.03) * $6 > $7 * 1.000001)) { print "does not pay:", $0; bad = 1 }
          if (NF != 12 || ($11 != "settled" && $11 != "-" && $11 !~ /^algorithm=/)) { print "no rival:", $0; bad = 1 }
          ++lines }
        END { exit bad || lines < 18 }' "$rules.measured/candidates.csv" "$rules.measured/choices.csv" || fail 'choices.csv is not as it should be'
    # What HAN chooses by itself wins no race against itself.
    local name bytes rule form
    { echo han-machine 1; grep -E '^(low|up|memory|calls|cores) ' "$rules"; } >"$tmp/raced.machine"
    while IFS=, read -r _ _ name bytes _ _ _ _ rule _; do
        form=blocking
        [[ $name != i* ]] || form=nonblocking
        "$build/tune/han_rules" explain --machine "$tmp/raced.machine" --collective "${name#i}" --nodes 2 --ppn 2 --bytes "$bytes" \
            --form "$form" >"$tmp/picks"
        grep -q '^picks ' "$tmp/picks" || fail "explain shows no pick of $name, $bytes bytes"
        ! grep -qE "^picks .*  ${rule#algorithm=}$" "$tmp/picks" || fail "$name, $bytes bytes: $rule is what HAN chooses"
    done < <(grep -vE '^[^,]*,[^,]*,[^,]*(barrier|v),|,algorithm=auto,' "$rules.measured/choices.csv")
    says 'han_tune: [1-9][0-9]* races in [0-9]* s: at [0-9]* sizes '
    grep -qx 'up latency .* copy .*' "$rules" && grep -qx 'cores node [1-9].*' "$rules" || fail 'the table has no machine'
    "$build/tune/han_rules" explain "$rules" --collective reduce --nodes 2 --ppn 2 --bytes 1K | t_finds -x "decides  the model, for $rules"
    # A table of all of them, measured: a line for each message that a rule decides.
    printf '%s\n' 'han-rules 1' 'alltoall nodes=2 ppn=2 bytes=* form=blocking : algorithm=exchange' \
        'scan nodes=2 ppn=2 bytes=1K- : algorithm=leaders ibs=0' 'bcast nodes=2 ppn=2 bytes=* form=nonblocking : algorithm=tree' >"$tmp/all.rules"
    tune --validate "$tmp/all.rules" --bytes 512-2K --repetitions 1-1
    ((status == 0)) || fail "exit code $status"
    for line in '2 alltoall *512' '2 alltoall *2048' '3 scan *1024' '3 iscan *1024' '4 ibcast *512'; do
        says "^ *$line "
    done
    ! grep -E ' (ialltoall|bcast) ' "$tmp/out" || fail 'a rule is measured in another form'
}

# It is a candidate, and timed as that: each call is forced, and none is made as HAN chooses by itself.
own_choice_is_a_candidate() {
    export OMPI_MCA_coll_han_verbose=2
    # At some of the sizes it does not win, and runs in the last rounds, too.
    tune --output "$tmp/own.rules" --collectives reduce --bytes 8-32K --repetitions 2-2
    ((status == 0)) || fail "exit code $status"
    says ' reduce, 512 bytes: .*(the tuner)'
    ! grep ' reduce, [1-9][0-9]* bytes: .*(the cost model)' "$tmp/out" || fail 'HAN.s own choice is timed by itself'
}

# What the model takes to be more than twice as slow as the best, by both clocks, does not start: here all that has many
# messages between nodes.  How many others have a turn depends on the machine's speed, so they are not counted.
a_race_begins_with_those_who_may_win() {
    sed -E 's/^(up .*overhead) [^ ]* [^ ]*/\1 1ms 1ms/; s/ rate [^ ]*//' "$HERE/cluster.machine" >"$tmp/far.machine"
    export OMPI_MCA_coll_han_machine=$tmp/far.machine
    tune --output "$tmp/model.rules" --collectives bcast --bytes 256K-256K --repetitions 1-1
    unset OMPI_MCA_coll_han_machine
    ((status == 0)) || fail "exit code $status"
    awk -F, '
        NR > 1 {
            ++n
            name[n] = $7; single[n] = $13; row[n] = $14
            best_single = n == 1 || $13 < best_single ? $13 : best_single
            best_row = n == 1 || $14 < best_row ? $14 : best_row
        }
        END {
            for (i = 1; i <= n; ++i) {
                if (name[i] != "fallback" && single[i] > 2.001 * best_single && row[i] > 2.001 * best_row) {
                    printf "%s is predicted to take %s and %s us, the best %s and %s\n", name[i], single[i], row[i], best_single, best_row
                    bad = 1
                }
            }
            exit bad || n < 2
        }' "$tmp/model.rules.measured/candidates.csv" || fail 'who cannot win has started'
    ! grep -q 'ibs=16384' "$tmp/model.rules.measured/candidates.csv" || fail 'short segments have started'
}

# What was timed, $tmp/candidates, is there, and nothing of it a second time.
nothing_is_raced_again() {          # nothing_is_raced_again FOLDER
    cmp -n "$(wc -c <"$tmp/candidates")" "$tmp/candidates" "$1/candidates.csv" &&
        ! cut -d, -f1,2,5-7 "$1/candidates.csv" | sort | uniq -d | grep . || fail 'what was decided is raced again'
}

# The same command goes on, until all is known.
a_race_ends_in_time() {
    local folder=$tmp/late.rules.measured raced
    tune --output "$tmp/late.rules" --time-limit 1s
    ((status == 0)) || fail "exit code $status"
    says_once 'there was no time for all sizes of [0-9]* collectives'
    "$build/tune/han_rules" check "$tmp/late.rules"
    grep -q '^left [1-9][0-9]*$' "$folder/about.txt" || fail 'about.txt does not say that something is left'
    raced=$(grep -c ^2,2, "$folder/choices.csv")
    cp "$folder/candidates.csv" "$tmp/candidates"
    tune --output "$tmp/late.rules" --time-limit 1s
    ((status == 0)) || fail "exit code $status"
    says_once "han_tune: $raced races of an earlier run are in $folder"
    nothing_is_raced_again "$folder"
    tune --output "$tmp/late.rules" --collectives barrier --repetitions 1-1
    ((status == 0)) || fail "exit code $status"
    ! grep '^left' "$folder/about.txt"
}

# What came of the search before is not added to; what cannot be kept is told, and the rules are there all the same.
a_race_is_written_anew() {
    local folder=$tmp/anew.rules.measured race=(--collectives barrier --repetitions 1-1)
    tune --output "$tmp/anew.rules" "${race[@]}"
    tune --output "$tmp/anew.rules" "${race[@]}"
    ((status == 0)) || fail "exit code $status"
    (($(grep -c ',barrier,' "$folder/choices.csv") == 1)) || fail 'choices.csv has an earlier search'
    (($(grep -c ',barrier,0,fallback,' "$folder/candidates.csv") == 1)) || fail 'candidates.csv has an earlier search'
    ln -sf /dev/full "$folder/candidates.csv"
    tune --output "$tmp/anew.rules" "${race[@]}"
    ((status == 1)) || fail "exit code $status"
    says_once 'han_tune: what was measured cannot be written to .*anew.rules.measured: No space left on device'
    "$build/tune/han_rules" check "$tmp/anew.rules"
}

# What was decided is not raced again; lines that were cut off are no trouble.  Where it has come to its end it begins anew.
an_interrupted_race_goes_on() {
    local folder=$tmp/half.rules.measured kept race=(--collectives bcast,reduce,allreduce)
    "$VCLUSTER" run --name "$cluster" --ppn 2 -- "$build/tune/han_tune" --output "$tmp/half.rules" "${race[@]}" \
        >"$tmp/first" 2>&1 </dev/null &
    t_eventually some_choices "$folder" || :
    kill -TERM $! && wait $! || :
    # The ranks may live a little longer than mpirun.
    t_eventually flock -n "$folder/measurements.csv" true
    kept=$(grep -c '^2,2,' "$folder/choices.csv")
    cut -d, -f1-4 "$folder/choices.csv" | sort >"$tmp/choices"
    printf '2,2,allredu' >>"$folder/choices.csv"
    printf '2,2,slot,-,allreduce,8,fall' >>"$folder/candidates.csv"
    # What was decided is there also where there is no time for more.
    tune --output "$tmp/half.rules" "${race[@]}" --time-limit 0.001
    ((status == 0)) || fail "exit code $status"
    says_once "han_tune: $kept races in "
    cp "$folder/candidates.csv" "$tmp/candidates"
    tune --output "$tmp/half.rules" "${race[@]}" --bytes 8-1K --repetitions 1-1
    ((status == 0)) || fail "exit code $status"
    says_once "han_tune: $kept races of an earlier run are in $folder"
    nothing_is_raced_again "$folder"
    [[ -z $(comm -23 "$tmp/choices" <(cut -d, -f1-4 "$folder/choices.csv" | sort)) ]] || fail 'what was decided is gone'
    (($(wc -l <"$folder/choices.csv") > kept)) && ! cut -d, -f1-4 "$folder/choices.csv" | sort | uniq -d | grep . ||
        fail 'choices.csv is not as it should be'
    awk -F, 'NF != 15' "$folder/candidates.csv" | grep . && fail 'candidates.csv is not as it should be'
    tune --output "$tmp/half.rules" "${race[@]}" --bytes 8-8 --repetitions 1-1
    ((status == 0)) || fail "exit code $status"
    ! grep -q 'earlier run' "$tmp/out" && (($(wc -l <"$folder/choices.csv") == 3))
}

some_choices() {                    # some_choices FOLDER
    [[ -e $1/choices.csv ]] && (($(grep -c '^2,2,' "$1/choices.csv") >= 4))
}

the_table_is_one_for_han() {
    "$build/tune/han_rules" check "$tmp/a.rules"
    "$build/tune/han_rules" explain "$tmp/a.rules" --collective allreduce --nodes 2 --ppn 2 --bytes 16K >"$tmp/out"
    cat "$tmp/out"
    says "nearest  $tmp/a.rules:"
}

settings_of_the_user_are_ignored() {
    local where
    mkdir -p "$tmp/home/.openmpi"
    printf 'han-rules 1\nbcast nodes=* ppn=* bytes=* : algorithm=simple\n' >"$tmp/mine.rules"
    printf 'coll_han_bcast_algorithm = simple\n' >"$tmp/home/.openmpi/mca-params.conf"
    for where in "OMPI_MCA_coll_han_bcast_algorithm=simple" "OMPI_MCA_coll_han_dynamic_rules_filename=$tmp/mine.rules" \
        "HOME=$tmp/home"; do
        (
            export "${where?}" OMPI_MCA_coll_han_machine=none OMPI_MCA_coll_han_verbose=2
            tune --output "$tmp/s.rules" --mode task --collectives bcast --bytes 4K --repetitions 1-1
            ((status == 0)) || fail "exit code $status"
        )
        says 'bcast, 4096 bytes: .*(the cost model)'
        says 'bcast, 4096 bytes: .*(the tuner)'
        ! grep '(null)' "$tmp/out" || fail 'a rule has no text'
        ! grep 'bcast, 4096 bytes: .*(algorithm set by the user\|mine.rules:' "$tmp/out" || fail "$where counts"
    done
}

every_size_has_an_estimate() {
    local bytes
    for bytes in 4096 8192 16384 32768 65536; do
        grep -q "^task,2,2,bcast,$bytes," "$tmp/a.rules.measured/estimates.csv" || fail "none for $bytes bytes"
    done
}

# All that a page has is in it: pictures, each of which is whole.
page_has_pictures() {               # page_has_pictures PAGE LEAST
    local picture count=0
    while read -r picture; do
        base64 -d <<<"$picture" | t_finds '^</svg>$' || fail "a picture of $1 is not whole"
        count=$((count + 1))
    done < <(grep -o 'src="[^"]*"' "$1" | sed 's/^src="data:image\/svg+xml;base64,//; s/"$//')
    ((count >= $2 && count == $(grep -c '<figure>' "$1"))) || fail "$1 has $count pictures"
    [[ $(tail -n 1 "$1") == '</body></html>' ]] || fail "$1 does not end"
}

# Measured before: the search is short.
the_report_is_complete() {
    local page=$tmp/report/index.html
    tune --output "$tmp/a.rules" "${small[@]}" --report "$tmp/report"
    ((status == 0)) || fail "exit code $status"
    page_has_pictures "$page" 8
    grep -q '<td>bcast<td>2<td>2<td>64K<td' "$page"
    grep -q 'Made by han_report (HAN) [0-9]' "$page"
    [[ $(ls "$tmp/report") == index.html ]]
}

# Numbers of the first lines are those of choices.csv; what could not be compared (nan) does not count.
a_race_has_a_report() {
    local folder=$tmp/told.rules.measured page=$tmp/told/index.html
    mkdir -p "$folder"
    printf '# han_tune 3: two nodes\n' >"$folder/measurements.csv"
    printf 'nodes\n4,4,slot,-,bcast,8,fallback,10,5,0,1,2,9,6,-\n4,4,slot,-,bcast,8,tree,20,15,0,1,2,19,16,-\n' >"$folder/candidates.csv"
    printf 'table /where/told.rules\nseconds 125\ncommand han_tune --output <told>\nleft 3\n' >"$folder/about.txt"
    cat >"$folder/choices.csv" <<'END'
4,4,bcast,8,1,0.5,1,1,algorithm=tree ibs=0,algorithm=tree ibs=0,-
4,4,bcast,4096,1,3,2,1,algorithm=auto,algorithm=fallback,-
4,4,bcast,512,1,0.99,1,1,algorithm=auto,algorithm=ring,-
4,4,bcast,64,1,1,2,4,algorithm=fallback,algorithm=fallback,-
4,4,barrier,0,1,nan,nan,1,algorithm=auto,algorithm=tree,-
END
    "$build/tune/han_report" "$tmp/told" "$folder" >"$tmp/out"
    page_has_pictures "$page" 3
    # Over HAN's own choice 2, 2, 1, 1; over what goes without HAN 2, 4, 1, 1/2.
    grep -q '>At <b>2 of 4</b> .*: <b>2.00 times</b> as fast there, 1.41 over all sizes; over all sizes <b>1.41 times</b> as' "$page"
    grep -q '<th>predicted<th>measured<th>HAN.s own choice<th>without HAN<th>gain</tr>' "$page"
    # Rules first, and then what is left to HAN's own choice; by size, not as it was decided.
    [[ $(sed -n 's/^<tr><td>bcast<td>4<td>4<td>\([0-9K]*\)<td .*/\1/p' "$page" | tr '\n' ' ') == '8 64 512 4K ' ]]
    (($(grep -c '<li>' "$page") == 1))
    grep -q '<li>bcast of 4K, 4 nodes of 4 ranks: 2.00 times as long</li>' "$page"
    grep -q 'coll_han_dynamic_rules_filename /where/told.rules ' "$page"
    grep -q '<code>han_tune --output &lt;told&gt;</code> in 2 min 5 s on:$' "$page"
    grep -q '^two nodes$' "$page"
    grep -q 'no time for all sizes of 3 collectives; the same command goes on' "$page"
    status=0
    "$build/tune/han_report" "$tmp/told" "$folder" "$folder" >"$tmp/out" 2>&1 || status=$?
    ((status == 2)) || fail "exit code $status"
    says_once 'a race is not compared with other searches'
}

# What is found depends on what else the machine does; but a trip of a few bytes is predicted as it was timed.
the_machine_alone_is_timed() {
    local file=$tmp/quick.machine
    tune --quick --output "$file"
    ((status == 0)) || fail "exit code $status"
    "$build/tune/han_rules" explain --collective bcast --nodes 2 --ppn 2 --bytes 1M --machine "$file" | t_finds '^decides  the model'
    grep -q '^# Made by han_tune --quick (HAN) [0-9].*: 2 nodes of 2 ranks from ' "$file"
    cmp "$file" "$file.measured/found.machine"
    says_once "To use it, on every node: mpirun --mca coll_han_machine $file "
    (($(grep -c 'han_tune: messages of rank 0 and rank [1-3], .* node [01]$' "$tmp/out") == 2)) || fail 'two pairs are not named'
    awk -F, -v version="$(version)" '
        NR < 3 { bad += NR == 2 && $0 != "level,kind,bytes,measured_us,predicted_us,version"; next }
        { ++seen[$1 " " $2]; bad += NF != 6 || $6 != version || !($4 > 0) || !($5 > 0) }
        $2 == "trip" && $3 == 1 { predicted[$1] = $5 }
        $2 == "trip" && $3 <= 64 && (!($1 in least) || $4 < least[$1]) { least[$1] = $4 }
        END {
            # Where ranks share cores, messages in a crowd too.
            for (k in seen) kinds += k !~ /crowded/
            for (k in least) { ++levels; bad += (predicted[k] / least[k] - 1) ^ 2 > 0.0004 }
            exit bad || kinds != 10 || levels != 2 || seen["up trip"] < 6
        }' "$file.measured/probes.csv" || fail 'probes.csv is not as it should be'
    OMPI_MCA_coll_han_machine=none tune --quick --output "$file"
    ((status == 1)) || fail "exit code $status"
    says_once 'han_tune: HAN looks at no machine here; coll_han_machine must not be none'
    tune --quick --output "$file" --bytes 8-8
    ((status == 2)) || fail "exit code $status"
    says_once 'han_tune: --bytes is not for --quick'
    mkdir "$tmp/raced"
    echo nodes,ppn >"$tmp/raced/candidates.csv"
    tune --quick --output "$file" --measurements "$tmp/raced"
    ((status == 1)) || fail "exit code $status"
    says_once "han_tune: $tmp/raced has what a race that was interrupted has measured; accepted: another "
    [[ $(<"$tmp/raced/candidates.csv") == nodes,ppn ]] || fail 'what was raced is gone'
}

# What is said of a stream inside a node does not count: it may be half of an exchange, or all of it.
a_machine_has_a_report() {
    local folder=$tmp/links.measured page=$tmp/links/index.html
    mkdir -p "$folder"
    {
        printf '# two <nodes>\nlevel,kind,bytes,measured_us,predicted_us,version\n'
        printf 'up,trip,%s,3\n' 1,10,10 1024,20,30 1048576,1000,500
        printf 'low,trip,%s,3\n' 1,1,1 1024,2,2.2 1048576,100,90
        printf 'low,stream,1024,1,1000,3\nup,crowded,1,2,3,3\n'
    } >"$folder/probes.csv"
    printf '# a comment\nhan-machine 1\nup latency 1us\n' >"$folder/found.machine"
    printf 'table /where/links.machine\nseconds 5\ncommand han_tune --quick\n' >"$folder/about.txt"
    "$build/tune/han_report" "$tmp/links" "$folder" >"$tmp/out"
    page_has_pictures "$page" 3
    grep -q '>Half of .* factor of <b>1.50</b> and nearer between nodes, <b>1.10</b> inside a node' "$page"
    grep -q 'coll_han_machine /where/links.machine ' "$page"
    grep -q '^<pre>han-machine 1$' "$page"
    grep -q '^two &lt;nodes&gt;$' "$page"
    (($(grep -c '<tr><td>' "$page") == 8)) || fail 'not all that was measured is there'
    status=0
    "$build/tune/han_report" "$tmp/links" "$folder" "$folder" >"$tmp/out" 2>&1 || status=$?
    ((status == 2)) || fail "exit code $status"
    says_once 'a machine is not compared with other searches'
}

# Of folders whose names have what gnuplot, awk and HTML take for their own.
names_in_a_report_are_quoted() {
    local out="$tmp/it's \"<b>\""
    cp -r "$tmp/a.rules.measured" "$tmp/a='\"<i>"
    sed -i '1s/$/ <b> \&/' "$tmp/a='\"<i>/measurements.csv"
    (cd "$tmp" && "$build/tune/han_report" "it's \"<b>\"" "a='\"<i>") >/dev/null
    grep -q ' &lt;b&gt; &amp;$' "$out/index.html"
    page_has_pictures "$out/index.html" "$(grep -c '<figure>' "$tmp/report/index.html")"
}

a_second_run_measures_only_the_choice() {
    local before after
    before=$(samples "$tmp/a.rules.measured")
    tune --output "$tmp/a.rules" "${small[@]}"
    ((status == 0)) || fail "exit code $status"
    says "$before measurements of an earlier run"
    after=$(samples "$tmp/a.rules.measured")
    # 5 + 5 + 1 messages, 5 turns of HAN's own choice and up to 4 finalists; then that and who has won.
    ((after > before && after <= before + 275 + 110)) || fail "$before measurements, then $after"
    # The first two turns of one message: the same ways, the second time from the last to the first.
    awk -F, -v before="$before" '
        /^(task|whole|builtin|fallback),/ && ++sample > before && $4 == "bcast" && $5 == 16384 { way[++count] = $1 $7 }
        END {
            while (ways == 0 || way[ways + 1] != way[ways]) if (++ways > count) exit 1
            for (i = 1; i <= ways; ++i) if (way[ways + i] != way[ways + 1 - i]) exit 1
        }' "$tmp/a.rules.measured/measurements.csv" || fail 'the turns go the same way'
}

some_samples() {
    local there
    there=$(samples "$1" 2>/dev/null || :)
    ((${there:-0} >= 10))
}

an_interrupted_run_goes_on() {
    local before
    "$VCLUSTER" run --name "$cluster" --ppn 2 -- "$build/tune/han_tune" --output "$tmp/i.rules" --mode task \
        --bytes 4K-1M --repetitions 9-9 >"$tmp/first" 2>&1 </dev/null &
    t_eventually some_samples "$tmp/i.rules.measured" || :
    kill -TERM $! && wait $! || :
    # The ranks may live a little longer than mpirun.
    before=-1
    until [[ $before == "$(samples "$tmp/i.rules.measured")" ]]; do
        before=$(samples "$tmp/i.rules.measured")
        sleep 1
    done
    ((before > 0))
    [[ ! -e $tmp/i.rules ]] || fail 'there is a table, of what?'
    # A line that was cut off is no trouble.
    printf 'task,2,2,bca' >>"$tmp/i.rules.measured/measurements.csv"
    tune --output "$tmp/i.rules" "${small[@]}"
    ((status == 0)) || fail "exit code $status"
    says "$before measurements of an earlier run"
}

the_time_limit_holds() {
    tune --output "$tmp/l.rules" --mode task --bytes 4K-1M --repetitions 50-50 --time-limit 5s
    ((status == 0)) || fail "exit code $status"
    says 'the time is over'
    grep -q '^bcast ' "$tmp/l.rules"
}

# With samples of an earlier run by which HAN's own choice is bad.
old_samples_decide_nothing() {
    cp -r "$tmp/a.rules.measured" "$tmp/old.measured"
    awk -F, -v OFS=, '$1 == "builtin" { $6 *= 1000 } { print }' "$tmp/a.rules.measured/measurements.csv" \
        >"$tmp/old.measured/measurements.csv"
    tune --output "$tmp/o.rules" --measurements "$tmp/old.measured" "${small[@]}" --time-limit 0.001
    ((status == 0)) || fail "exit code $status"
    says_once 'han_tune: for [0-9]* of [0-9]* messages there was no time to compare'
    grep ' : algorithm=' "$tmp/o.rules"
    ! grep -v 'algorithm=auto' "$tmp/o.rules" | grep ' : algorithm=' || fail 'rules by old samples'
}

heuristics_leave_things_out() {
    tune --output "$tmp/h.rules" --heuristics on "${small[@]}"
    ((status == 0)) || fail "exit code $status"
    local all some
    all=$(wc -l <"$tmp/a.rules.measured/estimates.csv")
    some=$(wc -l <"$tmp/h.rules.measured/estimates.csv")
    ((some < all && some > 0)) || fail "$some of $all"
    ! grep -q 'smod=basic' "$tmp/h.rules.measured/estimates.csv"
}

exhaustive_measures_every_size() {
    tune --output "$tmp/e.rules" "${small[@]}" --mode exhaustive
    ((status == 0)) || fail "exit code $status"
    ! grep -q '^task,' "$tmp/e.rules.measured/measurements.csv" || fail 'it measures tasks'
    # The same parameters for the same messages.
    cut -d, -f2-5,7 "$tmp/a.rules.measured/estimates.csv" | sort >"$tmp/tasks"
    cut -d, -f2-5,7 "$tmp/e.rules.measured/estimates.csv" | sort >"$tmp/whole"
    cmp "$tmp/tasks" "$tmp/whole"
}

parts_of_the_allocation_are_tuned() {
    tune --output "$tmp/p.rules" --mode task --ppn 1,2 --collectives bcast --bytes 4K-8K --repetitions 1-1
    ((status == 0)) || fail "exit code $status"
    grep -q 'nodes=2 ppn=1 ' "$tmp/p.rules"
    grep -q 'nodes=2 ppn=2 ' "$tmp/p.rules"
}

a_call_that_fails_is_left_out() {
    printf '%s\n' '#include <mpi.h>' 'int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm comm) {' \
        '    static int times;' \
        '    if (4096 == n && 30 == ++times) { MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER); return MPI_ERR_OTHER; }' \
        '    return PMPI_Bcast(b, n, t, root, comm); }' >"$tmp/fail.c"
    mpicc -shared -fPIC -o "$tmp/fail.so" "$tmp/fail.c"
    wrapper=(env "LD_PRELOAD=$tmp/fail.so")
    tune --output "$tmp/f.rules" "${small[@]}"
    wrapper=()
    ((status == 0)) || fail "exit code $status"
    says_once 'han_tune: bcast, 4096 bytes, .*: error [0-9]*; it is left out'
    grep -q '^bcast .* : algorithm=' "$tmp/f.rules"
    # A race: the fallback's result, which is expected, its own turn, that of HAN's choice, and then a candidate's.
    sed -i 's/30 == ++times/4 == ++times/' "$tmp/fail.c"
    mpicc -shared -fPIC -o "$tmp/fail.so" "$tmp/fail.c"
    wrapper=(env "LD_PRELOAD=$tmp/fail.so")
    tune --output "$tmp/f.rules" --collectives bcast --bytes 4K-4K --repetitions 2-2
    wrapper=()
    ((status == 0)) || fail "exit code $status"
    says_once 'han_tune: bcast, 4096 bytes: some candidates fail or give wrong results, and are left out'
    (($(grep -c '^2,2,slot,-,bcast,4096,.*,0,[0-9]*,[0-9]*,' "$tmp/f.rules.measured/candidates.csv") >= 3)) || fail 'nobody is left'
}

# A message in so many segments cannot be fast.
validate_and_prune() {
    cat >"$tmp/v.rules" <<'END'
han-rules 1
bcast nodes=2 ppn=2 bytes=0-1M : algorithm=pipeline fs=256 imod=libnbc smod=basic # bad
allreduce nodes=2 ppn=2 bytes=* : algorithm=auto
END
    tune --validate "$tmp/v.rules" --prune --time-limit 0.001 --collectives bcast
    ((status == 0)) || fail "exit code $status"
    says_once 'han_tune: there was no time for all sizes'
    says_once '^0 rules left to HAN'
    tune --validate "$tmp/v.rules" --prune --clock single --collectives bcast,allreduce --bytes 256K-512K --repetitions 3-5
    ((status == 0)) || fail "exit code $status"
    # By both clocks: the rule's time, and how many times as long HAN's own choice and what goes without HAN take; where a
    # busy machine makes the many messages of the rule take half a second, 0.00.
    awk '$2 == "bcast" { ++lines; bad += NF != 9 || $5 > 0.9 || $8 > 0.9 || !($4 > 0 && $7 > 0) || $6 $9 !~ /^[0-9]+[.][0-9][0-9][0-9]+[.][0-9][0-9]$/ }
        END { exit lines != 2 || bad }' "$tmp/out" || fail 'the rule is not what it is'
    ! grep -q '^ *3 allreduce' "$tmp/out" || fail 'it measures a rule that leaves the choice to HAN'
    cat "$tmp/v.rules"
    grep -q '^bcast nodes=2 ppn=2 bytes=0-1M : algorithm=auto # did not pay' "$tmp/v.rules"
}

# A line for each size: how far the table is behind what is best by the worse of both clocks, and how many times as long the
# best, HAN's own choice and what goes without HAN take; what comes of all is the sum of the lines.
a_table_is_compared_with_the_best() {
    cat >"$tmp/best.rules" <<'END'
han-rules 1
bcast nodes=2 ppn=2 bytes=0-100 form=blocking : algorithm=fallback
bcast nodes=2 ppn=2 bytes=32K- form=blocking : algorithm=pipeline fs=4096 imod=libnbc smod=basic
END
    tune --validate "$tmp/best.rules" --best --collectives bcast,gatherv,ireduce --bytes 64-32K --repetitions 2-2
    ((status == 0)) || fail "exit code $status"
    awk 'function least(a, b) { return a + 0 < b + 0 ? a + 0 : b + 0 }
        function most(a, b) { return a + 0 > b + 0 ? a + 0 : b + 0 }
        $2 ~ /^(bcast|gatherv|ireduce)$/ && NF > 12 {
            ++lines[$2]
            line[$2, $3] = $1
            table = best = 0
            rough = 0
            for (i = 5; i < 12; i += 4) {
                first = least(least(1, $(i + 1)), least($(i + 2), $(i + 3)))
                rough += first < 0.2
                table = most(table, 1 / most(first, 0.01))
                best = most(best, $(i + 1) / most(first, 0.01))
            }
            behind = table / best
            if (!rough && ($4 > 1.1 * behind + 0.01 || behind > 1.1 * $4 + 0.01)) { print "wrong:", $0, behind; bad = 1 }
            if ($2 == "bcast" && $3 == 64 && $13 ~ /^fallback;?$/ && $4 != 1) { print "not the same:", $0; bad = 1 }
            sum += $4
            near += $4 < 1.05
            nearly += $4 <= 1.05
        }
        $1 == "sizes:" {
            count = $2 + 0
            split($0, parts, /[:;,] /)
            said = parts[4] + 0; sub(/.*behind it: /, ""); said += $0 + 0
            sub(/.*in the mean /, ""); mean = $1
        }
        END {
            if (lines["bcast"] != 4 || lines["ireduce"] != 4 || lines["gatherv"] != 1 || count != 9) { print "lines"; bad = 1 }
            # Between two rules the nearest one counts; of a collective without any, HAN decides.
            if (line["bcast", 64] line["bcast", 512] line["bcast", 4096] line["bcast", 32768] != "2233" || line["ireduce", 64] != 0) { print "rules"; bad = 1 }
            if (said < near || said > nearly || mean < sum / 9 - 0.01 || mean > sum / 9 + 0.01) { print said, near, mean, sum / 9; bad = 1 }
            exit bad
        }' "$tmp/out" || fail 'the comparison is not as it should be'
    says_once 'more than 1.05 behind HAN.s own choice: [0-9]'
    says_once "sizes where each of all that is compared is so behind one of these: $(grep -c '; each is slower by a clock$' "$tmp/out")"
    # What the table leaves is chosen for its own machine, as in jobs that take it.
    local picks
    { echo 'han-rules 1' && grep -v '^#\|^han-machine' "$HERE/cluster.machine" &&
        echo 'scatter nodes=* ppn=* bytes=* : algorithm=auto'; } >"$tmp/left.rules"
    picks=$("$build/tune/han_rules" explain --machine "$HERE/cluster.machine" --collective scatter --nodes 2 --ppn 2 --bytes 64K |
        sed -n 's/^picks .*[0-9]  //p')
    tune --validate "$tmp/left.rules" --best --collectives scatter --bytes 64K-64K --repetitions 1-1
    ((status == 0)) || fail "exit code $status"
    grep -qE "^ +0 scatter +65536 .*  ($picks|.*; the table: $picks)(; each is slower by a clock)?$" "$tmp/out" || fail "not for the machine of the table: $picks"
    tune --best --output "$tmp/x.rules"
    says_once 'han_tune: --best needs --validate FILE'
    tune --validate "$tmp/best.rules" --best --prune
    says_once 'han_tune: --best is not for --prune'
    tune --validate "$tmp/best.rules" --best --time-limit 0.001 --collectives bcast
    ((status == 0)) || fail "exit code $status"
    says_once 'han_tune: there was no time for all sizes'
}

bad_input_gets_one_message() {
    tune --output "$tmp/x.rules" --segments 16K-32K
    ((status == 2)) || fail "exit code $status"
    says_once 'han_tune: --segments is for --mode task and exhaustive, not for race'
    tune --output "$tmp/x.rules" --mode task --clock row
    ((status == 2)) || fail "exit code $status"
    says_once 'han_tune: --clock is for --mode race and --validate, not for task and exhaustive'
    tune --output "$tmp/x.rules" --mode task --all-submodules
    ((status == 2)) || fail "exit code $status"
    says_once 'han_tune: --all-submodules is for --mode race and --validate, not for task and exhaustive'
    tune --output "$tmp/x.rules" --mode task --collectives nonblocking
    ((status == 2)) || fail "exit code $status"
    says_once 'han_tune: --collectives ibcast; accepted: '
    tune --output "$tmp/big.rules" --collectives alltoall,bcast --bytes 8M-8M --repetitions 1-1 --time-limit 0.001
    ((status == 0)) || fail "exit code $status"
    says_once 'han_tune: alltoall: 8388608 bytes for each of 4 ranks want more memory than 16777216 bytes: it is left out'
    grep -q '^bcast  *nodes=2 ppn=2 bytes=\* form=blocking order=consecutive : algorithm=auto$' "$tmp/big.rules" ||
        fail 'what there was no time for has no rule'
    tune --output "$tmp/big.rules" --collectives alltoall --bytes 4M-6M --repetitions 1-1 --time-limit 0.001
    ((status == 0)) || fail "exit code $status"
    ! grep 'it is left out' "$tmp/out" || fail 'what fits is left out'
    tune --output "$tmp/x.rules" --precision 5abc --mode task
    ((status == 2)) || fail "exit code $status"
    says_once 'han_tune: --precision 5abc; accepted: a per cent above 0'
    tune --output "$tmp/x.rules" --nodes 2,3
    ((status == 2)) || fail "exit code $status"
    says_once 'han_tune: --nodes 3; accepted: 2 to 2'
    tune
    says_once 'han_tune: either --output FILE or --validate FILE'
    tune --validate "$tmp/none.rules"
    says_once 'none.rules'
    [[ ! -e $tmp/x.rules ]]
}

# What cannot be done takes nothing away from what is there: that of a race that is over, and of one that is not.
what_was_found_is_kept() {
    local folder=$tmp/kept.rules.measured barrier=(--output "$tmp/kept.rules" --collectives barrier --repetitions 1-1)
    tune "${barrier[@]}"
    ((status == 0)) || fail "exit code $status"
    cp -r "$folder" "$tmp/kept"
    tune "${barrier[@]}" --nodes 2,3
    ((status == 2)) || fail "exit code $status"
    diff -r "$tmp/kept" "$folder" || fail 'something is gone after --nodes 2,3'
    rm "$folder/about.txt" "$tmp/kept/about.txt"
    tune "${barrier[@]}" --mode task
    ((status == 1)) || fail "exit code $status"
    says_once "han_tune: $folder has what a race that was interrupted has measured; accepted: another --measurements FOLDER"
    tune "${barrier[@]}" --clock row
    ((status == 1)) || fail "exit code $status"
    says_once "han_tune: $folder has races of an earlier run with --clock both; accepted: the same, or another --measurements FOLDER"
    diff -r "$tmp/kept" "$folder" || fail 'something is gone'
}

what_cannot_be_written_is_found_out_before() {
    tune --output "$tmp/none/x.rules"
    ((status != 0))
    says_once 'han_tune: --output .*No such file'
    ! grep -q 'configurations' "$tmp/out" || fail 'it has begun'
    : >"$tmp/file"
    local option
    for option in --measurements --report; do
        tune --output "$tmp/x.rules" "$option" "$tmp/file"
        ((status == 2)) || fail "exit code $status"
        says_once "han_tune: $option .*Not a directory"
        ! grep -q 'configurations' "$tmp/out" || fail 'it has begun'
    done
}

what_is_no_file_of_its_own_stays() {
    mkfifo "$tmp/pipe"
    tune --output "$tmp/pipe" "${small[@]}"
    ((status == 2)) || fail "exit code $status"
    says_once 'han_tune: --output .*/pipe is no regular file: --measurements FOLDER is needed with it'
    [[ -p $tmp/pipe && ! -e $tmp/pipe.measured ]]
    ln -s link.target "$tmp/link.rules"
    tune --output "$tmp/link.rules" --collectives barrier --repetitions 1-1
    ((status == 0)) || fail "exit code $status"
    [[ -L $tmp/link.rules ]]
    grep -q '^han-rules 1$' "$tmp/link.target"
    mkdir "$tmp/foreign"
    printf 'my only copy' >"$tmp/foreign/measurements.csv"
    tune --output "$tmp/x.rules" --measurements "$tmp/foreign"
    ((status != 0))
    says_once 'measurements.csv:1: no measurement'
    [[ $(<"$tmp/foreign/measurements.csv") == 'my only copy' ]]
}

two_tuners_do_not_mix() {
    exec 8>>"$tmp/a.rules.measured/measurements.csv"
    flock 8
    tune --output "$tmp/a.rules" "${small[@]}"
    ((status != 0))
    says_once 'measurements.csv: another han_tune writes it'
}

one_node_is_refused() {
    status=0
    timeout "$LIMIT" mpirun --oversubscribe -np 2 "$build/tune/han_tune" --output "$tmp/x.rules" >"$tmp/out" 2>&1 || status=$?
    ((status != 0))
    says_once 'han_tune: this job has one node; at least two are needed'
}

# Also where Open MPI's own HAN is there: what a user gets who forgot the path.
without_han_it_says_how() {
    local other
    for other in '--mca coll ^han' '--mca coll_han_priority 100'; do
        status=0
        # shellcheck disable=SC2086
        timeout "$LIMIT" env -u OMPI_MCA_mca_base_component_path "$VCLUSTER" run --name "$cluster" --ppn 2 $other -- \
            "$build/tune/han_tune" --output "$tmp/x.rules" >"$tmp/out" 2>&1 </dev/null || status=$?
        ((status != 0))
        says_once 'han_tune: component han does not do MPI_Bcast here'
    done
}

other_measurements_are_not_mixed_in() {
    cp -r "$tmp/a.rules.measured" "$tmp/other.measured"
    sed -i '1s/2 nodes/3 nodes/' "$tmp/other.measured/measurements.csv"
    tune --output "$tmp/x.rules" --measurements "$tmp/other.measured"
    ((status != 0))
    says_once 'measurements.csv:1: .*this machine: '
}

help_lists_the_heuristics() {
    "$build/tune/han_tune" --help >"$tmp/out"
    says '--time-limit'
    says 'inside a node solo alone'
}

# ---------------------------------------------------------------- candidates

candidates() {                      # candidates [OPTION OF mpirun...] -- OPTION...: the table is in $tmp/table
    wrapper=("$build/tune/han_candidates")  # behind "--"
    status=0
    run "$@" || status=$?
    wrapper=()
    mv -- "$tmp/out" "$tmp/table"
    mv -- "$tmp/err" "$tmp/out"
    cat "$tmp/table" "$tmp/out"
}

candidates_of_all_collectives_are_timed() {
    local all=bcast,reduce,allreduce,barrier,allgather,allgatherv,reduce_scatter,reduce_scatter_block,alltoall,alltoallv
    all+=,gather,gatherv,scatter,scatterv,scan,exscan
    candidates -- --bytes 8,64K --rounds 3 --rate fast
    ((status == 0)) || fail "exit code $status"
    awk -F, -v version="$(version)" '
        NR == 1 { if ($0 != "nodes,ppn,map,rate,collective,bytes,algorithm,single_us,row_us,wrong,calls,rounds,predicted_single_us,predicted_row_us,version") exit 1; next }
        {
            if (NF != 15 || $15 != version || $1 != 2 || $2 != 2 || $3 != "slot" || $4 != "fast" || !($8 > 0) || !($9 > 0) || $10 != 0) exit 1
            if (!(($5, $6) in seen)) { seen[$5, $6] = 1; ++calls; if ($7 != "fallback" || $12 != 3) exit 1 }
            if ($11 != ($6 == 8 || $5 == "barrier" ? 50 : $5 ~ /^(bcast|reduce|allreduce|scan|exscan)$/ ? 20 : 10)) exit 1
            # What is slow stays for two rounds; for one, where that takes five seconds, as on a busy machine.
            if ($12 < 1 || $12 > 3) exit 1
            ++rows
        }
        END { exit !(calls == 31 && rows > 100) }' "$tmp/table" || fail 'the table is not as it should be'
    grep -q ',allreduce,65536,ring ibalg=linear ibs=16384 lanes=2,' "$tmp/table" || fail 'no ring in lanes'
    grep -q ',reduce,65536,pipeline fs=16384 smod=solo iralg=linear,' "$tmp/table" || fail 'no pipeline'
    says 'han_candidates: .*, round .*; about .* s left'
    candidates -- --collectives "$(sed -E 's/[a-z_]+/i&/g' <<<"$all")" --bytes 8 --rounds 1 --quiet
    ((status == 0)) || fail "exit code $status"
    [[ $(awk -F, 'NR > 1 && $10 == 0 { print $5 }' "$tmp/table" | sort -u | wc -l) == 16 ]] || fail 'not all nonblocking ones are timed'
}

# Rank 1 gets a wrong byte in the third broadcast: that of the second candidate, behind what is expected and the fallback.
# From the third broadcast on, or in that alone, one byte is another one on one rank.
make_wrong() {                      # make_wrong from|only BYTE
    local -A which=([from]='<=' [only]='==')
    printf '%s\n' '#include <mpi.h>' 'int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm comm) {' \
        '    static int times; int rank, rc = PMPI_Bcast(b, n, t, root, comm); MPI_Comm_rank(comm, &rank);' \
        "    if (1 == rank && $2 < n && 3 ${which[$1]} ++times) { ((char *) b)[$2] ^= 1; } return rc; }" >"$tmp/wrong.c"
    mpicc -shared -fPIC -o "$tmp/wrong.so" "$tmp/wrong.c"
}

wrong_results_are_counted() {
    local bytes
    for bytes in 8 128K; do
        make_wrong only "$([[ $bytes == 8 ]] && echo 3 || echo 67000)"
        candidates -x "LD_PRELOAD=$tmp/wrong.so" -- --collectives bcast --bytes "$bytes" --rounds 1 --quiet
        ((status == 1)) || fail "exit code $status"
        says_once 'han_candidates: results differ from those without HAN'
        (($(awk -F, '$10 == 1' "$tmp/table" | wc -l) == 1 && $(awk -F, '$10 == 0' "$tmp/table" | wc -l) >= 3)) || fail "$bytes bytes"
    done
}

wrong_results_are_out() {
    make_wrong from 65539
    run -x "LD_PRELOAD=$tmp/wrong.so" -- "$build/tune/han_tune" --output "$tmp/wrong.rules" --collectives bcast \
        --bytes 128K-128K --repetitions 1-1 || fail "exit code $?"
    cat "$tmp/err" >>"$tmp/out"
    says_once 'han_tune: bcast, 131072 bytes: some candidates fail or give wrong results, and are left out'
    awk -F, '$7 == "fallback" { right += !$10 } $7 != "fallback" && NR > 1 { wrong += $10 } END { exit right != 1 || wrong < 3 || wrong != NR - 2 }' \
        "$tmp/wrong.rules.measured/candidates.csv" || fail 'candidates.csv is not as it should be'
    grep -q '^2,2,bcast,131072,.*,algorithm=fallback,' "$tmp/wrong.rules.measured/choices.csv"
}

candidates_want_han() {
    candidates --mca coll_han_priority 0 --
    says_once 'han_candidates: component han does not do MPI_Bcast here'
}

shapes_and_rates_are_put_together() {
    "$HERE/../bench/candidates" --shapes 2x1,3x2:node --rates none --collectives barrier,bcast --bytes 8 --rounds 1 \
        --components "$build/components" --program "$build/tune/han_candidates" --output "$tmp/table" >"$tmp/out" 2>&1
    cat "$tmp/table"
    [[ $(grep -c '^nodes,' "$tmp/table") == 1 && $(grep -c '^2,1,slot,none,b[ac][a-z]*,[08],fallback,' "$tmp/table") == 2 &&
        $(grep -c '^3,2,node,none,b[ac][a-z]*,[08],fallback,' "$tmp/table") == 2 ]]
    status=0
    "$HERE/../bench/candidates" --shapes 4 >"$tmp/out" 2>&1 || status=$?
    ((status == 2))
    says_once "candidates: --shapes '4': expected shapes"
}

# Beside the fallback, which is there always.
only_what_is_named_is_timed() {
    candidates -- --collectives bcast,reduce --bytes 4K --rounds 2 --quiet --only 'groups ibalg=pipeline groups=3' --only tree
    ((status == 0)) || fail "exit code $status"
    awk -F, '
        NR > 1 { ++lines; bad += $10 != 0 || $12 != 2; seen[$5, $7] = 1 }
        END {
            exit bad || lines != 6 || !(("bcast", "groups ibalg=pipeline ibs=0 groups=3") in seen) ||
                !(("reduce", "groups iralg=pipeline irs=0 groups=3") in seen) || !(("reduce", "tree iralg=linear irs=0") in seen)
        }' "$tmp/table" || fail 'the table is not as it should be'
}

# In all rounds, where nothing is dropped.
all_submodules_are_timed() {
    candidates -- --collectives bcast,barrier,allgather --bytes 4K --rounds 3 --quiet --all-rounds --all-submodules
    ((status == 0)) || fail "exit code $status"
    awk -F, '
        NR > 1 { bad += $10 != 0 || $12 != 3; seen[$5, $7] = 1 }
        END {
            exit bad || !(("bcast", "simple smod=solo imod=libnbc") in seen) || !(("bcast", "simple smod=basic ibalg=linear") in seen) ||
                !(("barrier", "simple smod=tuned imod=libnbc") in seen) || !(("allgather", "simple smod=basic") in seen) ||
                ("allgather", "simple smod=basic imod=libnbc") in seen
        }' "$tmp/table" || fail 'the table is not as it should be'
}

ranks_that_share_cores_are_moved() { # in each round
    seats_library "$tmp/seats.so"
    candidates -x "LD_PRELOAD=$tmp/seats.so" -- --collectives barrier --rounds 8 --quiet
    ((status == 0)) || fail "exit code $status"
    seats_are_changed 4 8 8 "$tmp/out" || fail 'the ranks are not moved as they should be'
}

groups_are_measured_and_drawn() {
    "$HERE/../bench/groups" --shapes 3x2 --rates none --bytes 4K,64K --trees linear,in_order_binary --rounds 1 \
        --components "$build/components" --program "$build/tune/han_candidates" --output "$tmp/groups" >"$tmp/out" 2>&1 ||
        fail "exit code $?"
    cat "$tmp/groups.csv"
    says 'reduce of 64 KB, 3x2 by slot, links none, segments of 32K; measured'
    grep -qE '^linear +[0-9]+ +[0-9.]+x +[0-9.]+x   [1-9]' "$tmp/out" || fail 'no row of linear'
    awk -F, '
        NR > 1 { bad += NF != 11 || $10 != 0 || !($8 > 0) || !($9 > 0); seen[$5, $6, $7] = 1; ++lines }
        END { exit bad || lines != 12 || !((65536, "in_order_binary", 4) in seen) }' "$tmp/groups.csv" || fail 'groups.csv'
    ! command -v gnuplot >/dev/null || {
        grep -q '3 nodes of 2, 64 KB, links: none' "$tmp/groups.svg" && ! grep -qF 'scale(0.00)' "$tmp/groups.svg"
    } || fail 'groups.svg'
}

is_there() {                        # is_there PATTERN
    compgen -G "$1" >/dev/null
}

# By kill -9, so that it can clean up nothing: the next one does.
what_a_killed_measurement_leaves_goes() {
    local job candidates=("$HERE/../bench/candidates" --shapes 2x1 --rates none --collectives barrier
        --components "$build/components" --program "$build/tune/han_candidates")
    mkdir "$tmp/left"
    export HAN_VCLUSTER_DIR=$tmp/left/clusters TMPDIR=$tmp/left
    "${candidates[@]}" --rounds 1000 >"$tmp/out" 2>&1 &
    job=$!
    t_eventually is_there "$tmp/left/clusters/candidates*/cluster"
    kill -KILL "$job"
    wait "$job" 2>/dev/null || :
    is_there "$tmp/left/clusters/candidates*/cluster"
    touch -d '2 minutes ago' "$tmp/left"/han-bench.*
    "${candidates[@]}" --rounds 1 >"$tmp/out" 2>&1
    find "$tmp/left"
    [[ ! -e $tmp/left/clusters ]] && ! is_there "$tmp/left/han-bench.*"
}

board_has_the_best_candidate() {
    local board=$HERE/../bench/board common=(--rates none --sizes 8 --rounds 1 --time 5 --output "$tmp/board")
    common+=(--components "$build/components" --bench "$build/bench/han_bench" --candidates "$tmp/candidates")
    printf '2,1,slot,none,bcast,8,%s,50,5\n' fallback,100,50,0 'tree ibalg=linear ibs=0,25,75,0' ring,1,1,3 >"$tmp/candidates"
    status=0
    "$board" --shapes 2x1 --collectives bcast "${common[@]}" >"$tmp/out" 2>&1 || status=$?
    "$board" --shapes 2x2 --collectives bcast,barrier "${common[@]}" >>"$tmp/out" 2>&1 || status=$?
    cat "$tmp/board.csv" "$tmp/out"
    ((status == 0)) || fail "exit code $status"
    # What was measured before stays; the best that is right, by each clock, in tuned's time.
    awk -F, '
        NR == 1 { next }
        { ++lines[$1 "x" $2 " " $5]; bad += !($8 > 0 && $9 > 0) }
        $2 == 1 && $7 == 1 { bad += $12 != "tree ibalg=linear ibs=0" || ($11 - 0.25 * $9) ^ 2 > 0.01 }
        $2 == 1 && $7 > 1 { bad += $12 != "fallback" || ($11 - $9) ^ 2 > 0.01 }
        $2 == 2 { bad += $11 != "-" || $12 != "-" }
        END { exit bad || lines["2x1 bcast"] != 2 || lines["2x2 bcast"] != 2 || lines["2x2 barrier"] != 2 }' "$tmp/board.csv" ||
        fail 'the board is not as it should be'
    grep -q '^2 nodes x 1 ranks by slot, links without a rate; calls in a row$' "$tmp/out" || fail 'no table'
}

# Jobs whose times differ by more than what is compared: ratios are those of one job. The program that stands in for
# han_bench says what the board makes sure of, and prints times that follow from the round.
board_compares_within_a_job() {
    local board=$HERE/../bench/board
    cat >"$tmp/bench" <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
echo "calling init: $FOLDER/mca_coll_han.so selecting han, Enabled" >&2
round=0
while [ $# -gt 0 ]; do
    [ "$1" != --offset ] || round=$(($2 / 5))
    shift
done
case $round in 0) slow=10 tuned=20 ;; 1) slow=7 tuned=20 ;; *) slow=20 tuned=25 ;; esac
ours=10 wrong_at=16default
[ "${OMPI_MCA_coll_han_priority:-}" != 100 ] || ours=15 tuned=20 slow=$((slow * 3)) wrong_at=32^han+adapt
for bytes in 8 16 32; do
    for variant in "$((ours * slow)) default" "$((tuned * slow)) ^han+adapt"; do
        for calls in 1 50; do
            wrong=0
            [ "$bytes${variant#* }" != "$wrong_at" ] || wrong=1
            echo "bcast,$bytes,9,${variant% *},1,-,-,$wrong,calls=$calls ${variant#* },0.1.0"
        done
    done
done | sed '1i collective,bytes,repetitions,median_us,min_us,bound_us,least_us,wrong,variant,version'
END
    chmod 755 "$tmp/bench"
    status=0
    FOLDER=$(realpath "$build/components") "$board" --shapes 2x1 --rates none --sizes 8,16,32 --collectives bcast --rounds 3 \
        --time 30 --components "$build/components" --bench "$tmp/bench" --output "$tmp/jobs" >"$tmp/out" 2>&1 || status=$?
    cat "$tmp/jobs.csv" "$tmp/out"
    ((status == 1)) || fail "exit code $status"
    # Where there is no ratio, the time is that of the jobs themselves.
    cut -d, -f 5-10,13 "$tmp/jobs.csv" >"$tmp/points"
    diff - "$tmp/points" <<'END' || fail 'the board is not as it should be'
collective,bytes,calls,ours_us,tuned_us,ompi_han_us,noise
bcast,8,1,100,200.00,150.00,1.250
bcast,8,50,100,200.00,150.00,1.250
bcast,16,1,-,200,150.00,1.250
bcast,16,50,-,200,150.00,1.250
bcast,32,1,100,200.00,450,1.250
bcast,32,50,100,200.00,450,1.250
END
}

main() {
    local folder
    build=''
    take_options "--build | build | a folder | @folder" "$@"
    for folder in "${build:-.}" ..; do
        [[ ! -x $folder/tune/han_tune || ! -d $folder/components ]] || { build=$(realpath -- "$folder"); break; }
    done
    [[ -n $build && -x $build/tune/han_tune ]] || { echo "test_tune.sh: no build folder; --build names one" >&2; exit 2; }
    t_needs cluster_up 2
    export OMPI_MCA_mca_base_component_path=$build/components:SYS_DEFAULT
    # mpirun need not wait a second when a job ends with an error.
    export OMPI_MCA_odls_base_sigkill_timeout=0
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    check 'a search writes a table' a_search_writes_a_table
    check 'a race knows all collectives' a_race_knows_all_collectives
    check "HAN's own choice is timed as the candidate that it is" own_choice_is_a_candidate
    check 'a race begins with those who may win' a_race_begins_with_those_who_may_win
    check_all 'a race ends in time' a_race_ends_in_time
    check_all 'a race is written anew, and what cannot be is told' a_race_is_written_anew
    check 'an interrupted race goes on' an_interrupted_race_goes_on
    check 'the machine alone is timed' the_machine_alone_is_timed
    check 'the table is one that HAN reads' the_table_is_one_for_han
    check "the user's settings are not taken for HAN's own choice" settings_of_the_user_are_ignored
    check 'every message size has an estimate' every_size_has_an_estimate
    if command -v gnuplot >/dev/null; then
        check 'the report has all its pictures' the_report_is_complete
        check 'a race has a report' a_race_has_a_report
        check 'a machine has a report' a_machine_has_a_report
        check 'names in a report are quoted' names_in_a_report_are_quoted
    else
        t_skip 'the report has all its pictures' 'gnuplot is missing'
        t_skip 'a race has a report' 'gnuplot is missing'
        t_skip 'a machine has a report' 'gnuplot is missing'
        t_skip 'names in a report are quoted' 'gnuplot is missing'
    fi
    check 'a second run measures only the choice' a_second_run_measures_only_the_choice
    check_all 'an interrupted run goes on' an_interrupted_run_goes_on
    check_all 'the time limit holds' the_time_limit_holds
    check 'where the time is over, samples of an earlier run decide nothing' old_samples_decide_nothing
    check_all 'heuristics leave things out' heuristics_leave_things_out
    check_all 'exhaustive measures every size' exhaustive_measures_every_size
    check_all 'parts of the allocation are tuned' parts_of_the_allocation_are_tuned
    check_all 'a call that fails is left out, and the search goes on' a_call_that_fails_is_left_out
    check '--validate finds the rule that does not pay, --prune drops it' validate_and_prune
    check '--best compares a table with the best of all candidates' a_table_is_compared_with_the_best
    check 'bad input gets one message' bad_input_gets_one_message
    check 'what was found is kept where something cannot be done' what_was_found_is_kept
    check 'what cannot be written is found out before' what_cannot_be_written_is_found_out_before
    check_all 'what is no file of its own stays' what_is_no_file_of_its_own_stays
    check_all 'two tuners do not mix their measurements' two_tuners_do_not_mix
    check 'one node is refused' one_node_is_refused
    check 'without HAN it says how to get it' without_han_it_says_how
    check 'measurements of another machine are not mixed in' other_measurements_are_not_mixed_in
    check '--help lists the heuristics' help_lists_the_heuristics
    check 'candidates of all collectives are timed, and right' candidates_of_all_collectives_are_timed
    check 'wrong results of candidates are counted' wrong_results_are_counted
    check_all 'wrong results are out of a race' wrong_results_are_out
    check 'han_candidates says that HAN is missing' candidates_want_han
    check_all 'bench/candidates puts shapes and rates together' shapes_and_rates_are_put_together
    check 'han_candidates --only times what is named' only_what_is_named_is_timed
    check 'han_candidates --all-submodules and --all-rounds time all' all_submodules_are_timed
    check 'ranks that share cores are moved' ranks_that_share_cores_are_moved
    check_all 'bench/groups measures trees in groups' groups_are_measured_and_drawn
    check 'what a killed measurement leaves goes with the next one' what_a_killed_measurement_leaves_goes
    check_all 'bench/board measures ours and the peers, and has the best candidate' board_has_the_best_candidate
    check_all 'bench/board compares what one job has measured' board_compares_within_a_job
    echo "1..$count"
    exit "$failed"
}

main "$@"
