/*
 * lze_build.c - native modules, built or taken from the cache.
 * SPDX-License-Identifier: MIT
 *
 * The guarded entry points of a module (spirv_guard.h) are in their own native
 * module, which is built when a range first needs one.  If the module
 * has program-scope variables, whose values all its kernels share, one native
 * module has both forms from the start.
 */
#include "launch/lze_build.h"
#include "base/lze_progress.h"
#include "device/lze_loader.h"

#include "spirv_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lze_build_options(lze_Module *m, const char *flags,
                       const ze_module_constants_t *constants) {
  const uint32_t n = constants->numConstants;
  if (flags != NULL && (m->flags = strdup(flags)) == NULL) return false;
  if (n == 0) return true;
  /* One block holds the pointers, the values and the ids. */
  const void **pointers =
      malloc(n * (sizeof *pointers + sizeof(uint64_t) + sizeof(uint32_t)));
  if (pointers == NULL) return false;
  uint64_t *values = (uint64_t *)(pointers + n);
  uint32_t *ids = (uint32_t *)(values + n);
  for (uint32_t i = 0; i < n; i++) {
    memcpy(&values[i], constants->pConstantValues[i], sizeof *values);
    pointers[i] = &values[i];
    ids[i] = constants->pConstantIds[i];
  }
  m->constants = (ze_module_constants_t){n, ids, pointers};
  return true;
}

void lze_build_options_free(lze_Module *m) {
  free(m->flags);
  free(m->constants.pConstantValues);
}

ze_result_t lze_build(lze_Module *m, ze_module_format_t format,
                      const void *bytes, size_t size,
                      ze_module_handle_t *handle) {
  ze_module_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
      .format = format,
      .inputSize = size,
      .pInputModule = bytes,
      .pBuildFlags = m->flags,
      .pConstants = m->constants.numConstants > 0 &&
                            format != ZE_MODULE_FORMAT_NATIVE
                        ? &m->constants : NULL};
  if (m->log != NULL) ZE(zeModuleBuildLogDestroy, m->log);
  m->log = NULL;
  lze_Progress progress;
  lze_progress_begin(&progress, "building", m->name);
  ze_result_t r = ZE(zeModuleCreate, m->o.context->handle, m->device->handle,
                     &desc, handle, &m->log);
  lze_progress_end(&progress);
  if (r == ZE_RESULT_SUCCESS) return r;
  *handle = NULL;
  /* Loaders from 1.8 to 1.32 that wrap handles leave the log of a failed build
     unwrapped, so that using it would crash.  Only the driver's own description
     of the error remains in this case. */
  if (m->o.context->state->system->wraps) m->log = NULL;
  return r;
}

static ze_result_t build_cached(lze_Module *m, const cache_key *key,
                                const void *bytes, size_t size,
                                ze_module_handle_t *handle, bool *cached) {
  size_t native_size = 0;
  unsigned char *native = cache_read("native", key, &native_size);
  if (native != NULL) {
    ze_result_t r =
        lze_build(m, ZE_MODULE_FORMAT_NATIVE, native, native_size, handle);
    free(native);
    *cached = r == ZE_RESULT_SUCCESS;
    if (*cached) return r; /* else the driver has changed */
  }
  ze_result_t r =
      lze_build(m, ZE_MODULE_FORMAT_IL_SPIRV, bytes, size, handle);
  if (r != ZE_RESULT_SUCCESS) return r;
  if (ZE(zeModuleGetNativeBinary, *handle, &native_size, NULL) ==
          ZE_RESULT_SUCCESS &&
      native_size > 0 && (native = malloc(native_size)) != NULL) {
    if (ZE(zeModuleGetNativeBinary, *handle, &native_size, native) ==
        ZE_RESULT_SUCCESS)
      cache_write("native", key, native, native_size);
    free(native);
  }
  return r;
}

/* Returns true if both forms of the kernels are in one native module. */
static bool builds_both(const lze_Module *m) {
  if (!m->spirv->has_globals) return false;
  for (size_t i = 0; i < m->spirv->kernel_count; i++)
    if (spirv_can_guard(m->spirv, &m->spirv->kernels[i])) return true;
  return false;
}

