/*
 * lze_image_new.c - images and samplers: formats, limits and creation.
 * SPDX-License-Identifier: MIT
 */
#include "memory/lze_image.h"
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_object.h"
#include "queue/lze_command.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* --- formats -------------------------------------------------------------- */

#define S(name) ZE_IMAGE_FORMAT_SWIZZLE_##name

/* Orders of channels: their number, and the channels that a kernel reads as x,
   y, z and w; R is the first in memory. */
static const struct Order {
  const char *name;
  unsigned channels;
  ze_image_format_swizzle_t swizzle[4];
} orders[] = {
    {"r", 1, {S(R), S(0), S(0), S(1)}},
    {"a", 1, {S(0), S(0), S(0), S(R)}},
    {"rg", 2, {S(R), S(G), S(0), S(1)}},
    {"rgba", 4, {S(R), S(G), S(B), S(A)}},
    {"bgra", 4, {S(B), S(G), S(R), S(A)}},
    {"argb", 4, {S(G), S(B), S(A), S(R)}},
    {"abgr", 4, {S(A), S(B), S(G), S(R)}}};

/* Types of channels and their bits. */
static const struct Channel {
  const char *name;
  unsigned bits;
  ze_image_format_type_t type;
  lze_Scalar scalar;
} channels[] = {
    {"8unorm", 8, ZE_IMAGE_FORMAT_TYPE_UNORM, LZE_U8},
    {"8snorm", 8, ZE_IMAGE_FORMAT_TYPE_SNORM, LZE_I8},
    {"8uint", 8, ZE_IMAGE_FORMAT_TYPE_UINT, LZE_U8},
    {"8sint", 8, ZE_IMAGE_FORMAT_TYPE_SINT, LZE_I8},
    {"16unorm", 16, ZE_IMAGE_FORMAT_TYPE_UNORM, LZE_U16},
    {"16snorm", 16, ZE_IMAGE_FORMAT_TYPE_SNORM, LZE_I16},
    {"16uint", 16, ZE_IMAGE_FORMAT_TYPE_UINT, LZE_U16},
    {"16sint", 16, ZE_IMAGE_FORMAT_TYPE_SINT, LZE_I16},
    {"16float", 16, ZE_IMAGE_FORMAT_TYPE_FLOAT, LZE_F16},
    {"32uint", 32, ZE_IMAGE_FORMAT_TYPE_UINT, LZE_U32},
    {"32sint", 32, ZE_IMAGE_FORMAT_TYPE_SINT, LZE_I32},
    {"32float", 32, ZE_IMAGE_FORMAT_TYPE_FLOAT, LZE_F32}};

enum {
  ORDERS = sizeof orders / sizeof *orders,
  CHANNELS = sizeof channels / sizeof *channels
};

/* By channels (1, 2, 4) and bits (8, 16, 32). */
static const ze_image_format_layout_t layouts[3][3] = {
    {ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_LAYOUT_16,
     ZE_IMAGE_FORMAT_LAYOUT_32},
    {ZE_IMAGE_FORMAT_LAYOUT_8_8, ZE_IMAGE_FORMAT_LAYOUT_16_16,
     ZE_IMAGE_FORMAT_LAYOUT_32_32},
    {ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16,
     ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32}};

static lze_Format format_of(const struct Order *o, const struct Channel *c) {
  lze_Format f;
  snprintf(f.name, sizeof f.name, "%s%s", o->name, c->name);
  f.native = (ze_image_format_t){layouts[o->channels / 2][c->bits / 16],
                                 c->type,       o->swizzle[0], o->swizzle[1],
                                 o->swizzle[2], o->swizzle[3]};
  f.type = lze_type_of(c->scalar, o->channels);
  return f;
}

static lze_Format check_format(lua_State *L, int arg) {
  const char *name = lua_type(L, arg) == LUA_TSTRING ? lua_tostring(L, arg)
                                                     : NULL;
  if (name == NULL)
    lze_argerror(L, arg, lua_pushfstring(L, "format: string expected, got %s",
                                         lze_describe(L, arg)));
  for (int o = 0; o < ORDERS; o++) {
    size_t length = strlen(orders[o].name);
    for (int c = 0; c < CHANNELS; c++)
      if (strncmp(name, orders[o].name, length) == 0 &&
          strcmp(name + length, channels[c].name) == 0 &&
          !lze_has_zero(L, arg))
        return format_of(&orders[o], &channels[c]);
  }
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int o = 0; o < ORDERS; o++) {
    luaL_addstring(&b, o == 0 ? "" : ", ");
    luaL_addstring(&b, orders[o].name);
  }
  luaL_addstring(&b, ", each with one of");
  for (int c = 0; c < CHANNELS; c++) {
    luaL_addstring(&b, c == 0 ? " " : ", ");
    luaL_addstring(&b, channels[c].name);
  }
  luaL_pushresult(&b);
  lze_argerror(L, arg, lua_pushfstring(L, "format: unknown format %s (known: "
                                          "%s)", lze_describe(L, arg),
                                       lua_tostring(L, -1)));
}

