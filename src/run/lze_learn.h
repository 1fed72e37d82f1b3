/*
 * lze_learn.h - which group sizes of a kernel are worth compiling.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LEARN_H
#define LZE_LEARN_H

#include <stdbool.h>

struct lze_Cut;
struct lze_GroupChoice;
struct lze_Kernel;

/* Who wants to know how a range is cut. */
typedef enum lze_Learning {
  LZE_LEARN_NOT, /* k:prepare and graphs: the range's own sizes, at once */
  LZE_LEARN_ASK, /* k:group: what a launch would use */
  LZE_LEARN_RUN  /* a launch */
} lze_Learning;

typedef struct lze_Learn lze_Learn; /* of a kernel; free() */

/* Whether the driver is compiling what a kernel's launch of that choice needs,
   beside the program; false where it has, or does not. */
typedef bool lze_Ahead(const struct lze_Kernel *k,
                       const struct lze_GroupChoice *choice);

/* c->choice is the best cut of c->in: keep it, or replace it by one in sizes
   that are there.  Afterwards c->settled says whether it holds whenever the
   range comes again. */
void lze_learn_cut(struct lze_Cut *c, lze_Learning learning,
                   const struct lze_Kernel *k, lze_Ahead *ahead);

/* A launch of the last range again, which is not settled.  Returns whether the
   choice still holds. */
bool lze_learn_again(struct lze_Cut *c, const struct lze_Kernel *k,
                     lze_Ahead *ahead);

#endif
