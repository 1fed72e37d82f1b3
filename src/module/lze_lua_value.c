/*
 * lze_lua_value.c - describes the values of a Lua function for the compiler.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "module/lze_builtin.h"
#include "module/lze_lua_variant.h"

#include <string.h>

bool lze_lua_element(const lze_Type *t, lzc_element *element) {
  return t->lanes == 1 && lzc_element_find(t->name, strlen(t->name), element);
}

unsigned lze_lua_rank(lua_State *L, int index, const lze_Buffer *b) {
  if (!lze_is_array(L, index)) return 1;
  lua_Integer rank = lze_array_get(L, index, "dims") == LUA_TTABLE
                         ? (lua_Integer)lua_rawlen(L, -1) : 9, left = b->count;
  for (lua_Integer d = 1; d <= rank && rank <= LZC_MOST_RANK; d++) {
    lua_rawgeti(L, -1, d);
    lua_Integer size = lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (size < 0 || (size == 0 ? left != 0 : left % size != 0)) rank = 9;
    else if (size > 0) left /= size;
  }
  lua_pop(L, 1);
  return rank > LZC_MOST_RANK || left > 1 ? 0 : rank < 2 ? 1 : (unsigned)rank;
}

static void describe_array(lua_State *L, lzc_value *out) {
  const lze_Buffer *b = lze_test_buffer(L, -1);
  out->kind = LZC_OTHER;
  if (b == NULL) {
    out->bytes = "an array that is not contiguous (a:clone() is)";
    return;
  }
  out->rank = lze_lua_rank(L, -1, b);
  if (out->rank > 0 && lze_lua_element(b->type, &out->element))
    out->kind = out->rank > 1 ? LZC_ARRAY : LZC_BUFFER;
}

void lze_lua_describe(lua_State *L, lzc_value *out) {
  memset(out, 0, sizeof *out);
  if (lze_is_array(L, -1)) {
    describe_array(L, out);
    return;
  }
  switch (lua_type(L, -1)) {
    case LUA_TNIL: out->kind = LZC_NIL; break;
    case LUA_TBOOLEAN:
      out->kind = LZC_BOOLEAN;
      out->boolean = lua_toboolean(L, -1);
      break;
    case LUA_TNUMBER:
      out->kind = lua_isinteger(L, -1) ? LZC_INTEGER : LZC_REAL;
      out->integer = lua_tointeger(L, -1);
      out->real = lua_tonumber(L, -1);
      break;
    case LUA_TSTRING:
      out->kind = LZC_STRING;
      out->bytes = lua_tolstring(L, -1, &out->size);
      break;
    case LUA_TTABLE: out->kind = LZC_TABLE; break;
    case LUA_TFUNCTION:
      out->identity = lua_topointer(L, -1);
      out->builtin = lze_builtin_of(L, -1);
      out->kind = out->builtin != 0     ? LZC_BUILTIN
                  : lua_iscfunction(L, -1) ? LZC_OTHER : LZC_FUNCTION;
      if (out->kind == LZC_OTHER) out->bytes = "a C function";
      break;
    default: {
      const lze_Buffer *b = lze_test_buffer(L, -1);
      bool flat = b != NULL && lze_lua_element(b->type, &out->element);
      out->kind = flat ? LZC_BUFFER : LZC_OTHER;
      out->rank = 1;
      out->bytes = b != NULL ? "a buffer of vectors or structs (a view of it "
                               "as its scalars can be)"
                             : luaL_typename(L, -1);
    }
  }
}

typedef struct Chunk {
  int at;                       /* stack index for the result */
  bool begun;
  luaL_Buffer b;
} Chunk;

static void chunk_end(lua_State *L, Chunk *c) {
  luaL_pushresult(&c->b);
  lua_replace(L, c->at);
}

/* Lua 5.5 passes NULL at the end, before it removes values that we pushed; 5.4
   does not remove them and makes no last call. */
