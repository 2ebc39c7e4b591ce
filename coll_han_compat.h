/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What differs between the versions of Open MPI, and the component's name: the only place for either.
 *
 * Known: 4.1 (coll interface 2.0.0, module 2.3.0).
 */
#ifndef MCA_COLL_HAN_COMPAT_H
#define MCA_COLL_HAN_COMPAT_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/mca/coll/coll.h"

#define MCA_COLL_HAN_NAME "han"
/* Shown by ompi_info, where it tells this component from the one that Open MPI brings. */
#define MCA_COLL_HAN_VERSION MCA_BASE_MAKE_VERSION(component, 0, 1, 0)

#define MCA_COLL_HAN_BASE_VERSION MCA_COLL_BASE_VERSION_2_0_0
typedef mca_coll_base_component_2_0_0_t mca_coll_han_base_component_t;

#endif
