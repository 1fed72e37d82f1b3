/*
 * lower_test.c - features that OpenCL's library lacks and kernels may use
 * anyway: functions of halves, atomic operations on generic pointers and on
 * floating-point numbers.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <math.h>

#define KERNELS "spec/driver/kernels/"

static setup s;
static ze_command_list_handle_t list;

static void launch(ze_module_handle_t module, const char *name, uint32_t groups,
                   uint32_t items, void *first, size_t second_size,
                   const void *second)
{
  ze_kernel_handle_t kernel = kernel_new(module, name);
  ze_group_count_t count = {groups, 1, 1};
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof first, &first));
  if (second != NULL)
    MUST(zeKernelSetArgumentValue(kernel, 1, second_size, second));
  MUST(zeKernelSetGroupSize(kernel, items, 1, 1));
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &count, NULL, 0, NULL));
  MUST(zeKernelDestroy(kernel));
}

/* Reads and writes numbers of `bytes` bytes as doubles.  Halves are normal
   numbers, 0 or NaN here. */
static double get(const void *from, size_t bytes, int i)
{
  float f;
  double d;
  uint16_t h;
  const char *at = (const char *)from + bytes * (size_t)i;
  switch (bytes) {
  case 8: memcpy(&d, at, sizeof d); return d;
  case 4: memcpy(&f, at, sizeof f); return (double)f;
  default: memcpy(&h, at, sizeof h);
  }
  if ((h & 0x7fff) == 0) return 0;
  if ((h & 0x7c00) == 0x7c00) return (double)NAN;
  d = ldexp(1 + (h & 0x3ff) / 1024.0, (h >> 10 & 31) - 15);
  return h & 0x8000 ? -d : d;
}

static void put(void *to, size_t bytes, int i, double d)
{
  float f = (float)d;
  uint16_t h = 0;
  int exponent;
  char *at = (char *)to + bytes * (size_t)i;
  if (isnan(d))
    h = 0x7e00;
  else if (d != 0) {
    double m = frexp(fabs(d), &exponent);
    h = (uint16_t)((d < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                   ((int)(m * 2048) & 0x3ff));
  }
  memcpy(at, bytes == 8 ? (void *)&d : bytes == 4 ? (void *)&f : (void *)&h,
         bytes);
}

/* kernels/half.cl, with numbers whose results are exact halves. */
static void test_halves(void)
{
  enum { N = 4 };
  static const double in[N] = {3, -2, 0.5, 8};
  uint16_t *x = shared_new(s, N * sizeof *x);
  uint16_t *out = shared_new(s, 16 * N * sizeof *out);
  for (int i = 0; i < N; i++) put(x, 2, i, in[i]);
  memset(out, 0xff, 16 * N * sizeof *out);
  ze_module_handle_t module = module_load(s, KERNELS "half.spv");
  launch(module, "maths", 2, N / 2, out, sizeof x, &x);
  for (int i = 0; i < N; i++) {
    double v = in[i], wanted[16] = {
      v * v + 1, fabs(v), fmax(v, 2.5), 0, fmin(fmax(v, -1), 1), v * v * v,
      2, ilogb(v)};
    for (int k = 0; k < 4; k++) {
      wanted[3] += (v + k) * (v + k);
      wanted[8 + k] = fabs(v + k);
      wanted[12 + k] = 2 * (v + k);
    }
    for (int k = 0; k < 16; k++) {
      double got = get(out, 2, 16 * i + k);
      check_(__FILE__, __LINE__, got == wanted[k],
             "of %g, number %d is %g, wanted %g", v, k, got, wanted[k]);
    }
  }
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, x));
  MUST(zeMemFree(s.context, out));
}

/* Conversions that saturate and round. */
static void test_conversions(void)
{
  static const double in[4] = {3, -2, 2.5, 3.5};
  static const int wanted[20] = {3, -2, 3, 4, 255, 0, 250, 255, 3, -2,
                                 2, 4, 127, -128, 127, 127, 6, -4, 5, 7};
  uint16_t *x = shared_new(s, 4 * sizeof *x);
  int *out = shared_new(s, sizeof wanted);
  for (int i = 0; i < 4; i++) put(x, 2, i, in[i]);
  ze_module_handle_t module = module_load(s, KERNELS "half.spv");
  launch(module, "convert", 1, 1, out, sizeof x, &x);
  for (int i = 0; i < 20; i++)
    check_(__FILE__, __LINE__, out[i] == wanted[i],
           "conversion %d gives %d, wanted %d", i, out[i], wanted[i]);
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, x));
  MUST(zeMemFree(s.context, out));
}

