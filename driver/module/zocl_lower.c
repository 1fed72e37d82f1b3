/*
 * zocl_lower.c - replaces functions that the compiler's library lacks.
 * SPDX-License-Identifier: MIT
 *
 * SPIR-V is rewritten before it is built.  Half arithmetic becomes float
 * arithmetic, which is precise enough, if the device does not support halves.
 * Atomic operations on generic pointers, which some libraries lack, become
 * operations on global ones if all memory has one address space.  Atomic
 * operations on floating-point numbers, which only extensions have, become
 * loops around an integer exchange.  Fences call the library by the name that
 * it uses itself, and copies by a group become loops.  Values written to 3D
 * images and 2D arrays become unsigned if the library has only the function for
 * unsigned numbers.
 */
#include "module/zocl_build.h"

#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>

/* A growing array of words. */
typedef struct words {
  uint32_t *at;
  size_t count, room;
} words;

/* A function that performs one operation through pointers of this type. */
typedef struct helper {
  uint16_t opcode;
  uint32_t pointer_type, from_type, id; /* from_type: for copies */
} helper;

/* Functions of the library, called by its own names. */
enum { MEM_FENCE, LOCAL_ID, LOCAL_SIZE, IMPORTS };

typedef struct lowering {
  const spirv_module *m;
  bool halves, generics, groups, images; /* what to lower on this device */
  /* Sections, in the order in which a module has them. */
  words capabilities, head, decorations, types, declarations, prototypes, body,
      functions;
  uint32_t bound, imports[IMPORTS];
  helper *helpers;
  unsigned helper_count;
  bool changed, failed;  /* failed: out of memory */
} lowering;

/* ------------------------------------------------------------------------
 * Reading and writing.
 */

static void emit(lowering *l, words *w, unsigned opcode, size_t count,
                 const uint32_t *operands)
{
  if (w->room - w->count <= count) {
    size_t room = 2 * w->room + count + 64;
    uint32_t *more = realloc(w->at, room * sizeof *more);
    if (more == NULL) {
      l->failed = true;
      return;
    }
    w->at = more;
    w->room = room;
  }
  w->at[w->count++] = (uint32_t)(count + 1) << 16 | opcode;
  if (count > 0)
    memcpy(w->at + w->count, operands, count * sizeof *operands);
  w->count += count;
}

#define WORDS(...) \
  sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
      (uint32_t[]){__VA_ARGS__}

/* Emits an instruction with a result, whose id is returned. */
#define RESULT(w, opcode, type, ...) \
  result_emit(l, (w), (opcode), (type), WORDS(__VA_ARGS__))

enum { MAX_OPERANDS = 16 }; /* lanes of the largest vector */

static uint32_t result_emit(lowering *l, words *w, unsigned opcode,
                            uint32_t type, size_t count,
                            const uint32_t *operands)
{
  uint32_t all[2 + MAX_OPERANDS] = {type, l->bound++};
  memcpy(all + 2, operands, count * sizeof *operands);
  emit(l, w, opcode, count + 2, all);
  return all[1];
}

static const spirv_instruction *definition(const lowering *l, uint32_t id)
{
  return spirv_definition(l->m, id);
}

/* Returns the instruction that defines the type of a value of the module. */
static const spirv_instruction *type_of(const lowering *l, uint32_t id)
{
  const spirv_instruction *in = definition(l, id);
  return in != NULL ? definition(l, in->result_type) : NULL;
}

/* Returns the id of a type or a constant, existing or new; its result is word
   `at`, and `operands` are the other words. */
static uint32_t declared(lowering *l, unsigned opcode, unsigned at,
                         size_t count, const uint32_t *operands)
{
  uint32_t all[2 + MAX_OPERANDS];
  size_t n = 0;
  for (size_t k = 0; k < count; k++) {
    if (k + 1 == at) all[n++] = 0;
    all[n++] = operands[k];
  }
  if (n == count) all[n++] = 0;
  const uint32_t first = (uint32_t)(n + 1) << 16 | opcode;
  for (size_t i = 0; i < l->m->instruction_count; i++) {
    const spirv_instruction *in = &l->m->instructions[i];
    if (in->opcode == SpvOpFunction) break;
    all[at - 1] = in->result;
    if (in->words[0] == first &&
        memcmp(in->words + 1, all, n * sizeof *all) == 0)
      return in->result;
  }
  const words *w = &l->declarations;
  for (size_t i = 0; i < w->count; i += w->at[i] >> 16) {
    if (w->at[i] != first) continue;
    all[at - 1] = w->at[i + at];
    if (memcmp(w->at + i + 1, all, n * sizeof *all) == 0) return w->at[i + at];
  }
  all[at - 1] = l->bound++;
  emit(l, &l->declarations, opcode, n, all);
  return all[at - 1];
}

#define TYPE(opcode, ...) declared(l, (opcode), 1, WORDS(__VA_ARGS__))
#define CONSTANT(type, ...) \
  declared(l, SpvOpConstant, 2, WORDS((type), __VA_ARGS__))

