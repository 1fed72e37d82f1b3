/*
 * lze_flatten.c - the steps of a plan: flattens nested graphs, checks each
 * step, and inserts transfers between devices.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_embed.h"
#include "base/lze_error.h"
#include "base/lze_option.h"
#include "base/lze_vector.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "plan/lze_plan.h"

#include <stdlib.h>
#include <string.h>

/* --- steps -------------------------------------------------------------- */

/* Adds a step that is not checked yet; `name` is a string that the plan's
   table keeps alive. */
static void plan_add_step(lua_State *L, lze_Plan *p, lze_StepKind kind,
                          const char *name) {
  uint32_t capacity = p->capacity;
  lze_check_memory(L, LZE_VECTOR_GROW(p->steps, p->count, capacity) &&
                          LZE_VECTOR_GROW(p->nodes, p->count, p->capacity));
  memset(&p->steps[p->count], 0, sizeof *p->steps);
  memset(&p->nodes[p->count], 0, sizeof *p->nodes);
  p->steps[p->count].kind = kind;
  p->steps[p->count].name = name;
  p->nodes[p->count].host = kind == LZE_STEP_CALL;
  p->tasks += kind == LZE_STEP_TASK;
  p->hosted = p->hosted || kind == LZE_STEP_CALL;
  p->count++;
}

/* The data of step_add_access. */
typedef struct Touched {
  lze_Node *node;
  const uint8_t *stated;        /* by argument: a declared access, or 0 */
  bool failed;                  /* memory ran out */
} Touched;

static void step_add_access(void *data, int argument,
                            const lze_Access *access) {
  Touched *touched = data;
  lze_Access a = *access;
  if (touched->stated != NULL && argument >= 0 &&
      touched->stated[argument] != 0) {
    a.read = touched->stated[argument] & SPIRV_ACCESS_READ;
    a.write = touched->stated[argument] & SPIRV_ACCESS_WRITE;
  }
  if (!lze_access_add(touched->node, &a)) touched->failed = true;
}

/* Returns the accesses that the launch table of the step at `step` declares,
   in userdata; NULL if it declares no access. [-0, +1] */
static const uint8_t *step_stated(lua_State *L, int step) {
  if (lze_getoption(L, step, "access") == LUA_TNIL) return NULL;
  size_t size = 1;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
    if ((size_t)lua_tointeger(L, -2) > size)
      size = (size_t)lua_tointeger(L, -2);
  lua_rawgeti(L, step, 1);
  const lze_Kernel *k = lze_test_kernel(L, -1);
  lua_pop(L, 1);
  if (k != NULL && k->info->arg_count > size) size = k->info->arg_count;
  uint8_t *stated = lua_newuserdatauv(L, size, 0);
  memset(stated, 0, size);
  for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1))
    stated[lua_tointeger(L, -2) - 1] = (uint8_t)lua_tointeger(L, -1);
  lua_remove(L, -2);
  return stated;
}

/* Stores the result of checking a step; returns false if memory runs out. */
static bool step_take(lze_Step *s, const lze_Checked *check) {
  free((void *)s->why);
  s->why = NULL;
  s->empty = false;
  if (s->kind == LZE_STEP_COPY) s->empty = check->copy.bytes == 0;
  if (s->kind == LZE_STEP_FILL) s->empty = check->fill.bytes == 0;
  if (s->kind != LZE_STEP_TASK) return true;
  if (s->kernel != check->kernel) {
    if (s->kernel != NULL) lze_unpin(&s->kernel->o);
    s->kernel = check->kernel;
    lze_pin(&s->kernel->o);
  }
  s->empty = check->choice == NULL;
  if (s->empty) return true;
  s->why = strdup(check->choice->why);
  s->parts = (uint32_t)check->choice->count;
  const uint64_t *global = lze_kernel_input(s->kernel)->global;
  s->items = global[0] * global[1] * global[2];
  s->moved = lze_kernel_bytes(s->kernel);
  memcpy(s->group, check->choice->parts[0].group, sizeof s->group);
  return s->why != NULL;
}

