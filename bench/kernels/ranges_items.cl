/*
 * ranges_items.cl - benchmark kernels over lists of items.
 * SPDX-License-Identifier: MIT
 *
 * All except the last two, which have barriers, use only the global id.
 */
#pragma OPENCL FP_CONTRACT OFF

/* A sparse matrix, row after row, times x. */
kernel void spmv_csr(global const int *start, global const int *column,
                     global const float *value, global const float *x,
                     global float *y)
{
  int row = get_global_id(0);
  float sum = 0.0f;
  for (int i = start[row]; i < start[row + 1]; i++)
    sum += value[i] * x[column[i]];
  y[row] = sum;
}

/* The same with equally long rows, stored column after column. */
kernel void spmv_ell(global const int *column, global const float *value,
                     global const float *x, global float *y, int rows,
                     int entries)
{
  int row = get_global_id(0);
  float sum = 0.0f;
  for (int i = 0; i < entries; i++)
    sum += value[i * rows + row] * x[column[i * rows + row]];
  y[row] = sum;
}

/* A step of a breadth-first search: marks new nodes next to the front. */
kernel void breadth(global const int *start, global const int *neighbour,
                    global const uchar *front, global const uchar *seen,
                    global uchar *next)
{
  int i = get_global_id(0);
  if (front[i])
    for (int k = start[i]; k < start[i + 1]; k++)
      if (!seen[neighbour[k]]) next[neighbour[k]] = 1;
}

/* The cheapest path to each place of a row, from the row before. */
kernel void pathfinder(global const int *cost, global const int *before,
                       global int *out, int n)
{
  int i = get_global_id(0);
  int least = before[i];
  if (i > 0) least = min(least, before[i - 1]);
  if (i + 1 < n) least = min(least, before[i + 1]);
  out[i] = cost[i] + least;
}

/* The flow into each cell from its four neighbours, of four variables. */
kernel void flux(global const int *neighbour, global const float *v,
                 global float *out, int n)
{
  int i = get_global_id(0);
  float density = v[i], mx = v[n + i], my = v[2 * n + i], e = v[3 * n + i];
  float fd = 0.0f, fx = 0.0f, fy = 0.0f, fe = 0.0f;
  for (int k = 0; k < 4; k++) {
    int other = neighbour[k * n + i];
    float od = v[other], ox = v[n + other], oy = v[2 * n + other];
    float oe = v[3 * n + other];
    float pressure = 0.4f * (oe - 0.5f * (ox * ox + oy * oy) / od);
    fd += od - density;
    fx += ox - mx + pressure;
    fy += oy - my + pressure;
    fe += (oe + pressure) * ox / od - e;
  }
  out[i] = fd;
  out[n + i] = fx;
  out[2 * n + i] = fy;
  out[3 * n + i] = fe;
}

/* A picture from its waves: a loop of sines and cosines. */
kernel void waves(global const float *x, global const float *y,
                  global const float4 *wave, global float2 *out, int count)
{
  int i = get_global_id(0);
  float px = x[i], py = y[i], re = 0.0f, im = 0.0f;
  for (int k = 0; k < count; k++) {
    float4 w = wave[k];
    float angle = w.x * px + w.y * py + w.z;
    re += w.w * cos(angle);
    im += w.w * sin(angle);
  }
  out[i] = (float2)(re, im);
}

/* The potential of atoms within a distance, on a grid. */
kernel void potential(global const float4 *atom, global float *out, int atoms,
                      int w, int h)
{
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  float sum = 0.0f;
  for (int k = 0; k < atoms; k++) {
    float4 a = atom[k];
    float dx = a.x - x, dy = a.y - y, dz = a.z - z;
    float r2 = dx * dx + dy * dy + dz * dz;
    if (r2 < 400.0f) {
      float s = 1.0f - r2 / 400.0f;
      sum += a.w * rsqrt(r2 + 0.01f) * s * s;
    }
  }
  out[(z * h + y) * w + x] = sum;
}

/* Each work-item counts a slice of the bytes in its own bins. */
kernel void histogram_own(global const uchar *in, global uint *bins, int slice)
{
  int i = get_global_id(0);
  uint count[16];
  for (int b = 0; b < 16; b++) count[b] = 0;
  for (int k = 0; k < slice; k++) count[in[i * slice + k] >> 4]++;
  for (int b = 0; b < 16; b++) bins[i * 16 + b] = count[b];
}

/* A pass of a Fourier transform over pairs that are `stride` apart. */
kernel void butterfly(global const float2 *in, global float2 *out, int stride)
{
  int i = get_global_id(0), k = i % stride, at = 2 * (i - k) + k;
  float angle = -3.14159265f * k / stride;
  float c = cos(angle), s = sin(angle);
  float2 a = in[at], b = in[at + stride];
  float2 t = (float2)(b.x * c - b.y * s, b.x * s + b.y * c);
  out[at] = a + t;
  out[at + stride] = a - t;
}

/* The pull of all bodies on each. */
kernel void gravity(global const float4 *body, global float4 *out, int n)
{
  int i = get_global_id(0);
  float4 me = body[i];
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int j = 0; j < n; j++) {
    float4 other = body[j];
    float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    float r = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
    float f = other.w * r * r * r;
    ax += f * dx;
    ay += f * dy;
    az += f * dz;
  }
  out[i] = (float4)(ax, ay, az, me.w);
}

/* The length of the pattern's prefix that matches at each place of a text. */
kernel void match_bytes(global const uchar *text, global const uchar *pattern,
                        global uchar *out, int length)
{
  int i = get_global_id(0), count = 0;
  while (count < length && text[i + count] == pattern[count]) count++;
  out[i] = count;
}

kernel void complex_times(global const float2 *a, global const float2 *b,
                          global float2 *out)
{
  int i = get_global_id(0);
  float2 x = a[i], y = b[i];
  out[i] = (float2)(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}

/* A sum by groups of at most 256, which use barriers. */
kernel void sum_groups(global const int *in, global int *total)
{
  local int part[256];
  int i = get_local_id(0), n = get_local_size(0);
  part[i] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  while (n > 1) {
    int left = (n + 1) / 2;
    if (i < n / 2) part[i] += part[i + left];
    barrier(CLK_LOCAL_MEM_FENCE);
    n = left;
  }
  if (i == 0) atomic_add(total, part[0]);
}

/* The mean of 33 neighbours through local memory, groups of at most 4096. */
kernel void smooth_groups(global const float *in, global float *out)
{
  local float part[4096 + 32];
  int i = get_local_id(0), n = get_local_size(0);
  int first = get_group_id(0) * n;
  for (int k = i; k < n + 32; k += n) part[k] = in[first + k];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  for (int k = 0; k < 33; k++) sum += part[i + k];
  out[first + i] = sum / 33.0f;
}
