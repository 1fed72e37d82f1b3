/*
 * learn_test.c - when the group sizes of a range are compiled.
 * SPDX-License-Identifier: MIT
 */
#include "run/lze_launch.h"
#include "spirv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, failures;

#define CHECK(condition)                                                     \
  (checks++, (condition) ? (void)0                                           \
                         : (void)(failures++, fprintf(stderr, "%s:%d: %s\n", \
                                                      __FILE__, __LINE__,    \
                                                      #condition)))

static bool compiles;           /* beside the program */
static lze_State state;
static lze_Context context = {.state = &state};
static const lze_Kernel kernel = {.o.context = &context};

static bool ahead(const lze_Kernel *k, const lze_GroupChoice *choice) {
  (void)k;
  (void)choice;
  return compiles;
}

/* A kernel on a CPU. */
static lze_Cut cut_new(void) {
  lze_Cut c;
  memset(&c, 0, sizeof c);
  c.in = (lze_GroupInput){.software = true,
                          .offsets = true,
                          .builtins = SPIRV_BUILTIN_GLOBAL_ID,
                          .kernel_max = 4096,
                          .max_total = 4096,
                          .units = 2,
                          .threads_per_unit = 1,
                          .simd = 8,
                          .dims = 1};
  for (int d = 0; d < 3; d++) {
    c.in.global[d] = 1;
    c.in.max_size[d] = 4096;
    c.in.max_count[d] = UINT32_MAX;
  }
  return c;
}

static void cut(lze_Cut *c, uint64_t n) {
  c->in.global[0] = n;
  CHECK(lze_group_choose(&c->in, &c->choice));
  lze_learn_cut(c, LZE_LEARN_RUN, &kernel, ahead);
}

/* How many launches of a second range run in sizes that are there, `most` at
   most.  Each but the first loses and takes so much of what compiling its own
   costs. */
static int frugal_launches(double loss, double cost, int most) {
  lze_Cut c = cut_new();
  int n = 1;
  cut(&c, 100); /* a few work-items: groups of 1 */
  CHECK(!c.settled && c.frugal);
  cut(&c, 777777);
  CHECK(!c.settled && c.frugal && c.choice.parts[0].group[0] == 64);
  c.loss = loss * c.price;
  c.cost = cost * c.price;
  while (n < most && lze_learn_again(&c, &kernel, ahead)) n++;
  free(c.learn);
  return n;
}

int main(void) {
  /* Until what has been lost is what they cost, of which the first launch loses
     little. */
  CHECK(frugal_launches(0.6, 1, 100) == 3);
  CHECK(frugal_launches(0.3, 1, 100) == 5);
  /* A loop of 16 launches that took as long as compiling, and would gain more
     than 2 %; not of less. */
  CHECK(frugal_launches(0.03, 1, 100) == 16);
  CHECK(frugal_launches(0.001, 0.04, 100) == 26);
  CHECK(frugal_launches(0.0001, 1, 100) == 100);
  /* While they are compiled. */
  compiles = true;
  CHECK(frugal_launches(0.6, 1, 50) == 50);
  compiles = false;
  /* A first range that nothing else serves sooner has its own at once. */
  lze_Cut c = cut_new();
  cut(&c, 777777);
  CHECK(c.settled && !c.frugal && c.choice.parts[0].group[0] == 3367);
  free(c.learn);
  /* Where none is ever to be compiled, the first one's, too. */
  state.learn = LZE_SETTING_WORD;
  c = cut_new();
  for (int i = 0; i < 1000; i++) {
    cut(&c, 777777);
    CHECK(!c.settled && c.frugal);
  }
  free(c.learn);
  printf("learn: %d checks, %d failed\n", checks, failures);
  return failures != 0;
}
