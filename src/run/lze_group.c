/*
 * lze_group.c - how a range is cut into groups.
 * SPDX-License-Identifier: MIT
 *
 * Each dimension has a few cuts to choose from: divisors of the range, and,
 * where the kernel cannot notice, a size that leaves a rest, which further
 * launches take.  A small model of what costs time on a CPU or a GPU judges
 * every combination that fits the limits; the cheapest is taken.  Nothing is
 * measured and no kernel is known by name.
 */
#include "run/lze_group.h"
#include "base/lze_state.h"
#include "prepare.h"
#include "spirv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
  /* Sizes above this are not searched: the cost of a group is spread over so
     many work-items by then that no larger size can win a percent. */
  MOST_SEARCHED = 4096,
  /* The body of a split, when no limit asks for more: what a group costs is
     then a few percent of what its work-items do. */
  MOST_BODY = 1024,
  /* Rows that become vectors: compilers make 4 vectors of 8 floats at a time,
     and unroll shorter rows instead. */
  VECTOR_ROW = 32,
  /* 4 vectors of 16 floats, the widest there are: no vector of a row of these
     is left half empty. A large rest on a CPU goes by groups of so many, and
     what that leaves one by one. */
  ROW_SIZE = 64,
  /* A rest below this part of its range goes one by one at once: even where
     the body runs 8 times faster by vectors, it adds 6 % then, and it needs
     neither a launch nor a compilation more. */
  REST_PART = 128,
  /* Work-items of a GPU that read neighbouring floats share a memory
     transaction of 64 bytes. */
  GPU_LINE = 16,
  SPILL_BYTES = 1 << 20, /* of a group, by oneAPI.jl's rule */
  MOST_SEGMENTS = 3, /* of a dimension: the body and two rests */
  MOST_CUTS = 64     /* of a dimension: see list_cuts */
};

/* What a work-item takes, in nanoseconds, is not known exactly. One without
   loops and long maths does a few accesses and steps. Any other is judged by
   two loads, as one plan has to do for both: a loop of few rounds, which
   becomes vectors, and one of many, which compilers make no vectors of. */
typedef struct Load {
  double item;
  bool vectors;
} Load;
enum { MOST_LOADS = 2 };
static const Load light[] = {{1, true}}, heavy[] = {{10, true}, {100, false}};

/* A launch: to wake the cores, or to start and drain the device. */
static const double LAUNCH_COST = 5000;
/* To wake another core of a CPU, up to so many: more were not measured. Where
   loops may be long, that does not count. */
static const double WAKE_COST = 2000;
static const double MOST_WOKEN = 15;
/* To enter a group on a CPU: a call, its ids, the set-up of its loop. */
static const double GROUP_COST = 6;
/* To start another row of a group: the set-up of the inner loop. */
static const double ROW_COST = 1;
/* What a group does once where its work-items work together, in light steps:
   its result is handed on, and where loops fill its local memory it is emptied
   too, which takes two of them for each word of 4 bytes. */
static const double SHARED_COST = 16;
static const double SHARED_BYTES = 2;
/* On a CPU a barrier ends the loop over the work-items of a group, and all of
   them are kept in memory for the next: a store and a load each, in the time
   of a light step. Loops of so many rounds or fewer are unrolled by compilers,
   and so a group of one vector goes through its barriers in registers. */
enum { UNROLLED = 16 };
static const double BARRIER_COST = 1;
/* A line that is not in the first-level cache comes from the next ones in 4
   to 15 ns. */
static const double LINE_COST = 10;
enum {
  LINE_FLOATS = 16, /* elements of a line, where they are floats */
  /* First-level caches have 8 ways or more, and are indexed by an address's
     place in its page: rows a page apart compete for the same ways. */
  WAYS = 8, LINE_BYTES = 64, PAGE_BYTES = 4096,
  PAGES = 64, PAGE_WAYS = 4, /* whose addresses a core has at hand, and how many
                 of those that are a multiple of 16 pages apart, on Intel's */
  /* Of columns of a matrix that a loop goes down, 4 lines of each row stay in
     the second-level cache, of 256 KiB at least, for a thousand rows. */
  COLUMNS_KEPT = 64,
  LOOP_STEPS = 8, /* what an access in a loop counts as: one for each step */
  /* Rows this short are unrolled whole, and the loop round them becomes the
     one that is made into vectors. */
  SHORT_ROW = 4
};
/* What the variables of a group may take before they no longer stay in the
   first-level cache of a core, 32 KiB on nearly all of them; and what those of
   a work-item take at least. That matters where a barrier makes all of them
   wait; else one work-item after the other uses the same place. */
static const double CACHE_BYTES = 32768;
static const double WAITING_BYTES = 32;
/* A GPU starts about one group a clock whatever its size, and in a clock does
   150 to 200 work-items of a kernel that only streams memory: smaller groups
   leave it waiting for starts. */
static const double GPU_START = 256;
/* What one core of a GPU keeps going at a time, in work-items, where it does
   not tell its units and threads: most have 1024 to 2048. A core that is filled
   by k groups loses 1 / (2 k) of itself while each of them drains. */
static const double GPU_RESIDENT = 2048;
/* Nor does it keep more groups than that at a time: 16 on some of NVIDIA's
   (compute capability 7.5 and 8.6) and on AMD's where they have barriers, 24 to
   64 on others. Smaller groups than fill it so leave places empty. */
static const double GPU_GROUPS = 16;
/* Where there are more groups than all cores keep, so many fill one. Loops may
   be short, and then starts count: on an H200 short ones lose a third in groups
   half as large, and loops of many lengths lose 0 to 2 % in these. */
static const double GPU_FULL = 8;

/* A split has to promise this much of the time: it may need compilations of
   its own, and an estimate is not a measurement. */
static const double SPLIT_WORTH = 0.9;

typedef struct Segment {
  uint32_t size, count;
} Segment;

/* One dimension in a row of segments that cover it. */
typedef struct CutList {
  int n;
  struct {
    int segments;
    Segment s[MOST_SEGMENTS];
  } cuts[MOST_CUTS];
} CutList;

