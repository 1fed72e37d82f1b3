/*
 * lze_shipped.c - the kernels that come with lze, found by name.
 * SPDX-License-Identifier: MIT
 */
#include "module/lze_module.h"
#include "device/lze_loader.h"
#include "library.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Only the test suite needs this file. */
static const char hidden[] = "spec.spv";

/* Stores the path of a directory or file and returns true if it exists. */
static bool path_is(char *path, const char *directory, const char *below) {
  int n = snprintf(path, PATH_MAX, "%s/%s", directory, below);
  return n > 0 && n < PATH_MAX && access(path, R_OK) == 0;
}

/* Finds the directory of the kernels: share/lze/kernels/ of the prefix under
   which `file` is installed, or kernels/ of the checkout in which it was
   built. */
static bool directory_above(char *path, const char *file) {
  char here[PATH_MAX];
  if (memccpy(here, file, '\0', sizeof here) == NULL) return false;
  char *slash;
  while ((slash = strrchr(here, '/')) != NULL && slash != here) {
    *slash = '\0';
    if (path_is(path, here, "share/lze/kernels")) return true;
    if (path_is(path, here, "lze.pc.in"))
      return path_is(path, here, "kernels");
  }
  return false;
}

/* Tries the directory for this module or the program linked with it; for our
   driver, which such a program finds from any location; then the system's
   directories. */
static bool shipped_directory(char *path) {
  char driver[PATH_MAX];
  return directory_above(path, library_path) ||
         (lze_software_path(driver) && directory_above(path, driver)) ||
         path_is(path, "/usr/local", "share/lze/kernels") ||
         path_is(path, "/usr", "share/lze/kernels");
}

static bool is_name(const char *text) {
  for (const char *p = text; *p != '\0'; p++)
    if (strchr("abcdefghijklmnopqrstuvwxyz0123456789_", *p) == NULL)
      return false;
  return *text != '\0';
}

bool lze_shipped(const char *name, char *path) {
  char directory[PATH_MAX], file[NAME_MAX];
  int n = snprintf(file, sizeof file, "%s.spv", name);
  return is_name(name) && n > 0 && (size_t)n < sizeof file &&
         strcmp(file, hidden) != 0 && shipped_directory(directory) &&
         path_is(path, directory, file);
}

static int shipped_before(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int shipped_takes(const struct dirent *e) {
  size_t n = strlen(e->d_name);
  return n > 4 && strcmp(e->d_name + n - 4, ".spv") == 0 &&
         strcmp(e->d_name, hidden) != 0;
}

bool lze_shipped_names(const char *name, char *list, size_t size) {
  char directory[PATH_MAX];
  struct dirent **found = NULL;
  if (!is_name(name) || !shipped_directory(directory)) return false;
  int count = scandir(directory, &found, shipped_takes, shipped_before);
  size_t used = 0;
  *list = '\0';
  for (int i = 0; i < count; i++) {
    int letters = (int)strlen(found[i]->d_name) - 4;
    if (used < size)
      used += (size_t)snprintf(list + used, size - used, "%s%.*s",
                               i > 0 ? ", " : "", letters, found[i]->d_name);
    free(found[i]);
  }
  free(found);
  return count > 0;
}
