/*
 * spirv_extent.c - how far every launch of a kernel reaches into its arguments.
 * SPDX-License-Identifier: MIT
 *
 * Unlike spirv_stride.c, this is a proof. It counts only accesses that every
 * work-item makes: the accesses before the first branch on an unknown
 * condition. On that path it follows values that are a constant plus global ids
 * times constants. All other values are unknown.
 */
#include "spirv_reader.h"

#include <string.h>

enum {
  MOST_AT = 1 << 20, /* limits 32-bit arithmetic so that it provably does not
                        wrap */
  MOST_BY = 1 << 28
};

/* A number, or an offset in bytes into a parameter's pointee. */
typedef struct place {
  bool known;
  bool ids;          /* the vector of the global ids */
  bool narrow;       /* 32-bit arithmetic was part of it */
  bool taken;        /* of a variable: its address is taken */
  uint32_t param;    /* 1 + its index, or 0 */
  int64_t at, by[3]; /* multiplied by the global ids */
} place;

typedef struct extent_walk {
  reader *r;
  place *of;         /* by instruction; of a variable: its value */
  size_t steps;      /* steps left for all kernels */
  spirv_extent *reach; /* of the parameters */
} extent_walk;

static bool is_variable(const spirv_instruction *i)
{
  return i != NULL && i->opcode == SpvOpVariable &&
    word(i, 3) == SpvStorageClassFunction;
}

/* Returns the type of an instruction's result, or NULL. */
static const spirv_instruction *result_type_of(const reader *r,
                                        const spirv_instruction *i)
{
  return i == NULL ? NULL : def_of(r, i->result_type);
}

static place value_of(const extent_walk *w, uint32_t id)
{
  const spirv_instruction *i = def_of(w->r, id);
  uint64_t bits;
  place none = {.known = false};
  if (i == NULL || is_variable(i))
    return none;
  if (i->opcode != SpvOpConstant)
    return w->of[find_def(w->r, id)];
  if (!constant_of(w->r, id, &bits))
    return none;
  int64_t v = word(result_type_of(w->r, i), 2) == 64 ? (int64_t)bits :
                                        (int64_t)(int32_t)(uint32_t)bits;
  return v <= -MOST_AT || v >= MOST_AT ? none :
                                         (place){.known = true, .at = v};
}

/* Returns a + b * scale; it is known if both are known and nothing becomes too
   large. */
static place place_sum(place a, place b, int64_t scale)
{
  if (!a.known || !b.known || a.ids || b.ids || b.param != 0 ||
      scale <= -MOST_BY || scale >= MOST_BY)
    return (place){.known = false};
  a.narrow = a.narrow || b.narrow;
  a.at += b.at * scale;
  a.known = a.at > -MOST_BY && a.at < MOST_BY;
  for (int d = 0; d < 3; d++) {
    a.by[d] += b.by[d] * scale;
    a.known = a.known && b.by[d] * scale >= 0 && a.by[d] < MOST_BY;
  }
  return a;
}

static place place_product(place a, place b)
{
  bool swap = a.by[0] == 0 && a.by[1] == 0 && a.by[2] == 0;
  place n = swap ? a : b, many = swap ? b : a, zero = {.known = true};
  bool constant = n.known && !n.ids && n.param == 0 && n.at > 0 &&
    n.by[0] == 0 && n.by[1] == 0 && n.by[2] == 0;
  return constant ? place_sum(zero, many, n.at) : (place){.known = false};
}

static place id_of(uint64_t d)
{
  place p = {.known = d < 3};
  if (d < 3)
    p.by[d] = 1;
  return p;
}

static size_t bytes_of(const reader *r, uint32_t type)
{
  const id_info *info = info_of(r, type);
  return info == NULL ? 0 : info->bytes;
}

/* Returns the pointer of a chain, which is unknown if the chain goes into a
   struct. */
static place chain(const extent_walk *w, const spirv_instruction *i,
                   bool element)
{
  const reader *r = w->r;
  const spirv_instruction *pointer = result_type_of(r, def_of(r, word(i, 3)));
  uint32_t type = pointer == NULL ? 0 : word(pointer, 3);
  place p = value_of(w, word(i, 3));
  if (p.param == 0)
    return (place){.known = false};
  for (unsigned k = 4; k < i->word_count; k++) {
    if (k > 4 || !element) {
      const spirv_instruction *whole = def_of(r, type);
      if (whole == NULL || (whole->opcode != SpvOpTypeArray &&
                            whole->opcode != SpvOpTypeVector))
        return (place){.known = false};
      type = word(whole, 2);
    }
    size_t bytes = bytes_of(r, type);
    if (bytes == 0 || bytes >= MOST_BY)
      return (place){.known = false};
    p = place_sum(p, value_of(w, i->words[k]), (int64_t)bytes);
  }
  return p;
}

