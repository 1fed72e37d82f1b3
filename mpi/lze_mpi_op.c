/*
 * lze_mpi_op.c - one operation of MPI: posted, polled, ended.
 * SPDX-License-Identifier: MIT
 *
 * All are posted without waiting, so that lze's waits can continue them.
 */
#include "lze_mpi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* MPI's counts are ints. A longer block is one element of a type made for it,
   of units of this size and the rest. */
#define UNIT ((size_t)1 << 30)

/* From this size on, blocking reductions are faster (op_meets). */
#define MEETING ((size_t)1 << 15)

mpi_Op *mpi_op_new(const mpi_Library *m) {
  mpi_Op *o = malloc(sizeof *o);
  if (o == NULL) return NULL;
  memset(o, 0, offsetof(mpi_Op, flight));
  o->requests = &o->request;
  o->owners = 1;
  o->moved = true; /* it begins */
  o->m = m;
  return o;
}

void mpi_op_hold(void *op) { ((mpi_Op *)op)->owners++; }

/* A running operation is never freed. */
void mpi_op_release(void *op, int left) {
  mpi_Op *o = op;
  if (left) {
    mpi_turn_give_up(o);
    return;
  }
  mpi_op_leave(o);
  mpi_op_disown(o);
}

void mpi_op_disown(mpi_Op *o) {
  lze_WorkFailure f;
  if (--o->owners > 0) return;
  mpi_op_leave(o);
  if (o->type != 0 && !mpi_ended(o->m, &f)) o->m->Type_free(&o->type);
  if (o->requests != &o->request) free(o->requests);
  free(o->scratch);
  free(o->payload);
  free(o->counts);
  free(o->received);
  free(o);
}

/* --- posting ------------------------------------------------------------ */

/* Sets the count and type with which MPI gets `bytes` bytes; returns MPI's
   error code. */
static int op_type(mpi_Op *o, size_t bytes, int *count, mpi_Handle *type) {
  const mpi_Library *m = o->m;
  *count = (int)bytes;
  *type = m->c.byte;
  if (bytes <= INT_MAX) return 0;
  mpi_Handle unit = 0, many = 0;
  const int lengths[] = {1, (int)(bytes % UNIT)};
  const intptr_t places[] = {0, (intptr_t)(bytes - bytes % UNIT)};
  int error = m->Type_contiguous((int)UNIT, m->c.byte, &unit);
  if (error == 0)
    error = m->Type_contiguous((int)(bytes / UNIT), unit, &many);
  const mpi_Handle types[] = {many, m->c.byte};
  const int ints[] = {(int)many, (int)m->c.byte};
  if (error == 0)
    error = m->Type_create_struct(2, lengths, places,
                                  m->c.ints ? (mpi_In)ints : types, &o->type);
  if (error == 0) error = m->Type_commit(&o->type);
  if (many != 0) m->Type_free(&many);
  if (unit != 0) m->Type_free(&unit);
  *count = 1;
  *type = o->type;
  return error;
}

/* Returns the bytes of a scalar of a reduction. */
static size_t scalar_bytes(const mpi_Op *o) {
  return o->count > 0 ? o->bytes / o->count : 1;
}

/* Returns the bytes of the piece that begins at `at`. */
static size_t piece_bytes(const mpi_Op *o, size_t at) {
  return o->bytes - at < MPI_PIECE ? o->bytes - at : MPI_PIECE;
}

static size_t piece_count(const mpi_Op *o) {
  return o->bytes > 0 ? (o->bytes - 1) / MPI_PIECE + 1 : 1;
}

/* Posts a piece of a reduction; with `r` NULL it has ended on return. The root
   passes a copy: MPICH 4.0.2's MPI_Reduce in place ends the process unless rank
   0 is the root. */
static int op_reduce(const mpi_Op *o, char *x, size_t bytes, mpi_Handle *r) {
  const mpi_Library *m = o->m;
  int n = (int)(bytes / scalar_bytes(o));
  mpi_Handle type = m->c.scalars[o->scalar], op = m->c.operators[o->op];
  mpi_In in = (mpi_In)m->c.in_place;
  if (o->kind == MPI_SCAN) return m->Iscan(in, x, n, type, op, o->comm, r);
  if (o->kind == MPI_ALLREDUCE)
    return r == NULL ? m->Allreduce(in, x, n, type, op, o->comm)
                     : m->Iallreduce(in, x, n, type, op, o->comm, r);
  bool root = o->rank == o->peer;
  if (r != NULL)
    return m->Ireduce(root ? in : x, root ? x : NULL, n, type, op, o->peer,
                      o->comm, r);
  if (root) memcpy(o->scratch, x, bytes);
  return m->Reduce(root ? o->scratch : x, root ? x : NULL, n, type, op, o->peer,
                   o->comm);
}