int lze_plan_check_step(lua_State *L, lze_Plan *p, int table, int step,
                     uint32_t i) {
  int top = lua_gettop(L);
  const uint8_t *stated = step_stated(L, step);
  lze_getoption(L, step, "n");
  int count = (int)lua_tointeger(L, -1);
  lze_getoption(L, table, "stubs");
  int stubs = lua_gettop(L);
  lze_push_values(L, step, count, stubs, p->o.context, p->device);
  lze_Step *s = &p->steps[i];
  Touched touched = {.node = &p->nodes[i], .stated = stated};
  touched.node->access_count = 0;
  lze_Checked check = {.kind = s->kind, .name = s->name, .device = s->device,
                       .use = step_add_access, .data = &touched};
  int status = lze_step_check(L, stubs + 1, count, &check);
  if (status != LUA_OK) {
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return status;
  }
  bool taken = step_take(s, &check);
  if (check.choice != NULL) lze_task_prepare(check.kernel, check.choice);
  /* A step that runs nothing has no effect on the order. */
  if (s->empty) touched.node->access_count = 0;
  s->bytes = 0;
  for (uint32_t a = 0; a < touched.node->access_count; a++) {
    const lze_Access *x = &touched.node->accesses[a];
    s->bytes += (x->last - x->first) * ((uint32_t)x->read + x->write);
  }
  lua_settop(L, top);
  lze_check_memory(L, taken && !touched.failed);
  return LUA_OK;
}

/* --- flattening --------------------------------------------------------- */

typedef struct Compiler {
  lze_Plan *p;
  int table;                    /* the plan's */
  int problems;                 /* an array of messages */
  int shadows;                  /* {buffer = {device = {staging, shadow, n}}} */
} Compiler;

/* Adds the message at the top of the stack to the problems. [-1, +0] */
static void problem_add(lua_State *L, const Compiler *c) {
  lua_rawseti(L, c->problems, (lua_Integer)lua_rawlen(L, c->problems) + 1);
}

/* Adds a problem of step s; the message is at the top of the stack. [-1, +0] */
static void compile_problem(lua_State *L, const Compiler *c,
                            const lze_Step *s) {
  if (lua_type(L, -1) != LUA_TSTRING) lua_error(L);
  lua_pushfstring(L, "%s %s: %s", lze_step_names[s->kind], s->name,
                  lua_tostring(L, -1));
  problem_add(L, c);
  lua_pop(L, 1);
}

/* Adds the step whose table, with its name, is on the top of the stack, to run
   on that device. [-1, +0] */
static void compile_plain_step(lua_State *L, const Compiler *c,
                               lze_StepKind kind,
                               const lze_DeviceInfo *device) {
  int step = lua_gettop(L);
  lze_getoption(L, step, "name");
  plan_add_step(L, c->p, kind, lua_tostring(L, -1));
  uint32_t i = c->p->count - 1;
  c->p->steps[i].device = device;
  c->p->spread = c->p->spread || device != c->p->device;
  lze_getoption(L, c->table, "steps");
  lua_pushvalue(L, step);
  lua_rawseti(L, -2, (lua_Integer)i + 1);
  if (lze_plan_check_step(L, c->p, c->table, step, i) != LUA_OK)
    compile_problem(L, c, &c->p->steps[i]);
  lua_settop(L, step - 1);
}

/* Returns the device that the value at `index` belongs to, or NULL if `device`
   can use it too. */
static const lze_DeviceInfo *value_home(lua_State *L, int index,
                                        const lze_DeviceInfo *device) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b == NULL || !lze_buffer_is_open(b)) return NULL;
  const lze_Storage *s = b->storage;
  if (s->device == device || s->usage == LZE_HOST) return NULL;
  return s->usage == LZE_DEVICE || !lze_device_reaches(device, s)
             ? s->device : NULL;
}

/* Replaces the name at the top of the stack by a step that copies from the
   value at stack index src to that at dst. [-1, +1] */
