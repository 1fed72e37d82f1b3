/*
 * lze_buffer_place.c - buffers on new and existing storages.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "device/lze_object.h"
#include "memory/lze_buffer.h"

#include <stdint.h>

lze_Buffer *lze_push_buffer(lua_State *L, lze_Context *context,
                            const lze_DeviceInfo *device, lze_Usage usage,
                            const lze_Type *type, size_t count) {
  if (count > (size_t)PTRDIFF_MAX / type->bytes)
    luaL_error(L, "a buffer of %I %s is larger than any memory",
               (LUAI_UACINT)count, type->name);
  size_t bytes = count * type->bytes;
  lze_Buffer *b = lze_push_box(L, lze_buffer_kind, sizeof *b);
  b->type = type;
  b->count = (lua_Integer)count;
  b->storage = lze_storage_new(L, context, device, usage, bytes);
  if (bytes > 0) lze_storage_allocate(L, b->storage, bytes);
  return b;
}

/* Sets up a buffer that shows part of a storage and becomes its owner: `s` is a
   storage of the context, or NULL for a new one like `like`.  Returns the
   storage; raises.  Other buffers may show the same storage, so closing this
   one closes only a view. */
static lze_Storage *buffer_show(lua_State *L, lze_Buffer *b,
                                lze_Context *context, lze_Storage *s,
                                const lze_Storage *like) {
  b->view = true;
  if (s != NULL) lze_own(&s->o);
  else s = lze_storage_like(L, context, like);
  b->storage = s;
  return s;
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
  lze_Storage *s = buffer_show(
      L, b, context, lze_storage_covering(context, pointer, memory->id), &like);
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
  lze_Storage *s = lze_storage_sharing(context, like->memory);
  buffer_show(L, b, context, s, like);
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
