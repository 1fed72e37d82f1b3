/*
 * lze_dlpack.c - DLPack tensors, version 1.
 * SPDX-License-Identifier: MIT
 *
 * The declarations here have the layout of dlpack.h.
 */
#include "base/lze_error.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_native.h"
#include "device/lze_object.h"
#include "host/lze_host.h"
#include "memory/lze_buffer.h"
#include "queue/lze_command.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TENSOR_RANK = 8 };

/* Codes of devices and of number types. */
enum { ON_CPU = 1, ON_ONEAPI = 14 };
enum { KIND_INT, KIND_UINT, KIND_FLOAT, KIND_BFLOAT = 4, KIND_COMPLEX,
       KIND_BOOL };
enum { FLAG_READ_ONLY = 1 };

typedef struct Tensor {
  uint32_t major, minor;
  void *manager;
  void (*deleter)(struct Tensor *self);
  uint64_t flags;
  void *data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t kind, bits;
  uint16_t lanes;
  int64_t *shape, *strides;     /* in elements; strides may be NULL */
  uint64_t byte_offset;
} Tensor;

/* Returns the number of elements of a tensor or a shape. Raises if the shape
   is invalid or has more than `most` elements. */
static size_t shape_count(lua_State *L, const char *what, const int64_t *shape,
                          int rank, size_t most) {
  if (rank < 0 || rank > TENSOR_RANK)
    luaL_error(L, "a %s of %d dimensions (0 to 8 expected)", what, rank);
  if (rank > 0 && shape == NULL) luaL_error(L, "a %s without sizes", what);
  bool none = false;
  for (int d = 0; d < rank; d++) {
    if (shape[d] < 0)
      luaL_error(L, "dimension %d of the %s is negative", d + 1, what);
    none = none || shape[d] == 0;
  }
  size_t n = 1;
  for (int d = 0; d < rank && !none; d++) {
    if ((size_t)shape[d] > most / n)
      luaL_error(L, "the %s is larger than any memory", what);
    n *= (size_t)shape[d];
  }
  return none ? 0 : n;
}

/* --- export ------------------------------------------------------------- */

/* A tensor made by lze: it keeps the memory alive, but no state. */
typedef struct Export {
  Tensor tensor;
  lze_Storage like;             /* its `memory` is a reference, or NULL */
  lze_Exported part;            /* listed in that memory */
  const lze_Type *type;
  size_t offset;
  lua_Integer count;
  int64_t shape[TENSOR_RANK], strides[TENSOR_RANK];
} Export;

static void export_delete(Tensor *t) {
  Export *e = t->manager;
  if (e->like.memory != NULL) {
    lze_memory_unlist(e->like.memory, &e->part);
    lze_memory_unref(e->like.memory);
  }
  free(e);
}

static uint8_t tensor_kind(const lze_Type *type) {
  switch (type->scalar) {
    case LZE_I8: case LZE_I16: case LZE_I32: case LZE_I64: return KIND_INT;
    case LZE_U8: case LZE_U16: case LZE_U32: case LZE_U64: return KIND_UINT;
    case LZE_BF16: return KIND_BFLOAT;
    default: return KIND_FLOAT;
  }
}

/* Returns true if the host may access the memory directly. */
static bool on_host(const lze_Storage *s) {
  const lze_DeviceInfo *root = s->device->base;
  return s->usage != LZE_DEVICE && strcmp(root->type, "cpu") == 0;
}

/* Makes the elements of a tensor, vectors of two reals, complex numbers. */
static void tensor_set_complex(Tensor *t) {
  t->kind = KIND_COMPLEX;
  t->bits = (uint8_t)(2 * t->bits);
  t->lanes = 1;
}

