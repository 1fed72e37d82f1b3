/*
 * launch.c - the cost of a launch: from Lua, from C through Level Zero, and
 * from C through OpenCL, in interleaved rounds of one process; of a kernel that
 * is a Lua function with a captured factor; with a recording profile; and from
 * Lua through MoonCL, if MOONCL is the path of its mooncl.so.
 * SPDX-License-Identifier: MIT
 *
 *   launch [ROUNDS [LAUNCHES]]   times, medians and their ratios
 *   launch lua|timed|kernel|ze|cl LAUNCHES   one round after a warm-up, for
 *                                callgrind; "timed" launches have events
 *
 * A round is LAUNCHES launches of saxpy over 64 floats, with its three
 * arguments set each time, and one wait at its end; "set once" sets them only
 * at the first launch of a round.  Results are checked: y counts the launches.
 * Each variant has an unmeasured round before each measured one, because the
 * variant before it has evicted its data from the processor's caches.  Lua's
 * collector runs between them.
 * "Recorded" means while a profile records, which is started and stopped
 * outside the rounds.  The device then times all launches, like launches with
 * events; the recorder's own cost is shown next to both kinds of launches, as
 * the median over the rounds.  The Lua memory that recorded launches leave is
 * counted, too.
 * The Level Zero device is the first of the first driver, the OpenCL device
 * the first of the first platform.
 */
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>
#include <lauxlib.h>
#include <level_zero/ze_api.h>
#include <lua.h>
#include <lualib.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  ITEMS = 64,      /* so few that the launch itself is measured */
  WARM_UP = 3,     /* rounds before the first that counts */
  MAX_ROUNDS = 1000
};

static int launches = 500;

_Noreturn static void die(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("launch: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
  exit(EXIT_FAILURE);
}

static char *read_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) die("%s: run this in the top directory", path);
  fseek(f, 0, SEEK_END);
  long length = ftell(f);
  rewind(f);
  char *bytes = malloc((size_t)length + 1);
  if (bytes == NULL || fread(bytes, 1, (size_t)length, f) != (size_t)length)
    die("%s cannot be read", path);
  bytes[length] = '\0';
  fclose(f);
  *size = (size_t)length;
  return bytes;
}

static void check(const char *way, const float *y, double expected) {
  for (int i = 0; i < ITEMS; i++)
    if ((double)y[i] != expected)
      die("%s: y[%d] is %g, not %g", way, i, (double)y[i], expected);
}

/* ------------------------------------------------------------------------ */
/* From Lua. */

static lua_State *L;

static const char lua_setup[] =
  "local lze = require 'lze'\n"
  "local items = ...\n"
  "local saxpy = lze.load('kernels/saxpy.spv').saxpy\n"
  "local x, y = lze.buffer('float', items), lze.buffer('float', items)\n"
  "x:fill(1)\n"
  "local function round(launches)\n"
  "  for _ = 1, launches do saxpy(items, 1.0, x, y) end\n"
  "  lze.wait()\n"
  "end\n"
  "local function check(expected)\n"
  "  for i = 1, items do assert(y[i] == expected, y[i]) end\n"
  "end\n"
  "local function timed(launches)\n"
  "  for _ = 1, launches do saxpy:launch(items, 1.0, x, y) end\n"
  "  lze.wait()\n"
  "end\n"
  "local profile\n"
  "local function record(on)\n"
  "  if on == 0 then profile:stop() else profile = lze.profile() end\n"
  "end\n"
  "local function garbage(launches)\n"
  "  collectgarbage() collectgarbage 'stop'\n"
  "  local before = collectgarbage 'count'\n"
  "  for _ = 1, launches do saxpy(items, 1.0, x, y) end\n"
  "  local bytes = (collectgarbage 'count' - before) * 1024\n"
  "  collectgarbage 'restart'\n"
  "  lze.wait()\n"
  "  return bytes\n"
  "end\n"
  "return round, check, timed, record, garbage, (saxpy:group(items))\n";

