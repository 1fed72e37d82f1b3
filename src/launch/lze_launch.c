/*
 * lze_launch.c - launches: ranges, groups and driver calls.
 * SPDX-License-Identifier: MIT
 */
#include "launch/lze_launch.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_option.h"
#include "base/lze_state.h"
#include "device/lze_loader.h"
#include "launch/lze_build.h"
#include "launch/lze_group.h"
#include "launch/lze_kernel.h"
#include "memory/lze_buffer.h"
#include "memory/lze_snapshot.h"
#include "queue/lze_canary.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_readers.h"
#include "queue/lze_record.h"

#include <stdio.h>
#include <string.h>

static const char *const policy_names[] = {"lze", "driver", "largest",
                                           "tornado", "tuned", NULL};

static const lua_Integer DIMENSION_MAX = UINT32_MAX;

/* Returns a number of work-items, or an offset or group, in one dimension. */
static lua_Integer range_number(lua_State *L, const char *kernel, int index,
                                const char *what, lua_Integer low) {
  int exact;
  lua_Integer n = lua_tointegerx(L, index, &exact);
  if (!exact || lua_type(L, index) != LUA_TNUMBER)
    luaL_error(L, "%s: %s: integer expected, got %s", kernel, what,
               lze_describe(L, index));
  if (n < low || n > DIMENSION_MAX)
    luaL_error(L, "%s: %s: %I is outside %I..4294967295", kernel, what,
               (LUAI_UACINT)n, (LUAI_UACINT)low);
  return n;
}

/* Reads a number, or an array of one to three numbers, at `index`.  Returns
   their count. */
int lze_range_triple(lua_State *L, const char *kernel, int index,
                     const char *what, lua_Integer low,
                     lua_Integer out[3]) {
  if (lua_type(L, index) != LUA_TTABLE) {
    out[0] = range_number(L, kernel, index, what, low);
    return 1;
  }
  lua_Unsigned n = lua_rawlen(L, index);
  if (n < 1 || n > 3)
    luaL_error(L, "%s: %s: one to three numbers expected, got %d", kernel,
               what, (int)n);
  for (int i = 0; i < (int)n; i++) {
    lua_rawgeti(L, index, i + 1);
    out[i] = range_number(L, kernel, -1, what, low);
    lua_pop(L, 1);
  }
  return (int)n;
}

lze_Policy lze_check_policy(lua_State *L, const char *word,
                            const char *where) {
  for (int i = 0; policy_names[i] != NULL; i++)
    if (strcmp(policy_names[i], word) == 0) return (lze_Policy)i;
  luaL_error(L, "%s: unknown policy '%s' (known: lze, driver, largest, "
                "tornado, tuned)", where, word);
  return LZE_POLICY_LZE;
}

static void launch_check_used(lua_State *L, const lze_Kernel *k, int index) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b == NULL)
    luaL_error(L, "%s: uses: buffer expected, got %s", k->name,
               lze_describe(L, index));
  if (!lze_buffer_is_open(b))
    luaL_error(L, "%s: uses: the buffer is closed", k->name);
  if (b->storage->o.context != k->o.context)
    luaL_error(L, "%s: uses: a buffer of another context", k->name);
}

static const char *const launch_keys[] = {"after",  "group", "offset",
                                          "policy", "queue", "signal",
                                          "uses",   NULL};

void lze_launch_check_queue(lua_State *L, const lze_Kernel *k,
                            const lze_Queue *q) {
  if (q->o.context != k->o.context || q->device != k->module->device)
    luaL_error(L, "%s: queue: a queue of another device or context than the "
                  "kernel", k->name);
  if (q->copy_engine)
    luaL_error(L, "%s: queue: a copy engine runs no kernels", k->name);
}

/* Reads `group` or `offset` at `index`.  Missing values are `none`, which is
   the only valid value in dimensions that the range lacks. */
static void launch_triple(lua_State *L, const lze_Kernel *k, int index,
                          const char *key, int dims, lua_Integer none,
                          lua_Integer out[3]) {
  out[0] = out[1] = out[2] = none;
  lze_range_triple(L, k->name, index, key, none, out);
  for (int i = dims; i < 3; i++)
    if (out[i] != none)
      luaL_error(L, "%s: %s: %I in dimension %d of a range that has %d",
                 k->name, key, (LUAI_UACINT)out[i], i + 1, dims);
}

/* Reads option `key`, whose value is at the top of the stack.  The slots from
   `kept` on are reserved for objects. */
