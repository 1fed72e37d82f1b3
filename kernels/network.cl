/*
 * network.cl - a layer of a neural network, and the answer of its last one.
 * SPDX-License-Identifier: MIT
 */
#pragma OPENCL FP_CONTRACT OFF

/*
 * Over {units, images}: out = in * weight + bias, where `in` has `inputs`
 * numbers for each image, and weight a row of `units` numbers for each input.
 * With `rectify`, negative results become 0.  Uses the global id alone.
 */
kernel void layer(global const float *in, global const float *weight,
                  global const float *bias, global float *out, uint inputs,
                  uint units, uint rectify)
{
  size_t unit = get_global_id(0), image = get_global_id(1);

  in += image * inputs;
  float sum = bias[unit];
  for (uint i = 0; i < inputs; i++)
    sum += in[i] * weight[(size_t)i * units + unit];
  out[image * units + unit] = rectify && sum < 0 ? 0 : sum;
}

/* Over the images: the index of the largest of `units` numbers, from 0. */
kernel void largest(global const float *in, global uchar *which, uint units)
{
  size_t image = get_global_id(0);

  in += image * units;
  uint best = 0;
  for (uint i = 1; i < units; i++)
    if (in[i] > in[best])
      best = i;
  which[image] = (uchar)best;
}
