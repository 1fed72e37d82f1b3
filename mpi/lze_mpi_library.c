/*
 * lze_mpi_library.c - the MPI of the process: found, begun and ended.
 * SPDX-License-Identifier: MIT
 *
 * All Lua states share it, since MPI belongs to the process. If the embedding
 * program has begun it, that program ends it.
 */
#include "lze_mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Names of the error classes, from 1 on. */
static const char *const classes_mpich[] = {
    "BUFFER", "COUNT", "TYPE", "TAG", "COMM", "RANK", "ROOT", "GROUP", "OP",
    "TOPOLOGY", "DIMS", "ARG", "UNKNOWN", "TRUNCATE", "OTHER", "INTERN",
    "IN_STATUS", "PENDING", "REQUEST"};
static const char *const classes_open[] = {
    "BUFFER", "COUNT", "TYPE", "TAG", "COMM", "RANK", "REQUEST", "ROOT",
    "GROUP", "OP", "TOPOLOGY", "DIMS", "ARG", "UNKNOWN", "TRUNCATE", "OTHER",
    "INTERN", "IN_STATUS", "PENDING"};
static const char *const classes_standard[] = {
    "BUFFER", "COUNT", "TYPE", "TAG", "COMM", "RANK", "REQUEST", "ROOT",
    "GROUP", "OP", "TOPOLOGY", "DIMS", "ARG", "UNKNOWN", "TRUNCATE", "OTHER",
    "INTERN", "PENDING", "IN_STATUS"};

static const mpi_Constants constants_mpich = {
    .abi = "MPICH",
    .world = 0x44000000, .self = 0x44000001, .comm_null = 0x04000000,
    .byte = 0x4c00010d, .info_null = 0x1c000000, .errors_return = 0x54000001,
    .scalars = {0x4c000137, 0x4c00013b, 0x4c000238, 0x4c00023c, 0x4c000439,
                0x4c00043d, 0x4c00083a, 0x4c00083e, 0x4c00040a, 0x4c00080b},
    .operators = {0x58000003, 0x58000004, 0x58000002, 0x58000001, 0x58000006,
                  0x58000008, 0x5800000a},
    .in_place = -1,
    .any_source = -2, .any_tag = -1, .proc_null = -1, .undefined = -32766,
    .shared = 1, .funneled = 1, .multiple = 3,
    .source_at = 2, .tag_at = 3, .tag_ub = 0x64400001, .ints = true,
    .classes = classes_mpich, .class_count = 19};

static const mpi_Constants constants_standard = {
    .abi = "MPI 5",
    .world = 0x101, .self = 0x102, .comm_null = 0x100, .byte = 0x247,
    .info_null = 0x130, .errors_return = 0x143,
    .scalars = {0x240, 0x241, 0x248, 0x249, 0x250, 0x251, 0x258, 0x259, 0x210,
                0x214},
    .operators = {0x21, 0x24, 0x22, 0x23, 0x28, 0x29, 0x2a},
    .in_place = 1,
    .any_source = -1, .any_tag = -2, .proc_null = -3, .undefined = -32766,
    .shared = 221, .funneled = 1024, .multiple = 4096,
    .source_at = 0, .tag_at = 1, .tag_ub = 501, .meets = true,
    .classes = classes_standard, .class_count = 19};

/* Open MPI's handles are addresses of its variables. */
static const mpi_Constants constants_open = {
    .abi = "Open MPI",
    .in_place = 1,
    .any_source = -1, .any_tag = -1, .proc_null = -2, .undefined = -32766,
    .shared = 0, .funneled = 1, .multiple = 3,
    .source_at = 0, .tag_at = 1, .tag_ub = 0, .meets = true,
    .classes = classes_open, .class_count = 19};

static mpi_Library library;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool opened;     /* set last */
static bool ours;
static pid_t process;
static pthread_t thread;
static int world_rank, world_size;

static const mpi_Library *open_fail(lze_WorkFailure *f, const char *call,
                                    const char *code, const char *message,
                                    const char *detail) {
  snprintf(f->call, sizeof f->call, "%s", call);
  snprintf(f->code, sizeof f->code, "%s", code);
  snprintf(f->message, sizeof f->message, "%s%s%s", message,
           detail != NULL ? ": " : "", detail != NULL ? detail : "");
  return NULL;
}

