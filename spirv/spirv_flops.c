/*
 * spirv_flops.c - a lower bound of each work-item's arithmetic.
 * SPDX-License-Identifier: MIT
 *
 * Walks through a kernel like a work-item while constants decide the path. It
 * computes integers and conditions, also in Function variables, and repeats
 * loops. If another value decides the path, the walk continues at the next
 * instruction that all paths reach. It does not count the instructions between,
 * and variables stored to between become unknown. Specialization constants are
 * unknown, since a program may set them. The walk ends after a fixed number of
 * steps; every work-item does all the operations counted by then.
 */
#include "spirv_reader.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_STEPS = 1 << 18,
  MOST_CALLS = 16,  /* nested calls */
  MOST_PASSES = 16, /* over a function's blocks, to find meeting points */
  NO_LABEL = UINT32_MAX
};

typedef struct value {
  uint64_t bits, next; /* next: a phi's new value, until all phis of its
                          block have one */
  bool known, next_known;
  bool taken;          /* of a variable: its address, or a part's, is taken */
} value;

typedef struct frame {
  uint32_t function, call; /* the calling instruction */
  uint32_t block, before;  /* labels: the current and the previous block */
} frame;

typedef struct walk {
  const spirv_module *m;
  uint32_t std_set;
  value *of;           /* by instruction; of a variable: its value */
  uint32_t *meets;     /* for a block that ends in a choice: the label at which
                          its paths meet; by instruction, NO_LABEL if they never
                          meet */
  bool *joined;        /* by function: meets is filled in */
  uint32_t *seen, round; /* by instruction, for searches */
  uint32_t *todo;      /* room for all labels */
  size_t steps;
  frame frames[MOST_CALLS];
  unsigned depth;
  spirv_flops *flops;
} walk;

static int64_t find(const walk *w, uint32_t id)
{
  return id < w->m->bound ? (int64_t)w->m->definitions[id] - 1 : -1;
}

static const spirv_instruction *at_id(const walk *w, uint32_t id)
{
  int64_t d = find(w, id);
  return d < 0 ? NULL : &w->m->instructions[d];
}

static bool is_id(const walk *w, const spirv_instruction *i, unsigned k)
{
  size_t at = (size_t)(i->words - w->m->words) + k;
  return w->m->id_uses[at / 8] >> (at % 8) & 1;
}

/* Returns the function with that id, or -1. */
static int64_t find_function(const walk *w, uint32_t id)
{
  int64_t d = find(w, id);
  size_t low = 0, high = w->m->function_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((int64_t)w->m->functions[middle].first < d)
      low = middle + 1;
    else
      high = middle;
  }
  return low < w->m->function_count && d == w->m->functions[low].first ?
    (int64_t)low : -1;
}

/* Returns true if every OpenCL implementation has an imported function. */
static bool is_builtin(const walk *w, const spirv_function *f)
{
  size_t low = 0, high = w->m->symbol_count; /* in the order of the module */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (w->m->symbols[middle].at < f->first)
      low = middle + 1;
    else
      high = middle;
  }
  return low < w->m->symbol_count && w->m->symbols[low].at == f->first &&
    w->m->symbols[low].is_builtin;
}

/* --- paths -------------------------------------------------------------- */

static bool returns(const spirv_instruction *i)
{
  return i->opcode == SpvOpReturn || i->opcode == SpvOpReturnValue;
}

/* Returns the next label, from word *k on, that the end of a block may branch
   to. */
static uint32_t next_label(const walk *w, const spirv_instruction *i,
                           unsigned *k)
{
  unsigned first = i->opcode == SpvOpBranch ? 1 :
                   i->opcode == SpvOpBranchConditional ||
                   i->opcode == SpvOpSwitch ? 2 : i->word_count;
  if (*k < first)
    *k = first;
  for (; *k < i->word_count; ++*k) {
    int64_t d = is_id(w, i, *k) ? find(w, i->words[*k]) : -1;
    if (d >= 0 && w->m->instructions[d].opcode == SpvOpLabel) {
      ++*k;
      return (uint32_t)d;
    }
  }
  return NO_LABEL;
}

/* Returns true if the instruction's block continues after it. */
static bool goes_on(const walk *w, uint32_t at)
{
  return at + 1 < w->m->instruction_count &&
    !ends_block(w->m->instructions[at].opcode);
}

