/*
 * lze_capi.c - the table of functions of lze.h.
 * SPDX-License-Identifier: MIT
 *
 * Code that may raise runs in a protected call, so that no error jumps over
 * the host's frames, and in a guard.
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_state.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "host/lze_host.h"
#include "launch/lze_host_work.h"
#include "memory/lze_buffer.h"
#include "plan/lze_plan.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "lze.h"

#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/* --- errors ------------------------------------------------------------- */

/* Reports a failure without using Lua. */
static int error_set(lze_ErrorInfo *e, int code, const char *message) {
  if (e == NULL) return code;
  e->code = code;
  e->result = 0;
  if (memccpy(e->message, message, '\0', sizeof e->message) == NULL)
    e->message[sizeof e->message - 1] = '\0';
  return code;
}

static int error_none(lze_ErrorInfo *e) {
  if (e == NULL) return LZE_OK;
  e->code = LZE_OK;
  e->result = 0;
  e->message[0] = '\0';
  return LZE_OK;
}

/* Called by lua_pcall: returns the text of the error at 1, and false. For an
   lze error object it returns, instead of false, the object's result or
   true. */
static int error_read(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  bool ours = lze_is_error(L, 1);
  if (ours) {
    lua_pushliteral(L, "result");
    lua_rawget(L, 1);
  }
  if (!ours || lua_isnil(L, -1)) lua_pushboolean(L, ours);
  return 2;
}

/* Pops the error on the top of the stack and returns its code. */
static int error_take(lua_State *L, int status, lze_ErrorInfo *e) {
  int code = status == LUA_ERRMEM ? LZE_EMEMORY : LZE_EMISUSE;
  int top = lua_gettop(L) - 1;
  const char *message = "an error that has no text";
  lua_Integer result = 0;
  if (lua_checkstack(L, LUA_MINSTACK)) {
    lua_pushcfunction(L, error_read);
    lua_insert(L, -2);
    if (lua_pcall(L, 1, 2, 0) == LUA_OK) {
      if (lua_isstring(L, -2)) message = lua_tostring(L, -2);
      if (code == LZE_EMISUSE && lua_toboolean(L, -1)) code = LZE_EFAILED;
      result = lua_tointeger(L, -1);
    }
  }
  error_set(e, code, message);
  if (e != NULL) e->result = (uint32_t)result;
  lua_settop(L, top);
  return code;
}

/* Returns true if the caller's index has no value. */
static bool is_none(lua_State *L, int index) {
  int top = lua_gettop(L);
  return index > top ||
         (index < 0 && index > LUA_REGISTRYINDEX && -index > top);
}

/* Calls f in a protected call with the arguments structure at 1. The value at
   `index` is passed at 2 (`index` 0: nil; nothing if the index has no value).
   `results` values stay on the stack. */
static int api_call(lua_State *L, lua_CFunction f, void *arguments, int index,
                    int results, lze_ErrorInfo *e) {
  bool none = is_none(L, index);
  if (index != 0 && !none) index = lua_absindex(L, index);
  if (!lua_checkstack(L, LUA_MINSTACK))
    return error_set(e, LZE_EMEMORY, "no room on the Lua stack");
  lua_pushcfunction(L, f);
  lua_pushlightuserdata(L, arguments);
  if (index != 0 && !none)
    lua_pushvalue(L, index);
  else if (!none)
    lua_pushnil(L);
  int arg;
  int status = lze_protected_guarded(L, none ? 1 : 2, results, &arg);
  return status == LUA_OK ? error_none(e) : error_take(L, status, e);
}

/* --- arguments and results ---------------------------------------------- */

/* Raises unless nil, a device or a selector is at 2. */
static void body_check_device(lua_State *L) {
  if (!lua_isnil(L, 2)) lze_device_at(L, 2, "device");
  lua_settop(L, 2);
}

/* Returns the device at 2 (nil: the default one) and its context. */
static lze_Context *body_place(lua_State *L, const lze_DeviceInfo **device) {
  *device = lua_isnil(L, 2) ? lze_push_default_device(L)
                            : lze_device_at(L, 2, "device");
  lze_Context *c = lze_push_device_context(L, *device);
  *device = lze_device_in(L, c, *device);
  return c;
}

