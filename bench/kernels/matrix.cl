/*
 * matrix.cl - benchmark kernels over matrices.
 * SPDX-License-Identifier: MIT
 *
 * A matrix is its rows one after the other.  Single precision products are in
 * kernels/matmul.cl.
 */
#pragma OPENCL FP_CONTRACT OFF

/* y = a x, over the rows. */
kernel void sgemv(global const float *a, global const float *x,
                  global float *y, uint columns)
{
  size_t row = get_global_id(0);

  a += row * columns;
  float sum = 0;
  for (uint i = 0; i < columns; i++)
    sum += a[i] * x[i];
  y[row] = sum;
}

/* The same for a sparse matrix: row r has the elements value[first[r] ..
   first[r + 1] - 1], in the columns of the same places of `column`. */
kernel void spmv(global const uint *first, global const uint *column,
                 global const float *value, global const float *x,
                 global float *y)
{
  size_t row = get_global_id(0);
  float sum = 0;

  for (uint i = first[row]; i < first[row + 1]; i++)
    sum += value[i] * x[column[i]];
  y[row] = sum;
}

/* out[x][y] = in[y][x], over {width, height}. */
kernel void transpose(global const float *in, global float *out, uint width,
                      uint height)
{
  size_t x = get_global_id(0), y = get_global_id(1);
  out[x * height + y] = in[y * width + x];
}

#define TILE 16

/* The same by tiles, over {width, height} rounded up to whole ones. */
kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void transpose_tiled(global const float *in, global float *out, uint width,
                     uint height)
{
  local float tile[TILE][TILE + 1];
  size_t tx = get_local_id(0), ty = get_local_id(1);
  size_t x0 = get_group_id(0) * TILE, y0 = get_group_id(1) * TILE;

  if (x0 + tx < width && y0 + ty < height)
    tile[ty][tx] = in[(y0 + ty) * width + x0 + tx];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x0 + ty < width && y0 + tx < height)
    out[(x0 + ty) * height + y0 + tx] = tile[tx][ty];
}
