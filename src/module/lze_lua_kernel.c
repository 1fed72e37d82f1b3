/*
 * lze_lua_kernel.c - kernels made of Lua functions.
 * SPDX-License-Identifier: MIT
 *
 * The userdata's first user value is a table that keeps objects that C points
 * to: the function at 1, the signature at 0 if there is one, and each
 * variant's kernel at a slot, starting with FIRST_SLOT. The negative slot
 * holds a table, indexed by lightuserdata, of the strings that the variant
 * captures and of the functions that it reaches through captures. For fast
 * launches, the second user value is also the function, and the third is the
 * kernel of the last variant.
 */
#include "module/lze_lua_kernel.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_option.h"
#include "base/lze_vector.h"
#include "device/lze_device.h"
#include "memory/lze_buffer.h"
#include "module/lze_lua_check.h"
#include "module/lze_module.h"
#include "module/lze_work.h"
#include "queue/lze_queue.h"

#include "lzc.h"
#include "signature.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most this many variants are kept; the least recently used one is
   dropped. */
enum { MOST_VARIANTS = 16 };
enum { AT_SIGNATURE = 0, AT_FUNCTION = 1, PENDING_SLOT = 1, FIRST_SLOT = 2 };
enum { OWN_VALUE = 1, FUNCTION_VALUE, LAST_VALUE };
enum { MOST_ARGUMENTS = 250 };
/* Keeps the path of a plain launch as short as possible. */
#define NOINLINE __attribute__((noinline))

typedef struct Variant {
  lze_KernelBox *box;           /* kept alive by the kernel's table, at
                                   `slot` */
  int slot;
  int dims;                     /* leading parameters that are indices */
  int count;                    /* number of arguments */
  lzc_kind *kinds;              /* of the arguments: a buffer, array, integer
                                   or real */
  const lze_Type **types;       /* of buffers and arrays */
  const void **seen;            /* buffers accepted before, valid while the
                                   state's buffers_gone equals seen_at */
  uint64_t seen_at;
  unsigned *ranks;              /* of buffers and arrays */
  bool checked;                 /* its accesses are checked and reported */
  bool int32;                   /* its integers have 32 bits */
  lzc_result *result;           /* hidden arguments, and compiled-in values */
  const lzc_fixed **checks;     /* the compiled-in values that each launch must
                                   check */
  size_t check_count;
  uint64_t used;                /* time of the last use, in LuaKernel.uses */
} Variant;

typedef struct LuaKernel {
  lze_KernelBox head;           /* its `kernel` is NULL */
  Variant *last;                /* the one used last, or NULL */
  Variant *plain;               /* the same if it is plain, or NULL */
  Variant **variants;
  uint32_t count, capacity;
  Variant *pending;             /* being compiled, or NULL */
  uint64_t uses;
  lzc_summary *summary;
  lzc_value *declared;          /* the arguments that a signature declares */
  int declared_count;           /* -1 without a signature */
  lzc_options options;          /* `bounds` applies only to launches */
  char name[56];
} LuaKernel;

static LuaKernel *lua_kernel_test(lua_State *L, int index) {
  lze_KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return b != NULL && b->is_lua ? (LuaKernel *)(void *)b : NULL;
}

