/*
 * matmul.cl - the product of two matrices in single precision.
 * SPDX-License-Identifier: MIT
 *
 * c = a * b, where a has `rows` rows of `inner` elements, b `inner` rows of
 * `columns` and c `rows` rows of `columns`, each row after the other.
 */

/*
 * Runs over {columns, rows}: a work-item for each element of c, in groups of
 * any size, since it uses the global id alone.  It reads every element of a
 * and b from memory as often as it needs it.
 */
kernel void matmul(global const float *a, global const float *b,
                   global float *c, uint columns, uint inner)
{
  size_t x = get_global_id(0), y = get_global_id(1);

  float sum = 0;
  for (uint i = 0; i < inner; i++)
    sum += a[y * inner + i] * b[(size_t)i * columns + x];
  c[y * columns + x] = sum;
}

#define TILE 16

/*
 * The same in groups of TILE x TILE, over {columns, rows} rounded up to whole
 * groups; the matrices can have any size.  A group goes along a row of tiles
 * of a and a column of tiles of b, and copies each tile to local memory once:
 * a sixteenth of the reads from memory.  Elements outside count as 0.
 */
kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul_tiled(global const float *a, global const float *b,
                  global float *c, uint rows, uint columns, uint inner)
{
  local float a_tile[TILE][TILE], b_tile[TILE][TILE];
  size_t x = get_global_id(0), y = get_global_id(1);
  uint tx = (uint)get_local_id(0), ty = (uint)get_local_id(1);

  float sum = 0;
  for (size_t i = 0; i < inner; i += TILE) {
    a_tile[ty][tx] = y < rows && i + tx < inner ? a[y * inner + i + tx] : 0;
    b_tile[ty][tx] = x < columns && i + ty < inner
                       ? b[(i + ty) * columns + x] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < TILE; k++)
      sum += a_tile[ty][k] * b_tile[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (x < columns && y < rows)
    c[y * columns + x] = sum;
}
