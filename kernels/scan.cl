/*
 * scan.cl - exclusive prefix sums: each element becomes the sum of those
 * before it.
 * SPDX-License-Identifier: MIT
 *
 * A work-item has `each` elements side by side, a group its work-items'
 * elements: a block.  Blocks are joined by scanning their totals in the same
 * way and adding the result:
 *
 *   scan_blocks   x -> out, each block from 0, and its total
 *   ...           the totals, again a scan
 *   add_blocks    out += what the totals before the block come to
 *
 * Both run over at least n / each work-items in whole groups, of the same size
 * for both, whatever it is; elements from n on are neither read nor written.
 * A long is Lua's own integer: sums wrap as Lua's do.
 */

/*
 * `scratch` has two elements for each work-item of a group, totals one for
 * each group.  out may be x.
 */
kernel void scan_blocks(global const long *x, ulong n, uint each,
                        global long *out, global long *totals,
                        local long *scratch)
{
  size_t here = get_local_id(0), size = get_local_size(0);
  ulong begin = get_global_id(0) * each, end = min(begin + each, n);

  long own = 0;
  for (ulong i = begin; i < end; i++)
    own += x[i];

  /* After each round an element is the sum of twice as many: of itself and
     those before it.  Two halves of scratch take turns, so that nothing is
     read after it has changed. */
  local long *from = scratch, *to = scratch + size;
  from[here] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t reach = 1; reach < size; reach *= 2) {
    to[here] = from[here] + (here >= reach ? from[here - reach] : 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    local long *swap = from;
    from = to;
    to = swap;
  }
  if (here == size - 1)
    totals[get_group_id(0)] = from[here];

  long sum = from[here] - own;
  for (ulong i = begin; i < end; i++) {
    long value = x[i];
    out[i] = sum;
    sum += value;
  }
}

kernel void add_blocks(global long *out, ulong n, uint each,
                       global const long *before)
{
  ulong begin = get_global_id(0) * each, end = min(begin + each, n);
  for (ulong i = begin; i < end; i++)
    out[i] += before[get_group_id(0)];
}
