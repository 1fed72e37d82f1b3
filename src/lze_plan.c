/*
 * lze_plan.c - graphs compiled for a device: steps, memory, runs.
 * SPDX-License-Identifier: MIT
 */
#include "lze_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of transient buffers that share memory; that of every element type. */
enum { PLACE_ALIGNMENT = 128 };

/* Graphs in graphs in graphs; more are taken for a circle. */
enum { MAX_DEPTH = 16 };

/* Queues that a plan uses of each engine when it is not told. */
enum { DEFAULT_WIDTH = 4 };

/* --- objects ------------------------------------------------------------ */

static void plan_destroy(lze_Object *o) {
  lze_Plan *p = (lze_Plan *)o;
  lze_plan_strip(p);
  if (p->last != NULL) lze_command_disown(p->last);
  p->last = NULL;
  lze_run_drop(o->context->state, p->spare);
  p->spare = NULL;
  for (uint32_t i = 0; i < p->storage_count; i++)
    lze_disown(&p->storages[i]->o);
  p->storage_count = 0;
  for (uint32_t i = 0; i < p->count; i++)
    if (p->steps[i].kernel != NULL) lze_unpin(&p->steps[i].kernel->o);
  if (p->queue != NULL) lze_disown(&p->queue->o);
  p->queue = NULL;
}

static void plan_release(lze_Object *o) {
  lze_Plan *p = (lze_Plan *)o;
  for (uint32_t i = 0; i < p->count; i++) {
    free((void *)p->steps[i].why);
    lze_node_free(&p->nodes[i]);
  }
  lze_schedule_free(&p->schedule);
  free(p->steps);
  free(p->nodes);
  free(p->tapes);
  free(p->old_tapes);
  free(p->captured);
  free(p->storages);
  free(p->swaps);
}

static const lze_Class plan_class = {"plan", plan_destroy, plan_release};

static void check_memory(lua_State *L, bool good) {
  if (!good) luaL_error(L, "not enough memory");
}

lze_Plan *lze_check_plan(lua_State *L) {
  lze_PlanBox *b = lze_check_box(L, 1, lze_plan_kind);
  if (b->plan == NULL || b->plan->o.closed)
    lze_closed(L, 1, lze_plan_kind);
  return b->plan;
}

/* --- steps -------------------------------------------------------------- */

/* One more step, not looked at yet; `name` is a string that the plan's table
   keeps. */
static void plan_add_step(lua_State *L, lze_Plan *p, lze_StepKind kind,
                          const char *name) {
  if (p->count == p->capacity) {
    uint32_t wanted = p->capacity == 0 ? 16 : 2 * p->capacity;
    void *steps = realloc(p->steps, wanted * sizeof *p->steps);
    if (steps != NULL) p->steps = steps;
    void *nodes = realloc(p->nodes, wanted * sizeof *p->nodes);
    if (nodes != NULL) p->nodes = nodes;
    check_memory(L, steps != NULL && nodes != NULL);
    p->capacity = wanted;
  }
  memset(&p->steps[p->count], 0, sizeof *p->steps);
  memset(&p->nodes[p->count], 0, sizeof *p->nodes);
  p->steps[p->count].kind = kind;
  p->steps[p->count].name = name;
  p->nodes[p->count].host = kind == LZE_STEP_CALL;
  p->hosted = p->hosted || kind == LZE_STEP_CALL;
  p->count++;
}

/* What step_use needs to know. */
typedef struct Look {
  lze_Node *node;
  const uint8_t *stated;        /* by argument: an access, or 0 */
  bool failed;                  /* no memory */
} Look;

static void step_use(void *data, int argument, const lze_Access *access) {
  Look *look = data;
  lze_Access a = *access;
  if (look->stated != NULL && argument >= 0 && look->stated[argument] != 0) {
    a.read = look->stated[argument] & SPIRV_ACCESS_READ;
    a.write = look->stated[argument] & SPIRV_ACCESS_WRITE;
  }
  look->failed = look->failed || !lze_access_add(look->node, &a);
}

/* What a launch table states of the accesses of step `step`, in userdata;
   NULL where it states nothing. [-0, +1] */
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

void lze_plan_kernel(lua_State *L, int index, const lze_DeviceInfo *device) {
  const lze_Kernel *k = lze_test_kernel(L, index);
  if (k == NULL || k->o.closed || k->module->device == device) return;
  lze_push_kernel_for(L, index, device);
  lua_replace(L, index);
}

/* In a protected call: a step's kernel and its device. */
static int kernel_protected(lua_State *L) {
  lze_plan_kernel(L, 1, lua_touserdata(L, 2));
  lua_settop(L, 1);
  return 1;
}

/* Check the values of step i, whose table is at stack index `step`, and keep
   what they come to. Returns LUA_OK, or an error that is on the stack. The
   plan's table is at `table`. [-0, +0|1] */
static int step_look(lua_State *L, lze_Plan *p, int table, int step,
                     uint32_t i) {
  int top = lua_gettop(L);
  const uint8_t *stated = step_stated(L, step);
  lze_getoption(L, step, "n");
  int count = (int)lua_tointeger(L, -1);
  lze_getoption(L, table, "stubs");
  int stubs = lua_gettop(L);
  lze_push_values(L, step, count, stubs, p->o.context, p->device);
  lze_Step *s = &p->steps[i];
  if (s->kind == LZE_STEP_TASK) {
    lua_pushcfunction(L, kernel_protected);
    lua_pushvalue(L, stubs + 1);
    lua_pushlightuserdata(L, (void *)s->device);
    int status = lua_pcall(L, 2, 1, 0);
    if (status != LUA_OK) {
      lua_replace(L, top + 1);
      lua_settop(L, top + 1);
      return status;
    }
    lua_replace(L, stubs + 1);
  }
  Look look = {.node = &p->nodes[i], .stated = stated};
  look.node->access_count = 0;
  lze_Checked check = {
      .kind = s->kind, .name = s->name, .use = step_use, .data = &look};
  int status = lze_step_check(L, stubs + 1, count, &check);
  if (status != LUA_OK) {
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return status;
  }
  free((void *)s->why);
  s->why = NULL;
  s->empty = false;
  if (s->kind == LZE_STEP_TASK) {
    if (s->kernel != check.kernel) {
      if (s->kernel != NULL) lze_unpin(&s->kernel->o);
      s->kernel = check.kernel;
      lze_pin(&s->kernel->o);
    }
    s->empty = check.choice == NULL;
    if (!s->empty) {
      s->why = strdup(check.choice->why);
      look.failed = look.failed || s->why == NULL;
      s->parts = (uint32_t)check.choice->count;
      memcpy(s->group, check.choice->parts[0].group, sizeof s->group);
    }
  } else if (s->kind == LZE_STEP_COPY) {
    s->empty = check.copy.bytes == 0;
  } else if (s->kind == LZE_STEP_FILL) {
    s->empty = check.fill.bytes == 0;
  }
  /* What runs nothing orders nothing. */
  if (s->empty) look.node->access_count = 0;
  s->bytes = 0;
  for (uint32_t a = 0; a < look.node->access_count; a++) {
    const lze_Access *x = &look.node->accesses[a];
    s->bytes += (x->last - x->first) * ((uint32_t)x->read + x->write);
  }
  lua_settop(L, top);
  check_memory(L, !look.failed);
  return LUA_OK;
}

