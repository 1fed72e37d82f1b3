/*
 * lze_buffer_new.c - lze.buffer, and the conversion of tables to elements.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_object.h"
#include "memory/lze_buffer.h"
#include "queue/lze_command.h"
#include "queue/lze_record.h"

#include <string.h>

char *lze_table_pack(lua_State *L, const lze_Type *type, int arg,
                     size_t n) {
  char *packed = lua_newuserdatauv(L, n * type->bytes, 0);
  size_t stored = lze_type_store_table(L, type, arg, 1, n, packed);
  if (stored != n)
    lze_argerror(L, arg, lua_pushfstring(L, "index %I: %s",
                                          (LUAI_UACINT)stored + 1,
                                          lua_tostring(L, -1)));
  return packed;
}

/* The result of table_next, which calls lua_next in a protected call with the
   key at 3 of the table at 2: whether it was called, and whether it returned.
   A debug hook may raise before and after that. */
typedef struct NextAnswer {
  bool asked, answered;
} NextAnswer;
static int table_next(lua_State *L) {
  NextAnswer *a = lua_touserdata(L, 1);
  a->asked = true;
  lua_next(L, 2);
  a->answered = true;
  return 0;
}

/* Raises that the table at `arg` has nil at an index. */
static void table_lacks(lua_State *L, int arg, const lze_Type *type,
                        lua_Integer index) {
  char element[LZE_ELEMENT_BYTES];
  lua_pushnil(L);
  lze_type_store(L, type, -1, element);
  lze_argerror(L, arg, lua_pushfstring(L, "index %I: %s", (LUAI_UACINT)index,
                                        lua_tostring(L, -1)));
}

/* Returns the length of the table at `arg`; raises if it has a hole. lua_next
   traverses the array part of a table in order before the rest.  It accepts any
   index inside of the array part as a key, present or not; other absent keys
   are an error.  So if it accepts the key after the border, only the entries
   after the border need checking. */
size_t lze_table_length(lua_State *L, int arg, const lze_Type *type) {
  lua_Integer border = (lua_Integer)lua_rawlen(L, arg), last = border;
  int top = lua_gettop(L);
  NextAnswer next = {false, false};
  lua_pushcfunction(L, table_next);
  lua_pushlightuserdata(L, &next);
  lua_pushvalue(L, arg);
  lua_pushinteger(L, border + 1);
  bool array = lua_pcall(L, 3, 0, 0) == LUA_OK;
  if (!array && (!next.asked || next.answered)) lua_error(L);
  lua_settop(L, top);
  if (array && border > 0) lua_pushinteger(L, border);
  else lua_pushnil(L);
  for (; lua_next(L, arg); lua_pop(L, 1))
    if (lua_isinteger(L, -2) && lua_tointeger(L, -2) > last)
      last = lua_tointeger(L, -2);
  if (last != border) table_lacks(L, arg, type, border + 1);
  return (size_t)border;
}

/* Reads a table with a __len metamethod through its metamethods: a plain table
   with its elements replaces it at `arg`, unless there are more than `most`.
   Returns the length.  Its metamethods may run any code. */
lua_Integer lze_table_ask(lua_State *L, int arg, const lze_Type *type,
                          lua_Integer most) {
  if (luaL_getmetafield(L, arg, "__len") == LUA_TNIL)
    return (lua_Integer)lua_rawlen(L, arg);
  lze_Pause pause = lze_guard_pause(L);
  lua_Integer n = luaL_len(L, arg), lacks = 0;
  lua_newtable(L);
  for (lua_Integer i = 1; i <= n && n <= most && lacks == 0; i++) {
    if (lua_geti(L, arg, i) == LUA_TNIL) lacks = i;
    lua_rawseti(L, -2, i);
  }
  lze_guard_resume(L, pause);
  if (lacks != 0) table_lacks(L, arg, type, lacks);
  if (n <= most) lua_replace(L, arg);
  else lua_pop(L, 1);
  lua_pop(L, 1);
  return n;
}

/* Returns the number of elements that fit the device of the options at 3. */
static lua_Integer device_room(lua_State *L, const lze_Type *type) {
  const lze_DeviceInfo *device;
  lze_Context *context;
  lze_opt_place(L, 0, lua_istable(L, 3) ? 3 : 0, &device, &context);
  lua_settop(L, 3);
  return (lua_Integer)(device->memory_bytes / type->bytes);
}

/* lze.buffer(type, contents [, options]) -> buffer
   type: an element type; contents: a count, not negative, or a table, string or
   buffer whose elements are copied, a buffer's as they are at that time.
   options: usage ("shared", "device", "host"), device, context, zero (false:
   leaves the contents of a counted buffer undefined). */