/* Returns the instruction that ends a label's block. */
static uint32_t block_end(const walk *w, uint32_t label)
{
  uint32_t at = label;
  do
    at++;
  while (goes_on(w, at));
  return at;
}

/* The blocks of a function, numbered from 0; all returns lead to number
   `count`. */
typedef struct blocks {
  uint32_t low, high;     /* the function's instructions */
  uint32_t count;
  uint32_t *label, *end;  /* instructions */
  uint32_t *first, *from; /* for each block, its predecessors */
  uint32_t *order, *rank; /* blocks in order, backwards from the end, and
                             their positions in it */
  uint32_t *join;
} blocks;

/* Returns the next successor of block n, after *k others, or NO_LABEL. */
static uint32_t next_block(const walk *w, const blocks *b, uint32_t n,
                           unsigned *k)
{
  const spirv_instruction *i = &w->m->instructions[b->end[n]];
  uint32_t label;
  if (returns(i))
    return (*k)++ == 0 ? b->count : NO_LABEL;
  do
    label = next_label(w, i, k);
  while (label != NO_LABEL && (label < b->low || label >= b->high));
  return label == NO_LABEL ? NO_LABEL : w->seen[label];
}

/* Sets each block's predecessors. Returns false when memory runs out. */
static bool take_edges(const walk *w, blocks *b)
{
  uint32_t edges = 0, next;
  unsigned k;
  for (uint32_t n = 0; n < b->count; n++)
    for (k = 0; (next = next_block(w, b, n, &k)) != NO_LABEL; edges++)
      b->first[next]++;
  for (uint32_t n = 1; n < b->count + 2; n++)
    b->first[n] += b->first[n - 1];
  b->from = calloc((size_t)edges + 1, sizeof *b->from);
  if (b->from == NULL)
    return false;
  for (uint32_t n = 0; n < b->count; n++)
    for (k = 0; (next = next_block(w, b, n, &k)) != NO_LABEL;)
      b->from[--b->first[next]] = n;
  return true;
}

/* Orders blocks backwards from the returns, each before its predecessors. */
static uint32_t order_blocks(blocks *b, uint32_t *stack, uint32_t *place)
{
  uint32_t depth = 0, done = 0;
  memset(b->rank, 0, (b->count + 1) * sizeof *b->rank);
  stack[depth] = b->count;
  place[depth++] = b->first[b->count];
  b->rank[b->count] = UINT32_MAX; /* it is on the stack */
  while (depth > 0) {
    uint32_t n = stack[depth - 1];
    if (place[depth - 1] == b->first[n + 1]) {
      b->order[done++] = n;
      b->rank[n] = done; /* from 1 */
      depth--;
      continue;
    }
    uint32_t next = b->from[place[depth - 1]++];
    if (b->rank[next] != 0)
      continue;
    b->rank[next] = UINT32_MAX;
    stack[depth] = next;
    place[depth++] = b->first[next];
  }
  return done;
}

static uint32_t common(const blocks *b, uint32_t x, uint32_t y)
{
  while (x != y) {
    while (b->rank[x] < b->rank[y])
      x = b->join[x];
    while (b->rank[y] < b->rank[x])
      y = b->join[y];
  }
  return x;
}

/* Finds each block's immediate post-dominator, the next block that all its
   returning paths go through. This is Cooper, Harvey and Kennedy's
   algorithm. */
static bool join_blocks(const walk *w, blocks *b, uint32_t done)
{
  bool changed = true;
  for (uint32_t n = 0; n <= b->count; n++)
    b->join[n] = NO_LABEL;
  b->join[b->count] = b->count;
  for (uint32_t pass = 0; changed && pass < MOST_PASSES; pass++) {
    changed = false;
    for (uint32_t o = done - 1; o-- > 0;) {
      uint32_t n = b->order[o], join = NO_LABEL, next;
      unsigned k = 0;
      while ((next = next_block(w, b, n, &k)) != NO_LABEL) {
        if (b->rank[next] == 0 || b->join[next] == NO_LABEL)
          continue;
        join = join == NO_LABEL ? next : common(b, join, next);
      }
      changed = changed || b->join[n] != join;
      b->join[n] = join;
    }
  }
  return !changed;
}

