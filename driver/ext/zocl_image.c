/*
 * zocl_image.c - images, their formats, and copies of them.
 * SPDX-License-Identifier: MIT
 *
 * An image is an OpenCL image.  The formats are the ones that OpenCL supports
 * for its type and use; a swizzle is supported if it matches an OpenCL channel
 * order.
 */
#include "run/zocl_event.h"
#include "ext/zocl_ext.h"
#include "opencl/zocl_cl.h"
#include "opencl/zocl_image.h"
#include "opencl/zocl_lane.h"

#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/spirv.h>

enum { IMAGE_FLAGS = 0x3 };

/* ------------------------------------------------------------------------
 * Formats.
 */

/* Layouts whose components have equal sizes: the number of components, and
   their width as an index into the types below. */
static const struct layout {
  ze_image_format_layout_t layout;
  uint8_t components, width;
} layouts[] = {
  {ZE_IMAGE_FORMAT_LAYOUT_8, 1, 0},
  {ZE_IMAGE_FORMAT_LAYOUT_16, 1, 1},
  {ZE_IMAGE_FORMAT_LAYOUT_32, 1, 2},
  {ZE_IMAGE_FORMAT_LAYOUT_8_8, 2, 0},
  {ZE_IMAGE_FORMAT_LAYOUT_16_16, 2, 1},
  {ZE_IMAGE_FORMAT_LAYOUT_32_32, 2, 2},
  {ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, 4, 0},
  {ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16, 4, 1},
  {ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, 4, 2},
};

/* By width and ze_image_format_type_t; 0 if unsupported. */
static const cl_channel_type types[3][5] = {
  {CL_UNSIGNED_INT8, CL_SIGNED_INT8, CL_UNORM_INT8, CL_SNORM_INT8, 0},
  {CL_UNSIGNED_INT16, CL_SIGNED_INT16, CL_UNORM_INT16, CL_SNORM_INT16,
   CL_HALF_FLOAT},
  {CL_UNSIGNED_INT32, CL_SIGNED_INT32, 0, 0, CL_FLOAT},
};

#define S(name) ZE_IMAGE_FORMAT_SWIZZLE_##name
/* ZE_IMAGE_FORMAT_SWIZZLE_D (depth) is newer than the oldest headers. */
enum { SWIZZLE_D = 7 };

/* The meaning of channels x to w in each OpenCL channel order, in terms of the
   components in memory: the first component is R, regardless of its OpenCL
   name. */
static const struct order {
  cl_channel_order order;
  uint8_t components, channels[4];
} orders[] = {
  {CL_R, 1, {S(R), S(0), S(0), S(1)}},
  {CL_A, 1, {S(0), S(0), S(0), S(R)}},
  {CL_INTENSITY, 1, {S(R), S(R), S(R), S(R)}},
  {CL_LUMINANCE, 1, {S(R), S(R), S(R), S(1)}},
  {CL_RG, 2, {S(R), S(G), S(0), S(1)}},
  {CL_RA, 2, {S(R), S(0), S(0), S(G)}},
  {CL_RGBA, 4, {S(R), S(G), S(B), S(A)}},
  {CL_BGRA, 4, {S(B), S(G), S(R), S(A)}},
  {CL_ARGB, 4, {S(G), S(B), S(A), S(R)}},
  {CL_ABGR, 4, {S(A), S(B), S(G), S(R)}},
};

/* Indexed by ze_image_type_t. */
static const cl_mem_object_type kinds[] = {
  CL_MEM_OBJECT_IMAGE1D,       CL_MEM_OBJECT_IMAGE1D_ARRAY,
  CL_MEM_OBJECT_IMAGE2D,       CL_MEM_OBJECT_IMAGE2D_ARRAY,
  CL_MEM_OBJECT_IMAGE3D,       CL_MEM_OBJECT_IMAGE1D_BUFFER};
static const char *const kind_names[] = {
  "1D", "1D array", "2D", "2D array", "3D", "buffer"};

/* Returns true if the channel order provides the descriptor's swizzle.  A
   component that the layout lacks reads as zero, or one for alpha. */
static bool order_matches(const struct order *order,
                          const ze_image_format_t *format)
{
  const ze_image_format_swizzle_t wanted[4] = {format->x, format->y, format->z,
                                               format->w};
  for (int i = 0; i < 4; i++) {
    unsigned channel = wanted[i];
    if (channel == S(X)) continue;
    if (channel == SWIZZLE_D) channel = S(R);
    if (channel <= S(A) && channel >= order->components)
      channel = channel == S(A) ? S(1) : S(0);
    if (channel != order->channels[i]) return false;
  }
  return true;
}

