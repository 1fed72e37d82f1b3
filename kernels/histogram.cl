/*
 * histogram.cl - how often each byte value occurs in n bytes.
 * SPDX-License-Identifier: MIT
 */
#define BINS 256u

/*
 * Adds the counts of data[0 .. n-1] to bins[0 .. 255].  Any number of
 * work-items in groups of any size will do: together they stride over the
 * data, so the range need be neither n nor a divisor of anything.  Each group
 * counts into its own local table, which keeps the atomics near the core, and
 * adds that to the result once.  n is 32 bits, the position 64, so that the
 * stride cannot wrap.
 */
kernel void histogram(global const uchar *data, uint n, global uint *bins)
{
  local uint counts[BINS];
  uint here = get_local_id(0);
  uint width = get_local_size(0);

  for (uint b = here; b < BINS; b += width)
    counts[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);

  for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
    atomic_inc(&counts[data[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);

  for (uint b = here; b < BINS; b += width)
    if (counts[b] != 0)
      atomic_add(&bins[b], counts[b]);
}
