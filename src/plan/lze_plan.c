/*
 * lze_plan.c - graphs compiled for a device: steps, memory, runs.
 * SPDX-License-Identifier: MIT
 */
#include "plan/lze_plan.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_show.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "queue/lze_canary.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of queues that a plan uses of each engine by default. */
enum { DEFAULT_WIDTH = 4 };

/* --- objects ------------------------------------------------------------ */

static void plan_destroy(lze_Object *o) {
  lze_Plan *p = (lze_Plan *)o;
  lze_plan_strip(p);
  if (p->last != NULL) lze_command_disown(p->last);
  lze_run_drop(o->context->state, p->next_run);
  lze_unreserve(p->reserve);
  for (uint32_t i = 0; i < p->storage_count; i++)
    lze_disown(&p->storages[i]->o);
  if (p->queue != NULL) lze_disown(&p->queue->o);
  for (uint32_t i = 0; i < p->count; i++) {
    if (p->steps[i].kernel != NULL) lze_unpin(&p->steps[i].kernel->o);
    free((void *)p->steps[i].why);
    lze_node_free(&p->nodes[i]);
  }
  for (uint32_t i = 0; i < p->swap_count; i++) {
    lze_disown(&p->swaps[i].a.storage->o);
    lze_disown(&p->swaps[i].b.storage->o);
  }
  lze_schedule_free(&p->schedule);
  free(p->steps);
  free(p->nodes);
  free(p->lists.items);
  free(p->old.items);
  free(p->captured);
  free(p->storages);
  free(p->swaps);
}

static const lze_Class plan_class = {"plan", plan_destroy, NULL};

lze_Plan *lze_check_plan(lua_State *L) {
  lze_PlanBox *b = lze_check_box(L, 1, lze_plan_kind);
  if (b->plan == NULL || b->plan->o.closed)
    lze_closed(L, 1, lze_plan_kind);
  if (b->plan->changing)
    luaL_error(L, "%s: a finalizer or hook cannot use it while it is changed",
               b->plan->name);
  return b->plan;
}

/* --- compiling ---------------------------------------------------------- */

/* Reads the array of devices in option `devices` and returns their number. */
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

/* Returns the context of the first kernel or buffer in the graph whose table
   is at `graph`, and its device; NULL if the graph has neither. */
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
               depth < LZE_MAX_DEPTH) {
      lze_push_graph_table(L, -1);
      context = graph_place(L, lua_gettop(L), device, depth + 1);
    }
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
  return context;
}

/* The target of a plan. */
typedef struct Place {
  int graph;                    /* the stack index of the graph's table */
  const lze_DeviceInfo *wanted; /* the device given by an option, or NULL */
  const lze_DeviceInfo *device; /* the result, with the context */
} Place;

/* Returns the context for a plan: the graph's, if there is one and it belongs
   to the driver of the wanted device; else the device's own. */
static lze_Context *plan_context(lua_State *L, Place *place) {
  lze_Context *context = graph_place(L, place->graph, &place->device, 0);
  if (place->wanted != NULL)
    place->device = place->wanted;
  else if (context == NULL)
    place->device = lze_default_device(L);
  return context != NULL && context->driver == place->device->driver
             ? context
             : lze_device_context(L, place->device);
}

/* Returns the engine for the steps of a device, or for its copies. */
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
  lze_check_memory(L, lze_schedule(p->nodes, p->count, width, p->engine_count,
                                   &p->schedule));
}

/* Returns the number of a device among n; n if it is not one of them. */
static uint32_t device_number(const lze_DeviceInfo *device,
                              const lze_DeviceInfo *const *devices,
                              uint32_t n) {
  uint32_t d = 0;
  while (d < n && devices[d] != device) d++;
  return d;
}

/* Returns true if all n devices reach the memory of that storage. */
static bool storage_is_common(const lze_Storage *s,
                              const lze_DeviceInfo *const *devices,
                              uint32_t n) {
  for (uint32_t d = 0; d < n; d++)
    if (!lze_device_reaches(devices[d], s)) return false;
  return s->usage != LZE_DEVICE;
}

/* Spreads tasks over n devices. A task that uses memory of a single device, or
   a copy made there, stays on that device; a task that continues a chain goes
   to the chain's device; any other goes to the device with the least work. */