static uint64_t deadline_of(double seconds) {
  if (!(seconds >= 0) || seconds > 3.2e8) return UINT64_MAX;
  return lze_now_ns() + (uint64_t)(seconds * 1e9);
}

/* Returns the open buffer at 2, or raises. */
static lze_Buffer *body_buffer(lua_State *L) {
  lze_Buffer *b = lze_test_buffer(L, 2);
  if (b == NULL) luaL_error(L, "buffer expected, got %s", lze_describe(L, 2));
  if (!lze_buffer_is_open(b)) luaL_error(L, "the buffer is closed");
  return b;
}

/* --- the functions: a body that may raise, and the table's entry -------- */

static int open_body(lua_State *L) {
  luaL_requiref(L, "lze", luaopen_lze, 0);
  if (lze_find_state(L) == NULL)
    luaL_error(L, "package.loaded.lze is not of this library");
  return 0;
}

static int api_open(lua_State *L, lze_ErrorInfo *e) {
  return api_call(L, open_body, NULL, 0, 0, e);
}

static int api_close(lua_State *L, lze_ErrorInfo *e) {
  lua_Debug frame;
  if (!lua_checkstack(L, 1))
    return error_set(e, LZE_EMEMORY, "no room on the Lua stack");
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main = lua_tothread(L, -1);
  lua_pop(L, 1);
  const lze_State *S = lze_find_state(L);
  if (lua_getstack(main, 0, &frame) || lua_getstack(L, 0, &frame) ||
      (S != NULL && S->releasing != 0))
    return error_set(e, LZE_EMISUSE, "the state is running");
  lua_close(main);
  return error_none(e);
}

static int push_device_body(lua_State *L) {
  const char *selector = lua_touserdata(L, 1);
  if (selector == NULL) {
    lze_push_default_device(L);
  } else {
    lua_pushstring(L, selector);
    lze_push_device(L, lze_device_at(L, -1, "selector"));
  }
  return 1;
}

static int api_push_device(lua_State *L, const char *selector,
                           lze_ErrorInfo *e) {
  return api_call(L, push_device_body, (void *)selector, 0, 1, e);
}

/* The other forms of lze.wrap take a table of handles and report all errors in
   it; wrap_body makes that table. */
typedef struct Handles {
  const char *names[3];
  void *values[3];
} Handles;

static int wrap_body(lua_State *L) {
  const Handles *h = lua_touserdata(L, 1);
  body_check_device(L);
  lua_createtable(L, 0, 4);
  for (int i = 0; i < 3 && h->names[i] != NULL; i++) {
    lua_pushlightuserdata(L, h->values[i]);
    lua_setfield(L, -2, h->names[i]);
  }
  if (!lua_isnil(L, 2)) {
    lua_pushvalue(L, 2);
    lua_setfield(L, -2, "device");
  }
  lua_replace(L, 1);
  return lze_wrap(L);
}

static int api_push_wrapped_device(lua_State *L, void *driver, void *device,
                                   void *context, lze_ErrorInfo *e) {
  Handles h = {{"context", "device", driver != NULL ? "driver" : NULL},
               {context, device, driver}};
  return api_call(L, wrap_body, &h, 0, 1, e);
}

static int api_push_queue(lua_State *L, void *list, int device,
                          lze_ErrorInfo *e) {
  Handles h = {{"queue"}, {list}};
  return api_call(L, wrap_body, &h, device, 1, e);
}

static int api_push_event(lua_State *L, void *event, int device,
                          lze_ErrorInfo *e) {
  Handles h = {{"event"}, {event}};
  return api_call(L, wrap_body, &h, device, 1, e);
}

static int set_default_body(lua_State *L) {
  lze_set_default_device(L, lze_device_at(L, 2, "device"));
  return 0;
}

static int api_set_default(lua_State *L, int index, lze_ErrorInfo *e) {
  return api_call(L, set_default_body, NULL, index, 0, e);
}

