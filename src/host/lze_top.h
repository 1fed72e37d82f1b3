/*
 * lze_top.h - the data of this program that other programs can read: `lze top`.
 * SPDX-License-Identifier: MIT
 *
 * A state publishes a page in a file, $XDG_RUNTIME_DIR/lze/PROCESS.  That
 * directory must belong to this user, must not be accessible to others, and
 * must not be a link: otherwise no page is written, read or removed.  The page
 * begins with a few numbers, which each command and each wait updates.  Text
 * follows, which is written less often, so that the page takes less than 1 % of
 * the time.  None of these functions raises.
 */
#ifndef LZE_TOP_H
#define LZE_TOP_H

#include "base/lze_state.h"

enum { LZE_PAGE_BYTES = 4096 };

/* Begins to publish, unless the directory does not exist.  lze_show() updates
   the page. */
void lze_top_open(lze_State *S);
/* Removes the file at the end of a state. */
void lze_top_close(lze_State *S);

/* Reads a file of that directory; returns false if it is not a page. */
bool lze_page_read(const char *directory, const char *name,
                   char bytes[LZE_PAGE_BYTES]);
/* Removes the file if it is a page. */
void lze_page_remove(const char *directory, const char *name);

#endif
