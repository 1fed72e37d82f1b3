/*
 * group_test.c - groups are legal, cover the range exactly and are as intended.
 * SPDX-License-Identifier: MIT
 *
 *   group_test [COUNT [SEED]]    COUNT random inputs, 100000 by default
 */
#include "launch/lze_group.h"
#include "spirv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;
static long checks;

static void fail(int line, const char *what, const lze_GroupInput *in,
                 const lze_GroupChoice *c) {
  fprintf(stderr,
          "%s:%d: %s\n  range %llux%llux%llu offset %llu,%llu,%llu most %u,%u "
          "size %u,%u,%u count %u,%u,%u units %u simd %u cpu %d offsets %d "
          "guards %d builtins %x features %x policy %d required %u,%u,%u "
          "given %u,%u,%u\n"
          "  -> %d parts, %ux%ux%u first: %s\n",
          __FILE__, line, what, (unsigned long long)in->global[0],
          (unsigned long long)in->global[1], (unsigned long long)in->global[2],
          (unsigned long long)in->offset[0], (unsigned long long)in->offset[1],
          (unsigned long long)in->offset[2], in->max_total, in->kernel_max,
          in->max_size[0], in->max_size[1], in->max_size[2], in->max_count[0],
          in->max_count[1], in->max_count[2], in->units, in->simd,
          in->software, in->offsets, in->guards, in->builtins, in->features,
          (int)in->policy, in->required[0], in->required[1], in->required[2],
          in->given[0], in->given[1], in->given[2], c->count,
          c->parts[0].group[0], c->parts[0].group[1], c->parts[0].group[2],
          c->why);
  if (++failures > 20) exit(1);
}

