/*
 * lze_kernel.c - kernels, their arguments and their launches.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_state.h"
#include "base/lze_types.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "lze_open.h"
#include "module/lze_module.h"
#include "run/lze_buffer.h"
#include "run/lze_command.h"
#include "run/lze_group.h"
#include "run/lze_kernel.h"
#include "run/lze_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ze_kernel_max_group_size_properties_ext_t, which 1.4's headers lack. */
#define STYPE_KERNEL_MAX_GROUP_SIZE ((ze_structure_type_t)0x10013)
typedef struct KernelMaxGroupSize {
  ze_structure_type_t stype;
  void *pNext;
  uint32_t maxGroupSize;
} KernelMaxGroupSize;

/* The most lanes a value has, 8 bytes each. */
enum { VALUE_BYTES = 16 * 8 };

/* What lze knows of an argument, and the value of the launch being made: no
   Lua code runs between the check of the arguments and the end of a launch. */
typedef struct lze_Argument {
  const spirv_arg *info;
  const lze_Type *type;     /* of a value that is a scalar or vector */
  const lze_Type *other;    /* its unsigned twin where the sign is unknown */
  bool write;
  size_t bytes;
  const void *data;         /* what zeKernelSetArgumentValue gets */
  const lze_Buffer *buffer;
  void *pointer;
  _Alignas(8) char value[VALUE_BYTES];
  /* what the native kernel was last told, to save telling it again */
  bool told;
  uint64_t told_serial;
  void *told_pointer;
  size_t told_bytes;
  _Alignas(8) char told_value[VALUE_BYTES];
} Argument;

/* A range and how it was cut, to skip the rule when it comes again. */
typedef struct lze_Cut {
  bool valid;
  lze_GroupInput in;
  lze_GroupChoice choice;
} Cut;

/* A launch as a script asked for it. */
typedef struct Launch {
  lze_Queue *queue;
  int dims;
  bool empty;               /* a dimension is 0 */
  uint64_t global[3], offset[3];
  uint32_t group[3];        /* given or pinned, or zeros */
  const char *given_by;     /* what to call it, or NULL */
  const char *task;         /* its name in a plan, or NULL */
  lze_Policy policy;
  int after, uses, signal;  /* stack indices, or 0 */
} Launch;

static const char *const policy_names[] = {"lze", "driver", "largest",
                                           "tornado", "oneapi.jl", "tuned",
                                           NULL};

const char *const lze_space_names[] = {"private", "global", "constant",
                                       "local", "generic"};
const char *const lze_access_names[] = {"none", "read", "write", "both"};

/* --- kernels ------------------------------------------------------------ */

static void kernel_destroy(lze_Object *o) {
  lze_Kernel *k = (lze_Kernel *)o;
  if (k->handle != NULL) ZE(zeKernelDestroy, k->handle);
  k->handle = NULL;
  lze_unpin(&k->module->o);
}

static void kernel_release(lze_Object *o) {
  free(((lze_Kernel *)o)->arguments);
  free(((lze_Kernel *)o)->cut);
}

static const lze_Class kernel_class = {"kernel", kernel_destroy,
                                       kernel_release};

typedef struct KernelBox {
  lze_Box box;
  lze_Kernel *kernel;           /* NULL once closed */
  char name[64];
} KernelBox;

static lze_Kernel *kernel_check(lua_State *L) {
  KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  if (b->kernel == NULL || b->kernel->o.closed)
    luaL_error(L, "%s is closed", b->name);
  return b->kernel;
}

bool lze_kernel_splits(lua_State *L, int index) {
  const KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return lze_group_splits(&b->kernel->cut->in);
}

bool lze_kernel_reads(lua_State *L, int index, uint32_t i) {
  const KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return (b->kernel->info->args[i].access & SPIRV_ACCESS_READ) != 0;
}

bool lze_kernel_writes(lua_State *L, int index, uint32_t i) {
  const KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return b->kernel->arguments[i].write;
}

bool lze_kernel_is_open(lua_State *L, int index) {
  const KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return b != NULL && b->kernel != NULL && !b->kernel->o.closed;
}

void lze_kernels_close(lze_Module *m) {
  lze_Object *o = m->o.context->objects;
  while (o != NULL) {
    if (o->cls == &kernel_class && !o->closed &&
        ((lze_Kernel *)o)->module == m) {
      lze_close(o);
      o = m->o.context->objects; /* the list has changed */
    } else {
      o = o->next;
    }
  }
}

/* The element type of a value or pointee, or NULL. */
static const lze_Type *argument_type(const spirv_type *t, bool is_unsigned) {
  int log2 = t->bits == 8 ? 0 : t->bits == 16 ? 1 : t->bits == 32 ? 2 : 3;
  if (t->bits != 8u << log2) return NULL;
  if (t->kind == SPIRV_KIND_FLOAT)
    return log2 == 0 ? NULL
                     : lze_type_of(log2 == 1   ? LZE_F16
                                   : log2 == 2 ? LZE_F32 : LZE_F64,
                                   t->lanes);
  if (t->kind == SPIRV_KIND_INT)
    return lze_type_of((lze_Scalar)(LZE_I8 + 2 * log2 + is_unsigned),
                       t->lanes);
  return NULL;
}

static void argument_init(Argument *a, const spirv_arg *info) {
  a->info = info;
  a->type = argument_type(&info->type,
                          info->type.sign == SPIRV_SIGN_UNSIGNED);
  a->other = info->type.kind == SPIRV_KIND_INT &&
                     info->type.sign == SPIRV_SIGN_UNKNOWN
                 ? argument_type(&info->type, true)
                 : NULL;
  a->write = (info->access & SPIRV_ACCESS_WRITE) != 0;
  a->bytes = info->bytes;
}

static void kernel_read_properties(lze_Kernel *k) {
  const lze_DeviceInfo *d = k->module->device;
  KernelMaxGroupSize max = {.stype = STYPE_KERNEL_MAX_GROUP_SIZE};
  k->props.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  if (d->driver->kernel_max) k->props.pNext = &max;
  if (ZE(zeKernelGetProperties, k->handle, &k->props) !=
      ZE_RESULT_SUCCESS)
    memset(&k->props, 0, sizeof k->props);
  k->props.pNext = NULL;
  k->max_group = d->compute.maxTotalGroupSize;
  if (max.maxGroupSize != 0 && max.maxGroupSize < k->max_group)
    k->max_group = max.maxGroupSize;
}