/* --- flattening --------------------------------------------------------- */

typedef struct Compiler {
  lze_Plan *p;
  int table;                    /* the plan's */
  int problems;                 /* an array of messages */
} Compiler;

/* Keep what is wrong with step i, the message on the top. [-1, +0] */
static void compile_problem(lua_State *L, const Compiler *c,
                            const lze_Step *s) {
  if (lua_type(L, -1) != LUA_TSTRING) lua_error(L);
  lua_pushfstring(L, "%s %s: %s", lze_step_names[s->kind], s->name,
                  lua_tostring(L, -1));
  lua_rawseti(L, c->problems, (lua_Integer)lua_rawlen(L, c->problems) + 1);
  lua_pop(L, 1);
}

/* Add the step whose table is on the top of the stack, and has its name, to run
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
  if (step_look(L, c->p, c->table, step, i) != LUA_OK)
    compile_problem(L, c, &c->p->steps[i]);
  lua_settop(L, step - 1);
}

/* The device that the value at `index` is for, or NULL where it is for
   `device` too. */
static const lze_DeviceInfo *value_home(lua_State *L, int index,
                                        const lze_DeviceInfo *device) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b == NULL || !lze_buffer_is_open(b)) return NULL;
  const lze_Storage *s = b->storage;
  if (s->device == device || s->usage == LZE_HOST) return NULL;
  return s->usage == LZE_DEVICE || !lze_device_reaches(device, s)
             ? s->device : NULL;
}

/* A step that copies from the value at stack index src to that at dst, named
   by the string at the top of the stack. [-1, +0] */
static void compile_move(lua_State *L, const Compiler *c, int dst, int src,
                         const lze_DeviceInfo *device) {
  lua_createtable(L, 5, 2);
  lua_insert(L, -2);
  lua_setfield(L, -2, "name");
  lua_pushvalue(L, dst);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, src);
  lua_rawseti(L, -2, 2);
  lua_pushinteger(L, 5);
  lua_setfield(L, -2, "n");
  compile_plain_step(L, c, LZE_STEP_COPY, device);
}

/* A task on a device uses memory of another: by way of the host, what it needs
   comes to a buffer of its own before it, and what it has written goes back
   after it. */
typedef struct Visit {
  int argument;                 /* position among the values */
  int buffer, staging, shadow;  /* on the stack */
  const lze_DeviceInfo *home;
} Visit;

/* The task whose table is on the top of the stack, with the device buffers of
   others replaced. [-1, +0] */
static void compile_visits(lua_State *L, const Compiler *c,
                           const lze_DeviceInfo *device) {
  int step = lua_gettop(L);
  lze_getoption(L, step, "n");
  lua_Integer count = lua_tointeger(L, -1);
  lze_getoption(L, step, "name");
  const char *name = lua_tostring(L, -1);
  luaL_checkstack(L, 3 * (int)count + 12, "too many arguments");
  Visit *visits = lua_newuserdatauv(L, (size_t)count * sizeof *visits + 1, 0);
  uint32_t n = 0;
  for (lua_Integer v = 3; v <= count; v++) {
    lua_rawgeti(L, step, v);
    const lze_DeviceInfo *home = value_home(L, -1, device);
    if (home == NULL) {
      lua_pop(L, 1);
      continue;
    }
    const lze_Buffer *b = lze_test_buffer(L, -1);
    Visit *t = &visits[n++];
    *t = (Visit){(int)v, lua_gettop(L), lua_gettop(L) + 1, lua_gettop(L) + 2,
                 home};
    lze_push_scratch(L, b->type, b->count)->host = true;
    lze_push_scratch(L, b->type, b->count)->device = device;
    lua_pushfstring(L, "%s (argument %d to the host)", name, (int)v - 2);
    compile_move(L, c, t->staging, t->buffer, home);
    lua_pushfstring(L, "%s (argument %d to the device)", name, (int)v - 2);
    compile_move(L, c, t->shadow, t->staging, device);
    lua_pushvalue(L, t->shadow);
    lua_rawseti(L, step, v);
  }
  lua_pushvalue(L, step);
  compile_plain_step(L, c, LZE_STEP_TASK, device);
  uint32_t task = c->p->count - 1;
  lze_getoption(L, c->table, "stubs");
  int stubs = lua_gettop(L);
  for (uint32_t i = 0; i < n; i++) {
    const Visit *t = &visits[i];
    lua_pushvalue(L, t->shadow);
    lua_rawget(L, stubs);
    const lze_Buffer *stub = lze_test_buffer(L, -1);
    bool written = false;
    for (uint32_t a = 0; a < c->p->nodes[task].access_count; a++)
      if (c->p->nodes[task].accesses[a].storage == stub->storage)
        written = written || c->p->nodes[task].accesses[a].write;
    lua_pop(L, 1);
    if (!written) continue;
    lua_pushfstring(L, "%s (argument %d from the device)", name,
                    t->argument - 2);
    compile_move(L, c, t->staging, t->shadow, device);
    lua_pushfstring(L, "%s (argument %d from the host)", name,
                    t->argument - 2);
    compile_move(L, c, t->buffer, t->staging, t->home);
  }
  lua_settop(L, step - 1);
}

