/*
 * lze_context.c - contexts, and devices as members of a context.
 * SPDX-License-Identifier: MIT
 */
#include "device/lze_device.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "device/lze_native.h"
#include "device/lze_object.h"

#include <stdlib.h>

/* A device as a member of a borrowed context. */
typedef struct lze_BorrowedDevice {
  lze_DeviceInfo info;
  struct lze_BorrowedDevice *next;
} BorrowedDevice;

static void context_destroy(lze_Object *o) {
  lze_Context *c = (lze_Context *)o;
  c->state->context_hooks->drop(c);
  lze_Context **link = &c->state->contexts;
  while (*link != c) link = &(*link)->next;
  *link = c->next;
  if (c->native != NULL) lze_native_unref(c->native);
  c->native = NULL;
  c->handle = NULL;
}

static void context_release(lze_Object *o) {
  lze_Context *c = (lze_Context *)o;
  while (c->devices != NULL) {
    BorrowedDevice *d = c->devices;
    c->devices = d->next;
    free(d);
  }
}

static const lze_Class context_class = {"context", context_destroy,
                                        context_release};

void lze_configure(lua_State *L) {
  lze_State *S = lze_state(L);
  if (S->configured) return;
  S->system = lze_system(L);
  S->context_hooks->configure(L, S);
  S->configured = true;
}

/* Creates a context of a driver, with one owner, for `count` of its devices,
   or for all if `count` is 0. Takes over a reference to `native`. */
static lze_Context *context_over(lua_State *L, const lze_Driver *driver,
                                 const lze_DeviceInfo *const *devices,
                                 uint32_t count, lze_Native *native) {
  lze_State *S = lze_state(L);
  lze_Context *c = lze_object_new(&context_class,
                                  sizeof *c + count * sizeof *devices, NULL);
  if (c == NULL) {
    lze_native_unref(native);
    lze_no_memory(L);
  }
  c->o.context = c;
  c->state = S;
  c->driver = driver;
  c->native = native;
  c->handle = native->handle;
  c->device_count = count;
  for (uint32_t i = 0; i < count; i++) c->only[i] = devices[i];
  c->next = S->contexts;
  S->contexts = c;
  return c;
}

/* Creates a separate context for `count` devices, or opens the context that
   states share if `count` is 0. */
static lze_Context *context_new(lua_State *L, const lze_Driver *driver,
                                const lze_DeviceInfo *const *devices,
                                uint32_t count) {
  lze_configure(L);
  lze_Outcome out;
  lze_Native *native = count == 0
                           ? lze_native_shared(driver, &out)
                           : lze_native_new(driver, devices, count, &out);
  if (native == NULL)
    lze_fail(L, driver, out.result, NULL, out.call, NULL, NULL);
  return context_over(L, driver, devices, count, native);
}

/* Returns true if the context includes the device or, for a tile, its root
   device. */
static bool context_has(const lze_Context *c, const lze_DeviceInfo *info) {
  if (c->driver != info->driver) return false;
  for (; info != NULL; info = info->parent)
    for (uint32_t i = 0; i < c->device_count; i++)
      if (c->only[i] == info->base) return true;
  return c->device_count == 0;
}

/* Returns the default context of a driver's devices, or NULL if not made
   yet. */
static lze_Context *context_standard(const lze_State *S,
                                     const lze_Driver *driver) {
  for (lze_Context *c = S->contexts; c != NULL; c = c->next)
    if (c->is_default && !c->o.closed && c->driver == driver) return c;
  return NULL;
}

lze_Context *lze_device_context(lua_State *L, const lze_DeviceInfo *info) {
  lze_State *S = lze_state(L);
  if (info->context != NULL) {
    if (info->context->o.closed) luaL_error(L, "the context is closed");
    return info->context;
  }
  if (S->context != NULL && !S->context->o.closed &&
      context_has(S->context, info))
    return S->context;
  lze_Context *c = context_standard(S, info->driver);
  if (c != NULL) return c;
  c = context_new(L, info->driver, NULL, 0);
  c->is_default = true;
  return c;
}

const lze_DeviceInfo *lze_device_in(lua_State *L, lze_Context *context,
                                    const lze_DeviceInfo *info) {
  info = info->base;
  if (!context_has(context, info))
    luaL_error(L, "the context was made without this device: %s (%s)",
               info->props.name, info->type);
  if (!context->borrowed) return info;
  for (BorrowedDevice *d = context->devices; d != NULL; d = d->next)
    if (d->info.base == info) return &d->info;
  BorrowedDevice *d = malloc(sizeof *d);
  if (d == NULL) lze_no_memory(L);
  d->info = *info;
  d->info.context = context;
  d->next = context->devices;
  context->devices = d;
  return &d->info;
}

/* Returns the context over a native one and adds an owner. Takes over a
   reference to `native`. */
lze_Context *lze_adopt_context(lua_State *L, lze_Native *native) {
  lze_State *S = lze_state(L);
  for (lze_Context *c = S->contexts; c != NULL; c = c->next)
    if (c->native == native && !c->o.closed) {
      lze_native_unref(native);
      lze_own(&c->o);
      return c;
    }
  lze_Context *c = context_over(L, native->driver, NULL, 0, native);
  if (native->shared) { /* the state's default context, made early */
    c->is_default = true;
    lze_own(&c->o);
  } else {
    c->borrowed = true;
  }
  return c;
}

/* Pushes a new userdata for the context at 1. Runs in a guard, because the
   context may have no owner yet. */
