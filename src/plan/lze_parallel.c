/*
 * lze_parallel.c - one range over several devices.
 * SPDX-License-Identifier: MIT
 *
 * Each device gets a part of the range, by the speed that was measured the
 * last times; it does what a script would do by hand: launches on the devices'
 * own queues and, where memory cannot be reached, copies.
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "lze_open.h"
#include "module/lze_lua_kernel.h"
#include "run/lze_buffer.h"
#include "run/lze_command.h"
#include "run/lze_kernel.h"
#include "run/lze_queue.h"

#include <stdlib.h>
#include <string.h>

/* Parts begin at a multiple of this, so that groups divide them and the same
   ones come again. */
enum { GRAIN = 64 };

enum { MAX_DEVICES = 64 };

/* --- lze.slice ---------------------------------------------------------- */

/* An argument of which each device sees its part only; user value 1 is the
   buffer. */
typedef struct Slice {
  lze_Box box;
  lua_Integer size;             /* elements for each work-item */
} Slice;

/* lze.slice(x [, size]) -> an argument of lze.parallel: of size elements for
   each work-item (1) a device sees those of its own work-items only. */
static int core_slice(lua_State *L) {
  lua_settop(L, 2);
  lze_check_buffer(L, 1);
  lua_Integer size = lze_check_integer_or(L, 2, "size", 1);
  if (size < 1)
    lze_argerror(L, 2, lua_pushfstring(L, "size: a positive integer "
                                           "expected, got %I",
                                        (LUAI_UACINT)size));
  Slice *s = lze_push_box(L, lze_slice_kind, sizeof *s);
  s->size = size;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

static int slice_tostring(lua_State *L) {
  const Slice *s = lze_check_box(L, 1, lze_slice_kind);
  lua_getiuservalue(L, 1, 1);
  luaL_tolstring(L, -1, NULL);
  lua_pushfstring(L, "slice of %I: %s", (LUAI_UACINT)s->size,
                  lua_tostring(L, -1));
  return 1;
}

/* --- lze.parallel ------------------------------------------------------- */

/* What one device does. */
typedef struct Part {
  const lze_DeviceInfo *device;
  double weight;
  lua_Integer first, count;     /* work-items, from 0 */
  bool measured;                /* not the first time, which compiles */
} Part;

/* The stack of the call: */
enum { DEVICES = 1, RANGE, KERNEL, ARGUMENTS }; /* as they are given */

typedef struct Parallel {
  int top;                      /* of the arguments */
  int kernel;                   /* index of it or, of a Lua kernel, a variant */
  int devices;                  /* index of an array: {device, ...} */
  int speeds;                   /* index of the kernel's table of speeds */
  int events;                   /* of an array: of each part the launch's and
                                   the last copy's */
  int count;
  int work;                     /* of an array: of each part what it launches,
                                   the queue, the kernel and its arguments */
  bool sliced;
  lua_Integer total;
  Part parts[MAX_DEVICES];
} Parallel;

/* The devices at 1: a device, which stands for its tiles if it has any, or an
   array of devices and selectors. */
static void parallel_devices(lua_State *L, Parallel *p) {
  lua_newtable(L);
  p->devices = lua_gettop(L);
  if (lua_istable(L, DEVICES)) {
    p->count = (int)lua_rawlen(L, DEVICES);
    if (p->count == 0) luaL_error(L, "devices: an empty table");
    if (p->count > MAX_DEVICES)
      luaL_error(L, "devices: %d are more than %d", p->count, MAX_DEVICES);
    for (int i = 0; i < p->count; i++) {
      lua_rawgeti(L, DEVICES, i + 1);
      p->parts[i].device = lze_device_at(L, -1, "devices");
      lua_pop(L, 1);
    }
  } else {
    const lze_DeviceInfo *d = lze_device_at(L, DEVICES, "devices");
    p->count = d->tile_count == 0 ? 1
               : d->tile_count < MAX_DEVICES ? (int)d->tile_count
                                             : MAX_DEVICES;
    for (int i = 0; i < p->count; i++)
      p->parts[i].device = d->tile_count == 0 ? d : &d->tiles[i];
  }
  for (int i = 0; i < p->count; i++) {
    for (int j = 0; j < i; j++)
      if (p->parts[j].device == p->parts[i].device)
        luaL_error(L, "devices: %s is named twice",
                   p->parts[i].device->props.name);
    lze_push_device(L, p->parts[i].device);
    lua_rawseti(L, p->devices, i + 1);
  }
}

/* Push the table of speeds, in work-items per nanosecond by device, of the
   kernel. */
static void parallel_speeds(lua_State *L) {
  static const char key;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
  }
  lua_pushvalue(L, KERNEL);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, KERNEL);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
  }
  lua_remove(L, -2);
}