static void capability_need(lowering *l, SpvCapability capability)
{
  for (size_t i = 0; i < l->m->capability_count; i++)
    if (l->m->capabilities[i] == (uint32_t)capability) return;
  for (size_t i = 0; i < l->capabilities.count; i += 2)
    if (l->capabilities.at[i + 1] == (uint32_t)capability) return;
  emit(l, &l->capabilities, SpvOpCapability, WORDS((uint32_t)capability));
}

/* ------------------------------------------------------------------------
 * Halves.
 */

/* For half, or a vector of halves, returns the type with floats instead; else
   0.  The module may be invalid: check that a vector has numbers, and at most
   16. */
static uint32_t wide_type(lowering *l, const spirv_instruction *type)
{
  const bool vector = type != NULL && type->opcode == SpvOpTypeVector;
  const spirv_instruction *lane =
      vector ? definition(l, type->words[2]) : type;
  if (lane == NULL || lane->opcode != SpvOpTypeFloat || lane->words[2] != 16 ||
      (vector && type->words[3] > 16))
    return 0;
  const uint32_t wide = TYPE(SpvOpTypeFloat, 32);
  return vector ? TYPE(SpvOpTypeVector, wide, type->words[3]) : wide;
}

static uint32_t lane_type(const spirv_instruction *type)
{
  return type->opcode == SpvOpTypeVector ? type->words[2] : type->result;
}

/* Converts a number as the compiler does, or to half with a rounding mode: to
   the nearest half or, if that is on the wrong side, to its neighbour. */
static void lane_emit(lowering *l, unsigned opcode, uint32_t to, uint32_t from,
                      uint32_t mode, uint32_t result, uint32_t value)
{
  words *w = &l->body;
  if (mode == SpvFPRoundingModeRTE) {
    emit(l, w, opcode, WORDS(to, result, value));
    return;
  }
  /* Integers that float cannot represent are far from all halves. */
  if (opcode != SpvOpFConvert) {
    from = TYPE(SpvOpTypeFloat, 32);
    value = RESULT(w, opcode, from, value);
  }
  const uint32_t boolean = declared(l, SpvOpTypeBool, 1, 0, NULL);
  const uint32_t bits = TYPE(SpvOpTypeInt, 16, 0), zero = CONSTANT(bits, 0);
  const uint32_t up = CONSTANT(bits, 1), down = CONSTANT(bits, 0xffff);
  capability_need(l, SpvCapabilityInt16);
  uint32_t nearest = RESULT(w, SpvOpFConvert, to, value);
  uint32_t back = RESULT(w, SpvOpFConvert, from, nearest);
  uint32_t high = RESULT(w, SpvOpFOrdGreaterThan, boolean, back, value);
  uint32_t low = RESULT(w, SpvOpFOrdLessThan, boolean, back, value);
  uint32_t number = RESULT(w, SpvOpBitcast, bits, nearest);
  uint32_t negative = RESULT(w, SpvOpSLessThan, boolean, number, zero);
  uint32_t wrong = high, step = down;
  switch (mode) {
  case SpvFPRoundingModeRTZ:
    wrong = RESULT(w, SpvOpSelect, boolean, negative, low, high);
    break;
  case SpvFPRoundingModeRTP:
    wrong = low;
    step = RESULT(w, SpvOpSelect, bits, negative, down, up);
    break;
  default: step = RESULT(w, SpvOpSelect, bits, negative, up, down);
  }
  number = RESULT(w, SpvOpIAdd, bits, number, step);
  uint32_t other = RESULT(w, SpvOpBitcast, to, number);
  emit(l, w, SpvOpSelect, WORDS(to, result, wrong, other, nearest));
}

/* Converts a value lane by lane, because vector conversions are library
   functions too; the compiler itself converts scalars.  `shape` is a type with
   the same number of lanes. */
static void convert_emit(lowering *l, unsigned opcode,
                         const spirv_instruction *shape, uint32_t to,
                         uint32_t to_lane, uint32_t from_lane, uint32_t mode,
                         uint32_t result, uint32_t value)
{
  words *w = &l->body;
  if (shape->opcode != SpvOpTypeVector) {
    lane_emit(l, opcode, to, from_lane, mode, result, value);
    return;
  }
  /* llvm-spirv 15 crashes on OpCompositeConstruct of halves. */
  uint32_t made = l->bound++, lanes = shape->words[3];
  emit(l, w, SpvOpUndef, WORDS(to, made));
  for (uint32_t i = 0; i < lanes; i++) {
    uint32_t from = RESULT(w, SpvOpCompositeExtract, from_lane, value, i);
    uint32_t lane = l->bound++;
    lane_emit(l, opcode, to_lane, from_lane, mode, lane, from);
    uint32_t next = i + 1 < lanes ? l->bound++ : result;
    emit(l, w, SpvOpCompositeInsert, WORDS(to, next, lane, made, i));
    made = next;
  }
}