static void launch_option(lua_State *L, const lze_Kernel *k, const char *key,
                          lze_Launch *l, int kept) {
  int value = lua_gettop(L);
  lua_Integer numbers[3];
  if (strcmp(key, "group") == 0) {
    launch_triple(L, k, value, key, l->dims, 1, numbers);
    for (int i = 0; i < 3; i++) l->group[i] = (uint32_t)numbers[i];
  } else if (strcmp(key, "offset") == 0) {
    launch_triple(L, k, value, key, l->dims, 0, numbers);
    for (int i = 0; i < 3; i++) l->offset[i] = (uint64_t)numbers[i];
  } else if (strcmp(key, "policy") == 0) {
    if (lua_type(L, value) != LUA_TSTRING)
      luaL_error(L, "%s: policy: string expected, got %s", k->name,
                 lze_describe(L, value));
    if (lze_has_zero(L, value))
      luaL_error(L, "%s: policy: it contains a zero byte", k->name);
    l->policy = lze_check_policy(L, lua_tostring(L, value), k->name);
  } else if (strcmp(key, "queue") == 0) {
    if (lze_box_kind(L, value) != lze_queue_kind)
      luaL_error(L, "%s: queue: queue expected, got %s", k->name,
                 lze_describe(L, value));
    lze_Queue *q = lze_test_queue(L, value);
    if (q == NULL || q->o.closed)
      luaL_error(L, "%s: queue: the queue is closed", k->name);
    if (l->queue != NULL)
      luaL_error(L, "%s: queue: q:launch has its queue already", k->name);
    lze_launch_check_queue(L, k, q);
    l->queue = q;
    lua_copy(L, value, kept);
  } else if (strcmp(key, "after") == 0) {
    l->after = kept + 1;
    lua_copy(L, value, l->after);
  } else if (strcmp(key, "signal") == 0) {
    l->signal = kept + 3;
    lua_copy(L, value, l->signal);
  } else {
    l->uses = kept + 2;
    lua_copy(L, value, l->uses);
    if (lze_is_array(L, value) && lze_test_buffer(L, value) != NULL) {
      lze_push_array_buffer(L, value);
      lua_replace(L, l->uses);
    }
  }
}

/* Checks the buffers of `uses` at `index`: one buffer or an array of
   buffers. */
static void launch_check_uses(lua_State *L, const lze_Kernel *k, int index) {
  if (!lua_istable(L, index) || lze_is_array(L, index)) {
    launch_check_used(L, k, index);
    return;
  }
  lua_Integer n = lze_list_length(L, index);
  if (n < 0)
    luaL_error(L, "%s: uses: array expected, got a table with the key %s",
               k->name, lze_describe(L, -1));
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, index, i);
    launch_check_used(L, k, -1);
    lua_pop(L, 1);
  }
}

static void launch_use(lua_State *L, lze_Command *c, const lze_Buffer *b,
                       bool write) {
  lze_command_use(L, c, b->storage, b->offset,
                  b->offset + (size_t)b->count * b->type->bytes, write);
}

/* Registers the buffers of `uses` as written.  Returns true if there are
   any. */
static bool launch_use_all(lua_State *L, lze_Command *c, int index) {
  if (index == 0) return false;
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b != NULL) {
    launch_use(L, c, b, true);
    return true;
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, index, i);
    b = lze_test_buffer(L, -1);
    lua_pop(L, 1);
    launch_use(L, c, b, true);
  }
  return n > 0;
}

/* [-0, +4] Reads the range, or launch table, at stack index `index`, without
   running any code of the script.  The pushed values are objects that a hook
   may remove from the table. */
void lze_launch_read(lua_State *L, const lze_Kernel *k, int index,
                     lze_Launch *l) {
  lua_Integer global[3] = {1, 1, 1};
  if (lua_type(L, index) != LUA_TTABLE) {
    l->dims = 1;
    l->global[0] =
        (uint64_t)range_number(L, k->name, index, "global size", 0);
    l->global[1] = l->global[2] = 1;
    l->empty = l->global[0] == 0;
    l->given_by = lze_pinned_group(k, l->task, l->group);
    return;
  }
  l->dims = lze_range_triple(L, k->name, index, "global size", 0, global);
  for (int i = 0; i < 3; i++) l->global[i] = (uint64_t)global[i];
  l->empty = global[0] == 0 || global[1] == 0 || global[2] == 0;
  int kept = lua_gettop(L) + 1;
  lua_settop(L, kept + 3);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 &&
        lua_tointeger(L, -2) <= l->dims)
      continue;
    const bool named = lua_type(L, -2) == LUA_TSTRING && !lze_has_zero(L, -2);
    const char *key = named ? lua_tostring(L, -2) : "";
    int i = 0;
    while (launch_keys[i] != NULL && strcmp(launch_keys[i], key) != 0) i++;
    if (launch_keys[i] == NULL)
      luaL_error(L, "%s: unknown key %s in a launch table (known: after, "
                    "group, offset, policy, queue, signal, uses)",
                 k->name, lze_describe(L, -2));
    launch_option(L, k, key, l, kept);
  }
  l->given_by = l->group[0] != 0 ? "the given group"
                                 : lze_pinned_group(k, l->task, l->group);
}

void lze_launch_check_table(lua_State *L, const lze_Kernel *k,
                            const lze_Launch *l) {
  const lze_Context *context = k->o.context;
  if (l->after != 0)
    lze_check_after(L, l->after, context,
                    lua_pushfstring(L, "%s: after", k->name));
  if (l->signal != 0)
    lze_check_signal(L, l->signal, context,
                     lua_pushfstring(L, "%s: signal", k->name));
  if (l->uses != 0) launch_check_uses(L, k, l->uses);
}

