/*
 * input.c - the built-in variables with the ids of a work-item.
 * SPDX-License-Identifier: MIT
 */
#include "compile.h"

static const char *const variable_names[] = {
  [SpvBuiltInNumWorkgroups] = "__spirv_BuiltInNumWorkgroups",
  [SpvBuiltInWorkgroupSize] = "__spirv_BuiltInWorkgroupSize",
  [SpvBuiltInWorkgroupId] = "__spirv_BuiltInWorkgroupId",
  [SpvBuiltInLocalInvocationId] = "__spirv_BuiltInLocalInvocationId",
  [SpvBuiltInGlobalInvocationId] = "__spirv_BuiltInGlobalInvocationId",
  [SpvBuiltInGlobalSize] = "__spirv_BuiltInGlobalSize",
  [SpvBuiltInSubgroupSize] = "__spirv_BuiltInSubgroupSize",
  [SpvBuiltInSubgroupLocalInvocationId] =
      "__spirv_BuiltInSubgroupLocalInvocationId"
};

/* Declared as the Khronos translator does. */
uint32_t builtin_input(compiler *c, unsigned which, uint32_t t) {
  uint32_t *id = &c->inputs[which & 63];
  if (*id != 0) return *id;
  *id = writer_id(&c->w);
  WRITE(&c->w, WRITER_GLOBAL, SpvOpVariable,
        t_pointer(c, SpvStorageClassInput, t), *id, SpvStorageClassInput);
  writer_string(&c->w, WRITER_NAME, SpvOpName, 1, id, variable_names[which], 0,
                NULL);
  WRITE(&c->w, WRITER_DECORATION, SpvOpDecorate, *id, SpvDecorationBuiltIn,
        which);
  WRITE(&c->w, WRITER_DECORATION, SpvOpDecorate, *id, SpvDecorationConstant);
  uint32_t linkage[] = {*id, SpvDecorationLinkageAttributes};
  writer_string(&c->w, WRITER_DECORATION, SpvOpDecorate, 2, linkage,
                variable_names[which], 1, (uint32_t[]){SpvLinkageTypeImport});
  return *id;
}

uint32_t builtin_id(compiler *c, unsigned which, unsigned dimension) {
  if (!c->emit) return 0;
  uint32_t t = t_int(c, 64);
  uint32_t v3 = writer_once(&c->w, SpvOpTypeVector, 0, 2, (uint32_t[]){t, 3});
  uint32_t from = builtin_input(c, which, v3), all = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, SpvOpLoad, v3, all, from,
        SpvMemoryAccessAlignedMask, 32);
  return op2(c, SpvOpCompositeExtract, t, all, dimension);
}