/* What the rule knows of a kernel whatever the range is. */
static void kernel_init_cut(lze_Kernel *k) {
  const lze_DeviceInfo *d = k->module->device;
  lze_GroupInput *in = &k->cut->in;
  memcpy(in->required, k->info->required_group, sizeof in->required);
  in->kernel_max = k->max_group;
  in->kernel_subgroup = k->props.requiredSubgroupSize != 0
                            ? k->props.requiredSubgroupSize
                            : k->props.maxSubgroupSize;
  in->private_bytes = k->props.privateMemSize;
  in->spill_bytes = k->props.spillMemSize;
  in->builtins = k->info->builtins;
  in->features = k->info->features;
  memcpy(in->beside, k->info->beside, sizeof in->beside);
  memcpy(in->apart, k->info->apart, sizeof in->apart);
  memcpy(in->again, k->info->again, sizeof in->again);
  memcpy(in->local_fit, k->info->local_fit, sizeof in->local_fit);
  in->local_items = k->info->local_items;
  in->software = d->props.type == ZE_DEVICE_TYPE_CPU;
  in->offsets = d->driver->offsets;
  in->max_total = d->compute.maxTotalGroupSize;
  in->max_size[0] = d->compute.maxGroupSizeX;
  in->max_size[1] = d->compute.maxGroupSizeY;
  in->max_size[2] = d->compute.maxGroupSizeZ;
  in->max_count[0] = d->compute.maxGroupCountX;
  in->max_count[1] = d->compute.maxGroupCountY;
  in->max_count[2] = d->compute.maxGroupCountZ;
  in->units = d->props.numSlices * d->props.numSubslicesPerSlice *
              d->props.numEUsPerSubslice;
  in->core_units = d->props.numEUsPerSubslice;
  in->threads_per_unit = d->props.numThreadsPerEU;
  in->simd = d->props.physicalEUSimdWidth;
  in->device_local_bytes = d->compute.maxSharedLocalMemory;
}

/* The static local memory of a group, as the driver counts it or, if it does
   not, as the module declares it. */
static uint64_t kernel_local_bytes(const lze_Kernel *k) {
  return k->props.localMemSize != 0 ? k->props.localMemSize
                                    : k->info->local_bytes;
}

int lze_push_kernel(lua_State *L, lze_Module *m, const spirv_kernel *info) {
  KernelBox *b = lze_push_box(L, lze_kernel_kind, sizeof *b);
  snprintf(b->name, sizeof b->name, "kernel %s", info->name);
  if (m->o.closed) luaL_error(L, "the module is closed");
  lze_Kernel *k = lze_object_new(&kernel_class, sizeof *k, m->o.context);
  if (k == NULL) return lze_no_memory(L);
  b->kernel = k;
  k->module = m;
  lze_pin(&m->o);
  k->info = info;
  memcpy(k->name, b->name, sizeof k->name);
  k->arguments = calloc(info->arg_count + 1, sizeof *k->arguments);
  k->cut = calloc(1, sizeof *k->cut);
  if (k->arguments == NULL || k->cut == NULL)
    return lze_no_memory(L);
  for (uint32_t i = 0; i < info->arg_count; i++) {
    argument_init(&k->arguments[i], &info->args[i]);
    if (info->args[i].cls == SPIRV_ARG_LOCAL) k->local_arguments = true;
  }
  ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                           .pKernelName = info->name};
  ze_result_t r = ZE(zeKernelCreate, m->handle, &desc, &k->handle);
  if (r != ZE_RESULT_SUCCESS) {
    k->handle = NULL;
    lze_fail(L, m->device->driver, r, k->name, "zeKernelCreate", NULL, NULL);
  }
  kernel_read_properties(k);
  if (m->source && k->props.numKernelArgs != info->arg_count)
    luaL_error(L, "%s: the signature has %d arguments, the source %d", k->name,
               (int)info->arg_count, (int)k->props.numKernelArgs);
  kernel_init_cut(k);
  return 1;
}

/* --- arguments ---------------------------------------------------------- */

/* "2 (x)", as every message about an argument names it. */
static const char *argument_name(lua_State *L, const lze_Kernel *k,
                                 uint32_t i) {
  const char *name = k->info->args[i].name;
  return name != NULL ? lua_pushfstring(L, "%d (%s)", (int)i + 1, name)
                      : lua_pushfstring(L, "%d", (int)i + 1);
}

/* The type of an argument as a script reads it in k.args. [-0, +1] */
static const char *argument_type_name(lua_State *L, const spirv_arg *a) {
  if (a->source_type != NULL) return lua_pushstring(L, a->source_type);
  const lze_Type *t = argument_type(&a->type, false);
  const char *base = t != NULL                             ? t->name
                     : a->type.kind == SPIRV_KIND_STRUCT   ? "struct"
                                                           : "void";
  switch (a->cls) {
    case SPIRV_ARG_POINTER:
    case SPIRV_ARG_LOCAL: return lua_pushfstring(L, "%s*", base);
    case SPIRV_ARG_IMAGE: return lua_pushliteral(L, "image");
    case SPIRV_ARG_SAMPLER: return lua_pushliteral(L, "sampler");
    case SPIRV_ARG_OTHER: return lua_pushliteral(L, "other");
    default: return lua_pushstring(L, base);
  }
}

/* Raise "kernel saxpy: argument 2 (x): float* expected, got ...", with what
   came, or `got` where that says more. */
static int argument_error(lua_State *L, const lze_Kernel *k, uint32_t i,
                          int index, const char *expected) {
  const char *name = argument_name(L, k, i);
  const char *type = argument_type_name(L, &k->info->args[i]);
  return luaL_error(L, "%s: argument %s: %s expected%s, got %s", k->name,
                    name, type, expected, lze_describe(L, index));
}

static int argument_problem(lua_State *L, const lze_Kernel *k, uint32_t i,
                            const char *problem) {
  return luaL_error(L, "%s: argument %s: %s", k->name,
                    argument_name(L, k, i), problem);
}

/* Whether a pointer whose source type is known takes a buffer of type t: the
   same scalar, of either sign, in any width of vector. */
static bool pointee_takes(const spirv_arg *a, const lze_Type *t) {
  if (a->source_type == NULL) return true;
  bool is_float = t->scalar == LZE_F16 || t->scalar >= LZE_F32;
  switch (a->type.kind) {
    case SPIRV_KIND_INT: /* bfloat16 has no other pointer to go by */
      return a->type.bits == 8 ||
             (!is_float && a->type.bits == 8u * t->scalar_bytes);
    case SPIRV_KIND_FLOAT:
      return is_float && a->type.bits == 8u * t->scalar_bytes;
    default: return true;
  }
}