/* Returns the bytes of an argument that a launch is proved to reach, or 0. */
static uint64_t launch_reach(const lze_Launch *l, const spirv_extent *reach) {
  /* 32-bit arithmetic does not wrap below this; constants are below 2^20. */
  static const int64_t narrow_end = INT64_C(0x7fc00000);
  int64_t bytes = reach->bytes;
  if (!reach->proved || l->empty) return 0;
  for (int d = 0; d < 3; d++)
    bytes += reach->by[d] * (int64_t)(l->offset[d] + l->global[d] - 1);
  return bytes < 0 || (reach->narrow && bytes >= narrow_end)
             ? 0 : (uint64_t)bytes;
}

/* Raises that the kernel accesses more memory than argument i has. */
__attribute__((noinline)) static void
launch_refuse_reach(lua_State *L, const lze_Kernel *k, const lze_Launch *l,
                    uint32_t i) {
  lua_pushfstring(L, "%I", (LUAI_UACINT)l->global[0]);
  for (int d = 1; d < l->dims; d++) {
    lua_pushfstring(L, "x%I", (LUAI_UACINT)l->global[d]);
    lua_concat(L, 2);
  }
  const char *size = lua_tostring(L, -1);
  const lze_Argument *a = &k->arguments[i];
  const uint64_t bytes = a->buffer->type->bytes;
  luaL_error(L, "%s: global size %s: argument %s has %I elements, and element "
                "%I is accessed", k->name, size, lze_argument_name(L, k, i),
             (LUAI_UACINT)a->buffer->count,
             (LUAI_UACINT)((a->reach - 1) / bytes + 1));
}

static inline void launch_check_reach(lua_State *L, const lze_Kernel *k,
                                      const lze_Launch *l) {
  const lze_Argument *a = k->arguments;
  for (uint32_t i = 0; i < k->info->arg_count; i++, a++)
    if (a->reach != 0 && a->buffer != NULL &&
        a->reach > (uint64_t)a->buffer->count * a->buffer->type->bytes)
      launch_refuse_reach(L, k, l, i);
}

ze_result_t lze_launch_prepare(const lze_Kernel *k,
                               const lze_GroupChoice *choice,
                               lze_Prepare how) {
  prepare_launch launches[LZE_MAX_PARTS];
  for (int i = 0; i < choice->count; i++)
    for (int d = 0; d < 3; d++) {
      const lze_GroupPart *p = &choice->parts[i];
      launches[i].group[d] = p->group[d];
      launches[i].count[d] = p->count[d];
      launches[i].offset[d] = i < choice->whole ? (uint32_t)p->first[d] : 0;
    }
  const lze_Driver *d = k->module->device->driver;
  const uint32_t whole = (uint32_t)choice->whole;
  const uint32_t guarded = (uint32_t)choice->count - whole;
  ze_result_t first = ZE_RESULT_SUCCESS, second = ZE_RESULT_SUCCESS;
  if (whole > 0) first = lze_prepare(d, k->whole.handle, whole, launches, how);
  if (guarded > 0)
    second =
        lze_prepare(d, k->guarded.handle, guarded, launches + whole, how);
  bool ready = first == ZE_RESULT_SUCCESS || (first == ZE_RESULT_NOT_READY &&
                                              second != ZE_RESULT_SUCCESS);
  return ready ? second : first;
}

/* Raises if a group is needed but not given. */
static void launch_need_group(lua_State *L, const lze_Kernel *k,
                              const lze_Launch *l) {
  if (k->local_arguments && l->group[0] == 0 &&
      k->info->required_group[0] == 0)
    luaL_error(L, "%s: a kernel with local memory for an argument needs "
                  "`group` in the launch table", k->name);
}

/* Returns true if the range, the policy and the group are the same as last
   time. */
static bool grouping_holds(const lze_Grouping *g, const lze_Launch *l,
                           uint64_t local_bytes) {
  const lze_GroupInput *in = &g->in;
  return g->valid && in->dims == l->dims && in->policy == l->policy &&
         in->local_bytes == local_bytes && in->given_by == l->given_by &&
         memcmp(in->global, l->global, sizeof in->global) == 0 &&
         memcmp(in->offset, l->offset, sizeof in->offset) == 0 &&
         memcmp(in->given, l->group, sizeof in->given) == 0;
}

