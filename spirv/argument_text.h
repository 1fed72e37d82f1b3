/*
 * argument_text.h - what LLVM's text says of kernels' arguments, put into
 * SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * LLVM's own writer of SPIR-V drops what clang says of arguments, where
 * llvm-spirv keeps it in strings.  The reader finds both alike.
 */
#ifndef ARGUMENT_TEXT_H
#define ARGUMENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Add to *spirv, malloc'ed and *size bytes long, what `llvm`, a module of LLVM
 * as text, says of the types and qualifiers of kernels' arguments.  Types are
 * those that typedefs stand for.  A module stays as it is that has such strings
 * already, or where either of them is not what it should be.
 * Returns false, with *spirv as it was, when memory ran out.
 */
bool argument_text_add(const char *llvm, unsigned char **spirv, size_t *size);

#endif