static int further_rounds;      /* of the same buffers, with events, recorded */
static int lua_round_ref, lua_check_ref, lua_timed_ref, lua_record_ref,
    lua_garbage_ref;
static unsigned group;  /* the group lze chose, at most ITEMS, which the C
                           variants use, too */

static double lua_call_with(int ref, lua_Integer n) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, ref);
  lua_pushinteger(L, n);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK)
    die("%s", luaL_tolstring(L, -1, NULL));
  double result = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return result;
}

static void lua_start(void) {
  L = luaL_newstate();
  if (L == NULL) die("no memory for a Lua state");
  luaL_openlibs(L);
  /* Named like a script file, because a record contains the name. */
  if (luaL_loadbuffer(L, lua_setup, strlen(lua_setup), "@launch.lua") != LUA_OK)
    die("%s", lua_tostring(L, -1));
  lua_pushinteger(L, ITEMS);
  if (lua_pcall(L, 1, 6, 0) != LUA_OK) die("%s", luaL_tolstring(L, -1, NULL));
  group = (unsigned)lua_tointeger(L, -1);
  if (group > ITEMS) group = ITEMS; /* lze guards the rest of a group */
  lua_pop(L, 1);
  lua_garbage_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_record_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_timed_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_check_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_round_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

static void lua_round(void) {
  lua_call_with(lua_round_ref, launches);
}

static void lua_finish(int rounds) {
  lua_call_with(lua_check_ref,
                (lua_Integer)(rounds + further_rounds) * launches);
  lua_close(L);
}

/* ------------------------------------------------------------------------ */
/* The same with an event each, and while a profile records. */

static void recorded_before(void) {
  lua_call_with(lua_record_ref, 1);
}

static void recorded_round(void) {
  further_rounds++;
  lua_round();
}

static void timed_round(void) {
  further_rounds++;
  lua_call_with(lua_timed_ref, launches);
}

static void recorded_after(void) {
  lua_call_with(lua_record_ref, 0);
}

/* Returns the bytes of Lua memory that a recorded round's launches leave. */
static double recorded_garbage(void) {
  recorded_before();
  further_rounds++;
  double bytes = lua_call_with(lua_garbage_ref, launches);
  recorded_after();
  return bytes;
}

/* ------------------------------------------------------------------------ */
/* A kernel in Lua, in the same state. */

static const char kernel_setup[] =
  "local lze = require 'lze'\n"
  "local items, group = ...\n"
  "local a = 1.0\n"
  "local saxpy = lze.kernel(function(i, x, y) y[i] = a * x[i] + y[i] end)\n"
  "local x, y = lze.buffer('float', items), lze.buffer('float', items)\n"
  "x:fill(1)\n"
  "assert(math.min(saxpy:variant(items, x, y):group(items), items) == group)\n"
  "local function round(launches)\n"
  "  for _ = 1, launches do saxpy(items, x, y) end\n"
  "  lze.wait()\n"
  "end\n"
  "local function check(expected)\n"
  "  for i = 1, items do assert(y[i] == expected, y[i]) end\n"
  "end\n"
  "return round, check\n";

static int kernel_round_ref, kernel_check_ref;

static void kernel_start(void) {
  if (luaL_loadstring(L, kernel_setup) != LUA_OK)
    die("%s", lua_tostring(L, -1));
  lua_pushinteger(L, ITEMS);
  lua_pushinteger(L, group);
  if (lua_pcall(L, 2, 2, 0) != LUA_OK) die("%s", luaL_tolstring(L, -1, NULL));
  kernel_check_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  kernel_round_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

static void kernel_round(void) {
  lua_call_with(kernel_round_ref, launches);
}

static void kernel_finish(int rounds) {
  lua_call_with(kernel_check_ref, (lua_Integer)rounds * launches);
}

/* ------------------------------------------------------------------------ */
/* From Lua through MoonCL, in the same state. */

static const char mooncl_setup[] =
  "local path, items, group = ...\n"
  "package.path = path:gsub('[^/]*$', '') .. '../?.lua;' .. package.path\n"
  "local cl = assert(package.loadlib(path, 'luaopen_mooncl'))()\n"
  "local platform = cl.get_platform_ids()[1]\n"
  "local device = cl.get_device_ids(platform, cl.DEVICE_TYPE_ALL)[1]\n"
  "local context = cl.create_context(platform, {device})\n"
  "local queue = cl.create_command_queue(context, device)\n"
  "local file = assert(io.open 'kernels/saxpy.cl')\n"
  "local program = cl.create_program_with_source(context, file:read 'a')\n"
  "file:close()\n"
  "cl.build_program(program, {device})\n"
  "local saxpy = cl.create_kernel(program, 'saxpy')\n"
  "local bytes = 4 * items\n"
  "local function buffer(value)\n"
  "  local b = cl.create_buffer(context, cl.MEM_READ_WRITE, bytes)\n"
  "  local values = {}\n"
  "  for i = 1, items do values[i] = value end\n"
  "  local host = cl.malloc('float', values)\n"
  "  cl.enqueue_write_buffer(queue, b, true, 0, bytes, host:ptr())\n"
  "  return b, host\n"
  "end\n"
  "local x = buffer(1)\n"
  "local y, host = buffer(0)\n"
  "local function round(launches)\n"
  "  for _ = 1, launches do\n"
  "    cl.set_kernel_arg(saxpy, 0, 'float', 1.0)\n"
  "    cl.set_kernel_arg(saxpy, 1, x)\n"
  "    cl.set_kernel_arg(saxpy, 2, y)\n"
  "    cl.enqueue_ndrange_kernel(queue, saxpy, 1, nil, {items}, {group})\n"
  "  end\n"
  "  cl.finish(queue)\n"
  "end\n"
  "local function check(expected)\n"
  "  cl.enqueue_read_buffer(queue, y, true, 0, bytes, host:ptr())\n"
  "  local values = host:read(0, nil, 'float')\n"
  "  for i = 1, items do assert(values[i] == expected, values[i]) end\n"
  "end\n"
  "return round, check\n";

static int mooncl_round_ref, mooncl_check_ref;

static void mooncl_start(void) {
  if (luaL_loadstring(L, mooncl_setup) != LUA_OK)
    die("%s", lua_tostring(L, -1));
  lua_pushstring(L, getenv("MOONCL"));
  lua_pushinteger(L, ITEMS);
  lua_pushinteger(L, group);
  if (lua_pcall(L, 3, 2, 0) != LUA_OK) die("%s", luaL_tolstring(L, -1, NULL));
  mooncl_check_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  mooncl_round_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

static void mooncl_round(void) {
  lua_call_with(mooncl_round_ref, launches);
}

static void mooncl_finish(int rounds) {
  lua_call_with(mooncl_check_ref, (lua_Integer)rounds * launches);
}

/* ------------------------------------------------------------------------ */
/* From C through Level Zero. */

#define ZE(call) do { \
    ze_result_t result_ = (call); \
    if (result_ != ZE_RESULT_SUCCESS) \
      die("%s: 0x%x", #call, (unsigned)result_); \
  } while (0)

/* Runs commands of a list in order; the 1.4 headers lack the name. */
#define QUEUE_IN_ORDER ((ze_command_queue_flags_t)1 << 1)

static struct {
  ze_context_handle_t context;
  ze_command_list_handle_t list;
  ze_event_pool_handle_t pool;
  ze_event_handle_t event;
  ze_module_handle_t module;
  ze_kernel_handle_t kernel;
  float *x, *y;
  double launched;  /* in total, by both variants */
} ze;

static void ze_start(void) {
  ze_driver_handle_t driver;
  ze_device_handle_t device;
  uint32_t one = 1;
  ZE(zeInit(0));
  ZE(zeDriverGet(&one, &driver));
  ZE(zeDeviceGet(driver, &one, &device));

  ze_context_desc_t context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  ZE(zeContextCreate(driver, &context, &ze.context));

  ze_command_queue_desc_t queue = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
    .flags = QUEUE_IN_ORDER,
    .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS
  };
  ZE(zeCommandListCreateImmediate(ze.context, device, &queue, &ze.list));

  ze_event_pool_desc_t pool = {
    .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
    .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
    .count = 1
  };
  ZE(zeEventPoolCreate(ze.context, &pool, 1, &device, &ze.pool));
  ze_event_desc_t event = {
    .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
    .signal = ZE_EVENT_SCOPE_FLAG_HOST
  };
  ZE(zeEventCreate(ze.pool, &event, &ze.event));

  size_t size;
  char *spirv = read_file("kernels/saxpy.spv", &size);
  ze_module_desc_t module = {
    .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
    .format = ZE_MODULE_FORMAT_IL_SPIRV,
    .inputSize = size,
    .pInputModule = (const uint8_t *)spirv
  };
  ZE(zeModuleCreate(ze.context, device, &module, &ze.module, NULL));
  free(spirv);
  ze_kernel_desc_t kernel = {
    .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
    .pKernelName = "saxpy"
  };
  ZE(zeKernelCreate(ze.module, &kernel, &ze.kernel));

  ze_device_mem_alloc_desc_t on_device = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC
  };
  ze_host_mem_alloc_desc_t on_host = {
    .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC
  };
  void *memory[2];
  for (int i = 0; i < 2; i++)
    ZE(zeMemAllocShared(ze.context, &on_device, &on_host,
                        ITEMS * sizeof(float), 64, device, &memory[i]));
  ze.x = memory[0];
  ze.y = memory[1];
  for (int i = 0; i < ITEMS; i++) {
    ze.x[i] = 1;
    ze.y[i] = 0;
  }
}

static void ze_launch(bool set) {
  float a = 1;
  ze_group_count_t groups = {ITEMS / group, 1, 1};
  ze.launched += launches;
  for (int i = 0; i < launches; i++) {
    if (set || i == 0) {
      ZE(zeKernelSetGroupSize(ze.kernel, group, 1, 1));
      ZE(zeKernelSetArgumentValue(ze.kernel, 0, sizeof a, &a));
      ZE(zeKernelSetArgumentValue(ze.kernel, 1, sizeof ze.x, &ze.x));
      ZE(zeKernelSetArgumentValue(ze.kernel, 2, sizeof ze.y, &ze.y));
    }
    ZE(zeCommandListAppendLaunchKernel(ze.list, ze.kernel, &groups, NULL, 0,
                                       NULL));
  }
  ZE(zeCommandListAppendBarrier(ze.list, ze.event, 0, NULL));
  ZE(zeEventHostSynchronize(ze.event, UINT64_MAX));
  ZE(zeEventHostReset(ze.event));
}

static void ze_round(void) {
  ze_launch(true);
}

static void kept_round(void) {
  ze_launch(false);
}

static void ze_finish(int rounds) {
  (void)rounds;
  check("Level Zero", ze.y, ze.launched);
  ZE(zeKernelDestroy(ze.kernel));
  ZE(zeModuleDestroy(ze.module));
  ZE(zeEventDestroy(ze.event));
  ZE(zeEventPoolDestroy(ze.pool));
  ZE(zeCommandListDestroy(ze.list));
  ZE(zeMemFree(ze.context, ze.x));
  ZE(zeMemFree(ze.context, ze.y));
  ZE(zeContextDestroy(ze.context));
}

/* ------------------------------------------------------------------------ */
/* From C through OpenCL. */

#define CL(call) do { \
    cl_int result_ = (call); \
    if (result_ != CL_SUCCESS) die("%s: %d", #call, (int)result_); \
  } while (0)

static struct {
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernel;
  float *x, *y;
} cl;

static void cl_start(void) {
  cl_platform_id platform;
  cl_device_id device;
  cl_int err;
  CL(clGetPlatformIDs(1, &platform, NULL));
  CL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
  cl.context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
  CL(err);
  cl.queue = clCreateCommandQueueWithProperties(cl.context, device, NULL,
                                                &err);
  CL(err);

  size_t size;
  char *text = read_file("kernels/saxpy.cl", &size);
  const char *source = text;
  cl.program = clCreateProgramWithSource(cl.context, 1, &source, NULL, &err);
  CL(err);
  CL(clBuildProgram(cl.program, 1, &device, "", NULL, NULL));
  free(text);
  cl.kernel = clCreateKernel(cl.program, "saxpy", &err);
  CL(err);

  cl_svm_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER;
  cl.x = clSVMAlloc(cl.context, flags, ITEMS * sizeof(float), 0);
  cl.y = clSVMAlloc(cl.context, flags, ITEMS * sizeof(float), 0);
  if (cl.x == NULL || cl.y == NULL) die("no fine-grained SVM");
  for (int i = 0; i < ITEMS; i++) {
    cl.x[i] = 1;
    cl.y[i] = 0;
  }
}

static void cl_round(void) {
  float a = 1;
  size_t global = ITEMS, local = group;
  for (int i = 0; i < launches; i++) {
    CL(clSetKernelArg(cl.kernel, 0, sizeof a, &a));
    CL(clSetKernelArgSVMPointer(cl.kernel, 1, cl.x));
    CL(clSetKernelArgSVMPointer(cl.kernel, 2, cl.y));
    CL(clEnqueueNDRangeKernel(cl.queue, cl.kernel, 1, NULL, &global, &local, 0,
                              NULL, NULL));
  }
  CL(clFinish(cl.queue));
}

static void cl_finish(int rounds) {
  check("OpenCL", cl.y, (double)rounds * launches);
  clSVMFree(cl.context, cl.x);
  clSVMFree(cl.context, cl.y);
  CL(clReleaseKernel(cl.kernel));
  CL(clReleaseProgram(cl.program));
  CL(clReleaseCommandQueue(cl.queue));
  CL(clReleaseContext(cl.context));
}

/* ------------------------------------------------------------------------ */

static void nothing(void) {
}

static void nothing_after(int rounds) {
  (void)rounds;
}

enum {
  LUA, ZE_SET, ZE_KEPT, OPENCL, KERNEL, RECORDED, TIMED, TIMED_RECORDED,
  MOONCL, WAYS
};

static const struct {
  const char *word, *name;
  void (*start)(void);
  void (*round)(void);
  void (*finish)(int rounds);
} ways[WAYS] = {
  {"lua", "Lua", lua_start, lua_round, lua_finish},
  {"ze", "C, Level Zero", ze_start, ze_round, ze_finish},
  {"", "C, set once", nothing, kept_round, nothing_after},
  {"cl", "C, OpenCL", cl_start, cl_round, cl_finish},
  {"kernel", "Lua, in Lua", kernel_start, kernel_round, kernel_finish},
  {"", "Lua, recorded", nothing, recorded_round, nothing_after},
  {"timed", "Lua, events", nothing, timed_round, nothing_after},
  {"", "both", nothing, timed_round, nothing_after},
  {"", "Lua, MoonCL", mooncl_start, mooncl_round, mooncl_finish}
};

static double now_us(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Returns the median of the extra time of a variant in a round. */
static double beyond(const double *one, const double *other, int rounds) {
  static double more[MAX_ROUNDS];
  for (int r = 0; r < rounds; r++) more[r] = one[r] - other[r];
  qsort(more, (size_t)rounds, sizeof *more, compare);
  return more[rounds / 2];
}

static int number(const char *text) {
  char *end;
  long n = strtol(text, &end, 10);
  /* Floats count exactly to 2^24; y must stay below it. */
  if (*text == '\0' || *end != '\0' || n < 1 || n > 10000)
    die("'%s' is not a number from 1 to 10000", text);
  return (int)n;
}

/* The round that callgrind counts, selected by this name. */
void bench_counted_round(int way);
__attribute__((noinline)) void bench_counted_round(int way) {
  ways[way].round();
  __asm__ volatile("");  /* prevents a tail call */
}

static int run_once(int way) {
  lua_start();   /* finds the driver, and chooses the group */
  if (way != 0) ways[way].start();
  ways[way].round();
  lua_gc(L, LUA_GCSTOP);  /* the time of collecting events would dominate */
  bench_counted_round(way);
  ways[way].finish(2);
  if (way != 0) lua_close(L);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  for (int w = 0; w < WAYS; w++)
    if (argc == 3 && *ways[w].word != '\0' &&
        strcmp(argv[1], ways[w].word) == 0) {
      launches = number(argv[2]);
      return run_once(w);
    }
  int rounds = argc > 1 ? number(argv[1]) : 201;
  if (argc > 2) launches = number(argv[2]);
  if (rounds > MAX_ROUNDS || (rounds + WARM_UP) * launches >= 1 << 21)
    die("too many rounds: a float must count every launch");

  static double us[WAYS][MAX_ROUNDS];
  static double own[WAYS][MAX_ROUNDS]; /* CPU time of the calling thread */
  const int count = getenv("MOONCL") != NULL ? WAYS : MOONCL;
  for (int w = 0; w < count; w++) ways[w].start();
  for (int r = -WARM_UP; r < rounds; r++)
    for (int i = 0; i < count; i++) {
      int w = (i + r + WARM_UP) % count;  /* each goes first in its turn */
      const bool recorded = w == RECORDED || w == TIMED_RECORDED;
      lua_gc(L, LUA_GCCOLLECT);
      lua_gc(L, LUA_GCSTOP);
      if (recorded) recorded_before();
      ways[w].round();
      double start = now_us(CLOCK_MONOTONIC);
      double own_start = now_us(CLOCK_THREAD_CPUTIME_ID);
      ways[w].round();
      double own_end = now_us(CLOCK_THREAD_CPUTIME_ID);
      double end = now_us(CLOCK_MONOTONIC);
      lua_gc(L, LUA_GCRESTART);
      if (recorded) recorded_after();
      if (r >= 0) us[w][r] = (end - start) / launches;
      if (r >= 0) own[w][r] = (own_end - own_start) / launches;
    }
  double garbage = recorded_garbage();
  for (int w = count - 1; w >= 0; w--) ways[w].finish(2 * (rounds + WARM_UP));

  printf("%d rounds of %d launches and a wait, groups of %u; us a launch\n",
         rounds, launches, group);
  printf("%-16s %8s %8s %8s\n", "", "quartile", "median", "quartile");
  double median[WAYS] = {0};
  for (int w = 0; w < count; w++) {
    qsort(us[w], (size_t)rounds, sizeof **us, compare);
    median[w] = us[w][rounds / 2];
    printf("%-16s %8.2f %8.2f %8.2f\n", ways[w].name, us[w][rounds / 4],
           median[w], us[w][3 * rounds / 4]);
  }
  printf("Lua / C, Level Zero           %.2f\n", median[LUA] / median[ZE_SET]);
  printf("Lua / C, set once             %.2f\n", median[LUA] / median[ZE_KEPT]);
  printf("C, Level Zero / C, OpenCL     %.2f\n",
         median[ZE_SET] / median[OPENCL]);
  printf("recorded / Lua                %.2f\n",
         median[RECORDED] / median[LUA]);
  printf("recorded / not, with events   %.2f\n",
         median[TIMED_RECORDED] / median[TIMED]);
  puts("of the calling thread's processor, ns a launch:");
  printf("  the recorder itself         %.0f\n",
         beyond(own[TIMED_RECORDED], own[TIMED], rounds) * 1e3);
  printf("  that and the device's times %.0f\n",
         beyond(own[RECORDED], own[LUA], rounds) * 1e3);
  printf("garbage of %d recorded      %.0f bytes\n", launches, garbage);
  if (count > MOONCL)
    printf("Lua / Lua, MoonCL             %.2f\n",
           median[LUA] / median[MOONCL]);
  return EXIT_SUCCESS;
}
