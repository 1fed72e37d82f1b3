/*
 * lze_memory.c - buffers, which are typed windows on storages: their methods,
 * fields and indices.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_show.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "host/lze_host.h"
#include "memory/lze_buffer.h"
#include "memory/lze_image.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_readers.h"
#include "queue/lze_record.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The number of values that `print(x)` shows, and the limit of their bytes. */
enum { SHOWN = 8, SHOWN_BYTES = LZE_ELEMENT_BYTES };

static int buffer_read(lua_State *L) {
  lua_settop(L, 4);
  lze_Buffer *b = lze_check_buffer(L, 1);
  size_t first, n;
  lze_buffer_range(L, b, 2, &first, &n);
  if (!lua_isnil(L, 4))
    lze_argexpected(L, lze_is_table(L, 4), 4, "table");
  const lze_Transfer t = lze_record_transfer(lze_state(L));
  if (lua_isnil(L, 4)) /* only a hint, which is an int */
    lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  const char *p = lze_buffer_bytes(L, 1, b, first, n);
  lua_pushvalue(L, lua_isnil(L, 4) ? 5 : 4);
  lze_type_push_table(L, b->type, -1, 1, n, p);
  lze_record_transferred(lze_state(L), t);
  return 1;
}

static int buffer_string(lua_State *L) {
  lua_settop(L, 3);
  lze_Buffer *b = lze_check_buffer(L, 1);
  size_t first, n;
  lze_buffer_range(L, b, 2, &first, &n);
  const lze_Transfer t = lze_record_transfer(lze_state(L));
  const char *p = lze_buffer_bytes(L, 1, b, first, n);
  lua_pushlstring(L, p, n * b->type->bytes);
  lze_record_transferred(lze_state(L), t);
  return 1;
}

static int buffer_write(lua_State *L) {
  lua_settop(L, 3);
  lze_arrays_evaluate(L, 2, 2);
  lze_buffer_flush_readers(L, 1);
  lze_Buffer *b = lze_check_buffer(L, 1);
  lua_Integer at = lze_buffer_at(L, b, 3, "i");
  lua_Integer room = b->count - at + 1;
  const lze_Transfer t = lze_record_transfer(lze_state(L));
  const bool table = lze_is_table(L, 2);
  if (table) {
    lua_Integer n = lze_table_ask(L, 2, b->type, room);
    b = lze_check_buffer(L, 1);
    if (n > room) lze_buffer_too_many(L, b, 2, n, at);
  }
  size_t first = (size_t)at - 1;
  if (lze_is_array(L, 2) || lze_test_buffer(L, 2) != NULL) {
    lze_Buffer *src = lze_check_buffer(L, 2);
    if (src->count > room) lze_buffer_too_many(L, b, 2, src->count, at);
    lze_Command *c =
        lze_copy_elements(L, NULL, false, 1, b, 2, src, 0,
                             (size_t)src->count, at);
    if (c != NULL) lze_command_wait(L, c, UINT64_MAX);
  } else if (table) {
    lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
    lze_table_length(L, 2, b->type);
    char *packed = lze_table_pack(L, b->type, 2, (size_t)n);
    lze_buffer_put(L, 1, lze_check_buffer(L, 1), first, packed, (size_t)n);
  } else if (lua_type(L, 2) == LUA_TSTRING) {
    size_t length;
    const char *bytes = lua_tolstring(L, 2, &length);
    if (length % b->type->bytes != 0)
      lze_argerror(L, 2,
                    lua_pushfstring(L, "%I bytes are not a whole number of "
                                       "%s (%d bytes each)",
                                    (LUAI_UACINT)length, b->type->name,
                                    b->type->bytes));
    size_t n = length / b->type->bytes;
    if (n > (size_t)room) lze_buffer_too_many(L, b, 2, (lua_Integer)n, at);
    lze_buffer_put(L, 1, b, first, bytes, n);
  } else {
    lze_argerror(L, 2, lua_pushfstring(L, "table, string or buffer "
                                           "expected, got %s",
                                        lze_describe(L, 2)));
  }
  lze_record_transferred(lze_state(L), t);
  lua_settop(L, 1);
  return 1;
}

