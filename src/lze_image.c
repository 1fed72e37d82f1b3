/*
 * lze_image.c - images and samplers: their methods and fields.
 * SPDX-License-Identifier: MIT
 */
#include "memory/lze_image.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "device/lze_device.h"
#include "device/lze_object.h"
#include "queue/lze_command.h"

/* m:read([box [, t]]) -> table of the pixels, row by row */
static int image_read(lua_State *L) {
  lua_settop(L, 3);
  const lze_Image *m = lze_check_image(L, 1);
  const lze_Part part = lze_image_part(L, m, 2);
  if (!lua_isnil(L, 3)) lze_argexpected(L, lze_is_table(L, 3), 3, "table");
  size_t n = lze_part_count(&part);
  const lze_Type *type = m->format.type;
  const char *pixels = lze_image_bytes(L, &part);
  if (lua_isnil(L, 3)) { /* only a hint, which is an int */
    lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
    lua_replace(L, 3);
  }
  lua_pushvalue(L, 3);
  lze_type_push_table(L, type, -1, 1, n, pixels);
  return 1;
}

/* m:string([box]) -> the bytes of the pixels */
static int image_string(lua_State *L) {
  lua_settop(L, 2);
  const lze_Image *m = lze_check_image(L, 1);
  const lze_Part part = lze_image_part(L, m, 2);
  size_t bytes = lze_part_count(&part) * m->format.type->bytes;
  lua_pushlstring(L, lze_image_bytes(L, &part), bytes);
  return 1;
}

/* Raise that the number of values at 2 does not match the box. */
static void values_problem(lua_State *L, size_t wanted, size_t got,
                           const char *what) {
  lze_argerror(L, 2, lua_pushfstring(L, "%I %s expected, got %I",
                                     (LUAI_UACINT)wanted, what,
                                     (LUAI_UACINT)got));
}

/* m:write(table | string [, box]) -> m */
static int image_write(lua_State *L) {
  lua_settop(L, 3);
  const lze_Image *m = lze_check_image(L, 1);
  const lze_Part part = lze_image_part(L, m, 3);
  const lze_Type *type = m->format.type;
  size_t n = lze_part_count(&part);
  if (lua_istable(L, 2)) {
    lua_Integer given = lze_table_ask(L, 2, type, (lua_Integer)n);
    if (given == (lua_Integer)n)
      given = (lua_Integer)lze_table_length(L, 2, type);
    if (given != (lua_Integer)n)
      values_problem(L, n, (size_t)given, "pixels");
    lze_image_put(L, &part, lze_table_pack(L, type, 2, n));
  } else if (lua_type(L, 2) == LUA_TSTRING) {
    size_t length;
    const char *bytes = lua_tolstring(L, 2, &length);
    if (length != n * type->bytes)
      values_problem(L, n * type->bytes, length, "bytes");
    lze_image_put(L, &part, bytes);
  } else {
    lze_argerror(L, 2, lua_pushfstring(L, "table or string expected, got %s "
                                          "(m:copy takes buffers)",
                                       lze_describe(L, 2)));
  }
  lua_settop(L, 1);
  return 1;
}

/* m:copy(buffer | image) -> m, enqueued on the default queue */
static int image_copy(lua_State *L) {
  lze_check_image(L, 1);
  lze_image_copy_on(L, 1);
  lua_settop(L, 1);
  return 1;
}

/* m:copy_box(buffer | image, box) -> m, enqueued on the default queue */
static int image_copy_box(lua_State *L) {
  lze_check_image(L, 1);
  return lze_copy_box(L);
}

/* m:pending() -> boolean: true if work in flight touches it */
static int image_pending(lua_State *L) {
  lze_Storage *s = lze_check_image(L, 1)->window.storage;
  lua_pushboolean(L, lze_storage_pending(L, s, 0, s->bytes, true));
  return 1;
}

/* For images and samplers, which both begin with a window. */
static int window_gc(lua_State *L, const char *kind) {
  lze_Buffer *b = lze_check_box(L, 1, kind);
  lze_Storage *s = b->storage;
  b->storage = NULL;
  if (s != NULL) lze_disown(&s->o);
  return 0;
}

static int window_close(lua_State *L, const char *kind) {
  const lze_Buffer *b = lze_check_box(L, 1, kind);
  if (b->storage != NULL) lze_close(&b->storage->o);
  return window_gc(L, kind);
}

static int image_gc(lua_State *L) { return window_gc(L, lze_image_kind); }
static int image_close(lua_State *L) { return window_close(L, lze_image_kind); }

static int image_tostring(lua_State *L) {
  const lze_Image *m = lze_check_box(L, 1, lze_image_kind);
  lua_pushfstring(L, "image: %s %s%s", m->format.name,
                  lze_push_image_size(L, m),
                  lze_buffer_is_open(&m->window) ? "" : " (closed)");
  return 1;
}

static int image_describe(lua_State *L) {
  const lze_Image *m = lze_check_box(L, 1, lze_image_kind);
  lua_pushfstring(L, "%simage of %s in %d dimension%s",
                  lze_buffer_is_open(&m->window) ? "" : "a closed ",
                  m->format.name, m->dimensions,
                  m->dimensions == 1 ? "" : "s");
  return 1;
}

static int field_format(lua_State *L) {
  lua_pushstring(L, lze_check_image(L, 1)->format.name);
  return 1;
}

