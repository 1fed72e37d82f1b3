/*
 * lze_kernel_object.c - kernels: their properties, from module and driver.
 * SPDX-License-Identifier: MIT
 */
#include "launch/lze_kernel.h"
#include "base/lze_box.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "base/lze_types.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "launch/lze_group.h"
#include "launch/lze_launch.h"
#include "memory/lze_buffer.h"

#include "spirv_guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ze_kernel_max_group_size_properties_ext_t, which the headers of 1.4 lack. */
#define STYPE_KERNEL_MAX_GROUP_SIZE ((ze_structure_type_t)0x10013)

typedef struct KernelMaxGroupSize {
  ze_structure_type_t stype;
  void *pNext;
  uint32_t maxGroupSize;
} KernelMaxGroupSize;

const char *const lze_space_names[] = {"private", "global", "constant",
                                       "local", "generic"};

const char *const lze_access_names[] = {"none", "read", "write", "both"};

static void kernel_destroy(lze_Object *o) {
  lze_Kernel *k = (lze_Kernel *)o;
  if (k->whole.handle != NULL) ZE(zeKernelDestroy, k->whole.handle);
  if (k->guarded.handle != NULL) ZE(zeKernelDestroy, k->guarded.handle);
  k->whole.handle = k->guarded.handle = NULL;
  lze_unpin(&k->module->o);
}

static void kernel_release(lze_Object *o) {
  lze_Kernel *k = (lze_Kernel *)o;
  free(k->arguments);
  free(k->whole.arguments);
  free(k->grouping);
}

static const lze_Class kernel_class = {"kernel", kernel_destroy,
                                       kernel_release};

bool lze_kernel_splits(lua_State *L, int index) {
  const lze_KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return b->kernel->grouping->in.guards;
}

bool lze_kernel_writes(lua_State *L, int index, uint32_t i) {
  const lze_KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return b->kernel->arguments[i].write;
}

bool lze_kernel_is_open(lua_State *L, int index) {
  const lze_KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  if (b != NULL && b->is_lua) return !b->closed;
  return b != NULL && b->kernel != NULL && !b->kernel->o.closed;
}

