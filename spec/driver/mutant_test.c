/*
 * mutant_test.c - valid modules that no compiler was made for.
 * SPDX-License-Identifier: MIT
 *
 *   mutant_test [COUNT [SEED]]
 *
 * Damages kernels at random until COUNT of the results are valid according to
 * spirv-val, and makes a module and its kernels from each.  Many make compilers
 * abort or run for ever; this process must not be affected.
 * Nothing is launched.
 */
#include "check.h"

#include "../common/damage.h"
#include "spirv.h"

static const char *const files[] = {
  "kernels/blur.spv",   "kernels/histogram.spv",  "kernels/matmul.spv",
  "kernels/saxpy.spv",  "kernels/reduction.spv",  "kernels/scan.spv",
  "kernels/spec.spv",   "kernels/vector_add.spv",
  "spec/driver/kernels/globals.spv",
  "spec/driver/kernels/exporter.spv",
};
enum { FILES = sizeof files / sizeof *files };

int main(int argc, char **argv)
{
  int wanted = argc > 1 ? atoi(argv[1]) : 12;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  int valid = 0, built = 0, refused = 0, ended = 0, late = 0, kernels = 0;
  input inputs[FILES], m = {malloc(MOST_WORDS * 4), 0};
  for (int i = 0; i < FILES; i++) inputs[i] = read_input(files[i]);
  /* No build takes seconds unless it never ends. */
  setenv("LZE_BUILD_SECONDS", "20", 0);
  setup s = setup_new();
  for (unsigned long n = 0; valid < wanted; n++) {
    damage_round(&m, inputs, FILES, seed, n);
    if (!spirv_validate(m.words, m.count * (size_t)4, NULL, 0)) continue;
    valid++;
    ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                             .format = ZE_MODULE_FORMAT_IL_SPIRV,
                             .inputSize = m.count * (size_t)4,
                             .pInputModule = (const uint8_t *)m.words};
    ze_module_handle_t module;
    ze_module_build_log_handle_t log = NULL;
    ze_result_t result =
        zeModuleCreate(s.context, s.device, &desc, &module, &log);
    if (result == ZE_RESULT_SUCCESS) {
      const char *names[64];
      uint32_t count = 64;
      built++;
      MUST(zeModuleGetKernelNames(module, &count, names));
      for (uint32_t i = 0; i < count; i++) {
        ze_kernel_desc_t kernel_desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
                                        .pKernelName = names[i]};
        ze_kernel_handle_t kernel;
        if (zeKernelCreate(module, &kernel_desc, &kernel) !=
            ZE_RESULT_SUCCESS)
          continue;
        kernels++;
        MUST(zeKernelDestroy(kernel));
      }
      MUST(zeModuleDestroy(module));
    } else {
      char text[65536] = "";
      size_t size = sizeof text;
      refused++;
      if (result != ZE_RESULT_ERROR_MODULE_BUILD_FAILURE || log == NULL)
        check_(__FILE__, __LINE__, false, "round %lu: 0x%x", n,
               (unsigned)result);
      MUST(zeModuleBuildLogGetString(log, &size, text));
      if (strlen(text) < 10)
        check_(__FILE__, __LINE__, false, "round %lu: log '%s'", n, text);
      ended += strstr(text, "was ended by signal") != NULL;
      late += strstr(text, "took longer") != NULL;
    }
    MUST(zeModuleBuildLogDestroy(log));
  }
  check_(__FILE__, __LINE__, built + refused == wanted,
         "of %d valid mutants %d built (%d kernels), %d were refused: %d ended "
         "a compiler, %d took too long", wanted, built, kernels, refused,
         ended, late);
  free(m.words);
  for (int i = 0; i < FILES; i++) free(inputs[i].words);
  CHECK_DONE();
}