static int chunk_add(lua_State *L, const void *bytes, size_t size,
                     void *data) {
  Chunk *c = data;
  if (!c->begun) luaL_buffinit(L, &c->b);
  c->begun = true;
  if (bytes != NULL) luaL_addlstring(&c->b, bytes, size);
  else chunk_end(L, c);
  return 0;
}

const char *lze_push_chunk(lua_State *L, size_t *size) {
  Chunk c = {.at = lua_gettop(L) + 1};
  luaL_checkstack(L, 2, NULL);
  lua_pushnil(L);
  lua_pushvalue(L, -2);
  lua_dump(L, chunk_add, &c, 0);
  if (lua_isnil(L, c.at)) chunk_end(L, &c);
  lua_settop(L, c.at);
  return lua_tolstring(L, -1, size);
}

/* Pushes the function whose capture begins a path of the variant at `slot`.
   [-0, +1] */
static void push_capturer(lua_State *L, int own, int slot, const lzc_path *p) {
  lua_rawgeti(L, own, p->function == NULL ? LZE_AT_FUNCTION : -slot);
  if (p->function == NULL) return;
  lua_rawgetp(L, -1, p->function);
  lua_replace(L, -2);
}

bool lze_lua_push_path(lua_State *L, int own, int slot, const lzc_path *p) {
  push_capturer(L, own, slot, p);
  if (lua_getupvalue(L, -1, (int)p->upvalue) == NULL) lua_pushnil(L);
  lua_replace(L, -2);
  for (size_t i = 0; i < p->count; i++) {
    if (!lua_istable(L, -1)) {
      lua_pushnil(L);
      lua_replace(L, -2);
      return false;
    }
    lua_pushstring(L, p->fields[i]);
    lua_rawget(L, -2);
    lua_replace(L, -2);
  }
  return true;
}

/* One request of the compiler. */
typedef struct Question {
  const lzc_path *path;
  lzc_value *out;
  bool found;
} Question;

/* Called by lua_pcall with the question and the tables of lze_LuaSources. Keeps
   the values alive: functions and strings as long as the variant, chunks as
   long as the compilation. */
static int answer(lua_State *L) {
  enum { OWN = 2, KEPT, CHUNKS };
  Question *q = lua_touserdata(L, 1);
  lzc_value *out = q->out;
  bool found = lze_lua_push_path(L, OWN, LZE_PENDING_SLOT, q->path);
  if (found) lze_lua_describe(L, out);
  if (q->path->count == 0) {
    push_capturer(L, OWN, LZE_PENDING_SLOT, q->path);
    out->variable = lua_upvalueid(L, -1, (int)q->path->upvalue);
    lua_pop(L, 1);
  }
  if (found && out->identity != NULL) {
    lua_pushvalue(L, -1);
    lua_rawsetp(L, KEPT, out->identity);
  } else if (found && out->kind == LZC_STRING) {
    /* Not as a key: of two equal strings a table keeps only one. */
    lua_pushvalue(L, -1);
    lua_rawsetp(L, KEPT, out->bytes);
  }
  if (found && out->kind == LZC_FUNCTION) {
    out->bytes = lze_push_chunk(L, &out->size);
    lua_rawseti(L, CHUNKS, (lua_Integer)lua_rawlen(L, CHUNKS) + 1);
  }
  q->found = found;
  return 0;
}

bool lze_lua_resolve(void *data, const lzc_path *path, lzc_value *out) {
  lze_LuaSources *s = data;
  lua_State *L = s->L;
  Question q = {path, out, false};
  if (s->failed != 0) return false;
  lua_pushcfunction(L, answer);
  lua_pushlightuserdata(L, &q);
  lua_pushvalue(L, s->own);
  lua_pushvalue(L, s->kept);
  lua_pushvalue(L, s->chunks);
  if (lua_pcall(L, 4, 0, 0) != LUA_OK) s->failed = lua_gettop(L);
  return s->failed == 0 && q.found;
}
