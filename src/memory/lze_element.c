/*
 * lze_element.c - x[i] of a buffer of structs: a place in it, whose fields are
 * read and written by name; and of a buffer of vectors: a table with a copy of
 * the vector, through which its lanes are written.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_struct.h"
#include "memory/lze_buffer.h"
#include "queue/lze_command.h"

#include <string.h>

/* The buffer is user value 1. */
typedef struct Element {
  lze_Element base;
  size_t offset;          /* bytes into the storage */
} Element;

static Element *check_element(lua_State *L) {
  return lze_check_box(L, 1, lze_element_kind);
}

/* [-0, +1] Pushes the buffer of the element at `index`; raises if it is
   closed. */
static lze_Buffer *element_buffer(lua_State *L, int index) {
  luaL_checkstack(L, 2, NULL);
  lua_getiuservalue(L, index, 1);
  lze_Buffer *b = lze_test_buffer(L, -1);
  if (b == NULL || !lze_buffer_is_open(b))
    luaL_error(L, "the buffer of this element is closed");
  return b;
}

/* [-0, +1] Waits for the work on bytes of the element at `index`, and returns
   their address, which is valid until Lua code runs. */
static char *element_bytes(lua_State *L, int index, size_t offset,
                           size_t bytes, bool write) {
  lze_Buffer *b = element_buffer(L, index);
  lze_Storage *s = b->storage;
  if (s->uses != NULL || s->failed != NULL || (write && s->awaited)) {
    lze_storage_wait(L, s, offset, offset + bytes, write);
    if (!lze_buffer_is_open(b))
      luaL_error(L, "the buffer was closed during the wait");
  }
  return s->pointer + offset;
}

static void element_read(lua_State *L, int index, void *p) {
  const Element *e = lua_touserdata(L, index);
  memcpy(p, element_bytes(L, index, e->offset, e->base.type->bytes, false),
         e->base.type->bytes);
  lua_pop(L, 1);
}

void lze_push_element(lua_State *L, int buffer, const lze_Type *type,
                      size_t offset) {
  buffer = lua_absindex(L, buffer);
  Element *e = lze_push_box(L, lze_element_kind, sizeof *e);
  e->base.type = type;
  e->base.read = element_read;
  e->offset = offset;
  lua_pushvalue(L, buffer);
  lua_setiuservalue(L, -2, 1);
}

/* --- vectors -------------------------------------------------------------- */

/* The value at lze_vector_key in the table of a vector.  Its user value 1 is
   the buffer. */
typedef struct Vector {
  lze_Vector base;
  size_t offset;          /* bytes into the storage */
} Vector;

/* Registry key of the metatable of these tables. */
static const char vector_meta = 0;

void lze_push_vector(lua_State *L, int buffer, const lze_Type *type,
                     size_t offset, const void *p) {
  luaL_checkstack(L, 3, NULL);
  buffer = lua_absindex(L, buffer);
  lua_createtable(L, 0, 1);
  Vector *v = lua_newuserdatauv(L, sizeof *v, 1);
  v->base.type = type;
  v->offset = offset;
  memcpy(v->base.bytes, p, type->bytes);
  lua_pushvalue(L, buffer);
  lua_setiuservalue(L, -2, 1);
  lua_rawsetp(L, -2, &lze_vector_key);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &vector_meta);
  lua_setmetatable(L, -2);
}

static Vector *check_vector(lua_State *L) {
  Vector *v = (Vector *)(void *)lze_test_vector(L, 1);
  if (v == NULL) lze_argerror(L, 1, "the table of a vector expected");
  return v;
}

/* Returns the lane that the key at 2 names, from 0, or -1. */
static int vector_lane(lua_State *L, const Vector *v) {
  int exact;
  lua_Integer i = lua_tointegerx(L, 2, &exact);
  bool is = exact && lua_type(L, 2) == LUA_TNUMBER;
  return is && i >= 1 && i <= v->base.type->lanes ? (int)i - 1 : -1;
}

static char *lane_bytes(Vector *v, int lane) {
  return v->base.bytes + lane * v->base.type->scalar_bytes;
}