const lze_GroupChoice *lze_launch_group(lua_State *L, lze_Kernel *k,
                                        const lze_Launch *l,
                                        uint64_t local_bytes) {
  lze_Grouping *g = k->grouping;
  lze_GroupInput *in = &g->in;
  if (grouping_holds(g, l, local_bytes)) return &g->choice;
  launch_need_group(L, k, l);
  g->valid = false;
  g->recorded = 0;
  for (uint32_t i = 0; k->reaches && i < k->info->arg_count; i++)
    k->arguments[i].reach = launch_reach(l, &k->info->args[i].reach);
  in->given_by = l->given_by;
  in->dims = l->dims;
  in->policy = l->policy;
  in->local_bytes = local_bytes;
  memcpy(in->global, l->global, sizeof in->global);
  memcpy(in->offset, l->offset, sizeof in->offset);
  memcpy(in->given, l->group, sizeof in->given);
  memset(in->suggested, 0, sizeof in->suggested);
  ze_result_t r;
  if (l->policy == LZE_POLICY_DRIVER) {
    r = ZE(zeKernelSuggestGroupSize, k->whole.handle, (uint32_t)l->global[0],
           (uint32_t)l->global[1], (uint32_t)l->global[2], &in->suggested[0],
           &in->suggested[1], &in->suggested[2]);
    if (r != ZE_RESULT_SUCCESS)
      lze_launch_fail(L, k, r, "zeKernelSuggestGroupSize");
  }
  if (l->policy == LZE_POLICY_TUNED) lze_tuned_group(k, in, in->suggested);
  if (!lze_group_choose(in, &g->choice))
    luaL_error(L, "%s: %s", k->name, g->choice.why);
  if (g->choice.count > g->choice.whole) {
    const char *failed = lze_build_guarded(k, &r);
    if (r == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY) lze_no_memory(L);
    if (failed != NULL) lze_launch_fail(L, k, r, failed);
  }
  g->valid = true;
  return &g->choice;
}

/* Checks and retains what a launch uses and its `count` arguments, the first at
   `first`. */
const lze_GroupChoice *lze_launch_check(lua_State *L, lze_Kernel *k,
                                        const lze_Launch *l, int first,
                                        int count) {
  if (l->uses != 0) launch_check_uses(L, k, l->uses);
  lze_arguments_take(L, k, first, count);
  /* Plans move buffers that a task's device does not reach. */
  if (l->task == NULL) lze_arguments_reach(L, k);
  uint64_t local = lze_kernel_local_bytes(k);
  for (uint32_t i = 0; k->local_arguments && i < k->info->arg_count; i++)
    if (k->info->args[i].cls == SPIRV_ARG_LOCAL)
      local += k->arguments[i].bytes;
  if (l->empty) {
    launch_need_group(L, k, l);
    return NULL;
  }
  const lze_GroupChoice *choice = lze_launch_group(L, k, l, local);
  if (k->reaches) launch_check_reach(L, k, l);
  return choice;
}

int lze_launch_fail(lua_State *L, const lze_Kernel *k, ze_result_t r,
                    const char *call) {
  return lze_fail(L, k->module->device->driver, r, k->name, call, NULL, NULL);
}

/* Returns true if the entry point already has this value.  A pointer is the
   same only if its allocation is: a driver may remember more about it than the
   address. */
static bool argument_is_set(const lze_ArgumentSet *set,
                            const lze_Argument *a) {
  if (!set->valid) return false;
  if (a->data == &a->pointer)
    return a->pointer == set->pointer &&
           (a->buffer == NULL || a->buffer->storage->serial == set->serial);
  if (a->data == NULL) return a->bytes == set->bytes;
  return a->data == a->value && memcmp(a->value, set->value, a->bytes) == 0;
}

static void argument_remember(lze_ArgumentSet *set, const lze_Argument *a) {
  set->valid =
      a->data == NULL || a->data == &a->pointer || a->data == a->value;
  set->pointer = a->pointer;
  set->serial = a->buffer != NULL ? a->buffer->storage->serial : 0;
  set->bytes = a->bytes;
  if (a->data == a->value) memcpy(set->value, a->value, a->bytes);
}

/* Sets the arguments of an entry point.  Returns the driver function that
   failed, or NULL. */
static const char *entry_set(lze_Kernel *k, lze_Entry *e, bool indirect,
                             ze_result_t *result) {
  const bool always = e == &k->whole && k->exposed;
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const lze_Argument *a = &k->arguments[i];
    lze_ArgumentSet *set = &e->arguments[i];
    if (!always && argument_is_set(set, a)) continue;
    /* A null pointer is passed as no value. */
    const void *data =
        a->data == &a->pointer && a->pointer == NULL ? NULL : a->data;
    set->valid = false;
    *result = ZE(zeKernelSetArgumentValue, e->handle, i, a->bytes, data);
    if (*result != ZE_RESULT_SUCCESS) return "zeKernelSetArgumentValue";
    argument_remember(set, a);
  }
  if (indirect && !e->indirect) {
    *result = ZE(zeKernelSetIndirectAccess, e->handle,
                 ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                     ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                     ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED);
    if (*result != ZE_RESULT_SUCCESS) return "zeKernelSetIndirectAccess";
    e->indirect = true;
  }
  const int dims = k->grouping->in.dims;
  if ((k->info->builtins & SPIRV_BUILTIN_WORK_DIM) && dims != e->dims) {
    lze_set_dimensions(k->module->device->driver, e->handle, (uint32_t)dims);
    e->dims = dims;
  }
  return NULL;
}

/* Sets the arguments of all entry points that the parts run.  Returns like
   entry_set. */
static const char *launch_set(lze_Kernel *k, const lze_GroupChoice *choice,
                              bool indirect, ze_result_t *result) {
  const char *failed = NULL;
  if (choice->whole > 0) failed = entry_set(k, &k->whole, indirect, result);
  if (failed == NULL && choice->count > choice->whole)
    failed = entry_set(k, &k->guarded, indirect, result);
  return failed;
}

