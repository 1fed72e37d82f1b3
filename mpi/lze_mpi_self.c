/*
 * lze_mpi_self.c - one rank that needs no library.
 * SPDX-License-Identifier: MIT
 *
 * The functions of MPI that lze calls, for a world of one process, with the
 * constants of MPI 5's ABI; spec/support/mpi_fake.c makes a library of them.
 */
#include "lze_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIMENSIONS = 8 };

enum { ANY_SOURCE = -1, ANY_TAG = -2, PROC_NULL = -3, UNDEFINED = -32766 };

/* Error classes. */
enum { ERR_RANK = 6, ERR_ROOT = 8, ERR_TRUNCATE = 15, ERR_NO_MEM = 39 };

/* A communicator: a handle that is not a constant is a pointer to it. Messages
   store its number, since its address may be used again. */
typedef struct Comm {
  uintptr_t number;
  int dimensions, periodic[MAX_DIMENSIONS];
} Comm;

/* A message that has been sent, or that a receive waits for. */
typedef struct Request {
  struct Request *next;         /* in the list of requests without a match */
  bool send, done, cancelled;
  uintptr_t comm;               /* number of the communicator */
  int tag, source, got_tag, error;
  const char *from;
  char *copy;                   /* data sent before a receive exists: its
                                   request has ended */
  char *to;
  size_t bytes, got;
} Request;

#define REQUEST_NULL ((mpi_Handle)0x180)
#define COMM_NULL ((mpi_Handle)0x100)

/* Other types are made of bytes, and their handle contains the number of
   bytes. */
#define DERIVED 0x1000u

static Request *unmatched;      /* oldest first */
static uintptr_t comm_count;
static int initialized;

static size_t type_bytes(mpi_Handle type) {
  if (type >= DERIVED) return type - DERIVED;
  if (type == 0x210) return 4;                   /* MPI_FLOAT */
  if (type == 0x214) return 8;                   /* MPI_DOUBLE */
  return (size_t)1 << (type >> 3 & 3);           /* MPI_INT8_T and so on */
}

static int self_Init_thread(int *argc, char ***argv, int wanted, int *given) {
  (void)argc;
  (void)argv;
  initialized = 1;
  *given = wanted;
  return 0;
}

static int self_Initialized(int *flag) {
  *flag = initialized;
  return 0;
}

static int self_Finalized(int *flag) {
  *flag = 0;
  return 0;
}

static int self_Finalize(void) { return 0; }

static int self_Query_thread(int *given) {
  *given = 4096;
  return 0;
}

static int self_Is_thread_main(int *flag) {
  *flag = 1;
  return 0;
}

static int self_Abort(mpi_Handle comm, int code) {
  (void)comm;
  (void)code;
  return 0;
}

static int self_Get_library_version(char *text, int *length) {
  *length = sprintf(text, "none: one rank");
  return 0;
}

static int self_Error_class(int code, int *class) {
  *class = code;
  return 0;
}

static int self_Error_string(int code, char *text, int *length) {
  *length = sprintf(text, "%s",
                    code == ERR_RANK       ? "there is one rank, 0"
                    : code == ERR_ROOT     ? "the only root is rank 0"
                    : code == ERR_TRUNCATE ? "the message is longer than the "
                                             "buffer"
                                           : "not enough memory");
  return 0;
}

static int self_Comm_rank(mpi_Handle comm, int *rank) {
  (void)comm;
  *rank = 0;
  return 0;
}

static int self_Comm_size(mpi_Handle comm, int *size) {
  (void)comm;
  *size = 1;
  return 0;
}

static int self_Comm_dup(mpi_Handle comm, mpi_Handle *copy) {
  (void)comm;
  Comm *c = calloc(1, sizeof *c);
  *copy = (mpi_Handle)c;
  if (c == NULL) return ERR_NO_MEM;
  c->number = ++comm_count;
  return 0;
}

static int self_Comm_free(mpi_Handle *comm) {
  free((void *)*comm);
  *comm = COMM_NULL;
  return 0;
}

