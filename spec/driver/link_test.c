/*
 * link_test.c - program-scope variables, and modules that need each other.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#define KERNELS "spec/driver/kernels/"

static setup s;
static ze_command_list_handle_t list;

/* Launches with arguments of one size each: pointers or ints. */
static void run(ze_module_handle_t module, const char *name, uint32_t items,
                uint32_t count, const size_t *sizes, const void *const *values)
{
  ze_kernel_handle_t kernel = kernel_new(module, name);
  ze_group_count_t one = {1, 1, 1};
  for (uint32_t i = 0; i < count; i++)
    MUST(zeKernelSetArgumentValue(kernel, i, sizes[i], values[i]));
  MUST(zeKernelSetGroupSize(kernel, items, 1, 1));
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &one, NULL, 0, NULL));
  MUST(zeKernelDestroy(kernel));
}

static void run_pointer(ze_module_handle_t module, const char *name,
                        void *pointer)
{
  run(module, name, 1, 1, (size_t[]){sizeof pointer},
      (const void *[]){&pointer});
}

static void run_int(ze_module_handle_t module, const char *name, int value)
{
  run(module, name, 1, 1, (size_t[]){sizeof value}, (const void *[]){&value});
}

static const int64_t fresh[19] = {11, 1, 2, 3, 4, 5, 25, 3, -13, -15, 4321,
                                  0x123456789abcdef0, 1, 1, 0, 21, 32, 14, 8};

static void expect(const char *what, const int64_t *got, const int64_t *wanted)
{
  for (int i = 0; i < 19; i++)
    check_(__FILE__, __LINE__, got[i] == wanted[i],
           "%s: %d is %lld, wanted %lld", what, i, (long long)got[i],
           (long long)wanted[i]);
}

/* Returns the native binary of a module, which the caller frees. */
static uint8_t *native_of(ze_module_handle_t module, size_t *size)
{
  *size = 0;
  MUST(zeModuleGetNativeBinary(module, size, NULL));
  uint8_t *native = malloc(*size);
  MUST(zeModuleGetNativeBinary(module, size, native));
  return native;
}

static ze_module_handle_t from_native(const uint8_t *native, size_t size)
{
  ze_module_handle_t module;
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                           .format = ZE_MODULE_FORMAT_NATIVE,
                           .inputSize = size,
                           .pInputModule = native};
  MUST(zeModuleCreate(s.context, s.device, &desc, &module, NULL));
  return module;
}

static void test_globals(void)
{
  int64_t *out = shared_new(s, 20 * sizeof *out), wanted[19];
  ze_module_handle_t module = module_load(s, KERNELS "globals.spv");
  ze_module_handle_t other = module_load(s, KERNELS "globals.spv");
  memcpy(wanted, fresh, sizeof wanted);
  run_pointer(module, "get", out);
  expect("at first", out, wanted);

  /* A kernel reads what another has written; the other module has its own
     variables. */
  run_int(module, "set", 40);
  wanted[0] = 41;
  wanted[14] = 3;
  wanted[15] = 23;
  run_pointer(module, "get", out);
  expect("after set", out, wanted);
  run(module, "count", 64, 0, NULL, NULL);
  wanted[0] += 64;
  run_pointer(module, "get", out);
  expect("after count", out, wanted);
  run_pointer(other, "get", out);
  expect("in another module", out, fresh);

  /* The host also reads and writes them. */
  size_t size = 0;
  int32_t *counter = NULL, *table = NULL;
  RETURNS(ZE_RESULT_SUCCESS,
          zeModuleGetGlobalPointer(module, "counter", &size,
                                   (void **)&counter));
  EQUAL(size, 4);
  EQUAL(*counter, 105);
  *counter = 70;
  wanted[0] = 70;
  RETURNS(ZE_RESULT_SUCCESS,
          zeModuleGetGlobalPointer(module, "table", &size, (void **)&table));
  EQUAL(size, 16);
  int32_t fives[4] = {5, 6, 7, 8};
  MUST(zeCommandListAppendMemoryCopy(list, table, fives, sizeof fives, NULL, 0,
                                     NULL));
  for (int i = 0; i < 4; i++) wanted[1 + i] = 5 + i;
  wanted[7] = 7;
  run_pointer(module, "get", out);
  expect("after the host", out, wanted);
  RETURNS(ZE_RESULT_SUCCESS,
          zeModuleGetGlobalPointer(module, "nothing", &size, NULL));
  EQUAL(size, 4000);
  RETURNS(ZE_RESULT_SUCCESS,
          zeModuleGetGlobalPointer(module, "wide", NULL, (void **)&table));
  EQUAL(*(uint64_t *)(void *)table, 0x123456789abcdef0);
  RETURNS(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME,
          zeModuleGetGlobalPointer(module, "nobody", &size, (void **)&table));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeModuleGetGlobalPointer(module, NULL, &size, (void **)&table));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
          zeModuleGetGlobalPointer(NULL, "wide", &size, (void **)&table));

  /* A native binary starts again with the initial values. */
  uint8_t *native = native_of(module, &size);
  MUST(zeModuleDestroy(module));
  module = from_native(native, size);
  run_pointer(module, "get", out);
  expect("from a native binary", out, fresh);
  MUST(zeModuleDestroy(module));
  MUST(zeModuleDestroy(other));
  free(native);
  MUST(zeMemFree(s.context, out));

  void *function = &size;
  module = module_load(s, "kernels/saxpy.spv");
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          zeModuleGetFunctionPointer(module, "saxpy", &function));
  CHECK(function == NULL);
  RETURNS(ZE_RESULT_ERROR_INVALID_FUNCTION_NAME,
          zeModuleGetFunctionPointer(module, "nobody", &function));
  MUST(zeModuleDestroy(module));
}

