/*
 * spirv_stride.c - how addresses depend on the position of a work-item.
 * SPDX-License-Identifier: MIT
 *
 * Every integer and pointer has a stride: the units or bytes by which it grows
 * from one work-item to the next along x, y and z, by global or by local ids.
 * The stride of a Function variable combines all values stored to it, so that
 * unoptimised code is also followed. Parameters and results of functions
 * combine all calls. Strides only ever grow (0, a number, FAR), so repeated
 * passes over the module end. After too many passes, the search gives up.
 *
 * The results are estimates. They assume that neighbours have the same quotient
 * in a division, that a remainder does not wrap, and that the other branch at a
 * boundary does not count.
 */
#include "spirv_reader.h"

#include <stdlib.h>
#include <string.h>

enum {
  FAR = 1 << 20,    /* at least this much, or unknown */
  LINE = 64,        /* bytes that memory moves at once on nearly all machines */
  /* Code in a loop runs more often than all code outside it. The number of
     rounds is unknown, but compilers unroll shorter loops. */
  LOOP_WEIGHT = 8,
  MOST_PASSES = 16  /* nested calls and loops each need one */
};

enum {
  STRIDE_IDS = 1,    /* the vector of all three ids */
  STRIDE_VARIES = 2, /* it changes in a loop */
  STRIDE_LOOPED = 4  /* of a variable: a loop stores into it */
};

typedef struct stride {
  int32_t by[3];
  uint32_t flags;
  uint32_t root;     /* 1 + the Function variable that a pointer points into */
  uint32_t array;    /* 1 + the variable in local memory that it points into,
                        the smallest of several; ARGUMENT; LOST; 0 if still
                        unknown */
  uint32_t skipped;  /* the fewest bytes of the array before that place */
} stride;

/* ARGUMENT: local memory whose size the program sets. LOST: the value was not
   followed. */
#define ARGUMENT UINT32_MAX
#define LOST (UINT32_MAX - 1)

typedef struct strides {
  reader *r;
  stride *of;        /* by instruction; for a variable, of its value; for a
                        function, of its result */
  int32_t *loops;    /* by instruction, from spirv_find_loops */
  size_t smallest;   /* bytes of the smallest variable in local memory, or 0 */
  bool changed;
} strides;

/* --- arithmetic --------------------------------------------------------- */

static int32_t bounded(int64_t by)
{
  return by >= FAR || by <= -FAR ? FAR : (int32_t)by;
}

static int32_t either(int32_t a, int32_t b)
{
  return a == 0 ? b : b == 0 || a == b ? a : FAR;
}

static int32_t sum(int32_t a, int32_t b)
{
  return a == FAR || b == FAR ? FAR : bounded((int64_t)a + b);
}

static int32_t scaled(int32_t a, int64_t by)
{
  if (a == 0 || by == 0)
    return 0;
  return a == FAR || by >= FAR || by <= -FAR ? FAR : bounded(a * by);
}

static stride stride_sum(stride a, stride b, int64_t scale)
{
  for (int d = 0; d < 3; d++)
    a.by[d] = sum(a.by[d], scaled(b.by[d], scale));
  a.flags = (a.flags | b.flags) & STRIDE_VARIES;
  if (a.array == 0)
    a.array = b.array;
  return a;
}

/* Returns the bytes of the variable in local memory that a pointer points into;
   0 if unknown. */
static size_t array_bytes(const reader *r, uint32_t array)
{
  if (array == 0 || array >= LOST)
    return 0;
  const spirv_instruction *i = &r->ins[array - 1];
  const spirv_instruction *type = def_of(r, i->result_type);
  const id_info *held =
    info_of(r, i->opcode == SpvOpVariable && type != NULL ? word(type, 3)
                                                          : word(i, 4));
  return held == NULL ? 0 : held->bytes;
}

static stride stride_either(const reader *r, stride a, stride b)
{
  size_t bytes = array_bytes(r, b.array);
  if (a.array == 0 || (b.array != 0 && b.skipped < a.skipped))
    a.skipped = b.skipped;
  for (int d = 0; d < 3; d++)
    a.by[d] = either(a.by[d], b.by[d]);
  a.flags |= b.flags;
  if (a.array == 0 || b.array == LOST ||
      (a.array == ARGUMENT && b.array != 0) ||
      (a.array != LOST && bytes != 0 && bytes < array_bytes(r, a.array)))
    a.array = b.array;
  return a;
}

