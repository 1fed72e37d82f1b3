/*
 * server.c - a server with a thread and a Lua state for each of its workers.
 * SPDX-License-Identifier: MIT
 *
 *   cc -o server server.c $(pkg-config --cflags --libs lze)
 *   ./server [REQUESTS]
 *
 * One state makes a table that all requests need and exports it once for each
 * worker; the workers import it, so device memory contains it once.  A worker
 * takes requests from a queue and its script answers them.  States share no Lua
 * values, so the program needs no lock around Lua.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <lze.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 4, ENTRIES = 1000 };

static const char prepare[] =
    "local lze = require 'lze'\n"
    "local t = lze.buffer('float', 1000)\n"
    "for i = 1, #t do t[i] = i end\n"
    "return t\n";

static const char serve[] =
    "local shared = ...\n"
    "local lze = require 'lze'\n"
    "local saxpy = lze.load 'saxpy'.saxpy\n"
    "local answer = lze.buffer('float', #shared)\n"
    "return function(request)\n"
    "  answer:fill(0)\n"
    "  saxpy(#shared, request, shared, answer)\n"
    "  return answer[#answer]\n"
    "end\n";

static const lze_Api *lze;

static struct {
  pthread_mutex_t lock;
  int next, last;
} requests = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct Worker {
  pthread_t thread;
  uint64_t token;               /* of the table */
  int served;
  char problem[500];
} Worker;

static int request_take(void) {
  pthread_mutex_lock(&requests.lock);
  int r = requests.next <= requests.last ? requests.next++ : 0;
  pthread_mutex_unlock(&requests.lock);
  return r;
}

static void worker_serve(Worker *w, lua_State *L) {
  lze_ErrorInfo error;
  if (lze->open(L, &error) != LZE_OK ||
      (luaL_loadstring(L, serve),
       lze->import_buffer(L, w->token, &error) != LZE_OK)) {
    snprintf(w->problem, sizeof w->problem, "%s", error.message);
    return;
  }
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
    snprintf(w->problem, sizeof w->problem, "%s", luaL_tolstring(L, -1, NULL));
    return;
  }
  for (int r; (r = request_take()) != 0; w->served++) {
    lua_pushvalue(L, 1);
    lua_pushnumber(L, r);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK ||
        lua_tonumber(L, -1) != (lua_Number)r * ENTRIES) {
      snprintf(w->problem, sizeof w->problem, "request %d: %s", r,
               luaL_tolstring(L, -1, NULL));
      return;
    }
    lua_settop(L, 1);
  }
}

static void *worker_run(void *argument) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  worker_serve(argument, L);
  lua_close(L);
  return NULL;
}

int main(int argc, char **argv) {
  Worker workers[WORKERS] = {{.served = 0}};
  lze_ErrorInfo error;
  requests.next = 1;
  requests.last = argc > 1 ? atoi(argv[1]) : 1000;
  lze = lze_api(LZE_API_VERSION);
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (lze->open(L, &error) != LZE_OK || luaL_dostring(L, prepare) != LUA_OK) {
    fprintf(stderr, "server: %s\n", luaL_tolstring(L, -1, NULL));
    return EXIT_FAILURE;
  }
  for (int i = 0; i < WORKERS; i++)
    if (lze->export_buffer(L, 1, &workers[i].token, &error) != LZE_OK) {
      fprintf(stderr, "server: %s\n", error.message);
      return EXIT_FAILURE;
    }
  lua_close(L); /* the table remains in the workers */

  int status = EXIT_SUCCESS, served = 0;
  for (int i = 0; i < WORKERS; i++)
    pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
  for (int i = 0; i < WORKERS; i++) {
    pthread_join(workers[i].thread, NULL);
    served += workers[i].served;
    if (workers[i].problem[0] == '\0') continue;
    fprintf(stderr, "server: %s\n", workers[i].problem);
    status = EXIT_FAILURE;
  }
  printf("server: %d requests served by %d threads\n", served, WORKERS);
  return served == requests.last ? status : EXIT_FAILURE;
}
