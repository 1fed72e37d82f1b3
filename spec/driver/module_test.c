/*
 * module_test.c - valid and invalid modules, logs, constants, native binaries.
 * SPDX-License-Identifier: MIT
 */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

static setup s;

/* Creates a module, with the log as text. */
static ze_result_t create(ze_module_format_t format, const void *bytes,
                          size_t size, const char *flags,
                          const ze_module_constants_t *constants,
                          ze_module_handle_t *module, char *text, size_t cap)
{
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                           .format = format,
                           .inputSize = size,
                           .pInputModule = bytes,
                           .pBuildFlags = flags,
                           .pConstants = constants};
  ze_module_build_log_handle_t log = NULL;
  *module = (ze_module_handle_t)1;
  ze_result_t result =
      zeModuleCreate(s.context, s.device, &desc, module, &log);
  *text = '\0';
  if (log != NULL) {
    size_t n = 0;
    MUST(zeModuleBuildLogGetString(log, &n, NULL));
    CHECK(n >= 1);
    n = cap;
    MUST(zeModuleBuildLogGetString(log, &n, text));
    EQUAL(text[n - 1], '\0');
    MUST(zeModuleBuildLogDestroy(log));
  }
  return result;
}

/* Checks that the call is refused, with no module and a log that is not
   empty. */
static void refused(ze_result_t wanted, ze_module_format_t format,
                    const void *bytes, size_t size, const char *what)
{
  ze_module_handle_t module;
  char text[8192];
  ze_result_t got =
      create(format, bytes, size, NULL, NULL, &module, text, sizeof text);
  check_(__FILE__, __LINE__,
         got == wanted && module == NULL && strlen(text) > 10,
         "%s: 0x%x, module %p, log: %.*s", what, (unsigned)got,
         (void *)module, (int)strcspn(text, "\n"), text);
}

static uint64_t run_constants(ze_module_handle_t module, uint64_t *out)
{
  ze_kernel_handle_t k = kernel_new(module, "constants");
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  ze_group_count_t one = {1, 1, 1};
  out[0] = out[1] = 0;
  MUST(zeKernelSetArgumentValue(k, 0, sizeof out, &out));
  MUST(zeCommandListAppendLaunchKernel(list, k, &one, NULL, 0, NULL));
  MUST(zeCommandListDestroy(list));
  MUST(zeKernelDestroy(k));
  return out[0];
}

static void test_constants(void)
{
  size_t size, n = 0;
  void *bytes = file_read("spec/driver/kernels/constants.spv", &size);
  uint64_t *out = shared_new(s, 2 * sizeof *out);
  ze_module_handle_t module, again;
  char text[4096];
  RETURNS(ZE_RESULT_SUCCESS, create(ZE_MODULE_FORMAT_IL_SPIRV, bytes, size,
                                    NULL, NULL, &module, text, sizeof text));
  EQUAL(run_constants(module, out), 11);
  EQUAL(out[1], 22);
  MUST(zeModuleDestroy(module));

  uint32_t number = 4000000000u;
  uint64_t wide = 0x123456789abcdef0u;
  uint32_t ids[2] = {8, 7};
  const void *values[2] = {&wide, &number};
  ze_module_constants_t constants = {2, ids, values};
  RETURNS(ZE_RESULT_SUCCESS,
          create(ZE_MODULE_FORMAT_IL_SPIRV, bytes, size, "-ze-opt-level=1",
                 &constants, &module, text, sizeof text));
  EQUAL(run_constants(module, out), number);
  EQUAL(out[1], wide);

  /* The native binary contains them. */
  MUST(zeModuleGetNativeBinary(module, &n, NULL));
  uint8_t *native = malloc(n);
  MUST(zeModuleGetNativeBinary(module, &n, native));
  MUST(zeModuleDestroy(module));
  RETURNS(ZE_RESULT_SUCCESS, create(ZE_MODULE_FORMAT_NATIVE, native, n, NULL,
                                    NULL, &again, text, sizeof text));
  EQUAL(run_constants(again, out), number);
  EQUAL(out[1], wide);
  MUST(zeModuleDestroy(again));

  /* If it is damaged in any place, or truncated, it is refused. */
  int accepted = 0;
  for (size_t i = 0; i < n; i++) {
    native[i] ^= 0x10;
    ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                             .format = ZE_MODULE_FORMAT_NATIVE,
                             .inputSize = n,
                             .pInputModule = native};
    accepted += zeModuleCreate(s.context, s.device, &desc, &again, NULL) !=
                ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    native[i] ^= 0x10;
  }
  EQUAL(accepted, 0);
  for (size_t cut = 1; cut < n; cut += 13) {
    ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                             .format = ZE_MODULE_FORMAT_NATIVE,
                             .inputSize = cut,
                             .pInputModule = native};
    accepted += zeModuleCreate(s.context, s.device, &desc, &again, NULL) !=
                ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  EQUAL(accepted, 0);
  refused(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY, ZE_MODULE_FORMAT_NATIVE,
          bytes, size, "SPIR-V as a native binary");
  free(native);
  free(bytes);
  MUST(zeMemFree(s.context, out));
}

