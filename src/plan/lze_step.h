/*
 * lze_step.h - the values of a step: checks and copies them, and replaces
 * transient buffers.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_STEP_H
#define LZE_STEP_H

#include "launch/lze_kernel.h"

/* A graph is a table of Lua values, the user value of its userdata:
 *   name      "pipeline"
 *   names     {name = true}, of all entries
 *   entries   array of {kind = "task", name =, n =, [1] ... [n] = values,
 *             device =, access = {[argument] = word}, after = {name, ...},
 *             arrays =, lua =, given =, lengths =, shapes =}
 *             values: of a task: kernel, range, arguments; of a copy: dst, src,
 *             i, j, at; of a fill: x, v, i, j; of a call: the function; of a
 *             graph: its userdata
 *             An array is replaced by its buffer in the values; `arrays` has
 *             {[i] = array}.
 *             For a Lua kernel, `lua` is that kernel and `given` the number of
 *             values that the script gave; the values are those of its variant,
 *             with hidden ones last. `lengths` has {[i] = j} if value i is the
 *             number of elements of value j. `shapes` has {[i] = array} for
 *             arrays of several dimensions, whose sizes are hidden values.
 *   inputs    array of {buffer, when, source}
 *   outputs   array of {buffer, when, destination}
 *   swaps     array of {a, b}
 */

/* The maximum nesting of graphs; deeper nesting is taken for a cycle. */
enum { LZE_MAX_DEPTH = 16 };

typedef enum lze_StepKind {
  LZE_STEP_TASK,
  LZE_STEP_COPY,
  LZE_STEP_FILL,
  LZE_STEP_CALL,
  LZE_STEP_GRAPH
} lze_StepKind;
extern const char *const lze_step_names[];

/* The result of checking a step's values, valid as lze_task_check says. */
typedef struct lze_Checked {
  lze_StepKind kind;
  const char *name;             /* "graph.task"; NULL during recording */
  const lze_DeviceInfo *device; /* of a task; NULL: its kernel's */
  lze_TaskUse *use;             /* called for each buffer */
  void *data;
  lze_Kernel *kernel;
  const lze_GroupChoice *choice; /* NULL: nothing to run */
  lze_Copy copy;
  lze_Fill fill;
} lze_Checked;

/* Checks `count` values from stack index `first` on, in which transient
   buffers have been replaced; the members of `out` from kind to data are
   input. Returns LUA_OK, or an error that is on the stack, which for misuse is
   a message without a position. [-0, +0|1] */
int lze_step_check(lua_State *L, int first, int count, lze_Checked *out);
/* Updates the task at stack index `entry` to its Lua kernel's present variant;
   does nothing for other kernels. Raises. [-0, +0] */
void lze_task_resolve(lua_State *L, int entry, lze_Context *context,
                      const lze_DeviceInfo *device);
/* The same for all tasks of the graph whose table is at `graph`. */
void lze_graph_resolve(lua_State *L, int graph, lze_Context *context,
                       const lze_DeviceInfo *device, int depth);
/* Returns a kernel's argument with that name, from 1; 0 if it has no such
   argument, -1 if several captured variables have that name. */
int lze_named_argument(const lze_Kernel *k, const char *name);
/* An lze_TaskUse that does nothing. */
void lze_use_nothing(void *data, int argument, const lze_Access *access);

/* Pushes values 1 to `count` of the table at `values`. Replaces any value that
   is a key of the table at `map`, also in the `uses` of a launch. For
   transient buffers that are not in the map, adds a stub of that context to
   it. [-0, +count] */
void lze_push_values(lua_State *L, int values, int count, int map,
                     lze_Context *context, const lze_DeviceInfo *device);

/* A buffer that exists only in plans. */
typedef struct lze_Scratch {
  lze_Box box;
  const lze_Type *type;
  lua_Integer count;
  const lze_DeviceInfo *device; /* that has its memory; NULL: any device */
  bool host;                    /* in host memory instead */
} lze_Scratch;
/* Pushes a new one. [-0, +1] */
lze_Scratch *lze_push_scratch(lua_State *L, const lze_Type *type,
                              lua_Integer count);
void lze_open_scratch(lua_State *L);

/* If a table is at stack index `arg`, replaces it by a copy, including nested
   tables up to `depth`: later changes by the script then have no effect. */
void lze_copy_value(lua_State *L, int arg, int depth);

/* Pushes the table of the graph at `arg`; raises for other values, and for a
   closed graph. [-0, +1] */
void lze_push_graph_table(lua_State *L, int arg);

#endif