static ze_module_property_flags_t flags_of(ze_module_handle_t module)
{
  ze_module_properties_t p = {.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES,
                              .flags = 77};
  MUST(zeModuleGetProperties(module, &p));
  return p.flags;
}

/* Links and checks the log. */
static void link(ze_result_t wanted, uint32_t count,
                 ze_module_handle_t *modules, const char *words)
{
  ze_module_build_log_handle_t log = NULL;
  char text[8192] = "";
  size_t size = sizeof text;
  RETURNS(wanted, zeModuleDynamicLink(count, modules, &log));
  if (!CHECK(log != NULL)) return;
  MUST(zeModuleBuildLogGetString(log, &size, text));
  check_(__FILE__, __LINE__, strstr(text, words) != NULL,
         "'%s' is in the log: %s", words, text);
  MUST(zeModuleBuildLogDestroy(log));
}

static void inspect(uint32_t flags, uint32_t count,
                    ze_module_handle_t *modules, const char *wanted)
{
  ze_linkage_inspection_ext_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_LINKAGE_INSPECTION_EXT_DESC, .flags = flags};
  ze_module_build_log_handle_t log = NULL;
  char text[8192] = "";
  size_t size = sizeof text;
  MUST(zeModuleInspectLinkageExt(&desc, count, modules, &log));
  MUST(zeModuleBuildLogGetString(log, &size, text));
  check_(__FILE__, __LINE__, strcmp(text, wanted) == 0,
         "linkage:\n%swanted:\n%s", text, wanted);
  MUST(zeModuleBuildLogDestroy(log));
}