/* Add the step whose table is on the top of the stack; its name is there
   already. [-1, +0] */
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
    lua_rawseti(L, c->problems, (lua_Integer)lua_rawlen(L, c->problems) + 1);
    lua_settop(L, step - 1);
    return;
  }
  if (kind == LZE_STEP_TASK) {
    compile_visits(L, c, device);
    return;
  }
  /* Copies and fills run where the memory is. */
  lua_rawgeti(L, step, 1);
  lua_rawgeti(L, step, 2);
  const lze_DeviceInfo *to = value_home(L, step + 1, device);
  if (to != NULL) device = to;
  const lze_DeviceInfo *from =
      kind == LZE_STEP_COPY ? value_home(L, step + 2, device) : NULL;
  if (from != NULL && to == NULL) {
    /* Either end will do where it reaches the other. */
    if (value_home(L, step + 1, from) == NULL) {
      device = from;
      from = NULL;
    }
  }
  if (from != NULL) {
    /* src[i..j] to the host, then to dst[at..] */
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

/* A step that copies between the buffers at stack indices dst and src. */
static void compile_transfer(lua_State *L, const Compiler *c,
                             const char *prefix, const char *what,
                             lua_Integer number, int dst, int src) {
  lua_createtable(L, 5, 2);
  lua_pushvalue(L, dst);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, src);
  lua_rawseti(L, -2, 2);
  lua_pushinteger(L, 5);
  lua_setfield(L, -2, "n");
  lua_pushfstring(L, "%s.%s %d", prefix, what, (int)number);
  lua_setfield(L, -2, "name");
  compile_step(L, c, LZE_STEP_COPY);
}

/* The inputs or outputs of a graph: copies between buffers are steps of the
   plan, the rest is done before and after a run. */
static void compile_promises(lua_State *L, const Compiler *c, int graph,
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
      lze_getoption(L, c->table, key);
      lua_pushvalue(L, top + 2);
      lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
      c->p->hosted = c->p->hosted ||
                     (every && !input && lua_istable(L, top + 5));
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

/* The steps that the names in `after` stand for; the table of what the names
   of this graph are is at `names`. */
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
      check_memory(L, lze_numbers_add(&p->nodes[step].after, j));
  }
  lua_pop(L, 1);
}

/* Add what is recorded in the graph whose table is at the top of the stack.
   [-1, +0] */
static void compile_graph(lua_State *L, const Compiler *c, const char *prefix,
                          int depth) {
  static const char *const kept[] = {"n", "access", "device"};
  int graph = lua_gettop(L);
  luaL_checkstack(L, 20, NULL);
  if (depth > MAX_DEPTH)
    luaL_error(L, "%s: graphs are nested more than %d deep, or in a circle",
               c->p->name, MAX_DEPTH);
  lua_newtable(L);
  int names = graph + 1;
  compile_promises(L, c, graph, "inputs", prefix);
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
  compile_promises(L, c, graph, "outputs", prefix);
  lze_getoption(L, graph, "swaps");
  n = (lua_Integer)lua_rawlen(L, -1);
  lze_getoption(L, c->table, "swaps");
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -2, i);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_settop(L, graph - 1);
}

/* --- buffers that change places ------------------------------------------- */

static lze_Access buffer_span(const lze_Buffer *b) {
  return (lze_Access){b->storage, b->offset,
                      b->offset + (size_t)b->count * b->type->bytes, true,
                      true};
}

/* Where the bytes of `a` are when places are changed: false when they stay;
   *torn when only some of them do. */
static bool swap_access(const lze_Plan *p, lze_Access *a, bool *torn) {
  for (uint32_t i = 0; i < p->swap_count; i++)
    for (int side = 0; side < 2; side++) {
      const lze_Access *from = side == 0 ? &p->swaps[i].a : &p->swaps[i].b;
      const lze_Access *to = side == 0 ? &p->swaps[i].b : &p->swaps[i].a;
      if (a->storage != from->storage || a->first >= from->last ||
          a->last <= from->first)
        continue;
      *torn = a->first < from->first || a->last > from->last;
      a->storage = to->storage;
      a->first = a->first - from->first + to->first;
      a->last = a->last - from->first + to->first;
      return true;
    }
  return false;
}

/* Read the swaps, and see that no step uses only a part of one. */
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
  check_memory(L, p->swaps != NULL);
  for (uint32_t i = 0; i < n; i++) {
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    const lze_Buffer *a = lze_test_buffer(L, -2), *b = lze_test_buffer(L, -1);
    if (!lze_buffer_is_open(a) || !lze_buffer_is_open(b)) {
      lua_pushliteral(L, "swap: a buffer is closed");
      lua_rawseti(L, c->problems, (lua_Integer)lua_rawlen(L, c->problems) + 1);
    } else {
      p->swaps[p->swap_count].a = buffer_span(a);
      p->swaps[p->swap_count++].b = buffer_span(b);
    }
    lua_settop(L, top + 1);
  }
  p->parities = 2;
  for (uint32_t i = 0; i < p->count; i++)
    for (uint32_t a = 0; a < p->nodes[i].access_count; a++) {
      lze_Access moved = p->nodes[i].accesses[a];
      bool torn = false;
      swap_access(p, &moved, &torn);
      if (!torn) continue;
      lua_pushliteral(L, "it uses more than the buffer that is swapped");
      compile_problem(L, c, &p->steps[i]);
    }
  lua_settop(L, top);
}

/* Add to the map at `real` what the value at the top of the stack is replaced
   by when places are changed. */
static void swap_value(lua_State *L, const lze_Plan *p, int real) {
  const lze_Buffer *b = lze_test_buffer(L, -1);
  if (b == NULL || !lze_buffer_is_open(b)) return;
  lze_Access span = buffer_span(b);
  bool torn = false;
  if (!swap_access(p, &span, &torn) || torn) return;
  int value = lua_gettop(L);
  lua_pushvalue(L, value);
  if (lua_rawget(L, real) == LUA_TNIL) {
    lua_pushvalue(L, value);
    lze_push_storage_window(L, span.storage, span.first, b->type, b->count);
    lua_rawset(L, real);
  }
  lua_settop(L, value);
}

/* Fill the map for runs in which places are changed. The swapped buffers
   themselves are the ones that the script has. */
static void plan_swap_values(lua_State *L, const lze_Plan *p, int table,
                             int real) {
  int top = lua_gettop(L);
  lze_getoption(L, table, "swaps");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, top + 1, i);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, real);
    lua_pushvalue(L, -1);
    lua_pushvalue(L, -3);
    lua_rawset(L, real);
    lua_settop(L, top + 1);
  }
  lze_getoption(L, table, "steps");
  for (uint32_t i = 0; i < p->count; i++) {
    lua_rawgeti(L, top + 2, (lua_Integer)i + 1);
    lze_getoption(L, -1, "n");
    lua_Integer count = lua_tointeger(L, -1);
    for (lua_Integer v = 1; v <= count; v++) {
      lua_rawgeti(L, top + 3, v);
      swap_value(L, p, real);
      if (v == 2 && lua_istable(L, -1) &&
          lze_getoption(L, -1, "uses") != LUA_TNIL) {
        swap_value(L, p, real);
        lua_Integer uses =
            lua_istable(L, -1) ? (lua_Integer)lua_rawlen(L, -1) : 0;
        for (lua_Integer u = 1; u <= uses; u++) {
          lua_rawgeti(L, -1, u);
          swap_value(L, p, real);
          lua_pop(L, 1);
        }
      }
      lua_settop(L, top + 4);
    }
    lua_settop(L, top + 2);
  }
  lua_settop(L, top);
}