/* Combines two strides by an operation with an unknown effect. */
static stride stride_mixed(stride a, stride b)
{
  for (int d = 0; d < 3; d++)
    a.by[d] = a.by[d] != 0 || b.by[d] != 0 ? FAR : 0;
  a.flags = (a.flags | b.flags) & STRIDE_VARIES;
  return a;
}

static bool is_uniform(stride a)
{
  return a.by[0] == 0 && a.by[1] == 0 && a.by[2] == 0;
}

/* --- values ------------------------------------------------------------- */

static stride stride_of(const strides *s, uint32_t id)
{
  const stride none = {.root = 0};
  int64_t d = find_def(s->r, id);
  return d < 0 ? none : s->of[d];
}

static stride product(const strides *s, uint32_t a, uint32_t b)
{
  int64_t by;
  const stride none = {.root = 0};
  if (signed_constant(s->r, b, &by))
    return stride_sum(none, stride_of(s, a), by);
  if (signed_constant(s->r, a, &by))
    return stride_sum(none, stride_of(s, b), by);
  return stride_mixed(stride_of(s, a), stride_of(s, b));
}

/* Returns the stride of a built-in variable's value. */
static stride builtin_stride(uint32_t builtin)
{
  stride ids = {.flags = STRIDE_IDS}, linear = {.by = {1, FAR, FAR}};
  switch (builtin) {
  case SpvBuiltInGlobalInvocationId:
  case SpvBuiltInLocalInvocationId:
    return ids;
  case SpvBuiltInGlobalLinearId:
  case SpvBuiltInLocalInvocationIndex:
  case SpvBuiltInSubgroupLocalInvocationId:
    return linear;
  default:
    return (stride){.root = 0};
  }
}

/* Returns the stride of component k of a vector. */
static stride component(stride vector, uint64_t k)
{
  if ((vector.flags & STRIDE_IDS) && k < 3) {
    stride one = {.root = 0};
    one.by[k] = 1;
    return one;
  }
  vector.flags &= STRIDE_VARIES;
  vector.root = 0;
  return vector;
}

/* Returns the built-in variable with that id, or NULL. */
static const id_info *builtin_variable(const reader *r, uint32_t id)
{
  const id_info *info = info_of(r, id);
  return info != NULL && (info->flags & ID_BUILTIN) ? info : NULL;
}

/* Returns the width of a border: the number of places that an index never
   reaches because a constant is added to it. */
static uint64_t border_of(const reader *r, uint32_t index)
{
  const spirv_instruction *i = def_of(r, index);
  int64_t by;
  if (i != NULL && (i->opcode == SpvOpSConvert || i->opcode == SpvOpUConvert))
    i = def_of(r, word(i, 3));
  if (i == NULL || i->opcode != SpvOpIAdd)
    return 0;
  return (signed_constant(r, word(i, 4), &by) ||
          signed_constant(r, word(i, 3), &by)) && by > 0 ? (uint64_t)by : 0;
}

/* Advances a pointer by an index of elements of `bytes` bytes. */
static stride skip(const reader *r, stride p, uint32_t index, size_t bytes)
{
  int64_t by;
  if (!signed_constant(r, index, &by))
    by = (int64_t)border_of(r, index);
  if (p.array != 0 && by > 0 && by < FAR && bytes < FAR)
    p.skipped = (uint32_t)bounded(p.skipped + by * (int64_t)bytes);
  return p;
}

/* Returns the stride of a chain's pointer. Operand `base` is followed by the
   number of an element, if `element` is true, and by indices. */