typedef struct Rule {
  const lze_GroupInput *in;
  uint32_t n[3];       /* the range */
  uint32_t most;       /* work-items in a group */
  uint32_t size[3];    /* a group's size in each dimension, at most */
  uint32_t count[3];   /* groups in each dimension, at most */
  uint32_t lanes;      /* work-items of one vector or sub-group */
  double units;        /* what works at the same time */
  bool splits;
  /* As the kernel's; where nothing is known, arrays run along x. */
  uint32_t beside[3];
  const Load *loads;
  int load_count;
  double resident;     /* work-items that a core of a GPU keeps going */
  double alone;        /* part of all accesses that no neighbours share */
  bool again;          /* loops read what other rows read, too */
  bool tiles;          /* so groups are to be wide in two dimensions */
  /* On a CPU, where the innermost loop runs along each dimension: which other
     one shares the lines that it goes across, how many of its work-items one
     has, how many lines stay, and what one is waited for. */
  struct {
    int other;
    uint32_t items, kept;
    double wait;
  } lines[3];
} Rule;

/* An index into the cuts of each dimension. */
typedef struct Plan {
  int cut[3];
  double cost;
} Plan;

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* The largest divisor of n that is at most `most`, in at most 2^16 steps. */
static uint32_t largest_divisor(uint32_t n, uint32_t most) {
  if (most >= n) return n;
  if (most <= 65536) {
    while (n % most != 0) most--;
    return most;
  }
  /* Above the square root divisors are found by their counterpart. */
  uint32_t k = n / most + (n % most != 0);
  while (k < 65536 && n % k != 0) k++;
  return n % k == 0 ? n / k : largest_divisor(n, 65536);
}

/* The smallest size that divides n into at most `count` groups. */
static uint32_t smallest_size(uint32_t n, uint32_t count) {
  return n / largest_divisor(n, count);
}

bool lze_group_splits(const lze_GroupInput *in) {
  const uint32_t notices = SPIRV_USES_BARRIER | SPIRV_USES_LOCAL |
                           SPIRV_USES_GROUP_OPS | SPIRV_USES_SUBGROUP_OPS |
                           SPIRV_USES_UNKNOWN_CALL;
  return in->offsets && (in->builtins & ~(uint32_t)SPIRV_BUILTIN_GLOBAL_ID) == 0
         && (in->features & notices) == 0 && in->required[0] == 0;
}

/* Why a kernel must have groups that divide its range. */
static const char *why_whole(const lze_GroupInput *in) {
  if (in->required[0] != 0) return "the kernel requires a group size";
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
  return "the driver has no global offsets";
}

/* --- the model ---------------------------------------------------------- */

static double round_up(double n, double to) { return ceil(n / to) * to; }

/* Whether the work-items of a group work together. */
static bool shares(const Rule *r) {
  return r->in->features &
         (SPIRV_USES_BARRIER | SPIRV_USES_LOCAL | SPIRV_USES_GROUP_OPS);
}

/* What a group does once, in light steps. */
static double shared_cost(const Rule *r) {
  if (!shares(r)) return 0;
  bool sweeps = r->in->features & SPIRV_SWEEPS_LOCAL;
  return SHARED_COST + (sweeps ? (double)r->in->local_bytes / SHARED_BYTES : 0);
}

/* The dimension along which a core's innermost loop runs. */
static int inner_dimension(const Rule *r, const uint32_t g[3]) {
  int d = 0;
  while (d < 2 && g[d] <= SHORT_ROW && g[d + 1] > g[d]) d++;
  return d < r->in->dims ? d : 0;
}

/* How many lines of arrays along x a group has a part of only, which another
   group fetches again: two for each run of elements that lie one behind the
   other. A run goes on to the next row where the group has all of a row. */
static double cut_lines(const Rule *r, const uint32_t g[3]) {
  if (r->tiles || r->beside[0] == 0) return 0;
  double runs = 1;
  bool goes_on = true;
  for (int d = 1; d < r->in->dims; d++) {
    goes_on = goes_on && g[d - 1] == r->n[d - 1];
    if (!goes_on) runs *= g[d];
  }
  return 2 * runs;
}

/* How many lines that lie n bytes apart stay in the first-level cache, and
   their pages' addresses at hand, before one of either has no place. */
static uint32_t lines_kept(uint64_t n) {
  uint8_t lines[PAGE_BYTES / LINE_BYTES] = {0}, pages[PAGES / PAGE_WAYS] = {0};
  uint64_t line = UINT64_MAX, page = UINT64_MAX;
  for (uint32_t k = 0; k < MOST_SEARCHED; k++) {
    uint64_t at = k * n;
    if (at / LINE_BYTES != line) {
      line = at / LINE_BYTES;
      if (lines[line % (PAGE_BYTES / LINE_BYTES)]++ == WAYS) return k;
    }
    if (at / PAGE_BYTES != page) {
      page = at / PAGE_BYTES;
      if (pages[page % (PAGES / PAGE_WAYS)]++ == PAGE_WAYS) return k;
    }
  }
  return MOST_SEARCHED;
}

/* What is known of lines where the innermost loop runs along d. */
static void rule_lines(Rule *r, int d) {
  const lze_GroupInput *in = r->in;
  int other = -1;
  for (int e = 0; e < in->dims; e++)
    if (e != d && r->beside[e] > 0 &&
        (other < 0 || r->beside[e] > r->beside[other]))
      other = e;
  if (other < 0 || in->apart[d] == 0) return;
  /* In the array that runs along the other, a row, or a plane, lies between. */
  uint32_t spacing = in->spacing[other];
  if (spacing < sizeof(float)) spacing = sizeof(float); /* as was measured */
  uint64_t apart = spacing;
  r->lines[d].items = spacing < LINE_BYTES ? LINE_BYTES / spacing : 1;
  for (int e = other; e != d; e += other < d ? 1 : -1) apart *= r->n[e];
  /* Of rows that short many are in one line, if no array has them apart. */
  if (!r->tiles && apart < LINE_BYTES) return;
  r->lines[d].other = other;
  r->lines[d].kept = lines_kept(apart);
  r->lines[d].wait = LINE_COST * least(in->apart[d], r->beside[other]);
}