/* Sets the first global id of the kernel itself. */
static const char *whole_begin(lze_Kernel *k, const lze_GroupPart *p,
                               ze_result_t *result) {
  lze_Entry *e = &k->whole;
  if (memcmp(e->first, p->first, sizeof e->first) == 0 &&
      !(k->exposed && k->module->device->driver->offsets))
    return NULL;
  *result = ZE(zeKernelSetGlobalOffsetExp, e->handle, (uint32_t)p->first[0],
               (uint32_t)p->first[1], (uint32_t)p->first[2]);
  if (*result != ZE_RESULT_SUCCESS) return "zeKernelSetGlobalOffsetExp";
  memcpy(e->first, p->first, sizeof e->first);
  return NULL;
}

/* Sets the hidden arguments of the guarded entry point: its first global id,
   and how many work-items follow. */
static const char *guarded_begin(lze_Kernel *k, const lze_GroupPart *p,
                                 ze_result_t *result) {
  const lze_GroupInput *in = &k->grouping->in;
  const uint32_t at = k->info->arg_count;
  uint64_t hidden[SPIRV_GUARD_ARGUMENTS][4] = {0}; /* vectors of 3 take 4 */
  for (int d = 0; d < 3; d++) {
    hidden[SPIRV_GUARD_FIRST][d] = p->first[d];
    hidden[SPIRV_GUARD_COUNT][d] =
        in->offset[d] + in->global[d] - p->first[d];
  }
  for (uint32_t i = 0; i < SPIRV_GUARD_ARGUMENTS; i++) {
    uint64_t *last = k->hidden[i];
    if (memcmp(last, hidden[i], sizeof hidden[i]) == 0) continue;
    memset(last, 0xff, sizeof hidden[i]);
    *result = ZE(zeKernelSetArgumentValue, k->guarded.handle, at + i,
                 sizeof hidden[i], hidden[i]);
    if (*result != ZE_RESULT_SUCCESS) return "zeKernelSetArgumentValue";
    memcpy(last, hidden[i], sizeof hidden[i]);
  }
  return NULL;
}

/* Appends part i.  Returns like entry_set. */
static const char *launch_part(lze_Kernel *k, ze_command_list_handle_t list,
                               const lze_GroupChoice *choice, int i,
                               ze_event_handle_t signal, uint32_t waits,
                               ze_event_handle_t *wait_handles,
                               ze_result_t *result) {
  const lze_GroupPart *p = &choice->parts[i];
  const bool whole = i < choice->whole;
  lze_Entry *e = whole ? &k->whole : &k->guarded;
  if ((whole && k->exposed) ||
      memcmp(e->group, p->group, sizeof e->group) != 0) {
    *result = ZE(zeKernelSetGroupSize, e->handle, p->group[0], p->group[1],
                 p->group[2]);
    if (*result != ZE_RESULT_SUCCESS) return "zeKernelSetGroupSize";
    memcpy(e->group, p->group, sizeof e->group);
  }
  const char *failed =
      whole ? whole_begin(k, p, result) : guarded_begin(k, p, result);
  if (failed != NULL) return failed;
  const ze_group_count_t count = {p->count[0], p->count[1], p->count[2]};
  *result = ZE(zeCommandListAppendLaunchKernel, list, e->handle, &count,
               signal, waits, wait_handles);
  return *result == ZE_RESULT_SUCCESS ? NULL
                                      : "zeCommandListAppendLaunchKernel";
}

/* Appends all parts, then ends or aborts c.  If one part fails, the parts
   before it are still waited for and pinned.  Counts the launch if all succeed.
   Returns like launch_set. */
static const char *launch_append(lze_Kernel *k, lze_Command *c,
                                 const lze_GroupChoice *choice,
                                 ze_result_t *result) {
  lze_Queue *q = c->queue;
  ze_event_handle_t event = lze_command_event(c);
  /* Out of order, only a barrier completes after all the parts. */
  bool barrier = choice->count > 1 && !q->native_order;
  const char *failed = NULL;
  int i;
  for (i = 0; i < choice->count && failed == NULL; i++) {
    bool last = i == choice->count - 1;
    ze_event_handle_t signal = last && !barrier ? event
                               : i == 0 && c->first != NULL
                                   ? c->first->handle
                                   : NULL;
    bool wait = i == 0 || !q->native_order;
    failed = launch_part(k, q->list, choice, i, signal,
                         wait ? c->wait_count : 0,
                         wait ? c->wait_handles : NULL, result);
  }
  if (failed != NULL && i == 1) {
    lze_abort(c);
    return failed;
  }
  if ((failed != NULL && event != NULL) || barrier) {
    ze_result_t r = ZE(zeCommandListAppendBarrier, q->list, event, 0, NULL);
    if (r != ZE_RESULT_SUCCESS && failed == NULL) {
      failed = "zeCommandListAppendBarrier";
      *result = r;
    }
    if (r != ZE_RESULT_SUCCESS) {
      lze_abandon(c);
      return failed;
    }
  }
  if (failed == NULL) {
    k->o.context->state->launches++;
    k->launches++;
  }
  lze_end(c);
  return failed;
}

