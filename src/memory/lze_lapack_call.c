/*
 * lze_lapack_call.c - calls of LAPACK on the elements of buffers.
 * SPDX-License-Identifier: MIT
 *
 * One function calls every routine: all parameters of Fortran are pointers.
 */
#include "memory/lze_lapack_call.h"
#include "base/lze_error.h"
#include "base/lze_lapack.h"
#include "memory/lze_buffer.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PAUSE_NS 10000000u /* between calls of hooks */

typedef enum Role {
  ROLE_BUFFER, ROLE_INTEGER, ROLE_REAL, ROLE_LETTER, ROLE_WORK, ROLE_IWORK,
  ROLE_INFO
} Role;

typedef struct Argument {
  Role role;
  char *data;                   /* of a buffer's first matrix, or work space */
  size_t from, step;            /* of a buffer, in bytes */
  union {
    char letter;
    int32_t i32;
    int64_t i64;
    float real32;
    double real64;
  } v;
} Argument;

typedef struct Call {
  lze_Routine routine;
  bool wide, is_double;         /* 64-bit integers; double elements */
  lua_Integer count;
  int used;                     /* arguments, of which buffers are at FIRST on
                                   the stack */
  Argument arguments[LZE_LAPACK_ARGUMENTS];
  int places;                   /* of pointers in use */
  void *pointers[LZE_LAPACK_ARGUMENTS];
  Argument sizes[2];            /* of the work space, which follow it */
} Call;

enum { NAME = 1, TYPE, COUNT, LIST, FIRST };

static void argument_store(const Call *c, Argument *a, lua_Integer n) {
  if (c->wide) a->v.i64 = n;
  else a->v.i32 = (int32_t)n;
}

static lua_Integer argument_load(const Call *c, const Argument *a) {
  return c->wide ? (lua_Integer)a->v.i64 : a->v.i32;
}

/* --- arguments ---------------------------------------------------------- */

static void word_read(lua_State *L, Argument *a, const char *word) {
  if (word[0] != '\0' && word[1] == '\0') {
    a->role = ROLE_LETTER;
    a->v.letter = word[0];
  } else if (strcmp(word, "work") == 0) {
    a->role = ROLE_WORK;
  } else if (strcmp(word, "iwork") == 0) {
    a->role = ROLE_IWORK;
  } else if (strcmp(word, "info") == 0) {
    a->role = ROLE_INFO;
  } else {
    luaL_error(L, "no argument %s", word);
  }
}

/* Replaces a table at `index`, {buffer, from, step}, by its buffer. */
static void table_read(lua_State *L, Argument *a, int index) {
  for (int i = 1; i <= 3; i++) lua_rawgeti(L, index, i);
  a->from = (size_t)luaL_checkinteger(L, -2);
  a->step = (size_t)luaL_checkinteger(L, -1);
  lua_pop(L, 2);
  lua_replace(L, index);
}

static void buffer_read(lua_State *L, const Call *c, Argument *a, int index) {
  const bool placed = lua_istable(L, index);
  a->role = ROLE_BUFFER;
  a->from = a->step = 0;
  if (placed) table_read(L, a, index);
  const lze_Buffer *b = lze_check_buffer(L, index);
  if (!placed) a->step = (size_t)(b->count / c->count);
  if (b->storage->usage == LZE_DEVICE)
    luaL_error(L, "the host cannot access the buffer");
  a->from *= b->type->bytes;
  a->step *= b->type->bytes;
}

static void number_read(lua_State *L, const Call *c, Argument *a, int index) {
  if (lua_isinteger(L, index)) {
    const lua_Integer n = lua_tointeger(L, index);
    if (!c->wide && n > INT32_MAX)
      luaL_error(L, "%I is too large for the 32-bit integers of LAPACK",
                 (LUAI_UACINT)n);
    a->role = ROLE_INTEGER;
    argument_store(c, a, n);
    return;
  }
  a->role = ROLE_REAL;
  if (c->is_double) a->v.real64 = lua_tonumber(L, index);
  else a->v.real32 = (float)lua_tonumber(L, index);
}