/* What a work-item waits for lines that its neighbours in the innermost loop
   do not use, though those along another dimension do: where the group is wide
   in that too, and the lines are still there when it gets to them, they are
   shared by as many work-items. */
static double cpu_lines(const Rule *r, const uint32_t g[3], int inner) {
  double wait = r->lines[inner].wait;
  int other = r->lines[inner].other;
  if (wait == 0 || g[inner] > r->lines[inner].kept) return wait;
  /* Only whole lines are not shared with the next group, which comes late. */
  uint32_t items = r->lines[inner].items;
  bool whole = g[other] % items == 0 && r->n[other] % items == 0;
  double lines = (double)(g[other] - !whole) / items + !whole;
  return wait * lines / g[other];
}

/* What a light step of a work-item waits for what its loops read at other
   lines each time, side by side along one dimension: it comes again for every
   row of the group along the others, unless it is still there. */
static double cpu_again(const Rule *r, const uint32_t g[3]) {
  double waits = 0;
  for (int d = 0; d < r->in->dims; d++) {
    int wide = d == 0 ? 1 : 0; /* the dimension that it is side by side in */
    for (int e = 0; e < r->in->dims; e++)
      if (e != d && r->beside[e] > r->beside[wide]) wide = e;
    double lines = ceil((double)g[wide] / LINE_FLOATS) / g[wide];
    if (g[wide] <= COLUMNS_KEPT) lines /= g[d];
    waits += LINE_COST * r->in->again[d] / LOOP_STEPS * lines;
  }
  return waits;
}

/* What one group takes on a core. */
static double cpu_group(const Rule *r, const uint32_t g[3],
                        const Load *load) {
  const lze_GroupInput *in = r->in;
  int inner = inner_dimension(r, g);
  double items = (double)g[0] * g[1] * g[2], rows = items / g[inner];
  double variables = items * (WAITING_BYTES + (double)in->private_bytes +
                              (double)in->spill_bytes);
  double steps = items;
  /* Vectors run along the innermost loop; what they leave goes singly, and so
     does everything whose accesses are apart there. */
  bool barriers = in->features & SPIRV_USES_BARRIER;
  if (load->vectors && g[inner] >= (barriers ? r->lanes : VECTOR_ROW) &&
      in->apart[inner] <= r->beside[inner])
    steps = rows * (g[inner] / r->lanes + g[inner] % r->lanes);
  /* Every second access or so waits for the next level of the cache. */
  if (barriers && variables > CACHE_BYTES) steps *= 1.5;
  double cost = GROUP_COST + (rows - 1) * ROW_COST + steps * load->item +
                items * cpu_lines(r, g, inner) +
                items * load->item * cpu_again(r, g) +
                LINE_COST * cut_lines(r, g);
  cost += shared_cost(r);
  /* In loops that halve the group, as sums do, there is one for each half. */
  if (barriers && items > UNROLLED)
    cost += items * BARRIER_COST *
            (in->features & SPIRV_HAS_LOOPS ? ceil(log2(items)) : 1);
  return cost;
}

/* How many times more lines than it needs a group of a GPU moves, on average
   of all accesses, those along x, say, where neighbours along x share lines.
   A sub-group, which is a row of work-items, asks for each of its lines once;
   what the sub-groups of a group share is asked for again but comes out of the
   core's own cache, or is put together there. Which of the two holds a kernel
   up is not known: the mean of them is taken. Stores count twice: what groups
   read next to each other is found in a cache that their core has, through
   which they write one by one. Accesses that no work-items have side by side
   move what they need. */
static double gpu_lines(const Rule *r, const uint32_t g[3]) {
  double moved = 0, accesses = 0;
  uint32_t before = 1; /* work-items that lie between two neighbours */
  for (int d = 0; d < 3; d++) {
    double line = least(GPU_LINE, r->n[d]);
    double weight = r->beside[d] + r->in->stores[d];
    uint32_t run = least(g[d], r->lanes / before);
    if (run == 0) run = 1;
    moved += weight * (fmax(line / run, 1) + fmax(line / g[d], 1)) / 2;
    accesses += weight;
    before = (uint64_t)before * g[d] > r->lanes ? r->lanes : before * g[d];
  }
  return r->alone + (1 - r->alone) * moved / accesses;
}

/* How many times as long a sub-group of a GPU waits for what it reads as one
   whose work-items share all lines: others come one after the other, those of a
   whole sub-group in about the time of the first. */
static double gpu_wait(const Rule *r, double items) {
  return 1 + r->alone * fmin(items / r->lanes, 1);
}

/* What all groups take of a GPU: the work-items whose places they hold. */
static double gpu_cost(const Rule *r, const uint32_t g[3], double groups,
                       const Load *load) {
  double cores = r->in->core_units > 0 ? r->units / r->in->core_units
                                       : r->units;
  double items = (double)g[0] * g[1] * g[2];
  double held = round_up(items, r->lanes);
  bool is_light = load->item <= 1;
  double start = is_light ? GPU_START : r->resident / GPU_FULL;
  if (held < start && (is_light || groups > cores * GPU_GROUPS))
    held = start;
  /* Cores with less work than this take as long, and cannot hide what their
     sub-groups wait for. */
  double least_held = cores * (is_light ? GPU_START
                                        : r->resident / GPU_GROUPS);
  bool hides = is_light || held * groups >= least_held;
  /* Where there are fewer groups than cores, some cores have none. */
  if (groups < cores) groups = cores;
  held = fmax(held * groups, least_held) * (hides ? 1 : gpu_wait(r, items));
  held *= (1 + items / (2 * r->resident)) * gpu_lines(r, g);
  /* Fewer groups fit where their local memory fills the core first. */
  if (r->in->device_local_bytes != 0) {
    double wanted = (double)r->in->local_bytes * r->resident / items;
    double there = (double)r->in->device_local_bytes;
    if (wanted > there) held *= wanted / there;
  }
  return (held * load->item + groups * shared_cost(r)) / r->lanes / r->units;
}

