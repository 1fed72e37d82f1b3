/*
 * lze_kernel.h - kernels and launches.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_KERNEL_H
#define LZE_KERNEL_H

#include "base/lze_box.h"
#include "device/lze_object.h"
#include "launch/lze_group.h"
#include "memory/lze_buffer.h"
#include "cache.h"
#include "spirv.h"
#include "spirv_guard.h"

/* lze_module.c creates modules; here, kernels are created from them. */
struct lze_Module {
  lze_Object o;
  const lze_DeviceInfo *device;
  ze_module_handle_t handle;
  ze_module_build_log_handle_t log;
  ze_module_handle_t guarded;   /* contains the guarded entry points; NULL until
                                   a launch needs one; `handle` if that contains
                                   them */
  spirv_module *spirv;          /* of stubs if the driver compiled it from
                                   source */
  bool source;                  /* the driver compiled it from source */
  bool lacks;                   /* some of its kernels call undefined
                                   functions */
  char *flags;                  /* for the driver's compiler, or NULL */
  ze_module_constants_t constants; /* for specialization; free() the ids */
  cache_key key;                /* of the program it was built from, and the
                                   target */
  char name[64];                /* for messages: "module kernels/a.spv" */
};

/* An entry point of a kernel, and the state it was last set to. */
typedef struct lze_Entry {
  ze_kernel_handle_t handle;
  struct lze_ArgumentSet *arguments;
  uint32_t group[3];
  uint64_t first[3];            /* start of its global ids */
  int dims;
  bool indirect;
} lze_Entry;

struct lze_Kernel {
  lze_Object o;
  lze_Module *module;           /* pinned */
  const spirv_kernel *info;     /* from the module's reflection */
  lze_Entry whole;              /* the kernel itself: runs whole groups */
  lze_Entry guarded;            /* no handle until a launch needs one */
  uint64_t hidden[SPIRV_GUARD_ARGUMENTS][4]; /* its last arguments */
  ze_kernel_properties_t props;
  uint32_t max_group;
  uint32_t group_hint[3];       /* set by the script, or zeros */
  char name[64];                /* "kernel saxpy", cut if longer */
  uint64_t launches;            /* so far */
  struct lze_Argument *arguments;
  struct lze_Grouping *grouping; /* the last range and its groups */
  uint64_t recorded;            /* `first` of the recorder that made `form` */
  uint32_t form;                /* a string that describes its arguments */
  bool reaches;                 /* some argument has a proven reach */
  bool local_arguments;         /* some argument is local memory */
  bool lazy;                    /* its launches may begin without an event */
  bool exposed;                 /* its native handle was given to the embedding
                                   program */
  bool task_indirect;           /* in the launch that was checked last */
  bool counted;                 /* its arithmetic was counted, if possible: */
  bool countable;
  spirv_flops flops;
};

/* Returns the kernel at `index`, closed or not, or NULL. */
lze_Kernel *lze_test_kernel(lua_State *L, int index);
/* Raises the errors of a launch with the range or launch table at stack index
   `range` and `count` arguments after it; launches nothing. */
void lze_launch_try(lua_State *L, lze_Kernel *k, int range, int count);
/* Called for each buffer of a launch: of argument `argument`, counted from 0,
   or of `uses` if that is -1. */
typedef void lze_TaskUse(void *data, int argument, const lze_Access *access);
/* Checks range and arguments as a launch does, the range or launch table at
   stack index `range`, `count` arguments after it, and reports what it uses.
   The kernel retains the arguments for lze_task_append until Lua code runs.
   `name` is the task's name in its plan, or NULL.  Returns NULL if the range is
   empty. */
const lze_GroupChoice *lze_task_check(lua_State *L, lze_Kernel *k,
                                      const char *name, int range, int count,
                                      lze_TaskUse *use, void *data);
/* Returns the bytes that the last checked launch reads and writes if each
   work-item accesses one element of each buffer, and no two the same. */
uint64_t lze_kernel_bytes(const lze_Kernel *k);
/* Makes the driver compile what that launch needs in addition to the program,
   if it is cheap. */
void lze_task_prepare(const lze_Kernel *k, const lze_GroupChoice *choice);
/* Appends that launch to a list, each part waiting for the events; the first of
   several parts signals `first`.  Returns false, with the outcome, if that
   fails. */
bool lze_task_append(lze_Kernel *k, const lze_GroupChoice *choice,
                     ze_command_list_handle_t list, ze_event_handle_t signal,
                     ze_event_handle_t first, uint32_t wait_count,
                     ze_event_handle_t *waits, lze_Outcome *out);

/* Returns the operations of each work-item, from the source; NULL if the driver
   compiled the source, or if memory runs out.  Counts at the first call. */
const spirv_flops *lze_kernel_flops(lze_Kernel *k);
/* Returns the input of the group rule for the last checked launch. */
const lze_GroupInput *lze_kernel_input(const lze_Kernel *k);
/* Makes the rule choose again if the same input follows. */
void lze_kernel_forget(lze_Kernel *k);

/* lze_tuned.c: sets `size` to the size that lze.tune has found for a kernel and
   this kind of range, or to zeros. */
void lze_tuned_group(const lze_Kernel *k, const lze_GroupInput *in,
                     uint32_t size[3]);
/* Stores that size; returns true if it can be read back. */
bool lze_tuned_keep(const lze_Kernel *k, const lze_GroupInput *in,
                    const uint32_t size[3]);

/* lze_group_pin.c: raises unless `list` has the format of LZE_GROUP. */
void lze_check_groups(lua_State *L, const char *list);
/* Returns the source of the group size that the user has pinned for a kernel,
   or for a task of a plan ("graph.task", or NULL); NULL if not pinned. */
const char *lze_pinned_group(const lze_Kernel *k, const char *task,
                             uint32_t size[3]);

/* Words for spirv_space and spirv_access. */
extern const char *const lze_space_names[], *const lze_access_names[];
/* [-0, +1] Pushes a new kernel of a module. */
int lze_push_kernel(lua_State *L, lze_Module *m, const spirv_kernel *info);
/* Returns true if the open kernel at `index` may be launched in parts, each
   with an offset, with the same results.  The second function returns true if
   its argument i, counted from 0, may be written. */
bool lze_kernel_splits(lua_State *L, int index);
bool lze_kernel_writes(lua_State *L, int index, uint32_t i);
/* Returns the context of the kernel at stack index `index`; raises if it is
   closed. */
lze_Context *lze_context_of_kernel(lua_State *L, int index);
/* Returns true if there is an open kernel at `index`. */
bool lze_kernel_is_open(lua_State *L, int index);
/* Returns the open kernel of this object, or NULL. */
const lze_Kernel *lze_object_kernel(const lze_Object *o);
/* Closes every kernel of a module. */
void lze_kernels_close(lze_Module *m);
/* Returns the policy with that name.  For an unknown name, raises an error that
   begins with `where` and lists the known policies. */
lze_Policy lze_check_policy(lua_State *L, const char *word,
                            const char *where);

#endif
