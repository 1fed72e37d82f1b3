/*
 * lze_mpi.h - lze.mpi: the library, its operations, the module.
 * SPDX-License-Identifier: MIT
 *
 * A handle of MPI is an int in one ABI and a pointer in the others. Here it is
 * an integer as wide as a pointer, which every ABI of Linux takes and returns
 * in the same place.
 */
#ifndef LZE_MPI_H
#define LZE_MPI_H

#include "lze.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uintptr_t mpi_Handle;

/* As large as in any ABI; the fields' places differ. */
typedef struct mpi_Status {
  int words[16];
} mpi_Status;

typedef const void *mpi_In;
typedef void *mpi_Out;

/* The functions of MPI that lze calls: name, parameters. All return int. */
#define MPI_FUNCTIONS(F)                                                       \
  F(Init_thread, (int *, char ***, int, int *))                                \
  F(Initialized, (int *))                                                      \
  F(Finalized, (int *))                                                        \
  F(Finalize, (void))                                                          \
  F(Query_thread, (int *))                                                     \
  F(Is_thread_main, (int *))                                                   \
  F(Abort, (mpi_Handle, int))                                                  \
  F(Get_library_version, (char *, int *))                                      \
  F(Error_class, (int, int *))                                                 \
  F(Error_string, (int, char *, int *))                                        \
  F(Comm_rank, (mpi_Handle, int *))                                            \
  F(Comm_size, (mpi_Handle, int *))                                            \
  F(Comm_dup, (mpi_Handle, mpi_Handle *))                                      \
  F(Comm_free, (mpi_Handle *))                                                 \
  F(Comm_split, (mpi_Handle, int, int, mpi_Handle *))                          \
  F(Comm_split_type, (mpi_Handle, int, int, mpi_Handle, mpi_Handle *))         \
  F(Comm_set_errhandler, (mpi_Handle, mpi_Handle))                             \
  F(Cart_create, (mpi_Handle, int, const int *, const int *, int,              \
                  mpi_Handle *))                                               \
  F(Cart_coords, (mpi_Handle, int, int, int *))                                \
  F(Cart_rank, (mpi_Handle, const int *, int *))                               \
  F(Cart_shift, (mpi_Handle, int, int, int *, int *))                          \
  F(Type_contiguous, (int, mpi_Handle, mpi_Handle *))                          \
  F(Type_create_struct, (int, const int *, const intptr_t *, mpi_In,           \
                         mpi_Handle *))                                        \
  F(Type_commit, (mpi_Handle *))                                               \
  F(Type_free, (mpi_Handle *))                                                 \
  F(Test, (mpi_Handle *, int *, mpi_Status *))                                 \
  F(Cancel, (mpi_Handle *))                                                    \
  F(Test_cancelled, (const mpi_Status *, int *))                               \
  F(Get_elements_x, (const mpi_Status *, mpi_Handle, int64_t *))               \
  F(Isend, (mpi_In, int, mpi_Handle, int, int, mpi_Handle, mpi_Handle *))      \
  F(Irecv, (mpi_Out, int, mpi_Handle, int, int, mpi_Handle, mpi_Handle *))     \
  F(Improbe, (int, int, mpi_Handle, int *, mpi_Handle *, mpi_Status *))        \
  F(Imrecv, (mpi_Out, int, mpi_Handle, mpi_Handle *, mpi_Handle *))            \
  F(Ibarrier, (mpi_Handle, mpi_Handle *))                                      \
  F(Ibcast, (mpi_Out, int, mpi_Handle, int, mpi_Handle, mpi_Handle *))         \
  F(Allreduce, (mpi_In, mpi_Out, int, mpi_Handle, mpi_Handle, mpi_Handle))     \
  F(Reduce, (mpi_In, mpi_Out, int, mpi_Handle, mpi_Handle, int, mpi_Handle))   \
  F(Ireduce, (mpi_In, mpi_Out, int, mpi_Handle, mpi_Handle, int, mpi_Handle,   \
              mpi_Handle *))                                                   \
  F(Iallreduce, (mpi_In, mpi_Out, int, mpi_Handle, mpi_Handle, mpi_Handle,     \
                 mpi_Handle *))                                                \
  F(Iscan, (mpi_In, mpi_Out, int, mpi_Handle, mpi_Handle, mpi_Handle,          \
            mpi_Handle *))                                                     \
  F(Igather, (mpi_In, int, mpi_Handle, mpi_Out, int, mpi_Handle, int,          \
              mpi_Handle, mpi_Handle *))                                       \
  F(Iscatter, (mpi_In, int, mpi_Handle, mpi_Out, int, mpi_Handle, int,         \
               mpi_Handle, mpi_Handle *))                                      \
  F(Iallgather, (mpi_In, int, mpi_Handle, mpi_Out, int, mpi_Handle,            \
                 mpi_Handle, mpi_Handle *))                                    \
  F(Ialltoall, (mpi_In, int, mpi_Handle, mpi_Out, int, mpi_Handle,             \
                mpi_Handle, mpi_Handle *))                                     \
  F(Igatherv, (mpi_In, int, mpi_Handle, mpi_Out, const int *, const int *,     \
               mpi_Handle, int, mpi_Handle, mpi_Handle *))                     \
  F(Iscatterv, (mpi_In, const int *, const int *, mpi_Handle, mpi_Out, int,    \
                mpi_Handle, int, mpi_Handle, mpi_Handle *))                    \
  F(Iallgatherv, (mpi_In, int, mpi_Handle, mpi_Out, const int *, const int *,  \
                  mpi_Handle, mpi_Handle, mpi_Handle *))                       \
  F(Ialltoallv, (mpi_In, const int *, const int *, mpi_Handle, mpi_Out,        \
                 const int *, const int *, mpi_Handle, mpi_Handle,             \
                 mpi_Handle *))

