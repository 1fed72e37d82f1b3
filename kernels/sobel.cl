/*
 * sobel.cl - how steep a grey picture is at each of its pixels.
 * SPDX-License-Identifier: MIT
 */

/*
 * Runs over {width, height} and uses the global id alone.  A byte of `out` is
 * the sum of the slopes along rows and columns, by Sobel's two masks, halved
 * and at most 255.  Beyond an edge the outermost pixel is repeated.
 */
kernel void sobel(global const uchar *picture, global uchar *out, int width,
                  int height)
{
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  int left = max(x - 1, 0), right = min(x + 1, width - 1);
  global const uchar *above = picture + (size_t)max(y - 1, 0) * (size_t)width;
  global const uchar *here = picture + (size_t)y * (size_t)width;
  global const uchar *below =
    picture + (size_t)min(y + 1, height - 1) * (size_t)width;

  int across = above[right] + 2 * here[right] + below[right]
               - above[left] - 2 * here[left] - below[left];
  int down = below[left] + 2 * below[x] + below[right]
             - above[left] - 2 * above[x] - above[right];
  int steep = (abs(across) + abs(down)) / 2;
  out[(size_t)y * (size_t)width + (size_t)x] = (uchar)min(steep, 255);
}
