/*
 * lze_expression.c - creation of array expressions, and a list of them.
 * SPDX-License-Identifier: MIT
 *
 * An expression is a table with the fields that lua/array_expression.lua
 * describes; scripts have a userdata in place of it.  Creating one is most of
 * the cost of an operation, and no code of the script may run during that, so
 * it happens here.  Each is added to a weak table of new, unsorted expressions:
 * only when a storage is written that expressions read does Lua code sort the
 * remaining ones by the storages that they read.
 */
#include "array/lze_expression.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "memory/lze_buffer.h"

/* Upvalues of the functions in this file, and more for operators. */
enum {
  META = 1, NOTES, HANDLE,
  FUNCTION, COUNT, REFUSE, PUBLIC,      /* of functions that scripts call */
  OP = FUNCTION, DIMS, X, Y, Z, KIND, TYPE, BASE, FLAT, FROM, SIZE, MASK, STORE,
  KEY, SHARED = KEY,                    /* from OP on, keys of arrays */
  KNOWN, ARITY, BROADCAST, OTHER,       /* of an operator */
  METHODS = SHARED + 1, FURTHER         /* of the index metamethod */
};

static const char *const keys[] = {"op",   "dims", "x",    "y",    "z",
                                   "kind", "type", "base", "flat", "from",
                                   "size", "mask", "store", "key"};

enum { KEYS = sizeof keys / sizeof *keys, LEAST = 64 };

/* User values of the notes: tables of unsorted expressions. */
enum { NEW = 1, TAKEN };

/* Numbers beyond the range of float are handled elsewhere. */
#define TOO_LARGE 0x1.ffffffp127

typedef struct Notes {
  lua_Integer made;             /* count of expressions */
  lua_Integer count, most;      /* new expressions, including collected ones */
} Notes;

static Notes *notes_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(NOTES));
}

/* [-0, +1] Pushes a field of the array at index t. */
static int get(lua_State *L, int t, int key) {
  lua_pushvalue(L, lua_upvalueindex(key));
  return lua_rawget(L, t);
}

static void set(lua_State *L, int t, int key, int value) {
  lua_pushvalue(L, lua_upvalueindex(key));
  lua_pushvalue(L, value);
  lua_rawset(L, t);
}

/* Returns true if the table of an array is at index i. */
static bool is_array(lua_State *L, int i) {
  if (!lua_istable(L, i) || !lua_getmetatable(L, i)) return false;
  bool same = lua_rawequal(L, -1, lua_upvalueindex(META));
  lua_pop(L, 1);
  return same;
}

/* Replaces the userdata of an array at index i by its table; returns false if
   it is not an array. */
static bool take(lua_State *L, int i) {
  if (lze_test_box(L, i, lze_array_kind) == NULL) return false;
  lua_getiuservalue(L, i, 1);
  lua_replace(L, i);
  return true;
}

/* [-0, +1] Pushes the userdata that represents the table at the top in
   scripts. */
static void give(lua_State *L) {
  lze_Box *box = lua_newuserdatauv(L, sizeof *box, 1);
  box->kind = lze_array_kind;
  lua_pushvalue(L, lua_upvalueindex(HANDLE));
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -2);
  lua_setiuservalue(L, -2, 1);
}

static bool is_expression(lua_State *L, int t) {
  if (!lua_istable(L, t)) return false;
  bool is = get(L, t, OP) == LUA_TTABLE;
  lua_pop(L, 1);
  return is;
}

/* Requests a callback before the elements of an array are written; returns
   false if it is closed. */
static bool await(lua_State *L, int array) {
  if (get(L, array, FLAT) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    get(L, array, BASE);
  }
  const lze_Buffer *b = lze_test_box(L, -1, lze_buffer_kind);
  lua_pop(L, 1);
  return b != NULL && lze_buffer_await(b);
}

