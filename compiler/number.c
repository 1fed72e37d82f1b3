/*
 * number.c - Lua's arithmetic in SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * Operations that Lua defines and SPIR-V does not are defined here: shifts by
 * the width and more, division by zero and by -1, conversion of floats beyond
 * the integers.
 */
#include "compile.h"

#include <math.h>
#include <string.h>

#define ONCE(c, op, result, ...) \
  writer_once(&(c)->w, op, result, \
              sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
              (uint32_t[]){__VA_ARGS__})

uint32_t t_void(compiler *c) {
  return writer_once(&c->w, SpvOpTypeVoid, 0, 0, NULL);
}
uint32_t t_bool(compiler *c) {
  return writer_once(&c->w, SpvOpTypeBool, 0, 0, NULL);
}
uint32_t t_int(compiler *c, unsigned bits) {
  if (bits == 8) writer_capability(&c->w, SpvCapabilityInt8);
  if (bits == 16) writer_capability(&c->w, SpvCapabilityInt16);
  return ONCE(c, SpvOpTypeInt, 0, bits, 0);
}
uint32_t t_float(compiler *c, unsigned bits) {
  if (bits == 64) writer_capability(&c->w, SpvCapabilityFloat64);
  if (bits == 16) writer_capability(&c->w, SpvCapabilityFloat16Buffer);
  return ONCE(c, SpvOpTypeFloat, 0, bits);
}
uint32_t t_pointer(compiler *c, uint32_t storage, uint32_t to) {
  return ONCE(c, SpvOpTypePointer, 0, storage, to);
}
uint32_t t_element(compiler *c, lzc_element element) {
  unsigned bits = lzc_element_bytes(element) * 8;
  return element >= LZC_HALF && element != LZC_BFLOAT16 ? t_float(c, bits)
                                                        : t_int(c, bits);
}
/* Returns the type of an element of an array.  On a device without half
   arithmetic, halves exist only behind a pointer: arrays hold their bits. */
uint32_t t_cell(compiler *c, lzc_element e) {
  return e == LZC_HALF ? t_int(c, 16) : t_element(c, e);
}
unsigned real_bits(const compiler *c) {
  return c->real == LZC_DOUBLE ? 64 : 32;
}

uint32_t t_of(compiler *c, type t) {
  switch (KIND(t)) {
    case T_REAL: case T_MAYBE_REAL: return t_float(c, real_bits(c));
    case T_BOOL: return t_bool(c);
    default: return t_int(c, c->int_bits);
  }
}

uint32_t k_int(compiler *c, unsigned bits, int64_t n) {
  uint32_t t = t_int(c, bits);
  if (bits == 64)
    return ONCE(c, SpvOpConstant, 1, t, (uint32_t)n,
                (uint32_t)((uint64_t)n >> 32));
  return ONCE(c, SpvOpConstant, 1, t, (uint32_t)n);
}

uint32_t k_float(compiler *c, unsigned bits, double n) {
  uint32_t t = t_float(c, bits), words[2];
  if (bits == 64) {
    memcpy(words, &n, 8);
    return ONCE(c, SpvOpConstant, 1, t, words[0], words[1]);
  }
  float f = (float)n;
  memcpy(words, &f, 4);
  return ONCE(c, SpvOpConstant, 1, t, words[0]);
}

uint32_t k_real(compiler *c, double n) {
  return k_float(c, real_bits(c), n);
}

uint32_t op1(compiler *c, unsigned op, uint32_t t, uint32_t a) {
  if (!c->emit) return 0;
  uint32_t id = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, op, t, id, a);
  return id;
}
uint32_t op2(compiler *c, unsigned op, uint32_t t, uint32_t a, uint32_t b) {
  if (!c->emit) return 0;
  uint32_t id = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, op, t, id, a, b);
  return id;
}
uint32_t op3(compiler *c, unsigned op, uint32_t t, uint32_t a, uint32_t b,
             uint32_t d) {
  if (!c->emit) return 0;
  uint32_t id = writer_id(&c->w);
  WRITE(&c->w, WRITER_BODY, op, t, id, a, b, d);
  return id;
}
uint32_t logical(compiler *c, unsigned op, uint32_t a, uint32_t b) {
  return c->emit ? op2(c, op, t_bool(c), a, b) : 0;
}

/* --- functions ------------------------------------------------------------ */

