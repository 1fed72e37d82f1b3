/*
 * lze_argument.c - arguments of launches, checked against a kernel's
 * parameters.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "launch/lze_group.h"
#include "launch/lze_kernel.h"
#include "launch/lze_launch.h"
#include "memory/lze_buffer.h"
#include "memory/lze_image.h"

/* [-0, +1] Returns the name of an argument in messages, as "2 (x)". */
const char *lze_argument_name(lua_State *L, const lze_Kernel *k,
                              uint32_t i) {
  const char *name = k->info->args[i].name;
  return name != NULL ? lua_pushfstring(L, "%d (%s)", (int)i + 1, name)
                      : lua_pushfstring(L, "%d", (int)i + 1);
}

/* [-0, +1] Returns the type of an argument as a script reads it in k.args. */
const char *lze_argument_type_name(lua_State *L, const spirv_arg *a) {
  if (a->source_type != NULL) return lua_pushstring(L, a->source_type);
  const lze_Type *t = lze_argument_type(&a->type, false);
  const char *base = t != NULL                             ? t->name
                     : a->type.kind == SPIRV_KIND_STRUCT   ? "struct"
                                                           : "void";
  switch (a->cls) {
    case SPIRV_ARG_POINTER:
    case SPIRV_ARG_LOCAL: return lua_pushfstring(L, "%s*", base);
    case SPIRV_ARG_IMAGE:
      if (a->image.dimensions == 0) return lua_pushliteral(L, "image");
      return lua_pushfstring(L, "image%dd%s%s%s_t", a->image.dimensions,
                             a->image.is_array ? "_array" : "",
                             a->image.is_multisampled ? "_msaa" : "",
                             a->image.is_depth ? "_depth" : "");
    case SPIRV_ARG_SAMPLER: return lua_pushliteral(L, "sampler_t");
    case SPIRV_ARG_OTHER: return lua_pushliteral(L, "other");
    default: return lua_pushstring(L, base);
  }
}

/* Raises "kernel saxpy: argument 2 (x): float* expected, got ...", with a
   description of the value. */
static int argument_error(lua_State *L, const lze_Kernel *k, uint32_t i,
                          int index, const char *expected) {
  const char *name = lze_argument_name(L, k, i);
  const char *type = lze_argument_type_name(L, &k->info->args[i]);
  lze_misuse(L, "%s: argument %s: %s expected%s, got %s", k->name, name, type,
             expected, lze_describe(L, index));
}

static int argument_problem(lua_State *L, const lze_Kernel *k, uint32_t i,
                            const char *problem) {
  lze_misuse(L, "%s: argument %s: %s", k->name, lze_argument_name(L, k, i),
             problem);
}

/* Returns true if a pointer whose source type is known takes a buffer of type
   t: the same scalar, of either sign, in any width of vector. */
static bool pointee_takes(const spirv_arg *a, const lze_Type *t) {
  if (a->source_type == NULL) return true;
  bool is_float = t->scalar == LZE_F16 || t->scalar >= LZE_F32;
  if (t->fields != NULL)
    return a->type.kind == SPIRV_KIND_INT ? a->type.bits == 8
                                          : a->type.kind != SPIRV_KIND_FLOAT;
  switch (a->type.kind) {
    case SPIRV_KIND_INT: /* bfloat16 also has pointers to integers */
      return a->type.bits == 8 ||
             (!is_float && a->type.bits == 8u * t->scalar_bytes);
    case SPIRV_KIND_FLOAT:
      return is_float && a->type.bits == 8u * t->scalar_bytes;
    default: return true;
  }
}

/* Accepts a null pointer.  On a CPU device, dereferencing it ends this process;
   with LZE_CHECK=1 a kernel is refused if it can only dereference it. */
static void argument_take_null(lua_State *L, const lze_Kernel *k, uint32_t i) {
  if (k->o.context->state->check &&
      k->info->args[i].access != SPIRV_ACCESS_NONE &&
      !spirv_compares_pointers(k->module->spirv, k->info))
    argument_problem(L, k, i, "nil, a null pointer, which the kernel follows "
                              "(LZE_CHECK=1)");
}

static void argument_take_pointer(lua_State *L, const lze_Kernel *k,
                                  uint32_t i, int index) {
  lze_Argument *a = &k->arguments[i];
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
  /* An empty view may begin at the end of its memory.  That address is not in
     the memory, so a driver rejects it. */
  if (s->pointer != NULL)
    a->pointer = s->pointer + (b->offset < s->bytes ? b->offset : 0);
}

