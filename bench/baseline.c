/*
 * baseline.c - the benchmark's kernels as plain C on one thread.
 * SPDX-License-Identifier: MIT
 *
 * A Lua module, `require "bench.baseline"`: a function (kernel, nx, ny, nz,
 * argument...) that calls a kernel for each work-item in turn.  Buffers are
 * passed by address.  The OpenCL C source itself is compiled here, by the
 * host's compiler at -O3; kernels with barriers are rewritten as equivalent
 * loops.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <tgmath.h>

#include <lauxlib.h>
#include <lua.h>

typedef float float4 __attribute__((vector_size(16)));

/* OpenCL C as C. */
#define uint uint32_t
#define ulong uint64_t
#define uchar uint8_t
#define ushort uint16_t
#define kernel static inline
#define global
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define get_global_id(d) id_##d
static size_t id_0, id_1, id_2;

#include "kernels/dgemm.cl"
#include "kernels/finance.cl"
#include "kernels/image.cl"
#include "kernels/number.cl"
#include "kernels/physics.cl"
#include "kernels/sort.cl"
#include "kernels/vector.cl"
#include "../kernels/mandelbrot.cl"

/* The kernels without barriers in these files. */
#define local static
#define barrier(flags) (void)0
#define reqd_work_group_size(x, y, z) unused
#define get_local_id(d) ((size_t)0)
#define get_group_id(d) ((size_t)0)
#include "kernels/matrix.cl"
#undef TILE
#include "../kernels/matmul.cl"

static void reduction(const int *x, uint n, int *sum) {
  uint total = (uint)*sum;
  for (size_t i = 0; i < n; i++)
    total += (uint)x[i];
  *sum = (int)total;
}

static void histogram(const uchar *data, uint n, uint *bins) {
  for (size_t i = 0; i < n; i++)
    bins[data[i]]++;
}

static void sum(const int64_t *x, size_t n, int64_t *total) {
  uint64_t own = 0;
  for (size_t i = 0; i < n; i++)
    own += (uint64_t)x[i];
  *total = (int64_t)own;
}

/* Starts each block at 0, as the kernel does. */
static void scan_blocks(const int64_t *x, size_t n, size_t block,
                        int64_t *out, int64_t *totals) {
  for (size_t i = 0; i < n; i += block) {
    int64_t sum = 0;
    for (size_t j = i; j < n && j < i + block; j++) {
      int64_t value = x[j];
      out[j] = sum;
      sum += value;
    }
    *totals++ = sum;
  }
}

/* Arguments of a call, counted from 0. */
#define ADDRESS(i) ((void *)(uintptr_t)luaL_checkinteger(L, 5 + (i)))
#define INTEGER(type, i) ((type)luaL_checkinteger(L, 5 + (i)))
#define REAL(i) ((float)luaL_checknumber(L, 5 + (i)))

#define EACH(call)                                                           \
  do {                                                                       \
    for (id_2 = 0; id_2 < nz; id_2++)                                        \
      for (id_1 = 0; id_1 < ny; id_1++)                                      \
        for (id_0 = 0; id_0 < nx; id_0++)                                    \
          call;                                                              \
  } while (0)

#define RUN(name)                                                            \
  static void run_##name(lua_State *L, size_t nx, size_t ny, size_t nz)

RUN(saxpy) {
  float a = REAL(0);
  const float *x = ADDRESS(1), *y = ADDRESS(2);
  float *z = ADDRESS(3);
  EACH(saxpy(a, x, y, z));
}

RUN(stencil) {
  const float *x = ADDRESS(0);
  float *y = ADDRESS(1);
  ulong n = INTEGER(ulong, 2);
  EACH(stencil(x, y, n));
}

RUN(reduction) {
  (void)nx, (void)ny, (void)nz;
  reduction(ADDRESS(0), INTEGER(uint, 1), ADDRESS(2));
}

RUN(histogram) {
  (void)nx, (void)ny, (void)nz;
  histogram(ADDRESS(0), INTEGER(uint, 1), ADDRESS(2));
}

RUN(sum) {
  (void)nx, (void)ny, (void)nz;
  sum(ADDRESS(0), INTEGER(size_t, 1), ADDRESS(2));
}

RUN(scan_blocks) {
  (void)nx, (void)ny, (void)nz;
  size_t group = INTEGER(size_t, 5) / 2; /* two local elements each */
  scan_blocks(ADDRESS(0), INTEGER(size_t, 1), group * INTEGER(size_t, 2),
              ADDRESS(3), ADDRESS(4));
}

RUN(bitonic) {
  int *x = ADDRESS(0);
  uint step = INTEGER(uint, 1), block = INTEGER(uint, 2);
  EACH(bitonic(x, step, block));
}

RUN(add_image) {
  const float4 *a = ADDRESS(0), *b = ADDRESS(1);
  float4 *c = ADDRESS(2);
  uint width = INTEGER(uint, 3);
  EACH(add_image(a, b, c, width));
}

RUN(convolve_array) {
  const float *picture = ADDRESS(0), *weight = ADDRESS(1);
  float *out = ADDRESS(2);
  int w = INTEGER(int, 3), h = INTEGER(int, 4), size = INTEGER(int, 5);
  EACH(convolve_array(picture, weight, out, w, h, size));
}

RUN(convolve_image) {
  const float4 *picture = ADDRESS(0);
  const float *weight = ADDRESS(1);
  float4 *out = ADDRESS(2);
  int w = INTEGER(int, 3), h = INTEGER(int, 4), size = INTEGER(int, 5);
  EACH(convolve_image(picture, weight, out, w, h, size));
}

