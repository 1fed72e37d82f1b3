/*
 * lze_mpi.c - require "lze.mpi": the functions that mpi.lua is built on.
 * SPDX-License-Identifier: MIT
 */
#include "lze_mpi.h"

#include "lua_where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))

/* Returns this state's table of lze; each of these functions has a pointer to
   it. */
static const lze_Api *api_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* Returns the library, which this state has opened before it can call anything
   else. */
static const mpi_Library *library(void) {
  lze_WorkFailure unused;
  return mpi_open(&unused);
}

/* Raises an error unless a call has returned 0. */
static void check(lua_State *L, int code, const char *call) {
  lze_WorkFailure f;
  if (code != 0 && !mpi_failed(library(), code, call, &f))
    api_of(L)->raise(L, &f);
}

/* Returns the handle at `index`; raises an error if MPI has ended. */
static mpi_Handle handle_at(lua_State *L, int index) {
  lze_WorkFailure f;
  if (mpi_ended(library(), &f)) api_of(L)->raise(L, &f);
  return (mpi_Handle)luaL_checkinteger(L, index);
}

static void push_handle(lua_State *L, mpi_Handle h) {
  lua_pushinteger(L, (lua_Integer)h);
}

/* --- communicators ------------------------------------------------------ */

/* open() -> the library's name for itself, and handles: the communicator, the
   one for values, the one for pieces, the greatest tag */
static int mpi_lua_open(lua_State *L) {
  lze_WorkFailure f;
  const mpi_Library *m = mpi_open(&f);
  if (m == NULL) api_of(L)->raise(L, &f);
  lua_pushstring(L, m->version);
  push_handle(L, m->world);
  push_handle(L, m->values);
  push_handle(L, m->pieces);
  lua_pushinteger(L, (lua_Integer)m->most_tag);
  return 5;
}

/* thread() -> true if this thread may call MPI */
static int mpi_lua_thread(lua_State *L) {
  lua_pushboolean(L, mpi_thread_is_good(library()));
  return 1;
}

/* place(comm) -> rank, size */
static int mpi_lua_place(lua_State *L) {
  const mpi_Library *m = library();
  int rank = 0, size = 0;
  check(L, m->Comm_rank(handle_at(L, 1), &rank), "MPI_Comm_rank");
  check(L, m->Comm_size(handle_at(L, 1), &size), "MPI_Comm_size");
  lua_pushinteger(L, rank);
  lua_pushinteger(L, size);
  return 2;
}

/* node(comm) -> rank, size among the ranks of the same node */
static int mpi_lua_node(lua_State *L) {
  const mpi_Library *m = library();
  mpi_Handle node = 0;
  int rank = 0, size = 0;
  check(L, m->Comm_split_type(handle_at(L, 1), m->c.shared, 0, m->c.info_null,
                              &node),
        "MPI_Comm_split_type");
  int error = m->Comm_rank(node, &rank);
  if (error == 0) error = m->Comm_size(node, &size);
  m->Comm_free(&node);
  check(L, error, "MPI_Comm_size");
  lua_pushinteger(L, rank);
  lua_pushinteger(L, size);
  return 2;
}

/* Sets up a new communicator of lze and returns it, or nothing if this rank is
   not a member. */
static int comm_made(lua_State *L, mpi_Handle comm) {
  const mpi_Library *m = library();
  if (comm == m->c.comm_null) return 0;
  m->Comm_set_errhandler(comm, m->c.errors_return);
  push_handle(L, comm);
  return 1;
}

/* dup(comm) -> a copy */
static int mpi_lua_dup(lua_State *L) {
  mpi_Handle copy = 0;
  check(L, library()->Comm_dup(handle_at(L, 1), &copy), "MPI_Comm_dup");
  return comm_made(L, copy);
}

