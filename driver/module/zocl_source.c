/*
 * zocl_source.c - modules of OpenCL C.
 * SPDX-License-Identifier: MIT
 *
 * This driver takes OpenCL C as module format 3, as Intel's driver does.  Such
 * a module has no SPIR-V to read, so the compiler's description of the kernels'
 * arguments is written down as a module of stubs, for the rest of the driver.
 */
#include "module/zocl_build.h"

#include <stdlib.h>
#include <string.h>

#include "signature.h"

bool zocl_source_describe(zocl_module *module, const backend_code *code,
                          tool_text *log)
{
  const zocl_device *device = module->device;
  tool_text declarations = {0};
  char message[512];
  size_t size;
  void *stubs = NULL;
  if (device->driver->backend->program_describe(
          device, module->program, code, &declarations, message,
          sizeof message))
    stubs = signature_spirv(declarations.text != NULL ? declarations.text : "",
                            device->address_bits, &size, message,
                            sizeof message);
  free(declarations.text);
  if (stubs != NULL) {
    spirv_free(module->spirv);
    module->spirv = spirv_parse(stubs, size, message, sizeof message);
    free(stubs);
    if (module->spirv != NULL) return true;
  }
  tool_text_add(log, "%s\n", message);
  return false;
}

ze_result_t zocl_source_new(zocl_device *device, const void *text, size_t size,
                            const char *flags, zocl_module **module)
{
  zocl_module *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  /* A caller that passes a C string may have included its NUL. */
  while (size > 1 && ((const char *)text)[size - 1] == '\0') size--;
  atomic_init(&made->refs, 1);
  made->device = device;
  made->source = true;
  made->flags = strdup(flags != NULL ? flags : "");
  made->words = malloc(size);
  made->size = size;
  if (made->flags == NULL || made->words == NULL) {
    zocl_module_unref(made);
    return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  memcpy(made->words, text, size);
  made->code = made->words;
  made->code_size = size;
  made->origin = CACHE_KEY_INIT;
  cache_key_add(&made->origin, text, size);
  *module = made;
  return ZE_RESULT_SUCCESS;
}