static void name_to_copy(lua_State *L, int dst, int src) {
  lua_createtable(L, 5, 2);
  lua_insert(L, -2);
  lua_setfield(L, -2, "name");
  lua_pushvalue(L, dst);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, src);
  lua_rawseti(L, -2, 2);
  lua_pushinteger(L, 5);
  lua_setfield(L, -2, "n");
}

/* Adds a step that copies from the value at stack index src to that at dst,
   named by the string at the top of the stack. [-1, +0] */
static void compile_move(lua_State *L, const Compiler *c, int dst, int src,
                         const lze_DeviceInfo *device) {
  name_to_copy(L, dst, src);
  compile_plain_step(L, c, LZE_STEP_COPY, device);
}

/* A task's argument in memory of another device. */
typedef struct Remote {
  int argument;                 /* position among the values */
  int buffer, staging, shadow;  /* stack indices */
  uint32_t number;              /* of the shadow */
  const lze_DeviceInfo *home, *device;
  bool written;
} Remote;

/* Reports overlapping remote arguments: their copies would be brought back one
   after the other, so the second would overwrite changes in the first. */
static void remotes_check(lua_State *L, const Compiler *c, const lze_Step *task,
                          const Remote *remotes, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    const Remote *x = &remotes[i];
    lze_Access a = lze_buffer_span(lze_test_buffer(L, x->buffer));
    for (uint32_t j = 0; j < i; j++) {
      const Remote *y = &remotes[j];
      lze_Access b = lze_buffer_span(lze_test_buffer(L, y->buffer));
      if (x->number == y->number || !lze_access_meets(&a, &b) ||
          !(x->written || y->written))
        continue;
      lua_pushfstring(L, "arguments %d and %d overlap, in memory of another "
                         "device", y->argument - 2, x->argument - 2);
      compile_problem(L, c, task);
    }
  }
}

/* Pushes the host memory for copies between the buffer on the top of the stack
   and its shadow on that device, and the shadow. All tasks on the device share
   both. Returns the shadow's number. [-0, +2] */
static uint32_t shadow_push(lua_State *L, const Compiler *c,
                            const lze_DeviceInfo *device) {
  int buffer = lua_gettop(L);
  const lze_Buffer *b = lze_test_buffer(L, buffer);
  lua_pushvalue(L, buffer);
  if (lua_rawget(L, c->shadows) != LUA_TTABLE) {
    lua_newtable(L);
    lua_pushvalue(L, buffer);
    lua_pushvalue(L, -2);
    lua_rawset(L, c->shadows);
    lua_remove(L, -2);
  }
  if (lua_rawgetp(L, -1, device) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_createtable(L, 3, 0);
    lze_push_scratch(L, b->type, b->count)->host = true;
    lua_rawseti(L, -2, 1);
    lze_push_scratch(L, b->type, b->count)->device = device;
    lua_rawseti(L, -2, 2);
    lua_pushinteger(L, c->p->shadow_count++);
    lua_rawseti(L, -2, 3);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, buffer + 1, device);
  }
  for (int i = 1; i <= 3; i++) lua_rawgeti(L, buffer + 2, i);
  uint32_t number = (uint32_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  lua_replace(L, buffer + 2);
  lua_replace(L, buffer + 1);
  return number;
}

/* Adds a copy step for an argument of the task with that name. */
static void remote_copy(lua_State *L, const Compiler *c, const Remote *r,
                        const char *name, lze_CopyPart part) {
  static const char *const words[] = {"", "to the host", "to the device",
                                      "from the device", "from the host"};
  bool home = part == LZE_COPY_OUT || part == LZE_COPY_BACK_IN;
  int dst = part == LZE_COPY_IN        ? r->shadow
            : part == LZE_COPY_BACK_IN ? r->buffer
                                       : r->staging;
  int src = part == LZE_COPY_OUT        ? r->buffer
            : part == LZE_COPY_BACK_OUT ? r->shadow
                                        : r->staging;
  lua_pushfstring(L, "%s (argument %d %s)", name, r->argument - 2, words[part]);
  compile_move(L, c, dst, src, home ? r->home : r->device);
  lze_Step *s = &c->p->steps[c->p->count - 1];
  s->copy = part;
  s->shadow = r->number;
}