static int vector_index(lua_State *L) {
  Vector *v = check_vector(L);
  int lane = vector_lane(L, v);
  if (lane < 0) return 0;
  lze_type_push(L, lze_type_of(v->base.type->scalar, 1), lane_bytes(v, lane));
  return 1;
}

static int vector_newindex(lua_State *L) {
  Vector *v = check_vector(L);
  int lane = vector_lane(L, v);
  const lze_Type *t = lze_type_of(v->base.type->scalar, 1);
  if (lane < 0)
    luaL_error(L, "a vector of %d has no element %s", v->base.type->lanes,
               lze_describe(L, 2));
  if (!lze_type_store(L, t, 3, lane_bytes(v, lane)))
    luaL_error(L, "index %d: %s", lane + 1, lua_tostring(L, -1));
  lua_rawgetp(L, 1, &lze_vector_key);
  memcpy(element_bytes(L, -1, v->offset + (size_t)lane * t->bytes, t->bytes,
                       true), lane_bytes(v, lane), t->bytes);
  return 0;
}

static int vector_len(lua_State *L) {
  lua_pushinteger(L, check_vector(L)->base.type->lanes);
  return 1;
}

static int vector_next(lua_State *L) {
  const Vector *v = check_vector(L);
  int lane = lua_isnil(L, 2) ? 0 : vector_lane(L, v) + 1;
  if (lane >= v->base.type->lanes) return 0;
  lua_pushinteger(L, lane + 1);
  lua_replace(L, 2);
  lua_settop(L, 2);
  vector_index(L);
  return 2;
}

static int vector_pairs(lua_State *L) {
  check_vector(L);
  lua_pushcfunction(L, vector_next);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

static int vector_tostring(lua_State *L) {
  const Vector *v = check_vector(L);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  lze_type_add(L, &b, v->base.type, v->base.bytes);
  luaL_pushresult(&b);
  return 1;
}

static void open_vectors(lua_State *L) {
  static const luaL_Reg all[] = {{"__index", vector_index},
                                 {"__newindex", vector_newindex},
                                 {"__len", vector_len},
                                 {"__pairs", vector_pairs},
                                 {"__tostring", vector_tostring},
                                 {NULL, NULL}};
  luaL_newlib(L, all);
  lua_pushliteral(L, "vector");
  lua_setfield(L, -2, "__metatable");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &vector_meta);
}

/* --- fields --------------------------------------------------------------- */

/* Returns the field that the key at 2 names, or raises. */
static const lze_StructField *check_field(lua_State *L, const Element *e) {
  const lze_StructField *f =
      lua_type(L, 2) == LUA_TSTRING
          ? lze_struct_field(e->base.type, lua_tostring(L, 2)) : NULL;
  if (f == NULL)
    luaL_error(L, "no field %s in an element (known: %s)", lze_describe(L, 2),
               lze_struct_names(L, e->base.type));
  return f;
}

static size_t field_bytes(const lze_StructField *f) {
  return (size_t)f->type->bytes * (f->count > 0 ? f->count : 1);
}

/* Pushes a field: a struct in a struct is also an element. */
static void element_push_field(lua_State *L, const Element *e,
                               const lze_StructField *f) {
  size_t offset = e->offset + f->offset;
  if (f->type->fields != NULL && f->count == 0) {
    element_buffer(L, 1);
    lze_push_element(L, -1, f->type, offset);
    return;
  }
  /* A copy, because creating the table of a vector may run a finalizer that
     closes the buffer. */
  char bytes[LZE_ELEMENT_BYTES];
  memcpy(bytes, element_bytes(L, 1, offset, field_bytes(f), false),
         field_bytes(f));
  if (f->count == 0 && f->type->lanes > 1)
    lze_push_vector(L, -1, f->type, offset, bytes);
  else
    lze_struct_push_field(L, f, bytes);
}

static int element_index(lua_State *L) {
  const Element *e = check_element(L);
  element_push_field(L, e, check_field(L, e));
  return 1;
}

static int element_newindex(lua_State *L) {
  const Element *e = check_element(L);
  const lze_StructField *f = check_field(L, e);
  char bytes[LZE_ELEMENT_BYTES];
  if (!lze_struct_store_field(L, f, 3, bytes))
    return luaL_error(L, "%s", lua_tostring(L, -1));
  memcpy(element_bytes(L, 1, e->offset + f->offset, field_bytes(f), true),
         bytes, field_bytes(f));
  return 0;
}

