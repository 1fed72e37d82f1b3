/*
 * group.cl - a benchmark kernel whose work-items share local memory.
 * SPDX-License-Identifier: MIT
 */

/* No device has larger groups. */
#define MOST 4096

/* Adds x[0 .. n-1] to *sum; whole numbers, so that the order does not matter.
   Any number of work-items in groups of any size works: together they stride
   over the data. */
kernel void reduction(global const int *x, uint n, global int *sum)
{
  local int part[MOST];
  uint here = (uint)get_local_id(0);

  int own = 0;
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
    own += x[i];
  part[here] = own;
  barrier(CLK_LOCAL_MEM_FENCE);

  for (uint width = (uint)get_local_size(0); width > 1;
       width = (width + 1) / 2) {
    if (here < width / 2)
      part[here] += part[here + (width + 1) / 2];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (here == 0)
    atomic_add(sum, part[0]);
}
