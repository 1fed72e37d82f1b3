/*
 * zocl_source.c - modules of OpenCL C, which OpenCL compiles by itself.
 * SPDX-License-Identifier: MIT
 *
 * Intel's driver takes OpenCL C as module format 3, and so does this one, by
 * clCreateProgramWithSource.  There is no SPIR-V to read then: what the rest of
 * the driver needs to know of kernels is what OpenCL says of their arguments,
 * written down as a module of stubs.
 */
#include "module/zocl_module.h"

#include <stdlib.h>
#include <string.h>

#include "signature.h"

/* A string that a query gives, malloc'ed; NULL where it gives none. */
#define QUERY(text, function, ...)                                           \
  do {                                                                       \
    size_t size_ = 0;                                                        \
    text = NULL;                                                             \
    if (function(__VA_ARGS__, 0, NULL, &size_) == CL_SUCCESS && size_ > 0 && \
        (text = malloc(size_ + 1)) != NULL) {                                \
      text[size_] = '\0';                                                    \
      if (function(__VA_ARGS__, size_, text, NULL) != CL_SUCCESS) {          \
        free(text);                                                          \
        text = NULL;                                                         \
      }                                                                      \
    }                                                                        \
  } while (0)

/* Add the declaration of an argument: "global const float* x". */
static bool argument_add(zocl_cl *cl, cl_kernel kernel, cl_uint i,
                         tool_text *declaration)
{
  cl_kernel_arg_address_qualifier space = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  cl_kernel_arg_type_qualifier qualifiers = 0;
  char *type, *name;
  cl->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                         sizeof space, &space, NULL);
  cl->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER,
                         sizeof qualifiers, &qualifiers, NULL);
  QUERY(type, cl->clGetKernelArgInfo, kernel, i, CL_KERNEL_ARG_TYPE_NAME);
  QUERY(name, cl->clGetKernelArgInfo, kernel, i, CL_KERNEL_ARG_NAME);
  bool known = type != NULL;
  if (known)
    tool_text_add(declaration, "%s%s%s%s %s", i > 0 ? ", " : "",
                  space == CL_KERNEL_ARG_ADDRESS_GLOBAL     ? "global "
                  : space == CL_KERNEL_ARG_ADDRESS_CONSTANT ? "constant "
                  : space == CL_KERNEL_ARG_ADDRESS_LOCAL    ? "local "
                                                            : "",
                  qualifiers & CL_KERNEL_ARG_TYPE_CONST ? "const " : "", type,
                  name != NULL ? name : "");
  free(type);
  free(name);
  return known;
}

/* Add the declaration of a kernel. */
static bool kernel_add(const zocl_module *module, const char *name,
                       tool_text *declarations)
{
  zocl_cl *cl = module->device->driver->cl;
  cl_int error;
  cl_uint count = 0;
  size_t group[3] = {0, 0, 0};
  cl_kernel kernel = cl->clCreateKernel(module->program, name, &error);
  if (kernel == NULL) return false;
  cl->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
  cl->clGetKernelWorkGroupInfo(kernel, module->device->id,
                               CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group,
                               group, NULL);
  if (group[0] != 0)
    tool_text_add(declarations,
                  "__attribute__((reqd_work_group_size(%zu, %zu, %zu))) ",
                  group[0], group[1], group[2]);
  tool_text_add(declarations, "%s(", name);
  bool ok = true;
  for (cl_uint i = 0; i < count && ok; i++)
    ok = argument_add(cl, kernel, i, declarations);
  tool_text_add(declarations, ");\n");
  cl->clReleaseKernel(kernel);
  return ok;
}

bool zocl_source_describe(zocl_module *module, tool_text *log)
{
  zocl_cl *cl = module->device->driver->cl;
  char message[512] = "OpenCL does not say what arguments kernels have";
  tool_text declarations = {0};
  char *names, *rest = NULL;
  QUERY(names, cl->clGetProgramInfo, module->program,
        CL_PROGRAM_KERNEL_NAMES);
  bool ok = names != NULL;
  for (char *name = ok ? strtok_r(names, ";", &rest) : NULL;
       name != NULL && ok; name = strtok_r(NULL, ";", &rest))
    ok = kernel_add(module, name, &declarations);
  free(names);
  size_t size;
  void *stubs = ok ? signature_spirv(declarations.text != NULL
                                         ? declarations.text : "",
                                     module->device->address_bits, &size,
                                     message, sizeof message)
                   : NULL;
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
  /* A caller that passes a C string may have counted its end. */
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
