/*
 * server_test.c - the process that stays to build modules, and its host.
 * SPDX-License-Identifier: MIT
 *
 * Each case runs in a separate process on a copy of the driver, so that its
 * servers are recognised by their path.  A script in place of PoCL's linker
 * makes builds fail.  LZE_TEST_MODULES sets how many modules `many` builds; the
 * default is 30.
 */
#include "check.h"

#include "prepare.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char directory[4096]; /* of the copy; empty caches are also in it */

/* Makes a module of saxpy.spv that this process has not made yet. */
static ze_result_t create(setup s, char *text, size_t cap)
{
  static _Atomic int serial; /* shared by threads */
  size_t size;
  char name[16];
  snprintf(name, sizeof name, "k%04d", ++serial % 10000);
  char *bytes = saxpy_named(name, &size);
  ze_module_handle_t module;
  ze_result_t result = module_try(s, bytes, size, &module, text, cap);
  if (result == ZE_RESULT_SUCCESS) {
    MUST(zeKernelDestroy(kernel_new(module, name)));
    MUST(zeModuleDestroy(module));
  }
  free(bytes);
  return result;
}

static void built(setup s)
{
  char text[65536];
  RETURNS(ZE_RESULT_SUCCESS, create(s, text, sizeof text));
  if (*text != '\0') printf("# %s\n", text);
}

static void refused(setup s, const char *words)
{
  char text[65536];
  RETURNS(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, create(s, text, sizeof text));
  check_(__FILE__, __LINE__, strstr(text, words) != NULL,
         "'%s' is in the log: %s", words, text);
}

/* Finds the running processes of this case that have `words` in their command
   line. */
static int processes(int *pids, int cap, const char *words)
{
  DIR *d = opendir("/proc");
  int n = 0;
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    char path[512], text[8192];
    if (atoi(e->d_name) <= 0) continue;
    snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
    FILE *f = fopen(path, "r");
    if (f == NULL) continue;
    size_t size = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    for (size_t i = 0; i < size; i++)
      if (text[i] == '\0') text[i] = ' ';
    text[size] = '\0'; /* empty if the process has ended */
    if (strstr(text, directory) != NULL && strstr(text, words) != NULL &&
        n < cap)
      pids[n++] = atoi(e->d_name);
  }
  if (d != NULL) closedir(d);
  return n;
}

/* Waits until the server has exactly two processes. */
static void servers(int pids[2])
{
  int found[16];
  AWAIT(processes(found, 16, "--serve") == 2);
  pids[0] = found[0];
  pids[1] = found[1];
}

/* Waits until `count` processes are left. */
static void left(int count, const char *words)
{
  int found[16];
  AWAIT(processes(found, 16, words) == count);
}

/* Sets PoCL's linker to a script; PATH is set at the start of the process. */
static void linker_set(const char *script)
{
  shell("mkdir -p '%s/bin' && cd '%s/bin' && "
        "printf '#!/bin/sh\n# %%s\n%%s\n' '%s' '%s' >ld.new && "
        "chmod +x ld.new && mv ld.new ld",
        directory, directory, directory, script);
}

static void case_stays(void)
{
  int first[2], second[2];
  setup s = setup_new();
  built(s);
  servers(first);
  built(s);
  servers(second);
  EQUAL(second[0], first[0]);
  EQUAL(second[1], first[1]);
}

/* Runs it in a process, which exits. */
static int in_child(void (*run)(void))
{
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    check_failed = 0;
    run();
    exit(check_failed);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

static void build_one(void)
{
  built(setup_new());
}

static void build_and_die(void)
{
  built(setup_new());
  kill(getpid(), SIGKILL);
}

static int gate[2]; /* a pipe: case_ends closes its end for writing */

/* The child has a copy of the socket, and outlives the process that started the
   server. */
static void build_and_fork(void)
{
  built(setup_new());
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    char byte;
    close(gate[1]);
    _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
  }
}

static void case_ends(void)
{
  EQUAL(in_child(build_one), 0);
  left(0, "--serve");
  EQUAL(in_child(build_and_die), SIGKILL);
  left(0, "--serve");
  EQUAL(pipe(gate), 0);
  EQUAL(in_child(build_and_fork), 0);
  left(0, "--serve");
  close(gate[1]);
}

