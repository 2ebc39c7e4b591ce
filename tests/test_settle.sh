#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What becomes of a job whose ranks do not have the same: parameters, versions
# of the components, the components themselves.  COMPONENTS names the folder to
# test (default: components/ here or one above).  Exit code 0 pass, 1 fail, 77
# the machine allows no virtual nodes.
#
# shellcheck disable=SC2016,SC2317  # commands of other shells; the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
readonly ALIKE='accepted: the same everywhere'

# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tests/choices.sh
. "$HERE/choices.sh"
# shellcheck source=tests/nodes.sh
. "$HERE/nodes.sh"
t_notes=("$tmp/out" "$tmp/err")

# On three nodes: ranks 0 and 1, 2 and 3, 4 and 5.
wrapper=("$tmp/by_node")

# What the ranks of a node do first.  Commands of the shell, such as export.
on_node() {                         # on_node NUMBER [COMMAND...]
    printf '%s\n' "${@:2}" >"$tmp/$cluster-n$1"
}

set_on_node() {                     # set_on_node NUMBER [PARAMETER=VALUE...]
    on_node "$1" "${@/#/export OMPI_MCA_}"
}

said() {                            # said LINE [COUNT]: it is one of so many (default: 1) that are said
    [[ $(grep -c '\] coll:.* accepted: ' "$tmp/err") == "${2:-1}" ]] && grep -qF -- "] coll:$1" "$tmp/err"
}

silent() {
    ! grep -q 'coll:' "$tmp/err"
}

right() {
    grep -qE '^[0-9]+ collectives are right$' "$tmp/out"
}

goes_by() {                         # goes_by PATTERN OPTIONS...: how the broadcast on MPI_COMM_WORLD is done
    run "${@:2}" --mca coll_han_verbose 2 -- "$tmp/load_collectives" && right && grep -qE "bcast, 4 bytes: $1" "$tmp/err"
}

# ---------------------------------------------------------------- parameters

test_silent() {
    run "$@" -- "$tmp/load_collectives" && right && silent
}

# The name of each parameter that ranks must have alike, and a value that is not its default.
parameters() {                      # parameters COMPONENT
    ompi_info --param coll "$1" --level 9 --parsable | awk -F: -v file="$tmp/rules" '
        $4 != "param" { next }
        { name = $5 }
        $6 == "value" { value[name] = $7; number[name] = $7 ~ /^-?[0-9]+$/; order[++count] = name }
        $6 == "enumerator" && $9 != value[name] { other[name] = $9 }
        $6 == "type" && $7 == "string" && name ~ /filename$/ { other[name] = file }
        END {
            for (i = 1; i <= count; ++i) {
                name = order[i]
                if (name !~ /_verbose$/) {
                    print name, name in other ? other[name] : value[name] + 1
                }
            }
        }'
}