static void plan_spread(lua_State *L, lze_Plan *p, int table,
                        const lze_DeviceInfo *const *devices, uint32_t n) {
  plan_order(L, p);
  uint64_t *load = lua_newuserdatauv(L, n * sizeof *load, 0);
  bool *continued = lua_newuserdatauv(L, p->count + 1, 0);
  memset(load, 0, n * sizeof *load);
  memset(continued, 0, p->count + 1);
  lze_getoption(L, table, "steps");
  int steps = lua_gettop(L);
  for (uint32_t i = 0; i < p->count; i++) {
    lze_Step *s = &p->steps[i];
    const lze_DeviceInfo *chosen = NULL;
    if (s->kind == LZE_STEP_CALL) continue;
    lua_rawgeti(L, steps, (lua_Integer)i + 1);
    bool given = lze_getoption(L, -1, "device") != LUA_TNIL ||
                 s->copy != LZE_COPY_NONE ||
                 (i > 0 && p->steps[i - 1].copy == LZE_COPY_IN);
    lua_pop(L, 1);
    const lze_Node *node = &p->nodes[i];
    for (uint32_t a = 0; a < node->access_count; a++) {
      lze_Access at = node->accesses[a];
      bool split;
      given = given || !storage_is_common(at.storage, devices, n) ||
              (lze_swap_access(p, &at, &split) &&
               !storage_is_common(at.storage, devices, n));
    }
    if (given) chosen = s->device;
    for (uint32_t d = node->deps.count; d-- > 0 && chosen == NULL;) {
      uint32_t j = node->deps.items[d];
      if (continued[j] || p->steps[j].kind == LZE_STEP_CALL ||
          device_number(p->steps[j].device, devices, n) == n)
        continue;
      continued[j] = true;
      chosen = p->steps[j].device;
    }
    uint32_t least = 0;
    for (uint32_t d = 1; d < n; d++)
      if (load[d] < load[least]) least = d;
    if (chosen == NULL) chosen = devices[least];
    uint32_t number = device_number(chosen, devices, n);
    if (number < n) load[number] += s->bytes + 1;
    if (chosen != s->device) {
      s->device = chosen;
      p->spread = true;
      if (lze_plan_check_step(L, p, table, lua_gettop(L), i) != LUA_OK)
        lua_error(L);
    }
    lua_settop(L, steps);
  }
  lua_settop(L, steps - 3);
}

/* The devices that a plan is spread over; `count` is 0 for a single device. */
typedef struct Spread {
  const lze_DeviceInfo *devices[LZE_MAX_ENGINES];
  uint32_t count;
} Spread;

/* g:compile([options]) -> plan
   options: device, devices (to spread tasks over), batch_bytes (of device
   memory: the tasks run on parts of their buffers), memory_bytes (a limit),
   profile (true: measure each step), queues (the number of each engine's
   queues that it may use at a time). */
int lze_plan_compile(lua_State *L) {
  static const char *const keys[] = {"batch_bytes", "device", "devices",
                                     "memory_bytes", "profile", "queues",
                                     NULL};
  lua_settop(L, 2);
  lze_push_graph_table(L, 1);
  int graph = 3;
  if (lua_isnil(L, 2)) {
    lua_newtable(L);
    lua_replace(L, 2);
  }
  lze_argexpected(L, lua_istable(L, 2), 2, "table");
  lze_check_keys(L, 2, "a plan's options", keys);
  Place place = {.graph = graph};
  if (lze_getoption(L, 2, "device") != LUA_TNIL)
    place.wanted = lze_device_at(L, -1, "option device");
  Spread spread;
  const lze_DeviceInfo **devices = spread.devices;
  spread.count = opt_devices(L, 2, devices);
  if (spread.count > 0) {
    for (uint32_t i = 0; i < spread.count; i++)
      if (devices[i]->driver != devices[0]->driver)
        luaL_error(L, "option devices: they are of several drivers");
    place.wanted = devices[0];
  }
  bool profile = lze_opt_boolean(L, 2, "profile", false);
  lua_Integer limit = lze_opt_positive(L, 2, "memory_bytes", -1);
  lua_Integer width = lze_opt_positive(L, 2, "queues", DEFAULT_WIDTH);
  lua_Integer batch = lze_opt_positive(L, 2, "batch_bytes", 0);
  if (batch > 0 && spread.count > 0)
    luaL_error(L, "options batch_bytes and devices: one or the other");
  lze_Context *context = lze_push_context(L, plan_context(L, &place));
  place.device = lze_device_in(L, context, place.device);
  for (uint32_t i = 0; i < spread.count; i++)
    devices[i] = lze_device_in(L, context, devices[i]);
  lze_PlanBox *box = lze_push_box(L, lze_plan_kind, sizeof *box);
  int plan = lua_gettop(L);
  lze_Plan *p = lze_object_new(&plan_class, sizeof *p, context);
  lze_check_memory(L, p != NULL);
  box->plan = p;
  p->device = place.device;
  p->profile = profile;
  p->limit = limit;
  p->batch_bytes = (size_t)batch;
  p->parities = 1;
  p->width = width < LZE_MAX_LANES ? (uint32_t)width : LZE_MAX_LANES;
  lze_getoption(L, graph, "name");
  const char *name = lua_tostring(L, -1); /* the graph's table keeps it alive */
  snprintf(p->name, sizeof p->name, "graph %s", name);
  lua_createtable(L, 0, 10);
  int table = lua_gettop(L);
  static const char *const tables[] = {"steps", "stubs", "real", "inputs",
                                       "outputs", "swaps", "arenas"};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    lua_newtable(L);
    lua_setfield(L, table, tables[i]);
  }
  lze_getoption(L, table, "real");
  for (int parity = 1; parity <= 2; parity++) {
    lua_newtable(L);
    lua_rawseti(L, -2, parity);
  }
  lua_pushvalue(L, table);
  lua_setiuservalue(L, plan, 1);
  lze_graph_resolve(L, graph, context, p->device, 0);
  lze_flatten(L, p, table, graph, name);
  if (spread.count > 0)
    plan_spread(L, p, table, spread.devices, spread.count);
  lze_plan_skip_copies(L, p, table);
  plan_order(L, p);
  p->queue = lze_new_queue(L, context, p->device);
  lze_plan_place(L, p, table);
  lze_plan_record(L, p, table);
  lua_settop(L, plan);
  return 1;
}

