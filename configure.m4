# -*- shell-script -*-
# SPDX-License-Identifier: BSD-3-Clause
#
# HAN as ompi/mca/coll/han in Open MPI's source tree. (configure.ac is for HAN by itself.)

# MCA_coll_han_CONFIG([action-if-can-compile], [action-if-cant-compile])
# ----------------------------------------------------------------------
AC_DEFUN([MCA_ompi_coll_han_CONFIG],[
    AC_CONFIG_FILES([ompi/mca/coll/han/Makefile])
    $1
])dnl

AC_DEFUN([MCA_ompi_coll_han_POST_CONFIG],[
    AM_CONDITIONAL([HAN_STANDALONE], [false])
])dnl