static cl_mem_flags memory_flags(const ze_image_desc_t *desc)
{
  return desc->flags & ZE_IMAGE_FLAG_KERNEL_WRITE ? CL_MEM_READ_WRITE
                                                  : CL_MEM_READ_ONLY;
}

static bool format_is_supported(const zocl_driver *driver,
                                const ze_image_desc_t *desc,
                                const cl_image_format *format)
{
  zocl_cl *cl = driver->cl;
  cl_uint count = 0;
  cl_image_format *all = NULL;
  bool found = false;
  if (cl->clGetSupportedImageFormats(driver->context, memory_flags(desc),
                                     kinds[desc->type], 0, NULL,
                                     &count) == CL_SUCCESS)
    all = malloc((count + 1) * sizeof *all);
  if (all != NULL &&
      cl->clGetSupportedImageFormats(driver->context, memory_flags(desc),
                                     kinds[desc->type], count, all,
                                     NULL) == CL_SUCCESS)
    for (cl_uint i = 0; i < count; i++)
      found |= all[i].image_channel_order == format->image_channel_order &&
               all[i].image_channel_data_type ==
                   format->image_channel_data_type;
  free(all);
  /* PoCL before 7.0 lists pixels of one half, but its kernels read wrong values
     from them and write nothing. */
  return found && !(driver->pocl > 0 && driver->pocl < 7 &&
                    format->image_channel_data_type == CL_HALF_FLOAT &&
                    desc->format.layout == ZE_IMAGE_FORMAT_LAYOUT_16);
}

/* Find the OpenCL format for the descriptor, and the bytes of a pixel.  Returns
   false if OpenCL does not have the format. */
static bool format_find(const zocl_driver *driver, const ze_image_desc_t *desc,
                        cl_image_format *format, uint32_t *pixel_bytes)
{
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    const struct layout *l = &layouts[i];
    if (l->layout != desc->format.layout) continue;
    format->image_channel_data_type = types[l->width][desc->format.type];
    *pixel_bytes = (uint32_t)l->components << l->width;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
      format->image_channel_order = orders[o].order;
      if (format->image_channel_data_type != 0 &&
          orders[o].components == l->components &&
          order_matches(&orders[o], &desc->format) &&
          format_is_supported(driver, desc, format))
        return true;
    }
  }
  return false;
}