/* Removes entries that are not expressions any more. */
static void unsorted_sweep(lua_State *L, Notes *n, int unsorted) {
  n->count = 0;
  lua_pushnil(L);
  while (lua_next(L, unsorted) != 0) {
    lua_pop(L, 1);
    if (is_expression(L, unsorted + 1)) {
      n->count++;
      continue;
    }
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, unsorted);
  }
  n->most = 2 * n->count < LEAST ? LEAST : 2 * n->count;
}

static void expression_note(lua_State *L, int e) {
  Notes *n = notes_of(L);
  const int unsorted = lua_gettop(L) + 1;
  lua_pushvalue(L, lua_upvalueindex(META));
  lua_setmetatable(L, e);
  lua_getiuservalue(L, lua_upvalueindex(NOTES), NEW);
  if (n->count >= n->most) unsorted_sweep(L, n, unsorted);
  lua_pushvalue(L, e);
  lua_pushboolean(L, true);
  lua_rawset(L, unsorted);
  n->count++;
  n->made++;
}

/* Pushes the key of an operand: the operation of an expression, the type of an
   array, "mask" for a mask, 1 for an integer and 2 for another number.  Returns
   false for other values and closed arrays.  `array` is true if the operand is
   certainly an array. */
static bool push_key(lua_State *L, int i, bool array) {
  if (lua_type(L, i) == LUA_TNUMBER) {
    lua_Number v = lua_tonumber(L, i);
    lua_pushinteger(L, lua_isinteger(L, i) ? 1 : 2);
    return v < TOO_LARGE && v > -TOO_LARGE;
  }
  if (!array && !is_array(L, i)) return false;
  if (get(L, i, OP) == LUA_TTABLE) return true;
  lua_pop(L, 1);
  if (!await(L, i)) return false;
  get(L, i, KEY);
  return true;
}