bool lze_is_lua_kernel(lua_State *L, int index) {
  return lua_kernel_test(L, index) != NULL;
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

static void variant_free(Variant *v) {
  if (v == NULL) return;
  lzc_result_free(v->result);
  free(v->checks);
  free(v->kinds);
  free(v->types);
  free(v->seen);
  free(v->ranks);
  free(v);
}

/* --- values that the compiler requests
   ------------------------------------- */

static bool element_of(const lze_Type *t, lzc_element *element) {
  return t->lanes == 1 && lzc_element_find(t->name, strlen(t->name), element);
}

/* Returns how many indices the value at `index`, whose buffer is `b`, takes: 1
   for a buffer, 0 if an array's shape does not match its number of elements. */
static unsigned rank_of(lua_State *L, int index, const lze_Buffer *b) {
  if (!lze_is_array(L, index)) return 1;
  lua_Integer rank = lze_array_get(L, index, "dims") == LUA_TTABLE
                         ? (lua_Integer)lua_rawlen(L, -1) : 9, left = b->count;
  for (lua_Integer d = 1; d <= rank && rank <= LZC_MOST_RANK; d++) {
    lua_rawgeti(L, -1, d);
    lua_Integer size = lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (size < 0 || (size == 0 ? left != 0 : left % size != 0)) rank = 9;
    else if (size > 0) left /= size;
  }
  lua_pop(L, 1);
  return rank > LZC_MOST_RANK || left > 1 ? 0 : rank < 2 ? 1 : (unsigned)rank;
}

static void describe_array(lua_State *L, lzc_value *out) {
  const lze_Buffer *b = lze_test_buffer(L, -1);
  out->kind = LZC_OTHER;
  if (b == NULL) {
    out->bytes = "an array that is not contiguous (a:clone() is)";
    return;
  }
  out->rank = rank_of(L, -1, b);
  if (out->rank > 0 && element_of(b->type, &out->element))
    out->kind = out->rank > 1 ? LZC_ARRAY : LZC_BUFFER;
}

/* Describes the value on the top of the stack, except the bytes of
   functions. */
static void describe(lua_State *L, lzc_value *out) {
  memset(out, 0, sizeof *out);
  if (lze_is_array(L, -1)) {
    describe_array(L, out);
    return;
  }
  switch (lua_type(L, -1)) {
    case LUA_TNIL: out->kind = LZC_NIL; break;
    case LUA_TBOOLEAN:
      out->kind = LZC_BOOLEAN;
      out->boolean = lua_toboolean(L, -1);
      break;
    case LUA_TNUMBER:
      out->kind = lua_isinteger(L, -1) ? LZC_INTEGER : LZC_REAL;
      out->integer = lua_tointeger(L, -1);
      out->real = lua_tonumber(L, -1);
      break;
    case LUA_TSTRING:
      out->kind = LZC_STRING;
      out->bytes = lua_tolstring(L, -1, &out->size);
      break;
    case LUA_TTABLE: out->kind = LZC_TABLE; break;
    case LUA_TFUNCTION:
      out->identity = lua_topointer(L, -1);
      out->builtin = lze_builtin_of(L, -1);
      out->kind = out->builtin != 0     ? LZC_BUILTIN
                  : lua_iscfunction(L, -1) ? LZC_OTHER : LZC_FUNCTION;
      if (out->kind == LZC_OTHER) out->bytes = "a C function";
      break;
    default: {
      const lze_Buffer *b = lze_test_buffer(L, -1);
      bool flat = b != NULL && element_of(b->type, &out->element);
      out->kind = flat ? LZC_BUFFER : LZC_OTHER;
      out->rank = 1;
      out->bytes = b != NULL ? "a buffer of vectors or structs (a view of it "
                               "as its scalars can be)"
                             : luaL_typename(L, -1);
    }
  }
}

typedef struct Chunk {
  int at;                       /* stack index for the result */
  bool begun;
  luaL_Buffer b;
} Chunk;

static void chunk_end(lua_State *L, Chunk *c) {
  luaL_pushresult(&c->b);
  lua_replace(L, c->at);
}

/* Lua 5.5 passes NULL at the end, before it removes values that we pushed; 5.4
   does not remove them and makes no last call. */
static int chunk_add(lua_State *L, const void *bytes, size_t size,
                     void *data) {
  Chunk *c = data;
  if (!c->begun) luaL_buffinit(L, &c->b);
  c->begun = true;
  if (bytes != NULL) luaL_addlstring(&c->b, bytes, size);
  else chunk_end(L, c);
  return 0;
}

const char *lze_push_chunk(lua_State *L, size_t *size) {
  Chunk c = {.at = lua_gettop(L) + 1};
  luaL_checkstack(L, 2, NULL);
  lua_pushnil(L);
  lua_pushvalue(L, -2);
  lua_dump(L, chunk_add, &c, 0);
  if (lua_isnil(L, c.at)) chunk_end(L, &c);
  lua_settop(L, c.at);
  return lua_tolstring(L, -1, size);
}

/* Pushes the function whose capture begins a path of the variant at `slot`.
   [-0, +1] */
static void push_capturer(lua_State *L, int own, int slot, const lzc_path *p) {
  lua_rawgeti(L, own, p->function == NULL ? AT_FUNCTION : -slot);
  if (p->function == NULL) return;
  lua_rawgetp(L, -1, p->function);
  lua_replace(L, -2);
}

/* Pushes the current value at a path of the variant at `slot`. If the path
   leads through a value that is not a table, pushes nil and returns false.
   [-0, +1] */
static bool push_path(lua_State *L, int own, int slot, const lzc_path *p) {
  push_capturer(L, own, slot, p);
  if (lua_getupvalue(L, -1, (int)p->upvalue) == NULL) lua_pushnil(L);
  lua_replace(L, -2);
  for (size_t i = 0; i < p->count; i++) {
    if (!lua_istable(L, -1)) {
      lua_pushnil(L);
      lua_replace(L, -2);
      return false;
    }
    lua_pushstring(L, p->fields[i]);
    lua_rawget(L, -2);
    lua_replace(L, -2);
  }
  return true;
}

/* The stack indices of values that a compilation keeps. */
typedef struct Sources {
  lua_State *L;
  int own;                      /* the kernel's table */
  int kept;                     /* the pending variant's table in it */
  int chunks;                   /* a table of the chunks read */
  int failed;                   /* the error raised during compilation, or 0 */
} Sources;

/* One request of the compiler. */
typedef struct Question {
  const lzc_path *path;
  lzc_value *out;
  bool found;
} Question;

/* Called by lua_pcall with the question and the tables of Sources. Keeps the
   values alive: functions and strings as long as the variant, chunks as long
   as the compilation. */
static int answer(lua_State *L) {
  enum { OWN = 2, KEPT, CHUNKS };
  Question *q = lua_touserdata(L, 1);
  lzc_value *out = q->out;
  bool found = push_path(L, OWN, PENDING_SLOT, q->path);
  if (found) describe(L, out);
  if (q->path->count == 0) {
    push_capturer(L, OWN, PENDING_SLOT, q->path);
    out->variable = lua_upvalueid(L, -1, (int)q->path->upvalue);
    lua_pop(L, 1);
  }
  if (found && out->identity != NULL) {
    lua_pushvalue(L, -1);
    lua_rawsetp(L, KEPT, out->identity);
  } else if (found && out->kind == LZC_STRING) {
    /* Not as a key: of two equal strings a table keeps only one. */
    lua_pushvalue(L, -1);
    lua_rawsetp(L, KEPT, out->bytes);
  }
  if (found && out->kind == LZC_FUNCTION) {
    out->bytes = lze_push_chunk(L, &out->size);
    lua_rawseti(L, CHUNKS, (lua_Integer)lua_rawlen(L, CHUNKS) + 1);
  }
  q->found = found;
  return 0;
}

/* For lzc_compile, which manages its own memory: no error may pass through
   it. */
static bool resolve(void *data, const lzc_path *path, lzc_value *out) {
  Sources *s = data;
  lua_State *L = s->L;
  Question q = {path, out, false};
  if (s->failed != 0) return false;
  lua_pushcfunction(L, answer);
  lua_pushlightuserdata(L, &q);
  lua_pushvalue(L, s->own);
  lua_pushvalue(L, s->kept);
  lua_pushvalue(L, s->chunks);
  if (lua_pcall(L, 4, 0, 0) != LUA_OK) s->failed = lua_gettop(L);
  return s->failed == 0 && q.found;
}

/* --- launches ------------------------------------------------------------- */

/* Pushes the function's parameters, "i, x, y". [-0, +1] */
static const char *push_parameters(lua_State *L, const LuaKernel *k) {
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

/* Returns how many leading parameters are indices if `count` arguments follow
   a range of `dims` dimensions: `dims` or 0. Raises for any other number. */
static int index_count(lua_State *L, const LuaKernel *k, int dims, int count) {
  int indices = (int)k->summary->parameters - count;
  if (indices != 0 && indices != dims)
    luaL_error(L, "%s: a range of %d dimension%s and %d argument%s, but the "
                  "function has %d parameter%s (%s): %d (indices first) or %d "
                  "(no indices) expected", k->head.name, dims,
               dims == 1 ? "" : "s", count, count == 1 ? "" : "s",
               (int)k->summary->parameters,
               k->summary->parameters == 1 ? "" : "s", push_parameters(L, k),
               dims + count, count);
  return indices;
}

/* Updates the place of a launch from the buffer at `index`. Returns false if
   that is not an open buffer. */
static bool place_of(lua_State *L, int index, lze_Place *place) {
  const lze_Buffer *b = lze_test_buffer(L, index);
  if (b == NULL || !lze_buffer_is_open(b)) return false;
  bool first = place->context == NULL;
  if (first) place->context = b->storage->o.context;
  if (place->device == NULL ||
      (!first && b->storage->usage == LZE_DEVICE &&
       b->storage->o.context == place->context))
    place->device = b->storage->device;
  return true;
}

/* Returns the place of a launch: from its table, else from its buffers or, if
   it has no buffers, from the captured ones; else the default device. */
static lze_Place find_place(lua_State *L, const LuaKernel *k, int own,
                            const lze_Place *place, int range, int count) {
  lze_Place p = place != NULL ? *place : (lze_Place){NULL, NULL};
  if (p.context == NULL && lua_istable(L, range)) {
    lze_getoption(L, range, "queue");
    const lze_Queue *q = lze_test_queue(L, -1);
    lua_pop(L, 1);
    if (q != NULL) p = (lze_Place){q->o.context, q->device};
  }
  if (p.context != NULL && p.device != NULL) return p;
  bool found = false;
  for (int i = range + 1; i <= range + count; i++)
    found = place_of(L, i, &p) || found;
  for (size_t i = 0; i < k->summary->path_count && !found; i++) {
    push_path(L, own, 0, &k->summary->paths[i]); /* paths that start at the
                                                    function itself */
    found = place_of(L, -1, &p);
    lua_pop(L, 1);
  }
  if (p.device == NULL) p.device = lze_default_device(L);
  if (p.context == NULL) p.context = lze_device_context(L, p.device);
  return p;
}

/* Returns true if the value at `at` can be passed as a number that was
   compiled as an integer or a real. `typed`: this real does not accept
   integers. */
static bool takes_number(lua_State *L, int at, bool integer, bool typed) {
  if (integer) return lua_isinteger(L, at);
  return lua_type(L, at) == LUA_TNUMBER && !(typed && lua_isinteger(L, at));
}

/* Returns true if a variant accepts the arguments after the range. */
static bool variant_takes(lua_State *L, const Variant *v,
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
            rank_of(L, at, b) != v->ranks[i])
          return false;
        break;
      }
      case LZC_INTEGER: case LZC_REAL:
        if (!takes_number(L, at, v->kinds[i] == LZC_INTEGER,
                          v->result->typed[i]))
          return false;
        break;
      default: break; /* declared: the launch checks it */
    }
  }
  return true;
}

