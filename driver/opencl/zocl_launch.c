/*
 * zocl_launch.c - kernels and their launch.
 * SPDX-License-Identifier: MIT
 */
#include "opencl/zocl_cl.h"
#include "opencl/zocl_image.h"
#include "opencl/zocl_lane.h"
#include "opencl/zocl_opencl.h"
#include "opencl/zocl_way.h"
#include "base/zocl_exit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A launch shape that is compiled separately: see shape_of. */
typedef struct shape {
  uint32_t local[3];
  uint32_t variant;
} shape;

struct backend_kernel {
  cl_kernel id;
  const spirv_kernel *info;
  const zocl_arg *args;
  size_t values_size;
  bool images;            /* it has an image argument */
  pthread_mutex_t lock;   /* of the members below and the cl_kernel */
  unsigned char *current; /* the values that the cl_kernel has */
  bool primed;            /* the cl_kernel has a value for every argument */
  uint32_t shape_count, shape_room;
  shape *shapes;
};

/* ------------------------------------------------------------------------
 * Kernels.
 */

static void CL_CALLBACK tell_stack(void *args)
{
  size_t *to;
  memcpy(&to, args, sizeof to);
  *to = zocl_stack_size();
}

/* Queries the stack size in a PoCL thread: the program may have started these
   threads before this driver could enlarge their stacks. */
static size_t thread_stack(const zocl_device *device)
{
  zocl_driver *driver = device->driver;
  size_t size = atomic_load(&driver->stack);
  if (size != 0) return size;
  cl_int error;
  size_t *to = &size;
  cl_command_queue queue =
      device->native ? driver->cl->clCreateCommandQueueWithProperties(
                           driver->context, device->queue_id, NULL, &error)
                     : NULL;
  if (queue != NULL) {
    driver->cl->clEnqueueNativeKernel(queue, tell_stack, &to, sizeof to, 0,
                                      NULL, NULL, 0, NULL, NULL);
    driver->cl->clFinish(queue);
    driver->cl->clReleaseCommandQueue(queue);
  }
  struct rlimit stack;
  if (size == 0 && getrlimit(RLIMIT_STACK, &stack) == 0)
    size = stack.rlim_cur == RLIM_INFINITY ? 2 << 20 : stack.rlim_cur;
  atomic_store(&driver->stack, size);
  return size;
}

/* Returns the bytes that PoCL needs for each work-item on the stack of the
   thread that runs the group: private arrays and, in kernels with barriers,
   values used after a barrier.  PoCL does not check that the stack is large
   enough. */
static uint64_t stack_bytes(const spirv_kernel *info)
{
  bool waits = info->features & SPIRV_USES_BARRIER;
  return info->private_bytes + (waits ? info->waiting_bytes : 0);
}

static uint64_t stack_room(const zocl_device *device)
{
  if (!device->driver->pocl || !(device->type & CL_DEVICE_TYPE_CPU))
    return UINT64_MAX;
  return thread_stack(device) / 4 * 3;
}

void zocl_kernel_free(const zocl_device *device, backend_kernel *kernel)
{
  if (kernel->id != NULL) device->driver->cl->clReleaseKernel(kernel->id);
  pthread_mutex_destroy(&kernel->lock);
  free(kernel->shapes);
  free(kernel->current);
  free(kernel);
}

/* Checks that OpenCL's kernel agrees with the module: an implementation may
   crash if it receives arguments that the kernel does not have. */
static ze_result_t arguments_check(const zocl_driver *driver,
                                   const backend_kernel *kernel)
{
  const spirv_kernel *info = kernel->info;
  cl_uint count = 0;
  driver->cl->clGetKernelInfo(kernel->id, CL_KERNEL_NUM_ARGS, sizeof count,
                              &count, NULL);
  if (count == info->arg_count) return ZE_RESULT_SUCCESS;
  return zocl_fail(ZE_RESULT_ERROR_UNKNOWN,
                   "kernel %s has %u arguments in SPIR-V, %u in OpenCL",
                   info->name, info->arg_count, (unsigned)count);
}