/* The bytes of a piece of a broadcast, reduction or message, for any kind of
   memory: device memory needs no more host memory than this. */
#define MPI_PIECE ((size_t)1 << 22)

/* The number of a message's pieces that travel at once, and of pieces of device
   memory, each of which takes as much host memory. */
enum { MPI_FLIGHT = 16, MPI_STAGED = 2 };

/* A message of this length announces a message in pieces. Data of the same
   length is announced, too, and so is data beyond the library's limit. */
enum { MPI_HEAD = 13 };

/* A piece of a message. */
typedef struct mpi_Piece {
  enum {
    PIECE_READY, PIECE_COPIED, PIECE_MOVES, PIECE_MOVED, PIECE_OVER
  } state;
  mpi_Handle request;
  lze_OneCopy *copy;
} mpi_Piece;

/* The scalars of lze that reductions take, and the operators. */
typedef enum mpi_Scalar {
  MPI_I8, MPI_U8, MPI_I16, MPI_U16, MPI_I32, MPI_U32, MPI_I64, MPI_U64,
  MPI_F32, MPI_F64, MPI_SCALARS
} mpi_Scalar;

typedef enum mpi_Operator {
  MPI_OP_SUM, MPI_OP_PROD, MPI_OP_MIN, MPI_OP_MAX, MPI_OP_BAND, MPI_OP_BOR,
  MPI_OP_BXOR, MPI_OPERATORS
} mpi_Operator;

/* The differences between the ABIs. */
typedef struct mpi_Constants {
  const char *abi;
  mpi_Handle world, self, comm_null, byte, info_null, errors_return;
  mpi_Handle scalars[MPI_SCALARS], operators[MPI_OPERATORS];
  intptr_t in_place;
  int any_source, any_tag, proc_null, undefined, shared, funneled, multiple;
  int source_at, tag_at;        /* indices of a status's words */
  int tag_ub;                   /* MPI_TAG_UB */
  bool meets;                   /* blocking reductions are faster */
  bool ints;                    /* handles are ints, which matters for arrays of
                                   handles */
  const char *const *classes;   /* names of the error classes from 1 on */
  int class_count;
} mpi_Constants;

/* The process's MPI. */
typedef struct mpi_Library {
#define FIELD(name, parameters) int (*name) parameters;
  MPI_FUNCTIONS(FIELD)
#undef FIELD
  mpi_Constants c;
  char version[128];            /* its name for itself */
  /* Copies of MPI_COMM_WORLD for lze alone. */
  mpi_Handle world, values, pieces, end;
  size_t most_whole;            /* longer messages are announced */
  unsigned most_tag;            /* with numbers up to this */
  double timeout;               /* LZE_MPI_TIMEOUT in seconds, or 0 */
  bool threads;                 /* all threads may call it */
  int32_t wrong[MPI_SCALARS];   /* a bit for each operator that computes wrong
                                   results */
  bool gpu;                     /* LZE_MPI_GPU: pass it device memory */
  const char *gpu_lacks;        /* why it cannot take it, if it reports that; or
                                   NULL */
} mpi_Library;

