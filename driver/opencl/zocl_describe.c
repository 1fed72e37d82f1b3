/*
 * zocl_describe.c - declarations of kernels in OpenCL C, from OpenCL.
 * SPDX-License-Identifier: MIT
 */
#include "opencl/zocl_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "signature.h"

/* Sets `text` to the malloc'ed string that a query returns, or NULL. */
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

/* The kernels' declarations.  The sizes of some types are known only in the
   source.  To get them from OpenCL, size kernels are appended to the source and
   built: each requires groups of the size of one type.  Nothing is launched. */
typedef struct description {
  const zocl_device *device;
  cl_program program;
  tool_text declarations;
  tool_text askers;      /* the size kernels */
  tool_text unknown;     /* error messages about their arguments */
  unsigned count;        /* of size kernels so far */
  cl_program sizes;      /* program with size kernels; NULL at first */
} description;

/* Returns true if a signature may contain that type. */
static bool is_known(const char *type)
{
  tool_text text = {0};
  size_t size;
  char message[256];
  tool_text_add(&text, "f(%s)", type);
  void *stubs =
      text.lost ? NULL : signature_spirv(text.text, 64, &size, message,
                                         sizeof message);
  free(text.text);
  free(stubs);
  return stubs != NULL;
}

/* Gets the group size that a kernel requires, or zeros. */
static void group_of(const description *d, cl_kernel kernel, size_t group[3])
{
  zocl_cl *cl = d->device->driver->cl;
  memset(group, 0, 3 * sizeof *group);
  cl->clGetKernelWorkGroupInfo(kernel, d->device->id,
                               CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                               3 * sizeof *group, group, NULL);
}

/* Adds a value whose type is known only in the source. */
static void value_add(description *d, const char *kernel, const char *type,
                      const char *name)
{
  zocl_cl *cl = d->device->driver->cl;
  char asker[32];
  size_t group[3] = {0};
  snprintf(asker, sizeof asker, "lze_size_%u", d->count++);
  if (d->sizes != NULL) {
    cl_int error;
    cl_kernel of = cl->clCreateKernel(d->sizes, asker, &error);
    if (of != NULL) {
      group_of(d, of, group);
      cl->clReleaseKernel(of);
    }
  } else {
    /* Arrays of samplers are invalid, so samplers fail here. */
    tool_text_add(&d->askers, "__kernel __attribute__((reqd_work_group_size("
                              "sizeof(%s[1]), 1, 1))) void %s(void) {}\n",
                  type, asker);
    tool_text_add(&d->unknown, "kernel %s: parameter %s: OpenCL does not say "
                               "what size '%s' has: declare a type of its own "
                               "before the kernels, or pass a pointer\n",
                  kernel, name, type);
  }
  tool_text_add(&d->declarations, "struct(%zu)", group[0]);
}

/* Adds the declaration of an argument: "global const float* x". */
static bool argument_add(description *d, const char *kernel_name,
                         cl_kernel kernel, cl_uint i)
{
  zocl_cl *cl = d->device->driver->cl;
  tool_text *to = &d->declarations;
  cl_kernel_arg_address_qualifier space = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
  cl_kernel_arg_type_qualifier qualifiers = 0;
  char *type, *name;
  cl->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                         sizeof space, &space, NULL);
  cl->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ACCESS_QUALIFIER,
                         sizeof access, &access, NULL);
  cl->clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER,
                         sizeof qualifiers, &qualifiers, NULL);
  QUERY(type, cl->clGetKernelArgInfo, kernel, i, CL_KERNEL_ARG_TYPE_NAME);
  QUERY(name, cl->clGetKernelArgInfo, kernel, i, CL_KERNEL_ARG_NAME);
  const char *called = name != NULL ? name : "";
  if (type != NULL) {
    tool_text_add(to, "%s%s%s", i > 0 ? ", " : "",
                  access == CL_KERNEL_ARG_ACCESS_READ_ONLY    ? "read_only "
                  : access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY ? "write_only "
                  : access == CL_KERNEL_ARG_ACCESS_READ_WRITE ? "read_write "
                  : space == CL_KERNEL_ARG_ADDRESS_GLOBAL     ? "global "
                  : space == CL_KERNEL_ARG_ADDRESS_CONSTANT   ? "constant "
                  : space == CL_KERNEL_ARG_ADDRESS_LOCAL      ? "local "
                                                              : "",
                  qualifiers & CL_KERNEL_ARG_TYPE_CONST ? "const " : "");
    if (access != CL_KERNEL_ARG_ACCESS_NONE || is_known(type))
      tool_text_add(to, "%s", type);
    else if (space != CL_KERNEL_ARG_ADDRESS_PRIVATE)
      tool_text_add(to, "void*");
    else
      value_add(d, kernel_name, type, called);
    tool_text_add(to, " %s", called);
  }
  bool found = type != NULL;
  free(type);
  free(name);
  return found;
}

