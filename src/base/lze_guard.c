/*
 * lze_guard.c - calls during which no Lua code runs.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_guard.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "lua_versions.h"

typedef struct lze_Guard {
  bool collects;                /* the collector ran and is now paused */
  bool paused;
  lua_Held held;
  lua_Hook hook;                /* suspended, or NULL */
  int mask, count;
} lze_Guard;

/* A call that catches errors. */
typedef struct lze_Protection {
  int argument;                 /* the argument that an error is about, 0,
                                   LZE_AS_IT_IS or LZE_OWN */
  bool paused;                  /* code outside lze is running */
  bool named;                   /* argument errors name their function */
} lze_Protection;

/* Pauses the collector and the hook. A stopped collector stays stopped; in a
   finalizer it cannot run anyway. */
static void guard_hold(lua_State *L, lze_Guard *g) {
  g->collects = lua_gc(L, LUA_GCISRUNNING) == 1;
  if (g->collects) lua_hold(L, &g->held);
  g->hook = lua_gethook(L);
  if (g->hook != NULL) {
    g->mask = lua_gethookmask(L);
    g->count = lua_gethookcount(L);
    lua_sethook(L, NULL, 0, 0);
  }
}

/* Keeps a hook that a signal has set inside the guard (Ctrl-C in lua5.4). */
static void guard_release(lua_State *L, lze_State *S, const lze_Guard *g,
                          bool starved) {
  if (g->hook != NULL && lua_gethook(L) == NULL)
    lua_sethook(L, g->hook, g->mask, g->count);
  if (!g->collects) return;
  /* A collector step may run finalizers, and a finalizer that finds no memory
     is lost. If memory ran out, leave the overdue step to the next
     allocation. */
  if (starved)
    lua_gc(L, LUA_GCRESTART);
  else
    lua_let_go(L, &g->held, &S->owed);
}

lze_Pause lze_guard_pause(lua_State *L) {
  return lze_guard_pause_of(L, lze_find_state(L));
}

lze_Pause lze_guard_pause_of(lua_State *L, lze_State *S) {
  if (S == NULL) return (lze_Pause){NULL, NULL, NULL};
  lze_Pause pause = {S, S->guard, S->protection};
  S->guard = NULL;
  S->protection = NULL;
  if (pause.protection != NULL) pause.protection->paused = true;
  if (pause.guard != NULL) {
    pause.guard->paused = true;
    guard_release(L, S, pause.guard, false);
  }
  return pause;
}

void lze_guard_resume(lua_State *L, lze_Pause pause) {
  lze_State *S = pause.state;
  if (S == NULL) return;
  if (pause.guard != NULL) {
    guard_hold(L, pause.guard);
    pause.guard->paused = false;
  }
  S->guard = pause.guard;
  S->protection = pause.protection;
  if (pause.protection != NULL) pause.protection->paused = false;
}

bool lze_collector_runs(lua_State *L) {
  const lze_State *S = lze_find_state(L);
  if (S != NULL && S->guard != NULL) return S->guard->collects;
  return lua_gc(L, LUA_GCISRUNNING) == 1;
}

int lze_protected_guarded(lua_State *L, int arguments, int results,
                          int *arg) {
  lze_State *S = lze_find_state(L);
  if (S == NULL) return lze_protected(L, arguments, results, arg);
  lze_Guard g = {.paused = false}, *outer = S->guard;
  if (outer != NULL) { /* the outer guard suffices; an error raised in a pause
                          left it paused */
    int inner = lze_protected(L, arguments, results, arg);
    if (outer->paused)
      lze_guard_resume(L, (lze_Pause){S, outer, S->protection});
    return inner;
  }
  guard_hold(L, &g);
  S->guard = &g;
  int status = lze_protected(L, arguments, results, arg);
  S->guard = NULL;
  if (!g.paused) guard_release(L, S, &g, status == LUA_ERRMEM);
  return status;
}

/* Calls the function at upvalue 1 with the same arguments. */
static int guard_call(lua_State *L) {
  int arg;
  luaL_checkstack(L, 2, NULL);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  int status = lze_protected_guarded(L, lua_gettop(L) - 1, LUA_MULTRET, &arg);
  if (status == LUA_OK) return lua_gettop(L);
  lze_raise_again(L, status, arg);
}

