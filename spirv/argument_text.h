/*
 * argument_text.h - copies kernel arguments' types from LLVM's text to SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * LLVM's own SPIR-V writer drops clang's descriptions of arguments; llvm-spirv
 * writes them as strings. This file adds the strings, so the reader finds them
 * in both cases.
 */
#ifndef ARGUMENT_TEXT_H
#define ARGUMENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Adds the types and qualifiers of kernels' arguments in `llvm`, an LLVM module
 * as text, to *spirv, which is malloc'ed and *size bytes long. Typedefs are
 * replaced by their types. A module that already has these strings, or is
 * malformed, does not change. Returns false, with *spirv unchanged, when memory
 * runs out.
 */
bool argument_text_add(const char *llvm, unsigned char **spirv, size_t *size);

#endif
