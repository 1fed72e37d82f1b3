/*
 * cg.cl - the steps of the conjugate gradient method.
 * SPDX-License-Identifier: MIT
 *
 * For A x = b with a sparse, symmetric and positive definite A, whose row r has
 * the elements value[first[r] .. first[r + 1] - 1] in the columns of the same
 * places of `column`.  The numbers of the method stay on the device:
 *   scalar[0]  r r, of the residual r
 *   scalar[1]  p A p, of the direction p
 *   scalar[2]  r r of the step before
 * All kernels use the global id alone.
 */

/* Over the rows: q = A p. */
kernel void multiply(global const uint *first, global const uint *column,
                     global const float *value, global const float *p,
                     global float *q)
{
  size_t row = get_global_id(0);
  float sum = 0;
  for (uint i = first[row]; i < first[row + 1]; i++)
    sum += value[i] * p[column[i]];
  q[row] = sum;
}

/* Over any number of work-items: each sums a part of the product of a and b. */
kernel void dot_parts(global const float *a, global const float *b, uint n,
                      uint parts, global float *part)
{
  size_t here = get_global_id(0);
  float sum = 0;
  for (size_t i = here; i < n; i += parts)
    sum += a[i] * b[i];
  part[here] = sum;
}

/* Over one work-item: the sum of the parts becomes scalar[which]; if that is
   r r, its old value becomes scalar[2]. */
kernel void dot_sum(global const float *part, uint parts, uint which,
                    global float *scalar)
{
  float sum = 0;
  for (uint i = 0; i < parts; i++)
    sum += part[i];
  if (which == 0)
    scalar[2] = scalar[0];
  scalar[which] = sum;
}

/* Over the rows: a step along p, which also updates the residual r.  If p A p
   is not above 0, nothing changes. */
kernel void advance(global const float *scalar, global const float *p,
                    global const float *q, global float *x, global float *r)
{
  size_t i = get_global_id(0);
  float alpha = scalar[1] > 0 ? scalar[0] / scalar[1] : 0;
  x[i] += alpha * p[i];
  r[i] -= alpha * q[i];
}

/* Over the rows: the next direction. */
kernel void turn(global const float *scalar, global const float *r,
                 global float *p)
{
  size_t i = get_global_id(0);
  float beta = scalar[2] > 0 ? scalar[0] / scalar[2] : 0;
  p[i] = r[i] + beta * p[i];
}
