/*
 * lze_lua_variant.c - variants of a kernel made of a Lua function: compiled for
 * the types of arguments and for captures.
 * SPDX-License-Identifier: MIT
 */
#include "module/lze_lua_variant.h"
#include "base/lze_error.h"
#include "base/lze_vector.h"
#include "device/lze_device.h"
#include "module/lze_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most this many variants are kept; the least recently used one is
   dropped. */
enum { MOST_VARIANTS = 16 };

lze_LuaKernel *lze_lua_kernel_test(lua_State *L, int index) {
  lze_KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return b != NULL && b->is_lua ? (lze_LuaKernel *)(void *)b : NULL;
}

bool lze_is_lua_kernel(lua_State *L, int index) {
  return lze_lua_kernel_test(L, index) != NULL;
}

lze_Setting lze_lua_kernel_checks(const lze_KernelBox *b) {
  lze_Setting all = b->state->check;
  if (b->meant) return LZE_SETTING_OFF;
  return b->checked && all == LZE_SETTING_OFF ? LZE_SETTING_ON : all;
}

bool lze_adds_arguments(lua_State *L, int index) {
  const lze_KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  if (b == NULL || b->is_lua) return b != NULL;
  return b->kernel != NULL && b->kernel->info->size_count != 0;
}

void lze_lua_variant_free(lze_LuaVariant *v) {
  if (v == NULL) return;
  lzc_result_free(v->result);
  free(v->checks);
  free(v->kinds);
  free(v->types);
  free(v->seen);
  free(v->ranks);
  free(v);
}

