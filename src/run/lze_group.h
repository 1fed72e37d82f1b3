/*
 * lze_group.h - how a range is cut into groups.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_GROUP_H
#define LZE_GROUP_H

#include "base/lze_state.h"
#include "device/lze_loader.h"

/* lze_group.c: how a range is cut into groups.  Pure functions of what is
 * known before anything runs: no Lua, no driver call, no state.
 */

/* What is known of a kernel, a device and a range.  Sizes are in work-items
   unless the name says bytes. */
typedef struct lze_GroupInput {
  /* the kernel */
  uint32_t required[3];     /* a required group size, or zeros */
  uint32_t kernel_max;      /* the most work-items a group of it may have */
  uint32_t kernel_subgroup; /* sub-group width compiled for; 0 unknown */
  uint64_t local_bytes;     /* per group, static and dynamic */
  uint64_t private_bytes, spill_bytes; /* per work-item */
  uint32_t builtins, features;         /* these as in spirv_kernel */
  uint32_t beside[3], apart[3], again[3], stores[3], spacing[3];
  uint32_t local_fit[3], local_items;
  /* the device */
  bool software;            /* a CPU: a group is what one core vectorises */
  bool offsets;             /* the driver has global offsets */
  uint32_t max_total, max_size[3], max_count[3];
  uint32_t units;           /* cores, or execution units */
  uint32_t core_units;      /* of these units share local memory */
  uint32_t threads_per_unit; /* each of them runs a sub-group */
  uint32_t simd;            /* the physical SIMD width */
  uint64_t device_local_bytes;
  /* the range; every dimension is at least 1 here */
  int dims;
  uint64_t global[3], offset[3];
  uint32_t given[3];        /* a group given by hand, or zeros */
  const char *given_by;     /* what to call it: "the given group" */
  lze_Policy policy;
  uint32_t suggested[3];    /* the driver's or lze.tune's, for those policies;
                               zeros where lze.tune has none */
} lze_GroupInput;

/* One launch: count groups of that size, from that offset on. */
typedef prepare_launch lze_GroupPart;

enum { LZE_MAX_PARTS = 16 };

/* parts[0] is the body, what follows are tails; together the parts cover
   every work-item of the range exactly once. */
typedef struct lze_GroupChoice {
  int count;
  lze_GroupPart parts[LZE_MAX_PARTS];
  char why[200];            /* the reason, or what is wrong */
} lze_GroupChoice;

/* Choose.  A limit of 0 is one that is not known.  Returns false, with what is
   wrong in `why`, worded to follow "kernel NAME: ", and no parts, where a
   given or required group, the limits on groups or 32 bits of offset cannot be
   met; without these it never fails.  A given group larger than the range of a
   kernel that splits is cut to it. */
bool lze_group_choose(const lze_GroupInput *in, lze_GroupChoice *out);

/* Sizes worth measuring, in the order of what is expected of them: of each
   octave of sizes in all, and along x, the one that the rule likes best; only
   the one where a kernel requires it, or its local memory has places for just
   that. Returns how many, at most `most`; none where the choice would fail. */
int lze_group_candidates(const lze_GroupInput *in, uint32_t (*sizes)[3],
                         int most);

/* What a launch of such a part is compiled for, where the driver compiles. */
typedef struct lze_Variants {
  int count;
  struct lze_Variant {
    uint32_t group[3];
    bool offset, large;
  } list[16]; /* the newest last */
} lze_Variants;

void lze_variant_add(lze_Variants *known, const lze_GroupPart *part);

typedef struct lze_Thrift {
  double loss, cost; /* of the frugal choice against the best one, and in all */
  double price;      /* of compiling what the best choice lacks, */
  double paid;       /* and what the frugal one does; nanoseconds all */
} lze_Thrift;

/* Whether only the rule decides and the kernel cannot tell how its range is
   cut, on a CPU: what lze_group_frugal is for. */
bool lze_group_learns(const lze_GroupInput *in);

/* So many that compiling is worth nothing, and the best choice infinite. */
#define LZE_LAUNCHES_EVER UINT64_MAX

/* The cut that costs least by the rule, in so many launches with what it has
   to compile, in sizes that are known and a few that serve any range.  False
   where the best one compiles nothing. */
bool lze_group_frugal(const lze_GroupInput *in, const lze_Variants *known,
                      uint64_t launches, const lze_GroupChoice *best,
                      lze_GroupChoice *out, lze_Thrift *thrift);

/* Whether a range may be split into a body and tails without the kernel
   noticing: nothing but GlobalInvocationId is used and the driver has
   offsets. */
bool lze_group_splits(const lze_GroupInput *in);

#endif