/* Returns true if a task writes to the stub of a shadow. A task that runs
   nothing yet may do so after plan:set. */
static bool remote_is_written(const lze_Plan *p, uint32_t task,
                              const lze_Buffer *stub) {
  const lze_Node *node = &p->nodes[task];
  for (uint32_t a = 0; a < node->access_count; a++)
    if (node->accesses[a].storage == stub->storage && node->accesses[a].write)
      return true;
  return p->steps[task].empty;
}

/* Adds the task whose table is on the top of the stack, with shadows for
   arguments in memory of other devices. [-1, +0] */
static void compile_task(lua_State *L, const Compiler *c,
                         const lze_DeviceInfo *device) {
  int step = lua_gettop(L);
  lze_getoption(L, step, "n");
  lua_Integer count = lua_tointeger(L, -1);
  lze_getoption(L, step, "name");
  const char *name = lua_tostring(L, -1);
  luaL_checkstack(L, 3 * (int)count + 12, "too many arguments");
  Remote *remotes =
      lua_newuserdatauv(L, (size_t)count * sizeof *remotes + 1, 0);
  uint32_t n = 0;
  for (lua_Integer v = 3; v <= count; v++) {
    lua_rawgeti(L, step, v);
    const lze_DeviceInfo *home = value_home(L, -1, device);
    if (home == NULL) {
      lua_pop(L, 1);
      continue;
    }
    int buffer = lua_gettop(L);
    Remote *r = &remotes[n++];
    *r = (Remote){.argument = (int)v, .buffer = buffer, .staging = buffer + 1,
                  .shadow = buffer + 2, .home = home, .device = device};
    r->number = shadow_push(L, c, device);
    remote_copy(L, c, r, name, LZE_COPY_OUT);
    remote_copy(L, c, r, name, LZE_COPY_IN);
    lua_pushvalue(L, r->shadow);
    lua_rawseti(L, step, v);
  }
  lua_pushvalue(L, step);
  compile_plain_step(L, c, LZE_STEP_TASK, device);
  uint32_t task = c->p->count - 1;
  lze_getoption(L, c->table, "stubs");
  int stubs = lua_gettop(L);
  for (uint32_t i = 0; i < n; i++) {
    Remote *r = &remotes[i];
    lua_pushvalue(L, r->shadow);
    lua_rawget(L, stubs);
    r->written = remote_is_written(c->p, task, lze_test_buffer(L, -1));
    lua_pop(L, 1);
    if (!r->written) continue;
    remote_copy(L, c, r, name, LZE_COPY_BACK_OUT);
    remote_copy(L, c, r, name, LZE_COPY_BACK_IN);
  }
  remotes_check(L, c, &c->p->steps[task], remotes, n);
  lua_settop(L, step - 1);
}

/* Adds the step whose table, with its name, is on the top of the stack. [-1,
   +0] */
static void compile_step(lua_State *L, const Compiler *c, lze_StepKind kind) {
  int step = lua_gettop(L);
  const lze_DeviceInfo *device = c->p->device;
  if (lze_getoption(L, step, "device") != LUA_TNIL)
    device = lze_test_device(L, -1);
  lua_pop(L, 1);
  if (device->driver != c->p->o.context->driver) {
    lua_pushfstring(L, "task %s: device: one of another driver than the plan's",
                    lze_getoption(L, step, "name") == LUA_TSTRING
                        ? lua_tostring(L, -1) : "?");
    problem_add(L, c);
    lua_settop(L, step - 1);
    return;
  }
  device = lze_device_in(L, c->p->o.context, device);
  if (kind == LZE_STEP_TASK) {
    compile_task(L, c, device);
    return;
  }
  /* Copies and fills run on the device that has the memory. */
  lua_rawgeti(L, step, 1);
  lua_rawgeti(L, step, 2);
  const lze_DeviceInfo *to = value_home(L, step + 1, device);
  if (to != NULL) device = to;
  const lze_DeviceInfo *from =
      kind == LZE_STEP_COPY ? value_home(L, step + 2, device) : NULL;
  if (from != NULL && to == NULL) {
    /* Either device can do it if it reaches the other's memory. */
    if (value_home(L, step + 1, from) == NULL) {
      device = from;
      from = NULL;
    }
  }
  if (from != NULL) {
    /* Copy src[i..j] to the host, then to dst[at..]. */
    const lze_Buffer *src = lze_test_buffer(L, step + 2);
    lze_getoption(L, step, "name");
    const char *name = lua_tostring(L, -1);
    lze_push_scratch(L, src->type, src->count)->host = true;
    int staging = lua_gettop(L);
    lua_pushfstring(L, "%s (to the host)", name);
    compile_move(L, c, staging, step + 2, from);
    lua_pushvalue(L, staging);
    lua_rawseti(L, step, 2);
  }
  lua_settop(L, step);
  compile_plain_step(L, c, kind, device);
}

