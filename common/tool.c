/*
 * tool.c - running a compiler or translator in its own process.
 * SPDX-License-Identifier: MIT
 */
#include "tool.h"
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_MESSAGE = 16384,
  /* The watcher's interval while a tool runs, too short to be noticed. */
  SLICE_MS = 50,
  /* LLVM's versions, which are part of the tools' names. */
  OLDEST_VERSION = 11,
  NEWEST_VERSION = 40
};

static void text_append(tool_text *t, const char *bytes, size_t size) {
  char *text = realloc(t->text, t->size + size + 1);
  if (text == NULL) {
    t->lost = true;
    return;
  }
  memcpy(text + t->size, bytes, size);
  text[t->size + size] = '\0';
  t->text = text;
  t->size += size;
}

void tool_text_append(tool_text *t, const tool_text *more) {
  if (more->size > 0) text_append(t, more->text, more->size);
  t->lost = t->lost || more->lost;
  t->unstarted = t->unstarted || more->unstarted;
}

void tool_text_add(tool_text *t, const char *format, ...) {
  char line[MAX_MESSAGE];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (n < 0) return;
  text_append(t, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

/* --- finding ------------------------------------------------------------ */

int tool_find(const char *name, unsigned version, char *path, size_t size) {
  static const char *const directories[] = {"/usr/bin", "/usr/local/bin",
                                            "/bin"};
  enum { DIRECTORIES = sizeof directories / sizeof *directories };
  if (version == 0) version = NEWEST_VERSION;
  unsigned best = UINT_MAX;
  int found = 0;
  for (int d = 0; d < DIRECTORIES; d++)
    for (unsigned v = OLDEST_VERSION; v <= NEWEST_VERSION; v++) {
      char candidate[128];
      snprintf(candidate, sizeof candidate, "%s/%s-%u", directories[d], name,
               v);
      if (access(candidate, X_OK) != 0) continue;
      unsigned distance = v <= version ? version - v : 1000 + v - version;
      if (distance >= best) continue;
      best = distance;
      found = (int)v;
      snprintf(path, size, "%s", candidate);
    }
  for (int d = 0; found == 0 && d < DIRECTORIES; d++) {
    snprintf(path, size, "%s/%s", directories[d], name);
    if (access(path, X_OK) == 0) found = -1;
  }
  return found;
}

/* --- running ------------------------------------------------------------ */

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}

/* How the tool ended, as reported by the process that waits for it. */
typedef struct ending {
  int exec_error; /* errno of execve, or 0 */
  int status;     /* from waitpid */
} ending;

/* Ends a forked process. _exit would run sanitizer code that takes locks, which
   another thread may have held at the fork. */
static _Noreturn void leave(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

/* Makes the kernel send this process a signal when the thread that forked it
   ends; returns false if the thread has ended already. */
static bool outlive_not(pid_t parent, int signal) {
  return prctl(PR_SET_PDEATHSIG, signal) == 0 && getppid() == parent;
}

void tool_limit(int seconds) {
  struct rlimit no_core = {0, 0}, time;
  setrlimit(RLIMIT_CORE, &no_core);
  /* SIGXCPU at the limit, SIGKILL after it. */
  rlim_t most = (rlim_t)seconds;
  if (getrlimit(RLIMIT_CPU, &time) == 0 && time.rlim_cur > most) {
    time.rlim_cur = most;
    if (time.rlim_max > most) time.rlim_max = most + 1;
    setrlimit(RLIMIT_CPU, &time);
  }
}

/* Removes the parent's signal handlers. Not SIGABRT's, for which newer C
   libraries take a lock that another thread of the parent may have held; even
   if it is ignored, abort ends the process. */
static void signals_reset(void) {
  struct sigaction plain;
  memset(&plain, 0, sizeof plain);
  plain.sa_handler = SIG_DFL;
  for (int s = 1; s < NSIG; s++)
    if (s != SIGABRT) sigaction(s, &plain, NULL);
}

/* Leaves these descriptors only, numbered from 0 on; their present numbers do
   not matter. Calls dup3 directly, because ThreadSanitizer assumes that this
   process also has the descriptors that other threads of its parent have opened
   since. */
static bool descriptors_set(const int *files, int count) {
  int high[4];
  /* Moves them above the last first, so that they do not overwrite each
     other. */
  for (int i = 0; i < count; i++)
    if ((high[i] = fcntl(files[i], F_DUPFD_CLOEXEC, count)) < 0) return false;
  for (int i = 0; i < count; i++)
    if (syscall(SYS_dup3, high[i], i, 0) < 0) return false;
#ifdef SYS_close_range
  syscall(SYS_close_range, (unsigned)count, ~0u,
          1u << 2 /* CLOSE_RANGE_CLOEXEC */);
#endif
  return true;
}

/* Runs the program in the forked process with these files as 0, 1 and 2, waits
   for it and reports how it ended. SIGTERM, which also comes when our parent
   ends, ends the program and everything it has started. Calls only functions
   that are safe after a fork in a threaded process; therefore pipe2 itself, for
   which ThreadSanitizer takes a lock that another thread of our parent may have
   held. An intermediate process is needed because our own may ignore SIGCHLD or
   wait for any child, and would then never get the status. */
static _Noreturn void run_between(char *const *arguments, int in, int out,
                                  int err, int seconds, int report,
                                  pid_t parent) {
  signals_reset();
  sigset_t none, awaited;
  sigemptyset(&none);
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  setpgid(0, 0);
  if (!outlive_not(parent, SIGTERM)) leave(1);
  ending end = {0, 0};
  int failed[2];
  if (syscall(SYS_pipe2, failed, O_CLOEXEC) != 0) leave(1);
  pid_t own = getpid(), child = _Fork();
  if (child == 0) {
    setpgid(0, 0);
    if (!outlive_not(own, SIGKILL)) leave(127);
    sigprocmask(SIG_SETMASK, &none, NULL);
    tool_limit(seconds);
    int high = fcntl(failed[1], F_DUPFD_CLOEXEC, 3);
    if (descriptors_set((const int[]){in, out, err}, 3))
      execve(arguments[0], arguments, environ);
    int error = errno;
    io_write_all(high, &error, sizeof error);
    leave(127);
  }
  close(failed[1]);
  if (child < 0)
    end.exec_error = errno;
  else {
    int signal;
    setpgid(child, child); /* in both processes, before either continues */
    while (waitpid(child, &end.status, WNOHANG) == 0)
      if (sigwait(&awaited, &signal) == 0 && signal == SIGTERM)
        kill(-child, SIGKILL);
    if (!io_read_all(failed[0], &end.exec_error, sizeof end.exec_error))
      end.exec_error = 0;
  }
  io_write_all(report, &end, sizeof end);
  leave(0);
}

void tool_late(const char *name, int seconds, tool_text *log) {
  tool_text_add(log, "%s took longer than %d s and was stopped\n", name,
                TOOL_WAITING * seconds);
}

bool tool_ended(const char *name, int status, int seconds, tool_text *log) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    tool_text_add(log, "%s took more than %d s of processor time and was "
                  "stopped\n", name, seconds);
  else if (WIFSIGNALED(status))
    tool_text_add(log, "%s was ended by signal %d (%s)\n", name,
                  WTERMSIG(status), strsignal(WTERMSIG(status)));
  else if (status != 0)
    tool_text_add(log, "%s failed with status %d\n", name,
                  WEXITSTATUS(status));
  return status == 0;
}

/* Adds that the tool has not run because `what` failed with this errno; 0 for
   an unknown reason. */
static void unstarted_add(tool_text *log, const char *what, int error) {
  if (error != 0)
    tool_text_add(log, "%s: %s\n", what, strerror(error));
  else
    tool_text_add(log, "%s could not be started\n", what);
  log->unstarted = true;
}

/* Runs it. Returns false with the reason in log if it did not succeed; the
   caller adds the tool's error output. */
static bool run(char *const *arguments, int in, int out, int err,
                int seconds, tool_watch *watch, void *of, tool_text *log) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    unstarted_add(log, "pipe", errno);
    return false;
  }
  /* All signals stay blocked in the intermediate process. */
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pid_t own = getpid(), between = _Fork();
  if (between == 0)
    run_between(arguments, in, out, err, seconds, report[1], own);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  close(report[1]);
  if (between < 0) {
    unstarted_add(log, "fork", errno);
    close(report[0]);
    return false;
  }
  ending end;
  struct pollfd wait = {.fd = report[0], .events = POLLIN};
  uint64_t now = now_ms();
  uint64_t limit = now + TOOL_WAITING * 1000u * (unsigned)seconds;
  int ready = 0;
  bool wanted = true;
  while (ready == 0 && wanted && now < limit) {
    uint64_t left = limit - now;
    ready = poll(&wait, 1, watch != NULL && left > SLICE_MS ? SLICE_MS
                                                            : (int)left);
    if (ready < 0 && errno == EINTR) ready = 0;
    if (ready == 0 && watch != NULL) wanted = watch(of);
    now = now_ms();
  }
  /* It may have ended while `watch` took long. */
  if (ready == 0 && wanted && poll(&wait, 1, 0) > 0) ready = 1;
  bool ended = ready > 0 && io_read_all(report[0], &end, sizeof end);
  close(report[0]);
  if (!ended) kill(between, SIGTERM);
  while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
    ;
  if (!wanted)
    tool_text_add(log, "%s was interrupted\n", arguments[0]);
  else if (ready == 0)
    tool_late(arguments[0], seconds, log);
  else if (!ended || end.exec_error != 0)
    unstarted_add(log, arguments[0], ended ? end.exec_error : 0);
  else
    return tool_ended(arguments[0], end.status, seconds, log);
  return false;
}

