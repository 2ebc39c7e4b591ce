#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs the MPI tests on a virtual cluster, each in the shapes and with the
# parameters of a table.  `make check-mpi` compiles them and calls this.
# Every line of a test is printed as a line of this one, with the run's name in
# front.  Exit code 0 pass, 1 fail, 77 the machine allows no virtual nodes.

set -euo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
readonly VCLUSTER=$HERE/../cluster/vcluster
# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
t_untimed=yes                       # a run has many lines, and says how long it takes as a whole
# shellcheck source=tests/job.sh
. "$HERE/job.sh"
# shellcheck source=tests/choices.sh
. "$HERE/choices.sh"

# Seconds that a run may take: many times what any takes.  What hangs ends before, by an alarm of its own.
readonly JOB_LIMIT=1800

# One run a row: name | depth | ranks of each node | map | mpirun options | program and arguments
# The depth is the least with which the run is done (tests/choices.sh); with two words, that of the first run that a row
# stands for, and that of the others.
# A word instead of a part of the name stands for each of a list, and the row for
# as many runs: SHAPE, ODD, EVEN, MAP, ONENODE and SINGLE are replaced in all columns.  WATCHED stands for a malloc() that knows how
# much was asked for, and ends a process that has written a byte more; UCX and OFI for a pml that is not ob1; LEADERS for that algorithm wherever
# blocks have it.  ANY_UP
# and ANY_LOW stand for a whole list, which --each of a program goes through
# (tests/mpi_test.h): one job, where its start takes longer than the test.
# First come those in which most faults show: the checker's, the quick ones before the others.
# HERE is this folder.  Programs are those of tests/Makefile.am; "valgrind PROGRAM" runs it under valgrind.
readonly RUNS='
check, defaults, by MAP             | quick usual | 3,2,3,1 | MAP  |                                          | mpi_check --defaults --calls 30 --rounds 60 --free-early
check ODD by MAP                    | quick usual | ODD     | MAP  | --mca coll_solo_start 0                  | mpi_check --calls 30 --rounds 100
check EVEN by node                  | usual       | EVEN    | node | --mca coll_solo_start 0                  | mpi_check --calls 12 --rounds 40
check EVEN by MAP, many calls       | all         | EVEN    | MAP  | --mca coll_solo_start 0                  | mpi_check --calls 30 --rounds 100
check, one rank a node              | usual       | 1,1,1,1 | slot |                                          | mpi_check --calls 40
check, two sockets                  | usual       | 4,4,4,4 | slot | --mca hwloc_base_topo_file HERE/two_sockets.xml --bind-to socket:overload-allowed | mpi_check --calls 8
check, seven nodes, by MAP          | usual all   | 2,1,1,1,2,1,1 | MAP  | --mca coll_han_dynamic_rules_filename HERE/binomial.rules | mpi_check --segment 64 --calls 20
check, watched memory, by MAP       | usual all   | 3,2,3,1 | MAP  | WATCHED | mpi_check --calls 15 --rounds 40
check adapt, watched memory         | usual       | 3,2,3,1 | node | --mca coll ^han --mca coll_adapt_priority 100 WATCHED | mpi_check --adapt --calls 25 --rounds 40 --free-early
check adapt, one node               | usual       | 7,0,0,0 | slot | --mca coll ^han --mca coll_adapt_priority 100 | mpi_check --adapt --calls 20
check solo ONENODE, two sockets by MAP | usual all   | ONENODE | MAP  | --mca coll_solo_start 0 --mca coll_solo_segment_size 512 --mca hwloc_base_topo_file HERE/two_sockets.xml --bind-to socket:overload-allowed | mpi_check --solo --segment 512 --calls 60
check solo ONENODE, single copy SINGLE | usual all   | ONENODE | slot | --mca coll_solo_start 0 --mca coll_solo_segment_size 1024 --mca coll_solo_single_copy SINGLE | mpi_check --solo --calls 40
check solo, large messages          | usual       | 4,0,0,0 | slot | --mca coll_solo_start 0                  | mpi_check --solo --segment 131072 --calls 2
check solo 3 ranks                  | usual       | 3,0,0,0 | slot | --mca coll_solo_start 0 --mca coll_solo_segment_size 1024 | mpi_check --solo --segment 1024 --calls 40 --rounds 100
check solo 8 ranks                  | usual       | 8,0,0,0 | slot | --mca coll_solo_start 0 --mca coll_solo_segment_size 1024 | mpi_check --solo --segment 1024 --calls 40 --rounds 100
edges by node, any modules          | usual       | 5,3,4,1 | node | --mca coll_solo_start 0 --mca coll_han_bcast_segsize 1024 | mpi_edges --strict --each coll_han_bcast_up_module=ANY_UP --each coll_han_bcast_low_module=ANY_LOW
edges SHAPE by MAP, defaults        | usual all   | SHAPE   | MAP  |                                          | mpi_edges --segment 12288 --strict
fallbacks call HAN, basic           | usual       | 2,2,0,0 | slot | --mca coll ^tuned --mca coll_han_bcast_algorithm simple | mpi_edges --strict
fallbacks call HAN, tuned           | usual       | 2,2,0,0 | node | --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 2 --mca coll_solo_start 0 --mca coll_han_start 0 --mca coll_han_bcast_algorithm simple | mpi_edges --strict
fallbacks call HAN, where jobs meet | usual       | 2,1,0,0 | slot | --mca coll ^tuned                        | mpi_comms --spawn
fallbacks call SOLO                 | usual       | 4,0,0,0 | slot | --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 2 --mca coll_solo_start 0 | mpi_edges
edges on one node, solo             | usual       | 4,0,0,0 | slot | --mca coll_solo_start 0                  | mpi_edges --each coll_solo_alltoall_algorithm=copy,single_copy --each coll_solo_allgather_algorithm=copy,single_copy
edges, adapt by itself              | usual       | 2,1,2,1 | node | --mca coll ^han --mca coll_adapt_priority 100 | mpi_edges --strict --adapt
reduce of 4 MB, 64 ranks            | all         | 8,8,8,8,8,8,8,8 | slot |                                          | mpi_limits --large 4194304
long blocks with gaps, in pieces    | usual       | 2,1,2,0 | MAP  | --mca coll_han_alltoallv_segsize 60K     | mpi_limits --gaps 2500000
elements far apart                  | usual       | 2,1,0,0 | slot | --mca coll_han_bcast_segsize 1024 --mca coll_han_reduce_segsize 1024 --mca coll_han_allreduce_segsize 1024 | mpi_limits --far --each coll_han_bcast_up_module+coll_han_reduce_up_module+coll_han_allreduce_up_module=ANY_UP
past 2 GiB                          | all         | 1,1,1,0 | slot | --mca coll_han_reduce_up_module adapt --mca coll_han_allreduce_up_module adapt | mpi_limits --big
whole messages, any modules         | usual       | 5,3,4,1 | node | --mca coll_solo_start 0                  | mpi_check --whole --calls 60
whole messages, defaults            | usual       | 5,3,4,1 | node | --mca coll_han_start 0                   | mpi_check --defaults --whole --segment 12288 --calls 20
whole messages, SHAPE by MAP        | all         | SHAPE   | MAP  | --mca coll_solo_start 0                  | mpi_check --whole --calls 400
rules of a file, uneven             | usual       | 5,3,4,1 | node | --mca coll_han_start 0 --mca coll_han_dynamic_rules_filename HERE/mixed.rules | mpi_check --defaults --whole --calls 30
rules of a file, 64 segments        | usual       | 2,2,2,2 | node | --mca coll_han_start 0 --mca coll_han_dynamic_rules_filename HERE/deep.rules | mpi_check --defaults --whole --calls 40
adapt over any tree                 | usual       | 5,3,4,1 | node | --mca coll ^han --mca coll_adapt_priority 100 | mpi_check --adapt --whole --calls 60 --rounds 40 --free-early
many calls, by MAP                  | all         | 5,3,4,1 | MAP  |                                          | mpi_check --calls 400 --rounds 3000
random sequences, spawned           | usual       | 4,4,4,4 | node |                                          | mpi_check --rounds 50 --spawn
all collectives, threads, by MAP    | usual all   | 2,1,2,1 | MAP  |                                          | mpi_check --threads 4 --rounds 6
all collectives, threads, single    | usual       | 1,1,1,1 | slot |                                          | mpi_check --threads 3 --rounds 5
threads on 16 ranks                 | all         | 4,4,4,4 | slot |                                          | mpi_check --threads 3 --rounds 20
all collectives, threads, one node  | usual       | 4,0,0,0 | slot | --mca coll_solo_start 0                  | mpi_check --solo --threads 4 --rounds 6
the model decides, by MAP           | usual all   | 3,2,3,1 | MAP  | --mca coll_han_start 0 --mca coll_han_machine HERE/cluster.machine | mpi_check --defaults --whole --calls 40
known faults of Open MPI            | usual       | 2,1,0,0 | slot |                                          | mpi_check --known
tags, ob1                           | usual       | 3,2,3,1 | node |                                          | mpi_tags
tags, a tree for each root          | usual       | 2,2,0,0 | slot | --mca coll_han_bcast_algorithm tree --mca coll_han_allreduce_algorithm tree --mca coll_han_allreduce_lanes 2 | mpi_tags
tags, adapt by itself               | usual       | 2,1,0,0 | slot | --mca coll ^han --mca coll_adapt_priority 100 | mpi_tags --adapt
tags, ucx                           | usual       | 3,2,3,1 | node | UCX                                      | mpi_tags
tags, ofi                           | all         | 3,2,3,1 | node | OFI                                      | mpi_tags
check, ucx                          | usual       | 3,2,3,1 | node | UCX                                      | mpi_check --calls 20 --rounds 30
check, ofi                          | usual       | 3,2,3,1 | node | OFI                                      | mpi_check --calls 10 --rounds 10
threads, ucx                         | usual       | 3,2,3,1 | node | UCX                                      | mpi_check --threads 3 --rounds 3
check, defaults, ucx                | all         | 5,3,4,1 | slot | UCX                                      | mpi_check --defaults --calls 100 --rounds 300
check, defaults, ofi                | all         | 5,3,4,1 | slot | OFI                                      | mpi_check --defaults --calls 100 --rounds 300
few communicator ids, by MAP        | usual all   | 3,2,3,1 | MAP  | --mca coll_han_machine none              | mpi_ids
few communicator ids, levels at once| usual       | 3,2,3,1 | node | --mca coll_han_bcast_algorithm simple --mca coll_han_allreduce_algorithm pipeline | mpi_ids --at-once
five million broadcasts, ob1        | all         | 2,1,0,0 | slot |                                          | mpi_tags --calls 5000000
five million broadcasts, ucx        | all         | 2,1,0,0 | slot | UCX                                      | mpi_tags --calls 5000000
something inside fails, by node     | usual       | 2,2,2,2 | node |                                          | mpi_failures --every 3
something inside fails, all, by MAP | all         | 2,2,2,2 | MAP  |                                          | mpi_failures
a rank cannot unpack                | usual       | 2,2,2,2 | slot | --mca coll_han_start 0 --mca coll_han_bcast_algorithm pipeline --mca coll_han_bcast_segsize 1024 | mpi_failures --unpacked
a message of a long gatherv fails   | usual       | 3,2,3,1 | slot |                                          | mpi_failures --only 21 --segment 16384
a message of a long scatterv fails  | usual       | 3,2,3,1 | slot |                                          | mpi_failures --only 27 --segment 16384
a send among many fails              | usual       | 3,3,3,3 | slot |                                          | mpi_failures --only 30 --first 11 --segment 16
fault 11664, gather by node         | usual       | 4,4,4,4 | node |                                          | mpi_faults --gather
fault 11441, short last segment     | usual       | 4,4,4,4 | slot |                                          | mpi_faults --ragged
fault 10514, module out of range    | usual       | 4,4,4,4 | slot | --mca coll_han_bcast_up_module 7 --mca coll_han_bcast_low_module 7 | mpi_faults --module
fault 11794, errors of inner calls  | usual       | 4,4,4,4 | slot | --mca coll_han_bcast_algorithm simple --mca coll_han_reduce_algorithm pipeline --mca coll_han_allreduce_algorithm pipeline | mpi_failures --as-set
fault 1763, one signature           | usual       | 4,4,4,4 | slot |                                          | mpi_faults --signature
fault 1763, one signature, in lanes | usual       | 4,4,4,4 | slot | --mca coll_han_bcast_algorithm tree --mca coll_han_bcast_lanes 3 --mca coll_han_bcast_segsize 1000 | mpi_faults --signature
fault 1763, one signature, levels   | usual       | 4,4,4,4 | slot | --mca coll ^solo --mca coll_han_allgather_algorithm simple --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_bcast_algorithm 3 --mca coll_tuned_bcast_algorithm_segmentsize 1000 | mpi_faults --signature
fault 1763, one signature, alone    | usual       | 2,2,1,2 | slot | --mca coll ^solo --mca coll_han_allgather_algorithm simple --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_bcast_algorithm 3 --mca coll_tuned_bcast_algorithm_segmentsize 1000 | mpi_faults --signature
fault, first call on communicator   | usual       | 4,4,4,4 | slot |                                          | mpi_faults --first
fault, uneven nodes                 | usual       | 5,3,4,1 | node | --mca coll_han_machine HERE/cluster.machine | mpi_faults --wire
an own block that does not fit      | usual       | 2,2,2,2 | slot |                                          | mpi_faults --truncated
an own block that does not fit, leaders, by MAP | usual | 3,2,3,1 | MAP | LEADERS                                | mpi_faults --truncated
an own block that does not fit, tree| usual       | 2,2,2,2 | slot | --mca coll_han_allgather_algorithm tree  | mpi_faults --unfit
an own block that does not fit, levels | usual    | 1,3,2,2 | slot | --mca coll ^solo --mca coll_han_allgather_algorithm simple | mpi_faults --unfit
a late node is not flooded          | usual       | 4,4,4,4 | slot | --mca coll_han_alltoall_algorithm exchange --mca coll_han_scan_algorithm chain --mca coll_han_scan_segsize 8192 | mpi_faults --flood
a late node, a scan by leaders      | usual       | 4,4,4,4 | slot | --mca coll_han_alltoall_algorithm exchange --mca coll_han_scan_algorithm leaders --mca coll_han_scan_segsize 8192 | mpi_faults --flood
whole structures, levels, by MAP    | usual       | 3,2,3,1 | MAP  | WATCHED --mca coll_han_reduce_segsize 1024 --mca coll_han_reduce_algorithm pipeline --mca coll_han_reduce_low_module basic --mca coll_han_reduce_up_module adapt | mpi_faults --padding
whole structures, defaults, by MAP  | usual       | 3,2,3,1 | MAP  |                                          | mpi_faults --padding
leaders alone and not, libnbc       | usual       | 2,2,2,1 | slot | --mca coll_han_allreduce_algorithm up_allreduce --mca coll_han_allreduce_up_module libnbc --mca coll_han_allreduce_segsize 65536 | mpi_faults --alone
ends name unequal lengths, by MAP   | usual       | 3,2,3,1 | MAP  |                                          | mpi_faults --unequal
the same by leaders, by MAP         | usual       | 3,2,3,1 | MAP  | --mca coll_han_gatherv_algorithm leaders --mca coll_han_scatterv_algorithm leaders | mpi_faults --unequal
the same with threads               | usual       | 3,2,3,1 | slot | -x OMPI_MPI_THREAD_LEVEL=3               | mpi_faults --unequal
packed by the user, by MAP          | usual       | 3,2,3,1 | MAP  | --mca coll_han_alltoall_segsize 1000 --mca coll_han_alltoallv_segsize 1000 --mca coll_han_allgather_algorithm tree | mpi_faults --packed
packed by the user, leaders, by MAP | usual       | 3,2,3,1 | MAP  | LEADERS                                  | mpi_faults --packed
in place, but for who gets nothing  | usual       | 2,2,2,2 | slot | --mca coll_han_reduce_scatter_algorithm tree | mpi_faults --partly
in place on some, by MAP            | usual       | 3,2,3,1 | MAP  |                                          | mpi_faults --partly
in place on some, chain             | usual       | 3,2,3,1 | slot | --mca coll_han_scan_algorithm chain --mca coll_han_exscan_algorithm chain --mca coll_han_scan_segsize 8192 --mca coll_han_exscan_segsize 8192 | mpi_faults --partly
left with messages under way        | usual       | 2,0,0,0 | slot | --mca coll ^han --mca coll_adapt_priority 100 -x OMPI_MPI_THREAD_LEVEL=3 | mpi_faults --freed
a ready call keeps its core         | usual       | 3,3,3,3 | slot | --mca mpi_yield_when_idle 1 --mca coll_solo_start 0 --mca coll_han_bcast_algorithm simple --mca coll_han_bcast_low_module solo --mca coll_han_scatter_algorithm exchange | mpi_faults --yields
a ready call keeps its core, a tree | usual       | 3,3,3,3 | slot | --mca mpi_yield_when_idle 1 --mca coll_han_bcast_algorithm tree --mca coll_han_scatter_algorithm leaders | mpi_faults --yields
a late rank gets all                | usual       | 3,3,3,3 | slot | --mca coll_han_bcast_algorithm tree --mca coll_han_scatter_algorithm leaders | mpi_faults --late
fault 13171 and 13398, communicators| usual       | 5,3,4,1 | slot |                                         | mpi_comms --live 7
solo, communicators                 | usual       | 4,0,0,0 | slot | --mca coll_solo_start 0                  | mpi_solo --communicators 100
solo, 1,000 communicators           | all         | 4,0,0,0 | slot | --mca coll_solo_start 0                  | mpi_solo
solo past 2 GiB, single copy SINGLE | all         | 2,0,0,0 | slot | --mca coll_solo_start 0 --mca coll_solo_single_copy SINGLE | mpi_limits --big
solo, communicators, threads, spawn | usual       | 4,0,0,0 | slot | --mca coll_solo_start 0            | mpi_comms --threads --spawn
reproducible, SHAPE by MAP          | usual all   | SHAPE   | MAP  | --mca coll_han_reproducible 1 --mca coll_solo_start 0 | mpi_places
results by placement                | usual       | 4,4,4,4 | slot | --mca coll_solo_start 0                  | mpi_places --by-placement
communicators, threads, spawn       | usual       | 4,4,4,4 | slot |                                          | mpi_comms --threads --spawn
communicators, levels               | all         | 4,4,4,4 | node | --mca coll_han_bcast_algorithm pipeline  | mpi_comms --threads --spawn
communicators over jobs, levels     | usual       | 2,1,0,0 | slot | --mca coll_han_bcast_algorithm pipeline  | mpi_comms --spawn
communicators, 7 left alive         | all         | 5,3,4,1 | node |                                          | mpi_comms --live 7
levels, 7 left alive                | usual       | 5,3,4,1 | node | --mca coll_han_bcast_algorithm pipeline  | mpi_comms --live 7
valgrind, check                     | all         | 2,2,0,0 | slot |                                          | valgrind mpi_check --segment 64 --calls 4 --rounds 50
valgrind, solo                      | all         | 3,0,0,0 | slot | --mca coll_solo_start 0 --mca coll_solo_segment_size 512 | valgrind mpi_check --solo --segment 512 --calls 4 --rounds 30
valgrind, 7 left alive              | all         | 2,2,0,0 | slot |                                          | valgrind mpi_comms --live 7
valgrind, levels, 7 left alive      | all         | 2,2,0,0 | slot | --mca coll_han_bcast_algorithm pipeline  | valgrind mpi_comms --live 7
'
# shellcheck disable=SC2034,SC2054  # used through names made in expand; commas are meant
readonly SHAPES=(5,3,4,1 4,4,4,4 1,1,1,4 2,1,2,1) ODDS=(5,3,4,1 2,1,2,1) EVENS=(4,4,4,4 1,1,1,4) MAPS=(node slot) ONENODES=(5,0,0,0 4,0,0,0 2,0,0,0 3,0,0,0 8,0,0,0) \
    SINGLES=(off on) WATCHEDS=('-x LD_PRELOAD=libc_malloc_debug.so.0 -x MALLOC_CHECK_=3') \
    UCXS=('--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any -x UCX_TLS=tcp,sm,self') \
    OFIS=('--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include tcp') \
    LEADERSS=('--mca coll_han_gather_algorithm leaders --mca coll_han_gatherv_algorithm leaders --mca coll_han_scatter_algorithm leaders --mca coll_han_scatterv_algorithm leaders --mca coll_han_alltoall_algorithm leaders --mca coll_han_allgather_algorithm leaders') \
    ANY_UPS=(libnbc,adapt) ANY_LOWS=(tuned,basic,sm,solo)

