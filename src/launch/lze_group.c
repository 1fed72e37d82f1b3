/*
 * lze_group.c - group sizes, and the launches that cover a range.
 * SPDX-License-Identifier: MIT
 */
#include "launch/lze_group_rule.h"
#include "spirv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns why the groups of a kernel must divide its range. */
static const char *why_whole(const lze_GroupInput *in) {
  if (in->features & SPIRV_USES_BARRIER) return "the kernel has barriers";
  if (in->features & SPIRV_USES_LOCAL) return "the kernel uses local memory";
  if (in->features & SPIRV_USES_GROUP_OPS)
    return "the kernel has operations of whole groups";
  if (in->features & SPIRV_USES_SUBGROUP_OPS ||
      in->builtins & SPIRV_BUILTIN_SUBGROUP)
    return "the kernel uses sub-groups";
  if (in->features & SPIRV_USES_UNKNOWN_CALL)
    return "the kernel calls what its module does not hold";
  if (in->builtins & (SPIRV_BUILTIN_GLOBAL_SIZE | SPIRV_BUILTIN_GLOBAL_OFFSET |
                      SPIRV_BUILTIN_GLOBAL_LINEAR_ID))
    return "the kernel reads the range itself";
  if (in->builtins & ~(uint32_t)SPIRV_BUILTIN_GLOBAL_ID)
    return "the kernel reads its place in the group";
  return "lze cannot write a guarded form of it";
}

/* --- words -------------------------------------------------------------- */

typedef struct Words {
  char *at;
  size_t left;
} Words;