/* Collects the same piece of all ranks, from which finish_by_rank computes the
   result. */
static int op_collect(const mpi_Op *o, char *x, char *all, size_t bytes,
                      mpi_Handle *r) {
  const mpi_Library *m = o->m;
  int n = (int)bytes;
  mpi_Handle t = m->c.byte;
  if (o->kind == MPI_REDUCE)
    return m->Igather(x, n, t, all, n, t, o->peer, o->comm, r);
  memcpy(all + (size_t)o->rank * bytes, x, bytes);
  return m->Iallgather((mpi_In)m->c.in_place, n, t, all, n, t, o->comm, r);
}

/* Combines the blocks of rank 0, 1 and so on into the result. */
static void finish_by_rank(const mpi_Op *o, char *x, const char *all,
                           size_t bytes) {
  int last = o->kind == MPI_SCAN ? o->rank : o->size - 1;
  if (o->kind == MPI_REDUCE && o->rank != o->peer) return;
  memcpy(x, all, bytes);
  for (int i = 1; i <= last; i++)
    mpi_combine(o->op, o->scalar, bytes / scalar_bytes(o), x,
                all + (size_t)i * bytes);
}

static bool is_reduction(const mpi_Op *o) {
  return o->kind == MPI_REDUCE || o->kind == MPI_ALLREDUCE ||
         o->kind == MPI_SCAN;
}

/* Returns true if a reduction blocks. Open MPI 4.1.4's MPI_Iallreduce takes 2.2
   times as long as its MPI_Allreduce, and MPI_Ireduce 3 times as long as
   MPI_Reduce, for 4 MiB and two processes. If all ranks block, lze uses the
   faster blocking call: once they have arrived, at the agreement and at a
   barrier before each later piece, it waits for no other rank, unless a debug
   hook has ended that rank's wait, which then blocks for ever. Therefore it is
   not used with LZE_MPI_TIMEOUT. MPICH's MPI_Iallreduce takes 1.0 to 1.13 times
   as long, and its blocking calls keep the core. */
static bool op_meets(const mpi_Op *o) {
  return (o->kind == MPI_ALLREDUCE || o->kind == MPI_REDUCE) && o->wait &&
         !o->by_rank && o->m->c.meets && o->m->timeout == 0;
}

/* Posts a piece of a broadcast or of a reduction; if the order matters, the
   pieces of all ranks go to `all`. */
static int piece_post(const mpi_Op *o, char *x, char *all, size_t bytes,
                      mpi_Handle *r) {
  if (o->kind == MPI_BCAST)
    return o->m->Ibcast(x, (int)bytes, o->m->c.byte, o->peer, o->comm, r);
  return o->by_rank ? op_collect(o, x, all, bytes, r)
                    : op_reduce(o, x, bytes, r);
}

/* Returns true if its pieces are posted one after the other. */
static bool op_takes_turns(const mpi_Op *o) {
  return o->stage != NULL || op_meets(o);
}

/* Allocates what the pieces need: room for the pieces of all ranks if the order
   matters, else a copy at the root (op_reduce), and a request for each if all
   are posted at once. */
static bool op_prepare(mpi_Op *o) {
  size_t pieces = piece_count(o);
  size_t bytes = op_takes_turns(o) ? piece_bytes(o, 0) : o->bytes;
  bool root = o->kind == MPI_REDUCE && o->rank == o->peer;
  if (o->value || !(is_reduction(o) || o->kind == MPI_BCAST)) return true;
  if (o->by_rank ? root || o->kind != MPI_REDUCE : root && op_meets(o)) {
    o->scratch = malloc(bytes * (o->by_rank ? (size_t)o->size : 1) + 1);
    if (o->scratch == NULL) return false;
  }
  if (op_takes_turns(o) || pieces == 1) return true;
  o->requests = calloc(pieces, sizeof *o->requests);
  if (o->requests == NULL) o->requests = &o->request;
  return o->requests != &o->request;
}

/* Posts one request for each piece, all at once: the communicator's next
   collective must come after them on each rank. */
