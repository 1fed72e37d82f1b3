/*
 * function.c - functions of floats in SPIR-V.
 * SPDX-License-Identifier: MIT
 *
 * Each function converts its argument to double, computes about 37 bits there
 * without a branch, a table or a fused operation, and rounds to float once.  So
 * drivers compute several work-items with vector instructions, and results are
 * nearly always the float next to the exact result.  A float that is subnormal
 * is an ordinary double.
 *
 * The methods: W. J. Cody and W. Waite, Software manual for the elementary
 * functions (1980), for the reduction of arguments; M. H. Payne and R. N.
 * Hanek, Radian reduction for trigonometric functions (1983), for large ones.
 * scripts/coefficients computes the polynomials.  Special values follow Annex
 * F of C.
 */
#include "compile.h"

#include "coefficients.h"

#include <math.h>

#define SIGN INT64_MIN
#define MAGIC 0x1.8p52 /* a double plus this is rounded to an integer */
#define LOG_2 0.69314718055994530942
#define PI 3.14159265358979323846
#define TAN_PI_8 0.41421356237309504880

/* --- operations on doubles and on their bits ------------------------------ */

static uint32_t d(compiler *c, double n) { return k_float(c, 64, n); }
static uint32_t i(compiler *c, int64_t n) { return k_int(c, 64, n); }

static uint32_t real2(compiler *c, unsigned op, uint32_t a, uint32_t b) {
  return op2(c, op, t_float(c, 64), a, b);
}
static uint32_t add(compiler *c, uint32_t a, uint32_t b) {
  return real2(c, SpvOpFAdd, a, b);
}
static uint32_t sub(compiler *c, uint32_t a, uint32_t b) {
  return real2(c, SpvOpFSub, a, b);
}
static uint32_t mul(compiler *c, uint32_t a, uint32_t b) {
  return real2(c, SpvOpFMul, a, b);
}
static uint32_t quotient(compiler *c, uint32_t a, uint32_t b) {
  return real2(c, SpvOpFDiv, a, b);
}
static uint32_t minus(compiler *c, uint32_t a) {
  return op1(c, SpvOpFNegate, t_float(c, 64), a);
}
static uint32_t pick(compiler *c, uint32_t yes, uint32_t a, uint32_t b) {
  return op3(c, SpvOpSelect, t_float(c, 64), yes, a, b);
}
static uint32_t less(compiler *c, uint32_t a, uint32_t b) {
  return logical(c, SpvOpFOrdLessThan, a, b);
}
static uint32_t equal(compiler *c, uint32_t a, uint32_t b) {
  return logical(c, SpvOpFOrdEqual, a, b);
}
static uint32_t both(compiler *c, uint32_t a, uint32_t b) {
  return logical(c, SpvOpLogicalAnd, a, b);
}
static uint32_t any(compiler *c, uint32_t a, uint32_t b) {
  return logical(c, SpvOpLogicalOr, a, b);
}
static uint32_t whole2(compiler *c, unsigned op, uint32_t a, uint32_t b) {
  return op2(c, op, t_int(c, 64), a, b);
}
static uint32_t masked(compiler *c, uint32_t a, int64_t bits) {
  return whole2(c, SpvOpBitwiseAnd, a, i(c, bits));
}
static uint32_t left(compiler *c, uint32_t a, int64_t n) {
  return whole2(c, SpvOpShiftLeftLogical, a, i(c, n));
}
static uint32_t right(compiler *c, uint32_t a, int64_t n) {
  return whole2(c, SpvOpShiftRightLogical, a, i(c, n));
}
static uint32_t bits_of(compiler *c, uint32_t a) {
  return op1(c, SpvOpBitcast, t_int(c, 64), a);
}
static uint32_t of_bits(compiler *c, uint32_t a) {
  return op1(c, SpvOpBitcast, t_float(c, 64), a);
}
static uint32_t size(compiler *c, uint32_t a) {
  return of_bits(c, masked(c, bits_of(c, a), ~SIGN));
}
/* Returns `a`, which is not negative, with the sign of b. */
static uint32_t signed_as(compiler *c, uint32_t a, uint32_t b) {
  return of_bits(c, whole2(c, SpvOpBitwiseOr, bits_of(c, a),
                           masked(c, bits_of(c, b), SIGN)));
}
static uint32_t root(compiler *c, uint32_t a) {
  return ext(c, OpenCLstd_Sqrt, t_float(c, 64), 1, a, 0, 0);
}
/* Returns the integer `a`, 0 <= a < 2^52, as a double. */
static uint32_t counted(compiler *c, uint32_t a) {
  uint32_t up = whole2(c, SpvOpBitwiseOr, a, i(c, 0x4330000000000000));
  return sub(c, of_bits(c, up), d(c, 0x1p52));
}
/* Returns `a` within two bounds, or a NaN. */
static uint32_t clamped(compiler *c, uint32_t a, double least, double most) {
  a = pick(c, less(c, a, d(c, least)), d(c, least), a);
  return pick(c, less(c, d(c, most), a), d(c, most), a);
}
/* Returns the integer next to `a`, |a| < 2^51.  *bits ends with the lower
   bits of the integer. */