/* What one launch takes on the device. */
static double part_cost(const Rule *r, const uint32_t g[3],
                        const uint32_t count[3], const Load *load) {
  double groups = (double)count[0] * count[1] * count[2];
  if (!r->in->software) return gpu_cost(r, g, groups, load);
  /* Cores take group after group; the last ones leave some idle, for half a
     group on average where work-items differ in length. */
  if (groups == 1) return cpu_group(r, g, load);
  double turns = round_up(groups, r->units) / r->units + 0.5;
  bool may_be_long = r->in->features & SPIRV_HAS_LONG_LOOPS;
  double wake = may_be_long ? 0 : WAKE_COST * fmin(r->units - 1, MOST_WOKEN);
  return wake + turns * cpu_group(r, g, load);
}

/* --- cuts --------------------------------------------------------------- */

/* Add a body of groups of g and what they leave. The rest of a CPU is made of
   two sizes only, because each is a compilation; a GPU takes it as it is. */
static void add_cut(const Rule *r, CutList *l, int d, uint32_t g) {
  uint32_t n = r->n[d];
  if (l->n == MOST_CUTS) return;
  Segment s[MOST_SEGMENTS] = {{g, n / g}};
  int segments = 1;
  uint32_t rest = n % g;
  if (rest != 0 && !r->splits) return;
  if (rest != 0 && !r->in->software) {
    s[segments++] = (Segment){rest, 1};
  } else if (rest != 0) {
    uint32_t single = rest <= n / REST_PART ? rest : rest % ROW_SIZE;
    if (single < rest)
      s[segments++] = (Segment){ROW_SIZE, (rest - single) / ROW_SIZE};
    if (single > 0) s[segments++] = (Segment){1, single};
  }
  uint64_t offset = r->in->offset[d];
  for (int k = 0; k < segments; k++) {
    if (s[k].size > r->size[d] || s[k].count > r->count[d] ||
        offset > UINT32_MAX)
      return;
    offset += (uint64_t)s[k].size * s[k].count;
  }
  l->cuts[l->n].segments = segments;
  memcpy(l->cuts[l->n].s, s, sizeof s);
  l->n++;
}

/* The cuts worth judging: of each octave of sizes (there are 13) the largest
   that leaves least, which is a divisor where nothing may be left, the power of
   two and, along the first dimension, the largest divisor that is whole
   vectors; the smallest divisor that keeps to the limit of groups; and where a
   rest is allowed a few sizes that waste nothing by themselves. */
static void list_cuts(const Rule *r, CutList *l, int d) {
  uint32_t n = r->n[d], most = least(least(n, r->size[d]), r->most);
  uint32_t fewest = smallest_size(n, r->count[d]), best = 0, whole = 0;
  /* A size that leaves little is worth a compilation of its own where groups
     are to be wide in two dimensions, and where it leaves whole rows, which are
     as fast by themselves: one of them is little in any range. */
  bool leaves = r->splits && r->in->software && !r->again;
  uint32_t spare = 0, rest;
  if (leaves && r->tiles) spare = n / REST_PART;
  if (leaves && !r->tiles && d > 0) spare = n / REST_PART + 1;
  rest = spare + 1;
  l->n = 0;
  if (n <= most) add_cut(r, l, d, n);
  for (uint32_t g = least(most, MOST_SEARCHED); g >= 1; g--) {
    if (n % g < rest) {
      best = g;
      rest = n % g;
    }
    if (whole == 0 && d == 0 && n % g == 0 && g % r->lanes == 0) whole = g;
    if ((g & (g - 1)) != 0) continue;
    /* The end of an octave.  A power of two that leaves as little as may be is
       better than another size: compilers unroll its loops. */
    if (rest != 0 && n % g <= spare) best = g;
    if (best != 0) add_cut(r, l, d, best);
    if (whole != 0 && whole != best) add_cut(r, l, d, whole);
    if (g != best && g != whole && n % g == 0) add_cut(r, l, d, g);
    best = whole = 0;
    rest = spare + 1;
  }
  if (fewest <= most) add_cut(r, l, d, fewest);
  if (!r->splits) return;
  /* A handful of sizes, as each is a compilation on a CPU: powers of two, then
     whole vectors of any width, one of which may leave a smaller rest. */
  uint32_t least_body = r->in->software ? (r->tiles ? LINE_FLOATS : ROW_SIZE)
                        : d == 0        ? GPU_LINE
                                        : 2;
  for (uint32_t g = least_body; g < 512 && g < most; g *= 2)
    if (n % g != 0) add_cut(r, l, d, g);
  for (uint32_t g = 512; g <= MOST_BODY && g < most; g += ROW_SIZE)
    if (n % g != 0) add_cut(r, l, d, g);
  if (n % most != 0 && (most < MOST_BODY || n / MOST_BODY > r->count[d]))
    add_cut(r, l, d, most);
}

static int plan_parts(const CutList l[3], const int cut[3]) {
  return l[0].cuts[cut[0]].segments * l[1].cuts[cut[1]].segments *
         l[2].cuts[cut[2]].segments;
}

static void plan_part(const CutList l[3], const int cut[3], int k,
                      uint32_t g[3], uint32_t count[3]) {
  for (int d = 0; d < 3; d++) {
    int segments = l[d].cuts[cut[d]].segments;
    const Segment *s = &l[d].cuts[cut[d]].s[k % segments];
    g[d] = s->size;
    count[d] = s->count;
    k /= segments;
  }
}

/* What the loads take, multiplied: the smallest product has the best geometric
   mean. */
