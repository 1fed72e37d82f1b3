/*
 * image.cl - benchmark kernels over pictures.
 * SPDX-License-Identifier: MIT
 *
 * A picture is height rows of width pixels with nothing between them.  All
 * kernels except blur_filter run over {width, height}, and all use the global
 * id alone.  Beyond an edge the outermost pixel is repeated.
 */
#pragma OPENCL FP_CONTRACT OFF

kernel void add_image(global const float4 *a, global const float4 *b,
                      global float4 *c, uint width)
{
  size_t i = get_global_id(1) * width + get_global_id(0);
  c[i] = a[i] + b[i];
}

/* size x size weights; size is odd. */
kernel void convolve_array(global const float *picture,
                           global const float *weight, global float *out,
                           int width, int height, int size)
{
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  int half_size = size / 2;

  float sum = 0;
  for (int j = 0; j < size; j++) {
    int row = min(max(y + j - half_size, 0), height - 1);
    for (int i = 0; i < size; i++) {
      int column = min(max(x + i - half_size, 0), width - 1);
      sum += picture[(size_t)row * (size_t)width + (size_t)column]
             * weight[j * size + i];
    }
  }
  out[(size_t)y * (size_t)width + (size_t)x] = sum;
}

/* The same for pixels of four channels. */
kernel void convolve_image(global const float4 *picture,
                           global const float *weight, global float4 *out,
                           int width, int height, int size)
{
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  int half_size = size / 2;

  float4 sum = {0, 0, 0, 0};
  for (int j = 0; j < size; j++) {
    int row = min(max(y + j - half_size, 0), height - 1);
    for (int i = 0; i < size; i++) {
      int column = min(max(x + i - half_size, 0), width - 1);
      sum += picture[(size_t)row * (size_t)width + (size_t)column]
             * weight[j * size + i];
    }
  }
  out[(size_t)y * (size_t)width + (size_t)x] = sum;
}

/* Over {width, height, 3}: a plane of whole numbers for each channel, blurred
   by size x size weights that add up to total. */
kernel void blur_filter(global const int *picture, global const int *weight,
                        global int *out, int width, int height, int size,
                        int total)
{
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  int half_size = size / 2;
  size_t plane = get_global_id(2) * (size_t)width * (size_t)height;

  int sum = 0;
  for (int j = 0; j < size; j++) {
    int row = min(max(y + j - half_size, 0), height - 1);
    for (int i = 0; i < size; i++) {
      int column = min(max(x + i - half_size, 0), width - 1);
      sum += picture[plane + (size_t)row * (size_t)width + (size_t)column]
             * weight[j * size + i];
    }
  }
  out[plane + (size_t)y * (size_t)width + (size_t)x] = sum / total;
}

/* The colour of each pixel's tracking result: 1 followed, -1 to -5 lost for
   five reasons, else not looked at. */
kernel void render_track(global const char *state, global uchar *rgb,
                         uint width)
{
  size_t i = get_global_id(1) * width + get_global_id(0);
  uchar red = 0, green = 0, blue = 0;

  switch (state[i]) {
  case 1: red = green = blue = 128; break;
  case -1: break;
  case -2: red = 255; break;
  case -3: green = 255; break;
  case -4: blue = 255; break;
  case -5: red = green = 255; break;
  default: red = 255; green = blue = 128;
  }
  rgb[3 * i] = red;
  rgb[3 * i + 1] = green;
  rgb[3 * i + 2] = blue;
}
