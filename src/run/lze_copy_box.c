/*
 * lze_copy_box.c - x:copy_box: rows and slices of one buffer into those of
 * another.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "device/lze_loader.h"
#include "run/lze_buffer.h"
#include "run/lze_command.h"
#include "run/lze_queue.h"

#include <stdint.h>
#include <string.h>

/* One side of a copy of a box: where it starts, and how rows and slices of
   the buffer follow each other, in elements. */
typedef struct Side {
  size_t first, last;           /* elements [first, last) it lies in */
  size_t row, slice;            /* elements from one row, slice, to the next */
} Side;

/* One to three positive integers at field `key` of the table at t; what is
   not given is 1. */
static void box_triple(lua_State *L, int t, const char *key, bool needed,
                       size_t out[3]) {
  out[0] = out[1] = out[2] = 1;
  int type = lze_getoption(L, t, key);
  if (type == LUA_TNIL && !needed) {
    lua_pop(L, 1);
    return;
  }
  lua_Unsigned n = type == LUA_TTABLE ? lua_rawlen(L, -1) : 0;
  if (n < 1 || n > 3)
    luaL_error(L, "box: %s: a table of one to three integers expected, got %s",
               key, lze_describe(L, -1));
  for (int i = 0; i < (int)n; i++) {
    int exact;
    lua_rawgeti(L, -1, i + 1);
    lua_Integer v = lua_tointegerx(L, -1, &exact);
    if (!exact || lua_type(L, -1) != LUA_TNUMBER || v < 1)
      luaL_error(L, "box: %s: item %d: a positive integer expected, got %s",
                 key, i + 1, lze_describe(L, -1));
    out[i] = (size_t)v;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* A positive integer at field `key`, or `otherwise`. */
static size_t box_number(lua_State *L, int t, const char *key,
                         size_t otherwise) {
  if (lze_getoption(L, t, key) == LUA_TNIL) {
    lua_pop(L, 1);
    return otherwise;
  }
  int exact;
  lua_Integer v = lua_tointegerx(L, -1, &exact);
  if (!exact || lua_type(L, -1) != LUA_TNUMBER || v < 1)
    luaL_error(L, "box: %s: a positive integer expected, got %s", key,
               lze_describe(L, -1));
  lua_pop(L, 1);
  return (size_t)v;
}

/* Read one side, "src" or "dst", and check that the box lies in the buffer. */
static Side box_side(lua_State *L, int t, const char *which, bool is_src,
                     const size_t size[3], const lze_Buffer *b) {
  size_t at[3];
  box_triple(L, t, which, false, at);
  size_t width = box_number(L, t, is_src ? "src_width" : "dst_width",
                            at[0] - 1 + size[0]);
  size_t height = box_number(L, t, is_src ? "src_height" : "dst_height",
                             at[1] - 1 + size[1]);
  size_t count = (size_t)b->count;
  for (int i = 0; i < 3; i++)
    if (size[i] > count || at[i] - 1 > count - size[i])
      luaL_error(L, "box: it is not inside %s, a buffer of %I", which,
                 (LUAI_UACINT)count);
  if (at[0] - 1 + size[0] > width || at[1] - 1 + size[1] > height)
    luaL_error(L, "box: it reaches beyond the rows of %I or the %I rows of %s",
               (LUAI_UACINT)width, (LUAI_UACINT)height, which);
  size_t slice;
  if (__builtin_mul_overflow(width, height, &slice)) slice = SIZE_MAX;
  size_t z = at[2] - 1, d = size[2] - 1, y = at[1] - 1, h = size[1] - 1;
  size_t first = 0, last = 0, rows = 0;
  if (__builtin_mul_overflow(z, slice, &first) ||
      __builtin_mul_overflow(y, width, &rows) ||
      __builtin_add_overflow(first, rows, &first) ||
      __builtin_add_overflow(first, at[0] - 1, &first) ||
      __builtin_mul_overflow(d, slice, &last) ||
      __builtin_mul_overflow(h, width, &rows) ||
      __builtin_add_overflow(last, rows, &last) ||
      __builtin_add_overflow(last, size[0], &last) ||
      __builtin_add_overflow(last, first, &last) || last > count)
    luaL_error(L, "box: it is not inside %s, a buffer of %I", which,
               (LUAI_UACINT)count);
  return (Side){first, last, width, slice};
}

/* Where row `i` of a side begins, counted over all its slices. */
static size_t side_row(const Side *s, const size_t size[3], size_t i) {
  return i / size[1] * s->slice + i % size[1] * s->row;
}

/* Whether two boxes that begin at these elements share one: the rows of each
   are in order and apart, so that both are gone through side by side. */
static bool boxes_meet(const Side *a, size_t a_at, const Side *b, size_t b_at,
                       const size_t size[3]) {
  size_t rows = size[1] * size[2], width = size[0];
  for (size_t i = 0, j = 0; i < rows && j < rows;) {
    size_t x = a_at + side_row(a, size, i), y = b_at + side_row(b, size, j);
    if (x < y + width && y < x + width) return true;
    if (x < y) i++;
    else j++;
  }
  return false;
}

/* One end of the copy of a box: elements of `bytes` in a storage. */
typedef struct End {
  lze_Storage *storage;
  size_t offset, bytes;
  Side side;
} End;

/* Enqueue the copy of a box. */
static void box_append(lua_State *L, lze_Queue *q, const End *to,
                       const End *from, const size_t size[3]) {
  const size_t es = to->bytes;
  const Side *d = &to->side, *s = &from->side;
  size_t d0 = to->offset + d->first * es, d1 = to->offset + d->last * es;
  size_t s0 = from->offset + s->first * es, s1 = from->offset + s->last * es;
  ze_copy_region_t region = {0, 0, 0, (uint32_t)(size[0] * es),
                             (uint32_t)size[1], (uint32_t)size[2]};
  lze_Command *c = lze_begin(L, q, "copy_box", false, NULL);
  lze_command_use(L, c, to->storage, d0, d1, true);
  lze_command_use(L, c, from->storage, s0, s1, false);
  lze_command_order(L, c);
  ze_result_t r = ZE(zeCommandListAppendMemoryCopyRegion, q->list,
                     to->storage->pointer + d0, &region,
                     (uint32_t)(d->row * es), (uint32_t)(d->slice * es),
                     from->storage->pointer + s0, &region,
                     (uint32_t)(s->row * es), (uint32_t)(s->slice * es),
                     lze_command_event(c), c->wait_count, c->wait_handles);
  if (r != ZE_RESULT_SUCCESS) {
    lze_abort(c);
    lze_fail(L, q->device->driver, r, NULL,
             "zeCommandListAppendMemoryCopyRegion", NULL, NULL);
  }
  lze_end(c);
}

/* The same between contexts, which no queue reaches: by way of the host.  The
   buffers at 1 and 2 are looked at again after whatever may close them. */
static void box_stage(lua_State *L, const End *to, const End *from,
                      const size_t size[3]) {
  size_t n = size[0] * size[1] * size[2], bytes = n * to->bytes;
  End tight = {NULL, 0, to->bytes, {0, n, size[0], size[0] * size[1]}};
  const lze_Buffer *there = lze_push_beside(L, 2, LZE_HOST, bytes);
  const lze_Storage *end = lze_check_buffer(L, 2)->storage;
  lze_Queue *q = lze_default_queue(L, end->o.context, end->device);
  tight.storage = there->storage;
  box_append(L, q, &tight, from, size);
  lze_storage_wait(L, there->storage, 0, bytes, false);
  lze_check_buffer(L, 1);
  const lze_Buffer *here = lze_push_beside(L, 1, LZE_HOST, bytes);
  end = lze_check_buffer(L, 1)->storage;
  q = lze_default_queue(L, end->o.context, end->device);
  if (!lze_buffer_is_open(there)) luaL_error(L, "the context is closed");
  memcpy(here->storage->pointer, there->storage->pointer, bytes);
  tight.storage = here->storage;
  box_append(L, q, to, &tight, size);
}

/* dst:copy_box(src, box) -> dst: enqueue the copy of a box of rows
   box: size = {width [, height [, depth]]} in elements; src, dst = {x, y, z}:
   where it starts, {1, 1, 1} when not given; src_width, dst_width: elements
   from one row of the buffer to the next; src_height, dst_height: rows from
   one slice to the next; without them the buffer ends where the box does. */
int lze_copy_box(lua_State *L) {
  static const char *const keys[] = {"size",      "src",        "dst",
                                     "src_width", "src_height", "dst_width",
                                     "dst_height", NULL};
  lua_settop(L, 3);
  lze_Buffer *dst = lze_check_buffer(L, 1), *src = lze_check_buffer(L, 2);
  lze_argexpected(L, lua_istable(L, 3), 3, "table");
  lze_check_keys(L, 3, "a box", keys);
  size_t size[3];
  box_triple(L, 3, "size", true, size);
  const Side from_side = box_side(L, 3, "src", true, size, src);
  const Side to_side = box_side(L, 3, "dst", false, size, dst);
  /* Reading the table may have run a finaliser: from here on nothing of Lua's
     runs, but for hooks while it waits. */
  lze_Queue *q = lze_buffer_queue(L, 1);
  lze_check_buffer(L, 2);
  const size_t es = dst->type->bytes;
  const End from = {src->storage, src->offset, es, from_side};
  const End to = {dst->storage, dst->offset, es, to_side};
  if (src->type != dst->type)
    lze_argerror(L, 2, lua_pushfstring(L, "buffer of %s expected, got buffer "
                                           "of %s", dst->type->name,
                                        src->type->name));
  size_t s0 = src->offset / es + from.side.first;
  size_t d0 = dst->offset / es + to.side.first;
  if (src->storage == dst->storage &&
      boxes_meet(&from.side, s0, &to.side, d0, size))
    lze_argerror(L, 3, "box: source and destination overlap");
  size_t pitches[] = {from.side.row, from.side.slice, to.side.row,
                      to.side.slice, size[0], size[0] * size[1]};
  for (size_t i = 0; i < sizeof pitches / sizeof *pitches; i++)
    if (pitches[i] > UINT32_MAX / es)
      lze_argerror(L, 3, "box: rows and slices are limited to 4 GiB each");
  if (src->storage->o.context != dst->storage->o.context)
    box_stage(L, &to, &from, size);
  else
    box_append(L, q, &to, &from, size);
  lua_settop(L, 1);
  return 1;
}
