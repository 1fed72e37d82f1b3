/*
 * lze_group_rule.h - the rule that chooses group sizes.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_GROUP_RULE_H
#define LZE_GROUP_RULE_H

#include "run/lze_group.h"

/* What the rule goes by. */
typedef struct lze_Rule {
  const lze_GroupInput *in;
  uint32_t n[3];       /* the range */
  uint32_t most;       /* work-items in a group */
  uint32_t size[3];    /* a group's size in each dimension, at most */
  uint32_t count[3];   /* groups in each dimension, at most */
  uint32_t lanes;      /* work-items of one vector or sub-group */
  double units;        /* what works at the same time */
  bool heavy;          /* work-items take long, or may */
  uint32_t beside[3];  /* the kernel's; along x if nothing is known */
  uint32_t target[3];  /* of a CPU */
  double alone;        /* part of all accesses that no neighbours share */
  double resident;     /* work-items that a core of a GPU keeps going */
} lze_Rule;

static inline uint32_t lze_least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}
/* Returns how many groups of g cover n work-items. */
static inline uint32_t lze_groups_of(uint32_t n, uint32_t g) {
  return n / g + (n % g != 0);
}
/* Returns the limit, or the largest number if it is 0, which is unknown. */
static inline uint32_t lze_limit(uint32_t n) {
  return n == 0 ? UINT32_MAX : n;
}

/* Reads the input, whose range and offset are possible. */
void lze_rule_init(lze_Rule *r, const lze_GroupInput *in);
/* Returns the dimension along which most accesses lie side by side; x if
   nothing is known. */
int lze_rule_fast(const lze_Rule *r);
/* Lists at most `most` sizes, the best first, then the best of each octave of
   sizes in all and along x.  Returns how many; 0 if no size is legal. */
int lze_rule_sizes(lze_Rule *r, uint32_t (*sizes)[3], int most);
/* Returns true if a CPU takes the whole range in the guarded form sooner than
   it takes the launch of an edge. */
bool lze_rule_is_small(const lze_Rule *r);
/* Returns the largest divisor of n that is at most `most`. */
uint32_t lze_largest_divisor(uint32_t n, uint32_t most);

#endif