int lze_buffer_new(lua_State *L) {
  static const char *const keys[] = {"usage", "device", "context", "zero",
                                     NULL};
  lua_settop(L, 3);
  const lze_Type *type = lze_check_type(L, 1);
  size_t count = 0;
  const lze_Buffer *from = lze_test_buffer(L, 2);
  if (from != NULL) {
    lze_check_buffer(L, 2);
    if (from->type != type)
      lze_argerror(L, 2, lua_pushfstring(L, "buffer of %s expected, got "
                                            "buffer of %s (x:view can change "
                                            "the type)",
                                         type->name, from->type->name));
    count = (size_t)from->count;
  } else switch (lua_type(L, 2)) {
    case LUA_TNUMBER: {
      lua_Integer n = lze_check_integer(L, 2, "count");
      if (n < 0)
        lze_argerror(L, 2, lua_pushfstring(L, "count: %I is negative",
                                            (LUAI_UACINT)n));
      if (n > PTRDIFF_MAX / type->bytes)
        lze_argerror(L, 2, lua_pushfstring(L, "count: %I %s are larger than "
                                               "any memory",
                                            (LUAI_UACINT)n, type->name));
      count = (size_t)n;
      break;
    }
    case LUA_TTABLE:
      if (luaL_getmetafield(L, 2, "__len") != LUA_TNIL) {
        lua_Integer room = device_room(L, type);
        lua_Integer n = lze_table_ask(L, 2, type, room);
        if (n > room)
          lze_argerror(L, 2, lua_pushfstring(L, "its length is %I; %I %s fit "
                                                "the device",
                                              (LUAI_UACINT)n,
                                              (LUAI_UACINT)room, type->name));
      }
      count = lze_table_length(L, 2, type);
      break;
    case LUA_TSTRING: {
      size_t length;
      lua_tolstring(L, 2, &length);
      if (length % type->bytes != 0)
        lze_argerror(L, 2,
                      lua_pushfstring(L, "%I bytes are not a whole number of "
                                         "%s (%d bytes each)",
                                      (LUAI_UACINT)length, type->name,
                                      type->bytes));
      count = length / type->bytes;
      break;
    }
    default:
      lze_argerror(L, 2, lua_pushfstring(L, "count, table, string or "
                                             "buffer expected, got %s",
                                          lze_describe(L, 2)));
  }
  lze_Usage usage = LZE_SHARED;
  bool zero = true;
  if (!lua_isnil(L, 3)) {
    lze_argexpected(L, lua_istable(L, 3), 3, "table");
    lze_check_keys(L, 3, "a buffer's options", keys);
    usage = (lze_Usage)lze_opt_word(L, 3, "usage", lze_usage_names, LZE_SHARED);
    zero = lze_opt_boolean(L, 3, "zero", true);
    lua_settop(L, 3);
  }
  /* Find conversion errors before anything is allocated. */
  const char *bytes = NULL;
  if (from == NULL && lua_istable(L, 2))
    bytes = lze_table_pack(L, type, 2, count);
  else if (lua_type(L, 2) == LUA_TSTRING) bytes = lua_tostring(L, 2);
  const lze_DeviceInfo *device;
  lze_Context *context;
  lze_opt_place(L, 0, lua_istable(L, 3) ? 3 : 0, &device, &context);
  lze_Buffer *b = lze_push_buffer(L, context, device, usage, type, count);
  if (count == 0) return 1;
  if (from != NULL) {
    int at = lua_gettop(L);
    /* The allocation may have run a finalizer that closes the source. */
    lze_Command *c = lze_copy_elements(L, NULL, false, at, b, 2,
                                       lze_check_buffer(L, 2), 0, count, 1);
    if (c != NULL) lze_command_wait(L, c, UINT64_MAX);
    lua_settop(L, at);
  } else if (bytes != NULL) {
    lze_buffer_put(L, lua_gettop(L), b, 0, bytes, count);
  } else if (zero) {
    const lze_Fill nothing = {.to = b->storage,
                              .bytes = b->storage->bytes,
                              .pattern_bytes =
                                  type->fields != NULL ? 1 : type->bytes};
    if (usage == LZE_DEVICE) {
      lze_fill_append(L, lze_buffer_default_queue(L, b), false, &nothing);
    } else {
      memset(b->storage->pointer, 0, b->storage->bytes);
      lze_record_zeroed(b->storage);
    }
  }
  return 1;
}
