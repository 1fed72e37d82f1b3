/*
 * lze_share.c - buffers that states of one process export and import.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_guard.h"
#include "base/lze_open.h"
#include "base/lze_types.h"
#include "device/lze_device.h"
#include "device/lze_loader.h"
#include "device/lze_native.h"
#include "device/lze_object.h"
#include "host/lze_host.h"
#include "memory/lze_buffer.h"
#include "queue/lze_command.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t token_lock = PTHREAD_MUTEX_INITIALIZER;

/* The contents of a buffer on its way to another state. */
typedef struct Token {
  uint64_t id;
  lze_Storage storage;          /* a description; it holds a reference to
                                   `memory` */
  const lze_Type *type;
  size_t offset;
  lua_Integer count;
  struct Token *next;
} Token;

static Token *tokens;

static uint64_t last_token;

static void token_add(Token *t) {
  pthread_mutex_lock(&token_lock);
  if (t->id == 0) t->id = ++last_token;
  t->next = tokens;
  tokens = t;
  pthread_mutex_unlock(&token_lock);
}

/* Removes and returns a token, so that no other thread can use it; NULL if not
   found. */
static Token *token_take(uint64_t id) {
  pthread_mutex_lock(&token_lock);
  Token **link = &tokens;
  while (*link != NULL && (*link)->id != id) link = &(*link)->next;
  Token *t = *link;
  if (t != NULL) *link = t->next;
  pthread_mutex_unlock(&token_lock);
  return t;
}

uint64_t lze_export(lua_State *L, int arg) {
  lze_Buffer *b = lze_check_buffer(L, arg);
  size_t bytes = (size_t)b->count * b->type->bytes;
  if (bytes == 0) lze_argerror(L, arg, "an empty buffer has no memory");
  lze_storage_wait(L, b->storage, b->offset, b->offset + bytes, true);
  b = lze_check_buffer(L, arg); /* a hook may have closed it */
  lze_Storage *s = b->storage;
  Token *t = calloc(1, sizeof *t);
  if (t == NULL) lze_no_memory(L);
  if (s->memory == NULL)
    s->memory = lze_memory_new(s->o.context->native, lze_storage_base(s),
                               !s->borrowed);
  if (s->memory == NULL) {
    free(t);
    lze_no_memory(L);
  }
  lze_memory_ref(s->memory);
  t->storage = (lze_Storage){.usage = s->usage, .device = s->device->base,
                             .pointer = s->pointer, .bytes = s->bytes,
                             .borrowed = s->borrowed, .id = s->id,
                             .memory = s->memory};
  t->type = b->type;
  t->offset = b->offset;
  t->count = b->count;
  token_add(t);
  return t->id;
}

/* Called by lua_pcall: pushes a token's buffer, in this state's context over
   the native context of the memory. The buffer holds the token's reference,
   and the token gets a new one, because later steps may still fail. */
static int token_import(lua_State *L) {
  Token *t = lua_touserdata(L, 1);
  const lze_DeviceInfo *d = t->storage.device;
  lze_Context *c =
      lze_push_borrowed_device(L, d, lze_memory_context(t->storage.memory));
  lze_Storage like = t->storage;
  like.device = lze_device_in(L, c, d);
  lze_push_shared(L, c, &like, t->type, t->offset, t->count);
  lze_memory_ref(t->storage.memory);
  return 1;
}

void lze_push_import(lua_State *L, uint64_t token) {
  luaL_checkstack(L, 4, NULL);
  Token *t = token_take(token);
  if (t == NULL)
    luaL_error(L, "%I is not a token of x:export, or was imported already",
               (LUAI_UACINT)token);
  lua_pushcfunction(L, token_import);
  lua_pushlightuserdata(L, t);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
    lze_memory_unref(t->storage.memory);
    free(t);
  } else {
    token_add(t);
    lua_error(L);
  }
}

/* lze.import(token [, options]) -> buffer on memory that a state exported with
   x:export. If that state is in this process, both share the context, and the
   token cannot be used again. It may also be in another process. */
static int core_import(lua_State *L) {
  lua_settop(L, 2);
  if (lua_type(L, 1) == LUA_TSTRING) return lze_push_process_import(L, 1, 2);
  if (!lua_isnil(L, 2))
    lze_argerror(L, 2, "a token of this process says where: no options");
  lze_push_import(L, (uint64_t)lze_check_integer(L, 1, "token"));
  return 1;
}

static const lze_Method functions[] = {
    {"import", core_import, LZE_GUARDED},
    {NULL, NULL, LZE_UNGUARDED}};

void lze_open_share(lua_State *L) { lze_set_methods(L, functions, 0); }