static ze_result_t desc_check(const ze_image_desc_t *desc)
{
  const ze_image_format_t *f = &desc->format;
  if (desc->flags & ~(uint32_t)IMAGE_FLAGS ||
      (unsigned)desc->type > ZE_IMAGE_TYPE_BUFFER ||
      (unsigned)f->type > ZE_IMAGE_FORMAT_TYPE_FLOAT ||
      (unsigned)f->x > SWIZZLE_D || (unsigned)f->y > SWIZZLE_D ||
      (unsigned)f->z > SWIZZLE_D || (unsigned)f->w > SWIZZLE_D)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ImageGetProperties(ze_device_handle_t device,
                                    const ze_image_desc_t *desc,
                                    ze_image_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(p);
  ze_result_t result = desc_check(desc);
  if (result != ZE_RESULT_SUCCESS) return result;
  cl_image_format format;
  uint32_t bytes;
  p->samplerFilterFlags = 0;
  if (!format_find(device->driver, desc, &format, &bytes))
    return ZE_RESULT_SUCCESS;
  p->samplerFilterFlags = ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT;
  /* Integers cannot be interpolated. */
  if (desc->format.type >= ZE_IMAGE_FORMAT_TYPE_UNORM)
    p->samplerFilterFlags |= ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * The image limits of devices.
 */

static uint32_t device_limit(const zocl_device *device, cl_device_info what)
{
  size_t n = 0;
  device->driver->cl->clGetDeviceInfo(device->id, what, sizeof n, &n, NULL);
  return zocl_clamp(n);
}

static uint32_t device_count(const zocl_device *device, cl_device_info what)
{
  cl_uint n = 0;
  device->driver->cl->clGetDeviceInfo(device->id, what, sizeof n, &n, NULL);
  return n;
}

/* PoCL 3.1 ends the process if an image is copied on a part of a device. */
static bool device_has_images(const zocl_device *device)
{
  bool copies = device->queue_id == device->id || !device->driver->pocl;
  return copies && device_count(device, CL_DEVICE_IMAGE_SUPPORT) != CL_FALSE;
}

static uint32_t least(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

ze_result_t zocl_DeviceGetImageProperties(ze_device_handle_t device,
                                          ze_device_image_properties_t *p)
{
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(p);
  p->maxImageDims1D = p->maxImageDims2D = p->maxImageDims3D = 0;
  p->maxImageBufferSize = 0;
  p->maxImageArraySlices = p->maxSamplers = 0;
  p->maxReadImageArgs = p->maxWriteImageArgs = 0;
  if (!device_has_images(device)) return ZE_RESULT_SUCCESS;
  p->maxImageDims1D = device_limit(device, CL_DEVICE_IMAGE2D_MAX_WIDTH);
  p->maxImageDims2D =
      least(p->maxImageDims1D,
            device_limit(device, CL_DEVICE_IMAGE2D_MAX_HEIGHT));
  p->maxImageDims3D =
      least(device_limit(device, CL_DEVICE_IMAGE3D_MAX_WIDTH),
            least(device_limit(device, CL_DEVICE_IMAGE3D_MAX_HEIGHT),
                  device_limit(device, CL_DEVICE_IMAGE3D_MAX_DEPTH)));
  /* OpenCL counts pixels; the same number of bytes is within the limit for all
     formats.  PoCL 3.1 and 6.0 end the process if a kernel is launched with a
     buffer image and pointers, and nearly every kernel has pointers. */
  if (!device->driver->pocl)
    p->maxImageBufferSize =
        device_limit(device, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
  p->maxImageArraySlices = device_limit(device, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE);
  p->maxSamplers = device_count(device, CL_DEVICE_MAX_SAMPLERS);
  p->maxReadImageArgs = device_count(device, CL_DEVICE_MAX_READ_IMAGE_ARGS);
  p->maxWriteImageArgs = device_count(device, CL_DEVICE_MAX_WRITE_IMAGE_ARGS);
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Images.
 */

static void image_ref(zocl_image *image)
{
  if (image != NULL)
    atomic_fetch_add_explicit(&image->refs, 1, memory_order_relaxed);
}

static void image_unref(zocl_image *image)
{
  if (image == NULL ||
      atomic_fetch_sub_explicit(&image->refs, 1, memory_order_acq_rel) != 1)
    return;
  zocl_cl *cl = image->device->driver->cl;
  if (!zocl_forked()) {
    if (image->mem != NULL) cl->clReleaseMemObject(image->mem);
    if (image->buffer != NULL) cl->clReleaseMemObject(image->buffer);
  }
  free(image);
}

/* Get the image's extent in pixels, with the layers of an array last; 1 in
   dimensions that the type lacks.  Check it against the device's limits. */
static ze_result_t extent_find(zocl_device *device,
                               const ze_image_desc_t *desc,
                               uint32_t pixel_bytes, uint64_t extent[3])
{
  ze_device_image_properties_t p;
  zocl_DeviceGetImageProperties(device, &p);
  uint64_t limit[3] = {p.maxImageDims2D, p.maxImageDims2D,
                       p.maxImageArraySlices};
  extent[0] = desc->width;
  extent[1] = desc->height;
  extent[2] = 1;
  switch (desc->type) {
  case ZE_IMAGE_TYPE_BUFFER:
    if (desc->width % pixel_bytes != 0)
      return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                       "a buffer of %llu bytes for pixels of %u",
                       (unsigned long long)desc->width, pixel_bytes);
    extent[0] /= pixel_bytes;
    limit[0] = p.maxImageBufferSize;
    extent[1] = 1;
    break;
  case ZE_IMAGE_TYPE_1D:
  case ZE_IMAGE_TYPE_1DARRAY:
    limit[0] = p.maxImageDims1D;
    limit[1] = p.maxImageArraySlices;
    extent[1] = desc->type == ZE_IMAGE_TYPE_1D ? 1 : desc->arraylevels;
    break;
  case ZE_IMAGE_TYPE_2DARRAY:
    extent[2] = desc->arraylevels;
    break;
  case ZE_IMAGE_TYPE_3D:
    limit[0] = limit[1] = limit[2] = p.maxImageDims3D;
    extent[2] = desc->depth;
    break;
  default:
    break;
  }
  if (desc->type == ZE_IMAGE_TYPE_BUFFER && limit[0] == 0)
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "this OpenCL has no buffer images that can be used");
  for (int d = 0; d < 3; d++)
    if (extent[d] == 0 || extent[d] > limit[d])
      return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
                       "a %s image of %llu x %llu x %llu: the device takes up "
                       "to %llu x %llu x %llu", kind_names[desc->type],
                       (unsigned long long)extent[0],
                       (unsigned long long)extent[1],
                       (unsigned long long)extent[2],
                       (unsigned long long)limit[0],
                       (unsigned long long)limit[1],
                       (unsigned long long)limit[2]);
  return ZE_RESULT_SUCCESS;
}

/* Create image->mem, and for a buffer image the buffer that it lies in. */
static cl_int image_allocate(zocl_image *image, const ze_image_desc_t *desc)
{
  zocl_driver *driver = image->device->driver;
  cl_mem_flags flags = memory_flags(desc);
  bool array = image->type == ZE_IMAGE_TYPE_1DARRAY ||
               image->type == ZE_IMAGE_TYPE_2DARRAY;
  cl_image_desc want = {.image_type = kinds[image->type],
                        .image_width = image->extent[0]};
  cl_int error = CL_SUCCESS;
  if (image->type == ZE_IMAGE_TYPE_BUFFER) {
    image->buffer = driver->cl->clCreateBuffer(
        driver->context, flags, image->extent[0] * image->pixel_bytes, NULL,
        &error);
    if (image->buffer == NULL) return error;
    want.buffer = image->buffer;
  }
  if (array)
    want.image_array_size =
        image->extent[image->type == ZE_IMAGE_TYPE_1DARRAY ? 1 : 2];
  if (image->type >= ZE_IMAGE_TYPE_2D && image->type <= ZE_IMAGE_TYPE_3D)
    want.image_height = image->extent[1];
  if (image->type == ZE_IMAGE_TYPE_3D) want.image_depth = image->extent[2];
  image->mem = driver->cl->clCreateImage(driver->context, flags,
                                         &image->format, &want, NULL, &error);
  return image->mem != NULL ? CL_SUCCESS : error;
}

ze_result_t zocl_ImageCreate(ze_context_handle_t context,
                             ze_device_handle_t device,
                             const ze_image_desc_t *desc,
                             ze_image_handle_t *image)
{
  static _Atomic uint64_t last_id;
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(image);
  ze_result_t result = desc_check(desc);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (device->driver != context->driver)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the device is not of the context's driver");
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  if (!device_has_images(device))
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "device %s has no images", device->name);
  if (desc->pNext != NULL)
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "an image with an extension of type 0x%x",
                     (unsigned)((const ze_base_desc_t *)desc->pNext)->stype);
  if (desc->miplevels != 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "an image has 0 mipmap levels, not %u", desc->miplevels);
  cl_image_format format;
  uint32_t pixel_bytes;
  if (!format_find(device->driver, desc, &format, &pixel_bytes))
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT,
                     "the OpenCL has no %s images of layout %d, type %d, "
                     "swizzle %d %d %d %d", kind_names[desc->type],
                     (int)desc->format.layout, (int)desc->format.type,
                     (int)desc->format.x, (int)desc->format.y,
                     (int)desc->format.z, (int)desc->format.w);
  uint64_t extent[3];
  result = extent_find(device, desc, pixel_bytes, extent);
  if (result != ZE_RESULT_SUCCESS) return result;
  zocl_image *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  atomic_init(&made->refs, 1);
  made->device = device;
  made->type = desc->type;
  made->format = format;
  made->pixel_bytes = pixel_bytes;
  made->kernels_write = desc->flags & ZE_IMAGE_FLAG_KERNEL_WRITE;
  for (int d = 0; d < 3; d++) made->extent[d] = (size_t)extent[d];
  cl_int error = image_allocate(made, desc);
  if (error != CL_SUCCESS) {
    image_unref(made);
    return zocl_cl_error(error, "clCreateImage");
  }
  made->id = atomic_fetch_add(&last_id, 1) + 1;
  *image = made;
  return ZE_RESULT_SUCCESS;
}

