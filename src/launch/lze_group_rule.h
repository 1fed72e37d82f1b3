/*
 * lze_group_rule.h - the rule that chooses group sizes.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_GROUP_RULE_H
#define LZE_GROUP_RULE_H

#include "launch/lze_group.h"

/* The data that the rule uses. */
typedef struct lze_Rule {
  const lze_GroupInput *in;
  uint32_t n[3];       /* the range */
  uint32_t most;       /* maximum work-items in a group */
  uint32_t size[3];    /* maximum size of a group in each dimension */
  uint32_t count[3];   /* maximum number of groups in each dimension */
  uint32_t lanes;      /* work-items of one vector or sub-group */
  double units;        /* units that work at the same time */
  bool heavy;          /* work-items take long, or may do so */
  uint32_t beside[3];  /* as for the kernel; along x if unknown */
  uint32_t target[3];  /* for a CPU */
  double alone;        /* fraction of accesses that neighbours do not share */
  double resident;     /* work-items that a GPU core keeps active */
} lze_Rule;

static inline uint32_t lze_least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}
/* Returns how many groups of size g cover n work-items. */
static inline uint32_t lze_groups_of(uint32_t n, uint32_t g) {
  return n / g + (n % g != 0);
}
/* Returns the limit; the largest number if it is 0, which means unknown. */
static inline uint32_t lze_limit(uint32_t n) {
  return n == 0 ? UINT32_MAX : n;
}

/* Initialises the rule from an input with a valid range and offset. */
void lze_rule_init(lze_Rule *r, const lze_GroupInput *in);
/* Returns the dimension along which most accesses are adjacent; x if
   unknown. */
int lze_rule_fast(const lze_Rule *r);
/* Lists at most `most` sizes: the best first, then the best of each octave of
   sizes, in total and along x.  Returns their number; 0 if no size is legal. */
int lze_rule_sizes(lze_Rule *r, uint32_t (*sizes)[3], int most);
/* Returns true if a CPU runs the whole range in the guarded form in less time
   than the launch of an edge takes. */
bool lze_rule_is_small(const lze_Rule *r);
/* Returns the largest divisor of n that is at most `most`. */
uint32_t lze_largest_divisor(uint32_t n, uint32_t most);

#endif
