/*
 * image_write.cl - kernels that write whole numbers to images of slices.
 * SPDX-License-Identifier: MIT
 *
 * image_write.spv is made of it with the compiler line of kernels/rules.mk.
 */
#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable

/* Numbers that tell the pixels apart. */
static int4 pixel(int4 p, int first)
{
  return first + p.x + 10 * p.y + 50 * p.z + (int4)(0, -1, 5, -25);
}

kernel void write_3d(write_only image3d_t to, int first)
{
  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imagei(to, p, pixel(p, first));
}

kernel void write_2d_array(write_only image2d_array_t to, int first)
{
  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imagei(to, p, pixel(p, first));
}

kernel void write_unsigned_3d(write_only image3d_t to, int first)
{
  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imageui(to, p, as_uint4(pixel(p, first)));
}

kernel void write_unsigned_2d_array(write_only image2d_array_t to, int first)
{
  int4 p = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
  write_imageui(to, p, as_uint4(pixel(p, first)));
}
