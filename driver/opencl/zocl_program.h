/*
 * zocl_program.h - programs: OpenCL's compilers.
 * SPDX-License-Identifier: MIT
 */
#ifndef ZOCL_PROGRAM_H
#define ZOCL_PROGRAM_H

#include "base/backend.h"
#include "base/zocl_device.h"

#include <limits.h>

/* Finds the llvm-spirv that translates modules, if the device needs one. */
bool zocl_translator_find(const zocl_device *device, bool source,
                          char path[PATH_MAX]);

/* Writes the options for OpenCL's compiler. */
void zocl_program_options(const zocl_device *device, const backend_code *code,
                          tool_text *options);

/* ------------------------------------------------------------------------
 * The functions of the table in backend.h.
 */

bool zocl_takes_flag(const char *flag, size_t size, bool source);
void zocl_program_key(const zocl_device *device, bool source, cache_key *key);
/* Translates with llvm-spirv, preferably for OpenCL's LLVM version, or takes an
   earlier translation from the cache. */
bool zocl_translate(const zocl_device *device, backend_code *code,
                    tool_text *log);
bool zocl_program_new(const zocl_device *device, backend_code *code,
                      tool_text *log, backend_program **program);
void zocl_program_free(const zocl_driver *driver, backend_program *program);
bool zocl_program_describe(const zocl_device *device, backend_program *program,
                           const backend_code *code, tool_text *declarations,
                           char *message, size_t message_size);
bool zocl_program_again(const zocl_device *device, backend_code *code,
                        tool_text *log, backend_program **program);
bool zocl_program_compile(const zocl_device *device, backend_program *program);

#endif
