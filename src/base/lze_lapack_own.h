/*
 * lze_lapack_own.h - own routines of lze_lapack_own.c for elements REAL.
 * SPDX-License-Identifier: MIT
 *
 * Included once for each type.  A matrix of `lda` elements between columns has
 * element (i, j), from 0, at a[i + j * lda].
 */
/* cppcheck-suppress-file missingInclude */

/* Columns of a block, most of which stays in the cache. */
#ifndef BLOCK
#define BLOCK 32
#endif

/* y -= c[0] * x0 + c[1] * x1 + c[2] * x2 + c[3] * x3, columns of x. */
static void NAME(subtract4)(REAL *restrict y, const REAL *restrict x,
                            size_t lda, const REAL c[4], int n) {
  const REAL *x1 = x + lda, *x2 = x1 + lda, *x3 = x2 + lda;
  const REAL c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
  for (int i = 0; i < n; i++)
    y[i] -= c0 * x[i] + c1 * x1[i] + c2 * x2[i] + c3 * x3[i];
}

static void NAME(subtract)(REAL *restrict y, const REAL *restrict x, REAL c,
                           int n) {
  for (int i = 0; i < n; i++) y[i] -= c * x[i];
}

/* Returns the sum of products, of eight sums in a fixed order. */
static REAL NAME(product)(const REAL *x, const REAL *y, int n) {
  REAL s[8] = {0};
  int i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; k++) s[k] += x[i + k] * y[i + k];
  for (; i < n; i++) s[0] += x[i] * y[i];
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/* y -= x * c for a matrix x of n rows and k columns. */
static void NAME(update)(REAL *y, const REAL *x, size_t lda, const REAL *c,
                         int n, int k) {
  int l = 0;
  for (; l + 4 <= k; l += 4)
    NAME(subtract4)(y, x + (size_t)l * lda, lda, c + l, n);
  for (; l < k; l++) NAME(subtract)(y, x + (size_t)l * lda, c[l], n);
}

static void NAME(swap_rows)(REAL *a, size_t lda, int i, int k, int columns) {
  if (i == k) return;
  for (int j = 0; j < columns; j++) {
    REAL *c = a + (size_t)j * lda, v = c[i];
    c[i] = c[k];
    c[k] = v;
  }
}

/* Returns the row of the largest element of column j from row j on. */
static int NAME(pivot_row)(const REAL *c, int j, int m) {
  int best = j;
  REAL most = (REAL)fabs(c[j]);
  for (int i = j + 1; i < m; i++) {
    REAL v = (REAL)fabs(c[i]);
    if (v > most) {
      most = v;
      best = i;
    }
  }
  return best;
}

/* Solves L x = x for a unit lower triangle of n rows. */
static void NAME(lower)(REAL *x, const REAL *l, size_t lda, int n) {
  for (int k = 0; k < n; k++)
    NAME(subtract)(x + k + 1, l + (size_t)k * lda + k + 1, x[k], n - k - 1);
}

/* xGETRF(M, N, A, LDA, IPIV, INFO): LU with row pivoting, in blocks of columns;
   the rest of the matrix is updated after each block. */
static void NAME(getrf)(void *const *p) {
  const int m = at_int(p[0]), n = at_int(p[1]), least = m < n ? m : n;
  REAL *a = p[2];
  const size_t lda = (size_t)at_int(p[3]);
  int32_t *pivots = p[4], *info = p[5];
  *info = 0;
  for (int first = 0; first < least; first += BLOCK) {
    const int last = first + BLOCK < least ? first + BLOCK : least;
    for (int j = first; j < last; j++) {
      REAL *c = a + (size_t)j * lda;
      const int row = NAME(pivot_row)(c, j, m);
      pivots[j] = row + 1;
      NAME(swap_rows)(a, lda, j, row, n);
      if (c[j] == 0) {
        if (*info == 0) *info = j + 1;
      } else {
        for (int i = j + 1; i < m; i++) c[i] /= c[j];
      }
      for (int k = j + 1; k < last; k++) {
        REAL *to = a + (size_t)k * lda;
        NAME(subtract)(to + j + 1, c + j + 1, to[j], m - j - 1);
      }
    }
    for (int k = last; k < n; k++) {
      REAL *to = a + (size_t)k * lda;
      const REAL *block = a + (size_t)first * lda;
      NAME(lower)(to + first, block + first, lda, last - first);
      NAME(update)(to + last, block + last, lda, to + first, m - last,
                   last - first);
    }
  }
}

