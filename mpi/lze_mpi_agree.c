/*
 * lze_mpi_agree.c - agreement of all ranks on the same collective.
 * SPDX-License-Identifier: MIT
 *
 * MPI need not detect lengths that differ: the libraries write past the
 * shorter buffer. Therefore the ranks first add up one number each, which is
 * computed from the call. If the sum is `size` times a rank's own number, all
 * numbers are the same, except with a chance of 2^-60. A rank that lacks
 * memory adds another number: then no rank continues.
 */
#include "lze_mpi.h"

#include <stdio.h>

static uint64_t mixed(uint64_t h, uint64_t word) {
  h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 29;
}

static uint64_t op_called(const mpi_Op *o) {
  const uint64_t words[] = {(uint64_t)o->kind, o->value, o->by_rank,
                            (uint64_t)o->op, (uint64_t)o->scalar,
                            (uint64_t)o->peer, o->counts != NULL};
  uint64_t h = 1;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    h = mixed(h, words[i]);
  if (o->counts == NULL) return mixed(h, o->bytes);
  for (int i = 0; i < o->size && o->received == NULL; i++)
    h = mixed(h, (uint64_t)o->counts[i]);
  return h;
}

/* Returns a number that adds up to 0 over all ranks if an alltoall receives
   what is sent. */
static uint64_t op_open(const mpi_Op *o) {
  uint64_t open = 0;
  for (int i = 0; i < o->size && o->received != NULL; i++) {
    uint64_t sent = mixed(1, (uint64_t)o->rank << 32 | (uint32_t)i);
    uint64_t comes = mixed(1, (uint64_t)i << 32 | (uint32_t)o->rank);
    open += mixed(comes, (uint64_t)o->received[i]) -
            mixed(sent, (uint64_t)o->counts[i]);
  }
  return open;
}

static void op_call(mpi_Op *o, bool meets) {
  uint64_t element = o->counts != NULL ? o->element : 0;
  o->called[CALLED_LIKE] = op_called(o) + o->lacks;
  o->called[CALLED_OPEN] = op_open(o);
  o->called[CALLED_POSTS] = !meets;
  o->called[CALLED_COPIES] = o->stage != NULL;
  o->called[CALLED_SIZED] = element > 0;
  o->called[CALLED_SIZES] = element;
  o->called[CALLED_SQUARES] = element * element;
}

/* Returns true if all numbers are the same: the mean of their squares is then
   the square of their mean. A rank without a number can check this, too. */
static bool op_is_same(const mpi_Op *o) {
  const uint64_t *sum = o->called;
  return sum[CALLED_LIKE] == (uint64_t)o->size * op_called(o) &&
         sum[CALLED_OPEN] == 0 &&
         sum[CALLED_SIZED] * sum[CALLED_SQUARES] ==
             sum[CALLED_SIZES] * sum[CALLED_SIZES];
}

static int op_differs(mpi_Op *o, lze_WorkFailure *f) {
  char text[256], between[96];
  size_t bytes;
  mpi_op_describe(o, between, sizeof between, &bytes);
  snprintf(text, sizeof text,
           "%s%s, %zu bytes at rank %d of %d: the ranks' calls differ, in the "
           "operation, its root, the type, the length or an option",
           mpi_kind_names[o->kind], between, bytes, o->rank, o->size);
  return mpi_op_say(o, f, "DIFFERS", text);
}

int mpi_agree(mpi_Op *o, bool meets, lze_WorkFailure *f) {
  const mpi_Library *m = o->m;
  if (!o->asks) {
    op_call(o, meets);
    if (o->size > 1) {
      int error = m->Iallreduce((mpi_In)m->c.in_place, o->called,
                                CALLED_NUMBERS, m->c.scalars[MPI_U64],
                                m->c.operators[MPI_OP_SUM], o->comm,
                                &o->request);
      if (error != 0) return mpi_op_error(o, error, f);
    }
    o->asks = true;
  }
  if (o->size > 1) {
    int flag = 0;
    mpi_Status status;
    int error = m->Test(&o->request, &flag, &status);
    if (error != 0) return mpi_op_error(o, error, f);
    if (!flag) return LZE_WORK_PENDING;
    o->moved = true;
  }
  o->agreed = op_is_same(o);
  o->all_meet = o->called[CALLED_POSTS] == 0;
  o->copied = o->called[CALLED_COPIES] > 0;
  if (o->lacks) return mpi_op_no_memory(o, f);
  return o->agreed ? LZE_WORK_DONE : op_differs(o, f);
}
