/*
 * suggest_test.c - the suggested group size is the one that OpenCL itself uses.
 * SPDX-License-Identifier: MIT
 *
 * Compares zeKernelSuggestGroupSize with get_local_size in a kernel launched
 * through OpenCL without a local size.
 */
#include "check.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

static const uint32_t ranges[][3] = {
  {1, 1, 1},       {7, 1, 1},          {64, 1, 1},      {61, 1, 1},
  {100, 1, 1},     {4096, 1, 1},       {8192, 1, 1},    {4097, 1, 1},
  {65536, 1, 1},   {1000000, 1, 1},    {1000003, 1, 1}, {999999, 1, 1},
  {1048576, 1, 1}, {12345, 1, 1},      {16, 16, 1},     {64, 64, 1},
  {100, 100, 1},   {1000, 1000, 1},    {256, 3, 1},     {3, 256, 1},
  {7, 11, 13},     {16, 16, 16},       {32, 32, 32},    {1920, 1080, 1},
  {1, 4096, 1},    {1, 1, 4096},       {24, 18, 10},    {96, 5, 7},
  {2, 2, 2},       {8, 8, 8},          {640, 480, 2},   {127, 127, 1},
};

int main(void)
{
  setup s = setup_new();
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv");
  ze_kernel_handle_t kernel = kernel_new(module, "saxpy");

  void *opencl = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (opencl == NULL) {
    printf("ok 1 # SKIP there is no libOpenCL.so.1 to compare with\n");
    return 0;
  }
#define FUNCTION(name)        \
  __typeof__(name) *p##name; \
  *(void **)&p##name = dlsym(opencl, #name)
  FUNCTION(clGetPlatformIDs);
  FUNCTION(clGetDeviceIDs);
  FUNCTION(clCreateContext);
  FUNCTION(clCreateCommandQueue);
  FUNCTION(clCreateProgramWithSource);
  FUNCTION(clBuildProgram);
  FUNCTION(clCreateKernel);
  FUNCTION(clCreateBuffer);
  FUNCTION(clSetKernelArg);
  FUNCTION(clEnqueueNDRangeKernel);
  FUNCTION(clEnqueueReadBuffer);
  FUNCTION(clReleaseMemObject);
  FUNCTION(clReleaseKernel);
  FUNCTION(clReleaseProgram);
  FUNCTION(clReleaseCommandQueue);
  FUNCTION(clReleaseContext);
  static const char *source =
      "kernel void sizes(global uint *out) {"
      "  if (get_global_id(0) + get_global_id(1) + get_global_id(2) == 0)"
      "    for (uint d = 0; d < 3; d++) out[d] = get_local_size(d); }";
  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  pclGetPlatformIDs(1, &platform, NULL);
  pclGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
  cl_context context = pclCreateContext(NULL, 1, &device, NULL, NULL, &error);
  cl_command_queue queue = pclCreateCommandQueue(context, device, 0, &error);
  cl_program program =
      pclCreateProgramWithSource(context, 1, &source, NULL, &error);
  EQUAL(pclBuildProgram(program, 1, &device, NULL, NULL, NULL), CL_SUCCESS);
  cl_kernel sizes = pclCreateKernel(program, "sizes", &error);
  cl_mem out = pclCreateBuffer(context, CL_MEM_READ_WRITE, 3 * sizeof(cl_uint),
                               NULL, &error);
  pclSetKernelArg(sizes, 0, sizeof out, &out);

  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    const uint32_t *r = ranges[i];
    size_t global[3] = {r[0], r[1], r[2]};
    cl_uint took[3] = {0, 0, 0};
    uint32_t x = 0, y = 0, z = 0;
    pclEnqueueNDRangeKernel(queue, sizes, 3, NULL, global, NULL, 0, NULL, NULL);
    pclEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof took, took, 0, NULL,
                         NULL);
    MUST(zeKernelSuggestGroupSize(kernel, r[0], r[1], r[2], &x, &y, &z));
    check_(__FILE__, __LINE__, x == took[0] && y == took[1] && z == took[2],
           "%u x %u x %u: suggested %u x %u x %u, OpenCL takes %u x %u x %u",
           r[0], r[1], r[2], x, y, z, took[0], took[1], took[2]);
  }

  /* Every suggestion divides the range, however odd it is. */
  int wrong = 0;
  for (uint32_t n = 1; n < 3000; n += 7) {
    uint32_t x, y, z;
    MUST(zeKernelSuggestGroupSize(kernel, n, 3 * n + 1, 2, &x, &y, &z));
    wrong += n % x != 0 || (3 * n + 1) % y != 0 || 2 % z != 0;
  }
  EQUAL(wrong, 0);
  uint32_t x, y, z;
  RETURNS(ZE_RESULT_SUCCESS,
          zeKernelSuggestGroupSize(kernel, UINT32_MAX, UINT32_MAX, UINT32_MAX,
                                   &x, &y, &z));
  CHECK(UINT32_MAX % x == 0 && UINT32_MAX % y == 0 && UINT32_MAX % z == 0);
  RETURNS(ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION,
          zeKernelSuggestGroupSize(kernel, 0, 1, 1, &x, &y, &z));
  pclReleaseMemObject(out);
  pclReleaseKernel(sizes);
  pclReleaseProgram(program);
  pclReleaseCommandQueue(queue);
  pclReleaseContext(context);
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