const lze_Kernel *lze_object_kernel(const lze_Object *o) {
  return o->cls == &kernel_class && !o->closed ? (const lze_Kernel *)o : NULL;
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

/* Returns the element type of a value or pointee, or NULL. */
const lze_Type *lze_argument_type(const spirv_type *t, bool is_unsigned) {
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

static void argument_init(lze_Argument *a, const spirv_arg *info) {
  a->info = info;
  a->type = lze_argument_type(&info->type,
                          info->type.sign == SPIRV_SIGN_UNSIGNED);
  a->other = info->type.kind == SPIRV_KIND_INT &&
                     info->type.sign == SPIRV_SIGN_UNKNOWN
                 ? lze_argument_type(&info->type, true)
                 : NULL;
  a->write = (info->access & SPIRV_ACCESS_WRITE) != 0;
  a->moves = (uint8_t)(((info->access & SPIRV_ACCESS_READ) != 0) + a->write);
  a->bytes = info->bytes;
}

static void kernel_read_properties(lze_Kernel *k) {
  const lze_DeviceInfo *d = k->module->device;
  KernelMaxGroupSize max = {.stype = STYPE_KERNEL_MAX_GROUP_SIZE};
  k->props.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  if (d->driver->kernel_max) k->props.pNext = &max;
  if (ZE(zeKernelGetProperties, k->whole.handle, &k->props) !=
      ZE_RESULT_SUCCESS)
    memset(&k->props, 0, sizeof k->props);
  k->props.pNext = NULL;
  k->max_group = d->compute.maxTotalGroupSize;
  if (max.maxGroupSize != 0 && max.maxGroupSize < k->max_group)
    k->max_group = max.maxGroupSize;
}

/* Sets the input of the group rule that does not depend on the range. */
static void kernel_init_grouping(lze_Kernel *k) {
  const lze_DeviceInfo *d = k->module->device;
  lze_GroupInput *in = &k->grouping->in;
  in->guards = !k->module->source && spirv_can_guard(k->module->spirv, k->info);
  memcpy(in->required, k->info->required_group, sizeof in->required);
  in->kernel_max = k->max_group;
  in->kernel_subgroup = k->props.requiredSubgroupSize != 0
                            ? k->props.requiredSubgroupSize
                            : k->props.maxSubgroupSize;
  in->builtins = k->info->builtins;
  in->features = k->info->features;
  memcpy(in->beside, k->info->beside, sizeof in->beside);
  memcpy(in->apart, k->info->apart, sizeof in->apart);
  memcpy(in->again, k->info->again, sizeof in->again);
  memcpy(in->stores, k->info->stores, sizeof in->stores);
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

/* Returns the static local memory of a group, as the driver reports it or, if
   it reports 0, as the module declares it. */
uint64_t lze_kernel_local_bytes(const lze_Kernel *k) {
  return k->props.localMemSize != 0 ? k->props.localMemSize
                                    : k->info->local_bytes;
}

const spirv_flops *lze_kernel_flops(lze_Kernel *k) {
  const lze_Module *m = k->module;
  if (!k->counted) {
    k->counted = true;
    k->countable =
        !m->source && spirv_count_flops(m->spirv, k->info, &k->flops);
  }
  return k->countable ? &k->flops : NULL;
}

int lze_push_kernel(lua_State *L, lze_Module *m, const spirv_kernel *info) {
  lze_KernelBox *b = lze_push_box(L, lze_kernel_kind, sizeof *b);
  snprintf(b->name, sizeof b->name, "kernel %s", info->label);
  b->state = lze_state(L);
  lze_Kernel *k = lze_object_new(&kernel_class, sizeof *k, m->o.context);
  if (k == NULL) return lze_no_memory(L);
  b->kernel = k;
  k->module = m;
  lze_pin(&m->o);
  k->info = info;
  memcpy(k->name, b->name, sizeof k->name);
  const size_t n = info->arg_count;
  k->arguments = calloc(n + 1, sizeof *k->arguments);
  k->whole.arguments = calloc(2 * n + 1, sizeof *k->whole.arguments);
  k->grouping = calloc(1, sizeof *k->grouping);
  if (k->arguments == NULL || k->whole.arguments == NULL ||
      k->grouping == NULL)
    return lze_no_memory(L);
  k->guarded.arguments = k->whole.arguments + n;
  memset(k->hidden, 0xff, sizeof k->hidden); /* they have no value yet */
  for (uint32_t i = 0; i < info->arg_count; i++) {
    argument_init(&k->arguments[i], &info->args[i]);
    k->reaches = k->reaches || info->args[i].reach.proved;
    if (info->args[i].cls == SPIRV_ARG_LOCAL) k->local_arguments = true;
  }
  ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                           .pKernelName = info->name};
  ze_result_t r = ZE(zeKernelCreate, m->handle, &desc, &k->whole.handle);
  if (r != ZE_RESULT_SUCCESS) {
    k->whole.handle = NULL;
    const char **names = lua_newuserdatauv(
        L, m->spirv->kernel_count * sizeof *names, 0);
    const char *undefined = spirv_undefined(m->spirv, names)
                                ? names[info - m->spirv->kernels] : NULL;
    if (undefined != NULL)
      undefined = lua_pushfstring(L, "it calls %s, which is not defined",
                                  undefined);
    lze_fail(L, m->device->driver, r, k->name, "zeKernelCreate", undefined,
             NULL);
  }
  kernel_read_properties(k);
  if (m->source && k->props.numKernelArgs != info->arg_count)
    luaL_error(L, "%s: the signature has %d arguments, the source %d", k->name,
               (int)info->arg_count, (int)k->props.numKernelArgs);
  kernel_init_grouping(k);
  return 1;
}

uint64_t lze_kernel_bytes(const lze_Kernel *k) {
  const uint64_t *global = k->grouping->in.global;
  uint64_t items = global[0] * global[1] * global[2], bytes = 0;
  const lze_Argument *a = k->arguments;
  for (const lze_Argument *end = a + k->info->arg_count; a < end; a++) {
    const lze_Buffer *b = a->buffer;
    if (b == NULL) continue;
    uint64_t count = (uint64_t)b->count < items ? (uint64_t)b->count : items;
    bytes += count * b->type->bytes * a->moves;
  }
  return bytes;
}

const lze_GroupInput *lze_kernel_input(const lze_Kernel *k) {
  return &k->grouping->in;
}

void lze_kernel_forget(lze_Kernel *k) { k->grouping->valid = false; }

lze_Kernel *lze_test_kernel(lua_State *L, int index) {
  const lze_KernelBox *b = lze_test_box(L, index, lze_kernel_kind);
  return b != NULL ? b->kernel : NULL;
}

lze_Context *lze_context_of_kernel(lua_State *L, int index) {
  const lze_Kernel *k = lze_test_kernel(L, index);
  if (k == NULL || k->o.closed) luaL_error(L, "the kernel is closed");
  return k->o.context;
}