/* If a command's output is read to its end, this ends when the host ends. */
static void case_output(void)
{
  char command[16384];
  snprintf(command, sizeof command, "'%s/again' build '%s'", directory,
           directory);
  shell("ln -s \"$(readlink -f /proc/%d/exe)\" '%s/again'", getpid(),
        directory);
  FILE *f = popen(command, "r");
  char line[1024] = "";
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    ;
  CHECK(f != NULL && pclose(f) == 0);
  left(0, "--serve");
}

static void *build_in_thread(void *s)
{
  built(*(setup *)s);
  return NULL;
}

static pid_t builder;

static void *build_first(void *s)
{
  builder = (pid_t)syscall(SYS_gettid);
  return build_in_thread(s);
}

/* The server stays when the thread that started it ends. */
static void case_thread(void)
{
  int first[2], second[2];
  pthread_t thread;
  setup s = setup_new();
  EQUAL(pthread_create(&thread, NULL, build_first, &s), 0);
  pthread_join(thread, NULL);
  servers(first);
  AWAIT(state_of(builder) == 'X');
  built(s);
  servers(second);
  EQUAL(second[0], first[0]);
  EQUAL(second[1], first[1]);
}

/* The host waits for any child, and finds only its own. */
static void case_children(void)
{
  int status;
  setup s = setup_new();
  built(s);
  CHECK(waitpid(-1, &status, WNOHANG) == -1);
  pid_t mine = fork();
  if (mine == 0) _exit(7);
  built(s);
  EQUAL(waitpid(-1, &status, 0), mine);
  EQUAL(WEXITSTATUS(status), 7);
  CHECK(waitpid(-1, &status, 0) == -1);
  struct sigaction ignore = {.sa_handler = SIG_IGN}, old;
  sigaction(SIGCHLD, &ignore, &old);
  refused(s, "SIGCHLD");
  sigaction(SIGCHLD, &old, NULL);
  built(s);
}

/* The host closes descriptors that it did not open, and reuses their numbers
   for its own files. */
static void case_closed(void)
{
  enum { HIGHEST = 200 };
  char path[8192];
  snprintf(path, sizeof path, "%s/file", directory);
  setup s = setup_new();
  built(s);
  for (int fd = 3; fd < HIGHEST; fd++) close(fd);
  left(0, "--serve");
  for (int fd = 3; fd < HIGHEST;)
    fd = 1 + open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  built(s);
  for (int fd = 3; fd < HIGHEST; fd++)
    if (fcntl(fd, F_GETFD) < 0) EQUAL(fd, -1);
  struct stat st;
  EQUAL(stat(path, &st), 0);
  EQUAL(st.st_size, 0);
}

/* The server has no files of the host. */
static void case_inherits(void)
{
  char path[8192], link[8192];
  int pids[2];
  snprintf(path, sizeof path, "%s/file", directory);
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  setup s = setup_new();
  built(s);
  servers(pids);
  for (int i = 0; i < 2; i++) {
    for (int n = 0; n < 256; n++) {
      snprintf(path, sizeof path, "/proc/%d/fd/%d", pids[i], n);
      ssize_t size = readlink(path, link, sizeof link - 1);
      if (size < 0) continue;
      link[size] = '\0';
      if (n < 3) CHECK(strcmp(link, "/dev/null") == 0);
      if (n == 3) CHECK(strncmp(link, "socket:", 7) == 0);
      CHECK(strncmp(link, directory, strlen(directory)) != 0);
      CHECK(n < 3 || strncmp(link, "/dev", 4) != 0);
    }
  }
  close(fd);
}

static void case_environment(void)
{
  int first[2], second[2];
  setup s = setup_new();
  built(s);
  servers(first);
  setenv("SOMETHING", "else", 1);
  built(s);
  left(2, "--serve");
  servers(second);
  CHECK(first[0] != second[0] && first[0] != second[1]);
  CHECK(first[1] != second[0] && first[1] != second[1]);
}