/* Pushes the size in one dimension, from 1, of the value on the top of the
   stack, whose buffer is `b`. [-0, +1] */
static void push_size(lua_State *L, const lze_Buffer *b, int dimension) {
  if (rank_of(L, -1, b) < 2) {
    lua_pushinteger(L, b->count);
    return;
  }
  lze_array_get(L, -1, "dims");
  lua_rawgeti(L, -1, dimension);
  lua_replace(L, -2);
}

/* Raises if 32-bit integers cannot represent n, which is `what`: the last index
   of a range or the size of a variable. */
static void check_int32(lua_State *L, const char *kernel, const char *what,
                        lua_Integer n) {
  if (n > INT32_MAX)
    luaL_error(L, "%s: %s is %I, and integers of 32 bits (int = \"int\") end "
                  "at %I", kernel, what, (LUAI_UACINT)n,
               (LUAI_UACINT)INT32_MAX);
}

/* Pushes a hidden argument. Returns false if the capture's type differs from
   the compiled one. [-0, +1] */
static bool push_hidden(lua_State *L, int own, const Variant *v,
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
  else if (!push_path(L, own, v->slot, h->path))
    return false;
  if (h->kind == LZC_HIDDEN_NUMBER)
    return takes_number(L, -1, h->element < LZC_HALF, h->typed);
  const lze_Buffer *b = lze_test_buffer(L, -1);
  lzc_element element;
  if (b == NULL) return false;
  if (h->argument == 0 && rank_of(L, -1, b) != h->rank) return false;
  if (h->kind == LZC_HIDDEN_BUFFER)
    return element_of(b->type, &element) && element == h->element;
  push_size(L, b, (int)h->dimension);
  lua_replace(L, -2);
  if (v->int32)
    check_int32(L, v->box->name, h->name, lua_tointeger(L, -1));
  return true;
}

/* Pushes a variant's hidden arguments. If a compiled-in value has changed,
   pushes nothing and returns false. */