/* lze_mpi_library.c: opens MPI and begins it at the first call; returns NULL
   with the failure. Without a launcher the process is one rank and needs no
   library. */
const mpi_Library *mpi_open(lze_WorkFailure *failure);
/* Returns true if the running thread may call MPI. */
bool mpi_thread_is_good(const mpi_Library *m);
/* Returns true with the failure if MPI has ended, by the program that began it
   or with the process: a call would then end the process. */
bool mpi_ended(const mpi_Library *m, lze_WorkFailure *failure);
/* Sets the failure for a call's error code; returns false. */
bool mpi_failed(const mpi_Library *m, int code, const char *call,
                lze_WorkFailure *failure);

/* lze_mpi_self.c: one rank without a library, with the constants of MPI 5's
   ABI. */
void mpi_open_self(mpi_Library *m);

/* One operation, from its issue to its end. */
typedef enum mpi_Kind {
  MPI_SEND, MPI_RECV, MPI_BARRIER, MPI_BCAST, MPI_REDUCE, MPI_ALLREDUCE,
  MPI_SCAN, MPI_GATHER, MPI_SCATTER, MPI_ALLGATHER, MPI_ALLTOALL, MPI_KINDS
} mpi_Kind;

typedef struct mpi_Used mpi_Used;

/* The numbers by which ranks agree on a collective: each adds its own. */
enum {
  CALLED_LIKE,   /* computed from the call */
  CALLED_OPEN,   /* what an alltoall will receive, minus what it sends */
  CALLED_POSTS,  /* ranks whose reduction does not block, */
  CALLED_COPIES, /* that copy a piece first, */
  CALLED_SIZED,  /* whose elements have a size, with counts: these, and their */
  CALLED_SIZES, CALLED_SQUARES,
  CALLED_NUMBERS
};

typedef struct mpi_Op {
  int owners;
  const mpi_Library *m;
  mpi_Kind kind;
  bool wait;                    /* issued by the blocking form */
  bool value;                   /* a message of any length, in `payload` */
  bool by_rank;                 /* a reduction in the order of the ranks */
  mpi_Handle comm;
  mpi_Used *used[2];            /* the communicator and the one for pieces, or
                                   NULL */
  int rank, size;               /* of the communicator */
  int peer, tag;                /* peer: the other rank, or the root */
  mpi_Operator op;
  mpi_Scalar scalar;
  size_t count;                 /* scalars of a reduction */
  const char *in;
  char *out;
  size_t bytes;                 /* of one rank's block */
  /* For blocks that differ, in elements: the length of each rank's block, then
     where each begins. NULL if all have `bytes` bytes. */
  int *counts, *received;       /* `received`: the blocks that an alltoall
                                   receives */
  size_t element;               /* its bytes, or 0 */
  bool of_device;               /* MPI gets device memory */
  size_t written;               /* bytes of the buffer at `out` */
  size_t most;                  /* of the larger buffer */
  const lze_Api *api;
  lze_Copies *copies;           /* for device memory, or NULL */
  /* If `out` of a collective is a host copy of device memory, the device memory
     into which it is copied at the end; else NULL. */
  char *into;
  /* Host memory through which device memory is sent in pieces, or NULL. */
  char *stage;
  bool writes;                  /* a broadcast or a reduction, to `out` */
  mpi_Handle pieces;            /* of a message: the communicator for pieces */
  char *payload;                /* malloc'ed */
  size_t payload_bytes;
  /* While it runs. */
  bool has_turn, has_passed;    /* it may post; the next one may */
  uint64_t asked;               /* its number among the operations waiting to
                                   post, or 0 */
  bool asks, agreed;            /* the ranks must agree; they have */
  bool lacks;                   /* memory; the other ranks are notified */
  bool all_meet, copied;        /* every rank has a blocking reduction; one of
                                   them copies first */
  uint64_t called[CALLED_NUMBERS]; /* added up */
  size_t phase;
  mpi_Handle request;           /* if it has one at a time */
  mpi_Handle *requests;         /* that one, or malloc'ed */
  size_t request_count, tested; /* and how many of these have ended */
  mpi_Handle type;              /* made for this operation, or 0 */
  mpi_Handle message;           /* probed */
  bool posted;                  /* MPI has finished all of it */
  lze_OneCopy *copy;
  char *scratch;
  uint64_t length;
  /* For LZE_MPI_TIMEOUT: true if it has progressed since a wait last looked,
     the time of that look, and how long waits have seen no progress. */
  bool moved;
  uint64_t looked_ns, idle_ns;
  /* Of a message. */
  char *first;                  /* receives the first message of MPI */
  bool came;                    /* before it was cancelled, with these */
  int error;
  mpi_Status status;
  bool announced;               /* it comes in pieces, with this number */
  uint32_t number;
  bool failed;                  /* since then: the remaining pieces are empty,
                                   or not posted */
  size_t begun, moving, ended;  /* numbers of pieces */
  char head[MPI_HEAD];
  /* The result of a receive. */
  int source, got_tag;
  size_t got;
  mpi_Piece flight[MPI_FLIGHT]; /* last: each is set when it begins */
} mpi_Op;