/* Returns true if the shapes at two indices are the same. */
static bool is_same(lua_State *L, int a, int b) {
  if (lua_rawequal(L, a, b)) return true;
  if (!lua_istable(L, a) || !lua_istable(L, b)) return false;
  lua_Integer n = (lua_Integer)lua_rawlen(L, a);
  bool same = n == (lua_Integer)lua_rawlen(L, b);
  for (lua_Integer d = 1; same && d <= n; d++) {
    lua_rawgeti(L, a, d);
    lua_rawgeti(L, b, d);
    same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  return same;
}

/* Pushes the shape of one operand, or the common shape of two; if the shapes
   differ, pushes both and returns false. */
static bool push_shape(lua_State *L, int arity) {
  bool first = lua_istable(L, 1), second = arity == 2 && lua_istable(L, 2);
  if (first) get(L, 1, DIMS);
  if (second) get(L, 2, DIMS);
  if (!first || !second) return true;
  return is_same(L, lua_gettop(L) - 1, lua_gettop(L));
}

/* Pushes the operation for the operands, the first at index 1, and the tables
   that lead to it; returns false if it is unknown.  Bit i of `arrays` is set if
   operand i is certainly an array. */
static bool push_tree(lua_State *L, int arity, unsigned arrays) {
  lua_pushvalue(L, lua_upvalueindex(KNOWN));
  for (int i = 1; i <= arity; i++) {
    const int known = lua_gettop(L);
    if (!push_key(L, i, arrays >> i & 1) ||
        lua_rawget(L, known) != LUA_TTABLE)
      return false;
  }
  return true;
}

/* operator(...) -> the expression of an operation on operands of known kinds;
   `other` handles all other operands.  No code that changes an operand can run
   between its first check and the note: steps of the collector happen
   before. */
static int expression_operator(lua_State *L) {
  int arity = (int)lua_tointeger(L, lua_upvalueindex(ARITY));
  if (arity < 0) { /* Lua calls -a with the operand twice */
    lua_settop(L, 1);
    arity = 1;
  }
  const int given = lua_gettop(L), shape = given + 1, e = given + 2;
  unsigned by_script = 0; /* bit i: operand i is an array of the script */
  for (int i = 1; i <= given; i++)
    if (take(L, i) && i <= arity) by_script |= 1u << i;
  if (given == arity) lua_pushnil(L);
  while (given == arity) {
    lua_createtable(L, 0, 4);
    if (!push_tree(L, arity, by_script)) break;
    const int tree = lua_gettop(L);
    if (lua_isnil(L, shape) && !push_shape(L, arity)) {
      lua_pushvalue(L, lua_upvalueindex(BROADCAST));
      lua_insert(L, tree + 1);
      lua_call(L, 2, 1);
      lua_replace(L, shape);
      lua_settop(L, shape);
      continue;
    }
    set(L, e, OP, tree);
    set(L, e, DIMS, lua_gettop(L) > tree ? tree + 1 : shape);
    set(L, e, X, 1);
    if (arity == 2) set(L, e, Y, 2);
    expression_note(L, e);
    lua_settop(L, e);
    if (by_script != 0) give(L);
    return 1;
  }
  lua_settop(L, given);
  lua_pushvalue(L, lua_upvalueindex(OTHER));
  lua_insert(L, 1);
  lua_call(L, given, 1);
  if (by_script != 0) give(L);
  return 1;
}

/* note(a) -> nil: a, which has all fields of an expression, becomes one; or the
   position of an operand that is a closed array */
static int expression_enter(lua_State *L) {
  static const int operands[] = {X, Y, Z};
  for (int i = 0; i < 3; i++) {
    lua_settop(L, 1);
    get(L, 1, operands[i]);
    if (!lua_istable(L, 2) || is_expression(L, 2) || await(L, 2)) continue;
    lua_pushinteger(L, i + 1);
    return 1;
  }
  expression_note(L, 1);
  return 0;
}

/* [-0, +1] Pushes a weak table with objects as keys: as weak values they would
   be removed before a finalizer could resurrect them. */
static void push_weak(lua_State *L) {
  lua_newtable(L);
  lua_newtable(L);
  lua_pushliteral(L, "kv");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

/* unsorted() -> a table with the unsorted expressions as keys, or nothing if
   all are sorted; no more are added to it, and it stays the same until
   sorted(it) */
static int unsorted_take(lua_State *L) {
  const int notes = lua_upvalueindex(NOTES);
  if (lua_getiuservalue(L, notes, TAKEN) == LUA_TTABLE) return 1;
  if (notes_of(L)->count == 0) return 0;
  push_weak(L);
  Notes *n = notes_of(L);
  n->count = 0;
  n->most = LEAST;
  lua_getiuservalue(L, notes, NEW);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, notes, TAKEN);
  lua_pushvalue(L, -2);
  lua_setiuservalue(L, notes, NEW);
  return 1;
}

/* sorted(t): the expressions of a table from unsorted() have been sorted by
   what they read */
static int unsorted_done(lua_State *L) {
  const int notes = lua_upvalueindex(NOTES);
  lua_settop(L, 1);
  lua_getiuservalue(L, notes, TAKEN);
  if (!lua_rawequal(L, 1, 2)) return 0;
  lua_pushnil(L);
  lua_setiuservalue(L, notes, TAKEN);
  return 0;
}

/* computed(a, b): the elements of an expression are now in its own buffer b,
   which other expressions may have yet to read */
static int expression_computed(lua_State *L) {
  const lze_Buffer *b = lze_check_box(L, 2, lze_buffer_kind);
  lua_settop(L, 2);
  if (get(L, 1, OP) != LUA_TTABLE) return 0;
  lua_pushinteger(L, b->count);
  lua_pushinteger(L, 0);
  get(L, 3, TYPE);
  get(L, 3, MASK);
  set(L, 1, BASE, 2);
  set(L, 1, FLAT, 2);
  set(L, 1, SIZE, 4);
  set(L, 1, FROM, 5);
  set(L, 1, KIND, 6);
  set(L, 1, KEY, 6);
  lua_pushnil(L);
  set(L, 1, STORE, 8); /* of an earlier buffer */
  if (lua_toboolean(L, 7)) {
    set(L, 1, MASK, 7);
    lua_pushvalue(L, lua_upvalueindex(MASK));
    set(L, 1, KEY, 9);
  }
  await(L, 1);
  return 0;
}

/* attach(a, op, x, y, z): turns a into an expression of this operation, like
   note(a) */
static int expression_attach(lua_State *L) {
  static const int fields[] = {OP, X, Y, Z};
  lua_settop(L, 5);
  for (int i = 0; i < 4; i++) set(L, 1, fields[i], i + 2);
  return expression_enter(L);
}

/* detach(a): removes the operation of an expression */
static int expression_detach(lua_State *L) {
  static const int fields[] = {OP, X, Y, Z};
  lua_settop(L, 1);
  lua_pushboolean(L, false);
  for (int i = 0; i < 4; i++)
    if (get(L, 1, fields[i]) != LUA_TNIL) set(L, 1, fields[i], 2);
  return 0;
}

/* made() -> the number of expressions made */
static int expression_made(lua_State *L) {
  lua_pushinteger(L, notes_of(L)->made);
  return 1;
}

/* index(a, key) -> a method, or the type of an expression's elements, or true
   if it is a mask; `further` handles all other keys */
static int expression_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(METHODS)) != LUA_TNIL) return 1;
    lua_pop(L, 1);
    bool kind = lua_rawequal(L, 2, lua_upvalueindex(KIND));
    if (kind || lua_rawequal(L, 2, lua_upvalueindex(MASK))) {
      luaL_checktype(L, 1, LUA_TTABLE);
      if (get(L, 1, OP) != LUA_TTABLE) return 0;
      get(L, 3, kind ? TYPE : MASK);
      return 1;
    }
  }
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(FURTHER));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* --- functions that scripts call ------------------------------------------ */