/* Returns the decoration of a value, or NULL. */
static const uint32_t *decoration_of(const lowering *l, uint32_t id,
                                     SpvDecoration decoration)
{
  for (size_t i = 0; i < l->m->instruction_count; i++) {
    const spirv_instruction *in = &l->m->instructions[i];
    if (in->opcode == SpvOpFunction) break;
    if (in->opcode == SpvOpDecorate && in->words[1] == id &&
        in->words[2] == (uint32_t)decoration)
      return in->words;
  }
  return NULL;
}

/* Lowers a conversion from or to halves if it converts vectors or has a
   decoration, which make it a library function; drops a decoration with the
   rounding mode of a conversion that is lowered. */
static bool conversion_lower(lowering *l, const spirv_instruction *in)
{
  const bool decorates = in->opcode == SpvOpDecorate &&
                         in->words[2] == SpvDecorationFPRoundingMode;
  if (decorates) in = definition(l, in->words[1]);
  if (in == NULL) return false;
  switch (in->opcode) {
  case SpvOpConvertFToU:
  case SpvOpConvertFToS:
  case SpvOpConvertSToF:
  case SpvOpConvertUToF:
  case SpvOpFConvert: break;
  default: return false;
  }
  const spirv_instruction *to = definition(l, in->result_type);
  const spirv_instruction *from = type_of(l, in->words[3]);
  if (to == NULL || from == NULL ||
      (to->opcode == SpvOpTypeVector) != (from->opcode == SpvOpTypeVector) ||
      (to->opcode == SpvOpTypeVector &&
       (to->words[3] != from->words[3] || to->words[3] > MAX_OPERANDS)))
    return false;
  const uint32_t wide = wide_type(l, from);
  const bool to_half = wide_type(l, to) != 0;
  if (wide == 0 && !to_half) return false;
  const bool is_float = to_half || in->opcode == SpvOpFConvert;
  if (decorates) return is_float;
  const uint32_t *mode =
      decoration_of(l, in->result, SpvDecorationFPRoundingMode);
  if (!is_float &&
      (mode != NULL ||
       decoration_of(l, in->result, SpvDecorationSaturatedConversion) !=
           NULL)) {
    uint32_t value = l->bound++;
    convert_emit(l, SpvOpFConvert, from, wide, TYPE(SpvOpTypeFloat, 32),
                 lane_type(from), SpvFPRoundingModeRTE, value, in->words[3]);
    emit(l, &l->body, in->opcode,
         WORDS(in->result_type, in->result, value));
    return true;
  }
  if (to->opcode != SpvOpTypeVector && mode == NULL) return false;
  /* A conversion to float is exact in every mode. */
  convert_emit(l, in->opcode, to, to->result, lane_type(to), lane_type(from),
               to_half && mode != NULL ? mode[3] : SpvFPRoundingModeRTE,
               in->result, in->words[3]);
  return true;
}

/* If an instruction on halves gives the same result, except for rounding, with
   floats, returns the index of its first operand; else 0. */
static unsigned half_operands(const lowering *l, const spirv_instruction *in)
{
  switch (in->opcode) {
  case SpvOpDot:
  case SpvOpIsNan:
  case SpvOpIsInf:
  case SpvOpIsFinite:
  case SpvOpSignBitSet: return 3;
  case SpvOpExtInst: break;
  default: return 0;
  }
  const spirv_instruction *set = definition(l, in->words[3]);
  bool known = set != NULL && set->opcode == SpvOpExtInstImport &&
               strcmp((const char *)(set->words + 2), "OpenCL.std") == 0;
  uint32_t number = in->words[4];
  return known && number <= OpenCLstd_Fast_normalize &&
                 number != OpenCLstd_Nan && number != OpenCLstd_Nextafter
             ? 5
             : 0;
}

static bool half_lower(lowering *l, const spirv_instruction *in)
{
  unsigned first = half_operands(l, in);
  if (first == 0 || in->word_count > MAX_OPERANDS) return false;
  const spirv_instruction *type = definition(l, in->result_type);
  uint32_t all[MAX_OPERANDS], wide = wide_type(l, type);
  bool any = wide != 0;
  for (unsigned k = first; k < in->word_count; k++) {
    const spirv_instruction *operand = type_of(l, in->words[k]);
    any |= wide_type(l, operand) != 0;
    /* A result stored through a pointer to half cannot become a float. */
    if (operand != NULL && operand->opcode == SpvOpTypePointer &&
        wide_type(l, definition(l, operand->words[3])) != 0)
      return false;
  }
  if (!any) return false;
  const uint32_t single = TYPE(SpvOpTypeFloat, 32);
  memcpy(all, in->words, in->word_count * sizeof *all);
  for (unsigned k = first; k < in->word_count; k++) {
    const spirv_instruction *from = type_of(l, all[k]);
    uint32_t to = wide_type(l, from), value = all[k];
    if (to == 0) continue;
    all[k] = l->bound++;
    convert_emit(l, SpvOpFConvert, from, to, single, lane_type(from),
                 SpvFPRoundingModeRTE, all[k], value);
  }
  if (wide != 0) {
    all[1] = wide;
    all[2] = l->bound++;
  }
  emit(l, &l->body, in->opcode, in->word_count - 1u, all + 1);
  if (wide != 0)
    convert_emit(l, SpvOpFConvert, type, type->result, lane_type(type), single,
                 SpvFPRoundingModeRTE, in->result, all[2]);
  return true;
}

