/*
 * vector.cl - benchmark kernels over vectors.
 * SPDX-License-Identifier: MIT
 *
 * They use the global id alone and do not change their inputs, so any number
 * of launches, divided in any way, gives the same result.
 */
#pragma OPENCL FP_CONTRACT OFF

/* Over n. */
kernel void saxpy(float a, global const float *x, global const float *y,
                  global float *z)
{
  size_t i = get_global_id(0);
  z[i] = a * x[i] + y[i];
}

/* Three points, over n; the ends are their own neighbours. */
kernel void stencil(global const float *x, global float *y, ulong n)
{
  size_t i = get_global_id(0);
  float left = x[i > 0 ? i - 1 : 0], right = x[i + 1 < n ? i + 1 : i];
  y[i] = 0.25f * left + 0.5f * x[i] + 0.25f * right;
}
