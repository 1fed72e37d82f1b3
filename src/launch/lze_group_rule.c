/*
 * lze_group_rule.c - the rule that chooses group sizes.
 * SPDX-License-Identifier: MIT
 *
 * A kernel with a guarded entry point accepts any group for any range, so its
 * sizes are powers of two.  For any other kernel, the sizes divide the range.
 * On a CPU, the rule derives a target from the work of the kernel and the class
 * of the range, so that one size serves many ranges, and chooses the sizes
 * nearest to the target.  On a GPU, another size does not need compiling, so a
 * small cost model rates each combination of sizes.  Nothing is measured, and
 * no kernel is recognised by name.
 */
#include "launch/lze_group_rule.h"
#include "spirv.h"

#include <math.h>
#include <string.h>

/* VECTOR: the floats of a vector, and the number of rows whose lines stay in a
   first-level cache even if the rows are pages apart.  LINE: the floats of a
   cache line. */
enum { VECTOR = 8, LINE = 16 };
/* On a CPU, a group costs one call and the set-up of its loop, about 6 ns, and
   each of its rows a part of that.  256 light work-items, with a few accesses
   and steps each, take ten times as long; heavy work-items, with loops or long
   maths, reach that sooner.  Larger groups gain nothing, leave larger edges and
   spread less evenly over the cores.  But light work-items in three dimensions
   share planes in the cache, and groups that work on a tile in local memory are
   faster the larger they are. (bench/RESULTS.md, "Group sizes") */
enum { LIGHT_GROUP = 256, HEAVY_GROUP = 128, LARGE_GROUP = 1024 };
/* Rows become vectors; compilers make 4 at a time.  Light rows of 128 are
   faster, because they stream; but in three dimensions the range must have
   longer rows, or too much of it is edge.  Loops are seldom vectorised across a
   row of work-items, and access memory better in narrow groups. */
enum {
  VECTOR_ROW = 4 * VECTOR,
  STREAM_ROW = 128,
  LONG_ROW = 100,
  LOOP_ROW = 4
};
/* The number of light work-items that one heavy work-item counts as. */
static const double HEAVY = 30;
/* On a CPU, SMALL light work-items take less time in the guarded form than the
   launch of an edge; ranges up to that size form one class.  The rows of ranges
   larger than BIG may also have their own length, if that leaves WORTH times
   less to the edges. */
enum { SMALL = 65536, BIG = 16 * SMALL };
static const double WORTH = 1.1;
/* A GPU starts a group in the time that it takes to stream 256 light
   work-items; a core keeps up to 2048 work-items active, in up to 16 groups.
   The one-time work of a group that shares local memory costs as much as 16
   steps. */
static const double GPU_START = 256, GPU_RESIDENT = 2048, GPU_GROUPS = 16;
static const double GPU_SHARED = 16;

enum {
  MOST_SEARCHED = 4096, /* the largest size that a search tries */
  MOST_SIZES = 40       /* per dimension: three per octave */
};

typedef struct Sizes {
  int n;
  uint32_t sizes[MOST_SIZES];
} Sizes;

static double range_items(const lze_Rule *r) {
  return (double)r->n[0] * r->n[1] * r->n[2];
}
/* Returns the work of a range, in light work-items. */
static double range_work(const lze_Rule *r) {
  return range_items(r) * (r->heavy ? HEAVY : 1);
}

/* Returns the largest divisor of n that is at most `most`, in at most 2^16
   steps. */
uint32_t lze_largest_divisor(uint32_t n, uint32_t most) {
  if (most >= n) return n;
  if (most <= 65536) {
    while (n % most != 0) most--;
    return most;
  }
  /* Above the square root, each divisor is found through its cofactor. */
  uint32_t k = lze_groups_of(n, most);
  while (k < 65536 && n % k != 0) k++;
  return n % k == 0 ? n / k : lze_largest_divisor(n, 65536);
}

/* --- CPUs ---------------------------------------------------------------- */

/* Returns the dimension other than `not` along which most accesses are
   adjacent; -1 if there are no adjacent accesses. */
static int fast_dimension(const lze_Rule *r, int not) {
  int fast = -1;
  for (int d = 0; d < r->in->dims; d++)
    if (d != not && r->beside[d] > 0 &&
        (fast < 0 || r->beside[d] > r->beside[fast]))
      fast = d;
  return fast;
}

