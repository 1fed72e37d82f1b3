/*
 * lze_storage.c - storages: the memory, images and samplers that commands use.
 * SPDX-License-Identifier: MIT
 */
#include "queue/lze_storage.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "device/lze_native.h"
#include "device/lze_object.h"
#include "queue/lze_canary.h"
#include "queue/lze_command.h"
#include "queue/lze_record.h"

#include <stdint.h>
#include <stdio.h>

/* The alignment for every element type: double16 is the largest. */
#define ALIGNMENT 128

const char *const lze_usage_names[] = {"shared", "device", "host", NULL};

bool lze_device_reaches(const lze_DeviceInfo *device, const lze_Storage *s) {
  return s->usage == LZE_HOST || lze_device_peers(device, s->device);
}

char *lze_storage_base(const lze_Storage *s) {
  return s->pointer - lze_canary_bytes(s);
}

static void storage_destroy(lze_Object *o) {
  lze_Storage *s = (lze_Storage *)o;
  lze_failure_drop(&s->failed);
  if (s->image != NULL) {
    o->context->state->bytes -= s->bytes;
    ZE(zeImageDestroy, s->image);
  }
  if (s->sampler != NULL) ZE(zeSamplerDestroy, s->sampler);
  s->image = NULL;
  s->sampler = NULL;
  if (s->pointer == NULL) return;
  void *base = lze_storage_base(s);
  if (!s->borrowed) o->context->state->bytes -= s->bytes;
  if (!s->borrowed && o->context->state->recorder != NULL)
    lze_record_memory(NULL, s, 0);
  s->pointer = NULL;
  lze_State *S = o->context->state;
  S->releasing++;
  if (s->memory != NULL)
    lze_memory_unref(s->memory);
  else if (!s->borrowed)
    ZE(zeMemFree, o->context->handle, base);
  S->releasing--;
}

static const lze_Class storage_class = {"storage", storage_destroy, NULL};

lze_StorageCount lze_count_storages(const lze_State *S) {
  lze_StorageCount n = {{0}, 0, 0};
  for (const lze_Context *c = S->contexts; c != NULL; c = c->next)
    for (const lze_Object *o = c->objects; o != NULL; o = o->next) {
      if (o->cls != &storage_class) continue;
      const lze_Storage *s = (const lze_Storage *)o;
      if (!s->borrowed) n.bytes[s->usage] += s->bytes;
      if (s->uses == NULL) continue;
      n.pinned++;
      n.pinned_bytes += s->bytes;
    }
  return n;
}

static size_t dropped_bytes(const lze_State *S) {
  size_t n = 0;
  for (const lze_Context *c = S->contexts; c != NULL; c = c->next)
    for (const lze_Object *o = c->objects; o != NULL; o = o->next) {
      const lze_Storage *s = (const lze_Storage *)o;
      if (o->cls == &storage_class && (o->closed || o->owners == 0) &&
          s->uses != NULL && !s->borrowed)
        n += s->bytes;
    }
  return n;
}

lze_Storage *lze_any_damaged(lua_State *L, lze_State *S) {
  for (const lze_Context *c = S->contexts; c != NULL; c = c->next)
    for (lze_Object *o = c->objects; o != NULL; o = o->next)
      if (o->cls == &storage_class &&
          lze_canary_damaged(L, (lze_Storage *)o))
        return (lze_Storage *)o;
  return NULL;
}

uint64_t lze_free_bytes(const lze_State *S, const lze_DeviceInfo *device) {
  uint64_t used = 0;
  for (const lze_Context *c = S->contexts; c != NULL; c = c->next)
    for (const lze_Object *o = c->objects; o != NULL; o = o->next) {
      const lze_Storage *s = (const lze_Storage *)o;
      if (o->cls == &storage_class && s->device->base == device->base &&
          s->usage != LZE_HOST && !s->borrowed)
        used += s->bytes;
    }
  return used < device->memory_bytes ? device->memory_bytes - used : 0;
}

void lze_storage_count(lze_Storage *s, size_t bytes) {
  lze_State *S = s->o.context->state;
  s->bytes = bytes;
  S->bytes += bytes;
  if (S->bytes > S->peak) S->peak = S->bytes;
}