/* Converts the results of a function, from stack index 2 on, for scripts: the
   array that was its first argument is returned as the userdata at index 1. */
static int give_results(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  const int last = lua_gettop(L);
  luaL_checkstack(L, 3, NULL);
  const bool own = lze_test_box(L, 1, lze_array_kind) != NULL;
  for (int i = 2; i <= last; i++) {
    if (!is_array(L, i)) continue;
    if (own) lua_getiuservalue(L, 1, 1);
    if (own && lua_rawequal(L, -1, i)) {
      lua_pushvalue(L, 1);
    } else {
      lua_pushvalue(L, i);
      give(L);
    }
    lua_replace(L, i);
    lua_settop(L, last);
  }
  return last - 1;
}

/* Calls a function for a script: converts userdata to tables for the call, and
   tables to userdata for the results. */
static int array_call(lua_State *L) {
  const int given = lua_gettop(L);
  const lua_Integer most = lua_tointeger(L, lua_upvalueindex(COUNT));
  luaL_checkstack(L, given + 4, "too many arguments");
  if (given == 0) lua_pushnil(L);
  else lua_pushvalue(L, 1);
  lua_pushvalue(L, lua_upvalueindex(
                       most >= 0 && given > most ? REFUSE : FUNCTION));
  lua_rotate(L, 1, 2);
  for (int i = 3; i <= given + 2; i++) take(L, i);
  lua_callk(L, given, LUA_MULTRET, 0, give_results);
  return give_results(L, LUA_OK, 0);
}

/* Pushes element `key` of an array, given by its userdata, if the array is a
   vector of computed elements in memory that the host reads; otherwise returns
   false, with any values pushed. */
static bool push_element(lua_State *L, int array, int key) {
  if (!lua_isinteger(L, key) ||
      lze_test_box(L, array, lze_array_kind) == NULL)
    return false;
  lua_getiuservalue(L, array, 1);
  const int t = lua_gettop(L);
  lua_pushliteral(L, "dims");
  if (lua_rawget(L, t) != LUA_TTABLE || lua_rawlen(L, -1) != 1) return false;
  lua_pushliteral(L, "op");
  lua_rawget(L, t);
  lua_pushliteral(L, "flat");
  lua_rawget(L, t);
  const lze_Buffer *b = lze_test_box(L, -1, lze_buffer_kind);
  if (lua_toboolean(L, -2) || b == NULL || !lze_buffer_is_open(b) ||
      b->storage->usage == LZE_DEVICE)
    return false;
  lua_pushvalue(L, key);
  lua_gettable(L, -2);
  return true;
}

