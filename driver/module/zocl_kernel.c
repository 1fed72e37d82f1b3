/*
 * zocl_kernel.c - kernels: arguments, group sizes, properties, the launch.
 * SPDX-License-Identifier: MIT
 */
#include "module/zocl_kernel.h"
#include "base/zocl_hook.h"
#include "memory/zocl_memory.h"
#include "module/zocl_build.h"

#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/spirv.h>

static void kernel_free(zocl_kernel *kernel)
{
  const zocl_device *device = kernel->module->device;
  if (kernel->back != NULL && !zocl_forked())
    device->driver->backend->kernel_free(device, kernel->back);
  for (uint32_t i = 0; i < kernel->image_count; i++)
    zocl_ext.image_unref(kernel->images[i]);
  zocl_module_unref(kernel->module);
  pthread_mutex_destroy(&kernel->lock);
  free(kernel->values);
  free(kernel->images);
  free(kernel->args);
  free(kernel);
}

ze_result_t zocl_KernelCreate(ze_module_handle_t module,
                              const ze_kernel_desc_t *desc,
                              ze_kernel_handle_t *kernel)
{
  ZOCL_NEED_HANDLE(module);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(kernel);
  ZOCL_NEED_POINTER(desc->pKernelName);
  if (desc->flags & ~(ze_kernel_flags_t)0x3)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  const spirv_kernel *info = spirv_find(module->spirv, desc->pKernelName);
  if (info == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
                     "the module has no kernel %s", desc->pKernelName);
  if (module->program == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED,
                     "the module imports functions or variables and is to be "
                     "linked first");
  zocl_kernel *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  const zocl_device *device = module->device;
  const backend_table *backend = device->driver->backend;
  zocl_module_ref(module);
  pthread_mutex_init(&made->lock, NULL);
  made->module = module;
  made->info = info;
  made->arg_count = made->unset_count = info->arg_count;
  made->args = calloc(info->arg_count + 1u, sizeof *made->args);
  if (made->args == NULL) goto memory;
  for (uint32_t i = 0; i < info->arg_count; i++) {
    zocl_arg *arg = &made->args[i];
    arg->cls = info->args[i].cls;
    arg->bytes = arg->cls == SPIRV_ARG_LOCAL ? sizeof(uint64_t)
                                             : info->args[i].bytes;
    arg->offset = made->values_size;
    if (arg->cls == SPIRV_ARG_IMAGE) arg->image = made->image_count++;
    made->values_size += zocl_round_up(arg->bytes);
  }
  made->values = calloc(1, made->values_size + 1);
  made->images = calloc(made->image_count + 1u, sizeof(zocl_image *));
  if (made->values == NULL || made->images == NULL) goto memory;
  ze_result_t result = backend->kernel_new(
      device, module->program, info, made->args,
      made->values_size, &made->max_group, &made->back);
  if (result != ZE_RESULT_SUCCESS) {
    made->back = NULL;
    kernel_free(made);
    return result;
  }
  made->reaches = backend->kernel_reach != NULL &&
                  !device->driver->memory->any_pointer;
  made->local_bytes = info->local_bytes;
  for (int d = 0; d < 3; d++)
    made->group[d] = info->required_group[0] > 0 ? info->required_group[d] : 1;
  *kernel = made;
  return ZE_RESULT_SUCCESS;

memory:
  kernel_free(made);
  return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
}

