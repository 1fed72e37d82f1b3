/*
 * guard.cl - kernels that count how often each work-item of a range ran.
 * SPDX-License-Identifier: MIT
 */

/* Where the counters begin, and how many there are along x and y. */
struct box {
  ulong x, y, z;
  uint width;
  char height;
};

static void count_at(global uint *ran, struct box box)
{
  size_t at = (get_global_id(2) - box.z) * box.height;
  at = (at + get_global_id(1) - box.y) * box.width;
  atomic_inc(&ran[at + get_global_id(0) - box.x]);
}

kernel void count(global uint *ran, struct box box)
{
  count_at(ran, box);
}

/* Calls a kernel. */
kernel void count_twice(global uint *ran, struct box box)
{
  count(ran, box);
  count_at(ran, box);
}

kernel __attribute__((reqd_work_group_size(8, 4, 2)))
void count_in_groups(global uint *ran, struct box box)
{
  count_at(ran, box);
}

/* A loop, and work-items that take other ways. */
kernel void count_in_loop(global uint *ran, struct box box, uint rounds)
{
  for (uint i = 0; i < rounds; i++) {
    if ((get_global_id(0) + i) % 3 == 0) continue;
    count_at(ran, box);
  }
}

kernel void scale(global double *to, global const half *from, double by)
{
  size_t i = get_global_id(0);
  to[i] = by * (double)vload_half(i, from);
}

kernel void paint(write_only image2d_t to, uint value)
{
  write_imageui(to, (int2)(get_global_id(0), get_global_id(1)), value);
}

/* The id, behind two functions without parameters. */
static size_t here(void)
{
  return get_global_id(0);
}

static size_t there(void)
{
  return here();
}

kernel void mark(global uint *ran)
{
  atomic_add(&ran[here()], (uint)there() + 1);
}

kernel void mark_twice(global uint *ran)
{
  mark(ran);
  atomic_add(&ran[there()], (uint)get_global_id(0) + 1);
}

/* Not for guards. */
kernel void mark_in_turn(global uint *ran)
{
  barrier(CLK_GLOBAL_MEM_FENCE);
  ran[there()] += (uint)here() + 1;
}

kernel void group(global uint *out)
{
  out[get_global_id(0)] = get_group_id(0);
}