/* ------------------------------------------------------------------------
 * Atomic operations.
 */

/* Returns the word that holds the pointer of an atomic operation, or 0. */
static unsigned atomic_pointer(const spirv_instruction *in)
{
  switch (in->opcode) {
  case SpvOpAtomicStore:
  case SpvOpAtomicFlagClear: return 1;
  case SpvOpAtomicFlagTestAndSet:
  case SpvOpAtomicFMinEXT:
  case SpvOpAtomicFMaxEXT:
  case SpvOpAtomicFAddEXT: return 3;
  default:
    return in->opcode >= SpvOpAtomicLoad && in->opcode <= SpvOpAtomicXor ? 3
                                                                         : 0;
  }
}

/* Returns the width of the floating-point number that a pointer points to, or
   0. */
static unsigned float_bits(const lowering *l, uint32_t pointer_type)
{
  const spirv_instruction *type = definition(l, pointer_type);
  if (type == NULL || type->opcode != SpvOpTypePointer) return 0;
  type = definition(l, type->words[3]);
  return type != NULL && type->opcode == SpvOpTypeFloat ? type->words[2] : 0;
}

/* Combines the old number and the operand.  For minimum and maximum, a number
   wins over a NaN. */
static uint32_t float_combine(lowering *l, unsigned opcode, uint32_t type,
                              uint32_t old, uint32_t value)
{
  words *w = &l->functions;
  if (opcode == SpvOpAtomicFAddEXT)
    return RESULT(w, SpvOpFAdd, type, old, value);
  if (opcode != SpvOpAtomicFMinEXT && opcode != SpvOpAtomicFMaxEXT)
    return value;
  /* OpTypeBool has no operand except its result. */
  uint32_t boolean = declared(l, SpvOpTypeBool, 1, 0, NULL);
  uint32_t before = RESULT(w, opcode == SpvOpAtomicFMinEXT
                                  ? SpvOpFOrdLessThanEqual
                                  : SpvOpFOrdGreaterThanEqual,
                           boolean, old, value);
  uint32_t none = RESULT(w, SpvOpFUnordNotEqual, boolean, value, value);
  uint32_t keep = RESULT(w, SpvOpLogicalOr, boolean, before, none);
  return RESULT(w, SpvOpSelect, type, keep, old, value);
}

/* Makes the function for an operation: it takes the pointer and, except for a
   load, a value, and returns the old value. */