/* Solves T x = x, or the transposed system, for a triangle of n rows. */
static void NAME(triangle)(REAL *x, const REAL *a, size_t lda, int n,
                           bool upper, bool transposed, bool unit) {
  const bool downwards = upper == transposed;
  for (int step = 0; step < n; step++) {
    const int k = downwards ? step : n - 1 - step;
    const REAL *c = a + (size_t)k * lda;
    const int from = upper ? 0 : k + 1, count = upper ? k : n - k - 1;
    if (transposed) {
      x[k] -= NAME(product)(c + from, x + from, count);
      if (!unit) x[k] /= c[k];
    } else {
      if (!unit) x[k] /= c[k];
      NAME(subtract)(x + from, c + from, x[k], count);
    }
  }
}

/* xGETRS(TRANS, N, NRHS, A, LDA, IPIV, B, LDB, INFO): solves after GETRF. */
static void NAME(getrs)(void *const *p) {
  const bool transposed = at_char(p[0]) == 'T';
  const int n = at_int(p[1]), columns = at_int(p[2]);
  const REAL *a = p[3];
  const size_t lda = (size_t)at_int(p[4]), ldb = (size_t)at_int(p[7]);
  const int32_t *pivots = p[5];
  REAL *b = p[6];
  *(int32_t *)p[8] = 0;
  if (!transposed)
    for (int i = 0; i < n; i++)
      NAME(swap_rows)(b, ldb, i, pivots[i] - 1, columns);
  for (int j = 0; j < columns; j++) {
    REAL *x = b + (size_t)j * ldb;
    NAME(triangle)(x, a, lda, n, transposed, transposed, !transposed);
    NAME(triangle)(x, a, lda, n, !transposed, transposed, transposed);
  }
  if (transposed)
    for (int i = n - 1; i >= 0; i--)
      NAME(swap_rows)(b, ldb, i, pivots[i] - 1, columns);
}

/* xPOTRF('U', N, A, LDA, INFO): the upper triangle U with U' U = A. */
static void NAME(potrf)(void *const *p) {
  const int n = at_int(p[1]);
  REAL *a = p[2];
  const size_t lda = (size_t)at_int(p[3]);
  int32_t *info = p[4];
  *info = 0;
  for (int j = 0; j < n; j++) {
    REAL *c = a + (size_t)j * lda;
    for (int i = 0; i < j; i++) {
      const REAL *before = a + (size_t)i * lda;
      c[i] = (c[i] - NAME(product)(before, c, i)) / before[i];
    }
    const REAL square = c[j] - NAME(product)(c, c, j);
    if (!(square > 0)) {
      *info = j + 1;
      return;
    }
    c[j] = (REAL)sqrt(square);
  }
}

/* xTRTRS(UPLO, TRANS, DIAG, N, NRHS, A, LDA, B, LDB, INFO) */
static void NAME(trtrs)(void *const *p) {
  const bool upper = at_char(p[0]) == 'U', unit = at_char(p[2]) == 'U';
  const int n = at_int(p[3]), columns = at_int(p[4]);
  const REAL *a = p[5];
  const size_t lda = (size_t)at_int(p[6]), ldb = (size_t)at_int(p[8]);
  int32_t *info = p[9];
  *info = 0;
  for (int i = 0; i < n && !unit; i++)
    if (a[(size_t)i * lda + (size_t)i] == 0) {
      *info = i + 1;
      return;
    }
  for (int j = 0; j < columns; j++)
    NAME(triangle)((REAL *)p[7] + (size_t)j * ldb, a, lda, n, upper,
                   at_char(p[1]) == 'T', unit);
}

