/*
 * mandelbrot.cl - how soon the points of a rectangle leave the Mandelbrot set.
 * SPDX-License-Identifier: MIT
 *
 * Numbers are fixed-point: 1.0 is 1 << 28.  That is finer than single
 * precision, needs no double precision, which not every device has, and gives
 * the same picture everywhere.
 */
#define POINT 28

/*
 * Runs over {width, rows}, one work-item for each pixel; uses the global id
 * alone, so groups of any size work.  Pixel (x, y) is the point
 * (left + x * step, top + y * step), which must lie within 4.0 of the origin,
 * so that nothing wraps.  Its byte becomes 0 if the point has not left the
 * circle of radius 2 after `limit` steps, else 1 + steps % 255.
 */
kernel void mandelbrot(global uchar *pixels, uint width, long left, long top,
                       long step, uint limit)
{
  size_t x = get_global_id(0), y = get_global_id(1);
  long cr = left + (long)x * step, ci = top + (long)y * step;
  long zr = cr, zi = ci;
  uint n = 0;

  while (n < limit) {
    long rr = zr * zr >> POINT, ii = zi * zi >> POINT;
    if (rr + ii > 4L << POINT)
      break;
    zi = (zr * zi >> (POINT - 1)) + ci;
    zr = rr - ii + cr;
    n++;
  }
  pixels[y * width + x] = n == limit ? (uchar)0 : (uchar)(1 + n % 255);
}