/* --- runs --------------------------------------------------------------- */

/* Raises unless all objects that the plan uses are open. */
static void plan_check_captured(lua_State *L, lze_Plan *p) {
  if (p->broken)
    luaL_error(L, "%s: a start or set has failed half way; compile it again",
               p->name);
  uint64_t closes = p->o.context->state->closes;
  if (p->checked == closes) return;
  for (uint32_t i = 0; i < p->storage_count; i++)
    if (p->storages[i]->o.closed)
      luaL_error(L, "%s: a buffer that it uses is closed", p->name);
  for (uint32_t i = 0; i < p->count; i++)
    if (p->steps[i].kernel != NULL && p->steps[i].kernel->o.closed)
      luaL_error(L, "%s: task %s: %s is closed", p->name, p->steps[i].name,
                 p->steps[i].kernel->name);
  p->checked = closes;
}

/* Called guarded with the plan and its table. */
static int plan_record(lua_State *L) {
  lze_plan_record(L, lua_touserdata(L, 1), 2);
  return 0;
}

/* Returns a storage that a run, or one of its callbacks, may write and that
   unevaluated array expressions have yet to read; or NULL. */
static lze_Storage *plan_awaited(const lze_Plan *p) {
  for (uint32_t i = 0; i < p->captured_count; i++)
    if ((p->captured[i].write || p->hosted) && p->captured[i].storage->awaited)
      return p->captured[i].storage;
  return NULL;
}

/* Prepares the plan at 1 and starts it. `joined`: this is a further iteration
   of the same call. The plan's table is at stack index 3. */
static lze_Command *plan_begin(lua_State *L, bool joined, bool timed) {
  lze_Plan *p = lze_check_plan(L);
  lze_plan_check_calling(L, p);
  while (!lze_queue_ready(L, p->queue)) p = lze_check_plan(L);
  plan_check_captured(L, p);
  if (p->fills_inputs) {
    lze_plan_put_inputs(L, p, 3);
    p = lze_check_plan(L);
  }
  lze_Storage *awaited;
  do {
    if (p->stale) {
      lua_pushcfunction(L, plan_record);
      lua_pushlightuserdata(L, p);
      lua_pushvalue(L, 3);
      lze_call_guarded(L, 2, 0);
      p = lze_check_plan(L);
    }
    awaited = plan_awaited(p);
    if (awaited != NULL) {
      lze_storage_flush_readers(L, awaited);
      p = lze_check_plan(L);
    }
  } while (awaited != NULL);
  plan_check_captured(L, p);
  return lze_plan_start(L, p, 3, joined, timed);
}

/* The number of runs between two calls of a debug hook, which may end the
   loop. */
enum { HOOKED_RUNS = 256 };

/* Begins `n` runs, of which the last may be timed. After a failed run it
   begins no others; a wait for the failed run reports the reason. Returns the
   last run that was begun. */