/* Adds a step that copies between the buffers at stack indices dst and src. */
static void compile_transfer(lua_State *L, const Compiler *c,
                             const char *prefix, const char *what,
                             lua_Integer number, int dst, int src) {
  lua_pushfstring(L, "%s.%s %d", prefix, what, (int)number);
  name_to_copy(L, dst, src);
  compile_step(L, c, LZE_STEP_COPY);
}

/* Adds the inputs or outputs of a graph. Copies between buffers are steps of
   the plan; the others are made before or after a run. */
static void compile_io(lua_State *L, const Compiler *c, int graph,
                             const char *key, const char *prefix) {
  bool input = strcmp(key, "inputs") == 0;
  int top = lua_gettop(L);
  lze_getoption(L, graph, key);
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, top + 1, i);
    for (int v = 1; v <= 3; v++) lua_rawgeti(L, top + 2, v);
    const char *when = lua_tostring(L, top + 4);
    bool every = strcmp(when, "every") == 0;
    if (every && lze_test_buffer(L, top + 5) != NULL) {
      compile_transfer(L, c, prefix, input ? "input" : "output", i,
                       top + (input ? 3 : 5), top + (input ? 5 : 3));
    } else {
      /* A copy of the entry, with its name. */
      lze_getoption(L, c->table, key);
      lua_createtable(L, 4, 0);
      for (int v = 1; v <= 3; v++) {
        lua_pushvalue(L, top + 2 + v);
        lua_rawseti(L, -2, v);
      }
      lua_pushfstring(L, "%s.%s %d", prefix, input ? "input" : "output",
                      (int)i);
      lua_rawseti(L, -2, 4);
      lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
      c->p->hosted = c->p->hosted ||
                     (every && !input && lua_istable(L, top + 5));
      c->p->fills_inputs =
          c->p->fills_inputs || (input && !lua_isnil(L, top + 5));
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

/* Makes a step depend on the steps that the names in `after` stand for. The
   table at `names` maps each name of this graph to its steps. */
static void compile_after(lua_State *L, lze_Plan *p, int entry, int names,
                          uint32_t step) {
  if (lze_getoption(L, entry, "after") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    lua_rawget(L, names); /* first step * 2^32 + last */
    lua_Integer range = lua_tointeger(L, -1);
    lua_pop(L, 1);
    for (uint32_t j = (uint32_t)(range >> 32); j < (uint32_t)range; j++)
      lze_check_memory(L, lze_numbers_add(&p->nodes[step].after, j));
  }
  lua_pop(L, 1);
}

/* Adds the contents of the graph whose table is at the top of the stack. [-1,
   +0] */
static void compile_graph(lua_State *L, const Compiler *c, const char *prefix,
                          int depth) {
  static const char *const kept[] = {"n", "access", "device", "lengths",
                                     "shapes", "dimensions"};
  int graph = lua_gettop(L);
  luaL_checkstack(L, 20, NULL);
  if (depth > LZE_MAX_DEPTH)
    luaL_error(L, "%s: graphs are nested more than %d deep, or in a circle",
               c->p->name, LZE_MAX_DEPTH);
  lua_newtable(L);
  int names = graph + 1;
  compile_io(L, c, graph, "inputs", prefix);
  lze_getoption(L, graph, "entries");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    uint32_t first = c->p->count;
    lua_rawgeti(L, graph + 2, i);
    int entry = graph + 3;
    lze_getoption(L, entry, "kind");
    lze_getoption(L, entry, "name");
    int kind = 0;
    while (strcmp(lze_step_names[kind], lua_tostring(L, -2)) != 0) kind++;
    const char *name =
        lua_pushfstring(L, "%s.%s", prefix, lua_tostring(L, -1));
    if (kind == LZE_STEP_GRAPH) {
      lua_rawgeti(L, entry, 1);
      lze_push_graph_table(L, -1);
      compile_graph(L, c, name, depth + 1);
    } else {
      lua_newtable(L);
      lua_pushvalue(L, -2);
      lua_setfield(L, -2, "name");
      for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
        lze_getoption(L, entry, kept[k]);
        lua_setfield(L, -2, kept[k]);
      }
      lze_getoption(L, entry, "n");
      lua_Integer values = lua_tointeger(L, -1);
      lua_pop(L, 1);
      for (lua_Integer v = 1; v <= values; v++) {
        lua_rawgeti(L, entry, v);
        lua_rawseti(L, -2, v);
      }
      compile_step(L, c, (lze_StepKind)kind);
    }
    for (uint32_t s = first; s < c->p->count; s++)
      compile_after(L, c->p, entry, names, s);
    lze_getoption(L, entry, "name");
    lua_pushinteger(L, (lua_Integer)first << 32 | c->p->count);
    lua_rawset(L, names);
    lua_settop(L, graph + 2);
  }
  compile_io(L, c, graph, "outputs", prefix);
  lze_getoption(L, graph, "swaps");
  n = (lua_Integer)lua_rawlen(L, -1);
  lze_getoption(L, c->table, "swaps");
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -2, i);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_settop(L, graph - 1);
}

