/*
 * lze_image_copy.c - copies to, from and between images.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "memory/lze_image.h"
#include "queue/lze_command.h"
#include "queue/lze_record.h"

#include <string.h>

static ze_image_region_t part_region(const lze_Part *p) {
  return (ze_image_region_t){(uint32_t)p->origin[0], (uint32_t)p->origin[1],
                             (uint32_t)p->origin[2], (uint32_t)p->size[0],
                             (uint32_t)p->size[1],   (uint32_t)p->size[2]};
}

/* Registers the bytes of an end's storage that a command uses: all bytes of an
   image. */
static void end_use(lua_State *L, lze_Command *c, const lze_ImageEnd *e,
                    size_t bytes, bool write) {
  lze_Storage *s = e->storage;
  size_t first = s->image != NULL ? 0 : e->offset;
  lze_command_use(L, c, s, first,
                  first + (s->image != NULL ? s->bytes : bytes), write);
}

lze_Command *lze_image_append(lua_State *L, lze_Queue *q, const char *name,
                              bool timed, const lze_ImageEnd *to,
                              const lze_ImageEnd *from, size_t bytes) {
  lze_Command *c = lze_begin(L, q, name, timed, NULL);
  end_use(L, c, to, bytes, true);
  end_use(L, c, from, bytes, false);
  lze_command_order(L, c);
  const lze_Storage *d = to->storage, *s = from->storage;
  const ze_image_region_t there = part_region(&to->part);
  const ze_image_region_t here = part_region(&from->part);
  ze_event_handle_t event = lze_command_event(c);
  lze_Outcome out;
  bool good =
      d->image != NULL && s->image != NULL
          ? ZE_TRY(&out, zeCommandListAppendImageCopyRegion, q->list, d->image,
                   s->image, &there, &here, event, c->wait_count,
                   c->wait_handles)
      : d->image != NULL
          ? ZE_TRY(&out, zeCommandListAppendImageCopyFromMemory, q->list,
                   d->image, s->pointer + from->offset, &there, event,
                   c->wait_count, c->wait_handles)
          : ZE_TRY(&out, zeCommandListAppendImageCopyToMemory, q->list,
                   d->pointer + to->offset, s->image, &here, event,
                   c->wait_count, c->wait_handles);
  if (!good) {
    lze_abort(c);
    lze_fail(L, q->device->driver, out.result, NULL, out.call, NULL, NULL);
  }
  lze_end(c);
  return c;
}

/* --- between images and the host ------------------------------------------ */

lze_Part lze_image_part(lua_State *L, const lze_Image *m, int arg) {
  static const char *const keys[] = {"at", "size", NULL};
  lze_Part p = {{0, 0, 0}, {m->size[0], m->size[1], m->size[2]}};
  if (lua_isnil(L, arg)) return p;
  lze_argexpected(L, lua_istable(L, arg), arg, "table");
  lze_check_keys(L, arg, "an image's box", keys);
  size_t at[3];
  lze_copy_box_triple(L, arg, "at", false, at);
  bool sized = lze_getoption(L, arg, "size") != LUA_TNIL;
  lua_pop(L, 1);
  if (sized) lze_copy_box_triple(L, arg, "size", true, p.size);
  for (int i = 0; i < 3; i++) {
    p.origin[i] = at[i] - 1;
    if (!sized && p.origin[i] < m->size[i])
      p.size[i] = m->size[i] - p.origin[i];
  }
  lze_part_check(L, m, &p, "the image");
  return p;
}

void lze_part_check(lua_State *L, const lze_Image *m, const lze_Part *p,
                    const char *what) {
  for (int i = 0; i < 3; i++)
    if (p->size[i] > m->size[i] || p->origin[i] > m->size[i] - p->size[i])
      luaL_error(L, "box: it is not inside %s, of %s", what,
                 lze_push_image_size(L, m));
}