/* An image stays alive while recorded commands or kernel arguments use it. */
ze_result_t zocl_ImageDestroy(ze_image_handle_t image)
{
  ZOCL_NEED_HANDLE(image);
  image_unref(image);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ImageGetAllocPropertiesExt(
    ze_context_handle_t context, ze_image_handle_t image,
    ze_image_allocation_ext_properties_t *p)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(image);
  ZOCL_NEED_POINTER(p);
  p->id = image->id;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ImageGetMemoryPropertiesExp(
    ze_image_handle_t image, ze_image_memory_properties_exp_t *p)
{
  ZOCL_NEED_HANDLE(image);
  ZOCL_NEED_POINTER(p);
  zocl_cl *cl = image->device->driver->cl;
  size_t row = 0, slice = 0;
  cl->clGetImageInfo(image->mem, CL_IMAGE_ROW_PITCH, sizeof row, &row, NULL);
  cl->clGetImageInfo(image->mem, CL_IMAGE_SLICE_PITCH, sizeof slice, &slice,
                     NULL);
  /* OpenCL reports zero if there is only one row, or one slice. */
  if (row == 0) row = image->extent[0] * image->pixel_bytes;
  bool rows = image->type == ZE_IMAGE_TYPE_1DARRAY;
  if (slice == 0) slice = rows ? row : row * image->extent[1];
  p->rowPitch = row;
  p->slicePitch = slice;
  p->size = slice * (rows ? image->extent[1] : image->extent[2]);
  return ZE_RESULT_SUCCESS;
}

/* Kernels can always access an image, as they can all memory. */
ze_result_t zocl_ContextMakeImageResident(ze_context_handle_t context,
                                          ze_device_handle_t device,
                                          ze_image_handle_t image)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_HANDLE(image);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ContextEvictImage(ze_context_handle_t context,
                                   ze_device_handle_t device,
                                   ze_image_handle_t image)
{
  return zocl_ContextMakeImageResident(context, device, image);
}

/* ------------------------------------------------------------------------
 * Samplers.
 */

/* There are few OpenCL samplers.  Each is created once and never released, so
   its users need not retain it. */
ze_result_t zocl_SamplerCreate(ze_context_handle_t context,
                               ze_device_handle_t device,
                               const ze_sampler_desc_t *desc,
                               ze_sampler_handle_t *sampler)
{
  static const cl_addressing_mode modes[] = {
    CL_ADDRESS_NONE, CL_ADDRESS_REPEAT, CL_ADDRESS_CLAMP_TO_EDGE,
    CL_ADDRESS_CLAMP, CL_ADDRESS_MIRRORED_REPEAT};
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(sampler);
  if ((unsigned)desc->addressMode > ZE_SAMPLER_ADDRESS_MODE_MIRROR ||
      (unsigned)desc->filterMode > ZE_SAMPLER_FILTER_MODE_LINEAR)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (desc->pNext != NULL)
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "a sampler with an extension of type 0x%x",
                     (unsigned)((const ze_base_desc_t *)desc->pNext)->stype);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  zocl_driver *driver = device->driver;
  if (!device_has_images(device))
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "device %s has no images", device->name);
  /* Without normalized coordinates OpenCL can neither repeat nor mirror, and
     reads outside the image are undefined; PoCL then rejects the sampler. */
  ze_sampler_address_mode_t mode = desc->addressMode;
  if (!desc->isNormalized && (mode == ZE_SAMPLER_ADDRESS_MODE_REPEAT ||
                              mode == ZE_SAMPLER_ADDRESS_MODE_MIRROR))
    mode = ZE_SAMPLER_ADDRESS_MODE_CLAMP;
  bool linear = desc->filterMode == ZE_SAMPLER_FILTER_MODE_LINEAR;
  _Atomic(cl_sampler) *place =
      &driver->samplers[mode][linear][desc->isNormalized != 0];
  cl_sampler id = atomic_load(place);
  if (id == NULL) {
    cl_int error;
    id = driver->cl->clCreateSampler(
        driver->context, desc->isNormalized != 0, modes[mode],
        linear ? CL_FILTER_LINEAR : CL_FILTER_NEAREST, &error);
    if (id == NULL) return zocl_cl_error(error, "clCreateSampler");
    cl_sampler first = NULL;
    if (!atomic_compare_exchange_strong(place, &first, id)) {
      driver->cl->clReleaseSampler(id);
      id = first;
    }
  }
  zocl_sampler *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  made->driver = driver;
  made->id = id;
  *sampler = made;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_SamplerDestroy(ze_sampler_handle_t sampler)
{
  ZOCL_NEED_HANDLE(sampler);
  free(sampler);
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Kernel arguments.
 */

/* Returns the OpTypeImage of an argument, or NULL. */
static const spirv_instruction *argument_type(const zocl_kernel *kernel,
                                              uint32_t index)
{
  const spirv_module *m = kernel->module->spirv;
  const spirv_function *f = &m->functions[kernel->info->function];
  if (index >= f->param_count) return NULL;
  const spirv_instruction *of = spirv_definition(m, f->params[index]);
  if (of != NULL) of = spirv_definition(m, of->result_type);
  return of != NULL && of->opcode == SpvOpTypeImage && of->word_count > 5
             ? of
             : NULL;
}

static ze_result_t image_argument(const zocl_kernel *kernel, uint32_t index,
                                  const void *value, void *place)
{
  ze_image_handle_t image = NULL;
  if (value != NULL) memcpy(&image, value, sizeof image);
  if (image == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "argument %u of kernel %s needs an image", index,
                     kernel->info->name);
  if (image->device->driver != kernel->module->device->driver)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "argument %u of kernel %s is an image of another driver",
                     index, kernel->info->name);
  const spirv_instruction *type = argument_type(kernel, index);
  if (type != NULL) {
    bool array = type->words[5] != 0;
    int wanted = -1;
    switch (type->words[3]) {
    case SpvDim1D:
      wanted = array ? ZE_IMAGE_TYPE_1DARRAY : ZE_IMAGE_TYPE_1D;
      break;
    case SpvDim2D:
      wanted = array ? ZE_IMAGE_TYPE_2DARRAY : ZE_IMAGE_TYPE_2D;
      break;
    case SpvDim3D: wanted = ZE_IMAGE_TYPE_3D; break;
    case SpvDimBuffer: wanted = ZE_IMAGE_TYPE_BUFFER; break;
    default: break;
    }
    if (wanted >= 0 && (int)image->type != wanted)
      return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "argument %u of kernel %s is a %s image, not a %s one",
                       index, kernel->info->name, kind_names[wanted],
                       kind_names[image->type]);
    /* The access qualifier is the last word. */
    if (!image->kernels_write && type->word_count > 9 &&
        type->words[9] != SpvAccessQualifierReadOnly)
      return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "argument %u of kernel %s is written to, and the image "
                       "was made without the flag KERNEL_WRITE", index,
                       kernel->info->name);
  }
  if (place != NULL) memcpy(place, &image, sizeof image);
  return ZE_RESULT_SUCCESS;
}