/* index(a, key), for scripts: a method, an element, or the result of
   FUNCTION */
static int array_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(PUBLIC)) != LUA_TNIL) return 1;
  } else if (push_element(L, 1, 2)) {
    return 1;
  }
  lua_settop(L, 2);
  return array_call(L);
}

/* len(a) -> the size of the first dimension, or 0 */
static int array_len(lua_State *L) {
  lua_settop(L, 1);
  take(L, 1);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushliteral(L, "dims");
  if (lua_rawget(L, 1) != LUA_TTABLE || lua_rawgeti(L, 2, 1) == LUA_TNIL)
    lua_pushinteger(L, 0);
  return 1;
}

/* public(f, most, refuse, methods) -> f for scripts to call: `refuse` is called
   instead if there are more arguments than `most`, unless that is negative.
   With `methods`, which scripts call, the result is an __index: f handles the
   keys that are not methods or elements.  Functions in C already convert both
   ways. */
static int new_public(lua_State *L) {
  lua_settop(L, 4);
  if (lua_iscfunction(L, 1)) {
    lua_settop(L, 1);
    return 1;
  }
  const bool index = lua_istable(L, 4);
  for (int i = HANDLE; i >= 1; i--) {
    lua_pushvalue(L, lua_upvalueindex(i));
    lua_insert(L, 1);
  }
  lua_pushcclosure(L, index ? array_index : array_call, PUBLIC);
  return 1;
}

/* table(v) -> the table of an array of a script; v for other values */
static int expression_table(lua_State *L) {
  lua_settop(L, 1);
  take(L, 1);
  return 1;
}

/* given(a) -> the userdata for the table of an array */
static int expression_given(lua_State *L) {
  lua_settop(L, 1);
  if (lua_istable(L, 1)) give(L);
  return 1;
}

/* [-count, +1] Pushes a closure of the shared upvalues of the running function
   and of `count` values on the stack. */
static void push_further(lua_State *L, lua_CFunction f, int count) {
  const int first = lua_gettop(L) - count + 1;
  for (int i = 1; i <= SHARED; i++) {
    lua_pushvalue(L, lua_upvalueindex(i));
    lua_insert(L, first + i - 1);
  }
  lua_pushcclosure(L, f, SHARED + count);
}

/* operator(known, arity, broadcast, other) -> a function of `arity` operands
   or, if arity is -1, the metamethod of an operator on one; known[key of x][key
   of y] is the operation on them, `other` is called if known lacks one, and
   `broadcast` if the shapes differ */
static int new_operator(lua_State *L) {
  lua_settop(L, 4);
  push_further(L, expression_operator, 4);
  return 1;
}

/* index(methods, further) -> the __index of the arrays' metatable */
static int new_index(lua_State *L) {
  lua_settop(L, 2);
  push_further(L, expression_index, 2);
  return 1;
}

int lze_expression_functions(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"operator", new_operator}, {"index", new_index},
      {"note", expression_enter},       {"unsorted", unsorted_take},
      {"sorted", unsorted_done},  {"computed", expression_computed},
      {"attach", expression_attach},    {"detach", expression_detach},
      {"made", expression_made},        {"public", new_public},
      {"table", expression_table},      {"len", array_len},
      {"given", expression_given}};
  lua_settop(L, 2);
  Notes *n = lua_newuserdatauv(L, sizeof *n, 2);
  *n = (Notes){.most = LEAST};
  push_weak(L);
  lua_setiuservalue(L, 3, NEW);
  lua_insert(L, 2);
  for (int i = 0; i < KEYS; i++) lua_pushstring(L, keys[i]);
  lua_newtable(L);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    for (int u = 1; u <= SHARED; u++) lua_pushvalue(L, u);
    lua_pushcclosure(L, functions[i].func, SHARED);
    lua_setfield(L, -2, functions[i].name);
  }
  lua_pushnumber(L, TOO_LARGE);
  lua_setfield(L, -2, "too_large");
  return 1;
}
