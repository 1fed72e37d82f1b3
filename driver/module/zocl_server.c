/*
 * zocl_server.c - one permanent process that builds modules in its forks.
 * SPDX-License-Identifier: MIT
 *
 * For half a second of a module's first build, PoCL loads its library of
 * built-ins into a new process.  So lze-build is started once, retains the
 * library in memory, and forks for each module; only a pair of sockets connects
 * it to this process.  The server belongs to the process and not to a thread.
 * It is replaced if it has died or if its environment has changed: see
 * origin_now.
 */
#include "module/zocl_server.h"
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
  pthread_mutex_t lock;
  zocl_end end;          /* in the process that started the server */
  pid_t pid;
  unsigned long long begun; /* the start time of pid, from /proc */
  cache_key origin;      /* the environment it was started in */
  bool has_answered;
  bool is_broken;        /* a server of that origin never answered */
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .end.fd = -1};

static bool end_set(zocl_end *end, int fd)
{
  struct stat st;
  *end = (zocl_end){.fd = fd, .owner = getpid()};
  if (fd < 0 || fstat(fd, &st) != 0) return false;
  end->device = st.st_dev;
  end->inode = st.st_ino;
  return true;
}

static bool end_is_ours(const zocl_end *end)
{
  struct stat st;
  return end->fd >= 0 && end->owner == getpid() &&
         fstat(end->fd, &st) == 0 && st.st_dev == end->device &&
         st.st_ino == end->inode;
}

static void end_close(zocl_end *end)
{
  if (end_is_ours(end)) close(end->fd);
  end->fd = -1;
}

/* Returns a key of everything in which a process started now may differ from an
   earlier one. */
static cache_key origin_now(const char *path)
{
  cache_key key = CACHE_KEY_INIT;
  char directory[PATH_MAX];
  for (char **e = environ; e != NULL && *e != NULL; e++)
    cache_key_add(&key, *e, strlen(*e));
  cache_key_add_file(&key, path);
  const char *vendors = secure_getenv("OCL_ICD_VENDORS");
  cache_key_add_file(&key, vendors != NULL && *vendors != '\0'
                               ? vendors
                               : "/etc/OpenCL/vendors");
  if (getcwd(directory, sizeof directory) != NULL)
    cache_key_add(&key, directory, strlen(directory));
  const unsigned users[] = {getuid(), geteuid(), getgid(), getegid()};
  cache_key_add(&key, users, sizeof users);
  for (int i = 0; i < RLIM_NLIMITS; i++) {
    struct rlimit limit = {0, 0};
    getrlimit((__rlimit_resource_t)i, &limit);
    cache_key_add(&key, &limit, sizeof limit);
  }
  return key;
}

/* Returns the time when the process started, in the kernel's ticks; 0 if it
   does not exist. */
static unsigned long long process_begun(pid_t pid)
{
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = '\0';
  const char *p = strrchr(text, ')'); /* after the name; field 3 is next */
  for (int field = 2; p != NULL && field < 22; field++)
    p = strchr(p + 1, ' ');
  return p != NULL ? strtoull(p, NULL, 10) : 0;
}

/* Closes our end, which ends the server.  If it may hang, `end` kills it. */
static void server_drop(bool end)
{
  end_close(&server.end);
  if (end && server.end.owner == getpid() && server.begun != 0 &&
      process_begun(server.pid) == server.begun)
    kill(-server.pid, SIGKILL);
}

/* Ensures that a server for this environment is running.  Caller holds the
   lock. */
static bool server_ready(const char *path, tool_text *log)
{
  cache_key origin = origin_now(path);
  bool same = memcmp(&origin, &server.origin, sizeof origin) == 0;
  struct pollfd gone = {.events = 0};
  if (same && server.is_broken) return false;
  if (same && end_is_ours(&server.end)) {
    gone.fd = server.end.fd;
    if (poll(&gone, 1, 0) == 0) return true;
  }
  server_drop(false);
  char *const arguments[] = {(char *)path, "--serve", NULL};
  server.origin = origin;
  server.has_answered = false;
  server.is_broken = true;
  if (!end_set(&server.end, tool_start(arguments, &server.pid, log)))
    return false;
  server.begun = process_begun(server.pid);
  server.is_broken = false;
  return true;
}

/* Sends a job: files for the task and for messages, and the socket for the
   answer. */
