/*
 * lze_snapshot.c - LZE_CHECK: writes of a launch next to its arguments.
 * SPDX-License-Identifier: MIT
 */
#include "memory/lze_snapshot.h"
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "device/lze_object.h"

#include <stdlib.h>
#include <string.h>

/* Bytes [first, last) of a storage, covered by an argument. */
typedef struct Named {
  lze_Storage *storage;
  size_t first, last;
  int argument;
} Named;

/* Saved bytes of a storage, covered by no argument. */
typedef struct Kept {
  struct Kept *next;
  lze_Storage *storage;
  size_t first, bytes;
  char was[];
} Kept;

struct lze_Snapshot {
  Kept *kept;
  bool pinned;
  size_t count;
  Named named[];
};

void lze_snapshot_pin(lze_State *S) {
  struct lze_Snapshot *o = S->snapshot;
  for (size_t i = 0; i < o->count; i++) lze_pin(&o->named[i].storage->o);
  o->pinned = true;
}

void lze_snapshot_forget(lze_State *S) {
  struct lze_Snapshot *o = S->snapshot;
  if (o == NULL) return;
  for (size_t i = 0; i < o->count && o->pinned; i++)
    lze_unpin(&o->named[i].storage->o);
  while (o->kept != NULL) {
    Kept *next = o->kept->next;
    free(o->kept);
    o->kept = next;
  }
  free(o);
  S->snapshot = NULL;
}

void lze_snapshot_begin(lua_State *L, lze_State *S) {
  lze_snapshot_forget(S);
  S->snapshot = calloc(1, sizeof *S->snapshot);
  lze_check_memory(L, S->snapshot != NULL);
}

/* Skips memory shared with others, because they may write to it at any time. */
void lze_snapshot_name(lua_State *L, lze_State *S, const lze_Buffer *b,
                      int argument) {
  struct lze_Snapshot *o = S->snapshot;
  if (!b->storage->canaries || b->storage->memory != NULL) return;
  o = realloc(o, sizeof *o + (o->count + 1) * sizeof *o->named);
  lze_check_memory(L, o != NULL);
  S->snapshot = o;
  o->named[o->count++] =
      (Named){b->storage, b->offset,
              b->offset + (size_t)b->count * b->type->bytes, argument};
}

/* Returns the first byte from `at` on that no argument covers, or the storage's
   end. */
static size_t snapshot_from(const struct lze_Snapshot *o, const lze_Storage *s,
                           size_t at) {
  for (size_t i = 0; i < o->count; i++)
    if (o->named[i].storage == s && o->named[i].first <= at &&
        at < o->named[i].last)
      return snapshot_from(o, s, o->named[i].last);
  return at;
}

/* Returns the first byte after `at` that an argument covers, or the storage's
   end. */
static size_t snapshot_to(const struct lze_Snapshot *o, const lze_Storage *s,
                         size_t at) {
  size_t to = s->bytes;
  for (size_t i = 0; i < o->count; i++)
    if (o->named[i].storage == s && o->named[i].first > at &&
        o->named[i].first < to && o->named[i].first < o->named[i].last)
      to = o->named[i].first;
  return to;
}

static bool snapshot_is_first(const struct lze_Snapshot *o, size_t i) {
  for (size_t j = 0; j < i; j++)
    if (o->named[j].storage == o->named[i].storage) return false;
  return true;
}

bool lze_snapshot_take(lua_State *L, lze_State *S) {
  struct lze_Snapshot *o = S->snapshot;
  for (size_t i = 0; i < o->count; i++) {
    lze_Storage *s = o->named[i].storage;
    if (!snapshot_is_first(o, i)) continue;
    size_t to;
    for (size_t at = 0; (at = snapshot_from(o, s, at)) < s->bytes; at = to) {
      to = snapshot_to(o, s, at);
      Kept *k = malloc(sizeof *k + (to - at));
      lze_check_memory(L, k != NULL);
      *k = (Kept){o->kept, s, at, to - at};
      memcpy(k->was, s->pointer + at, to - at);
      o->kept = k;
    }
  }
  return o->kept != NULL;
}

bool lze_snapshot_damaged(lua_State *L, lze_State *S, int *argument) {
  const struct lze_Snapshot *o = S->snapshot;
  for (const Kept *k = o->kept; k != NULL; k = k->next) {
    const char *now = k->storage->pointer + k->first;
    if (memcmp(now, k->was, k->bytes) == 0) continue;
    size_t at = 0;
    while (now[at] == k->was[at]) at++;
    at += k->first;
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < o->count; i++) {
      const Named *n = &o->named[i];
      if (n->storage != k->storage) continue;
      size_t far = at >= n->last ? at - n->last : n->first - at;
      if (far >= least) continue;
      least = far;
      *argument = n->argument;
      lua_pushfstring(L, "%I bytes %s", (LUAI_UACINT)far,
                      at >= n->last ? "after its end" : "before its start");
    }
    return true;
  }
  return false;
}
