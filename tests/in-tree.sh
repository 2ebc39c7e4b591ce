#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# HAN, ADAPT and SOLO as components of Open MPI's own source tree: copies them into
# the source package of the distribution's Open MPI, in a temporary folder,
# builds Open MPI there, and looks whether the components load and work.
# Takes 15 to 30 minutes on two cores: only check.sh --all has it.
#
# The layout there.  A component has one folder, and what both components use
# goes into both:
#
#   ompi/mca/coll/han/    *.[ch] *.rules Makefile.am configure.m4  from this folder
#                         common/  coll_adapt/*.[ch]           as here
#   ompi/mca/coll/adapt/  all of coll_adapt/                   without the folder
#                         common/                              as here
#   ompi/mca/coll/solo/   all of coll_solo/, common/           likewise
#
# Every #include "common/..." and "coll_adapt/..." is then found from the
# folder of the component, which automake has in the search path, and of the
# copies of sources only those are built that the component's Makefile.am names.

set -euo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE
readonly TOP=$HERE/..
# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tests/options.sh
. "$HERE/options.sh"

# What the test does not need.  Not to optimise halves the time.
# shellcheck disable=SC2054  # commas are meant
readonly OPTIONS=(--disable-mpi-fortran --disable-oshmem --disable-man-pages --disable-mpi-cxx --disable-io-romio
    --without-verbs --without-ucx --without-ofi --without-psm2 --without-slurm --disable-silent-rules
    --enable-mca-no-build=vprotocol,crcp,common-monitoring,pml-monitoring,coll-monitoring,osc-monitoring,pml-v
    CFLAGS=-O0)

usage() {
    cat <<'END'
tests/in-tree.sh [--work DIR] [--source DIR] [--static-only | --dso-only]

Builds the components inside the source package of the distribution's Open MPI
and checks that they load.  15 to 30 minutes on two cores; 2 GB of disk.

  --work DIR     folder to work in; it stays (default: a temporary one, removed)
  --source DIR   an unpacked source package; it is copied (default: fetched
                 with apt-get, which needs a connection but not root)
  --dso-only     not the static case
  --static-only  not the DSO case
END
}

work='' source='' cases=(dso static) keep=''

say() {
    printf '# %4d s  %s\n' "$SECONDS" "$*"
}

die() {
    printf 'in-tree.sh: %s\n' "$*" >&2
    exit 2
}

# A long step, with its output in a file; on failure the whole test ends.
step() {                            # step NAME COMMAND...
    local name=$1 log=$work/$1.log status=0
    shift
    say "$name ..."
    "$@" >"$log" 2>&1 </dev/null || status=$?
    t_result "$status" "$name" <(tail -n 20 -- "$log")
    ((status == 0)) || { echo "1..$count"; exit 1; }
}

check() {                           # check BEHAVIOUR COMMAND...
    local what=$1 status=0
    shift
    ("$@") >"$work/check.log" 2>&1 </dev/null || status=$?
    t_result "$status" "$what" <(tail -n 20 -- "$work/check.log")
}

# ---------------------------------------------------------------- the source

# The machine's own mirror, but its sources and not its binaries; apt's own
# files stay as they are.
write_sources_list() {
    local codename
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        sort -u | while read -r uri release component; do
            [[ $release != "$codename"* || $component != main ]] || echo "deb-src $uri $release $component"
        done >"$work/apt/sources.list"
    [[ -s $work/apt/sources.list ]] || { echo "no package source of '$codename' among those of apt on this machine"; return 1; }
}

fetch() {
    local version
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/fetched"
    write_sources_list || return
    local -a apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=-
        -o "Dir::State::lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache" -o Acquire::Retries=3
        -o APT::Sandbox::User=root)
    version=$(dpkg-query -W -f '${source:Version}' libopenmpi-dev)
    "${apt[@]}" update || return
    cd "$work/fetched"
    "${apt[@]}" source "openmpi=$version"
}

find_source() {
    local tool
    if [[ -z $source ]]; then
        for tool in apt-get dpkg-source; do
            command -v "$tool" >/dev/null || die "'$tool' is missing: apt-get install dpkg-dev, or use --source DIR"
        done
        step "the source package is fetched" fetch
        source=$(echo "$work"/fetched/openmpi-*/)
    fi
    [[ -e $source/autogen.pl ]] || die "$source is not the source of Open MPI"
    cp -a -- "$source" "$work/tree"
}

# ---------------------------------------------------------------- our files in it