usage() {
    cat <<'END'
tests/run.sh [--build DIR] [--depth DEPTH] [--only TEXT] [--seed SEED] [--list]
             [--stop] [--theirs]

  --build DIR   build folder with components/ and tests/ (default: the current
                folder, or the one above it)
  --depth DEPTH quick, usual or all of the runs (default: all)
  --only TEXT   only runs whose name contains TEXT
  --seed SEED   of all that is drawn: a number from 1, or random (default: 1)
  --list        prints the names of the runs, each with the least depth that has it
  --stop        ends after the first run that fails
  --theirs      runs what is called "fault ..." with the HAN that Open MPI
                brings instead of ours; a line is ok where that fails

HAN_TEST_WRAPPER=PROGRAM in the environment starts each test with PROGRAM.
`make check-mpi` compiles the tests and runs all of them.  A run that fails is
followed by the command that repeats it.
END
}

build='' depth=all only='' seed=1 list='' stop='' theirs='' cluster=rt$$ nodes=0 tmp=''

say() {
    printf 'run.sh: %s\n' "$*" >&2
}

# ---------------------------------------------------------------- rows

trim() {
    local text=$1
    text=${text#"${text%%[![:space:]]*}"}
    printf '%s' "${text%"${text##*[![:space:]]}"}"
}

# Prints the rows, each once for every value of the words that stand for many.
expand() {                          # expand ROW WORD...
    local row=$1 word value
    shift
    for word in "$@"; do
        shift
        if [[ $row == *"$word"* ]]; then
            local -n values=${word}S
            for value in "${values[@]}"; do
                expand "${row//"$word"/"$value"}" "$@"
            done
            return
        fi
    done
    echo "$row"
}

# Prints all runs, each as a row of the table with one depth.
all_rows() {
    local row run depths first others
    while read -r row; do
        [[ -n $row ]] || continue
        IFS='|' read -r _ depths _ <<<"$row"
        read -r first others <<<"$depths"
        while read -r run; do
            echo "${run/"|$depths|"/"| $first |"}"
            first=${others:-$first}
        done < <(expand "$row" SHAPE ODD EVEN MAP ONENODE SINGLE WATCHED UCX OFI LEADERS ANY_UP ANY_LOW)
    done <<<"$RUNS"
}

# ---------------------------------------------------------------- lines

# Behaviours that a row does not ask for ("wants --big") are asked for by
# another.  Under valgrind a process grows by valgrind's own notes.
left_out() {                        # left_out RUN LINE
    [[ $2 == *"# SKIP wants --"* || ($1 == valgrind* && $2 == *"lose no memory"*) ]]
}

# Passes the lines of a test on; sets lines, bad, plan and excused, which says
# that a failure was left out.
pass_on() {                         # pass_on RUN FILE
    local run=$1 line notes=()
    lines=0 bad=0 plan='' excused=''
    while IFS= read -r line; do
        if [[ $line =~ ^(not\ )?ok\ [0-9]+\ -\ (.*)$ ]]; then
            lines=$((lines + 1))
            if left_out "$run" "$line"; then
                [[ -z ${BASH_REMATCH[1]} ]] || excused=yes
            else
                count=$((count + 1))
                [[ -z ${BASH_REMATCH[1]} ]] || bad=$((bad + 1))
                echo "${BASH_REMATCH[1]}ok $count - $run: ${BASH_REMATCH[2]}"
                [[ -z ${BASH_REMATCH[1]} || ${#notes[@]} == 0 ]] || printf '%s\n' "${notes[@]}"
            fi
            notes=()
        elif [[ $line =~ ^1\.\.([0-9]+)$ ]]; then
            plan=${BASH_REMATCH[1]}
        elif [[ $line == '# '* ]]; then
            notes+=("$line")
        fi
    done <"$2"
    ((bad == 0)) || failed=1
}

# ---------------------------------------------------------------- valgrind

# Blocks of a report that have a place of ours in their stack: errors, and
# memory that is definitely lost (no other leak is asked for).
ours_in_report() {
    awk '
        function flush() {
            if (block ~ /coll_han|coll_adapt|coll_solo/ && block ~ / (at|by) 0x/) {
                printf "%s", block
            }
            block = ""
        }
        { sub(/^==[0-9]+== ?/, "") }
        $0 == "" { flush(); next }
        { block = block $0 "\n" }
        END { flush() }' "$@"
}

# Components are unloaded before the report: their names must be kept for it.
valgrind_command() {                # sets program
    program=(valgrind --quiet --keep-debuginfo=yes --leak-check=full --show-leak-kinds=definite
        --num-callers=40 --suppressions="$HERE/valgrind.supp"
        --log-file="$tmp/valgrind.%q{OMPI_COMM_WORLD_RANK}" "${program[@]:1}")
}

check_reports() {                   # check_reports RUN RANKS
    local -a reports=("$tmp"/valgrind.*)
    ours_in_report "${reports[@]}" >"$tmp/ours"
    local status=0
    [[ ! -s $tmp/ours ]] || status=1
    t_result "$status" "$1: no error and no lost memory of ours under valgrind" "$tmp/ours"
    status=0
    ((${#reports[@]} == $2)) && [[ -e ${reports[0]} ]] || status=1
    t_result "$status" "$1: there is a report of every rank"
    rm -f -- "${reports[@]}"
}

# ---------------------------------------------------------------- runs

cluster_down() {
    ((nodes == 0)) || "$VCLUSTER" down --name "$cluster" >/dev/null 2>&1 || :
    nodes=0
}

# A cluster of that many nodes, in the place of the one that is there.
cluster_up() {
    cluster_down
    "$VCLUSTER" up --name "$cluster" --nodes "$1" --rate none --owner $$ || return
    nodes=$1
}

say_again() {                       # say_again NAME
    local folder=${build#"$(dirname -- "$HERE")/"}
    echo "# again: ${HAN_TEST_WRAPPER:+HAN_TEST_WRAPPER=$HAN_TEST_WRAPPER }tests/run.sh --build $folder --only '$1' --seed $seed"
}

# Each run has a seed of its own, or those that differ in their shape alone would draw the same calls.
seed_of_run() {                     # seed_of_run NAME
    local sum
    read -r sum _ < <(cksum <<<"$1")
    echo $(((seed + sum) % 1000000 + 1))
}

# A node without ranks is left out of the map: the ranks stop before it.
run_row() {                         # run_row NAME SHAPE MAP OPTIONS PROGRAM
    local name=$1 shape=$2 status=0 lines bad plan excused ranks=0 number earlier=$failed start=$SECONDS
    local -a options program shapes
    IFS=, read -ra shapes <<<"$shape"
    ((nodes == ${#shapes[@]})) || t_needs cluster_up "${#shapes[@]}"
    for number in ${shape//,/ }; do
        ranks=$((ranks + number))
    done
    read -ra options <<<"${4//HERE/"$HERE"}" || :
    read -ra program <<<"$5 --seed $(seed_of_run "$name")"
    failed=0
    if [[ ${program[0]} == valgrind ]]; then
        if ! command -v valgrind >/dev/null; then
            t_skip "$name" "valgrind is missing"
            return
        fi
        program[1]=$build/tests/${program[1]}
        valgrind_command
    else
        program[0]=$build/tests/${program[0]}
        program=(${HAN_TEST_WRAPPER:+"$HAN_TEST_WRAPPER"} "${program[@]}")
    fi
    job_run timeout -k 10 "$JOB_LIMIT" "$VCLUSTER" run --name "$cluster" --ppn "${shape//0/1}" --map "$3" --np "$ranks" \
        "${options[@]}" -- "${program[@]}" >"$tmp/out" 2>"$tmp/err" || status=$?
    pass_on "$name" "$tmp/out"
    cat "$tmp/out" "$tmp/err" >"$tmp/all"
    if ((SECONDS - start >= JOB_LIMIT)); then
        t_result 1 "$name: ends within $JOB_LIMIT seconds" "$tmp/all"
    elif [[ $plan != "$lines" ]]; then
        t_result 1 "$name: all its lines come ($lines of ${plan:-no plan}, exit code $status)" "$tmp/all"
    elif ((status != 0 && bad == 0)) && [[ -z $excused ]]; then
        t_result 1 "$name: the exit code is 0, not $status" "$tmp/all"
    fi
    [[ $5 != valgrind* ]] || check_reports "$name" "$ranks"
    ((failed == 0)) || say_again "$name"
    failed=$((failed | earlier))
}

# The same row with the other component, where it must fail, and not because
# the test found nothing there to try.
run_theirs() {                      # run_theirs NAME SHAPE MAP OPTIONS PROGRAM
    local before=$count earlier=$failed status=1 reason
    failed=0
    run_row "$1" "$2" "$3" "--mca coll_han_priority 100 $4" "$5" >"$tmp/theirs"
    ((failed == 0)) || grep -q 'nothing was made to fail' "$tmp/theirs" || status=0
    reason=$(grep -m 1 -E '^# (rank|.*Signal:)|^not ok' "$tmp/theirs" | sed -E 's/^# //; s/^not ok [0-9]+ - //') || :
    count=$before failed=$earlier
    t_result "$status" "$1: Open MPI's HAN fails: ${reason#"$1: "}" "$tmp/theirs"
}

run_all() {
    local row column start
    local -a columns
    while read -r row; do
        IFS='|' read -ra columns <<<"$row"
        for column in "${!columns[@]}"; do
            columns[column]=$(trim "${columns[column]}")
        done
        if [[ ${columns[0]} != *"$only"* ]] || ! depth_has "$depth" "${columns[1]}"; then
            continue
        fi
        if [[ -n $list ]]; then
            printf '%-40s %s\n' "${columns[0]}" "${columns[1]}"
            continue
        fi
        unset 'columns[1]'
        start=$SECONDS
        if [[ -z $theirs ]]; then
            run_row "${columns[@]}"
        elif [[ ${columns[0]} == fault[\ ,]* ]]; then
            run_theirs "${columns[@]}"
        else
            continue
        fi
        t_took $((SECONDS - start)) "${columns[0]}"
        [[ -z $stop || $failed == 0 ]] || break
    done < <(all_rows)
}

clean_up() {
    trap '' INT TERM
    job_end
    cluster_down
    [[ -z $tmp ]] || rm -rf -- "$tmp"
}

main() {
    take_options "
    --build  | build       | a folder      | @folder
    --depth  | depth       | $DEPTHS       | ${DEPTHS//, /|}
    --only   | only        | a text        | .+
    --seed   | take_seed() | $SEEDS        | $SEED
    --list   | list
    --stop   | stop
    --theirs | theirs" "$@"
    has_name "$only" < <(all_rows) || bad_option "--only '$only': no run is called so; --list prints their names"
    if [[ -n $list ]]; then
        run_all
        exit 0
    fi
    find_build mpi_edges
    command -v mpirun >/dev/null || { echo "1..0 # SKIP no mpirun"; exit 77; }
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    tmp=$(mktemp -d)
    t_needs cluster_up 4
    [[ -n $theirs ]] || export OMPI_MCA_mca_base_component_path=$build/components:SYS_DEFAULT
    echo "# seed $seed"
    run_all
    ((count > 0)) || { say "--only '$only': there is no such run of depth $depth; --list shows them"; exit 2; }
    echo "1..$count"
    exit "$failed"
}

main "$@"