static int self_Comm_split(mpi_Handle comm, int color, int key,
                           mpi_Handle *part) {
  (void)key;
  *part = COMM_NULL;
  return color == UNDEFINED ? 0 : self_Comm_dup(comm, part);
}

static int self_Comm_split_type(mpi_Handle comm, int type, int key,
                                mpi_Handle info, mpi_Handle *part) {
  (void)type;
  (void)key;
  (void)info;
  return self_Comm_dup(comm, part);
}

static int self_Comm_set_errhandler(mpi_Handle comm, mpi_Handle handler) {
  (void)comm;
  (void)handler;
  return 0;
}

static int self_Cart_create(mpi_Handle comm, int n, const int *dims,
                            const int *periodic, int reorder,
                            mpi_Handle *cart) {
  (void)dims;
  (void)reorder;
  int error = self_Comm_dup(comm, cart);
  if (error != 0) return error;
  Comm *c = (void *)*cart;
  c->dimensions = n;
  memcpy(c->periodic, periodic, (size_t)n * sizeof *periodic);
  return 0;
}

static int self_Cart_coords(mpi_Handle comm, int rank, int n, int *coords) {
  (void)comm;
  (void)rank;
  memset(coords, 0, (size_t)n * sizeof *coords);
  return 0;
}

static int self_Cart_rank(mpi_Handle comm, const int *coords, int *rank) {
  (void)comm;
  (void)coords;
  *rank = 0;
  return 0;
}

static int self_Cart_shift(mpi_Handle comm, int dimension, int by, int *source,
                           int *destination) {
  const Comm *c = (void *)comm;
  bool itself = by == 0 || c->periodic[dimension];
  *source = *destination = itself ? 0 : PROC_NULL;
  return 0;
}

static int self_Type_contiguous(int count, mpi_Handle old, mpi_Handle *type) {
  *type = DERIVED + (size_t)count * type_bytes(old);
  return 0;
}

static int self_Type_create_struct(int count, const int *lengths,
                                   const intptr_t *places, mpi_In of,
                                   mpi_Handle *type) {
  const mpi_Handle *types = of;
  (void)places;
  *type = DERIVED;
  for (int i = 0; i < count; i++)
    *type += (size_t)lengths[i] * type_bytes(types[i]);
  return 0;
}

static int self_Type_commit(mpi_Handle *type) {
  (void)type;
  return 0;
}

static int self_Type_free(mpi_Handle *type) {
  *type = 0;
  return 0;
}

/* --- messages ----------------------------------------------------------- */

static Request *request_new(bool send, size_t bytes, int tag, mpi_Handle comm) {
  Request *r = calloc(1, sizeof *r);
  if (r == NULL) return NULL;
  r->send = send;
  r->bytes = bytes;
  r->tag = tag;
  r->comm = comm != 0 ? ((const Comm *)comm)->number : 0;
  return r;
}

static void request_queue(Request *r) {
  Request **end = &unmatched;
  while (*end != NULL) end = &(*end)->next;
  *end = r;
}

/* Removes the oldest matching request of the other side from the list; returns
   NULL if not found. */
static Request *request_match(bool send, int tag, mpi_Handle comm) {
  for (Request **link = &unmatched, *r; (r = *link) != NULL; link = &r->next) {
    if (r->send != send || r->comm != ((const Comm *)comm)->number ||
        !(r->tag == tag || (send ? tag : r->tag) == ANY_TAG))
      continue;
    *link = r->next;
    return r;
  }
  return NULL;
}

static void request_move(Request *s, Request *r) {
  bool fits = s->bytes <= r->bytes;
  r->got = fits ? s->bytes : r->bytes;
  if (r->got > 0) memmove(r->to, s->from, r->got);
  r->error = fits ? 0 : ERR_TRUNCATE;
  r->got_tag = s->tag;
  s->done = r->done = true;
  if (s->copy == NULL) return;
  free(s->copy);
  free(s);
}

