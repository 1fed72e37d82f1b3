/*
 * exporter.cl - what importer.cl needs, and something of that in return.
 * SPDX-License-Identifier: MIT
 */

struct pair {
  int a, b;
};

global int shared_count = 7;
static global int calls;
constant int weights[2] = {3, 5};

int from_importer(int a);

int combine(int a, int b)
{
  atomic_inc(&calls);
  return weights[0] * a + weights[1] * b + (int)get_local_size(0) * 100000;
}

int sum_pair(global struct pair *p)
{
  return p->a + p->b;
}

kernel void bump(int by)
{
  shared_count += by;
}

kernel void back(global int *out)
{
  out[0] = from_importer(4);
  out[1] = calls;
}
