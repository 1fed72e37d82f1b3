/*
 * lze_names.h - the strings of records, which refer to them by number.
 * SPDX-License-Identifier: MIT
 */
#ifndef LZE_NAMES_H
#define LZE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Scripts may create any number of names; past this limit all others become
   one.  Half of the names are reserved for names other than marks, because each
   mark may have its own. */
enum {
  LZE_MOST_NAMES = 1 << 16,
  LZE_MOST_MARKS = LZE_MOST_NAMES / 2
};

/* The use of a string; records in a row mostly have the same one. */
typedef enum lze_Role {
  LZE_ROLE_COMMAND, LZE_ROLE_DEVICE, LZE_ROLE_SOURCE, LZE_ROLE_WHY, LZE_ROLES
} lze_Role;

/* A string and its number. */
typedef struct lze_Name {
  const char *string;
  uint32_t number;
} lze_Name;

/* A set of strings with several owners. */
typedef struct lze_Names {
  lze_Name last[LZE_ROLES];     /* the last result of lze_names_number */
  uint32_t owners;
  uint32_t count, capacity;     /* of strings; there are twice as many slots */
  char **strings;
  uint32_t *slots;              /* numbers by hash, 0: free */
} lze_Names;

/* Returns an empty set with one owner, or NULL if memory runs out. */
lze_Names *lze_names_new(void);
void lze_names_own(lze_Names *n);
/* Removes an owner; NULL is allowed. */
void lze_names_disown(lze_Names *n);
/* Returns the number of a string, or that of "(further names)" if there are
   `most` strings already or memory runs out. */
uint32_t lze_names_add_most(lze_Names *n, const char *s, uint32_t most);
uint32_t lze_names_add(lze_Names *n, const char *s);
/* Adds the string, and remembers it for lze_names_number. */
uint32_t lze_names_find(lze_Names *n, lze_Role role, const char *s);
/* Does the same as lze_names_add, but faster for the string of the previous
   call with that role. */
static inline uint32_t lze_names_number(lze_Names *n, lze_Role role,
                                        const char *s) {
  const lze_Name *last = &n->last[role];
  return strcmp(last->string, s) == 0 ? last->number
                                      : lze_names_find(n, role, s);
}

/* Returns the string with that number; NULL for 0. */
const char *lze_name(const lze_Names *names, uint32_t number);

static inline uint64_t lze_hash_mix(uint64_t a, uint64_t b) {
  a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
  return a ^ a >> 29;
}

/* Returns a hash of all bytes, in which differences in a few bytes are never
   lost. */
uint64_t lze_hash_bytes(const void *bytes, size_t size);

#endif