const char *lze_push_image_size(lua_State *L, const lze_Image *m) {
  lua_pushfstring(L, "%I", (LUAI_UACINT)m->size[0]);
  for (int i = 1; i < m->dimensions; i++) {
    lua_pushfstring(L, "x%I", (LUAI_UACINT)m->size[i]);
    lua_concat(L, 2);
  }
  return lua_tostring(L, -1);
}

lze_Buffer *lze_push_beside_image(lua_State *L, int index, size_t bytes) {
  lze_Context *context = lze_push_context(
      L, lze_check_image(L, index)->window.storage->o.context);
  const lze_DeviceInfo *device =
      lze_check_image(L, index)->window.storage->device;
  lze_Buffer *b = lze_push_buffer(L, context, device, LZE_HOST,
                                  lze_type_of(LZE_U8, 1), bytes);
  lze_record_use(b->storage, "staging");
  lze_check_image(L, index);
  return b;
}

/* Returns the default queue of the image at `index`, once it can take one more
   command; no Lua code has run since it was found. */
static lze_Queue *image_queue(lua_State *L, int index) {
  lze_Queue *q;
  do q = lze_buffer_default_queue(L, &lze_check_image(L, index)->window);
  while (!lze_queue_ready(L, q));
  return q;
}

const char *lze_image_bytes(lua_State *L, const lze_Part *part) {
  size_t bytes =
      lze_part_count(part) * lze_check_image(L, 1)->format.type->bytes;
  const lze_Buffer *b = lze_push_beside_image(L, 1, bytes);
  lze_Queue *q = image_queue(L, 1);
  if (!lze_buffer_is_open(b)) luaL_error(L, "the context is closed");
  const lze_ImageEnd to = {.storage = b->storage};
  const lze_ImageEnd from = {lze_check_image(L, 1)->window.storage, *part, 0};
  lze_image_append(L, q, "read", false, &to, &from, bytes);
  lze_storage_wait(L, b->storage, 0, bytes, false);
  if (!lze_buffer_is_open(b)) luaL_error(L, "the context is closed");
  return b->storage->pointer;
}

void lze_image_fill(lua_State *L, int index, const lze_Part *part,
                    lze_Storage *from) {
  lze_Queue *q = image_queue(L, index);
  if (from->o.closed) luaL_error(L, "the context is closed");
  const lze_Image *m = lze_check_image(L, index);
  const lze_ImageEnd there = {m->window.storage, *part, 0};
  const lze_ImageEnd here = {.storage = from};
  lze_image_append(L, q, "write", false, &there, &here,
                   lze_part_count(part) * m->format.type->bytes);
}

void lze_image_put(lua_State *L, const lze_Part *part, const char *bytes) {
  size_t size =
      lze_part_count(part) * lze_check_image(L, 1)->format.type->bytes;
  const lze_Buffer *b = lze_push_beside_image(L, 1, size);
  memcpy(b->storage->pointer, bytes, size);
  lze_image_fill(L, 1, part, b->storage);
  lua_pop(L, 2);
}

/* --- copies on queues ----------------------------------------------------- */

/* Reads one end of a copy, the whole object at `arg`; returns the type of its
   elements. */
static const lze_Type *end_check(lua_State *L, int arg, lze_ImageEnd *e) {
  const char *kind = lze_box_kind(L, arg);
  *e = (lze_ImageEnd){.storage = NULL};
  if (kind == lze_image_kind) {
    const lze_Image *m = lze_check_image(L, arg);
    e->storage = m->window.storage;
    memcpy(e->part.size, m->size, sizeof m->size);
    return m->format.type;
  }
  if (kind != lze_buffer_kind && lze_test_buffer(L, arg) == NULL)
    lze_argerror(L, arg, lua_pushfstring(L, "buffer or image expected, got %s",
                                         lze_describe(L, arg)));
  const lze_Buffer *b = lze_check_buffer(L, arg);
  e->storage = b->storage;
  e->offset = b->offset;
  return b->type;
}

