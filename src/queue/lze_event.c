/*
 * lze_event.c - the events of a script.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_state.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"

#include <lualib.h>

lze_Event *lze_push_event(lua_State *L) {
  return lze_push_box(L, lze_event_kind, sizeof(lze_Event));
}

lze_Event *lze_test_event(lua_State *L, int index) {
  return lze_test_box(L, index, lze_event_kind);
}

lze_Command *lze_event_command(const lze_Event *e) {
  lze_Command *c = e->command;
  return c != NULL && c->foreign && c->context->o.closed ? NULL : c;
}

static void after_check(lua_State *L, int index, const lze_Context *context,
                        const char *what) {
  const lze_Event *e = lze_test_event(L, index);
  if (e == NULL)
    luaL_error(L, "%s: event expected, got %s", what, lze_describe(L, index));
  const lze_Command *c = lze_event_command(e);
  if (c == NULL) luaL_error(L, "%s: the event is closed", what);
  if (c->status == LZE_PENDING && c->context != context)
    luaL_error(L, "%s: an event of another context", what);
  if (lze_command_is_later(c))
    luaL_error(L, "%s: an event that waits for the run that the callback is "
                  "part of", what);
}

void lze_check_after(lua_State *L, int index, const lze_Context *context,
                     const char *what) {
  if (!lua_istable(L, index)) {
    after_check(L, index, context, what);
    return;
  }
  lua_Integer n = lze_list_length(L, index);
  if (n < 0)
    luaL_error(L, "%s: array expected, got a table with the key %s", what,
               lze_describe(L, -1));
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, index, i);
    after_check(L, -1, context, what);
    lua_pop(L, 1);
  }
}

void lze_command_after_all(lua_State *L, lze_Command *c, int index) {
  const lze_Event *e = lze_test_event(L, index);
  if (e != NULL) {
    lze_command_after(L, c, e->command);
    return;
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, index, i);
    e = lze_test_event(L, -1);
    lua_pop(L, 1);
    lze_command_after(L, c, e->command);
  }
}

ze_event_handle_t lze_check_signal(lua_State *L, int index,
                                   const lze_Context *context,
                                   const char *what) {
  const lze_Event *e = lze_test_event(L, index);
  if (e == NULL)
    luaL_error(L, "%s: event expected, got %s", what, lze_describe(L, index));
  const lze_Command *c = lze_event_command(e);
  if (c == NULL) luaL_error(L, "%s: the event is closed", what);
  if (!c->foreign)
    luaL_error(L, "%s: an event of lze's own, which only its command signals; "
                  "one of lze.wrap expected", what);
  if (c->context != context)
    luaL_error(L, "%s: an event of another context", what);
  return c->event->handle;
}

static lze_Command *event_check(lua_State *L) {
  lze_Command *c = lze_event_command(lze_check_box(L, 1, lze_event_kind));
  if (c == NULL) lze_closed(L, 1, lze_event_kind);
  return c;
}

/* Returns the command of the event at 1, after submitting it to the device, so
   that a caller that polls will see it finish. */
static lze_Command *event_submitted(lua_State *L) {
  lze_Command *c = event_check(L);
  if (c->status == LZE_PENDING && !c->submitted) lze_queue_flush(c->queue);
  return c;
}

/* Continues work with parts on the host; `awaited` and `began` as for the
   steps. */
static void event_advance(lua_State *L, const lze_Command *awaited,
                          uint64_t began) {
  lze_State *S = lze_state(L);
  if (S->works != NULL) S->steps->advance(S, awaited, began);
  if (S->runs != NULL) S->hosted->advance(L);
}

/* ev:done() -> boolean, without waiting; a failed command is done.  Raises the
   driver's error if the query fails. */
static int event_done(lua_State *L) {
  lze_Command *c = event_submitted(L);
  event_advance(L, NULL, 0);
  c = event_check(L);
  lua_pushboolean(L, lze_command_check(L, c));
  return 1;
}

/* ev:wait([seconds]) -> boolean: true if it is done in that time. */
static int event_wait(lua_State *L) {
  lze_Command *c = event_check(L);
  lua_pushboolean(L, lze_command_wait(L, c, lze_check_deadline(L, 2)));
  return 1;
}

/* ev:time() -> {queued_ns, start_ns, end_ns, kernel_ns}, after a wait.  The
   clock is CLOCK_MONOTONIC; for a split launch, from first start to last
   end. */
static int event_time(lua_State *L) {
  lze_command_wait(L, event_check(L), UINT64_MAX);
  lua_createtable(L, 0, 4);
  lze_Command *c = event_check(L); /* a hook or a finalizer may close it */
  if (c->foreign) lze_command_read_times(c); /* if its pool has timestamps */
  lua_pushinteger(L, (lua_Integer)c->queued_ns);
  lua_setfield(L, -2, "queued_ns");
  lua_pushinteger(L, (lua_Integer)c->start_ns);
  lua_setfield(L, -2, "start_ns");
  lua_pushinteger(L, (lua_Integer)c->end_ns);
  lua_setfield(L, -2, "end_ns");
  lua_pushinteger(L, (lua_Integer)c->kernel_ns);
  lua_setfield(L, -2, "kernel_ns");
  return 1;
}