static lze_Command *plan_begin_all(lua_State *L, lua_Integer n, bool timed) {
  lze_Command *c = plan_begin(L, false, timed && n == 1);
  while (--n > 0) {
    if (n % HOOKED_RUNS == 0 && lze_run_hook(L) != LUA_OK) lua_error(L);
    const lze_Plan *p = lze_check_plan(L);
    if (p->last->status == LZE_FAILED || p->broken) return p->last;
    c = plan_begin(L, true, timed && n == 1);
  }
  return c;
}

/* Reads the options at 2, which must be the last argument, and returns how
   often to run the plan at 1. Pushes the plan's table at 3. */
static lua_Integer plan_iterations(lua_State *L) {
  static const char *const keys[] = {"iterations", NULL};
  lua_settop(L, 2);
  lua_Integer n = 1;
  if (!lua_isnil(L, 2)) {
    lze_argexpected(L, lua_istable(L, 2), 2, "table");
    lze_check_keys(L, 2, "a run's options", keys);
    n = lze_opt_positive(L, 2, "iterations", 1);
  }
  lua_getiuservalue(L, 1, 1);
  return n;
}

/* Retires finished work on the plan's buffers, because pending work prevents
   an attempt (lze_plan_attempt). */
static void plan_poll(const lze_Plan *p) {
  for (uint32_t i = 0; i < p->captured_count; i++) {
    const lze_Access *a = &p->captured[i];
    if (a->storage->uses != NULL)
      lze_storage_pending(NULL, a->storage, a->first, a->last, a->write);
  }
}

/* Returns true if a step's task wrote to a storage in the last run, according
   to its recorded accesses. */
static bool step_wrote(const lze_Plan *p, uint32_t i, const lze_Storage *s) {
  if (p->steps[i].kind != LZE_STEP_TASK) return false;
  const lze_Node *node = &p->nodes[i];
  for (uint32_t k = 0; k < node->access_count; k++)
    if (node->accesses[k].write &&
        lze_plan_is_in(p, &node->accesses[k], lze_plan_parity(p, false), s))
      return true;
  return false;
}

/* Called guarded: raises if the canary around one of the plan's buffers has
   been overwritten, and names the tasks that write to the buffer. */
static int guards_check(lua_State *L) {
  const lze_Plan *p = lua_touserdata(L, 1);
  for (uint32_t i = 0; i < p->storage_count; i++) {
    const lze_Storage *s = p->storages[i];
    if (!lze_canary_damaged(L, p->storages[i])) continue;
    lua_pushfstring(L, "%s: memory outside a buffer was written, %s", p->name,
                    lua_tostring(L, -1));
    const char *between = "; what writes to it: ";
    for (uint32_t k = 0; k < p->count; k++) {
      if (!step_wrote(p, k, s)) continue;
      lua_pushfstring(L, "%s%s", between, p->steps[k].name);
      lua_concat(L, 2);
      between = ", ";
    }
    luaL_error(L, "%s", lua_tostring(L, -1));
  }
  const lze_Storage *other = lze_any_damaged(L, p->o.context->state);
  if (other != NULL)
    luaL_error(L, "%s: memory of others was written, %s of a buffer of %I "
                  "bytes that is not the plan's",
               p->name, lua_tostring(L, -1), (LUAI_UACINT)other->bytes);
  return 0;
}

/* With LZE_CHECK=1, checks canaries after a run. A hook may have closed the
   plan during the wait. */
static void plan_check_guards(lua_State *L, lze_Plan *p) {
  if (p->o.closed || !p->o.context->state->check) return;
  lua_pushcfunction(L, guards_check);
  lua_pushlightuserdata(L, p);
  lze_call_guarded(L, 1, 0);
}

/* Returns true if the plan's runs need nothing from Lua, so that one may be
   attempted. */
static bool plan_is_plain(const lze_Plan *p) {
  return !p->hosted && !p->fills_inputs && !p->profile;
}

/* plan:run([options]) -> plan: runs the plan and waits.
   options: iterations (how often; default 1). */
static int plan_run(lua_State *L) {
  lze_Plan *p = lze_check_plan(L);
  lze_Attempt attempt;
  if (lua_isnoneornil(L, 2) && lze_plan_attempt(p, &attempt)) {
    if (!attempt.over) lze_plan_complete(L, p, &attempt);
  } else {
    lua_Integer n = plan_iterations(L);
    p = lze_check_plan(L);
    plan_poll(p);
    lze_Command *c = plan_begin_all(L, n, false);
    if (plan_is_plain(p) && p->reserve == NULL && !p->o.closed)
      p->reserve = lze_reserve(p->o.context->state, p->captured_count,
                               p->lists.count + 1);
    lze_command_wait(L, c, UINT64_MAX);
  }
  plan_check_guards(L, p);
  lua_settop(L, 1);
  return 1;
}

