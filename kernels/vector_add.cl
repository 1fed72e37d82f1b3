/*
 * vector_add.cl - c = a + b over single precision vectors.
 * SPDX-License-Identifier: MIT
 *
 * One work-item for each element, in groups of any size.  Uses the global id
 * alone, so any range can be split with the same results.
 */
kernel void vector_add(global const float *a, global const float *b,
                       global float *c)
{
  size_t i = get_global_id(0);
  c[i] = a[i] + b[i];
}
