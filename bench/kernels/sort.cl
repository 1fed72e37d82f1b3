/*
 * sort.cl - one pass of a bitonic sort.
 * SPDX-License-Identifier: MIT
 *
 * Over n / 2, n being a power of two: each work-item orders one pair, `step`
 * apart, upwards or downwards as `block` says.  A sort is the passes
 *   for block = 2, 4, ... n: for step = block / 2, block / 4, ... 1
 */
kernel void bitonic(global int *x, uint step, uint block)
{
  uint i = (uint)get_global_id(0);
  uint low = (i / step) * 2 * step + i % step, high = low + step;
  int a = x[low], b = x[high];

  if ((a > b) == ((low & block) == 0)) {
    x[low] = b;
    x[high] = a;
  }
}