/* plan:start([options]) -> event: as plan:run, but without waiting; the run
   comes after any earlier run that is not done. The event is that of the last
   iteration. */
static int plan_start(lua_State *L) {
  lze_Plan *p = lze_check_plan(L);
  lua_Integer n = plan_iterations(L);
  lze_Event *e = lze_push_event(L);
  lze_Command *c = plan_begin_all(L, n, true);
  e->command = c;
  lze_command_own(c);
  if (c->state->sync) {
    lze_command_wait(L, c, UINT64_MAX);
    plan_check_guards(L, p);
  }
  lua_settop(L, 4);
  return 1;
}

/* plan:current(x) -> the buffer that represents x in the next run or, in a
   callback, in the current run: with swaps, x or the buffer it is swapped
   with. For a view of one of them, returns a view of the other. */
static int plan_current(lua_State *L) {
  lua_settop(L, 2);
  lze_check_plan(L);
  lze_check_buffer(L, 2); /* this may close the plan */
  lze_Plan *p = lze_check_plan(L);
  lua_getiuservalue(L, 1, 1);
  lze_plan_swapped(L, p, 3, 2, lze_plan_parity(p, true));
  return 1;
}

/* Returns the step with the name at `arg`: "task" if that is unique, or
   "graph.task". */
static uint32_t plan_find(lua_State *L, const lze_Plan *p, int arg) {
  if (lua_type(L, arg) != LUA_TSTRING)
    lze_argerror(L, arg, lua_pushfstring(L, "task: string expected, got %s",
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
      lze_argerror(L, arg,
                    lua_pushfstring(L, "task %s: it may be %s or %s", name,
                                    p->steps[found].name, full));
    found = i;
  }
  if (found == UINT32_MAX) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (uint32_t i = 0; i < p->count && i < 20; i++) {
      const char *full = p->steps[i].name;
      luaL_addstring(&b, i > 0 ? ", " : "");
      luaL_addstring(&b, strrchr(full, '.') + 1);
      luaL_addstring(&b, " or ");
      luaL_addstring(&b, full);
    }
    if (p->count > 20) luaL_addstring(&b, ", ...");
    luaL_pushresult(&b);
    lze_argerror(L, arg, lua_pushfstring(L, "task '%s': there is none (there "
                                             "is: %s)",
                                          name, lua_tostring(L, -1)));
  }
  return found;
}

/* Returns the position, among a step's values, of the argument at `arg`. */
static lua_Integer plan_argument(lua_State *L, const lze_Step *s, int arg,
                                 lua_Integer count) {
  lua_Integer before = s->kind == LZE_STEP_TASK ? 2 : 0;
  /* The sizes of buffers are the last arguments; scripts cannot set them. */
  if (s->kernel != NULL) count -= s->kernel->info->size_count;
  if (lua_type(L, arg) == LUA_TSTRING && s->kernel != NULL) {
    const char *name = lua_tostring(L, arg);
    int number = lze_named_argument(s->kernel, name);
    if (number > count - before)
      lze_argerror(L, arg, lua_pushfstring(L, "task %s: %s is a size, which "
                                              "follows its buffer", s->name,
                                           name));
    if (number > 0) return before + number;
    lze_argerror(L, arg, lua_pushfstring(L, "task %s: %s has %s argument '%s'",
                                          s->name, s->kernel->name,
                                          number == 0 ? "no" : "more than one",
                                          name));
  }
  lua_Integer i = lze_check_integer(L, arg, "argument");
  if (i < 1 - (before > 0) || i > count - before)
    lze_argerror(L, arg, lua_pushfstring(L, "task %s: argument %I is outside "
                                             "%d..%I",
                                          s->name, (LUAI_UACINT)i,
                                          before > 0 ? 0 : 1,
                                          (LUAI_UACINT)(count - before)));
  return before + i;
}

/* Returns the type and count of the buffer or transient buffer at `index`;
   NULL for other values. */
static const lze_Type *value_extent(lua_State *L, int index,
                                    lua_Integer *count) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  const lze_Scratch *s = lze_test_box(L, index, lze_scratch_kind);
  *count = b != NULL ? b->count : s != NULL ? s->count : 0;
  return b != NULL ? b->type : s != NULL ? s->type : NULL;
}