#define REQUIRE(condition) \
  (checks++, (condition) ? (void)0 : fail(__LINE__, #condition, in, c))

/* --- what holds for every input ----------------------------------------- */

typedef unsigned __int128 volume;

static uint32_t stated(uint32_t limit) {
  return limit == 0 ? UINT32_MAX : limit;
}

static uint64_t part_end(const lze_GroupInput *in, const lze_GroupPart *p,
                         int d) {
  uint64_t end = p->first[d] + (uint64_t)p->group[d] * p->count[d];
  uint64_t last = in->offset[d] + in->global[d];
  return end < last ? end : last;
}

/* All parts have the same legal size.  Whole groups stay inside the range;
   guarded groups contain work-items of it.  Inside the range the parts are
   disjoint and together as large as it is, so they cover every work-item
   once. */
static void check_parts(const lze_GroupInput *in, const lze_GroupChoice *c) {
  volume sum = 0, range = 1;
  REQUIRE(c->count >= 1 && c->count <= LZE_MAX_PARTS);
  REQUIRE(c->whole == 0 || c->whole == 1);
  REQUIRE(in->guards || (c->count == 1 && c->whole == 1));
  if (!in->software) REQUIRE(c->count == 1);
  for (int d = 0; d < 3; d++) range *= in->global[d];
  for (int k = 0; k < c->count; k++) {
    const lze_GroupPart *p = &c->parts[k];
    volume items = 1, size = 1;
    REQUIRE(memcmp(p->group, c->parts[0].group, sizeof p->group) == 0);
    for (int d = 0; d < 3; d++) {
      uint64_t begin = p->first[d], length = (uint64_t)p->group[d] *
                                              p->count[d];
      REQUIRE(p->group[d] >= 1 && p->count[d] >= 1);
      REQUIRE(p->group[d] <= stated(in->max_size[d]));
      REQUIRE(p->count[d] <= stated(in->max_count[d]));
      REQUIRE(begin >= in->offset[d]);
      REQUIRE(begin - in->offset[d] < in->global[d]);
      if (k < c->whole) REQUIRE(in->offsets || begin == 0);
      if (k < c->whole)
        REQUIRE(begin - in->offset[d] + length <= in->global[d]);
      else
        REQUIRE(begin - in->offset[d] + length < in->global[d] + p->group[d]);
      size *= p->group[d];
      items *= part_end(in, p, d) - begin;
    }
    REQUIRE(size <= stated(in->max_total));
    REQUIRE(size <= stated(in->kernel_max));
    if (in->given[0] == 0 && in->required[0] == 0) {
      REQUIRE(size <= stated(in->local_items));
      for (int d = 0; d < 3; d++)
        REQUIRE(p->group[d] <= stated(in->local_fit[d]));
    }
    sum += items;
    for (int j = 0; j < k; j++) {
      const lze_GroupPart *q = &c->parts[j];
      bool apart = false;
      for (int d = 0; d < 3; d++)
        apart = apart || part_end(in, p, d) <= q->first[d] ||
                part_end(in, q, d) <= p->first[d];
      REQUIRE(apart);
    }
  }
  REQUIRE(sum == range);
}

/* Returns true if groups that divide the range can keep to the limits. */
static bool divisible(const lze_GroupInput *in) {
  volume size = 1;
  for (int d = 0; d < 3; d++) {
    uint64_t n = in->global[d], most = stated(in->max_count[d]);
    uint64_t g = (n + most - 1) / most;
    while (g < 65536 && n % g != 0) g++;
    if (n % g != 0) { /* fewer than 65536 groups divide it */
      if (most > 65536) most = 65536;
      while (n % most != 0) most--;
      g = n / most;
    }
    if (g > stated(in->max_size[d]) || g > stated(in->local_fit[d]))
      return false;
    size *= g;
  }
  return size <= stated(in->max_total) && size <= stated(in->kernel_max) &&
         size <= stated(in->local_items);
}

static void check_choice(const lze_GroupInput *in) {
  lze_GroupChoice first, again, *c = &first;
  memset(&first, 0xaa, sizeof first);
  memset(&again, 0x55, sizeof again);
  bool ok = lze_group_choose(in, &first);
  REQUIRE(lze_group_choose(in, &again) == ok);
  REQUIRE(first.count == again.count);
  REQUIRE(first.count >= 0 && first.count <= LZE_MAX_PARTS);
  REQUIRE(memcmp(first.parts, again.parts,
                 (size_t)first.count * sizeof *first.parts) == 0);
  REQUIRE(memchr(first.why, 0, sizeof first.why) != NULL);
  REQUIRE(strcmp(first.why, again.why) == 0);
  REQUIRE(strlen(first.why) >= 10);
  if (ok) {
    check_parts(in, c);
    for (int d = 0; d < 3; d++) {
      uint32_t one = 1;
      if (in->required[0] != 0)
        REQUIRE(c->parts[0].group[d] ==
                (in->required[d] == 0 ? one : in->required[d]));
      else if (in->given[0] != 0) {
        uint64_t given = in->given[d] == 0 ? one : in->given[d];
        REQUIRE(c->parts[0].group[d] == given);
      }
    }
    return;
  }
  REQUIRE(c->count == 0);
  if (in->given[0] != 0 || in->required[0] != 0) return;
  /* Otherwise only an impossible limit or offset is a reason. */
  bool possible = true, any = true;
  for (int d = 0; d < 3; d++) {
    if (in->offset[d] > UINT32_MAX || (in->offset[d] != 0 && !in->offsets))
      possible = false;
    if (in->global[d] > stated(in->max_count[d])) any = false;
  }
  if (possible) {
    REQUIRE(!any);
    if (!in->guards) REQUIRE(!divisible(in));
  }
}

/* Candidates for measuring are legal and distinct. */
static void check_candidates(const lze_GroupInput *in) {
  enum { MOST = 24 };
  uint32_t sizes[MOST][3];
  lze_GroupChoice choice, *c = &choice;
  lze_GroupInput plain = *in;
  plain.policy = LZE_POLICY_LZE;
  memset(plain.given, 0, sizeof plain.given);
  bool ok = lze_group_choose(&plain, c);
  int n = lze_group_candidates(in, sizes, MOST);
  REQUIRE(n <= MOST && (n > 0) == ok);
  if (n > 0)
    REQUIRE(memcmp(sizes[0], c->parts[0].group, sizeof sizes[0]) == 0);
  for (int k = 0; k < n; k++) {
    for (int j = 0; j < k; j++)
      REQUIRE(memcmp(sizes[j], sizes[k], sizeof sizes[k]) != 0);
    memcpy(plain.given, sizes[k], sizeof plain.given);
    REQUIRE(lze_group_choose(&plain, c));
    uint64_t items = 1;
    for (int d = 0; d < 3; d++) {
      items *= sizes[k][d];
      if (in->required[0] == 0)
        REQUIRE(sizes[k][d] <= stated(in->local_fit[d]));
    }
    if (in->required[0] == 0) REQUIRE(items <= stated(in->local_items));
  }
}

/* --- random inputs ------------------------------------------------------ */

static uint64_t state;

static uint64_t draw(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 8) % below;
}

static uint64_t draw_range(void) {
  static const uint64_t known[] = {
      1, 2, 3, 64, 127, 1000, 1009, 1021, 1024, 4093, 4096, 4099, 65535,
      65536, 65537, 720720, 1000000, 1000003, 16777216, 2147483647,
      4294967291, 4294967294, 4294967295
  };
  switch (draw(5)) {
    case 0: return known[draw(sizeof known / sizeof *known)];
    case 1: return 1 + draw(100);
    case 2: return 1 + draw(5000);
    case 3: return 1 + draw(2000000);
    default: return 1 + draw(UINT32_MAX);
  }
}

static uint32_t draw_limit(void) {
  static const uint32_t known[] = {
      0, 1, 2, 7, 16, 63, 64, 65, 256, 512, 1000, 1024, 4096, 8192, 65536,
      UINT32_MAX
  };
  return known[draw(sizeof known / sizeof *known)];
}

static lze_GroupInput draw_input(void) {
  lze_GroupInput in;
  memset(&in, 0, sizeof in);
  in.software = draw(2);
  in.offsets = draw(8) != 0;
  in.guards = draw(2) != 0;
  in.builtins = draw(2) ? SPIRV_BUILTIN_GLOBAL_ID : (uint32_t)draw(1 << 13);
  in.features = draw(2) ? 0 : (uint32_t)draw(1 << 7);
  in.max_total = draw(3) ? draw(2) ? 4096 : 1024 : draw_limit();
  in.kernel_max = draw(3) ? in.max_total : draw_limit();
  in.units = (uint32_t)draw(1 << draw(12));
  in.simd = (uint32_t)draw(40);
  in.core_units = draw(2) ? 0 : draw_limit();
  in.threads_per_unit = draw(2) ? 0 : draw_limit();
  in.kernel_subgroup = (uint32_t)draw(3) * 16;
  in.local_bytes = draw(3) ? 0 : draw(100000);
  in.features |= draw(2) ? 0 : (uint32_t)draw(1 << 10);
  for (int d = 0; d < 3; d++) {
    in.beside[d] = draw(2) ? 0 : (uint32_t)draw(1u << draw(32));
    in.apart[d] = draw(2) ? 0 : (uint32_t)draw(1u << draw(32));
    in.again[d] = draw(2) ? 0 : (uint32_t)draw(1u << draw(32));
    in.local_fit[d] = draw(8) ? 0 : draw_limit();
  }
  in.local_items = draw(8) ? 0 : draw_limit();
  in.device_local_bytes = draw(2) ? 0 : 65536;
  in.dims = 1 + (int)draw(3);
  in.given_by = "the given group";
  in.policy = draw(2) ? LZE_POLICY_LZE
                      : (lze_Policy)draw(LZE_POLICY_TUNED + 1);
  bool given = draw(6) == 0, required = draw(10) == 0, offset = !draw(5);
  for (int d = 0; d < 3; d++) {
    in.max_size[d] = draw(3) ? in.max_total : draw_limit();
    in.max_count[d] = draw(6) ? UINT32_MAX : draw_limit();
    in.global[d] = d < in.dims ? draw_range() : 1;
    if (offset && d < in.dims)
      in.offset[d] = draw(10) ? draw_range() : draw(UINT64_MAX);
    if (given && d < in.dims) in.given[d] = 1 + (uint32_t)draw(1 << draw(12));
    if (required)
      in.required[d] = draw(2) ? 1 : (uint32_t)in.global[d] % 64 + 1;
    if (draw(3))
      in.suggested[d] = (uint32_t)(draw(3) ? 1 + draw(1024) : draw_range());
  }
  return in;
}

static void check_random(unsigned long count, uint64_t seed) {
  for (unsigned long n = 0; n < count; n++) {
    state = (seed + 1) * 0x9e3779b97f4a7c15u + n * 0xbf58476d1ce4e5b9u;
    if (state == 0) state = 1;
    for (int k = 0; k < 4; k++) draw(2);
    lze_GroupInput in = draw_input();
    check_choice(&in);
    if (n % 16 == 0) check_candidates(&in);
  }
}

/* --- known cases -------------------------------------------------------- */

static lze_GroupInput input(bool software, uint64_t x, uint64_t y, uint64_t z) {
  lze_GroupInput in;
  memset(&in, 0, sizeof in);
  in.software = software;
  in.offsets = in.guards = true;
  in.builtins = SPIRV_BUILTIN_GLOBAL_ID;
  in.kernel_max = in.max_total = software ? 4096 : 1024;
  in.units = software ? 2 : 512;
  in.threads_per_unit = software ? 1 : 8;
  in.simd = software ? 8 : 16;
  in.device_local_bytes = 65536;
  in.given_by = "the given group";
  in.dims = z > 0 ? 3 : y > 0 ? 2 : 1;
  in.global[0] = x;
  in.global[1] = y > 0 ? y : 1;
  in.global[2] = z > 0 ? z : 1;
  for (int d = 0; d < 3; d++) {
    in.max_size[d] = in.max_total;
    in.max_count[d] = UINT32_MAX;
  }
  return in;
}

#define EXPECT(in, parts, x, y, z, why) \
  expect(&(in), parts, x, y, z, why, __LINE__)

/* `parts` is 0 if the choice must fail. */
static void expect(const lze_GroupInput *in, int parts, uint32_t x, uint32_t y,
                   uint32_t z, const char *why, int line) {
  lze_GroupChoice c;
  memset(&c, 0, sizeof c);
  checks++;
  if (lze_group_choose(in, &c) != (parts > 0) || c.count != parts ||
      (parts > 0 && (c.parts[0].group[0] != x || c.parts[0].group[1] != y ||
                     c.parts[0].group[2] != z)))
    fail(line, "another choice", in, &c);
  else if (why != NULL && strcmp(c.why, why) != 0)
    fail(line, "another reason", in, &c);
  check_choice(in);
}

static lze_GroupInput with_barrier(lze_GroupInput in) {
  in.features |= SPIRV_USES_BARRIER;
  in.guards = false;
  return in;
}

static lze_GroupInput with_range(lze_GroupInput in, uint64_t x, uint64_t y,
                                 uint64_t z) {
  in.global[0] = x;
  in.global[1] = y;
  in.global[2] = z;
  return in;
}

static lze_GroupInput with_given(lze_GroupInput in, uint32_t x, uint32_t y,
                                 uint32_t z) {
  in.given[0] = x;
  in.given[1] = y;
  in.given[2] = z;
  return in;
}

static lze_GroupInput with_required(lze_GroupInput in, uint32_t x, uint32_t y,
                                    uint32_t z) {
  in.required[0] = x;
  in.required[1] = y;
  in.required[2] = z;
  return in;
}

static lze_GroupInput with_policy(lze_GroupInput in, lze_Policy policy,
                                  uint32_t suggested) {
  in.policy = policy;
  in.suggested[0] = suggested;
  return in;
}

static void check_known(void) {
  lze_GroupInput in;

  /* One size serves all ranges of a kind. */
  in = input(true, 16777216, 0, 0);
  EXPECT(in, 1, 256, 1, 1, "256 of 16777216: 65536 groups for 2 cores");
  in = input(true, 1000000, 0, 0);
  EXPECT(in, 2, 256, 1, 1, NULL);
  in = input(true, 1920, 1080, 0);
  EXPECT(in, 1, 128, 2, 1, "128x2 of 1920x1080: 8100 groups for 2 cores");
  in = input(true, 1021, 1021, 0);
  EXPECT(in, 3, 128, 2, 1, NULL);
  in = input(true, 1, 1024, 0);
  EXPECT(in, 1, 128, 2, 1, NULL);
  in = input(true, 1, 0, 0);
  EXPECT(in, 1, 256, 1, 1, "256 of 1: all of it in one group; guarded at the "
         "end of the range");

  /* Few work-items share a group, but run one by one if they may take long. */
  in = input(true, 37, 0, 0);
  EXPECT(in, 1, 256, 1, 1, "256 of 37: all of it in one group; guarded at "
         "the end of the range");
  in = input(true, 7, 5, 3);
  EXPECT(in, 1, 32, 2, 16, NULL);
  in.features |= SPIRV_HAS_LOOPS;
  EXPECT(in, 1, 32, 2, 2, NULL);
  in.features |= SPIRV_HAS_LONG_LOOPS;
  EXPECT(in, 1, 1, 1, 1, NULL);
  /* Light groups in three dimensions are larger, with at most three edges. */
  in = input(true, 17, 1021, 129);
  EXPECT(in, 1, 32, 2, 16, NULL);
  in = input(true, 211, 127, 103);
  EXPECT(in, 4, 32, 2, 16, NULL);
  in.units = 16;
  EXPECT(in, 4, 32, 2, 16, NULL);

  /* Heavy groups are smaller. */
  in = input(true, 4096, 0, 0);
  in.features |= SPIRV_HAS_LONG_MATHS;
  in.units = 64;
  EXPECT(in, 1, 128, 1, 1, NULL);

  /* A large range along one dimension. */
  in = input(true, 16777216, 0, 0);
  EXPECT(in, 1, 256, 1, 1, NULL);

  /* Whole groups, and a guarded launch for the edge. */
  in = input(true, 1000003, 0, 0);
  EXPECT(in, 2, 256, 1, 1, "256 of 1000003: 3907 groups for 2 cores; 1 more "
         "launch for the edge");
  in = input(true, 65537, 0, 0);
  EXPECT(in, 2, 256, 1, 1, "256 of 65537: 257 groups for 2 cores; 1 more "
         "launch for the edge");
  in = input(true, 4294967291, 0, 0);
  EXPECT(in, 2, 256, 1, 1, NULL);

  /* A GPU runs the whole range in one guarded launch. */
  in = input(false, 16777216, 0, 0);
  EXPECT(in, 1, 256, 1, 1, "256 of 16777216: 65536 groups for 512 execution "
         "units");
  in = input(false, 1000003, 0, 0);
  EXPECT(in, 1, 256, 1, 1, "256 of 1000003: 3907 groups for 512 execution "
         "units; guarded at the end of the range");

  /* A kernel without a guarded form needs a divisor: for a prime, the whole
     range or 1. */
  in = with_barrier(input(true, 1021, 0, 0));
  EXPECT(in, 1, 1, 1, 1, "1 of 1021: no better size up to 4096 divides it; "
         "it must divide the range because the kernel has barriers");
  in = with_barrier(input(true, 1000003, 0, 0));
  EXPECT(in, 1, 1, 1, 1, "1 of 1000003: no better size up to 4096 divides "
         "it; it must divide the range because the kernel has barriers");
  in = input(true, 8, 0, 0);
  in.guards = false;
  in.builtins |= SPIRV_BUILTIN_GLOBAL_SIZE;
  in.features |= SPIRV_HAS_LOOPS | SPIRV_HAS_LONG_LOOPS;
  in.units = 8;
  EXPECT(in, 1, 1, 1, 1, "1 of 8: no better size up to 4096 divides it; it "
         "must divide the range because the kernel reads the range itself");
  in = with_barrier(input(false, 1000000, 0, 0));
  EXPECT(in, 1, 400, 1, 1, "400 of 1000000: 2500 groups for 512 execution "
         "units; it must divide the range because the kernel has barriers");
  in = input(true, 1000003, 0, 0);
  in.offsets = false;
  EXPECT(in, 2, 256, 1, 1, "256 of 1000003: 3907 groups for 2 cores; 1 more "
         "launch for the edge");
  in = input(true, 1000003, 0, 0);
  in.guards = false;
  in.builtins |= SPIRV_BUILTIN_GLOBAL_SIZE;
  EXPECT(in, 1, 1, 1, 1, "1 of 1000003: no better size up to 4096 divides "
         "it; it must divide the range because the kernel reads the range "
         "itself");

  /* An edge may begin beyond 32 bits; the offset itself may not. */
  in = input(true, 1000003, 0, 0);
  in.offset[0] = 4294967295;
  EXPECT(in, 2, 256, 1, 1, NULL);
  in.offset[0] = 4294967296;
  EXPECT(in, 0, 0, 0, 0, "an offset of 4294967296 along x is over 2^32-1");
  in.offset[0] = 10;
  in.offsets = false;
  EXPECT(in, 1, 256, 1, 1, "256 of 1000003: 3907 groups for 2 cores; guarded "
         "at the end of the range");

  /* Limits on the number of groups. */
  in = with_barrier(input(false, 1u << 30, 0, 0));
  in.max_count[0] = 1 << 20;
  EXPECT(in, 1, 1024, 1, 1, NULL);
  in.max_count[0] = 1 << 19;
  EXPECT(in, 0, 0, 0, 0, "no group of at most 1024 work-items cuts the range "
         "1073741824 into few enough groups (524288x4294967295x4294967295)");

  /* A given group size. */
  in = with_given(input(true, 1000, 0, 0), 64, 0, 0);
  EXPECT(in, 1, 64, 1, 1, "64 of 1000: the given group; guarded at the end "
         "of the range");
  in = with_given(input(true, 10, 0, 0), 64, 0, 0);
  EXPECT(in, 1, 64, 1, 1, "64 of 10: the given group; guarded at the end of "
         "the range");
  in = with_barrier(with_given(input(true, 1000, 0, 0), 64, 0, 0));
  EXPECT(in, 0, 0, 0, 0, "the given group 64 does not divide the range 1000, "
         "which it must because the kernel has barriers");
  in = with_given(input(false, 4096, 4096, 0), 64, 32, 0);
  EXPECT(in, 0, 0, 0, 0, "the given group 64x32x1 is more than the 1024 "
         "work-items a group of it may have");
  in = with_given(input(false, 4096, 4096, 0), 16, 16, 0);
  EXPECT(in, 1, 16, 16, 1, "16x16 of 4096x4096: the given group");
  in = with_given(input(false, 1000, 1000, 0), 16, 16, 0);
  EXPECT(in, 1, 16, 16, 1, "16x16 of 1000x1000: the given group; guarded at "
         "the end of the range");
  in.max_size[1] = 8;
  EXPECT(in, 0, 0, 0, 0, "the given group 16 is more than the 8 a group may "
         "have along y");

  /* A group size that the kernel requires. */
  in = with_required(input(false, 64, 64, 0), 8, 4, 1);
  EXPECT(in, 1, 8, 4, 1, "8x4 of 64x64: the required group");
  in = with_given(in, 8, 4, 1);
  EXPECT(in, 1, 8, 4, 1, NULL);
  in = with_given(in, 8, 8, 1);
  EXPECT(in, 0, 0, 0, 0, "the given group 8x8 is not the 8x4x1 the kernel "
         "requires");
  in = with_required(input(false, 63, 0, 0), 8, 1, 1);
  EXPECT(in, 1, 8, 1, 1, "8 of 63: the required group; guarded at the end of "
         "the range");
  in = with_required(input(false, 64, 0, 0), 8, 4, 2);
  EXPECT(in, 1, 8, 4, 2, "8 of 64: the required group; guarded at the end of "
         "the range");

  /* The other policies. */
  in = with_policy(input(false, 1000000, 0, 0), LZE_POLICY_DRIVER, 64);
  EXPECT(in, 1, 64, 1, 1, "64 of 1000000: the driver's suggestion");
  in = with_barrier(with_policy(in, LZE_POLICY_DRIVER, 63));
  EXPECT(in, 1, 400, 1, 1, "the driver's suggestion does not fit; 400 of "
         "1000000: 2500 groups for 512 execution units; it must divide the "
         "range because the kernel has barriers");
  in = with_policy(input(false, 1000000, 0, 0), LZE_POLICY_LARGEST, 0);
  EXPECT(in, 1, 1000, 1, 1, "1000 of 1000000: the largest that divides it");
  in = with_policy(input(false, 1000003, 0, 0), LZE_POLICY_LARGEST, 0);
  EXPECT(in, 1, 1, 1, 1, NULL);
  in = with_policy(input(false, 33, 65, 129), LZE_POLICY_LARGEST, 0);
  EXPECT(in, 1, 33, 13, 1, NULL);
  in = with_policy(input(false, 1000000, 0, 0), LZE_POLICY_TORNADO, 0);
  EXPECT(in, 1, 1000, 1, 1, "1000 of 1000000: TornadoVM's rule");
  in = with_policy(input(false, 1024, 0, 0), LZE_POLICY_TORNADO, 0);
  EXPECT(in, 1, 256, 1, 1, NULL);
  in = with_policy(input(false, 1920, 1080, 0), LZE_POLICY_TORNADO, 0);
  EXPECT(in, 1, 32, 30, 1, NULL);
  in = with_policy(input(false, 1000003, 0, 0), LZE_POLICY_TORNADO, 0);
  EXPECT(in, 1, 1, 1, 1, NULL);
  in = with_policy(input(false, 1000000, 0, 0), LZE_POLICY_TUNED, 320);
  EXPECT(in, 1, 320, 1, 1, "320 of 1000000: measured by lze.tune");
  in = with_policy(input(false, 16777216, 0, 0), LZE_POLICY_TUNED, 0);
  EXPECT(in, 1, 256, 1, 1, "256 of 16777216: 65536 groups for 512 execution "
         "units");
}

/* A GPU's groups fill its cores even if its driver reports little. */
static void check_gpu(void) {
  static const uint32_t told[] = {0, 1, 8, 16, 32};
  lze_GroupInput in;
  for (size_t k = 0; k < sizeof told / sizeof *told; k++) {
    in = input(false, 1u << 28, 0, 0);
    in.units = 132;
    in.simd = in.kernel_subgroup = told[k];
    EXPECT(in, 1, 256, 1, 1, NULL);
    in.features = SPIRV_HAS_LOOPS;
    EXPECT(in, 1, 256, 1, 1, NULL);
    in.dims = 2;
    in.global[0] = 1000;
    in.global[1] = 1000;
    EXPECT(in, 1, 16, 16, 1, NULL);
    in.global[0] = 1920;
    in.global[1] = 1080;
    EXPECT(in, 1, 128, 2, 1, NULL);
  }
  /* If few work-items may take long, they spread over all cores, a sub-group of
     16 each, or a smaller one if each work-item reads its own lines. */
  in = input(false, 4096, 0, 0);
  in.units = 132;
  in.features = SPIRV_HAS_LOOPS;
  EXPECT(in, 1, 16, 1, 1, NULL);
  in.beside[0] = 1;
  in.apart[0] = 8;
  EXPECT(in, 1, 8, 1, 1, NULL);
  /* No more groups than can run at a time. */
  in.global[0] = 131072;
  EXPECT(in, 1, 64, 1, 1, NULL);
  /* A core with few threads is filled by smaller groups. */
  in = input(false, 1048576, 0, 0);
  in.features = SPIRV_HAS_LOOPS;
  EXPECT(in, 1, 128, 1, 1, NULL);
  in.core_units = 8;
  EXPECT(in, 1, 128, 1, 1, NULL);
  in.threads_per_unit = 1;
  EXPECT(in, 1, 256, 1, 1, NULL);
  /* A group takes a few rows if nothing divides their number. */
  in = input(false, 127, 131, 137);
  in.units = 2;
  EXPECT(in, 1, 128, 1, 2, "128x1x2 of 127x131x137: 9039 groups for 2 "
         "execution units; guarded at the end of the range");
  /* If every group repeats some work, fewer and larger groups are better,
     unless that leaves cores idle. */
  in = with_barrier(input(false, 1048576, 0, 0));
  in.features |= SPIRV_USES_LOCAL | SPIRV_HAS_LOOPS | SPIRV_SWEEPS_LOCAL;
  in.local_bytes = 1024;
  EXPECT(in, 1, 256, 1, 1, NULL);
  in.local_bytes = 16384;
  EXPECT(in, 1, 1024, 1, 1, NULL);
  in.units = 132;
  in.global[0] = 65536;
  EXPECT(in, 1, 512, 1, 1, NULL);
  in.global[0] = 4096;
  EXPECT(in, 1, 128, 1, 1, NULL);
}

/* Groups that fit the kernel's memory accesses. */
static void check_memory(void) {
  lze_GroupInput in;

  /* Accesses along y: the rows of a group are as short as possible. */
  in = input(true, 1021, 1021, 0);
  in.beside[1] = 2;
  in.apart[0] = 2;
  EXPECT(in, 2, 1, 256, 1, "1x256 of 1021x1021: 4084 groups for 2 cores; 1 "
         "more launch for the edge; its accesses run along y");
  in = input(false, 1024, 1024, 0);
  in.beside[1] = 2;
  in.apart[0] = 2;
  EXPECT(in, 1, 1, 256, 1, NULL);
  /* If rows of the range are short, a group is larger in the other dimensions,
     provided that the range is large or its work-items are heavy. */
  in = input(true, 3, 16384, 0);
  in.beside[0] = in.apart[1] = 2;
  EXPECT(in, 1, 128, 2, 1, NULL);
  in = with_range(in, 3, 1024, 573);
  in.dims = 3;
  in.apart[2] = 2;
  EXPECT(in, 1, 4, 2, 128, NULL);
  in.beside[0] = in.beside[1] = in.apart[0] = in.apart[1] = 1;
  EXPECT(in, 1, 4, 256, 1, NULL);
  /* Accesses along both, as in a transposition: as many rows as stay in the
     cache if they are a page apart, and whole lines along y. */
  in = input(true, 1024, 1024, 0);
  in.beside[0] = in.beside[1] = in.apart[0] = in.apart[1] = 1;
  EXPECT(in, 1, 8, 32, 1, NULL);
  in = input(false, 1024, 1024, 0);
  in.beside[0] = in.beside[1] = in.apart[0] = in.apart[1] = 1;
  EXPECT(in, 1, 8, 32, 1, NULL);
  /* On a GPU, the stores of a group are contiguous. */
  in = with_range(in, 211, 127, 103);
  in.stores[1] = 1;
  EXPECT(in, 1, 4, 64, 1, NULL);
  in.stores[0] = 1;
  in.stores[1] = 0;
  EXPECT(in, 1, 8, 32, 1, NULL);
  /* Accesses along x and z: neighbours along x are whole planes of the result
     apart. */
  in = input(true, 256, 256, 64);
  in.beside[0] = in.beside[2] = in.apart[0] = in.apart[2] = 1;
  in.apart[1] = 2;
  EXPECT(in, 1, 8, 2, 64, NULL);
  /* A product of matrices: its loops go down columns and read whole lines,
     which the rows of a group share. */
  in = input(true, 512, 512, 0);
  in.features |= SPIRV_HAS_LOOPS;
  in.beside[0] = in.apart[1] = 9;
  in.again[1] = 8;
  EXPECT(in, 1, 16, 8, 1, "16x8 of 512x512: 2048 groups for 2 cores");
  in.global[0] = 4001;
  in.global[1] = 29;
  EXPECT(in, 3, 16, 8, 1, NULL);
  in.software = false;
  in.global[0] = in.global[1] = 512;
  EXPECT(in, 1, 256, 1, 1, NULL);

  /* A sum by halves: it keeps its values in registers across barriers. */
  in = with_barrier(input(true, 1048576, 0, 0));
  in.features |= SPIRV_USES_LOCAL | SPIRV_HAS_LOOPS;
  in.builtins |= SPIRV_BUILTIN_GROUP_SIZE;
  in.beside[0] = 1;
  in.local_fit[0] = 1024;
  in.simd = 16;
  EXPECT(in, 1, 8, 1, 1, "8 of 1048576: 131072 groups for 2 cores; it must "
         "divide the range because the kernel has barriers");
  /* A kernel that fills a table, at the same cost for every group. */
  in.features |= SPIRV_SWEEPS_LOCAL;
  in.local_bytes = 65536;
  in.local_fit[0] = 0;
  EXPECT(in, 1, 4096, 1, 1, NULL);

  /* Local arrays: a group never exceeds their places, and fills them exactly if
     the kernel does not query its size. */
  in = with_barrier(input(true, 512, 512, 0));
  in.features |= SPIRV_USES_LOCAL;
  in.local_fit[0] = in.local_fit[1] = 16;
  EXPECT(in, 1, 16, 16, 1, "16x16 of 512x512: what its local memory has "
         "places for");
  in = with_policy(in, LZE_POLICY_LARGEST, 0);
  EXPECT(in, 1, 16, 16, 1, "16x16 of 512x512: the largest that divides it");
  in = with_barrier(input(true, 1000, 1000, 0));
  in.features |= SPIRV_USES_LOCAL;
  in.local_fit[0] = in.local_fit[1] = 16;
  in.local_items = 64;
  EXPECT(in, 1, 8, 8, 1, NULL);
  in = with_given(in, 20, 20, 0);
  EXPECT(in, 1, 20, 20, 1, "20x20 of 1000x1000: the given group");
}

/* If few groups are allowed, only the smallest sizes may fit. */
static void check_few_groups(void) {
  lze_GroupInput in = input(true, 2, 2100, 847);
  in.kernel_max = in.max_total = 1024;
  in.max_count[1] = 256;
  in.max_count[2] = 63;
  in.guards = false; /* 15x121 and 10x121 are too large */
  EXPECT(in, 1, 1, 10, 77, NULL);
  in.guards = true; /* 64x32 is too large */
  in.max_count[1] = 64;
  in.max_count[2] = 28;
  EXPECT(in, 3, 1, 33, 31, NULL);
}

#define EXPECT_COVER(in, whole, count) \
  expect_cover(&(in), whole, count, __LINE__)

static void expect_cover(const lze_GroupInput *in, int whole, int count,
                         int line) {
  lze_GroupChoice c;
  memset(&c, 0, sizeof c);
  checks++;
  if (!lze_group_choose(in, &c) || c.whole != whole || c.count != count)
    fail(line, "other launches", in, &c);
  check_choice(in);
}

/* Checks which launches cover a range with a given group. */
static void check_cover(void) {
  lze_GroupInput in = with_given(input(true, 1000, 0, 0), 64, 1, 1);
  /* For few light work-items, guards take less time than one more launch. */
  EXPECT_COVER(in, 0, 1);
  in.features = SPIRV_HAS_LOOPS;
  EXPECT_COVER(in, 1, 2);
  in = with_range(in, 1024, 1, 1);
  EXPECT_COVER(in, 1, 1);
  in = with_given(input(true, 65599, 0, 0), 64, 1, 1);
  EXPECT_COVER(in, 1, 2);
  in.software = false;
  EXPECT_COVER(in, 0, 1);
  in = with_range(in, 65536, 1, 1);
  EXPECT_COVER(in, 1, 1);
  in = with_given(input(true, 999, 999, 99), 8, 4, 2);
  EXPECT_COVER(in, 1, 4);
  in = with_range(in, 999, 1000, 99);
  EXPECT_COVER(in, 1, 3);
  /* No whole group fits along y. */
  in = with_range(in, 99999, 3, 2);
  EXPECT_COVER(in, 0, 1);
  /* If the driver lacks offsets, only the guarded form has one. */
  in = with_given(input(true, 65536, 4, 0), 64, 1, 1);
  in.offset[0] = 5;
  EXPECT_COVER(in, 1, 1);
  in.offsets = false;
  EXPECT_COVER(in, 0, 1);
  in.offset[0] = 0;
  EXPECT_COVER(in, 1, 1);
}

/* A launch waits for its choice, so no input may take long. */
static void check_time(void) {
  static const uint64_t ranges[][3] = {
      {4294967291, 4294967291, 4294967291},
      {4294967295, 4294967295, 4294967295},
      {2882880000, 2882880000, 2882880000}
  };
  for (unsigned k = 0; k < 6; k++) {
    lze_GroupInput big = input(k % 2, ranges[k / 2][0], ranges[k / 2][1],
                               ranges[k / 2][2]), *in = &big;
    lze_GroupChoice choice, *c = &choice;
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    REQUIRE(lze_group_choose(in, c));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    double us = (double)(end.tv_sec - begin.tv_sec) * 1e6 +
                (double)(end.tv_nsec - begin.tv_nsec) / 1e3;
    /* 0.2 ms when optimised; the rest is for sanitizers and slow machines. */
    REQUIRE(us < 20000);
  }
}

int main(int argc, char **argv) {
  unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
  check_known();
  check_gpu();
  check_memory();
  check_few_groups();
  check_cover();
  check_time();
  check_random(count, argc > 2 ? strtoull(argv[2], NULL, 0) : 1);
  printf("group: %ld checks, %d failed\n", checks, failures);
  return failures != 0;
}