static void test_linking(void)
{
  ze_module_handle_t importer = module_load(s, KERNELS "importer.spv");
  ze_module_handle_t exporter = module_load(s, KERNELS "exporter.spv");
  ze_module_handle_t helper = module_load(s, KERNELS "helper.spv");
  ze_module_handle_t again = module_load(s, KERNELS "exporter.spv");
  ze_module_handle_t all[4] = {importer, exporter, helper, again};
  ze_kernel_handle_t kernel;
  ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                           .pKernelName = "use"};
  void *pointer;
  EQUAL(flags_of(importer), ZE_MODULE_PROPERTY_FLAG_IMPORTS);
  EQUAL(flags_of(exporter), ZE_MODULE_PROPERTY_FLAG_IMPORTS);
  EQUAL(flags_of(helper), 0);
  RETURNS(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED,
          zeKernelCreate(importer, &desc, &kernel));
  RETURNS(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME,
          zeModuleGetGlobalPointer(importer, "shared_count", NULL, &pointer));
  inspect(ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS, 2, all,
          "unresolvable imports:\n  twice\n");
  inspect(ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS, 1, &helper,
          "exports:\n  twice\n");

  link(ZE_RESULT_ERROR_MODULE_LINK_FAILURE, 1, all, "shared_count");
  link(ZE_RESULT_ERROR_MODULE_LINK_FAILURE, 2, all, "twice");
  RETURNS(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED,
          zeKernelCreate(importer, &desc, &kernel));
  link(ZE_RESULT_SUCCESS, 3, all, "");
  /* Linking again changes nothing. */
  link(ZE_RESULT_SUCCESS, 3, all, "");
  link(ZE_RESULT_SUCCESS, 1, all, "");

  uint32_t count = 0;
  MUST(zeModuleGetKernelNames(importer, &count, NULL));
  EQUAL(count, 1);
  int32_t *out = shared_new(s, 64), *pair = shared_new(s, 64);
  pair[0] = 1000;
  pair[1] = 2000;
  run(importer, "use", 4, 2, (size_t[]){sizeof out, sizeof pair},
      (const void *[]){&out, &pair});
  for (int i = 0; i < 4; i++) EQUAL(out[i], 3 * i + 35 + 3000 + 400000);

  /* Both modules and the host share one variable. */
  run_int(exporter, "bump", 10);
  run(importer, "use", 1, 2, (size_t[]){sizeof out, sizeof pair},
      (const void *[]){&out, &pair});
  EQUAL(out[0], 5 * 17 + 3000 + 100000);
  int32_t *shared = NULL, *same = NULL;
  MUST(zeModuleGetGlobalPointer(importer, "shared_count", NULL,
                                (void **)&shared));
  MUST(zeModuleGetGlobalPointer(exporter, "shared_count", NULL,
                                (void **)&same));
  CHECK(shared == same);
  EQUAL(*shared, 17);
  /* So is the static variable in which combine counts its calls. */
  run_pointer(exporter, "back", out);
  EQUAL(out[0], 1008);
  EQUAL(out[1], 5);

  /* It outlives the module that defined it. */
  MUST(zeModuleDestroy(exporter));
  run(importer, "use", 1, 2, (size_t[]){sizeof out, sizeof pair},
      (const void *[]){&out, &pair});
  EQUAL(out[0], 5 * 17 + 3000 + 100000);
  MUST(zeModuleDestroy(importer));

  /* If two modules export the same name, the link fails. */
  all[0] = module_load(s, KERNELS "importer.spv");
  all[1] = module_load(s, KERNELS "exporter.spv");
  link(ZE_RESULT_ERROR_MODULE_LINK_FAILURE, 4, all, "more than one");
  MUST(zeModuleDestroy(all[0]));
  MUST(zeModuleDestroy(all[1]));

  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeModuleDynamicLink(1, NULL, NULL));
  ze_linkage_inspection_ext_desc_t bad = {
    .stype = ZE_STRUCTURE_TYPE_LINKAGE_INSPECTION_EXT_DESC, .flags = 8};
  ze_module_build_log_handle_t log;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeModuleInspectLinkageExt(&bad, 1, &helper, &log));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeModuleInspectLinkageExt(&bad, 1, &helper, NULL));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeModuleInspectLinkageExt(NULL, 1, &helper, &log));
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeModuleInspectLinkageExt(&bad, 1, NULL, &log));
  MUST(zeModuleDestroy(helper));
  MUST(zeModuleDestroy(again));
  MUST(zeMemFree(s.context, out));
  MUST(zeMemFree(s.context, pair));
}

/* Makes helper.spv, but `twice` multiplies by `factor`. */
static ze_module_handle_t helper_new(uint32_t factor)
{
  size_t size;
  uint32_t *words = file_read(KERNELS "helper.spv", &size);
  for (size_t at = 5; at < size / 4; at += words[at] >> 16)
    if ((words[at] & 0xffff) == 43) words[at + 3] = factor; /* OpConstant */
  ze_module_handle_t module = module_new(s, "helper", words, size);
  free(words);
  return module;
}

/* Returns the result of caller.cl if relay.cl was linked with `helper`
   before. */
static int32_t call_through(ze_module_handle_t helper)
{
  ze_module_handle_t relay = module_load(s, KERNELS "relay.spv");
  ze_module_handle_t caller = module_load(s, KERNELS "caller.spv");
  int32_t *out = shared_new(s, 64);
  link(ZE_RESULT_SUCCESS, 2, (ze_module_handle_t[]){relay, helper}, "");
  link(ZE_RESULT_SUCCESS, 2, (ze_module_handle_t[]){caller, relay}, "");
  run_pointer(caller, "call", out);
  int32_t got = *out;
  MUST(zeModuleDestroy(caller));
  MUST(zeModuleDestroy(relay));
  MUST(zeModuleDestroy(helper));
  MUST(zeMemFree(s.context, out));
  return got;
}

/* Modules share a program if they and all modules they need are the same. */
static void test_chains(void)
{
  EQUAL(call_through(helper_new(2)), 110);
  EQUAL(call_through(helper_new(3)), 115);
  EQUAL(call_through(helper_new(2)), 110);
}