/* A module that crashes the compiler crashes only a fork. */
static void case_crash(void)
{
  int first[2], second[2];
  setup s = setup_new();
  built(s);
  servers(first);
  linker_set("kill -ABRT $PPID");
  refused(s, "signal 6");
  setenv("LZE_BUILD_SECONDS", "1", 1);
  linker_set("exec /usr/bin/ld \"$@\"");
  built(s);
  linker_set("sleep 600");
  refused(s, "took longer than 4 s");
  left(0, "bin/ld");
  linker_set("exec /usr/bin/ld \"$@\"");
  servers(first);
  built(s);
  servers(second);
  EQUAL(second[0], first[0]);
  EQUAL(second[1], first[1]);
}

static void build_for_ever(void)
{
  built(setup_new());
  linker_set("sleep 600");
  refused(setup_new(), "is never reached");
}

/* The host is killed while a module hangs. */
static void case_orphaned(void)
{
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    build_for_ever();
    _exit(1);
  }
  left(1, "bin/ld");
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  left(0, "bin/ld");
  left(0, "--serve");
}

/* Kills servers at any point of their work: the two processes of one, which are
   older than the processes in which it builds.  The pauses spread the kills
   over that work.  Builds succeed at any speed, since the third try is made
   without a server. */
static volatile bool killing;

static void *kill_servers(void *unused)
{
  (void)unused;
  for (unsigned i = 0; killing; i++) {
    int pids[16], n = processes(pids, 16, "--serve");
    if (n > 0) kill(pids[i % (n > 1 ? 2 : 1)], SIGKILL);
    usleep(1000 * (1 + i * 7919 % 400));
  }
  return NULL;
}

static void case_killed(void)
{
  pthread_t thread;
  setup s = setup_new();
  built(s);
  killing = true;
  EQUAL(pthread_create(&thread, NULL, kill_servers, NULL), 0);
  for (int i = 0; i < 8; i++) built(s);
  killing = false;
  pthread_join(thread, NULL);
  built(s);
}

/* PoCL's temporary files that killed compilations left are deleted after an
   hour; younger files may belong to another process. */
static void case_tidies(void)
{
  shell("cd '%s' && mkdir -p cache && cd cache && touch tempfile_new.so && "
        "touch -d '2 hours ago' tempfile_old.so.o kept.so", directory);
  setup s = setup_new();
  built(s);
  shell("cd '%s/cache' && test -e tempfile_new.so -a -e kept.so -a "
        "! -e tempfile_old.so.o", directory);
}

