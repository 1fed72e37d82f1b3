/*
 * importer.cl - needs a function and a variable of another module.
 * SPDX-License-Identifier: MIT
 */

struct pair {
  int a, b;
};

extern global int shared_count;
int combine(int a, int b);
int sum_pair(global struct pair *p);
int twice(int a);

kernel void use(global int *out, global struct pair *p)
{
  size_t i = get_global_id(0);
  out[i] = combine((int)i, shared_count) + sum_pair(p);
}

int from_importer(int a)
{
  return twice(a) + 1000;
}
