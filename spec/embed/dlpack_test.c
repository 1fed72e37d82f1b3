/*
 * dlpack_test.c - DLPack tensors exchanged between lze and a program.
 * SPDX-License-Identifier: MIT
 */
#include "../driver/check.h"

#include "lze.h"

#include <lualib.h>

static const lze_Api *lze;

/* As in dlpack.h. */
typedef struct Tensor {
  uint32_t major, minor;
  void *manager;
  void (*deleter)(struct Tensor *self);
  uint64_t flags;
  void *data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t kind, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;
typedef struct DLManagedTensorVersioned Opaque;

#define CODE(wanted, call)                                                   \
  do {                                                                       \
    lze_ErrorInfo error;                                                     \
    int got_ = (call);                                                       \
    check_(__FILE__, __LINE__, got_ == (wanted) && error.code == got_,       \
           "%s is %d (%s), wanted %d", #call, got_, error.message, wanted);  \
  } while (0)
#define REFUSED(text, call)                                                  \
  do {                                                                       \
    lze_ErrorInfo error;                                                     \
    int got_ = (call);                                                       \
    check_(__FILE__, __LINE__,                                               \
           got_ == LZE_EMISUSE && strstr(error.message, text) != NULL,       \
           "%s is %d (%s), wanted %s", #call, got_, error.message, text);    \
  } while (0)

static lua_State *state_open(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  CODE(LZE_OK, lze->open(L, &error));
  return L;
}

static void script(lua_State *L, const char *text) {
  if (luaL_dostring(L, text) != LUA_OK) {
    check_(__FILE__, __LINE__, false, "script: %s", lua_tostring(L, -1));
    lua_settop(L, 0);
  }
}

static Tensor *exported(lua_State *L, const char *text) {
  Opaque *t = NULL;
  script(L, text);
  CODE(LZE_OK, lze->export_dlpack(L, -1, NULL, 0, &t, &error));
  lua_settop(L, 0);
  return (Tensor *)t;
}

/* Tensors that lze exports. */
static void test_export(void) {
  lua_State *L = state_open();
  Tensor *t = exported(L, "return require 'lze'.buffer('float', {1, 2, 3})");
  EQUAL(t->major, 1);
  EQUAL(t->device_type, 1);
  EQUAL(t->rank, 1);
  EQUAL(t->shape[0], 3);
  EQUAL(t->strides[0], 1);
  EQUAL(t->kind, 2);
  EQUAL(t->bits, 32);
  EQUAL(t->lanes, 1);
  lua_gc(L, LUA_GCCOLLECT);
  CHECK(((float *)t->data)[2] == 3);
  ((float *)t->data)[2] = 4;
  t->deleter(t);

  Opaque *o = NULL;
  const int64_t sizes[2] = {2, 3}, wrong[2] = {2, 4}, bad[2] = {-2, -3};
  script(L, "return require 'lze'.buffer('int', {0, 1, 2, 3, 4, 5, 6})"
            ":view(2, 7)");
  CODE(LZE_OK, lze->export_dlpack(L, -1, sizes, 2, &o, &error));
  t = (Tensor *)o;
  EQUAL(t->rank, 2);
  EQUAL(t->shape[1], 3);
  EQUAL(t->strides[0], 3);
  EQUAL(t->kind, 0);
  REFUSED("a shape of 8 elements for a buffer of 6",
          lze->export_dlpack(L, -1, wrong, 2, &o, &error));
  CHECK(o == NULL);
  REFUSED("dimension 1 of the shape",
          lze->export_dlpack(L, -1, bad, 2, &o, &error));
  REFUSED("9 dimensions", lze->export_dlpack(L, -1, sizes, 9, &o, &error));
  REFUSED("a shape of 1 elements",
          lze->export_dlpack(L, -1, sizes, 0, &o, &error));
  /* It outlives the state. */
  lua_close(L);
  EQUAL(((int *)t->data)[5], 6);
  t->deleter(t);

  L = state_open();
  t = exported(L, "return require 'lze'.buffer('int', 4, {usage = 'device'})");
  EQUAL(t->device_type, 14);
  t->deleter(t);
  t = exported(L, "return require 'lze'.buffer('bfloat162', 4)");
  EQUAL(t->kind, 4);
  EQUAL(t->lanes, 2);
  t->deleter(t);
  t = exported(L, "return require 'lze'.buffer('float2', 4)");
  EQUAL(t->kind, 2);
  EQUAL(t->lanes, 2);
  t->deleter(t);
  t = exported(L, "return require 'lze'.array('complex64', {{1, 2}, 3})");
  EQUAL(t->kind, 5);
  EQUAL(t->bits, 64);
  EQUAL(t->lanes, 1);
  EQUAL(t->shape[0], 2);
  EQUAL(((float *)t->data)[1], 2);
  /* It comes back as a buffer of the same memory. */
  CODE(LZE_OK, lze->import_dlpack(L, (Opaque *)t, 0, &error));
  lua_setglobal(L, "b");
  script(L, "local z = require 'lze'.array(b.type, b); "
            "assert(z.type == 'complex64' and z[1][2] == 2 and z[2][1] == 3)");
  t = exported(L, "return require 'lze'.buffer('int', 0)");
  EQUAL(t->shape[0], 0);
  t->deleter(t);
  /* If one size is 0, the others may be any, in any order. */
  for (int zero = 0; zero < 3; zero++) {
    int64_t wide[3] = {(int64_t)1 << 40, (int64_t)1 << 40, (int64_t)1 << 40};
    wide[zero] = 0;
    script(L, "return require 'lze'.buffer('int', 0)");
    o = NULL;
    CODE(LZE_OK, lze->export_dlpack(L, -1, wide, 3, &o, &error));
    lua_settop(L, 0);
    t = (Tensor *)o;
    if (t == NULL) continue;
    for (int d = 0; d < 3; d++) {
      EQUAL(t->shape[d], wide[d]);
      EQUAL(t->strides[d], 1);
    }
    t->deleter(t);
  }
  Opaque *none;
  script(L, "return require 'lze'.buffer('float3', 4)");
  REFUSED("occupy 16 bytes", lze->export_dlpack(L, -1, NULL, 0, &none, &error));
  CHECK(none == NULL);
  lua_pushinteger(L, 5);
  REFUSED("buffer expected",
          lze->export_dlpack(L, -1, NULL, 0, &none, &error));
  script(L, "local b = require 'lze'.buffer('int', 4) b:close() return b");
  REFUSED("closed", lze->export_dlpack(L, -1, NULL, 0, &none, &error));
  lua_close(L);
}

static int deleted;

static void delete(Tensor *t) {
  (void)t;
  deleted++;
}

static int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
static int numbers[6] = {1, 2, 3, 4, 5, 6};

/* Makes a tensor of this program's ints. */
static Tensor tensor(void *data) {
  return (Tensor){.major = 1, .minor = 1, .deleter = delete, .data = data,
                  .device_type = 1, .rank = 2, .kind = 0, .bits = 32,
                  .lanes = 1, .shape = shape};
}

#define IMPORT(t) lze->import_dlpack(L, (Opaque *)(t), 0, &error)

/* Memory from malloc is copied. */
static void test_copies(void) {
  lua_State *L = state_open();
  Tensor t = tensor(numbers);
  deleted = 0;
  CODE(LZE_OK, IMPORT(&t));
  EQUAL(deleted, 1);
  lua_setglobal(L, "a");
  script(L, "a[6] = 60 return #a, a.type, a[4]");
  EQUAL(lua_tointeger(L, 1), 6);
  CHECK(strcmp(lua_tostring(L, 2), "int") == 0);
  EQUAL(lua_tointeger(L, 3), 4);
  EQUAL(numbers[5], 6);
  lua_settop(L, 0);
  t.strides = strides; /* columns */
  t.byte_offset = 0;
  CODE(LZE_OK, IMPORT(&t));
  lua_setglobal(L, "a");
  script(L, "return table.concat(a:read(), ' ')");
  CHECK(strcmp(lua_tostring(L, 1), "1 3 5 2 4 6") == 0);
  lua_settop(L, 0);
  t.rank = 0;
  t.strides = NULL;
  t.byte_offset = 8;
  CODE(LZE_OK, IMPORT(&t));
  lua_setglobal(L, "a");
  script(L, "return a[1]");
  EQUAL(lua_tointeger(L, 1), 3);
  EQUAL(deleted, 3);
  /* Three lanes are 12 bytes there, but 16 in OpenCL. */
  static const int lanes[] = {0, 3, 5, 32};
  for (int i = 0; i < 4; i++) {
    t.lanes = (uint16_t)lanes[i];
    REFUSED("lanes are not known", IMPORT(&t));
  }
  EQUAL(deleted, 3);
  lua_close(L);
}

/* Returns 64 bytes that the host allocates in the context of the state. */
static void *shared_memory(lua_State *L, ze_context_handle_t *context) {
  lze_BufferInfo info = {.size = sizeof info};
  CODE(LZE_OK, lze->make_buffer(L, "int", 1, "shared", 0, &error));
  CODE(LZE_OK, lze->get_buffer(L, 1, &info, &error));
  lua_settop(L, 0);
  ze_device_mem_alloc_desc_t d = {
      .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  ze_host_mem_alloc_desc_t h = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
  void *p;
  MUST(zeMemAllocShared(info.context, &d, &h, 64, 64, info.device, &p));
  *context = info.context;
  return p;
}

/* USM is used in place, as long as it is needed. */
static void test_usm(void) {
  lua_State *L = state_open();
  ze_context_handle_t context;
  void *p = shared_memory(L, &context);
  memcpy((char *)p + 8, numbers, sizeof numbers);
  Tensor t = tensor(p);
  t.byte_offset = 8;
  deleted = 0;
  CODE(LZE_OK, IMPORT(&t));
  lua_setglobal(L, "a");
  script(L, "a[6] = 60 return #a");
  EQUAL(lua_tointeger(L, 1), 6);
  EQUAL(((int *)p)[7], 60);
  EQUAL(deleted, 0);
  script(L, "a = nil collectgarbage() collectgarbage()");
  CODE(LZE_OK, lze->wait_all(L, -1, &error));
  script(L, "collectgarbage()");
  EQUAL(deleted, 1);
  t.flags = 1; /* read-only: copied */
  CODE(LZE_OK, IMPORT(&t));
  EQUAL(deleted, 2);
  t.flags = 0;
  CODE(LZE_OK, IMPORT(&t));
  EQUAL(deleted, 2);
  lua_settop(L, 0);
  script(L, "collectgarbage() collectgarbage()");
  EQUAL(deleted, 3);
  MUST(zeMemFree(context, p));
  lua_close(L);
}

static Tensor *kept;

static void delete_both(Tensor *t) {
  delete(t);
  kept->deleter(kept);
}

/* An imported tensor is exported and comes back inside a foreign tensor that
   holds lze's: nothing is left over. */
static void test_returned(void) {
  lua_State *L = state_open(), *first = L, *other = state_open();
  ze_context_handle_t context;
  void *p = shared_memory(L, &context);
  memcpy(p, numbers, sizeof numbers);
  Tensor given = tensor(p);
  deleted = 0;
  CODE(LZE_OK, IMPORT(&given));
  lua_setglobal(L, "a");
  kept = exported(L, "return a");
  Tensor back = *kept;
  back.deleter = delete_both;
  CODE(LZE_OK, IMPORT(&back));
  EQUAL(deleted, 1);
  lua_setglobal(L, "b");
  /* Through another state. */
  kept = exported(L, "return b");
  back = *kept;
  back.deleter = delete_both;
  L = other;
  CODE(LZE_OK, IMPORT(&back));
  EQUAL(deleted, 1);
  lua_setglobal(L, "c");
  /* Another part of the allocation belongs to someone else. */
  Tensor beside = tensor((char *)p + 32);
  L = first;
  CODE(LZE_OK, IMPORT(&beside));
  EQUAL(deleted, 1);
  lua_settop(L, 0);
  script(L, "a = nil collectgarbage() collectgarbage() return b[6]");
  EQUAL(lua_tointeger(L, 1), 6);
  EQUAL(deleted, 1);
  lua_close(L);
  EQUAL(deleted, 1);
  L = other;
  script(L, "return c[6]");
  EQUAL(lua_tointeger(L, 1), 6);
  lua_close(L);
  EQUAL(deleted, 4);
}

/* Out of one state, then into it and another. */
static void test_round(void) {
  lua_State *L = state_open();
  Tensor *t = exported(L, "x = require 'lze'.buffer('int', {1, 2, 3}) "
                          "return x");
  CODE(LZE_OK, IMPORT(t));
  lua_setglobal(L, "a");
  script(L, "x[2] = 20 return a[2]");
  EQUAL(lua_tointeger(L, 1), 20);
  lua_settop(L, 0);
  t = exported(L, "return x");
  lua_State *other = state_open();
  lua_State *first = L;
  L = other;
  CODE(LZE_OK, IMPORT(t));
  lua_setglobal(L, "a");
  lua_close(first);
  script(L, "a:fill(7, 1, 1) return a[1] + a[2]");
  EQUAL(lua_tointeger(L, 1), 27);
  lua_close(L);
  /* Into the requested context. */
  L = state_open();
  t = exported(L, "lze = require 'lze' "
                  "x = lze.buffer('int', {1, 2, 3}, "
                  "{context = lze.context(lze.device())}) return x");
  CODE(LZE_OK, IMPORT(t));
  lua_setglobal(L, "a");
  script(L, "a:fill(4) lze.wait() x:close() "
            "return a.context == lze.device().context and a[3]");
  EQUAL(lua_tointeger(L, 1), 4);
  lua_close(L);
}

static void test_refused(void) {
  lua_State *L = state_open();
  Tensor t = tensor(numbers);
  deleted = 0;
  t.major = 2;
  REFUSED("DLPack 2.1", IMPORT(&t));
  t.major = 1;
  t.device_type = 2;
  REFUSED("device type 2", IMPORT(&t));
  t.device_type = 14;
  REFUSED("not unified shared memory", IMPORT(&t));
  t.device_type = 1;
  t.rank = 9;
  REFUSED("9 dimensions", IMPORT(&t));
  t.rank = -1;
  REFUSED("-1 dimensions", IMPORT(&t));
  t.rank = 2;
  t.bits = 24;
  REFUSED("24 bits", IMPORT(&t));
  t.bits = 32;
  t.kind = 3;
  REFUSED("kind 3", IMPORT(&t));
  t.kind = 0;
  int64_t bad[2] = {-1, 3}, large[2] = {INT64_MAX, INT64_MAX}, none[2] = {0, 3};
  t.data = NULL;
  REFUSED("the tensor has no data", IMPORT(&t));
  t.data = numbers;
  t.shape = bad;
  REFUSED("negative", IMPORT(&t));
  t.shape = large;
  REFUSED("larger than any memory", IMPORT(&t));
  REFUSED("null", IMPORT(NULL));
  REFUSED("the tensor is null",
          lze->export_dlpack(L, -1, NULL, 0, NULL, &error));
  EQUAL(lua_gettop(L), 0);
  EQUAL(deleted, 0);
  t.shape = none;
  CODE(LZE_OK, IMPORT(&t));
  EQUAL(deleted, 1);
  t.shape = shape;
  t.deleter = NULL;
  CODE(LZE_OK, IMPORT(&t));
  lua_close(L);
}

int main(void) {
  lze = lze_api(LZE_API_VERSION);
  CHECK(lze != NULL && LZE_API_HAS(lze, import_dlpack));
  test_export();
  test_copies();
  test_usm();
  test_returned();
  test_round();
  test_refused();
  CHECK_DONE();
}