static int push_buffer_body(lua_State *L) {
  const lze_BufferSpec *spec = lua_touserdata(L, 1);
  if (spec == NULL || spec->size < sizeof *spec)
    luaL_error(L, "the size of the structure is not set");
  if (spec->pointer == NULL) luaL_error(L, "the pointer is null");
  const lze_Type *type =
      spec->type != NULL ? lze_type_find(spec->type) : NULL;
  if (type == NULL)
    luaL_error(L, "unknown type '%s'",
               spec->type != NULL ? spec->type : "NULL");
  if (spec->count > PTRDIFF_MAX) luaL_error(L, "the count is too large");
  const lze_DeviceInfo *d;
  lze_Context *c = body_place(L, &d);
  lze_push_usm(L, c, d, spec->pointer, type, (lua_Integer)spec->count,
               spec->release, spec->userdata);
  return 1;
}

static int api_push_buffer(lua_State *L, const lze_BufferSpec *spec,
                           lze_ErrorInfo *e) {
  return api_call(L, push_buffer_body, (void *)spec,
                  spec != NULL ? spec->device : 0, 1, e);
}

typedef struct MakeBuffer {
  const char *type, *usage;
  size_t count;
} MakeBuffer;

static int make_buffer_body(lua_State *L) {
  const MakeBuffer *m = lua_touserdata(L, 1);
  body_check_device(L);
  if (m->count > PTRDIFF_MAX) luaL_error(L, "the count is too large");
  lua_pushcfunction(L, lze_buffer_new);
  lua_pushstring(L, m->type);
  lua_pushinteger(L, (lua_Integer)m->count);
  lua_createtable(L, 0, 2);
  lua_pushstring(L, m->usage);
  lua_setfield(L, -2, "usage");
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "device");
  lua_call(L, 3, 1);
  return 1;
}

static int api_make_buffer(lua_State *L, const char *type, size_t count,
                           const char *usage, int device, lze_ErrorInfo *e) {
  MakeBuffer m = {type, usage, count};
  return api_call(L, make_buffer_body, &m, device, 1, e);
}

static void buffer_inform(const lze_Buffer *b, lze_BufferInfo *info) {
  static const char *const usages[] = {"shared", "device", "host"};
  const lze_Storage *s = b->storage;
  info->pointer = s->pointer != NULL ? s->pointer + b->offset : NULL;
  info->count = (size_t)b->count;
  info->bytes = info->count * b->type->bytes;
  info->type = b->type->name;
  info->element_bytes = b->type->bytes;
  info->usage = usages[s->usage];
  info->driver = s->device->driver->handle;
  info->device = s->device->handle;
  info->context = s->o.context->handle;
}

static bool info_is_good(const lze_BufferInfo *info) {
  return info != NULL && info->size >= sizeof *info;
}

static int get_buffer_body(lua_State *L) {
  lze_BufferInfo *info = lua_touserdata(L, 1);
  if (!info_is_good(info))
    luaL_error(L, "the size of the structure is not set");
  buffer_inform(body_buffer(L), info);
  return 0;
}

/* An array may need evaluation, and an error needs a message, so both go
   through Lua. For an open buffer nothing can raise. */
static int api_get_buffer(lua_State *L, int index, lze_BufferInfo *info,
                          lze_ErrorInfo *e) {
  const lze_Buffer *b =
      index == 0 || is_none(L, index)
          ? NULL
          : lze_test_box(L, index, lze_buffer_kind);
  if (b == NULL || !lze_buffer_is_open(b) || !info_is_good(info))
    return api_call(L, get_buffer_body, info, index, 0, e);
  buffer_inform(b, info);
  return error_none(e);
}

static int wait_buffer_body(lua_State *L) {
  const int *write = lua_touserdata(L, 1);
  const lze_Buffer *b = body_buffer(L);
  lze_storage_wait(L, b->storage, b->offset,
                   b->offset + (size_t)b->count * b->type->bytes, *write != 0);
  return 0;
}

static int api_wait_buffer(lua_State *L, int index, int write,
                           lze_ErrorInfo *e) {
  return api_call(L, wait_buffer_body, &write, index, 0, e);
}

/* The arguments of a wait, and its result. */
typedef struct Wait {
  double seconds;
  bool done;
} Wait;

static int wait_event_body(lua_State *L) {
  Wait *w = lua_touserdata(L, 1);
  const lze_Event *ev = lze_test_event(L, 2);
  if (ev == NULL) luaL_error(L, "event expected, got %s", lze_describe(L, 2));
  lze_Command *c = lze_event_command(ev);
  if (c == NULL) luaL_error(L, "the event is closed");
  w->done = lze_command_wait(L, c, deadline_of(w->seconds));
  return 0;
}

