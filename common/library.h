/*
 * library.h - the path of the library that contains this file.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LIBRARY_H
#define LZE_LIBRARY_H

#include <limits.h>

/* The path of this library, or of the program that it is linked into, without
   links; "" if unknown. It is found when the library is loaded, since the path
   may be relative and the program may change its directory. */
extern char library_path[PATH_MAX];

#endif
