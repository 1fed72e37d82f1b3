/*
 * lze_mpi_turn.c - communicators in use: whose turn it is, when to free one.
 * SPDX-License-Identifier: MIT
 */
#include "lze_mpi.h"

#include <pthread.h>
#include <stdlib.h>

/* A communicator that operations have used, until it is freed. */
struct mpi_Used {
  mpi_Used *next;
  mpi_Handle comm;
  size_t uses;
  bool closed;
  const mpi_Op *turn;           /* a collective that must still post calls, or
                                   NULL */
  uint64_t asked;               /* the number of requests for the turn */
  uint64_t given_up;            /* the first request that was abandoned, or 0 */
};

static mpi_Used *used;
static pthread_mutex_t used_lock = PTHREAD_MUTEX_INITIALIZER;

static mpi_Used **used_find(mpi_Handle comm) {
  mpi_Used **link = &used;
  while (*link != NULL && (*link)->comm != comm) link = &(*link)->next;
  return link;
}

/* Adds a use of the communicator; returns NULL without memory. Caller holds the
   lock. */
static mpi_Used *used_take(mpi_Handle comm) {
  mpi_Used **link = used_find(comm), *u = *link;
  if (u == NULL) {
    u = calloc(1, sizeof *u);
    if (u == NULL) return NULL;
    u->comm = comm;
    *link = u;
  }
  u->uses++;
  return u;
}

/* Caller holds the lock. */
static void used_forget(mpi_Used **link) {
  mpi_Used *u = *link;
  *link = u->next;
  free(u);
}

/* After MPI's end its communicators no longer exist. */
static int comm_free(const mpi_Library *m, mpi_Handle comm) {
  lze_WorkFailure f;
  return mpi_ended(m, &f) ? 0 : m->Comm_free(&comm);
}

int mpi_comm_free(const mpi_Library *m, mpi_Handle comm) {
  pthread_mutex_lock(&used_lock);
  mpi_Used **link = used_find(comm);
  bool later = *link != NULL && (*link)->uses > 0;
  if (later) (*link)->closed = true;
  else if (*link != NULL) used_forget(link);
  pthread_mutex_unlock(&used_lock);
  return later ? 0 : comm_free(m, comm);
}

bool mpi_op_use(mpi_Op *o, mpi_Handle comm, mpi_Handle pieces) {
  pthread_mutex_lock(&used_lock);
  o->used[0] = used_take(comm);
  if (pieces != 0) o->used[1] = used_take(pieces);
  pthread_mutex_unlock(&used_lock);
  if (o->used[0] == NULL || (pieces != 0 && o->used[1] == NULL)) return false;
  o->comm = comm;
  o->pieces = pieces;
  return true;
}

void mpi_op_leave(mpi_Op *o) {
  mpi_Handle closed[2] = {0, 0};
  if (o->used[0] == NULL && o->used[1] == NULL) return;
  pthread_mutex_lock(&used_lock);
  for (int i = 0; i < 2; i++) {
    mpi_Used *u = o->used[i];
    o->used[i] = NULL;
    if (u == NULL) continue;
    if (u->turn == o) u->turn = NULL;
    if (--u->uses > 0 || !u->closed) continue;
    closed[i] = u->comm;
    used_forget(used_find(u->comm));
  }
  pthread_mutex_unlock(&used_lock);
  for (int i = 0; i < 2; i++)
    if (closed[i] != 0) comm_free(o->m, closed[i]);
}

/* Other ranks may post the calls that this one has not posted: later
   collectives of the communicator would not match. */
void mpi_turn_give_up(const mpi_Op *o) {
  pthread_mutex_lock(&used_lock);
  mpi_Used *u = o->used[0];
  if (o->kind > MPI_RECV && (!o->has_turn || u->turn == o)) {
    uint64_t number = o->asked != 0 ? o->asked : ++u->asked;
    if (u->given_up == 0 || number < u->given_up) u->given_up = number;
  }
  pthread_mutex_unlock(&used_lock);
}

/* All ranks post a communicator's collectives in the same order. So the next
   one waits for one that posts later, even if its wait was interrupted. */
int mpi_turn_take(mpi_Op *o, lze_WorkFailure *f) {
  if (o->kind <= MPI_RECV || o->has_turn) return LZE_WORK_DONE;
  pthread_mutex_lock(&used_lock);
  mpi_Used *u = o->used[0];
  if (o->asked == 0) o->asked = ++u->asked;
  bool given_up = u->given_up != 0 && o->asked > u->given_up;
  o->has_turn = u->turn == NULL && !given_up;
  if (o->has_turn) u->turn = o;
  pthread_mutex_unlock(&used_lock);
  if (o->has_turn) {
    o->moved = true;
    return LZE_WORK_DONE;
  }
  if (!given_up) return LZE_WORK_PENDING;
  return mpi_op_say(
      o, f, "GIVEN_UP",
      "an earlier collective was given up before this rank had done all of "
      "it: the communicator can have no more of the same kind, be it those "
      "of buffers or those of values");
}

void mpi_turn_pass(mpi_Op *o) {
  if (o->kind <= MPI_RECV || o->has_passed) return;
  pthread_mutex_lock(&used_lock);
  if (o->used[0]->turn == o) o->used[0]->turn = NULL;
  pthread_mutex_unlock(&used_lock);
  o->has_passed = true;
}