static int self_Isend(mpi_In from, int count, mpi_Handle type, int peer,
                      int tag, mpi_Handle comm, mpi_Handle *request) {
  if (peer != 0 && peer != PROC_NULL) return ERR_RANK;
  Request *s = request_new(true, (size_t)count * type_bytes(type), tag, comm);
  if (s == NULL) return ERR_NO_MEM;
  s->from = from;
  *request = (mpi_Handle)s;
  s->done = peer == PROC_NULL;
  if (s->done) return 0;
  Request *r = request_match(false, tag, comm);
  if (r != NULL) {
    request_move(s, r);
    return 0;
  }
  s->copy = malloc(s->bytes + 1);
  if (s->copy != NULL) {
    if (s->bytes > 0) memcpy(s->copy, from, s->bytes);
    s->from = s->copy;
    *request = REQUEST_NULL;
  }
  request_queue(s);
  return 0;
}

static int self_Irecv(mpi_Out to, int count, mpi_Handle type, int peer, int tag,
                      mpi_Handle comm, mpi_Handle *request) {
  if (peer != 0 && peer != PROC_NULL && peer != ANY_SOURCE) return ERR_RANK;
  Request *r = request_new(false, (size_t)count * type_bytes(type), tag, comm);
  if (r == NULL) return ERR_NO_MEM;
  r->to = to;
  *request = (mpi_Handle)r;
  if (peer == PROC_NULL) {
    r->done = true;
    r->source = PROC_NULL;
    r->got_tag = ANY_TAG;
    return 0;
  }
  Request *s = request_match(true, tag, comm);
  if (s != NULL) request_move(s, r);
  else request_queue(r);
  return 0;
}

/* Sets a status: source, tag, the cancelled flag, then the bytes in two
   words. */
static void status_set(mpi_Status *status, const Request *r) {
  status->words[0] = r->source;
  status->words[1] = r->got_tag;
  status->words[2] = r->cancelled;
  memcpy(&status->words[4], &r->got, sizeof r->got);
}

static int self_Test(mpi_Handle *request, int *flag, mpi_Status *status) {
  Request *r = (void *)*request;
  *flag = *request == REQUEST_NULL || r->done;
  if (*request == REQUEST_NULL || !r->done) return 0;
  int error = r->error;
  status_set(status, r);
  free(r);
  *request = REQUEST_NULL;
  return error;
}

static int self_Cancel(mpi_Handle *request) {
  Request *r = (void *)*request;
  for (Request **link = &unmatched; *link != NULL; link = &(*link)->next) {
    if (*link != r) continue;
    *link = r->next;
    r->done = r->cancelled = true;
    break;
  }
  return 0;
}

static int self_Test_cancelled(const mpi_Status *status, int *flag) {
  *flag = status->words[2];
  return 0;
}

static int self_Get_elements_x(const mpi_Status *status, mpi_Handle type,
                               int64_t *count) {
  size_t got;
  memcpy(&got, &status->words[4], sizeof got);
  *count = (int64_t)(got / type_bytes(type));
  return 0;
}

static int self_Improbe(int peer, int tag, mpi_Handle comm, int *flag,
                        mpi_Handle *message, mpi_Status *status) {
  if (peer != 0 && peer != ANY_SOURCE) return ERR_RANK;
  Request *s = request_match(true, tag, comm);
  *flag = s != NULL;
  if (s == NULL) return 0;
  s->got = s->bytes;
  s->got_tag = s->tag;
  status_set(status, s);
  *message = (mpi_Handle)s;
  return 0;
}

static int self_Imrecv(mpi_Out to, int count, mpi_Handle type,
                       mpi_Handle *message, mpi_Handle *request) {
  Request *s = (void *)*message;
  Request *r = request_new(false, (size_t)count * type_bytes(type), 0, 0);
  if (r == NULL) return ERR_NO_MEM;
  r->to = to;
  request_move(s, r);
  *message = 0x128;
  *request = (mpi_Handle)r;
  return 0;
}

/* --- collectives -------------------------------------------------------- */

/* One rank needs neither the communicator nor the operation, and only one of
   two counts. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Does one rank's collective at once: copies its block, unless it is already in
   place. */
static int collect(mpi_In from, mpi_Out to, int count, mpi_Handle type,
                   int root, mpi_Handle *request) {
  if (root != 0) return ERR_ROOT;
  if (from != (mpi_In)1 && to != (mpi_Out)1 && from != NULL && count > 0)
    memmove(to, from, (size_t)count * type_bytes(type));
  *request = REQUEST_NULL;
  return 0;
}

