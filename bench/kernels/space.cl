/*
 * space.cl - benchmark kernels over three dimensions.
 * SPDX-License-Identifier: MIT
 *
 * A block is depth planes of height rows of width elements with nothing between
 * them.  All kernels run over {width, height, depth}, and use the global id
 * alone.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

#define X get_global_id(0)
#define Y get_global_id(1)
#define Z get_global_id(2)
#define HERE ((Z * h + Y) * w + X)

kernel void copy_block(global const float *in, global float *out, uint w,
                       uint h)
{
  out[HERE] = in[HERE];
}

kernel void copy_block_bytes(global const uchar *in, global uchar *out, uint w,
                             uint h)
{
  out[HERE] = in[HERE];
}

/* Half of an element and a twelfth of each of its six neighbours; beyond a face
   the outermost element is repeated. */
#define HEAT(name, type)                                                     \
  kernel void name(global const type *in, global type *out, uint w, uint h,  \
                   uint d)                                                   \
  {                                                                          \
    size_t x = X, y = Y, z = Z, row = w, plane = (size_t)w * h;              \
    size_t i = z * plane + y * row + x;                                      \
    type sum = in[x > 0 ? i - 1 : i] + in[x + 1 < w ? i + 1 : i];            \
    sum += in[y > 0 ? i - row : i] + in[y + 1 < h ? i + row : i];            \
    sum += in[z > 0 ? i - plane : i] + in[z + 1 < d ? i + plane : i];        \
    out[i] = in[i] / 2 + sum / 12;                                           \
  }

HEAT(heat, float)
HEAT(heat_double, double)

/* Two axes change places. */
kernel void swap_xy(global const float *in, global float *out, uint w, uint h)
{
  out[(Z * w + X) * h + Y] = in[HERE];
}

kernel void swap_xy_double(global const double *in, global double *out, uint w,
                           uint h)
{
  out[(Z * w + X) * h + Y] = in[HERE];
}

kernel void swap_xz(global const float *in, global float *out, uint w, uint h,
                    uint d)
{
  out[(X * h + Y) * d + Z] = in[HERE];
}

kernel void swap_xz_bytes(global const uchar *in, global uchar *out, uint w,
                          uint h, uint d)
{
  out[(X * h + Y) * d + Z] = in[HERE];
}

kernel void swap_yz(global const float *in, global float *out, uint w, uint h,
                    uint d)
{
  out[(Y * d + Z) * w + X] = in[HERE];
}
