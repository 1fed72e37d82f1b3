/*
 * zocl_translate.c - SPIR-V to bitcode, by the packaged translator.
 * SPDX-License-Identifier: MIT
 *
 * Results are cached on disk, because a translation takes longer than
 * everything else when a module that PoCL has cached is loaded.
 */
#include "module/zocl_build.h"

#include <stdlib.h>
#include <string.h>

enum {
  /* In seconds.  Translations take milliseconds, but one was seen to hang. */
  TIME_LIMIT = 30
};

bool zocl_translator_find(const zocl_module *module, char path[PATH_MAX])
{
  return !module->source && !module->device->takes_il &&
         tool_find("llvm-spirv", module->device->driver->llvm, path,
                   PATH_MAX) != 0;
}

bool zocl_translate(zocl_module *module, tool_text *log)
{
  if (module->bitcode != NULL) return true;
  char path[PATH_MAX];
  if (!zocl_translator_find(module, path)) {
    tool_text_add(log,
                  "this OpenCL takes SPIR-V only as translated by llvm-spirv, "
                  "which is not installed: the package is llvm-spirv-%u\n",
                  module->device->driver->llvm);
    return false;
  }
  cache_key key = CACHE_KEY_INIT;
  cache_key_add(&key, module->code, module->code_size);
  cache_key_add_file(&key, path);
  size_t size;
  unsigned char *bitcode = cache_read("bc", &key, &size);
  if (bitcode == NULL) {
    char *const arguments[] = {path, "-r", "/proc/self/fd/0", "-o",
                               "/proc/self/fd/1", NULL};
    bitcode = tool_run(arguments, module->code, module->code_size, TIME_LIMIT,
                       NULL, NULL, &size, log);
    if (bitcode == NULL) return false;
    if (size < 4 || memcmp(bitcode, "BC\xc0\xde", 4) != 0) {
      tool_text_add(log, "%s wrote no bitcode\n", path);
      free(bitcode);
      return false;
    }
    cache_write("bc", &key, bitcode, size);
  }
  module->bitcode = bitcode;
  module->bitcode_size = size;
  return true;
}