/* Raises unless the new buffer has the type of the one that was recorded, and
   at least as many elements. The recorded buffer may have been replaced since,
   so the step's `least` keeps its size: for each argument, a transient
   buffer. */
static void set_check_buffer(lua_State *L, const lze_Step *s, int step,
                             lua_Integer at, int old) {
  lua_Integer least, count;
  if (lze_getoption(L, step, "least") == LUA_TNIL) {
    lua_newtable(L);
    lua_replace(L, -2);
    lua_pushliteral(L, "least");
    lua_pushvalue(L, -2);
    lua_rawset(L, step);
  }
  const lze_Type *type = value_extent(L, old, &least);
  if (lua_rawgeti(L, -1, at) == LUA_TNIL && type != NULL) {
    lze_push_scratch(L, type, least);
    lua_rawseti(L, -3, at);
  } else {
    type = value_extent(L, -1, &least);
  }
  lua_settop(L, old);
  if (type != NULL && lua_isnil(L, 4) &&
      lze_getoption(L, step, "lengths") != LUA_TNIL) /* a Lua kernel */
    lze_argerror(L, 4, lua_pushfstring(L, "task %s: a buffer of %s expected, "
                                          "got nil", s->name, type->name));
  lua_settop(L, old);
  const lze_Buffer *b = lze_test_buffer(L, 4);
  const lze_Type *given = value_extent(L, 4, &count);
  if (type == NULL || given == NULL ||
      (given == type && count >= least && (b == NULL || lze_buffer_is_open(b))))
    return;
  lze_argerror(L, 4, lua_pushfstring(L, "task %s: a buffer of at least %I %s "
                                         "expected, got %s, %I",
                                      s->name, (LUAI_UACINT)least, type->name,
                                      lze_describe(L, 4), (LUAI_UACINT)count));
}

/* Raises unless the step's device reaches the buffer: plan:set adds no copies
   from other devices. */
static void set_check_reach(lua_State *L, const lze_Plan *p,
                            const lze_Step *s) {
  const lze_Buffer *b = lze_test_buffer(L, 4);
  if (b == NULL || !lze_buffer_is_open(b)) return;
  const char *problem =
      b->storage->o.context != p->o.context ? "a buffer of another context"
      : !lze_device_reaches(s->device, b->storage)
          ? "a buffer of another device, whose memory this one cannot reach"
          : NULL;
  if (problem != NULL)
    lze_argerror(L, 4, lua_pushfstring(L, "task %s: %s", s->name, problem));
}

/* Raises if a new range contains other options: the recorded launch options
   stay. The number of a Lua kernel's indices cannot change. */
static void set_check_range(lua_State *L, const lze_Plan *p, uint32_t i,
                            int step) {
  const char *task = p->steps[i].name;
  bool table = lua_istable(L, 4);
  if (!table && !lua_isnumber(L, 4)) return;
  for (lua_pushnil(L); table && lua_next(L, 4); lua_pop(L, 1))
    if (!lua_isinteger(L, -2))
      luaL_error(L, "%s: task %s: unknown key %s in a global size (the rest of "
                    "the launch table stays as it was recorded)",
                 p->name, task, lze_describe(L, -2));
  int n = table ? (int)lua_rawlen(L, 4) : 1;
  lze_getoption(L, step, "dimensions");
  int expected = (int)lua_tointeger(L, -1);
  if (expected > 0 && n != expected)
    luaL_error(L, "%s: task %s: a global size of %d number%s expected, one for "
                  "each index of the function, got %d",
               p->name, task, expected, expected == 1 ? "" : "s", n);
}

/* A change of a value of step i. */
typedef struct Change {
  lze_Plan *p;
  uint32_t i;
  bool fits;                    /* it is valid for the step alone */
  bool back;                    /* it was invalid, and is undone */
} Change;

/* Called by lua_pcall with a Change, the plan's table and the step's: checks
   the step again, then determines the plan's order and memory again. */
