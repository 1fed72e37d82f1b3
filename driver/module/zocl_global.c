/*
 * zocl_global.c - program-scope variables, which all kernels of a module share.
 * SPDX-License-Identifier: MIT
 *
 * A compiler may give each kernel its own copy of the variables, and none
 * reports their addresses.  So they are in our memory, and zocl_link.c writes
 * its addresses into the code.
 */
#include "module/zocl_module.h"

#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/spirv.h>

size_t zocl_global_blocks(const zocl_module *module, void **blocks)
{
  size_t count = 0;
  for (uint32_t i = 0; i <= module->held_count; i++) {
    const zocl_storage *s =
        i < module->held_count ? module->held[i] : module->storage;
    if (s == NULL) continue;
    if (blocks != NULL) blocks[count] = s->block.at;
    count++;
  }
  return count;
}

/* ------------------------------------------------------------------------
 * Finding the variables.
 */

static spirv_layout layout_of(const spirv_module *m, uint32_t type)
{
  const spirv_instruction *in = spirv_definition(m, type);
  return in != NULL ? m->layouts[in - m->instructions] : (spirv_layout){0};
}

bool zocl_globals_place(zocl_module *module, tool_text *log)
{
  const spirv_module *m = module->spirv;
  size_t count = 0, size = 0;
  for (size_t i = 0; i < m->instruction_count; i++)
    count += m->instructions[i].opcode == SpvOpVariable &&
             m->instructions[i].words[3] == SpvStorageClassCrossWorkgroup;
  if (count == 0) return true;
  module->globals = calloc(count, sizeof *module->globals);
  if (module->globals == NULL) goto memory;
  for (uint32_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode != SpvOpVariable ||
        in->words[3] != SpvStorageClassCrossWorkgroup)
      continue;
    zocl_global *g = &module->globals[module->global_count++];
    const spirv_instruction *pointer = spirv_definition(m, in->result_type);
    spirv_layout layout =
        pointer != NULL && pointer->opcode == SpvOpTypePointer
            ? layout_of(m, pointer->words[3])
            : (spirv_layout){0};
    *g = (zocl_global){.at = i, .bytes = layout.bytes};
    for (size_t j = 0; j < m->symbol_count; j++)
      if (m->symbols[j].at == i) {
        g->name = m->symbols[j].name;
        g->imported = m->symbols[j].imported;
        g->exported = m->symbols[j].exported;
      }
    if (g->imported) continue;
    if (g->bytes == 0) {
      tool_text_add(log, "the size of the program-scope variable %s is not "
                         "known\n", g->name != NULL ? g->name : "");
      return false;
    }
    /* Each variable has its own cache line, which satisfies any alignment. */
    g->offset = size;
    size += (g->bytes + 127) & ~(size_t)127;
  }
  if (size == 0) return true; /* all are imported */
  if (size > module->device->memory_bytes) goto memory;
  module->storage = zocl_storage_new(
      module->device, zocl_hash(5, module->words, module->size), size);
  if (module->storage == NULL) goto memory;
  for (uint32_t i = 0; i < module->global_count; i++)
    if (!module->globals[i].imported)
      module->globals[i].address =
          module->storage->base + module->globals[i].offset;
  return true;

memory:
  tool_text_add(log, "there is no memory for the program-scope variables\n");
  return false;
}

zocl_global *zocl_global_find(const zocl_module *module, const char *name)
{
  for (uint32_t i = 0; i < module->global_count; i++)
    if (module->globals[i].name != NULL &&
        strcmp(module->globals[i].name, name) == 0)
      return &module->globals[i];
  return NULL;
}

static bool hold(zocl_module *module, zocl_storage *storage)
{
  if (storage == NULL) return true;
  zocl_storage **more =
      realloc(module->held, (module->held_count + 1u) * sizeof *more);
  if (more == NULL) return false;
  module->held = more;
  module->held[module->held_count++] = zocl_storage_ref(storage);
  return true;
}

bool zocl_globals_hold(zocl_module *module, const zocl_module *other)
{
  bool ok = hold(module, other->storage);
  for (uint32_t i = 0; i < other->held_count && ok; i++)
    ok = hold(module, other->held[i]);
  return ok;
}

bool zocl_globals_import(zocl_module *module, zocl_module *const *others,
                         uint32_t count, tool_text *log)
{
  bool ok = true;
  for (uint32_t i = 0; i < module->global_count; i++) {
    zocl_global *g = &module->globals[i];
    if (!g->imported || g->address != NULL) continue;
    for (uint32_t j = 0; j < count && g->address == NULL; j++) {
      const zocl_global *from =
          others[j] != module ? zocl_global_find(others[j], g->name) : NULL;
      if (from == NULL || !from->exported) continue;
      if (from->bytes < g->bytes) {
        tool_text_add(log, "the variable %s is imported with %zu bytes and "
                           "exported with %zu\n", g->name, g->bytes,
                      from->bytes);
        return false;
      }
      if (!hold(module, others[j]->storage)) {
        tool_text_add(log, "out of memory\n");
        return false;
      }
      g->address = from->address;
      g->ready = true;
      g->bytes = from->bytes;
    }
    if (g->address == NULL) {
      tool_text_add(log, "unresolved import: %s\n", g->name);
      ok = false;
    }
  }
  return ok;
}

