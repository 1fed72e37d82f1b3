/*
 * zocl_program.c - programs: OpenCL's compilers.
 * SPDX-License-Identifier: MIT
 */
#include "opencl/zocl_program.h"

#include <stdlib.h>
#include <string.h>

/* Returns true if OpenCL's compiler accepts the flag of n bytes at p. */
bool zocl_takes_flag(const char *p, size_t n, bool source)
{
  return (n > 3 && strncmp(p, "-cl", 3) == 0) ||
         (source && n > 2 &&
          (strncmp(p, "-D", 2) == 0 || strncmp(p, "-I", 2) == 0 ||
           strncmp(p, "-U", 2) == 0)) ||
         (source && n == 2 && strncmp(p, "-w", 2) == 0) ||
         (source && n == 7 && strncmp(p, "-Werror", 7) == 0);
}

/* Translates Level Zero's build flags to OpenCL's.  Drops flags without a
   counterpart, since the specification lets drivers ignore flags. */
static void flags_translate(const char *flags, bool source,
                            tool_text *options)
{
  static const struct {
    const char *flag, *option;
  } known[] = {
    {"-ze-opt-disable", "-cl-opt-disable"},
    {"-ze-opt-level=O0", "-cl-opt-disable"},
  };
  const char *p = flags;
  while (*(p += strspn(p, " \t\n")) != '\0') {
    size_t n = strcspn(p, " \t\n");
    const char *option = NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      if (strlen(known[i].flag) == n && strncmp(p, known[i].flag, n) == 0)
        option = known[i].option;
    if (option != NULL)
      tool_text_add(options, " %s", option);
    else if (zocl_takes_flag(p, n, source))
      tool_text_add(options, " %.*s", (int)n, p);
    p += n;
  }
}

void zocl_program_options(const zocl_device *device, const backend_code *code,
                          tool_text *options)
{
  /* Without kernel-arg-info PoCL treats a pointer argument as a scalar and
     crashes. */
  tool_text_add(options, "%s-cl-kernel-arg-info",
                device->takes_il || code->source ? ""
                                                 : "-x spir -spir-std=1.2 ");
  flags_translate(code->flags, code->source, options);
  /* Lets PoCL's cache distinguish code that was compiled without the variables
     that the driver sets for PoCL 7. */
  if (device->driver->pocl >= 7)
    tool_text_add(options, " -DZOCL_POCL_SETTINGS=2");
}

/* Returns the program, not yet built; NULL with the reason in log. */
static cl_program program_make(const zocl_device *device, backend_code *code,
                               tool_text *log)
{
  zocl_cl *cl = device->driver->cl;
  cl_int error;
  cl_program program;
  const char *call;
  if (code->source) {
    const char *text = code->bytes;
    call = "clCreateProgramWithSource";
    program = cl->clCreateProgramWithSource(device->driver->context, 1, &text,
                                            &code->size, &error);
  } else if (device->takes_il) {
    call = "clCreateProgramWithIL";
    program = cl->clCreateProgramWithIL(device->driver->context, code->bytes,
                                        code->size, &error);
  } else {
    if (!zocl_translate(device, code, log)) return NULL;
    const unsigned char *binary = code->translated;
    cl_int status;
    call = "clCreateProgramWithBinary";
    program = cl->clCreateProgramWithBinary(
        device->driver->context, 1, &device->id, &code->translated_size,
        &binary, &status, &error);
  }
  if (program == NULL)
    tool_text_add(log, "%s: OpenCL error %d\n", call, (int)error);
  return program;
}

bool zocl_program_new(const zocl_device *device, backend_code *code,
                      tool_text *log, backend_program **made)
{
  zocl_cl *cl = device->driver->cl;
  tool_text options = {0};
  cl_program program = program_make(device, code, log);
  if (program == NULL) return false;
  zocl_program_options(device, code, &options);
  cl_int error = options.text == NULL
                     ? CL_OUT_OF_HOST_MEMORY
                     : cl->clBuildProgram(program, 1, &device->id,
                                          options.text, NULL, NULL);
  free(options.text);
  size_t size = 0;
  cl->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL,
                            &size);
  char *text = size > 1 ? calloc(1, size + 1) : NULL;
  if (text != NULL) {
    cl->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size,
                              text, NULL);
    const tool_text said = {.text = text, .size = strlen(text)};
    tool_text_append(log, &said);
    free(text);
  }
  if (error == CL_SUCCESS) {
    *made = (backend_program *)program;
    return true;
  }
  tool_text_add(log, "clBuildProgram: OpenCL error %d\n", (int)error);
  cl->clReleaseProgram(program);
  return false;
}

void zocl_program_free(const zocl_driver *driver, backend_program *program)
{
  driver->cl->clReleaseProgram((cl_program)program);
}

void zocl_program_key(const zocl_device *device, bool source, cache_key *key)
{
  const zocl_driver *driver = device->driver;
  char driver_version[256] = "", translator[PATH_MAX];
  driver->cl->clGetDeviceInfo(device->id, CL_DRIVER_VERSION,
                              sizeof driver_version - 1, driver_version, NULL);
  cache_key_add(key, driver->version, strlen(driver->version));
  cache_key_add(key, driver_version, strlen(driver_version));
  cache_key_add(key, device->name, strlen(device->name));
  if (zocl_translator_find(device, source, translator))
    cache_key_add_file(key, translator);
}

/* Builds the module again, as other processes will, from PoCL's cache: PoCL 3.1
   cannot read everything that it writes there, and ends the process then. */
bool zocl_program_again(const zocl_device *device, backend_code *code,
                        tool_text *log, backend_program **program)
{
  if (device->driver->pocl == 0 || code->source) return true;
  zocl_program_free(device->driver, *program);
  *program = NULL;
  return zocl_program_new(device, code, log, program);
}

/* PoCL compiles all kernels when the program's binary is queried. */
bool zocl_program_compile(const zocl_device *device, backend_program *program)
{
  zocl_cl *cl = device->driver->cl;
  size_t size = 0;
  if (cl->clGetProgramInfo((cl_program)program, CL_PROGRAM_BINARY_SIZES,
                           sizeof size, &size, NULL) != CL_SUCCESS || size == 0)
    return true; /* this OpenCL does not provide a binary */
  unsigned char *binary = malloc(size), *binaries[1] = {binary};
  if (binary == NULL) return false;
  cl_int error = cl->clGetProgramInfo((cl_program)program, CL_PROGRAM_BINARIES,
                                      sizeof binaries, binaries, NULL);
  free(binary);
  return error == CL_SUCCESS;
}
