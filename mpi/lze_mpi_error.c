/*
 * lze_mpi_error.c - descriptions of operations and of their failures.
 * SPDX-License-Identifier: MIT
 */
#include "lze_mpi.h"

#include <stdio.h>
#include <string.h>

const char *const mpi_kind_names[] = {
    "send",   "recv",    "barrier",   "bcast",    "reduce", "allreduce", "scan",
    "gather", "scatter", "allgather", "alltoall", NULL};

static const char *const calls[][2] = {
    {"MPI_Isend", "MPI_Send"},           {"MPI_Irecv", "MPI_Recv"},
    {"MPI_Ibarrier", "MPI_Barrier"},     {"MPI_Ibcast", "MPI_Bcast"},
    {"MPI_Ireduce", "MPI_Reduce"},       {"MPI_Iallreduce", "MPI_Allreduce"},
    {"MPI_Iscan", "MPI_Scan"},           {"MPI_Igather", "MPI_Gather"},
    {"MPI_Iscatter", "MPI_Scatter"},     {"MPI_Iallgather", "MPI_Allgather"},
    {"MPI_Ialltoall", "MPI_Alltoall"}};

int mpi_op_error(const mpi_Op *o, int code, lze_WorkFailure *f) {
  char call[32];
  snprintf(call, sizeof call, "%s%s", calls[o->kind][o->wait],
           o->counts != NULL ? "v" : "");
  mpi_failed(o->m, code, call, f);
  return LZE_WORK_FAILED;
}

int mpi_op_say(const mpi_Op *o, lze_WorkFailure *f, const char *code,
               const char *message) {
  snprintf(f->call, sizeof f->call, "%s", calls[o->kind][o->wait]);
  snprintf(f->code, sizeof f->code, "%s", code);
  snprintf(f->message, sizeof f->message, "%s", message);
  return LZE_WORK_FAILED;
}

int mpi_op_ended(const mpi_Op *o, lze_WorkFailure *f) {
  snprintf(f->call, sizeof f->call, "%s", calls[o->kind][o->wait]);
  return o->copies != NULL ? LZE_WORK_LEFT : LZE_WORK_FAILED;
}

int mpi_op_no_memory(const mpi_Op *o, lze_WorkFailure *f) {
  return mpi_op_say(o, f, "ENOMEM", "not enough memory");
}

void mpi_op_describe(void *op, char *text, size_t size, size_t *bytes) {
  const mpi_Op *o = op;
  const mpi_Constants *k = &o->m->c;
  char peer[48] = "", tag[32] = "";
  bool receives = o->kind == MPI_RECV;
  int number = receives ? o->got_tag : o->tag;
  if (o->kind == MPI_SEND) snprintf(peer, sizeof peer, " to rank %d", o->peer);
  if (receives && o->source != k->any_source)
    snprintf(peer, sizeof peer, " from rank %d", o->source);
  if (receives && o->source == k->any_source) strcpy(peer, " from any rank");
  if (o->kind > MPI_RECV && o->kind != MPI_BARRIER &&
      o->kind != MPI_ALLREDUCE && o->kind < MPI_ALLGATHER &&
      o->kind != MPI_SCAN)
    snprintf(peer, sizeof peer, ", root %d", o->peer);
  if (o->kind <= MPI_RECV && number != k->any_tag)
    snprintf(tag, sizeof tag, ", tag %d", number);
  snprintf(text, size, "%s%s", peer, tag);
  *bytes = o->value ? o->payload_bytes : receives ? o->got : o->most;
}
