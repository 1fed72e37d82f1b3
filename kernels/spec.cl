/*
 * spec.cl - small kernels that the specs launch.
 * SPDX-License-Identifier: MIT
 */

/* Every work-item counts itself once, which checks that a range is exact. */
kernel void count(global int *seen, uint nx, uint ny) {
  size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  atomic_inc(&seen[(z * ny + y) * nx + x]);
}

/* The same for a kernel that uses more than its id, so its group must divide
   the range. */
kernel void count_groups(global int *seen, global int *sizes) {
  size_t i = get_global_id(0);
  atomic_inc(&seen[i]);
  sizes[i] = (int)get_local_size(0);
}

kernel void square(global const int *a, global int *b) {
  size_t i = get_global_id(0);
  b[i] = a[i] * a[i];
}

/* One argument of each scalar type, written out as doubles and longs. */
kernel void scalars(global double *reals, global long *integers, char c,
                    uchar uc, short s, ushort us, int i, uint ui, long l,
                    ulong ul, float f, double d) {
  if (get_global_id(0) != 0) return;
  integers[0] = c;
  integers[1] = uc;
  integers[2] = s;
  integers[3] = us;
  integers[4] = i;
  integers[5] = ui;
  integers[6] = l;
  integers[7] = (long)ul;
  reals[0] = f;
  reals[1] = d;
}

kernel void vectors(global float4 *f, global int *i, float4 a, int2 b,
                    uchar3 c) {
  f[0] = a;
  i[0] = b.x;
  i[1] = b.y;
  i[2] = c.x;
  i[3] = c.y;
  i[4] = c.z;
}

typedef struct pair {
  int first;
  float second;
} pair;

kernel void structs(global float *out, pair p) {
  out[0] = (float)p.first;
  out[1] = p.second;
}

/* Reverses a group's elements through local memory of the caller's size. */
kernel void reverse(global int *data, local int *scratch) {
  size_t l = get_local_id(0), n = get_local_size(0), i = get_global_id(0);
  scratch[l] = data[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[i] = scratch[n - 1 - l];
}

kernel __attribute__((reqd_work_group_size(8, 1, 1))) void eights(
    global int *out) {
  out[get_global_id(0)] = (int)get_local_id(0);
}

/* Tests if a pointer is null. */
kernel void is_null(global int *out, global const float *p) {
  out[0] = p == 0;
}

/* Follows an address stored in memory. */
kernel void indirect(global const ulong *address, global int *out) {
  global const int *p = (global const int *)address[0];
  out[0] = p[0];
}

/* Work that takes a while: rounds of arithmetic that no compiler shortens. */
kernel void spin(global uint *out, uint rounds) {
  uint v = (uint)get_global_id(0) + 1;
  for (uint i = 0; i < rounds; i++) {
    v ^= v << 13;
    v ^= v >> 17;
    v ^= v << 5;
  }
  out[get_global_id(0)] = v;
}

kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }

/* Like `count_groups` in three dimensions; `bad` counts the work-items whose
   group, local and global numbers do not agree. */
kernel void count_groups3(global int *seen, global int *bad, uint nx,
                          uint ny) {
  size_t i = (get_global_id(2) * ny + get_global_id(1)) * nx +
             get_global_id(0);
  atomic_inc(&seen[i]);
  for (uint d = 0; d < 3; d++)
    if (get_group_id(d) * get_local_size(d) + get_local_id(d) +
            get_global_offset(d) != get_global_id(d) ||
        get_num_groups(d) * get_local_size(d) != get_global_size(d))
      atomic_inc(bad);
}

/* Writes the offset of a range. */
kernel void offsets(global int *out) {
  for (uint d = 0; d < 3; d++) out[d] = (int)get_global_offset(d);
}

/* Pointers of other kinds: any bytes, structs, constant memory. */
kernel void sum_bytes(global const uchar *bytes, uint n, global uint *out) {
  uint sum = 0;
  for (uint i = 0; i < n; i++) sum += bytes[i];
  out[0] = sum;
}

kernel void swap_pairs(global pair *p) {
  size_t i = get_global_id(0);
  int first = p[i].first;
  p[i].first = (int)p[i].second;
  p[i].second = (float)first;
}

kernel void look_up(constant int *table, global int *x) {
  size_t i = get_global_id(0);
  x[i] = table[x[i]];
}

/* Converts 16-bit floats on the device. */
kernel void widen_half(global const half *h, global float *out) {
  size_t i = get_global_id(0);
  out[i] = vload_half(i, h);
}

kernel void widen_bfloat16(global const ushort *b, global float *out) {
  size_t i = get_global_id(0);
  out[i] = as_float((uint)b[i] << 16);
}

kernel void nothing(void) {}
