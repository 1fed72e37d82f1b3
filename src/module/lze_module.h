/*
 * lze_module.h - from SPIR-V or OpenCL C to modules.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_MODULE_H
#define LZE_MODULE_H

#include "cache.h"
#include "run/lze_kernel.h"
#include "spirv.h"

/* lze_spirv.c: raise "not enough memory" where that is what the reader, the
   validator or the compiler of Lua say; it says nothing of what they read. */
void lze_check_spirv_memory(lua_State *L, const char *message);
/* As spirv_parse, which it raises for as `call` on `object`, and
   as spirv_validate; both raise when memory runs out. */
spirv_module *lze_parse_spirv(lua_State *L, const void *bytes, size_t size,
                              const char *object, const char *call);
bool lze_validate_spirv(lua_State *L, const void *bytes, size_t size,
                        char *message, size_t cap);

/* lze_compile.c: compile the OpenCL C at stack index `source` with the options
   std, defines, include and flags of the table at t (0: none). `name` is what
   diagnostics call it, `device` what it is for. [-0, +2] the SPIR-V, and what
   the compilers said; raises with their words as err.log. */
void lze_compile(lua_State *L, int source, int t, const char *name,
                 const lze_DeviceInfo *device);

/* These options as one string for the driver's own compiler. [-0, +1] */
const char *lze_compile_flags(lua_State *L, int t);

/* lze_shipped.c: where the kernels lie that come with lze under that name; a
   path of PATH_MAX bytes.  And the names of all of them, where the word could
   be one. */
bool lze_shipped(const char *name, char *path);
bool lze_shipped_names(const char *name, char *list, size_t size);

/* [-0, +1] the module of the SPIR-V at stack index `bytes`, as lze.module makes
   it with the options in the table at `options`; `name` is for messages. */
void lze_push_module(lua_State *L, int bytes, int options, const char *name);
/* [-0, +1] the kernel of that name of the module at `module`. */
void lze_push_module_kernel(lua_State *L, int module, const char *name);

/* [-0, +1] the kernel at `kernel` for another device: mod:on does it. */
void lze_push_kernel_for(lua_State *L, int kernel,
                         const lze_DeviceInfo *device);

#endif
