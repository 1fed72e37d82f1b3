/*
 * flow.c - blocks of a function, in reverse postorder.
 * SPDX-License-Identifier: MIT
 */
#include "chunk.h"

/* Computes the possible targets of an instruction; -1 if absent. */
static void targets(const proto *p, size_t pc, long to[2]) {
  uint32_t i = p->code[pc];
  long next = (long)pc + 1;
  to[0] = next;
  to[1] = -1;
  opcode op = GET_OP(i);
  if (op_is_test(op)) {
    to[0] = next + 1 + GET_SJ(p->code[pc + 1]);
    to[1] = next + 1;
  } else if (op == OP_JMP) {
    to[0] = next + GET_SJ(i);
  } else if (op == OP_LFALSESKIP) {
    to[0] = next + 1;
  } else if (op == OP_FORPREP) {
    to[1] = next + (long)GET_BX(i) + 1;
  } else if (op == OP_FORLOOP) {
    to[0] = next - (long)GET_BX(i);
    to[1] = next;
  } else if (op >= OP_TAILCALL && op <= OP_RETURN1) {
    to[0] = -1;
  }
}

static bool ends(opcode op) {
  return op_is_test(op) || op == OP_JMP || op == OP_LFALSESKIP ||
         op == OP_FORPREP || op == OP_FORLOOP ||
         (op >= OP_TAILCALL && op <= OP_RETURN1);
}

/* Returns the nearest block that dominates both (Cooper, Harvey, Kennedy). */
static int meet(const int *above, int a, int b) {
  while (a != b) {
    if (a > b) a = above[a];
    else b = above[b];
  }
  return a;
}

/* Numbers the blocks; a back edge to a block that does not dominate its source
   makes a loop with two entries.  Returns the first instruction of that block,
   or -1. */
static long number_blocks(arena *a, flow *f) {
  int n = f->count, top = 0, left = n;
  int *stack = arena_new(a, (size_t)n * 2 + 2, sizeof *stack);
  int *above = arena_new(a, (size_t)n + 1, sizeof *above);
  char *seen = arena_new(a, (size_t)n + 1, 1);
  f->order = arena_new(a, (size_t)n + 1, sizeof *f->order);
  if (stack == NULL || above == NULL || seen == NULL || f->order == NULL)
    return -1;
  stack[top++] = 0;
  seen[0] = 1;
  char *edge = arena_new(a, (size_t)n + 1, 1);
  if (edge == NULL) return -1;
  while (top > 0) {
    int b = stack[top - 1];
    /* The second successor first: then the body of a loop precedes the code
       that follows the loop. */
    int k = edge[b] < 2 ? f->blocks[b].next[1 - edge[b]] : -2;
    if (k == -2) {
      f->order[--left] = b;
      top--;
      continue;
    }
    edge[b]++;
    if (k >= 0 && !seen[k]) {
      seen[k] = 1;
      stack[top++] = k;
    }
  }
  f->reached = n - left;
  for (int i = 0; i < f->reached; i++) {
    f->order[i] = f->order[left + i];
    f->blocks[f->order[i]].order = i;
  }
  for (int i = 0; i < n; i++) above[i] = -1;
  above[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < f->reached; i++) {
      if (above[i] < 0) continue;
      for (int k = 0; k < 2; k++) {
        int to = f->blocks[f->order[i]].next[k];
        if (to < 0) continue;
        to = f->blocks[to].order;
        int now = above[to] < 0 ? i : meet(above, above[to], i);
        if (to != 0 && now != above[to]) {
          above[to] = now;
          changed = true;
        }
      }
    }
  }
  for (int i = 0; i < f->reached; i++)
    for (int k = 0; k < 2; k++) {
      int to = f->blocks[f->order[i]].next[k];
      if (to < 0 || f->blocks[to].order > i) continue;
      f->blocks[to].is_loop = true;
      int at = i, head = f->blocks[to].order;
      while (at > head) at = above[at];
      if (at != head) return (long)f->blocks[to].first;
    }
  return -1;
}

flow *flow_make(arena *a, const proto *p, long *irreducible) {
  size_t n = p->code_count;
  char *leads = arena_new(a, n + 2, 1);
  int *home = arena_new(a, n + 2, sizeof *home);
  flow *f = arena_new(a, 1, sizeof *f);
  *irreducible = -1;
  if (leads == NULL || home == NULL || f == NULL) return NULL;
  leads[0] = 1;
  for (size_t pc = 0; pc < n; pc++) {
    if (!ends(GET_OP(p->code[pc]))) continue;
    long to[2];
    targets(p, pc, to);
    leads[pc + 1] = 1;
    for (int k = 0; k < 2; k++)
      if (to[k] >= 0) leads[to[k]] = 1;
  }
  for (size_t pc = 0; pc < n; pc++) f->count += leads[pc];
  f->blocks = arena_new(a, (size_t)f->count, sizeof *f->blocks);
  if (f->blocks == NULL) return NULL;
  int at = -1;
  for (size_t pc = 0; pc < n; pc++) {
    if (leads[pc]) f->blocks[++at].first = (uint32_t)pc;
    f->blocks[at].end = (uint32_t)pc + 1;
    home[pc] = at;
  }
  for (int b = 0; b < f->count; b++) {
    long to[2];
    targets(p, f->blocks[b].end - 1, to);
    for (int k = 0; k < 2; k++)
      f->blocks[b].next[k] = to[k] < 0 || to[k] >= (long)n ? -1 : home[to[k]];
    f->blocks[b].order = -1;
  }
  *irreducible = number_blocks(a, f);
  return a->failed ? NULL : f;
}