static uint32_t nearest(compiler *c, uint32_t a, uint32_t *bits) {
  uint32_t up = add(c, a, d(c, MAGIC));
  *bits = bits_of(c, up);
  return sub(c, up, d(c, MAGIC));
}

#define POLYNOMIAL(c, name, x) \
  polynomial(c, name, sizeof name / sizeof *name, x)
static uint32_t polynomial(compiler *c, const double *a, unsigned count,
                           uint32_t x) {
  uint32_t r = d(c, a[count - 1]);
  for (unsigned k = count - 1; k > 0; k--)
    r = add(c, mul(c, r, x), d(c, a[k - 1]));
  return r;
}

/* --- exponential functions ------------------------------------------------ */

/* Returns exp(r) - 1 and sets *scale to 2^n.  Their product plus *scale is
   exp(x), or 2^x if `binary` is set. */
static uint32_t reduced(compiler *c, uint32_t x, bool binary,
                        uint32_t *scale) {
  uint32_t bits;
  uint32_t n = nearest(c, binary ? x : mul(c, x, d(c, 1 / LOG_2)), &bits);
  uint32_t r = binary ? mul(c, sub(c, x, n), d(c, LOG_2))
                      : sub(c, x, mul(c, n, d(c, LOG_2)));
  *scale = of_bits(c, whole2(c, SpvOpIAdd, left(c, bits, 52),
                             i(c, 0x3ff0000000000000)));
  return mul(c, r, POLYNOMIAL(c, exp_ratio, r));
}

static uint32_t exponential(compiler *c, uint32_t x, bool binary) {
  uint32_t scale, e = reduced(c, x, binary, &scale);
  return add(c, scale, mul(c, scale, e));
}

static uint32_t exp_minus_1(compiler *c, uint32_t x) {
  uint32_t scale, e = reduced(c, x, false, &scale);
  return add(c, mul(c, scale, e), sub(c, scale, d(c, 1)));
}

static uint32_t tangent_h(compiler *c, uint32_t x) {
  uint32_t a = clamped(c, size(c, x), 0, 20);
  uint32_t e = exp_minus_1(c, add(c, a, a));
  return signed_as(c, quotient(c, e, add(c, e, d(c, 2))), x);
}

static uint32_t sine_h(compiler *c, uint32_t x) {
  uint32_t e = exp_minus_1(c, clamped(c, size(c, x), 0, 100));
  uint32_t s = add(c, e, quotient(c, e, add(c, e, d(c, 1))));
  return signed_as(c, mul(c, s, d(c, 0.5)), x);
}

static uint32_t cosine_h(compiler *c, uint32_t x) {
  uint32_t e = exponential(c, clamped(c, size(c, x), 0, 100), false);
  return mul(c, add(c, e, quotient(c, d(c, 1), e)), d(c, 0.5));
}

static uint32_t sigmoid(compiler *c, uint32_t x) {
  uint32_t e = exponential(c, clamped(c, minus(c, x), -110, 110), false);
  return quotient(c, d(c, 1), add(c, d(c, 1), e));
}

/* --- logarithms ----------------------------------------------------------- */

/* Returns log(m) and sets *n: x is m 2^n with sqrt(0.5) <= m < sqrt(2).
   `one_less` is x - 1 if the caller knows it more exactly, else 0. */
