/*
 * lze_lapack_own.c - own routines, for systems without LAPACK.
 * SPDX-License-Identifier: MIT
 *
 * They have the names, the parameters and the results of LAPACK's: matrices are
 * stored column by column, integers have 32 bits.  Only cases that lze.array
 * uses are there.
 */
#include "base/lze_lapack.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static int at_int(const void *p) { return *(const int32_t *)p; }
static char at_char(const void *p) { return *(const char *)p; }

#define REAL float
#define NAME(x) s##x
#include "base/lze_lapack_own.h"
#undef REAL
#undef NAME
#define REAL double
#define NAME(x) d##x
#include "base/lze_lapack_own.h"

void (*lze_lapack_own(const char *name))(void *const *) {
  static const struct {
    const char *name;
    void (*routine)(void *const *);
  } list[] = {
      {"sgetrf", sgetrf}, {"dgetrf", dgetrf}, {"sgetrs", sgetrs},
      {"dgetrs", dgetrs}, {"spotrf", spotrf}, {"dpotrf", dpotrf},
      {"sgelqf", sgelqf}, {"dgelqf", dgelqf}, {"sorglq", sorglq},
      {"dorglq", dorglq}, {"strtrs", strtrs}, {"dtrtrs", dtrtrs}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (strcmp(list[i].name, name) == 0) return list[i].routine;
  return NULL;
}
