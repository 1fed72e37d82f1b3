/*
 * spirv_guard.h - entry points in which work-items beyond the range do
 * nothing, so that a launch may have more work-items than its range.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_SPIRV_GUARD_H
#define LZE_SPIRV_GUARD_H

#include "spirv.h"

#include <string.h>

/* The prefix of a guarded entry point's name; the kernel's name follows. */
#define SPIRV_GUARD_ENTRY "lze_guarded_"
static inline bool spirv_is_guard(const char *entry_point)
{
  const size_t length = sizeof SPIRV_GUARD_ENTRY - 1;
  return strncmp(entry_point, SPIRV_GUARD_ENTRY, length) == 0;
}

/* The last two arguments of a guarded entry point, which is launched without an
   offset: the first global id and the number of work-items. Each is a vector of
   three unsigned integers (x, y and z) of the module's address_bits. */
enum { SPIRV_GUARD_FIRST, SPIRV_GUARD_COUNT, SPIRV_GUARD_ARGUMENTS };

/* Returns true if work-items beyond the range of a kernel would not affect the
   others: it queries only the global id and the number of dimensions, and its
   work-items share neither barriers nor local memory. */
bool spirv_can_guard(const spirv_module *module, const spirv_kernel *kernel);

/*
 * Returns the module with a guarded entry point for each kernel that can have
 * one: `*count` words for the caller to free, or NULL when memory runs out. A
 * guarded entry point has the kernel's arguments and SPIRV_GUARD_ARGUMENTS
 * more. A function with several names has as many guarded names. With `keep`,
 * all kernels remain and share their program-scope variables with the guarded
 * entry points. Otherwise the guarded entry points are the only ones.
 */
uint32_t *spirv_guard(const spirv_module *module, bool keep, size_t *count);

#endif