static int change_apply(lua_State *L) {
  Change *c = lua_touserdata(L, 1);
  lze_Plan *p = c->p;
  const lze_Node *node = &p->nodes[c->i];
  if (lze_plan_check_step(L, p, 2, 3, c->i) != LUA_OK) {
    if (lua_type(L, -1) != LUA_TSTRING) return lua_error(L);
    return luaL_error(L, "%s: task %s: %s", p->name, p->steps[c->i].name,
                      lua_tostring(L, -1));
  }
  if (c->back) return 0;
  const char *problem = lze_swap_problem(p, p->steps[c->i].device,
                                         node->accesses, node->access_count);
  if (problem != NULL)
    luaL_error(L, "%s: task %s: %s", p->name, p->steps[c->i].name, problem);
  c->fits = true;
  p->steps[c->i].version++;
  p->stale = true;
  p->broken = true; /* in case it neither fits nor can be undone */
  lze_plan_skip_copies(L, p, 2);
  plan_order(L, p);
  lze_plan_place(L, p, 2);
  return 0;
}

/* Sets value `at` of the step whose table is at `step` to the value on the top
   of the stack. [-1, +0] Returns LUA_OK, or an error that is pushed. */
static int plan_change(lua_State *L, Change *c, int table, int step,
                       lua_Integer at) {
  int arg;
  lua_rawseti(L, step, at);
  lua_pushcfunction(L, change_apply);
  lua_pushlightuserdata(L, c);
  lua_pushvalue(L, table);
  lua_pushvalue(L, step);
  c->p->changing = true;
  int status = lze_protected(L, 3, 0, &arg);
  c->p->changing = false;
  return status;
}

/* Updates the lengths of value `at` of the step to the lengths of the value at
   `index`. */
static void set_lengths(lua_State *L, int step, lua_Integer at, int index) {
  lua_Integer count;
  if (value_extent(L, index, &count) == NULL ||
      lze_getoption(L, step, "lengths") == LUA_TNIL)
    return;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (lua_tointeger(L, -1) != at) continue;
    lua_pushinteger(L, count);
    lua_rawseti(L, step, lua_tointeger(L, -3));
  }
}

/* If value `at` of the step was an array when its Lua kernel was compiled into
   the plan, raises unless the value at `given` has the same shape. */
static void set_check_shape(lua_State *L, const lze_Step *s, int step,
                            lua_Integer at, int given) {
  int top = lua_gettop(L);
  if (lze_getoption(L, step, "shapes") == LUA_TTABLE &&
      lua_rawgeti(L, -1, at) != LUA_TNIL) {
    const char *old = lze_push_shape(L, -1), *now = lze_push_shape(L, given);
    if (!lze_is_array(L, given) || strcmp(old, now) != 0)
      lze_argerror(L, 4, lua_pushfstring(L, "task %s: an array of shape %s "
                                            "expected, got %s", s->name, old,
                                         now));
  }
  lua_settop(L, top);
}

/* plan:set(task, argument, value) -> plan
   argument: its number or name, 0 for the global size. Runs that have started
   are not affected. */
