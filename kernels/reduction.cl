/*
 * reduction.cl - the sum of many numbers.
 * SPDX-License-Identifier: MIT
 */

/*
 * Writes group g's sum of its share of x[0 .. n-1] to sums[g]: all groups
 * together add every element once, so a second launch of one group over `sums`
 * gives the total.  Any number of groups of any size works, and any n: groups
 * take equal, adjacent shares of x, and their items stride over them.
 * `scratch` has one element for each work-item of a group.  A long is Lua's
 * integer: sums wrap as in Lua.
 */
kernel void sum(global const long *x, ulong n, global long *sums,
                local long *scratch)
{
  size_t here = get_local_id(0), size = get_local_size(0);
  ulong share = (n + get_num_groups(0) - 1) / get_num_groups(0);
  ulong begin = get_group_id(0) * share, end = min(begin + share, n);

  long own = 0;
  for (ulong i = begin + here; i < end; i += size)
    own += x[i];
  scratch[here] = own;
  barrier(CLK_LOCAL_MEM_FENCE);

  /* A tree: the upper half is added to the lower half until one is left.  With
     an odd width the middle element waits for the next round. */
  for (size_t width = size; width > 1; width = (width + 1) / 2) {
    if (here < width / 2)
      scratch[here] += scratch[here + (width + 1) / 2];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (here == 0)
    sums[get_group_id(0)] = scratch[0];
}