/* Sets `meets` for a function's blocks. Returns false when memory runs out. */
static bool find_meets(walk *w, uint32_t function)
{
  const spirv_function *f = &w->m->functions[function];
  blocks b = {.low = f->first, .high = f->first + f->count};
  for (uint32_t at = b.low; at < b.high; at++)
    if (w->m->instructions[at].opcode == SpvOpLabel)
      b.count++;
  size_t room = (size_t)b.count + 2;
  uint32_t *memory = calloc(8 * room, sizeof *memory);
  if (memory == NULL)
    return false;
  b.label = memory;
  b.end = b.label + room;
  b.first = b.end + room;
  b.order = b.first + room;
  b.rank = b.order + room;
  b.join = b.rank + room;
  uint32_t *stack = b.join + room, *place = stack + room, n = 0;
  for (uint32_t at = b.low; at < b.high; at++)
    if (w->m->instructions[at].opcode == SpvOpLabel) {
      w->seen[at] = n;
      b.label[n] = at;
      b.end[n++] = block_end(w, at);
    }
  bool good = take_edges(w, &b);
  bool found = good && join_blocks(w, &b, order_blocks(&b, stack, place));
  for (n = 0; n < b.count; n++) {
    w->seen[b.label[n]] = 0;
    w->meets[b.label[n]] = found && b.join[n] < b.count ? b.label[b.join[n]]
                                                        : NO_LABEL;
  }
  free(b.from);
  free(memory);
  w->joined[function] = true;
  return good;
}

/* --- operations --------------------------------------------------------- */

/* Sets the bits and lanes of a floating-point type. Returns false for other
   types. */
static bool float_type(const walk *w, uint32_t id, unsigned *bits,
                       unsigned *lanes)
{
  const spirv_instruction *type = at_id(w, id);
  *lanes = 1;
  if (type != NULL && type->opcode == SpvOpTypeVector) {
    *lanes = word(type, 3);
    type = at_id(w, word(type, 2));
  }
  if (type == NULL || type->opcode != SpvOpTypeFloat)
    return false;
  *bits = word(type, 2);
  return true;
}

/* Returns the operations of an OpenCL.std function for each lane. Sets *more if
   it may do more. */
static unsigned std_weight(uint32_t function, bool *more)
{
  switch (function) {
  case OpenCLstd_Fma:
  case OpenCLstd_Mad:
    return 2;
  case OpenCLstd_Mix:
    return 3;
  case OpenCLstd_Sqrt:
  case OpenCLstd_Rsqrt:
  case OpenCLstd_Half_sqrt:
  case OpenCLstd_Half_rsqrt:
  case OpenCLstd_Half_recip:
  case OpenCLstd_Half_divide:
  case OpenCLstd_Native_sqrt:
  case OpenCLstd_Native_rsqrt:
  case OpenCLstd_Native_recip:
  case OpenCLstd_Native_divide:
  case OpenCLstd_Fdim:
  case OpenCLstd_Degrees:
  case OpenCLstd_Radians:
    return 1;
  case OpenCLstd_Ceil:
  case OpenCLstd_Copysign:
  case OpenCLstd_Fabs:
  case OpenCLstd_Floor:
  case OpenCLstd_Fmax:
  case OpenCLstd_Fmin:
  case OpenCLstd_Ilogb:
  case OpenCLstd_Ldexp:
  case OpenCLstd_Logb:
  case OpenCLstd_Maxmag:
  case OpenCLstd_Minmag:
  case OpenCLstd_Nan:
  case OpenCLstd_Nextafter:
  case OpenCLstd_Rint:
  case OpenCLstd_Round:
  case OpenCLstd_Trunc:
  case OpenCLstd_FClamp:
  case OpenCLstd_FMax_common:
  case OpenCLstd_FMin_common:
  case OpenCLstd_Step:
  case OpenCLstd_Sign:
    return 0;
  case OpenCLstd_Cross:
  case OpenCLstd_Distance:
  case OpenCLstd_Length:
  case OpenCLstd_Normalize:
  case OpenCLstd_Fast_distance:
  case OpenCLstd_Fast_length:
  case OpenCLstd_Fast_normalize:
  case OpenCLstd_Smoothstep:
    break;
  default:
    if (function > OpenCLstd_Native_tan) /* integers, memory, printf */
      return 0;
  }
  *more = true;
  return 1;
}