/* Whether code of a module may look if a pointer is null. */
static bool module_compares_pointers(const spirv_module *m) {
  enum { CONVERT_PTR_TO_U = 117, PTR_EQUAL = 401, PTR_DIFF = 403 };
  for (size_t i = 0; i < m->instruction_count; i++) {
    uint16_t op = m->instructions[i].opcode;
    if (op == CONVERT_PTR_TO_U || (op >= PTR_EQUAL && op <= PTR_DIFF))
      return true;
  }
  return false;
}

/* A null pointer. On a CPU device following it ends this process, so that with
   LZE_CHECK=1 a kernel that can only follow it is not given it. */
static void argument_take_null(lua_State *L, const lze_Kernel *k, uint32_t i) {
  if (k->o.context->state->check &&
      k->info->args[i].access != SPIRV_ACCESS_NONE &&
      !module_compares_pointers(k->module->spirv))
    argument_problem(L, k, i, "nil, a null pointer, which the kernel follows "
                              "(LZE_CHECK=1)");
}

static void argument_take_pointer(lua_State *L, const lze_Kernel *k,
                                  uint32_t i, int index) {
  Argument *a = &k->arguments[i];
  a->buffer = NULL;
  a->pointer = NULL;
  a->data = &a->pointer;
  lze_Buffer *b = lze_test_buffer(L, index);
  if (b == NULL) {
    if (!lua_isnil(L, index))
      argument_error(L, k, i, index, " (a buffer, or nil)");
    argument_take_null(L, k, i);
    return;
  }
  if (!lze_buffer_is_open(b))
    argument_problem(L, k, i, "the buffer is closed");
  if (!pointee_takes(a->info, b->type))
    argument_error(L, k, i, index, "");
  const lze_Storage *s = b->storage;
  if (s->o.context != k->o.context)
    argument_problem(L, k, i, "a buffer of another context");
  if (s->usage == LZE_DEVICE && s->device != k->module->device)
    argument_problem(L, k, i, "a device buffer of another device");
  a->buffer = b;
  /* An empty view may begin where its memory ends, which is no address of this
     memory: a driver refuses it. */
  if (s->pointer != NULL)
    a->pointer = s->pointer + (b->offset < s->bytes ? b->offset : 0);
}

typedef struct LocalBox {
  lze_Box box;
  size_t bytes;
} LocalBox;

static void argument_take_local(lua_State *L, const lze_Kernel *k, uint32_t i,
                                int index) {
  Argument *a = &k->arguments[i];
  a->data = NULL;
  const LocalBox *b = lze_test_box(L, index, lze_local_kind);
  lua_Integer limit =
      (lua_Integer)k->module->device->compute.maxSharedLocalMemory;
  if (b != NULL) {
    a->bytes = b->bytes;
  } else {
    int exact;
    lua_Integer n = lua_tointegerx(L, index, &exact);
    if (!exact || lua_type(L, index) != LUA_TNUMBER)
      argument_error(L, k, i, index, " (a count of elements, or "
                                     "lze.local_bytes)");
    if (a->info->source_type == NULL || a->info->type.bytes == 0)
      argument_problem(L, k, i, "the module does not state the element type: "
                                "lze.local_bytes expected");
    if (n < 1)
      argument_error(L, k, i, index, " (a positive count of elements)");
    if (n > limit) n = limit + 1;
    a->bytes = (size_t)n * a->info->type.bytes;
  }
  if (a->bytes > (size_t)limit)
    argument_problem(L, k, i,
                     lua_pushfstring(L, "more local memory than the %I bytes "
                                        "of the device",
                                     (LUAI_UACINT)limit));
}

/* Check the value at `index` and keep it for the launch. Raises if it will
   not do. */
static void argument_take(lua_State *L, const lze_Kernel *k, uint32_t i,
                          int index) {
  Argument *a = &k->arguments[i];
  const spirv_arg *info = a->info;
  switch (info->cls) {
    case SPIRV_ARG_POINTER: argument_take_pointer(L, k, i, index); return;
    case SPIRV_ARG_LOCAL: argument_take_local(L, k, i, index); return;
    case SPIRV_ARG_VALUE: break;
    default:
      argument_problem(L, k, i,
                       lua_pushfstring(L, "%s is not supported",
                                       argument_type_name(L, info)));
  }
  a->data = a->value;
  if (a->type != NULL) {
    /* Nothing of Lua's may run unless it is an error. */
    if (lze_type_try(L, a->type, index, a->value) ||
        (a->other != NULL && lze_type_try(L, a->other, index, a->value)))
      return;
    lze_type_store(L, a->other != NULL ? a->other : a->type, index, a->value);
    argument_problem(L, k, i, lua_tostring(L, -1));
  }
  if (info->type.kind == SPIRV_KIND_BOOL ||
      info->type.kind == SPIRV_KIND_POINTER)
    argument_problem(L, k, i, "a type that no kernel argument can have");
  size_t length = 0;
  if (lua_type(L, index) != LUA_TSTRING)
    argument_error(L, k, i, index, " (a string of its bytes)");
  a->data = lua_tolstring(L, index, &length);
  if (length != a->bytes)
    argument_problem(L, k, i,
                     lua_pushfstring(L, "a string of %I bytes expected, got "
                                        "one of %I",
                                     (LUAI_UACINT)a->bytes,
                                     (LUAI_UACINT)length));
}

/* Take all arguments, the first at `index`. */
static void arguments_take(lua_State *L, const lze_Kernel *k, int index,
                           int count) {
  uint32_t expected = k->info->arg_count;
  if (count < 0 || (uint32_t)count != expected) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (uint32_t i = 0; i < expected; i++) {
      luaL_addstring(&b, i > 0 ? ", " : " (");
      luaL_addstring(&b, k->info->args[i].name != NULL
                             ? k->info->args[i].name : "?");
    }
    if (expected > 0) luaL_addchar(&b, ')');
    luaL_pushresult(&b);
    luaL_error(L, "%s: %d argument%s%s expected, got %d", k->name,
               (int)expected, expected == 1 ? "" : "s", lua_tostring(L, -1),
               count);
  }
  for (uint32_t i = 0; i < expected; i++)
    argument_take(L, k, i, index + (int)i);
}

/* --- ranges ------------------------------------------------------------- */

static const lua_Integer DIMENSION_MAX = UINT32_MAX;

