/*
 * spirv_compare.c - finds kernels that use the values of pointers.
 * SPDX-License-Identifier: MIT
 */
#include "spirv.h"

#include <stdlib.h>

#include <spirv/unified1/spirv.h>

static bool function_compares(const spirv_module *m, const spirv_function *f)
{
  for (size_t i = f->first; i < (size_t)f->first + f->count; i++)
    switch (m->instructions[i].opcode) {
    case SpvOpConvertPtrToU:
    case SpvOpPtrEqual:
    case SpvOpPtrNotEqual:
    case SpvOpPtrDiff: return true;
    default: break;
    }
  return false;
}

bool spirv_compares_pointers(const spirv_module *m, const spirv_kernel *kernel)
{
  uint32_t *todo = malloc((m->function_count + 1) * sizeof *todo);
  bool *seen = calloc(m->function_count + 1, sizeof *seen);
  bool compares = todo == NULL || seen == NULL;
  size_t waiting = 0;
  if (!compares) {
    todo[waiting++] = kernel->function;
    seen[kernel->function] = true;
  }
  while (waiting > 0 && !compares) {
    const spirv_function *f = &m->functions[todo[--waiting]];
    compares = function_compares(m, f);
    for (uint32_t i = 0; i < f->callee_count; i++) {
      uint32_t callee = f->callees[i];
      if (!seen[callee]) todo[waiting++] = callee;
      seen[callee] = true;
    }
  }
  free(todo);
  free(seen);
  return compares;
}