static ze_result_t sampler_argument(const zocl_kernel *kernel, uint32_t index,
                                    const void *value, void *place)
{
  ze_sampler_handle_t sampler = NULL;
  if (value != NULL) memcpy(&sampler, value, sizeof sampler);
  if (sampler == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "argument %u of kernel %s needs a sampler", index,
                     kernel->info->name);
  if (sampler->driver != kernel->module->device->driver)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "argument %u of kernel %s is a sampler of another driver",
                     index, kernel->info->name);
  if (place != NULL) memcpy(place, &sampler->id, sizeof sampler->id);
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Copies.
 */

/* A copy to, from or between images. */
typedef struct image_copy {
  zocl_image *to, *from;   /* NULL for memory */
  void *memory;
  size_t to_origin[3], from_origin[3], region[3], row_pitch, slice_pitch;
} image_copy;

static ze_result_t result_of(cl_int error)
{
  return error == CL_SUCCESS ? ZE_RESULT_SUCCESS
                             : zocl_cl_error(error, "clEnqueue");
}

/* Copy between an image and memory that the host can access. */
static ze_result_t host_enqueue(const backend_place *place,
                                const image_copy *c)
{
  zocl_cl *cl = place->device->driver->cl;
  cl_command_queue queue = zocl_place_queue(place);
  if (c->from == NULL)
    return result_of(cl->clEnqueueWriteImage(
        queue, c->to->mem, CL_FALSE, c->to_origin, c->region, c->row_pitch,
        c->slice_pitch, c->memory, ZOCL_PLACE_EVENTS(place)));
  return result_of(cl->clEnqueueReadImage(
      queue, c->from->mem, CL_FALSE, c->from_origin, c->region, c->row_pitch,
      c->slice_pitch, c->memory, ZOCL_PLACE_EVENTS(place)));
}