static int wait_all_body(lua_State *L) {
  Wait *w = lua_touserdata(L, 1);
  w->done = lze_state_drain(L, deadline_of(w->seconds));
  return 0;
}

static int wait_call(lua_State *L, lua_CFunction f, double seconds, int index,
                     lze_ErrorInfo *e) {
  Wait w = {seconds, false};
  int code = api_call(L, f, &w, index, 0, e);
  if (code != LZE_OK || w.done) return code;
  return error_set(e, LZE_ETIMEOUT, "not done in that time");
}

static int api_wait_event(lua_State *L, int index, double seconds,
                          lze_ErrorInfo *e) {
  return wait_call(L, wait_event_body, seconds, index, e);
}

static int api_wait_all(lua_State *L, double seconds, lze_ErrorInfo *e) {
  return wait_call(L, wait_all_body, seconds, 0, e);
}

typedef struct Handle {
  void *handle;
  const char *kind;
} Handle;

static int get_handle_body(lua_State *L) {
  Handle *h = lua_touserdata(L, 1);
  h->kind = lze_box_kind(L, 2);
  if (h->kind == NULL)
    luaL_error(L, "an object of lze expected, got %s", lze_describe(L, 2));
  lua_getfield(L, 2, "handle");
  h->handle = lua_touserdata(L, -1);
  return 0;
}

static int api_get_handle(lua_State *L, int index, void **handle,
                          const char **kind, lze_ErrorInfo *e) {
  Handle h = {NULL, NULL};
  if (handle == NULL) return error_set(e, LZE_EMISUSE, "the handle is null");
  int code = api_call(L, get_handle_body, &h, index, 0, e);
  if (code != LZE_OK) return code;
  *handle = h.handle;
  if (kind != NULL) *kind = h.kind;
  return code;
}

static int export_body(lua_State *L) {
  uint64_t *token = lua_touserdata(L, 1);
  body_buffer(L);
  *token = lze_export(L, 2);
  return 0;
}

static int api_export_buffer(lua_State *L, int index, uint64_t *token,
                             lze_ErrorInfo *e) {
  if (token == NULL) return error_set(e, LZE_EMISUSE, "the token is null");
  return api_call(L, export_body, token, index, 0, e);
}

static int import_body(lua_State *L) {
  const uint64_t *token = lua_touserdata(L, 1);
  lze_push_import(L, *token);
  return 1;
}

static int api_import_buffer(lua_State *L, uint64_t token, lze_ErrorInfo *e) {
  return api_call(L, import_body, &token, 0, 1, e);
}

/* --- tensors ------------------------------------------------------------ */

/* The arguments of an export, and its result. */
typedef struct Export {
  const int64_t *shape;
  int rank;
  void *tensor;
} Export;

static int export_dlpack_body(lua_State *L) {
  Export *x = lua_touserdata(L, 1);
  const bool array = lze_is_array(L, 2);
  body_buffer(L);
  x->tensor = lze_dlpack_export(L, 2, x->shape, x->rank, array);
  return 0;
}

static int api_export_dlpack(lua_State *L, int index, const int64_t *shape,
                             int rank, struct DLManagedTensorVersioned **tensor,
                             lze_ErrorInfo *e) {
  Export x = {shape, shape != NULL ? rank : 1, NULL};
  if (tensor == NULL) return error_set(e, LZE_EMISUSE, "the tensor is null");
  int code = api_call(L, export_dlpack_body, &x, index, 0, e);
  *tensor = x.tensor;
  return code;
}

/* The arguments of an import, and true if the tensor must be deleted now. */
typedef struct Tensor {
  void *tensor;
  bool over;
} Tensor;

static int import_dlpack_body(lua_State *L) {
  Tensor *t = lua_touserdata(L, 1);
  const lze_DeviceInfo *d;
  lze_Context *c = body_place(L, &d);
  t->over = lze_dlpack_import(L, c, d, t->tensor);
  return 1;
}