/* --- batches ------------------------------------------------------------ */

/* splits(kernel) -> the number of its arguments; false if its launches cannot
   be split, nil if it is closed */
static int batch_splits(lua_State *L) {
  const lze_Kernel *k = lze_test_kernel(L, 1);
  if (k == NULL || k->o.closed) return 0;
  if (lze_kernel_splits(L, 1)) lua_pushinteger(L, k->info->arg_count);
  else lua_pushboolean(L, false);
  return 1;
}

/* writes(kernel, i, stated) -> boolean: true if it writes argument i,
   according to the launch table or to the kernel's analysis */
static int batch_writes(lua_State *L) {
  const spirv_arg *a =
      &lze_test_kernel(L, 1)->info->args[lua_tointeger(L, 2) - 1];
  lua_Integer access = lua_isinteger(L, 3) ? lua_tointeger(L, 3)
                       : a->is_const       ? SPIRV_ACCESS_READ
                                           : a->access;
  lua_pushboolean(L, access & SPIRV_ACCESS_WRITE);
  return 1;
}

/* extent(value) -> its kind and, for an open buffer, the number of its
   elements, the bytes of each, and the address of the first */
static int batch_extent(lua_State *L) {
  const char *kind = lze_box_kind(L, 1);
  const lze_Buffer *b = lze_test_buffer(L, 1);
  if (kind == NULL) return 0;
  lua_pushstring(L, kind);
  if (b == NULL || !lze_buffer_is_open(b)) return 1;
  lua_pushinteger(L, b->count);
  lua_pushinteger(L, b->type->bytes);
  lua_pushinteger(L, (lua_Integer)(uintptr_t)(b->storage->pointer + b->offset));
  return 4;
}

/* view(buffer, first, count) -> a view of these elements, from 0 */
static int batch_view(lua_State *L) {
  const lze_Buffer *b = lze_test_buffer(L, 1);
  size_t first = (size_t)lua_tointeger(L, 2);
  lze_push_window(L, 1, b->offset + first * b->type->bytes, b->type,
                  lua_tointeger(L, 3));
  return 1;
}

