/*
 * zocl_module.h - modules, their variables, native binaries.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_MODULE_H
#define ZOCL_MODULE_H

#include "cache.h"
#include "prepare.h"
#include "spirv.h"
#include "tool.h"

#include "base/zocl_device.h"
#include "memory/zocl_storage.h"

/* A program-scope variable. */
typedef struct zocl_global {
  const char *name;      /* NULL where it has none */
  uint32_t at;           /* its instruction in module->spirv */
  bool imported, exported;
  bool ready;            /* it has its address and had its initial value */
  size_t bytes, offset;
  void *address;         /* of an imported one, once it is linked */
} zocl_global;

struct _ze_module_handle_t {
  zocl_handle handle;
  atomic_uint refs;      /* the handle and its kernels */
  zocl_device *device;
  spirv_module *spirv;
  cl_program program;    /* NULL until it is linked */
  zocl_program *shared;  /* what other modules have it by, or NULL */
  char *flags;           /* build flags as given */
  bool source;           /* of OpenCL C, which then is in words */
  uint32_t *words;       /* the SPIR-V with the constants given */
  size_t size;           /* in bytes */
  bool imports;          /* it needs, or has needed, other modules */
  cache_key origin;      /* what its code is made of, but for addresses */
  prepare_origin found;  /* where that came from */
  uint32_t *code;        /* what is built: words, or made of them */
  size_t code_size;
  unsigned char *bitcode; /* the code translated, while it is built */
  size_t bitcode_size;
  zocl_global *globals;
  uint32_t global_count;
  zocl_storage *storage; /* of its own globals, or NULL */
  zocl_storage **held;   /* of others, whose addresses are in the code */
  uint32_t held_count;
};

struct _ze_module_build_log_handle_t {
  zocl_handle handle;
  size_t size;           /* with the NUL */
  char text[];
};

/* Where its code came from, as prepare.h says. */
ze_result_t zocl_ModuleGetOrigin(zocl_module *module, prepare_origin *origin);
ze_result_t zocl_DriverExpectModule(zocl_driver *driver);

void zocl_module_ref(zocl_module *module);
void zocl_module_unref(zocl_module *module);

/* zocl_source.c: a module of OpenCL C, which has no `spirv` until it has been
   built and described. */
ze_result_t zocl_source_new(zocl_device *device, const void *text, size_t size,
                            const char *flags, zocl_module **module);
/* Make module->spirv of what OpenCL says of the kernels, which were built with
   these options; false with the reason in log. */
bool zocl_source_describe(zocl_module *module, const char *options,
                          tool_text *log);

/* A native binary, malloc'ed, of the module's flags and that SPIR-V. */
void *zocl_module_pack(const zocl_module *module, const void *spirv,
                       size_t spirv_size, size_t *size);

/* A native binary taken apart, which it points into; false: damaged. */
typedef struct zocl_native {
  const char *flags;
  const void *code;
  size_t code_size;
  bool source;           /* of OpenCL C */
} zocl_native;
bool zocl_native_open(const void *bytes, size_t size, zocl_native *opened);

/* A module of a native binary: INVALID_NATIVE_BINARY where it is damaged,
   BUILD_FAILURE where it is not SPIR-V, with the reason in log. */
ze_result_t zocl_module_of_native(zocl_device *device, const void *bytes,
                                  size_t size, tool_text *log,
                                  zocl_module **module);

/* For lze-build: do with a native binary all that could end this process, but
   launch nothing.  False with the reason in log. */
bool zocl_module_try(zocl_device *device, const void *bytes, size_t size,
                     tool_text *log);
/* For lze-build: build SPIR-V for what that has OpenCL load. */
void zocl_module_warm(zocl_device *device, const void *spirv, size_t size,
                      tool_text *log);

/* ------------------------------------------------------------------------
 * zocl_global.c: program-scope variables, in memory of this process.
 */

/* The blocks of memory whose addresses a module's code has, at `blocks` unless
   that is NULL; returns how many. */
size_t zocl_global_blocks(const zocl_module *module, void **blocks);

/* Keep the memory that another module's code has addresses of. */
bool zocl_globals_hold(zocl_module *module, const zocl_module *other);

/* Find the module's variables and give those that are not imported memory.
   False with the reason in log. */
bool zocl_globals_place(zocl_module *module, tool_text *log);
/* Give imported ones the addresses of those that others export.  False with
   those in log that none does. */
bool zocl_globals_import(zocl_module *module, zocl_module *const *others,
                         uint32_t count, tool_text *log);
/* Write the initial values of those that had none yet, since what is there is
   the program's from then on.  False with those in log, unless that is NULL,
   that have none still: before the link, those made of imported addresses. */
bool zocl_globals_fill(zocl_module *module, tool_text *log);
/* By name, or NULL. */
zocl_global *zocl_global_find(const zocl_module *module, const char *name);

#endif
