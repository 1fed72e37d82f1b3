/*
 * lze_build.h - native modules, built or taken from the cache.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_BUILD_H
#define LZE_BUILD_H

#include "launch/lze_kernel.h"

/* Copies the build options into the module.  Returns false if memory ran
   out. */
bool lze_build_options(lze_Module *m, const char *flags,
                       const ze_module_constants_t *constants);
void lze_build_options_free(lze_Module *m);
/* Builds a module of the input with m's options and stores its handle; the
   build log stays in m->log. */
ze_result_t lze_build(lze_Module *m, ze_module_format_t format,
                      const void *bytes, size_t size,
                      ze_module_handle_t *handle);
/* Builds SPIR-V, or loads the native binary of an earlier build of m->key; sets
   *cached in that case. */
ze_result_t lze_build_spirv(lze_Module *m, const void *bytes, size_t size,
                            bool *cached);
/* Builds the part of the module's SPIR-V that calls no undefined functions. */
ze_result_t lze_build_defined(lze_Module *m);
/* Logs a build of m if builds are logged: its duration since `start`, the bytes
   of its input, and whether it was cached or refused. */
void lze_build_log(const lze_Module *m, const char *name,
                   ze_module_handle_t handle, uint64_t start, size_t bytes,
                   ze_result_t r, bool cached);
/* Makes k->guarded usable: builds the module's guarded entry points unless
   another kernel has needed them before, and creates the kernel's.  Returns the
   driver function that failed, with *result, or NULL. */
const char *lze_build_guarded(lze_Kernel *k, ze_result_t *result);

#endif
