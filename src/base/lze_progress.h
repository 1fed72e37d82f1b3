/*
 * lze_progress.h - a line on the terminal for what takes long.
 * SPDX-License-Identifier: MIT
 *
 * A process shows one where it was switched on and standard error is a
 * terminal that can: after half a second, until it is over.
 */
#ifndef LZE_PROGRESS_H
#define LZE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Something that may take long, in the caller's memory until it is over. */
typedef struct lze_Progress {
  struct lze_Progress *next;
  const char *doing, *name; /* "building", "module saxpy" */
  uint64_t start_ns;
  bool listed;
} lze_Progress;

/* Whether there is such a line, and whether anybody has said so; any thread may
   switch it. */
bool lze_progress_on(void);
bool lze_progress_is_said(void);
void lze_progress_switch(bool on);

/* Nothing of a script may leave what is between these two by an error. */
void lze_progress_begin(lze_Progress *p, const char *doing, const char *name);
void lze_progress_end(lze_Progress *p);

#endif