static uint32_t helper_new(lowering *l, unsigned opcode, uint32_t pointer_type)
{
  words *w = &l->functions;
  const spirv_instruction *pointer = definition(l, pointer_type);
  const uint32_t type = pointer->words[3];
  const unsigned bits = float_bits(l, pointer_type);
  const bool half = bits == 16, load = opcode == SpvOpAtomicLoad;
  const uint32_t int32 = TYPE(SpvOpTypeInt, 32, 0);
  const uint32_t whole = bits == 64 ? TYPE(SpvOpTypeInt, 64, 0) : int32;
  const bool generic =
      l->generics && pointer->words[2] == SpvStorageClassGeneric;
  const uint32_t storage =
      generic ? SpvStorageClassCrossWorkgroup : pointer->words[2];
  const uint32_t whole_pointer = TYPE(SpvOpTypePointer, storage, whole);
  const uint32_t scope = CONSTANT(int32, SpvScopeDevice);
  const uint32_t order =
      CONSTANT(int32, SpvMemorySemanticsSequentiallyConsistentMask);
  const uint32_t function_type =
      load ? TYPE(SpvOpTypeFunction, type, pointer_type)
           : TYPE(SpvOpTypeFunction, type, pointer_type, type);
  uint32_t narrow = 0, shift = 0, others = 0, at, value = 0;
  if (bits == 64) {
    capability_need(l, SpvCapabilityInt64);
    capability_need(l, SpvCapabilityInt64Atomics);
  }

  const uint32_t function = RESULT(w, SpvOpFunction, type,
                                   SpvFunctionControlMaskNone, function_type);
  uint32_t to = l->bound++;
  emit(l, w, SpvOpFunctionParameter, WORDS(pointer_type, to));
  if (!load) {
    value = l->bound++;
    emit(l, w, SpvOpFunctionParameter, WORDS(type, value));
  }
  const uint32_t entry = l->bound++, loop = l->bound++, done = l->bound++;
  emit(l, w, SpvOpLabel, WORDS(entry));
  if (generic)
    to = RESULT(w, SpvOpGenericCastToPtr,
                TYPE(SpvOpTypePointer, storage, type), to);
  if (half) {
    /* The half is one half of a 32-bit word. */
    const bool wide = l->m->address_bits == 64;
    const uint32_t address = wide ? TYPE(SpvOpTypeInt, 64, 0) : int32;
    const uint32_t align =
        wide ? CONSTANT(address, (uint32_t)-4, UINT32_MAX)
             : CONSTANT(address, (uint32_t)-4);
    narrow = TYPE(SpvOpTypeInt, 16, 0);
    capability_need(l, SpvCapabilityInt16);
    if (wide) capability_need(l, SpvCapabilityInt64);
    uint32_t number = RESULT(w, SpvOpConvertPtrToU, address, to);
    uint32_t base = RESULT(w, SpvOpBitwiseAnd, address, number, align);
    at = RESULT(w, SpvOpConvertUToPtr, whole_pointer, base);
    if (wide) number = RESULT(w, SpvOpUConvert, int32, number);
    number = RESULT(w, SpvOpBitwiseAnd, int32, number, CONSTANT(int32, 2));
    shift = RESULT(w, SpvOpShiftLeftLogical, int32, number,
                   CONSTANT(int32, 3));
    uint32_t mask = RESULT(w, SpvOpShiftLeftLogical, int32,
                           CONSTANT(int32, 0xffff), shift);
    others = RESULT(w, SpvOpNot, int32, mask);
  } else
    at = RESULT(w, SpvOpBitcast, whole_pointer, to);
  const uint32_t start =
      RESULT(w, SpvOpAtomicLoad, whole, at, scope, order);
  uint32_t old = start, old_value, got = l->bound++;
  if (!load) {
    emit(l, w, SpvOpBranch, WORDS(loop));
    emit(l, w, SpvOpLabel, WORDS(loop));
    old = RESULT(w, SpvOpPhi, whole, start, entry, got, loop);
  }
  old_value = old;
  if (half) {
    old_value = RESULT(w, SpvOpShiftRightLogical, int32, old, shift);
    old_value = RESULT(w, SpvOpUConvert, narrow, old_value);
  }
  old_value = RESULT(w, SpvOpBitcast, type, old_value);
  if (!load) {
    uint32_t new = float_combine(l, opcode, type, old_value, value);
    new = RESULT(w, SpvOpBitcast, half ? narrow : whole, new);
    if (half) {
      new = RESULT(w, SpvOpUConvert, int32, new);
      new = RESULT(w, SpvOpShiftLeftLogical, int32, new, shift);
      uint32_t rest = RESULT(w, SpvOpBitwiseAnd, int32, old, others);
      new = RESULT(w, SpvOpBitwiseOr, int32, new, rest);
    }
    emit(l, w, SpvOpAtomicCompareExchange,
         WORDS(whole, got, at, scope, order, order, new, old));
    uint32_t same = RESULT(w, SpvOpIEqual,
                           declared(l, SpvOpTypeBool, 1, 0, NULL), got, old);
    emit(l, w, SpvOpBranchConditional, WORDS(same, done, loop));
    emit(l, w, SpvOpLabel, WORDS(done));
  }
  emit(l, w, SpvOpReturnValue, WORDS(old_value));
  emit(l, w, SpvOpFunctionEnd, 0, NULL);
  return function;
}

/* ------------------------------------------------------------------------
 * Copies by a group, fences, and the functions that they call.
 */

static uint32_t void_type(lowering *l)
{
  return declared(l, SpvOpTypeVoid, 1, 0, NULL);
}

static uint32_t size_type(lowering *l)
{
  return TYPE(SpvOpTypeInt, l->m->address_bits, 0);
}

/* Declares a function that takes an unsigned int. */
static void import_new(lowering *l, int which, const char *name, uint32_t type)
{
  const uint32_t id = l->imports[which] = l->bound++;
  const uint32_t int32 = TYPE(SpvOpTypeInt, 32, 0);
  uint32_t linkage[2 + MAX_OPERANDS] = {id, SpvDecorationLinkageAttributes};
  const size_t length = strlen(name) / 4 + 1;
  memcpy(linkage + 2, name, strlen(name));
  linkage[2 + length] = SpvLinkageTypeImport;
  emit(l, &l->decorations, SpvOpDecorate, 3 + length, linkage);
  words *w = &l->prototypes;
  emit(l, w, SpvOpFunction,
       WORDS(type, id, SpvFunctionControlMaskNone,
             TYPE(SpvOpTypeFunction, type, int32)));
  emit(l, w, SpvOpFunctionParameter, WORDS(int32, l->bound++));
  emit(l, w, SpvOpFunctionEnd, 0, NULL);
}

/* Declares the library functions that the module needs, before any other
   function. */
static void groups_import(lowering *l)
{
  bool fences = false, copies = false;
  for (size_t i = 0; i < l->m->instruction_count; i++) {
    fences |= l->m->instructions[i].opcode == SpvOpMemoryBarrier;
    copies |= l->m->instructions[i].opcode == SpvOpGroupAsyncCopy;
  }
  if (fences) {
    capability_need(l, SpvCapabilityLinkage);
    import_new(l, MEM_FENCE, "_Z13_cl_mem_fencej", void_type(l));
  }
  if (copies) {
    capability_need(l, SpvCapabilityLinkage);
    import_new(l, LOCAL_ID, "_Z12get_local_idj", size_type(l));
    import_new(l, LOCAL_SIZE, "_Z14get_local_sizej", size_type(l));
  }
}