/* Fill with a struct from the host: devices fill only with patterns whose size
   is a power of two. */
static void buffer_fill_structs(lua_State *L, const lze_Buffer *b) {
  size_t first, n, bytes = b->type->bytes;
  lze_buffer_range(L, b, 3, &first, &n);
  char element[LZE_ELEMENT_BYTES];
  if (!lze_type_store(L, b->type, 2, element))
    lze_argerror(L, 2, lua_tostring(L, -1));
  size_t step = LZE_STAGING_BYTES / bytes;
  if (step > n) step = n;
  char *many = lua_newuserdatauv(L, step * bytes, 0);
  for (size_t i = 0; i < step; i++) memcpy(many + i * bytes, element, bytes);
  for (size_t done = 0; done < n; done += step) {
    if (step > n - done) step = n - done;
    lze_buffer_put(L, 1, lze_check_buffer(L, 1), first + done, many, step);
  }
}

/* x:fill(v [, i [, j]]) -> x, enqueued on the default queue */
static int buffer_fill(lua_State *L) {
  lua_settop(L, 4);
  const lze_Buffer *b = lze_check_buffer(L, 1);
  if (b->type->fields != NULL) buffer_fill_structs(L, b);
  else lze_fill_on(L, 1);
  lua_settop(L, 1);
  return 1;
}

/* Set the command of the event at the top of the stack, or one that is done
   from the start if there was nothing to do. */
static void event_set(lua_State *L, lze_Event *e, lze_Command *c,
                      const lze_DeviceInfo *device, const char *name) {
  e->command = c != NULL ? c : lze_command_done(L, device, name);
  if (c != NULL) lze_command_own(c);
}

/* q:fill(x, v [, i [, j]]) -> event */
static int queue_fill(lua_State *L) {
  lua_settop(L, 5);
  lze_Queue *q = lze_check_queue(L, 1);
  lze_Event *e = lze_push_event(L);
  lze_Command *c = lze_fill_on(L, 2);
  lua_settop(L, 6);
  event_set(L, e, c, q->device, "fill");
  return 1;
}

/* Like lze_copy_on, but also accepts images. */
static lze_Command *copy_on(lua_State *L, int arg) {
  bool images = lze_test_image(L, arg) != NULL ||
                lze_test_image(L, arg + 1) != NULL;
  return images ? lze_image_copy_on(L, arg) : lze_copy_on(L, arg);
}

/* dst:copy(src [, i [, j [, at]]]) -> dst, enqueued on the default queue */
static int buffer_copy(lua_State *L) {
  lua_settop(L, 5);
  lze_check_buffer(L, 1);
  copy_on(L, 1);
  lua_settop(L, 1);
  return 1;
}

/* q:copy(dst, src [, i [, j [, at]]]) -> event */
static int queue_copy(lua_State *L) {
  lua_settop(L, 6);
  /* A copy through host memory runs hooks, which may close the queue. */
  const lze_DeviceInfo *device = lze_check_queue(L, 1)->device->base;
  lze_Event *e = lze_push_event(L);
  lze_Command *c = copy_on(L, 2);
  lua_settop(L, 7);
  event_set(L, e, c, device, "copy");
  return 1;
}

static FILE *check_file(lua_State *L, int arg) {
  luaL_Stream *stream = luaL_checkudata(L, arg, LUA_FILEHANDLE);
  if (stream->closef == NULL) lze_argerror(L, arg, "the file is closed");
  return stream->f;
}

static int file_fail(lua_State *L, const char *call, int error) {
  if (error == 0) error = EIO;
  return lze_fail_word(L, NULL, call, lze_errno_name(error), NULL, "%s",
                       strerror(error));
}

