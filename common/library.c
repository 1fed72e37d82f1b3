/*
 * library.c - the path of the library that contains this file.
 * SPDX-License-Identifier: MIT
 */
#include "library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

char library_path[PATH_MAX];

__attribute__((constructor)) static void library_find(void)
{
  Dl_info info;
  if (dladdr(library_path, &info) == 0 || info.dli_fname == NULL ||
      realpath(info.dli_fname, library_path) == NULL)
    *library_path = '\0';
}
