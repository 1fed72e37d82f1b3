/*
 * lze_launch.h - arguments and launches: from what a script says to the device.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LAUNCH_H
#define LZE_LAUNCH_H

#include "base/lze_box.h"
#include "base/lze_types.h"
#include "run/lze_kernel.h"
#include "run/lze_queue.h"
#include "run/lze_record.h"

/* The most lanes a value has, 8 bytes each. */
enum { VALUE_BYTES = 16 * 8 };

/* What lze knows of an argument, and the value of the launch being made: no
   Lua code runs between the check of the arguments and the end of a launch. */
typedef struct lze_Argument {
  const spirv_arg *info;
  const lze_Type *type;     /* of a value that is a scalar or vector */
  const lze_Type *other;    /* its unsigned twin where the sign is unknown */
  bool write;
  uint8_t moves;            /* of an element of its buffer: 1 if it is read,
                               and 1 if it is written */
  size_t bytes;
  uint64_t reach;           /* bytes that a buffer must have for the range of
                               the grouping, or 0 */
  const void *data;         /* what zeKernelSetArgumentValue gets */
  const lze_Buffer *buffer; /* or the window of an image or sampler; or NULL */
  const lze_DeviceInfo *reached; /* whose memory the kernel's may touch */
  void *pointer;
  _Alignas(8) char value[VALUE_BYTES];
} lze_Argument;

/* What an argument of an entry point was last set to, to save a call if it is
   the same. */
typedef struct lze_ArgumentSet {
  bool valid;
  uint64_t serial;
  void *pointer;
  size_t bytes;
  _Alignas(8) char value[VALUE_BYTES];
} lze_ArgumentSet;

/* A range and its groups, to skip the rule when the range comes again. */
typedef struct lze_Grouping {
  bool valid;
  lze_GroupInput in;
  lze_GroupChoice choice;
  uint64_t recorded;        /* by a recorder that began with this record, as: */
  lze_Shape shape;
} lze_Grouping;

/* A launch as a script asked for it. */
typedef struct lze_Launch {
  lze_Queue *queue;
  int dims;
  bool empty;               /* a dimension is 0 */
  uint64_t global[3], offset[3];
  uint32_t group[3];        /* given or pinned, or zeros */
  const char *given_by;     /* what to call it, or NULL */
  const char *task;         /* its name in a plan, or NULL */
  lze_Policy policy;
  int after, uses, signal;  /* stack indices, or 0 */
} lze_Launch;

typedef struct lze_KernelBox {
  lze_Box box;
  const lze_State *state;
  lze_Kernel *kernel;           /* NULL once closed, and of a Lua kernel */
  bool is_lua, closed;          /* begins one of module/lze_lua_kernel.c, which
                                   is closed */
  bool checked;                 /* its launches: by option */
  bool meant;                   /* what it computes, whatever that is: its
                                   launches are never checked */
  char name[64];
} lze_KernelBox;

/* lze.local_bytes(n) */
typedef struct lze_LocalBytes {
  lze_Box box;
  size_t bytes;
} lze_LocalBytes;

/* lze_kernel.c: the static local memory of a group, as the driver counts it or,
   if it does not, as the module declares it. */
uint64_t lze_kernel_local_bytes(const lze_Kernel *k);
/* The element type of a value or pointee that lze knows, or NULL. */
const lze_Type *lze_argument_type(const spirv_type *t, bool is_unsigned);

/* lze_argument.c: "2 (x)", as every message about an argument names it.
   [-0, +1] */
const char *lze_argument_name(lua_State *L, const lze_Kernel *k,
                              uint32_t i);
/* The type of an argument as a script reads it in k.args. [-0, +1] */
const char *lze_argument_type_name(lua_State *L, const spirv_arg *a);
/* Raise where one is memory that the device does not reach. */
void lze_arguments_reach(lua_State *L, const lze_Kernel *k);
/* Raise that so many arguments are not what the kernel is launched with. */
int lze_arguments_refuse(lua_State *L, const lze_Kernel *k, int count);
/* Take all arguments, the first at `index`; raises. */
void lze_arguments_take(lua_State *L, const lze_Kernel *k, int index,
                        int count);

/* lze_launch.c: a number, or an array of one to three, at `index`; how many. */
int lze_range_triple(lua_State *L, const char *kernel, int index,
                     const char *what, lua_Integer low,
                     lua_Integer out[3]);
/* Raise unless the queue can run the kernel. */
void lze_launch_check_queue(lua_State *L, const lze_Kernel *k,
                            const lze_Queue *q);
/* Read the range, or launch table, at stack index `index`, without running
   anything of the script. [-0, +4] keep what a hook may take out of it. */
void lze_launch_read(lua_State *L, const lze_Kernel *k, int index,
                     lze_Launch *l);
/* Raise what a launch would of what it is to come after, use and signal.
   [-0, +2] */
void lze_launch_check_table(lua_State *L, const lze_Kernel *k,
                            const lze_Launch *l);
/* Returns the groups of a range, the same as last time if it comes again.
   Builds the guarded entry point if they need it.  Raises if a given or
   required group cannot be met. */
const lze_GroupChoice *lze_launch_group(lua_State *L, lze_Kernel *k,
                                        const lze_Launch *l,
                                        uint64_t local_bytes);
/* Has the driver compile what such a launch needs. */
ze_result_t lze_launch_prepare(const lze_Kernel *k,
                               const lze_GroupChoice *choice, lze_Prepare how);
/* Checks and keeps what a launch uses and its `count` arguments, the first at
   `first`.  Returns its groups; NULL if the range is empty. */
const lze_GroupChoice *lze_launch_check(lua_State *L, lze_Kernel *k,
                                        const lze_Launch *l, int first,
                                        int count);
/* Raise what a call of the driver for a launch came to. */
int lze_launch_fail(lua_State *L, const lze_Kernel *k, ze_result_t r,
                    const char *call);
/* The common part of k(...), k:launch(...) and q:launch(k, ...): the range is
   at stack index `range`, `count` arguments follow; `q` is NULL for the default
   queue; an event is at `event`, or 0. */
void lze_kernel_run(lua_State *L, lze_Kernel *k, int range, int count,
                    lze_Queue *q, int event);

#endif
