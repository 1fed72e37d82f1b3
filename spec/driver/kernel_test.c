/*
 * kernel_test.c - arguments, group sizes, offsets and properties of kernels.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <unistd.h>

static setup s;
static ze_command_list_handle_t list;

static void launch(ze_kernel_handle_t kernel, uint32_t x, uint32_t y,
                   uint32_t z)
{
  ze_group_count_t groups = {x, y, z};
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &groups, NULL, 0, NULL));
}

static void test_where(ze_module_handle_t module)
{
  ze_kernel_handle_t k = kernel_new(module, "where");
  uint32_t *out = shared_new(s, 12 * 10 * 4 * 8 * sizeof *out);
  uint32_t width = 12, height = 10;
  MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(k, 1, sizeof width, &width));
  MUST(zeKernelSetArgumentValue(k, 2, sizeof height, &height));
  static const uint32_t offsets[][3] = {{0, 0, 0},       {100, 200, 300},
                                        {0, 0, 4000000}, {0, 7, 0},
                                        {4294967200u, 0, 0}};
  for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++) {
    const uint32_t *off = offsets[o];
    memset(out, 0xff, 12 * 10 * 4 * 8 * sizeof *out);
    MUST(zeKernelSetGroupSize(k, 4, 5, 2));
    MUST(zeKernelSetGlobalOffsetExp(k, off[0], off[1], off[2]));
    launch(k, 3, 2, 2);
    int wrong = 0;
    for (uint32_t z = 0; z < 4; z++)
      for (uint32_t y = 0; y < 10; y++)
        for (uint32_t x = 0; x < 12; x++) {
          const uint32_t *row = out + ((z * 10 + y) * 12 + x) * 8;
          const uint32_t want[8] = {x + off[0], y + off[1], z + off[2], 4, 5, 2,
                                    x / 4,      12};
          wrong += memcmp(row, want, sizeof want) != 0;
        }
    check_(__FILE__, __LINE__, wrong == 0, "offset %u %u %u: %d wrong", off[0],
           off[1], off[2], wrong);
  }
  /* One dimension after three, and an offset in a dimension with one item. */
  MUST(zeKernelSetGroupSize(k, 12, 1, 1));
  MUST(zeKernelSetGlobalOffsetExp(k, 0, 0, 0));
  launch(k, 1, 1, 1);
  EQUAL(out[11 * 8], 11);
  EQUAL(out[11 * 8 + 3], 12);
  /* An empty range runs nothing. */
  memset(out, 0, 64);
  launch(k, 0, 1, 1);
  launch(k, 1, 0, 1);
  EQUAL(out[3], 0);
  MUST(zeMemFree(s.context, out));
  MUST(zeKernelDestroy(k));
}

