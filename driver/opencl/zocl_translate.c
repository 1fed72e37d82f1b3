/*
 * zocl_translate.c - SPIR-V to bitcode, by the packaged translator.
 * SPDX-License-Identifier: MIT
 *
 * Results are cached on disk, because a translation takes longer than
 * everything else when a module that PoCL has cached is loaded.
 */
#include "opencl/zocl_program.h"

#include <stdlib.h>
#include <string.h>

enum {
  /* In seconds.  Translations take milliseconds, but one was seen to hang. */
  TIME_LIMIT = 30
};

bool zocl_translator_find(const zocl_device *device, bool source,
                          char path[PATH_MAX])
{
  return !source && !device->takes_il &&
         tool_find("llvm-spirv", device->driver->llvm, path, PATH_MAX) != 0;
}

bool zocl_translate(const zocl_device *device, backend_code *code,
                    tool_text *log)
{
  if (code->translated != NULL || code->source || device->takes_il) return true;
  char path[PATH_MAX];
  if (!zocl_translator_find(device, false, path)) {
    tool_text_add(log,
                  "this OpenCL takes SPIR-V only as translated by llvm-spirv, "
                  "which is not installed: the package is llvm-spirv-%u\n",
                  device->driver->llvm);
    return false;
  }
  cache_key key = CACHE_KEY_INIT;
  cache_key_add(&key, code->bytes, code->size);
  cache_key_add_file(&key, path);
  size_t size;
  unsigned char *bitcode = cache_read("bc", &key, &size);
  if (bitcode == NULL) {
    char *const arguments[] = {path, "-r", "/proc/self/fd/0", "-o",
                               "/proc/self/fd/1", NULL};
    bitcode = tool_run(arguments, code->bytes, code->size, TIME_LIMIT,
                       NULL, NULL, &size, log);
    if (bitcode == NULL) return false;
    if (size < 4 || memcmp(bitcode, "BC\xc0\xde", 4) != 0) {
      tool_text_add(log, "%s wrote no bitcode\n", path);
      free(bitcode);
      return false;
    }
    cache_write("bc", &key, bitcode, size);
  }
  code->translated = bitcode;
  code->translated_size = size;
  return true;
}