/* A number of work-items, or an offset or group, in one dimension. */
static lua_Integer range_number(lua_State *L, const lze_Kernel *k, int index,
                                const char *what, lua_Integer low) {
  int exact;
  lua_Integer n = lua_tointegerx(L, index, &exact);
  if (!exact || lua_type(L, index) != LUA_TNUMBER)
    luaL_error(L, "%s: %s: integer expected, got %s", k->name, what,
               lze_describe(L, index));
  if (n < low || n > DIMENSION_MAX)
    luaL_error(L, "%s: %s: %I is outside %I..4294967295", k->name, what,
               (LUAI_UACINT)n, (LUAI_UACINT)low);
  return n;
}

/* A number, or an array of one to three, at `index`. Returns how many. */
static int range_triple(lua_State *L, const lze_Kernel *k, int index,
                        const char *what, lua_Integer low,
                        lua_Integer out[3]) {
  if (lua_type(L, index) != LUA_TTABLE) {
    out[0] = range_number(L, k, index, what, low);
    return 1;
  }
  lua_Unsigned n = lua_rawlen(L, index);
  if (n < 1 || n > 3)
    luaL_error(L, "%s: %s: one to three numbers expected, got %d", k->name,
               what, (int)n);
  for (int i = 0; i < (int)n; i++) {
    lua_rawgeti(L, index, i + 1);
    out[i] = range_number(L, k, -1, what, low);
    lua_pop(L, 1);
  }
  return (int)n;
}

