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
  const char *name;      /* NULL if absent */
  uint32_t at;           /* its instruction in module->spirv */
  bool imported, exported;
  bool ready;            /* it has its address and its initial value */
  size_t bytes, offset;
  void *address;         /* of an imported one, set when it is linked */
} zocl_global;

struct _ze_module_handle_t {
  zocl_handle handle;
  atomic_uint refs;      /* by the handle and by kernels */
  zocl_device *device;
  spirv_module *spirv;
  backend_program *program; /* NULL before the module is linked */
  zocl_program *shared;  /* the program if modules share it, or NULL */
  char *flags;           /* the build flags */
  bool source;           /* OpenCL C, which is then in `words` */
  uint32_t *words;       /* the SPIR-V with its constants set */
  size_t size;           /* in bytes */
  bool imports;          /* it needs, or needed, other modules */
  cache_key origin;      /* hash of everything in its code, except addresses */
  prepare_origin found;  /* the origin of the code */
  uint32_t *code;        /* the code to build: `words` or made from them */
  size_t code_size;
  unsigned char *translated; /* code, by the back end, during the build */
  size_t translated_size;
  zocl_global *globals;
  uint32_t global_count;
  zocl_storage *storage; /* for the module's variables, or NULL */
  zocl_storage **held;   /* for variables of others, used in the code */
  uint32_t held_count;
};

struct _ze_module_build_log_handle_t {
  zocl_handle handle;
  size_t size;           /* including the NUL */
  char text[];
};

/* Reports the origin of the module's code; described in prepare.h. */
ze_result_t zocl_ModuleGetOrigin(zocl_module *module, prepare_origin *origin);
ze_result_t zocl_DriverExpectModule(zocl_driver *driver);

void zocl_module_ref(zocl_module *module);
void zocl_module_unref(zocl_module *module);

/* zocl_source.c: makes a module of OpenCL C, whose `spirv` is NULL until it has
   been built and described. */
ze_result_t zocl_source_new(zocl_device *device, const void *text, size_t size,
                            const char *flags, zocl_module **module);
/* Makes module->spirv from the compiler's description of the kernels.  Returns
   false with the reason in log. */
bool zocl_source_describe(zocl_module *module, const backend_code *code,
                          tool_text *log);

/* Returns a native binary, malloc'ed, with the module's flags and that
   SPIR-V. */
void *zocl_module_pack(const zocl_module *module, const void *spirv,
                       size_t spirv_size, size_t *size);

/* The parts of a native binary, as pointers into it.  The function returns
   false if the binary is damaged. */
typedef struct zocl_native {
  const char *flags;
  const void *code;
  size_t code_size;
  bool source;           /* OpenCL C */
} zocl_native;
bool zocl_native_open(const void *bytes, size_t size, zocl_native *opened);

/* Makes a module from a native binary.  Returns INVALID_NATIVE_BINARY if it is
   damaged, BUILD_FAILURE if it is not SPIR-V, with the reason in log. */
ze_result_t zocl_module_of_native(zocl_device *device, const void *bytes,
                                  size_t size, tool_text *log,
                                  zocl_module **module);

/* For lze-build: does everything with a native binary that could end this
   process, except launching kernels.  Returns false with the reason in log. */
bool zocl_module_try(zocl_device *device, const void *bytes, size_t size,
                     tool_text *log);
/* For lze-build: builds SPIR-V to make the compiler load its library of
   built-ins. */
void zocl_module_warm(zocl_device *device, const void *spirv, size_t size,
                      tool_text *log);

/* ------------------------------------------------------------------------
 * zocl_global.c: program-scope variables, in memory of this process.
 */

/* Stores in `blocks`, unless that is NULL, the blocks of memory whose addresses
   are in a module's code; returns their number. */
size_t zocl_global_blocks(const zocl_module *module, void **blocks);

/* Takes references to the memory whose addresses are in another module's
   code. */
bool zocl_globals_hold(zocl_module *module, const zocl_module *other);

/* Finds the module's variables and allocates memory for all that are not
   imported.  Returns false with the reason in log. */
bool zocl_globals_place(zocl_module *module, tool_text *log);
/* Sets the addresses of imported variables to the exporters' variables.
   Returns false and lists in log the variables that no module exports. */
bool zocl_globals_import(zocl_module *module, zocl_module *const *others,
                         uint32_t count, tool_text *log);
/* Writes the initial values of variables that are not initialised yet; later
   the program owns their contents.  Returns false if some cannot be initialised
   yet, and lists them in log unless that is NULL: before the link, variables
   whose values contain imported addresses. */
bool zocl_globals_fill(zocl_module *module, tool_text *log);
/* Finds a variable by name; NULL if absent. */
zocl_global *zocl_global_find(const zocl_module *module, const char *name);

#endif