static void test_values(ze_module_handle_t module)
{
  ze_kernel_handle_t k = kernel_new(module, "values");
  double *out = shared_new(s, 8 * sizeof *out);
  struct mixed {
    int32_t i;
    double d;
    int8_t c;
  } m = {5, 0.5, 7};
  int8_t c = -3;
  int16_t h = -300;
  int64_t l = -5000000000;
  float f = 0.25f;
  double d = -0.125;
  float v[4] = {1, 2, 3, 4};
  int32_t w[4] = {5, 6, 7, 99};
  const size_t sizes[] = {sizeof out, sizeof c, sizeof h, sizeof l, sizeof f,
                          sizeof d, sizeof v, sizeof w, sizeof m};
  MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(k, 1, sizeof c, &c));
  MUST(zeKernelSetArgumentValue(k, 2, sizeof h, &h));
  MUST(zeKernelSetArgumentValue(k, 3, sizeof l, &l));
  MUST(zeKernelSetArgumentValue(k, 4, sizeof f, &f));
  MUST(zeKernelSetArgumentValue(k, 5, sizeof d, &d));
  MUST(zeKernelSetArgumentValue(k, 6, sizeof v, v));
  MUST(zeKernelSetArgumentValue(k, 7, sizeof w, w));
  ze_group_count_t one = {1, 1, 1};
  RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
          zeCommandListAppendLaunchKernel(list, k, &one, NULL, 0, NULL));
  MUST(zeKernelSetArgumentValue(k, 8, sizeof m, &m));
  launch(k, 1, 1, 1);
  CHECK(out[0] == -3);
  CHECK(out[1] == -300);
  CHECK(out[2] == -5000000000.0);
  CHECK(out[3] == 0.25);
  CHECK(out[4] == -0.125);
  CHECK(out[5] == 4321);
  CHECK(out[6] == 765);
  CHECK(out[7] == 12.5);

  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
          zeKernelSetArgumentValue(k, 9, sizeof d, &d));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
          zeKernelSetArgumentValue(k, UINT32_MAX, sizeof d, &d));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 4, sizeof d, &d));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 0, 4, &out));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 1, 0, &c));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 4, 2, &d));
  int64_t wide = 300;
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 1, sizeof wide, &wide));
  wide = 0x0101010101010105; /* all the upper bytes are alike */
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 1, sizeof wide, &wide));
  wide = -156;
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 1, sizeof wide, &wide));
  /* A refused value changes nothing. */
  memset(out, 0, 8 * sizeof *out);
  launch(k, 1, 1, 1);
  CHECK(out[0] == -3 && out[3] == 0.25 && out[7] == 12.5);

  /* A null value means 0. */
  for (uint32_t i = 1; i <= 8; i++)
    MUST(zeKernelSetArgumentValue(k, i, sizes[i], NULL));
  launch(k, 1, 1, 1);
  for (int i = 0; i < 8; i++) CHECK(out[i] == 0);

  /* The lower bytes of an integer suffice; other types need all bytes. */
  uint32_t n = 4000000000;
  MUST(zeKernelSetArgumentValue(k, 3, sizeof l, &l));
  MUST(zeKernelSetArgumentValue(k, 3, sizeof n, &n));
  MUST(zeKernelSetArgumentValue(k, 2, 1, &n));
  launch(k, 1, 1, 1);
  CHECK(out[1] == 0);
  CHECK(out[2] == 4000000000.0);
  /* Extra bytes are accepted if they do not change the value. */
  wide = -7;
  MUST(zeKernelSetArgumentValue(k, 1, sizeof wide, &wide));
  wide = 77;
  MUST(zeKernelSetArgumentValue(k, 2, sizeof wide, &wide));
  launch(k, 1, 1, 1);
  CHECK(out[0] == -7 && out[1] == 77);
  wide = INT64_C(0xff00);
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 1, sizeof wide, &wide));
  wide = -0xff00;
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 1, sizeof wide, &wide));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 3, 16, w));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 3, 0, &n));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 5, sizeof f, &f));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 7, 4, w));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 8, 4, &m));
  MUST(zeMemFree(s.context, out));
  MUST(zeKernelDestroy(k));
}

static void test_local(ze_module_handle_t module)
{
  enum { N = 1024 };
  ze_kernel_handle_t k = kernel_new(module, "local_sum");
  uint32_t *in = shared_new(s, N * sizeof *in), *out = shared_new(s, N);
  for (uint32_t i = 0; i < N; i++) in[i] = i;
  MUST(zeKernelSetArgumentValue(k, 0, sizeof in, &in));
  MUST(zeKernelSetArgumentValue(k, 1, sizeof out, &out));
  for (uint32_t g = 16; g <= 256; g *= 4) {
    MUST(zeKernelSetGroupSize(k, g, 1, 1));
    MUST(zeKernelSetArgumentValue(k, 2, g * sizeof *in, NULL));
    launch(k, N / g, 1, 1);
    int wrong = 0;
    for (uint32_t i = 0; i < N / g; i++)
      wrong += out[i] != g * (i * g) + g * (g - 1) / 2;
    EQUAL(wrong, 0);
  }
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 2, 0, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 2, (size_t)1 << 40, NULL));
  /* A size beyond the device's limit is reported at the launch. */
  ze_device_compute_properties_t compute = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
  MUST(zeDeviceGetComputeProperties(s.device, &compute));
  ze_command_list_handle_t l = list_new(s);
  ze_group_count_t one = {1, 1, 1};
  MUST(zeKernelSetArgumentValue(k, 2, compute.maxSharedLocalMemory + 1,
                                NULL));
  RETURNS(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY,
          zeCommandListAppendLaunchKernel(l, k, &one, NULL, 0, NULL));
  MUST(zeKernelSetArgumentValue(k, 2, compute.maxSharedLocalMemory, NULL));
  MUST(zeCommandListAppendLaunchKernel(l, k, &one, NULL, 0, NULL));
  MUST(zeCommandListDestroy(l));
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
          zeKernelSetArgumentValue(k, 2, sizeof in, &in));
  MUST(zeMemFree(s.context, in));
  MUST(zeMemFree(s.context, out));
  MUST(zeKernelDestroy(k));
}

