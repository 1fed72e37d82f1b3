/*
 * lze_mpi_combine.c - reductions on the host, in the order of the ranks.
 * SPDX-License-Identifier: MIT
 */
#include "lze_mpi.h"

#define LOOP(name, T, expression)                                              \
  static void name##_##T(size_t n, void *to, const void *from) {               \
    T *a = to;                                                                 \
    const T *b = from;                                                         \
    for (size_t i = 0; i < n; i++) a[i] = (T)(expression);                     \
  }

/* Signed sums and products wrap as unsigned ones do. */
#define ARITHMETIC(T, U)                                                       \
  LOOP(sum, T, (U)a[i] + (U)b[i])                                              \
  LOOP(prod, T, (U)a[i] * (U)b[i])                                             \
  LOOP(min, T, b[i] < a[i] ? b[i] : a[i])                                      \
  LOOP(max, T, b[i] > a[i] ? b[i] : a[i])

#define BITS(T)                                                                \
  LOOP(band, T, a[i] & b[i])                                                   \
  LOOP(bor, T, a[i] | b[i])                                                    \
  LOOP(bxor, T, a[i] ^ b[i])

ARITHMETIC(int8_t, uint32_t) BITS(int8_t)
ARITHMETIC(uint8_t, uint32_t) BITS(uint8_t)
ARITHMETIC(int16_t, uint32_t) BITS(int16_t)
ARITHMETIC(uint16_t, uint32_t) BITS(uint16_t)
ARITHMETIC(int32_t, uint32_t) BITS(int32_t)
ARITHMETIC(uint32_t, uint32_t) BITS(uint32_t)
ARITHMETIC(int64_t, uint64_t) BITS(int64_t)
ARITHMETIC(uint64_t, uint64_t) BITS(uint64_t)
ARITHMETIC(float, float)
ARITHMETIC(double, double)

void mpi_combine(mpi_Operator op, mpi_Scalar scalar, size_t n, void *to,
                 const void *from) {
#define WHOLE(T)                                                               \
  {sum_##T, prod_##T, min_##T, max_##T, band_##T, bor_##T, bxor_##T}
#define REAL(T) {sum_##T, prod_##T, min_##T, max_##T, NULL, NULL, NULL}
  static void (*const functions[MPI_SCALARS][MPI_OPERATORS])(
      size_t, void *, const void *) = {
      WHOLE(int8_t),  WHOLE(uint8_t),  WHOLE(int16_t), WHOLE(uint16_t),
      WHOLE(int32_t), WHOLE(uint32_t), WHOLE(int64_t), WHOLE(uint64_t),
      REAL(float),    REAL(double)};
  functions[scalar][op](n, to, from);
}