bool mpi_failed(const mpi_Library *m, int code, const char *call,
                lze_WorkFailure *f) {
  char text[8192];
  int class = 0, length = 0;
  if (m->Error_class(code, &class) != 0) class = 0;
  if (m->Error_string(code, text, &length) != 0) length = 0;
  text[length] = '\0';
  snprintf(f->call, sizeof f->call, "%s", call);
  if (class >= 1 && class <= m->c.class_count)
    snprintf(f->code, sizeof f->code, "MPI_ERR_%s", m->c.classes[class - 1]);
  else
    snprintf(f->code, sizeof f->code, "%d", class);
  snprintf(f->message, sizeof f->message, "%.400s", text);
  return false;
}

bool mpi_ended(const mpi_Library *m, lze_WorkFailure *f) {
  int over = 0;
  if (m->Finalized(&over) != 0 || !over) return false;
  open_fail(f, "MPI_Finalized", "ENDED", "MPI has been ended", NULL);
  return true;
}

bool mpi_thread_is_good(const mpi_Library *m) {
  return m->threads || pthread_equal(pthread_self(), thread);
}

/* --- finding it --------------------------------------------------------- */

/* A launcher, the variable that identifies it, and the library it needs. */
typedef struct Launcher {
  const char *variable, *size, *name, *libraries[4], *packages;
} Launcher;

static const Launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI",
     {"libmpi.so.40", "libmpi.so", NULL},
     "libopenmpi3 (Debian 12) or libopenmpi40 (Debian 13)"},
    {"PMI_RANK", "PMI_SIZE", "MPICH, or another of its ABI",
     {"libmpich.so.12", "libmpi.so.12", "libmpi.so", NULL},
     "libmpich12"},
    {"PMIX_RANK", NULL, "PMIx",
     {"libmpi.so.40", "libmpi_abi.so.0", "libmpich.so.12", NULL},
     "libopenmpi3 (Debian 12) or libopenmpi40 (Debian 13)"}};

static const Launcher *find_launcher(void) {
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
    if (getenv(launchers[i].variable) != NULL) return &launchers[i];
  return NULL;
}

