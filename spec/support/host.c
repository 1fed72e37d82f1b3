/*
 * host.c - a minimal host program that embeds Lua and runs the suite.
 * SPDX-License-Identifier: MIT
 *
 *   host [ARGUMENT OF BUSTED]...   runs busted
 *   host -                         runs the script on its standard input
 *   host --script FILE [ARGUMENT]...   runs that script
 *
 * It can be linked with the sanitizers, unlike Lua's own program, so nothing
 * must be preloaded: programs that PoCL starts would inherit the preloading.
 */
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Return the message with a traceback, as lua.c shows it. */
static int host_explain(lua_State *L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fputs("host: no memory for a Lua state\n", stderr);
    return EXIT_FAILURE;
  }
  luaL_openlibs(L);
  /* As in lua.c, the script is argument 0. */
  int script = argc > 2 && strcmp(argv[1], "--script") == 0 ? 2 : 0;
  lua_createtable(L, argc, 1 + script);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
  lua_pushcfunction(L, host_explain);
  int status;
  if (script != 0)
    status = luaL_loadfile(L, argv[script]);
  else if (argc == 2 && strcmp(argv[1], "-") == 0)
    status = luaL_loadfile(L, NULL);
  else /* busted leaves through os.exit, closing this state */
    status = luaL_loadstring(L, "require 'busted.runner' "
                                "{ standalone = false }");
  if (status == LUA_OK) status = lua_pcall(L, 0, 0, -2);
  if (status != LUA_OK) fprintf(stderr, "host: %s\n", lua_tostring(L, -1));
  lua_close(L);
  return status == LUA_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
