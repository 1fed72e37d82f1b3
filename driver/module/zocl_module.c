/*
 * zocl_module.c - modules: creation, linking, properties.
 * SPDX-License-Identifier: MIT
 */
#include "module/zocl_module.h"
#include "module/zocl_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>

/* The value that Intel's driver uses. */
#define FORMAT_OPENCL_C ((ze_module_format_t)3)

/* ------------------------------------------------------------------------
 * Build logs.
 */

static zocl_build_log *log_new(const tool_text *text)
{
  zocl_build_log *log = zocl_handle_new(sizeof *log + text->size + 1);
  if (log == NULL) return NULL;
  log->size = text->size + 1;
  if (text->size > 0) memcpy(log->text, text->text, text->size);
  log->text[text->size] = '\0';
  return log;
}

/* Gives the log to the caller, unless `log` is NULL.  After a failure the text
   is also for zeDriverGetLastErrorDescription. */
static ze_result_t log_give(ze_result_t result, tool_text *text,
                            zocl_build_log **log)
{
  if (result != ZE_RESULT_SUCCESS && text->size > 0)
    zocl_fail(result, "%s", text->text);
  if (log != NULL && (*log = log_new(text)) == NULL)
    result = zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  free(text->text);
  return result;
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
  if (!zocl_forked()) zocl_program_drop(module);
  spirv_free(module->spirv);
  free(module->flags);
  if (module->code != module->words) free(module->code);
  free(module->translated);
  for (uint32_t i = 0; i < module->held_count; i++)
    zocl_storage_unref(module->held[i]);
  free(module->held);
  zocl_storage_unref(module->storage);
  free(module->globals);
  free(module->words);
  free(module);
}

/* Overwrites the default of a specialization constant, so that compilers treat
   it as an ordinary constant. */
