# SPDX-License-Identifier: BSD-3-Clause
#
# HAN_OPENMPI: finds the Open MPI to build against.
#
# Sets MPICC, HAN_OPENMPI_CPPFLAGS, HAN_OPENMPI_LIBS, HAN_OPENMPI_VERSION, or stops with one sentence.
AC_DEFUN([HAN_OPENMPI], [
    AC_ARG_WITH([openmpi],
        [AS_HELP_STRING([--with-openmpi=DIR], [the Open MPI installation to build for (default: that of mpicc in PATH)])],
        [AS_CASE([$with_openmpi],
            [yes|no], [AC_MSG_ERROR([--with-openmpi wants the folder of an Open MPI installation, such as --with-openmpi=/opt/openmpi])])],
        [with_openmpi=])
    AC_ARG_VAR([MPICC], [Open MPI's compiler wrapper])
    AS_IF([test -n "$with_openmpi"], [MPICC=$with_openmpi/bin/mpicc],
          [test -z "$MPICC"], [AC_PATH_PROG([MPICC], [mpicc])])
    AS_IF([test -z "$MPICC"],
          [AC_MSG_ERROR([there is no mpicc in PATH: install Open MPI (Debian: libopenmpi-dev openmpi-bin) or name its folder with --with-openmpi=DIR])])
    AC_MSG_CHECKING([whether $MPICC is Open MPI's])
    han_incdirs=`"$MPICC" --showme:incdirs 2>/dev/null`
    AS_IF([test -n "$han_incdirs"], [AC_MSG_RESULT([yes])],
          [AC_MSG_RESULT([no])
           AC_MSG_ERROR([$MPICC is not the compiler wrapper of an Open MPI installation: name one with --with-openmpi=DIR])])

    AC_MSG_CHECKING([for Open MPI's internal headers])
    han_internal=
    for han_dir in $han_incdirs; do
        for han_candidate in "$han_dir" "$han_dir/openmpi"; do
            AS_IF([test -z "$han_internal" && test -f "$han_candidate/ompi/mca/coll/coll.h"], [han_internal=$han_candidate])
        done
    done
    AS_IF([test -n "$han_internal"], [AC_MSG_RESULT([$han_internal])],
          [AC_MSG_RESULT([no])
           AC_MSG_ERROR([this Open MPI comes without its internal headers: install them (Debian: libopenmpi-dev) or build Open MPI with --with-devel-headers])])

    # As system headers: their warnings are not ours.
    HAN_OPENMPI_CPPFLAGS=
    for han_dir in $han_incdirs; do
        HAN_OPENMPI_CPPFLAGS="$HAN_OPENMPI_CPPFLAGS -isystem $han_dir"
    done
    HAN_OPENMPI_CPPFLAGS="$HAN_OPENMPI_CPPFLAGS -isystem $han_internal"
    # The one header that no installation has (see compat/).
    AS_IF([test ! -f "$han_internal/ompi/mpi/fortran/base/fint_2_int.h"],
          [HAN_OPENMPI_CPPFLAGS="$HAN_OPENMPI_CPPFLAGS -isystem \$(top_srcdir)/compat"
           han_compat=-I$srcdir/compat])
    HAN_OPENMPI_LIBS=`"$MPICC" --showme:link -fPIC 2>/dev/null | tr ' ' '\n' | grep -E '^(-L|-Wl,)' | tr '\n' ' '`
    HAN_OPENMPI_LIBS="$HAN_OPENMPI_LIBS -lmpi -lopen-rte -lopen-pal"
    HAN_OPENMPI_VERSION=`"$MPICC" --showme:version 2>/dev/null | sed -n 's/.*Open MPI \([[0-9.]]*\).*/\1/p'`

    AC_MSG_CHECKING([for a coll interface that HAN knows])
    han_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS `AS_ECHO(["$HAN_OPENMPI_CPPFLAGS"]) | sed 's,[[^ ]]*top_srcdir[[^ ]]*,,;s,-isystem *$,,'` $han_compat"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
            #include "ompi_config.h"
            #include "ompi/mca/coll/coll.h"
            mca_coll_base_component_2_0_0_t component;
            mca_coll_base_module_2_3_0_t module;
            #ifndef MCA_COLL_BASE_VERSION_2_0_0
            #error not the interface of Open MPI 4.1
            #endif]], [[(void) component; (void) module.coll_bcast_init; (void) module.coll_reduce_local;]])],
        [AC_MSG_RESULT([2.0.0 (Open MPI 4.1)])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([Open MPI ${HAN_OPENMPI_VERSION:-(unknown version)} has a coll interface that HAN does not know: the versions that it knows are 4.1.0 to 4.1.x])])
    CPPFLAGS=$han_save_CPPFLAGS

    AC_SUBST([HAN_OPENMPI_CPPFLAGS])
    AC_SUBST([HAN_OPENMPI_LIBS])
    AC_SUBST([HAN_OPENMPI_VERSION])
])

# HAN_WARNINGS: every warning that the code is free of.
AC_DEFUN([HAN_WARNINGS], [
    # Components are loaded into one name space: what is not for others stays inside.
    HAN_CFLAGS="-Wall -Wextra -fvisibility=hidden"
    AC_SUBST([HAN_CFLAGS])
])