const char *lze_lua_push_parameters(lua_State *L, const lze_LuaKernel *k) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (unsigned i = 0; i < k->summary->parameters; i++) {
    if (i > 0) luaL_addstring(&b, ", ");
    luaL_addstring(&b, k->summary->names[i] != NULL ? k->summary->names[i]
                                                    : "?");
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

/* Returns true if a variant accepts the arguments after the range. */
static bool variant_takes(lua_State *L, const lze_LuaVariant *v,
                          const lze_Place *place, bool checked, int dims,
                          int range, int count) {
  const lze_Kernel *k = v->box->kernel;
  if (k == NULL || k->o.closed || v->dims != dims || v->count != count ||
      v->checked != checked ||
      k->o.context != place->context || k->module->device != place->device)
    return false;
  for (int i = 0; i < count; i++) {
    int at = range + 1 + i;
    switch (v->kinds[i]) {
      case LZC_BUFFER: case LZC_ARRAY: {
        const lze_Buffer *b = lze_test_buffer(L, at);
        if (b == NULL || b->type != v->types[i] ||
            lze_lua_rank(L, at, b) != v->ranks[i])
          return false;
        break;
      }
      case LZC_INTEGER: case LZC_REAL:
        if (!lze_lua_takes_number(L, at, v->kinds[i] == LZC_INTEGER,
                          v->result->typed[i]))
          return false;
        break;
      default: break; /* declared: the launch checks it */
    }
  }
  return true;
}

void lze_lua_push_size(lua_State *L, const lze_Buffer *b, int dimension) {
  if (lze_lua_rank(L, -1, b) < 2) {
    lua_pushinteger(L, b->count);
    return;
  }
  lze_array_get(L, -1, "dims");
  lua_rawgeti(L, -1, dimension);
  lua_replace(L, -2);
}

void lze_lua_check_int32(lua_State *L, const char *kernel, const char *what,
                         lua_Integer n) {
  if (n > INT32_MAX)
    luaL_error(L, "%s: %s is %I, and integers of 32 bits (int = \"int\") end "
                  "at %I", kernel, what, (LUAI_UACINT)n,
               (LUAI_UACINT)INT32_MAX);
}

/* Pushes a hidden argument. Returns false if the capture's type differs from
   the compiled one. [-0, +1] */
static bool push_hidden(lua_State *L, int own, const lze_LuaVariant *v,
                        const lzc_hidden *h, int range) {
  if (h->kind == LZC_HIDDEN_REPORT) {
    luaL_checkstack(L, 12, NULL);
    const lze_Kernel *k = v->box->kernel;
    size_t size = LZC_REPORT_ROOM * sizeof(int64_t);
    lze_Buffer *report =
        lze_push_buffer(L, k->o.context, k->module->device, LZE_HOST,
                        lze_type_find("long"), LZC_REPORT_ROOM);
    memset(lze_buffer_data(report), 0, size);
    return true;
  }
  if (h->argument != 0)
    lua_pushvalue(L, range + (int)h->argument);
  else if (!lze_lua_push_path(L, own, v->slot, h->path))
    return false;
  if (h->kind == LZC_HIDDEN_NUMBER)
    return lze_lua_takes_number(L, -1, h->element < LZC_HALF, h->typed);
  const lze_Buffer *b = lze_test_buffer(L, -1);
  lzc_element element;
  if (b == NULL) return false;
  if (h->argument == 0 && lze_lua_rank(L, -1, b) != h->rank) return false;
  if (h->kind == LZC_HIDDEN_BUFFER)
    return lze_lua_element(b->type, &element) && element == h->element;
  lze_lua_push_size(L, b, (int)h->dimension);
  lua_replace(L, -2);
  if (v->int32)
    lze_lua_check_int32(L, v->box->name, h->name, lua_tointeger(L, -1));
  return true;
}

/* Pushes a variant's hidden arguments. If a compiled-in value has changed,
   pushes nothing and returns false. */
static bool push_all_hidden(lua_State *L, int own, const lze_LuaVariant *v,
                            int range) {
  const lzc_result *r = v->result;
  int top = lua_gettop(L);
  if (r->hidden_count > 4)
    luaL_checkstack(L, (int)r->hidden_count + 8, NULL);
  for (size_t i = 0; i < v->check_count; i++) {
    lzc_value value;
    bool same = lze_lua_push_path(L, own, v->slot, v->checks[i]->path);
    if (same) lze_lua_describe(L, &value);
    lua_settop(L, top);
    if (!same || !lzc_same_key(v->checks[i], &value)) return false;
  }
  for (size_t i = 0; i < r->hidden_count; i++)
    if (!push_hidden(L, own, v, &r->hidden[i], range)) {
      lua_settop(L, top);
      return false;
    }
  return true;
}

lze_LuaVariant *lze_lua_find_variant(lua_State *L, lze_LuaKernel *k, int own,
                                     const lze_Place *place, bool checked,
                                     int dims, int range, int count) {
  lze_LuaVariant *v = k->last;
  if (v != NULL && variant_takes(L, v, place, checked, dims, range, count) &&
      push_all_hidden(L, own, v, range))
    return v;
  for (uint32_t i = 0; i < k->count; i++) {
    v = k->variants[i];
    if (v != k->last &&
        variant_takes(L, v, place, checked, dims, range, count) &&
        push_all_hidden(L, own, v, range))
      return v;
  }
  return NULL;
}

/* Describes argument i, from 0, at stack index `at`. */
static void describe_argument(lua_State *L, const lze_LuaRequest *r, int i,
                              int at, lzc_value *out) {
  const lze_LuaKernel *k = r->kernel;
  if (k->declared_count >= 0) {
    *out = k->declared[i];
    return;
  }
  lua_pushvalue(L, at);
  lze_lua_describe(L, out);
  lua_pop(L, 1);
  if (out->kind == LZC_BUFFER || out->kind == LZC_ARRAY ||
      out->kind == LZC_INTEGER || out->kind == LZC_REAL)
    return;
  const char *name = k->summary->names[r->dims + i];
  luaL_error(L, "%s: argument %d (%s): a number, a buffer of numbers or an "
                "array expected, got %s", k->head.name, i + 1,
             name != NULL ? name : "?",
             out->kind == LZC_OTHER && lze_is_array(L, at)
                 ? (const char *)out->bytes : lze_describe(L, at));
}

/* Raises an error with all findings. */
static void raise_findings(lua_State *L, const lze_LuaKernel *k,
                           const lzc_result *r) {
  luaL_Buffer b;
  size_t count = r->finding_count;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < count; i++) {
    const lzc_finding *f = &r->findings[i];
    char line[32] = "";
    if (i > 0) luaL_addchar(&b, '\n');
    if (f->file != NULL) {
      luaL_addstring(&b, f->file);
      snprintf(line, sizeof line, ":%d: ", f->line);
      luaL_addstring(&b, line);
    }
    luaL_addstring(&b, k->head.name);
    luaL_addstring(&b, ": ");
    if (*f->function != '\0') {
      luaL_addstring(&b, f->function);
      luaL_addstring(&b, ": ");
    }
    if (f->variable != NULL) {
      luaL_addstring(&b, f->variable);
      luaL_addchar(&b, ' ');
    }
    luaL_addstring(&b, f->message);
  }
  luaL_pushresult(&b);
  lze_fail_word(L, k->head.name, "lze.kernel", "NOT_COMPILED",
                lua_tostring(L, -1), "%d thing%s in the function no kernel can "
                "have", (int)count, count == 1 ? "" : "s");
}