/* lze_mpi_error.c: descriptions of operations and of their failures. */
extern const char *const mpi_kind_names[]; /* "send", ... NULL */
/* Describes the ranks of an operation, ", root 1" and so on, "" if it has all
   ranks, and sets its bytes. For lze_WorkSpec. */
void mpi_op_describe(void *op, char *text, size_t size, size_t *bytes);
/* Set the failure from MPI's error code, or one of lze's own. They return
   LZE_WORK_FAILED, and so does the next. */
int mpi_op_error(const mpi_Op *o, int code, lze_WorkFailure *failure);
int mpi_op_say(const mpi_Op *o, lze_WorkFailure *failure, const char *code,
               const char *message);
int mpi_op_no_memory(const mpi_Op *o, lze_WorkFailure *failure);
/* Completes the failure that mpi_ended has set; returns LZE_WORK_LEFT if its
   memory may still be copied. */
int mpi_op_ended(const mpi_Op *o, lze_WorkFailure *failure);

/* lze_mpi_turn.c: the communicators that operations use, and the order in which
   collectives post. */
/* Marks the communicators as used until the operation leaves them; `pieces` may
   be 0. Returns false without memory. */
bool mpi_op_use(mpi_Op *o, mpi_Handle comm, mpi_Handle pieces);
void mpi_op_leave(mpi_Op *o);
/* Frees a communicator when no operation of lze uses it any more: one may still
   have to post. */
int mpi_comm_free(const mpi_Library *m, mpi_Handle comm);
/* Returns LZE_WORK_DONE when a collective may post; other operations always
   may. */
int mpi_turn_take(mpi_Op *o, lze_WorkFailure *failure);
/* Reports that it has posted all: the next one may post. */
void mpi_turn_pass(mpi_Op *o);
/* Abandons it: unless it has passed its turn, later collectives never get
   one. */
void mpi_turn_give_up(const mpi_Op *o);

/* lze_mpi_agree.c: returns LZE_WORK_DONE when all ranks have called the same
   collective and no rank lacks memory (`lacks`, set before). `meets`: this rank
   has a blocking reduction. */
int mpi_agree(mpi_Op *o, bool meets, lze_WorkFailure *failure);

/* lze_mpi_message.c: makes a step of a message of a buffer. */
int mpi_message_step(mpi_Op *o, lze_WorkFailure *failure);
/* Copies a piece between its place and the stage, unless the message has
   failed; returns true while the copy runs. */
bool mpi_piece_copies(mpi_Op *o, mpi_Piece *p, char *to, const char *from,
                      size_t bytes, lze_WorkFailure *failure);

/* lze_mpi_op.c: an operation's steps. */
mpi_Op *mpi_op_new(const mpi_Library *m); /* NULL without memory */
void mpi_op_disown(mpi_Op *o);
/* For lze_WorkSpec. */
void mpi_op_hold(void *op);
void mpi_op_release(void *op, int left);
int mpi_op_step(void *op, lze_WorkFailure *failure);
int mpi_op_cancel(void *op);
/* With a timeout. */
int mpi_op_awaited(void *op, uint64_t since_ns, lze_WorkFailure *failure);

/* lze_mpi_combine.c: accumulates n scalars: to = to `op` from. */
void mpi_combine(mpi_Operator op, mpi_Scalar scalar, size_t n, void *to,
                 const void *from);

#endif