static int post_pieces(mpi_Op *o, lze_WorkFailure *f) {
  size_t pieces = piece_count(o), size = (size_t)o->size;
  for (size_t at = 0; o->request_count < pieces; at += MPI_PIECE) {
    char *all = o->scratch != NULL ? o->scratch + at * size : NULL;
    int error = piece_post(o, o->out + at, all, piece_bytes(o, at),
                           &o->requests[o->request_count]);
    if (error != 0) {
      mpi_op_error(o, error, f);
      return o->request_count > 0 ? LZE_WORK_LEFT : LZE_WORK_FAILED;
    }
    o->request_count++;
  }
  return LZE_WORK_PENDING;
}

/* Pieces one after the other: begins the k-th, which ends with its request, or
   at once if that is 0. For the first piece the ranks have met, unless one of
   them copies it first. */
static int piece_begin(const mpi_Op *o, size_t k, char *x, size_t bytes,
                       mpi_Handle *r) {
  *r = 0;
  if (o->all_meet && bytes >= MEETING)
    return k > 0 || o->copied ? o->m->Ibarrier(o->comm, r) : 0;
  return piece_post(o, x, o->scratch, bytes, r);
}

static int piece_end(const mpi_Op *o, char *x, size_t bytes) {
  if (o->all_meet && bytes >= MEETING) return op_reduce(o, x, bytes, NULL);
  if (o->by_rank) finish_by_rank(o, x, o->scratch, bytes);
  return 0;
}

/* Records the one request of a phase, or its error. */
static int posted(mpi_Op *o, int error, lze_WorkFailure *f) {
  if (error != 0) return mpi_op_error(o, error, f);
  o->request_count = 1;
  return LZE_WORK_PENDING;
}

static int post_meeting(mpi_Op *o, lze_WorkFailure *f) {
  size_t at = o->phase * MPI_PIECE;
  if (o->phase > 0) {
    size_t before = at - MPI_PIECE;
    int error = piece_end(o, o->out + before, piece_bytes(o, before));
    if (error != 0) return mpi_op_error(o, error, f);
    if (at >= o->bytes) return LZE_WORK_DONE;
  }
  return posted(o, piece_begin(o, o->phase, o->out + at, piece_bytes(o, at),
                               o->requests), f);
}

/* All ranks of an allgather must pass MPI_IN_PLACE, or no rank. So each rank
   first copies its block into its place. */
static int place_own(mpi_Op *o, lze_WorkFailure *f) {
  size_t n = o->bytes, at = (size_t)o->rank * n;
  if (o->counts != NULL) {
    n = (size_t)o->counts[o->rank] * o->element;
    at = (size_t)o->counts[o->size + o->rank] * o->element;
  }
  if (n == 0 || o->in == o->out + at) return LZE_WORK_DONE;
  if (o->of_device)
    return o->api->copy(o->copies, &o->copy, o->out + at, o->in, n, f);
  memcpy(o->out + at, o->in, n);
  return LZE_WORK_DONE;
}

static int post_bytes(mpi_Op *o, mpi_Handle *r) {
  const mpi_Library *m = o->m;
  int n;
  mpi_Handle type;
  int error = op_type(o, o->bytes, &n, &type);
  if (error != 0) return error;
  mpi_In in = o->in, same = (mpi_In)m->c.in_place;
  /* The block is already in its place. */
  bool root = o->rank == o->peer;
  size_t own = (size_t)o->rank * o->bytes;
  switch (o->kind) {
    case MPI_GATHER:
      if (root && o->bytes > 0 && o->in == o->out + own) in = same;
      return m->Igather(in, n, type, o->out, n, type, o->peer, o->comm, r);
    case MPI_SCATTER:
      if (root && o->bytes > 0 && o->out == o->in + own)
        return m->Iscatter(in, n, type, (mpi_Out)m->c.in_place, n, type,
                           o->peer, o->comm, r);
      return m->Iscatter(in, n, type, o->out, n, type, o->peer, o->comm, r);
    case MPI_ALLGATHER:
      return m->Iallgather(same, n, type, o->out, n, type, o->comm, r);
    default: return m->Ialltoall(in, n, type, o->out, n, type, o->comm, r);
  }
}