static void argument_read(lua_State *L, Call *c, int i) {
  Argument *a = &c->arguments[i];
  const int index = FIRST + i;
  lua_rawgeti(L, LIST, i + 1);
  switch (lua_type(L, index)) {
  case LUA_TSTRING:
    word_read(L, a, lua_tostring(L, index));
    break;
  case LUA_TNUMBER:
    number_read(L, c, a, index);
    break;
  default:
    buffer_read(L, c, a, index);
  }
}

/* Waits until the host may write the buffers, with what is pending. */
static void call_wait(lua_State *L, const Call *c) {
  for (int i = 0; i < c->used; i++) {
    if (c->arguments[i].role != ROLE_BUFFER) continue;
    lze_buffer_flush_readers(L, FIRST + i);
    const lze_Buffer *b = lze_check_buffer(L, FIRST + i);
    lze_buffer_wait(L, FIRST + i, b, 0, (size_t)b->count, true);
  }
}

/* Finds the elements of the buffers; Lua code may have closed one. */
static void call_locate(lua_State *L, Call *c) {
  for (int i = 0; i < c->used; i++) {
    Argument *a = &c->arguments[i];
    if (a->role != ROLE_BUFFER) continue;
    a->data = lze_buffer_data(lze_check_buffer(L, FIRST + i)) + a->from;
  }
}

/* --- the call ----------------------------------------------------------- */

static void *argument_pointer(Argument *a, lua_Integer z) {
  if (a->role == ROLE_BUFFER) return a->data + (size_t)z * a->step;
  if (a->role == ROLE_WORK || a->role == ROLE_IWORK) return a->data;
  return &a->v;
}

/* Calls the routine for matrix z, from 0. */
static void call_matrix(Call *c, lua_Integer z) {
  int n = 0, size = 0;
  for (int i = 0; i < c->used; i++) {
    Argument *a = &c->arguments[i];
    c->pointers[n++] = argument_pointer(a, z);
    if (a->role == ROLE_WORK || a->role == ROLE_IWORK)
      c->pointers[n++] = &c->sizes[size++].v;
  }
  while (n < LZE_LAPACK_ARGUMENTS) c->pointers[n++] = (void *)(uintptr_t)1;
  lze_lapack_call(&c->routine, c->pointers);
}

/* Returns a requested size.  A float may have been rounded down. */
static lua_Integer work_size(const Call *c, const Argument *a) {
  if (a->role == ROLE_IWORK) return argument_load(c, a);
  const double n = c->is_double ? a->v.real64 : ceil(a->v.real32 * 1.000001);
  return n > 1 ? (lua_Integer)n : 1;
}

/* [-0, +n] Allocates the work space that the routine requests. */
static void call_prepare(lua_State *L, Call *c) {
  int n = 0;
  for (int i = 0; i < c->used; i++) {
    Argument *a = &c->arguments[i];
    if (a->role != ROLE_WORK && a->role != ROLE_IWORK) continue;
    a->data = (char *)&a->v;
    argument_store(c, &c->sizes[n++], -1);
  }
  if (n == 0) return;
  call_matrix(c, 0);
  n = 0;
  for (int i = 0; i < c->used; i++) {
    Argument *a = &c->arguments[i];
    if (a->role != ROLE_WORK && a->role != ROLE_IWORK) continue;
    lua_Integer size = work_size(c, a);
    if (size < 1) size = 1;
    if (!c->wide && size > INT32_MAX) size = INT32_MAX;
    a->data = lua_newuserdatauv(L, (size_t)size * 8, 0);
    argument_store(c, &c->sizes[n++], size);
  }
}