/* scratch(buffer, count, device) -> a transient buffer of its type on that
   device */
static int batch_scratch(lua_State *L) {
  const lze_Buffer *b = lze_test_buffer(L, 1);
  lze_push_scratch(L, b->type, lua_tointeger(L, 2))->device =
      lua_touserdata(L, 3);
  return 1;
}

static const unsigned char batch_text[] = {
#include "lua/batch.h"
};
static const lze_Method batch_primitives[] = {
    {"splits", batch_splits, LZE_UNGUARDED},
    {"writes", batch_writes, LZE_UNGUARDED},
    {"extent", batch_extent, LZE_UNGUARDED},
    {"view", batch_view, LZE_UNGUARDED},
    {"scratch", batch_scratch, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};
static const lze_Script batch_script = {"lze batch.lua", batch_text,
                                        sizeof batch_text, batch_primitives};

/* Adds the tasks of the graph whose table is at `graph`, in batches such that
   two of them together need at most `limit` bytes. Returns false if all tasks
   together need no more. */
static bool compile_batches(lua_State *L, const Compiler *c, int graph,
                            const char *prefix, size_t limit) {
  lze_Plan *p = c->p;
  int list = lua_gettop(L) + 1;
  lua_pushstring(L, p->name);
  lua_pushstring(L, prefix);
  lua_pushvalue(L, graph);
  lua_pushinteger(L, (lua_Integer)limit);
  lua_pushinteger(L, LZE_PLACE_ALIGNMENT);
  lua_pushlightuserdata(L, (void *)p->device);
  lze_script_call(L, &batch_script, "batches", 6, 1);
  bool some = lua_istable(L, list);
  if (some) {
    compile_io(L, c, graph, "inputs", prefix);
    uint32_t before = 0, last = p->count; /* the first steps of the last two */
    for (lua_Integer b = 1; lua_rawgeti(L, list, b) != LUA_TNIL; b++) {
      uint32_t from = p->count;
      for (lua_Integer s = 1; lua_rawgeti(L, list + 1, s) != LUA_TNIL; s++) {
        lze_getoption(L, -1, "kind");
        bool task = strcmp(lua_tostring(L, -1), "task") == 0;
        lua_pop(L, 1);
        compile_plain_step(L, c, task ? LZE_STEP_TASK : LZE_STEP_COPY,
                           p->device);
      }
      lua_settop(L, list);
      /* All of this batch runs after all of the batch before the last. */
      for (uint32_t i = from; i < p->count && b > 2; i++)
        for (uint32_t j = before; j < last; j++)
          lze_check_memory(L, lze_numbers_add(&p->nodes[i].after, j));
      before = last;
      last = from;
    }
    lua_settop(L, list);
    compile_io(L, c, graph, "outputs", prefix);
  }
  lua_settop(L, list - 1);
  return some;
}

static bool span_is(const lze_Access *a, const lze_Access *b) {
  return a->storage == b->storage && a->first == b->first &&
         a->last == b->last;
}

/* Adds a swap; nested graphs may request the same one. Returns false if a part
   of it is already swapped with another buffer. */
static bool swap_add(lze_Plan *p, const lze_Buffer *a, const lze_Buffer *b) {
  struct lze_Swap s = {lze_buffer_span(a), lze_buffer_span(b)};
  for (uint32_t i = 0; i < p->swap_count; i++) {
    const struct lze_Swap *known = &p->swaps[i];
    if ((span_is(&s.a, &known->a) && span_is(&s.b, &known->b)) ||
        (span_is(&s.a, &known->b) && span_is(&s.b, &known->a)))
      return true;
  }
  lze_Access there = s.a, back = s.b;
  bool split;
  if (lze_swap_access(p, &there, &split) || lze_swap_access(p, &back, &split))
    return false;
  lze_own(&s.a.storage->o);
  lze_own(&s.b.storage->o);
  p->swaps[p->swap_count++] = s;
  return true;
}

/* Returns why the host may not use the value at `index` when buffers are
   swapped, or NULL. */
static const char *value_problem(lua_State *L, const lze_Plan *p, int index) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b == NULL || !lze_buffer_is_open(b)) return NULL;
  lze_Access span = lze_buffer_span(b);
  return lze_swap_problem(p, NULL, &span, 1);
}

