/*
 * lze_group.c - group sizes, and the launches that cover a range.
 * SPDX-License-Identifier: MIT
 *
 * A kernel that has a guarded entry point takes any group for any range: its
 * sizes are powers of two.  Any other kernel takes sizes that divide the range.
 * On a CPU the rule sets a target by what the kernel does and by the kind of the
 * range, so that one size serves many ranges, and takes the sizes next to it.
 * On a GPU, where another size costs no compilation, a small model of what costs
 * time judges each combination of sizes.  Nothing is measured and no kernel is
 * known by name.
 */
#include "run/lze_group.h"
#include "base/lze_state.h"
#include "spirv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* On a CPU a group costs a call and the set-up of its loop, about 6 ns, and so
   does each of its rows in part.  256 light work-items, of a few accesses and
   steps each, take ten times as long; heavy ones, with loops or long maths, do
   so from 64 on.  Larger groups gain nothing, leave larger edges, and spread
   worse over the cores; but in three dimensions light ones share planes in the
   cache.  (bench/RESULTS.md, "Group sizes") */
enum { LIGHT_GROUP = 256, HEAVY_GROUP = 64, SPACE_GROUP = 1024 };
/* Rows become vectors; compilers make 4 vectors of 8 floats at a time.  Light
   ones of 128 are faster, as they stream; but the range must have longer rows
   in three dimensions, or too much of it is edge. */
enum { VECTOR_ROW = 32, STREAM_ROW = 128, LONG_ROW = 100, SHORT_ROW = 8 };
/* A cache line of floats, which loops use whole if so many work-items are side
   by side; and the ways of a first-level cache, which keep the lines of so many
   rows of a transposed array, even if rows are pages apart. */
enum { LINE_FLOATS = 16, CACHE_WAYS = 8 };
/* On a CPU a barrier keeps every work-item's values in memory for the next,
   except in groups of one vector, which stay in registers. */
enum { BARRIER_GROUP = 8 };
/* But a group that works on a tile in local memory, or empties local memory,
   is faster the larger it is. */
enum { TILE_GROUP = 1024 };
/* A GPU starts a group in the time that it streams 256 light work-items; a core
   keeps up to 2048 work-items going, in up to 16 groups.  A group that shares
   local memory does as much once as 16 steps. */
static const double GPU_START = 256, GPU_RESIDENT = 2048, GPU_GROUPS = 16;
static const double GPU_SHARED = 16;
/* As many light work-items take less time in the guarded form on a CPU than the
   launch of an edge; a range of as many or fewer has no kind of its own.  If it
   has 16 times as many, its rows may have a size of their own, too. */
enum { SMALL = 65536, BIG = 16 * SMALL };
/* A heavy work-item counts as so many light ones; and a shorter row must leave
   so many times less of the range to its edges. */
static const double HEAVY = 30, WORTH = 1.1;

enum {
  MOST_SEARCHED = 4096, /* the largest size that a search tries */
  MOST_SIZES = 40       /* of a dimension: three of each octave */
};

typedef struct Sizes {
  int n;
  uint32_t sizes[MOST_SIZES];
} Sizes;

typedef struct Rule {
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
} Rule;

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static double range_items(const Rule *r) {
  return (double)r->n[0] * r->n[1] * r->n[2];
}
/* Returns the work of a range, in light work-items. */
static double range_work(const Rule *r) {
  return range_items(r) * (r->heavy ? HEAVY : 1);
}
static uint32_t groups_of(uint32_t n, uint32_t g) { return n / g + (n % g != 0); }

/* The largest divisor of n that is at most `most`, in at most 2^16 steps. */
static uint32_t largest_divisor(uint32_t n, uint32_t most) {
  if (most >= n) return n;
  if (most <= 65536) {
    while (n % most != 0) most--;
    return most;
  }
  /* Above the square root divisors are found by their counterpart. */
  uint32_t k = groups_of(n, most);
  while (k < 65536 && n % k != 0) k++;
  return n % k == 0 ? n / k : largest_divisor(n, 65536);
}

/* Why a kernel must have groups that divide its range. */
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

/* --- CPUs ---------------------------------------------------------------- */

