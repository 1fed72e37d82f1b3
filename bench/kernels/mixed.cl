/*
 * mixed.cl - benchmark kernels whose work or accesses are uneven.
 * SPDX-License-Identifier: MIT
 *
 * All of them use the global id alone.  Kernels over rows or columns expect a
 * matrix of rows of `columns` elements with nothing between them.
 */
#pragma OPENCL FP_CONTRACT OFF

/* The number of steps from each number to 1 by Collatz's rule. */
kernel void collatz(global const uint *from, global uint *steps)
{
  size_t i = get_global_id(0);
  uint n = from[i], count = 0;
  while (n > 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    count++;
  }
  steps[i] = count;
}

/* Greatest common divisors. */
kernel void gcd(global const uint *a, global const uint *b, global uint *out)
{
  size_t i = get_global_id(0);
  uint x = a[i], y = b[i];
  while (y != 0) {
    uint rest = x % y;
    x = y;
    y = rest;
  }
  out[i] = x;
}

kernel void gather(global const float *in, global const uint *place,
                   global float *out)
{
  size_t i = get_global_id(0);
  out[i] = in[place[i]];
}

kernel void scatter(global const float *in, global const uint *place,
                    global float *out)
{
  size_t i = get_global_id(0);
  out[place[i]] = in[i];
}

/* Particles of eight numbers each: place, speed, mass, charge. */
kernel void move_structs(global float *body, float dt)
{
  size_t i = 8 * get_global_id(0);
  body[i] += body[i + 3] * dt;
  body[i + 1] += body[i + 4] * dt;
  body[i + 2] += body[i + 5] * dt;
}

/* The same with an array for each number. */
kernel void move_arrays(global float *x, global float *y, global float *z,
                        global const float *u, global const float *v,
                        global const float *w, float dt)
{
  size_t i = get_global_id(0);
  x[i] += u[i] * dt;
  y[i] += v[i] * dt;
  z[i] += w[i] * dt;
}

/* Over rows. */
kernel void row_sums(global const float *in, global float *out, uint columns)
{
  size_t row = get_global_id(0);
  float sum = 0;
  for (uint i = 0; i < columns; i++) sum += in[row * columns + i];
  out[row] = sum;
}

/* Over columns. */
kernel void column_sums(global const float *in, global float *out, uint rows,
                        uint columns)
{
  size_t column = get_global_id(0);
  float sum = 0;
  for (uint i = 0; i < rows; i++) sum += in[(size_t)i * columns + column];
  out[column] = sum;
}

/* Over rows: each becomes fractions that add up to 1. */
kernel void softmax(global const float *in, global float *out, uint columns)
{
  size_t first = get_global_id(0) * columns;
  float most = in[first], sum = 0;
  for (uint i = 1; i < columns; i++) most = fmax(most, in[first + i]);
  for (uint i = 0; i < columns; i++) {
    float e = exp(in[first + i] - most);
    out[first + i] = e;
    sum += e;
  }
  for (uint i = 0; i < columns; i++) out[first + i] /= sum;
}

/* Elements 7 apart, round and round. */
kernel void stride_modulo(global const int *in, global int *out, uint n,
                          uint base)
{
  size_t i = get_global_id(0);
  out[i] = in[i * 7 % n] % (int)base;
}

/* Not inlined, if the compiler allows it. */
__attribute__((noinline)) float horner(float x, float a, float b)
{
  float sum = a;
  for (int i = 0; i < 6; i++) sum = sum * x + b;
  return sum;
}

kernel void with_calls(global const float *in, global float *out)
{
  size_t i = get_global_id(0);
  float x = in[i];
  out[i] = horner(x, 1, 0.5f) + horner(0.5f * x, 0.25f, 1);
}

/* Over {width, height}: the median of a cell and its neighbours, sorted in a
   private array; beyond an edge the outermost cell is repeated. */
kernel void median_of_9(global const int *in, global int *out, uint w, uint h)
{
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  int v[9], n = 0;
  for (int j = y - 1; j <= y + 1; j++)
    for (int i = x - 1; i <= x + 1; i++) {
      size_t row = (size_t)min(max(j, 0), (int)h - 1);
      size_t column = (size_t)min(max(i, 0), (int)w - 1);
      int value = in[row * w + column], k = n++;
      for (; k > 0 && v[k - 1] > value; k--) v[k] = v[k - 1];
      v[k] = value;
    }
  out[(size_t)y * w + (size_t)x] = v[4];
}
