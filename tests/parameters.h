/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Parameters of components through MPI's tools interface, by their names.
 *
 * Open MPI 4.1.4: MPI_T_init_thread sets the thread level of MPI, too, so it comes before MPI_Init_thread or asks for
 * the same level; and MPI_T_finalize crashes behind MPI_Finalize, with any component.
 */
#ifndef HAN_TESTS_PARAMETERS_H
#define HAN_TESTS_PARAMETERS_H

#include <mpi.h>

#include <stdbool.h>

/**
 * Opens a parameter that is an int.
 *
 * @param names its values' names; MPI_T_ENUM_NULL where it takes any number
 * @param handle to be freed with MPI_T_cvar_handle_free()
 * @returns false: there is none
 */
static inline bool parameter_open(const char *name, MPI_T_enum *names, MPI_T_cvar_handle *handle)
{
    int index, count, length = 0, verbosity, binding, scope;
    MPI_Datatype type;

    *names = MPI_T_ENUM_NULL;
    return MPI_SUCCESS == MPI_T_cvar_get_index(name, &index)
           && MPI_SUCCESS
                  == MPI_T_cvar_get_info(index, NULL, &length, &verbosity, &type, names, NULL, NULL, &binding, &scope)
           && MPI_INT == type && MPI_SUCCESS == MPI_T_cvar_handle_alloc(index, NULL, handle, &count);
}

/** How many values have names; 0 for MPI_T_ENUM_NULL. */
static inline int parameter_values(MPI_T_enum names)
{
    int count = 0, length = 0;

    return MPI_T_ENUM_NULL != names && MPI_SUCCESS == MPI_T_enum_get_info(names, &count, NULL, &length) ? count : 0;
}

/** A value and its name, the i-th of those that have one. @returns false: there is none */
static inline bool parameter_value(MPI_T_enum names, int i, int *value, char *name, int size)
{
    return MPI_SUCCESS == MPI_T_enum_get_item(names, i, value, name, &size);
}

#endif