static int api_import_dlpack(lua_State *L,
                             struct DLManagedTensorVersioned *tensor,
                             int device, lze_ErrorInfo *e) {
  Tensor t = {tensor, false};
  int code = api_call(L, import_dlpack_body, &t, device, 1, e);
  if (code == LZE_OK && t.over) lze_dlpack_delete(tensor);
  return code;
}

/* --- plans -------------------------------------------------------------- */

struct lze_PlanRef {
  lze_State *state;             /* NULL after the state ends */
  lua_State *main;
  int reference;                /* of the plan, in the registry */
  lze_PlanBox *box;             /* of the plan that `reference` keeps alive */
  lua_CFunction run, start;
  lze_PlanRef *prev, *next;     /* in the state's list */
};

void lze_plans_forget(lze_State *S) {
  for (lze_PlanRef *p = S->plans; p != NULL; p = p->next) p->state = NULL;
  S->plans = NULL;
}

static lua_CFunction plan_method(lua_State *L, const char *name) {
  lua_getfield(L, 2, name);
  lua_CFunction f = lua_tocfunction(L, -1);
  lua_pop(L, 1);
  return f;
}

static int keep_plan_body(lua_State *L) {
  lze_PlanRef *p = lua_touserdata(L, 1);
  if (lze_box_kind(L, 2) != lze_plan_kind)
    luaL_error(L, "plan expected, got %s", lze_describe(L, 2));
  p->box = lua_touserdata(L, 2);
  p->run = plan_method(L, "run");
  p->start = plan_method(L, "start");
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  p->main = lua_tothread(L, -1);
  p->state = lze_state(L);
  lua_pushvalue(L, 2);
  p->reference = luaL_ref(L, LUA_REGISTRYINDEX);
  p->next = p->state->plans;
  if (p->next != NULL) p->next->prev = p;
  p->state->plans = p;
  return 0;
}

static int api_keep_plan(lua_State *L, int index, lze_PlanRef **plan,
                         lze_ErrorInfo *e) {
  if (plan == NULL) return error_set(e, LZE_EMISUSE, "the plan is null");
  lze_PlanRef *p = calloc(1, sizeof *p);
  if (p == NULL) return error_set(e, LZE_EMEMORY, LZE_NO_MEMORY_TEXT);
  int code = api_call(L, keep_plan_body, p, index, 0, e);
  *plan = code == LZE_OK ? p : NULL;
  if (code != LZE_OK) free(p);
  return code;
}

static void api_drop_plan(lze_PlanRef *p) {
  if (p == NULL) return;
  if (p->state != NULL) {
    if (p->prev != NULL)
      p->prev->next = p->next;
    else
      p->state->plans = p->next;
    if (p->next != NULL) p->next->prev = p->prev;
    /* This sets an existing field, so it needs no memory and raises nothing. */
    if (lua_checkstack(p->main, 4))
      luaL_unref(p->main, LUA_REGISTRYINDEX, p->reference);
  }
  free(p);
}

/* Returns LZE_OK, or reports why the state cannot run the plan. */
static int plan_check(lua_State *L, const lze_PlanRef *p, lze_ErrorInfo *e) {
  if (p == NULL) return error_set(e, LZE_EMISUSE, "the plan is null");
  if (p->state == NULL)
    return error_set(e, LZE_EMISUSE, "the state of the plan is closed");
  if (lua_topointer(L, LUA_REGISTRYINDEX) !=
      lua_topointer(p->main, LUA_REGISTRYINDEX))
    return error_set(e, LZE_EMISUSE, "the plan is of another state");
  return LZE_OK;
}

static int plan_call(lua_State *L, const lze_PlanRef *p, lua_CFunction method,
                     int results, lze_ErrorInfo *e) {
  if (!lua_checkstack(L, LUA_MINSTACK))
    return error_set(e, LZE_EMEMORY, "no room on the Lua stack");
  lua_pushcfunction(L, method);
  lua_rawgeti(L, LUA_REGISTRYINDEX, p->reference);
  int status = lua_pcall(L, 1, results, 0);
  return status == LUA_OK ? error_none(e) : error_take(L, status, e);
}

/* A run that needs Lua to begin or to end. */
typedef struct Rest {
  const lze_Plan *plan;
  lze_Attempt attempt;
} Rest;

