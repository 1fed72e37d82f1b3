/*
 * blur.cl - a Gaussian blur in two passes, along rows and along columns.
 * SPDX-License-Identifier: MIT
 *
 * A picture is height rows of width pixels of `channels` bytes each, with
 * nothing between them.  weight[0] is the weight of the pixel itself, weight[d]
 * of a pixel d away; weight[0] + 2 * (weight[1] + ... + weight[radius]) must be
 * 65536.  Beyond an edge the outermost pixel is repeated.
 *
 * Both passes run over {width * channels, height} and use the global id alone,
 * so groups of any size work.  They compute with whole numbers, so that every
 * device gives the same picture.  No sum wraps: 255 * 65536 fits 32 bits, and
 * so does 65280 * 65536, although 8 bits of fraction are kept between the
 * passes.
 */

/* Sums a picture along its rows: 255 becomes 65280. */
kernel void blur_rows(global const uchar *picture, global ushort *sums,
                      global const uint *weight, int radius, int width,
                      int channels)
{
  int i = (int)get_global_id(0);
  int x = i / channels, channel = i % channels;
  size_t row = get_global_id(1) * (size_t)width * (size_t)channels;

  picture += row + (size_t)channel;
  uint sum = picture[x * channels] * weight[0];
  for (int d = 1; d <= radius; d++) {
    int left = max(x - d, 0), right = min(x + d, width - 1);
    sum += (picture[left * channels] + picture[right * channels]) * weight[d];
  }
  sums[row + (size_t)i] = (ushort)((sum + (1u << 7)) >> 8);
}

/* Turns those sums into a picture. */
kernel void blur_columns(global const ushort *sums, global uchar *picture,
                         global const uint *weight, int radius, int height,
                         uint row_bytes)
{
  size_t i = get_global_id(0);
  int y = (int)get_global_id(1);

  sums += i;
  uint sum = sums[(size_t)y * row_bytes] * weight[0];
  for (int d = 1; d <= radius; d++) {
    size_t up = (size_t)max(y - d, 0) * row_bytes;
    size_t down = (size_t)min(y + d, height - 1) * row_bytes;
    sum += ((uint)sums[up] + sums[down]) * weight[d];
  }
  picture[(size_t)y * row_bytes + i] = (uchar)((sum + (1u << 23)) >> 24);
}
