/*
 * lze_names.c - the strings of records.
 * SPDX-License-Identifier: MIT
 */
#include "queue/lze_names.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_NAMES = 1, FIRST_NAMES = 64 };

void lze_names_own(lze_Names *n) { n->owners++; }

void lze_names_disown(lze_Names *n) {
  if (n == NULL || --n->owners > 0) return;
  for (uint32_t i = 0; i < n->count; i++) free(n->strings[i]);
  free(n->strings);
  free(n->slots);
  free(n);
}

static uint32_t *names_slot(const lze_Names *n, const char *s) {
  uint32_t mask = 2 * n->capacity - 1;
  uint32_t i = (uint32_t)lze_hash_bytes(s, strlen(s)) & mask;
  while (n->slots[i] != 0 && strcmp(n->strings[n->slots[i]], s) != 0)
    i = (i + 1) & mask;
  return &n->slots[i];
}

static bool names_grow(lze_Names *n) {
  uint32_t capacity = n->capacity == 0 ? FIRST_NAMES : 2 * n->capacity;
  char **strings = realloc(n->strings, capacity * sizeof *strings);
  if (strings != NULL) n->strings = strings;
  uint32_t *slots = calloc(2 * (size_t)capacity, sizeof *slots);
  if (strings == NULL || slots == NULL) {
    free(slots);
    return false;
  }
  free(n->slots);
  n->slots = slots;
  n->capacity = capacity;
  for (uint32_t i = 1; i < n->count; i++)
    *names_slot(n, n->strings[i]) = i;
  return true;
}

uint32_t lze_names_add_most(lze_Names *n, const char *s, uint32_t most) {
  uint32_t *slot = names_slot(n, s);
  if (*slot != 0) return *slot;
  if (n->count >= most) return MANY_NAMES;
  if (n->count == n->capacity) {
    if (!names_grow(n)) return MANY_NAMES;
    slot = names_slot(n, s);
  }
  char *copy = strdup(s);
  if (copy == NULL) return MANY_NAMES;
  n->strings[n->count] = copy;
  *slot = n->count;
  return n->count++;
}

uint32_t lze_names_add(lze_Names *n, const char *s) {
  return lze_names_add_most(n, s, LZE_MOST_NAMES);
}

uint32_t lze_names_find(lze_Names *n, lze_Role role, const char *s) {
  lze_Name *last = &n->last[role];
  last->number = lze_names_add(n, s);
  last->string = n->strings[last->number];
  return last->number;
}

lze_Names *lze_names_new(void) {
  lze_Names *n = calloc(1, sizeof *n);
  if (n == NULL) return NULL;
  n->owners = 1;
  if (names_grow(n)) {
    n->strings[n->count++] = NULL; /* 0 means no string */
    lze_Name many = {"(further names)", lze_names_add(n, "(further names)")};
    for (int i = 0; i < LZE_ROLES; i++) n->last[i] = many;
    if (n->count == 2) return n;
  }
  lze_names_disown(n);
  return NULL;
}

const char *lze_name(const lze_Names *names, uint32_t number) {
  return number == 0 ? NULL : names->strings[number];
}

uint64_t lze_hash_bytes(const void *bytes, size_t size) {
  const unsigned char *p = bytes;
  uint64_t h = size, word;
  for (; size >= sizeof word; p += sizeof word, size -= sizeof word) {
    memcpy(&word, p, sizeof word);
    h = lze_hash_mix(h, word);
  }
  word = 0;
  memcpy(&word, p, size);
  return lze_hash_mix(h, word);
}
