/*
 * lze_progress.h - a line on the terminal for long operations.
 * SPDX-License-Identifier: MIT
 *
 * A process shows the line if it was switched on and standard error is a
 * capable terminal: from half a second after an operation began until it ends.
 */
#ifndef LZE_PROGRESS_H
#define LZE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* An operation that may take long; in the caller's memory until it ends. */
typedef struct lze_Progress {
  struct lze_Progress *next;
  const char *doing, *name; /* "building", "module saxpy" */
  uint64_t start_ns;
  bool listed;
} lze_Progress;

/* Return true if the line is shown, and if it was ever switched on or off. Any
   thread may switch it. */
bool lze_progress_on(void);
bool lze_progress_is_said(void);
void lze_progress_switch(bool on);

/* No error of a script may skip lze_progress_end. */
void lze_progress_begin(lze_Progress *p, const char *doing, const char *name);
void lze_progress_end(lze_Progress *p);

#endif