static stride chain_stride(const strides *s, const spirv_instruction *i,
                           uint32_t type_id, unsigned base, bool element)
{
  const reader *r = s->r;
  const id_info *variable = builtin_variable(r, word(i, base));
  uint64_t constant;
  if (variable != NULL && constant_of(r, word(i, base + 1), &constant))
    return component(builtin_stride(variable->builtin), constant);
  stride p = stride_of(s, word(i, base));
  uint32_t root = p.root;
  size_t bytes = info_of(r, type_id) == NULL ? 0 : info_of(r, type_id)->bytes;
  if (element)
    p = skip(r, stride_sum(p, stride_of(s, word(i, base + 1)), (int64_t)bytes),
             word(i, base + 1), bytes);
  for (unsigned k = base + 1 + element; k < i->word_count; k++) {
    const spirv_instruction *type = def_of(r, type_id);
    if (type == NULL)
      break;
    if (type->opcode == SpvOpTypeStruct) {
      if (!constant_of(r, i->words[k], &constant) ||
          constant >= type->word_count)
        break;
      type_id = word(type, 2 + (unsigned)constant);
      continue;
    }
    type_id = word(type, 2);
    if (info_of(r, type_id) == NULL)
      break;
    bytes = info_of(r, type_id)->bytes;
    p = skip(r, stride_sum(p, stride_of(s, i->words[k]), (int64_t)bytes),
             i->words[k], bytes);
  }
  p.root = root;
  return p;
}

static uint32_t pointee_of(const reader *r, uint32_t pointer)
{
  const spirv_instruction *i = def_of(r, pointer);
  const spirv_instruction *type = i == NULL ? NULL : def_of(r, i->result_type);
  return type == NULL ? 0 : word(type, 3);
}

static stride load_stride(const strides *s, const spirv_instruction *i)
{
  const reader *r = s->r;
  const id_info *variable = builtin_variable(r, word(i, 3));
  const spirv_instruction *pointer = def_of(r, word(i, 3));
  if (variable != NULL)
    return builtin_stride(variable->builtin);
  stride p = stride_of(s, word(i, 3));
  if (p.root != 0) {
    stride held = s->of[p.root - 1];
    if (held.flags & STRIDE_LOOPED)
      held.flags |= STRIDE_VARIES;
    held.flags &= ~(uint32_t)STRIDE_LOOPED;
    held.root = 0;
    return held;
  }
  if (pointer != NULL && pointer->word_count > 3 &&
      builtin_variable(r, word(pointer, 3)) != NULL)
    return p; /* a component of a built-in */
  p.array = LOST; /* values stored there are not followed */
  return stride_mixed(p, p);
}

/* Combines a stride into instruction `at`'s, whose root does not change. */
static void grow(strides *s, int64_t at, stride by)
{
  if (at < 0)
    return;
  stride *old = &s->of[at], new = stride_either(s->r, *old, by);
  if (memcmp(new.by, old->by, sizeof new.by) != 0 ||
      new.flags != old->flags || new.array != old->array ||
      new.skipped != old->skipped) {
    *old = new;
    s->changed = true;
  }
}

static void store_stride(strides *s, uint32_t at, uint32_t pointer,
                         stride value)
{
  uint32_t root = stride_of(s, pointer).root;
  if (root == 0)
    return;
  if (s->loops[at] > 0)
    value.flags |= STRIDE_LOOPED;
  grow(s, root - 1, value);
}

static stride call_stride(strides *s, const spirv_instruction *i)
{
  reader *r = s->r;
  int64_t n = function_of(r, word(i, 3));
  stride result = {.root = 0};
  if (n < 0)
    return result;
  const function_info *callee = &r->more[n];
  uint64_t d;
  if (callee->known) {
    if (callee->builtins & (SPIRV_BUILTIN_GLOBAL_ID | SPIRV_BUILTIN_LOCAL_ID))
      result = constant_of(r, word(i, 4), &d) ?
        component((stride){.flags = STRIDE_IDS}, d) :
        (stride){.flags = STRIDE_IDS};
    else if (callee->builtins & (SPIRV_BUILTIN_GLOBAL_LINEAR_ID |
                                 SPIRV_BUILTIN_LOCAL_LINEAR_ID))
      result = builtin_stride(SpvBuiltInGlobalLinearId);
    return result;
  }
  for (unsigned k = 0; k < r->functions[n].param_count; k++) {
    stride argument = stride_of(s, word(i, 4 + k));
    if (argument.root != 0) /* the callee may store to it */
      grow(s, argument.root - 1,
           (stride){.by = {FAR, FAR, FAR}, .flags = STRIDE_LOOPED,
                    .array = LOST});
    else
      grow(s, callee->param_at + k, argument);
  }
  return s->of[callee->at];
}