/* Several builds at a time, from threads. */
static void case_threads(void)
{
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  setup s = setup_new();
  for (int i = 0; i < THREADS; i++)
    EQUAL(pthread_create(&threads[i], NULL, build_in_thread, &s), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  left(2, "--serve");
}

static long memory_kb(int pid)
{
  char path[64], line[256];
  long kb = -1;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *f = fopen(path, "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "VmData: %ld", &kb) == 1) break;
  if (f != NULL) fclose(f);
  return kb;
}

static int count_descriptors(int pid)
{
  char path[64];
  int n = 0;
  snprintf(path, sizeof path, "/proc/%d/fd", pid);
  DIR *d = opendir(path);
  while (d != NULL && readdir(d) != NULL) n++;
  if (d != NULL) closedir(d);
  return n;
}

/* KB that do not count as growth: ASan retains freed memory for a while. */
#ifdef __SANITIZE_ADDRESS__
enum { MOST_GROWTH = 1 << 16 };
#else
enum { MOST_GROWTH = 256 };
#endif

static void case_many(void)
{
  const char *given = getenv("LZE_TEST_MODULES");
  int count = given != NULL ? atoi(given) : 30, pids[2], later[2];
  setup s = setup_new();
  for (int i = 0; i < 5; i++) built(s);
  servers(pids);
  long kb[2] = {memory_kb(pids[0]), memory_kb(pids[1])};
  int files[3] = {count_descriptors(pids[0]), count_descriptors(pids[1]),
                  count_descriptors(getpid())};
  for (int i = 0; i < count; i++) built(s);
  servers(later);
  for (int i = 0; i < 2; i++) {
    EQUAL(later[i], pids[i]);
    /* The files of the last answer are closed after it was received. */
    AWAIT(count_descriptors(pids[i]) <= files[i]);
    check_(__FILE__, __LINE__, memory_kb(pids[i]) - kb[i] < MOST_GROWTH,
           "process %d of the server grew from %ld to %ld KB", i, kb[i],
           memory_kb(pids[i]));
  }
  EQUAL(count_descriptors(getpid()), files[2]);
}

/* Compiles while the host goes on; polled until it is over. */
static void case_ahead(void)
{
  setup s = setup_new();
  const prepare_launch launch = {{16, 1, 1}, {4, 1, 1}, {0, 0, 0}},
                       other = {{32, 1, 1}, {4, 1, 1}, {0, 0, 0}},
                       third = {{8, 1, 1}, {4, 1, 1}, {0, 0, 0}};
  prepare_start_function start;
  void *address;
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, "zoclKernelPrepareStart",
                                           &address));
  memcpy(&start, &address, sizeof start);
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv");
  ze_kernel_handle_t kernel = kernel_new(module, "saxpy");
  ze_result_t result = start(kernel, 1, &launch, true);
  EQUAL(result, ZE_RESULT_NOT_READY);
  AWAIT((result = start(kernel, 1, &launch, true)) != ZE_RESULT_NOT_READY);
  EQUAL(result, ZE_RESULT_SUCCESS);
  RETURNS(ZE_RESULT_SUCCESS, start(kernel, 1, &launch, false));
  linker_set("kill -ABRT $PPID");
  AWAIT((result = start(kernel, 1, &other, true)) != ZE_RESULT_NOT_READY);
  EQUAL(result, ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  linker_set("sleep 600");
  RETURNS(ZE_RESULT_NOT_READY, start(kernel, 1, &third, false));
  left(1, "bin/ld");
  for (int fd = 3; fd < 200; fd++) close(fd); /* no caller waits any more */
  left(0, "bin/ld");
  /* This is not an error of the kernel: compilation starts again. */
  RETURNS(ZE_RESULT_NOT_READY, start(kernel, 1, &third, false));
  left(1, "bin/ld");
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
}

/* The server runs before the module that it was started for. */
static void case_expected(void)
{
  int first[2], second[2];
  setup s = setup_new();
  expect_function expect;
  void *address;
  MUST(zeDriverGetExtensionFunctionAddress(s.driver, "zoclDriverExpectModule",
                                           &address));
  memcpy(&expect, &address, sizeof expect);
  RETURNS(ZE_RESULT_ERROR_INVALID_NULL_HANDLE, expect(NULL));
  setenv("LZE_BUILD_SECONDS", "0", 1); /* no server is wanted */
  MUST(expect(s.driver));
  EQUAL(processes(first, 2, "--serve"), 0);
  unsetenv("LZE_BUILD_SECONDS");
  MUST(expect(s.driver));
  servers(first);
  MUST(expect(s.driver));
  built(s);
  servers(second);
  EQUAL(second[0], first[0]);
  EQUAL(second[1], first[1]);
}

/* PoCL's CUDA device is omitted if it does not report when commands end. */
static void threads_are_missed(void)
{
  RETURNS(ZE_RESULT_ERROR_UNINITIALIZED, zeInit(0));
}

/* The queues of destroyed lists are reused, with and without timestamps, when
   their commands have ended. */
static void queues_serve_again(setup s, const int *made)
{
  ze_command_queue_desc_t desc = {
    .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
  ze_event_pool_desc_t pool_desc = {
    .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
    .flags = ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, .count = 1};
  ze_event_desc_t event_desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
  ze_event_pool_handle_t pool;
  ze_event_handle_t event;
  bool again = false;
  void *x;
  ze_device_mem_alloc_desc_t memory = {
    .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
  MUST(zeMemAllocDevice(s.context, &memory, 4096, 64, s.device, &x));
  MUST(zeEventPoolCreate(s.context, &pool_desc, 1, &s.device, &pool));
  MUST(zeEventCreate(pool, &event_desc, &event));
  for (int i = 0; !again; i++) {
    ze_command_list_handle_t list;
    const int before = *made;
    MUST(zeCommandListCreateImmediate(s.context, s.device, &desc, &list));
    MUST(zeCommandListAppendMemoryFill(list, x, "1", 1, 4096, NULL, 0, NULL));
    MUST(zeCommandListAppendMemoryFill(list, x, "2", 1, 4096, event, 0, NULL));
    MUST(zeEventHostSynchronize(event, UINT64_MAX));
    MUST(zeEventHostReset(event));
    MUST(zeCommandListDestroy(list));
    CHECK(i > 0 || *made > before);
    again = *made == before;
    if (!again) pause_shortly();
  }
  MUST(zeEventDestroy(event));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeMemFree(s.context, x));
}

static ze_event_pool_handle_t events_new(setup s, ze_event_pool_flags_t flags,
                                         uint32_t count,
                                         ze_event_handle_t *events)
{
  ze_event_pool_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
                               .flags = flags, .count = count};
  ze_event_pool_handle_t pool;
  MUST(zeEventPoolCreate(s.context, &desc, 1, &s.device, &pool));
  for (uint32_t i = 0; i < count; i++) {
    ze_event_desc_t event = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i};
    MUST(zeEventCreate(pool, &event, &events[i]));
  }
  return pool;
}