/* Computes the work-item's number in its group, and the size of the group. */
static uint32_t group_place(lowering *l, uint32_t *count)
{
  words *w = &l->functions;
  const uint32_t size = size_type(l), int32 = TYPE(SpvOpTypeInt, 32, 0);
  uint32_t place = 0;
  for (uint32_t d = 3; d-- > 0;) {
    uint32_t dimension = CONSTANT(int32, d);
    uint32_t id = RESULT(w, SpvOpFunctionCall, size, l->imports[LOCAL_ID],
                         dimension);
    uint32_t items = RESULT(w, SpvOpFunctionCall, size, l->imports[LOCAL_SIZE],
                            dimension);
    if (d == 2) {
      place = id;
      *count = items;
    } else {
      place = RESULT(w, SpvOpIMul, size, place, items);
      place = RESULT(w, SpvOpIAdd, size, place, id);
      *count = RESULT(w, SpvOpIMul, size, *count, items);
    }
  }
  return place;
}

/* Makes the function that copies between pointers of these types: (to, from,
   count, stride).  The stride applies to the global side. */
static uint32_t copy_new(lowering *l, uint32_t to_type, uint32_t from_type)
{
  words *w = &l->functions;
  const spirv_instruction *pointer = definition(l, to_type);
  const bool gather = pointer->words[2] == SpvStorageClassWorkgroup;
  const uint32_t size = size_type(l), none = void_type(l);
  const uint32_t boolean = declared(l, SpvOpTypeBool, 1, 0, NULL);
  const uint32_t type =
      TYPE(SpvOpTypeFunction, none, to_type, from_type, size, size);
  const uint32_t function =
      RESULT(w, SpvOpFunction, none, SpvFunctionControlMaskNone, type);
  const uint32_t to = l->bound++, from = l->bound++, count = l->bound++,
                 stride = l->bound++;
  emit(l, w, SpvOpFunctionParameter, WORDS(to_type, to));
  emit(l, w, SpvOpFunctionParameter, WORDS(from_type, from));
  emit(l, w, SpvOpFunctionParameter, WORDS(size, count));
  emit(l, w, SpvOpFunctionParameter, WORDS(size, stride));
  const uint32_t entry = l->bound++, loop = l->bound++, body = l->bound++,
                 done = l->bound++, next = l->bound++;
  uint32_t items = 0;
  emit(l, w, SpvOpLabel, WORDS(entry));
  const uint32_t first = group_place(l, &items);
  emit(l, w, SpvOpBranch, WORDS(loop));
  emit(l, w, SpvOpLabel, WORDS(loop));
  const uint32_t i = RESULT(w, SpvOpPhi, size, first, entry, next, body);
  const uint32_t more = RESULT(w, SpvOpULessThan, boolean, i, count);
  emit(l, w, SpvOpBranchConditional, WORDS(more, body, done));
  emit(l, w, SpvOpLabel, WORDS(body));
  const uint32_t far = RESULT(w, SpvOpIMul, size, i, stride);
  const uint32_t source = RESULT(w, SpvOpInBoundsPtrAccessChain, from_type,
                                 from, gather ? far : i);
  const uint32_t value = RESULT(w, SpvOpLoad, pointer->words[3], source);
  const uint32_t target = RESULT(w, SpvOpInBoundsPtrAccessChain, to_type, to,
                                 gather ? i : far);
  emit(l, w, SpvOpStore, WORDS(target, value));
  emit(l, w, SpvOpIAdd, WORDS(size, next, i, items));
  emit(l, w, SpvOpBranch, WORDS(loop));
  emit(l, w, SpvOpLabel, WORDS(done));
  emit(l, w, SpvOpReturn, 0, NULL);
  emit(l, w, SpvOpFunctionEnd, 0, NULL);
  return function;
}

static uint32_t helper_for(lowering *l, unsigned opcode, uint32_t pointer_type,
                           uint32_t from_type)
{
  for (unsigned i = 0; i < l->helper_count; i++)
    if (l->helpers[i].opcode == opcode &&
        l->helpers[i].pointer_type == pointer_type &&
        l->helpers[i].from_type == from_type)
      return l->helpers[i].id;
  helper *more = realloc(l->helpers, (l->helper_count + 1) * sizeof *more);
  if (more == NULL) {
    l->failed = true;
    return 0;
  }
  l->helpers = more;
  uint32_t id = opcode == SpvOpGroupAsyncCopy
                    ? copy_new(l, pointer_type, from_type)
                    : helper_new(l, opcode, pointer_type);
  l->helpers[l->helper_count++] =
      (helper){(uint16_t)opcode, pointer_type, from_type, id};
  return id;
}