/* Applies the reflector I - tau v v' from the right to rows [first, last) of
   the matrix, of which v is row i from column i on, with 1 in front.  The
   sums are computed in `sums`. */
static void NAME(reflect)(REAL *a, size_t lda, int i, int first, int last,
                          int columns, REAL tau, REAL *sums) {
  for (int r = first; r < last; r++) sums[r] = 0;
  for (int j = i; j < columns; j++) {
    const REAL *c = a + (size_t)j * lda, v = j == i ? 1 : c[i];
    for (int r = first; r < last; r++) sums[r] += v * c[r];
  }
  for (int j = i; j < columns; j++) {
    REAL *c = a + (size_t)j * lda;
    const REAL v = tau * (j == i ? 1 : c[i]);
    for (int r = first; r < last; r++) c[r] -= v * sums[r];
  }
}

/* Returns the length of row i from column `first` on, without overflow. */
static REAL NAME(row_length)(const REAL *a, size_t lda, int i, int first,
                             int columns) {
  REAL most = 0, sum = 0;
  for (int j = first; j < columns; j++) {
    const REAL v = (REAL)fabs(a[(size_t)i + (size_t)j * lda]);
    if (!(v <= most)) most = v;
  }
  if (most == 0 || !isfinite(most)) return most;
  for (int j = first; j < columns; j++) {
    const REAL v = a[(size_t)i + (size_t)j * lda] / most;
    sum += v * v;
  }
  return most * (REAL)sqrt(sum);
}

/* Makes row i from column i on a reflector, with the row's length in front;
   returns tau. */
static REAL NAME(reflector)(REAL *a, size_t lda, int i, int columns) {
  REAL *head = a + (size_t)i * lda + (size_t)i;
  const REAL rest = NAME(row_length)(a, lda, i, i + 1, columns);
  if (rest == 0) return 0;
  const REAL alpha = *head;
  const REAL length = -(REAL)copysign(hypot(alpha, rest), alpha);
  for (int j = i + 1; j < columns; j++)
    a[(size_t)i + (size_t)j * lda] /= alpha - length;
  *head = length;
  return (length - alpha) / length;
}

/* xGELQF(M, N, A, LDA, TAU, WORK, LWORK, INFO): A = L Q. */
static void NAME(gelqf)(void *const *p) {
  const int m = at_int(p[0]), n = at_int(p[1]), least = m < n ? m : n;
  const size_t lda = (size_t)at_int(p[3]);
  REAL *a = p[2], *tau = p[4], *sums = p[5];
  *(int32_t *)p[7] = 0;
  if (at_int(p[6]) < 0) {
    *sums = (REAL)m;
    return;
  }
  for (int i = 0; i < least; i++) {
    tau[i] = NAME(reflector)(a, lda, i, n);
    NAME(reflect)(a, lda, i, i + 1, m, n, tau[i], sums);
  }
}

/* xORGLQ(M, N, K, A, LDA, TAU, WORK, LWORK, INFO): the first M rows of Q. */
static void NAME(orglq)(void *const *p) {
  const int m = at_int(p[0]), n = at_int(p[1]), k = at_int(p[2]);
  const size_t lda = (size_t)at_int(p[4]);
  REAL *a = p[3], *sums = p[6];
  const REAL *tau = p[5];
  *(int32_t *)p[8] = 0;
  if (at_int(p[7]) < 0) {
    *sums = (REAL)m;
    return;
  }
  for (int j = 0; j < n; j++)
    for (int i = k; i < m; i++) a[(size_t)i + (size_t)j * lda] = i == j;
  for (int i = k - 1; i >= 0; i--) {
    NAME(reflect)(a, lda, i, i + 1, m, n, tau[i], sums);
    for (int j = 0; j < n; j++) {
      REAL *e = a + (size_t)i + (size_t)j * lda;
      *e = j < i ? 0 : j == i ? 1 - tau[i] : *e * -tau[i];
    }
  }
}