/* --- memory ------------------------------------------------------------- */

/* Own a storage, once. */
static void plan_own(lze_Plan *p, lze_Storage *s) {
  for (uint32_t i = 0; i < p->storage_count; i++)
    if (p->storages[i] == s) return;
  p->storages[p->storage_count++] = s;
  lze_own(&s->o);
}

static bool plan_is_arena(const lze_Plan *p, const lze_Storage *s) {
  for (uint32_t i = 0; i < LZE_MAX_PLACES; i++)
    if (p->arenas[i] == s) return true;
  return false;
}

/* Where the stub of a transient buffer is told from a real one. */
static bool storage_is_stub(const lze_Storage *s, const lze_Transient *items,
                            uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (items[i].storage == s) return true;
  return false;
}

/* Add x to what is there, merged where it can be. */
static uint32_t capture(lze_Access *all, uint32_t count, const lze_Access *x) {
  uint32_t j = 0;
  while (j < count && (all[j].storage != x->storage || all[j].first > x->last ||
                       all[j].last < x->first || all[j].write != x->write))
    j++;
  if (j == count) {
    all[count] = *x;
    return count + 1;
  }
  if (x->first < all[j].first) all[j].first = x->first;
  if (x->last > all[j].last) all[j].last = x->last;
  return count;
}

/* Merge what all steps touch into what a run touches, and own the storages
   instead of those that were owned before. */
static void plan_capture(lua_State *L, lze_Plan *p, const lze_Transient *items,
                         uint32_t n) {
  size_t total = LZE_MAX_PLACES;
  for (uint32_t i = 0; i < p->count; i++)
    total += p->nodes[i].access_count * p->parities;
  lze_Access *all = malloc(total * sizeof *all);
  lze_Storage **storages = malloc(total * sizeof(lze_Storage *));
  if (all == NULL || storages == NULL) {
    free(all);
    free(storages);
    luaL_error(L, "not enough memory");
  }
  lze_Storage **old = p->storages;
  uint32_t old_count = p->storage_count, count = 0;
  p->storages = storages;
  p->storage_count = 0;
  for (uint32_t i = 0; i < LZE_MAX_PLACES; i++) {
    if (p->arenas[i] == NULL) continue;
    all[count++] =
        (lze_Access){p->arenas[i], 0, p->arenas[i]->bytes, true, true};
    plan_own(p, p->arenas[i]);
  }
  for (uint32_t i = 0; i < p->count; i++)
    for (uint32_t a = 0; a < p->nodes[i].access_count * p->parities; a++) {
      lze_Access x = p->nodes[i].accesses[a / p->parities];
      bool torn;
      if (storage_is_stub(x.storage, items, n) ||
          (a % p->parities == 1 && !swap_access(p, &x, &torn)))
        continue;
      plan_own(p, x.storage);
      count = capture(all, count, &x);
    }
  free(p->captured);
  p->captured = all;
  p->captured_count = count;
  for (uint32_t i = 0; i < old_count; i++) lze_disown(&old[i]->o);
  free(old);
}

/* Which arena a transient buffer is in. */
static uint32_t scratch_place(const lze_Plan *p, const lze_Scratch *s) {
  if (s->host) return 1;
  for (uint32_t e = 0; s->device != NULL && e < p->engine_count; e++)
    if (p->engines[e].device == s->device) return e + 2;
  return 0;
}

/* Whether all its devices can use memory of the first. */
static bool plan_is_of_peers(const lze_Plan *p) {
  for (uint32_t e = 0; e < p->engine_count; e++)
    if (!lze_device_peers(p->engines[e].device, p->device)) return false;
  return true;
}

/* Make the arena of a place where there is none that is large enough. */
static void plan_arena(lua_State *L, lze_Plan *p, int arenas, uint32_t place,
                       size_t bytes) {
  if (bytes == 0 ||
      (p->arenas[place] != NULL && p->arenas[place]->bytes >= bytes))
    return;
  lze_Usage usage = place == 1                ? LZE_HOST
                    : place >= 2 || !p->spread ? LZE_DEVICE
                    : plan_is_of_peers(p)      ? LZE_SHARED
                                               : LZE_HOST;
  const lze_DeviceInfo *device =
      place >= 2 ? p->engines[place - 2].device : p->device;
  p->arenas[place] = lze_push_buffer(L, p->o.context, device, usage,
                                     lze_type_of(LZE_U8, 1), bytes)
                         ->storage;
  lua_rawseti(L, arenas, (lua_Integer)place + 1);
}

/* Give the transient buffers, which have stubs by now, their memory: the maps
   of both parities get windows on it. */