/* Posts blocks whose lengths differ, counted in elements. */
static int post_counted(mpi_Op *o, mpi_Handle *r) {
  const mpi_Library *m = o->m;
  const int *counts = o->counts, *places = counts + o->size;
  int n = counts[o->rank];
  size_t own = (size_t)places[o->rank] * o->element;
  mpi_In in = o->in;
  mpi_Out out = o->out;
  int error = m->Type_contiguous(o->element > 0 ? (int)o->element : 1,
                                 m->c.byte, &o->type);
  if (error == 0) error = m->Type_commit(&o->type);
  if (error != 0) return error;
  mpi_Handle t = o->type;
  bool root = o->rank == o->peer;
  switch (o->kind) {
    case MPI_GATHER:
      if (root && n > 0 && o->in == o->out + own) in = (mpi_In)m->c.in_place;
      return m->Igatherv(in, n, t, out, counts, places, t, o->peer, o->comm, r);
    case MPI_SCATTER:
      if (root && n > 0 && o->out == o->in + own) out = (mpi_Out)m->c.in_place;
      return m->Iscatterv(in, counts, places, t, out, n, t, o->peer, o->comm,
                          r);
    case MPI_ALLGATHER:
      return m->Iallgatherv((mpi_In)m->c.in_place, n, t, out, counts, places, t,
                            o->comm, r);
    default:
      return m->Ialltoallv(in, counts, places, t, out, o->received,
                           o->received + o->size, t, o->comm, r);
  }
}

/* Allocates room for a value to receive. */
static bool value_room(mpi_Op *o, lze_WorkFailure *f) {
  o->payload = malloc(o->length + 1);
  o->payload_bytes = o->length;
  if (o->payload == NULL) mpi_op_no_memory(o, f);
  return o->payload != NULL;
}

static int post_sent_value(mpi_Op *o, lze_WorkFailure *f) {
  if (o->phase > 0) return LZE_WORK_DONE;
  return posted(o, o->m->Isend(o->payload, (int)o->payload_bytes, o->m->c.byte,
                               o->peer, o->tag, o->comm, o->requests), f);
}

/* Broadcasts its length, then its bytes. */
static int post_bcast_value(mpi_Op *o, lze_WorkFailure *f) {
  const mpi_Library *m = o->m;
  if (o->phase > 1) return LZE_WORK_DONE;
  if (o->phase == 0) {
    o->length = o->payload_bytes;
    return posted(o, m->Ibcast(&o->length, (int)sizeof o->length, m->c.byte,
                               o->peer, o->comm, o->requests), f);
  }
  if (o->rank != o->peer && !value_room(o, f)) return LZE_WORK_LEFT;
  return posted(o, m->Ibcast(o->payload, (int)o->length, m->c.byte, o->peer,
                             o->comm, o->requests), f);
}

/* Receives a value of any length when a message has come. */
static int post_received_value(mpi_Op *o, lze_WorkFailure *f) {
  const mpi_Library *m = o->m;
  mpi_Status status;
  int flag = 0;
  int64_t bytes = 0;
  if (o->phase > 0) return LZE_WORK_DONE;
  int error = m->Improbe(o->peer, o->tag, o->comm, &flag, &o->message, &status);
  if (error == 0 && flag)
    error = m->Get_elements_x(&status, m->c.byte, &bytes);
  if (error != 0) return mpi_op_error(o, error, f);
  if (!flag) return LZE_WORK_PENDING;
  o->source = status.words[m->c.source_at];
  o->got_tag = status.words[m->c.tag_at];
  o->length = (uint64_t)bytes;
  if (!value_room(o, f)) return LZE_WORK_LEFT;
  return posted(o, m->Imrecv(o->payload, (int)o->length, m->c.byte, &o->message,
                             o->requests), f);
}

static int post_value(mpi_Op *o, lze_WorkFailure *f) {
  return o->kind == MPI_SEND   ? post_sent_value(o, f)
         : o->kind == MPI_RECV ? post_received_value(o, f)
                               : post_bcast_value(o, f);
}

/* Posts the next call; returns LZE_WORK_DONE after the last. */
static int post(mpi_Op *o, lze_WorkFailure *f) {
  o->request_count = 0;
  if (o->kind == MPI_BARRIER) return LZE_WORK_DONE; /* the agreement is
                                                       enough */
  if (o->value) return post_value(o, f);
  if (op_meets(o)) return post_meeting(o, f);
  if (o->phase > 0) return LZE_WORK_DONE;
  if (is_reduction(o) || o->kind == MPI_BCAST) return post_pieces(o, f);
  int status = o->kind == MPI_ALLGATHER ? place_own(o, f) : LZE_WORK_DONE;
  if (status != LZE_WORK_DONE) return status;
  return posted(o, o->counts != NULL ? post_counted(o, o->requests)
                                     : post_bytes(o, o->requests), f);
}

