/*
 * lze_learn.c - which group sizes of a kernel are worth compiling.
 * SPDX-License-Identifier: MIT
 *
 * Where the driver compiles a kernel for each group size, that takes longer
 * than most launches.  A kernel that cannot tell how its range is cut gets the
 * best sizes for the first range where others take as long to compile; further
 * ranges run in sizes that are there or serve any range, until what that has
 * lost for a range is what compiling its own would cost.
 * Where the driver can compile beside the program, launches go on in the sizes
 * that are there until it has.  What changes a range's sizes is looked at after
 * a launch, so that whoever asks before the next one is told what it uses.
 */
#include "run/lze_learn.h"
#include "base/lze_state.h"
#include "run/lze_launch.h"

#include <stdlib.h>
#include <string.h>

enum {
  RANGES = 32,      /* whose losses are remembered; the oldest goes */
  MANY = 16,        /* launches that show a loop */
  SERVED = 200      /* launches that sizes for any range are to serve */
};

/* Nanoseconds a launch that nobody notices. */
static const double SMALL = 5000;

/* What a loop must gain for its own sizes, of what it takes. */
static const double WORTH = 0.02;

typedef struct Range {
  int dims;
  uint64_t global[3], offset[3], local_bytes;
  uint64_t used;    /* of a clock of launches */
  uint32_t launches;
  double lost, spent;
  bool own;         /* its own sizes are there, or on their way */
} Range;

struct lze_Learn {
  lze_Variants known;
  Range ranges[RANGES];
  int count;
  uint64_t clock;
};

static Range *range_find(lze_Learn *s, const lze_GroupInput *in) {
  for (int i = 0; i < s->count; i++) {
    Range *r = &s->ranges[i];
    if (r->dims == in->dims && r->local_bytes == in->local_bytes &&
        memcmp(r->global, in->global, sizeof r->global) == 0 &&
        memcmp(r->offset, in->offset, sizeof r->offset) == 0)
      return r;
  }
  return NULL;
}

static Range *range_new(lze_Learn *s, const lze_GroupInput *in) {
  Range *r = &s->ranges[0];
  if (s->count < RANGES)
    r = &s->ranges[s->count++];
  else
    for (int i = 1; i < RANGES; i++)
      if (s->ranges[i].used < r->used) r = &s->ranges[i];
  *r = (Range){.dims = in->dims, .local_bytes = in->local_bytes};
  memcpy(r->global, in->global, sizeof r->global);
  memcpy(r->offset, in->offset, sizeof r->offset);
  return r;
}

/* Sizes that a launch compiles are there for the next. */
static void remember(lze_Learn *s, const lze_GroupChoice *choice) {
  for (int i = 0; i < choice->count; i++)
    lze_variant_add(&s->known, &choice->parts[i]);
}

static void settle(lze_Cut *c, Range *r) {
  r->own = true;
  remember(c->learn, &c->choice);
  c->settled = true;
}

/* Whether the range's own sizes are worth compiling by now. */
static bool is_worth(const lze_Cut *c, const Range *r) {
  return r->lost >= c->price ||
         (r->launches >= MANY && r->spent >= c->price &&
          c->loss > WORTH * c->cost);
}

/* A launch of the range has been cut in sizes that are there. */
static void account(const lze_Cut *c, Range *r, const lze_Kernel *k,
                    lze_Ahead *ahead) {
  lze_GroupChoice best;
  r->launches++;
  r->lost += c->loss;
  r->spent += c->cost;
  if (is_worth(c, r) && lze_group_choose(&c->in, &best))
    r->own = !ahead(k, &best);
}

bool lze_learn_again(lze_Cut *c, const lze_Kernel *k, lze_Ahead *ahead) {
  Range *r = range_find(c->learn, &c->in);
  if (r == NULL || r->own) return false;
  r->used = ++c->learn->clock;
  account(c, r, k, ahead);
  return true;
}

void lze_learn_cut(lze_Cut *c, lze_Learning learning, const lze_Kernel *k,
                   lze_Ahead *ahead) {
  c->settled = c->frugal = false;
  if (c->learn == NULL && (c->learn = calloc(1, sizeof *c->learn)) == NULL)
    c->settled = true; /* as if nothing cost anything */
  if (c->settled) return;
  lze_Learn *s = c->learn;
  Range *r = range_find(s, &c->in);
  uint64_t launches = s->clock + 1;
  if (learning != LZE_LEARN_ASK) {
    if (r == NULL) r = range_new(s, &c->in);
    r->used = s->clock = launches;
  }
  if (learning == LZE_LEARN_NOT || (r != NULL && r->own)) {
    settle(c, r);
    return;
  }
  lze_GroupChoice frugal;
  lze_Thrift thrift;
  /* At least so many, and as many again as there have been. */
  launches = k->o.context->state->learn == LZE_SETTING_WORD
                 ? LZE_LAUNCHES_EVER
                 : launches + SERVED;
  bool cheaper = lze_group_frugal(&c->in, &s->known, launches, &c->choice,
                                  &frugal, &thrift);
  c->loss = thrift.loss;
  c->cost = thrift.cost;
  c->price = thrift.price;
  bool first = s->known.count == 0 && thrift.price <= thrift.paid &&
               thrift.loss > SMALL;
  if (!cheaper || first) {
    if (learning == LZE_LEARN_RUN) settle(c, r);
    return;
  }
  c->choice = frugal;
  c->frugal = true;
  if (learning != LZE_LEARN_RUN) return;
  remember(s, &c->choice);
  account(c, r, k, ahead);
}
