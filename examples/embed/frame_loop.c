/*
 * frame_loop.c - a program whose frames are scripted and run on the device.
 * SPDX-License-Identifier: MIT
 *
 *   cc -o frame_loop frame_loop.c $(pkg-config --cflags --libs lze)
 *   ./frame_loop [FRAMES]
 *
 * The script defines a frame once, as a task graph on buffers whose memory the
 * program can access, too.  Then each frame writes the inputs in place, runs
 * the plan, calls the script, and reads the results in place.  Nothing is
 * copied and nothing is left on the Lua stack.
 */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <lze.h>

#include <stdio.h>
#include <stdlib.h>

enum { PARTICLES = 4096 };

static const char script[] =
    "local lze, positions, velocities = ...\n"
    "local n = #positions\n"
    "local mod = lze.load 'saxpy'\n"
    "local g = lze.graph 'frame'\n"
    "g:input(velocities, 'every')\n"
    "g:task('move', mod.saxpy, n, 0.5, velocities, positions)\n"
    "g:output(positions, 'every')\n"
    "local plan = g:compile()\n"
    "local far = 0\n"
    "local function on_frame(frame)\n" /* what a game's author would write */
    "  far = math.max(far, positions[1])\n"
    "  if frame == 10 then plan:set('move', 'a', 2.0) end\n"
    "  return far\n"
    "end\n"
    "return plan, on_frame\n";

static lze_ErrorInfo error;

static void must(int code) {
  if (code == LZE_OK) return;
  fprintf(stderr, "frame_loop: %s\n", error.message);
  exit(EXIT_FAILURE);
}

static float *pointer_of(const lze_Api *lze, lua_State *L, int index) {
  lze_BufferInfo info = {.size = sizeof info};
  must(lze->get_buffer(L, index, &info, &error));
  return info.pointer;
}

int main(int argc, char **argv) {
  int frames = argc > 1 ? atoi(argv[1]) : 100;
  const lze_Api *lze = lze_api(LZE_API_VERSION);
  lua_State *L = luaL_newstate();
  if (lze == NULL || L == NULL) return EXIT_FAILURE;
  luaL_openlibs(L);
  must(lze->open(L, &error));

  if (luaL_loadstring(L, script) != LUA_OK) return EXIT_FAILURE;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "lze");
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) return EXIT_FAILURE;
  must(lze->make_buffer(L, "float", PARTICLES, "shared", 0, &error));
  float *positions = pointer_of(lze, L, -1);
  must(lze->make_buffer(L, "float", PARTICLES, "shared", 0, &error));
  float *velocities = pointer_of(lze, L, -1);
  if (lua_pcall(L, 3, 2, 0) != LUA_OK) {
    fprintf(stderr, "frame_loop: %s\n", luaL_tolstring(L, -1, NULL));
    return EXIT_FAILURE;
  }
  lze_PlanRef *plan;
  must(lze->keep_plan(L, -2, &plan, &error));
  int on_frame = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_settop(L, 0);

  float expected = 0, far = 0;
  for (int frame = 1; frame <= frames; frame++) {
    for (int i = 0; i < PARTICLES; i++)
      velocities[i] = (float)(frame % 3 + i % 5);
    must(lze->run_plan(L, plan, &error));
    expected += (frame <= 10 ? 0.5f : 2.0f) * (float)(frame % 3);
    if (positions[0] != expected) {
      fprintf(stderr, "frame_loop: frame %d: %g, not %g\n", frame,
              (double)positions[0], (double)expected);
      return EXIT_FAILURE;
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, on_frame);
    lua_pushinteger(L, frame);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK) return EXIT_FAILURE;
    far = (float)lua_tonumber(L, -1);
    lua_settop(L, 0);
  }
  lze->drop_plan(plan);
  must(lze->close(L, &error));
  printf("frame_loop: %d frames of %d particles, the first is at %g\n", frames,
         PARTICLES, (double)far);
  return EXIT_SUCCESS;
}