static uint32_t log_parts(compiler *c, uint32_t x, uint32_t one_less,
                          uint32_t *n) {
  const int64_t middle = (int64_t)1024 << 52;
  uint32_t bits = bits_of(c, x);
  uint32_t above = whole2(c, SpvOpIAdd, bits,
                          i(c, middle - 0x3fe6a09e667f3bcd));
  uint32_t top = masked(c, above, (int64_t)0xfff0000000000000);
  *n = sub(c, counted(c, right(c, top, 52)), d(c, 1024));
  uint32_t m = of_bits(c, whole2(c, SpvOpIAdd,
                                 whole2(c, SpvOpISub, bits, top),
                                 i(c, middle)));
  uint32_t f = sub(c, m, d(c, 1));
  if (one_less != 0)
    f = pick(c, logical(c, SpvOpIEqual, top, i(c, middle)), one_less, f);
  uint32_t s = quotient(c, f, add(c, f, d(c, 2)));
  return mul(c, s, POLYNOMIAL(c, log_ratio, mul(c, s, s)));
}

/* Returns the logarithm r of x, or its value if x is not positive and finite. */
static uint32_t or_special(compiler *c, uint32_t x, uint32_t r) {
  uint32_t zero = d(c, 0), positive = less(c, zero, x);
  uint32_t other = pick(c, equal(c, x, zero), d(c, -INFINITY),
                        pick(c, positive, x, d(c, NAN)));
  return pick(c, both(c, positive, less(c, x, d(c, INFINITY))), r, other);
}

/* Returns log(x) / log(base). */
static uint32_t logarithm(compiler *c, uint32_t x, double base) {
  uint32_t n, m = log_parts(c, x, 0, &n);
  double unit = LOG_2;
  if (base != 0) {
    m = mul(c, m, d(c, 1 / log(base)));
    unit = base == 2 ? 1 : LOG_2 / log(base);
  }
  return or_special(c, x, add(c, mul(c, n, d(c, unit)), m));
}

static uint32_t log_1_plus(compiler *c, uint32_t x) {
  uint32_t u = add(c, x, d(c, 1)), n, m = log_parts(c, u, x, &n);
  return or_special(c, u, add(c, mul(c, n, d(c, LOG_2)), m));
}

/* Returns r, or x if x is 0. */
static uint32_t or_zero(compiler *c, uint32_t x, uint32_t r) {
  return pick(c, equal(c, x, d(c, 0)), x, r);
}

static uint32_t arsine_h(compiler *c, uint32_t x) {
  uint32_t a = size(c, x), s = mul(c, a, a), one = d(c, 1);
  uint32_t more = quotient(c, s, add(c, one, root(c, add(c, one, s))));
  uint32_t r = log_1_plus(c, add(c, a, more));
  return signed_as(c, pick(c, equal(c, a, d(c, INFINITY)), a, r), x);
}

static uint32_t arcosine_h(compiler *c, uint32_t x) {
  uint32_t t = sub(c, x, d(c, 1));
  uint32_t r = root(c, mul(c, t, add(c, t, d(c, 2))));
  return pick(c, less(c, x, d(c, 1)), d(c, NAN),
              log_1_plus(c, add(c, t, r)));
}

static uint32_t artangent_h(compiler *c, uint32_t x) {
  uint32_t a = size(c, x);
  uint32_t q = quotient(c, add(c, a, a), sub(c, d(c, 1), a));
  return signed_as(c, mul(c, log_1_plus(c, q), d(c, 0.5)), x);
}

/* --- trigonometric functions ---------------------------------------------- */

/* Returns |x| - q pi / 2 for floats from 2^26 on, and q modulo 4.  x is an
   integer M of 24 bits, shifted; the bits of 2 / pi that contribute multiples
   of 4 are skipped, and the 96 bits that follow are multiplied by M. */