static stride ext_stride(const strides *s, const spirv_instruction *i)
{
  stride result = {.root = 0};
  bool std = word(i, 3) == s->r->std_set && s->r->std_set != 0;
  switch (std ? word(i, 4) : UINT32_MAX) {
  case OpenCLstd_SAbs:
  case OpenCLstd_SMax:
  case OpenCLstd_UMax:
  case OpenCLstd_SMin:
  case OpenCLstd_UMin:
  case OpenCLstd_SClamp:
  case OpenCLstd_UClamp:
    for (unsigned k = 5; k < i->word_count; k++)
      result = stride_either(s->r, result, stride_of(s, i->words[k]));
    break;
  case OpenCLstd_SMul24:
  case OpenCLstd_UMul24:
    result = product(s, word(i, 5), word(i, 6));
    break;
  case OpenCLstd_SMad24:
  case OpenCLstd_UMad24:
    result = stride_sum(product(s, word(i, 5), word(i, 6)),
                        stride_of(s, word(i, 7)), 1);
    break;
  default:
    for (unsigned k = 5; k < i->word_count; k++)
      if (is_use(s->r, i, k))
        result = stride_mixed(result, stride_of(s, i->words[k]));
  }
  result.root = 0;
  return result;
}

/* Returns the stride of an instruction's result. */
static stride result_stride(strides *s, uint32_t at)
{
  const reader *r = s->r;
  const spirv_instruction *i = &r->ins[at];
  stride a = stride_of(s, word(i, 3)), b = stride_of(s, word(i, 4));
  stride result = {.root = 0};
  int64_t constant;
  switch (i->opcode) {
  case SpvOpLoad:
    return load_stride(s, i);
  case SpvOpAccessChain:
  case SpvOpInBoundsAccessChain:
    return chain_stride(s, i, pointee_of(r, word(i, 3)), 3, false);
  case SpvOpPtrAccessChain:
  case SpvOpInBoundsPtrAccessChain:
    return chain_stride(s, i, pointee_of(r, word(i, 3)), 3, true);
  case OP_UNTYPED_ACCESS_CHAIN:
  case OP_UNTYPED_IN_BOUNDS_ACCESS_CHAIN:
    return chain_stride(s, i, word(i, 3), 4, false);
  case OP_UNTYPED_PTR_ACCESS_CHAIN:
  case OP_UNTYPED_IN_BOUNDS_PTR_ACCESS_CHAIN:
    return chain_stride(s, i, word(i, 3), 4, true);
  case SpvOpBitcast:
  case SpvOpCopyObject:
  case SpvOpUConvert:
  case SpvOpSConvert:
  case SpvOpFConvert:
  case SpvOpConvertPtrToU:
  case SpvOpConvertUToPtr:
  case SpvOpPtrCastToGeneric:
  case SpvOpGenericCastToPtr:
    return a;
  case SpvOpCompositeExtract:
    return component(a, word(i, 4));
  case SpvOpIAdd:
  case SpvOpBitwiseOr:
  case SpvOpBitwiseXor:
    return stride_sum(a, b, 1);
  case SpvOpISub:
    return stride_sum(a, b, -1);
  case SpvOpIMul:
    return product(s, word(i, 3), word(i, 4));
  case SpvOpShiftLeftLogical:
    if (!signed_constant(r, word(i, 4), &constant))
      return stride_mixed(a, b);
    return stride_sum(result, a, constant < 0 || constant > 20 ?
                                   FAR : (int64_t)1 << constant);
  case SpvOpUDiv:
  case SpvOpSDiv:
  case SpvOpShiftRightLogical:
  case SpvOpShiftRightArithmetic:
    result.flags = (a.flags | b.flags) & STRIDE_VARIES;
    return is_uniform(b) ? result : stride_mixed(a, b);
  case SpvOpUMod:
  case SpvOpSMod:
  case SpvOpSRem:
  case SpvOpBitwiseAnd:
    result = stride_either(r, a, b);
    result.root = 0;
    return result;
  case SpvOpSelect:
    result = stride_either(r, b, stride_of(s, word(i, 5)));
    result.root = 0;
    return result;
  case SpvOpPhi:
    for (unsigned k = 3; k < i->word_count; k += 2) {
      result = stride_either(s->r, result, stride_of(s, i->words[k]));
      if (find_def(r, i->words[k]) >= (int64_t)at)
        result.flags |= STRIDE_VARIES;
    }
    result.root = 0;
    return result;
  case SpvOpFunctionCall:
    return call_stride(s, i);
  case SpvOpExtInst:
    return ext_stride(s, i);
  case SpvOpFunction:
  case SpvOpFunctionParameter:
  case SpvOpLabel:
  case SpvOpUndef:
    return result;
  }
  if (spirv_features_of(r, i) & SPIRV_USES_ATOMICS)
    return (stride){.by = {FAR, FAR, FAR}};
  for (unsigned k = 3; k < i->word_count; k++)
    if (is_use(r, i, k))
      result = stride_mixed(result, stride_of(s, i->words[k]));
  return result;
}