void lze_call_guarded(lua_State *L, int arguments, int results) {
  const lze_State *S = lze_find_state(L);
  int arg;
  if (S != NULL && S->guard != NULL) {
    lua_call(L, arguments, results);
    return;
  }
  int status = lze_protected_guarded(L, arguments, results, &arg);
  if (status != LUA_OK) lze_raise_again(L, status, arg);
}

void lze_set_methods(lua_State *L, const lze_Method *m, int upvalues) {
  luaL_checkstack(L, upvalues + 2, NULL);
  for (; m->name != NULL; m++) {
    for (int i = 0; i < upvalues; i++) lua_pushvalue(L, -upvalues);
    lua_pushcclosure(L, m->function, upvalues);
    if (m->guarding == LZE_GUARDED) lua_pushcclosure(L, guard_call, 1);
    lua_setfield(L, -upvalues - 2, m->name);
  }
  lua_pop(L, upvalues);
}

int lze_argerror(lua_State *L, int arg, const char *message) {
  lze_State *S = lze_find_state(L);
  if (S == NULL || S->protection == NULL) luaL_argerror(L, arg, message);
  if (S->protection->named) {
    lze_own_error(L);
    luaL_argerror(L, arg, message);
  }
  S->protection->argument = arg;
  lua_pushstring(L, message);
  lua_error(L);
  __builtin_unreachable(); /* lua_error never returns but is not declared so */
}

void lze_argexpected(lua_State *L, bool good, int arg, const char *expected) {
  if (good) return;
  const char *got = luaL_getmetafield(L, arg, "__name") == LUA_TSTRING
                        ? lua_tostring(L, -1)
                        : luaL_typename(L, arg);
  lze_argerror(L, arg,
               lua_pushfstring(L, "%s expected, got %s", expected, got));
}

static int protect(lua_State *L, int arguments, int results, bool named,
                   int *arg) {
  lze_State *S = lze_find_state(L); /* may be closed, or not made yet */
  lze_Protection p = {.named = named};
  lze_Protection *outer = S != NULL ? S->protection : NULL;
  if (S != NULL) S->protection = &p;
  int status = lua_pcall(L, arguments, results, 0);
  if (S != NULL) S->protection = outer;
  if (p.paused) p.argument = LZE_AS_IT_IS;
  *arg = status == LUA_ERRRUN ? p.argument : 0;
  return status;
}

int lze_protected(lua_State *L, int arguments, int results, int *arg) {
  return protect(L, arguments, results, false, arg);
}

int lze_call_back(lua_State *L, int arguments, int results, bool *own) {
  int arg;
  lze_Pause pause = lze_guard_pause(L);
  int status = protect(L, arguments, results, true, &arg);
  lze_guard_resume(L, pause);
  *own = arg == LZE_OWN;
  return status;
}

void lze_keep_error(lua_State *L) {
  lze_State *S = lze_find_state(L);
  if (S != NULL && S->protection != NULL)
    S->protection->argument = LZE_AS_IT_IS;
}

void lze_own_error(lua_State *L) {
  lze_State *S = lze_find_state(L);
  if (S != NULL && S->protection != NULL) S->protection->argument = LZE_OWN;
}

int lze_raise_again(lua_State *L, int status, int arg) {
  if (arg > 0) lze_argerror(L, arg, lua_tostring(L, -1));
  if (arg == LZE_AS_IT_IS) {
    lze_keep_error(L);
    lua_error(L);
  }
  lze_own_error(L);
  if (status == LUA_ERRRUN && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  lze_error_locate(L);
  lua_error(L);
  __builtin_unreachable(); /* lua_error never returns but is not declared so */
}

int lze_call_level(lua_State *L) {
  const lze_State *S = lze_find_state(L);
  lua_Debug frame;
  if (S == NULL || S->guard == NULL) return 0;
  for (int level = 1; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "f", &frame);
    bool found = lua_tocfunction(L, -1) == guard_call;
    lua_pop(L, 1);
    if (found) return level;
  }
  return 1;
}
