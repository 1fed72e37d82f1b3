/*
 * zocl_module.c - modules: checked, made, taken apart, told about.
 * SPDX-License-Identifier: MIT
 */
#include "zocl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/spirv.h>

/* The native binary is this driver's own container: the header, the flags
   with their NUL, the SPIR-V with its constants set.  PoCL's binary would
   depend on the processor and on the version of LLVM. */
typedef struct container {
  char magic[8];
  uint64_t checksum; /* of all that follows it */
  uint64_t total;    /* bytes of it all */
  uint64_t flags_size, spirv_size;
} container;

static const char container_magic[8] = "lzezocl1";

uint64_t zocl_hash(uint64_t seed, const void *bytes, size_t size)
{
  const unsigned char *p = bytes;
  uint64_t hash = seed ^ 14695981039346656037u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ p[i]) * 1099511628211u;
  /* So that the last bytes reach all bits. */
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

/* ------------------------------------------------------------------------
 * Build logs.
 */

static zocl_build_log *log_new(const tool_text *text)
{
  zocl_build_log *log = malloc(sizeof *log + text->size + 1);
  if (log == NULL) return NULL;
  log->size = text->size + 1;
  if (text->size > 0) memcpy(log->text, text->text, text->size);
  log->text[text->size] = '\0';
  return log;
}

