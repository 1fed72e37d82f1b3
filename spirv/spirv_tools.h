/*
 * spirv_tools.h - SPIRV-Tools' C interface, fit for more than one file.
 * SPDX-License-Identifier: MIT
 *
 * Its header of 2023 defines a constant with external linkage, so two files
 * that include it do not link.  Weak definitions do.
 */
#ifndef LZE_SPIRV_TOOLS_H
#define LZE_SPIRV_TOOLS_H

#define kDefaultMaxIdBound __attribute__((weak)) kDefaultMaxIdBound
#include <spirv-tools/libspirv.h>
#undef kDefaultMaxIdBound

#endif