static void argument_take_local(lua_State *L, const lze_Kernel *k, uint32_t i,
                                int index) {
  lze_Argument *a = &k->arguments[i];
  a->data = NULL;
  const lze_LocalBytes *b = lze_test_box(L, index, lze_local_kind);
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

/* Checks that a launch of k may use the storage of `window`, which belongs to
   an object of `kind`, as its argument i, and retains it. */
static void argument_take_window(lua_State *L, const lze_Kernel *k,
                                 uint32_t i, const lze_Buffer *window,
                                 const char *kind) {
  lze_Argument *a = &k->arguments[i];
  if (!lze_buffer_is_open(window))
    argument_problem(L, k, i, lua_pushfstring(L, "the %s is closed", kind));
  const lze_Storage *s = window->storage;
  const char *article = s->image != NULL ? "an" : "a";
  if (s->o.context != k->o.context)
    argument_problem(L, k, i, lua_pushfstring(L, "%s %s of another context",
                                              article, kind));
  if (s->device != k->module->device)
    argument_problem(L, k, i, lua_pushfstring(L, "%s %s of another device",
                                              article, kind));
  a->buffer = window;
  a->data = &a->pointer;
  a->pointer = s->image != NULL ? (void *)s->image : (void *)s->sampler;
}

/* Raises an error for a value at `index` that is not an image, or not a
   sampler. */
static void argument_lacks(lua_State *L, const lze_Kernel *k, uint32_t i,
                           int index, const char *expected) {
  const lze_DeviceInfo *device = k->module->device;
  k->arguments[i].buffer = NULL;
  if (lze_device_images(L, device).maxImageDims2D == 0)
    argument_problem(L, k, i, lua_pushfstring(L, "device %s has no images",
                                              device->props.name));
  argument_error(L, k, i, index, expected);
}

static void argument_take_image(lua_State *L, const lze_Kernel *k, uint32_t i,
                                int index) {
  const spirv_arg *info = k->arguments[i].info;
  const lze_Image *m = lze_test_image(L, index);
  if (m == NULL) argument_lacks(L, k, i, index, " (an image)");
  if (info->image.dimensions == 0 || info->image.is_array ||
      info->image.is_depth || info->image.is_multisampled)
    argument_problem(L, k, i,
                     lua_pushfstring(L, "%s is not supported",
                                     lze_argument_type_name(L, info)));
  if (m->dimensions != info->image.dimensions)
    argument_error(L, k, i, index,
                   lua_pushfstring(L, " (an image of %d dimension%s)",
                                   info->image.dimensions,
                                   info->image.dimensions == 1 ? "" : "s"));
  if ((info->access & SPIRV_ACCESS_WRITE) && !m->writable)
    argument_problem(L, k, i,
                     lua_pushfstring(L, "the kernel may write to it, and on "
                                        "this device images of %s are for "
                                        "reading only", m->format.name));
  argument_take_window(L, k, i, &m->window, "image");
}

static void argument_take_sampler(lua_State *L, const lze_Kernel *k,
                                  uint32_t i, int index) {
  const lze_Sampler *s = lze_test_sampler(L, index);
  if (s == NULL) argument_lacks(L, k, i, index, " (a sampler)");
  argument_take_window(L, k, i, &s->window, "sampler");
}

/* Checks the value at `index` and retains it for the launch.  Raises if it does
   not fit. */
static void argument_take(lua_State *L, const lze_Kernel *k, uint32_t i,
                          int index) {
  lze_Argument *a = &k->arguments[i];
  const spirv_arg *info = a->info;
  switch (info->cls) {
    case SPIRV_ARG_POINTER: argument_take_pointer(L, k, i, index); return;
    case SPIRV_ARG_LOCAL: argument_take_local(L, k, i, index); return;
    case SPIRV_ARG_VALUE: break;
    case SPIRV_ARG_IMAGE: argument_take_image(L, k, i, index); return;
    case SPIRV_ARG_SAMPLER: argument_take_sampler(L, k, i, index); return;
    default:
      argument_problem(L, k, i,
                       lua_pushfstring(L, "%s is not supported",
                                       lze_argument_type_name(L, info)));
  }
  a->data = a->value;
  if (a->type != NULL) {
    /* Lua code may run only if there is an error. */
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
    argument_error(L, k, i, index,
                   " (a string of its bytes, as lze.struct makes)");
  a->data = lua_tolstring(L, index, &length);
  if (length != a->bytes)
    argument_problem(L, k, i,
                     lua_pushfstring(L, "a string of %I bytes expected, got "
                                        "one of %I",
                                     (LUAI_UACINT)a->bytes,
                                     (LUAI_UACINT)length));
}

void lze_arguments_reach(lua_State *L, const lze_Kernel *k) {
  const lze_DeviceInfo *device = k->module->device;
  for (uint32_t i = 0; i < k->info->arg_count; i++) {
    lze_Argument *a = &k->arguments[i];
    if (a->info->cls != SPIRV_ARG_POINTER || a->buffer == NULL) continue;
    const lze_Storage *s = a->buffer->storage;
    if (s->device == device || s->device == a->reached) continue;
    if (!lze_device_reaches(device, s))
      argument_problem(L, k, i, "a buffer of another device, whose memory this "
                                "one cannot reach");
    if (s->usage != LZE_HOST) a->reached = s->device;
  }
}

int lze_arguments_refuse(lua_State *L, const lze_Kernel *k, int count) {
  uint32_t expected = k->info->arg_count - k->info->size_count;
  luaL_Buffer b;
  const char *captures = "", *between = "; its function captures ";
  for (uint32_t i = 0; i < expected; i++)
    if (k->info->args[i].is_capture && k->info->args[i].name != NULL) {
      captures = lua_pushfstring(L, "%s%s%s", captures, between,
                                 k->info->args[i].name);
      between = ", ";
    }
  luaL_buffinit(L, &b);
  for (uint32_t i = 0; i < expected; i++) {
    luaL_addstring(&b, i > 0 ? ", " : " (");
    luaL_addstring(&b, k->info->args[i].name != NULL
                           ? k->info->args[i].name : "?");
  }
  if (expected > 0) luaL_addchar(&b, ')');
  luaL_pushresult(&b);
  return luaL_error(L, "%s: %d argument%s%s expected, got %d%s", k->name,
                    (int)expected, expected == 1 ? "" : "s",
                    lua_tostring(L, -1), count, captures);
}

/* Checks and retains all arguments, the first at `index`. */
void lze_arguments_take(lua_State *L, const lze_Kernel *k, int index,
                        int count) {
  const uint32_t expected = k->info->arg_count;
  if (count < 0 || (uint32_t)count != expected)
    lze_arguments_refuse(L, k, count);
  for (uint32_t i = 0; i < expected; i++)
    argument_take(L, k, i, index + (int)i);
}
