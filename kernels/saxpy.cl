/*
 * saxpy.cl - y = a * x + y over single precision vectors.
 * SPDX-License-Identifier: MIT
 *
 * Uses the global id alone, so any range can be split into a body and tails
 * with the same results.  Contraction is off so that every device rounds twice
 * and gives the same bits, which can then be checked exactly.
 */
#pragma OPENCL FP_CONTRACT OFF

kernel void saxpy(float a, global const float *x, global float *y)
{
  size_t i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