/* Several modules with the same code behave as if each were alone. */
static void test_same(void)
{
  enum { COUNT = 24, NUMBERS = 6 };
  size_t size;
  void *bytes = file_read("spec/driver/kernels/constants.spv", &size);
  uint64_t *out = shared_new(s, 2 * sizeof *out);
  ze_module_handle_t modules[COUNT];
  char text[4096];
  uint32_t id = 7;
  for (int i = 0; i < COUNT; i++) {
    const uint32_t number = 11 + (uint32_t)(i % NUMBERS);
    const void *value = &number;
    ze_module_constants_t constants = {1, &id, &value};
    RETURNS(ZE_RESULT_SUCCESS,
            create(ZE_MODULE_FORMAT_IL_SPIRV, bytes, size,
                   i < COUNT / 2 ? NULL : "-ze-opt-disable",
                   i % NUMBERS > 0 ? &constants : NULL, /* 11 is the default */
                   &modules[i], text, sizeof text));
  }
  for (int i = 0; i < COUNT; i++) {
    int last = i * 5 % COUNT; /* all of them, in another order */
    EQUAL(run_constants(modules[last], out), 11 + last % NUMBERS);
    EQUAL(out[1], 22);
    MUST(zeModuleDestroy(modules[last]));
  }
  free(bytes);
  MUST(zeMemFree(s.context, out));
}

/* A string that is not a flag of any compiler is an error that names it. */
static void test_unknown_flags(void)
{
  size_t size;
  void *bytes = file_read("kernels/saxpy.spv", &size);
  static const char *const flags[][2] = {
    {"-nonsense", "unknown build flag '-nonsense'"},
    {"-ze-opt-disable  --other -cl-mad-enable", "flag '--other'"},
    {"word", "unknown build flag 'word'"},
    {"-DN=1", "unknown build flag '-DN=1'"},
  };
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    ze_module_handle_t module;
    char text[4096] = "";
    RETURNS(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
            create(ZE_MODULE_FORMAT_IL_SPIRV, bytes, size, flags[i][0], NULL,
                   &module, text, sizeof text));
    check_(__FILE__, __LINE__, strstr(text, flags[i][1]) != NULL,
           "'%s' names '%s'", text, flags[i][1]);
  }
  free(bytes);
}