static void test_pointers(ze_module_handle_t module)
{
  ze_kernel_handle_t k = kernel_new(module, "is_null");
  uint32_t *out = shared_new(s, 4096), *none = NULL;
  MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(k, 1, sizeof out, NULL));
  launch(k, 1, 1, 1);
  EQUAL(*out, 1);
  MUST(zeKernelSetArgumentValue(k, 1, sizeof out, &out));
  launch(k, 1, 1, 1);
  EQUAL(*out, 0);
  MUST(zeKernelSetArgumentValue(k, 1, sizeof out, &none));
  launch(k, 1, 1, 1);
  EQUAL(*out, 1);
  /* Pointers into the middle of an allocation, and to host memory. */
  uint32_t *middle = out + 500, on_stack = 7;
  MUST(zeKernelSetArgumentValue(k, 1, sizeof out, &out));
  MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &middle));
  *middle = 9;
  launch(k, 1, 1, 1);
  EQUAL(*middle, 0);
  uint32_t *stack = &on_stack;
  MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &stack));
  if (takes_host_pointers(s)) {
    launch(k, 1, 1, 1);
    EQUAL(on_stack, 0);
  } else
    RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT,
            zeCommandListAppendLaunchKernel(
                list, k, &(ze_group_count_t){1, 1, 1}, NULL, 0, NULL));
  MUST(zeMemFree(s.context, out));
  MUST(zeKernelDestroy(k));
}

static void test_required(ze_module_handle_t module)
{
  ze_kernel_handle_t k = kernel_new(module, "required");
  ze_kernel_properties_t p = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
  uint32_t *out = shared_new(s, 4096), x, y, z;
  MUST(zeKernelGetProperties(k, &p));
  EQUAL(p.numKernelArgs, 1);
  EQUAL(p.requiredGroupSizeX, 4);
  EQUAL(p.requiredGroupSizeY, 2);
  EQUAL(p.requiredGroupSizeZ, 1);
  CHECK(p.maxSubgroupSize >= 1 && p.maxNumSubgroups >= 1);
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
          zeKernelSetGroupSize(k, 8, 1, 1));
  RETURNS(ZE_RESULT_SUCCESS, zeKernelSetGroupSize(k, 4, 2, 1));
  MUST(zeKernelSuggestGroupSize(k, 400, 20, 1, &x, &y, &z));
  CHECK(x == 4 && y == 2 && z == 1);
  MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &out));
  launch(k, 2, 2, 1);
  int wrong = 0;
  for (int i = 0; i < 8 * 4; i++) wrong += out[i] != 42;
  EQUAL(wrong, 0);
  MUST(zeMemFree(s.context, out));
  MUST(zeKernelDestroy(k));
}