static uint32_t library(compiler *c, unsigned op, uint32_t t, unsigned count,
                        uint32_t a, uint32_t b, uint32_t d) {
  uint32_t id = writer_id(&c->w);
  uint32_t words[] = {t, id, c->import, op, a, b, d};
  writer_op(&c->w, WRITER_BODY, SpvOpExtInst, 4 + count, words);
  return id;
}

/* Calls a function that returns NaN for NaN, but never with a NaN. */
static uint32_t of_number(compiler *c, unsigned op, uint32_t t, uint32_t x) {
  uint32_t nan = logical(c, SpvOpFUnordNotEqual, x, x);
  uint32_t number = op3(c, SpvOpSelect, t, nan, k_real(c, 0), x);
  return op3(c, SpvOpSelect, t, nan, x, library(c, op, t, 1, number, 0, 0));
}

/* Calls fmod only if x is finite, y is not 0 and |x| >= |y|. Otherwise the
   result is x, if |x| < |y|, or NaN. */
static uint32_t remainder_of(compiler *c, uint32_t t, uint32_t x, uint32_t y) {
  uint32_t ax = library(c, OpenCLstd_Fabs, t, 1, x, 0, 0);
  uint32_t ay = library(c, OpenCLstd_Fabs, t, 1, y, 0, 0);
  uint32_t one = k_real(c, 1);
  uint32_t good = logical(
      c, SpvOpLogicalAnd, logical(c, SpvOpFOrdGreaterThanEqual, ax, ay),
      logical(c, SpvOpLogicalAnd,
              logical(c, SpvOpFOrdLessThan, ax, k_real(c, INFINITY)),
              logical(c, SpvOpFOrdGreaterThan, ay, k_real(c, 0))));
  uint32_t m = library(c, OpenCLstd_Fmod, t, 2,
                       op3(c, SpvOpSelect, t, good, x, one),
                       op3(c, SpvOpSelect, t, good, y, one), 0);
  uint32_t other =
      op3(c, SpvOpSelect, t, logical(c, SpvOpFOrdLessThan, ax, ay), x,
          k_real(c, NAN));
  return op3(c, SpvOpSelect, t, good, m, other);
}

/* Calls a function of the driver's library.  In PoCL, functions that convert a
   number to an integer internally have undefined behaviour for a NaN, and fmod
   also for infinity and 0.  If the operand is known to LLVM, it then removes
   the function and other parts of the kernel: exp in PoCL 3.1, all of them in
   7.1. */
uint32_t ext(compiler *c, unsigned op, uint32_t t, unsigned count, uint32_t a,
             uint32_t b, uint32_t d) {
  if (!c->emit) return 0;
  switch (op) {
    case OpenCLstd_Floor: case OpenCLstd_Ceil: case OpenCLstd_Trunc:
    case OpenCLstd_Exp: case OpenCLstd_Native_exp: case OpenCLstd_Native_sin:
    case OpenCLstd_Native_cos: case OpenCLstd_Native_tan:
      return of_number(c, op, t, a);
    case OpenCLstd_Fmod: return remainder_of(c, t, a, b);
    default: return library(c, op, t, count, a, b, d);
  }
}

/* --- values --------------------------------------------------------------- */

val v_int(compiler *c, int64_t n) {
  if (c->int_bits == 32) n = (int32_t)n;
  return (val){type_range(c, n, n), c->emit ? k_int(c, c->int_bits, n) : 0, 0};
}
val v_real(compiler *c, double n) {
  bool fits = fabs(n) < 0x1p63 || n == -0x1p63;
  unsigned is = n == 0 ? ZERO : fits && n == floor(n) ? WHOLE : NO_INTEGER;
  return (val){TYPE(T_REAL, is),
               c->emit ? k_real(c, n) : 0, 0};
}
val v_bool(uint32_t id) { return (val){T_BOOL, id, 0}; }

val to_real(compiler *c, val v) {
  const int64_t exact = (int64_t)1 << 53;
  int64_t n;
  if (KIND(v.type) == T_REAL) return v;
  if (constant_of(c, v.type, &n) && n >= -exact && n <= exact)
    return v_real(c, (double)n);
  return (val){T_REAL,
               c->emit ? op1(c, SpvOpConvertSToF, t_of(c, T_REAL), v.id) : 0,
               0};
}

uint32_t to_index(compiler *c, val v) {
  if (!c->emit || c->int_bits == 64) return v.id;
  return op1(c, SpvOpSConvert, t_int(c, 64), v.id);
}

uint32_t truncated(compiler *c, uint32_t real) {
  if (!c->emit) return 0;
  uint32_t id = op1(c, SpvOpConvertFToS, t_of(c, T_INT), real);
  WRITE(&c->w, WRITER_DECORATION, SpvOpDecorate, id,
        SpvDecorationSaturatedConversion);
  return id;
}

