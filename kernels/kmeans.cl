/*
 * kmeans.cl - points gathered round the nearest of k centres (Lloyd).
 * SPDX-License-Identifier: MIT
 *
 * Coordinates are whole numbers of up to 15 bits, so that distances fit 32 and
 * every device gathers the points alike, whatever order it adds them up in.
 */

/* Over the points: the centre nearest to each, the first of equals, and what
   each centre's points come to: x, y and how many. */
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

/* Over the k centres: to the middle of their points; one that has none stays
   where it is.  The sums become 0 again. */
kernel void move(global int2 *centre, global int *sums)
{
  size_t c = get_global_id(0);
  int count = sums[3 * c + 2];

  if (count > 0)
    centre[c] = (int2)(sums[3 * c] / count, sums[3 * c + 1] / count);
  sums[3 * c] = sums[3 * c + 1] = sums[3 * c + 2] = 0;
}