/* Returns the number of an instruction's operations, and sets their bits. Sets
   *more if it may do more. */
static unsigned operations(const walk *w, const spirv_instruction *i,
                           unsigned *bits, bool *more)
{
  unsigned lanes, of;
  *more = false;
  if (i->result_type == 0 || !float_type(w, i->result_type, bits, &lanes))
    return 0;
  switch (i->opcode) {
  case SpvOpFAdd:
  case SpvOpFSub:
  case SpvOpFMul:
  case SpvOpFDiv:
  case SpvOpFRem:
  case SpvOpFMod:
  case SpvOpVectorTimesScalar:
  case OP_ATOMIC_FADD:
    return lanes;
  case SpvOpDot: {
    const spirv_instruction *vector = at_id(w, word(i, 3));
    return vector != NULL && float_type(w, vector->result_type, bits, &of) ?
      2 * of - 1 : 0;
  }
  case SpvOpExtInst:
    return w->std_set != 0 && word(i, 3) == w->std_set ?
      lanes * std_weight(word(i, 4), more) : 0;
  default:
    return 0;
  }
}

static void count(walk *w, const spirv_instruction *i)
{
  unsigned bits;
  bool more;
  unsigned n = operations(w, i, &bits, &more);
  if (more)
    w->flops->whole = false;
  if (n == 0)
    return;
  *(bits == 64 ? &w->flops->of_double :
    bits == 32 ? &w->flops->of_float : &w->flops->of_half) += n;
}

/* --- values ------------------------------------------------------------- */

static const value unknown = {.known = false};

static value number(uint64_t bits)
{
  return (value){.bits = bits, .known = true};
}

/* Returns the bits of an integer type, 1 for a boolean, or 0. */
static unsigned width_of(const walk *w, uint32_t id)
{
  const spirv_instruction *type = at_id(w, id);
  if (type == NULL)
    return 0;
  return type->opcode == SpvOpTypeBool ? 1 :
         type->opcode == SpvOpTypeInt && word(type, 2) <= 64 ? word(type, 2) :
                                                               0;
}

static uint64_t cut(uint64_t bits, unsigned width)
{
  return width >= 64 ? bits : bits & (((uint64_t)1 << width) - 1);
}

static int64_t extended(uint64_t bits, unsigned width)
{
  uint64_t sign = width == 0 ? 0 : (uint64_t)1 << (width - 1);
  return (int64_t)((cut(bits, width) ^ sign) - sign);
}

static bool is_variable(const spirv_instruction *i)
{
  return i != NULL && i->opcode == SpvOpVariable &&
    word(i, 3) == SpvStorageClassFunction;
}

static value value_of(const walk *w, uint32_t id)
{
  const spirv_instruction *i = at_id(w, id);
  if (i == NULL || is_variable(i))
    return unknown;
  switch (i->opcode) {
  case SpvOpConstantTrue:
    return number(1);
  case SpvOpConstantFalse:
    return number(0);
  case SpvOpConstantNull:
    return width_of(w, i->result_type) != 0 ? number(0) : unknown;
  case SpvOpConstant:
    return width_of(w, i->result_type) == 0 ? unknown :
      number(cut(word(i, 3) | (uint64_t)word(i, 4) << 32,
                 width_of(w, i->result_type)));
  default:
    return w->of[find(w, id)];
  }
}

/* Returns the result of a comparison or operation on two numbers of that
   width. */