static void test_names(ze_module_handle_t module)
{
  uint32_t count = 0;
  MUST(zeModuleGetKernelNames(module, &count, NULL));
  EQUAL(count, 13);
  const char *names[20] = {NULL};
  count = 20;
  MUST(zeModuleGetKernelNames(module, &count, names));
  EQUAL(count, 13);
  int found = 0;
  for (uint32_t i = 0; i < count; i++) found += strcmp(names[i], "spin") == 0;
  EQUAL(found, 1);
  ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                           .pKernelName = "nothing"};
  ze_kernel_handle_t k;
  RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
          zeKernelCreate(module, &desc, &k));
  k = kernel_new(module, "where");
  char name[64] = "";
  size_t size = 0;
  MUST(zeKernelGetName(k, &size, NULL));
  EQUAL(size, 6);
  MUST(zeKernelGetName(k, &size, name));
  CHECK(strcmp(name, "where") == 0);
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
          zeKernelSetGroupSize(k, 0, 1, 1));
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
          zeKernelSetGroupSize(k, 1, 0, 1));
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
          zeKernelSetGroupSize(k, 1, 1, 0));
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
          zeKernelSetGroupSize(k, 1u << 20, 1, 1));
  RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION,
          zeKernelSetGroupSize(k, 65536, 65536, 65536));
  ze_kernel_indirect_access_flags_t flags = 0;
  MUST(zeKernelSetIndirectAccess(
      k, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST |
             ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED));
  MUST(zeKernelGetIndirectAccess(k, &flags));
  EQUAL(flags, 5);
  MUST(zeKernelDestroy(k));
}

/* Checks the attributes in the source, as text. */
static void attributes(ze_module_handle_t module, const char *name,
                       const char *wanted)
{
  ze_kernel_handle_t k = kernel_new(module, name);
  char text[256] = "?", *to = text;
  uint32_t size = 0;
  MUST(zeKernelGetSourceAttributes(k, &size, NULL));
  EQUAL(size, strlen(wanted) + 1);
  MUST(zeKernelGetSourceAttributes(k, &size, &to));
  check_(__FILE__, __LINE__, strcmp(text, wanted) == 0,
         "attributes of %s: '%s', wanted '%s'", name, text, wanted);
  size = 5;
  memset(text, 'x', sizeof text);
  MUST(zeKernelGetSourceAttributes(k, &size, &to));
  EQUAL(size, strlen(wanted) + 1);
  CHECK(strlen(text) < 5 && text[5] == 'x');
  MUST(zeKernelDestroy(k));
}

static void test_properties(ze_module_handle_t module)
{
  attributes(module, "where", "");
  attributes(module, "required", "reqd_work_group_size(4,2,1)");
  attributes(module, "hinted",
             "work_group_size_hint(8,4,1) vec_type_hint(float4)");
  ze_kernel_handle_t k = kernel_new(module, "kept");
  ze_kernel_properties_t p = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
  MUST(zeKernelGetProperties(k, &p));
  EQUAL(p.localMemSize, 1025);
  EQUAL(p.requiredGroupSizeX, 0);
  EQUAL(p.numKernelArgs, 1);
  EQUAL(p.requiredNumSubGroups, 0);
  EQUAL(p.requiredSubgroupSize, 0);
  ze_device_compute_properties_t c = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES};
  MUST(zeDeviceGetComputeProperties(s.device, &c));
  CHECK((uint64_t)p.maxSubgroupSize * p.maxNumSubgroups >= c.maxTotalGroupSize);
  MUST(zeKernelDestroy(k));
  /* The same kernel has the same UUIDs; another has different ones. */
  ze_kernel_properties_t q = p, r = p;
  ze_module_handle_t again = module_load(s, "spec/driver/kernels/probe.spv");
  k = kernel_new(again, "kept");
  MUST(zeKernelGetProperties(k, &q));
  MUST(zeKernelDestroy(k));
  k = kernel_new(again, "where");
  MUST(zeKernelGetProperties(k, &r));
  MUST(zeKernelDestroy(k));
  CHECK(memcmp(&p.uuid, &q.uuid, sizeof p.uuid) == 0);
  CHECK(memcmp(p.uuid.mid, r.uuid.mid, sizeof p.uuid.mid) == 0);
  CHECK(memcmp(p.uuid.kid, r.uuid.kid, sizeof p.uuid.kid) != 0);
  MUST(zeModuleDestroy(again));
}