/* Returns true if sub-groups may have more than one work-item. */
static bool has_sub_groups(const lze_DeviceInfo *device) {
  const ze_device_compute_properties_t *c = &device->compute;
  for (uint32_t i = 0; i < c->numSubGroupSizes; i++)
    if (c->subGroupSizes[i] > 1) return true;
  return false;
}

void lze_lua_compile(lua_State *L, lze_LuaKernel *k, int own,
                     const lzc_value *values, int dims, int count,
                     bool checked, const lze_DeviceInfo *device) {
  lze_LuaSources sources = {L, own, 0, 0, 0};
  size_t size;
  uint32_t flags = device->module.flags;
  uint32_t version = device->module.spirvVersionSupported;
  lua_newtable(L);
  sources.kept = lua_gettop(L);
  lua_pushvalue(L, -1);
  lua_rawseti(L, own, -LZE_PENDING_SLOT);
  lua_newtable(L);
  sources.chunks = lua_gettop(L);
  lua_rawgeti(L, own, LZE_AT_FUNCTION);
  const void *identity = lua_topointer(L, -1);
  const char *bytes = lze_push_chunk(L, &size);
  lzc_input in = {
      .bytes = bytes,
      .size = size,
      .identity = identity,
      .dimensions = (unsigned)dims,
      .argument_count = (size_t)count,
      .arguments = values,
      .resolve = lze_lua_resolve,
      .context = &sources,
      .options = k->options,
      .device = {.fp64 = (flags & ZE_DEVICE_MODULE_FLAG_FP64) != 0,
                 .fast_fp64 = (flags & ZE_DEVICE_MODULE_FLAG_FP64) != 0 &&
                              device->props.type == ZE_DEVICE_TYPE_CPU,
                 .fp16 = (flags & ZE_DEVICE_MODULE_FLAG_FP16) != 0,
                 .int64_atomics =
                     (flags & ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS) != 0,
                 .sub_groups = has_sub_groups(device),
                 .version = ZE_MAJOR_VERSION(version) << 16 |
                            ZE_MINOR_VERSION(version) << 8}};
  luaL_checkstack(L, 20, NULL);
  lze_lua_variant_free(k->pending);
  k->pending = calloc(1, sizeof *k->pending);
  lze_check_memory(L, k->pending != NULL);
  lze_LuaVariant *v = k->pending;
  v->slot = LZE_PENDING_SLOT;
  v->dims = dims;
  v->count = count;
  v->checked = in.options.bounds = checked;
  v->int32 = k->options.int32;
  v->result = lzc_compile(&in);
  if (sources.failed != 0) {
    lua_settop(L, sources.failed);
    lua_error(L);
  }
  lze_check_memory(L, v->result != NULL);
  if (v->result->words == NULL) raise_findings(L, k, v->result);
}

/* Finds the compiled-in values that a launch must check. Numbers and buffers
   that are hidden arguments are checked as arguments, and for tables only the
   fields matter. */