/* SPIR-V converts NaN to 0, but drivers leave it undefined (PoCL): then code
   that depends on the result may not run, even if the result is not used. */
uint32_t whole(compiler *c, uint32_t real) {
  if (!c->emit) return 0;
  uint32_t is_nan = logical(c, SpvOpFUnordNotEqual, real, real);
  return truncated(c, op3(c, SpvOpSelect, t_of(c, T_REAL), is_nan,
                          k_real(c, 0), real));
}

uint32_t rounded(compiler *c, unsigned op, uint32_t real) {
  return ext(c, op, t_of(c, T_REAL), 1, real, 0, 0);
}

/* --- integers ------------------------------------------------------------- */

static uint32_t icompare(compiler *c, unsigned op, uint32_t a, int64_t n) {
  return logical(c, op, a, k_int(c, c->int_bits, n));
}
static uint32_t pick(compiler *c, uint32_t t, uint32_t yes, uint32_t a,
                     uint32_t b) {
  return op3(c, SpvOpSelect, t, yes, a, b);
}

/* Returns the lower 32 bits of an integer.  Integers are computed in 32 bits if
   the ranges of all operands and results fit: drivers do not track ranges, and
   processors divide 64 bits many times slower. */
static uint32_t narrowed(compiler *c, val v) {
  int64_t n;
  return constant_of(c, v.type, &n) ? k_int(c, 32, n)
                                    : op1(c, SpvOpSConvert, t_int(c, 32), v.id);
}

/* Floor division and modulo; by zero the result is 0. */
static uint32_t divide(compiler *c, bool modulo, val a, val b) {
  uint32_t t = t_of(c, T_INT), zero = k_int(c, c->int_bits, 0);
  int64_t n = 0;
  bool fixed = constant_of(c, b.type, &n);
  if (fixed && n == 0) return zero;
  if (fixed && n > 0 && (n & (n - 1)) == 0) {
    int shift = 0;
    while ((int64_t)1 << shift != n) shift++;
    return modulo ? op2(c, SpvOpBitwiseAnd, t, a.id,
                        k_int(c, c->int_bits, n - 1))
                  : op2(c, SpvOpShiftRightArithmetic, t, a.id,
                        k_int(c, c->int_bits, shift));
  }
  range x = range_of(c, a.type), y = range_of(c, b.type);
  bool narrow = c->int_bits == 64 && range_fits(x, 32) && range_fits(y, 32);
  unsigned bits = narrow ? 32 : c->int_bits;
  uint32_t w = t_int(c, bits), none = k_int(c, bits, 0);
  uint32_t d = b.id, is_zero = 0, is_minus = 0;
  bool safe = range_is_sure(y) && (y.least > 0 || y.most < -1);
  if (!safe) {
    is_zero = icompare(c, SpvOpIEqual, b.id, 0);
    is_minus = icompare(c, SpvOpIEqual, b.id, -1);
    d = pick(c, t, logical(c, SpvOpLogicalOr, is_zero, is_minus),
             k_int(c, c->int_bits, 1), b.id);
  }
  bool above = safe && y.least > 0;
  bool positive = above && range_is_sure(x) && x.least >= 0;
  unsigned widen = positive ? SpvOpUConvert : SpvOpSConvert;
  uint32_t p = narrow ? narrowed(c, a) : a.id, r = 0, wrong = 0;
  if (narrow) d = narrowed(c, (val){safe ? b.type : T_INT, d, 0});
  if (modulo || !positive)
    r = op2(c, positive ? SpvOpUMod : SpvOpSRem, w, p, d);
  if (above && !positive)
    wrong = logical(c, SpvOpSLessThan, r, none);
  else if (!above)
    wrong = logical(c, SpvOpLogicalAnd,
                    logical(c, SpvOpINotEqual, r, none),
                    logical(c, SpvOpSLessThan,
                            op2(c, SpvOpBitwiseXor, w, r, d), none));
  if (modulo) {
    /* Not r + (wrong ? d : 0): if d is 2^k - 1, LLVM 15 for NVIDIA adds only
       one bit of it. */
    if (!positive) r = pick(c, w, wrong, op2(c, SpvOpIAdd, w, r, d), r);
    return narrow ? op1(c, widen, t, r) : r;
  }
  uint32_t q = op2(c, positive ? SpvOpUDiv : SpvOpSDiv, w, p, d);
  if (!positive)
    q = op2(c, SpvOpISub, w, q, pick(c, w, wrong, k_int(c, bits, 1), none));
  if (narrow) q = op1(c, widen, t, q);
  if (safe) return q;
  q = pick(c, t, is_minus, op2(c, SpvOpISub, t, zero, a.id), q);
  return pick(c, t, is_zero, zero, q);
}