/* Returns the dimension along which most accesses lie side by side, `not` left
   out; -1 if there is none. */
static int fast_dimension(const Rule *r, int not) {
  int fast = -1;
  for (int d = 0; d < r->in->dims; d++)
    if (d != not && r->beside[d] > 0 &&
        (fast < 0 || r->beside[d] > r->beside[fast]))
      fast = d;
  return fast;
}

/* Returns the dimension whose neighbours share the lines that neighbours along
   d do not: of a transposed array, or of one that loops go through; or -1. */
static int shared_dimension(const Rule *r, int d) {
  for (int e = 0; e < r->in->dims; e++)
    if (e != d && r->in->again[e] > 0) return e;
  return r->in->apart[d] > 0 ? fast_dimension(r, d) : -1;
}

/* Returns how many work-items a group should have. */
static uint32_t target_items(const Rule *r) {
  const lze_GroupInput *in = r->in;
  const double few = HEAVY_GROUP * 4 * r->units;
  if (in->features & SPIRV_SWEEPS_LOCAL) return MOST_SEARCHED;
  if (in->features & (SPIRV_USES_BARRIER | SPIRV_USES_LOCAL))
    return in->dims > 1 ? TILE_GROUP : BARRIER_GROUP;
  /* Few work-items that may be long are spread over the cores one by one. */
  if (in->features & SPIRV_HAS_LONG_LOOPS && range_items(r) < few) return 1;
  if (r->heavy) return HEAVY_GROUP;
  return in->dims == 3 ? SPACE_GROUP : LIGHT_GROUP;
}

/* Returns the length of a row along d, where work-items along `shared` share
   lines, unless that is -1. */
static uint32_t target_row(const Rule *r, uint32_t items, int d, int shared) {
  const lze_GroupInput *in = r->in;
  if (in->features & (SPIRV_USES_BARRIER | SPIRV_USES_LOCAL)) return VECTOR_ROW;
  if (shared >= 0) return in->again[shared] > 0 ? LINE_FLOATS : CACHE_WAYS;
  if (in->dims == 1) return items;
  const uint32_t n = r->n[d];
  uint32_t row = r->heavy || (in->dims == 3 && n < LONG_ROW) ? VECTOR_ROW
                                                              : STREAM_ROW;
  if (range_work(r) <= BIG) return row;
  /* The longest that leaves least at the end of the range. */
  double best = INFINITY;
  const uint32_t least_row = r->heavy ? SHORT_ROW : VECTOR_ROW;
  for (uint32_t g = r->heavy ? row : STREAM_ROW; g >= least_row; g /= 2) {
    double waste = (double)groups_of(n, g) * g / n;
    if (waste < best / WORTH) {
      best = waste;
      row = g;
    }
  }
  return row;
}

/* Sets the target: a row along the fast dimension, then along one that shares
   its lines, and what is left along the others.  A dimension of a large range
   that is shorter than its part leaves the rest of it to the others. */
static void set_target(Rule *r) {
  uint32_t left = target_items(r);
  int order[3], n = 0, fast = fast_dimension(r, -1);
  int second = shared_dimension(r, fast);
  bool any = range_work(r) <= SMALL; /* one size serves all small ranges */
  for (int d = 0; d < 3; d++) r->target[d] = 1;
  order[n++] = fast;
  if (second >= 0) order[n++] = second;
  for (int d = 0; d < r->in->dims; d++)
    if (d != fast && d != second) order[n++] = d;
  uint32_t row = least(target_row(r, left, fast, second), left);
  for (int round = 0; round < 2; round++) /* the second takes what is left */
    for (int k = 0; k < n && left > 1; k++) {
      int d = order[k];
      uint32_t part = round > 0      ? left
                      : k == 0       ? row
                      : k == n - 1   ? left
                      : second == d  ? left
                                     : 2;
      while (part > 1 && left > 1 && (any || r->target[d] < r->n[d])) {
        r->target[d] *= 2;
        left /= 2;
        part /= 2;
      }
    }
}

static double octaves(double n) { return fabs(log2(n)); }

/* Returns how far sizes are from the target, in octaves: along each dimension,
   and in all. */