static value combined(uint16_t opcode, uint64_t a, uint64_t b, unsigned width)
{
  int64_t x = extended(a, width), y = extended(b, width);
  switch (opcode) {
  case SpvOpIAdd: return number(a + b);
  case SpvOpISub: return number(a - b);
  case SpvOpIMul: return number(a * b);
  case SpvOpUDiv: return b == 0 ? unknown : number(a / b);
  case SpvOpUMod: return b == 0 ? unknown : number(a % b);
  case SpvOpSDiv:
    return y == 0 || y == -1 ? unknown : number((uint64_t)(x / y));
  case SpvOpSRem:
    return y == 0 || y == -1 ? unknown : number((uint64_t)(x % y));
  case SpvOpBitwiseAnd:
  case SpvOpLogicalAnd: return number(a & b);
  case SpvOpBitwiseOr:
  case SpvOpLogicalOr: return number(a | b);
  case SpvOpBitwiseXor:
  case SpvOpLogicalNotEqual: return number(a ^ b);
  case SpvOpShiftLeftLogical: return b >= width ? unknown : number(a << b);
  case SpvOpShiftRightLogical: return b >= width ? unknown : number(a >> b);
  case SpvOpShiftRightArithmetic:
    return b >= width ? unknown : number((uint64_t)(x >> b));
  case SpvOpIEqual:
  case SpvOpLogicalEqual: return number(a == b);
  case SpvOpINotEqual: return number(a != b);
  case SpvOpULessThan: return number(a < b);
  case SpvOpULessThanEqual: return number(a <= b);
  case SpvOpUGreaterThan: return number(a > b);
  case SpvOpUGreaterThanEqual: return number(a >= b);
  case SpvOpSLessThan: return number(x < y);
  case SpvOpSLessThanEqual: return number(x <= y);
  case SpvOpSGreaterThan: return number(x > y);
  case SpvOpSGreaterThanEqual: return number(x >= y);
  default: return unknown;
  }
}

static value result(const walk *w, const spirv_instruction *i)
{
  const spirv_instruction *operand = at_id(w, word(i, 3));
  if (i->opcode == SpvOpLoad) {
    value held = is_variable(operand) ? w->of[find(w, word(i, 3))] : unknown;
    return held.taken ? unknown : held;
  }
  if (operand == NULL || width_of(w, i->result_type) == 0)
    return unknown;
  value a = value_of(w, word(i, 3)), b = value_of(w, word(i, 4));
  unsigned width = width_of(w, operand->result_type);
  switch (i->opcode) {
  case SpvOpSelect:
    return !a.known ? unknown : a.bits != 0 ? b : value_of(w, word(i, 5));
  case SpvOpCopyObject:
  case SpvOpUConvert:
    return width != 0 ? a : unknown;
  case SpvOpSConvert:
    return a.known && width != 0 ? number((uint64_t)extended(a.bits, width)) :
                                   unknown;
  case SpvOpNot:
  case SpvOpLogicalNot:
    return a.known ? number(~a.bits) : unknown;
  case SpvOpSNegate:
    return a.known ? number(0 - a.bits) : unknown;
  default:
    return i->word_count == 5 && a.known && b.known && width != 0 ?
      combined(i->opcode, a.bits, b.bits, width) : unknown;
  }
}

static void set(walk *w, uint32_t at, value v)
{
  unsigned width = width_of(w, w->m->instructions[at].result_type);
  bool taken = w->of[at].taken;
  if (width != 0)
    v.bits = cut(v.bits, width);
  w->of[at] = v;
  w->of[at].taken = taken;
}

static void store(walk *w, const spirv_instruction *i, value v)
{
  if (is_variable(at_id(w, word(i, 1)))) {
    value *held = &w->of[find(w, word(i, 1))];
    v.taken = held->taken;
    *held = v;
  }
}

/* Finds variables with uses other than loads and stores. */
static void find_taken(walk *w)
{
  for (size_t at = 0; at < w->m->instruction_count; at++) {
    const spirv_instruction *i = &w->m->instructions[at];
    unsigned plain = i->opcode == SpvOpLoad ? 3 :
                     i->opcode == SpvOpStore ||
                     i->opcode == SpvOpLifetimeStart ||
                     i->opcode == SpvOpLifetimeStop ||
                     i->opcode == SpvOpName ||
                     i->opcode == SpvOpDecorate ? 1 : 0;
    for (unsigned k = 1; k < i->word_count; k++)
      if (k != plain && is_id(w, i, k) && is_variable(at_id(w, i->words[k])))
        w->of[find(w, i->words[k])].taken = true;
  }
}

/* --- the walk ----------------------------------------------------------- */

/* Skips the instructions between the end of a block and a label; they may or
   may not run. */