static void constant_write(zocl_module *module, const spirv_spec_constant *c,
                           const void *value)
{
  const spirv_module *spirv = module->spirv;
  for (size_t j = 0; j < spirv->instruction_count; j++) {
    const spirv_instruction *in = &spirv->instructions[j];
    if (in->result != c->id) continue;
    uint32_t *words = module->words + (in->words - spirv->words);
    if (in->opcode == SpvOpSpecConstant) {
      /* The literal; a narrow one has zeros in its high bits. */
      size_t bytes = c->type.bits / 8;
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

/* Sets all constants with the given numbers: a compiler makes one for each use.
   Numbers that the module does not have are ignored. */
static ze_result_t constants_write(zocl_module *module,
                                   const ze_module_constants_t *constants)
{
  const spirv_module *spirv = module->spirv;
  if (constants->numConstants == 0) return ZE_RESULT_SUCCESS;
  ZOCL_NEED_POINTER(constants->pConstantIds);
  ZOCL_NEED_POINTER(constants->pConstantValues);
  for (uint32_t i = 0; i < constants->numConstants; i++)
    for (size_t j = 0; j < spirv->spec_constant_count; j++) {
      if (spirv->spec_constants[j].spec_id != constants->pConstantIds[i])
        continue;
      ZOCL_NEED_POINTER(constants->pConstantValues[i]);
      constant_write(module, &spirv->spec_constants[j],
                     constants->pConstantValues[i]);
    }
  return ZE_RESULT_SUCCESS;
}

/* Parses the module's words again into module->spirv. */
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

/* Removes the DontInline mask from functions.  Compilers set it if optimisation
   is off, but some provide group sizes and ids only in the kernel itself, and
   end the process if another function queries them.  The words are in this
   machine's byte order and not decoded yet. */
static void functions_inline(uint32_t *words, size_t count)
{
  for (size_t at = 5; at < count;) {
    size_t n = words[at] >> 16;
    if (n == 0 || n > count - at) return;
    if ((words[at] & 0xffff) == SpvOpFunction && n == 5)
      words[at + 3] &= ~(uint32_t)SpvFunctionControlDontInlineMask;
    at += n;
  }
}

/* A compiler's library may lack half_sin and the other functions of low
   precision.  Use native_sin and its relatives, which are as precise there. */
static void halves_native(uint32_t *words, size_t count)
{
  static const char name[] = "OpenCL.std";
  const uint32_t away = OpenCLstd_Native_cos - OpenCLstd_Half_cos;
  uint32_t set = 0;
  for (size_t at = 5; at < count;) {
    size_t n = words[at] >> 16, op = words[at] & 0xffff;
    if (n == 0 || n > count - at) return;
    if (op == SpvOpExtInstImport && n == 2 + (sizeof name + 3) / 4 &&
        memcmp(words + at + 2, name, sizeof name) == 0)
      set = words[at + 1];
    if (op == SpvOpExtInst && n >= 5 && set != 0 && words[at + 3] == set &&
        words[at + 4] >= OpenCLstd_Half_cos &&
        words[at + 4] <= OpenCLstd_Half_tan)
      words[at + 4] += away;
    at += n;
  }
}

static void words_swap(uint32_t *words, size_t count)
{
  for (size_t i = 0; i < count; i++) words[i] = __builtin_bswap32(words[i]);
}

/* Returns a copy of the flags, with -ze-opt-level=2 as -ze-opt-level=O2. */
static char *flags_copy(const char *flags)
{
  static const char level[] = "-ze-opt-level=";
  char *copy = malloc(2 * strlen(flags) + 1), *to = copy;
  if (copy == NULL) return NULL;
  for (const char *p = flags; *p != '\0';) {
    bool digit = p - flags >= (ptrdiff_t)sizeof level - 1 && *p >= '0' &&
                 *p <= '9' && strncmp(p - (sizeof level - 1), level,
                                      sizeof level - 1) == 0;
    if (digit) *to++ = 'O';
    *to++ = *p++;
  }
  *to = '\0';
  return copy;
}

/* Makes a module of SPIR-V; BUILD_FAILURE with a log if it is invalid. */
static ze_result_t module_new(zocl_device *device, const void *spirv,
                              size_t size, const char *flags,
                              const ze_module_constants_t *constants,
                              tool_text *log, zocl_module **module)
{
  char message[1024] = "";
  ze_result_t result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  zocl_module *made = zocl_handle_new(sizeof *made);
  if (made == NULL) return zocl_error(result);
  atomic_init(&made->refs, 1);
  made->device = device;
  made->flags = flags_copy(flags != NULL ? flags : "");
  made->words = malloc(size + sizeof *made->words);
  made->size = size;
  if (made->flags == NULL || made->words == NULL) {
    zocl_error(result);
    goto fail;
  }
  memcpy(made->words, spirv, size);
  if (size >= 4 && made->words[0] == __builtin_bswap32(SpvMagicNumber))
    words_swap(made->words, size / 4);
  const size_t count = spirv_without_debug(made->words, size / 4);
  made->size -= (size / 4 - count) * sizeof *made->words;
  functions_inline(made->words, count);
  if (!device->takes_il) halves_native(made->words, count);
  result = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  if (!module_parse(made, log)) goto fail;
  /* Compilers accept much that the validator rejects, and programs depend on
     it.  So only warn if a trial in another process follows. */
  if (!spirv_validate(spirv, size, message, sizeof message)) {
    bool tried = zocl_build_is_tried();
    tool_text_add(log, "%s: not a valid SPIR-V module: %s\n",
                  tried ? "warning" : "error", message);
    if (!tried) goto fail;
  }
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
  made->origin = CACHE_KEY_INIT;
  cache_key_add(&made->origin, made->words, made->size);
  *module = made;
  return ZE_RESULT_SUCCESS;

fail:
  zocl_module_unref(made);
  return result;
}

ze_result_t zocl_module_of_native(zocl_device *device, const void *bytes,
                                  size_t size, tool_text *log,
                                  zocl_module **module)
{
  zocl_native native;
  if (!zocl_native_open(bytes, size, &native)) {
    tool_text_add(log,
                  "not a native binary of this driver, or a damaged one\n");
    return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  if (native.source)
    return zocl_source_new(device, native.code, native.code_size,
                           native.flags, module);
  return module_new(device, native.code, native.code_size, native.flags, NULL,
                    log, module);
}

void zocl_module_warm(zocl_device *device, const void *spirv, size_t size,
                      tool_text *log)
{
  zocl_module *module;
  if (module_new(device, spirv, size, NULL, NULL, log, &module) !=
      ZE_RESULT_SUCCESS)
    return;
  zocl_build_here(module, log);
  zocl_module_unref(module);
}

/* Builds the module's program, as far as possible without other modules. */
static ze_result_t module_finish(zocl_module *module, tool_text *log)
{
  if (module->source)
    return zocl_build(module, log) ? ZE_RESULT_SUCCESS
                                   : ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  module->imports = module->spirv->has_imports;
  if (!zocl_globals_place(module, log))
    return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  for (uint32_t i = 0; i < module->global_count; i++)
    if (module->globals[i].imported) {
      zocl_globals_fill(module, NULL);
      return ZE_RESULT_SUCCESS;
    }
  if (module->global_count > 0 &&
      !(zocl_globals_fill(module, log) && zocl_link(module, NULL, 0, log)))
    return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  bool built = zocl_build(module, log);
  /* Imported functions that no module exports may be built in. */
  if (built) module->imports = false;
  return built || module->imports ? ZE_RESULT_SUCCESS
                                  : ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

/* Returns the number of modules, without the importer, that export `name`. */
static uint32_t count_exporters(const zocl_module *importer, const char *name,
                                uint32_t count, zocl_module *const *modules)
{
  uint32_t exporters = 0;
  for (uint32_t i = 0; i < count; i++)
    exporters += modules[i] != importer &&
                 zocl_link_export(modules[i], name) != NULL;
  return exporters;
}

static bool imports_are_clear(const zocl_module *module, uint32_t count,
                              zocl_module *const *modules, tool_text *log)
{
  const spirv_module *m = module->spirv;
  bool clear = true;
  for (size_t i = 0; i < m->symbol_count; i++)
    if (m->symbols[i].imported &&
        count_exporters(module, m->symbols[i].name, count, modules) > 1) {
      tool_text_add(log, "%s is exported by more than one module\n",
                    m->symbols[i].name);
      clear = false;
    }
  return clear;
}

/* Makes a module of one input, SPIR-V or a native binary. */
static ze_result_t module_of(zocl_device *device, ze_module_format_t format,
                             const void *input, size_t size, const char *flags,
                             const ze_module_constants_t *constants,
                             tool_text *log, zocl_module **module)
{
  ZOCL_NEED_POINTER(input);
  if (size == 0) return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  if (format == ZE_MODULE_FORMAT_NATIVE)
    return zocl_module_of_native(device, input, size, log, module);
  return module_new(device, input, size, flags, constants, log, module);
}

/* Makes a module of several inputs. */
static ze_result_t module_join(zocl_device *device, ze_module_format_t format,
                               const ze_module_program_exp_desc_t *program,
                               tool_text *log, zocl_module **module)
{
  ZOCL_NEED_POINTER(program->inputSizes);
  ZOCL_NEED_POINTER(program->pInputModules);
  const uint32_t count = program->count;
  if (count == 0) return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  ze_result_t result = ZE_RESULT_SUCCESS;
  tool_text flags = {0};
  zocl_module **parts = calloc(count, sizeof *parts);
  if (parts == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  for (uint32_t i = 0; i < count && result == ZE_RESULT_SUCCESS; i++) {
    const char *own = program->pBuildFlags != NULL &&
                              program->pBuildFlags[i] != NULL
                          ? program->pBuildFlags[i] : "";
    if (!zocl_flags_check(device, own, false, log)) {
      result = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
      break;
    }
    const ze_module_constants_t *constants =
        program->pConstants != NULL ? program->pConstants[i] : NULL;
    result = module_of(device, format, program->pInputModules[i],
                       program->inputSizes[i], own, constants, log, &parts[i]);
    if (result != ZE_RESULT_SUCCESS) break;
    if (parts[i]->source)
      result = zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                         "native binaries of OpenCL C cannot be joined");
    own = parts[i]->flags;
    if (*own != '\0' && (flags.text == NULL || strstr(flags.text, own) == NULL))
      tool_text_add(&flags, "%s%s", flags.size > 0 ? " " : "", own);
  }
  if (result == ZE_RESULT_SUCCESS) {
    size_t size = 0;
    bool clear = true;
    for (uint32_t i = 0; i < count; i++)
      clear = imports_are_clear(parts[i], count, parts, log) && clear;
    uint32_t *words = clear ? zocl_link_join(parts, count, log, &size) : NULL;
    result = words == NULL
                 ? ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
                 : module_new(device, words, size, flags.text, NULL, log,
                              module);
    free(words);
  }
  for (uint32_t i = 0; i < count; i++)
    if (parts[i] != NULL) zocl_module_unref(parts[i]);
  free(parts);
  free(flags.text);
  return result;
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
  const ze_base_desc_t *e = desc->pNext;
  while (e != NULL && e->stype != ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC)
    e = e->pNext;
  if (e == NULL) {
    ZOCL_NEED_POINTER(desc->pInputModule);
    if (desc->inputSize == 0) return zocl_error(ZE_RESULT_ERROR_INVALID_SIZE);
  }
  if (desc->format != ZE_MODULE_FORMAT_IL_SPIRV &&
      desc->format != ZE_MODULE_FORMAT_NATIVE &&
      desc->format != FORMAT_OPENCL_C)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);

  tool_text log = {0};
  zocl_module *made = NULL;
  ze_result_t result;
  if (desc->pBuildFlags != NULL &&
      !zocl_flags_check(device, desc->pBuildFlags,
                        desc->format == FORMAT_OPENCL_C, &log))
    result = ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  else if (e != NULL && desc->format == FORMAT_OPENCL_C)
    result = zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "OpenCL C cannot be joined");
  else if (e != NULL)
    result = module_join(device, desc->format,
                         (const ze_module_program_exp_desc_t *)e, &log, &made);
  else if (desc->format == FORMAT_OPENCL_C)
    result = zocl_source_new(device, desc->pInputModule, desc->inputSize,
                             desc->pBuildFlags, &made);
  else
    result = module_of(device, desc->format, desc->pInputModule,
                       desc->inputSize, desc->pBuildFlags, desc->pConstants,
                       &log, &made);
  if (result == ZE_RESULT_SUCCESS) result = module_finish(made, &log);
  result = log_give(result, &log, build_log);
  if (result == ZE_RESULT_SUCCESS)
    *module = made;
  else if (made != NULL)
    zocl_module_unref(made);
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
  properties->flags = module->imports ? ZE_MODULE_PROPERTY_FLAG_IMPORTS : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t zocl_ModuleGetOrigin(zocl_module *module, prepare_origin *origin)
{
  ZOCL_NEED_HANDLE(module);
  ZOCL_NEED_POINTER(origin);
  *origin = module->found;
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

ze_result_t zocl_ModuleGetGlobalPointer(ze_module_handle_t module,
                                        const char *name, size_t *size,
                                        void **pointer)
{
  ZOCL_NEED_HANDLE(module);
  ZOCL_NEED_POINTER(name);
  const zocl_global *global = zocl_global_find(module, name);
  if (global == NULL)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME,
                     "the module has no program-scope variable %s in global "
                     "memory", name);
  if (!global->ready)
    return zocl_fail(ZE_RESULT_ERROR_INVALID_GLOBAL_NAME,
                     "the variable %s, or the address in its initial value, is "
                     "imported, and the module is not linked yet", name);
  if (size != NULL) *size = global->bytes;
  if (pointer != NULL) *pointer = global->address;
  return ZE_RESULT_SUCCESS;
}

/* No back end reports addresses of functions. */
ze_result_t zocl_ModuleGetFunctionPointer(ze_module_handle_t module,
                                          const char *name, void **pointer)
{
  ZOCL_NEED_HANDLE(module);
  ZOCL_NEED_POINTER(name);
  ZOCL_NEED_POINTER(pointer);
  *pointer = NULL;
  for (size_t i = 0; i < module->spirv->function_count; i++) {
    const char *have = module->spirv->functions[i].name;
    if (have != NULL && strcmp(have, name) == 0)
      return zocl_fail(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
                       "%s has no pointers to functions",
                       module->device->driver->backend->name);
  }
  return zocl_fail(ZE_RESULT_ERROR_INVALID_FUNCTION_NAME,
                   "the module has no function %s", name);
}

/* ------------------------------------------------------------------------
 * Several modules.
 */

static ze_result_t modules_check(uint32_t count, zocl_module *const *modules)
{
  ZOCL_NEED_POINTER(modules);
  for (uint32_t i = 0; i < count; i++)
    if (modules[i] == NULL)
      return zocl_fail(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
                       "module %u of %u is null", i, count);
  return ZE_RESULT_SUCCESS;
}

/* Returns true if a module exports the symbol, or it is built in. */
static bool is_resolvable(const zocl_module *importer,
                          const spirv_symbol *import, uint32_t count,
                          zocl_module *const *modules)
{
  return import->is_builtin ||
         count_exporters(importer, import->name, count, modules) > 0;
}

static ze_result_t modules_link(uint32_t count, zocl_module *const *modules,
                                tool_text *log)
{
  for (uint32_t i = 1; i < count; i++)
    if (modules[i]->device->root != modules[0]->device->root) {
      tool_text_add(log, "modules of different devices cannot be linked\n");
      return ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
    }
  /* All variables must have addresses before any code is made. */
  bool ok = true;
  for (uint32_t i = 0; i < count; i++)
    if (modules[i]->program == NULL)
      ok = imports_are_clear(modules[i], count, modules, log) &&
           zocl_globals_import(modules[i], modules, count, log) && ok;
  for (uint32_t i = 0; i < count && ok; i++) {
    zocl_module *module = modules[i];
    if (module->program != NULL) continue;
    ok = zocl_globals_fill(module, log) &&
         zocl_link(module, modules, count, log) && zocl_build(module, log);
    const spirv_module *m = module->spirv;
    for (size_t j = 0; j < m->symbol_count && !ok; j++)
      if (m->symbols[j].imported &&
          !is_resolvable(module, &m->symbols[j], count, modules))
        tool_text_add(log, "unresolved import: %s\n", m->symbols[j].name);
  }
  return ok ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_MODULE_LINK_FAILURE;
}

ze_result_t zocl_ModuleDynamicLink(uint32_t count, ze_module_handle_t *modules,
                                   ze_module_build_log_handle_t *link_log)
{
  if (link_log != NULL) *link_log = NULL;
  ze_result_t result = modules_check(count, modules);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (zocl_forked()) return zocl_error(ZE_RESULT_ERROR_UNINITIALIZED);
  zocl_module **once = malloc((count + 1u) * sizeof *once);
  if (once == NULL) return zocl_error(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  uint32_t distinct = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t j = 0;
    while (j < distinct && once[j] != modules[i]) j++;
    once[j] = modules[i];
    if (j == distinct) distinct++;
  }
  tool_text log = {0};
  result = modules_link(distinct, once, &log);
  free(once);
  return log_give(result, &log, link_log);
}

ze_result_t zocl_ModuleInspectLinkageExt(
    ze_linkage_inspection_ext_desc_t *desc, uint32_t count,
    ze_module_handle_t *modules, ze_module_build_log_handle_t *build_log)
{
  ZOCL_NEED_POINTER(desc);
  ZOCL_NEED_POINTER(build_log);
  ze_result_t result = modules_check(count, modules);
  if (result != ZE_RESULT_SUCCESS) return result;
  if (desc->flags & ~(ze_linkage_inspection_ext_flags_t)0x7)
    return zocl_error(ZE_RESULT_ERROR_INVALID_ENUMERATION);
  static const struct {
    ze_linkage_inspection_ext_flags_t flag;
    const char *title;
  } lists[] = {
    {ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS, "imports"},
    {ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS,
     "unresolvable imports"},
    {ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS, "exports"},
  };
  tool_text log = {0};
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
    if (!(desc->flags & lists[k].flag)) continue;
    tool_text_add(&log, "%s:\n", lists[k].title);
    for (uint32_t i = 0; i < count; i++)
      for (size_t j = 0; j < modules[i]->spirv->symbol_count; j++) {
        const spirv_symbol *s = &modules[i]->spirv->symbols[j];
        bool import = s->imported && !s->is_builtin, listed = false;
        switch (lists[k].flag) {
        case ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS: listed = import; break;
        case ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS:
          listed = import && !is_resolvable(modules[i], s, count, modules);
          break;
        default: listed = s->exported;
        }
        if (listed) tool_text_add(&log, "  %s\n", s->name);
      }
  }
  return log_give(ZE_RESULT_SUCCESS, &log, build_log);
}
