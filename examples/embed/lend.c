/*
 * lend.c - a Level Zero program that lets a script work on its own memory.
 * SPDX-License-Identifier: MIT
 *
 *   cc -o lend lend.c $(pkg-config --cflags --libs lze) -lze_loader
 *   ./lend
 *
 * The program has its own context, immediate list, event and memory.  The
 * script gets the memory as a buffer and launches a kernel on the program's
 * list, which signals the program's event; the program waits for that event and
 * reads the result in place.  lze does not destroy any of these objects.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <lze.h>

#include <level_zero/ze_api.h>

#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100000 };

static const char script[] =
    "local queue, finished, x, y = ...\n"
    "local lze = require 'lze'\n"
    "local saxpy = lze.load('saxpy', {device = x.device}).saxpy\n"
    "saxpy({#x, queue = queue, signal = finished}, 3.0, x, y)\n";

static void must(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "lend: %s\n", what);
  exit(EXIT_FAILURE);
}
#define ZE(call) must((call) == ZE_RESULT_SUCCESS, #call)
#define LZE(call) must((call) == LZE_OK, error.message)

static int released;

/* Called once lze no longer uses the memory. */
static void release(void *userdata, void *pointer) {
  (void)userdata;
  (void)pointer;
  released++;
}

int main(void) {
  lze_ErrorInfo error;
  const lze_Api *lze = lze_api(LZE_API_VERSION);
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  LZE(lze->open(L, &error));

  /* Any device works.  lze finds the drivers, including its own for machines
     without a GPU, so the program need not search. */
  void *found;
  LZE(lze->push_device(L, NULL, &error));
  LZE(lze->get_handle(L, -1, &found, NULL, &error));
  ze_device_handle_t device = found;
  must(lua_getfield(L, -1, "driver") == LUA_TUSERDATA, "no driver");
  LZE(lze->get_handle(L, -1, &found, NULL, &error));
  ze_driver_handle_t driver = found;
  lua_settop(L, 0);

  /* The program's own objects. */
  ze_context_desc_t context_desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ze_command_queue_desc_t list_desc = {
      .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
      .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  ze_event_pool_desc_t pool_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                                    .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                    .count = 1};
  ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
                                .signal = ZE_EVENT_SCOPE_FLAG_HOST};
  ze_device_mem_alloc_desc_t device_desc = {
      .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t host_desc = {
      .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  ze_context_handle_t context;
  ze_command_list_handle_t list;
  ze_event_pool_handle_t pool;
  ze_event_handle_t finished;
  void *memory;
  ZE(zeContextCreate(driver, &context_desc, &context));
  ZE(zeCommandListCreateImmediate(context, device, &list_desc, &list));
  ZE(zeEventPoolCreate(context, &pool_desc, 0, NULL, &pool));
  ZE(zeEventCreate(pool, &event_desc, &finished));
  ZE(zeMemAllocShared(context, &device_desc, &host_desc,
                      2 * COUNT * sizeof(float), 64, device, &memory));
  float *x = memory, *y = x + COUNT;
  for (int i = 0; i < COUNT; i++) x[i] = (float)i, y[i] = 1;

  /* Lend them to the script. */
  LZE(lze->push_wrapped_device(L, driver, device, context, &error));
  must(luaL_loadstring(L, script) == LUA_OK, "the script does not compile");
  LZE(lze->push_queue(L, list, 1, &error));
  LZE(lze->push_event(L, finished, 1, &error));
  lze_BufferSpec spec = {.size = sizeof spec, .type = "float", .count = COUNT,
                         .device = 1, .release = release};
  spec.pointer = x;
  LZE(lze->push_buffer(L, &spec, &error));
  spec.pointer = y;
  LZE(lze->push_buffer(L, &spec, &error));
  must(lua_pcall(L, 4, 0, 0) == LUA_OK, "the script fails");

  /* Check the result, without a copy and without Lua. */
  ZE(zeEventHostSynchronize(finished, UINT64_MAX));
  for (int i = 0; i < COUNT; i++)
    must(y[i] == 3.0f * (float)i + 1, "a wrong result");

  LZE(lze->wait_all(L, -1, &error));
  LZE(lze->close(L, &error));
  must(released == 2, "the memory was not given back");
  ZE(zeMemFree(context, memory));
  ZE(zeEventDestroy(finished));
  ZE(zeEventPoolDestroy(pool));
  ZE(zeCommandListDestroy(list));
  ZE(zeContextDestroy(context));
  printf("lend: %d results read where they lie\n", COUNT);
  return EXIT_SUCCESS;
}