static double plan_cost(const Rule *r, const CutList l[3], const int cut[3]) {
  int parts = plan_parts(l, cut);
  double cost[MOST_LOADS], product = 1;
  for (int k = 0; k < r->load_count; k++) cost[k] = parts * LAUNCH_COST;
  for (int p = 0; p < parts; p++) {
    uint32_t g[3], count[3];
    plan_part(l, cut, p, g, count);
    for (int k = 0; k < r->load_count; k++)
      cost[k] += part_cost(r, g, count, &r->loads[k]);
  }
  for (int k = 0; k < r->load_count; k++) product *= cost[k];
  return r->load_count == 2 ? sqrt(product) : product;
}

/* The cheapest legal plan in one launch and the cheapest in several. Returns
   the better one, or NULL where no combination is legal. */
static const Plan *find_plan(const Rule *r, const CutList l[3], Plan best[2]) {
  best[0].cost = best[1].cost = -1;
  for (int x = 0; x < l[0].n; x++)
    for (int y = 0; y < l[1].n; y++) {
      uint64_t xy = (uint64_t)l[0].cuts[x].s[0].size * l[1].cuts[y].s[0].size;
      if (xy > r->most) continue;
      for (int z = 0; z < l[2].n; z++) {
        if (xy * l[2].cuts[z].s[0].size > r->most) continue;
        int cut[3] = {x, y, z}, parts = plan_parts(l, cut);
        if (parts > LZE_MAX_PARTS) continue;
        double cost = plan_cost(r, l, cut);
        Plan *p = &best[parts > 1];
        if (p->cost < 0 || cost < p->cost) *p = (Plan){{x, y, z}, cost};
      }
    }
  if (best[0].cost < 0) return best[1].cost < 0 ? NULL : &best[1];
  return best[1].cost >= 0 && best[1].cost < best[0].cost * SPLIT_WORTH
             ? &best[1]
             : &best[0];
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
  for (int d = 0; d < dims; d++) add(w, d == 0 ? "%lu" : "x%lu",
                                     (unsigned long)g[d]);
}

static double part_groups(const lze_GroupPart *p) {
  return (double)p->count[0] * p->count[1] * p->count[2];
}

/* "; 67 left over as 1 of 64 and 3 of 1" */
static void add_rest(Words *w, int dims, const lze_GroupChoice *out) {
  double items = 0;
  for (int k = 1; k < out->count; k++) {
    const uint32_t *g = out->parts[k].group;
    items += part_groups(&out->parts[k]) * g[0] * g[1] * g[2];
  }
  add(w, "; %.0f left over as", items);
  if (out->count > 3) {
    add(w, " %d tails", out->count - 1);
    return;
  }
  for (int k = 1; k < out->count; k++) {
    add(w, k == 1 ? " %.0f of " : " and %.0f of ", part_groups(&out->parts[k]));
    add_size(w, dims, out->parts[k].group);
  }
}

/* --- the choice --------------------------------------------------------- */

static void write_parts(const Rule *r, const CutList l[3], const int cut[3],
                        lze_GroupChoice *out) {
  out->count = plan_parts(l, cut);
  for (int k = 0; k < out->count; k++) {
    lze_GroupPart *p = &out->parts[k];
    int rest = k;
    plan_part(l, cut, k, p->group, p->count);
    for (int d = 0; d < 3; d++) {
      uint32_t offset = (uint32_t)r->in->offset[d];
      int segment = rest % l[d].cuts[cut[d]].segments;
      for (int s = 0; s < segment; s++)
        offset += l[d].cuts[cut[d]].s[s].size * l[d].cuts[cut[d]].s[s].count;
      p->offset[d] = offset;
      rest /= l[d].cuts[cut[d]].segments;
    }
  }
}

/* "128x8 of 1920x1080: " */
static void start_words(const Rule *r, const lze_GroupChoice *out, Words *w) {
  add_size(w, r->in->dims, out->parts[0].group);
  add(w, " of ");
  add_size(w, r->in->dims, r->n);
  add(w, ": ");
}

static const char axis[] = "xyz";

/* A group that the user or the kernel names: legal, or why it is not. */
static bool take_size(const Rule *r, const uint32_t g[3], const char *whose,
                      lze_GroupChoice *out) {
  Words w = {out->why, sizeof out->why};
  CutList l[3];
  static const int first[3] = {0, 0, 0};
  uint64_t items = 1;
  bool whole = true;
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
    whole = whole && r->n[d] % g[d] == 0;
  }
  if (!whole && !r->splits) {
    add(&w, "%s ", whose);
    add_size(&w, r->in->dims, g);
    for (int d = r->in->dims; d < 3; d++)
      if (g[d] != 1) add(&w, "x%lu", (unsigned long)g[d]);
    add(&w, " does not divide the range ");
    add_size(&w, r->in->dims, r->n);
    add(&w, ", which it must because %s", why_whole(r->in));
    return false;
  }
  for (int d = 0; d < 3; d++) {
    l[d].n = 0;
    add_cut(r, &l[d], d, least(g[d], r->n[d]));
    if (l[d].n == 0) {
      add(&w, "%s %lu would need more than the %lu groups there may be along "
          "%c, or an offset of more than 32 bits", whose, (unsigned long)g[d],
          (unsigned long)r->count[d], axis[d]);
      return false;
    }
  }
  if (plan_parts(l, first) > LZE_MAX_PARTS) {
    add(&w, "%s ", whose);
    add_size(&w, 3, g);
    add(&w, " leaves more than %d tails", LZE_MAX_PARTS - 1);
    return false;
  }
  write_parts(r, l, first, out);
  start_words(r, out, &w);
  add(&w, "%s", whose);
  if (out->count > 1) add_rest(&w, r->in->dims, out);
  return true;
}

/* TornadoVM's size along one dimension: the largest divisor, but never the
   limit itself where that is the whole range. */
static uint32_t tornado_size(uint32_t n, uint32_t most) {
  if (most == n) most /= 4;
  return largest_divisor(n, least(n, most > 0 ? most : 1));
}

