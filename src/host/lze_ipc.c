/*
 * lze_ipc.c - buffers passed from one process to another.
 * SPDX-License-Identifier: MIT
 *
 * Processes share a whole allocation of the driver. A token consists of
 * printable characters, so that it can go through any pipe; it identifies the
 * allocation and the part of it that a buffer covers.
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_option.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_native.h"
#include "device/lze_object.h"
#include "host/lze_host.h"
#include "memory/lze_buffer.h"
#include "queue/lze_command.h"
#include "queue/lze_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "lze-"
enum { VERSION = 1 };

/* The contents of a token. It is written in hexadecimal digits with its layout
   in memory, because both processes are on one machine. */
typedef struct Token {
  uint32_t version, check;      /* the check covers all later fields */
  lze_Origin origin;            /* identifies the allocation */
  uint64_t offset;              /* from its beginning, in bytes */
  int64_t count;
  char type[16];
  uint8_t uuid[ZE_MAX_DEVICE_UUID_SIZE];
  ze_ipc_mem_handle_t handle;
} Token;

enum { DIGITS = 2 * sizeof(Token) };

/* FNV-1a, to detect truncated or mistyped tokens. */
static uint32_t token_check(const Token *p) {
  const unsigned char *bytes = (const unsigned char *)p;
  uint32_t hash = 2166136261u;
  for (size_t i = offsetof(Token, origin); i < sizeof *p; i++)
    hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

/* --- the exporter --------------------------------------------------------- */

int lze_push_process_token(lua_State *L, int arg) {
  lze_Buffer *b = lze_check_buffer(L, arg);
  size_t bytes = (size_t)b->count * b->type->bytes;
  if (bytes == 0) lze_argerror(L, arg, "an empty buffer has no memory");
  if (strlen(b->type->name) >= sizeof ((Token *)NULL)->type)
    lze_argerror(L, arg, "a token for processes has no place for a struct: "
                         "export a view of uchar, and view that");
  lze_storage_flush_readers(L, b->storage);
  /* A driver may need to move the memory, when no work is running. */
  lze_state_drain(L, UINT64_MAX);
  b = lze_check_buffer(L, arg); /* a hook may have closed it */
  const lze_Storage *s = b->storage;
  const lze_Driver *driver = s->device->driver;
  ze_context_handle_t context = s->o.context->handle;
  Token p;
  memset(&p, 0, sizeof p); /* also the padding between the fields */
  p.version = VERSION;
  p.count = b->count;
  snprintf(p.type, sizeof p.type, "%s", b->type->name);
  memcpy(p.uuid, s->device->props.uuid.id, sizeof p.uuid);
  char *start = s->pointer + b->offset;
  ze_memory_allocation_properties_t props = {
      .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  void *base = NULL;
  lze_Outcome out;
  if (!ZE_TRY(&out, zeMemGetAllocProperties, context, start, &props, NULL) ||
      !ZE_TRY(&out, zeMemGetAddressRange, context, start, &base, NULL))
    return lze_fail(L, driver, out.result, NULL, out.call, NULL, NULL);
  p.offset = (uint64_t)(start - (char *)base);
  p.origin = (lze_Origin){lze_process_id(), props.id};
  if (!ZE_TRY(&out, zeMemGetIpcHandle, context, base, &p.handle))
    return lze_fail(L, driver, out.result, NULL, out.call, NULL,
                    out.result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
                        ? "the driver cannot share this memory with other "
                          "processes"
                        : NULL);
  p.check = token_check(&p);
  char digits[DIGITS + 1];
  for (size_t i = 0; i < sizeof p; i++)
    snprintf(digits + 2 * i, 3, "%02x", ((const unsigned char *)&p)[i]);
  lua_pushfstring(L, PREFIX "%s", digits);
  return 1;
}

/* --- the importer --------------------------------------------------------- */

static int digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                               : -1;
}

/* Returns false if the text is not a valid token. */
static bool token_read(const char *text, size_t length, Token *p) {
  const size_t prefix = sizeof PREFIX - 1;
  if (length != prefix + DIGITS || memcmp(text, PREFIX, prefix) != 0)
    return false;
  text += prefix;
  for (size_t i = 0; i < sizeof *p; i++) {
    int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    ((unsigned char *)p)[i] = (unsigned char)(high << 4 | low);
  }
  return p->version == VERSION && p->check == token_check(p) &&
         p->count > 0 && memchr(p->type, '\0', sizeof p->type) != NULL;
}

/* Returns the device with that UUID, possibly a tile, or NULL. */
static const lze_DeviceInfo *device_find(const lze_DeviceInfo *devices, int n,
                                         const uint8_t *uuid) {
  for (int i = 0; i < n; i++) {
    const lze_DeviceInfo *d = &devices[i];
    if (memcmp(d->props.uuid.id, uuid, sizeof d->props.uuid.id) == 0)
      return d;
    d = device_find(d->tiles, (int)d->tile_count, uuid);
    if (d != NULL) return d;
  }
  return NULL;
}

/* Returns the memory in this process with a reference; opens it if it is not
   mapped yet. */
static lze_Memory *memory_open(const lze_Context *c, const lze_DeviceInfo *d,
                               const Token *p, void **base,
                               lze_Outcome *out) {
  lze_Memory *m = lze_memory_find(c->native, &p->origin, base);
  if (m != NULL || !ZE_TRY(out, zeMemOpenIpcHandle, c->handle, d->handle,
                           p->handle, 0, base))
    return m;
  m = lze_memory_opened(c->native, *base, &p->origin);
  if (m == NULL) {
    ZE(zeMemCloseIpcHandle, c->handle, *base);
    *out = LZE_NO_MEMORY;
  }
  return m;
}

typedef struct Import {
  const Token *token;
  const lze_Type *type;
  const lze_DeviceInfo *device;
  lze_Context *context;
  lze_Storage like;
} Import;

/* Called by lua_pcall, so that the caller can release the memory on an error.
   On success the buffer holds the caller's reference, and the caller gets a
   new one. */
static int import_push(lua_State *L) {
  const Import *i = lua_touserdata(L, 1);
  lze_push_shared(L, i->context, &i->like, i->type,
                  (size_t)i->token->offset, i->token->count);
  lze_memory_ref(i->like.memory);
  return 1;
}

static int import_fail(lua_State *L, const lze_DeviceInfo *d,
                       const lze_Outcome *out) {
  const char *what =
      out->result == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
          ? "the driver cannot share memory with other processes"
          : NULL;
  return lze_fail(L, d->driver, out->result, NULL, out->call, NULL, what);
}

int lze_push_process_import(lua_State *L, int arg, int options) {
  static const char *const keys[] = {"context", "device", NULL};
  bool has_options = !lua_isnoneornil(L, options);
  if (has_options) {
    lze_argexpected(L, lua_istable(L, options), options, "table");
    lze_check_keys(L, options, "an import's options", keys);
  }
  Token p;
  size_t length;
  const char *text = lua_tolstring(L, arg, &length);
  if (!token_read(text, length, &p))
    lze_argerror(L, arg, "that is not a token of x:export \"process\", or not "
                          "all of it");
  if (p.origin.process == lze_process_id())
    lze_argerror(L, arg, "the token is of this process, for which x:export() "
                          "makes them");
  Import i = {.token = &p, .type = lze_type_find(p.type)};
  if (i.type == NULL)
    lze_argerror(L, arg, lua_pushfstring(L, "the type %s is unknown here",
                                          p.type));
  const lze_System *system = lze_system(L);
  i.device = device_find(system->devices, system->device_count, p.uuid);
  if (has_options) {
    lze_opt_place(L, 0, options, &i.device, &i.context);
  } else if (i.device != NULL) {
    i.context = lze_push_device_context(L, i.device);
    i.device = lze_device_in(L, i.context, i.device);
  } else {
    lze_opt_place(L, 0, 0, &i.device, &i.context);
  }
  lze_Outcome out;
  void *base = NULL, *start = NULL;
  size_t bytes = 0;
  lze_Memory *m = memory_open(i.context, i.device, &p, &base, &out);
  if (m == NULL) {
    if (out.call == NULL) lze_no_memory(L);
    return import_fail(L, i.device, &out);
  }
  ze_memory_allocation_properties_t props = {
      .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
  if (!ZE_TRY(&out, zeMemGetAllocProperties, i.context->handle, base, &props,
              NULL) ||
      !ZE_TRY(&out, zeMemGetAddressRange, i.context->handle, base, &start,
              &bytes)) {
    lze_memory_unref(m);
    return import_fail(L, i.device, &out);
  }
  if (p.offset > bytes ||
      (uint64_t)p.count > (bytes - p.offset) / i.type->bytes) {
    lze_memory_unref(m);
    return lze_argerror(L, arg, "the memory is smaller than the token says");
  }
  i.like = (lze_Storage){.usage = props.type == ZE_MEMORY_TYPE_HOST ? LZE_HOST
                                  : props.type == ZE_MEMORY_TYPE_DEVICE
                                      ? LZE_DEVICE
                                      : LZE_SHARED,
                         .device = i.device, .pointer = base, .bytes = bytes,
                         .borrowed = true, .id = props.id, .memory = m};
  lua_pushcfunction(L, import_push);
  lua_pushlightuserdata(L, &i);
  int status = lua_pcall(L, 1, 1, 0);
  lze_memory_unref(m);
  return status == LUA_OK ? 1 : lua_error(L);
}
