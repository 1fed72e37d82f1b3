/*
 * relay.cl - needs helper.cl and is needed by caller.cl.
 * SPDX-License-Identifier: MIT
 */

int twice(int a);

int relay(int a)
{
  return twice(a) + 100;
}