ze_result_t lze_build_spirv(lze_Module *m, const void *bytes, size_t size,
                            bool *cached) {
  if (!builds_both(m))
    return build_cached(m, &m->key, bytes, size, &m->handle, cached);
  size_t count;
  uint32_t *words = spirv_guard(m->spirv, true, &count);
  if (words == NULL) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  static const char what[] = "both";
  cache_key key = m->key;
  cache_key_add(&key, what, sizeof what);
  ze_result_t r = build_cached(m, &key, words, count * sizeof *words,
                               &m->handle, cached);
  free(words);
  return r;
}

/* Returns the part of the module that calls no undefined functions, or NULL if
   memory ran out. */
static spirv_module *defined_part(const lze_Module *m) {
  char ignored[64];
  size_t size;
  uint32_t *words = spirv_defined(m->spirv, &size);
  spirv_module *part = words != NULL
      ? spirv_parse(words, size, ignored, sizeof ignored) : NULL;
  free(words);
  return part;
}

ze_result_t lze_build_defined(lze_Module *m) {
  spirv_module *part = defined_part(m);
  if (part == NULL) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  size_t count = part->word_count;
  const uint32_t *words = part->words;
  uint32_t *both = NULL;
  if (builds_both(m)) words = both = spirv_guard(part, true, &count);
  ze_result_t r =
      words == NULL ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
                    : lze_build(m, ZE_MODULE_FORMAT_IL_SPIRV, words,
                                count * sizeof *words, &m->handle);
  free(both);
  spirv_free(part);
  return r;
}

void lze_build_log(const lze_Module *m, const char *name,
                   ze_module_handle_t handle, uint64_t start, size_t bytes,
                   ze_result_t r, bool cached) {
  if (!lze_log_builds) return;
  lze_log_build(name, start, bytes,
                r == ZE_RESULT_SUCCESS
                    ? lze_module_origin(m->device->driver, handle, cached)
                    : "refused");
}

/* Builds the guarded entry points, except for kernels that the driver could not
   build. */
static ze_result_t build_guards(lze_Module *m) {
  if (builds_both(m)) {
    m->guarded = m->handle;
    return ZE_RESULT_SUCCESS;
  }
  static const char what[] = "guarded";
  cache_key key = m->key;
  cache_key_add(&key, what, sizeof what);
  size_t count;
  spirv_module *part = m->lacks ? defined_part(m) : NULL;
  if (m->lacks && part == NULL) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  uint32_t *words = spirv_guard(part != NULL ? part : m->spirv, false, &count);
  spirv_free(part);
  if (words == NULL) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  bool cached = false;
  const uint64_t start = lze_now_ns();
  ze_result_t r = build_cached(m, &key, words, count * sizeof *words,
                               &m->guarded, &cached);
  free(words);
  char name[sizeof m->name + sizeof "guarded "];
  snprintf(name, sizeof name, "guarded %s", m->name);
  lze_build_log(m, name, m->guarded, start, count * sizeof *words, r, cached);
  return r;
}

const char *lze_build_guarded(lze_Kernel *k, ze_result_t *result) {
  lze_Module *m = k->module;
  *result = ZE_RESULT_SUCCESS;
  if (k->guarded.handle != NULL) return NULL;
  if (m->guarded == NULL && (*result = build_guards(m)) != ZE_RESULT_SUCCESS)
    return "zeModuleCreate";
  const size_t room = sizeof SPIRV_GUARD_ENTRY + strlen(k->info->name);
  char *name = malloc(room);
  if (name == NULL) {
    *result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    return "zeKernelCreate";
  }
  snprintf(name, room, "%s%s", SPIRV_GUARD_ENTRY, k->info->name);
  ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                           .pKernelName = name};
  *result = ZE(zeKernelCreate, m->guarded, &desc, &k->guarded.handle);
  free(name);
  if (*result == ZE_RESULT_SUCCESS) return NULL;
  k->guarded.handle = NULL;
  return "zeKernelCreate";
}
