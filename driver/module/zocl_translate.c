/*
 * zocl_translate.c - SPIR-V to bitcode, by the packaged translator.
 * SPDX-License-Identifier: MIT
 *
 * What it made is kept on disk, because a translation takes longer than all
 * the rest of loading a module that PoCL has cached.
 */
#include "module/zocl_build.h"

#include <stdlib.h>
#include <string.h>

enum {
  PATH_SIZE = 4096,
  /* Translations take milliseconds; one that hangs was seen. */
  TIME_LIMIT = 30
};

unsigned char *zocl_translate(const zocl_module *module, unsigned llvm,
                              size_t *size, tool_text *log)
{
  char path[PATH_SIZE];
  if (tool_find("llvm-spirv", llvm, path, sizeof path) == 0) {
    tool_text_add(log,
                  "this OpenCL takes SPIR-V only as translated by llvm-spirv, "
                  "which is not installed: the package is llvm-spirv-%u\n",
                  llvm);
    return NULL;
  }
  cache_key key = CACHE_KEY_INIT;
  cache_key_add(&key, module->code, module->code_size);
  cache_key_add_file(&key, path);
  unsigned char *bitcode = cache_read("bc", &key, size);
  if (bitcode != NULL) return bitcode;

  char *const arguments[] = {path, "-r", "/proc/self/fd/0", "-o",
                             "/proc/self/fd/1", NULL};
  bitcode = tool_run(arguments, module->code, module->code_size, TIME_LIMIT,
                     NULL, NULL, size, log);
  if (bitcode != NULL && (*size < 4 || memcmp(bitcode, "BC\xc0\xde", 4) != 0)) {
    tool_text_add(log, "%s wrote no bitcode\n", path);
    free(bitcode);
    return NULL;
  }
  if (bitcode != NULL) cache_write("bc", &key, bitcode, *size);
  return bitcode;
}
