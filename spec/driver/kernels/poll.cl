/*
 * poll.cl - kernels that wait for memory, and that follow pointers in it.
 * SPDX-License-Identifier: MIT
 *
 * poll.spv is made of it with the compiler line of kernels/rules.mk.
 */

/* Reports in *out that it runs, waits until *flag is not 0, and copies that. */
kernel void poll(global volatile uint *flag, global volatile uint *out)
{
  *out = ~0u;
  while (*flag == 0) {}
  *out = *flag;
}

struct node {
  global struct node *next;
  uint value;
};

/* The sum of a list. */
kernel void follow(global struct node *first, global uint *out)
{
  uint sum = 0;
  for (global struct node *n = first; n != 0; n = n->next) sum += n->value;
  *out = sum;
}