/* ------------------------------------------------------------------------
 * Initial values.
 */

/* The evaluation of one variable's initial value.  In source text, structures
   and chains of addresses are never nested deeply, and the number of steps is
   proportional to the size; but a module may come from anywhere, so both are
   limited. */
typedef struct evaluation {
  const zocl_module *module;
  uint64_t steps; /* steps left */
} evaluation;

enum { DEEPEST = 64 };

static bool value_of(evaluation *e, uint32_t id, int depth,
                     uint64_t *value);

/* Returns the width of an integer type, or 64. */
static unsigned width_of(const spirv_module *m, uint32_t type)
{
  const spirv_instruction *in = spirv_definition(m, type);
  return in != NULL && in->opcode == SpvOpTypeInt && in->words[2] < 64
             ? in->words[2]
             : 64;
}

static uint64_t extended(uint64_t value, unsigned width, bool with_sign)
{
  if (width >= 64) return value;
  value &= ((uint64_t)1 << width) - 1;
  return with_sign && value >> (width - 1) ? value | ~(uint64_t)0 << width
                                           : value;
}

/* Returns the offset of member `index` in a struct. */
static size_t member_offset(const spirv_module *m,
                            const spirv_instruction *type, uint64_t index)
{
  bool packed = m->layouts[type - m->instructions].is_packed;
  size_t offset = 0;
  for (uint64_t k = 0; k + 2 < type->word_count; k++) {
    spirv_layout part = layout_of(m, type->words[k + 2]);
    if (!packed && part.align > 1)
      offset = (offset + part.align - 1) / part.align * part.align;
    if (k == index) return offset;
    offset += part.bytes;
  }
  return offset;
}

/* Computes the address that a chain of constant indices selects.  `words`
   starts with the base; if `is_pointer`, the first index counts whole
   elements. */
static bool chain_value(evaluation *e, const uint32_t *words,
                        unsigned count, bool is_pointer, int depth,
                        uint64_t *value)
{
  const spirv_module *m = e->module->spirv;
  const spirv_instruction *base = spirv_definition(m, words[0]);
  const spirv_instruction *pointer =
      base != NULL ? spirv_definition(m, base->result_type) : NULL;
  if (pointer == NULL || pointer->opcode != SpvOpTypePointer ||
      !value_of(e, words[0], depth + 1, value))
    return false;
  uint32_t type = pointer->words[3];
  for (unsigned k = 1; k < count; k++) {
    const spirv_instruction *in = spirv_definition(m, type);
    const spirv_instruction *by = spirv_definition(m, words[k]);
    uint64_t index;
    if (in == NULL || by == NULL || !value_of(e, words[k], depth + 1,
                                              &index))
      return false;
    index = extended(index, width_of(m, by->result_type), true);
    if (k == 1 && is_pointer)
      *value += index * layout_of(m, type).bytes;
    else if (in->opcode == SpvOpTypeStruct) {
      if (index + 2 >= in->word_count) return false;
      *value += member_offset(m, in, index);
      type = in->words[2 + index];
    } else if (in->opcode == SpvOpTypeArray || in->opcode == SpvOpTypeVector) {
      type = in->words[2];
      *value += index * layout_of(m, type).bytes;
    } else
      return false;
  }
  return true;
}

/* Computes an OpSpecConstantOp, for operations that occur in initial values. */
static bool operation_value(evaluation *e, const spirv_instruction *in,
                            int depth, uint64_t *value)
{
  const spirv_module *m = e->module->spirv;
  const uint32_t *operands = in->words + 4;
  unsigned count = in->word_count - 4u;
  uint64_t a, b = 0;
  if (count == 0) return false;
  switch (in->words[3]) {
  case SpvOpAccessChain:
  case SpvOpInBoundsAccessChain:
    return chain_value(e, operands, count, false, depth, value);
  case SpvOpPtrAccessChain:
  case SpvOpInBoundsPtrAccessChain:
    return chain_value(e, operands, count, true, depth, value);
  }
  const spirv_instruction *first = spirv_definition(m, operands[0]);
  if (first == NULL || !value_of(e, operands[0], depth + 1, &a) ||
      (count > 1 && !value_of(e, operands[1], depth + 1, &b)))
    return false;
  unsigned from = width_of(m, first->result_type);
  switch (in->words[3]) {
  case SpvOpBitcast:
  case SpvOpConvertPtrToU:
  case SpvOpConvertUToPtr:
  case SpvOpPtrCastToGeneric:
  case SpvOpGenericCastToPtr: *value = a; break;
  case SpvOpUConvert: *value = extended(a, from, false); break;
  case SpvOpSConvert: *value = extended(a, from, true); break;
  case SpvOpIAdd: *value = a + b; break;
  case SpvOpISub: *value = a - b; break;
  case SpvOpIMul: *value = a * b; break;
  case SpvOpSNegate: *value = 0 - a; break;
  case SpvOpNot: *value = ~a; break;
  case SpvOpBitwiseAnd: *value = a & b; break;
  case SpvOpBitwiseOr: *value = a | b; break;
  case SpvOpBitwiseXor: *value = a ^ b; break;
  default: return false;
  }
  return true;
}