/* Its plugins look up the library's names globally. */
static void *open_file(const char *name) {
  return dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

/* Finds the library's functions; returns the name of a missing one, or NULL. */
static const char *find_functions(mpi_Library *m, void *handle) {
#define FIND(name, parameters)                                                 \
  *(void **)&m->name = dlsym(handle, "MPI_" #name);                            \
  if (m->name == NULL) return "MPI_" #name;
  MPI_FUNCTIONS(FIND)
#undef FIND
  return NULL;
}

/* Finds the library's ABI: only a library with the standard's ABI reports
   one. */
static const char *find_constants(mpi_Library *m, void *handle) {
  int (*version)(int *, int *);
  int major = -1, minor = -1;
  *(void **)&version = dlsym(handle, "MPI_Abi_get_version");
  if (version != NULL && version(&major, &minor) == 0 && major >= 1) {
    m->c = constants_standard;
    return NULL;
  }
  if (dlsym(handle, "ompi_mpi_comm_world") == NULL) {
    m->c = constants_mpich;
    return NULL;
  }
  m->c = constants_open;
  static const char *const scalars[] = {
      "ompi_mpi_int8_t",  "ompi_mpi_uint8_t",  "ompi_mpi_int16_t",
      "ompi_mpi_uint16_t", "ompi_mpi_int32_t", "ompi_mpi_uint32_t",
      "ompi_mpi_int64_t", "ompi_mpi_uint64_t", "ompi_mpi_float",
      "ompi_mpi_double"};
  static const char *const operators[] = {
      "ompi_mpi_op_sum",  "ompi_mpi_op_prod", "ompi_mpi_op_min",
      "ompi_mpi_op_max",  "ompi_mpi_op_band", "ompi_mpi_op_bor",
      "ompi_mpi_op_bxor"};
  const struct {
    mpi_Handle *to;
    const char *name;
  } others[] = {{&m->c.world, "ompi_mpi_comm_world"},
                {&m->c.self, "ompi_mpi_comm_self"},
                {&m->c.comm_null, "ompi_mpi_comm_null"},
                {&m->c.byte, "ompi_mpi_byte"},
                {&m->c.info_null, "ompi_mpi_info_null"},
                {&m->c.errors_return, "ompi_mpi_errors_return"}};
  for (int i = 0; i < MPI_SCALARS; i++) {
    m->c.scalars[i] = (mpi_Handle)dlsym(handle, scalars[i]);
    if (m->c.scalars[i] == 0) return scalars[i];
  }
  for (int i = 0; i < MPI_OPERATORS; i++) {
    m->c.operators[i] = (mpi_Handle)dlsym(handle, operators[i]);
    if (m->c.operators[i] == 0) return operators[i];
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    *others[i].to = (mpi_Handle)dlsym(handle, others[i].name);
    if (*others[i].to == 0) return others[i].name;
  }
  return NULL;
}

/* Opens the library to use; sets `none` if one rank needs no library. Returns
   NULL with the failure. */
static void *find_library(bool *none, lze_WorkFailure *f) {
  const char *name = getenv("LZE_MPI");
  *none = false;
  if (name != NULL && *name != '\0') {
    void *handle = open_file(name);
    if (handle == NULL)
      open_fail(f, "dlopen", "LIBRARY_NOT_FOUND", "LZE_MPI", dlerror());
    return handle;
  }
  /* The embedding program's own. */
  if (dlsym(RTLD_DEFAULT, "MPI_Initialized") != NULL) return RTLD_DEFAULT;
  const Launcher *l = find_launcher();
  *none = l == NULL;
  if (l == NULL) return NULL;
  char first[160] = "";
  for (int i = 0; l->libraries[i] != NULL; i++) {
    void *handle = open_file(l->libraries[i]);
    if (handle != NULL) return handle;
    if (i == 0) snprintf(first, sizeof first, "%s", dlerror());
  }
  char text[360];
  snprintf(text, sizeof text,
           "a launcher of %s has started this process, and its library is not "
           "found; install it, on Debian %s, or name one with LZE_MPI",
           l->name, l->packages);
  open_fail(f, "dlopen", "LIBRARY_NOT_FOUND", text, first);
  return NULL;
}

/* --- begin and end ------------------------------------------------------ */

/* Waits until all ranks are at their end. MPICH's MPI_Finalize may hang if a
   rank comes later and has not received a message. */
static void meet_at_end(const mpi_Library *m) {
  mpi_Handle request;
  mpi_Status status;
  int over = 0;
  if (world_size == 1 || m->Ibarrier(m->end, &request) != 0) return;
  while (m->Test(&request, &over, &status) == 0 && !over) {
    const struct timespec t = {.tv_nsec = 100000};
    nanosleep(&t, NULL);
  }
}

/* At the end of the process: all ranks end together. A forked child is not a
   rank. */
static void finish(int status, void *unused) {
  lze_WorkFailure f;
  (void)unused;
  if (getpid() != process || mpi_ended(&library, &f)) return;
  if (status == 0) {
    fflush(NULL);
    meet_at_end(&library);
    library.Finalize();
    return;
  }
  fflush(NULL);
  fprintf(stderr, "lze.mpi: rank %d of %d ended with status %d, so all end\n",
          world_rank, world_size, status);
  fflush(stderr);
  /* Output that MPICH's launcher has not read when a rank aborts is lost. */
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  library.Abort(library.c.world, status & 0xff);
}

static bool begin_call(int code, const char *call, lze_WorkFailure *f) {
  return code == 0 || mpi_failed(&library, code, call, f);
}

/* Calls MPI_Init, unless the embedding program has, and makes the
   communicators. */
static bool begin(bool alone, lze_WorkFailure *f) {
  mpi_Library *m = &library;
  int begun = 0, level = 0, first = 1, length = 0;
  char version[8192] = "";
  if (!begin_call(m->Initialized(&begun), "MPI_Initialized", f)) return false;
  if (begun && mpi_ended(m, f)) return false;
  if (!begun) {
    if (!begin_call(m->Init_thread(NULL, NULL, m->c.funneled, &level),
                    "MPI_Init_thread", f))
      return false;
    /* After MPI_Init, so that it runs before the functions that MPI_Init
       registers. */
    if (!alone) on_exit(finish, NULL);
    ours = true;
    process = getpid();
  } else if (!begin_call(m->Query_thread(&level), "MPI_Query_thread", f) ||
             !begin_call(m->Is_thread_main(&first), "MPI_Is_thread_main", f)) {
    return false;
  }
  if (!first && level <= m->c.funneled) {
    open_fail(f, "MPI_Is_thread_main", "WRONG_THREAD",
              "MPI was begun on another thread, and for that one only", NULL);
    return false;
  }
  m->threads = level >= m->c.multiple;
  thread = pthread_self();
  if (!begin_call(m->Comm_dup(m->c.world, &m->world), "MPI_Comm_dup", f) ||
      !begin_call(m->Comm_dup(m->c.world, &m->values), "MPI_Comm_dup", f) ||
      !begin_call(m->Comm_dup(m->c.world, &m->pieces), "MPI_Comm_dup", f) ||
      !begin_call(m->Comm_dup(m->c.world, &m->end), "MPI_Comm_dup", f) ||
      !begin_call(m->Comm_rank(m->world, &world_rank), "MPI_Comm_rank", f) ||
      !begin_call(m->Comm_size(m->world, &world_size), "MPI_Comm_size", f))
    return false;
  m->Comm_set_errhandler(m->world, m->c.errors_return);
  m->Comm_set_errhandler(m->values, m->c.errors_return);
  m->Comm_set_errhandler(m->pieces, m->c.errors_return);
  m->Comm_set_errhandler(m->end, m->c.errors_return);
  /* Errors of finished requests go to one of these. */
  if (ours) m->Comm_set_errhandler(m->c.world, m->c.errors_return);
  if (ours) m->Comm_set_errhandler(m->c.self, m->c.errors_return);
  if (m->Get_library_version(version, &length) != 0) length = 0;
  version[strcspn(version, "\n,")] = '\0';
  snprintf(m->version, sizeof m->version, "%.100s", version);
  return true;
}

static bool check_size(lze_WorkFailure *f) {
  const Launcher *l = find_launcher();
  const char *said = l != NULL && l->size != NULL ? getenv(l->size) : NULL;
  if (said == NULL || atoi(said) == world_size || world_size != 1) return true;
  char text[400];
  snprintf(text, sizeof text,
           "the launcher, of %s, has started %s processes, and %s takes this "
           "one for the only one: it belongs to another launcher",
           l->name, said, library.version);
  open_fail(f, "MPI_Init_thread", "WRONG_LIBRARY", text, NULL);
  return false;
}

/* Returns why the library cannot use Level Zero device memory, by its own
   report; NULL if it can. It would read unknown device memory as host memory,
   which ends the process. */
static const char *find_gpu(const mpi_Library *m, void *handle, bool none) {
  int (*query)(void);
  if (none) return "there is one rank, without a library of MPI";
  *(void **)&query = dlsym(handle, "MPIX_Query_ze_support");
  if (query != NULL && query() == 1) return NULL;
  if (strncmp(m->version, "Intel(R) MPI", 12) == 0) {
    const char *offload = getenv("I_MPI_OFFLOAD");
    if (offload != NULL && atoi(offload) > 0) return NULL;
    return "Intel MPI needs I_MPI_OFFLOAD=1";
  }
  return query != NULL ? "the library says that it cannot use it"
                       : "the library does not say that it can use it";
}

/* Finds the reductions of integers with wrong results: MPICH 4.0 compares
   unsigned numbers as signed ones; in Open MPI 4.1, on processors with AVX,
   sums of 8 and 16 bits stop at the greatest number instead of wrapping. */
static void find_wrong(mpi_Library *m, void *handle) {
  enum { WORDS = 50 };
  int (*reduce)(mpi_In, mpi_Out, int, mpi_Handle, mpi_Handle);
  uint64_t from[WORDS], to[WORDS], good[WORDS], random = 1;
  *(void **)&reduce = dlsym(handle, "MPI_Reduce_local");
  if (reduce == NULL) return;
  for (int s = MPI_I8; s <= MPI_U64; s++) {
    int n = (int)(sizeof from >> s / 2); /* 8 bits twice, 16 bits twice, ... */
    for (int op = 0; op < MPI_OPERATORS; op++) {
      for (int i = 0; i < WORDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        from[i] = random ^ random >> 32;
        to[i] = good[i] = ~from[i] + random;
      }
      mpi_combine((mpi_Operator)op, (mpi_Scalar)s, (size_t)n, good, from);
      if (reduce(from, to, n, m->c.scalars[s], m->c.operators[op]) != 0 ||
          memcmp(to, good, sizeof good) != 0)
        m->wrong[s] |= 1 << op;
    }
  }
}

/* Makes all ranks use the same settings, though their processors may differ. */
static bool agree(mpi_Library *m, lze_WorkFailure *f) {
  return begin_call(m->Allreduce((mpi_In)m->c.in_place, m->wrong, MPI_SCALARS,
                                 m->c.scalars[MPI_I32],
                                 m->c.operators[MPI_OP_BOR], m->world),
                    "MPI_Allreduce", f);
}

static bool read_gpu(mpi_Library *m, lze_WorkFailure *f) {
  const char *value = getenv("LZE_MPI_GPU");
  if (value == NULL || *value == '\0' || strcmp(value, "0") == 0) return true;
  m->gpu = strcmp(value, "1") == 0;
  if (!m->gpu)
    open_fail(f, "lze.mpi", "WRONG_VARIABLE",
              "LZE_MPI_GPU: 0 or 1 expected, got", value);
  return m->gpu;
}

/* Open MPI 4.1.4 copies a message that is too long for the receiver past the
   end of its memory when it reads from the sender's memory: above 960 bytes
   within a process, and 4000 between two. Then it reports MPI_ERR_TRUNCATE. It
   is identified by its ABI, even under another name, or by its name. */
static size_t find_most_whole(const mpi_Library *m) {
  bool is_open = strcmp(m->c.abi, "Open MPI") == 0 ||
                 strstr(m->version, "Open MPI") != NULL;
  return is_open ? 512 : MPI_PIECE;
}

/* Returns the greatest valid tag; every MPI has tags of 15 bits. */
static unsigned find_most_tag(const mpi_Library *m, void *handle) {
  int (*get)(mpi_Handle, int, void *, int *), *most = NULL, found = 0;
  if (handle == NULL) return INT_MAX;
  *(void **)&get = dlsym(handle, "MPI_Comm_get_attr");
  if (get == NULL || get(m->world, m->c.tag_ub, &most, &found) != 0 ||
      !found || most == NULL || *most < SHRT_MAX)
    return SHRT_MAX;
  return (unsigned)*most;
}

static const mpi_Library *open_locked(lze_WorkFailure *f) {
  mpi_Library *m = &library;
  bool none;
  void *handle = find_library(&none, f);
  if (handle == NULL && !none && f->call[0] != '\0') return NULL;
  if (none) {
    mpi_open_self(m);
    m->c = constants_standard;
  } else {
    const char *lacks = find_functions(m, handle);
    if (lacks == NULL) lacks = find_constants(m, handle);
    if (lacks != NULL)
      return open_fail(f, "dlsym", "LIBRARY_NOT_FOUND",
                       "the library of MPI lacks something; MPI 3 is needed",
                       lacks);
  }
  const char *seconds = getenv("LZE_MPI_TIMEOUT");
  if (seconds != NULL && *seconds != '\0') {
    char *end;
    m->timeout = strtod(seconds, &end);
    if (*end != '\0' || !(m->timeout > 0))
      return open_fail(f, "lze.mpi", "WRONG_VARIABLE",
                       "LZE_MPI_TIMEOUT: a number of seconds expected, got",
                       seconds);
  }
  if (!read_gpu(m, f) || !begin(none, f)) return NULL;
  m->most_whole = find_most_whole(m);
  m->most_tag = find_most_tag(m, none ? NULL : handle);
  if (!none) find_wrong(m, handle);
  if (!agree(m, f)) return NULL;
  if (m->gpu) m->gpu_lacks = find_gpu(m, handle, none);
  if (!check_size(f)) return NULL;
  opened = true;
  return m;
}

const mpi_Library *mpi_open(lze_WorkFailure *f) {
  if (opened) return &library;
  f->call[0] = '\0';
  pthread_mutex_lock(&lock);
  const mpi_Library *m = opened ? &library : open_locked(f);
  pthread_mutex_unlock(&lock);
  return m;
}