static uint32_t reduced_large(compiler *c, uint32_t x, uint32_t *q) {
  uint32_t bits = bits_of(c, x), window[3];
  uint32_t m = whole2(c, SpvOpBitwiseOr,
                      masked(c, right(c, bits, 29), 0x7fffff),
                      i(c, 0x800000));
  uint32_t from = masked(c, whole2(c, SpvOpISub, right(c, bits, 52),
                                   i(c, 1023 + 25)), 127);
  uint32_t within = masked(c, from, 31);
  for (int k = 0; k < 3; k++) {
    uint32_t words = 0;
    for (int j = 0; j < 4; j++) {
      uint64_t w = (uint64_t)two_over_pi[j + k] << 32 | two_over_pi[j + k + 1];
      words = j == 0 ? i(c, (int64_t)w)
                     : op3(c, SpvOpSelect, t_int(c, 64),
                           logical(c, SpvOpULessThan, from, i(c, 32 * j)),
                           words, i(c, (int64_t)w));
    }
    words = whole2(c, SpvOpShiftLeftLogical, words, within);
    window[k] = whole2(c, SpvOpIMul, m, right(c, words, 32));
  }
  uint32_t p = whole2(c, SpvOpIAdd, left(c, window[0], 32), window[1]);
  p = whole2(c, SpvOpIAdd, p, right(c, window[2], 32));
  p = whole2(c, SpvOpIAdd, p, i(c, (int64_t)1 << 61)); /* rounds */
  *q = right(c, p, 62);
  uint32_t high = counted(c, masked(c, right(c, p, 32), 0x3fffffff));
  uint32_t low = counted(c, masked(c, p, 0xffffffff));
  high = sub(c, mul(c, high, d(c, 0x1p32)), d(c, 0x1p61));
  return mul(c, add(c, high, low), d(c, PI / 2 * 0x1p-62));
}

/* Returns x - q pi / 2, at most pi / 4, and the lower bits of q; NaN if x is
   infinite. */
static uint32_t angle(compiler *c, uint32_t x, uint32_t *q) {
  uint32_t bits, far, a = size(c, x);
  uint32_t n = nearest(c, mul(c, x, d(c, 2 / PI)), &bits), r = x;
  for (int k = 0; k < 3; k++)
    r = sub(c, r, mul(c, n, d(c, half_pi[k])));
  uint32_t other = reduced_large(c, a, &far);
  uint32_t negative = less(c, x, d(c, 0));
  other = pick(c, negative, minus(c, other), other);
  far = op3(c, SpvOpSelect, t_int(c, 64), negative,
            whole2(c, SpvOpISub, i(c, 0), far), far);
  uint32_t small = less(c, a, d(c, 0x1p26));
  *q = op3(c, SpvOpSelect, t_int(c, 64), small, bits, far);
  other = pick(c, less(c, a, d(c, INFINITY)), other, d(c, NAN));
  return pick(c, small, r, other);
}

static uint32_t is_odd(compiler *c, uint32_t q) {
  return logical(c, SpvOpINotEqual, masked(c, q, 1), i(c, 0));
}

/* Returns sin(x + quarters pi / 2). */
static uint32_t sine(compiler *c, uint32_t x, int quarters) {
  uint32_t q, r = angle(c, x, &q), z = mul(c, r, r);
  if (quarters != 0) q = whole2(c, SpvOpIAdd, q, i(c, quarters));
  uint32_t v = pick(c, is_odd(c, q), POLYNOMIAL(c, cos_values, z),
                    mul(c, r, POLYNOMIAL(c, sin_ratio, z)));
  uint32_t sign = left(c, masked(c, q, 2), 62);
  return of_bits(c, whole2(c, SpvOpBitwiseXor, bits_of(c, v), sign));
}

static uint32_t tangent(compiler *c, uint32_t x) {
  uint32_t q, r = angle(c, x, &q), z = mul(c, r, r), odd = is_odd(c, q);
  uint32_t s = mul(c, r, POLYNOMIAL(c, sin_ratio, z));
  uint32_t v = POLYNOMIAL(c, cos_values, z);
  return quotient(c, pick(c, odd, minus(c, v), s), pick(c, odd, s, v));
}

/* Returns atan(a / b) for 0 <= a <= b. */
static uint32_t arc(compiler *c, uint32_t a, uint32_t b) {
  uint32_t half = less(c, mul(c, b, d(c, TAN_PI_8)), a);
  uint32_t t = quotient(c, pick(c, half, sub(c, a, b), a),
                        pick(c, half, add(c, a, b), b));
  uint32_t r = mul(c, t, POLYNOMIAL(c, atan_ratio, mul(c, t, t)));
  return add(c, r, pick(c, half, d(c, PI / 4), d(c, 0)));
}

