/*
 * lze-build.c - builds modules for the driver, to find out if that works.
 * SPDX-License-Identifier: MIT
 *
 *   lze-build <task       builds one module
 *   lze-build --serve     builds modules received through the socket that is
 *                         descriptor 3
 *
 * The driver has a module built here before it builds the module for the first
 * time, because a compiler may crash or hang. lze-build does what the driver
 * would do, with the driver's own code: it builds the program, makes every
 * kernel, sets its arguments and compiles it, also for further group sizes in
 * PoCL's notation.  It runs no kernel. zocl_task describes a task.  A building
 * process exits with status 0 if it succeeded; otherwise it writes the reason
 * to standard error, or ends as the compiler makes it end.
 *
 * A server consists of two processes.  The first does not use OpenCL; it ends
 * the second when the driver's process has ended.  The second loads OpenCL and
 * its library of built-ins, and forks for each module as long as it has only
 * one thread.  It runs only if all devices are CPUs, because a fork cannot use
 * the OpenCL state of other devices, even if OpenCL started no thread.
 */
#include "device/zocl_driver.h"
#include "opencl/zocl_opencl.h"
#include "module/zocl_module.h"
#include "module/zocl_server.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spirv-tools/libspirv.h>

#include "io.h"

/* ------------------------------------------------------------------------
 * One module.
 */

/* Returns the device with that platform version and name, or NULL. */
static zocl_device *device_find(const char *version, const char *name)
{
  zocl_driver *drivers[16];
  uint32_t count = 16;
  if (zocl_drivers(&count, drivers) != ZE_RESULT_SUCCESS) return NULL;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = 0; j < drivers[i]->device_count; j++)
      if (strcmp(drivers[i]->version, version) == 0 &&
          strcmp(drivers[i]->devices[j]->name, name) == 0)
        return drivers[i]->devices[j];
  zocl_fail(0, "there is no device '%s' of platform '%s' in a new process: "
               "the environment has changed since initialisation", name,
            version);
  return NULL;
}

/* Makes this process the first to be killed when memory runs out. */
static void volunteer(void)
{
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  io_write_all(fd, "1000", 4);
  close(fd);
}

/* Returns the text at *p, of `size` bytes with its NUL, if it ends before
   `end`, and moves *p past it; else NULL. */
static const char *text_next(const char **p, const char *end, uint64_t size)
{
  const char *text = *p;
  if (size == 0 || size > (uint64_t)(end - text) || text[size - 1] != '\0')
    return NULL;
  *p += size;
  return text;
}

/* Builds the module of `task`, which has `size` bytes.  Returns false with the
   reason in log or as the last error. */
static bool task_build(const char *task, size_t size, tool_text *log)
{
  zocl_task head;
  const char *p = task, *end = task + size;
  zocl_fail(0, "lze-build: this is not a task");
  if (size < sizeof head) return false;
  memcpy(&head, task, sizeof head);
  p += sizeof head;
  const char *version = text_next(&p, end, head.version_size);
  if (version == NULL) return false;
  const char *name = text_next(&p, end, head.name_size);
  if (name == NULL) return false;
  const char *shapes = text_next(&p, end, head.shapes_size);
  if (shapes == NULL || head.binary_size != (uint64_t)(end - p)) return false;
  if (*shapes != '\0') setenv("POCL_BINARY_SPECIALIZE_WG", shapes, 1);
  zocl_device *device = device_find(version, name);
  /* No kernel runs here, so the stack size of PoCL's threads does not matter,
     and the threads may be gone. */
  if (device != NULL) atomic_store(&device->driver->stack, SIZE_MAX);
  return device != NULL && zocl_module_try(device, p, (size_t)(end - p), log);
}

/* Performs the task in that file, and ends the process. */
static _Noreturn void task_do(int file)
{
  size_t size = 0;
  tool_text log = {0};
  zocl_fail(0, "lze-build: out of memory");
  char *task = (char *)tool_file_read(file, &size);
  bool ok = task != NULL && task_build(task, size, &log);
  if (!ok && log.size > 0)
    fputs(log.text, stderr);
  else if (!ok)
    fprintf(stderr, "%s\n", zocl_last_error());
  /* Skip the destructors of compilers, which would wait for their threads. */
  fflush(NULL);
  _exit(ok ? 0 : 1);
}

/* ------------------------------------------------------------------------
 * Threads.  PoCL starts threads to run kernels.  No kernel runs here, but the
 * threads would prevent this process from forking.  So in a server, threads
 * that PoCL starts end as soon as they are idle, with the mutex unlocked.
 * Threads of the driver and of any other OpenCL stay, and then this process
 * cannot be a server.
 */