static ze_result_t storage_try(lze_Storage *s, size_t bytes) {
  ze_device_mem_alloc_desc_t device = {
      .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t host = {.stype =
                                       ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  ze_context_handle_t context = s->o.context->handle;
  lze_State *S = s->o.context->state;
  s->canaries = S->check;
  size_t canary = lze_canary_bytes(s), size = bytes + 2 * canary;
  void *p = NULL;
  ze_result_t r;
  /* The host reads canaries, so with them device memory is shared. */
  if (s->usage == LZE_SHARED || (s->usage == LZE_DEVICE && s->canaries))
    r = ZE(zeMemAllocShared, context, &device, &host, size, ALIGNMENT,
           s->device->handle, &p);
  else if (s->usage == LZE_DEVICE)
    r = ZE(zeMemAllocDevice, context, &device, size, ALIGNMENT,
           s->device->handle, &p);
  else
    r = ZE(zeMemAllocHost, context, &host, size, ALIGNMENT, &p);
  if (r != ZE_RESULT_SUCCESS) return r;
  s->pointer = (char *)p + canary;
  lze_storage_count(s, bytes);
  if (s->canaries) lze_canary_write(s);
  return r;
}

/* Formats a size for people. */
static const char *size_text(char *text, size_t size, double bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  int u = 0;
  while (bytes >= 1024 && u < 4) bytes /= 1024, u++;
  snprintf(text, size, u == 0 ? "%.0f %s" : "%.1f %s", bytes, units[u]);
  return text;
}

lze_Storage *lze_storage_new(lua_State *L, lze_Context *context,
                             const lze_DeviceInfo *device, lze_Usage usage,
                             size_t bytes) {
  lze_pin(&context->o); /* finalizers may run, and close it */
  bool ok = lze_pressure(L, bytes, dropped_bytes),
       closed = context->o.closed;
  lze_unpin(&context->o);
  if (!ok) lua_error(L);
  if (closed) luaL_error(L, "the context is closed");
  lze_Storage *s = lze_object_new(&storage_class, sizeof *s, context);
  if (s == NULL) lze_no_memory(L);
  s->usage = usage;
  s->device = device;
  s->serial = ++context->state->storages;
  return s;
}

void lze_storage_allocate(lua_State *L, lze_Storage *s, size_t bytes) {
  static const char *const calls[] = {"zeMemAllocShared", "zeMemAllocDevice",
                                      "zeMemAllocHost"};
  const lze_Context *context = s->o.context;
  const lze_State *S = context->state;
  uint64_t start = S->recorder != NULL ? lze_now_ns() : 0;
  ze_result_t r = storage_try(s, bytes);
  if (r == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ||
      r == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY) {
    lze_make_room(L);
    if (context->o.closed) luaL_error(L, "the context is closed");
    r = storage_try(s, bytes);
  }
  if (r == ZE_RESULT_SUCCESS) {
    if (S->recorder != NULL) lze_record_memory(L, s, start);
    lze_show(context->state);
    return;
  }
  char asked[32], used[32], pinned[32], free[32], total[32];
  lze_fail(L, s->device->driver, r, NULL, calls[s->usage], NULL,
           "asked for %s; in use by this state %s, of it pinned by work in "
           "flight %s; free %s of the device's %s",
           size_text(asked, sizeof asked, (double)bytes),
           size_text(used, sizeof used, (double)S->bytes),
           size_text(pinned, sizeof pinned,
                     (double)lze_count_storages(S).pinned_bytes),
           size_text(free, sizeof free, (double)lze_free_bytes(S, s->device)),
           size_text(total, sizeof total, (double)s->device->memory_bytes));
}

lze_Storage *lze_storage_like(lua_State *L, lze_Context *context,
                              const lze_Storage *like) {
  lze_Storage *s = lze_object_new(&storage_class, sizeof *s, context);
  if (s == NULL) lze_no_memory(L);
  s->borrowed = like->borrowed;
  s->usage = like->usage;
  s->device = like->device;
  s->id = like->id;
  s->pointer = like->pointer;
  s->bytes = like->bytes;
  s->memory = like->memory;
  s->serial = ++context->state->storages;
  if (!s->borrowed) lze_storage_count(s, s->bytes);
  return s;
}

lze_Storage *lze_storage_covering(lze_Context *context, const char *pointer,
                                  uint64_t id) {
  for (lze_Object *o = context->objects; o != NULL; o = o->next) {
    lze_Storage *s = (lze_Storage *)o;
    if (o->cls == &storage_class && !o->closed && s->pointer != NULL &&
        pointer >= s->pointer && pointer < s->pointer + s->bytes &&
        (!s->borrowed || s->id == id))
      return s;
  }
  return NULL;
}

lze_Storage *lze_storage_sharing(lze_Context *context,
                                 const lze_Memory *memory) {
  for (lze_Object *o = context->objects; o != NULL; o = o->next)
    if (o->cls == &storage_class && !o->closed &&
        ((lze_Storage *)o)->memory == memory)
      return (lze_Storage *)o;
  return NULL;
}