static void plan_place(lua_State *L, lze_Plan *p, int table,
                       lua_Integer limit) {
  int top = lua_gettop(L);
  lze_getoption(L, table, "stubs");
  int stubs = lua_gettop(L);
  uint32_t n = 0, all = 0;
  for (lua_pushnil(L); lua_next(L, stubs); lua_pop(L, 1)) all++;
  lze_Transient *items = lua_newuserdatauv(L, (all + 1) * sizeof *items, 0);
  uint32_t first[LZE_MAX_PLACES + 1];
  size_t bytes[LZE_MAX_PLACES], used = 0, unshared = 0;
  for (uint32_t place = 0; place < LZE_MAX_PLACES; place++) {
    first[place] = n;
    for (lua_pushnil(L); lua_next(L, stubs); lua_pop(L, 1)) {
      const lze_Scratch *s = lze_test_box(L, -2, lze_scratch_kind);
      const lze_Buffer *stub = lze_test_buffer(L, -1);
      if (scratch_place(p, s) != place) continue;
      size_t size = (size_t)stub->count * stub->type->bytes;
      items[n++] = (lze_Transient){.storage = stub->storage, .bytes = size};
      unshared += size;
    }
    bytes[place] =
        lze_schedule_place(&p->schedule, p->nodes, p->count,
                           items + first[place], n - first[place],
                           PLACE_ALIGNMENT);
    check_memory(L, bytes[place] != SIZE_MAX);
    used += bytes[place];
  }
  p->transient_bytes = unshared;
  plan_capture(L, p, items, n);
  size_t transient = used;
  for (uint32_t i = 0; i < p->storage_count; i++)
    if (!plan_is_arena(p, p->storages[i])) used += p->storages[i]->bytes;
  if (limit >= 0 && used > (size_t)limit)
    luaL_error(L, "%s: memory_bytes: it needs %I bytes, %I for its transient "
                  "buffers, of %I",
               p->name, (LUAI_UACINT)used, (LUAI_UACINT)transient,
               (LUAI_UACINT)limit);
  lze_getoption(L, table, "arenas");
  int arenas = lua_gettop(L);
  for (uint32_t place = 0; place < LZE_MAX_PLACES; place++)
    plan_arena(L, p, arenas, place, bytes[place]);
  plan_capture(L, p, items, n);
  lze_getoption(L, table, "real");
  for (int parity = 1; parity <= 2; parity++)
    lua_rawgeti(L, arenas + 1, parity);
  for (lua_pushnil(L); lua_next(L, stubs); lua_pop(L, 1)) {
    int key = lua_gettop(L) - 1;
    const lze_Scratch *s = lze_test_box(L, key, lze_scratch_kind);
    const lze_Buffer *stub = lze_test_buffer(L, key + 1);
    uint32_t i = 0;
    while (items[i].storage != stub->storage) i++;
    if (lua_rawgeti(L, arenas, (lua_Integer)scratch_place(p, s) + 1) !=
        LUA_TNIL)
      lze_push_window(L, key + 2, items[i].offset, stub->type, stub->count);
    else
      lua_pushvalue(L, key + 1); /* it has no bytes */
    for (int parity = 1; parity <= 2; parity++) {
      lua_pushvalue(L, key);
      lua_pushvalue(L, key + 3);
      lua_rawset(L, arenas + 1 + parity);
    }
    lua_settop(L, key + 1);
  }
  if (p->parities == 2) plan_swap_values(L, p, table, arenas + 3);
  p->placement = lze_hash(0, p->arenas, sizeof p->arenas);
  for (uint32_t i = 0; i < n; i++)
    p->placement = lze_hash(p->placement, &items[i], sizeof items[i]);
  lua_settop(L, top);
}

/* --- compiling ---------------------------------------------------------- */

static bool opt_boolean(lua_State *L, int t, const char *key) {
  int type = lze_getoption(L, t, key);
  if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    luaL_error(L, "option %s: boolean expected, got %s", key,
               lze_describe(L, -1));
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static lua_Integer opt_positive(lua_State *L, int t, const char *key,
                                lua_Integer otherwise) {
  if (lze_getoption(L, t, key) == LUA_TNIL) {
    lua_pop(L, 1);
    return otherwise;
  }
  int exact;
  lua_Integer n = lua_tointegerx(L, -1, &exact);
  if (!exact || lua_type(L, -1) != LUA_TNUMBER || n < 1)
    luaL_error(L, "option %s: a positive integer expected, got %s", key,
               lze_describe(L, -1));
  lua_pop(L, 1);
  return n;
}

/* The array of devices at option `devices`; returns how many. */
static uint32_t opt_devices(lua_State *L, int t,
                            const lze_DeviceInfo **devices) {
  int type = lze_getoption(L, t, "devices");
  lua_Integer n = type == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, -1) : 0;
  if (type != LUA_TNIL && (n < 1 || n > LZE_MAX_ENGINES))
    luaL_error(L, "option devices: an array of one to %d devices expected, got "
                  "%s",
               LZE_MAX_ENGINES, lze_describe(L, -1));
  if (n > 0 && lze_getoption(L, t, "device") != LUA_TNIL)
    luaL_error(L, "options device and devices: one or the other");
  if (n > 0) lua_pop(L, 1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, -1, i);
    devices[i - 1] = lze_device_at(L, lua_gettop(L), "option devices");
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return (uint32_t)n;
}

/* The device and context for the graph whose table is at `graph` when it is
   not told: those of its first kernel, else the default ones. */