ze_result_t zocl_KernelDestroy(ze_kernel_handle_t kernel)
{
  ZOCL_NEED_HANDLE(kernel);
  kernel_free(kernel);
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Arguments and shape.
 */

/* Returns true if an integer argument accepts `size` bytes: fewer bytes than it
   has, the others being zero, or up to 8 if nothing is lost.  The specification
   does not say so, but Intel's driver accepts it, and programs pass an int for
   a size_t and a size_t for an int.  Other types need all their bytes. */
static bool takes_size(const zocl_kernel *kernel, uint32_t index, size_t size,
                       const unsigned char *value)
{
  const spirv_arg *info = &kernel->info->args[index];
  const size_t bytes = info->bytes;
  if (info->cls != SPIRV_ARG_VALUE || info->type.kind != SPIRV_KIND_INT ||
      info->type.lanes != 1 || size == 0 || size > 8)
    return false;
  if (size <= bytes || value == NULL) return true;
  const unsigned char rest = value[bytes];
  if (rest != 0 && (rest != 0xff || value[bytes - 1] < 0x80)) return false;
  for (size_t i = bytes; i < size; i++)
    if (value[i] != rest) return false;
  return true;
}

ze_result_t zocl_kernel_argument(const zocl_kernel *kernel, uint32_t index,
                                 size_t size, const void *value,
                                 unsigned char *values)
{
  if (index >= kernel->arg_count)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
                     "kernel %s has %u arguments, there is no number %u",
                     kernel->info->name, kernel->arg_count, index);
  const zocl_arg *arg = &kernel->args[index];
  unsigned char *place = values != NULL ? values + arg->offset : NULL;
  if (arg->cls == SPIRV_ARG_LOCAL) {
    /* The launch checks the limit, for all arguments together. */
    uint64_t bytes = size;
    if (value != NULL || size == 0 || size > UINT32_MAX)
      return zocl_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
                       "argument %u of kernel %s is local memory: no value and "
                       "a size of 1 to %u, not %zu", index,
                       kernel->info->name, UINT32_MAX, size);
    if (place != NULL) memcpy(place, &bytes, sizeof bytes);
  } else if (arg->cls != SPIRV_ARG_OTHER) {
    if (size != arg->bytes && !takes_size(kernel, index, size, value))
      return zocl_fail(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
                       "argument %u of kernel %s has %zu bytes, not %zu",
                       index, kernel->info->name, arg->bytes, size);
    if (arg->cls == SPIRV_ARG_IMAGE)
      return zocl_ext.image_argument(kernel, index, value, place);
    if (arg->cls == SPIRV_ARG_SAMPLER)
      return zocl_ext.sampler_argument(kernel, index, value, place);
    if (place != NULL && (value == NULL || size < arg->bytes))
      memset(place, 0, arg->bytes);
    if (place != NULL && value != NULL)
      memcpy(place, value, size < arg->bytes ? size : arg->bytes);
  } else
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "argument %u of kernel %s is of a kind that is not "
                     "supported (pipe, queue or event)", index,
                     kernel->info->name);
  return ZE_RESULT_SUCCESS;
}

void zocl_kernel_keep(const zocl_kernel *kernel, uint32_t index,
                      const unsigned char *values, zocl_image **images)
{
  const zocl_arg *arg = &kernel->args[index];
  if (arg->cls != SPIRV_ARG_IMAGE) return;
  zocl_image *before = images[arg->image];
  memcpy(&images[arg->image], values + arg->offset, sizeof *images);
  zocl_ext.image_ref(images[arg->image]);
  zocl_ext.image_unref(before);
}

static void argument_is_set(zocl_kernel *kernel, zocl_arg *arg)
{
  if (arg->set) return;
  arg->set = true;
  kernel->unset_count--;
}

/* A separate function, so that the common case saves no registers. */
__attribute__((noinline)) static ze_result_t
argument_set(zocl_kernel *kernel, uint32_t index, size_t size,
             const void *value)
{
  zocl_arg *arg = index < kernel->arg_count ? &kernel->args[index] : NULL;
  uint64_t old = 0, new = size;
  bool local = arg != NULL && arg->cls == SPIRV_ARG_LOCAL;
  if (local) memcpy(&old, kernel->values + arg->offset, sizeof old);
  ze_result_t result =
      zocl_kernel_argument(kernel, index, size, value, kernel->values);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (local) kernel->local_bytes += new - old;
  zocl_kernel_keep(kernel, index, kernel->values, kernel->images);
  argument_is_set(kernel, arg);
  return ZE_RESULT_SUCCESS;
}

