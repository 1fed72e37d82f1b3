/*
 * lze_copy_box.c - x:copy_box: copies of rows and slices between buffers.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "device/lze_loader.h"
#include "memory/lze_buffer.h"
#include "memory/lze_image.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"
#include "queue/lze_readers.h"
#include "queue/lze_record.h"

#include <stdint.h>
#include <string.h>

/* One side of a copy of a box: its start, and the pitches of rows and slices of
   the buffer, in elements. */
typedef struct Side {
  size_t first, last;           /* it lies in elements [first, last) */
  size_t row, slice;            /* elements from one row or slice to the next */
} Side;

void lze_copy_box_triple(lua_State *L, int t, const char *key, bool needed,
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

/* Returns the positive integer at field `key`, or `otherwise`. */
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

/* Reads one side, "src" or "dst", and checks that the box lies in the
   buffer. */
static Side box_side(lua_State *L, int t, const char *which, bool is_src,
                     const size_t size[3], const lze_Buffer *b) {
  size_t at[3];
  lze_copy_box_triple(L, t, which, false, at);
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

/* Returns the start of row `i` of a side, counted over all its slices. */
static size_t side_row(const Side *s, const size_t size[3], size_t i) {
  return i / size[1] * s->slice + i % size[1] * s->row;
}

/* One end of the copy of a box: elements of `bytes` in a storage. */
typedef struct End {
  lze_Storage *storage;
  size_t offset, bytes;
  Side side;
} End;

/* Returns the byte of the storage at which row `i` begins. */
static size_t end_row(const End *e, const size_t size[3], size_t i) {
  return e->offset + (e->side.first + side_row(&e->side, size, i)) * e->bytes;
}

/* Returns true if two boxes share a byte of a storage.  The rows of each are in
   order and disjoint, so both are traversed side by side. */
static bool boxes_meet(const End *a, const End *b, const size_t size[3]) {
  size_t rows = size[1] * size[2], width = size[0] * a->bytes;
  for (size_t i = 0, j = 0; i < rows && j < rows;) {
    size_t x = end_row(a, size, i), y = end_row(b, size, j);
    if (x < y + width && y < x + width) return true;
    if (x < y) i++;
    else j++;
  }
  return false;
}

/* Enqueues the copy of a box. */
static void box_append(lua_State *L, lze_Queue *q, const End *to,
                       const End *from, const size_t size[3]) {
  const size_t es = to->bytes;
  const Side *d = &to->side, *s = &from->side;
  size_t d0 = to->offset + d->first * es, d1 = to->offset + d->last * es;
  size_t s0 = from->offset + s->first * es, s1 = from->offset + s->last * es;
  ze_copy_region_t region = {0, 0, 0, (uint32_t)(size[0] * es),
                             (uint32_t)size[1], (uint32_t)size[2]};
  lze_Command *c = lze_begin(L, q, "copy_box", false, NULL);
  lze_record_kind(c, LZE_RECORD_COPY, size[0] * size[1] * size[2] * es);
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

/* Copies a box if no queue reaches both ends: through host memory and, between
   contexts, with a wait.  Checks the buffers at 1 and 2 again after everything
   that may close them. */
static void box_stage(lua_State *L, const End *to, const End *from,
                      const size_t size[3]) {
  size_t n = size[0] * size[1] * size[2], bytes = n * to->bytes;
  End tight = {NULL, 0, to->bytes, {0, n, size[0], size[0] * size[1]}};
  const lze_Buffer *there = lze_push_beside(L, 2, LZE_HOST, bytes);
  const lze_Storage *end = lze_check_buffer(L, 2)->storage;
  lze_Context *context = lze_check_buffer(L, 1)->storage->o.context;
  lze_Queue *q = lze_default_queue(L, end->o.context, end->device);
  tight.storage = there->storage;
  box_append(L, q, &tight, from, size);
  if (context != end->o.context) {
    lze_storage_wait(L, there->storage, 0, bytes, false);
    lze_check_buffer(L, 1);
    const lze_Buffer *here = lze_push_beside(L, 1, LZE_HOST, bytes);
    if (!lze_buffer_is_open(there)) luaL_error(L, "the context is closed");
    memcpy(here->storage->pointer, there->storage->pointer, bytes);
    tight.storage = here->storage;
  }
  end = lze_check_buffer(L, 1)->storage;
  q = lze_default_queue(L, end->o.context, end->device);
  box_append(L, q, to, &tight, size);
}

/* Returns true if the rows of a box lie without a gap between them. */
static bool side_is_tight(const Side *s, const size_t size[3]) {
  return (s->row == size[0] || size[1] * size[2] == 1) &&
         (s->slice == size[0] * size[1] || size[2] == 1);
}

/* Reads the end of a copy at `arg`: the part of an image, or the elements of a
   buffer. */
static lze_ImageEnd image_end(lua_State *L, int arg, const char *which,
                              const size_t size[3], Side *side) {
  bool is_src = arg == 2;
  const lze_Image *m = lze_test_image(L, arg);
  if (m == NULL) {
    const lze_Buffer *b = lze_check_buffer(L, arg);
    *side = box_side(L, 3, which, is_src, size, b);
    return (lze_ImageEnd){.storage = b->storage,
                          .offset =
                              b->offset + side->first * b->type->bytes};
  }
  lze_ImageEnd e = {.storage = lze_check_image(L, arg)->window.storage};
  static const char *const own[] = {"src_width", "src_height", "dst_width",
                                    "dst_height"};
  for (int i = is_src ? 0 : 2; i < (is_src ? 2 : 4); i++) {
    if (lze_getoption(L, 3, own[i]) != LUA_TNIL)
      luaL_error(L, "box: %s: an image has its own", own[i]);
    lua_pop(L, 1);
  }
  lze_copy_box_triple(L, 3, which, false, e.part.origin);
  for (int i = 0; i < 3; i++) {
    e.part.origin[i]--;
    e.part.size[i] = size[i];
  }
  lze_part_check(L, m, &e.part, which);
  return e;
}

static bool parts_meet(const lze_Part *a, const lze_Part *b) {
  for (int i = 0; i < 3; i++)
    if (a->origin[i] >= b->origin[i] + b->size[i] ||
        b->origin[i] >= a->origin[i] + a->size[i])
      return false;
  return true;
}

/* Copies a box if an image is at 1 or 2.  Level Zero copies between images and
   memory only without gaps: a box with gaps in a buffer goes through another
   buffer. */
static void image_copy_box(lua_State *L, const size_t size[3]) {
  Side d = {0}, s = {0};
  lze_ImageEnd to = image_end(L, 1, "dst", size, &d);
  lze_ImageEnd from = image_end(L, 2, "src", size, &s);
  lze_image_check_types(L, 1);
  bool to_image = to.storage->image != NULL;
  bool from_image = from.storage->image != NULL;
  if (to.storage == from.storage && parts_meet(&to.part, &from.part))
    lze_argerror(L, 3, "box: source and destination overlap");
  const int image = to_image ? 1 : 2;
  const size_t es = lze_test_image(L, image)->format.type->bytes;
  const size_t n = size[0] * size[1] * size[2];
  lze_Queue *q = lze_image_copy_queue(L, 1);
  if ((to_image && from_image) || side_is_tight(to_image ? &s : &d, size)) {
    lze_image_append(L, q, "copy_box", false, &to, &from, n * es);
    return;
  }
  const Side *gaps = to_image ? &s : &d;
  if (gaps->row > UINT32_MAX / es || gaps->slice > UINT32_MAX / es)
    lze_argerror(L, 3, "box: rows and slices are limited to 4 GiB each");
  const lze_Buffer *third = lze_push_beside_image(L, image, n * es);
  q = lze_image_copy_queue(L, 1); /* also checks that both are still open */
  if (!lze_buffer_is_open(third)) luaL_error(L, "the context is closed");
  const lze_ImageEnd middle = {.storage = third->storage};
  const End tight = {third->storage, 0, es, {0, n, size[0], size[0] * size[1]}};
  lze_Storage *end = to_image ? from.storage : to.storage;
  /* Its first element is counted from the start of the buffer. */
  const size_t offset =
      (to_image ? from.offset : to.offset) - gaps->first * es;
  const End spread = {end, offset, es, *gaps};
  if (to_image) {
    box_append(L, q, &tight, &spread, size);
    lze_image_append(L, q, "copy_box", false, &to, &middle, n * es);
  } else {
    lze_image_append(L, q, "copy_box", false, &middle, &from, n * es);
    box_append(L, q, &spread, &tight, size);
  }
}

/* dst:copy_box(src, box) -> dst: enqueues the copy of a box of rows
   box: size = {width [, height [, depth]]} in elements; src, dst = {x, y, z}:
   the start, {1, 1, 1} by default; src_width, dst_width: elements from one row
   of the buffer to the next; src_height, dst_height: rows from one slice to the
   next; without them the buffer ends with the box. */
int lze_copy_box(lua_State *L) {
  static const char *const keys[] = {"size",      "src",        "dst",
                                     "src_width", "src_height", "dst_width",
                                     "dst_height", NULL};
  lua_settop(L, 3);
  lze_arrays_evaluate(L, 1, 2);
  bool images = lze_test_image(L, 1) != NULL || lze_test_image(L, 2) != NULL;
  lze_Buffer *dst = images ? NULL : lze_check_buffer(L, 1);
  lze_Buffer *src = images ? NULL : lze_check_buffer(L, 2);
  lze_argexpected(L, lua_istable(L, 3), 3, "table");
  lze_check_keys(L, 3, "a box", keys);
  size_t size[3];
  lze_copy_box_triple(L, 3, "size", true, size);
  if (images) {
    image_copy_box(L, size);
    lua_settop(L, 1);
    return 1;
  }
  const Side from_side = box_side(L, 3, "src", true, size, src);
  const Side to_side = box_side(L, 3, "dst", false, size, dst);
  /* Lua code may run while it waits. */
  lze_Queue *q = lze_buffer_queue(L, 1);
  lze_check_buffer(L, 2);
  const size_t es = dst->type->bytes;
  const End from = {src->storage, src->offset, es, from_side};
  const End to = {dst->storage, dst->offset, es, to_side};
  if (src->type != dst->type)
    lze_argerror(L, 2, lua_pushfstring(L, "buffer of %s expected, got buffer "
                                           "of %s", dst->type->name,
                                        src->type->name));
  if (src->storage == dst->storage && boxes_meet(&from, &to, size))
    lze_argerror(L, 3, "box: source and destination overlap");
  size_t pitches[] = {from.side.row, from.side.slice, to.side.row,
                      to.side.slice, size[0], size[0] * size[1]};
  for (size_t i = 0; i < sizeof pitches / sizeof *pitches; i++)
    if (pitches[i] > UINT32_MAX / es)
      lze_argerror(L, 3, "box: rows and slices are limited to 4 GiB each");
  if (size[2] > UINT32_MAX)
    lze_argerror(L, 3, "box: it is limited to 4,294,967,295 slices");
  if (src->storage->o.context != dst->storage->o.context ||
      !lze_device_reaches(q->device, src->storage))
    box_stage(L, &to, &from, size);
  else
    box_append(L, q, &to, &from, size);
  lua_settop(L, 1);
  return 1;
}
