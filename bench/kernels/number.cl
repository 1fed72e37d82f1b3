/*
 * number.cl - benchmark kernels about numbers.
 * SPDX-License-Identifier: MIT
 */
#pragma OPENCL FP_CONTRACT OFF

/* Euler's sum of powers: over {n, n}, for a and b of 1 .. n, the count of c, d
   with d <= c <= b <= a make a^5 + b^5 + c^5 + d^5 the fifth power of some
   number up to 2 n.  power[i] is (i + 1)^5. */
kernel void euler(global const long *power, global uint *found, uint n)
{
  uint a = (uint)get_global_id(0), b = (uint)get_global_id(1);
  uint count = 0;

  if (b <= a)
    for (uint c = 0; c <= b; c++) {
      long three = power[a] + power[b] + power[c];
      uint e = a;
      for (uint d = 0; d <= c; d++) {
        long sum = three + power[d];
        while (e + 1 < 2 * n && power[e] < sum)
          e++;
        count += power[e] == sum;
      }
    }
  found[b * n + a] = count;
}

/* Over n: the discrete Fourier transform of n complex numbers, as it is
   defined.  turn[i] is exp(-2 pi i / n). */
kernel void dft(global const float *re, global const float *im,
                global const float *turn_re, global const float *turn_im,
                global float *out_re, global float *out_im, uint n)
{
  uint k = (uint)get_global_id(0);
  float sum_re = 0, sum_im = 0;
  uint at = 0;

  for (uint t = 0; t < n; t++) {
    sum_re += re[t] * turn_re[at] - im[t] * turn_im[at];
    sum_im += re[t] * turn_im[at] + im[t] * turn_re[at];
    at += k;
    at -= at >= n ? n : 0;
  }
  out_re[k] = sum_re;
  out_im[k] = sum_im;
}

/* Over {width, height}: the number of steps, at most `limit`, after which
   z -> z^2 + c leaves the circle of radius 2.  In fixed point, with 1.0 as
   1 << 28, so that every device gives the same picture. */
kernel void julia_set(global uint *steps, uint width, uint height, long cr,
                      long ci, uint limit)
{
  size_t x = get_global_id(0), y = get_global_id(1);
  long zr = (3l << 28) / (long)width * (long)x - (3l << 27);
  long zi = (2l << 28) / (long)height * (long)y - (1l << 28);
  uint n = 0;

  while (n < limit) {
    long rr = zr * zr >> 28, ii = zi * zi >> 28;
    if (rr + ii > 4l << 28)
      break;
    zi = (zr * zi >> 27) + ci;
    zr = rr - ii + cr;
    n++;
  }
  steps[y * width + x] = n;
}
