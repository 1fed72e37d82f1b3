/*
 * mpi_fake.c - an MPI library for one rank, whose calls fail or take long.
 * SPDX-License-Identifier: MIT
 *
 * It has the ABI of MPI 5 and wraps mpi/lze_mpi_self.c; LZE_MPI names it.  The
 * file named by MPI_FAKE_CONTROL controls it with one line.  The line may be
 * changed while the library is used, which starts the counting again:
 *   N fail K      the K-th call from now on fails, once
 *   N break K     the K-th call and all later calls fail
 *   N delay K     each request is done at the K-th test, until one is cancelled
 *   N halve K     only half of the K-th message is sent
 *   N apart 0     this rank belongs to no grid
 *   N end 0       MPI has been finalized: a call ends the process
 * N is a number that no earlier line has had.  With MPI_FAKE_GPU=1 it reports
 * that it can use device memory; with MPI_FAKE_HOST="LEVEL FIRST", that the
 * program has initialised it for threads of this level, on this thread or not.
 * At its end it prints the number of pending requests and, with
 * MPI_FAKE_COMMUNICATORS=1, the number of communicators not freed.
 */
#include "../../mpi/lze_mpi_self.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { ERR_INTERN = 17 };

static int serial, fail_at, break_at, delay, halve_at;
static int calls, looks, sent, under_way, communicators;
static bool ended, apart;

static void control_read(void) {
  const char *path = getenv("MPI_FAKE_CONTROL");
  FILE *file = path != NULL ? fopen(path, "r") : NULL;
  char word[16] = "";
  int number = 0, k = 0;
  if (file == NULL) return;
  if (fscanf(file, "%d %15s %d", &number, word, &k) == 3 && number != serial) {
    serial = number;
    calls = looks = sent = 0;
    fail_at = strcmp(word, "fail") == 0 ? k : 0;
    break_at = strcmp(word, "break") == 0 ? k : 0;
    delay = strcmp(word, "delay") == 0 ? k : 0;
    halve_at = strcmp(word, "halve") == 0 ? k : 0;
    ended = strcmp(word, "end") == 0;
    apart = strcmp(word, "apart") == 0;
  }
  fclose(file);
}

static bool fails(void) {
  control_read();
  if (ended) {
    fputs("called after MPI_Finalize\n", stderr);
    _exit(EXIT_FAILURE);
  }
  calls++;
  return calls == fail_at || (break_at > 0 && calls >= break_at);
}

/* Count a request that a call has created. */
static int made(int error, const mpi_Handle *request) {
  if (error == 0 && *request != REQUEST_NULL) under_way++;
  return error;
}

/* Count a communicator that a call has created. */
static int made_comm(int error, const mpi_Handle *comm) {
  if (error == 0 && *comm != COMM_NULL) communicators++;
  return error;
}

#define F0(name)                                                               \
  API int MPI_##name(void);                                                    \
  API int MPI_##name(void) { return fails() ? ERR_INTERN : self_##name(); }
#define FN(name, parameters, arguments)                                        \
  API int MPI_##name parameters;                                               \
  API int MPI_##name parameters {                                              \
    return fails() ? ERR_INTERN : self_##name arguments;                       \
  }
/* A call that creates a communicator. */
#define FC(name, parameters, arguments)                                        \
  API int MPI_##name parameters;                                               \
  API int MPI_##name parameters {                                              \
    return fails() ? ERR_INTERN : made_comm(self_##name arguments, comm);      \
  }
#define F1(n, A) FN(n, (A a), (a))
#define F2(n, A, B) FN(n, (A a, B b), (a, b))
#define F3(n, A, B, C) FN(n, (A a, B b, C c), (a, b, c))
#define F4(n, A, B, C, D) FN(n, (A a, B b, C c, D d), (a, b, c, d))
#define F5(n, A, B, C, D, E)                                                   \
  FN(n, (A a, B b, C c, D d, E e), (a, b, c, d, e))
#define F6(n, A, B, C, D, E, F)                                                \
  FN(n, (A a, B b, C c, D d, E e, F f), (a, b, c, d, e, f))
#define F7(n, A, B, C, D, E, F, G)                                             \
  FN(n, (A a, B b, C c, D d, E e, F f, G g), (a, b, c, d, e, f, g))
