/*
 * lze_launch.h - arguments and launches: from a script to the device.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LAUNCH_H
#define LZE_LAUNCH_H

#include "base/lze_box.h"
#include "base/lze_types.h"
#include "launch/lze_kernel.h"
#include "queue/lze_queue.h"
#include "queue/lze_record.h"

/* A value has at most 16 lanes, of 8 bytes each. */
enum { VALUE_BYTES = 16 * 8 };

/* An argument, and its value in the launch being made: no Lua code runs between
   the check of the arguments and the end of a launch. */
typedef struct lze_Argument {
  const spirv_arg *info;
  const lze_Type *type;     /* of a scalar or vector value */
  const lze_Type *other;    /* its unsigned form if the sign is unknown */
  bool write;
  uint8_t moves;            /* accesses per element of its buffer: 1 if it is
                               read, plus 1 if it is written */
  size_t bytes;
  uint64_t reach;           /* bytes that its buffer must have for the range of
                               the grouping, or 0 */
  const void *data;         /* for zeKernelSetArgumentValue */
  const lze_Buffer *buffer; /* or the window of an image or sampler; or NULL */
  const lze_DeviceInfo *reached; /* a device whose memory is reachable */
  void *pointer;
  _Alignas(8) char value[VALUE_BYTES];
} lze_Argument;

/* The last value of an argument of an entry point, to save a call if it is the
   same. */
typedef struct lze_ArgumentSet {
  bool valid;
  uint64_t serial;
  void *pointer;
  size_t bytes;
  _Alignas(8) char value[VALUE_BYTES];
} lze_ArgumentSet;

/* A range and its groups, to skip the rule if the same range follows. */
typedef struct lze_Grouping {
  bool valid;
  lze_GroupInput in;
  lze_GroupChoice choice;
  uint64_t recorded;        /* `first` of the recorder that made `shape` */
  lze_Shape shape;
} lze_Grouping;

/* A launch as the script requested it. */
typedef struct lze_Launch {
  lze_Queue *queue;
  int dims;
  bool empty;               /* a dimension is 0 */
  uint64_t global[3], offset[3];
  uint32_t group[3];        /* given or pinned, or zeros */
  const char *given_by;     /* its name in messages, or NULL */
  const char *task;         /* its name in a plan, or NULL */
  lze_Policy policy;
  int after, uses, signal;  /* stack indices, or 0 */
} lze_Launch;

typedef struct lze_KernelBox {
  lze_Box box;
  const lze_State *state;
  lze_Kernel *kernel;           /* NULL once closed, and for a Lua kernel */
  bool is_lua, closed;          /* is the start of a Lua kernel of
                                   module/lze_lua_kernel.c; that is closed */
  bool checked;                 /* its launches are checked, by option */
  bool meant;                   /* any result is intended: its launches are
                                   never checked */
  char name[64];
} lze_KernelBox;

/* lze.local_bytes(n) */
typedef struct lze_LocalBytes {
  lze_Box box;
  size_t bytes;
} lze_LocalBytes;

/* Returns the static local memory of a group, as the driver reports it or, if
   it reports 0, as the module declares it. */
uint64_t lze_kernel_local_bytes(const lze_Kernel *k);
/* Returns the element type of a value or pointee, or NULL if unknown. */
const lze_Type *lze_argument_type(const spirv_type *t, bool is_unsigned);

/* lze_argument.c: [-0, +1] returns the name of an argument in messages, as
   "2 (x)". */
const char *lze_argument_name(lua_State *L, const lze_Kernel *k,
                              uint32_t i);
/* [-0, +1] Returns the type of an argument as a script reads it in k.args. */
const char *lze_argument_type_name(lua_State *L, const spirv_arg *a);
/* Raises if the device does not reach the memory of an argument. */
void lze_arguments_reach(lua_State *L, const lze_Kernel *k);
/* Raises that the kernel does not take `count` arguments. */
int lze_arguments_refuse(lua_State *L, const lze_Kernel *k, int count);
/* Checks and retains all arguments, the first at `index`; raises if one does
   not fit. */
void lze_arguments_take(lua_State *L, const lze_Kernel *k, int index,
                        int count);

/* lze_launch.c: reads a number, or an array of one to three numbers, at
   `index`; returns their count. */
int lze_range_triple(lua_State *L, const char *kernel, int index,
                     const char *what, lua_Integer low,
                     lua_Integer out[3]);
/* Raises unless the queue can run the kernel. */
void lze_launch_check_queue(lua_State *L, const lze_Kernel *k,
                            const lze_Queue *q);
/* [-0, +4] Reads the range, or launch table, at stack index `index`, without
   running any code of the script.  The pushed values are objects that a hook
   may remove from the table. */
void lze_launch_read(lua_State *L, const lze_Kernel *k, int index,
                     lze_Launch *l);
/* [-0, +2] Raises the errors of a launch about `after`, `uses` and `signal`. */
void lze_launch_check_table(lua_State *L, const lze_Kernel *k,
                            const lze_Launch *l);
/* Returns the groups of a range, the same as last time if the range is the
   same.  Builds the guarded entry point if they need it.  Raises if a given or
   required group cannot be met. */
const lze_GroupChoice *lze_launch_group(lua_State *L, lze_Kernel *k,
                                        const lze_Launch *l,
                                        uint64_t local_bytes);
/* Makes the driver compile what a launch with these groups needs. */
ze_result_t lze_launch_prepare(const lze_Kernel *k,
                               const lze_GroupChoice *choice, lze_Prepare how);
/* Checks and retains what a launch uses and its `count` arguments, the first at
   `first`.  Returns its groups; NULL if the range is empty. */
const lze_GroupChoice *lze_launch_check(lua_State *L, lze_Kernel *k,
                                        const lze_Launch *l, int first,
                                        int count);
/* Raises the error of a driver call for a launch. */
int lze_launch_fail(lua_State *L, const lze_Kernel *k, ze_result_t r,
                    const char *call);
/* Runs k(...), k:launch(...) and q:launch(k, ...).  The range is at stack index
   `range`, and `count` arguments follow; `q` is NULL for the default queue;
   `event` is the stack index of an event, or 0. */
void lze_kernel_run(lua_State *L, lze_Kernel *k, int range, int count,
                    lze_Queue *q, int event);

/* Completes the record of a command that is a launch. */
void lze_record_launch(const lze_Command *c, lze_Kernel *k);
/* [-0, +1] Pushes the arguments of a launch, as "a = 2.0, x = float[64]", with
   "..." for the last ones if they were not recorded; nil without arguments. */
void lze_given_push(lua_State *L, const lze_Names *names, const lze_Record *r);

#endif
