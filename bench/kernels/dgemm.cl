/*
 * dgemm.cl - the product of two matrices in double precision.
 * SPDX-License-Identifier: MIT
 *
 * It has its own module, because not every device has double precision.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

/* c = a b, over {columns, rows}; a has rows of `inner` elements. */
kernel void dgemm(global const double *a, global const double *b,
                  global double *c, uint columns, uint inner)
{
  size_t x = get_global_id(0), y = get_global_id(1);

  double sum = 0;
  for (uint i = 0; i < inner; i++)
    sum += a[y * inner + i] * b[(size_t)i * columns + x];
  c[y * columns + x] = sum;
}