#define F8(n, A, B, C, D, E, F, G, H)                                          \
  FN(n, (A a, B b, C c, D d, E e, F f, G g, H h), (a, b, c, d, e, f, g, h))
#define F9(n, A, B, C, D, E, F, G, H, I)                                       \
  FN(n, (A a, B b, C c, D d, E e, F f, G g, H h, I i),                         \
     (a, b, c, d, e, f, g, h, i))

#define F10(n, A, B, C, D, E, F, G, H, I, J)                                   \
  FN(n, (A a, B b, C c, D d, E e, F f, G g, H h, I i, J j),                    \
     (a, b, c, d, e, f, g, h, i, j))

typedef const int *N;
typedef mpi_Handle M;
typedef mpi_Handle *R;

F1(Type_commit, R)
F1(Type_free, R)
F2(Abort, M, int)
F2(Get_library_version, char *, int *)
F2(Comm_rank, M, int *)
F2(Test_cancelled, const mpi_Status *, int *)
F2(Comm_size, M, int *)
F2(Comm_set_errhandler, M, M)
F2(Ibarrier, M, R)
F3(Cart_rank, M, const int *, int *)
F3(Type_contiguous, int, M, R)
F3(Get_elements_x, const mpi_Status *, M, int64_t *)
F4(Init_thread, int *, char ***, int, int *)
F4(Cart_coords, M, int, int, int *)
F5(Cart_shift, M, int, int, int *, int *)
F5(Type_create_struct, int, const int *, const intptr_t *, mpi_In, R)
F6(Improbe, int, int, M, int *, R, mpi_Status *)
F6(Allreduce, mpi_In, mpi_Out, int, M, M, M)
F6(Ibcast, mpi_Out, int, M, int, M, R)
F7(Iallreduce, mpi_In, mpi_Out, int, M, M, M, R)
F7(Iscan, mpi_In, mpi_Out, int, M, M, M, R)
F7(Reduce, mpi_In, mpi_Out, int, M, M, int, M)
F8(Ireduce, mpi_In, mpi_Out, int, M, M, int, M, R)
F8(Ialltoall, mpi_In, int, M, mpi_Out, int, M, M, R)
F9(Igather, mpi_In, int, M, mpi_Out, int, M, int, M, R)
F9(Iscatter, mpi_In, int, M, mpi_Out, int, M, int, M, R)
F10(Igatherv, mpi_In, int, M, mpi_Out, N, N, M, int, M, R)
F10(Iscatterv, mpi_In, N, N, M, mpi_Out, int, M, int, M, R)
F10(Ialltoallv, mpi_In, N, N, M, mpi_Out, N, N, M, M, R)

/* All calls must pass MPI_IN_PLACE: a rank cannot find out if all others do. */
#define FA(name, parameters, arguments)                                        \
  API int MPI_##name parameters;                                               \
  API int MPI_##name parameters {                                              \
    bool failed = fails() || in != (mpi_In)1;                                  \
    return failed ? ERR_INTERN : self_##name arguments;                        \
  }
FA(Iallgather, (mpi_In in, int n, M type, mpi_Out out, int got, M of, M comm,
                R request), (in, n, type, out, got, of, comm, request))
FA(Iallgatherv, (mpi_In in, int n, M type, mpi_Out out, N got, N places, M of,
                 M comm, R request),
   (in, n, type, out, got, places, of, comm, request))

FC(Comm_dup, (M of, R comm), (of, comm))
FC(Comm_split, (M of, int color, int key, R comm), (of, color, key, comm))
FC(Comm_split_type, (M of, int type, int key, M info, R comm),
   (of, type, key, info, comm))

API int MPI_Cart_create(M, int, N, N, int, R);
API int MPI_Cart_create(M of, int n, N dims, N periodic, int reorder, R comm) {
  if (fails()) return ERR_INTERN;
  *comm = COMM_NULL;
  if (apart) return 0;
  return made_comm(self_Cart_create(of, n, dims, periodic, reorder, comm),
                   comm);
}

API int MPI_Comm_free(mpi_Handle *comm);
API int MPI_Comm_free(mpi_Handle *comm) {
  bool failed = fails();
  communicators--;
  int error = self_Comm_free(comm);
  return failed ? ERR_INTERN : error;
}

