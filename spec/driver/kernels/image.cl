/*
 * image.cl - kernels that read and write images of each type.
 * SPDX-License-Identifier: MIT
 *
 * image.spv is made of it with the compiler line of kernels/rules.mk.
 */

constant sampler_t at = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE |
                        CLK_FILTER_NEAREST;

/* to = from + add. */
kernel void add_2d(read_only image2d_t from, write_only image2d_t to, uint add)
{
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(to, p, read_imageui(from, at, p) + add);
}

kernel void add_1d(read_only image1d_t from, write_only image1d_t to, uint add)
{
  int p = get_global_id(0);
  write_imageui(to, p, read_imageui(from, at, p) + add);
}

/* The pixels in the order of their work-items. */
static size_t here(void)
{
  return (get_global_id(2) * get_global_size(1) + get_global_id(1)) *
             get_global_size(0) + get_global_id(0);
}

kernel void read_1d(read_only image1d_t from, global uint4 *out)
{
  out[here()] = read_imageui(from, at, (int)get_global_id(0));
}

kernel void read_1d_array(read_only image1d_array_t from, global uint4 *out)
{
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  out[here()] = read_imageui(from, at, p);
}

kernel void read_2d(read_only image2d_t from, global uint4 *out)
{
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  out[here()] = read_imageui(from, at, p);
}

kernel void read_2d_array(read_only image2d_array_t from, global uint4 *out)
{
  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  out[here()] = read_imageui(from, at, p);
}

kernel void read_3d(read_only image3d_t from, global uint4 *out)
{
  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  out[here()] = read_imageui(from, at, p);
}

kernel void read_buffer(read_only image1d_buffer_t from, global uint4 *out)
{
  out[here()] = read_imageui(from, (int)get_global_id(0));
}

kernel void write_float_2d(write_only image2d_t to, float value)
{
  int2 p = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(to, p, (float4)(value));
}
