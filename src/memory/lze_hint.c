/*
 * lze_hint.c - hints about the use of shared memory.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "device/lze_fail.h"
#include "device/lze_loader.h"
#include "memory/lze_buffer.h"
#include "queue/lze_command.h"
#include "queue/lze_queue.h"

#include <string.h>

/* Runs q:prefetch and q:advise: pins the buffer at 2, orders the hint among its
   commands and tracks when it is over. */
static int queue_hint(lua_State *L, const char *name,
                      ze_memory_advice_t advice, bool prefetch) {
  lze_Queue *q = lze_check_ready_queue(L, 1);
  lze_Buffer *b = lze_check_buffer(L, 2);
  lze_Storage *s = b->storage;
  size_t bytes = (size_t)b->count * b->type->bytes;
  if (s->o.context != q->o.context)
    lze_argerror(L, 2, "a buffer of another context");
  if (bytes == 0) return 0;
  lze_Command *c = lze_begin(L, q, name, false, NULL);
  lze_command_use(L, c, s, b->offset, b->offset + bytes, false);
  lze_command_order(L, c);
  const char *call = "zeCommandListAppendMemAdvise";
  ze_result_t r;
  if (prefetch) {
    call = "zeCommandListAppendMemoryPrefetch";
    r = ZE(zeCommandListAppendMemoryPrefetch, q->list,
                                                 s->pointer + b->offset,
                                                 bytes);
  } else {
    r = ZE(zeCommandListAppendMemAdvise, q->list, q->device->handle,
                                            s->pointer + b->offset, bytes,
                                            advice);
  }
  bool hinted = r == ZE_RESULT_SUCCESS;
  if (hinted) {
    call = "zeCommandListAppendBarrier"; /* hints signal nothing */
    r = ZE(zeCommandListAppendBarrier, q->list, lze_command_event(c),
                                          c->wait_count, c->wait_handles);
  }
  if (r == ZE_RESULT_SUCCESS) {
    lze_end(c);
    return 0;
  }
  if (hinted)
    lze_abandon(c);
  else
    lze_abort(c);
  return lze_fail(L, q->device->driver, r, NULL, call, NULL, NULL);
}

/* q:prefetch(x): moves shared memory to the device ahead of its use. */
int lze_queue_prefetch(lua_State *L) {
  return queue_hint(L, "prefetch", 0, true);
}

/* q:advise(x, word): advises the driver how the memory will be used. */
int lze_queue_advise(lua_State *L) {
  static const struct {
    const char *word;
    ze_memory_advice_t advice;
  } words[] = {
      {"read_mostly", ZE_MEMORY_ADVICE_SET_READ_MOSTLY},
      {"not_read_mostly", ZE_MEMORY_ADVICE_CLEAR_READ_MOSTLY},
      {"prefer_device", ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION},
      {"not_prefer_device", ZE_MEMORY_ADVICE_CLEAR_PREFERRED_LOCATION},
      {"non_atomic_mostly", ZE_MEMORY_ADVICE_SET_NON_ATOMIC_MOSTLY},
      {"not_non_atomic_mostly", ZE_MEMORY_ADVICE_CLEAR_NON_ATOMIC_MOSTLY}};
  const char *word = lua_type(L, 3) == LUA_TSTRING ? lua_tostring(L, 3) : "";
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].word, word) == 0)
      return queue_hint(L, "advise", words[i].advice, false);
  return lze_argerror(
      L, 3, lua_pushfstring(L, "advice: read_mostly, prefer_device or "
                               "non_atomic_mostly (or not_ before one) "
                               "expected, got %s",
                            lze_describe(L, 3)));
}