static void step(strides *s, uint32_t at)
{
  const spirv_instruction *i = &s->r->ins[at];
  int64_t function = (int64_t)s->r->info[at].owner - 1;
  switch (i->opcode) {
  case SpvOpVariable:
  case OP_UNTYPED_VARIABLE:
    s->of[at].root = at + 1;
    if (i->opcode == SpvOpVariable && i->word_count > 4)
      grow(s, at, stride_of(s, word(i, 4)));
    return;
  case SpvOpStore:
    store_stride(s, at, word(i, 1), stride_of(s, word(i, 2)));
    return;
  case SpvOpReturnValue:
    if (function >= 0) {
      stride value = stride_of(s, word(i, 1));
      value.root = 0;
      grow(s, s->r->more[function].at, value);
    }
    return;
  }
  if (i->result == 0 || i->result_type == 0)
    return;
  stride result = result_stride(s, at);
  s->of[at].root = result.root;
  grow(s, at, result);
}

/* --- counting ----------------------------------------------------------- */

/* Returns true if an instruction is a variable in local memory. */
static bool is_array(const reader *r, uint32_t at)
{
  return is_variable_in(&r->ins[at], SpvStorageClassWorkgroup);
}

static uint32_t space_of(const reader *r, uint32_t pointer)
{
  const spirv_instruction *i = def_of(r, pointer);
  const spirv_instruction *type = i == NULL ? NULL : def_of(r, i->result_type);
  return type == NULL || type->word_count < 3 ? UINT32_MAX : word(type, 2);
}

static void more_of(uint32_t *count, uint32_t weight)
{
  if (*count < UINT32_MAX / 2)
    *count += weight;
}

/* Limits groups by an index with that stride into a local array of `length`
   places, so that each work-item has its own place. */
static void fit_index(function_info *more, stride index, uint64_t length)
{
  uint32_t least = 0, places = (uint32_t)(length < FAR ? length : FAR);
  unsigned dims = 0;
  if (length == 0 || (index.flags & STRIDE_VARIES))
    return; /* a loop over the array suits any group */
  for (int d = 0; d < 3; d++) {
    dims += index.by[d] != 0;
    if (index.by[d] != FAR)
      spirv_fit(&least, (uint32_t)abs(index.by[d]));
  }
  if (least == 0)
    return;
  places = (places - 1) / least + 1;
  if (dims > 1)
    spirv_fit(&more->local_items, places);
  for (int d = 0; d < 3; d++) {
    uint32_t by = (uint32_t)abs(index.by[d]);
    if (by == least)
      spirv_fit(&more->local_fit[d], places);
    else if (by != 0 && by != FAR) {
      /* Rows of `by` places limit the other dimension and the number of
         rows. */
      spirv_fit(&more->local_fit[d], (places * least - 1) / by + 1);
      for (int e = 0; e < 3; e++)
        if ((uint32_t)abs(index.by[e]) == least)
          spirv_fit(&more->local_fit[e], by / least);
    }
  }
}

/* Limits groups by an access through a pointer into local memory. An unknown
   variable counts as the smallest one, with a place for each work-item. */
static void fit_access(const strides *s, function_info *more,
                       uint32_t pointer, stride p)
{
  const reader *r = s->r;
  const id_info *held = info_of(r, pointee_of(r, pointer));
  size_t bytes = held == NULL || held->bytes == 0 ? 1 : held->bytes;
  if (p.array == ARGUMENT)
    return;
  size_t room = array_bytes(r, p.array);
  if (room > p.skipped)
    fit_index(more, p, room - p.skipped);
  else if (s->smallest != 0)
    spirv_fit(&more->local_items, (uint32_t)((s->smallest - 1) / bytes + 1));
}