static lze_Context *graph_place(lua_State *L, int graph,
                                const lze_DeviceInfo **device, int depth) {
  int top = lua_gettop(L);
  lze_Context *context = NULL;
  luaL_checkstack(L, 8, NULL);
  lze_getoption(L, graph, "entries");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n && context == NULL; i++) {
    lua_rawgeti(L, top + 1, i);
    lua_rawgeti(L, -1, 1);
    const lze_Kernel *k = lze_test_kernel(L, -1);
    const lze_Buffer *b = lze_test_buffer(L, -1);
    if (k != NULL && !k->o.closed) {
      context = k->o.context;
      *device = k->module->device;
    } else if (b != NULL && lze_buffer_is_open(b)) {
      context = b->storage->o.context;
      *device = b->storage->device;
    } else if (lze_test_box(L, -1, lze_graph_kind) != NULL &&
               depth < MAX_DEPTH) {
      lze_push_graph_table(L, -1);
      context = graph_place(L, lua_gettop(L), device, depth + 1);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  return context;
}

/* The engine for the steps of a device, or for its copies. */
static uint32_t plan_engine(lua_State *L, lze_Plan *p, const lze_DeviceInfo *d,
                            bool copies) {
  uint32_t ordinal = copies ? d->copy_ordinal : d->ordinal;
  for (uint32_t e = 0; e < p->engine_count; e++)
    if (p->engines[e].device == d && p->engines[e].ordinal == ordinal)
      return e;
  if (p->engine_count == LZE_MAX_ENGINES)
    luaL_error(L, "%s: it would run on more than %d engines", p->name,
               LZE_MAX_ENGINES);
  p->engines[p->engine_count] =
      (lze_Engine){d, ordinal, copies ? d->copy_queues : d->queues};
  return p->engine_count++;
}

static void plan_order(lua_State *L, lze_Plan *p) {
  uint32_t width[LZE_MAX_ENGINES];
  plan_engine(L, p, p->device, false);
  for (uint32_t i = 0; i < p->count; i++)
    p->nodes[i].engine = plan_engine(L, p, p->steps[i].device,
                                     p->steps[i].kind == LZE_STEP_COPY);
  for (uint32_t e = 0; e < p->engine_count; e++) {
    width[e] = p->engines[e].queues;
    if (width[e] > p->width) width[e] = p->width;
  }
  lze_schedule_free(&p->schedule);
  check_memory(L, lze_schedule(p->nodes, p->count, width, p->engine_count,
                               &p->schedule));
}

/* Give tasks to devices, the count of which is n: what continues a chain stays
   where that is, other tasks go where the least is.  What uses a device's own
   memory was put there and stays. */
static void plan_spread(lua_State *L, lze_Plan *p, int table,
                        const lze_DeviceInfo *const *devices, uint32_t n) {
  plan_order(L, p);
  uint64_t *load = lua_newuserdatauv(L, n * sizeof *load, 0);
  bool *continued = lua_newuserdatauv(L, p->count + 1, 0);
  memset(load, 0, n * sizeof *load);
  memset(continued, 0, p->count + 1);
  bool peers = true;
  for (uint32_t a = 0; a < n; a++)
    for (uint32_t b = 0; b < n; b++)
      peers = peers && lze_device_peers(devices[a], devices[b]);
  lze_getoption(L, table, "steps");
  int steps = lua_gettop(L);
  for (uint32_t i = 0; i < p->count; i++) {
    lze_Step *s = &p->steps[i];
    const lze_DeviceInfo *chosen = NULL;
    if (s->kind == LZE_STEP_CALL) continue;
    lua_rawgeti(L, steps, (lua_Integer)i + 1);
    bool given = lze_getoption(L, -1, "device") != LUA_TNIL;
    lua_pop(L, 1);
    const lze_Node *node = &p->nodes[i];
    for (uint32_t a = 0; a < node->access_count; a++)
      given = given || node->accesses[a].storage->usage == LZE_DEVICE ||
              (node->accesses[a].storage->usage == LZE_SHARED && !peers);
    if (given) chosen = s->device;
    for (uint32_t d = node->deps.count; d-- > 0 && chosen == NULL;) {
      uint32_t j = node->deps.items[d];
      if (continued[j] || p->steps[j].kind == LZE_STEP_CALL) continue;
      continued[j] = true;
      chosen = p->steps[j].device;
    }
    uint32_t least = 0;
    for (uint32_t d = 1; d < n; d++)
      if (load[d] < load[least]) least = d;
    if (chosen == NULL) chosen = devices[least];
    for (uint32_t d = 0; d < n; d++)
      if (devices[d] == chosen) load[d] += s->bytes + 1;
    if (chosen != s->device) {
      s->device = chosen;
      p->spread = true;
      if (step_look(L, p, table, lua_gettop(L), i) != LUA_OK) lua_error(L);
    }
    lua_settop(L, steps);
  }
  lua_settop(L, steps - 3);
}

/* Raise every problem in one message, if there are any. */
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

/* g:compile([options]) -> plan
   options: device, profile (true: measure each step), memory_bytes (a limit),
   queues (how many of each engine it may use at a time). */
int lze_plan_compile(lua_State *L) {
  static const char *const keys[] = {"device", "devices", "memory_bytes",
                                     "profile", "queues", NULL};
  lua_settop(L, 2);
  lze_push_graph_table(L, 1);
  int graph = 3;
  if (lua_isnil(L, 2)) {
    lua_newtable(L);
    lua_replace(L, 2);
  }
  luaL_argexpected(L, lua_istable(L, 2), 2, "table");
  lze_check_keys(L, 2, "a plan's options", keys);
  const lze_DeviceInfo *device = NULL;
  lze_Context *context = graph_place(L, graph, &device, 0);
  if (lze_getoption(L, 2, "device") != LUA_TNIL) {
    const lze_DeviceInfo *wanted = lze_device_at(L, -1, "option device");
    if (context == NULL || context->driver != wanted->driver)
      context = lze_device_context(L, wanted);
    device = wanted;
  } else if (context == NULL) {
    device = lze_default_device(L);
    context = lze_device_context(L, device);
  }
  lua_pop(L, 1);
  const lze_DeviceInfo *devices[LZE_MAX_ENGINES];
  uint32_t spread = opt_devices(L, 2, devices);
  if (spread > 0) {
    for (uint32_t i = 0; i < spread; i++)
      if (devices[i]->driver != devices[0]->driver)
        luaL_error(L, "option devices: they are of several drivers");
    if (context->driver != devices[0]->driver)
      context = lze_device_context(L, devices[0]);
    device = devices[0];
  }
  bool profile = opt_boolean(L, 2, "profile");
  lua_Integer limit = opt_positive(L, 2, "memory_bytes", -1);
  lua_Integer width = opt_positive(L, 2, "queues", DEFAULT_WIDTH);
  lze_PlanBox *box = lze_push_box(L, lze_plan_kind, sizeof *box);
  int plan = lua_gettop(L);
  if (context->o.closed) return luaL_error(L, "the context is closed");
  lze_Plan *p = lze_object_new(&plan_class, sizeof *p, context);
  if (p == NULL) return luaL_error(L, "not enough memory");
  box->plan = p;
  p->device = device;
  p->profile = profile;
  p->parities = 1;
  p->width = width < LZE_MAX_LANES ? (uint32_t)width : LZE_MAX_LANES;
  lze_getoption(L, graph, "name");
  const char *name = lua_tostring(L, -1);
  snprintf(p->name, sizeof p->name, "graph %s", name);
  lua_createtable(L, 0, 10);
  Compiler c = {.p = p, .table = lua_gettop(L)};
  static const char *const tables[] = {"steps", "stubs", "real", "inputs",
                                       "outputs", "swaps", "arenas"};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    lua_newtable(L);
    lua_setfield(L, c.table, tables[i]);
  }
  lze_getoption(L, c.table, "real");
  for (int parity = 1; parity <= 2; parity++) {
    lua_newtable(L);
    lua_rawseti(L, -2, parity);
  }
  lua_pushvalue(L, c.table);
  lua_setiuservalue(L, plan, 1);
  lua_newtable(L);
  c.problems = lua_gettop(L);
  lua_pushvalue(L, graph);
  compile_graph(L, &c, name, 0);
  compile_swaps(L, &c);
  compile_raise(L, &c);
  if (spread > 0) plan_spread(L, p, c.table, devices, spread);
  plan_order(L, p);
  p->queue = lze_new_queue(L, context, device);
  plan_place(L, p, c.table, limit);
  lze_plan_record(L, p, c.table);
  lua_settop(L, plan);
  return 1;
}

/* --- runs --------------------------------------------------------------- */

/* What was captured must still be open. */
static void plan_check_captured(lua_State *L, const lze_Plan *p) {
  if (p->broken)
    luaL_error(L, "%s: a start has failed half way; compile it again",
               p->name);
  for (uint32_t i = 0; i < p->storage_count; i++)
    if (p->storages[i]->o.closed)
      luaL_error(L, "%s: a buffer that it uses is closed", p->name);
  for (uint32_t i = 0; i < p->count; i++)
    if (p->steps[i].kernel != NULL && p->steps[i].kernel->o.closed)
      luaL_error(L, "%s: task %s: %s is closed", p->name, p->steps[i].name,
                 p->steps[i].kernel->name);
}