void *lze_dlpack_export(lua_State *L, int index, const int64_t *shape, int rank,
                        bool complex) {
  lze_Buffer *b = lze_check_buffer(L, index);
  const int64_t count = b->count;
  if (shape == NULL && rank != 0) {
    shape = &count;
    rank = 1;
  }
  size_t wanted = shape_count(L, "shape", shape, rank, PTRDIFF_MAX);
  if (wanted != (size_t)b->count)
    luaL_error(L, "a shape of %I elements for a buffer of %I",
               (LUAI_UACINT)wanted, (LUAI_UACINT)b->count);
  if (b->type->fields != NULL)
    luaL_error(L, "a buffer of structs is not a tensor");
  if (b->type->lanes == 3)
    luaL_error(L, "elements of %s occupy %d bytes: DLPack has no such type",
               b->type->name, (int)b->type->bytes);
  size_t bytes = (size_t)b->count * b->type->bytes;
  if (bytes > 0)
    lze_storage_wait(L, b->storage, b->offset, b->offset + bytes, true);
  b = lze_check_buffer(L, index); /* a hook may have closed it */
  lze_Storage *s = b->storage;
  if (bytes > 0 && s->memory == NULL)
    s->memory = lze_memory_new(s->o.context->native, lze_storage_base(s),
                               !s->borrowed);
  Export *e = calloc(1, sizeof *e);
  if (e == NULL || (bytes > 0 && s->memory == NULL)) {
    free(e);
    lze_no_memory(L);
  }
  e->type = b->type;
  e->offset = b->offset;
  e->count = b->count;
  e->like = (lze_Storage){.usage = s->usage, .device = s->device->base,
                          .pointer = s->pointer, .bytes = s->bytes,
                          .borrowed = s->borrowed, .id = s->id,
                          .memory = bytes > 0 ? s->memory : NULL};
  if (bytes > 0) {
    e->part = (lze_Exported){.from = lze_buffer_data(b), .bytes = bytes};
    lze_memory_ref(s->memory);
    lze_memory_list(s->memory, &e->part);
  }
  e->tensor = (Tensor){
      .major = 1, .minor = 0, .manager = e, .deleter = export_delete,
      .data = bytes > 0 ? lze_buffer_data(b) : NULL,
      .device_type = on_host(s) ? ON_CPU : ON_ONEAPI, .rank = rank,
      .kind = tensor_kind(b->type),
      .bits = (uint8_t)(8 * b->type->scalar_bytes), .lanes = b->type->lanes,
      .shape = e->shape, .strides = e->strides};
  if (complex && e->tensor.kind == KIND_FLOAT && e->tensor.lanes == 2)
    tensor_set_complex(&e->tensor);
  int64_t step = 1;
  for (int d = rank - 1; d >= 0; d--) {
    e->shape[d] = shape[d];
    e->strides[d] = step;
    if (bytes > 0) step *= shape[d];
  }
  return &e->tensor;
}

/* --- import ------------------------------------------------------------- */

static const lze_Type *tensor_type(lua_State *L, const Tensor *t) {
  unsigned lanes = t->lanes;
  unsigned bits = t->bits;
  for (int k = LZE_I8; k <= LZE_F64; k++) {
    const lze_Type *type = lze_type_of((lze_Scalar)k, 1);
    bool same = tensor_kind(type) == t->kind && 8 * type->scalar_bytes == bits;
    if (t->kind == KIND_BOOL) same = k == LZE_U8 && bits == 8;
    if (t->kind == KIND_COMPLEX && lanes == 1 && tensor_kind(type) == KIND_FLOAT
        && 16 * type->scalar_bytes == bits && bits >= 64)
      return lze_type_of((lze_Scalar)k, 2);
    if (same && (lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 ||
                 lanes == 16))
      return lze_type_of((lze_Scalar)k, lanes);
  }
  luaL_error(L, "elements of kind %d, %d bits and %d lanes are not known",
             (int)t->kind, (int)bits, (int)lanes);
  return NULL;
}

/* Returns true if its elements are contiguous, with the last index varying
   fastest. */
static bool tensor_is_packed(const Tensor *t) {
  int64_t step = 1;
  for (int d = t->rank - 1; d >= 0 && t->strides != NULL; d--) {
    if (t->shape[d] != 1 && t->strides[d] != step) return false;
    step *= t->shape[d];
  }
  return true;
}

/* Copies the elements into contiguous memory. */
static void tensor_pack(const Tensor *t, char *to, const char *from,
                        size_t count, size_t bytes) {
  if (tensor_is_packed(t)) {
    memcpy(to, from, count * bytes);
    return;
  }
  int64_t at[TENSOR_RANK] = {0};
  for (size_t i = 0; i < count; i++) {
    int64_t place = 0;
    for (int d = 0; d < t->rank; d++) place += at[d] * t->strides[d];
    memcpy(to + i * bytes, from + place * (int64_t)bytes, bytes);
    for (int d = t->rank - 1; d >= 0 && ++at[d] == t->shape[d]; d--) at[d] = 0;
  }
}

