/*
 * cells.cl - benchmark kernels over bytes and halves with their neighbours.
 * SPDX-License-Identifier: MIT
 *
 * A picture is height rows of width cells with nothing between them.  The
 * kernels run over {width, height}, rule30 over the cells of one row, and use
 * the global id alone.
 */
#pragma OPENCL FP_CONTRACT OFF

/* Conway's game on a torus: 1 is alive. */
kernel void life(global const uchar *in, global uchar *out, uint w, uint h)
{
  size_t x = get_global_id(0), y = get_global_id(1);
  size_t left = x > 0 ? x - 1 : w - 1, right = x + 1 < w ? x + 1 : 0;
  size_t row = y * w;
  size_t above = (y > 0 ? y - 1 : h - 1) * w;
  size_t below = (y + 1 < h ? y + 1 : 0) * w;
  uint n = in[above + left] + in[above + x] + in[above + right] +
           in[row + left] + in[row + right] + in[below + left] +
           in[below + x] + in[below + right];
  out[row + x] = n == 3 || (n == 2 && in[row + x] == 1);
}

#define CLAMPED                                                              \
  size_t x = get_global_id(0), y = get_global_id(1);                         \
  size_t left = x > 0 ? x - 1 : x, right = x + 1 < w ? x + 1 : x;            \
  size_t row = y * w, above = y > 0 ? row - w : row;                         \
  size_t below = y + 1 < h ? row + w : row

/* The largest of a cell and its eight neighbours. */
kernel void dilate(global const uchar *in, global uchar *out, uint w, uint h)
{
  CLAMPED;
  uchar a = max(max(in[above + left], in[above + x]), in[above + right]);
  uchar b = max(max(in[row + left], in[row + x]), in[row + right]);
  uchar c = max(max(in[below + left], in[below + x]), in[below + right]);
  out[row + x] = max(max(a, b), c);
}

/* The steepness of a picture: Sobel's two sums. */
kernel void sobel(global const uchar *in, global uchar *out, uint w, uint h)
{
  CLAMPED;
  int a = in[above + left], b = in[above + x], c = in[above + right];
  int d = in[row + left], f = in[row + right];
  int g = in[below + left], i = in[below + x], j = in[below + right];
  int across = c + 2 * f + j - a - 2 * d - g;
  int down = g + 2 * i + j - a - 2 * b - c;
  int steep = max(across, -across) + max(down, -down);
  out[row + x] = (uchar)min(steep, 255);
}

/* The mean of a cell and its four neighbours, in float. */
kernel void smooth_half(global const half *in, global half *out, uint w,
                        uint h)
{
  CLAMPED;
  float sum = vload_half(row + x, in) + vload_half(row + left, in) +
              vload_half(row + right, in) + vload_half(above + x, in) +
              vload_half(below + x, in);
  vstore_half(sum * 0.25f, row + x, out);
}

/* A cellular automaton of one dimension, closed to a ring. */
kernel void rule30(global const uchar *in, global uchar *out, uint n)
{
  size_t i = get_global_id(0);
  uchar left = in[i > 0 ? i - 1 : n - 1], right = in[i + 1 < n ? i + 1 : 0];
  out[i] = left ^ (in[i] | right);
}
