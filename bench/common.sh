# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154,SC2317
#
# What asp, board, candidates, compare, groups, learning, noise, pipelining and training share: sets of components, the
# virtual cluster, jobs, rounds, progress. Sourced by them, with `program` set to the
# script's name. A job leaves $work/samples.SET@COLLECTIVE@ROUND, and table.* alike.

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
# HAN has nothing to do on one node.
readonly SHAPE='([2-9]|[1-9][0-9]+)x[1-9][0-9]*(:slot|:node)?'
readonly START_SECONDS=1.5          # an mpirun without the measurement, about
readonly NO_CLUSTER=77
# shellcheck source=tests/options.sh
. "$HERE/../tests/options.sh"

say() {
    progress_end
    printf '%s: %s\n' "$program" "$*" >&2
}

die() {                             # die CODE MESSAGE
    local code=$1
    shift
    say "$*"
    exit "$code"
}

# Lines as they are kept: each tells the version and commit that there was when the measurement began (make_work).
version=
add_version() {                     # add_version [HEAD] <LINES: the first line has the names of the columns
    awk -v head="${1:-}" -v version="$version" '{ print $0 "," (NR == 1 && head ? "version" : version) }'
}

# ---------------------------------------------------------------- options

collectives=(bcast)
sizes=8:1M
nodes=4
ppn=4
map=slot
rate=200mbit
cluster=
sets=
ours=han
components=
rounds=5
budget=120
prefer=
output=
bench=
extra=()                            # options for han_bench
declare -A options                  # by set
declare -A builtin                  # by set: those that the script defines besides the usual ones
added=()

# The part of the help that all have.
usage_where() {
    cat <<'END'
Where
  --nodes N --ppn N --map slot|node --rate RATE
                        virtual cluster of its own (default 4, 4, slot, 200mbit);
                        --ppn 5,3,4,1 is uneven, --nodes 1 is plain mpirun here
  --cluster NAME        a virtual cluster that is up; it stays up
END
}

# The same of those that compare sets; what others have is behind it.
usage_sets() {                      # usage_sets NAMES: those that are measured by default
    cat <<END

Sets
  --sets LIST           default $1
      han               this project's components
      tuned             the distribution's, without han and adapt
      ompi-han          the distribution's, with its own han first
  --set 'NAME=OPTIONS'  one more set, by its mpirun options; '@SET' stands for the
                        options of a set, as in --set 'mine=@han --mca a b'
  --components DIR      folder with this project's components
END
}

# Lines of the table of options that scripts have alike.
readonly COMMON_OPTIONS="
--nodes      | nodes      | a number from 1                                            | $NUMBER
--ppn        | ppn        | 4 or 5,3,4,1                                               | $NUMBER(,$NUMBER)*
--map        | map        | slot or node                                               | slot|node
--rate       | rate       | none, or a rate as 200mbit                                 | $LINK_RATE
--cluster    | cluster    | the name of a virtual cluster                              | [A-Za-z0-9_.-]+
--sets       | sets       | names, as in han,tuned                                     | [A-Za-z0-9_.,-]+
--set        | add_set()  | NAME=OPTIONS, the name of letters, digits, '_', '.', '-'   | [A-Za-z0-9_.-]+=.*
--ours       | ours       | the name of a set                                          | [A-Za-z0-9_.-]+
--components | components | a folder                                                   | @folder
--rounds     | rounds     | a number from 1                                            | $NUMBER
--time       | budget     | whole seconds from 1                                       | $NUMBER
--output     | output     | a name in a folder that can be written                     | @new
--bench      | bench      | a program                                                  | @program
--shapes     | shapes     | shapes of several nodes, as in 4x4,8x2,4x4:node            | $SHAPE(,$SHAPE)*
--rates      | rates      | rates, as in none,200mbit                                  | ($LINK_RATE)(,($LINK_RATE))*
"

