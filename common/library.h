/*
 * library.h - where the library that this is a part of lies.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LIBRARY_H
#define LZE_LIBRARY_H

#include <limits.h>

/* The path of this library, or of the program that is linked with it, without
   links; "" if it is not known.  It is found while the library is loaded: the
   path given may be relative, and the program go to another directory. */
extern char library_path[PATH_MAX];

#endif