/* Makes the newest command of the queue represent this launch, too, if it is a
   launch of the same kernel on the same buffers and has no event.  A loop of
   launches then costs little more than the driver's part of it. */
static bool launch_again(lua_State *L, lze_Kernel *k, const lze_Launch *l,
                         const lze_GroupChoice *choice) {
  lze_Command *c = lze_extensible(l->queue, &k->lazy);
  if (c == NULL || k->o.context->state->sync) return false;
  uint32_t used = 0;
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const lze_Argument *a = &k->arguments[i];
    const lze_Buffer *b = a->buffer;
    if (b == NULL) continue;
    if (!lze_command_repeats(c, used++, b->storage, b->offset,
                             b->offset + (size_t)b->count * b->type->bytes,
                             a->write))
      return false;
  }
  if (used != c->use_count) return false;
  if (k->info->features & SPIRV_USES_PRINTF) fflush(stdout);
  ze_result_t r;
  const char *failed = launch_set(k, choice, false, &r);
  for (int i = 0; i < choice->count && failed == NULL; i++)
    failed = launch_part(k, l->queue->list, choice, i, NULL, 0, NULL, &r);
  if (failed != NULL) lze_launch_fail(L, k, r, failed);
  k->o.context->state->launches++;
  k->launches++;
  lze_extend(c);
  lze_show(k->o.context->state);
  return true;
}

/* Enqueues a launch of nothing: it still signals the event, after the `after`
   events. */
static void launch_nothing(lua_State *L, lze_Kernel *k, const lze_Launch *l,
                           ze_event_handle_t signal, int event) {
  lze_Queue *q = l->queue;
  lze_Command *c = lze_begin(L, q, k->name, true, NULL);
  if (l->after != 0) lze_command_after_all(L, c, l->after);
  lze_command_order(L, c);
  lze_Outcome out;
  if (!ZE_TRY(&out, zeCommandListAppendBarrier, q->list, lze_command_event(c),
              c->wait_count, c->wait_handles)) {
    lze_abort(c);
    lze_launch_fail(L, k, out.result, out.call);
  }
  bool signalled = lze_command_signal(c, signal, &out);
  lze_end(c);
  if (!signalled) lze_launch_fail(L, k, out.result, out.call);
  if (event != 0) {
    lze_test_event(L, event)->command = c;
    lze_command_own(c);
  }
  lze_queue_flush(q);
}

/* Returns the queue for a launch of k, which must be open: `given`, or the
   default queue if that is NULL.  Waits until the queue can take one more
   command; no Lua code has run since then. */
static lze_Queue *launch_queue(lua_State *L, const lze_Kernel *k,
                               lze_Queue *given) {
  lze_Queue *q;
  do {
    if (k->o.closed) luaL_error(L, "%s is closed", k->name);
    q = given != NULL
            ? given
            : lze_default_queue(L, k->o.context, k->module->device);
    if (q->o.closed) luaL_error(L, "%s: the queue is closed", k->name);
  } while (!lze_queue_ready(L, q));
  return q;
}

typedef void each_given(lua_State *L, lze_State *S, const lze_Buffer *b,
                        int argument);

static void given_wait(lua_State *L, lze_State *S, const lze_Buffer *b,
                       int argument) {
  (void)S;
  (void)argument;
  lze_Storage *s = b->storage;
  if (s->uses != NULL) lze_storage_wait(L, s, 0, s->bytes, false);
}

/* Calls `each` with the buffer at `index`, if that is an open buffer. */
static void launch_visit(lua_State *L, const lze_Kernel *k, each_given *each,
                         int index, int argument) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b != NULL && lze_buffer_is_open(b))
    each(L, k->o.context->state, b, argument);
}

/* Calls launch_visit for all arguments and `uses` of a launch. */
static void launch_visit_all(lua_State *L, const lze_Kernel *k,
                             each_given *each, int first, int uses) {
  for (uint32_t i = 0; i < k->info->arg_count; i++)
    launch_visit(L, k, each, first + (int)i, (int)i);
  if (uses != 0 && lua_istable(L, uses)) {
    lua_Integer n = (lua_Integer)lua_rawlen(L, uses);
    for (lua_Integer i = 1; i <= n; i++, lua_pop(L, 1)) {
      lua_rawgeti(L, uses, i);
      launch_visit(L, k, each, lua_gettop(L), -1);
    }
  } else if (uses != 0) {
    launch_visit(L, k, each, uses, -1);
  }
}

/* Saves, with LZE_CHECK=1 before a launch, the bytes outside of the views that
   the launch gets.  Returns true if there are any.  A hook in a wait may close
   any of the views, so all waits come first. */
static bool launch_take_snapshot(lua_State *L, const lze_Kernel *k, int first,
                                int uses) {
  lze_State *S = k->o.context->state;
  launch_visit_all(L, k, given_wait, first, uses);
  lze_snapshot_begin(L, S);
  launch_visit_all(L, k, lze_snapshot_name, first, uses);
  return lze_snapshot_take(L, S);
}