/* The output of kernels is complete when the wait for them is over. */
static void test_printf(ze_module_handle_t module)
{
  ze_kernel_handle_t k = kernel_new(module, "print");
  FILE *file = tmpfile();
  fflush(stdout);
  int saved = dup(1);
  bool redirected =
      file != NULL && saved >= 0 && dup2(fileno(file), 1) == 1;
  int n = 4711;
  ze_group_count_t two = {2, 1, 1};
  ze_command_list_handle_t recorded = list_new(s);
  ze_command_queue_handle_t queue = queue_new(s);
  ze_result_t set = zeKernelSetArgumentValue(k, 0, sizeof n, &n);
  ze_result_t append = zeCommandListAppendLaunchKernel(recorded, k, &two, NULL,
                                                       0, NULL);
  ze_result_t close_ = zeCommandListClose(recorded);
  ze_result_t run =
      zeCommandQueueExecuteCommandLists(queue, 1, &recorded, NULL);
  ze_result_t wait = zeCommandQueueSynchronize(queue, UINT64_MAX);
  char text[256] = "";
  ssize_t got = pread(fileno(file), text, sizeof text - 1, 0);
  dup2(saved, 1);
  close(saved);
  CHECK(redirected);
  EQUAL(set, 0);
  EQUAL(append, 0);
  EQUAL(close_, 0);
  EQUAL(run, 0);
  EQUAL(wait, 0);
  check_(__FILE__, __LINE__,
         got == 22 && strcmp(text, "probe 4711\nprobe 4711\n") == 0,
         "printed %zd bytes: %s", got, text);
  fclose(file);
  MUST(zeCommandListDestroy(recorded));
  MUST(zeCommandQueueDestroy(queue));
  MUST(zeKernelDestroy(k));
}

/* Built-ins used in a kernel's functions, which the compiler that made them did
   not inline. */
static void test_called(ze_module_handle_t module)
{
  ze_kernel_handle_t k = kernel_new(module, "called");
  uint32_t *out = shared_new(s, 64);
  MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &out));
  MUST(zeKernelSetGroupSize(k, 4, 1, 1));
  launch(k, 3, 1, 1);
  EQUAL(out[0], 4000);
  EQUAL(out[11], 4203);
  MUST(zeMemFree(s.context, out));
  MUST(zeKernelDestroy(k));
}

/* Many kernels of one module, destroyed before their work is done. */
static void test_lifetime(ze_module_handle_t module)
{
  ze_command_list_handle_t asynchronous =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  uint32_t *out = shared_new(s, 64 * sizeof *out);
  memset(out, 0, 64 * sizeof *out);
  ze_group_count_t one = {1, 1, 1};
  for (int i = 0; i < 100; i++) {
    ze_kernel_handle_t k = kernel_new(module, "count");
    MUST(zeKernelSetGroupSize(k, 64, 1, 1));
    MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &out));
    MUST(zeCommandListAppendLaunchKernel(asynchronous, k, &one, NULL, 0, NULL));
    MUST(zeKernelDestroy(k));
  }
  ze_event_pool_handle_t pool = pool_new(s, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, 1);
  ze_event_handle_t event = event_new(pool, 0);
  MUST(zeCommandListAppendSignalEvent(asynchronous, event));
  MUST(zeEventHostSynchronize(event, UINT64_MAX));
  EQUAL(out[0], 100);
  EQUAL(out[63], 100);
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeCommandListDestroy(asynchronous));
  MUST(zeMemFree(s.context, out));
}

int main(void)
{
  s = setup_new();
  list = immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ze_module_handle_t module = module_load(s, "spec/driver/kernels/probe.spv");
  test_names(module);
  test_where(module);
  test_values(module);
  test_local(module);
  test_pointers(module);
  test_required(module);
  test_called(module);
  test_properties(module);
  test_printf(module);
  test_lifetime(module);
  MUST(zeModuleDestroy(module));
  MUST(zeCommandListDestroy(list));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
