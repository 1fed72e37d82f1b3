/*
 * spirv_tools.h - SPIRV-Tools' C interface, for more than one file.
 * SPDX-License-Identifier: MIT
 *
 * The header of 2023 defines a constant with external linkage, so that two
 * files that include it do not link. The header of 2026 defines it static.
 * This file makes the constant static. It gives the header's declaration to an
 * inline function, which adds no symbol in either case.
 */
#ifndef LZE_SPIRV_TOOLS_H
#define LZE_SPIRV_TOOLS_H

#define kDefaultMaxIdBound                                                     \
  inline lze_spirv_nothing(void) { return 0; }                                 \
  static const uint32_t kDefaultMaxIdBound __attribute__((unused))
#include <spirv-tools/libspirv.h>
#undef kDefaultMaxIdBound

#endif
