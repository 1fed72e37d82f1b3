/*
 * cl_gpu.c - PoCL's OpenCL with devices that claim to be NVIDIA GPUs.
 * SPDX-License-Identifier: MIT
 *
 * It simulates PoCL's CUDA device, about which the driver needs to know more
 * than OpenCL reports.  OCL_ICD_VENDORS names this library instead of PoCL.
 * It aborts if the last reference to a queue is released, or if SVM memory is
 * filled with a pattern of eight bytes or more, as that device may.
 * It counts created queues in lze_gpu_queues, kernels on queues with timestamps
 * in lze_gpu_timed, and references to kernel events in lze_gpu_events.  After
 * lze_gpu_fails is set, the next kernel with an event is reported as failed.
 * Its clock is 1000 s behind and, like Intel's OpenCL for CPUs, it does not
 * report when markers were queued.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_icd_dispatch real, table;

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name,
                                      size_t size, void *value, size_t *needed)
{
  cl_int error = real.clGetDeviceInfo(device, name, size, value, needed);
  const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
  const cl_uint nvidia = 0x10de;
  if (error != CL_SUCCESS || value == NULL) return error;
  if (name == CL_DEVICE_TYPE) memcpy(value, &gpu, sizeof gpu);
  if (name == CL_DEVICE_VENDOR_ID) memcpy(value, &nvidia, sizeof nvidia);
  return error;
}

extern int lze_gpu_queues;
__attribute__((visibility("default"))) int lze_gpu_queues;

static cl_command_queue CL_API_CALL queue_new(cl_context context,
                                              cl_device_id device,
                                              const cl_queue_properties *p,
                                              cl_int *error)
{
  lze_gpu_queues++;
  return real.clCreateCommandQueueWithProperties(context, device, p, error);
}

static cl_int CL_API_CALL queue_release(cl_command_queue queue)
{
  cl_uint count = 0;
  real.clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count,
                             &count, NULL);
  if (count <= 1) {
    fputs("the last reference to a queue is released\n", stderr);
    abort();
  }
  return real.clReleaseCommandQueue(queue);
}

static cl_int CL_API_CALL svm_fill(cl_command_queue queue, void *to,
                                   const void *pattern, size_t pattern_size,
                                   size_t size, cl_uint count,
                                   const cl_event *waits, cl_event *event)
{
  if (pattern_size >= 8) {
    fputs("a pattern of eight bytes is not implemented\n", stderr);
    abort();
  }
  return real.clEnqueueSVMMemFill(queue, to, pattern, pattern_size, size, count,
                                  waits, event);
}

extern int lze_gpu_timed, lze_gpu_events;
__attribute__((visibility("default"))) int lze_gpu_timed, lze_gpu_events;
extern int lze_gpu_fails;
__attribute__((visibility("default"))) int lze_gpu_fails;
static cl_event failing;

static cl_int CL_API_CALL kernel_enqueue(cl_command_queue queue,
                                         cl_kernel kernel, cl_uint dims,
                                         const size_t *offset,
                                         const size_t *global,
                                         const size_t *local, cl_uint count,
                                         const cl_event *waits, cl_event *event)
{
  cl_command_queue_properties p = 0;
  real.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof p, &p, NULL);
  if (p & CL_QUEUE_PROFILING_ENABLE) lze_gpu_timed++;
  if (event != NULL) lze_gpu_events++;
  cl_int error =
      real.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local,
                                  count, waits, event);
  if (error == CL_SUCCESS && event != NULL && lze_gpu_fails != 0) {
    lze_gpu_fails = 0;
    failing = *event;
    real.clRetainEvent(failing); /* no other event may get its handle */
  }
  return error;
}

static cl_int CL_API_CALL event_info(cl_event event, cl_event_info name,
                                     size_t size, void *value, size_t *needed)
{
  cl_int error = real.clGetEventInfo(event, name, size, value, needed);
  const cl_int failed = CL_OUT_OF_RESOURCES;
  if (error == CL_SUCCESS && event == failing && value != NULL &&
      name == CL_EVENT_COMMAND_EXECUTION_STATUS &&
      memcmp(value, &(cl_int){CL_COMPLETE}, sizeof(cl_int)) == 0)
    memcpy(value, &failed, sizeof failed);
  return error;
}

static cl_int CL_API_CALL event_retain(cl_event event)
{
  lze_gpu_events++;
  return real.clRetainEvent(event);
}

static cl_int CL_API_CALL event_release(cl_event event)
{
  lze_gpu_events--;
  return real.clReleaseEvent(event);
}

static cl_int CL_API_CALL event_time(cl_event event, cl_profiling_info name,
                                     size_t size, void *value, size_t *needed)
{
  const cl_ulong behind = UINT64_C(1000000000000);
  cl_command_type type = 0;
  cl_ulong time;
  cl_int error = real.clGetEventProfilingInfo(event, name, size, value, needed);
  if (error != CL_SUCCESS || value == NULL || size < sizeof time) return error;
  real.clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
  memcpy(&time, value, sizeof time);
  time = type == CL_COMMAND_MARKER && name == CL_PROFILING_COMMAND_QUEUED
             ? 0 : time - behind;
  memcpy(value, &time, sizeof time);
  return error;
}

static cl_int (*platforms_get)(cl_uint, cl_platform_id *, cl_uint *);

/* Every object starts with the address of its functions; the driver uses the
   platform's functions for all objects. */
static cl_int CL_API_CALL platforms(cl_uint room, cl_platform_id *ids,
                                    cl_uint *count)
{
  cl_int error = platforms_get(room, ids, count);
  if (error != CL_SUCCESS || ids == NULL || room == 0) return error;
  cl_icd_dispatch **first = (cl_icd_dispatch **)ids[0];
  if (*first == &table) return error;
  real = table = **first;
  table.clGetDeviceInfo = device_info;
  table.clCreateCommandQueueWithProperties = queue_new;
  table.clReleaseCommandQueue = queue_release;
  table.clEnqueueNDRangeKernel = kernel_enqueue;
  table.clGetEventInfo = event_info;
  table.clEnqueueSVMMemFill = svm_fill;
  table.clRetainEvent = event_retain;
  table.clReleaseEvent = event_release;
  table.clGetEventProfilingInfo = event_time;
  *first = &table;
  if (count != NULL) *count = 1;
  return error;
}

__attribute__((visibility("default"))) void *CL_API_CALL
clGetExtensionFunctionAddress(const char *name)
{
  static void *pocl; /* never closed */
  if (pocl == NULL) pocl = dlopen("libpocl.so.2", RTLD_NOW | RTLD_LOCAL);
  void *(*find)(const char *);
  void *address = NULL;
  if (pocl == NULL || strcmp(name, "clIcdGetPlatformIDsKHR") != 0) return NULL;
  *(void **)&find = dlsym(pocl, "clGetExtensionFunctionAddress");
  if (find == NULL) return NULL;
  *(void **)&platforms_get = find(name);
  cl_int (*get)(cl_uint, cl_platform_id *, cl_uint *) = platforms;
  memcpy(&address, &get, sizeof address);
  return platforms_get != NULL ? address : NULL;
}
