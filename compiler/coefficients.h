/*
 * coefficients.h - written by scripts/coefficients.
 * SPDX-License-Identifier: MIT
 */
/* (exp(x) - 1) / x, |x| <= log(2) / 2: 2^-37.5 */
static const double exp_ratio[] = {
  0x1.fffffffff61fdp-1,
  0x1.fffffffffe069p-2,
  0x1.5555557e7125ep-3,
  0x1.55555565c559fp-5,
  0x1.1110a6222ea35p-7,
  0x1.6c166be75a859p-10,
  0x1.a17df2ec2bc60p-13,
  0x1.a136b06babd51p-16};
/* log((1 + s) / (1 - s)) / s of s^2, |s| <= 0.1716: 2^-45.08 */
static const double log_ratio[] = {
  0x1.fffffffffff12p+0,
  0x1.555555567148cp-1,
  0x1.9999962c06032p-2,
  0x1.2494381ee5869p-2,
  0x1.c620ee6e2b4a3p-3,
  0x1.9192e478c4308p-3};
/* sin(x) / x of x^2, |x| <= pi / 4: 2^-37.6 */
static const double sin_ratio[] = {
  0x1.fffffffff67c3p-1,
  -0x1.55555549480f4p-3,
  0x1.1111074b326d2p-7,
  -0x1.a00ee7e5cea35p-13,
  0x1.6cb7496931eebp-19};
/* cos(x) of x^2, |x| <= pi / 4: 2^-43.54 */
static const double cos_values[] = {
  0x1.ffffffffffe0bp-1,
  -0x1.ffffffffe3763p-2,
  0x1.5555554476425p-5,
  -0x1.6c16b2d3e61f5p-10,
  0x1.a00e9685da9c4p-16,
  -0x1.23c5c15441a00p-22};
/* atan(x) / x of x^2, |x| <= sqrt(2) - 1: 2^-40.27 */
static const double atan_ratio[] = {
  0x1.fffffffffe56dp-1,
  -0x1.5555554ba45bcp-2,
  0x1.99999046d1e86p-3,
  -0x1.24909144ba082p-3,
  0x1.c6cc2f2f6f999p-4,
  -0x1.7055c066509b3p-4,
  0x1.1da9c35cc3322p-4,
  -0x1.34787b1b4ac83p-5};
/* asin(x) / x of x^2, |x| <= 0.5: 2^-39.85 */
static const double asin_ratio[] = {
  0x1.0000000000e83p+0,
  0x1.55555542fd475p-3,
  0x1.33334261d9e87p-4,
  0x1.6db20cadb1f43p-5,
  0x1.f288c804351cep-6,
  0x1.6615a0ec8d425p-6,
  0x1.52d7c5f5c757bp-6,
  0x1.f62a804832ccdp-10,
  0x1.0dfd15eca3951p-5};
/* 2 / pi in words of 32 bits after the point. */
static const uint32_t two_over_pi[] = {
  0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
  0xdb629599, 0x3c439041, 0xfe5163ab};
/* pi / 2 in three parts; the first two have 27 bits. */
static const double half_pi[] = {
  0x1.921fb54000000p+0, 0x1.10b4600000000p-30, 0x1.1a62633145c07p-54};