static void pass_over(walk *w, uint32_t end, uint32_t meet)
{
  uint32_t waiting = 0, label;
  unsigned k = 0, bits;
  bool more;
  w->round++;
  if (meet != NO_LABEL)
    w->seen[meet] = w->round;
  w->todo[waiting++] = end;
  while (waiting > 0 && w->steps > 0) {
    const spirv_instruction *last = &w->m->instructions[w->todo[--waiting]];
    for (k = 0; (label = next_label(w, last, &k)) != NO_LABEL;) {
      if (w->seen[label] == w->round)
        continue;
      w->seen[label] = w->round;
      uint32_t at = label;
      while (at + 1 < w->m->instruction_count) {
        const spirv_instruction *i = &w->m->instructions[++at];
        if (w->steps > 0)
          w->steps--;
        if (i->opcode == SpvOpStore)
          store(w, i, unknown);
        if (i->opcode == SpvOpFunctionCall ||
            operations(w, i, &bits, &more) > 0 || more)
          w->flops->whole = false;
        if (!goes_on(w, at)) break;
      }
      w->todo[waiting++] = at;
    }
  }
}

/* Enters a function, called by instruction `call`. */
static uint32_t enter(walk *w, uint32_t function, uint32_t call)
{
  const spirv_function *f = &w->m->functions[function];
  w->frames[w->depth++] =
    (frame){.function = function, .call = call, .block = NO_LABEL};
  return f->first + 1;
}

/* Leaves a function with a value. Returns the next instruction, or NO_LABEL. */
static uint32_t leave(walk *w, value v)
{
  uint32_t call = w->frames[--w->depth].call;
  if (w->depth == 0)
    return NO_LABEL;
  set(w, call, v);
  return call + 1;
}

/* Makes a call. Returns the next instruction. */
static uint32_t call(walk *w, uint32_t at)
{
  const spirv_instruction *i = &w->m->instructions[at];
  int64_t n = find_function(w, word(i, 3));
  const spirv_function *f = n < 0 ? NULL : &w->m->functions[n];
  set(w, at, unknown);
  if (f != NULL && f->imported && is_builtin(w, f))
    return at + 1;
  w->flops->whole = w->flops->whole && f != NULL && !f->imported;
  if (f == NULL || f->imported)
    return NO_LABEL; /* it may not return */
  bool again = w->depth == MOST_CALLS;
  for (unsigned k = 0; k < w->depth; k++)
    again = again || w->frames[k].function == n;
  if (again) {
    w->flops->whole = false;
    return NO_LABEL;
  }
  for (uint32_t k = 0; k < f->param_count; k++)
    set(w, (uint32_t)find(w, f->params[k]), value_of(w, word(i, 4 + k)));
  return enter(w, (uint32_t)n, at);
}

/* Goes to a label of the function. `before` is the block that it comes from, or
   NO_LABEL for any block. */
static uint32_t go(walk *w, uint32_t label, uint32_t before)
{
  w->frames[w->depth - 1].before = before;
  w->frames[w->depth - 1].block = label;
  return label + 1;
}

/* Returns the label that a constant selects at the end of a block, or
   NO_LABEL. */
static uint32_t chosen(const walk *w, const spirv_instruction *i)
{
  value v = value_of(w, word(i, 1));
  uint32_t id = word(i, 2);
  if (!v.known)
    return NO_LABEL;
  if (i->opcode == SpvOpBranchConditional) {
    id = word(i, v.bits != 0 ? 2 : 3);
  } else {
    const spirv_instruction *selector = at_id(w, word(i, 1));
    unsigned width = selector == NULL ? 0 : width_of(w, selector->result_type);
    unsigned words = width > 32 ? 2 : 1;
    for (unsigned k = 3; k + words < i->word_count; k += words + 1) {
      uint64_t literal =
        i->words[k] | (words == 2 ? (uint64_t)i->words[k + 1] << 32 : 0);
      if (cut(literal, width) == v.bits)
        id = i->words[k + words];
    }
  }
  const spirv_instruction *label = at_id(w, id);
  return label != NULL && label->opcode == SpvOpLabel ? (uint32_t)find(w, id) :
                                                        NO_LABEL;
}

/* Evaluates all phis of a block at once. Returns the next instruction. */
static uint32_t phis(walk *w, uint32_t at)
{
  const spirv_instruction *all = w->m->instructions;
  uint32_t before = w->frames[w->depth - 1].before, end = at;
  for (; end < w->m->instruction_count && all[end].opcode == SpvOpPhi; end++) {
    value v = unknown;
    for (unsigned k = 3; k + 1 < all[end].word_count; k += 2)
      if (before != NO_LABEL && find(w, all[end].words[k + 1]) == before)
        v = value_of(w, all[end].words[k]);
    w->of[end].next = v.bits;
    w->of[end].next_known = v.known;
  }
  for (uint32_t k = at; k < end; k++)
    set(w, k, (value){.bits = w->of[k].next, .known = w->of[k].next_known});
  return end;
}