static int self_Ibarrier(mpi_Handle comm, mpi_Handle *request) {
  return collect(NULL, NULL, 0, DERIVED, 0, request);
}

static int self_Ibcast(mpi_Out to, int count, mpi_Handle type, int root,
                       mpi_Handle comm, mpi_Handle *request) {
  return collect(NULL, to, count, type, root, request);
}

static int self_Allreduce(mpi_In from, mpi_Out to, int count, mpi_Handle type,
                          mpi_Handle op, mpi_Handle comm) {
  mpi_Handle unused;
  return collect(from, to, count, type, 0, &unused);
}

static int self_Reduce(mpi_In from, mpi_Out to, int count, mpi_Handle type,
                       mpi_Handle op, int root, mpi_Handle comm) {
  mpi_Handle unused;
  return collect(from, to, count, type, root, &unused);
}

static int self_Ireduce(mpi_In from, mpi_Out to, int count, mpi_Handle type,
                        mpi_Handle op, int root, mpi_Handle comm,
                        mpi_Handle *request) {
  return collect(from, to, count, type, root, request);
}

static int self_Iallreduce(mpi_In from, mpi_Out to, int count, mpi_Handle type,
                           mpi_Handle op, mpi_Handle comm,
                           mpi_Handle *request) {
  return collect(from, to, count, type, 0, request);
}

static int self_Iscan(mpi_In from, mpi_Out to, int count, mpi_Handle type,
                      mpi_Handle op, mpi_Handle comm, mpi_Handle *request) {
  return collect(from, to, count, type, 0, request);
}

static int self_Igather(mpi_In from, int count, mpi_Handle type, mpi_Out to,
                        int got, mpi_Handle got_type, int root,
                        mpi_Handle comm, mpi_Handle *request) {
  return collect(from, to, got, got_type, root, request);
}

static int self_Iscatter(mpi_In from, int count, mpi_Handle type, mpi_Out to,
                         int got, mpi_Handle got_type, int root,
                         mpi_Handle comm, mpi_Handle *request) {
  return collect(from, to, count, type, root, request);
}

static int self_Iallgather(mpi_In from, int count, mpi_Handle type, mpi_Out to,
                           int got, mpi_Handle got_type, mpi_Handle comm,
                           mpi_Handle *request) {
  return collect(from, to, got, got_type, 0, request);
}

static int self_Ialltoall(mpi_In from, int count, mpi_Handle type, mpi_Out to,
                          int got, mpi_Handle got_type, mpi_Handle comm,
                          mpi_Handle *request) {
  return collect(from, to, got, got_type, 0, request);
}

static int self_Igatherv(mpi_In from, int count, mpi_Handle type, mpi_Out to,
                         const int *got, const int *places,
                         mpi_Handle got_type, int root, mpi_Handle comm,
                         mpi_Handle *request) {
  return collect(from, to, got[0], got_type, root, request);
}

static int self_Iscatterv(mpi_In from, const int *counts, const int *places,
                          mpi_Handle type, mpi_Out to, int got,
                          mpi_Handle got_type, int root, mpi_Handle comm,
                          mpi_Handle *request) {
  return collect(from, to, counts[0], type, root, request);
}

static int self_Iallgatherv(mpi_In from, int count, mpi_Handle type, mpi_Out to,
                            const int *got, const int *places,
                            mpi_Handle got_type, mpi_Handle comm,
                            mpi_Handle *request) {
  return collect(from, to, got[0], got_type, 0, request);
}

static int self_Ialltoallv(mpi_In from, const int *counts, const int *places,
                           mpi_Handle type, mpi_Out to, const int *got,
                           const int *got_places, mpi_Handle got_type,
                           mpi_Handle comm, mpi_Handle *request) {
  return collect(from, to, got[0], got_type, 0, request);
}

#pragma GCC diagnostic pop

void mpi_open_self(mpi_Library *m) {
#define SET(name, parameters) m->name = self_##name;
  MPI_FUNCTIONS(SET)
#undef SET
}