static bool serving;
static _Thread_local bool is_passing; /* it ends when idle */

typedef struct thread_start {
  void *(*function)(void *);
  void *argument;
} thread_start;

static void *passing_thread(void *argument)
{
  thread_start start = *(thread_start *)argument;
  free(argument);
  is_passing = true;
  return start.function(start.argument);
}

static bool is_of_pocl(void *(*function)(void *))
{
  Dl_info info;
  void *address;
  memcpy(&address, &function, sizeof address);
  return dladdr(address, &info) != 0 && info.dli_fname != NULL &&
         strstr(info.dli_fname, "pocl") != NULL;
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
               void *(*function)(void *), void *argument)
{
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                void *);
  *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
  thread_start *start =
      serving && is_of_pocl(function) ? malloc(sizeof *start) : NULL;
  if (start == NULL) return create(thread, attributes, function, argument);
  *start = (thread_start){function, argument};
  int error = create(thread, attributes, passing_thread, start);
  if (error != 0) free(start);
  return error;
}

__attribute__((visibility("default"))) int
pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
  if (is_passing) {
    pthread_mutex_unlock(mutex);
    pthread_exit(NULL);
  }
  int (*wait)(pthread_cond_t *, pthread_mutex_t *);
  *(void **)&wait = dlsym(RTLD_NEXT, "pthread_cond_wait");
  return wait(condition, mutex);
}

/* ------------------------------------------------------------------------
 * Built-ins.  LLVM takes half a second to read PoCL's library of built-ins, and
 * a module uses only a few of them.  So a server overrides the LLVM functions
 * below, which PoCL calls: they only open the library, and read a function when
 * PoCL looks it up.  The machine code is the same.  An LLVM that gives its
 * functions other names reads the whole library.
 */
#ifdef __x86_64__ /* the C++ ABI for returned objects */

/* parseIRFile, whose last argument is a function up to LLVM 15 and an object
   since LLVM 16. */
#define PARSE                                                                \
  "_ZN4llvm11parseIRFileENS_9StringRefERNS_12SMDiagnosticERNS_11LLVMContext" \
  "ENS_"
#define PARSE_15                                                         \
  PARSE "12function_refIFNS_8OptionalINSt7__cxx1112basic_stringIcSt11char" \
        "_traitsIcESaIcEEEEES0_EEE"
#define PARSE_16 PARSE "15ParserCallbacksE"
#define GET "_ZNK4llvm6Module11getFunctionENS_9StringRefE"
#define MATERIALIZE "_ZN4llvm11GlobalValue11materializeEv"

typedef struct function_ref {
  void *function, *of;
} function_ref;

typedef void **parse_15(void **module, const char *path, size_t size,
                        void *diagnostic, void *context, function_ref f);
typedef void **parse_16(void **module, const char *path, size_t size,
                        void *diagnostic, void *context, void *callbacks);
typedef void *get_function(const void *module, const char *name, size_t size);

/* Functions of the LLVM that opened the library lazily: its getFunction and its
   materialize. */
static get_function *lazy_get;
static void **(*lazy_read)(void **error, void *function);

/* Returns the symbol `name` of the library that contains the address `caller`,
   or of a library it depends on: there may be several LLVMs in this process. */
static void *real_find(const void *caller, const char *name)
{
  Dl_info info;
  void *handle = dladdr(caller, &info) != 0 && info.dli_fname != NULL
                     ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                     : NULL;
  void *found = handle != NULL ? dlsym(handle, name) : NULL;
  if (handle != NULL) dlclose(handle);
  return found != NULL ? found : dlsym(RTLD_NEXT, name);
}

/* Does the same for a symbol that was called and so must exist. */
static void *real_need(const void *caller, const char *name)
{
  void *found = real_find(caller, name);
  if (found == NULL) {
    fprintf(stderr, "LLVM's %s cannot be found\n", name);
    _exit(1);
  }
  return found;
}

/* Opens the module in a file lazily if it is PoCL's library.  Returns false if
   it is not, or if that is impossible. */