static bool atomic_lower(lowering *l, const spirv_instruction *in)
{
  unsigned k = atomic_pointer(in);
  const spirv_instruction *type = k > 0 ? type_of(l, in->words[k]) : NULL;
  if (type == NULL || type->opcode != SpvOpTypePointer ||
      in->word_count > MAX_OPERANDS)
    return false;
  unsigned bits = float_bits(l, type->result);
  bool generic = l->generics && type->words[2] == SpvStorageClassGeneric;
  if (bits == 0 && !generic) return false;

  uint32_t all[MAX_OPERANDS], pointer_type = type->result;
  memcpy(all, in->words, in->word_count * sizeof *all);
  if (bits > 0) {
    /* A store is an exchange with an unused result. */
    bool store = in->opcode == SpvOpAtomicStore;
    unsigned opcode = store ? SpvOpAtomicExchange : in->opcode;
    uint32_t function = helper_for(l, opcode, pointer_type, 0);
    uint32_t call[5] = {store ? type->words[3] : in->result_type,
                        store ? l->bound++ : in->result, function, all[k],
                        in->words[in->word_count - 1]};
    emit(l, &l->body, SpvOpFunctionCall,
         opcode == SpvOpAtomicLoad ? 4 : 5, call);
    return true;
  }
  pointer_type =
      TYPE(SpvOpTypePointer, SpvStorageClassCrossWorkgroup, type->words[3]);
  all[k] = RESULT(&l->body, SpvOpGenericCastToPtr, pointer_type, all[k]);
  emit(l, &l->body, in->opcode, in->word_count - 1u, all + 1);
  return true;
}

/* Returns true for an instruction that only declares that the module uses
   atomic operations on floating-point numbers. */
static bool is_float_atomics(const spirv_instruction *in)
{
  static const char prefix[] = "SPV_EXT_shader_atomic_float";
  if (in->opcode == SpvOpExtension)
    return strncmp((const char *)(in->words + 1), prefix,
                   sizeof prefix - 1) == 0;
  if (in->opcode != SpvOpCapability) return false;
  switch (in->words[1]) {
  case SpvCapabilityAtomicFloat16AddEXT:
  case SpvCapabilityAtomicFloat32AddEXT:
  case SpvCapabilityAtomicFloat64AddEXT:
  case SpvCapabilityAtomicFloat16MinMaxEXT:
  case SpvCapabilityAtomicFloat32MinMaxEXT:
  case SpvCapabilityAtomicFloat64MinMaxEXT: return true;
  default: return false;
  }
}

static bool group_lower(lowering *l, const spirv_instruction *in)
{
  words *w = &l->body;
  const uint32_t *at = in->words;
  if (in->opcode == SpvOpMemoryBarrier) {
    /* CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE */
    uint32_t all = CONSTANT(TYPE(SpvOpTypeInt, 32, 0), 3);
    RESULT(w, SpvOpFunctionCall, void_type(l), l->imports[MEM_FENCE], all);
    return true;
  }
  if (in->opcode == SpvOpGroupWaitEvents) {
    const uint32_t order = SpvMemorySemanticsSequentiallyConsistentMask |
                           SpvMemorySemanticsWorkgroupMemoryMask |
                           SpvMemorySemanticsCrossWorkgroupMemoryMask;
    emit(l, w, SpvOpControlBarrier,
         WORDS(at[1], at[1], CONSTANT(TYPE(SpvOpTypeInt, 32, 0), order)));
    return true;
  }
  if (in->opcode != SpvOpGroupAsyncCopy) return false;
  const spirv_instruction *to = type_of(l, at[4]), *from = type_of(l, at[5]);
  if (to == NULL || from == NULL || to->opcode != SpvOpTypePointer ||
      from->opcode != SpvOpTypePointer)
    return false;
  uint32_t copy = helper_for(l, SpvOpGroupAsyncCopy, to->result, from->result);
  RESULT(w, SpvOpFunctionCall, void_type(l), copy, at[4], at[5], at[6], at[7]);
  emit(l, w, SpvOpCopyObject, WORDS(at[1], at[2], at[8]));
  return true;
}

/* ------------------------------------------------------------------------
 * Images.
 */

/* A library may define write_imagei for 3D images and 2D arrays under a name
   that is never called.  There, write_imageui does the same, since the image's
   own format determines a pixel.  Before SPIR-V 1.4 the instruction does not
   say which function is meant, and llvm-spirv chooses write_imagei.  An operand
   of SPIR-V 1.4 selects write_imageui, and llvm-spirv accepts it in any
   version. */
static bool write_lower(lowering *l, const spirv_instruction *in)
{
  if (in->opcode != SpvOpImageWrite || in->word_count > MAX_OPERANDS ||
      (in->word_count > 4 &&
       (in->words[4] & SpvImageOperandsZeroExtendMask) != 0))
    return false;
  const spirv_instruction *image = type_of(l, in->words[1]);
  const spirv_instruction *texel = type_of(l, in->words[3]);
  if (texel != NULL && texel->opcode == SpvOpTypeVector)
    texel = definition(l, texel->words[2]);
  if (image == NULL || image->opcode != SpvOpTypeImage || texel == NULL ||
      texel->opcode != SpvOpTypeInt ||
      !(image->words[3] == SpvDim3D ||
        (image->words[3] == SpvDim2D && image->words[5] == 1)))
    return false;
  uint32_t all[MAX_OPERANDS] = {0};
  memcpy(all, in->words, in->word_count * sizeof *all);
  all[4] &= ~(uint32_t)SpvImageOperandsSignExtendMask;
  all[4] |= SpvImageOperandsZeroExtendMask;
  emit(l, &l->body, in->opcode, in->word_count > 4 ? in->word_count - 1u : 4,
       all + 1);
  return true;
}

