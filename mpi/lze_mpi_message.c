/*
 * lze_mpi_message.c - messages of buffers: whole, or announced and in pieces.
 * SPDX-License-Identifier: MIT
 *
 * A short message is one message of MPI. For a longer one, the MPI message,
 * which has its place among the messages with its tag, only announces the
 * length and a number. The pieces follow on another communicator, with the
 * number as their tag. So device memory needs two pieces of host memory, and
 * one is copied while another travels. The receiver need not be prepared: an
 * announcement has a length that no other message has.
 *
 * If one side fails after that, both finish anyway: the sender sends the
 * remaining pieces empty, which notifies the receiver, or the receiver drops
 * them.
 */
#include "lze_mpi.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool sends(const mpi_Op *o) { return o->kind == MPI_SEND; }

/* Returns true if MPI cannot use its memory as host memory. */
static bool is_of_device(const mpi_Op *o) { return o->copies != NULL; }

/* Returns true if more comes than fits. */
static bool is_too_long(const mpi_Op *o) {
  return !sends(o) && o->length > o->bytes;
}

/* Returns the error of a message with an unexpected length. */
static int truncated(const mpi_Op *o) {
  const mpi_Constants *k = &o->m->c;
  int class = 1;
  while (class < k->class_count &&
         strcmp(k->classes[class - 1], "TRUNCATE") != 0)
    class++;
  return class;
}

static bool is_truncation(const mpi_Op *o, int error) {
  int class = 0;
  return o->m->Error_class(error, &class) == 0 && class == truncated(o);
}

/* Records an error after the announcement: the message fails with the first
   error. */
static void fail(mpi_Op *o, int error, lze_WorkFailure *f) {
  if (!o->failed) mpi_op_error(o, error, f);
  o->failed = true;
}

/* Reports that more has come than fits: the libraries' own errors name neither
   the sender nor a length. */
static int too_long(const mpi_Op *o, lze_WorkFailure *f) {
  char from[80];
  size_t bytes;
  mpi_op_describe((void *)o, from, sizeof from, &bytes);
  mpi_op_error(o, truncated(o), f);
  snprintf(f->message, sizeof f->message,
           "the message%s is longer than the buffer of %zu bytes", from,
           o->bytes);
  return LZE_WORK_FAILED;
}

/* --- the first message of MPI -------------------------------------------- */

static void announce(mpi_Op *o) {
  static atomic_uint numbers;
  o->number = atomic_fetch_add(&numbers, 1) % (o->m->most_tag + 1u);
  o->length = o->bytes;
  o->announced = true;
  memcpy(o->head, &o->length, sizeof o->length);
  memcpy(o->head + sizeof o->length, &o->number, sizeof o->number);
}

static int post_first(mpi_Op *o, lze_WorkFailure *f) {
  const mpi_Library *m = o->m;
  int error;
  if (sends(o)) {
    if (o->bytes > m->most_whole || o->bytes == MPI_HEAD) announce(o);
    error = m->Isend(o->announced ? o->head : o->in,
                     o->announced ? MPI_HEAD : (int)o->bytes, m->c.byte,
                     o->peer, o->tag, o->comm, o->requests);
  } else {
    size_t room = o->bytes < MPI_PIECE ? o->bytes : MPI_PIECE;
    o->first = o->stage != NULL ? o->stage : o->out;
    if (room < MPI_HEAD) {
      room = MPI_HEAD;
      o->first = o->head;
    }
    error = m->Irecv(o->first, (int)room, m->c.byte, o->peer, o->tag, o->comm,
                     o->requests);
  }
  if (error != 0) return mpi_op_error(o, error, f);
  o->request_count = 1;
  return LZE_WORK_DONE;
}

static int look_first(mpi_Op *o, lze_WorkFailure *f) {
  const mpi_Library *m = o->m;
  int flag = 0;
  int64_t bytes = 0;
  if (!o->came) {
    o->status.words[m->c.source_at] = m->c.any_source;
    o->status.words[m->c.tag_at] = o->tag;
  }
  int error = o->came ? o->error : m->Test(o->requests, &flag, &o->status);
  if (error == 0 && !flag && !o->came) return LZE_WORK_PENDING;
  o->request_count = 0;
  if (!sends(o) && (error == 0 || is_truncation(o, error))) {
    o->source = o->status.words[m->c.source_at];
    o->got_tag = o->status.words[m->c.tag_at];
    if (error != 0) return too_long(o, f);
    error = m->Get_elements_x(&o->status, m->c.byte, &bytes);
    o->got = (size_t)bytes;
  }
  if (error == 0) return LZE_WORK_DONE;
  if (!o->announced) return mpi_op_error(o, error, f);
  fail(o, error, f);
  return LZE_WORK_DONE;
}

/* Handles the first message: the whole data, which is moved into its place, or
   an announcement. */
static int take_first(mpi_Op *o, lze_WorkFailure *f) {
  if (sends(o)) return LZE_WORK_DONE;
  if (o->got != MPI_HEAD) {
    if (o->got > o->bytes) return too_long(o, f);
    if (o->first == o->out) return LZE_WORK_DONE;
    if (is_of_device(o))
      return o->api->copy(o->copies, &o->copy, o->out, o->first, o->got, f);
    memcpy(o->out, o->first, o->got);
    return LZE_WORK_DONE;
  }
  if (is_of_device(o) && o->first == o->out) {
    int status = o->api->copy(o->copies, &o->copy, o->head, o->out, MPI_HEAD,
                              f);
    if (status != LZE_WORK_DONE) return status;
  } else if (o->first != o->head) {
    memcpy(o->head, o->first, MPI_HEAD);
  }
  memcpy(&o->length, o->head, sizeof o->length);
  memcpy(&o->number, o->head + sizeof o->length, sizeof o->number);
  o->announced = true;
  o->got = (size_t)o->length;
  if (is_too_long(o)) {
    if (!o->failed) too_long(o, f);
    o->failed = true;
    o->scratch = malloc(MPI_PIECE);
  }
  return LZE_WORK_DONE;
}