/* Raises, with LZE_CHECK=1 after a launch is done, if memory has been
   overwritten: around one of its buffers, from stack index `first` on, around
   another buffer, or in parts of its storages that no argument covers. */
static void launch_check_guards(lua_State *L, const lze_Kernel *k, int first,
                                int uses, const struct lze_Snapshot *snapshot) {
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const lze_Buffer *b = lze_test_buffer(L, first + (int)i);
    if (b == NULL || !lze_buffer_is_open(b) ||
        !lze_canary_damaged(L, b->storage))
      continue;
    const char *where = lua_tostring(L, -1);
    luaL_error(L, "%s: argument %s: memory outside the buffer was written, %s",
               k->name, lze_argument_name(L, k, i), where);
  }
  bool one = uses != 0 && lze_test_buffer(L, uses) != NULL;
  lua_Integer n = uses == 0 ? 0 : one ? 1 : (lua_Integer)lua_rawlen(L, uses);
  for (lua_Integer i = 1; i <= n; i++) {
    if (one) lua_pushvalue(L, uses);
    else lua_rawgeti(L, uses, i);
    const lze_Buffer *b = lze_test_buffer(L, -1);
    lua_pop(L, 1);
    if (b != NULL && lze_buffer_is_open(b) &&
        lze_canary_damaged(L, b->storage))
      luaL_error(L, "%s: uses: memory outside buffer %d was written", k->name,
                 (int)i);
  }
  lze_State *S = k->o.context->state;
  const lze_Storage *other = lze_any_damaged(L, S);
  if (other != NULL)
    luaL_error(L, "%s: memory of others was written, %s of a buffer of %I "
                  "bytes that it was not given",
               k->name, lua_tostring(L, -1), (LUAI_UACINT)other->bytes);
  int argument = -1;
  /* A launch that a hook has made since then has dropped the snapshot. */
  bool damaged = snapshot != NULL && S->snapshot == snapshot &&
                 lze_snapshot_damaged(L, S, &argument);
  lze_snapshot_forget(S);
  if (!damaged) return;
  const char *where = lua_tostring(L, -1);
  if (argument < 0)
    luaL_error(L, "%s: uses: memory outside a view was written, %s", k->name,
               where);
  luaL_error(L, "%s: argument %s: memory outside the view was written, %s",
             k->name, lze_argument_name(L, k, (uint32_t)argument), where);
}

/* Evaluates the array expressions that have yet to read memory that the launch
   may write: the `count` arguments from stack index `first` on, and `uses`. */
static void launch_flush_readers(lua_State *L, const lze_Kernel *k, int first,
                          int count, int uses) {
  for (int i = 0; i < count && (uint32_t)i < k->info->arg_count; i++)
    if (k->arguments[i].write) lze_buffer_flush_readers(L, first + i);
  if (uses == 0) return;
  lze_buffer_flush_readers(L, uses);
  lua_Integer n = lua_istable(L, uses) ? (lua_Integer)lua_rawlen(L, uses) : 0;
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, uses, i);
    lze_buffer_flush_readers(L, -1);
    lua_pop(L, 1);
  }
}

/* Runs k(...), k:launch(...) and q:launch(k, ...).  The range is at stack index
   `range`, and `count` arguments follow; `q` is NULL for the default queue;
   `event` is the stack index of an event, or 0. */