static uint32_t arctangent(compiler *c, uint32_t x) {
  uint32_t a = size(c, x), one = d(c, 1), far = less(c, one, a);
  uint32_t r = arc(c, pick(c, far, one, a), pick(c, far, a, one));
  return signed_as(c, pick(c, far, sub(c, d(c, PI / 2), r), r), x);
}

static uint32_t arctangent_2(compiler *c, uint32_t y, uint32_t x) {
  uint32_t v = size(c, y), one = d(c, 1), zero = d(c, 0);
  /* Unlike |y|: LLVM would compute both at once, and no work-items at once. */
  uint32_t u = pick(c, less(c, x, zero), minus(c, x), x);
  uint32_t swap = less(c, u, v);
  uint32_t a = pick(c, swap, u, v), b = pick(c, swap, v, u);
  uint32_t infinite = both(c, equal(c, a, d(c, INFINITY)),
                           equal(c, b, d(c, INFINITY)));
  uint32_t none = both(c, equal(c, a, zero), equal(c, b, zero));
  a = pick(c, infinite, one, a);
  b = pick(c, any(c, infinite, none), one, b);
  uint32_t r = arc(c, a, b);
  r = pick(c, swap, sub(c, d(c, PI / 2), r), r);
  uint32_t back = logical(c, SpvOpSLessThan, bits_of(c, x), i(c, 0));
  return signed_as(c, pick(c, back, sub(c, d(c, PI), r), r), y);
}

/* Returns the arc sine of |x|, or half the arc cosine if *wide, |x| > 0.5. */
static uint32_t arcsine_part(compiler *c, uint32_t x, uint32_t *wide) {
  uint32_t a = size(c, x), half = d(c, 0.5);
  *wide = less(c, half, a);
  uint32_t z = pick(c, *wide, mul(c, sub(c, d(c, 1), a), half),
                    mul(c, a, a));
  return mul(c, pick(c, *wide, root(c, z), a), POLYNOMIAL(c, asin_ratio, z));
}

static uint32_t arcsine(compiler *c, uint32_t x) {
  uint32_t wide, p = arcsine_part(c, x, &wide);
  p = pick(c, wide, sub(c, d(c, PI / 2), add(c, p, p)), p);
  return signed_as(c, p, x);
}

static uint32_t arccosine(compiler *c, uint32_t x) {
  uint32_t wide, p = arcsine_part(c, x, &wide), two = add(c, p, p);
  uint32_t negative = less(c, x, d(c, 0));
  uint32_t outer = pick(c, negative, sub(c, d(c, PI), two), two);
  uint32_t inner = sub(c, d(c, PI / 2), signed_as(c, p, x));
  return pick(c, wide, outer, inner);
}

/* --- roots and powers ----------------------------------------------------- */

/* Starts with the cube root of the power of two, which is a third of the
   exponent, and takes two steps of Halley's method. */
static uint32_t cube_root(compiler *c, uint32_t x) {
  uint32_t a = size(c, x), bits;
  uint32_t third = mul(c, counted(c, right(c, bits_of(c, a), 32)),
                       d(c, 1.0 / 3));
  nearest(c, add(c, third, d(c, 715094229)), &bits);
  uint32_t y = of_bits(c, left(c, bits, 32));
  for (int k = 0; k < 2; k++) {
    uint32_t p = mul(c, mul(c, y, y), y);
    uint32_t up = add(c, p, add(c, a, a)), down = add(c, add(c, p, p), a);
    y = mul(c, y, quotient(c, up, down));
  }
  uint32_t ordinary = both(c, less(c, d(c, 0), a),
                           less(c, a, d(c, INFINITY)));
  return pick(c, ordinary, signed_as(c, y, x), x);
}

static uint32_t hypotenuse(compiler *c, uint32_t x, uint32_t y) {
  uint32_t r = root(c, add(c, mul(c, x, x), mul(c, y, y)));
  uint32_t all = d(c, INFINITY);
  return pick(c, any(c, equal(c, size(c, x), all), equal(c, size(c, y), all)),
              all, r);
}

/* Returns true if x, |x| <= 2^50, is an integer, and sets *odd if that is
   odd. */