static bool library_open(const void *caller, const char *path, size_t size,
                         void *context, void **module)
{
  int (*buffer_new)(const char *, void **, char **);
  int (*open_lazily)(void *, void *, void **);
  void *buffer;
  char *why, file[PATH_MAX];
  snprintf(file, sizeof file, "%.*s", (int)size, path);
  const char *name = strrchr(file, '/');
  if (!serving || name == NULL || strncmp(name, "/kernel-", 8) != 0)
    return false;
  *(void **)&buffer_new =
      real_find(caller, "LLVMCreateMemoryBufferWithContentsOfFile");
  *(void **)&open_lazily = real_find(caller, "LLVMGetBitcodeModuleInContext2");
  *(void **)&lazy_get = real_find(caller, GET);
  *(void **)&lazy_read = real_find(caller, MATERIALIZE);
  return buffer_new != NULL && open_lazily != NULL && lazy_get != NULL &&
         lazy_read != NULL && buffer_new(file, &buffer, &why) == 0 &&
         open_lazily(context, buffer, module) == 0;
}

__attribute__((visibility("default"))) parse_15 module_parse_15
    __asm__(PARSE_15);
void **module_parse_15(void **module, const char *path, size_t size,
                       void *diagnostic, void *context, function_ref f)
{
  const void *caller = __builtin_return_address(0);
  parse_15 *parse;
  if (library_open(caller, path, size, context, module)) return module;
  *(void **)&parse = real_need(caller, PARSE_15);
  return parse(module, path, size, diagnostic, context, f);
}

__attribute__((visibility("default"))) parse_16 module_parse_16
    __asm__(PARSE_16);
void **module_parse_16(void **module, const char *path, size_t size,
                       void *diagnostic, void *context, void *callbacks)
{
  const void *caller = __builtin_return_address(0);
  parse_16 *parse;
  if (library_open(caller, path, size, context, module)) return module;
  *(void **)&parse = real_need(caller, PARSE_16);
  return parse(module, path, size, diagnostic, context, callbacks);
}

__attribute__((visibility("default"))) get_function module_get __asm__(GET);
void *module_get(const void *module, const char *name, size_t size)
{
  static _Thread_local const void *base;
  static _Thread_local get_function *get; /* of the caller's LLVM */
  const void *caller = __builtin_return_address(0);
  Dl_info info = {0};
  if (dladdr(caller, &info) == 0 || info.dli_fbase != base) {
    *(void **)&get = real_need(caller, GET);
    base = info.dli_fbase;
  }
  void *found = get(module, name, size), *error = NULL;
  if (found != NULL && get == lazy_get) lazy_read(&error, found);
  /* In some LLVMs, the lowest bit of an error means only that it was not
     checked. */
  if ((uintptr_t)error > 1) {
    fprintf(stderr, "PoCL's %.*s cannot be read\n", (int)size, name);
    _exit(1);
  }
  return found;
}

#endif

/* Returns true if this process has one thread; waits a while for threads that
   are ending. */
static bool is_single(void)
{
  for (int ms = 0; ms < 1000; ms++) {
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) return false;
    int count = 0;
    for (struct dirent *e; (e = readdir(tasks)) != NULL;)
      count += e->d_name[0] != '.';
    closedir(tasks);
    if (count == 1) return true;
    usleep(1000);
  }
  return false;
}

/* ------------------------------------------------------------------------
 * The second process of a server.
 */

enum {
  SOCKET = 3,
  MOST_JOBS = 16, /* at a time; others wait in the socket */
  /* The server ends after this time without work; the next module starts
     another. */
  IDLE_MS = 300000
};

static struct job {
  pid_t pid;       /* 0: unused; it leads a process group */
  int answer;      /* the socket on which the client waits */
  int64_t limit;   /* ms */
  bool late;
} jobs[MOST_JOBS];

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Returns true if all devices of these drivers are CPUs. */
static bool are_cpus(zocl_driver *const *drivers, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t j = 0; j < drivers[i]->root_count; j++)
      if (!(drivers[i]->roots[j]->type & CL_DEVICE_TYPE_CPU)) return false;
  return true;
}

/* Makes PoCL load its library of built-ins.  It builds a program that cannot be
   linked, so that PoCL does not cache it and repeats the work every time.
   Returns false if this process may not fork. */