static int field_type(lua_State *L) {
  lua_pushstring(L, lze_check_image(L, 1)->format.type->name);
  return 1;
}

static int field_width(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lze_check_image(L, 1)->size[0]);
  return 1;
}

static int field_height(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lze_check_image(L, 1)->size[1]);
  return 1;
}

static int field_depth(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lze_check_image(L, 1)->size[2]);
  return 1;
}

static int field_dimensions(lua_State *L) {
  lua_pushinteger(L, lze_check_image(L, 1)->dimensions);
  return 1;
}

static int field_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lze_check_image(L, 1)->window.storage->bytes);
  return 1;
}

/* Access by kernels: "both" or "read". */
static int field_access(lua_State *L) {
  lua_pushstring(L, lze_check_image(L, 1)->writable ? "both" : "read");
  return 1;
}

static int field_device(lua_State *L) {
  lze_push_device(L, lze_check_image(L, 1)->window.storage->device);
  return 1;
}

static int field_context(lua_State *L) {
  lze_push_context(L, lze_check_image(L, 1)->window.storage->o.context);
  return 1;
}

static int field_handle(lua_State *L) {
  lua_pushlightuserdata(L, lze_check_image(L, 1)->window.storage->image);
  return 1;
}

static const lze_Method image_methods[] = {
    {"read", image_read, LZE_GUARDED},
    {"write", image_write, LZE_GUARDED},
    {"string", image_string, LZE_GUARDED},
    {"copy", image_copy, LZE_GUARDED},
    {"copy_box", image_copy_box, LZE_GUARDED},
    {"pending", image_pending, LZE_UNGUARDED},
    {"close", image_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method image_metamethods[] = {
    {"__gc", image_gc, LZE_UNGUARDED},
    {"__close", image_close, LZE_UNGUARDED},
    {"__tostring", image_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field image_fields[] = {
    {"format", field_format},   {"type", field_type},
    {"width", field_width},     {"height", field_height},
    {"depth", field_depth},     {"dimensions", field_dimensions},
    {"bytes", field_bytes},     {"access", field_access},
    {"device", field_device},   {"context", field_context},
    {"handle", field_handle},   {NULL, NULL}};

/* --- samplers ------------------------------------------------------------- */

static lze_Sampler *check_sampler(lua_State *L) {
  lze_Sampler *s = lze_check_box(L, 1, lze_sampler_kind);
  if (!lze_buffer_is_open(&s->window)) lze_closed(L, 1, lze_sampler_kind);
  return s;
}

static int sampler_gc(lua_State *L) { return window_gc(L, lze_sampler_kind); }
static int sampler_close(lua_State *L) {
  return window_close(L, lze_sampler_kind);
}

static int sampler_tostring(lua_State *L) {
  const lze_Sampler *s = lze_check_box(L, 1, lze_sampler_kind);
  lua_pushfstring(L, "sampler: %s, %s%s%s", lze_address_names[s->address],
                  lze_filter_names[s->filter],
                  s->normalized ? ", normalized" : "",
                  lze_buffer_is_open(&s->window) ? "" : " (closed)");
  return 1;
}

static int sampler_describe(lua_State *L) {
  const lze_Sampler *s = lze_check_box(L, 1, lze_sampler_kind);
  lua_pushstring(L, lze_buffer_is_open(&s->window) ? "sampler"
                                                   : "a closed sampler");
  return 1;
}

static int field_address(lua_State *L) {
  lua_pushstring(L, lze_address_names[check_sampler(L)->address]);
  return 1;
}

static int field_filter(lua_State *L) {
  lua_pushstring(L, lze_filter_names[check_sampler(L)->filter]);
  return 1;
}

static int field_normalized(lua_State *L) {
  lua_pushboolean(L, check_sampler(L)->normalized);
  return 1;
}

static int field_sampler_device(lua_State *L) {
  lze_push_device(L, check_sampler(L)->window.storage->device);
  return 1;
}

static int field_sampler_context(lua_State *L) {
  lze_push_context(L, check_sampler(L)->window.storage->o.context);
  return 1;
}

static int field_sampler_handle(lua_State *L) {
  lua_pushlightuserdata(L, check_sampler(L)->window.storage->sampler);
  return 1;
}

static const lze_Method sampler_methods[] = {
    {"close", sampler_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method sampler_metamethods[] = {
    {"__gc", sampler_gc, LZE_UNGUARDED},
    {"__close", sampler_close, LZE_UNGUARDED},
    {"__tostring", sampler_tostring, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field sampler_fields[] = {
    {"address", field_address},       {"filter", field_filter},
    {"normalized", field_normalized}, {"device", field_sampler_device},
    {"context", field_sampler_context}, {"handle", field_sampler_handle},
    {NULL, NULL}};

static const lze_Method functions[] = {
    {"image", lze_image_new, LZE_GUARDED},
    {"sampler", lze_sampler_new, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method device_methods[] = {
    {"image_formats", lze_image_formats, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_image(lua_State *L) {
  lze_add_methods(L, lze_device_kind, device_methods);
  lze_new_kind(L, lze_image_kind, image_metamethods, image_methods,
               image_fields);
  lze_set_describe(L, lze_image_kind, image_describe);
  lze_new_kind(L, lze_sampler_kind, sampler_metamethods, sampler_methods,
               sampler_fields);
  lze_set_describe(L, lze_sampler_kind, sampler_describe);
  lze_set_methods(L, functions, 0);
}