static uint32_t device_units(const lze_DeviceInfo *d) {
  uint32_t n = d->props.numSlices * d->props.numSubslicesPerSlice *
               d->props.numEUsPerSubslice;
  return n > 0 ? n : 1;
}

/* How fast each device is taken to be: as measured or, where one was not yet,
   by the number of its units. */
static void parallel_weigh(lua_State *L, Parallel *p) {
  bool all = true;
  for (int i = 0; i < p->count; i++) {
    Part *part = &p->parts[i];
    lua_rawgeti(L, p->devices, i + 1);
    part->measured = lua_rawget(L, p->speeds) != LUA_TNIL;
    part->weight = lua_tonumber(L, -1); /* 0 after the first time */
    if (!(part->weight > 0)) all = false;
    lua_pop(L, 1);
  }
  for (int i = 0; i < p->count && !all; i++)
    p->parts[i].weight = device_units(p->parts[i].device);
}

static void parallel_split(Parallel *p) {
  double sum = 0, before = 0;
  for (int i = 0; i < p->count; i++) sum += p->parts[i].weight;
  lua_Integer first = 0;
  for (int i = 0; i < p->count; i++) {
    Part *part = &p->parts[i];
    before += part->weight;
    lua_Integer end = i == p->count - 1
                          ? p->total
                          : (lua_Integer)((double)p->total * before / sum);
    if (i < p->count - 1 && p->total >= (lua_Integer)GRAIN * p->count)
      end -= end % GRAIN;
    if (end < first) end = first;
    part->first = first;
    part->count = end - first;
    first = end;
  }
}

/* Check the arguments as far as a launch on one device would not. */
static void parallel_check(lua_State *L, Parallel *p) {
  for (int i = ARGUMENTS; i <= p->top; i++) {
    const Slice *s = lze_test_box(L, i, lze_slice_kind);
    if (s == NULL) continue;
    p->sliced = true;
    lua_getiuservalue(L, i, 1);
    const lze_Buffer *b = lze_test_buffer(L, -1);
    lua_pop(L, 1);
    int number = i - ARGUMENTS + 1;
    if (!lze_buffer_is_open(b))
      luaL_error(L, "argument %d: the buffer of the slice is closed", number);
    if (p->total > b->count / s->size)
      luaL_error(L, "argument %d: %I work-items of %I elements each are more "
                    "than the %I of the slice", number,
                 (LUAI_UACINT)p->total, (LUAI_UACINT)s->size,
                 (LUAI_UACINT)b->count);
  }
  if (!p->sliced && p->count > 1 && !lze_kernel_splits(L, p->kernel)) {
    luaL_tolstring(L, KERNEL, NULL);
    luaL_error(L, "%s: it uses more than its global id, or the driver has no "
                  "global offsets, so its range cannot be split: use "
                  "lze.slice", lua_tostring(L, -1));
  }
}

/* Push the kernel as one of a device, and return its context.  Lua kernels have
   a variant for each. */
static lze_Context *part_kernel(lua_State *L, const Parallel *p,
                                const Part *part) {
  if (p->kernel != KERNEL) {
    lua_pushvalue(L, KERNEL);
    lze_Context *c = lze_context_of_kernel(L, p->kernel);
    return c->driver == part->device->driver
               ? c : lze_device_context(L, part->device);
  }
  lua_getiuservalue(L, KERNEL, 1);
  lua_getfield(L, -1, "on");
  lua_insert(L, -2);
  lze_push_device(L, part->device);
  lua_call(L, 2, 1);
  lua_getfield(L, -1, "kernel");
  lua_insert(L, -2);
  lua_getfield(L, KERNEL, "name");
  lua_call(L, 2, 1);
  return lze_context_of_kernel(L, lua_gettop(L));
}

/* Push x:copy on the queue of a device's: q:copy(dst, src, i, j, at), its event
   left on the stack; the buffers are at `dst` and `src`. */
