/*
 * spirv_tools.h - SPIRV-Tools' C interface, fit for more than one file.
 * SPDX-License-Identifier: MIT
 *
 * Its header of 2023 defines a constant with external linkage, so two files
 * that include it do not link; that of 2026 defines it static.  What stands in
 * its place is an inline function, of which either makes no symbol, and behind
 * that the constant is static.
 */
#ifndef LZE_SPIRV_TOOLS_H
#define LZE_SPIRV_TOOLS_H

#define kDefaultMaxIdBound                                                     \
  inline lze_spirv_nothing(void) { return 0; }                                 \
  static const uint32_t kDefaultMaxIdBound __attribute__((unused))
#include <spirv-tools/libspirv.h>
#undef kDefaultMaxIdBound

#endif