/* Returns the kernel that adds x to y, in groups of `group`. */
static ze_kernel_handle_t add_new(ze_module_handle_t module, uint32_t group,
                                  float *x, float *y)
{
  const float one = 1;
  ze_kernel_handle_t kernel = kernel_new(module, "saxpy");
  MUST(zeKernelSetGroupSize(kernel, group, 1, 1));
  MUST(zeKernelSetArgumentValue(kernel, 0, sizeof one, &one));
  MUST(zeKernelSetArgumentValue(kernel, 1, sizeof x, &x));
  MUST(zeKernelSetArgumentValue(kernel, 2, sizeof y, &y));
  return kernel;
}

/* Events are retained until a command has found nothing in flight twice.  Few
   commands record timestamps that are not requested. */
static void launches_are_thrifty(setup s, void *opencl)
{
  enum { ITEMS = 64, FEW = 5, MANY = 20, UNTIMED = 16 };
  const int *timed = dlsym(opencl, "lze_gpu_timed");
  const int *events = dlsym(opencl, "lze_gpu_events");
  ze_event_handle_t event[2];
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_result_t (*synchronize)(ze_command_list_handle_t, uint64_t);
  ze_group_count_t groups = {ITEMS / 16, 1, 1};
  float *x = shared_new(s, 2 * ITEMS * sizeof *x), *y = x + ITEMS;
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeCommandListHostSynchronize", (void **)&synchronize));
  for (int i = 0; i < ITEMS; i++) {
    x[i] = 1;
    y[i] = 0;
  }
  ze_event_pool_handle_t pool =
      events_new(s, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP, 2, event);
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv");
  ze_kernel_handle_t kernel = add_new(module, 16, x, y);
#define LAUNCH(signal) \
  MUST(zeCommandListAppendLaunchKernel(list, kernel, &groups, signal, 0, NULL))
#define FINISH() MUST(synchronize(list, UINT64_MAX))

  for (int i = 0; i < 3; i++) {
    LAUNCH(NULL);
    FINISH();
  }
  const int before = *events, taken = *timed;
  for (int i = 0; i < FEW; i++) LAUNCH(NULL);
  EQUAL(*events - before, FEW - 1); /* and one earlier event less */
  FINISH();
  LAUNCH(NULL);
  EQUAL(*events - before, FEW - 1);
  FINISH();
  LAUNCH(NULL);
  EQUAL(*events - before, 0);
  FINISH();
  EQUAL(*timed - taken, 0);

  uint64_t now, at;
  MUST(zeDeviceGetGlobalTimestamps(s.device, &now, &at));
  LAUNCH(event[0]);
  EQUAL(*timed - taken, 1);
  for (int i = 0; i < MANY; i++) LAUNCH(NULL);
  EQUAL(*timed - taken, 1 + UNTIMED);
  LAUNCH(event[1]);
  EQUAL(*timed - taken, 2 + UNTIMED);
  LAUNCH(NULL);
  EQUAL(*timed - taken, 3 + UNTIMED);
  FINISH();
  EQUAL(y[0], 8 + FEW + MANY);
  EQUAL(y[ITEMS - 1], 8 + FEW + MANY);
  for (int i = 0; i < 2; i++) {
    ze_kernel_timestamp_result_t t;
    MUST(zeEventQueryKernelTimestamp(event[i], &t));
    CHECK(t.context.kernelStart < t.context.kernelEnd);
    /* The clock of this OpenCL is 1000 s behind. */
    CHECK(t.context.kernelStart + 500 * UINT64_C(1000000000) > at);
    CHECK(t.context.kernelEnd < at + 500 * UINT64_C(1000000000));
    MUST(zeEventDestroy(event[i]));
  }
#undef FINISH
#undef LAUNCH
  MUST(zeCommandListDestroy(list));
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeMemFree(s.context, x));
}