/* --- looking ------------------------------------------------------------ */

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* LZE_MPI_TIMEOUT: returns true if this wait and earlier ones have waited that
   long. */
static bool op_is_late(mpi_Op *o, uint64_t since) {
  uint64_t now = now_ns();
  o->idle_ns += now - (o->looked_ns > since ? o->looked_ns : since);
  o->looked_ns = now;
  if (o->moved) o->idle_ns = 0;
  o->moved = false;
  return (double)o->idle_ns > o->m->timeout * 1e9;
}

static int op_late(mpi_Op *o, lze_WorkFailure *f) {
  char text[200], between[96];
  size_t unused;
  mpi_op_describe(o, between, sizeof between, &unused);
  snprintf(text, sizeof text,
           "%s%s: rank %d of %d has waited for %g s (LZE_MPI_TIMEOUT)",
           mpi_kind_names[o->kind], between, o->rank, o->size, o->m->timeout);
  mpi_op_say(o, f, "TIMEOUT", text);
  if (mpi_op_cancel(o)) return LZE_WORK_FAILED;
  if (!o->came) return LZE_WORK_LEFT;
  o->moved = true;
  return LZE_WORK_PENDING; /* the next step takes it */
}

/* Tests the request of a piece. */
static int op_test(const mpi_Op *o, mpi_Handle *r, int *flag,
                   mpi_Status *status) {
  *flag = 1;
  return *r != 0 ? o->m->Test(r, flag, status) : 0;
}

/* Polls the posted calls; returns LZE_WORK_DONE when all have ended. */
static int look(mpi_Op *o, lze_WorkFailure *f) {
  mpi_Status status;
  for (; o->tested < o->request_count; o->tested++) {
    int flag = 0;
    int error = op_test(o, &o->requests[o->tested], &flag, &status);
    if (error != 0) {
      mpi_op_error(o, error, f);
      return o->request_count - o->tested > 1 ? LZE_WORK_LEFT : LZE_WORK_FAILED;
    }
    if (!flag) return LZE_WORK_PENDING;
    o->moved = true;
  }
  o->request_count = o->tested = 0;
  for (size_t at = 0; o->by_rank && at < o->bytes; at += MPI_PIECE)
    finish_by_rank(o, o->out + at, o->scratch + at * (size_t)o->size,
                   piece_bytes(o, at));
  return LZE_WORK_DONE;
}

/* Posts the remaining calls until all have ended. */
static int exchange(mpi_Op *o, lze_WorkFailure *f) {
  for (;;) {
    if (o->request_count == 0) {
      int status = post(o, f);
      if (status != LZE_WORK_PENDING) return status;
    }
    if (o->request_count == 0) return LZE_WORK_PENDING; /* no message yet */
    int status = look(o, f);
    if (status != LZE_WORK_DONE) return status;
    o->phase++;
    o->moved = true;
  }
}

/* --- memory of a device -------------------------------------------------- */

/* Returns true if a call for a piece has failed, which ends all pieces that
   have not begun. */
static bool staged_fails(mpi_Op *o, mpi_Piece *p, int error,
                         lze_WorkFailure *f) {
  if (error == 0) return false;
  if (!o->failed) mpi_op_error(o, error, f);
  o->failed = true;
  p->state = PIECE_OVER;
  return true;
}

/* Continues the k-th piece; returns true if it has ended. */
static bool staged_piece(mpi_Op *o, size_t k, lze_WorkFailure *f) {
  mpi_Piece *p = &o->flight[k % MPI_STAGED];
  size_t n = piece_bytes(o, k * MPI_PIECE);
  char *place = o->out + k * MPI_PIECE;
  char *x = o->stage + k % MPI_STAGED * MPI_PIECE;
  bool reads = o->kind != MPI_BCAST || o->rank == o->peer;
  mpi_Status status;
  int error, flag = 0;
  switch (p->state) {
    case PIECE_READY:
      if (reads && mpi_piece_copies(o, p, x, place, n, f)) return false;
      p->state = PIECE_COPIED;
      /* fallthrough */
    case PIECE_COPIED:
      if (o->failed) return true;
      if (k != o->moving) return false;
      error = piece_begin(o, k, x, n, &p->request);
      if (staged_fails(o, p, error, f)) return true;
      p->state = PIECE_MOVES;
      /* fallthrough */
    case PIECE_MOVES:
      error = op_test(o, &p->request, &flag, &status);
      if (error == 0 && !flag) return false;
      if (error == 0) error = piece_end(o, x, n);
      if (staged_fails(o, p, error, f)) return true;
      o->moving++;
      o->moved = true;
      p->state = PIECE_MOVED;
      /* fallthrough */
    case PIECE_MOVED:
      if (o->writes && mpi_piece_copies(o, p, place, x, n, f)) return false;
      p->state = PIECE_OVER;
      /* fallthrough */
    default: return true;
  }
}