/* Counts instruction `at`'s access through a pointer with that stride. */
static void count_access(strides *s, uint32_t at, uint32_t pointer,
                         stride p, bool store)
{
  function_info *more = &s->r->more[s->r->info[at].owner - 1];
  uint32_t weight = s->loops[at] > 0 ? LOOP_WEIGHT : 1;
  bool beside = false;
  uint32_t space = space_of(s->r, pointer);
  if (space == SpvStorageClassWorkgroup ||
      (space == SpvStorageClassGeneric && array_bytes(s->r, p.array) != 0))
    fit_access(s, more, pointer, p);
  switch (space) {
  case SpvStorageClassWorkgroup:
    if (store && s->loops[at] > 0 && (p.flags & STRIDE_VARIES))
      more->features |= SPIRV_SWEEPS_LOCAL;
    return;
  case SpvStorageClassCrossWorkgroup:
  case SpvStorageClassUniformConstant:
  case SpvStorageClassGeneric:
    for (int d = 0; d < 3; d++) {
      bool near = p.by[d] <= LINE && p.by[d] >= -LINE;
      if (p.by[d] != 0)
        more_of(near ? &more->beside[d] : &more->apart[d], weight);
      if (p.by[d] != 0 && near && store)
        more_of(&more->stores[d], weight);
      if (near && (uint32_t)abs(p.by[d]) > more->spacing[d])
        more->spacing[d] = (uint32_t)abs(p.by[d]);
      beside = beside || (p.by[d] != 0 && near);
    }
    for (int d = 0; d < 3; d++)
      if (p.by[d] == 0 && beside && s->loops[at] > 0 &&
          (p.flags & STRIDE_VARIES))
        more_of(&more->again[d], weight);
  }
}

/* Returns true for OpenCL.std functions that take many steps. */
static bool is_long(uint32_t function)
{
  switch (function) {
  case OpenCLstd_Ceil:
  case OpenCLstd_Copysign:
  case OpenCLstd_Fabs:
  case OpenCLstd_Fdim:
  case OpenCLstd_Floor:
  case OpenCLstd_Fma:
  case OpenCLstd_Fmax:
  case OpenCLstd_Fmin:
  case OpenCLstd_Mad:
  case OpenCLstd_Maxmag:
  case OpenCLstd_Minmag:
  case OpenCLstd_Nan:
  case OpenCLstd_Rint:
  case OpenCLstd_Round:
  case OpenCLstd_Rsqrt:
  case OpenCLstd_Sqrt:
  case OpenCLstd_Trunc:
    return false;
  default:
    return function <= OpenCLstd_Tgamma;
  }
}

/* Limits groups by the indices of a chain into local memory. */
static void fit_chain(strides *s, uint32_t at, bool element)
{
  const reader *r = s->r;
  const spirv_instruction *i = &r->ins[at];
  uint32_t type_id = pointee_of(r, word(i, 3));
  if (space_of(r, i->result) != SpvStorageClassWorkgroup)
    return;
  for (unsigned k = 4 + element; k < i->word_count; k++) {
    const spirv_instruction *type = def_of(r, type_id);
    uint64_t length, border = border_of(r, i->words[k]);
    if (type == NULL || type->opcode != SpvOpTypeArray)
      return;
    if (constant_of(r, word(type, 3), &length) && length > border)
      fit_index(&r->more[r->info[at].owner - 1], stride_of(s, i->words[k]),
                length - border);
    type_id = word(type, 2);
  }
}

