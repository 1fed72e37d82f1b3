/*
 * zocl_try.c - the steps that lze-build tries before the driver performs them.
 * SPDX-License-Identifier: MIT
 */
#include "module/zocl_build.h"
#include "module/zocl_kernel.h"

#include "spirv_guard.h"

#include <stdlib.h>

/* Returns true if all kernels are guarded forms of kernels that compile, and no
   group sizes are to be compiled ahead. */
static bool is_guards(const zocl_module *module)
{
  if (getenv("POCL_BINARY_SPECIALIZE_WG") != NULL) return false;
  for (size_t i = 0; i < module->spirv->kernel_count; i++)
    if (!spirv_is_guard(module->spirv->kernels[i].name)) return false;
  return module->spirv->kernel_count > 0;
}

/* Each kernel takes about 50 ms, so libraries with very many kernels, of which
   programs use only a few, are left to the first launches. */
enum { MOST_COMPILED = 64 };

static bool kernels_compile(const zocl_module *module)
{
  const zocl_device *device = module->device;
  return module->spirv->kernel_count > MOST_COMPILED || is_guards(module) ||
         device->driver->backend->program_compile(device, module->program);
}

bool zocl_module_try(zocl_device *device, const void *bytes, size_t size,
                     tool_text *log)
{
  zocl_module *module;
  if (zocl_module_of_native(device, bytes, size, log, &module) !=
      ZE_RESULT_SUCCESS)
    return false;
  if (!zocl_build_here(module, log) || !zocl_build_again(module, log)) {
    zocl_module_unref(module);
    return false;
  }
  bool ok = true;
  for (size_t i = 0; ok && i < module->spirv->kernel_count; i++) {
    const ze_kernel_desc_t desc = {
      .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
      .pKernelName = module->spirv->kernels[i].name};
    zocl_kernel *kernel;
    ok = zocl_KernelCreate(module, &desc, &kernel) == ZE_RESULT_SUCCESS;
    if (!ok) break;
    ok = zocl_kernel_try(kernel);
    zocl_KernelDestroy(kernel);
  }
  if (!ok)
    tool_text_add(log, "%s\n", zocl_last_error());
  else if (!(ok = kernels_compile(module)))
    tool_text_add(log, "the kernels cannot be compiled\n");
  zocl_module_unref(module);
  return ok;
}