static bool job_send(int seconds, const int files[ZOCL_JOB_FILES])
{
  union {
    char bytes[CMSG_SPACE(ZOCL_JOB_FILES * sizeof(int))];
    struct cmsghdr align;
  } control = {0};
  zocl_job job = {.seconds = seconds};
  struct iovec bytes = {&job, sizeof job};
  struct msghdr message = {.msg_iov = &bytes,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(ZOCL_JOB_FILES * sizeof(int));
  memcpy(CMSG_DATA(head), files, ZOCL_JOB_FILES * sizeof(int));
  ssize_t n;
  do n = sendmsg(server.end.fd, &message, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n == sizeof job;
}

static int64_t now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for the answer.  Returns false if the server ended without one; sets
   *late if it hangs. */
static bool answer_receive(int socket, int seconds, zocl_answer *answer,
                           bool *late)
{
  /* The server enforces the limit itself; the additional time is for its
     start. */
  enum { START_MS = 30000 };
  int64_t limit = now_ms() + (int64_t)TOOL_WAITING * 1000 * seconds + START_MS;
  struct pollfd wait = {.fd = socket, .events = POLLIN};
  for (;;) {
    int64_t left = limit - now_ms();
    *late = left <= 0;
    if (*late) return false;
    int ready = poll(&wait, 1, left < INT_MAX ? (int)left : INT_MAX);
    if (ready > 0) break;
    if (ready < 0 && errno != EINTR) return false;
  }
  ssize_t n;
  do n = recv(socket, answer, sizeof *answer, 0);
  while (n < 0 && errno == EINTR);
  return n == sizeof *answer;
}

/* Sends the server a job.  Returns the socket for the answer, or -1; sets
   *again if the server has died and another one may succeed. */
static int job_begin(const char *path, int seconds, int files[ZOCL_JOB_FILES],
                     pid_t *pid, bool *again, tool_text *log)
{
  int pair[2];
  *again = false;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return -1;
  files[ZOCL_JOB_ANSWER] = pair[1];
  pthread_mutex_lock(&server.lock);
  bool sent = server_ready(path, log);
  *pid = server.pid;
  if (sent) {
    sent = job_send(seconds, files);
    if (!sent && errno != EMFILE && errno != ETOOMANYREFS) {
      *again = server.has_answered;
      server.is_broken = !server.has_answered;
      server_drop(false);
    }
  }
  pthread_mutex_unlock(&server.lock);
  close(pair[1]);
  if (sent) return pair[0];
  close(pair[0]);
  return -1;
}

/* Sends the server a job and waits.  Returns false if there was no answer. */
static bool ask(const char *path, int seconds, int files[ZOCL_JOB_FILES],
                zocl_answer *answer, bool *again, tool_text *log)
{
  pid_t pid;
  int socket = job_begin(path, seconds, files, &pid, again, log);
  if (socket < 0) return false;
  bool late = false;
  bool answered = answer_receive(socket, seconds, answer, &late);
  close(socket);
  pthread_mutex_lock(&server.lock);
  if (server.pid == pid && answered)
    server.has_answered = true;
  else if (server.pid == pid) {
    *again = server.has_answered;
    server.is_broken = !server.has_answered;
    server_drop(late);
  } else
    *again = !answered; /* another thread has replaced it */
  pthread_mutex_unlock(&server.lock);
  return answered;
}

bool zocl_server_prepare(const char *path)
{
  tool_text ignored = {0};
  pthread_mutex_lock(&server.lock);
  bool ready = server_ready(path, &ignored);
  pthread_mutex_unlock(&server.lock);
  free(ignored.text);
  return ready;
}

bool zocl_server_is_up(void)
{
  pthread_mutex_lock(&server.lock);
  bool up = server.has_answered && end_is_ours(&server.end);
  pthread_mutex_unlock(&server.lock);
  return up;
}

bool zocl_server_start(const char *path, const void *task, size_t size,
                       int seconds, zocl_end *answer)
{
  tool_text ignored = {0};
  pid_t pid;
  bool again;
  int files[ZOCL_JOB_FILES] = {tool_file(task, size), tool_file("", 0), -1};
  int socket = files[0] < 0 || files[1] < 0
                   ? -1
                   : job_begin(path, seconds, files, &pid, &again, &ignored);
  for (int i = 0; i < ZOCL_JOB_ANSWER; i++)
    if (files[i] >= 0) close(files[i]);
  free(ignored.text);
  bool begun = end_set(answer, socket);
  if (begun) answer->server = pid;
  return begun;
}

bool zocl_server_is_done(zocl_end *end, zocl_served *served)
{
  zocl_answer answer = {ZOCL_ANSWER_REFUSED, 0};
  ssize_t n = -1;
  errno = EBADF;
  if (end_is_ours(end)) n = recv(end->fd, &answer, sizeof answer, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  pthread_mutex_lock(&server.lock);
  if (server.pid == end->server && n == sizeof answer)
    server.has_answered = true;
  else if (server.pid == end->server && n == 0)
    server.is_broken = !server.has_answered;
  pthread_mutex_unlock(&server.lock);
  *served = n != sizeof answer ? ZOCL_NOT_SERVED
            : answer.what == ZOCL_ANSWER_ENDED && answer.status == 0
                ? ZOCL_SERVED_FINE
                : ZOCL_SERVED_BADLY;
  end_close(end);
  return true;
}

zocl_served zocl_server_build(const char *path, const void *task, size_t size,
                              int seconds, tool_text *log)
{
  tool_text ignored = {0};
  zocl_answer answer;
  zocl_served served = ZOCL_NOT_SERVED;
  int files[ZOCL_JOB_FILES] = {tool_file(task, size), tool_file("", 0), -1};
  bool answered = false, again = true;
  /* Try again if a server that had answered before has died. */
  for (int i = 0; i < 3 && again && !answered && files[0] >= 0 && files[1] >= 0;
       i++)
    answered = ask(path, seconds, files, &answer, &again, &ignored);
  if (answered && answer.what != ZOCL_ANSWER_REFUSED) {
    size_t n = 0;
    unsigned char *said = tool_file_read(files[ZOCL_JOB_MESSAGES], &n);
    if (answer.what == ZOCL_ANSWER_ENDED && answer.status == 0)
      served = ZOCL_SERVED_FINE;
    else {
      served = ZOCL_SERVED_BADLY;
      if (said != NULL) {
        const tool_text text = {
          .text = (char *)said, .size = strlen((char *)said)};
        tool_text_append(log, &text);
      }
      if (answer.what == ZOCL_ANSWER_LATE)
        tool_late(path, seconds, log);
      else
        tool_ended(path, answer.status, seconds, log);
    }
    free(said);
  }
  for (int i = 0; i < ZOCL_JOB_ANSWER; i++)
    if (files[i] >= 0) close(files[i]);
  free(ignored.text);
  return served;
}