static uint32_t is_whole(compiler *c, uint32_t x, uint32_t *odd) {
  uint32_t bits, half = mul(c, x, d(c, 0.5));
  uint32_t yes = equal(c, nearest(c, x, &bits), x);
  *odd = both(c, yes, logical(c, SpvOpFUnordNotEqual, nearest(c, half, &bits),
                              half));
  return yes;
}

static uint32_t power_of(compiler *c, uint32_t x, uint32_t y) {
  uint32_t zero = d(c, 0), one = d(c, 1), a = size(c, x), odd;
  /* Larger exponents have the same results, as log2(a) is 0 or above 2^-24. */
  uint32_t e = clamped(c, y, -0x1p40, 0x1p40), whole = is_whole(c, e, &odd);
  uint32_t t = mul(c, e, logarithm(c, a, 2));
  uint32_t r = exponential(c, clamped(c, t, -200, 200), true);
  uint32_t negative = logical(c, SpvOpSLessThan, bits_of(c, x), i(c, 0));
  r = pick(c, both(c, negative, odd), minus(c, r), r);
  uint32_t below = both(c, less(c, x, zero), less(c, a, d(c, INFINITY)));
  uint32_t none = both(c, below, op1(c, SpvOpLogicalNot, t_bool(c), whole));
  r = pick(c, none, d(c, NAN), r);
  return pick(c, any(c, equal(c, y, zero), equal(c, x, one)), one, r);
}

/* Returns true if function_of_floats knows OpenCL's function `op`. */
static bool is_known(unsigned op) {
  switch (op) {
    case OpenCLstd_Sqrt: case OpenCLstd_Fabs: case OpenCLstd_Floor:
    case OpenCLstd_Ceil: case OpenCLstd_Fmod: case OpenCLstd_Fma: return false;
    default: return true;
  }
}

uint32_t function_of_floats(compiler *c, unsigned op, uint32_t x,
                            uint32_t y) {
  if (!c->emit || real_bits(c) != 32 || !c->input->device.fast_fp64 ||
      !is_known(op))
    return 0;
  x = op1(c, SpvOpFConvert, t_float(c, 64), x);
  if (y != 0) y = op1(c, SpvOpFConvert, t_float(c, 64), y);
  uint32_t r = 0;
  switch (op) {
    case OpenCLstd_Exp:
      r = exponential(c, clamped(c, x, -110, 90), false);
      break;
    case OpenCLstd_Expm1:
      r = or_zero(c, x, exp_minus_1(c, clamped(c, x, -50, 90)));
      break;
    case OpenCLstd_Log: r = logarithm(c, x, 0); break;
    case OpenCLstd_Log2: r = logarithm(c, x, 2); break;
    case OpenCLstd_Log10: r = logarithm(c, x, 10); break;
    case OpenCLstd_Log1p: r = or_zero(c, x, log_1_plus(c, x)); break;
    case OpenCLstd_Sin: r = sine(c, x, 0); break;
    case OpenCLstd_Cos: r = sine(c, x, 1); break;
    case OpenCLstd_Tan: r = tangent(c, x); break;
    case OpenCLstd_Asin: r = arcsine(c, x); break;
    case OpenCLstd_Acos: r = arccosine(c, x); break;
    case OpenCLstd_Atan: r = arctangent(c, x); break;
    case OpenCLstd_Atan2: r = arctangent_2(c, x, y); break;
    case OpenCLstd_Sinh: r = sine_h(c, x); break;
    case OpenCLstd_Cosh: r = cosine_h(c, x); break;
    case OpenCLstd_Tanh: r = tangent_h(c, x); break;
    case OpenCLstd_Asinh: r = arsine_h(c, x); break;
    case OpenCLstd_Acosh: r = arcosine_h(c, x); break;
    case OpenCLstd_Atanh: r = artangent_h(c, x); break;
    case OpenCLstd_Cbrt: r = cube_root(c, x); break;
    case OpenCLstd_Hypot: r = hypotenuse(c, x, y); break;
    case OpenCLstd_Pow: r = power_of(c, x, y); break;
    default: r = sigmoid(c, x);
  }
  return op1(c, SpvOpFConvert, t_float(c, 32), r);
}