# All of them at once: of each one line, and what the program gets is right.
test_every_parameter() {
    local component name value count=0
    local -a settings=()
    for component in han adapt solo; do
        while read -r name value; do
            settings+=("$component $name=$value")
        done < <(parameters "$component")
        ((${#settings[@]} > count + 5)) || return 1
        count=${#settings[@]}
    done
    set_on_node 1 "${settings[@]#* }"
    run -- "$tmp/load_collectives" && right || return 1
    for name in "${settings[@]%%=*}"; do
        [[ $(grep -c "coll:${name/ /: } is .* on $cluster-n[012] (rank [024]), but .* on $cluster-n[012] (rank [024]); $ALIKE; the default, .*, is used$" "$tmp/err") == 1 ]] ||
            { echo "no line about $name" >>"$tmp/out"; return 1; }
    done
    [[ $(grep -c 'coll:' "$tmp/err") == "$count" ]]
}

test_default_is_used() {            # test_default_is_used LINE OPTIONS...
    goes_by '[a-z]+.*\(the cost model\)' --mca coll_han_start 0 "${@:2}" && grep -qF "$1" "$tmp/err"
}

# Two programs of one job, on all nodes.
test_programs() {                   # test_programs LINE
    OMPI_MCA_rmaps_base_mapping_policy=slot:oversubscribe run --np 2 -- "$tmp/load_collectives" : --np 4 --mca coll_han_bcast_segsize 100 "$tmp/load_collectives" && right &&
        said "$1"
}

test_ends() {                       # test_ends LINE [COUNT-OF-LINES OPTIONS -- PROGRAM...]
    local line=$1 lines=${2:-1} status=0
    shift $(($# > 1 ? 2 : 1))
    (($# > 0)) || set -- -- "$tmp/load_collectives"
    run "$@" || status=$?
    ((status != 0 && status != 124 && status != 137)) && said "$line" "$lines" && ! right
}

# ---------------------------------------------------------------- components

test_without() {                    # test_without LINE OPTIONS...
    run "${@:2}" --mca coll_han_verbose 2 -- "$tmp/load_collectives" && right && said "$1" && ! grep -q 'coll:han:.*bcast' "$tmp/err"
}

# HAN does the broadcast, but not by adapt.
test_without_adapt() {              # test_without_adapt LINE
    goes_by '(simple|pipeline) ib sb, up libnbc' --mca coll_han_start 0 && said "$1"
}

# Wanted, and there on all ranks but one: coll/sm takes messages that others send, or waits for ever.
test_without_sm() {
    run --mca coll_han_start 0 --mca coll_han_bcast_algorithm simple --mca coll_han_bcast_low_module sm \
        --mca coll_han_allreduce_algorithm simple --mca coll_han_allreduce_low_module sm \
        --mca coll_han_verbose 2 -- "$tmp/load_collectives" && right && grep -q 'bcast, 4 bytes: simple ib sb, .* low tuned' "$tmp/err" &&
        [[ $(grep -c 'coll:han: component sm is not available at the low level; tuned is used$' "$tmp/err") == 1 ]]
}

# What is another one is told of each component, and none of them does anything.
test_versions() {
    local component
    run --mca coll_han_verbose 2 --mca coll_adapt_verbose 2 --mca coll_solo_verbose 1 -- "$tmp/load_collectives" &&
        right && [[ $(grep 'coll:' "$tmp/err" | grep -vc ': this is HAN ') == 3 ]] || return 1
    for component in han adapt solo; do
        grep -q "coll:$component: the component is 0.1.0 on $cluster-n0 (rank 0), but 9.1.0 on $cluster-n1 (rank 2); $ALIKE; the job goes without it" "$tmp/err" || return 1
    done
}

# ---------------------------------------------------------------- a second job

meet() {                            # meet [SETTING of the second job]
    run --mca coll_han_verbose 2 -- "$tmp/load_rules" --spawn "$tmp" "$@" && grep -q '^all right$' "$tmp/err"
}

# Whether HAN does the broadcast on the communicator of both.
together() {
    awk '$0 == "merged" { here = 1 } here' "$tmp/err" | t_finds 'bcast, 4000 bytes: '
}

test_together() {
    meet && ! grep -q 'accepted: ' "$tmp/err" && together
}

# The second job has its ranks on two nodes, neither of which is that of mpirun.  PMIx keeps what is told in shared
# memory, as where nobody asks for anything else; check.sh does.
test_spread() {
    (
        unset PMIX_MCA_gds
        run --np 3 -- "$tmp/load_rules" --spawn
    ) && grep -q '^all right$' "$tmp/err"
}

test_apart() {                      # test_apart LINE COUNT [SETTING]
    meet "${@:3}" && said "$1" "$2" && ! together
}

# Level by level, where SOLO has other parameters in the second job: it has no part in levels of both.
test_levels_apart() {               # test_levels_apart LINE SETTING
    run --mca coll_han_start 0 --mca coll_han_bcast_algorithm simple --mca coll_han_bcast_low_module solo --mca coll_han_verbose 2 \
        -- "$tmp/load_rules" --spawn "$tmp" "$2" && grep -q '^all right$' "$tmp/err" && said "$1" &&
        awk '$0 == "merged" { here = 1 } here' "$tmp/err" | t_finds 'bcast, 4000 bytes: simple ib sb, .* low tuned'
}

# An allreduce of so many elements fails on one rank after all have done it.
test_inner_fails() {                # test_inner_fails WHAT COUNT OPTIONS...
    local what=$1 status=0
    on_node 1 "export LD_PRELOAD=$tmp/failing.so FAILING_COUNT=$2"
    shift 2
    run "$@" -- "$tmp/load_collectives" || status=$?
    ((status == 16)) && [[ $(grep -c "coll:han: rank 2: $what (error -1); the job ends" "$tmp/err") == 1 ]]
}

# ---------------------------------------------------------------- what the runtime is asked

asked() {                           # asked KEY: how often the process does so that asks most often
    awk -v key="$1" '$1 == "asked" && $2 == key && $3 > most { most = $3 } END { print most + 0 }' "$tmp/err"
}

# The program, while all ranks count what they ask for.
run_asking() {                      # run_asking COMMAND OF ALL NODES, OPTIONS -- PROGRAM
    local status=0 node
    for node in 0 1 2; do
        on_node $node "export LD_PRELOAD=$tmp/asking.so" "$1"
    done
    run "${@:2}" || status=$?
    for node in 0 1 2; do
        on_node $node
    done
    return "$status"
}

# Where nobody tells how many programs there are, as under Slurm, not each process looks at all others.
test_number_of_programs_unknown() {
    run_asking 'export HIDDEN=pmix.job.napps' --ppn 4 --np 12 --mca coll_han_bcast_algorithm simple -- "$tmp/load_collectives" &&
        right && silent && (($(asked coll_adapt) > 0 && $(asked coll_adapt) <= 3 + 4))
}

# Where the processes of a node are not told, as little is missed there as elsewhere.
test_processes_of_a_node_unknown() { # test_processes_of_a_node_unknown LINE
    run_asking "export HIDDEN=$cluster-n1; [ \"\$(hostname)\" != $cluster-n1 ] || export OMPI_MCA_coll_han_bcast_segsize=100" \
        -- "$tmp/load_collectives" && right && said "$1"
}

# Of each rank of a node at most once by each component, however many communicators there are.
test_sockets_are_found_once() {
    run_asking : --mca coll_solo_start 0 --mca coll_han_start 0 --mca coll_han_bcast_algorithm simple \
        --mca hwloc_base_topo_file "$HERE/two_sockets.xml" --bind-to socket:overload-allowed -- "$tmp/many" &&
        (($(asked pmix.locstr) > 0 && $(asked pmix.locstr) <= 8))
}

# ---------------------------------------------------------------- main

command -v mpirun >/dev/null || { echo "1..0 # SKIP no mpirun"; exit 77; }
find_components
for program in load_collectives load_rules; do
    mpicc -o "$tmp/$program" "$HERE/$program.c" || exit 2
done
# shellcheck disable=SC2046  # several words
gcc -shared -fPIC -o "$tmp/other_version.so" "$HERE/other_version.c" \
    $(pkg-config --cflags pmix) -ldl || exit 2
cat >"$tmp/failing.c" <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int ompi_coll_base_allreduce_intra_recursivedoubling(const void *in, void *out, int count, void *type, void *op, void *comm, void *module)
{
    int (*theirs)(const void *, void *, int, void *, void *, void *, void *) = dlsym(RTLD_NEXT, __func__);
    int rc = theirs(in, out, count, type, op, comm, module);

    return atoi(getenv("FAILING_COUNT")) == count && 0 == strcmp("2", getenv("OMPI_COMM_WORLD_RANK")) ? -1 : rc;
}
SOURCE
gcc -shared -fPIC -o "$tmp/failing.so" "$tmp/failing.c" -ldl || exit 2
cat >"$tmp/asking.c" <<'SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct { char key[64]; int times; } asked[64];

/* Counts what is asked; what is HIDDEN is not known. */
int PMIx_Get(const void *proc, const char *key, const void *info, size_t count, void **value)
{
    int (*theirs)(const void *, const char *, const void *, size_t, void **) = dlsym(RTLD_NEXT, __func__);
    const char *hidden = getenv("HIDDEN");
    int i = 0;

    while (NULL != key && i < 63 && '\0' != asked[i].key[0] && 0 != strcmp(asked[i].key, key)) {
        ++i;
    }
    if (NULL != key) {
        snprintf(asked[i].key, sizeof(asked[i].key), "%s", key);
        ++asked[i].times;
    }
    return NULL != key && NULL != hidden && 0 == strcmp(hidden, key) ? -46 : theirs(proc, key, info, count, value);
}

/* Those of the node that is HIDDEN are not known. */
int PMIx_Resolve_peers(const char *node, const char *job, void **processes, size_t *count)
{
    int (*theirs)(const char *, const char *, void **, size_t *) = dlsym(RTLD_NEXT, __func__);
    const char *hidden = getenv("HIDDEN");

    return NULL != hidden && 0 == strcmp(hidden, node) ? -46 : theirs(node, job, processes, count);
}

__attribute__((destructor)) static void tell(void)
{
    for (int i = 0; i < 64 && '\0' != asked[i].key[0]; ++i) {
        fprintf(stderr, "asked %s %d\n", asked[i].key, asked[i].times);
    }
}
SOURCE
gcc -shared -fPIC -o "$tmp/asking.so" "$tmp/asking.c" -ldl || exit 2
cat >"$tmp/many.c" <<'SOURCE'
#include <mpi.h>

int main(int argc, char **argv)
{
    static char data[4000];

    MPI_Init(&argc, &argv);
    for (int i = 0; i < 20; ++i) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Bcast(data, sizeof(data), MPI_BYTE, 0, comm);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
SOURCE
mpicc -o "$tmp/many" "$tmp/many.c" || exit 2
cat >"$tmp/by_node" <<'SCRIPT'
#!/bin/sh
. "$(dirname "$0")/$(hostname)" && exec "$@"
SCRIPT
chmod 755 "$tmp" "$tmp/by_node"
for node in 0 1 2; do
    on_node "$node"
done
printf '%s\n' 'han-rules 1' 'bcast nodes=* ppn=* bytes=* : algorithm=simple' >"$tmp/rules"
t_needs cluster_up 3
export OMPI_MCA_mca_base_component_path=$components:SYS_DEFAULT

t_check "parameters that are the same on all ranks: nothing is said" \
    test_silent --mca coll_han_bcast_algorithm simple --mca coll_adapt_bcast_segment_size 100
# Not with pmix_base_async_modex: there Open MPI 4.1.4's MPI_Init fails by itself now and then, "PML add procs failed", where
# ranks come to it at different times (2 to 5 of 100 jobs without any of our components).
t_check_all "the same where MPI_Init exchanges nothing" test_silent --mca pmix_base_collect_data 0 \
    --mca coll_han_bcast_algorithm simple
set_on_node 1 coll_han_priority=35 coll_solo_single_copy=1 coll_han_verbose=0 coll_han_machine=auto
t_check "defaults written out on one node: nothing is said" test_silent
t_check "each parameter of han, adapt and solo, another one on one node: one line of each" test_every_parameter
set_on_node 1 coll_han_bcast_algorithm=simple
t_check "an algorithm on the second node only: the line, and the default" test_default_is_used \
    "coll:han: coll_han_bcast_algorithm is auto on $cluster-n0 (rank 0), but simple on $cluster-n1 (rank 2); $ALIKE; the default, auto, is used"
t_check "the same where all ranks are given another one" test_default_is_used \
    "coll:han: coll_han_bcast_algorithm is fallback on $cluster-n0 (rank 0), but simple on $cluster-n1 (rank 2); $ALIKE; the default, auto, is used" \
    --mca coll_han_bcast_algorithm fallback
set_on_node 1 coll_han_machine=none
t_check "a machine from a file, none on the second node: the line, and the default" test_default_is_used \
    "coll:han: coll_han_machine is given on $cluster-n0 (rank 0), but none on $cluster-n1 (rank 2); $ALIKE; the default, not given, is used" \
    --mca coll_han_machine "$tmp/rules"

on_node 1
t_check "two programs in one job with different parameters: one line, and the default" test_programs \
    "han: coll_han_bcast_segsize is 0 on $cluster-n0 (rank 0), but 100 on $cluster-n1 (rank 2); $ALIKE; the default, 0, is used"
on_node 0 '[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export OMPI_MCA_coll_han_bcast_segsize=100'
t_check "a parameter on one of two ranks of a node: the job ends" test_ends \
    "han: coll_han_bcast_segsize is 0 on $cluster-n0 (rank 0), but 100 on $cluster-n0 (rank 1); $ALIKE; the job ends, for its ranks would wait for ever"
on_node 0

on_node 1 'unset OMPI_MCA_mca_base_component_path'
t_check "the components are missing on the second node: one line, and the job goes without" test_without \
    "han: the component is 0.1.0 on $cluster-n0 (rank 0), but missing on $cluster-n1 (rank 2); $ALIKE; the job goes without it"
t_check "the same where MPI_Init exchanges nothing" test_without \
    "han: the component is 0.1.0 on $cluster-n0 (rank 0), but missing on $cluster-n1 (rank 2); $ALIKE; the job goes without it" \
    --mca pmix_base_collect_data 0
on_node 0 'unset OMPI_MCA_mca_base_component_path'
on_node 1
t_check "the components are missing on the first node: one line, and the job goes without" test_without \
    "han: the component is missing on $cluster-n0 (rank 0), but 0.1.0 on $cluster-n1 (rank 2); $ALIKE; the job goes without it"
on_node 0
set_on_node 1 'coll=^adapt'
t_check "adapt is missing on one node: one line, and HAN goes without" test_without_adapt \
    "adapt: the component is 0.1.0 on $cluster-n0 (rank 0), but missing on $cluster-n1 (rank 2); $ALIKE; the job goes without it"
on_node 1 "export LD_PRELOAD=$tmp/other_version.so"
t_check "another version of the components on one node: one line of each, and the job goes without" test_versions
t_check "a rank that fails while the machine is measured: one line, and the job ends" \
    test_inner_fails 'the machine cannot be measured' 5
t_check "a rank that fails while a file is settled: one line, and the job ends" \
    test_inner_fails 'the files that decide cannot be settled' 5 --mca coll_han_dynamic_rules_filename "$tmp/rules"
t_check "a rank that fails while levels are agreed on: one line, and the job ends" \
    test_inner_fails 'levels cannot be agreed on' 1 --mca coll_han_bcast_algorithm simple
on_node 1 '[ "$OMPI_COMM_WORLD_RANK" = 2 ] || export OMPI_MCA_coll=^sm'
t_check "a component of a level is missing on one rank: one line, and no rank uses it" test_without_sm
on_node 1 '[ "$OMPI_COMM_WORLD_RANK" = 2 ] || export OMPI_MCA_coll=^han'
t_check "HAN is missing on one rank of a node: the job ends" test_ends \
    "han: the component is 0.1.0 on $cluster-n1 (rank 2), but missing on $cluster-n1 (rank 3); $ALIKE; the job ends, for its ranks would wait for ever"
on_node 1

t_check "where nobody tells how many programs there are, each process looks at one of each node and at its own node's" \
    test_number_of_programs_unknown
t_check "where the processes of a node are not told, what they have is seen all the same" test_processes_of_a_node_unknown \
    "han: coll_han_bcast_segsize is 0 on $cluster-n0 (rank 0), but 100 on $cluster-n1 (rank 2); $ALIKE; the default, 0, is used"
t_check "where ranks are bound is asked once, not for each communicator" test_sockets_are_found_once

readonly BOTH="$ALIKE; communicators with both go without the component"
t_check "a second job with the same parameters: HAN where both meet" test_together
t_check "a second job on several nodes starts" test_spread
t_check "a second job with another parameter: one line, and no HAN where both meet" test_apart \
    "han: coll_han_bcast_algorithm is its default on $cluster-n0 (rank 0 of job 1), but simple on $cluster-n0 (rank 0 of job 2); $BOTH" \
    1 OMPI_MCA_coll_han_bcast_algorithm=simple
t_check "a second job with another parameter of SOLO: levels of both go without it" test_levels_apart \
    "solo: coll_solo_start is its default on $cluster-n0 (rank 0 of job 1), but 0 on $cluster-n0 (rank 0 of job 2); $BOTH" \
    OMPI_MCA_coll_solo_start=0
t_check "a second job without HAN: one line, and no HAN where both meet" test_apart \
    "han: the component is 0.1.0 on $cluster-n0 (rank 0 of job 1), but missing on $cluster-n0 (rank 0 of job 2); $BOTH" \
    1 OMPI_MCA_coll=^han
set_on_node 1 coll_han_bcast_algorithm=tree
t_check "a job that was given a default, and a second one: one more line, and no HAN where both meet" test_apart \
    "han: coll_han_bcast_algorithm is its default on $cluster-n0 (rank 0), but tree on $cluster-n1 (rank 2); $BOTH" 2
t_check "the same where the second cannot see it: the first one ends" test_ends \
    "han: another job is met, which does not know that defaults are used here; accepted: the same parameters everywhere; the job ends" \
    2 --ppn 1 --mca coll_han_bcast_algorithm simple -- "$tmp/load_rules" --spawn-from-part "$tmp" OMPI_MCA_coll_han_bcast_algorithm=simple
on_node 1 'unset OMPI_MCA_mca_base_component_path'
t_check "a job that goes without the component on one node, and a second one that has it: the first one ends" test_ends \
    "solo: another job is met, which does not know that this one goes without the component; accepted: the same component everywhere; the job ends" \
    2 --ppn 1 -- "$tmp/load_rules" --spawn-from-part "$tmp" OMPI_MCA_coll_han_verbose=0
on_node 1

echo "1..$count"
exit "$failed"