static bool push_all_hidden(lua_State *L, int own, const Variant *v,
                            int range) {
  const lzc_result *r = v->result;
  int top = lua_gettop(L);
  if (r->hidden_count > 4)
    luaL_checkstack(L, (int)r->hidden_count + 8, NULL);
  for (size_t i = 0; i < v->check_count; i++) {
    lzc_value value;
    bool same = push_path(L, own, v->slot, v->checks[i]->path);
    if (same) describe(L, &value);
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

/* Returns the variant for a launch and pushes its hidden arguments; NULL if
   not found. */
static Variant *find_variant(lua_State *L, LuaKernel *k, int own,
                             const lze_Place *place, bool checked, int dims,
                             int range, int count) {
  Variant *v = k->last;
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

/* --- compiling ------------------------------------------------------------ */

/* The input of compile_variant; the arguments are on its stack. */
typedef struct Request {
  LuaKernel *kernel;
  lze_Place place;
  int dims, count;
  bool checked;
} Request;

/* Describes argument i, from 0, at stack index `at`. */
static void describe_argument(lua_State *L, const Request *r, int i, int at,
                              lzc_value *out) {
  const LuaKernel *k = r->kernel;
  if (k->declared_count >= 0) {
    *out = k->declared[i];
    return;
  }
  lua_pushvalue(L, at);
  describe(L, out);
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
static void raise_findings(lua_State *L, const LuaKernel *k,
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

/* Compiles for the described values; stores the result in the pending variant.
   Pushes values that must stay on the stack until the result is used. [-0,
   +some] */
static void compile(lua_State *L, LuaKernel *k, int own,
                    const lzc_value *values, int dims, int count, bool checked,
                    const lze_DeviceInfo *device) {
  Sources sources = {L, own, 0, 0, 0};
  size_t size;
  uint32_t flags = device->module.flags;
  uint32_t version = device->module.spirvVersionSupported;
  lua_newtable(L);
  sources.kept = lua_gettop(L);
  lua_pushvalue(L, -1);
  lua_rawseti(L, own, -PENDING_SLOT);
  lua_newtable(L);
  sources.chunks = lua_gettop(L);
  lua_rawgeti(L, own, AT_FUNCTION);
  const void *identity = lua_topointer(L, -1);
  const char *bytes = lze_push_chunk(L, &size);
  lzc_input in = {
      .bytes = bytes,
      .size = size,
      .identity = identity,
      .dimensions = (unsigned)dims,
      .argument_count = (size_t)count,
      .arguments = values,
      .resolve = resolve,
      .context = &sources,
      .options = k->options,
      .device = {.fp64 = (flags & ZE_DEVICE_MODULE_FLAG_FP64) != 0,
                 .fp16 = (flags & ZE_DEVICE_MODULE_FLAG_FP16) != 0,
                 .int64_atomics =
                     (flags & ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS) != 0,
                 .sub_groups = has_sub_groups(device),
                 .version = ZE_MAJOR_VERSION(version) << 16 |
                            ZE_MINOR_VERSION(version) << 8}};
  luaL_checkstack(L, 20, NULL);
  variant_free(k->pending);
  k->pending = calloc(1, sizeof *k->pending);
  lze_check_memory(L, k->pending != NULL);
  Variant *v = k->pending;
  v->slot = PENDING_SLOT;
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
static bool variant_find_checks(Variant *v) {
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
static uint32_t make_room(lua_State *L, LuaKernel *k, int own) {
  uint32_t oldest = 0;
  if (k->count < MOST_VARIANTS) {
    lze_check_memory(L, LZE_VECTOR_GROW(k->variants, k->count, k->capacity));
    return k->count;
  }
  for (uint32_t i = 1; i < k->count; i++)
    if (k->variants[i]->used < k->variants[oldest]->used) oldest = i;
  Variant *v = k->variants[oldest];
  if (k->last == v) k->last = k->plain = NULL;
  lua_pushnil(L);
  lua_rawseti(L, own, v->slot);
  lua_pushnil(L);
  lua_rawseti(L, own, -v->slot);
  k->variants[oldest] = k->variants[--k->count];
  k->variants[k->count] = NULL;
  variant_free(v);
  return k->count;
}

/* Returns the first unused slot of the kernel's table. */
static int free_slot(lua_State *L, int own) {
  int slot = FIRST_SLOT;
  while (lua_rawgeti(L, own, slot) != LUA_TNIL) {
    lua_pop(L, 1);
    slot++;
  }
  lua_pop(L, 1);
  return slot;
}

/* Compiles the pending variant for the arguments from stack index 3 on. Pushes
   values that must stay on the stack until the result is used. [-0, +some] */
static Variant *make_variant(lua_State *L, const Request *r, int own) {
  LuaKernel *k = r->kernel;
  size_t n = (size_t)r->count + 1;
  lzc_value *values = lua_newuserdatauv(L, n * sizeof *values, 0);
  for (int i = 0; i < r->count; i++)
    describe_argument(L, r, i, 3 + i, &values[i]);
  compile(L, k, own, values, r->dims, r->count, r->checked, r->place.device);
  Variant *v = k->pending;
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

/* Called guarded with a Request, the kernel and the arguments: compiles a
   variant and adds it. */
static int compile_variant(lua_State *L) {
  const Request *r = lua_touserdata(L, 1);
  LuaKernel *k = r->kernel;
  luaL_checkstack(L, 24, NULL);
  lua_getiuservalue(L, 2, OWN_VALUE);
  int own = lua_gettop(L);
  Variant *v = make_variant(L, r, own);
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
  lua_rawgeti(L, own, -PENDING_SLOT);
  lua_rawseti(L, own, -slot);
  v->box = lze_test_box(L, -1, lze_kernel_kind);
  lua_rawseti(L, own, slot);
  v->slot = slot;
  lua_pushnil(L);
  lua_rawseti(L, own, -PENDING_SLOT);
  k->variants[at] = v;
  k->count = at + 1;
  k->pending = NULL;
  return 0;
}

/* Returns true if a variant was made for the numbers after `range` and the
   present captures. This is stricter than for a launch, which accepts integers
   for reals. [-0, +some] */
static bool variant_is_of(lua_State *L, const Variant *v, int own, int range,
                          int count) {
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
  LuaKernel *k = lua_kernel_test(L, 1);
  Request r = {k, {NULL, lze_test_device(L, RANGE)}, 0, lua_gettop(L) - RANGE,
               false};
  luaL_checkstack(L, 24, NULL);
  lua_getiuservalue(L, 1, OWN_VALUE);
  int own = lua_gettop(L);
  const Variant *v = k->pending;
  if (v == NULL || v->checks == NULL ||
      !variant_is_of(L, v, own, RANGE, r.count))
    v = make_variant(L, &r, own);
  lzc_kind gives = v->result->gives;
  lua_pushstring(L, gives < LZC_OTHER ? kinds[gives] : NULL);
  lua_pushstring(L, v->result->given);
  return 2;
}

/* Raises for the value at `index`, argument i of a kernel, from 1. */
static void refuse_buffer(lua_State *L, const char *kernel, int i,
                          const char *name, int index) {
  luaL_error(L, "%s: argument %d (%s): a buffer of numbers or an array "
                "expected, got %s",
             kernel, i, name != NULL ? name : "?", lze_describe(L, index));
}

/* Raises if the arguments do not match the signature in ways that the kernel
   itself would accept: null, which ordinary kernels accept for a buffer, has
   no elements and no length; the length of a buffer of vectors is not the
   number of its scalars; the compiled kernel treats bfloat16 as ushort. */
static void check_given(lua_State *L, const LuaKernel *k, int dims, int range,
                        int count) {
  if (count != k->declared_count)
    luaL_error(L, "%s: %d argument%s expected, got %d", k->head.name,
               k->declared_count, k->declared_count == 1 ? "" : "s", count);
  for (int i = 1; i <= count; i++) {
    const lze_Buffer *b = lze_test_buffer(L, range + i);
    if (k->declared[i - 1].kind != LZC_BUFFER) continue;
    const char *name = k->summary->names[dims + i - 1];
    if (b == NULL || b->type->lanes > 1)
      refuse_buffer(L, k->head.name, i, name, range + i);
    if (k->declared[i - 1].element == LZC_BFLOAT16 &&
        b->type->scalar != LZE_BF16)
      luaL_error(L, "%s: argument %d (%s): bfloat16* expected, got %s",
                 k->head.name, i, name != NULL ? name : "?",
                 lze_describe(L, range + i));
  }
}

/* Raises if a kernel with 32-bit integers is launched over indices that exceed
   them. */
static void check_indices(lua_State *L, const LuaKernel *k, int range, int dims,
                          const lua_Integer size[3]) {
  lua_Integer from[3] = {0, 0, 0};
  if (!k->options.int32) return;
  if (lua_istable(L, range)) {
    if (lze_getoption(L, range, "offset") != LUA_TNIL)
      lze_range_triple(L, k->head.name, -1, "offset", 0, from);
    lua_pop(L, 1);
  }
  for (int d = 0; d < dims; d++)
    check_int32(L, k->head.name, "the last index of the range",
                from[d] + size[d]);
}

/* Finds or compiles the variant for a launch and pushes its hidden
   arguments. */
static Variant *choose_variant(lua_State *L, LuaKernel *k, int kernel,
                               const lze_Place *place, bool checked, int own,
                               int range, int count) {
  lua_Integer size[3];
  int dims = lze_range_triple(L, k->head.name, range, "global size", 0, size);
  int indices = index_count(L, k, dims, count);
  check_indices(L, k, range, dims, size);
  if (k->declared_count >= 0) check_given(L, k, indices, range, count);
  Request r = {k, find_place(L, k, own, place, range, count), indices, count,
               checked};
  Variant *v =
      find_variant(L, k, own, &r.place, checked, indices, range, count);
  if (v == NULL) {
    luaL_checkstack(L, count + 4, NULL);
    lua_pushcfunction(L, compile_variant);
    lua_pushlightuserdata(L, &r);
    lua_pushvalue(L, kernel);
    for (int i = 1; i <= count; i++) lua_pushvalue(L, range + i);
    lze_call_guarded(L, count + 2, 0);
    v = find_variant(L, k, own, &r.place, checked, indices, range, count);
  }
  if (v == NULL)
    luaL_error(L, "%s: what it captures has changed while it was compiled",
               k->head.name);
  return v;
}

/* Returns true if launches of the variant are plain: the range is a number,
   the arguments are numbers and at least one buffer, no compiled-in value must
   be checked, and each hidden argument is either a number in an upvalue of the
   function or the length of an argument. */
static bool variant_is_plain(const LuaKernel *k, const Variant *v) {
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

/* Records a variant as the last of the kernel at `kernel`. [-0, +0] */
static void set_last(lua_State *L, LuaKernel *k, int kernel, Variant *v) {
  if (k->last == v) return;
  lua_getiuservalue(L, kernel, OWN_VALUE);
  lua_rawgeti(L, -1, v->slot);
  lua_setiuservalue(L, kernel, LAST_VALUE);
  lua_pop(L, 1);
  k->last = v;
  k->plain = variant_is_plain(k, v) ? v : NULL;
}

/* Raises if argument i of a kernel, from 1, is indexed with another number of
   dimensions than it has, or is an array indexed as a buffer. */
static void check_rank(lua_State *L, const char *kernel, const char *name,
                       int i, unsigned expected, unsigned rank) {
  if (expected == 0 || rank == expected) return;
  luaL_error(L, "%s: argument %d (%s): an array of %d dimension%s expected, "
                "got %s", kernel, i, name != NULL ? name : "?", (int)expected,
             expected == 1 ? "" : "s",
             rank == 1 ? "a buffer"
                       : lua_pushfstring(L, "one of %d", (int)rank));
}

/* Calls check_rank for all arguments of a kernel with a signature. */
static void check_declared(lua_State *L, const LuaKernel *k, const Variant *v,
                           int range) {
  for (int i = 1; i <= v->count; i++) {
    const lze_Buffer *b = lze_test_buffer(L, range + i);
    if (b != NULL)
      check_rank(L, k->head.name, k->summary->names[v->dims + i - 1], i,
                 v->ranks[i - 1], rank_of(L, range + i, b));
  }
}

/* Returns true if a plain variant accepts argument i, from 0, at `at`. */
static bool takes_argument(lua_State *L, const Variant *v, int at, int i) {
  const lze_Kernel *k = v->box->kernel;
  if (v->kinds[i] == LZC_INTEGER || v->kinds[i] == LZC_REAL)
    return takes_number(L, at, v->kinds[i] == LZC_INTEGER,
                        v->result->typed[i]);
  const lze_Buffer *b = lze_test_box(L, at, lze_buffer_kind);
  return b != NULL && b->type == v->types[i] && lze_buffer_is_open(b) &&
         b->storage->o.context == k->o.context &&
         b->storage->device == k->module->device;
}

/* Returns true if the last variant, a plain one, accepts the arguments between
   `range` and `top`. Its launch runs on the device of all its buffers. */
static NOINLINE bool plain_takes(lua_State *L, Variant *v, int range,
                                 int top) {
  const lze_Kernel *k = v->box->kernel;
  if (k == NULL || k->o.closed || v->count != top - range - 1 ||
      lua_type(L, range) != LUA_TNUMBER ||
      (v->int32 && lua_tonumber(L, range) > INT32_MAX))
    return false;
  const uint64_t now = v->box->state->buffers_gone;
  const bool same = v->seen_at == now;
  const void **seen = v->seen;
  for (int at = range + 1; at < top; at++, seen++) {
    const void *b = lua_touserdata(L, at);
    if (b != NULL && b == *seen && same) continue;
    if (!takes_argument(L, v, at, at - range - 1)) return false;
    *seen = b;
  }
  v->seen_at = now;
  return true;
}

/* Pushes the hidden arguments of a plain variant that accepts the arguments.
   Returns false, with some values pushed, if a number's type differs from the
   compiled one. */
static bool plain_push(lua_State *L, int kernel, const Variant *v,
                                int range, int top) {
  const lzc_hidden *h = v->result->hidden;
  const lzc_hidden *end = h + v->result->hidden_count;
  int at = top;
  lua_getiuservalue(L, kernel, FUNCTION_VALUE);
  for (; h < end; h++) {
    if (h->argument != 0) {
      const lze_Buffer *b = lua_touserdata(L, range + (int)h->argument);
      if (v->int32 && b->count > INT32_MAX) return false;
      lua_pushinteger(L, b->count);
    } else if (lua_getupvalue(L, top, (int)h->path->upvalue) == NULL ||
               !takes_number(L, -1, h->element < LZC_HALF, h->typed)) {
      return false;
    }
  }
  for (h = v->result->hidden; h < end; h++, at++) lua_copy(L, at + 1, at);
  return true;
}

/* Implements lze_lua_kernel_resolve for launches that are not plain. */
static NOINLINE lze_Kernel *resolve_any(lua_State *L, LuaKernel *k, int kernel,
                                        const lze_Place *place, bool checked,
                                        int range, int *count) {
  if (k->head.closed) luaL_error(L, "%s is closed", k->head.name);
  if (lze_lua_kernel_checks(&k->head) == LZE_SETTING_WORD &&
      k->head.state->lua_checks == 0)
    lze_lua_check_launch(L, kernel, range, *count);
  int own = range + *count + 1;
  lua_settop(L, own - 1);
  lua_getiuservalue(L, kernel, OWN_VALUE);
  Variant *v =
      choose_variant(L, k, kernel, place, checked, own, range, *count);
  if (k->declared_count >= 0) check_declared(L, k, v, range);
  v->used = ++k->uses;
  set_last(L, k, kernel, v);
  *count += (int)v->result->hidden_count;
  lua_rawgeti(L, own, v->slot);
  lua_remove(L, own); /* the hidden arguments directly follow the others */
  return v->box->kernel;
}

lze_Kernel *lze_lua_kernel_resolve(lua_State *L, lze_KernelBox *box,
                                   int kernel, const lze_Place *place,
                                   bool checked, int range, int *count) {
  LuaKernel *k = (LuaKernel *)(void *)box;
  Variant *v = k->plain;
  int top = range + *count + 1;
  if (v == NULL || place != NULL || !plain_takes(L, v, range, top) ||
      !plain_push(L, kernel, v, range, top))
    return resolve_any(L, k, kernel, place, checked, range, count);
  lua_getiuservalue(L, kernel, LAST_VALUE);
  v->used = ++k->uses;
  *count += (int)v->result->hidden_count;
  return v->box->kernel;
}

void lze_push_sizes(lua_State *L, const lze_Kernel *k, int range, int *count) {
  const spirv_kernel *s = k->info;
  uint32_t given = s->arg_count - s->size_count;
  if (*count > (int)given) lze_arguments_refuse(L, k, *count);
  if (*count < 0 || (uint32_t)*count != given) return;
  luaL_checkstack(L, (int)s->size_count + 8, NULL);
  for (uint32_t i = given; i < s->arg_count; i++) {
    int at = range + (int)s->args[i].size_of;
    const lze_Buffer *b = lze_test_buffer(L, at);
    const char *name = s->args[at - range - 1].name;
    if (b == NULL) refuse_buffer(L, k->name, at - range, name, at);
    lua_pushvalue(L, at);
    check_rank(L, k->name, name, at - range, s->args[i].rank,
               rank_of(L, -1, b));
    push_size(L, b, (int)s->args[i].dimension);
    lua_replace(L, -2);
  }
  *count = (int)s->arg_count;
}

lze_Kernel *lze_kernel_resolve(lua_State *L, int kernel,
                               const lze_Place *place, int range,
                               int *count) {
  lze_KernelBox *b = lze_check_box(L, kernel, lze_kernel_kind);
  luaL_checkstack(L, 12, NULL);
  if (b->is_lua) {
    lze_Kernel *v =
        lze_lua_kernel_resolve(L, b, kernel, place, false, range, count);
    lua_replace(L, kernel);
    lua_settop(L, range + *count);
    return v;
  }
  lze_Kernel *k = lze_kernel_last(L, kernel);
  if (k->info->size_count != 0) lze_push_sizes(L, k, range, count);
  return k;
}

/* Appends the work-item's indices, one for each dimension of the range. */
static void add_item(lua_State *L, const int64_t *r, int dims) {
  for (int d = 0; d < dims; d++) {
    lua_pushstring(L, d == 0 ? " (work-item " : ", ");
    lua_pushinteger(L, (lua_Integer)r[LZC_REPORT_ID + d] + 1);
    lua_concat(L, 3);
  }
  lua_pushliteral(L, ")");
  lua_concat(L, 2);
}

/* Pushes a name followed by "[5]" or "[{1, 2}]". [-0, +1] */
static void push_element(lua_State *L, const char *name, const int64_t *index,
                         int count) {
  lua_pushfstring(L, count > 1 ? "%s[{" : "%s[", name);
  for (int d = 0; d < count; d++) {
    lua_pushfstring(L, d > 0 ? ", %I" : "%I", (LUAI_UACINT)index[d]);
    lua_concat(L, 2);
  }
  lua_pushstring(L, count > 1 ? "}]" : "]");
  lua_concat(L, 2);
}

/* Pushes a finding, "src[5] is outside 1..4". [-0, +1] */
static void push_fault(lua_State *L, const lzc_access *a, const int64_t *r) {
  int count = (int)r[LZC_REPORT_COUNT];
  const int64_t *size = &r[LZC_REPORT_SIZE];
  if (count < 1 || count > LZC_MOST_RANK) {
    lua_pushstring(L, a->name);
    return;
  }
  push_element(L, a->name, &r[LZC_REPORT_INDEX], count);
  if (a->element != NULL) {
    lua_pushfstring(L, " = %I does not fit %s", (LUAI_UACINT)size[0],
                    a->element);
  } else if (count == 1) {
    lua_pushfstring(L, " is outside 1..%I", (LUAI_UACINT)size[0]);
  } else {
    lua_pushliteral(L, " is outside {");
    for (int d = 0; d < count; d++) {
      lua_pushfstring(L, d > 0 ? ", %I" : "%I", (LUAI_UACINT)size[d]);
      lua_concat(L, 2);
    }
    lua_pushliteral(L, "}");
    lua_concat(L, 2);
  }
  lua_concat(L, 2);
}

void lze_lua_kernel_report(lua_State *L, int kernel, const lze_Kernel *run,
                           int range) {
  const LuaKernel *k = lua_kernel_test(L, kernel);
  const Variant *v = NULL;
  for (uint32_t i = 0; i < k->count && v == NULL; i++)
    if (k->variants[i]->box->kernel == run) v = k->variants[i];
  int at = 0, dims = lua_istable(L, range) ? (int)lua_rawlen(L, range) : 1;
  for (size_t h = 0; v != NULL && h < v->result->hidden_count; h++)
    if (v->result->hidden[h].kind == LZC_HIDDEN_REPORT)
      at = range + v->count + (int)h + 1;
  if (at == 0) return;
  const lze_Buffer *b = lze_test_buffer(L, at);
  lze_buffer_wait(L, at, b, 0, LZC_REPORT_ROOM, false);
  int64_t r[LZC_REPORT_ROOM];
  memcpy(r, lze_buffer_data(b), sizeof r);
  bool known = false; /* a hook may have made lze drop the variant */
  for (uint32_t i = 0; i < k->count; i++) known |= k->variants[i] == v;
  if (r[LZC_REPORT_DONE] == 0 || !known) return;
  const lzc_access *a = &v->result->accesses[r[LZC_REPORT_ACCESS]];
  if (a->file != NULL)
    lua_pushfstring(L, "%s:%d: %s: ", a->file, a->line, k->head.name);
  else
    lua_pushfstring(L, "%s: ", k->head.name);
  push_fault(L, a, r);
  lua_concat(L, 2);
  add_item(L, r, dims);
  lze_state(L)->reports++;
  lua_error(L);
}

int lze_length_of(lua_State *L, int kernel, int i) {
  const LuaKernel *lua = lua_kernel_test(L, kernel);
  if (lua == NULL)
    return (int)lze_kernel_last(L, kernel)->info->args[i - 1].size_of;
  const Variant *v = lua->last;
  const lzc_hidden *all = v->result->hidden;
  if (i <= v->count || all[i - v->count - 1].kind != LZC_HIDDEN_LENGTH)
    return 0;
  const lzc_hidden *length = &all[i - v->count - 1];
  if (length->argument != 0) return (int)length->argument;
  for (size_t h = 0; h < v->result->hidden_count; h++)
    if (all[h].kind == LZC_HIDDEN_BUFFER && all[h].path == length->path)
      return v->count + (int)h + 1;
  return 0;
}

int lze_dimensions_of(lua_State *L, int kernel, int count) {
  const LuaKernel *k = lua_kernel_test(L, kernel);
  return k == NULL ? 0 : (int)k->summary->parameters - count;
}

lze_Kernel *lze_kernel_last(lua_State *L, int kernel) {
  const lze_KernelBox *b = lze_check_box(L, kernel, lze_kernel_kind);
  if (b->is_lua) {
    const LuaKernel *k = lua_kernel_test(L, kernel);
    if (k->head.closed) luaL_error(L, "%s is closed", b->name);
    if (k->last == NULL)
      luaL_error(L, "%s: nothing is compiled yet: the types of its arguments "
                    "are not known before a signature, a launch or "
                    "k:variant(range, ...)", b->name);
    b = k->last->box;
  }
  if (b->kernel == NULL || b->kernel->o.closed)
    luaL_error(L, "%s is closed", b->name);
  return b->kernel;
}

/* --- lze.kernel ----------------------------------------------------------- */

/* Parses the C declarations of arguments in the signature at `index`; leaves
   the array of values on the stack. [-0, +1] */
static lzc_value *push_declared(lua_State *L, int index, int *count) {
  char message[256];
  size_t size;
  const char *signature = lua_tolstring(L, index, &size);
  if (strlen(signature) != size)
    luaL_error(L, "signature: it contains a zero byte");
  const char *text = lua_pushfstring(L, "k(%s)", signature);
  void *stubs = signature_spirv(text, 64, &size, message, sizeof message);
  spirv_module *m =
      stubs != NULL ? spirv_parse(stubs, size, message, sizeof message) : NULL;
  free(stubs);
  if (m == NULL) lze_check_spirv_memory(L, message);
  if (m == NULL)
    luaL_error(L, "signature \"%s\": %s", signature, message);
  if (m->kernel_count != 1) {
    spirv_free(m);
    luaL_error(L, "signature \"%s\": declarations of the arguments, as in C, "
                  "expected, without parentheses", signature);
  }
  const spirv_kernel *s = &m->kernels[0];
  lzc_value values[MOST_ARGUMENTS] = {{.kind = LZC_NIL}};
  uint32_t n = s->arg_count, bad = UINT32_MAX;
  for (uint32_t i = 0; i < n && i < MOST_ARGUMENTS && bad == UINT32_MAX; i++) {
    const spirv_arg *a = &s->args[i];
    bool pointer = a->cls == SPIRV_ARG_POINTER &&
                   a->space == SPIRV_SPACE_GLOBAL;
    values[i] = (lzc_value){.kind = pointer ? LZC_BUFFER : LZC_SCALAR,
                            .is_const = a->is_const};
    if ((!pointer && a->cls != SPIRV_ARG_VALUE) ||
        !lzc_element_find(a->source_type, strlen(a->source_type) - pointer,
                          &values[i].element))
      bad = i;
  }
  spirv_free(m);
  if (n > MOST_ARGUMENTS)
    luaL_error(L, "signature: more than %d arguments", MOST_ARGUMENTS);
  if (bad != UINT32_MAX)
    luaL_error(L, "signature \"%s\": argument %d: a number, or a pointer to "
                  "numbers in global memory expected", signature,
               (int)bad + 1);
  lua_pop(L, 1);
  lzc_value *out = lua_newuserdatauv(L, n * sizeof *out + 1, 0);
  memcpy(out, values, n * sizeof *out);
  *count = (int)n;
  return out;
}

/* Returns how many parameters are indices if a signature declares the
   others. */
static int declared_dims(lua_State *L, const LuaKernel *k, int count) {
  int dims = (int)k->summary->parameters - count;
  if (dims < 0 || dims > 3)
    luaL_error(L, "%s: signature: %d argument%s, but the function has %d "
                  "parameter%s (%s), of which 0 to 3 may be indices",
               k->head.name, count, count == 1 ? "" : "s",
               (int)k->summary->parameters,
               k->summary->parameters == 1 ? "" : "s", push_parameters(L, k));
  return dims;
}

/* Sets the default name of a kernel: FILE_LINE. */
static void default_name(LuaKernel *k) {
  const char *source = k->summary->source;
  char file[40] = "kernel";
  if (source != NULL && (*source == '@' || *source == '=')) {
    const char *slash = strrchr(source, '/');
    snprintf(file, sizeof file, "%s", slash != NULL ? slash + 1 : source + 1);
    char *dot = strrchr(file, '.');
    if (dot != NULL && dot != file) *dot = '\0';
  } else if (source != NULL) {
    strcpy(file, "string");
  }
  for (char *c = file; *c != '\0'; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
  snprintf(k->name, sizeof k->name, "%s%s_%d",
           isdigit((unsigned char)file[0]) ? "_" : "", file,
           k->summary->line);
}

static void take_name(lua_State *L, LuaKernel *k, int t) {
  if (t == 0 || lze_getoption(L, t, "name") == LUA_TNIL) {
    default_name(k);
    return;
  }
  const char *name = lua_tostring(L, -1);
  bool good = lua_type(L, -1) == LUA_TSTRING && *name != '\0' &&
              strlen(name) < sizeof k->name && !isdigit((unsigned char)*name);
  for (const char *c = name; good && *c != '\0'; c++)
    good = isalnum((unsigned char)*c) || *c == '_';
  if (!good)
    lze_opt_expected(L, "name", "a name of letters, digits and _, of 55 at "
                                "most");
  snprintf(k->name, sizeof k->name, "%s", name);
}

static void take_options(lua_State *L, LuaKernel *k, int t) {
  static const char *const keys[] = {"signature", "name", "real", "int", "fast",
                                     "bounds", NULL};
  static const char *const reals[] = {"float", "double", NULL};
  static const char *const ints[] = {"long", "int", NULL};
  if (t != 0) lze_check_keys(L, t, "a Lua kernel's options", keys);
  take_name(L, k, t);
  snprintf(k->head.name, sizeof k->head.name, "kernel %s", k->name);
  k->options.name = k->name;
  static const lzc_element widths[] = {LZC_FLOAT, LZC_DOUBLE, LZC_ELEMENTS};
  k->options.real = widths[lze_opt_word(L, t, "real", reals, 2)];
  k->options.int32 = lze_opt_word(L, t, "int", ints, 0) == 1;
  k->options.fast = lze_opt_boolean(L, t, "fast", false);
  k->options.bounds = lze_opt_boolean(L, t, "bounds", false);
  k->head.checked = k->options.bounds;
}

/* Takes the signature at the top of the stack and compiles for it, on the
   default device. Raises without a device. */
static void take_signature(lua_State *L, LuaKernel *k, int kernel) {
  if (lua_type(L, -1) != LUA_TSTRING)
    lze_opt_expected(L, "signature", "declarations of the arguments, as in C");
  int count;
  const lzc_value *values = push_declared(L, lua_gettop(L), &count);
  int dims = declared_dims(L, k, count);
  k->declared = malloc((size_t)count * sizeof *values + 1);
  lze_check_memory(L, k->declared != NULL);
  memcpy(k->declared, values, (size_t)count * sizeof *values);
  k->declared_count = count;
  const lze_DeviceInfo *device = lze_default_device(L);
  Request r = {k, {lze_device_context(L, device), device}, dims, count, false};
  lua_pushcfunction(L, compile_variant);
  lua_pushlightuserdata(L, &r);
  lua_pushvalue(L, kernel);
  for (int i = 0; i < count; i++) lua_pushnil(L);
  lua_call(L, count + 2, 0);
  set_last(L, k, kernel, k->variants[0]);
  lua_getiuservalue(L, kernel, OWN_VALUE);
  lua_pushvalue(L, -3);
  lua_rawseti(L, -2, AT_SIGNATURE);
}

/* lze.kernel(f [, options | signature]) -> kernel
   f: a Lua function, the body of a loop over the range of a launch. Its
   leading parameters are the indices, from 1, the others the arguments.
   options: signature ("float *y, const float *x, float a": the types of the
   arguments; without it, each launch determines them), name (default
   FILE_LINE), real ("float" or "double"), int ("long" or "int"), fast
   (contraction), bounds (out-of-range accesses and other mistakes raise at the
   launch). If the function uses features that kernels do not support, raises
   an error object with all findings in its log; without a signature, this
   happens at the first launch. */
static int core_kernel(lua_State *L) {
  lua_settop(L, 2);
  if (lua_type(L, 1) != LUA_TFUNCTION)
    lze_argerror(L, 1, lua_pushfstring(L, "f: a Lua function expected, got %s",
                                       lze_describe(L, 1)));
  if (lua_iscfunction(L, 1))
    lze_argerror(L, 1, "f: a Lua function expected, got one of C");
  int t = lua_istable(L, 2) ? 2 : 0;
  if (t == 0 && !lua_isnil(L, 2) && lua_type(L, 2) != LUA_TSTRING)
    lze_argerror(L, 2, lua_pushfstring(L, "a table of options or a signature "
                                          "expected, got %s",
                                       lze_describe(L, 2)));
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushliteral(L, "math");
  if (lua_istable(L, -2) && lua_rawget(L, -2) == LUA_TTABLE)
    lze_add_builtins(L, "math.");
  lua_settop(L, 2);
  LuaKernel *k =
      lze_push_box_with(L, lze_kernel_kind, sizeof *k, LAST_VALUE);
  k->head.is_lua = true;
  k->head.state = lze_state(L);
  k->declared_count = -1;
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, AT_FUNCTION);
  lua_setiuservalue(L, 3, OWN_VALUE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, FUNCTION_VALUE);
  lua_pushvalue(L, 1);
  size_t size;
  char message[200];
  const char *bytes = lze_push_chunk(L, &size);
  k->summary = lzc_analyse(bytes, size, message, sizeof message);
  if (k->summary == NULL) {
    lze_check_spirv_memory(L, message);
    luaL_error(L, "lze.kernel: %s", message);
  }
  take_options(L, k, t);
  if (k->summary->is_vararg)
    luaL_error(L, "%s: the function takes ...; a kernel takes a fixed number "
                  "of arguments", k->head.name);
  if (t != 0) lze_getoption(L, t, "signature");
  else lua_pushvalue(L, 2);
  if (!lua_isnil(L, -1)) take_signature(L, k, 3);
  lua_settop(L, 3);
  return 1;
}

static LuaKernel *check_lua_kernel(lua_State *L) {
  const lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  LuaKernel *k = lua_kernel_test(L, 1);
  if (k == NULL)
    luaL_error(L, "%s is not made of a Lua function", b->name);
  if (k->head.closed) luaL_error(L, "%s is closed", b->name);
  return k;
}

/* Returns the kernel that would run for the launch arguments from 2 on of the
   kernel at 1. */
static const lze_Kernel *launch_variant(lua_State *L, int count) {
  lze_Launch l = {0};
  const lze_Kernel *k = lze_kernel_resolve(L, 1, NULL, 2, &count);
  lze_launch_read(L, k, 2, &l);
  lze_launch_check_table(L, k, &l);
  return k;
}

/* k:variant(range | launch_table, ...) -> the ordinary kernel that such a
   launch would run, compiled now if necessary; k itself if it is not made of a
   Lua function */
static int kernel_variant(lua_State *L) {
  const lze_KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  int count = lua_gettop(L) - 2;
  if (!lze_kernel_is_open(L, 1)) return luaL_error(L, "%s is closed", b->name);
  if (count < 0) return luaL_error(L, "%s: no global size", b->name);
  launch_variant(L, count);
  lua_settop(L, 1);
  return 1;
}

/* Called guarded: (kernel, signature) -> SPIR-V for these types. */
static int spirv_of_signature(lua_State *L) {
  LuaKernel *k = check_lua_kernel(L);
  int count;
  const lzc_value *values = push_declared(L, 2, &count);
  int dims = declared_dims(L, k, count);
  lua_getiuservalue(L, 1, OWN_VALUE);
  compile(L, k, lua_gettop(L), values, dims, count, false,
          lze_default_device(L));
  const lzc_result *r = k->pending->result;
  lua_pushlstring(L, (const char *)r->words,
                  r->word_count * sizeof *r->words);
  return 1;
}

/* k:spirv([signature | range, ...]) -> the SPIR-V for these types or
   arguments; without arguments, that of the last variant */
static int kernel_spirv(lua_State *L) {
  check_lua_kernel(L);
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_settop(L, 2);
    lua_pushcfunction(L, spirv_of_signature);
    lua_insert(L, 1);
    lze_call_guarded(L, 2, 1);
    return 1;
  }
  int count = lua_gettop(L) - 2;
  const lze_Kernel *v = count < 0 ? lze_kernel_last(L, 1)
                                  : launch_variant(L, count);
  const spirv_module *m = v->module->spirv;
  lua_pushlstring(L, (const char *)m->words,
                  m->word_count * sizeof *m->words);
  return 1;
}

/* --- closing and printing ------------------------------------------------- */

void lze_lua_kernel_close(lua_State *L, int kernel) {
  LuaKernel *k = lua_kernel_test(L, kernel);
  for (uint32_t i = 0; i < k->count; i++) {
    lze_Kernel *v = k->variants[i]->box->kernel;
    if (v != NULL) lze_close(&v->o);
  }
  k->head.closed = true;
  k->plain = NULL;
}

/* The kernels of variants have their own finalizers. */
void lze_lua_kernel_release(lua_State *L, int kernel) {
  LuaKernel *k = lua_kernel_test(L, kernel);
  for (uint32_t i = 0; i < k->count; i++) variant_free(k->variants[i]);
  variant_free(k->pending);
  free(k->variants);
  free(k->declared);
  lzc_summary_free(k->summary);
  k->variants = NULL;
  k->last = k->plain = k->pending = NULL;
  k->count = 0;
  k->declared = NULL;
  k->summary = NULL;
  k->head.closed = true;
}

void lze_lua_kernel_tostring(lua_State *L, int kernel) {
  LuaKernel *k = lua_kernel_test(L, kernel);
  if (k->head.closed) {
    lua_pushfstring(L, "%s (closed)", k->head.name);
    return;
  }
  const lzc_summary *s = k->summary;
  const char *source = s->source != NULL ? s->source : "=?";
  if (*source == '@' || *source == '=') source++;
  else source = "a string";
  push_parameters(L, k);
  lua_pushfstring(L, "%s(%s): function at %s:%d, %d variant%s", k->head.name,
                  lua_tostring(L, -1), source, s->line, (int)k->count,
                  k->count == 1 ? "" : "s");
  lua_remove(L, -2);
  lua_getiuservalue(L, kernel, OWN_VALUE);
  int own = lua_gettop(L);
  const char *between = "; captures ";
  for (size_t i = 0; i < s->path_count; i++) {
    const lzc_path *p = &s->paths[i];
    lzc_value v;
    push_path(L, own, 0, p);
    describe(L, &v);
    if (v.kind == LZC_TABLE || v.kind == LZC_BUILTIN) {
      lua_settop(L, own);
      continue;
    }
    const char *value = v.kind == LZC_FUNCTION ? "function"
                        : lze_is_array(L, -1) ? "array"
                        : v.kind == LZC_BOOLEAN
                            ? (v.boolean ? "true" : "false")
                        : v.kind == LZC_STRING || lua_isnumber(L, -1)
                            ? lua_tostring(L, -1) : lze_describe(L, -1);
    lua_pushvalue(L, own - 1);
    lua_pushfstring(L, "%s%s = %s", between, p->text, value);
    lua_concat(L, 2);
    lua_replace(L, own - 1);
    lua_settop(L, own);
    between = ", ";
  }
  lua_settop(L, own - 1);
}

void lze_lua_kernel_about(lua_State *L, int kernel, int count) {
  const LuaKernel *k = lua_kernel_test(L, kernel);
  const lzc_summary *s = k->summary;
  const Variant *v = k->last;
  luaL_checkstack(L, 12, NULL);
  lua_getiuservalue(L, kernel, OWN_VALUE);
  int own = lua_gettop(L);
  lua_createtable(L, 0, 8);
  lua_rawgeti(L, own, AT_FUNCTION);
  lua_setfield(L, -2, "f");
  lua_pushstring(L, k->head.name);
  lua_setfield(L, -2, "name");
  lua_pushinteger(L, v->dims);
  lua_setfield(L, -2, "indices");
  const char *source = s->source != NULL ? s->source : "=?";
  lua_pushfstring(L, "%s:%d: ", *source == '@' || *source == '='
                                    ? source + 1 : "a string", s->line);
  lua_setfield(L, -2, "where");
  lua_newtable(L);
  for (unsigned i = 0; i < s->parameters; i++) {
    lua_pushstring(L, s->names[i] != NULL ? s->names[i] : "?");
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "parameters");
  lua_newtable(L);
  for (int i = 0; i < count && i < k->declared_count; i++)
    if (k->declared[i].kind == LZC_SCALAR) {
      lua_pushstring(L, lzc_element_name(k->declared[i].element));
      lua_rawseti(L, -2, i + 1);
    }
  lua_setfield(L, -2, "scalars");
  lua_newtable(L);
  for (size_t i = 0, n = 0; i < s->path_count; i++) {
    bool found = push_path(L, own, 0, &s->paths[i]);
    if (found && lze_test_buffer(L, -1) != NULL) {
      lua_createtable(L, 0, 2);
      lua_insert(L, -2);
      lua_setfield(L, -2, "value");
      lua_pushstring(L, s->paths[i].text);
      lua_setfield(L, -2, "name");
      lua_rawseti(L, own + 2, (int)++n);
    }
    lua_settop(L, own + 2);
  }
  lua_setfield(L, -2, "captures");
  lua_createtable(L, 0, 5);
  lua_pushstring(L, k->name);
  lua_setfield(L, -2, "name");
  lua_pushliteral(L, "double");
  lua_setfield(L, -2, "real");
  lua_pushstring(L, k->options.int32 ? "int" : "long");
  lua_setfield(L, -2, "int");
  lua_rawgeti(L, own, AT_SIGNATURE);
  lua_setfield(L, -2, "signature");
  lua_pushboolean(L, true);
  lua_setfield(L, -2, "bounds");
  lua_setfield(L, -2, "twin");
  lua_remove(L, own);
}

static const lze_Method methods[] = {{"variant", kernel_variant, LZE_UNGUARDED},
                                     {"spirv", kernel_spirv, LZE_UNGUARDED},
                                     {NULL, NULL, LZE_UNGUARDED}};

static const lze_Method functions[] = {{"kernel", core_kernel, LZE_GUARDED},
                                       {NULL, NULL, LZE_UNGUARDED}};

/* Call it after lze_open_kernel, because it extends that kind. */
void lze_open_lua_kernel(lua_State *L) {
  lze_add_methods(L, lze_kernel_kind, methods);
  lze_set_methods(L, functions, 0);
}
