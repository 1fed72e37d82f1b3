/*
 * ranges_matrix.cl - benchmark kernels over matrices.
 * SPDX-License-Identifier: MIT
 *
 * All except the last one, which has barriers, use only the global id.  A
 * matrix is rows of `columns` elements with nothing between them.
 */
#pragma OPENCL FP_CONTRACT OFF

kernel void transposed(global const float *in, global float *out, int rows,
                       int columns)
{
  int x = get_global_id(0), y = get_global_id(1);
  out[x * rows + y] = in[y * columns + x];
}

/* A step of elimination by row `pivot`. */
kernel void gaussian(global const float *in, global const float *factor,
                     global float *out, int columns, int pivot)
{
  int x = get_global_id(0), y = get_global_id(1);
  out[y * columns + x] = in[y * columns + x] -
                         factor[y] * in[pivot * columns + x];
}

/* A x, one element per row. */
kernel void rows_times(global const float *a, global const float *x,
                       global float *y, int columns)
{
  int row = get_global_id(0);
  float sum = 0.0f;
  for (int i = 0; i < columns; i++) sum += a[row * columns + i] * x[i];
  y[row] = sum;
}

/* A transposed times x, one element per column. */
kernel void columns_times(global const float *a, global const float *x,
                          global float *y, int rows, int columns)
{
  int column = get_global_id(0);
  float sum = 0.0f;
  for (int i = 0; i < rows; i++) sum += a[i * columns + column] * x[i];
  y[column] = sum;
}

/* A plus two outer products. */
kernel void gemver(global const double *a, global const double *u1,
                   global const double *v1, global const double *u2,
                   global const double *v2, global double *out, int columns)
{
  int x = get_global_id(0), y = get_global_id(1);
  out[y * columns + x] = a[y * columns + x] + u1[y] * v1[x] + u2[y] * v2[x];
}

/* The correlation of columns x and y of `samples` rows. */
kernel void correlation(global const float *data, global float *out,
                        int samples, int columns)
{
  int x = get_global_id(0), y = get_global_id(1);
  float both = 0.0f, one = 0.0f, other = 0.0f;
  for (int i = 0; i < samples; i++) {
    float a = data[i * columns + x], b = data[i * columns + y];
    both += a * b;
    one += a * a;
    other += b * b;
  }
  out[y * columns + x] = both / sqrt(one * other + 1.0f);
}

/* A step of the shortest paths between all places, through place k. */
kernel void floyd(global int *way, int n, int k)
{
  int x = get_global_id(0), y = get_global_id(1);
  way[y * n + x] = min(way[y * n + x], way[y * n + k] + way[k * n + x]);
}

/* Each column from above: a recurrence. */
kernel void sweep_columns(global const float *in, global float *out, int rows,
                          int columns)
{
  int x = get_global_id(0);
  float v = 0.0f;
  for (int y = 0; y < rows; y++) {
    v = 0.25f * v + in[y * columns + x];
    out[y * columns + x] = v;
  }
}

/* The same for each row, from the left. */
kernel void sweep_rows(global const float *in, global float *out, int columns)
{
  int y = get_global_id(0);
  float v = 0.0f;
  for (int x = 0; x < columns; x++) {
    v = 0.25f * v + in[y * columns + x];
    out[y * columns + x] = v;
  }
}

/* A layer of neurons, with the weights of one input per row. */
kernel void layer(global const float *in, global const float *weight,
                  global float *out, int inputs, int outputs)
{
  int j = get_global_id(0);
  float sum = 0.0f;
  for (int i = 0; i < inputs; i++) sum += in[i] * weight[i * outputs + j];
  out[j] = 1.0f / (1.0f + exp(-sum));
}

/* A transposition by tiles, whose groups are at most 16x16. */
kernel void transposed_tiles(global const float *in, global float *out,
                             int rows, int columns)
{
  local float tile[16][17];
  int x = get_local_id(0), y = get_local_id(1);
  int from_x = get_group_id(0) * get_local_size(0);
  int from_y = get_group_id(1) * get_local_size(1);
  tile[y][x] = in[(from_y + y) * columns + from_x + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  int i = y * get_local_size(0) + x;
  int row = i % get_local_size(1), column = i / get_local_size(1);
  out[(from_x + column) * rows + from_y + row] = tile[row][column];
}