static uint32_t shift(compiler *c, val a, val b, bool leftwards) {
  uint32_t t = t_of(c, T_INT), zero = k_int(c, c->int_bits, 0);
  int64_t n, width = c->int_bits;
  if (constant_of(c, b.type, &n)) {
    if (!leftwards) n = n == INT64_MIN ? INT64_MAX : -n;
    if (n >= width || n <= -width) return zero;
    return op2(c, n < 0 ? SpvOpShiftRightLogical : SpvOpShiftLeftLogical, t,
               a.id, k_int(c, c->int_bits, n < 0 ? -n : n));
  }
  uint32_t mask = k_int(c, c->int_bits, width - 1);
  uint32_t minus = op2(c, SpvOpISub, t, zero, b.id);
  uint32_t up = leftwards ? b.id : minus, down = leftwards ? minus : b.id;
  uint32_t l = op2(c, SpvOpShiftLeftLogical, t, a.id,
                   op2(c, SpvOpBitwiseAnd, t, up, mask));
  uint32_t r = op2(c, SpvOpShiftRightLogical, t, a.id,
                   op2(c, SpvOpBitwiseAnd, t, down, mask));
  l = pick(c, t, icompare(c, SpvOpULessThan, up, width), l, zero);
  r = pick(c, t, icompare(c, SpvOpULessThan, down, width), r, zero);
  return op2(c, SpvOpBitwiseOr, t, l, r);
}

/* --- reals ---------------------------------------------------------------- */

static uint32_t modulo_real(compiler *c, uint32_t a, uint32_t b) {
  uint32_t t = t_of(c, T_REAL), zero = k_real(c, 0);
  uint32_t m = ext(c, OpenCLstd_Fmod, t, 2, a, b, 0);
  uint32_t up = logical(c, SpvOpLogicalAnd,
                        logical(c, SpvOpFOrdGreaterThan, m, zero),
                        logical(c, SpvOpFOrdLessThan, b, zero));
  uint32_t down = logical(c, SpvOpLogicalAnd,
                          logical(c, SpvOpFOrdLessThan, m, zero),
                          logical(c, SpvOpFOrdGreaterThan, b, zero));
  uint32_t wrong = logical(c, SpvOpLogicalOr, up, down);
  return pick(c, t, wrong, op2(c, SpvOpFAdd, t, m, b), m);
}

static val real_arithmetic(compiler *c, opcode op, val a, val b) {
  val v = {T_REAL, 0, 0};
  a = to_real(c, a);
  b = to_real(c, b);
  if (!c->emit) return v;
  uint32_t t = t_of(c, T_REAL);
  switch (op) {
    case OP_ADD: v.id = op2(c, SpvOpFAdd, t, a.id, b.id); break;
    case OP_SUB: v.id = op2(c, SpvOpFSub, t, a.id, b.id); break;
    case OP_MUL: v.id = op2(c, SpvOpFMul, t, a.id, b.id); break;
    case OP_DIV: v.id = op2(c, SpvOpFDiv, t, a.id, b.id); break;
    case OP_MOD: v.id = modulo_real(c, a.id, b.id); break;
    default: /* OP_IDIV */
      v.id = rounded(c, OpenCLstd_Floor, op2(c, SpvOpFDiv, t, a.id, b.id));
  }
  return v;
}

/* `r | 0`, the conversion of a real by bitwise operators: it must be whole. */
static val to_whole(compiler *c, val v) {
  if (KIND(v.type) == T_INT) return v;
  return (val){T_INT, whole(c, v.id), 0};
}