static int plan_set(lua_State *L) {
  lze_Plan *p = lze_check_plan(L);
  if (lua_gettop(L) == 3) lze_argerror(L, 4, "value expected, or nil");
  lua_settop(L, 4);
  lua_pushvalue(L, 4);
  lze_copy_value(L, 4, 2);
  lua_getiuservalue(L, 1, 1);
  int given = 5, table = 6;
  uint32_t i = plan_find(L, p, 2);
  lze_getoption(L, table, "steps");
  lua_rawgeti(L, -1, (lua_Integer)i + 1);
  int step = lua_gettop(L);
  lze_getoption(L, step, "n");
  lua_Integer count = lua_tointeger(L, -1);
  lua_Integer at = plan_argument(L, &p->steps[i], 3, count);
  if (p->steps[i].kind == LZE_STEP_CALL)
    lze_argerror(L, 2, "a call has no arguments");
  if (p->steps[i].copy != LZE_COPY_NONE)
    lze_argerror(L, 2, "a transfer between devices that lze has put in");
  lua_rawgeti(L, step, at);
  int old = lua_gettop(L);
  set_check_buffer(L, &p->steps[i], step, at, old);
  set_check_reach(L, p, &p->steps[i]);
  set_check_shape(L, &p->steps[i], step, at, given);
  bool range = at == 2 && p->steps[i].kind == LZE_STEP_TASK;
  if (range) set_check_range(L, p, i, step);
  if (range && lua_istable(L, old)) {
    /* The range changes; the rest of the launch table stays. */
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
  bool broken = p->broken;
  Change change = {.p = p, .i = i};
  int value = lua_gettop(L);
  set_lengths(L, step, at, 4);
  lua_settop(L, value);
  if (plan_change(L, &change, table, step, at) != LUA_OK) {
    int error = lua_gettop(L);
    if (p->o.closed) return lua_error(L); /* while making room */
    change.back = !change.fits;
    set_lengths(L, step, at, old);
    lua_settop(L, error);
    lua_pushvalue(L, old);
    if (plan_change(L, &change, table, step, at) == LUA_OK) p->broken = broken;
    lua_settop(L, error);
    return lua_error(L);
  }
  p->broken = broken;
  lua_settop(L, 1);
  return 1;
}

/* plan:fetch(y) -> y: a "demand" output, ready to be read: that of the last
   run or, in a callback, of the current run. */
static int plan_fetch(lua_State *L) {
  lua_settop(L, 2);
  lze_check_plan(L);
  lua_pushvalue(L, 2);
  lze_take_buffer(L, 2); /* this may close the plan */
  lze_Plan *p = lze_check_plan(L);
  lua_insert(L, 1); /* the original y, to be returned */
  lua_getiuservalue(L, 2, 1);
  lze_getoption(L, 4, "outputs");
  lua_Integer n = (lua_Integer)lua_rawlen(L, 5), found = 0;
  for (lua_Integer i = 1; i <= n && found == 0; i++) {
    lua_rawgeti(L, 5, i);
    lua_rawgeti(L, -1, 1);
    if (lua_rawequal(L, -1, 3)) found = i;
    lua_settop(L, 5);
  }
  if (found == 0)
    lze_argerror(L, 2, lua_pushfstring(L, "%s has no such output", p->name));
  uint32_t parity = lze_plan_parity(p, false);
  lua_rawgeti(L, 5, found);
  lua_rawgeti(L, 6, 3);
  lze_plan_swapped(L, p, 4, 3, parity);
  lze_plan_swapped(L, p, 4, 7, parity);
  const lze_Buffer *b = lze_test_buffer(L, 8);
  if (!lze_buffer_is_open(b))
    lze_argerror(L, 2, "what plays its part is closed");
  lze_storage_wait(L, b->storage, b->offset,
                   b->offset + (size_t)b->count * b->type->bytes, false);
  uint64_t since = lze_now_ns();
  if (lua_istable(L, 9))
    lze_io_read(L, 8, 9);
  else if (lze_test_buffer(L, 9) != NULL)
    lze_io_write(L, 9, 8);
  if (!lua_isnil(L, 7)) lze_io_took(L, p, 6, since);
  lua_settop(L, 1);
  return 1;
}

static int plan_close(lua_State *L) {
  lze_PlanBox *b = lze_check_box(L, 1, lze_plan_kind);
  lze_Plan *p = b->plan;
  if (p == NULL) return 0;
  for (uint32_t i = 0; i < LZE_MAX_PLACES; i++)
    if (p->arenas[i] != NULL) lze_close(&p->arenas[i]->o);
  lze_close(&p->o);
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
    lua_pushfstring(L, "plan of %s: %d step%s on %s, %I run%s", p->name,
                    (int)p->count, p->count == 1 ? "" : "s",
                    p->device->props.name, (LUAI_UACINT)p->runs,
                    p->runs == 1 ? "" : "s");
  return 1;
}

static int field_plan_device(lua_State *L) {
  lze_push_device(L, lze_check_plan(L)->device);
  return 1;
}

/* plan:display(): shows its text in a notebook, or prints it. */
static int plan_display(lua_State *L) {
  lze_check_plan(L);
  lua_settop(L, 1);
  lua_pushnil(L);
  lze_display(L);
  return 0;
}

static const lze_Method plan_methods[] = {
    {"run", plan_run, LZE_UNGUARDED},
    {"start", plan_start, LZE_UNGUARDED},
    {"current", plan_current, LZE_GUARDED},
    {"set", plan_set, LZE_GUARDED},
    {"fetch", plan_fetch, LZE_GUARDED},
    {"report", lze_plan_report, LZE_GUARDED},
    {"json", lze_plan_json, LZE_GUARDED},
    {"trace", lze_plan_trace, LZE_GUARDED},
    {"dot", lze_plan_dot, LZE_GUARDED},
    {"display", plan_display, LZE_UNGUARDED},
    {"close", plan_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method plan_metamethods[] = {
    {"__gc", plan_gc, LZE_UNGUARDED},
    {"__close", plan_close, LZE_UNGUARDED},
    {"__tostring", plan_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field plan_fields[] = {{"device", field_plan_device},
                                        {NULL, NULL}};

void lze_open_plan(lua_State *L) {
  lze_open_run(L);
  lze_open_report(L);
  lze_new_kind(L, lze_plan_kind, plan_metamethods, plan_methods, plan_fields);
}
