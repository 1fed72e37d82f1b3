/*
 * lze_step.h - the values of a step: checked, copied, and transient buffers
 * among them replaced.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_STEP_H
#define LZE_STEP_H

#include "run/lze_kernel.h"

/* A graph is a table of Lua values, the user value of its userdata:
 *   name      "pipeline"
 *   names     {name = true}, of all entries
 *   entries   array of {kind = "task", name =, n =, [1] ... [n] = values,
 *             device =, access = {[argument] = word}, after = {name, ...},
 *             arrays =, lua =, given =, lengths =, shapes =}
 *             values: of a task kernel, range, arguments; of a copy dst, src,
 *             i, j, at; of a fill x, v, i, j; of a call the function; of a
 *             graph its userdata
 *             Values that were given as arrays are their buffers, and `arrays`
 *             has {[i] = array}.
 *             Of a Lua kernel, `lua` is that kernel and `given` how many values
 *             the script gave; the values are those of its variant, hidden
 *             ones last, and `lengths` has {[i] = j} where value i is how many
 *             elements value j has; `shapes` has {[i] = array} for arrays of
 *             several dimensions, whose sizes are among the hidden ones.
 *   inputs    array of {buffer, when, source}
 *   outputs   array of {buffer, when, destination}
 *   swaps     array of {a, b}
 */

/* How deep graphs may be nested; what is deeper is taken for a circle. */
enum { LZE_MAX_DEPTH = 16 };

typedef enum lze_StepKind {
  LZE_STEP_TASK,
  LZE_STEP_COPY,
  LZE_STEP_FILL,
  LZE_STEP_CALL,
  LZE_STEP_GRAPH
} lze_StepKind;
extern const char *const lze_step_names[];

/* What a step's values come to, valid as lze_task_check says. */
typedef struct lze_Checked {
  lze_StepKind kind;
  const char *name;             /* "graph.task"; NULL while recording */
  const lze_DeviceInfo *device; /* of a task; NULL: its kernel's */
  lze_TaskUse *use;             /* called for each buffer */
  void *data;
  lze_Kernel *kernel;
  const lze_GroupChoice *choice; /* NULL: nothing to run */
  lze_Copy copy;
  lze_Fill fill;
} lze_Checked;

/* Check `count` values from stack index `first` on, in which transient buffers
   have been replaced; kind to data of `out` are given.  Returns
   LUA_OK, or an error that is on the stack, a message without a position where
   it is misuse. [-0, +0|1] */
int lze_step_check(lua_State *L, int first, int count, lze_Checked *out);
/* Make the task at stack index `entry` one of the variant that its Lua kernel
   has now; nothing for other kernels.  Raises. [-0, +0] */
void lze_task_resolve(lua_State *L, int entry, lze_Context *context,
                      const lze_DeviceInfo *device);
/* The same for all tasks of the graph whose table is at `graph`. */
void lze_graph_resolve(lua_State *L, int graph, lze_Context *context,
                       const lze_DeviceInfo *device, int depth);
/* The argument of that name of a kernel, from 1; 0 where there is none, -1
   where several variables of that name are captured. */
int lze_named_argument(const lze_Kernel *k, const char *name);
/* A lze_TaskUse that does nothing. */
void lze_use_nothing(void *data, int argument, const lze_Access *access);

/* [-0, +count] the values 1 to count of the table at `values`, those that are
   keys of the table at `map` replaced by what it has for them, also among what
   a launch uses.  Transient buffers that it does not have are given a stub of
   that context, which is added to it. */
void lze_push_values(lua_State *L, int values, int count, int map,
                     lze_Context *context, const lze_DeviceInfo *device);

/* A buffer that exists in plans only. */
typedef struct lze_Scratch {
  lze_Box box;
  const lze_Type *type;
  lua_Integer count;
  const lze_DeviceInfo *device; /* whose memory it is in; NULL: any's */
  bool host;                    /* in the host's instead */
} lze_Scratch;
/* [-0, +1] a new one */
lze_Scratch *lze_push_scratch(lua_State *L, const lze_Type *type,
                              lua_Integer count);
void lze_open_scratch(lua_State *L);

/* Put a copy of the table at the stack's index `arg`, if it is one, in its
   place, with tables within it to that depth: what the script does to its own
   then changes nothing here. */
void lze_copy_value(lua_State *L, int arg, int depth);

/* [-0, +1] the table of the graph at `arg`; raises for anything else, and for
   a closed one. */
void lze_push_graph_table(lua_State *L, int arg);

#endif