int lze_rule_fast(const lze_Rule *r) {
  int fast = fast_dimension(r, -1);
  return fast < 0 ? 0 : fast;
}

/* Returns the dimension along which neighbours share cache lines that
   neighbours along d do not share, as in a transposed array or one that loops
   traverse; -1 if no dimension does. */
static int shared_dimension(const lze_Rule *r, int d) {
  for (int e = 0; e < r->in->dims; e++)
    if (e != d && r->in->again[e] > 0) return e;
  return r->in->apart[d] > 0 ? fast_dimension(r, d) : -1;
}

/* Returns the number of work-items that a group should have. */
static uint32_t target_items(const lze_Rule *r) {
  const lze_GroupInput *in = r->in;
  const double few = HEAVY_GROUP * 4 * r->units;
  if (in->features & SPIRV_SWEEPS_LOCAL) return MOST_SEARCHED;
  if (in->features & (SPIRV_USES_BARRIER | SPIRV_USES_LOCAL))
    return in->dims > 1 ? LARGE_GROUP : VECTOR;
  /* A few work-items that may be long are spread over the cores one by one. */
  if (in->features & SPIRV_HAS_LONG_LOOPS && range_items(r) < few) return 1;
  if (r->heavy) return HEAVY_GROUP;
  return in->dims == 3 ? LARGE_GROUP : LIGHT_GROUP;
}

/* Returns the length that a row along d should have.  Work-items along `shared`
   share cache lines; -1 means no dimension. */
static uint32_t target_row(const lze_Rule *r, uint32_t items, int d,
                           int shared) {
  const lze_GroupInput *in = r->in;
  if (in->features & (SPIRV_USES_BARRIER | SPIRV_USES_LOCAL)) return VECTOR_ROW;
  if (shared >= 0) return in->again[shared] > 0 ? LINE : VECTOR;
  if (in->dims == 1 || d > 0) return items;
  if (in->dims == 2 && r->heavy) return LOOP_ROW;
  const uint32_t n = r->n[d];
  uint32_t row = r->heavy || (in->dims == 3 && n < LONG_ROW) ? VECTOR_ROW
                                                              : STREAM_ROW;
  if (range_work(r) <= BIG) return row;
  /* Find the longest row that leaves the least at the end of the range. */
  double best = INFINITY;
  const uint32_t least_row = r->heavy ? VECTOR : VECTOR_ROW;
  for (uint32_t g = r->heavy ? row : STREAM_ROW; g >= least_row; g /= 2) {
    double waste = (double)lze_groups_of(n, g) * g / n;
    if (waste < best / WORTH) {
      best = waste;
      row = g;
    }
  }
  return row;
}

/* Sets the target: a row along the fast dimension, then one along the dimension
   that shares its lines, and the rest along the others.  If a dimension of a
   large range is shorter than its part, the remainder goes to the others. */
static void set_target(lze_Rule *r) {
  uint32_t left = target_items(r);
  int order[3], n = 0, fast = lze_rule_fast(r);
  int second = shared_dimension(r, fast);
  bool any = range_work(r) <= SMALL; /* one size serves all small ranges */
  for (int d = 0; d < 3; d++) r->target[d] = 1;
  order[n++] = fast;
  if (second >= 0) order[n++] = second;
  for (int d = 0; d < r->in->dims; d++)
    if (d != fast && d != second) order[n++] = d;
  uint32_t row = lze_least(target_row(r, left, fast, second), left);
  for (int round = 0; round < 2; round++) /* the second distributes the rest */
    for (int k = 0; k < n && left > 1; k++) {
      int d = order[k];
      bool all = round > 0 || k == n - 1 || d == second;
      uint32_t part = k == 0 && round == 0 ? row : all ? left : 2;
      /* A row may be longer than the range; the other sizes leave whole
         groups. */
      uint64_t most = any       ? UINT32_MAX
                      : d == fast ? 2 * (uint64_t)r->n[d] - 1
                                  : r->n[d];
      while (part > 1 && left > 1 && 2 * r->target[d] <= most) {
        r->target[d] *= 2;
        left /= 2;
        part /= 2;
      }
    }
}

static double octaves(double n) { return fabs(log2(n)); }

