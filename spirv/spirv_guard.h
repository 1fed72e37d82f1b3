/*
 * spirv_guard.h - entry points that may be launched with more work-items
 * than their range has: those beyond it do nothing.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_SPIRV_GUARD_H
#define LZE_SPIRV_GUARD_H

#include "spirv.h"

#include <string.h>

/* What the name of a guarded entry point starts with; the kernel's follows. */
#define SPIRV_GUARD_ENTRY "lze_guarded_"
static inline bool spirv_is_guard(const char *entry_point)
{
  const size_t length = sizeof SPIRV_GUARD_ENTRY - 1;
  return strncmp(entry_point, SPIRV_GUARD_ENTRY, length) == 0;
}

/* Its last two arguments are vectors of three unsigned integers of the
   module's address_bits: where the global ids begin, and how many work-items
   there are along x, y and z.  It is launched without an offset. */
enum { SPIRV_GUARD_FIRST, SPIRV_GUARD_COUNT, SPIRV_GUARD_ARGUMENTS };

/* Returns true if more work-items of a kernel may be launched than its range
   has without the others noticing: it asks for nothing but the global id and
   the number of dimensions, and its work-items share neither barriers nor
   local memory. */
bool spirv_can_guard(const spirv_module *module, const spirv_kernel *kernel);

/*
 * The module with a guarded entry point for each kernel that can have one, of
 * its arguments and SPIRV_GUARD_ARGUMENTS more; a function with several names
 * has as many guarded names.  With `keep` all kernels stay, too, and share
 * their program-scope variables with the guarded entry points; else these are
 * the only entry points.  Returns `*count` words for the caller to free, or
 * NULL if memory has run out.
 */
uint32_t *spirv_guard(const spirv_module *module, bool keep, size_t *count);

#endif