/* --- limits of devices --------------------------------------------------- */

static ze_image_desc_t image_desc(const lze_Format *f, int dimensions,
                                  const size_t size[3]) {
  static const ze_image_type_t types[] = {ZE_IMAGE_TYPE_1D, ZE_IMAGE_TYPE_2D,
                                          ZE_IMAGE_TYPE_3D};
  return (ze_image_desc_t){.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
                           .flags = ZE_IMAGE_FLAG_KERNEL_WRITE,
                           .type = types[dimensions - 1],
                           .format = f->native,
                           .width = size[0],
                           .height = (uint32_t)size[1],
                           .depth = (uint32_t)size[2]};
}

/* Returns true if the driver reports that it does not support these images. */
static bool is_unsupported(ze_result_t r) {
  return r == ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT ||
         r == ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION ||
         r == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

/* dev:image_formats([dimensions]) -> array of the names of formats that
   lze.image accepts there; dimensions is 2 by default. */
int lze_image_formats(lua_State *L) {
  static const size_t one[3] = {1, 1, 1};
  lua_settop(L, 2);
  const lze_DeviceInfo *d = lze_check_device(L);
  lua_Integer dimensions = lze_check_integer_or(L, 2, "dimensions", 2);
  if (dimensions < 1 || dimensions > 3)
    lze_argerror(L, 2, lua_pushfstring(L, "dimensions: %I is outside 1..3",
                                       (LUAI_UACINT)dimensions));
  lua_newtable(L);
  if (lze_device_images(L, d).maxImageDims2D == 0) return 1;
  for (int o = 0; o < ORDERS; o++)
    for (int c = 0; c < CHANNELS; c++) {
      lze_Format f = format_of(&orders[o], &channels[c]);
      ze_image_desc_t desc = image_desc(&f, (int)dimensions, one);
      ze_image_properties_t p = {.stype = ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES};
      desc.flags = 0; /* some are read-only */
      ze_result_t r = ZE(zeImageGetProperties, d->handle, &desc, &p);
      if (r != ZE_RESULT_SUCCESS && !is_unsupported(r))
        lze_fail(L, d->driver, r, NULL, "zeImageGetProperties", NULL, NULL);
      if (r != ZE_RESULT_SUCCESS || p.samplerFilterFlags == 0) continue;
      lua_pushstring(L, f.name);
      lua_rawseti(L, 3, (lua_Integer)lua_rawlen(L, 3) + 1);
    }
  return 1;
}

/* Raises that a device has no images. */
static void no_images(lua_State *L, const lze_DeviceInfo *device,
                      const char *what) {
  luaL_error(L, "%s: device %s has no images", what, device->props.name);
}

/* --- images --------------------------------------------------------------- */

lze_Image *lze_test_image(lua_State *L, int index) {
  return lze_test_box(L, index, lze_image_kind);
}

lze_Sampler *lze_test_sampler(lua_State *L, int index) {
  return lze_test_box(L, index, lze_sampler_kind);
}

lze_Image *lze_check_image(lua_State *L, int arg) {
  lze_Image *m = lze_check_box(L, arg, lze_image_kind);
  if (!lze_buffer_is_open(&m->window)) lze_closed(L, arg, lze_image_kind);
  return m;
}

/* Reads the size at `arg`: a number, or an array of one to three numbers.
   Returns their count. */
static int check_size(lua_State *L, int arg, size_t size[3]) {
  static const char *const names[] = {"width", "height", "depth"};
  size[0] = size[1] = size[2] = 1;
  bool table = lua_istable(L, arg);
  lua_Unsigned n = table ? lua_rawlen(L, arg) : 1;
  if ((!table && lua_type(L, arg) != LUA_TNUMBER) || n < 1 || n > 3)
    lze_argerror(L, arg,
                 lua_pushfstring(L, "size: a table of one to three integers "
                                    "expected, got %s", lze_describe(L, arg)));
  for (int i = 0; i < (int)n; i++) {
    int exact;
    if (table) lua_rawgeti(L, arg, i + 1);
    else lua_pushvalue(L, arg);
    lua_Integer v = lua_tointegerx(L, -1, &exact);
    if (!exact || lua_type(L, -1) != LUA_TNUMBER || v < 1)
      lze_argerror(L, arg,
                   lua_pushfstring(L, "size: %s: a positive integer expected, "
                                      "got %s", names[i], lze_describe(L, -1)));
    size[i] = (size_t)v;
    lua_pop(L, 1);
  }
  return (int)n;
}

/* Raises unless the device supports images of that size. */
static void check_limits(lua_State *L, const lze_DeviceInfo *device,
                         int dimensions, const size_t size[3]) {
  static const char *const names[] = {"width", "height", "depth"};
  const ze_device_image_properties_t p = lze_device_images(L, device);
  const uint32_t limits[] = {p.maxImageDims1D, p.maxImageDims2D,
                             p.maxImageDims3D};
  size_t limit = limits[dimensions - 1];
  if (p.maxImageDims2D == 0) no_images(L, device, "lze.image");
  if (limit == 0)
    lze_argerror(L, 2, lua_pushfstring(L, "size: the device has no images of "
                                          "%d dimensions", dimensions));
  for (int i = 0; i < dimensions; i++)
    if (size[i] > limit)
      lze_argerror(L, 2,
                   lua_pushfstring(L, "size: %s: %I is more than the %I that "
                                      "the device takes in %d dimension%s",
                                   names[i], (LUAI_UACINT)size[i],
                                   (LUAI_UACINT)limit, dimensions,
                                   dimensions == 1 ? "" : "s"));
}

static bool is_out_of_memory(ze_result_t r) {
  return r == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY ||
         r == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

/* Creates the image: for reading only if kernels cannot write its format. */
static ze_result_t image_make(lze_Image *m) {
  lze_Storage *s = m->window.storage;
  ze_image_desc_t desc = image_desc(&m->format, m->dimensions, m->size);
  m->writable = true;
  ze_result_t r = ZE(zeImageCreate, s->o.context->handle, s->device->handle,
                     &desc, &s->image);
  if (is_unsupported(r)) {
    m->writable = false;
    desc.flags = 0;
    r = ZE(zeImageCreate, s->o.context->handle, s->device->handle, &desc,
           &s->image);
  }
  if (r != ZE_RESULT_SUCCESS) s->image = NULL;
  return r;
}

/* Zeroes the new image at the top of the stack, from one piece of zeroed
   memory. */
static void image_zero(lua_State *L) {
  int top = lua_gettop(L);
  const lze_Image *m = lze_check_image(L, top);
  size_t row = m->size[0] * m->format.type->bytes;
  size_t slices = m->size[2], rows = m->size[1];
  /* rows or slices per copy */
  size_t at_once = LZE_STAGING_BYTES / row + 1;
  bool whole = at_once >= rows;
  size_t y_step = whole ? rows : at_once;
  size_t z_step = whole ? at_once / rows : 1;
  if (z_step > slices) z_step = slices;
  lze_Buffer *zeros = lze_push_beside_image(L, top, row * y_step * z_step);
  memset(zeros->storage->pointer, 0, zeros->storage->bytes);
  for (size_t z = 0; z < slices; z += z_step)
    for (size_t y = 0; y < rows; y += y_step) {
      const lze_Part part = {
          {0, y, z},
          {m->size[0], y_step < rows - y ? y_step : rows - y,
           z_step < slices - z ? z_step : slices - z}};
      lze_image_fill(L, top, &part, zeros->storage);
    }
  lua_settop(L, top);
}

int lze_image_new(lua_State *L) {
  static const char *const keys[] = {"device", "context", "zero", NULL};
  lua_settop(L, 3);
  const lze_Format format = check_format(L, 1);
  size_t size[3], bytes;
  int dimensions = check_size(L, 2, size);
  bool zero = true;
  if (!lua_isnil(L, 3)) {
    lze_argexpected(L, lua_istable(L, 3), 3, "table");
    lze_check_keys(L, 3, "an image's options", keys);
    zero = lze_opt_boolean(L, 3, "zero", true);
  }
  const lze_DeviceInfo *device;
  lze_Context *context;
  lze_opt_place(L, 0, lua_istable(L, 3) ? 3 : 0, &device, &context);
  check_limits(L, device, dimensions, size);
  if (__builtin_mul_overflow(size[0] * size[1], size[2], &bytes) ||
      bytes > (size_t)PTRDIFF_MAX / format.type->bytes)
    lze_argerror(L, 2, "size: such an image is larger than any memory");
  bytes *= format.type->bytes;
  lze_Image *m = lze_push_box(L, lze_image_kind, sizeof *m);
  m->format = format;
  m->dimensions = dimensions;
  memcpy(m->size, size, sizeof m->size);
  m->window.type = lze_type_of(LZE_U8, 1);
  m->window.count = (lua_Integer)bytes;
  lze_Storage *s = m->window.storage =
      lze_storage_new(L, context, device, LZE_DEVICE, bytes);
  ze_result_t r = image_make(m);
  if (is_out_of_memory(r)) {
    lze_make_room(L);
    if (context->o.closed) luaL_error(L, "the context is closed");
    r = image_make(m);
  }
  if (r != ZE_RESULT_SUCCESS)
    lze_fail(L, device->driver, r, "image", "zeImageCreate", NULL,
             is_unsupported(r)
                 ? "device %s has no images of %s in %d dimension%s"
                 : "device %s did not make an image of %s in %d dimension%s",
             device->props.name, format.name, dimensions,
             dimensions == 1 ? "" : "s");
  lze_storage_count(s, bytes);
  if (zero) image_zero(L);
  return 1;
}

/* --- samplers ------------------------------------------------------------- */

const char *const lze_address_names[] = {"none",  "repeat", "clamp",
                                         "border", "mirror", NULL};
const char *const lze_filter_names[] = {"nearest", "linear", NULL};

/* In the order of the words for them. */
static const ze_sampler_address_mode_t addresses[] = {
    ZE_SAMPLER_ADDRESS_MODE_NONE, ZE_SAMPLER_ADDRESS_MODE_REPEAT,
    ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
    ZE_SAMPLER_ADDRESS_MODE_MIRROR};
enum { REPEAT = 1, CLAMP = 2, MIRROR = 4 };

int lze_sampler_new(lua_State *L) {
  static const char *const keys[] = {"address", "filter",  "normalized",
                                     "device",  "context", NULL};
  lua_settop(L, 1);
  int t = 0;
  if (!lua_isnil(L, 1)) {
    lze_argexpected(L, lua_istable(L, 1), 1, "table");
    lze_check_keys(L, 1, "a sampler's options", keys);
    t = 1;
  }
  int address = lze_opt_word(L, t, "address", lze_address_names, CLAMP);
  int filter = lze_opt_word(L, t, "filter", lze_filter_names, 0);
  bool normalized = lze_opt_boolean(L, t, "normalized", false);
  if (!normalized && (address == REPEAT || address == MIRROR))
    lze_argerror(L, 1, lua_pushfstring(L, "option address: %s is for "
                                          "normalized coordinates",
                                       lze_address_names[address]));
  const lze_DeviceInfo *device;
  lze_Context *context;
  lze_opt_place(L, 0, t, &device, &context);
  if (lze_device_images(L, device).maxImageDims2D == 0)
    no_images(L, device, "lze.sampler");
  lze_Sampler *s = lze_push_box(L, lze_sampler_kind, sizeof *s);
  s->address = address;
  s->filter = filter;
  s->normalized = normalized;
  s->window.type = lze_type_of(LZE_U8, 1);
  lze_Storage *storage = s->window.storage =
      lze_storage_new(L, context, device, LZE_DEVICE, 0);
  const ze_sampler_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC,
                                  .addressMode = addresses[address],
                                  .filterMode = filter == 0
                                      ? ZE_SAMPLER_FILTER_MODE_NEAREST
                                      : ZE_SAMPLER_FILTER_MODE_LINEAR,
                                  .isNormalized = normalized};
  ze_result_t r = ZE(zeSamplerCreate, context->handle, device->handle, &desc,
                     &storage->sampler);
  if (r == ZE_RESULT_SUCCESS) return 1;
  storage->sampler = NULL;
  lze_fail(L, device->driver, r, "sampler", "zeSamplerCreate", NULL, NULL);
}