common_options() {                  # common_options OPTION...: their lines
    local target expected pattern option
    for option; do
        option_line "$COMMON_OPTIONS" "$option"
        printf '%s|%s|%s|%s\n' "$option" "$target" "$expected" "$pattern"
    done
}

take_collectives() {                # take_collectives OPTION LIST
    IFS=, read -ra collectives <<<"$2"
}

add_set() {                         # add_set OPTION NAME=OPTIONS
    options[${2%%=*}]=${2#*=}
    added+=("${2%%=*}")
}

bytes_of() {                        # 64K
    local number=${1%[KMG]}
    case $1 in
    *K) number=$((number << 10)) ;;
    *M) number=$((number << 20)) ;;
    *G) number=$((number << 30)) ;;
    esac
    printf '%s' "$number"
}

find_file() {                       # the first that exists
    local file
    for file; do
        if [[ -e $file ]]; then
            realpath -- "$file"
            return
        fi
    done
}

# The program that an option names, or the first of some files that is there.
find_program() {                    # find_program NAME OPTION VALUE FILE...
    local name=$1 option=$2 file=$3
    shift 3
    if [[ -z $file ]]; then
        file=$(find_file "$@")
        [[ -n $file ]] || die 2 "$name is not there; build it, or give $option"
    fi
    realpath -- "$file"
}

find_bench() {
    bench=$(find_program han_bench --bench "$bench" "$HERE/han_bench" ./bench/han_bench ./han_bench)
}

# The folder that --components names, or where they are built; sets components, to nothing where there are none.
find_components() {
    if [[ -n $components ]]; then
        components=$(realpath -- "$components")
    else
        components=$(find_file components "$HERE/../components")
    fi
    [[ $components != *[[:space:]:]* ]] ||
        die 2 "the path of the components must have no space and no colon: $components"
}