/* The largest k with k * k <= n. */
static uint32_t square_root(uint32_t n) {
  uint32_t k = 0;
  for (uint32_t bit = 1u << 15; bit != 0; bit >>= 1)
    if ((uint64_t)(k + bit) * (k + bit) <= n) k += bit;
  return k;
}

/* The sizes of the policies that follow a rule of somebody else. */
static const char *policy_size(const Rule *r, uint32_t g[3]) {
  uint32_t left = r->most;
  g[0] = g[1] = g[2] = 1;
  switch (r->in->policy) {
    case LZE_POLICY_DRIVER:
    case LZE_POLICY_TUNED:
      for (int d = 0; d < 3; d++)
        if (r->in->suggested[d] != 0) g[d] = r->in->suggested[d];
      return r->in->policy == LZE_POLICY_DRIVER ? "the driver's suggestion"
                                                : "measured by lze.tune";
    case LZE_POLICY_LARGEST:
      for (int d = 0; d < 3; d++) {
        g[d] = largest_divisor(r->n[d], least(least(left, r->size[d]),
                                              r->n[d]));
        left /= g[d];
      }
      return "the largest that divides it";
    case LZE_POLICY_ONEAPI_JL: {
      /* Spills are kept to 1 MiB a group, by a power of two. */
      uint64_t spill = r->in->spill_bytes;
      if (spill != 0 && left > SPILL_BYTES / spill) {
        left = 1;
        while ((uint64_t)left * 2 * spill <= SPILL_BYTES) left *= 2;
      }
      for (int d = 0; d < 3; d++) {
        g[d] = least(least(left, r->size[d]), r->n[d]);
        left /= g[d];
      }
      return "oneAPI.jl's rule";
    }
    default:
      if (r->in->dims > 1) left = square_root(left);
      for (int d = 0; d < r->in->dims && d < 2; d++)
        g[d] = tornado_size(r->n[d], least(left, r->size[d]));
      return "TornadoVM's rule";
  }
}

/* "; neighbours along y share memory", where that is not along x. */
static void add_fast(const Rule *r, Words *w) {
  int fast = 0;
  for (int d = 1; d < r->in->dims; d++)
    if (r->beside[d] > r->beside[fast]) fast = d;
  if (fast != 0) add(w, "; its accesses run along %c", axis[fast]);
  if (r->again) add(w, "; its rows share what its loops read");
}

/* What the arrays of a kernel in local memory tell of its group: one that
   never asks for its size was written for exactly as many work-items as they
   have places for. Returns whether it has such a size. */
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

/* Whether a group of more than one work-item divides the range. */
static bool is_divided(const Rule *r) {
  for (int d = 0; d < 3; d++)
    if (largest_divisor(r->n[d], r->most) > 1) return true;
  return false;
}

static bool take_plan(const Rule *r, const char *instead,
                      lze_GroupChoice *out) {
  Words w = {out->why, sizeof out->why};
  CutList l[3];
  Plan best[2];
  for (int d = 0; d < 3; d++) list_cuts(r, &l[d], d);
  const Plan *p = find_plan(r, l, best);
  if (p == NULL) {
    add(&w, "no group of at most %lu work-items cuts the range ",
        (unsigned long)r->most);
    add_size(&w, r->in->dims, r->n);
    add(&w, " into few enough groups (%lux%lux%lu)",
        (unsigned long)r->count[0], (unsigned long)r->count[1],
        (unsigned long)r->count[2]);
    return false;
  }
  write_parts(r, l, p->cut, out);
  if (instead != NULL) add(&w, "%s does not fit; ", instead);
  start_words(r, out, &w);
  const uint32_t *g = out->parts[0].group;
  const char *units = r->in->software ? "cores" : "execution units";
  double groups = part_groups(&out->parts[0]);
  if (out->count > 1) {
    add(&w, "%.0f groups for %.0f %s", groups, r->units, units);
    add_rest(&w, r->in->dims, out);
  } else if (groups == 1) {
    add(&w, "all of it in one group");
  } else if (g[0] == 1 && g[1] == 1 && g[2] == 1 && !r->splits &&
             !is_divided(r)) {
    add(&w, "no other size up to %lu divides it, as it must because %s",
        (unsigned long)r->most, why_whole(r->in));
  } else {
    add(&w, "divides it into %.0f groups for %.0f %s", groups, r->units, units);
    if (!r->splits) add(&w, "; it must divide because %s", why_whole(r->in));
  }
  if (groups > 1) add_fast(r, &w);
  return true;
}

/* A limit of 0 is unknown. */
static uint32_t limit(uint32_t n) { return n == 0 ? UINT32_MAX : n; }

/* What the rule goes by. Returns false, with the reason in words, where the
   range or its offset cannot be. */
