#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# configure, make, make install and uninstall, as who builds HAN meets them.
# Works on a copy of the sources, so that it does not matter whether they are
# configured; in ./check.sh, but for --all, one with what the check has built.
# Exit code 0 pass, 1 fail.
#
# shellcheck disable=SC2317  # the test functions are called through t_check

set -uo pipefail

HERE=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly HERE

tmp=$(mktemp -d)
source=$tmp/source
build=$tmp/build
prefix=$tmp/prefix
# shellcheck source=tests/tap.sh
. "$HERE/tap.sh"
# shellcheck source=tests/sources.sh
. "$HERE/sources.sh"
t_notes=("$tmp/out")
trap 'chmod -R u+w "$tmp"; rm -rf -- "$tmp"' EXIT
trap 'exit 130' INT TERM

quietly() {
    timeout -k 5 "$LIMIT" "$@" >"$tmp/out" 2>&1 </dev/null
}

copy_source() {
    sources_copy "$HERE/.." "$source" || return 1
    cd "$source" || return 1
    [[ -x configure ]] || autoreconf -fi >"$tmp/out" 2>&1
}

files_in() {                        # files, and links, with paths from there
    (cd "$1" && find . ! -type d -printf '%P\n' | sort)
}

# configure in a folder of its own.  But for Open MPI it need not find out again what the first one has found out.
configure_in() {                    # configure_in FOLDER OPTIONS...
    rm -rf -- "${1:?}"
    mkdir -p "$1"
    cd "$1" || return 1
    shift
    [[ ! -e $tmp/cache ]] || grep -v MPICC "$tmp/cache" >config.cache
    quietly "$source/configure" --config-cache "$@"
}

make_here() {                       # make_here ARGUMENTS...
    cd "$build" && quietly make prefix="$prefix" "$@"
}

# ---------------------------------------------------------------- make