static void part_copy(lua_State *L, int queue, int dst, int src,
                      lua_Integer i, lua_Integer j, lua_Integer at) {
  lua_getfield(L, queue, "copy");
  lua_pushvalue(L, queue);
  lua_pushvalue(L, dst);
  lua_pushvalue(L, src);
  lua_pushinteger(L, i);
  lua_pushinteger(L, j);
  lua_pushinteger(L, at);
  lua_call(L, 6, 1);
}

/* Push what stands for argument i on a device: itself, a view, or a copy. True
   for a copy, which must go back if it is written. */
static bool part_argument(lua_State *L, const Parallel *p, const Part *part,
                          int i, int context, int queue) {
  const Slice *s = lze_test_box(L, i, lze_slice_kind);
  if (s == NULL) {
    lua_pushvalue(L, i);
    return false;
  }
  lua_Integer from = part->first * s->size + 1;
  lua_Integer to = from + part->count * s->size - 1;
  lua_getiuservalue(L, i, 1);
  int buffer = lua_gettop(L);
  const lze_Buffer *b = lze_check_buffer(L, buffer);
  const lze_Queue *q = lze_test_queue(L, queue);
  if (b->storage->o.context == q->o.context &&
      lze_device_reaches(q->device, b->storage) &&
      (b->storage->usage != LZE_DEVICE || b->storage->device == q->device)) {
    lua_getfield(L, buffer, "view");
    lua_pushvalue(L, buffer);
    lua_pushinteger(L, from);
    lua_pushinteger(L, to);
    lua_call(L, 3, 1);
    lua_remove(L, buffer);
    return false;
  }
  lua_pushcfunction(L, lze_buffer_new);
  lua_pushstring(L, b->type->name);
  lua_pushinteger(L, to - from + 1);
  lua_createtable(L, 0, 4);
  lua_pushliteral(L, "device");
  lua_setfield(L, -2, "usage");
  lua_pushvalue(L, context);
  lua_setfield(L, -2, "context");
  lua_pushboolean(L, false);
  lua_setfield(L, -2, "zero");
  lze_push_device(L, part->device);
  lua_setfield(L, -2, "device");
  lua_call(L, 3, 1);
  if (lze_kernel_reads(L, p->kernel, (uint32_t)(i - ARGUMENTS)) ||
      !lze_kernel_writes(L, p->kernel, (uint32_t)(i - ARGUMENTS))) {
    part_copy(L, queue, buffer + 1, buffer, from, to, 1);
    lua_pop(L, 1);
  }
  lua_remove(L, buffer);
  return true;
}

/* Push what stands for the slice at i on a device until it is known that all
   parts will do. */
static void part_stub(lua_State *L, const Part *part, int i, int queue) {
  const Slice *s = lze_test_box(L, i, lze_slice_kind);
  lua_getiuservalue(L, i, 1);
  const lze_Buffer *b = lze_check_buffer(L, -1);
  lze_push_stub(L, lze_test_queue(L, queue)->o.context, part->device, b->type,
                part->count * s->size);
  lua_remove(L, -2);
}

static void part_use(void *data, int argument, const lze_Access *access) {
  (void)data, (void)argument, (void)access;
}

/* Push the range of a part, from its own work-items on unless it has buffers of
   its own. */
static void part_range(lua_State *L, const Parallel *p, const Part *part) {
  lua_createtable(L, 1, 1);
  lua_pushinteger(L, part->count);
  lua_rawseti(L, -2, 1);
  if (p->sliced || part->first == 0) return;
  lua_pushinteger(L, part->first);
  lua_setfield(L, -2, "offset");
}

/* Push the kernel of a part, its context and its queue. */
static void part_push(lua_State *L, const Parallel *p, const Part *part) {
  lze_Context *c = part_kernel(L, p, part);
  lze_push_context(L, c);
  lze_push_cached_queue(L, c, part->device);
}

/* Check what a part launches, before any part runs: as a launch does, with the
   buffers themselves where the part would have copies of its own. */
