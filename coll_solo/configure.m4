# -*- shell-script -*-
# SPDX-License-Identifier: BSD-3-Clause
#
# SOLO as ompi/mca/coll/solo in Open MPI's source tree; says the same as ../configure.m4, for either may be there alone.

# MCA_ompi_coll_solo_CONFIG([action-if-can-compile], [action-if-cant-compile])
# ----------------------------------------------------------------------------
AC_DEFUN([MCA_ompi_coll_solo_CONFIG],[
    AC_CONFIG_FILES([ompi/mca/coll/solo/Makefile])
    AC_SUBST([han_component_libs], ['$(top_builddir)/ompi/lib$(OMPI_LIBMPI_NAME).la'])
    $1
])dnl

AC_DEFUN([MCA_ompi_coll_solo_POST_CONFIG],[
    AM_CONDITIONAL([HAN_STANDALONE], [false])
])dnl
