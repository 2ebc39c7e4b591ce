/* SPDX-License-Identifier: BSD-3-Clause */
/* To be preloaded: the process tells the others that its components have another version. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

pmix_status_t PMIx_Put(pmix_scope_t scope, const pmix_key_t key, pmix_value_t *value)
{
    static const char own[] = "version=";
    pmix_status_t (*put)(pmix_scope_t, const pmix_key_t, pmix_value_t *) = NULL;
    void *library = dlopen("libpmix.so.2", RTLD_NOW);

    if (NULL != library) {
        *(void **) &put = dlsym(library, "PMIx_Put");
    }
    if (NULL == put) {
        fprintf(stderr, "other_version: %s\n", dlerror());
        abort();
    }
    if (PMIX_STRING == value->type && 0 == strncmp(own, value->data.string, strlen(own))) {
        value->data.string[strlen(own)] = '9';
    }
    return put(scope, key, value);
}