static void part_check(lua_State *L, const Parallel *p, int number) {
  const Part *part = &p->parts[number];
  int top = lua_gettop(L);
  if (part->count == 0) return;
  luaL_checkstack(L, p->top - KERNEL + 20, NULL);
  part_push(L, p, part);
  int kernel = top + 1, queue = top + 3;
  part_range(L, p, part);
  int range = lua_gettop(L);
  for (int i = ARGUMENTS; i <= p->top; i++) {
    if (lze_test_box(L, i, lze_slice_kind) == NULL) lua_pushvalue(L, i);
    else part_stub(L, part, i, queue);
  }
  const lze_Queue *q = lze_test_queue(L, queue);
  const lze_Place place = {q->o.context, q->device};
  int count = p->top - KERNEL;
  lze_Kernel *k = lze_kernel_resolve(L, kernel, &place, range, &count);
  lze_task_check(L, k, NULL, range, count, part_use, NULL);
  lze_kernel_forget(k);
  lua_settop(L, top);
}

/* Enqueue the part of a device; its last event goes into `events`. */
static void part_start(lua_State *L, const Parallel *p, int number) {
  const Part *part = &p->parts[number];
  bool copied[256];
  int top = lua_gettop(L);
  if (part->count == 0) return;
  luaL_checkstack(L, 2 * (p->top - KERNEL) + 20, NULL);
  part_push(L, p, part);
  int kernel = top + 1, context = kernel + 1, queue = kernel + 2;
  for (int i = ARGUMENTS; i <= p->top; i++)
    copied[i - ARGUMENTS] = part_argument(L, p, part, i, context, queue);
  lua_getfield(L, queue, "launch");
  lua_pushvalue(L, queue);
  lua_pushvalue(L, kernel);
  part_range(L, p, part);
  for (int i = ARGUMENTS; i <= p->top; i++)
    lua_pushvalue(L, queue + 1 + i - ARGUMENTS);
  lua_call(L, p->top - KERNEL + 3, 1);
  lua_rawseti(L, p->events, 2 * number + 1);
  for (int i = ARGUMENTS; i <= p->top; i++) {
    if (!copied[i - ARGUMENTS] ||
        !lze_kernel_writes(L, p->kernel, (uint32_t)(i - ARGUMENTS)))
      continue;
    const Slice *s = lze_test_box(L, i, lze_slice_kind);
    lua_getiuservalue(L, i, 1);
    int buffer = lua_gettop(L);
    part_copy(L, queue, buffer, queue + 1 + i - ARGUMENTS, 1,
              part->count * s->size, part->first * s->size + 1);
    lua_rawseti(L, p->events, 2 * number + 2);
    lua_settop(L, buffer - 1);
  }
  lua_settop(L, top);
}

/* Wait for the events of a part, and push what it came to. */
static void part_finish(lua_State *L, Parallel *p, int number) {
  Part *part = &p->parts[number];
  lua_Integer kernel_ns = 0;
  for (int which = 1; which <= 2; which++) {
    if (lua_rawgeti(L, p->events, 2 * number + which) == LUA_TUSERDATA) {
      lze_Command *c = lze_test_event(L, -1)->command;
      lze_command_wait(L, c, UINT64_MAX);
      if (which == 1) kernel_ns = (lua_Integer)c->kernel_ns;
    }
    lua_pop(L, 1);
  }
  /* The first launch of a kernel may have been compiled; it is not measured.
     Later ones are smoothed, because a machine has other work too. */
  double speed = kernel_ns > 0 && part->measured
                     ? (double)part->count / (double)kernel_ns : 0;
  if (part->count > 0) {
    lua_rawgeti(L, p->devices, number + 1);
    lua_pushvalue(L, -1);
    lua_rawget(L, p->speeds);
    double before = lua_tonumber(L, -1);
    lua_pop(L, 1);
    lua_pushnumber(L, speed == 0     ? before
                      : before > 0   ? (before + speed) / 2
                                     : speed);
    lua_rawset(L, p->speeds);
  }
  lua_createtable(L, 0, 4);
  lua_rawgeti(L, p->devices, number + 1);
  lua_setfield(L, -2, "device");
  lua_pushinteger(L, part->first + 1);
  lua_setfield(L, -2, "first");
  lua_pushinteger(L, part->count);
  lua_setfield(L, -2, "count");
  lua_pushinteger(L, kernel_ns);
  lua_setfield(L, -2, "kernel_ns");
}

/* Push the variant of the Lua kernel for the whole of each slice: it says what
   the parts read and write. */