/* Copy between an image and device memory, which OpenCL does not accept as host
   memory: through a staging buffer, in which rows are contiguous. */
static ze_result_t staged_enqueue(const backend_place *place,
                                  const image_copy *c)
{
  const zocl_image *image = c->to != NULL ? c->to : c->from;
  size_t row = c->region[0] * image->pixel_bytes;
  size_t slice = row * c->region[1];
  void *staging = malloc(slice * c->region[2]);
  if (staging == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  image_copy packed = *c;
  packed.memory = staging;
  packed.row_pitch = packed.slice_pitch = 0;
  const ze_copy_region_t box = {.width = (uint32_t)row,
                                .height = (uint32_t)c->region[1],
                                .depth = (uint32_t)c->region[2]};
  size_t row_pitch = c->row_pitch > 0 ? c->row_pitch : row;
  size_t slice_pitch = c->slice_pitch > row_pitch
                           ? c->slice_pitch
                           : row_pitch * c->region[1];
  zocl_copy_region rows = {.to_region = box, .from_region = box};
  bool reads = c->to == NULL;
  rows.to = reads ? c->memory : staging;
  rows.from = reads ? staging : c->memory;
  rows.to_pitch = (uint32_t)(reads ? row_pitch : row);
  rows.to_slice = (uint32_t)(reads ? slice_pitch : slice);
  rows.from_pitch = (uint32_t)(reads ? row : row_pitch);
  rows.from_slice = (uint32_t)(reads ? slice : slice_pitch);
  backend_mark *last = NULL;
  backend_place first = *place, second = *place;
  first.mark = NULL;
  second.wait_count = 0;
  second.waits = NULL;
  second.mark = &last;
  ze_result_t error = reads ? host_enqueue(&first, &packed)
                       : zocl_copy_region_enqueue(&first, &rows);
  if (error != ZE_RESULT_SUCCESS) {
    free(staging);
    return error;
  }
  error = reads ? zocl_copy_region_enqueue(&second, &rows)
                : host_enqueue(&second, &packed);
  /* If only the first copy was submitted, it still uses the buffer. */
  if (error == ZE_RESULT_SUCCESS) zocl_place_free(place, last, staging);
  return error;
}

static ze_result_t copy_enqueue(const backend_place *place, const void *args,
                                size_t args_size)
{
  const image_copy *c = args;
  (void)args_size;
  const zocl_driver *driver = place->device->driver;
  ze_memory_type_t type;
  if (c->memory == NULL)
    return result_of(driver->cl->clEnqueueCopyImage(
        zocl_place_queue(place), c->from->mem, c->to->mem, c->from_origin,
        c->to_origin, c->region, ZOCL_PLACE_EVENTS(place)));
  if (!driver->memory->any_pointer && zocl_memory_find(c->memory, &type) &&
      type == ZE_MEMORY_TYPE_DEVICE)
    return staged_enqueue(place, c);
  return host_enqueue(place, c);
}

/* Returns the number of coordinates of a pixel; the layer of an array
   counts. */
static int dimensions(ze_image_type_t type)
{
  switch (type) {
  case ZE_IMAGE_TYPE_1D:
  case ZE_IMAGE_TYPE_BUFFER: return 1;
  case ZE_IMAGE_TYPE_1DARRAY:
  case ZE_IMAGE_TYPE_2D: return 2;
  default: return 3;
  }
}

/* Get the part of an image that `region` selects, or all of it if NULL; it may
   be empty.  In a dimension that the image lacks, the region's size may be 0 or
   1 and its origin is ignored. */
static ze_result_t region_take(const zocl_image *image, const char *which,
                               const ze_image_region_t *region,
                               size_t origin[3], size_t size[3])
{
  memset(origin, 0, 3 * sizeof *origin);
  memcpy(size, image->extent, sizeof image->extent);
  if (region == NULL) return ZE_RESULT_SUCCESS;
  const uint32_t at[3] = {region->originX, region->originY, region->originZ};
  const uint32_t n[3] = {region->width, region->height, region->depth};
  for (int d = 0; d < 3; d++) {
    origin[d] = d < dimensions(image->type) ? at[d] : 0;
    size[d] = n[d] == 0 && image->extent[d] == 1 ? 1 : n[d];
    if (origin[d] > image->extent[d] ||
        size[d] > image->extent[d] - origin[d])
      return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                       "the %s region is %u x %u x %u at %u, %u, %u, the image "
                       "%zu x %zu x %zu", which, n[0], n[1], n[2], at[0],
                       at[1], at[2], image->extent[0], image->extent[1],
                       image->extent[2]);
  }
  return ZE_RESULT_SUCCESS;
}