/* Reports copies between the host and buffers that involve only a part of a
   swapped buffer. In the first run nothing is swapped yet. */
static void io_check(lua_State *L, const Compiler *c, const char *key) {
  int top = lua_gettop(L);
  lze_getoption(L, c->table, key);
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, top + 1, i);
    for (int v = 1; v <= 4; v++) lua_rawgeti(L, top + 2, v);
    bool moves = !lua_isnil(L, top + 5) &&
                 strcmp(lua_tostring(L, top + 4), "first") != 0;
    const char *problem = moves ? value_problem(L, c->p, top + 3) : NULL;
    if (moves && problem == NULL) problem = value_problem(L, c->p, top + 5);
    if (problem != NULL) {
      lua_pushfstring(L, "%s: %s", lua_tostring(L, top + 6), problem);
      problem_add(L, c);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

/* Reads the swaps, and checks that every step that uses one of the buffers may
   use the other. */
static void compile_swaps(lua_State *L, const Compiler *c) {
  lze_Plan *p = c->p;
  int top = lua_gettop(L);
  lze_getoption(L, c->table, "swaps");
  uint32_t n = (uint32_t)lua_rawlen(L, -1);
  if (n == 0) {
    lua_settop(L, top);
    return;
  }
  p->swaps = calloc(n, sizeof *p->swaps);
  lze_check_memory(L, p->swaps != NULL);
  for (uint32_t i = 0; i < n; i++) {
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    const lze_Buffer *a = lze_test_buffer(L, -2), *b = lze_test_buffer(L, -1);
    const char *problem =
        !lze_buffer_is_open(a) || !lze_buffer_is_open(b)
            ? "swap: a buffer is closed"
        : !swap_add(p, a, b) ? "swap: a buffer changes places with two others"
                             : NULL;
    if (problem != NULL) {
      lua_pushstring(L, problem);
      problem_add(L, c);
    }
    lua_settop(L, top + 1);
  }
  p->parities = 2;
  for (uint32_t i = 0; i < p->count; i++) {
    const lze_Node *node = &p->nodes[i];
    const char *problem = lze_swap_problem(p, p->steps[i].device,
                                           node->accesses, node->access_count);
    if (problem == NULL) continue;
    lua_pushstring(L, problem);
    compile_problem(L, c, &p->steps[i]);
  }
  io_check(L, c, "inputs");
  io_check(L, c, "outputs");
  lua_settop(L, top);
}

/* Raises all problems in one message, if there are any. */
static void compile_raise(lua_State *L, const Compiler *c) {
  lua_Integer n = (lua_Integer)lua_rawlen(L, c->problems);
  if (n == 0) return;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (lua_Integer i = 1; i <= n; i++) {
    if (n > 1) luaL_addstring(&b, "\n  ");
    lua_rawgeti(L, c->problems, i);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  if (n == 1) luaL_error(L, "%s: %s", c->p->name, lua_tostring(L, -1));
  luaL_error(L, "%s: %I problems:%s", c->p->name, (LUAI_UACINT)n,
             lua_tostring(L, -1));
}

/* --- all of it ------------------------------------------------------------ */

void lze_flatten(lua_State *L, lze_Plan *p, int table, int graph,
                 const char *name) {
  int top = lua_gettop(L);
  lua_newtable(L);
  lua_newtable(L);
  Compiler c = {.p = p, .table = table, .problems = top + 1,
                .shadows = top + 2};
  if (p->batch_bytes == 0 ||
      !compile_batches(L, &c, graph, name, p->batch_bytes)) {
    lua_pushvalue(L, graph);
    compile_graph(L, &c, name, 0);
    compile_swaps(L, &c);
  }
  compile_raise(L, &c);
  lua_settop(L, top);
}