static double cpu_cost(const Rule *r, const uint32_t g[3]) {
  double all = 1, far = 0;
  for (int d = 0; d < 3; d++) {
    double part = (double)g[d] / r->target[d];
    all *= part;
    far += octaves(part);
  }
  return far + octaves(all);
}

/* --- GPUs ---------------------------------------------------------------- */

/* How many times more lines than it needs a group of a GPU moves, on average
   of all accesses.  A sub-group, a row of work-items, asks for each of its
   lines once; what the sub-groups of a group share comes out of the core's own
   cache.  Which of the two holds a kernel up is not known: the mean of them is
   taken.  Stores count twice, as that cache does not gather them. */
static double gpu_lines(const Rule *r, const uint32_t g[3]) {
  double moved = 0, accesses = 0;
  uint32_t before = 1; /* work-items that lie between two neighbours */
  for (int d = 0; d < 3; d++) {
    double line = least(LINE_FLOATS, r->n[d]);
    double weight = r->beside[d] + r->in->stores[d];
    uint32_t run = least(g[d], r->lanes / before);
    if (run == 0) run = 1;
    moved += weight * (fmax(line / run, 1) + fmax(line / g[d], 1)) / 2;
    accesses += weight;
    before = (uint64_t)before * g[d] > r->lanes ? r->lanes : before * g[d];
  }
  return r->alone + (1 - r->alone) * moved / accesses;
}

/* Returns the time that all groups take of a GPU, by the work-items whose places
   they hold. */
static double gpu_cost(const Rule *r, const uint32_t g[3]) {
  double cores = r->in->core_units > 0 ? r->units / r->in->core_units
                                       : r->units;
  double items = (double)g[0] * g[1] * g[2], groups = 1;
  for (int d = 0; d < 3; d++) groups *= groups_of(r->n[d], g[d]);
  double held = ceil(items / r->lanes) * r->lanes;
  double start = r->heavy ? r->resident / 8 : GPU_START;
  if (held < start && (!r->heavy || groups > cores * GPU_GROUPS)) held = start;
  /* Cores with less work than this take as long, and cannot hide what their
     sub-groups wait for. */
  double least_held =
      cores * (r->heavy ? r->resident / GPU_GROUPS : GPU_START);
  bool hides = !r->heavy || held * groups >= least_held;
  double wait = 1 + r->alone * fmin(items / r->lanes, 1);
  if (groups < cores) groups = cores; /* some have none */
  held = fmax(held * groups, least_held) * (hides ? 1 : wait);
  /* A core that k groups fill loses 1 / (2 k) while each of them drains. */
  held *= (1 + items / (2 * r->resident)) * gpu_lines(r, g);
  /* Fewer groups fit if their local memory fills the core first. */
  if (r->in->device_local_bytes != 0) {
    double wanted = (double)r->in->local_bytes * r->resident / items;
    double there = (double)r->in->device_local_bytes;
    if (wanted > there) held *= wanted / there;
  }
  double once = r->in->features & (SPIRV_USES_BARRIER | SPIRV_USES_LOCAL |
                                   SPIRV_USES_GROUP_OPS) ? GPU_SHARED : 0;
  if (r->in->features & SPIRV_SWEEPS_LOCAL) /* two bytes in a step */
    once += (double)r->in->local_bytes / 2;
  return (held * (r->heavy ? HEAVY : 1) + groups * once) / r->units;
}

static double size_cost(const Rule *r, const uint32_t g[3]) {
  return r->in->software ? cpu_cost(r, g) : gpu_cost(r, g);
}

/* --- sizes -------------------------------------------------------------- */

/* The sizes worth judging in a dimension: powers of two, the first that the
   range fits in the last; or of each octave the largest divisor, the power of
   two and, along x, the largest divisor of whole vectors; and the smallest
   that keeps to the limit of groups. */