/* Nearly all arguments are pointers and numbers, and their time matters for
   launches. */
ze_result_t zocl_KernelSetArgumentValue(ze_kernel_handle_t kernel,
                                        uint32_t index, size_t size,
                                        const void *value)
{
  ZOCL_NEED_HANDLE(kernel);
  if (index >= kernel->arg_count || value == NULL || (size != 8 && size != 4))
    return argument_set(kernel, index, size, value);
  zocl_arg *arg = &kernel->args[index];
  if (arg->bytes != size ||
      (arg->cls != SPIRV_ARG_POINTER && arg->cls != SPIRV_ARG_VALUE))
    return argument_set(kernel, index, size, value);
  if (size == 8)
    memcpy(kernel->values + arg->offset, value, 8);
  else
    memcpy(kernel->values + arg->offset, value, 4);
  argument_is_set(kernel, arg);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_kernel_check_group(const zocl_kernel *kernel, uint32_t x,
                                    uint32_t y, uint32_t z)
{
  const zocl_device *device = kernel->module->device;
  const uint32_t *required = kernel->info->required_group;
  if (x == 0 || y == 0 || z == 0 || x > device->max_size[0] ||
      y > device->max_size[1] || z > device->max_size[2] ||
      (uint64_t)x * y > kernel->max_group ||
      (uint64_t)x * y * z > kernel->max_group)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
                     "a group of %u x %u x %u: kernel %s takes up to %u "
                     "work-items", x, y, z, kernel->info->name,
                     kernel->max_group);
  if (required[0] > 0 &&
      (x != required[0] || y != required[1] || z != required[2]))
    return zocl_fail(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
                     "kernel %s requires groups of %u x %u x %u",
                     kernel->info->name, required[0], required[1],
                     required[2]);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_KernelSetGroupSize(ze_kernel_handle_t kernel, uint32_t x,
                                    uint32_t y, uint32_t z)
{
  ZOCL_NEED_HANDLE(kernel);
  /* The current size was already checked. */
  if (x == kernel->group[0] && y == kernel->group[1] && z == kernel->group[2])
    return ZE_RESULT_SUCCESS;
  ze_result_t result = zocl_kernel_check_group(kernel, x, y, z);
  if (result != ZE_RESULT_SUCCESS) return result;
  kernel->group[0] = x;
  kernel->group[1] = y;
  kernel->group[2] = z;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_kernel_check_offset(const zocl_kernel *kernel, uint32_t x,
                                     uint32_t y, uint32_t z)
{
  if ((x | y | z) == 0 || !kernel->module->device->driver->no_offsets)
    return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                   "an offset of %ux%ux%u: this device launches at 0 always", x,
                   y, z);
}

ze_result_t zocl_KernelSetGlobalOffsetExp(ze_kernel_handle_t kernel,
                                          uint32_t x, uint32_t y, uint32_t z)
{
  ZOCL_NEED_HANDLE(kernel);
  ze_result_t result = zocl_kernel_check_offset(kernel, x, y, z);
  if (result != ZE_RESULT_SUCCESS) return result;
  kernel->offset[0] = x;
  kernel->offset[1] = y;
  kernel->offset[2] = z;
  return ZE_RESULT_SUCCESS;
}

/* Pointers stored in memory work with any back end, but some must be informed
   which memory a kernel may access through them. */
ze_result_t zocl_KernelSetIndirectAccess(
    ze_kernel_handle_t kernel, ze_kernel_indirect_access_flags_t flags)
{
  ZOCL_NEED_HANDLE(kernel);
  if (flags & ~(ze_kernel_indirect_access_flags_t)0x7)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  pthread_mutex_lock(&kernel->lock);
  kernel->indirect = flags;
  kernel->reached = 0;
  pthread_mutex_unlock(&kernel->lock);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_KernelGetIndirectAccess(
    ze_kernel_handle_t kernel, ze_kernel_indirect_access_flags_t *flags)
{
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(flags);
  *flags = kernel->indirect;
  return ZE_RESULT_SUCCESS;
}

/* A hint that has no effect on a CPU's caches. */
ze_result_t zocl_KernelSetCacheConfig(ze_kernel_handle_t kernel,
                                      ze_cache_config_flags_t flags)
{
  ZOCL_NEED_HANDLE(kernel);
  if (flags & ~(ze_cache_config_flags_t)0x3)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_KernelSuggestGroupSize(ze_kernel_handle_t kernel, uint32_t gx,
                                        uint32_t gy, uint32_t gz, uint32_t *x,
                                        uint32_t *y, uint32_t *z)
{
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(x);
  ZOCL_NEED_POINTER(y);
  ZOCL_NEED_POINTER(z);
  if (gx == 0 || gy == 0 || gz == 0)
    return zocl_error(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION);
  const zocl_device *device = kernel->module->device;
  const uint32_t *required = kernel->info->required_group;
  uint32_t group[3] = {required[0], required[1], required[2]};
  if (required[0] == 0)
    device->driver->backend->kernel_group(device, kernel->back,
                                          kernel->max_group,
                                          (uint32_t[3]){gx, gy, gz}, group);
  *x = group[0];
  *y = group[1];
  *z = group[2];
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_KernelSuggestMaxCooperativeGroupCount(
    ze_kernel_handle_t kernel, uint32_t *count)
{
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(count);
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Properties.
 */

ze_result_t zocl_KernelGetName(ze_kernel_handle_t kernel, size_t *size,
                               char *name)
{
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(size);
  size_t all = strlen(kernel->info->name) + 1;
  if (name != NULL && *size > 0) {
    size_t n = *size < all ? *size : all;
    memcpy(name, kernel->info->name, n);
    name[n - 1] = '\0';
  }
  if (name == NULL || *size == 0 || *size > all) *size = all;
  return ZE_RESULT_SUCCESS;
}

static void attribute_add(tool_text *text, const char *name,
                          const uint32_t values[3])
{
  if (values[0] > 0)
    tool_text_add(text, "%s%s(%u,%u,%u)", text->size > 0 ? " " : "", name,
                  values[0], values[1], values[2]);
}

/* Adds vec_type_hint, whose type is a number in SPIR-V. */
static void attribute_add_vector(tool_text *text, const zocl_kernel *kernel)
{
  static const char *const names[] = {"char",  "short", "int",   "long",
                                      "half", "float", "double"};
  const spirv_module *m = kernel->module->spirv;
  uint32_t function = m->functions[kernel->info->function].id;
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode == SpvOpFunction) return;
    if (in->opcode != SpvOpExecutionMode || in->word_count < 4 ||
        in->words[1] != function || in->words[2] != SpvExecutionModeVecTypeHint)
      continue;
    uint32_t type = in->words[3] & 0xffff, lanes = in->words[3] >> 16;
    if (type >= sizeof names / sizeof *names) return;
    tool_text_add(text, "%svec_type_hint(%s", text->size > 0 ? " " : "",
                  names[type]);
    if (lanes > 1) tool_text_add(text, "%u", lanes);
    tool_text_add(text, ")");
    return;
  }
}

/* Lists the attributes that SPIR-V preserves, as OpenCL C writes them. */
ze_result_t zocl_KernelGetSourceAttributes(ze_kernel_handle_t kernel,
                                           uint32_t *size, char **text)
{
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(size);
  tool_text all = {0};
  attribute_add(&all, "reqd_work_group_size", kernel->info->required_group);
  attribute_add(&all, "work_group_size_hint", kernel->info->group_hint);
  attribute_add_vector(&all, kernel);
  if (kernel->info->required_subgroup > 0)
    tool_text_add(&all, "%sintel_reqd_sub_group_size(%u)",
                  all.size > 0 ? " " : "", kernel->info->required_subgroup);
  uint32_t whole = (uint32_t)all.size + 1;
  if (text != NULL && *text != NULL && *size > 0) {
    uint32_t n = *size < whole ? *size : whole;
    if (all.text != NULL) memcpy(*text, all.text, n);
    (*text)[n - 1] = '\0';
  }
  *size = whole;
  free(all.text);
  return ZE_RESULT_SUCCESS;
}

/* The structures that may be chained to the properties. */
enum {
  PREFERRED_GROUP_SIZE = 0x21,  /* ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_... */
  MAX_GROUP_SIZE = 0x10013      /* ZE_STRUCTURE_TYPE_KERNEL_MAX_GROUP_... */
};

ze_result_t zocl_KernelGetProperties(ze_kernel_handle_t kernel,
                                     ze_kernel_properties_t *p)
{
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(p);
  const zocl_device *device = kernel->module->device;
  uint64_t private_bytes = 0, multiple = 1;
  device->driver->backend->kernel_facts(device, kernel->back, &private_bytes,
                                        &multiple);
  uint32_t widest = 1;
  for (uint32_t i = 0; i < device->subgroup_count; i++)
    if (device->subgroup_sizes[i] > widest) widest = device->subgroup_sizes[i];
  p->numKernelArgs = kernel->arg_count;
  p->requiredGroupSizeX = kernel->info->required_group[0];
  p->requiredGroupSizeY = kernel->info->required_group[1];
  p->requiredGroupSizeZ = kernel->info->required_group[2];
  p->requiredNumSubGroups = 0;
  p->requiredSubgroupSize = kernel->info->required_subgroup;
  p->maxSubgroupSize = widest;
  p->maxNumSubgroups = (kernel->max_group + widest - 1) / widest;
  p->localMemSize = zocl_clamp(kernel->info->local_bytes);
  if (private_bytes < kernel->info->private_bytes)
    private_bytes = kernel->info->private_bytes; /* reports may be too low */
  p->privateMemSize = zocl_clamp(private_bytes);
  p->spillMemSize = 0; /* a CPU spills to the stack, and reports nothing */
  /* The same kernel of the same module gets the same UUIDs. */
  uint64_t words = zocl_hash(4, kernel->module->words, kernel->module->size);
  uint64_t name =
      zocl_hash(words, kernel->info->name, strlen(kernel->info->name));
  memcpy(p->uuid.kid, &name, 8);
  memcpy(p->uuid.kid + 8, &words, 8);
  memcpy(p->uuid.mid, &words, 8);
  words = ~words;
  memcpy(p->uuid.mid + 8, &words, 8);
  ze_base_properties_t *next = p->pNext;
  for (; next != NULL; next = next->pNext) {
    zocl_extension *extra = (zocl_extension *)next;
    if ((int)next->stype == PREFERRED_GROUP_SIZE)
      extra->value = zocl_clamp(multiple);
    else if ((int)next->stype == MAX_GROUP_SIZE)
      extra->value = kernel->max_group;
  }
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * The launch.
 */

ze_result_t zocl_kernel_too_big(const zocl_kernel *kernel, uint64_t bytes)
{
  uint64_t all = kernel->module->device->local_bytes;
  return zocl_fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                   "kernel %s asks for %llu bytes of local memory, there "
                   "are %llu", kernel->info->name, (unsigned long long)bytes,
                   (unsigned long long)all);
}

uint64_t zocl_kernel_local(const zocl_kernel *kernel, uint32_t index,
                           const unsigned char *values)
{
  const zocl_arg *arg = &kernel->args[index];
  uint64_t bytes = 0;
  if (arg->cls == SPIRV_ARG_LOCAL)
    memcpy(&bytes, values + arg->offset, sizeof bytes);
  return bytes;
}

ze_result_t zocl_kernel_capture(zocl_kernel *kernel,
                                const ze_group_count_t *groups,
                                zocl_launch *launch)
{
  if (kernel->unset_count > 0) {
    uint32_t i = 0;
    while (kernel->args[i].set) i++;
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "argument %u of kernel %s is not set", i,
                     kernel->info->name);
  }
  if (!zocl_kernel_fits(kernel, kernel->local_bytes))
    return zocl_kernel_too_big(kernel, kernel->local_bytes);
  const uint32_t counts[3] = {groups->groupCountX, groups->groupCountY,
                              groups->groupCountZ};
  launch->kernel = kernel;
  launch->values = kernel->values;
  launch->dims = kernel->dims;
  for (int d = 0; d < 3; d++) {
    launch->local[d] = kernel->group[d];
    launch->global[d] = (size_t)counts[d] * kernel->group[d];
    launch->offset[d] = kernel->offset[d];
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_kernel_reach(zocl_kernel *kernel)
{
  const zocl_module *module = kernel->module;
  const zocl_device *device = module->device;
  ze_result_t result = ZE_RESULT_SUCCESS;
  pthread_mutex_lock(&kernel->lock);
  uint64_t now = zocl_memory_generation();
  bool nothing = kernel->indirect == 0 && module->storage == NULL &&
                 module->held_count == 0;
  if (kernel->reached == now || (nothing && kernel->reached == 0)) goto done;
  size_t count = zocl_global_blocks(module, NULL);
  void **variables = malloc((count + 1) * sizeof *variables);
  if (variables == NULL) {
    result = zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    goto done;
  }
  zocl_global_blocks(module, variables);
  result = device->driver->backend->kernel_reach(
      device, kernel->back, kernel->indirect, variables, count);
  free(variables);
  if (result == ZE_RESULT_SUCCESS) kernel->reached = now;
done:
  pthread_mutex_unlock(&kernel->lock);
  return result;
}

bool zocl_kernel_try(zocl_kernel *kernel)
{
  const zocl_device *device = kernel->module->device;
  const uint64_t some = 16;
  for (uint32_t i = 0; i < kernel->arg_count; i++) {
    const zocl_arg *arg = &kernel->args[i];
    if (arg->cls == SPIRV_ARG_LOCAL)
      memcpy(kernel->values + arg->offset, &some, sizeof some);
    else if (arg->cls != SPIRV_ARG_VALUE && arg->cls != SPIRV_ARG_POINTER)
      return true; /* no value can stand in for it */
  }
  return device->driver->backend->kernel_try(device, kernel->back,
                                             kernel->values) ==
         ZE_RESULT_SUCCESS;
}

ze_result_t zocl_KernelSetDimensions(zocl_kernel *kernel, uint32_t dimensions)
{
  ZOCL_NEED_HANDLE(kernel);
  if (dimensions < 1 || dimensions > 3)
    return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  kernel->dims = dimensions;
  return ZE_RESULT_SUCCESS;
}

static ze_result_t shapes_list(const zocl_kernel *kernel, uint32_t count,
                               const prepare_launch *launches,
                               tool_text *shapes)
{
  ZOCL_NEED_HANDLE(kernel);
  ZOCL_NEED_POINTER(launches);
  const zocl_device *device = kernel->module->device;
  return device->driver->backend->kernel_shapes(device, kernel->back, count,
                                                launches, shapes);
}

ze_result_t zocl_KernelPrepare(zocl_kernel *kernel, uint32_t count,
                               const prepare_launch *launches)
{
  tool_text shapes = {0};
  ze_result_t result = shapes_list(kernel, count, launches, &shapes);
  if (shapes.size > 0)
    result = zocl_build_shapes(kernel->module, shapes.text);
  free(shapes.text);
  return result;
}

ze_result_t zocl_KernelPrepareStart(zocl_kernel *kernel, uint32_t count,
                                    const prepare_launch *launches,
                                    ze_bool_t cheaply)
{
  tool_text shapes = {0};
  ze_result_t result = shapes_list(kernel, count, launches, &shapes);
  if (shapes.size > 0)
    result = zocl_build_shapes_start(kernel->module, shapes.text,
                                     cheaply != 0);
  free(shapes.text);
  return result;
}