static void import_release(void *userdata, void *pointer) {
  (void)pointer;
  Tensor *t = userdata;
  if (t->deleter != NULL) t->deleter(t);
}

/* Pushes a buffer for a tensor that this library exported, from any state, in
   the requested context. The tensor holds a reference to its memory; the
   buffer takes another. [-0, +1] */
static void import_own(lua_State *L, const Export *e) {
  int top = lua_gettop(L);
  lze_Context *c = lze_push_borrowed_device(
      L, e->like.device, lze_memory_context(e->like.memory));
  lze_Storage like = e->like;
  like.device = lze_device_in(L, c, e->like.device);
  lze_push_shared(L, c, &like, e->type, e->offset, e->count);
  lze_memory_ref(e->like.memory);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

bool lze_dlpack_import(lua_State *L, lze_Context *c, const lze_DeviceInfo *d,
                       void *tensor) {
  Tensor *t = tensor;
  if (t == NULL) luaL_error(L, "the tensor is null");
  if (t->major != 1)
    luaL_error(L, "a tensor of DLPack %d.%d (1 expected)", (int)t->major,
               (int)t->minor);
  const lze_Type *type = tensor_type(L, t);
  size_t count = shape_count(L, "tensor", t->shape, t->rank,
                             PTRDIFF_MAX / type->bytes);
  if (t->device_type != ON_CPU && t->device_type != ON_ONEAPI)
    luaL_error(L, "a tensor of DLPack's device type %d (1, a CPU, or 14, "
                  "oneAPI, expected)", (int)t->device_type);
  if (count == 0) {
    lze_push_buffer(L, c, d, LZE_SHARED, type, 0);
    return true;
  }
  if (t->data == NULL) luaL_error(L, "the tensor has no data");
  const Export *own = t->deleter == export_delete ? t->manager : NULL;
  if (own != NULL && lze_memory_context(own->like.memory) == c->handle) {
    import_own(L, own);
    return true;
  }
  char *data = (char *)t->data + t->byte_offset;
  ze_memory_allocation_properties_t props = {
      .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  ze_device_handle_t owner = NULL;
  ze_result_t r = ZE(zeMemGetAllocProperties, c->handle, data, &props, &owner);
  bool usm = r == ZE_RESULT_SUCCESS && props.type != ZE_MEMORY_TYPE_UNKNOWN;
  bool host = t->device_type == ON_CPU;
  if (!usm && !host)
    luaL_error(L, "the tensor's memory is not unified shared memory (USM) of "
                  "this context");
  const char *why = !tensor_is_packed(t) ? "do not lie one behind the other"
                    : (t->flags & FLAG_READ_ONLY) != 0 ? "must not be written"
                    : (uintptr_t)data % type->bytes != 0 ? "are not aligned"
                                                         : NULL;
  if (why != NULL && !host) luaL_error(L, "the tensor's elements %s", why);
  if (why != NULL || !usm) {
    const lze_Buffer *b = lze_push_buffer(L, c, d, LZE_SHARED, type, count);
    tensor_pack(t, lze_buffer_data(b), data, count, type->bytes);
    return true;
  }
  lze_push_usm(L, c, d, data, type, (lua_Integer)count, NULL, NULL);
  /* A storage of this state that came back keeps its memory itself. So does
     one with an exported part: the tensor may own lze's tensor, which keeps
     that memory; then neither would ever be released. */
  const lze_Storage *s = lze_check_buffer(L, -1)->storage;
  if (!s->borrowed || (s->memory != NULL && lze_memory_lists(
                           s->memory, data, count * type->bytes)))
    return true;
  /* This comes last: nothing may fail after lze has taken over the tensor. */
  lze_push_usm(L, c, d, data, type, (lua_Integer)count, import_release, t);
  lua_pop(L, 1);
  return false;
}

void lze_dlpack_delete(void *tensor) {
  Tensor *t = tensor;
  if (t->deleter != NULL) t->deleter(t);
}