/* x:save(file [, i [, j]]) -> x: writes the bytes of the elements to an open
   file, without a string in between. */
static int buffer_save(lua_State *L) {
  lua_settop(L, 4);
  lze_Buffer *b = lze_check_buffer(L, 1);
  FILE *f = check_file(L, 2);
  size_t first, n;
  lze_buffer_range(L, b, 3, &first, &n);
  size_t step = LZE_STAGING_BYTES / b->type->bytes;
  for (size_t done = 0; done < n; done += step) {
    if (step > n - done) step = n - done;
    b = lze_check_buffer(L, 1);
    const char *p = lze_buffer_bytes(L, 1, b, first + done, step);
    f = check_file(L, 2); /* a hook may have closed it */
    errno = 0;
    if (fwrite(p, b->type->bytes, step, f) != step)
      return file_fail(L, "fwrite", errno);
    lua_settop(L, 4);
  }
  lua_settop(L, 1);
  return 1;
}

/* x:load(file [, i [, j]]) -> n: reads elements from an open file, without a
   string in between; n is the number of elements before its end. */
static int buffer_load(lua_State *L) {
  lua_settop(L, 4);
  lze_Buffer *b = lze_check_buffer(L, 1);
  check_file(L, 2);
  size_t first, n, done = 0;
  lze_buffer_range(L, b, 3, &first, &n);
  size_t size = b->type->bytes, step = LZE_STAGING_BYTES / size;
  char *piece = lua_newuserdatauv(L, (step < n ? step : n) * size, 0);
  while (done < n) {
    if (step > n - done) step = n - done;
    FILE *f = check_file(L, 2); /* a hook may have closed it */
    clearerr(f); /* it may have grown, or recovered, since */
    errno = 0;
    size_t got = fread(piece, 1, step * size, f);
    if (ferror(f)) return file_fail(L, "fread", errno);
    if (got % size != 0)
      return lze_fail_word(L, NULL, "fread", "EOF", NULL,
                           "the file ends %d bytes into an element of %s",
                           (int)(got % size), b->type->name);
    b = lze_check_buffer(L, 1);
    lze_buffer_put(L, 1, b, first + done, piece, got / size);
    done += got / size;
    if (got < step * size) break;
  }
  lua_pushinteger(L, (lua_Integer)done);
  return 1;
}

static int buffer_view(lua_State *L) {
  lua_settop(L, 4);
  lze_Buffer *b = lze_check_buffer(L, 1);
  size_t first, n;
  lze_buffer_range(L, b, 2, &first, &n);
  const lze_Type *type = lua_isnil(L, 4) ? b->type : lze_check_type(L, 4);
  size_t offset = b->offset + first * b->type->bytes;
  size_t bytes = n * b->type->bytes;
  if (bytes % type->bytes != 0 || offset % lze_type_align(type) != 0)
    lze_argerror(L, 4,
                  lua_pushfstring(L, "%I bytes from byte %I on are not whole "
                                     "elements of %s (%d bytes each)",
                                  (LUAI_UACINT)bytes, (LUAI_UACINT)offset,
                                  type->name, type->bytes));
  lze_push_window(L, 1, offset, type, (lua_Integer)(bytes / type->bytes));
  return 1;
}

/* x:export([where]) -> token, from which lze.import makes a buffer on the same
   memory, after a wait for pending work: an integer, for any state of this
   process, or with "process" a string, for another process. */
static int buffer_export(lua_State *L) {
  lze_check_buffer(L, 1);
  const char *where =
      lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(where, "process") == 0) return lze_push_process_token(L, 1);
  if (!lua_isnoneornil(L, 2) && strcmp(where, "state") != 0)
    lze_argerror(L, 2, lua_pushfstring(L, "state or process expected, got %s",
                                        lze_describe(L, 2)));
  lua_pushinteger(L, (lua_Integer)lze_export(L, 1));
  return 1;
}

