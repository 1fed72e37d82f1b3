/*
 * generic.cl - atomic operations on pointers to memory of either kind.
 * SPDX-License-Identifier: MIT
 */
kernel void count(global int *out, int in_local)
{
  local int there[1];
  if (get_local_id(0) == 0) there[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  /* Which of the two only the launch says. */
  volatile atomic_int *p =
      in_local ? (volatile atomic_int *)there : (volatile atomic_int *)out;
  atomic_fetch_add(p, 1);
  atomic_fetch_or(p, 1 << 20);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    if (in_local) atomic_store((volatile atomic_int *)out, there[0]);
    out[1] = atomic_load(p);
  }
}

kernel void trade(global float *out, int in_local)
{
  local float there[1];
  volatile atomic_float *p =
      in_local ? (volatile atomic_float *)there : (volatile atomic_float *)out;
  atomic_store(p, 2.5f);
  out[1] = atomic_exchange(p, 4.5f);
  out[2] = atomic_load(p);
}
