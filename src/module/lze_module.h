/*
 * lze_module.h - from SPIR-V or OpenCL C to modules.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_MODULE_H
#define LZE_MODULE_H

#include "launch/lze_kernel.h"
#include "cache.h"
#include "spirv.h"

/* lze_spirv.c: raises "not enough memory" if `message`, from the SPIR-V
   reader, the validator or the Lua compiler, says that memory ran out. */
void lze_check_spirv_memory(lua_State *L, const char *message);
/* As spirv_parse, but raises an error of `call` on `object`; and as
   spirv_validate. Both raise when memory runs out. */
spirv_module *lze_parse_spirv(lua_State *L, const void *bytes, size_t size,
                              const char *object, const char *call);
bool lze_validate_spirv(lua_State *L, const void *bytes, size_t size,
                        char *message, size_t cap);

/* lze_compile.c: compiles the OpenCL C at stack index `source` with the
   options std, defines, include and flags of the table at `t` (0: no table).
   `name` is the source's name in diagnostics, `device` the target. Pushes the
   SPIR-V and the compilers' messages; raises with the messages as err.log.
   [-0, +2] */
void lze_compile(lua_State *L, int source, int t, const char *name,
                 const lze_DeviceInfo *device);

/* Pushes and returns these options as one string for the driver's own
   compiler. [-0, +1] */
const char *lze_compile_flags(lua_State *L, int t);

/* lze_shipped.c: the first finds the kernels that come with lze under a name
   and stores their path, of PATH_MAX bytes. The second lists the names of all
   of them, if `name` has the form of one. */
bool lze_shipped(const char *name, char *path);
bool lze_shipped_names(const char *name, char *list, size_t size);

/* Pushes the module of the SPIR-V at stack index `bytes`, made as lze.module
   does with the table of options at `options`; `name` is for messages. [-0,
   +1] */
void lze_push_module(lua_State *L, int bytes, int options, const char *name);
/* Pushes the kernel with that name of the module at `module`. [-0, +1] */
void lze_push_module_kernel(lua_State *L, int module, const char *name);

/* Pushes the kernel at `kernel` for another device, using mod:on. [-0, +1] */
void lze_push_kernel_for(lua_State *L, int kernel,
                         const lze_DeviceInfo *device);

#endif
