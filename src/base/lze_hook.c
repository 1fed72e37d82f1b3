/*
 * lze_hook.c - runs debug hooks during waits, so that Ctrl-C ends them.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_state.h"

/* The number of instructions that one slice of a wait counts as. */
enum { HOOK_LOOPS = 10000 };

static int run_hook(lua_State *L, lze_State *S) {
  if (S == NULL || S->closed) return LUA_OK;
  /* A signal handler sets the main thread's hook, even if a coroutine is
     running. A coroutine without a hook therefore runs the main thread's; if
     that hook removes itself, it is removed from the main thread. */
  lua_Hook mains = lua_gethook(L) == NULL ? lua_gethook(S->main) : NULL;
  if (lua_gethook(L) == NULL && mains == NULL) return LUA_OK;
  if (!lua_checkstack(L, LUA_MINSTACK)) return LUA_OK;
  if (mains != NULL)
    lua_sethook(L, mains, lua_gethookmask(S->main), lua_gethookcount(S->main));
  /* Calling a Lua function triggers hooks for calls, returns and lines. One
     call does not trigger a count hook, so the function loops for the hook's
     count, up to a limit, as if the script had run that many instructions. */
  lua_Integer loops = 0;
  if (lua_gethookmask(L) == LUA_MASKCOUNT) loops = lua_gethookcount(L);
  if (loops > HOOK_LOOPS) loops = HOOK_LOOPS;
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->hook_ref);
  lua_pushinteger(L, loops);
  int status = lua_pcall(L, 1, 0, 0);
  if (mains != NULL && lua_gethook(L) == NULL)
    lua_sethook(S->main, NULL, 0, 0);
  else if (mains != NULL)
    lua_sethook(L, NULL, 0, 0);
  return status;
}

int lze_run_hook(lua_State *L) {
  return lze_run_hook_of(L, lze_find_state(L));
}

int lze_run_hook_of(lua_State *L, lze_State *S) {
  lze_Pause pause = lze_guard_pause_of(L, S);
  int status = run_hook(L, S);
  lze_guard_resume(L, pause);
  if (status != LUA_OK) lze_keep_error(L);
  return status;
}