/* Returns the number of bytes of a value that are certainly accessed: a vector
   of three lanes excludes the fourth. */
static size_t accessed_bytes(const reader *r, uint32_t type)
{
  const spirv_instruction *t = def_of(r, type);
  return t != NULL && t->opcode == SpvOpTypeVector ?
    bytes_of(r, word(t, 2)) * word(t, 3) : bytes_of(r, type);
}

static void access(extent_walk *w, uint32_t pointer, uint32_t type)
{
  place p = value_of(w, pointer);
  size_t bytes = accessed_bytes(w->r, type);
  if (!p.known || p.param == 0 || bytes == 0 || bytes >= MOST_BY ||
      (p.by[0] == 0 && p.by[1] == 0 && p.by[2] == 0))
    return;
  spirv_extent *reach = &w->reach[p.param - 1];
  if (reach->proved && memcmp(reach->by, p.by, sizeof p.by) != 0)
    return; /* one is enough */
  if (!reach->proved || p.at + (int64_t)bytes > reach->bytes) {
    reach->bytes = p.at + (int64_t)bytes;
    reach->narrow = p.narrow;
  }
  memcpy(reach->by, p.by, sizeof p.by);
  reach->proved = true;
}

/* Drops variables whose addresses an instruction takes. */
static void take_addresses(extent_walk *w, const spirv_instruction *i)
{
  unsigned plain = i->opcode == SpvOpLoad ? 3 :
                   i->opcode == SpvOpStore ? 1 :
                   i->opcode == SpvOpLifetimeStart ||
                   i->opcode == SpvOpLifetimeStop ? 1 : 0;
  for (unsigned k = 1; k < i->word_count; k++)
    if (k != plain && is_use(w->r, i, k) &&
        is_variable(def_of(w->r, i->words[k])))
      w->of[find_def(w->r, i->words[k])] = (place){.taken = true};
}

static place load(extent_walk *w, const spirv_instruction *i)
{
  const spirv_instruction *pointer = def_of(w->r, word(i, 3));
  const id_info *info = info_of(w->r, word(i, 3));
  if (is_variable(pointer)) {
    place held = w->of[find_def(w->r, word(i, 3))];
    held.known = held.known && !held.taken;
    return held;
  }
  if (info != NULL && (info->flags & ID_BUILTIN))
    return (place){.known = info->builtin == SpvBuiltInGlobalInvocationId,
                   .ids = true};
  access(w, word(i, 3), i->result_type);
  return (place){.known = false};
}

static void store(extent_walk *w, const spirv_instruction *i)
{
  const spirv_instruction *value = def_of(w->r, word(i, 2));
  if (is_variable(def_of(w->r, word(i, 1)))) {
    place *held = &w->of[find_def(w->r, word(i, 1))];
    bool taken = held->taken;
    *held = value_of(w, word(i, 2));
    held->taken = taken;
  } else if (value != NULL) {
    access(w, word(i, 1), value->result_type);
  }
}

static place call(const extent_walk *w, const spirv_instruction *i)
{
  int64_t n = function_of(w->r, word(i, 3));
  uint64_t d;
  if (n < 0 || !w->r->more[n].known ||
      w->r->more[n].builtins != SPIRV_BUILTIN_GLOBAL_ID ||
      !constant_of(w->r, word(i, 4), &d))
    return (place){.known = false};
  return id_of(d);
}

/* Evaluates a select with a constant condition. Newer compilers emit one for
   each work-item function, with 0 for missing dimensions. */
static place chosen(const extent_walk *w, const spirv_instruction *i)
{
  const spirv_instruction *condition = def_of(w->r, word(i, 3));
  bool yes = condition != NULL && condition->opcode == SpvOpConstantTrue;
  bool no = condition != NULL && condition->opcode == SpvOpConstantFalse;
  return yes || no ? value_of(w, word(i, yes ? 4 : 5)) :
                     (place){.known = false};
}

static place result(extent_walk *w, const spirv_instruction *i)
{
  place a = value_of(w, word(i, 3)), b = value_of(w, word(i, 4));
  switch (i->opcode) {
  case SpvOpLoad:
    return load(w, i);
  case SpvOpFunctionCall:
    return call(w, i);
  case SpvOpCompositeExtract:
    return a.known && a.ids && i->word_count == 5 ? id_of(word(i, 4)) :
                                                    (place){.known = false};
  case SpvOpSelect:
    return chosen(w, i);
  case SpvOpIAdd:
    return a.param != 0 ? place_sum(a, b, 1) : place_sum(b, a, 1);
  case SpvOpISub: /* unknown if ids are subtracted */
    return place_sum(a, b, -1);
  case SpvOpIMul:
    return place_product(a, b);
  case SpvOpShiftLeftLogical:
    if (!b.known || b.at < 0 || b.at >= 20)
      return (place){.known = false};
    b.at = (int64_t)1 << b.at;
    return place_product(a, b);
  case SpvOpUConvert:
  case SpvOpSConvert:
  case SpvOpCopyObject:
    return a;
  case SpvOpBitcast:
  case SpvOpPtrCastToGeneric:
  case SpvOpGenericCastToPtr:
    return a.param != 0 ? a : (place){.known = false};
  case SpvOpAccessChain:
  case SpvOpInBoundsAccessChain:
    return chain(w, i, false);
  case SpvOpPtrAccessChain:
  case SpvOpInBoundsPtrAccessChain:
    return chain(w, i, true);
  default:
    return (place){.known = false};
  }
}