static void count(strides *s, uint32_t at)
{
  const reader *r = s->r;
  const spirv_instruction *i = &r->ins[at];
  function_info *more = &r->more[r->info[at].owner - 1];
  int64_t lanes;
  switch (i->opcode) {
  case SpvOpLoad:
    count_access(s, at, word(i, 3), stride_of(s, word(i, 3)), false);
    return;
  case SpvOpStore:
    count_access(s, at, word(i, 1), stride_of(s, word(i, 1)), true);
    return;
  case SpvOpAccessChain:
  case SpvOpInBoundsAccessChain:
    fit_chain(s, at, false);
    return;
  case SpvOpPtrAccessChain:
  case SpvOpInBoundsPtrAccessChain:
    fit_chain(s, at, true);
    return;
  case SpvOpAtomicStore:
    if (space_of(r, word(i, 1)) == SpvStorageClassWorkgroup)
      fit_access(s, more, word(i, 1), stride_of(s, word(i, 1)));
    return;
  case SpvOpCopyMemory:
  case SpvOpCopyMemorySized:
    count_access(s, at, word(i, 1), stride_of(s, word(i, 1)), true);
    count_access(s, at, word(i, 2), stride_of(s, word(i, 2)), false);
    return;
  case SpvOpExtInst:
    if (r->std_set == 0 || word(i, 3) != r->std_set)
      return;
    if (is_long(word(i, 4)))
      more->features |= SPIRV_HAS_LONG_MATHS;
    if (word(i, 4) == OpenCLstd_Vloadn || word(i, 4) == OpenCLstd_Vstoren) {
      bool store = word(i, 4) == OpenCLstd_Vstoren;
      unsigned k = store ? 6 : 5; /* the offset; the pointer follows */
      const id_info *pointee = info_of(r, pointee_of(r, word(i, k + 1)));
      const spirv_instruction *value = def_of(r, word(i, 5));
      const spirv_instruction *type = def_of(r, store && value != NULL ?
                                                  value->result_type :
                                                  i->result_type);
      lanes = type != NULL && type->opcode == SpvOpTypeVector ?
        word(type, 3) : 1;
      if (pointee != NULL)
        count_access(s, at, word(i, k + 1),
                     stride_sum(stride_of(s, word(i, k + 1)),
                                stride_of(s, word(i, k)),
                                lanes * (int64_t)pointee->bytes), store);
    }
    return;
  default:
    if ((spirv_features_of(r, i) & SPIRV_USES_ATOMICS) && i->result != 0 &&
        space_of(r, word(i, 3)) == SpvStorageClassWorkgroup)
      fit_access(s, more, word(i, 3), stride_of(s, word(i, 3)));
  }
}

/* Sets the origins of pointers into local memory: variables and kernel
   arguments. */
static void find_arrays(strides *s)
{
  const reader *r = s->r;
  for (uint32_t at = 0; at < r->ins_count; at++) {
    const spirv_instruction *i = &r->ins[at];
    int64_t n = i->opcode == SpvOpEntryPoint ? function_of(r, word(i, 2)) : -1;
    for (unsigned k = 0; n >= 0 && k < r->functions[n].param_count; k++)
      s->of[r->more[n].param_at + k].array = ARGUMENT;
    size_t bytes = 0;
    if (is_array(r, at)) {
      s->of[at].array = at + 1;
      bytes = array_bytes(r, at + 1);
    }
    if (bytes != 0 && (s->smallest == 0 || bytes < s->smallest))
      s->smallest = bytes;
  }
}

/* Limits groups as if all pointers into local memory were unknown. */
static void lose_arrays(strides *s)
{
  const reader *r = s->r;
  for (uint32_t at = 0; at < r->ins_count; at++) {
    const spirv_instruction *i = &r->ins[at];
    bool store = i->opcode == SpvOpStore;
    uint32_t pointer = word(i, store ? 1 : 3);
    if ((store || i->opcode == SpvOpLoad) && r->info[at].owner != 0 &&
        space_of(r, pointer) == SpvStorageClassWorkgroup)
      fit_access(s, &r->more[r->info[at].owner - 1], pointer,
                 (stride){.array = LOST});
  }
}

bool spirv_find_strides(reader *r)
{
  strides s = {
    .r = r,
    .of = scratch(r, r->ins_count, sizeof *s.of),
    .loops = scratch(r, r->ins_count + 1, sizeof *s.loops),
    .changed = true
  };
  if (s.of == NULL || s.loops == NULL)
    return out_of_memory(r);
  spirv_find_loops(r, s.loops);
  find_arrays(&s);
  for (int pass = 0; s.changed; pass++) {
    if (pass == MOST_PASSES) {
      lose_arrays(&s);
      return true;
    }
    s.changed = false;
    for (uint32_t at = 0; at < r->ins_count; at++)
      if (r->info[at].owner != 0)
        step(&s, at);
  }
  for (uint32_t at = 0; at < r->ins_count; at++)
    if (r->info[at].owner != 0)
      count(&s, at);
  return true;
}
