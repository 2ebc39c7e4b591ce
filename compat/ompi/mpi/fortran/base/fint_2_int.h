/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ompi/op/op.h wants this header of Open MPI's source tree, which is in no installation. What op.h uses of it is the
 * conversion of counts for user-defined Fortran operations; where a Fortran INTEGER is a C int nothing is to be done.
 */
#ifndef HAN_COMPAT_FINT_2_INT_H
#define HAN_COMPAT_FINT_2_INT_H

#include "ompi_config.h"

#if OMPI_SIZEOF_FORTRAN_INTEGER != SIZEOF_INT
#error "Open MPI was built with a Fortran INTEGER that is not a C int: HAN does not support this"
#endif

#define OMPI_INT_2_FINT(value) (value)
#define OMPI_FINT_2_INT(value) (value)

#endif