/* Returns a number, which is unknown if it may not fit its type. */
static place narrowed(const reader *r, const spirv_instruction *i, place p)
{
  const spirv_instruction *type = result_type_of(r, i);
  if (!p.known || p.ids || p.param != 0 || type == NULL)
    return p;
  if (type->opcode != SpvOpTypeInt || word(type, 2) < 32 ||
      p.at <= -MOST_AT || p.at >= MOST_AT)
    p.known = false;
  p.narrow = p.narrow || word(type, 2) == 32;
  return p;
}

/* Returns true if a kernel passes all its parameters to a function, as
   compilers do for kernels that other functions may call. The function's
   parameters are then known, too. */
static bool hands_on(extent_walk *w, const spirv_instruction *i,
                     const function_info *f)
{
  const reader *r = w->r;
  int64_t n = function_of(r, word(i, 3));
  uint32_t count = i->word_count - 4u;
  if (n < 0 || r->more[n].known || count != r->functions[n].param_count)
    return false;
  for (uint32_t k = 0; k < count; k++)
    if (find_def(r, i->words[4 + k]) != (int64_t)f->param_at + k)
      return false;
  for (uint32_t k = 0; k < count; k++)
    w->of[r->more[n].param_at + k] = w->of[f->param_at + k];
  return true;
}

/* Follows the path that every work-item takes. */
static void follow(extent_walk *w, const function_info *f)
{
  const reader *r = w->r;
  bool whole = false; /* true in the function to which a kernel passes its
                         parameters */
  for (uint32_t at = f->at; at < f->end && w->steps > 0; at++, w->steps--) {
    const spirv_instruction *i = &r->ins[at];
    int64_t next;
    switch (i->opcode) {
    case SpvOpFunctionParameter:
      continue;
    case SpvOpVariable:
      w->of[at] = (place){.known = false};
      continue;
    case SpvOpBranch:
      next = find_def(r, word(i, 1));
      if (next <= (int64_t)at)
        return;
      at = (uint32_t)next;
      continue;
    case SpvOpBranchConditional:
    case SpvOpSwitch:
    case SpvOpReturn:
    case SpvOpReturnValue:
    case SpvOpUnreachable:
    case SpvOpFunctionEnd:
      return;
    }
    take_addresses(w, i);
    if (i->opcode == SpvOpFunctionCall) {
      int64_t n = function_of(r, word(i, 3));
      if (n < 0 || (!r->more[n].known && r->functions[n].imported))
        return; /* it may not return */
      if (!whole && hands_on(w, i, f)) {
        whole = true;
        f = &r->more[n];
        at = f->at;
        continue;
      }
    }
    if (i->opcode == SpvOpStore)
      store(w, i);
    else if (i->result != 0)
      w->of[at] = narrowed(r, i, result(w, i));
  }
}

/* Returns true if a parameter points to a buffer. */
static bool is_buffer(const reader *r, uint32_t at)
{
  const spirv_instruction *type = result_type_of(r, &r->ins[at]);
  return type != NULL && type->opcode == SpvOpTypePointer &&
    (word(type, 2) == SpvStorageClassCrossWorkgroup ||
     word(type, 2) == SpvStorageClassUniformConstant);
}

bool spirv_find_extents(reader *r)
{
  extent_walk w = {.r = r, .of = scratch(r, r->ins_count, sizeof *w.of),
            .steps = 4 * r->ins_count};
  if (w.of == NULL)
    return out_of_memory(r);
  if (r->m->pub.address_bits != 64)
    return true;
  for (uint32_t at = 0; at < r->ins_count; at++) {
    const spirv_instruction *i = &r->ins[at];
    int64_t n = i->opcode == SpvOpEntryPoint ? function_of(r, word(i, 2)) : -1;
    if (n < 0 || r->more[n].reach != NULL)
      continue;
    function_info *f = &r->more[n];
    uint32_t count = r->functions[n].param_count;
    w.reach = f->reach = scratch(r, count + 1, sizeof *f->reach);
    if (f->reach == NULL)
      return out_of_memory(r);
    for (uint32_t k = 0; k < count; k++)
      if (is_buffer(r, f->param_at + k))
        w.of[f->param_at + k] = (place){.known = true, .param = k + 1};
    follow(&w, f);
  }
  return true;
}