/* split(comm, color | nil, key) -> the communicator of that color, or nil */
static int mpi_lua_split(lua_State *L) {
  const mpi_Library *m = library();
  mpi_Handle part = 0;
  int color = lua_isnil(L, 2) ? m->c.undefined : (int)luaL_checkinteger(L, 2);
  check(L, m->Comm_split(handle_at(L, 1), color, (int)luaL_checkinteger(L, 3),
                         &part),
        "MPI_Comm_split");
  return comm_made(L, part);
}

/* free(comm), when it is no longer used */
static int mpi_lua_free(lua_State *L) {
  mpi_Handle comm = (mpi_Handle)luaL_checkinteger(L, 1);
  check(L, mpi_comm_free(library(), comm), "MPI_Comm_free");
  return 0;
}

enum { MAX_DIMENSIONS = 8 };

/* cart(comm, dims, periodic, reorder) -> communicator, or nil if this rank does
   not belong to it */
static int mpi_lua_cart(lua_State *L) {
  const mpi_Library *m = library();
  int dims[MAX_DIMENSIONS], periodic[MAX_DIMENSIONS];
  mpi_Handle cart = 0;
  int n = (int)luaL_len(L, 2);
  for (int i = 0; i < n && i < MAX_DIMENSIONS; i++) {
    lua_rawgeti(L, 2, i + 1);
    lua_rawgeti(L, 3, i + 1);
    dims[i] = (int)lua_tointeger(L, -2);
    periodic[i] = lua_toboolean(L, -1);
    lua_pop(L, 2);
  }
  check(L, m->Cart_create(handle_at(L, 1), n, dims, periodic,
                          lua_toboolean(L, 4), &cart),
        "MPI_Cart_create");
  return comm_made(L, cart);
}