lze_Policy lze_check_policy(lua_State *L, const char *word,
                            const char *where) {
  for (int i = 0; policy_names[i] != NULL; i++)
    if (strcmp(policy_names[i], word) == 0) return (lze_Policy)i;
  luaL_error(L, "%s: unknown policy '%s' (known: lze, driver, largest, "
                "tornado, oneapi.jl, tuned)", where, word);
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

static void launch_check_queue(lua_State *L, const lze_Kernel *k,
                               const lze_Queue *q) {
  if (q->o.context != k->o.context || q->device != k->module->device)
    luaL_error(L, "%s: queue: a queue of another device or context than the "
                  "kernel", k->name);
  if (q->ordinal != q->device->ordinal)
    luaL_error(L, "%s: queue: a copy engine runs no kernels", k->name);
}

/* Read option `key`, whose value is on the top of the stack; from `kept` on
   there is room for objects. */
static void launch_option(lua_State *L, const lze_Kernel *k, const char *key,
                          Launch *l, int kept) {
  int value = lua_gettop(L);
  lua_Integer numbers[3] = {1, 1, 1};
  if (strcmp(key, "group") == 0) {
    range_triple(L, k, value, key, 1, numbers);
    for (int i = 0; i < 3; i++) l->group[i] = (uint32_t)numbers[i];
  } else if (strcmp(key, "offset") == 0) {
    numbers[0] = numbers[1] = numbers[2] = 0;
    range_triple(L, k, value, key, 0, numbers);
    for (int i = 0; i < 3; i++) l->offset[i] = (uint64_t)numbers[i];
  } else if (strcmp(key, "policy") == 0) {
    if (lua_type(L, value) != LUA_TSTRING)
      luaL_error(L, "%s: policy: string expected, got %s", k->name,
                 lze_describe(L, value));
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
    launch_check_queue(L, k, q);
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
  }
}

/* Check the buffers of `uses`, one or an array of them. */
static void launch_check_uses(lua_State *L, const lze_Kernel *k, int index) {
  if (!lua_istable(L, index)) {
    launch_check_used(L, k, index);
    return;
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, index);
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

/* Use them, as written. Returns whether there are any. */
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

/* Read the range, or launch table, at stack index `index`, without running
   anything of the script. [-0, +4] keep what a hook may take out of it. */
static void launch_read(lua_State *L, const lze_Kernel *k, int index,
                        Launch *l) {
  lua_Integer global[3] = {1, 1, 1};
  if (lua_type(L, index) != LUA_TTABLE) {
    l->dims = 1;
    l->global[0] =
        (uint64_t)range_number(L, k, index, "global size", 0);
    l->global[1] = l->global[2] = 1;
    l->empty = l->global[0] == 0;
    l->given_by = lze_pinned_group(k, l->task, l->group);
    return;
  }
  l->dims = range_triple(L, k, index, "global size", 0, global);
  for (int i = 0; i < 3; i++) l->global[i] = (uint64_t)global[i];
  l->empty = global[0] == 0 || global[1] == 0 || global[2] == 0;
  int kept = lua_gettop(L) + 1;
  lua_settop(L, kept + 3);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 &&
        lua_tointeger(L, -2) <= l->dims)
      continue;
    const char *key =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
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

/* How the range is to be cut, the same as last time where it comes again.
   Raises where a given or required group cannot be met. */
static const lze_GroupChoice *kernel_cut(lua_State *L, lze_Kernel *k,
                                         const Launch *l,
                                         uint64_t local_bytes) {
  Cut *c = k->cut;
  lze_GroupInput *in = &c->in;
  if (c->valid && in->dims == l->dims && in->policy == l->policy &&
      in->local_bytes == local_bytes &&
      memcmp(in->global, l->global, sizeof in->global) == 0 &&
      memcmp(in->offset, l->offset, sizeof in->offset) == 0 &&
      memcmp(in->given, l->group, sizeof in->given) == 0 &&
      in->given_by == l->given_by)
    return &c->choice;
  c->valid = false;
  in->given_by = l->given_by;
  in->dims = l->dims;
  in->policy = l->policy;
  in->local_bytes = local_bytes;
  memcpy(in->global, l->global, sizeof in->global);
  memcpy(in->offset, l->offset, sizeof in->offset);
  memcpy(in->given, l->group, sizeof in->given);
  memset(in->suggested, 0, sizeof in->suggested);
  if (l->policy == LZE_POLICY_DRIVER) {
    ze_result_t r = ZE(
        zeKernelSuggestGroupSize, k->handle, (uint32_t)l->global[0],
        (uint32_t)l->global[1], (uint32_t)l->global[2], &in->suggested[0],
        &in->suggested[1], &in->suggested[2]);
    if (r != ZE_RESULT_SUCCESS)
      lze_fail(L, k->module->device->driver, r, k->name,
               "zeKernelSuggestGroupSize", NULL, NULL);
  }
  if (l->policy == LZE_POLICY_TUNED) lze_tuned_group(k, in, in->suggested);
  if (!lze_group_choose(in, &c->choice))
    luaL_error(L, "%s: %s", k->name, c->choice.why);
  c->valid = true;
  return &c->choice;
}

const lze_GroupInput *lze_kernel_input(const lze_Kernel *k) {
  return &k->cut->in;
}

void lze_kernel_forget(lze_Kernel *k) { k->cut->valid = false; }

/* --- launches ----------------------------------------------------------- */

/* Check and keep what a launch uses and its `count` arguments, the first at
   `first`, and say how its range is cut; NULL where it is empty. */
static const lze_GroupChoice *launch_check(lua_State *L, lze_Kernel *k,
                                           const Launch *l, int first,
                                           int count) {
  if (l->uses != 0) launch_check_uses(L, k, l->uses);
  arguments_take(L, k, first, count);
  uint64_t local = kernel_local_bytes(k);
  for (uint32_t i = 0; k->local_arguments && i < k->info->arg_count; i++)
    if (k->info->args[i].cls == SPIRV_ARG_LOCAL)
      local += k->arguments[i].bytes;
  if (k->local_arguments && l->group[0] == 0 &&
      k->info->required_group[0] == 0)
    luaL_error(L, "%s: a kernel with local memory for an argument needs "
                  "`group` in the launch table", k->name);
  return l->empty ? NULL : kernel_cut(L, k, l, local);
}

static int launch_fail(lua_State *L, const lze_Kernel *k, ze_result_t r,
                       const char *call) {
  return lze_fail(L, k->module->device->driver, r, k->name, call, NULL, NULL);
}

/* Whether the native kernel has this value already. A pointer is the same only
   if its allocation is: a driver may remember more of it than the address. */
static bool argument_is_told(const Argument *a) {
  if (!a->told) return false;
  if (a->data == &a->pointer)
    return a->pointer == a->told_pointer &&
           (a->buffer == NULL ||
            a->buffer->storage->serial == a->told_serial);
  if (a->data == NULL) return a->bytes == a->told_bytes;
  return a->data == a->value &&
         memcmp(a->value, a->told_value, a->bytes) == 0;
}

static void argument_set_told(Argument *a) {
  a->told = a->data == NULL || a->data == &a->pointer || a->data == a->value;
  a->told_pointer = a->pointer;
  a->told_serial = a->buffer != NULL ? a->buffer->storage->serial : 0;
  a->told_bytes = a->bytes;
  if (a->data == a->value) memcpy(a->told_value, a->value, a->bytes);
}

/* Tell the native kernel its arguments. Returns the entry point that failed,
   or NULL. */
static const char *launch_set(lze_Kernel *k, bool indirect,
                              ze_result_t *result) {
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    Argument *a = &k->arguments[i];
    if (argument_is_told(a) && !k->foreign) continue;
    /* A null pointer is given as no value at all. */
    const void *data =
        a->data == &a->pointer && a->pointer == NULL ? NULL : a->data;
    a->told = false;
    *result = ZE(zeKernelSetArgumentValue, k->handle, i, a->bytes, data);
    if (*result != ZE_RESULT_SUCCESS) return "zeKernelSetArgumentValue";
    argument_set_told(a);
  }
  if (indirect && !k->indirect) {
    *result = ZE(zeKernelSetIndirectAccess, k->handle,
                 ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
                     ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
                     ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED);
    if (*result != ZE_RESULT_SUCCESS) return "zeKernelSetIndirectAccess";
    k->indirect = true;
  }
  return NULL;
}

/* Append one part. Returns as launch_set. */
static const char *launch_part(lze_Kernel *k, ze_command_list_handle_t list,
                               const lze_GroupPart *p,
                               ze_event_handle_t signal, uint32_t waits,
                               ze_event_handle_t *wait_handles,
                               ze_result_t *result) {
  if (k->foreign || memcmp(k->group, p->group, sizeof k->group) != 0) {
    *result = ZE(zeKernelSetGroupSize, k->handle, p->group[0],
                                          p->group[1], p->group[2]);
    if (*result != ZE_RESULT_SUCCESS) return "zeKernelSetGroupSize";
    memcpy(k->group, p->group, sizeof k->group);
  }
  if (memcmp(k->offset, p->offset, sizeof k->offset) != 0 ||
      (k->foreign && k->module->device->driver->offsets)) {
    *result = ZE(zeKernelSetGlobalOffsetExp, k->handle, p->offset[0],
                 p->offset[1], p->offset[2]);
    if (*result != ZE_RESULT_SUCCESS) return "zeKernelSetGlobalOffsetExp";
    memcpy(k->offset, p->offset, sizeof k->offset);
  }
  const ze_group_count_t count = {p->count[0], p->count[1], p->count[2]};
  *result = ZE(zeCommandListAppendLaunchKernel, list, k->handle, &count,
               signal, waits, wait_handles);
  return *result == ZE_RESULT_SUCCESS ? NULL
                                      : "zeCommandListAppendLaunchKernel";
}

/* Append all parts; what has been appended when one fails is still waited
   for and pinned. Returns as launch_set, after ending or aborting c. */
static const char *launch_append(lze_Kernel *k, lze_Command *c,
                                 const lze_GroupChoice *choice,
                                 ze_result_t *result) {
  lze_Queue *q = c->queue;
  ze_event_handle_t event = lze_command_event(c);
  /* Out of order, only a barrier knows when all the parts are done. */
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
    failed = launch_part(k, q->list, &choice->parts[i], signal,
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
      lze_strand(c);
      return failed;
    }
  }
  lze_end(c);
  return failed;
}

/* With LZE_CHECK=1, after a launch is done: raise if memory round one of the
   buffers it was given, from stack index `first` on, has been overwritten. */
static void launch_check_guards(lua_State *L, const lze_Kernel *k, int first,
                                int uses) {
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const lze_Buffer *b = lze_test_buffer(L, first + (int)i);
    if (b == NULL || !lze_buffer_is_open(b) ||
        !lze_storage_damaged(L, b->storage))
      continue;
    const char *where = lua_tostring(L, -1);
    luaL_error(L, "%s: argument %s: memory outside the buffer was written, %s",
               k->name, argument_name(L, k, i), where);
  }
  bool one = uses != 0 && lze_test_buffer(L, uses) != NULL;
  lua_Integer n = uses == 0 ? 0 : one ? 1 : (lua_Integer)lua_rawlen(L, uses);
  for (lua_Integer i = 1; i <= n; i++) {
    if (one) lua_pushvalue(L, uses);
    else lua_rawgeti(L, uses, i);
    const lze_Buffer *b = lze_test_buffer(L, -1);
    lua_pop(L, 1);
    if (b != NULL && lze_buffer_is_open(b) &&
        lze_storage_damaged(L, b->storage))
      luaL_error(L, "%s: uses: memory outside buffer %d was written", k->name,
                 (int)i);
  }
}

