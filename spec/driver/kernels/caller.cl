/*
 * caller.cl - needs relay.cl, and has no variables.
 * SPDX-License-Identifier: MIT
 */

int relay(int a);

kernel void call(global int *out)
{
  out[0] = relay(5);
}
