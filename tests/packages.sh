# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What Debian 12 needs for HAN: the only list of it. Sourced by check.sh and demo.sh.

# To build, to run MPI jobs on the virtual cluster, and to draw the comparison.
readonly PACKAGES_TO_RUN=(autoconf automake libtool pkgconf gcc libc6-dev make
    libopenmpi-dev openmpi-bin libhwloc-dev iproute2 gnuplot-nox)
# For the tests.
# shellcheck disable=SC2034  # used by who sources this
readonly PACKAGES_TO_CHECK=("${PACKAGES_TO_RUN[@]}" libcmocka-dev clang libclang-rt-dev valgrind procps
    python3-numpy python3-mpi4py)

# Prints those that are not installed.
packages_missing() {
    local package
    for package in "$@"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null) == installed* ]] || echo "$package"
    done
}

# Installs what is missing, as root or with sudo; apt is not called when nothing is.
packages_install() {
    local -a missing sudo=()
    if ! command -v dpkg-query >/dev/null; then
        echo "not Debian: install what these packages are here: $*" >&2
        return 0                    # configure will say what it does not find
    fi
    mapfile -t missing < <(packages_missing "$@")
    ((${#missing[@]} > 0)) || return 0
    if ((EUID != 0)); then
        sudo=(sudo)
        if ! command -v sudo >/dev/null; then
            echo "these packages are missing and only root can install them: ${missing[*]}" >&2
            return 1
        fi
    fi
    echo "installing: ${missing[*]}"
    "${sudo[@]}" apt-get -q -y update &&
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
            -o DPkg::Lock::Timeout=120 install "${missing[@]}"
}