void lze_image_check_types(lua_State *L, int arg) {
  const lze_Image *d = lze_test_image(L, arg), *s = lze_test_image(L, arg + 1);
  if (d != NULL && s != NULL && strcmp(d->format.name, s->format.name) != 0)
    lze_argerror(L, arg + 1,
                 lua_pushfstring(L, "image of %s expected, got image of %s",
                                 d->format.name, s->format.name));
  if (d != NULL && s != NULL) return;
  const lze_Type *pixel = d != NULL ? d->format.type : s->format.type;
  int buffer = d != NULL ? arg + 1 : arg;
  const lze_Buffer *b = lze_check_buffer(L, buffer);
  if (b->type != pixel)
    lze_argerror(L, buffer,
                 lua_pushfstring(L, "buffer of %s, as pixels of %s are stored, "
                                    "expected, got buffer of %s (x:view can "
                                    "change the type)",
                                 pixel->name, (d != NULL ? d : s)->format.name,
                                 b->type->name));
}

/* Raises unless the queue's device reaches the storage of argument `arg`. */
static void end_check_place(lua_State *L, const lze_Queue *q, int arg,
                            const lze_Storage *s) {
  const char *kind = s->image != NULL ? "an image" : "a buffer";
  if (s->o.context != q->o.context)
    lze_argerror(L, arg, lua_pushfstring(L, "%s of another context", kind));
  if (s->image != NULL ? s->device != q->device
                       : !lze_device_reaches(q->device, s))
    lze_argerror(L, arg, lua_pushfstring(L, "%s of another device", kind));
}

lze_Queue *lze_image_copy_queue(lua_State *L, int arg) {
  lze_Queue *q;
  lze_buffer_flush_readers(L, arg);
  do {
    lze_ImageEnd to, from;
    end_check(L, arg, &to);
    end_check(L, arg + 1, &from);
    const lze_Storage *s = to.storage->image != NULL ? to.storage
                                                     : from.storage;
    q = arg > 1 ? lze_check_queue(L, 1)
                : lze_default_queue(L, s->o.context, s->device);
    end_check_place(L, q, arg, to.storage);
    end_check_place(L, q, arg + 1, from.storage);
  } while (!lze_queue_ready(L, q));
  return q;
}

/* Raises unless the buffer at `arg` has an element for each pixel. */
static void buffer_check_count(lua_State *L, int arg, const lze_Image *m) {
  lua_Integer n = lze_check_buffer(L, arg)->count;
  lua_Integer pixels = (lua_Integer)(m->size[0] * m->size[1] * m->size[2]);
  if (n != pixels)
    lze_argerror(L, arg,
                 lua_pushfstring(L, "%I elements expected, as the image of %s "
                                    "has pixels, got %I",
                                 (LUAI_UACINT)pixels, lze_push_image_size(L, m),
                                 (LUAI_UACINT)n));
}

lze_Command *lze_image_copy_on(lua_State *L, int arg) {
  lze_ImageEnd to, from;
  end_check(L, arg, &to);
  end_check(L, arg + 1, &from);
  lze_image_check_types(L, arg);
  for (int i = arg + 2; i <= arg + 4; i++)
    if (!lua_isnoneornil(L, i))
      lze_argerror(L, i, "an image is copied whole here, a part of it by "
                         "copy_box");
  const lze_Image *d = lze_test_image(L, arg), *s = lze_test_image(L, arg + 1);
  if (d == NULL) buffer_check_count(L, arg, s);
  else if (s == NULL) buffer_check_count(L, arg + 1, d);
  else if (d->dimensions != s->dimensions ||
           memcmp(d->size, s->size, sizeof d->size) != 0)
    lze_argerror(L, arg + 1,
                 lua_pushfstring(L, "image of %s expected, got one of %s",
                                 lze_push_image_size(L, d),
                                 lze_push_image_size(L, s)));
  lze_Queue *q = lze_image_copy_queue(L, arg);
  if (to.storage == from.storage) return NULL;
  const lze_Storage *image = d != NULL ? to.storage : from.storage;
  return lze_image_append(L, q, "copy", arg > 1, &to, &from, image->bytes);
}