/* A module named twice counts once. */
static void test_twice(void)
{
  ze_module_handle_t relay = module_load(s, KERNELS "relay.spv");
  ze_module_handle_t helper = helper_new(4);
  int32_t *out = shared_new(s, 64);
  ze_module_handle_t caller = module_load(s, KERNELS "caller.spv");
  link(ZE_RESULT_SUCCESS, 6,
       (ze_module_handle_t[]){helper, caller, relay, helper, caller, relay},
       "");
  run_pointer(caller, "call", out);
  EQUAL(*out, 120);
  MUST(zeModuleDestroy(caller));
  MUST(zeModuleDestroy(relay));
  MUST(zeModuleDestroy(helper));
  MUST(zeMemFree(s.context, out));
}

/* An exporter that the validator refuses may work anyway: the log of that
   module warns, not every link. */
static void test_lenient(void)
{
  size_t size;
  uint32_t *words = file_read(KERNELS "helper.spv", &size);
  char text[4096] = "";
  ze_module_handle_t helper, relay = module_load(s, KERNELS "relay.spv");
  for (size_t at = 5; at < size / 4; at += words[at] >> 16)
    if ((words[at] & 0xffff) == 21) words[at + 3] = 1; /* OpTypeInt: signed */
  MUST(module_try(s, words, size, &helper, text, sizeof text));
  CHECK(strstr(text, "warning: not a valid SPIR-V module") != NULL);
  free(words);
  link(ZE_RESULT_SUCCESS, 2, (ze_module_handle_t[]){relay, helper}, "");
  MUST(zeModuleDestroy(relay));
  MUST(zeModuleDestroy(helper));
}

/* A value that the host writes to a variable before the link is preserved.  A
   variable whose initial value is not known yet is unavailable. */
static void test_filled(void)
{
  ze_module_handle_t exporter = module_load(s, KERNELS "exporter.spv");
  ze_module_handle_t importer = module_load(s, KERNELS "importer.spv");
  ze_module_handle_t helper = module_load(s, KERNELS "helper.spv");
  ze_module_handle_t address = module_load(s, KERNELS "address.spv");
  int32_t *shared = NULL, *own = NULL, **where = NULL;
  MUST(zeModuleGetGlobalPointer(exporter, "shared_count", NULL,
                                (void **)&shared));
  EQUAL(*shared, 7);
  *shared = 70;
  MUST(zeModuleGetGlobalPointer(address, "own", NULL, (void **)&own));
  EQUAL(*own, 5);
  *own = 50;
  RETURNS(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME,
          zeModuleGetGlobalPointer(address, "where", NULL, (void **)&where));
  link(ZE_RESULT_SUCCESS, 4,
       (ze_module_handle_t[]){importer, exporter, helper, address}, "");
  EQUAL(*shared, 70);
  EQUAL(*own, 50);
  MUST(zeModuleGetGlobalPointer(address, "where", NULL, (void **)&where));
  CHECK(*where == shared);
  int32_t *out = shared_new(s, 64);
  run_pointer(address, "add", out);
  EQUAL(*out, 120);
  MUST(zeMemFree(s.context, out));
  MUST(zeModuleDestroy(address));
  MUST(zeModuleDestroy(importer));
  MUST(zeModuleDestroy(exporter));
  MUST(zeModuleDestroy(helper));
}

/* Makes a module of several inputs, or checks the error.  The last input gets a
   later version of SPIR-V unless `version` is 0. */
static ze_result_t join(uint32_t count, const char *const *paths,
                        uint32_t version, ze_module_handle_t *module,
                        const char *words)
{
  size_t sizes[3];
  const uint8_t *inputs[3];
  const char *flags[3] = {"-cl-mad-enable", NULL, "-cl-mad-enable"};
  for (uint32_t i = 0; i < count; i++)
    inputs[i] = file_read(paths[i], &sizes[i]);
  if (version != 0)
    memcpy((uint8_t *)(uintptr_t)inputs[count - 1] + 4, &version,
           sizeof version);
  ze_module_program_exp_desc_t program = {
    .stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC,
    .count = count,
    .inputSizes = sizes,
    .pInputModules = inputs,
    .pBuildFlags = flags};
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                           .pNext = &program,
                           .format = ZE_MODULE_FORMAT_IL_SPIRV};
  ze_module_build_log_handle_t log = NULL;
  char text[8192] = "";
  size_t size = sizeof text;
  ze_result_t result = zeModuleCreate(s.context, s.device, &desc, module, &log);
  if (CHECK(log != NULL)) {
    MUST(zeModuleBuildLogGetString(log, &size, text));
    check_(__FILE__, __LINE__, strstr(text, words) != NULL,
           "'%s' is in the log: %s", words, text);
    MUST(zeModuleBuildLogDestroy(log));
  }
  for (uint32_t i = 0; i < count; i++) free((void *)(uintptr_t)inputs[i]);
  return result;
}