/* Ends a block. Returns the next instruction, or NO_LABEL. */
static uint32_t next(walk *w, uint32_t at, bool *failed)
{
  const spirv_instruction *i = &w->m->instructions[at];
  frame *f = &w->frames[w->depth - 1];
  uint32_t label;
  unsigned k = 0;
  switch (i->opcode) {
  case SpvOpReturn:
    return leave(w, unknown);
  case SpvOpReturnValue:
    return leave(w, value_of(w, word(i, 1)));
  case SpvOpBranch:
    label = next_label(w, i, &k);
    return label == NO_LABEL ? NO_LABEL : go(w, label, f->block);
  case SpvOpBranchConditional:
  case SpvOpSwitch:
    label = chosen(w, i);
    if (label != NO_LABEL)
      return go(w, label, f->block);
    if (f->block == NO_LABEL)
      return NO_LABEL;
    if (!w->joined[f->function] && !find_meets(w, f->function)) {
      *failed = true;
      return NO_LABEL;
    }
    label = w->meets[f->block];
    pass_over(w, at, label);
    return label != NO_LABEL ? go(w, label, NO_LABEL) : leave(w, unknown);
  default:
    return NO_LABEL;
  }
}

static bool follow(walk *w, uint32_t function)
{
  uint32_t at = enter(w, function, NO_LABEL);
  bool failed = false;
  while (at != NO_LABEL && at < w->m->instruction_count) {
    const spirv_instruction *i = &w->m->instructions[at];
    if (w->steps == 0) {
      w->flops->whole = false;
      break;
    }
    w->steps--;
    if (i->opcode != SpvOpLabel && ends_block(i->opcode)) {
      at = next(w, at, &failed);
      continue;
    }
    count(w, i);
    switch (i->opcode) {
    case SpvOpLabel:
      at = go(w, at, NO_LABEL);
      continue;
    case SpvOpPhi:
      at = phis(w, at);
      continue;
    case SpvOpFunctionCall:
      at = call(w, at);
      continue;
    case SpvOpFunctionParameter:
      break;
    case SpvOpVariable:
      set(w, at, i->word_count > 4 ? value_of(w, word(i, 4)) : unknown);
      break;
    case SpvOpStore:
      store(w, i, value_of(w, word(i, 2)));
      break;
    default:
      if (i->result != 0)
        set(w, at, result(w, i));
    }
    at++;
  }
  return !failed;
}

static uint32_t find_std_set(const spirv_module *m)
{
  static const char name[] = "OpenCL.std";
  for (size_t at = 0; at < m->instruction_count; at++) {
    const spirv_instruction *i = &m->instructions[at];
    bool same = i->opcode == SpvOpExtInstImport &&
      i->word_count >= 2 + (sizeof name + 3) / 4;
    for (size_t k = 0; k < sizeof name && same; k++)
      same = (char)(i->words[2 + k / 4] >> (k % 4 * 8)) == name[k];
    if (same)
      return i->result;
  }
  return 0;
}

bool spirv_count_flops(const spirv_module *m, const spirv_kernel *kernel,
                       spirv_flops *flops)
{
  size_t count = m->instruction_count + 1;
  walk w = {.m = m, .std_set = find_std_set(m), .steps = MOST_STEPS,
            .flops = flops};
  *flops = (spirv_flops){.whole = true};
  w.of = calloc(count, sizeof *w.of);
  w.meets = calloc(count, sizeof *w.meets);
  w.seen = calloc(count, sizeof *w.seen);
  w.todo = calloc(count, sizeof *w.todo);
  w.joined = calloc(m->function_count + 1, sizeof *w.joined);
  bool good = w.of != NULL && w.meets != NULL && w.seen != NULL &&
    w.todo != NULL && w.joined != NULL;
  if (good) {
    find_taken(&w);
    good = follow(&w, kernel->function);
  }
  free(w.of);
  free(w.meets);
  free(w.seen);
  free(w.todo);
  free(w.joined);
  return good;
}