/* x:pending() -> boolean: true if work in flight touches these elements,
   without waiting.  Raises the driver's error if the query fails. */
static int buffer_pending(lua_State *L) {
  lze_Buffer *b = lze_check_buffer(L, 1);
  lua_pushboolean(L, lze_storage_pending(
                         L, b->storage, b->offset,
                         b->offset + (size_t)b->count * b->type->bytes,
                         true));
  return 1;
}

static int buffer_gc(lua_State *L) {
  lze_Buffer *b = lze_check_box(L, 1, lze_buffer_kind);
  lze_Storage *s = b->storage;
  b->storage = NULL;
  if (s == NULL) return 0;
  lze_State *S = lze_find_state(L);
  if (S != NULL) S->buffers_gone++;
  if (b->imported) s->imports--;
  lze_disown(&s->o);
  return 0;
}

/* Returns true if closing a buffer ends its storage. */
static bool buffer_ends(const lze_Buffer *b) {
  return b->storage != NULL && !b->view && b->storage->imports == 0;
}

/* Expressions that have yet to read a storage that ends, or that may read
   through this buffer, are evaluated first; that runs Lua code, which may close
   the buffer, or import it. */
static int buffer_close(lua_State *L) {
  lze_Buffer *b = lze_check_box(L, 1, lze_buffer_kind);
  if (buffer_ends(b) || b->lent) lze_buffer_flush_readers(L, 1);
  if (buffer_ends(b)) lze_close(&b->storage->o);
  return buffer_gc(L);
}

static int buffer_len(lua_State *L) {
  lua_pushinteger(L, lze_check_buffer(L, 1)->count);
  return 1;
}

/* Convert an integer-valued key to a 0-based position; false if out of
   range. */
static bool buffer_key(lua_State *L, const lze_Buffer *b, size_t *position) {
  int exact;
  lua_Integer i = lua_tointegerx(L, 2, &exact);
  if (!exact)
    luaL_error(L, "a buffer's index is an integer, got %s",
               lze_describe(L, 2));
  if (i < 1 || i > b->count) return false;
  *position = (size_t)i - 1;
  return true;
}

static void buffer_check_host(lua_State *L, const lze_Buffer *b) {
  if (b->storage->usage == LZE_DEVICE)
    luaL_error(L, "a device buffer has no elements on the host: use :read "
                  "or :write");
}

/* Push an element, after the work that it waits for. */
static void buffer_push_element(lua_State *L, const lze_Buffer *b,
                                size_t position) {
  if (b->type->fields != NULL) {
    lze_push_element(L, 1, b->type, b->offset + position * b->type->bytes);
    return;
  }
  if (b->storage->uses != NULL || b->storage->failed != NULL)
    lze_buffer_wait(L, 1, b, position, 1, false);
  /* A copy, because creating the table of a vector may run a finalizer that
     closes the buffer. */
  char element[16 * 8];
  memcpy(element, lze_buffer_data(b) + position * b->type->bytes,
         b->type->bytes);
  if (b->type->lanes > 1)
    lze_push_vector(L, 1, b->type, b->offset + position * b->type->bytes,
                    element);
  else
    lze_type_push(L, b->type, element);
}

static int buffer_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TNUMBER) {
    lze_check_box(L, 1, lze_buffer_kind);
    return lze_box_index(L);
  }
  lze_Buffer *b = lze_check_buffer(L, 1);
  buffer_check_host(L, b);
  size_t position;
  if (!buffer_key(L, b, &position)) return 0;
  buffer_push_element(L, b, position);
  return 1;
}

/* One step of pairs: the next index and its element. */
static int buffer_next(lua_State *L) {
  lze_Buffer *b = lze_check_buffer(L, 1);
  lua_Integer i = lze_check_integer(L, 2, "index");
  if (i < 0 || i >= b->count) return 0;
  buffer_check_host(L, b);
  lua_pushinteger(L, i + 1);
  buffer_push_element(L, b, (size_t)i);
  return 2;
}