val arithmetic(compiler *c, opcode op, val a, val b) {
  bool bits = op >= OP_BAND && op <= OP_SHR;
  if (bits) {
    a = to_whole(c, a);
    b = to_whole(c, b);
  } else if (op == OP_DIV || KIND(a.type) == T_REAL ||
             KIND(b.type) == T_REAL) {
    return real_arithmetic(c, op, a, b);
  }
  val v = {T_INT, 0, 0};
  int64_t x, y;
  if (constant_of(c, a.type, &x) && constant_of(c, b.type, &y) &&
      (op == OP_ADD || op == OP_SUB || op == OP_MUL)) {
    uint64_t p = (uint64_t)x, q = (uint64_t)y;
    return v_int(c, (int64_t)(op == OP_ADD ? p + q
                              : op == OP_SUB ? p - q : p * q));
  }
  v.type = range_result(c, op, a.type, b.type);
  if (!c->emit) return v;
  uint32_t t = t_of(c, T_INT);
  switch (op) {
    case OP_ADD: v.id = op2(c, SpvOpIAdd, t, a.id, b.id); break;
    case OP_SUB: v.id = op2(c, SpvOpISub, t, a.id, b.id); break;
    case OP_MUL: v.id = op2(c, SpvOpIMul, t, a.id, b.id); break;
    case OP_IDIV: v.id = divide(c, false, a, b); break;
    case OP_MOD: v.id = divide(c, true, a, b); break;
    case OP_BAND: v.id = op2(c, SpvOpBitwiseAnd, t, a.id, b.id); break;
    case OP_BOR: v.id = op2(c, SpvOpBitwiseOr, t, a.id, b.id); break;
    case OP_BXOR: v.id = op2(c, SpvOpBitwiseXor, t, a.id, b.id); break;
    default: v.id = shift(c, a, b, op == OP_SHL);
  }
  return v;
}

val negate(compiler *c, val a) {
  int64_t n;
  if (constant_of(c, a.type, &n))
    return v_int(c, (int64_t)(0 - (uint64_t)n));
  bool real = KIND(a.type) == T_REAL;
  type t = real ? TYPE(T_REAL, DATA(a.type) & ZERO)
                : range_result(c, OP_SUB, type_range(c, 0, 0), a.type);
  return (val){t,
               c->emit ? op1(c, real ? SpvOpFNegate : SpvOpSNegate,
                             t_of(c, a.type), a.id) : 0, 0};
}

/* --- comparisons ---------------------------------------------------------- */

/* Compares an integer with a real, exactly: the real is rounded to the integer
   that decides. swapped: the real is on the left. */
static uint32_t mixed(compiler *c, opcode op, uint32_t i, uint32_t r,
                      bool swapped) {
  double edge = ldexp(1, (int)c->int_bits - 1);
  bool up = (op == OP_LT) != swapped;
  uint32_t f =
      rounded(c, up && op != OP_EQ ? OpenCLstd_Ceil : OpenCLstd_Floor, r);
  uint32_t n = whole(c, f);
  uint32_t above = logical(c, SpvOpFOrdGreaterThanEqual, f, k_real(c, edge));
  uint32_t inside = logical(c, SpvOpLogicalAnd,
                            logical(c, SpvOpFOrdGreaterThanEqual, f,
                                    k_real(c, -edge)),
                            logical(c, SpvOpFOrdLessThan, f, k_real(c, edge)));
  if (op == OP_EQ)
    return logical(c, SpvOpLogicalAnd, inside,
                   logical(c, SpvOpLogicalAnd, logical(c, SpvOpFOrdEqual, f, r),
                           logical(c, SpvOpIEqual, i, n)));
  unsigned how = op == OP_LT ? SpvOpSLessThan : SpvOpSLessThanEqual;
  uint32_t says = swapped ? logical(c, how, n, i) : logical(c, how, i, n);
  uint32_t below = logical(c, SpvOpFOrdLessThan, f, k_real(c, -edge));
  return logical(c, SpvOpLogicalOr,
                 logical(c, SpvOpLogicalAnd, inside, says),
                 swapped ? below : above);
}

uint32_t compare(compiler *c, opcode op, val a, val b) {
  if (!c->emit) return 0;
  bool ra = KIND(a.type) == T_REAL, rb = KIND(b.type) == T_REAL;
  int64_t n;
  bool small = (constant_of(c, ra ? b.type : a.type, &n)) && n > -16777216 &&
               n < 16777216;
  if (ra != rb && !small)
    return ra ? mixed(c, op, b.id, a.id, true)
              : mixed(c, op, a.id, b.id, false);
  if (ra || rb) {
    a = to_real(c, a);
    b = to_real(c, b);
    return logical(c, op == OP_EQ ? SpvOpFOrdEqual
                      : op == OP_LT ? SpvOpFOrdLessThan
                                    : SpvOpFOrdLessThanEqual, a.id, b.id);
  }
  return logical(c, op == OP_EQ ? SpvOpIEqual
                    : op == OP_LT ? SpvOpSLessThan : SpvOpSLessThanEqual,
                 a.id, b.id);
}