/* coords(cart, rank, n) -> table, from 0 */
static int mpi_lua_coords(lua_State *L) {
  int coords[MAX_DIMENSIONS] = {0}, n = (int)luaL_checkinteger(L, 3);
  check(L, library()->Cart_coords(handle_at(L, 1), (int)luaL_checkinteger(L, 2),
                                  n, coords),
        "MPI_Cart_coords");
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, coords[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* rank(cart, coords) -> the rank at these coordinates */
static int mpi_lua_rank(lua_State *L) {
  int coords[MAX_DIMENSIONS] = {0}, rank = 0, n = (int)luaL_len(L, 2);
  for (int i = 0; i < n && i < MAX_DIMENSIONS; i++) {
    lua_rawgeti(L, 2, i + 1);
    coords[i] = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  check(L, library()->Cart_rank(handle_at(L, 1), coords, &rank),
        "MPI_Cart_rank");
  lua_pushinteger(L, rank);
  return 1;
}

/* shift(cart, dimension from 0, by) -> rank before, rank after; or nil */
static int mpi_lua_shift(lua_State *L) {
  const mpi_Library *m = library();
  int ranks[2] = {0, 0};
  check(L, m->Cart_shift(handle_at(L, 1), (int)luaL_checkinteger(L, 2),
                         (int)luaL_checkinteger(L, 3), &ranks[0], &ranks[1]),
        "MPI_Cart_shift");
  for (int i = 0; i < 2; i++) {
    if (ranks[i] == m->c.proc_null) lua_pushnil(L);
    else lua_pushinteger(L, ranks[i]);
  }
  return 2;
}

/* --- operations --------------------------------------------------------- */

static bool is_of_device(const lze_BufferInfo *info) {
  return strcmp(info->usage, "device") == 0;
}

/* buffer(x, evaluated) -> type, count, bytes, true if device memory, context;
   or nil and a description of x. An array counts once it has been evaluated. */
static int mpi_lua_buffer(lua_State *L) {
  lze_BufferInfo info = {.size = sizeof info};
  lze_ErrorInfo e;
  if (!lua_isuserdata(L, 1) && !lua_toboolean(L, 2)) return 0;
  if (api_of(L)->get_buffer(L, 1, &info, &e) != LZE_OK) {
    lua_pushnil(L);
    lua_pushstring(L, e.message);
    return 2;
  }
  lua_pushstring(L, info.type);
  lua_pushinteger(L, (lua_Integer)info.count);
  lua_pushinteger(L, (lua_Integer)info.bytes);
  lua_pushboolean(L, is_of_device(&info));
  lua_pushlightuserdata(L, info.context);
  return 5;
}

static void op_drop(mpi_Op **box) {
  if (*box != NULL) mpi_op_disown(*box);
  *box = NULL;
}

static int op_gc(lua_State *L) {
  op_drop(lua_touserdata(L, 1));
  return 0;
}

/* The upvalues of post() in addition to the lze_Api: the metatable of
   operations, and the userdata of a finished operation to use again, or nil. */
enum { OP_METATABLE = 2, OP_SPARE = 3 };

static mpi_Op *op_push(lua_State *L, bool wait) {
  lua_pushvalue(L, lua_upvalueindex(OP_SPARE));
  mpi_Op **box = lua_touserdata(L, -1);
  if (wait && box != NULL) {
    lua_pushnil(L);
    lua_replace(L, lua_upvalueindex(OP_SPARE));
  } else {
    lua_pop(L, 1);
    box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = NULL;
    lua_pushvalue(L, lua_upvalueindex(OP_METATABLE));
    lua_setmetatable(L, -2);
  }
  *box = mpi_op_new(library());
  if (*box == NULL) luaL_error(L, "not enough memory");
  return *box;
}

static const struct {
  const char *name;
  size_t bytes;
} scalars[MPI_SCALARS] = {{"char", 1},  {"uchar", 1}, {"short", 2},
                          {"ushort", 2}, {"int", 4},  {"uint", 4},
                          {"long", 8},  {"ulong", 8}, {"float", 4},
                          {"double", 8}};

/* The operators from MPI_OP_BAND on are for integers. */
static const char *const operators[MPI_OPERATORS] = {"sum", "prod", "min",
                                                     "max", "band", "bor",
                                                     "bxor"};

/* Pushes the argument `reduction` of post() by the type of the elements and the
   operator. A vector counts as its scalars. */
static void push_reductions(lua_State *L) {
  static const char *const lanes[] = {"", "2", "3", "4", "8", "16"};
  lua_createtable(L, 0, 6 * MPI_SCALARS);
  for (int i = 0; i < MPI_SCALARS; i++) {
    int count = i < MPI_F32 ? MPI_OPERATORS : MPI_OP_BAND;
    lua_createtable(L, 0, count);
    for (int op = 0; op < count; op++) {
      lua_pushinteger(L, i * MPI_OPERATORS + op);
      lua_setfield(L, -2, operators[op]);
    }
    for (size_t k = 0; k < sizeof lanes / sizeof *lanes; k++) {
      lua_pushfstring(L, "%s%s", scalars[i].name, lanes[k]);
      lua_pushvalue(L, -2);
      lua_settable(L, -4);
    }
    lua_pop(L, 1);
  }
}

enum {
  POST_KIND = 1, POST_WAIT, POST_COMM, POST_HANDLE, POST_RANK, POST_SIZE,
  POST_PEER, POST_TAG, POST_REDUCTION, POST_BY_RANK, POST_X, POST_Y,
  POST_PAYLOAD, POST_COUNTS, POST_RECEIVED, POST_INTO, POST_PIECES, POST_STAGE,
  POST_TOP
};

/* Adds the buffer at `index` to the operation; returns NULL for nil. */
static void *op_use(lua_State *L, mpi_Op *o, lze_WorkSpec *spec, int index,
                    bool write, size_t parts) {
  lze_BufferInfo info = {.size = sizeof info};
  if (lua_isnil(L, index)) return NULL;
  if (o->api->get_buffer(L, index, &info, NULL) != LZE_OK)
    luaL_error(L, "%s: not a buffer", spec->name);
  spec->buffers[spec->count] = index;
  spec->writes[spec->count++] = write;
  o->bytes = info.bytes / parts;
  if (write) o->written = info.bytes;
  o->of_device = o->of_device || is_of_device(&info);
  if (info.bytes > o->most) o->most = info.bytes;
  if (info.count > 0) o->element = info.bytes / info.count;
  o->count = info.bytes / scalars[o->scalar].bytes;
  return info.pointer;
}

/* Adds another buffer that it writes, unless nil. */
static void *op_use_more(lua_State *L, lze_WorkSpec *spec, int index) {
  lze_BufferInfo info = {.size = sizeof info};
  if (lua_isnil(L, index)) return NULL;
  api_of(L)->get_buffer(L, index, &info, NULL);
  spec->buffers[spec->count] = index;
  spec->writes[spec->count++] = true;
  return info.pointer;
}

/* Reads the counts at `index`, one for each rank, and computes where each block
   begins. */
static int *op_counts(lua_State *L, const mpi_Op *o, int index) {
  int *counts = malloc(2 * (size_t)o->size * sizeof *counts), place = 0;
  if (counts == NULL) luaL_error(L, "not enough memory");
  for (int i = 0; i < o->size; i++) {
    lua_rawgeti(L, index, i + 1);
    counts[i] = (int)lua_tointeger(L, -1);
    counts[o->size + i] = place;
    place += counts[i];
    lua_pop(L, 1);
  }
  return counts;
}

/* Marks the communicator at POST_COMM as used, since code that runs later may
   close it. */
static void post_comm(lua_State *L, mpi_Op *o) {
  lze_WorkFailure f;
  lua_pushliteral(L, "closed");
  if (lua_rawget(L, POST_COMM) != LUA_TNIL) {
    lua_where(L);
    lua_pushfstring(L, "%s: the communicator is closed",
                    mpi_kind_names[o->kind]);
    lua_concat(L, 2);
    lua_error(L);
  }
  lua_pop(L, 1);
  if (mpi_ended(library(), &f)) api_of(L)->raise(L, &f);
  if (!mpi_op_use(o, (mpi_Handle)luaL_checkinteger(L, POST_HANDLE),
                  (mpi_Handle)luaL_optinteger(L, POST_PIECES, 0)))
    luaL_error(L, "not enough memory");
}

/* post(kind, wait, communicator, handle, rank, size, peer, tag, reduction,
   by_rank, x, y, payload, counts, received, into, pieces, stage) -> event and,
   for a receive, the argument of came(); or, after waiting: source, tag, bytes
   of a receive; source, tag, payload of a received value; nil, nil, payload of
   a broadcast value. The communicator is mpi.lua's table, and the handle one of
   its handles. x is read, y is written; `payload` is a string, or true to
   receive a value. `counts` are the lengths of blocks that differ, `received`
   the lengths that an alltoall receives. y is copied into `into`, device
   memory, when it is complete. `pieces` is the handle for a message's pieces,
   and `stage` the host memory through which device memory is sent, or nil. */
static int mpi_lua_post(lua_State *L) {
  lua_settop(L, POST_TOP - 1);
  const mpi_Library *m = library();
  static const char *const names[][2] = {
      {"isend", "send"},           {"irecv", "recv"},
      {"ibarrier", "barrier"},     {"ibcast", "bcast"},
      {"ireduce", "reduce"},       {"iallreduce", "allreduce"},
      {"iscan", "scan"},           {"igather", "gather"},
      {"iscatter", "scatter"},     {"iallgather", "allgather"},
      {"ialltoall", "alltoall"}};
  mpi_Kind kind = (mpi_Kind)luaL_checkinteger(L, POST_KIND);
  bool wait = lua_toboolean(L, POST_WAIT) != 0;
  bool reduces = !lua_isnil(L, POST_REDUCTION);
  int reduction = (int)luaL_optinteger(L, POST_REDUCTION, 0);
  mpi_Op *o = op_push(L, wait);
  lze_WorkSpec spec = {.size = sizeof spec,
                       .name = names[kind][wait],
                       .step = mpi_op_step,
                       .hold = mpi_op_hold,
                       .release = mpi_op_release,
                       .describe = mpi_op_describe,
                       .userdata = o};
  if (kind == MPI_RECV) spec.cancel = mpi_op_cancel;
  if (m->timeout > 0) spec.awaited = mpi_op_awaited;
  o->api = api_of(L);
  o->kind = kind;
  o->wait = wait;
  o->op = (mpi_Operator)(reduction % MPI_OPERATORS);
  o->scalar = (mpi_Scalar)(reduction / MPI_OPERATORS);
  o->by_rank = lua_toboolean(L, POST_BY_RANK);
  o->rank = (int)luaL_checkinteger(L, POST_RANK);
  o->size = (int)luaL_checkinteger(L, POST_SIZE);
  post_comm(L, o);
  o->peer = (int)luaL_optinteger(L, POST_PEER, m->c.any_source);
  o->tag = (int)luaL_optinteger(L, POST_TAG, m->c.any_tag);
  o->source = o->peer; /* until the sender is known */
  o->got_tag = o->tag;
  o->value = !lua_isnil(L, POST_PAYLOAD);
  if (lua_isstring(L, POST_PAYLOAD)) {
    const char *text = lua_tolstring(L, POST_PAYLOAD, &o->payload_bytes);
    o->payload = malloc(o->payload_bytes + 1);
    if (o->payload == NULL) return luaL_error(L, "not enough memory");
    memcpy(o->payload, text, o->payload_bytes);
  }
  if (!lua_isnil(L, POST_COUNTS)) o->counts = op_counts(L, o, POST_COUNTS);
  if (!lua_isnil(L, POST_RECEIVED))
    o->received = op_counts(L, o, POST_RECEIVED);
  /* The last call of op_use sets the length of a block: one rank's. */
  size_t size = (size_t)o->size;
  bool gathers = kind == MPI_GATHER || kind == MPI_ALLGATHER;
  if (gathers) o->out = op_use(L, o, &spec, POST_Y, true, size);
  o->in = op_use(L, o, &spec, POST_X, false,
                 kind == MPI_SCATTER || kind == MPI_ALLTOALL ? size : 1);
  if (!gathers) o->out = op_use(L, o, &spec, POST_Y, true,
                                kind == MPI_ALLTOALL ? size : 1);
  o->into = op_use_more(L, &spec, POST_INTO);
  o->stage = op_use_more(L, &spec, POST_STAGE);
  if (o->into != NULL) o->copies = o->api->find_copies(L, POST_INTO);
  if (o->of_device && o->copies == NULL)
    o->copies = o->api->find_copies(L, spec.buffers[0]);
  o->writes = !lua_isnil(L, POST_Y);
  /* Ranks that only read pass the same buffer as ranks that write. */
  if (o->out == NULL && (kind == MPI_BCAST || kind == MPI_REDUCE))
    o->out = (char *)o->in;
  if (reduces && (m->wrong[o->scalar] >> o->op & 1) != 0)
    o->by_rank = true; /* lze's own operators: the order of ranks does not
                          matter */
  o->api->work(L, &spec, wait);
  int results = !wait;
  if (!wait && kind == MPI_RECV) {
    lua_pushvalue(L, POST_TOP);
    return 2;
  }
  if (wait && (kind == MPI_RECV || (kind == MPI_BCAST && o->value))) {
    lua_pushinteger(L, o->source);
    lua_pushinteger(L, o->got_tag);
    if (o->value) lua_pushlstring(L, o->payload, o->payload_bytes);
    else lua_pushinteger(L, (lua_Integer)o->got);
    results = 3;
  }
  op_drop(lua_touserdata(L, POST_TOP)); /* now, not when it is collected */
  if (wait) lua_copy(L, POST_TOP, lua_upvalueindex(OP_SPARE));
  return results;
}

static void push_post(lua_State *L, const lze_Api *api) {
  lua_pushlightuserdata(L, (void *)api);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, op_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushnil(L);
  lua_pushcclosure(L, mpi_lua_post, 3);
}

/* came(receive) -> source, tag, bytes; nothing unless it has succeeded */
static int mpi_lua_came(lua_State *L) {
  mpi_Op *const *box = lua_touserdata(L, 1);
  if (*box == NULL || !(*box)->posted) return 0; /* NULL once collected */
  lua_pushinteger(L, (*box)->source);
  lua_pushinteger(L, (*box)->got_tag);
  lua_pushinteger(L, (lua_Integer)(*box)->got);
  return 3;
}

/* --- memory of devices --------------------------------------------------- */

/* gpu() -> true if MPI gets device memory, and why it cannot, or nil */
static int mpi_lua_gpu(lua_State *L) {
  lua_pushboolean(L, library()->gpu);
  lua_pushstring(L, library()->gpu_lacks);
  return 2;
}

/* Sends x to y on a communicator of this rank alone, and waits. */
static int exchange(const mpi_Library *m, mpi_Handle comm,
                    const lze_BufferInfo *x, const lze_BufferInfo *y,
                    const char **call, bool *over) {
  const struct timespec pause = {.tv_nsec = 100000};
  enum { PAUSES = 100000 }; /* 10 s */
  mpi_Handle requests[2];
  mpi_Status status;
  *call = "MPI_Irecv";
  int error = m->Irecv(y->pointer, (int)y->bytes, m->c.byte, 0, 0, comm,
                       &requests[0]);
  if (error != 0) return error;
  *call = "MPI_Isend";
  error = m->Isend(x->pointer, (int)x->bytes, m->c.byte, 0, 0, comm,
                   &requests[1]);
  if (error != 0) return error;
  int done = 0;
  *call = "MPI_Test";
  for (int i = 0; error == 0 && done < 2 && i < PAUSES; i++) {
    int flag = 0;
    error = m->Test(&requests[done], &flag, &status);
    if (error == 0 && flag) done++;
    else nanosleep(&pause, NULL);
  }
  *over = done == 2;
  return error;
}

/* try(x, y) -> nil once MPI has sent x to y, both device memory; otherwise the
   reason for the failure, after which MPI may use both for ever */
static int mpi_lua_try(lua_State *L) {
  const mpi_Library *m = library();
  const lze_Api *api = api_of(L);
  lze_BufferInfo x = {.size = sizeof x}, y = {.size = sizeof y};
  lze_ErrorInfo e;
  if (api->get_buffer(L, 1, &x, &e) != LZE_OK ||
      api->get_buffer(L, 2, &y, &e) != LZE_OK ||
      api->wait_buffer(L, 1, 0, &e) != LZE_OK ||
      api->wait_buffer(L, 2, 1, &e) != LZE_OK)
    return luaL_error(L, "%s", e.message);
  mpi_Handle comm = 0;
  const char *call = "MPI_Comm_dup";
  bool over = false;
  int error = m->Comm_dup(m->c.self, &comm);
  if (error == 0) {
    m->Comm_set_errhandler(comm, m->c.errors_return);
    error = exchange(m, comm, &x, &y, &call, &over);
  }
  if (over) m->Comm_free(&comm);
  if (over && error == 0) return 0;
  lze_WorkFailure f;
  if (error == 0) {
    lua_pushliteral(L, "a message to itself took longer than 10 s");
    return 1;
  }
  mpi_failed(m, error, call, &f);
  lua_pushfstring(L, "%s: %s: %s", f.call, f.code, f.message);
  return 1;
}

/* note(text) */
static int mpi_lua_note(lua_State *L) {
  api_of(L)->note(L, luaL_checkstring(L, 1));
  return 0;
}

/* --- objects and errors ------------------------------------------------- */

/* object(metatable, state) -> userdata */
static int mpi_lua_object(lua_State *L) {
  lua_settop(L, 2);
  lua_newuserdatauv(L, 0, 1);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, 1);
  lua_setmetatable(L, -2);
  return 1;
}

/* state(v, metatable) -> the state of an object with this metatable, else
   nil */
static int mpi_lua_state(lua_State *L) {
  if (lua_type(L, 1) != LUA_TUSERDATA || !lua_getmetatable(L, 1) ||
      !lua_rawequal(L, -1, 2))
    return 0;
  lua_getiuservalue(L, 1, 1);
  return 1;
}

/* raise(call, code, message) */
static int mpi_lua_raise(lua_State *L) {
  lze_WorkFailure f;
  snprintf(f.call, sizeof f.call, "%s", luaL_checkstring(L, 1));
  snprintf(f.code, sizeof f.code, "%s", luaL_checkstring(L, 2));
  snprintf(f.message, sizeof f.message, "%s", luaL_checkstring(L, 3));
  api_of(L)->raise(L, &f);
  return 0;
}

static const luaL_Reg primitives[] = {
    {"open", mpi_lua_open},     {"thread", mpi_lua_thread},
    {"place", mpi_lua_place},   {"node", mpi_lua_node},
    {"dup", mpi_lua_dup},       {"split", mpi_lua_split},
    {"free", mpi_lua_free},     {"cart", mpi_lua_cart},
    {"coords", mpi_lua_coords}, {"shift", mpi_lua_shift},
    {"rank", mpi_lua_rank},
    {"buffer", mpi_lua_buffer}, {"came", mpi_lua_came},
    {"gpu", mpi_lua_gpu},       {"try", mpi_lua_try},
    {"note", mpi_lua_note},     {"raise", mpi_lua_raise},
    {"object", mpi_lua_object}, {"state", mpi_lua_state},
    {"where", lua_where},   {NULL, NULL}};

static const unsigned char text[] = {
#include "mpi/mpi.h"
};

/* Pushes the globals of the Lua part: a program may change its own. */
static void push_globals(lua_State *L) {
  static const char *const names[] = {
      "string", "table", "math", "error", "getmetatable", "ipairs", "next",
      "pairs", "pcall", "rawequal", "select", "setmetatable", "tostring",
      "type"};
  lua_newtable(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, LUA_GNAME);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lua_getfield(L, -1, names[i]);
    lua_setfield(L, -4, names[i]);
  }
  lua_pop(L, 2);
}

API int luaopen_lze_mpi(lua_State *L);

API int luaopen_lze_mpi(lua_State *L) {
  luaL_checkversion(L);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "lze");
  lua_call(L, 1, 1);
  int lze = lua_gettop(L);
  const lze_Api *api = lze_find_api(L);
  if (api == NULL || !LZE_API_HAS(api, copy))
    return luaL_error(L, "lze.mpi: lze is of another version");
  if (luaL_loadbufferx(L, (const char *)text, sizeof text, "=lze mpi.lua",
                       "t") != LUA_OK)
    return lua_error(L);
  push_globals(L);
  lua_setupvalue(L, -2, 1);
  luaL_newlibtable(L, primitives);
  lua_pushlightuserdata(L, (void *)api);
  luaL_setfuncs(L, primitives, 1);
  push_post(L, api);
  lua_setfield(L, -2, "post");
  lua_createtable(L, 0, MPI_KINDS);
  for (int i = 0; i < MPI_KINDS; i++) {
    lua_pushinteger(L, i);
    lua_setfield(L, -2, mpi_kind_names[i]);
  }
  lua_setfield(L, -2, "kinds");
  push_reductions(L);
  lua_setfield(L, -2, "reductions");
  lua_pushinteger(L, (lua_Integer)MPI_PIECE);
  lua_setfield(L, -2, "piece");
  lua_pushinteger(L, MPI_STAGED);
  lua_setfield(L, -2, "staged");
  lua_pushinteger(L, MPI_HEAD);
  lua_setfield(L, -2, "head");
  lua_pushvalue(L, lze);
  lua_call(L, 2, 1);
  return 1;
}