static void parallel_resolve(lua_State *L, Parallel *p) {
  int count = p->top - KERNEL;
  luaL_checkstack(L, count + 8, NULL);
  lua_pushvalue(L, KERNEL);
  p->kernel = lua_gettop(L);
  lua_pushvalue(L, RANGE);
  for (int i = ARGUMENTS; i <= p->top; i++)
    if (lze_test_box(L, i, lze_slice_kind) != NULL) lua_getiuservalue(L, i, 1);
    else lua_pushvalue(L, i);
  lze_kernel_resolve(L, p->kernel, NULL, p->kernel + 1, &count);
  lua_settop(L, p->kernel);
}

/* What core_parallel does, in a protected call with its arguments: upvalues are
   a Parallel and the array of events. */
static int parallel_body(lua_State *L) {
  Parallel *p = lua_touserdata(L, lua_upvalueindex(1));
  p->top = lua_gettop(L);
  p->events = lua_upvalueindex(2);
  parallel_devices(L, p);
  int exact;
  p->total = lua_tointegerx(L, RANGE, &exact);
  if (lua_type(L, RANGE) != LUA_TNUMBER || !exact)
    luaL_error(L, "n: integer expected, got %s", lze_describe(L, RANGE));
  if (p->total < 0 || p->total > UINT32_MAX)
    luaL_error(L, "n: %I is outside 0..4294967295", (LUAI_UACINT)p->total);
  if (!lze_kernel_is_open(L, KERNEL))
    luaL_error(L, "k: an open kernel expected, got %s",
               lze_describe(L, KERNEL));
  p->kernel = KERNEL;
  int given = p->top - KERNEL, expected = given;
  if (lze_is_lua_kernel(L, KERNEL)) {
    parallel_resolve(L, p);
  } else {
    lua_getfield(L, KERNEL, "args");
    expected = (int)lua_rawlen(L, -1);
    lua_pop(L, 1);
  }
  if (given != expected || given > 256)
    luaL_error(L, "%d arguments of the kernel expected, got %d", expected,
               given);
  parallel_check(L, p);
  parallel_speeds(L);
  p->speeds = lua_gettop(L);
  parallel_weigh(L, p);
  parallel_split(p);
  for (int i = 0; i < p->count; i++) part_check(L, p, i);
  for (int i = 0; i < p->count; i++) part_start(L, p, i);
  lua_createtable(L, p->count, 0);
  for (int i = 0; i < p->count; i++) {
    part_finish(L, p, i);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* lze.parallel(devices, n, k, ...) -> array of {device, first, count,
   kernel_ns}: n work-items of a kernel over several devices, each a part by
   its measured speed; waits for all. */
static int core_parallel(lua_State *L) {
  for (int i = 1; i <= KERNEL; i++) luaL_checkany(L, i);
  luaL_checkstack(L, 20, NULL);
  int top = lua_gettop(L);
  Parallel *p = lua_newuserdatauv(L, sizeof *p, 0);
  memset(p, 0, sizeof *p);
  lua_newtable(L);
  lua_pushcclosure(L, parallel_body, 2);
  lua_insert(L, 1);
  if (lua_pcall(L, top, 1, 0) == LUA_OK) return 1;
  /* What has begun goes on, as after any failed launch. The position is that
     of the script, which the calls inside could not see. */
  luaL_where(L, 1);
  if (lua_isstring(L, 1)) {
    lua_pushfstring(L, "lze.parallel: %s", lua_tostring(L, 1));
    lua_concat(L, 2);
  } else {
    if (lua_istable(L, 1)) {
      size_t length;
      const char *where = lua_tolstring(L, -1, &length);
      lua_pushliteral(L, "where");
      if (length >= 2) lua_pushlstring(L, where, length - 2);
      else lua_pushnil(L);
      lua_rawset(L, 1);
    }
    lua_settop(L, 1);
  }
  return lua_error(L);
}

static const lze_Method slice_methods[] = {
    {NULL, NULL, LZE_HOT}};
static const lze_Method slice_metamethods[] = {
    {"__tostring", slice_tostring, LZE_HOT},
    {NULL, NULL, LZE_HOT}};
static const lze_Field slice_fields[] = {{NULL, NULL}};

static const lze_Method functions[] = {
    {"parallel", core_parallel, LZE_HOT},
    {"slice", core_slice, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

void lze_open_parallel(lua_State *L) {
  lze_new_kind(L, lze_slice_kind, slice_metamethods, slice_methods,
               slice_fields);
  lze_set_methods(L, functions, 0);
}
