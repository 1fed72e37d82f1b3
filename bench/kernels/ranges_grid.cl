/*
 * ranges_grid.cl - benchmark kernels over pictures and blocks.
 * SPDX-License-Identifier: MIT
 *
 * All of them use only the global id.  A picture is h rows of w elements, a
 * block d pictures; beyond the edge, the elements at the edge are repeated.
 */
#pragma OPENCL FP_CONTRACT OFF

/* One step of heat in a chip, with a source in each cell. */
kernel void hotspot(global const float *heat, global const float *power,
                    global float *out, int w, int h)
{
  int x = get_global_id(0), y = get_global_id(1), i = y * w + x;
  float here = heat[i];
  float east = heat[x + 1 < w ? i + 1 : i], west = heat[x > 0 ? i - 1 : i];
  float south = heat[y + 1 < h ? i + w : i], north = heat[y > 0 ? i - w : i];
  out[i] = here + 0.1f * (power[i] + (east + west - 2.0f * here) * 0.3f +
                          (south + north - 2.0f * here) * 0.2f +
                          (80.0f - here) * 0.01f);
}

/* The amount of smoothing at each place of a noisy picture. */
kernel void srad(global const float *in, global float *out, int w, int h)
{
  int x = get_global_id(0), y = get_global_id(1), i = y * w + x;
  float c = in[i];
  float n = in[max(y - 1, 0) * w + x] - c;
  float s = in[min(y + 1, h - 1) * w + x] - c;
  float e = in[y * w + min(x + 1, w - 1)] - c;
  float o = in[y * w + max(x - 1, 0)] - c;
  float g = (n * n + s * s + e * e + o * o) / (c * c);
  float l = (n + s + e + o) / c;
  float q = (0.5f * g - 0.0625f * l * l) /
            ((1.0f + 0.25f * l) * (1.0f + 0.25f * l));
  out[i] = clamp(1.0f / (1.0f + (q - 0.05f) / 0.0525f), 0.0f, 1.0f);
}

/* The mean of 3x3 bytes. */
kernel void box_bytes(global const uchar *in, global uchar *out, int w, int h)
{
  int x = get_global_id(0), y = get_global_id(1);
  int sum = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      sum += in[clamp(y + dy, 0, h - 1) * w + clamp(x + dx, 0, w - 1)];
  out[y * w + x] = sum / 9;
}

kernel void grey(global const uchar4 *in, global uchar *out, int w)
{
  int i = get_global_id(1) * w + get_global_id(0);
  uchar4 p = in[i];
  out[i] = (77 * p.x + 150 * p.y + 29 * p.z) >> 8;
}

/* A step of the magnetic field by the electric one. */
kernel void fdtd(global const float *ex, global const float *ey,
                 global const float *hz, global float *out, int w)
{
  int x = get_global_id(0), y = get_global_id(1), i = y * (w + 1) + x;
  out[y * w + x] = hz[y * w + x] - 0.7f * (ex[i + 1] - ex[i] +
                                           ey[i + w + 1] - ey[i]);
}

/* A fluid on a torus: nine planes of populations move on and relax. */
kernel void lbm(global const float *in, global float *out, int w, int h)
{
  int x = get_global_id(0), y = get_global_id(1), n = w * h;
  int west = x > 0 ? x - 1 : w - 1, east = x + 1 < w ? x + 1 : 0;
  int north = (y > 0 ? y - 1 : h - 1) * w, south = (y + 1 < h ? y + 1 : 0) * w;
  int row = y * w, i = row + x;
  float f0 = in[i], f1 = in[n + row + west], f2 = in[2 * n + row + east];
  float f3 = in[3 * n + north + x], f4 = in[4 * n + south + x];
  float f5 = in[5 * n + north + west], f6 = in[6 * n + south + east];
  float f7 = in[7 * n + north + east], f8 = in[8 * n + south + west];
  float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
  float even = rho / 9.0f;
  out[i] = 0.4f * f0 + 0.6f * 4.0f * even;
  out[n + i] = 0.4f * f1 + 0.6f * even;
  out[2 * n + i] = 0.4f * f2 + 0.6f * even;
  out[3 * n + i] = 0.4f * f3 + 0.6f * even;
  out[4 * n + i] = 0.4f * f4 + 0.6f * even;
  out[5 * n + i] = 0.4f * f5 + 0.15f * even;
  out[6 * n + i] = 0.4f * f6 + 0.15f * even;
  out[7 * n + i] = 0.4f * f7 + 0.15f * even;
  out[8 * n + i] = 0.4f * f8 + 0.15f * even;
}

/* Heat in a block whose border, beyond the range, can be read. */
kernel void heat_block(global const double *in, global double *out, int w,
                       int h)
{
  int x = get_global_id(0) + 1, y = get_global_id(1) + 1;
  int z = get_global_id(2) + 1, row = w + 2, plane = row * (h + 2);
  int i = z * plane + y * row + x;
  double c = 2.0 * in[i];
  out[i] = 0.125 * (in[i + 1] - c + in[i - 1]) +
           0.125 * (in[i + row] - c + in[i - row]) +
           0.125 * (in[i + plane] - c + in[i - plane]) + in[i];
}

/* 3x3x3 weights over a block with a border. */
kernel void convolve_block(global const float *in, global float *out,
                           global const float *weight, int w, int h)
{
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  int row = w + 2, plane = row * (h + 2);
  float sum = 0.0f;
  for (int c = 0; c < 3; c++)
    for (int b = 0; b < 3; b++)
      for (int a = 0; a < 3; a++)
        sum += weight[(c * 3 + b) * 3 + a] *
               in[(z + c) * plane + (y + b) * row + x + a];
  out[(z * h + y) * w + x] = sum;
}

/* The sum of absolute differences of 8x8 bytes, between two pictures. */
kernel void sad(global const uchar *one, global const uchar *other,
                global ushort *out, int w, int dx, int dy)
{
  int x = get_global_id(0), y = get_global_id(1), row = w + 16;
  int sum = 0;
  for (int b = 0; b < 8; b++)
    for (int a = 0; a < 8; a++)
      sum += abs((int)one[(y + b) * row + x + a] -
                 (int)other[(y + b + dy) * row + x + a + dx]);
  out[y * w + x] = sum;
}

/* The greatest byte of six neighbours and itself. */
kernel void dilate_block(global const uchar *in, global uchar *out, int w,
                         int h, int d)
{
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  int plane = w * h, i = z * plane + y * w + x;
  uchar most = in[i];
  if (x > 0) most = max(most, in[i - 1]);
  if (x + 1 < w) most = max(most, in[i + 1]);
  if (y > 0) most = max(most, in[i - w]);
  if (y + 1 < h) most = max(most, in[i + w]);
  if (z > 0) most = max(most, in[i - plane]);
  if (z + 1 < d) most = max(most, in[i + plane]);
  out[i] = most;
}