static bool warm_up(void)
{
  static const char text[] =
    "OpCapability Addresses\n"
    "OpCapability Linkage\n"
    "OpCapability Kernel\n"
    "%library = OpExtInstImport \"OpenCL.std\"\n"
    "OpMemoryModel Physical64 OpenCL\n"
    "OpEntryPoint Kernel %kernel \"warm_up\"\n"
    "OpDecorate %absent LinkageAttributes \"lze_absent\" Import\n"
    "%void = OpTypeVoid\n"
    "%float = OpTypeFloat 32\n"
    "%pointer = OpTypePointer CrossWorkgroup %float\n"
    "%plain = OpTypeFunction %void\n"
    "%type = OpTypeFunction %void %pointer\n"
    "%absent = OpFunction %void None %plain\n"
    "OpFunctionEnd\n"
    "%kernel = OpFunction %void None %type\n"
    "%x = OpFunctionParameter %pointer\n"
    "%label = OpLabel\n"
    "%a = OpLoad %float %x Aligned 4\n"
    "%b = OpExtInst %float %library sqrt %a\n"
    "OpStore %x %b Aligned 4\n"
    "%c = OpFunctionCall %void %absent\n"
    "OpReturn\n"
    "OpFunctionEnd\n";
  zocl_driver *drivers[16];
  uint32_t count = 16;
  if (zocl_drivers(&count, drivers) != ZE_RESULT_SUCCESS) return true;
  if (!are_cpus(drivers, count)) return false;
  spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_0);
  spv_binary binary = NULL;
  if (spvTextToBinary(context, text, sizeof text - 1, &binary, NULL) ==
      SPV_SUCCESS)
    for (uint32_t i = 0; i < count; i++) {
      tool_text log = {0};
      if (drivers[i]->pocl != 0 && drivers[i]->device_count > 0)
        zocl_module_warm(drivers[i]->devices[0], binary->code,
                         binary->wordCount * sizeof *binary->code, &log);
      free(log.text);
    }
  spvBinaryDestroy(binary);
  spvContextDestroy(context);
  return is_single();
}