void lze_kernel_run(lua_State *L, lze_Kernel *k, int range, int count,
                    lze_Queue *q, int event) {
  /* Creating the event may have run finalizers. */
  if (k->o.closed) luaL_error(L, "%s is closed", k->name);
  lze_State *const S = k->o.context->state;
  lze_Launch l = {.policy = S->policy, .queue = q};
  lze_launch_read(L, k, range, &l);
  /* The start of errors, made now because that may run a finalizer. */
  const char *after = NULL, *signals = NULL;
  if (l.after != 0) after = lua_pushfstring(L, "%s: after", k->name);
  if (l.signal != 0) signals = lua_pushfstring(L, "%s: signal", k->name);
  if (k->o.closed) luaL_error(L, "%s is closed", k->name);
  lze_Queue *const given = l.queue;
  if (S->arrays) launch_flush_readers(L, k, range + 1, count, l.uses);
  l.queue = launch_queue(L, k, given);
  const struct lze_Snapshot *snapshot = NULL;
  if (S->check && count >= 0 && (uint32_t)count == k->info->arg_count) {
    if (launch_take_snapshot(L, k, range + 1, l.uses)) snapshot = S->snapshot;
    l.queue = launch_queue(L, k, given); /* the snapshot may have waited */
  }
  /* From here on, no Lua code runs. */
  if (l.after != 0) lze_check_after(L, l.after, k->o.context, after);
  ze_event_handle_t signal = NULL;
  if (l.signal != 0)
    signal = lze_check_signal(L, l.signal, k->o.context, signals);
  const lze_GroupChoice *choice = lze_launch_check(L, k, &l, range + 1, count);
  if (l.empty && signal != NULL) {
    launch_nothing(L, k, &l, signal, event);
    return;
  }
  if (l.empty) {
    if (event != 0)
      lze_test_event(L, event)->command =
          lze_command_done(L, k->module->device, k->name);
    return;
  }

  const bool recorded = k->o.context->state->recorder != NULL;
  if (event == 0 && l.after == 0 && l.uses == 0 && signal == NULL &&
      !recorded && launch_again(L, k, &l, choice))
    return;
  lze_Command *c = lze_begin(L, l.queue, k->name, event != 0,
                             event != 0 ? NULL : &k->lazy);
  if (recorded) lze_record_launch(c, k);
  lze_command_pin(L, c, &k->o);
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const lze_Argument *a = &k->arguments[i];
    if (a->buffer != NULL) launch_use(L, c, a->buffer, a->write);
  }
  bool indirect = launch_use_all(L, c, l.uses);
  if (l.after != 0) lze_command_after_all(L, c, l.after);
  lze_command_order(L, c);
  /* The script's output must come before the kernel's. */
  if (k->info->features & SPIRV_USES_PRINTF) fflush(stdout);
  if ((event != 0 || recorded) && choice->count > 1)
    lze_command_time_first(L, c);
  ze_result_t r;
  const char *failed = launch_set(k, choice, indirect, &r);
  if (failed != NULL)
    lze_abort(c);
  else
    failed = launch_append(k, c, choice, &r);
  if (failed != NULL) lze_launch_fail(L, k, r, failed);
  if (signal != NULL) {
    lze_Outcome out;
    if (!lze_command_signal(c, signal, &out))
      lze_launch_fail(L, k, out.result, out.call);
  }
  if (event != 0) {
    lze_test_event(L, event)->command = c;
    lze_command_own(c);
  }
  if (!k->o.context->state->sync) {
    /* A wait for that event does not flush the queue. */
    if (signal != NULL) lze_queue_flush(l.queue);
    return;
  }
  if (snapshot != NULL) lze_snapshot_pin(S);
  lze_command_wait(L, c, UINT64_MAX);
  if (!k->o.closed && k->o.context->state->check) /* a hook may close it */
    launch_check_guards(L, k, range + 1, l.uses, snapshot);
}

static void task_use(const lze_Buffer *b, int argument, spirv_access access,
                     lze_TaskUse *use, void *data) {
  size_t bytes = (size_t)b->count * b->type->bytes;
  lze_Access a = {.storage = b->storage,
                  .first = b->offset,
                  .last = b->offset + bytes,
                  .read = access != SPIRV_ACCESS_WRITE,
                  .write = (access & SPIRV_ACCESS_WRITE) != 0};
  use(data, argument, &a);
}

void lze_launch_try(lua_State *L, lze_Kernel *k, int range, int count) {
  if (k->o.closed) luaL_error(L, "%s is closed", k->name);
  lze_Launch l = {.policy = k->o.context->state->policy};
  lze_launch_read(L, k, range, &l);
  lze_launch_check(L, k, &l, range + 1, count);
}

const lze_GroupChoice *lze_task_check(lua_State *L, lze_Kernel *k,
                                      const char *name, int range, int count,
                                      lze_TaskUse *use, void *data) {
  if (k->o.closed) luaL_error(L, "%s is closed", k->name);
  lze_Launch l = {.policy = k->o.context->state->policy, .task = name};
  lze_launch_read(L, k, range, &l);
  const lze_GroupChoice *choice = lze_launch_check(L, k, &l, range + 1, count);
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const lze_Argument *a = &k->arguments[i];
    if (a->buffer != NULL)
      task_use(a->buffer, (int)i, a->info->access, use, data);
  }
  const lze_Buffer *one = l.uses != 0 ? lze_test_buffer(L, l.uses) : NULL;
  lua_Integer n = l.uses == 0 || one != NULL
                      ? 0 : (lua_Integer)lua_rawlen(L, l.uses);
  if (one != NULL) task_use(one, -1, SPIRV_ACCESS_BOTH, use, data);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, l.uses, i);
    task_use(lze_test_buffer(L, -1), -1, SPIRV_ACCESS_BOTH, use, data);
    lua_pop(L, 1);
  }
  k->task_indirect = one != NULL || n > 0;
  return choice;
}

void lze_task_prepare(const lze_Kernel *k, const lze_GroupChoice *choice) {
  (void)lze_launch_prepare(k, choice, LZE_PREPARE_CHEAPLY);
}

bool lze_task_append(lze_Kernel *k, const lze_GroupChoice *choice,
                     ze_command_list_handle_t list, ze_event_handle_t signal,
                     ze_event_handle_t first, uint32_t wait_count,
                     ze_event_handle_t *waits, lze_Outcome *out) {
  int n = choice->count;
  out->call = launch_set(k, choice, k->task_indirect, &out->result);
  for (int i = 0; i < n && out->call == NULL; i++)
    out->call = launch_part(k, list, choice, i,
                            n == 1 ? signal : i == 0 ? first : NULL,
                            wait_count, waits, &out->result);
  if (out->call != NULL) return false;
  /* Only a barrier completes after all the parts. */
  return n == 1 || signal == NULL ||
         ZE_TRY(out, zeCommandListAppendBarrier, list, signal, 0, NULL);
}