/* Where the newest command of the queue is a launch of the same kernel on the
   same buffers that has no event, let it stand for this launch too: a loop of
   launches then costs little more than the driver's part of it. */
static bool launch_again(lua_State *L, lze_Kernel *k, const Launch *l,
                         const lze_GroupChoice *choice) {
  lze_Command *c = lze_extensible(l->queue, &k->lazy);
  if (c == NULL || k->o.context->state->sync) return false;
  uint32_t used = 0;
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const Argument *a = &k->arguments[i];
    const lze_Buffer *b = a->buffer;
    if (a->info->cls != SPIRV_ARG_POINTER || b == NULL) continue;
    if (!lze_command_repeats(c, used++, b->storage, b->offset,
                             b->offset + (size_t)b->count * b->type->bytes,
                             a->write))
      return false;
  }
  if (used != c->use_count) return false;
  if (k->info->features & SPIRV_USES_PRINTF) fflush(stdout);
  ze_result_t r;
  const char *failed = launch_set(k, false, &r);
  for (int i = 0; i < choice->count && failed == NULL; i++)
    failed =
        launch_part(k, l->queue->list, &choice->parts[i], NULL, 0, NULL, &r);
  if (failed != NULL) launch_fail(L, k, r, failed);
  k->o.context->state->launches++;
  lze_extend(c);
  return true;
}

/* A launch of nothing that signals an event all the same, after what it was to
   come after. */
static void launch_nothing(lua_State *L, lze_Kernel *k, const Launch *l,
                           ze_event_handle_t signal, int event) {
  lze_Queue *q = l->queue;
  lze_Command *c = lze_begin(L, q, k->name, true, NULL);
  if (l->after != 0) lze_command_after_all(L, c, l->after);
  lze_command_order(L, c);
  lze_Outcome out;
  if (!ZE_TRY(&out, zeCommandListAppendBarrier, q->list, lze_command_event(c),
              c->wait_count, c->wait_handles)) {
    lze_abort(c);
    launch_fail(L, k, out.result, out.call);
  }
  bool signalled = lze_command_signal(c, signal, &out);
  lze_end(c);
  if (!signalled) launch_fail(L, k, out.result, out.call);
  if (event == 0) return;
  lze_test_event(L, event)->command = c;
  lze_command_own(c);
}

/* The queue for a launch of k, which must be open: `given`, or the default one
   where that is NULL.  Waits until it can take one more command, after which
   nothing of Lua's has run. */
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

/* The common part of k(...), k:launch(...) and q:launch(k, ...): the range is
   at stack index `range`, `count` arguments follow; `q` is NULL for the
   default queue; an event is at `event`, or 0. */
static void kernel_run(lua_State *L, lze_Kernel *k, int range, int count,
                       lze_Queue *q, int event) {
  /* Making the event may have run finalisers. */
  if (k->o.closed) luaL_error(L, "%s is closed", k->name);
  Launch l = {.policy = k->o.context->state->policy, .queue = q};
  launch_read(L, k, range, &l);
  /* What errors begin with: making it may run a finaliser. */
  const char *after = NULL, *signals = NULL;
  if (l.after != 0) after = lua_pushfstring(L, "%s: after", k->name);
  if (l.signal != 0) signals = lua_pushfstring(L, "%s: signal", k->name);
  l.queue = launch_queue(L, k, l.queue);
  /* From here on nothing of Lua's runs. */
  if (l.after != 0) lze_check_after(L, l.after, l.queue, after);
  ze_event_handle_t signal = NULL;
  if (l.signal != 0) signal = lze_check_signal(L, l.signal, l.queue, signals);
  const lze_GroupChoice *choice = launch_check(L, k, &l, range + 1, count);
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

  if (event == 0 && l.after == 0 && l.uses == 0 && signal == NULL &&
      launch_again(L, k, &l, choice))
    return;
  lze_Command *c = lze_begin(L, l.queue, k->name, event != 0,
                             event != 0 ? NULL : &k->lazy);
  lze_command_pin(L, c, &k->o);
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const Argument *a = &k->arguments[i];
    if (a->info->cls == SPIRV_ARG_POINTER && a->buffer != NULL)
      launch_use(L, c, a->buffer, a->write);
  }
  bool indirect = launch_use_all(L, c, l.uses);
  if (l.after != 0) lze_command_after_all(L, c, l.after);
  lze_command_order(L, c);
  /* What the script has printed comes before what the kernel prints. */
  if (k->info->features & SPIRV_USES_PRINTF) fflush(stdout);
  if (event != 0 && choice->count > 1) lze_command_time_first(L, c);
  ze_result_t r;
  const char *failed = launch_set(k, indirect, &r);
  if (failed != NULL)
    lze_abort(c);
  else
    failed = launch_append(k, c, choice, &r);
  if (failed != NULL) launch_fail(L, k, r, failed);
  k->o.context->state->launches++;
  if (signal != NULL) {
    lze_Outcome out;
    if (!lze_command_signal(c, signal, &out))
      launch_fail(L, k, out.result, out.call);
  }
  if (event != 0) {
    lze_test_event(L, event)->command = c;
    lze_command_own(c);
  }
  if (!k->o.context->state->sync) return;
  lze_command_wait(L, c, UINT64_MAX);
  if (!k->o.closed && k->o.context->state->check) /* closed by a hook? */
    launch_check_guards(L, k, range + 1, l.uses);
}

/* --- launches that a graph records --------------------------------------- */

lze_Kernel *lze_test_kernel(lua_State *L, int index) {
  const KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return b != NULL ? b->kernel : NULL;
}