/* Runs one step of pairs, in the order of the fields. */
static int element_next(lua_State *L) {
  const Element *e = check_element(L);
  uint32_t i = 0;
  if (!lua_isnil(L, 2))
    i = (uint32_t)(check_field(L, e) - e->base.type->fields->fields) + 1;
  if (i == e->base.type->fields->count) return 0;
  const lze_StructField *f = &e->base.type->fields->fields[i];
  lua_pushstring(L, f->name);
  element_push_field(L, e, f);
  lua_pushstring(L, f->name);
  lua_insert(L, -2);
  return 2;
}

static int element_pairs(lua_State *L) {
  check_element(L);
  lua_pushcfunction(L, element_next);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

/* Adds the value at p, with all its parts, as an array if count is not 0. */
static void add_value(lua_State *L, luaL_Buffer *b, const lze_Type *type,
                      uint32_t count, const char *p);

static void add_struct(lua_State *L, luaL_Buffer *b, const lze_Type *type,
                       const char *p) {
  for (uint32_t i = 0; i < type->fields->count; i++) {
    const lze_StructField *f = &type->fields->fields[i];
    luaL_addstring(b, i > 0 ? ", " : "{");
    luaL_addstring(b, f->name);
    luaL_addstring(b, " = ");
    add_value(L, b, f->type, f->count, p + f->offset);
  }
  luaL_addchar(b, '}');
}

static void add_value(lua_State *L, luaL_Buffer *b, const lze_Type *type,
                      uint32_t count, const char *p) {
  if (count > 0) {
    for (uint32_t i = 0; i < count; i++, p += type->bytes) {
      luaL_addstring(b, i > 0 ? ", " : "{");
      add_value(L, b, type, 0, p);
    }
    luaL_addchar(b, '}');
  } else if (type->fields != NULL) {
    add_struct(L, b, type, p);
  } else if (type->lanes > 1) {
    add_value(L, b, lze_type_of(type->scalar, 1), type->lanes, p);
  } else {
    lze_type_push(L, type, p);
    luaL_tolstring(L, -1, NULL);
    lua_remove(L, -2);
    luaL_addvalue(b);
  }
}

void lze_type_add(lua_State *L, luaL_Buffer *b, const lze_Type *type,
                  const void *p) {
  add_value(L, b, type, 0, p);
}

/* Never waits or raises. */
static int element_tostring(lua_State *L) {
  const Element *e = check_element(L);
  char bytes[LZE_ELEMENT_BYTES];
  lua_getiuservalue(L, 1, 1);
  const lze_Buffer *buffer = lze_test_buffer(L, -1);
  const char *why = buffer == NULL || !lze_buffer_is_open(buffer) ? " (closed)"
                    : lze_storage_pending(NULL, buffer->storage, e->offset,
                                          e->offset + e->base.type->bytes,
                                          false)
                        ? " (busy)"
                        : NULL;
  if (why == NULL)
    memcpy(bytes, buffer->storage->pointer + e->offset, e->base.type->bytes);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "element: ");
  if (why == NULL) lze_type_add(L, &b, e->base.type, bytes);
  else luaL_addstring(&b, e->base.type->name);
  if (why != NULL) luaL_addstring(&b, why);
  luaL_pushresult(&b);
  return 1;
}

static int element_describe(lua_State *L) {
  lua_pushfstring(L, "element of %s", check_element(L)->base.type->name);
  return 1;
}

static const lze_Method none[] = {{NULL, NULL, LZE_UNGUARDED}};
static const lze_Field no_fields[] = {{NULL, NULL}};

static const lze_Method metamethods[] = {
    {"__index", element_index, LZE_UNGUARDED},
    {"__newindex", element_newindex, LZE_UNGUARDED},
    {"__pairs", element_pairs, LZE_UNGUARDED},
    {"__tostring", element_tostring, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_element(lua_State *L) {
  lze_new_kind(L, lze_element_kind, metamethods, none, no_fields);
  lze_set_describe(L, lze_element_kind, element_describe);
  open_vectors(L);
}
