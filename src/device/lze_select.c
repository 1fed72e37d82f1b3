/*
 * lze_select.c - device selectors, ours and ONEAPI_DEVICE_SELECTOR's.
 * SPDX-License-Identifier: MIT
 *
 * A set of devices is a byte for each, by lze_DeviceInfo.index.  What a
 * number in a selector counts are the members of the set it chooses from, in
 * the order of lze.devices(): roots in the system's order, each followed by
 * those of its tiles that are members themselves.
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Set {
  const lze_System *system;
  unsigned char *in;
} Set;

/* A piece of a selector's text. */
typedef struct Span {
  const char *p;
  size_t n;
} Span;

static Set set_new(lua_State *L, const lze_System *s) {
  size_t n = (size_t)s->total_devices + 1;
  Set set = {s, lua_newuserdatauv(L, n, 0)};
  memset(set.in, 0, n);
  return set;
}

/* The k-th device of the system, roots and tiles, or NULL past the last. */
static const lze_DeviceInfo *system_device(const lze_System *s, int k) {
  for (int i = 0; i < s->device_count; i++) {
    const lze_DeviceInfo *root = &s->devices[i];
    if (k-- == 0) return root;
    if (k < (int)root->tile_count) return &root->tiles[k];
    k -= (int)root->tile_count;
  }
  return NULL;
}

/* Whatever the case, as in ONEAPI_DEVICE_SELECTOR. */
static bool span_is(Span s, const char *word) {
  return strlen(word) == s.n && strncasecmp(s.p, word, s.n) == 0;
}

static bool span_contains(const char *text, Span part) {
  for (; *text != '\0'; text++)
    if (strncasecmp(text, part.p, part.n) == 0) return true;
  return false;
}

/* The piece up to `separator` without blanks round it; moves *rest behind it,
   to NULL at the end. */
static Span span_next(Span *rest, char separator) {
  const char *end = memchr(rest->p, separator, rest->n);
  Span piece = {rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n};
  if (end != NULL)
    *rest = (Span){end + 1, rest->n - piece.n - 1};
  else
    *rest = (Span){NULL, 0};
  for (; piece.n > 0 && *piece.p == ' '; piece.n--) piece.p++;
  while (piece.n > 0 && piece.p[piece.n - 1] == ' ') piece.n--;
  return piece;
}

/* "N", or "*" as -1; false for anything else. */
static bool span_number(Span s, int *n, bool star) {
  if (star && span_is(s, "*")) {
    *n = -1;
    return true;
  }
  if (s.n == 0 || s.n > 6) return false;
  *n = 0;
  for (size_t i = 0; i < s.n; i++) {
    if (!isdigit((unsigned char)s.p[i])) return false;
    *n = *n * 10 + (s.p[i] - '0');
  }
  return true;
}

/* "N" or "N.M" (with stars, if allowed); *tile is -2 when there is none. */
static bool span_position(Span s, int *root, int *tile, bool star) {
  const char *dot = memchr(s.p, '.', s.n);
  *tile = -2;
  if (dot == NULL) return span_number(s, root, false);
  Span before = {s.p, (size_t)(dot - s.p)};
  Span after = {dot + 1, s.n - before.n - 1};
  return span_number(before, root, star) && span_number(after, tile, star);
}

static bool span_is_type(Span s) {
  static const char *const types[] = {"gpu", "cpu", "npu", "fpga", "mca"};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (span_is(s, types[i])) return true;
  return false;
}

/* Mark members of `from` in `to`: those of `type` (n == 0: any), of these the
   one at position root (-1: all), of that tile `tile` (-1: all, -2: itself). */
static void set_add_position(Set *to, const Set *from, Span type, int root,
                             int tile) {
  int position = 0;
  const lze_DeviceInfo *d;
  for (int k = 0; (d = system_device(from->system, k)) != NULL; k++) {
    if (!from->in[d->index] || (type.n != 0 && !span_is(type, d->type)))
      continue;
    int here = position++;
    if (root != -1 && here != root) continue;
    if (tile == -2) to->in[d->index] = 1;
    for (int t = 0; tile != -2 && t < (int)d->tile_count; t++)
      if (tile == -1 || t == tile) to->in[d->tiles[t].index] = 1;
  }
}

static const Span any_type = {"", 0};

/* One element of a term's list. */
static void set_add(Set *to, const Set *from, Span e) {
  const char *colon = memchr(e.p, ':', e.n);
  int root, tile;
  if (span_is(e, "*")) {
    set_add_position(to, from, any_type, -1, -2);
  } else if (span_is_type(e)) {
    set_add_position(to, from, e, -1, -2);
  } else if (span_position(e, &root, &tile, false)) {
    set_add_position(to, from, any_type, root, tile);
  } else if (colon != NULL &&
             span_is_type((Span){e.p, (size_t)(colon - e.p)}) &&
             span_position((Span){colon + 1,
                                  e.n - (size_t)(colon - e.p) - 1},
                           &root, &tile, false)) {
    set_add_position(to, from, (Span){e.p, (size_t)(colon - e.p)}, root,
                     tile);
  } else {
    const lze_DeviceInfo *d;
    for (int k = 0; (d = system_device(from->system, k)) != NULL; k++)
      if (from->in[d->index] && span_contains(d->props.name, e))
        to->in[d->index] = 1;
  }
}