/* Lets a hook run, at most every PAUSE_NS. */
static void call_pause(lua_State *L, Call *c, uint64_t *before) {
  const uint64_t now = lze_now_ns();
  if (now - *before < PAUSE_NS) return;
  if (lze_run_hook(L) != LUA_OK) lua_error(L);
  call_locate(L, c);
  *before = lze_now_ns();
}

/* Returns the routine's info, or 0 if it has none. */
static lua_Integer call_info(const Call *c) {
  for (int i = 0; i < c->used; i++)
    if (c->arguments[i].role == ROLE_INFO)
      return argument_load(c, &c->arguments[i]);
  return 0;
}

static bool find_routine(const char *name, bool is_double, lze_Routine *r) {
  char full[16];
  snprintf(full, sizeof full, "%c%s", is_double ? 'd' : 's', name);
  return lze_lapack_find(full, r);
}

static bool is_double(lua_State *L, int index) {
  return strcmp(luaL_checkstring(L, index), "double") == 0;
}

static int lapack_call(lua_State *L) {
  Call c;
  lua_settop(L, LIST);
  memset(&c, 0, sizeof c);
  c.is_double = is_double(L, TYPE);
  c.wide = lze_lapack()->integer_bytes == 8;
  c.count = luaL_checkinteger(L, COUNT);
  const char *name = luaL_checkstring(L, NAME);
  if (!find_routine(name, c.is_double, &c.routine))
    return luaL_error(L, "LAPACK has no routine %s", name);
  c.used = (int)lua_rawlen(L, LIST);
  luaL_checkstack(L, LZE_LAPACK_ARGUMENTS + 8, NULL);
  for (int i = 0; i < c.used; i++) argument_read(L, &c, i);
  call_wait(L, &c);
  call_locate(L, &c);
  call_prepare(L, &c);
  call_locate(L, &c);
  uint64_t before = lze_now_ns();
  for (lua_Integer z = 0; z < c.count; z++) {
    call_matrix(&c, z);
    const lua_Integer info = call_info(&c);
    if (info != 0) {
      lua_pushinteger(L, z + 1);
      lua_pushinteger(L, info);
      return 2;
    }
    call_pause(L, &c, &before);
  }
  return 0;
}

static int lapack_has(lua_State *L) {
  lze_Routine r;
  lua_pushboolean(L, find_routine(luaL_checkstring(L, 1), is_double(L, 2), &r));
  return 1;
}

static int lapack_about(lua_State *L) {
  const lze_Lapack *l = lze_lapack();
  lua_pushstring(L, l->path);
  lua_pushstring(L, l->path != NULL ? l->kind : l->missing);
  lua_pushstring(L, l->integer_bytes == 8 ? "long" : "int");
  return 3;
}

static bool is_finite(const lze_Buffer *b, size_t i) {
  const void *p = lze_buffer_data(b);
  if (b->type->bytes == sizeof(float)) return isfinite(((const float *)p)[i]);
  return isfinite(((const double *)p)[i]);
}

static int lapack_finite(lua_State *L) {
  lua_settop(L, 2);
  const lua_Integer count = luaL_checkinteger(L, 2);
  const lze_Buffer *b = lze_check_buffer(L, 1);
  lze_buffer_wait(L, 1, b, 0, (size_t)b->count, false);
  const size_t n = (size_t)b->count, each = n / (size_t)count;
  for (size_t i = 0; i < n; i++) {
    if (is_finite(b, i)) continue;
    lua_pushinteger(L, (lua_Integer)(i / each) + 1);
    return 1;
  }
  return 0;
}

static const lze_Method functions[] = {
    {"about", lapack_about, LZE_UNGUARDED},
    {"call", lapack_call, LZE_UNGUARDED},
    {"finite", lapack_finite, LZE_UNGUARDED},
    {"has", lapack_has, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_push_lapack_functions(lua_State *L) {
  lua_createtable(L, 0, (int)(sizeof functions / sizeof *functions));
  lze_set_methods(L, functions, 0);
}
