/*
 * probe.cl - small kernels that show what a launch really did.
 * SPDX-License-Identifier: MIT
 *
 * probe.spv is made of it with the compiler line of kernels/rules.mk.
 */

/* Each work-item writes where it is; row is 8 wide. */
kernel void where(global uint *out, uint width, uint height)
{
  size_t x = get_global_id(0) - get_global_offset(0);
  size_t y = get_global_id(1) - get_global_offset(1);
  size_t z = get_global_id(2) - get_global_offset(2);
  global uint *row = out + ((z * height + y) * width + x) * 8;
  row[0] = get_global_id(0);
  row[1] = get_global_id(1);
  row[2] = get_global_id(2);
  row[3] = get_local_size(0);
  row[4] = get_local_size(1);
  row[5] = get_local_size(2);
  row[6] = get_group_id(0);
  row[7] = get_global_size(0);
}

/* Takes a while: `turns` dependent steps a work-item. */
kernel void spin(global uint *out, uint turns)
{
  uint x = get_global_id(0) + 1;
  for (uint i = 0; i < turns; i++) x = (x ^ x >> 15) * 1664525u + 1;
  out[get_global_id(0)] = x;
}

/* Adds one, so that each launch counts. */
kernel void count(global uint *out)
{
  out[get_global_id(0)]++;
}

/* In order: out = out * 3 + add. */
kernel void chain(global uint *out, uint add)
{
  out[get_global_id(0)] = out[get_global_id(0)] * 3 + add;
}

struct mixed {
  int i;
  double d;
  char c;
};

/* Every way of giving an argument. */
kernel void values(global double *out, char c, short s, long l, float f,
                   double d, float4 v, int3 w, struct mixed m)
{
  out[0] = c;
  out[1] = s;
  out[2] = l;
  out[3] = f;
  out[4] = d;
  out[5] = v.x + 10 * v.y + 100 * v.z + 1000 * v.w;
  out[6] = w.x + 10 * w.y + 100 * w.z;
  out[7] = m.i + m.d + m.c;
}

/* Adds 1 by way of two places in local memory. */
kernel void through_local(global uint *out, local uint *a, local uint *b)
{
  a[0] = out[0];
  b[0] = a[0] + 1;
  out[0] = b[0];
}

/* Sums a group through local memory of a size given at launch. */
kernel void local_sum(global const uint *in, global uint *out, local uint *part)
{
  size_t l = get_local_id(0), n = get_local_size(0);
  part[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    uint sum = 0;
    for (size_t i = 0; i < n; i++) sum += part[i];
    out[get_group_id(0)] = sum;
  }
}

/* 1 where a pointer is null. */
kernel void is_null(global uint *out, global const uint *pointer)
{
  out[0] = pointer == 0;
}

kernel __attribute__((reqd_work_group_size(4, 2, 1)))
void required(global uint *out)
{
  out[get_global_id(1) * get_global_size(0) + get_global_id(0)] =
      get_local_size(0) * 10 + get_local_size(1);
}

kernel __attribute__((work_group_size_hint(8, 4, 1), vec_type_hint(float4)))
void hinted(global float *out)
{
  out[get_global_id(0)] = 1;
}

/* Keeps numbers in static local memory. */
kernel void kept(global uint *out)
{
  local uint part[256];
  local char sign;
  size_t l = get_local_id(0);
  part[l & 255] = l;
  sign = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = part[l + 1 & 255] * sign;
}

kernel void print(int n)
{
  printf("probe %d\n", n);
}

/* Asks from a function of its own where it is. */
static uint place(void)
{
  return get_local_size(0) * 1000 + get_group_id(0) * 100 + get_local_id(0);
}

kernel void called(global uint *out)
{
  out[get_global_id(0)] = place();
}