/* What a term says before its colon: in ours a backend may stand there, in
   ONEAPI_DEVICE_SELECTOR, the grammar of the DPC++ runtime, it must.  Returns
   whether the term is about Level Zero, with *term moved behind the colon. */
static bool term_backend(lua_State *L, Span *term, bool oneapi,
                         const char *text) {
  Span devices = *term;
  Span backend = span_next(&devices, ':');
  bool ours = span_is(backend, "level_zero") || span_is(backend, "*");
  if (oneapi && (devices.p == NULL || backend.n == 0 ||
                 memchr(devices.p, ':', devices.n) != NULL))
    luaL_error(L, "ONEAPI_DEVICE_SELECTOR=%s: 'backend:devices' expected in "
                  "each term", text);
  if (oneapi || (ours && devices.p != NULL)) *term = devices;
  return !oneapi || ours;
}

/* One element of a list in ONEAPI_DEVICE_SELECTOR. */
static void set_add_oneapi(lua_State *L, Set *to, const Set *from, Span e,
                           const char *text) {
  int root, tile;
  if (span_is(e, "*"))
    set_add_position(to, from, any_type, -1, -2);
  else if (span_is_type(e))
    set_add_position(to, from, e, -1, -2);
  else if (span_position(e, &root, &tile, true))
    set_add_position(to, from, any_type, root, tile);
  else
    luaL_error(L, "ONEAPI_DEVICE_SELECTOR=%s: a type, a number or * expected "
                  "for each device", text);
}

/* The members of `from` that the terms of a selector match: "!" subtracts
   last, and from all where there is nothing else. [-0, +1] keeps it alive. */
static Set select_terms(lua_State *L, const Set *from, const char *text,
                        size_t length, bool oneapi, const char *what) {
  Set chosen = set_new(L, from->system);
  Set removed = set_new(L, from->system);
  Set ignored = set_new(L, from->system);
  bool only_removals = true;
  Span rest = {text, length};
  while (rest.p != NULL) {
    Span term = span_next(&rest, ';');
    bool remove = term.n > 0 && *term.p == '!';
    if (remove)
      term = (Span){term.p + 1, term.n - 1};
    else
      only_removals = false;
    Set *to = !term_backend(L, &term, oneapi, text) ? &ignored
              : remove                              ? &removed
                                                    : &chosen;
    while (term.p != NULL) {
      Span element = span_next(&term, ',');
      if (oneapi) {
        set_add_oneapi(L, to, from, element, text);
      } else {
        if (element.n == 0)
          luaL_error(L, "%s '%s': an empty term", what, text);
        set_add(to, from, element);
      }
    }
  }
  for (int i = 0; i < from->system->total_devices; i++) {
    if (only_removals) chosen.in[i] = from->in[i];
    if (removed.in[i]) chosen.in[i] = 0;
  }
  lua_pop(L, 2);
  return chosen;
}

/* What exists: all roots, as limited by ONEAPI_DEVICE_SELECTOR. [-0, +1] */
static Set select_existing(lua_State *L, const lze_System *s) {
  Set all = set_new(L, s);
  for (int i = 0; i < s->device_count; i++) all.in[s->devices[i].index] = 1;
  const char *text = getenv("ONEAPI_DEVICE_SELECTOR");
  if (text == NULL || *text == '\0') return all;
  Set chosen = select_terms(L, &all, text, strlen(text), true, NULL);
  lua_remove(L, -2);
  return chosen;
}

void lze_select(lua_State *L, int arg, const char *what) {
  int type = lua_type(L, arg);
  if (type != LUA_TNIL && type != LUA_TNUMBER && type != LUA_TSTRING)
    lze_argerror(L, arg,
                  lua_pushfstring(L, "selector: number or string expected, "
                                     "got %s",
                                  lze_describe(L, arg)));
  luaL_checkstack(L, 8, NULL);
  const lze_System *s = lze_system(L);
  int top = lua_gettop(L);
  Set set = select_existing(L, s);
  if (type == LUA_TNUMBER) {
    lua_Integer n = lze_check_integer(L, arg, "selector");
    Set one = set_new(L, s);
    if (n >= 1 && n <= s->total_devices)
      set_add_position(&one, &set, any_type, (int)n - 1, -2);
    set = one;
  } else if (type == LUA_TSTRING) {
    size_t length;
    const char *text = lua_tolstring(L, arg, &length);
    set = select_terms(L, &set, text, length, false, what);
  }
  lua_newtable(L);
  lua_Integer n = 0;
  const lze_DeviceInfo *d;
  for (int k = 0; (d = system_device(s, k)) != NULL; k++)
    if (set.in[d->index]) {
      lze_push_device(L, d);
      lua_rawseti(L, -2, ++n);
    }
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}