static void job_answer(struct job *job, zocl_outcome what, int status)
{
  const zocl_answer answer = {what, status};
  send(job->answer, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
  close(job->answer);
}

/* Kills a job with all processes that it has started. */
static void job_kill(struct job *job)
{
  kill(-job->pid, SIGKILL);
}

static _Noreturn void leave(void)
{
  for (int i = 0; i < MOST_JOBS; i++)
    if (jobs[i].pid > 0) job_kill(&jobs[i]);
  _exit(0);
}

/* Runs in the fork. */
static _Noreturn void job_do(const int files[ZOCL_JOB_FILES], int seconds,
                             int signals, pid_t parent)
{
  sigset_t none;
  sigemptyset(&none);
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(127);
  sigprocmask(SIG_SETMASK, &none, NULL);
  tool_limit(seconds);
  dup2(files[ZOCL_JOB_MESSAGES], 2);
  close(signals);
  close(SOCKET);
  for (int i = 0; i < MOST_JOBS; i++)
    if (jobs[i].pid > 0) close(jobs[i].answer);
  close(files[ZOCL_JOB_ANSWER]);
  close(files[ZOCL_JOB_MESSAGES]);
  zocl_fork_is_whole();
  task_do(files[ZOCL_JOB_TASK]);
}

static void job_start(struct job *job, const int files[ZOCL_JOB_FILES],
                      int seconds, int signals)
{
  pid_t own = getpid();
  *job = (struct job){.answer = files[ZOCL_JOB_ANSWER],
                      .limit = now_ms() + (int64_t)TOOL_WAITING * 1000 *
                                              seconds};
  /* Never fork with several threads; closing the socket informs the client. */
  if (!is_single()) leave();
  pid_t pid = fork();
  if (pid == 0) job_do(files, seconds, signals, own);
  if (pid < 0)
    job_answer(job, ZOCL_ANSWER_REFUSED, 0);
  else {
    setpgid(pid, pid); /* in both processes: before either continues */
    job->pid = pid;
  }
  close(files[ZOCL_JOB_TASK]);
  close(files[ZOCL_JOB_MESSAGES]);
}

/* Takes a job from the socket. */
static void job_receive(struct job *job, int signals)
{
  union {
    char bytes[CMSG_SPACE(ZOCL_JOB_FILES * sizeof(int))];
    struct cmsghdr align;
  } control;
  zocl_job wanted;
  struct iovec bytes = {&wanted, sizeof wanted};
  struct msghdr message = {.msg_iov = &bytes,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
  ssize_t n = recvmsg(SOCKET, &message, MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  int files[ZOCL_JOB_FILES];
  if (n != sizeof wanted || head == NULL || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(sizeof files))
    leave();
  memcpy(files, CMSG_DATA(head), sizeof files);
  job_start(job, files, wanted.seconds, signals);
}

/* Reports the processes that have ended. */
static void jobs_reap(void)
{
  siginfo_t info;
  for (;;) {
    info.si_pid = 0;
    /* Do not reap the process yet, so that its number is not reused. */
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
      return;
    int status = 0;
    for (int i = 0; i < MOST_JOBS; i++)
      if (jobs[i].pid == info.si_pid) {
        job_kill(&jobs[i]);
        waitpid(info.si_pid, &status, 0);
        job_answer(&jobs[i],
                   jobs[i].late ? ZOCL_ANSWER_LATE : ZOCL_ANSWER_ENDED,
                   status);
        jobs[i].pid = 0;
        info.si_pid = 0;
      }
    if (info.si_pid != 0) waitpid(info.si_pid, &status, 0);
  }
}

static _Noreturn void serve(void)
{
  sigset_t awaited;
  serving = true;
  volunteer();
  if (!warm_up()) _exit(1);
  zocl_opencl_tidy();
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigprocmask(SIG_BLOCK, &awaited, NULL);
  int signals = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
  for (;;) {
    struct pollfd polled[2 + MOST_JOBS];
    struct job *of[2 + MOST_JOBS], *idle = NULL;
    nfds_t count = 2;
    int64_t now = now_ms(), next = now + IDLE_MS;
    for (int i = 0; i < MOST_JOBS; i++) {
      struct job *job = &jobs[i];
      if (job->pid == 0) {
        idle = job;
        continue;
      }
      if (job->limit < next) next = job->limit;
      of[count] = job;
      polled[count++] = (struct pollfd){job->answer, 0, 0};
    }
    polled[0] = (struct pollfd){signals, POLLIN, 0};
    polled[1] = (struct pollfd){SOCKET, idle != NULL ? POLLIN : 0, 0};
    int ready = poll(polled, count, next > now ? (int)(next - now) : 0);
    if (ready < 0 && errno != EINTR) leave();
    if (ready == 0 && count == 2) leave();
    if (ready < 0) continue;
    now = now_ms();
    for (nfds_t i = 2; i < count; i++)
      if (polled[i].revents != 0 || of[i]->limit <= now) {
        of[i]->late = of[i]->limit <= now;
        of[i]->limit = INT64_MAX;
        job_kill(of[i]);
      }
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == sizeof info)
      if (info.ssi_signo == SIGTERM) leave();
    jobs_reap();
    if (idle != NULL && polled[1].revents & POLLIN)
      job_receive(idle, signals);
    else if (polled[1].revents & (POLLHUP | POLLERR))
      leave();
  }
}

/* ------------------------------------------------------------------------
 * The first process of a server.
 */

/* Returns a descriptor that becomes readable once the process at the other end
   of the socket has ended; -1 if the kernel does not support that. */
static int host_open(pid_t *host)
{
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(SOCKET, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    _exit(2);
  *host = peer.pid;
  return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}

static void wait_ended(pid_t pid)
{
  kill(pid, SIGTERM);
  for (int ms = 0; ms < 1000; ms++) {
    if (waitpid(pid, NULL, WNOHANG) != 0) return;
    usleep(1000);
  }
  kill(pid, SIGKILL);
}

/* Waits for the end of either the socket or the driver's process.  Both are
   watched because a fork of the driver's process may have a copy of its end of
   the socket, which then stays open when the driver's process ends. */
static _Noreturn void watch(void)
{
  enum { LOOK_MS = 10000 };
  pid_t host;
  sigset_t awaited, old;
  int process = host_open(&host);
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigprocmask(SIG_BLOCK, &awaited, &old);
  int signals = signalfd(-1, &awaited, SFD_CLOEXEC);
  pid_t own = getpid(), server = fork();
  if (server == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != own) _exit(1);
    close(signals);
    if (process >= 0) close(process);
    sigprocmask(SIG_SETMASK, &old, NULL);
    serve();
  }
  struct pollfd polled[] = {
    {signals, POLLIN, 0}, {SOCKET, 0, 0}, {process, POLLIN, 0}};
  while (server > 0) {
    int ready = poll(polled, 3, LOOK_MS);
    if (ready > 0 || (ready < 0 && errno != EINTR) ||
        (kill(host, 0) != 0 && errno == ESRCH))
      break;
  }
  if (server > 0) wait_ended(server);
  _exit(0);
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "--serve") == 0) watch();
  if (argc != 1) {
    fputs("usage: lze-build <task\n"
          "       lze-build --serve\n"
          "The driver libze_opencl.so runs it; there is no other use.\n",
          stderr);
    return 2;
  }
  volunteer();
  task_do(0);
}
