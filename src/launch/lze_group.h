/*
 * lze_group.h - group sizes, and the launches that cover a range.
 * SPDX-License-Identifier: MIT
 *
 * These are pure functions of data that is available before anything runs:
 * no Lua, no driver call, no state.
 */
#ifndef LZE_GROUP_H
#define LZE_GROUP_H

#include "base/lze_state.h"
#include "device/lze_loader.h"

/* Properties of a kernel, a device and a range.  Sizes are in work-items unless
   the name says bytes. */
typedef struct lze_GroupInput {
  /* the kernel */
  bool guards;              /* it has a guarded entry point: any group fits */
  uint32_t required[3];     /* a required group size, or zeros */
  uint32_t kernel_max;      /* maximum work-items in a group */
  uint32_t kernel_subgroup; /* compiled sub-group width; 0: unknown */
  uint64_t local_bytes;     /* per group, static and dynamic */
  uint32_t builtins, features; /* up to local_items: as in spirv_kernel */
  uint32_t beside[3], apart[3], again[3], stores[3];
  uint32_t local_fit[3], local_items;
  /* the device */
  bool software;            /* a CPU: one core vectorises a group */
  bool offsets;             /* the driver supports global offsets */
  uint32_t max_total, max_size[3], max_count[3];
  uint32_t units;           /* cores, or execution units */
  uint32_t core_units;      /* units that share local memory */
  uint32_t threads_per_unit; /* each thread runs a sub-group */
  uint32_t simd;            /* the physical SIMD width */
  uint64_t device_local_bytes;
  /* the range; every dimension is at least 1 here */
  int dims;
  uint64_t global[3], offset[3];
  uint32_t given[3];        /* a group given by hand, or zeros */
  const char *given_by;     /* its name in messages: "the given group" */
  lze_Policy policy;
  uint32_t suggested[3];    /* by the driver or lze.tune, for those policies;
                               zeros if lze.tune has no size */
} lze_GroupInput;

/* One launch: `count` groups of size `group`, for the work-items from `first`
   on. */
typedef struct lze_GroupPart {
  uint32_t group[3], count[3];
  uint64_t first[3];
} lze_GroupPart;

/* The whole groups of a range, and an edge along each dimension. */
enum { LZE_MAX_PARTS = 4 };

/* Parts with one group size, which cover every work-item of the range exactly
   once.  The first `whole` parts (0 or 1) run the original entry point; the
   others run the guarded one, without a driver offset, and may extend beyond
   the range. */
typedef struct lze_GroupChoice {
  int whole, count;
  lze_GroupPart parts[LZE_MAX_PARTS];
  char why[200];            /* reason for the size, or the error */
} lze_GroupChoice;

/* Chooses the groups of a range.  A limit of 0 is unknown.  Returns false if a
   given or required group, the limits on groups or an offset cannot be met:
   then there are no parts, and `why` is the error, worded to follow "kernel
   NAME: ". */
bool lze_group_choose(const lze_GroupInput *in, lze_GroupChoice *out);

/* Lists at most `most` sizes worth measuring: first the rule's best size, then
   the best size of each octave.  Returns their number: 0 if a choice would
   fail, 1 if the kernel or its local memory fixes the size. */
int lze_group_candidates(const lze_GroupInput *in, uint32_t (*sizes)[3],
                         int most);

#endif
