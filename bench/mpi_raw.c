/*
 * mpi_raw.c - the reference for lze.mpi in bench/mpi.lua: MPI itself.
 * SPDX-License-Identifier: MIT
 *
 * A module for Lua, so that both work on the same buffers, in one process and
 * in turns.  Each function does its work `rounds` times between two barriers,
 * and returns the seconds per round.
 */
#include <lauxlib.h>
#include <lua.h>

#include <mpi.h>
#include <stdint.h>

static double started(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime();
}

/* pingpong(pointer, bytes, rounds) -> seconds per message, ranks 0 and 1 */
static int raw_pingpong(lua_State *L) {
  void *x = (void *)(intptr_t)luaL_checkinteger(L, 1);
  int bytes = (int)luaL_checkinteger(L, 2);
  lua_Integer rounds = luaL_checkinteger(L, 3);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double start = started();
  for (lua_Integer i = 0; i < rounds && rank < 2; i++)
    for (int turn = 0; turn < 2; turn++)
      if (turn == rank)
        MPI_Send(x, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD);
      else
        MPI_Recv(x, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  lua_pushnumber(L, (MPI_Wtime() - start) / (2.0 * (double)rounds));
  return 1;
}

/* allreduce(pointer, floats, rounds) -> seconds per call */
static int raw_allreduce(lua_State *L) {
  void *x = (void *)(intptr_t)luaL_checkinteger(L, 1);
  int count = (int)luaL_checkinteger(L, 2);
  lua_Integer rounds = luaL_checkinteger(L, 3);
  double start = started();
  for (lua_Integer i = 0; i < rounds; i++)
    MPI_Allreduce(MPI_IN_PLACE, x, count, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  lua_pushnumber(L, (MPI_Wtime() - start) / (double)rounds);
  return 1;
}

/* now() -> seconds, after all ranks have arrived */
static int raw_now(lua_State *L) {
  lua_pushnumber(L, started());
  return 1;
}

/* since(seconds) -> seconds */
static int raw_since(lua_State *L) {
  lua_pushnumber(L, MPI_Wtime() - luaL_checknumber(L, 1));
  return 1;
}

int luaopen_mpi_raw(lua_State *L) {
  static const luaL_Reg functions[] = {{"pingpong", raw_pingpong},
                                       {"allreduce", raw_allreduce},
                                       {"now", raw_now},
                                       {"since", raw_since},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
