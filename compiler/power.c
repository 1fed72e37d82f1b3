/*
 * power.c - x ^ e in SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * A whole exponent that is known and small becomes products.  So few of them
 * are exact that plain products would often differ from pow in the last bit:
 * floats are multiplied as doubles, and doubles as unevaluated sums of two (T.
 * J. Dekker, A floating-point technique for extending the available precision,
 * 1971), with a fused multiply-add for the error of each product.
 */
#include "compile.h"

#include <math.h>
#include <string.h>

enum { MOST_PRODUCTS = 16 }; /* the largest exponent that becomes products */

/* A number as a sum of two doubles; `low` is 0 if it is one. */
typedef struct pair {
  uint32_t high, low;
} pair;

/* Finds the value of a constant of the kernel's reals. */
static bool real_constant(compiler *c, uint32_t id, double *n) {
  const writer_words *s = &c->w.section[WRITER_GLOBAL];
  uint32_t t = t_of(c, T_REAL);
  for (size_t i = 0; i < s->count; i += s->at[i] >> 16) {
    const uint32_t *at = s->at + i;
    if ((at[0] & 0xffff) != SpvOpConstant || at[1] != t || at[2] != id)
      continue;
    if (real_bits(c) == 64) {
      memcpy(n, at + 3, sizeof *n);
    } else {
      float f;
      memcpy(&f, at + 3, sizeof f);
      *n = f;
    }
    return true;
  }
  return false;
}

static uint32_t times(compiler *c, uint32_t t, uint32_t a, uint32_t b) {
  return op2(c, SpvOpFMul, t, a, b);
}

/* Returns x to the power n >= 1, each product rounded. */
static uint32_t plain_product(compiler *c, uint32_t t, uint32_t x,
                              unsigned n) {
  uint32_t r = 0;
  for (; n > 0; n >>= 1) {
    if (n & 1) r = r == 0 ? x : times(c, t, r, x);
    if (n > 1) x = times(c, t, x, x);
  }
  return r;
}

/* Returns a * b. */
static pair pair_product(compiler *c, pair a, pair b) {
  uint32_t t = t_float(c, 64), p = times(c, t, a.high, b.high);
  uint32_t e = ext(c, OpenCLstd_Fma, t, 3, a.high, b.high,
                   op1(c, SpvOpFNegate, t, p));
  if (b.low != 0)
    e = op2(c, SpvOpFAdd, t, e, times(c, t, a.high, b.low));
  if (a.low != 0)
    e = op2(c, SpvOpFAdd, t, e, times(c, t, a.low, b.high));
  uint32_t high = op2(c, SpvOpFAdd, t, p, e);
  return (pair){high, op2(c, SpvOpFSub, t, e, op2(c, SpvOpFSub, t, high, p))};
}

/* Returns a double that is 1 / v, rounded nearly once. */
static uint32_t pair_reciprocal(compiler *c, pair v) {
  uint32_t t = t_float(c, 64), one = k_float(c, 64, 1);
  uint32_t q = op2(c, SpvOpFDiv, t, one, v.high);
  uint32_t rest = ext(c, OpenCLstd_Fma, t, 3, op1(c, SpvOpFNegate, t, q),
                      v.high, one);
  rest = op2(c, SpvOpFSub, t, rest, times(c, t, q, v.low));
  return op2(c, SpvOpFAdd, t, q, times(c, t, q, rest));
}

/* Returns 2^n for an integer of 64 bits from -1022 to 1023. */
static uint32_t power_of_two(compiler *c, uint32_t n) {
  uint32_t i = t_int(c, 64);
  uint32_t bits = op2(c, SpvOpShiftLeftLogical, i,
                      op2(c, SpvOpIAdd, i, n, k_int(c, 64, 1023)),
                      k_int(c, 64, 52));
  return op1(c, SpvOpBitcast, t_float(c, 64), bits);
}

/* Returns v * 2^n, rounded once; n may be any integer of 64 bits. */
static uint32_t scaled(compiler *c, uint32_t v, uint32_t n) {
  uint32_t t = t_float(c, 64), i = t_int(c, 64);
  uint32_t most = k_int(c, 64, 2046), least = k_int(c, 64, -2044);
  n = op3(c, SpvOpSelect, i, logical(c, SpvOpSLessThan, n, least), least, n);
  n = op3(c, SpvOpSelect, i, logical(c, SpvOpSGreaterThan, n, most), most, n);
  /* Half of n; processors lack signed shifts of vectors. */
  uint32_t even = k_int(c, 64, 4096);
  uint32_t half = op2(c, SpvOpISub, i,
                      op2(c, SpvOpShiftRightLogical, i,
                          op2(c, SpvOpIAdd, i, n, even), k_int(c, 64, 1)),
                      k_int(c, 64, 2048));
  v = times(c, t, v, power_of_two(c, half));
  return times(c, t, v, power_of_two(c, op2(c, SpvOpISub, i, n, half)));
}

/* Returns the double x to the power n >= 2, or 1 over that.  The products are
   those of x scaled to 1 <= |x| < 2, so no error of a product is lost. */