RUN(blur_filter) {
  const int *picture = ADDRESS(0), *weight = ADDRESS(1);
  int *out = ADDRESS(2), w = INTEGER(int, 3), h = INTEGER(int, 4);
  int size = INTEGER(int, 5), total = INTEGER(int, 6);
  EACH(blur_filter(picture, weight, out, w, h, size, total));
}

RUN(render_track) {
  const char *state = ADDRESS(0);
  uchar *rgb = ADDRESS(1);
  uint width = INTEGER(uint, 2);
  EACH(render_track(state, rgb, width));
}

RUN(black_scholes) {
  const float *chance = ADDRESS(0);
  float *call = ADDRESS(1), *put = ADDRESS(2);
  EACH(black_scholes(chance, call, put));
}

RUN(monte_carlo) {
  uint *hits = ADDRESS(0), steps = INTEGER(uint, 1);
  EACH(monte_carlo(hits, steps));
}

RUN(euler) {
  const int64_t *power = ADDRESS(0);
  uint *found = ADDRESS(1), n = INTEGER(uint, 2);
  EACH(euler(power, found, n));
}

RUN(dft) {
  const float *re = ADDRESS(0), *im = ADDRESS(1);
  const float *turn_re = ADDRESS(2), *turn_im = ADDRESS(3);
  float *out_re = ADDRESS(4), *out_im = ADDRESS(5);
  uint n = INTEGER(uint, 6);
  EACH(dft(re, im, turn_re, turn_im, out_re, out_im, n));
}

RUN(julia_set) {
  uint *steps = ADDRESS(0), w = INTEGER(uint, 1), h = INTEGER(uint, 2);
  long cr = INTEGER(long, 3), ci = INTEGER(long, 4);
  uint limit = INTEGER(uint, 5);
  EACH(julia_set(steps, w, h, cr, ci, limit));
}

RUN(mandelbrot) {
  uchar *pixels = ADDRESS(0);
  uint width = INTEGER(uint, 1), limit = INTEGER(uint, 5);
  long left = INTEGER(long, 2), top = INTEGER(long, 3);
  long step = INTEGER(long, 4);
  EACH(mandelbrot(pixels, width, left, top, step, limit));
}

RUN(matmul) {
  const float *a = ADDRESS(0), *b = ADDRESS(1);
  float *c = ADDRESS(2);
  uint columns = INTEGER(uint, 3), inner = INTEGER(uint, 4);
  EACH(matmul(a, b, c, columns, inner));
}

RUN(dgemm) {
  const double *a = ADDRESS(0), *b = ADDRESS(1);
  double *c = ADDRESS(2);
  uint columns = INTEGER(uint, 3), inner = INTEGER(uint, 4);
  EACH(dgemm(a, b, c, columns, inner));
}

RUN(sgemv) {
  const float *a = ADDRESS(0), *x = ADDRESS(1);
  float *y = ADDRESS(2);
  uint columns = INTEGER(uint, 3);
  EACH(sgemv(a, x, y, columns));
}

RUN(spmv) {
  const uint *first = ADDRESS(0), *column = ADDRESS(1);
  const float *value = ADDRESS(2), *x = ADDRESS(3);
  float *y = ADDRESS(4);
  EACH(spmv(first, column, value, x, y));
}

RUN(transpose) {
  const float *in = ADDRESS(0);
  float *out = ADDRESS(1);
  uint w = INTEGER(uint, 2), h = INTEGER(uint, 3);
  EACH(transpose(in, out, w, h));
}

RUN(hotspot) {
  const float *heat = ADDRESS(0), *power = ADDRESS(1);
  float *out = ADDRESS(2);
  uint w = INTEGER(uint, 3), h = INTEGER(uint, 4);
  EACH(hotspot(heat, power, out, w, h));
}

RUN(nbody) {
  const float4 *body = ADDRESS(0);
  float4 *force = ADDRESS(1);
  uint n = INTEGER(uint, 2);
  float softening = REAL(3);
  EACH(nbody(body, force, n, softening));
}

#define KERNELS(X)                                                           \
  X(saxpy) X(stencil) X(reduction) X(histogram) X(sum) X(scan_blocks)        \
  X(bitonic) X(add_image) X(convolve_array) X(convolve_image) X(blur_filter) \
  X(render_track) X(black_scholes) X(monte_carlo) X(euler) X(dft)            \
  X(julia_set) X(mandelbrot) X(matmul) X(dgemm) X(sgemv) X(spmv)             \
  X(transpose) X(hotspot) X(nbody)

static const char *const names[] = {
#define X(name) #name,
    KERNELS(X)
#undef X
    NULL};

static void (*const runs[])(lua_State *, size_t, size_t, size_t) = {
#define X(name) run_##name,
    KERNELS(X)
#undef X
};

static int baseline_run(lua_State *L) {
  int i = luaL_checkoption(L, 1, NULL, names);
  runs[i](L, (size_t)luaL_checkinteger(L, 2), (size_t)luaL_checkinteger(L, 3),
          (size_t)luaL_checkinteger(L, 4));
  return 0;
}

__attribute__((visibility("default"))) int luaopen_bench_baseline(lua_State *L);

int luaopen_bench_baseline(lua_State *L) {
  lua_pushcfunction(L, baseline_run);
  return 1;
}
