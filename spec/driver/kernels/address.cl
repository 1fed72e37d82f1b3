/*
 * address.cl - variables of its own and one of exporter.cl, with its address.
 * SPDX-License-Identifier: MIT
 */

extern global int shared_count;
global int own = 5;
global int *global where = &shared_count;

kernel void add(global int *out)
{
  out[0] = own + *where;
}