/* Returns how far sizes are from the target, in octaves: the sum over the
   dimensions, plus that of the whole group. */
static double cpu_cost(const lze_Rule *r, const uint32_t g[3]) {
  double all = 1, far = 0;
  for (int d = 0; d < 3; d++) {
    double part = (double)g[d] / r->target[d];
    all *= part;
    far += octaves(part);
  }
  return far + octaves(all);
}

/* --- GPUs ---------------------------------------------------------------- */

/* Returns how many times more cache lines than necessary a group on a GPU
   moves, averaged over all accesses.  A sub-group, which is a row of
   work-items, requests each of its lines once; lines that the sub-groups of a
   group share come from the core's own cache.  It is not known which of the two
   limits a kernel, so the mean is used.  Stores count twice, because that cache
   does not combine them. */
static double gpu_lines(const lze_Rule *r, const uint32_t g[3]) {
  double moved = 0, accesses = 0;
  uint32_t before = 1; /* work-items between two neighbours */
  for (int d = 0; d < 3; d++) {
    double line = lze_least(LINE, r->n[d]);
    double weight = r->beside[d] + r->in->stores[d];
    uint32_t run = lze_least(g[d], r->lanes / before);
    if (run == 0) run = 1;
    moved += weight * (fmax(line / run, 1) + fmax(line / g[d], 1)) / 2;
    accesses += weight;
    before = (uint64_t)before * g[d] > r->lanes ? r->lanes : before * g[d];
  }
  return r->alone + (1 - r->alone) * moved / accesses;
}

/* Returns the GPU time of all groups, measured by the work-item slots that they
   occupy. */
static double gpu_cost(const lze_Rule *r, const uint32_t g[3]) {
  double cores = r->in->core_units > 0 ? r->units / r->in->core_units
                                       : r->units;
  double items = (double)g[0] * g[1] * g[2], groups = 1;
  for (int d = 0; d < 3; d++) groups *= lze_groups_of(r->n[d], g[d]);
  double held = ceil(items / r->lanes) * r->lanes;
  double start = r->heavy ? r->resident / 8 : GPU_START;
  if (held < start && (!r->heavy || groups > cores * GPU_GROUPS)) held = start;
  /* Cores with less work than this take just as long, and cannot hide the
     latency of their sub-groups. */
  double least_held =
      cores * (r->heavy ? r->resident / GPU_GROUPS : GPU_START);
  bool hides = !r->heavy || held * groups >= least_held;
  double wait = 1 + r->alone * fmin(items / r->lanes, 1);
  if (groups < cores) groups = cores; /* some are idle */
  held = fmax(held * groups, least_held) * (hides ? 1 : wait);
  /* A core that k groups fill loses 1 / (2 k) while each group drains. */
  held *= (1 + items / (2 * r->resident)) * gpu_lines(r, g);
  /* Fewer groups fit if their local memory fills the core first. */
  if (r->in->device_local_bytes != 0) {
    double wanted = (double)r->in->local_bytes * r->resident / items;
    double there = (double)r->in->device_local_bytes;
    if (wanted > there) held *= wanted / there;
  }
  double once = r->in->features & (SPIRV_USES_BARRIER | SPIRV_USES_LOCAL |
                                   SPIRV_USES_GROUP_OPS) ? GPU_SHARED : 0;
  if (r->in->features & SPIRV_SWEEPS_LOCAL) /* two bytes per step */
    once += (double)r->in->local_bytes / 2;
  return (held * (r->heavy ? HEAVY : 1) + groups * once) / r->units;
}

static double size_cost(const lze_Rule *r, const uint32_t g[3]) {
  return r->in->software ? cpu_cost(r, g) : gpu_cost(r, g);
}

/* --- sizes -------------------------------------------------------------- */

/* Lists the sizes of dimension d that are worth rating: powers of two or,
   without a guarded entry point, for each octave the largest divisor, the power
   of two if it divides the range and, along x, the largest divisor that is a
   multiple of the vector.  The list includes the smallest size that respects
   the limit on groups, because it leaves most to the other dimensions. */