static void test_program(void)
{
  static const char *const paths[3] = {KERNELS "importer.spv",
                                       KERNELS "exporter.spv",
                                       KERNELS "helper.spv"};
  static const char *const twice[3] = {KERNELS "importer.spv",
                                       KERNELS "helper.spv",
                                       KERNELS "helper.spv"};
  ze_module_handle_t module = NULL;
  RETURNS(ZE_RESULT_SUCCESS, join(3, paths, 0, &module, ""));
  EQUAL(flags_of(module), 0);
  uint32_t count = 0;
  MUST(zeModuleGetKernelNames(module, &count, NULL));
  EQUAL(count, 3);
  int32_t *out = shared_new(s, 64), *pair = shared_new(s, 64), *shared = NULL;
  pair[0] = 1000;
  pair[1] = 2000;
  run_int(module, "bump", 10);
  run(module, "use", 4, 2, (size_t[]){sizeof out, sizeof pair},
      (const void *[]){&out, &pair});
  for (int i = 0; i < 4; i++) EQUAL(out[i], 3 * i + 85 + 3000 + 400000);
  run_pointer(module, "back", out);
  EQUAL(out[0], 1008);
  EQUAL(out[1], 4);
  MUST(zeModuleGetGlobalPointer(module, "shared_count", NULL,
                                (void **)&shared));
  EQUAL(*shared, 17);

  /* Its native binary behaves the same. */
  size_t size = 0;
  uint8_t *native = native_of(module, &size);
  CHECK(memmem(native, size, "-cl-mad-enable", 14) != NULL);
  MUST(zeModuleDestroy(module));
  module = from_native(native, size);
  run(module, "use", 1, 2, (size_t[]){sizeof out, sizeof pair},
      (const void *[]){&out, &pair});
  EQUAL(out[0], 35 + 3000 + 100000);
  MUST(zeModuleDestroy(module));
  free(native);

  /* Open imports are linked later, as with any module. */
  RETURNS(ZE_RESULT_SUCCESS, join(2, paths, 0, &module, ""));
  EQUAL(flags_of(module), ZE_MODULE_PROPERTY_FLAG_IMPORTS);
  ze_module_handle_t both[2] = {module, module_load(s, KERNELS "helper.spv")};
  link(ZE_RESULT_SUCCESS, 2, both, "");
  run_pointer(module, "back", out);
  EQUAL(out[0], 1008);
  MUST(zeModuleDestroy(module));
  MUST(zeModuleDestroy(both[1]));

  /* An initial value may be the address of a variable in a later input. */
  static const char *const address[2] = {KERNELS "address.spv",
                                         KERNELS "exporter.spv"};
  RETURNS(ZE_RESULT_SUCCESS, join(2, address, 0, &module, ""));
  ze_module_handle_t all[3] = {module, module_load(s, KERNELS "importer.spv"),
                               module_load(s, KERNELS "helper.spv")};
  link(ZE_RESULT_SUCCESS, 3, all, "");
  run_pointer(module, "add", out);
  EQUAL(out[0], 12);
  for (int i = 0; i < 3; i++) MUST(zeModuleDestroy(all[i]));

  /* A later version requires more declarations in the other inputs' kernels. */
  RETURNS(ZE_RESULT_SUCCESS, join(3, paths, 0x10400, &module, ""));
  run_pointer(module, "back", out);
  EQUAL(out[0], 1008);
  MUST(zeModuleDestroy(module));

  RETURNS(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
          join(3, twice, 0, &module, "more than one"));
  CHECK(module == NULL);
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE, join(0, paths, 0, &module, ""));
  MUST(zeMemFree(s.context, out));
  MUST(zeMemFree(s.context, pair));
}

int main(void)
{
  s = setup_new();
  list = immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  test_globals();
  test_linking();
  test_chains();
  test_twice();
  test_lenient();
  test_filled();
  test_program();
  MUST(zeCommandListDestroy(list));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