/* buffer:write(source), of values on the stack */
static void promise_write(lua_State *L, int buffer, int source) {
  lua_getfield(L, buffer, "write");
  lua_pushvalue(L, buffer);
  lua_pushvalue(L, source);
  lua_call(L, 2, 0);
}

/* Before a run: what the host puts into inputs. */
static void plan_put_inputs(lua_State *L, lze_Plan *p, int table) {
  int top = lua_gettop(L);
  lze_getoption(L, table, "inputs");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, top + 1, i);
    for (int v = 1; v <= 3; v++) lua_rawgeti(L, top + 2, v);
    bool every = strcmp(lua_tostring(L, top + 4), "every") == 0;
    if (!lua_isnil(L, top + 5) && (every || !p->begun)) {
      lze_plan_role(L, table, top + 3, p->parity);
      promise_write(L, top + 6, top + 5);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  p->begun = true;
}

/* Get the plan at 1 ready and start it. Its table is at stack index 3. */
static lze_Command *plan_begin(lua_State *L, bool timed) {
  lze_Plan *p = lze_check_plan(L);
  lze_queue_ready(L, p->queue);
  p = lze_check_plan(L);
  plan_check_captured(L, p);
  plan_put_inputs(L, p, 3);
  p = lze_check_plan(L);
  if (p->stale) lze_plan_record(L, p, 3);
  p = lze_check_plan(L); /* finalisers may have run */
  plan_check_captured(L, p);
  lze_Command *c = lze_plan_start(L, p, 3, timed);
  p->o.context->state->launches += p->count;
  return c;
}

/* How often the plan at 1 is to run by the options at 2, which are the last
   arguments; its table becomes 3. */
static lua_Integer plan_iterations(lua_State *L) {
  static const char *const keys[] = {"iterations", NULL};
  lua_settop(L, 2);
  lze_check_plan(L);
  lua_Integer n = 1;
  if (!lua_isnil(L, 2)) {
    luaL_argexpected(L, lua_istable(L, 2), 2, "table");
    lze_check_keys(L, 2, "a run's options", keys);
    n = opt_positive(L, 2, "iterations", 1);
  }
  lua_getiuservalue(L, 1, 1);
  return n;
}

/* plan:run([options]) -> plan: run, and wait.
   options: iterations (how often, 1 when not given). */
static int plan_run(lua_State *L) {
  lua_Integer n = plan_iterations(L);
  lze_Command *c = NULL;
  for (; n > 0; n--) c = plan_begin(L, false);
  lze_command_wait(L, c, UINT64_MAX);
  lua_settop(L, 1);
  return 1;
}

/* plan:start([options]) -> event: as run, but without waiting; behind a run
   that is not over yet.  The event is that of the last iteration. */
static int plan_start(lua_State *L) {
  lua_Integer n = plan_iterations(L);
  lze_Event *e = lze_push_event(L);
  for (; n > 1; n--) plan_begin(L, false);
  lze_Command *c = plan_begin(L, true);
  e->command = c;
  lze_command_own(c);
  if (c->state->sync) lze_command_wait(L, c, UINT64_MAX);
  lua_settop(L, 4);
  return 1;
}

/* plan:current(x) -> the buffer that plays the part of x in the next run: with
   swaps, x or the one that it changes places with. */
static int plan_current(lua_State *L) {
  lua_settop(L, 2);
  lze_Plan *p = lze_check_plan(L);
  lze_check_buffer(L, 2);
  lua_getiuservalue(L, 1, 1);
  lze_plan_role(L, 3, 2, p->parity);
  return 1;
}

/* The step that the name at `arg` stands for: "task" where that is the only
   one of the name, or "graph.task". */
static uint32_t plan_find(lua_State *L, const lze_Plan *p, int arg) {
  if (lua_type(L, arg) != LUA_TSTRING)
    luaL_argerror(L, arg, lua_pushfstring(L, "task: string expected, got %s",
                                          lze_describe(L, arg)));
  const char *name = lua_tostring(L, arg);
  size_t length = strlen(name);
  uint32_t found = UINT32_MAX;
  for (uint32_t i = 0; i < p->count; i++) {
    const char *full = p->steps[i].name;
    size_t size = strlen(full);
    if (strcmp(full, name) == 0) return i;
    if (size <= length || full[size - length - 1] != '.' ||
        strcmp(full + size - length, name) != 0)
      continue;
    if (found != UINT32_MAX)
      luaL_argerror(L, arg,
                    lua_pushfstring(L, "task %s: it may be %s or %s", name,
                                    p->steps[found].name, full));
    found = i;
  }
  if (found == UINT32_MAX) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (uint32_t i = 0; i < p->count && i < 20; i++) {
      luaL_addstring(&b, i > 0 ? ", " : "");
      luaL_addstring(&b, p->steps[i].name);
    }
    if (p->count > 20) luaL_addstring(&b, ", ...");
    luaL_pushresult(&b);
    luaL_argerror(L, arg, lua_pushfstring(L, "task '%s': there is none (there "
                                             "is: %s)",
                                          name, lua_tostring(L, -1)));
  }
  return found;
}

/* The position among a step's values of the argument at `arg`. */
static lua_Integer plan_argument(lua_State *L, const lze_Step *s, int arg,
                                 lua_Integer count) {
  lua_Integer before = s->kind == LZE_STEP_TASK ? 2 : 0;
  if (lua_type(L, arg) == LUA_TSTRING && s->kernel != NULL) {
    const char *name = lua_tostring(L, arg);
    for (uint32_t i = 0; i < s->kernel->info->arg_count; i++) {
      const char *own = s->kernel->info->args[i].name;
      if (own != NULL && strcmp(own, name) == 0)
        return before + (lua_Integer)i + 1;
    }
    luaL_argerror(L, arg, lua_pushfstring(L, "task %s: %s has no argument '%s'",
                                          s->name, s->kernel->name, name));
  }
  lua_Integer i = lze_check_integer(L, arg, "argument");
  if (i < 1 - (before > 0) || i > count - before)
    luaL_argerror(L, arg, lua_pushfstring(L, "task %s: argument %I is outside "
                                             "%d..%I",
                                          s->name, (LUAI_UACINT)i,
                                          before > 0 ? 0 : 1,
                                          (LUAI_UACINT)(count - before)));
  return before + i;
}

