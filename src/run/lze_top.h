/*
 * lze_top.h - what other programs may see of this one: `lze top`.
 * SPDX-License-Identifier: MIT
 *
 * A state publishes a page in a file, $XDG_RUNTIME_DIR/lze/PROCESS.  That
 * directory must belong to this user, must be accessible to nobody else, and
 * must not be a link: otherwise no page is written, read or removed.  The page
 * begins with a few numbers, which each command and each wait updates, and
 * continues as text, which is written less often, so that all of it takes less
 * than a hundredth of the time.  None of these functions raises.
 */
#ifndef LZE_TOP_H
#define LZE_TOP_H

#include "base/lze_state.h"

enum { LZE_PAGE_BYTES = 4096 };

/* Begin, unless the directory does not exist. lze_show() updates the page. */
void lze_top_open(lze_State *S);
/* Remove the file at the end. */
void lze_top_close(lze_State *S);

/* Reads a file of that directory; false if it is not a page. */
bool lze_page_read(const char *directory, const char *name,
                   char bytes[LZE_PAGE_BYTES]);
/* Removes the file if it is a page. */
void lze_page_remove(const char *directory, const char *name);

#endif