int tool_file(const void *bytes, size_t size) {
  int fd = memfd_create("tool", MFD_CLOEXEC);
  if (fd >= 0 &&
      (!io_write_all(fd, bytes, size) || lseek(fd, 0, SEEK_SET) < 0)) {
    int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

unsigned char *tool_file_read(int fd, size_t *size) {
  struct stat st;
  if (fstat(fd, &st) != 0 || lseek(fd, 0, SEEK_SET) < 0) return NULL;
  *size = (size_t)st.st_size;
  unsigned char *bytes = malloc(*size + 1);
  if (bytes == NULL || !io_read_all(fd, bytes, *size)) {
    free(bytes);
    return NULL;
  }
  bytes[*size] = '\0';
  return bytes;
}

unsigned char *tool_run(char *const *arguments, const void *input,
                        size_t input_size, int seconds, tool_watch *watch,
                        void *of, size_t *output_size, tool_text *log) {
  unsigned char *output = NULL;
  tool_text reason = {0}; /* the tool's own output comes first */
  int in = tool_file(input, input_size);
  int out = tool_file("", 0), err = tool_file("", 0);
  if (in < 0 || out < 0 || err < 0)
    unstarted_add(&reason, "memfd_create", errno);
  else if (run(arguments, in, out, err, seconds, watch, of, &reason))
    output = tool_file_read(out, output_size);
  size_t n = 0;
  unsigned char *messages = err >= 0 ? tool_file_read(err, &n) : NULL;
  if (messages != NULL && n > 0)
    text_append(log, (char *)messages, strlen((char *)messages));
  free(messages);
  tool_text_append(log, &reason);
  free(reason.text);
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  if (err >= 0) close(err);
  return output;
}

/* --- starting ----------------------------------------------------------- */

/* The intermediate process, which ends at once and leaves the program to
   init. */
static _Noreturn void start_between(char *const *arguments, int socket,
                                    int report) {
  signals_reset();
  pid_t child = _Fork();
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    setsid();
    sigprocmask(SIG_SETMASK, &none, NULL);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) leave(127);
    if (descriptors_set((const int[]){null, null, null, socket}, 4))
      execve(arguments[0], arguments, environ);
    leave(127);
  }
  io_write_all(report, &child, sizeof child);
  leave(0);
}

int tool_start(char *const *arguments, pid_t *pid, tool_text *log) {
  int pair[2], report[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    tool_text_add(log, "socketpair: %s\n", strerror(errno));
    return -1;
  }
  if (pipe2(report, O_CLOEXEC) != 0) {
    tool_text_add(log, "pipe: %s\n", strerror(errno));
    close(pair[0]);
    close(pair[1]);
    return -1;
  }
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pid_t between = _Fork();
  if (between == 0) start_between(arguments, pair[1], report[1]);
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  close(pair[1]);
  close(report[1]);
  bool started = between > 0 && io_read_all(report[0], pid, sizeof *pid) &&
                 *pid > 0;
  close(report[0]);
  while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
    ;
  if (started) return pair[0];
  tool_text_add(log, "%s could not be started: %s\n", arguments[0],
                between < 0 ? strerror(error) : "no process");
  close(pair[0]);
  return -1;
}
