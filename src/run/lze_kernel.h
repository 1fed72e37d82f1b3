/*
 * lze_kernel.h - kernels and launches.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_KERNEL_H
#define LZE_KERNEL_H

#include "base/lze_box.h"
#include "cache.h"
#include "device/lze_object.h"
#include "run/lze_buffer.h"
#include "run/lze_group.h"
#include "spirv.h"
#include "spirv_guard.h"

/* lze_module.c makes them; here they are what kernels are made from. */
struct lze_Module {
  lze_Object o;
  const lze_DeviceInfo *device;
  ze_module_handle_t handle;
  ze_module_build_log_handle_t log;
  ze_module_handle_t guarded;   /* has the guarded entry points; NULL until a
                                   launch needs one; `handle` if that has them */
  spirv_module *spirv;          /* of stubs where the driver compiled it */
  bool source;                  /* it did */
  bool lacks;                   /* kernels that call what nothing defines */
  char *flags;                  /* for the driver's compiler, or NULL */
  ze_module_constants_t constants; /* specialization constants: free() the ids */
  cache_key key;                /* of what it was built from, and for */
  char name[64];                /* for messages: "module kernels/a.spv" */
};

/* An entry point of a kernel, and what it was last set to. */
typedef struct lze_Entry {
  ze_kernel_handle_t handle;
  struct lze_ArgumentSet *arguments;
  uint32_t group[3];
  uint64_t first[3];            /* where its global ids begin */
  int dims;
  bool indirect;
} lze_Entry;

struct lze_Kernel {
  lze_Object o;
  lze_Module *module;           /* pinned */
  const spirv_kernel *info;     /* of the module's reflection */
  lze_Entry whole;              /* the kernel itself: runs whole groups */
  lze_Entry guarded;            /* no handle until a launch needs it */
  uint64_t hidden[SPIRV_GUARD_ARGUMENTS][4]; /* its last arguments */
  ze_kernel_properties_t props;
  uint32_t max_group;
  uint32_t group_hint[3];       /* set by the script, or zeros */
  char name[64];                /* "kernel saxpy", cut if longer */
  uint64_t launches;            /* so far */
  struct lze_Argument *arguments;
  struct lze_Grouping *grouping; /* the last range and its groups */
  uint64_t recorded;            /* by a recorder that began with this record: */
  uint32_t form;                /* there a string with what its arguments are */
  bool reaches;                 /* some argument has a reach that is proved */
  bool local_arguments;         /* has some */
  bool lazy;                    /* its launches may begin without an event */
  bool exposed;                 /* its native handle was given to the host */
  bool task_indirect;           /* by the launch that was checked last */
  bool counted;                 /* its arithmetic, if it can be: */
  bool countable;
  spirv_flops flops;
};

/* The kernel at `index`, or NULL; also where it is closed. */
lze_Kernel *lze_test_kernel(lua_State *L, int index);
/* Raise what a launch would, of the range or launch table at stack index
   `range` and `count` arguments after it; nothing is launched, nor learnt. */
void lze_launch_try(lua_State *L, lze_Kernel *k, int range, int count);
/* What is called for each buffer of a launch: of argument `argument`, from 0,
   or of `uses` where that is -1. */
typedef void lze_TaskUse(void *data, int argument, const lze_Access *access);
/* Check range and arguments as a launch does, the range or launch table at
   stack index `range`, `count` arguments after it, and tell what it uses. The
   kernel keeps the arguments for lze_task_append as long as nothing of Lua's
   runs.  `name` is the task's in its plan, or NULL.  NULL where the range is
   empty. */
const lze_GroupChoice *lze_task_check(lua_State *L, lze_Kernel *k,
                                      const char *name, int range, int count,
                                      lze_TaskUse *use, void *data);
/* What the launch that was checked last reads and writes if each work-item does
   so with an element of each buffer, none of them twice. */
uint64_t lze_kernel_bytes(const lze_Kernel *k);
/* Have the driver compile what that needs beside the program, where it is
   cheap. */
void lze_task_prepare(const lze_Kernel *k, const lze_GroupChoice *choice);
/* Append it to a list, each part waiting for the events; `first` is signalled
   by the first of several parts.  False with the outcome. */
bool lze_task_append(lze_Kernel *k, const lze_GroupChoice *choice,
                     ze_command_list_handle_t list, ze_event_handle_t signal,
                     ze_event_handle_t first, uint32_t wait_count,
                     ze_event_handle_t *waits, lze_Outcome *out);

/* What each work-item computes, as the source says; NULL where the driver has
   compiled that, or without memory.  Counts when it is first asked. */
const spirv_flops *lze_kernel_flops(lze_Kernel *k);
/* What the rule was asked for the launch that was checked last. */
const lze_GroupInput *lze_kernel_input(const lze_Kernel *k);
/* Ask it again when that comes again. */
void lze_kernel_forget(lze_Kernel *k);

/* lze_tuned.c: the size that lze.tune has found for a kernel and such a range;
   zeros where it has none. */
void lze_tuned_group(const lze_Kernel *k, const lze_GroupInput *in,
                     uint32_t size[3]);
/* Keep it; whether it can be read again. */
bool lze_tuned_keep(const lze_Kernel *k, const lze_GroupInput *in,
                    const uint32_t size[3]);

/* lze_group_pin.c: raise unless `list` is as LZE_GROUP must be. */
void lze_check_groups(lua_State *L, const char *list);
/* The group that the user has pinned for a kernel, or for a task of a plan
   ("graph.task", or NULL), and by what; NULL for none. */
const char *lze_pinned_group(const lze_Kernel *k, const char *task,
                             uint32_t size[3]);

/* Words for spirv_space and spirv_access. */
extern const char *const lze_space_names[], *const lze_access_names[];
/* [-0, +1] a new kernel of a module. */
int lze_push_kernel(lua_State *L, lze_Module *m, const spirv_kernel *info);
/* Whether the open kernel at `index` may be launched in parts, each with an
   offset, without noticing; its argument i, from 0, may be written. */
bool lze_kernel_splits(lua_State *L, int index);
bool lze_kernel_writes(lua_State *L, int index, uint32_t i);
/* The context of the kernel whose stack index is `index`; raises where it is
   closed. */
lze_Context *lze_context_of_kernel(lua_State *L, int index);
/* Whether there is an open kernel at `index`. */
bool lze_kernel_is_open(lua_State *L, int index);
/* The open kernel that an object is, or NULL. */
const lze_Kernel *lze_object_kernel(const lze_Object *o);
/* Close every kernel of a module. */
void lze_kernels_close(lze_Module *m);
/* The policy of that name; raises and lists what is known, `where` first. */
lze_Policy lze_check_policy(lua_State *L, const char *word,
                            const char *where);

#endif
