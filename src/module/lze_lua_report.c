/*
 * lze_lua_report.c - reports of accesses that a checked launch has found.
 * SPDX-License-Identifier: MIT
 */
#include "base/lze_error.h"
#include "base/lze_state.h"
#include "module/lze_lua_variant.h"

#include <string.h>

/* Appends the work-item's indices, one for each dimension of the range. */
static void add_item(lua_State *L, const int64_t *r, int dims) {
  for (int d = 0; d < dims; d++) {
    lua_pushstring(L, d == 0 ? " (work-item " : ", ");
    lua_pushinteger(L, (lua_Integer)r[LZC_REPORT_ID + d] + 1);
    lua_concat(L, 3);
  }
  lua_pushliteral(L, ")");
  lua_concat(L, 2);
}

/* Pushes a name followed by "[5]" or "[{1, 2}]". [-0, +1] */
static void push_element(lua_State *L, const char *name, const int64_t *index,
                         int count) {
  lua_pushfstring(L, count > 1 ? "%s[{" : "%s[", name);
  for (int d = 0; d < count; d++) {
    lua_pushfstring(L, d > 0 ? ", %I" : "%I", (LUAI_UACINT)index[d]);
    lua_concat(L, 2);
  }
  lua_pushstring(L, count > 1 ? "}]" : "]");
  lua_concat(L, 2);
}

/* Pushes a finding, "src[5] is outside 1..4". [-0, +1] */
static void push_fault(lua_State *L, const lzc_access *a, const int64_t *r) {
  int count = (int)r[LZC_REPORT_COUNT];
  const int64_t *size = &r[LZC_REPORT_SIZE];
  if (count < 1 || count > LZC_MOST_RANK) {
    lua_pushstring(L, a->name);
    return;
  }
  push_element(L, a->name, &r[LZC_REPORT_INDEX], count);
  if (a->element != NULL) {
    lua_pushfstring(L, " = %I does not fit %s", (LUAI_UACINT)size[0],
                    a->element);
  } else if (count == 1) {
    lua_pushfstring(L, " is outside 1..%I", (LUAI_UACINT)size[0]);
  } else {
    lua_pushliteral(L, " is outside {");
    for (int d = 0; d < count; d++) {
      lua_pushfstring(L, d > 0 ? ", %I" : "%I", (LUAI_UACINT)size[d]);
      lua_concat(L, 2);
    }
    lua_pushliteral(L, "}");
    lua_concat(L, 2);
  }
  lua_concat(L, 2);
}

void lze_lua_kernel_report(lua_State *L, int kernel, const lze_Kernel *run,
                           int range) {
  const lze_LuaKernel *k = lze_lua_kernel_test(L, kernel);
  const lze_LuaVariant *v = NULL;
  for (uint32_t i = 0; i < k->count && v == NULL; i++)
    if (k->variants[i]->box->kernel == run) v = k->variants[i];
  int at = 0, dims = lua_istable(L, range) ? (int)lua_rawlen(L, range) : 1;
  for (size_t h = 0; v != NULL && h < v->result->hidden_count; h++)
    if (v->result->hidden[h].kind == LZC_HIDDEN_REPORT)
      at = range + v->count + (int)h + 1;
  if (at == 0) return;
  const lze_Buffer *b = lze_test_buffer(L, at);
  lze_buffer_wait(L, at, b, 0, LZC_REPORT_ROOM, false);
  int64_t r[LZC_REPORT_ROOM];
  memcpy(r, lze_buffer_data(b), sizeof r);
  bool known = false; /* a hook may have made lze drop the variant */
  for (uint32_t i = 0; i < k->count; i++) known |= k->variants[i] == v;
  if (r[LZC_REPORT_DONE] == 0 || !known) return;
  const lzc_access *a = &v->result->accesses[r[LZC_REPORT_ACCESS]];
  if (a->file != NULL)
    lua_pushfstring(L, "%s:%d: %s: ", a->file, a->line, k->head.name);
  else
    lua_pushfstring(L, "%s: ", k->head.name);
  push_fault(L, a, r);
  lua_concat(L, 2);
  add_item(L, r, dims);
  lze_state(L)->reports++;
  lua_error(L);
}