/* Conversions to halves that do not round to the nearest. */
static void test_rounding(void)
{
  const float e = 1.0f / 1024;
  const float in[8] = {1 + e / 4, 1 + 3 * e / 4, -1 - e / 4, -1 - 3 * e / 4,
                       1e-9f, -1e-9f, 70000, 2049};
  static const uint16_t wanted[8][8] = {
    {0x3c00, 0x3c00, 0x3c01, 0x3c00, 0xbc00, 0x3c00, 0x3c00, 0x3c00},
    {0x3c01, 0x3c00, 0x3c01, 0x3c00, 0xbc00, 0x3c00, 0x3c01, 0x3c00},
    {0xbc00, 0xbc00, 0xbc00, 0xbc01, 0x3c00, 0xbc00, 0xbc00, 0xbc01},
    {0xbc01, 0xbc00, 0xbc00, 0xbc01, 0x3c00, 0xbc00, 0xbc01, 0xbc01},
    {0x0000, 0x0000, 0x0001, 0x0000, 0x8000, 0x0000, 0x0000, 0x0000},
    {0x8000, 0x8000, 0x8000, 0x8001, 0x0000, 0x0000, 0x8000, 0x8001},
    {0x7c00, 0x7bff, 0x7c00, 0x7bff, 0xfbff, 0x7c00, 0x7c00, 0x7bff},
    {0x6800, 0x6800, 0x6801, 0x6800, 0xe800, 0x6801, 0x6800, 0x6800}};
  float *x = shared_new(s, sizeof in);
  uint16_t *out = shared_new(s, 64 * sizeof *out);
  memcpy(x, in, sizeof in);
  ze_module_handle_t module = module_load(s, KERNELS "half.spv");
  launch(module, "narrow", 1, 1, out, sizeof x, &x);
  for (int i = 0; i < 64; i++)
    check_(__FILE__, __LINE__, out[i] == wanted[i / 8][i % 8],
           "%a is converted to half, way %d: 0x%x, wanted 0x%x",
           (double)in[i / 8], i % 8, out[i], wanted[i / 8][i % 8]);
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, x));
  MUST(zeMemFree(s.context, out));
}

/* Returns true if generic pointers are supported.  If not, the driver must
   report it, because kernels would crash. */
static bool has_generics(void)
{
  size_t size;
  char log[65536];
  void *bytes = file_read(KERNELS "generic.spv", &size);
  ze_module_handle_t module;
  ze_result_t result =
      module_try(s, bytes, size, &module, log, sizeof log);
  free(bytes);
  if (result == ZE_RESULT_SUCCESS)
    MUST(zeModuleDestroy(module));
  else
    CHECK(strstr(log, "(GenericPointer)") != NULL);
  return result == ZE_RESULT_SUCCESS;
}

static void test_generic(void)
{
  int *out = shared_new(s, 2 * sizeof *out);
  ze_module_handle_t module = module_load(s, KERNELS "generic.spv");
  for (int in_local = 0; in_local < 2; in_local++) {
    out[0] = out[1] = 0;
    launch(module, "count", 1, 64, out, sizeof in_local, &in_local);
    EQUAL(out[0], 64 | 1 << 20);
    EQUAL(out[1], 64 | 1 << 20);
  }
  float *traded = shared_new(s, 3 * sizeof *traded);
  for (int in_local = 0; in_local < 2; in_local++) {
    launch(module, "trade", 1, 1, traded, sizeof in_local, &in_local);
    CHECK(traded[1] == 2.5f);
    CHECK(traded[2] == 4.5f);
    CHECK(in_local || traded[0] == 4.5f);
    memset(traded, 0, 3 * sizeof *traded);
  }
  MUST(zeMemFree(s.context, traded));
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, out));
}

/* The operations in kernels/atomics.spvasm that the device reports. */
static void test_floats(void)
{
  static const struct {
    const char *global, *local;
    size_t bytes;
  } types[] = {{"half_global", "half_local", 2},
               {"float_global", "float_local", 4},
               {"double_global", "double_local", 8}};
  ze_float_atomic_ext_properties_t atomics = {
    .stype = ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES};
  ze_device_module_properties_t properties = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES, .pNext = &atomics};
  MUST(zeDeviceGetModuleProperties(s.device, &properties));
  const uint32_t all = 7 | 7 << 16;
  EQUAL(atomics.fp16Flags, all);
  EQUAL(atomics.fp32Flags, all);
  const ze_device_module_flags_t wide =
      ZE_DEVICE_MODULE_FLAG_FP64 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
  EQUAL(atomics.fp64Flags, (properties.flags & wide) == wide ? all : 0);
  ze_module_handle_t module = module_load(s, KERNELS "atomics.spv");
  char *x = shared_new(s, 8 * 8);
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    const size_t bytes = types[t].bytes;
    for (int in_local = 0; in_local < 2; in_local++) {
      const char *name = in_local ? types[t].local : types[t].global;
      const int items = in_local ? 64 : 1024;
      /* A number replaces NaN; the last work-item leaves its number in x[3]. */
      const double first[8] = {0, 100, NAN, -1, 7, 0, 42, 43};
      for (int i = 0; i < 8; i++) put(x, bytes, i, first[i]);
      launch(module, name, (uint32_t)items / 64, 64, x, 0, NULL);
      const double wanted[8] = {items, 0, items - 1, 0, 7, 7, 42, 43};
      for (int i = 0; i < 8; i++) {
        double got = get(x, bytes, i);
        bool right = i == 3 ? got >= 0 && got < items : got == wanted[i];
        check_(__FILE__, __LINE__, right, "%s: x[%d] is %g", name, i, got);
      }
    }
  }
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, x));
}

int main(void)
{
  s = setup_new();
  list = immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  test_halves();
  test_conversions();
  test_rounding();
  if (has_generics()) test_generic();
  test_floats();
  MUST(zeCommandListDestroy(list));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