API int MPI_Isend(mpi_In, int, M, int, int, M, R);
API int MPI_Isend(mpi_In from, int n, M type, int peer, int tag, M comm,
                  R request) {
  if (fails()) return ERR_INTERN;
  if (++sent == halve_at) n /= 2;
  return made(self_Isend(from, n, type, peer, tag, comm, request), request);
}

API int MPI_Irecv(mpi_Out, int, M, int, int, M, R);
API int MPI_Irecv(mpi_Out to, int n, M type, int peer, int tag, M comm,
                  R request) {
  if (fails()) return ERR_INTERN;
  return made(self_Irecv(to, n, type, peer, tag, comm, request), request);
}

API int MPI_Imrecv(mpi_Out, int, M, R, R);
API int MPI_Imrecv(mpi_Out to, int n, M type, R message, R request) {
  if (fails()) return ERR_INTERN;
  return made(self_Imrecv(to, n, type, message, request), request);
}

/* Return a number of MPI_FAKE_HOST, or `otherwise` if it is missing. */
static int host(int number, int otherwise) {
  const char *says = getenv("MPI_FAKE_HOST");
  int numbers[2] = {0, 0};
  bool good = says != NULL &&
              sscanf(says, "%d %d", &numbers[0], &numbers[1]) == 2;
  return good ? numbers[number] : otherwise;
}

API int MPI_Initialized(int *);
API int MPI_Initialized(int *flag) {
  int error = fails() ? ERR_INTERN : self_Initialized(flag);
  if (getenv("MPI_FAKE_HOST") != NULL) *flag = 1;
  return error;
}

API int MPI_Query_thread(int *);
API int MPI_Query_thread(int *level) {
  *level = host(0, 0);
  return fails() ? ERR_INTERN : 0;
}

API int MPI_Is_thread_main(int *);
API int MPI_Is_thread_main(int *flag) {
  *flag = host(1, 1);
  return fails() ? ERR_INTERN : 0;
}

API int MPI_Cancel(R);
API int MPI_Cancel(R request) {
  if (fails()) return ERR_INTERN;
  delay = 0;
  return self_Cancel(request);
}

API int MPI_Finalize(void);
API int MPI_Finalize(void) {
  const char *says = getenv("MPI_FAKE_COMMUNICATORS");
  if (under_way > 0) fprintf(stderr, "%d requests under way\n", under_way);
  if (says != NULL && strcmp(says, "1") == 0)
    fprintf(stderr, "%d communicators left\n", communicators);
  return self_Finalize();
}

/* The next calls work even if all others fail. */
API int MPI_Finalized(int *flag);
API int MPI_Finalized(int *flag) {
  control_read();
  *flag = ended;
  return 0;
}

API int MPI_Error_class(int code, int *class);
API int MPI_Error_class(int code, int *class) {
  return self_Error_class(code, class);
}

API int MPI_Error_string(int code, char *text, int *length);
API int MPI_Error_string(int code, char *text, int *length) {
  if (code != ERR_INTERN) return self_Error_string(code, text, length);
  *length = sprintf(text, "the library was told to fail");
  return 0;
}

API int MPI_Abi_get_version(int *major, int *minor);
API int MPI_Abi_get_version(int *major, int *minor) {
  *major = 1;
  *minor = 0;
  return 0;
}

API int MPIX_Query_ze_support(void);
API int MPIX_Query_ze_support(void) {
  const char *says = getenv("MPI_FAKE_GPU");
  return says != NULL && strcmp(says, "1") == 0;
}

/* Fails only for a request that is over. */
API int MPI_Test(mpi_Handle *request, int *flag, mpi_Status *status);
API int MPI_Test(mpi_Handle *request, int *flag, mpi_Status *status) {
  bool failed = fails();
  *flag = 0;
  if (delay > 0 && ++looks % delay != 0) return 0;
  bool counts = *request != REQUEST_NULL;
  int error = self_Test(request, flag, status);
  if (*flag && counts) under_way--;
  return failed && *flag ? ERR_INTERN : error;
}

/* mpi_open_self has the same parameters as the others. */
__attribute__((unused)) static void (*const unused)(mpi_Library *) =
    mpi_open_self;