/* ev:fd() -> a file descriptor that is readable once the command is over, for
   poll loops; it belongs to the event, which closes it. */
static int event_fd(lua_State *L) {
  lze_Command *c = event_submitted(L);
  if (c->work && c->status == LZE_PENDING)
    luaL_error(L, "fd: %s goes on in calls of lze only; use done or await",
               c->name);
  lua_pushinteger(L, lze_watch_fd(L, c, lze_command_poll(c)));
  return 1;
}

/* Stack: the event, the function to yield with.  The continuation's context is
   the time at which it began. */
static int event_await_more(lua_State *L, int status, lua_KContext context) {
  (void)status;
  lua_settop(L, 2);
  lze_Command *c;
  event_submitted(L);
  for (;;) {
    event_advance(L, event_check(L), (uint64_t)context);
    c = event_check(L);
    if (lze_command_check(L, c)) break;
    /* A hook set in this coroutine runs in the call below. */
    if (lua_gethook(L) == NULL && lze_run_hook(L) != LUA_OK)
      return lua_error(L);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 1);
    lua_callk(L, 1, 0, context, event_await_more);
  }
  lze_command_wait(L, c, 0); /* raises its failure */
  lua_pushboolean(L, true);
  return 1;
}

/* ev:await([yield]) -> true
   Calls yield(ev), by default lze.yield, until the command is over; waits if it
   cannot yield.  Raises the command's failure, or the driver's error if the
   query fails. */
static int event_await(lua_State *L) {
  lua_settop(L, 2);
  lze_Command *c = event_check(L);
  if (!lua_isnil(L, 2) && !lua_isfunction(L, 2) &&
      luaL_getmetafield(L, 2, "__call") == LUA_TNIL)
    lze_argerror(L, 2, lua_pushfstring(L, "yield: function expected, got %s",
                                        lze_describe(L, 2)));
  lua_settop(L, 2);
  if (!lua_isyieldable(L)) {
    lze_command_wait(L, c, UINT64_MAX);
    lua_pushboolean(L, true);
    return 1;
  }
  if (lua_isnil(L, 2)) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, lze_state(L)->module_ref);
    lua_pushliteral(L, "yield");
    lua_rawget(L, -2); /* a script may have set it to nil */
    if (!lua_isfunction(L, -1) &&
        luaL_getmetafield(L, -1, "__call") == LUA_TNIL)
      luaL_error(L, "lze.yield: function expected, got %s",
                 lze_describe(L, -1));
    lua_settop(L, 4);
    lua_replace(L, 2);
    lua_settop(L, 2);
  }
  return event_await_more(L, LUA_OK, (lua_KContext)lze_now_ns());
}

static int event_close(lua_State *L) {
  lze_Event *e = lze_check_box(L, 1, lze_event_kind);
  lze_Command *c = e->command;
  e->command = NULL;
  if (c != NULL) lze_command_disown(c);
  return 0;
}

static int event_tostring(lua_State *L) {
  static const char *const words[] = {"pending", "done", "failed"};
  const lze_Command *c =
      lze_event_command(lze_check_box(L, 1, lze_event_kind));
  if (c == NULL)
    lua_pushliteral(L, "event (closed)");
  else
    lua_pushfstring(L, "event: %s, %s", c->name,
                    c->foreign ? "of the host" : words[c->status]);
  return 1;
}

static int field_command(lua_State *L) {
  lua_pushstring(L, event_check(L)->name);
  return 1;
}

static int field_event_handle(lua_State *L) {
  lze_Command *c = event_submitted(L);
  if (c->event != NULL) {
    c->exposed = true; /* not reused before this object is gone */
    lua_pushlightuserdata(L, c->event->handle);
  } else
    lua_pushnil(L); /* over; its native event serves another command */
  return 1;
}

static const lze_Method event_methods[] = {
    {"done", event_done, LZE_UNGUARDED},
    {"wait", event_wait, LZE_UNGUARDED},
    {"time", event_time, LZE_UNGUARDED},
    {"await", event_await, LZE_UNGUARDED},
    {"fd", event_fd, LZE_UNGUARDED},
    {"close", event_close, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method event_metamethods[] = {
    {"__gc", event_close, LZE_UNGUARDED},
    {"__close", event_close, LZE_UNGUARDED},
    {"__tostring", event_tostring, LZE_UNGUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

static const lze_Field event_fields[] = {{"command", field_command},
                                         {"handle", field_event_handle},
                                         {NULL, NULL}};

/* The default lze.yield without a coroutine library. */
static int plain_yield(lua_State *L) { return lua_yield(L, 0); }

void lze_open_event(lua_State *L) {
  lze_new_kind(L, lze_event_kind, event_metamethods, event_methods,
               event_fields);
  lua_pushcfunction(L, plain_yield);
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, LUA_COLIBNAME) == LUA_TTABLE &&
      lua_getfield(L, -1, "yield") == LUA_TFUNCTION)
    lua_replace(L, -4);
  lua_settop(L, 2);
  lua_setfield(L, 1, "yield");
}
