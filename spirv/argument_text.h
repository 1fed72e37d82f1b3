/*
 * argument_text.h - copies kernel arguments' types from LLVM's text to SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * LLVM's own writer of SPIR-V drops clang's descriptions of arguments;
 * llvm-spirv writes them as strings. With this, the reader finds them in both
 * cases.
 */
#ifndef ARGUMENT_TEXT_H
#define ARGUMENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Adds the types and qualifiers of kernels' arguments in `llvm`, a module of
 * LLVM as text, to *spirv, which is malloc'ed and *size bytes long. Typedefs
 * are replaced by their types. A module that has these strings already, or a
 * malformed one, does not change. Returns false, with *spirv unchanged, when
 * memory runs out.
 */
bool argument_text_add(const char *llvm, unsigned char **spirv, size_t *size);

#endif