static bool rule_init(Rule *r, const lze_GroupInput *in, Words *w) {
  *r = (Rule){.in = in, .splits = lze_group_splits(in)};
  r->most = least(limit(in->max_total), limit(in->kernel_max));
  r->units = in->units == 0 ? 1 : in->units;
  /* A CPU that does not tell has vectors of 8 floats, the middle of what there
     is. No GPU has sub-groups of fewer than 8: a driver that says so knows
     none, and groups of whole 32s are whole 8s and 16s, too. */
  if (in->software)
    r->lanes = in->simd > 1 ? in->simd : 8;
  else
    r->lanes = in->kernel_subgroup >= 8 ? in->kernel_subgroup
               : in->simd >= 8          ? in->simd
                                        : 32;
  if (r->lanes > ROW_SIZE) r->lanes = ROW_SIZE;
  /* One thread is a driver's that knows none. */
  r->resident = in->threads_per_unit > 1 && in->core_units > 0
                    ? (double)in->core_units * in->threads_per_unit * r->lanes
                    : GPU_RESIDENT;
  memcpy(r->beside, in->beside, sizeof r->beside);
  if (r->beside[0] == 0 && r->beside[1] == 0 && r->beside[2] == 0)
    r->beside[0] = 1;
  int beside = 0;
  for (int d = 0; d < in->dims; d++) {
    r->again = r->again || (in->software && in->again[d] != 0);
    beside += in->beside[d] != 0;
  }
  r->tiles = r->again || beside > 1;
  /* Those along another dimension are apart along the first. */
  double alone = fmax(
      (double)in->apart[0] - r->beside[1] - r->beside[2], 0);
  r->alone = alone / (alone + r->beside[0] + r->beside[1] + r->beside[2]);
  bool is_heavy = in->features & (SPIRV_HAS_LOOPS | SPIRV_HAS_LONG_MATHS |
                                  SPIRV_USES_UNKNOWN_CALL);
  r->loads = is_heavy ? heavy : light;
  r->load_count = is_heavy ? 2 : 1;
  if (is_heavy && r->again) { /* no vectors: they go along the innermost loop */
    r->loads++;
    r->load_count--;
  }
  for (int d = 0; d < 3; d++) {
    if (in->global[d] == 0 || in->global[d] > UINT32_MAX) {
      add(w, "a range of %llu along %c is not in 1 .. 2^32-1",
          (unsigned long long)in->global[d], axis[d]);
      return false;
    }
    if (in->offset[d] > UINT32_MAX || (in->offset[d] != 0 && !in->offsets)) {
      add(w, in->offsets ? "an offset of %llu along %c is over 2^32-1"
                          : "the driver has no global offsets, and %llu is "
                            "asked for along %c",
          (unsigned long long)in->offset[d], axis[d]);
      return false;
    }
    r->n[d] = (uint32_t)in->global[d];
    r->size[d] = limit(in->max_size[d]);
    r->count[d] = limit(in->max_count[d]);
  }
  for (int d = 0; in->software && d < in->dims; d++) rule_lines(r, d);
  return true;
}

/* A size of lze's choice must not write past an array's end. */
static void rule_fit(Rule *r) {
  for (int d = 0; d < 3; d++)
    r->size[d] = least(r->size[d], limit(r->in->local_fit[d]));
  r->most = least(r->most, limit(r->in->local_items));
}

bool lze_group_choose(const lze_GroupInput *in, lze_GroupChoice *out) {
  Rule r;
  Words w = {out->why, sizeof out->why};
  uint32_t g[3];
  out->count = 0;
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
  bool heuristic = in->policy == LZE_POLICY_LZE ||
                   (in->policy == LZE_POLICY_TUNED && in->suggested[0] == 0);
  if (!heuristic)
    whose = policy_size(&r, g);
  else if (fixed_size(&r, g))
    whose = "what its local memory has places for";
  /* Somebody else's rule may not fit here; the range still has to run. */
  if (whose != NULL && take_size(&r, g, whose, out)) return true;
  return take_plan(&r, whose, out);
}

/* --- sizes that are there ------------------------------------------------ */

/* A compilation, in nanoseconds: 30 to 60 ms, and 60 to 600 for groups of more
   than a row. */
static const double COMPILATION_COST = 40e6;
static const double ROWS_COMPILATION_COST = 120e6;

static struct lze_Variant variant_of(const lze_GroupPart *p) {
  struct lze_Variant v = {{p->group[0], p->group[1], p->group[2]}, 0, 0};
  for (int d = 0; d < 3; d++) {
    v.offset = v.offset || p->offset[d] != 0;
    v.large = v.large || (uint64_t)p->group[d] * p->count[d] >= PREPARE_LARGE;
  }
  return v;
}

static bool variant_same(const struct lze_Variant *a,
                         const struct lze_Variant *b) {
  return memcmp(a->group, b->group, sizeof a->group) == 0 &&
         a->offset == b->offset && a->large == b->large;
}

static bool variant_is_known(const lze_Variants *known,
                             const struct lze_Variant *v) {
  for (int i = 0; i < known->count; i++)
    if (variant_same(&known->list[i], v)) return true;
  return false;
}

void lze_variant_add(lze_Variants *known, const lze_GroupPart *part) {
  enum { ROOM = sizeof known->list / sizeof *known->list };
  struct lze_Variant v = variant_of(part);
  if (variant_is_known(known, &v)) return;
  if (known->count == ROOM)
    memmove(&known->list[0], &known->list[1],
            (size_t)--known->count * sizeof known->list[0]);
  known->list[known->count++] = v;
}

/* What compiling the variants takes that these parts need and lack. */
static double price_unknown(const lze_Variants *known,
                            const lze_GroupChoice *choice) {
  lze_Variants more = {0};
  double price = 0;
  for (int i = 0; i < choice->count; i++) {
    struct lze_Variant v = variant_of(&choice->parts[i]);
    if (!variant_is_known(known, &v)) lze_variant_add(&more, &choice->parts[i]);
  }
  for (int i = 0; i < more.count; i++)
    price += more.list[i].group[1] * more.list[i].group[2] > 1
                 ? ROWS_COMPILATION_COST
                 : COMPILATION_COST;
  return price;
}

/* Whether a tail lacks a size of more than 1 along x, which would serve only
   behind bodies such as this one. */
static bool lacks_tail(const lze_Variants *known,
                       const lze_GroupChoice *choice) {
  for (int i = 1; i < choice->count; i++) {
    struct lze_Variant v = variant_of(&choice->parts[i]);
    if (v.group[0] > 1 && !variant_is_known(known, &v)) return true;
  }
  return false;
}

/* What the launches of these parts take, as plan_cost has it. */
static double choice_cost(const Rule *r, const lze_GroupChoice *choice) {
  double product = 1;
  for (int k = 0; k < r->load_count; k++) {
    double cost = choice->count * LAUNCH_COST;
    for (int p = 0; p < choice->count; p++)
      cost += part_cost(r, choice->parts[p].group, choice->parts[p].count,
                        &r->loads[k]);
    product *= cost;
  }
  return r->load_count == 2 ? sqrt(product) : product;
}

bool lze_group_learns(const lze_GroupInput *in) {
  return in->software && in->policy == LZE_POLICY_LZE && in->given[0] == 0 &&
         lze_group_splits(in);
}

