/*
 * lze_lapack.c - finds and calls the system's LAPACK and BLAS.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_lapack.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static lze_Lapack lapack = {.integer_bytes = 4};
static void *handle;
static const char *ending;     /* of the routines' names */
static char path[PATH_MAX], missing[PATH_MAX + 300];

/* Endings of routines' names: the usual one of Fortran, those of libraries with
   64-bit integers, and none. */
static const char *const endings[] = {"_", "_64_", "64_", ""};

/* The first one is Debian's alternative: OpenBLAS or the reference. */
static const char *const libraries[] = {
    "liblapack.so.3", "libopenblas.so.0", "libmkl_rt.so.2", "libmkl_rt.so.1",
    "libmkl_rt.so", "liblapack64.so.3", "libopenblas64.so.0", NULL};

static void *find(const char *name, const char *end) {
  char symbol[32];
  snprintf(symbol, sizeof symbol, "%s%s", name, end);
  return dlsym(handle, symbol);
}

void lze_lapack_call(const lze_Routine *r,
                     void *const a[LZE_LAPACK_ARGUMENTS]) {
  typedef void *P;
  typedef void Fortran(P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P,
                       P);
  if (r->own != NULL) {
    r->own(a);
    return;
  }
  Fortran *f;
  memcpy(&f, &r->fortran, sizeof f);
  f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
    a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19]);
}

/* Returns the size of the library's integers: a factorization of nothing sets
   its last argument to 0, and in it no more bytes than an integer has. */
static int integer_bytes(void) {
  int64_t none = 0, one = 1, info = -1;
  double element = 0;
  void *a[LZE_LAPACK_ARGUMENTS] = {&none, &none, &element, &one, &none, &info};
  lze_Routine r = {find("dgetrf", ending), NULL};
  lze_lapack_call(&r, a);
  return info == 0 ? 8 : 4;
}

/* Returns true if the open library has the routines' names with an ending. */
static bool is_lapack(void) {
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    ending = endings[i];
    if (find("dgetrf", ending) != NULL && find("dgemm", ending) != NULL)
      return true;
  }
  return false;
}

static bool open_library(const char *name) {
  handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return false;
  if (is_lapack()) return true;
  dlclose(handle);
  handle = NULL;
  return false;
}

/* Returns whose library it is, by a function that only this maker's has. */
static const char *kind_of(void) {
  static const char *const makers[][2] = {
      {"openblas_get_config", "OpenBLAS"},
      {"openblas_get_config64_", "OpenBLAS"},
      {"openblas_get_config_64_", "OpenBLAS"},
      {"MKL_Get_Version", "MKL"},
      {"bli_info_get_version_str", "BLIS"}};
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
    if (dlsym(handle, makers[i][0]) != NULL) return makers[i][1];
  Dl_info info;
  char real[PATH_MAX];
  if (dladdr(find("dgemm", ending), &info) != 0 &&
      realpath(info.dli_fname, real) != NULL && strstr(real, "openblas"))
    return "OpenBLAS";
  return "reference";
}

static void open_any(void) {
  const char *given = secure_getenv("LZE_LAPACK");
  const char *word = getenv("LZE_LIBRARIES");
  lapack.missing = missing;
  if (word != NULL && strcmp(word, "off") == 0) {
    snprintf(missing, sizeof missing, "LZE_LIBRARIES is off");
    return;
  }
  if (given != NULL && *given != '\0') {
    if (!open_library(given)) {
      const char *why = dlerror();
      snprintf(missing, sizeof missing, "LZE_LAPACK=%.1000s: %.250s", given,
               why != NULL ? why : "it has no dgetrf and dgemm");
    }
  } else {
    for (int i = 0; libraries[i] != NULL && handle == NULL; i++)
      open_library(libraries[i]);
    snprintf(missing, sizeof missing, "no LAPACK is installed (Debian: "
             "libopenblas0-pthread or liblapack3)");
  }
  if (handle == NULL) return;
  Dl_info info;
  if (dladdr(find("dgetrf", ending), &info) == 0 ||
      realpath(info.dli_fname, path) == NULL)
    snprintf(path, sizeof path, "%.1000s", given != NULL ? given : "LAPACK");
  lapack = (lze_Lapack){path, NULL, kind_of(), integer_bytes()};
}

const lze_Lapack *lze_lapack(void) {
  pthread_once(&once, open_any);
  return &lapack;
}

bool lze_lapack_find(const char *name, lze_Routine *r) {
  *r = (lze_Routine){NULL, NULL};
  if (lze_lapack()->path != NULL) r->fortran = find(name, ending);
  else r->own = lze_lapack_own(name);
  return r->fortran != NULL || r->own != NULL;
}