/* Patterns that it cannot fill with are copied. */
static void fills_are_right(setup s)
{
  enum { ROOM = 4096 };
  static const size_t patterns[] = {4, 8, 16, 128};
  ze_command_list_handle_t list =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  unsigned char *x = shared_new(s, ROOM), pattern[128];
  for (int i = 0; i < 128; i++) pattern[i] = (unsigned char)(3 * i + 1);
  for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++)
    for (size_t from = 0; from < 10; from++)
      for (size_t times = 1; times < 20; times += 3) {
        const size_t n = patterns[k], size = n * times;
        size_t wrong = 0;
        memset(x, 0, ROOM);
        MUST(zeCommandListAppendMemoryFill(list, x + from, pattern, n, size,
                                           NULL, 0, NULL));
        for (size_t i = 0; i < ROOM; i++)
          wrong += x[i] != (i >= from && i < from + size
                                ? pattern[(i - from) % n] : 0);
        EQUAL(wrong, 0);
      }
  MUST(zeCommandListDestroy(list));
  MUST(zeMemFree(s.context, x));
}

/* A failed command is reported to callers that wait for its event, for later
   commands, or for its list; the list then goes on. */
static void failures_are_told(setup s, int *fails)
{
  ze_event_handle_t e[4];
  ze_command_list_handle_t a =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_command_list_handle_t b =
      immediate_new(s, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
  ze_result_t (*synchronize)(ze_command_list_handle_t, uint64_t);
  ze_group_count_t groups = {1, 1, 1};
  float *x = shared_new(s, 2 * sizeof *x), *y = x + 1;
  MUST(zeDriverGetExtensionFunctionAddress(
      s.driver, "zeCommandListHostSynchronize", (void **)&synchronize));
  ze_event_pool_handle_t pool = events_new(s, 0, 4, e);
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv");
  ze_kernel_handle_t kernel = add_new(module, 1, x, y);
  *x = 1;
  *y = 0;
  MUST(zeCommandListAppendBarrier(b, e[3], 1, &e[1]));
  for (int i = 0; i < 3; i++) {
    if (i == 1) *fails = 1;
    MUST(zeCommandListAppendLaunchKernel(a, kernel, &groups, e[i], 0, NULL));
  }
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[3], UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[1], UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST,
          zeEventHostSynchronize(e[2], UINT64_MAX));
  /* Waits for events alone do not stop the list. */
  MUST(zeEventHostReset(e[0]));
  MUST(zeCommandListAppendLaunchKernel(a, kernel, &groups, e[0], 0, NULL));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[0], UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, synchronize(a, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, synchronize(a, UINT64_MAX));
  RETURNS(ZE_RESULT_ERROR_DEVICE_LOST, synchronize(b, UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, synchronize(b, UINT64_MAX));
  for (int i = 0; i < 4; i++) MUST(zeEventHostReset(e[i]));
  MUST(zeCommandListAppendLaunchKernel(a, kernel, &groups, e[0], 0, NULL));
  MUST(zeCommandListAppendBarrier(b, e[1], 1, &e[0]));
  RETURNS(ZE_RESULT_SUCCESS, zeEventHostSynchronize(e[1], UINT64_MAX));
  RETURNS(ZE_RESULT_SUCCESS, synchronize(a, UINT64_MAX));
  EQUAL(*y, 5);
  for (int i = 0; i < 4; i++) MUST(zeEventDestroy(e[i]));
  MUST(zeEventPoolDestroy(pool));
  MUST(zeCommandListDestroy(a));
  MUST(zeCommandListDestroy(b));
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
  MUST(zeMemFree(s.context, x));
}

/* A fork cannot use the GPU state of an OpenCL, so no server runs. */
static void case_gpu(void)
{
  const char *build = getenv("LZE_TEST_BUILD");
  char path[8192];
  static void *pocl; /* it stays loaded, like the driver's */
  pocl = dlopen("libpocl.so.2", RTLD_LAZY);
  if (pocl == NULL) return; /* another OpenCL */
  snprintf(path, sizeof path, "%s/spec/libpocl_gpu.so",
           build != NULL ? build : "build");
  setenv("OCL_ICD_VENDORS", path, 1);
  void *opencl = dlopen(path, RTLD_NOW);
  unsetenv("POCL_CUDA_DISABLE_QUEUE_THREADS");
  EQUAL(in_child(threads_are_missed), 0);
  setenv("POCL_CUDA_DISABLE_QUEUE_THREADS", "0", 1);
  setup s = setup_new();
  built(s);
  built(s);
  left(0, "--serve");
  ze_module_handle_t module = module_load(s, "kernels/saxpy.spv");
  ze_kernel_handle_t kernel = kernel_new(module, "saxpy");
  RETURNS(ZE_RESULT_SUCCESS, zeKernelSetGlobalOffsetExp(kernel, 0, 0, 0));
  RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
          zeKernelSetGlobalOffsetExp(kernel, 1, 0, 0));
  ze_device_properties_t p = {.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES};
  MUST(zeDeviceGetProperties(s.device, &p));
  EQUAL(p.numEUsPerSubslice, 1);
  MUST(zeKernelDestroy(kernel));
  MUST(zeModuleDestroy(module));
  queues_serve_again(s, dlsym(opencl, "lze_gpu_queues"));
  launches_are_thrifty(s, opencl);
  fills_are_right(s);
  failures_are_told(s, dlsym(opencl, "lze_gpu_fails"));
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
  {"stays", case_stays},       {"ends", case_ends},
  {"output", case_output},     {"thread", case_thread},
  {"children", case_children}, {"closed", case_closed},
  {"inherits", case_inherits}, {"environment", case_environment},
  {"crash", case_crash},       {"orphaned", case_orphaned},
  {"killed", case_killed},     {"tidies", case_tidies},
  {"threads", case_threads},
  {"many", case_many},         {"ahead", case_ahead},
  {"expected", case_expected}, {"gpu", case_gpu},
};
enum { CASES = sizeof cases / sizeof *cases };

