/*
 * lze_lapack.h - the system's LAPACK and BLAS, or own routines.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_LAPACK_H
#define LZE_LAPACK_H

#include <stdbool.h>

/* A routine's parameters, which are pointers, as in Fortran.  The lengths of
   its strings, all 1, may follow: the most that any routine here has. */
enum { LZE_LAPACK_ARGUMENTS = 20 };

/* The library of the process, shared by all states. */
typedef struct lze_Lapack {
  const char *path;     /* NULL if there is none */
  const char *missing;  /* why there is none, and what to do; else NULL */
  const char *kind;     /* "OpenBLAS", "MKL", "BLIS" or "reference" */
  int integer_bytes;    /* of its integers; 4 for the own routines */
} lze_Lapack;

/* One of these is set. */
typedef struct lze_Routine {
  void *fortran;
  void (*own)(void *const *arguments);
} lze_Routine;

/* Returns the library, which is opened by the first call.  LZE_LIBRARIES=off
   prevents that; LZE_LAPACK is the path of another library. */
const lze_Lapack *lze_lapack(void);

/* Finds a routine, as "dgetrf": in the library or, if there is none, among the
   own routines.  Returns false if it is missing. */
bool lze_lapack_find(const char *name, lze_Routine *r);

/* Calls a routine; pointers after its parameters must have the value 1. */
void lze_lapack_call(const lze_Routine *r,
                     void *const arguments[LZE_LAPACK_ARGUMENTS]);

/* lze_lapack_own.c: returns an own routine of LAPACK, as "dgetrf", or NULL. */
void (*lze_lapack_own(const char *name))(void *const *arguments);

#endif