static uint32_t exact_product(compiler *c, uint32_t x, unsigned n,
                              bool inverse) {
  uint32_t t = t_float(c, 64), i = t_int(c, 64), zero = k_float(c, 64, 0);
  uint32_t size = ext(c, OpenCLstd_Fabs, t, 1, x, 0, 0);
  uint32_t small = logical(c, SpvOpFOrdLessThan, size,
                           k_float(c, 64, 0x1p-1022));
  uint32_t bits = op1(c, SpvOpBitcast, i,
                      op3(c, SpvOpSelect, t, small,
                          times(c, t, x, k_float(c, 64, 0x1p54)), x));
  uint32_t exponent = op2(c, SpvOpBitwiseAnd, i,
                          op2(c, SpvOpShiftRightLogical, i, bits,
                              k_int(c, 64, 52)), k_int(c, 64, 2047));
  exponent = op2(c, SpvOpISub, i, exponent,
                 op3(c, SpvOpSelect, i, small, k_int(c, 64, 1023 + 54),
                     k_int(c, 64, 1023)));
  bits = op2(c, SpvOpBitwiseOr, i,
             op2(c, SpvOpBitwiseAnd, i, bits,
                 k_int(c, 64, (int64_t)0x800fffffffffffff)),
             k_int(c, 64, 0x3ff0000000000000));
  pair base = {op1(c, SpvOpBitcast, t, bits), 0}, r = {0, 0};
  for (unsigned left = n; left > 0; left >>= 1) {
    if (left & 1) r = r.high == 0 ? base : pair_product(c, r, base);
    if (left > 1) base = pair_product(c, base, base);
  }
  uint32_t v = inverse ? pair_reciprocal(c, r) : r.high;
  int64_t factor = inverse ? -(int64_t)n : (int64_t)n;
  v = scaled(c, v, op2(c, SpvOpIMul, i, exponent, k_int(c, 64, factor)));
  /* 0, infinities and NaNs. */
  uint32_t special = plain_product(c, t, x, n);
  if (inverse) special = op2(c, SpvOpFDiv, t, k_float(c, 64, 1), special);
  uint32_t finite = logical(c, SpvOpLogicalAnd,
                            logical(c, SpvOpFOrdGreaterThan, size, zero),
                            logical(c, SpvOpFOrdLessThan, size,
                                    k_float(c, 64, INFINITY)));
  return op3(c, SpvOpSelect, t, finite, v, special);
}

/* Returns x to the whole power n, or 0 if products would be less accurate than
   pow: floats need a device with doubles. */
static uint32_t whole_power(compiler *c, uint32_t x, int n) {
  uint32_t t = t_of(c, T_REAL), one = k_real(c, 1);
  unsigned size = (unsigned)(n < 0 ? -n : n);
  if (n == 0) return one;
  if (n == -1) return op2(c, SpvOpFDiv, t, one, x);
  if (n == 1) return x;
  if (n == 2) return times(c, t, x, x);
  bool wide = real_bits(c) == 64;
  if (wide && !c->input->options.fast)
    return exact_product(c, x, size, n < 0);
  if (!wide && !c->input->device.fp64) return 0;
  uint32_t d = t_float(c, 64);
  uint32_t v = plain_product(c, d, wide ? x : op1(c, SpvOpFConvert, d, x),
                             size);
  if (n < 0) v = op2(c, SpvOpFDiv, d, k_float(c, 64, 1), v);
  return wide ? v : op1(c, SpvOpFConvert, t, v);
}

/* Returns x ^ 0.5.  Lua's result is nearly always the square root, which
   devices round correctly, unlike their pow; for -0.0 it is 0.0, and for -inf
   it is inf. */
static uint32_t square_root(compiler *c, uint32_t x) {
  uint32_t t = t_of(c, T_REAL);
  uint32_t root = ext(c, OpenCLstd_Sqrt, t, 1, x, 0, 0);
  root = op2(c, SpvOpFAdd, t, root, k_real(c, 0));
  return op3(c, SpvOpSelect, t,
             logical(c, SpvOpFOrdEqual, x, k_real(c, -INFINITY)),
             k_real(c, INFINITY), root);
}

static uint32_t real_power(compiler *c, uint32_t x, uint32_t e) {
  uint32_t t = t_of(c, T_REAL), r = 0;
  double n;
  if (real_constant(c, e, &n)) {
    if (n == 0.5) return square_root(c, x);
    if (n == floor(n) && fabs(n) <= MOST_PRODUCTS)
      r = whole_power(c, x, (int)n);
    if (r != 0) return r;
  }
  r = function_of_floats(c, OpenCLstd_Pow, x, e);
  if (r != 0) return r;
  r = ext(c, OpenCLstd_Pow, t, 2, x, e, 0);
  r = op3(c, SpvOpSelect, t, logical(c, SpvOpFOrdEqual, e, k_real(c, 0.5)),
          square_root(c, x), r);
  return op3(c, SpvOpSelect, t, logical(c, SpvOpFOrdEqual, e, k_real(c, 2)),
             times(c, t, x, x), r);
}

val power(compiler *c, val x, val e) {
  x = to_real(c, x);
  e = to_real(c, e);
  return (val){T_REAL, c->emit ? real_power(c, x.id, e.id) : 0, 0};
}