/* --- pieces -------------------------------------------------------------- */

bool mpi_piece_copies(mpi_Op *o, mpi_Piece *p, char *to, const char *from,
                      size_t bytes, lze_WorkFailure *f) {
  lze_WorkFailure later;
  if (o->failed && p->copy == NULL) return false;
  int status = o->api->copy(o->copies, &p->copy, to, from, bytes,
                            o->failed ? &later : f);
  if (status == LZE_WORK_FAILED) o->failed = true;
  return status == LZE_WORK_PENDING;
}

/* Posts a piece. It is never received with less room: Open MPI 4.1.4 ignores
   the limit when it reads from the other process. */
static int piece_post(mpi_Op *o, mpi_Piece *p, char *at, size_t bytes) {
  const mpi_Library *m = o->m;
  int tag = (int)o->number;
  if ((sends(o) && o->failed) || at == NULL) bytes = 0;
  return sends(o) ? m->Isend(at, (int)bytes, m->c.byte, o->peer, tag,
                             o->pieces, &p->request)
                  : m->Irecv(at, (int)bytes, m->c.byte, o->source, tag,
                             o->pieces, &p->request);
}

/* A piece that is not complete is an error. */
static void piece_check(mpi_Op *o, const mpi_Status *status, size_t bytes,
                        lze_WorkFailure *f) {
  int64_t came = 0;
  int error = o->m->Get_elements_x(status, o->m->c.byte, &came);
  if (error == 0 && (size_t)came != bytes) error = truncated(o);
  if (error != 0) fail(o, error, f);
}

/* Continues the k-th piece. */
static void piece_step(mpi_Op *o, size_t k, lze_WorkFailure *f) {
  mpi_Piece *p = &o->flight[k % MPI_FLIGHT];
  size_t offset = k * MPI_PIECE, left = (size_t)o->length - offset;
  size_t bytes = left < MPI_PIECE ? left : MPI_PIECE;
  bool drops = is_too_long(o), staged = o->stage != NULL && !drops;
  char *place = drops ? o->scratch
                      : (sends(o) ? (char *)o->in : o->out) + offset;
  char *at = staged ? o->stage + k % MPI_STAGED * MPI_PIECE : place;
  mpi_Status status;
  int error = 0, flag = 0;
  switch (p->state) {
    case PIECE_READY:
      if (sends(o) && staged && mpi_piece_copies(o, p, at, place, bytes, f))
        return;
      p->state = PIECE_COPIED;
      /* fallthrough */
    case PIECE_COPIED:
      if (k != o->moving) return; /* pieces stay in order */
      o->moving++;
      error = piece_post(o, p, at, bytes);
      if (error != 0) {
        fail(o, error, f);
        error = piece_post(o, p, at, bytes);
      }
      p->state = error != 0 ? PIECE_OVER : PIECE_MOVES;
      if (error != 0) return;
      /* fallthrough */
    case PIECE_MOVES:
      error = o->m->Test(&p->request, &flag, &status);
      if (error != 0) fail(o, error, f);
      else if (!flag) return;
      else if (!sends(o)) piece_check(o, &status, bytes, f);
      p->state = PIECE_MOVED;
      /* fallthrough */
    case PIECE_MOVED:
      if (!sends(o) && staged && mpi_piece_copies(o, p, place, at, bytes, f))
        return;
      p->state = PIECE_OVER;
      /* fallthrough */
    default: return;
  }
}

/* Continues the pieces that have begun, and begins as many as possible. */
static int pieces_step(mpi_Op *o, lze_WorkFailure *f) {
  size_t count = ((size_t)o->length + MPI_PIECE - 1) / MPI_PIECE;
  size_t most = is_too_long(o) ? 1 : o->stage != NULL ? MPI_STAGED : MPI_FLIGHT;
  size_t last = o->ended + most;
  for (size_t k = o->ended; k < count && k < last; k++) {
    mpi_Piece *p = &o->flight[k % MPI_FLIGHT];
    if (k == o->begun) {
      *p = (mpi_Piece){0};
      o->begun++;
    }
    piece_step(o, k, f);
    if (p->state == PIECE_OVER && k == o->ended) {
      o->ended++;
      o->moved = true;
    }
  }
  if (o->ended < count) return LZE_WORK_PENDING;
  return o->failed ? LZE_WORK_FAILED : LZE_WORK_DONE;
}

int mpi_message_step(mpi_Op *o, lze_WorkFailure *f) {
  static int (*const first[])(mpi_Op *, lze_WorkFailure *) = {
      post_first, look_first, take_first};
  while (o->phase < sizeof first / sizeof *first) {
    int status = first[o->phase](o, f);
    if (status != LZE_WORK_DONE) return status;
    o->phase++;
    o->moved = true;
  }
  return o->announced ? pieces_step(o, f) : LZE_WORK_DONE;
}
