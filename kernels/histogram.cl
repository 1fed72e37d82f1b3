/*
 * histogram.cl - how often each byte value occurs in n bytes.
 * SPDX-License-Identifier: MIT
 */
#define BINS 256u

/*
 * Adds the counts of data[0 .. n-1] to bins[0 .. 255].  Any number of
 * work-items in groups of any size works: together they stride over the data,
 * so the range need not be n, nor divide n.  Each group counts into its own
 * local table, which keeps the atomics near the core, and adds that table to
 * the result once.  n has 32 bits, the position 64, so that the stride cannot
 * wrap.
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

#define TABLES 8u

/*
 * The same for few work-items with a cache each, as on a CPU: each item counts
 * a run of the data without atomics.  Neighbouring bytes use different tables,
 * so that equal bytes need not wait for each other.
 */
kernel void histogram_runs(global const uchar *data, uint n, global uint *bins)
{
  uint counts[TABLES * BINS];
  for (uint b = 0; b < TABLES * BINS; b++)
    counts[b] = 0;

  ulong items = get_global_size(0), item = get_global_id(0);
  ulong i = item * n / items, end = (item + 1) * n / items;
  for (; i + TABLES <= end; i += TABLES)
    for (uint t = 0; t < TABLES; t++)
      counts[t * BINS + data[i + t]]++;
  for (; i < end; i++)
    counts[data[i]]++;

  for (uint b = 0; b < BINS; b++) {
    uint sum = 0;
    for (uint t = 0; t < TABLES; t++)
      sum += counts[t * BINS + b];
    if (sum != 0)
      atomic_add(&bins[b], sum);
  }
}