static void list_sizes(const Rule *r, Sizes *l, int d) {
  uint32_t n = r->n[d], most = least(r->size[d], r->most);
  uint32_t low = groups_of(n, r->count[d]); /* keeps to the limit of groups */
  l->n = 0;
  if (r->in->guards) {
    for (uint32_t g = 1; g <= least(most, MOST_SEARCHED); g *= 2)
      if (g >= low && (d < r->in->dims || g == 1)) l->sizes[l->n++] = g;
    if (l->n == 0 && low <= most) l->sizes[l->n++] = low;
    return;
  }
  uint32_t best = 0, whole = 0;
  for (uint32_t g = least(least(n, most), MOST_SEARCHED); g >= 1; g--) {
    bool divides = n % g == 0 && n / g <= r->count[d];
    if (divides && best == 0) best = g;
    if (divides && whole == 0 && d == 0 && g % r->lanes == 0) whole = g;
    if ((g & (g - 1)) != 0) continue; /* the end of an octave: */
    if (best != 0) l->sizes[l->n++] = best;
    if (whole != 0 && whole != best) l->sizes[l->n++] = whole;
    if (divides && g != best && g != whole) l->sizes[l->n++] = g;
    best = whole = 0;
  }
  uint32_t fewest = n / largest_divisor(n, r->count[d]);
  if (l->n == 0 && fewest <= most) l->sizes[l->n++] = fewest;
}

/* Finds the cheapest legal combination that costs more than `above`.  Returns
   its cost, or a negative number if there is none. */
static double find_size(const Rule *r, const Sizes l[3], double above,
                        uint32_t best[3]) {
  double least_cost = -1;
  for (int z = 0; z < l[2].n; z++)
    for (int y = 0; y < l[1].n; y++) {
      uint64_t yz = (uint64_t)l[1].sizes[y] * l[2].sizes[z];
      for (int x = 0; x < l[0].n && yz <= r->most; x++) {
        if (yz * l[0].sizes[x] > r->most) continue;
        uint32_t g[3] = {l[0].sizes[x], l[1].sizes[y], l[2].sizes[z]};
        double cost = size_cost(r, g);
        if (cost <= above || (least_cost >= 0 && cost >= least_cost)) continue;
        least_cost = cost;
        memcpy(best, g, sizeof g);
      }
    }
  return least_cost;
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

/* "128x8", as many dimensions as the range has. */
static void add_size(Words *w, int dims, const uint32_t g[3]) {
  for (int d = 0; d < dims; d++)
    add(w, d == 0 ? "%lu" : "x%lu", (unsigned long)g[d]);
}

static const char axis[] = "xyz";

/* "128x8 of 1920x1080: WHOSE, 15x135 groups for 4 cores; ..." */
static void explain(const Rule *r, const lze_GroupChoice *out, Words *w,
                    const char *whose) {
  const lze_GroupInput *in = r->in;
  const uint32_t *g = out->parts[0].group;
  double groups = 1;
  int fast = 0;
  for (int d = 0; d < 3; d++) {
    groups *= groups_of(r->n[d], g[d]);
    if (d < in->dims && r->beside[d] > r->beside[fast]) fast = d;
  }
  add_size(w, in->dims, g);
  add(w, " of ");
  add_size(w, in->dims, r->n);
  add(w, ": ");
  if (whose != NULL) add(w, "%s, ", whose);
  if (groups == 1) add(w, "all of it in one group");
  else if (g[0] == 1 && g[1] == 1 && g[2] == 1 && !in->guards && whose == NULL)
    add(w, "no larger size up to %lu is worth it or divides it",
        (unsigned long)r->most);
  else
    add(w, "%.0f groups for %.0f %s", groups, r->units,
        in->software ? "cores" : "execution units");
  if (!in->guards)
    add(w, "; it must divide the range because %s", why_whole(in));
  else if (out->count > out->whole && out->whole > 0)
    add(w, "; a guarded launch for each of %d edges", out->count - 1);
  else if (out->count > out->whole)
    add(w, "; guarded at the end of the range");
  if (whose == NULL && groups > 1 && fast != 0)
    add(w, "; its accesses run along %c", axis[fast]);
}

/* --- the choice --------------------------------------------------------- */

/* Covers the range by groups of g: by whole groups, and what is left along
   each dimension by one group across, guarded.  A GPU takes all of it in one
   guarded launch.  So does a CPU if that takes less time than one more launch,
   or if the driver has no offsets and one is asked for. */
static void cover(const Rule *r, const uint32_t g[3], lze_GroupChoice *out) {
  const lze_GroupInput *in = r->in;
  lze_GroupPart all, whole;
  bool divides = true, body = true, offset = false;
  for (int d = 0; d < 3; d++) {
    all.group[d] = g[d];
    all.first[d] = in->offset[d];
    all.count[d] = groups_of(r->n[d], g[d]);
    whole.count[d] = r->n[d] / g[d];
    divides = divides && whole.count[d] == all.count[d];
    body = body && whole.count[d] > 0;
    offset = offset || in->offset[d] != 0;
  }
  bool edges = in->software && (r->heavy || range_items(r) > SMALL);
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
    for (int e = d + 1; e < 3; e++) edge.count[e] = groups_of(r->n[e], g[e]);
    out->parts[out->count++] = edge;
  }
}