/* Check that a list may use an image. */
static ze_result_t image_check(const zocl_list *list, const zocl_image *image)
{
  if (!device_has_images(list->device))
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "device %s has no images", list->device->name);
  if (zocl_device_reaches(list->device, image->device))
    return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   "the image is of another device, and there is no access "
                   "to it");
}

static ze_result_t append_copy(zocl_list *list, image_copy *copy,
                               ze_event_handle_t signal, uint32_t wait_count,
                               ze_event_handle_t *waits)
{
  zocl_image *images[2];
  uint32_t count = 0;
  if (copy->to != NULL) images[count++] = copy->to;
  if (copy->from != NULL) images[count++] = copy->from;
  for (uint32_t i = 0; i < count; i++) {
    ze_result_t result = image_check(list, images[i]);
    if (result != ZE_RESULT_SUCCESS) return result;
  }
  if (copy->memory != NULL &&
      !zocl_memory_reachable(list->device, copy->memory))
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  zocl_command command = {.kind = ZOCL_COMMAND_TRANSFER,
                          .transfer = copy_enqueue,
                          .images = images,
                          .image_count = count,
                          .args = copy,
                          .args_size = sizeof *copy};
  /* OpenCL rejects copies of 0 pixels. */
  if (copy->region[0] == 0 || copy->region[1] == 0 || copy->region[2] == 0)
    command = (zocl_command){.kind = ZOCL_COMMAND_NOTHING};
  return zocl_list_append(list, &command, signal, wait_count, waits);
}

static bool regions_overlap(const image_copy *c)
{
  if (c->to != c->from) return false;
  for (int d = 0; d < 3; d++)
    if (c->to_origin[d] >= c->from_origin[d] + c->region[d] ||
        c->from_origin[d] >= c->to_origin[d] + c->region[d])
      return false;
  return true;
}