static int rest_body(lua_State *L) {
  const Rest *r = lua_touserdata(L, 1);
  lze_plan_complete(L, r->plan, &r->attempt);
  return 0;
}

static int api_run_plan(lua_State *L, lze_PlanRef *p, lze_ErrorInfo *e) {
  int code = plan_check(L, p, e);
  if (code != LZE_OK) return code;
  lze_Plan *plan = p->box->plan;
  lze_Attempt attempt;
  if (plan == NULL || !lze_plan_attempt(plan, &attempt))
    return plan_call(L, p, p->run, 0, e);
  if (attempt.over) return error_none(e);
  Rest rest = {plan, attempt};
  /* A hook may wait for the command before we do. */
  if (attempt.command != NULL) lze_command_own(attempt.command);
  if (lua_checkstack(L, LUA_MINSTACK)) { /* no guard: it allocates nothing */
    lua_pushcfunction(L, rest_body);
    lua_pushlightuserdata(L, &rest);
    int status = lua_pcall(L, 1, 0, 0);
    code = status == LUA_OK ? error_none(e) : error_take(L, status, e);
  } else {
    code = error_set(e, LZE_EMEMORY, "no room on the Lua stack");
  }
  if (attempt.command != NULL) lze_command_disown(attempt.command);
  return code;
}

static int api_start_plan(lua_State *L, lze_PlanRef *p, lze_ErrorInfo *e) {
  int code = plan_check(L, p, e);
  return code != LZE_OK ? code : plan_call(L, p, p->start, 1, e);
}

/* --- host work ----------------------------------------------------------- */

static void api_work(lua_State *L, const lze_WorkSpec *spec, int wait) {
  if (spec->size < sizeof *spec)
    luaL_error(L, "the size of the structure is not set");
  if (spec->count < 0 || spec->count > LZE_WORK_BUFFERS)
    luaL_error(L, "%s: %d buffers, 0 to %d expected", spec->name, spec->count,
               (int)LZE_WORK_BUFFERS);
  lze_host_work(L, spec, wait != 0);
}

static void api_raise(lua_State *L, const lze_WorkFailure *failure) {
  lze_raise_work(L, failure, NULL);
}

static lze_Copies *api_find_copies(lua_State *L, int index) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b == NULL || !lze_buffer_is_open(b))
    luaL_error(L, "an open buffer expected, got %s", lze_describe(L, index));
  return lze_host_queue(L, b->storage->o.context, b->storage->device);
}

/* --- the table ---------------------------------------------------------- */

static const lze_Api api_table = {
    .version = LZE_API_VERSION,
    .size = sizeof(lze_Api),
    .open = api_open,
    .close = api_close,
    .push_device = api_push_device,
    .push_wrapped_device = api_push_wrapped_device,
    .set_default = api_set_default,
    .push_buffer = api_push_buffer,
    .make_buffer = api_make_buffer,
    .get_buffer = api_get_buffer,
    .wait_buffer = api_wait_buffer,
    .push_queue = api_push_queue,
    .push_event = api_push_event,
    .wait_event = api_wait_event,
    .wait_all = api_wait_all,
    .get_handle = api_get_handle,
    .export_buffer = api_export_buffer,
    .import_buffer = api_import_buffer,
    .keep_plan = api_keep_plan,
    .drop_plan = api_drop_plan,
    .run_plan = api_run_plan,
    .start_plan = api_start_plan,
    .export_dlpack = api_export_dlpack,
    .import_dlpack = api_import_dlpack,
    .work = api_work,
    .raise = api_raise,
    .note = lze_note,
    .find_copies = api_find_copies,
    .copy = lze_host_copy,
};

API const lze_Api *lze_api(unsigned version) {
  return version == LZE_API_VERSION ? &api_table : NULL;
}

API int lze_set_driver_path(const char *directory) {
  return lze_set_drivers(directory) ? LZE_OK : LZE_EMISUSE;
}

API int lze_keep_environment(int keep) {
  return lze_set_environment(keep != 0) ? LZE_OK : LZE_EMISUSE;
}

void lze_open_capi(lua_State *L) {
  lua_pushlightuserdata(L, (void *)&api_table);
  lua_setfield(L, LUA_REGISTRYINDEX, LZE_API_KEY);
}