/* ------------------------------------------------------------------------
 * Modules.
 */

static void module_lower(lowering *l)
{
  const spirv_module *m = l->m;
  words *w = &l->head;
  if (l->groups) groups_import(l);
  for (size_t i = 0; i < m->instruction_count; i++) {
    const spirv_instruction *in = &m->instructions[i];
    if (in->opcode == SpvOpFunction) w = &l->body;
    if (w == &l->head && in->opcode >= SpvOpTypeVoid &&
        in->opcode <= SpvOpTypeForwardPointer)
      w = &l->types;
    if (is_float_atomics(in) || atomic_lower(l, in) ||
        (l->groups && group_lower(l, in)) ||
        (l->images && write_lower(l, in)) ||
        (l->halves && (half_lower(l, in) || conversion_lower(l, in)))) {
      l->changed = true;
      continue;
    }
    emit(l, w, in->opcode, in->word_count - 1u, in->words + 1);
  }
}

/* Returns true if the address space of a pointer cannot be determined. */
static bool is_generic(const lowering *l, uint32_t id)
{
  /* In a damaged module, definitions may form a cycle. */
  for (size_t steps = 0; steps < l->m->instruction_count; steps++) {
    const spirv_instruction *in = definition(l, id), *type = type_of(l, id);
    if (type == NULL || type->opcode != SpvOpTypePointer ||
        type->words[2] != SpvStorageClassGeneric)
      return false;
    switch (in->opcode) {
    case SpvOpPtrCastToGeneric: return false;
    case SpvOpAccessChain:
    case SpvOpInBoundsAccessChain:
    case SpvOpPtrAccessChain:
    case SpvOpInBoundsPtrAccessChain:
    case SpvOpBitcast:
    case SpvOpCopyObject: id = in->words[3]; break;
    default: return true;
    }
  }
  return true;
}

/* Returns true if memory is accessed through a pointer of unknown address
   space. */
static bool generic_touched(const lowering *l)
{
  for (size_t i = 0; i < l->m->instruction_count; i++) {
    const spirv_instruction *in = &l->m->instructions[i];
    unsigned first = atomic_pointer(in), second = 0;
    if (in->opcode == SpvOpLoad) first = 3;
    if (in->opcode == SpvOpStore) first = 1;
    if (in->opcode == SpvOpCopyMemory || in->opcode == SpvOpCopyMemorySized) {
      first = 1;
      second = 2;
    }
    if ((first > 0 && is_generic(l, in->words[first])) ||
        (second > 0 && is_generic(l, in->words[second])))
      return true;
  }
  return false;
}

bool zocl_lower(zocl_module *module, tool_text *log)
{
  const zocl_device *device = module->device;
  lowering l = {
    .halves = !device->fp16,
    /* a CPU has only one address space */
    .generics = device->cpu,
    .groups = device->lacks_groups,
    .images = device->lacks_signed};
  spirv_module *parsed = module->code != module->words
                             ? spirv_parse(module->code, module->code_size,
                                           NULL, 0)
                             : NULL;
  l.m = parsed != NULL ? parsed : module->spirv;
  if (module->code != module->words && parsed == NULL) goto memory;
  if (!device->generics && generic_touched(&l)) {
    tool_text_add(log, "the module has pointers of any address space "
                       "(GenericPointer), and %s has none\n", device->name);
    l.failed = true;
    goto done;
  }
  l.bound = l.m->bound;
  module_lower(&l);
  if (l.failed) goto memory;
  if (l.changed) {
    const words *parts[] = {&l.capabilities, &l.head,       &l.decorations,
                            &l.types,        &l.declarations, &l.prototypes,
                            &l.body,         &l.functions};
    size_t count = 5;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
      count += parts[i]->count;
    uint32_t *code = malloc(count * sizeof *code);
    if (code == NULL) goto memory;
    const uint32_t start[5] = {SpvMagicNumber, l.m->version, l.m->generator,
                               l.bound, 0};
    memcpy(code, start, sizeof start);
    count = 5;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
      if (parts[i]->count > 0)
        memcpy(code + count, parts[i]->at, parts[i]->count * sizeof *code);
      count += parts[i]->count;
    }
    if (module->code != module->words) free(module->code);
    module->code = code;
    module->code_size = count * sizeof *code;
  }
  goto done;

memory:
  l.failed = true;
  tool_text_add(log, "out of memory\n");
done:
  free(l.capabilities.at);
  free(l.head.at);
  free(l.decorations.at);
  free(l.types.at);
  free(l.declarations.at);
  free(l.prototypes.at);
  free(l.body.at);
  free(l.functions.at);
  free(l.helpers);
  spirv_free(parsed);
  return !l.failed;
}