static void add(Words *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(Words *w, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  int n = vsnprintf(w->at, w->left, format, ap);
  va_end(ap);
  size_t used = n < 0 ? 0 : (size_t)n;
  if (used >= w->left) used = w->left - 1;
  w->at += used;
  w->left -= used;
}

/* Adds a size such as "128x8", with `dims` dimensions. */
static void add_size(Words *w, int dims, const uint32_t g[3]) {
  for (int d = 0; d < dims; d++)
    add(w, d == 0 ? "%lu" : "x%lu", (unsigned long)g[d]);
}

static const char axis[] = "xyz";

/* Explains a choice: "128x8 of 1920x1080: WHOSE, 15x135 groups for 4 cores;
   ..." */
static void explain(const lze_Rule *r, const lze_GroupChoice *out, Words *w,
                    const char *whose) {
  const lze_GroupInput *in = r->in;
  const uint32_t *g = out->parts[0].group;
  double groups = 1;
  const int fast = lze_rule_fast(r);
  for (int d = 0; d < 3; d++) groups *= lze_groups_of(r->n[d], g[d]);
  add_size(w, in->dims, g);
  add(w, " of ");
  add_size(w, in->dims, r->n);
  add(w, ": ");
  if (whose != NULL)
    add(w, "%s", whose);
  else if (groups == 1)
    add(w, "all of it in one group");
  else if (g[0] == 1 && g[1] == 1 && g[2] == 1 && !in->guards)
    add(w, "no better size up to %lu divides it", (unsigned long)r->most);
  else
    add(w, "%.0f groups for %.0f %s", groups, r->units,
        in->software ? "cores" : "execution units");
  if (!in->guards && whose == NULL)
    add(w, "; it must divide the range because %s", why_whole(in));
  else if (out->count > out->whole && out->whole > 0)
    add(w, "; %d more launch%s for the edge%s", out->count - 1,
        out->count == 2 ? "" : "es", out->count == 2 ? "" : "s");
  else if (out->count > out->whole)
    add(w, "; guarded at the end of the range");
  if (whose == NULL && groups > 1 && fast != 0)
    add(w, "; its accesses run along %c", axis[fast]);
}

/* --- the choice --------------------------------------------------------- */

/* Covers the range with groups of size g: with whole groups and, along each
   dimension that g does not divide, a guarded edge one group wide.  If there
   are edges, a GPU runs the whole range in one guarded launch.  A CPU also does
   so if that takes less time than another launch, or if the driver lacks
   offsets and the range has one. */
static void cover(const lze_Rule *r, const uint32_t g[3],
                  lze_GroupChoice *out) {
  const lze_GroupInput *in = r->in;
  lze_GroupPart all, whole;
  bool divides = true, body = true, offset = false;
  for (int d = 0; d < 3; d++) {
    all.group[d] = g[d];
    all.first[d] = in->offset[d];
    all.count[d] = lze_groups_of(r->n[d], g[d]);
    whole.count[d] = r->n[d] / g[d];
    divides = divides && whole.count[d] == all.count[d];
    body = body && whole.count[d] > 0;
    offset = offset || in->offset[d] != 0;
  }
  bool edges = in->software && !lze_rule_is_small(r);
  body = body && (in->offsets || !offset) && (edges || divides);
  out->whole = body;
  out->count = 0;
  if (!body) {
    out->parts[out->count++] = all;
    return;
  }
  memcpy(all.count, whole.count, sizeof all.count);
  whole = all;
  out->parts[out->count++] = whole;
  for (int d = 0; d < 3; d++) {
    if (r->n[d] % g[d] == 0) continue;
    lze_GroupPart edge = whole;
    edge.count[d] = 1;
    edge.first[d] += (uint64_t)whole.count[d] * g[d];
    for (int e = d + 1; e < 3; e++)
      edge.count[e] = lze_groups_of(r->n[e], g[e]);
    out->parts[out->count++] = edge;
  }
}

/* Uses the group that a user, a kernel or a policy specifies, if it is
   legal. */
static bool take_size(const lze_Rule *r, const uint32_t g[3], const char *whose,
                      lze_GroupChoice *out) {
  Words w = {out->why, sizeof out->why};
  uint64_t items = 1;
  bool divides = true;
  for (int d = 0; d < 3; d++) {
    items *= g[d]; /* at most 2^32 times 2^32 before it is refused */
    if (g[d] > r->size[d]) {
      add(&w, "%s %lu is more than the %lu a group may have along %c", whose,
          (unsigned long)g[d], (unsigned long)r->size[d], axis[d]);
      return false;
    }
    if (items > r->most) {
      add(&w, "%s ", whose);
      add_size(&w, 3, g);
      add(&w, " is more than the %lu work-items a group of it may have",
          (unsigned long)r->most);
      return false;
    }
    divides = divides && r->n[d] % g[d] == 0;
    if (lze_groups_of(r->n[d], g[d]) <= r->count[d]) continue;
    add(&w, "%s %lu would need more than the %lu groups there may be along %c",
        whose, (unsigned long)g[d], (unsigned long)r->count[d], axis[d]);
    return false;
  }
  if (!divides && !r->in->guards) {
    add(&w, "%s ", whose);
    add_size(&w, r->in->dims, g);
    for (int d = r->in->dims; d < 3; d++)
      if (g[d] != 1) add(&w, "x%lu", (unsigned long)g[d]);
    add(&w, " does not divide the range ");
    add_size(&w, r->in->dims, r->n);
    add(&w, ", which it must because %s", why_whole(r->in));
    return false;
  }
  cover(r, g, out);
  explain(r, out, &w, whose);
  return true;
}

/* Returns TornadoVM's size along one dimension: the largest divisor, but never
   the limit itself if the limit is the whole range. */
static uint32_t tornado_size(uint32_t n, uint32_t most) {
  if (most == n) most /= 4;
  return lze_largest_divisor(n, lze_least(n, most > 0 ? most : 1));
}

/* Sets g to the size of a policy other than lze's own; returns its
   description. */
static const char *policy_size(const lze_Rule *r, uint32_t g[3]) {
  const lze_GroupInput *in = r->in;
  uint32_t left = r->most;
  g[0] = g[1] = g[2] = 1;
  switch (in->policy) {
    case LZE_POLICY_DRIVER:
    case LZE_POLICY_TUNED:
      for (int d = 0; d < 3; d++)
        if (in->suggested[d] != 0) g[d] = in->suggested[d];
      return in->policy == LZE_POLICY_DRIVER ? "the driver's suggestion"
                                             : "measured by lze.tune";
    case LZE_POLICY_LARGEST:
      for (int d = 0; d < 3; d++) {
        g[d] = lze_largest_divisor(r->n[d], lze_least(left, r->size[d]));
        left /= g[d];
      }
      return "the largest that divides it";
    default:
      if (in->dims > 1) left = (uint32_t)sqrt((double)left);
      for (int d = 0; d < in->dims && d < 2; d++)
        g[d] = tornado_size(r->n[d], lze_least(left, r->size[d]));
      return "TornadoVM's rule";
  }
}

/* Computes the group that the kernel's local arrays imply: a kernel that never
   queries its group size was written for exactly as many work-items as the
   arrays hold.  Returns true if the kernel has such a group. */
static bool fixed_size(const lze_Rule *r, uint32_t g[3]) {
  const lze_GroupInput *in = r->in;
  const uint32_t asks = SPIRV_BUILTIN_GROUP_SIZE |
                        SPIRV_BUILTIN_ENQUEUED_GROUP_SIZE |
                        SPIRV_BUILTIN_NUM_GROUPS | SPIRV_BUILTIN_OTHER;
  bool any = false;
  for (int d = 0; d < 3; d++) {
    g[d] = in->local_fit[d] == 0 ? 1 : in->local_fit[d];
    any = any || in->local_fit[d] != 0;
  }
  return any && !(in->builtins & asks) &&
         !(in->features & SPIRV_USES_UNKNOWN_CALL);
}

/* Returns true if the range and its offset are valid; otherwise explains the
   error. */
static bool check_range(const lze_GroupInput *in, Words *w) {
  const bool offsets = in->offsets || in->guards;
  for (int d = 0; d < 3; d++) {
    if (in->global[d] == 0 || in->global[d] > UINT32_MAX) {
      add(w, "a range of %llu along %c is not in 1 .. 2^32-1",
          (unsigned long long)in->global[d], axis[d]);
      return false;
    }
    if (in->offset[d] > UINT32_MAX || (in->offset[d] != 0 && !offsets)) {
      add(w, offsets ? "an offset of %llu along %c is over 2^32-1"
                     : "the driver has no global offsets, and %llu is asked "
                       "for along %c",
          (unsigned long long)in->offset[d], axis[d]);
      return false;
    }
  }
  return true;
}

/* Limits sizes that were not given by hand to what the local arrays hold. */
static void rule_fit(lze_Rule *r) {
  for (int d = 0; d < 3; d++)
    r->size[d] = lze_least(r->size[d], lze_limit(r->in->local_fit[d]));
  r->most = lze_least(r->most, lze_limit(r->in->local_items));
}

static bool take_best(lze_Rule *r, const char *instead, lze_GroupChoice *out) {
  Words w = {out->why, sizeof out->why};
  uint32_t g[1][3];
  if (lze_rule_sizes(r, g, 1) == 0) {
    add(&w, "no group of at most %lu work-items cuts the range ",
        (unsigned long)r->most);
    add_size(&w, r->in->dims, r->n);
    add(&w, " into few enough groups (%lux%lux%lu)",
        (unsigned long)r->count[0], (unsigned long)r->count[1],
        (unsigned long)r->count[2]);
    return false;
  }
  cover(r, g[0], out);
  if (instead != NULL) add(&w, "%s does not fit; ", instead);
  explain(r, out, &w, NULL);
  return true;
}

bool lze_group_choose(const lze_GroupInput *in, lze_GroupChoice *out) {
  lze_Rule r;
  Words w = {out->why, sizeof out->why};
  uint32_t g[3];
  out->count = out->whole = 0;
  if (!check_range(in, &w)) return false;
  lze_rule_init(&r, in);
  if (in->required[0] != 0 || in->given[0] != 0) {
    for (int d = 0; d < 3; d++) {
      uint32_t required = in->required[d] == 0 ? 1 : in->required[d];
      uint32_t given = in->given[d] == 0 ? 1 : in->given[d];
      g[d] = in->required[0] != 0 ? required : given;
      if (in->given[0] != 0 && given != g[d]) {
        add(&w, "%s ", in->given_by);
        add_size(&w, in->dims, in->given);
        add(&w, " is not the %lux%lux%lu the kernel requires",
            (unsigned long)in->required[0], (unsigned long)in->required[1],
            (unsigned long)in->required[2]);
        return false;
      }
    }
    return take_size(&r, g, in->required[0] != 0 ? "the required group"
                                                 : in->given_by, out);
  }
  rule_fit(&r);
  const char *whose = NULL;
  bool own = in->policy == LZE_POLICY_LZE ||
             (in->policy == LZE_POLICY_TUNED && in->suggested[0] == 0);
  if (!own)
    whose = policy_size(&r, g);
  else if (fixed_size(&r, g))
    whose = "what its local memory has places for";
  /* The size of another rule may not fit, but the range must still run. */
  if (whose != NULL && take_size(&r, g, whose, out)) return true;
  return take_best(&r, whose, out);
}

int lze_group_candidates(const lze_GroupInput *in, uint32_t (*sizes)[3],
                         int most) {
  lze_GroupInput plain = *in;
  lze_GroupChoice first;
  lze_Rule r;
  uint32_t fixed[3];
  plain.policy = LZE_POLICY_LZE;
  memset(plain.given, 0, sizeof plain.given);
  if (most < 1 || !lze_group_choose(&plain, &first)) return 0;
  memcpy(sizes[0], first.parts[0].group, sizeof sizes[0]);
  lze_rule_init(&r, &plain);
  if (in->required[0] != 0 ||
      (fixed_size(&r, fixed) && memcmp(fixed, sizes[0], sizeof fixed) == 0))
    return 1;
  rule_fit(&r);
  return lze_rule_sizes(&r, sizes, most);
}
