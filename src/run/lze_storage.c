/*
 * lze_storage.c - storages, which are USM allocations and equivalents, and the
 * creation of buffers on them.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "base/lze_types.h"
#include "device/lze_loader.h"
#include "device/lze_native.h"
#include "device/lze_object.h"
#include "run/lze_buffer.h"
#include "run/lze_command.h"
#include "run/lze_record.h"

#include <stdint.h>
#include <stdio.h>

/* The alignment for every element type: double16 is the largest. */
#define ALIGNMENT 128

char *lze_storage_base(const lze_Storage *s) {
  return s->pointer - lze_storage_guard(s);
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
          lze_storage_damaged(L, (lze_Storage *)o))
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

static ze_result_t storage_allocate(lze_Storage *s, size_t bytes) {
  ze_device_mem_alloc_desc_t device = {
      .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t host = {.stype =
                                       ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  ze_context_handle_t context = s->o.context->handle;
  lze_State *S = s->o.context->state;
  s->guarded = S->check;
  size_t guard = lze_storage_guard(s), size = bytes + 2 * guard;
  void *p = NULL;
  ze_result_t r;
  /* The host reads canaries, so with them device memory is shared. */
  if (s->usage == LZE_SHARED || (s->usage == LZE_DEVICE && s->guarded))
    r = ZE(zeMemAllocShared, context, &device, &host, size, ALIGNMENT,
           s->device->handle, &p);
  else if (s->usage == LZE_DEVICE)
    r = ZE(zeMemAllocDevice, context, &device, size, ALIGNMENT,
           s->device->handle, &p);
  else
    r = ZE(zeMemAllocHost, context, &host, size, ALIGNMENT, &p);
  if (r != ZE_RESULT_SUCCESS) return r;
  s->pointer = (char *)p + guard;
  lze_storage_count(s, bytes);
  if (s->guarded) lze_storage_mark(s);
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

lze_Buffer *lze_push_buffer(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device, lze_Usage usage,
                            const lze_Type *type, size_t count) {
  static const char *const calls[] = {"zeMemAllocShared", "zeMemAllocDevice",
                                      "zeMemAllocHost"};
  if (count > (size_t)PTRDIFF_MAX / type->bytes)
    luaL_error(L, "a buffer of %I %s is larger than any memory",
               (LUAI_UACINT)count, type->name);
  size_t bytes = count * type->bytes;
  lze_Buffer *b = lze_push_box(L, lze_buffer_kind, sizeof *b);
  b->type = type;
  b->count = (lua_Integer)count;
  lze_Storage *s = b->storage =
      lze_storage_new(L, context, device, usage, bytes);
  if (bytes == 0) return b;
  uint64_t start = context->state->recorder != NULL ? lze_now_ns() : 0;
  ze_result_t r = storage_allocate(s, bytes);
  if (r == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ||
      r == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY) {
    lze_make_room(L);
    if (context->o.closed) luaL_error(L, "the context is closed");
    r = storage_allocate(s, bytes);
  }
  if (r == ZE_RESULT_SUCCESS) {
    if (context->state->recorder != NULL) lze_record_memory(L, s, start);
    lze_show(context->state);
    return b;
  }
  const lze_State *S = context->state;
  char asked[32], used[32], pinned[32], free[32], total[32];
  lze_fail(L, device->driver, r, NULL, calls[usage], NULL,
           "asked for %s; in use by this state %s, of it pinned by work in "
           "flight %s; free %s of the device's %s",
           size_text(asked, sizeof asked, (double)bytes),
           size_text(used, sizeof used, (double)S->bytes),
           size_text(pinned, sizeof pinned,
                     (double)lze_count_storages(S).pinned_bytes),
           size_text(free, sizeof free, (double)lze_free_bytes(S, device)),
           size_text(total, sizeof total, (double)device->memory_bytes));
  return NULL;
}

/* Returns the storage of a context that already covers the allocation, in any
   state.  A borrowed allocation may have been freed since, and replaced by
   another one. */
static lze_Storage *storage_find(lze_Context *context,
                                 const lze_Borrowed *memory,
                                 const char *pointer) {
  for (lze_Object *o = context->objects; o != NULL; o = o->next) {
    lze_Storage *s = (lze_Storage *)o;
    if (o->cls == &storage_class && !o->closed && s->pointer != NULL &&
        pointer >= s->pointer && pointer < s->pointer + s->bytes &&
        (!s->borrowed || s->id == memory->id))
      return s;
  }
  return NULL;
}

/* [-0, +1] Sets up a buffer that shows part of a storage and becomes its owner:
   `s` is a storage of the context, or NULL for a new one like `like`. */
static lze_Buffer *storage_push(lua_State *L, lze_Buffer *b,
                                lze_Context *context, lze_Storage *s,
                                const lze_Storage *like) {
  b->view = true; /* other buffers may show the same storage, so closing closes
                     only this view */
  if (s != NULL) {
    lze_own(&s->o);
  } else {
    s = lze_object_new(&storage_class, sizeof *s, context);
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
  }
  b->storage = s;
  return b;
}

lze_Buffer *lze_push_borrowed(lua_State *L, lze_Context *context,
                              const lze_DeviceInfo *device,
                              const lze_Borrowed *memory, void *pointer,
                              const lze_Type *type, lua_Integer count,
                              void (*release)(void *, void *),
                              void *userdata) {
  lze_Buffer *b = lze_push_box(L, lze_buffer_kind, sizeof *b);
  b->type = type;
  b->count = count;
  lze_Storage like = {.usage = memory->usage, .device = device,
                      .pointer = memory->base, .bytes = memory->bytes,
                      .borrowed = true, .id = memory->id};
  lze_Storage *s = storage_find(context, memory, pointer);
  storage_push(L, b, context, s, &like);
  s = b->storage;
  b->offset = (size_t)((char *)pointer - s->pointer);
  if (release == NULL) return b;
  if (s->memory == NULL)
    s->memory = lze_memory_new(context->native, lze_storage_base(s),
                               !s->borrowed);
  if (s->memory == NULL ||
      !lze_memory_tell(s->memory, release, userdata, pointer))
    lze_no_memory(L);
  return b;
}

lze_Buffer *lze_push_shared(lua_State *L, lze_Context *context,
                            const lze_Storage *like, const lze_Type *type,
                            size_t offset, lua_Integer count) {
  lze_Buffer *b = lze_push_box(L, lze_buffer_kind, sizeof *b);
  b->type = type;
  b->count = count;
  b->offset = offset;
  lze_Storage *s = NULL;
  for (lze_Object *o = context->objects; o != NULL && s == NULL; o = o->next)
    if (o->cls == &storage_class && !o->closed &&
        ((lze_Storage *)o)->memory == like->memory)
      s = (lze_Storage *)o;
  storage_push(L, b, context, s, like);
  if (s != NULL) {
    lze_memory_unref(like->memory); /* the storage has a reference already */
    b->imported = true;
    s->imports++;
  }
  return b;
}

void lze_push_stub(lua_State *L, lze_Context *context,
                   const lze_DeviceInfo *device, const lze_Type *type,
                   lua_Integer count) {
  lze_Buffer *b = lze_push_buffer(L, context, device, LZE_SHARED, type, 0);
  b->count = count;
}

void lze_push_storage_window(lua_State *L, lze_Storage *s, size_t offset,
                             const lze_Type *type, lua_Integer count) {
  lze_Buffer *v = lze_push_box(L, lze_buffer_kind, sizeof *v);
  lze_own(&s->o);
  v->view = true;
  v->type = type;
  v->offset = offset;
  v->count = count;
  v->storage = s;
}

void lze_push_window(lua_State *L, int buffer, size_t offset,
                     const lze_Type *type, lua_Integer count) {
  buffer = lua_absindex(L, buffer);
  lze_Buffer *v = lze_push_box(L, lze_buffer_kind, sizeof *v);
  const lze_Buffer *b = lze_check_buffer(L, buffer);
  v->view = true;
  v->type = type;
  v->offset = offset;
  v->count = count;
  v->storage = b->storage;
  lze_own(&v->storage->o);
  lua_pushvalue(L, buffer);
  lua_setiuservalue(L, -2, 1);
}