/* Flags are stored in one spelling; a log also exists without an error. */
static void test_flags(void)
{
  size_t size, n = 0;
  void *bytes = file_read("kernels/saxpy.spv", &size);
  ze_module_handle_t module;
  char text[4096] = "?";
  static const char *const flags[][2] = {
    {"-ze-opt-level=2", "-ze-opt-level=O2"},
    {"-ze-opt-disable -ze-opt-level=O1", "-ze-opt-disable -ze-opt-level=O1"},
    {"-ze-opt-level=0 -cl-mad-enable", "-ze-opt-level=O0 -cl-mad-enable"},
    {"-ze-unknown-of-the-driver", "-ze-unknown-of-the-driver"},
  };
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    RETURNS(ZE_RESULT_SUCCESS,
            create(ZE_MODULE_FORMAT_IL_SPIRV, bytes, size, flags[i][0], NULL,
                   &module, text, sizeof text));
    check_(__FILE__, __LINE__, *text == '\0', "an empty log: '%s'", text);
    MUST(zeModuleGetNativeBinary(module, &n, NULL));
    char *native = malloc(n);
    MUST(zeModuleGetNativeBinary(module, &n, (uint8_t *)native));
    bool found = false;
    size_t length = strlen(flags[i][1]) + 1;
    for (size_t at = 0; at + length <= n && !found; at++)
      found = memcmp(native + at, flags[i][1], length) == 0;
    check_(__FILE__, __LINE__, found, "%s is in the native binary",
           flags[i][1]);
    free(native);
    MUST(zeModuleDestroy(module));
  }
  free(bytes);
}

/* A module that the validator refuses may work anyway; the log warns. */
static void test_lenient(void)
{
  size_t size;
  uint32_t *words = file_read("kernels/saxpy.spv", &size);
  ze_module_handle_t module;
  char text[4096] = "";
  for (size_t at = 5; at < size / 4; at += words[at] >> 16)
    if ((words[at] & 0xffff) == 17 && words[at + 1] == 11) {
      words[at + 1] = 10; /* OpCapability Float64 for the Int64 it needs */
      break;
    }
  RETURNS(ZE_RESULT_SUCCESS,
          create(ZE_MODULE_FORMAT_IL_SPIRV, words, size, NULL, NULL, &module,
                 text, sizeof text));
  CHECK(strstr(text, "warning: not a valid SPIR-V module") != NULL);
  MUST(zeModuleDestroy(module));
  free(words);
}

/* Several threads make, query and destroy modules at once; one of the modules
   is in no cache. */
static void *make_modules(void *failures)
{
  static const char *const files[] = {"spec/driver/kernels/globals.spv",
                                      "kernels/vector_add.spv"};
  char own[16];
  snprintf(own, sizeof own, "k%04x", (unsigned)getpid() & 0xffff);
  for (int i = 0; i < 9; i++) {
    size_t size, n = 0;
    void *bytes = i % 3 == 2 ? saxpy_named(own, &size)
                             : file_read(files[i % 3], &size);
    ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                             .format = ZE_MODULE_FORMAT_IL_SPIRV,
                             .inputSize = size,
                             .pInputModule = bytes};
    ze_module_handle_t module;
    ze_kernel_handle_t kernel;
    uint32_t count = 1;
    const char *name;
    ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC};
    bool ok = zeModuleCreate(s.context, s.device, &desc, &module, NULL) ==
              ZE_RESULT_SUCCESS;
    ok = ok && zeModuleGetKernelNames(module, &count, &name) ==
                   ZE_RESULT_SUCCESS;
    ok = ok && zeModuleGetNativeBinary(module, &n, NULL) == ZE_RESULT_SUCCESS;
    kernel_desc.pKernelName = ok ? name : NULL;
    ok = ok && zeKernelCreate(module, &kernel_desc, &kernel) ==
                   ZE_RESULT_SUCCESS;
    ok = ok && zeModuleDestroy(module) == ZE_RESULT_SUCCESS;
    ok = ok && zeKernelDestroy(kernel) == ZE_RESULT_SUCCESS;
    *(int *)failures += !ok;
    free(bytes);
  }
  return NULL;
}

static void test_threads(void)
{
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  int failures[THREADS] = {0};
  for (int i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, make_modules, &failures[i]) == 0);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    EQUAL(failures[i], 0);
  }
}

