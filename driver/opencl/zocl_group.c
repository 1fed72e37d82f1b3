/*
 * zocl_group.c - the group size that PoCL would choose.
 * SPDX-License-Identifier: MIT
 */
#include "opencl/zocl_lane.h"

/* PoCL's rule for group sizes (pocl_local_size.c, unchanged from 3.1 to 6.0).
   Its inputs are the range, the largest allowed group, and the smallest group
   that PoCL considers efficient. */
typedef struct chooser {
  uint64_t global[3], local[3], grain[3];
  uint64_t max_group, min_group;
  uint64_t units;
} chooser;

/* The rule reduces the z dimension first and x last. */
static const int chooser_order[3] = {2, 1, 0};

static uint64_t gcd(uint64_t a, uint64_t b)
{
  while (a != 0) {
    uint64_t rest = b % a;
    b = a;
    a = rest;
  }
  return b;
}

/* Returns the largest divisor of n that is at most `limit`. */
static uint64_t divisor_below(uint64_t n, uint64_t limit)
{
  uint64_t best = 1;
  if (limit >= n) return n;
  for (uint64_t small = 1; small * small <= n; small++)
    if (n % small == 0) {
      if (small <= limit && small > best) best = small;
      if (n / small <= limit && n / small > best) best = n / small;
    }
  return best;
}

static uint64_t chooser_group(const chooser *c)
{
  return c->local[0] * c->local[1] * c->local[2];
}

/* Divides one dimension by a factor, if the result is still a multiple of the
   grain and divides the range. */
static bool chooser_divide(chooser *c, uint64_t factor)
{
  for (int i = 0; i < 3; i++) {
    int d = chooser_order[i];
    uint64_t part = c->local[d] / factor;
    if (c->local[d] % factor != 0 || part == 0) continue;
    if (part % c->grain[d] != 0 || c->global[d] % part != 0) continue;
    c->local[d] = part;
    return true;
  }
  return false;
}

/* Shrinks the group until it is allowed: by halves, else by setting the
   dimension with the smallest grain to 1, else any dimension. */
static void chooser_fit(chooser *c)
{
  while (chooser_group(c) > c->max_group) {
    if (chooser_divide(c, 2)) continue;
    int victim = -1;
    for (int i = 0; i < 3 && victim < 0; i++) {
      int d = chooser_order[i];
      if (c->local[d] > 1 && c->grain[d] <= c->grain[(d + 1) % 3] &&
          c->grain[d] <= c->grain[(d + 2) % 3])
        victim = d;
    }
    for (int i = 0; i < 3 && victim < 0; i++)
      if (c->local[chooser_order[i]] > 1) victim = chooser_order[i];
    c->local[victim] = 1;
  }
}

/* Shrinks the group further until each compute unit has a group, unless the
   groups would become inefficiently small. */
static void chooser_spread(chooser *c)
{
  for (;;) {
    uint64_t groups = 1, parts;
    for (int d = 0; d < 3; d++) groups *= c->global[d] / c->local[d];
    parts = c->units / groups;
    if (parts <= 1 || chooser_group(c) < parts * c->min_group) return;
    while (parts > 1 && !chooser_divide(c, parts)) parts--;
    if (parts > 1) continue;
    int victim = -1;
    for (int i = 0; i < 3 && victim < 0; i++) {
      int d = chooser_order[i], e = (d + 1) % 3, f = (d + 2) % 3;
      if (c->local[d] > 1 && c->local[d] <= c->local[e] &&
          c->local[d] <= c->local[f] &&
          c->local[e] * c->local[f] >= c->min_group)
        victim = d;
    }
    if (victim < 0) return;
    c->local[victim] = 1;
  }
}

/* Suggests the size that PoCL would choose; for another OpenCL it is at least a
   valid choice. */
void zocl_kernel_group(const zocl_device *device, backend_kernel *kernel,
                       uint32_t max_group, const uint32_t range[3],
                       uint32_t group[3])
{
  uint64_t multiple = 1, unused = 0;
  zocl_kernel_facts(device, kernel, &unused, &multiple);
  if (multiple == 0) multiple = 1;
  chooser c = {.global = {range[0], range[1], range[2]},
               .max_group = max_group,
               .units = device->units};
  c.min_group = 4 * multiple < c.max_group ? 4 * multiple : c.max_group;
  for (int d = 0; d < 3; d++) {
    uint64_t most = device->max_size[d] < c.global[d] ? device->max_size[d]
                                                      : c.global[d];
    c.grain[d] = gcd(multiple, c.global[d]);
    c.local[d] = c.grain[d] * divisor_below(c.global[d] / c.grain[d],
                                            most / c.grain[d]);
  }
  chooser_fit(&c);
  chooser_spread(&c);
  for (int d = 0; d < 3; d++) group[d] = (uint32_t)c.local[d];
}