static bool variant_find_checks(lze_LuaVariant *v) {
  const lzc_result *r = v->result;
  v->checks = calloc(r->fixed_count + 1, sizeof(lzc_fixed *));
  for (size_t i = 0; i < r->fixed_count && v->checks != NULL; i++) {
    const lzc_fixed *f = &r->fixed[i];
    lzc_kind kind = f->value.kind;
    if (kind == LZC_TABLE || kind == LZC_BUFFER || kind == LZC_ARRAY ||
        ((kind == LZC_INTEGER || kind == LZC_REAL) && !f->by_value))
      continue;
    v->checks[v->check_count++] = f;
  }
  return v->checks != NULL;
}

/* Makes room for another variant and returns its position. */
static uint32_t make_room(lua_State *L, lze_LuaKernel *k, int own) {
  uint32_t oldest = 0;
  if (k->count < MOST_VARIANTS) {
    lze_check_memory(L, LZE_VECTOR_GROW(k->variants, k->count, k->capacity));
    return k->count;
  }
  for (uint32_t i = 1; i < k->count; i++)
    if (k->variants[i]->used < k->variants[oldest]->used) oldest = i;
  lze_LuaVariant *v = k->variants[oldest];
  if (k->last == v) k->last = k->plain = NULL;
  lua_pushnil(L);
  lua_rawseti(L, own, v->slot);
  lua_pushnil(L);
  lua_rawseti(L, own, -v->slot);
  k->variants[oldest] = k->variants[--k->count];
  k->variants[k->count] = NULL;
  lze_lua_variant_free(v);
  return k->count;
}

/* Returns the first unused slot of the kernel's table. */
static int free_slot(lua_State *L, int own) {
  int slot = LZE_FIRST_SLOT;
  while (lua_rawgeti(L, own, slot) != LUA_TNIL) {
    lua_pop(L, 1);
    slot++;
  }
  lua_pop(L, 1);
  return slot;
}

/* Compiles the pending variant for the arguments from stack index 3 on. Pushes
   values that must stay on the stack until the result is used. [-0, +some] */
static lze_LuaVariant *make_variant(lua_State *L, const lze_LuaRequest *r,
                                    int own) {
  lze_LuaKernel *k = r->kernel;
  size_t n = (size_t)r->count + 1;
  lzc_value *values = lua_newuserdatauv(L, n * sizeof *values, 0);
  for (int i = 0; i < r->count; i++)
    describe_argument(L, r, i, 3 + i, &values[i]);
  lze_lua_compile(L, k, own, values, r->dims, r->count, r->checked,
                  r->place.device);
  lze_LuaVariant *v = k->pending;
  v->kinds = calloc(n, sizeof *v->kinds);
  v->types = calloc(n, sizeof *v->types);
  v->seen = calloc(n, sizeof *v->seen);
  v->ranks = calloc(n, sizeof *v->ranks);
  lze_check_memory(L, v->kinds != NULL && v->types != NULL &&
                          v->seen != NULL && v->ranks != NULL &&
                          variant_find_checks(v));
  for (int i = 0; i < r->count; i++) {
    const lze_Buffer *b = lze_test_buffer(L, 3 + i);
    v->kinds[i] = k->declared_count >= 0 ? LZC_SCALAR : values[i].kind;
    v->types[i] = b != NULL ? b->type : NULL;
    v->ranks[i] = v->result->ranks[i];
    if (k->declared_count < 0) v->ranks[i] = values[i].rank;
  }
  return v;
}

int lze_lua_compile_variant(lua_State *L) {
  const lze_LuaRequest *r = lua_touserdata(L, 1);
  lze_LuaKernel *k = r->kernel;
  luaL_checkstack(L, 24, NULL);
  lua_getiuservalue(L, 2, LZE_OWN_VALUE);
  int own = lua_gettop(L);
  lze_LuaVariant *v = make_variant(L, r, own);
  lua_pushlstring(L, (const char *)v->result->words,
                  v->result->word_count * sizeof *v->result->words);
  int bytes = lua_gettop(L);
  lua_createtable(L, 0, 2);
  lze_push_device(L, r->place.device);
  lua_setfield(L, -2, "device");
  lze_push_context(L, r->place.context);
  lua_setfield(L, -2, "context");
  lze_push_module(L, bytes, bytes + 1, k->name);
  lze_push_module_kernel(L, bytes + 2, k->name);
  uint32_t at = make_room(L, k, own);
  int slot = free_slot(L, own);
  lua_rawgeti(L, own, -LZE_PENDING_SLOT);
  lua_rawseti(L, own, -slot);
  v->box = lze_test_box(L, -1, lze_kernel_kind);
  lua_rawseti(L, own, slot);
  v->slot = slot;
  lua_pushnil(L);
  lua_rawseti(L, own, -LZE_PENDING_SLOT);
  k->variants[at] = v;
  k->count = at + 1;
  k->pending = NULL;
  return 0;
}

