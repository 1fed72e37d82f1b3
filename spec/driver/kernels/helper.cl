/*
 * helper.cl - a module without kernels, for importer.cl.
 * SPDX-License-Identifier: MIT
 */

int twice(int a)
{
  return 2 * a;
}