# Without "SYS_DEFAULT" alone, a component in the user's home would be a peer's too.
define_sets() {
    local name word text
    builtin[tuned]='--mca coll ^han,adapt --mca mca_base_component_path SYS_DEFAULT'
    builtin[ompi-han]='--mca coll_han_priority 100 --mca mca_base_component_path SYS_DEFAULT'
    builtin[han]=
    find_components
    [[ -z $components ]] || builtin[han]="--mca mca_base_component_path $components:SYS_DEFAULT"
    for name in "${!builtin[@]}"; do
        [[ -n ${options[$name]+set} ]] || options[$name]=${builtin[$name]}
    done
    IFS=, read -ra wanted <<<"$sets"
    for name in "${added[@]}"; do
        [[ " ${wanted[*]} " == *" $name "* ]] || wanted+=("$name")
    done
    for name in "${wanted[@]}"; do
        [[ -n ${options[$name]+set} ]] ||
            die 2 "set '$name' is unknown; known are: ${!options[*]}"
        text=
        for word in ${options[$name]}; do
            if [[ $word == @* ]]; then
                [[ -n ${options[${word#@}]:-} ]] || die 2 "set '$name': there is no '${word#@}'"
                word=${options[${word#@}]}
            fi
            text+=" $word"
        done
        options[$name]=${text# }
    done
    [[ $ours == han || " ${wanted[*]} ${prefer//[,+]/ } " == *" $ours "* ]] ||
        bad_option "--ours '$ours': expected one of the sets, ${wanted[*]}"
}

# ---------------------------------------------------------------- cluster and jobs

work=
job=
own_cluster=

clean_up() {
    trap - EXIT
    trap '' INT TERM
    progress_end
    if [[ -n $job ]]; then
        kill -TERM "$job" 2>/dev/null || true
        wait "$job" 2>/dev/null || true
    fi
    if [[ -n $own_cluster ]]; then
        "$vcluster" down --name "$own_cluster" >/dev/null 2>&1 || true
    fi
    if [[ -n $work ]]; then
        rm -rf -- "$work"
    fi
}

# Folders that nobody has locked are of scripts that were killed.  One that was made a moment ago is not locked yet.
remove_abandoned() {
    local folder lock
    while IFS= read -r folder; do
        if { exec {lock}<"$folder"; } 2>/dev/null; then
            ! flock -n "$lock" || rm -rf -- "$folder"
            exec {lock}<&-
        fi
    done < <(find "${TMPDIR:-/tmp}" -maxdepth 1 -type d -name 'han-bench.*' -user "$EUID" -mmin +1 2>/dev/null)
}

# A folder for what is measured, locked while this script and its jobs live. However the script ends, all goes with it.
make_work() {
    local lock
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    remove_abandoned
    version=$("$HERE/../common/version.sh")
    work=$(mktemp -d -t han-bench.XXXXXXXX)
    exec {lock}<"$work"
    flock "$lock"
}

# In the background, for a trap interrupts only `wait`.
run_job() {                         # run_job SECONDS COMMAND...; sets code
    local limit=$1
    shift
    timeout -k 5 "$limit" "$@" &
    job=$!
    code=0
    wait "$job" || code=$?
    job=
}

status_of() {
    awk -v key="$1" '$1 == key { print $2; exit }' <<<"$cluster_status"
}

bring_up_cluster() {
    local code=0
    where='this machine'
    wire=()                         # what han_bench is told of the links
    if [[ -z $cluster ]] && ((nodes == 1)); then
        rate=
        return
    fi
    vcluster=$(find_file "$HERE/../cluster/vcluster" ./cluster/vcluster)
    [[ -n $vcluster ]] || die 2 'cluster/vcluster is missing; --nodes 1 does without'
    if [[ -z $cluster ]]; then
        cluster=$program$$
        own_cluster=$cluster
        "$vcluster" up --name "$cluster" --nodes "$nodes" --rate "$rate" --owner $$ >/dev/null || code=$?
        if ((code != 0)); then
            own_cluster=
            exit $((code == NO_CLUSTER ? NO_CLUSTER : 2))
        fi
        remove_abandoned            # jobs of a killed script have ended with its cluster
    fi
    cluster_status=$("$vcluster" status --name "$cluster") || die 2 "no cluster '$cluster' is up"
    nodes=$(status_of nodes)
    rate=$(status_of rate)
    bucket=$(status_of bucket)
    where='virtual cluster'
    if [[ $rate == none ]]; then
        rate=
        where+=$([[ $(status_of mode) == net ]] && echo ', links without a rate' || echo ' on one network')
    fi
    [[ -z $rate || $rate =~ ^[0-9.]+[kmg]?bit$ ]] ||
        die 2 "the links' rate is $rate; accepted: none, and rates in bit, kbit, mbit or gbit per second, such as 200mbit"
    wire=(${rate:+--rate "$rate" --bucket "$bucket"})
}

# Those that do the same on several clusters, one after the other.
shapes=4x4,4x1
rates=none,200mbit

usage_machines() {
    cat <<END
  --shapes LIST         NODESxRANKS, as in 4x4,8x2,4x4:node; a word behind the colon maps
                        the ranks (default $shapes)
  --rates LIST          of the links, as \`vcluster up\` takes them (default $rates)
END
}

# COMMAND finds nodes, ppn and map set.
on_each_shape() {                   # on_each_shape COMMAND...
    local shape shape_word
    for shape_word in ${shapes//,/ }; do
        shape=${shape_word%:*} map=slot
        [[ $shape_word != *:* ]] || map=${shape_word#*:}
        nodes=${shape%x*} ppn=${shape#*x}
        "$@"
    done
}

# It finds the rate set too, also as it was written in rate_word, and the launcher.
on_each_rate() {                    # on_each_rate COMMAND...
    local rate_word
    for rate_word in ${rates//,/ }; do
        rate=$rate_word cluster=
        bring_up_cluster
        [[ -n $rate || $rate_word == none ]] ||
            die "$NO_CLUSTER" "--rates $rate_word: this machine allows only nodes whose links have no rate; accepted: none"
        find_launcher
        "$@"
        "$vcluster" down --name "$own_cluster" >/dev/null
        own_cluster=
    done
}

on_each_machine() {                 # on_each_machine COMMAND...
    on_each_shape on_each_rate "$@"
}

# How to start a program on all ranks; mpirun options and the program follow.
find_launcher() {
    if [[ -n $cluster ]]; then
        launcher=("$vcluster" run --name "$cluster" --ppn "$ppn" --map "$map")
        separator=(--)
    else
        launcher=(mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n "$ppn")
        separator=()
        ((EUID != 0)) || launcher+=(--allow-run-as-root)
    fi
    # mpirun need not wait a second when a run ends with wrong values.
    export OMPI_MCA_odls_base_sigkill_timeout=0
    # Settings of the caller would fall on all sets.
    local name
    for name in "${!OMPI_MCA_coll@}" "${!OMPI_MCA_mca_base_component@}"; do
        say "$name is set and ignored"
        unset "$name"
    done
}

# ---------------------------------------------------------------- progress

progress_at=-100
progress_open=

progress() {
    if [[ -t 2 ]]; then
        printf '\r\033[K%s: %s' "$program" "$*" >&2
        progress_open=1
    elif ((SECONDS - progress_at >= 10)); then
        printf '%s: %s\n' "$program" "$*" >&2
        progress_at=$SECONDS
    fi
}

progress_end() {
    [[ -z ${progress_open:-} ]] || printf '\r\033[K' >&2
    progress_open=
}

# The rest of the set-up, from options to `running`.
begin_measuring() {
    find_bench
    define_sets
    make_work
    bring_up_cluster
    find_launcher
    probe_sets
}

# ---------------------------------------------------------------- measuring

# A script may have its own of these four. One that measures another program than han_bench has the last two, and
# its cases in place of collectives.
sizes_of() {                        # sizes_of COLLECTIVE
    printf '%s' "$sizes"
}

extra_of() {                        # extra_of COLLECTIVE; sets extra, options for han_bench
    :
}

# One job, as briefly as it goes, to see whether the set can be used.
try_on() {                          # try_on SET COLLECTIVE; sets code
    bench_on "$1" "$2" 600 -i 1 -x 0 --no-check
}

# One job of a round. SHARE is the time for each size, of which a job may take LIMIT altogether.
measure_on() {                      # measure_on SET COLLECTIVE ROUND SHARE LIMIT; sets code
    bench_on "$1" "$2" "$5" --samples "$work/samples.$1@$2@$3" --max-time "$4" --offset $(($3 * 5))
}

# ---- what they are made of

job_options=()                      # of mpirun, for all jobs

job_on() {                          # job_on SET SECONDS PROGRAM ARGUMENTS; sets code
    local name=$1 limit=$2 set_options
    shift 2
    read -ra set_options <<<"${options[$name]}" || true
    run_job "$limit" "${launcher[@]}" "${set_options[@]}" "${job_options[@]}" "${separator[@]}" "$@" \
        >"$work/out" 2>"$work/err"
}

bench_on() {                        # bench_on SET COLLECTIVE SECONDS han_bench options; sets code
    local name=$1 collective=$2 limit=$3
    shift 3
    extra_of "$collective"
    job_on "$name" "$limit" "$bench" "$collective" --sizes "$(sizes_of "$collective")" "${wire[@]}" "${extra[@]}" --csv "$@"
}

# Why a job has failed. Lines of LD_DEBUG, of which there may be many, are none.
reason() {                          # reason [LIMIT]
    if ((code == 124 || code == 137)); then
        printf 'it took %s' "${1:+more than $1 s, }too long"
        return
    fi
    printf 'exit code %s' "$code"
    grep -v '^[[:space:]]*[0-9]*:' "$work/err" |
        grep -m1 -iE '^(han_[a-z]+|vcluster):|signal|segmentation|not found|no such|unknown|could not' |
        sed 's/^/: /' || true
}

# Why a set cannot be used, or nothing. What is loaded and selected is looked at, not believed.
fault_of() {                        # fault_of SET COLLECTIVE
    local name=$1 collective=$2 job_options=()
    if [[ $name == han && ! -e $components/mca_coll_han.so ]]; then
        printf 'no mca_coll_han.so in %s' "${components:-a folder; give --components}"
        return
    fi
    if [[ $name == han || $name == ompi-han ]]; then
        job_options=(-x LD_DEBUG=files --mca coll_base_verbose 9)
    fi
    try_on "$name" "$collective"
    if ((code == 2)); then
        die 2 "$(grep -m1 -E '^(han_[a-z]+|vcluster):' "$work/err" || echo "set $name: exit code 2")"
    elif ((code != 0)); then
        reason
    elif [[ $name == han ]]; then
        if ! grep -qF "calling init: $components/mca_coll_han.so" "$work/err"; then
            printf '%s was not loaded' "$components/mca_coll_han.so"
        elif ((nodes > 1)) && ! grep -q 'selecting *han, .*Enabled' "$work/err"; then
            printf 'HAN declines this communicator'
        fi
    elif [[ $name == ompi-han ]]; then
        grep -q 'selecting *han, .*Enabled' "$work/err" ||
            printf 'the distribution has none, or it declines this communicator'
    fi
}

# What the components say of options that they do not know, or of files that they cannot use: the set is not what was
# meant.
tell_complaints() {                 # tell_complaints SET
    local line
    while IFS= read -r line; do
        say "set '$1': $line"
    done < <(grep -oE 'coll:(han|adapt|solo): .*; accepted: .*' "$work/err" | sort -u)
}

# Sets without which a result says nothing, beside the one that is compared with the others.
needed=()
missing=()                          # of these, those that could not be measured

leave_out() {                       # leave_out SET WHY
    say "set '$1' $2"
    [[ " $ours ${needed[*]} " != *" $1 "* || " ${missing[*]} " == *" $1 "* ]] || missing+=("$1")
}

# Ends the program; what is not there is no success, though there are numbers of the others.
end_measuring() {                   # end_measuring RESULT
    ((${#missing[@]} == 0)) || die 2 "not measured: ${missing[*]}, without which the others say nothing"
    exit "$1"
}

probe_sets() {
    local name collective fault
    running=()
    n_sizes=1
    for name in "${wanted[@]}"; do
        progress "trying set $name"
        for collective in "${collectives[@]}"; do
            fault_of "$name" "$collective" >"$work/fault"
            fault=$(<"$work/fault")
            [[ -z $fault ]] || break
        done
        if [[ -n $fault ]]; then
            leave_out "$name" "cannot be run and is left out ($fault)"
        else
            tell_complaints "$name"
            running+=("$name")
            n_sizes=$(awk -F, 'NR > 1 && !seen[$1, $2]++ { ++n } END { print n + 0 }' "$work/out")
        fi
    done
    ((${#running[@]} > 0)) || die 2 'no set is left'
}

calc() {                            # calc EXPRESSION, real numbers
    awk "BEGIN { printf \"%.6g\", ($1) }"
}

order_of_round() {                  # rotated, and backwards every second time
    local n=${#running[@]} i
    order=()
    for ((i = 0; i < n; ++i)); do
        if (($1 % 2 == 0)); then
            order+=("${running[($1 / 2 + i) % n]}")
        else
            order+=("${running[($1 / 2 + n - 1 - i) % n]}")
        fi
    done
}

drop_set() {                        # a set that fails once gives no numbers
    local name kept=()
    for name in "${running[@]}"; do
        [[ $name == "$1" ]] || kept+=("$name")
    done
    running=("${kept[@]}")
    rm -f "$work"/samples."$1"@* "$work"/table."$1"@*
}

measure_round() {                   # measure_round ROUND SECONDS_PER_SIZE
    local round=$1 share=$2 name collective limit
    # Three repetitions of calls in a row may take longer than their share.
    limit=$(calc "int(180 + $n_sizes * 6 * $share)")
    order_of_round "$round"
    for collective in "${collectives[@]}"; do
        for name in "${order[@]}"; do
            [[ " ${running[*]} " == *" $name "* ]] || continue
            progress "round $((round + 1)) of $rounds, ${collective/*,*/all collectives}, $name;" \
                "$((budget > SECONDS ? budget - SECONDS : 0)) s left"
            measure_on "$name" "$collective" "$round" "$share" "$limit"
            if ((code > 1)) || (($(wc -l <"$work/out") < 2)); then
                leave_out "$name" "failed in round $((round + 1)) ($(reason "$limit")) and is left out"
                drop_set "$name"
            else
                cp "$work/out" "$work/table.$name@$collective@$round"
            fi
        done
    done
}

# The time per size follows from what the round before took, and is the same for all sets.
measure() {
    local share before took round jobs_left
    SECONDS=0 progress_at=-100
    share=$(calc "0.8 * ($budget / ($rounds * ${#running[@]} * ${#collectives[@]}) - $START_SECONDS) / $n_sizes")
    for ((round = 0; round < rounds && ${#running[@]} > 0; ++round)); do
        share=$(calc "$share < 0.02 ? 0.02 : $share")
        before=$SECONDS
        measure_round "$round" "$share"
        took=$((SECONDS - before + 1))
        jobs_left=$((rounds - round - 1))
        if ((jobs_left > 0 && SECONDS + took / 2 > budget)); then
            say "$((round + 1)) of $rounds rounds fit into $budget s"
            break
        fi
        share=$(calc "$share * (($budget - $SECONDS) / ($jobs_left + 0.01) / $took)")
    done
    progress_end
    ((${#running[@]} > 0)) || die 2 'no set is left'
}

# ---------------------------------------------------------------- results

describe() {                        # sets shape, and adds the links to where
    shape="$nodes nodes x $ppn ranks"
    [[ $ppn != *,* ]] || shape="$nodes nodes, $ppn ranks"
    [[ $nodes != 1 ]] || shape="$ppn ranks on one node"
    [[ -z $cluster ]] || shape+=", by $map"
    [[ -z $rate ]] || where+=", $rate links"
}

# The picture is missed, not the table, where there is no gnuplot.
draw() {                            # draw SCRIPT SVG FILE; the script writes SVG
    if ! command -v gnuplot >/dev/null; then
        say 'no picture: gnuplot is not installed'
    elif ! gnuplot "$1" 2>"$work/err" || ! cp "$2" "$3"; then
        die 2 "gnuplot failed: $(grep -m1 . "$work/err")"
    fi
}

# By the script's own plot_script.
draw_plot() {                       # draw_plot FILE
    plot_script "$work/plot.svg" >"$work/plot"
    draw "$work/plot" "$work/plot.svg" "$1"
}

# For awk programs: 64 KB and the like, and the median of some words, - where there are none.
AWK_SIZE_TEXT='function size_text(b) {
    if (b >= 1048576 && b % 1048576 == 0) { return b / 1048576 " MB" }
    if (b >= 1024 && b % 1024 == 0) { return b / 1024 " KB" }
    return b " B"
}'
AWK_MEDIAN='function median(list,    t, n, i, j, x) {
    n = split(list, t, " ")
    for (i = 2; i <= n; ++i) {
        x = t[i] + 0
        for (j = i - 1; j >= 1 && t[j] + 0 > x; --j) { t[j + 1] = t[j] }
        t[j + 1] = x
    }
    return n == 0 ? "-" : n % 2 ? t[(n + 1) / 2] : (t[n / 2] + t[n / 2 + 1]) / 2
}'
readonly AWK_SIZE_TEXT AWK_MEDIAN

size_name() {                       # 65536 -> 64 KB
    awk -v b="$1" "$AWK_SIZE_TEXT"'BEGIN { print size_text(b) }'
}