/* Takes a group that a user, a kernel or a policy names, if it is legal. */
static bool take_size(const Rule *r, const uint32_t g[3], const char *whose,
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
    if (groups_of(r->n[d], g[d]) <= r->count[d]) continue;
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

/* TornadoVM's size along one dimension: the largest divisor, but never the
   limit itself if that is the whole range. */
static uint32_t tornado_size(uint32_t n, uint32_t most) {
  if (most == n) most /= 4;
  return largest_divisor(n, least(n, most > 0 ? most : 1));
}

/* Sets g to the size of a policy that is not lze's own; returns its name. */
static const char *policy_size(const Rule *r, uint32_t g[3]) {
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
        g[d] = largest_divisor(r->n[d], least(left, r->size[d]));
        left /= g[d];
      }
      return "the largest that divides it";
    default:
      if (in->dims > 1) left = (uint32_t)sqrt((double)left);
      for (int d = 0; d < in->dims && d < 2; d++)
        g[d] = tornado_size(r->n[d], least(left, r->size[d]));
      return "TornadoVM's rule";
  }
}

/* What the arrays of a kernel in local memory tell of its group: one that
   never asks for its size was written for exactly as many work-items as they
   have places for.  Returns true if it has such a size. */
static bool fixed_size(const Rule *r, uint32_t g[3]) {
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

/* A limit of 0 is unknown. */
static uint32_t limit(uint32_t n) { return n == 0 ? UINT32_MAX : n; }

/* Sets what the rule goes by.  Returns false, with the reason in words, for an
   impossible range or offset. */
static bool rule_init(Rule *r, const lze_GroupInput *in, Words *w) {
  *r = (Rule){.in = in};
  r->most = least(limit(in->max_total), limit(in->kernel_max));
  r->units = in->units == 0 ? 1 : in->units;
  /* A CPU that does not tell has vectors of 8 floats.  No GPU has sub-groups
     of fewer than 8, and groups of whole 32s are whole 8s and 16s, too. */
  if (in->software)
    r->lanes = in->simd > 1 ? in->simd : 8;
  else
    r->lanes = in->kernel_subgroup >= 8 ? in->kernel_subgroup
               : in->simd >= 8          ? in->simd
                                        : 32;
  if (r->lanes > 64) r->lanes = 64;
  /* A driver that does not know its threads reports one. */
  r->resident = in->threads_per_unit > 1 && in->core_units > 0
                    ? (double)in->core_units * in->threads_per_unit * r->lanes
                    : GPU_RESIDENT;
  r->heavy = in->features & (SPIRV_HAS_LOOPS | SPIRV_HAS_LONG_MATHS |
                             SPIRV_USES_UNKNOWN_CALL);
  memcpy(r->beside, in->beside, sizeof r->beside);
  if (r->beside[0] == 0 && r->beside[1] == 0 && r->beside[2] == 0)
    r->beside[0] = 1;
  /* Accesses side by side along another dimension are apart along x. */
  double alone =
      fmax((double)in->apart[0] - r->beside[1] - r->beside[2], 0);
  r->alone = alone / (alone + r->beside[0] + r->beside[1] + r->beside[2]);
  for (int d = 0; d < 3; d++) {
    if (in->global[d] == 0 || in->global[d] > UINT32_MAX) {
      add(w, "a range of %llu along %c is not in 1 .. 2^32-1",
          (unsigned long long)in->global[d], axis[d]);
      return false;
    }
    const bool offsets = in->offsets || in->guards;
    if (in->offset[d] > UINT32_MAX || (in->offset[d] != 0 && !offsets)) {
      add(w, offsets ? "an offset of %llu along %c is over 2^32-1"
                     : "the driver has no global offsets, and %llu is asked "
                       "for along %c",
          (unsigned long long)in->offset[d], axis[d]);
      return false;
    }
    r->n[d] = (uint32_t)in->global[d];
    r->size[d] = limit(in->max_size[d]);
    r->count[d] = limit(in->max_count[d]);
  }
  return true;
}

/* Limits sizes that nobody gave by hand to what local arrays have places
   for. */
static void rule_fit(Rule *r) {
  for (int d = 0; d < 3; d++)
    r->size[d] = least(r->size[d], limit(r->in->local_fit[d]));
  r->most = least(r->most, limit(r->in->local_items));
}

static bool take_best(Rule *r, const char *instead, lze_GroupChoice *out) {
  Words w = {out->why, sizeof out->why};
  Sizes l[3];
  uint32_t g[3];
  if (r->in->software) set_target(r);
  for (int d = 0; d < 3; d++) list_sizes(r, &l[d], d);
  if (find_size(r, l, -1, g) < 0) {
    add(&w, "no group of at most %lu work-items cuts the range ",
        (unsigned long)r->most);
    add_size(&w, r->in->dims, r->n);
    add(&w, " into few enough groups (%lux%lux%lu)",
        (unsigned long)r->count[0], (unsigned long)r->count[1],
        (unsigned long)r->count[2]);
    return false;
  }
  cover(r, g, out);
  if (instead != NULL) add(&w, "%s does not fit; ", instead);
  explain(r, out, &w, NULL);
  return true;
}

bool lze_group_choose(const lze_GroupInput *in, lze_GroupChoice *out) {
  Rule r;
  Words w = {out->why, sizeof out->why};
  uint32_t g[3];
  out->count = out->whole = 0;
  if (!rule_init(&r, in, &w)) return false;
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
  /* Somebody else's rule may not fit here; the range still has to run. */
  if (whose != NULL && take_size(&r, g, whose, out)) return true;
  return take_best(&r, whose, out);
}

/* Returns the number of octaves up to n: 1 for 1, 2 for 2 and 3. */
static int octave(uint64_t n) {
  int k = 0;
  for (; n != 0; n /= 2) k++;
  return k;
}

/* Returns true if no earlier size is of the same octaves, in all and along x. */
static bool is_new_octave(uint32_t (*sizes)[3], int n) {
  const uint32_t *g = sizes[n];
  for (int i = 0; i < n; i++) {
    const uint32_t *h = sizes[i];
    if (octave(g[0]) == octave(h[0]) &&
        octave((uint64_t)g[0] * g[1] * g[2]) ==
            octave((uint64_t)h[0] * h[1] * h[2]))
      return false;
  }
  return true;
}

int lze_group_candidates(const lze_GroupInput *in, uint32_t (*sizes)[3],
                         int most) {
  lze_GroupInput plain = *in;
  lze_GroupChoice first;
  Words w = {first.why, sizeof first.why};
  Sizes l[3];
  Rule r;
  uint32_t fixed[3];
  plain.policy = LZE_POLICY_LZE;
  memset(plain.given, 0, sizeof plain.given);
  if (most < 1 || !lze_group_choose(&plain, &first) ||
      !rule_init(&r, &plain, &w))
    return 0;
  memcpy(sizes[0], first.parts[0].group, sizeof sizes[0]);
  if (in->required[0] != 0 ||
      (fixed_size(&r, fixed) && memcmp(fixed, sizes[0], sizeof fixed) == 0))
    return 1;
  rule_fit(&r);
  if (in->software) set_target(&r);
  for (int d = 0; d < 3; d++) list_sizes(&r, &l[d], d);
  int n = 1;
  double cost = -1;
  while (n < most && (cost = find_size(&r, l, cost, sizes[n])) >= 0)
    if (is_new_octave(sizes, n)) n++;
  return n;
}