lze_Context *lze_context_of_kernel(lua_State *L, void *index) {
  const lze_Kernel *k = lze_test_kernel(L, (int)(intptr_t)index);
  if (k == NULL || k->o.closed) luaL_error(L, "the kernel is closed");
  return k->o.context;
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

const lze_GroupChoice *lze_task_check(lua_State *L, lze_Kernel *k,
                                      const char *name, int range, int count,
                                      lze_TaskUse *use, void *data) {
  if (k->o.closed) luaL_error(L, "%s is closed", k->name);
  Launch l = {.policy = k->o.context->state->policy, .task = name};
  launch_read(L, k, range, &l);
  const lze_GroupChoice *choice = launch_check(L, k, &l, range + 1, count);
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const Argument *a = &k->arguments[i];
    if (a->info->cls == SPIRV_ARG_POINTER && a->buffer != NULL)
      task_use(a->buffer, (int)i,
               a->info->access, use, data);
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

bool lze_task_append(lze_Kernel *k, const lze_GroupChoice *choice,
                     ze_command_list_handle_t list, ze_event_handle_t signal,
                     ze_event_handle_t first, uint32_t wait_count,
                     ze_event_handle_t *waits, lze_Outcome *out) {
  int n = choice->count;
  out->call = launch_set(k, k->task_indirect, &out->result);
  for (int i = 0; i < n && out->call == NULL; i++)
    out->call = launch_part(k, list, &choice->parts[i],
                            n == 1 ? signal : i == 0 ? first : NULL,
                            wait_count, waits, &out->result);
  if (out->call != NULL) return false;
  /* Only a barrier knows when all the parts are done. */
  return n == 1 || signal == NULL ||
         ZE_TRY(out, zeCommandListAppendBarrier, list, signal, 0, NULL);
}

/* k(range | launch_table, ...): enqueue, return nothing. */
static int kernel_call(lua_State *L) {
  lze_Kernel *k = kernel_check(L);
  if (lua_gettop(L) < 2) return luaL_error(L, "%s: no global size", k->name);
  luaL_checkstack(L, 12, NULL);
  kernel_run(L, k, 2, lua_gettop(L) - 2, NULL, 0);
  return 0;
}

/* k:launch(range | launch_table, ...) -> event */
static int kernel_launch(lua_State *L) {
  lze_Kernel *k = kernel_check(L);
  int count = lua_gettop(L) - 2;
  if (count < 0) return luaL_error(L, "%s: no global size", k->name);
  luaL_checkstack(L, 12, NULL);
  lze_push_event(L);
  int event = lua_gettop(L);
  kernel_run(L, k, 2, count, NULL, event);
  lua_settop(L, event);
  return 1;
}

/* q:launch(k, range | launch_table, ...) -> event */
static int queue_launch(lua_State *L) {
  lze_Queue *q = lze_check_queue(L, 1);
  KernelBox *b = lze_check_box(L, 2, lze_kernel_kind);
  if (b->kernel == NULL || b->kernel->o.closed)
    return luaL_error(L, "%s is closed", b->name);
  lze_Kernel *k = b->kernel;
  int count = lua_gettop(L) - 3;
  if (count < 0) return luaL_error(L, "%s: no global size", k->name);
  launch_check_queue(L, k, q);
  luaL_checkstack(L, 12, NULL);
  lze_push_event(L);
  int event = lua_gettop(L);
  kernel_run(L, k, 3, count, q, event);
  lua_settop(L, event);
  return 1;
}

/* k:group(nx [, ny [, nz]] | launch_table) -> gx, gy, gz, why
   The group that a launch of that range would get (of a split one, the
   body's), and the reason in words. */
static int kernel_group(lua_State *L) {
  lze_Kernel *k = kernel_check(L);
  Launch l = {.policy = k->o.context->state->policy};
  int n = lua_gettop(L) - 1;
  if (n < 1) return luaL_error(L, "%s: no global size", k->name);
  if (!lua_istable(L, 2)) {
    if (n > 3)
      return luaL_error(L, "%s: at most three dimensions expected, got %d",
                        k->name, n);
    lua_createtable(L, n, 0);
    for (int i = 1; i <= n; i++) {
      lua_pushvalue(L, i + 1);
      lua_rawseti(L, -2, i);
    }
    lua_replace(L, 2);
  }
  lua_settop(L, 2);
  kernel_check(L); /* the table may have run finalisers */
  launch_read(L, k, 2, &l);
  if (l.empty) {
    for (int i = 0; i < 3; i++) lua_pushinteger(L, 1);
    lua_pushliteral(L, "an empty range runs nothing");
    return 4;
  }
  const lze_GroupChoice *c = kernel_cut(L, k, &l, kernel_local_bytes(k));
  for (int i = 0; i < 3; i++) lua_pushinteger(L, c->parts[0].group[i]);
  lua_pushstring(L, c->why);
  return 4;
}

/* k:prepare(range | launch_table [, ...]) -> boolean
   Have the driver compile what such a launch needs, without running it; false
   where the driver cannot be asked to. The arguments are checked if given. */
static int kernel_prepare(lua_State *L) {
  lze_Kernel *k = kernel_check(L);
  int count = lua_gettop(L) - 2;
  if (count < 0) return luaL_error(L, "%s: no global size", k->name);
  luaL_checkstack(L, 12, NULL);
  kernel_check(L); /* growing the stack may have run finalisers */
  Launch l = {.policy = k->o.context->state->policy};
  launch_read(L, k, 2, &l);
  const lze_GroupChoice *choice =
      count > 0   ? launch_check(L, k, &l, 3, count)
      : !l.empty ? kernel_cut(L, k, &l, kernel_local_bytes(k))
                  : NULL;
  ze_result_t r = ZE_RESULT_SUCCESS;
  if (!l.empty)
    r = lze_prepare(k->module->device->driver, k->handle, choice);
  if (r != ZE_RESULT_SUCCESS && r != ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
    launch_fail(L, k, r, "zoclKernelPrepare");
  lua_pushboolean(L, r == ZE_RESULT_SUCCESS);
  return 1;
}

/* The struct stays until __gc, for a launch that a hook has closed it in. */
static int kernel_close(lua_State *L) {
  KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  if (b->kernel != NULL) lze_close(&b->kernel->o);
  return 0;
}

static int kernel_gc(lua_State *L) {
  KernelBox *b = lze_check_box(L, 1, lze_kernel_kind);
  lze_Kernel *k = b->kernel;
  b->kernel = NULL;
  if (k != NULL) lze_disown(&k->o);
  return 0;
}

static int kernel_tostring(lua_State *L) {
  const KernelBox *box = lze_check_box(L, 1, lze_kernel_kind);
  const lze_Kernel *k = box->kernel;
  if (k == NULL || k->o.closed) {
    lua_pushfstring(L, "%s (closed)", box->name);
    return 1;
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, k->name);
  luaL_addchar(&b, '(');
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    const spirv_arg *a = &k->info->args[i];
    if (i > 0) luaL_addstring(&b, ", ");
    if (a->cls == SPIRV_ARG_LOCAL) luaL_addstring(&b, "local ");
    if (a->cls == SPIRV_ARG_POINTER && a->is_const)
      luaL_addstring(&b, "const ");
    const char *type = argument_type_name(L, a);
    size_t length = strlen(type);
    bool pointer = length > 0 && type[length - 1] == '*';
    lua_pushlstring(L, type, length - pointer);
    lua_remove(L, -2);
    luaL_addvalue(&b);
    luaL_addstring(&b, pointer ? " *" : " ");
    luaL_addstring(&b, a->name != NULL ? a->name : "?");
  }
  luaL_addchar(&b, ')');
  luaL_pushresult(&b);
  return 1;
}

/* --- fields of a kernel ------------------------------------------------- */

static int field_name(lua_State *L) {
  lua_pushstring(L, kernel_check(L)->info->name);
  return 1;
}

static int field_args(lua_State *L) {
  const spirv_kernel *info = kernel_check(L)->info;
  lua_createtable(L, (int)info->arg_count, 0);
  for (uint32_t i = 0; i < info->arg_count; i++) {
    const spirv_arg *a = &info->args[i];
    lua_createtable(L, 0, 4);
    lua_pushstring(L, a->name); /* nil where the module has none */
    lua_setfield(L, -2, "name");
    argument_type_name(L, a);
    lua_setfield(L, -2, "type");
    if (a->cls == SPIRV_ARG_POINTER || a->cls == SPIRV_ARG_LOCAL) {
      lua_pushstring(L, lze_space_names[a->space]);
      lua_setfield(L, -2, "space");
    }
    if (a->cls == SPIRV_ARG_POINTER) {
      lua_pushstring(L, lze_access_names[a->access]);
      lua_setfield(L, -2, "access");
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int field_max_group_size(lua_State *L) {
  lua_pushinteger(L, kernel_check(L)->max_group);
  return 1;
}

/* {x, y, z}, or nil where there is none. [-0, +1] */
static void push_size(lua_State *L, const uint32_t size[3]) {
  if (size[0] == 0) {
    lua_pushnil(L);
    return;
  }
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, size[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* {x, y, z}, or nil when the kernel requires none. */
static int field_required_group_size(lua_State *L) {
  push_size(L, kernel_check(L)->info->required_group);
  return 1;
}

/* {x, y, z}, or nil when none is set. */
static int field_group_hint(lua_State *L) {
  push_size(L, kernel_check(L)->group_hint);
  return 1;
}

/* k.group_hint = a number, an array of one to three, or nil */
static int kernel_newindex(lua_State *L) {
  lua_settop(L, 3);
  if (lua_type(L, 2) != LUA_TSTRING ||
      strcmp(lua_tostring(L, 2), "group_hint") != 0)
    return luaL_error(L, "a kernel has no field that can be set but "
                         "group_hint (%s)", lze_describe(L, 2));
  lze_Kernel *k = kernel_check(L);
  lua_Integer size[3] = {0, 0, 0};
  if (!lua_isnil(L, 3)) {
    size[1] = size[2] = 1;
    range_triple(L, k, 3, "group_hint", 1, size);
  }
  for (int i = 0; i < 3; i++) k->group_hint[i] = (uint32_t)size[i];
  return 0;
}

static int field_subgroup_size(lua_State *L) {
  lua_pushinteger(L, kernel_check(L)->cut->in.kernel_subgroup);
  return 1;
}

static int field_local_bytes(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)kernel_local_bytes(kernel_check(L)));
  return 1;
}

static int field_private_bytes(lua_State *L) {
  lua_pushinteger(L, kernel_check(L)->props.privateMemSize);
  return 1;
}

static int field_spill_bytes(lua_State *L) {
  lua_pushinteger(L, kernel_check(L)->props.spillMemSize);
  return 1;
}

static int field_kernel_handle(lua_State *L) {
  kernel_check(L)->foreign = true; /* others may tell it things from now on */
  lua_pushlightuserdata(L, kernel_check(L)->handle);
  return 1;
}

static const lze_Method kernel_methods[] = {
    {"launch", kernel_launch, LZE_HOT},
    {"group", kernel_group, LZE_HOT},
    {"prepare", kernel_prepare, LZE_HOT},
    {"close", kernel_close, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Method kernel_metamethods[] = {
    {"__call", kernel_call, LZE_HOT},
    {"__newindex", kernel_newindex, LZE_HOT},
    {"__gc", kernel_gc, LZE_HOT},
    {"__close", kernel_close, LZE_HOT},
    {"__tostring", kernel_tostring, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

static const lze_Field kernel_fields[] = {
    {"name", field_name},
    {"args", field_args},
    {"max_group_size", field_max_group_size},
    {"required_group_size", field_required_group_size},
    {"group_hint", field_group_hint},
    {"subgroup_size", field_subgroup_size},
    {"local_bytes", field_local_bytes},
    {"private_bytes", field_private_bytes},
    {"spill_bytes", field_spill_bytes},
    {"handle", field_kernel_handle},
    {NULL, NULL}};

/* --- lze.local_bytes ---------------------------------------------------- */

/* lze.local_bytes(n) -> an argument that is n bytes of local memory */
static int core_local_bytes(lua_State *L) {
  lua_Integer n = lze_check_integer(L, 1, "n");
  if (n < 1)
    lze_argerror(L, 1, lua_pushfstring(L, "n: a positive number of bytes "
                                           "expected, got %I",
                                        (LUAI_UACINT)n));
  LocalBox *b = lze_push_box(L, lze_local_kind, sizeof *b);
  b->bytes = (size_t)n;
  return 1;
}

static int local_tostring(lua_State *L) {
  const LocalBox *b = lze_check_box(L, 1, lze_local_kind);
  lua_pushfstring(L, "local_bytes: %I", (LUAI_UACINT)b->bytes);
  return 1;
}

static const lze_Method no_methods[] = {
    {NULL, NULL, LZE_HOT}};
static const lze_Method local_metamethods[] = {
    {"__tostring", local_tostring, LZE_HOT},
    {NULL, NULL, LZE_HOT}};
static const lze_Field no_fields[] = {{NULL, NULL}};

static const lze_Method functions[] = {
    {"local_bytes", core_local_bytes, LZE_COLD},
    {NULL, NULL, LZE_HOT}};

static const lze_Method queue_methods[] = {
    {"launch", queue_launch, LZE_HOT},
    {NULL, NULL, LZE_HOT}};

void lze_open_kernel(lua_State *L) {
  lze_add_methods(L, lze_queue_kind, queue_methods);
  lze_new_kind(L, lze_kernel_kind, kernel_metamethods, kernel_methods,
               kernel_fields);
  lze_new_kind(L, lze_local_kind, local_metamethods, no_methods, no_fields);
  lze_set_methods(L, functions, 0);
}