static int context_box(lua_State *L) {
  lze_Context *context = lua_touserdata(L, 1);
  lze_ContextBox *b = lze_push_box(L, lze_context_kind, sizeof *b);
  b->context = context;
  lze_own(&context->o);
  lze_cache_box(L, context);
  return 1;
}

lze_Context *lze_push_context(lua_State *L, lze_Context *context) {
  if (lze_push_cached(L, context)) {
    const lze_ContextBox *cached = lze_test_box(L, -1, lze_context_kind);
    if (cached != NULL && cached->context == context) return context;
    lua_pop(L, 1); /* an older context at the same address */
  }
  lua_pushcfunction(L, context_box);
  lua_pushlightuserdata(L, context);
  lze_call_guarded(L, 1, 1);
  return context;
}

lze_Context *lze_push_device_context(lua_State *L,
                                     const lze_DeviceInfo *info) {
  return lze_push_context(L, lze_device_context(L, info));
}

lze_Context *lze_check_context(lua_State *L, int arg) {
  lze_ContextBox *b = lze_check_box(L, arg, lze_context_kind);
  if (b->context == NULL || b->context->o.closed)
    lze_closed(L, arg, lze_context_kind);
  return b->context;
}

/* The struct stays until __gc, so that later calls can see that it is
   closed. */
static int context_close(lua_State *L) {
  lze_ContextBox *b = lze_check_box(L, 1, lze_context_kind);
  lze_Context *c = b->context;
  if (c == NULL || c->o.closed) return 0;
  c->state->context_hooks->close(c);
  if (c->is_default) lze_disown(&c->o); /* the state's ownership */
  return 0;
}

static int context_gc(lua_State *L) {
  lze_ContextBox *b = lze_check_box(L, 1, lze_context_kind);
  lze_Context *c = b->context;
  b->context = NULL;
  if (c != NULL) lze_disown(&c->o);
  return 0;
}

static int context_tostring(lua_State *L) {
  const lze_ContextBox *b = lze_check_box(L, 1, lze_context_kind);
  if (b->context == NULL || b->context->o.closed)
    lua_pushliteral(L, "context (closed)");
  else
    lua_pushfstring(L, "context of driver %d", b->context->driver->index + 1);
  return 1;
}

static int field_context_handle(lua_State *L) {
  lua_pushlightuserdata(L, lze_check_context(L, 1)->handle);
  return 1;
}

static int field_context_driver(lua_State *L) {
  lze_push_driver(L, lze_check_context(L, 1)->driver);
  return 1;
}

static const lze_Method context_methods[] = {
    {"close", context_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method context_metamethods[] = {
    {"__gc", context_gc, LZE_UNGUARDED},
    {"__close", context_close, LZE_UNGUARDED},
    {"__tostring", context_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field context_fields[] = {{"driver", field_context_driver},
                                           {"handle", field_context_handle},
                                           {NULL, NULL}};

/* Returns the context's device if it has only one. Otherwise returns the
   default device if the context includes it, else the context's first device,
   so that the caller need not name a device. */
const lze_DeviceInfo *lze_context_device(lua_State *L,
                                         const lze_Context *c) {
  const lze_System *s = lze_system(L);
  uint32_t count = c->device_count;
  const lze_DeviceInfo *first = count > 0 ? c->only[0] : NULL;
  for (int i = 0; i < s->device_count && c->device_count == 0; i++)
    if (s->devices[i].driver == c->driver && count++ == 0)
      first = &s->devices[i];
  if (count == 1 && first->tile_count == 0) return first;
  const lze_DeviceInfo *standard = lze_default_device(L);
  return context_has(c, standard) ? standard : first;
}

/* lze.context([device | selector | {device, ...}]) -> context
   Without a device: the shared context of the default device. With devices,
   which must belong to one driver: a new context for these devices. */
static int core_context(lua_State *L) {
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    lze_push_device_context(L, lze_push_default_device(L));
    return 1;
  }
  bool several = lua_istable(L, 1);
  lua_Unsigned n = several ? lua_rawlen(L, 1) : 1;
  if (n == 0) return lze_argerror(L, 1, "devices: an empty table");
  if (n > (lua_Unsigned)lze_system(L)->total_devices)
    return lze_argerror(L, 1, "devices: more than there are");
  const lze_DeviceInfo **devices =
      lua_newuserdatauv(L, (size_t)n * sizeof *devices, 0);
  for (lua_Unsigned i = 0; i < n; i++) {
    if (several)
      lua_rawgeti(L, 1, (lua_Integer)i + 1);
    else
      lua_pushvalue(L, 1);
    const char *what =
        several ? lua_pushfstring(L, "devices: element %d", (int)i + 1)
                : lua_pushliteral(L, "device");
    devices[i] = lze_device_argument(L, 1, -2, what)->base;
    lua_pop(L, 2);
    if (devices[i]->driver != devices[0]->driver)
      return lze_argerror(L, 1, "devices: they are of different drivers, "
                                 "which cannot share a context");
  }
  lze_ContextBox *b = lze_push_box(L, lze_context_kind, sizeof *b);
  b->context = context_new(L, devices[0]->driver, devices, (uint32_t)n);
  lze_cache_box(L, b->context);
  return 1;
}

void lze_set_default_context(lze_State *S, lze_Context *c) {
  lze_Context *old = S->context;
  lze_own(&c->o);
  S->context = c;
  if (old != NULL) lze_disown(&old->o);
}

static const lze_Method functions[] = {
    {"context", core_context, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_context(lua_State *L) {
  lze_new_kind(L, lze_context_kind, context_metamethods, context_methods,
               context_fields);
  lze_set_methods(L, functions, 0);
}
