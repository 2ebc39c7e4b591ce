# -*- shell-script -*-
# SPDX-License-Identifier: BSD-3-Clause
#
# HAN as ompi/mca/coll/han in Open MPI's source tree; tests/in-tree.sh puts it there. (configure.ac is for HAN by itself.)

# MCA_ompi_coll_han_CONFIG([action-if-can-compile], [action-if-cant-compile])
# ---------------------------------------------------------------------------
AC_DEFUN([MCA_ompi_coll_han_CONFIG],[
    AC_CONFIG_FILES([ompi/mca/coll/han/Makefile])
    # A component there has no subfolders of its own to build, and links with the libmpi of its tree.
    AC_SUBST([han_subdirs], [])
    AC_SUBST([han_component_libs], ['$(top_builddir)/ompi/lib$(OMPI_LIBMPI_NAME).la'])
    $1
])dnl

# Also called where the component is not built: automake wants to know the condition in any case.
AC_DEFUN([MCA_ompi_coll_han_POST_CONFIG],[
    AM_CONDITIONAL([HAN_STANDALONE], [false])
])dnl
