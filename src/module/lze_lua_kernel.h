/*
 * lze_lua_kernel.h - kernels made of Lua functions.
 * SPDX-License-Identifier: MIT
 *
 * A Lua kernel is a kernel's userdata without a native kernel of its own.  A
 * launch resolves it to a variant: an ordinary kernel, compiled for the types
 * of the arguments and for what the function captures.  The variant takes the
 * given arguments and hidden ones behind them: captured numbers and buffers,
 * and lengths.
 */
#ifndef LZE_LUA_KERNEL_H
#define LZE_LUA_KERNEL_H

#include "run/lze_launch.h"

/* Where a launch runs; NULL each: as its buffers say, else the default. */
typedef struct lze_Place {
  lze_Context *context;
  const lze_DeviceInfo *device;
} lze_Place;

/* The ordinary kernel that runs when the kernel at stack index `kernel` is
   launched with the range at `range` and the *count arguments behind it, which
   are at the top of the stack.  Of a Lua kernel the hidden arguments are pushed
   and counted.  `place` is NULL for one without wishes.  Raises where the
   kernel is closed, and where its function cannot be compiled. [-0, +hidden] */
lze_Kernel *lze_kernel_resolve(lua_State *L, int kernel,
                               const lze_Place *place, int range, int *count);
/* What a kernel that was made of a Lua function, and compiled ahead of time,
   asks for the sizes of its arguments: pushed and counted, where the *count
   arguments behind the range at `range` are all of the others. [-0, +sizes] */
void lze_push_sizes(lua_State *L, const lze_Kernel *k, int range, int *count);
/* The same for a Lua kernel, whose box is known, with room for 12 values on
   the stack; `checked`: a variant that reports accesses outside.  Behind
   the hidden arguments the variant's kernel is pushed, to be kept there.
   [-0, +hidden +1] */
lze_Kernel *lze_lua_kernel_resolve(lua_State *L, lze_KernelBox *box,
                                   int kernel, const lze_Place *place,
                                   bool checked, int range, int *count);
/* How launches of a Lua kernel are checked: by its option, by LZE_CHECK, or
   never, where it is lze's own and what it computes is meant. */
lze_Setting lze_lua_kernel_checks(const lze_KernelBox *b);
/* After a checked launch of `run`, a variant of the Lua kernel at `kernel`,
   with the range at `range`: waits for it, and raises what it reports. */
void lze_lua_kernel_report(lua_State *L, int kernel, const lze_Kernel *run,
                           int range);
/* Of which argument the i-th argument of the kernel at `kernel`, or of the
   variant that it resolved to last, is the length, both from 1; else 0. */
int lze_length_of(lua_State *L, int kernel, int i);
/* How many dimensions ranges have that go with so many arguments of the Lua
   kernel at `kernel`; 0 where any will do, as for other kernels. */
int lze_dimensions_of(lua_State *L, int kernel, int count);
/* The kernel at `kernel` itself or, of a Lua kernel, the variant that was
   launched last; raises where there is none yet. */
lze_Kernel *lze_kernel_last(lua_State *L, int kernel);

/* Push a table that says what a check of the Lua kernel at `kernel` needs,
   which has a variant for `count` arguments: f, name, indices (how many
   parameters are), where, parameters (their names), scalars (declared types by
   argument), captures ({name, value} of each buffer), and twin: the options
   of a checked kernel of the same function in double. [-0, +1] */
void lze_lua_kernel_about(lua_State *L, int kernel, int count);
/* For lze_call_guarded: (kernel, device, number...) -> what the function of a
   Lua kernel gives for such numbers, with no range: "integer", "real",
   "boolean", "nil", or nil for something else; and that in words.  Raises what
   a launch would that compiles it. */
int lze_lua_kernel_gives(lua_State *L);
/* lua_dump of the function on the top of the stack. [-0, +1] */
const char *lze_push_chunk(lua_State *L, size_t *size);

/* Whether a Lua kernel is at `index`. */
bool lze_is_lua_kernel(lua_State *L, int index);
/* Whether lze_kernel_resolve may add arguments to those of the kernel there. */
bool lze_adds_arguments(lua_State *L, int index);
/* What a Lua kernel does when it is closed, collected, and printed. */
void lze_lua_kernel_close(lua_State *L, int kernel);
void lze_lua_kernel_release(lua_State *L, int kernel);
void lze_lua_kernel_tostring(lua_State *L, int kernel);

#endif