# Of what is built only what knows the folder of the installation is made anew.  What configure has found out is in its log.
test_built_again() {
    cd "$build" && find . -name '*.la' -delete && rm -f components/* han.conf && make_here -j2 && all_components &&
        grep -E '^[a-z]+_cv_[A-Za-z0-9_]+=' config.log | grep -v '_cv_env_' >"$tmp/cache"
}

test_built() {
    if [[ $build == "$source"/* ]]; then test_built_again; else test_out_of_source; fi
}

all_components() {
    [[ -e $build/components/mca_coll_han.so && -e $build/components/mca_coll_adapt.so &&
        -e $build/components/mca_coll_solo.so ]]
}

test_out_of_source() {
    files_in "$source" >"$tmp/before"
    configure_in "$build" --prefix="$prefix" && quietly make -j2 || return 1
    cp config.cache "$tmp/cache"
    files_in "$source" >"$tmp/after"
    cmp "$tmp/before" "$tmp/after" >"$tmp/out" && all_components
}

# A symbol that is missing is noticed only when a component is loaded.
test_complete() {
    local component
    all_components || return 1
    for component in "$build"/components/*.so; do
        quietly ldd -r "$component" || return 1
        ! grep 'undefined symbol' "$tmp/out" || return 1
    done
}

test_nothing_again() {
    make_here && ! grep -qE '^ *(CC|CCLD|GEN) ' "$tmp/out"
}

# But for what only git has a use for.
test_distribution() {
    git -C "$HERE/.." ls-files | grep -vx '.gitignore' | sort >"$tmp/known"
    make_here distdir || return 1
    files_in "$build"/openmpi-han-* >"$tmp/given"
    chmod -R u+w "$build"/openmpi-han-* && rm -rf -- "$build"/openmpi-han-*
    comm -23 "$tmp/known" "$tmp/given" >"$tmp/out"
    [[ -s $tmp/known && ! -s $tmp/out ]]
}

# ---------------------------------------------------------------- make install

# Files of Open MPI that changed since $tmp/mark was made.
changed_in_openmpi() {
    local folder
    for folder in $(mpicc --showme:libdirs) $(mpicc --showme:incdirs); do
        find -L "$folder" -newer "$tmp/mark"
    done
}

test_install() {
    touch "$tmp/mark"
    make_here install DESTDIR="$tmp/dest" || return 1
    files_in "$tmp/dest$prefix" >"$tmp/out"
    [[ $(<"$tmp/out") == "lib/openmpi-han/han.conf
lib/openmpi-han/mca_coll_adapt.so
lib/openmpi-han/mca_coll_han.so
lib/openmpi-han/mca_coll_solo.so" && $(files_in "$tmp/dest") == "$(sed "s|^|${prefix#/}/|" "$tmp/out")" ]]
}

test_openmpi_untouched() {
    [[ -n $(mpicc --showme:libdirs) ]] || return 1
    changed_in_openmpi >"$tmp/out"
    [[ ! -s $tmp/out ]]
}

test_uninstall() {                  # test_uninstall FOLDER [make options]
    local folder=$1
    shift
    make_here uninstall "$@" && files_in "$folder" >"$tmp/out" && [[ ! -s $tmp/out ]]
}

# Loads, by the file that is meant for it; LD_DEBUG tells where from.
test_tune_file() {
    local -a root=()
    ((EUID != 0)) || root=(--allow-run-as-root)
    make_here install || return 1
    quietly mpirun "${root[@]}" -n 1 --tune "$prefix/lib/openmpi-han/han.conf" -x LD_DEBUG=files \
        "$tmp/init" || return 1
    for component in han adapt solo; do
        grep -q "calling init: $prefix/lib/openmpi-han/mca_coll_$component.so" "$tmp/out" || return 1
    done
}

build_init() {
    printf '#include <mpi.h>\nint main(int argc, char **argv) { MPI_Init(&argc, &argv); return MPI_Finalize(); }\n' \
        >"$tmp/init.c"
    quietly mpicc -o "$tmp/init" "$tmp/init.c"
}

# In the folder that has been built.
test_component_dir() {
    prefix=/opt/han
    cd "$build" && find . -name '*.la' -delete &&
        quietly "$source/configure" --config-cache --disable-dependency-tracking --prefix="$prefix" --with-component-dir=/opt/components &&
        make_here -j2 && make_here install DESTDIR="$tmp/dest2" || return 1
    files_in "$tmp/dest2" >"$tmp/out"
    grep -qx opt/components/mca_coll_han.so "$tmp/out" && grep -qx opt/components/mca_coll_adapt.so "$tmp/out" &&
        grep -qx opt/components/mca_coll_solo.so "$tmp/out" && ! grep -q '^opt/han' "$tmp/out"
}

# ---------------------------------------------------------------- configure's messages

# configure fails, and says one sentence that has all of the words.
test_refused() {                    # test_refused WORD... -- configure options
    local word
    local -a words=()
    while [[ $1 != -- ]]; do
        words+=("$1")
        shift
    done
    shift
    ! configure_in "$tmp/refused" "$@" || return 1
    [[ $(grep -c '^configure: error: ' "$tmp/out") == 1 ]] || return 1
    for word in "${words[@]}"; do
        grep '^configure: error: ' "$tmp/out" | t_finds -F -- "$word" || return 1
    done
}

# A folder with everything that PATH has, but without the wrappers of Open MPI.
path_without_mpicc() {
    local folder
    mkdir "$tmp/bin"
    for folder in /usr/local/bin /usr/bin /bin /usr/sbin /sbin; do
        [[ ! -d $folder ]] || find -L "$folder" -maxdepth 1 -type f -executable ! -name 'mpi*' ! -name 'ompi*' \
            ! -name 'opal*' ! -name 'ortecc' -exec ln -sft "$tmp/bin" {} +
    done 2>/dev/null
}

# A wrapper that says where its headers are: fake_openmpi FOLDER INCLUDE
fake_openmpi() {
    mkdir -p "$1/bin" "$2"
    cat >"$1/bin/mpicc" <<END
#!/bin/sh
case \$1 in
    --showme:incdirs) echo "$2" ;;
    --showme:version) echo "mpicc: Open MPI 5.0.1 (Language: C)" ;;
    --showme*) ;;
    *) exec cc "\$@" ;;
esac
END
    chmod 755 "$1/bin/mpicc"
}

# The headers of the installation, but with another coll interface.
fake_other_interface() {
    local folder real=''
    for folder in $(mpicc --showme:incdirs); do
        [[ -n $real || ! -e $folder/openmpi/ompi/mca/coll/coll.h ]] || real=$folder
    done
    [[ -n $real ]] || return 1
    fake_openmpi "$tmp/other" "$tmp/other/include"
    cp -rs "$(realpath -- "$real")/." "$tmp/other/include/" &&
        rm -f "$tmp/other/include/openmpi/ompi/mca/coll/coll.h" &&
        sed 's/2_0_0/2_4_0/g; s/2_3_0/2_4_0/g' "$real/openmpi/ompi/mca/coll/coll.h" \
            >"$tmp/other/include/openmpi/ompi/mca/coll/coll.h"
}

# One component is enough.
test_with_openmpi() {
    mkdir -p "$tmp/installed/bin"
    ln -s "$(realpath -s -- "$(command -v mpicc)")" "$tmp/installed/bin/mpicc"
    PATH=$tmp/bin configure_in "$tmp/named" --disable-dependency-tracking --with-openmpi="$tmp/installed" && grep -qF "$tmp/installed/bin/mpicc" "$tmp/out" &&
        PATH=$tmp/bin quietly make -j2 -C coll_adapt && quietly ldd -r components/mca_coll_adapt.so &&
        ! grep 'undefined symbol' "$tmp/out"
}

# ---------------------------------------------------------------- main

if ! command -v mpicc >/dev/null || ! command -v autoreconf >/dev/null; then
    echo "1..0 # SKIP mpicc or autoreconf is missing"
    exit 77
fi
mkdir "$source"
if ! t_all && built_can_move "$HERE/.."; then
    build=$source/build
    t_check "what is built can be copied" built_copy "$HERE/.." "$source"
else
    t_check "the sources can be copied and prepared" copy_source
fi
((failed == 0)) || exit 1
# The caller's wish is not for the tests.
export CONFIG_SHELL=/bin/sh         # as check.sh does
unset MPICC CPPFLAGS LDFLAGS MAKEFLAGS MAKELEVEL MFLAGS
export CFLAGS=-O0                   # what is built here is not run for long

t_check "a build leaves all components in components/" test_built
t_check "no component lacks a symbol" test_complete
t_check "a second make has nothing to do" test_nothing_again
if git -C "$HERE/.." rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    t_check "the distribution has all files of the repository" test_distribution
else
    t_skip "the distribution has all files of the repository" "no git"
fi
t_check "make install puts the components and han.conf into LIBDIR/openmpi-han, and nothing else" test_install
t_check "make uninstall leaves nothing" test_uninstall "$tmp/dest" DESTDIR="$tmp/dest"
build_init
t_check "mpirun --tune han.conf loads what is installed" test_tune_file
t_check "make install does not touch Open MPI's own folders" test_openmpi_untouched
t_check "make uninstall leaves nothing in the prefix" test_uninstall "$prefix"
t_check_all "--with-component-dir=DIR installs there, and only there" test_component_dir
t_check_all "make uninstall leaves nothing in that folder" test_uninstall "$tmp/dest2" DESTDIR="$tmp/dest2"

test_without_mpicc() (
    PATH=$tmp/bin
    test_refused 'no mpicc in PATH' libopenmpi-dev --with-openmpi --
)
path_without_mpicc
t_check "without mpicc, configure says so and what to install" test_without_mpicc
printf '#!/bin/sh\nexec cc "$@"\n' >"$tmp/cc-wrapper" && chmod 755 "$tmp/cc-wrapper"
mkdir -p "$tmp/strange/bin" && cp "$tmp/cc-wrapper" "$tmp/strange/bin/mpicc"
t_check_all "of an mpicc that is not Open MPI's, configure says so" \
    test_refused "$tmp/strange/bin/mpicc" 'not the compiler wrapper of an Open MPI' -- --with-openmpi="$tmp/strange"
test_strange_first() (
    PATH=$tmp/strange/bin:$PATH
    test_refused 'not the compiler wrapper of an Open MPI' --
)
t_check_all "also where it is the first in PATH" test_strange_first
t_check_all "of a folder without mpicc, configure says so" test_refused "$tmp/nowhere" -- --with-openmpi="$tmp/nowhere"
fake_openmpi "$tmp/bare" "$tmp/bare/include"
t_check "without internal headers, configure names the package and the switch" \
    test_refused 'internal headers' libopenmpi-dev --with-devel-headers -- --with-openmpi="$tmp/bare"
t_check_all "a tree with another coll interface is there" fake_other_interface
t_check_all "of another coll interface, configure says which versions it knows" \
    test_refused 'coll interface' 5.0.1 4.1 -- --with-openmpi="$tmp/other"
t_check_all "--with-component-dir wants an absolute path" test_refused 'absolute path' -- --with-component-dir=lib
t_check_all "--with-openmpi=DIR takes that installation, also where PATH has none" test_with_openmpi

echo "1..$count"
exit "$failed"