/* Sends device memory through the stage: one piece is copied while another
   travels. The other ranks may have host memory. */
static int staged_step(mpi_Op *o, lze_WorkFailure *f) {
  size_t count = piece_count(o);
  for (size_t k = o->ended; k < count && k < o->ended + MPI_STAGED; k++) {
    if (k == o->begun) {
      o->flight[k % MPI_STAGED] = (mpi_Piece){0};
      o->begun++;
    }
    if (staged_piece(o, k, f) && k == o->ended) o->ended++;
  }
  if (o->ended < count) return LZE_WORK_PENDING;
  return o->failed ? LZE_WORK_FAILED : LZE_WORK_DONE;
}

/* --- steps --------------------------------------------------------------- */

/* Returns true if it posts several calls, or first copies (place_own), after
   the ranks have agreed. */
static bool op_posts_later(const mpi_Op *o) {
  return o->value || op_takes_turns(o) ||
         (o->kind == MPI_ALLGATHER && o->of_device);
}

/* The ranks agree on a collective when each has its memory, or lacks it. */
static int op_agree(mpi_Op *o, lze_WorkFailure *f) {
  if (o->agreed || o->kind <= MPI_RECV) return LZE_WORK_DONE;
  if (!o->asks) o->lacks = !op_prepare(o);
  return mpi_agree(o, op_meets(o), f);
}

/* Returns true if the next collective may post. */
static bool op_has_posted(const mpi_Op *o) {
  return o->kind == MPI_BARRIER ? o->asks : o->agreed && !op_posts_later(o);
}

/* The operation itself copies received data to the device: a command that the
   device holds until then would block others there. */
int mpi_op_step(void *op, lze_WorkFailure *f) {
  mpi_Op *o = op;
  if (!o->posted) {
    if (mpi_ended(o->m, f)) return mpi_op_ended(o, f);
    bool message = o->kind <= MPI_RECV && !o->value;
    int status = mpi_turn_take(o, f);
    if (status == LZE_WORK_DONE) status = op_agree(o, f);
    if (status == LZE_WORK_DONE)
      status = message            ? mpi_message_step(o, f)
               : o->stage != NULL ? staged_step(o, f)
                                  : exchange(o, f);
    if (op_has_posted(o)) mpi_turn_pass(o);
    if (status != LZE_WORK_DONE) return status;
    o->posted = true;
  }
  if (o->into == NULL) return LZE_WORK_DONE;
  return o->api->copy(o->copies, &o->copy, o->into, o->out, o->written, f);
}

int mpi_op_awaited(void *op, uint64_t since_ns, lze_WorkFailure *f) {
  mpi_Op *o = op;
  if (o->posted || !op_is_late(o, since_ns)) return LZE_WORK_PENDING;
  return op_late(o, f);
}

/* Cancels only what no rank has sent yet: otherwise the message would be
   lost. */
int mpi_op_cancel(void *op) {
  mpi_Op *o = op;
  if (o->kind != MPI_RECV || o->came || o->announced || o->copy != NULL)
    return 0;
  if (o->request_count == 0) return 1; /* nothing was posted */
  lze_WorkFailure f;
  if (mpi_ended(o->m, &f)) return 1;
  if (o->value || o->m->Cancel(o->requests) != 0) return 0;
  for (int i = 0; i < 1000; i++) {
    int flag = 0, cancelled = 0;
    o->error = o->m->Test(o->requests, &flag, &o->status);
    if (o->error == 0 && flag)
      o->error = o->m->Test_cancelled(&o->status, &cancelled);
    if (o->error != 0 || flag) {
      o->came = !cancelled;
      return cancelled;
    }
    const struct timespec t = {.tv_nsec = 100000};
    nanosleep(&t, NULL);
  }
  return 0;
}