int main(int argc, char **argv)
{
  const char *build = getenv("LZE_TEST_BUILD");
  if (argc == 3) {
    snprintf(directory, sizeof directory, "%s", argv[2]);
    if (strcmp(argv[1], "build") == 0) {
      build_one();
      return check_failed;
    }
    linker_set("exec /usr/bin/ld \"$@\"");
    for (size_t i = 0; i < CASES; i++)
      if (strcmp(cases[i].name, argv[1]) == 0) {
        cases[i].run();
        return check_failed;
      }
    return 2;
  }
  const char *parent = getenv("TMPDIR");
  char driver[8192], cache[8192], path[16384];
  for (size_t i = 0; i < CASES; i++) {
    if (argc == 2 && strcmp(argv[1], cases[i].name) != 0) continue;
    snprintf(directory, sizeof directory, "%s/lze-server-XXXXXX",
             parent != NULL ? parent : "/tmp");
    if (mkdtemp(directory) == NULL) return 1;
    snprintf(driver, sizeof driver, "%s/libze_opencl.so", directory);
    snprintf(cache, sizeof cache, "%s/cache", directory);
    snprintf(path, sizeof path, "%s/bin:%s", directory, getenv("PATH"));
    shell("cp '%s' '%s' && mkdir -p '%s/libexec/lze' && "
          "cp '%s/libexec/lze/lze-build' '%s/libexec/lze/'",
          getenv("ZE_ENABLE_ALT_DRIVERS"), driver, directory,
          build != NULL ? build : "build", directory);
    fflush(stdout);
    printf("# %s\n", cases[i].name);
    pid_t child = fork();
    if (child == 0) {
      setenv("ZE_ENABLE_ALT_DRIVERS", driver, 1);
      setenv("XDG_CACHE_HOME", cache, 1);
      setenv("POCL_CACHE_DIR", cache, 1);
      setenv("PATH", path, 1);
      execl(argv[0], argv[0], cases[i].name, directory, (char *)NULL);
      _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    check_(__FILE__, __LINE__, status == 0, "case %s ends with status 0x%x",
           cases[i].name, (unsigned)status);
    left(0, "--serve");
    shell("rm -rf '%s'", directory);
  }
  CHECK_DONE();
}
