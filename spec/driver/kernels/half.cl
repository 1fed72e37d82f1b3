/*
 * half.cl - what functions of OpenCL C make of halves.
 * SPDX-License-Identifier: MIT
 */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

kernel void maths(global half *out, global const half *in)
{
  const half x = in[get_global_id(0)];
  const half4 v = (half4)(x, x + 1, x + 2, x + 3);
  out += 16 * get_global_id(0);
  out[0] = mad(x, x, (half)1);
  out[1] = sqrt(x * x);
  out[2] = fmax(x, (half)2.5f);
  out[3] = dot(v, v);
  out[4] = clamp(x, (half)-1, (half)1);
  out[5] = pown(x, 3);
  out[6] = isnan(x) ? 1 : 2;
  out[7] = ilogb(x);
  *(global half4 *)(out + 8) = sqrt(v * v);
  *(global half4 *)(out + 12) = convert_half4(convert_float4(v) * 2);
}

kernel void convert(global int *out, global const half *in)
{
  const half4 v = *(global const half4 *)in;
  const int4 up = convert_int4_rtp(v);
  const uchar4 narrow = convert_uchar4_sat(v * 100.0h);
  const half4 back = convert_half4_rte(convert_float4_rtz(v));
  for (int i = 0; i < 4; i++) {
    out[i] = ((const int *)&up)[i];
    out[4 + i] = ((const uchar *)&narrow)[i];
    out[8 + i] = convert_int_rte(in[i]);
    out[12 + i] = convert_char_sat(in[i] * 100.0h);
    out[16 + i] = ((const half *)&back)[i] * 2;
  }
}

/* Numbers that lie between halves, and one beyond them all. */
kernel void narrow(global half *out, global const float *in)
{
  for (int i = 0; i < 8; i++, out += 8) {
    const float x = in[i];
    out[0] = convert_half_rte(x);
    out[1] = convert_half_rtz(x);
    out[2] = convert_half_rtp(x);
    out[3] = convert_half_rtn(x);
    out[4] = convert_half2_rtz((float2)(x, -x)).y;
    out[5] = convert_half_rtp((int)x);
    out[6] = convert_float_rtp(out[0]);
    out[7] = convert_half_rtn((double)x);
  }
}
