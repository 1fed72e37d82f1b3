/*
 * scan.cl - exclusive prefix sums: each element becomes the sum of all
 * elements before it.
 * SPDX-License-Identifier: MIT
 *
 * A work-item has `each` adjacent elements, a group the elements of its
 * work-items: a block.  Blocks are joined by scanning their totals in the same
 * way and adding the result:
 *
 *   scan_blocks   x -> out, each block from 0, and its total
 *   ...           the totals, again a scan
 *   add_blocks    out += the sum of the totals before the block
 *
 * Both run over at least n / each work-items in whole groups, of the same size
 * for both, which can be any size; elements from n on are not accessed.  A long
 * is Lua's integer: sums wrap as in Lua.
 *
 * begin_runs and end_runs, below, do it without barriers.
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

  /* After each round an element is the sum of twice as many elements: itself
     and elements before it.  Two halves of scratch take turns, so that no
     element is read after it has changed. */
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

/*
 * The same for few work-items with a cache each, as on a CPU, which is limited
 * by memory: each has a run of the elements, and there is one more run than
 * work-items.  begin_runs scans the first run, and sums all others except the
 * last; then end_runs scans all except the first.  Any number of work-items
 * works, the same for both; totals has one element for each work-item, and
 * out may be x.
 */
static ulong run_begin(ulong run, ulong n)
{
  ulong runs = get_global_size(0) + 1;
  return run * (n / runs) + min(run, n % runs);
}

/* Returns the sum of a run and of all elements before it. */
static long run_scan(global const long *x, ulong n, ulong run, long sum,
                     global long *out)
{
  for (ulong i = run_begin(run, n), end = run_begin(run + 1, n); i < end; i++) {
    long value = x[i];
    out[i] = sum;
    sum += value;
  }
  return sum;
}

kernel void begin_runs(global const long *x, ulong n, global long *out,
                       global long *totals)
{
  ulong item = get_global_id(0);

  long sum = 0;
  if (item == 0)
    sum = run_scan(x, n, 0, 0, out);
  else
    for (ulong i = run_begin(item, n), end = run_begin(item + 1, n); i < end;
         i++)
      sum += x[i];
  totals[item] = sum;
}

kernel void end_runs(global const long *x, ulong n, global long *out,
                     global const long *totals)
{
  ulong item = get_global_id(0);

  long sum = 0;
  for (ulong k = 0; k <= item; k++)
    sum += totals[k];
  run_scan(x, n, item + 1, sum, out);
}
