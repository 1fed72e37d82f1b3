/*
 * lze_top.h - what other programs may see of this one: `lze top`.
 * SPDX-License-Identifier: MIT
 *
 * A state shows a page of a file, $XDG_RUNTIME_DIR/lze/PROCESS, that only its
 * user may read.  It begins with a few numbers, which each wait brings up to
 * date, and goes on as text, which is written now and then, so that all of it
 * takes less than a hundredth of the time.  None of these functions raises.
 */
#ifndef LZE_TOP_H
#define LZE_TOP_H

#include "base/lze_state.h"

/* Begin, unless there is no such directory; S->shown is to be called by what
   changes it. */
void lze_top_open(lze_State *S);
/* The end: the file goes. */
void lze_top_close(lze_State *S);

#endif