/* Adds the declaration of a kernel. */
static bool kernel_add(description *d, const char *name)
{
  zocl_cl *cl = d->device->driver->cl;
  tool_text *to = &d->declarations;
  cl_int error;
  cl_uint count = 0;
  size_t group[3];
  cl_kernel kernel = cl->clCreateKernel(d->program, name, &error);
  if (kernel == NULL) return false;
  group_of(d, kernel, group);
  if (group[0] != 0)
    tool_text_add(to, "__attribute__((reqd_work_group_size(%zu, %zu, %zu))) ",
                  group[0], group[1], group[2]);
  tool_text_add(to, "%s(", name);
  cl->clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
  bool ok = true;
  for (cl_uint i = 0; i < count && ok; i++)
    ok = argument_add(d, name, kernel, i);
  tool_text_add(to, ");\n");
  cl->clReleaseKernel(kernel);
  return ok;
}

/* Declares all kernels. */
static bool declarations_make(description *d)
{
  zocl_cl *cl = d->device->driver->cl;
  char *names, *rest = NULL;
  free(d->declarations.text);
  d->declarations = (tool_text){0};
  d->count = 0;
  QUERY(names, cl->clGetProgramInfo, d->program, CL_PROGRAM_KERNEL_NAMES);
  bool ok = names != NULL;
  for (char *name = ok ? strtok_r(names, ";", &rest) : NULL;
       name != NULL && ok; name = strtok_r(NULL, ";", &rest))
    ok = kernel_add(d, name);
  free(names);
  return ok && !d->declarations.lost && !d->askers.lost;
}

/* Builds the size kernels. */
static bool sizes_build(description *d, const backend_code *code,
                        char *message, size_t cap)
{
  const zocl_device *device = d->device;
  zocl_cl *cl = device->driver->cl;
  const char *text[] = {code->bytes, "\n\n",
                        d->askers.text};
  const size_t sizes[] = {code->size, 2, d->askers.size};
  cl_int error;
  tool_text options = {0};
  zocl_program_options(device, code, &options);
  d->sizes = options.lost
                 ? NULL
                 : cl->clCreateProgramWithSource(device->driver->context, 3,
                                                 text, sizes, &error);
  bool built = d->sizes != NULL &&
               cl->clBuildProgram(d->sizes, 1, &device->id, options.text, NULL,
                                  NULL) == CL_SUCCESS;
  free(options.text);
  if (built) return true;
  snprintf(message, cap, "%s",
           d->unknown.lost ? "out of memory" : d->unknown.text);
  return false;
}

bool zocl_program_describe(const zocl_device *device, backend_program *program,
                           const backend_code *code, tool_text *declarations,
                           char *message, size_t message_size)
{
  description d = {.device = device, .program = (cl_program)program};
  snprintf(message, message_size,
           "OpenCL does not say what arguments kernels have");
  bool ok = declarations_make(&d);
  if (ok && d.count > 0)
    ok = sizes_build(&d, code, message, message_size) && declarations_make(&d);
  if (ok) tool_text_append(declarations, &d.declarations);
  if (d.sizes != NULL) device->driver->cl->clReleaseProgram(d.sizes);
  free(d.declarations.text);
  free(d.askers.text);
  free(d.unknown.text);
  return ok;
}