static ze_result_t group_limit(const zocl_device *device,
                               const backend_kernel *kernel, uint32_t *limit)
{
  const spirv_kernel *info = kernel->info;
  size_t max = 0;
  device->driver->cl->clGetKernelWorkGroupInfo(
      kernel->id, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof max, &max,
      NULL);
  if (max == 0 || max > device->max_group) max = device->max_group;
  const uint64_t each = stack_bytes(info);
  const uint64_t room = each > 0 ? stack_room(device) : 0;
  if (each > room)
    return zocl_fail(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
                     "kernel %s has private arrays and values of %llu bytes, "
                     "there are %llu: three quarters of a thread's stack",
                     info->name, (unsigned long long)each,
                     (unsigned long long)room);
  if (each > 0 && max > room / each) max = room / each;
  *limit = zocl_clamp(max);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_kernel_new(const zocl_device *device,
                            backend_program *program, const spirv_kernel *info,
                            const zocl_arg *args, size_t values_size,
                            uint32_t *max_group, backend_kernel **kernel)
{
  const zocl_driver *driver = device->driver;
  backend_kernel *made = calloc(1, sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  pthread_mutex_init(&made->lock, NULL);
  made->info = info;
  made->args = args;
  made->values_size = values_size;
  for (uint32_t i = 0; i < info->arg_count; i++)
    made->images |= args[i].cls == SPIRV_ARG_IMAGE;
  made->current = calloc(1, values_size + 1);
  ze_result_t result = ZE_RESULT_SUCCESS;
  cl_int error;
  if (made->current == NULL)
    result = zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  else
    made->id =
        driver->cl->clCreateKernel((cl_program)program, info->name, &error);
  if (result == ZE_RESULT_SUCCESS && made->id == NULL)
    result = zocl_cl_error(error, "clCreateKernel");
  if (result == ZE_RESULT_SUCCESS) result = arguments_check(driver, made);
  if (result == ZE_RESULT_SUCCESS)
    result = group_limit(device, made, max_group);
  if (result == ZE_RESULT_SUCCESS)
    *kernel = made;
  else
    zocl_kernel_free(device, made);
  return result;
}

void zocl_kernel_facts(const zocl_device *device, backend_kernel *kernel,
                       uint64_t *private_bytes, uint64_t *multiple)
{
  zocl_cl *cl = device->driver->cl;
  cl_ulong bytes;
  size_t unit;
  if (cl->clGetKernelWorkGroupInfo(kernel->id, device->id,
                                   CL_KERNEL_PRIVATE_MEM_SIZE, sizeof bytes,
                                   &bytes, NULL) == CL_SUCCESS)
    *private_bytes = bytes;
  if (cl->clGetKernelWorkGroupInfo(
          kernel->id, device->id, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
          sizeof unit, &unit, NULL) == CL_SUCCESS)
    *multiple = unit;
}

/* ------------------------------------------------------------------------
 * Arguments.
 */

/* Sets the cl_kernel's arguments that differ from its current ones.  Images are
   always set, because another image may have the same address.  Caller holds
   the lock. */
static cl_int arguments_set(const zocl_driver *driver, backend_kernel *kernel,
                            const unsigned char *values)
{
  zocl_cl *cl = driver->cl;
  for (uint32_t i = 0; i < kernel->info->arg_count; i++) {
    const zocl_arg *arg = &kernel->args[i];
    const unsigned char *value = values + arg->offset;
    unsigned char *current = kernel->current + arg->offset;
    if (kernel->primed && arg->cls != SPIRV_ARG_IMAGE &&
        memcmp(current, value, arg->bytes) == 0)
      continue;
    cl_int error;
    if (arg->cls == SPIRV_ARG_POINTER) {
      void *pointer;
      memcpy(&pointer, value, sizeof pointer);
      error = zocl_way_of(driver)->argument(driver, kernel->id, i, pointer);
    } else if (arg->cls == SPIRV_ARG_LOCAL) {
      uint64_t size;
      memcpy(&size, value, sizeof size);
      error = cl->clSetKernelArg(kernel->id, i, size, NULL);
    } else if (arg->cls == SPIRV_ARG_IMAGE) {
      zocl_image *image; /* NULL if a changed command lacks it */
      memcpy(&image, value, sizeof image);
      error = image == NULL ? CL_INVALID_ARG_VALUE
                            : cl->clSetKernelArg(kernel->id, i,
                                                 sizeof image->mem,
                                                 &image->mem);
    } else if (arg->cls == SPIRV_ARG_SAMPLER &&
               memcmp(value, &(cl_sampler){NULL}, sizeof(cl_sampler)) == 0) {
      error = CL_INVALID_ARG_VALUE;
    } else
      error = cl->clSetKernelArg(kernel->id, i, arg->bytes, value);
    if (error != CL_SUCCESS) {
      kernel->primed = false;
      return error;
    }
    memcpy(current, value, arg->bytes);
  }
  kernel->primed = true;
  return CL_SUCCESS;
}

ze_result_t zocl_kernel_set(const zocl_device *device, backend_kernel *kernel,
                            const unsigned char *values)
{
  pthread_mutex_lock(&kernel->lock);
  cl_int error = arguments_set(device->driver, kernel, values);
  pthread_mutex_unlock(&kernel->lock);
  return error == CL_SUCCESS ? ZE_RESULT_SUCCESS
                             : zocl_cl_error(error, "clSetKernelArg");
}

ze_result_t zocl_kernel_tell(const zocl_device *device, backend_kernel *kernel,
                             ze_kernel_indirect_access_flags_t indirect,
                             void *const *blocks, size_t block_count)
{
  const zocl_way *way = zocl_way_of(device->driver);
  pthread_mutex_lock(&kernel->lock);
  cl_int error = way->reach(device->driver, kernel->id, indirect, blocks,
                            block_count);
  pthread_mutex_unlock(&kernel->lock);
  return error == CL_SUCCESS ? ZE_RESULT_SUCCESS
                             : zocl_cl_error(error, "clSetKernelExecInfo");
}

/* ------------------------------------------------------------------------
 * Launches.
 */

/* PoCL compiles a kernel separately for each group size, with and without an
   offset, and for ranges that are below 65535 in every dimension and for
   others. */
enum { SHAPE_OFFSET = 1, SHAPE_LARGE = 2, LARGE_RANGE = 65535 };

static shape shape_of(const size_t local[3], const size_t global[3],
                           bool offset)
{
  const size_t limit = LARGE_RANGE;
  bool large =
      global[0] >= limit || global[1] >= limit || global[2] >= limit;
  return (shape){
    {(uint32_t)local[0], (uint32_t)local[1], (uint32_t)local[2]},
    (offset ? SHAPE_OFFSET : 0u) | (large ? SHAPE_LARGE : 0u)};
}

/* Returns true if a launch of this shape compiles nothing, because there was
   one before. */
static bool shape_is_known(const backend_kernel *kernel, const shape *s)
{
  for (uint32_t i = kernel->shape_count; i-- > 0;)
    if (memcmp(&kernel->shapes[i], s, sizeof *s) == 0) return true;
  return false;
}

static void shape_remember(backend_kernel *kernel, const shape *s)
{
  if (kernel->shape_count == kernel->shape_room) {
    uint32_t room = kernel->shape_room > 0 ? 2 * kernel->shape_room : 4;
    shape *shapes = realloc(kernel->shapes, room * sizeof *shapes);
    if (shapes == NULL) return; /* the next call tries again */
    kernel->shapes = shapes;
    kernel->shape_room = room;
  }
  kernel->shapes[kernel->shape_count++] = *s;
}

ze_result_t zocl_launch_enqueue(const backend_place *place,
                                backend_kernel *kernel,
                                const zocl_launch *launch)
{
  const zocl_driver *driver = place->device->driver;
  const size_t *global = launch->global, *local = launch->local;
  bool offset = (launch->offset[0] | launch->offset[1] | launch->offset[2]) > 0;
  const shape s = shape_of(local, global, offset);
  cl_uint dims = global[2] > 1 || launch->offset[2] > 0   ? 3
                 : global[1] > 1 || launch->offset[1] > 0 ? 2
                                                          : 1;
  if (dims < launch->dims) dims = launch->dims;
  ze_result_t result = ZE_RESULT_SUCCESS;
  pthread_mutex_lock(&kernel->lock);
  bool known = shape_is_known(kernel, &s);
  if (!known) {
    if (!zocl_opencl_may_compile(driver)) {
      result = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
      goto done;
    }
    zocl_exit_early();
  }
  if (!kernel->primed || kernel->images ||
      memcmp(kernel->current, launch->values, kernel->values_size) != 0) {
    cl_int error = arguments_set(driver, kernel, launch->values);
    if (error != CL_SUCCESS) {
      result = zocl_cl_error(error, "clSetKernelArg");
      goto done;
    }
  }
  cl_event first = NULL, *event = (cl_event *)place->mark;
  if (!known && event == NULL) event = &first;
  cl_int error = driver->cl->clEnqueueNDRangeKernel(
      zocl_place_queue(place), kernel->id, dims,
      offset ? launch->offset : NULL, global, local, place->wait_count,
      (const cl_event *)place->waits, event);
  if (error != CL_SUCCESS)
    result = zocl_cl_error(error, "clEnqueueNDRangeKernel");
  else if (!known) {
    shape_remember(kernel, &s);
    zocl_opencl_compiling(driver, *event);
  }
  if (first != NULL) driver->cl->clReleaseEvent(first);
done:
  pthread_mutex_unlock(&kernel->lock);
  return result;
}

/* Lists the shapes in PoCL's notation. */
ze_result_t zocl_kernel_shapes(const zocl_device *device,
                               backend_kernel *kernel, uint32_t count,
                               const prepare_launch *launches,
                               tool_text *shapes)
{
  const char *cache = getenv("POCL_KERNEL_CACHE");
  if (!device->driver->pocl ||
      (cache != NULL && strcmp(cache, "0") == 0))
    return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                     "this OpenCL cannot compile ahead of a launch");
  for (uint32_t i = 0; i < count; i++) {
    const prepare_launch *l = &launches[i];
    size_t local[3], global[3];
    for (int d = 0; d < 3; d++) {
      local[d] = l->group[d];
      global[d] = local[d] * l->count[d];
    }
    const shape s = shape_of(
        local, global, (l->offset[0] | l->offset[1] | l->offset[2]) != 0);
    pthread_mutex_lock(&kernel->lock);
    bool known = shape_is_known(kernel, &s);
    pthread_mutex_unlock(&kernel->lock);
    if (known) continue;
    tool_text_add(shapes, "%s%u-%u-%u%s%s", shapes->size > 0 ? "," : "",
                  s.local[0], s.local[1], s.local[2],
                  s.variant & SHAPE_OFFSET ? "" : "-goffs0",
                  s.variant & SHAPE_LARGE ? "" : "-smallgrid");
  }
  return ZE_RESULT_SUCCESS;
}