/* The first step, which has a position, checks that it is open and on the
   host. */
static int buffer_pairs(lua_State *L) {
  lze_check_box(L, 1, lze_buffer_kind);
  lua_pushcfunction(L, buffer_next);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

static int buffer_newindex(lua_State *L) {
  lze_Buffer *b = lze_check_buffer(L, 1);
  if (lua_type(L, 2) != LUA_TNUMBER)
    return luaL_error(L, "a buffer has no field that can be set (%s)",
                      lze_describe(L, 2));
  buffer_check_host(L, b);
  size_t position;
  if (!buffer_key(L, b, &position))
    return luaL_error(L, "index %I is outside 1..%I",
                      (LUAI_UACINT)lua_tointeger(L, 2),
                      (LUAI_UACINT)b->count);
  char element[LZE_ELEMENT_BYTES];
  if (!lze_type_store(L, b->type, 3, element))
    return luaL_error(L, "index %I: %s", (LUAI_UACINT)position + 1,
                      lua_tostring(L, -1));
  if (b->type->fields != NULL) lze_check_buffer(L, 1); /* that may wait */
  if (b->storage->uses != NULL || b->storage->failed != NULL ||
      b->storage->awaited)
    lze_buffer_wait(L, 1, b, position, 1, true);
  memcpy(lze_buffer_data(b) + position * b->type->bytes, element,
         b->type->bytes);
  return 0;
}

static int buffer_tostring(lua_State *L) {
  const lze_Buffer *b = lze_check_box(L, 1, lze_buffer_kind);
  const lze_Type *type = b->type;
  lua_Integer count = b->count;
  if (!lze_buffer_is_open(b)) {
    lua_pushfstring(L, "buffer: %s[%I] (closed)", type->name,
                    (LUAI_UACINT)count);
    return 1;
  }
  size_t n = SHOWN_BYTES / type->bytes < SHOWN ? SHOWN_BYTES / type->bytes
                                               : SHOWN;
  if ((size_t)count < n) n = (size_t)count;
  lze_Usage usage = b->storage->usage;
  bool values = usage != LZE_DEVICE && n > 0;
  bool busy = values &&
              lze_storage_pending(NULL, b->storage, b->offset,
                                  b->offset + n * type->bytes, false);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  lua_pushfstring(L, "buffer: %s[%I] %s%s%s", type->name, (LUAI_UACINT)count,
                  lze_usage_names[usage], b->view ? " view" : "",
                  busy ? " (busy)" : "");
  luaL_addvalue(&text);
  if (!values || busy) {
    luaL_pushresult(&text);
    return 1;
  }
  luaL_addstring(&text, " {");
  for (size_t i = 0; i < n; i++) {
    if (i > 0) luaL_addstring(&text, ", ");
    lze_type_add(L, &text, type, lze_buffer_data(b) + i * type->bytes);
  }
  luaL_addstring(&text, (size_t)count > n ? ", ...}" : "}");
  luaL_pushresult(&text);
  return 1;
}

static int field_type(lua_State *L) {
  lua_pushstring(L, lze_check_buffer(L, 1)->type->name);
  return 1;
}

static int field_usage(lua_State *L) {
  lua_pushstring(L, lze_usage_names[lze_check_buffer(L, 1)->storage->usage]);
  return 1;
}

static int field_bytes(lua_State *L) {
  const lze_Buffer *b = lze_check_buffer(L, 1);
  lua_pushinteger(L, b->count * b->type->bytes);
  return 1;
}

static int field_pointer(lua_State *L) {
  const lze_Buffer *b = lze_check_buffer(L, 1);
  lua_pushinteger(L, (lua_Integer)(intptr_t)lze_buffer_data(b));
  return 1;
}

static int field_handle(lua_State *L) {
  lua_pushlightuserdata(L, lze_buffer_data(lze_check_buffer(L, 1)));
  return 1;
}

static int field_device(lua_State *L) {
  lze_push_device(L, lze_check_buffer(L, 1)->storage->device);
  return 1;
}

static int field_context(lua_State *L) {
  lze_push_context(L, lze_check_buffer(L, 1)->storage->o.context);
  return 1;
}

/* x:display(): shows its text in a notebook, or prints it, after the work that
   writes it. */
static int buffer_display(lua_State *L) {
  lze_Buffer *b = lze_check_buffer(L, 1);
  lze_storage_wait(L, b->storage, b->offset,
                   b->offset + (size_t)b->count * b->type->bytes, false);
  lua_settop(L, 1);
  lua_pushnil(L);
  lze_display(L);
  return 0;
}

static const lze_Method buffer_methods[] = {
    {"read", buffer_read, LZE_GUARDED},
    {"write", buffer_write, LZE_GUARDED},
    {"string", buffer_string, LZE_GUARDED},
    {"fill", buffer_fill, LZE_GUARDED},
    {"copy", buffer_copy, LZE_GUARDED},
    {"copy_box", lze_copy_box, LZE_GUARDED},
    {"display", buffer_display, LZE_UNGUARDED},
    {"load", buffer_load, LZE_UNGUARDED},
    {"save", buffer_save, LZE_UNGUARDED},
    {"view", buffer_view, LZE_GUARDED},
    {"pending", buffer_pending, LZE_UNGUARDED},
    {"export", buffer_export, LZE_GUARDED},
    {"close", buffer_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method buffer_metamethods[] = {
    {"__index", buffer_index, LZE_UNGUARDED},
    {"__newindex", buffer_newindex, LZE_UNGUARDED},
    {"__len", buffer_len, LZE_UNGUARDED},
    {"__pairs", buffer_pairs, LZE_UNGUARDED},
    {"__gc", buffer_gc, LZE_UNGUARDED},
    {"__close", buffer_close, LZE_UNGUARDED},
    {"__tostring", buffer_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field buffer_fields[] = {
    {"type", field_type},       {"usage", field_usage},
    {"bytes", field_bytes},     {"pointer", field_pointer},
    {"handle", field_handle},   {"device", field_device},
    {"context", field_context}, {NULL, NULL}};

static const lze_Method functions[] = {
    {"buffer", lze_buffer_new, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

/* dev:memory() -> free_bytes, total_bytes
   Level Zero's core does not report free memory: free_bytes is the total less
   what this state uses there. */
static int device_memory(lua_State *L) {
  const lze_DeviceInfo *d = lze_check_device(L);
  lua_pushinteger(L, (lua_Integer)lze_free_bytes(lze_state(L), d));
  lua_pushinteger(L, (lua_Integer)d->memory_bytes);
  return 2;
}

static const lze_Method device_methods[] = {
    {"memory", device_memory, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method queue_methods[] = {
    {"copy", queue_copy, LZE_GUARDED},
    {"fill", queue_fill, LZE_GUARDED},
    {"prefetch", lze_queue_prefetch, LZE_UNGUARDED},
    {"advise", lze_queue_advise, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static int buffer_describe(lua_State *L) {
  const lze_Buffer *b = lze_check_box(L, 1, lze_buffer_kind);
  lua_pushfstring(L, "%sbuffer of %s", lze_buffer_is_open(b) ? "" : "a closed ",
                  b->type->name);
  return 1;
}

void lze_open_memory(lua_State *L) {
  lze_add_methods(L, lze_device_kind, device_methods);
  lze_add_methods(L, lze_queue_kind, queue_methods);
  lze_new_kind(L, lze_buffer_kind, buffer_metamethods, buffer_methods,
               buffer_fields);
  lze_set_describe(L, lze_buffer_kind, buffer_describe);
  lze_set_methods(L, functions, 0);
}