/* Bodies of whole vectors or of one work-item, and of the sizes that are
   there; `row`: of a whole row, too. */
static void list_frugal(const Rule *r, CutList *l, int d,
                        const lze_Variants *known, bool row) {
  uint32_t sizes[3 + sizeof known->list / sizeof *known->list];
  int n = 0;
  sizes[n++] = 1;
  if (d == 0) sizes[n++] = ROW_SIZE;
  if (d == 0 && row) sizes[n++] = r->n[0];
  for (int i = 0; i < known->count; i++) sizes[n++] = known->list[i].group[d];
  l->n = 0;
  for (int i = 0; i < n; i++) {
    bool twice = sizes[i] > r->n[d] || sizes[i] > r->most;
    for (int k = 0; k < i && !twice; k++) twice = sizes[k] == sizes[i];
    if (!twice) add_cut(r, l, d, sizes[i]);
  }
}

bool lze_group_frugal(const lze_GroupInput *in, const lze_Variants *known,
                      uint64_t launches, const lze_GroupChoice *best,
                      lze_GroupChoice *out, lze_Thrift *thrift) {
  Rule r;
  CutList l[3];
  lze_GroupChoice tried;
  Words w = {out->why, sizeof out->why};
  double least_cost = -1, price = price_unknown(known, best);
  bool never = launches == LZE_LAUNCHES_EVER;
  *thrift = (lze_Thrift){.price = never ? INFINITY : price};
  if (price == 0 || !rule_init(&r, in, &w)) return false;
  rule_fit(&r);
  double best_cost = choice_cost(&r, best);
  bool row = !never && in->dims > 1 && known->count == 0;
  for (int d = 0; d < 3; d++) list_frugal(&r, &l[d], d, known, row);
  for (int x = 0; x < l[0].n; x++)
    for (int y = 0; y < l[1].n; y++)
      for (int z = 0; z < l[2].n; z++) {
        int cut[3] = {x, y, z};
        uint64_t items = (uint64_t)l[0].cuts[x].s[0].size *
                         l[1].cuts[y].s[0].size;
        if (items > r.most || items * l[2].cuts[z].s[0].size > r.most ||
            plan_parts(l, cut) > LZE_MAX_PARTS)
          continue;
        write_parts(&r, l, cut, &tried);
        if (lacks_tail(known, &tried)) continue;
        double run = plan_cost(&r, l, cut);
        double paid = never ? 0 : price_unknown(known, &tried);
        double cost = run * (double)launches + paid;
        if (least_cost >= 0 && cost >= least_cost) continue;
        least_cost = cost;
        thrift->cost = run;
        thrift->paid = paid;
        out->count = tried.count;
        memcpy(out->parts, tried.parts, sizeof tried.parts);
      }
  thrift->loss = thrift->cost > best_cost ? thrift->cost - best_cost : 0;
  if (least_cost < 0) return false;
  start_words(&r, out, &w);
  add(&w, "in sizes that are compiled, as %s",
      never ? "LZE_GROUP_LEARN is never" : "this range is new");
  if (out->count > 1) add_rest(&w, in->dims, out);
  return true;
}

/* --- candidates --------------------------------------------------------- */

/* The number of octaves up to n: 0 for 0, 1 for 1, 2 for 2 and 3. */
static int octave(uint64_t n) {
  int k = 0;
  for (; n != 0; n /= 2) k++;
  return k;
}

enum { OCTAVES = 33 };

/* The cheapest plan of each octave of sizes along x and in all; the cost of
   what is not there is negative. */
static void plans_by_octave(const Rule *r, const CutList l[3],
                            Plan best[OCTAVES * OCTAVES]) {
  for (int k = 0; k < OCTAVES * OCTAVES; k++) best[k].cost = -1;
  for (int x = 0; x < l[0].n; x++)
    for (int y = 0; y < l[1].n; y++)
      for (int z = 0; z < l[2].n; z++) {
        int cut[3] = {x, y, z};
        uint64_t items = l[0].cuts[x].s[0].size;
        Plan *p = &best[octave(items) * OCTAVES];
        items *= l[1].cuts[y].s[0].size;
        if (items > r->most) continue;
        items *= l[2].cuts[z].s[0].size;
        if (items > r->most || plan_parts(l, cut) > LZE_MAX_PARTS) continue;
        p += octave(items);
        double cost = plan_cost(r, l, cut);
        if (p->cost < 0 || cost < p->cost) *p = (Plan){{x, y, z}, cost};
      }
}

int lze_group_candidates(const lze_GroupInput *in, uint32_t (*sizes)[3],
                         int most) {
  lze_GroupInput plain = *in;
  lze_GroupChoice first;
  Words w = {first.why, sizeof first.why};
  CutList l[3];
  Rule r;
  Plan best[OCTAVES * OCTAVES];
  uint32_t fixed[3];
  plain.policy = LZE_POLICY_LZE;
  memset(plain.given, 0, sizeof plain.given);
  if (most < 1 || !lze_group_choose(&plain, &first) ||
      !rule_init(&r, &plain, &w))
    return 0;
  memcpy(sizes[0], first.parts[0].group, sizeof sizes[0]);
  rule_fit(&r);
  if (in->required[0] != 0 ||
      (fixed_size(&r, fixed) && memcmp(fixed, sizes[0], sizeof fixed) == 0))
    return 1;
  for (int d = 0; d < 3; d++) list_cuts(&r, &l[d], d);
  plans_by_octave(&r, l, best);
  int n = 1;
  while (n < most) {
    Plan *next = NULL;
    for (int k = 0; k < OCTAVES * OCTAVES; k++)
      if (best[k].cost >= 0 && (next == NULL || best[k].cost < next->cost))
        next = &best[k];
    if (next == NULL) break;
    next->cost = -1;
    for (int d = 0; d < 3; d++)
      sizes[n][d] = l[d].cuts[next->cut[d]].s[0].size;
    if (memcmp(sizes[n], sizes[0], sizeof sizes[0]) != 0) n++;
  }
  return n;
}