/* A buffer takes the place of one of its type that is no longer. */
static void set_check_buffer(lua_State *L, const lze_Step *s, int old) {
  const lze_Buffer *before = lze_test_buffer(L, old);
  const lze_Buffer *after = lze_test_buffer(L, 4);
  const lze_Scratch *scratch = lze_test_box(L, old, lze_scratch_kind);
  if ((before == NULL && scratch == NULL) || after == NULL) return;
  const lze_Type *type = before != NULL ? before->type : scratch->type;
  lua_Integer count = before != NULL ? before->count : scratch->count;
  if (!lze_buffer_is_open(after) || after->type != type ||
      after->count < count)
    luaL_argerror(L, 4, lua_pushfstring(L, "task %s: a buffer of at least %I "
                                           "%s expected, got %s%I",
                                        s->name, (LUAI_UACINT)count,
                                        type->name,
                                        lua_pushfstring(L, "%s, ",
                                                        lze_describe(L, 4)),
                                        (LUAI_UACINT)after->count));
}

/* plan:set(task, argument, value) -> plan
   argument: its number or name, 0 for the global size.  What runs already is
   not affected. */
static int plan_set(lua_State *L) {
  lua_settop(L, 4);
  lze_Plan *p = lze_check_plan(L);
  lua_getiuservalue(L, 1, 1);
  int table = 5;
  uint32_t i = plan_find(L, p, 2);
  lze_getoption(L, table, "steps");
  lua_rawgeti(L, -1, (lua_Integer)i + 1);
  int step = lua_gettop(L);
  lze_getoption(L, step, "n");
  lua_Integer count = lua_tointeger(L, -1);
  lua_Integer at = plan_argument(L, &p->steps[i], 3, count);
  if (p->steps[i].kind == LZE_STEP_CALL)
    luaL_argerror(L, 2, "a call has no arguments");
  lua_rawgeti(L, step, at);
  int old = lua_gettop(L);
  set_check_buffer(L, &p->steps[i], old);
  if (at == 2 && p->steps[i].kind == LZE_STEP_TASK && lua_istable(L, old)) {
    /* The range changes, the rest of the launch table stays. */
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, old); lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING) continue;
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, -5);
    }
    lua_Integer n = lua_istable(L, 4) ? (lua_Integer)lua_rawlen(L, 4) : 1;
    for (lua_Integer d = 1; d <= n; d++) {
      if (lua_istable(L, 4)) lua_rawgeti(L, 4, d);
      else lua_pushvalue(L, 4);
      lua_rawseti(L, -2, d);
    }
  } else {
    lua_pushvalue(L, 4);
  }
  lua_rawseti(L, step, at);
  if (step_look(L, p, table, step, i) != LUA_OK) {
    int error = lua_gettop(L);
    lua_pushvalue(L, old);
    lua_rawseti(L, step, at);
    if (step_look(L, p, table, step, i) != LUA_OK) lua_pop(L, 1);
    lua_settop(L, error);
    if (lua_type(L, error) != LUA_TSTRING) return lua_error(L);
    return luaL_error(L, "%s: task %s: %s", p->name, p->steps[i].name,
                      lua_tostring(L, error));
  }
  p->steps[i].version++;
  p->stale = true;
  plan_order(L, p);
  plan_place(L, p, table, -1);
  lua_settop(L, 1);
  return 1;
}

/* plan:fetch(y) -> y: a "demand" output, ready to be read. */
static int plan_fetch(lua_State *L) {
  lua_settop(L, 2);
  lze_Plan *p = lze_check_plan(L);
  lze_Buffer *b = lze_check_buffer(L, 2);
  lua_getiuservalue(L, 1, 1);
  lze_getoption(L, 3, "outputs");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1), found = 0;
  for (lua_Integer i = 1; i <= n && found == 0; i++) {
    lua_rawgeti(L, 4, i);
    lua_rawgeti(L, -1, 1);
    if (lua_rawequal(L, -1, 2)) found = i;
    lua_settop(L, 4);
  }
  if (found == 0)
    luaL_argerror(L, 2, lua_pushfstring(L, "%s has no such output", p->name));
  lze_storage_wait(L, b->storage, b->offset,
                   b->offset + (size_t)b->count * b->type->bytes, false);
  lua_rawgeti(L, 4, found);
  lua_rawgeti(L, 5, 3);
  if (lua_istable(L, 6)) {
    lua_getfield(L, 2, "read");
    lua_pushvalue(L, 2);
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushvalue(L, 6);
    lua_call(L, 4, 0);
  } else if (lze_test_buffer(L, 6) != NULL) {
    promise_write(L, 6, 2);
  }
  lua_settop(L, 2);
  return 1;
}

static int plan_close(lua_State *L) {
  lze_PlanBox *b = lze_check_box(L, 1, lze_plan_kind);
  if (b->plan != NULL) lze_close(&b->plan->o);
  return 0;
}

static int plan_gc(lua_State *L) {
  lze_PlanBox *b = lze_check_box(L, 1, lze_plan_kind);
  lze_Plan *p = b->plan;
  b->plan = NULL;
  if (p != NULL) lze_disown(&p->o);
  return 0;
}

static int plan_tostring(lua_State *L) {
  const lze_PlanBox *b = lze_check_box(L, 1, lze_plan_kind);
  const lze_Plan *p = b->plan;
  if (p == NULL || p->o.closed)
    lua_pushliteral(L, "plan (closed)");
  else
    lua_pushfstring(L, "plan of %s: %d steps on %s, %I runs", p->name,
                    (int)p->count, p->device->props.name,
                    (LUAI_UACINT)p->runs);
  return 1;
}

static int field_plan_device(lua_State *L) {
  lze_push_device(L, lze_check_plan(L)->device);
  return 1;
}

static const luaL_Reg plan_methods[] = {{"run", plan_run},
                                        {"start", plan_start},
                                        {"current", plan_current},
                                        {"set", plan_set},
                                        {"fetch", plan_fetch},
                                        {"report", lze_plan_report},
                                        {"json", lze_plan_json},
                                        {"trace", lze_plan_trace},
                                        {"dot", lze_plan_dot},
                                        {"close", plan_close},
                                        {NULL, NULL}};

static const luaL_Reg plan_metamethods[] = {{"__gc", plan_gc},
                                            {"__close", plan_close},
                                            {"__tostring", plan_tostring},
                                            {NULL, NULL}};

static const lze_Field plan_fields[] = {{"device", field_plan_device},
                                        {NULL, NULL}};

void lze_open_plan(lua_State *L) {
  lze_open_report(L);
  lze_new_kind(L, lze_plan_kind, plan_metamethods, plan_methods, plan_fields);
}