static void test_bad(void)
{
  size_t size;
  uint8_t *bytes = file_read("kernels/saxpy.spv", &size);
  refused(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, ZE_MODULE_FORMAT_IL_SPIRV,
          "rubbish!", 8, "rubbish");
  refused(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, ZE_MODULE_FORMAT_IL_SPIRV,
          bytes, 3, "three bytes");
  refused(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, ZE_MODULE_FORMAT_IL_SPIRV,
          bytes, 20, "a header alone");
  refused(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, ZE_MODULE_FORMAT_IL_SPIRV,
          bytes, size / 2, "half a module");
  refused(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, ZE_MODULE_FORMAT_IL_SPIRV,
          bytes, size - 4, "a module without its end");
  ze_module_handle_t module;
  ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                           .format = ZE_MODULE_FORMAT_IL_SPIRV,
                           .inputSize = 0,
                           .pInputModule = bytes};
  RETURNS(ZE_RESULT_ERROR_INVALID_SIZE,
          zeModuleCreate(s.context, s.device, &desc, &module, NULL));
  desc.inputSize = size;
  desc.pInputModule = NULL;
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
          zeModuleCreate(s.context, s.device, &desc, &module, NULL));
  desc.pInputModule = bytes;
  desc.format = (ze_module_format_t)77;
  RETURNS(ZE_RESULT_ERROR_INVALID_ENUMERATION,
          zeModuleCreate(s.context, s.device, &desc, &module, NULL));
  desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
  RETURNS(ZE_RESULT_SUCCESS,
          zeModuleCreate(s.context, s.device, &desc, &module, NULL));
  MUST(zeModuleDestroy(module));

  /* With any bit flipped it is refused or built, but this process survives. */
  int built = 0, failed = 0;
  for (size_t i = 0; i < size; i += 61) {
    bytes[i] ^= 1;
    ze_result_t result =
        zeModuleCreate(s.context, s.device, &desc, &module, NULL);
    bytes[i] ^= 1;
    if (result == ZE_RESULT_SUCCESS) {
      built++;
      MUST(zeModuleDestroy(module));
    } else
      failed++;
  }
  check_(__FILE__, __LINE__, built + failed > 20 && failed > 0,
         "of damaged modules %d built, %d refused", built, failed);
  free(bytes);
}

/* saxpy as older translators write it, with the set SPIRV.debug, which
   SPIRV-Tools does not support, and one of its instructions. */
static void test_debug(void)
{
  enum { EXT_INST_IMPORT = 11, EXT_INST = 12, TYPE_VOID = 19 };
  size_t size, count = 5;
  uint32_t *words = file_read("kernels/saxpy.spv", &size);
  uint32_t *made = malloc(size + 10 * sizeof *made);
  const uint32_t set = words[3];
  memcpy(made, words, 5 * sizeof *made);
  made[3] += 2;
  for (size_t at = 5; at < size / 4; at += words[at] >> 16) {
    const uint32_t opcode = words[at] & 0xffff, n = words[at] >> 16;
    memcpy(made + count, words + at, n * sizeof *made);
    count += n;
    if (opcode == EXT_INST_IMPORT) {
      made[count] = 5u << 16 | EXT_INST_IMPORT;
      made[count + 1] = set;
      memcpy(made + count + 2, "SPIRV.debug", 12);
      count += 5;
    } else if (opcode == TYPE_VOID) {
      memcpy(made + count,
             (uint32_t[]){5u << 16 | EXT_INST, words[at + 1], set + 1, set, 35},
             5 * sizeof *made);
      count += 5;
    }
  }
  ze_module_handle_t module = module_new(s, "SPIRV.debug", made, count * 4);
  MUST(zeKernelDestroy(kernel_new(module, "saxpy")));
  MUST(zeModuleDestroy(module));
  free(made);
  free(words);
}

int main(void)
{
  s = setup_new();
  test_constants();
  test_same();
  test_flags();
  test_unknown_flags();
  test_threads();
  test_lenient();
  test_bad();
  test_debug();
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv");
  ze_module_properties_t p = {.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES,
                              .flags = 99};
  MUST(zeModuleGetProperties(module, &p));
  EQUAL(p.flags, 0);
  MUST(zeModuleDestroy(module));
  MUST(zeContextDestroy(s.context));
  CHECK_DONE();
}