static void list_sizes(const lze_Rule *r, Sizes *l, int d) {
  uint32_t n = r->n[d], most = lze_least(r->size[d], r->most);
  /* The smallest size that respects the limit on groups. */
  uint32_t low = lze_groups_of(n, r->count[d]);
  l->n = 0;
  if (r->in->guards) {
    for (uint32_t g = 1; g <= lze_least(most, MOST_SEARCHED); g *= 2)
      if (g >= low && (d < r->in->dims || g == 1)) l->sizes[l->n++] = g;
    if (low <= most && (l->n == 0 || l->sizes[0] != low))
      l->sizes[l->n++] = low;
    return;
  }
  uint32_t best = 0, whole = 0;
  for (uint32_t g = lze_least(lze_least(n, most), MOST_SEARCHED); g >= 1; g--) {
    bool divides = n % g == 0 && n / g <= r->count[d];
    if (divides && best == 0) best = g;
    if (divides && whole == 0 && d == 0 && g % r->lanes == 0) whole = g;
    if ((g & (g - 1)) != 0) continue; /* otherwise an octave ends: */
    if (best != 0) l->sizes[l->n++] = best;
    if (whole != 0 && whole != best) l->sizes[l->n++] = whole;
    if (divides && g != best && g != whole) l->sizes[l->n++] = g;
    best = whole = 0;
  }
  uint32_t fewest = n / lze_largest_divisor(n, r->count[d]);
  if (fewest <= most && (l->n == 0 || l->sizes[l->n - 1] != fewest))
    l->sizes[l->n++] = fewest;
}

/* Finds the cheapest legal combination that costs more than `above`.  Returns
   its cost, or a negative number if nothing was found. */
static double find_size(const lze_Rule *r, const Sizes l[3], double above,
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

/* Returns the number of octaves up to n: 1 for 1, 2 for 2 and 3. */
static int octave(uint64_t n) {
  int k = 0;
  for (; n != 0; n /= 2) k++;
  return k;
}

/* Returns true if no earlier size has the same octaves, in total and along
   x. */
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

int lze_rule_sizes(lze_Rule *r, uint32_t (*sizes)[3], int most) {
  Sizes l[3];
  if (r->in->software) set_target(r);
  for (int d = 0; d < 3; d++) list_sizes(r, &l[d], d);
  int n = 0;
  double cost = -1;
  while (n < most && (cost = find_size(r, l, cost, sizes[n])) >= 0)
    if (is_new_octave(sizes, n)) n++;
  return n;
}

bool lze_rule_is_small(const lze_Rule *r) {
  return !r->heavy && range_items(r) <= SMALL;
}

void lze_rule_init(lze_Rule *r, const lze_GroupInput *in) {
  *r = (lze_Rule){.in = in};
  r->most = lze_least(lze_limit(in->max_total), lze_limit(in->kernel_max));
  r->units = in->units == 0 ? 1 : in->units;
  /* A CPU that does not report its vectors is assumed to have 8 floats in each.
     No GPU has sub-groups narrower than 8, and multiples of 32 are also
     multiples of 8 and 16. */
  if (in->software)
    r->lanes = in->simd > 1 ? in->simd : 8;
  else
    r->lanes = in->kernel_subgroup >= 8 ? in->kernel_subgroup
               : in->simd >= 8          ? in->simd
                                        : 32;
  if (r->lanes > 64) r->lanes = 64;
  /* A driver reports one thread if it does not know the number. */
  r->resident = in->threads_per_unit > 1 && in->core_units > 0
                    ? (double)in->core_units * in->threads_per_unit * r->lanes
                    : GPU_RESIDENT;
  r->heavy = in->features & (SPIRV_HAS_LOOPS | SPIRV_HAS_LONG_MATHS |
                             SPIRV_USES_UNKNOWN_CALL);
  memcpy(r->beside, in->beside, sizeof r->beside);
  if (r->beside[0] == 0 && r->beside[1] == 0 && r->beside[2] == 0)
    r->beside[0] = 1;
  /* Accesses that are adjacent along another dimension are apart along x. */
  double alone =
      fmax((double)in->apart[0] - r->beside[1] - r->beside[2], 0);
  r->alone = alone / (alone + r->beside[0] + r->beside[1] + r->beside[2]);
  for (int d = 0; d < 3; d++) {
    r->n[d] = (uint32_t)in->global[d];
    r->size[d] = lze_limit(in->max_size[d]);
    r->count[d] = lze_limit(in->max_count[d]);
  }
}
