/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_han.h"

#include <stdlib.h>
#include <string.h>

#include "opal/mca/base/mca_base_component_repository.h"
#include "opal/util/argv.h"

#include "common/coll_end.h"

/* Without these some collective of some communicator has no module, and MPI_Init fails. */
static const char *const needed[] = { "self", "basic", "libnbc", NULL };

/* These join where a needed one is missing: the needed ones, those for HAN's levels, intercommunicators'. */
static const char *const wanted[] = { "self", "basic", "libnbc", "inter", "tuned", "sm", "adapt", "solo", NULL };

static bool listed(char **list, const char *name)
{
    for (; NULL != *list; ++list) {
        if (0 == strcmp(*list, name)) {
            return true;
        }
    }
    return false;
}

static bool complete(char **list)
{
    for (int i = 0; NULL != needed[i]; ++i) {
        if (!listed(list, needed[i])) {
            return false;
        }
    }
    return true;
}

static mca_base_component_list_item_t *find_loaded(mca_base_framework_t *framework, const char *name)
{
    mca_base_component_list_item_t *item;

    OPAL_LIST_FOREACH(item, &framework->framework_components, mca_base_component_list_item_t)
    {
        if (0 == strcmp(item->cli_component->mca_component_name, name)) {
            return item;
        }
    }
    return NULL;
}

static void load_static(mca_base_framework_t *framework, const char *name)
{
    const mca_base_component_t **components = framework->framework_static_components;

    for (int i = 0; NULL != components && NULL != components[i]; ++i) {
        if (0 == strcmp(components[i]->mca_component_name, name)) {
            mca_base_component_list_item_t *item = OBJ_NEW(mca_base_component_list_item_t);

            if (NULL == item) {
                coll_end("han", "component %s", name);
            }
            item->cli_component = components[i];
            opal_list_append(&framework->framework_components, &item->super);
            return;
        }
    }
}

static void load_dynamic(mca_base_framework_t *framework, const char *name)
{
    mca_base_component_repository_item_t *file;
    opal_list_t *files;

    if (OPAL_SUCCESS != mca_base_component_repository_get_components(framework, &files)) {
        return;
    }
    OPAL_LIST_FOREACH(file, files, mca_base_component_repository_item_t)
    {
        if (0 == strcmp(file->ri_name, name)) {
            (void) mca_base_component_repository_open(framework, file);
            return;
        }
    }
}

/* Loads and registers a component, unless it is there already; false where there is none of this name. */
static bool load(mca_base_framework_t *framework, const char *name)
{
    mca_base_component_list_item_t *item = find_loaded(framework, name);

    if (NULL != item) {
        return true;
    }
    load_static(framework, name);
    if (NULL == find_loaded(framework, name)) {
        load_dynamic(framework, name);
    }
    item = find_loaded(framework, name);
    if (NULL == item) {
        return false;
    }
    /* To the front: Open MPI walks the list to register what comes behind us, and this one is registered here. */
    opal_list_remove_item(&framework->framework_components, &item->super);
    if (NULL != item->cli_component->mca_register_component_params
        && OPAL_SUCCESS != item->cli_component->mca_register_component_params()) {
        OBJ_RELEASE(item);
        return false;
    }
    opal_list_prepend(&framework->framework_components, &item->super);
    return true;
}

int mca_coll_han_selection_widen(void)
{
    mca_base_framework_t *framework = &ompi_coll_base_framework;
    char **list, *joined = NULL;
    int variable, rc = OMPI_SUCCESS;

    if (NULL == framework->framework_selection || '^' == framework->framework_selection[0]) {
        return OMPI_SUCCESS;
    }
    list = opal_argv_split(framework->framework_selection, ',');
    if (NULL == list) {
        return OMPI_SUCCESS;
    }
    if (!listed(list, MCA_COLL_HAN_NAME) || complete(list)) {
        goto out;
    }
    for (int i = 0; NULL != wanted[i]; ++i) {
        if (!listed(list, wanted[i]) && load(framework, wanted[i])) {
            rc = opal_argv_append_nosize(&list, wanted[i]);
            if (OPAL_SUCCESS != rc) {
                goto out;
            }
        }
    }
    joined = opal_argv_join(list, ',');
    variable = mca_base_var_find("ompi", framework->framework_name, NULL, NULL);
    if (NULL == joined || 0 > variable) {
        rc = NULL == joined ? OMPI_ERR_OUT_OF_RESOURCE : variable;
        goto out;
    }
    rc = mca_base_var_set_value(variable, joined, strlen(joined) + 1, MCA_BASE_VAR_SOURCE_OVERRIDE, NULL);
out:
    if (OMPI_ERR_OUT_OF_RESOURCE == rc) {
        coll_end("han", "the list of components");
    }
    free(joined);
    opal_argv_free(list);
    return rc;
}