ze_result_t zocl_ModuleBuildLogDestroy(ze_module_build_log_handle_t log)
{
  ZOCL_NEED_HANDLE(log);
  free(log);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ModuleBuildLogGetString(ze_module_build_log_handle_t log,
                                         size_t *size, char *text)
{
  ZOCL_NEED_HANDLE(log);
  ZOCL_NEED_POINTER(size);
  if (text != NULL && *size > 0) {
    size_t n = *size < log->size ? *size : log->size;
    memcpy(text, log->text, n);
    text[n - 1] = '\0';
  }
  if (text == NULL || *size == 0 || *size > log->size) *size = log->size;
  return ZE_RESULT_SUCCESS;
}

/* ------------------------------------------------------------------------
 * Making a module.
 */

void zocl_module_ref(zocl_module *module)
{
  atomic_fetch_add_explicit(&module->refs, 1, memory_order_relaxed);
}

void zocl_module_unref(zocl_module *module)
{
  if (atomic_fetch_sub_explicit(&module->refs, 1, memory_order_acq_rel) != 1)
    return;
  if (module->program != NULL && !zocl_forked())
    module->device->driver->cl->clReleaseProgram(module->program);
  spirv_free(module->spirv);
  free(module->flags);
  if (module->code != module->words) free(module->code);
  free(module->words);
  free(module);
}

/* Write the given values over the defaults of the specialization constants,
   which makes them constants like any other to whoever compiles the module. */
static ze_result_t constants_write(zocl_module *module,
                                   const ze_module_constants_t *constants)
{
  const spirv_module *spirv = module->spirv;
  if (constants->numConstants == 0) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(constants->pConstantIds);
  ZOCL_NEED_POINTER(constants->pConstantValues);
  for (uint32_t i = 0; i < constants->numConstants; i++) {
    const spirv_spec_constant *found = NULL;
    for (size_t j = 0; j < spirv->spec_constant_count; j++)
      if (spirv->spec_constants[j].spec_id == constants->pConstantIds[i])
        found = &spirv->spec_constants[j];
    if (found == NULL) continue; /* the module does not have it to set */
    const void *value = constants->pConstantValues[i];
    ZOCL_NEED_POINTER(value);
    for (size_t j = 0; j < spirv->instruction_count; j++) {
      const spirv_instruction *in = &spirv->instructions[j];
      if (in->result != found->id) continue;
      uint32_t *words = module->words + (in->words - spirv->words);
      if (in->opcode == SpvOpSpecConstant) {
        /* The literal; the high bits of a narrow one are nought. */
        size_t bytes = found->type.bits / 8;
        memset(words + 3, 0, (in->word_count - 3u) * sizeof *words);
        if (bytes <= (in->word_count - 3u) * sizeof *words)
          memcpy(words + 3, value, bytes);
      } else if (in->opcode == SpvOpSpecConstantTrue ||
                 in->opcode == SpvOpSpecConstantFalse)
        words[0] = (uint32_t)in->word_count << 16 |
                   (*(const uint8_t *)value != 0 ? SpvOpSpecConstantTrue
                                                 : SpvOpSpecConstantFalse);
    }
  }
  return ZE_RESULT_SUCCESS;
}

/* Read the module's words again into module->spirv. */
static bool module_parse(zocl_module *module, tool_text *log)
{
  char message[1024] = "";
  spirv_free(module->spirv);
  module->spirv =
      spirv_parse(module->words, module->size, message, sizeof message);
  if (module->spirv != NULL) return true;
  tool_text_add(log, "not a valid SPIR-V module: %s\n", message);
  return false;
}

/* A module of SPIR-V that is valid; BUILD_FAILURE with a log otherwise. */
static ze_result_t module_new(zocl_device *device, const void *spirv,
                              size_t size, const char *flags,
                              const ze_module_constants_t *constants,
                              tool_text *log, zocl_module **module)
{
  char message[1024] = "";
  ze_result_t result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  zocl_module *made = calloc(1, sizeof *made);
  if (made == NULL) return zocl_error(result);
  atomic_init(&made->refs, 1);
  made->device = device;
  made->flags = strdup(flags != NULL ? flags : "");
  made->words = malloc(size + sizeof *made->words);
  made->size = size;
  if (made->flags == NULL || made->words == NULL) {
    zocl_error(result);
    goto fail;
  }
  memcpy(made->words, spirv, size);
  result = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  if (!module_parse(made, log)) goto fail;
  if (!spirv_validate(spirv, size, message, sizeof message)) {
    tool_text_add(log, "not a valid SPIR-V module: %s\n", message);
    goto fail;
  }
  /* From here on in this machine's byte order. */
  memcpy(made->words, made->spirv->words, size);
  if (made->spirv->address_bits != device->address_bits) {
    tool_text_add(log, "the module is for addresses of %u bits, the device "
                       "has %u\n", made->spirv->address_bits,
                  device->address_bits);
    goto fail;
  }
  if (constants != NULL) {
    result = constants_write(made, constants);
    if (result != ZE_RESULT_SUCCESS) goto fail;
    result = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    if (!module_parse(made, log)) goto fail;
  }
  made->code = made->words;
  made->code_size = made->size;
  *module = made;
  return ZE_RESULT_SUCCESS;

fail:
  zocl_module_unref(made);
  return result;
}

void *zocl_module_pack(const zocl_module *module, const void *spirv,
                       size_t spirv_size, size_t *size)
{
  container head = {.flags_size = strlen(module->flags) + 1,
                    .spirv_size = spirv_size};
  head.total = sizeof head + head.flags_size + spirv_size;
  memcpy(head.magic, container_magic, sizeof head.magic);
  unsigned char *packed = malloc(head.total);
  if (packed == NULL) return NULL;
  memcpy(packed + sizeof head, module->flags, head.flags_size);
  memcpy(packed + sizeof head + head.flags_size, spirv, spirv_size);
  memcpy(packed, &head, sizeof head);
  const size_t summed = offsetof(container, total);
  head.checksum = zocl_hash(3, packed + summed, head.total - summed);
  memcpy(packed, &head, sizeof head);
  *size = head.total;
  return packed;
}

/* Take a native binary apart.  INVALID_NATIVE_BINARY where it is damaged. */
static ze_result_t module_from_native(zocl_device *device, const void *bytes,
                                      size_t size, tool_text *log,
                                      zocl_module **module)
{
  container head;
  const unsigned char *p = bytes;
  const size_t summed = offsetof(container, total);
  if (size < sizeof head) goto damaged;
  memcpy(&head, bytes, sizeof head);
  if (memcmp(head.magic, container_magic, sizeof head.magic) != 0 ||
      head.total != size ||
      zocl_hash(3, p + summed, size - summed) != head.checksum)
    goto damaged;
  size_t rest = size - sizeof head;
  if (head.flags_size == 0 || head.flags_size > rest ||
      head.spirv_size != rest - head.flags_size)
    goto damaged;
  const char *flags = (const char *)p + sizeof head;
  if (flags[head.flags_size - 1] != '\0') goto damaged;
  return module_new(device, flags + head.flags_size, head.spirv_size, flags,
                    NULL, log, module);

damaged:
  tool_text_add(log, "not a native binary of this driver, or a damaged one\n");
  return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
}

/* Have the kernels compiled, all of them: what PoCL does when it is asked for
   the program's binary. */
static bool kernels_compile(const zocl_module *module)
{
  zocl_cl *cl = module->device->driver->cl;
  size_t size = 0;
  if (cl->clGetProgramInfo(module->program, CL_PROGRAM_BINARY_SIZES,
                           sizeof size, &size, NULL) != CL_SUCCESS || size == 0)
    return true; /* this OpenCL has none to give */
  unsigned char *binary = malloc(size), *binaries[1] = {binary};
  if (binary == NULL) return false;
  cl_int error = cl->clGetProgramInfo(module->program, CL_PROGRAM_BINARIES,
                                      sizeof binaries, binaries, NULL);
  free(binary);
  return error == CL_SUCCESS;
}

bool zocl_module_try(zocl_device *device, const void *bytes, size_t size,
                     tool_text *log)
{
  zocl_module *module;
  if (module_from_native(device, bytes, size, log, &module) !=
      ZE_RESULT_SUCCESS)
    return false;
  bool ok = zocl_build_here(module, log);
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

ze_result_t zocl_ModuleCreate(ze_context_handle_t context,
                              ze_device_handle_t device,
                              const ze_module_desc_t *desc,
                              ze_module_handle_t *module,
                              ze_module_build_log_handle_t *build_log)
{
  ZOCL_NEED_HANDLE(context);
  ZOCL_NEED_HANDLE(device);
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(module);
  *module = NULL;
  if (build_log != NULL) *build_log = NULL;
  ZOCL_NEED_POINTER(desc->pInputModule);
  if (desc->inputSize == 0) return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  if (desc->format != ZE_MODULE_FORMAT_IL_SPIRV &&
      desc->format != ZE_MODULE_FORMAT_NATIVE)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);

  tool_text log = {NULL, 0};
  zocl_module *made = NULL;
  ze_result_t result;
  if (desc->format == ZE_MODULE_FORMAT_NATIVE)
    result = module_from_native(device, desc->pInputModule, desc->inputSize,
                                &log, &made);
  else
    result = module_new(device, desc->pInputModule, desc->inputSize,
                        desc->pBuildFlags, desc->pConstants, &log, &made);
  if (result == ZE_RESULT_SUCCESS && !zocl_build(made, &log))
    result = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  if (result != ZE_RESULT_SUCCESS && made != NULL) {
    zocl_module_unref(made);
    made = NULL;
  }
  if (result != ZE_RESULT_SUCCESS && log.size > 0)
    zocl_fail(result, "%s", log.text);
  if (build_log != NULL) {
    *build_log = log_new(&log);
    if (*build_log == NULL && made != NULL) {
      zocl_module_unref(made);
      made = NULL;
      result = zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
    }
  }
  free(log.text);
  *module = made;
  return result;
}

ze_result_t zocl_ModuleDestroy(ze_module_handle_t module)
{
  ZOCL_NEED_HANDLE(module);
  zocl_module_unref(module);
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ModuleGetKernelNames(ze_module_handle_t module,
                                      uint32_t *count, const char **names)
{
  ZOCL_NEED_HANDLE(module);
  ZOCL_NEED_POINTER(count);
  const spirv_module *spirv = module->spirv;
  bool query = *count == 0 || names == NULL;
  if (query || *count > spirv->kernel_count)
    *count = (uint32_t)spirv->kernel_count;
  if (query) return ZE_RESULT_SUCCESS;
  for (uint32_t i = 0; i < *count; i++) names[i] = spirv->kernels[i].name;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ModuleGetProperties(ze_module_handle_t module,
                                     ze_module_properties_t *properties)
{
  ZOCL_NEED_HANDLE(module);
  ZOCL_NEED_POINTER(properties);
  properties->flags =
      module->spirv->has_imports ? ZE_MODULE_PROPERTY_FLAG_IMPORTS : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ModuleGetNativeBinary(ze_module_handle_t module, size_t *size,
                                       uint8_t *binary)
{
  ZOCL_NEED_HANDLE(module);
  ZOCL_NEED_POINTER(size);
  size_t total;
  void *packed =
      zocl_module_pack(module, module->words, module->size, &total);
  if (packed == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  ze_result_t result = ZE_RESULT_SUCCESS;
  if (binary == NULL || *size == 0)
    *size = total;
  else if (*size < total)
    result = zocl_fail(ZE_RESULT_ERROR_INVALID_SIZE,
                       "the native binary has %zu bytes, there is room for "
                       "%zu", total, *size);
  else {
    *size = total;
    memcpy(binary, packed, total);
  }
  free(packed);
  return result;
}
