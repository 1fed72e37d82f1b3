/*
 * capi_test.c - the promises of lze.h, tested by a program linked with lze.
 * SPDX-License-Identifier: MIT
 *
 * Nothing here runs inside a Lua call, so that any error raised would end the
 * program; Lua's panic function reports it.
 */
#include "../driver/check.h"

#include "lua_versions.h"
#include "lze.h"

#include <lualib.h>

#include <poll.h>
#include <pthread.h>

static const lze_Api *lze;

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;

/* A call that must return this code; the message is shown if not. */
#define CODE(wanted, call)                                                   \
  do {                                                                       \
    lze_ErrorInfo error;                                                     \
    int got_ = (call);                                                       \
    check_(__FILE__, __LINE__, got_ == (wanted) && error.code == got_,       \
           "%s is %d (%s), wanted %d", #call, got_, error.message, wanted);  \
  } while (0)
/* The same for a refusal whose message contains a text. */
#define REFUSED(wanted, text, call)                                          \
  do {                                                                       \
    lze_ErrorInfo error;                                                     \
    int got_ = (call);                                                       \
    check_(__FILE__, __LINE__,                                               \
           got_ == (wanted) && error.code == got_ &&                         \
               strstr(error.message, text) != NULL,                          \
           "%s is %d (%s), wanted %d (%s)", #call, got_, error.message,      \
           wanted, text);                                                    \
  } while (0)

static int panic(lua_State *L) {
  printf("not ok - raised: %s\n", lua_tostring(L, -1));
  exit(1);
}

static lua_State *state_open(void) {
  lua_State *L = luaL_newstate();
  lua_atpanic(L, panic);
  luaL_openlibs(L);
  CODE(LZE_OK, lze->open(L, &error));
  EQUAL(lua_gettop(L), 0);
  return L;
}

/* Runs a script that must succeed; its results stay on the stack. */
static void script(lua_State *L, const char *text) {
  if (luaL_dostring(L, text) != LUA_OK) {
    check_(__FILE__, __LINE__, false, "script: %s", lua_tostring(L, -1));
    lua_settop(L, 0);
  }
}

static void *allocate(size_t bytes) {
  ze_device_mem_alloc_desc_t d = {
      .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t h = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void *p;
  MUST(zeMemAllocShared(context, &d, &h, bytes, 64, device, &p));
  memset(p, 0, bytes);
  return p;
}

static void lend_context(lua_State *L) {
  CODE(LZE_OK, lze->push_wrapped_device(L, driver, device, context, &error));
  CODE(LZE_OK, lze->set_default(L, -1, &error));
  lua_pop(L, 1);
}

/* --- opening ------------------------------------------------------------ */

static void test_versions(void) {
  CHECK(lze_api(LZE_API_VERSION + 1) == NULL);
  EQUAL(lze->version, LZE_API_VERSION);
  CHECK(LZE_API_HAS(lze, import_buffer));
  lua_State *L = luaL_newstate();
  CHECK(lze_find_api(L) == NULL);
  CODE(LZE_OK, lze->open(L, &error));
  CODE(LZE_OK, lze->open(L, &error));
  CHECK(lze_find_api(L) == lze);
  EQUAL(lze->open(L, NULL), LZE_OK);
  CODE(LZE_OK, lze->close(L, &error));
}

/* Calls with a state in which lze was never opened. */
static void test_not_opened(void) {
  lua_State *L = luaL_newstate();
  lua_atpanic(L, panic);
  REFUSED(LZE_EMISUSE, "lze is not open in this state",
          lze->push_device(L, NULL, &error));
  EQUAL(lua_gettop(L), 0);
  lua_close(L);
}

static int close_inside(lua_State *L) {
  lze_ErrorInfo error;
  lua_pushinteger(L, lze->close(L, &error));
  return 1;
}

static void test_close_inside(void) {
  lua_State *L = state_open();
  lua_register(L, "close", close_inside);
  script(L, "return close(), coroutine.wrap(close)()");
  EQUAL(lua_tointeger(L, 1), LZE_EMISUSE);
  EQUAL(lua_tointeger(L, 2), LZE_EMISUSE);
  CODE(LZE_OK, lze->close(L, &error));
}

/* --- buffers ------------------------------------------------------------ */

static void test_buffers(void) {
  lua_State *L = state_open();
  lend_context(L);
  float *p = allocate(16 * sizeof *p);
  lze_BufferSpec spec = {.size = sizeof spec, .pointer = p, .type = "float",
                         .count = 16};
  CODE(LZE_OK, lze->push_buffer(L, &spec, &error));
  EQUAL(lua_gettop(L), 1);
  lua_setglobal(L, "x");
  p[2] = 5;
  script(L, "return x[3], #x, x.usage");
  CHECK(lua_tonumber(L, 1) == 5);
  EQUAL(lua_tointeger(L, 2), 16);
  lua_settop(L, 0);

  script(L, "k = lze or require 'lze'; "
            "m = k.load 'kernels/saxpy.spv'.saxpy; "
            "y = k.buffer('float', 16):fill(1); m(16, 2, x, y); return y");
  lze_BufferInfo info = {.size = sizeof info};
  CODE(LZE_OK, lze->get_buffer(L, 1, &info, &error));
  CODE(LZE_OK, lze->wait_buffer(L, 1, 0, &error));
  CHECK(((float *)info.pointer)[2] == 11);
  EQUAL(info.count, 16);
  EQUAL(info.bytes, 64);
  EQUAL(info.element_bytes, 4);
  CHECK(strcmp(info.type, "float") == 0 && strcmp(info.usage, "shared") == 0);
  CHECK(info.driver == driver && info.device == device &&
        info.context == context);
  void *handle;
  const char *kind;
  CODE(LZE_OK, lze->get_handle(L, -1, &handle, &kind, &error));
  CHECK(handle == info.pointer && strcmp(kind, "buffer") == 0);
  lua_settop(L, 0);

  CODE(LZE_OK, lze->make_buffer(L, "int4", 8, "device", 0, &error));
  CODE(LZE_OK, lze->get_buffer(L, -1, &info, &error));
  EQUAL(info.bytes, 128);
  CHECK(strcmp(info.usage, "device") == 0);
  lua_settop(L, 0);

  /* Errors are reported, and nothing is left on the stack. */
  for (int index = -2; index <= 2; index++)
    if (index != 0)
      REFUSED(LZE_EMISUSE, "buffer expected, got no value",
              lze->get_buffer(L, index, &info, &error));
  lua_pushinteger(L, 5);
  REFUSED(LZE_EMISUSE, "buffer expected, got integer 5",
          lze->get_buffer(L, 1, &info, &error));
  REFUSED(LZE_EMISUSE, "buffer expected",
          lze->wait_buffer(L, 1, 1, &error));
  REFUSED(LZE_EMISUSE, "an object of lze expected",
          lze->get_handle(L, 1, &handle, &kind, &error));
  REFUSED(LZE_EMISUSE, "the handle is null",
          lze->get_handle(L, 1, NULL, &kind, &error));
  REFUSED(LZE_EMISUSE, "the token is null",
          lze->export_buffer(L, 1, NULL, &error));
  REFUSED(LZE_EMISUSE, "the plan is null",
          lze->keep_plan(L, 1, NULL, &error));
  REFUSED(LZE_EMISUSE, "device: device or selector expected, got no value",
          lze->make_buffer(L, "int", 4, "shared", 7, &error));
  REFUSED(LZE_EMISUSE, "device: device or selector expected, got no value",
          lze->push_queue(L, p, 7, &error));
  REFUSED(LZE_EMISUSE, "flaot",
          lze->make_buffer(L, "flaot", 8, "device", 0, &error));
  REFUSED(LZE_EMISUSE, "shared, device or host expected",
          lze->make_buffer(L, "float", 8, "shred", 0, &error));
  spec.type = "flaot";
  REFUSED(LZE_EMISUSE, "unknown type 'flaot'",
          lze->push_buffer(L, &spec, &error));
  spec.type = "float";
  spec.count = 17;
  REFUSED(LZE_EMISUSE, "more than the 64 bytes",
          lze->push_buffer(L, &spec, &error));
  spec.count = SIZE_MAX;
  REFUSED(LZE_EMISUSE, "count", lze->push_buffer(L, &spec, &error));
  spec.count = 1;
  float here = 0;
  spec.pointer = &here;
  REFUSED(LZE_EMISUSE, "not unified shared memory",
          lze->push_buffer(L, &spec, &error));
  spec.pointer = NULL;
  REFUSED(LZE_EMISUSE, "null", lze->push_buffer(L, &spec, &error));
  spec.pointer = p;
  spec.size = 8;
  REFUSED(LZE_EMISUSE, "size", lze->push_buffer(L, &spec, &error));
  spec.size = sizeof spec;
  spec.device = 1;
  REFUSED(LZE_EMISUSE, "no device matches integer 5",
          lze->push_buffer(L, &spec, &error));
  EQUAL(lua_gettop(L), 1);
  script(L, "x:close() return x");
  REFUSED(LZE_EMISUSE, "closed", lze->get_buffer(L, -1, &info, &error));
  CODE(LZE_OK, lze->wait_all(L, -1, &error));
  CODE(LZE_OK, lze->close(L, &error));
  MUST(zeMemFree(context, p));
}

static int released;
static void *released_pointer;

static void release(void *userdata, void *pointer) {
  released += *(int *)userdata;
  released_pointer = pointer;
}

static void test_release(void) {
  lua_State *L = state_open();
  lend_context(L);
  int *p = allocate(64), one = 1, ten = 10;
  lze_BufferSpec spec = {.size = sizeof spec, .pointer = p, .type = "int",
                         .count = 4, .release = release, .userdata = &one};
  /* The same buffer repeatedly, as in a frame loop: released once. */
  for (int i = 0; i < 100; i++) {
    CODE(LZE_OK, lze->push_buffer(L, &spec, &error));
    lua_setglobal(L, "x");
  }
  script(L, "x = nil collectgarbage() collectgarbage()");
  EQUAL(released, 1);
  CHECK(released_pointer == p);

  /* Not released while a view or a launch needs it. */
  released = 0;
  CODE(LZE_OK, lze->push_buffer(L, &spec, &error));
  lua_setglobal(L, "x");
  spec.userdata = &ten;
  CODE(LZE_OK, lze->push_buffer(L, &spec, &error));
  lua_setglobal(L, "y");
  script(L, "local lze = require 'lze' "
            "local v = x:view(1, 1, 'uint') "
            "lze.load 'kernels/spec.spv'.spin(1, v, 100000000) "
            "x:close() y:close() v:close()");
  EQUAL(released, 0);
  CODE(LZE_OK, lze->wait_all(L, 60, &error));
  EQUAL(released, 11);

  /* Released when the state is closed, but not if push_buffer fails. */
  released = 0;
  CODE(LZE_OK, lze->push_buffer(L, &spec, &error));
  lua_setglobal(L, "x");
  spec.count = 1000;
  REFUSED(LZE_EMISUSE, "more than",
          lze->push_buffer(L, &spec, &error));
  EQUAL(released, 0);
  CODE(LZE_OK, lze->close(L, &error));
  EQUAL(released, 10);
  MUST(zeMemFree(context, p));
}

static lua_State *closing;
static int refusals;

/* A host that closes the state when its memory is released. */
static void release_closing(void *userdata, void *pointer) {
  lze_ErrorInfo error;
  (void)userdata;
  (void)pointer;
  refusals += lze->close(closing, &error) == LZE_EMISUSE;
}

/* lze may release the memory in a script, a collection, a wait, a run, or at
   the end of the state. */
static void test_close_in_release(void) {
  lua_State *L = closing = state_open();
  int n;
  lend_context(L);
  lua_register(L, "close", close_inside);
  int *p = allocate(64);
  lze_BufferSpec spec = {.size = sizeof spec, .pointer = p, .type = "int",
                         .count = 4, .release = release_closing};
  for (int i = 0; i < 5; i++) {
    CODE(LZE_OK, lze->push_buffer(L, &spec, &error));
    lua_setglobal(L, "x");
    switch (i) {
      case 0: script(L, "x:close()"); break;
      case 1:
        lua_pushnil(L);
        lua_setglobal(L, "x");
        lua_gc(L, LUA_GCCOLLECT);
        lua_gc(L, LUA_GCCOLLECT);
        break;
      case 2:
        script(L, "local v = x:view(1, 1, 'uint') "
                  "require 'lze'.load 'kernels/spec.spv'.spin(1, v, 100000000) "
                  "x:close() v:close()");
        EQUAL(refusals, i);
        CODE(LZE_OK, lze->wait_all(L, 60, &error));
        break;
      case 3: { /* the main thread has no frames */
        lua_State *co = lua_newthread(L);
        CHECK(luaL_loadstring(co, "x:close()") == LUA_OK);
        CHECK(lua_resume(co, L, 0, &n) == LUA_OK);
        lua_settop(L, 0);
        break;
      }
      default: break;
    }
    EQUAL(refusals, i < 4 ? i + 1 : i);
  }
  script(L, "local lze = require 'lze' local y = lze.buffer('int', 1) "
            "local r plan = lze.graph():call('c', function() r = close() end)"
            ":fill('f', y, 7):compile() plan:run() return r, y[1], plan");
  EQUAL(lua_tointeger(L, 1), LZE_EMISUSE);
  EQUAL(lua_tointeger(L, 2), 7);
  lze_PlanRef *plan;
  CODE(LZE_OK, lze->keep_plan(L, 3, &plan, &error));
  lua_settop(L, 0);
  CODE(LZE_OK, lze->run_plan(L, plan, &error));
  CODE(LZE_OK, lze->close(L, &error));
  EQUAL(refusals, 5);
  lze->drop_plan(plan);
  MUST(zeMemFree(context, p));
}

/* --- events and queues -------------------------------------------------- */

/* Makes two host events; returns their pool. */
static ze_event_pool_handle_t host_events(ze_event_handle_t events[2]) {
  ze_event_pool_desc_t pool_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                                    .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                    .count = 2};
  ze_event_pool_handle_t pool;
  MUST(zeEventPoolCreate(context, &pool_desc, 0, NULL, &pool));
  for (uint32_t i = 0; i < 2; i++) {
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i,
                            .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                            .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    MUST(zeEventCreate(pool, &desc, &events[i]));
  }
  return pool;
}

static void test_events(void) {
  lua_State *L = state_open();
  lend_context(L);
  ze_event_handle_t events[2];
  ze_event_pool_handle_t pool = host_events(events);
  for (uint32_t i = 0; i < 2; i++) {
    CODE(LZE_OK, lze->push_event(L, events[i], 0, &error));
    lua_setglobal(L, i == 0 ? "before" : "after");
  }
  ze_command_queue_desc_t queue_desc = {
      .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
      .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
  ze_command_list_handle_t list;
  MUST(zeCommandListCreateImmediate(context, device, &queue_desc, &list));
  CODE(LZE_OK, lze->push_queue(L, list, 0, &error));
  lua_setglobal(L, "q");
  script(L, "local lze = require 'lze' x = lze.buffer('int', {6}) "
            "ev = lze.load 'kernels/spec.spv'.square:launch("
            "{1, queue = q, after = before, signal = after}, x, x) "
            "return ev, x");
  REFUSED(LZE_ETIMEOUT, "not done", lze->wait_event(L, 1, 0, &error));
  REFUSED(LZE_ETIMEOUT, "not done", lze->wait_all(L, 0.01, &error));
  EQUAL(zeEventQueryStatus(events[1]), ZE_RESULT_NOT_READY);
  MUST(zeEventHostSignal(events[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(events[1], 60000000000));
  CODE(LZE_OK, lze->wait_event(L, 1, 60, &error));
  REFUSED(LZE_EMISUSE, "event expected", lze->wait_event(L, 2, 0, &error));
  lze_BufferInfo info = {.size = sizeof info};
  CODE(LZE_OK, lze->get_buffer(L, 2, &info, &error));
  EQUAL(*(int *)info.pointer, 36);
  script(L, "ev:close() return ev");
  REFUSED(LZE_EMISUSE, "closed", lze->wait_event(L, -1, 0, &error));
  REFUSED(LZE_EMISUSE, "null", lze->push_event(L, NULL, 0, &error));
  CODE(LZE_OK, lze->close(L, &error));
  MUST(zeCommandListDestroy(list));
  for (int i = 0; i < 2; i++) MUST(zeEventDestroy(events[i]));
  MUST(zeEventPoolDestroy(pool));
}

/* When the context is closed, no lze thread waits for a host event any more,
   and the host may destroy it. */
static void test_watch(void) {
  lua_State *L = state_open();
  lend_context(L);
  ze_event_handle_t events[2];
  struct pollfd watched[2];
  ze_event_pool_handle_t pool = host_events(events);
  for (uint32_t i = 0; i < 2; i++) {
    CODE(LZE_OK, lze->push_event(L, events[i], 0, &error));
    lua_pushvalue(L, -1);
    lua_setglobal(L, i == 0 ? "one" : "two");
    lua_getfield(L, -1, "fd");
    lua_insert(L, -2);
    EQUAL(lua_pcall(L, 1, 1, 0), LUA_OK);
    watched[i] = (struct pollfd){.fd = (int)lua_tointeger(L, -1),
                                 .events = POLLIN};
    lua_settop(L, 0);
  }
  EQUAL(poll(watched, 2, 0), 0);
  script(L, "two:close()");
  EQUAL(poll(watched, 1, 0), 0);
  script(L, "require 'lze'.default().context:close()");
  EQUAL(poll(watched, 1, 0), 1);
  for (int i = 0; i < 2; i++) MUST(zeEventDestroy(events[i]));
  MUST(zeEventPoolDestroy(pool));
  script(L, "return pcall(one.fd, one)");
  CHECK(!lua_toboolean(L, 1));
  CODE(LZE_OK, lze->close(L, &error));
}

/* --- failures ----------------------------------------------------------- */

/* An allocator that can be set to fail. */
static bool refuse;

static void *allocator(void *userdata, void *p, size_t old, size_t size) {
  (void)userdata;
  (void)old;
  if (size == 0) {
    free(p);
    return NULL;
  }
  return refuse && p == NULL ? NULL : realloc(p, size);
}

static void test_no_memory(void) {
  lua_State *L = lua_state_of(allocator, NULL);
  lua_atpanic(L, panic);
  refuse = true;
  CODE(LZE_EMEMORY, lze->open(L, &error));
  refuse = false;
  CODE(LZE_OK, lze->open(L, &error));
  CODE(LZE_OK, lze->push_device(L, "0", &error));
  lua_pushglobaltable(L); /* empty, as no library was opened */
  lua_pushnil(L);
  CHECK(lua_next(L, -2) == 0);
  lua_pushliteral(L, "");
  CHECK(!lua_getmetatable(L, -1));
  lua_settop(L, 1);
  refuse = true;
  int one = 1;
  int *p = allocate(64);
  lze_BufferSpec spec = {.size = sizeof spec, .pointer = p, .type = "int",
                         .count = 4, .release = release, .userdata = &one};
  released = 0;
  CODE(LZE_EMEMORY, lze->push_buffer(L, &spec, &error));
  CODE(LZE_EMEMORY, lze->make_buffer(L, "int", 4, "shared", 0, &error));
  refuse = false;
  EQUAL(lua_gettop(L), 1);
  EQUAL(released, 0);
  lua_close(L);
  EQUAL(released, 0);
  MUST(zeMemFree(context, p));
}

/* If the first memory of a state is another's, or its context is the host's, it
   also reads the variables, and reports the messages of a build. */
static void test_configured(void) {
  lua_State *L = state_open(), *M;
  uint64_t token;
  CODE(LZE_OK, lze->make_buffer(L, "int", 4, "shared", 0, &error));
  CODE(LZE_OK, lze->export_buffer(L, 1, &token, &error));
  M = state_open();
  setenv("LZE_SYNC", "some", 1);
  REFUSED(LZE_EMISUSE, "LZE_SYNC=some: 0 or 1 expected",
          lze->import_buffer(M, token, &error));
  unsetenv("LZE_SYNC");
  lua_close(M);
  CODE(LZE_OK, lze->export_buffer(L, 1, &token, &error));
  M = state_open();
  CODE(LZE_OK, lze->import_buffer(M, token, &error));
  script(M, "return pcall(require 'lze'.load, 'kernels/spec.spv', "
            "{options = '-cl-bogus'})");
  CHECK(!lua_toboolean(M, 2));
  lua_close(M);
  M = state_open();
  setenv("LZE_SYNC", "some", 1);
  REFUSED(LZE_EMISUSE, "LZE_SYNC=some: 0 or 1 expected",
          lze->push_wrapped_device(M, driver, device, context, &error));
  unsetenv("LZE_SYNC");
  lua_close(M);
  lua_close(L);
}

static void test_failure(void) {
  lua_State *L = state_open();
  lze_ErrorInfo e;
  lze_PlanRef *plan;
  script(L, "return require 'lze'.graph():call('c', function() "
            "error(setmetatable({result = 77}, {__tostring = function() "
            "return 'mine' end})) end):compile()");
  CODE(LZE_OK, lze->keep_plan(L, 1, &plan, &error));
  EQUAL(lze->run_plan(L, plan, &e), LZE_EMISUSE);
  EQUAL(e.result, 0);
  CHECK(strcmp(e.message, "mine") == 0);
  lze->drop_plan(plan);
  lua_settop(L, 0);
  /* Another library is loaded as lze. */
  lua_State *M = luaL_newstate();
  luaL_openlibs(M);
  script(M, "package.loaded.lze = {}");
  REFUSED(LZE_EMISUSE, "package.loaded.lze is not of this library",
          lze->open(M, &error));
  lua_close(M);
  EQUAL(lze->make_buffer(L, "char", (size_t)1 << 60, "shared", 0, &e),
        LZE_EFAILED);
  CHECK(e.result != 0 && strstr(e.message, "zeMemAllocShared"));
  REFUSED(LZE_EMISUSE, "no device matches",
          lze->push_device(L, "no such device", &error));
  EQUAL(lua_gettop(L), 0);
  lua_close(L);
}

/* Work on as many buffers as argument 1 says. */
static int work_with(lua_State *L) {
  const lze_WorkSpec spec = {.size = sizeof spec, .name = "trial",
                             .count = (int)lua_tointeger(L, 1)};
  lze->work(L, &spec, 1);
  return 0;
}

/* Work that does nothing, on the buffer at -1 alone or before its event. */
static int step_over(void *userdata, lze_WorkFailure *failure) {
  (void)userdata;
  (void)failure;
  return LZE_WORK_DONE;
}

static void work_held(void *userdata) { (void)userdata; }

static void work_left(void *userdata, int left) {
  (void)userdata;
  (void)left;
}

static int work_on(lua_State *L) {
  const lze_WorkSpec spec = {.size = sizeof spec, .name = "trial", .count = 1,
                             .buffers = {-1}, .step = step_over,
                             .hold = work_held, .release = work_left};
  lua_settop(L, 1);
  lze->work(L, &spec, 1);
  lze->work(L, &spec, 0);
  return 1;
}

static void test_work_refused(void) {
  lua_State *L = state_open();
  lua_register(L, "work_on", work_on);
  script(L, "return work_on(require 'lze'.buffer('int', 4)):wait()");
  CHECK(lua_toboolean(L, 1));
  lua_settop(L, 0);
  lua_register(L, "work", work_with);
  script(L, "return select(2, pcall(work, 5)), select(2, pcall(work, -1))");
  CHECK(strstr(lua_tostring(L, 1), "trial: 5 buffers, 0 to 4 expected"));
  CHECK(strstr(lua_tostring(L, 2), "trial: -1 buffers, 0 to 4 expected"));
  lua_close(L);
}

/* --- plans -------------------------------------------------------------- */

static void test_plans(void) {
  lua_State *L = state_open();
  script(L, "local lze = require 'lze' "
            "x = lze.buffer('int', {2, 3}) y = lze.buffer('int', 2) "
            "local g = lze.graph 'squares' "
            "g:input(x, 'every') "
            "g:task('square', lze.load 'kernels/spec.spv'.square, 2, x, y) "
            "g:output(y, 'every') "
            "return y, g:compile(), x");
  lze_PlanRef *plan, *other;
  lze_BufferInfo info = {.size = sizeof info};
  REFUSED(LZE_EMISUSE, "plan expected, got buffer",
          lze->keep_plan(L, 1, &plan, &error));
  CHECK(plan == NULL);
  CODE(LZE_OK, lze->keep_plan(L, 2, &plan, &error));
  CODE(LZE_OK, lze->keep_plan(L, 2, &other, &error));
  CODE(LZE_OK, lze->get_buffer(L, 1, &info, &error));
  const int *out = info.pointer;
  CODE(LZE_OK, lze->get_buffer(L, 3, &info, &error));
  int *in = info.pointer;
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCCOLLECT);
  for (int i = 0; i < 100; i++) {
    in[0] = i;
    CODE(LZE_OK, lze->run_plan(L, plan, &error));
    EQUAL(out[0], i * i);
  }
  EQUAL(lua_gettop(L), 0);
  in[1] = 7;
  CODE(LZE_OK, lze->start_plan(L, other, &error));
  CODE(LZE_OK, lze->wait_event(L, 1, 60, &error));
  EQUAL(out[1], 49);
  lze->drop_plan(other);
  lze->drop_plan(NULL);

  /* By a state that has its own plan. */
  lua_State *M = state_open();
  script(M, "return require 'lze'.graph():call('c', function() n = 1 end)"
            ":compile()");
  CODE(LZE_OK, lze->keep_plan(M, 1, &other, &error));
  REFUSED(LZE_EMISUSE, "another state", lze->run_plan(M, plan, &error));
  REFUSED(LZE_EMISUSE, "another state", lze->start_plan(M, plan, &error));
  EQUAL(lua_getglobal(M, "n"), LUA_TNIL);
  CODE(LZE_OK, lze->close(M, &error));
  lze->drop_plan(other);
  script(L, "x:close()");
  REFUSED(LZE_EMISUSE, "graph squares: a buffer that it uses is closed",
          lze->run_plan(L, plan, &error));
  REFUSED(LZE_EMISUSE, "the plan is null", lze->run_plan(L, NULL, &error));
  CODE(LZE_OK, lze->close(L, &error));
  REFUSED(LZE_EMISUSE, "closed", lze->run_plan(NULL, plan, &error));
  lze->drop_plan(plan);
}

static lze_PlanRef *inner;
static int inner_codes[3];

/* A plan's callback that runs other plans: its own, one on the same buffer, and
   one that it closes. */
static int call_inside(lua_State *L) {
  lze_ErrorInfo error;
  static int n;
  inner_codes[n++ % 3] = lze->run_plan(L, inner, &error);
  return 0;
}

/* Plans that run immediately, and plans that cannot. */
static void test_runs(void) {
  lua_State *L = state_open();
  lua_register(L, "call", call_inside);
  script(L, "local lze = require 'lze' m = lze.load 'kernels/spec.spv' "
            "x = lze.buffer('int', 4) y = lze.buffer('uint', 1) "
            "plan = lze.graph 'plain':task('add', m.add, 4, x, 1):compile() "
            "long = lze.graph 'long':task('spin', m.spin, 1, y, 60000000)"
            ":compile() "
            "outer = lze.graph 'outer':task('add', m.add, 4, x, 10)"
            ":call('call', call):task('more', m.add, 4, x, 100):compile() "
            "return x, plan, long, outer");
  lze_PlanRef *plan, *slow, *outer;
  lze_BufferInfo info = {.size = sizeof info};
  CODE(LZE_OK, lze->get_buffer(L, 1, &info, &error));
  const int *x = info.pointer;
  CODE(LZE_OK, lze->keep_plan(L, 2, &plan, &error));
  CODE(LZE_OK, lze->keep_plan(L, 3, &slow, &error));
  CODE(LZE_OK, lze->keep_plan(L, 4, &outer, &error));
  lua_settop(L, 0);

  /* Longer than lze waits without other checks. */
  for (int i = 0; i < 3; i++) CODE(LZE_OK, lze->run_plan(L, slow, &error));

  /* In a callback, while an earlier run has not ended. */
  inner = plan;
  for (int i = 0; i < 3; i++) CODE(LZE_OK, lze->run_plan(L, plan, &error));
  EQUAL(x[3], 3);
  for (int i = 0; i < 2; i++) CODE(LZE_OK, lze->run_plan(L, outer, &error));
  EQUAL(x[3], 3 + 2 * 111);
  inner = outer;
  CODE(LZE_OK, lze->run_plan(L, outer, &error));
  EQUAL(x[3], 3 + 2 * 111 + 110);
  EQUAL(inner_codes[0], LZE_OK);
  EQUAL(inner_codes[1], LZE_OK);
  EQUAL(inner_codes[2], LZE_EMISUSE);

  /* After commands that a script has enqueued, and after a started run. */
  script(L, "m.add(4, x, 1000)");
  CODE(LZE_OK, lze->run_plan(L, plan, &error));
  EQUAL(x[0], 1336);
  CODE(LZE_OK, lze->start_plan(L, plan, &error));
  CODE(LZE_OK, lze->run_plan(L, plan, &error));
  EQUAL(x[0], 1338);
  lua_settop(L, 0);

  /* Changed, then closed. */
  script(L, "plan:set('add', 'n', 5)");
  for (int i = 0; i < 3; i++) CODE(LZE_OK, lze->run_plan(L, plan, &error));
  EQUAL(x[0], 1353);
  script(L, "plan:close()");
  REFUSED(LZE_EMISUSE, "closed", lze->run_plan(L, plan, &error));
  REFUSED(LZE_EMISUSE, "closed", lze->start_plan(L, plan, &error));
  script(L, "m:close()");
  REFUSED(LZE_EMISUSE, "closed", lze->run_plan(L, slow, &error));
  EQUAL(lua_gettop(L), 0);
  CODE(LZE_OK, lze->close(L, &error));
  REFUSED(LZE_EMISUSE, "closed", lze->run_plan(L, slow, &error));
  lze->drop_plan(plan);
  lze->drop_plan(slow);
  lze->drop_plan(outer);
}

/* With LZE_CHECK=1 every run is checked, not only the first. */
static void test_checked_runs(void) {
  setenv("LZE_CHECK", "1", 1);
  lua_State *L = state_open();
  script(L, "local lze = require 'lze' m = lze.load 'kernels/spec.spv' "
            "x = lze.buffer('int', 4) "
            "return lze.graph 'over':task('add', m.add, 4, x, 1):compile()");
  lze_PlanRef *plan;
  CODE(LZE_OK, lze->keep_plan(L, 1, &plan, &error));
  unsetenv("LZE_CHECK");
  lua_settop(L, 0);
  for (int i = 0; i < 3; i++) CODE(LZE_OK, lze->run_plan(L, plan, &error));
  lua_getglobal(L, "x");
  lze_BufferInfo info = {.size = sizeof info};
  CODE(LZE_OK, lze->get_buffer(L, 1, &info, &error));
  for (int i = 0; i < 2; i++) {
    ((int *)info.pointer)[4]++;
    REFUSED(LZE_EMISUSE, "memory outside a buffer was written",
            lze->run_plan(L, plan, &error));
  }
  CODE(LZE_OK, lze->run_plan(L, plan, &error));
  EQUAL(((int *)info.pointer)[3], 6);
  CODE(LZE_OK, lze->close(L, &error));
  lze->drop_plan(plan);
}

/* --- states and threads ------------------------------------------------- */

typedef struct Shared {
  pthread_t thread;
  uint64_t token;
  int sum;
} Shared;

static void *shared_run(void *argument) {
  Shared *s = argument;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (lze->open(L, NULL) != LZE_OK ||
      lze->import_buffer(L, s->token, NULL) != LZE_OK)
    return NULL;
  lua_setglobal(L, "x");
  if (luaL_dostring(L, "local lze = require 'lze' "
                       "lze.load 'kernels/spec.spv'.square(#x, x, x) "
                       "local s = 0 for i = 1, #x do s = s + x[i] end "
                       "return s") == LUA_OK)
    s->sum = (int)lua_tointeger(L, -1);
  lua_close(L);
  return NULL;
}

/* The state that made a buffer is closed before another thread uses it. */
static void test_share(void) {
  lua_State *L = state_open();
  Shared shared[4];
  for (int i = 0; i < 4; i++) {
    script(L, "return require 'lze'.buffer('int', {1, 2, 3, 4})");
    CODE(LZE_OK, lze->export_buffer(L, -1, &shared[i].token, &error));
    shared[i].sum = 0;
  }
  lua_close(L);
  for (int i = 0; i < 4; i++)
    pthread_create(&shared[i].thread, NULL, shared_run, &shared[i]);
  for (int i = 0; i < 4; i++) {
    pthread_join(shared[i].thread, NULL);
    EQUAL(shared[i].sum, 30);
  }
  L = state_open();
  REFUSED(LZE_EMISUSE, "imported already",
          lze->import_buffer(L, shared[0].token, &error));
  lua_pushnil(L);
  REFUSED(LZE_EMISUSE, "buffer expected, got nil",
          lze->export_buffer(L, 1, &shared[0].token, &error));
  lua_close(L);
}

/* Host memory that two states share is released by the last one. */
static void test_share_release(void) {
  int *p = allocate(64), one = 1;
  lze_BufferSpec spec = {.size = sizeof spec, .pointer = p, .type = "int",
                         .count = 4, .release = release, .userdata = &one};
  lua_State *L = state_open(), *other = state_open();
  lend_context(L);
  uint64_t token;
  released = 0;
  CODE(LZE_OK, lze->push_buffer(L, &spec, &error));
  CODE(LZE_OK, lze->export_buffer(L, 1, &token, &error));
  CODE(LZE_OK, lze->import_buffer(other, token, &error));
  lua_close(L);
  EQUAL(released, 0);
  lze_BufferInfo info = {.size = sizeof info};
  CODE(LZE_OK, lze->get_buffer(other, 1, &info, &error));
  CHECK(info.pointer == p && info.context == context);
  lua_close(other);
  EQUAL(released, 1);
  MUST(zeMemFree(context, p));
}

int main(void) {
  lze = lze_api(LZE_API_VERSION);
  CHECK(lze != NULL);
  EQUAL(lze_set_driver_path("a,b"), LZE_EMISUSE);
  EQUAL(lze_set_driver_path(NULL), LZE_OK);
  EQUAL(lze_keep_environment(0), LZE_OK);
  test_versions();
  test_not_opened();
  /* lze initialises the loader here, so that the software driver is found. */
  lua_State *L = state_open();
  lze_BufferInfo info = {.size = sizeof info};
  CODE(LZE_OK, lze->make_buffer(L, "int", 1, "shared", 0, &error));
  CODE(LZE_OK, lze->get_buffer(L, 1, &info, &error));
  lua_close(L);
  driver = info.driver;
  device = info.device;
  EQUAL(lze_set_driver_path("."), LZE_EMISUSE);
  EQUAL(lze_keep_environment(1), LZE_EMISUSE);
  ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
  MUST(zeContextCreate(driver, &desc, &context));
  test_close_inside();
  test_buffers();
  test_release();
  test_close_in_release();
  test_events();
  test_watch();
  test_no_memory();
  test_configured();
  test_failure();
  test_work_refused();
  test_plans();
  test_runs();
  test_checked_runs();
  test_share();
  test_share_release();
  MUST(zeContextDestroy(context));
  CHECK_DONE();
}
