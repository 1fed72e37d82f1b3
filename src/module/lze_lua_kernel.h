/*
 * lze_lua_kernel.h - kernels made of Lua functions.
 * SPDX-License-Identifier: MIT
 *
 * A Lua kernel is a kernel userdata without a native kernel. A launch resolves
 * it to a variant: an ordinary kernel, compiled for the types of the arguments
 * and for the function's captures. The variant takes the given arguments,
 * followed by hidden ones: captured numbers and buffers, and lengths.
 */
#ifndef LZE_LUA_KERNEL_H
#define LZE_LUA_KERNEL_H

#include "launch/lze_launch.h"

/* The place of a launch. A NULL member is determined by the buffers, or else
   is the default. */
typedef struct lze_Place {
  lze_Context *context;
  const lze_DeviceInfo *device;
} lze_Place;

/* Returns the ordinary kernel that runs when the kernel at stack index
   `kernel` is launched with the range at `range` and the *count arguments
   after it, which are at the top of the stack. For a Lua kernel, pushes the
   hidden arguments and adds them to *count. `place` may be NULL. Raises if the
   kernel is closed, or if its function cannot be compiled. [-0, +hidden] */
lze_Kernel *lze_kernel_resolve(lua_State *L, int kernel,
                               const lze_Place *place, int range, int *count);
/* For a kernel that was compiled ahead of time from a Lua function: if the
   *count arguments after the range at `range` are all except the sizes of
   arguments, pushes those sizes and adds them to *count. [-0, +sizes] */
void lze_push_sizes(lua_State *L, const lze_Kernel *k, int range, int *count);
/* As lze_kernel_resolve for a Lua kernel whose box the caller has; requires
   room for 12 values on the stack. `checked`: use a variant that reports
   out-of-range accesses. Also pushes the variant's kernel after the hidden
   arguments; it must stay there. [-0, +hidden +1] */
lze_Kernel *lze_lua_kernel_resolve(lua_State *L, lze_KernelBox *box,
                                   int kernel, const lze_Place *place,
                                   bool checked, int range, int *count);
/* Returns how launches of a Lua kernel are checked: by its option, by
   LZE_CHECK, or never if it is lze's own kernel, whose results are intended. */
lze_Setting lze_lua_kernel_checks(const lze_KernelBox *b);
/* After a checked launch of `run`, a variant of the Lua kernel at `kernel`,
   with the range at `range`: waits for it and raises any reported access. */
void lze_lua_kernel_report(lua_State *L, int kernel, const lze_Kernel *run,
                           int range);
/* If argument i of the kernel at `kernel`, or of the variant it last resolved
   to, is the length of another argument, returns that one's number, both from
   1; else returns 0. */
int lze_length_of(lua_State *L, int kernel, int i);
/* Returns the number of dimensions of a range that goes with `count` arguments
   of the Lua kernel at `kernel`; 0 if any number is valid, as for other
   kernels. */
int lze_dimensions_of(lua_State *L, int kernel, int count);
/* Returns the kernel at `kernel` or, for a Lua kernel, the variant that was
   launched last; raises before the first launch. */
lze_Kernel *lze_kernel_last(lua_State *L, int kernel);

/* Pushes a table for checking the Lua kernel at `kernel`, which must have a
   variant for `count` arguments: f, name, indices (how many parameters are
   indices), where, parameters (their names), scalars (declared types by
   argument), captures ({name, value} of each buffer), and twin: the options of
   a checked kernel of the same function in double. [-0, +1] */
void lze_lua_kernel_about(lua_State *L, int kernel, int count);
/* For lze_call_guarded: (kernel, device, number...) -> the type that the
   function of a Lua kernel returns for these numbers, without a range:
   "integer", "real", "boolean", "nil", or nil for anything else; and a
   description of it. Raises the same errors as a launch that compiles it. */
int lze_lua_kernel_gives(lua_State *L);
/* Pushes lua_dump's result for the function on the top of the stack. [-0,
   +1] */
const char *lze_push_chunk(lua_State *L, size_t *size);

/* Returns true if a Lua kernel is at `index`. */
bool lze_is_lua_kernel(lua_State *L, int index);
/* Returns true if lze_kernel_resolve may add arguments for that kernel. */
bool lze_adds_arguments(lua_State *L, int index);
/* Close, finalize and print a Lua kernel. */
void lze_lua_kernel_close(lua_State *L, int kernel);
void lze_lua_kernel_release(lua_State *L, int kernel);
void lze_lua_kernel_tostring(lua_State *L, int kernel);

#endif