/* Returns true if a variant was made for the numbers after `range` and the
   present captures. This is stricter than for a launch, which accepts integers
   for reals. [-0, +some] */
static bool variant_is_of(lua_State *L, const lze_LuaVariant *v, int own,
                          int range, int count) {
  const lzc_result *r = v->result;
  bool same = v->count == count;
  for (int i = 0; i < count && same; i++)
    same = lua_isinteger(L, range + 1 + i) == (v->kinds[i] == LZC_INTEGER);
  int top = lua_gettop(L);
  same = same && push_all_hidden(L, own, v, range);
  for (size_t i = 0; i < r->hidden_count && same; i++)
    same = r->hidden[i].kind != LZC_HIDDEN_NUMBER ||
           lua_isinteger(L, top + 1 + (int)i) ==
               (r->hidden[i].element < LZC_HALF);
  return same;
}

int lze_lua_kernel_gives(lua_State *L) {
  static const char *const kinds[LZC_OTHER] = {
      [LZC_INTEGER] = "integer", [LZC_REAL] = "real",
      [LZC_BOOLEAN] = "boolean", [LZC_NIL] = "nil"};
  enum { RANGE = 2 }; /* no range; the arguments follow this index */
  lze_LuaKernel *k = lze_lua_kernel_test(L, 1);
  lze_LuaRequest r = {k, {NULL, lze_test_device(L, RANGE)}, 0,
                      lua_gettop(L) - RANGE, false};
  luaL_checkstack(L, 24, NULL);
  lua_getiuservalue(L, 1, LZE_OWN_VALUE);
  int own = lua_gettop(L);
  const lze_LuaVariant *v = k->pending;
  if (v == NULL || v->checks == NULL ||
      !variant_is_of(L, v, own, RANGE, r.count))
    v = make_variant(L, &r, own);
  lzc_kind gives = v->result->gives;
  lua_pushstring(L, gives < LZC_OTHER ? kinds[gives] : NULL);
  lua_pushstring(L, v->result->given);
  return 2;
}

/* Returns true if launches of the variant are plain: the range is a number,
   the arguments are numbers and at least one buffer, no compiled-in value must
   be checked, and each hidden argument is either a number in an upvalue of the
   function or the length of an argument. */
static bool variant_is_plain(const lze_LuaKernel *k, const lze_LuaVariant *v) {
  const lzc_result *r = v->result;
  bool plain = k->declared_count < 0 &&
               lze_lua_kernel_checks(&k->head) == LZE_SETTING_OFF &&
               v->dims < 2 && v->check_count == 0 && r->hidden_count <= 4;
  bool placed = false;
  for (int i = 0; i < v->count; i++) {
    plain &= v->kinds[i] != LZC_ARRAY;
    placed |= v->kinds[i] == LZC_BUFFER;
  }
  for (size_t i = 0; i < r->hidden_count; i++) {
    const lzc_hidden *h = &r->hidden[i];
    plain &= h->argument != 0 ? h->kind == LZC_HIDDEN_LENGTH
                              : h->kind == LZC_HIDDEN_NUMBER &&
                                    h->path->function == NULL &&
                                    h->path->count == 0;
  }
  return plain && placed;
}

void lze_lua_set_last(lua_State *L, lze_LuaKernel *k, int kernel,
                      lze_LuaVariant *v) {
  if (k->last == v) return;
  lua_getiuservalue(L, kernel, LZE_OWN_VALUE);
  lua_rawgeti(L, -1, v->slot);
  lua_setiuservalue(L, kernel, LZE_LAST_VALUE);
  lua_pop(L, 1);
  k->last = v;
  k->plain = variant_is_plain(k, v) ? v : NULL;
}