copy_components() {
    local coll=$work/tree/ompi/mca/coll
    rm -rf -- "$coll/han" "$coll/adapt"
    mkdir -p "$coll/han/coll_adapt" "$coll/adapt" "$coll/solo"
    cp -- "$TOP"/*.[ch] "$TOP"/*.rules "$TOP/Makefile.am" "$TOP/configure.m4" "$coll/han"
    cp -- "$TOP"/coll_adapt/*.[ch] "$coll/han/coll_adapt"
    cp -r -- "$TOP/common" "$coll/han"
    local name
    for name in adapt solo; do
        cp -- "$TOP/coll_$name"/*.[ch] "$TOP/coll_$name/Makefile.am" "$TOP/coll_$name/configure.m4" "$coll/$name"
        cp -r -- "$TOP/common" "$coll/$name"
    done
}

autogen() {
    cd "$work/tree"
    # Some patches of the package come without the bits that make a script a program.
    chmod +x autogen.pl
    ./autogen.pl --force
}

configure_in() {                    # configure_in FOLDER OPTIONS...
    mkdir "$work/$1"
    cd "$work/$1"
    shift
    ../tree/configure --prefix="$work/installed" "${OPTIONS[@]}" "$@"
}

# ---------------------------------------------------------------- what must hold

loads() {                           # loads COMPONENT
    timeout "$LIMIT" "$work/installed/bin/ompi_info" --param coll "$1" --level 9 &&
        grep -q "MCA coll: $1 (MCA v2.*Component v0\.1\.0)" "$work/check.log"
}

# On the virtual cluster, with this Open MPI in place of the distribution's.
works() {
    local status=0 cluster=it$$
    export PATH=$work/installed/bin:$PATH LD_LIBRARY_PATH=$work/installed/lib
    local name
    for name in "${!OMPI_MCA_@}"; do
        unset "$name"
    done
    mpicc -o "$work/mpi_edges" "$HERE/mpi_edges.c" || return 1
    "$TOP/cluster/vcluster" up --name "$cluster" --nodes 2 --rate none --owner $$ || status=$?
    if ((status == 0)); then
        timeout "$LIMIT" "$TOP/cluster/vcluster" run --name "$cluster" --ppn 2 --mca coll_han_verbose 1 -- \
            "$work/mpi_edges" --strict 2>&1 | tee "$work/edges.log" || status=$?
        grep -q 'coll:han: MPI_COMM_WORLD ' "$work/edges.log" || status=1 # else it is another component's work
        "$TOP/cluster/vcluster" down --name "$cluster"
    fi
    return "$status"
}

dso_case() {
    step "DSO: configure" configure_in dso
    step "DSO: make" make -C "$work/dso" -j2
    step "DSO: make install" make -C "$work/dso" install
    check "DSO: this Open MPI's ompi_info shows our han" loads han
    check "DSO: this Open MPI's ompi_info shows our adapt" loads adapt
    check "DSO: this Open MPI's ompi_info shows our solo" loads solo
    check "DSO: MPI_Bcast works on two nodes with this Open MPI" works
}

# Part of a static libmpi: the convenience libraries, each with its component's
# structure in it.
holds_component() {                 # holds_component COMPONENT
    local library=$work/static/ompi/mca/coll/$1/.libs/libmca_coll_$1.a
    nm "$library" && grep -q "[BD] mca_coll_$1_component$" "$work/check.log"
}

static_case() {
    local name
    step "static: configure" configure_in static --enable-mca-static=coll-han,coll-adapt,coll-solo
    # Headers that are made, or linked, when opal is built.
    step "static: make of what the components include" make -C "$work/static/opal/include"
    for name in han adapt solo; do
        step "static: make of $name" make -C "$work/static/ompi/mca/coll/$name"
        check "static: libmca_coll_$name.la holds the component" holds_component "$name"
        check "static: libmpi will link $name" \
            grep -q "mca_coll_${name}_component" "$work/static/ompi/mca/coll/base/static-components.h"
    done
    check "static: one library can hold all" link_together
}

# What the link of a static libmpi does with them.
link_together() {
    local coll=$work/static/ompi/mca/coll
    gcc -shared -o "$work/together.so" -Wl,--whole-archive "$coll/han/.libs/libmca_coll_han.a" \
        "$coll/adapt/.libs/libmca_coll_adapt.a" "$coll/solo/.libs/libmca_coll_solo.a" -Wl,--no-whole-archive
}

clean_up() {
    cd /
    [[ -n $keep ]] || rm -rf -- "$work"
}

one_case() {                        # one_case --dso-only|--static-only
    local name=${1#--}
    cases=("${name%-only}")
}

main() {
    take_options "
    --work        | work         | a folder that is there, or can be made | @new_folder
    --source      | source       | a folder                               | @folder
    --dso-only    | one_case()
    --static-only | one_case()" "$@"
    [[ -z $source ]] || source=$(realpath -- "$source")
    keep=$work
    if [[ -n $work ]]; then
        mkdir -p -- "$work"
        work=$(realpath -- "$work")
        [[ -z $(ls -A "$work") ]] || die "$work is not empty"
    else
        work=$(mktemp -d)
    fi
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    find_source
    copy_components
    step "autogen" autogen
    for name in "${cases[@]}"; do
        "${name}_case"
    done
    echo "1..$count"
    exit "$failed"
}

main "$@"