ze_result_t zocl_CommandListAppendImageCopyRegion(
    ze_command_list_handle_t list, ze_image_handle_t to,
    ze_image_handle_t from, const ze_image_region_t *to_region,
    const ze_image_region_t *from_region, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(to);
  ZOCL_NEED_HANDLE(from);
  image_copy copy = {.to = to, .from = from};
  size_t size[3];
  ze_result_t result =
      region_take(to, "destination", to_region, copy.to_origin, size);
  if (result == ZE_RESULT_SUCCESS)
    result = region_take(from, "source", from_region, copy.from_origin,
                         copy.region);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (memcmp(size, copy.region, sizeof size) != 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                     "the two regions differ in size");
  if (memcmp(&to->format, &from->format, sizeof to->format) != 0)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                     "the two images differ in format");
  if (regions_overlap(&copy))
    return zocl_fail(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
                     "the two regions overlap");
  return append_copy(list, &copy, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendImageCopy(
    ze_command_list_handle_t list, ze_image_handle_t to,
    ze_image_handle_t from, ze_event_handle_t signal, uint32_t wait_count,
    ze_event_handle_t *waits)
{
  return zocl_CommandListAppendImageCopyRegion(list, to, from, NULL, NULL,
                                               signal, wait_count, waits);
}

/* Get the pitches of `image` in memory; 0 if they follow from the region. */
static ze_result_t pitches_take(const zocl_image *image, uint32_t row,
                                uint32_t slice, image_copy *copy)
{
  size_t least_row = copy->region[0] * image->pixel_bytes;
  size_t least_slice = (row > 0 ? row : least_row) * copy->region[1];
  if ((row > 0 && row < least_row) || (slice > 0 && slice < least_slice))
    return zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                     "pitches of %u and %u bytes: a row has %zu, a slice %zu",
                     row, slice, least_row, least_slice);
  /* If there is only one row or one slice, OpenCL wants no pitch.  For a 1D
     array, OpenCL uses the slice pitch, PoCL the row pitch. */
  bool rows = copy->region[1] > 1, slices = copy->region[2] > 1;
  copy->row_pitch = rows || slices ? row : 0;
  if (image->type == ZE_IMAGE_TYPE_1DARRAY)
    copy->slice_pitch = copy->row_pitch;
  else
    copy->slice_pitch = slices ? slice : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_CommandListAppendImageCopyToMemoryExt(
    ze_command_list_handle_t list, void *to, ze_image_handle_t from,
    const ze_image_region_t *region, uint32_t row, uint32_t slice,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_POINTER(to);
  ZOCL_NEED_HANDLE(from);
  image_copy copy = {.from = from, .memory = to};
  ze_result_t result =
      region_take(from, "source", region, copy.from_origin, copy.region);
  if (result == ZE_RESULT_SUCCESS)
    result = pitches_take(from, row, slice, &copy);
  if (result != ZE_RESULT_SUCCESS) return result;
  return append_copy(list, &copy, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendImageCopyFromMemoryExt(
    ze_command_list_handle_t list, ze_image_handle_t to, const void *from,
    const ze_image_region_t *region, uint32_t row, uint32_t slice,
    ze_event_handle_t signal, uint32_t wait_count, ze_event_handle_t *waits)
{
  ZOCL_NEED_HANDLE(list);
  ZOCL_NEED_HANDLE(to);
  ZOCL_NEED_POINTER(from);
  image_copy copy = {.to = to};
  memcpy(&copy.memory, &from, sizeof from); /* the copy only reads it */
  ze_result_t result =
      region_take(to, "destination", region, copy.to_origin, copy.region);
  if (result == ZE_RESULT_SUCCESS)
    result = pitches_take(to, row, slice, &copy);
  if (result != ZE_RESULT_SUCCESS) return result;
  return append_copy(list, &copy, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendImageCopyToMemory(
    ze_command_list_handle_t list, void *to, ze_image_handle_t from,
    const ze_image_region_t *region, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  return zocl_CommandListAppendImageCopyToMemoryExt(
      list, to, from, region, 0, 0, signal, wait_count, waits);
}

ze_result_t zocl_CommandListAppendImageCopyFromMemory(
    ze_command_list_handle_t list, ze_image_handle_t to, const void *from,
    const ze_image_region_t *region, ze_event_handle_t signal,
    uint32_t wait_count, ze_event_handle_t *waits)
{
  return zocl_CommandListAppendImageCopyFromMemoryExt(
      list, to, from, region, 0, 0, signal, wait_count, waits);
}

void zocl_image_hook(zocl_hook *hook)
{
  hook->image_ref = image_ref;
  hook->image_unref = image_unref;
  hook->image_argument = image_argument;
  hook->sampler_argument = sampler_argument;
}