/* Computes a scalar or a pointer, in the low bits. */
static bool value_of(evaluation *e, uint32_t id, int depth,
                     uint64_t *value)
{
  const spirv_module *m = e->module->spirv;
  const spirv_instruction *in = spirv_definition(m, id);
  if (in == NULL || depth > DEEPEST || e->steps == 0) return false;
  e->steps--;
  switch (in->opcode) {
  case SpvOpConstant:
  case SpvOpSpecConstant:
    *value = in->words[3] |
             (in->word_count > 4 ? (uint64_t)in->words[4] << 32 : 0);
    return true;
  case SpvOpConstantTrue:
  case SpvOpSpecConstantTrue: *value = 1; return true;
  case SpvOpConstantFalse:
  case SpvOpSpecConstantFalse:
  case SpvOpConstantNull:
  case SpvOpUndef: *value = 0; return true;
  case SpvOpSpecConstantOp: return operation_value(e, in, depth, value);
  case SpvOpVariable:
    for (uint32_t i = 0; i < e->module->global_count; i++)
      if (&m->instructions[e->module->globals[i].at] == in) {
        *value = (uintptr_t)e->module->globals[i].address;
        return e->module->globals[i].address != NULL;
      }
    return false;
  default: return false;
  }
}

/* Writes a constant of any type to `place`, which is zeroed and has room for
   `room` bytes. */
static bool value_write(evaluation *e, uint32_t id, int depth, char *place,
                        size_t room)
{
  const spirv_module *m = e->module->spirv;
  const spirv_instruction *in = spirv_definition(m, id);
  if (in == NULL || depth > DEEPEST || e->steps == 0) return false;
  e->steps--;
  if (in->opcode == SpvOpConstantNull || in->opcode == SpvOpUndef) return true;
  if (in->opcode == SpvOpConstantComposite ||
      in->opcode == SpvOpSpecConstantComposite) {
    const spirv_instruction *type = spirv_definition(m, in->result_type);
    if (type == NULL) return false;
    for (unsigned k = 3; k < in->word_count; k++) {
      size_t offset;
      if (type->opcode == SpvOpTypeStruct)
        offset = member_offset(m, type, k - 3);
      else if (type->opcode == SpvOpTypeArray ||
               type->opcode == SpvOpTypeVector)
        offset = (k - 3) * layout_of(m, type->words[2]).bytes;
      else
        return false;
      if (offset > room || !value_write(e, in->words[k], depth + 1,
                                        place + offset, room - offset))
        return false;
    }
    return true;
  }
  uint64_t value;
  size_t bytes = layout_of(m, in->result_type).bytes;
  if (!value_of(e, id, 0, &value) || bytes > room) return false;
  switch (bytes) {
  case 1: memcpy(place, &(uint8_t){(uint8_t)value}, 1); return true;
  case 2: memcpy(place, &(uint16_t){(uint16_t)value}, 2); return true;
  case 4: memcpy(place, &(uint32_t){(uint32_t)value}, 4); return true;
  case 8: memcpy(place, &value, 8); return true;
  default: return false;
  }
}

bool zocl_globals_fill(zocl_module *module, tool_text *log)
{
  bool all = true;
  for (uint32_t i = 0; i < module->global_count; i++) {
    zocl_global *g = &module->globals[i];
    const spirv_instruction *in = &module->spirv->instructions[g->at];
    evaluation e = {module, 64 * (uint64_t)g->bytes + 4096};
    if (g->ready || g->imported) continue;
    g->ready = in->word_count < 5 ||
               value_write(&e, in->words[4], 0, g->address, g->bytes);
    if (g->ready) continue;
    all = false;
    if (log != NULL)
      tool_text_add(log, "the initial value of the program-scope variable %s "
                         "is made in a way that is not supported\n",
                    g->name != NULL ? g->name : "");
  }
  return all;
}
