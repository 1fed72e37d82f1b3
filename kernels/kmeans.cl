/*
 * kmeans.cl - points gathered around the nearest of k centres (Lloyd).
 * SPDX-License-Identifier: MIT
 *
 * Coordinates are whole numbers of up to 15 bits, so that distances fit 32 bits
 * and every device gets the same result, regardless of the order of its sums.
 */

/* Over the points: finds the nearest centre of each, the first if several are
   equal, and adds the point to that centre's sums: x, y and count. */
kernel void assign(global const int2 *point, global const int2 *centre,
                   int k, global int *nearest, global int *sums)
{
  size_t i = get_global_id(0);
  int2 p = point[i];
  int best = 0;
  uint least = 0xffffffffu;

  for (int c = 0; c < k; c++) {
    int2 d = p - centre[c];
    uint distance = (uint)(d.x * d.x) + (uint)(d.y * d.y);
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  nearest[i] = best;
  atomic_add(&sums[3 * best], p.x);
  atomic_add(&sums[3 * best + 1], p.y);
  atomic_inc(&sums[3 * best + 2]);
}

/* Over the k centres: moves each to the mean of its points, if it has any, and
   resets the sums to 0. */
kernel void move(global int2 *centre, global int *sums)
{
  size_t c = get_global_id(0);
  int count = sums[3 * c + 2];

  if (count > 0)
    centre[c] = (int2)(sums[3 * c] / count, sums[3 * c + 1] / count);
  sums[3 * c] = sums[3 * c + 1] = sums[3 * c + 2] = 0;
}
